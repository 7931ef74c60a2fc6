"""Finite Fourier series that start and end at rest, by free coefficients, within limits.

Of J. Swevers et al., 1997 (see `trajectory.fourier`), with velocity amplitudes a and b. At t = 0
and at the period qd = sum_k a_k and qdd = w sum_k h_k b_k; both are zero for a = N_a u, b = N_b v
with the columns of N_a and N_b spanning what is orthogonal to (1, 1, ..) and to (1, 2, ..).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..lazy import cached_property
from ..model.check.finding import Finding
from ..trajectory.fourier import Fourier
from .limits import Bounds
from .workspace import SPARE_SPACE, Workspace

if TYPE_CHECKING:
    from ..robot import Robot

LOOKS = 1000  # times in a period at which limits are verified: many more than the design uses
SPARE_TORQUE = 1e-3  # fraction kept free for what happens between two looks
HALVINGS = 12
SMALLEST = 0.05  # a motion that must shrink below this is given up


@dataclass(frozen=True, eq=False)
class Series:
    """All series of one period within bounds; one is X (..., 2 H - 1, n): place, then u, then v."""

    harmonics: int
    period: float
    bounds: Bounds

    @property
    def n(self) -> int:
        """Joints."""
        return len(self.bounds.qd)

    @property
    def rows(self) -> int:
        """Free numbers of a joint."""
        return 2 * self.harmonics - 1

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
        return self.places(X)[..., None, :] + q, qd, qdd

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
        return Fourier(a, b, self.period, self.places(X), None)

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
    """Limits of one robot's series."""

    robot: "Robot"
    space: Workspace
    series: Series

    def times(self, looks: int = LOOKS) -> np.ndarray:
        """Evenly over one period."""
        return np.linspace(0.0, self.series.period, looks, endpoint=False)

    def uses(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, np.ndarray]:
        """Fraction of each limit used, by name, (..., T, n); 1 is at the limit."""
        b = self.series.bounds
        used = {
            "position": np.maximum(q - b.middle, b.middle - q) / b.half,
            "velocity": np.abs(qd) / b.qd,
            "acceleration": np.abs(qdd) / b.qdd,
        }
        if np.isfinite(b.tau).any():
            used["torque"] = np.abs(self.robot.inverse_dynamics(q, qd, qdd)) / b.tau
        return used

    def excess(self, X: np.ndarray, looks: int = LOOKS) -> np.ndarray:
        """Worst violation of each series, (...,); not above 0 where all limits hold.

        A trigonometric polynomial of degree H looked at T times exceeds what was seen by at most
        1 / cos(pi H / T) (Ehlich and Zeller 1964).
        """
        state = self.series.states(X, self.times(looks))
        between = np.cos(np.pi * self.series.harmonics / looks)
        spare = {"torque": 1.0 - SPARE_TORQUE}
        worst = [
            (use / spare.get(name, between)).max(axis=(-1, -2)) - 1.0
            for name, use in self.uses(*state).items()
        ]
        if len(self.space):
            worst.append(SPARE_SPACE - self.space.over(state[0]).min(axis=(-1, -2)))
        return np.maximum.reduce(worst)

    def repaired(self, X: np.ndarray, looks: int = LOOKS) -> tuple[np.ndarray, np.ndarray]:
        """Series shrunk as little as makes them keep their limits, (R, ..); the factors, (R,).

        The factor is 0 where even a small motion breaks one.
        """
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

    def places(self, rng: np.random.Generator, count: int, tries: int = 20) -> np.ndarray:
        """Positions at rest that keep torque and space limits, at most `count`, (R, n)."""
        b = self.series.bounds
        if b.center is not None:
            q = np.repeat(b.center[None], count, axis=0)
            return q if self._rests(q)[0] else q[:0]
        found: list[np.ndarray] = []
        for _ in range(tries):
            q = b.middle + 0.7 * b.half * rng.uniform(-1.0, 1.0, (count, self.series.n))
            found.append(q[self._rests(q)])
            if sum(map(len, found)) >= count:
                break
        return np.concatenate(found)[:count]

    def _rests(self, q: np.ndarray) -> np.ndarray:
        zero = np.zeros_like(q)
        used = self.uses(q, zero, zero)
        held = np.all([(use < 0.98).all(axis=-1) for use in used.values()], axis=0)
        return held & (self.space.over(q) > 2.0 * SPARE_SPACE).all(axis=-1)

    def findings(self, X: np.ndarray) -> Iterator[Finding]:
        """What one series breaks, joint by joint and margin by margin."""
        t = self.times()
        state = self.series.states(X, t)
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
