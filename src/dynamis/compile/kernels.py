"""The kernels a robot offers: one row each, from name to algorithm, arguments and results.

Whatever runs, compiles, counts, prints or exports starts from this table. Algorithms are named, not
imported: code that comes from the cache needs none of them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import combinations
from typing import Any

from ..arguments import is_word
from ..errors import OptionError, did_you_mean, shown
from ..model.model import Model
from ..model.parameters import parameter_names

N, P, L, F = "n", "p", "links", "frames"  # sizes that depend on the robot
Shape = tuple[int | str, ...]
SIZES: Mapping[str, Shape] = {
    "wrench": (6,),
    "base_motion": (9,),
    "link_forces": (L, 6),
    "temperature": (N,),
    "dt": (),
    "parameters": (P,),
}


LIMIT = 30_000  # operations above which a matrix is compiled as the kernel of one column
OPTIMISE = ("speed", "operations", "nothing")

# names of the formulations, for those who ask before anything is computed
RECURSIONS = ("newton-euler", "newton-euler-base")  # carry a wrench and a moving base themselves
CLOSED = ("lagrange-euler", "gibbs-appell")
INVERSE_METHODS = (*RECURSIONS, *CLOSED)
MASS_MATRICES = ("walker-orin-1", "walker-orin-2", "walker-orin-3")
FORWARD_METHODS = (*MASS_MATRICES, "walker-orin-4", "articulated-body")


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
    further: Mapping[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    """Arguments that may be given besides, and the fields that differ then."""
    formulations: tuple[str, ...] = ()  # that may be asked for
    cheapest: bool = False  # unasked, the formulation with the fewest operations is compiled
    solves: bool = False  # divides by the mass matrix: NaN where that is singular, which is refused
    differentiate: bool = False
    reducible: bool = False  # sees the bodies only through torques: inertias may be regrouped
    growth: float = 0.0  # operations per squared number of joints, rounded up from 6 to 16 joints
    column: "Kernel | None" = None
    optimise: str = "speed"  # or "operations" (sines and cosines free), or "nothing"
    options: Mapping[str, Any] = field(default_factory=dict)

    def function(self) -> Callable[..., Any]:
        """The algorithm with its options filled in: function(chain, *inputs, fn=...)."""
        module, name = self.algorithm.split(":")
        algorithm = getattr(import_module(f"dynamis.{module}"), name)
        plain = len(self.inputs) - self.keywords

        def call(chain: Any, *values: Any, **fn: Any) -> Any:
            named = dict(zip(self.inputs[plain:], values[plain:], strict=True))
            return algorithm(chain, *values[:plain], **named, **self.options, **fn)

        return call

    @property
    def key(self) -> str:
        """Name and options as text: what distinguishes it from the other kernels of a robot."""
        options = "".join(f" {k}={v!r}" for k, v in sorted(self.options.items()))
        return f"{self.name}({', '.join(self.inputs)}){options} for {self.optimise}"

    def taking(self, *extra: str) -> "Kernel":
        """The row with further arguments."""
        return KERNELS[":".join((self.name, *extra))]

    def too_large(self, joints: int) -> bool:
        """Whether it would be too much straight-line code for a robot."""
        return self.growth * joints**2 > LIMIT

    def by_columns(self, joints: int) -> "Kernel | None":
        """The kernel that gives one column, where the whole is too large."""
        return self.column if self.too_large(joints) else None

    def rows(self) -> "Iterator[Kernel]":
        """The row and those that belong to it: with further arguments, and of one column."""
        yield self
        for extra, different in self.further.items():
            yield replace(
                self,
                name=":".join((self.name, *extra)),
                method=self.name,
                inputs=(*self.inputs, *extra),
                keywords=len(extra),
                **different,
            )
        if self.column is not None:
            yield self.column


STATE = ("q", "qd", "qdd")
TORQUE = ("q", "qd", "tau")
_TAU, _QDD = ("dtau_dq", "dtau_dqd", "dtau_dqdd"), ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")
SQUARE, VECTOR = (N, N), (N,)
WRENCH, BASE_MOTION, FORCES, QD_REF = "wrench", "base_motion", "link_forces", "qd_ref"
TEMPERATURE = "temperature"


def _any_of(*names: str) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """Further arguments of which each may be given or not."""
    some = (combinations(names, k) for k in range(1, len(names) + 1))
    return {chosen: {} for group in some for chosen in group}


INVERSE_DYNAMICS = Kernel(
    "inverse_dynamics",
    "dynamics.equation:inverse_dynamics",
    STATE,
    {"tau": VECTOR},
    further=_any_of(WRENCH, BASE_MOTION, FORCES, TEMPERATURE),
    formulations=INVERSE_METHODS,
    reducible=True,
)
TWO_VELOCITY = Kernel(
    "two_velocity",
    "dynamics.coriolis:two_velocity_torque",
    (*STATE, QD_REF),
    {"tau": VECTOR},
    internal=True,
    reducible=True,
)
MASS_COLUMN = Kernel(
    "mass_matrix:column",
    "dynamics.equation:mass_times",
    ("q", "seed"),
    {"column": VECTOR},
    internal=True,
    reducible=True,
)
CORIOLIS_COLUMN = Kernel(
    "coriolis_matrix:column",
    "dynamics.coriolis:coriolis_times",
    ("q", "qd", "seed"),
    {"column": VECTOR},
    internal=True,
    reducible=True,
)
DERIVATIVES_COLUMN = Kernel(
    "inverse_dynamics_derivatives:column",
    "compile.programs:inverse_along",
    (*STATE, "seed"),
    dict.fromkeys(_TAU, VECTOR),
    internal=True,
    differentiate=True,
    reducible=True,
)

ROWS = (
    Kernel("fk", "dynamics.kinematics:fk", ("q",), {"T": (4, 4)}),
    Kernel("frames", "dynamics.kinematics:frames", ("q",), {"T": (F, 4, 4)}),
    Kernel("jacobian", "dynamics.kinematics:jacobian", ("q",), {"J": (6, N)}),
    Kernel("jacobian_dot", "dynamics.kinematics:jacobian_dot", ("q", "qd"), {"Jd": (6, N)}),
    INVERSE_DYNAMICS,
    Kernel(
        "forward_dynamics",
        "dynamics.equation:forward_dynamics",
        TORQUE,
        {"qdd": VECTOR},
        further=_any_of(WRENCH, FORCES, TEMPERATURE),
        formulations=FORWARD_METHODS,
        cheapest=True,
        solves=True,
        reducible=True,
    ),
    Kernel(
        "mass_matrix",
        "dynamics.equation:mass_matrix",
        ("q",),
        {"M": SQUARE},
        reducible=True,
        growth=11,
        column=MASS_COLUMN,
    ),
    Kernel(
        "coriolis_matrix",
        "dynamics.coriolis:coriolis_matrix",
        ("q", "qd"),
        {"C": SQUARE},
        reducible=True,
        growth=130,
        column=CORIOLIS_COLUMN,
    ),
    Kernel(
        "gravity_torque",
        "dynamics.equation:gravity_torque",
        ("q",),
        {"g": VECTOR},
        reducible=True,
    ),
    Kernel(
        "friction_torque",
        "dynamics.friction:friction_torque",
        ("qd",),
        {"tau": VECTOR},
        further=_any_of(TEMPERATURE),
    ),
    Kernel("load_shares", "dynamics.friction:load_shares", ("qd",), {"s": VECTOR}),
    Kernel(
        "load_friction",
        "dynamics.equation:load_friction",
        STATE,
        {"tau": VECTOR},
        reducible=True,
    ),
    Kernel("spring_torque", "dynamics.springs:spring_torque", ("q",), {"tau": VECTOR}),
    Kernel("load_torque", "dynamics.loads:load_torque", ("q", "qd"), {"tau": VECTOR}),
    Kernel("kinetic_energy", "dynamics.energy:kinetic_energy", ("q", "qd"), {"T": ()}),
    Kernel("potential_energy", "dynamics.energy:potential_energy", ("q",), {"U": ()}),
    Kernel("momentum", "dynamics.energy:spatial_momentum", ("q", "qd"), {"P": (6,)}),
    Kernel("centroidal_momentum", "dynamics.energy:centroidal_momentum", ("q", "qd"), {"P": (6,)}),
    Kernel("com", "dynamics.energy:com", ("q",), {"c": (3,)}),
    Kernel("com_jacobian", "dynamics.energy:com_jacobian", ("q",), {"J": (3, N)}),
    Kernel(
        "motor_torque",
        "dynamics.equation:motor_torque",
        STATE,
        {"tau": VECTOR},
        reducible=True,
    ),
    Kernel(
        "regressor",
        "dynamics.regressor:regressor",
        STATE,
        {"Y": (N, P)},
        further={(QD_REF,): {"growth": 100, "column": TWO_VELOCITY}},
        growth=60,
        column=INVERSE_DYNAMICS,
    ),
    Kernel(
        "pivots",
        "dynamics.equation:pivots",
        ("q",),
        {"D": VECTOR},
        internal=True,
        reducible=True,
    ),
    TWO_VELOCITY,
    Kernel(
        "step",
        "simulation.smooth:step",
        (*TORQUE, "dt"),
        {"q_next": VECTOR, "qd_next": VECTOR},
        internal=True,
        reducible=True,
    ),
    Kernel(
        "inverse_dynamics_derivatives",
        "compile.programs:inverse",
        STATE,
        dict.fromkeys(_TAU, SQUARE),
        differentiate=True,
        reducible=True,
        growth=150,
        column=DERIVATIVES_COLUMN,
    ),
    Kernel(
        "forward_dynamics_derivatives",
        "compile.programs:forward",
        TORQUE,
        dict.fromkeys(_QDD, SQUARE),
        solves=True,
        differentiate=True,
        reducible=True,
        growth=250,
    ),
)
KERNELS: Mapping[str, Kernel] = {row.name: row for given in ROWS for row in given.rows()}


def kernel_named(name: str) -> Kernel:
    """A row of the table; unknown names are answered with those that exist."""
    if not is_word(name, KERNELS):
        listed = [k for k, row in KERNELS.items() if not (row.method or row.internal)]
        raise OptionError(f"kernel {shown(name)} does not exist", did_you_mean(name, listed))
    return KERNELS[name]


def shape_of(shape: Shape, model: Model) -> tuple[int, ...]:
    """A shape with the robot's sizes filled in."""
    links = len(model.links)
    sizes = {
        N: lambda: model.n,
        P: lambda: len(parameter_names(model)),
        L: lambda: links,
        F: lambda: links + 1,
    }
    return tuple(s if isinstance(s, int) else sizes[s]() for s in shape)


def input_shape(name: str, model: Model) -> tuple[int, ...]:
    """Shape of one sample of an argument."""
    return shape_of(SIZES.get(name, VECTOR), model)
