"""Rigid-body inertia by its ten linear parameters, about the origin of a frame.

Order as Pinocchio's: m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz.
"""

import math
from typing import Any, NamedTuple

from .frames import Frame
from .rotations import Matrix3, multiply, rotate, transpose
from .vectors import ZERO, Vector, add, cross, dot, negate, scale

Symmetric = tuple[Any, Any, Any, Any, Any, Any]  # xx, xy, yy, xz, yz, zz

NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


class Inertia(NamedTuple):
    """Mass m, first moment h = m c, second moment I about the frame's origin."""

    m: Any = 0.0
    h: Vector = ZERO
    I: Symmetric = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def linear(a: Inertia) -> tuple[Any, ...]:
    """The ten parameters in order."""
    return (a.m, *a.h, *a.I)


def from_linear(values: Any) -> Inertia:
    """Inertia from its ten parameters in order."""
    m, hx, hy, hz, *rest = values
    return Inertia(m, (hx, hy, hz), tuple(rest))


def symmetric_matrix(S: Symmetric) -> Matrix3:
    """Rows of a symmetric matrix."""
    xx, xy, yy, xz, yz, zz = S
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def symmetric_of(M: Matrix3) -> Symmetric:
    """The six entries of a symmetric matrix given as rows."""
    return M[0][0], M[0][1], M[1][1], M[0][2], M[1][2], M[2][2]


def from_entries(entries: Any) -> Symmetric:
    """From the order in which people write the six entries: xx yy zz xy yz xz."""
    xx, yy, zz, xy, yz, xz = entries
    return xx, xy, yy, xz, yz, zz


def entries(S: Symmetric) -> tuple[Any, ...]:
    """The six entries in the order in which people write them: xx yy zz xy yz xz."""
    xx, xy, yy, xz, yz, zz = S
    return xx, yy, zz, xy, yz, xz


def times(S: Symmetric, v: Vector) -> Vector:
    """S v"""
    return rotate(symmetric_matrix(S), v)


def about_point(m: Any, c: Vector) -> Symmetric:
    """m (c.c E - c c^T): the inertia of a mass m at c."""
    x, y, z = c
    return (
        m * (y * y + z * z),
        -m * x * y,
        m * (x * x + z * z),
        -m * x * z,
        -m * y * z,
        m * (x * x + y * y),
    )


def from_com(m: Any, c: Vector, Ic: Symmetric) -> Inertia:
    """From mass, centre of mass and inertia about it: I = Ic + m (c.c E - c c^T)."""
    shift = about_point(m, c)
    total = tuple(a + b for a, b in zip(Ic, shift, strict=True))
    return Inertia(m, scale(m, c), total)


def to_com(a: Inertia) -> tuple[Any, Vector, Symmetric]:
    """Mass, centre of mass and inertia about it; the mass must not be zero."""
    c = scale(1.0 / a.m, a.h)
    shift = about_point(a.m, c)
    return a.m, c, tuple(i - s for i, s in zip(a.I, shift, strict=True))


def to_com_slope(a: Inertia) -> list[list[Any]]:
    """Derivative of `to_com` by the ten parameters, rows as mass, centre, inertia, (10, 10)."""
    x, y, z = scale(1.0 / a.m, a.h)
    moments = (
        (y * y + z * z, 0.0, -2.0 * y, -2.0 * z),
        (-x * y, y, x, 0.0),
        (x * x + z * z, -2.0 * x, 0.0, -2.0 * z),
        (-x * z, z, 0.0, x),
        (-y * z, 0.0, z, y),
        (x * x + y * y, -2.0 * x, -2.0 * y, 0.0),
    )
    rows: list[list[Any]] = [[float(i == k) for i in range(10)] for k in range(10)]
    for k, c in enumerate((x, y, z), start=1):
        rows[k][0], rows[k][k] = -c / a.m, 1.0 / a.m
    for row, of_mass in zip(rows[4:], moments, strict=True):
        row[:4] = of_mass
    return rows


