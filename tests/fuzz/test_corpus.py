"""Whatever a file holds, reading it gives a result or one of our own errors, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thorough import thorough_but

from .mutate import fuzz
from .mutations import mutated
from .readers import READERS
from .sandbox import judged

FILES = 40  # mutated ones of each reader; by hand and in CI there are more
ALL = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


@ALL
def test_every_file_of_the_corpus_is_read_or_refused(reader):
    paths = reader.corpus()
    files = [path.read_bytes() for path in paths]
    said = dict(judged(reader, files.__getitem__, range(len(files))))
    broken = {paths[k].name: verdict for k, verdict in said.items() if not verdict.fine}
    assert not broken
    valid = [said[k].kind for k, path in enumerate(paths) if path.name.startswith("valid-")]
    assert valid
    assert set(valid) == {"accepted"}
    assert len(said) == len(paths)


@pytest.mark.parametrize(
    "reader",
    thorough_but([READERS[x] for x in ("toml", "urdf", "csv")], READERS.values()),
    ids=READERS,
)
def test_mutated_files_are_read_or_refused(reader):
    tally = fuzz(reader, seed=1, numbers=range(FILES), jobs=1)
    assert not tally.faults
    assert sum(tally.counts.values()) == FILES
    assert tally.counts["accepted"] > 0  # some changes do no harm
    assert tally.counts["refused"] > 0


def test_a_mutated_file_is_determined_by_its_number():
    program = (
        "from tests.fuzz.mutations import mutated; from tests.fuzz.readers import READERS; "
        "print([mutated(x, 3, k) for x in READERS for k in range(8)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == repr([mutated(x, 3, k) for x in READERS for k in range(8)])
    assert mutated("toml", 3, 0) != mutated("toml", 4, 0)
