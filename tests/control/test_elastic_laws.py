"""Laws of arms that ring: what holds and moves their links, optimal feedback, notch filters."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import solve_discrete_are
from scipy.signal import bilinear, lfilter

import dynamis as dy
from dynamis.control import (
    FlatnessFeedForward,
    JointPID,
    MotorPD,
    Notch,
    StateFeedback,
    closed_loop_modes,
    linearise,
)
from dynamis.control.law import Law
from dynamis.control.resonance import ElasticLoop
from dynamis.control.stability import memory_at
from dynamis.dynamics.elements.gears import static_deflection
from dynamis.errors import DynamisWarning, OptionError, ShapeError
from dynamis.robot.arm import arm_of
from dynamis.spatial.functions import MATH
from tests.elastic_arms import elastic
from tests.random_robots import build, lossless

from ..closed_mechanisms import five_bar
from ..simulation.test_elastic import two_links
from .blocks import gains_of, sample, stepped

pytestmark = pytest.mark.usefixtures("compiled")
START, END = np.array([0.2, 0.4]), np.array([0.6, 0.1])
MOVE = dy.trajectory.nonic(START, END, 0.6)
SOFT: dict[str, Any] = {"check_step": False}


def soft(**drive) -> dy.Robot:
    return two_links(2e3, 0.0, **drive)


def rpr() -> dy.Robot:
    """Three elastic joints, one of them prismatic."""
    kinds = ("revolute", "prismatic", "revolute")
    robot = elastic(lossless(build("standard", kinds, 5)), 2e3, 0.0)
    for k in range(3):
        robot = robot.with_drive(k, coulomb=(0.0, 0.0))
    return robot.with_friction(viscous=1.0, coulomb=0.0, offset=0.0)


def run(robot, law, plan: Any = MOVE, duration=1.0, **options):
    options = {"q0": plan(0.0).q, "controller": law, "reference": plan} | SOFT | options
    return dy.simulate(robot, duration, **options)


def error(robot, law, plan: Any = MOVE, **options):
    """Largest deviation of the links, rad or m."""
    found = run(robot, law, plan, **options)
    return np.abs(found.q - plan(found.t).q).max()


# motor PD with gravity where the links should be


@pytest.mark.parametrize("hardening", [0.0, 4e5])
def test_motor_pd_holds_links_not_motors(hardening):
    robot = soft(hardening=hardening)
    law, place = MotorPD([2000.0, 300.0], [150.0, 20.0]), np.array([0.3, 0.5])
    found = dy.simulate(robot, 4.0, q0=START, controller=law, reference=place, **SOFT)
    np.testing.assert_allclose(found.q[-1], place, atol=1e-6)
    bent = [static_deflection(g, t, MATH) for g, t in
            zip(robot.chain.elastic, robot.gravity_torque(place), strict=True)]  # fmt: skip
    np.testing.assert_allclose(found.motor[-1] - place, bent, atol=1e-6)
    assert np.abs(bent).min() > 1e-3


def test_motor_pd_of_a_prismatic_joint_and_of_backlash():
    robot, place = rpr(), np.array([0.4, 0.3, -0.5])
    law = MotorPD.from_bandwidth(robot, 15.0)
    found = dy.simulate(robot, 4.0, q0=place + 0.05, controller=law, reference=place, **SOFT)
    np.testing.assert_allclose(found.q[-1], place, atol=1e-5)
    gap = soft(backlash=1e-3)
    held, motor = arm_of(gap, MATH).static_motors([0.0, 0.0])
    want = [t / 2e3 + 1e-3 for t in held]
    np.testing.assert_allclose(motor, want, rtol=1e-12)


def soft_five_bar() -> dy.Robot:
    """A closed mechanism whose drives have elastic gears."""
    robot = five_bar()
    for k in robot.driven:
        robot = robot.with_drive(k, rotor_inertia=0.05, stiffness=500.0, damping=1.0)
    return robot


def test_motor_pd_holds_the_drives_of_a_closed_mechanism():
    robot = soft_five_bar()
    drives = list(robot.driven)
    place = robot.home[drives] + [0.1, -0.05]
    found = dy.simulate(robot, 3.0, controller=MotorPD(60.0, 8.0), reference=place, **SOFT)
    np.testing.assert_allclose(found.q[-1, drives], place, atol=1e-9)
    assert np.abs(found.motor[-1, drives] - place).min() > 2e-3


# flatness


@pytest.mark.parametrize("make", [soft, rpr])
def test_links_follow_as_exactly_as_samples_allow(make):
    """The error is that of torques held for a sample: it goes down with its length."""
    robot = make()
    plan = MOVE if robot.n == 2 else dy.trajectory.nonic([0.1, 0.2, 0.3], [0.5, 0.4, -0.3], 0.6)
    law = FlatnessFeedForward.from_bandwidth(robot, 20.0)
    slow, fast = (error(robot, law, plan, dt=h, sample_time=h) for h in (1e-3, 2.5e-4))
    assert slow < 6e-4 and fast < 0.27 * slow


def test_sines_from_their_own_motors():
    robot, plan = soft(), dy.trajectory.sine([0.2, 0.4], [0.3, 0.2], [0.8, 1.1], 0.4)
    first = plan.derivatives(0.0)
    _, motor, rate = robot.elastic_inverse_dynamics(*first)
    law = FlatnessFeedForward.from_bandwidth(robot, 20.0)
    start = {"qd0": first.qd, "motor0": motor, "motor_rate0": rate}
    assert error(robot, law, plan, **start) < 2e-4


def test_its_torque_is_that_of_elastic_inverse_dynamics_and_gains():
    robot, law = soft(hardening=4e5), FlatnessFeedForward([30.0, 20.0], [3.0, 2.0])
    at = sample(robot)
    q, qd, q_d, qd_d, qdd_d = at
    rows = q_d, qd_d, qdd_d, 2.0 * qd_d, -3.0 * qdd_d  # as `blocks.rows_of` makes them up
    tau, motor, rate = robot.elastic_inverse_dynamics(*rows)
    want = tau - law.kp * (q - motor) - law.kd * (qd - rate)
    got = stepped(law, robot, at, gains=gains_of(law, robot))[0]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_damping_of_gears_by_their_differential_equation():
    """K s + D s' = e integrated: the slow solution, to the third power of D / K."""
    robot, errors = soft(damping=0.0), []
    motion = dy.trajectory.sine(START, [0.3, 0.4], [1.0, 1.4])
    for D in (4.0, 8.0):
        damped = robot.with_drive(0, damping=D).with_drive(1, damping=D)

        def through(t):
            _, motor, _ = robot.elastic_inverse_dynamics(*motion.derivatives(t))
            return 2e3 * (motor - motion(t).q)

        def rate(t, s, D=D):
            return (through(t) - 2e3 * s) / D

        s0 = through(0.0) / 2e3
        s = solve_ivp(rate, (0.0, 0.3), s0, method="LSODA", rtol=1e-11, atol=1e-14).y[:, -1]
        rows = [x.tolist() for x in motion.derivatives(0.3)]
        _, motor, _ = arm_of(damped, MATH).flat_motors(*rows)
        errors.append(np.abs(np.array(motor) - rows[0] - s).max() / np.abs(s).max())
    assert errors[0] < 2e-5 and errors[1] / errors[0] == pytest.approx(8.0, rel=0.2)


