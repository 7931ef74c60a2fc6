"""Progress bars: nothing where nobody looks, and gone at the end."""

import io
import sys
import threading

import pytest

from dynamis import progress
from dynamis.compile.service import stored


def test_nothing_is_shown_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert not progress.visible()
    with progress.bar("simulating", 3) as done:
        done(1)
    assert list(progress.counted("drawing", 3)) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_bar_that_is_wanted_is_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the captured stderr for a terminal
    with progress.bar("simulating scara", 3, wanted=True) as done:
        done(1)
        done(3)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "simulating scara" in shown.err


def test_a_terminal_shows_the_bar_unless_it_is_not_wanted(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert progress.visible()
    assert not progress.visible(False)


def test_short_work_is_silent(capsys):
    with progress.bar("simulating scara", 3, wanted=True) as done:
        done(3)
    assert capsys.readouterr() == ("", "")


def test_the_bar_is_taken_down_when_the_work_fails(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with pytest.raises(ValueError, match="halfway"), progress.bar("x", 3, wanted=True) as done:
        done(1)
        raise ValueError("halfway")
    with progress.bar("y", 3, wanted=True) as done:  # rich refuses a second bar while one is up
        done(1)


class Terminal(io.StringIO):
    """A terminal that knows when a text was first written to it."""

    def __init__(self, text: str):
        super().__init__()
        self.text, self.seen = text, threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        if self.text in self.getvalue():
            self.seen.set()
        return done


def at_terminal(monkeypatch) -> Terminal:
    """Not as a fixture: pytest sets stderr between those and the test."""
    made = Terminal("compiling fk of something")
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("DYNAMIS_CACHE", "off")
    return made


def test_what_is_compiled_is_on_the_terminal_until_it_is_done(monkeypatch):
    terminal = at_terminal(monkeypatch)

    def made() -> bytes:
        assert terminal.seen.wait(60.0)
        return b"code"

    assert stored("no such key", made, "fk of something") == b"code"
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is erased
    assert "dynamis-progress" not in {thread.name for thread in threading.enumerate()}


def test_a_failure_takes_the_line_down(monkeypatch):
    terminal = at_terminal(monkeypatch)
    with pytest.raises(ValueError, match="halfway"), progress.waiting(f"{terminal.text} ..."):
        assert terminal.seen.wait(60.0)
        raise ValueError("halfway")
    assert terminal.getvalue().endswith("\x1b[2K")


def test_a_bar_is_not_disturbed(monkeypatch):
    terminal = at_terminal(monkeypatch)
    with progress.bar("simulating", 3) as done:
        done(1)
        with progress.waiting(terminal.text):
            pass
    assert not terminal.seen.is_set()


def test_nobody_is_told_what_is_compiled_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    before = threading.active_count()
    with progress.waiting("compiling"):
        assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


def test_a_program_without_a_console(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not progress.visible()
