"""Drawings of planar arms, pendulums and gears."""

from math import radians

from .drawing import Drawing, Pen, Point, polar

Q1, Q2 = 22.0, 34.0  # degrees, of every planar arm
LONG, SHORT = 1.5, 1.15


def arm(
    pen: Pen, lengths: bool = True, look: str = "bar", q: tuple[float, float] = (Q1, Q2)
) -> tuple[Point, Point, Point]:
    """Two links with their angles; base, elbow and tool."""
    base = (0.0, 0.0)
    elbow = polar(base, LONG, radians(q[0]))
    tool = polar(elbow, SHORT, radians(q[0] + q[1]))
    pen.ground((0.0, -0.13), 0.44)
    pen.line((-0.09, -0.13), base, (0.09, -0.13))
    pen.line(base, elbow, look=look)
    pen.line(elbow, tool, look=look)
    if lengths:
        pen.label(polar(polar(base, 0.4 * LONG, radians(q[0])), 0.2, radians(q[0] + 90)), "L1")
        middle = polar(elbow, 0.4 * SHORT, radians(q[0] + q[1]))
        pen.label(polar(middle, 0.2, radians(q[0] + q[1] + 90)), "L2")
    pen.circle(base)
    pen.circle(elbow)
    return base, elbow, tool


def joint_angles(pen: Pen, first: bool = True) -> None:
    """q1 from the x axis, q2 from the first link."""
    base, elbow = (0.0, 0.0), polar((0.0, 0.0), LONG, radians(Q1))
    if first:
        pen.line(base, (0.95, 0.0), look="thin", dashed=True)
        pen.arc(base, 0.68, 0.0, Q1, "q1")
    pen.line(elbow, polar(elbow, 0.75, radians(Q1)), look="thin", dashed=True)
    pen.arc(elbow, 0.5, Q1, Q1 + Q2, "q2")


def plane_axes(pen: Pen, at: Point = (-0.85, -0.05)) -> None:
    """x and y of the base, beside it."""
    pen.frame(at, {"x": (0.45, 0.0), "y": (0.0, 0.45)})


def gravity(pen: Pen, at: Point = (-0.6, 1.35)) -> None:
    """The direction of gravity."""
    pen.arrow(at, (at[0], at[1] - 0.45), "g", (0.12, 0.12))


def masses(pen: Pen) -> None:
    """Names of two bars in their middle."""
    elbow = polar((0.0, 0.0), LONG, radians(Q1))
    first = polar((0.0, 0.0), 0.72 * LONG, radians(Q1))
    second = polar(elbow, 0.76 * SHORT, radians(Q1 + Q2))
    pen.label(polar(first, 0.2, radians(Q1 + 90)), "m1")
    pen.label(polar(second, 0.2, radians(Q1 + Q2 + 90)), "m2")


def forward_kinematics() -> Drawing:
    """An arm and its tool."""
    pen = Pen()
    tool = arm(pen)[2]
    joint_angles(pen)
    plane_axes(pen)
    pen.circle(tool, 0.05, "ink")
    pen.label((tool[0] + 0.12, tool[1] + 0.02), "(x, y)", "start")
    return pen.done()


def inverse_kinematics() -> Drawing:
    """An arm at a point that is given by its coordinates."""
    pen = Pen()
    tool = arm(pen)[2]
    joint_angles(pen)
    plane_axes(pen)
    pen.circle(tool, 0.05, "ink")
    pen.line((0.0, tool[1]), (tool[0] - 0.1, tool[1]), look="thin", dashed=True)
    pen.line((tool[0], 0.0), (tool[0], tool[1] - 0.1), look="thin", dashed=True)
    pen.dimension((0.0, tool[1] + 0.2), (tool[0], tool[1] + 0.2), "x", 0.13)
    pen.dimension((tool[0] + 0.55, 0.0), (tool[0] + 0.55, tool[1]), "y", -0.13)
    return pen.done()


def tool_velocity() -> Drawing:
    """An arm, rates of its joints and the velocity of its tool."""
    pen = Pen()
    tool = arm(pen)[2]
    joint_angles(pen)
    plane_axes(pen)
    pen.circle(tool, 0.05, "ink")
    pen.arrow(tool, (tool[0] - 0.6, tool[1] + 0.3), "v", (-0.08, 0.1))
    return pen.done()


