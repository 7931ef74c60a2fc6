"""Shapes of links: data, files, and where they are."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisWarning, ModelError, OptionError
from dynamis.model.formats.files import model_from_toml, toml_text
from dynamis.model.formats.packages import file_of
from dynamis.model.geometry import KINDS, Geometry, carrier
from dynamis.robot.shapes import link_shapes
from dynamis.spatial.frames import compose, matrix

CAPSULE = Geometry(kind="capsule", link="link3", from_=(0, 0, 0), to=(0, 0, "L"), radius=0.06)
ONE_OF_EACH = (
    CAPSULE,
    Geometry(kind="sphere", link="link1", radius="r", xyz=(0.1, 0, 0), use="collision"),
    Geometry(kind="box", size=(1, 0.5, 0.2), xyz=(0, 0, -0.1), rpy=("pi/2", 0, 0.3)),
    Geometry(kind="cylinder", link="link2", radius=0.1, length=0.4, use=["visual", "collision"]),
    Geometry(kind="mesh", link="link2", file="meshes/arm.stl", scale=(1e-3, 1e-3, 1e-3)),
    Geometry(kind="hull", link="link2", file="meshes/arm.stl", use=("collision",)),
)


def shaped(arm, shapes=ONE_OF_EACH, **values):
    values = {"L": 0.4, "r": 0.05, **values}
    return dy.Robot(replace(arm.model, geometry=shapes, values={**arm.model.values, **values}))


def world_places(arm, q):
    """Where every shape is in the reference frame, (shapes, 4, 4)."""
    found = []
    for shape in arm.model.geometry:
        i, place = carrier(arm.model, shape.link)
        base = np.array(matrix(arm.model.base.frame(arm.model.values)))
        T = arm.fk(q, link=arm.link_names[i]) if i >= 0 else base
        found.append(T @ np.array(matrix(compose(place, shape.placement(arm.model.values)))))
    return np.array(found)


def test_every_kind_is_written_and_read():
    model = shaped(dy.load("puma560")).model
    again = model_from_toml(toml_text(model))
    assert {x.kind for x in again.geometry} == {*KINDS}
    assert again.geometry == model.geometry and again == model
    assert pickle.loads(pickle.dumps(model)).geometry == model.geometry
    assert {"L", "r"} <= {*model.symbols}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "box"}, "geometry.size is missing, which kind 'box' needs"),
        ({"kind": "sphere", "radius": -1}, "geometry.radius is -1.0, expected above 0"),
        ({"kind": "sphere", "radius": 1, "size": (1, 1, 1)}, "size .* kind 'sphere' does not have"),
        ({"kind": "capsule", "from_": (0, 0), "to": (0, 0, 1), "radius": 1}, "from has 2 entries"),
        ({"kind": "box", "size": (1, 0, 1)}, "geometry.size is 0.0, expected above 0"),
        ({"kind": "mesh", "file": ""}, "geometry.file is '', expected a non-empty text"),
        ({"kind": "sphere", "radius": 1, "use": ()}, "expected collision or visual"),
        ({"kind": "sphere", "radius": math.nan}, "radius is nan"),
    ],
)
def test_what_is_no_shape_is_refused(given, words):
    with pytest.raises(ModelError, match=words):
        Geometry(**given)


def test_words_are_of_those_that_exist():
    with pytest.raises(OptionError, match="kind is 'ball', expected 'sphere'"):
        Geometry(kind="ball", radius=1.0)
    with pytest.raises(OptionError, match="use is 'looks'"):
        Geometry(kind="sphere", radius=1.0, use="looks")
    with pytest.raises(Exception, match="'geometry1' is on 'link9', which is not a link"):
        shaped(dy.load("puma560"), (replace(CAPSULE, link="link9"),))


def test_shapes_stay_where_they_are_in_every_convention():
    arm = shaped(dy.load("puma560"))
    q = np.linspace(-0.8, 0.9, 6)
    places = world_places(arm, q)
    other = arm.to_dh("modified")
    assert other.model.convention == "modified"
    assert np.abs(world_places(other, q) - places).max() < 1e-9
    assert np.abs(other.fk(q) - arm.fk(q)).max() < 1e-9


@pytest.mark.filterwarnings("ignore:URDF cannot hold all")
def test_shapes_stay_where_they_are_in_a_urdf(tmp_path):
    arm = shaped(dy.load("puma560"), ONE_OF_EACH[1:4])
    arm.save(tmp_path / "arm.urdf")
    again = dy.load(tmp_path / "arm.urdf")
    assert [x.kind for x in again.model.geometry] == ["box"] * 2 + ["sphere"] + ["cylinder"] * 2
    assert {x.use for x in again.model.geometry} == {("collision",), ("visual",)}
    q = np.linspace(-0.8, 0.9, 6)
    before, after = world_places(arm, q), world_places(again, q)
    assert np.abs(after[[2, 0, 3]] - before).max() < 1e-12
    assert again.model.geometry[0].size == (1.0, 0.5, 0.2)


@pytest.mark.filterwarnings("ignore:URDF cannot hold all")
def test_a_capsule_in_a_urdf_is_a_cylinder_and_two_spheres(tmp_path):
    arm = shaped(dy.load("puma560"), (replace(CAPSULE, from_=(0.1, 0.2, 0.3), use="visual"),))
    with pytest.warns(DynamisWarning, match="URDF has no capsules: geometry1 of 'puma560'"):
        arm.save(tmp_path / "arm.urdf")
    again = dy.load(tmp_path / "arm.urdf")
    one, other, middle = again.model.geometry
    assert (one.kind, other.kind, middle.kind) == ("sphere", "sphere", "cylinder")
    assert middle.length is not None and middle.length == pytest.approx(
        math.dist((0.1, 0.2, 0.3), (0, 0, 0.4))
    )
    places = world_places(again, np.zeros(6))
    (whole,) = world_places(arm, np.zeros(6))
    ends = [(whole @ [*end, 1.0])[:3] for end in ((0.1, 0.2, 0.3), (0.0, 0.0, 0.4))]
    assert np.abs(places[:2, :3, 3] - ends).max() < 1e-12
    half = 0.5 * middle.length * places[2, :3, 2]
    assert np.abs(places[2, :3, 3] + half - ends[1]).max() < 1e-12


def test_links_with_other_names_keep_their_shapes():
    arm = shaped(dy.load("puma560")).with_link("link3", name="forearm")
    assert [x.link for x in arm.model.geometry][:2] == ["forearm", "link1"]


def test_files_are_the_same_wherever_the_robot_is_saved(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "meshes/arm.stl").write_bytes(b"")
    shaped(dy.load("puma560")).save(tmp_path / "arm.toml")
    arm = dy.load(tmp_path / "arm.toml")
    arm.save(tmp_path / "deep/er/arm.toml")
    again = dy.load(tmp_path / "deep/er/arm.toml")
    assert again.model.geometry[4].file == "../../meshes/arm.stl"
    for one in (arm, again):
        assert file_of(one.model.geometry[4]) == tmp_path / "meshes/arm.stl"


def test_sizes_of_a_capsule():
    arm = shaped(dy.load("puma560"), (CAPSULE,))
    (shape,) = link_shapes(arm.model).values()
    assert shape.volume == pytest.approx(math.pi * 0.06**2 * (0.4 + 4 / 3 * 0.06))
    assert shape.points.max(axis=0) == pytest.approx((0.06, 0.06, 0.46))
