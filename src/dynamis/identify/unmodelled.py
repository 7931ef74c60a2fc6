"""Friction that a law leaves out: what elements with memory beside it would change of the unknowns.

Friction that stretches before it slips lowers the Coulomb torque after every turn, in every block
of the rows alike: no scatter over blocks shows it. A column z = u(q) - sgn qd beside the others,
with u the deflection of an element with memory over its radius, leaves Coulomb friction that of
sliding. With its weight c, from what the fit leaves over, the unknowns would be other ones by

    d = -P Y^T z c,   c = z^T r / z^T (1 - Y P Y^T) z    (all rows weighted)

One element of every joint counts, of the radius that explains most, if its weight is not negative
(friction feeds no power in), and in as far as it is larger than by chance over blocks of time.
"""

from typing import NamedTuple

import numpy as np

from ..robot.deflections import deflections
from .information import NoiseGain
from .processing import Samples

RADII = (3e-4, 1e-3, 3e-3, 1e-2)  # rad or m
SHOWN = 1e-3  # of an element's squares: less is what the other columns are too
CHANCE = 4.0  # times its variance: a weight whose square is less is chance


class Left(NamedTuple):
    """Sums by block of time, of every joint and radius: with residual, columns W, themselves."""

    residual: np.ndarray  # (B, n, k)
    columns: np.ndarray  # (B, n, k, directions)
    squares: np.ndarray  # (B, n, k)

    @classmethod
    def zeros(cls, blocks: int, joints: int, directions: int) -> "Left":
        """Sums of nothing."""
        shape = (blocks, joints, len(RADII))
        return cls(np.zeros(shape), np.zeros((*shape, directions)), np.zeros(shape))

    def add(self, j: int, z: np.ndarray, Y: np.ndarray, r: np.ndarray, block: np.ndarray) -> None:
        """Add rows of joint j: elements z (N, k), other columns Y (N, m), residual r; blocks."""
        for b in np.unique(block):
            here = block == b
            if b >= 0:
                self.residual[b, j] += r[here] @ z[here]
                self.columns[b, j] += z[here].T @ Y[here]
                self.squares[b, j] += (z[here] ** 2).sum(axis=0)


def elements_beside(samples: Samples) -> np.ndarray:
    """u - sgn qd of elements of every joint, filtered as both sides are, (N, n, k).

    Rows that depend on how an element began are as if it slipped.
    """
    q, qd = (x[:, samples.columns] for x in (samples.q, samples.qd))
    count = q.shape[1]
    u, known = deflections(np.repeat(q, len(RADII), axis=1), np.tile(RADII, count))
    z = np.where(known, u - np.repeat(np.sign(qd), len(RADII), axis=1), 0.0)
    return samples.low_passed(z).reshape(len(q), count, len(RADII))


def changes(left: Left, influence: np.ndarray, score: np.ndarray, gain: NoiseGain) -> np.ndarray:
    """What the elements would change of the fit, one row for each joint, in directions W (n, l).

    `influence` (B, l, l) and `score` (B, l) are those of the same blocks.
    """
    count, n, _ = left.residual.shape
    found = np.zeros((n, score.shape[1]))
    for j, square in enumerate(gain.weights**2):
        best = 0.0
        for k in range(len(RADII)):
            y = square * left.columns[:, j, k]
            along = y.sum(axis=0)
            own = square * left.squares[:, j, k] - 2.0 * y @ along + along @ influence @ along
            r = square * left.residual[:, j, k] - score @ along
            if count < 2 or own.sum() <= SHOWN * square * left.squares[:, j, k].sum():
                continue
            weight = r.sum() / own.sum()
            apart = r - weight * own
            variance = count / (count - 1) * (apart @ apart) / own.sum() ** 2
            sure = 1.0 - CHANCE * variance / max(weight**2, 1e-300)
            explained = weight**2 * own.sum()
            if weight > 0.0 and sure > 0.0 and explained > best:
                best, found[j] = explained, -np.sqrt(sure) * weight * along
    return found
