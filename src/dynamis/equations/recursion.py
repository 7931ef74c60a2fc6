"""The recursion with named intermediate variables, as SYMORO writes it.

The algorithm runs over a tape. What the books have a name for (w31: first component of the angular
velocity of link 3) gets that name; anything else used more than once is called t1, t2, ...
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..arguments import is_list
from ..dynamics import coriolis, coupling, equation
from ..dynamics.gibbs_appell import INERTIAL, observation_matrix
from ..dynamics.kinematics import inertias
from ..dynamics.lagrange_euler import lagrange_euler_terms
from ..dynamics.newton_euler import outward, wrench_of
from ..errors import OptionError, shown
from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.rotations import rotate
from ..spatial.vectors import add, cross
from .scalars.scalars import converted, coordinates
from .scalars.simplify import tidy
from .scalars.tape import Node, Tape


def _torque(c: Chain, q: Any, qd: Any, qdd: Any, fn: Functions, method: str) -> Any:
    return equation.inverse_dynamics(c, q, qd, qdd, fn, method=method)


QUANTITIES: Mapping[str, tuple[str, Callable[..., Any]]] = {  # prefix of new names, algorithm
    "tau": ("t", _torque),
    "M": ("tM", lambda c, q, qd, qdd, fn, method: equation.mass_matrix(c, q, fn)),
    "C": ("tC", lambda c, q, qd, qdd, fn, method: coriolis.coriolis_matrix(c, q, qd, fn)),
    "g": ("tg", lambda c, q, qd, qdd, fn, method: equation.gravity_torque(c, q, fn)),
}


@dataclass(frozen=True)
class Recursion:
    """Definitions in order, then the outputs in terms of them."""

    steps: tuple[tuple[sp.Symbol, Any], ...]
    outputs: tuple[tuple[sp.Symbol, Any], ...]
    shape: tuple[int, int]

    @property
    def matrix(self) -> sp.Matrix:
        """The outputs in terms of the named intermediates."""
        return sp.Matrix(*self.shape, [value for _, value in self.outputs])

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[tuple[sp.Symbol, Any]]:
        return iter((*self.steps, *self.outputs))

    def __str__(self) -> str:
        return "\n".join(line(name, value) for name, value in self)

    def function(self, arguments: Sequence[sp.Symbol]) -> Callable[..., Any]:
        """The outputs as a NumPy function of the arguments."""
        if not is_list(arguments) or not all(isinstance(x, sp.Symbol) for x in arguments):
            raise OptionError(f"arguments is {shown(arguments)}, expected SymPy symbols")
        values = [value for _, value in self.outputs]
        shared: Any = lambda _: (self.steps, values)  # noqa: E731
        return sp.lambdify(list(arguments), values, "numpy", cse=shared)


def recursion(chain: Chain, what: str = "tau", method: str = "newton-euler") -> Recursion:
    """The recursion of tau (by a method), M, C or g of a chain over SymPy."""
    tape, scalars, inputs = _recorded(chain)
    prefix, algorithm = QUANTITIES[what]
    result = algorithm(scalars, *inputs, tape.functions(), method)
    rows = [list(r) if isinstance(r, (list, tuple)) else [r] for r in result]
    outputs = [tape.node(x) for row in rows for x in row]
    names = _named(tape, scalars, inputs, method if what == "tau" else "")
    leaves = [key[1] for key in tape.keys if key[0] == "leaf"]
    taken = {str(s) for x in leaves for s in x.free_symbols}
    free = {place: _untaken(name, taken) for place, name in names.items()}
    fresh = _Fresh(prefix, taken | set(free.values()))
    steps, values = tape.written(outputs, free, fresh)
    labels = _labels(what, len(rows), len(rows[0]))
    pairs = zip((sp.Symbol(x, real=True) for x in labels), values, strict=True)
    return Recursion(tuple(steps), tuple(pairs), (len(rows), len(rows[0])))


def single(chain: Chain, what: str, i: int, j: int, limit: int) -> Any:
    """One entry written out without names; None if it has more than `limit` operations."""
    tape, scalars, inputs = _recorded(chain)
    result = QUANTITIES[what][1](scalars, *inputs, tape.functions(), "newton-euler")
    entry = tape.node(result[i] if what in ("tau", "g") else result[i][j])
    if tape.size(entry) > limit:
        return None
    return tape.written([entry], {}, lambda: None)[1][0]


def _recorded(chain: Chain) -> tuple[Tape, Chain, list]:
    tape = Tape()
    inputs = [[tape.node(x) for x in row] for row in coordinates(chain.n)]
    return tape, converted(chain, lambda x: tape.node(x if _plain(x) else tidy(x))), inputs


def _plain(x: Any) -> bool:
    return not isinstance(x, (sp.Add, sp.Mul))


class _Fresh:
    """New names in order."""

    def __init__(self, prefix: str, taken: set[str]):
        self.prefix, self.taken, self.count = prefix, taken, 0

    def __call__(self) -> str:
        self.count += 1
        name = f"{self.prefix}{self.count}"
        return self() if name in self.taken else name


def _untaken(name: str, taken: set[str]) -> str:
    return _untaken(name + "_", taken) if name in taken else name


def _labels(what: str, rows: int, columns: int) -> list[str]:
    if columns == 1:
        return [f"{what}{i + 1}" for i in range(rows)]
    gap = "" if rows < 10 else "_"
    return [f"{what}{i + 1}{gap}{j + 1}" for i in range(rows) for j in range(columns)]


# -- names the books use -------------------------------------------------------------------------


def _named(tape: Tape, chain: Chain, inputs: list, method: str) -> dict[int, str]:
    """Names of entries; where two names fit, the first given stays."""
    fn = tape.functions()
    q, qd, qdd = inputs
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    state = (chain, x, xd, coupling.rates(chain, qdd), fn)
    gap = "" if len(chain.joints) < 10 else "_"
    names: dict[int, str] = {}

    def give(name: str, value: Any) -> None:
        if isinstance(value, Node):
            names.setdefault(value.place, name)

    for i, joint in enumerate(chain.joints):
        if joint.kind == "revolute":
            give(f"c{i + 1}", fn.cos(x[i]))
            give(f"s{i + 1}", fn.sin(x[i]))
    for name, value in HINTS.get(method, _nothing)(*state, gap):
        give(name, value)
    return names


def _nothing(*_: Any) -> Iterator[tuple[str, Any]]:
    return iter(())


def _vector(name: str, v: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"{name}{k + 1}", x) for k, x in enumerate(v))


def _matrix(name: str, A: Sequence[Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    return ((f"{name}_{i + 1}{j + 1}", x) for i, r in enumerate(A) for j, x in enumerate(r))


def _motion_names(
    chain: Chain, x: Any, xd: Any, xdd: Any, fn: Functions, gap: str
) -> Iterator[tuple[str, Any]]:
    """w, w', a and U of every link."""
    frames, links = outward(chain, x, xd, xdd, fn)
    for i, (link, frame) in enumerate(zip(links, frames, strict=True)):
        yield from _matrix(f"R{i + 1}", frame[0])
        yield from _vector(f"p{i + 1}{gap}", frame[1])
        yield from _vector(f"w{i + 1}{gap}", link.w)
        yield from _vector(f"wd{i + 1}{gap}", link.wd)
        yield from _vector(f"a{i + 1}{gap}", link.a)
        yield from _matrix(f"U{i + 1}", link.U)


