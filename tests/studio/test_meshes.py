"""What a URDF file draws: which files are taken, and where they go."""

import numpy as np
import pytest

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
    import dynamis as dy
    from dynamis.studio.scene.meshes import GREY, read_visuals
    from dynamis.studio.scene.view import RobotVisuals

    path = package / "urdf/two.urdf"
    path.write_text(URDF.format(mesh="package://arm/meshes/upper.stl"))
    visuals = read_visuals(path)
    assert [v.link for v in visuals] == ["base", "upper", "hand", "hand"]
    assert [v.colour for v in visuals] == [GREY, (0, 0, 255), (255, 128, 0), GREY]
    assert np.allclose(visuals[1].mesh.extents, (0.1, 0.1, 0.4))
    robot, q = dy.load(path), [0.7]
    body = RobotVisuals(Scene(), robot, visuals, "/arm")
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


def test_another_description_of_the_robot_has_no_bodies(package):
    import dynamis as dy
    from dynamis.studio.scene.meshes import read_visuals
    from dynamis.studio.scene.view import RobotVisuals

    path = package / "urdf/two.urdf"
    path.write_text(URDF.format(mesh="../meshes/upper.stl"))
    visuals = read_visuals(path)
    assert RobotVisuals(Scene(), dy.load(path), visuals, "/arm")
    assert not RobotVisuals(Scene(), dy.load(path).to_dh("standard"), visuals, "/arm")
    assert not RobotVisuals(Scene(), dy.load("puma560"), visuals, "/arm")
    (package / "urdf/no.urdf").write_text("<robot")
    assert read_visuals(package / "urdf/no.urdf") == ()


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".glb", ".dae", ".ply", ".off"])
def test_every_kind_of_mesh_is_drawn_however_long(suffix, tmp_path):
    from dynamis.model.formats.packages import MESHES
    from dynamis.studio.scene.meshes import read_visuals

    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.2)
    mesh = tmp_path / f"ball{suffix}"
    mesh.write_bytes(ball.export(file_type=suffix[1:]) if suffix == ".dae" else b"")
    if suffix != ".dae":
        ball.export(mesh)
    assert suffix in MESHES and mesh.stat().st_size > 50_000
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        f'''<robot name="arm"><link name="base"><visual><geometry>
<mesh filename="{mesh.name}"/></geometry></visual></link></robot>'''
    )
    (drawn,) = read_visuals(urdf)
    assert np.allclose(drawn.mesh.extents, 0.4, atol=1e-3)
    assert read_visuals(urdf).skipped == ()


def test_what_is_too_large_or_not_there_is_said(package, monkeypatch):
    from dynamis.studio.scene.meshes import read_visuals

    path = package / "urdf/two.urdf"
    path.write_text(URDF.format(mesh="package://arm/meshes/upper.stl"))
    assert [text.split(":")[0] for text in read_visuals(path).skipped] == ["hand", "hand"]
    assert "'not/there.stl' is not there" in read_visuals(path).skipped[0]
    monkeypatch.setattr("dynamis.studio.scene.meshes.LARGEST_FILE", 100)
    assert read_visuals(path).skipped[0].startswith("upper: upper.stl has more than")


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
<visual><geometry><sphere radius="0.1"/></geometry></visual></link></robot>'''
    )
    with caplog.at_level("WARNING"):
        from dynamis.studio.scene.meshes import read_visuals

        assert len(read_visuals(urdf)) == 1
    assert "2 of 3 visuals" in caplog.text
