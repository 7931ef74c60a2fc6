"""A package for ros2_control: it builds, and its updates give the torques of the law in Python.

ROS 2 is not needed: `ros2/include` holds headers with the signatures that the plugin uses, and
`ros2/main.cpp` stands in for the controller manager. Handles are those of Humble and since Jazzy.
"""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import yaml

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.realtime import Law
from dynamis.realtime.c_text import recorded, sample_rows
from dynamis.realtime.ros2 import quoted

HERE = Path(__file__).parent / "ros2"
ARM = dy.load("planar-2link")
LAW = dy.control.ComputedTorque.from_bandwidth(ARM, 8.0, integral=True)
MOVE = dy.trajectory.quintic([0.1, -0.2], [0.6, 0.3], 0.6)
DT, STEM = 0.005, "planar_2link_computedtorque"
NEW = "-DHANDLES_SINCE_JAZZY"
WARNINGS = ("-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")
PACKAGES = (
    "controller_interface", "hardware_interface", "pluginlib", "rclcpp", "rclcpp_lifecycle",
)  # fmt: skip
MACROS = """
set(BUILD_TESTING ON)
enable_testing()
macro(ament_package)
endmacro()
macro(pluginlib_export_plugin_description_file base file)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    message(FATAL_ERROR "no ${file}")
  endif()
endmacro()
"""
HOSTILE = ['a"\n  evil: 1', "*/ @STEM@ --> ]]> <x>", "ñ 🤖 \\"]
NAMES = [*HOSTILE, "'", "# no comment", "{x}", "\x00\x85", "- a", "joint_1", ""]


def written(folder, robot=ARM, law=LAW, **options):
    files = dy.export_controller(robot, law, folder, DT, target="ros2", **options)
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def compiler():
    if not (shutil.which("g++") and shutil.which("gcc")):
        pytest.skip("no g++")


def built(folder):
    """The plugin with the manager of the test around it, by g++ alone."""
    compiler()
    commands = [
        ["gcc", "-std=c99", "-O1", "-ffp-contract=off", "-c", f"{STEM}.c", "-o", "law.o"],
        ["g++", *WARNINGS, "-I", HERE / "include", "-I", ".", f"{STEM}_ros2.cpp",
         HERE / "main.cpp", "law.o", "-lm", "-o", "manager"],
    ]  # fmt: skip
    for command in commands:
        subprocess.run(command, cwd=folder, check=True)
    return folder / "manager"


class Manager:
    """One run of the manager: commands in, lines out."""

    def __init__(self, program):
        self.program, self.commands = program, []

    def __call__(self, *lines):
        self.commands += lines
        text = "\n".join(self.commands)
        done = subprocess.run(
            [self.program], input=text, capture_output=True, text=True, check=True
        )
        self.complaints = done.stderr
        return done.stdout.splitlines()


def row(values):
    return " ".join(f"{float(x):.17g}" for x in np.ravel(values))


def torques(lines):
    """What updates returned, their allocations and torques."""
    table = np.array([line.split() for line in lines], dtype=float)
    return table[:, 0], table[:, 1], table[:, 2:]


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """The package without a reference inside, built by CMake; packages of ROS are headers."""
    compiler()
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    folder = tmp_path_factory.mktemp("outside")
    written(folder)
    modules = folder / "modules"
    modules.mkdir()
    for name in PACKAGES:
        lines = f"add_library({name}::{name} INTERFACE IMPORTED)\n"
        lines += f'target_include_directories({name}::{name} INTERFACE "{HERE / "include"}")\n'
        (modules / f"Find{name}.cmake").write_text(lines)
    (modules / "Findtrajectory_msgs.cmake").write_text(
        "set(trajectory_msgs_TARGETS rclcpp::rclcpp)\n"
    )
    (modules / "Findament_cmake.cmake").write_text(MACROS)
    for command in (
        ["cmake", "-S", ".", "-B", "build", f"-DCMAKE_MODULE_PATH={modules}",
         f"-DCMAKE_CXX_FLAGS=-Werror {NEW}"],
        ["cmake", "--build", "build"],
        ["ctest", "--test-dir", "build", "--output-on-failure"],
        ["g++", *WARNINGS, NEW, "-I", HERE / "include", HERE / "main.cpp", f"build/lib{STEM}.so",
         f"-Wl,-rpath,{folder / 'build'}", "-o", "manager"],
    ):  # fmt: skip
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "manager"


def begun(program, rate=200):
    run = Manager(program)
    run.commands += ["joints joint1 joint2", f"rate {rate}", "configure"]
    return run


def test_updates_give_the_torques_of_python(outside, compiled):
    law = Law(LAW, ARM, DT)
    q, qd, wanted, _ = sample_rows(law, 60)
    lines = [f"state {row([q[0], qd[0]])}", "activate"]
    for k in range(60):
        lines += [
            f"state {row([q[k], qd[k]])}",
            f"reference {row(wanted[k])}",
            f"update {k * 5_000_000}",
        ]
    claimed, *said = begun(outside)(*lines)[1:]
    assert claimed.split() == [
        "joint1/effort", "joint2/effort", "joint1/position", "joint2/position",
        "joint1/velocity", "joint2/velocity",
    ]  # fmt: skip
    assert said[0] == "SUCCESS"
    returned, allocations, got = torques(said[1:])
    expected = recorded(law, q, qd, wanted)
    assert (returned == 0).all() and (allocations == 0).all()
    assert np.abs(got - expected).max() <= 1e-12 * np.abs(expected).max()


