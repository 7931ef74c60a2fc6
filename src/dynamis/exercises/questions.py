"""The questions: how the numbers of each are drawn, and what the engine answers.

A question is a function of a `NumberDraw` that names its numbers and returns the answers; its words
are in templates/exercises.LANGUAGE.toml under its name. Algorithms run over floats: nothing is
compiled.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import pi, sqrt
from random import Random
from typing import Any

from ..control.single_joint import SingleJoint
from ..model.drive import Drive
from ..model.link import Link
from ..robot import Robot, load
from ..robot.arm import Arm, arm_of
from ..spatial.functions import MATH
from ..trajectory.polynomial import quintic

G = 9.81
SCALES = {"Jm": 1e-4}  # of numbers that a text gives with a power of ten behind
NEWTON_STEPS = 4
Answers = list[float]


class NumberDraw:
    """Round numbers for one student: the same seed gives the same ones on every machine."""

    def __init__(self, seed: int, name: str):
        self._random = Random(f"{seed}/{name}")
        self.numbers: dict[str, Any] = {}
        self.angles: set[str] = set()  # numbers in degrees

    def __call__(self, name: str, least: float, most: float, step: float) -> float:
        """A multiple of `step` from `least` to `most`, kept under its name."""
        count = round((most - least) / step) + 1
        value = round(least + step * int(self._random.random() * count), 9)
        self.numbers[name] = value
        return value

    def degrees(self, name: str, least: int, most: int) -> float:
        """An angle of whole tens of degrees, in radians; shown in degrees."""
        self.angles.add(name)
        return self(name, least, most, 10) * pi / 180.0

    def sign(self, name: str, least: float, most: float, step: float) -> float:
        """A number of either sign, never small."""
        value = self(name, least, most, step)
        if self._random.random() < 0.5:
            value = self.numbers[name] = -value
        return value


def bar(length: float | str, mass: float | str) -> Link:
    """A slender bar that turns about its end; numbers, or names of symbols."""
    square = f"{mass} * {length}**2 / 12"
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


def two_bars(draw: NumberDraw, gravity: float = G) -> Arm:
    """Two slender bars with round lengths and masses."""
    (first, second), m1 = lengths(draw), draw("m1", 2.0, 8.0, 0.5)
    return planar(bar(first, m1), bar(second, draw("m2", 1.0, 5.0, 0.5)), gravity=gravity)


def angles(draw: NumberDraw) -> list[float]:
    """Of two joints; the second is neither stretched nor folded."""
    return [draw.degrees("q1", -60, 60), draw.degrees("q2", 30, 120)]


def forward_kinematics(draw: NumberDraw) -> Answers:
    """Where the tool is."""
    first, second = lengths(draw)
    T = planar(bar(first, 1.0), bar(second, 1.0)).fk(angles(draw))
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
    return [J[0][k] * force[0] + J[1][k] * force[1] for k in (0, 1)]


def gravity_torques(draw: NumberDraw) -> Answers:
    """What holds two bars and a load."""
    (first, second), m1 = lengths(draw), draw("m1", 2.0, 8.0, 0.5)
    upper, lower = bar(first, m1), bar(second, draw("m2", 1.0, 5.0, 0.5))
    load_ = draw("mL", 1.0, 4.0, 0.5)
    robot = planar_robot(upper, lower).with_payload(load_)
    return list(arm_of(robot, MATH).gravity_torque(angles(draw)))


def mass_matrix(draw: NumberDraw) -> Answers:
    """M11, M12, M22"""
    arm = two_bars(draw)
    M = arm.mass_matrix([0.0, draw.degrees("q2", 30, 120)])
    return [M[0][0], M[0][1], M[1][1]]


def coriolis(draw: NumberDraw) -> Answers:
    """C(q, qd) qd: torques of velocities alone."""
    arm = two_bars(draw, gravity=0.0)
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
    arm = arm_of(planar_robot(bar(length, mass)).with_payload(end), MATH)
    fallen = arm.potential_energy([0.0]) - arm.potential_energy([-pi / 2.0])
    return [sqrt(2.0 * fallen / arm.mass_matrix([0.0])[0][0])]


def gear(draw: NumberDraw) -> Answers:
    """Inertia at the joint and the motor's torque, behind a gear."""
    length, mass = draw("L", 0.4, 1.2, 0.1), draw("m", 2.0, 8.0, 0.5)
    ratio, rotor = draw("N", 50, 160, 10), draw("Jm", 1.0, 5.0, 0.5)
    drive = Drive(gear=ratio, rotor_inertia=SCALES["Jm"] * rotor)
    link = replace(bar(length, mass), drive=drive)
    arm = planar(link, gravity=0.0)
    qdd = draw("qdd", 1.0, 6.0, 0.5)
    inertia = arm.mass_matrix([0.0])[0][0]
    return [inertia, arm.inverse_dynamics([0.0], [0.0], [qdd])[0] / ratio]


def pd_design(draw: NumberDraw) -> Answers:
    """Gains for a critically damped joint, and the error that a disturbance leaves."""
    inertia, damping = draw("J", 0.2, 2.0, 0.1), draw("B", 0.1, 1.0, 0.1)
    w, torque = draw("w", 4, 20, 1), draw("T", 1, 6, 0.5)
    kp, kd = inertia * w**2, 2.0 * inertia * w - damping
    joint = SingleJoint(inertia, damping, 1.0, kp=kp, kd=kd)
    return [kp, kd, abs(torque * joint.disturbance_error)]


def quintic_peaks(draw: NumberDraw) -> Answers:
    """Largest velocity and acceleration of a quintic from rest to rest."""
    far, duration = draw("D", 0.4, 2.4, 0.1), draw("T", 0.5, 3.0, 0.1)
    move = quintic([0.0], [far], duration)
    speed = move(duration / 2.0).qd[0]
    return [float(speed), float(move(duration * (0.5 - sqrt(3.0) / 6.0)).qdd[0])]


def moment_from_torques(draw: NumberDraw) -> Answers:
    """First moment of a link and the zero of its torque sensor, from two measurements at rest."""
    moment, zero = draw("mc", 0.5, 4.0, 0.1), draw.sign("zero", 0.2, 1.5, 0.1)
    angle = draw.degrees("q", 40, 80)
    arm = planar(point_mass(1.0))
    unit = [arm.gravity_torque([x])[0] for x in (0.0, angle)]
    t0, t1 = (round(moment * x + zero, 3) for x in unit)
    draw.numbers = {"q": draw.numbers["q"], "t0": t0, "t1": t1}
    moment = (t0 - t1) / (unit[0] - unit[1])  # of the torques as rounded
    return [moment, t0 - moment * unit[0]]


QUESTIONS: Mapping[str, Callable[[NumberDraw], Answers]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        forward_kinematics, inverse_kinematics, tool_velocity, statics, gravity_torques,
        mass_matrix, coriolis, inverse_dynamics, release, polar, pendulum, gear, pd_design,
        quintic_peaks, moment_from_torques,
    )
}  # fmt: skip
