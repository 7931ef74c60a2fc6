"""What is wrong with a controller is said by name."""

from dataclasses import dataclass

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import (
    ComputedTorque,
    FeedForward,
    Impedance,
    JointPID,
    PointToPoint,
    SlotineLi,
    TaskSpace,
)
from dynamis.control.stability import free_arm, gains_at, growth
from dynamis.errors import DynamisError, ModelError, OptionError, ShapeError
from dynamis.realtime import Law

from ..simulation.arms import slider

MAKE = {
    "JointPID": lambda **k: JointPID(1.0, **k),
    "PointToPoint": lambda **k: PointToPoint(1.0, 1.0, **k),
    "ComputedTorque": lambda **k: ComputedTorque(1.0, 1.0, **k),
    "FeedForward": lambda **k: FeedForward(1.0, 1.0, **k),
    "SlotineLi": lambda **k: SlotineLi(1.0, 1.0, 1.0, **k),
    "TaskSpace": lambda **k: TaskSpace(1.0, 1.0, **k),
    "Impedance": lambda **k: Impedance(1.0, **k),
}
every = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
with_friction = pytest.mark.parametrize(
    "make", [v for k, v in MAKE.items() if k not in ("JointPID", "SlotineLi")]
)


@pytest.fixture
def robot():
    return dy.load("planar-2link")


@every
@pytest.mark.parametrize("time", [0.0, -1e-3, np.nan, np.inf, "fast", True])
def test_sample_time(make, time):
    with pytest.raises(OptionError, match="sample_time is"):
        make(sample_time=time)


@every
def test_the_model_is_a_robot_as_long_as_the_arm(make, robot):
    with pytest.raises(OptionError, match="model is 'puma560', expected a Robot"):
        make(model="puma560")
    with pytest.raises(ShapeError, match=r"'puma560' of .* has 6 joints, expected 2"):
        make(model=dy.load("puma560")).gains(robot)


def test_gains_are_fields(robot):
    typo = type("Typo", (ComputedTorque,), {"GAINS": ("kp", "kdd")})
    with pytest.raises(OptionError, match=r"(?s)'kdd', which is no field of Typo.*mean 'kd'"):
        typo(1.0, 1.0).gains(robot)
    word = type("Word", (ComputedTorque,), {"GAINS": "kp"})
    with pytest.raises(OptionError, match=r"GAINS is 'kp', expected a tuple: \('kp',\)"):
        word(1.0, 1.0).gains(robot)


@with_friction
def test_friction(make):
    with pytest.raises(OptionError, match=r"(?s)friction is 'mesured'.*did you mean 'measured'"):
        make(friction="mesured")


@pytest.mark.parametrize("make", [MAKE["TaskSpace"], MAKE["Impedance"]])
@pytest.mark.parametrize("task", ["posse", (1, 1), (0,) * 6, (2,) * 6, 7])
def test_task(make, task):
    with pytest.raises(OptionError, match="task"):
        make(task=task)


@pytest.mark.parametrize("make", [MAKE["TaskSpace"], MAKE["Impedance"]])
def test_a_task_of_more_rows_than_joints_needs_damping(make, robot):
    with pytest.raises(OptionError, match="task has 3 rows, expected at most 2"):
        make(singular_damping=0.0).gains(robot)


def test_two_dampings():
    with pytest.raises(OptionError, match="expected one of the two"):
        Impedance(1.0, damping=1.0, damping_ratio=1.0)


@pytest.mark.parametrize(
    "law",
    [
        JointPID((1.0, 2.0, 3.0)),
        PointToPoint(1.0, (1.0, 2.0, 3.0)),
        ComputedTorque(1.0, 1.0, limit=(1.0, 2.0, 3.0)),
        ComputedTorque(1.0, 1.0, "none"),
        FeedForward("high", 1.0),
        TaskSpace((1.0, 2.0), 1.0),
        Impedance((1.0, 2.0)),
        SlotineLi(1.0, (1.0, 2.0, 3.0), 1.0),
        SlotineLi(1.0, 1.0, (1.0, 2.0, 3.0)),
        SlotineLi(1.0, 1.0, 1.0, start_from=(1.0, 2.0)),
    ],
)
def test_shapes(law, robot):
    with pytest.raises(ShapeError, match="expected one number or"):
        law.gains(robot)


@pytest.mark.parametrize(
    "law",
    [
        PointToPoint(-1.0, 1.0),
        ComputedTorque(1.0, np.nan),
        ComputedTorque(1.0, 1.0, limit=-5.0),
        TaskSpace(1.0, 1.0, null_damping=-1.0),
        Impedance(-10.0),
        SlotineLi(1.0, 1.0, -1.0),
        SlotineLi(1.0, 1.0, 1.0, smoothing=0.0),
        SlotineLi(1.0, 1.0, 1.0, start_from=np.nan),
    ],
)
def test_numbers(law, robot):
    with pytest.raises(OptionError, match="expected"):
        law.gains(robot)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TaskSpace(1.0, 1.0, singular_damping=(0.1, 0.1)), "singular_damping is"),
        (lambda: JointPID(1.0, gravity="no"), "gravity is 'no', expected True or False"),
        (lambda: JointPID(1.0, gravity=1), "gravity is 1, expected True or False"),
        (lambda: JointPID(1.0, derivative=["error"]), r"derivative is \['error'\]"),
        (lambda: JointPID(1.0, sample_time=10**400), "sample_time is 1000"),
        (lambda: JointPID(1.0, model=np.zeros(2)), "model is array"),
    ],
)
def test_a_block_refuses_what_is_of_another_kind(make, words):
    with pytest.raises(OptionError, match=words):
        make()


