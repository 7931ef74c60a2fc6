"""Progress of work that takes long, on stderr: what is done, how much of it, how long it takes.

A terminal shows bars, which are gone when the work is done. Where stderr is none (a log), the
command line writes a line for every stage that takes long, and one more every half minute where it
is known how much of it is done; calls from Python write nothing.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import legible

PATIENCE = 0.5  # seconds of silence, of the second until a word has to come
SELDOM = 5.0  # seconds of a stage inside of another, in a log
AGAIN = 30.0  # seconds from one line of a stage to the next, in a log
PROGRESS = "DYNAMIS_PROGRESS"  # "off": nothing is shown
clock = time.monotonic
_lock = threading.RLock()
_stages: list["Stage"] = []  # under way, the innermost last
_bars: list[Any] = []  # the display of a terminal, while one is up
_command: list["Stage"] = []  # that of the command line, until the command itself says something


def visible(wanted: bool | None = None) -> bool:
    """Whether to show progress: as wanted; None: on a terminal, and always on the command line."""
    if wanted is not None:
        return wanted
    if os.environ.get(PROGRESS, "").lower() in ("off", "0", "no"):
        return False
    return bool(_command) or _terminal()


def _terminal() -> bool:
    if _bars:  # rich stands in for stderr, and is no terminal
        return True
    return sys.stderr is not None and sys.stderr.isatty()  # a program without console has none


class Stage:
    """Work under way: what it is, and how much of it is done. Call it with the steps done."""

    def __init__(self, what: str, total: float | None = None):
        self.what = self.title = legible(what)  # now, and for a log
        self.total, self.done, self.begun = total, 0.0, clock()
        self.told, self.task, self.patience = False, None, PATIENCE
        self.over = threading.Event()

    def __call__(self, done: float) -> None:
        """Number of steps done."""
        self.done = done
        self._update()

    def tell(self, what: str, expected: float = 0.0) -> None:
        """Say what is being done now; at once if it is expected to take long (seconds)."""
        with _lock:
            self.what = legible(what)
            if expected >= self.patience and self in _stages:
                self.title, self.told = self.what, False
                _show(self)
            self._update()

    def _update(self) -> None:
        if self.task is not None and _bars:
            _bars[0].update(self.task, completed=self.done, description=self.what)

    @property
    def line(self) -> str:
        """The line for a log."""
        if not (self.total and self.done):
            return f"{self.title} ..."
        if self.done >= self.total:
            return f"{self.title} ... takes more steps than expected"
        share = self.done / self.total
        left = (clock() - self.begun) * (1.0 - share) / share
        return f"{self.title} ... {share:.0%} done, {duration(left)} left"

    def end(self) -> None:
        """Take it down."""
        self.over.set()
        with _lock:
            if self in _stages:
                _stages.remove(self)
            if self.task is not None:
                if any(x.task is not None for x in _stages):
                    _bars[0].remove_task(self.task)
                    _show_command(not any(x.task is not None for x in _named()))
                else:
                    _bars.pop().stop()
                self.task = None


def duration(seconds: float) -> str:
    """A time as roughly as it is known: about 40 s, about 3 min."""
    if seconds < 90.0:
        return f"about {max(1, round(seconds, -1 if seconds > 15.0 else 0)):.0f} s"
    return f"about {seconds / 60.0:.0f} min"


def _show(shown: Stage) -> None:
    """Put a stage on the terminal, or once into the log; a command gives way to what it does."""
    if sys.stderr is None:
        return
    if not _bars_wanted():
        named = next(iter(_named()), shown) if shown in _command else shown
        if not named.told:
            print(named.line, file=sys.stderr, flush=True)
        named.told = True
    elif shown.task is None:
        if not _bars:
            _bars.append(_display())
        _show_command(shown in _command)
        shown.task = _bars[0].add_task(shown.what, total=shown.total, completed=shown.done)


def _show_command(alone: bool) -> None:
    """The command's own bar is there only while there is no other."""
    for own in _command:
        if own.task is not None:
            _bars[0].update(own.task, visible=alone)


def _named() -> list[Stage]:
    """Stages under way but for the command's own, the outermost first."""
    return [x for x in _stages if x not in _command]


def _bars_wanted() -> bool:
    return _terminal() or bool(os.environ.get("FORCE_COLOR"))


def _display() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    what = TextColumn("{task.description}", markup=False)
    columns = what, BarColumn(), TaskProgressColumn(), TimeLeft()
    made = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
    made.start()
    return made


@contextmanager
def stage(
    what: str, total: float | None = None, wanted: bool | None = None, expected: float = 0.0
) -> Iterator[Stage]:
    """Work of `total` steps (None: unknown), shown once it takes longer than PATIENCE, if visible.

    Work that is `expected` to take long (seconds) is shown before it begins.
    """
    made = Stage(what, total)
    if not visible(wanted):
        yield made
        return
    watcher = threading.Thread(target=_watch, args=(made,), name="dynamis-progress", daemon=True)
    with _lock:
        if _named() and not _bars_wanted():
            made.patience = SELDOM
        _stages.append(made)
        if expected >= made.patience:
            _show(made)
    watcher.start()
    try:
        yield made
    finally:
        made.end()
        watcher.join()


def _watch(made: Stage) -> None:
    pause = AGAIN if made.told else made.patience
    while not made.over.wait(pause):
        with _lock:
            if made.over.is_set():
                return
            if made.total and made.done:  # another share than in the line before
                made.told = False
            _show(made)
        pause = AGAIN


def counted(what: str, total: int) -> Iterator[int]:
    """0, .., total - 1 under a bar."""
    with stage(what, total) as progress:
        for k in range(total):
            yield k
            progress(k + 1)


@contextmanager
def command(what: str) -> Iterator[None]:
    """A command of the command line, whose stages are told in logs too.

    It is a stage itself until it says something.
    """
    made = Stage(what)
    _command.append(made)
    try:
        with stage(what) as shown:
            _command[:] = [shown]
            yield
    finally:
        _command.clear()


def said() -> None:
    """The command says something itself: its own stage is over, and bars make room."""
    with _lock:
        for made in _command:
            made.end()
        for shown in _stages:
            shown.task = None
        if _bars:
            _bars.pop().stop()