def test_bad_samples_give_the_safe_torque_and_latch(outside):
    good, bad = "state 0.1 0.2 0 0", "state nan 0.2 0 0"
    run = begun(outside)
    lines = [good, "activate", "update 0", bad, "update 1", good, "update 2"]
    lines += [bad, "update 3", "update 4", good, "update 5", "timer"]
    said = run(*lines, "deactivate", "activate", "update 6")[3:]
    rest, (anew, again, last) = said[:6], said[6:]
    returned, _, tau = torques([*rest, last])
    still = (tau == 0.0).all(axis=1)
    assert list(still) == [False, True, False, True, True, True, False]
    assert (returned == 0).all() and anew == again == "SUCCESS"
    assert "2 bad samples in a row" in run.complaints


def test_references_and_what_holds_the_arm(outside):
    run = begun(outside)
    q = np.array([0.3, -0.4])
    lines = [f"state {row([q, [0, 0]])}", "activate", "update 0", "reference 1 2 3"]
    lines += ["reference 0.35 -0.4 0.5 0.5 1 1", "update 5000000", "update 300000000", "timer"]
    said = run(*lines)[3:]
    still = np.concatenate([q, np.zeros(4)])
    reference = np.array([0.35, -0.4, 0.5, 0.5, 1, 1])
    stopped = np.array([0.35, -0.4, 0, 0, 0, 0])
    expected = recorded(
        Law(LAW, ARM, DT),
        np.tile(q, (3, 1)),
        np.zeros((3, 2)),
        np.array([still, reference, stopped]),
    )
    np.testing.assert_allclose(torques(said)[2], expected, rtol=1e-12)
    assert "a reference was refused: expected 2 positions" in run.complaints
    assert not np.allclose(expected[1], expected[2])


def test_what_does_not_fit_is_refused(outside):
    assert begun(outside, rate=100)()[0] == "FAILURE"
    run = Manager(outside)
    assert run("joints joint1", "rate 200", "configure")[0] == "FAILURE"
    assert "parameter joints has 1 names, expected 2" in run.complaints
    run = begun(outside)
    assert run("state 0 nan 0 0", "activate")[2] == "FAILURE"
    assert "joint joint2 has no finite position" in run.complaints
    run = Manager(outside)
    run("parameter reference_timeout -1", "joints joint1 joint2", "rate 200", "configure")
    assert "reference_timeout is -1" in run.complaints
    run = begun(outside)
    assert run("state 0.1 0 0 0", "activate", "update 0", "deactivate", "commands")[-1].split() == [
        "0",
        "0",
    ]


@pytest.mark.thorough
def test_a_trajectory_inside_and_differences_with_handles_of_humble(tmp_path):
    options = {"reference": MOVE, "velocity": "difference", "dtype": "float32", "trig": "own"}
    files = written(tmp_path, **options)
    program = built(tmp_path)
    law = Law(LAW, ARM, DT, MOVE, "difference")
    q, qd, t, _ = sample_rows(law, 40)
    start = 7_000_000_000
    lines = [f"state {row(q[0])}", "activate"]
    for k in range(40):
        lines += [f"state {row(q[k])}", f"update {start + k * 5_000_000}"]
    said = begun(program)(*lines)
    assert said[1].split()[2:] == ["joint1/position", "joint2/position"]
    _, allocations, got = torques(said[3:])
    expected = recorded(law, q, qd, t)
    assert (allocations == 0).all()
    assert np.abs(got - expected).max() <= 1e-4 * np.abs(expected).max()
    far = begun(program)
    assert far("state 1 1", "activate")[2] == "FAILURE"
    assert "the trajectory begins at 0.1: move the arm there first" in far.complaints
    assert "trajectory_msgs" not in files["package.xml"] + files["CMakeLists.txt"]


def test_no_name_of_a_model_reaches_code(tmp_path):
    links = [dy.Link(name=name, joint_name=name, mass=1.0, a=1.0) for name in HOSTILE]
    robot = dy.Robot.from_dh(HOSTILE[0], convention="standard", links=links)
    files = written(tmp_path, robot, dy.control.JointPID(1.0))
    (parameters,) = (yaml.safe_load(x) for name, x in files.items() if name.endswith(".yaml"))
    (stem,) = set(parameters) - {"controller_manager"}
    assert parameters[stem]["ros__parameters"]["joints"] == HOSTILE
    assert parameters["controller_manager"]["ros__parameters"][stem]["type"] == f"{stem}/Controller"
    for name, text in files.items():
        if name.endswith(".xml"):
            assert not set("<>&") & set(ET.fromstring(text).tag)
    package = ET.fromstring(files["package.xml"])
    assert (
        re.fullmatch("[a-z][a-z0-9_]*", package.findtext("name") or "") and package[0].text == stem
    )
    compiler()
    command = [
        "g++",
        *WARNINGS,
        NEW,
        "-I",
        HERE / "include",
        "-fsyntax-only",
        tmp_path / f"{stem}_ros2.cpp",
    ]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("name", NAMES)
def test_quoted_names_stay_what_they_are(name):
    assert yaml.safe_load(f"x:\n  - {quoted(name)}\n") == {"x": [name]}


def test_rates_are_whole_numbers(tmp_path):
    with pytest.raises(OptionError, match=r"333\.333 Hz.*whole number.*\n?.*sample_time=1/333"):
        dy.export_controller(ARM, LAW, tmp_path, 0.003, target="ros2")
    assert not list(tmp_path.iterdir())
