"""Dry friction: what holds does not move at all, what slides keeps the order of its integrator."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.model.model import Model
from tests.simulation.arms import GRAVITY, bar, order, pair, slider, spinner, transitions
from tests.thorough import thorough_but

LIMIT = 5.0
LONG, DT = 60.0, 1e-3
GEARED = dy.Drive(gear=-50.0, rotor_inertia=1e-4, coulomb=(0.1, -0.06))  # 5 and -3 at the joint

# name: (arm, largest torque up, largest torque down)
HELD = {
    "revolute": (lambda: spinner(dy.Friction(coulomb=LIMIT)), LIMIT, -LIMIT),
    "prismatic": (lambda: slider(dy.Friction(coulomb=LIMIT)), LIMIT, -LIMIT),
    "asymmetric": (lambda: slider(dy.Friction(coulomb=(LIMIT, -1.0))), LIMIT, -1.0),
    "offset": (lambda: slider(dy.Friction(coulomb=LIMIT, offset=2.0)), LIMIT + 2, -LIMIT + 2),
    "stribeck": (
        lambda: slider(dy.Friction(coulomb=LIMIT, law="stribeck", static_ratio=1.4)),
        1.4 * LIMIT,
        -1.4 * LIMIT,
    ),
    "grotjahn": (
        lambda: slider(dy.Friction(viscous=1.0, coulomb=LIMIT, law="grotjahn", ratio=0.5)),
        LIMIT,
        -LIMIT,
    ),
    "gravity": (
        lambda: slider(dy.Friction(coulomb=30.0), gravity=GRAVITY),
        30.0 + 2 * GRAVITY,
        -30.0 + 2 * GRAVITY,
    ),
    "negative gear": (lambda: spinner(drive=GEARED), 5.0, -3.0),
}


def tree():
    """A trunk with two arms; the second follows the first backwards (mimic)."""
    body = {"mass": 1.0, "com": (0.3, 0, 0), "inertia": (0.01, 0.02, 0.02)}
    links = (
        dy.Link(axis=(0, 0, 1), friction=dy.Friction(coulomb=3.0), **body),
        dy.Link(parent="link1", xyz=(0.5, 0, 0), axis=(0, 1, 0), **body,
                friction=dy.Friction(coulomb=(4.0, -2.0))),
        dy.Link(parent="link1", xyz=(-0.5, 0, 0), axis=(0, 1, 0), **body,
                friction=dy.Friction(coulomb=(1.0, -6.0)), mimic=("joint2", -0.5, 0.0)),
    )  # fmt: skip
    return dy.Robot(Model(name="tree", convention="urdf", links=links, gravity=(0, 0, 0)))


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Long runs."""


@pytest.mark.parametrize("name", HELD)
def test_a_loaded_joint_below_its_limit_does_not_move_at_all(name):
    make, up, down = HELD[name]
    robot = make()
    for load in (0.999 * up - 0.001 * down, 0.999 * down - 0.001 * up + 0.002 * up):
        run = dy.simulate(robot, LONG, DT, torque=[load], save_every=10_000)
        assert (run.q == 0.0).all() and (run.qd == 0.0).all()
        assert run.stuck.all()
        np.testing.assert_allclose(run.friction + robot.gravity_torque(run.q), load, rtol=1e-12)


@pytest.mark.parametrize("name", HELD)
def test_it_breaks_away_at_its_limit(name):
    make, up, down = HELD[name]
    robot = make()
    for limit, other in ((up, down), (down, up)):
        middle, span = 0.5 * (up + down), limit - 0.5 * (up + down)
        ramp = lambda t, m=middle, s=span: [m + s * (0.99 + 0.02 * t)]  # noqa: E731
        run = dy.simulate(robot, 1.0, DT, torque=ramp)
        first = np.argmax(run.qd[:, 0] != 0.0)
        assert first > 0
        broke = run.tau[first, 0]
        assert abs(broke - limit) < 1e-3 * abs(limit - other)
        assert np.sign(run.qd[-1, 0]) == np.sign(limit - other)
        assert transitions(run.stuck)[0] == 1


