"""Mass, centre of mass and inertia by meshes, against bodies whose formulas are known."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import FileError, OptionError
from dynamis.robot.bodies.meshes import read_triangles

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
SIZE, CENTRE = np.array([0.3, 0.2, 0.5]), np.array([0.4, -0.1, 0.2])


def of_box(m):
    x, y, z = SIZE**2
    return m / 12.0 * np.array([y + z, x + z, x + y])


@pytest.fixture
def box(tmp_path):
    made = trimesh.creation.box(SIZE)
    made.apply_translation(CENTRE)
    for kind, name in (("stl", "box.stl"), ("stl_ascii", "text.stl"), ("obj", "box.obj")):
        data = made.export(file_type=kind)
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return tmp_path


@pytest.mark.parametrize("name", ["box.stl", "text.stl", "box.obj"])
def test_a_box(box, name):
    found = dy.inertia_of_mesh(box / name, density=800.0)
    assert found.volume == pytest.approx(0.03, rel=1e-6)
    assert found.mass == pytest.approx(24.0, rel=1e-6)
    assert found.com == pytest.approx(CENTRE, abs=1e-7)
    assert found.inertia == pytest.approx([*of_box(24.0), 0.0, 0.0, 0.0], abs=1e-5)
    by_mass = dy.inertia_of_mesh(box / name, mass=6.0)
    assert np.allclose(np.array(by_mass.inertia) * 4.0, found.inertia)


def test_any_closed_mesh_is_as_trimesh_says(tmp_path):
    rng = np.random.default_rng(2)
    for k in range(5):
        made = trimesh.convex.convex_hull(rng.normal(size=(20, 3)) @ rng.normal(size=(3, 3)) + k)
        path = tmp_path / f"{k}.obj"
        path.write_text(made.export(file_type="obj", digits=17))
        made = trimesh.load(path, process=False)
        found = dy.inertia_of_mesh(path, density=1.0)
        assert found.volume == pytest.approx(made.volume, rel=1e-9)
        assert found.com == pytest.approx(made.center_mass, rel=1e-9)
        I = made.moment_inertia
        six = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[1, 2], I[0, 2]]
        assert found.inertia == pytest.approx(six, rel=1e-8, abs=1e-9 * np.trace(I))


def test_inside_out_scaled_and_as_a_hull(box):
    made = read_triangles(box / "box.obj")
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in made.reshape(-1, 3).tolist()]
    faces = [f"f {3 * k + 1} {3 * k + 3} {3 * k + 2}" for k in range(len(made))]
    (box / "turned.obj").write_text("\n".join([*lines, *faces]))
    (box / "open.obj").write_text("\n".join([*lines, *faces[1:]]))
    plain = dy.inertia_of_mesh(box / "box.obj", mass=2.0)
    turned = dy.inertia_of_mesh(box / "turned.obj", mass=2.0)
    assert np.allclose(turned.inertia, plain.inertia) and np.allclose(turned.com, plain.com)
    small = dy.inertia_of_mesh(box / "box.obj", density=1.0, scale=0.5)
    assert np.allclose(small.inertia, np.array(plain.inertia) * 0.03 / 2.0 * 0.5**5)
    flat = dy.inertia_of_mesh(box / "box.obj", density=1.0, scale=(1.0, 1.0, -2.0))
    assert flat.volume == pytest.approx(0.06) and flat.com[2] == pytest.approx(-0.4)
    with pytest.raises(FileError, match=r"open\.obj: its surface is open"):
        dy.inertia_of_mesh(box / "open.obj", density=1.0)
    hull = dy.inertia_of_mesh(box / "open.obj", mass=2.0, hull=True)
    assert np.allclose(hull.inertia, plain.inertia)


def test_fields_of_a_link(box):
    found = dy.inertia_of_mesh(box / "box.stl", mass=3.0)
    arm = dy.load("puma560").with_link("link2", **found.fields)
    link = arm.model.links[1]
    assert link.mass == 3.0 and link.com == pytest.approx(CENTRE, abs=1e-7)
    assert link.inertia[:3] == pytest.approx(of_box(3.0), rel=1e-5)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, OptionError, "give density= or mass=: one of them"),
        ({"density": 1.0, "mass": 1.0}, OptionError, "one of them"),
        ({"density": -1.0}, OptionError, "density is -1"),
        ({"mass": 1.0, "scale": 1000.0}, FileError, "500 m long.*scale=0.001"),
        ({"mass": 1.0, "scale": 0.0}, FileError, "open, or has no volume"),
    ],
)
def test_what_cannot_be_is_said(box, given, error, words):
    with pytest.raises(error, match=f"(?s){words}"):
        dy.inertia_of_mesh(box / "box.stl", **given)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.stl", b"", "is no STL"),
        ("a.stl", b"solid x\nvertex 0 0 0\nvertex 1 0 0\nendsolid", "2 corners"),
        ("a.stl", b"solid x\nvertex 0 0 zero\n", "not three numbers"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", r"\[1, 2, 4\] among 3 points"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 two 3\n", "not numbers of points"),
        ("a.obj", b"v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3\n", "not finite"),
        ("a.obj", b"v 0 0 0\n", "has no triangles"),
        ("a.txt", b"", "expected a mesh in a file of"),
        ("a.ply", b"ply\nnonsense", "is no mesh that can be read"),
    ],
)
def test_what_is_no_mesh_is_said(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FileError, match=words) as found:
        dy.inertia_of_mesh(tmp_path / name, density=1.0)
    assert str(found.value).startswith(str(tmp_path / name))
