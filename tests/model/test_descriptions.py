"""Other people's descriptions: MJCF by its root element, xacro programs, robot_descriptions."""

import os
import shutil
import subprocess
import sys
from inspect import signature

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import COMMANDS, main, run_of
from dynamis.cli.arguments import options
from dynamis.errors import FileError, MissingPackageError
from dynamis.interop import from_mjcf, to_mjcf
from dynamis.model.formats.descriptions import PREFIX
from dynamis.model.formats.packages import mesh_file, package_folder

MJCF = """<mujoco model="arm">
  <compiler angle="radian"/>
  <worldbody><body name="a" pos="0 0 0.5">
    <joint name="j1" axis="0 0 1" range="-1 1" ref="0.25"/>
    <inertial pos="0.1 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>
    <body name="b" pos="0.3 0 0"><joint name="j2" axis="0 1 0"/>
      <inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/></body>
  </body></worldbody></mujoco>"""
XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="h" default="0.25"/><xacro:property name="h" value="$(arg h)"/>
  <link name="base"/><link name="a"/>
  <joint name="j1" type="revolute"><parent link="base"/><child link="a"/>
    <origin xyz="0 0 ${2 * h}"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize("suffix", [".xml", ".mjcf", ".urdf"])
def test_mjcf_loads_by_its_root_element(tmp_path, suffix):
    path = tmp_path / f"arm{suffix}"
    path.write_text(MJCF)
    robot = dy.load(path, tip="b")
    assert robot.joint_names == ("j1", "j2")
    assert robot.model == from_mjcf(MJCF, "b").model


def test_mjcf_of_the_catalogue_comes_back(tmp_path):
    path = tmp_path / "panda.xml"
    with pytest.warns(dy.errors.DynamisWarning):
        path.write_text(to_mjcf(dy.load("panda")))
        robot = dy.load(path)
    masses = [[link.mass for link in x.model.links] for x in (robot, dy.load("panda"))]
    np.testing.assert_allclose(*masses)


def test_joints_of_mjcf_are_locked_at_their_own_positions(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(MJCF)
    whole, held = dy.load(path), dy.load(path, lock={"j1": 0.75})
    assert held.joint_names == ("j2",)
    np.testing.assert_allclose(held.fk([0.4]), whole.fk([0.75, 0.4]), atol=1e-12)
    with pytest.raises(FileError, match="lock names 'j3', which is not a joint"):
        dy.load(path, lock={"j3": 0.0})


def test_mjcf_opens_nothing_outside_its_folder(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "part.xml").write_text("<mujoco><worldbody/></mujoco>")
    path = inner / "arm.xml"
    path.write_text(MJCF.replace("<compiler", '<include file="../part.xml"/><compiler'))
    with pytest.raises(FileError, match=r"'\.\./part.xml' is not in the model's folder"):
        dy.load(path)


# xacro


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO)
    return path


def test_xacro_is_not_run_unasked(program):
    with pytest.raises(FileError, match=r"(?s)a program, which is not run unasked.*run_xacro=True"):
        dy.load(program)
    with pytest.raises(FileError, match=r"does not end in \.xacro"):
        dy.load("panda", run_xacro=True)
    with pytest.raises(FileError, match="run_xacro is 'yes', expected True, False or its"):
        dy.load(program, run_xacro="yes")
    with pytest.raises(FileError, match=r"run_xacro has 'a:=b"):
        dy.load(program, run_xacro={"a:=b -o x": 1})


def test_xacro_runs_when_asked(program):
    pytest.importorskip("xacro")
    robot = dy.load(program, run_xacro=True)
    assert robot.model.links[0].xyz == (0.0, 0.0, 0.5)
    assert dy.load(program, run_xacro={"h": 1.5}).model.links[0].xyz == (0.0, 0.0, 3.0)
    program.write_text(XACRO.replace("2 * h", "2 * nothing"))
    with pytest.raises(FileError, match=r"(?s)xacro failed: .*nothing"):
        dy.load(program, run_xacro=True)


PACKAGE = "<package><name>{}</name></package>"


def write_package(folder, name, **files):
    """The folder `urdf` of a ROS package; files by name with _ for a dot."""
    (folder / "urdf").mkdir(parents=True)
    (folder / "package.xml").write_text(PACKAGE.format(name))
    for file, text in files.items():
        (folder / "urdf" / file.replace("_", ".")).write_text(text)
    return folder / "urdf"


