"""What a motion says about the unknowns, added up block by block: the regressor is never stacked.

For every joint the Gram matrix of [Y tau] is kept, so that joints can be weighted afterwards. Where
the columns are nearly dependent, squaring would lose too many digits: then triangular factors are
kept instead, QR upon QR.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

from .samples import Samples
from .unknowns import Unknowns

SQUARED_LIMIT = 1e6  # condition number of the scaled columns above which Gram matrices will not do
Weigh = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (residual, weight) -> weight


@dataclass(frozen=True, eq=False)
class Information:
    """Triangular factors of [Y tau], one per joint: R (n, m + 1, m + 1); rows (n,) counted."""

    factors: np.ndarray
    rows: np.ndarray
    method: str  # "gram" or "qr"

    def stacked(self, weights: np.ndarray) -> np.ndarray:
        """The factor of all joints together, each times its weight, (m + 1, m + 1)."""
        full = (weights[:, None, None] * self.factors).reshape(-1, self.factors.shape[-1])
        return _triangle(full)

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """Sum of squared residuals of every joint, (n,)."""
        left = self.factors[:, :, :-1] @ x - self.factors[:, :, -1]
        return (left * left).sum(axis=1)

    @property
    def torques(self) -> np.ndarray:
        """Sum of squared torques of every joint, (n,)."""
        return (self.factors[:, :, -1] ** 2).sum(axis=1)


def information(
    motions: Sequence[Samples],
    unknowns: Unknowns,
    weigh: Weigh | None = None,
    x: np.ndarray | None = None,
    known: np.ndarray | None = None,
    method: str | None = None,
    threads: int | None = None,
) -> Information:
    """Add up what motions say; `weigh` re-weights rows by their residual at x.

    `known` are values of unknowns that are fixed beforehand, NaN for the others: their torque is
    taken off, and their columns are left zero.
    """
    if method is None:
        found = _gram(motions, unknowns, weigh, x, known, threads)
        if condition(found.stacked(np.ones(len(found.rows)))[:-1, :-1]) < SQUARED_LIMIT:
            return found
    if method == "gram":
        return _gram(motions, unknowns, weigh, x, known, threads)
    return _qr(motions, unknowns, weigh, x, known, threads)


def _weighted(motions, unknowns, weigh, x, known, threads):
    """[Y tau] of every block with its rows weighted, (b, n, m + 1), and how many count."""
    for samples in motions:
        for Y, tau, weight, _ in samples.blocks(unknowns, threads):
            w = weight
            if known is not None:
                fixed = ~np.isnan(known)
                tau = tau - Y[..., fixed] @ known[fixed]  # noqa: PLW2901
                Y[..., fixed] = 0.0
            if weigh is not None and x is not None:
                w = weigh(tau - Y @ np.where(np.isnan(x), 0.0, x), w)
            joined = np.concatenate([Y, tau[..., None]], axis=-1)
            joined *= w[..., None]
            yield joined, (w > 0.0).sum(axis=0)


def _gram(motions, unknowns, weigh, x, known, threads) -> Information:
    n, size = unknowns.robot.n, len(unknowns) + 1
    total, rows = np.zeros((n, size, size)), np.zeros(n, dtype=int)
    for joined, count in _weighted(motions, unknowns, weigh, x, known, threads):
        for j in range(n):
            block = np.ascontiguousarray(joined[:, j])
            total[j] += block.T @ block
        rows += count
    factors = np.stack([_root(g) for g in total])
    return Information(factors, rows, "gram")


def _qr(motions, unknowns, weigh, x, known, threads) -> Information:
    n, size = unknowns.robot.n, len(unknowns) + 1
    factors, rows = np.zeros((n, size, size)), np.zeros(n, dtype=int)
    for joined, count in _weighted(motions, unknowns, weigh, x, known, threads):
        for j in range(n):
            factors[j] = _triangle(np.concatenate([factors[j], joined[:, j]]))
        rows += count
    return Information(factors, rows, "qr")


def _triangle(rows: np.ndarray) -> np.ndarray:
    """R of a QR factorisation, square."""
    size = rows.shape[1]
    R: Any = qr(rows, mode="r", overwrite_a=True, check_finite=False)[0][:size]
    return R if len(R) == size else np.vstack([R, np.zeros((size - len(R), size))])


def _root(gram: np.ndarray) -> np.ndarray:
    """A factor F with F^T F = gram, which may be singular."""
    scale = np.sqrt(np.diag(gram))
    safe = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(safe, safe))
    return (np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T) * scale


def scaled(R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of unit length, and their lengths (1 for zero columns)."""
    lengths = np.linalg.norm(R, axis=0)
    safe = np.where(lengths > 0.0, lengths, 1.0)
    return R / safe, safe


def condition(R: np.ndarray) -> float:
    """Condition number of the scaled columns, zero columns left out."""
    unit, _ = scaled(R)
    used = unit[:, np.linalg.norm(R, axis=0) > 0.0]
    values = np.linalg.svd(used, compute_uv=False)
    return float("inf") if not len(values) or values[-1] == 0.0 else float(values[0] / values[-1])
