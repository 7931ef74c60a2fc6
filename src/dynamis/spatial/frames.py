"""Rigid frames: T_ab = (R_ab, p_ab) takes b-coordinates to a."""

from typing import Any, NamedTuple

from .functions import MATH, Functions, cos_sin
from .rotations import (
    IDENTITY,
    Matrix3,
    multiply,
    rotate,
    rotate_back,
    rotation_from_rpy,
    rotation_x,
    rotation_z,
    transpose,
)
from .vectors import ZERO, Vector, add, negate


class Frame(NamedTuple):
    """Rotation and origin of one frame seen from another."""

    R: Matrix3 = IDENTITY
    p: Vector = ZERO


ORIGIN = Frame()


def compose(A: Frame, B: Frame) -> Frame:
    """T_ac = T_ab T_bc"""
    return Frame(multiply(A.R, B.R), add(rotate(A.R, B.p), A.p))


def inverse(A: Frame) -> Frame:
    """T_ba from T_ab"""
    return Frame(transpose(A.R), negate(rotate_back(A.R, A.p)))


def point(A: Frame, v: Vector) -> Vector:
    """A point given in b, seen from a."""
    return add(rotate(A.R, v), A.p)


def translation(x: Any = 0.0, y: Any = 0.0, z: Any = 0.0) -> Frame:
    """Pure translation."""
    return Frame(IDENTITY, (x, y, z))


def about_x(angle: Any, fn: Functions = MATH) -> Frame:
    """Pure rotation about x."""
    return Frame(rotation_x(angle, fn), ZERO)


def about_z(angle: Any, fn: Functions = MATH) -> Frame:
    """Pure rotation about z."""
    return Frame(rotation_z(angle, fn), ZERO)


def from_xyz_rpy(xyz: Vector, rpy: Vector, fn: Functions = MATH) -> Frame:
    """Frame at `xyz` turned by roll, pitch, yaw about fixed axes (URDF's origin)."""
    return Frame(rotation_from_rpy(rpy, fn), xyz)


def matrix(A: Frame) -> tuple[tuple[Any, ...], ...]:
    """Homogeneous 4x4 matrix, as rows."""
    (r0, r1, r2), (x, y, z) = A.R, A.p
    return (*r0, x), (*r1, y), (*r2, z), (0.0, 0.0, 0.0, 1.0)


def from_matrix(T: Any) -> Frame:
    """Frame of a homogeneous 4x4 matrix given as rows."""
    rows = [tuple(T[i][j] for j in range(3)) for i in range(3)]
    return Frame((rows[0], rows[1], rows[2]), (T[0][3], T[1][3], T[2][3]))


# the matrix A of one DH row and its inverse, in both conventions (Torres-Torriti 2011)


def dh_frame(
    convention: str, theta: Any, d: Any, a: Any, alpha: Any, fn: Functions = MATH
) -> Frame:
    """Standard: Rz(theta) Tz(d) Tx(a) Rx(alpha). Modified: Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    (ct, st), (ca, sa) = cos_sin(theta, fn), cos_sin(alpha, fn)
    if convention == "standard":
        R = (ct, -ca * st, sa * st), (st, ca * ct, -sa * ct), (0.0, sa, ca)
        return Frame(R, (a * ct, a * st, d))
    R = (ct, -st, 0.0), (ca * st, ca * ct, -sa), (sa * st, sa * ct, ca)
    return Frame(R, (a, -sa * d, ca * d))


def dh_inverse(convention: str, theta: Any, d: Any, a: Any, alpha: Any) -> Frame:
    """A^-1 written out, row by row."""
    standard, (ct, st), (ca, sa) = convention == "standard", cos_sin(theta), cos_sin(alpha)
    R = (ct, ca * st, sa * st), (-st, ca * ct, sa * ct), (0.0, -sa, ca)
    if standard:
        R = (ct, st, 0.0), (-ca * st, ca * ct, sa), (sa * st, -sa * ct, ca)
    return Frame(R, (-a, -d * sa, -d * ca) if standard else (-a * ct, a * st, -d))
