"""Rotation matrices as three rows. R_ab takes b-coordinates to a, so inner letters cancel."""

import math
from typing import Any

from .functions import MATH, Functions, cos_sin
from .vectors import Vector, dot, scale

Matrix3 = tuple[Vector, Vector, Vector]

IDENTITY: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def rotation_x(angle: Any, fn: Functions = MATH) -> Matrix3:
    """Rotation about x."""
    c, s = cos_sin(angle, fn)
    return (1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)


def rotation_y(angle: Any, fn: Functions = MATH) -> Matrix3:
    """Rotation about y."""
    c, s = cos_sin(angle, fn)
    return (c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)


def rotation_z(angle: Any, fn: Functions = MATH) -> Matrix3:
    """Rotation about z."""
    c, s = cos_sin(angle, fn)
    return (c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)


ABOUT = {"x": rotation_x, "y": rotation_y, "z": rotation_z}


def transpose(R: Matrix3) -> Matrix3:
    """R^T"""
    return ((R[0][0], R[1][0], R[2][0]), (R[0][1], R[1][1], R[2][1]), (R[0][2], R[1][2], R[2][2]))


def rotate(R: Matrix3, v: Vector) -> Vector:
    """R v"""
    (a, b, c), (x, y, z) = R, v
    return (
        a[0] * x + a[1] * y + a[2] * z,
        b[0] * x + b[1] * y + b[2] * z,
        c[0] * x + c[1] * y + c[2] * z,
    )


def rotate_back(R: Matrix3, v: Vector) -> Vector:
    """R^T v"""
    return (
        R[0][0] * v[0] + R[1][0] * v[1] + R[2][0] * v[2],
        R[0][1] * v[0] + R[1][1] * v[1] + R[2][1] * v[2],
        R[0][2] * v[0] + R[1][2] * v[1] + R[2][2] * v[2],
    )


def multiply(A: Matrix3, B: Matrix3) -> Matrix3:
    """A B"""
    return _row(A[0], B), _row(A[1], B), _row(A[2], B)


def _row(a: Vector, B: Matrix3) -> Vector:
    """a^T B"""
    (x, y, z), (p, q, r) = a, B
    return (
        x * p[0] + y * q[0] + z * r[0],
        x * p[1] + y * q[1] + z * r[1],
        x * p[2] + y * q[2] + z * r[2],
    )


def rotation_from_rpy(rpy: Vector, fn: Functions = MATH) -> Matrix3:
    """Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed axes."""
    roll, pitch, yaw = rpy
    return multiply(rotation_z(yaw, fn), multiply(rotation_y(pitch, fn), rotation_x(roll, fn)))


def rpy_from_rotation(R: Matrix3) -> Vector:
    """(roll, pitch, yaw) with pitch in [-pi/2, pi/2]; yaw is 0 where it is not unique."""
    c = math.hypot(R[0][0], R[1][0])
    pitch = math.atan2(-R[2][0], c)
    # in gimbal lock only roll -+ yaw is determined; near it, roll must fit the yaw that was found
    yaw = math.atan2(R[1][0], R[0][0]) if c > 1e-12 else 0.0
    cy, sy = cos_sin(yaw)
    roll = math.atan2(sy * R[0][2] - cy * R[1][2], cy * R[1][1] - sy * R[0][1])
    return roll, pitch, yaw


def rotation_from_euler(angles: Vector, sequence: str = "zyz", fn: Functions = MATH) -> Matrix3:
    """Rotations about the moving axes named by `sequence`, in that order."""
    R = IDENTITY
    for axis, angle in zip(sequence.lower(), angles, strict=True):
        R = multiply(R, ABOUT[axis](angle, fn))
    return R


