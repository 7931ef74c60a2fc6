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


def replace_viscous(robot, viscous):
    links = [replace(x, friction=replace(x.friction, viscous=viscous)) for x in robot.model.links]
    return dy.Robot(replace(robot.model, links=tuple(links)))


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


def log_of_a_warming_arm(seed=0):
    """A long motion of two joints whose friction falls by a third as they warm up."""
    arm = thermal(
        dy.load("planar-2link"), viscous=30.0, heating=(0.04, 0.1), heating_time=(20.0, 60.0)
    )
    t = np.arange(0.0, 120.0, 0.01)
    rng = np.random.default_rng(seed)
    w, phase = rng.uniform(1.0, 4.0, (4, 2)), rng.uniform(0.0, 6.0, (4, 2))
    angle = t[:, None, None] * w + phase
    q = 0.5 * np.sin(angle).sum(axis=1)
    qd, qdd = (0.5 * w * np.cos(angle)).sum(axis=1), (-0.5 * w * w * np.sin(angle)).sum(axis=1)
    log = dy.Log(t=t, q=q, qd=qd, tau=np.zeros_like(q)).with_temperature(arm)
    tau = arm.inverse_dynamics(q, qd, qdd, temperature=log.temperature)
    return replace(log, tau=tau + 0.01 * rng.normal(size=q.shape))


def test_a_log_gets_the_temperatures_of_the_simulation(compiled):
    """By an integrator of its own, from the velocities alone; friction falls as it warms up."""
    rubs = dy.Friction(
        viscous=20.0, coulomb=5.0, offset=1.0, law="smooth", velocity=0.2,
        temperature_slope=-0.01, reference_temperature=30.0, heating=(0.05, 0.2),
        heating_time=(2.0, 10.0),
    )  # fmt: skip
    arm = slider(rubs, mass=2.0)
    run = dy.simulate(arm, 5.0, dt=1e-3, torque=lambda t: [80.0 * np.sin(2.0 * t)])
    rise = run.states["warmth"].sum(axis=1)
    assert rise[-1] > 5.0
    log = dy.Log.from_run(run).with_temperature(arm)
    np.testing.assert_allclose(log.temperature[:, 0], 30.0 + rise, atol=5e-3 * rise[-1])


def test_temperature_is_identified(tmp_path):
    log = log_of_a_warming_arm()
    assert np.ptp(log.temperature, axis=0).min() > 5.0
    log.save(tmp_path / "warm.npz")
    log = dy.read_log(tmp_path / "warm.npz")
    described = replace_viscous(thermal(dy.load("planar-2link"), temperature_slope=0.0), 1.0)
    found = dy.identify(described, log, friction="thermal", held_out=False)
    for link in found.robot.model.links:
        assert link.friction.viscous == pytest.approx(30.0, rel=0.03)
        assert link.friction.temperature_slope == pytest.approx(SLOPE, rel=0.05)
    assert found.robot.model.findings == ()  # it is the model that was validated
    blind = dy.identify(described, log, friction="smooth", held_out=False)
    errors = [x.training[0].relative_error_overall for x in (found, blind)]
    assert errors[0] < 0.3 * errors[1]
    with pytest.raises(DynamisError, match="needs temperatures"):
        found.validate(replace(log, temperature=None))
    with pytest.raises(DynamisError, match="needs temperatures"):
        dy.identify(described, replace(log, temperature=None), friction="thermal")


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
