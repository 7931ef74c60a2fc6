"""Fuzz readers under atheris: `python tests/fuzz/run.py toml urdf --seconds 600`.

Without names: TOML, URDF, MJCF, CSV and npz. What a target finds is judged again without
instrumentation (2 s and 500 MB are limits of the package, not of a fuzzer) and kept in the corpus.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # started as a script or as a module

from tests.fuzz.mutate import kept
from tests.fuzz.oracle import Verdict
from tests.fuzz.readers import CORPUS, READERS
from tests.fuzz.sandbox import judged
from tests.fuzz.target import ABSENT

DEFAULT = ("toml", "urdf", "mjcf", "csv", "npz")
HANGING = 300  # s of wall time, only against a target that waits; slowness is CPU time, our own
LARGEST = 4096  # MB of the target, instrumentation and libFuzzer's own corpus included
STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+)")


@dataclass(frozen=True)
class Result:
    """How one target ended, and the files that it left."""

    code: int
    runs: int
    coverage: int
    output: str
    found: tuple[bytes, ...]


def run(target: list[str], corpus: Path, seconds: int, runs: int = -1) -> Result:
    """A target in a process of its own, for this long or this many files."""
    with tempfile.TemporaryDirectory(prefix="dynamis-fuzz-") as name:
        folder = Path(name)
        (folder / "new").mkdir()
        (folder / "found").mkdir()
        options = [
            *(f"-max_total_time={seconds}", f"-runs={runs}", f"-timeout={HANGING}", "-seed=1"),
            *(f"-rss_limit_mb={LARGEST}", "-max_len=50000", f"-artifact_prefix={folder}/found/"),
            *("-print_final_stats=1", str(folder / "new"), str(corpus)),
        ]
        done = subprocess.run(
            [sys.executable, *target, *options],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1", "DYNAMIS_COMPILE": "off"},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        found = tuple(path.read_bytes() for path in sorted((folder / "found").iterdir()))
        output = done.stdout + done.stderr
        last = STATUS.findall(output)[-1:] or [("0", "0", "0")]
        return Result(done.returncode, int(last[0][0]), int(last[0][1]), output, found)


def report(name: str, result: Result, save: Path | None) -> bool:
    """Print how a target ended; True where nothing broke the law."""
    reader, fine = READERS[name], result.code == 0
    print(f"{name:>8}  {result.runs:>9} files  coverage {result.coverage:>6}", flush=True)
    for data in result.found:
        verdict = next(iter(judged(reader, [data].__getitem__, range(1))))[1]
        if verdict.fine and "slow: " in result.output:
            fine = True  # it is the instrumentation that was slow
            continue
        new = Verdict("fuzzed", "only under the fuzzer") if verdict.fine else verdict
        path = kept(reader, data, new, save or CORPUS / name)
        print(f"    {new.kind}, {new.detail} -> {path}", flush=True)
        fine = False
    if not fine:
        print("\n".join(result.output.splitlines()[-40:]), flush=True)
    return fine


def main() -> int:
    """The command; 1 where a target found something, 2 where there is no atheris."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", metavar="reader", help=", ".join(READERS))
    parser.add_argument("--seconds", type=int, default=60, help="of each reader")
    parser.add_argument("--runs", type=int, default=-1, help="files of each reader, at most")
    parser.add_argument("--jobs", type=int, default=2, help="targets at the same time")
    parser.add_argument("--save", type=Path, help="folder for findings instead of the corpus")
    given = parser.parse_args()
    if unknown := [x for x in given.readers if x not in READERS]:
        parser.error(f"no reader {unknown[0]!r}; there are {', '.join(READERS)}")
    if find_spec("atheris") is None:
        print(ABSENT, file=sys.stderr)
        return 2
    names = given.readers or DEFAULT
    each = partial(_one, seconds=given.seconds, runs=given.runs)
    with ThreadPoolExecutor(given.jobs) as pool:
        fine = [report(x, r, given.save) for x, r in zip(names, pool.map(each, names), strict=True)]
    return int(not all(fine))


def _one(name: str, seconds: int, runs: int) -> Result:
    return run(["-m", "tests.fuzz.target", name], CORPUS / name, seconds, runs)


if __name__ == "__main__":
    sys.exit(main())
