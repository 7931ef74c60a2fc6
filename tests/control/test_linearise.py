"""The linear model: against finite differences, the nonlinear arm, closed forms and peers."""

from dataclasses import replace

import control
import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.control.linearise import StateSpace, linearise
from dynamis.errors import DynamisError, OptionError, ShapeError, SingularError
from dynamis.model.friction import LAWS
from tests.thorough import thorough_but

from ..closed_mechanisms import OPEN_ARMS, five_bar, four_bar, motions
from ..random_robots import build, robots

STEP = 1e-6  # central differences: error of order STEP^2 and eps / STEP
DIFFERENCE = 1e-6  # relative to the largest entry
NAMES = sorted(set(OPEN_ARMS) - {"sixr"})  # sixr has a singular mass matrix; others must close


def pendulum(viscous=0.0, length=0.7, mass=1.3, **friction):
    """A point mass on a rod, hanging along -y at q = -pi/2."""
    return dy.Robot.from_dh(
        "pendulum",
        convention="standard",
        gravity=(0, -9.81, 0),
        links=[
            dy.Link(
                joint="revolute",
                a=length,
                alpha=0,
                d=0,
                mass=mass,
                friction=dy.Friction(viscous=viscous, **friction),
            )
        ],
    )


def rate(robot, x, tau):
    """x' of the nonlinear arm."""
    q, qd = np.split(x, 2)
    return np.concatenate([qd, robot.forward_dynamics(q, qd, tau)])


def differences(function, x):
    columns = [
        (function(x + STEP * e) - function(x - STEP * e)) / (2 * STEP) for e in np.eye(len(x))
    ]
    return np.column_stack(columns)


