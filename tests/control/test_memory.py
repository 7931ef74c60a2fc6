"""Laws that compensate friction with memory follow it from sample to sample."""

import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.robot.arm import Arm
from dynamis.spatial.functions import MATH

MEMORY = dy.Memory((1e-3, 1e-2), (3.0, 5.0))
pytestmark = pytest.mark.usefixtures("compiled")


def arm(**friction) -> dy.Robot:
    return dy.load("planar-2link").with_friction(**{"viscous": 0.5, "coulomb": 1.0} | friction)


MOVE = dy.trajectory.via(np.array([[0, 0], [0.05, -0.04], [0.03, -0.01], [0.06, -0.05]]),
                         [0.0, 0.4, 0.7, 1.1])  # fmt: skip
LAWS = {
    "feed-forward": dy.control.FeedForward(400.0, 40.0),
    "computed torque": dy.control.ComputedTorque(400.0, 40.0),
    "point to point": dy.control.PointToPoint(400.0, 40.0, friction="measured"),
    "task space": dy.control.TaskSpace(400.0, 40.0, task="position"),
}


def error(law, **options):
    robot = arm(memory=MEMORY)
    run = dy.simulate(robot, 1.4, q0=[0, 0], controller=law, reference=MOVE, check_step=False,
                      **options)  # fmt: skip
    return np.abs(run.q - MOVE(run.t)[0]).max()


@pytest.mark.parametrize("name", ["feed-forward", "computed torque"])
def test_the_error_is_a_fraction_of_that_without(name):
    with_memory = error(LAWS[name])
    for other in (arm(), arm(coulomb=1.0 + sum(MEMORY.weights))):
        assert with_memory < 0.1 * error(replace(LAWS[name], model=other))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_models_without_memory_have_no_state_of_it(law):
    for robot, sizes in ((arm(), 0), (arm(memory=MEMORY), 8)):
        scalar = Arm(robot.chain, MATH)
        sample = dy.control.Sample(0.0, [0.1, 0.2], [0.0, 0.0], SimpleNamespace())
        assert len(law.start(scalar, sample).get("memory", [])) == sizes


def test_elements_of_an_arm_follow_and_slip():
    robot = arm(memory=MEMORY)
    scalar = Arm(robot.chain, MATH)
    state = scalar.relaxed_memory([0.1, 0.2])
    assert state == [0.0] * 4 + [0.1, 0.1, 0.2, 0.2]
    state = scalar.follow_memory(state, [0.105, 0.1995])
    np.testing.assert_allclose(state[:4], [1e-3, 5e-3, -5e-4, -5e-4], rtol=1e-12)
    still = scalar.friction_torque([0.0, 0.0], state)
    np.testing.assert_allclose(still, [3.0 + 2.5, -1.5 - 0.25], rtol=1e-12)
    largest = scalar.friction_torque([1.0, -1.0])
    np.testing.assert_allclose(largest, [0.5 + 1.0 + 8.0, -9.5], rtol=1e-12)


def test_none_compensates_nothing():
    law = dy.control.FeedForward(400.0, 40.0, friction="none")
    sample = dy.control.Sample(0.0, [0.1, 0.2], [0.0, 0.0], SimpleNamespace())
    assert law.start(Arm(arm(memory=MEMORY).chain, MATH), sample) == {}
    assert error(law) > 0.01


def test_a_closed_mechanism_with_memory_in_passive_joints():
    robot = dy.load("five-bar").with_friction(0.02, 0.0, memory=dy.Memory(1e-2, 0.3))
    drives = list(robot.active)
    start = robot.home[drives]
    move = dy.trajectory.quintic(start, start + np.array([0.05, -0.05]), 0.5)
    found = []
    for model in (robot, robot.with_friction(0.02, 0.0)):
        law = dy.control.ComputedTorque(400.0, 40.0, model=model)
        run = dy.simulate(robot, 0.6, q0=robot.home, controller=law, reference=move,
                          check_step=False)  # fmt: skip
        found.append(np.abs(run.q[:, drives] - move(run.t)[0]).max())
    assert found[0] < 0.2 * found[1]


def watched(model=None, observer=None, **options):
    """What an observer takes for an external torque while an arm with memory moves to and fro."""
    observer = observer or dy.control.MomentumObserver(200.0, model=model)
    law = replace(LAWS["computed torque"], model=arm())
    return dy.simulate(
        arm(memory=MEMORY), 1.4, 1e-4, q0=[0, 0], controller=law, reference=MOVE,
        observer=observer, sample_time=1e-3, check_step=False, **options,
    )  # fmt: skip


def test_an_observer_follows_memory():
    """Nothing pushes; elements at their largest would pass for a push wherever the arm turns."""
    run = watched()
    slipping = watched(arm(coulomb=1.0 + sum(MEMORY.weights)))
    moving = np.abs(run.qd) > 0.02  # at rest dry friction passes for a push
    after = run.t > 0.1
    largest = np.abs(np.where(moving, run.observed, 0.0))[after].max()
    assert largest < 0.15 * sum(MEMORY.weights)
    assert np.abs(np.where(moving, slipping.observed, 0.0))[after].max() > 5.0 * largest
    pushed = watched(external=np.array([2.0, -1.0])).observed
    apart = np.where(moving, pushed - run.observed - [2.0, -1.0], 0.0)[after]
    assert np.abs(apart).mean() < 0.1
    known = run.states["observer.memory"][-1, 4:]
    np.testing.assert_allclose(known, np.repeat(run.q[-1], 2), atol=1e-3)


def test_an_observer_of_models_without_memory_has_no_state_of_it():
    for friction in ("measured", "none"):
        observer = dy.control.MomentumObserver(20.0, friction=friction)
        for robot, sizes in ((arm(), 0), (arm(memory=MEMORY), 8 * (friction == "measured"))):
            sample = dy.control.Sample(0.0, [0.1, 0.2], [0.0, 0.0], SimpleNamespace())
            state = observer.start(Arm(robot.chain, MATH), sample)
            assert len(state.get("memory", [])) == sizes


def test_an_observer_with_memory_leaves_as_c(tmp_path):
    """The test that is written beside the C compares it with the observer in Python."""
    if shutil.which("make") is None or shutil.which("gcc") is None:
        pytest.skip("no make and gcc")
    dy.export_observer(arm(memory=MEMORY), dy.control.MomentumObserver(40.0), tmp_path, 1e-3)
    made = subprocess.run(
        ["make", "test"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.parametrize("observer", [dy.PayloadObserver(), dy.control.MomentumObserver(40.0)])
def test_observers_take_off_what_the_elements_hold(observer):
    """Their bias differs from that of an arm without memory by the stretched elements."""
    bias = []
    for robot in (arm(memory=MEMORY), arm()):
        scalar = Arm(robot.chain, MATH)
        gains = SimpleNamespace(**observer.gains(robot))
        state = observer.start(scalar, dy.control.Sample(0.0, [0.1, 0.2], [0.0, 0.0], gains))
        sample = dy.control.Sample(
            1e-3, [0.105, 0.1995], [0.3, -0.2], gains, SimpleNamespace(**state), dt=1e-3,
            tau=[0.0, 0.0],
        )  # fmt: skip
        bias.append(observer.step(scalar, sample)[1]["bias"])
    held = np.subtract(bias[1], bias[0])
    np.testing.assert_allclose(held, [3.0 + 2.5, -1.5 - 0.25], rtol=1e-9)
