"""Samples of an estimate: its own distribution, and nothing but arms that can exist."""

import pickle

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.feasible import pseudo_inertias

from .motions import arm, log_of

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


def consistent(estimate, draws):
    """By eigenvalues and signs, whatever the chains looked at."""
    links = estimate.robot.model.links
    P = pseudo_inertias(draws[:, : 10 * len(links)].reshape(-1, len(links), 10))
    values = np.linalg.eigvalsh(P)
    names = np.array([x.rpartition(".")[2] for x in estimate.robot.parameters.names])
    above = np.isin(names, ["rotor_inertia", "viscous", "viscous-", "coulomb+", "stiffness"])
    return (
        (values[..., 0] >= -1e-12 * values[..., -1]).all()
        and (draws[:, above] >= 0.0).all()
        and (draws[:, names == "coulomb-"] <= 0.0).all()
    )


def test_what_is_well_known_is_normal_about_the_estimate(well, compiled):
    draws = well.sample(4096)
    assert draws.shape == (4096, len(well.robot.parameters.values)) and consistent(well, draws)
    x = draws @ well.unknowns.group.T
    off = (x - well.values) / well.standard_deviations
    assert np.abs(off.mean(axis=0)).max() < 5.0 / np.sqrt(4096)
    scale = np.outer(well.standard_deviations, well.standard_deviations)
    np.testing.assert_allclose(np.cov(off.T), well.covariance / scale, atol=0.12)


def test_every_sample_of_a_weak_estimate_can_exist(weak, compiled):
    assert not weak.is_physical
    draws = weak.sample(4096)
    assert consistent(weak, draws)
    for row in draws[:20]:
        found = weak.robot.with_parameters(row).check()
        assert not [x for x in found if x.level == "error"]


def test_a_sample_does_not_depend_on_others(weak, compiled):
    whole = weak.sample(6000, seed=3)
    np.testing.assert_array_equal(whole[:10], weak.sample(10, seed=3))
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
