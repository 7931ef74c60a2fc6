"""Finite Fourier series that start and end at rest, by free coefficients, within limits.

Of J. Swevers et al., 1997 (see `trajectory.fourier`), with velocity amplitudes a and b. At t = 0
and at the period qd = sum_k a_k and qdd = w sum_k h_k b_k; both are zero for a = N_a u, b = N_b v
with the columns of N_a and N_b spanning what is orthogonal to (1, 1, ..) and to (1, 2, ..).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..lazy import cached_property
from ..model.check.finding import Finding
from ..trajectory.fourier import Fourier
from .band import Band
from .limits import Bounds
from .loops import Loops
from .workspace import SPARE_SPACE, ClearanceMargins

if TYPE_CHECKING:
    from ..robot import Robot

LOOKS = 1000  # times in a period at which limits are verified: many more than the design uses
SPARE_TORQUE = 1e-3  # fraction kept free for what happens between two looks
SPARE_CONDITION = 0.01
HALVINGS = 12
FINEST = 1.005  # of two sizes, between which there is nothing to be found
LEVELS = 8  # sizes at which a motion of a closed mechanism is looked at on its way
SMALLEST = 0.05  # a motion that must shrink below this is given up


@dataclass(frozen=True, eq=False)
class Series:
    """All series of one period within bounds; one is X (..., 2 H - 1, n): place, then u, then v.

    A `band` of tones is the same in all of them.
    """

    harmonics: int
    period: float
    bounds: Bounds
    band: Band | None = None

    @property
    def n(self) -> int:
        """Joints."""
        return len(self.bounds.qd)

    @property
    def rows(self) -> int:
        """Free numbers of a joint."""
        return 2 * self.harmonics - 1

    @property
    def highest(self) -> int:
        """The highest harmonic, that of the band if there is one."""
        return self.harmonics if self.band is None else self.band.harmonics[-1]

    @cached_property
    def middle(self) -> np.ndarray:
        """q0 where the place is 0."""
        return self.bounds.middle if self.bounds.center is None else self.bounds.center

    @cached_property
    def size(self) -> np.ndarray:
        """Velocity that u = 1 stands for, per joint."""
        return np.minimum(self.bounds.qd, self.bounds.half * (2.0 * np.pi / self.period))

    @cached_property
    def _bases(self) -> tuple[np.ndarray, np.ndarray]:
        h = np.arange(1.0, self.harmonics + 1)
        return _orthogonal(np.ones_like(h)), _orthogonal(h)

    def shapes(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What u and v, stacked, do to q - q0, qd and qdd at times t, (T, 2 H - 2) each."""
        w = 2.0 * np.pi / self.period * np.arange(1.0, self.harmonics + 1)
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        Na, Nb = self._bases
        both = (s / w, -c / w), (c, s), (-s * w, c * w)
        q, qd, qdd = (np.hstack([left @ Na, right @ Nb]) for left, right in both)
        return q, qd, qdd

    def states(self, X: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd of series X at times t, (..., T, n) each."""
        moves = X[..., 1:, :] * self.size
        q, qd, qdd = (shape @ moves for shape in self.shapes(t))
        if self.band is not None:
            q, qd, qdd = (x + y for x, y in zip((q, qd, qdd), self.band.states(t), strict=True))
        return self.places(X)[..., None, :] + q, qd, qdd

    def with_band(self, band: Band, bounds: Bounds, X: np.ndarray) -> tuple["Series", np.ndarray]:
        """Series within other bounds and with a band; one of these as one of those."""
        wide = replace(self, bounds=bounds, band=band)
        again = X.copy()
        again[..., 0, :] = (self.places(X) - wide.middle) / bounds.half
        again[..., 1:, :] *= self.size / wide.size
        return wide, again

    def places(self, X: np.ndarray) -> np.ndarray:
        """q0, (..., n)."""
        return self.middle + X[..., 0, :] * self.bounds.half

    def trajectory(self, X: np.ndarray) -> Fourier:
        """One series as a trajectory; rest at the ends is exact up to rounding."""
        Na, Nb = self._bases
        moves = X[1:] * self.size
        u, v = moves[: self.harmonics - 1], moves[self.harmonics - 1 :]
        a, b = (Na @ u).T, (Nb @ v).T
        h = np.arange(1.0, self.harmonics + 1)
        a[:, -1] = -np.cumsum(a[:, :-1], axis=1)[:, -1]
        b[:, -1] = -np.cumsum(b[:, :-1] * h[:-1], axis=1)[:, -1] / h[-1]
        if self.band is None:
            return Fourier(a, b, self.period, self.places(X), None)
        a, b = np.hstack([a, self.band.a]), np.hstack([b, self.band.b])
        return Fourier(a, b, self.period, self.places(X), [*h, *self.band.harmonics])

    def random(self, rng: np.random.Generator, places: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Series about the given q0 (R, n), each joint as wide and fast as its own limits allow."""
        b, count = self.bounds, len(places)
        X = np.empty((count, self.rows, self.n))
        X[:, 0] = (places - self.middle) / b.half
        X[:, 1:] = rng.normal(size=(count, self.rows - 1, self.n))
        q, qd, qdd = self.states(X, t)
        moved = q - places[:, None]
        tiny = np.finfo(float).tiny
        fractions = [
            (b.q[:, 1] - places) / np.maximum(moved.max(axis=1), tiny),
            (places - b.q[:, 0]) / np.maximum(-moved.min(axis=1), tiny),
            b.qd / np.abs(qd).max(axis=1),
            b.qdd / np.abs(qdd).max(axis=1),
        ]
        X[:, 1:] *= np.minimum.reduce(fractions)[:, None]
        return X


def _orthogonal(v: np.ndarray) -> np.ndarray:
    """Columns that span what is orthogonal to v, each of length one."""
    return np.linalg.svd(v[None])[2][1:].T


def shrunk(X: np.ndarray, factor: np.ndarray | float) -> np.ndarray:
    """Motions scaled down about their own centres; one factor for each series."""
    smaller = X.copy()
    smaller[..., 1:, :] *= np.asarray(factor)[..., None, None]
    return smaller


@dataclass(frozen=True, eq=False)
class Check:
    """Limits of one robot's series; `loops` of a closed mechanism, whose series move its drives."""

    robot: "Robot"
    space: ClearanceMargins
    series: Series
    loops: Loops | None = None

    @property
    def bounds(self) -> Bounds:
        """Limits of all joints."""
        return self.series.bounds if self.loops is None else self.loops.bounds

    @property
    def looks(self) -> int:
        """Times in a period at which limits are verified."""
        return LOOKS if self.series.band is None else max(LOOKS, self.series.band.looks)

    def times(self, looks: int | None = None) -> np.ndarray:
        """Evenly over one period."""
        return np.linspace(0.0, self.series.period, looks or self.looks, endpoint=False)

    def states(
        self, X: np.ndarray, t: np.ndarray, near: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd of all joints, (..., T, n) each; NaN where loops cannot be followed.

        `near`: a motion of a closed mechanism at the same times, to begin from.
        """
        if self.loops is None:
            return self.series.states(X, t)
        return self.loops.states(self.series, X, t, near)

    def trajectory(self, X: np.ndarray) -> Fourier:
        """One series as a trajectory of the joints that controllers see."""
        own = self.series.trajectory(X)
        return own if self.loops is None else self.loops.trajectory(own, self.times())

    def uses(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, np.ndarray]:
        """Fraction of each limit used, by name, (..., T, n); 1 is at the limit."""
        b = self.bounds
        used = {
            "position": b.used(q)
            if self.loops
            else np.maximum(q - b.middle, b.middle - q) / b.half,
            "velocity": np.abs(qd) / b.qd,
            "acceleration": np.abs(qdd) / b.qdd,
        }
        if np.isfinite(b.tau).any():
            used["torque"] = np.abs(self.robot.inverse_dynamics(q, qd, qdd)) / b.tau
        return used

    def excess(self, X: np.ndarray, looks: int | None = None) -> np.ndarray:
        """Worst violation of each series, (...,); not above 0 where all limits hold.

        A trigonometric polynomial of degree H looked at T times exceeds what was seen by at most
        1 / cos(pi H / T) (Ehlich and Zeller 1964).
        """
        return self._judged(X, looks or self.looks)[0]

    def _judged(
        self, X: np.ndarray, looks: int, near: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The excess of each series, (...,), and its positions, (..., T, n)."""
        state = self.states(X, self.times(looks), near)
        if self.loops is None:
            return self._worst(state, looks), state[0]
        excess = np.full(X.shape[:-2], np.inf)
        known = np.isfinite(state[0]).all(axis=(-1, -2))
        if known.any():
            excess[known] = self._worst(tuple(x[known] for x in state), looks)
        return excess, state[0]

    def _worst(self, state: tuple[np.ndarray, ...], looks: int) -> np.ndarray:
        between: float | np.ndarray = np.cos(np.pi * self.series.highest / looks)
        if self.loops is not None:  # joints that follow are no such polynomials
            series = np.isin(np.arange(self.robot.n), self.robot.independent)
            between = np.where(series, between, 1.0 - SPARE_TORQUE)
        spare = {"torque": 1.0 - SPARE_TORQUE}
        worst = [
            (use / spare.get(name, between)).max(axis=(-1, -2)) - 1.0
            for name, use in self.uses(*state).items()
        ]
        if len(self.space):
            worst.append(SPARE_SPACE - self.space.over(state[0]).min(axis=(-1, -2)))
        excess = np.maximum.reduce(worst)
        if self.loops is not None:
            fine = excess <= 0.0
            strain = self.loops.strain(state[0][fine])
            excess[fine] = np.maximum(
                excess[fine], strain.max(axis=-1, initial=0.0) / (1.0 - SPARE_CONDITION) - 1.0
            )
        return excess

    def repaired(self, X: np.ndarray, looks: int = LOOKS) -> tuple[np.ndarray, np.ndarray]:
        """Series shrunk as little as makes them keep their limits, (R, ..); the factors, (R,).

        The factor is 0 where even a small motion breaks one.
        """
        if self.loops is not None:
            return self._grown(X, looks)
        good = np.where(self.excess(X, looks) <= 0.0, 1.0, 0.0)
        bad = np.ones(len(X))
        for _ in range(HALVINGS):
            if (good == 1.0).all():
                break
            tried = np.where(good == 1.0, 1.0, (good + bad) / 2.0)
            fine = self.excess(shrunk(X, tried), looks) <= 0.0
            good, bad = np.where(fine, tried, good), np.where(fine, bad, tried)
        good = np.where(good < SMALLEST, 0.0, good)
        return shrunk(X, good), good

    def _grown(self, X: np.ndarray, looks: int) -> tuple[np.ndarray, np.ndarray]:
        """As `repaired`, of a closed mechanism: grown from rest, so that its assembly is known.

        No smaller motion comes near a singularity; the last size that keeps all limits counts.
        """
        assert self.loops is not None
        good, bad = np.zeros(len(X)), np.zeros(len(X))  # bad: the first above good, if it is above
        now = self._still(X, looks)
        near, rows = now.copy(), np.arange(len(X))

        def grow(rows: np.ndarray, tried: np.ndarray, begin: np.ndarray) -> np.ndarray:
            excess, q = self._judged(shrunk(X[rows], tried), looks, begin[rows])
            fine = excess <= 0.0
            near[rows[fine]], good[rows[fine]] = q[fine], tried[fine]
            worse = rows[~fine]
            known = bad[worse] > good[worse]
            bad[worse] = np.where(known, np.minimum(bad[worse], tried[~fine]), tried[~fine])
            return q

        for size in np.linspace(0.0, 1.0, LEVELS + 1)[1:]:
            now[rows] = grow(rows, np.full(len(rows), size), now)
            goes_on = good[rows] == size
            goes_on[~goes_on] = self.loops.passes(now[rows[~goes_on]])
            rows = rows[goes_on]
            if not len(rows):
                break
        for _ in range(HALVINGS - int(np.log2(LEVELS))):
            rows = np.flatnonzero(bad > FINEST * good)
            if len(rows):
                grow(rows, 0.5 * (good[rows] + bad[rows]), near)
        bad = np.arange(len(X))
        for _ in range(LEVELS):  # where it can hardly be followed, the way there matters
            bad = bad[self.excess(shrunk(X[bad], good[bad]), looks) > 0.0]
            if not len(bad):
                break
            good[bad] *= 1.0 - 1.0 / LEVELS
        good[bad] = 0.0
        good = np.where(good < SMALLEST, 0.0, good)
        return shrunk(X, good), good

    def _still(self, X: np.ndarray, looks: int) -> np.ndarray:
        """A closed mechanism in the middle of each series, (R, looks, n)."""
        assert self.loops is not None
        q = self.loops.placed(self.series.places(X))[0]
        return np.repeat(q[:, None], looks, axis=1)

    def places(self, rng: np.random.Generator, count: int, tries: int = 20) -> np.ndarray:
        """Positions at rest that keep torque and space limits, at most `count`, (R, n)."""
        b = self.series.bounds
        if b.center is not None:
            q = np.repeat(b.center[None], count, axis=0)
            return q if self._rests(q)[0] else q[:0]
        found: list[np.ndarray] = []
        for k in range(tries):
            q = b.middle + 0.7 * b.half * rng.uniform(-1.0, 1.0, (count, self.series.n))
            if self.loops is not None:  # ever nearer to where it starts
                start = self.loops.start[list(self.robot.independent)]
                q = start + (1.0 - k / tries) * (q - start)
            found.append(q[self._rests(q)])
            if sum(map(len, found)) >= count:
                break
        return np.concatenate(found)[:count]

    def _rests(self, q: np.ndarray) -> np.ndarray:
        """Whether limits are kept at rest with the joints of the series at q (k, n)."""
        there = np.ones(len(q), dtype=bool)
        if self.loops is not None:
            q, there = self.loops.led_away(q, LEVELS)
            there &= self.loops.strain(q) < 1.0 - 2.0 * SPARE_CONDITION
        zero = np.zeros_like(q)
        used = self.uses(q, zero, zero)
        held = np.all([(use < 0.98).all(axis=-1) for use in used.values()], axis=0)
        return there & held & (self.space.over(q) > 2.0 * SPARE_SPACE).all(axis=-1)

    def findings(self, X: np.ndarray) -> Iterator[Finding]:
        """What one series breaks, joint by joint and margin by margin."""
        t = self.times()
        state = self.states(X, t)
        for name, use in self.uses(*state).items():
            for i in np.flatnonzero(use.max(axis=0) > 1.0):
                k = int(use[:, i].argmax())
                what = f"{name} is {100.0 * use[k, i]:.4g} % of its limit at t = {t[k]:.4g} s"
                remedy = "give the motion more time, or wider limits"
                yield Finding("error", f"joint {self.robot.joint_names[i]!r}", what, remedy)
        margins = self.space.over(state[0])
        for k in np.flatnonzero(margins.min(axis=0, initial=0.0) < 0.0):
            what = f"{self.space.label(int(k))} overlap by {-margins[:, k].min():.4g} m"
            yield Finding("error", "workspace", what, "give another center")
        if self.loops is not None and (strain := self.loops.strain(state[0])).max() > 1.0:
            k = int(strain.argmax())
            what = f"the condition number is {strain[k]:.4g} times its limit at t = {t[k]:.4g} s"
            yield Finding("error", "singularity", what, "give another center or max_condition")