def test_a_damped_arm_follows_better_than_without_its_damping_in_the_model():
    robot = soft(damping=8.0)
    ideal = robot.with_drive(0, damping=0.0).with_drive(1, damping=0.0)
    law = FlatnessFeedForward.from_bandwidth(robot, 20.0)
    fine = {"dt": 2.5e-4, "sample_time": 2.5e-4}
    own, left_out = (error(robot, x, **fine) for x in (law, replace(law, model=ideal)))
    assert own < 1.5e-4 < 2e-4 < left_out


def test_friction_of_links_and_motors_is_fed_forward():
    """Of links at their velocity, of motors at theirs; smooth at rest, so that nothing jumps."""
    robot = soft(coulomb=(2e-2, -2e-2), viscous=2e-4).with_friction(
        viscous=2.0, coulomb=1.5, law="smooth", velocity=0.1
    )
    law = FlatnessFeedForward.from_bandwidth(robot, 20.0)
    bare = robot.with_friction(viscous=0.0, coulomb=0.0)
    for k in range(2):
        bare = bare.with_drive(k, viscous=0.0, coulomb=0.0)
    assert error(robot, law) < 1e-3 < 1e-2 < error(robot, replace(law, model=bare))


def test_stiffness_decides_the_code():
    """Two arms that differ in their gears alone: not the machine code of the first for both."""
    law = FlatnessFeedForward(60.0, 9.0)
    keys = {Law(law, soft(hardening=x), 1e-3).key for x in (0.0, 4e5)}
    assert len(keys) == 2
    stiff, harder = (run(soft(hardening=x), law, duration=0.1) for x in (0.0, 4e5))
    assert np.abs(stiff.tau - harder.tau).max() > 1e-2


