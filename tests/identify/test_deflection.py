"""Links along measured motors: gears, links and the sensor of deflections by a free run."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lsim

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import OptionError
from dynamis.identify.elastic.deflection import identify_deflections
from dynamis.identify.elastic.joints import elastic_joints
from dynamis.identify.elastic.response import frequency_response

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
    w, d = 2.0 * np.pi * corner, log.q - log.motor
    sensor = ([w * w], [1.0, 2.0 * ratio * w, w * w])
    seen = [lsim(sensor, x, log.t - log.t[0], interp=True)[1] for x in d.T]
    return replace(log, q=log.motor + np.stack(seen, axis=1))


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


@pytest.mark.thorough
def test_intervals_hold():
    arm, start = flexible(), flexible((40.0, 5.0), (0.2, 0.05), (1.2, 0.3))
    base, held = sensed(swung(arm, 12.0)), []
    truth = {"stiffness": (40.0, 7.0), "damping": (0.1, 0.03), "sensor": (2.5, 0.9)}
    for seed in range(10):
        q = base.q + 3e-4 * np.random.default_rng(seed).normal(size=base.q.shape)
        log = replace(base, q=q, motor=5e-5 * np.round(base.motor / 5e-5))
        found = identify_deflections(start, log, sensor=True)
        off = {name: np.abs(np.array(getattr(found, name)) - x) for name, x in truth.items()}
        held.append([off[name] <= found.half_widths[name] + 1e-9 for name in truth])
    assert (np.mean(held, axis=0) >= 0.9).all()


@pytest.fixture(scope="module")
def sensed_arm(compiled):
    """An arm whose deflections a sensor low-passes, and what was found of it."""
    arm, start = flexible(), flexible((40.0, 5.0), (0.2, 0.05), (1.2, 0.3))
    log = sensed(swung(arm, 8.0))
    options = {"elastic": "auto", "friction": "none", "held_out": False}
    return arm, log, dy.identify(start, log, deflection_sensor=True, **options)


def test_a_sensor_is_taken_off_in_an_identification(sensed_arm):
    arm, log, found = sensed_arm
    corner, ratio = found.elastic.deflections.sensor
    assert (corner, ratio) == pytest.approx((2.5, 0.9), rel=0.01)
    for name, truth in zip(arm.drive_names, arm.model.links, strict=True):
        own = found.elastic[name]
        assert own.stiffness == pytest.approx(truth.drive.stiffness, rel=0.02)
        reflected = truth.drive.rotor_inertia * truth.drive.gear**2
        assert own.rotor_inertia == pytest.approx(reflected, rel=0.05)
    q = np.array([[0.1, 0.4], [0.0, -0.7]])
    np.testing.assert_allclose(found.robot.mass_matrix(q), arm.mass_matrix(q), rtol=0.05)
    assert found.validate(log).relative_error_overall < 0.05
    said = [x.what for x in found.findings if "low-pass of second order" in x.what]
    assert said and found.elastic.deflections.sensor_said in said
    known = found.elastic.deflections.half_widths["stiffness"]
    assert known[0] == 0.0 < known[1] < 0.05 * 7.0


def test_responses_are_those_before_the_sensor(sensed_arm):
    """The sensor halves deflections at its corner and turns them by a quarter."""
    found = sensed_arm[2]
    passed = found.elastic.deflections.passed(np.array([0.0, found.elastic.deflections.sensor[0]]))
    np.testing.assert_allclose(passed, [1.0, -0.5j / found.elastic.deflections.sensor[1]])
    for joint in frequency_response(found).joints:
        seen = joint.seen("deflection")
        ratio = (joint.measured["deflection"] / joint.model["deflection"])[seen]
        assert seen.sum() >= 3 and np.median(np.abs(ratio)) == pytest.approx(1.0, abs=0.2)


def test_reports_and_command_line_say_the_sensor(sensed_arm, tmp_path, capsys):
    arm, log, found = sensed_arm
    assert "low-pass of second order" in found.report(tmp_path / "report.html").read_text()
    arm.save(tmp_path / "arm.toml")
    words = ["identify", str(tmp_path / "arm.toml"), str(log.save(tmp_path / "log.csv"))]
    assert main([*words, "--elastic", "auto", "--deflection-sensor", "--json"]) == 0
    sensor = json.loads(capsys.readouterr().out)["deflection_sensor"]
    assert sensor["corner"] == pytest.approx(2.5, rel=0.01)
    assert sensor["half_widths"]["damping_ratio"] < 0.05


def test_a_sensor_is_refused_where_there_are_no_deflections():
    arm, t = flexible(), np.arange(400) * 0.01
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    log = dy.Log(t=t, q=q, tau=q)
    with pytest.raises(OptionError, match="given without elastic"):
        dy.identify(arm, log, deflection_sensor=True)
    with pytest.raises(OptionError, match="hold one side of the gears"):
        dy.identify(arm, log, elastic="auto", deflection_sensor=True)


def test_what_is_refused():
    arm = flexible()
    t = np.arange(200) * 0.01
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    log = dy.Log(t=t, q=q, motor=q, tau=q)
    with pytest.raises(OptionError, match="known: the robot has no joint 'tool'"):
        identify_deflections(arm, log, known=["tool"])
    with pytest.raises(OptionError, match=r"known is \[\], expected a list of names"):
        identify_deflections(arm, log, known=[])
    with pytest.raises(OptionError, match="has no motor side"):
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
