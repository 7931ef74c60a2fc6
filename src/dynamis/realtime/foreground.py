"""A process in the foreground: signals end it, and it comes first where that is allowed."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

PRIORITY = 80


@contextmanager
def signals_to(stop: Any) -> Iterator[None]:
    """SIGINT and SIGTERM call `stop`."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def first_in_line() -> Iterator[None]:
    """No garbage collection; SCHED_FIFO where there is one and it is allowed."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        with _fifo():
            yield
    finally:
        if collecting:
            gc.enable()


@contextmanager
def _fifo() -> Iterator[None]:
    if not hasattr(os, "sched_setscheduler"):
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, *before)
