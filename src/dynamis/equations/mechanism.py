"""The equations of motion of closed mechanisms: M qdd + h = tau + J^T f, phi(q) = 0.

The torques Gamma of the tree are those of `Equations`, the closures those of the derivation. M, C,
g and tau are those of the independent joints and drives, like the kernels of the same names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from ..dynamics.closed import mobility
from ..dynamics.mobility import first_assembly
from ..dynamics.projected import joint_accelerations
from ..errors import OptionError
from ..lazy import cached_property
from ..model.chain import Mobility, chain
from ..model.model import Model
from ..robot.calls import Calls
from ..robot.closing import refuse_open
from ..spatial.functions import MATH
from .derivation.loops import BOTH, is_short, undriven
from .derivation.springs import unloaded
from .derivation.steps import Derivation, Step, checked_state, derivation, loop_part
from .equations import Equations
from .recursion import Recursion
from .render.formula import plain
from .render.math import entries
from .show import line, mechanism_lines, subscripts

QUANTITIES = ("tau", "M", "C", "g", "phi", "J", "bias", "Z", "gamma", "f")
NEEDS = {  # what of a state must keep the loops closed
    **dict.fromkeys(("M", "g", "J", "Z"), ("q",)),
    **dict.fromkeys(("C", "bias", "gamma"), ("q", "qd")),
    **dict.fromkeys(("tau", "f"), ("q", "qd", "qdd")),
}  # fmt: skip
ONE = ("tau", "g", "phi", "bias", "gamma", "f")  # with one index
LETTERS = {"bias": ("b", "beta"), "gamma": ("gamma", "epsilon"), "f": ("f", "lambda")}


def _quantity(what: str) -> Any:
    """A property that is a matrix, made when it is first asked for."""
    return cached_property(lambda self: self._matrix(what))


class MechanismEquations(Equations):
    """Equations of a mechanism with closures: .phi .J .bias .Z .gamma .f, .M .C .g .tau, .tree.

    phi = 0, J qd = 0, J qdd + bias = 0; qd = Z qd_i, qdd = Z qdd_i + gamma; M, C and g are those of
    the independent joints, f the forces of the closures, tau the torques of the drives. J, bias, Z
    and what follows from them hold where the loops are closed. Friction under load is in tau only.
    """

    QUANTITIES: Sequence[str] = QUANTITIES
    TERMS: Mapping[str, int] = {
        **{name: 1 if name in ONE else 2 for name in QUANTITIES},
        **dict.fromkeys(("friction", "spring", "load"), 1),
    }

    def __init__(self, model: Model, method: str, gravity: str | None = None):
        self.mobility: Mobility = mobility(chain(model))  # refuses what cannot be computed
        super().__init__(model, method, gravity)
        links = tuple(replace(link, passive=False) for link in unloaded(model).links)
        self.tree = Equations(replace(self.model, closures=(), links=links), method)

    @property
    def jacobian(self) -> sp.Matrix:
        """Refused: the joints of a loop move together."""
        raise OptionError(
            f"{self.robot_name!r} has closures, and its Jacobian is not written out",
            ".tree.jacobian is that of all joints; times .Z, that of the independent ones",
        )

    # -- the closures, by the derivation --------------------------------------------------------

    @cached_property
    def _part(self) -> tuple[list[Step], list[tuple[sp.Symbol, Any]], bool]:
        """Steps of the closures, what their names stand for, and whether that is short."""
        part, known = loop_part(self.model, self.method, None, BOTH)
        return part.steps(1), part.names, is_short(known)

    @cached_property
    def _items(self) -> dict[str, Any]:
        """Expressions of the closures by plain name."""
        items = [item for step in self._part[0] for item in step.items]
        return {plain(item.name): item.expression for item in items}

    @cached_property
    def _names(self) -> dict[sp.Symbol, sp.Symbol]:
        """Names of the derivation as identifiers that neither model nor tree uses."""
        own = {str(s) for s in (*self.symbols, *self.q, *self.qd, *self.qdd)}
        if not self.tree.is_closed:
            own |= {str(s) for s, _ in self.tree.recursion}
        found = {}
        for symbol in (*(s for s, _ in self._part[1]), *self._Gamma):
            name = symbol.name.replace(",", "_").replace(".", "_")
            while name in own:
                name += "_"
            found[symbol] = sp.Symbol(name, real=True)
            own.add(name)
        return found

    @property
    def _Gamma(self) -> list[sp.Symbol]:
        return [sp.Symbol(f"Gamma{k + 1}", real=True) for k in range(self.n)]

    @property
    def is_closed(self) -> bool:
        """Whether the quantities are closed forms; else they are in named intermediates."""
        return self.tree.is_closed and self._part[2]

    @cached_property
    def _definitions(self) -> list[tuple[sp.Symbol, Any]]:
        """What names stand for, in order, by identifiers: those of the closures."""
        return [(self._names[s], sp.sympify(x).xreplace(self._names)) for s, x in self._part[1]]

    @cached_property
    def _torques(self) -> list[tuple[sp.Symbol, Any]]:
        """Gamma of the tree, with what it takes to write them."""
        own = [self._names[s] for s in self._Gamma]
        if self.tree.is_closed:
            return list(zip(own, self.tree.tau.flat(), strict=True))
        found = self.tree.recursion
        outputs = [value for _, value in found.outputs]
        return [*found.steps, *zip(own, outputs, strict=True)]

    def _matrix(self, what: str) -> sp.Matrix:
        """A quantity in closed form, or by the names of its intermediates."""
        found = self._named(what)
        if self.is_closed:
            for symbol, value in reversed([*self._torques, *self._definitions]):
                found = found.xreplace({symbol: sp.sympify(value)})
        return found

    def _named(self, what: str) -> sp.Matrix:
        """A quantity by the names of its intermediates."""
        rows, free = len(self.mobility.rows), range(len(self.mobility.independent))
        if what in ("J", "Z"):
            entries = self._items[what].tolist()
        elif what == "M":
            gap = "," if len(free) > 9 else ""
            names = [[f"Mbar{i + 1}{gap}{j + 1}" for j in free] for i in free]
            entries = [[self._items[name] for name in row] for row in names]
        else:
            entries = self._column(what, self.n if what in ("tau", "gamma") else rows)
        return sp.Matrix([[sp.sympify(x).xreplace(self._names) for x in row] for row in entries])

    def _column(self, letter: str, count: int) -> list[list[Any]]:
        names = LETTERS.get(letter, (letter,))
        used = next(x for x in names if any(k.startswith(x) for k in self._items))
        return [[self._items.get(f"{used}{k + 1}", sp.Integer(0))] for k in range(count)]

    # -- quantities -----------------------------------------------------------------------------

    phi = _quantity("phi")
    """Conditions of the closures, zero where they hold, (rows that count, 1)."""

    J = _quantity("J")
    """Jacobian of the conditions where they hold, (rows that count, n)."""

    bias = _quantity("bias")
    """dJ/dt qd, (rows that count, 1)."""

    Z = _quantity("Z")
    """qd = Z qd_i, (n, dof)."""

    gamma = _quantity("gamma")
    """qdd = Z qdd_i + gamma, (n, 1)."""

    M = _quantity("M")
    """Mass matrix over the independent joints, Z^T M Z, (dof, dof)."""

    @cached_property
    def f(self) -> sp.Matrix:
        """Forces of the closures, (rows that count, 1)."""
        self._refuse_undriven()
        return self._matrix("f")

    def _refuse_undriven(self) -> None:
        """Say that no torques give every motion."""
        if not undriven(self.model):
            return
        names, active = self.model.joint_names, self.model.active
        idle = [names[k] for k in self.mobility.independent if k not in active]
        raise OptionError(
            f"robot {self.robot_name!r} has no drive for {', '.join(idle)}: no torques give every "
            "motion",
            "drive these joints (passive = false); .steps has the torques that they would need",
        )

    @cached_property
    def tau(self) -> sp.Matrix:
        """Torques of the drives, zero for passive joints, (n, 1)."""
        self._refuse_undriven()
        return self._rubbing(self._matrix("tau"))

    def _rubbing(self, tau: sp.Matrix) -> sp.Matrix:
        """With what friction under load adds to the torques of the drives."""
        rows = list(tau.flat())
        for k in self.model.active:
            share = self._load_shares[k]
            if share != 0:
                rows[k] = rows[k] + share * sp.Abs(rows[k] - list(self.friction.flat())[k])
        return sp.Matrix(rows)

    @cached_property
    def C(self) -> sp.Matrix:
        """Coriolis matrix over the independent joints, Z^T (M dZ/dt + C Z), (dof, dof)."""
        if not self.is_closed:
            raise OptionError(
                f"the Coriolis matrix of {self.robot_name!r} over its independent joints is too "
                "long to write out",
                "robot.coriolis_matrix(q, qd) has the numbers, .tree.C is that of the tree",
            )
        Zd = sp.zeros(*self.Z.shape)
        for a, rate in zip(self.q, self.qd, strict=True):
            Zd += self.Z.diff(a) * rate
        return self.Z.T * (self.tree.M * Zd + self.tree.C * self.Z)

    @cached_property
    def g(self) -> sp.Matrix:
        """Gravity torque over the independent joints, Z^T g, (dof, 1)."""
        return self.Z.T * self.tree.g

    @property
    def christoffel(self) -> sp.ImmutableDenseNDimArray:  # type: ignore[override]
        """Not written: C follows from Z and the tree's."""
        raise OptionError(
            f"the Christoffel symbols of {self.robot_name!r} are those of its tree",
            ".tree.christoffel",
        )

    @property
    def kinetic_energy(self) -> Any:  # type: ignore[override]
        """T(q, qd) of all joints, reflected rotors included."""
        return self.tree.kinetic_energy

    @property
    def potential_energy(self) -> Any:  # type: ignore[override]
        """U(q) of all joints."""
        return self.tree.potential_energy

    # -- asked for ------------------------------------------------------------------------------

    @property
    def recursion(self) -> Recursion:  # type: ignore[override]
        """tau with named intermediate variables: an ordered list of (symbol, expression)."""
        return self.recursion_of("tau")

    def recursion_of(self, what: str) -> Recursion:
        """The recursion of a quantity with named intermediate variables."""
        self._check_recursion(what)
        if what == "C":
            matrix, steps = self.C, []
        elif what == "g":
            Z, tree = self._named("Z"), self.tree
            matrix = Z.T * tree.g
            steps = [*(() if tree.is_closed else tree.recursion_of("g").steps), *self._needed(Z)]
        else:
            if what in ("tau", "f"):
                self._refuse_undriven()
            matrix = self._named(what)
            matrix = self._rubbing(matrix) if what == "tau" else matrix
            steps = self._needed(matrix)
        labels = [sp.Symbol(f"{what}{x}", real=True) for x in subscripts(matrix.shape, "_")]
        outputs = zip(labels, matrix.flat(), strict=True)
        return Recursion(tuple(steps), tuple(outputs), matrix.shape)

    def _function(self, what: str) -> Callable[..., Any]:
        arguments = [*self.q, *self.qd, *self.qdd, *self.symbols]
        if what == "C":
            return sp.lambdify(arguments, list(self.C.flat()), "numpy", cse=True)
        return self.recursion_of(what).function(arguments)

    def _needed(self, matrix: sp.Matrix) -> list[tuple[sp.Symbol, Any]]:
        """The definitions that a matrix is written with."""
        wanted, found = set(matrix.free_symbols), []
        for symbol, value in reversed([*self._torques, *self._definitions]):
            if symbol in wanted:
                found.append((symbol, value))
                wanted |= sp.sympify(value).free_symbols
        return found[::-1]

    def term(self, name: str, *indices: int) -> Any:
        """One entry: term("J", 0, 1), term("tau", 0), term("Z", 1, 0)."""
        self._check_term(name, indices)
        return getattr(self, name)[indices if indices[1:] else indices[0]]

    def _check_term(self, name: str, indices: tuple[int, ...]) -> None:
        super()._check_term(name, indices)
        shape = getattr(self, name).shape
        if any(k >= size for k, size in zip(indices, shape, strict=False)):
            raise OptionError(f"term {name!r} got indices {indices}, its shape is {shape}")

    def _shape(self, what: str) -> tuple[int, ...]:
        count, free = len(self.mobility.rows), len(self.mobility.independent)
        one = {"tau": self.n, "gamma": self.n, "g": free, "phi": count, "bias": count, "f": count}
        two = {"J": (count, self.n), "Z": (self.n, free)}
        return (one[what],) if what in one else two.get(what, (free, free))

    def evaluate(
        self, q: Any, qd: Any = None, qdd: Any = None, what: str = "tau", **values: float
    ) -> "np.ndarray":
        """Numbers from these equations: tau and gamma (..., n), M and C (..., dof, dof), ...

        None is zeros. The loops must be closed, and stay so; phi is that of any q. Symbols take the
        model's values, unless given here by name.
        """
        found = super().evaluate(q, qd, qdd, what, **values)  # which checks the arguments
        if what != "phi":
            rest = np.zeros(self.n)
            state = {"q": q, "qd": qd, "qdd": qdd}
            given = {name: rest if state[name] is None else state[name] for name in NEEDS[what]}
            own = {**self.model.values, **values}
            model = replace(self.model, values={k: own[k] for k in self.model.symbols})
            refuse_open(Calls(model if values else self.model), given)
        return found

    def derivation(self, q: Any = None, qd: Any = None, qdd: Any = None) -> Derivation:
        """The derivation with numbers beside the symbols, at one state that closes.

        Left out: q is the first assembly known, qd is 0, qdd that of drives that do not accelerate.
        """
        if q is None and qd is None and qdd is None:
            return derivation(self.model, self.method)
        c = chain(self.model)
        at = first_assembly(self.model) if q is None else q
        rates = [0.0] * self.n if qd is None else qd
        state = [at, rates, [0.0] * self.n if qdd is None else qdd]
        if qdd is None:
            given = checked_state(self.model, state, closed=False)
            refuse_open(Calls(self.model), {"q": given.q, "qd": given.qd})
            still = [0.0] * len(self.mobility.independent)
            state[2] = joint_accelerations(c, given.q, given.qd, still, MATH)
        return derivation(self.model, self.method, state)

    # -- shown ----------------------------------------------------------------------------------

    def _lines(self) -> list[tuple[str, str]]:
        return mechanism_lines(self)

    def written(self) -> list[tuple[str, list[tuple[str, Any]]]]:
        """(title, (LaTeX name, expression or matrix)) of everything shown, in order."""
        named = self._names
        rows = [(rf"\Gamma_{{{k}}}", x) for k, x in enumerate(self._shown_torques, 1)]
        parts: list[tuple[str, list[tuple[str, Any]]]] = [("Torques of the tree", rows)]
        for step in self._part[0]:
            own = [x for x in step.items if x.expression is not None and x.same is None]
            items = [(x.name, x.expression) for x in own]
            parts.append((step.title, [(name, x.xreplace(named)) for name, x in items]))
        return parts

    @property
    def _shown_torques(self) -> list[Any]:
        if self.tree.is_closed:
            return list(self.tree.tau.flat())
        return [value for _, value in self.tree.recursion.outputs]

    def __str__(self) -> str:
        head = (
            f"{self.robot_name}, {self.method}: Gamma = M(q) qdd + h(q, qd) = tau + J^T f, "
            "phi(q) = 0"
        )
        parts = [head]
        if not self.tree.is_closed:
            parts.append("\n".join(line(*pair) for pair in self.tree.recursion.steps))
        for title, items in self.written():
            lines = []
            for name, x in items:
                label = plain(name).replace(",", "_")
                lines += _entries(label, x) if isinstance(x, sp.MatrixBase) else [line(label, x)]
            parts.append("\n".join([f"{title}:", *lines]))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        free = len(self.mobility.independent)
        return (
            f"Equations({self.robot_name!r}, {self.method!r}, {self.n} joints, {free} degrees of "
            "freedom)"
        )


def _entries(label: str, x: Any) -> list[str]:
    """Entries of a matrix that are not zero, those that stand for themselves left out."""
    pairs = [(f"{label}{i + 1}_{j + 1}", value) for i, j, value in entries(x)]
    return [line(name, value) for name, value in pairs if name != str(value)]
