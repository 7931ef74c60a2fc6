"""Output error: back to the truth from a poor start, exact Jacobian, physical if it began so."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.closed_loop import ClosedLoop, _Fit, output_error

from .test_instrumental import CONTROLLER, MOTION, SAMPLE_TIME, recorded, truth, two_link

NOISE = {"position_noise": 2e-3, "torque_noise": 0.2}
CLOSER = 0.3  # of the plain estimate's distance to the truth


@pytest.fixture(scope="module")
def arm(compiled):
    return two_link()


@pytest.fixture(scope="module")
def log(arm):
    return recorded(arm, seed=1, **NOISE)


def identified(arm, log, estimator):
    return dy.identify(
        arm, log, friction="asymmetric", estimator=estimator, cutoff=15.0, held_out=False
    )


@pytest.fixture(scope="module")
def plain(arm, log):
    return identified(arm, log, "weighted")


@pytest.fixture(scope="module")
def refined(plain, log):
    return output_error(plain, log, CONTROLLER, MOTION, sample_time=SAMPLE_TIME)


def test_it_is_nearer_to_the_truth(arm, plain, refined):
    x = truth(arm, plain.unknowns)
    before, after = (np.linalg.norm(e.values - x) for e in (plain, refined))
    assert after < CLOSER * before
    assert refined.estimator == "output-error" and refined.held_out is None
    assert np.allclose(refined.unknowns.group @ refined.full, refined.values)


def test_the_true_values_lie_within_the_intervals(arm, refined):
    x = truth(arm, refined.unknowns)
    low, high = refined.intervals(0.99).T
    assert ((low <= x) & (x <= high)).mean() > 0.9
    assert (refined.standard_deviations > 0.0).all()


def test_without_noise_the_truth_stays(arm):
    """Started at the truth on a clean log, nothing moves; the residual is the integrator's."""
    clean = recorded(arm, duration=2.0)
    start = identified(arm, clean, "weighted")
    fit = _Fit(start.unknowns, clean, loop(), start.processing[0])
    own = start.unknowns.full(start.unknowns.values)
    names = list(start.unknowns.full_names)
    for joint in arm.joint_names:  # the pair of Coulomb frictions the arm really has
        for end in ("coulomb+", "coulomb-", "viscous", "offset"):
            k = names.index(f"{joint}.{end}")
            own[k] = arm.parameters.values[k]
    assert np.abs(fit.residuals(own)).max() < 1e-9
    assert np.abs(fit.residuals(start.full)).max() > 1e-6


def loop():
    return ClosedLoop(CONTROLLER, MOTION, SAMPLE_TIME)


def test_the_jacobian_is_the_slope_of_the_residual(plain, log):
    """J dx is what the residual changes by, for a small change of all unknowns together."""
    fit = _Fit(plain.unknowns, log, loop(), plain.processing[0])
    sizes = 1e-3 * np.abs(plain.values) + 1e-4
    r, J = fit.linearised(plain.full, sizes)
    change = 0.3 * sizes * np.random.default_rng(0).uniform(-1.0, 1.0, len(sizes))
    moved = fit.residuals(plain.full + np.linalg.pinv(plain.unknowns.group) @ change)
    expected = np.tensordot(change, J, 1)
    scale = np.abs(expected).max(axis=0)
    assert (np.abs(moved - r - expected).max(axis=0) < 0.05 * scale).all()


def test_a_physical_estimate_stays_physical(arm, log):
    start = identified(arm, log, "feasible")
    assert start.is_physical
    found = output_error(start, log, CONTROLLER, MOTION, sample_time=SAMPLE_TIME)
    assert found.is_physical
    x = truth(arm, start.unknowns)
    assert np.linalg.norm(found.values - x) < CLOSER * np.linalg.norm(start.values - x)


def test_torque_alone_is_refused(plain, log):
    with pytest.raises(dy.errors.OptionError, match="controller is None"):
        output_error(plain, log, None, MOTION)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"iterations": 0}, "iterations is 0"), ({"step": 0.0}, "step is 0.0")],
)
def test_options_are_checked(plain, log, options, said):
    with pytest.raises(dy.errors.OptionError, match=said):
        output_error(plain, log, CONTROLLER, MOTION, **options)
