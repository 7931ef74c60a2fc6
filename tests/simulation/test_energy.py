"""Energy: kept without friction, never gained with it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from tests.random_robots import Cable, build, with_links


@pytest.fixture(scope="module")
def pendulum(compiled):
    return with_links(dy.load("pendulum3"), lambda x, i: replace(x, friction=dy.Friction()))


def drift(run):
    """Largest change of energy, relative to the span of the potential energy."""
    total = run.energy.total
    return np.abs(total - total[0]).max() / np.ptp(run.energy.potential)


def test_rk4_keeps_the_energy_of_the_pendulum(pendulum):
    run = dy.simulate(pendulum, 10.0, 1e-3, [0.0, 0.0, 0.0], save_every=10)
    assert drift(run) < 1e-6


def test_half_the_step_drifts_sixteen_times_less(pendulum):
    """Before chaos sets in: over ten seconds of it the ratio is 30 and more."""
    drifts = [
        drift(dy.simulate(pendulum, 2.0, h, [0.3, 0.2, 0.1], save_every=round(0.02 / h)))
        for h in (4e-3, 2e-3, 1e-3)
    ]
    ratios = np.array(drifts[:-1]) / np.array(drifts[1:])
    assert (ratios > 12).all() and (ratios < 20).all(), ratios


@pytest.mark.parametrize("name", ["planar-2link", "puma560"])
def test_springs_and_loads_keep_it_at_the_order_of_the_integrator(name, compiled):
    bare = with_links(dy.load(name), lambda x, i: replace(x, friction=dy.Friction(), drive=None))
    links = bare.model.links
    spring = {"from_point": (0.3, 0.2, 0.5), "to_point": (0.1, 0.0, 0.05), "to": links[:3][-1].name}
    springs = (
        dy.Spring(**spring, stiffness=80.0, rest_length=0.4),
        dy.Spring(kind="gas", **spring, force=20.0, gas_length=9.0, exponent=1.2, rest_length=0.5),
        dy.Spring(kind="torsion", joint=links[0].joint_name, stiffness=9.0, rest_angle=0.5),
    )
    arm, changes = dy.Robot(replace(bare.model, springs=springs)).with_load(Cable(damping=0.0)), []
    for dt in (4e-3, 2e-3):
        total = dy.simulate(arm, 0.4, dt, q0=[0.3] * arm.n, drives=False).energy.total
        changes.append(np.abs(total - total[0]).max())
    assert changes[0] / changes[1] > 2.0**3.5 and changes[1] < 1e-3


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["rr", "rp", "pr", "rrr"]))
def test_friction_only_takes_energy(seed, kinds):
    """Random arms with dry friction fall from random states."""
    names = tuple({"r": "revolute", "p": "prismatic"}[k] for k in kinds)
    robot = build("standard", names, seed)
    rng = np.random.default_rng(seed)

    def rubbing(link, i):
        dry = {"coulomb": (rng.uniform(0, 20), -rng.uniform(0, 20)), "viscous": rng.uniform(0, 1)}
        law = str(rng.choice(["coulomb", "stribeck", "grotjahn"]))
        return replace(link, friction=dy.Friction(**dry, law=law), drive=None)

    robot = with_links(robot, rubbing)
    q0, qd0 = rng.uniform(-2, 2, robot.n), rng.uniform(-2, 2, robot.n)
    run = dy.simulate(robot, 0.2, 2e-3, q0, qd0)
    total = run.energy.total
    scale = run.energy.kinetic.max() + np.ptp(run.energy.potential)
    assert np.diff(total).max() <= 1e-4 * scale + 1e-12  # error of the integrator in one step
    assert total[-1] <= total[0] + 1e-4 * scale
