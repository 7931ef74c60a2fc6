"""Friction with memory in C: units have the bits of `dy.simulate`, controllers those of Python."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.law import Law
from dynamis.realtime.fmu.export import export_fmu

from .laws_in_c import passes, write
from .test_fmu import Slave, validate_fmu

MEMORY = dy.Memory((1e-3, 1e-2), (3.0, 5.0))
pytestmark = pytest.mark.usefixtures("compiled")


def arm() -> dy.Robot:
    return dy.load("planar-2link").with_friction(0.5, [1.0, 0.0], memory=MEMORY)


def five_bar() -> dy.Robot:
    return dy.load("five-bar").with_friction(0.1, 0.2, memory=MEMORY)


@pytest.mark.parametrize(("robot", "fmi"), [(arm(), "2.0"), (five_bar(), "3.0")])
def test_a_unit_has_the_bits_of_simulate(tmp_path, robot, fmi):
    path = export_fmu(robot, tmp_path / "arm.fmu", fmi, dt=1e-3)
    assert validate_fmu(str(path)) == []
    slave, sim = Slave(path, tmp_path / "x").begin(q0=robot.home), dy.Simulator(robot, 1e-3)
    sim.reset(robot.home)
    rng, drives = np.random.default_rng(0), list(robot.active)
    for k in range(100):
        for part in ("q", "qd"):
            np.testing.assert_array_equal(slave.see(part), getattr(sim, part))
        tau = np.zeros(robot.n)
        tau[drives] = rng.uniform(-20.0, 20.0, len(drives))
        slave.put("tau", tau[drives])
        slave.step(1e-3 * k, 1e-3)
        sim.step(tau)
    assert np.abs(sim.q - robot.home).max() > 2e-3
    slave.end()


LAWS = {
    "forward": dy.control.FeedForward(400.0, 40.0),
    "torque": dy.control.ComputedTorque(400.0, 40.0, 100.0, friction="measured"),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_controller_in_c_is_that_of_python(tmp_path, law):
    move = dy.trajectory.quintic([0, 0], [0.05, -0.04], 0.1)
    passes(write(Law(law, arm(), 0.001, move), tmp_path))