def statics() -> Drawing:
    """An arm that pushes against a wall."""
    pen = Pen()
    tool = arm(pen)[2]
    joint_angles(pen)
    plane_axes(pen)
    pen.ground((tool[0] + 0.05, tool[1] + 0.05), 0.9, 90.0)
    pen.arrow(tool, (tool[0] - 0.55, tool[1] + 0.25), "F", (-0.1, 0.08))
    pen.circle(tool, 0.05, "ink")
    return pen.done()


def gravity_torques() -> Drawing:
    """Two bars that hold a load."""
    pen = Pen()
    tool = arm(pen)[2]
    joint_angles(pen)
    masses(pen)
    gravity(pen)
    pen.line(tool, (tool[0], tool[1] - 0.28), look="thin")
    pen.circle((tool[0], tool[1] - 0.4), 0.12, "shade")
    pen.label((tool[0] + 0.2, tool[1] - 0.4), "mL", "start")
    return pen.done()


def two_bars(with_q1: bool, weight: bool, rates: bool = False, torques: bool = False) -> Drawing:
    """Two bars with their masses."""
    pen = Pen()
    elbow = arm(pen)[1]
    joint_angles(pen, with_q1)
    masses(pen)
    if weight:
        gravity(pen)
    if rates or torques:
        name = "tau" if torques else "w"
        pen.arc((0.0, 0.0), 0.3, 120.0, 215.0, f"{name}_1", 0.19)
        pen.arc(elbow, 0.3, -75.0, 5.0, f"{name}_2", 0.19)
    return pen.done()


def polar_arm() -> Drawing:
    """A rod seen from above: a mass on it, and one that slides."""
    pen = Pen()
    a = radians(24.0)
    pen.line(polar((0.0, 0.0), -0.35, a), polar((0.0, 0.0), 2.5, a), look="bar")
    first, second = polar((0.0, 0.0), 0.85, a), polar((0.0, 0.0), 1.95, a)
    corners = [polar(polar(second, s * 0.2, a), t * 0.13, a + 1.5708) for s, t in
               ((-1, -1), (1, -1), (1, 1), (-1, 1))]  # fmt: skip
    pen.circle((0.0, 0.0), 0.1)
    pen.circle(first, 0.12, "ink")
    pen.area(*corners)
    for p, side, name in ((first, -0.42, "L1"), (second, -0.72, "r")):
        foot = polar((0.0, 0.0), side, a + 1.5708)
        end = polar(p, side, a + 1.5708)
        pen.line(p, end, look="thin", dashed=True)
        pen.dimension(foot, end, name, 0.13)
    pen.line((0.0, 0.0), polar((0.0, 0.0), -0.72, a + 1.5708), look="thin", dashed=True)
    pen.label(polar(first, 0.26, a + 1.5708), "m1")
    pen.label(polar(second, 0.28, a + 1.5708), "m2")
    pen.arrow(polar(second, 0.3, a), polar(second, 0.75, a), "v", (0.1, 0.02))
    pen.arc((0.0, 0.0), 0.4, 60.0, 150.0, "w")
    return pen.done()


def pendulum() -> Drawing:
    """A bar that falls from the level to its lowest point."""
    pen = Pen()
    pen.ground((0.0, 0.13), 0.5, 180.0)
    pen.line((-0.09, 0.13), (0.0, 0.0), (0.09, 0.13))
    pen.line((0.0, 0.0), (1.6, 0.0), look="bar")
    pen.line((0.0, 0.0), (0.0, -1.6), look="line", dashed=True)
    pen.circle((0.0, 0.0))
    pen.circle((1.6, 0.0), 0.14, "shade")
    pen.circle((0.0, -1.6), 0.14)
    pen.label((1.84, 0.0), "mE", "start")
    pen.label((0.75, -0.18), "m")
    pen.dimension((0.0, 0.36), (1.6, 0.36), "L", 0.13)
    pen.arrow((-0.16, -1.6), (-0.6, -1.6))
    pen.arc((0.0, 0.0), 1.2, -8.0, -82.0, "omega", -0.2)
    gravity(pen, (1.85, -0.7))
    return pen.done()


def drive(pen: Pen) -> None:
    """A motor, a gear and a shaft."""
    pen.box((0.0, 0.0), 0.7, 0.5, "motor")
    pen.line((0.35, 0.0), (0.75, 0.0))
    pen.box((1.05, 0.0), 0.6, 0.7, "gear")
    pen.line((1.35, 0.0), (1.9, 0.0))


