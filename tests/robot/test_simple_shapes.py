"""Simple shapes contain what they replace, and stand where it stood."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.model.geometry import solid_of
from dynamis.robot.bodies.body import rods_of
from dynamis.robot.bodies.simple import around_points, simple_shape, usual_radius
from dynamis.spatial.frames import Frame
from dynamis.spatial.functions import MATH
from dynamis.spatial.geometry import nearest, sphere

CLOUDS = {
    "ball": lambda rng: rng.normal(size=(200, 3)),
    "long": lambda rng: rng.normal(size=(200, 3)) * [0.05, 0.05, 1.0],
    "skew": lambda rng: rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)),
    "flat": lambda rng: rng.uniform(-1.0, 1.0, (200, 3)) * [1.0, 0.7, 0.0],
    "line": lambda rng: np.outer(rng.uniform(size=50), [0.3, 0.2, 0.9]),
    "point": lambda rng: np.ones((3, 3)) * [1.0, 2.0, 3.0],
    "box": lambda rng: np.sign(rng.normal(size=(64, 3))) * [0.3, 0.2, 0.1],
}


def depth(shape, points):
    """The most that points stand out of a shape."""
    solid = solid_of(shape, {}, Frame())
    return max(nearest(solid, sphere(tuple(p), 0.0), MATH).distance for p in points.tolist())


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_point_is_within(cloud):
    points = CLOUDS[cloud](np.random.default_rng(5)) + np.array([0.2, -0.1, 0.4])
    shape = around_points(points)
    assert depth(shape, points) < 1e-9
    if cloud == "box":
        assert shape.kind == "box" and np.allclose(sorted(shape.size), (0.2, 0.4, 0.6))
    if cloud == "long":
        assert shape.kind == "capsule" and float(shape.radius or 1.0) < 0.25
    if cloud == "ball":
        spread = np.linalg.norm(points - points.mean(axis=0), axis=1).max()
        assert shape.kind != "box" and shape.radius <= 1.05 * spread


@pytest.mark.parametrize(("radius", "length", "kind"), [(0.05, 0.4, "capsule"), (0.2, 0.05, "box")])
def test_a_cylinder_is_within(radius, length, kind):
    can = dy.Geometry(
        kind="cylinder", name="can", link="x", radius=radius, length=length, xyz=(1, 2, 3),
        rpy=(0.3, 0.4, 0.5), use="collision",
    )  # fmt: skip
    shape = simple_shape(can)
    assert (shape.kind, shape.name, shape.link, shape.use) == (kind, "can", "x", ("collision",))
    turn = np.linspace(0.0, 2.0 * np.pi, 24)
    circle = np.stack([radius * np.cos(turn), radius * np.sin(turn), 0.5 * length + 0 * turn], 1)
    R = dy.transforms.from_rpy(0.3, 0.4, 0.5)
    rim = np.concatenate([circle, circle * [1, 1, -1]]) @ R.T + [1, 2, 3]
    assert depth(shape, rim) < 1e-9


def test_an_arm_without_shapes_gets_its_rods():
    arm = dy.load("puma560")
    simple = arm.with_simple_shapes(radius=0.04)
    assert all(x.kind == "capsule" and x.radius == 0.04 for x in simple.model.geometry)
    q = np.random.default_rng(0).uniform(-2, 2, (5, 6))
    for rod, shape in zip(rods_of(arm.chain), simple.model.geometry, strict=True):
        link = arm.model.base_name if rod.link < 0 else arm.model.link_names[rod.link]
        assert shape.link == (None if rod.link < 0 else link)
    tool = arm.fk(q)[:, :3, 3]
    world = [dy.Sphere(radius=1e-6, xyz=tuple(tool[0]))]
    assert simple.distance(q[0], world) == pytest.approx(-0.04, abs=2e-6)
    assert simple.distance(q).shape == (5,)
    assert arm.with_simple_shapes().model.geometry[0].radius == usual_radius(arm)
    with pytest.raises(OptionError, match="radius is -1"):
        arm.with_simple_shapes(-1)


def test_visual_shapes_stay_and_count_where_there_are_no_others():
    arm = dy.load("panda")
    shapes = (
        dy.Geometry(kind="cylinder", name="can", link="link2", radius=0.05, length=0.5),
        dy.Geometry(kind="box", name="look", link="link3", size=(1, 1, 1), use="visual"),
        dy.Geometry(kind="sphere", name="core", link="link3", radius=0.1, use="collision"),
        dy.Geometry(kind="box", name="wrist", link="link5", size=(0.1, 0.1, 0.1), use="visual"),
    )
    simple = dy.Robot(replace(arm.model, geometry=shapes)).with_simple_shapes()
    found = {x.name: (x.kind, x.link, x.use) for x in simple.model.geometry}
    assert found["can"] == ("cylinder", "link2", ("visual",))
    assert found["can_simple"] == ("capsule", "link2", ("collision",))
    assert found["look"] == ("box", "link3", ("visual",))
    assert found["core"] == ("sphere", "link3", ("collision",))
    assert found["wrist_simple"] == ("box", "link5", ("collision",))
    with_rods = {x.link for x in simple.model.geometry if str(x.name).startswith("rod")}
    assert None in with_rods and not with_rods & {"link2", "link3", "link5"}
    assert np.isfinite(simple.distance(np.zeros(arm.n)))
