"""Elastic joints from logs of both sides: gears, motors and links of simulated arms come back."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import OptionError
from dynamis.identify.elastic.joints import elastic_joints
from tests.thorough import thorough_but

pytestmark = pytest.mark.usefixtures("compiled")

B, M, K = 0.2, 0.5, 5e3
DAMPING = 2.0 * 0.03 * math.sqrt(K / (1 / B + 1 / M))
TONES = 12


def two_masses(gap=0.0, kind="revolute", gear=1.0, **drive):
    own = dy.Drive(
        gear=gear, rotor_inertia=B / gear**2, viscous=0.5 / gear**2, coulomb=0.3 / abs(gear),
        stiffness=K, damping=DAMPING, backlash=gap, **drive,
    )  # fmt: skip
    link = dy.Link(
        joint=kind, mass=M if kind == "prismatic" else 0.0, inertia=(0, 0, M, 0, 0, 0),
        friction=dy.Friction(coulomb=0.1, viscous=0.2), drive=own,
    )  # fmt: skip
    return dy.Robot.from_dh("two masses", convention="standard", gravity=(0, 0, 0), links=[link])


def two_links(drives):
    links = [
        dy.Link(
            a=a, mass=m, com=(-0.5 * a, 0, 0), inertia=(0, I, I, 0, 0, 0), drive=drive,
            friction=dy.Friction(coulomb=c, viscous=v),
        )
        for (a, m, I, c, v), drive in zip(
            ((0.5, 5.0, 0.1, 0.3, 0.5), (0.4, 3.0, 0.04, 0.2, 0.2)), drives, strict=True
        )
    ]  # fmt: skip
    return dy.Robot.from_dh("two links", convention="standard", gravity=(0, -9.81, 0), links=links)


def drive(gear, rotor, stiffness, damping, gap=0.0):
    return dy.Drive(
        gear=gear, rotor_inertia=rotor / gear**2, viscous=0.4 / gear**2, coulomb=0.5 / abs(gear),
        stiffness=stiffness, damping=damping, backlash=gap,
    )  # fmt: skip


def moved(arm, seed=1, duration=8.0, top=31.0, amplitude=(3.0,), hold=(5.0,), damp=0.0):
    """A run under sines of torque, with a soft spring to where it started."""
    rng, n = np.random.default_rng(seed), arm.n
    f = np.geomspace(0.5, top, TONES)[:, None] * rng.uniform(0.95, 1.05, (TONES, n))
    phase, hold = rng.uniform(0, 2 * np.pi, (TONES, n)), np.array(hold)

    def torque(t, q, qd):
        sines = np.sin(2 * np.pi * f * t + phase).sum(axis=0)
        return np.array(amplitude) * sines - hold * (np.asarray(q) + damp * np.asarray(qd))

    run = dy.simulate(
        arm, duration, dt=2.5e-4, controller=torque, sample_time=1e-3, q0=np.zeros(n),
        check_step=False,
    )  # fmt: skip
    assert not run.message
    rows = slice(None, -1, 4)
    return dy.Log(t=run.t[rows], q=run.q[rows], motor=run.motor[rows], tau=run.tau[rows])


def counted(log, link=2e-4, motor=1.6e-5, late=0.0, zero=0.0):
    """The log as encoders give it: steps, the link's `late` seconds and with another zero."""
    q = np.stack([np.interp(log.t - late, log.t, x) for x in log.q.T], axis=1) + zero
    return replace(log, q=link * np.round(q / link), motor=motor * np.round(log.motor / motor))


def only_joint(arm, log):
    found = elastic_joints(arm, [log], "auto")
    assert len(found) == 1, found.findings
    return found.joints[0], found.findings


