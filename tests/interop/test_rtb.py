"""The Robotics Toolbox's names give the Robotics Toolbox's numbers."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import dynamis as dy
from dynamis import rtb
from dynamis.errors import ShapeError
from dynamis.interop import to_rtb

from ..interop.arms import coulomb, relative
from ..random_robots import chains, states

toolbox = pytest.importorskip("roboticstoolbox")
pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
few = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(chains(5))
def test_every_name_agrees(robot):
    assume(robot.model.links[0].joint == "revolute" and robot.n > 1)
    robot = coulomb(robot)
    theirs, ours = to_rtb(robot), rtb.DHRobot(robot)
    q, qd, qdd = states(robot)
    state = {"q": q, "qd": qd, "qdd": qdd, "torque": qdd}
    calls = {
        "rne": ("q", "qd", "qdd"),
        "inertia": ("q",),
        "gravload": ("q",),
        "coriolis": ("q", "qd"),
        "itorque": ("q", "qdd"),
        "friction": ("qd",),
        "jacob0": ("q",),
        "jacobe": ("q",),
    }
    for name, keys in calls.items():
        values = [state[key] for key in keys]
        expected = getattr(theirs, name)(*values)
        np.testing.assert_allclose(
            getattr(ours, name)(*values), expected, atol=1e-10 * (1 + np.abs(expected).max())
        )
        np.testing.assert_array_equal(
            getattr(rtb, name)(robot, *values), getattr(ours, name)(*values)
        )
    assert relative(ours.fkine(q), theirs.fkine(q).A) < 1e-10
    assert relative(ours.accel(q, qd, qdd), theirs.accel(q, qd, qdd)) < 1e-8
    wrench, gravity = np.arange(6.0), [1.0, -2.0, 3.0]
    for options in ({"gravity": gravity}, {"fext": wrench}):
        expected = theirs.rne(q, qd, qdd, **options)
        assert relative(ours.rne(q, qd, qdd, **options), expected) < 1e-10
    loose = ours.nofriction(coulomb=True, viscous=True)
    expected = theirs.nofriction(coulomb=True, viscous=True).rne(q, qd, qdd)
    assert relative(loose.rne(q, qd, qdd), expected) < 1e-10


def test_trajectories_and_one_array():
    ours, theirs = rtb.DHRobot("puma560"), to_rtb(dy.load("puma560"))
    q, qd, qdd = states(ours.robot, 4)
    expected = theirs.rne(q, qd, qdd)
    np.testing.assert_allclose(ours.rne(q, qd, qdd), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.rne(np.hstack([q, qd, qdd])), expected, rtol=1e-9)
    with pytest.raises(ShapeError, match="expected"):
        ours.rne(q)


def test_gravity_pulls_the_same_way():
    ours = rtb.DHRobot("puma560")
    theirs = toolbox.models.DH.Puma560()
    np.testing.assert_allclose(np.exp(1j * ours.qn), np.exp(1j * theirs.qn))  # whole turns apart
    np.testing.assert_allclose(ours.gravload(ours.qn), theirs.gravload(theirs.qn), atol=1e-12)
    np.testing.assert_allclose(ours.gravity, theirs.gravity)


def test_fdyn_gives_the_toolbox_motion():
    ours = rtb.DHRobot("puma560").nofriction()
    theirs = to_rtb(dy.load("puma560")).nofriction()
    q0 = np.array([0.1, 0.2, -0.3, 0.4, 0.5, 0.6])

    def law(robot, t, q, qd, k):
        assert robot.n == 6
        return -k * qd + 0.1 * t

    tight = {"rtol": 1e-8, "atol": 1e-8}
    mine = ours.fdyn(0.05, q0, law, {"k": 2.0}, qd0=np.ones(6))
    their = theirs.fdyn(0.05, q0, law, {"k": 2.0}, qd0=np.ones(6), solver_args=tight)
    t, q, qd = mine
    assert t[0] == 0 and t[-1] == pytest.approx(0.05) and q.shape == qd.shape == (51, 6)
    np.testing.assert_allclose(q[-1], their.q[-1], atol=1e-6)
    np.testing.assert_allclose(qd[-1], their.qd[-1], atol=1e-5)
    free = ours.fdyn(0.01, q0)
    np.testing.assert_allclose(free.q[-1], theirs.fdyn(0.01, q0).q[-1], atol=1e-6)


def test_ikine_finds_the_pose_near_q0():
    robot = rtb.DHRobot("puma560")
    q = np.array([0.1, -0.6, 0.4, 0.2, 0.7, -0.3])
    found = robot.ikine(robot.fkine(q), q0=q + 0.01)
    assert found.success and found.residual < 1e-9
    np.testing.assert_allclose(found.q, q, atol=1e-9)
    far = np.eye(4)
    far[:3, 3] = 50.0
    lost = rtb.ikine(robot.robot, far)
    assert not lost.success and lost.q is None and lost.reason


def test_an_unknown_name_is_answered():
    robot = rtb.DHRobot("puma560")
    with pytest.raises(AttributeError, match="did you mean 'gravload'"):
        _ = robot.gravlod
    assert {"rne", "qz", "inverse_dynamics"} <= set(dir(robot)) and robot.n == 6
