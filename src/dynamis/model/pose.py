"""A constant pose in a model: where a base, a tool or a named frame sits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..arguments import is_list
from ..errors import ModelError, shown
from ..spatial.frames import Frame, from_matrix, from_xyz_rpy
from ..spatial.functions import MATH, Functions
from ..spatial.rotations import multiply, rpy_from_rotation, transpose
from ..spatial.vectors import dot
from .quantity import Scalar, quantities, quantity, resolve

ORTHONORMAL = 1e-6  # how far R^T R may be from the identity in a matrix typed by hand


@dataclass(frozen=True)
class Pose:
    """Origin `xyz` and roll, pitch, yaw `rpy` about fixed axes; symbols are allowed."""

    xyz: tuple[Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0)
    rpy: tuple[Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "xyz", quantities(self.xyz, 3, "xyz"))
        object.__setattr__(self, "rpy", quantities(self.rpy, 3, "rpy"))

    def frame(self, values: Mapping[str, Any], fn: Functions = MATH) -> Frame:
        """The pose as a frame over the caller's scalars."""
        xyz = tuple(resolve(x, values, fn) for x in self.xyz)
        rpy = tuple(resolve(x, values, fn) for x in self.rpy)
        return from_xyz_rpy(xyz, rpy, fn)  # type: ignore[arg-type]


def pose(value: Any, where: str) -> Pose:
    """A Pose from None, a Pose, a Frame, {xyz=, rpy=} or a homogeneous 4x4 matrix."""
    if value is None:
        return Pose()
    if isinstance(value, Pose):
        return value
    if isinstance(value, Frame):
        return Pose(value.p, rpy_from_rotation(value.R))
    if isinstance(value, Mapping):
        unknown = set(value) - {"xyz", "rpy"}
        if unknown:
            raise ModelError(f"{where} has unknown key {sorted(unknown)[0]!r}, expected xyz, rpy")
        return Pose(
            quantities(value.get("xyz", (0, 0, 0)), 3, f"{where}.xyz"),  # type: ignore[arg-type]
            quantities(value.get("rpy", (0, 0, 0)), 3, f"{where}.rpy"),  # type: ignore[arg-type]
        )
    return pose(homogeneous(value, where), where)


def homogeneous(given: Any, where: str) -> Frame:
    """The frame of a 4x4 matrix of numbers; anything that is not a rigid motion is refused."""
    expected = "expected a 4x4 homogeneous matrix"
    value = list(given) if is_list(given) else []
    if len(value) != 4:
        raise ModelError(f"{where} is {shown(given)}, {expected} or xyz and rpy")
    if any(not is_list(row) or len(row) != 4 for row in value):
        raise ModelError(f"{where} does not have four rows of four, {expected}")
    T = [[quantity(x, f"{where}[{i}][{j}]") for j, x in enumerate(r)] for i, r in enumerate(value)]
    symbol = next((x for row in T for x in row if not isinstance(x, float)), None)
    if symbol is not None:
        raise ModelError(f"{where} holds the symbol {str(symbol)!r}, {expected} of numbers")
    if T[3] != [0.0, 0.0, 0.0, 1.0]:
        raise ModelError(f"{where} has last row {T[3]}, expected [0, 0, 0, 1]")
    frame = from_matrix(T)
    square = multiply(transpose(frame.R), frame.R)
    error = max(abs(square[i][j] - (i == j)) for i in range(3) for j in range(3))
    x, y, z = transpose(frame.R)
    handed = dot(
        (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]), z
    )
    if error > ORTHONORMAL or handed < 0:
        raise ModelError(
            f"{where} is not a rigid motion: R^T R differs from the identity by {error:.3g}"
            + (" and R is a mirror image" if handed < 0 else "")
        )
    return frame