def moving_state(robot, seed):
    """Velocities away from zero, where friction is differentiable."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=robot.n)
    qd = rng.choice([-1, 1], size=robot.n) * rng.uniform(0.3, 1.0, size=robot.n)
    return q, qd, rng.normal(size=robot.n)


def close(a, b):
    assert np.abs(a - b).max() <= DIFFERENCE * max(1.0, np.abs(b).max())


def matches_differences(robot, seed):
    q, qd, tau = moving_state(robot, seed)
    lin = linearise(robot, q, qd, tau, output="tool")
    x = np.concatenate([q, qd])
    close(lin.A, differences(lambda v: rate(robot, v, tau), x))
    close(lin.B, differences(lambda u: rate(robot, x, u), tau))
    close(lin.offset, rate(robot, x, tau))
    close(lin.C[:3], differences(lambda v: robot.fk(v[: robot.n])[:3, 3], x))
    assert not lin.D.any()


@settings(max_examples=10, deadline=None)
@given(robot=robots(longest=4), seed=st.integers(0, 1000))
def test_random_robots_match_finite_differences(robot, seed):
    matches_differences(robot, seed)


@pytest.mark.parametrize("name", thorough_but(NAMES[::4], NAMES))
def test_catalogue_matches_finite_differences(name):
    matches_differences(dy.load(name), seed=3)


def test_tool_rotation_is_the_small_rotation_vector():
    robot = build("standard", ["revolute"] * 3, seed=5)
    q, e = np.array([0.3, -0.5, 0.8]), np.array([1e-6, -2e-6, 3e-6])
    turn = (robot.fk(q + e) @ np.linalg.inv(robot.fk(q - e)))[:3, :3] / 2
    small = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    lin = linearise(robot, q, output="tool")
    np.testing.assert_allclose((lin.C[:, :3] @ e)[3:], small / 2, atol=1e-12)


def test_the_torque_that_holds_makes_an_equilibrium():
    robot = dy.load("puma560")
    lin = linearise(robot, robot.configurations["ready"])
    assert not lin.offset.any()
    moving = linearise(robot, robot.configurations["ready"], qd=np.full(6, 0.5))
    np.testing.assert_array_equal(moving.offset, [0.5] * 6 + [0.0] * 6)


def rk4(robot, x, tau, dt):
    a = rate(robot, x, tau)
    b = rate(robot, x + dt / 2 * a, tau)
    c = rate(robot, x + dt / 2 * b, tau)
    d = rate(robot, x + dt * c, tau)
    return x + dt / 6 * (a + 2 * b + 2 * c + d)


@pytest.mark.parametrize("qd", [None, (0.4, -0.7, 0.5)])
def test_small_motions_of_the_arm_follow_the_linear_model(qd):
    """Off by the second order: ten times smaller perturbations, a hundred times smaller errors."""
    robot = dy.load("pendulum3")
    q0 = np.array([0.4, -0.9, 0.6])
    dt, steps = 0.005, 8 if qd is not None else 40
    lin = linearise(robot, q0, qd, output="state", dt=dt)
    x0 = np.concatenate([q0, np.zeros(3) if qd is None else qd])
    tau0 = robot.inverse_dynamics(q0, x0[3:], np.zeros(3))

    def worst(size):
        tau = size * np.array([0.5, -1.0, 0.3])
        start = size * np.array([1.0, -0.5, 0.7, 0.2, 0.4, -0.6])
        x, rest, z, moved = x0 + start, x0, start, 0.0
        for _ in range(steps):
            x, rest = rk4(robot, x, tau0 + tau, dt), rk4(robot, rest, tau0, dt)
            z = lin.A @ z + lin.B @ tau + lin.offset
            moved = max(moved, np.abs(z).max())
        return np.abs(x - x0 - z).max(), moved

    if qd is None:
        big, small = worst(1e-2)[0], worst(1e-3)[0]
        assert small < 1e-4 and 60 < big / small < 140
    else:  # the point itself moves away by qd t: the linear model holds for a short while
        error, moved = worst(1e-4)
        assert error < 0.02 * moved


@pytest.mark.parametrize("q, hangs", [(-np.pi / 2, True), (np.pi / 2, False)])
def test_pendulum_frequency(q, hangs):
    length, g = 0.7, 9.81
    w = np.sqrt(g / length)
    values = linearise(pendulum(length=length), [q]).eigenvalues
    expected = [1j * w, -1j * w] if hangs else [w, -w]
    np.testing.assert_allclose(
        np.sort_complex(values), np.sort_complex(np.array(expected, complex)), atol=1e-12
    )


def test_pendulum_stability():
    down, up = [-np.pi / 2], [np.pi / 2]
    assert not linearise(pendulum(), down).stable  # swings for ever
    assert linearise(pendulum(viscous=1e-6), down).stable
    assert not linearise(pendulum(viscous=1.0), up).stable
    assert linearise(pendulum(viscous=1e-6), down, dt=0.01).stable
    assert not linearise(pendulum(), down, dt=0.01).stable
    assert not linearise(pendulum(viscous=1.0).with_gravity((0, 0, 0)), down).stable  # drifts


def test_eigenvalues_slowest_first():
    lin = linearise(dy.load("puma560"), dy.load("puma560").configurations["ready"])
    assert np.all(np.diff(lin.eigenvalues.real) <= 0)
    assert np.all(np.diff(np.abs(lin.discrete(0.01).eigenvalues)) <= 0)


@pytest.mark.parametrize("law", sorted(set(LAWS) - {"smooth"}))
def test_friction_at_rest_is_its_viscous_part(law):
    m, length, b = 1.3, 0.7, 0.2
    constants = {"ratio": 0.3} if law == "grotjahn" else {}
    robot = pendulum(viscous=b, coulomb=(0.4, -0.3), offset=0.05, law=law, **constants)
    lin = linearise(robot, [0.3])
    bristles = LAWS[law].get("damping", 0.0)  # that bend at rest
    assert lin.A[1, 1] == pytest.approx(-(b + bristles) / (m * length**2), rel=1e-12)
    assert not lin.offset.any()
    moving = linearise(robot, [0.3], [0.2]).A[1, 1]
    slope = differences(robot.friction_torque, np.array([0.2]))[0, 0]
    assert moving == pytest.approx(-slope / (m * length**2), rel=1e-6)


def test_smooth_friction_has_a_slope_at_rest():
    robot = pendulum(viscous=0.2, coulomb=0.4, law="smooth", velocity=0.01)
    slope = linearise(robot, [0.3]).A[1, 1]
    assert slope == pytest.approx(-(0.2 + 0.4 / 0.01) / (1.3 * 0.7**2), rel=1e-12)


def test_zero_order_hold_is_exact():
    robot, q = dy.load("planar-2link"), [0.3, -0.4]
    lin = linearise(robot, q, output="state")
    expected = scipy.signal.cont2discrete(tuple(lin), 0.02)
    sampled = lin.discrete(0.02)
    for mine, theirs in zip(sampled, expected, strict=False):
        np.testing.assert_allclose(mine, theirs, atol=1e-14)
    assert sampled.dt == 0.02
    np.testing.assert_array_equal(linearise(robot, q, dt=0.02).A, sampled.A)


def test_offset_is_sampled_too():
    """Half a step twice is a whole step."""
    lin = linearise(dy.load("planar-2link"), [0.3, -0.4], [1.0, 2.0], [3.0, -1.0])
    half, whole = lin.discrete(0.01), lin.discrete(0.02)
    np.testing.assert_allclose(half.A @ half.offset + half.offset, whole.offset, rtol=1e-12)


def test_peers_accept_it():
    lin = linearise(dy.load("planar-2link"), [0.3, -0.4])
    theirs, scipys = control.ss(*lin), scipy.signal.StateSpace(*lin)
    np.testing.assert_array_equal(theirs.A, lin.A)
    np.testing.assert_array_equal(scipys.B, lin.B)
    np.testing.assert_array_equal(scipy.signal.StateSpace(*lin[:4]).C, lin.C)
    np.testing.assert_allclose(
        np.sort_complex(control.poles(theirs)), np.sort_complex(lin.eigenvalues), atol=1e-9
    )
    sampled = lin.discrete(0.01)
    assert control.ss(*sampled, sampled.dt).dt == 0.01
    assert scipy.signal.StateSpace(*sampled, dt=sampled.dt).dt == 0.01
    K, _, _ = control.lqr(lin.A, lin.B, np.eye(4), np.eye(2))
    assert lin.feedback(K).stable


def test_feedback_places_the_poles_of_a_pd():
    robot = pendulum()
    J = 1.3 * 0.7**2
    w, z = 6.0, 0.5
    lin = linearise(robot, [0.0])  # horizontal: gravity has no stiffness there
    closed = lin.feedback([[J * w**2, 2 * z * w * J]])
    np.testing.assert_allclose(
        np.sort_complex(closed.eigenvalues), np.sort_complex(np.roots([1, 2 * z * w, w**2]))
    )
    assert closed.stable and closed.discrete(0.01).stable and not lin.stable


@pytest.mark.parametrize("output, count", [("q", 3), ("state", 6), ("tool", 6)])
def test_names_and_shapes(output, count):
    lin = linearise(dy.load("pendulum3"), [0.1, 0.2, 0.3], output=output)
    assert lin.states == ("q1", "q2", "q3", "qd1", "qd2", "qd3")
    assert lin.inputs == ("tau1", "tau2", "tau3")
    assert len(lin.outputs) == count and lin.C.shape == (count, 6) and lin.D.shape == (count, 3)
    assert "6 states, 3 inputs" in repr(lin)
    with pytest.raises(ValueError, match="read-only"):
        lin.A[0, 0] = 1.0


def test_wrong_inputs_are_named():
    robot = dy.load("pendulum3")
    q = [0.1, 0.2, 0.3]
    with pytest.raises(ShapeError, match="one operating point"):
        linearise(robot, [q, q])
    with pytest.raises(ShapeError, match="qd has shape"):
        linearise(robot, q, qd=[1.0])
    with pytest.raises(OptionError, match="finite"):
        linearise(robot, [0.1, np.nan, 0.3])
    with pytest.raises(OptionError, match=r"output is 'tools'.*\n.*'tool'"):
        linearise(robot, q, output="tools")
    for dt in (0.0, -1.0, np.inf, np.nan, "x", [0.1]):
        with pytest.raises(OptionError, match="dt is"):
            linearise(robot, q, dt=dt)
    with pytest.raises(OptionError, match="discrete already"):
        linearise(robot, q, dt=0.1).discrete(0.1)
    with pytest.raises(ShapeError, match="gain"):
        linearise(robot, q).feedback(np.zeros((3, 3)))
    with pytest.raises(SingularError, match="joint 6"):
        linearise(dy.load("sixr"), np.full(6, 0.3))
    with pytest.raises(DynamisError, match="B has shape"):
        StateSpace([[1.0]], [[1.0, 2.0]], [[1.0]], [[0.0]], ("x",), ("u",), ("y",), [0.0])


# closed mechanisms: along motions that keep the loops closed


def rubbing(robot):
    """Friction in every joint, under load too."""
    friction = dy.Friction(viscous=0.1, coulomb=0.2, load=0.1)
    links = tuple(replace(link, friction=friction) for link in robot.model.links)
    return dy.Robot(replace(robot.model, links=links))


CLOSED = {
    "five-bar": five_bar,
    "five-bar, four drives": lambda: five_bar(passive=False),
    "friction under load": lambda: rubbing(five_bar()),
    "friction under load, four drives": lambda: rubbing(five_bar(passive=False)),
    "no drive": lambda: four_bar(passive=(True, True, True)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_mechanisms_match_finite_differences(name):
    robot = CLOSED[name]()
    q, qd, _, v, _ = (x[0] for x in motions(robot, 1, seed=3))
    own, drives = list(robot.independent), list(robot.driven)
    tau = np.zeros(robot.n)
    tau[drives] = np.random.default_rng(1).normal(scale=3.0, size=len(drives))

    def accelerations(z, u):
        moved = robot.project(q + robot.joint_rates(q, z[: robot.dof]))
        torque = tau.copy()
        torque[drives] = u
        return robot.forward_dynamics(moved, robot.joint_rates(moved, z[robot.dof :]), torque)[own]

    x, u = np.concatenate([np.zeros(robot.dof), v]), tau[drives]
    lin = linearise(robot, q, qd, tau, output="tool")
    close(lin.A[robot.dof :], differences(lambda z: accelerations(z, u), x))
    if drives:
        close(lin.B[robot.dof :], differences(lambda w: accelerations(x, w), u))
    close(lin.offset, np.concatenate([v, accelerations(x, u)]))
    numbers = [str(k + 1) for k in own]
    assert lin.states == (*("q" + k for k in numbers), *("qd" + k for k in numbers))
    assert lin.inputs == tuple(f"tau{k + 1}" for k in drives)
    close(lin.C @ np.concatenate([v, v]), robot.jacobian(q) @ qd)


def test_a_five_bar_is_held_by_a_regulator():
    """About an equilibrium, with the gain of a linear quadratic regulator."""
    robot = five_bar()
    lin = linearise(robot, robot.home)
    assert not lin.offset.any() and lin.C.shape == (2, 4) and not lin.stable
    K, _, _ = control.lqr(lin.A, lin.B, np.eye(4), 0.01 * np.eye(2))
    assert lin.feedback(K).stable
    held = linearise(robot, robot.home, tau=robot.inverse_dynamics(robot.home, *np.zeros((2, 4))))
    close(held.A, lin.A)
    close(held.offset, lin.offset)


def test_closed_mechanisms_name_what_is_wrong():
    robot = five_bar()
    with pytest.raises(DynamisError, match="is open by"):
        linearise(robot, robot.home + 0.1)
    with pytest.raises(DynamisError, match="opens the loops"):
        linearise(robot, robot.home, [1.0, 0, 0, 0])
    with pytest.raises(ShapeError, match="qd has shape"):
        linearise(robot, robot.home, [1.0, 0.0])
    with pytest.raises(OptionError, match="drives for 0"):  # no torques hold it
        linearise(four_bar(passive=(True, True, True)), four_bar().home)
