"""A progress bar for designs; quiet where nobody can see it."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds of silence


@contextmanager
def design_bar(
    name: str, total: int, wanted: bool | None
) -> Iterator[Callable[[int], None] | None]:
    """A function to call with the iterations done, or None; shows itself on stderr after a while.

    `wanted` None: if stderr is a terminal.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield None
        return
    shown, begun = None, time.monotonic()

    def progress(done: int) -> None:
        nonlocal shown
        if shown is None and time.monotonic() - begun < PATIENCE:
            return
        if shown is None:
            from rich.console import Console
            from rich.progress import Progress

            made = Progress(console=Console(stderr=True), transient=True)
            made.start()
            shown = made, made.add_task(f"exciting {name}", total=total)
        shown[0].update(shown[1], completed=done)

    try:
        yield progress
    finally:
        if shown is not None:
            shown[0].stop()
