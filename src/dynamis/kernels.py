"""The kernels a robot offers: one row each, from name to algorithm, arguments and results.

Whatever runs, compiles, counts, prints or exports starts from this table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .dynamics import coriolis, energy, equation, friction, kinematics
from .dynamics.regressor import regressor
from .errors import OptionError, did_you_mean
from .model.chain import Chain, chain
from .model.model import Model
from .model.parameters import chain_of, parameter_names

if TYPE_CHECKING:
    from .trace.program import Program

N, P, L = "n", "p", "links"  # sizes that depend on the robot
Shape = tuple[int | str, ...]
SIZES: Mapping[str, Shape] = {"wrench": (6,), "base_motion": (9,), "parameters": (P,)}
COMPARED = 12  # joints up to which forward methods are compared by operation count


@dataclass(frozen=True)
class Kernel:
    """One function of a robot.

    `function(chain, *inputs, fn)` is scalar-generic; `differentiate` kernels build on CasADi
    instead (see `derivatives`). Arguments are joint vectors unless SIZES says otherwise.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    outputs: Mapping[str, Shape]
    differentiate: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def bound(self) -> Callable[..., Any]:
        """The function with its options filled in."""
        return partial(self.function, **self.options) if self.options else self.function

    @property
    def key(self) -> str:
        """Name and options as text: what distinguishes it from the other kernels of a robot."""
        options = "".join(f" {k}={v!r}" for k, v in sorted(self.options.items()))
        return f"{self.name}({', '.join(self.inputs)}){options}"


def _optional(
    function: Callable[..., Any], base: tuple[str, ...], extra: str
) -> Callable[..., Any]:
    """A kernel function that takes one more argument by position."""

    def call(c: Chain, *arguments: Any, fn: Any, **options: Any) -> Any:
        *first, last = arguments
        return function(c, *first, fn=fn, **{extra: last}, **options)

    return call


STATE = ("q", "qd", "qdd")
TORQUE = ("q", "qd", "tau")


def _kernels() -> dict[str, Kernel]:
    rows = [
        Kernel("fk", kinematics.fk, ("q",), {"T": (4, 4)}),
        Kernel("link_pose", kinematics.link_pose, ("q",), {"T": (4, 4)}),
        Kernel("frames", kinematics.frames, ("q",), {"T": (L, 4, 4)}),
        Kernel("jacobian", kinematics.jacobian, ("q",), {"J": (6, N)}),
        Kernel("jacobian_dot", kinematics.jacobian_dot, ("q", "qd"), {"Jd": (6, N)}),
        Kernel("inverse_dynamics", equation.inverse_dynamics, STATE, {"tau": (N,)}),
        Kernel("forward_dynamics", equation.forward_dynamics, TORQUE, {"qdd": (N,)}),
        Kernel("mass_matrix", equation.mass_matrix, ("q",), {"M": (N, N)}),
        Kernel("coriolis_matrix", coriolis.coriolis_matrix, ("q", "qd"), {"C": (N, N)}),
        Kernel("gravity_torque", equation.gravity_torque, ("q",), {"g": (N,)}),
        Kernel("friction_torque", friction.friction_torque, ("qd",), {"tau": (N,)}),
        Kernel("kinetic_energy", energy.kinetic_energy, ("q", "qd"), {"T": ()}),
        Kernel("potential_energy", energy.potential_energy, ("q",), {"U": ()}),
        Kernel("momentum", energy.spatial_momentum, ("q", "qd"), {"P": (6,)}),
        Kernel("motor_torque", equation.motor_torque, STATE, {"tau": (N,)}),
        Kernel("regressor", regressor, STATE, {"Y": (N, P)}),
        Kernel("pivots", equation.pivots, ("q",), {"D": (N,)}),
        Kernel("two_velocity", _two_velocity, (*STATE, "qd_ref"), {"tau": (N,)}),
        Kernel("mass_matrix:column", equation.mass_times, ("q", "seed"), {"column": (N,)}),
        Kernel(
            "coriolis_matrix:column",
            coriolis.coriolis_times,
            ("q", "qd", "seed"),
            {"column": (N,)},
        ),
    ]
    for name, extra in (
        ("inverse_dynamics", "wrench"),
        ("inverse_dynamics", "base_motion"),
        ("forward_dynamics", "wrench"),
        ("regressor", "qd_ref"),
    ):
        row = next(r for r in rows if r.name == name)
        function = _optional(row.function, row.inputs, extra)
        inputs = (*row.inputs, extra)
        rows.append(replace(row, name=f"{name}:{extra}", function=function, inputs=inputs))
    both = _wrench_and_base
    inputs = (*STATE, "wrench", "base_motion")
    rows.append(Kernel("inverse_dynamics:wrench:base_motion", both, inputs, {"tau": (N,)}))
    derivatives = {"dtau_dq": (N, N), "dtau_dqd": (N, N), "dtau_dqdd": (N, N)}
    rows.append(Kernel("inverse_dynamics_derivatives", _lazy("inverse"), STATE, derivatives, True))
    columns = dict.fromkeys(derivatives, (N,))
    name = "inverse_dynamics_derivatives:column"
    rows.append(Kernel(name, _lazy("inverse_along"), (*STATE, "seed"), columns, True))
    derivatives = {"dqdd_dq": (N, N), "dqdd_dqd": (N, N), "dqdd_dtau": (N, N)}
    rows.append(Kernel("forward_dynamics_derivatives", _lazy("forward"), TORQUE, derivatives, True))
    return {row.name: row for row in rows}


