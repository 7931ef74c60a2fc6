"""Algebra of closed loops: rows of J that count, factors of J W J^T, and M held by closures.

    M qdd + h = tau + J^T f,  J qdd + Jd qd = 0       (J M^-1 J^T) f = -(J M^-1 (tau - h) + Jd qd)

Loops that are open by e are closed by Newton's steps of least motion, `least_motion`:

    dq = -W J^T (J W J^T + mu 1)^-1 e

    W                            mu         who closes loops
    1 in the dependent joints    0          drives: control computers, starts of studies, ik/follow
    M^-1                         0          plants after a step (`Mass`), joints at rest held
    1                            > 0        mobility: assemblies from any start
    1, angles next to lengths    > 0        ik/assemble, as (J^T J + mu 1)^-1 J^T e, the same vector

Products and factors work over any scalar and leave out zeros. J J^T = L D L^T needs no pivoting: a
pivot next to its diagonal entry is a squared sine between rows.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import ClosureError
from ..model.chain import Chain, Mobility
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, less, plus, transposed
from .forward_dynamics import factor, substitute

Rows = Sequence[Scalars]


def mobility(chain: Chain) -> Mobility:
    """The chain's mobility; a mechanism that cannot move or close is refused."""
    found = chain.mobility
    if found is None or found.reason:
        raise ClosureError("the mechanism cannot be computed: " + (found.reason if found else ""))
    return found


# products over any scalar, zeros left out


def sparse_inner(a: Scalars, b: Scalars) -> Any:
    """a . b"""
    terms = [x * y for x, y in zip(a, b, strict=True) if not (zero(x) or zero(y))]
    return sum(terms[1:], terms[0]) if terms else 0.0


def sparse_times(A: Rows, x: Scalars) -> list[Any]:
    """A x"""
    return [sparse_inner(row, x) for row in A]


def columns_of(A: Rows, places: Sequence[int]) -> list[list[Any]]:
    """A with these columns alone."""
    return [[row[k] for k in places] for row in A]


class Gram(NamedTuple):
    """A wide or square matrix A by the factors of A W A^T, W given with it."""

    L: Rows
    D: Scalars
    diagonal: Scalars  # of A W A^T
    sound: Any  # whether its rows are as independent as `condition` asks for

    def solve(self, b: Scalars) -> list[Any]:
        """(A W A^T)^-1 b"""
        return substitute(self.L, self.D, b)


def gram(G: Rows, condition: float, fn: Functions, sizes: Scalars = ()) -> Gram:
    """The factors of G; a pivot next to its diagonal entry is a squared sine between rows.

    Next to the usual square of a row, of `sizes`, it shows rows that become nothing.
    """
    L, D = factor(G, fn)
    least, sound = 1.0 / (condition * condition), 1.0
    for j, d in enumerate(D):
        sound = sound * (d > least * G[j][j])
    for d, size in zip(D, sizes, strict=bool(sizes)):
        sound = sound * (d > least * size)
    return Gram(L, D, [G[j][j] for j in range(len(G))], sound)


def least_motion(
    J: Rows, factors: Gram, e: Scalars, weigh: Callable[[Scalars], list[Any]] | None = None
) -> list[Any]:
    """x = W J^T (J W J^T + mu 1)^-1 e, the least x with J x = e where mu is 0.

    `factors` are those of J W J^T + mu 1; `weigh` multiplies by W, which is 1 without it.
    """
    x = sparse_times(transposed(J), factors.solve(e))
    return x if weigh is None else weigh(x)


def _lasting(J: Rows, chain: Chain) -> Any:
    """Whether no row of J has become nothing."""
    least, good = 1.0 / (chain.condition * chain.condition), 1.0
    for row, size in zip(J, mobility(chain).sizes, strict=True):
        good = good * (sparse_inner(row, row) > least * size)
    return good


def squared(A: Rows, mu: Any = 0.0) -> list[list[Any]]:
    """A A^T + mu 1"""
    size = range(len(A))
    G: list[list[Any]] = [[0.0] * len(A) for _ in size]
    for i in size:
        for j in range(i + 1):
            G[i][j] = G[j][i] = sparse_inner(A[i], A[j])
        G[i][i] = G[i][i] if zero(mu) else G[i][i] + mu
    return G


