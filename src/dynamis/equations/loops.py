"""Closures over any scalar, as equations need them: conditions, J, and systems solved by formula.

Where the loops are closed the two points of a closure are one: J and the bias are written by the
joints of the side that each moves, which is shorter than what also holds for open loops.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..dynamics import coupling
from ..dynamics.closed import mobility
from ..dynamics.closures import Ends, ends_of, errors_of, jacobian_of
from ..dynamics.kinematics import poses
from ..model.chain import Chain
from ..model.closure import KINDS
from ..spatial.frames import Frame
from ..spatial.functions import Functions, zero
from ..spatial.rotations import rotate_back, transpose
from ..spatial.vectors import ZERO, Scalars, Vector, add, cross, dot, scale, subtract
from .scalars.polynomial import Polynomial

Rows = Sequence[Scalars]
CRAMER = 4  # unknowns up to which a system is solved by determinants


Name = Callable[[str, Any], Any]  # (name, value) -> what to go on with


def as_it_is(name: str, value: Any) -> Any:
    """No name: the value itself."""
    return value


class Conditions(NamedTuple):
    """The conditions that count: phi = 0, J qd = 0 and J qdd + bias = 0.

    `made` lists what they were written with and may have got names: vectors and matrices.
    """

    phi: list[Any]
    J: list[list[Any]]
    bias: list[Any]  # Jd qd
    made: list[tuple[str, Any]]


def conditions(
    chain: Chain, q: Scalars, qd: Scalars, fn: Functions, name: Name = as_it_is
) -> Conditions:
    """phi at any q; J and the bias at q that closes and qd that keeps it closed.

    Named are the axes z and origins o of the joints that move a closure, its points P and Q and
    axes X and Y; angular velocities Omega, angular accelerations alpha, velocities and
    accelerations of points with qdd = 0.
    """
    keep = _Keeper(name)
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    where = poses(chain, x, fn)
    ends: Ends = []
    for k, (closure, (A, B)) in enumerate(
        zip(chain.closures, ends_of(chain, where), strict=True), 1
    ):
        first = Frame(keep.matrix(f"X{k}", A.R), keep.vector(f"P{k}", A.p))
        turns = KINDS[closure.kind].turns
        axes = keep.matrix(f"Y{k}", B.R) if turns else B.R
        ends.append((first, Frame(axes, keep.vector(f"Q{k}", B.p))))
    links = [link for closure in chain.closures for link, _ in closure.ends]
    used = {i for link in links for i in chain.ancestors(link)}
    joints = [
        Frame(_with_axis(keep, i, T.R), keep.vector(f"o{i + 1}", T.p)) if i in used else T
        for i, T in enumerate(where)
    ]
    rows = mobility(chain).rows
    facing = fn._replace(select=lambda condition, near, far: near)  # axes that point the same way
    phi = errors_of(chain, ends, facing)
    J = jacobian_of(chain, joints, ends, fn, closed=True)
    bias = _bias(chain, ends, _moving(chain, joints, xd, keep, used), keep)
    return Conditions(
        [phi[r] for r in rows], [J[r] for r in rows], [bias[r] for r in rows], keep.made
    )


class _Keeper:
    """Vectors and matrices entry by entry by name, and a list of them."""

    def __init__(self, name: Name):
        self.name, self.made = name, list[tuple[str, Any]]()

    def vector(self, label: str, v: Vector) -> Vector:
        self.made.append((label, v))
        return tuple(self.name(f"{label}.{x}", c) for x, c in zip("xyz", v, strict=True))  # type: ignore[return-value]

    def matrix(self, label: str, R: Any) -> Any:
        self.made.append((label, R))
        return tuple(
            tuple(self.name(f"{label}.{i + 1}{j + 1}", x) for j, x in enumerate(row))
            for i, row in enumerate(R)
        )


def _with_axis(keep: _Keeper, i: int, R: Any) -> Any:
    """The rotation with the joint's axis by name."""
    z = keep.vector(f"z{i + 1}", tuple(row[2] for row in R))  # type: ignore[arg-type]
    return tuple((*row[:2], c) for row, c in zip(R, z, strict=True))


