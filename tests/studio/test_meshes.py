"""What a URDF file draws: which files are taken, and where they go."""

import numpy as np
import pytest

import dynamis as dy

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")

URDF = """<robot name="two"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="base"><visual><geometry><cylinder radius="0.1" length="0.2"/></geometry></visual></link>
<link name="upper"><visual><origin xyz="0.25 0 0" rpy="0 1.5707963267948966 0"/>
<geometry><mesh filename="{mesh}" scale="1 1 2"/></geometry><material name="blue"/></visual></link>
<link name="hand"><visual><geometry><box size="0.1 0.1 0.1"/></geometry>
<material name="m"><color rgba="1 0.5 0 1"/></material></visual>
<visual><geometry><sphere radius="0.05"/></geometry></visual>
<visual><geometry><mesh filename="not/there.stl"/></geometry></visual>
<visual><geometry><cone/></geometry></visual></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<origin xyz="0 0 0.1"/><limit lower="-1" upper="2" effort="10" velocity="3"/></joint>
<joint name="end" type="fixed"><parent link="upper"/><child link="hand"/>
<origin xyz="0.5 0 0"/></joint>
</robot>"""


JOINT = """<link name="a"/><joint name="j" type="revolute"><parent link="base"/><child link="a"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="10" velocity="3"/></joint>"""


class Node:
    """A node of a scene that only remembers."""

    def __init__(self, name, colour=None):
        self.name, self.colour, self.visible = name, colour, True


class Scene:
    """A scene that only remembers."""

    def add_mesh_simple(self, name, vertices, faces, color, flat_shading):
        return Node(name, color)

    def add_mesh_trimesh(self, name, mesh):
        return Node(name)


@pytest.fixture
def package(tmp_path):
    """A ROS package: arm/urdf/two.urdf and arm/meshes/upper.stl, and a mesh outside."""
    for folder in ("a/b/c/d/arm/urdf", "a/b/c/d/arm/meshes"):
        (tmp_path / folder).mkdir(parents=True)
    box = trimesh.creation.box((0.1, 0.1, 0.2))
    box.export(tmp_path / "a/b/c/d/arm/meshes/upper.stl")
    box.export(tmp_path / "outside.stl")
    (tmp_path / "a/b/c/d/arm/meshes/upper.txt").write_text("no mesh")
    return tmp_path / "a/b/c/d/arm"


def test_names_of_meshes(package):
    from dynamis.model.formats.packages import mesh_file

    urdf, mesh = package / "urdf/two.urdf", package / "meshes/upper.stl"
    for name in ("../meshes/upper.stl", "package://arm/meshes/upper.stl", f"file://{mesh}"):
        assert mesh_file(name, urdf) == mesh.resolve()
    outside = package.parents[4] / "outside.stl"
    assert outside.is_file()
    for name in (
        *(str(outside), f"file://{outside}", "../../../../../../outside.stl", "", "package://"),
        *("package://arm/../../../../../outside.stl", "../meshes/upper.txt", "http://e/upper.stl"),
    ):
        assert mesh_file(name, urdf) is None


def test_visuals_follow_their_links_also_behind_fixed_joints(package):
    from dynamis.studio.scene.meshes import GREY, visuals_of
    from dynamis.studio.scene.view import RobotVisuals

    path = package / "urdf/two.urdf"
    path.write_text(URDF.format(mesh="package://arm/meshes/upper.stl"))
    robot, q = dy.load(path), [0.7]
    visuals = visuals_of(robot)
    assert [v.on for v in visuals] == ["base", "upper", "hand", "hand"]
    assert [v.colour for v in visuals] == [GREY, (0, 0, 255), (255, 128, 0), GREY]
    assert np.allclose(visuals[1].mesh.extents, (0.1, 0.1, 0.4))
    body = RobotVisuals(Scene(), visuals, "/arm")
    body.move(robot.frames(q))
    places = [node.position for node in body._nodes]
    upper = robot.fk(q, link="upper")
    assert np.allclose(places[0], 0)
    assert np.allclose(places[1], upper[:3, 3] + 0.25 * upper[:3, 0])
    assert np.allclose(places[2], robot.fk(q, link="hand")[:3, 3])
    c, s = (
        np.sqrt(0.5) * np.cos(0.35),
        np.sqrt(0.5) * np.sin(0.35),
    )  # 0.7 about z, then 90 deg about y
    assert np.allclose(body._nodes[1].wxyz, [c, -s, c, s])
    corners = body.corners(robot.frames([[0.0], q])).reshape(2, 4, 8, 3)  # poses, parts, of a box
    np.testing.assert_allclose(corners.mean(axis=2)[1], places, atol=1e-12)
    assert np.isclose(corners[..., 2].min(), -0.1)  # the base, half as high


VARIED = {
    "payload": lambda a: a.with_payload(1.0),
    "link": lambda a: a.with_link("upper", mass=2.0),
    "name": lambda a: a.with_link("upper", name="arm"),
    "modified DH": lambda a: a.to_dh("modified"),
}


