"""The kernels a robot offers: one row each, from name to algorithm, arguments and results.

Whatever runs, compiles, counts, prints or exports starts from this table. Algorithms are named, not
imported: code that comes from the cache needs none of them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import combinations
from typing import Any

from ..errors import ClosureError, OptionError, did_you_mean, shown
from ..model.chain import chain
from ..model.closure import refuse_closures
from ..model.model import Model
from ..model.parameters import chain_of, parameter_names
from ..spatial.inertia import NAMES as INERTIAL_NAMES

# sizes that depend on the robot; C are the conditions of its K closures, E what acts beside
# inertia, S and Q the rows and parameters of both sides of elastic gears, B ten parameters of every
# body
N, D, P, L, F, C, E = "n", "dof", "p", "links", "frames", "conditions", "effects"
K = "closures"
S, Q, B = "sides", "elastic parameters", "body parameters"
Shape = tuple[int | str, ...]
SIZES: Mapping[str, Shape] = {
    "wrench": (6,),
    "base_motion": (9,),
    "link_forces": (L, 6),
    "temperature": (N,),
    "seed": (D,),
    "qd_active": (D,),
    "qdd_active": (D,),
    "dt": (),
    "parameters": (P,),
}


OF_GEAR = 6  # parameters: friction of the motor, stiffness, damping, hardening
LIMIT = 30_000  # operations above which a matrix is compiled as the kernel of one column
OPTIMISE = ("speed", "operations", "nothing")

# names of the formulations, for those who ask before anything is computed
RECURSIONS = ("newton-euler", "newton-euler-base")  # carry a wrench and a moving base themselves
CLOSED = ("lagrange-euler", "gibbs-appell", "kane")
INVERSE_METHODS = (*RECURSIONS, *CLOSED)
MASS_MATRICES = ("walker-orin-1", "walker-orin-2", "walker-orin-3")
FORWARD_METHODS = (*MASS_MATRICES, "walker-orin-4", "articulated-body")


def _imported(name: str) -> Callable[..., Any]:
    """A function of this package: "module:function"."""
    module, function = name.split(":")
    return getattr(import_module(f"dynamis.{module}"), function)


@dataclass(frozen=True)
class Kernel:
    """One function of a robot, with all that is particular to it.

    `algorithm` is "module:function": a scalar-generic function(chain, *inputs, fn=...), the last
    `keywords` inputs given by name; or, if `differentiate`, one over CasADi columns. Arguments are
    joint vectors unless SIZES says otherwise.

    A matrix grows with the square of the number of joints. Where it would be more than LIMIT
    operations, the kernel of one `column` runs once per column instead, with a seed as its last
    argument: a unit vector "seed" or, where a column belongs to a parameter, unit parameters.
    """

    name: str
    algorithm: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, Shape]
    keywords: int = 0
    method: str = ""  # of Robot, where it has not the kernel's name
    internal: bool = False  # serves other kernels, not a method of its own
    optional: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments that may be given besides, each with the fields that differ then."""
    formulations: tuple[str, ...] = ()  # that may be asked for
    cheapest: bool = False  # unasked, the formulation with the fewest operations is compiled
    solves: bool = False  # divides by the mass matrix: NaN where that is singular, which is refused
    open_only: bool = False  # there is no such thing of closed mechanisms
    loops: bool = False  # of closed mechanisms only
    elastic: bool = False  # depends on the elastic gears, which others leave out
    refuses: str = ""  # "module:function" that raises where a model has no answer
    differentiate: bool = False
    reducible: bool = False  # sees the bodies only through torques: inertias may be regrouped
    growth: float = 0.0  # operations per squared number of joints, rounded up from 6 to 16 joints
    branching: bool = False  # a row holds what a joint carries: trees take fewer operations
    column: "Kernel | None" = None
    optimise: str = "speed"  # or "operations" (sines and cosines free), or "nothing"
    options: Mapping[str, Any] = field(default_factory=dict)

    def function(self) -> Callable[..., Any]:
        """The algorithm with its options filled in: function(chain, *inputs, fn=...)."""
        plain = len(self.inputs) - self.keywords

        def call(chain: Any, *values: Any, **fn: Any) -> Any:
            self.refuse(bool(chain.closures))
            algorithm = _imported(self.algorithm)
            named = dict(zip(self.inputs[plain:], values[plain:], strict=True))
            return algorithm(chain, *values[:plain], **named, **self.options, **fn)

        return call

    def check(self, model: Model) -> None:
        """Raise where a model has no answer."""
        if self.refuses:
            _imported(self.refuses)(model)

    def serves(self, closed: bool) -> bool:
        """Whether there is such a thing of mechanisms with closures, or of arms without."""
        return not (self.open_only if closed else self.loops)

    def refuse(self, closed: bool) -> None:
        """Say that there is no such thing of a robot."""
        if self.serves(closed):
            return
        name = self.name.replace(":", " with ")
        refuse_closures(closed, name)
        raise OptionError(f"{name} is for mechanisms with closures, and this robot has none")

    @property
    def key(self) -> str:
        """Name and options as text: what distinguishes it from the other kernels of a robot."""
        options = "".join(f" {k}={v!r}" for k, v in sorted(self.options.items()))
        return f"{self.name}({', '.join(self.inputs)}){options} for {self.optimise}"

    def taking(self, *extra: str) -> "Kernel":
        """The row with optional arguments, made when it is first asked for."""
        return _row(":".join((self.name, *(x for x in self.optional if x in extra))))

    def with_optional(self, extra: Sequence[str]) -> "Kernel":
        """The row with optional arguments in their order."""
        different = {key: x for name in extra for key, x in self.optional[name].items()}
        return replace(
            self, name=":".join((self.name, *extra)), method=self.name,
            inputs=(*self.inputs, *extra), keywords=len(extra), **different,
        )  # fmt: skip

    def too_large(self, model: Model) -> bool:
        """Whether it would be too much straight-line code for a robot."""
        large = self.growth * model.n**2 > LIMIT
        if large and self.branching and not model.closures:
            return self.growth * sum(2 * depth - 1 for depth in model.depths) > LIMIT
        return large

    def by_columns(self, model: Model) -> "Kernel | None":
        """The kernel that gives one column, where the whole is too large."""
        return self.column if self.too_large(model) else None

    def rows(self) -> "Iterator[Kernel]":
        """The row and those that belong to it: with optional arguments, and of one column."""
        yield self
        for count in range(1, len(self.optional) + 1):
            yield from (self.taking(*extra) for extra in combinations(self.optional, count))
        if self.column is not None:
            yield self.column


