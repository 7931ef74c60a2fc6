"""Between the coordinates q and the joints of the tree: x = K q + x0, and torques back by K^T.

Robots without mimic joints and without spinning rotors have K = identity.
"""

from typing import Any

from ..model.chain import Chain
from ..spatial.functions import zero
from ..spatial.vectors import Scalars, transposed


def positions(chain: Chain, q: Scalars) -> Scalars:
    """x = K q + x0"""
    if chain.coupling is None:
        return q
    return [combined(row, q, x0) for row, x0 in zip(chain.coupling, chain.shift, strict=True)]


def rates(chain: Chain, qd: Scalars) -> Scalars:
    """K qd, for velocities and accelerations."""
    if chain.coupling is None:
        return qd
    return [combined(row, qd) for row in chain.coupling]


def torques(chain: Chain, tree: Scalars) -> Scalars:
    """K^T tau; of a row over the tree's joints, row K."""
    if chain.coupling is None:
        return tree
    return [combined(column, tree) for column in zip(*chain.coupling, strict=True)]


def matrix(chain: Chain, M: Scalars) -> Scalars:
    """K^T M K"""
    if chain.coupling is None:
        return M
    halves = [torques(chain, row) for row in M]  # M K, row by row
    columns = [torques(chain, column) for column in zip(*halves, strict=True)]
    return transposed(columns)


def combined(weights: Scalars, values: Scalars, start: Any = 0.0) -> Any:
    """Weighted sum, zero weights left out."""
    for w, x in zip(weights, values, strict=True):
        if not zero(w):
            start = start + w * x
    return start
