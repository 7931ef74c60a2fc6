"""A payload is found within its own intervals, and never as an impossible body."""

from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.identify import Log
from dynamis.identify.friction.models import friction_named
from dynamis.identify.payload import (
    friction_columns,
    identify_payload,
    same_motion,
    tool_map,
)

MASS, COM = 2.0, (0.03, -0.05, 0.12)
INERTIA = np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.025]])
TRUTH = np.array([MASS, *COM, 0.02, 0.001, 0.03, -0.002, 0.003, 0.025])
SIGMAS = 4.5  # of ten values, one in 1600 of correct intervals lies further out
LENGTH, RATE = 6.0, 100.0


def motion(n, seed=0, start=0.0, span=1.0):
    """(t, q, qd, qdd) of a random Fourier series per joint, below 1 Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, LENGTH, 1.0 / RATE)
    w = 2.0 * np.pi * np.arange(1, 5)[:, None] / LENGTH
    a, b = rng.normal(size=(2, 4, n)) * span / np.arange(1, 5)[:, None]
    x = np.asarray(t + start)[:, None, None] * w
    q = (a * np.sin(x) + b * np.cos(x)).sum(axis=1)
    qd = (w * (a * np.cos(x) - b * np.sin(x))).sum(axis=1)
    return t, q, qd, (-(w**2) * (a * np.sin(x) + b * np.cos(x))).sum(axis=1)


def recorded(robot, noise: Any = 0.05, seed=0, start=0.0, extra: Any = 0.0, **options):
    """A log of that motion with white noise on the torque."""
    t, q, qd, qdd = motion(robot.n, start=start, **options)
    tau = robot.inverse_dynamics(q, qd, qdd) + extra
    tau = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
    return Log(t=t, q=q, qd=qd, tau=tau, name="made")


@pytest.mark.parametrize("name", ["puma560", "stanford", "scara", "ur10e", "planar-2link", "panda"])
def test_the_map_from_the_tool_is_what_a_payload_adds(name):
    robot = dy.load(name)
    carrying = robot.with_payload(MASS, COM, INERTIA)
    added = np.asarray(carrying.parameters.values) - np.asarray(robot.parameters.values)
    m, c = MASS, np.array(COM)
    about = INERTIA + m * (c @ c * np.eye(3) - np.outer(c, c))
    ten = [m, *(m * c), *about[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
    first = 10 * robot.model.tip
    np.testing.assert_allclose(added[first : first + 10], tool_map(robot) @ ten, atol=1e-12)
    assert not np.delete(added, range(first, first + 10)).any()


@pytest.mark.parametrize("feasible", [True, False])
@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_a_payload_is_found_within_its_intervals(name, feasible):
    robot = dy.load(name)
    found = identify_payload(
        robot, recorded(robot.with_payload(MASS, COM, INERTIA)), feasible=feasible
    )
    assert not found.unseen
    off = np.abs(found.values - TRUTH) / found.standard_deviations
    assert (off < SIGMAS).all(), off
    assert found.standard_deviations[0] < 0.02 * MASS
    assert found.standard_deviations[1:4].max() < 0.005
    assert found.is_physical
    assert (found.residual < found.residual_without).all()
    np.testing.assert_allclose(found.inertia, found.inertia.T)


def test_the_intervals_are_as_wide_as_the_errors():
    """Over repeated noise, errors in units of their standard deviation have RMS 1."""
    robot = dy.load("puma560")
    carrying = robot.with_payload(MASS, COM, INERTIA)
    runs = [identify_payload(robot, recorded(carrying, seed=s), feasible=False) for s in range(16)]
    errors = np.array([(r.values - TRUTH) / r.standard_deviations for r in runs])
    for part in (errors[:, :1], errors[:, 1:4], errors[:, 4:]):
        assert 0.7 < np.sqrt((part**2).mean()) < 1.5


def test_a_body_that_could_be_built_is_left_alone():
    """Feasible or not makes no difference where the plain answer is feasible."""
    robot = dy.load("puma560")
    noise = np.array([0.5, 0.5, 0.05, 0.05, 0.01, 0.01])
    log = recorded(robot.with_payload(MASS, COM, INERTIA), noise=noise)
    plain = identify_payload(robot, log, feasible=False)
    assert plain.is_physical
    off = np.abs(identify_payload(robot, log).values - plain.values) / plain.standard_deviations
    assert off.max() < 0.1


def test_the_robot_carries_what_was_found():
    robot = dy.load("stanford")
    found = identify_payload(robot, recorded(robot.with_payload(MASS, COM, INERTIA), noise=0.0))
    _, q, qd, qdd = motion(robot.n, seed=3)
    truth = robot.with_payload(MASS, COM, INERTIA).inverse_dynamics(q, qd, qdd)
    own = np.abs(truth - robot.inverse_dynamics(q, qd, qdd)).max()
    assert np.abs(found.robot.inverse_dynamics(q, qd, qdd) - truth).max() < 2e-3 * own


def test_a_payload_the_robot_already_has_is_taken_off():
    robot = dy.load("scara")
    log = recorded(robot.with_payload(MASS, COM, INERTIA))
    bare = identify_payload(robot, log)
    again = identify_payload(robot.with_payload(5.0), log)
    np.testing.assert_array_equal(bare.parameters, again.parameters)


def test_what_a_motion_does_not_show_is_said():
    """Turning about the vertical only, a scara never feels moments about horizontal axes."""
    robot = dy.load("scara")
    found = identify_payload(robot, recorded(robot.with_payload(MASS, COM, INERTIA), noise=0.05))
    assert {"cz", "Ixx", "Iyy", "Ixz"} <= set(found.unseen)
    assert not {"m", "cx", "cy"} & set(found.unseen)
    off = np.abs(found.values - TRUTH) / found.standard_deviations
    assert (off[[0, 1, 2]] < SIGMAS).all()
    assert np.isinf(found.standard_deviations[list(found.names).index("cz")])
    assert found.is_physical


def test_changed_offsets_are_fitted_too():
    robot = dy.load("puma560")
    offsets = np.array([0.5, -2.0, 1.0, 0.2, -0.1, 0.1])
    log = recorded(robot.with_payload(MASS, COM, INERTIA), extra=offsets)
    found = identify_payload(robot, log, friction="offset")
    np.testing.assert_allclose(found.friction[:, 0], offsets, atol=0.2)
    assert (np.abs(found.values - TRUTH) < SIGMAS * found.standard_deviations).all()
    ignored = identify_payload(robot, log)
    assert ignored.residual.max() > 3.0 * found.residual.max()


def test_a_free_run_cancels_what_the_model_has_wrong():
    truth = dy.load("puma560")
    values = np.array(truth.parameters.values)
    values[10:60] *= 1.1
    wrong = truth.with_parameters(values)
    loaded = recorded(truth.with_payload(MASS, COM, INERTIA), seed=1, start=0.043)
    free = recorded(truth, seed=2)
    alone = identify_payload(wrong, loaded)
    both = identify_payload(wrong, loaded, free=free)
    assert both.shift == pytest.approx(-0.043, abs=2e-4)
    assert (np.abs(both.values - TRUTH) < SIGMAS * both.standard_deviations).all()
    assert abs(both.mass - MASS) < 0.1 * abs(alone.mass - MASS)


def test_an_impossible_body_is_not_the_answer():
    """Without a payload and with much noise, least squares gives nonsense, the feasible a body."""
    robot = dy.load("puma560")
    log = recorded(robot, noise=1.0)
    free = identify_payload(robot, log, feasible=False)
    assert not free.is_physical
    found = identify_payload(robot, log)
    assert found.is_physical
    assert found.mass < 4.0 * free.standard_deviations[0]


def test_no_mass_is_no_payload():
    robot = dy.load("scara")
    found = identify_payload(robot, recorded(robot.with_payload(0.0), extra=0.5), feasible=False)
    if found.mass > 0.0:
        found = identify_payload(
            robot, recorded(robot.with_payload(0.0), extra=-0.5), feasible=False
        )
    assert np.isnan(found.com).all() and not found.is_physical
    with pytest.raises(OptionError, match="nothing is carried"):
        _ = found.robot


def test_columns_of_friction_are_each_joints_own():
    qd = np.array([[0.5, -0.2], [0.0, 0.1]])
    F = friction_columns(qd, friction_named("symmetric")).reshape(2, 2, 2, 2)
    np.testing.assert_array_equal(F[:, 0, 0, 0], qd[:, 0])
    np.testing.assert_array_equal(F[:, 1, 1, 1], np.tanh(qd[:, 1] / 0.01))
    assert not F[:, 0, 1].any() and not F[:, 1, 0].any()


def test_bad_input_is_named():
    robot = dy.load("scara")
    log = recorded(robot)
    with pytest.raises(ShapeError, match="2 joints, robot 'scara' has 3"):
        identify_payload(robot, Log(t=log.t, q=log.q[:, :2], tau=log.tau[:, :2], name="two"))
    with pytest.raises(OptionError, match="expected a Log"):
        identify_payload(robot, "log.csv")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="different motions"):
        identify_payload(robot, log, free=recorded(robot, span=0.5))
    with pytest.raises(OptionError, match="cannot be fitted with a payload"):
        identify_payload(robot, log, friction="grotjahn")


def test_shift_of_two_runs():
    robot = dy.load("scara")
    a, b = recorded(robot), recorded(robot, start=0.2)
    late = Log(t=b.t + 100.0, q=b.q, tau=b.tau)
    assert same_motion(a, late) == pytest.approx(100.0 - 0.2, abs=1e-3)
