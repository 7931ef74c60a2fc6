"""Points spread evenly over a box, the same ones every time."""

import numpy as np


def spread(bounds: np.ndarray, count: int, seed: int = 0, skip: int = 0) -> np.ndarray:
    """Points `skip`, `skip + 1`, ... of an additive recurrence over the box, (count, d).

    x_k = frac(x_0 + k (1/g, 1/g^2, ... 1/g^d)), g the positive root of g^(d + 1) = g + 1; the
    seed chooses x_0. H. Niederreiter, Random Number Generation and Quasi-Monte Carlo Methods, 1992.
    """
    d = len(bounds)
    g = 2.0
    for _ in range(64):
        g = (1.0 + g) ** (1.0 / (d + 1))
    first = np.random.default_rng(seed).random(d)
    k = np.arange(skip, skip + count)[:, None]
    share = (first + k * g ** -np.arange(1.0, d + 1.0)) % 1.0
    return bounds[:, 0] + share * (bounds[:, 1] - bounds[:, 0])
