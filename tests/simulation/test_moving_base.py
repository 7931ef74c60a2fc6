"""Arms on bases that move: a cart, a ship, an IMU; seen from the base and from the ground."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.model.pose import Pose

from ..dynamics.test_moving_base import on_six_joints
from ..random_robots import build, close
from .arms import GRAVITY, bar, pair

MASS, LENGTH = 2.0, 0.7


def pendulum():
    """A point mass on a rod, at rest downwards at q = 0, in the plane of x and z (downwards)."""
    link = dy.Link(a=LENGTH, mass=MASS, com=(0, 0, 0), inertia=(0, 0, 0))
    return dy.Robot.from_dh("p", convention="standard", links=[link], gravity=(GRAVITY, 0, 0))


def test_a_pendulum_on_a_cart_that_accelerates_evenly():
    """It swings about the tilted apparent vertical, and its energy about that is kept."""
    a = 4.0
    run = dy.simulate(pendulum(), 3.0, dt=1e-3, base_motion=[0] * 7 + [a, 0])
    lean = -np.arctan2(a, GRAVITY)  # about z: the cart goes along y
    apparent = np.hypot(a, GRAVITY)
    height = apparent / LENGTH * (1.0 - np.cos(run.q[:, 0] - lean))
    start = apparent / LENGTH * (1.0 - np.cos(lean))
    close(0.5 * run.qd[:, 0] ** 2 + height, np.full(len(run.t), start), 1e-9)
    assert run.q.min() == pytest.approx(2 * lean, abs=1e-3)
    force = run.reactions.values[:, 0]
    along = MASS * (apparent * np.cos(run.q[:, 0] - lean) + LENGTH * run.qd[:, 0] ** 2)
    close(np.linalg.norm(force[:, :2], axis=1), np.abs(along), 1e-9)


def test_a_pendulum_on_a_cart_that_swings_is_the_closed_form():
    """l qdd = -g sin q - a(t) cos q, by another integrator."""

    def cart(t):
        return 3.0 * np.sin(5.0 * t)

    run = dy.simulate(
        pendulum(), 2.0, dt=1e-3, q0=[0.4], base_motion=lambda t: [0] * 7 + [cart(t), 0]
    )

    def rate(t, y):
        return y[1], -(GRAVITY * np.sin(y[0]) + cart(t) * np.cos(y[0])) / LENGTH

    found = solve_ivp(rate, (0, 2), [0.4, 0], "DOP853", run.t, rtol=1e-13, atol=1e-13)
    close(run.q[:, 0], found.y[0], 1e-9)
    close(run.qdd[:, 0], [rate(*x)[1] for x in zip(run.t, found.y.T, strict=True)], 1e-9)


def ship(t):
    """Roll, pitch, yaw, heave, surge and sway, and their first two derivatives."""
    size = np.array([0.3, 0.2, 0.5, 0.35, 0.2, 0.1])
    w, phase = np.array([0.7, 0.9, 1.1, 1.3, 0.8, 0.5]), np.arange(6.0)
    angle = w * t + phase
    return size * np.sin(angle), size * w * np.cos(angle), -size * w * w * np.sin(angle)


def test_an_arm_on_a_rolling_ship_is_one_whose_six_joints_follow_the_ship():
    """An independent simulation: accelerations of the arm on six more joints, by SciPy."""
    robot = build("urdf", ["revolute"] * 3, 5)
    links = tuple(
        replace(x, friction=dy.Friction(viscous=2.0), drive=None) for x in robot.model.links
    )
    robot = dy.Robot(replace(robot.model, base=Pose(), links=links, gravity=(0, 0, -GRAVITY)))
    taller = on_six_joints(robot)
    q0, tau = np.array([0.2, -0.4, 0.6]), np.array([1.0, -2.0, 0.5])
    motion = dy.trajectory.BaseMotion(Ship())
    run = dy.simulate(robot, 2.0, dt=5e-4, q0=q0, torque=tau, base_motion=motion)
    order = [0, 1, 2, 5, 4, 3]

    def rate(t, y):
        s, sd, sdd = (part[order] for part in ship(t))
        x, xd = np.concatenate([s, y[:3]]), np.concatenate([sd, y[3:]])
        M = taller.mass_matrix(x)
        h = taller.inverse_dynamics(x, xd, np.zeros(9))
        return [*y[3:], *np.linalg.solve(M[6:, 6:], tau - h[6:] - M[6:, :6] @ sdd)]

    found = solve_ivp(rate, (0, 2), [*q0, 0, 0, 0], "DOP853", run.t, rtol=1e-12, atol=1e-12)
    close(run.q, found.y[:3].T, 1e-9)
    close(run.qd, found.y[3:].T, 1e-9)
    s, sd, sdd = (np.array([ship(t)[k][order] for t in run.t]) for k in range(3))
    whole = [np.hstack(x) for x in ((s, run.q), (sd, run.qd), (sdd, run.qdd))]
    close(run.reactions.values, taller.joint_reactions(*whole)[:, 6:], 1e-9)


class Ship(dy.trajectory.Trajectory):
    """The motion of the ship as a trajectory."""

    n, duration, endless = 6, 2.0, True

    def at(self, t, fn=None):
        rows = [ship(x) for x in np.ravel(t)]
        return tuple([np.reshape(column, np.shape(t)) for column in np.array(part).T]
                     for part in zip(*rows, strict=True))  # fmt: skip


def test_the_imu_of_the_ship_says_the_same():
    robot, t = pair(), np.linspace(0.0, 1.0, 1001)
    motion = dy.trajectory.BaseMotion(Ship())
    rows = motion.rows(robot, t)
    imu = dy.trajectory.BaseMotion.from_imu(t, rows[:, :3], rows[:, 6:] - robot.gravity)
    runs = [dy.simulate(robot, 1.0, dt=1e-3, base_motion=x) for x in (motion, imu, rows)]
    close(runs[1].q, runs[0].q, 1e-8)
    close(runs[2].q, runs[0].q, 1e-3)  # rows are held for a step
    at_rest = dy.simulate(robot, 1.0, dt=1e-3)
    assert np.abs(runs[0].q - at_rest.q).max() > 0.05


@pytest.mark.thorough
def test_ensembles_stops_and_elastic_joints_move_along():
    robot, base = (
        pair(bar(limits=(-1.0, 1.0)), bar(limits=(-1.0, 1.0))),
        [0, 0, 0, 0, 0, 0, 9, 0, 0],
    )
    many = dy.simulate(robot, 0.5, dt=1e-3, q0=np.zeros((3, 2)), base_motion=base, stops=True)
    one = dy.simulate(robot, 0.5, dt=1e-3, base_motion=base, stops=True)
    assert np.array_equal(many.q[1], one.q) and np.abs(one.q).max() < 1.0 + 1e-9
    per_arm = np.array([base, np.zeros(9)])[:, None]
    each = dy.simulate(robot, 0.5, dt=1e-3, base_motion=per_arm, stops=True)
    assert np.array_equal(each.q[0], one.q) and not np.array_equal(each.q[1], one.q)
    soft = robot
    for i in range(2):
        soft = soft.with_drive(i, rotor_inertia=0.1, stiffness=1e5, damping=50.0)
    stiff = robot.with_drive(0, rotor_inertia=0.1).with_drive(1, rotor_inertia=0.1)
    a, b = (dy.simulate(x, 0.5, dt=1e-4, base_motion=base) for x in (soft, stiff))
    close(a.q, b.q, 2e-3)
    assert np.array_equal(pickle.loads(pickle.dumps(one)).reactions.values, one.reactions.values)


def test_what_is_refused():
    with pytest.raises(ShapeError, match="base_motion"):
        dy.simulate(pair(), 1.0, base_motion=[1, 2, 3])
    with pytest.raises(OptionError, match=r"base_motion .*holds nan"):
        dy.simulate(pair(), 0.01, base_motion=lambda t: [np.nan] * 9)
    short = dy.trajectory.BaseMotion.from_imu(np.arange(5) / 10, np.zeros((5, 3)), np.zeros((5, 3)))
    with pytest.raises(OptionError, match=r"recorded 0 to 0\.4 s"):
        dy.simulate(pair(), 1.0, base_motion=short)


def spatial_arm():
    """Three joints with masses, on the deck."""
    one = dy.Link(d=0.4, alpha="pi/2", mass=8.0, com=(0, -0.1, 0.02), inertia=(0.2, 0.1, 0.2))
    two = dy.Link(a=0.6, mass=5.0, com=(-0.3, 0.03, 0.02), inertia=(0.02, 0.2, 0.2))
    three = dy.Link(a=0.4, mass=3.0, com=(-0.2, 0.02, -0.03), inertia=(0.01, 0.05, 0.05))
    links = [one, two, three]
    return dy.Robot.from_dh("deck", convention="standard", links=links)


def test_least_squares_with_and_without_telling_the_motion_of_the_base():
    """Base parameters from torques on a ship: exact with its motion, off without."""
    robot, motion = spatial_arm(), dy.trajectory.BaseMotion(Ship())
    exciting = dy.trajectory.fourier(np.full((3, 3), 0.9), np.eye(3), 2.0, [0.2, 0.1, -0.2])
    t = np.linspace(0.0, 2.0, 201)
    state, base = exciting(t), motion.rows(robot, t)
    tau = robot.inverse_dynamics(*state, base_motion=base)
    x = np.array(robot.parameters.values)
    Y = robot.regressor(*state, base_motion=base).reshape(-1, len(x))
    told = np.linalg.lstsq(Y, tau.ravel(), rcond=1e-10)[0]
    plain = robot.regressor(*state).reshape(-1, len(x))
    blind = np.linalg.lstsq(plain, tau.ravel(), rcond=1e-10)[0]
    other = exciting(t + 0.37)
    expected, size = robot.inverse_dynamics(*other), np.abs(tau).max()
    close(robot.regressor(*other) @ told, expected, 1e-8, size)
    assert np.abs(robot.regressor(*other) @ blind - expected).max() > 0.05 * size
    assert np.linalg.matrix_rank(Y, 1e-10 * np.linalg.norm(Y)) > np.linalg.matrix_rank(
        plain, 1e-10 * np.linalg.norm(plain)
    )  # the base moves inertias that the joints alone do not show


@pytest.mark.thorough
def test_a_law_that_knows_the_motion_of_the_base():
    """Its torque fed forward beside a law that takes the base to be at rest."""
    robot, motion = spatial_arm(), dy.trajectory.BaseMotion(Ship())
    move = dy.trajectory.quintic([0.2, 0.1, -0.2], [0.8, 0.9, -0.9], 1.5)

    def felt(t):
        state = move(t)
        moving = robot.inverse_dynamics(*state, base_motion=motion.rows(robot, t))
        return moving - robot.inverse_dynamics(*state)

    law = dy.control.ComputedTorque(kp=100.0, kd=20.0, model=robot)
    given = {"controller": law, "reference": move, "base_motion": motion, "dt": 1e-3}
    blind = dy.simulate(robot, 2.0, **given)
    knows = dy.simulate(robot, 2.0, torque=felt, **given)
    assert np.abs(blind.error).max() > 0.01
    assert np.abs(knows.error).max() < 1e-2 * np.abs(blind.error).max()