def _two_velocity(c: Chain, q: Any, qd: Any, qdd: Any, qd_ref: Any, fn: Any) -> Any:
    """M qdd + C(q, qd) qd_ref + g + friction(qd)"""
    rigid = coriolis.two_velocity_torque(c, q, qd, qdd, qd_ref, fn)
    resist = friction.friction_torque(c, qd, fn)
    return [a + b for a, b in zip(rigid, resist, strict=True)]


def _wrench_and_base(c: Chain, *arguments: Any, fn: Any, **options: Any) -> Any:
    *state, wrench, base_motion = arguments
    return equation.inverse_dynamics(
        c, *state, fn=fn, wrench=wrench, base_motion=base_motion, **options
    )


def _lazy(name: str) -> Callable[..., Any]:
    """Derivatives need CasADi, which is imported only to trace."""

    def call(*arguments: Any) -> Any:
        from . import derivatives

        return getattr(derivatives, name)(*arguments)

    return call


KERNELS: Mapping[str, Kernel] = _kernels()


def kernel_named(name: str) -> Kernel:
    """A row of the table; unknown names are answered with those that exist."""
    if name not in KERNELS:
        raise OptionError(f"kernel {name!r} does not exist", did_you_mean(str(name), KERNELS))
    return KERNELS[name]


def shape_of(shape: Shape, model: Model) -> tuple[int, ...]:
    """A shape with the robot's sizes filled in."""
    links = len(model.links)
    sizes = {N: lambda: model.n, P: lambda: len(parameter_names(model)), L: lambda: links + 1}
    return tuple(s if isinstance(s, int) else sizes[s]() for s in shape)


def input_shape(name: str, model: Model) -> tuple[int, ...]:
    """Shape of one sample of an argument."""
    return shape_of(SIZES.get(name, (N,)), model)


def program(kernel: Kernel, model: Model, parameters: bool = False) -> "Program":
    """The program of a kernel of a robot; with `parameters`, the parameter vector is an argument.

    Forward dynamics without a method takes the one with the fewest operations.
    """
    if kernel.name.startswith("forward_dynamics") and not (kernel.options or kernel.differentiate):
        methods = _forward_methods(model)
        candidates = [replace(kernel, options={"method": method}) for method in methods]
        traced = [traced_program(k, model, parameters) for k in candidates]
        return min(traced, key=lambda p: p.cost.total)
    return traced_program(kernel, model, parameters)


def _forward_methods(model: Model) -> tuple[str, ...]:
    """Composite bodies for short or coupled robots, articulated bodies for long ones."""
    if not equation.uncoupled(chain_of(model)):
        return ("walker-orin-3",)
    if model.n > COMPARED:
        return ("articulated-body",)
    return ("walker-orin-3", "articulated-body")


def traced_program(kernel: Kernel, model: Model, parameters: bool) -> "Program":
    """Trace a kernel."""
    from .trace.optimise import share_reciprocals
    from .trace.program import Port
    from .trace.tracer import SX, nested, program_of, symbols

    inputs = [Port(name, input_shape(name, model)) for name in kernel.inputs]
    if parameters:
        inputs.append(Port("parameters", input_shape("parameters", model)))
    outputs = [Port(name, shape_of(s, model)) for name, s in kernel.outputs.items()]
    columns = symbols(inputs)
    if parameters:
        *columns_in, values = columns
        c = chain(model, parameters=nested(values, inputs[-1].shape))
    else:
        columns_in, c = columns, chain(model)
    if kernel.differentiate:
        results = kernel.function(c, *columns_in)
    else:
        ports = inputs[: len(columns_in)]
        scalars = [nested(x, port.shape) for x, port in zip(columns_in, ports, strict=True)]
        returned = kernel.bound()(c, *scalars, fn=SX)
        results = [returned] if len(outputs) == 1 else list(returned)
    traced = program_of(kernel.name, columns, results, inputs, outputs)
    return share_reciprocals(traced)
