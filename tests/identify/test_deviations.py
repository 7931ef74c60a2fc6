"""Deviations of estimates beside the scatter of estimates over many logs of one arm."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.deviations import WeightedRows, bands, fitted_bands, noise_covariance
from dynamis.identify.estimators import ESTIMATORS
from dynamis.identify.information import NoiseGain
from dynamis.identify.motion import lowpass, noisy_velocities

from .motions import arm, series

NOISE = {"q": 1e-4, "qd": 1e-2, "tau": 0.05}  # rad, rad/s, N m
KINDS = [("tau",), ("q", "tau"), ("q", "qd", "tau")]
ROBOT = arm()
MOTION = series(3)


def recorded(seed, noisy, noise=NOISE):
    """One motion, always the same, with other noise."""
    t, q, qd, qdd = MOTION
    rng = np.random.default_rng([seed, 5])
    true = {"q": q, "qd": qd, "tau": ROBOT.inverse_dynamics(q, qd, qdd)}
    drawn = {name: noise[name] * rng.normal(size=q.shape) for name in true}
    return dy.Log(t=t, **{k: x + drawn[k] if k in noisy else x for k, x in true.items()})


def ratios(count, noisy, estimator="weighted", velocity="log"):
    """Reported deviations over the scatter, and over the errors, of every unknown, (2, m)."""
    how = dy.Processing(velocity=velocity)
    found = [
        dy.identify(
            ROBOT, recorded(seed, noisy), estimator=estimator, friction="asymmetric",
            processing=how, held_out=False, force=True,
        )
        for seed in range(count)
    ]  # fmt: skip
    values = np.array([x.values for x in found])
    said = np.sqrt(np.mean([x.standard_deviations**2 for x in found], axis=0))
    off = values - found[0].unknowns.values
    return said / values.std(axis=0, ddof=1), said / np.sqrt((off * off).mean(axis=0))


@pytest.mark.parametrize(
    "noisy",
    [
        pytest.param(x, marks=() if x is KINDS[-1] else pytest.mark.thorough, id=" ".join(x))
        for x in KINDS
    ],
)
def test_deviations_are_those_of_estimates_from_many_logs(noisy):
    """White residuals and those of noisy velocities, which grow with frequency, alike."""
    scatter, error = ratios(12, noisy)
    widest = 2.0 if "qd" in noisy else 1.6  # noise of velocities blurs the law of friction
    assert 0.8 < np.median(error) < widest
    assert error.min() > 0.5 and scatter.max() < 1.8 * widest  # a scatter of 12 is 20 % unsure


@pytest.mark.thorough
@pytest.mark.parametrize("noisy, velocity", [*((x, "log") for x in KINDS), (KINDS[-1], None)])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_deviations_of_every_estimator(estimator, noisy, velocity):
    scatter, error = ratios(40, noisy, estimator, velocity)
    blurred = "qd" in noisy  # the law of friction, by noise of velocities: scatter widens it
    assert 0.85 < np.median(error) < (2.0 if blurred else 1.5)
    assert error.min() > 0.65 and scatter.max() < (3.0 if blurred else 2.2)


@pytest.mark.parametrize("slope, least, most", [(0, 0.9, 1.1), (2, 0.0, 0.2), (-1, 2.0, 9.0)])
def test_noise_counts_at_the_frequencies_of_the_columns(slope, least, most):
    """The deviation of one slow column next to that of white noise, by the colour of the noise."""
    rng, rows = np.random.default_rng(0), 4000
    f = np.fft.rfftfreq(rows)
    white = np.fft.rfft(rng.normal(size=rows))
    noise = np.fft.irfft(white * np.maximum(f, 1e-3) ** (slope / 2), rows)
    noise /= noise.std()
    column = np.cos(2 * np.pi * np.arange(rows) / 100)
    gain = NoiseGain(np.zeros(1), np.array([[1 / (column @ column)]]), np.ones(1))
    block = WeightedRows(column[:, None, None], noise[:, None], np.ones((rows, 1)))
    found = noise_covariance(bands([[block]])[0], gain)[0, 0]
    assert least <= np.sqrt(found * (column @ column)) <= most


@dataclass
class Rows:
    """Samples of one joint with two columns, as they are fitted."""

    Y: np.ndarray
    tau: np.ndarray
    weight: np.ndarray
    passed: float = 0.5

    def blocks(self, unknowns):
        yield self.Y[:, None], self.tau[:, None], self.weight[:, None], np.arange(len(self.Y))


def said_over_scatter(motions, noises, cutoff=None, count=60):
    """Deviations next to the scatter of fits of columns (N, 2) to noise, both filtered."""
    found, said = [], []
    for seed in range(count):
        rng, rows = np.random.default_rng(seed), []
        for (Y, weight), noise in zip(motions, noises, strict=True):
            both = np.column_stack([Y, noise * rng.normal(size=len(Y))])
            both = both if cutoff is None else lowpass(both, cutoff, 1.0)
            rows.append(Rows(both[:, :2], both[:, 2], weight, cutoff or 0.5))
        A = np.concatenate([x.Y * x.weight[:, None] for x in rows])
        P = np.linalg.inv(A.T @ A)
        x = P @ A.T @ np.concatenate([x.tau * x.weight for x in rows])
        gain = NoiseGain(x, P, np.ones(1))
        found.append(x)
        covariance = noise_covariance(fitted_bands(rows, None, x, gain)[0], gain)
        said.append(np.diag(covariance))
    return np.sqrt(np.mean(said, axis=0) / np.mean(np.square(found), axis=0))


def test_slow_noise_is_continued_to_what_the_unknowns_take(monkeypatch):
    """Noise whose power goes as 1/f, and columns that take all that is as slow as the motion."""
    rows, count = 2000, 40
    t, f = np.arange(rows) / rows, np.maximum(np.fft.rfftfreq(rows), 1.0 / rows)
    angles = 2.0 * np.pi * np.outer(t, np.arange(1, 8))
    Y = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    P = np.linalg.inv(Y.T @ Y)

    def ratio(slope):
        off, said = [], []
        for seed in range(count):
            white = np.fft.rfft(np.random.default_rng(seed).normal(size=rows))
            noise = np.fft.irfft(white * f ** (slope / 2), rows)
            x = P @ Y.T @ noise
            block = WeightedRows(Y[:, None], (noise - Y @ x)[:, None], np.ones((rows, 1)))
            gain = NoiseGain(x, P, np.ones(1))
            off.append(x)
            said.append(np.diag(noise_covariance(bands([[block]])[0], gain)))
        return np.median(np.sqrt(np.mean(said, axis=0) / np.mean(np.square(off), axis=0)))

    assert 0.8 < ratio(-1.0) < 1.5
    assert 0.9 < ratio(0.0) < 1.25
    monkeypatch.setattr("dynamis.identify.deviations.SLOW", ())
    assert ratio(-1.0) < 0.72


def waves(rows, first, second):
    t = np.arange(rows) / rows
    return np.stack([np.sin(2 * np.pi * first * t), np.cos(2 * np.pi * second * t)], axis=1)


def test_rows_that_do_not_count_make_deviations_no_smaller():
    """As at rest, where half of the rows are left out."""
    Y = waves(1000, 10, 17)
    ratio = said_over_scatter([(Y, (np.abs(Y[:, 0]) > 0.7).astype(float))], [1.0])
    assert (ratio > 0.9).all() and (ratio < 1.35).all()


@pytest.mark.parametrize("rows, cutoff, most", [(50, 0.2, 1.3), (300, 0.015, 3.0)])
def test_frequencies_that_the_filter_took_away_say_nothing(rows, cutoff, most):
    """A short log, and one of which every row was kept."""
    ratio = said_over_scatter([(waves(rows, 1, 2), np.ones(rows))], [1.0], cutoff)
    assert ratio.min() > 0.8 and np.median(ratio) < most


def test_logs_of_unlike_noise_have_their_own_levels():
    """The one that moves much has the noise."""
    large, small = waves(600, 7, 11), 0.1 * waves(1200, 7, 11)
    motions = [(large, np.ones(600)), (small, np.ones(1200))]
    ratio = said_over_scatter(motions, [1.0, 0.1])
    assert (ratio > 0.8).all() and (ratio < 1.3).all()


def at_rest(estimator, seed, noise=0.0):
    """An estimate from a log in which the second joint rests, its velocities logged or not."""
    t, *rates = MOTION
    q, qd, qdd = (x * [1.0, 0.0] for x in rates)
    q[:, 1] = 0.3
    rng = np.random.default_rng(seed)
    tau = ROBOT.inverse_dynamics(q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
    log = dy.Log(t=t, q=q + noise * rng.normal(size=q.shape), qd=None if noise else qd, tau=tau)
    return dy.identify(ROBOT, log, estimator=estimator, held_out=False, force=True)


@pytest.mark.thorough
def test_a_joint_at_rest_makes_deviations_no_larger():
    found = [at_rest("weighted", seed) for seed in range(8)]
    seen = np.isfinite(found[0].standard_deviations)
    said = np.mean([x.standard_deviations[seen] for x in found], axis=0)
    scatter = np.std([x.values[seen] for x in found], axis=0, ddof=1)
    assert seen.sum() > 3 and np.median(said / scatter) < 2.0 and (said / scatter).max() < 4.0


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_instruments_do_not_show_what_a_joint_at_rest_hides(noise):
    """Exactly at rest as least squares says it; moved by noise alone, the instruments are weak."""
    found = at_rest("instrumental", 0, noise)
    hidden = dict(zip(found.names, ~np.isfinite(found.standard_deviations), strict=True))
    assert hidden["joint2.viscous"] and not hidden["joint1.viscous"]


def test_velocities_are_taken_from_where_there_is_less_noise():
    cutoff = 7.5
    assert noisy_velocities(recorded(0, ("q", "qd", "tau")), cutoff)
    assert not noisy_velocities(recorded(0, ("q", "tau")), cutoff)
    assert not noisy_velocities(recorded(0, ("tau",)), cutoff)
    rough = recorded(0, ("q", "qd", "tau"), {**NOISE, "q": 3e-3})
    assert not noisy_velocities(rough, cutoff)
    log = recorded(0, ("q", "tau"), {**NOISE, "q": 1e-3})
    own = replace(log, qd=np.gradient(log.q, log.t, axis=0))  # no better, and no worse
    assert not noisy_velocities(own, cutoff)


def test_short_logs_show_noisy_velocities_too():
    noisy, clean = recorded(0, ("q", "qd", "tau")), recorded(0, ("q", "tau"))
    assert noisy_velocities(noisy._taken(slice(240)), 7.5)
    assert not noisy_velocities(clean._taken(slice(240)), 7.5)
    own = replace(clean, qd=np.gradient(clean.q, clean.t, axis=0))
    assert not noisy_velocities(own._taken(slice(240)), 7.5)


def test_an_estimate_says_where_its_velocities_are_from():
    log = recorded(0, ("q", "qd", "tau"))
    found = dy.identify(ROBOT, log, estimator="weighted", held_out=False)
    assert found.processing[0].velocity == "difference"
    assert any("logged velocities were not used" in x.what for x in found.findings)
    asked = dy.Processing(velocity="log")
    found = dy.identify(ROBOT, log, estimator="weighted", held_out=False, processing=asked)
    assert found.processing[0].velocity == "log"
    assert not any("logged velocities were not used" in x.what for x in found.findings)
