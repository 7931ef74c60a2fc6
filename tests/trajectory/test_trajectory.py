"""Trajectories: the ends come out as given, derivatives are derivatives, limits are kept."""

import re
import sys
from dataclasses import replace
from math import comb

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

import dynamis as dy
from dynamis import errors
from dynamis import trajectory as tr
from dynamis.compile.arrays import NUMPY
from dynamis.compile.tracer import SX
from dynamis.lazy import install_command
from dynamis.spatial.functions import MATH
from dynamis.trajectory.polynomial import basis, horner

STEP = 1e-4  # seconds; central differences of smooth motions are then good to about 1e-7
DIFFERENCE = 2e-5
STRAIGHT = 1e-8  # metres and radians

A = np.array([[0.3, -0.2, 0.1], [0.1, 0.4, -0.3]])
B = np.array([[0.2, 0.1, 0.05], [-0.3, 0.2, 0.1]])
POINTS = [[0.0, 1.0], [0.7, 0.2], [0.3, -0.5], [1.0, 0.0]]

TRAJECTORIES = {
    "cubic": tr.cubic([0.1, 2], [1.3, -1], 2.7, [0.3, 0.1], [0.7, 0.11]),
    "quintic": tr.quintic([0.1, 2], [1.3, -1], 2.7, 0.3, 0.1, [0.7, 0.11], 0.2),
    "septic": tr.septic([0.1, 2], [1.3, -1], 2.7, 0.3, 0.1, [0.7, 0.11], 0.2, 1.1, -0.3),
    "trapezoid": tr.trapezoid([0, 0], [1, -0.4], velocity=1.0, acceleration=3.0),
    "triangle": tr.trapezoid([0, 0], [1, -0.4], velocity=10.0, acceleration=3.0),
    "via": tr.via(POINTS, [0, 1, 1.5, 3]),
    "sine": tr.sine([0.1, 0.2], [1, 0.5], [0.7, 1.1], [0, 0.4]),
    "fourier": tr.fourier(A, B, 5.0, [0.1, -0.2]),
    "along": tr.Along(tr.via(POINTS, [0, 0.2, 0.6, 1]), tr.quintic(0, 1, 2.0)),
}
PERIODIC = ("sine", "fourier")
JUMPS = ("trapezoid", "triangle")  # of acceleration, at the knots

every = pytest.mark.parametrize("name", TRAJECTORIES)
resting = pytest.mark.parametrize("name", [k for k in TRAJECTORIES if k not in PERIODIC])
number = st.floats(-3, 3, allow_subnormal=False)
pair = st.tuples(number, number)


# -- values ------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(pair, pair, pair, pair, pair, pair, pair, pair, st.floats(0.3, 9))
def test_boundary_conditions_are_exact(q0, q1, v0, v1, a0, a1, j0, j1, T):
    for motion, order in (
        (tr.cubic(q0, q1, T, v0, v1), 2),
        (tr.quintic(q0, q1, T, v0, v1, a0, a1), 3),
        (tr.septic(q0, q1, T, v0, v1, a0, a1, j0, j1), 3),
    ):
        for t, ends in ((0.0, (q0, v0, a0)), (T, (q1, v1, a1))):
            for got, wanted in list(zip(motion(t), ends, strict=True))[:order]:
                assert np.array_equal(got, wanted)


def test_septic_has_the_jerk_asked_for():
    motion = tr.septic(0, 1, 2.0, qddd0=1.5, qddd1=-0.7)
    h = 1e-5
    assert np.isclose((motion(h).qdd - motion(0).qdd)[0] / h, 1.5, atol=1e-3)
    assert np.isclose((motion(2.0).qdd - motion(2.0 - h).qdd)[0] / h, -0.7, atol=1e-3)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_hermite_basis_is_the_one_of_the_docstring(m):
    u = np.linspace(0, 1, 11)
    for j, rows in enumerate(basis(m)):
        tail = sum(comb(m - 1 + i, i) * u**i for i in range(m - j))
        assert np.allclose(horner(rows[0], u), u**j * (1 - u) ** m * tail, atol=1e-13)
    assert np.allclose(horner(basis(m)[0][0], u) + horner(basis(m)[0][0], 1 - u), 1, atol=1e-13)


