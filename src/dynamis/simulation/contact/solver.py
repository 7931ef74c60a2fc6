"""Impulses of contacts that press and rub, and of joints that hold, in one small problem.

    u = G l + v

    a box    low <= l <= high:  u = 0 within, u >= 0 at `low`, u <= 0 at `high`
    a cone   l_n >= 0, u_n >= 0, l_n u_n = 0 and |l_t| <= mu l_n: u_t = 0 within, else against u_t

with G = J L^-1 J^T the velocities u of rows J that unit impulses cause and v those without any. It
is solved by fixed work: sweeps of projected Gauss-Seidel from the impulses of the step before, then
corrections by Newton's method on l = projection(l - u / G) with a few sweeps after each. Neither
brings the residual down at every step (sweeps may part from a solution, corrections pass it), so
what counts is the best of all. Moreau (1988), Jourdan, Alart and Jean (1998), Alart and Curnier
(1991).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...spatial.functions import Functions
from ...spatial.vectors import Scalars, inner, plus

SWEEPS = 20
CORRECTIONS = 4
SWEEPS_AFTER = 3  # each correction
ENDLESS = 1e300  # impulse
DEPENDENT = 1e-9  # pivot, next to its diagonal entry, of a row that others decide already
REGULAR = 1e-9  # of the diagonal: makes rows that say the same solvable
LEAST = 1e-200  # keeps divisions by what may be zero finite


class Box(NamedTuple):
    """One row with bounds; where both are 0 it takes no part."""

    low: Any
    high: Any
    size = 1


class Cone(NamedTuple):
    """Three rows: normal and two tangents with Coulomb friction; 0.0: it takes no part."""

    friction: Any
    active: Any
    size = 3


class Problem(NamedTuple):
    """G (m, m), v (m) and what bounds the impulses: blocks one after the other."""

    G: Sequence[Scalars]
    v: Scalars
    blocks: Sequence[Box | Cone]

    @property
    def places(self) -> Iterator[tuple[int, Box | Cone]]:
        """First row of every block."""
        k = 0
        for block in self.blocks:
            yield k, block
            k += block.size

    def velocities(self, l: Scalars) -> list[Any]:
        """u = G l + v"""
        return [inner(row, l) + v for row, v in zip(self.G, self.v, strict=True)]


class Solution(NamedTuple):
    """Impulses l, velocities u under them, and the residual: a velocity."""

    l: list[Any]
    u: list[Any]
    residual: Any


def solved(problem: Problem, guess: Scalars, fn: Functions) -> Solution:
    """Impulses by sweeps and corrections, from a guess."""
    l = list(guess)
    scales = scales_of(problem, fn)
    best = None
    for _ in range(SWEEPS):
        l = swept(problem, scales, l, fn)
        best = best or looked_at(problem, scales, l, fn)
    assert best is not None
    now = best = better(looked_at(problem, scales, l, fn), best, fn)
    for _ in range(CORRECTIONS):
        now = corrected(problem, scales, now, fn)
        best, l = better(now, best, fn), now.l
        for _ in range(SWEEPS_AFTER):
            l = swept(problem, scales, l, fn)
        now = better(looked_at(problem, scales, l, fn), now, fn)
        best = better(now, best, fn)
    return best


def scales_of(problem: Problem, fn: Functions) -> list[Any]:
    """Velocity that a unit impulse along each row gives it; the larger of both tangents."""
    found: list[Any] = []
    G = problem.G
    for k, block in problem.places:
        found.append(G[k][k])
        if block.size == 3:
            most = fn.max(G[k + 1][k + 1], G[k + 2][k + 2]) + _size(G[k + 1][k + 2], fn)
            found += [most, most]
    return found


def swept(problem: Problem, scales: Scalars, l: Scalars, fn: Functions) -> list[Any]:
    """One sweep: every block in turn takes what its velocity asks for."""
    l = list(l)
    for k, block in problem.places:
        l[k] = _projected_first(problem, scales, l, k, block, fn)
        if isinstance(block, Cone):
            z = [_asked(problem, scales, l, k + i, fn) for i in (1, 2)]
            l[k + 1], l[k + 2] = _disc(z, block.friction * l[k], fn)
    return l


def _asked(problem: Problem, scales: Scalars, l: Scalars, k: int, fn: Functions) -> Any:
    """The impulse of a row that would bring its velocity to 0."""
    u = inner(problem.G[k], l) + problem.v[k]
    return l[k] - u * _inverse(scales[k], fn)


def _projected_first(
    problem: Problem, scales: Scalars, l: Scalars, k: int, block: Box | Cone, fn: Functions
) -> Any:
    return _first(block, _asked(problem, scales, l, k, fn), fn)


def _first(block: Box | Cone, z: Any, fn: Functions) -> Any:
    """The impulse of the first row of a block: within its bounds, or pressing."""
    if isinstance(block, Box):
        return fn.min(fn.max(z, block.low), block.high)
    return fn.select(block.active, fn.max(z, 0.0), 0.0)


def _disc(z: Scalars, radius: Any, fn: Functions) -> list[Any]:
    """z, or the point of a disc that is nearest to it."""
    size = fn.sqrt(z[0] * z[0] + z[1] * z[1])
    share = fn.select(size > radius, radius / fn.max(size, LEAST), 1.0)
    return [share * x for x in z]


def looked_at(problem: Problem, scales: Scalars, l: Scalars, fn: Functions) -> Solution:
    """Impulses with their velocities and the residual max |l - projection(l - u / G)| G."""
    u = problem.velocities(l)
    residual: Any = 0.0
    for k, block in problem.places:
        z = _asked_of(l, u, scales, k, block, fn)
        for i, x in enumerate(_projected(block, z, l[k], fn)):
            residual = fn.max(residual, _size(l[k + i] - x, fn) * scales[k + i])
    return Solution(list(l), u, residual)


def _asked_of(
    l: Scalars, u: Scalars, scales: Scalars, k: int, block: Box | Cone, fn: Functions
) -> list[Any]:
    """l - u / G of the rows of a block."""
    rows = range(k, k + block.size)
    return [l[i] - u[i] * _inverse(scales[i], fn) for i in rows]


def _projected(block: Box | Cone, z: Scalars, l_n: Any, fn: Functions) -> list[Any]:
    """Impulses z projected onto what a block allows, its normal one being l_n."""
    first = _first(block, z[0], fn)
    if isinstance(block, Box):
        return [first]
    radius = fn.select(block.active, block.friction * fn.max(l_n, 0.0), 0.0)
    return [first, *_disc(z[1:], radius, fn)]


def corrected(problem: Problem, scales: Scalars, found: Solution, fn: Functions) -> Solution:
    """One step of Newton's method."""
    l, u = found.l, found.u
    size = len(l)
    A: list[list[Any]] = []
    b: list[Any] = []
    for k, block in problem.places:
        z = _asked_of(l, u, scales, k, block, fn)
        rows = range(k, k + block.size)
        if isinstance(block, Box):
            bound = _first(block, z[0], fn)
            holds = [(z[0] > block.low) * (z[0] < block.high)]
            others = [(_unit(k, size, scales), scales[k] * (bound - l[k]))]
        else:
            holds, others = _cone_rows(problem, scales, l, z, k, block, fn)
        for i, free, (row, wanted) in zip(rows, holds, others, strict=True):
            A.append([fn.select(free, g, a) for g, a in zip(problem.G[i], row, strict=True)])
            b.append(fn.select(free, -u[i], wanted))
    for i, row in enumerate(A):
        row[i] = row[i] + REGULAR * row[i]
    return looked_at(problem, scales, plus(l, solve_rows(A, b, fn, 0.0)), fn)


