"""Columns and units guessed: files as controllers, ROS and MATLAB write them, without options."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify import read_log

from .test_read_log import T, arrays, said, same, two_links

DATA = arrays()
JOINTS = range(2)


def columns(**names):
    """A file's columns from patterns: # counts from 0, % from 1."""
    out = {}
    for quantity, pattern in names.items():
        values = DATA[quantity]
        if values.ndim == 1:
            out[pattern] = values
        for k in JOINTS if values.ndim == 2 else ():
            out[pattern.replace("#", str(k)).replace("%", str(k + 1))] = values[:, k]
    return out


def written(path, source, sign=",", comma=False):
    """A text file of these columns."""
    rows = [sign.join(f"{x:.12g}" for x in row) for row in zip(*source.values(), strict=True)]
    rows = [row.replace(".", ",") for row in rows] if comma else rows
    path.write_text("\n".join([sign.join(source), *rows]) + "\n")
    return path


OTHERS = {"target_q_0": T, "target_q_1": T, "actual_TCP_pose_0": T, "tau_ext_0": T, "tau_J_d_0": T}
VENDORS = {
    "FRI": columns(
        t="TimeStamp", q="measuredJointPosition_#", qd="JointVelocity_#", tau="measuredTorque_#"
    ),
    "KUKA": columns(t="Time", q="MsrJntPos_%", tau="MsrJntTrq_%") | {"CmdJntPos_1": T},
    "Franka": columns(t="time", q="q_#", qd="dq_#", tau="tau_J_#") | OTHERS,
    "axes": columns(t="Time [s]", q="Axis % Position [rad]", tau="Axis % Torque [Nm]"),
    "short": columns(t="TIME", q="J%Pos", qd="J%Speed", tau="J%Trq"),
    "moments": columns(t="t", q="Q%", tau="Moment%"),
    "PlotJuggler": columns(
        t="__time", q="/joint_states/j%/position", qd="/joint_states/j%/velocity",
        tau="/joint_states/j%/effort",
    ),
    "bagpy": columns(t="Time", q="position_#", qd="velocity_#", tau="effort_#") | {"header.seq": T},
    "brackets": columns(t="timestamp", q="msg.position[#]", tau="msg.effort[#]"),
}  # fmt: skip


@pytest.mark.parametrize("name", VENDORS)
def test_columns_of_vendors(name, tmp_path):
    log = read_log(written(tmp_path / "run.csv", VENDORS[name]))
    present = [x for x in ("t", "q", "tau") if x in DATA]
    same(log, {x: DATA[x] for x in present}, atol=1e-10)
    assert (log.qd is not None) == any(
        word in column.lower() for column in VENDORS[name] for word in ("vel", "dq", "speed")
    )
    said(log, "columns guessed by their names: ", "note")


def test_semicolons_and_decimal_commas(tmp_path):
    source = VENDORS["axes"]
    log = read_log(written(tmp_path / "run.csv", source, ";", comma=True))
    same(log, {x: DATA[x] for x in ("t", "q", "tau")}, atol=1e-10)


def test_currents_are_guessed_as_currents(tmp_path):
    source = columns(t="timestamp", q="actual_q_#", qd="actual_qd_#", tau="actual_current_#")
    path = written(tmp_path / "rtde.csv", source | OTHERS)
    with pytest.raises(OptionError, match=r"'actual_current_\*', gives currents, and a current"):
        read_log(path)
    log = read_log(path, drive_gains=[10.0, -5.0])
    assert_allclose(log.tau, DATA["tau"] * [10.0, -5.0], atol=1e-9)
    assert "current='actual_current_*'" in said(log, "currents, not torques", "note")


def test_the_guess_can_be_pasted(tmp_path):
    for name, source in VENDORS.items():
        path = written(tmp_path / "run.csv", source)
        log = read_log(path)
        (found,) = [x for x in log.findings if "guessed" in x.what]
        given = found.remedy.partition("columns=")[2].partition(" says")[0]
        told = read_log(path, eval(given, {"dict": dict}))  # of our own words
        same(told, {x: getattr(log, x) for x in ("t", "q", "tau")})
        assert not [x for x in told.findings if "guessed" in x.what], name