def test_rigid_joints_are_driven_as_by_feed_forward():
    robot = two_links(None)
    gains = [50.0, 30.0], [8.0, 5.0]
    q, qd, *rest = sample(robot)
    flat = stepped(FlatnessFeedForward(*gains), robot, (q, qd, *rest))[0]
    want = stepped(dy.control.FeedForward(*gains, friction="none"), robot, (q, qd, *rest))[0]
    np.testing.assert_allclose(flat, want, rtol=1e-12)


LINES = dy.trajectory.quintic(START, END, 0.6)


def test_references_without_jerk_and_snap_are_refused_by_name(tmp_path):
    robot = soft()
    law = FlatnessFeedForward.from_bandwidth(robot, 20.0)
    said = r"Hermite\(2 joints, 0.6 s\) has no jerk and snap: of degree 5"
    with pytest.raises(OptionError, match=said):
        run(robot, law, LINES)
    with pytest.raises(OptionError, match=said):
        Law(law, robot, 1e-3, LINES)
    with pytest.raises(OptionError, match=said):
        dy.export_controller(robot, law, tmp_path, 1e-3, reference=LINES)
    with pytest.raises(OptionError, match=r"expected \(q, qd, qdd, jerk, snap\)"):
        dy.simulate(
            robot, 0.1, controller=law, reference=lambda t: ([0.0] * 2,) * 3, q0=START, **SOFT
        )


def test_functions_places_and_trajectories_inside_are_one_reference():
    robot = soft()
    law = FlatnessFeedForward.from_bandwidth(robot, 20.0)
    plain = run(robot, law)
    function = run(robot, law, reference=lambda t: tuple(MOVE.derivatives(t)))
    inside = run(robot, Law(law, robot, 1e-3, MOVE), reference=None)
    np.testing.assert_allclose(function.q, plain.q, atol=1e-12)
    np.testing.assert_allclose(inside.q, plain.q, atol=1e-12)
    assert plain.reference.qdd.shape == plain.q.shape
    held = dy.simulate(robot, 0.3, q0=START, controller=law, reference=START, **SOFT)
    np.testing.assert_allclose(held.q[-1], START, atol=1e-9)


def test_backlash_endless_friction_and_closed_mechanisms_are_refused():
    law = FlatnessFeedForward(10.0, 1.0)
    with pytest.raises(OptionError, match=r"FlatnessFeedForward: joint 'joint1' has drive.backl"):
        Law(law, soft(backlash=1e-3), 1e-3)
    rough = soft().with_friction(viscous=1.0, coulomb=0.5, law="grotjahn", ratio=0.3)
    with pytest.raises(OptionError, match="of endless slope at rest"):
        Law(law, rough, 1e-3)
    with pytest.raises(OptionError, match=r"is for open arms, robot '.*' has closed loops"):
        Law(law, five_bar(), 1e-3)
    Law(replace(law, model=soft()), soft(backlash=1e-3), 1e-3)
    with pytest.raises(OptionError, match="StateFeedback is for open arms, robot"):
        StateFeedback.from_bandwidth(five_bar(), 10.0, 1e-3)


# state feedback


