"""The functions of Práctica 3: its printed numbers, an independent Newton-Euler, compositions."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.exercises import practica3 as p3

NONE = np.zeros((3, 3))
LOAD = 0.05 * np.eye(3)  # of example 3.3, with 3 kg

# Example 3.3 prints tau and qpp, not q and qp: all come from a generator whose numbers are known.
Q = [0.93546969910761, 0.91690443991341, 0.41027020699095, 0.89364953091353]
QP = [0.05789130478427, 0.35286813221700, 0.81316649730376, 0.00986130066092]
QPP = [0.13889088195695, 0.20276521856027, 0.19872174266149, 0.60379247919382]
TAU = [0.5229, 160.0619, 2.0591, 0.0315]


class Arm:
    """Numbers of the practice's code; theta and d of joint i are q[i] where they are None."""

    def __init__(self, teta, d, a, alfa, m, inertia, b, up):
        self.teta, self.d, self.a, self.alfa = teta, d, a, alfa
        self.m, self.inertia, self.b, self.up = m, inertia, b, np.array(up)


UMH = [(0.0191, 0.0191, 0.0068), (0.0031, 0.0484, 0.0484), (0.0606, 0.0053, 0.0606)]
LAST, NIL = (0.0022, 0.0022, 0.0014), (0.0, 0.0, 0.0)
RIGHT = np.pi / 2
ARMS = {
    3: Arm([None] * 3, [0] * 3, [1] * 3, [0] * 3, [3] * 3, [(0, 0.25, 0.25)] * 3, 0.1, (0, 1, 0)),
    4: Arm(
        [None, 0, 0, None], [0.4, None, None, 0.2], [0, -0.1, 0, 0], [0, -RIGHT, 0, 0],
        [10, 5, 5, 3], [*UMH, LAST], 0.05, (0, 0, 1),
    ),
    6: Arm(
        [None] * 6, [0.315, 0, 0, 0.5, 0, 0.08], [0, 0.45, 0, 0, 0, 0],
        [-RIGHT, 0, RIGHT, -RIGHT, RIGHT, 0], [2.78, 10.25, 0, 5.57, 0, 1.98],
        [*UMH[:2], NIL, UMH[2], NIL, LAST], 0.05, (0, 0, 1),
    ),
}  # fmt: skip


def composed(arm, q, qp, qpp, g, mass, inertia):
    """NEWTONEULER out of the functions of table 3.1, with the load as one more link."""
    n, zero = len(q), np.zeros(3)
    teta = [q[i] if x is None else x for i, x in enumerate(arm.teta)]
    d = [q[i] if x is None else x for i, x in enumerate(arm.d)]
    turns = [x is None for x in arm.teta]
    p = [p3.ri0pi(arm.a[i], d[i], arm.alfa[i]) for i in range(n)] + [zero]
    s = [p3.ri0si(arm.a[i], d[i], arm.alfa[i], -0.5) for i in range(n)] + [zero]
    R = [p3.dh(teta[i], arm.alfa[i]).T for i in range(n)] + [np.eye(3)]
    q1, q2 = [*qp, 0.0], [*qpp, 0.0]
    w, wp, vp, F, N = zero, zero, g * arm.up, [], []
    for i in range(n + 1):
        before = w
        if i == n or turns[i]:
            w, wp = p3.ri0wi(R[i], before, q1[i]), p3.ri0wpi(R[i], wp, before, q1[i], q2[i])
            vp = p3.ri0vpi_r(R[i], vp, wp, w, p[i])
        else:
            w, wp = R[i] @ before, R[i] @ wp
            vp = p3.ri0vpi_p(R[i], vp, wp, w, p[i], q1[i], q2[i])
        a = p3.ri0ai(vp, wp, w, s[i])
        F.append(p3.ri0fi(a, mass if i == n else arm.m[i]))
        N.append(p3.ri0ni(wp, w, inertia if i == n else np.diag(arm.inertia[i])))
    f, moment, tau = F[n], N[n], []
    for i in range(n - 1, -1, -1):
        onward = R[i + 1].T
        moment = p3.ri0nia(onward, moment, f, N[i], F[i], R[i + 1] @ p[i], p[i], s[i])
        f = p3.ri0fia(onward, f, F[i])
        one = p3.t_r(R[i], moment, qp[i], arm.b) if turns[i] else p3.f_p(R[i], f, qp[i], arm.b)
        tau.append(one)
    return np.array(tau[::-1])


