"""Long robots: what would be too much straight-line code is evaluated column by column.

A matrix kernel grows with the square of the number of joints. Above LIMIT operations the kernel
of one column is compiled instead, with a seed as argument, and run once per column.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import destinations
from .kernels import input_shape

if TYPE_CHECKING:
    from ..robot.calls import Calls

LIMIT = 30_000
# operations per squared joint number, rounded up from what general revolute chains of 6 to 16
# joints need: 10-11, 94-109, 42-46, 79, 113-117, 157-189 in this order
GROWTH: Mapping[str, float] = {
    "mass_matrix": 11,
    "coriolis_matrix": 130,
    "regressor": 60,
    "regressor:qd_ref": 100,
    "inverse_dynamics_derivatives": 150,
    "forward_dynamics_derivatives": 250,
}


def too_large(name: str, n: int) -> bool:
    """Whether a kernel must go by columns."""
    return GROWTH[name] * n * n > LIMIT


def goes_by_columns(name: str, n: int) -> bool:
    """Whether a kernel exists and is too large for a robot of n joints."""
    return name in GROWTH and name != "forward_dynamics_derivatives" and too_large(name, n)


def column_kernel(name: str) -> tuple[str, bool]:
    """The kernel that gives one column, and whether its seed is the parameter vector."""
    if name.startswith("regressor"):
        return ("inverse_dynamics" if name == "regressor" else "two_velocity"), True
    return f"{name}:column", False


def by_columns(
    robot: "Calls", name: str, arguments: Mapping[str, Any], options: Mapping[str, Any]
) -> Any:
    """The matrix a kernel would give, one column per seed."""
    rest = {key: value for key, value in options.items() if key != "out"}
    expanded = {}
    for key, array in zip(arguments, robot._arrays(arguments), strict=True):
        expanded[key] = array[..., None, :]
    kernel, by_parameters = column_kernel(name)
    if by_parameters:
        (size,) = input_shape("parameters", robot.model)
        got = robot._call(kernel, expanded, rest, parameters=np.eye(size))
    else:
        got = robot._call(kernel, {**expanded, "seed": np.eye(robot.n)}, rest)
    results = [got] if isinstance(got, np.ndarray) else list(got)
    turned = [np.swapaxes(r, -1, -2) for r in results]
    targets = destinations(options.get("out"), [t.shape for t in turned], turned[0].dtype)
    for target, result in zip(targets, turned, strict=True):
        target[...] = result
    return targets[0] if len(targets) == 1 else tuple(targets)
