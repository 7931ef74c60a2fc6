"""A path and the timing along it.

q = p(s),  qd = p'(s) sd,  qdd = p''(s) sd^2 + p'(s) sdd
"""

from typing import Any

from ..arguments import checked
from ..errors import ShapeError
from ..spatial.functions import MATH, Functions
from .trajectory import Lists, Trajectory


class Along(Trajectory):
    """The joints follow `path`, a trajectory in s; `timing` is the one-joint trajectory s(t)."""

    @checked
    def __init__(self, path: Trajectory, timing: Trajectory):
        if timing.n != 1:
            raise ShapeError(f"timing moves {timing.n} joints, expected one: s over time")
        self.path, self.timing = path, timing
        self.n, self.duration = path.n, timing.duration

    @property
    def knots(self) -> tuple[float, ...]:
        """Times where a piece of the timing ends and the next begins, both ends included."""
        return self.timing.knots

    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""
        return _chained(self.timing.at(t, fn), lambda s: self.path.at(s, fn))

    def _over(self, times: Any) -> Lists:
        return _chained(self.timing._over(times), self.path._over)


def _chained(timing: Lists, path: Any) -> Lists:
    (s,), (sd,), (sdd,) = timing
    q, p1, p2 = path(s)
    qd = [a * sd for a in p1]
    qdd = [b * (sd * sd) + a * sdd for a, b in zip(p1, p2, strict=True)]
    return q, qd, qdd
