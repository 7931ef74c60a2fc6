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
SE3 = pytest.importorskip("spatialmath").SE3
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


@few
@given(st.booleans(), st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_joints_that_move_backwards(mdh, rows):
    """flip, in both conventions: poses and torques are those of the toolbox."""
    rng = np.random.default_rng(len(rows))
    links, straight = [], []
    for flip, slides in rows:
        a, alpha, constant, offset = rng.uniform(-1, 1, 4)
        L = rng.normal(size=(3, 3))
        body = {"m": rng.uniform(0.5, 2), "r": rng.normal(size=3), "I": L @ L.T, "Jm": 0.1}
        link = getattr(toolbox, ("Prismatic" if slides else "Revolute") + ("MDH" if mdh else "DH"))
        place = {"a": a, "alpha": alpha, "theta" if slides else "d": constant, **body}
        links.append(link(**place, offset=offset, flip=flip, qlim=[-1, 2]))
        straight.append(link(**place, offset=offset))
    theirs = toolbox.DHRobot(links, base=SE3.Rand(), tool=SE3.Rand())
    robot = from_rtb(theirs)
    q, qd, qdd = states(robot)
    np.testing.assert_allclose(robot.fk(q), theirs.fkine(q).A, atol=1e-12)
    np.testing.assert_array_equal(robot.limits, theirs.qlim.T)
    # the arm without flips, moved the other way
    sign = np.array([-1.0 if flip else 1.0 for flip, _ in rows])
    other = from_rtb(toolbox.DHRobot(straight, base=theirs.base, tool=theirs.tool))
    ours = sign * other.inverse_dynamics(sign * q, sign * qd, sign * qdd)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), ours, atol=1e-9)


@pytest.mark.parametrize("name", ["Jaco", "Mico"])
def test_their_arms_with_a_flip(name):
    theirs = getattr(toolbox.models.DH, name)()
    robot = from_rtb(theirs)
    q = np.linspace(-1, 1, robot.n)
    np.testing.assert_allclose(robot.fk(q), theirs.fkine(q).A, atol=1e-12)


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
    with pytest.raises(NotRepresentableError, match="expected a DHRobot"):
        from_rtb("puma560")
