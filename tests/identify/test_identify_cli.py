"""`dynamis identify`."""

import json
import sys

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.cli.identify import _some
from dynamis.cli.logs import pairs, span
from dynamis.cli.printing import in_terminal
from dynamis.errors import OptionError
from dynamis.identify.estimate import Estimate
from dynamis.identify.unknowns import Unknowns
from dynamis.lazy import install_command

from ..logs.test_bags import NUMBERS, STATE, numbers, state, store, write
from .motions import arm, log_of

FRICTION = dy.Friction(viscous=0.5, coulomb=(1.0, -1.0))
PLAIN = ["--estimator", "weighted"]


def recorded(robot, seed, rows=900):
    """Arrays of a Fourier motion with noisy torque."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.0, 0.8, (2, robot.n, 4))
    t = 0.01 * np.arange(rows)
    q, qd, qdd = dy.trajectory.fourier(a, b, 6.0)(t)
    tau = robot.inverse_dynamics(q, qd, qdd)
    return {"t": t, "q": q, "qd": qd, "tau": tau + 0.05 * rng.normal(size=tau.shape)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A robot, a log, another one, and one with other names and units and no stamps."""
    path = tmp_path_factory.mktemp("logs")
    links = [
        dy.Link(joint="revolute", a=0.5, mass=2.0, com=(-0.25, 0, 0), inertia=(0.01, 0.05, 0.05),
                friction=FRICTION)
        for _ in range(2)
    ]  # fmt: skip
    robot = dy.Robot.from_dh("two", convention="standard", gravity=(0, -9.81, 0), links=links)
    robot.save(path / "two.toml")
    run = recorded(robot, 0)
    np.savez(path / "run.npz", **run)
    np.savez(path / "other.npz", **recorded(robot, 1, 400))
    odd = {"angles": np.degrees(run["q"]), "speeds": run["qd"], "amps": run["tau"] / [2.0, 4.0]}
    np.savez(path / "odd.npz", **odd)
    return path


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")


