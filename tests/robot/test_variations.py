"""Robots that differ from another in one thing."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisWarning
from dynamis.model.model import NamedFrame
from dynamis.model.pose import Pose
from tests.simulation.arms import pair


def test_with_friction_is_that_of_the_links_and_survives_a_file(tmp_path):
    arm = pair().with_friction(viscous=[2.0, (1.0, 3.0)], coulomb=0.5, offset=0.1)
    np.testing.assert_allclose(arm.friction_torque([1.0, -1.0]), [2.6, -3.4])
    arm.save(tmp_path / "arm.toml")
    assert dy.load(tmp_path / "arm.toml") == arm
    assert not arm.with_friction().friction_torque([1.0, 1.0]).any()


def test_with_friction_refuses_another_number_of_joints_by_name():
    with pytest.raises(dy.errors.ShapeError, match=r"viscous has 3 entries, .* 2: joint1, joint2"):
        pair().with_friction(viscous=[1.0, 2.0, 3.0])
    with pytest.raises(dy.errors.DynamisError, match="stickiness"):
        pair().with_friction(stickiness=1.0)


def test_with_friction_of_a_joint_is_that_of_its_mimics(tmp_path):
    links = [
        dy.Link(joint="revolute", a=0.5, mass=1.0),
        dy.Link(joint="revolute", a=0.5, mass=1.0, mimic=("joint1", -1.0, 0.0)),
    ]
    arm = dy.Robot.from_dh("mirror", convention="standard", links=links)
    rubs = arm.with_friction(viscous=2.0)
    assert [link.friction.viscous for link in rubs.model.links] == [2.0, 2.0]


# one link, drive, spring or joint


def others(robot: dy.Robot, changed: dy.Robot, k: int) -> bool:
    """Whether two robots differ in their link k alone."""
    links = list(changed.model.links)
    links[k] = robot.model.links[k]
    return replace(changed.model, links=tuple(links)) == robot.model


ROBOTS = ["puma560", "scara", "kr16", "delta", "five-bar", "palletizer"]


@pytest.mark.parametrize("name", ROBOTS)
def test_one_link_changes_and_all_else_stays(name):
    robot = dy.load(name)
    for k, link in enumerate(robot.link_names):
        new = robot.with_link(link, mass=7.0)
        assert new.model.links[k].mass == 7.0
        assert new == robot.with_link(k, mass=7.0)
        assert new != robot
        assert others(robot, new, k)


@pytest.mark.parametrize("name", ROBOTS)
def test_one_joint_gets_other_limits_and_another_drive(name):
    robot = dy.load(name)
    for j, joint in enumerate(robot.joint_names):
        k = robot.model.tree_joint_names.index(joint)
        link = robot.model.links[k]
        near = robot.with_limits(joint, (-0.5, 0.5))
        assert near == robot.with_limits(j, (-0.5, 0.5))
        np.testing.assert_array_equal(near.limits[j], (-0.5, 0.5))
        assert near.model.links[k].velocity_limit == link.velocity_limit
        assert others(robot, near, k)
        slow = robot.with_limits(joint, velocity_limit=0.1, effort_limit=None).model.links[k]
        assert slow == replace(link, velocity_limit=0.1, effort_limit=None)
        if link.passive:
            with pytest.raises(dy.errors.ModelError, match="is passive and has a drive"):
                robot.with_drive(joint, efficiency=0.9)
            continue
        heavy = robot.with_drive(joint, rotor_inertia=0.5)
        assert heavy == robot.with_drive(j, rotor_inertia=0.5)
        assert heavy.model.links[k].drive == replace(link.drive or dy.Drive(), rotor_inertia=0.5)
        assert others(robot, heavy, k)
        assert robot.with_drive(joint, None).model.links[k].drive is None
        whole = dy.Drive(rotor_inertia=0.5)
        assert robot.with_drive(joint, None).with_drive(joint, whole) == (
            robot.with_drive(joint, None).with_drive(joint, rotor_inertia=0.5)
        )


def test_a_gear_and_a_lead_take_the_place_of_each_other():
    links = [dy.Link(joint="prismatic", mass=1.0, drive=dy.Drive(lead=0.01, viscous=2.0))]
    slide = dy.Robot.from_dh("slide", convention="standard", links=links)
    (geared,) = slide.with_drive(0, gear=50).model.links
    assert (geared.drive.gear, geared.drive.lead, geared.drive.viscous) == (50, None, 2.0)
    (screw,) = slide.with_drive(0, gear=50).with_drive(0, lead=0.02).model.links
    assert screw.drive == dy.Drive(lead=0.02, viscous=2.0)
    assert slide.with_drive(0, viscous=2.0) == slide
    with pytest.raises(dy.errors.ModelError, match="a screw moves a prismatic joint"):
        pair().with_drive(0, lead=0.01)


def test_springs_come_change_and_go():
    arm = pair()
    spring = dy.Spring(kind="torsion", joint="joint2", stiffness=20.0)
    sprung = arm.with_spring(spring)
    np.testing.assert_allclose(sprung.spring_torque([0.3, 0.5]), [0.0, 10.0])
    assert sprung.with_spring("spring1", stiffness=40.0) == sprung.with_spring(0, stiffness=40.0)
    np.testing.assert_allclose(
        sprung.with_spring("spring1", stiffness=40.0).spring_torque([0.3, 0.5]), [0.0, 20.0]
    )
    both = sprung.with_spring(replace(spring, joint="joint1"))
    assert [x.joint for x in both.model.springs] == ["joint2", "joint1"]
    assert both.with_spring("spring2", None) == sprung
    assert sprung.with_spring(replace(spring, name="spring1", preload=3.0)).model.springs == (
        replace(spring, name="spring1", preload=3.0),
    )
    assert sprung.with_spring("spring1", replace(spring, preload=3.0)) == (
        sprung.with_spring("spring1", preload=3.0)
    )
    assert sprung.with_spring(0, None) == arm
    assert arm.model.springs == ()


def test_a_body_by_linear_parameters_keeps_its_centre_of_mass_and_inertia():
    arm = pair()
    found = arm.with_parameters(arm.parameters.values)
    assert found.model.links[1].linear is not None
    other, own = found.with_link("link2", mass=2.0), arm.model.links[1]
    link = other.model.links[1]
    assert (link.linear, link.mass) == (None, 2.0)
    np.testing.assert_allclose(link.com, own.centre({}), atol=1e-12)
    expected = arm.with_link("link2", mass=2.0)
    np.testing.assert_allclose(other.parameters.values, expected.parameters.values, atol=1e-12)
    again = expected.with_link("link2", linear=found.model.links[1].linear)
    np.testing.assert_allclose(again.parameters.values, arm.parameters.values, atol=1e-12)
    nothing = arm.with_link("link2", linear=(0.0,) * 10)
    with pytest.raises(dy.errors.ModelError, match="no centre of mass to keep"):
        nothing.with_link("link2", mass=2.0)
    whole = nothing.with_link("link2", mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1))
    assert whole.model.links[1].mass == 2.0


def test_com_and_com_factor_take_the_place_of_each_other():
    links = [dy.Link(a=0.5, mass=1.0, com_factor=-0.5)]
    bar = dy.Robot.from_dh("bar", convention="standard", links=links)
    moved = bar.with_link(0, com=(-0.1, 0, 0))
    assert moved.model.links[0].com_factor is None
    assert moved.with_link(0, com_factor=-0.5) == bar


@pytest.mark.parametrize("name", ["five-bar", "delta", "ur10e"])
def test_a_new_name_keeps_what_refers_to_the_link(name):
    robot = dy.load(name)
    q = robot.home
    for k, link in enumerate(robot.model.links):
        spring = dy.Spring(kind="torsion", joint=link.joint_name, name="coil", stiffness=1.0)
        sprung = robot.with_spring(spring)
        new = sprung.with_link(k, name="renamed_link", joint_name="renamed_joint")
        assert new.link_names[k] == "renamed_link"
        assert new.model.springs[-1].joint == "renamed_joint"
        np.testing.assert_array_equal(new.fk(q), sprung.fk(q))
        assert new.with_link(k, name=link.name, joint_name=link.joint_name) == sprung


def test_mimic_joints_have_limits_of_their_own():
    links = [dy.Link(a=0.5, mass=1.0), dy.Link(a=0.5, mass=1.0, mimic=("joint1", -1.0, 0.0))]
    arm = dy.Robot.from_dh("mirror", convention="standard", links=links)
    assert arm.with_limits("joint2", (-1, 1)).model.links[1].limits == (-1, 1)
    assert arm.with_link(0, joint_name="lead").model.links[1].mimic[0] == "lead"
    with pytest.raises(dy.errors.OptionError, match=r"has no joint 1, .* a number from 0 to 0"):
        arm.with_limits(1, (-1, 1))


WRONG = [
    (lambda arm: arm.with_drive("joint3", gear=2), "no joint 'joint3'", "joint"),
    (lambda arm: arm.with_drive(2, gear=2), "no joint 2", "from 0 to 1"),
    (lambda arm: arm.with_drive(-1, gear=2), "no joint -1", "from 0 to 1"),
    (lambda arm: arm.with_drive("joint1", gaer=2), "'gaer'", "gear"),
    (lambda arm: arm.with_drive("joint1", dy.Drive(), gear=2), "and gear", "one of the two"),
    (lambda arm: arm.with_drive("joint1", 3), "drive is 3", "dy.Drive"),
    (lambda arm: arm.with_limits("jiont1", (-1, 1)), "no joint 'jiont1'", "joint1"),
    (lambda arm: arm.with_limits("joint1", 3), "limits is 3", "2 numbers"),
    (lambda arm: arm.with_limits("joint1", velocity=3), "'velocity'", "velocity_limit"),
    (lambda arm: arm.with_link("link", mass=2), "no link 'link'", "did you mean 'link"),
    (lambda arm: arm.with_link("flange", mass=2), "no link 'flange'", "fixed to 'link2'"),
    (lambda arm: arm.with_link("link1", mas=2), "'mas'", "mass"),
    (lambda arm: arm.with_link("link1", mass=-2), "mass is -2", ">= 0"),
    (lambda arm: arm.with_link("link1", name="link2"), "two links", "distinct names"),
    (lambda arm: arm.with_spring("spring1", stiffness=2), "no spring 'spring1'", "none"),
    (lambda arm: arm.with_spring(dy.Spring(joint="joint1", kind="torsion"), preload=2), "alone"),
    (lambda arm: arm.with_spring(dy.Spring(joint="j", kind="torsion")), "joint 'j'", "joint1"),
]


@pytest.mark.parametrize("case", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named_with_what_exists(case):
    call, *words = case
    arm = pair()
    flange = NamedFrame(name="flange", link="link2", pose=Pose())
    arm = dy.Robot(replace(arm.model, frames=(flange,)))
    with pytest.raises(dy.errors.DynamisError) as caught:
        call(arm)
    for word in words:
        assert word in str(caught.value)


URDF = """<robot name="two">
  <link name="floor"/><link name="humerus"><visual><geometry><box size="1 1 1"/></geometry></visual>
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><link name="fore"/>
  <joint name="shoulder" type="revolute"><parent link="floor"/><child link="humerus"/>
    <safety_controller k_velocity="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="humerus"/><child link="fore"/></joint>
  <gazebo reference="humerus"><mu1>0.2</mu1></gazebo>
  <transmission name="t"><joint name="shoulder"/></transmission>
