"""How a closed mechanism moves: degrees of freedom, conditions that count, coordinates that decide.

Rank is a matter of where one looks: it is taken at assemblies away from special ones, found by
damped steps of least motion (`closed`) from the model's configurations and from random positions,
always the same. Rows and columns are chosen one after the other, each the one
that is farthest from the span of those before, in the worst of these assemblies.
"""

import math
import random
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ..errors import SymbolError
from ..model.chain import Chain, ChainClosure, Mobility, chain
from ..model.closure import KINDS
from ..model.model import Model
from ..spatial.functions import MATH
from ..spatial.vectors import ZERO, inner, less, transposed
from .closed import gram, least_motion, squared
from .closures import closure_error, closure_jacobian
from .equation import mass_matrix
from .forward_dynamics import pivots_from_tip

ASSEMBLIES = 4  # that the rank is looked at
STARTS = 60  # random positions from which an assembly is sought
STEPS = 60  # of one search
WORK = 1.5e6  # multiplications of all searches for an assembly: below a second
CLOSED = 1e-10  # m or rad; of an assembly
TOLERANCE = 1e-5  # of the mechanism's size, m: what counts as closed, unless Mobility's is less
NEAR = 0.35  # rad or mechanism sizes: how far apart the assemblies are that the rank is taken at
TIE = 1e-6  # shares this close are equal: symmetric mechanisms have many
SAME = 1e-4  # rad or mechanism sizes: assemblies sought NEAR apart that are one
RANK = 1e-7  # a row this far from the span of others, next to its size, adds to them
STILL = 1e-7  # rate, next to the largest, of a joint that does not move

Row = Sequence[float]


def model_mobility(model: Model) -> Mobility:
    """The mobility of a model with closures; its `reason` says what is wrong with it."""
    try:
        c = chain(model, mobility=False)
    except SymbolError as error:  # it may still get a value
        return Mobility((), (), (), reason=str(error))
    starts = tuple(tuple(q) for q in model.configurations.values())
    found = _mobility(_geometry(c), c.n, model.active, starts)
    if isinstance(found, tuple) and not isinstance(found, Mobility):
        row, left = found
        what = f"no assembly was found: {model.closure_rows[row]} stays open by {left:.3g} m or rad"
        return Mobility((), (), (), reason=what)
    tolerance = min(found.tolerance, TOLERANCE * loop_size(c))
    return found._replace(augmented=_weightless(c, starts), tolerance=tolerance)


class _geometry:  # noqa: N801
    """A chain, equal to others that move alike."""

    def __init__(self, c: Chain):
        self.chain = c
        self.key = c.joints, c.closures, c.coupling, c.shift

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _geometry) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=64)
def _mobility(
    where: _geometry, n: int, active: tuple[int, ...], starts: tuple[tuple[float, ...], ...]
) -> Mobility | tuple[int, float]:
    """Or the condition that stays open in the best of all tries, and how far."""
    c = where.chain
    found, (left, row) = assemblies(c, starts)
    if not found:
        return row, left
    count, jacobians = _regular([closure_jacobian(c, q, MATH) for q in found])
    rows = sorted(_chosen(jacobians, count))
    sizes = tuple(max(inner(J[r], J[r]) for J in jacobians) for r in rows)
    columns = [transposed([J[r] for r in rows]) for J in jacobians]
    passive = [k for k in range(n) if k not in active]
    _, columns = _regular(columns, passive)
    dependent = sorted(_chosen(columns, count, passive))
    independent = tuple(k for k in range(n) if k not in dependent)
    reason = "" if independent else "its closures leave it no motion: 0 degrees of freedom"
    if independent and len(found) > 1 and all(_apart(c, found[0], q) < SAME for q in found[1:]):
        reason = "it closes in one configuration only, where it is singular: it cannot move"
    return Mobility(tuple(rows), independent, tuple(dependent), sizes, reason=reason)


def _apart(c: Chain, a: Row, b: Row) -> float:
    """The largest difference of two positions, next to how far the coordinates go."""
    unit, pairs = size(c), enumerate(zip(a, b, strict=True))
    return max(abs(x - y) * math.pi / _span(c, k, unit) for k, (x, y) in pairs)


