"""Questions about planar arms, and single joints."""

import math
from dataclasses import replace
from math import pi, sqrt

from ...control.single_joint import SingleJoint
from ...model.drive import Drive
from ...model.link import Link
from ...robot import Robot, load
from ...robot.arm import Arm, arm_of
from ...spatial.functions import MATH
from ...trajectory.polynomial import quintic
from .draw import OWN_INERTIA, SCALES, Answers, G, NumberDraw

NEWTON_STEPS = 4


def bar(length: float | str, mass: float | str, own: str = OWN_INERTIA) -> Link:
    """A slender bar that turns about its end; numbers, or names of symbols."""
    square = f"{mass} * {length}**2 {own}"
    return Link(a=length, mass=mass, com=(f"-{length} / 2", 0, 0), inertia=(0, square, square))


def point_mass(moment: float | str) -> Link:
    """A link with a first moment about its joint, of a mass of 1 kg."""
    return Link(a=1.0, mass=1.0, com=(f"{moment} - 1", 0, 0))


def planar_robot(*links: Link, gravity: float = G) -> Robot:
    """Bars in a vertical plane, x to the right and y up; or level, without gravity."""
    return Robot.from_dh(
        "exercise", convention="standard", gravity=(0, -gravity, 0), links=list(links)
    )


def planar(*links: Link, gravity: float = G) -> Arm:
    """The arm over floats of `planar_robot`."""
    return arm_of(planar_robot(*links, gravity=gravity), MATH)


def lengths(draw: NumberDraw) -> tuple[float, float]:
    """Of two links."""
    return draw("L1", 0.4, 1.2, 0.1), draw("L2", 0.3, 1.0, 0.1)


def two_bars(draw: NumberDraw, level: bool = False) -> Arm:
    """Two slender bars with round lengths and masses, in a vertical plane or a level one."""
    (first, second), m1 = lengths(draw), draw("m1", 2.0, 8.0, 0.5)
    m2, (g, _, own) = draw("m2", 1.0, 5.0, 0.5), draw.slip
    return planar(bar(first, m1, own), bar(second, m2, own), gravity=0.0 if level else g)


def angles(draw: NumberDraw) -> list[float]:
    """Of two joints; the second is neither stretched nor folded."""
    return [draw.degrees("q1", -60, 60), draw.degrees("q2", 30, 120)]


def forward_kinematics(draw: NumberDraw) -> Answers:
    """Where the tool is."""
    first, second = lengths(draw)
    (q1, q2), arm = angles(draw), planar(bar(first, 1.0), bar(second, 1.0))
    T, absolute = arm.fk([q1, q2]), arm.fk([q1, q2 - q1])
    draw.mistake("absolute", [absolute[0][3], absolute[1][3]])
    return [T[0][3], T[1][3]]


def tool_velocity(draw: NumberDraw) -> Answers:
    """J qd"""
    first, second = lengths(draw)
    J = planar(bar(first, 1.0), bar(second, 1.0)).jacobian(angles(draw))
    qd = draw.sign("qd1", 0.5, 2.0, 0.1), draw.sign("qd2", 0.5, 2.0, 0.1)
    return [row[0] * qd[0] + row[1] * qd[1] for row in J[:2]]


def inverse_kinematics(draw: NumberDraw) -> Answers:
    """The solution with q2 > 0: that of a point with four decimals."""
    first, second = lengths(draw)
    q = angles(draw)
    arm = planar(bar(first, 1.0), bar(second, 1.0))
    T = arm.fk(q)
    x, y = round(T[0][3], 4), round(T[1][3], 4)
    draw.numbers |= {"x": x, "y": y}
    for name in ("q1", "q2"):
        del draw.numbers[name]
        draw.angles.remove(name)
    for _ in range(NEWTON_STEPS):  # from the angles drawn, which rounding moved the point away from
        T, ((a, b), (c, d)) = arm.fk(q), arm.jacobian(q)[:2]
        dx, dy, det = x - T[0][3], y - T[1][3], a * d - b * c
        q = [q[0] + (d * dx - b * dy) / det, q[1] + (a * dy - c * dx) / det]
    return q


