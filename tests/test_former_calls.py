"""Calls in the order of version 0.2: the same result, with one warning that shows the new call."""

import inspect
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import (
    ComputedTorque,
    JointPID,
    MomentumObserver,
    PointToPoint,
    SingleJoint,
    TaskSpace,
)
from dynamis.errors import DynamisWarning, KeywordError, OptionError, ShapeError
from dynamis.realtime import Law

ROBOT = dy.load("planar-2link")
PID, OBSERVER = JointPID(1.0), MomentumObserver(10.0)
LAW = Law(PID, ROBOT, 0.005)
Q = np.array([0.3, -0.4])


def scaled(arm, q, factor):
    return [factor[0] * x for x in q]


def texts(files):
    return {file.name: file.read_text() for file in files}


def compiled(*given, **named):
    return dy.compile(*given, **named)(Q, [2.0]).tolist()


def torques(*given, **named):
    kernel = ROBOT.kernel("inverse_dynamics", *given, **named)
    values = [ROBOT.parameters.values] * ("argument" in (*given, *named.values()))
    return kernel(Q, Q, Q, *values).tolist()


SIZES = {"factor": 1}
CALLS = {  # former call, new call, what the warning says to write
    "compile": (
        lambda f: compiled(scaled, ROBOT, SIZES),
        lambda f: compiled(ROBOT, scaled, SIZES),
        "dy.compile(robot, function, sizes)",
    ),
    "compile, robot by name": (
        lambda f: compiled(scaled, robot=ROBOT, sizes=SIZES),
        lambda f: compiled(ROBOT, function=scaled, sizes=SIZES),
        "dy.compile(robot, function, sizes=sizes)",
    ),
    "controller": (
        lambda f: texts(dy.export_controller(PID, ROBOT, f, 0.002, trig="own")),
        lambda f: texts(dy.export_controller(ROBOT, PID, f, 0.002, trig="own")),
        "dy.export_controller(robot, controller, directory, 0.002, trig='own')",
    ),
    "observer": (
        lambda f: texts(dy.export_observer(OBSERVER, ROBOT, f)),
        lambda f: texts(dy.export_observer(ROBOT, OBSERVER, f)),
        "dy.export_observer(robot, observer, directory)",
    ),
    "unit of a law": (
        lambda f: dy.export_fmu(LAW, f / "x.fmu", "2.0").read_bytes(),
        lambda f: dy.export_fmu(ROBOT, f / "x.fmu", "2.0", law=LAW).read_bytes(),
        "dy.export_fmu(robot, path, '2.0', law=law)",
    ),
    "unit of an arm": (
        lambda f: dy.export_fmu(what=ROBOT, path=f / "x.fmu").read_bytes(),
        lambda f: dy.export_fmu(ROBOT, f / "x.fmu").read_bytes(),
        "dy.export_fmu(robot, path=path)",
    ),
    "computed torque": (
        lambda f: ComputedTorque.from_bandwidth(20.0, 0.7, True, friction="none"),
        lambda f: ComputedTorque.from_bandwidth(ROBOT, 20.0, 0.7, True, friction="none"),
        "ComputedTorque.from_bandwidth(robot, 20.0, 0.7, True, friction='none')",
    ),
    "point to point": (
        lambda f: PointToPoint.from_bandwidth([2.0, 3.0]),
        lambda f: PointToPoint.from_bandwidth(ROBOT, [2.0, 3.0]),
        "PointToPoint.from_bandwidth(robot, bandwidth)",
    ),
    "task space": (
        lambda f: TaskSpace.from_bandwidth(bandwidth=8.0, task="position"),
        lambda f: TaskSpace.from_bandwidth(ROBOT, bandwidth=8.0, task="position"),
        "TaskSpace.from_bandwidth(robot, bandwidth=8.0, task='position')",
    ),
    "kernel": (
        lambda f: torques("argument"),
        lambda f: torques(parameters="argument"),
        "robot.kernel('inverse_dynamics', parameters='argument')",
    ),
    "kernel with a method": (
        lambda f: torques("inline", "lagrange-euler"),
        lambda f: torques("lagrange-euler", "inline"),
        "robot.kernel('inverse_dynamics', 'lagrange-euler', parameters='inline')",
    ),
}
NEEDS_COMPILER = ("unit of a law", "unit of an arm")


