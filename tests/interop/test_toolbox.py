"""Robots to the Robotics Toolbox and back."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import DynamisWarning
from dynamis.interop import from_rtb, to_rtb
from dynamis.interop.rigid_tree import NotRepresentableError, rigid_tree

from ..random_robots import build, chains, states, trees
from .arms import assert_same_motion, coulomb, few, relative

toolbox = pytest.importorskip("roboticstoolbox")
pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")


@few
@given(chains(6), st.sampled_from([None, "standard", "modified"]))
def test_there_and_back(robot, convention):
    robot = coulomb(robot)
    there = to_rtb(robot, convention)
    assert there.mdh == ((convention or robot.model.convention) == "modified")
    again = from_rtb(there)
    assert again.model.convention == (convention or robot.model.convention)
    assert_same_motion(robot, again, limit=1e-9)


@few
@given(chains(5))
def test_its_own_rne_with_friction(robot):
    assume(robot.model.links[0].joint == "revolute")
    robot = coulomb(robot)
    q, qd, qdd = states(robot)
    there = to_rtb(robot)
    assert relative(there.rne(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd)) < 1e-10
    assert relative(there.fkine(q).A, robot.fk(q)) < 1e-10


def test_friction_is_the_motors():
    gear, joint = -50.0, dy.Friction(viscous=2.0, coulomb=(3.0, -4.0))
    drive = dy.Drive(gear=gear, rotor_inertia=1e-3, viscous=1e-4, coulomb=(0.1, -0.2))
    link = dy.Link(a=1.0, mass=1.0, friction=joint, drive=drive)
    robot = dy.Robot.from_dh("one", convention="standard", links=[link])
    theirs = to_rtb(robot).links[0]
    np.testing.assert_allclose(theirs.Tc, [3 / 50 + 0.1, -4 / 50 - 0.2])
    np.testing.assert_allclose(theirs.B, 2 / gear**2 + 1e-4)
    assert (theirs.G, theirs.Jm) == (gear, 1e-3)
    assert -theirs.friction(1.0) == pytest.approx(robot.friction_torque([1.0])[0])
    assert -theirs.friction(-1.0) == pytest.approx(robot.friction_torque([-1.0])[0])


def test_their_puma_is_ours():
    theirs = toolbox.models.DH.Puma560()
    robot = from_rtb(theirs)
    q, qd, qdd = states(robot, 5)
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, qd, qdd), theirs.rne(q, qd, qdd), rtol=1e-9
    )
    np.testing.assert_array_equal(robot.configurations["qn"], theirs.qn)
    np.testing.assert_array_equal(robot.limits, theirs.qlim.T)
    assert robot.gravity_torque(theirs.qn)[1] > 30  # gravity pulls down


@few
@given(trees(5))
def test_trees_of_elementary_transforms(robot):
    """A tree of the toolbox made link by link, with every joint about x, y or z of its own."""
    robot = coulomb(robot)
    links, tree = [], rigid_tree(robot, np.zeros(robot.n))
    for i, joint in enumerate(tree):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = joint.R, joint.p
        move = toolbox.ET.Rz if joint.kind == "revolute" else toolbox.ET.tz
        drive, r = robot.chain.motors[i], robot.chain.resistances[i]
        links.append(
            toolbox.Link(
                toolbox.ET.SE3(T) * move(),
                name=f"link{i + 1}",
                joint_name=f"joint{i + 1}",
                parent=None if joint.parent < 0 else links[joint.parent],
                **dict(zip("mrI", joint.body, strict=True)),
                Jm=drive.inertia,
                B=r.viscous,
                Tc=[r.plus, r.minus],
            )
        )
    if sum(joint.parent < 0 for joint in tree) > 1:
        root = toolbox.Link(toolbox.ET.SE3(np.eye(4)), name="root")
        for link, joint in zip(links, tree, strict=True):
            link.parent = root if joint.parent < 0 else link.parent
        links.insert(0, root)
    there = toolbox.Robot(links, name="tree", gravity=robot.gravity)
    found = from_rtb(there)
    q, qd, qdd = states(found)
    at = [robot.joint_names.index(x) for x in found.joint_names]
    back = np.argsort(at)
    ours = robot.inverse_dynamics(q[back], qd[back], qdd[back])[at]
    assert relative(found.inverse_dynamics(q, qd, qdd), ours) < 1e-10


def test_their_panda():
    theirs = toolbox.models.Panda()
    with pytest.warns(DynamisWarning, match="gripper"):
        robot = from_rtb(theirs)
    q = np.linspace(-1, 1, 7)
    assert robot.joint_names[0] == "panda_joint1"
    np.testing.assert_allclose(robot.fk(q), theirs.fkine(q).A, atol=1e-12)
    np.testing.assert_array_equal(robot.limits, theirs.qlim.T)
    hand = from_rtb(theirs, tip="panda_link8")
    np.testing.assert_allclose(hand.fk(q), theirs.fkine(q, end="panda_link8").A, atol=1e-12)


@pytest.mark.filterwarnings("error::dynamis.errors.DynamisWarning")
def test_what_is_left_out_is_said():
    with pytest.warns(DynamisWarning, match="first joint is prismatic"):
        to_rtb(dy.load("cartesian-xy"))
    with pytest.warns(DynamisWarning, match="joint and link names"):
        to_rtb(dy.load("ur10e"))


def test_what_is_no_chain_is_refused():
    tree = build("urdf", ["revolute"] * 3, 4, [-1, 0, 0])
    with pytest.raises(NotRepresentableError, match="is a tree"):
        to_rtb(tree)
    flipped = toolbox.DHRobot([toolbox.RevoluteDH(a=1, flip=True, m=1)])
    with pytest.raises(NotRepresentableError, match="link 1 moves backwards"):
        from_rtb(flipped)
    with pytest.raises(NotRepresentableError, match="expected a DHRobot"):
        from_rtb("puma560")
