"""A band of tones beside an exciting motion: its spectrum, its limits, its files."""

import json

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import OptionError
from dynamis.excite.band import FEWEST, TONES, multisine, resonance_range
from dynamis.excite.design import excite

from ..closed_mechanisms import five_bar

QUICK = {"starts": 1, "max_iterations": 5, "harmonics": 4, "period": 8.0}
BAND = (3.0, 25.0)
REST = 1e-11  # rad/s and rad/s^2, of sums of numbers near 10
CREST = 2.2  # largest value over RMS: random phases of as many tones have 3 and more


def soft(**limits):
    """Two links with elastic gears in a vertical plane."""

    def rod(length, mass, stiffness):
        inertia = mass * length**2 / 12
        drive = dy.Drive(gear=100, rotor_inertia=2e-5, stiffness=stiffness, damping=1.0)
        com = (-length / 2, 0, 0)
        return dy.Link(a=length, mass=mass, com=com, inertia=(0, inertia, inertia), drive=drive,
                       **limits)  # fmt: skip

    links = [rod(0.5, 5.0, 4000.0), rod(0.4, 3.0, 1500.0)]
    return dy.Robot.from_dh("soft", convention="standard", gravity=(0, -9.81, 0), links=links)


@pytest.fixture(scope="module")
def arm():
    return soft(limits=(-1.2, 1.4), velocity_limit=1.5, effort_limit=60.0)


@pytest.fixture(scope="module")
def design(arm, compiled):
    return excite(arm, band=BAND, qdd_limits=[6.0, 9.0], table=None, **QUICK)


def fine(found, count=20_011):
    """A prime number of times, none of the design's own."""
    return found.trajectory(np.linspace(0.0, found.period, count))


@pytest.mark.parametrize("n", [1, 3])
def test_a_multisine_rests_at_its_ends_and_has_a_low_peak(n):
    wave = multisine(10.0, *BAND, n)
    ends = wave.states(np.array([0.0, wave.period]))
    assert np.abs(ends[1:]).max() < REST
    t = np.linspace(0.0, wave.period, 9973, endpoint=False)
    q, qd, qdd = wave.states(t)
    assert np.abs(qdd).max(axis=0) == pytest.approx(np.ones(n), abs=0.02)
    assert (np.abs([q, qd, qdd]).max(axis=1) <= wave.peaks).all()
    assert (np.abs(qdd).max(axis=0) / qdd.std(axis=0) < CREST).all()


def test_velocity_and_acceleration_are_derivatives():
    wave, h = multisine(10.0, *BAND, 2), 1e-5
    t = np.linspace(0.1, 9.0, 50)
    before, at, after = (wave.states(t + k * h) for k in (-1, 0, 1))
    for k, scale in ((0, 1e-3), (1, 1e-2)):
        slope = (after[k] - before[k]) / (2.0 * h)
        assert np.abs(slope - at[k + 1]).max() < scale * np.abs(at[k + 1]).max()


