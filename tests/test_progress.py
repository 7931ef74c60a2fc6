"""Progress bars: nothing where nobody looks, and gone at the end."""

import sys

import pytest

from dynamis import progress


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
