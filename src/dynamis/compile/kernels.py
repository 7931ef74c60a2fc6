"""The kernels a robot offers: one row each, from name to algorithm, arguments and results.

Whatever runs, compiles, counts, prints or exports starts from this table. Algorithms are named, not
imported: code that comes from the cache needs none of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ..arguments import is_word
from ..errors import OptionError, did_you_mean, shown
from ..model.model import Model
from ..model.parameters import parameter_names

N, P, L = "n", "p", "links"  # sizes that depend on the robot
Shape = tuple[int | str, ...]
SIZES: Mapping[str, Shape] = {"wrench": (6,), "base_motion": (9,), "parameters": (P,)}


@dataclass(frozen=True)
class Kernel:
    """One function of a robot.

    `algorithm` is "module:function": a scalar-generic function(chain, *inputs, fn=...), the last
    `keywords` inputs given by name; or, if `differentiate`, one over CasADi columns. Arguments are
    joint vectors unless SIZES says otherwise.
    """

    name: str
    algorithm: str
    inputs: tuple[str, ...]
    outputs: Mapping[str, Shape]
    keywords: int = 0
    differentiate: bool = False
    reducible: bool = False  # depends on the inertias only through the torques
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


STATE = ("q", "qd", "qdd")
TORQUE = ("q", "qd", "tau")
_TAU, _QDD = ("dtau_dq", "dtau_dqd", "dtau_dqdd"), ("dqdd_dq", "dqdd_dqd", "dqdd_dtau")
SQUARE, VECTOR = (N, N), (N,)
INTERNAL = ("link_pose", "pivots", "two_velocity")
OPTIMISE = ("speed", "operations", "nothing")

ROWS = (
    Kernel("fk", "dynamics.kinematics:fk", ("q",), {"T": (4, 4)}),
    Kernel("link_pose", "dynamics.kinematics:link_pose", ("q",), {"T": (4, 4)}),
    Kernel("frames", "dynamics.kinematics:frames", ("q",), {"T": (L, 4, 4)}),
    Kernel("jacobian", "dynamics.kinematics:jacobian", ("q",), {"J": (6, N)}),
    Kernel("jacobian_dot", "dynamics.kinematics:jacobian_dot", ("q", "qd"), {"Jd": (6, N)}),
    Kernel("inverse_dynamics", "dynamics.equation:inverse_dynamics", STATE, {"tau": VECTOR}),
    Kernel("forward_dynamics", "dynamics.equation:forward_dynamics", TORQUE, {"qdd": VECTOR}),
    Kernel("mass_matrix", "dynamics.equation:mass_matrix", ("q",), {"M": SQUARE}),
    Kernel("coriolis_matrix", "dynamics.coriolis:coriolis_matrix", ("q", "qd"), {"C": SQUARE}),
    Kernel("gravity_torque", "dynamics.equation:gravity_torque", ("q",), {"g": VECTOR}),
    Kernel("friction_torque", "dynamics.friction:friction_torque", ("qd",), {"tau": VECTOR}),
    Kernel("kinetic_energy", "dynamics.energy:kinetic_energy", ("q", "qd"), {"T": ()}),
    Kernel("potential_energy", "dynamics.energy:potential_energy", ("q",), {"U": ()}),
    Kernel("momentum", "dynamics.energy:spatial_momentum", ("q", "qd"), {"P": (6,)}),
    Kernel("motor_torque", "dynamics.equation:motor_torque", STATE, {"tau": VECTOR}),
    Kernel("regressor", "dynamics.regressor:regressor", STATE, {"Y": (N, P)}),
    Kernel("pivots", "dynamics.equation:pivots", ("q",), {"D": VECTOR}),
    Kernel(
        "two_velocity",
        "dynamics.coriolis:two_velocity_torque",
        (*STATE, "qd_ref"),
        {"tau": VECTOR},
    ),
    Kernel("mass_matrix:column", "dynamics.equation:mass_times", ("q", "seed"), {"column": VECTOR}),
    Kernel(
        "coriolis_matrix:column",
        "dynamics.coriolis:coriolis_times",
        ("q", "qd", "seed"),
        {"column": VECTOR},
    ),
    Kernel(
        "inverse_dynamics_derivatives",
        "compile.programs:inverse",
        STATE,
        dict.fromkeys(_TAU, SQUARE),
        differentiate=True,
    ),
    Kernel(
        "inverse_dynamics_derivatives:column",
        "compile.programs:inverse_along",
        (*STATE, "seed"),
        dict.fromkeys(_TAU, VECTOR),
        differentiate=True,
    ),
    Kernel(
        "forward_dynamics_derivatives",
        "compile.programs:forward",
        TORQUE,
        dict.fromkeys(_QDD, SQUARE),
        differentiate=True,
    ),
)
# kernels that see the bodies only through torques, so that inertias may be regrouped
REDUCIBLE = frozenset({
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix", "gravity_torque",
    "motor_torque", "pivots", "two_velocity", "mass_matrix:column", "coriolis_matrix:column",
    "inverse_dynamics_derivatives", "inverse_dynamics_derivatives:column",
    "forward_dynamics_derivatives",
})  # fmt: skip
# kernels that take further arguments: the name says which
FURTHER = (
    ("inverse_dynamics", ("wrench",)),
    ("inverse_dynamics", ("base_motion",)),
    ("inverse_dynamics", ("wrench", "base_motion")),
    ("forward_dynamics", ("wrench",)),
    ("regressor", ("qd_ref",)),
)


def _table() -> dict[str, Kernel]:
    table = {row.name: replace(row, reducible=row.name in REDUCIBLE) for row in ROWS}
    for name, extra in FURTHER:
        row, full = table[name], ":".join((name, *extra))
        inputs = (*row.inputs, *extra)
        table[full] = replace(row, name=full, inputs=inputs, keywords=len(extra))
    return table


KERNELS: Mapping[str, Kernel] = _table()


def kernel_named(name: str) -> Kernel:
    """A row of the table; unknown names are answered with those that exist."""
    if not is_word(name, KERNELS):
        listed = [k for k in KERNELS if ":" not in k and k not in INTERNAL]
        raise OptionError(f"kernel {shown(name)} does not exist", did_you_mean(name, listed))
    return KERNELS[name]


def shape_of(shape: Shape, model: Model) -> tuple[int, ...]:
    """A shape with the robot's sizes filled in."""
    links = len(model.links)
    sizes = {N: lambda: model.n, P: lambda: len(parameter_names(model)), L: lambda: links + 1}
    return tuple(s if isinstance(s, int) else sizes[s]() for s in shape)


def input_shape(name: str, model: Model) -> tuple[int, ...]:
    """Shape of one sample of an argument."""
    return shape_of(SIZES.get(name, VECTOR), model)


# names of the formulations, for those who ask before anything is computed

RECURSIONS = ("newton-euler", "newton-euler-base")  # carry a wrench and a moving base themselves
CLOSED = ("lagrange-euler", "gibbs-appell")
INVERSE_METHODS = (*RECURSIONS, *CLOSED)
MASS_MATRICES = ("walker-orin-1", "walker-orin-2", "walker-orin-3")
FORWARD_METHODS = (*MASS_MATRICES, "walker-orin-4", "articulated-body")