@pytest.mark.parametrize("gap", [0.0, 3e-4, 2e-3])
@pytest.mark.parametrize("step", [1.2e-5, 2e-4])
def test_gear_and_motor_of_two_masses(gap, step):
    arm = two_masses(gap)
    joint, findings = only_joint(arm, counted(moved(arm), step))
    assert joint.stiffness == pytest.approx(K, rel=0.01)
    assert joint.backlash == pytest.approx(gap, rel=0.02)
    assert joint.damping == pytest.approx(DAMPING, rel=0.05)
    assert joint.rotor_inertia == pytest.approx(B, rel=0.01)
    assert joint.coulomb == pytest.approx(0.3, rel=0.1)
    assert joint.delay == pytest.approx(-5e-4, abs=5e-5)  # torques are held for a sample
    assert joint.explained > 0.999
    assert joint.hardening == 0.0
    assert not findings


@pytest.mark.parametrize(("gap", "zero"), thorough_but([(0.0, 0.05)], [(0.0, 0.05), (1e-3, -0.1)]))
def test_a_gear_that_hardens(gap, zero):
    arm = two_masses(gap, hardening=1e8)
    joint, _ = only_joint(arm, counted(moved(arm), 1.2e-5, zero=zero))
    assert joint.hardening == pytest.approx(1e8, rel=0.05)
    assert joint.stiffness == pytest.approx(K, rel=0.02)
    assert joint.backlash == pytest.approx(gap, rel=0.03)
    assert joint.zero == pytest.approx(-zero, abs=3e-5)
    low, high = joint.interval("hardening")
    assert low <= 1e8 <= high
    assert joint.drive(None).hardening == joint.hardening


@pytest.mark.thorough
@pytest.mark.parametrize("gap", [0.0, 3e-4, 2e-3])
def test_intervals_hold(gap):
    truth = {
        "stiffness": K, "damping": DAMPING, "rotor_inertia": B, "viscous": 0.5, "coulomb": 0.3,
    } | ({"backlash": gap} if gap else {})  # fmt: skip
    arm, held = two_masses(gap), {name: [] for name in truth}
    for seed in range(100, 112):
        log = moved(arm, seed)
        for step in (1.2e-5, 2e-4):
            joint, _ = only_joint(arm, counted(log, step))
            for name, value in truth.items():
                low, high = joint.interval(name)
                held[name].append(low <= value <= high)
            assert joint.stiffness == pytest.approx(K, rel=0.003)
            assert joint.backlash == pytest.approx(gap, rel=0.02)
    for name, inside in held.items():
        assert np.mean(inside) >= 0.9, name


@pytest.mark.parametrize(("late", "zero"), [(1.5e-3, 0.05), (-7e-4, -0.1)])
def test_encoders_that_differ_in_time_and_zero(late, zero):
    arm = two_masses(2e-3)
    joint, findings = only_joint(arm, counted(moved(arm), 2e-4, late=late, zero=zero))
    assert joint.lag == pytest.approx(late, rel=0.02)
    assert joint.zero == pytest.approx(-zero, abs=1e-5)
    assert joint.stiffness == pytest.approx(K, rel=0.01)
    assert joint.backlash == pytest.approx(2e-3, rel=0.02)
    assert joint.damping == pytest.approx(DAMPING, rel=0.05)
    assert any("encoder is" in x.what and x.level == "note" for x in findings)


def test_without_a_gap_a_lag_is_not_told_apart_from_damping():
    arm = two_masses()
    joint, findings = only_joint(arm, counted(moved(arm), 1.2e-5, late=1.5e-3))
    assert joint.stiffness == pytest.approx(K, rel=0.01)
    for name, value in {"lag": 1.5e-3, "damping": DAMPING, "viscous": 0.5, "stiffness": K}.items():
        low, high = joint.interval(name)
        assert low <= value <= high, name
    assert any("at least: without a gap" in x.what for x in findings)