def newtoneuler(n, *state):
    return {3: p3.newtoneuler3, 4: p3.newtoneuler4, 6: p3.newtoneuler6}[n](*state)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_newtoneuler_is_what_the_functions_of_table_3_1_make(n):
    rng = np.random.default_rng(n)
    for mass in (0.0, 3.0):
        q, qp, qpp = rng.normal(size=(3, n))
        state = (q, qp, qpp, 9.8, mass, mass * LOAD)
        np.testing.assert_allclose(newtoneuler(n, *state), composed(ARMS[n], *state), atol=1e-11)


def test_example_3_3_as_printed():
    tau = p3.newtoneuler4(Q, QP, QPP, 9.8, 3, LOAD)
    np.testing.assert_allclose(tau, TAU, atol=0.5e-4)
    np.testing.assert_allclose(p3.walkerorin4(Q, QP, tau, 3, LOAD), QPP, atol=1e-12)


def test_example_3_1_at_rest():
    """Joint 2 carries links 2, 3, 4 and the load: 16 kg."""
    tau = p3.newtoneuler4([0.3, 0.6, 0.5, 0.4], np.zeros(4), np.zeros(4), 9.8, 3, LOAD)
    np.testing.assert_allclose(tau, [0, 156.8, 0, 0], atol=1e-12)


def test_the_six_axis_arm_of_another_newton_euler():
    load = 0.0167 * np.eye(3)
    tau = p3.newtoneuler6(np.zeros(6), np.zeros(6), np.zeros(6), 9.8, 10, load)
    np.testing.assert_allclose(tau, [0, -99.99675, 0, 0, 0, 0], atol=1e-9)
    q, qp = np.arange(1, 7) / 10, np.arange(6, 0, -1) / 10
    moved = p3.newtoneuler6(q, qp, [1, -1, 1, -1, 1, -1], 9.8, 10, load)
    expected = [
        13.631966272768521, -143.82675924100576, -45.31476078428947, 1.3075100458798734,
        -6.794298511645386, -0.025489450084889623,
    ]  # fmt: skip
    np.testing.assert_allclose(moved, expected, atol=1e-9)


def test_the_pendulum_of_another_newton_euler():
    tau = p3.newtoneuler3([0.1, 0.2, 0.3], [1, 2, 3], [1, 1, 1], 9.8, 0, NONE)
    expected = [126.86649164306034, 67.99905174787452, 24.323477947219033]
    np.testing.assert_allclose(tau, expected, atol=1e-9)
    acceleration = p3.walkerorin3(np.zeros(3), np.zeros(3), np.zeros(3), 0, NONE)
    expected = [-12.438461538461524, 15.830769230769194, -4.523076923076891]
    np.testing.assert_allclose(acceleration, expected, atol=1e-9)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_forward_dynamics_returns_the_accelerations(n):
    """With H and b = NEWTONEULER at rest of accelerations, (3.36); columns are taken too."""
    h = {3: p3.h3, 4: p3.h4, 6: p3.h6}[n]
    walkerorin = {3: p3.walkerorin3, 4: p3.walkerorin4, 6: p3.walkerorin6}[n]
    q, qp, qpp = np.random.default_rng(0).uniform(size=(3, n, 1))
    tau = newtoneuler(n, q, qp, qpp, 9.8, 3, LOAD)
    np.testing.assert_allclose(walkerorin(q, qp, tau, 3, LOAD), qpp[:, 0], atol=1e-9)
    b = newtoneuler(n, q, qp, np.zeros(n), 9.8, 3, LOAD)
    H = h(q, 3, LOAD)
    np.testing.assert_allclose(H @ qpp[:, 0] + b, tau, atol=1e-11)
    np.testing.assert_allclose(H, H.T, atol=1e-14)
    columns = [newtoneuler(n, q, np.zeros(n), e, 0.0, 3, LOAD) for e in np.eye(n)]
    np.testing.assert_allclose(np.transpose(columns), H, atol=1e-12)