def euler_from_rotation(R: Matrix3, sequence: str = "zyz") -> Vector:
    """Angles about the moving axes i, j, k of `sequence`; the third is 0 where they are not unique.

    R = Ri(1) Rj(2) Rk(3): the second angle is read off row i, the first off column k, the third off
    row j of Ri(1)^T R = Rj(2) Rk(3), which stays accurate where the other two are ill defined.
    """
    index = {"x": 0, "y": 1, "z": 2}
    i, j, k = (index[letter] for letter in sequence.lower())
    parity = 1.0 if (j - i) % 3 == 1 else -1.0
    o = 3 - i - j  # the axis that is neither the first nor the second
    if i == k:  # proper: zyz, zxz, ...
        size = math.hypot(R[i][j], R[i][o])
        second = math.atan2(size, R[i][i])
        first = math.atan2(R[j][i], -parity * R[o][i])
        locked = math.atan2(parity * R[o][j], R[j][j])
    else:
        size = math.hypot(R[i][i], R[i][j])
        second = math.atan2(parity * R[i][k], size)
        first = math.atan2(-parity * R[j][k], R[k][k])
        locked = math.atan2(parity * R[k][j], R[j][j])
    if size < 1e-12:
        return locked, second, 0.0
    rest = multiply(transpose(ABOUT[sequence.lower()[0]](first)), R)
    other = 3 - j - k
    sine = rest[j][other] if (j - k) % 3 == 2 else -rest[j][other]
    return first, second, math.atan2(sine, rest[j][j])


def rotation_from_axis_angle(axis: Vector, angle: Any, fn: Functions = MATH) -> Matrix3:
    """Rodrigues: E cos + [u] sin + u u^T (1 - cos) for a unit axis u."""
    c, s = cos_sin(angle, fn)
    x, y, z = axis
    t = 1.0 - c
    return (
        (t * x * x + c, t * x * y - s * z, t * x * z + s * y),
        (t * x * y + s * z, t * y * y + c, t * y * z - s * x),
        (t * x * z - s * y, t * y * z + s * x, t * z * z + c),
    )


def rotation_z_to(axis: Vector) -> Matrix3:
    """A rotation that takes z to the unit vector `axis`: the smallest one in the upper half space,

    after a half turn about x in the lower one, where the smallest is ill defined near -z.
    """
    x, y, z = axis
    if z < 0.0:
        return multiply(
            ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0)), rotation_z_to((x, -y, -z))
        )
    k = 1.0 / (1.0 + z)
    return ((1.0 - k * x * x, -k * x * y, x), (-k * x * y, 1.0 - k * y * y, y), (-x, -y, z))


def rotation_from_quaternion(xyzw: tuple[Any, Any, Any, Any]) -> Matrix3:
    """Rotation of a quaternion x, y, z, w of any non-zero length."""
    x, y, z, w = xyzw
    k = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        (1 - k * (y * y + z * z), k * (x * y - z * w), k * (x * z + y * w)),
        (k * (x * y + z * w), 1 - k * (x * x + z * z), k * (y * z - x * w)),
        (k * (x * z - y * w), k * (y * z + x * w), 1 - k * (x * x + y * y)),
    )


def quaternion_from_rotation(R: Matrix3) -> tuple[float, float, float, float]:
    """Unit quaternion x, y, z, w with w >= 0, from the largest of the four candidates."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    candidates = (
        (1 + xx - yy - zz, yx + xy, zx + xz, zy - yz),
        (yx + xy, 1 - xx + yy - zz, zy + yz, xz - zx),
        (zx + xz, zy + yz, 1 - xx - yy + zz, yx - xy),
        (zy - yz, xz - zx, yx - xy, 1 + xx + yy + zz),
    )
    best = max(range(4), key=lambda i: candidates[i][i])
    q = candidates[best]
    norm = math.copysign(math.sqrt(sum(c * c for c in q)), q[3])
    return q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm


def normalised(v: Vector) -> Vector:
    """v / |v|; a vector that is a coordinate axis up to rounding becomes it exactly."""
    size = math.frexp(max(abs(c) for c in v))[1]  # a power of two: no square of v/2^size overflows
    v = tuple(math.ldexp(c, -size) for c in v)  # type: ignore[assignment]
    u = scale(1.0 / math.sqrt(dot(v, v)), v)
    snapped = tuple(float(round(c)) if abs(c - round(c)) < 1e-12 else c for c in u)
    return snapped  # type: ignore[return-value]
