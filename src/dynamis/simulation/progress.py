"""A progress bar on stderr for runs that take long enough to wonder."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0  # seconds of silence


@contextmanager
def bar(s: Any, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the steps done; shows itself after a while, if anyone can see it."""
    shown, begun = None, time.monotonic()
    wanted = sys.stderr.isatty() if s.progress is None else s.progress

    def progress(done: int) -> None:
        nonlocal shown
        if not wanted or (shown is None and time.monotonic() - begun < PATIENCE):
            return
        if shown is None:
            from rich.console import Console
            from rich.progress import Progress

            made = Progress(console=Console(stderr=True), transient=True)
            made.start()
            shown = made, made.add_task(f"simulating {s.robot.name}", total=total)
        shown[0].update(shown[1], completed=done)

    try:
        yield progress
    finally:
        if shown is not None:
            shown[0].stop()