def keeps(chain: Chain, J: Rows, rates: Scalars, more: Scalars | None, fn: Functions) -> Any:
    """Whether J rates + more is nothing next to its terms: the loops stay closed."""
    good: Any = 1.0
    for k, row in enumerate(J):
        total, terms = (0.0, 1.0) if more is None else (more[k], 1.0 + fn.max(more[k], -more[k]))
        for a, b in zip(row, rates, strict=True):
            if not (zero(a) or zero(b)):
                part = a * b
                total, terms = total + part, terms + fn.max(part, -part)
        bound = chain.tolerance * terms
        good = good * (total <= bound) * (total >= -bound)
    return good


def or_nan(values: Scalars, good: Any, fn: Functions) -> list[Any]:
    """The values, or NaN: by a factor, so that slopes are NaN too, and a term for zeros."""
    factor, term = (fn.select(good > 0.0, x, math.nan) for x in (1.0, 0.0))
    return [term if zero(x) else factor * x + term for x in values]


def counting_rows(chain: Chain, J: Rows) -> Rows:
    """The rows that count."""
    return [J[r] for r in mobility(chain).rows]


class Mass(NamedTuple):
    """The constrained mass matrix: M = L D L^T tip first, and J M^-1 J^T of the closures.

    Where links without inertia make M singular, it stands for M + J^T J, which moves alike.
    """

    L: Rows
    D: Scalars
    J: Rows
    gram: Gram

    def solve(self, b: Scalars) -> list[Any]:
        """M^-1 b"""
        return substitute(self.L, self.D, b[::-1])[::-1]

    def accelerations(self, b: Scalars, bias: Scalars) -> list[Any]:
        """qdd from M qdd = b + J^T f, J qdd + bias = 0."""
        against = self.gram.solve(plus(sparse_times(self.J, self.solve(b)), bias))
        qdd = self.solve(less(b, sparse_times(transposed(self.J), against)))
        left = plus(sparse_times(self.J, qdd), bias)  # by rounding
        return less(qdd, least_motion(self.J, self.gram, left, self.solve))


def constrained_mass(chain: Chain, M: Rows, J: Rows, fn: Functions) -> Mass:
    """M and J at one instant, factored."""
    if mobility(chain).augmented:
        columns = transposed(J)
        M = [
            [m + sparse_inner(a, b) for m, b in zip(row, columns, strict=True)]
            for row, a in zip(M, columns, strict=True)
        ]
    L, D = factor([row[::-1] for row in M[::-1]], fn)
    reciprocal = [1.0 / d for d in D]
    halves = [_forward(L, row[::-1]) for row in J]  # L^-1 J^T
    size = range(len(J))
    S: list[list[Any]] = [[0.0] * len(J) for _ in size]
    for i in size:
        scaled = [0.0 if zero(y) else y * d for y, d in zip(halves[i], reciprocal, strict=True)]
        for j in range(i + 1):
            S[i][j] = S[j][i] = sparse_inner(scaled, halves[j])
    found = gram(S, chain.condition, fn)
    return Mass(L, D, J, found._replace(sound=found.sound * _lasting(J, chain)))


def sines(chain: Chain, mass: Mass) -> list[Any]:
    """Squared sines between every row of J and those before it, less where a row becomes nothing.

    In the sense of M^-1; all of them 1 for rows at right angles that are as long as usual.
    """
    squares = zip(mass.J, mobility(chain).sizes, strict=True)
    lengths = [sparse_inner(row, row) / size for row, size in squares]
    pivots = zip(mass.gram.D, mass.gram.diagonal, lengths, strict=True)
    return [d / whole * length for d, whole, length in pivots]


def _forward(L: Rows, b: Scalars) -> list[Any]:
    """L^-1 b, zeros left out."""
    y = list(b)
    for i in range(len(y)):
        for k in range(i):
            if not (zero(L[i][k]) or zero(y[k])):
                y[i] = y[i] - L[i][k] * y[k]
    return y
