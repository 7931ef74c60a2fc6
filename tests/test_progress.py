"""Progress on stderr: bars on a terminal, a line in the log of a command, nothing else."""

import io
import subprocess
import sys
import threading

import pytest

from dynamis import progress
from dynamis.cli.printing import data
from dynamis.compile.service import compile_time, stored


@pytest.fixture(autouse=True)
def shown(monkeypatch):
    """Other tests show nothing, whatever takes long on their machine."""
    monkeypatch.delenv(progress.PROGRESS)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "SELDOM", 0.0)


def test_nothing_is_shown_without_a_terminal(capsys):
    assert not progress.visible()
    before = threading.active_count()
    with progress.stage("simulating", 3, expected=100.0) as done:
        assert threading.active_count() == before
        done(1)
        done.tell("simulating still", 100.0)
    assert list(progress.counted("drawing", 3)) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_bar_that_is_wanted_is_on_stderr(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the captured stderr for a terminal
    with progress.stage("simulating scara", 3, wanted=True, expected=1.0) as done:
        done(1)
        done(3)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "simulating scara" in shown.err


def test_a_terminal_shows_the_bar_unless_it_is_not_wanted(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert progress.visible()
    assert not progress.visible(False)
    monkeypatch.setenv(progress.PROGRESS, "off")
    assert not progress.visible()
    assert progress.visible(True)


def test_short_work_is_silent(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    with progress.stage("simulating scara", 3, wanted=True, expected=10.0) as done:
        done(3)
    assert capsys.readouterr() == ("", "")


def test_the_bar_is_taken_down_when_the_work_fails(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for _ in range(2):  # rich refuses a second bar while one is up
        with pytest.raises(ValueError, match="halfway"), progress.stage("x", 3, True, 1.0):
            raise ValueError("halfway")
    assert not (progress._bars or progress._stages)


class Log(io.StringIO):
    """A file that knows when a text was first written to it."""

    def __init__(self, text: str = "compiling fk of something"):
        super().__init__()
        self.text, self.seen = text, threading.Event()

    def write(self, text: str) -> int:
        done = super().write(text)
        if self.text in self.getvalue():
            self.seen.set()
        return done


class Terminal(Log):
    def isatty(self) -> bool:
        return True


def stderr(monkeypatch, kind=Terminal):
    """Not as a fixture: pytest sets stderr between those and the test."""
    made = kind()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("DYNAMIS_CACHE", "off")
    return made


@pytest.mark.parametrize("kind", [Terminal, Log])
def test_what_is_compiled_is_shown_before_it_is_done(monkeypatch, kind):
    written = stderr(monkeypatch, kind)

    def made(shown: progress.Stage) -> bytes:
        assert written.seen.wait(60.0)
        return b"code"

    with progress.command("dynamis something"):
        assert stored("no such key", made, "fk of something") == b"code"
    if kind is Terminal:
        assert written.getvalue().endswith("\x1b[2K")  # the line is erased
    else:
        assert written.getvalue().count("\n") == written.getvalue().count(" ...")
    assert "dynamis-progress" not in {thread.name for thread in threading.enumerate()}


def test_stages_inside_of_each_other_share_the_terminal(monkeypatch):
    terminal = stderr(monkeypatch)
    with progress.stage("simulating", 3, expected=1.0) as outer:
        outer(1)
        with progress.stage(terminal.text, expected=1.0):
            assert progress.visible()
            assert outer.task is not None
            assert len(progress._bars) == 1
            assert terminal.seen.wait(60.0)
        assert len(progress._bars[0].tasks) == 1
    assert " ..." not in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")


def test_a_failure_takes_the_line_down(monkeypatch):
    terminal = stderr(monkeypatch)
    with pytest.raises(ValueError, match="halfway"), progress.stage(f"{terminal.text} ..."):
        assert terminal.seen.wait(60.0)
        raise ValueError("halfway")
    assert terminal.getvalue().endswith("\x1b[2K")


def test_a_log_has_one_line_of_every_stage(capsys, monkeypatch):
    """At once where it is expected to take long; the command's own gives way to what it does."""
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    monkeypatch.setattr(progress, "SELDOM", 7200.0)
    now = iter(range(0, 10_000, 10))
    monkeypatch.setattr(progress, "clock", lambda: float(next(now)))
    with progress.command("dynamis identify"):
        with progress.stage("identifying \x1b[2J arm", 4, expected=4000.0) as outer:
            with progress.stage("compiling a", expected=4000.0):
                pass  # inside of what was said: not worth a line
            with progress.stage("compiling b") as inner:
                inner.tell("compiling b: 99 operations", 8000.0)
            outer(1)
            outer.tell("identifying arm: friction smooth")
        own = progress._command[0]
        for _ in range(2):
            with progress.stage("reading") as reading:
                reading(1)
                progress._show(own)  # as its watcher does
        progress._show(own)
        data("a table")
        assert own not in progress._stages
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        r"identifying \u001b[2J arm ...",
        "compiling b: 99 operations ...",
        "reading ...",
        "reading ...",
        "dynamis identify ...",
    ]
    assert said.out == "a table\n"


def test_a_log_has_the_share_of_a_long_stage_again_and_again(monkeypatch):
    """Where it is known; the first line may come before any of it is done."""
    monkeypatch.setattr(progress, "PATIENCE", 1e-3)
    monkeypatch.setattr(progress, "AGAIN", 1e-3)
    written = stderr(monkeypatch, lambda: Log("comparing ... 50% done"))
    with progress.command("dynamis identify"), progress.stage("comparing", 4, True) as shown:
        for done in (1, 2):
            shown(done)
            wanted = f"comparing ... {done / 4:.0%} done"
            while wanted not in written.getvalue():
                written.seen.wait(0.01)
    said = written.getvalue()
    assert 0 <= said.index("25% done") < said.index("50% done")


def test_a_line_has_the_share_and_the_time_left(monkeypatch):
    monkeypatch.setattr(progress, "clock", iter((0.0, 20.0)).__next__)
    stage = progress.Stage("simulating scara", 4)
    stage(1)
    assert stage.line == "simulating scara ... 25% done, about 60 s left"
    stage.done = stage.total + 1
    assert stage.line == "simulating scara ... takes more steps than expected"
    assert progress.duration(0.2) == "about 1 s"
    assert progress.duration(300.0) == "about 5 min"


def test_long_compilations_are_announced_before_they_begin(capsys, monkeypatch):
    """By the operations, which are counted before LLVM starts."""
    monkeypatch.setattr(progress, "PATIENCE", 1.0)
    measured = {390: 0.1, 3078: 0.6, 11_048: 2.7, 35_581: 15.0, 57_147: 34.0}
    for operations, seconds in measured.items():
        assert 0.6 < compile_time(operations) / seconds < 1.6
    with progress.command("dynamis simulate"), progress.stage("compiling it (first use)") as shown:
        shown.tell(f"{shown.what}: 57147 operations", compile_time(57_147))
        assert capsys.readouterr().err == "compiling it (first use): 57147 operations ...\n"


def test_a_program_without_a_console(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not progress.visible()
    with progress.command("dynamis show"), progress.stage("loading", expected=10.0):
        pass


def test_a_command_says_what_it_does_before_its_result(tmp_path):
    """`dynamis equations`, stderr into a file: lines there, the data alone on stdout."""
    code = "import dynamis.progress as p; p.PATIENCE = 0.0; from dynamis.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "equations", "planar-rr"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr.splitlines()[0].endswith(" ...")
    assert " ..." not in done.stdout
