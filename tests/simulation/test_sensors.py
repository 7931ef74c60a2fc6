"""What the controller sees: counts, differences, noise."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.sensors import Sensors
from tests.simulation.arms import pair, slider

STEP = 1e-3
OPTIONS = {"duration": 0.4, "q0": [0.3, -0.2], "qd0": [1.0, -0.4], "sample_time": 4e-3}


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


def run_with(sensors, **more):
    return dy.simulate(pair(), **{**OPTIONS, **more}, sensors=sensors)


def test_exact_sensors_give_the_state():
    run = run_with(Sensors())
    np.testing.assert_array_equal(run.measured.q, run.q[::4])
    np.testing.assert_array_equal(run.measured.qd, run.qd[::4])
    np.testing.assert_array_equal(run.measured.tau, run.tau[::4])
    np.testing.assert_array_equal(run.measured.t, run.t[::4])


def test_encoders_count():
    steps = [1e-3, 0.0]
    run = run_with(Sensors(encoder=steps))
    counts = run.measured.q[:, 0] / steps[0]
    np.testing.assert_array_equal(run.measured.q[:, 0], steps[0] * np.round(counts))
    assert np.abs(run.measured.q[:, 0] - run.q[::4, 0]).max() <= steps[0] / 2 * (1 + 1e-9)
    np.testing.assert_array_equal(run.measured.q[:, 1], run.q[::4, 1])  # a step of 0 is exact


@pytest.mark.parametrize("cutoff", [None, 25.0])
def test_velocities_are_differences_of_counts_low_passed(cutoff):
    run = run_with(Sensors(encoder=STEP, velocity_filter=cutoff))
    Ts = 4e-3
    q0, qd0 = np.array(OPTIONS["q0"]), np.array(OPTIONS["qd0"])
    before, v = STEP * np.floor((q0 - Ts * qd0) / STEP + 0.5), qd0
    pole = 0.0 if cutoff is None else np.exp(-2 * np.pi * cutoff * Ts)
    for q, qd in zip(run.measured.q, run.measured.qd, strict=True):
        v = pole * v + (1 - pole) * (q - before) / Ts
        np.testing.assert_allclose(qd, v, atol=1e-12)
        before = q


def test_differences_without_an_encoder():
    run = run_with(Sensors(velocity="difference"))
    np.testing.assert_allclose(run.measured.qd[1:], np.diff(run.q[::4], axis=0) / 4e-3, atol=1e-12)


def test_noise_has_the_given_deviation_and_no_mean():
    sigma, torque = np.array([1e-3, 3e-3]), np.array([0.5, 0.0])
    run = run_with(
        Sensors(position_noise=sigma, torque_noise=torque), duration=4.0, sample_time=1e-3
    )
    noise = run.measured.q - run.q
    count = len(noise)
    np.testing.assert_allclose(noise.std(axis=0), sigma, rtol=4 / np.sqrt(2 * count))
    assert (np.abs(noise.mean(axis=0)) < 4 * sigma / np.sqrt(count)).all()
    assert np.abs(np.corrcoef(noise.T)[0, 1]) < 4 / np.sqrt(count)
    logged = run.measured.tau - run.tau
    np.testing.assert_allclose(logged.std(axis=0), torque, rtol=4 / np.sqrt(2 * count))
    assert (logged[:, 1] == 0).all()


def test_the_seed_decides():
    def noise(seed):
        run = run_with(Sensors(position_noise=1e-3, torque_noise=1.0, seed=seed))
        return run.measured

    for a, b in zip(noise(3), noise(3), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(noise(3).q, noise(4).q)
    assert not np.array_equal(noise(3).tau, noise(4).tau)
    long = run_with(Sensors(position_noise=1e-3, seed=3), duration=0.8).measured.q
    np.testing.assert_array_equal(long[:101], noise(3).q)  # whatever the duration


def test_the_arm_itself_feels_no_sensor():
    quiet, noisy = run_with(None), run_with(Sensors(position_noise=1.0, encoder=0.1))
    np.testing.assert_array_equal(quiet.q, noisy.q)


@pytest.mark.parametrize("way", [{}, {"integrator": "dormand-prince"}])
@pytest.mark.parametrize("duration, samples", [(0.05, 6), (0.045, 5), (0.0455, 5), (0.0495, 5)])
def test_only_samples_are_measured(way, duration, samples):
    """Every 10 ms from 0 on; a short last step is no sample."""
    run = dy.simulate(
        slider(), duration, 1e-3, qd0=[1.0], sensors=Sensors(), sample_time=0.01, **way
    )
    np.testing.assert_allclose(run.measured.t, 0.01 * np.arange(samples), atol=1e-15)
    np.testing.assert_allclose(run.measured.q[:, 0], run.measured.t, atol=1e-13)


def test_no_computer_no_measurement():
    assert dy.simulate(slider(), 0.01).measured is None
