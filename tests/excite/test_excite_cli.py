"""`dynamis excite`."""

import json

import numpy as np
import pytest

from dynamis.cli import main

QUICK = ["--starts", "1", "--max-iterations", "5", "--harmonics", "3", "--period", "4"]


def test_writes_a_file_and_says_what_it_is_worth(tmp_path, capsys):
    path, picture = tmp_path / "excite.csv", tmp_path / "excite.png"
    written = ["--output", str(path), "--plot", str(picture)]
    assert main(["excite", "planar-rr", *QUICK, *written]) == 0
    said = capsys.readouterr()
    assert "condition number" in said.out
    assert "no velocity limit" in said.err
    assert f"wrote {path}\nwrote {picture}\n" in said.err and picture.exists()
    assert np.loadtxt(path, delimiter=",", skiprows=1).shape == (401, 7)


def test_json_holds_the_series(capsys):
    assert main(["excite", "scara", *QUICK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert np.shape(found["a"]) == np.shape(found["b"]) == (3, 3)
    assert np.abs(np.sum(found["a"], axis=1)).max() < 1e-12
    assert found["gain"]["information_median"] > 0
    assert found["output"] is None


def test_examples_in_help(capsys):
    with pytest.raises(SystemExit) as done:
        main(["excite", "--help"])
    assert done.value.code == 0
    assert "dynamis excite puma560" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["--output", "excite.txt"],
        ["--output", "no/such/excite.csv"],
        ["--output", "excite.csv", "--dt", "0.03"],
        ["--harmonics", "1"],
        ["--center", "nowhere"],
    ],
)
def test_wrong_input_is_refused_before_the_work(words, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["excite", "planar-rr", *words]) == 2
    assert "error:" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_world_from_a_file(tmp_path, capsys):
    import dynamis as dy

    cell = tmp_path / "cell.toml"
    dy.save_world([dy.Sphere(radius=0.1, xyz=(0.0, 0.0, 3.0), name="lamp")], cell)
    assert main(["excite", "scara", *QUICK, "--world", str(cell), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["worst_clearance"]["metres"] >= 0.0
    dy.save_world([dy.Sphere(radius=9.0, name="everywhere")], cell)
    assert main(["excite", "scara", *QUICK, "--world", str(cell), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert any(x["where"] == "world" and "'everywhere'" in x["what"] for x in found)
    assert main(["excite", "scara", "--world", str(tmp_path / "none.toml")]) == 2
    assert "there is no such file" in capsys.readouterr().err
