"""Teeth of several gears that strike within a step: impacts create no energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamis as dy
from dynamis.simulation.elastic.backlash import Strike, impulses_of
from dynamis.spatial.functions import MATH
from tests.thorough import thorough_but

from .test_elastic import simulated, two_links, two_masses

GAP = 1e-3  # rad, of every gear
ARMS = 50

pytestmark = pytest.mark.usefixtures("compiled")


def free_puma(stiffness: dict[int, float], backlash: float = GAP) -> dy.Robot:
    """A PUMA without friction and gravity, with backlash in some drives."""
    robot = dy.load("puma560").with_friction(0.0, 0.0).with_gravity((0, 0, 0))
    for i in range(robot.n):
        robot = robot.with_drive(i, viscous=0.0, coulomb=0.0)
    for i, K in stiffness.items():
        robot = robot.with_drive(i, stiffness=K, backlash=backlash)
    return robot


def energies(robot: dy.Robot, duration: float, joints: list[int], **options) -> np.ndarray:
    """Energies of arms with random starts relative to the first, motors apart at `joints`."""
    rng, n = np.random.default_rng(1), robot.n
    q0, qd0 = rng.uniform(-1.0, 1.0, (ARMS, n)), rng.normal(size=(ARMS, n))
    apart = np.isin(np.arange(n), joints) * rng.normal(size=(ARMS, n))
    starts = {"q0": q0, "motor0": q0, "qd0": qd0, "motor_rate0": qd0 + apart}
    run = simulated(robot, duration, **starts, **options)
    assert not run.diverged.any()
    return run.energy.total / run.energy.total[:, :1]


@pytest.mark.parametrize("K", [1e8, 1e9])
def test_impacts_of_two_gears_create_no_energy(K):
    """After some 2 000 impacts of every arm; steps of 1 ms cross half of the gap."""
    robot = two_links(K, 0.0, backlash=GAP).with_gravity((0, 0, 0))
    total = energies(robot, 5.0, [0, 1])
    assert total.max() < 1.0 + 1e-2
    rebounds = np.median(total[:, -1])
    assert rebounds > 0.8  # most go on: teeth stay together only where they meet slowly


@pytest.mark.parametrize("K", thorough_but([1e9], [1e8, 1e9]))
def test_impacts_of_six_gears_create_no_energy(K):
    total = energies(free_puma(dict(enumerate([K] * 6))), 3.0, [*range(6)])
    assert total.max() < 1.0 + 1e-3 and np.median(total[:, -1]) > 0.7


def test_hard_gears_beside_soft_and_rigid_ones_create_no_energy():
    """Soft contacts are resolved, and feel the impacts of the hard ones."""
    robot = free_puma({0: 2e3, 1: 1e8, 2: 2e3, 4: 1e9})
    total = energies(robot, 3.0, [0, 1, 2, 4])
    assert total.max() < 1.0 + 1e-3 and np.median(total[:, -1]) > 0.5


def test_one_impact_in_an_arm_keeps_energy():
    """An impact within a step is followed by a flight at other rates: of second order."""
    robot = free_puma({1: 1e9})
    worst = []
    for dt in (1e-3, 2.5e-4):
        total = energies(robot, 1.0, [1], dt=dt)
        worst.append(total.max() - 1.0)
    assert worst[0] < 1e-3 and worst[1] < 0.25 * worst[0] + 1e-9


def impulses(G: np.ndarray, u: np.ndarray, hits: np.ndarray, e: float) -> np.ndarray:
    """Of teeth that strike with the speeds u where `hits` is 1."""
    rows = [Strike(float(a), (1.0 + e) * float(a), 0.0) for a in u]
    return np.array(impulses_of(rows, hits.tolist(), G.tolist(), MATH)[0])


@pytest.mark.parametrize("e", [1.0, 0.6, 0.0])
def test_teeth_that_strike_together_change_energy_by_the_law(e):
    """p u + p G p / 2 = -(1 - e^2) / 2 u^T G^-1 u of the teeth that take part."""
    rng, robot = np.random.default_rng(0), dy.load("puma560")
    for M in robot.mass_matrix(rng.uniform(-3.0, 3.0, (200, 6))):
        G = np.linalg.inv(M) + np.diag(1.0 / rng.uniform(0.1, 5.0, 6))
        u, hits = rng.uniform(0.0, 2.0, 6), rng.integers(0, 2, 6).astype(float)
        p = impulses(G, u, hits, e)
        change, scale = p @ u + 0.5 * p @ G @ p, 0.5 * u @ np.linalg.solve(G, u)
        assert (p <= 0.0).all() and not p[hits == 0.0].any() and change <= 7e-16 * scale
        on = np.flatnonzero(p)
        np.testing.assert_allclose((G @ p)[on], -(1.0 + e) * u[on], atol=1e-12)
        exact = -0.5 * (1.0 - e * e) * u[on] @ np.linalg.solve(G[np.ix_(on, on)], u[on])
        assert change == pytest.approx(exact, abs=1e-14 * scale)


@pytest.mark.parametrize("e", [1.0, 0.6, 0.0])
def test_teeth_that_are_let_go_late_create_no_energy(e):
    """More teeth than ways to move: some sweeps do not find which take part."""
    rng = np.random.default_rng(0)
    for A in rng.normal(size=(300, 6, 3)):
        G, u = A @ A.T + 0.01 * np.eye(6), rng.uniform(0.0, 2.0, 6)
        p = impulses(G, u, np.ones(6), e)
        assert (p <= 0.0).all() and p @ u + 0.5 * p @ G @ p <= -1e-12 * (p @ u)


@pytest.mark.parametrize(
    "seconds", [101.0, pytest.param(1010.0, marks=pytest.mark.thorough)], ids=["1e4", "1e5"]
)
def test_impacts_without_damping_keep_energy(seconds):
    run = simulated(
        two_masses(1e12, backlash=5e-3), seconds, q0=[0.0], qd0=[-0.2857], motor_rate0=[0.7143],
        save_every=10,
    )  # fmt: skip
    total = run.energy.total
    assert np.abs(total / total[0] - 1.0).max() < 1e-9


def test_what_a_gear_with_backlash_transmits():
    """Nothing within the gap; spring and damper beyond it."""
    robot = two_masses(1e4, 0.05, backlash=5e-3)
    run = simulated(robot, 0.05, q0=[0.0], qd0=[0.0], motor_rate0=[1.0])
    drive, d = robot.model.links[0].drive, run.deflection[:, 0]
    assert drive is not None
    over = np.sign(d) * np.maximum(np.abs(d) - 5e-3, 0.0)
    rate = np.where(over != 0.0, (run.motor_rate - run.qd)[:, 0], 0.0)
    np.testing.assert_allclose(
        run.transmitted[:, 0], drive.stiffness * over + drive.damping * rate, rtol=1e-12, atol=1e-9
    )
    assert (over != 0.0).any() and (over == 0.0).any()


# flights after impacts, beside event-located ones


def geared_elbow(gravity=(0, 0, 0), rotor_friction: float = 0.0, link_friction: float = 0.0):
    """A planar arm whose second gear has backlash, and contacts shorter than any step."""
    robot = two_links(1e9, 0.0, backlash=GAP).with_gravity(gravity)
    robot = robot.with_drive(0, stiffness=None, damping=0.0, backlash=0.0)
    for i in range(2):
        robot = robot.with_drive(i, viscous=rotor_friction)
    return robot.with_friction(viscous=link_friction, coulomb=0.0)


def by_events(robot: dy.Robot, duration: float, start: np.ndarray, torque: tuple) -> np.ndarray:
    """q, motor and their rates at the end by DOP853 between impacts that keep energy."""
    free = robot.with_drive(1, stiffness=None, damping=0.0, backlash=0.0)
    drive = robot.model.links[1].drive
    assert drive is not None
    rotor, brake = (drive.gear**2 * x for x in (drive.rotor_inertia, drive.viscous))

    def inertia(q: np.ndarray) -> np.ndarray:
        M = np.zeros((3, 3))
        M[:2, :2] = free.mass_matrix(q)
        M[1, 1] -= rotor
        M[2, 2] = rotor
        return M

    def rate(t, y):
        q, qd = y[:3], y[3:]
        links = free.inverse_dynamics(q[:2], qd[:2], np.zeros(2)) - [0.0, brake * qd[1]]
        push = np.array([torque[0] - links[0], -links[1], torque[1] - brake * qd[2]])
        return np.concatenate([qd, np.linalg.solve(inertia(q[:2]), push)])

    def flank(side: float):
        def event(t, y):
            return side * (y[2] - y[1]) - GAP

        event.terminal, event.direction = True, 1.0
        return event

    t, y, r = 0.0, np.array(start, dtype=float), np.array([0.0, -1.0, 1.0])
    while t < duration:
        found = solve_ivp(
            rate, (t, duration), y, method="DOP853", rtol=1e-12, atol=1e-13,
            events=[flank(1.0), flank(-1.0)],
        )  # fmt: skip
        t, y = found.t[-1], found.y[:, -1].copy()
        if found.status == 1:
            way = np.linalg.solve(inertia(y[:2]), r)
            y[3:] -= 2.0 * (r @ y[3:]) / (r @ way) * way
    return y


FLIGHTS = {  # robot, torques, largest error at 1 ms
    "free": (geared_elbow(), (0.0, 0.0), 3e-5),
    "gravity and torques": (geared_elbow((0, -9.81, 0)), (20.0, 5.0), 1e-3),
    "viscous friction": (geared_elbow((0, 0, 0), 3e-4, 5.0), (0.0, 0.0), 2e-2),
}


@pytest.mark.parametrize("name", FLIGHTS)
def test_arms_fly_on_after_impacts_as_between_events(name):
    """Impacts within steps are followed by what their rates do: of second order."""
    robot, torque, near = FLIGHTS[name]
    exact = by_events(robot, 0.05, np.array([0.3, 0.4, 0.4, 1.5, -2.0, -1.6]), torque)
    errors = []
    for dt in (1e-3, 1.25e-4):
        run = simulated(
            robot, 0.05, dt=dt, q0=[0.3, 0.4], motor0=[0.3, 0.4], qd0=[1.5, -2.0],
            motor_rate0=[1.5, -1.6], torque=torque, integrator="ros34pw2",
        )  # fmt: skip
        end = [*run.q[-1], run.motor[-1, 1], *run.qd[-1], run.motor_rate[-1, 1]]
        errors.append(np.abs(end - exact).max())
    assert errors[0] < near and errors[1] < errors[0] / 40.0


def test_impacts_keep_the_angular_momentum_of_the_arm():
    robot = geared_elbow()
    run = simulated(
        robot, 0.5, q0=[0.3, 0.4], motor0=[0.3, 0.4], qd0=[1.5, -2.0], motor_rate0=[1.5, -1.6],
        integrator="ros34pw2",
    )  # fmt: skip
    found = np.einsum("ij,ij->i", robot.mass_matrix(run.q)[:, 0], run.qd)
    assert np.abs(found / found[0] - 1.0).max() < 1e-6


def test_impacts_of_one_branch_leave_the_other_alone():
    """Two arms on one base have nothing in common but the solution of their equations."""
    drive = dy.Drive(gear=50, rotor_inertia=4e-5, stiffness=1e9, backlash=GAP)
    arm = {"mass": 3.0, "com": (0.2, 0, 0), "inertia": (0.04, 0.04, 0.04), "axis": (0, 0, 1)}
    links = [
        dy.Link(name="left", **arm),
        dy.Link(name="hand", parent="left", xyz=(0.4, 0, 0), **arm, drive=drive),
        dy.Link(name="right", **arm),
    ]
    both = dy.Robot.from_dh("two arms", convention="urdf", gravity=(0, -9.81, 0), links=links)
    start, apart = np.array([0.3, 0.4, -0.5]), np.array([0.0, 0.7, 0.0])
    runs = [
        simulated(
            both, 0.3, q0=start, motor0=start, qd0=[0.5, -1.0, 0.8],
            motor_rate0=np.array([0.5, -1.0, 0.8]) + rate, integrator="ros34pw2",
        )
        for rate in (apart, 0.0 * apart)
    ]  # fmt: skip
    assert np.ptp(np.sign(np.diff(runs[0].motor_rate[:, 1] - runs[0].qd[:, 1]))) > 0.0
    np.testing.assert_allclose(runs[0].q[:, 2], runs[1].q[:, 2], rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(runs[0].qd[:, 2], runs[1].qd[:, 2], rtol=0.0, atol=1e-12)