def first_assembly(model: Model) -> list[float]:
    """The first configuration of the model that closes, or the first assembly that is found."""
    return known_assemblies(chain(model, mobility=False), model)[0]


def known_assemblies(c: Chain, model: Model) -> list[list[float]]:
    """Some configurations that close, from those that the model names on."""
    return assemblies(c, [tuple(q) for q in model.configurations.values()])[0]


def size(c: Chain) -> float:
    """The mechanism's size, m: for angles and lengths to be comparable."""
    places = [math.dist(joint.placement.p, (0.0, 0.0, 0.0)) for joint in c.joints]
    for x in c.closures:
        places += [x.length or 0.0, *(math.dist(frame.p, (0.0, 0.0, 0.0)) for _, frame in x.ends)]
    found = max(places)
    return found if found > 1e-9 else 1e-3  # of slides through one point, nobody knows


def loop_size(c: Chain) -> float:
    """The largest length within a loop, m, wherever the loop is mounted; that of the smallest."""
    return min(_length(c, x) for x in c.closures)


def _length(c: Chain, closure: ChainClosure) -> float:
    """The largest length of a loop: of its links, and between joints on what carries it."""
    paths = [c.ancestors(link) for link, _ in closure.ends]
    shared = {*paths[0]} & {*paths[1]}
    lengths, mounts = [closure.length or 0.0], []
    for path, (_, frame) in zip(paths, closure.ends, strict=True):
        own = [i for i in path if i not in shared]
        points = [frame.p, *(c.joints[i].placement.p for i in own)]
        lengths += [math.dist(p, ZERO) for p in points[:-1]]
        mounts.append(points[-1])  # on the link that carries the loop, or on the base
    found = max(*lengths, math.dist(*mounts))
    return found if found > 1e-9 else 1e-3  # of slides through one point, nobody knows


def assemblies(c: Chain, starts: Iterable[Row]) -> tuple[list[list[float]], tuple[float, int]]:
    """Some configurations that close; how far the best try stayed open, and at which condition."""
    chance, unit = random.Random(0), size(c)
    steps = _most_steps(c)
    span = [_span(c, k, unit) for k in range(c.n)]
    anywhere = ([chance.uniform(-s, s) for s in span] for _ in range(STARTS))
    best, home = (math.inf, 0), None
    for k, start in enumerate((*starts, [0.0] * c.n, *anywhere)):
        if k and steps <= 0:
            break
        q, error = closed(c, start, min(STEPS, max(steps, 1)))
        steps -= STEPS
        if error[0] <= CLOSED:
            home = q
            break
        best = min(best, error)
    if home is None:
        return [], best
    found, steps = [home], _most_steps(c)
    for _ in range(20):
        if len(found) == ASSEMBLIES or steps <= 0:
            break
        moved = [
            x + chance.uniform(-NEAR, NEAR) * s / math.pi for x, s in zip(home, span, strict=True)
        ]
        q, error = closed(c, moved, min(STEPS, steps))
        steps -= STEPS
        if error[0] <= CLOSED:
            found.append(q)
    return found, (0.0, 0)


def _most_steps(c: Chain) -> int:
    """Steps of all searches together: what a file describes must not keep us busy."""
    each = [len(KINDS[x.kind].rows) for x in c.closures]
    rows, places = sum(each), 200 * c.n + 60 * c.n * len(each)
    return int(WORK / (rows * rows * c.n + rows**3 / 3 + places)) + 2


def _span(c: Chain, k: int, unit: float) -> float:
    """How far coordinate k goes, either way: half a turn, or the mechanism's size."""
    row = [k] if c.coupling is None else [i for i, w in enumerate(c.coupling) if w[k] != 0.0]
    turning = any(c.joints[i].kind == "revolute" for i in row)
    return math.pi if turning else 2.0 * unit