def plus(a: Inertia, b: Inertia) -> Inertia:
    """Two bodies as one."""
    return Inertia(a.m + b.m, add(a.h, b.h), tuple(i + j for i, j in zip(a.I, b.I, strict=True)))


def moved(a: Inertia, t: Vector) -> Inertia:
    """The body displaced by t, still about the origin."""
    h = add(a.h, scale(a.m, t))
    (hx, hy, hz), (x, y, z) = a.h, t
    ht = 2.0 * dot(a.h, t) + a.m * dot(t, t)
    xx, xy, yy, xz, yz, zz = a.I
    return Inertia(
        a.m,
        h,
        (
            xx + ht - 2.0 * hx * x - a.m * x * x,
            xy - hx * y - hy * x - a.m * x * y,
            yy + ht - 2.0 * hy * y - a.m * y * y,
            xz - hx * z - hz * x - a.m * x * z,
            yz - hy * z - hz * y - a.m * y * z,
            zz + ht - 2.0 * hz * z - a.m * z * z,
        ),
    )


def rotated(a: Inertia, R: Matrix3) -> Inertia:
    """The body in coordinates turned by R: h -> R h, I -> R I R^T."""
    turned = multiply(multiply(R, symmetric_matrix(a.I)), transpose(R))
    return Inertia(a.m, rotate(R, a.h), symmetric_of(turned))


def turned_entries(values: Any, R: Matrix3) -> tuple[Any, ...]:
    """R I R^T, both sides as xx yy zz xy yz xz."""
    return entries(rotated(Inertia(I=from_entries(values)), R).I)


def transformed(T_ab: Frame, body_b: Inertia) -> Inertia:
    """Inertia about the origin of a of a body given in b."""
    return moved(rotated(body_b, T_ab.R), T_ab.p)


def transformed_back(T_ab: Frame, body_a: Inertia) -> Inertia:
    """Inertia about the origin of b of a body given in a."""
    centred = moved(body_a, negate(T_ab.p))
    return rotated(centred, transpose(T_ab.R))


def eigenvalues(S: Symmetric) -> tuple[float, float, float]:
    """Eigenvalues of a symmetric 3x3 matrix, smallest first (Smith 1961)."""
    xx, xy, yy, xz, yz, zz = S
    mean = (xx + yy + zz) / 3.0
    a, b, c = xx - mean, yy - mean, zz - mean
    radius = math.sqrt((a * a + b * b + c * c + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    if radius == 0.0:
        return mean, mean, mean
    det = a * (b * c - yz * yz) - xy * (xy * c - yz * xz) + xz * (xy * yz - b * xz)
    angle = math.acos(max(-1.0, min(1.0, det / (2.0 * radius**3)))) / 3.0
    largest = mean + 2.0 * radius * math.cos(angle)
    least = mean + 2.0 * radius * math.cos(angle + 2.0 * math.pi / 3.0)
    return least, 3.0 * mean - largest - least, largest


def second_moments(S: Symmetric) -> Symmetric:
    """The integrals of r r^T that belong to an inertia: trace(I)/2 E - I."""
    xx, xy, yy, xz, yz, zz = S
    half = 0.5 * (xx + yy + zz)
    return half - xx, -xy, half - yy, -xz, -yz, half - zz


def pseudo_inertia(a: Inertia) -> tuple[tuple[Any, ...], ...]:
    """J = [[second moments, h], [h^T, m]], 4x4, as rows."""
    rows = symmetric_matrix(second_moments(a.I))
    return ((*rows[0], a.h[0]), (*rows[1], a.h[1]), (*rows[2], a.h[2]), (*a.h, a.m))


def force_and_moment(a: Inertia, w: Vector, wd: Vector, acceleration: Vector) -> tuple:
    """Newton and Euler about the origin: what must act on the body for it to move so.

    F = m a + wd x h + w x (w x h),   N = I wd + w x (I w) + h x a
    """
    F = add(scale(a.m, acceleration), cross(wd, a.h), cross(w, cross(w, a.h)))
    N = add(times(a.I, wd), cross(w, times(a.I, w)), cross(a.h, acceleration))
    return F, N
