"""Progress bars on stderr for work that takes long."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds of silence


def visible(wanted: bool | None = None) -> bool:
    """Whether to show a bar: as wanted; None: if stderr is a terminal."""
    return sys.stderr.isatty() if wanted is None else wanted


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
        shown[0].update(shown[1], completed=done)

    try:
        yield progress
    finally:
        if shown is not None:
            shown[0].stop()


def counted(what: str, total: int) -> Iterator[int]:
    """0, .., total - 1 under a bar."""
    with bar(what, total) as progress:
        for k in range(total):
            yield k
            progress(k + 1)
