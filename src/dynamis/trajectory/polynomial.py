"""Piecewise polynomials: cubic to nonic moves, trapezoids, splines through points."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import positive, strict
from ..compile import arrays
from ..errors import OptionError, ShapeError
from ..lazy import cached_property
from ..spatial.functions import MATH, Functions
from .arguments import all_positive, increasing, numbers, vectors
from .trajectory import FiveLists, Lists, State, Trajectory

# Motion through knots with given derivatives: two-point Hermite polynomials between them.
#
# With m derivatives x_0 .. x_(m-1) at both ends of a piece of length h, u in [0, 1] and v = 1 - u,
#
#     q(u) = sum_j h^j / j! (B_j(u) x_j + (-1)^j B_j(v) y_j),
#     B_j(u) = u^j (1 - u)^m sum_(i < m - j) binomial(m - 1 + i, i) u^i.
#
# The coefficients of B_j are whole numbers, so what is given at a knot comes out exactly, from
# either side. Degree 2m - 1: cubic, quintic, septic, nonic. P. J. Davis, Interpolation and
# Approximation, 1963.


SNAP = 4  # the highest derivative asked for


def basis(m: int) -> list[list[tuple[float, ...]]]:
    """B_j and its first four derivatives, [j][k], coefficients in rising powers."""
    rows = []
    for j in range(m):
        p = np.zeros(2 * m)
        for i in range(m - j):
            for k in range(m + 1):
                p[i + j + k] += math.comb(m - 1 + i, i) * math.comb(m, k) * (-1) ** k
        row = [p]
        for _ in range(SNAP):
            p = p[1:] * np.arange(1, len(p)) if len(p) > 1 else np.zeros(1)
            row.append(p)
        rows.append([tuple(c.tolist()) for c in row])
    return rows


def horner(c: Any, u: Any) -> Any:
    """c_0 + c_1 u + c_2 u^2 + ..."""
    value = c[-1]
    for x in reversed(c[:-1]):
        value = value * u + x
    return value


@strict
class Hermite(Trajectory):
    """Piecewise polynomial; `states[k][j][i]` is derivative j of joint i at time `times[k]`.

    Derivatives below m are continuous. Before the first knot and after the last it rests there.
    """

    def __init__(self, times: Sequence[float], states: Any):
        knots = arrays.numbers(times, "times", "expected the times of the knots")
        expected = "expected numbers of shape (knots, derivatives, joints)"
        table = arrays.numbers(states, "states", expected)
        if knots.ndim != 1 or table.ndim != 3 or len(knots) != len(table) or len(knots) < 2:
            raise ShapeError(
                f"times has shape {knots.shape}, states {table.shape}, expected two or more knots "
                "and (knots, derivatives, joints)"
            )
        _, self.m, self.n = table.shape
        self.times = tuple(knots.tolist())
        self.duration = self.times[-1]
        scale = np.array([1.0 / math.factorial(j) for j in range(self.m)])
        self._table = table * scale[:, None]
        self._rows = self._table.tolist()
        self._lengths = [b - a or 1.0 for a, b in zip(self.times, self.times[1:], strict=False)]
        self._basis = basis(self.m)

    @property
    def knots(self) -> tuple[float, ...]:
        """Times where one piece ends and the next begins, both ends included."""
        return self.times

    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""
        return self._at(t, fn, 3)

    @property
    def smooth(self) -> bool:
        """Whether derivatives up to the fourth are given at its knots, so that none jumps."""
        return self.m > SNAP

    @property
    def _roughness(self) -> str:
        return f": of degree {2 * self.m - 1}, derivative {self.m} jumps at its knots"

    def derivatives_at(self, t: Any, fn: Functions = MATH) -> FiveLists:
        """(q, qd, qdd, jerk, snap) at one time, each a list of n scalars; degree 9 at least."""
        return self._at(t, fn, 1 + SNAP) if self.smooth else super().derivatives_at(t, fn)

    def _at(self, t: Any, fn: Functions, count: int) -> Any:
        """Position and derivatives at one time, `count` lists."""
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
            [[horner(row[k], x) for row in self._basis] for k in range(count)] for x in (u, 1.0 - u)
        )
        return self._resting(t, self._piece(near, far, h, left, right), fn)

    def _over(self, times: np.ndarray) -> np.ndarray:
        """As `at`, of all joints and derivatives at once; the piece is found by bisection."""
        starts, lengths, knots, powers, factors, divisors = self._tables
        t = times.reshape(-1)
        inside = np.minimum(np.maximum(t, self.times[0]), self.duration)
        here, there = ONE_PIECE
        if len(lengths) > 1:
            here = np.searchsorted(starts[1:], inside, side="right")
            there = here + 1
        u = (inside - starts[here]) / lengths[here]
        both = np.array([u, 1.0 - u])[:, None, None]
        weights = horner(powers, both)  # (near or far end, derivative in time, of the knot, t)
        for factor in factors:
            weights = weights * factor[..., here]
        for divisor in divisors:
            weights = weights / divisor[..., here]
        near, far = weights[..., None]
        left, right = knots[:, here], knots[:, there]
        found = near[:, 0] * (left[0] - right[0])
        found[0] = near[0, 0] * left[0] + (1.0 - near[0, 0]) * right[0]
        for j in range(1, self.m):
            found = found + near[:, j] * left[j] + far[:, j] * right[j]
        outside = (t < self.times[0]) | (t > self.duration)
        if outside.any():
            found[1:, outside] = 0.0
        return found.reshape(3, *times.shape, self.n)

    @cached_property
    def _first(self) -> State:
        """State at t = 0, where every simulation along the motion begins; not to be written to."""
        return self(0.0)

    @cached_property
    def _tables(self) -> tuple[Any, ...]:
        """Arrays over the pieces: starts, lengths, states (derivatives, knots, n), then weights.

        Those are the coefficients of B_j, and what they are multiplied and divided by: the length
        once for every power as in `_times_power`, with the sign of the far end.
        """
        m, h = self.m, np.array(self._lengths)
        powers = np.zeros((2 * m, 3, m, 1))
        for j, row in enumerate(self._basis):
            for k, c in enumerate(row[:3]):
                powers[: len(c), k, j, 0] = c
        power = np.arange(m) - np.arange(3)[:, None]
        sign = np.where(power % 2, -1.0, 1.0)[..., None]
        factors = [np.where(power[..., None] > r, h, 1.0) for r in range(m - 1)]
        once, twice = (np.where(power[..., None] < -r, h, 1.0) for r in range(2))
        divisors = np.array([once, sign * once]), twice
        states = self._table.swapaxes(0, 1)
        return np.array(self.times[:-1]), h, states, powers, factors, divisors

    def _piece(self, of_u: Any, of_v: Any, h: Any, left: Any, right: Any) -> list[list[Any]]:
        """q and derivatives in time, as many as of the basis, from scaled derivatives at both ends.

        `of_u[k][j]` is derivative k of B_j at u, `of_v` at v = 1 - u.
        """
        values: list[list[Any]] = []
        for k in range(len(of_u)):
            near = [_times_power(w, h, j - k) for j, w in enumerate(of_u[k])]
            far = [_times_power(w, h, j - k) for j, w in enumerate(of_v[k])]
            far = [-w if (j + k) % 2 else w for j, w in enumerate(far)]
            # B_0(u) + B_0(v) = 1, kept to the last digit: a joint at rest stays so
            far[0] = 1.0 - near[0] if k == 0 else -near[0]
            values.append([self._blend(near, far, left, right, i, k) for i in range(len(left[0]))])
        return values

    def _blend(self, near: Any, far: Any, left: Any, right: Any, i: int, k: int) -> Any:
        if k == 0:
            total = near[0] * left[0][i] + far[0] * right[0][i]
        else:
            total = near[0] * (left[0][i] - right[0][i])
        for j in range(1, self.m):
            total = total + near[j] * left[j][i] + far[j] * right[j][i]
        return total

    def _resting(self, t: Any, lists: list[list[Any]], fn: Functions) -> Any:
        """No velocity and no other derivative before the beginning and after the end."""
        early, late = t < self.times[0], t > self.duration
        q, *rates = lists
        still = [
            [fn.select(early, 0.0, fn.select(late, 0.0, x)) for x in values] for values in rates
        ]
        return q, *still


ONE_PIECE: tuple[Any, Any] = slice(0, 1), slice(1, 2)  # its knots, for any number of times


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


@strict
def cubic(q0: Any, q1: Any, duration: float, qd0: Any = 0, qd1: Any = 0) -> Hermite:
    """From q0 to q1 with given velocities at the ends; the acceleration jumps there."""
    return _between(duration, q=(q0, q1), qd=(qd0, qd1))


@strict
def quintic(
    q0: Any, q1: Any, duration: float, qd0: Any = 0, qd1: Any = 0, qdd0: Any = 0, qdd1: Any = 0
) -> Hermite:
    """From q0 to q1 with given velocities and accelerations: rest to rest it has minimum jerk."""
    return _between(duration, q=(q0, q1), qd=(qd0, qd1), qdd=(qdd0, qdd1))


@strict
def septic(
    q0: Any, q1: Any, duration: float, qd0: Any = 0, qd1: Any = 0, qdd0: Any = 0, qdd1: Any = 0,
    qddd0: Any = 0, qddd1: Any = 0,
) -> Hermite:  # fmt: skip
    """From q0 to q1 with given velocities, accelerations and jerks."""
    return _between(duration, q=(q0, q1), qd=(qd0, qd1), qdd=(qdd0, qdd1), qddd=(qddd0, qddd1))


@strict
def nonic(
    q0: Any, q1: Any, duration: float, qd0: Any = 0, qd1: Any = 0, qdd0: Any = 0, qdd1: Any = 0,
    qddd0: Any = 0, qddd1: Any = 0, qdddd0: Any = 0, qdddd1: Any = 0,
) -> Hermite:  # fmt: skip
    """From q0 to q1 with given derivatives up to the fourth, none of which jumps: elastic arms."""
    return _between(
        duration, q=(q0, q1), qd=(qd0, qd1), qdd=(qdd0, qdd1), qddd=(qddd0, qddd1),
        qdddd=(qdddd0, qdddd1),
    )  # fmt: skip


def _between(duration: Any, **ends: tuple[Any, Any]) -> Hermite:
    """From the first to the last value of every derivative."""
    duration = positive(duration, "duration", "seconds")
    rows = vectors({f"{name}{k}": pair[k] for k in (0, 1) for name, pair in ends.items()})
    return Hermite((0.0, duration), [rows[: len(ends)], rows[len(ends) :]])


# Trapezoidal velocity: constant acceleration, cruise, constant deceleration.
#
# All joints share one profile s(t) from 0 to 1, q = q0 + (q1 - q0) s, so they start, cruise and
# stop together. With speed V, acceleration A and T = 1/V + V/A:  s accelerates for V/A, cruises,
# and decelerates for V/A; V^2 >= A leaves no cruise and is a triangle.

CRUISE = 1.5  # speed over mean speed when only the duration is given: three equal thirds
ROUNDING = 1e-12  # relative; a request this close to what is feasible is meant to be so


@strict
def trapezoid(
    q0: Any, q1: Any, duration: float | None = None, velocity: Any = None, acceleration: Any = None
) -> Hermite:
    """From rest at q0 to rest at q1 in `duration`, or as fast as the joints' limits allow.

    `velocity` and `acceleration` are limits, per joint or one for all. With limits alone: the
    shortest time (acceleration alone: bang-bang). With a duration alone: a third each to speed up,
    cruise and slow down. With both: that duration within the limits, or an error with the numbers.
    """
    limits = {"velocity": velocity, "acceleration": acceleration}
    given = {name: 1.0 if x is None else x for name, x in limits.items()}
    start, end, v, a = vectors({"q0": q0, "q1": q1, **given})
    all_positive(v, "velocity")
    all_positive(a, "acceleration")
    if duration is not None:
        duration = positive(duration, "duration", "seconds")
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


# Through points at given times: the quintic spline.
#
# Position to fourth derivative (snap) are continuous at every point; of all motions through the
# points with the given ends it has the least integral of jerk squared.
# C. de Boor, A Practical Guide to Splines, 1978.


@strict
def via(
    points: Any, times: Any, qd0: Any = 0, qd1: Any = 0, qdd0: Any = 0, qdd1: Any = 0
) -> Hermite:
    """Through `points` (k, n) at `times` (k,), which begin at 0; at rest at both ends by default.

    Unevenly spaced times can make a spline swing past its points: `check` tells.
    """
    t = increasing(times, "times")
    rows = numbers(points, "points", "k points of n joints, (k, n)")
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != len(t) or rows.shape[1] == 0:
        raise ShapeError(
            f"points has shape {rows.shape} for {len(t)} times, expected ({len(t)}, n)",
            "give one point per time, one number per joint in each",
        )
    if t[0] != 0.0:
        raise ShapeError(f"times begins at {t[0]:g}, expected 0", "subtract the first time")
    given = {"points[0]": rows[0], "qd0": qd0, "qd1": qd1, "qdd0": qdd0, "qdd1": qdd1}
    _, v0, v1, a0, a1 = (np.array(x) for x in vectors(given))
    states = np.empty((len(t), 3, rows.shape[1]))
    states[:, 0] = rows
    if len(t) > 2:
        from scipy.interpolate import make_interp_spline

        ends = [(1, v0), (2, a0)], [(1, v1), (2, a1)]
        curve = make_interp_spline(t, rows, k=5, bc_type=ends)
        states[:, 1], states[:, 2] = curve(t, 1), curve(t, 2)
    states[0, 1:], states[-1, 1:] = (v0, a0), (v1, a1)
    return Hermite(t.tolist(), states)
