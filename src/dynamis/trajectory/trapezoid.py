"""Trapezoidal velocity: constant acceleration, cruise, constant deceleration.

All joints share one profile s(t) from 0 to 1, q = q0 + (q1 - q0) s, so they start, cruise and stop
together. With speed V, acceleration A and T = 1/V + V/A:  s accelerates for V/A, cruises, and
decelerates for V/A; V^2 >= A leaves no cruise and is a triangle.
"""

import math
from typing import Any

import numpy as np

from ..errors import OptionError
from .arguments import all_positive, positive, vectors
from .polynomial import Hermite

CRUISE = 1.5  # speed over mean speed when only the duration is given: three equal thirds
ROUNDING = 1e-12  # relative; a request this close to what is feasible is meant to be so


def trapezoid(
    q0: Any,
    q1: Any,
    duration: float | None = None,
    velocity: Any = None,
    acceleration: Any = None,
) -> Hermite:
    """From rest at q0 to rest at q1 in `duration`, or as fast as the joints' limits allow.

    `velocity` and `acceleration` are limits, per joint or one for all. With limits alone: the
    shortest time (acceleration alone: bang-bang). With a duration alone: a third each to speed up,
    cruise and slow down. With both: that duration within the limits, or an error with the numbers.
    """
    start, end, v, a = vectors(
        {
            "q0": q0,
            "q1": q1,
            "velocity": 1.0 if velocity is None else velocity,
            "acceleration": 1.0 if acceleration is None else acceleration,
        }
    )
    all_positive(v, "velocity")
    all_positive(a, "acceleration")
    if duration is not None:
        duration = positive(duration, "duration", "in seconds")
    elif acceleration is None:
        raise OptionError(
            f"duration is None, velocity is {velocity!r}, acceleration is None",
            "give a duration, or an acceleration limit (with or without a velocity limit)",
        )
    delta = np.subtract(end, start)
    V = math.inf if velocity is None else _tightest(v, delta)
    A = math.inf if acceleration is None else _tightest(a, delta)
    if not delta.any() or (duration is None and math.isinf(A)):  # no way to go, or next to none
        T = duration or 0.0
        return Hermite((0.0, T), [[start, np.zeros_like(delta)]] * 2)
    T, V = _fastest(V, A) if duration is None else (duration, _speed(duration, V, A))
    return _profile(np.array(start), np.array(end), T, V)


def _tightest(limits: tuple[float, ...], delta: np.ndarray) -> float:
    """The limit of s(t) that the slowest joint sets."""
    return min(
        (x / abs(d) for x, d in zip(limits, delta.tolist(), strict=True) if d), default=math.inf
    )


def _fastest(V: float, A: float) -> tuple[float, float]:
    """Shortest duration within V and A, and its speed."""
    V = min(V, math.sqrt(A))
    return 1.0 / V + V / A, V


def _speed(T: float, V: float, A: float) -> float:
    """Speed of a profile of length T within V and A; of several, the gentlest."""
    if math.isinf(A):
        chosen = min(CRUISE / T if math.isinf(V) else 2.0 / T, V)
        if chosen * T <= 1.0 + ROUNDING:
            raise OptionError(
                f"duration is {T:g} s, but at the velocity limit the move takes more than "
                f"{1.0 / V:g} s",
                "give a longer duration or a higher velocity limit",
            )
        return chosen
    shortest, _ = _fastest(V, A)
    if shortest * (1.0 - ROUNDING) > T:
        raise OptionError(
            f"duration is {T:g} s, but within the limits the move takes at least {shortest:g} s",
            "give a longer duration, higher limits, or no duration for the shortest one",
        )
    # V^2 - A T V + A = 0, the smaller root, without cancellation
    return 2.0 / (T + math.sqrt(max(T * T - 4.0 / A, 0.0)))


def _profile(start: np.ndarray, end: np.ndarray, T: float, V: float) -> Hermite:
    ramp = min(T - 1.0 / V, 0.5 * T)
    delta, still = end - start, np.zeros_like(end)
    part = 0.5 * V * ramp * delta
    times = [0.0, ramp, T - ramp, T]
    states = [[start, still], [start + part, V * delta], [end - part, V * delta], [end, still]]
    if times[2] - times[1] <= ROUNDING * T:
        half = [0.5 * (start + end), V * delta]
        times, states = [0.0, 0.5 * T, T], [states[0], half, states[3]]
    return Hermite(times, states)