def test_simula3_as_another_runge_kutta():
    """Fourth order, 1 ms; the last positions and velocities at rest of torque."""
    mat_q = p3.simula3(1, 0.001)
    assert mat_q.shape == (3, 1001) and not mat_q[:, 0].any()
    expected = {
        250: [-0.3520032392497759, 0.3933926077260664, -0.04427066839475802],
        500: [-0.9449439054778767, 0.4305199818852756, 0.6107445317929782],
        1000: [-1.8224856909088873, -0.47364531718887715, -0.1892204590835305],
    }
    for k, q in expected.items():
        np.testing.assert_allclose(mat_q[:, k], q, atol=1e-9)
    assert p3.simula3(0.1, 0.03).shape == (3, 4)  # 0:0.03:0.1


def test_walkerorinrunge3_is_a_step_of_simula3():
    q = qp = np.zeros(3)
    mat_q = p3.simula3(0.02, 0.001)
    for k in range(20):
        q, qp = p3.walkerorinrunge3(q, qp, np.zeros(3), k * 1e-3, (k + 1) * 1e-3, 0, NONE)
        np.testing.assert_allclose(q, mat_q[:, k + 1], atol=1e-11)
        assert (q == q.round(13)).all()


def test_a_step_under_torque_by_hand():
    """The four slopes of Runge and Kutta with WALKERORIN3, with a load."""
    q0, v0, par, h = np.array([0.1, -0.4, 0.2]), np.array([1.0, 0.5, -2.0]), [5.0, -2.0, 1.0], 0.05
    load = (2.0, LOAD)

    def rate(q, v):
        return v, p3.walkerorin3(q, v, par, *load)

    k1 = rate(q0, v0)
    k2 = rate(q0 + h / 2 * k1[0], v0 + h / 2 * k1[1])
    k3 = rate(q0 + h / 2 * k2[0], v0 + h / 2 * k2[1])
    k4 = rate(q0 + h * k3[0], v0 + h * k3[1])
    ends = [
        x + h / 6 * (a + 2 * b + 2 * c + d)
        for x, a, b, c, d in zip((q0, v0), k1, k2, k3, k4, strict=True)
    ]
    found = p3.walkerorinrunge3(q0, v0, par, 1.0, 1.0 + h, *load)
    for mine, hand in zip(found, ends, strict=True):
        np.testing.assert_allclose(mine, hand, atol=1e-11)


def test_denavit_and_its_parts():
    row = (0.3, 0.2, 0.5, -0.7)
    A = p3.denavit(*row)
    np.testing.assert_array_equal(A, dy.transforms.dh(*row, "standard"))
    np.testing.assert_allclose(A[:3, :3], p3.dh(row[0], row[3]), atol=1e-15)
    p = p3.ri0pi(row[2], row[1], row[3])
    np.testing.assert_allclose(A[:3, :3] @ p, A[:3, 3], atol=1e-15)
    np.testing.assert_allclose(p, [0.5, 0.2 * np.sin(-0.7), 0.2 * np.cos(0.7)], atol=1e-15)


def test_animacion3_writes_a_film(tmp_path):
    pytest.importorskip("PIL")
    path = p3.animacion3(p3.simula3(0.2, 0.01), tmp_path / "film.html", pint=0.01)
    assert path.stat().st_size > 1000
    with pytest.raises(ShapeError, match=r"mat_q has shape \(2, 5\)"):
        p3.animacion3(np.zeros((2, 5)), tmp_path / "no.html")


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: p3.newtoneuler4(Q[:3], QP, QPP, 9.8, 0, NONE), ShapeError, "q is .*4 finite"),
        (lambda: p3.newtoneuler4(Q, QP, QPP, 9.8, 0, 0.05), ShapeError, r"iexter.*\(3, 3\)"),
        (lambda: p3.newtoneuler4(Q, QP, QPP, 9.8, -1, NONE), OptionError, "m5 .*not negative"),
        (lambda: p3.ri0wi(np.eye(2), [0, 0, 0], 1), ShapeError, "r is"),
        (lambda: p3.ri0ai([0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]), ShapeError, "vp is"),
        (lambda: p3.simula3(0.0, 0.001), OptionError, "tsim"),
        (lambda: p3.simula3(0.001, 0.1), OptionError, "at least one step"),
        (
            lambda: p3.walkerorinrunge3([0] * 3, [0] * 3, [0] * 3, 1, 1, 0, NONE),
            OptionError, "tf - t0",
        ),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
