"""The recursion with named intermediate variables, as SYMORO writes it.

The algorithm runs over a tape, which holds every operation once. What the books have a name for
(w31: first component of the angular velocity of link 3) gets that name; anything else used more
than once is called t1, t2, ...
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
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
from .scalars.scalars import EXACT, OPERATIONS, Arithmetic, converted, coordinates, exact, plain
from .scalars.simplify import tidy
from .show import line, subscripts

Key = tuple  # ("leaf", expr) or (operation, places...)


def _unlifted(name: str) -> Callable[..., Any]:
    function = getattr(EXACT, name)
    return lambda *arguments: plain(function(*arguments))


WRITTEN = {**OPERATIONS, **{name: _unlifted(name) for name in Functions._fields}}


class Node(Arithmetic):
    """One entry of a tape, under + - * / **."""

    __slots__ = ("place", "tape")

    def __init__(self, tape: "Tape", place: int):
        self.tape, self.place = tape, place

    def operation(self, name: str, *operands: Any) -> "Node":
        """The entry that an operation gives."""
        return self.tape.record(name, *operands)


class Tape:
    """Operations in order; equal ones are recorded once, zeros and ones not at all."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.places: dict[Key, int] = {}

    def _place(self, key: Key) -> int:
        if key not in self.places:
            self.places[key] = len(self.keys)
            self.keys.append(key)
        return self.places[key]

    def node(self, x: Any) -> Node:
        """Any scalar as an entry of this tape."""
        if isinstance(x, Node):
            return x
        return Node(self, self._place(("leaf", sp.sympify(exact(x)))))

    def functions(self) -> Functions:
        """The elementary functions, recorded."""
        return Functions(**{name: partial(self.record, name) for name in Functions._fields})

    def record(self, operation: str, *operands: Any) -> Node:
        """The entry of an operation, after the simplest of simplifications."""
        nodes = [self.node(x) for x in operands]
        leaves = [self.keys[x.place] for x in nodes]
        if all(k[0] == "leaf" and k[1].is_number for k in leaves):
            return self.node(WRITTEN[operation](*(k[1] for k in leaves)))
        if operation in ("add", "mul"):
            a, b = sorted(nodes, key=lambda x: x.place)
            return self._sum(a, b) if operation == "add" else self._product(a, b)
        if operation == "neg" and self.keys[nodes[0].place][0] == "neg":
            return Node(self, self.keys[nodes[0].place][1])
        return Node(self, self._place((operation, *(x.place for x in nodes))))

    def _value(self, x: Node) -> Any:
        key = self.keys[x.place]
        return key[1] if key[0] == "leaf" else None

    def _sum(self, a: Node, b: Node) -> Node:
        if self._value(a) == 0:
            return b
        if self._value(b) == 0:
            return a
        if self.keys[a.place] == ("neg", b.place) or self.keys[b.place] == ("neg", a.place):
            return self.node(0)
        return Node(self, self._place(("add", a.place, b.place)))

    def _product(self, a: Node, b: Node) -> Node:
        for x, y in ((a, b), (b, a)):
            value = self._value(x)
            if value == 0:
                return x
            if value == 1:
                return y
            if value == -1:
                return -y
            if self.keys[x.place][0] == "neg":
                return -(Node(self, self.keys[x.place][1]) * y)
        return Node(self, self._place(("mul", a.place, b.place)))

    def needed(self, outputs: Iterable[Node]) -> tuple[list[int], dict[int, int]]:
        """Places the outputs depend on, in order, and how often each is used."""
        uses: dict[int, int] = {}
        stack = [x.place for x in outputs]
        for place in stack:
            uses[place] = uses.get(place, 0) + 1
            if uses[place] == 1 and self.keys[place][0] != "leaf":
                stack.extend(self.keys[place][1:])
        return sorted(uses), uses

    def size(self, output: Node) -> int:
        """Operations of an output written out without any name."""
        sizes: dict[int, int] = {}
        for place in self.needed([output])[0]:
            key = self.keys[place]
            sizes[place] = 0 if key[0] == "leaf" else 1 + sum(sizes[k] for k in key[1:])
        return sizes[output.place]

    def written(
        self, outputs: Sequence[Node], names: Mapping[int, str], fresh: Callable[[], str | None]
    ) -> tuple[list[tuple[sp.Symbol, Any]], list[Any]]:
        """Definitions and outputs; an entry is named by `names`, or by `fresh` if used twice."""
        order, uses = self.needed(outputs)
        expressions: dict[int, Any] = {}
        steps: list[tuple[sp.Symbol, Any]] = []
        for place in order:
            key = self.keys[place]
            if key[0] == "leaf":
                expressions[place] = key[1]
                continue
            expr = WRITTEN[key[0]](*(expressions[k] for k in key[1:]))
            # a number, a symbol, or one times the other: no name makes it shorter
            short = sp.sympify(expr).as_coeff_Mul()[1].is_Atom
            name = None if short else names.get(place)
            if name is None and uses[place] > 1 and not short:
                name = fresh()
            if name is not None:
                symbol = sp.Symbol(name, real=True)
                steps.append((symbol, expr))
                expr = symbol
            expressions[place] = expr
        return steps, [expressions[x.place] for x in outputs]


