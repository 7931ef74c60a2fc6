"""What is known of bodies before any data: bodies like those described, and how they may differ.

A pseudo-inertia P = R R^T differs by R E R^T: its mass, every second moment about its centre of
mass and the centre of mass alike, each by as much of itself, in whatever frame.
"""

from collections.abc import Sequence

import numpy as np

from .feasible import SIZE, physical, pseudo_inertias

THICK = 0.1  # of a link's own second moment: what a body without thickness gets
SMALL = 0.03  # of the largest radius of gyration: that of a link without any
LIGHT = 0.01  # of the heaviest link: the mass of a link without any


def ten_of(P: np.ndarray) -> np.ndarray:
    """The ten parameters of a pseudo-inertia."""
    (xx, xy, xz, hx), (_, yy, yz, hy), (_, _, zz, hz), (*_, m) = P
    return np.array([m, hx, hy, hz, yy + zz, -xy, xx + zz, -xz, -yz, xx + yy])


def body_deviations(P: np.ndarray) -> np.ndarray:
    """Columns (10, 10) by which the ten parameters of a pseudo-inertia deviate, relative to it."""
    R, columns = np.linalg.cholesky(P), []
    for a, b in zip(*np.tril_indices(4), strict=True):
        E = np.zeros((4, 4))
        E[a, b] = E[b, a] = 1.0 if a == b else np.sqrt(0.5)  # as in every direction
        columns.append(ten_of(R @ E @ R.T))
    return np.array(columns).T


def bodies_like(given: Sequence[np.ndarray], light: float = LIGHT) -> np.ndarray:
    """Pseudo-inertias of bodies like those given (links, 10), none without mass or thickness.

    Bodies that cannot exist do not count, unless there is no other; `light` of the heaviest link
    is the least mass.
    """
    heaviest = max(float(x[:, 0].max()) for x in given)
    heaviest = heaviest if heaviest > 0.0 else 1.0
    found = []
    for i in range(len(given[0])):
        possible = [x[i] for x in given if x[i][0] > 0.0 and physical(x[i])]
        P = np.mean([pseudo_inertias(x) for x in possible or [x[i] for x in given]], axis=0)
        P[3, 3] = max(P[3, 3], light * heaviest)
        about = P[:3, :3] - np.outer(P[:3, 3], P[:3, 3]) / P[3, 3]  # the centre of mass
        values, axes = np.linalg.eigh(about)
        found.append((P, np.maximum(values, 0.0), axes))
    largest = max(SIZE * SIZE * SMALL, *(v.sum() / P[3, 3] for P, v, _ in found))
    for P, values, axes in found:
        least = THICK / 3.0 * values.sum() + SMALL * SMALL * largest * P[3, 3]
        P[:3, :3] = (axes * (values + least)) @ axes.T + np.outer(P[:3, 3], P[:3, 3]) / P[3, 3]
    return np.array([P for P, *_ in found])
