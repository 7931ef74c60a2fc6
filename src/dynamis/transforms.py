"""Rotations, Euler angles and homogeneous matrices as NumPy arrays, for the desk and the classroom.

Angles are scalars in radians; every function returns a float64 array.
"""

from typing import Any

import numpy as np

from .errors import OptionError, did_you_mean
from .model.pose import homogeneous
from .spatial import dh as _dh
from .spatial import frames, rotations

CONVENTIONS = ("standard", "modified")
SEQUENCES = tuple(a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if b not in (a, c))


def rotx(angle: float) -> np.ndarray:
    """Rotation about x, (3, 3)."""
    return np.array(rotations.rotation_x(float(angle)))


def roty(angle: float) -> np.ndarray:
    """Rotation about y, (3, 3)."""
    return np.array(rotations.rotation_y(float(angle)))


def rotz(angle: float) -> np.ndarray:
    """Rotation about z, (3, 3)."""
    return np.array(rotations.rotation_z(float(angle)))


def from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll), (3, 3)."""
    return np.array(rotations.rotation_from_rpy((float(roll), float(pitch), float(yaw))))


def to_rpy(R: Any) -> np.ndarray:
    """(roll, pitch, yaw) of a rotation or a pose."""
    return np.array(rotations.rpy_from_rotation(_rotation(R)))


def from_euler(angles: Any, sequence: str = "zyz") -> np.ndarray:
    """Rotations about moving axes in the order of `sequence`, (3, 3)."""
    a, b, c = (float(x) for x in angles)
    return np.array(rotations.rotation_from_euler((a, b, c), _sequence(sequence)))


def to_euler(R: Any, sequence: str = "zyz") -> np.ndarray:
    """Euler angles of a rotation or a pose."""
    return np.array(rotations.euler_from_rotation(_rotation(R), _sequence(sequence)))


def from_quaternion(xyzw: Any) -> np.ndarray:
    """Rotation of a quaternion x, y, z, w, (3, 3)."""
    x, y, z, w = (float(v) for v in xyzw)
    return np.array(rotations.rotation_from_quaternion((x, y, z, w)))


def to_quaternion(R: Any) -> np.ndarray:
    """Unit quaternion x, y, z, w with w >= 0."""
    return np.array(rotations.quaternion_from_rotation(_rotation(R)))


def translation(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    """Pure translation, (4, 4)."""
    return np.array(frames.matrix(frames.translation(float(x), float(y), float(z))))


def pose(R: Any = None, p: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Homogeneous matrix of a rotation and an origin, (4, 4)."""
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else R
    T[:3, 3] = p
    return T


def inverse(T: Any) -> np.ndarray:
    """Inverse of a homogeneous matrix, by its transpose, (4, 4)."""
    return np.array(frames.matrix(frames.inverse(homogeneous(np.asarray(T), "T"))))


def dh(theta: float, d: float, a: float, alpha: float, convention: str) -> np.ndarray:
    """The matrix A of one DH row, (4, 4)."""
    row = (float(theta), float(d), float(a), float(alpha))
    return np.array(frames.matrix(_dh.dh_frame(_convention(convention), *row)))


def dh_inverse(theta: float, d: float, a: float, alpha: float, convention: str) -> np.ndarray:
    """The inverse of A, written out, (4, 4)."""
    row = (float(theta), float(d), float(a), float(alpha))
    return np.array(frames.matrix(_dh.dh_inverse(_convention(convention), *row)))


def _rotation(R: Any) -> Any:
    matrix = np.asarray(R, dtype=float)
    if matrix.shape not in ((3, 3), (4, 4)):
        raise OptionError(f"R has shape {matrix.shape}, expected (3, 3) or (4, 4)")
    return tuple(tuple(float(x) for x in row[:3]) for row in matrix[:3])


def _sequence(sequence: str) -> str:
    name = str(sequence).lower()
    if name not in SEQUENCES:
        raise OptionError(
            f"Euler sequence {sequence!r} does not exist", did_you_mean(name, SEQUENCES)
        )
    return name


def _convention(name: str) -> str:
    if name not in CONVENTIONS:
        raise OptionError(
            f"convention {name!r} does not exist, expected 'standard' or 'modified'",
            did_you_mean(str(name), CONVENTIONS),
        )
    return name
