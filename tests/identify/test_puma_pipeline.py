"""The simulated PUMA 560 through the whole pipeline, from excitation to another motion."""

import numpy as np
import pytest

import dynamis as dy

from .test_instrumental import truth

pytestmark = pytest.mark.thorough  # the other files have it all on small arms
CUTOFF = 30.0  # Hz: above the jumps that turning joints make, below the encoders' noise
COVERED = 0.95
NOISE = np.array([0.5, 0.5, 0.25, 0.05, 0.05, 0.05])  # N m
HOW = {"friction": "asymmetric", "processing": dy.Processing(velocity="difference", cutoff=CUTOFF)}


@pytest.fixture(scope="module")
def puma(compiled):
    return dy.load("puma560")


@pytest.fixture(scope="module")
def motions(puma):
    """Two exciting motions within gentle limits."""
    return [
        dy.excite(
            puma, harmonics=5, period=10.0, starts=1, max_iterations=25, seed=seed, progress=False,
            qd_limits=[2.0, 1.5, 2.0, 3.0, 3.0, 3.0], qdd_limits=[8.0] * 3 + [12.0] * 3,
        ).trajectory
        for seed in (0, 3)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def logs(puma, motions):
    return [recorded(puma, motions[0], 20.0, 0), recorded(puma, motions[1], 20.0, 1)]


@pytest.fixture(scope="module")
def weighted(puma, logs):
    return [identified(puma, log, "weighted") for log in logs]


@pytest.fixture(scope="module")
def feasible(puma, logs):
    return identified(puma, logs[0], "feasible")


@pytest.fixture(scope="module")
def poor(puma, motions):
    """An ordinary estimate of a short piece with ten times the noise."""
    return identified(puma, recorded(puma, motions[0], 2.5, 3, noise=10.0), "ordinary")


def recorded(puma, motion, duration, seed, noise=1.0):
    """A log of PIDs at 1 kHz with encoders, velocities from differences and noisy torques."""
    q0 = motion(0.0)[0]
    pid = dy.control.JointPID.from_bandwidth(puma, 20.0, q=q0, integral=True, derivative="error")
    sensors = dy.Sensors(
        encoder=2 * np.pi / 60_000, velocity_filter=50.0, position_noise=3e-5, seed=seed,
        torque_noise=noise * NOISE,
    )  # fmt: skip
    run = dy.simulate(
        puma, duration, 1e-3, q0=q0, controller=pid, reference=motion, sensors=sensors
    )
    return dy.Log.from_run(run)


def identified(puma, log, estimator, **options):
    return dy.identify(puma, log, estimator=estimator, held_out=False, **HOW, **options)


def inside(puma, estimate):
    """Which true values lie in their 99 % intervals."""
    low, high = estimate.intervals(0.99).T
    x = truth(puma, estimate.unknowns)
    return (low <= x) & (x <= high)


def least_eigenvalue(robot):
    """The smallest of the mass matrix over many poses."""
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (5_000, robot.n))
    return np.linalg.eigvalsh(robot.mass_matrix(q))[:, 0].min()


def test_true_values_lie_within_their_intervals(puma, weighted):
    covered = [inside(puma, estimate) for estimate in weighted]
    assert len(covered[0]) == 58
    assert np.mean(covered) >= COVERED


def test_intervals_say_something(puma, weighted):
    """They are narrow: gravity within a percent of the largest, rotors and friction of theirs."""
    estimate = weighted[0]
    x, spread = truth(puma, estimate.unknowns), estimate.standard_deviations
    friction = estimate.unknowns.of_kind("viscous", "coulomb")
    assert (spread[friction] < 0.02 * np.abs(x[friction])).all()
    rotors = estimate.unknowns.of_kind("rotor")
    assert (spread[rotors] < 0.035 * x[rotors]).all()


def test_friction_comes_back(puma, weighted):
    for estimate in weighted:
        x = truth(puma, estimate.unknowns)
        kinds = estimate.unknowns.of_kind("viscous", "coulomb")
        assert np.abs(estimate.values[kinds] / x[kinds] - 1.0).max() < 0.02


def test_it_predicts_another_motion(puma, motions, weighted, feasible):
    """Against the torque that really acted while joints slide, on a motion not fitted."""
    q, qd, qdd = motions[1](np.linspace(0.0, 10.0, 500))
    true = puma.inverse_dynamics(q, qd, qdd)
    for estimate in (weighted[0], feasible):
        found = estimate.robot.inverse_dynamics(q, qd, qdd)
        assert np.linalg.norm(found - true) < 0.01 * np.linalg.norm(true)


def test_validation_on_the_other_log_is_as_good_as_the_fit(weighted, logs):
    fit = weighted[1].training[0].relative_error_overall
    assert weighted[0].validate(logs[1]).relative_error_overall < 1.02 * fit


def test_a_feasible_estimate_is_physical(feasible, weighted):
    assert feasible.is_physical and not weighted[0].is_physical
    assert least_eigenvalue(feasible.robot) > 0.0
    free = weighted[0].training[0].relative_error_overall
    assert feasible.training[0].relative_error_overall < 1.01 * free


def test_an_ordinary_estimate_of_a_poor_log_is_no_arm(poor):
    """Its mass matrix is not positive definite: some accelerations would need no torque."""
    assert not poor.is_physical
    assert least_eigenvalue(poor.robot) < 0.0


def test_a_feasible_estimate_of_the_same_poor_log_is(puma, poor):
    found = identified(puma, poor.logs[0], "feasible")
    assert found.is_physical
    assert least_eigenvalue(found.robot) > 0.0


def test_two_steps_agree_with_one(puma, motions, logs, weighted):
    path, share = motions[0], 0.2
    slowly = dy.trajectory.fourier(
        share * path.a, share * path.b, path.period / share, path.q0, path.harmonics
    )
    slow = recorded(puma, slowly, 50.0, 5)
    found = identified(puma, logs[0], "weighted", method="two-step", slow=slow)
    direct = weighted[0]
    x = truth(puma, direct.unknowns)
    friction = direct.unknowns.of_kind("viscous", "coulomb")
    assert np.abs(found.values[friction] / x[friction] - 1.0).max() < 0.1
    errors = [e.validate(logs[1]).relative_error_overall for e in (found, direct)]
    assert errors[0] == pytest.approx(errors[1], rel=0.05)