@every
@settings(max_examples=25, deadline=None)
@given(part=st.floats(0.001, 0.999))
def test_derivatives_are_derivatives(name, part):
    motion = TRAJECTORIES[name]
    t = part * motion.duration
    if min(abs(t - k) for k in motion.knots) < 2 * STEP:
        return
    q, qd, qdd = motion(np.array([t - STEP, t, t + STEP]))
    assert np.allclose((q[2] - q[0]) / (2 * STEP), qd[1], atol=DIFFERENCE)
    assert np.allclose((qd[2] - qd[0]) / (2 * STEP), qdd[1], atol=DIFFERENCE)


@every
def test_knots_are_continuous(name):
    motion = TRAJECTORIES[name]
    inner = np.array(motion.knots[1:-1])
    before, after = motion(inner - 1e-9), motion(inner + 1e-9)
    assert np.allclose(before.q, after.q, atol=1e-7)
    assert np.allclose(before.qd, after.qd, atol=1e-7)
    if name not in JUMPS:
        assert np.allclose(before.qdd, after.qdd, atol=1e-6)


@resting
def test_outside_it_rests_at_the_ends(name):
    motion = TRAJECTORIES[name]
    for outside, end in ((-1.0, 0.0), (motion.duration + 1.0, motion.duration)):
        assert np.array_equal(motion(outside).q, motion(end).q)
        assert not motion(outside).qd.any()
        assert not motion(outside).qdd.any()


@every
def test_any_scalar_gives_the_same(name):
    motion = TRAJECTORIES[name]
    t = np.concatenate([np.linspace(-0.3, motion.duration + 0.3, 40), motion.knots])
    face = np.array(motion(t))
    symbol = ca.SX.sym("t")
    traced = ca.Function("f", [symbol], [ca.vertcat(*x) for x in motion.at(symbol, SX)])
    for i, x in enumerate(t):
        assert np.allclose(np.array(motion.at(float(x), MATH)), face[:, i], atol=1e-12)
        assert np.allclose(np.array(traced(x))[..., 0], face[:, i], atol=1e-12)
    generic = np.array([[np.broadcast_to(x, t.shape) for x in row] for row in motion.at(t, NUMPY)])
    assert np.allclose(np.moveaxis(generic, 1, 2), face, atol=1e-13)


@every
def test_it_compiles_with_an_arm(name, compiled):
    motion, robot = TRAJECTORIES[name], dy.load("planar-2link")

    def torque(arm, t):
        return arm.inverse_dynamics(*motion.at(t[0], arm))

    machine = dy.compile(robot, torque, sizes={"t": 1})
    t = np.linspace(-0.2, motion.duration + 0.2, 50)
    assert np.allclose(machine(t[:, None]), robot.inverse_dynamics(*motion(t)), atol=1e-9)


@every
def test_times_have_any_shape(name):
    motion = TRAJECTORIES[name]
    for shape in ((), (5,), (3, 4), (0,), (2, 0)):
        t = np.random.default_rng(0).uniform(0, motion.duration, shape)
        state = motion(t)
        for x in state:
            assert x.shape == (*shape, 2)
            assert x.dtype == np.float64
        for index in np.ndindex(shape):
            assert np.array_equal(np.array(motion(t[index])), np.array([x[index] for x in state]))
    assert motion(1).q.shape == (2,)
    assert np.isnan(np.array(motion(np.nan))).all()


@every
def test_samples_run_from_zero_to_the_end(name):
    motion = TRAJECTORIES[name]
    for dt in (0.01, 0.037, motion.duration / 7, 2 * motion.duration):
        t, q, qd, qdd = motion.sample(dt)
        assert t[0] == 0.0
        assert np.isclose(t[-1], motion.duration, rtol=1e-12)
        assert (np.diff(t) > 1e-6 * dt).all()
        assert (np.diff(t) < dt * (1 + 1e-9)).all()
        assert np.array_equal(np.array([q, qd, qdd]), np.array(motion(t)))


