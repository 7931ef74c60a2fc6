"""The linear model of arms with elastic joints: finite differences, resonances, the rigid arm."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import linearise
from dynamis.dynamics.elastic import expanded
from dynamis.dynamics.equation import forward_dynamics, inverse_dynamics
from dynamis.errors import ClosureError, OptionError
from dynamis.spatial.functions import MATH

from ..closed_mechanisms import bar, five_bar, joined, made
from ..dynamics.test_elastic_inverse import LAWS, MORE_LAWS, two_links

OFF = np.array([0.006, -0.004])  # rad, of the motors
STEP = 1e-6
DIFFERENCE = 2e-6  # relative to the largest entry


def differences(function, x, step=STEP):
    each = [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    return np.column_stack(each)


def close(a, b):
    assert np.abs(a - b).max() <= DIFFERENCE * max(1.0, np.abs(b).max())


def rate(robot, x, tau):
    """x' of the nonlinear arm, from its expanded chain."""
    whole = expanded(robot.chain)
    q, qd = np.split(x, 2)
    torque = np.zeros(whole.n)
    torque[list(whole.driven)] = tau
    qdd = forward_dynamics(whole, q.tolist(), qd.tolist(), torque.tolist(), MATH)
    return np.concatenate([qd, qdd])


def matches(robot, q, qd, tau, motor, motor_rate, lin):
    own = [i for i, link in enumerate(robot.model.links) if link.drive.stiffness is not None]
    x = np.concatenate([q, motor[own], qd, motor_rate[own]])
    close(lin.offset, rate(robot, x, tau))
    close(lin.A, differences(lambda v: rate(robot, v, tau), x))
    close(lin.B, differences(lambda u: rate(robot, x, u), tau))


EVERY = LAWS | MORE_LAWS | {"loaded": {"coulomb": 0.5, "load": 0.2}}


