"""When ten numbers are a body: the pseudo-inertia is positive semidefinite (Wensing 2018).

    P = [[S, h], [h^T, m]],   S = tr(I)/2 - I

P is the integral of [r; 1][r; 1]^T dm, so a distribution of mass exists exactly if P >= 0.
"""

from typing import Any

import numpy as np

ROUNDING = 1e-9  # of the largest eigenvalue


def pseudo_inertia(ten: Any) -> np.ndarray:
    """P of the ten parameters of links, (..., 4, 4)."""
    p = np.moveaxis(np.asarray(ten, dtype=float), -1, 0)
    m, hx, hy, hz, xx, xy, yy, xz, yz, zz = p
    half = 0.5 * (xx + yy + zz)
    rows = [
        [half - xx, -xy, -xz, hx],
        [-xy, half - yy, -yz, hy],
        [-xz, -yz, half - zz, hz],
        [hx, hy, hz, m],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def basis() -> np.ndarray:
    """The matrices that the ten parameters multiply, (10, 4, 4)."""
    return pseudo_inertia(np.eye(10))


def lengths(P: np.ndarray, size: float) -> np.ndarray:
    """P with lengths measured in units of `size`, so that its entries compare."""
    D = np.diag([1.0 / size, 1.0 / size, 1.0 / size, 1.0])
    return D @ P @ D


def physical(ten: Any, size: float = 0.1) -> np.ndarray:
    """Whether each link is a body, (...,); a link without anything is one too."""
    values = np.linalg.eigvalsh(lengths(pseudo_inertia(ten), size))
    return values[..., 0] >= -ROUNDING * np.maximum(values[..., -1], 0.0)


def links_of(full: Any, links: int) -> np.ndarray:
    """The ten parameters of every link, (links, 10)."""
    return np.asarray(full, dtype=float)[: 10 * links].reshape(links, 10)