# -- each kind ---------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(number, min_size=3, max_size=3),
    st.lists(number, min_size=3, max_size=3),
    st.lists(st.floats(0.1, 5), min_size=3, max_size=3),
    st.lists(st.floats(0.1, 5), min_size=3, max_size=3),
    st.floats(1.0, 4.0),
)
def test_trapezoid_is_synchronised_and_within_limits(q0, q1, v, a, slower):
    if max(abs(x - y) for x, y in zip(q0, q1, strict=True)) < 1e-3:
        return
    fastest = tr.trapezoid(q0, q1, velocity=v, acceleration=a)
    for motion in (
        fastest,
        tr.trapezoid(q0, q1, slower * fastest.duration, v, a),
        tr.trapezoid(q0, q1, slower * fastest.duration, acceleration=a),
        tr.trapezoid(q0, q1, 1.001 * slower * fastest.duration, velocity=v),
        tr.trapezoid(q0, q1, slower),
    ):
        t = np.union1d(np.linspace(0, motion.duration, 200), motion.knots)
        q, qd, qdd = motion(t)
        assert np.array_equal(q[0], q0)
        assert np.array_equal(q[-1], q1)
        assert np.allclose(qd[[0, -1]], 0)
        delta = np.subtract(q1, q0)
        part = (q - q0)[:, np.argmax(abs(delta))] / delta[np.argmax(abs(delta))]
        assert np.allclose(q - q0, part[:, None] * delta, atol=1e-12)  # one profile for all joints
    limited = [(fastest, True, True), (tr.trapezoid(q0, q1, slower * fastest.duration, v, a), 1, 1)]
    limited.append((tr.trapezoid(q0, q1, 1.001 * slower * fastest.duration, velocity=v), 1, 0))
    for motion, fast, strong in limited:
        _, qd, qdd = motion(np.linspace(0, motion.duration, 400))
        assert not fast or (abs(qd) <= np.array(v) * (1 + 1e-9)).all()
        assert not strong or (abs(qdd) <= np.array(a) * (1 + 1e-6) + 1e-9).all()
    _, qd, qdd = fastest(np.linspace(0, fastest.duration, 2001))
    used = max((abs(qd) / v).max(), (abs(qdd) / a).max())
    assert used > 0.99  # the shortest time leaves no limit unused


def test_trapezoid_forms():
    assert len(tr.trapezoid(0, 1, velocity=1.0, acceleration=3.0).knots) == 4
    assert len(tr.trapezoid(0, 1, velocity=9.0, acceleration=3.0).knots) == 3
    assert np.allclose(tr.trapezoid(0, 1, 3.0).knots, (0, 1, 2, 3))
    assert np.isclose(tr.trapezoid(0, 1, acceleration=4.0).duration, 1.0)
    still = tr.trapezoid([1, 2], [1, 2], velocity=1, acceleration=1)
    assert still.duration == 0.0
    assert np.array_equal(still(np.array([-1, 0, 1])).q, [[1, 2]] * 3)


def test_via_passes_its_points_at_rest_at_the_ends():
    times = np.array([0, 1, 1.5, 3])
    motion = tr.via(POINTS, times)
    assert np.array_equal(motion(times).q, POINTS)
    assert not np.array([motion(0).qd, motion(3.0).qd, motion(0).qdd, motion(3.0).qdd]).any()
    assert np.allclose(
        tr.via([[0.0], [1.0]], [0, 2])(0.7), tr.quintic([0.0], [1.0], 2)(0.7), atol=1e-15
    )


def test_via_has_continuous_jerk_and_snap():
    motion, h = tr.via(POINTS, [0, 1, 1.5, 3]), 1e-3

    def jerk_and_snap(t, side):
        a = motion(t + side * h * np.arange(4)).qdd  # cubic within a piece: differences are exact
        d1 = (-11 * a[0] + 18 * a[1] - 9 * a[2] + 2 * a[3]) / (6 * side * h)
        return d1, (2 * a[0] - 5 * a[1] + 4 * a[2] - a[3]) / h**2

    for knot in (1.0, 1.5):
        for left, right in zip(jerk_and_snap(knot, -1), jerk_and_snap(knot, 1), strict=True):
            assert np.allclose(left, right, atol=1e-4)


