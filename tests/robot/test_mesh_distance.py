"""Distances of cylinders, hulls and meshes against those of exact shapes that are the same body."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import FileError, MissingPackageError

pytest.importorskip("coal", reason="needs coal, which comes with pin")
SIZE = np.array([0.3, 0.2, 0.4])
CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
FACES = np.array(
    [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
)
BALL = dy.Geometry(kind="sphere", name="ball", link="link6", xyz=(0, 0, 0.1), radius=0.05)
BAR = dy.Geometry(
    kind="capsule", name="bar", link="link4", from_=(0, 0, 0), to=(0, 0.1, 0.2), radius=0.03
)
PLACE: Any = {"xyz": (0.3, 0.2, 0.1), "rpy": (0.3, -0.2, 0.5)}
WORLD = [dy.Plane(normal=(0, 0.6, 0.8), offset=-0.9, name="slope")]
CLOSE = 1e-8


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A box of unit size as an OBJ with faces of four corners."""
    path = tmp_path_factory.mktemp("meshes") / "unit.obj"
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS]
    lines += [f"f {' '.join(str(k + 1) for k in face)}" for face in FACES]
    path.write_text("\n".join(lines))
    return path


def arm(*shapes):
    model = dy.load("puma560").model
    return dy.Robot(replace(model, geometry=(*shapes, BALL, BAR)))


def block(kind, file=None, **given):
    own = {"size": tuple(SIZE)} if kind == "box" else {"file": str(file), "scale": tuple(SIZE)}
    return dy.Geometry(kind=kind, name="block", **own, **PLACE, **given)


def positions(count=40):
    return np.random.default_rng(7).uniform(-2.5, 2.5, (count, 6))


@pytest.mark.parametrize("kind", ["mesh", "hull"])
@pytest.mark.parametrize("link", [None, "link3"])
def test_a_box_as_a_mesh_is_that_box(files, kind, link):
    exact, other = arm(block("box", link=link)), arm(block(kind, files, link=link))
    q = positions()
    a, b = exact.collision_pairs(WORLD), other.collision_pairs(WORLD)
    assert a.names == b.names and a.left_out == b.left_out
    apart, found = a.distances(q), b.distances(q)
    if kind == "hull":
        assert np.abs(found - apart).max() < CLOSE
    else:
        assert np.abs(found - apart)[apart > 0.0].max() < CLOSE
        assert (found[apart < 0.0] < 0.0).all()
    assert np.array_equal(exact.collides(q, WORLD), other.collides(q, WORLD))
    for at in q[:8]:
        one, two = a.nearest(at), b.nearest(at)
        if one.distance > 0.0:
            assert one.names == two.names
            assert np.abs(np.array(one.points) - two.points).max() < 1e-5


def test_collisions_are_among_these_positions(files):
    hit = arm(block("mesh", files)).collides(positions(), WORLD)
    assert 2 <= hit.sum() < len(hit) - 2


def of_pair(shape):
    """Distance of a shape from the ball at home."""
    pairs = arm(shape).collision_pairs()
    return pairs.distances(np.zeros(6))[pairs.names.index(("block", "ball"))]


def test_what_lies_within_a_mesh_overlaps_it(files):
    large = replace(block("mesh", files), scale=(1.2, 1.2, 1.2))
    assert -0.1 < of_pair(large) < -0.02  # from the ball to the nearest face
    open_box = files.with_name("open.obj")
    lines = files.read_text().splitlines()[:-1]
    open_box.write_text("\n".join(lines))
    without = arm(replace(large, file=str(open_box))).collision_pairs()
    assert (
        dict(zip(without.names, without.distances(np.zeros(6)), strict=True))["block", "ball"] > 0
    )


def test_a_cylinder_beside_a_ball_and_a_plane():
    """In the frame of the cylinder: a point of a rectangle, turned about z."""
    can = dy.Geometry(kind="cylinder", name="can", radius=0.15, length=0.3, **PLACE)
    robot, q = arm(can), positions()
    T = dy.transforms.pose(dy.transforms.from_rpy(*PLACE["rpy"]), PLACE["xyz"])
    centre = robot.fk(q, link="link6") @ [0, 0, 0.1, 1.0]
    x, y, z, _ = (np.linalg.inv(T) @ centre.T).round(15)
    out, up = np.hypot(x, y) - 0.15, np.abs(z) - 0.15
    outside = np.hypot(np.maximum(out, 0.0), np.maximum(up, 0.0))
    expected = np.where(np.maximum(out, up) < 0.0, np.maximum(out, up), outside) - 0.05
    pairs = robot.collision_pairs(WORLD)
    found = pairs.distances(q)[:, pairs.names.index(("can", "ball"))]
    assert np.abs(found - expected).max() < CLOSE
    moving = arm(replace(can, link="link5"))
    pairs = moving.collision_pairs(WORLD)
    T5 = moving.fk(q, link="link5") @ T
    n = np.array([0, 0.6, 0.8])
    along = np.abs(T5[:, :3, 2] @ n)
    low = T5[:, :3, 3] @ n + 0.9 - 0.15 * along - 0.15 * np.sqrt(1.0 - along * along)
    found = pairs.distances(q)[:, pairs.names.index(("can", "slope"))]
    assert np.abs(found - low).max() < CLOSE


def test_a_batch_has_the_shape_of_its_positions(files):
    robot, q = arm(block("hull", files)), positions(6)
    flat = robot.distance(q)
    assert np.array_equal(robot.distance(q.reshape(2, 3, 6)), flat.reshape(2, 3))
    assert robot.distance(q[0]) == flat[0]
    assert np.isnan(robot.distance(np.full(6, np.nan)))
    assert robot.distance(np.zeros((0, 6))).shape == (0,)


def test_what_is_missing_is_named(files, monkeypatch):
    with pytest.raises(FileError, match=r"geometry 'block': 'none\.stl' is not there"):
        arm(replace(block("mesh", files), file="none.stl")).distance(np.zeros(6))
    flat = files.with_name("flat.obj")
    flat.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    with pytest.raises(FileError, match="no hull with a volume"):
        arm(replace(block("hull", files), file=str(flat))).distance(np.zeros(6))
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(MissingPackageError, match="coal") as found:
        arm(block("mesh", files)).distance(np.zeros(6))
    assert "[mesh]" in str(found.value) or "trimesh" in str(found.value)
    assert "with_simple_shapes" in str(found.value)
