"""Closed mechanisms moved by their tool, and references of all joints from those of the drives."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ClosureError, OptionError
from dynamis.ik.driven import assembly, deciding, motion_along, random_motion
from dynamis.ik.follow import follow, handles, lead
from tests.closed_mechanisms import five_bar, four_bar


def test_the_tool_is_led_to_where_inverse_kinematics_puts_it():
    robot = dy.load("five-bar")
    T = robot.fk(robot.home).copy()
    T[:2, 3] += 0.06, -0.05
    found = lead(robot, robot.home, T)
    assert np.abs(found.left).max() < 1e-9
    np.testing.assert_allclose(found.q, robot.ik(T, q0=robot.home).q[0], atol=1e-8)
    assert handles(robot, T[:3, :3]) == ((True, True, False), False)  # in its plane, no turns


def test_what_is_out_of_reach_is_approached():
    """There no small motion of the drives that stays within the limits leads nearer."""
    robot = dy.load("five-bar")
    T = robot.fk(robot.home).copy()
    T[:2, 3] += 1.0, -1.2
    q = robot.home
    for _ in range(4):  # as a person drags on
        q, left = lead(robot, q, T)
    assert np.abs(robot.closure_error(q)).max() < 1e-9
    low, high = robot.limits.T
    assert ((q >= low) & (q <= high)).all()
    for step in 0.02 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1]]):
        moved, reason = follow(robot, q, q[[0, 2]] + step)
        if not reason and ((moved >= low) & (moved <= high)).all():
            away = np.linalg.norm(T[:3, 3] - robot.fk(moved)[:3, 3])
            assert away > np.linalg.norm(left) - 2e-3


def test_all_joints_along_a_motion_of_the_drives():
    robot = five_bar()
    t = np.linspace(0.0, 1.0, 70)[:, None]
    rows = robot.home[[0, 2]] + 0.3 * np.sin(t * [5.0, 4.0])
    still = np.zeros_like(rows)
    q, qd, qdd = motion_along(robot, robot.home, rows, still, still)
    assert not qd.any() and not qdd.any()
    np.testing.assert_allclose(q[:, [0, 2]], rows, atol=1e-15)
    assert np.abs(robot.closure_error(q)).max() < 1e-9
    assert np.abs(np.diff(q, axis=0)).max() < 0.1  # no jump to another assembly
    assert deciding(robot, "it") == [0, 1]
    with pytest.raises(ClosureError, match="to row 1"):
        far = np.array([robot.home[[0, 2]], [np.pi, 0.0]])
        motion_along(robot, robot.home, far, *np.zeros((2, 2, 2)))
    with pytest.raises(OptionError, match="its drives do not decide joint2"):
        deciding(four_bar(passive=(True, True, True)), "a study")


def test_joints_of_an_open_arm_are_those_that_are_given():
    """What leads the joints of closed mechanisms answers for open arms: nothing has to follow."""
    robot = dy.load("puma560")
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 4, 6))
    assert (robot.closure_status(q) == 0.0).all()
    found, reason = follow(robot, robot.home, q[0])
    assert not reason and (found == q[0]).all()
    for motion in (motion_along(robot, robot.home, q, qd, qdd), assembly(robot).motion(q, qd, qdd)):
        assert all((a == b).all() for a, b in zip(motion, (q, qd, qdd), strict=True))
    torques = qd[..., None]
    assert (assembly(robot).lowered(q, torques) == torques).all()
    assert deciding(robot, "it") == list(range(6))
    drawn = random_motion(robot, 5, np.random.default_rng(1), 2.0, 3.0)
    low, high = robot.limits.T
    assert ((drawn.q >= low) & (drawn.q <= high)).all()
    assert np.abs(drawn.qd).max() <= 2.0 and np.abs(drawn.qdd).max() <= 3.0
