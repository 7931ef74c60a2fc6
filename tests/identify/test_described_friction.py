"""Identification of friction laws of one's own, and of friction by temperature."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError
from dynamis.identify.unknowns import LAW_CONSTANTS
from tests.dynamics.test_own_laws import rubbing
from tests.dynamics.test_temperature import SLOPE, thermal
from tests.random_robots import Grease, Hose
from tests.simulation.arms import slider


def test_constants_are_identified(compiled):
    true = rubbing(dy.load("planar-2link")).with_load(Hose())
    rng = np.random.default_rng(3)
    t = np.arange(4000) / 200.0
    w = 2 * np.pi / 20.0 * np.arange(1, 9)
    a, b = rng.normal(size=(2, 2, 8)) * 0.35
    phase = w[:, None] * t
    q = (a @ np.sin(phase) + b @ np.cos(phase)).T
    qd = ((a * w) @ np.cos(phase) - (b * w) @ np.sin(phase)).T
    qdd = (-(a * w * w) @ np.sin(phase) - (b * w * w) @ np.cos(phase)).T
    tau = true.inverse_dynamics(q, qd, qdd) + 0.05 * rng.normal(size=q.shape)
    log = dy.Log(t=t, q=q, qd=qd, tau=tau)
    wrong = Hose(stiffness=1.0, damping=0.0, bias=0.0)
    guess = rubbing(dy.load("planar-2link"), Grease(dry=0.1, extra=0.1, root=0.1)).with_load(wrong)
    found = dy.identify(guess, log, friction="described")
    place = {name: k for k, name in enumerate(found.robot.parameters.names)}
    for name, value in zip(true.parameters.names, true.parameters.values, strict=True):
        k = found.names.index(name) if name in found.names else None
        if k is not None and found.unknowns.kinds[k] in LAW_CONSTANTS:
            spread = found.standard_deviations[k]
            assert abs(found.robot.parameters.values[place[name]] - value) < 5.0 * spread, name
            assert spread < 0.4, name
    assert found.robot.model.loads[0].own.stiffness == pytest.approx(30.0, rel=1e-3)
    assert "a sum of what other unknowns give" in found.not_identifiable["Hose.bias"]
    assert found.robot.parameters.values[place["joint2.offset"]] == pytest.approx(-1.4, abs=0.01)
    replaced = dy.identify(guess, log, friction="asymmetric", held_out=False)
    assert "replaces the friction law 'Grease'" in replaced.findings[0].what
    predicted = found.robot.inverse_dynamics(q, qd, qdd)
    inside = slice(200, -200)  # of the filter's ends
    gap = np.linalg.norm((found.predict(log) - predicted)[inside])
    assert gap < 3e-3 * np.linalg.norm(predicted[inside])
    clean = true.inverse_dynamics(q, qd, qdd)
    assert np.linalg.norm(predicted - clean) < 2e-3 * np.linalg.norm(clean)


def replace_viscous(robot, viscous):
    links = [replace(x, friction=replace(x.friction, viscous=viscous)) for x in robot.model.links]
    return dy.Robot(replace(robot.model, links=tuple(links)))


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