INCLUDING = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find parts)/urdf/part.xacro"/>
  <xacro:property name="own" value="$(find arm_description)"/>
  <link name="base"/><link name="a"><visual><geometry><mesh filename="${own}"/></geometry></visual>
  </link><joint name="j1" type="revolute"><parent link="base"/><child link="a"/>
    <origin xyz="0 0 ${height}"/><axis xyz="0 0 1"/></joint></robot>"""
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="height" value="0.75"/></robot>"""


@pytest.fixture
def without_ros(monkeypatch):
    pytest.importorskip("xacro")
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("beside", ["work/parts", "work/folder of another name"])
def test_packages_are_found_above_the_file_and_beside_it(tmp_path, without_ros, beside):
    urdf = write_package(tmp_path / "work/arm", "arm_description", arm_xacro=INCLUDING)
    write_package(tmp_path / beside, "parts", part_xacro=PART)
    assert dy.load(urdf / "arm.xacro", run_xacro=True).model.links[0].xyz == (0.0, 0.0, 0.75)


@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_packages_are_found_where_ros_lists_them(tmp_path, without_ros, monkeypatch, variable):
    urdf = write_package(tmp_path / "work/deep/er/arm", "arm_description", arm_xacro=INCLUDING)
    folder = tmp_path / "ros" / ("share/parts" if variable.startswith("AMENT") else "parts")
    write_package(folder, "parts", part_xacro=PART)
    with pytest.raises(FileError, match=r"(?s)\$\(find parts\): there is no folder of.*not set"):
        dy.load(urdf / "arm.xacro", run_xacro=True)
    monkeypatch.setenv(variable, f"{tmp_path / 'empty'}{os.pathsep}{tmp_path / 'ros'}")
    assert dy.load(urdf / "arm.xacro", run_xacro=True).model.links[0].xyz == (0.0, 0.0, 0.75)


def test_an_argument_that_a_xacro_file_does_not_ask_for_is_refused(tmp_path, without_ros):
    path = tmp_path / "arm.xacro"
    path.write_text(XACRO)
    assert dy.load(path, run_xacro={"h": 0.5}).model.links[0].xyz == (0.0, 0.0, 1.0)
    with pytest.raises(FileError, match=r"(?s)no argument 'hh'.*did you mean 'h'"):
        dy.load(path, run_xacro={"hh": 0.5})


def test_packages_of_a_workspace_and_commented_names(tmp_path, without_ros, monkeypatch):
    far = write_package(tmp_path / "src/repository/far", "far", a_stl="").parent
    manifest = far / "package.xml"
    manifest.write_text(manifest.read_text().replace("<name>", "<!-- <name>old</name> --><name>"))
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "src"))
    assert package_folder("far", tmp_path / "else/where/arm.urdf") == far


