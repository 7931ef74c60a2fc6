"""Links along measured motors: gears, links and the sensor of deflections by a free run."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.elastic.deflection import identify_deflections
from dynamis.identify.elastic.joints import elastic_joints

pytestmark = pytest.mark.usefixtures("compiled")


def flexible(stiffness=(40.0, 7.0), damping=(0.1, 0.03), masses=(1.0, 0.4)):
    """Two horizontal links behind soft gears."""
    links = [
        dy.Link(
            a=a, mass=m, com=(-0.5 * a, 0, 0), inertia=(0, I, I, 0, 0, 0),
            drive=dy.Drive(gear=g, rotor_inertia=J / g**2, stiffness=K, damping=D),
        )
        for a, m, I, g, J, K, D in zip(
            (0.343, 0.267), masses, (0.12, 0.01), (100, 50), (0.0635, 0.003), stiffness, damping,
            strict=True,
        )
    ]  # fmt: skip
    return dy.Robot.from_dh("flexible", convention="standard", gravity=(0, 0, 0), links=links)


def swung(arm, duration=5.0):
    """A log of both sides under low gains."""

    def torque(t, q, qd):
        wanted = np.array([0.6 * np.sin(3.0 * t) * np.sin(0.7 * t), 0.5 * np.sin(4.1 * t * t / 4)])
        return np.array([8.0, 0.8]) * (wanted - q) - np.array([0.6, 0.06]) * np.asarray(qd)

    run = dy.simulate(
        arm, duration, dt=1e-3, controller=torque, sample_time=2e-3, q0=np.zeros(2),
        check_step=False,
    )  # fmt: skip
    assert not run.message
    return dy.Log(t=run.t[::2], q=run.q[::2], motor=run.motor[::2], tau=run.tau[::2])


def sensed(log, corner=2.5, ratio=0.9):
    """The log with deflections that a sensor of second order has low-passed."""
    h, w, seen = log.step, 2.0 * np.pi * corner, [np.zeros(log.n)]
    rate = np.zeros(log.n)
    for d in (log.q - log.motor)[:-1]:
        for _ in range(10):
            rate = rate + 0.1 * h * (w * w * (d - seen[-1]) - 2.0 * ratio * w * rate)
            seen[-1] = seen[-1] + 0.1 * h * rate
        seen.append(seen[-1].copy())
    return replace(log, q=log.motor + np.array(seen))


@pytest.mark.parametrize("sensor", [False, True])
def test_gears_links_and_sensor_come_back(sensor):
    arm = flexible()
    log = swung(arm)
    log = sensed(log) if sensor else log
    start = flexible((40.0, 5.0), (0.2, 0.05), (1.2, 0.3))
    found = identify_deflections(start, log, sensor=sensor)
    np.testing.assert_allclose(found.stiffness, [40.0, 7.0], rtol=0.02)
    np.testing.assert_allclose(found.damping, [0.1, 0.03], rtol=0.15 if sensor else 0.05)
    if sensor:
        assert found.sensor == pytest.approx((2.5, 0.9), rel=0.05)
    else:
        assert found.sensor is None
    assert (found.training.explained > 0.99).all()
    rotors = np.diag([0.0635, 0.003])
    q = np.array([[0.1, 0.4], [0.0, -0.7]])
    links = found.robot.mass_matrix(q) - rotors
    np.testing.assert_allclose(links, arm.mass_matrix(q) - rotors, rtol=0.05, atol=2e-3)
    assert [x.drive.rotor_inertia for x in found.robot.model.links] == [
        x.drive.rotor_inertia for x in start.model.links
    ]


def test_what_is_refused():
    arm = flexible()
    t = np.arange(200) * 0.01
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    log = dy.Log(t=t, q=q, motor=q, tau=q)
    with pytest.raises(OptionError, match="known: the robot has no joint 'tool'"):
        identify_deflections(arm, log, known=["tool"])
    with pytest.raises(OptionError, match=r"known is \[\], expected a list of names"):
        identify_deflections(arm, log, known=[])
    with pytest.raises(OptionError, match="has no motor side, expected both sides"):
        identify_deflections(arm, replace(log, motor=None))
    with pytest.raises(OptionError, match="'joint2' has no stiffness"):
        identify_deflections(arm.with_drive(1, dy.Drive()), log)
    cut = log._taken(np.r_[0:60, 140:200])
    with pytest.raises(OptionError, match="has gaps, expected one stretch"):
        identify_deflections(arm, cut)


def test_a_real_arm_with_two_flexible_links(data):
    """A Quanser 2DSFL. Its 20 s repeat one motion: 12 to 20 s are a repeat, not a new motion."""
    with np.load(data / "elastic" / "quanser_2dsfl.npz") as rig:
        t, current, motor, bent = (rig[x] for x in ("t", "current", "motor", "deflection"))
    log = dy.Log(t=t, q=motor + bent, motor=motor, tau=current * [8.925, 0.87])
    described = flexible((39.957, 6.858), (0.2, 0.05))
    found = identify_deflections(described, log.window(0.0, 12.0), sensor=True)
    run = found.free_run(log)
    assert (run.between(1.2, 12.0).explained > 0.94).all()
    assert (run.between(12.0, 20.0).explained > 0.94).all()
    assert 1.5 < found.sensor[0] < 3.0  # Hz: the rig's setup says 2
    motors = elastic_joints(described, [found.without_sensor(log).window(1.2, 12.0)], "auto")
    assert 1.0 < motors["joint1"].coulomb < 1.8  # N m; the manual has none
    assert motors["joint2"].coulomb == pytest.approx(0.092, rel=0.15)
    assert 2.0 < motors["joint1"].viscous < 4.0  # the manual: 4
