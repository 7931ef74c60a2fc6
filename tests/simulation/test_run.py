"""What a simulation leaves."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import JointPID
from dynamis.control.sensors import Sensors
from dynamis.errors import DynamisWarning, FileError, OptionError
from tests.simulation.arms import pair

NAMES = ["t", "q1", "q2", "qd1", "qd2", "tau1", "tau2"]


@pytest.fixture(scope="module")
def run():
    return dy.simulate(
        pair(), 0.02, q0=[0.3, 0.1], controller=JointPID(20.0, 0.0, 3.0), reference=[0.0, 0.2],
        sample_time=5e-3, sensors=Sensors(encoder=1e-3, torque_noise=0.1),
    )  # fmt: skip


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
