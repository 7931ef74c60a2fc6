"""Between the coordinates q and the joints of the tree: x = K q + x0, and torques back by K^T.

Robots without mimic joints and without spinning rotors have K = identity.
"""

from collections.abc import Sequence
from typing import Any

from ..model.chain import Chain


def positions(chain: Chain, q: Sequence[Any]) -> Sequence[Any]:
    """x = K q + x0"""
    if chain.coupling is None:
        return q
    return [_combination(row, q, x0) for row, x0 in zip(chain.coupling, chain.shift, strict=True)]


def rates(chain: Chain, qd: Sequence[Any]) -> Sequence[Any]:
    """K qd, for velocities and accelerations."""
    if chain.coupling is None:
        return qd
    return [_combination(row, qd, 0.0) for row in chain.coupling]


def torques(chain: Chain, tree: Sequence[Any]) -> Sequence[Any]:
    """K^T tau"""
    if chain.coupling is None:
        return tree
    return [_combination(column, tree, 0.0) for column in zip(*chain.coupling, strict=True)]


def matrix(chain: Chain, M: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """K^T M K"""
    if chain.coupling is None:
        return M
    halves = [rates_transposed(chain, row) for row in M]  # M K, row by row
    columns = [torques(chain, column) for column in zip(*halves, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def rates_transposed(chain: Chain, row: Sequence[Any]) -> Sequence[Any]:
    """A row over the tree's joints as a row over the coordinates: row K."""
    return torques(chain, row)


def _combination(weights: Sequence[Any], values: Sequence[Any], start: Any) -> Any:
    total = start
    for w, x in zip(weights, values, strict=True):
        if not (isinstance(w, float) and w == 0.0):
            total = total + w * x
    return total