def test_a_tree_with_a_mimic_joint_holds():
    """The leader feels (4 + 0.5 * 6) up and -(2 + 0.5 * 1) down."""
    robot = tree()
    for load in ([2.99, 6.99], [-2.99, -2.49], [2.99, -2.49]):
        run = dy.simulate(robot, LONG, DT, torque=load, save_every=10_000)
        assert (run.q == 0.0).all() and run.stuck.all()
    for load in ([0.0, 7.01], [0.0, -2.51], [3.01, 0.0], [-3.01, 0.0]):
        run = dy.simulate(robot, 0.05, DT, torque=load)
        moved = np.array(load) != 0
        assert (np.sign(run.q[-1, moved]) == np.sign(load)[moved]).all()


@pytest.fixture(scope="module")
def rubbing():
    """Two bars; the first rubs little, the second more."""
    return pair(bar(dy.Friction(coulomb=1.0)), bar(dy.Friction(coulomb=4.0)), gravity=(0, 0, 0))


def test_a_joint_breaks_away_because_another_one_moves(rubbing):
    """The torque of joint 2 alone would never move it."""
    held = dy.simulate(rubbing, 0.3, DT, torque=[0.9, 3.0])
    assert (held.q == 0.0).all()
    gentle = dy.simulate(rubbing, 0.3, DT, torque=[1.5, 0.0])
    assert (gentle.q[:, 1] == 0.0).all() and gentle.q[-1, 0] > 0
    np.testing.assert_array_equal(gentle.stuck[-1], [False, True])
    strong = dy.simulate(rubbing, 0.3, DT, torque=[30.0, 0.0])
    assert strong.q[-1, 0] > 0 and strong.q[-1, 1] < -1e-3


def test_held_joints_carry_what_the_moving_ones_put_on_them(rubbing):
    """friction = tau - (M qdd + C qd + g), whoever holds."""
    run = dy.simulate(rubbing, 0.3, DT, torque=[1.5, 0.5])
    M = rubbing.mass_matrix(run.q)
    qdd = np.zeros_like(run.q)
    qdd[:, 0] = np.gradient(run.qd[:, 0], run.t, edge_order=2)
    rigid = np.einsum("kij,kj->ki", M, qdd)
    C = np.einsum("kij,kj->ki", rubbing.coriolis_matrix(run.q, run.qd), run.qd)
    np.testing.assert_allclose(run.friction, run.tau - rigid - C, atol=1e-5)
    assert (np.abs(run.friction) <= np.array([1.0, 4.0]) + 1e-12).all()


def test_no_chatter(rubbing):
    """A swing that dies out holds joint after joint, each a few times only, and then for good."""
    robot = pair(bar(dy.Friction(coulomb=6.0)), bar(dy.Friction(coulomb=3.0)))
    run = dy.simulate(robot, 20.0, DT, [0.5, 0.4], save_every=1)
    assert run.stuck[-1].all()
    turns = np.sum(np.diff(np.sign(run.qd[:, :]), axis=0) != 0, axis=0)
    assert (transitions(run.stuck) <= turns + 1).all()
    assert (transitions(run.stuck) < 40).all()
    end = run.t[np.argmax(run.stuck.all(axis=1))]
    still = run.t > end + 0.5
    assert run.stuck[still].all() and (np.ptp(run.q[still], axis=0) == 0.0).all()


def test_sliding_keeps_order_four_between_events():
    """Both joints slide all the time: no event."""
    robot = pair(bar(dy.Friction(viscous=0.1, coulomb=2.0)), bar(dy.Friction(coulomb=1.0)))
    start = {"q0": [0.2, 0.3], "qd0": [-3.0, -3.0]}
    runs = [dy.simulate(robot, 0.16, 0.02 / 2**k, **start, save_every=2**k) for k in range(4)]
    assert (runs[0].qd < 0).all()
    truth = dy.simulate(robot, 0.16, 0.02 / 64, **start, save_every=64)
    errors = [np.abs(run.q - truth.q).max() for run in runs]
    np.testing.assert_allclose(order(errors), 4.0, atol=0.35)


@pytest.mark.parametrize("v0", [1.0, -0.7])
def test_a_box_on_an_incline_stops_where_it_should(v0):
    """It slides v0^2 / (2 a) up or down, a = (coulomb +- m g sin) / m, and stays."""
    mass, weight, coulomb = 2.0, 1.5, 8.0
    robot = slider(dy.Friction(coulomb=coulomb), mass=mass, gravity=weight / mass)
    a = (coulomb + np.sign(v0) * weight) / mass
    way = np.sign(v0) * v0**2 / (2 * a)
    for h in (1e-2, 7e-3, 1e-3):
        run = dy.simulate(robot, 1.0, h, qd0=[v0])
        assert run.q[-1, 0] == pytest.approx(way, abs=1e-12)  # an even slow-down is exact
        stopped = run.t >= abs(v0) / a + 2 * h
        assert (run.q[stopped, 0] == run.q[-1, 0]).all() and run.stuck[stopped].all()