def test_prismatic_joint_and_a_left_handed_screw():
    arm = two_masses(3e-4, "prismatic", gear=-2.0 * np.pi / 0.5)
    log = counted(moved(arm), 1.2e-5)
    found = dy.identify(arm, log, elastic=["joint1"], held_out=False)
    own, truth = found.robot.model.links[0], arm.model.links[0]
    for name, tolerance in {"stiffness": 0.01, "backlash": 0.02, "rotor_inertia": 0.01}.items():
        assert getattr(own.drive, name) == pytest.approx(getattr(truth.drive, name), rel=tolerance)
    assert own.drive.gear == truth.drive.gear
    assert own.drive.coulomb == pytest.approx(truth.drive.coulomb, rel=0.1)
    np.testing.assert_allclose(found.robot.mass_matrix([0.1]), [[M + B]], rtol=0.01)


@pytest.fixture(scope="module")
def whole(compiled):
    arm = two_links([drive(100, 0.5, 2000.0, 2.0), drive(-50, 0.2, 800.0, 0.8, 1e-3)])
    options = {
        "top": 14.0, "amplitude": (12.0, 4.8), "hold": (45.0, 18.0), "damp": 0.1, "duration": 8.0
    }  # fmt: skip
    logs = [counted(moved(arm, seed, **options), 2e-5, 1e-5) for seed in (1, 2)]
    return arm, logs, dy.identify(arm, logs[0], elastic="auto", held_out=False)


def test_whole_arm_with_two_elastic_joints(whole):
    arm, logs, found = whole
    assert [x.name for x in found.elastic] == ["joint1", "joint2"]
    for own, truth in zip(found.robot.model.links, arm.model.links, strict=True):
        for name, tolerance in {"stiffness": 0.01, "damping": 0.02, "rotor_inertia": 0.01}.items():
            value = getattr(truth.drive, name)
            assert getattr(own.drive, name) == pytest.approx(value, rel=tolerance)
        assert own.drive.coulomb == pytest.approx(truth.drive.coulomb, rel=0.03)
        assert own.friction.viscous == pytest.approx(truth.friction.viscous, rel=0.2)
    assert found.elastic["joint1"].backlash == 0.0
    assert found.elastic["joint2"].backlash == pytest.approx(1e-3, rel=0.02)
    q = np.random.default_rng(0).uniform(-2, 2, (5, 2))
    gravity = arm.gravity_torque(q)
    assert np.abs(found.robot.gravity_torque(q) - gravity).max() < 0.02 * np.abs(gravity).max()
    np.testing.assert_allclose(found.robot.mass_matrix(q), arm.mass_matrix(q), rtol=0.03)
    assert found.verdict.level == "good"
    assert found.validate(logs[1]).relative_error_overall < 0.06
    error = found.predict(logs[1]) - logs[1].tau
    assert np.linalg.norm(error) < 0.08 * np.linalg.norm(logs[1].tau)


def test_rows_at_the_ends_are_left_out_of_errors_and_predicted(whole):
    """The filter knows half of what is about them: accelerations there would be zero."""
    _, logs, found = whole
    check, predicted = found.validate(logs[1]), found.predict(logs[1])
    assert check.t[0] > logs[1].t[0] and check.t[-1] < logs[1].t[-1]
    assert predicted.shape == logs[1].tau.shape and np.isfinite(predicted).all()
    inner = check.between(check.t[0] + 0.2, check.t[-1] - 0.2)
    assert (check.relative_error < 1.3 * inner.relative_error).all()


def test_what_an_estimate_with_elastic_joints_says_and_refuses(whole):
    _, logs, found = whole
    assert "stiffness" in str(found.elastic) and "joint2" in repr(found.elastic)
    with pytest.raises(OptionError, match="no elastic joint 'tool'"):
        found.elastic["tool"]
    with pytest.raises(OptionError, match="has no constant 'mass'"):
        found.elastic["joint1"].interval("mass")
    with pytest.raises(OptionError, match="sample is not made for elastic joints"):
        found.sample(3)
    with pytest.raises(OptionError, match="has no motor side"):
        found.validate(replace(logs[1], motor=None))


