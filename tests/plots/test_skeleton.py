"""The sticks are where the robot says its frames are."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.model.model import Model
from dynamis.plots import skeleton
from dynamis.plots.scene import view_of

ARMS = ("pendulum3", "rppr", "scara", "puma560", "puma560-mdh", "stanford", "panda", "ur10e")
EXACT = 1e-12  # metres; a few roundings of numbers of order one


def tree():
    body = {"mass": 1.0, "com": (0, 0, 0), "inertia": (0.1, 0.1, 0.1)}
    links = [
        dy.Link(name="trunk", joint="revolute", **body),
        dy.Link(name="left", joint="revolute", parent="trunk", xyz=(0.3, 0.4, 0), **body),
        dy.Link(name="right", joint="prismatic", parent="trunk", xyz=(0, -0.5, 0.1), **body),
    ]
    return dy.Robot(Model(name="tree", convention="urdf", links=tuple(links), tool_link="left"))


@pytest.mark.parametrize("name", ARMS)
def test_last_stick_ends_at_the_tool(name):
    robot = dy.load(name)
    q = np.random.default_rng(1).normal(size=(5, robot.n))
    arm = skeleton(robot, q)
    assert arm.segments.shape == (5, 2 * len(robot.link_names) + 1, 2, 3)
    assert np.abs(arm.segments[:, -1, 1] - robot.fk(q)[:, :3, 3]).max() < EXACT


@pytest.mark.parametrize("name", ARMS)
def test_sticks_join_consecutive_origins(name):
    robot = dy.load(name)
    q = np.random.default_rng(2).normal(size=(4, robot.n))
    arm, origins = skeleton(robot, q), robot.frames(q)[..., :3, 3]
    sticks = arm.segments[:, :-1].reshape(4, -1, 2, 2, 3)
    for i, parent in enumerate(robot.model.parents):
        np.testing.assert_allclose(sticks[:, i, 0, 0], origins[:, parent + 1], atol=EXACT)
        np.testing.assert_allclose(sticks[:, i, 1, 1], origins[:, i + 1], atol=EXACT)
        np.testing.assert_allclose(sticks[:, i, 0, 1], sticks[:, i, 1, 0], atol=EXACT)


@pytest.mark.parametrize(("name", "along"), [("puma560", 0), ("scara", 0), ("panda", 1)])
def test_one_stick_of_a_link_is_along_its_axis_and_the_other_across(name, along):
    robot = dy.load(name)
    arm = skeleton(robot, np.full(robot.n, 0.4))
    sticks = arm.segments[:-1].reshape(-1, 2, 2, 3)
    d = sticks[:, :, 1] - sticks[:, :, 0]
    assert np.abs(np.cross(d[:, along], arm.axes)).max() < EXACT
    assert np.abs(np.sum(d[:, 1 - along] * arm.axes, axis=-1)).max() < EXACT


def test_joints_lie_on_axes_that_do_not_move_with_them():
    robot = dy.load("stanford")
    q = np.full(6, 0.3)
    for i in range(6):
        moved = q.copy()
        moved[i] += 0.7
        before, after = skeleton(robot, q), skeleton(robot, moved)
        np.testing.assert_allclose(before.joints[i], after.joints[i], atol=EXACT)
        np.testing.assert_allclose(before.axes[i], after.axes[i], atol=EXACT)


def test_tree_hangs_children_on_their_parents():
    robot = tree()
    q = np.array([0.3, -0.2, 0.25])
    arm, origins = skeleton(robot, q), robot.frames(q)[:, :3, 3]
    starts = arm.segments[:-1].reshape(-1, 2, 2, 3)[:, 0, 0]
    np.testing.assert_allclose(starts, origins[[0, 1, 1]], atol=EXACT)
    np.testing.assert_allclose(arm.segments[-1, 0], origins[2], atol=EXACT)
    assert arm.kinds == ("revolute", "revolute", "prismatic")


def test_reach_of_an_arm_without_length_is_still_a_length():
    robot = dy.load("cartesian-xy")
    assert skeleton(robot, np.zeros(2)).reach > 0


FLAT = {"pendulum3": "xy", "planar-rr": "xy", "planar-rp": "xy", "cartesian-xy": "xy"}


@pytest.mark.parametrize("name", [*FLAT, "puma560", "scara", "rppr", "stanford"])
def test_planar_arms_are_seen_face_on(name):
    robot = dy.load(name)
    view = view_of(robot, skeleton(robot, np.full(robot.n, 0.2)))
    assert view.flat == (name in FLAT)
    if view.flat:
        assert view.labels == [f"{axis} (m)" for axis in FLAT[name]]
        down = view.seen(robot.gravity)
        assert abs(down[0]) < EXACT
        assert down[1] < 0


def test_a_planar_arm_stays_in_its_plane():
    robot = dy.load("planar-rp")
    q = np.random.default_rng(3).normal(size=(20, 2))
    arm = skeleton(robot, q)
    depth = arm.tool[:, :3, 3] @ view_of(robot, arm).normal
    assert np.ptp(depth) < EXACT