def test_viscous_slow_down_stops_to_second_order():
    """m v' = -c - b v stops at (m / b) (v0 - (c / b) log(1 + b v0 / c))."""
    m, b, c, v0 = 2.0, 3.0, 4.0, 1.0
    robot = slider(dy.Friction(viscous=b, coulomb=c), mass=m)
    way = m / b * (v0 - c / b * np.log(1 + b * v0 / c))
    for h in (1e-2, 5e-3, 1e-3):
        error = abs(dy.simulate(robot, 1.0, h, qd0=[v0]).q[-1, 0] - way)
        assert error < 2.0 * h**2, h
    adaptive = dy.simulate(robot, 1.0, 0.01, qd0=[v0], integrator="dormand-prince")
    assert adaptive.q[-1, 0] == pytest.approx(way, abs=1e-8)
    assert adaptive.stuck[-1].all()


def test_an_oscillating_load_passes_through_zero_without_harm():
    """A sinus above the limit: hold, slide, hold; the same at a tenth of the step."""
    robot = slider(dy.Friction(coulomb=LIMIT))
    load = {"torque": lambda t: [8.0 * np.sin(6 * t)]}
    runs = [dy.simulate(robot, 2.0, h, save_every=round(2e-2 / h), **load) for h in (2e-3, 2e-4)]
    adaptive = dy.simulate(robot, 2.0, 2e-2, integrator="dormand-prince", **load)
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=2e-4)
    np.testing.assert_allclose(runs[1].q, adaptive.q, atol=1e-4)


def test_parameters_may_bring_friction_the_model_does_not_have():
    """The ensemble's own friction holds, and `stuck` says so."""
    robot = slider()
    values = np.array(robot.parameters.values)
    rough = values.copy()
    rough[[i for i, n in enumerate(robot.parameters.names) if "coulomb" in n]] = [5.0, -5.0]
    run = dy.simulate(robot, 0.1, DT, torque=[4.0], parameters=np.stack([values, rough]))
    assert run.q[0, -1, 0] > 0 and (run.q[1] == 0.0).all()
    assert not run.stuck[0].any() and run.stuck[1].all()


def test_joints_that_only_shared_motors_hold():
    """A coupled wrist: joint 2 has no friction of its own, the motor it shares with 1 holds it."""
    links = [bar(drive=dy.Drive(gear=10.0, coulomb=0.1)) for _ in range(2)]
    robot = pair(*links, gravity=(0, 0, 0))
    coupled = dy.Robot(replace(robot.model, gear_matrix=((10.0, 0.0), (5.0, 10.0))))
    run = dy.simulate(coupled, 0.5, DT, torque=(0.0, 0.9))
    assert (run.q == 0.0).all() and run.stuck.all()
    assert dy.simulate(coupled, 0.5, DT, torque=(0.0, 1.1)).q[-1, 1] > 0.0
    assert dy.simulate(coupled, 0.5, DT, torque=(0.0, 3.5)).q[-1, 1] > 0.05


@pytest.mark.parametrize("c", thorough_but([0.05], [1e-9, 0.05, 1.0]))
def test_reversals_cost_next_to_nothing(c):
    """A pendulum that swings through zero many times: RK4 beside located events."""
    robot = pair(*(bar(friction=dy.Friction(coulomb=c)) for _ in range(2)), gravity=(0, -9.81, 0))
    exact = dy.simulate(
        robot, 2.0, 1e-2, q0=[0.3, 0.2], integrator="dormand-prince", tolerance=1e-11
    )
    errors = [
        np.abs(dy.simulate(robot, 2.0, h, q0=[0.3, 0.2]).q[-1] - exact.q[-1]).max()
        for h in (4e-3, 1e-3)
    ]
    assert errors[1] < 5e-5 and errors[1] < errors[0] / 4  # second order or better
    falling = dy.simulate(robot, 2.0, 1e-3, q0=[0.3, 0.2]).energy.total
    assert np.diff(falling).max() < 1e-9
