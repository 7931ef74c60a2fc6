"""Finite Fourier series that start and end at rest, by free coefficients.

Of J. Swevers et al., 1997 (see `trajectory.fourier`), with velocity amplitudes a and b. At t = 0
and at the period qd = sum_k a_k and qdd = w sum_k h_k b_k; both are zero for a = N_a u, b = N_b v
with the columns of N_a and N_b spanning what is orthogonal to (1, 1, ..) and to (1, 2, ..).
"""

from dataclasses import dataclass

import numpy as np

from ..lazy import cached_property
from ..trajectory.fourier import Fourier
from .limits import Bounds


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
        b = self.bounds
        return b.middle if b.center is None else b.center

    @cached_property
    def size(self) -> np.ndarray:
        """Velocity that u = 1 stands for, per joint."""
        w = 2.0 * np.pi / self.period
        return np.minimum(self.bounds.qd, self.bounds.half * w)

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
