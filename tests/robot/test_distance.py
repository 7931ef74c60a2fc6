"""How far an arm is from itself and from a world."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ModelError, OptionError
from dynamis.model.model import NamedFrame
from dynamis.model.pose import Pose
from dynamis.robot.distance import _generic

coal = pytest.importorskip("coal", reason="needs coal, which comes with pin")
EXACT = 1e-10
LINKS = (
    (1, (0, 0, 0.1), 0.1),
    (2, (-0.43, 0, 0), 0.07),
    (3, (0, 0.1, 0), 0.06),
    (6, (0, 0, 0.1), 0.04),
)
SHAPES = (
    dy.Geometry(kind="box", name="post", size=(0.3, 0.3, 0.6), xyz=(0, 0, -0.3), rpy=(0, 0, 0.4)),
    *(
        dy.Geometry(kind="capsule", name=f"c{i}", link=f"link{i}", from_=(0, 0, 0), to=to, radius=r)
        for i, to, r in LINKS
    ),
    dy.Geometry(kind="sphere", name="knob", link="link4", xyz=(0, 0.2, 0), radius=0.03),
    dy.Geometry(kind="box", name="gripper", link="tool0", size=(0.02, 0.1, 0.05), use="collision"),
    dy.Geometry(kind="mesh", name="looks", link="link2", file="none.stl", use="visual"),
)
WORLD = [
    dy.Plane(offset=-0.6, name="floor"),
    dy.Box(size=(0.2, 0.2, 1.0), xyz=(0.6, 0.0, 0.0), rpy=(0.3, 0, 0)),
    dy.Sphere(radius=0.1, xyz=(0.0, 0.7, 0.2)),
    dy.Capsule(from_=(-1, 0, 0.8), to=(1, 0.3, 0.8), radius=0.05, name="bar"),
]


@pytest.fixture(scope="module")
def arm():
    own = NamedFrame(name="tool0", link="link6", pose=Pose((0, 0, 0.15)))
    return dy.Robot(replace(dy.load("puma560").model, frames=(own,), geometry=SHAPES))


@pytest.fixture(scope="module")
def q(arm):
    return np.random.default_rng(3).uniform(-2.0, 2.0, (16, arm.n))


def coal_shape(x):
    if isinstance(x, dy.Box) or x.kind == "box":
        return coal.Box(*x.size)
    return coal.Sphere(x.radius)


def placed(robot, name, q):
    """A body of coal and its place, from the robot's own forward kinematics."""
    shape = next(x for x in robot.model.geometry if x.name == name)
    T = np.eye(4)
    if shape.link is not None:
        link, offset = shape.link, np.eye(4)
        if link == "tool0":
            link, offset[2, 3] = "link6", 0.15
        T = robot.fk(q, link=link) @ offset
    T = T @ dy.transforms.pose(
        dy.transforms.from_rpy(shape.rpy[0], shape.rpy[1], shape.rpy[2]), shape.xyz
    )
    if shape.kind != "capsule":
        return coal_shape(shape), coal.Transform3s(T[:3, :3], T[:3, 3])
    a, b = (T[:3, :3] @ x + T[:3, 3] for x in (shape.from_, shape.to))
    return capsule_between(a, b, shape.radius)


def capsule_between(a, b, radius):
    axis = (b - a) / np.linalg.norm(b - a)
    other = np.cross(axis, [0.36, 0.48, 0.8])
    other /= np.linalg.norm(other)
    R = np.column_stack([other, np.cross(axis, other), axis])
    return coal.Capsule(radius, np.linalg.norm(b - a)), coal.Transform3s(R, (a + b) / 2)


def turned(one):
    return (
        dy.transforms.from_rpy(one.rpy[0], one.rpy[1], one.rpy[2])
        if isinstance(one, dy.Box)
        else None
    )


def obstacle(world, name):
    one = next(
        x for k, x in enumerate(world, 1) if name in (x.name, f"{type(x).__name__.lower()}{k}")
    )
    if isinstance(one, dy.Capsule):
        return capsule_between(np.array(one.from_), np.array(one.to), one.radius)
    if isinstance(one, dy.Plane):
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), one.offset), coal.Transform3s()
    T = dy.transforms.pose(
        dy.transforms.from_rpy(*(one.rpy if isinstance(one, dy.Box) else (0, 0, 0))), one.xyz
    )
    kind = coal.Box(*one.size) if isinstance(one, dy.Box) else coal.Sphere(one.radius)
    return kind, coal.Transform3s(T[:3, :3], T[:3, 3])