def statics(draw: NumberDraw) -> Answers:
    """J^T F of an arm that weighs nothing."""
    first, second = lengths(draw)
    J = planar(bar(first, 1.0), bar(second, 1.0)).jacobian(angles(draw))
    force = draw.sign("Fx", 10, 50, 5), draw.sign("Fy", 10, 50, 5)
    draw.mistake("transpose", [J[k][0] * force[0] + J[k][1] * force[1] for k in (0, 1)])
    return [J[0][k] * force[0] + J[1][k] * force[1] for k in (0, 1)]


def gravity_torques(draw: NumberDraw) -> Answers:
    """What holds two bars and a load."""
    (first, second), m1 = lengths(draw), draw("m1", 2.0, 8.0, 0.5)
    upper, lower = bar(first, m1), bar(second, draw("m2", 1.0, 5.0, 0.5))
    load_ = draw("mL", 1.0, 4.0, 0.5)
    robot = planar_robot(upper, lower, gravity=draw.slip.g).with_payload(load_)
    return list(arm_of(robot, MATH).gravity_torque(angles(draw)))


def mass_matrix(draw: NumberDraw) -> Answers:
    """M11, M12, M22"""
    arm = two_bars(draw)
    M = arm.mass_matrix([0.0, draw.degrees("q2", 30, 120)])
    return [M[0][0], M[0][1], M[1][1]]


def coriolis(draw: NumberDraw) -> Answers:
    """C(q, qd) qd: torques of velocities alone."""
    arm = two_bars(draw, level=True)
    q = [0.0, draw.degrees("q2", 30, 120)]
    qd = [draw.sign("qd1", 0.5, 3.0, 0.1), draw.sign("qd2", 0.5, 3.0, 0.1)]
    return list(arm.inverse_dynamics(q, qd, [0.0, 0.0]))


def inverse_dynamics(draw: NumberDraw) -> Answers:
    """tau of a whole state."""
    arm = two_bars(draw)
    q = angles(draw)
    qd = [draw.sign("qd1", 0.5, 2.0, 0.1), draw.sign("qd2", 0.5, 2.0, 0.1)]
    qdd = [draw.sign("qdd1", 1.0, 4.0, 0.5), draw.sign("qdd2", 1.0, 4.0, 0.5)]
    return list(arm.inverse_dynamics(q, qd, qdd))


def release(draw: NumberDraw) -> Answers:
    """qdd at rest without torques."""
    arm = two_bars(draw)
    return list(arm.forward_dynamics(angles(draw), [0.0, 0.0], [0.0, 0.0]))


def polar(draw: NumberDraw) -> Answers:
    """Torque and force of a revolute and a prismatic joint, gravity along the first axis."""
    values = {"m1": draw("m1", 2.0, 8.0, 0.5), "L1": draw("L1", 0.3, 0.8, 0.1)}
    values |= {"m2": draw("m2", 1.0, 5.0, 0.5)}
    arm = arm_of(load("polar-rp").with_values(**values), MATH)
    q = [0.0, draw("r", 0.5, 1.5, 0.1)]
    qd = [draw.sign("w", 0.5, 2.0, 0.1), draw.sign("v", 0.2, 1.0, 0.1)]
    qdd = [draw.sign("alpha", 0.5, 3.0, 0.5), draw.sign("a", 0.2, 1.0, 0.1)]
    return list(arm.inverse_dynamics(q, qd, qdd))