@pytest.mark.parametrize("name", CALLS)
def test_former_calls_give_the_same_with_a_warning(name, tmp_path, request):
    if name in NEEDS_COMPILER:
        request.getfixturevalue("cc")
    former, new, shown = CALLS[name]
    with pytest.warns(DynamisWarning) as caught:
        before = former(tmp_path / "a")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert str(caught[0].message).endswith(f"version 0.2; write {shown}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert new(tmp_path / "b") == before


@pytest.fixture
def cc():
    from shutil import which

    if not any(map(which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")


DESIGNED = [
    kind
    for kind in map(vars(dy.control).get, dy.control.__all__)
    if hasattr(kind, "from_bandwidth") and kind is not SingleJoint  # which has no robot
]


@pytest.mark.parametrize(
    "functions, order",
    [
        ([dy.compile], ["robot", "function", "sizes"]),
        ([dy.export_controller], ["robot", "controller", "directory"]),
        ([dy.export_observer], ["robot", "observer", "directory"]),
        ([dy.export_fmu], ["robot", "path", "fmi"]),
        ([kind.from_bandwidth for kind in DESIGNED], ["robot", "bandwidth"]),
        ([ROBOT.kernel, ROBOT.program, ROBOT.casadi], ["name", "method", "parameters"]),
    ],
    ids=("compile", "controller", "observer", "unit", "from_bandwidth", "kernels"),
)
def test_signatures_show_the_new_order_alone(functions, order):
    assert functions
    for function in functions:
        assert [*inspect.signature(function).parameters][: len(order)] == order


@pytest.mark.parametrize(
    "call, meant",
    [
        (lambda: dy.compile(scaled, ROBOT, size=SIZES), "sizes"),
        (lambda: dy.export_controller(PID, ROBOT, "x", trigg="own"), "trig"),
        (lambda: dy.export_observer(OBSERVER, ROBOT, "x", overwite=True), "overwrite"),
        (lambda: dy.export_fmu(LAW, "x.fmu", overwite=True), "overwrite"),
        (lambda: dy.export_fmu(ROBOT, "x.fmu", lwa=LAW), "law"),
        (lambda: ROBOT.kernel("fk", "inline", metod="x"), "method"),
        (lambda: ComputedTorque.from_bandwidth(ROBOT, 20.0, dampin=1.0), "damping"),
    ],
)
def test_misspelt_keywords_are_named_in_either_order(call, meant):
    with pytest.raises(KeywordError, match=f"did you mean '{meant}'"):
        call()


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
def test_misspelt_keywords_that_are_passed_on_are_named():
    for word, meant in (("fricton", "friction"), ("dampin", "damping")):
        with pytest.raises(KeywordError, match=f"did you mean '{meant}'"):
            ComputedTorque.from_bandwidth(20.0, **{word: 1.0})


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: ComputedTorque.from_bandwidth("arm", 20.0), OptionError, "robot is 'arm', exp"),
        (lambda: ComputedTorque.from_bandwidth(None, 20.0), OptionError, "robot is None, exp"),
        (lambda: ComputedTorque.from_bandwidth(robot=3.0, bandwidth=1.0), OptionError, "is 3.0"),
        (lambda: dy.compile("arm", scaled), OptionError, "robot is 'arm', expected a Robot"),
        (lambda: ROBOT.kernel("fk", "arguments"), OptionError, "has no method 'arguments'"),
        (lambda: dy.export_fmu(ROBOT, "x.fmu", law=PID), OptionError, "expected a Law or None"),
        (
            lambda: dy.export_fmu(ROBOT.with_payload(1.0), "x.fmu", law=LAW),
            OptionError,
            "law was made with another robot 'planar-2link' than the one given",
        ),
    ],
)
def test_what_is_neither_order_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_gains_are_held_to_the_robot():
    other = dy.load("puma560")
    for law in (ComputedTorque, PointToPoint):
        with pytest.raises(ShapeError, match="has 3 numbers, expected one or 2"):
            law.from_bandwidth(ROBOT, [1.0, 2.0, 3.0])
        with pytest.raises(ShapeError, match=r"limit is .*expected one number or 2"):
            law.from_bandwidth(ROBOT, 1.0, limit=[1.0, 2.0, 3.0])
        with pytest.raises(ShapeError, match=r"model 'puma560' .*has 6 joints, expected 2"):
            law.from_bandwidth(ROBOT, 1.0, model=other)
    with pytest.raises(ShapeError, match="has 4 numbers, expected one or 3"):
        TaskSpace.from_bandwidth(ROBOT, [1.0, 2.0, 3.0, 4.0], task="position")


def test_scripts_of_version_0_2_still_run(tmp_path):
    """`regenerate.py` had the controller first."""
    files = texts(dy.export_controller(ROBOT, PID, tmp_path / "a"))
    script = files["regenerate.py"]
    former = script.replace("    robot,\n    controller,\n", "    controller,\n    robot,\n")
    assert former != script
    (tmp_path / "a" / "regenerate.py").write_text(former)
    command = [sys.executable, "regenerate.py", str(tmp_path / "b")]
    done = subprocess.run(command, cwd=tmp_path / "a", capture_output=True, text=True, check=True)
    assert done.stderr.count("DynamisWarning: ") == 1
    assert "write dy.export_controller(robot, controller, '/" in done.stderr
    assert texts(Path(tmp_path / "b").iterdir()) == files
