"""Instruments: exact without noise, their normal equations, and less bias than least squares."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.closed_loop import (
    ClosedLoop,
    LoopError,
    instrumental,
    simulated,
)
from dynamis.identify.deviations import smoother
from dynamis.identify.estimators import FitProblem
from dynamis.identify.information import information, moments, weighted
from dynamis.identify.processing import prepare

CUTOFF = 15.0
NOISE = 2e-3  # rad: much, so that accelerations are poor
EXACT = 1e-8  # rounding through the normal equations
SAMPLE_TIME = 2e-3
CONTROLLER = dy.control.JointPID(kp=[400.0, 150.0], kd=[40.0, 12.0], derivative="error")
MOTION = dy.trajectory.fourier(
    a=[[0.9, -0.6, 0.7, -1.0], [-0.5, 1.2, -1.3, 0.6]],
    b=[[-0.4, 0.9, -0.8, 0.3], [1.1, -0.7, 0.2, 0.9]],
    period=5.0,
    q0=[-0.5, 0.4],
)


def two_link():
    """A small arm in the vertical plane with a drive and asymmetric friction."""
    upper = dy.Link(
        joint="revolute", a=0.5, mass=6.0, com=(-0.2, 0.02, 0.0), inertia=(0.02, 0.2, 0.2),
        friction=dy.Friction(viscous=0.8, coulomb=(1.5, -1.2)),
        drive=dy.Drive(gear=50, rotor_inertia=1e-4),
    )  # fmt: skip
    fore = dy.Link(
        joint="revolute", a=0.4, mass=3.0, com=(-0.15, 0.0, 0.01), inertia=(0.01, 0.06, 0.06),
        friction=dy.Friction(viscous=0.3, coulomb=(0.6, -0.5)),
    )  # fmt: skip
    return dy.Robot.from_dh(
        "two-link", convention="standard", gravity=(0, -9.81, 0), links=[upper, fore]
    )


def recorded(arm, duration=10.0, **sensors):
    """A log of the arm under its controller, without velocities."""
    q0, qd0, _ = MOTION(0.0)
    given = dy.Sensors(velocity="exact", **sensors)
    run = dy.simulate(
        arm, duration, 1e-3, q0=q0, qd0=qd0, controller=CONTROLLER, reference=MOTION,
        sensors=given, sample_time=SAMPLE_TIME,
    )  # fmt: skip
    return replace(dy.Log.from_run(run), qd=None)


def truth(robot, unknowns):
    """The unknowns of the arm that was simulated; half the sum of a Coulomb pair is an offset."""
    full = dict(zip(unknowns.full_names, robot.parameters.values, strict=True))
    x = unknowns.group @ robot.parameters.values
    for k in unknowns.of_kind("offset"):
        joint = unknowns.names[k].removesuffix("offset")
        x[k] += 0.5 * (full[f"{joint}coulomb+"] + full[f"{joint}coulomb-"])
    return x


@pytest.fixture(scope="module")
def arm(compiled):
    return two_link()


@pytest.fixture(scope="module")
def noisy(arm):
    """Logs of noisy encoders, their plain estimates, and the instrumental ones of both kinds."""
    found = []
    for seed in range(4):
        log = recorded(arm, position_noise=NOISE, torque_noise=0.2, seed=seed)
        plain = identified(arm, log)
        task = task_of(plain, log)
        motion = simulated(plain.unknowns, [log], plain.processing, loop())
        found.append((plain, task, instrumental(task, motion), instrumental(task)))
    return found


def identified(arm, log):
    return dy.identify(
        arm, log, friction="asymmetric", estimator="weighted", cutoff=CUTOFF, held_out=False
    )


def loop(**options):
    return ClosedLoop(CONTROLLER, MOTION, SAMPLE_TIME, **options)


def task_of(estimate, log):
    samples = prepare(log, estimate.processing[0])[0]
    return FitProblem(samples, estimate.unknowns, information(samples, estimate.unknowns))


def spread(solution):
    return np.sqrt(np.diag(solution.covariance))


def exact(arm, task, known=None):
    """The same motions with the torque the model gives them."""
    x, motions = truth(arm, task.unknowns), []
    for samples in task.motions:
        Y = task.unknowns.regressor(samples.q, samples.qd, samples.qdd)
        motions.append(replace(samples, tau=Y @ x))
    info = information(motions, task.unknowns, known=known)
    return FitProblem(motions, task.unknowns, info, known=known)


def test_any_instrument_finds_the_truth_when_nothing_is_noisy(arm, noisy):
    task = noisy[0][1]
    found = instrumental(exact(arm, task))
    assert np.abs(found.x - truth(arm, task.unknowns)).max() < EXACT
    assert spread(found).max() < 1e-6


def test_the_normal_equations_hold(noisy):
    """sum_j w_j^2 Z_j^T (tau_j - Y_j x) = 0, with the weights of the fit before."""
    _, task, _, found = noisy[0]
    sums = moments(task, [smoother(s, task.unknowns) for s in task.motions])
    w2 = weighted(task.info).weights ** 2
    total = np.tensordot(w2, sums.mixed, 1)
    left = total[:, -1] - total[:, :-1] @ found.x
    assert np.abs(left).max() < 1e-9 * np.abs(total[:, -1]).max()


@pytest.mark.parametrize("kind", (2, 3), ids=("closed loop", "smoother motion"))
def test_instruments_take_the_bias_of_noisy_accelerations_away(arm, noisy, kind):
    """Means over the logs: what noise in the regressor does to inertias does not average out."""
    x = truth(arm, noisy[0][0].unknowns)
    bodies = noisy[0][0].unknowns.of_kind("body", "rotor")
    plain = np.mean([row[0].values for row in noisy], axis=0) - x
    found = np.mean([row[kind].x for row in noisy], axis=0) - x
    assert np.linalg.norm(found[bodies]) < 0.5 * np.linalg.norm(plain[bodies])


def test_most_true_values_lie_within_the_intervals(arm, noisy):
    x = truth(arm, noisy[0][0].unknowns)
    z = [(row[2].x - x) / spread(row[2]) for row in noisy]
    assert (np.abs(z) < 2.6).mean() > 0.95


def test_what_is_known_is_taken_off_and_the_rest_found(arm, noisy):
    task = noisy[0][1]
    x = truth(arm, task.unknowns)
    friction = task.unknowns.of_kind("viscous", "coulomb", "offset")
    bodies = task.unknowns.of_kind("body", "rotor")
    known = np.full(len(x), np.nan)
    known[friction] = x[friction]
    found = instrumental(exact(arm, task, known))
    assert np.abs(found.x - x)[bodies].max() < EXACT
    assert (found.x[friction] == 0.0).all() and (spread(found)[friction] == 0.0).all()


def test_an_arm_driven_by_torque_alone_is_refused():
    with pytest.raises(dy.errors.OptionError, match="controller is None"):
        ClosedLoop(None, MOTION)
    with pytest.raises(dy.errors.OptionError, match="reference is None"):
        ClosedLoop(CONTROLLER, None)


def test_a_loop_that_runs_away_says_so(noisy):
    plain = noisy[0][0]
    wrong = ClosedLoop(dy.control.JointPID(kp=1e6, kd=0.0), MOTION, SAMPLE_TIME)
    with pytest.raises(LoopError, match="runs away"):
        wrong.run(plain.unknowns, plain.full, plain.logs[0])


def test_steps_that_do_not_fit_are_refused(noisy):
    plain = noisy[0][0]
    with pytest.raises(dy.errors.OptionError, match="does not divide"):
        ClosedLoop(CONTROLLER, MOTION, 3e-3, 3e-3).run(plain.unknowns, plain.full, plain.logs[0])
    t = np.array(plain.logs[0].t)
    t[5] += 0.3 * plain.logs[0].step
    with pytest.raises(dy.errors.OptionError, match="uneven"):
        loop().run(plain.unknowns, plain.full, replace(plain.logs[0], t=t))


def test_friction_that_the_simulator_cannot_take_as_a_parameter_is_refused(arm, noisy):
    log = noisy[0][0].logs[0]
    rooted = dy.identify(arm, log, friction="grotjahn", estimator="weighted", held_out=False)
    with pytest.raises(dy.errors.OptionError, match="root or load"):
        loop().run(rooted.unknowns, rooted.full, log)