def better(one: Solution, other: Solution, fn: Functions) -> Solution:
    """That of smaller residual."""
    chosen = one.residual < other.residual
    return Solution(
        [fn.select(chosen, x, y) for x, y in zip(one.l, other.l, strict=True)],
        [fn.select(chosen, x, y) for x, y in zip(one.u, other.u, strict=True)],
        fn.select(chosen, one.residual, other.residual),
    )


def _cone_rows(
    problem: Problem, scales: Scalars, l: Scalars, z: Scalars, k: int, block: Cone, fn: Functions
) -> tuple[list[Any], list[tuple[list[Any], Any]]]:
    """Which rows of a cone hold (u = 0); and equations of those that are open or slide."""
    size, s = len(l), scales[k + 1]
    closed = fn.select(block.active, 1.0 * (z[0] > 0.0), 0.0)
    radius = block.friction * fn.max(l[k], 0.0)
    length = fn.sqrt(z[1] * z[1] + z[2] * z[2])
    slides = closed * (length > radius)
    w = [x / fn.max(length, LEAST) for x in z[1:]]
    share = radius / fn.max(length, LEAST)  # up to 1
    rows = [(_unit(k, size, scales), -scales[k] * l[k])]
    for i in (0, 1):
        # dl_t - mu dl_n w - share (1 - w w^T) (dl_t - G_t dl / G) = mu l_n w - l_t, times G
        across = [float(i == j) - w[i] * w[j] for j in (0, 1)]
        row = [
            share * (across[0] * a + across[1] * b)
            for a, b in zip(problem.G[k + 1], problem.G[k + 2], strict=True)
        ]
        row[k] = row[k] - block.friction * w[i] * s
        for j in (0, 1):
            row[k + 1 + j] = row[k + 1 + j] + (float(i == j) - share * across[j]) * s
        wanted = s * (radius * w[i] - l[k + 1 + i])
        open_row = _unit(k + 1 + i, size, scales)
        rows.append(
            (
                [fn.select(slides, a, b) for a, b in zip(row, open_row, strict=True)],
                fn.select(slides, wanted, -s * l[k + 1 + i]),
            )
        )
    sticks = closed * (1.0 - slides)
    return [closed, sticks, sticks], rows


def _unit(k: int, size: int, scales: Scalars) -> list[Any]:
    return [scales[k] if j == k else 0.0 for j in range(size)]


def solve_rows(A: Sequence[Scalars], b: Scalars, fn: Functions, least: float) -> list[Any]:
    """x from A x = b by elimination; 0 of a row whose pivot is up to `least` of its diagonal."""
    size = range(len(b))
    U, y = [list(row) for row in A], list(b)
    inverse: list[Any] = []
    for k in size:
        own = _size(A[k][k], fn)
        good = (_size(U[k][k], fn) > least * own) * (own > LEAST)
        inverse.append(fn.select(good, 1.0 / fn.select(good, U[k][k], 1.0), 0.0))
        for i in range(k + 1, len(b)):
            f = U[i][k] * inverse[k]
            for j in range(k + 1, len(b)):
                U[i][j] = U[i][j] - f * U[k][j]
            y[i] = y[i] - f * y[k]
    x: list[Any] = [0.0] * len(b)
    for k in reversed(size):
        rest = y[k]
        for j in range(k + 1, len(b)):
            rest = rest - U[k][j] * x[j]
        x[k] = rest * inverse[k]
    return x


def _inverse(x: Any, fn: Functions) -> Any:
    """1 / x, 0 of a row that nothing moves."""
    return fn.select(x > LEAST, 1.0 / fn.max(x, LEAST), 0.0)


def _size(x: Any, fn: Functions) -> Any:
    return fn.max(x, -x)