@pytest.mark.parametrize("world", [None, WORLD], ids=["itself", "world"])
def test_distances_are_those_of_another_engine(arm, q, world):
    pairs = arm.collision_pairs(world)
    found = pairs.distances(q)
    request = coal.DistanceRequest()
    request.gjk_tolerance, request.epa_tolerance = 1e-12, 1e-10
    own = {x.name for x in arm.model.geometry}
    for row, at in zip(found, q, strict=True):
        for (a, b), distance in zip(pairs.names, row, strict=True):
            one = placed(arm, a, at)
            other = placed(arm, b, at) if b in own else obstacle(WORLD, b)
            expected = coal.distance(*one, *other, request, coal.DistanceResult())
            assert abs(distance - expected) < 1e-8, (a, b)
    assert np.array_equal(arm.distance(q, world), found.min(axis=-1))
    assert np.array_equal(arm.collides(q, world), found.min(axis=-1) < 0.0)


def test_machine_code_and_arrays_agree(arm, q):
    pairs = arm.collision_pairs(WORLD)
    assert np.abs(_generic(arm, pairs.pairs)(q) - pairs.distances(q)).max() < EXACT


def test_batches(arm, q):
    flat = arm.distance(q, WORLD)
    assert np.array_equal(arm.distance(q.reshape(2, 8, 6), WORLD), flat.reshape(2, 8))
    assert arm.distance(q[0], WORLD).shape == () and arm.distance(q[0], WORLD) == flat[0]
    assert arm.distance(np.zeros((0, 6))).shape == (0,)
    assert arm.distance(np.zeros(6, int)) == arm.distance([0.0] * 6)
    assert arm.distance(q.astype("float32")).dtype == np.float64
    assert np.isnan(arm.distance(np.full(6, np.nan)))
    with pytest.raises(Exception, match="finite"):
        arm.collides(np.full(6, np.nan))


def test_points_of_the_nearest_pair(arm, q):
    pairs = arm.collision_pairs(WORLD)
    for at in q:
        found = pairs.nearest(at)
        assert found.distance == pytest.approx(arm.distance(at, WORLD), abs=1e-12)
        a, b = found.points
        assert np.linalg.norm(b - a) == pytest.approx(abs(found.distance), abs=1e-9)
        assert found.names in pairs.names


def test_pairs_that_are_left_out_have_a_reason(arm):
    pairs = arm.collision_pairs(WORLD)
    assert pairs.left_out["c1", "c2"] == "their links are joined"
    assert pairs.left_out["c6", "gripper"] == "both are on one link"
    assert pairs.left_out["post", "floor"] == "both are still"
    assert ("post", "c6") in pairs.names and ("c6", "floor") in pairs.names
    fat = tuple(replace(x, radius=0.6) if x.name == "c1" else x for x in arm.model.geometry)
    always = dy.Robot(replace(arm.model, geometry=fat)).collision_pairs().left_out
    assert always["c1", "c3"] == "they overlap at all of 400 random positions"


def test_a_name_with_an_edit_is_another_answer(arm):
    """Robots that differ in their shapes alone are equal, and have their own distances."""
    thin = tuple(
        replace(x, radius=0.5 * x.radius) if x.kind == "capsule" else x for x in arm.model.geometry
    )
    other = dy.Robot(replace(arm.model, geometry=thin))
    at = np.array([0.3, -0.4, 0.5, 0.1, 0.2, 0.3])
    assert other == arm
    apart, before = (x.collision_pairs().distances(at) for x in (other, arm))
    assert (apart >= before).all() and (apart > before).any()


def test_a_tree_and_a_closed_mechanism():
    five = dy.load("five-bar")
    shapes = tuple(dy.Geometry(kind="sphere", link=name, radius=0.01) for name in five.link_names)
    five = dy.Robot(replace(five.model, geometry=shapes))
    assert np.isfinite(five.distance(five.home))
    for closure in five.model.closures:
        pair: Any = tuple(x.name for x in five.model.geometry if x.link in closure.between)
        assert len(pair) < 2 or five.collision_pairs().left_out[pair] == "their links are joined"


def test_what_cannot_be_computed_is_said(arm):
    with pytest.raises(OptionError, match="no geometry for collision"):
        dy.load("puma560").distance(np.zeros(6))
    with pytest.raises(ModelError, match=r"world holds 3, expected a list of dy\.Plane"):
        arm.distance(np.zeros(6), [3])
    with pytest.raises(ModelError, match="two obstacles of the world are called 'floor'"):
        arm.distance(np.zeros(6), [WORLD[0], WORLD[0]])
    with pytest.raises(OptionError, match="both called 'post'"):
        arm.distance(np.zeros(6), dy.Sphere(radius=1.0, name="post"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dy.Plane(normal=(0, 0, 0)), r"Plane\.normal"),
        (lambda: dy.Sphere(radius=0.0), "Sphere.radius is 0.0, expected above 0"),
        (lambda: dy.Box(size=(1, 2)), "Box.size has 2 entries"),
        (lambda: dy.Capsule(from_=(0, 0, 0), to=(0, 0, "L"), radius=1.0), "symbol 'L'"),
        (lambda: dy.Plane(name=""), "Plane.name is ''"),
    ],
)
def test_what_is_no_obstacle_is_refused(make, words):
    with pytest.raises(ModelError, match=words):
        make()
