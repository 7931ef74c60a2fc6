"""`dynamis dh`: axes typed, from files and standard input; what it prints and writes."""

import io
import json

import pytest

from dynamis.cli import main

TYPED = "revolute 0 0 0 0 0 1; revolute 0.5 0 0 0 0 1; tool 0.9 0 0"
URDF = """<robot name="two"><link name="base"/><link name="a"/><link name="b"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.5 0 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def said(capsys, *words):
    assert main(["dh", *words]) == 0
    return capsys.readouterr().out


def table(capsys, *words):
    rows = json.loads(said(capsys, *words, "--json"))["table"]
    return [(row["theta"], row["d"], row["a"], round(row["alpha"], 4)) for row in rows]


def test_typed_axes(capsys):
    text = said(capsys, TYPED)
    assert "z0 and z1 are parallel, 0.5 m apart" in text
    assert text.count("\nDH") == 14


def test_every_source_gives_the_same_table(capsys, tmp_path, monkeypatch):
    path = tmp_path / "two.axes"
    path.write_text(TYPED.replace(";", "\n"))
    expected = table(capsys, TYPED)
    assert expected == [(0, 0, 0.5, 0), (0, 0, 0.4, 0)]
    assert table(capsys, str(path)) == expected
    monkeypatch.setattr("sys.stdin", io.StringIO(TYPED))
    assert table(capsys, "-") == expected
    without = TYPED.rsplit(";", 1)[0]
    assert table(capsys, without, "--tool", "0.9 0 0") == expected


def test_a_urdf_in_both_conventions(capsys, tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(URDF)
    assert table(capsys, str(path))[0][2:] == (0.5, -1.5708)
    assert table(capsys, str(path), "--convention", "modified")[1][2:] == (0.5, -1.5708)


def test_options_are_passed_on(capsys):
    text = said(
        capsys, TYPED, "--language", "es", "--numbering", "sixteen", "--letters", "numbered"
    )
    assert text.count("\nDH") == 16 and "Letras: l1 = 0.5, l2 = 0.4." in text
    facts = json.loads(said(capsys, TYPED, "--flip", "1", "--json"))
    assert facts["table"][0]["a"] == -0.5
    assert facts["common_normals"][0]["case"] == "parallel"
    assert [x["label"] for x in facts["steps"]][-1] == "DH14"
    aside = "R 0 0 0 0 0 1; R 0.5 0 0.2 0 0 1"
    assert table(capsys, aside, "--parallel", "joint")[0][1] == 0.2
    assert table(capsys, aside)[0][1] == 0


def test_files(capsys, tmp_path):
    for name in ("dh.md", "dh.txt"):
        assert main(["dh", TYPED, "--output", str(tmp_path / name)]) == 0
        assert "DH14" in (tmp_path / name).read_text()
    assert f"wrote {tmp_path / 'dh.txt'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["R 0 0 0 0 0 1; R 1 0 0 0 0 0"], "line 1: axis direction is (0, 0, 0)"),
        (["five-bar"], "'five-bar' has closures"),
        ([TYPED, "--tool", "1 2"], "expected x y z, or x y z roll pitch yaw"),
        ([TYPED, "--flip", "1.5"], "expected numbers of frames"),
        ([TYPED, "--output", "dh.doc"], "suffix '.doc'"),
        (["nobody"], "neither a robot of the catalogue nor a file"),
    ],
)
def test_wrong_input(capsys, words, message):
    assert main(["dh", *words]) == 2
    assert message in capsys.readouterr().err


def test_empty_standard_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["dh", "-"]) == 2
    assert "standard input has no axes" in capsys.readouterr().err