class _Link(NamedTuple):
    """A link that moves with qdd = 0: origin of its joint, its velocity, w, wd, acceleration."""

    o: Vector = ZERO
    v: Vector = ZERO
    w: Vector = ZERO
    wd: Vector = ZERO
    a: Vector = ZERO

    def velocity(self, point: Vector) -> Vector:
        """Of a point that is fixed in it."""
        return add(self.v, cross(self.w, subtract(point, self.o)))

    def acceleration(self, point: Vector) -> Vector:
        """Of a point that is fixed in it."""
        r = subtract(point, self.o)
        return add(self.a, cross(self.wd, r), cross(self.w, cross(self.w, r)))

    def turning(self, axis: Vector) -> tuple[Vector, Vector]:
        """First and second derivative of an axis that is fixed in it."""
        rate = cross(self.w, axis)
        return rate, add(cross(self.wd, axis), cross(self.w, rate))


BASE = _Link()


def _moving(
    chain: Chain, joints: list[Frame], xd: Scalars, keep: _Keeper, used: set[int]
) -> dict[int, _Link]:
    """Links on the way to closures."""
    apart = any(len(KINDS[closure.kind].along) < len(ZERO) for closure in chain.closures)
    found = {-1: BASE}
    for i in sorted(used):
        joint, o, of = chain.joints[i], joints[i].p, i + 1
        z = tuple(row[2] for row in joints[i].R)
        before = found[joint.parent]
        w, wd, a = before.w, before.wd, before.acceleration(o)
        v = before.velocity(o) if apart else ZERO  # of points that are one it is not needed
        turn = scale(xd[i], z)  # type: ignore[arg-type]
        if joint.kind == "revolute":
            w, wd = add(w, turn), add(wd, cross(w, turn))
        else:
            a, v = add(a, scale(2.0, cross(w, turn))), add(v, turn)
        found[i] = _Link(
            o, keep.vector(f"od{of}", v), keep.vector(f"Omega{of}", w),
            keep.vector(f"alpha{of}", wd), keep.vector(f"odd{of}", a),
        )  # fmt: skip
    return found


def _bias(chain: Chain, ends: Ends, moving: dict[int, _Link], keep: _Keeper) -> list[Any]:
    """Jd qd: second derivatives of the conditions with qdd = 0, where the loops are closed.

    Of components of d = Q - P along axes a: a.dd + 2 ad.d' + add.d, and the latter two are nothing
    where both points are one; of products a.b of axes alike; of a length l: (d.dd + d'.d') / l.
    """
    found: list[Any] = []
    for k, (closure, (A, B)) in enumerate(zip(chain.closures, ends, strict=True), 1):
        kind = KINDS[closure.kind]
        first, second = (moving[link] for link, _ in closure.ends)
        P = keep.vector(f"Pdd{k}", first.acceleration(A.p))
        Q = keep.vector(f"Qdd{k}", second.acceleration(B.p))
        d, apart = subtract(B.p, A.p), subtract(Q, P)
        a, b = transpose(A.R), transpose(B.R)
        if len(kind.along) == len(ZERO):
            found += rotate_back(A.R, apart)
        else:
            rate = subtract(second.velocity(B.p), first.velocity(A.p))
            rate = keep.vector(f"dd{k}", rate)
            if closure.length is not None:
                found.append((dot(d, apart) + dot(rate, rate)) / closure.length)
            for axis in (a[i] for i in kind.along):
                ad, add_ = first.turning(axis)
                found.append(dot(axis, apart) + 2.0 * dot(ad, rate) + dot(add_, d))
        for turn in kind.turns:
            found.append(sum(s * _crossing(first, second, a[i], b[j]) for s, i, j in turn))
    return found


def _crossing(first: _Link, second: _Link, a: Vector, b: Vector) -> Any:
    """Second derivative of a.b of axes in two links."""
    (ad, add_), (bd, bdd) = first.turning(a), second.turning(b)
    return dot(add_, b) + 2.0 * dot(ad, bd) + dot(a, bdd)


