"""Robots to MJCF and back, and MJCF that others wrote."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamis as dy
from dynamis.agree.peers import without_friction
from dynamis.errors import DynamisWarning, FileError
from dynamis.interop import from_mjcf, from_mujoco, to_mjcf
from dynamis.interop.rigid_tree import NotRepresentableError

from ..random_robots import build, chains, states, trees
from .arms import assert_same_motion, coulomb, few, order, relative

pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
THEIRS = """
<mujoco model="theirs">
  <compiler eulerseq="zyx"/>
  <option gravity="0.5 0 -9"/>
  <default>
    <joint armature="0.01" damping="0.2"/>
    <default class="slow"><joint damping="3" axis="0 1 0"/>
      <default class="slower"><joint frictionloss="0.7"/></default>
    </default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <frame pos="0 0 1" euler="0 90 0">
      <body name="arm" pos="0.1 0.2 0.3" axisangle="1 2 3 40" childclass="slow">
        <inertial pos="0.1 0 0" mass="2" diaginertia="0.1 0.2 0.25" euler="10 20 30"/>
        <joint name="shoulder" pos="0.05 0.06 0.07" range="-90 45" ref="30"/>
        <joint name="lift" type="slide" axis="1 1 0" range="-0.1 0.5" actuatorfrcrange="-7 7"/>
        <site name="elbow" pos="0.2 0.1 0" zaxis="1 0 -1"/>
        <body name="bracket" pos="0 0.1 0" xyaxes="0 1 0 -1 0.1 0">
          <inertial pos="0 0.1 0" mass="0.5" fullinertia="0.02 0.03 0.04 0.001 0.002 0.003"/>
          <body name="hand" quat="0.9 0.1 0.2 0.3" pos="0 0 0.4">
            <inertial pos="0 0 0.1" mass="1" diaginertia="0.02 0.02 0.01"/>
            <joint class="slower" name="wrist"/>
          </body>
        </body>
      </body>
    </frame>
    <body name="other" pos="0 1 0">
      <inertial pos="0 0 0.2" mass="1" diaginertia="0.03 0.03 0.01"/>
      <joint axis="1 0 0" limited="false" range="-1 1"/>
    </body>
  </worldbody>
</mujoco>
"""


def compiled_model(text):
    mujoco = pytest.importorskip("mujoco")
    return mujoco, mujoco.MjModel.from_xml_string(text)


def inverse(mujoco, model, q, qd, qdd):
    """mj_inverse by its own joint names, without limits and dry friction, which are soft."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse.copy(), data


@few
@given(st.one_of(chains(6), trees(6)))
def test_there_and_back(robot):
    robot = coulomb(robot, symmetric=True)
    assert_same_motion(robot, from_mjcf(to_mjcf(robot)))


@few
@given(st.one_of(chains(6), trees(6)))
def test_mujocos_own_dynamics_and_frames(robot):
    mujoco, model = compiled_model(to_mjcf(robot))
    names = [model.joint(i).name for i in range(model.njnt)]
    at = order(robot, names)
    q, qd, qdd = states(robot)
    tau, data = inverse(mujoco, model, q[at], qd[at], qdd[at])
    viscous = np.array([r.viscous for r in robot.chain.resistances]) * qd
    ours = without_friction(robot).inverse_dynamics(q, qd, qdd) + viscous
    assert relative(tau, ours[at]) < 1e-9
    assert relative(data.site("tool").xpos, robot.fk(q)[:3, 3]) < 1e-10
    for name, T in zip(robot.link_names, robot.frames(q)[1:], strict=True):
        assert relative(data.body(name).xmat.reshape(3, 3), T[:3, :3]) < 1e-10
        assert relative(data.body(name).xpos, T[:3, 3]) < 1e-10
    assert_same_motion(robot, from_mujoco(model, tip="tool"), friction=False, limit=1e-9)


def test_what_others_wrote_moves_as_in_mujoco():
    robot = from_mjcf(THEIRS)
    mujoco, model = compiled_model(THEIRS)
    names = [model.joint(i).name or "other_joint" for i in range(model.njnt)]
    assert robot.joint_names == tuple(names) == ("shoulder", "lift", "wrist", "other_joint")
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-0.5, 0.5, (3, 4))
    tau, data = inverse(mujoco, model, q, qd, qdd)
    bare = robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd)
    damping = [link.friction.viscous for link in robot.model.links]
    assert damping == [3.0, 3.0, 3.0, 0.2]
    np.testing.assert_allclose(bare + np.multiply(damping, qd), tau, rtol=1e-9)
    np.testing.assert_allclose(robot.fk(q, link="elbow")[:3, 3], data.site("elbow").xpos)
    R = robot.fk(q, link="elbow")[:3, :3]
    np.testing.assert_allclose(R, data.site("elbow").xmat.reshape(3, 3), atol=1e-12)
    np.testing.assert_allclose(robot.fk(q, link="hand")[:3, 3], data.body("hand").xpos)
    limits = [np.radians([-90, 45]), [-0.1, 0.5], [-np.inf, np.inf], [-np.inf, np.inf]]
    np.testing.assert_allclose(robot.limits, limits)
    assert [x.friction.coulomb for x in robot.model.links][2] == (0.7, -0.7)
    assert [x.effort_limit for x in robot.model.links] == [None, 7.0, None, None]
    again = from_mujoco(model)
    np.testing.assert_allclose(
        again.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<body name="b"><freejoint name="f"/></body>', "<freejoint> 'f' lets the base move"),
        ('<body name="b"><joint name="x" type="ball"/></body>', "'x' of body 'b' is ball"),
        ('<body name="b"><joint type="free"/></body>', "is free, expected hinge or slide"),
        ('<body name="b" mocap="true"/>', "body 'b' is moved by motion capture"),
        ('<body name="b"><joint/><geom size="1"/></body>', "'b' has no <inertial>"),
        ('<include file="/etc/passwd"/>', "<include> names another file"),
        ('<body name="b"><replicate count="3"/></body>', "<replicate> makes copies"),
    ],
)
def test_other_machines_are_refused_by_name(inside, words):
    with pytest.raises(FileError, match=words):
        from_mjcf(f"<mujoco><worldbody>{inside}</worldbody></mujoco>")


