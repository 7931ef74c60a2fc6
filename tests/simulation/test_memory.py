"""Friction with memory in motion: stop operators of where the joint has been."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.dynamics.elements.friction import HOLD
from tests.simulation.arms import slider, spinner

MEMORY = dy.Memory((1e-3, 5e-3), (2.0, 3.0))


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


def stretch(q, radius):
    """The stop operator, sample by sample."""
    z, found = 0.0, [0.0]
    for step in np.diff(q):
        z = min(max(z + step, -radius), radius)
        found.append(z)
    return np.array(found)


def memory_torque(q, memory):
    pairs = zip(memory.radii, memory.weights, strict=True)
    return sum(w / r * stretch(q, r) for r, w in pairs)


def shaken(friction, dt=1e-3, seconds=2.0, **options):
    robot = slider(friction, mass=1.0)
    force = lambda t: [8.0 * np.sin(7.0 * t)]  # noqa: E731
    return dy.simulate(robot, seconds, dt, torque=force, check_step=False, **options)


def test_the_friction_of_a_run_is_that_of_its_path():
    run = shaken(dy.Friction(viscous=0.3, memory=MEMORY), dt=1e-4)
    q, qd = run.q[:, 0], run.qd[:, 0]
    wanted = memory_torque(q, MEMORY) + 0.3 * qd
    np.testing.assert_allclose(run.friction[1:-1, 0], wanted[1:-1], atol=3 * HOLD * 5.0 + 1e-3)
    assert run.states["bristle"].shape == (len(q), 2)
    assert np.abs(run.states["bristle"]).max(axis=0) == pytest.approx(MEMORY.radii, rel=1e-12)


@pytest.mark.parametrize("coulomb", [0.0, 0.5])
def test_steps_are_of_second_order(coulomb):
    friction = dy.Friction(viscous=0.2, coulomb=coulomb, memory=MEMORY)
    truth = shaken(friction, integrator="dormand-prince", tolerance=1e-11).q[-1, 0]
    errors = [abs(shaken(friction, dt).q[-1, 0] - truth) for dt in (4e-3, 1e-3, 2.5e-4)]
    assert errors[0] < 1e-4 and errors[1] < 6e-6 and errors[2] < 6e-7


@pytest.mark.parametrize("viscous", [0.0, 1.0])
@pytest.mark.parametrize("coulomb", [0.0, 0.4])
def test_held_for_a_minute_to_the_last_bit(coulomb, viscous):
    """Under a load that the elements carry; without any other friction it swings on the softest."""
    friction = dy.Friction(coulomb=coulomb, viscous=viscous, memory=MEMORY)
    robot = slider(friction, mass=0.2, gravity=9.81)
    run = dy.simulate(robot, 90.0, 1e-3, qd0=[0.05], save_every=100, check_step=False)
    late = run.t > 30.0
    if coulomb or viscous:
        assert np.ptp(run.q[late]) == 0.0 and (run.qd[late] == 0.0).all()
        np.testing.assert_allclose(run.friction[late, 0], -0.2 * 9.81, rtol=1e-9)
    else:
        assert np.ptp(run.q[late]) < 2e-3 and abs(run.q[late].mean()) < 0.02


def test_it_dissipates_in_every_closed_loop():
    """The work of friction between two passes of the same place with the same stretch."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        turns = rng.normal(scale=4e-3, size=12)
        path = np.interp(np.linspace(0, 12, 4001), np.arange(13), [*turns, turns[0]])
        path = np.concatenate([path, path[1:], path[1:]])
        tau = memory_torque(path, MEMORY)
        work = np.concatenate([[0.0], np.cumsum(0.5 * (tau[1:] + tau[:-1]) * np.diff(path))])
        last = work[-1] - work[-4001]
        assert last > 0.0