@pytest.mark.parametrize("gain", [[[1.0], [1.0, 2.0]], [1j, 1j], ["1", "2"], None, {1.0}, 10**400])
def test_gains_are_real_numbers(robot, gain):
    with pytest.raises(ShapeError, match=r"^kp "):
        JointPID(gain).gains(robot)


def test_parameters_to_adapt(robot):
    with pytest.raises(OptionError, match=r"(?s)adapt names 'link1\.mm'.*did you mean 'link1\.m'"):
        SlotineLi(1.0, 1.0, 1.0, adapt=["link1.mm"]).gains(robot)
    with pytest.raises(OptionError, match="adapt is 5, expected a text or a list or None"):
        SlotineLi(1.0, 1.0, 1.0, adapt=5)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="com_factor"):
        SlotineLi(1.0, 1.0, 1.0).gains(dy.load("rppr"))


def test_a_word_for_the_derivative():
    with pytest.raises(OptionError, match=r"(?s)derivative is 'errror'.*did you mean 'error'"):
        JointPID(1.0, derivative="errror")


def test_they_are_errors_of_the_package():
    assert issubclass(ShapeError, DynamisError) and issubclass(OptionError, DynamisError)


def acrobot():
    """A double pendulum whose first joint nothing drives."""
    bar = {"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0), "inertia": (0.001, 0.02, 0.02)}
    links = [dy.Link(**bar, passive=True), dy.Link(**bar)]
    return dy.Robot.from_dh("acrobot", convention="standard", gravity=(0, -9.81, 0), links=links)


def stepped_by(robot, tau):
    sim = dy.Simulator(robot, dt=1e-3)
    sim.reset(robot.home)
    sim.step(tau)


MOVE = dy.trajectory.quintic([0.0, 0.0], [0.5, 0.5], 0.1)
PD = dy.control.JointPID(10.0, 0.0, 1.0)
ON_PASSIVE = {
    "computed torque": lambda: dy.simulate(
        acrobot(), 0.1, controller=dy.control.ComputedTorque(100.0, 20.0), reference=MOVE
    ),
    "joint pid": lambda: dy.simulate(acrobot(), 0.1, controller=PD, reference=MOVE),
    "exported": lambda: Law(PD, acrobot(), 1e-3),
    "function": lambda: dy.simulate(acrobot(), 0.1, controller=lambda t, q, qd: [5.0, 5.0]),
    "torque": lambda: dy.simulate(acrobot(), 0.1, torque=[5.0, 5.0]),
    "torque over time": lambda: dy.simulate(acrobot(), 0.1, torque=lambda t: [t, t]),
    "torque of arms": lambda: dy.simulate(
        acrobot(), 0.1, q0=np.zeros((2, 2)), torque=np.ones((2, 1, 2))
    ),
    "step": lambda: stepped_by(acrobot(), [5.0, 5.0]),
    "mechanism": lambda: stepped_by(dy.load("five-bar"), [0.0, 74.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("drive", ON_PASSIVE.values(), ids=ON_PASSIVE)
def test_nothing_drives_a_passive_joint(drive):
    with pytest.raises(OptionError, match=r"joint '(joint1|left_elbow)'.*passive"):
        drive()


@dataclass(frozen=True)
class Late(dy.control.Controller):
    """Drives the first joint from 0.15 s on."""

    def step(self, arm, sample):
        return [arm.select(sample.t > 0.15, 7.0, 0.0), -sample.q[1]], {}


def test_a_law_that_drives_a_passive_joint_later_ends_in_its_safe_state():
    run = dy.simulate(acrobot(), 0.2, controller=Late(), reference=MOVE)
    assert not run.tau[:, 0].any() and run.states["computer.status"][-1, 0] > 0.0
    assert "safe state" in run.message


def test_inputs_of_a_linear_model_are_those_of_the_drives():
    found = dy.control.linearise(acrobot(), [0.3, 0.2])
    assert found.inputs == ("tau2",) and found.B.shape == (4, 1)


def test_a_law_that_leaves_the_passive_joint_alone_drives_the_others():
    robot = acrobot()
    law = Law(
        dy.control.JointPID([0.0, 10.0], 0.0, [0.0, 1.0]), robot, 1e-3, safe="gravity", latch=1,
        jump=1e-4,
    )  # fmt: skip
    run = dy.simulate(robot, 0.1, controller=law, reference=MOVE)
    assert run.states["computer.status"][-1, 0] > 0.0  # it went into its safe state
    assert not run.tau[:, 0].any() and np.abs(run.tau[:, 1]).max() > 0.1
    assert any("no law may drive it" in x.what for x in robot.check())


@pytest.mark.parametrize("delay", [0.0, 2e-3, 4e-3])
@pytest.mark.parametrize("velocity", ["measured", "difference"])
def test_deviations_grow_per_sample_as_the_linear_loop_says(delay, velocity):
    h, robot = 4e-3, slider(mass=2.0)
    law = Law(JointPID(kp=4e5, kd=100.0), robot, h, velocity=velocity)
    found = growth(law, *gains_at(law, np.zeros(1)), free_arm(np.array([[0.5]]), h, delay))
    options = {"controller": law, "delay": delay, "reference": [0.0], "check_step": False}
    run = dy.simulate(robot, 40 * h, h / 4, q0=[1e-9], **options)
    q = np.abs(run.q[::4, 0])
    rate = (q[33:37].max() / q[15:19].max()) ** (1 / 18)
    assert found.drive == "joint1" and abs(rate - found.factor) < 0.06 * found.factor
