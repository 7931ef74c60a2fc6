"""Intervals hold between motions: scatter over blocks of time, velocities, logs and joints."""

from itertools import combinations

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.information import NoiseGain
from dynamis.identify.scatter import NOISE, Rows, Scatter, grown, scatter, sentence, sums
from dynamis.identify.unmodelled import RADII, Left, changes

from .intervals import REACH, case, disturbed, together
from .motions import arm, log_of, series
from .test_real_logs import GAINS, ROWS

BLOCKS = 12


def fitted(seed=0, rows=600, columns=3):
    """Columns, residual and blocks of an ordinary fit of one joint, and its gain."""
    rng = np.random.default_rng(seed)
    Y, tau = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    P = np.linalg.inv(Y.T @ Y)
    x = P @ Y.T @ tau
    block = np.arange(rows) * BLOCKS // rows
    return Y, tau, x, block, NoiseGain(x, P, np.ones(1))


def test_scatter_is_that_of_fits_without_one_block_each():
    Y, tau, x, block, gain = fitted()
    rows = Rows(Y[:, None], (tau - Y @ x)[:, None], [block[:, None]])
    found = scatter(sums(iter([rows]), [BLOCKS], gain)[0])
    left = [np.linalg.lstsq(Y[block != b], tau[block != b])[0] for b in range(BLOCKS)]
    moved = left - np.mean(left, axis=0)
    S = (BLOCKS - 1) / BLOCKS * moved.T @ moved
    size = np.sqrt(np.diag(S))
    np.testing.assert_allclose(
        found.covariance / np.outer(size, size), S / np.outer(size, size), atol=0.02
    )
    assert found.expected == pytest.approx(1.0, abs=0.03)
    assert found.freedom == pytest.approx(BLOCKS, rel=0.03)


def with_element(weight):
    """What an element of the second radius would change of a fit, and a fit with it."""
    Y, _, _, block, gain = fitted()
    rng = np.random.default_rng(4)
    z = rng.normal(size=(len(Y), len(RADII)))
    z[:, 1] += Y @ [1.0, 0.5, 0.0]
    tau = weight * z[:, 1] + 0.1 * rng.normal(size=len(Y))
    x = gain.inverse @ Y.T @ tau
    rows = Rows(Y[:, None], (tau - Y @ x)[:, None], [block[:, None]], z[:, None])
    left = Left.zeros(BLOCKS, 1, Y.shape[1])
    root, influence, score, _ = sums(iter([rows]), [BLOCKS], gain, left)[0]
    longer = np.linalg.lstsq(np.column_stack([Y, z[:, 1]]), tau)[0][:-1]
    return root @ changes(left, influence, score, gain)[0], longer - x


def test_an_element_with_memory_changes_what_a_fit_with_it_does():
    change, difference = with_element(0.5)
    np.testing.assert_allclose(change, difference, rtol=0.02)
    for weight in (-0.5, 0.0):  # friction feeds no power in; others explain it by chance alone
        assert np.abs(with_element(weight)[0]).max() < 0.02 * np.abs(change).max()


def test_rows_of_no_block_and_empty_blocks_scatter_nothing():
    Y, tau, x, block, gain = fitted()
    left = np.where(block == 3, -1, block)
    rows = Rows(Y[:, None], (tau - Y @ x)[:, None], [left[:, None]])
    found = sums(iter([rows]), [BLOCKS + 5], gain)[0]
    assert len(found.score) == BLOCKS - 1
    alone = found._replace(influence=found.influence[:1], score=found.score[:1])
    assert not scatter(alone).covariance.any()


@pytest.mark.parametrize("size", [0.0, 0.5, 30.0])
def test_a_covariance_grows_in_no_direction_less_than_nothing(size):
    rng = np.random.default_rng(1)
    noise, S = (np.cov(rng.normal(size=(5, 40)) * k) for k in (1.0, np.sqrt(size)))
    C = grown(noise, Scatter(S, 1.0, 1e9))
    assert np.linalg.eigvalsh(C - noise)[0] > -1e-9
    assert np.linalg.eigvalsh(C - S)[0] > -1e-6 * max(size, 1.0)
    if size == 0.0:
        np.testing.assert_allclose(C, noise)


def test_chance_is_no_scatter():
    """Of white noise the scatter over few blocks varies by direction, but grows little."""
    rng = np.random.default_rng(2)
    eye, grew = np.eye(30), []
    for _ in range(20):
        S = np.cov(rng.normal(size=(30, 13)))
        grew.append(np.trace(grown(eye, Scatter(S, 1.0, 12.0))) / 30)
    assert np.mean(grew) < 1.2


def test_what_is_not_seen_stays_unknown():
    noise = np.diag([1.0, np.inf, 0.0])
    C = grown(noise, Scatter(4.0 * np.eye(3), 1.0, 1e9))
    np.testing.assert_allclose(np.diag(C), [4.0, np.inf, 0.0])


def noise_of(found):
    """Variances by noise alone."""
    assert found.noise_covariance is not None
    return np.diag(found.noise_covariance)


def outside(described, seeds, law="auto"):
    """Shares of unknowns outside 95 %, by noise alone and as reported."""
    found = together([case(seed, law, described) for seed in seeds])
    assert (found.said >= found.noise * (1.0 - 1e-9)).all()
    return np.mean(found.off > REACH * found.noise), np.mean(found.outside)


