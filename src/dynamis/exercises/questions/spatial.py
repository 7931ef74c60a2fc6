"""Questions about arms in space, workspaces, prismatic joints, and bodies."""

from dataclasses import replace
from math import atan2, cos, hypot, nan, pi, sin, sqrt

from ...model.link import Link
from ...robot import Robot
from ...robot.arm import Arm, arm_of
from ...spatial.functions import MATH
from ...spatial.vectors import add, cross, scale, subtract
from .draw import OWN_INERTIA, Answers, G, NumberDraw
from .planar import angles, bar, lengths, two_bars

Number = float | str


def elbow_robot(upper: Number, fore: Number) -> Robot:
    """An anthropomorphic arm without bodies: a vertical axis, then two parallel level ones."""
    links = [Link(alpha="pi/2"), Link(a=upper), Link(a=fore)]
    return Robot.from_dh("exercise", convention="standard", links=links)


def turret_robot(
    length: Number, mass: Number, offset: Number, own: str = OWN_INERTIA, g: Number = G
) -> Robot:
    """A bar that a level joint lifts, beside a vertical axis that turns it."""
    links = [Link(alpha="pi/2"), replace(bar(length, mass, own), d=offset)]
    gravity = (0.0, 0.0, f"-{g}")
    return Robot.from_dh("exercise", convention="standard", gravity=gravity, links=links)


def lift_robot(
    length: Number, carriage: Number, mass: Number, own: str = OWN_INERTIA, g: Number = G
) -> Robot:
    """A vertical slide whose carriage holds a bar that turns in a vertical plane."""
    links = [Link(joint="prismatic", alpha="pi/2", mass=carriage), bar(length, mass, own)]
    gravity = (0.0, 0.0, f"-{g}")
    return Robot.from_dh("exercise", convention="standard", gravity=gravity, links=links)


def floats(robot: Robot) -> Arm:
    """The arm over floats."""
    return arm_of(robot, MATH)


def singularity(draw: NumberDraw) -> Answers:
    """Determinant of the Jacobian of the position, and where the tool is on the first axis."""
    upper, fore = draw("L2", 0.5, 0.9, 0.1), draw("L3", 0.3, 0.5, 0.1)
    q2, q3 = draw.degrees("q2", -30, 30), draw.degrees("q3", 30, 90)
    J = floats(elbow_robot(upper, fore)).jacobian([0.0, q2, q3])
    a, b, c = J[:3]
    det = (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )
    draw.mistake("plane", [upper * fore * sin(q3), nan])
    draw.mistake("absolute", [-upper * fore * sin(q3) * (upper * cos(q2) + fore * cos(q3)), nan])
    return [det, atan2(upper + fore * cos(q3), fore * sin(q3))]


def workspace(draw: NumberDraw) -> Answers:
    """Reach, hole and area of a planar arm whose second joint has a limit."""
    (first, second), limit = lengths(draw), draw.degrees("qm", 80, 150)
    outer = first + second
    inner = sqrt(first**2 + second**2 + 2.0 * first * second * cos(limit))
    for hint, hole in (
        ("limit", abs(first - second)),
        ("law_of_cosines", sqrt(first**2 + second**2 - 2.0 * first * second * cos(limit))),
        ("hole", 0.0),
    ):
        draw.mistake(hint, [nan, hole or nan, pi * (outer**2 - hole**2)])
    return [outer, inner, pi * (outer**2 - inner**2)]


def wrist_center(draw: NumberDraw) -> Answers:
    """Centre of a spherical wrist, and the angle of the first joint."""
    p = draw("x", 0.5, 1.0, 0.1), draw.sign("y", 0.2, 0.6, 0.1), draw("z", 0.3, 0.8, 0.1)
    d, a, b = draw("d6", 0.1, 0.25, 0.05), draw.degrees("a", 20, 60), draw.degrees("b", 10, 60)
    way = scale(d, (cos(b) * cos(a), cos(b) * sin(a), -sin(b)))
    x, y, z = subtract(p, way)
    outwards = add(p, way)
    draw.mistake("outwards", [*outwards, atan2(outwards[1], outwards[0])])
    draw.mistake("tool", [*p, atan2(p[1], p[0])])
    return [x, y, z, atan2(y, x)]


def spherical_inverse(draw: NumberDraw) -> Answers:
    """Two angles and the length of a slide that take the tool to a point."""
    x, y, z = draw("x", 0.4, 0.9, 0.1), draw.sign("y", 0.2, 0.8, 0.1), draw("z", 0.8, 1.4, 0.1)
    h = draw("h", 0.3, 0.6, 0.1)
    level = hypot(x, y)
    draw.mistake("height", [nan, atan2(z, level), hypot(level, z)])
    draw.mistake("from_above", [nan, atan2(level, z - h), nan])
    return [atan2(y, x), atan2(z - h, level), hypot(level, z - h)]


def cylindrical_velocity(draw: NumberDraw) -> Answers:
    """Velocity of the tool of an arm that turns, lifts and stretches."""
    q, r = draw.degrees("q1", 20, 70), draw("r", 0.4, 1.0, 0.1)
    w, rise, out = (
        draw.sign("w", 0.5, 1.5, 0.1), draw.sign("vz", 0.1, 0.5, 0.1),
        draw.sign("vr", 0.2, 0.8, 0.1),
    )  # fmt: skip
    vx, vy = out * cos(q) - r * w * sin(q), out * sin(q) + r * w * cos(q)
    draw.mistake("turn", [out * cos(q), out * sin(q), hypot(out, rise)])
    draw.mistake("level", [nan, nan, hypot(vx, vy)])
    return [vx, vy, sqrt(vx**2 + vy**2 + rise**2)]


