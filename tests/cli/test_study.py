"""`dynamis study`: the numbers of dy.study, files, errors."""

import json

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import DynamisWarning

SHORT = ("--duration", "0.05", "--dt", "0.005", "--samples", "40")
GOAL = ("planar-rr", "--goal", "0.1,0.2", *SHORT)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")


def answer(capsys, *words):
    code = main(["study", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_numbers_are_those_of_dy_study(capsys):
    words = ("--mass", "0.1", "--payload", "0", "2", "--joint-offset", "0.01", "--seed", "3")
    code, found = answer(capsys, *GOAL, *words)
    arm = dy.load("planar-rr")
    study = dy.study(
        arm, 0.05, 5e-3, reference=dy.trajectory.quintic(np.zeros(2), [0.1, 0.2], 0.05),
        controller=dy.control.ComputedTorque.from_bandwidth(arm, 10.0), samples=40, seed=3,
        vary=dy.Scatter(arm, mass=0.1, payload=(0, 2), joint_offset=0.01),
    )  # fmt: skip
    assert code == 0 and found["samples"] == 40 and found["failed"]["count"] == 0
    assert list(found["measures"]) == ["rms_error", "peak_torque"]
    for name, own in found["measures"].items():
        np.testing.assert_array_equal(
            [own["quantiles"][str(s)] for s in (0.5, 0.95, 0.999)], study.quantiles(name)
        )
        assert own["worst"][0]["sample"] == study.worst(name, 1).samples[0]
        assert own["units"] == list(study.units(name))
        np.testing.assert_array_equal(own["largest"], study.extremes(name)[1])


def test_it_says_the_answer_and_writes_files(capsys, tmp_path):
    names = ("study.html", "study.png", "worst.png", "study.npz")
    paths = [tmp_path / name for name in names]
    options = zip(("--report", "--plot", "--worst", "--save"), map(str, paths), strict=True)
    words = [word for pair in options for word in pair]
    assert main(["study", *GOAL, "--mass", "0.1", *words]) == 0
    said = capsys.readouterr()
    assert "Half of the arms keep rms_error below" in said.out and "99.9 %" in said.out
    assert said.err.startswith(
        "planar-rr, 0.05 s: computed torque, bandwidth 10 rad/s, to 0.1, 0.2"
    )
    assert all(path.stat().st_size > 1000 for path in paths)
    assert "<h2>Answer</h2>" in paths[0].read_text()
    assert set(np.load(paths[3])["rms_error.columns"]) == {"joint1", "joint2"}


def test_what_is_measured_without_a_goal(capsys):
    _, free = answer(capsys, "planar-rr", *SHORT, "--mass", "0.1")
    assert list(free["measures"]) == ["peak_velocity"]
    _, held = answer(capsys, "planar-rr", *SHORT, "--mass", "0.1", "--controller", "pid")
    assert list(held["measures"]) == ["rms_error", "peak_torque"]
    _, own = answer(capsys, *GOAL, "--mass", "0.1", "--measure", "energy, peak_tool_error")
    assert list(own["measures"]) == ["energy", "peak_tool_error"]


def test_an_identified_model_varies_as_its_log_leaves_it(capsys, tmp_path):
    arm = dy.load("planar-rr")
    t = np.arange(0.0, 6.0, 0.01)
    phase = 2.0 * np.pi * np.outer(t, [0.3, 0.7, 1.1])
    q = np.stack([np.sin(phase).sum(axis=1), np.cos(1.3 * phase).sum(axis=1)], axis=1) / 3
    qd, qdd = (np.gradient(x, t, axis=0) for x in (q, np.gradient(q, t, axis=0)))
    tau = arm.inverse_dynamics(q, qd, qdd) + np.random.default_rng(0).normal(0.0, 0.3, q.shape)
    dy.Log(t=t, q=q, qd=qd, tau=tau).save(tmp_path / "run.csv")
    code, found = answer(capsys, *GOAL, "--log", str(tmp_path / "run.csv"))
    shares = found["measures"]["rms_error"]["shares_of_variance"]
    assert code == 0 and shares and not any(name.endswith(".mass") for name in shares)
    _, both = answer(capsys, *GOAL, "--log", str(tmp_path / "run.csv"), "--payload", "0,1")
    assert set(both["measures"]["rms_error"]["shares_of_variance"]) == {*shares, "payload"}


def test_links_that_are_no_bodies_vary_only_when_asked(capsys):
    words = ("puma560", "--mass", "0.1", "--duration", "0.01", "--samples", "3")
    assert main(["study", *words]) == 2
    assert "or --inconsistent" in capsys.readouterr().err
    code, found = answer(capsys, *words, "--inconsistent")
    assert code == 0 and "link1.mass" in found["measures"]["peak_velocity"]["shares_of_variance"]


def test_arms_that_fail_give_exit_code_1(capsys, compiled):
    with pytest.warns(DynamisWarning, match="the nominal arm"):
        code, found = answer(
            capsys, "planar-rr", "--goal", "0.1,0.2", "--mass", "0.1", "--bandwidth", "1e5",
            "--duration", "0.5", "--samples", "3", "--dt", "0.01",
        )  # fmt: skip
    assert found["failed"]["nominal"].startswith("diverged at t = ")
    assert code == 1 and found["failed"]["count"] == 3
    assert "diverged" in found["failed"]["reasons"][0] and "failed" in found["answer"][0]


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "nothing varies"),
        (["--mass", "-1"], "mass is -1"),
        (["--mass", "5"], "such as 0.05"),
        (["--friction", "0.3"], "friction of 'planar-rr' is zero in every joint"),
        (["--payload", "3"], "(0, 3) varies the load"),
        (["--payload", "3,3"], "nothing varies"),
        (["--mass", "0.1", "--payload", "0,1,2"], "expected LEAST,MOST"),
        (["--mass", "0.1", "--payload", "2,1"], "expected (least, most) in kg"),
        (["--mass", "0.1", "--payload", "much"], "payload is 'much'"),
        (["--mass", "0.1", "--measure", "rms_eror"], "did you mean 'rms_error'?"),
        (["--mass", "0.1", "--processes", "0"], "processes is 0, expected 1 or more"),
        (["--mass", "0.1", "--samples", "0"], "samples is 0"),
        (["--mass", "0.1", "--report", "study.pdf"], "html"),
        (["--mass", "0.1", "--save", "nowhere/study.npz"], "no folder 'nowhere'"),
        (["--log", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_wrong_words_are_refused_before_the_work(words, said, capsys):
    assert main(["study", *GOAL, *words]) == 2
    assert said in capsys.readouterr().err