# which unknown follows from which condition


class LoopBlock(NamedTuple):
    """Conditions and as many unknowns, which follow from them and from those of earlier blocks."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]


def blocks(pattern: Sequence[Sequence[bool]]) -> tuple[LoopBlock, ...]:
    """A square system in block triangular form: the smallest blocks, in the order of solution."""
    row_of = _matched(pattern)
    size = range(len(pattern))
    after = [[c for c in size if c != k and pattern[row_of[k]][c]] for k in size]
    found = [tuple(sorted(group)) for group in _cycles(after)]
    return tuple(LoopBlock(tuple(sorted(row_of[c] for c in group)), group) for group in found)


def _matched(pattern: Sequence[Sequence[bool]]) -> list[int]:
    """A row for every column in which that column is not nothing."""
    row_of: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for c, there in enumerate(pattern[row]):
            if there and c not in tried:
                tried.add(c)
                if c not in row_of or place(row_of[c], tried):
                    row_of[c] = row
                    return True
        return False

    for row in range(len(pattern)):
        place(row, set())
    return [row_of[c] for c in range(len(pattern))]


def _cycles(after: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strongly connected parts of a graph, those that others lead to first (Tarjan 1972)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []

    def visit(k: int) -> None:
        number[k] = low[k] = len(number)
        stack.append(k)
        for other in after[k]:
            if other not in number:
                visit(other)
            if other in stack:
                low[k] = min(low[k], low[other])
        if low[k] == number[k]:
            place = stack.index(k)
            found.append(stack[place:])
            del stack[place:]

    for k in range(len(after)):
        if k not in number:
            visit(k)
    return found


# systems solved by formula


class Names(NamedTuple):
    """How a system names what it goes on with: divisors, other intermediates, its solution."""

    divisor: Name = as_it_is
    inner: Name = as_it_is
    outer: Name = as_it_is


class System:
    """A x = b and A^T y = c by blocks: Cramer's rule, for large ones A A^T = L D L^T.

    `made` lists what may get a name on the way: cofactors K and determinants Delta, or G = A A^T,
    L, D and what substitution with them gives. Blocks are numbered from `first`.
    """

    def __init__(self, A: Rows, parts: Sequence[LoopBlock], names: Names, first: int = 1):
        self.A, self.parts, self.names = A, parts, names
        self.made: list[tuple[str, Any]] = []
        self.solvers = [self._solver(k, part) for k, part in enumerate(parts, first)]

    def _solver(self, k: int, part: LoopBlock) -> "_Cramer | _Squared":
        B = [[self.A[r][c] for c in part.columns] for r in part.rows]
        return (_Cramer if len(B) <= CRAMER else _Squared)(k, B, self._kept)

    def _kept(self, name: str, value: Any, divides: bool = False) -> Any:
        """What to go on with."""
        self.made.append((name, value))
        return (self.names.divisor if divides else self.names.inner)(name, value)

    def solve(self, b: Scalars, label: Callable[[int], str], tag: str) -> list[Any]:
        """x; what later blocks need of it goes on by `label(column)`, if it is long.

        `tag` is part of the names of what large blocks need on the way.
        """
        parts = [(part.rows, part.columns) for part in self.parts]
        return self._solved(self.A, b, label, tag, parts, False)

    def solve_transposed(self, c: Scalars, label: Callable[[int], str], tag: str) -> list[Any]:
        """y, from the last block to the first."""
        columns = list(zip(*self.A, strict=True))
        parts = [(part.columns, part.rows) for part in self.parts]
        return self._solved(columns, c, label, tag, parts, True)

    def _solved(
        self, A: Rows, b: Scalars, label: Callable[[int], str], tag: str,
        parts: list[tuple[tuple[int, ...], tuple[int, ...]]], transposed: bool,
    ) -> list[Any]:  # fmt: skip
        found: list[Any] = [0.0] * len(A)
        known: list[Any] = [0.0] * len(A)
        order = list(zip(parts, self.solvers, strict=True))
        for (rows, unknowns), solver in order[::-1] if transposed else order:
            right = [less(b[r], product(A[r], known)) for r in rows]
            for k, value in zip(unknowns, solver.solve(right, transposed, tag), strict=True):
                found[k] = value
                known[k] = self.names.outer(label(k), value)
        return found


class _Cramer:
    """B^-1 by its cofactors K and its determinant."""

    def __init__(self, k: int, B: Rows, kept: Callable[..., Any]):
        size, large = range(len(B)), len(B) > 2
        self.K = [[_cofactor(B, i, j) for j in size] for i in size]
        if large:
            self.K = [
                [kept(f"K{k}.{i + 1}{j + 1}", x) for j, x in enumerate(row)]
                for i, row in enumerate(self.K)
            ]
        self.determinant = kept(f"Delta{k}", product(B[0], self.K[0]), divides=True)

    def solve(self, right: Scalars, transposed: bool, tag: str) -> list[Any]:
        """x_j = sum_i K_ij b_i / Delta, or y_i = sum_j K_ij c_j / Delta."""
        rows = self.K if transposed else zip(*self.K, strict=True)
        return [product(row, right) / self.determinant for row in rows]


class _Squared:
    """B x = b by x = B^T (B B^T)^-1 b, and B^T y = c by y = (B B^T)^-1 B c; B B^T = L D L^T."""

    def __init__(self, k: int, B: Rows, kept: Callable[..., Any]):
        self.k, self.B, self.kept, size = k, B, kept, range(len(B))
        self.L: list[list[Any]] = [[0.0] * len(B) for _ in size]
        self.D: list[Any] = []
        G = [[product(a, b) for b in B] for a in B]
        G = [[kept(f"G{k}.{j + 1}{i + 1}", G[i][j]) for j in range(i + 1)] for i in size]
        for j in size:
            LD = [x * d for x, d in zip(self.L[j], self.D, strict=False)]
            d = G[j][j] - product(self.L[j][:j], LD)
            self.D.append(kept(f"D{k}.{j + 1}", d, divides=True))
            for i in range(j + 1, len(B)):
                s = (G[i][j] - product(self.L[i][:j], LD)) / self.D[j]
                self.L[i][j] = kept(f"L{k}.{i + 1}{j + 1}", s)

    def solve(self, right: Scalars, transposed: bool, tag: str) -> list[Any]:
        """By forward and back substitution."""
        b = [product(row, right) for row in self.B] if transposed else right
        size, of = len(self.B), f"{tag}{self.k}"
        y: list[Any] = []
        for i in range(size):
            y.append(self.kept(f"y{of}.{i + 1}", less(b[i], product(self.L[i][:i], y))))
        x: list[Any] = [0.0] * size
        for i in range(size - 1, -1, -1):
            later = product([self.L[k][i] for k in range(i + 1, size)], x[i + 1 :])
            x[i] = self.kept(f"x{of}.{i + 1}", less(y[i] / self.D[i], later))
        return x if transposed else [product(column, x) for column in zip(*self.B, strict=True)]


def _cofactor(B: Rows, i: int, j: int) -> Any:
    rest = [[x for c, x in enumerate(row) if c != j] for r, row in enumerate(B) if r != i]
    value = _determinant(rest)
    return -value if (i + j) % 2 and not nothing(value) else value


def _determinant(B: Rows) -> Any:
    if not B:
        return 1.0
    return product(B[0], [_cofactor(B, 0, j) for j in range(len(B))])


def product(a: Scalars, b: Scalars) -> Any:
    """Sum of products, zeros left out."""
    terms = [x * y for x, y in zip(a, b, strict=True) if not (nothing(x) or nothing(y))]
    return sum(terms[1:], terms[0]) if terms else 0.0


def less(a: Any, b: Any) -> Any:
    """a - b"""
    return a if nothing(b) else a - b


def nothing(x: Any) -> bool:
    """Whether a scalar is known to be zero."""
    return zero(x) or (isinstance(x, Polynomial) and not x)