def _newton_euler_names(
    chain: Chain, x: Any, xd: Any, xdd: Any, fn: Functions, gap: str
) -> Iterator[tuple[str, Any]]:
    """Those of the motion, then F, N of every link, and f, n that its joint carries."""
    yield from _motion_names(chain, x, xd, xdd, fn, gap)
    frames, links = outward(chain, x, xd, xdd, fn)
    loads = [wrench_of(body, link) for body, link in zip(inertias(chain, x), links, strict=True)]
    for i, (F, N) in enumerate(loads):
        yield from _vector(f"F{i + 1}{gap}", F)
        yield from _vector(f"N{i + 1}{gap}", N)
    for i in range(len(loads) - 1, -1, -1):
        f, n = loads[i]
        yield from _vector(f"f{i + 1}{gap}", f)
        yield from _vector(f"n{i + 1}{gap}", n)
        parent = chain.joints[i].parent
        if parent >= 0:
            (R, p), (F, N) = frames[i], loads[parent]
            f = rotate(R, f)
            loads[parent] = add(F, f), add(N, rotate(R, n), cross(p, f))


def _gibbs_appell_names(
    chain: Chain, x: Any, xd: Any, xdd: Any, fn: Functions, gap: str
) -> Iterator[tuple[str, Any]]:
    """Those of the motion, then the observation matrix: W2_3m, W2_3x, ..."""
    yield from _motion_names(chain, x, xd, xdd, fn, gap)
    letters = ("m", "x", "y", "z", "xx", "xy", "yy", "xz", "yz", "zz")
    for k, row in enumerate(observation_matrix(chain, x, xd, xdd, fn)):
        for j, value in enumerate(row):
            yield f"W{k + 1}_{j // INERTIAL + 1}{letters[j % INERTIAL]}", value