@pytest.mark.parametrize("form", ["{}_position {}_effort", "position/{} effort/{}"])
def test_names_of_joints_are_those_of_the_robot(form):
    """In the robot's order, the prefix of a driver left out, and without a gripper."""
    q, tau = form.split()
    source = {"time": T}
    for k, name in ((1, "fer_elbow"), (0, "fer_base"), (0, "fer_gripper")):
        source |= {q.format(name): DATA["q"][:, k], tau.format(name): DATA["tau"][:, k]}
    log = read_log(source, robot=two_links("base", "elbow"))
    same(log, {x: DATA[x] for x in ("t", "q", "tau")})
    said(log, "left out, as the robot has none such: fer_gripper", "note")


def test_arrays_of_a_struct(tmp_path):
    scipy_io, path = pytest.importorskip("scipy.io"), tmp_path / "run.mat"
    inside = {"Time": T, "meas": {"Pos": DATA["q"], "Vel": DATA["qd"], "Trq": DATA["tau"]}}
    ref = {"Pos": DATA["q"] + 1.0}
    scipy_io.savemat(path, {"log": {**inside, "ref": ref}, "words": "robot"})
    log = read_log(path)
    same(log, DATA)
    assert "tau='log.meas.Trq'" in said(log, "columns guessed by their names", "note")


def test_what_fits_as_well_is_asked_about():
    source = columns(t="t", q="q%", tau="left_torque_%") | columns(tau="right_torque_%")
    with pytest.raises(OptionError, match=r"tau may be 'left_torque_\*' or 'right_torque_\*'"):
        read_log(source)
    assert read_log(source, {"tau": "right_torque_*"}).n == 2


@pytest.mark.parametrize(
    "name", ["target_torque_%", "tau_ext_%", "Motor torque %", "tool_force_%", "torque_limit_%"]
)
def test_other_torques_are_not_guessed(name):
    with pytest.raises(OptionError, match="no 'tau' or 'tau1'"):
        read_log(columns(t="t", q="q%", tau=name))


def test_names_as_they_are_documented_are_no_guess():
    both = columns(t="t", q="q%", tau="tau%") | columns(q="actual_pos_%", tau="Trq_%")
    log = read_log(both)
    assert log.findings == () and log.stated == ()


# units


def limited():
    """Two joints that go 1.6 rad to either side."""
    robot = two_links("j1", "j2")
    return robot.with_limits("j1", limits=(-1.6, 1.6)).with_limits("j2", limits=(-1.6, 1.6))


def test_degrees_by_the_limits_of_the_robot():
    small = dict(DATA, q=np.rad2deg(0.1 * DATA["q"]))
    del small["qd"]
    assert np.abs(small["q"]).max() < 4 * np.pi  # no one turn gives it away
    assert "units={'q': 'rad'}" in _remedy(read_log(small, robot=limited()), "read as deg")
    same(read_log(small, robot=limited()), {"q": 0.1 * DATA["q"]}, atol=1e-12)
    assert read_log(small, robot=two_links("j1", "j2")).findings == ()
    assert read_log(small, robot=limited(), units={"q": "rad"}).findings == ()


def _remedy(log, words):
    (found,) = [x for x in log.findings if words in x.what]
    return found.remedy


@pytest.mark.parametrize(("unit", "factor"), [("deg/s", 180 / np.pi), ("rpm", 30 / np.pi)])
def test_rates_by_those_of_the_positions(unit, factor):
    log = read_log(dict(DATA, qd=DATA["qd"] * factor))
    assert f"read as {unit}" in said(log, "qd reaches", "warning")
    same(log, DATA, rtol=1e-12)
    data = dict(DATA, q=np.rad2deg(DATA["q"]), qd=DATA["qd"] * factor)
    if np.abs(data["q"]).max() > 4 * np.pi and unit == "deg/s":
        same(read_log(data), DATA, atol=1e-11)