def composite_link(draw: NumberDraw) -> Answers:
    """Centre of mass and inertias of a bar with a motor at its end."""
    L, m = draw("L", 0.4, 0.9, 0.1), draw("m", 2.0, 6.0, 0.5)
    end, radius = draw("mE", 1.0, 4.0, 0.5), draw("R", 0.06, 0.14, 0.02)
    motor = end * (L**2 + radius**2 / 2.0)
    c, total = (m / 2.0 + end) * L / (m + end), m * L**2 / 3.0 + motor
    whole = (m + end) * c**2
    draw.mistake("twelfth", [nan, m * L**2 / 12.0 + motor, m * L**2 / 12.0 + motor - whole])
    draw.mistake("steiner", [nan, nan, total + whole])
    draw.mistake("middle", [L / 2.0, nan, total - (m + end) * L**2 / 4.0])
    return [c, total, total - whole]


def newton_euler(draw: NumberDraw) -> Answers:
    """Force along the bar and both torques of a bar beside a vertical axis."""
    L, m, e = draw("L", 0.5, 1.0, 0.1), draw("m", 2.0, 6.0, 0.5), draw("e", 0.1, 0.3, 0.05)
    q2 = draw.degrees("q2", 20, 60)
    qd = draw.sign("qd1", 0.5, 2.0, 0.1), draw.sign("qd2", 0.5, 2.0, 0.1)
    qdd = draw.sign("qdd1", 1.0, 4.0, 0.5), draw.sign("qdd2", 1.0, 4.0, 0.5)
    g, _, own = draw.slip

    r, up, (a1, a2) = (L / 2.0, 0.0, e), (sin(q2), cos(q2), 0.0), qdd

    def answers(w1: float, w2: float) -> Answers:
        turn = add(scale(w1, up), (0.0, 0.0, w2))
        speeding = add(scale(a1, up), (cos(q2) * w1 * w2, -sin(q2) * w1 * w2, a2))
        along = add(cross(speeding, r), cross(turn, cross(turn, r)), scale(g, up))[0]
        arm = floats(turret_robot(L, m, e, own, g))
        return [m * along, *arm.inverse_dynamics([0.0, q2], [w1, w2], list(qdd))]

    draw.mistake("velocities", answers(0.0, 0.0))
    draw.mistake("gravity", _without_weight(answers(*qd), m * g, L, q2))
    return answers(*qd)


def _without_weight(right: Answers, weight: float, L: float, q2: float) -> Answers:
    force, tau1, tau2 = right
    return [force - weight * sin(q2), tau1, tau2 - weight * L / 2.0 * cos(q2)]


def walker_orin(draw: NumberDraw) -> Answers:
    """Mass matrix and accelerations, from torques of inverse dynamics with four decimals."""
    arm = two_bars(draw)
    q = angles(draw)
    qd = [draw.sign("w1", 0.5, 2.0, 0.1), draw.sign("w2", 0.5, 2.0, 0.1)]
    torques = {
        "g": arm.inverse_dynamics(q, [0.0, 0.0], [0.0, 0.0]),
        "a": arm.inverse_dynamics(q, [0.0, 0.0], [1.0, 0.0]),
        "b": arm.inverse_dynamics(q, [0.0, 0.0], [0.0, 1.0]),
        "h": arm.inverse_dynamics(q, qd, [0.0, 0.0]),
    }
    draw.hide("L1", "L2", "m1", "m2", "q1", "q2", "w1", "w2")
    g, a, b, h = (
        [draw.given(f"{name}{k + 1}", tau[k]) for k in (0, 1)] for name, tau in torques.items()
    )
    more = draw.sign("d1", 1.0, 6.0, 0.1), draw.sign("d2", 0.2, 1.0, 0.1)
    draw.hide("d1", "d2")
    tau = [draw.given(f"t{k + 1}", h[k] + more[k], 1) for k in (0, 1)]

    def answers(m11: float, m21: float, m12: float, m22: float, rest: list[float]) -> Answers:
        r1, r2, det = tau[0] - rest[0], tau[1] - rest[1], m11 * m22 - m12 * m21
        return [m11, m12, m22, (m22 * r1 - m12 * r2) / det, (m11 * r2 - m21 * r1) / det]

    columns = a[0] - g[0], a[1] - g[1], b[0] - g[0], b[1] - g[1]
    draw.mistake("gravity", answers(a[0], a[1], b[0], b[1], h))
    draw.mistake("velocities", [nan, nan, nan, *answers(*columns, g)[3:]])
    draw.mistake("twice", [nan, nan, nan, *answers(*columns, [g[0] + h[0], g[1] + h[1]])[3:]])
    return answers(*columns, h)


def lift(draw: NumberDraw) -> Answers:
    """Force of a vertical slide and torque of the bar that it carries."""
    L, m1, m2 = draw("L", 0.4, 1.0, 0.1), draw("m1", 3.0, 8.0, 0.5), draw("m2", 1.0, 4.0, 0.5)
    q, a = draw.degrees("q", 20, 70), draw.sign("a", 0.5, 2.0, 0.1)
    w, alpha = draw.sign("w", 1.0, 3.0, 0.1), draw.sign("alpha", 1.0, 4.0, 0.5)
    g, _, own = draw.slip
    arm = floats(lift_robot(L, m1, m2, own, g))
    right = list(arm.inverse_dynamics([0.0, q], [0.0, w], [a, alpha]))
    draw.mistake("carriage", [right[0] - m2 * (a + g), right[1]])
    draw.mistake(
        "alone", [(m1 + m2) * (a + g), m2 * L**2 / 3.0 * alpha + m2 * g * L / 2.0 * cos(q)]
    )
    return right