@pytest.mark.parametrize("dt", [5e-3, 1e-3])
def test_energy_is_never_created(dt):
    spring = dy.Spring(kind="torsion", joint="joint1", stiffness=100.0)
    bare = slider(dy.Friction(memory=MEMORY), mass=1.0)
    robot = dy.Robot(replace(bare.model, springs=(spring,)))
    run = dy.simulate(robot, 8.0, dt, q0=[0.2], check_step=False)
    stored = sum(
        0.5 * w / r * run.states["bristle"][:, k] ** 2
        for k, (r, w) in enumerate(zip(MEMORY.radii, MEMORY.weights, strict=True))
    )
    total = run.energy.total + stored
    assert np.diff(total).max() < 2e-6 * total[0] and total[-1] < 1e-3 * total[0]


def test_elements_too_stiff_for_the_step_slip_at_once():
    stiff = dy.Memory((1e-9, 5e-3), (2.0, 3.0))
    run = shaken(dy.Friction(memory=stiff))
    same = shaken(dy.Friction(coulomb=2.0, memory=dy.Memory(5e-3, 3.0)))
    np.testing.assert_allclose(run.q, same.q, atol=1e-12)
    assert run.states["bristle"].shape[1] == 1
    (note,) = run.check()
    assert "1 element of friction with memory ('joint1') slipped at once" in note.what
    assert not shaken(dy.Friction(memory=MEMORY)).check()
    fine = shaken(dy.Friction(memory=MEMORY), 0.05)
    assert fine.states["bristle"].shape[1] == 0 and "dt=" in fine.check()[0].remedy


def test_a_negative_mimic_ratio_turns_it_around():
    """Joint 2 follows joint 1 with ratio -2: its elements are stretched twice as far."""
    robot = dy.load("planar-2link").with_gravity((0, 0, 0))
    links = list(robot.model.links)
    links[1] = replace(links[1], mimic=("joint1", -2.0, 0.1),
                       friction=dy.Friction(memory=MEMORY))  # fmt: skip
    links[0] = replace(links[0], friction=dy.Friction())
    tied = dy.Robot(replace(robot.model, links=tuple(links), configurations={}))
    torque = lambda t: [40.0 * np.sin(9.0 * t)]  # noqa: E731
    run = dy.simulate(tied, 1.0, 2e-4, torque=torque, check_step=False)
    wanted = -2.0 * memory_torque(-2.0 * run.q[:, 0], MEMORY)
    np.testing.assert_allclose(run.friction[1:-1, 0], wanted[1:-1], atol=2e-3)


def test_elastic_joints_have_it_on_their_links():
    drive = dy.Drive(gear=50, rotor_inertia=1e-4, stiffness=500.0, damping=0.1)
    robot = spinner(dy.Friction(viscous=0.1, memory=MEMORY), drive)
    torque = lambda t: [20.0 * np.sin(9.0 * t)]  # noqa: E731
    run = dy.simulate(robot, 1.0, 2e-4, torque=torque, check_step=False)
    wanted = memory_torque(run.q[:, 0], MEMORY) + 0.1 * run.qd[:, 0]
    np.testing.assert_allclose(run.friction[1:-1, 0], wanted[1:-1], atol=5e-3)


def test_arms_of_an_ensemble_have_their_own_past():
    robot = slider(dy.Friction(viscous=0.5, coulomb=0.1, memory=MEMORY), mass=1.0)
    starts = np.array([[0.3], [-0.7], [0.0], [0.05]])
    run = dy.simulate(robot, 1.0, q0=np.zeros((4, 1)), qd0=starts, check_step=False)
    for k, v in enumerate(starts):
        alone = dy.simulate(robot, 1.0, qd0=v, check_step=False)
        np.testing.assert_array_equal(run.q[k], alone.q)


def test_a_simulator_goes_on_where_it_was():
    robot = slider(dy.Friction(viscous=0.5, memory=MEMORY), mass=1.0)
    sim = dy.Simulator(robot, dt=1e-3)
    sim.reset(qd0=[0.05])
    for _ in range(4):
        sim.step(steps=25)
    whole = dy.simulate(robot, 0.1, qd0=[0.05], check_step=False)
    np.testing.assert_array_equal(sim.q, whole.q[-1])
    sim.reset(qd0=[0.05])
    sim.step(steps=100)
    np.testing.assert_array_equal(sim.q, whole.q[-1])
