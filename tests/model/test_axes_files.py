"""Joint axes in lines of text and in TOML: what is read, and what is answered by line."""

import math

import pytest

from dynamis.errors import FileError
from dynamis.model.dh.axes import Axis
from dynamis.model.formats.axes import (
    axes_from_lines,
    axes_text,
    holds_axes,
    is_typed,
    read_axes,
)
from dynamis.model.pose import Pose

LINES = """# an arm
revolute 0 0 0   0 0 1   # about the vertical

P  0.3 0 0.4     0 0 -2
base 0 0 0.1
tool 0.5 0 0.4   pi/2 0 90deg
name my  arm
"""
AXES = (Axis("revolute", (0, 0, 0), (0, 0, 1)), Axis("prismatic", (0.3, 0, 0.4), (0, 0, -1)))
TABLE = """
name = "my arm"
base = { xyz = [0, 0, 0.1] }
tool = { xyz = [0.5, 0, 0.4], rpy = ["pi/2", 0, "90 deg"] }
[[axis]]
joint = "revolute"
point = [0, 0, 0]
direction = [0, 0, 1]
[[axis]]
joint = "prismatic"
point = [0.3, 0, 0.4]
direction = [0, 0, -2]
"""


@pytest.mark.parametrize(("suffix", "text"), [(".axes", LINES), (".txt", LINES), (".toml", TABLE)])
def test_both_forms_say_the_same(tmp_path, suffix, text):
    path = tmp_path / f"arm{suffix}"
    path.write_text(text)
    assert holds_axes(path)
    found = read_axes(path)
    assert found.axes == AXES
    assert found.name == "my arm"
    assert found.base == Pose((0, 0, 0.1))
    assert found.tool == Pose((0.5, 0, 0.4), (math.pi / 2, 0, math.pi / 2))


def test_a_file_without_a_name_has_its_own(tmp_path):
    path = tmp_path / "elbow.axes"
    path.write_text("R 0 0 0 0 0 1\r\n")  # as Windows writes it
    assert read_axes(path).name == "elbow"


def test_robots_are_no_axes(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text('schema = 1\nname = "x"\nconvention = "standard"\n[[link]]\naxis_x = 1\n')
    assert not holds_axes(path)
    for text in ("puma560", "p.toml", "my arm.urdf", "revolute", "R 2.toml"):
        assert not is_typed(text), text
    for text in ("R 0 0 0 0 0 1", "name x; p 1 2 3 0 0 1", "\n# first\nrevolute 0 0 0"):
        assert is_typed(text), text


def test_axes_are_written_as_they_are_read():
    """To fifteen digits."""
    axes = (Axis("revolute", (0.1, -1 / 3, 1e-17), (1, 2, 3)), *AXES)
    again = axes_from_lines("\n".join(axes_text(axes))).axes
    for a, b in zip(axes, again, strict=True):
        assert a.kind == b.kind
        assert (*b.point, *b.direction) == pytest.approx((*a.point, *a.direction), rel=2e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R 0 0 0 0 0 1\n\nR 1 0 0 0 0 0", r"line 3: axis direction is \(0, 0, 0\)"),
        ("R 0 0 0 0 1", "line 1: 5 numbers after the joint, expected such as"),
        ("R 0 0 nan 0 0 1", "line 1: 'nan' is no number"),
        ("R 0 0 1e999 0 0 1", "line 1: number 3 is inf, expected a finite number"),
        ("R 0 0 0 0 0 1\nhinge 0 0 0 0 0 1", "line 2: 'hinge' is not a joint"),
        ("revolut 0 0 0 0 0 1", r"line 1: .*\s*hint: did you mean 'revolute'"),
        ("R 0,5 0 0 0 0 1", r"line 1: .*\s*hint: .*decimal point.*0\.5"),
        ("R (0, 0, 0) (0, 0, 1)", r"line 1: .*"),
        ("R 0 0 x 0 0 1", "line 1: 'x' is no number"),
        ("R 0 0 0 0 0 1; tool 1 2", "line 1: 2 numbers, expected x y z"),
        ("R 0 0 0 0 0 1\ntool 1 2 3\ntool 1 2 3", "line 3: tool is given twice"),
        ("R 0 0 0 0 0 1\nname", "name is '', expected a text"),
        ("# nothing", "no axis is in it"),
    ],
)
def test_bad_lines_are_answered_by_line(tmp_path, text, message):
    path = tmp_path / "arm.axes"
    path.write_text(text)
    with pytest.raises(FileError, match=f"arm.axes: {message}"):
        read_axes(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axis = 3", "axis is 3, expected"),
        ("axis = [3]", r"\[\[axis\]\] 1: 3 was given"),
        ('[[axis]]\njoint="revolute"\npoint=[0,0,0]', r"\[\[axis\]\] 1: has no direction"),
        (TABLE + "[[axis]]\nkind = 3", r"\[\[axis\]\] 3: unknown key 'kind'"),
        (
            TABLE.replace("[0, 0, -2]", "[0, 0, 0]"),
            r"\[\[axis\]\] 2: axis direction is \(0, 0, 0\)",
        ),
        (TABLE.replace("[0, 0, -2]", "[0, 0, nan]"), r"\[\[axis\]\] 2: axis direction.* is nan"),
        (TABLE.replace("[0, 0, -2]", '[0, 0, "L"]'), r"\[\[axis\]\] 2: .*expected three numbers"),
        (TABLE.replace('"prismatic"', '"slide"'), r"\[\[axis\]\] 2: axis kind 'slide'"),
        (TABLE.replace("xyz = [0, 0, 0.1]", 'xyz = ["h", 0, 0]'), "base has symbols"),
        ("[[axis]\n", "is not valid TOML"),
        ("axes = []", r"unknown key 'axes'\s*hint: did you mean 'axis'"),
    ],
)
def test_bad_tables_are_answered_by_axis(tmp_path, text, message):
    path = tmp_path / "arm.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=f"arm.toml: {message}"):
        read_axes(path)
