"""Kernels of a robot as functions of JAX arrays: checks, precision, broadcasting."""

from collections.abc import Mapping
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..arguments import checked, flag, known_options
from ..compile.arrays import (
    CALL_OPTIONS,
    DTYPES,
    batch_shape,
    checked_dtype,
    checked_threads,
    unmasked,
)
from ..compile.function import Function, kernel_function
from ..compile.kernels import Kernel, input_shape, row_taking
from ..errors import OptionError, ShapeError
from ..lazy import once
from ..model.parameters import parameter_names
from .primitive import call

if TYPE_CHECKING:
    from ..robot import Robot

ERRORS = (TypeError, ValueError, OverflowError, RuntimeError)  # of JAX, for what is no array


@checked
def inverse_dynamics(
    robot: "Robot", q: Any, qd: Any, qdd: Any, parameters: Any = None, wrench: Any = None
) -> Any:
    """tau = M qdd + C qd + g + friction + J^T wrench, (..., n).

    `wrench` (..., 6): forces then moments the tool exerts on the world, in the tool frame.
    """
    given = {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench, "parameters": parameters}
    return _named(robot, "inverse_dynamics", given)


@checked
def forward_dynamics(
    robot: "Robot", q: Any, qd: Any, tau: Any, parameters: Any = None, wrench: Any = None
) -> Any:
    """qdd of the torques tau, (..., n); NaN where the mass matrix is singular.

    `wrench` is that of `inverse_dynamics`.
    """
    given = {"q": q, "qd": qd, "tau": tau, "wrench": wrench, "parameters": parameters}
    return _named(robot, "forward_dynamics", given)


@checked
def fk(robot: "Robot", q: Any, parameters: Any = None) -> Any:
    """Pose of the tool in the reference frame, (..., 4, 4)."""
    return _named(robot, "fk", {"q": q, "parameters": parameters})


@checked
def jacobian(robot: "Robot", q: Any, parameters: Any = None) -> Any:
    """J: (v, w) = J qd, linear rows first, in base axes, (..., 6, n)."""
    return _named(robot, "jacobian", {"q": q, "parameters": parameters})


@checked
def mass_matrix(robot: "Robot", q: Any, parameters: Any = None) -> Any:
    """M(q), reflected rotors included, (..., n, n)."""
    return _named(robot, "mass_matrix", {"q": q, "parameters": parameters})


@checked
def gravity_torque(robot: "Robot", q: Any, parameters: Any = None) -> Any:
    """g(q), without friction offsets, (..., n)."""
    return _named(robot, "gravity_torque", {"q": q, "parameters": parameters})


@checked
def regressor(robot: "Robot", q: Any, qd: Any, qdd: Any) -> Any:
    """Y with Y @ parameters = inverse_dynamics, (..., n, p)."""
    parameter_names(robot.model)  # raises for a centre of mass that moves in its link
    return _named(robot, "regressor", {"q": q, "qd": qd, "qdd": qdd})


