"""Gains come back within their intervals; on a real arm, near those that others published."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.identify import Log, read_log
from dynamis.identify.drive_gains import identify_drive_gains

from .test_payload import COM, INERTIA, MASS, motion, recorded

PUBLISHED = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])  # N m/A, UR10e
NEAR = 0.15  # the published ones and the controller's own differ by as much
SIGMAS = 3.0


def currents(robot, gains, noise=0.02, seed=0, start=0.0):
    """A log in amperes."""
    log = recorded(robot, noise=0.0, start=start)
    rng = np.random.default_rng(seed)
    return Log(
        t=log.t, q=log.q, qd=log.qd, tau=log.tau / gains + noise * rng.normal(size=log.q.shape)
    )


@pytest.fixture(scope="module")
def pair():
    robot = dy.load("puma560")
    gains = np.array([12.0, 9.0, 7.0, 4.0, 4.5, 3.0])
    carrying = robot.with_payload(MASS, COM, INERTIA)
    return (
        robot,
        gains,
        currents(robot, gains, seed=1),
        currents(carrying, gains, seed=2, start=0.03),
    )


def test_gains_are_found_within_three_sigma(pair):
    robot, gains, free, loaded = pair
    found = identify_drive_gains(robot, free, loaded, MASS, draws=40)
    off = np.abs(found.gains - gains) / found.standard_deviations
    assert (off < SIGMAS).all(), off
    assert (found.standard_deviations < 0.1 * gains).all()
    np.testing.assert_allclose(found.com, COM, atol=0.02)
    assert found.shift == pytest.approx(-0.03, abs=1e-3)
    assert [f.level for f in found.findings] == ["note"]


def test_a_known_centre_of_mass_sharpens_them(pair):
    robot, gains, free, loaded = pair
    found = identify_drive_gains(robot, free, loaded, MASS, com=COM, gains=gains, draws=40)
    np.testing.assert_allclose(found.com, COM)
    assert (np.abs(found.gains - gains) < SIGMAS * found.standard_deviations).all()
    assert (np.abs(found.gains - gains) < 0.05 * gains).all()


def test_gains_follow_the_mass(pair):
    robot, _, free, loaded = pair
    one = identify_drive_gains(robot, free, loaded, MASS, draws=2)
    two = identify_drive_gains(robot, free, loaded, 2.0 * MASS, draws=2)
    np.testing.assert_allclose(two.gains, 2.0 * one.gains, rtol=1e-3)


def test_the_search_does_not_depend_on_its_start(pair):
    robot, gains, free, loaded = pair
    one = identify_drive_gains(robot, free, loaded, MASS, draws=2)
    two = identify_drive_gains(robot, free, loaded, MASS, gains=3.0 * gains[::-1], draws=2)
    np.testing.assert_allclose(two.gains, one.gains, rtol=1e-3)


def test_a_slide_has_a_gain_too():
    robot, gains = dy.load("scara"), np.array([5.0, 4.0, 30.0])
    carrying = robot.with_payload(MASS, COM, INERTIA)
    found = identify_drive_gains(
        robot, currents(robot, gains, 0.005, 1), currents(carrying, gains, 0.005, 2), MASS
    )
    assert (np.abs(found.gains - gains) < SIGMAS * found.standard_deviations).all()


def test_changed_friction_is_no_gain():
    robot, gains = dy.load("puma560"), np.full(6, 8.0)
    carrying = robot.with_payload(MASS, COM, INERTIA)
    free, loaded = currents(robot, gains, seed=1), currents(carrying, gains, seed=2)
    rubbing = loaded.tau + 0.3 * np.tanh(np.asarray(loaded.qd) / 0.01) + 0.1
    changed = Log(t=loaded.t, q=loaded.q, qd=loaded.qd, tau=rubbing)
    with_friction = identify_drive_gains(robot, free, changed, MASS, draws=40)
    off = np.abs(with_friction.gains - gains) / with_friction.standard_deviations
    assert (off < SIGMAS).all(), off
    without = identify_drive_gains(robot, free, changed, MASS, friction=None, draws=2)
    assert without.residual.max() > 3.0 * with_friction.residual.max()


def test_a_joint_that_does_not_feel_the_load_is_named():
    """Joint 1 of a pendulum about the vertical, moving alone and slowly, hardly turns the load."""
    robot, gains = dy.load("scara"), np.array([5.0, 4.0, 30.0])
    free, loaded = currents(robot, gains, 3.0, 1), currents(robot.with_payload(0.05), gains, 3.0, 2)
    found = identify_drive_gains(robot, free, loaded, 0.05)
    warned = [f for f in found.findings if f.level == "warning"]
    assert warned and all("gain is only known as" in f.what for f in warned)


def test_amperes_become_torques(pair):
    robot, _, free, loaded = pair
    found = identify_drive_gains(robot, free, loaded, MASS, draws=2)
    np.testing.assert_allclose(found.torques(free).tau, free.tau * found.gains)
    assert repr(found).startswith("DriveGains(")


def test_bad_input_is_named(pair):
    robot, _, free, loaded = pair
    for mass in (0.0, -1.0, "heavy", float("nan")):
        with pytest.raises(OptionError, match="mass is"):
            identify_drive_gains(robot, free, loaded, mass)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="6 joints, robot 'scara' has 3"):
        identify_drive_gains(dy.load("scara"), free, loaded, MASS)
    with pytest.raises(ShapeError, match="expected 6 numbers above 0"):
        identify_drive_gains(robot, free, loaded, MASS, gains=[1.0, 2.0])
    with pytest.raises(ShapeError, match="com is"):
        identify_drive_gains(robot, free, loaded, MASS, com=(0.0, 1.0))
    with pytest.raises(OptionError, match="draws is 1"):
        identify_drive_gains(robot, free, loaded, MASS, draws=1)
    t, q, qd, _ = motion(6, seed=9)
    other = Log(t=t, q=q, qd=qd, tau=loaded.tau)
    with pytest.raises(OptionError, match="different motions"):
        identify_drive_gains(robot, free, other, MASS)


@pytest.fixture(scope="module")
def ur10e(data, compiled):
    columns = {"t": "t", "q": "q", "qd": "qd", "tau": "i"}
    free = read_log(data / "ur10e" / "free_50s.npz", columns, rows=(194, 4966))
    loaded = read_log(data / "ur10e" / "load_50s.npz", columns, rows=(307, 5071))
    return dy.load("ur10e"), free, loaded


def test_gains_of_a_real_arm(ur10e):
    robot, free, loaded = ur10e
    found = identify_drive_gains(robot, free, loaded, 2.805)
    assert (np.abs(found.gains / PUBLISHED - 1.0) < NEAR).all(), found
    assert (found.standard_deviations < 0.06 * found.gains).all()
    assert (found.relative_residual[1:] < 0.1).all()
    for cutoff in (1.0, 5.0):
        other = identify_drive_gains(robot, free, loaded, 2.805, cutoff=cutoff, draws=2)
        np.testing.assert_allclose(other.gains, found.gains, rtol=0.02)
