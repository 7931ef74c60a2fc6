"""Logs of elastic joints with encoders on both sides: read, written, cut, checked, from runs."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.identify import Log, read_log

T = np.arange(200) * 0.01


def arrays(n=2):
    phase = T[:, None] * (2.0 + np.arange(n)) + np.arange(n)
    q, tau = np.sin(phase), 3.0 * np.cos(phase)
    rate = (2.0 + np.arange(n)) * np.cos(phase)
    return {
        "t": T, "q": q, "qd": rate, "tau": tau,
        "motor": q + 1e-2 * tau, "motor_rate": rate - 3e-2 * (2.0 + np.arange(n)) * np.sin(phase),
    }  # fmt: skip


def columns(motor="motor", rate="motor_rate", factors=()):
    given, factors = {"t": T}, dict(factors)
    names = {"motor": motor, "motor_rate": rate}
    for name, x in arrays().items():
        if name != "t":
            for k, column in enumerate(x.T):
                given[f"{names.get(name, name)}{k + 1}"] = column * factors.get(name, 1.0)
    return given


def same(log, expected, rtol=0.0):
    for name, x in expected.items():
        np.testing.assert_allclose(getattr(log, name), x, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize(
    ("motor", "rate"),
    [("motor", "motor_rate"), ("theta", "theta_rate"), ("theta_", "thetad_"), ("theta", "thetad")],
)
def test_both_namings_are_read(motor, rate):
    same(read_log(columns(motor, rate)), arrays())


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_what_is_saved_is_read(tmp_path, ending):
    log = Log(**arrays())
    path = log.save(tmp_path / f"log.{ending}")
    same(read_log(path), arrays(), 1e-12)
    if ending == "csv":
        assert "motor1,motor2,motor_rate1,motor_rate2" in path.read_text().splitlines()[0]
    assert repr(log).endswith("q, tau, qd, motor, motor_rate)")


def test_columns_units_signs_joints_and_offsets():
    given = columns(motor="rotor", rate="speed")
    log = read_log(
        given,
        {"motor": "rotor*", "motor_rate": "speed*"},
        units={"motor": -1, "motor_rate": "deg/s"},
        joints=[1],
        offset=[0.5],
    )
    expected = arrays()
    assert log.n == 1
    np.testing.assert_allclose(log.motor, -expected["motor"][:, 1:] + 0.5)
    np.testing.assert_allclose(log.q, expected["q"][:, 1:] + 0.5)
    np.testing.assert_allclose(log.motor_rate, np.radians(expected["motor_rate"][:, 1:]))


def test_degrees_of_the_links_are_those_of_the_motors():
    given = columns(factors=dict.fromkeys(("q", "qd", "motor", "motor_rate"), 180 / np.pi))
    log = read_log(given)
    same(log, arrays(), 1e-9)
    assert any("read as deg" in str(x) for x in log.findings)


def test_motor_angles_beside_links_become_the_motor_side():
    gears = np.array([50.0, -80.0])
    given = columns("angle", "speed", {"motor": gears[0]})
    given |= {"angle2": given["angle2"] / gears[0] * gears[1]}
    log = read_log(given, {"q": "q", "motor_q": "angle*"}, gear_matrix=gears)
    expected = arrays()
    same(log, {"q": expected["q"], "motor": expected["motor"]})
    assert log.motor_rate is None


def test_motors_in_units_of_their_own_and_turned_signs_are_said():
    said = [str(x) for x in read_log(columns(factors={"motor": 100.0})).findings]
    assert any("motor1 goes" in x and "units={'motor': 0.00" in x for x in said)
    said = [str(x) for x in read_log(columns(factors={"motor": -1.0})).findings]
    assert any("units={'motor': -1} turns it around" in x for x in said)
    assert not any("motor" in str(x) for x in read_log(columns()).findings)


def test_cut_and_resampled_as_the_links():
    log = Log(**arrays())
    same(log.window(0.5, 1.0), {"motor": arrays()["motor"][50:101]})
    same(log.every(3), {"motor_rate": arrays()["motor_rate"][::3]})
    fine = log.uniform(1000.0)
    phase = fine.t[:, None] * (2.0 + np.arange(2)) + np.arange(2)
    assert np.abs(fine.motor - np.sin(phase) - 3e-2 * np.cos(phase)).max() < 1e-7


def test_what_makes_no_motor_side_is_refused():
    good = arrays()
    with pytest.raises(ShapeError, match=r"motor has shape \(200, 1\), expected \(200, 2\)"):
        Log(**good | {"motor": good["motor"][:, :1]})
    with pytest.raises(OptionError, match="motor_rate was given without motor"):
        Log(**good | {"motor": None})


def test_motors_that_are_mostly_missing_are_left_out():
    given = columns()
    given["motor1"] = np.full(len(T), np.nan)
    log = read_log(given)
    assert log.motor is None and log.motor_rate is None
    assert any("motor is NaN or inf in 200 of 200 rows" in str(x) for x in log.findings)


def elastic_arm():
    drives = [dy.Drive(rotor_inertia=5.0, stiffness=2e4, damping=400.0), dy.Drive()]
    arm = dy.load("planar-2link")
    for k, drive in enumerate(drives):
        arm = arm.with_drive(k, drive)
    return arm


def moved(**options):
    law = dy.control.JointPID.from_bandwidth(elastic_arm(), 4, sample_time=2e-3)
    return dy.simulate(elastic_arm(), 0.5, controller=law, reference=[0.4, -0.1], **options)


@pytest.mark.parametrize("side", ["motor", "link"])
def test_of_a_run_both_sides(side):
    run = moved(sensors=dy.Sensors(encoder=1e-3, side=side))
    log = Log.from_run(run)
    sensed, exact = ("motor", "q") if side == "motor" else ("q", "motor")
    assert np.array_equal(getattr(log, sensed), run.measured.q)
    assert np.array_equal(log.t, run.measured.t)
    rows = np.isin(run.t, log.t)
    np.testing.assert_allclose(getattr(log, exact)[:, 0], getattr(run, exact)[rows, 0], atol=1e-12)
    assert np.array_equal(log.q[:, 1], log.motor[:, 1])  # a rigid joint has one side
    assert np.ptp(log.motor[:, 0] - log.q[:, 0]) > 2e-3


def test_of_a_run_without_sensors_and_from_its_file(tmp_path):
    run = dy.simulate(elastic_arm(), 0.2, q0=[0.1, 0.2])
    log = Log.from_run(run)
    for name in ("q", "qd", "motor", "motor_rate"):
        assert np.array_equal(getattr(log, name), getattr(run, name))
    read = read_log(run.save(tmp_path / "run.csv"))
    np.testing.assert_allclose(read.motor, run.motor, atol=1e-9)
    rigid = Log.from_run(dy.simulate(dy.load("planar-2link"), 0.1, q0=[0.1, 0.2]))
    assert rigid.motor is None
