"""A robot with its own parameters set again is the same robot in every use."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy

from ..closed_mechanisms import five_bar, four_bar
from ..dynamics.test_springs import sprung
from ..random_robots import chains, drive, robots, states

SAME = 1e-9  # relative; rounding of a parameter, through a short motion
STEPS, DT = 4, 1e-3


def with_links(robot, change):
    """The robot with every link changed by change(link, number)."""
    links = tuple(change(link, i) for i, link in enumerate(robot.model.links))
    return dy.Robot(replace(robot.model, links=links))


def by_direction(link, i):
    """Viscous friction by direction on every other joint, and an unbalanced rotor."""
    rubs = replace(link.friction, viscous=(0.3, 0.7)) if i % 2 else link.friction
    return replace(link, friction=rubs, drive=replace(link.drive, unbalance=(1e-3, -2e-3)))


def lossy(link, i):
    return link if link.passive else replace(link, drive=drive(np.random.default_rng(i)))


DRESSES = {
    "plain": lambda robot: robot,
    "springs": lambda robot: sprung(robot, 1),
    "by direction": lambda robot: with_links(robot, by_direction),
}
random_robots = st.one_of(robots(4), chains(longest=3, rotors=True))


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=SAME, atol=SAME * max(1.0, np.abs(b).max(initial=0.0)))


def follow_both(robot, same, q0, qd0):
    """The motion of both robots, and of the first under its parameters as an argument."""
    tau = np.zeros(robot.n)
    tau[list(robot.active)] = np.linspace(-3.0, 4.0, len(robot.active))
    options = {"dt": DT, "q0": q0, "qd0": qd0, "torque": tau}
    values = np.asarray(robot.parameters.values)
    yield dy.simulate(robot, STEPS * DT, **options)
    yield dy.simulate(same, STEPS * DT, **options)
    yield dy.simulate(robot, STEPS * DT, parameters=values, **options)


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@settings(max_examples=12)
@given(random_robots)
def test_own_parameters_are_the_same_robot(dress, robot):
    arm = dress(robot)
    q, qd, qdd = states(arm)
    same = arm.with_parameters(arm.parameters.values)
    close(same.parameters.values, arm.parameters.values)
    close(same.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd))
    close(same.motor_torque(q, qd, qdd), arm.motor_torque(q, qd, qdd))
    first, *others = follow_both(arm, same, q, qd)
    for other in others:
        close(other.q, first.q)
        close(other.qd, first.qd)


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
@settings(max_examples=12)
@given(random_robots)
def test_other_parameters_are_the_same_by_argument(dress, robot):
    """Every kind of parameter, an unbalanced rotor's too, reaches a kernel that takes them."""
    arm = dress(robot)
    q, qd, qdd = states(arm)
    values = np.asarray(arm.parameters.values)
    values = values * np.random.default_rng(1).uniform(0.5, 2.0, len(values))
    other = arm.with_parameters(values)
    for name in ("inverse_dynamics", "motor_torque"):
        kernel = arm.kernel(name, parameters="argument")
        close(kernel(q, qd, qdd, values), getattr(other, name)(q, qd, qdd))


@pytest.mark.parametrize("mechanism", [four_bar, five_bar])
def test_own_parameters_are_the_same_mechanism(mechanism):
    robot = with_links(mechanism(), lossy)
    same = robot.with_parameters(robot.parameters.values)
    qd = robot.joint_rates(robot.home, np.ones(robot.dof))
    first, *others = follow_both(robot, same, robot.home, qd)
    assert np.abs(first.q[-1] - first.q[0]).max() > 1e-6
    for other in others:
        close(other.q, first.q)


def smooth(link, i):
    """Friction that an integrator resolves at once; the drive is that of the link."""
    return replace(link, friction=dy.Friction(viscous=0.2), drive=replace(link.drive, coulomb=0.0))


@settings(max_examples=15)
@given(st.one_of(robots(3), chains(longest=3, rotors=True)))
def test_the_torque_of_the_motors_gives_the_motion(robot):
    """Through gears with losses, rotors reflected or bodies of their own."""
    arm = with_links(robot, smooth)
    q, qd, qdd = states(arm)
    tau = arm.motor_torque(q, qd, qdd) * [m.gear for m in arm.chain.motors]
    h = 1e-7
    run = dy.simulate(arm, h, dt=h, q0=q, qd0=qd, torque=tau, check_step=False)
    scale = 1.0 + np.abs(qdd).max() + np.abs(arm.forward_dynamics(q, qd, 0.0 * q)).max()
    np.testing.assert_allclose((run.qd[-1] - qd) / h, qdd, atol=1e-4 * scale)


def test_a_motor_keeps_its_share_of_a_friction_that_changes():
    robot = dy.load("puma560")
    values = np.asarray(robot.parameters.values) * 1.5
    changed = robot.with_parameters(values)
    np.testing.assert_allclose(changed.parameters.values, values, rtol=1e-14)
    for old, new in zip(robot.chain.motors, changed.chain.motors, strict=True):
        assert old.plus > 0.0
        assert new.plus == pytest.approx(1.5 * old.plus, rel=1e-14)
        assert new.minus == pytest.approx(1.5 * old.minus, rel=1e-14)
    assert all(link.friction.viscous == 0.0 for link in changed.model.links)


def test_a_study_of_an_arm_with_lossy_gears_that_varies_nothing_is_the_simulation():
    robot = with_links(
        dy.load("planar-2link"),
        lambda link, i: replace(
            link, drive=dy.Drive(gear=50.0, viscous=1e-4, coulomb=0.02, efficiency=0.8)
        ),
    )
    law = dy.control.ComputedTorque.from_bandwidth(20.0, friction="none")
    move = dy.trajectory.quintic([0.0, 0.0], [0.4, -0.3], duration=0.2)
    run = dy.simulate(robot, 0.2, controller=law, reference=move)
    study = dy.study(
        robot, 0.2, controller=law, reference=move, samples=2, seed=0,
        vary=dy.Scatter(robot, mass=1e-13), measure=("peak_error", "peak_torque"),
    )  # fmt: skip
    for measure, wanted in (("peak_error", run.error), ("peak_torque", run.tau)):
        _, highest = study.extremes(measure)
        np.testing.assert_allclose(highest, np.abs(wanted).max(axis=0), rtol=SAME)