def gear() -> Drawing:
    """A motor behind a gear, and a bar that it turns."""
    pen = Pen()
    drive(pen)
    pen.label((0.0, -0.4), "Jm")
    pen.label((1.05, -0.5), "N")
    pen.circle((1.98, 0.0), 0.08)
    pen.line((2.02, 0.0), (3.3, 0.45), look="bar")
    pen.dimension((2.1, -0.28), (3.38, 0.17), "L", -0.15)
    pen.label((2.6, 0.42), "m")
    pen.arc((1.98, 0.0), 0.45, 40.0, 115.0, "tau")
    return pen.done()


def motor_speed() -> Drawing:
    """A motor behind a gear with losses."""
    pen = Pen()
    drive(pen)
    pen.label((1.05, -0.5), "N, η")
    pen.label((0.55, 0.28), "n")
    pen.label((0.55, -0.24), "tau_m")
    pen.circle((2.0, 0.0), 0.1)
    pen.arc((2.0, 0.0), 0.36, -70.0, 70.0, "tau", 0.16)
    return pen.done()


def moment_from_torques() -> Drawing:
    """A link in two poses, its centre of mass, and the sensor in its joint."""
    pen = Pen()
    tip = polar((0.0, 0.0), 1.9, radians(48.0))
    middle = polar((0.0, 0.0), 1.15, radians(48.0))
    pen.line((0.0, 0.0), (1.9, 0.0), dashed=True)
    pen.line((0.0, 0.0), tip, look="bar")
    pen.circle((0.0, 0.0), 0.13, "shade")
    pen.circle(middle, 0.08, "ink")
    pen.arrow(middle, (middle[0], middle[1] - 0.5), "m g", (0.22, 0.05))
    beside = [polar(p, 0.28, radians(138.0)) for p in ((0.0, 0.0), middle)]
    pen.dimension(beside[0], beside[1], "c", 0.13)
    pen.arc((0.0, 0.0), 0.45, 0.0, 48.0, "q")
    pen.label((-0.12, -0.28), "sensor")
    return pen.done()


def composite_link() -> Drawing:
    """A bar with a motor at its end, from the side."""
    pen = Pen()
    pen.ground((0.0, -0.15), 0.44)
    pen.line((-0.09, -0.15), (0.0, 0.0), (0.09, -0.15))
    pen.line((0.0, 0.0), (2.2, 0.0), look="bar")
    pen.circle((0.0, 0.0))
    pen.circle((2.2, 0.0), 0.32, "shade")
    pen.circle((2.2, 0.0), 0.03, "ink")
    pen.circle((1.5, 0.0), 0.06, "ink")
    pen.label((0.75, 0.18), "m")
    pen.label((2.64, 0.12), "mE", "start")
    end = polar((2.2, 0.0), 0.32, radians(60.0))
    pen.arrow((2.2, 0.0), end, "R", (0.1, 0.1), look="thin")
    for x, y, name in ((1.5, -0.45, "c"), (2.2, -0.75, "L")):
        pen.line((x, 0.0), (x, y), look="thin", dashed=True)
        pen.dimension((0.0, y), (x, y), name, 0.13)
    pen.line((0.0, -0.3), (0.0, -0.75), look="thin", dashed=True)
    return pen.done()


def workspace() -> Drawing:
    """A ring that the tool reaches, and the arm stretched and bent."""
    pen = Pen()
    pen.circle((0.0, 0.0), 1.5, "shade")
    pen.circle((0.0, 0.0), 0.62, "paper")
    elbow = (0.0, 0.85)
    pen.line((0.0, 0.0), elbow, look="bar")
    tool = polar((0.0, 0.0), 0.62, radians(25.0))
    pen.line(elbow, (0.0, 1.5), look="thin", dashed=True)
    pen.line(elbow, tool, look="bar")
    pen.circle((0.0, 0.0))
    pen.circle(elbow)
    pen.label((-0.16, 0.45), "L1")
    pen.label((0.45, 0.7), "L2")
    pen.arc(elbow, 0.35, 90.0, -45.0, "qm", 0.17)
    pen.arrow((0.0, 0.0), polar((0.0, 0.0), 1.5, radians(-35.0)), look="thin")
    pen.label((0.85, -0.75), "Ro")
    pen.arrow((0.0, 0.0), polar((0.0, 0.0), 0.62, radians(-145.0)), look="thin")
    pen.label((-0.2, -0.33), "Ri")
    return pen.done()
