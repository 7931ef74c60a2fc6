"""The command line, repr and notebooks, of a mechanism with closures."""

import json

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from tests.closed_mechanisms import five_bar


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")


@pytest.fixture
def file(tmp_path):
    q = tuple(five_bar().assemble([1.0, 2.0])[0])
    five_bar(configurations={"home": q}).save(tmp_path / "five.toml")
    return str(tmp_path / "five.toml")


def test_show_lists_the_loops(file, capsys):
    assert main(["show", file, "--q", "home"]) == 0
    out = capsys.readouterr().out
    for words in (
        "five: 4 joints, 2 drives, 1 closure, urdf",
        "dof      2: joint1, joint3",
        "passive  joint2, joint4",
        "closes   in 2 ways with the drives of 'home'",
        "revolute, passive",
        "closure1 (pin)",
        "x, y, z, about x, about y",
    ):
        assert words in out


def test_show_as_json(file, capsys):
    assert main(["show", file, "--q", "home", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    robot = dy.load(file)
    assert found["dof"] == 2 and found["drives"] == ["joint1", "joint3"]
    assert found["assemblies"] == {"home": len(robot.assemble([1.0, 2.0]))}
    q = robot.configurations["home"]
    assert np.allclose(found["at"]["mass_matrix"], robot.mass_matrix(q))


def test_show_refuses_what_does_not_close(file, capsys):
    assert main(["show", file, "--q", "0,0,0,0"]) == 2
    assert "does not close" in capsys.readouterr().err


def test_check_says_how_it_moves(file, capsys):
    assert main(["check", file]) == 0
    assert "2 degrees of freedom" in capsys.readouterr().out


def test_equations_hold_the_closures(file, capsys):
    assert main(["equations", file]) == 0
    assert "phi1 = " in capsys.readouterr().out


def test_simulate_and_study_take_numbers_of_the_drives(file, capsys):
    brief = ("--duration", "0.004", "--dt", "0.002", "--json")
    assert main(["simulate", file, "--start", "1.1,2.0", *brief]) == 0
    found = json.loads(capsys.readouterr().out)
    robot = dy.load(file)
    start = robot.assemble([1.1, 2.0], q0=robot.home)[0]
    assert np.allclose(list(found["q"].values()), start, atol=1e-3)
    assert main(["study", file, "--mass", "0.1", "--samples", "3", *brief]) == 0  # from home
    assert json.loads(capsys.readouterr().out)["failed"]["count"] == 0
    assert main(["simulate", file, "--start", "1,2,3"]) == 2
    assert "expected 2 numbers (joint1, joint3), 4 of all joints" in capsys.readouterr().err
    assert main(["simulate", file, "--start", "3.1,0"]) == 2
    assert "do not reach from home: " in capsys.readouterr().err


def test_agree_compares_it_with_dense_algebra_and_peers(file, capsys):
    assert main(["agree", file]) == 0
    assert "dense" in capsys.readouterr().out


def test_repr_and_notebook():
    robot = five_bar()
    assert repr(robot) == "Robot('five', 4 joints, 2 drives, 1 closure, urdf)"
    page = robot._repr_html_()
    for words in ("1 closure", "passive: joint2, joint4", "closure1 (pin)", "a2 to b2"):
        assert words in page
    assert "closure" not in robot.without_closures()._repr_html_()
    assert repr(robot.without_closures()) == "Robot('five', 4 joints RRRR, urdf)"