def test_gains_solve_the_riccati_equations_of_the_sampled_arm():
    robot, h, w, q = soft(), 1e-3, 30.0, np.array([0.4, 0.25])
    law = StateFeedback.from_bandwidth(robot, w, h, q=q)
    lin = linearise(robot, q, output="motor", dt=h)
    np.testing.assert_array_equal(law.transition, lin.A)
    np.testing.assert_array_equal(law.input, lin.B)
    J, zero = np.diagonal(robot.mass_matrix(q)), np.zeros(2)
    Q = np.diag(np.concatenate([J * w * w, zero, J, zero]))
    R = np.diag(1.0 / (J * w * w))
    P = solve_discrete_are(lin.A, lin.B, Q, R)
    K = np.array(law.feedback)
    np.testing.assert_allclose(
        (R + lin.B.T @ P @ lin.B) @ K, lin.B.T @ P @ lin.A, atol=1e-6 * np.abs(K).max()
    )
    assert np.abs(np.linalg.eigvals(lin.A - lin.B @ K)).max() < 1.0


def test_poles_are_those_of_feedback_and_of_the_filter():
    """Separation: the loop with the observer has the poles of A - B K and of A - A L C."""
    robot, h, q = soft(), 1e-3, np.array([0.4, 0.25])
    law = StateFeedback.from_bandwidth(robot, 30.0, h, q=q)
    lin = linearise(robot, q, output="motor", dt=h)
    K, L = np.array(law.feedback), np.array(law.correction)
    poles = [np.linalg.eigvals(M) for M in (lin.A - lin.B @ K, lin.A - lin.A @ L @ lin.C)]
    s = np.log(np.concatenate(poles).astype(complex)) / h
    s = s[s.imag > 1e-3]
    want = sorted((x.imag / (2 * np.pi), -x.real / abs(x)) for x in s)
    found = closed_loop_modes(robot, law, q)
    np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-3)


def test_one_sample_of_the_loop_is_that_of_the_simulation():
    """Deviations of arm and filter after some samples, by simulation and by the linear loop."""
    robot, h, q = soft().with_gravity((0, 0, 0)), 1e-3, np.array([0.4, 0.25])
    law = StateFeedback.from_bandwidth(robot, 30.0, h, q=q)
    off = 1e-5 * np.array([1.0, -0.5])
    found = dy.simulate(
        robot, 0.4, q0=q + off, motor0=q + 2.0 * off, controller=law, reference=q, **SOFT
    )
    lin = linearise(robot, q, output="motor", dt=h)
    K, L, C = np.array(law.feedback), np.array(law.correction), lin.C
    x = np.concatenate([off, 2.0 * off, np.zeros(4)])
    z = np.concatenate([2.0 * off, 2.0 * off, np.zeros(4)])
    for _ in range(400):
        z = z + L @ C @ (x - z)
        u = -K @ z
        x, z = lin.A @ x + lin.B @ u, lin.A @ z + lin.B @ u
    np.testing.assert_allclose(found.q[-1] - q, x[:2], atol=2e-3 * np.abs(off).max())


@pytest.mark.parametrize("make", [soft, rpr, lambda: soft().with_drive(1, stiffness=None)])
def test_state_feedback_follows_on_any_arm(make):
    robot = make()
    plan = MOVE if robot.n == 2 else dy.trajectory.nonic([0.1, 0.2, 0.3], [0.5, 0.4, -0.3], 0.6)
    law = StateFeedback.from_bandwidth(robot, 30.0, 1e-3, q=plan(0.3).q)
    found = run(robot, law, plan, q0=plan(0.0).q + 0.01)
    late = found.t > 0.7
    assert np.abs(found.q - plan(found.t).q)[late].max() < 5e-4


def test_state_feedback_damps_what_motor_pd_leaves():
    robot = soft()
    push = {"q0": START, "motor0": START + robot.gravity_torque(START) / 2e3 + [0.02, -0.02]}
    swings = []
    for law in (MotorPD([2000.0, 200.0], [50.0, 5.0]),
                StateFeedback.from_bandwidth(robot, 40.0, 1e-3, q=START)):  # fmt: skip
        found = dy.simulate(robot, 1.0, controller=law, reference=START, **push, **SOFT)
        swings.append(np.abs(found.q - START)[found.t > 0.5].max())
    assert swings[1] < 0.1 * swings[0]


