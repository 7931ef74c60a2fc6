"""Energy: kept without friction, never gained with it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from tests.random_robots import build


def frictionless(robot):
    links = tuple(replace(link, friction=dy.Friction()) for link in robot.model.links)
    return dy.Robot(replace(robot.model, links=links))


@pytest.fixture(scope="module")
def pendulum(compiled):
    return frictionless(dy.load("pendulum3"))


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


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["rr", "rp", "pr", "rrr"]))
def test_friction_only_takes_energy(seed, kinds):
    """Random arms with dry friction fall from random states."""
    names = tuple({"r": "revolute", "p": "prismatic"}[k] for k in kinds)
    robot = build("standard", names, seed)
    rng = np.random.default_rng(seed)
    links = tuple(
        replace(
            link,
            friction=dy.Friction(
                viscous=rng.uniform(0, 1),
                coulomb=(rng.uniform(0, 20), -rng.uniform(0, 20)),
                law=str(rng.choice(["coulomb", "stribeck", "grotjahn"])),
            ),
            drive=None,
        )
        for link in robot.model.links
    )
    robot = dy.Robot(replace(robot.model, links=links))
    q0, qd0 = rng.uniform(-2, 2, robot.n), rng.uniform(-2, 2, robot.n)
    run = dy.simulate(robot, 0.2, 2e-3, q0, qd0)
    total = run.energy.total
    scale = run.energy.kinetic.max() + np.ptp(run.energy.potential)
    assert np.diff(total).max() <= 1e-4 * scale + 1e-12  # error of the integrator in one step
    assert total[-1] <= total[0] + 1e-4 * scale
