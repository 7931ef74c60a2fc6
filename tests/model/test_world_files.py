"""Worlds in files: what is written is read, and what is none is said."""

import pytest

import dynamis as dy
from dynamis.errors import FileError

CELL = [
    dy.Plane(normal=(0, 1, 1), offset=-0.5, name="slope"),
    dy.Box(size=(0.2, 0.3, 0.4), xyz=(0.6, 0.0, 0.1), rpy=(0.1, 0.2, 0.3), name="table"),
    dy.Sphere(radius=0.1, xyz=(0.0, 0.7, 0.2), name="ball"),
    dy.Capsule(from_=(-1, 0, 0.8), to=(1, 0.3, 0.8), radius=0.05, name="bar"),
]


def test_what_is_saved_is_read(tmp_path):
    path = tmp_path / "cell.toml"
    dy.save_world(CELL, path)
    assert dy.load_world(path) == CELL
    dy.save_world(dy.Plane(), path)
    assert dy.load_world(path) == [dy.Plane(name="plane1")]
    dy.save_world([], path)
    assert dy.load_world(path) == []


def test_a_row_has_the_keys_of_the_class(tmp_path):
    path = tmp_path / "cell.toml"
    path.write_text(
        '[[obstacle]]\nkind = "box"\nsize = [1, "1/2", 0.2]\nrpy = [0, 0, "90 deg"]\n'
        '[[obstacle]]\nkind = "capsule"\nfrom = [0, 0, 0]\nto = [0, 0, 1]\nradius = 0.1\n'
    )
    box, bar = dy.load_world(path)
    assert box.size == (1.0, 0.5, 0.2) and box.rpy[2] == pytest.approx(1.5707963267948966)
    assert bar == dy.Capsule(from_=(0, 0, 0), to=(0, 0, 1), radius=0.1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"obstacle is None, expected rows \[\[obstacle\]\]"),
        ("obstacle = 3", "obstacle is 3"),
        ("[obstacle]\nkind = 'plane'", r"expected rows \[\[obstacle\]\]"),
        ("[[obstacle]]\nradius = 1", "obstacle 1: the obstacle has no kind"),
        ("[[obstacle]]\nkind = 'cone'", "obstacle 1: obstacle.kind is 'cone'"),
        ("[[obstacle]]\nkind = 'sphere'", "obstacle 1: the sphere has no radius"),
        ("[[obstacle]]\nkind = 'sphere'\nsize = [1, 1, 1]", "the sphere has unknown key 'size'"),
        ("[[obstacle]]\nkind = 'sphere'\nradios = 1", "'radios'\nhint: did you mean 'radius'"),
        ("[[obstacle]]\nkind = 'sphere'\nradius = -1", r"Sphere.radius is -1"),
        ("schema = 2\n[[obstacle]]\nkind = 'plane'", "schema is 2"),
        ("[[obstacle]]\nkind='plane'\nname='a'\n" * 2, "two obstacles of the world are called 'a'"),
        ("[[obstacles]]\nkind = 'plane'", "unknown key 'obstacles'"),
        ("name = 'x'\nconvention = 'standard'\n[[link]]\na = 1", "is a robot"),
    ],
)
def test_what_is_no_world_is_said(tmp_path, text, words):
    path = tmp_path / "cell.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=words) as found:
        dy.load_world(path)
    assert str(found.value).startswith(str(path))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileError, match="there is no such file"):
        dy.load_world(tmp_path / "none.toml")
    with pytest.raises(FileError, match="expected a world in a"):
        dy.load_world(tmp_path / "arm.urdf")
    with pytest.raises(FileError, match=r"ends in \.toml"):
        dy.save_world(CELL, tmp_path / "cell.json")