def test_the_spectrum_has_even_tones_in_the_band_and_no_others(design):
    """Acceleration over whole periods: harmonics of the series, then the band, each joint's own."""
    count = 8000
    t = np.linspace(0.0, design.period, count, endpoint=False)
    lines = np.abs(np.fft.rfft(design.trajectory(t).qdd, axis=0)) * 2.0 / count
    f = np.arange(len(lines)) / design.period
    inside = (f >= BAND[0]) & (f <= BAND[1])
    series = (f > 0.0) & (f <= design.harmonics / design.period + 1e-9)
    assert np.abs(lines[~inside & ~series]).max() < 1e-9
    own = [set(np.flatnonzero(inside & (x > 1e-3 * x[inside].max()))) for x in lines.T]
    assert not own[0] & own[1] and {TONES // 2 < len(x) <= TONES for x in own} == {True}
    for x, tones in zip(lines.T, own, strict=True):
        size = x[sorted(tones)]
        assert size.max() < 1.3 * size.min()
        low, high = f[min(tones)], f[max(tones)]
        assert low < BAND[0] + 1.0 and high > BAND[1] - 1.5


def test_all_limits_hold_with_the_band(design, arm):
    q, qd, qdd = fine(design)
    assert (q >= -1.2).all() and (q <= 1.4).all()
    assert (np.abs(qd) <= 1.5).all() and (np.abs(qdd) <= [6.0, 9.0]).all()
    tau = np.abs(arm.inverse_dynamics(q, qd, qdd))
    assert (tau <= 60.0).all()
    assert np.allclose(design.demand.tau, tau.max(axis=0), rtol=1e-2)
    assert np.allclose(design.demand.qdd, np.abs(qdd).max(axis=0), rtol=1e-2)
    assert not any(f.level == "error" for f in design.findings)


def test_rest_at_both_ends(design):
    state = design.trajectory([0.0, design.period])
    assert np.abs(state.qd).max() < REST and np.abs(state.qdd).max() < 10 * REST


def test_the_share_bounds_the_band(arm, compiled):
    small, large = (
        excite(arm, band=BAND, band_share=x, table=None, **QUICK).band for x in (0.05, 0.2)
    )
    np.testing.assert_allclose(large.peaks[1] / small.peaks[1], 4.0, rtol=0.3)
    limits = np.array([[1.3, 1.3], [1.5, 1.5]])
    assert (small.peaks[:2] <= 0.0501 * limits).all()
    assert (small.peaks[:2] > 0.02 * limits).any()


def test_the_torque_of_the_band_is_its_share(compiled):
    """Where velocity allows it: inertia times acceleration is a tenth of the limit at most."""
    strong = soft(limits=(-2.0, 2.0), velocity_limit=8.0, effort_limit=60.0)
    found = excite(strong, band=(8.0, 25.0), table=None, **QUICK)
    t = np.linspace(0.0, found.period, 2003)
    q, band = found.trajectory(t).q, found.band.states(t)[2]
    own = np.abs(np.diagonal(strong.mass_matrix(q), axis1=1, axis2=2) * band).max(axis=0)
    assert (own <= 6.05).all() and own.max() > 2.0


def test_a_band_that_would_break_a_limit_is_made_smaller(compiled):
    """The tones of the light joint turn the heavy one, whose torque has no room for them."""
    strong = soft(limits=(-2.0, 2.0), velocity_limit=8.0)
    limits = {"torque_limits": [48.0, 200.0], "center": [0.0, 0.0]}
    found = excite(strong, band=(8.0, 25.0), table=None, **limits, **QUICK)
    (said,) = (f for f in found.findings if f.where == "band")
    assert said.level == "note" and "% of its share" in said.what
    state = fine(found)
    assert (np.abs(strong.inverse_dynamics(*state)) <= [48.0, 200.0]).all()
    assert found.band.peaks[2].min() > 0.1 and not any(f.level == "error" for f in found.findings)


def test_resonances_choose_the_band(arm, compiled):
    found = excite(arm, band="resonances", table=None, **QUICK)
    low, high = resonance_range(arm, np.zeros((1, 2)))
    assert found.band.low < low and found.band.high > high
    assert not [f for f in found.findings if f.where == "drive trains"]
    with pytest.raises(OptionError, match="no elastic joints"):
        excite(dy.load("planar-rr"), band="resonances", **QUICK)


def test_an_elastic_arm_is_told_which_band_reaches_its_resonances(arm, compiled):
    without = excite(arm, table=None, **QUICK)
    (said,) = (f for f in without.findings if f.where == "drive trains")
    assert said.level == "note" and said.joints == ("joint1", "joint2")
    assert "band=(3.4, " in said.remedy and "reaches to 0.5 Hz" in said.what
    short = excite(arm, band=(3.0, 10.0), table=None, **QUICK)
    (said,) = (f for f in short.findings if f.where == "drive trains")
    assert "the band from 3 Hz reaches to" in said.what
    assert not [f for f in excite(dy.load("planar-rr"), **QUICK).findings
                if f.where == "drive trains"]  # fmt: skip


def test_saved_and_read_again(design, arm, tmp_path):
    with pytest.raises(OptionError, match=r"expected at most 0\.01"):
        design.sample(0.02)
    sampled = design.sample()
    assert np.diff(sampled.t).max() <= 0.1001 / design.band.high
    path = design.save(tmp_path / "excite.csv")
    again = dy.trajectory.from_file(path, arm)
    t = np.linspace(0.0, design.period, 3001)
    one, other = design.trajectory(t), again(t)
    for a, b, within in zip(one, other, (1e-6, 1e-4, 1e-2), strict=True):
        np.testing.assert_allclose(b, a, atol=within * np.abs(a).max())


def test_a_closed_mechanism_keeps_its_limits_with_a_band(compiled):
    robot = five_bar()
    options = {"clearance": None, "table": None, "qdd_limits": 30.0, **QUICK}
    options |= {"period": 4.0, "max_iterations": 2}
    found = excite(robot, band=(3.0, 9.0), **options)
    moved, decide = found.all_joints(), list(robot.independent)
    assert (np.abs(moved.qdd[:, decide]) <= 30.0).all() and (np.abs(moved.qd[:, decide]) <= 2).all()
    error = np.asarray(robot.closure_error(moved.q[::50]))
    assert np.abs(error).max() < 1e-9
    assert found.worst_conditioning.number <= 20.0
    rows = [list(robot.driven).index(k) for k in decide]
    np.testing.assert_allclose(found.sample().q[:, rows], moved.q[:, decide], atol=1e-12)


@pytest.mark.parametrize("robot, band, said", [
    ("planar-rr", (5.0,), "expected"),
    ("planar-rr", (9.0, 3.0), "the lower one first"),
    ("planar-rr", "wide", "expected"),
    ("planar-rr", (0.1, 3.0), "harmonics of the motion reach"),
    ("planar-rr", (3.0, 3.0 + (2 * FEWEST - 2) / 8.0), "for each joint"),
    ("planar-rr", (3.0, 1e5), "at most 10000"),
])  # fmt: skip
def test_bands_that_cannot_be_are_refused(robot, band, said):
    with pytest.raises(OptionError, match=said):
        excite(dy.load(robot), band=band, **QUICK)


def test_a_middle_that_leaves_no_room_is_refused(arm):
    with pytest.raises(OptionError, match="a band needs 10 % of each range"):
        excite(arm, band=BAND, center=[1.39, 0.0], table=None, **QUICK)


def test_on_the_command_line(capsys, tmp_path):
    quick = ["--starts", "1", "--max-iterations", "3", "--period", "4", "--json"]
    path = tmp_path / "excite.npz"
    options = ["--band", "5,30", "--band-share", "0.05", "--output", str(path)]
    assert main(["excite", "planar-rr", *options, *quick]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["band"] == pytest.approx([5.0, 30.0], abs=1.0)
    assert 5 < len(found["harmonics"]) == len(found["a"][0]) <= 5 + 2 * TONES
    assert np.diff(np.load(path)["t"]).max() <= 0.1001 / found["band"][1]
    assert main(["excite", "planar-rr", "--band", "narrow", *quick]) == 2
    assert "expected Hz or resonances" in capsys.readouterr().err
