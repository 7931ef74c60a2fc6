"""Finite Fourier series per joint, the motion that excites a robot for identification.

    q_i = q0_i + sum_k a_ik / (w h_k) sin(w h_k t) - b_ik / (w h_k) cos(w h_k t),  w = 2 pi / period

so that a and b are the amplitudes of velocity. J. Swevers et al., Optimal robot excitation and
identification, IEEE Transactions on Robotics and Automation 13, 1997, (12).
"""

from fractions import Fraction
from math import lcm, pi
from typing import Any

import numpy as np

from ..arguments import positive, strict
from ..errors import OptionError, ShapeError
from ..spatial.functions import MATH, Functions
from .arguments import all_positive, numbers, vectors
from .trajectory import FiveLists, Lists, Trajectory, by_derivative

# a sine per joint

MOST_TURNS = 1000  # of the slowest joint until all are where they were


@strict
class Sine(Trajectory):
    """q = center + amplitude sin(2 pi frequency t + phase), for all times."""

    def __init__(self, center: Any, amplitude: Any, frequency: Any, phase: Any, duration: Any):
        self.center, self.amplitude, self.frequency, self.phase = vectors(
            {"center": center, "amplitude": amplitude, "frequency": frequency, "phase": phase}
        )
        all_positive(self.frequency, "frequency")
        self.n = len(self.center)
        period = 1.0 / min(self.frequency)
        self.duration = period if duration is None else positive(duration, "duration", "seconds")

    endless = True

    @property
    def period(self) -> float | None:
        """Seconds after which every joint repeats; None if their frequencies share no small one."""
        slowest = min(self.frequency)
        ratios = [Fraction(f / slowest).limit_denominator(MOST_TURNS) for f in self.frequency]
        exact = all(
            abs(float(r) - f / slowest) < 1e-12 * float(r)
            for r, f in zip(ratios, self.frequency, strict=True)
        )
        return lcm(*(r.denominator for r in ratios)) / slowest if exact else None

    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""
        q, qd, qdd, *_ = self.derivatives_at(t, fn)
        return q, qd, qdd

    def derivatives_at(self, t: Any, fn: Functions = MATH) -> FiveLists:
        """(q, qd, qdd, jerk, snap) at one time, each a list of n scalars."""
        states = []
        rows = zip(self.center, self.amplitude, self.frequency, self.phase, strict=True)
        for center, amplitude, frequency, phase in rows:
            w = 2.0 * pi * frequency
            s, c = fn.sin(w * t + phase), fn.cos(w * t + phase)
            qd, qdd = amplitude * w * c, -amplitude * w * w * s
            states.append((center + amplitude * s, qd, qdd, -w * w * qd, -w * w * qdd))
        return by_derivative(states)


@strict
def sine(
    center: Any, amplitude: Any, frequency: Any, phase: Any = 0, duration: float | None = None
) -> Sine:
    """q = center + amplitude sin(2 pi frequency t + phase), frequency in hertz, going on for ever.

    `duration` bounds sampling and checks: one period of the slowest joint unless given.
    """
    return Sine(center, amplitude, frequency, phase, duration)


@strict
class Fourier(Trajectory):
    """A finite Fourier series per joint: periodic, for all times; one period is its duration."""

    def __init__(self, a: Any, b: Any, period: float, q0: Any, harmonics: Any):
        self.duration = self._period = positive(period, "period", "seconds")
        self.a, self.b = _coefficients(a, b)
        self.n, count = self.a.shape
        (_, self.q0) = vectors({"a": self.a[:, 0], "q0": 0.0 if q0 is None else q0})
        self.harmonics = _harmonics(harmonics, count)

    endless = True

    @property
    def period(self) -> float:
        """Seconds after which it repeats."""
        return self._period

    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""
        q, qd, qdd, *_ = self.derivatives_at(t, fn)
        return q, qd, qdd

    def derivatives_at(self, t: Any, fn: Functions = MATH) -> FiveLists:
        """(q, qd, qdd, jerk, snap) at one time, each a list of n scalars."""
        w = [2.0 * pi / self.period * h for h in self.harmonics]
        waves = [(x, fn.sin(x * t), fn.cos(x * t)) for x in w]
        states = []
        for q0, a, b in zip(self.q0, self.a.tolist(), self.b.tolist(), strict=True):
            q, qd, qdd, jerk, snap = q0, 0.0, 0.0, 0.0, 0.0
            for ak, bk, (x, s, c) in zip(a, b, waves, strict=True):
                q = q + ak / x * s - bk / x * c
                qd = qd + ak * c + bk * s
                qdd = qdd + bk * x * c - ak * x * s
                jerk = jerk - (x * x) * (ak * c + bk * s)
                snap = snap - (x * x) * (bk * x * c - ak * x * s)
            states.append((q, qd, qdd, jerk, snap))
        return by_derivative(states)


@strict
def fourier(a: Any, b: Any, period: float, q0: Any = None, harmonics: Any = None) -> Fourier:
    """A finite Fourier series: velocity amplitudes a (cosine) and b (sine), (n, harmonics).

    `q0` is the middle (0 unless given), `harmonics` the multiples of 1/period the columns stand
    for: 1, 2, 3, ... unless given.
    """
    return Fourier(a, b, period, q0, harmonics)


def _coefficients(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    arrays = [numbers(x, name, "(joints, harmonics)") for x, name in ((a, "a"), (b, "b"))]
    first, second = (x[None, :] if x.ndim == 1 else x for x in arrays)
    if first.ndim != 2 or first.size == 0 or first.shape != second.shape:
        raise ShapeError(
            f"a has shape {first.shape}, b has shape {second.shape}, expected the same "
            "(joints, harmonics)",
            "give zeros for terms that are not wanted",
        )
    return first, second


def _harmonics(given: Any, count: int) -> tuple[int, ...]:
    if given is None:
        return tuple(range(1, count + 1))
    array = numbers(given, "harmonics", f"{count} whole numbers")
    if array.shape != (count,) or (array < 1).any() or (array != np.round(array)).any():
        raise OptionError(
            f"harmonics is {given!r}, expected {count} whole numbers above 0: one per column"
        )
    return tuple(int(x) for x in array)