@pytest.mark.parametrize("friction", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("joints", [(0,), (1,), (0, 1)])
def test_finite_differences_of_the_expanded_chain(friction, joints):
    robot = two_links({**friction}, hardening=4e5, damping=3.0, coulomb=(4e-4, -3e-4))
    for i in {0, 1} - {*joints}:
        fields = {"stiffness": None, "damping": 0.0, "hardening": 0.0}
        robot = robot.with_drive(i, **fields)
    q, qd, tau = np.array([0.4, -0.8]), np.array([0.7, -0.5]), np.array([20.0, -3.0])
    motor, motor_rate = q + OFF, qd + 8.0 * OFF
    lin = linearise(robot, q, qd, tau, motor=motor, motor_rate=motor_rate)
    matches(robot, q, qd, tau, motor, motor_rate, lin)
    names = [f"motor{i + 1}" for i in joints]
    assert lin.states == (
        "q1", "q2", *names, "qd1", "qd2", *(x.replace("motor", "motor_rate") for x in names)
    )  # fmt: skip
    assert lin.inputs == ("tau1", "tau2")


@pytest.mark.parametrize("load", [20.0, 0.0])
def test_gears_are_open_within_their_backlash(load):
    robot = two_links(hardening=4e5, damping=3.0, backlash=0.01)
    q, rest = np.array([0.4, -0.8]), np.zeros(2)
    motor = q + (2.7 if load else 1.0) * OFF
    lin = linearise(robot, q, tau=[load, 0.0], motor=motor)
    matches(robot, q, rest, np.array([load, 0.0]), motor, rest, lin)
    assert (lin.A[6:, 2:4] == 0.0).all() == (load == 0.0)


def test_the_torque_that_holds_makes_an_equilibrium():
    robot = two_links({"offset": 0.3}, hardening=4e5, damping=3.0, backlash=1e-3)
    q = np.array([0.4, -0.8])
    lin = linearise(robot, q)
    assert not lin.offset.any()
    held = robot.inverse_dynamics(q, [0, 0], [0, 0])
    plain = robot.with_drive(0, damping=0, backlash=0).with_drive(1, damping=0, backlash=0)
    zeros = np.zeros(2)
    motor = plain.elastic_inverse_dynamics(q, zeros, zeros, zeros, zeros)[1]
    motor = motor + 1e-3 * np.sign(motor - q)
    matches(robot, q, zeros, held, motor, zeros, lin)


def test_the_torque_that_keeps_the_speed_carries_friction_under_load():
    robot = two_links({"law": "smooth", "coulomb": 0.5, "load": 0.2, "velocity": 1.0})
    q, qd, K = np.array([0.4, -0.8]), np.array([0.7, -0.5]), np.array([2000.0, 800.0])
    links = robot.with_drive(0, None).with_drive(1, None).with_friction(
        viscous=0.3, coulomb=0.5, law="smooth", velocity=1.0
    )  # fmt: skip
    motor = q + links.inverse_dynamics(q, qd, np.zeros(2)) / K
    state = [np.concatenate(x).tolist() for x in ((q, motor), (qd, qd))]
    torque = np.array(inverse_dynamics(expanded(robot.chain), *state, [0.0] * 4, MATH))
    np.testing.assert_allclose(torque[:2], 0.0, atol=1e-9)
    matches(robot, q, qd, torque[2:], motor, qd, linearise(robot, q, qd))


def test_modes_are_the_resonances():
    robot = two_links({"viscous": 0.0}, hardening=4e5)
    robot = robot.with_drive(0, viscous=0).with_drive(1, viscous=0)
    q = np.array([0.4, -0.8])
    values = linearise(robot, q).eigenvalues
    found = np.sort(values.imag)[-2:] / (2 * np.pi)
    np.testing.assert_allclose(found, robot.resonances(q).free, rtol=1e-9)


def test_outputs():
    robot = two_links().with_drive(0, stiffness=None)
    q = np.array([0.4, -0.8])
    lin = linearise(robot, q, output="motor")
    assert lin.outputs == ("q1", "motor2")
    np.testing.assert_array_equal(lin.C, np.eye(6)[[0, 2]])
    assert linearise(robot, q).outputs == ("q1", "q2")
    assert linearise(robot, q, output="state").outputs == lin.states
    J = robot.jacobian(q)
    tool = linearise(robot, q, output="tool")
    np.testing.assert_array_equal(tool.C, np.hstack([J, np.zeros((6, 4))]))
    sampled = linearise(robot, q, dt=1e-3)
    assert (sampled.dt, sampled.A.shape) == (1e-3, (6, 6))


def test_stiff_joints_give_the_slow_modes_of_the_rigid_arm():
    q = np.array([0.4, -0.8])
    rigid = linearise(two_links(stiffness=(None, None)), q).eigenvalues
    elastic = linearise(two_links(stiffness=(1e7, 1e7), damping=100.0), q).eigenvalues
    slow = elastic[np.argsort(np.abs(elastic))[:4]]
    np.testing.assert_allclose(np.sort_complex(slow), np.sort_complex(rigid), rtol=1e-4)


def test_closed_mechanisms_follow_their_independent_joints():
    drive = dy.Drive(gear=30.0, rotor_inertia=1e-5, stiffness=3e3, damping=2.0)
    robot, link = five_bar().with_drive(0, drive).with_drive(2, drive), five_bar()
    q = robot.assemble([1.9, 1.2])[0]
    lin = linearise(robot, q)
    names = [f"{x}{i}" for x in ("q", "motor", "qd", "motor_rate") for i in (1, 3)]
    assert list(lin.states) == names
    assert not lin.offset.any()
    held = robot.inverse_dynamics(q, np.zeros(4), np.zeros(4))[[0, 2]]

    def slopes(x):
        a, th, v, rate = x.reshape(4, 2)
        near = robot.assemble(a, q0=q)[0]
        e = np.zeros(4)
        e[[0, 2]] = 3e3 * (th - a) + 2.0 * (rate - v)
        qdd = link.forward_dynamics(near, link.joint_rates(near, v), e)[[0, 2]]
        return np.concatenate([v, rate, qdd, (held - e[[0, 2]]) / 9e-3])

    x = np.concatenate([q[[0, 2]], q[[0, 2]] + held / 3e3, np.zeros(4)])
    np.testing.assert_allclose(slopes(x), 0.0, atol=1e-8)
    close(lin.A, differences(slopes, x, 1e-5))
    expected = np.zeros((8, 2))
    expected[6:] = np.eye(2) / 9e-3
    np.testing.assert_allclose(lin.B, expected, rtol=1e-12)


def test_what_there_is_no_model_of_is_refused():
    drive = dy.Drive(gear=30.0, rotor_inertia=1e-5, stiffness=3e3)
    links = [
        bar("crank", length=0.1, drive=drive),
        bar("coupler", "crank", (0.1, 0, 0), 0.35, passive=True),
        bar("rocker", xyz=(0.4, 0, 0), length=0.3, drive=drive),
    ]
    robot = made("four", links, [joined("pin", "coupler", "rocker", 0.35, 0.3)])
    with pytest.raises(ClosureError, match="is elastic and follows"):
        linearise(robot, robot.home)
    with pytest.raises(OptionError, match="no elastic joints"):
        linearise(dy.load("planar-2link"), [0.1, 0.2], motor=[0.1, 0.2])


def test_exported_laws_that_drive_a_resonance_are_warned_of(tmp_path):
    """Damping that a rigid joint bears is too much for the rotor alone."""
    law = dy.control.JointPID(kp=[400.0, 200.0], ki=[0.0, 0.0], kd=[150.0, 60.0])
    rigid = two_links(stiffness=(None, None))
    dy.export_controller(rigid, law, tmp_path / "rigid", sample_time=2e-3)
    with pytest.warns(dy.errors.DynamisWarning, match="grows"):
        dy.export_controller(two_links(), law, tmp_path / "soft", sample_time=2e-3)
