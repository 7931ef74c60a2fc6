"""Friction by temperature: robots warm and cold, heating in simulation, identification."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamis as dy
from dynamis.errors import DynamisError
from tests.simulation.arms import slider

SLOPE = -0.012


def thermal(robot, **friction):
    own = {"viscous": 4.0, "coulomb": 1.0, "law": "smooth"}
    own |= {"temperature_slope": SLOPE, "reference_temperature": 30.0, **friction}
    own |= {"velocity": 0.05} if own["law"] == "smooth" else {}
    links = [replace(x, friction=dy.Friction(**own)) for x in robot.model.links]
    return dy.Robot(replace(robot.model, links=tuple(links)))


def state(n, seed=0, count=5):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, count, n))


@pytest.mark.parametrize("code", ["on", "off"])
def test_a_simulated_joint_warms_up(code, monkeypatch):
    """A mass dragged over a rail: the motion and both rises by an integrator of their own."""
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    gain, time = (0.05, 0.2), (2.0, 10.0)
    rubs = dy.Friction(
        viscous=20.0, offset=1.0, law="smooth", coulomb=5.0, velocity=0.2,
        temperature_slope=-0.01, heating=gain, heating_time=time,
    )  # fmt: skip
    arm = slider(rubs, mass=2.0)

    def rate(t, x):
        _, v, a, b = x
        viscous = 20.0 * max(0.0, 1.0 - 0.01 * (a + b))
        friction = viscous * v + 5.0 * np.tanh(v / 0.2)
        rises = [
            (g * friction * v - rise) / s for g, s, rise in zip(gain, time, (a, b), strict=True)
        ]
        return [v, (60.0 - friction - 1.0) / 2.0, *rises]

    run = dy.simulate(arm, 3.0, dt=1e-3, torque=[60.0])
    exact = solve_ivp(rate, (0.0, 3.0), [0.0] * 4, rtol=1e-10, atol=1e-10).y[:, -1]
    found = [run.q[-1, 0], run.qd[-1, 0], *run.states["warmth"][-1]]
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    assert run.states["warmth"][-1].sum() > 5.0


def test_a_joint_that_sticks_stays_cold_and_one_that_slides_warms():
    rubs = dy.Friction(coulomb=10.0, viscous=5.0, temperature_slope=-0.01, heating=(1.0, 1.0))
    assert not dy.simulate(slider(rubs), 0.5, torque=[9.0]).states["warmth"].any()
    assert dy.simulate(slider(rubs), 0.5, torque=[20.0]).states["warmth"][-1].min() > 0.0


def test_bad_temperatures_are_refused():
    for options, word in (
        ({"heating": (0.1, -0.1)}, "heating is -0.1, expected >= 0"),
        ({"heating_time": (0.0, 10.0)}, "above 0"),
        ({"heating": 0.1}, "expected 2 numbers"),
        ({"temperature_slope": np.nan}, "temperature_slope"),
    ):
        with pytest.raises(DynamisError, match=word):
            dy.Friction(**options)
    arm = thermal(dy.load("puma560"))
    with pytest.raises(DynamisError, match="no viscous friction is left"):
        arm.at_temperature(500.0)
    for wrong in ([1.0, 2.0], np.nan, "hot"):
        with pytest.raises(DynamisError, match="temperature"):
            arm.at_temperature(wrong)
    log = dy.Log(t=[0.0, 1.0], q=np.zeros((2, 6)), tau=np.zeros((2, 6)))
    with pytest.raises(DynamisError, match="friction by temperature"):
        log.with_temperature(dy.load("ur10e"))