QUANTITIES: Mapping[str, tuple[str, Callable[..., Any]]] = {  # prefix of new names, algorithm
    "tau": ("t", lambda c, *x, fn, method: equation.inverse_dynamics(c, *x, fn=fn, method=method)),
    "M": ("tM", lambda c, q, *_, fn, method: equation.mass_matrix(c, q, fn)),
    "C": ("tC", lambda c, q, qd, _, fn, method: coriolis.coriolis_matrix(c, q, qd, fn)),
    "g": ("tg", lambda c, q, *_, fn, method: equation.gravity_torque(c, q, fn)),
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
    result = algorithm(scalars, *inputs, fn=tape.functions(), method=method)
    rows = [list(r) if isinstance(r, (list, tuple)) else [r] for r in result]
    outputs = [tape.node(x) for row in rows for x in row]
    names = _named(tape, scalars, inputs, method if what == "tau" else "")
    leaves = [key[1] for key in tape.keys if key[0] == "leaf"]
    taken = {str(s) for x in leaves for s in x.free_symbols}
    free = {place: _untaken(name, taken) for place, name in names.items()}
    taken |= set(free.values())
    fresh = (name for k in count(1) if (name := f"{prefix}{k}") not in taken)
    steps, values = tape.written(outputs, free, lambda: next(fresh))
    shape = len(rows), len(rows[0])
    labels = [sp.Symbol(f"{what}{x}", real=True) for x in subscripts(shape, "_")]
    return Recursion(tuple(steps), tuple(zip(labels, values, strict=True)), shape)


def single(chain: Chain, what: str, i: int, j: int, limit: int) -> Any:
    """One entry written out without names; None if it has more than `limit` operations."""
    tape, scalars, inputs = _recorded(chain)
    algorithm = QUANTITIES[what][1]
    result = algorithm(scalars, *inputs, fn=tape.functions(), method="newton-euler")
    entry = tape.node(result[i] if what in ("tau", "g") else result[i][j])
    if tape.size(entry) > limit:
        return None
    return tape.written([entry], {}, lambda: None)[1][0]


def _recorded(chain: Chain) -> tuple[Tape, Chain, list]:
    tape = Tape()
    inputs = [[tape.node(x) for x in row] for row in coordinates(chain.n)]
    long = (sp.Add, sp.Mul)
    return (
        tape,
        converted(chain, lambda x: tape.node(tidy(x) if isinstance(x, long) else x)),
        inputs,
    )


def _untaken(name: str, taken: set[str]) -> str:
    return _untaken(name + "_", taken) if name in taken else name


# names the books use


def _named(tape: Tape, chain: Chain, inputs: list, method: str) -> dict[int, str]:
    """Names of entries; where two names fit, the first given stays."""
    fn = tape.functions()
    q, qd, qdd = inputs
    x, rates = coupling.positions(chain, q), (coupling.rates(chain, v) for v in (qd, qdd))
    gap = "" if len(chain.joints) < 10 else "_"
    names: dict[int, str] = {}

    def give(name: str, value: Any) -> None:
        if isinstance(value, Node):
            names.setdefault(value.place, name)

    for i, joint in enumerate(chain.joints):
        if joint.kind == "revolute":
            give(f"c{i + 1}", fn.cos(x[i]))
            give(f"s{i + 1}", fn.sin(x[i]))
    if method in NAMES:
        for name, value in NAMES[method]((chain, x, *rates, fn), gap):
            give(name, value)
    return names


Named = Iterator[tuple[str, Any]]


def _vector(name: str, v: Sequence[Any]) -> Named:
    return ((f"{name}{k + 1}", x) for k, x in enumerate(v))


def _matrix(name: str, A: Sequence[Sequence[Any]]) -> Named:
    return ((f"{name}_{i + 1}{j + 1}", x) for i, r in enumerate(A) for j, x in enumerate(r))


def _motion_names(state: tuple, gap: str) -> Named:
    """w, w', a and U of every link."""
    frames, links = outward(*state)
    for i, (link, frame) in enumerate(zip(links, frames, strict=True)):
        yield from _matrix(f"R{i + 1}", frame[0])
        yield from _vector(f"p{i + 1}{gap}", frame[1])
        yield from _vector(f"w{i + 1}{gap}", link.w)
        yield from _vector(f"wd{i + 1}{gap}", link.wd)
        yield from _vector(f"a{i + 1}{gap}", link.a)
        yield from _matrix(f"U{i + 1}", link.U)


def _newton_euler_names(state: tuple, gap: str) -> Named:
    """Those of the motion, then F, N of every link, and f, n that its joint carries."""
    yield from _motion_names(state, gap)
    (frames, links), (chain, x, *_) = outward(*state), state
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


def _gibbs_appell_names(state: tuple, gap: str) -> Named:
    """Those of the motion, then the observation matrix: W2_3m, W2_3x, ..."""
    yield from _motion_names(state, gap)
    letters = ("m", "x", "y", "z", "xx", "xy", "yy", "xz", "yz", "zz")
    for k, row in enumerate(observation_matrix(*state)):
        for j, value in enumerate(row):
            yield f"W{k + 1}_{j // INERTIAL + 1}{letters[j % INERTIAL]}", value


def _lagrange_euler_names(state: tuple, gap: str) -> Named:
    """0A_i, U_ij, U_ijk and d_ij, h_ikm of Lagrange-Euler."""
    terms = lagrange_euler_terms(*state)
    size = range(len(terms.D))
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


NAMES: Mapping[str, Callable[[tuple, str], Named]] = {
    "newton-euler": _newton_euler_names,
    "gibbs-appell": _gibbs_appell_names,
    "lagrange-euler": _lagrange_euler_names,
}