@pytest.mark.thorough
def test_fewer_unknowns_are_outside_with_ripple_slow_noise_and_hysteresis():
    """With a law that has no memory: the default would model the hysteresis."""
    by_noise, reported = outside(None, range(12), law="smooth")
    assert reported < 0.7 * by_noise and reported <= 0.1
    assert outside(None, range(4))[1] <= 0.15


@pytest.mark.thorough
@pytest.mark.parametrize("law", ["smooth", "auto"])
def test_intervals_of_many_arms_with_ripple_slow_noise_and_hysteresis(law):
    """At most a tenth of the unknowns of 40 small arms outside 95 %, each with its own motion."""
    found = together([case(seed, law) for seed in range(100, 140)])
    assert np.mean(found.outside) <= 0.1
    for kind in ("body", "viscous", "coulomb", "offset"):
        assert np.mean(found.outside[found.kinds == kind]) <= 0.13


@pytest.mark.thorough
def test_intervals_with_ripple_slow_noise_and_hysteresis():
    """At most a tenth of the unknowns of arms of six joints outside 95 %."""
    found = [outside(dy.load(name), range(4)) for name in ("puma560", "ur10e")]
    by_noise, reported = np.mean(found, axis=0)
    assert reported <= 0.1 and by_noise >= reported


def test_white_noise_decides_its_own_intervals():
    wider = []
    for seed in range(6):
        found = dy.identify(
            arm(), log_of(arm(), seed), friction="asymmetric", estimator="weighted", held_out=False
        )
        by_noise = np.sqrt(noise_of(found))
        wider.append(found.standard_deviations / by_noise)
        assert set(found.interval_sources) <= {NOISE, "ranges of velocity", "blocks of time"}
    assert np.median(wider) < 1.1


def test_an_estimate_says_what_decides():
    robot, log, *_ = disturbed(3, arm())
    found = dy.identify(robot, log, held_out=False, force=True)
    assert len(found.interval_sources) == len(found.names)
    assert set(found.interval_sources) - {NOISE}
    assert "as wide as by noise alone" in found.interval_source
    assert sentence([NOISE, NOISE], 1.0) == "the noise of the torque decides every interval"


def test_logs_that_differ_widen_what_they_differ_in():
    """Friction that is another on every log."""
    t, q, qd, qdd = series(3)
    logs = []
    for k in range(4):
        rub = 1.0 + 0.1 * k
        tau = arm().inverse_dynamics(q, qd, qdd) + 0.6 * (rub - 1.0) * qd
        tau += 0.02 * np.random.default_rng(k).normal(size=q.shape)
        logs.append(dy.Log(t=t, q=q, qd=qd, tau=tau))
    found = dy.identify(arm(), logs, estimator="weighted", friction="asymmetric", held_out=False)
    k = found.unknowns.of_kind("viscous")
    scatter_of_four = 0.06 * np.sqrt(5.0 / 3.0) / 2.0  # of a mean, by 0, 1, 2, 3 times 0.06
    assert (found.standard_deviations[k] > 0.8 * scatter_of_four).all()
    assert (np.sqrt(noise_of(found))[k] < 0.5 * scatter_of_four).all()


def test_errors_of_the_arm_widen_the_interval_of_a_payload():
    """Nothing carried: more intervals hold 0 than by noise alone where the arm's model is off."""
    truth, held = dy.load("puma560"), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = np.array(truth.parameters.values)
        values[:60] *= 1.0 + 0.03 * rng.normal(size=60)
        wrong = truth.with_parameters(values)
        t, q, qd, qdd = series(seed, 6, seconds=10.0, rate=100.0, size=0.4)
        tau = truth.inverse_dynamics(q, qd, qdd) + 0.02 * rng.normal(size=q.shape)
        found = dy.identify_payload(wrong, dy.Log(t=t, q=q, qd=qd, tau=tau), feasible=False)
        by_noise = np.sqrt(noise_of(found)[0])
        off = abs(found.parameters[0]) / np.array([by_noise, found.standard_deviations[0]])
        held.append(off <= REACH)
    by_noise, reported = np.mean(held, axis=0)
    assert reported > by_noise + 0.3
    assert set(found.interval_sources) - {NOISE}


@pytest.mark.thorough
@pytest.mark.parametrize("law", ["smooth", "loaded"])
def test_intervals_of_the_ur10e_hold_between_motions(data, compiled, law):
    """Up to 8 % of body parameters and at most 10 % of friction outside 95 %, not too wide."""
    columns = {"t": "t", "q": "q", "qd": "qd", "current": "i"}
    robot = dy.load(data / "ur10e" / "ur10e.urdf")
    found = []
    for name, rows in {**ROWS, "free_50s": (194, 4966)}.items():
        log = dy.read_log(data / "ur10e" / f"{name}.npz", columns, drive_gains=GAINS, rows=rows)
        options = {"friction": law, "rotors": True, "estimator": "weighted", "held_out": False}
        found.append(dy.identify(robot, log, **options))
    bodies = np.isin(found[0].unknowns.kinds, ["body", "rotor"])
    both = [
        np.abs(a.values - b.values) / np.hypot(a.standard_deviations, b.standard_deviations)
        for a, b in combinations(found, 2)
    ]
    far = np.nan_to_num(both) > REACH
    assert 0.005 <= far[:, bodies].mean() <= 0.08
    assert far[:, ~bodies].mean() <= 0.1
    said = np.mean([x.standard_deviations for x in found], axis=0)
    scattered = np.std([x.values for x in found], axis=0, ddof=1)
    for part in (bodies, ~bodies):
        seen = part & (scattered > 0.0)
        assert np.median(said[seen] / scattered[seen]) <= 2.0
