"""A sine per joint."""

from fractions import Fraction
from math import lcm, pi
from typing import Any

from ..spatial.functions import MATH, Functions
from .arguments import all_positive, positive, vectors
from .trajectory import Lists, Trajectory

MOST_TURNS = 1000  # of the slowest joint until all are where they were


class Sine(Trajectory):
    """q = center + amplitude sin(2 pi frequency t + phase), for all times."""

    def __init__(self, center: Any, amplitude: Any, frequency: Any, phase: Any, duration: Any):
        given = {
            "center": center,
            "amplitude": amplitude,
            "frequency": frequency,
            "phase": phase,
        }
        self.center, self.amplitude, self.frequency, self.phase = vectors(given)
        all_positive(self.frequency, "frequency")
        self.n = len(self.center)
        period = 1.0 / min(self.frequency)
        self.duration = period if duration is None else positive(duration, "duration", "in seconds")

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
        lists: Lists = ([], [], [])
        rows = zip(self.center, self.amplitude, self.frequency, self.phase, strict=True)
        for center, amplitude, frequency, phase in rows:
            w = 2.0 * pi * frequency
            s, c = fn.sin(w * t + phase), fn.cos(w * t + phase)
            state = center + amplitude * s, amplitude * w * c, -amplitude * w * w * s
            for values, x in zip(lists, state, strict=True):
                values.append(x)
        return lists


def sine(
    center: Any, amplitude: Any, frequency: Any, phase: Any = 0, duration: float | None = None
) -> Sine:
    """q = center + amplitude sin(2 pi frequency t + phase), frequency in hertz, going on for ever.

    `duration` bounds sampling and checks: one period of the slowest joint unless given.
    """
    return Sine(center, amplitude, frequency, phase, duration)
