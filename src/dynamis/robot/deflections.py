"""Friction with memory along a motion: deflections of elements, torque of bristles.

    z_k = min(max(z_(k-1) + q_k - q_(k-1), -r), r),   u = z / r in [-1, 1]

Steps in a row are one shift between two bounds, z -> min(max(z + a, l), h): runs of rows are
computed side by side, then joined. Steps of bristles are joined as y -> a y + b.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ROUNDING = 1e-6  # of a radius: deflections that differ by less are one
FORGOTTEN = 1e-2  # of how bristles began: rows with less of it tell them
LEAST = 1e-12  # N m or N; bristles that hold less hold nothing


def deflections(q: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u (N, k) of elements that start relaxed, and the rows that do not depend on that, bool.

    `q` (N, k) are positions of rows that follow each other, one column for each of `radii` (k,).
    """
    count, size = q.shape
    run = max(1, int(np.ceil(np.sqrt(count))))
    runs = -(-count // run)
    moves = np.zeros((runs * run, size))
    moves[1:count] = np.diff(q, axis=0)
    moves = moves.reshape(runs, run, size)
    shift = np.cumsum(moves, axis=1)
    low, high = np.empty_like(moves), np.empty_like(moves)
    ends = [np.tile(x, (runs, 1)) for x in (-radii, radii)]
    for k in range(run):  # row k of every run
        ends = [np.clip(x + moves[:, k], -radii, radii) for x in ends]
        low[:, k], high[:, k] = ends

    def begun_at(z: np.ndarray) -> np.ndarray:
        starts = np.empty((runs, size))
        for k in range(runs):
            starts[k] = z
            z = np.clip(z + shift[k, -1], low[k, -1], high[k, -1])
        found = np.clip(starts[:, None] + shift, low, high)
        return found.reshape(runs * run, size)[:count] / radii

    known = begun_at(radii) - begun_at(-radii) <= ROUNDING
    return begun_at(np.zeros(size)), known


def relaxed(keep: np.ndarray, push: np.ndarray) -> np.ndarray:
    """y (N, k) with y_i = keep_i y_(i-1) + push_i from 0."""
    count, size = keep.shape
    run = max(1, int(np.ceil(np.sqrt(count))))
    runs = -(-count // run)
    a, b = np.ones((runs * run, size)), np.zeros((runs * run, size))
    a[:count], b[:count] = keep, push
    a, b = a.reshape(runs, run, size), b.reshape(runs, run, size)
    for k in range(1, run):  # row k of every run
        b[:, k] += a[:, k] * b[:, k - 1]
        a[:, k] *= a[:, k - 1]
    for k in range(1, runs):
        b[k] += a[k] * b[k - 1, -1]
    return b.reshape(runs * run, size)[:count]


@dataclass(frozen=True, eq=False)
class Bristles:
    """Bristles of some joints, constants (k,): their torque is y + damping z',

        y' = stiffness z',   z' = qd - |qd| y / g,   g = coulomb + stribeck exp(-(qd / velocity)^2)

    with y the torque of bent bristles (N m or N). The torque is homogeneous of degree 1 in coulomb,
    stribeck, stiffness and damping: it is the sum of its slopes times these.
    """

    coulomb: np.ndarray
    stribeck: np.ndarray  # that the torque at rest has more than sliding
    velocity: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    backwards: tuple[np.ndarray, np.ndarray] | None = None  # coulomb, stribeck moving negative

    def along(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Torque (N, k) of bristles that start relaxed, along rows (N, k) that follow each other.

        Exact where the velocity is constant from row to row.
        """
        y = self._path(q, qd).torque
        return y + self.damping * self._rate(qd, y)

    def slopes(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of the torque, (5, N, k), and the rows that do not depend on the start, bool.

        Over coulomb, stribeck, stiffness, damping and the logarithm of velocity.
        """
        path, (share, bend) = self._path(q, qd), self._shares(qd)
        y, limit, nothing, whole = path.torque, self._limit(qd, share), 0.0 * q, 1.0 + 0.0 * q
        of_limit = whole, path.share, nothing, self.stribeck * path.bend
        stiffer = 0.0, 0.0, 1.0 / self.stiffness, 0.0
        torques = path.slopes(of_limit, stiffer)
        found = np.empty((5, *y.shape))
        of_limit = whole, share, nothing, self.stribeck * bend
        for k, by, more in zip((0, 1, 2, 4), torques, of_limit, strict=True):
            rate = -np.abs(qd) * (by - y * more / limit) / limit
            found[k] = by + self.damping * rate
        found[3] = self._rate(qd, y)
        return found, np.cumsum(path.ratio, axis=0) >= -np.log(FORGOTTEN)

    def _path(self, q: np.ndarray, qd: np.ndarray) -> "_Path":
        moves = np.diff(q, axis=0, prepend=q[:1])
        mean = 0.5 * (qd + np.concatenate([qd[:1], qd[:-1]]))
        share, bend = self._shares(mean)
        limit = self._limit(moves, share)
        ratio = self.stiffness * np.abs(moves) / limit
        keep, side = np.exp(-ratio), np.sign(moves)
        torque = relaxed(keep, (1.0 - keep) * limit * side)
        return _Path(keep, ratio, limit, side, share, bend, torque)

    def _rate(self, qd: np.ndarray, y: np.ndarray) -> np.ndarray:
        """z' of bristles of torque y."""
        return qd - np.abs(qd) * y / self._limit(qd, self._shares(qd)[0])

    def _limit(self, side: np.ndarray, share: np.ndarray) -> np.ndarray:
        """g of joints that move to a side."""
        limit = self.coulomb + self.stribeck * share
        if self.backwards is not None:
            coulomb, stribeck = self.backwards
            limit = np.where(side < 0.0, coulomb + stribeck * share, limit)
        return np.maximum(limit, LEAST)

    def _shares(self, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """exp(-(qd / velocity)^2), and its slope over the logarithm of velocity."""
        squared = (qd / self.velocity) ** 2
        share = np.exp(-squared)
        return share, 2.0 * squared * share


@dataclass(frozen=True, eq=False)
class _Path:
    """Bristles from row to row: y = keep y_before + (1 - keep) limit side, keep = exp(-ratio)."""

    keep: np.ndarray
    ratio: np.ndarray
    limit: np.ndarray
    side: np.ndarray
    share: np.ndarray
    bend: np.ndarray
    torque: np.ndarray

    def slopes(self, of_limit: Sequence[np.ndarray], stiffer: Sequence[Any]) -> np.ndarray:
        """Slopes of the torque (s, N, k) from slopes of the limit and of log stiffness."""
        before = np.concatenate([0.0 * self.torque[:1], self.torque[:-1]])
        way = self.keep * self.ratio * (before - self.limit * self.side)
        pushes = [
            (1.0 - self.keep) * more * self.side - way * (stiff - more / self.limit)
            for more, stiff in zip(of_limit, stiffer, strict=True)
        ]
        found = relaxed(np.tile(self.keep, len(pushes)), np.concatenate(pushes, axis=1))
        return found.reshape(len(found), len(pushes), -1).transpose(1, 0, 2)