@pytest.mark.parametrize("tag", ["equality", "tendon"])
def test_ties_are_refused(tag):
    text = THEIRS.replace("</mujoco>", f'<{tag}><joint joint1="lift"/></{tag}></mujoco>')
    with pytest.raises(FileError, match=f"<{tag}> ties"):
        from_mjcf(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><mujoco>&a;</mujoco>', "refused"),
        ("<mujoco>", "not valid XML"),
        ("<robot/>", "root element is <robot>"),
        ("<mujoco/>", "no moving joint"),
        ('<mujoco><worldbody><body pos="0 nan 0"/></worldbody></mujoco>', "finite"),
        ('<mujoco><compiler coordinate="global"/></mujoco>', "coordinate"),
        ('<mujoco><worldbody><body childclass="x"><joint/></body></worldbody></mujoco>', "'x'"),
    ],
)
def test_hostile_and_broken_text(text, words):
    with pytest.raises(FileError, match=words):
        from_mjcf(text)


def test_a_deep_file_is_no_recursion():
    deep = 3000
    text = "<mujoco><worldbody>" + "<body><joint/>" + "<body>" * deep + "</body>" * deep
    assert from_mjcf(text + "</body></worldbody></mujoco>").n == 1


def test_names_are_escaped():
    robot = build("standard", ["revolute", "revolute"], 2)
    first, second = robot.model.links
    links = (replace(first, name='a"<&>', joint_name="é\n&"), replace(second, name="world"))
    odd = dy.Robot(replace(robot.model, links=links, name="<mujoco>"))
    _, model = compiled_model(to_mjcf(odd))
    assert model.joint(0).name == "é\n&" and model.body(1).name == 'a"<&>'
    again = from_mjcf(to_mjcf(odd))
    assert again.name == "<mujoco>" and again.joint_names == odd.joint_names
    bad = dy.Robot(replace(robot.model, links=(replace(first, name="\0"), second)))
    with pytest.raises(FileError, match="no XML file can hold"):
        to_mjcf(bad)


@pytest.mark.filterwarnings("error::dynamis.errors.DynamisWarning")
def test_what_is_left_out_is_said(tmp_path):
    with pytest.warns(DynamisWarning, match="asymmetric Coulomb friction.*MuJoCo refuses 'link1'"):
        to_mjcf(dy.load("puma560"))
    flat = dy.Link(mass=1.0, inertia=(1.0, 1.0, 5.0))
    with pytest.warns(DynamisWarning, match="'link1': its inertia breaks the triangle"):
        to_mjcf(dy.Robot.from_dh("flat", convention="standard", links=[flat]))
    with pytest.warns(DynamisWarning, match="velocity limits"):
        text = to_mjcf(dy.load("panda"))
    path = tmp_path / "panda.xml"
    path.write_text(text)
    with pytest.warns(DynamisWarning, match="left out: actuators"):
        robot = from_mjcf(path)
    assert robot.name == "panda" and robot.model.tool_name == "flange"
    assert robot.configurations.keys() == dy.load("panda").configurations.keys()
    with pytest.warns(DynamisWarning, match="joint springs"):
        from_mjcf(THEIRS.replace('name="lift"', 'name="lift" stiffness="3"'))


def test_geoms_are_weighed_by_mujoco():
    rod = '<geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05" mass="1.5"/>'
    body = f'<body name="rod"><joint name="j" axis="0 1 0"/>{rod}</body>'
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    mujoco, model = compiled_model(text)
    robot = from_mujoco(model)
    tau, _ = inverse(mujoco, model, [0.4], [0.1], [2.0])
    np.testing.assert_allclose(robot.inverse_dynamics([0.4], [0.1], [2.0]), tau, rtol=1e-12)
    with pytest.raises(NotRepresentableError, match="from_mjcf"):
        from_mujoco(text)


@pytest.mark.parametrize("name", ["hopper", "reacher", "inverted_double_pendulum"])
def test_the_arms_of_gymnasium(name):
    gymnasium = pytest.importorskip("gymnasium")
    path = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    with pytest.raises(FileError, match="inertiafromgeom"):
        from_mjcf(path)
    mujoco, model = compiled_model(path.read_text())
    robot = from_mujoco(model)
    model.jnt_stiffness[:] = 0.0
    q, qd, qdd = states(robot)
    tau, _ = inverse(mujoco, model, q, qd, qdd)
    viscous = np.array([link.friction.viscous for link in robot.model.links]) * qd
    bare = robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd)
    assert relative(bare + viscous, tau) < 1e-10