def closed(c: Chain, start: Row, steps: int = STEPS) -> tuple[list[float], tuple[float, int]]:
    """The assembly that damped steps from a start lead to; what stays open there, and which row."""
    q, mu = [float(x) for x in start], 1e-3
    e = closure_error(c, q, MATH)
    cost = inner(e, e)
    for _ in range(steps):
        if not math.isfinite(cost) or max(abs(x) for x in e) <= 1e-13:
            break
        J = closure_jacobian(c, q, MATH)
        largest = max(inner(row, row) for row in J) or 1.0
        G = squared(J, max(mu, 1e-12) * largest)
        new = less(q, least_motion(J, gram(G, math.inf, MATH), e))
        e_new = closure_error(c, new, MATH)
        cost_new = inner(e_new, e_new)
        if cost_new < cost:
            q, e, cost, mu = new, e_new, cost_new, mu * 0.1
        elif mu > 1e6 or max(abs(x) for x in e) <= CLOSED:
            break
        else:
            mu = max(mu, 1e-12) * 10.0
    sizes = [abs(x) if math.isfinite(x) else math.inf for x in e]
    worst = max(sizes)
    return q, (worst, sizes.index(worst))


def _rank(J: Sequence[Row]) -> int:
    """Rows that are independent of each other, by pivoted Gram-Schmidt."""
    left, count = [list(row) for row in J], 0
    largest = max((inner(r, r) for r in left), default=0.0)
    while left:
        squares = [inner(r, r) for r in left]
        best = squares.index(max(squares))
        if not squares[best] > RANK * RANK * largest:
            break
        pivot = left.pop(best)
        left = [_without(row, pivot) for row in left]
        count += 1
    return count


def _regular(
    matrices: Sequence[list[list[float]]], rows: Sequence[int] | None = None
) -> tuple[int, list[list[list[float]]]]:
    """The largest rank that some rows have, and the matrices of it: the others are special."""
    ranks = [_rank(A if rows is None else [A[r] for r in rows]) for A in matrices]
    return max(ranks), [A for A, rank in zip(matrices, ranks, strict=True) if rank == max(ranks)]


def _without(row: Row, pivot: Row) -> list[float]:
    """A row less its part along another, twice for the rounding."""
    for _ in range(2):
        share = inner(row, pivot) / inner(pivot, pivot)
        row = [x - share * y for x, y in zip(row, pivot, strict=True)]
    return list(row)


def _chosen(
    jacobians: Sequence[Sequence[Row]], count: int, first: Sequence[int] | None = None
) -> list[int]:
    """Numbers of `count` rows that are as independent as can be; those in `first` before others.

    A row that is nothing next to the largest is rounding: of a planar loop, what holds it in its
    plane.
    """
    left = [[list(row) for row in J] for J in jacobians]
    squares = [[inner(r, r) for r in J] for J in jacobians]
    least = [max(RANK * RANK * max(row), 1e-300) for row in squares]
    whole = [[max(x, low) for x in row] for row, low in zip(squares, least, strict=True)]
    chosen: list[int] = []
    groups = [range(len(left[0]))] if first is None else [first, range(len(left[0]))]
    for group in groups:
        while len(chosen) < count:
            rest = [r for r in group if r not in chosen]
            shares = [
                min(inner(J[r], J[r]) / w[r] for J, w in zip(left, whole, strict=True))
                for r in rest
            ]
            if not rest or max(shares) <= RANK * RANK * 100.0:
                break
            near = (1.0 - TIE) * max(shares)  # the first of those that rounding would choose from
            r = next(r for r, share in zip(rest, shares, strict=True) if share >= near)
            chosen.append(r)
            for J in left:
                pivot = J[r]
                for k in range(len(J)):
                    if k not in chosen:
                        J[k] = _without(J[k], pivot)
    return chosen


def immobile(c: Chain, mobility: Mobility, q: Row) -> list[int]:
    """Coordinates that cannot move at q: the columns of the null space that are empty."""
    J = [closure_jacobian(c, q, MATH)[r] for r in mobility.rows]
    basis: list[list[float]] = []
    for row in J:  # orthogonal rows
        left = list(row)
        for other in basis:
            left = _without(left, other)
        basis.append(left)
    free = []
    for k in range(c.n):
        unit = [float(i == k) for i in range(c.n)]
        for row in basis:
            unit = _without(unit, row)
        free.append(inner(unit, unit))
    return [k for k, x in enumerate(free) if x <= STILL]


def _weightless(c: Chain, starts: Iterable[Row]) -> bool:
    """Whether the tree has a singular mass matrix: links without inertia, held by closures."""
    for q in (*starts, [0.3 + 0.1 * k for k in range(c.n)]):
        if not all(d > 0.0 for d in pivots_from_tip(mass_matrix(c, q, MATH), MATH)):
            return True
    return False
