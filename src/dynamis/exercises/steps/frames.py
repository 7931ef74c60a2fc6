"""Steps of the questions about rotations, frames and Denavit-Hartenberg tables."""

from collections.abc import Sequence
from typing import Any

import sympy as sp

from ...equations.scalars.scalars import SYMPY
from ...spatial.frames import Frame, compose, from_matrix, point
from ...spatial.frames import inverse as inverse_frame
from ...spatial.rotations import (
    Matrix3,
    multiply,
    rotate,
    rotation_from_axis_angle,
    rotation_from_euler,
    rotation_x,
    rotation_y,
    rotation_z,
)
from ...spatial.vectors import Z, cross, dot, subtract
from ..question import Step
from .planar import symbol


def symbols(names: str) -> tuple[Any, ...]:
    """Real numbers."""
    return tuple(map(symbol, names.split()))


def tidied(expression: Any) -> Any:
    """Whole numbers instead of floats."""
    return sp.nsimplify(expression, rational=True)


def coordinates(names: str, values: Sequence[Any], unit: str = "m") -> list[Step]:
    """A step for each component of a vector."""
    return [Step(x, tidied(v), unit) for x, v in zip(names.split(), values, strict=True)]


def angle(sine: Any, cosine: Any) -> Any:
    """atan2, also where one of both is zero."""
    atan2: Any = sp.atan2
    return atan2(tidied(sine), tidied(cosine), evaluate=False)


def named_entries() -> Matrix3:
    """A matrix whose entries the text gives."""
    first, second, third = (symbols(f"r{i}1 r{i}2 r{i}3") for i in (1, 2, 3))
    return first, second, third  # type: ignore[return-value]


def dh_frames() -> list[Step]:
    """From directions and common normals."""
    b, h, L, k, s = symbols("b h L k s")
    x1, z1 = (1, 0, 0), (0, s, 0)
    link = (L, 0, k)  # from axis 2 to axis 3; it is square to both
    across, normal = cross(Z, z1), cross(x1, link)
    return [
        Step("a1", b, "m"),
        Step("alpha1", angle(dot(x1, across), dot(Z, z1)), "rad"),
        Step("d1", h, "m"),
        Step("a2", sp.sqrt(dot(link, link)), "m"),
        Step("theta2", angle(dot(z1, normal), dot(x1, link)), "rad"),
    ]


def dh_matrix() -> list[Step]:
    """Four elementary transforms, and a point."""
    theta, d, a, alpha, u, v, w = symbols("theta d a alpha u v w")
    turned = Frame(rotation_z(theta, SYMPY), (0, 0, d))
    tilted = Frame(rotation_x(alpha, SYMPY), (a, 0, 0))
    A = compose(turned, tilted)
    cells = [Step(f"A{i + 1}{j + 1}", tidied(A.R[i][j])) for i in range(3) for j in range(3)]
    cells = [x for x in cells if x.formula != 0]
    names = [[tidied(A.R[i][j]) and symbol(f"A{i + 1}{j + 1}") for j in range(3)] for i in range(3)]
    put = from_matrix([[*row, p] for row, p in zip(names, A.p, strict=True)])
    return [*cells, *coordinates("x y z", point(put, (u, v, w)))]


def rotation_order() -> list[Step]:
    """R v = Rz (Rx v): the last turn of a moving frame acts first."""
    a, b, u, v, w = symbols("a b u v w")
    inner = rotate(rotation_x(b, SYMPY), (u, v, w))
    after = rotate(rotation_z(a, SYMPY), symbols("u1 v1 w1"))  # type: ignore[arg-type]
    return [*coordinates("u1 v1 w1", inner, ""), *coordinates("x y z", after, "")]


def euler_zyz() -> list[Step]:
    """Read off the third row and the third column."""
    phi, theta, psi = symbols("phi theta psi")
    R = rotation_from_euler((phi, theta, psi), "zyz", SYMPY)
    r13, r23, r31, r32, r33 = symbols("r13 r23 r31 r32 r33")
    places = (2, 2), (0, 2), (1, 2), (2, 0), (2, 1)
    shown = [Step(f"r{i + 1}{j + 1}", tidied(R[i][j])) for i, j in places]
    return [
        *shown,
        Step("theta", sp.atan2(sp.sqrt(r13**2 + r23**2), r33), "rad"),
        Step("phi", sp.atan2(r23, r13), "rad"),
        Step("psi", sp.atan2(r32, -r31), "rad"),
    ]


def axis_angle() -> list[Step]:
    """Trace, and the part that changes sign with the transpose."""
    x, y, z, theta = symbols("x y z theta")
    R = rotation_from_axis_angle((x, y, z), theta, SYMPY)
    odd = R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]
    r = named_entries()
    named = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    found = []
    for name, axis, entry, given in zip(("kx", "ky", "kz"), (x, y, z), odd, named, strict=True):
        factor = sp.simplify(tidied(entry) / axis)  # 2 sin(theta)
        found.append(Step(name, given / factor))
    trace = sp.Add(r[0][0], r[1][1], r[2][2], -1)
    return [Step("theta", sp.acos(trace / 2), "rad"), *found]


def camera() -> list[Step]:
    """Turn about z, half a turn about x, and the way to the camera."""
    a, *v = symbols("a u v w")
    R = multiply(rotation_z(a, SYMPY), rotation_x(sp.pi, SYMPY))
    T = Frame(R, symbols("X Y Z"))  # type: ignore[arg-type]
    return coordinates("x y z", point(T, (v[0], v[1], v[2])))


def inverse_transform() -> list[Step]:
    """The way from the gripper, then the transpose."""
    a, b, *v = symbols("a b u v w")
    p = symbols("X Y Z")
    R = multiply(rotation_z(a, SYMPY), rotation_y(b, SYMPY))
    way = subtract((v[0], v[1], v[2]), (p[0], p[1], p[2]))
    seen = inverse_frame(Frame(R, (0, 0, 0)))
    return [
        *coordinates("u1 v1 w1", way),
        *coordinates("x y z", rotate(seen.R, symbols("u1 v1 w1"))),  # type: ignore[arg-type]
    ]