STATE = ("q", "qd", "qdd")
TORQUE = ("q", "qd", "tau")
_TAU, _QDD = ("dtau_dq", "dtau_dqd", "dtau_dqdd"), ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")
VECTOR, MOVING = (N,), (D,)
WRENCH, BASE_MOTION, FORCES, QD_REF = "wrench", "base_motion", "link_forces", "qd_ref"
TEMPERATURE, PRELOAD = "temperature", "preload"


def _any_of(*names: str) -> dict[str, Mapping[str, Any]]:
    """Optional arguments with which nothing else differs."""
    return {name: {} for name in names}


def _of_bodies(
    algorithm: str, inputs: tuple[str, ...], outputs: Mapping[str, Shape], **different: Any
) -> Kernel:
    """A row of torques of the bodies, under the name of its algorithm."""
    name = algorithm.partition(":")[2]
    return Kernel(name, algorithm, inputs, outputs, reducible=True, **different)


def _column(
    matrix: str,
    algorithm: str,
    inputs: tuple[str, ...],
    columns: tuple[str, ...] = ("column",),
    **different: Any,
) -> Kernel:
    """The internal row that gives one column of a matrix: a unit vector is its last argument."""
    outputs = dict.fromkeys(columns, MOVING)
    return Kernel(
        f"{matrix}:column", algorithm, (*inputs, "seed"), outputs, internal=True, reducible=True,
        **different,
    )  # fmt: skip


