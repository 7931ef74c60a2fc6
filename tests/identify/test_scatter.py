"""Intervals hold between motions: scatter over blocks of time, velocities, logs and joints."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.information import NoiseGain
from dynamis.identify.scatter import NOISE, Rows, Scatter, grown, scatter, sentence, sums

from .motions import arm, log_of, series
from .test_real_logs import GAINS, ROWS

BLOCKS = 12
REACH = 1.96  # deviations on either side of an interval of 95 %


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


def bare(robot):
    """A robot whose joints and motors do not rub."""
    links = []
    for link in robot.model.links:
        drive = link.drive
        if drive is not None:
            drive = replace(drive, viscous=0.0, coulomb=(0.0, 0.0), efficiency=1.0)
        links.append(replace(link, friction=dy.Friction(), drive=drive))
    return dy.Robot(replace(robot.model, links=tuple(links)))


def disturbed(seed, described=None, noise=0.02, drift=0.03, ripple=0.04, presliding=2e-3):
    """An arm and a log of it: presliding friction, ripple by position and slow noise.

    Sizes are shares of each joint's torque; also the true viscous and Coulomb friction.
    """
    robot, rng = bare(described or arm()), np.random.default_rng([seed, 1])
    t, q, qd, qdd = series(seed, robot.n, seconds=20.0, harmonics=6, size=0.45)
    rigid = robot.inverse_dynamics(q, qd, qdd)
    size = np.sqrt((rigid**2).mean(axis=0))
    size = np.maximum(size, 0.03 * size.max())
    viscous, coulomb = 0.1 * size, 0.15 * size
    tau = rigid + viscous * qd + lugre(qd, t[1], coulomb, coulomb / presliding)
    tau += ripple * size * (np.sin(100 * q) + 0.5 * np.sin(200 * q + 1.0))
    f = np.fft.rfftfreq(len(t))
    slow = np.fft.rfft(rng.normal(size=q.shape), axis=0) / np.sqrt(np.maximum(f, f[1]))[:, None]
    slow = np.fft.irfft(slow, len(t), axis=0)
    slow /= slow.std(axis=0)
    tau += drift * size * slow + noise * size * rng.normal(size=q.shape)
    return robot, dy.Log(t=t, q=q, qd=qd, tau=tau), viscous, coulomb


def lugre(qd, dt, coulomb, stiffness):
    """Presliding friction without Stribeck effect: z' = v - stiffness |v| z / coulomb."""
    z, torque = np.zeros(qd.shape[1]), np.empty_like(qd)
    for k, v in enumerate(qd):
        end = np.sign(v) * coulomb / stiffness
        z = end + (z - end) * np.exp(-stiffness * np.abs(v) * dt / coulomb)
        torque[k] = stiffness * z
    return torque


def noise_of(found):
    """Variances by noise alone."""
    assert found.noise_covariance is not None
    return np.diag(found.noise_covariance)


def apart(found, viscous, coulomb):
    """Errors of an estimate, and its deviations by noise alone and as reported."""
    u = found.unknowns
    true = u.group @ np.asarray(u.robot.parameters.values, dtype=float)
    for kind, values in (("viscous", viscous), ("coulomb", coulomb)):
        for k in u.of_kind(kind):
            true[k] = values[u.joints[k]]
    sums = np.eye(len(true))  # Coulomb friction is what slides, elements with memory among it
    for k in u.of_kind("coulomb"):
        sums[k, [i for i in u.of_kind("memory") if u.joints[i] == u.joints[k]]] = 1.0
    sums = sums[~np.isin(u.kinds, ["memory"])]
    noise, said = (
        np.sqrt(np.diag(sums @ C @ sums.T)) for C in (found.noise_covariance, found.covariance)
    )
    true = true[~np.isin(u.kinds, ["memory"])]
    return np.abs(sums @ found.values - true), noise, said


def outside(described, seeds, law="auto"):
    """Shares of unknowns outside 95 %, by noise alone and as reported."""
    parts = []
    for seed in seeds:
        robot, log, *friction = disturbed(seed, described)
        options = {"estimator": "weighted", "held_out": False, "force": True}
        found = dy.identify(robot, log, friction=law, **options)
        parts.append(apart(found, *friction))
    off, noise, said = (np.concatenate(x) for x in zip(*parts, strict=True))
    assert (said >= noise * (1.0 - 1e-9)).all()
    return np.mean(off > REACH * noise), np.mean(off > REACH * said)


def test_fewer_unknowns_are_outside_with_ripple_slow_noise_and_hysteresis():
    """With a law that has no memory: the default would model the hysteresis."""
    by_noise, reported = outside(arm(), range(6), law="smooth")
    assert reported < by_noise
    assert outside(arm(), range(6))[1] <= 0.25


@pytest.mark.thorough
def test_intervals_with_ripple_slow_noise_and_hysteresis():
    """A sixth of the unknowns of arms of six joints outside 95 %; a tenth is wanted."""
    found = [outside(dy.load(name), range(4)) for name in ("puma560", "ur10e")]
    by_noise, reported = np.mean(found, axis=0)
    assert reported <= 0.2 and by_noise > 1.5 * reported


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
    robot, log, *_ = disturbed(3)
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
    """1 to 8 % of body parameters and at most 10 % of friction outside 95 %."""
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
    assert 0.01 <= far[:, bodies].mean() <= 0.08
    assert far[:, ~bodies].mean() <= 0.1
    said = np.mean([x.standard_deviations for x in found], axis=0)
    scattered = np.std([x.values for x in found], axis=0, ddof=1)
    for part in (bodies, ~bodies):
        seen = part & (scattered > 0.0)
        assert np.median(said[seen] / scattered[seen]) <= 2.0
