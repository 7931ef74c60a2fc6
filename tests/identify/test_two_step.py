"""Friction and gravity from slow motions are those of the arm; the rest follows with them fixed."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify import Log, Processing, identify
from dynamis.identify.friction.models import friction_named
from dynamis.identify.information import information, ordinary, weighted
from dynamis.identify.processing import prepare
from dynamis.identify.two_step import gravity_unknowns, slow_estimate, total_covariance
from dynamis.identify.unknowns import unknowns

from .test_payload import recorded

NOISE = 0.05  # N m or N
SIGMAS = 4.0
HOW = Processing(dead_zone=0.03)
ELBOW = dy.Robot.from_dh(
    "elbow",
    convention="modified",
    gravity=(0, 0, -9.81),
    links=[
        dy.Link(joint="revolute", mass=5.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.05),
                friction=dy.Friction(viscous=1.5, coulomb=2.0)),
        dy.Link(joint="revolute", alpha="pi/2", mass=4.0, com=(0.2, 0.01, 0),
                inertia=(0.01, 0.1, 0.1),
                friction=dy.Friction(viscous=1.0, coulomb=1.5, offset=0.3)),
        dy.Link(joint="prismatic", alpha="pi/2", mass=2.0, com=(0, 0.02, 0.1),
                inertia=(0.02, 0.02, 0.01),
                friction=dy.Friction(viscous=20.0, coulomb=5.0)),
    ],
)  # fmt: skip


def slow(robot, seed=0, noise=NOISE, length=60.0, pace=1.0):
    """Every joint to and fro with its own slow period."""
    t = np.arange(0.0, length, 0.04)
    w = pace * 2.0 * np.pi / (17.0 + 4.0 * np.arange(robot.n))
    phase = np.arange(robot.n)
    x = t[:, None] * w + phase
    q, qd, qdd = 1.2 * np.sin(x), 1.2 * w * np.cos(x), -1.2 * w**2 * np.sin(x)
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
    return Log(t=t, q=q, qd=qd, tau=tau, name="slow")


@pytest.fixture(scope="module")
def wanted():
    return unknowns(ELBOW, friction_named("asymmetric"))


def test_gravity_is_what_holds_the_arm_still(wanted):
    gravity = gravity_unknowns(wanted)
    q = np.random.default_rng(1).uniform(-2.0, 2.0, (20, 3))
    Y = wanted.regressor(q, 0 * q, 0 * q)
    torque = Y[..., gravity] @ wanted.values[gravity]
    np.testing.assert_allclose(torque, ELBOW.gravity_torque(q), atol=1e-10)
    assert 0 < gravity.sum() < len(wanted.of_kind("body"))


def test_slow_motions_show_friction_and_gravity(wanted):
    found = slow_estimate(wanted, [slow(ELBOW)], HOW)
    sought = gravity_unknowns(wanted) | np.isin(wanted.kinds, ("viscous", "coulomb", "offset"))
    np.testing.assert_array_equal(np.isfinite(found.known), sought)
    spread = np.sqrt(np.diag(found.covariance))[sought]
    off = np.abs(found.known - wanted.values)[sought] / spread
    assert (off < SIGMAS).all(), dict(zip(np.array(wanted.names)[sought], off, strict=True))
    assert not np.diag(found.covariance)[~sought].any()


def test_the_described_inertias_hardly_matter(wanted):
    """Off by half, what they take from a slow motion stays small."""
    gravity = gravity_unknowns(wanted)
    sought = gravity | np.isin(wanted.kinds, ("viscous", "coulomb", "offset"))
    other = ELBOW.with_parameters(1.5 * np.asarray(ELBOW.parameters.values))
    wrong = unknowns(other, friction_named("asymmetric"))
    known = slow_estimate(wrong, [slow(ELBOW)], HOW).known
    scale = np.maximum(np.abs(wanted.values[sought]), 0.3)
    assert (np.abs(known - wanted.values)[sought] / scale).max() < 0.15


@pytest.mark.parametrize("estimator", ["ordinary", "weighted", "feasible"])
def test_two_steps_find_the_arm(wanted, estimator):
    found = identify(
        ELBOW,
        recorded(ELBOW, noise=NOISE),
        friction="asymmetric",
        estimator=estimator,
        method="two-step",
        slow=[slow(ELBOW)],
        held_out=False,
    )
    assert found.method == "two-step"
    first = slow_estimate(wanted, [slow(ELBOW)], HOW)
    fixed = np.isfinite(first.known)
    np.testing.assert_allclose(found.values[fixed], first.known[fixed], rtol=1e-9)
    motions = prepare(recorded(ELBOW, noise=NOISE), HOW)[0]
    info = information(motions, wanted)
    weights = np.ones(3) if estimator == "ordinary" else weighted(info).weights
    own = np.where(np.outer(fixed, fixed), 0.0, found.covariance)
    spread = np.sqrt(np.diag(total_covariance(own, info, weights, first)))
    off = np.abs(found.values - wanted.values) / spread
    assert (off < SIGMAS).all(), dict(zip(wanted.names, off, strict=True))
    scale = np.maximum(np.abs(wanted.values), 0.3)
    assert (spread / scale).max() < 0.1


def test_the_first_steps_errors_reach_the_rest(wanted):
    """T is the derivative of the second step's answer by what was fixed."""
    motions = prepare(recorded(ELBOW, noise=0.0), HOW)[0]
    first = slow_estimate(wanted, [slow(ELBOW)], HOW)
    fixed = np.isfinite(first.known)
    info, weights = information(motions, wanted), np.array([1.0, 2.0, 0.5])
    k = int(np.flatnonzero(fixed)[2])
    one = replace(first, covariance=np.diag(np.arange(len(wanted)) == k).astype(float))

    def rest(known):
        given = information(motions, wanted, known=known)
        scaled = replace(given, factors=given.factors * weights[:, None, None])
        return ordinary(scaled).x[~fixed]

    moved = np.where(np.arange(len(wanted)) == k, first.known + 1.0, first.known)
    slope = rest(moved) - rest(first.known)
    total = total_covariance(np.zeros_like(first.covariance), info, weights, one)
    np.testing.assert_allclose(total[np.ix_(~fixed, ~fixed)], np.outer(slope, slope), atol=1e-8)