@checked
def step(
    robot: "Robot", q: Any, qd: Any, tau: Any, dt: Any = 1e-3, parameters: Any = None,
    wrench: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """(q, qd) after dt seconds under a torque that stays: one Runge-Kutta step of the smooth arm.

    Friction as it slides; nothing that holds (static friction) or hits (stops), and gears lose
    nothing, as in `forward_dynamics`; arms with elastic joints are refused. `wrench` is that of
    `inverse_dynamics`; in the tool frame it stays too.
    """
    given = {"q": q, "qd": qd, "tau": tau, "dt": dt, "wrench": wrench, "parameters": parameters}
    return _named(robot, "step", given)


@checked
def evaluate(robot: "Robot", kernel: str, arrays: Mapping[str, Any]) -> Any:
    """Any kernel of `robot.kernel`, by names of its arguments; a tuple if it has several results.

    What is None is not given; "parameters" may be among them.
    """
    return _named(robot, kernel, arrays)


def _named(robot: "Robot", name: str, arrays: Mapping[str, Any]) -> Any:
    given = {key: array for key, array in arrays.items() if array is not None}
    return computed(robot, _row(name, tuple(given)), given)


def computed(robot: Any, kernel: Kernel, given: Mapping[str, Any]) -> Any:
    """A row of the table over what is given; `robot` is anything with a model."""
    if kernel.by_columns(robot.model):
        return _by_columns(robot, kernel, given)
    return _called(_function(robot, kernel, "parameters" in given), given)


_row = cache(row_taking)


def _function(robot: Any, kernel: Kernel, parameters: bool) -> Function:
    def made() -> Function:
        return kernel_function(kernel, robot.model, parameters)

    return once(robot, ("function", kernel.key, parameters), made)


def method(function: Function, given: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """A method of a robot over JAX arrays, with the options of a call."""
    known_options(options, CALL_OPTIONS)
    if options.get("out") is not None:
        raise OptionError("out was given, but JAX arrays cannot be written to", "leave it out")
    if flag(options.get("fused", False), "fused"):
        raise OptionError("fused is true, but JAX arrays are computed strictly", "leave it out")
    checked_threads(options.get("threads"))
    if options.get("dtype") is None:
        return _called(function, given)
    kind = checked_dtype(options["dtype"])
    return _called(function, {k: jnp.asarray(v).astype(kind) for k, v in given.items()})


def _called(function: Function, given: Mapping[str, Any]) -> Any:
    """A function of arguments that broadcast."""
    ports = function.inputs
    arrays = [_array(given.get(p.name), p.name, p.shape, function.name) for p in ports]
    dtype = _precision(arrays)
    leading = [x.shape[: x.ndim - len(p.shape)] for x, p in zip(arrays, ports, strict=True)]
    shape = leading[0]
    if any(own != shape for own in leading):
        shape = batch_shape([p.name for p in ports], leading)
    operands = []
    for array, own, port in zip(arrays, leading, ports, strict=True):
        x = array if array.dtype == dtype else array.astype(dtype)
        if own != shape:
            x = x.reshape(port.shape) if prod(own) == 1 else jnp.broadcast_to(x, shape + port.shape)
        operands.append(x)
    results = call(function, *operands)
    return results[0] if len(results) == 1 else tuple(results)


def _array(given: Any, name: str, core: tuple[int, ...], what: str) -> jax.Array:
    """`given` as an array of real numbers whose last axes are `core`."""
    expected = f"expected real numbers of shape (..., {', '.join(map(str, core))}) for {what}"
    if given is None:
        raise ShapeError(f"{name} is None, {expected}")
    array = given
    if not isinstance(given, jax.Array):
        try:
            array = jnp.asarray(unmasked(given))
        except ERRORS as error:
            raise ShapeError(f"{name} is no array ({error}), {expected}") from None
    if array.dtype.kind not in "fiu" and not jnp.issubdtype(array.dtype, jnp.floating):
        raise ShapeError(f"{name} holds {array.dtype}, {expected}")
    if array.ndim < len(core) or array.shape[array.ndim - len(core) :] != core:
        raise ShapeError(f"{name} has shape {array.shape}, {expected}")
    return array


def _precision(arrays: list[jax.Array]) -> Any:
    """The type JAX promotes to; what is narrower than float32 is computed in that."""
    dtype = arrays[0].dtype
    if dtype.name in DTYPES and all(x.dtype == dtype for x in arrays):
        return dtype
    return jnp.promote_types(jnp.result_type(*arrays, float), jnp.float32)


def _by_columns(robot: Any, kernel: Kernel, given: Mapping[str, Any]) -> Any:
    """A matrix that is too large for one function, one column per seed."""
    column = kernel.column
    assert column is not None
    seed = "seed" if "seed" in column.inputs else "parameters"
    function = _function(robot, column, "parameters" in (seed, *given))
    (size,) = input_shape(seed, robot.model)
    expanded = {}
    for name, value in given.items():
        core = input_shape(name, robot.model)
        expanded[name] = jnp.expand_dims(_array(value, name, core, kernel.name), -1 - len(core))
    dtype = _precision(list(expanded.values()))

    def columns(seeds: jax.Array) -> tuple[jax.Array, ...]:
        found = _called(function, {**expanded, seed: seeds})
        return found if isinstance(found, tuple) else (found,)

    found = columns(jnp.eye(size, dtype=dtype))
    if seed == "parameters" and robot.model.own_laws:  # may give what none multiplies
        none = columns(jnp.zeros(size, dtype=dtype))
        found = tuple(a - b for a, b in zip(found, none, strict=True))
    turned = tuple(jnp.swapaxes(x, -1, -2) for x in found)
    return turned[0] if len(turned) == 1 else turned