def answer(capsys, *words):
    code = main(["identify", "two.toml", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_tables_held_out_first(capsys):
    assert main(["identify", "two.toml", "run.npz", "--validate", "other.npz"]) == 0
    said = capsys.readouterr()
    places = [said.out.index(x) for x in ("held out", "other: validation", "training, the")]
    assert places == sorted(places) and "verdict" in said.out[: places[0]]
    assert "% on other, a motion of another kind" in said.out[: places[0]]
    assert "friction at rest" in said.out and "condition number" in said.out
    assert "joint1" in said.out and "all" in said.out
    assert said.out.lstrip().startswith("Torque error: ")


def test_what_makes_the_intervals_is_said_once(capsys):
    assert main(["identify", "two.toml", "run.npz"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    source = answer(capsys, "run.npz")[1]["interval_source"]
    assert "noise of the torque decides" in source and said.count(source) == 1
    assert said.index(" unknowns ") < said.index(source)


def test_a_line_names_unknowns_that_are_not_identifiable():
    assert _some(["a", "b" * 40]) == "a, " + "b" * 30 + "..."
    assert _some(list("abcdefgh")) == "a, b, c, d, e, f and 2 more (--report, --json)"


def test_json_holds_everything(capsys, tmp_path):
    page, saved = tmp_path / "id.html", tmp_path / "arm.toml"
    code, found = answer(
        capsys, "run.npz", "--validate", "other.npz", "--validate", "run.npz",
        "--report", str(page), "--save", str(saved),
    )  # fmt: skip
    assert code == 0 and found["ok"] and found["is_physical"]
    assert 0.0 < found["held_out"]["as_logged"]["relative_error_overall"] < 0.02
    assert [x["log"] for x in found["validations"]] == ["other", "run"]
    assert len(found["training"]) == 1 and found["training"][0]["rows"] == 900
    assert found["held_out"]["low_passed_at"] == found["processing"][0]["cutoff"]
    viscous = next(x for x in found["unknowns"] if x["name"] == "joint1.viscous")
    low, high = viscous["interval_99"]
    assert low < viscous["value"] < high and viscous["standard_deviation"] > 0.0
    assert viscous["value"] == pytest.approx(FRICTION.viscous, abs=0.05)
    assert dy.load(saved).n == 2 and found["save"] == str(saved)
    assert page.read_text(encoding="utf-8").count("Validation: other") == 1
    assert found["parameters"]["joint1.viscous"] == pytest.approx(viscous["value"])


def test_other_names_units_currents_and_no_stamps(capsys):
    code, found = answer(
        capsys, "odd.npz", *PLAIN, "--columns", "q=angles,qd=speeds,current=amps",
        "--units", "q=deg", "--gains", "2,4", "--sample-time", "0.01",
    )  # fmt: skip
    _, plain = answer(capsys, "run.npz", *PLAIN)
    assert code == 0
    values = [[x["value"] for x in one["unknowns"]] for one in (found, plain)]
    assert values[0] == pytest.approx(values[1], rel=1e-6, abs=1e-6)


def test_options_reach_the_fit(capsys):
    code, found = answer(
        capsys, "run.npz", *PLAIN, "--cutoff", "9", "--window", "1,", "--friction", "symmetric",
        "--rotors",
    )  # fmt: skip
    assert code in (0, 1)
    assert found["processing"][0]["cutoff"] == 9.0
    assert found["training"][0]["rows"] == 800
    assert (found["friction"], found["estimator"]) == ("symmetric", "weighted")
    assert {x["kind"] for x in found["unknowns"]} >= {"viscous", "coulomb"}


def test_several_logs(capsys):
    code, found = answer(capsys, "run.npz", "other.npz", *PLAIN)
    assert code == 0
    assert [x["log"] for x in found["training"]] == ["run", "other"]
    assert found["held_out"]["log"] == "other"


def test_a_limit_decides_the_exit_code(capsys):
    assert main(["identify", "two.toml", "run.npz", *PLAIN, "--limit", "50"]) == 0
    assert main(["identify", "two.toml", "run.npz", *PLAIN, "--limit", "0.001"]) == 1
    assert "above the limit of 0.001 %" in capsys.readouterr().err


def test_an_arm_that_cannot_be_built_is_found(capsys, monkeypatch):
    monkeypatch.setattr(Estimate, "is_physical", False)
    assert main(["identify", "two.toml", "run.npz", *PLAIN, "--json"]) == 1
    said = capsys.readouterr()
    assert not json.loads(said.out)["ok"]
    assert (
        "the identified model is not physically consistent" in said.err
        and "--estimator feasible" in said.err
    )


def test_a_robot_that_is_not_the_validated_model_is_said_last(capsys, tmp_path, monkeypatch):
    rooted = arm(law="smooth", velocity=0.01, ratio=2.0)
    rooted.save(tmp_path / "rooted.toml")
    log_of(rooted).save(tmp_path / "rubbing.npz")
    monkeypatch.setattr(Unknowns, "_with_friction", lambda _, link, *__: link)  # no root
    words = ["identify", str(tmp_path / "rooted.toml"), str(tmp_path / "rubbing.npz")]
    words += ["--friction", "grotjahn"]
    assert main([*words, "--save", str(tmp_path / "arm.toml")]) == 0
    said = capsys.readouterr().err
    assert said.count("this is not the model that was validated") == 1
    assert said.index("wrote") < said.index("warning: robot handed over")
    assert main(["check", str(tmp_path / "arm.toml")]) == 0
    assert "this is not the model that was validated" in "".join(capsys.readouterr())
    assert main([*words, "--json"]) == 0
    assert "robot handed over" in [
        f["where"] for f in json.loads(capsys.readouterr().out)["findings"]
    ]


def test_without_cvxpy_there_is_another_way(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    assert main(["identify", "two.toml", "run.npz"]) == 2
    said = capsys.readouterr().err
    assert install_command("identify") in said and "--estimator weighted" in said


def test_hints_are_in_the_words_of_a_terminal():
    python = "columns=dict(t=None) and sample_time=; columns=dict(q=..., qd=...): dy.excite"
    assert (
        in_terminal(python)
        == "--columns t= and --sample-time; --columns q=...,qd=...: dynamis excite"
    )
    said = in_terminal("give topic=('/a', '/b'); topic= chooses")
    assert said == "give --topic /a,/b; --topic chooses"
    said = in_terminal(
        "give units={'q': 'deg'}, or {'q': 'rad'} if so; rotors=True; friction='auto'"
    )
    assert said == "give --units q=deg, or q=rad if so; --rotors; --friction auto"
    said = in_terminal("units={'tau': [1, -1]} or units={'q': -1, 'qd': -1}; joints=['a b', 'c']")
    assert said == "--units tau=1,-1 or --units q=-1,qd=-1; --joints 'a b',c"
    said = in_terminal("columns=dict(t='Time', tau='Axis * Trq', q=['a', 'b']) says others")
    assert said == "--columns t=Time,tau='Axis * Trq',q=a,b says others"
    assert in_terminal("joints= chooses others") == "--joints chooses others"
    late = "processing=dy.Processing(torque_delay='estimate') takes that"
    assert in_terminal(late) == "--torque-delay estimate takes that"
    assert in_terminal("drive_gains was given; force=True goes on") == "--gains was given"
    assert in_terminal("try processing=dy.Processing(velocity='log')").endswith(") in Python")
    said = in_terminal('give safe="gravity" too; sample_time=0.004 allows it; use dt=0.0002')
    assert said == "give --safe gravity too; --sample-time 0.004 allows it; use --dt 0.0002"
    said = in_terminal("limit is -1; steps of dt = 0.001 s: choose dt = 0.0005")
    assert said == "--torque-limit is -1; steps of dt = 0.001 s: choose --dt 0.0005"
    said = in_terminal("or q1, q2, ..; columns=dict(q=[...]) says which columns they are")
    assert said == "or q1, q2, .."  # motions are read by commands without --columns
    kept = "cannot read 'my/sample_time.csv', sample_time.csv or 'drive_gains'"
    assert in_terminal(kept) == kept


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run.npz", "--columns", "q=nothing"], "nothing"),
        (["run.npz", "--columns", "q=nothing"], "--columns q=... says which"),
        (["odd.npz"], "--columns t=..."),
        (["run.npz", "--columns", "places=q"], "places"),
        (["run.npz", "--columns", "q"], "expected NAME=WHAT"),
        (["run.npz", "--units", "q=degg"], "degg"),
        (["run.npz", "--units", "angle=deg"], "angle"),
        (["run.npz", "--friction", "smoth"], "did you mean 'smooth'"),
        (["run.npz", "--estimator", "feasable"], "did you mean 'feasible'"),
        (["odd.npz", "--columns", "q=angles,current=amps", "--units", "q=deg"], "hint:"),
        (["run.npz", "--window", "5"], "START,STOP"),
        (["run.npz", "--window", "1 2,5"], "START,STOP"),
        (["run.npz", "--validate-window", "1,5"], "--validate-window is for --validate"),
        (["run.npz", "--report", "id.txt"], "suffix"),
        (["run.npz", "--save", "no/such/arm.toml"], "folder"),
    ],
)
def test_wrong_input_has_a_hint(words, said, capsys, folder):
    before = sorted(folder.iterdir())
    assert main(["identify", "two.toml", *words]) == 2
    err = capsys.readouterr().err
    assert "error:" in err and "hint:" in err and said in err
    assert sorted(folder.iterdir()) == before


def test_a_bag_and_its_topics(folder, capsys):
    with np.load(folder / "run.npz") as run:
        types, rows = store("mcap"), [{x: run[x][k] for x in run} for k in range(len(run["t"]))]
    stamps = [10**18 + round(1e9 * row["t"]) for row in rows]
    both = list(zip(stamps, rows, strict=True))
    full = [
        (t, state("mcap", types, t, ("joint1", "joint2"), x["q"], x["qd"], x["tau"]))
        for t, x in both
    ]
    bare = [(t, state("mcap", types, t, ("joint1", "joint2"), x["q"], x["qd"])) for t, x in both]
    tau = [(t, numbers("mcap", types, x["tau"])) for t, x in both]
    topics = {"/arm": (STATE, full), "/bare": (STATE, bare), "/torque": (NUMBERS, tau)}
    write(folder / "run.mcap", topics, types)
    _, expected = answer(capsys, "run.npz", *PLAIN)
    for topic in ("/arm", "/bare", "/bare,/torque"):
        code, found = answer(capsys, "run.mcap", *PLAIN, "--topic", topic)
        assert code in (0, 1) and found["parameters"] == pytest.approx(expected["parameters"])
    assert main(["identify", "two.toml", "run.mcap"]) == 2
    err = capsys.readouterr().err
    assert "several topics of joint states: /arm" in err and "give --topic with one of" in err


def test_efforts_that_were_commanded_are_doubtful_unless_meant(folder, capsys):
    with np.load(folder / "run.npz") as run:
        types, rows = store("mcap"), [{x: run[x][k] for x in run} for k in range(len(run["t"]))]
    both = [(10**18 + round(1e9 * x["t"]), x) for x in rows]
    names, torques = ("joint1", "joint2"), "/effort_controller/commands"
    bare = [(t, state("mcap", types, t, names, x["q"], x["qd"])) for t, x in both]
    tau = [(t, numbers("mcap", types, x["tau"])) for t, x in both]
    write(folder / "told.mcap", {"/joint_states": (STATE, bare), torques: (NUMBERS, tau)}, types)
    for topic in ([], ["--topic", "/joint_states"]):
        _, found = answer(capsys, "told.mcap", *PLAIN, *topic)
        assert found["verdict"]["level"] == "doubtful"
        assert found["verdict"]["reason"].startswith(f"{torques} was taken, by its name a topic of")
        assert {x["level"] for x in found["verdict"]["joints"].values()} == {"doubtful"}
    _, found = answer(capsys, "told.mcap", *PLAIN, "--topic", f"/joint_states,{torques}")
    assert found["verdict"]["level"] == "good"


@pytest.mark.parametrize(
    "words", [["none.npz"], ["run.npz", "--gains", "1,x"], ["run.npz", "--limit", "-1"]]
)
def test_wrong_input_is_refused(words, capsys):
    assert main(["identify", "two.toml", *words]) == 2
    assert "error:" in capsys.readouterr().err


def test_pairs():
    assert pairs("t=time, q=a,b,c,qd=", "columns") == {
        "t": "time",
        "q": ["a", "b", "c"],
        "qd": None,
    }
    assert pairs("q=deg,tau=0.001", "units") == {"q": "deg", "tau": 0.001}
    assert pairs(None, "units") is None
    with pytest.raises(OptionError, match="twice"):
        pairs("q=a,q=b", "columns")


def test_span():
    assert span("1.5,20", "window") == (1.5, 20.0)
    assert span(",20", "window") == (None, 20.0)


def test_the_verdict_is_said_and_a_late_torque_corrected(capsys, folder):
    """A log that is not usable is refused unless one insists."""
    with np.load(folder / "run.npz") as run:
        arrays = dict(run)
    late = [np.interp(arrays["t"] - 0.03, arrays["t"], x) for x in arrays["tau"].T]
    np.savez(folder / "late.npz", **{**arrays, "tau": np.stack(late, axis=1)})
    np.savez(folder / "signs.npz", **{**arrays, "tau": -arrays["tau"]})
    quick = ("--estimator", "weighted")
    _, found = answer(capsys, "late.npz", *quick)
    assert found["verdict"]["level"] == "doubtful" and "ms late" in found["verdict"]["reason"]
    for delay in ("estimate", "0.03"):
        _, found = answer(capsys, "late.npz", *quick, "--torque-delay", delay)
        assert found["verdict"]["level"] == "good" and "on a " in found["headline"]
        assert found["processing"][0]["torque_delay"] == pytest.approx(0.03, abs=2e-3)
    assert main(["identify", "two.toml", "signs.npz", *quick]) == 2
    assert "opposite sign" in capsys.readouterr().err
    _, found = answer(capsys, "signs.npz", *quick, "--force")
    assert found["verdict"]["level"] == "not usable"
    assert found["verdict"]["joints"]["joint1"]["level"] == "not usable"
    assert main(["identify", "two.toml", "late.npz", "--torque-delay", "soon"]) == 2
