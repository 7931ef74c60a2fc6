"""Simulation of closed mechanisms: closed loops, energy, static friction, stops, drives."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ClosureError, OptionError

from ..closed_mechanisms import five_bar, four_bar, motions

pytestmark = pytest.mark.usefixtures("compiled")

CLOSED = 1e-10  # m or rad, over any run


def rubbing(robot, **friction):
    """The mechanism with friction in the named joints."""
    links = [replace(x, friction=friction.get(x.joint_name, x.friction)) for x in robot.model.links]
    return dy.Robot(replace(robot.model, links=tuple(links)))


def energy(robot, run):
    return robot.kinetic_energy(run.q, run.qd) + robot.potential_energy(run.q)


@pytest.fixture(scope="module")
def fall(compiled):
    """A four-bar that nobody drives, and where it starts."""
    return four_bar(passive=(True, True, True)), motions(four_bar(), 1)[0][0]


ORDERS = {"rk4": 4, "heun": 2, "euler": 1, "semi-implicit-euler": 1}


@pytest.mark.parametrize("integrator", ORDERS)
def test_projection_keeps_the_order_of_the_integrator(fall, integrator):
    """Against steps a tenth as long; closing the loops takes nothing from the order."""
    robot, q0 = fall
    fine = dy.simulate(robot, 0.4, 1e-4, q0=q0, integrator="rk4").q[-1]
    options = {"q0": q0, "integrator": integrator, "check_step": False}
    ends = [dy.simulate(robot, 0.4, h, **options).q[-1] for h in (4e-3, 2e-3, 1e-3)]
    errors = [np.abs(q - fine).max() for q in ends]
    order = np.log2(errors[0] / errors[1]), np.log2(errors[1] / errors[2])
    assert min(order) > ORDERS[integrator] - 0.4


def test_energy_and_loops_over_a_long_run(fall):
    robot, q0 = fall
    run = dy.simulate(robot, 60.0, 1e-3, q0=q0, save_every=100)
    assert np.abs(robot.closure_error(run.q)).max() < CLOSED
    J = robot.closure_jacobian(run.q)
    assert np.abs(np.einsum("kij,kj->ki", J, run.qd)).max() < CLOSED
    total = energy(robot, run)
    assert np.ptp(robot.kinetic_energy(run.q, run.qd)) > 1.0
    assert np.abs(total - total[0]).max() < 1e-5
    coarse, fine = (
        np.abs(np.diff(energy(robot, dy.simulate(robot, 2.0, h, q0=q0)))).sum()
        for h in (2e-3, 1e-3)
    )
    assert coarse / fine > 2**3.5


def test_forward_dynamics_of_the_run_is_its_acceleration(fall):
    robot, q0 = fall
    h = 1e-4
    run = dy.simulate(robot, 0.3, h, q0=q0)
    qdd = robot.forward_dynamics(run.q, run.qd, run.tau)
    slope = (run.qd[2:] - run.qd[:-2]) / (2 * h)
    np.testing.assert_allclose(slope, qdd[1:-1], atol=1e-4 * np.abs(qdd).max())


def test_dormand_prince_agrees(fall):
    robot, q0 = fall
    fine = dy.simulate(robot, 0.5, 1e-4, q0=q0)
    run = dy.simulate(robot, 0.5, 1e-2, q0=q0, integrator="dormand-prince", tolerance=1e-10)
    np.testing.assert_allclose(run.q, fine.q[::100], atol=1e-8)
    assert np.abs(robot.closure_error(run.q)).max() < CLOSED


def test_static_friction_of_a_drive_holds_the_mechanism(fall):
    _, q0 = fall
    plain = four_bar()
    needed = abs(plain.inverse_dynamics(q0, *np.zeros((2, 3)))[0])
    assert needed > 0.1
    for share, holds in ((1.05, True), (0.95, False)):
        rubs = rubbing(plain, joint1=dy.Friction(coulomb=share * needed))
        run = dy.simulate(rubs, 0.5, 1e-3, q0=q0)
        assert run.stuck[:, 0].all() == holds
        assert np.array_equal(run.q[-1], q0) == holds
        if holds:
            np.testing.assert_allclose(run.friction[-1, 0], -plain.inverse_dynamics(
                q0, *np.zeros((2, 3)))[0], rtol=1e-9)  # fmt: skip


@pytest.mark.thorough
def test_static_friction_of_passive_joints_helps_and_is_shared(fall):
    """Each joint alone lets go, all three together hold: more joints than degrees of freedom."""
    _, q0 = fall
    plain = four_bar()
    g = plain.gravity_torque(q0)[0]
    rates = plain.joint_rates(q0, [1.0])  # a joint that turns r times as fast holds r times as much
    each = 0.4 * abs(g) / np.abs(rates)
    names = plain.joint_names
    alone = [
        rubbing(plain, **{n: dy.Friction(coulomb=c)}) for n, c in zip(names, each, strict=True)
    ]
    for robot in alone:
        assert not np.array_equal(dy.simulate(robot, 0.3, 1e-3, q0=q0).q[-1], q0)
    both = {n: dy.Friction(coulomb=c) for n, c in zip(names, each, strict=True)}
    run = dy.simulate(rubbing(plain, **both), 0.3, 1e-3, q0=q0)
    assert np.abs(run.q[-1] - q0).max() < 1e-9
    two = {n: dy.Friction(coulomb=c) for n, c in list(zip(names, each, strict=True))[:2]}
    moved = dy.simulate(rubbing(plain, **two), 0.3, 1e-3, q0=q0)
    assert np.abs(moved.q[-1] - q0).max() > 1e-3


def test_friction_takes_the_energy_and_brings_it_to_rest(fall):
    _, q0 = fall
    robot = rubbing(four_bar(), joint1=dy.Friction(coulomb=0.3), joint3=dy.Friction(coulomb=0.2))
    run = dy.simulate(robot, 8.0, 1e-3, q0=q0)
    total = energy(robot, run)
    assert (np.diff(total) < 1e-8).all()
    assert run.stuck[-1].any()
    assert np.abs(run.qd[-1000:]).max() < 1e-12
    pushed = np.abs(run.friction[-1, [0, 2]])  # held, or as much as friction can
    assert (pushed <= [0.3 + 1e-9, 0.2 + 1e-9]).all()
    assert np.abs(robot.closure_error(run.q)).max() < CLOSED


def test_stops_of_drives_and_passive_joints(fall):
    _, q0 = fall
    plain = four_bar(passive=(True, True, True))
    free = dy.simulate(plain, 1.0, 1e-3, q0=q0)
    for joint in (0, 2):
        edge = q0[joint] + 0.5 * (free.q[:, joint].min() - q0[joint])
        limits = (edge, q0[joint] + 10.0)
        links = [
            replace(x, limits=limits if i == joint else None)
            for i, x in enumerate(plain.model.links)
        ]
        robot = dy.Robot(replace(plain.model, links=tuple(links)))
        run = dy.simulate(robot, 1.0, 1e-3, q0=q0, stops=True)
        assert run.q[:, joint].min() >= edge - 1e-12
        assert np.abs(robot.closure_error(run.q)).max() < CLOSED
        assert (np.diff(energy(robot, run)) < 1e-6).all()
        back = dy.simulate(robot, 1.0, 1e-3, q0=q0, stops=True, restitution=0.5)
        assert np.abs(back.qd).max() > 0 and (np.diff(energy(robot, back)) < 1e-6).all()


def test_controllers_are_of_the_drives():
    robot = five_bar()
    q0 = motions(robot, 1)[0][0]
    goal = q0[list(robot.active)] + [0.1, -0.15]
    law = dy.control.JointPID(400.0, 300.0, 30.0)
    run = dy.simulate(robot, 3.0, 1e-3, q0=q0, controller=law, reference=goal)
    np.testing.assert_allclose(run.q[-1, list(robot.active)], goal, atol=2e-3)
    assert run.reference.q.shape == run.measured.q.shape == (len(run.t), 2)
    assert not run.tau[:, [1, 3]].any()
    assert np.abs(robot.closure_error(run.q)).max() < CLOSED
    own = dy.simulate(
        robot, 0.5, 1e-3, q0=q0, controller=lambda t, q, qd: 400.0 * (goal - q) - 30.0 * qd
    )
    sampled = dy.simulate(
        robot, 0.5, 1e-3, q0=q0, sample_time=2e-3, delay=1e-3,
        controller=lambda t, q, qd: 400.0 * (goal - q) - 30.0 * qd,
    )  # fmt: skip
    for other in (own, sampled):
        assert other.tau.shape == (501, 4) and np.abs(other.q - own.q).max() < 0.02


def test_drives_with_circuits_limits_and_losses():
    robot = five_bar()
    q0 = motions(robot, 1)[0][0]
    drive = dy.Drive(
        gear=-50.0, rotor_inertia=1e-4, efficiency=0.8, limits=(-0.4, 0.4), resistance=1.0,
        inductance=1e-3, torque_constant=0.1, current_bandwidth=500.0,
    )  # fmt: skip
    links = [x if x.passive else replace(x, drive=drive) for x in robot.model.links]
    robot = dy.Robot(replace(robot.model, links=tuple(links)))
    goal = q0[[0, 2]] + 0.2
    law = dy.control.JointPID(400.0, 300.0, 30.0)
    run = dy.simulate(robot, 1.0, 1e-3, q0=q0, controller=law, reference=goal)
    assert np.abs(run.tau).max() <= 0.4 * 50 + 1e-9
    assert np.abs(run.q[-1, [0, 2]] - goal).max() < 0.05
    assert np.abs(robot.closure_error(run.q)).max() < CLOSED


def test_events_and_ensembles(fall):
    robot, q0 = fall

    def low(t, q, qd):
        return q[2] - 2.0

    low.terminal = True
    whole = dy.simulate(robot, 2.0, 1e-3, q0=q0)
    if (whole.q[0, 2] - 2.0) * (whole.q[:, 2] - 2.0).min() < 0:
        run = dy.simulate(robot, 2.0, 1e-3, q0=q0, events=low)
        assert run.events and abs(run.events[0].q[2] - 2.0) < 1e-9
    starts = motions(four_bar(), 5, seed=3)[0]
    many = dy.simulate(robot, 0.3, 1e-3, q0=starts)
    for k in range(5):
        alone = dy.simulate(robot, 0.3, 1e-3, q0=starts[k])
        assert np.array_equal(many.q[k], alone.q)
    values = robot.parameters.values
    heavy = dy.simulate(robot, 0.3, 1e-3, q0=q0, parameters=np.stack([values, 2 * values]))
    np.testing.assert_allclose(heavy.q[0], heavy.q[1], atol=1e-9)  # all masses twice: no difference
    single = dy.simulate(robot, 0.3, 1e-3, q0=starts, dtype="float32")
    np.testing.assert_allclose(single.q, many.q, atol=2e-3)


def test_starts_that_do_not_close_are_refused_or_projected(fall):
    robot, q0 = fall
    off = q0 + np.array([0.0, 0.02, 0.0])
    with pytest.raises(ClosureError, match="q does not close"):
        dy.simulate(robot, 0.1, q0=off)
    with pytest.raises(ClosureError, match="qd opens the loops"):
        dy.simulate(robot, 0.1, q0=q0, qd0=[1.0, 0.0, 0.0])
    run = dy.simulate(robot, 0.1, q0=off, qd0=[1.0, 0.0, 0.0], project=True)
    assert np.abs(robot.closure_error(run.q)).max() < CLOSED
    assert np.abs(run.q[0] - off).max() < 0.05 and run.qd[0].any()
    with pytest.raises(OptionError, match="has no closures"):
        dy.simulate(dy.load("planar-2link"), 0.1, project=True)
    assert np.array_equal(dy.simulate(robot, 0.01).q[0], robot.home)
    sim = dy.Simulator(robot)
    sim.reset(q0)
    sim.step(steps=100)
    assert np.abs(robot.closure_error(sim.q)).max() < CLOSED


def test_a_mechanism_passes_where_its_drives_decide_nothing():
    """A five-bar falls through the line of its couplers: no force is large there."""
    robot = five_bar()
    q0 = robot.assemble([1.4, np.pi - 1.4])[0]
    run = dy.simulate(robot, 1.0, 5e-4, q0=q0)
    assert not run.diverged and np.abs(robot.closure_error(run.q)).max() < CLOSED
    total = energy(robot, run)
    assert np.abs(total - total[0]).max() < 1e-4


@pytest.mark.thorough
def test_errors_metrics_and_pictures_are_of_the_drives(tmp_path):
    robot = five_bar()
    q0 = motions(robot, 1)[0][0]
    goal = q0[[0, 2]] + 0.1
    law = dy.control.JointPID.from_bandwidth(robot, 15.0, q=q0)
    run = dy.simulate(robot, 0.2, 1e-3, q0=q0, controller=law, reference=goal)
    np.testing.assert_array_equal(run.error, run.q[:, [0, 2]] - goal)
    assert run.metrics.joint_names == ("joint1", "joint3")
    assert [x for x in run.to_pandas().columns if x.startswith("error")] == ["error1", "error2"]
    run.plot(path=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000
    noisy = dy.simulate(
        robot, 0.2, 1e-3, q0=q0, controller=law, reference=goal, sensors=dy.Sensors(encoder=1e-3)
    )
    noisy.plot(path=tmp_path / "noisy.png")
    assert noisy.measured.q.shape == (201, 2)


def test_a_loop_in_python_is_of_the_drives():
    robot = five_bar()
    q0 = motions(robot, 1)[0][0]
    goal = q0[[0, 2]] + 0.1
    loop = dy.control.ControlLoop(dy.control.JointPID(50.0, 0.0, 5.0), robot, sample_time=1e-3)
    tau = loop.step(0.0, q0[[0, 2]], [0.0, 0.0], goal)
    np.testing.assert_allclose(tau, [5.0, 5.0])
