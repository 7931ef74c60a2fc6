"""Rotations, Euler angles, homogeneous matrices and coordinates, for the desk and the classroom.

Angles are scalars in radians; every function returns a float64 array.
"""

import math
from typing import Any

import numpy as np

from .arguments import choice, number, strict
from .compile.arrays import numbers
from .errors import OptionError, ShapeError, shown
from .lazy import public_dir
from .model.pose import homogeneous
from .spatial import frames, rotations

__all__ = [
    "dh", "dh_inverse", "from_cylindrical", "from_euler", "from_homogeneous", "from_polar",
    "from_quaternion", "from_rpy", "from_spherical", "inverse", "pose", "rotx", "roty", "rotz",
    "to_cylindrical", "to_euler", "to_homogeneous", "to_polar", "to_quaternion", "to_rpy",
    "to_spherical", "translation",
]  # fmt: skip
__dir__ = public_dir(__name__)

ANGLE = "an angle in radians"
SMALL = 1e-100
TYPED = 1e-3  # how far R^T R may be from the identity in a rotation typed by hand
CONVENTIONS = ("standard", "modified")
SEQUENCES = tuple(a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if b not in (a, c))


@strict
def rotx(angle: float) -> np.ndarray:
    """Rotation about x, (3, 3)."""
    return np.array(rotations.rotation_x(number(angle, "angle", ANGLE)))


@strict
def roty(angle: float) -> np.ndarray:
    """Rotation about y, (3, 3)."""
    return np.array(rotations.rotation_y(number(angle, "angle", ANGLE)))


@strict
def rotz(angle: float) -> np.ndarray:
    """Rotation about z, (3, 3)."""
    return np.array(rotations.rotation_z(number(angle, "angle", ANGLE)))


@strict
def from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll), (3, 3)."""
    angles = {"roll": roll, "pitch": pitch, "yaw": yaw}
    r, p, y = (number(x, name, ANGLE) for name, x in angles.items())
    return np.array(rotations.rotation_from_rpy((r, p, y)))


@strict
def to_rpy(R: Any) -> np.ndarray:
    """(roll, pitch, yaw) of a rotation or a pose."""
    return np.array(rotations.rpy_from_rotation(_rotation(R)))


@strict
def from_euler(angles: Any, sequence: str = "zyz") -> np.ndarray:
    """Rotations about moving axes in the order of `sequence`, (3, 3)."""
    a, b, c = _array(angles, "angles", (3,)).tolist()
    return np.array(rotations.rotation_from_euler((a, b, c), _sequence(sequence)))


@strict
def to_euler(R: Any, sequence: str = "zyz") -> np.ndarray:
    """Euler angles of a rotation or a pose."""
    return np.array(rotations.euler_from_rotation(_rotation(R), _sequence(sequence)))


@strict
def from_quaternion(xyzw: Any) -> np.ndarray:
    """Rotation of a quaternion x, y, z, w, (3, 3)."""
    x, y, z, w = _array(xyzw, "xyzw", (4,)).tolist()
    if not math.isfinite(size := math.hypot(x, y, z, w)) or size == 0.0:
        raise OptionError(f"xyzw is {(x, y, z, w)}, expected a quaternion that is not zero")
    scale = 1.0 if SMALL < size < 1.0 / SMALL else size  # squares of others leave the floats
    x, y, z, w = x / scale, y / scale, z / scale, w / scale
    return np.array(rotations.rotation_from_quaternion((x, y, z, w)))


@strict
def to_quaternion(R: Any) -> np.ndarray:
    """Unit quaternion x, y, z, w with w >= 0."""
    return np.array(rotations.quaternion_from_rotation(_rotation(R)))


@strict
def translation(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """Pure translation, (4, 4)."""
    way = (number(v, name, "metres") for name, v in {"x": x, "y": y, "z": z}.items())
    return np.array(frames.matrix(frames.translation(*way)))


@strict
def pose(R: Any = None, p: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Homogeneous matrix of a rotation and an origin, (4, 4)."""
    T = np.eye(4)
    if R is not None:
        T[:3, :3] = _rotation(R)
    T[:3, 3] = _array(p, "p", (3,))
    return T


@strict
def inverse(T: Any) -> np.ndarray:
    """Inverse of a homogeneous matrix, by its transpose, (4, 4)."""
    return np.array(frames.matrix(frames.inverse(homogeneous(_array(T, "T", (4, 4)), "T"))))


@strict
def dh(theta: float, d: float, a: float, alpha: float, convention: str) -> np.ndarray:
    """The matrix A of one DH row, (4, 4)."""
    choice(convention, "convention", CONVENTIONS)
    return np.array(frames.matrix(frames.dh_frame(convention, *_row(theta, d, a, alpha))))