@pytest.mark.parametrize("name", PERIODIC)
def test_periodic_motions_go_on(name):
    motion = TRAJECTORIES[name]
    period = motion.duration if name == "fourier" else 10.0  # of 0.7 and 1.1 hertz
    t = np.linspace(-3, 4, 50)
    assert np.allclose(np.array(motion(t)), np.array(motion(t + period)), atol=1e-12)


def test_fourier_is_the_series_of_its_docstring():
    t, w = np.linspace(0, 5, 30)[:, None, None], 2 * np.pi / 5 * np.array([1, 3, 4])
    motion = tr.fourier(A, B, 5.0, [0.1, -0.2], harmonics=[1, 3, 4])
    expected = (A / w * np.sin(w * t) - B / w * np.cos(w * t)).sum(-1)
    assert np.allclose(motion(t[:, 0, 0]).q - (0.1, -0.2), expected, atol=1e-14)
    assert np.allclose(motion(0).qd, A.sum(-1))


def test_sine_is_the_sine_of_its_docstring():
    motion = tr.sine(0.1, [0.5, 0.2], 2.0, 0.3)
    assert np.allclose(motion(0.2).q, 0.1 + np.array([0.5, 0.2]) * np.sin(0.8 * np.pi + 0.3))
    assert motion.duration == 0.5


# -- straight lines ------------------------------------------------------------------------------

LINES = {
    "puma560": [0.1, 0.5, -0.3, 0.2, 0.6, 0.1],
    "ur10e": [0.2, -1.0, 1.2, -0.9, -1.3, 0.1],
    "panda": [0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.4],
    "planar-2link": [0.4, 0.9],
}


@pytest.mark.parametrize("name", LINES)
def test_line_is_straight_and_turns_evenly(name, compiled):
    robot = dy.load(name)
    q0 = np.array(LINES[name])
    T0, T1 = robot.fk(q0), robot.fk(q0 + 0.15 * np.cos(np.arange(robot.n)))
    motion = tr.line(robot, T0, T1, 2.0, q0=q0)
    t = np.linspace(0, 2, 203)
    state = motion(t)
    s = tr.quintic(0, 1, 2.0)(t).q
    T = robot.fk(state.q)
    assert np.abs(T[:, :3, 3] - (1 - s) * T0[:3, 3] - s * T1[:3, 3]).max() < STRAIGHT
    if robot.n >= 6:
        turn = Slerp([0, 1], Rotation.from_matrix([T0[:3, :3], T1[:3, :3]]))(np.clip(s[:, 0], 0, 1))
        assert np.abs(T[:, :3, :3] - turn.as_matrix()).max() < STRAIGHT
    assert np.allclose(motion(0).q, q0, atol=1e-9)
    assert not motion(0).qd.any()
    h = 1e-4
    assert np.allclose((motion(1 + h).q - motion(1 - h).q) / (2 * h), motion(1).qd, atol=1e-5)
    assert np.allclose((motion(1 + h).qd - motion(1 - h).qd) / (2 * h), motion(1).qdd, atol=1e-4)
    velocity = (robot.jacobian(state.q) @ state.qd[..., None])[:, :3, 0]
    assert np.allclose(velocity, tr.quintic(0, 1, 2.0)(t).qd * (T1 - T0)[:3, 3], atol=1e-6)


def test_line_chooses_a_start_within_the_limits(compiled):
    robot = dy.load("puma560")
    q0 = np.array(LINES["puma560"])
    T0 = robot.fk(q0)
    T1 = T0.copy()
    T1[:3, 3] += (-0.05, 0.1, 0.05)
    motion = tr.line(robot, T0, T1, 1.0, timing="trapezoid")
    assert motion.check(robot) == []
    turned = q0 + 2 * np.pi * np.eye(6)[3] + 1e-3  # near q0 but a whole turn of joint 4 away
    far = tr.line(robot, T0, T1, 1.0, q0=turned)
    assert np.allclose(far(0).q, turned - 1e-3, atol=1e-6)
    still = tr.line(robot, T0, T0, 1.0, q0=q0)
    assert np.allclose(still(np.linspace(0, 1, 5)).q, q0, atol=1e-9)
    symbol = ca.SX.sym("t")
    traced = ca.Function("f", [symbol], [ca.vertcat(*x) for x in motion.at(symbol, SX)])
    assert np.allclose(np.array(traced(0.37))[..., 0], np.array(motion(0.37)), atol=1e-10)


