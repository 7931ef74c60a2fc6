"""Zeros of functions g(t, q, qd) along a run, between its steps."""

from typing import Any

import numpy as np

from ..errors import ShapeError
from ..user_code import location
from .run import Event
from .settings import Settings
from .signals import returned

HALVINGS = 50


def crossings(
    s: Settings, t: np.ndarray, rows: np.ndarray, first: int, upto: int
) -> list[tuple[Event, bool, int]]:
    """(event, whether it ends the run, the row after it), in order of time."""
    n, found = s.n, []
    if upto - first < 2:
        return []
    for number, function in enumerate(s.events, start=1):
        name = event_name(function, number)
        values = [_value(function, name, t[k], rows[k], n) for k in range(first, upto)]
        rising = getattr(function, "direction", 0)
        for k in range(first, upto - 1):
            a, b = values[k - first], values[k - first + 1]
            if (a < 0.0 <= b and rising >= 0) or (a > 0.0 >= b and rising <= 0):
                event = _located(function, name, t, rows, k, n)
                found.append((event, bool(getattr(function, "terminal", False)), k + 1))
    return sorted(found, key=lambda e: e[0].t)


def event_name(function: Any, number: int) -> str:
    """Its attribute `name`, or the name it was defined with; "event 2" if it has none."""
    own = getattr(function, "name", getattr(function, "__name__", "<lambda>"))
    return f"event {number}" if own == "<lambda>" else str(own)


def _value(function: Any, name: str, t: float, row: np.ndarray, n: int) -> float:
    given = function(float(t), row[:n].copy(), row[n : 2 * n].copy())
    value = returned(given, f"event {name!r}{location(function)}")
    if value.shape != ():
        raise ShapeError(
            f"event {name!r}{location(function)} returned shape {value.shape}, expected a number"
        )
    return float(value)


def _located(function: Any, name: str, t: np.ndarray, rows: np.ndarray, k: int, n: int) -> Event:
    """The zero between two rows, on the cubic through both states."""

    def state(s: float) -> np.ndarray:
        h = t[k + 1] - t[k]
        a, b = rows[k], rows[k + 1]
        q0, q1, v0, v1 = a[:n], b[:n], h * a[n : 2 * n], h * b[n : 2 * n]
        q = q0 + s * v0 + s * s * (3 * (q1 - q0) - 2 * v0 - v1) + s**3 * (2 * (q0 - q1) + v0 + v1)
        rate = v0 + 2 * s * (3 * (q1 - q0) - 2 * v0 - v1) + 3 * s * s * (2 * (q0 - q1) + v0 + v1)
        return np.concatenate([q, rate / h])

    low, high = 0.0, 1.0
    sign = _value(function, name, t[k], rows[k], n) > 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        at = t[k] + middle * (t[k + 1] - t[k])
        if (_value(function, name, at, state(middle), n) > 0.0) == sign:
            low = middle
        else:
            high = middle
    when = float(t[k] + high * (t[k + 1] - t[k]))
    there = state(high)
    return Event(when, name, there[:n], there[n:])