def pendulum(draw: NumberDraw) -> Answers:
    """Angular velocity at the lowest point, by energy."""
    length, mass = draw("L", 0.4, 1.5, 0.1), draw("m", 1.0, 6.0, 0.5)
    end = draw("mE", 0.5, 4.0, 0.5)
    link = bar(length, mass, draw.slip.bar)
    arm = arm_of(planar_robot(link, gravity=draw.slip.g).with_payload(end), MATH)
    square = (mass / 3.0 + end) * length**2  # as if half the energy were all of it
    weight = draw.slip.g * length * (mass / 2.0 + end)
    draw.mistake("half", [sqrt(weight / square)])
    draw.mistake("bar_end", [sqrt(2.0 * draw.slip.g * length * (mass + end) / square)])
    fallen = arm.potential_energy([0.0]) - arm.potential_energy([-pi / 2.0])
    return [sqrt(2.0 * fallen / arm.mass_matrix([0.0])[0][0])]


def gear(draw: NumberDraw) -> Answers:
    """Inertia at the joint and the motor's torque, behind a gear."""
    length, mass = draw("L", 0.4, 1.2, 0.1), draw("m", 2.0, 8.0, 0.5)
    ratio, rotor = draw("N", 50, 160, 10), draw("Jm", 1.0, 5.0, 0.5)
    drive = Drive(gear=ratio, rotor_inertia=SCALES["Jm"] * rotor)
    link = replace(bar(length, mass, draw.slip.bar), drive=drive)
    arm = planar(link, gravity=0.0)
    qdd = draw("qdd", 1.0, 6.0, 0.5)
    inertia, own = arm.mass_matrix([0.0])[0][0], SCALES["Jm"] * rotor
    alone = inertia - own * ratio**2
    for hint, wrong in (("once", alone + ratio * own), ("rotor", alone)):
        draw.mistake(hint, [wrong, wrong * qdd / ratio])
    draw.mistake("joint_side", [math.nan, inertia * qdd])
    return [inertia, arm.inverse_dynamics([0.0], [0.0], [qdd])[0] / ratio]


def pd_design(draw: NumberDraw) -> Answers:
    """Gains for a critically damped joint, and the error that a disturbance leaves."""
    inertia, damping = draw("J", 0.2, 2.0, 0.1), draw("B", 0.1, 1.0, 0.1)
    w, torque = draw("w", 4, 20, 1), draw("T", 1, 6, 0.5)
    kp, kd = inertia * w**2, 2.0 * inertia * w - damping
    draw.mistake("damping", [math.nan, kd + damping, math.nan])
    joint = SingleJoint(inertia, damping, 1.0, kp=kp, kd=kd)
    return [kp, kd, abs(torque * joint.disturbance_error)]


def quintic_peaks(draw: NumberDraw) -> Answers:
    """Largest velocity and acceleration of a quintic from rest to rest."""
    far, duration = draw("D", 0.4, 2.4, 0.1), draw("T", 0.5, 3.0, 0.1)
    draw.mistake("cubic", [1.5 * far / duration, 6.0 * far / duration**2])
    move = quintic([0.0], [far], duration)
    speed = move(duration / 2.0).qd[0]
    return [float(speed), float(move(duration * (0.5 - sqrt(3.0) / 6.0)).qdd[0])]


def moment_from_torques(draw: NumberDraw) -> Answers:
    """First moment of a link and the zero of its torque sensor, from two measurements at rest."""
    moment, zero = draw("mc", 0.5, 4.0, 0.1), draw.sign("zero", 0.2, 1.5, 0.1)
    angle = draw.degrees("q", 40, 80)
    angle_right = draw.numbers["q"] * pi / 180.0
    unit = [planar(point_mass(1.0)).gravity_torque([x])[0] for x in (0.0, angle_right)]
    t0, t1 = (round(moment * x + zero, 3) for x in unit)
    draw.numbers = {"q": draw.numbers["q"], "t0": t0, "t1": t1}
    arm = planar(point_mass(1.0), gravity=draw.slip.g)
    unit = [arm.gravity_torque([x])[0] for x in (0.0, angle)]
    moment = (t0 - t1) / (unit[0] - unit[1])  # of the torques as rounded
    return [moment, t0 - moment * unit[0]]
