"""Elastic joints from logs of their motors alone: simulated arms come back."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import OptionError
from dynamis.identify.elastic.joints import elastic_joints
from dynamis.identify.elastic.link_motion import GEAR, MOTOR, LinkMotion, motor_path
from dynamis.identify.elastic.response import frequency_response
from tests.thorough import thorough_but

from .test_elastic import DAMPING, B, K, M, drive, moved, two_links, two_masses

pytestmark = pytest.mark.usefixtures("compiled")

TRUTH = {
    "stiffness": K, "damping": DAMPING, "rotor_inertia": B, "viscous": 0.5, "coulomb": 0.3,
}  # fmt: skip
FINE, COARSE = 1.6e-5, 2e-4  # rad, steps of the motors' encoders


def of_motors(log, step=0.0):
    """The log that encoders on the motors give, with steps of their own."""
    q = step * np.round(log.motor / step) if step else log.motor
    return dy.Log(t=log.t, q=q, tau=log.tau)


def simulated_links(arm, elastic, log, every=2, **more):
    """Links along the motors of a log, with the constants of an arm."""
    links = arm
    for name in arm.drive_names:
        links = links.with_drive(name, None)
    motion = LinkMotion(links, elastic, (1e-3,) * len(elastic))
    rows = []
    for i in elastic:
        own, friction = arm.model.links[i].drive, arm.model.links[i].friction
        values = {"stiffness": own.stiffness, "damping": own.damping, "backlash": own.backlash}
        values |= {"link_viscous": friction.viscous, "link_coulomb": friction.coulomb[0]}
        values |= more
        rows.append([values.get(name, 0.0) for name in (*GEAR, *MOTOR)])
    shown = np.zeros((len(log), (1 + len(MOTOR)) * len(elastic)))
    path = motor_path(log.t, log.motor, shown, every)
    full = np.array(links.parameters.values)[None]
    q0 = log.q[:1, list(elastic)]
    return motion.run(path, full, np.array([rows]), q0)


@pytest.mark.parametrize("gap", [0.0, 3e-4, 2e-3])
def test_links_along_motors_are_those_of_the_simulation(gap):
    arm = two_masses(gap)
    log = moved(arm, duration=3.0)
    q, felt = simulated_links(arm, (0,), log, 4)
    bend = log.motor - log.q
    assert np.abs(q[0] - log.q).max() < (0.03 if gap else 0.002) * np.abs(bend).max()
    z = np.sign(bend) * np.maximum(np.abs(bend) - gap, 0.0)
    rate = np.gradient(bend, log.t, axis=0) * (z != 0.0)
    e = K * z + DAMPING * rate
    assert np.sqrt(((felt[0] - e) ** 2).mean()) < 0.04 * e.std()


def test_rigid_joints_move_with_their_motors():
    arm = two_links([drive(100, 0.5, 2000.0, 2.0), dy.Drive(gear=50, rotor_inertia=0.2 / 2500)])
    options = {"top": 14.0, "amplitude": (12.0, 4.8), "hold": (45.0, 18.0), "damp": 0.1}
    log = moved(arm, duration=3.0, **options)
    q, felt = simulated_links(arm, (0,), log)
    assert np.abs(q[0, :, 0] - log.q[:, 0]).max() < 0.01 * np.ptp(log.motor - log.q, axis=0)[0]
    qd = np.gradient(log.q, log.t, axis=0)
    qdd = np.gradient(qd, log.t, axis=0)
    plain = arm.with_drive("joint1", None).with_drive("joint2", None).with_friction(0.0, 0.0)
    wanted = plain.inverse_dynamics(log.q, qd, qdd)[:, 1]
    inner = slice(50, -50)
    assert np.sqrt(np.mean((felt[0, inner, 1] - wanted[inner]) ** 2)) < 0.02 * wanted.std()


def test_a_pull_brings_links_that_began_elsewhere_to_those_measured():
    arm = two_masses()
    log = moved(arm, duration=1.0)
    bend = log.motor - log.q
    e = K * bend + DAMPING * np.gradient(bend, log.t, axis=0)
    shown = np.concatenate([e, np.zeros((len(log), len(MOTOR)))], axis=1)
    links = arm.with_drive("joint1", None)
    motion, full = LinkMotion(links, (0,), (1e-3,)), np.array(links.parameters.values)[None]
    path, w = motor_path(log.t, log.motor, shown, 1), np.sqrt(K / M)
    off = []
    for gain in (0.0, 0.5):
        gear = [K, 0.0, 0.0, 0.2, 0.1, gain * w / K, *np.zeros(len(MOTOR))]
        q, _ = motion.run(path, full, np.array([[gear]]), log.q[:1] + 5e-3)
        off.append(np.abs(q[0] - log.q)[-100:].max())
    assert off[0] > 2e-3  # free, and without damping, links swing on
    assert off[1] < 3e-4


CASES = [(0.0, COARSE), (2e-3, COARSE), (3e-4, FINE)]


@pytest.mark.parametrize(("gap", "step"), thorough_but([CASES[1]], CASES))
def test_gear_and_rotor_of_two_masses_from_the_motor(gap, step):
    arm = two_masses(gap)
    found = elastic_joints(arm.with_drive(0, None), [of_motors(moved(arm), step)], "auto")
    assert found.motor_side is not None
    joint = found.joints[0]
    assert joint.stiffness == pytest.approx(K, rel=0.02)
    assert joint.backlash == pytest.approx(gap, rel=0.1)
    assert joint.rotor_inertia == pytest.approx(B, rel=0.02)
    assert joint.damping == pytest.approx(DAMPING, rel=0.15)
    assert found.motor_side.inertia[0] == pytest.approx(M, rel=0.02)
    assert joint.delay == pytest.approx(-5e-4, abs=5e-5)  # torques are held for a sample
    assert joint.explained > 0.998
    for name in ("stiffness", "rotor_inertia"):
        low, high = joint.interval(name)
        assert low <= TRUTH[name] <= high
        assert high - low < 0.1 * TRUTH[name]
    assert [x.level for x in found.findings] == ["note"]
    assert "taken as those of the motors" in found.findings[0].what


@pytest.mark.thorough
@pytest.mark.parametrize("gap", [0.0, 3e-4, 2e-3])
def test_intervals_hold(gap):
    truth = TRUTH | ({"backlash": gap} if gap else {})
    arm, held = two_masses(gap), {name: [] for name in truth}
    for seed in range(100, 112):
        log = moved(arm, seed)
        for step in (FINE, COARSE):
            joint = elastic_joints(arm, [of_motors(log, step)], "auto").joints[0]
            for name, value in truth.items():
                low, high = joint.interval(name)
                held[name].append(low <= value <= high)
            assert joint.stiffness == pytest.approx(K, rel=0.02)
            assert joint.backlash == pytest.approx(gap, rel=0.1)
    for name, inside in held.items():
        assert np.mean(inside) >= 0.9, name


@pytest.fixture(scope="module")
def estimate(compiled):
    arm = two_masses(3e-4)
    logs = [of_motors(moved(arm, seed, duration=6.0), FINE) for seed in (1, 2)]
    return arm, logs, dy.identify(arm, logs[0], elastic="auto", held_out=False)


def test_an_estimate_from_motors_predicts_and_validates(estimate):
    arm, logs, found = estimate
    own, truth = found.robot.model.links[0], arm.model.links[0]
    for name, tolerance in {"stiffness": 0.01, "backlash": 0.05, "rotor_inertia": 0.01}.items():
        assert getattr(own.drive, name) == pytest.approx(getattr(truth.drive, name), rel=tolerance)
    np.testing.assert_allclose(found.robot.mass_matrix([0.1]), [[M + B]], rtol=0.01)
    assert found.verdict.level == "good"
    assert found.validate(logs[1]).relative_error_overall < 0.06
    error = found.predict(logs[1]) - logs[1].tau
    assert np.linalg.norm(error) < 0.08 * np.linalg.norm(logs[1].tau)
    assert "stiffness" in str(found.elastic) and "joint1" in repr(found.elastic)


def test_motors_alone_show_their_velocities_and_no_deflections(estimate):
    (joint,) = frequency_response(estimate[2]).joints
    assert not joint.seen("deflection").any()
    seen = joint.seen("velocity")
    ratio = np.abs(joint.measured["velocity"] / joint.model["velocity"])[seen]
    assert seen.sum() > 10 and np.median(ratio) == pytest.approx(1.0, abs=0.1)


def test_report_of_motors_alone(estimate, tmp_path):
    text = estimate[2].report(tmp_path / "report.html").read_text()
    assert "taken as those of the motors" in text


@pytest.mark.thorough
def test_a_log_with_gaps_and_another_beside_it():
    arm = two_masses(3e-4)
    log = of_motors(moved(arm), FINE)
    cut = log._taken(np.r_[0:3500, 4000:8000])
    logs = [cut, of_motors(moved(arm, 2, 4.0), FINE)]
    joint = elastic_joints(arm, logs, ["joint1"]).joints[0]
    assert joint.stiffness == pytest.approx(K, rel=0.01)
    assert joint.backlash == pytest.approx(3e-4, rel=0.05)


def test_what_torques_do_not_reach_is_said():
    arm = two_masses()
    found = elastic_joints(arm.with_drive(0, None), [of_motors(moved(arm, top=4.0))], "auto")
    said = " ".join(x.what for x in found.findings)
    assert "torques reach 4" in said and "against its motor held" in said


@pytest.mark.thorough
def test_a_rigid_arm_is_said():
    arm = two_masses().with_drive(0, stiffness=None, damping=0.0)
    log = dy.simulate(
        arm, 5.0, dt=1e-3, check_step=False,
        controller=lambda t, q, qd: 8.0 * np.sin(9.0 * t) + 5.0 * np.sin(40.0 * t) - 5.0 * q,
    )  # fmt: skip
    found = elastic_joints(arm, [dy.Log.from_run(log)], "auto")
    assert not len(found)
    assert any("no joint was found elastic" in x.what for x in found.findings)


@pytest.mark.thorough
@pytest.mark.parametrize("step", [1e-5, COARSE])
def test_whole_arm_with_two_elastic_joints_from_its_motors(step):
    arm = two_links([drive(100, 0.5, 2000.0, 2.0), drive(-50, 0.2, 800.0, 0.8, 1e-3)])
    options = {"top": 14.0, "amplitude": (12.0, 4.8), "hold": (45.0, 18.0), "damp": 0.1}
    log = of_motors(moved(arm, **options), step)
    found = dy.identify(arm, log, elastic="auto", held_out=False)
    assert [x.name for x in found.elastic] == ["joint1", "joint2"]
    for own, truth in zip(found.robot.model.links, arm.model.links, strict=True):
        for name, tolerance in {"stiffness": 0.02, "damping": 0.1, "rotor_inertia": 0.02}.items():
            value = getattr(truth.drive, name)
            assert getattr(own.drive, name) == pytest.approx(value, rel=tolerance)
    assert found.elastic["joint1"].backlash == 0.0
    assert found.elastic["joint2"].backlash == pytest.approx(1e-3, rel=0.1)
    q = np.random.default_rng(0).uniform(-2, 2, (5, 2))
    gravity = arm.gravity_torque(q)
    assert np.abs(found.robot.gravity_torque(q) - gravity).max() < 0.03 * np.abs(gravity).max()
    np.testing.assert_allclose(found.robot.mass_matrix(q), arm.mass_matrix(q), rtol=0.03)


def test_logs_of_one_side_beside_logs_of_both_are_refused():
    arm = two_masses()
    both = moved(arm, duration=1.0)
    with pytest.raises(OptionError, match="some logs hold both sides of the gears"):
        dy.identify(arm, [replace(both, name="a"), of_motors(both)], elastic="auto")


def test_command_line(tmp_path, capsys):
    arm = two_masses(3e-4)
    path = of_motors(moved(arm, duration=5.0), FINE).save(tmp_path / "log.csv")
    arm.save(tmp_path / "arm.toml")
    assert main(["identify", str(tmp_path / "arm.toml"), str(path), "--elastic", "auto"]) == 0
    said = capsys.readouterr().out
    assert "Elastic joints" in said and "stiffness" in said
