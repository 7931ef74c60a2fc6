"""A constant pose in a model: where a base, a tool or a named frame sits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ..arguments import is_list
from ..errors import ModelError, shown
from ..spatial.frames import Frame, from_matrix, from_xyz_rpy
from ..spatial.functions import MATH, Functions
from ..spatial.rotations import multiply, rpy_from_rotation, transpose
from ..spatial.vectors import cross, dot
from .quantity import Scalar, Values, quantities, quantity, resolve
from .schema import About, settle_fields

Triple = tuple[Scalar, Scalar, Scalar]
ORTHONORMAL = 1e-6  # how far R^T R may be from the identity in a matrix typed by hand


@dataclass(frozen=True)
class Pose:
    """Origin `xyz` and roll, pitch, yaw `rpy` about fixed axes; symbols are allowed."""

    xyz: Annotated[Triple, About("origin", "m", 3)] = (0.0, 0.0, 0.0)
    rpy: Annotated[Triple, About("roll, pitch, yaw", "rad", 3)] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        settle_fields(self, "")

    def frame(self, values: Values, fn: Functions = MATH) -> Frame:
        """The pose as a frame over the caller's scalars."""
        return from_xyz_rpy(resolve(self.xyz, values, fn), resolve(self.rpy, values, fn), fn)


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
        given = {k: quantities(v, 3, f"{where}.{k}") for k, v in value.items()}
        return Pose(**given)  # type: ignore[arg-type]
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
    mirrored = dot(cross(x, y), z) < 0
    if error > ORTHONORMAL or mirrored:
        raise ModelError(
            f"{where} is not a rigid motion: R^T R differs from the identity by {error:.3g}"
            + (" and R is a mirror image" if mirrored else "")
        )
    return frame
