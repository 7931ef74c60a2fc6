"""Questions about rotations, frames and Denavit-Hartenberg tables."""

from math import acos, atan2, hypot, nan, pi, sin, sqrt

from ...robot import Robot
from ...spatial.frames import Frame, dh_frame, point
from ...spatial.frames import inverse as inverse_frame
from ...spatial.rotations import (
    Matrix3,
    multiply,
    rotate,
    rotate_back,
    rotation_from_axis_angle,
    rotation_from_euler,
    rotation_x,
    rotation_y,
    rotation_z,
)
from ...spatial.vectors import Vector, subtract
from .draw import Answers, NumberDraw


def vector(draw: NumberDraw, names: str, least: float, most: float) -> Vector:
    """Three numbers of either sign."""
    x, y, z = (draw.sign(name, least, most, 0.1) for name in names.split())
    return x, y, z


def entries(draw: NumberDraw, R: Matrix3) -> Matrix3:
    """A rotation as the text gives it, with four decimals."""
    rows = [[draw.given(f"r{i + 1}{j + 1}", R[i][j]) for j in range(3)] for i in range(3)]
    first, second, third = ((x, y, z) for x, y, z in rows)
    return first, second, third


def dh_frames(draw: NumberDraw) -> Answers:
    """Rows 1 and 2 of a table, from axes: skew and perpendicular, then parallel."""
    b, h = draw("b", 0.1, 0.4, 0.05), draw("h", 0.3, 0.8, 0.05)
    L, k = draw("L", 0.4, 0.9, 0.05), draw("k", 0.1, 0.35, 0.05)
    s = draw.sign("s", 1.0, 1.0, 1.0)
    axes = [
        ("revolute", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        ("revolute", (b, 0.0, h), (0.0, s, 0.0)),
        ("revolute", (b + L, 0.0, h + k), (0.0, s, 0.0)),
    ]
    first, second, _ = Robot.from_axes("exercise", axes, convention="standard").model.links
    theta = float(second.offset)
    draw.mistake("along_x", [nan, nan, nan, L, nan])
    draw.mistake("in_degrees", [nan, -90.0 * s, nan, nan, theta * 180.0 / pi])
    row = (first.a, first.alpha, first.d, second.a)
    return [*map(float, row), theta]


def dh_matrix(draw: NumberDraw) -> Answers:
    """A point of one frame in the frame before, by a row of a table."""
    theta, alpha = draw.degrees("theta", 20, 70), draw.degrees("alpha", 20, 80)
    d, a = draw("d", 0.1, 0.5, 0.05), draw("a", 0.3, 0.9, 0.05)
    p = vector(draw, "u v w", 0.2, 0.8)
    draw.mistake("modified", point(dh_frame("modified", theta, d, a, alpha), p))
    right = dh_frame("standard", theta, d, a, alpha)
    draw.mistake("backwards", point(inverse_frame(right), p))
    return list(point(right, p))


def rotation_order(draw: NumberDraw) -> Answers:
    """A vector after two turns, the second about an axis that moved with the first."""
    first, second = draw.degrees("a", 20, 70), draw.degrees("b", 30, 80)
    v = vector(draw, "u v w", 1.0, 3.0)
    z, x = rotation_z(first), rotation_x(second)
    draw.mistake("fixed_axes", rotate(multiply(x, z), v))
    draw.mistake("backwards", rotate_back(multiply(z, x), v))
    return list(rotate(multiply(z, x), v))


def euler_zyz(draw: NumberDraw) -> Answers:
    """Angles about z, y and z of a matrix with four decimals."""
    angles = (
        draw.degrees("phi", 20, 160), draw.degrees("theta", 30, 150), draw.degrees("psi", -160, -20)
    )  # fmt: skip
    draw.hide("phi", "theta", "psi")
    R = entries(draw, rotation_from_euler(angles))
    draw.mistake("other_theta", [atan2(-R[1][2], -R[0][2]), nan, atan2(-R[2][1], R[2][0])])
    theta = atan2(hypot(R[0][2], R[1][2]), R[2][2])
    return [atan2(R[1][2], R[0][2]), theta, atan2(R[2][1], -R[2][0])]


def axis_angle(draw: NumberDraw) -> Answers:
    """One turn that is the same as a matrix with four decimals."""
    u, turn = vector(draw, "u v w", 1.0, 3.0), draw.degrees("theta", 40, 140)
    size = sqrt(sum(x * x for x in u))
    draw.hide("u", "v", "w", "theta")
    R = entries(draw, rotation_from_axis_angle((u[0] / size, u[1] / size, u[2] / size), turn))
    theta = acos((R[0][0] + R[1][1] + R[2][2] - 1.0) / 2.0)
    odd = R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]
    draw.mistake("half", [nan, *(x / sin(theta) for x in odd)])
    return [theta, *(x / (2.0 * sin(theta)) for x in odd)]


def camera(draw: NumberDraw) -> Answers:
    """A point that a camera sees, in the frame of the base."""
    p = draw("X", 0.4, 1.0, 0.1), draw("Y", 0.2, 0.8, 0.1), draw("Z", 1.0, 1.8, 0.1)
    turn = draw.degrees("a", 20, 70)
    v = draw.sign("u", 0.1, 0.4, 0.05), draw.sign("v", 0.1, 0.4, 0.05), draw("w", 0.7, 1.0, 0.05)
    R = multiply(rotation_z(turn), rotation_x(pi))
    draw.mistake("translation", rotate(R, v))
    draw.mistake("upright", point(Frame(rotation_z(turn), p), v))
    return list(point(Frame(R, p), v))


def inverse_transform(draw: NumberDraw) -> Answers:
    """A point of the base in the frame of the gripper."""
    p = draw("X", 0.3, 0.8, 0.1), draw("Y", 0.2, 0.6, 0.1), draw("Z", 0.5, 0.9, 0.1)
    a, b = draw.degrees("a", 20, 70), draw.degrees("b", 20, 70)
    v = draw("u", 0.9, 1.4, 0.1), draw("v", 0.7, 1.1, 0.1), draw("w", 0.1, 0.4, 0.1)
    T = Frame(multiply(rotation_z(a), rotation_y(b)), p)
    draw.mistake("forwards", point(T, v))
    draw.mistake("not_transposed", rotate(T.R, subtract(v, p)))
    draw.mistake("origin", subtract(rotate_back(T.R, v), p))
    return list(point(inverse_frame(T), v))
