"""Robots to yourdfpy and back."""

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import DynamisWarning, FileError
from dynamis.interop import from_yourdfpy, to_yourdfpy
from dynamis.interop.rigid_tree import NotRepresentableError

from ..random_robots import build, chains, states, trees
from .arms import assert_same_motion, coulomb, few, relative

yourdfpy = pytest.importorskip("yourdfpy")
pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")


def holdable(robot):
    """What URDF has: earth's gravity and symmetric friction, no rotors."""
    robot = coulomb(robot, symmetric=True).with_gravity((0, 0, -9.81))
    links = [replace(x, drive=replace(x.drive, rotor_inertia=0.0)) for x in robot.model.links]
    return dy.Robot(replace(robot.model, links=tuple(links)))


@few
@given(st.one_of(chains(5), trees(5)))
def test_there_and_back(robot):
    robot = holdable(robot)
    urdf = to_yourdfpy(robot)
    tool = "tool"
    assert_same_motion(robot, from_yourdfpy(urdf, tip=tool), limit=1e-9)
    q = states(robot, vectors=1)[0]
    urdf.update_cfg(dict(zip(robot.joint_names, q, strict=True)))
    assert relative(urdf.get_transform(tool), robot.fk(q)) < 1e-9


def test_joints_that_mimic_stay_tied():
    robot = holdable(build("urdf", ["revolute", "prismatic", "revolute"], 7))
    links = list(robot.model.links)
    links[2] = replace(links[2], mimic=("joint1", -1.5, 0.2))
    tied = dy.Robot(replace(robot.model, links=tuple(links)))
    assert_same_motion(tied, from_yourdfpy(to_yourdfpy(tied), tip="tool"), limit=1e-9)


@pytest.mark.filterwarnings("error::dynamis.errors.DynamisWarning")
def test_what_is_left_out_is_said():
    with pytest.warns(DynamisWarning, match="gears, rotor inertia, .*asymmetric"):
        to_yourdfpy(dy.load("puma560"))
    with pytest.warns(DynamisWarning, match="takes tip='tool0'"):
        urdf = to_yourdfpy(dy.load("ur10e"))
    robot = from_yourdfpy(urdf, tip="tool0")
    q = np.linspace(-1, 1, 6)
    np.testing.assert_allclose(robot.fk(q), dy.load("ur10e").fk(q), atol=1e-12)


def test_what_is_no_urdf_is_refused():
    with pytest.raises(NotRepresentableError, match=r"expected a yourdfpy\.URDF"):
        from_yourdfpy("arm.urdf")
    with pytest.raises(NotRepresentableError, match="moves with q"):
        to_yourdfpy(dy.load("rppr"))


DRAWN = """
<robot name="drawn">
  <link name="base"><visual><geometry><box size="1 1 1"/></geometry><material/></visual></link>
  <link name="arm">
    <inertial><origin rpy="0.1 0.2 0.3" xyz="1 2 3"/><mass value="2"/>
      <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="1.5"/></inertial>
    <visual><geometry><sphere radius="1"/></geometry><material name="m"><texture/></material>
    </visual>
  </link>
  <link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
    ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><dynamics damping="0.3"/>
    <limit lower="-1" upper="2"/><calibration/><safety_controller k_velocity="1"/></joint>
  <joint name="k" type="prismatic"><parent link="arm"/><child link="tip"/>
    <mimic joint="j" multiplier="-2"/></joint>
  <transmission name="t"><type>x</type><joint name="j"/><actuator name="m"/></transmission>
</robot>
"""


def test_what_is_drawn_does_not_matter(tmp_path):
    """Materials without names or pictures: none of it moves the arm."""
    (tmp_path / "drawn.urdf").write_text(DRAWN)
    ours = dy.load(tmp_path / "drawn.urdf")
    urdf = yourdfpy.URDF.load(io.StringIO(DRAWN), load_meshes=False, build_scene_graph=False)
    found = from_yourdfpy(urdf)
    assert_same_motion(ours, found, limit=1e-12)
    np.testing.assert_array_equal(found.limits, ours.limits)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda x: setattr(x.joints[0], "parent", None), "'j'.*<parent> has no link"),
        (lambda x: setattr(x.joints[0], "type", "floating"), "'j' is floating"),
        (lambda x: setattr(x.joints[0], "axis", np.zeros((2, 2))), "<axis> xyz"),
        (lambda x: setattr(x.links[1].inertial, "mass", "heavy"), "heavy"),
        (lambda x: setattr(x.links[1].inertial, "mass", None), "no <mass>"),
        (lambda x: setattr(x.links[1], "name", None), "a <link> has no name"),
    ],
)
def test_what_is_missing_or_odd_is_our_error(spoil, words):
    urdf = yourdfpy.URDF.load(io.StringIO(DRAWN), load_meshes=False, build_scene_graph=False)
    spoil(urdf.robot)
    with pytest.raises(FileError, match=words):
        from_yourdfpy(urdf)