def _of_loops(
    algorithm: str,
    inputs: tuple[str, ...],
    outputs: Mapping[str, Shape],
    reducible: bool = True,
    **different: Any,
) -> Kernel:
    """A row of mechanisms with closures only, under the name of its algorithm."""
    name = algorithm.partition(":")[2]
    return Kernel(name, algorithm, inputs, outputs, reducible=reducible, loops=True, **different)


INVERSE_DYNAMICS = _of_bodies(
    "dynamics.projected:inverse_dynamics",
    STATE,
    {"tau": VECTOR},
    optional=_any_of(WRENCH, BASE_MOTION, FORCES, TEMPERATURE) | {PRELOAD: {"loops": True}},
    formulations=INVERSE_METHODS,
)
TWO_VELOCITY = Kernel(
    "two_velocity",
    "dynamics.coriolis:two_velocity_torque",
    (*STATE, QD_REF),
    {"tau": VECTOR},
    internal=True,
    reducible=True,
    open_only=True,
)
MASS_COLUMN = _column("mass_matrix", "dynamics.projected:mass_times", ("q",))
CORIOLIS_COLUMN = _column(
    "coriolis_matrix",
    "dynamics.projected:coriolis_times",
    ("q", "qd"),
)
DERIVATIVES_COLUMN = _column(
    "inverse_dynamics_derivatives",
    "compile.programs:inverse_along",
    STATE,
    _TAU,
    differentiate=True,
)
PUSHED_COLUMN = replace(
    DERIVATIVES_COLUMN,
    name="inverse_dynamics_derivatives:wrench:column",
    inputs=(*STATE, WRENCH, "seed"),
    keywords=2,
)

