"""The equations of motion in closed form: M(q) qdd + C(q, qd) qd + g(q) + friction = tau.

Every result comes from running the algorithms of `dynamis.dynamics` over SymPy. Where the closed
form is too long to read, M, C, g and tau are given in named intermediate variables instead (see
`recursion`), and any single term in closed form by `term`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..arguments import checked, choice, is_whole, known_options, number, one_of, strict
from ..compile.arrays import as_batch, batch_shape
from ..dynamics import kinematics
from ..dynamics.elements import EFFECTS
from ..errors import OptionError, SymbolError, counted, shown, warn
from ..lazy import cached_property
from ..model.model import Model
from ..model.quantity import CONSTANTS, FUNCTIONS, Expression
from ..progress import stage
from ..robot.variations import link_side
from . import closed as forms
from .closed import Closed
from .elastic import ElasticForms, elastic_forms
from .kinematics.place import massless, place
from .recursion import QUANTITIES, Recursion, recursion, single
from .scalars.polynomial import Polynomial, TooLongError
from .scalars.scalars import (
    EXACT,
    Exact,
    converted,
    coordinates,
    exactly,
    model_symbols,
    symbolic_chain,
)
from .scalars.simplify import readable, tidy
from .show import html, joined, latex, line, lines, matrix_lines, text

if TYPE_CHECKING:
    from ..dynamics.formulations.observation import ObservationMatrix
    from .derivation.steps import Derivation
    from .kinematics.equations import KinematicEquations

STATE = ("q", "qd", "qdd")
WHAT = ("dynamics", "kinematics")
METHODS = ("lagrange-euler", "newton-euler", "gibbs-appell", "kane")
TERMS = {"M": 2, "C": 2, "g": 1, "tau": 1, "christoffel": 3, "friction": 1, "spring": 1, "load": 1}
ELASTIC = "elastic joints: motors th (motor angle / gear), torques e of their gears; links, motors"
TERM_BUDGET = 1_000_000  # products of terms spent on one single term: some ten seconds
SIMPLIFIED = 1_500  # terms up to which a single term is simplified
UNSIMPLIFIED = 100_000  # operations up to which a single term is written out at all


def equations(
    model: Model, method: str, gravity: str | None, what: str | None = None
) -> "Equations":
    """The equations of a model; `gravity` names a symbol that replaces the number 9.81.

    `what` is "dynamics" or "kinematics"; None is kinematics where nothing has a mass.
    """
    choice(method, "method", METHODS)
    if what is not None:
        choice(what, "what", WHAT)
    if what == "kinematics" or (what is None and massless(model)):
        from .kinematics.equations import KinematicEquations  # built on Equations

        return KinematicEquations(model, method, gravity)
    if model.closures:
        from .mechanism import MechanismEquations  # built on Equations

        return MechanismEquations(model, method, gravity)
    return Equations(model, method, gravity)


def _with_gravity(model: Model, name: Any) -> Model:
    """The model whose gravity has the symbol `name` as its size, wherever it is printed."""
    if not isinstance(name, str):
        raise OptionError(f"gravity is {shown(name)}, expected the name of a symbol")
    fixed = not any(isinstance(x, Expression) for x in model.gravity)
    taken = iskeyword(name) or name in (*CONSTANTS, *FUNCTIONS)
    if not fixed or taken or not name.isidentifier():
        raise OptionError(f"gravity of robot {model.name!r} cannot be called {name!r}")
    if name in (*model.symbols, *(str(x) for row in coordinates(model.n) for x in row)):
        raise OptionError(f"gravity cannot be called {name!r}: the robot has that symbol")
    sizes = [abs(x) for x in model.gravity if x != 0.0]
    if not sizes:
        return model
    total = " + ".join(f"{x!r}**2" for x in sizes)
    size = f"{name}/sqrt({total})" if len(sizes) > 1 else f"{name}/{sizes[0]!r}"
    direction = tuple(x and f"{x!r}*{size}" for x in model.gravity)
    values = {**model.values, name: math.hypot(*sizes)}
    return replace(model, gravity=direction, values=values)


@strict
class Equations:
    """Closed forms of a robot: .fk .jacobian, .M .C .g .tau, .christoffel, energies, one .term."""

    QUANTITIES: Sequence[str] = tuple(QUANTITIES)  # that have numbers and a recursion
    TERMS: Mapping[str, int] = TERMS  # that have entries, and how many indices these take

    def __init__(self, model: Model, method: str, gravity: str | None = None):
        self.model = model if gravity is None else _with_gravity(model, gravity)
        self.method, self.robot_name, self.n = method, model.name, model.n
        self.q, self.qd, self.qdd = (tuple(x) for x in coordinates(model.n))
        self.symbols = tuple(model_symbols(self.model).values())
        self.values = {sp.Symbol(k, real=True): v for k, v in self.model.values.items()}
        self.chain = symbolic_chain(self.model)
        unwritten = [x.name for x in EFFECTS if x.name not in TERMS and x.acts(self.chain)]
        if unwritten:
            raise OptionError(f"the {unwritten[0]}s of {model.name!r} are not written as equations")
        self._functions: dict[str, Callable[..., Any]] = {}  # of `evaluate`, once they are made

    # -- closed forms ---------------------------------------------------------------------------

    @cached_property
    def fk(self) -> sp.Matrix:
        """Pose of the tool, (4, 4)."""
        return self._kinematic(kinematics.fk)

    @cached_property
    def jacobian(self) -> "Jacobian":
        """J of (v, w) = J qd of the tool in the reference frame, linear rows first, (6, n).

        jacobian(link=, frame=, point=): that of a link or frame by name, of a point in its frame
        (in the tool's, without a link), in axes of the "base" or the "tool".
        """
        found = Jacobian(self._kinematic(kinematics.jacobian))
        found.equations = self
        return found

    def _jacobian_of(self, link: str | None, frame: str, point: Any) -> sp.Matrix:
        at = place(self.model, link, point, frame)
        values = {name: Exact(symbol) for name, symbol in model_symbols(self.model).items()}
        chosen = at.on(self.model, converted(self.chain, Exact), EXACT, values)
        return self._kinematic(kinematics.jacobian, frame=frame, **chosen)

    def _kinematic(self, algorithm: Callable[..., Any], **options: Any) -> sp.Matrix:
        rows = exactly(algorithm, self.chain, self.q, **options)
        return sp.Matrix([[tidy(x, self._groups) for x in row] for row in rows])

    @cached_property
    def kinematics(self) -> "KinematicEquations":
        """Kinematics derived: that of robot.equations(what="kinematics")."""
        from .kinematics.equations import KinematicEquations  # built on Equations

        return KinematicEquations(self.model, self.method)

    @cached_property
    def _groups(self) -> dict[Any, int]:
        return forms.parallel(self.chain)

    @cached_property
    def _closed(self) -> Closed | None:
        try:
            with stage(f"writing the equations of {self.robot_name} in closed form"):
                return forms.closed(self.chain, self.method)
        except TooLongError:
            return None

    @property
    def is_closed(self) -> bool:
        """Whether M, C, g and tau are closed forms; else they are in named intermediates."""
        return self._closed is not None

    def _written(self, p: Polynomial) -> Any:
        return readable(p, self._groups)

    @cached_property
    def M(self) -> sp.Matrix:
        """Mass matrix with the reflected rotors, (n, n)."""
        if self._closed is None:
            return self.recursion_of("M").matrix
        return sp.Matrix([[self._written(p) for p in row] for row in self._closed.M])

    @cached_property
    def christoffel(self) -> sp.ImmutableDenseNDimArray:
        """c_ijk of C_ij = sum_k c_ijk qd_k, (n, n, n)."""
        if self._closed is None:
            raise OptionError(
                f"the Christoffel symbols of {self.robot_name!r} are too long to write out",
                'ask for one of them: .term("christoffel", i, j, k)',
            )
        written = [[[self._written(p) for p in row] for row in rows] for rows in self._closed.c]
        return sp.ImmutableDenseNDimArray(written)

    @cached_property
    def C(self) -> sp.Matrix:
        """Coriolis matrix such that Mdot - 2C is skew, (n, n)."""
        if self._closed is None:
            return self.recursion_of("C").matrix
        rows = self._closed.c
        return sp.Matrix([[self._written(self._coriolis(x)) for x in row] for row in rows])

    def _coriolis(self, c: list[Polynomial]) -> Polynomial:
        pairs = zip(c, self.qd, strict=True)
        return sum((p * rate for p, rate in pairs), c[0].alphabet.of(0))

    @cached_property
    def g(self) -> sp.Matrix:
        """Gravity torque, (n, 1)."""
        if self._closed is None:
            return self.recursion_of("g").matrix
        return sp.Matrix([self._written(p) for p in self._closed.g])

    @cached_property
    def friction(self) -> sp.Matrix:
        """Friction torque, (n, 1), without what grows with the load: that is in tau."""
        return forms.friction_torque(self.chain)

    @cached_property
    def spring(self) -> sp.Matrix:
        """Torque against the springs, (n, 1)."""
        return forms.spring_torque(self.chain, self._groups)

    @cached_property
    def load(self) -> sp.Matrix:
        """Torque against loads of one's own, (n, 1)."""
        return forms.load_torque(self.chain)

    @cached_property
    def tau(self) -> sp.Matrix:
        """Torque, (n, 1): by accelerations, products of velocities, gravity, friction, springs."""
        if self._closed is None:
            return self.recursion.matrix
        return sp.Matrix([sp.Add(*self._parts(i)) for i in range(self.n)])

    def _parts(self, i: int) -> list[Any]:
        """Terms of tau_i in order."""
        assert self._closed is not None
        velocity = forms.velocity_torque(self._closed.c, i, list(self.qd), self._groups)
        inertial = [self.M[i, j] * self.qdd[j] for j in range(self.n)]
        rigid = [*inertial, *sp.Add.make_args(velocity), self.g[i]]
        return [*rigid, *self._forces(i, sp.Add(*rigid))]

    def _forces(self, i: int, rigid: Any) -> list[Any]:
        """Torques of all that acts on a rigid arm which takes `rigid`: friction, springs, loads."""
        held: list[Any] = [self.spring[i], self.load[i]]
        return [self.friction[i], *held, *self._loaded(i, sp.Add(rigid, *held))]

    def _loaded(self, i: int, carried: Any) -> list[Any]:
        """Friction of a joint that transmits `carried`: s |T|."""
        share = self._load_shares[i]
        return [share * sp.Abs(carried)] if share != 0 else []

    @cached_property
    def _load_shares(self) -> list[Any]:
        return forms.load_shares(self.chain)

    @cached_property
    def kinetic_energy(self) -> Any:
        """T(q, qd), reflected rotors included."""
        return self._energy("kinetic", "T = 1/2 qd^T M qd, with M from .recursion_of('M')")

    @cached_property
    def potential_energy(self) -> Any:
        """U(q), zero at the origin of the reference frame; and that of springs and loads."""
        weight = self._energy("potential", "its slopes are the gravity torques: .recursion_of('g')")
        return weight + forms.spring_energy(self.chain, self._groups) + self._load_energy

    @property
    def _load_energy(self) -> Any:
        return forms.load_energy(self.chain) if self.chain.loads else 0

    def _energy(self, kind: str, instead: str) -> Any:
        try:
            return forms.energy_form(self.chain, kind, self._groups)
        except TooLongError:
            raise OptionError(
                f"the {kind} energy of {self.robot_name!r} is too long to write out", instead
            ) from None

    @cached_property
    def observation_matrix(self) -> "ObservationMatrix":
        """W and Phi of tau = W Phi and the blocks of W, as SymPy matrices (document 003).

        .A .eta .B1 .delta .B2 .a .D .AB .W_l .W_f .W, .Phi_l .Phi_f .Phi with .names, and .G:
        those of `Robot.observation_matrix`.
        """
        from .blocks import observation_matrix

        return observation_matrix(self.model)

    # -- elastic joints -------------------------------------------------------------------------

    @cached_property
    def _elastic(self) -> ElasticForms:
        return elastic_forms(self.model, self.chain)

    @property
    def motor(self) -> tuple[Any, ...]:
        """Symbols th1, ... of the motors of elastic joints, in units of these."""
        return self._elastic.motor

    @property
    def motor_rate(self) -> tuple[Any, ...]:
        """Their rates thd1, ..."""
        return self._elastic.motor_rate

    @property
    def motor_acceleration(self) -> tuple[Any, ...]:
        """Their accelerations thdd1, ..."""
        return self._elastic.motor_acceleration

    @property
    def gear_torque(self) -> sp.Matrix:
        """e of every elastic joint over q, th, qd, thd, (m, 1)."""
        return sp.Matrix(self._elastic.gears)

    @cached_property
    def link_side(self) -> sp.Matrix:
        """Torque that moves the links, (n, 1): e of elastic joints, tau of rigid ones."""
        return self._links.tau

    @cached_property
    def _links(self) -> "Equations":
        return equations(link_side(self.model), self.method, None)

    @property
    def motor_side(self) -> sp.Matrix:
        """tau of the motors of elastic joints over th, thd, thdd and q, qd, (m, 1)."""
        letters = dict(zip(self._elastic.letters, self._elastic.gears, strict=True))
        return sp.Matrix([x.xreplace(letters) for x in self._elastic.motors])

    # -- arms of many joints --------------------------------------------------------------------

    @cached_property
    def recursion(self) -> Recursion:
        """tau with named intermediate variables: an ordered list of (symbol, expression)."""
        return recursion(self.chain, "tau", self.method)

    def recursion_of(self, what: str) -> Recursion:
        """The recursion of "M", "C", "g" or "tau" with named intermediate variables."""
        self._check_recursion(what)
        return self.recursion if what == "tau" else recursion(self.chain, what)

    def _check_recursion(self, what: str) -> None:
        one_of(what, self.QUANTITIES, f"there is no recursion of {shown(what)}")

    def term(self, name: str, *indices: int) -> Any:
        """One entry in closed form: term("M", 0, 1), term("g", 1), term("christoffel", 0, 1, 1).

        Above SIMPLIFIED terms it comes as it is, with a warning; above UNSIMPLIFIED operations it
        is refused, and the recursion is the way to go.
        """
        self._check_term(name, indices)
        if name in ("friction", "spring", "load"):
            return getattr(self, name)[indices[0]]
        if self._closed is not None:
            return getattr(self, name)[indices if indices[1:] else indices[0]]
        try:
            p = forms.single_term(self.chain, name, indices, TERM_BUDGET)
        except TooLongError:
            return self._unsimplified(name, indices)
        total = p.expression() if len(p) > SIMPLIFIED else self._written(p)
        if len(p) > SIMPLIFIED:
            warn(f"{_label(name, indices)} has {len(p)} terms: it is not simplified")
        if name != "tau":
            return total
        return sp.Add(total, *self._forces(indices[0], total))

    def _check_term(self, name: str, indices: tuple[int, ...]) -> None:
        choice(name, "term", self.TERMS)
        count = self.TERMS[name]
        if len(indices) != count or not all(is_whole(k) and 0 <= k < self.n for k in indices):
            raise OptionError(
                f"term {name!r} got indices {shown(indices)}, "
                f"expected {count} from 0 to {self.n - 1}"
            )

    def _unsimplified(self, name: str, indices: tuple[int, ...]) -> Any:
        i, j = (*indices, 0)[:2]
        known = name in QUANTITIES
        found = single(self.chain, name, i, j, UNSIMPLIFIED) if known else None
        if found is None:
            raise OptionError(
                f"{_label(name, indices)} of {self.robot_name!r} is too long to write out",
                "use .recursion, or .recursion_of('M') and so on",
            )
        warn(f"{_label(name, indices)} is too long to expand: it is not simplified")
        return found

    # -- numbers --------------------------------------------------------------------------------

    def evaluate(
        self, q: Any, qd: Any = None, qdd: Any = None, what: str = "tau", **values: float
    ) -> "np.ndarray":
        """Numbers from these equations: tau or g (..., n), M or C (..., n, n); None is zeros.

        Symbols take the model's values, unless given here by name.
        """
        choice(what, "what", self.QUANTITIES)
        given, n = self._given(values), self.n
        arrays = [
            as_batch(np.zeros(n) if x is None else x, name, (n,), repr(self))
            for name, x in zip(STATE, (q, qd, qdd), strict=True)
        ]
        batch = batch_shape(STATE, [x.shape[:-1] for x in arrays])
        joints = [np.broadcast_to(x[..., k], batch) for x in arrays for k in range(n)]
        if what not in self._functions:
            self._functions[what] = self._function(what)
        result = self._functions[what](*joints, *(given[s] for s in self.symbols))
        columns = [np.broadcast_to(np.asarray(x, float), batch) for x in result]
        stacked = np.stack(columns, axis=-1)
        return stacked.reshape(*batch, *self._shape(what))

    def _shape(self, what: str) -> tuple[int, ...]:
        return (self.n, self.n) if what in ("M", "C") else (self.n,)

    def _given(self, values: Mapping[str, float]) -> dict[Any, float]:
        names = [str(s) for s in self.symbols]
        known_options(values, names, f"robot {self.robot_name!r} has no symbol")
        told = {sp.Symbol(k, real=True): number(v, k) for k, v in values.items()}
        given = {**self.values, **told}
        missing = next((s for s in self.symbols if s not in given), None)
        if missing is not None:
            hint = f"evaluate(..., {missing}=1)"
            raise SymbolError(f"symbol {str(missing)!r} has no value", hint)
        return given

    def _function(self, what: str) -> Callable[..., Any]:
        arguments = [*self.q, *self.qd, *self.qdd, *self.symbols]
        if self.is_closed:
            return sp.lambdify(arguments, list(getattr(self, what)), "numpy", cse=True)
        return self.recursion_of(what).function(arguments)

    # -- shown ----------------------------------------------------------------------------------

    @property
    def steps(self) -> "Derivation":
        """The derivation step by step."""
        return self.derivation()

    def derivation(self, q: Any = None, qd: Any = None, qdd: Any = None) -> "Derivation":
        """The derivation with numbers beside the symbols, at one state; what is left out is 0."""
        from .derivation.steps import derivation

        if q is None and qd is None and qdd is None:
            return derivation(self.model, self.method)
        state = [[0.0] * self.n if x is None else x for x in (q, qd, qdd)]
        return derivation(self.model, self.method, state)

    @checked
    def html(self, path: str | Path, q: Any = None, qd: Any = None, qdd: Any = None) -> None:
        """Write the derivation as one self-contained page, with numbers if a state is given."""
        from .render.html import write_page

        write_page(self.derivation(q, qd, qdd), path)

    def latex(self) -> str:
        """The equations as an `aligned` block for math mode; `steps.latex()` is the derivation."""
        return latex(self)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def _repr_html_(self) -> str:
        return html(self)

    def _lines(self) -> list[tuple[str, str]]:
        """(left side, right side) of every equation, in LaTeX."""
        return lines(self)

    def __str__(self) -> str:
        besides = [name for name in ("spring", "load") if getattr(self.chain, f"{name}s")]
        added = " + ".join(("friction", *besides))
        head = f"{self.robot_name}, {self.method}: M(q) qdd + C(q, qd) qd + g(q) + {added} = tau"
        if not self.is_closed:
            return "\n\n".join([head, str(self.recursion), *self._elastic_text()])
        torques = [f"tau{i + 1} = {joined(self._parts(i))}" for i in range(self.n)]
        parts = [head, "\n".join(torques)]
        for name in ("M", "C", "g", "friction", *besides):
            parts.append("\n".join(matrix_lines(name, getattr(self, name))))
        parts.append(f"T = {text(self.kinetic_energy)}\nU = {text(self.potential_energy)}")
        return "\n\n".join([*parts, *self._elastic_text()])

    def _elastic_text(self) -> list[str]:
        """Gears, links and motors of elastic joints; those of a rigid arm are none."""
        if not self.chain.elastic:
            return []
        forms, lines = self._elastic, [ELASTIC]
        lines += [line(e, x) for e, x in zip(forms.letters, forms.gears, strict=True)]
        if not self._links.is_closed:
            lines.append("torques as above, without these motors, = e: .link_side")
        for i in range(self.n) if self._links.is_closed else ():
            left = forms.letters[forms.joints.index(i)] if i in forms.joints else f"tau{i + 1}"
            lines.append(f"{joined(self._links._parts(i))} = {left}")
        pairs = zip(forms.joints, forms.motors, strict=True)
        return ["\n".join([*lines, *(f"{text(x)} = tau{j + 1}" for j, x in pairs)])]

    def __repr__(self) -> str:
        return f"Equations({self.robot_name!r}, {self.method!r}, {counted(self.n, 'joint')})"


class Jacobian(sp.Matrix):
    """J of the tool, a SymPy matrix; called with a link, a point or axes, that of these."""

    equations: Equations | None = None

    @checked
    def __call__(
        self, link: str | None = None, frame: str = "base", point: Any = None
    ) -> sp.Matrix:
        """J of a link or frame by name, or of a point in its frame, linear rows first, (6, n)."""
        if self.equations is None:
            raise OptionError(
                "this matrix was computed from a Jacobian and has no robot",
                "call robot.equations().jacobian(link=..., point=...)",
            )
        return self.equations._jacobian_of(link, frame, point)


def _label(name: str, indices: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(str(k) for k in indices)}]"