def test_torques_beyond_those_of_arms():
    log = read_log(dict(DATA, tau=DATA["tau"] * 1e3 * 60))
    assert "read as mNm" in said(log, "tau reaches", "warning")
    assert_allclose(log.tau, 60 * DATA["tau"])
    plain = read_log(dict(DATA, tau=DATA["tau"] * 1e3 * 60), units={"tau": "Nm"})
    assert plain.findings == ()


def test_millimetres_of_a_sliding_joint():
    robot = dy.load("stanford")
    q, tau = np.tile(0.1 * DATA["q"], (1, 3)), np.tile(DATA["tau"], (1, 3))
    scaled = q * np.where(np.array(robot.joint_kinds) == "prismatic", 5000.0, 1.0)
    log = read_log({"t": T, "q": scaled, "tau": tau}, robot=robot)
    k = robot.joint_kinds.index("prismatic")
    assert "read as mm" in said(log, "q reaches", "warning")
    assert_allclose(log.q[:, k], 5 * q[:, k])
    assert_allclose(np.delete(log.q, k, axis=1), np.delete(q, k, axis=1))


# signs


def test_signs_turn_what_is_there_around():
    log = read_log(DATA, units={"tau": -1})
    same(log, {"q": DATA["q"], "tau": -DATA["tau"]})
    one = read_log(DATA, units={"tau": [1, -1], "q": [-1, 1], "qd": [-1, 1]})
    same(one, {x: DATA[x] * s for x, s in (("q", [-1, 1]), ("qd", [-1, 1]), ("tau", [1, -1]))})
    assert one.stated == () and read_log(DATA, units={"tau": "-Nm"}).stated == ("tau",)
    same(read_log(DATA, units={"tau": ["Nm", "-mNm"]}), {"tau": DATA["tau"] * [1.0, -1e-3]})


def test_a_sign_leaves_the_unit_of_the_header(tmp_path):
    source = {f"{k} [mNm]" if k[0] == "t" and k != "t" else k: v for k, v in columns(
        t="t", q="q%", tau="tau%").items()}  # fmt: skip
    log = read_log(written(tmp_path / "run.csv", source), units={"tau": -1})
    assert_allclose(log.tau, -1e-3 * DATA["tau"], atol=1e-12)
    current = {"t": T, "q": DATA["q"], "current": DATA["tau"]}
    same(read_log(current, units={"tau": -1}, drive_gains=[2.0, 3.0]), {
        "tau": -DATA["tau"] * [2.0, 3.0]})  # fmt: skip


# the first rows


def test_all_that_is_corrupt_at_the_beginning_is_found_at_once():
    t = np.arange(600) / 100.0
    q = np.stack([3.0 + np.sin(t), np.cos(t)], axis=1)
    tau = np.stack([np.sin(2 * t), np.cos(3 * t)], axis=1)
    source = {"t": t + 50.0, "q": q.copy(), "tau": tau.copy()}
    source["t"][:2] = 0.0
    source["q"][:5, 0] = 0.0
    source["q"][:7, 1] = -3.0
    source["tau"][8, 1] = np.nan
    log = read_log(source)
    said(log, "the first 2 rows were dropped: the time jumps", "warning")
    said(log, "the first rows are corrupt: 5 rows before a jump of q were dropped", "warning")
    assert "first row 8" in said(log, "1 of 598 rows with NaN", "warning")
    assert_allclose(log.t, np.delete(t + 50.0, [*range(7), 8]))
    assert_allclose(log.q, np.delete(q, [*range(7), 8], axis=0))
    again = read_log({"t": log.t, "q": log.q, "tau": log.tau})
    assert not [x for x in again.findings if x.level == "warning"]


def test_a_clock_set_back_at_the_start():
    t = T + 100.0
    t[:3] = T[-3:] + 500.0
    log = read_log(dict(DATA, t=t))
    same(log, {x: DATA[x][3:] for x in ("q", "tau")})
    assert log.t[0] == pytest.approx(100.03)