ROWS = (
    Kernel("fk", "dynamics.kinematics:fk", ("q",), {"T": (4, 4)}),
    Kernel("frames", "dynamics.kinematics:frames", ("q",), {"T": (F, 4, 4)}),
    Kernel("jacobian", "dynamics.kinematics:jacobian", ("q",), {"J": (6, N)}),
    Kernel("jacobian_dot", "dynamics.kinematics:jacobian_dot", ("q", "qd"), {"Jd": (6, N)}),
    INVERSE_DYNAMICS,
    _of_bodies(
        "dynamics.projected:forward_dynamics",
        TORQUE,
        {"qdd": VECTOR},
        optional=_any_of(WRENCH, BASE_MOTION, FORCES, TEMPERATURE),
        formulations=FORWARD_METHODS,
        cheapest=True,
        solves=True,
    ),
    _of_bodies(
        "dynamics.projected:mass_matrix",
        ("q",),
        {"M": (D, D)},
        growth=11,
        column=MASS_COLUMN,
    ),
    _of_bodies(
        "dynamics.projected:coriolis_matrix",
        ("q", "qd"),
        {"C": (D, D)},
        growth=130,
        column=CORIOLIS_COLUMN,
    ),
    _of_bodies("dynamics.projected:gravity_torque", ("q",), {"g": MOVING}),
    Kernel(
        "friction_torque",
        "dynamics.elements.friction:friction_torque",
        ("qd",),
        {"tau": VECTOR},
        optional=_any_of(TEMPERATURE),
    ),
    Kernel("load_shares", "dynamics.elements.friction:load_shares", ("qd",), {"s": VECTOR}),
    _of_bodies("dynamics.projected:load_friction", STATE, {"tau": VECTOR}),
    Kernel("spring_torque", "dynamics.elements.springs:spring_torque", ("q",), {"tau": VECTOR}),
    Kernel("load_torque", "dynamics.elements.loads:load_torque", ("q", "qd"), {"tau": VECTOR}),
    Kernel(
        "effect_torques",
        "dynamics.elements:effect_torques",
        ("q", "qd"),
        {"tau": (E, N)},
        internal=True,
    ),
    Kernel("kinetic_energy", "dynamics.energy:kinetic_energy", ("q", "qd"), {"T": ()}),
    Kernel("potential_energy", "dynamics.energy:potential_energy", ("q",), {"U": ()}),
    Kernel("momentum", "dynamics.energy:spatial_momentum", ("q", "qd"), {"P": (6,)}),
    Kernel("centroidal_momentum", "dynamics.energy:centroidal_momentum", ("q", "qd"), {"P": (6,)}),
    Kernel("com", "dynamics.energy:com", ("q",), {"c": (3,)}),
    Kernel("com_jacobian", "dynamics.energy:com_jacobian", ("q",), {"J": (3, N)}),
    _of_bodies("dynamics.projected:motor_torque", STATE, {"tau": VECTOR}),
    Kernel(
        "regressor",
        "dynamics.projected:regressor",
        STATE,
        {"Y": (N, P)},
        optional={
            QD_REF: {"growth": 100, "column": TWO_VELOCITY},
            BASE_MOTION: {"column": INVERSE_DYNAMICS.with_optional((BASE_MOTION,))},
        },
        growth=60,
        branching=True,
        column=INVERSE_DYNAMICS,
    ),
    Kernel(
        "gibbs_appell",
        "dynamics.gibbs_appell:coordinate_matrix",
        STATE,
        {"W": (N, B)},
        internal=True,
        growth=60,
        branching=True,
    ),
    _of_bodies(
        "dynamics.elastic_inverse:elastic_inverse_dynamics",
        (*STATE, "qddd", "qdddd"),
        {"tau": VECTOR, "motor": VECTOR, "motor_rate": VECTOR},
        elastic=True,
        refuses="dynamics.elastic_inverse:refuse_undetermined",
    ),
    Kernel(
        "elastic_regressor",
        "dynamics.elastic_regressor:elastic_regressor",
        (*STATE, "motor", "motor_rate", "motor_acceleration"),
        {"Y": (S, Q)},
        elastic=True,
        open_only=True,
    ),
    _of_bodies("dynamics.projected:pivots", ("q",), {"D": MOVING}, internal=True),
    TWO_VELOCITY,
    Kernel(
        "step",
        "simulation.smooth:step",
        (*TORQUE, "dt"),
        {"q_next": VECTOR, "qd_next": VECTOR},
        optional=_any_of(WRENCH),
        internal=True,
        reducible=True,
        open_only=True,
        refuses="simulation.smooth:refuse_more_states",
    ),
    _of_loops("dynamics.closures:closure_error", ("q",), {"e": (C,)}),
    _of_loops("dynamics.closures:closure_jacobian", ("q",), {"J": (C, N)}),
    _of_bodies("dynamics.projected:closure_status", ("q",), {"status": ()}),
    _of_loops(
        "dynamics.drive_coordinates:closing_step",
        ("q", "qd_active"),
        {"q_next": VECTOR, "qd": VECTOR, "e": (C,), "status": ()},
        internal=True,
    ),
    _of_bodies("dynamics.projected:joint_rates", ("q", "qd_active"), {"qd": VECTOR}),
    _of_bodies(
        "dynamics.projected:joint_accelerations", ("q", "qd", "qdd_active"), {"qdd": VECTOR}
    ),
    Kernel("drive_jacobian", "dynamics.projected:drive_jacobian", ("q",), {"J": (6, D)}),
    _of_loops(
        "dynamics.projected:constraint_forces",
        STATE,
        {"f": (C,)},
        reducible=False,
        optional=_any_of(WRENCH, BASE_MOTION, FORCES),
    ),
    _of_loops(
        "dynamics.projected:closure_reactions",
        STATE,
        {"w": (K, 6)},
        reducible=False,
        optional=_any_of(WRENCH, BASE_MOTION, FORCES),
    ),
    Kernel(
        "joint_reactions",
        "dynamics.projected:joint_reactions",
        STATE,
        {"w": (L, 6)},
        optional=_any_of(WRENCH, BASE_MOTION, FORCES),
    ),
    Kernel(
        "inverse_dynamics_derivatives",
        "compile.programs:inverse",
        STATE,
        dict.fromkeys(_TAU, (D, D)),
        optional={WRENCH: {"column": PUSHED_COLUMN}},
        differentiate=True,
        reducible=True,
        growth=150,
        column=DERIVATIVES_COLUMN,
    ),
    PUSHED_COLUMN,
    Kernel(
        "forward_dynamics_derivatives",
        "compile.programs:forward",
        TORQUE,
        dict.fromkeys(_QDD, (D, D)),
        optional=_any_of(WRENCH),
        solves=True,
        differentiate=True,
        reducible=True,
        growth=250,
    ),
)
KERNELS: Mapping[str, Kernel] = {  # without optional arguments: see `kernel_named`
    row.name: row for given in ROWS for row in (given, given.column) if row is not None
}


