"""Many-start search: every minimum of the task's error that a spread of starts falls into.

Starts come in rounds, spread evenly. The search ends when every solution has been
hit several times: by Good and Turing's estimate the chance that the next start finds a new one is
the share of starts that hit a solution no other hit.
"""

import numpy as np

from .descent import Found, Problem, descend, found
from .distinct import JointSpace
from .spread import spread

STEPS = 60
ROUNDS = 8
HITS = 3  # times every solution is hit before the search ends
HANDFUL = 8  # representatives of a continuum
MOST = 16  # a general 6R arm has no more (E. J. F. Primrose, 1986): above it is a continuum


def search(
    problem: Problem,
    space: JointSpace,
    bounds: np.ndarray,
    starts: int,
    seed: int,
    tolerance: float,
    rank: int,
    continuum: bool = False,
    clip: bool = False,
) -> tuple[np.ndarray, float]:
    """Distinct q with a residual below the tolerance, (k, n); `bounds` is where to start.

    `rank` is the arm's in general. With `continuum` one round is enough and a handful far from each
    other comes back; `clip` keeps the search within the bounds. Also the least residual of starts
    that stalled near a singularity, where solutions may be missing.
    """
    all_found = Found(np.empty((0, len(bounds))), np.empty(0), np.inf)
    first = hits = np.empty(0, dtype=int)
    for rounds in range(1, ROUNDS + 1):
        q = spread(bounds, starts, seed, skip=starts * (rounds - 1))
        q = descend(problem, q, STEPS, bounds=bounds if clip else None)
        all_found = all_found.joined(found(problem, q, rank, tolerance))
        first, hits = space.merged(all_found.q, all_found.open_by)
        if continuum or _enough(hits, rounds):
            break
    q, missed = all_found.q[first], all_found.missed
    return (_handful(space, q, hits) if continuum or len(first) > MOST else q), missed


def start_bounds(limits: np.ndarray, revolute: np.ndarray, reach: float) -> np.ndarray:
    """Where to start: a whole turn; a slide's limits, or `reach` both ways if it has none."""
    low = np.where(np.isfinite(limits[:, 0]), limits[:, 0], -2.0 * reach)
    high = np.where(np.isfinite(limits[:, 1]), limits[:, 1], 2.0 * reach)
    low, high = np.where(revolute, -np.pi, low), np.where(revolute, np.pi, high)
    return np.stack([low, np.maximum(high, low)], axis=1)


def _enough(hits: np.ndarray, rounds: int) -> bool:
    """Whether all solutions were hit often, or two rounds found none or a continuum."""
    if 0 < len(hits) <= MOST:
        return bool(hits.min() >= HITS)
    return rounds == 2


def _handful(space: JointSpace, q: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Every isolated solution (one that was hit twice) and a few of the continuum."""
    isolated, rest = q[hits > 1], q[hits == 1]
    room = max(HANDFUL - len(isolated), 1)
    return np.concatenate([isolated, rest[space.spread(rest, room)]]) if len(rest) else isolated
