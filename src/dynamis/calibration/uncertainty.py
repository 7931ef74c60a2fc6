"""Uncertainty of a fit, by the noise of its residuals and by their scatter over places.

By noise, with psi the influence of a robust residual, k its components and w its weight,

    C = kappa A^-1,    kappa = E[w |psi|^2] / k / E[psi']^2 E[w]

By scatter, with s_g the sum of a place's scores, A^-1 ((E[w] / E[psi'])^2 sum_g s_g s_g^T + prior)
A^-1. Both are larger by (N / (N - U))^2 for U unknowns of N rows: a fit makes its residuals, and
with them its own scale, look smaller. The larger of the two counts.
"""

from dataclasses import dataclass

import numpy as np

from .fit import BOUND, HUBER, OUTLIER, Fit, Weights


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariances of all unknowns, (U, U): zero rows for those that stay nominal."""

    noise: np.ndarray
    scatter: np.ndarray

    def along(self, J: np.ndarray) -> np.ndarray:
        """Standard deviations of J x, (...) of J (..., U): the larger of both."""
        both = [np.einsum("...i,ij,...j->...", J, C, J) for C in (self.noise, self.scatter)]
        return np.sqrt(np.maximum(np.maximum(*both), 0.0))

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the unknowns, (U,)."""
        both = np.maximum(np.diag(self.noise), np.diag(self.scatter))
        return np.sqrt(np.maximum(both, 0.0))


def uncertainty(fit: Fit) -> Uncertainty:
    """Both covariances of a fit at its minimum."""
    free, system = fit.free, fit.system()
    A = system.A[0] + np.diag(fit.priors)
    size = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))[free]
    inverse = np.linalg.pinv(A[np.ix_(free, free)] * np.outer(size, size), 1e-13, hermitian=True)
    C = np.zeros_like(A)
    C[np.ix_(free, free)] = inverse * np.outer(size, size)
    scores, places, rows = _scores(fit, len(A))
    kappa, bread = _robust_factors(fit)
    few = (rows / max(rows - int(free.sum()), 0.2 * rows)) ** 2
    scattered = few * bread * places / max(places - 1, 1) * scores @ scores.T + np.diag(fit.priors)
    return Uncertainty(few * kappa * C, C @ scattered @ C)


def _scores(fit: Fit, total: int) -> tuple[np.ndarray, int, int]:
    """Sum of J^T w r of every place (U, G), the number of places, and that of residuals."""
    count = 1 + max(int(part.place.max()) for _, part, _ in fit.each())
    found, rows = np.zeros((total, count)), 0
    for first, part, weights in fit.each():
        each = np.einsum("unk,nk->un", fit.rows(part, first), part.r * weights.w[:, None])
        np.add.at(found.T, part.place, each.T)
        rows += part.r.size
    return found, count, rows


def _robust_factors(fit: Fit) -> tuple[float, float]:
    """kappa and (E[w] / E[psi'])^2, over all parts by their number of rows."""
    own = [(_of_part(w, part.r), part.r.size) for _, part, w in fit.each() if not part.fixed]
    rows = max(sum(n for _, n in own), 1)
    kappa, bread = (sum(x[k] * n for x, n in own) / rows for k in (0, 1))
    return (kappa, bread) if own else (1.0, 1.0)


def _of_part(weights: Weights, r: np.ndarray) -> tuple[float, float]:
    """Both of one kind of residual; 1 of plain least squares on residuals as large as stated."""
    k, d = r.shape[1], np.linalg.norm(r, axis=1) / np.sqrt(weights.variance)
    d = d[d <= OUTLIER * BOUND[k]]
    if not len(d):
        return 1.0, 1.0
    w = np.minimum(1.0, HUBER[k] / np.maximum(d, 1e-300))
    slope = float(np.where(d <= HUBER[k], 1.0, (k - 1) / k * w).mean())
    return float((w * w * d * d).mean() / k / slope**2 * w.mean()), float(w.mean() / slope) ** 2