</robot>"""


def test_elements_of_a_urdf_stay_with_a_link_that_has_another_name(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    arm = dy.load(tmp_path / "arm.urdf")
    other = arm.with_link(0, name="arm", joint_name="motor")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DynamisWarning)
        other.save(tmp_path / "other.urdf")
        arm.save(tmp_path / "again.urdf")
    text, again = ((tmp_path / f"{x}.urdf").read_text() for x in ("other", "again"))
    assert "humerus" not in text and "shoulder" not in text
    swap = again.replace("humerus", "arm").replace("shoulder", "motor")
    assert text == swap
    assert dy.load(tmp_path / "other.urdf").model == other.model


def test_a_name_of_none_is_the_one_that_the_number_gives():
    arm = dy.load("ur5e")
    other = arm.with_link(1, name=None, joint_name=None)
    assert (other.link_names[1], other.joint_names[1]) == ("link2", "joint2")
    assert other.model.links[2].parent == "link2"
    q = np.linspace(0.1, 0.6, 6)
    np.testing.assert_array_equal(other.gravity_torque(q), arm.gravity_torque(q))


def test_configurations_of_a_joint_that_begins_or_ends_to_mimic():
    arm = dy.load("puma560")
    tied = arm.with_link(2, mimic=("joint2", 2.0, 0.1))
    assert tied.n == 5 and {*tied.configurations} == {*arm.configurations}
    for name, q in arm.configurations.items():
        np.testing.assert_array_equal(tied.configurations[name], np.delete(q, 2))
    free = tied.with_link(2, mimic=None)
    for name, q in arm.configurations.items():
        expected = q.copy()
        expected[2] = 2.0 * q[1] + 0.1
        np.testing.assert_allclose(free.configurations[name], expected, atol=1e-15)