@cache
def _row(name: str) -> Kernel:
    """The row of a name, such as "inverse_dynamics:wrench:temperature"."""
    own = KERNELS.get(name)
    if own is not None:
        return own
    first, *extra = name.split(":")
    return KERNELS[first].with_optional(extra)


def kernel_named(name: str) -> Kernel:
    """A row by name, optional arguments behind colons; unknown ones are answered with those there.

    A row has one name: optional arguments come in their order.
    """
    if isinstance(name, str):
        first, *extra = name.split(":")
        own = KERNELS.get(first)
        if name in KERNELS or (own and extra == [x for x in own.optional if x in extra]):
            return _row(name)
    listed = [k for k, row in KERNELS.items() if not row.internal]
    raise OptionError(f"kernel {shown(name)} does not exist", did_you_mean(name, listed))


def row_taking(name: str, given: Collection[str]) -> Kernel:
    """The row of a kernel whose arguments are those given; "parameters" may be among them."""
    own, names = kernel_named(name), {*given} - {"parameters"}
    extra = names - {*own.inputs}
    if not names >= {*own.inputs} or not extra <= {*own.optional}:
        perhaps = ", ".join((*sorted(own.optional), "parameters"))
        raise OptionError(
            f"kernel {own.name!r} got {', '.join(map(str, given)) or 'nothing'}, expected "
            f"{', '.join(own.inputs)} and perhaps {perhaps}"
        )
    return own.taking(*extra)


def shape_of(shape: Shape, model: Model) -> tuple[int, ...]:
    """A shape with the robot's sizes filled in."""
    links = len(model.links)
    sizes = {
        N: lambda: model.n,
        D: lambda: degrees_of_freedom(model),
        C: lambda: len(model.closure_rows),
        K: lambda: len(model.closures),
        P: lambda: len(parameter_names(model)),
        L: lambda: links,
        F: lambda: links + 1,
        E: _effects,
        B: lambda: len(INERTIAL_NAMES) * len(chain_of(model).bodies),
        S: lambda: model.n + model.elastic_count,
        Q: lambda: len(parameter_names(model)) + OF_GEAR * model.elastic_count,
    }
    return tuple(s if isinstance(s, int) else sizes[s]() for s in shape)


def _effects() -> int:
    """Number of kinds of forces beside inertia and weight."""
    from ..dynamics.elements import EFFECTS

    return len(EFFECTS)


def degrees_of_freedom(model: Model) -> int:
    """Coordinates that decide all others: of an arm without closures all of them."""
    if not model.closures:
        return model.n
    found = chain(model).mobility
    assert found is not None
    if found.reason:
        raise ClosureError(f"robot {model.name!r} cannot be computed: {found.reason}")
    return len(found.independent)


def input_shape(name: str, model: Model) -> tuple[int, ...]:
    """Shape of one sample of an argument."""
    return shape_of(SIZES.get(name, VECTOR), model)
