"""Gains from a bandwidth: the poles are where they were asked for."""

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
    second_order,
    third_order,
)
from dynamis.control.controller import FASTEST, check_sampling
from dynamis.errors import OptionError, ShapeError


def assert_poles(coefficients, wanted):
    """Every wanted root is there; a multiple one is known to a root of the rounding."""
    found = np.roots(coefficients)
    assert len(found) == len(wanted)
    np.testing.assert_allclose([np.abs(found - p).min() for p in wanted], 0.0, atol=2e-4)


def pair(w, zeta):
    return w * (-zeta + np.array([1, -1]) * np.emath.sqrt(zeta**2 - 1))


@pytest.mark.parametrize("zeta", [0.4, 1.0, 1.5])
def test_second_order(zeta):
    kp, kd = second_order(7.0, zeta)
    assert_poles([1, kd, kp], pair(7.0, zeta))


@pytest.mark.parametrize("zeta, ratio", [(0.4, 1.0), (0.7, 0.2), (1.0, 2.0)])
def test_third_order(zeta, ratio):
    kp, kd, ki = third_order(7.0, zeta, ratio)
    assert_poles([1, kd, kp, ki], np.r_[-ratio * 7.0, pair(7.0, zeta)])


def test_one_per_joint():
    kp, kd = second_order((2.0, 3.0), 0.5)
    assert kp == (4.0, 9.0) and kd == (2.0, 3.0)
    robot = dy.load("planar-2link")
    law = ComputedTorque.from_bandwidth(robot, (2.0, 3.0), 0.5)
    assert law.gains(robot)["kp"] == [4.0, 9.0]
    assert hash(law) == hash(ComputedTorque.from_bandwidth(robot, (2.0, 3.0), 0.5))


def test_laws_in_accelerations_take_the_gains_as_they_are():
    robot = dy.load("planar-2link")
    for kind in (PointToPoint, ComputedTorque, TaskSpace):
        law = kind.from_bandwidth(robot, 8.0, 0.9)
        assert (law.kp, law.kd) == second_order(8.0, 0.9)
    law = ComputedTorque.from_bandwidth(robot, 8.0, 0.9, integral=True, friction="none")
    assert (law.kp, law.kd, law.ki) == third_order(8.0, 0.9) and law.friction == "none"


@pytest.mark.parametrize("name", ["puma560", "planar-2link"])
def test_laws_in_torques_scale_with_the_inertia(name):
    robot = dy.load(name)
    q = np.linspace(0.3, 0.8, robot.n)
    for at, options in ((np.zeros(robot.n), {}), (q, {"q": q})):
        M = np.diag(robot.mass_matrix(at))
        kp, kd = second_order(6.0, 0.7)
        for kind in (JointPID, FeedForward):
            law = kind.from_bandwidth(robot, 6.0, 0.7, **options)
            np.testing.assert_allclose(law.kp, kp * M)
            np.testing.assert_allclose(law.kd, kd * M)
    law = JointPID.from_bandwidth(robot, 6.0, 0.7, q=q, integral=True, gravity=True)
    for i in range(robot.n):
        found = np.roots([M[i], law.kd[i], law.kp[i], law.ki[i]])
        np.testing.assert_allclose(np.abs(found), 6.0, rtol=1e-6)
    assert law.gravity


def test_impedance_scales_with_the_inertia_of_the_tool():
    robot = dy.load("panda")
    q = robot.configurations["ready"]
    law = Impedance.from_bandwidth(robot, 5.0, 0.8, q=q, singular_damping=0.0, task="position")
    J = robot.jacobian(q)[:3]
    Lambda = np.diag(np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), J.T)))
    np.testing.assert_allclose(law.stiffness, 25.0 * Lambda)
    np.testing.assert_allclose(law.damping, 8.0 * Lambda)
    assert len(law.gains(robot)["stiffness"]) == 3


def test_a_sampled_loop_that_cannot_hold_is_refused():
    robot = dy.load("planar-2link")
    check_sampling(50.0, 0.01)
    check_sampling(1e9, None)
    for make in (
        lambda: ComputedTorque.from_bandwidth(robot, 51.0, sample_time=0.01),
        lambda: PointToPoint.from_bandwidth(robot, 51.0, sample_time=0.01),
        lambda: TaskSpace.from_bandwidth(robot, 51.0, sample_time=0.01),
        lambda: JointPID.from_bandwidth(robot, (1.0, 51.0), sample_time=0.01),
        lambda: FeedForward.from_bandwidth(robot, 51.0, sample_time=0.01),
        lambda: SlotineLi.from_bandwidth(robot, 51.0, 1.0, sample_time=0.01),
        lambda: Impedance.from_bandwidth(robot, 51.0, sample_time=0.01),
    ):
        with pytest.raises(OptionError, match=r"is 0\.51, expected at most 0\.5.*\n.*below 50 rad"):
            make()


@pytest.mark.parametrize("product, stable", [(FASTEST, True), (1.05, False)])
def test_where_a_sampled_double_integrator_is_lost(product, stable):
    """q'' = u held over T, u = -kp q - kd q': the poles of one step."""
    T = 0.01
    kp, kd = second_order(product / T)
    A, B = np.array([[1, T], [0, 1]]), np.array([[T * T / 2], [T]])
    radius = np.abs(np.linalg.eigvals(A - B @ [[kp, kd]])).max()
    assert (radius < 1.0) == stable


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, np.inf, "fast", None, [], [[1.0]]])
def test_a_bandwidth_is_a_number_above_zero(bandwidth):
    with pytest.raises(OptionError, match="bandwidth is"):
        second_order(bandwidth)
    with pytest.raises(OptionError, match="damping is"):
        third_order(1.0, bandwidth)
    with pytest.raises(OptionError, match="ratio is"):
        third_order(1.0, 1.0, bandwidth)


def test_as_many_as_joints():
    with pytest.raises(ShapeError, match="3 numbers, expected one or 2"):
        JointPID.from_bandwidth(dy.load("planar-2link"), (1.0, 2.0, 3.0))
