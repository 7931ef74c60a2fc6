"""Input shaping: a motion as a sum of delayed copies of itself, which leaves modes at rest.

    q(t) = sum_i A_i q(t - t_i),    sum_i A_i = 1

The zero vibration and derivative shaper of a mode with damped frequency f and damping ratio z:

    t = 0, 1 / 2f, 1 / f,    A = (1, 2 k, k^2) / (1 + k)^2,    k = exp(-pi z / sqrt(1 - z^2))

Of several modes it is the shaper of the first, shaped for the second, and so on. The copies are
evaluated at their own times, so there are no delay lines and no rounding of t_i to samples.
N. C. Singer and W. P. Seering, Preshaping command inputs to reduce system vibration, 1990.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..arguments import checked, strict
from ..errors import OptionError, ShapeError, shown
from ..spatial.functions import MATH, Functions
from .arguments import numbers
from .trajectory import FiveLists, Lists, Trajectory

MOST_MODES = 6  # 3^6 copies of the motion


class Impulse(NamedTuple):
    """A copy of the motion: its delay in seconds and its share."""

    time: float
    share: float


@strict
class Shaped(Trajectory):
    """The sum of copies of `trajectory`, delayed by `times` (s), in the proportions of `shares`."""

    def __init__(self, trajectory: Trajectory, times: Any, shares: Any):
        if not isinstance(trajectory, Trajectory):
            raise OptionError(f"trajectory is {shown(trajectory)}, expected one of dy.trajectory")
        delays, parts = numbers(times, "times", "seconds"), numbers(shares, "shares", "numbers")
        if delays.ndim != 1 or delays.shape != parts.shape or not delays.size:
            raise ShapeError(
                f"times has shape {delays.shape}, shares {parts.shape}, expected (k,) of both"
            )
        total = float(parts.sum())
        if (delays < 0.0).any() or not total > 0.0:
            raise OptionError(
                f"times is {shown(times)}, shares {shown(shares)}, expected delays of 0 or more "
                "and shares with a sum above 0"
            )
        self.trajectory, self.n = trajectory, trajectory.n
        self.times, self.shares = tuple(delays.tolist()), tuple((parts / total).tolist())
        self.duration = trajectory.duration + max(self.times)
        self.endless = trajectory.endless

    @property
    def period(self) -> float | None:
        """Seconds after which an endless motion repeats; None if it ends, or never does."""
        return self.trajectory.period

    @property
    def knots(self) -> tuple[float, ...]:
        """Times where a piece of any copy ends and the next begins, both ends included."""
        every = {k + t for k in self.trajectory.knots for t in self.times}
        return tuple(sorted({0.0, self.duration, *every}))

    @property
    def smooth(self) -> bool:
        """Whether the motion that is shaped is."""
        return self.trajectory.smooth

    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""
        return self._sum(lambda at: self.trajectory.at(at, fn), t)

    def derivatives_at(self, t: Any, fn: Functions = MATH) -> FiveLists:
        """(q, qd, qdd, jerk, snap) at one time, each a list of n scalars."""
        return self._sum(lambda at: self.trajectory.derivatives_at(at, fn), t)

    def _sum(self, motion: Callable[[Any], Any], t: Any) -> Any:
        """x_1 + sum_i A_i (x_i - x_1) of every list: what is at rest stays so to the last digit."""
        first, *others = (motion(t - delay) for delay in self.times)
        lists = []
        for rows in zip(first, *others, strict=True):
            values = list(rows[0])
            for share, row in zip(self.shares[1:], rows[1:], strict=True):
                values = [v + share * (x - a) for v, x, a in zip(values, row, rows[0], strict=True)]
            lists.append(values)
        return tuple(lists)


@checked
def zvd(trajectory: Trajectory, modes: Iterable[Any]) -> Shaped:
    """The motion shaped so that modes do not swing after it, nor much where they differ a little.

    `modes`: (frequency in Hz, damping ratio) of each, such as those of
    `dy.control.closed_loop_modes`. It lasts 1 / frequency longer for every mode.
    """
    found = [_mode(mode) for mode in modes]
    if not 0 < len(found) <= MOST_MODES:
        raise OptionError(f"modes are {len(found)}, expected 1 to {MOST_MODES}")
    impulses = [Impulse(0.0, 1.0)]
    for frequency, damping in found:
        k = math.exp(-math.pi * damping / math.sqrt(1.0 - damping * damping))
        shares = np.array([1.0, 2.0 * k, k * k]) / (1.0 + k) ** 2
        impulses = [
            Impulse(one.time + 0.5 * j / frequency, one.share * share)
            for one in impulses
            for j, share in enumerate(shares.tolist())
        ]
    impulses.sort()
    return Shaped(trajectory, [x.time for x in impulses], [x.share for x in impulses])


def _mode(mode: Any) -> tuple[float, float]:
    """Frequency and damping ratio of a mode, or of what has them under these names."""
    pair = (mode.frequency, mode.damping) if hasattr(mode, "frequency") else mode
    expected = "(frequency in Hz above 0, damping ratio from 0 to below 1)"
    given = numbers(pair, "a mode", expected)
    if given.shape != (2,) or not (given[0] > 0.0 and 0.0 <= given[1] < 1.0):
        raise OptionError(f"a mode is {shown(mode)}, expected {expected}")
    return float(given[0]), float(given[1])