@pytest.mark.parametrize("name", VARIED)
def test_an_edited_arm_keeps_its_bodies(package, name):
    """In the same places, and read from the file once."""
    from dynamis.studio.scene import meshes

    path = package / "urdf/two.urdf"
    path.write_text(URDF.format(mesh="../meshes/upper.stl"))
    robot = dy.load(path).with_link("upper", mass=1.0, inertia=(0.1, 0.1, 0.1))
    before, read = meshes.visuals_of(robot), meshes._read.cache_info().misses
    other = VARIED[name](robot)
    after = meshes.visuals_of(other)
    assert meshes._read.cache_info().misses == read
    assert len(after) == len(before) == 4
    q = [0.6]
    for one, two in zip(before, after, strict=True):
        places = [x.frames(q)[v.row] @ v.T for x, v in ((robot, one), (other, two))]
        assert np.abs(places[1] - places[0]).max() < 1e-9 and one.colour == two.colour
    assert meshes.visuals_of(dy.load("puma560")) == ()


def test_shapes_of_every_kind_and_of_collision_alone():
    from dataclasses import replace

    from dynamis.studio.scene.meshes import visuals_of

    arm = dy.load("puma560")
    shapes = (
        dy.Geometry(kind="capsule", link="link2", from_=(0.1, 0, 0), to=(0.4, 0, 0), radius=0.05),
        dy.Geometry(kind="sphere", link="link3", radius=0.1, use="collision"),
    )
    drawn = visuals_of(dy.Robot(replace(arm.model, geometry=shapes)))
    assert len(drawn) == 1
    corners = drawn[0].mesh.bounds @ np.eye(3)
    np.testing.assert_allclose(corners, [(0.05, -0.05, -0.05), (0.45, 0.05, 0.05)], atol=1e-3)
    only = tuple(replace(x, use="collision") for x in shapes)
    assert len(visuals_of(dy.Robot(replace(arm.model, geometry=only)))) == 2


def test_files_of_an_upload_are_not_looked_for(package, monkeypatch):
    from dynamis.studio.scene.meshes import visuals_of
    from dynamis.studio.server.uploads import uploaded_robot

    monkeypatch.chdir(package / "urdf")
    text = URDF.format(mesh="../meshes/upper.stl").encode()
    drawn = visuals_of(uploaded_robot("two.urdf", text))
    assert [v.on for v in drawn] == ["base", "hand", "hand"] and len(drawn.skipped) == 2


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".glb", ".dae", ".ply", ".off"])
def test_every_kind_of_mesh_is_drawn_however_long(suffix, tmp_path):
    from dynamis.model.formats.packages import MESHES
    from dynamis.studio.scene.meshes import visuals_of

    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.2)
    mesh = tmp_path / f"ball{suffix}"
    mesh.write_bytes(ball.export(file_type=suffix[1:]) if suffix == ".dae" else b"")
    if suffix != ".dae":
        ball.export(mesh)
    assert suffix in MESHES and mesh.stat().st_size > 50_000
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        f'''<robot name="arm"><link name="base"><visual><geometry>
<mesh filename="{mesh.name}"/></geometry></visual></link>{JOINT}</robot>'''
    )
    robot = dy.load(urdf)
    (drawn,) = visuals_of(robot)
    assert np.allclose(drawn.mesh.extents, 0.4, atol=1e-3)
    assert visuals_of(robot).skipped == ()


def test_what_is_too_large_or_not_there_is_said(package, monkeypatch):
    from dynamis.studio.scene.meshes import visuals_of

    path = package / "urdf/two.urdf"
    path.write_text(URDF.format(mesh="package://arm/meshes/upper.stl"))
    assert [text.split(":")[0] for text in visuals_of(dy.load(path)).skipped] == ["hand"]
    assert "'not/there.stl' is not there" in visuals_of(dy.load(path)).skipped[0]
    monkeypatch.setattr("dynamis.studio.scene.meshes.LARGEST_FILE", 100)
    assert visuals_of(dy.load(path)).skipped[0].startswith("upper: upper.stl has more than")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lfs.dae", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
        ("empty.glb", b""),
        ("old.glb", b"glTF" + b"\x01\x00\x00\x00" * 4),
        ("noise.stl", b"\x00" * 90),
    ],
)
def test_a_damaged_mesh_is_left_out(name, content, tmp_path, caplog):
    (tmp_path / name).write_bytes(content)
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        f'''<robot name="arm"><link name="base">
<visual><geometry><mesh filename="{name}"/></geometry></visual>
<visual><geometry><box size="1 -1 1"/></geometry></visual>
<visual><geometry><sphere radius="0.1"/></geometry></visual></link>{JOINT}</robot>'''
    )
    with caplog.at_level("WARNING"):
        from dynamis.studio.scene.meshes import visuals_of

        assert len(visuals_of(dy.load(urdf))) == 1
    assert "1 of 2 visuals" in caplog.text
