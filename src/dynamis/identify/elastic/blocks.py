"""Scatter of unknowns over blocks of time: a bootstrap that knows nothing of noise."""

import numpy as np
from scipy.stats import t as student

BLOCKS = 16  # at least, where they are long enough
SHORTEST = 0.25  # s
LONG = 1.0  # s: more blocks than the least where they are longer
MOST_BLOCKS = 48
DRAWS = 300


def block_scatter(
    jacobian: np.ndarray, residual: np.ndarray, places: np.ndarray, seconds: float
) -> np.ndarray:
    """Half widths of 95 % of unknowns, from their Jacobian (rows, unknowns), over blocks of time.

    `places` (rows,) are where rows lie in the whole time, from 0 to 1. Every draw of blocks gives
    one Gauss-Newton step; their deviation counts for a t quantile.
    """
    count, size = block_count(seconds), np.linalg.norm(jacobian, axis=0)
    size[size == 0.0] = 1.0
    J, block = jacobian / size, np.minimum((places * count).astype(int), count - 1)
    each = [(J[block == k], residual[block == k]) for k in range(count)]
    gram = np.array([A.T @ A for A, _ in each])
    right = np.array([A.T @ r for A, r in each])
    rng, floor = np.random.default_rng(0), 1e-12 * np.eye(J.shape[1])
    draws = [np.bincount(rng.integers(0, count, count), minlength=count) for _ in range(DRAWS)]
    steps = [
        np.linalg.solve(np.tensordot(w, gram, 1) + floor, np.tensordot(w, right, 1)) / size
        for w in draws
    ]
    wider = np.sqrt(count / (count - 1.0)) * student.ppf(0.975, count - 1)
    return wider * np.std(steps, axis=0)


def block_count(seconds: float) -> int:
    """Blocks of time for a bootstrap."""
    most = max(4, int(seconds / SHORTEST))
    return min(most, max(BLOCKS, min(MOST_BLOCKS, int(seconds / LONG))))