def test_a_bandwidth_that_other_gears_do_not_bear_is_warned_of():
    """And it is so: the loop grows on the arm that the warning speaks of, not on its model."""
    robot, ends = soft(), []
    StateFeedback.from_bandwidth(robot, 60.0, 1e-3)
    with pytest.warns(DynamisWarning, match=r"with gears (0\.8|1\.2) times as stiff") as said:
        law = StateFeedback.from_bandwidth(robot, 400.0, 1e-3)
    share = 1.2 if "1.2 times" in str(said[0].message) else 0.8
    real = robot
    for k in range(2):
        real = real.with_drive(k, stiffness=share * 2e3)
    rest = np.zeros(2)
    for one in (robot, real):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DynamisWarning)
            found = dy.simulate(
                one.with_gravity((0, 0, 0)), 3.0, q0=[1e-6, 0.0], reference=rest,
                controller=replace(law, model=robot.with_gravity((0, 0, 0))), **SOFT,
            )  # fmt: skip
        ends.append(np.inf if found.diverged else np.abs(found.q[-100:]).max())
    assert ends[0] < 1e-9 and ends[1] > 1e-4


def test_another_sample_time_and_other_matrices_are_refused():
    robot = soft()
    law = StateFeedback.from_bandwidth(robot, 30.0, 1e-3)
    with pytest.raises(OptionError, match=r"this StateFeedback is for 0\.001 s"):
        run(robot, law, sample_time=2e-3)
    with pytest.raises(ShapeError, match=r"feedback has shape \(2, 8\), expected \(2, 4\)"):
        law.gains(two_links(None))
    with pytest.raises(OptionError, match="the sampled loop would ring"):
        StateFeedback.from_bandwidth(robot, 300.0, 5e-3)


# notch filters


def test_the_filter_is_tustins_with_its_middle_in_place():
    robot, h, f, depth, width = two_links(None), 2e-3, np.array([12.0, 31.0]), 0.2, 0.6
    law = Notch(JointPID([1.0, 2.0]), f, depth, width).sampled(h)
    rng = np.random.default_rng(3)
    u, given, state = rng.normal(size=(40, 2)), [], None
    for row in u:
        at = [-row / [1.0, 2.0], np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)]
        tau, state = stepped(law, robot, at, h, state=state)
        given.append(tau)
    for k in range(2):
        w = 2.0 * np.pi * f[k]
        rate = w / (2.0 * np.tan(0.5 * w * h))  # so that w stays w
        b, a = bilinear([1.0, 2 * depth * width * w, w * w], [1.0, 2 * width * w, w * w], rate)
        first = u[0, k]  # at rest there before
        want = first + lfilter(b, a, u[:, k] - first)
        np.testing.assert_allclose(np.array(given)[:, k], want, atol=1e-12)


def test_no_notch_at_zero_and_none_beyond_half_the_sample_rate():
    robot, inner = soft(), JointPID([60.0, 30.0], 5.0, [9.0, 4.0])
    plain = run(robot, inner, LINES)
    same = run(robot, Notch(inner, 0.0), LINES)
    np.testing.assert_array_equal(same.q, plain.q)
    with pytest.raises(OptionError, match="below half the sample rate, 500 Hz"):
        Law(Notch(inner, [10.0, 500.0]), robot, 1e-3)
    with pytest.raises(OptionError, match="expected a controller"):
        Notch(30.0, 10.0)


def test_a_notch_keeps_a_loop_around_links_stable():
    """Encoders on the links: two modes grow, and with a notch at each they do not."""
    robot = two_links(2e3, 1.0).with_gravity((0, 0, 0))
    law = JointPID([200.0, 80.0], 0.0, [20.0, 8.0])
    sensors, q = dy.Sensors(side="link"), np.zeros(2)
    grows = ElasticLoop(Law(law, robot, 1e-3), robot, q, 0.0, sensors).mode()
    assert grows is not None and grows.grows
    filtered = Notch(law, [11.6, 36.3], 0.02)
    left = ElasticLoop(Law(filtered, robot, 1e-3), robot, q, 0.0, sensors).mode()
    assert left is None or not left.grows
    ends = []
    for one in (law, filtered):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DynamisWarning)
            found = dy.simulate(
                robot, 3.0, q0=[1e-6, 0.0], controller=one, reference=q, sensors=sensors, **SOFT
            )
        ends.append(np.inf if found.diverged else np.abs(found.q[-100:]).max())
    assert ends[1] < 1e-8 < 1e-5 < ends[0]


