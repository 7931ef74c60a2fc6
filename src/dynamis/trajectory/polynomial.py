"""One polynomial from one state to another: cubic, quintic, septic."""

from collections.abc import Sequence
from math import comb, factorial
from typing import Any

import numpy as np

from ..compile.arrays import NUMPY, numbers
from ..errors import ShapeError
from ..spatial.functions import MATH, Functions
from .arguments import positive, vectors
from .trajectory import Lists, Trajectory

# Motion through knots with given derivatives: two-point Hermite polynomials between them.
#
# With m derivatives x_0 .. x_(m-1) at both ends of a piece of length h, u in [0, 1] and v = 1 - u,
#
#     q(u) = sum_j h^j / j! (B_j(u) x_j + (-1)^j B_j(v) y_j),
#     B_j(u) = u^j (1 - u)^m sum_(i < m - j) binomial(m - 1 + i, i) u^i.
#
# The coefficients of B_j are whole numbers, so what is given at a knot comes out exactly, from
# either side. Degree 2m - 1: cubic, quintic, septic. P. J. Davis, Interpolation and Approximation,
# 1963.

Coefficients = tuple[float, ...]


def basis(m: int) -> list[list[Coefficients]]:
    """B_j and its first two derivatives, [j][k], coefficients in rising powers."""
    rows = []
    for j in range(m):
        p = np.zeros(2 * m)
        for i in range(m - j):
            for k in range(m + 1):
                p[i + j + k] += comb(m - 1 + i, i) * comb(m, k) * (-1) ** k
        d1 = p[1:] * np.arange(1, len(p))
        d2 = d1[1:] * np.arange(1, len(d1))
        rows.append([tuple(c.tolist()) for c in (p, d1, d2)])
    return rows


def horner(c: Any, u: Any) -> Any:
    """c_0 + c_1 u + c_2 u^2 + ..."""
    value = c[-1]
    for x in reversed(c[:-1]):
        value = value * u + x
    return value


class Hermite(Trajectory):
    """Piecewise polynomial; `states[k][j][i]` is derivative j of joint i at time `times[k]`.

    Derivatives below m are continuous. Before the first knot and after the last it rests there.
    """

    def __init__(self, times: Sequence[float], states: Any):
        knots = numbers(times, "times", "expected the times of the knots")
        table = numbers(states, "states", "expected numbers of shape (knots, derivatives, joints)")
        if knots.ndim != 1 or table.ndim != 3 or len(knots) != len(table) or len(knots) < 2:
            raise ShapeError(
                f"times has shape {knots.shape}, states {table.shape}, expected two or more knots "
                "and (knots, derivatives, joints)"
            )
        _, self.m, self.n = table.shape
        self.times = tuple(knots.tolist())
        self.duration = self.times[-1]
        scale = np.array([1.0 / factorial(j) for j in range(self.m)])
        self._table = table * scale[:, None]
        self._rows = self._table.tolist()
        self._lengths = [b - a or 1.0 for a, b in zip(self.times, self.times[1:], strict=False)]
        self._basis = basis(self.m)
        self._powers = np.zeros((2 * self.m, 3, self.m))  # the same, by power
        for j, row in enumerate(self._basis):
            for k, c in enumerate(row):
                self._powers[: len(c), k, j] = c

    @property
    def knots(self) -> tuple[float, ...]:
        """Times where one piece ends and the next begins, both ends included."""
        return self.times

    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""
        inside = fn.min(fn.max(t, self.times[0]), self.duration)
        start, h, left, right = self.times[0], self._lengths[0], self._rows[0], self._rows[1]
        for k in range(1, len(self._lengths)):
            later = inside >= self.times[k]
            start = fn.select(later, self.times[k], start)
            h = fn.select(later, self._lengths[k], h)
            left = _selected(later, self._rows[k], left, fn)
            right = _selected(later, self._rows[k + 1], right, fn)
        u = (inside - start) / h
        near, far = (
            [[horner(row[k], x) for row in self._basis] for k in range(3)] for x in (u, 1.0 - u)
        )
        return self._resting(t, self._piece(near, far, h, left, right), fn)

    def _over(self, times: np.ndarray) -> Lists:
        """The value with the piece found by bisection, of all joints at once."""
        inside = np.minimum(np.maximum(times, self.times[0]), self.duration)
        last = len(self._lengths) - 1
        k = np.clip(np.searchsorted(self.times, inside, side="right") - 1, 0, last)
        start, h = np.array(self.times)[k], np.array(self._lengths)[k]
        ends = [[[x] for x in np.moveaxis(self._table[i], (-2, -1), (0, 1))] for i in (k, k + 1)]
        u = (inside - start) / h
        both = np.stack([u, 1.0 - u])
        rows = self._powers.reshape(*self._powers.shape, *(1 for _ in range(both.ndim)))
        near, far = np.moveaxis(horner(rows, both), 2, 0)
        all_joints = self._resting(times, self._piece(near, far, h, *ends), NUMPY)
        q, qd, qdd = (list(values[0]) for values in all_joints)
        return q, qd, qdd

    def _piece(self, of_u: Any, of_v: Any, h: Any, left: Any, right: Any) -> Lists:
        """q and two derivatives in time, from the scaled derivatives at both ends.

        `of_u[k][j]` is derivative k of B_j at u, `of_v` at v = 1 - u.
        """
        values: list[list[Any]] = []
        for k in range(3):
            near = [_times_power(w, h, j - k) for j, w in enumerate(of_u[k])]
            far = [_times_power(w, h, j - k) for j, w in enumerate(of_v[k])]
            far = [-w if (j + k) % 2 else w for j, w in enumerate(far)]
            # B_0(u) + B_0(v) = 1, kept to the last digit: a joint at rest stays so
            far[0] = 1.0 - near[0] if k == 0 else -near[0]
            values.append([self._blend(near, far, left, right, i, k) for i in range(len(left[0]))])
        return values[0], values[1], values[2]

    def _blend(self, near: Any, far: Any, left: Any, right: Any, i: int, k: int) -> Any:
        if k == 0:
            total = near[0] * left[0][i] + far[0] * right[0][i]
        else:
            total = near[0] * (left[0][i] - right[0][i])
        for j in range(1, self.m):
            total = total + near[j] * left[j][i] + far[j] * right[j][i]
        return total

    def _resting(self, t: Any, lists: Lists, fn: Functions) -> Lists:
        """No velocity and acceleration before the beginning and after the end."""
        early, late = t < self.times[0], t > self.duration
        q, *rates = lists
        qd, qdd = (
            [fn.select(early, 0.0, fn.select(late, 0.0, x)) for x in values] for values in rates
        )
        return q, qd, qdd


