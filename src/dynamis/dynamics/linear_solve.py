"""Solve M x = b for a symmetric positive definite M, unrolled, over any scalar.

M = L D L^T. A pivot that is lost in the rounding of its own diagonal entry is poisoned to NaN: a
singular mass matrix never gives a plausible acceleration.
"""

import math
from collections.abc import Sequence
from typing import Any

from ..spatial.functions import Functions

PIVOT = 1e-13  # smallest pivot relative to the diagonal entry it comes from


def factor(M: Sequence[Sequence[Any]], fn: Functions) -> tuple[list[list[Any]], list[Any]]:
    """L (unit lower, rows) and the pivots D of M = L D L^T; one division per pivot."""
    size = range(len(M))
    L: list[list[Any]] = [[0.0] * len(M) for _ in size]
    D: list[Any] = []
    for j in size:
        LD = [L[j][k] * D[k] for k in range(j)]
        d = M[j][j]
        for k in range(j):
            d = d - L[j][k] * LD[k]
        D.append(fn.select(d > PIVOT * M[j][j], d, math.nan))
        inverse = 1.0 / D[j]
        for i in range(j + 1, len(M)):
            s = M[i][j]
            for k in range(j):
                s = s - L[i][k] * LD[k]
            L[i][j] = s * inverse
    return L, D


def substitute(L: Sequence[Sequence[Any]], D: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """x from L D L^T x = b."""
    size = len(D)
    y = list(b)
    for i in range(size):
        for k in range(i):
            y[i] = y[i] - L[i][k] * y[k]
    x = [yi * (1.0 / d) for yi, d in zip(y, D, strict=True)]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            x[i] = x[i] - L[k][i] * x[k]
    return x


def solve(M: Sequence[Sequence[Any]], b: Sequence[Any], fn: Functions) -> list[Any]:
    """x = M^-1 b"""
    return substitute(*factor(M, fn), b)
