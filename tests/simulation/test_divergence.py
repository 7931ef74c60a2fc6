"""Runs that leave this world end there, and say so."""

import re
import warnings

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import JointPID
from dynamis.errors import DynamisWarning
from tests.simulation.arms import bar, pair, slider

pytestmark = pytest.mark.filterwarnings("ignore:the simulation ended early")
WILD = JointPID(1e7, 0.0, 1e5)


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


def wild(t, q, qd):
    return -1e7 * q - 1e5 * qd


WAYS = {
    "law": {"controller": WILD, "reference": [1.0, 0.0]},
    "stages": {"controller": wild},
    "held": {"controller": wild, "sample_time": 1e-3},
    "euler": {"controller": WILD, "reference": [1.0, 0.0], "integrator": "euler"},
}
STIFF = {"integrator": "dormand-prince", "controller": lambda t, q, qd: 1e3 * q**3 + qd}


@pytest.mark.parametrize("code", ["on", "off"])
@pytest.mark.parametrize("way", WAYS)
def test_absurd_gains_end_the_run(way, code, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    run = dy.simulate(pair(), 1.0, q0=[0.5, 0.5], **WAYS[way])
    ended_early(run)


@pytest.mark.parametrize("code", ["on", "off"])
def test_steps_that_become_too_short_end_the_run(code, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    with np.errstate(all="ignore"):
        run = dy.simulate(slider(), 1.0, 1e-3, q0=[5.0], **STIFF)
    ended_early(run)


@pytest.mark.parametrize("code", ["on", "off"])
def test_a_tolerance_that_cannot_be_met_is_said(code, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    how = {"integrator": "dormand-prince", "tolerance": 1e-30}
    run = dy.simulate(pair(), 1.0, 1e-3, q0=[0.5, 0.5], **how)
    assert run.diverged is False and run.diverged_at is None
    assert run.message == "steps became too short at t = 0 s (tolerance 1e-30)"
    assert len(run.t) == len(run.q) == 1 and np.isfinite(run.q).all()
    many = dy.simulate(pair(), 1.0, 1e-3, q0=[[0.5, 0.5], [0.4, 0.3]], **how)
    assert many.message == run.message and np.isnan(many.q[:, 1:]).all()


@pytest.mark.parametrize("way", [WAYS["stages"], STIFF | {"q0": [5.0]}], ids=["wild", "stiff"])
def test_a_run_that_ends_early_warns_once_at_the_line_of_the_caller(way):
    robot = slider() if "q0" in way else pair()
    options = {"q0": [0.5, 0.5]} | way
    with np.errstate(all="ignore"), pytest.warns(DynamisWarning) as told:
        run = dy.simulate(robot, 1.0, 1e-3, **options)
    assert [str(x.message) for x in told] == [f"the simulation ended early: {run.message}"]
    assert told[0].filename == __file__


def test_ensembles_and_terminal_events_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = dy.simulate(pair(), 0.5, q0=[[0.5, 0.5]], **WAYS["law"])

        def lower(t, q, qd):
            return q[0] - 0.4

        lower.terminal = True
        ended = dy.simulate(pair(), 0.5, q0=[0.5, 0.5], events=[lower])
    assert many.diverged.all() and "ended by event" in ended.message


def test_metrics_of_a_run_that_ended_early_say_so():
    run = dy.simulate(pair(), 1.0, q0=[0.5, 0.5], **WAYS["law"])
    shown = run.metrics
    assert str(shown).splitlines()[-1] == run.message
    assert run.message in shown.markdown() and "diverged" in shown._repr_html_()
    assert not dy.simulate(pair(), 0.1, reference=[0.0, 0.0]).metrics.note


def ended_early(run):
    assert run.diverged is True
    assert 0.0 < run.diverged_at < 1.0
    assert f"diverged at t = {run.diverged_at:g}" in run.message and run.message in repr(run)
    for name in ("t", "q", "qd", "tau", "friction"):
        assert np.isfinite(getattr(run, name)).all()
    assert len(run.t) == len(run.q) == len(run.stuck)
    assert run.t[-1] < 1.0 and np.isfinite(run.energy.total).all()


@pytest.mark.parametrize("code", ["on", "off"])
@pytest.mark.parametrize("way", [
    {"controller": lambda t, q, qd: 300.0 * q**3, "integrator": "rk4"},
    {"controller": lambda t, q, qd: 300.0 * q**3, "sample_time": 1e-3},
    {"controller": lambda t, q, qd: 300.0 * q**3, "integrator": "dormand-prince"},
], ids=["stages", "held", "adaptive"])  # fmt: skip
def test_only_the_bad_members_are_flagged(way, code, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    q0 = np.array([[0.01], [50.0], [-0.02]])
    with np.errstate(all="ignore"):
        run = dy.simulate(slider(dy.Friction(viscous=50.0)), 0.1, q0=q0, **way)
    np.testing.assert_array_equal(run.diverged, [False, True, False])
    assert np.isnan(run.diverged_at[[0, 2]]).all() and 0 < run.diverged_at[1] < 0.1
    assert np.isfinite(run.q[[0, 2]]).all()
    after = run.t >= run.diverged_at[1]
    assert np.isnan(run.q[1, after]).all() and np.isfinite(run.q[1, ~after]).all()
    assert "1 of 3 diverged" in run.message
    alone = dy.simulate(slider(dy.Friction(viscous=50.0)), 0.1, q0=q0[0], **way)
    np.testing.assert_allclose(run.q[0], alone.q, atol=1e-8)


def test_bad_members_under_a_law():
    q0 = np.array([[0.0, 0.0], [0.0, 0.0]])
    values = np.array(pair().parameters.values)
    light = values * 1e-9
    run = dy.simulate(
        pair(), 0.5, q0=q0, parameters=np.stack([values, light]),
        controller=JointPID(50.0, 0.0, 10.0), reference=[0.1, 0.1],
    )  # fmt: skip
    np.testing.assert_array_equal(run.diverged, [False, True])


@pytest.mark.parametrize("way", [WAYS["law"], WAYS["stages"]])
def test_an_ensemble_of_one_is_an_ensemble(way):
    run = dy.simulate(pair(), 0.5, q0=[[0.5, 0.5]], **way)
    np.testing.assert_array_equal(run.diverged, [True])
    assert run.q.shape == (1, 501, 2) and np.isnan(run.q[0, -1]).all()


@pytest.mark.parametrize("code", ["on", "off"])
def test_friction_and_stops_survive_it(code, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    robot = pair(bar(dy.Friction(coulomb=1.0, law="stribeck")), bar(limits=(-1.0, 1.0)))
    run = dy.simulate(robot, 0.5, q0=[0.5, 0.5], controller=WILD, reference=[1.0, 0.0], stops=True)
    assert np.isfinite(run.q).all() and (np.abs(run.q[:, 1]) <= 1.0).all()


def test_what_is_well_says_nothing():
    run = dy.simulate(pair(), 0.1)
    assert run.diverged is False and run.diverged_at is None and run.message == ""


@pytest.mark.parametrize("integrator", ["euler", "semi-implicit-euler", "heun", "rk4"])
def test_friction_too_stiff_for_the_steps_is_the_reason(integrator):
    robot = pair(bar(), bar(dy.Friction(viscous=1e4)))
    how = {"qd0": [0.0, 1e-3], "integrator": integrator}
    run = dy.simulate(robot, 1.0, **how)
    told = re.search(r"viscous friction of joint 'joint2', use dt=(\S+)$", run.message)
    assert run.diverged and told
    assert not dy.simulate(robot, 20 * float(told[1]), dt=float(told[1]), **how).diverged


def test_the_end_is_the_step_whatever_rows_are_kept():
    how = {"q0": [0.5, 0.5], **WAYS["law"]}
    ends = [dy.simulate(pair(), 1.0, save_every=k, **how) for k in (1, 7, 300)]
    assert len({run.message for run in ends}) == 1 and 0.0 < ends[0].diverged_at < 0.01
    for run in ends:
        assert run.diverged_at == ends[0].diverged_at > run.t[-1]


def test_a_velocity_gain_too_high_for_the_samples_is_the_reason():
    robot = pair(bar(), bar())
    limit = 2.0 * np.linalg.inv(robot.mass_matrix([0.0, 0.0])).diagonal() ** -1 / 1e-3
    for gain, diverges in ((2.5, True), (0.3, False)):
        law = JointPID(100.0, 0.0, (gain * limit).tolist())
        run = dy.simulate(robot, 3.0, q0=[0.0, 0.1], controller=law, reference=[0.0, 0.0])
        assert run.diverged is diverges
        assert ("the controller takes" in run.message) is diverges
