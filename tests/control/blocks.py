"""One control law at one sample, over any scalar; and the arms and states it is tried on."""

from types import SimpleNamespace

import numpy as np

import dynamis as dy
from dynamis.control import (
    ComputedTorque,
    FeedForward,
    FlatnessFeedForward,
    Impedance,
    JointPID,
    MotorPD,
    Notch,
    PointToPoint,
    Sample,
    SlotineLi,
    TaskSpace,
)
from dynamis.control.controller import reference_of
from dynamis.model.chain import chain
from dynamis.robot.arm import Arm
from dynamis.spatial.functions import MATH
from tests.random_robots import build, lossless

LAWS = {
    "joint-pid": JointPID(60.0, 20.0, 9.0, gravity=True, limit=90.0),
    "joint-pid-error": JointPID(60.0, 20.0, 9.0, derivative="error"),
    "point-to-point": PointToPoint(25.0, 10.0, friction="measured"),
    "computed-torque": ComputedTorque(25.0, 10.0, 100.0, friction="measured", limit=500.0),
    "feed-forward": FeedForward(50.0, 8.0),
    "slotine-li": SlotineLi(8.0, 5.0, 0.3),
    "task-space": TaskSpace(25.0, 10.0),
    "impedance": Impedance(300.0, damping=40.0),
    "impedance-ratio": Impedance(300.0, damping_ratio=0.7),
    "motor-pd": MotorPD(60.0, 9.0, limit=90.0),
    "flatness": FlatnessFeedForward(50.0, 8.0),
    "notch": Notch(JointPID(60.0, 20.0, 9.0, gravity=True), 12.0, limit=90.0, sample_time=0.002),
}

ARMS = {
    "puma560": lambda: dy.load("puma560"),
    "panda": lambda: dy.load("panda"),
    "planar-2link": lambda: dy.load("planar-2link"),
    "stanford": lambda: dy.load("stanford"),
    "random-rpr": lambda: lossless(build("standard", ("revolute", "prismatic", "revolute"), 5)),
    "random-tree": lambda: lossless(
        build("urdf", ("revolute", "prismatic", "revolute"), 8, [-1, 0, 0])
    ),
    "random-rotors": lambda: lossless(build("modified", ("revolute",) * 3, 4, rotors="full")),
}


def sample(robot, seed=0, near=0.3):
    """q, qd and a reference near them: q_d, qd_d, qdd_d."""
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(0.2, 1.2, robot.n), rng.normal(size=robot.n)
    q_d, qd_d = q + near * rng.normal(size=robot.n), qd + rng.normal(size=robot.n)
    return q, qd, q_d, qd_d, rng.normal(size=robot.n)


def arm_of(law, robot, fn=MATH):
    return Arm(chain((law.model or robot).model), fn)


def gains_of(law, robot):
    return SimpleNamespace(**law.gains(robot))


def stepped(law, robot, state_of_arm, dt=1e-3, state=None, fn=MATH, gains=None):
    """(torque, state after) of one sample; the state before is the law's own start."""
    q, qd, q_d, qd_d, qdd_d = (
        list(v) if fn is not MATH else np.asarray(v).tolist() for v in state_of_arm
    )
    arm, gains = arm_of(law, robot, fn), gains or gains_of(law, robot)
    before = law.start(arm, Sample(0.0, q, qd, gains)) if state is None else state
    reference = reference_of(rows_of(law, q_d, qd_d, qdd_d))
    return law.step(arm, Sample(0.0, q, qd, gains, SimpleNamespace(**before), reference, dt))


def rows_of(law, q_d, qd_d, qdd_d):
    """A reference as a law takes it: where it asks for jerk and snap they are made up."""
    more = [[2.0 * x for x in qd_d], [-3.0 * x for x in qdd_d]]
    return [q_d, qd_d, qdd_d, *more][: 1 + law.derivatives]


def torque(law, robot, state_of_arm, **rest):
    return np.array(stepped(law, robot, state_of_arm, **rest)[0])
