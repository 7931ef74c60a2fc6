"""Solid links: rigid on their bodies, closed, along the sticks; nothing below the floor."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.plots.skeleton import skeleton
from dynamis.plots.solid import (
    COLOURS,
    Stand,
    ball,
    barrel,
    box,
    capsule,
    coil,
    frustum,
    solid,
    stand,
)
from tests.closed_mechanisms import five_bar
from tests.plots.test_closed import mobile_platform
from tests.plots.test_skeleton import tree

ARMS = ("pendulum3", "rppr", "puma560", "puma560-mdh", "stanford", "panda", "ur10e", "delta")


def every(name):
    made = {"tree": tree, "five-bar": five_bar, "platform": mobile_platform}
    return made[name]() if name in made else dy.load(name)


def volume(vertices, faces):
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    return float(np.sum(np.cross(a, b) * c)) / 6.0


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (frustum(2.0, 1.0, 1.0, 64), 2.0 * np.pi),
        (capsule(2.0, 1.0, 1.0, 64), (2.0 + 4.0 / 3.0) * np.pi),
        (ball(np.ones(3), 1.0, 64), 4.0 / 3.0 * np.pi),
        (box(0.5, 1.0, 3.0), 6.0),
        (barrel(1.0, 3.0, 64), 3.0 * np.pi),
        (coil(0.5, 0.05), None),
    ],
)
def test_shapes_are_closed_and_face_outwards(shape, expected):
    found = volume(*shape)
    assert found > 0 if expected is None else found == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("name", [*ARMS, "tree", "five-bar", "platform"])
def test_tubes_cover_the_sticks_at_every_pose(name):
    robot = every(name)
    shape = solid(robot)
    assert {part.colour for part in shape.parts} <= set(COLOURS)
    q = np.random.default_rng(1).uniform(0.1, 0.6, size=(3, robot.n))
    arm = skeleton(robot, q)
    T = shape.transforms(arm.frames)
    sticks = np.concatenate([arm.sticks, arm.ground], axis=-3)
    for k in range(3):
        corners = shape.corners(T[k])
        apart = np.linalg.norm(corners[:, None] - sticks[k].reshape(-1, 3), axis=-1).min(axis=0)
        assert apart.max() < 0.05 * shape.reach  # each end of a stick is within a tube's radius


def test_a_telescope_stretches_and_the_rest_is_rigid():
    robot = dy.load("stanford")
    shape = solid(robot)
    scale = np.linalg.det(
        shape.transforms(robot.frames([[0.3, 0.2, d, 0.1, 0.5, 0.2] for d in (0.5, 1.0)]))[
            ..., :3, :3
        ]
    )
    stretched = np.array([part.ends is not None for part in shape.parts])
    assert stretched.sum() == 1
    np.testing.assert_allclose(scale[:, ~stretched], 1.0, atol=1e-12)
    np.testing.assert_allclose(scale[:, stretched].ravel(), [0.5, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    "name", ["puma560", "pendulum3", "five-bar", "delta", "cartesian-xy", "palletizer"]
)
def test_nothing_is_below_the_floor_and_the_pedestal_ends_on_it(name):
    robot = every(name)
    shape = solid(robot)
    frames = robot.frames(np.random.default_rng(2).uniform(-2.0, 2.0, size=(20, robot.n)))
    ground = stand(robot, shape, frames)
    assert (shape.corners(shape.transforms(frames)) @ shape.up).min() > ground.floor
    for part in ground.parts:
        heights = (part.vertices @ frames[0, 0, :3, :3].T + frames[0, 0, :3, 3]) @ shape.up
        assert heights.min() == pytest.approx(ground.floor, abs=1e-12)
    assert bool(ground.parts) == (robot.model.convention != "urdf")


@pytest.mark.parametrize("name", ["ur10e", "irb120", "fr3", "palletizer"])
def test_a_urdf_stands_on_the_floor_by_its_own_base(name):
    """Its first joint is above the base (ur10e), or turns about the vertical at it (irb120)."""
    robot = every(name)
    shape, named = solid(robot), [*robot.configurations.values()] or [np.zeros(robot.n)]
    frames = robot.frames(np.array(named))
    assert stand(robot, shape, frames) == Stand(0.0, ())
    assert (shape.corners(shape.transforms(frames)) @ shape.up).min() >= 0.0
    low = np.array(named)
    low[:, 1] += 1.9  # the arm below its base
    ground = stand(robot, shape, robot.frames(low))
    assert ground.floor < -0.1 and ground.parts == ()
    wall = robot.with_gravity((-9.81, 0.0, 0.0))
    assert stand(wall, solid(wall), frames).parts == ()
