"""Timing on noisy machines: the best of several rounds, both sides taken in turns."""

import time
from collections.abc import Callable
from typing import Any


def _round(call: Callable[[], Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def calls_for(call: Callable[[], Any], seconds: float) -> int:
    """How many calls fill about that time."""
    call()
    once = _round(call, 1)
    return max(1, min(200_000, int(seconds / max(once, 1e-8))))


def together(*calls: Callable[[], Any], rounds: int = 7, seconds: float = 0.02) -> list[float]:
    """Best time of each call, in seconds, measured round-robin so that noise hits all alike."""
    numbers = [calls_for(call, seconds) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, (call, number) in enumerate(zip(calls, numbers, strict=True)):
            best[k] = min(best[k], _round(call, number))
    return best
