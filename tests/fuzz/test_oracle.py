"""The oracle sees every way to break the law: readers that break it, one each."""

import ctypes
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dynamis.errors import FileError
from tests.thorough import thorough_but

from .mutate import smaller
from .readers import Reader
from .run import run
from .sandbox import judged


def innocent(path):
    return path.read_bytes()


def raises_ours(path):
    raise FileError("no")


def raises_another(path):
    return {}[path.read_bytes()]


def recurses(path):
    return recurses(path)


def exits(path):
    sys.exit(0)


def aborts(path):
    os.abort()


def loops(path):
    return pow(7, 10**9)


def fills_memory(path):
    np.empty(550_000_000, np.uint8)[::4096] = 1


def fills_memory_and_refuses(path):
    fills_memory(path)
    raise FileError("too large")


def asks_for_much(path):
    """As a reader does that believes a length in a damaged file, and is told no."""
    try:
        return bytearray(2**50)
    except MemoryError:
        raise FileError("too large") from None


def uses_much_if_it_may(path):
    try:
        np.empty(2_000_000_000, np.uint8)[:550_000_000:4096] = 1
    except MemoryError:
        raise FileError("too large") from None


def opens_elsewhere(path):
    return Path("/etc/hosts").read_bytes()


def opens_elsewhere_in_c(path):
    libc = ctypes.CDLL(None)
    return libc.open(os.fsencode(path.parent.parent / "outside" / "mesh.stl"), os.O_RDONLY)


def writes(path):
    path.with_suffix(".tmp").write_bytes(b"")


def writes_in_c(path):
    return ctypes.CDLL(None).creat(b"LOG.TXT", 0o600)


def unpickles(path):
    return pickle.loads(b"cbuiltins\neval\n.")


def runs_a_program(path):
    return subprocess.run(["true"], check=False)


def runs_code(path):
    exec("1 + 1")


def hides_it(path):
    try:
        return Path("/etc/hosts").read_bytes()
    except OSError:
        raise FileError("no") from None


BREAKS = [
    (raises_another, "KeyError", "line"),
    (recurses, "RecursionError", "line"),
    (exits, "SystemExit", "line"),
    (aborts, "crash", "SIGABRT"),
    (loops, "slow", "more than 2 s"),
    (fills_memory, "memory", "MB"),
    (fills_memory_and_refuses, "memory", "MB"),
    (uses_much_if_it_may, "memory", "MB"),
    (opens_elsewhere, "touched", "opened /etc/hosts"),
    (opens_elsewhere_in_c, "touched", "touched mesh.stl"),
    (writes, "touched", "wrote"),
    (writes_in_c, "touched", "touched LOG.TXT"),
    (unpickles, "touched", "pickle.find_class"),
    (runs_a_program, "touched", "subprocess.Popen"),
    (runs_code, "touched", "executed code"),
    (hides_it, "touched", "opened /etc/hosts"),
]


def said(read, files=(b"x",)):
    reader = Reader("made-up", ".txt", read)
    return dict(judged(reader, list(files).__getitem__, range(len(files))))


QUICK = [x for x in BREAKS if x[0] in (raises_another, aborts, opens_elsewhere, runs_code)]


@pytest.mark.parametrize(
    ("read", "kind", "detail"), thorough_but(QUICK, BREAKS), ids=[x.__name__ for x, *_ in BREAKS]
)
def test_a_reader_that_breaks_the_law_is_seen(read, kind, detail):
    verdict = said(read)[0]
    assert not verdict.fine
    if kind == "memory" and verdict.kind == "slow":
        return  # so much memory can take more than 2 s of a busy machine: seen all the same
    assert verdict.kind == kind and detail in verdict.detail


@pytest.mark.parametrize(
    ("read", "kind"), [(innocent, "accepted"), (raises_ours, "refused"), (asks_for_much, "refused")]
)
def test_a_reader_that_keeps_it_is_left_alone(read, kind):
    assert said(read)[0].kind == kind


def breaks_at_times(path):
    data = path.read_bytes()
    if b"bad" in data:
        os.kill(os.getpid(), signal.SIGKILL)
    if b"large" in data:
        fills_memory(path)
    return data


def test_the_files_after_one_that_ends_the_process_are_read_too():
    files = (b"1", b"bad", b"bad", b"2", b"large", b"3", b"bad")
    kinds = [verdict.kind for _, verdict in sorted(said(breaks_at_times, files).items())]
    assert kinds.pop(4) in ("memory", "slow")
    assert kinds == ["accepted", "crash", "crash", "accepted", "accepted", "crash"]


@pytest.mark.thorough
def test_a_finding_is_made_small():
    reader = Reader("made-up", ".txt", breaks_at_times)
    data = b"x" * 500 + b"bad" + b"y" * 300
    verdict = said(breaks_at_times, [data])[0]
    assert smaller(reader, data, verdict) == b"bad"


def test_a_target_finds_what_breaks_the_law_and_leaves_the_file(tmp_path):
    pytest.importorskip("atheris", reason="atheris has wheels for Linux on x86-64 only")
    program = (
        "from tests.fuzz.target import fuzz; from tests.fuzz.readers import Reader; "
        "from tests.fuzz.test_oracle import raises_on_a_zero; import sys; "
        "fuzz(Reader('made-up', '.txt', raises_on_a_zero), sys.argv[1:])"
    )
    (tmp_path / "seed.txt").write_bytes(b"1")
    result = run(["-c", program], tmp_path, seconds=600, runs=20_000)
    assert result.code != 0
    assert "ZeroDivisionError" in result.output
    assert b"\0" in result.found[0]


def raises_on_a_zero(path):
    for byte in path.read_bytes():
        1 / byte


@pytest.mark.thorough
def test_a_target_runs_on_a_reader():
    pytest.importorskip("atheris", reason="atheris has wheels for Linux on x86-64 only")
    program = Path(__file__).with_name("run.py")
    done = subprocess.run(
        [sys.executable, program, "csv", "--runs", "50"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "csv" in done.stdout