def _lagrange_euler_names(
    chain: Chain, x: Any, xd: Any, xdd: Any, fn: Functions, gap: str
) -> Iterator[tuple[str, Any]]:
    """0A_i, U_ij, U_ijk and d_ij, h_ikm of Lagrange-Euler."""
    terms = lagrange_euler_terms(chain, x, xd, xdd, fn)
    size = range(len(chain.joints))
    for i in size:
        yield from _matrix(f"A{i + 1}", terms.A[i])
        for j in size:
            if terms.U[i][j] is not None:
                yield from _matrix(f"U{i + 1}{gap}{j + 1}", terms.U[i][j])
            for k in size:
                if terms.UU[i][j][k] is not None:
                    yield from _matrix(f"U{i + 1}{gap}{j + 1}{gap}{k + 1}", terms.UU[i][j][k])
    for i in size:
        for j in size:
            yield f"D{i + 1}{gap}{j + 1}", terms.D[i][j]
            for k in size:
                yield f"h{i + 1}{gap}{j + 1}{gap}{k + 1}", terms.h[i][j][k]


HINTS: Mapping[str, Callable[..., Iterator[tuple[str, Any]]]] = {
    "newton-euler": _newton_euler_names,
    "gibbs-appell": _gibbs_appell_names,
    "lagrange-euler": _lagrange_euler_names,
}

# equations as text that Python can read: numbers as the decimals they came from

DIGITS = 10  # of a number that is no short decimal
WIDEST_FRACTION = 12  # denominators up to here stay fractions where they are no decimals


def text(expr: Any) -> str:
    """One expression."""
    return sp.sstr(decimals(sp.sympify(expr)))


def line(name: Any, expr: Any) -> str:
    """name = expression"""
    return f"{name} = {text(expr)}"


def joined(parts: Sequence[Any]) -> str:
    """A sum of expressions in the order given."""
    result = ""
    for part in parts:
        if part == 0:
            continue
        shown = text(part)
        if shown.startswith("-"):
            result += f" - {shown[1:]}" if result else shown
        else:
            result += f" + {shown}" if result else shown
    return result or "0"


def matrix_lines(name: str, matrix: Any) -> list[str]:
    """Entries line by line, zeros left out."""
    gap = "" if max(matrix.shape) < 10 else "_"
    lines = []
    for i in range(matrix.rows):
        for j in range(matrix.cols):
            label = f"{name}{i + 1}" if matrix.cols == 1 else f"{name}{i + 1}{gap}{j + 1}"
            if matrix[i, j] != 0:
                lines.append(line(label, matrix[i, j]))
    return lines or [f"{name} = 0"]


def decimals(expr: Any) -> Any:
    """Rationals as decimals, for printing only: exponents and halves stay as they are."""
    if isinstance(expr, sp.Rational):
        return _decimal(expr)
    if isinstance(expr, sp.Pow):
        return sp.Pow(decimals(expr.base), expr.exp, evaluate=False)
    if not expr.args:
        return expr
    return expr.func(*(decimals(x) for x in expr.args))


def _decimal(x: sp.Rational) -> Any:
    odd = int(x.q)
    for prime in (2, 5):
        while odd % prime == 0:
            odd //= prime
    short = x.q == 2 and abs(x.p) < 10
    if x.q == 1 or short or (odd != 1 and x.q <= WIDEST_FRACTION):
        return x
    shown = sp.Symbol(f"{abs(float(x)):.{DIGITS}g}", positive=True)
    return -shown if x < 0 else shown