@strict
def dh_inverse(theta: float, d: float, a: float, alpha: float, convention: str) -> np.ndarray:
    """The inverse of A, written out, (4, 4)."""
    choice(convention, "convention", CONVENTIONS)
    return np.array(frames.matrix(frames.dh_inverse(convention, *_row(theta, d, a, alpha))))


@strict
def from_polar(r: float, theta: float) -> np.ndarray:
    """(x, y) at the distance r from the origin and the angle theta from x, (2,)."""
    r, theta = _radius(r), number(theta, "theta", ANGLE)
    return np.array([r * math.cos(theta), r * math.sin(theta)])


@strict
def to_polar(p: Any) -> np.ndarray:
    """(r, theta) of a point (x, y), theta between -pi and pi; 0 at the origin."""
    x, y = _array(p, "p", (2,)).tolist()
    return np.array([math.hypot(x, y), math.atan2(y, x)])


@strict
def from_cylindrical(r: float, theta: float, z: float) -> np.ndarray:
    """(x, y, z) at the distance r from the z axis and the angle theta from x about it, (3,)."""
    return np.array([*from_polar(r, theta), number(z, "z", "metres")])


@strict
def to_cylindrical(p: Any) -> np.ndarray:
    """(r, theta, z) of a point (x, y, z); theta is 0 on the z axis."""
    x, y, z = _array(p, "p", (3,)).tolist()
    return np.array([*to_polar((x, y)), z])


@strict
def from_spherical(r: float, theta: float, phi: float) -> np.ndarray:
    """(x, y, z) at the distance r from the origin, theta from x about z and phi from z, (3,).

    Some books swap the letters theta and phi; here theta is that of cylindrical coordinates.
    """
    r, theta, phi = _radius(r), number(theta, "theta", ANGLE), number(phi, "phi", ANGLE)
    across = r * math.sin(phi)
    return np.array([across * math.cos(theta), across * math.sin(theta), r * math.cos(phi)])


@strict
def to_spherical(p: Any) -> np.ndarray:
    """(r, theta, phi) of a point (x, y, z), phi between 0 and pi; angles are 0 where r is."""
    x, y, z = _array(p, "p", (3,)).tolist()
    across = math.hypot(x, y)
    return np.array([math.hypot(across, z), math.atan2(y, x), math.atan2(across, z)])


@strict
def to_homogeneous(p: Any, w: float = 1.0) -> np.ndarray:
    """(w x, w y, w z, w) of a point (x, y, z); w = 0 is its direction (x, y, z, 0), (4,)."""
    point, w = _array(p, "p", (3,)), number(w, "w")
    with np.errstate(over="ignore"):
        return _finite(np.array([*(point if w == 0.0 else w * point), w]), "p", p)


@strict
def from_homogeneous(h: Any) -> np.ndarray:
    """The point (x / w, y / w, z / w) of homogeneous coordinates (x, y, z, w), (3,)."""
    x, y, z, w = _array(h, "h", (4,)).tolist()
    if w == 0.0:
        raise OptionError(f"h is {(x, y, z, w)}: w = 0 is a direction, which no point has")
    with np.errstate(over="ignore"):
        return _finite(np.array([x, y, z]) / w, "h", h)


def _finite(found: np.ndarray, name: str, given: Any) -> np.ndarray:
    """Coordinates that numbers can hold."""
    if not np.isfinite(found).all():
        raise OptionError(f"{name} is {shown(given)}: coordinates above 1e308 come out")
    return found


def _radius(r: Any) -> float:
    return number(r, "r", "a distance of 0 or more", lambda x: 0.0 <= x < math.inf)


def _array(value: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    expected = f"expected finite numbers of shape {shape}"
    found = numbers(value, name, expected)
    if found.shape != shape or not np.isfinite(found).all():
        raise ShapeError(f"{name} is {shown(value)}, {expected}")
    return found


def _rotation(R: Any) -> Any:
    """The rotation of a (3, 3) rotation or a (4, 4) pose, as rows."""
    matrix = numbers(R, "R", "expected a rotation (3, 3) or a pose (4, 4)")
    if matrix.shape not in ((3, 3), (4, 4)):
        raise OptionError(f"R has shape {matrix.shape}, expected (3, 3) or (4, 4)")
    matrix = matrix[:3, :3]
    error = float(np.abs(matrix.T @ matrix - np.eye(3)).max())
    if not error <= TYPED or np.linalg.det(matrix) < 0:
        raise OptionError(
            f"R is {shown(R)}, expected a rotation: R^T R is {error:.2g} off identity"
        )
    return tuple(tuple(row) for row in matrix.tolist())


def _row(theta: Any, d: Any, a: Any, alpha: Any) -> tuple[float, float, float, float]:
    turn, along = number(theta, "theta", ANGLE), number(d, "d")
    return turn, along, number(a, "a"), number(alpha, "alpha", ANGLE)


def _sequence(sequence: str) -> str:
    name = sequence.lower() if isinstance(sequence, str) else sequence
    return choice(name, "Euler sequence", SEQUENCES)
