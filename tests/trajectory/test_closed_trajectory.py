"""Trajectories of closed mechanisms move their drives: straight lines, and checks of all joints."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.ik.follow import follow
from tests.closed_mechanisms import four_bar

pytestmark = pytest.mark.usefixtures("compiled")

STRAY = 1e-8  # m: ten times the tolerance of a line


def followed(robot, drives):
    """All joints along rows of the drives, each from the one before."""
    q = [robot.home]
    for row in drives:
        found = follow(robot, q[-1], row)
        assert found.reason == ""
        q.append(found.q)
    return np.array(q[1:])


def test_the_tool_goes_straight():
    robot = dy.load("five-bar")
    T0 = robot.fk(robot.home)
    T1 = T0.copy()
    T1[:2, 3] += [0.08, 0.05]
    line = dy.trajectory.line(robot, T0, T1, 1.0, q0=robot.home)
    t = np.linspace(0.0, 1.0, 41)
    state = line(t)
    assert line.n == 2 and line.check(robot) == []
    p = robot.fk(followed(robot, state.q))[:, :3, 3]
    s = dy.trajectory.quintic(0.0, 1.0, 1.0)(t).q
    np.testing.assert_allclose(p, T0[:3, 3] + s * (T1 - T0)[:3, 3], atol=STRAY)
    steps = (line(t[1:-1] + 1e-6).q - line(t[1:-1] - 1e-6).q) / 2e-6
    np.testing.assert_allclose(state.qd[1:-1], steps, atol=1e-7)
    free = dy.trajectory.line(robot, T0, T1, 1.0)  # without q0: of all solutions the best
    assert free.n == 2 and free.check(robot) == []
    T1[0, 3] += 5.0
    with pytest.raises(OptionError, match="leaves the workspace"):
        dy.trajectory.line(robot, T0, T1, 1.0, q0=robot.home)


def test_passive_joints_are_checked_too():
    robot = dy.load("five-bar")
    drives = list(robot.driven)
    still = robot.home[drives]
    move = dy.trajectory.quintic(still, still + np.array([0.3, -0.2]), 1.0)
    assert move.check(robot) == []
    fast = dy.trajectory.quintic(still, still + np.array([0.3, -0.2]), 0.01)
    assert {f.what.split()[0] for f in fast.check(robot)} == {"velocity", "torque"}
    q = followed(robot, move(np.linspace(0.0, 1.0, 21)).q)
    name, top = robot.joint_names[1], q[:, 1].mean()
    links = [
        replace(x, limits=(-3.0, top)) if x.joint_name == name else x for x in robot.model.links
    ]
    (finding,) = move.check(dy.Robot(replace(robot.model, links=tuple(links))))
    assert name in finding.where and "position" in finding.what
    apart = dy.trajectory.quintic(still, still + np.array([2.5, -2.5]), 1.0)
    assert any(f.where == "loops" and "cannot follow" in f.what for f in apart.check(robot))


def test_what_does_not_fit_is_refused_by_name():
    robot = dy.load("five-bar")
    every = dy.trajectory.quintic(robot.home, robot.home, 1.0)
    with pytest.raises(ShapeError, match="moves 4 drives, robot 'five-bar' has 2: left_motor"):
        every.check(robot)
    with pytest.raises(OptionError, match="time_optimal is not available"):
        dy.trajectory.time_optimal(robot, [[0.0, 0.0], [1.0, 1.0]])
    idle = four_bar(passive=(True, True, True))
    with pytest.raises((OptionError, ShapeError), match="drives"):
        dy.trajectory.quintic([0.0], [1.0], 1.0).check(idle)