def test_slopes_of_a_law_without_memory_are_its_gains():
    robot = soft()
    law = Law(JointPID([60.0, 30.0], 0.0, [9.0, 4.0]), robot, 1e-3)
    K, D, memory = memory_at(law, START)
    np.testing.assert_allclose(K, np.diag([60.0, 30.0]), atol=1e-5)
    np.testing.assert_allclose(D, np.diag([9.0, 4.0]), atol=1e-5)
    np.testing.assert_allclose(memory.H, 0.0, atol=1e-6)


# what limits a bandwidth, and shaping with the modes of the loop


def test_a_bandwidth_beyond_a_resonance_is_named():
    robot = soft(damping=4.0)
    lowest = 2.0 * np.pi * robot.resonances([0.0, 0.0]).locked[0]
    JointPID.from_bandwidth(robot, 0.45 * lowest)
    said = rf"joint 'joint1' swings at {lowest / (2 * np.pi):.3g} Hz .* up to {0.5 * lowest:.2g}"
    for kind in (JointPID, dy.control.FeedForward, dy.control.ComputedTorque):
        with pytest.warns(DynamisWarning, match=said):
            kind.from_bandwidth(robot, 0.55 * lowest)
    for make in (
        dy.control.TaskSpace.from_bandwidth,
        lambda r, w: dy.control.SlotineLi.from_bandwidth(r, w, 0.1),
    ):
        make(robot, 0.45 * lowest)
        with pytest.warns(DynamisWarning, match=said):
            make(robot, 0.55 * lowest)
    with pytest.warns(DynamisWarning, match=r"bandwidth 400 rad/s: .* the rotor alone counts"):
        JointPID.from_bandwidth(robot, 400.0)
    FlatnessFeedForward.from_bandwidth(robot, 0.55 * lowest)
    JointPID.from_bandwidth(two_links(None), 60.0)


def test_modes_of_a_rigid_joint_are_those_of_the_sampled_double_integrator():
    """Two poles of I s^2 + D s + K, held for a sample short enough not to matter."""
    link = dy.Link(inertia=(0, 0, 0.5), drive=dy.Drive())
    robot = dy.Robot.from_dh("one", convention="standard", gravity=(0, 0, 0), links=[link])
    (mode,) = closed_loop_modes(robot, JointPID(50.0, 0.0, 2.0), sample_time=1e-5)
    w, z = 10.0, 2.0 / (2.0 * 0.5 * 10.0)
    assert mode.frequency == pytest.approx(w * np.sqrt(1 - z * z) / (2 * np.pi), rel=1e-3)
    assert mode.damping == pytest.approx(z, rel=1e-3)
    with pytest.raises(OptionError, match="expected 0 to a sample"):
        closed_loop_modes(robot, JointPID(50.0), delay=0.1)


def test_a_reference_shaped_with_the_modes_of_the_loop_settles():
    robot, law = soft(), MotorPD([2000.0, 200.0], [50.0, 5.0])
    modes = closed_loop_modes(robot, law, 0.5 * (START + END))
    assert modes[0].damping < 0.2
    swings = []
    for plan in (MOVE, dy.trajectory.zvd(MOVE, modes[:2])):
        found = run(robot, law, plan, duration=2.0)
        swings.append(np.abs(found.q - END)[found.t > plan.duration].max())
    assert swings[1] < 0.02 * swings[0]


def test_an_ensemble_is_its_arms():
    robot = soft()
    law = StateFeedback.from_bandwidth(robot, 30.0, 1e-3)
    starts = START + np.array([[0.0, 0.0], [0.01, -0.02], [-0.03, 0.01]])
    for one in (law, FlatnessFeedForward(60.0, 9.0), Notch(MotorPD(60.0, 9.0), 12.0)):
        many = run(robot, one, duration=0.2, q0=starts)
        for k, q0 in enumerate(starts):
            alone = run(robot, one, duration=0.2, q0=q0)
            np.testing.assert_allclose(many.q[k], alone.q, atol=1e-12)