def test_line_says_where_it_leaves_the_workspace(compiled):
    robot = dy.load("planar-2link")
    reach = robot.fk([0.0, 0.0])[:3, 3]
    start = robot.fk([0.3, 0.8])
    with pytest.raises(errors.OptionError, match=r"leaves the workspace at s = 0\.\d+"):
        tr.line(robot, start, start[:3, 3] + 2 * reach, 1.0)
    with pytest.raises(errors.OptionError, match="T0"):
        tr.line(robot, 3 * reach, reach, 1.0)


@pytest.mark.thorough
def test_line_says_where_it_would_jump(compiled):
    robot = dy.load("ur10e")
    rng = np.random.default_rng(1)
    q0 = rng.uniform(-0.8, 0.8, 6) + 0.3  # the wrist is 0.001 rad from singular, and turns into it
    T0, T1 = robot.fk(q0), robot.fk(q0 + rng.uniform(-0.3, 0.3, 6))
    with pytest.raises(errors.OptionError, match=r"jump at s = 0\.\d+.*joint '\w+' would jump by"):
        tr.line(robot, T0, T1, 1.0, q0=q0)
    assert np.abs(robot.fk(tr.line(robot, T0, T1, 1.0)(1).q) - T1).max() < STRAIGHT  # others do not


# -- limits --------------------------------------------------------------------------------------


def test_findings_name_joint_time_and_value():
    robot = dy.load("panda")
    q0 = np.array(LINES["panda"])
    assert tr.quintic(q0, q0 + 0.2, 2.0).check(robot) == []
    far = q0.copy()
    far[1] = 2.5  # limit 1.7628
    found = tr.quintic(q0, far, 10.0).check(robot)
    assert [f.where for f in found if "position" in f.what] == ["joint 'joint2'"]
    assert "position is 2.5 rad at t = 10 s, outside [-1.7628, 1.7628]" in found[0].what
    found = tr.quintic(q0, q0 + 0.3 * np.eye(7)[0], 0.1).check(robot)
    fast = next(f for f in found if "velocity" in f.what)
    assert fast.where == "joint 'joint1'"
    assert "velocity is 5.625 rad/s at t = 0.05 s" in fast.what  # 15/8 of the mean
    strong = next(f for f in found if "torque" in f.what)
    assert "N m" in strong.what
    assert {f.level for f in found} == {"error"}


# -- time-optimal --------------------------------------------------------------------------------


def test_time_optimal_without_toppra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "toppra", None)
    with pytest.raises(errors.DynamisError, match=re.escape(install_command("trajectory"))):
        tr.time_optimal(dy.load("panda"), np.zeros((2, 7)))


def test_time_optimal_uses_a_limit_all_the_way(compiled):
    pytest.importorskip("toppra")
    robot = dy.load("panda")
    points = [[0, -0.5, 0, -2, 0, 1.5, 0.5], [0.5, 0, 0.3, -1.5, 0.2, 1.8, 0.2]]
    points.append([1, 0.3, 0.2, -1.2, 0.4, 2, 0])
    motion = tr.time_optimal(robot, points)
    assert np.allclose(motion(0).q, points[0])
    assert np.allclose(motion(motion.duration).q, points[-1])
    assert motion.check(robot) == []
    state = motion(np.linspace(0.01, 0.99, 300) * motion.duration)
    speed = np.abs(state.qd[:, :4]) / 2.175
    tau = np.abs(robot.inverse_dynamics(*state)) / ([87] * 4 + [12] * 3)
    used = np.maximum(speed.max(axis=1), tau.max(axis=1))
    assert np.quantile(used, 0.05) > 0.95  # bang-bang: some limit is always used
    with pytest.raises(errors.OptionError, match="no motion"):
        tr.time_optimal(robot, points, torque=1.0)
    with pytest.raises(errors.OptionError, match="stands still"):
        tr.time_optimal(robot, tr.via(points, [0, 1, 2]))
    with pytest.raises(errors.OptionError, match="the same"):
        tr.time_optimal(robot, [points[0], points[0]])