def _times_power(w: Any, h: Any, p: int) -> Any:
    """w h^p"""
    for _ in range(abs(p)):
        w = w * h if p > 0 else w / h
    return w


def _selected(condition: Any, a: Any, b: Any, fn: Functions) -> list[list[Any]]:
    return [
        [fn.select(condition, x, y) for x, y in zip(rows, others, strict=True)]
        for rows, others in zip(a, b, strict=True)
    ]


def cubic(q0: Any, q1: Any, duration: float, qd0: Any = 0, qd1: Any = 0) -> Hermite:
    """From q0 to q1 with given velocities at the ends; the acceleration jumps there."""
    return _between(duration, {"q0": q0, "qd0": qd0}, {"q1": q1, "qd1": qd1})


def quintic(
    q0: Any,
    q1: Any,
    duration: float,
    qd0: Any = 0,
    qd1: Any = 0,
    qdd0: Any = 0,
    qdd1: Any = 0,
) -> Hermite:
    """From q0 to q1 with given velocities and accelerations: rest to rest it has minimum jerk."""
    first, last = {"q0": q0, "qd0": qd0, "qdd0": qdd0}, {"q1": q1, "qd1": qd1, "qdd1": qdd1}
    return _between(duration, first, last)


def septic(
    q0: Any,
    q1: Any,
    duration: float,
    qd0: Any = 0,
    qd1: Any = 0,
    qdd0: Any = 0,
    qdd1: Any = 0,
    qddd0: Any = 0,
    qddd1: Any = 0,
) -> Hermite:
    """From q0 to q1 with given velocities, accelerations and jerks."""
    first = {"q0": q0, "qd0": qd0, "qdd0": qdd0, "qddd0": qddd0}
    last = {"q1": q1, "qd1": qd1, "qdd1": qdd1, "qddd1": qddd1}
    return _between(duration, first, last)


def _between(duration: Any, first: dict[str, Any], last: dict[str, Any]) -> Hermite:
    duration = positive(duration, "duration", "in seconds")
    rows = vectors({**first, **last})
    return Hermite((0.0, duration), [rows[: len(first)], rows[len(first) :]])
