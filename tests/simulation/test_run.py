"""What a simulation leaves."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import JointPID
from dynamis.control.sensors import Sensors
from dynamis.errors import DynamisWarning, FileError, OptionError
from tests.simulation.arms import bar, pair

NAMES = ["t", "q1", "q2", "qd1", "qd2", "tau1", "tau2"]


@pytest.fixture(scope="module")
def run():
    return dy.simulate(
        pair(), 0.02, q0=[0.3, 0.1], controller=JointPID(20.0, 0.0, 3.0), reference=[0.0, 0.2],
        sample_time=5e-3, sensors=Sensors(encoder=1e-3, torque_noise=0.1),
    )  # fmt: skip


def limited(speed=None, effort=None):
    """Two bars with limits of speed and torque."""
    links = [replace(bar(), velocity_limit=speed, effort_limit=effort) for _ in range(2)]
    return pair(*links)


def test_torques_and_speeds_beyond_the_limits_are_said():
    run = dy.simulate(limited(2.0, 30.0), 0.02, q0=[0.0, 0.0], torque=[40.0, -29.0], qd0=[0, 5.0])
    torque, speed = run.check()[1], run.check()[0]
    assert torque.where == "joint 'joint1'" and torque.what.startswith(
        "torque is 40 N m at t = 0 s, outside [-30, 30]"
    )
    assert speed.where == "joint 'joint2'" and "velocity is 5" in speed.what
    assert "; torque of 'joint1' 40 N m at t = 0 s, limit 30" in repr(run)
    assert "; velocity of 'joint2' 5" in repr(run) and len(run.beyond_limits) == 2
    fine = dy.simulate(limited(20.0, 50.0), 0.02, torque=[40.0, -29.0])
    assert fine.check() == [] and repr(fine) == "Run('pair', 0.02 s, 21 instants)"
    many = dy.simulate(limited(2.0), 0.01, q0=np.zeros((3, 2)), qd0=[[0, 0], [0, 0], [0, -5.0]])
    assert "velocity of 'joint2' -5 rad/s at t = 0 s, limit -2)" in repr(many)


def test_a_reference_too_fast_to_be_seen_at_the_samples_is_said():
    jump = dy.trajectory.quintic([0.0, 0.0], [0.3, 0.0], 1e-3)  # milliseconds taken as seconds
    law = JointPID(20.0, 0.0, 3.0)
    run = dy.simulate(limited(20.0), 0.01, controller=law, reference=jump)
    assert run.beyond_limits == [
        "reference velocity of 'joint1' 300 rad/s at t = 0 s, limit 20",
    ]


@pytest.mark.parametrize("way", ["simulate", "study"])
def test_an_arm_starts_on_its_trajectory_unless_told_otherwise(way):
    wave = dy.trajectory.sine([0.3, -0.6], 0.5, 1.0, phase=0.4)
    law = dy.control.ComputedTorque(kp=100.0, kd=20.0)
    start = wave(0.0)
    assert np.abs(start.q).min() > 0.1 and np.abs(start.qd).min() > 0.1
    given = {"controller": law, "reference": wave}

    def first(**more):
        if way == "simulate":
            run = dy.simulate(pair(), 0.002, **given, **more)
        else:
            run = dy.study(pair(), 0.002, samples=1, progress=False, **given, **more).replay(0)
        return run.q[0].tolist(), run.qd[0].tolist()

    assert first() == (start.q.tolist(), start.qd.tolist())
    assert first(q0=[0.1, 0.2]) == ([0.1, 0.2], [0.0, 0.0])
    assert first(qd0=[0.1, 0.2]) == (start.q.tolist(), [0.1, 0.2])
    given["reference"] = [0.3, 0.1]  # a place to go to, from home
    assert first() == ([0.0, 0.0], [0.0, 0.0])


def test_the_drives_of_a_closed_mechanism_start_on_their_trajectory():
    robot = dy.load("five-bar")
    home = robot.home[list(robot.driven)]
    move = dy.trajectory.quintic(home + 0.1, home + 0.2, 0.1)
    law = dy.control.JointPID(kp=10.0, kd=1.0)
    run = dy.simulate(robot, 0.002, controller=law, reference=move)
    np.testing.assert_allclose(run.error[0], 0.0, atol=1e-12)


def test_csv_holds_every_digit(run, tmp_path):
    path = run.save(tmp_path / "run.csv")
    assert path.read_text().splitlines()[0] == ",".join(NAMES)
    data = np.loadtxt(path, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(data, np.column_stack([run.t, run.q, run.qd, run.tau]))
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv"]


def test_npz(run, tmp_path):
    with np.load(run.save(str(tmp_path / "run.npz"))) as data:
        assert sorted(data) == ["q", "qd", "t", "tau"]
        for name in data:
            np.testing.assert_array_equal(data[name], getattr(run, name))


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_what_was_measured(run, tmp_path, suffix):
    path = run.save(tmp_path / f"log.{suffix}", measured=True)
    if suffix == "csv":
        data = np.loadtxt(path, delimiter=",", skiprows=1)
        assert data.shape == (5, 7)
        np.testing.assert_array_equal(data[:, 1:3], run.measured.q)
        np.testing.assert_array_equal(data[:, 5:], run.measured.tau)
    else:
        with np.load(path) as data:
            np.testing.assert_array_equal(data["qd"], run.measured.qd)


@pytest.mark.filterwarnings("ignore:the simulation ended early")
def test_a_log_of_a_run_that_diverged_says_so(tmp_path):
    """When, and of which joint; the state itself is saved without a word."""
    wild = dy.simulate(
        pair(), 2.0, controller=JointPID(9e4, 0.0, [10.0, 2e3]), reference=[0.0, 0.2],
        sample_time=5e-3,
    )  # fmt: skip
    assert wild.diverged
    fastest = int(np.argmax(np.abs(wild.qd[-1]))) + 1
    said = rf"diverged at t = [\d.]+ s.*joint 'joint{fastest}' moved fastest then, at \S+ rad/s"
    with pytest.warns(DynamisWarning, match=said) as found:
        wild.save(tmp_path / "log.csv", measured=True)
        dy.Log.from_run(wild)
    assert [w.filename for w in found] == [__file__] * 2
    wild.save(tmp_path / "run.csv")
    dy.Log.from_run(replace(wild, diverged=False, message="ended by event 'low' at t = 1 s"))


def test_a_failed_write_leaves_the_old_file(run, tmp_path, monkeypatch):
    path = tmp_path / "run.csv"
    path.write_text("old")

    def broken(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savetxt", broken)
    with pytest.raises(FileError, match="disk full"):
        run.save(path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_saved_files_are_as_readable_as_others(run, tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    assert run.save(tmp_path / "run.csv").stat().st_mode == plain.stat().st_mode


def test_wrong_files(run, tmp_path):
    with pytest.raises(OptionError, match=r"run\.xlsx'.*\.csv, \.npz"):
        run.save(tmp_path / "run.xlsx")
    with pytest.raises(FileError, match="cannot write"):
        run.save(tmp_path / "nowhere" / "run.csv")
    free = dy.simulate(pair(), 0.01)
    with pytest.raises(OptionError, match="sensors"):
        free.save(tmp_path / "log.csv", measured=True)
    many = dy.simulate(pair(), 0.01, q0=np.zeros((2, 2)))
    with pytest.raises(OptionError, match=r"ensemble \(2,\)"):
        many.save(tmp_path / "log.csv")
    assert not list(tmp_path.iterdir())


def test_energy_error_and_metrics(run):
    robot = run.robot
    np.testing.assert_array_equal(run.energy.kinetic, robot.kinetic_energy(run.q, run.qd))
    np.testing.assert_array_equal(run.energy.total, run.energy.kinetic + run.energy.potential)
    np.testing.assert_array_equal(run.error, run.q - [0.0, 0.2])
    np.testing.assert_allclose(run.metrics.rms, np.sqrt(np.mean(run.error**2, axis=0)))
    free = dy.simulate(pair(), 0.01)
    assert free.error is None and free.reference is None
    with pytest.raises(OptionError, match="reference"):
        free.metrics  # noqa: B018


def test_repr(run):
    assert repr(run) == "Run('pair', 0.02 s, 21 instants)"
    many = dy.simulate(pair(), 0.01, q0=np.zeros((2, 3, 2)))
    assert repr(many) == "Run('pair' of 6 arms, 0.01 s, 11 instants)"


def test_controller_states_are_kept(run):
    assert run.states["controller.integral"].shape == (21, 2)


def test_metrics_of_an_ensemble_are_over_all_members():
    q0 = np.array([[0.3, 0.1], [0.2, -0.1], [0.0, 0.2]])
    how = {"controller": JointPID(20.0, 0.0, 3.0), "reference": [0.0, 0.2]}
    many = dy.simulate(pair(), 0.05, q0=q0, **how)
    alone = [dy.simulate(pair(), 0.05, q0=q, **how).metrics for q in q0]
    np.testing.assert_allclose(many.metrics.max, np.max([m.max for m in alone], axis=0))
    np.testing.assert_allclose(many.metrics.mean, np.mean([m.mean for m in alone], axis=0))
    assert many.measured is None and many.observed is None and many.states == {}
