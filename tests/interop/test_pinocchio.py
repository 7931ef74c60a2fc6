"""Robots to Pinocchio and back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamis as dy
from dynamis.agree.peers import without_friction
from dynamis.errors import DynamisWarning, MissingPackageError
from dynamis.interop import from_pinocchio, to_pinocchio
from dynamis.interop.rigid_tree import NotRepresentableError

from ..random_robots import build, chains, states, trees
from .arms import assert_same_motion, coulomb, few, order, relative

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")


@few
@given(st.one_of(chains(6), trees(6)))
def test_there_and_back(robot):
    robot = coulomb(robot)
    assert_same_motion(robot, from_pinocchio(to_pinocchio(robot)))


@few
@given(st.one_of(chains(6), trees(6)))
def test_its_own_rnea_and_frames(robot):
    model = to_pinocchio(robot)
    data, at = model.createData(), order(robot, list(model.names)[1:])
    q, qd, qdd = states(robot)
    bare = without_friction(robot)
    tau = pin.rnea(model, data, q[at], qd[at], qdd[at])
    assert relative(tau, bare.inverse_dynamics(q, qd, qdd)[at]) < 1e-10
    pin.framesForwardKinematics(model, data, q[at])
    places = {f.name: data.oMf[i].homogeneous for i, f in enumerate(model.frames)}
    assert relative(places["tool"], robot.fk(q)) < 1e-10
    for name, frame in zip(robot.link_names, robot.frames(q)[1:], strict=True):
        assert relative(places[name], frame) < 1e-10


def test_friction_and_gears_stand_where_pinocchio_has_them():
    robot = coulomb(build("standard", ["revolute", "revolute"], 5))
    model = to_pinocchio(robot)
    c = robot.chain
    np.testing.assert_allclose(model.upperDryFrictionLimit, [r.plus for r in c.resistances])
    np.testing.assert_allclose(model.lowerDryFrictionLimit, [r.minus for r in c.resistances])
    assert (model.upperDryFrictionLimit > 0).all() and (model.lowerDryFrictionLimit < 0).all()
    gears = [x.drive.gear for x in robot.model.links]
    np.testing.assert_allclose(model.rotorGearRatio, gears)
    np.testing.assert_allclose(model.armature, model.rotorInertia * model.rotorGearRatio**2)
    again = from_pinocchio(model)
    assert [x.drive.gear for x in again.model.links] == gears


def test_a_body_that_none_could_be_is_carried_too():
    link = dy.Link(a=1.0, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, -0.5, 2.0, 0.1, 0.2, 0.3))
    robot = dy.Robot.from_dh("odd", convention="standard", links=[link, link])
    assert_same_motion(robot, from_pinocchio(to_pinocchio(robot)))


def test_limits_configurations_and_names():
    robot = dy.load("panda")
    model = to_pinocchio(robot)
    assert list(model.names)[1:] == list(robot.joint_names) and model.name == "panda"
    np.testing.assert_allclose(model.lowerPositionLimit, robot.limits[:, 0])
    np.testing.assert_allclose(model.effortLimit, [87] * 4 + [12] * 3)
    again = from_pinocchio(model)
    np.testing.assert_array_equal(again.limits, robot.limits)
    assert again.configurations.keys() == robot.configurations.keys()
    assert [x.velocity_limit for x in again.model.links] == [
        x.velocity_limit for x in robot.model.links
    ]
    open_ended = to_pinocchio(dy.load("planar-rr"))
    assert np.isinf(from_pinocchio(open_ended).limits).all()


def test_a_models_own_axes_and_unbounded_joints():
    model = pin.Model()
    place = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.2, 0.9), np.array([0.1, 0.2, 0.3]))
    axis = np.array([0.0, 0.6, 0.8])
    one = model.addJoint(0, pin.JointModelRevoluteUnaligned(axis), place, "one")
    two = model.addJoint(one, pin.JointModelRUBX(), place, "two")
    three = model.addJoint(two, pin.JointModelPY(), place, "three")
    for joint in (one, two, three):
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    model.addFrame(pin.Frame("tip", three, 0, place, pin.FrameType.OP_FRAME))
    robot = from_pinocchio(model)
    assert robot.joint_names == ("one", "two", "three") and robot.model.tool_name == "tip"
    q, qd, qdd = np.array([[0.3, -0.4, 0.5], [0.7, 0.2, -0.9], [-0.1, 0.6, 0.8]])
    theirs = np.array([q[0], np.cos(q[1]), np.sin(q[1]), q[2]])
    data = model.createData()
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, theirs, qd, qdd), rtol=1e-10
    )
    pin.framesForwardKinematics(model, data, theirs)
    tip = data.oMf[model.getFrameId("tip")].homogeneous
    np.testing.assert_allclose(robot.fk(q), tip, atol=1e-12)


def test_joints_of_more_degrees_are_refused_by_name():
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "floating")
    with pytest.raises(NotRepresentableError, match="'floating' is a JointModelFreeFlyer"):
        from_pinocchio(model)
    tied = pin.Model()
    leader = tied.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "leader")
    follower = pin.JointModelMimic(tied.joints[leader], 2.0, 0.0)
    tied.addJoint(leader, follower, pin.SE3.Identity(), "follower")
    with pytest.raises(NotRepresentableError, match="'follower' is a JointModelMimic"):
        from_pinocchio(tied)
    with pytest.raises(NotRepresentableError, match=r"expected a pin\.Model"):
        from_pinocchio(dy.load("panda"))


@pytest.mark.filterwarnings("error::dynamis.errors.DynamisWarning")
def test_what_is_left_out_is_said():
    with pytest.warns(DynamisWarning, match="left out: friction offsets$"):
        to_pinocchio(dy.load("panda"))
    slick = dy.Link(mass=1.0, friction=dy.Friction(coulomb=1.0, law="stribeck"))
    with pytest.warns(DynamisWarning, match="left out: friction laws other than Coulomb's$"):
        to_pinocchio(dy.Robot.from_dh("p", convention="standard", links=[slick]))
    robot = dy.load("puma560").with_payload(1.0)
    with pytest.warns(DynamisWarning, match="payload apart from the link"):
        to_pinocchio(robot)
    model = to_pinocchio(dy.Robot.from_dh("p", convention="standard", links=[dy.Link(mass=1.0)]))
    model.rotorInertia = np.array([1.0])
    with pytest.warns(DynamisWarning, match="rotorInertia that is not in armature"):
        from_pinocchio(model)
    model.rotorInertia = np.zeros(1)
    model.lowerPositionLimit = np.array([-1.0])
    with pytest.warns(DynamisWarning, match="joint limits to one side only"):
        from_pinocchio(model)


def test_what_no_tree_of_free_joints_holds_is_refused():
    robot = build("urdf", ["revolute", "revolute"], 7)
    links = list(robot.model.links)
    links[1] = replace(links[1], mimic=("joint1", 2.0, 0.0))
    tied = dy.Robot(replace(robot.model, links=tuple(links)))
    with pytest.raises(NotRepresentableError, match="'joint2' mimics another"):
        to_pinocchio(tied)
    with pytest.raises(NotRepresentableError, match="moves with q"):
        to_pinocchio(dy.load("rppr"))


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(MissingPackageError, match="pip install pin"):
        to_pinocchio(dy.load("panda"))
