"""Kinematics and dynamics of a robot as differentiable functions of PyTorch tensors.

    import dynamis.torch as dt
    tau = dt.inverse_dynamics(robot, q, qd, qdd)
    tau.square().sum().backward()

Computed where the tensors are, in their precision (float64 or float32), with exact derivatives by
compiled code: autograd of any order, torch.func, torch.compile. Leading axes broadcast. Parameters
are the vector `robot.parameters.values`, (p,) for all samples or (..., p), differentiable too.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..arguments import a_robot, refuse_unknown
from ..compile.kernels import Kernel, input_shape, kernel_named, row_taking
from ..errors import OptionError
from ..lazy import once, package, public_dir
from ..robot import Robot
from .operator import DTYPES, computed, evaluated, keyed, known, leading, plain, torch
from .tensors import destinations, tensors

if TYPE_CHECKING:
    from torch import Tensor  # type: ignore[import-not-found]  it is no tool of development

pytree: Any = package("torch.utils._pytree", "torch", "dynamis.torch", "torch")

__all__ = [
    "evaluate", "fk", "forward_dynamics", "gravity_torque", "inverse_dynamics", "jacobian",
    "mass_matrix", "regressor", "step",
]  # fmt: skip
__dir__ = public_dir(__name__)

F = TypeVar("F", bound=Callable[..., Any])


def _strict(function: F) -> F:
    """As `arguments.strict`, with nothing that torch.compile would have to trace."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        if named and not torch.compiler.is_compiling():
            refuse_unknown(function, len(given), named)
        return function(*given, **named)

    return call  # type: ignore[return-value]


@_strict
def inverse_dynamics(
    robot: Robot, q: Any, qd: Any, qdd: Any, parameters: Any = None, wrench: Any = None
) -> "Tensor":
    """Joint torques (..., n) that move the arm, friction included.

    `wrench` (..., 6): forces then moments the tool exerts on the world, in the tool frame.
    """
    return _one(robot, "inverse_dynamics", (q, qd, qdd), parameters, wrench)


@_strict
def forward_dynamics(
    robot: Robot, q: Any, qd: Any, tau: Any, parameters: Any = None, wrench: Any = None
) -> "Tensor":
    """Joint accelerations (..., n) under torques; NaN where the mass matrix is singular.

    `wrench` is that of `inverse_dynamics`.
    """
    return _one(robot, "forward_dynamics", (q, qd, tau), parameters, wrench)


@_strict
def fk(robot: Robot, q: Any, parameters: Any = None) -> "Tensor":
    """Pose of the tool in the reference frame, (..., 4, 4)."""
    return _one(robot, "fk", (q,), parameters)


@_strict
def jacobian(robot: Robot, q: Any, parameters: Any = None) -> "Tensor":
    """J: (v, w) = J qd, linear rows first, in base axes, (..., 6, n)."""
    return _one(robot, "jacobian", (q,), parameters)


@_strict
def mass_matrix(robot: Robot, q: Any, parameters: Any = None) -> "Tensor":
    """Mass matrix with the reflected rotors, (..., n, n)."""
    return _one(robot, "mass_matrix", (q,), parameters)


@_strict
def gravity_torque(robot: Robot, q: Any, parameters: Any = None) -> "Tensor":
    """Torques that hold the arm against gravity, (..., n)."""
    return _one(robot, "gravity_torque", (q,), parameters)


@_strict
def regressor(robot: Robot, q: Any, qd: Any, qdd: Any) -> "Tensor":
    """Y with Y @ parameters = inverse dynamics, (..., n, p)."""
    return _one(robot, "regressor", (q, qd, qdd), None)


@_strict
def step(
    robot: Robot, q: Any, qd: Any, tau: Any, dt: Any = 1e-3, parameters: Any = None,
    wrench: Any = None,
) -> "tuple[Tensor, Tensor]":  # fmt: skip
    """(q, qd) after `dt` seconds under a torque that stays: a Runge-Kutta step of order 4.

    Of the smooth arm: friction as it slides, no static friction, stops or drives; arms with elastic
    joints are refused. `wrench` is that of `inverse_dynamics`; in the tool frame it stays too.
    """
    if isinstance(dt, float) and isinstance(q, torch.Tensor) and q.dtype in DTYPES:
        dt = torch.full((), dt, dtype=q.dtype, device=q.device)  # no copy that a GPU waits for
    q1, qd1 = _several(robot, "step", (q, qd, tau, dt), parameters, wrench)
    return q1, qd1