def test_time_optimal_motions_of_a_damped_arm_keep_its_torques(compiled):
    """Dampers grow with the speed, not with its square: the torque limit is used and kept."""
    pytest.importorskip("toppra")
    robot = dy.load("planar-2link")
    damped = dy.Spring(kind="torsion", joint=robot.joint_names[0], stiffness=0.0, damping=600.0)
    robot = dy.Robot(replace(robot.model, springs=(damped,)))
    limit = 2.0 * np.abs(robot.gravity_torque([[0.0, 0.0], [0.8, 0.5]])).max(axis=0) + 20.0
    motion = tr.time_optimal(robot, [[0.0, 0.0], [0.8, 0.5]], torque=limit, velocity=50.0)
    state = motion(np.linspace(0.02, 0.98, 300) * motion.duration)
    used = (np.abs(robot.inverse_dynamics(*state)) / limit).max(axis=1)
    assert used.max() < 1.02 and np.quantile(used, 0.1) > 0.9


# -- errors --------------------------------------------------------------------------------------

PUMA = "puma560"
WRONG = {
    "lengths differ": lambda: tr.cubic([0, 1], [0, 1, 2], 1.0),
    "duration is -1": lambda: tr.quintic(0, 1, -1),
    "duration is nan": lambda: tr.septic(0, 1, float("nan")),
    "duration is '2'": lambda: tr.septic(0, 1, "2"),
    "q0 is None": lambda: tr.cubic(None, 1, 1.0),
    "q0 holds nan, expected finite": lambda: tr.cubic([np.nan], 1, 1.0),
    "q0 has shape": lambda: tr.cubic(np.zeros((2, 2)), 1, 1.0),
    "q0 holds": lambda: tr.cubic("home", 1, 1.0),
    "at least 1.33333 s": lambda: tr.trapezoid(0, 1, 1.0, velocity=1.0, acceleration=3.0),
    "more than 2 s": lambda: tr.trapezoid(0, 1, 1.0, velocity=0.5),
    "acceleration is None": lambda: tr.trapezoid(0, 1, velocity=0.5),
    "velocity is .*above 0": lambda: tr.trapezoid(0, 1, velocity=0, acceleration=1),
    r"points has shape \(4, 2\) for 3 times": lambda: tr.via(POINTS, [0, 1, 2]),
    r"times\[2\] = 1 does not come after": lambda: tr.via(POINTS, [0, 1, 1, 2]),
    "times begins at 1": lambda: tr.via(POINTS, [1, 2, 3, 4]),
    "frequency is": lambda: tr.sine(0, 1, 0),
    "b has shape": lambda: tr.fourier(A, B[:, :2], 1.0),
    "harmonics is": lambda: tr.fourier(A, B, 1.0, harmonics=[1, 2]),
    "period is 0": lambda: tr.fourier(A, B, 0),
    "dt is 0": lambda: TRAJECTORIES["via"].sample(0),
    "t holds": lambda: TRAJECTORIES["via"]("now"),
    "moves 2 joints.*has 6": lambda: TRAJECTORIES["via"].check(dy.load(PUMA)),
    "timing is 'quintik'": lambda: tr.line(dy.load(PUMA), 0, 0, 1.0, timing="quintik"),
    "T1: T has shape": lambda: tr.line(dy.load(PUMA), np.eye(4), np.eye(3), 1.0),
    "robot is None": lambda: tr.line(None, np.eye(4), np.eye(4), 1.0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_input_is_named(message):
    with pytest.raises(errors.DynamisError, match=message):
        WRONG[message]()


def test_public_names():
    assert dy.trajectory is tr
    assert repr(TRAJECTORIES["cubic"]) == "Hermite(2 joints, 2.7 s)"
