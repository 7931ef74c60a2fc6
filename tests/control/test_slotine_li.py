"""The adaptive law: its regressor, its Lyapunov function, and the signs it keeps."""

from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import Sample, SlotineLi
from dynamis.control.slotine_li import reference_regressor
from tests.random_robots import body, build

from .blocks import ARMS, arm_of, gains_of, sample, stepped, torque

SMOOTHING = 0.05


def regressor(robot, q, qd, qd_r, qdd_r, smoothing=SMOOTHING):
    q, qd, qd_r, qdd_r = (x.tolist() for x in (q, qd, qd_r, qdd_r))
    arm = arm_of(SlotineLi(1.0, 1.0, 1.0), robot)
    gains = SimpleNamespace(smoothing=[smoothing])
    return np.array(reference_regressor(arm, Sample(0.0, q, qd, gains), qd_r, qdd_r))


def wanted(t):
    """A reference of two joints that moves."""
    w = np.array([1.3, 2.1])
    return np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)


def rates(law, robot, x, t):
    """d/dt of (q, qd, estimate)."""
    n = robot.n
    q, qd, a = x[:n], x[n : 2 * n], x[2 * n :]
    q_d, qd_d, qdd_d = wanted(t)
    tau, after = stepped(
        law, robot, (q, qd, q_d, qd_d, qdd_d), dt=1.0, state={"estimate": a.tolist()}
    )
    qdd = robot.forward_dynamics(q, qd, np.array(tau))
    return np.r_[qd, qdd, np.array(after["estimate"]) - a]


def sliding(law, robot, x, t):
    """s = ed + Lambda e"""
    q_d, qd_d, _ = wanted(t)
    n = robot.n
    return x[n : 2 * n] - qd_d + law.bandwidth * (x[:n] - q_d)


def lyapunov(law, robot, x, t):
    n, Gamma = robot.n, np.array(gains_of(law, robot).rate)
    off = x[2 * n :] - robot.parameters.values
    s = sliding(law, robot, x, t)
    moving = Gamma > 0
    return 0.5 * s @ robot.mass_matrix(x[:n]) @ s + 0.5 * (off[moving] ** 2 / Gamma[moving]).sum()


def rk4(law, robot, x, t, h):
    k1 = rates(law, robot, x, t)
    k2 = rates(law, robot, x + h / 2 * k1, t + h / 2)
    k3 = rates(law, robot, x + h / 2 * k2, t + h / 2)
    k4 = rates(law, robot, x + h * k3, t + h)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def test_the_lyapunov_function_falls_by_the_damping():
    robot = dy.load("planar-2link")
    wrong = robot.parameters.values * 1.3
    law = SlotineLi(30.0, 4.0, 0.5, adapt=["*.m?x", "*.I*"], start_from=wrong)
    h, x, n = 4e-3, np.r_[0.4, -0.3, 0.0, 0.5, wrong], robot.n
    # what does not adapt is known
    still = np.array(gains_of(law, robot).rate) == 0.0
    x[2 * n :][still] = robot.parameters.values[still]
    values, losses = [lyapunov(law, robot, x, 0.0)], []
    for k in range(80):
        s0 = sliding(law, robot, x, k * h)
        x = rk4(law, robot, x, k * h, h)
        s1 = sliding(law, robot, x, (k + 1) * h)
        values.append(lyapunov(law, robot, x, (k + 1) * h))
        losses.append(-0.5 * h * 30.0 * (s0 @ s0 + s1 @ s1))
    steps = np.diff(values)
    assert (steps < 0).all()
    np.testing.assert_allclose(steps, losses, rtol=0.02, atol=1e-6 * values[0])
    assert values[-1] < 0.9 * values[0]


def test_the_error_dies_out_where_a_fixed_model_keeps_it(compiled):
    robot = dy.load("planar-2link")
    heavier = robot.parameters.values * 1.5

    def error(adaptation):
        law = SlotineLi(60.0, 5.0, adaptation, start_from=heavier)
        state, errors = None, []
        x, h = np.r_[wanted(0.0)[0], wanted(0.0)[1]], 5e-3
        for k in range(800):
            at = (x[:2], x[2:], *wanted(k * h))
            tau, state = stepped(law, robot, at, dt=h, state=state)
            qdd = robot.forward_dynamics(x[:2], x[2:], np.array(tau))
            qd = x[2:] + h * qdd
            x = np.r_[x[:2] + h * qd, qd]
            errors.append(np.abs(x[:2] - wanted((k + 1) * h)[0]).max())
        return max(errors[600:])

    assert error(20.0) < 0.1 * error(0.0)


@pytest.mark.parametrize("arm", ARMS)
def test_the_regressor_is_the_two_velocity_sum(arm):
    robot = ARMS[arm]()
    q, qd, qd_r, qdd_r, _ = sample(robot, 1)
    Y = regressor(robot, q, qd, qd_r, qdd_r)
    values = robot.parameters.values.copy()
    names = robot.parameters.names
    words = ("viscous", "coulomb+", "coulomb-", "offset")
    values[[name.rsplit(".", 1)[-1] in words for name in names]] = 0.0
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    expected = M @ qdd_r + C @ qd_r + robot.gravity_torque(q)
    np.testing.assert_allclose(Y @ values, expected, rtol=1e-9, atol=1e-9)