def test_a_rigid_joint_beside_an_elastic_one_stays_rigid():
    rigid = dy.Drive(gear=50, rotor_inertia=0.2 / 2500)
    arm = two_links([drive(100, 0.5, 2000.0, 2.0), rigid])
    options = {"top": 14.0, "amplitude": (12.0, 4.8), "hold": (45.0, 18.0), "damp": 0.1}
    log = counted(moved(arm, **options), 2e-5, 2e-5)
    found = dy.identify(arm, log, elastic="auto", held_out=False)
    assert [x.name for x in found.elastic] == ["joint1"]
    assert found.elastic["joint1"].stiffness == pytest.approx(2000.0, rel=0.01)
    assert found.robot.model.links[1].drive.stiffness is None
    q = np.random.default_rng(0).uniform(-2, 2, (5, 2))
    np.testing.assert_allclose(found.robot.mass_matrix(q), arm.mass_matrix(q), rtol=0.05)


def test_slow_motion_does_not_show_the_stiffness_beside_an_unknown_rotor():
    arm = two_masses()
    log = counted(moved(arm, top=2.0))
    joint, findings = only_joint(arm, log)
    assert any("taken as described" in x.what for x in findings)
    assert joint.stiffness == pytest.approx(K, rel=0.05)
    unknown = arm.with_drive(0, None)
    found = elastic_joints(unknown, [log], "auto")
    said = " ".join(x.what for x in found.findings)
    assert "is known to" in said or "no stiffness is seen" in said


def test_coarse_encoders_are_said():
    arm = two_masses()
    _, findings = only_joint(arm, counted(moved(arm, amplitude=(0.7,)), 2e-3))
    assert any("of noise" in x.what for x in findings)


def test_a_log_with_gaps_and_another_beside_it():
    arm = two_masses(3e-4)
    log = counted(moved(arm, duration=6.0), 1.2e-5)
    kept = np.r_[0:2500, 3200:6000]
    cut = log._taken(kept)
    joint = elastic_joints(arm, [cut, counted(moved(arm, 2, 4.0), 1.2e-5)], "auto").joints[0]
    assert joint.stiffness == pytest.approx(K, rel=0.01)
    assert joint.backlash == pytest.approx(3e-4, rel=0.02)
    found = dy.identify(arm, cut, elastic="auto", held_out=False)
    np.testing.assert_allclose(found.robot.mass_matrix([0.1]), [[M + B]], rtol=0.01)


@pytest.mark.parametrize(
    ("elastic", "change", "error", "words"),
    [
        ("all", {}, OptionError, "elastic is 'all', expected 'auto'"),
        (["joint9"], {}, OptionError, "the robot has no joint 'joint9'"),
        ([], {}, OptionError, r"elastic is \[\]"),
        ("auto", {"motor": None}, OptionError, "no log has a stretch of 200 samples"),
    ],
)
def test_what_is_refused(elastic, change, error, words):
    arm, t = two_masses(), np.arange(100) * 0.01
    log = dy.Log(t=t, q=np.sin(t)[:, None], motor=np.sin(t)[:, None], tau=np.cos(t)[:, None])
    with pytest.raises(error, match=words):
        dy.identify(arm, replace(log, **change), elastic=elastic)


def test_a_rigid_arm_is_said():
    arm = two_masses().with_drive(0, stiffness=None, damping=0.0)
    log = moved(arm, duration=4.0)
    found = dy.identify(arm, log, elastic="auto", held_out=False, force=True)
    assert not len(found.elastic)
    assert any("no joint was found elastic" in x.what for x in found.findings)


def test_command_line(tmp_path, capsys):
    arm = two_masses(3e-4)
    path = counted(moved(arm, duration=5.0), 1.2e-5).save(tmp_path / "log.csv")
    arm.save(tmp_path / "arm.toml")
    assert main(["identify", str(tmp_path / "arm.toml"), str(path), "--elastic", "auto"]) == 0
    said = capsys.readouterr().out
    assert "Elastic joints" in said and "stiffness" in said
