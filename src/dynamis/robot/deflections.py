"""Elements of friction with memory along a motion: deflections, which weights multiply.

    z_k = min(max(z_(k-1) + q_k - q_(k-1), -r), r),   u = z / r in [-1, 1]

Steps in a row are one shift between two bounds, z -> min(max(z + a, l), h): runs of rows are
computed side by side, then joined.
"""

import numpy as np

ROUNDING = 1e-6  # of a radius: deflections that differ by less are one


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
