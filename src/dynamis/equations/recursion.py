"""The recursion with named intermediate variables, as SYMORO writes it.

The algorithm runs over recorded values, every operation once. What the books have a name for (w31:
first component of the angular velocity of link 3) gets that name; anything else used more than once
is called t1, t2, ...
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import sympy as sp

from ..arguments import is_list, strict
from ..dynamics import coriolis, coupling, equation
from ..dynamics.gibbs_appell import INERTIAL, observation_matrix
from ..dynamics.kinematics import inertias
from ..dynamics.lagrange_euler import lagrange_euler_terms
from ..dynamics.newton_euler import outward, wrench_of
from ..errors import OptionError, shown
from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.recorder import COMPARISONS, OPERATIONS, Recorded, Recorder, uses
from ..spatial.rotations import rotate
from ..spatial.vectors import add, cross
from .scalars.scalars import EXACT, converted, coordinates, exact, plain
from .scalars.simplify import tidy
from .show import line, subscripts


def _unlifted(name: str) -> Callable[..., Any]:
    function = getattr(EXACT, name)
    return lambda *arguments: plain(function(*arguments))


WRITTEN = {**OPERATIONS, **{name: _unlifted(name) for name in Functions._fields}}


class ExpressionRecorder(Recorder):
    """Steps ("leaf", expr) or (operation, indices...); zeros and ones are not recorded."""

    def value(self, x: Any) -> Recorded:
        """Any scalar as a recorded value."""
        return x if isinstance(x, Recorded) else self._made("leaf", sp.sympify(exact(x)))

    def _made(self, *step: Any) -> Recorded:
        return Recorded(self, self.index(step))

    def functions(self) -> Functions:
        """The elementary functions, recorded."""
        return Functions(**{name: partial(self.record, name) for name in Functions._fields})

    def record(self, name: str, *operands: Any) -> Recorded:
        """The value of an operation, after the simplest of simplifications."""
        if name == "sub":
            return self.record("add", operands[0], self.record("neg", operands[1]))
        values = [self.value(x) for x in operands]
        leaves = [self.steps[x.index] for x in values]
        if all(k[0] == "leaf" and k[1].is_number for k in leaves):
            return self.value(WRITTEN[name](*(k[1] for k in leaves)))
        if name in ("add", "mul"):
            a, b = sorted(values, key=lambda x: x.index)
            return self._sum(a, b) if name == "add" else self._product(a, b)
        if name == "neg" and leaves[0][0] == "neg":
            return Recorded(self, leaves[0][1])
        return self._made(name, *(x.index for x in values))

    def _leaf(self, x: Recorded) -> Any:
        step = self.steps[x.index]
        return step[1] if step[0] == "leaf" else None

    def _sum(self, a: Recorded, b: Recorded) -> Recorded:
        if self._leaf(a) == 0:
            return b
        if self._leaf(b) == 0:
            return a
        if self.steps[a.index] == ("neg", b.index) or self.steps[b.index] == ("neg", a.index):
            return self.value(0)
        return self._made("add", a.index, b.index)

    def _product(self, a: Recorded, b: Recorded) -> Recorded:
        for x, y in ((a, b), (b, a)):
            leaf = self._leaf(x)
            if leaf == 0:
                return x
            if leaf == 1:
                return y
            if leaf == -1:
                return -y
            if self.steps[x.index][0] == "neg":
                return -(Recorded(self, self.steps[x.index][1]) * y)
        return self._made("mul", a.index, b.index)

    def _operands(self, index: int) -> Sequence[int]:
        name, *operands = self.steps[index]
        return () if name == "leaf" else operands

    def size(self, output: Recorded) -> int:
        """Operations of an output written out without any name."""
        sizes: dict[int, int] = {}
        for k in uses([output.index], self._operands):
            sizes[k] = sum((sizes[j] for j in self._operands(k)), int(self.steps[k][0] != "leaf"))
        return sizes[output.index]

    def written(
        self, outputs: Sequence[Recorded], names: Mapping[int, str], fresh: Callable[[], str | None]
    ) -> tuple[list[tuple[sp.Symbol, Any]], list[Any]]:
        """Definitions and outputs; a value is named by `names`, or by `fresh` if used twice."""
        expressions: dict[int, Any] = {}
        steps: list[tuple[sp.Symbol, Any]] = []
        for index, times in uses([x.index for x in outputs], self._operands).items():
            step = self.steps[index]
            if step[0] == "leaf":
                expressions[index] = step[1]
                continue
            expr = WRITTEN[step[0]](*(expressions[k] for k in step[1:]))
            # no name makes a number, a symbol, or one times the other shorter, or is a comparison's
            short = step[0] in COMPARISONS or sp.sympify(expr).as_coeff_Mul()[1].is_Atom
            name = None if short else names.get(index)
            if name is None and times > 1 and not short:
                name = fresh()
            if name is not None:
                symbol = sp.Symbol(name, real=True)
                steps.append((symbol, expr))
                expr = symbol
            expressions[index] = expr
        return steps, [expressions[x.index] for x in outputs]


QUANTITIES: Mapping[str, tuple[str, Callable[..., Any]]] = {  # prefix of new names, algorithm
    "tau": ("t", lambda c, *x, fn, method: equation.inverse_dynamics(c, *x, fn=fn, method=method)),
    "M": ("tM", lambda c, q, *_, fn, method: equation.mass_matrix(c, q, fn)),
    "C": ("tC", lambda c, q, qd, _, fn, method: coriolis.coriolis_matrix(c, q, qd, fn)),
    "g": ("tg", lambda c, q, *_, fn, method: equation.gravity_torque(c, q, fn)),
}


@strict
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
    recorder, scalars, inputs = _recorded(chain)
    prefix, algorithm = QUANTITIES[what]
    result = algorithm(scalars, *inputs, fn=recorder.functions(), method=method)
    rows = [list(r) if isinstance(r, (list, tuple)) else [r] for r in result]
    outputs = [recorder.value(x) for row in rows for x in row]
    names = _named(recorder, scalars, inputs, method if what == "tau" else "")
    leaves = [step[1] for step in recorder.steps if step[0] == "leaf"]
    taken = {str(s) for x in leaves for s in x.free_symbols}
    free = {index: _untaken(name, taken) for index, name in names.items()}
    taken |= set(free.values())
    fresh = (name for k in count(1) if (name := f"{prefix}{k}") not in taken)
    steps, values = recorder.written(outputs, free, lambda: next(fresh))
    shape = len(rows), len(rows[0])
    labels = [sp.Symbol(f"{what}{x}", real=True) for x in subscripts(shape, "_")]
    return Recursion(tuple(steps), tuple(zip(labels, values, strict=True)), shape)


def single(chain: Chain, what: str, i: int, j: int, limit: int) -> Any:
    """One entry written out without names; None if it has more than `limit` operations."""
    recorder, scalars, inputs = _recorded(chain)
    algorithm = QUANTITIES[what][1]
    result = algorithm(scalars, *inputs, fn=recorder.functions(), method="newton-euler")
    output = recorder.value(result[i] if what in ("tau", "g") else result[i][j])
    if recorder.size(output) > limit:
        return None
    return recorder.written([output], {}, lambda: None)[1][0]


def _recorded(chain: Chain) -> tuple[ExpressionRecorder, Chain, list]:
    recorder = ExpressionRecorder()
    inputs = [[recorder.value(x) for x in row] for row in coordinates(chain.n)]
    long = (sp.Add, sp.Mul)
    return (
        recorder,
        converted(chain, lambda x: recorder.value(tidy(x) if isinstance(x, long) else x)),
        inputs,
    )


def _untaken(name: str, taken: set[str]) -> str:
    return _untaken(name + "_", taken) if name in taken else name


# names the books use


def _named(recorder: ExpressionRecorder, chain: Chain, inputs: list, method: str) -> dict[int, str]:
    """Names of recorded values; where two names fit, the first given stays."""
    fn = recorder.functions()
    q, qd, qdd = inputs
    x, rates = coupling.positions(chain, q), (coupling.rates(chain, v) for v in (qd, qdd))
    gap = "" if len(chain.joints) < 10 else "_"
    names: dict[int, str] = {}

    def give(name: str, value: Any) -> None:
        if isinstance(value, Recorded):
            names.setdefault(value.index, name)

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
