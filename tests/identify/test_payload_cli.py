"""`dynamis payload` and `dynamis drive-gains`."""

import json
import re

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main

from ..logs.test_bags import STATE, state, store, write
from .test_drive_gains import currents
from .test_payload import COM, INERTIA, MASS, recorded

GAINS = np.array([5.0, 4.0, 30.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An arm, and logs of one motion without and with a load, in torques and in amperes."""
    path = tmp_path_factory.mktemp("payload")
    robot = dy.load("scara")
    carrying = robot.with_payload(MASS, COM, INERTIA)
    robot.save(path / "arm.toml")
    recorded(robot, seed=1).save(path / "free.npz")
    recorded(carrying, seed=2).save(path / "loaded.npz")
    for name, arm, seed in (("free_i", robot, 1), ("loaded_i", carrying, 2)):
        log = currents(arm, GAINS, 0.005, seed)
        np.savez(path / f"{name}.npz", t=log.t, q=log.q, qd=np.asarray(log.qd), i=log.tau)
    return path


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")


def answer(capsys, *words):
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_table_and_the_robot_with_its_payload(capsys, tmp_path):
    saved = tmp_path / "carrying.toml"
    assert main(["payload", "arm.toml", "loaded.npz", "--save", str(saved)]) == 0
    said = capsys.readouterr()
    assert re.search(r"m +[12]\.\d+ +\+- 0\.\d+ +kg", said.out)
    assert "not shown by the motion" in said.out and "RMS left with the payload" in said.out
    assert f"wrote {saved}" in " ".join(said.err.split())
    carried = dy.load(saved).model.payload
    assert carried is not None and carried.mass == pytest.approx(MASS, rel=0.05)


@pytest.mark.parametrize("how", [[], ["--free", "free.npz", "--friction", "offset"], ["--online"]])
def test_every_way_finds_the_mass(capsys, how):
    code, found = answer(capsys, "payload", "arm.toml", "loaded.npz", *how)
    assert code == 0 and found["ok"] and found["is_physical"]
    assert abs(found["mass"] - MASS) < 4.0 * found["standard_deviations"]["m"] < 0.2 * MASS
    assert found["values"]["m"] == found["mass"] and "cz" in found["unseen"]
    assert found["standard_deviations"]["cz"] is None
    assert (found["shift"] is None) == ("--free" not in how)


def test_currents_times_gains_are_torques(capsys):
    words = ["--columns", "current=i", "--gains", "5,4,30", "--window", ",5"]
    code, found = answer(capsys, "payload", "arm.toml", "loaded_i.npz", "--online", *words)
    assert code == 0 and found["mass"] == pytest.approx(MASS, rel=0.05)


def bag(path, columns):
    """The arrays of an .npz as two topics of joint states, of which only /arm is right."""
    types = store("mcap")
    with np.load(path.with_suffix(".npz")) as log:
        t, q, qd, tau = (log[x] for x in columns)
    stamps = [10**18 + round(1e9 * x) for x in t]
    names = dy.load("scara").joint_names
    rows = list(zip(stamps, q, qd, tau, strict=True))
    right = [(at, state("mcap", types, at, names, *x)) for at, *x in rows]
    wrong = [(at, state("mcap", types, at, names, *(0.0 * y for y in x))) for at, *x in rows]
    return write(path, {"/arm": (STATE, right), "/other": (STATE, wrong)}, types)


@pytest.mark.parametrize("command", ["payload", "drive-gains"])
def test_a_bag_with_several_topics(capsys, folder, command):
    """Same numbers as from the arrays; reading it said that the stamps count from an epoch."""
    names = ("loaded",) if command == "payload" else ("free_i", "loaded_i")
    columns = ("t", "q", "qd", "tau" if command == "payload" else "i")
    bags = [bag(folder / f"{name}.mcap", columns).name for name in names]
    arrays = [f"{name}.npz" for name in names]
    more = [] if command == "payload" else ["--mass", str(MASS)]
    plain = [] if command == "payload" else ["--columns", "tau=i"]
    _, expected = answer(capsys, command, "arm.toml", *arrays, *more, *plain)
    code, found = answer(capsys, command, "arm.toml", *bags, *more, "--topic", "/arm")
    key = "values" if command == "payload" else "gains"
    assert code == 0 and found[key] == pytest.approx(expected[key], rel=1e-4, abs=1e-6)
    assert sum("from an epoch" in x["what"] for x in found["findings"]) == len(names)
    assert main([command, "arm.toml", *bags, *more]) == 2
    assert "give --topic" in capsys.readouterr().err


def test_nothing_carried_is_said(capsys):
    assert main(["payload", "arm.toml", "free.npz"]) == 1
    assert "the mass cannot be told from zero" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["current=i", "tau=i"])
def test_gains_come_back(capsys, tmp_path, column):
    saved = tmp_path / "gains.npz"
    words = ["arm.toml", "free_i.npz", "loaded_i.npz", "--mass", str(MASS), "--columns", column]
    code, found = answer(capsys, "drive-gains", *words, "--save", str(saved))
    assert code == 0 and found["ok"] and found["joints"] == list(dy.load("scara").joint_names)
    np.testing.assert_allclose(found["gains"], GAINS, rtol=0.1)
    with np.load(saved) as kept:
        assert kept["gain"].tolist() == found["gains"]
        assert kept["standard_deviation"].tolist() == found["standard_deviations"]


def test_currents_by_another_name_are_found(capsys):
    words = ["arm.toml", "free_i.npz", "loaded_i.npz", "--mass", str(MASS)]
    code, found = answer(capsys, "drive-gains", *words)
    named = answer(capsys, "drive-gains", *words, "--columns", "current=i")[1]
    assert code == 0 and found["gains"] == named["gains"]


def test_currents_come_before_torques(capsys, folder):
    """Of logs that hold both."""
    for name in ("free_i", "loaded_i"):
        with np.load(folder / f"{name}.npz") as log:
            both = {k: log[k] for k in ("t", "q", "qd")} | {"current": log["i"]}
            np.savez(folder / f"{name}_both.npz", **both, tau=log["i"] * GAINS)
    words = ["arm.toml", "free_i_both.npz", "loaded_i_both.npz", "--mass", str(MASS)]
    np.testing.assert_allclose(answer(capsys, "drive-gains", *words)[1]["gains"], GAINS, rtol=0.1)


def test_gains_as_a_table_with_what_to_type_next(capsys):
    words = ["drive-gains", "arm.toml", "free_i.npz", "loaded_i.npz", "--mass", str(MASS)]
    assert main([*words, "--columns", "current=i", "--com", "0.03,-0.05,0.12"]) == 0
    said = capsys.readouterr()
    assert (said.out.count("N m/A"), said.out.count("N/A")) == (
        2,
        1,
    ) and "standard deviation" in said.out
    typed = re.search(r"--gains (\S+)", said.err)
    assert typed is not None
    np.testing.assert_allclose([float(x) for x in typed[1].split(",")], GAINS, rtol=0.1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["payload", "arm.toml", "none.npz"], "there is no file 'none.npz'"),
        (["payload", "arm.toml", "loaded.npz", "--free", "none.npz"], "there is no file"),
        (["payload", "arm.toml", "loaded.npz", "--online", "--free", "free.npz"], "neither --free"),
        (["payload", "arm.toml", "loaded.npz", "--memory", "3"], "--memory is for --online"),
        (["payload", "arm.toml", "loaded.npz", "--free-window", "1,2"], "--free-window is for"),
        (["payload", "arm.toml", "loaded.npz", "--friction", "grotjahn"], "cannot be fitted"),
        (["payload", "arm.toml", "loaded.npz", "--save", "arm.txt"], "suffix"),
        (["payload", "arm.toml", "loaded_i.npz", "--columns", "current=i"], "--gains"),
        (["drive-gains", "arm.toml", "free.npz", "none.npz", "--mass", "1"], "there is no file"),
        (["drive-gains", "arm.toml", "free.npz", "loaded.npz", "--mass", "-1"], "mass is -1"),
    ],
)
def test_wrong_input_is_refused(words, said, capsys):
    assert main(words) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "error:" in err and said in err
