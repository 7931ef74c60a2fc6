"""Progress on stderr of work that takes long: bars, and what is being waited for."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds of silence
_shown: list[str] = []  # bars and lines on the terminal; a line gives way to what is there


def visible(wanted: bool | None = None) -> bool:
    """Whether to show a bar: as wanted; None: if stderr is a terminal."""
    if wanted is not None:
        return wanted
    return sys.stderr is not None and sys.stderr.isatty()  # a program without console has none


@contextmanager
def bar(what: str, total: int, wanted: bool | None = None) -> Iterator[Callable[[int], None]]:
    """A function to call with the steps done; the bar appears after a second, if visible."""
    shown, begun, seen = None, time.monotonic(), visible(wanted)

    def progress(done: int) -> None:
        nonlocal shown
        if not seen or (shown is None and time.monotonic() - begun < PATIENCE):
            return
        if shown is None:
            from rich.console import Console
            from rich.progress import Progress

            made = Progress(console=Console(stderr=True), transient=True)
            made.start()
            shown = made, made.add_task(what, total=total)
            _shown.append(what)
        shown[0].update(shown[1], completed=done)

    try:
        yield progress
    finally:
        if shown is not None:
            _shown.remove(what)
            shown[0].stop()


def counted(what: str, total: int) -> Iterator[int]:
    """0, .., total - 1 under a bar."""
    with bar(what, total) as progress:
        for k in range(total):
            yield k
            progress(k + 1)


@contextmanager
def waiting(what: str, wanted: bool | None = None) -> Iterator[None]:
    """A line for work that cannot tell how far it is; it appears after a second, if visible."""
    if not visible(wanted):
        yield
        return
    over = threading.Event()

    def show() -> None:
        if over.wait(PATIENCE) or _shown:
            return
        from rich.console import Console

        with Console(stderr=True).status(what):
            over.wait()

    thread = threading.Thread(target=show, name="dynamis-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