def test_meshes_that_a_saved_file_does_not_find_are_said(tmp_path, without_ros):
    mesh = '<visual><geometry><mesh filename="package://arm/urdf/a.stl"/></geometry></visual>'
    text = f"""<robot name="arm"><link name="base"/><link name="a">{mesh}</link>
      <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    urdf = write_package(tmp_path / "work/arm", "arm", a_stl="")
    (urdf / "arm.urdf").write_text(text)
    robot = dy.load(urdf / "arm.urdf")
    robot.save(urdf / "again.urdf")
    (tmp_path / "b/c/d/e").mkdir(parents=True)
    with pytest.warns(dy.errors.DynamisWarning, match="package arm are not found"):
        robot.save(tmp_path / "b/c/d/e/arm.urdf")


def test_a_package_that_is_not_there_is_named_with_where_it_was_looked_for(tmp_path, without_ros):
    urdf = write_package(tmp_path / "work/arm", "arm_description", arm_xacro=INCLUDING)
    write_package(tmp_path / "work/parts", "called_otherwise", part_xacro=PART)
    with pytest.raises(FileError) as caught:
        dy.load(urdf / "arm.xacro", run_xacro=True)
    said = str(caught.value)
    assert "no folder of the package 'parts'" in said and "ROS_PACKAGE_PATH (not set)" in said
    assert str(urdf.resolve()) in said and "ament" not in said and "Traceback" not in said


def test_meshes_are_found_in_the_packages_of_xacro(tmp_path, without_ros, monkeypatch):
    urdf = write_package(tmp_path / "a/b/work/arm", "arm_description") / "arm.urdf"
    beside = write_package(tmp_path / "a/b/work/other name", "parts", a_stl="") / "a.stl"
    listed = write_package(tmp_path / "ros/far", "far", a_stl="") / "a.stl"
    assert mesh_file("package://parts/urdf/a.stl", urdf) == beside.resolve()
    assert mesh_file("package://far/urdf/a.stl", urdf) is None
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    assert mesh_file("package://far/urdf/a.stl", urdf) == listed.resolve()
    (tmp_path / "ros/a.stl").touch()
    assert mesh_file("package://far/../a.stl", urdf) is None


def test_the_command_line_runs_xacro_when_asked(program, capsys):
    pytest.importorskip("xacro")
    assert main(["show", str(program)]) == 2
    assert "if you trust the file, --run-xacro" in capsys.readouterr().err
    assert main(["show", str(program), "--run-xacro", "--json"]) == 0
    assert main(["show", "panda", "--run-xacro"]) == 2
    assert "--run-xacro was given, but the file does not end in .xacro" in capsys.readouterr().err


def test_every_command_that_takes_a_robot_takes_run_xacro():
    runs = {name: run_of(name) for name in COMMANDS}
    robots = [n for n, x in runs.items() if {"robot", "robots"} & {*signature(x).parameters}]
    assert len(robots) > 10
    assert [n for n in robots if "--run-xacro" not in options(runs[n])] == []


def test_xacro_that_is_missing_is_named(program, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPackageError, match=r"(?s)needs the package xacro.*pip install"):
        dy.load(program, run_xacro=True)


# robot_descriptions

NAME = "ur10e_mj_description"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of robot_descriptions with one repository, at a commit of its own."""
    pytest.importorskip("robot_descriptions")
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    work = tmp_path / "work"
    (work / "universal_robots_ur10e").mkdir(parents=True)
    (work / "universal_robots_ur10e" / "ur10e.xml").write_text(MJCF)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(work)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "arm"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    commit = head.stdout.strip()
    folder = tmp_path / "cache" / f"mujoco_menagerie-{commit}" / "mujoco_menagerie"
    folder.parent.mkdir(parents=True)
    work.rename(folder)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ROBOT_DESCRIPTION_COMMIT", commit)
    return tmp_path / "cache"


def test_descriptions_come_from_the_cache(cache):
    assert dy.load(PREFIX + NAME, tip="b").model == from_mjcf(MJCF, "b").model


def test_what_is_not_in_the_cache_is_not_downloaded(cache, monkeypatch):
    before = sorted(cache.rglob("*"))
    with pytest.raises(FileError, match=r"(?s)not in the cache.*download=True"):
        dy.load(PREFIX + "panda_description")
    monkeypatch.delenv("ROBOT_DESCRIPTION_COMMIT")
    with pytest.raises(FileError, match=r"(?s)not in the cache: there is no .*mujoco_menagerie"):
        dy.load(PREFIX + NAME)
    assert sorted(cache.rglob("*")) == before


def test_another_commit_in_the_cache_is_not_updated(cache, monkeypatch):
    """The folder is there, at a commit that is not the one the package wants."""
    commit = next(cache.iterdir()).name.partition("-")[2]
    (cache / f"mujoco_menagerie-{commit}" / "mujoco_menagerie").rename(cache / "mujoco_menagerie")
    monkeypatch.delenv("ROBOT_DESCRIPTION_COMMIT")
    with pytest.raises(FileError, match=r"(?s)cannot be opened: .*download=True"):
        dy.load(PREFIX + NAME)


def test_descriptions_that_do_not_exist_are_named(cache):
    with pytest.raises(FileError, match=r"(?s)has no 'ur10_mj_description'.*ur10e_mj_description"):
        dy.load(PREFIX + "ur10_mj_description")
    with pytest.raises(FileError, match=r"(?s)has no 'xyzzy'.*robot_descriptions list"):
        dy.load(PREFIX + "xyzzy")
    with pytest.raises(FileError, match="not a name of robot_descriptions"):
        dy.load("panda", download=True)
