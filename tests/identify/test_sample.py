"""Samples of an estimate: its own distribution, and nothing but arms that can exist."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.feasible import pseudo_inertias
from dynamis.identify.posterior import BODY, STEPS, posterior, unbounded

from .motions import arm, log_of, series
from .test_real_logs import GAINS, ROWS

ROBOT = arm()
HOW = {"friction": "asymmetric", "held_out": False}


@pytest.fixture(scope="module")
def well(compiled):
    """A long log with little noise: every unknown but a few is known to a per cent."""
    return dy.identify(ROBOT, log_of(ROBOT), estimator="weighted", **HOW)


@pytest.fixture(scope="module")
def weak(compiled):
    """A short, weak and noisy log: hardly anything is known, and the estimate is no arm."""
    log = log_of(ROBOT, seed=5, noise=3.0, seconds=2.0, size=0.05)
    return dy.identify(ROBOT, log, estimator="weighted", force=True, **HOW)


def can_exist(estimate, draws):
    """Which draws are arms, (count,): by eigenvalues and signs, whatever the chains looked at."""
    links = len(estimate.robot.model.links)
    values = np.linalg.eigvalsh(pseudo_inertias(draws[:, : 10 * links].reshape(-1, links, 10)))
    names = np.array([x.rpartition(".")[2] for x in estimate.robot.parameters.names])
    above = np.isin(names, ["rotor_inertia", "viscous", "viscous-", "coulomb+", "stiffness"])
    bodies = (values[..., 0] >= -1e-12 * values[..., -1]).all(axis=1)
    below = (draws[:, names == "coulomb-"] <= 0.0).all(axis=1)
    return bodies & below & (draws[:, above] >= 0.0).all(axis=1)


def rejected(estimate, count, seed=0):
    """Draws of the normal distribution before its bounds, those that can exist."""
    _, _, mean, root = unbounded(estimate)
    rng, found = np.random.default_rng(seed), []
    while sum(map(len, found)) < count:
        draws = mean + rng.normal(size=(20_000, root.shape[1])) @ root.T
        found.append(draws[can_exist(estimate, draws)])
    return np.concatenate(found)[:count]


def test_what_is_well_known_is_normal_about_the_estimate(well, compiled):
    draws = well.sample(4096)
    assert draws.shape == (4096, len(well.robot.parameters.values))
    assert can_exist(well, draws).all()
    x = draws @ well.unknowns.group.T
    off = (x - well.values) / well.standard_deviations
    assert np.abs(off.mean(axis=0)).max() < 5.0 / np.sqrt(4096)
    scale = np.outer(well.standard_deviations, well.standard_deviations)
    np.testing.assert_allclose(np.cov(off.T), well.covariance / scale, atol=0.12)


def test_every_sample_of_a_weak_estimate_can_exist(weak, compiled):
    assert not weak.is_physical
    draws = weak.sample(4096)
    assert can_exist(weak, draws).all()
    for row in draws[:20]:
        found = weak.robot.with_parameters(row).check()
        assert not [x for x in found if x.level == "error"]


def test_a_sample_does_not_depend_on_others(weak, compiled):
    whole = weak.sample(6000, seed=3)
    np.testing.assert_array_equal(whole[:10], weak.sample(10, seed=3))
    for k in (0, 17, 2047, 2048, 4999):  # one by one, at the ends of blocks too
        np.testing.assert_array_equal(whole[k], weak.posterior.draw(k, 1, 3)[0])
    np.testing.assert_array_equal(whole[2040:2060], weak.posterior.draw(2040, 20, 3))
    moved = pickle.loads(pickle.dumps(weak.posterior))
    np.testing.assert_array_equal(whole[4000:4700], moved.draw(4000, 700, 3))
    assert not np.array_equal(whole[:10], weak.sample(10, seed=4))
    assert len(np.unique(whole[:, 0])) == len(whole)


def test_counts_and_seeds(well, compiled):
    assert well.sample(0).shape == (0, 30)
    for given, said in (
        ({"count": -1}, "count is -1"),
        ({"count": 2.5}, "count is 2.5"),
        ({"count": 1, "seed": -1}, "seed is -1"),
        ({"count": 1, "seed": 2**128}, "seed is 3402823669"),
        ({"count": 1, "seed": "a"}, "seed is 'a'"),
    ):
        with pytest.raises(OptionError, match=said):
            well.sample(**given)


@pytest.mark.parametrize("estimator", ["weighted", "feasible"])
def test_samples_are_those_of_rejection(weak, compiled, estimator):
    """Means, covariances and quantiles within their own deviations by chance."""
    found = weak if estimator == "weighted" else dy.identify(
        ROBOT, weak.logs[0], estimator="feasible", force=True, **HOW
    )  # fmt: skip
    count = 4096
    plain, draws = rejected(found, count), found.sample(count)
    varies = plain.std(axis=0) > 0.0
    size, centre = plain[:, varies].std(axis=0), plain[:, varies].mean(axis=0)
    a, b = ((x[:, varies] - centre) / size for x in (plain, draws))
    assert np.abs(b.mean(axis=0)).max() < 4.5 * np.sqrt(2.0 / count)
    np.testing.assert_allclose(np.cov(b.T), np.cov(a.T), atol=0.15)
    for share in (0.025, 0.25, 0.75, 0.975):
        under = np.mean(b < np.quantile(a, share, axis=0), axis=0)
        error = np.sqrt(2.0 * share * (1.0 - share) / count)
        assert np.abs(under - share).max() < 4.5 * error
    assert found.posterior.correlation < 0.7


def test_the_bounds_matter_where_rejection_is_compared(weak):
    """Few of the unbounded draws can exist: samples that ignored the bounds would not pass."""
    _, _, mean, root = unbounded(weak)
    draws = mean + np.random.default_rng(1).normal(size=(4000, root.shape[1])) @ root.T
    assert can_exist(weak, draws).mean() < 0.3


def test_a_body_that_no_data_show_varies_by_half_of_itself(well):
    """The prior: every second moment a^T P a has the relative deviation BODY, whatever a."""
    prior = unbounded(well).prior
    P = pseudo_inertias(prior.inside[:10])
    roots = pseudo_inertias(prior.root[:10].T)
    rng = np.random.default_rng(0)
    for a in rng.normal(size=(5, 4)) / [0.1, 0.1, 0.1, 1.0]:
        size = np.sqrt(((roots @ a @ a) ** 2).sum())
        assert size == pytest.approx(BODY * (a @ P @ a), rel=1e-9)


def test_steps_from_a_sample_lead_to_samples(weak, compiled):
    """What is drawn in later rounds through the pool has the distribution of the first."""
    first, later = weak.posterior.draw(0, 4096), weak.posterior.draw(40 * 4096, 4096)
    a, b = (weak.posterior.factors(x) for x in (first, later))
    assert np.abs(a.mean(axis=0) - b.mean(axis=0)).max() < 0.08
    np.testing.assert_allclose(a.std(axis=0), b.std(axis=0), atol=0.06)
    shared = np.mean(a * b, axis=0) - a.mean(axis=0) * b.mean(axis=0)
    assert shared.max() < weak.posterior.correlation**2 + 0.1 and STEPS > 1


def test_factors_are_the_unknowns_standardised(well, compiled):
    draws, found = well.sample(100), well.posterior
    assert found.names == well.names
    x = draws @ well.unknowns.group.T
    np.testing.assert_allclose(
        found.factors(draws), (x - found.values) / found.deviations, atol=1e-6
    )
    np.testing.assert_allclose(found.values, well.values, atol=0.1 * well.standard_deviations.max())


@pytest.mark.thorough
def test_another_process_draws_the_same(weak, compiled, tmp_path):
    (tmp_path / "posterior").write_bytes(pickle.dumps(weak.posterior))
    code = (
        "import pickle, sys, numpy as np\n"
        "found = pickle.load(open('posterior', 'rb'))\n"
        "np.save('draws.npy', found.draw(5000, 300, 7))"
    )
    threads = {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Sandybridge"}  # other kernels
    env = {**os.environ, **threads}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, check=True)
    other = np.load(tmp_path / "draws.npy")
    np.testing.assert_array_equal(other, weak.posterior.draw(5000, 300, 7))


def drawn(robot, log, **options):
    """An estimate and a few samples from a small pool."""
    found = dy.identify(robot, log, **{"held_out": False, "force": True, **options})
    return found, posterior(found, pool=256).draw(0, 256)


def test_bodies_taken_as_described_stay(compiled):
    found, draws = drawn(ROBOT, log_of(ROBOT), only="friction", friction="asymmetric")
    names = np.array([x.rpartition(".")[2] for x in found.robot.parameters.names])
    rubs = np.isin(names, ["viscous", "coulomb+", "coulomb-", "offset"])
    own = np.array(ROBOT.parameters.values)
    assert (draws[:, ~rubs] == own[~rubs]).all() and (draws[:, rubs].std(axis=0) > 0.0).all()


def test_what_is_no_parameter_keeps_its_ratio(compiled):
    """Root friction is a ratio of the viscous one: both vary together, as the data allow."""
    found, draws = drawn(ROBOT, log_of(ROBOT), friction="grotjahn")
    viscous = [x.endswith(".viscous") for x in found.robot.parameters.names]
    alone = found.standard_deviations[found.unknowns.of_kind("viscous")]
    assert (draws[:, viscous].std(axis=0) < 0.9 * alone).all()  # the root is not free
    assert can_exist(found, draws).all()


@pytest.mark.parametrize(
    "name, estimator",
    [("planar-rp", "weighted"), pytest.param("pendulum3", "feasible", marks=pytest.mark.thorough),
     ("cartesian-xy", "weighted"),
     pytest.param("puma560", "feasible", marks=pytest.mark.thorough)],
)  # fmt: skip
def test_arms_without_mass_or_thickness_and_sliding_ones(compiled, name, estimator):
    robot = dy.load(name)
    found, draws = drawn(robot, log_of(robot, noise=0.05), estimator=estimator)
    assert can_exist(found, draws).all()


def test_a_joint_at_rest_has_friction_like_its_torque(compiled):
    """Nothing shows it: the deviation is infinite, the draws follow the prior."""
    t, q, qd, qdd = (np.array(x) for x in series(0))
    for x, value in ((q, 0.3), (qd, 0.0), (qdd, 0.0)):
        x[:, 1] = value
    tau = ROBOT.inverse_dynamics(q, qd, qdd) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    found, draws = drawn(ROBOT, dy.Log(t=t, q=q, qd=qd, tau=tau), **HOW)
    assert not np.isfinite(found.standard_deviations).all() and can_exist(found, draws).all()
    coulomb = draws[:, list(found.robot.parameters.names).index("joint2.coulomb+")]
    largest = np.abs(tau[:, 1]).max()
    assert 0.3 * largest < coulomb.std() < largest


def test_nothing_to_vary(well, compiled):
    """An estimate that is certain has draws that are all it."""
    certain = replace(well, covariance=np.zeros_like(well.covariance))
    draws = posterior(certain, pool=64).draw(0, 64)
    x = draws @ well.unknowns.group.T
    np.testing.assert_allclose(x, np.broadcast_to(well.values, x.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
def test_a_real_arm(data, compiled):
    """UR10e: many unknowns that the log hardly shows; every draw can exist and is near the fit."""
    columns = {"t": "t", "q": "q", "qd": "qd", "current": "i"}
    path = data / "ur10e" / "excitation_30s.npz"
    log = dy.read_log(path, columns=columns, drive_gains=GAINS, rows=ROWS["excitation_30s"])
    robot = dy.load(data / "ur10e" / "ur10e.urdf")
    found = dy.identify(robot, log, friction="smooth", rotors=False, held_out=False)
    draws = found.sample(4096)
    assert can_exist(found, draws).all()
    x = draws @ found.unknowns.group.T
    inside = np.abs(x - found.values) < 2.5758 * found.standard_deviations
    assert (inside.mean(axis=0) > 0.985).all()
    known = found.relative_standard_deviations < 0.05
    ratio = x.std(axis=0)[known] / found.standard_deviations[known]
    assert known.sum() >= 4 and (ratio > 0.6).all() and (ratio < 1.05).all()
