"""Motions from files and functions: what is read, what is refused, and where."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError, DynamisWarning, FileError, OptionError
from dynamis.trajectory import Along, from_file, from_function, quintic, trapezoid, via

ARM = dy.load("planar-2link")
POINTS = np.array([[0.0, 0.0], [0.6, -0.3], [1.0, 0.2]])
TIMES = np.array([0.0, 1.0, 2.5])
T = np.linspace(0.0, 2.5, 101)


def written(folder, text, name="points.csv"):
    path = folder / name
    path.write_text(text)
    return path


def table(header, rows):
    return "\n".join([header, *(",".join(map(repr, map(float, row))) for row in rows)]) + "\n"


TIMED = np.column_stack([TIMES, POINTS])


@pytest.mark.parametrize(
    ("header", "rows", "robot", "options"),
    [
        ("t,q1,q2", TIMED, ARM, {}),
        ("time,joint1,joint2", TIMED, ARM, {}),
        ("Time,joint2,joint1", TIMED[:, [0, 2, 1]], ARM, {}),
        ("t [ms],q1 [deg],q2 [deg]", TIMED * [1e3, 180 / np.pi, 180 / np.pi], ARM, {}),
        ("t,shoulder,elbow", TIMED, None, {}),
        ("t,shoulder,elbow", TIMED, ARM, {"columns": {"q": ["shoulder", "elbow"]}}),
        ("t,q1,q2", TIMED * [1, 180 / np.pi, 180 / np.pi], ARM, {"units": {"q": "deg"}}),
        ("# made by hand\n\nt,q1,q2", np.add(TIMED, [7.0, 0.0, 0.0]), ARM, {}),
        ("t,q1,q2,tau1,tau2", np.column_stack([TIMED, POINTS]), None, {}),
    ],
)
def test_points_with_times_are_the_spline_through_them(tmp_path, header, rows, robot, options):
    move = from_file(written(tmp_path, table(header, rows)), robot, **options)
    for found, expected in zip(move(T), via(POINTS, TIMES)(T), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_velocities_and_accelerations_of_the_file_are_kept(tmp_path):
    move = quintic([0.0, 0.0], [1.0, -1.0], 2.0)
    t, q, qd, qdd = move.sample(0.25)
    names = "t,q1,q2,qd1,qd2,qdd1,qdd2"
    path = written(tmp_path, table(names, np.column_stack([t, q, qd, qdd])))
    for found, expected in zip(from_file(path, ARM)(T), move(T), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    archive = tmp_path / "points.npz"
    np.savez(archive, t=t, q=q, qd=qd, qdd=qdd)
    np.testing.assert_allclose(from_file(archive, ARM)(T).q, move(T).q, atol=1e-12)
    fewer = from_file(path, ARM, tolerance=1e-3)
    assert len(fewer.knots) < len(t)
    assert np.abs(fewer(T).q - move(T).q).max() < 1e-3


def test_points_without_times_take_a_duration_or_limits(tmp_path):
    path = written(tmp_path, table("q1,q2", POINTS))
    slow = from_file(path, ARM, duration=4.0)
    assert isinstance(slow, Along) and slow.duration == 4.0
    np.testing.assert_allclose(slow([0.0, 4.0]).q, POINTS[[0, 2]], atol=1e-12)
    np.testing.assert_allclose(np.abs(slow([0.0, 4.0]).qd), 0.0, atol=1e-12)
    s = np.linspace(0.0, 4.0, 4001)
    assert np.abs(slow(s).q - POINTS[1]).sum(axis=1).min() < 2e-3  # it passes the middle point
    for limits in (
        {"velocity": 0.7}, {"acceleration": [0.5, 2.0]}, {"velocity": 1.0, "acceleration": 0.4},
    ):  # fmt: skip
        fast = from_file(path, **limits)
        state = fast(np.linspace(0.0, fast.duration, 1001))
        used = [
            (np.abs(x).max(axis=0) / limits[name]).max()
            for name, x in (("velocity", state.qd), ("acceleration", state.qdd))
            if name in limits
        ]
        assert max(used) == pytest.approx(1.0, rel=1e-9)
    panda = dy.load("panda")
    rows = np.array([np.zeros(7), np.full(7, 0.3)])
    fast = from_file(written(tmp_path, table(",".join(panda.joint_names), rows)), panda)
    top = np.array([x.velocity_limit for x in panda.model.moving_links])
    speeds = np.abs(fast(np.linspace(0.0, fast.duration, 1001)).qd).max(axis=0)
    assert (speeds / top).max() == pytest.approx(1.0, rel=1e-9)


REFUSED = {
    "NaN": ("t,q1,q2\n# note\n0,0,0\n1,nan,1\n", {}, "line 4, column 'q1'.*nan, expected a num"),
    "empty": ("t,q1,q2\n0,0,0\n1,,1\n2,1,1\n", {}, "line 3, column 'q1' is empty"),
    "text": ("t,q1,q2\n0,0,0\n1,far,1\n", {}, "line 3: 'q1' holds 'far', expected a number"),
    "infinite": ("t,q1,q2\n0,0,0\n1,0,inf\n", {}, "line 3, column 'q2'.*inf"),
    "time": ("t,q1,q2\n0,0,0\n2,1,1\n\n1,2,2\n", {}, "line 5: time 1 s does not come after 2 s"),
    "same time": ("t,q1,q2\n0,0,0\n0,1,1\n", {}, "line 3: time 0 s does not come after 0 s"),
    "cells": ("t,q1,q2\n0,0,0\n1,1\n2,2,2\n", {}, "line 3 has 2 cells, the header 3"),
    "last": ("t,q1,q2\n0,0,0\n1,1,1\n2,2,2\n3,3\n", {}, r"last line \(5\) is cut short"),
    "joints": ("t,q1,q2,q3\n0,0,0,0\n1,1,1,1\n", {}, "3 columns of joints .*'planar-2link' has 2"),
    "holes": ("t,q1,q3\n0,0,0\n1,1,1\n", {}, "q1, q3 do not count"),
    "names": ("t,joint1,jiont2\n0,0,0\n1,1,1\n", {}, "(?s)no column 'joint2'.*mean 'jiont2'"),
    "others": ("t,shoulder,elbow\n0,0,0\n1,1,1\n", {}, "(?s)no column 'joint1'.*columns=dict"),
    "bare": ("0,0,0\n1,1,1\n", {}, "(?s)begins with numbers.*expected a header such as"),
    "one": ("t,q1,q2\n0,0,0\n", {}, "has 1 row, expected two points"),
    "nothing": ("", {}, "is empty"),
    "untimed": ("q1,q2\n0,0\n1,1\n", {}, "(?s)has no times.*give duration="),
    "same": ("q1,q2\n0,0\n0,0\n1,1\n", {"duration": 1.0}, "line 3 is the same point"),
    "both": ("t,q1,q2\n0,0,0\n1,1,1\n", {"duration": 1.0}, "duration was given, but .* has times"),
    "two": ("q1,q2\n0,0\n1,1\n", {"duration": 1.0, "velocity": 1.0}, "leave one out"),
    "unit": ("t,q1 [mm],q2\n0,0,0\n1,1,1\n", {}, "'q1' is in mm, but joint 'joint1' is revolute"),
    "rates": ("t,q1,q2,qd1\n0,0,0,0\n1,1,1,0\n", {}, "2 columns of q .* and 1 of qd"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_named_with_its_file_and_line(tmp_path, case):
    text, options, says = REFUSED[case]
    with pytest.raises(DynamisError, match=says) as caught:
        from_file(written(tmp_path, text), ARM, **options)
    if case not in ("two",):
        assert "points.csv" in str(caught.value)


def test_files_that_are_not_there_or_no_data(tmp_path):
    with pytest.raises(FileError, match=r"none\.csv does not exist"):
        from_file(tmp_path / "none.csv")
    with pytest.raises(FileError, match="pickles run code"):
        from_file(written(tmp_path, "x", "points.pkl"))


def test_a_function_becomes_a_table_within_its_tolerance():
    def wave(t):
        return [np.sin(t), t], [np.cos(t), 1.0], [-np.sin(t), 0.0]

    for tolerance in (1e-3, 1e-8):
        move = from_function(wave, 2.5, tolerance)
        assert np.abs(move(T).q[:, 0] - np.sin(T)).max() <= 1.2 * tolerance  # between the looks
    assert len(from_function(wave, 2.5, 1e-3).knots) < len(move.knots) < 40
    fewer = trapezoid([0.0, 0.0], [1.0, -1.0], 2.0).simplified(1e-4)
    assert np.abs(fewer(T).q - trapezoid([0.0, 0.0], [1.0, -1.0], 2.0)(T).q).max() < 1.2e-4


def test_functions_that_are_no_motion_are_refused():
    for function, says in (
        (lambda t: ([np.sin(t)], [0.0], [0.0]), "positions are not what its velocities give"),
        (lambda t: [t], r"expected \(q, qd, qdd\)"),
        (lambda t: ([t], [1.0, 1.0], [0.0]), "returned shapes"),
        (lambda t: ([np.nan], [1.0], [0.0]), "finite"),
    ):
        with pytest.raises(DynamisError, match=says) as caught:
            from_function(function, 2.0)
        assert "test_from_file.py, line" in str(caught.value)


def test_a_long_table_inside_a_controller_is_said(tmp_path):
    t = np.linspace(0.0, 1.0, 202)
    move = via(np.column_stack([t, 0.0 * t]), t)
    with pytest.warns(DynamisWarning, match=r"202 knots.*simplified\(1e-4\)"):
        dy.export_controller(
            ARM, dy.control.JointPID(1.0), tmp_path, reference=move, target="matlab"
        )


def test_a_function_is_no_reference_of_exported_code(tmp_path):
    law = dy.control.ComputedTorque(1.0, 1.0)
    with pytest.raises(DynamisError, match=r"(?s)runs in Python only.*from_function\(function, "):
        dy.export_controller(ARM, law, tmp_path / "out", reference=lambda t: t)
    with pytest.raises(DynamisError, match=r"(?s)runs in Python only.*step\(self, arm, sample\)"):
        dy.export_controller(ARM, lambda t, q, qd: q, tmp_path / "out")


@pytest.mark.parametrize("head", ["t,q1 [grad],q2 [deg]", "t,q1 [grad],q2 [grad]"])
def test_a_unit_that_is_not_known_is_named(head, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(f"{head}\n0,1,2\n1,2,3\n")
    with pytest.raises(OptionError, match=r"unit 'grad' of column 'q1' is not known\nhint: known"):
        from_file(path, dy.load("planar-rr"))