@_strict
def evaluate(robot: Robot, kernel: str, arrays: Mapping[str, Any], out: Any = None) -> Any:
    """Any kernel of a robot, by name, over tensors; without derivatives, into `out` if given."""
    row = row_taking(kernel, tuple(arrays) if isinstance(arrays, Mapping) else ())
    names = (*row.inputs, "parameters") if "parameters" in arrays else row.inputs
    recorded = [k for k, x in arrays.items() if getattr(x, "requires_grad", False) is True]
    if recorded and torch.is_grad_enabled():
        raise OptionError(
            f"{recorded[0]} requires a gradient, which {row.name} of a robot does not record",
            f"give {recorded[0]}.detach(), or call a function of dynamis.torch",
        )
    with torch.no_grad():
        plan = _planned(robot, row, "parameters" in arrays)
        inputs = tensors(plan[1], plan[2], [arrays[name] for name in names])
        results = _values(plan, inputs) if out is None else _stored(plan, inputs, out)
    return results[0] if len(results) == 1 else tuple(results)


def _one(robot: Robot, name: str, given: tuple, parameters: Any, wrench: Any = None) -> "Tensor":
    return _several(robot, name, given, parameters, wrench)[0]


def _several(
    robot: Robot, name: str, given: tuple, parameters: Any, wrench: Any = None
) -> "Sequence[Tensor]":
    """Results of a kernel."""
    if wrench is not None:
        name, given = f"{name}:wrench", (*given, wrench)
    if torch.compiler.is_compiling():
        plan = _constants(robot, name, parameters is not None)
    else:
        plan = _planned(robot, kernel_named(name), parameters is not None)
    values = given if parameters is None else (*given, parameters)
    return _values(plan, tensors(plan[1], plan[2], values))


@torch.compiler.assume_constant_result  # graphs hold what they know of a robot: it does not change
def _constants(robot: Robot, name: str, parameters: bool) -> tuple:
    plan = _planned(robot, kernel_named(name), parameters)
    _graphs[plan[0]] = known(plan[0])
    return plan


_graphs: dict[str, Any] = {}  # functions of compiled graphs, which nobody else may hold any more
# graphs of PyTorch before 2.12 take objects only if they are registered like this; they are made
# again for a robot that is not equal
if hasattr(pytree, "register_constant"):
    pytree.register_constant(Robot)


def _planned(robot: Robot, kernel: Kernel, parameters: bool) -> tuple:
    """How a kernel is computed: its key, its arguments' names and shapes, and its columns.

    A matrix that is too large for one kernel is computed column by column: then the last are the
    place of the seed among the arguments, the number of columns, and whether seeds of zero give
    something that does not belong to them.
    """
    if type(robot) is not Robot:
        a_robot(robot)
    what = kernel.name if kernel_named(kernel.name) is kernel else kernel.key

    def made() -> tuple:
        model = robot.model
        names = (*kernel.inputs, "parameters") if parameters else kernel.inputs
        cores = tuple(input_shape(name, model) for name in names)
        column = kernel.by_columns(model)
        if column is None:
            return keyed(robot, kernel, parameters).key, names, cores, 0, 0, False
        own = "seed" in column.inputs
        (columns,) = input_shape("seed" if own else "parameters", model)
        key = keyed(robot, column, parameters if own else True).key
        return key, names, cores, len(kernel.inputs), columns, bool(not own and model.own_laws)

    return once(robot, ("torch plan", what, parameters), made)


def _values(plan: tuple, inputs: "Sequence[Tensor]") -> "Sequence[Tensor]":
    key, _, _, place, columns, shifted = plan
    if not columns:
        return evaluated(inputs, key)
    rows = [x.unsqueeze(-2) for x in inputs]
    seeds = torch.eye(columns, dtype=rows[0].dtype, device=rows[0].device)
    results = evaluated([*rows[:place], seeds, *rows[place:]], key)
    if shifted:
        none = evaluated([*rows[:place], torch.zeros_like(seeds), *rows[place:]], key)
        results = [a - b for a, b in zip(results, none, strict=True)]
    return [x.transpose(-1, -2) for x in results]


def _stored(plan: tuple, inputs: "Sequence[Tensor]", out: Any) -> "Sequence[Tensor]":
    """Results in the caller's tensors: computed there if code may write there."""
    function = known(plan[0])
    if not plan[4] and plain(inputs):
        shape = leading(function.axes, inputs)
        targets = destinations(out, [(*shape, *core) for core in function.results], inputs[0])
        read = {x.untyped_storage().data_ptr() for x in inputs}
        if plain(targets) and all(
            x.is_contiguous() and x.untyped_storage().data_ptr() not in read for x in targets
        ):
            for target in targets:  # graphs that hold its old numbers refuse to go backward
                torch.autograd.graph.increment_version(target)
            return computed(function, inputs, targets)
    results = _values(plan, inputs)
    targets = destinations(out, [tuple(x.shape) for x in results], inputs[0])
    for target, result in zip(targets, results, strict=True):
        target.copy_(result)
    return targets
