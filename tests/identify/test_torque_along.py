"""Torque along a motion in time: that of a simulation, with friction that remembers."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError
from tests.identify.test_memory import step_by_step

MEMORY = dy.Memory((1e-3, 1e-2), (3.0, 5.0))
pytestmark = pytest.mark.usefixtures("compiled")


def arm() -> dy.Robot:
    return dy.load("planar-2link").with_friction(0.5, [1.0, 0.2], memory=MEMORY)


def log_of(q, t, tau=0.0):
    """A log with velocities and accelerations."""
    qd = np.gradient(q, t, axis=0)
    return dy.Log(t=t, q=q, tau=tau + 0 * q, qd=qd, qdd=np.gradient(qd, t, axis=0))


def motion(t, size=0.02):
    return size * np.stack([np.sin(2.0 * t) + 0.3 * np.sin(7.0 * t), np.cos(3.0 * t)], axis=1)


def test_memory_is_carried_along():
    t = np.linspace(0.0, 4.0, 2001)
    log, robot = log_of(motion(t), t), arm()
    found = dy.torque_along(robot, log)
    bare = robot.with_friction(0.5, [1.0, 0.2])
    wanted = bare.inverse_dynamics(log.q, log.qd, log.qdd)
    for j in range(2):
        for r, w in zip(MEMORY.radii, MEMORY.weights, strict=True):
            wanted[:, j] += w * step_by_step(log.q[:, [j]], np.array([r]))[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    none = dy.torque_along(bare, log)
    np.testing.assert_array_equal(none, bare.inverse_dynamics(log.q, log.qd, log.qdd))


def test_it_is_the_torque_of_a_simulation():
    robot = arm()
    law = dy.control.ComputedTorque(400.0, 40.0)
    move = dy.trajectory.via(np.array([[0, 0], [0.2, -0.3], [0.15, -0.1], [0.3, -0.4]]),
                             [0.0, 0.8, 1.4, 2.2])  # fmt: skip
    run = dy.simulate(robot, 2.2, 1e-3, q0=[0, 0], controller=law, reference=move,
                      check_step=False)  # fmt: skip
    log = dy.Log.from_run(run)
    found = dy.torque_along(robot, log, dy.Processing(cutoff=100.0))
    rows = slice(100, -100)
    off = np.sqrt(((found - run.tau)[rows] ** 2).mean() / (run.tau[rows] ** 2).mean())
    assert off < 0.02
    largest = robot.inverse_dynamics(run.q, run.qd, np.gradient(run.qd, run.t, axis=0))
    assert np.sqrt(((largest - run.tau)[rows] ** 2).mean()) > 4 * off * np.abs(run.tau).mean()


def test_followers_and_gaps():
    """Joint 2 follows joint 1 the other way round; after a gap the elements are relaxed."""
    robot = dy.load("planar-2link").with_gravity((0, 0, 0))
    links = [replace(x, friction=dy.Friction()) for x in robot.model.links]
    links[1] = replace(links[1], mimic=("joint1", -2.0, 0.1), friction=dy.Friction(memory=MEMORY))
    tied = dy.Robot(replace(robot.model, links=tuple(links), configurations={}))
    t = np.concatenate([np.linspace(0, 2, 1001), np.linspace(3, 5, 1001)])
    q = motion(t)[:, :1]
    log = log_of(q, t)
    bare = dy.Robot(replace(tied.model, links=tuple(
        replace(x, friction=dy.Friction()) for x in tied.model.links)))  # fmt: skip
    more = dy.torque_along(tied, log) - dy.torque_along(bare, log)
    for part in (slice(0, 1001), slice(1001, None)):
        wanted = sum(
            -2.0 * w * step_by_step(-2.0 * q[part], np.array([r]))[:, 0]
            for r, w in zip(MEMORY.radii, MEMORY.weights, strict=True)
        )
        np.testing.assert_allclose(more[part, 0], wanted, rtol=1e-9, atol=1e-9)


def test_a_closed_mechanism_feels_its_passive_joints():
    robot = dy.load("five-bar").with_friction(0.0, 0.0)
    wears = robot.with_friction(0.0, 0.0, memory=dy.Memory(1e-2, 0.3))
    drives = list(robot.active)
    t = np.linspace(0, 2, 1001)
    log = log_of(robot.home[drives] + motion(t) - motion(t[:1]), t)
    more = dy.torque_along(wears, log) - dy.torque_along(robot, log)
    assert more.shape == (1001, 2)
    slow = np.abs(log.qd).max(axis=1) < 1e-3
    assert np.abs(more).max() > 0.25 and np.isfinite(more).all() and np.abs(more[slow]).max() < 2.0
    power = np.trapezoid((more * log.qd).sum(axis=1), t)
    assert power > 0.0


def test_bad_calls_are_answered():
    t = np.linspace(0, 1, 101)
    with pytest.raises(DynamisError, match="has 3 joints"):
        dy.torque_along(arm(), log_of(np.zeros((101, 3)), t))
    with pytest.raises(DynamisError, match="expected a Log"):
        dy.torque_along(arm(), [1.0])
