"""Every variation of an arm keeps its shapes where they are, and so does its URDF."""

from typing import Any
from xml.etree.ElementTree import parse

import numpy as np
import pytest

import dynamis as dy
from tests.model.test_geometry import world_places

SHAPES = """
    <visual name="skin"><origin xyz="0.1 0 0" rpy="0.1 0.2 0.3"/>
      <geometry><mesh filename="meshes/skin.stl" scale="2 2 2"/></geometry>
      <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material></visual>
    <collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.05" length="0.4"/></geometry>
    </collision>"""
BOX = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
BODY = """<inertial><mass value="2"/><origin xyz="0.1 0 0.05"/>
    <inertia ixx="0.1" iyy="0.12" izz="0.08" ixy="0" ixz="0.01" iyz="0"/></inertial>"""
SOLID = """solid box
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid"""


def joint(name, parent, child, axis, kind="revolute"):
    limit = '<limit lower="-2" upper="2" velocity="3" effort="80"/>' if kind != "fixed" else ""
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="0.3 0.1 0.2" rpy="0.2 0 0.1"/><axis xyz="{axis}"/>{limit}</joint>"""


URDF = f"""<robot name="shaped"><link name="base">{SHAPES}</link>
    <link name="upper">{BODY}{SHAPES}</link><link name="fore">{BODY}{BOX}</link>
    <link name="hand">{BODY}{SHAPES}</link><link name="finger">{BODY}{BOX}</link>
    <link name="head">{BOX}</link>
    {joint("j1", "base", "upper", "0 0 1")}{joint("j2", "upper", "fore", "0 1 0")}
    {joint("j3", "fore", "hand", "1 0 0")}{joint("flange", "hand", "finger", "0 0 1", "fixed")}
    {joint("neck", "base", "head", "0 0 1", "fixed")}
</robot>"""
Q = np.array([0.4, -0.7, 1.1])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shaped")
    (folder / "meshes").mkdir()
    (folder / "meshes/skin.stl").write_text(SOLID)
    (folder / "arm.urdf").write_text(URDF)
    return folder / "arm.urdf"


@pytest.fixture(scope="module")
def arm(path):
    return dy.load(path)


def log(robot):
    t = np.arange(600) / 100.0
    phase = np.outer(t, np.arange(1, 5) * 1.7)
    q = np.stack([np.sin(k * phase + k).sum(axis=1) for k in (1.0, 1.3, 0.7)], axis=1) / 5
    qd = np.gradient(q, t, axis=0)
    qdd = np.gradient(qd, t, axis=0)
    return dy.Log(t=t, q=q, qd=qd, tau=robot.inverse_dynamics(q, qd, qdd))


def identified(robot):
    found = dy.identify(
        robot, log(robot), friction="none", estimator="ordinary", held_out=False, force=True
    )
    return found.robot


def payload_identified(robot):
    loaded = robot.with_payload(1.0, (0.0, 0.0, 0.1))
    return dy.identify_payload(robot, log(loaded)).robot


VARIATIONS: dict[str, Any] = {
    "payload": lambda a: a.with_payload(1.0, (0, 0, 0.1)),
    "payload identified": payload_identified,
    "friction": lambda a: a.with_friction(0.1, 0.2),
    "link": lambda a: a.with_link("fore", mass=3.0, com=(0.0, 0.1, 0.0)),
    "renamed": lambda a: a.with_link("upper", name="arm"),
    "drive": lambda a: a.with_drive("j1", gear=50.0, rotor_inertia=1e-4),
    "spring": lambda a: a.with_spring(dy.Spring(kind="torsion", joint="j2", stiffness=2.0)),
    "limits": lambda a: a.with_limits("j1", limits=(-1.0, 1.0)),
    "gravity": lambda a: a.with_gravity((0.0, 0.0, -1.6)),
    "parameters": lambda a: a.with_parameters(1.01 * a.parameters.values),
    "identified": identified,
    "modified DH": lambda a: a.to_dh("modified"),
}


def files(shapes):
    return [x.file for x in shapes]


@pytest.mark.parametrize("name", VARIATIONS)
@pytest.mark.filterwarnings("ignore:URDF cannot hold all")
def test_a_variation_keeps_its_shapes(arm, path, tmp_path, name):
    other = VARIATIONS[name](arm)
    before, after = arm.model.geometry, other.model.geometry
    assert [(x.kind, x.use, x.name) for x in after] == [(x.kind, x.use, x.name) for x in before]
    assert np.abs(world_places(other, Q) - world_places(arm, Q)).max() < 1e-9
    saved = tmp_path / "deep" / "saved.urdf"
    saved.parent.mkdir()
    other.save(saved)
    again = dy.load(saved)
    places = world_places(again, Q)
    found = [(x.kind, x.use) for x in again.model.geometry]
    for shape, place in zip(before, world_places(arm, Q), strict=True):
        near = [k for k, x in enumerate(found) if x == (shape.kind, shape.use)]
        assert min(np.abs(places[k] - place).max() for k in near) < 1e-9
    assert len(found) == len(before)
    meshes = list(parse(saved).iter("mesh"))
    assert len(meshes) == 3
    for mesh in meshes:
        own = (saved.parent / str(mesh.get("filename"))).resolve()
        assert own == path.parent / "meshes/skin.stl"
        assert [float(x) for x in str(mesh.get("scale")).split()] == [2.0, 2.0, 2.0]
    assert [x.get("rgba") for x in parse(saved).iter("color")] == ["0.5 0.5 0.5 1"] * 3


@pytest.mark.parametrize(
    ("given", "kept"),
    [({"lock": {"j2": Q[1]}}, [0, 2]), ({"joints": "j[12]", "lock": {"j3": Q[2]}}, [0, 1])],
)
def test_an_arm_with_locked_joints_keeps_every_shape(arm, path, given, kept):
    other = dy.load(path, **given)
    assert other.n == len(kept) and len(other.model.geometry) == len(arm.model.geometry)
    names = [(x.link or "base", x.kind, x.use) for x in arm.model.geometry]
    rows = [(x.link or "base", x.kind, x.use) for x in other.model.geometry]
    order = [rows.index(x) for x in names]
    assert np.abs(world_places(other, Q[kept])[order] - world_places(arm, Q)).max() < 1e-12


def test_another_tip_keeps_every_shape(arm, path):
    other = dy.load(path, tip="fore")
    assert np.abs(world_places(other, Q) - world_places(arm, Q)).max() < 1e-12


@pytest.mark.thorough
def test_simple_shapes_are_written_beside_the_meshes(arm, tmp_path):
    simple = arm.with_simple_shapes()
    visual = [x for x in simple.model.geometry if "visual" in x.use]
    assert files(visual) == ["meshes/skin.stl"] * 3
    simple.save(tmp_path / "arm.toml")
    again = dy.load(tmp_path / "arm.toml")
    assert [x.kind for x in again.model.geometry] == [x.kind for x in simple.model.geometry]
    assert again.distance(Q) == pytest.approx(float(simple.distance(Q)), abs=1e-12)