@pytest.mark.parametrize("solve", [ordinary, weighted])
def test_known_values_leave_the_rest_alone(wanted, solve):
    """With the true friction and gravity fixed, the rest is that of the smaller problem."""
    motions = prepare(recorded(ELBOW, noise=0.0), HOW)[0]
    fixed = gravity_unknowns(wanted) | ~np.isin(wanted.kinds, ("body", "rotor"))
    known = np.where(fixed, wanted.values, np.nan)
    found = solve(information(motions, wanted, known=known))
    np.testing.assert_allclose(found.x[~fixed], wanted.values[~fixed], atol=2e-3)
    np.testing.assert_allclose(found.x[fixed], 0.0, atol=1e-9)
    np.testing.assert_allclose(found.covariance[fixed], 0.0, atol=1e-9)


def test_fast_rows_and_resting_joints_do_not_count(wanted):
    """A blow in a slow log and a log at rest change nothing, though the inertias are wrong."""
    log = slow(ELBOW)
    s = ((log.t - 20.0) / 0.3)[:, None] * [1.0, 0.0, 0.0]
    bump = 0.3 * np.exp(-(s**2)) * [1.0, 0.0, 0.0]
    w = 2.0 * np.pi / (17.0 + 4.0 * np.arange(3))
    q = log.q + bump
    qd = np.asarray(log.qd) - 2.0 * s / 0.3 * bump
    qdd = -(w**2) * log.q + (4.0 * s**2 - 2.0) / 0.09 * bump
    struck = Log(t=log.t, q=q, qd=qd, tau=ELBOW.inverse_dynamics(q, qd, qdd), name="struck")
    stuck = ELBOW.inverse_dynamics(0 * q, 0 * q, 0 * q) + 1.9
    still = Log(t=log.t, q=0 * q, qd=0 * q, tau=stuck, name="still")
    other = ELBOW.with_parameters(1.5 * np.asarray(ELBOW.parameters.values))
    wrong = unknowns(other, friction_named("asymmetric"))
    how = replace(HOW, cutoff=1.0)
    clean = slow_estimate(wrong, [log], how)
    found = slow_estimate(wrong, [struck], how)
    assert (found.rows < clean.rows).all()
    told = np.isfinite(clean.known)
    scale = np.maximum(np.abs(wanted.values[told]), 0.3)
    assert (np.abs(found.known - wanted.values)[told] / scale).max() < 0.15
    both = slow_estimate(wrong, [struck, still], how)
    np.testing.assert_allclose(both.known[told], found.known[told], rtol=1e-9)


def test_what_slow_motions_cannot_tell_apart_stays_open(wanted):
    """With the second joint nearly still, its gravity and its offset are one number."""
    log = slow(ELBOW)
    q, qd = np.array(log.q), np.array(log.qd)
    q[:, 1], qd[:, 1] = 0.5 + 0.004 * q[:, 1], 0.004 * qd[:, 1]
    tau = ELBOW.inverse_dynamics(q, qd, 0 * q)
    tau = tau + NOISE * np.random.default_rng(0).normal(size=tau.shape)
    known = slow_estimate(wanted, [Log(t=log.t, q=q, qd=qd, tau=tau)], Processing()).known
    open_ = np.isnan(known)
    assert open_[wanted.names.index("joint2.offset")]
    assert np.isfinite(known[wanted.names.index("joint1.coulomb")])


def test_loaded_gears(wanted):
    model = friction_named("loaded")
    loaded = unknowns(ELBOW, model)
    known = slow_estimate(loaded, [slow(ELBOW, noise=0.01)], HOW).known
    assert np.isfinite(known[loaded.of_kind("viscous", "coulomb")]).all()
    assert (np.abs(known[loaded.of_kind("load")]) < 0.05).all()


def test_bad_input_is_named(wanted):
    with pytest.raises(OptionError, match="needs slow="):
        slow_estimate(wanted, None, HOW)
    with pytest.raises(OptionError, match="constant velocities"):
        slow_estimate(wanted, [], HOW)
    with pytest.raises(OptionError, match="is not slow: only"):
        slow_estimate(wanted, [recorded(ELBOW)], HOW)
    log = slow(ELBOW)
    q, qd = np.array(log.q), np.array(log.qd)
    q[:, 2], qd[:, 2] = 0.1, 0.0
    with pytest.raises(OptionError, match="joints joint3 move in none"):
        slow_estimate(wanted, [Log(t=log.t, q=q, qd=qd, tau=log.tau)], HOW)
    with pytest.raises(OptionError, match="slow"):
        identify(ELBOW, recorded(ELBOW), method="two-step")