def test_its_friction_is_the_smooth_law():
    rng = np.random.default_rng(2)
    smooth = {"law": "smooth", "velocity": SMOOTHING}
    links = [
        dy.Link(
            joint=kind, a=0.4, alpha=0.3, **body(rng),
            friction=dy.Friction(viscous=v, coulomb=(1.5, -0.7), offset=0.2, **smooth),
            drive=dy.Drive(gear=-30, rotor_inertia=1e-3, viscous=1e-4, coulomb=0.02),
        )
        for kind, v in (("revolute", 0.3), ("prismatic", 0.5), ("revolute", 0.1))
    ]  # fmt: skip
    robot = dy.Robot.from_dh("smooth", convention="standard", links=links)
    q, qd, qd_r, qdd_r, _ = sample(robot, 3)
    Y = regressor(robot, q, qd, qd_r, qdd_r)
    rigid = robot.regressor(q, qd, qdd_r, qd_ref=qd_r)
    got = (Y - rigid) @ robot.parameters.values
    np.testing.assert_allclose(got, robot.friction_torque(qd_r), rtol=1e-12)


def test_coupled_motors_have_columns_too():
    rng = np.random.default_rng(4)
    links = [
        dy.Link(
            joint="revolute", a=0.4, **body(rng),
            drive=dy.Drive(gear=1, rotor_inertia=1e-3, viscous=1e-3, coulomb=(0.02, -0.01)),
        )
        for _ in range(2)
    ]  # fmt: skip
    robot = dy.Robot.from_dh(
        "coupled", convention="standard", links=links, gear_matrix=[[50.0, 0.0], [10.0, 40.0]]
    )
    q, qd, qd_r, qdd_r, _ = sample(robot, 3)
    Y = regressor(robot, q, qd, qd_r, qdd_r, 1e-9)  # as good as a sign
    got = (Y - robot.regressor(q, qd, qdd_r, qd_ref=qd_r)) @ robot.parameters.values
    np.testing.assert_allclose(got, robot.friction_torque(qd_r), rtol=1e-12)


def test_one_step_is_its_equations():
    robot = dy.load("panda")
    law = SlotineLi(12.0, 4.0, 0.2, smoothing=SMOOTHING)
    q, qd, q_d, qd_d, qdd_d = at = sample(robot, 5)
    tau, after = stepped(law, robot, at, dt=1e-6)
    e, ed = q - q_d, qd - qd_d
    s, qd_r, qdd_r = ed + 4.0 * e, qd_d - 4.0 * e, qdd_d - 4.0 * ed
    Y = regressor(robot, q, qd, qd_r, qdd_r)
    a = robot.parameters.values
    np.testing.assert_allclose(tau, Y @ a - 12.0 * s, rtol=1e-9)
    expected, got = a - 1e-6 * 0.2 * Y.T @ s, np.array(after["estimate"])
    free = got != 0.0  # the arm's rotors weigh nothing, and stay at their bound
    np.testing.assert_allclose(got[free], expected[free], rtol=1e-12, atol=1e-15)
    assert all(
        "rotor" in name for name, f in zip(robot.parameters.names, free, strict=True) if not f
    )


def test_only_what_is_named_adapts_and_signs_are_kept():
    robot = build("standard", ("revolute", "revolute"), 3)
    names = robot.parameters.names
    law = SlotineLi(5.0, 3.0, 1e4, adapt=["*.viscous", "*.coulomb[+-]", "link1.m"])
    lowest = np.full(len(names), np.inf)
    highest = -lowest
    for seed in range(30):
        _, state = stepped(law, robot, sample(robot, seed), dt=0.01)
        lowest = np.minimum(lowest, state["estimate"])
        highest = np.maximum(highest, state["estimate"])
    stopped = 0
    for name, low, high, value in zip(names, lowest, highest, robot.parameters.values, strict=True):
        word = name.rsplit(".", 1)[-1]
        if word in ("viscous", "coulomb+") or name == "link1.m":
            assert 0.0 <= low < high
            stopped += low == 0.0
        elif word == "coulomb-":
            assert low < high <= 0.0
            stopped += high == 0.0
        else:
            assert low == high == value
    assert stopped >= 4


def test_a_start_of_the_wrong_sign_does_not_jump():
    robot = dy.load("planar-2link")
    start = robot.parameters.values.copy()
    start[0] = -1.0  # a mass, as a base solution may have
    law = SlotineLi(5.0, 3.0, 0.1, start_from=start)
    _, state = stepped(law, robot, sample(robot, 1), dt=0.0)
    np.testing.assert_array_equal(state["estimate"], start)


def test_from_bandwidth_moves_both_poles_there():
    robot = dy.load("puma560")
    q = robot.configurations["ready"]
    law = SlotineLi.from_bandwidth(robot, 8.0, adaptation=0.1, q=q)
    np.testing.assert_allclose(law.kd, 8.0 * np.diag(robot.mass_matrix(q)))
    assert law.bandwidth == 8.0 and SimpleNamespace(**law.gains(robot)).kd == list(law.kd)


def test_without_error_it_is_the_model():
    robot = dy.load("stanford")  # no friction, so that smoothing plays no part
    q, qd, _, _, qdd = sample(robot, 2)
    law = SlotineLi(10.0, 5.0, 0.5)
    tau = torque(law, robot, (q, qd, q, qd, qdd))
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, qd, qdd), rtol=1e-9, atol=1e-9)
