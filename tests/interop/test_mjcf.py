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
    mujoco.set_mju_user_warning(lambda text: None)  # which would write a log
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
    again = from_mujoco(compiled_model(THEIRS)[1])
    np.testing.assert_allclose(
        again.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-9
    )


BALL = '<geom size="0.1"/>'


def mjcf(inside, around=""):
    return f"<mujoco>{around}<worldbody>{inside}</worldbody></mujoco>"


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<body name="b"><freejoint name="f"/>%s</body>', "joint 'f' of body 'b' is free"),
        ('<body name="b"><freejoint/>%s</body>', "the unnamed joint of body 'b' is free"),
        ('<body name="b"><joint name="x" type="ball"/>%s</body>', "'x' of body 'b' is ball"),
        ('<body name="b"><joint type="free"/>%s</body>', "is free, expected hinge or slide"),
        (
            '<body name="b" mocap="true"><body><joint/>%s</body></body>',
            "body 'b' is moved by motion capture",
        ),
        ('<include file="/etc/passwd"/>', "file '/etc/passwd' is not in the model's folder"),
        ('<composite type="cable"/>', "<composite> makes soft bodies"),
        ('<body name="b"><joint/><plugin plugin="x"/>%s</body>', "<plugin> names code of its own"),
        (
            '<body name="b"><joint name="x" damping="1 2"/>%s</body>',
            r"'b' has damping|too much data",
        ),
    ],
)
def test_other_machines_are_refused_by_name(inside, words):
    pytest.importorskip("mujoco")
    with pytest.raises(FileError, match=words):
        from_mjcf(mjcf(inside.replace("%s", BALL)))


@pytest.mark.parametrize(
    ("tie", "words"),
    [
        ('joint joint1="lift" polycoef="0 0 1 0 0" joint2="wrist"', "is not linear"),
        ('tendon name="w" tendon1="t"', "'w' .tendon. is no joint, connect or weld"),
        ('joint joint1="lift" joint2="wrist"/><joint joint1="wrist" joint2="lift"', "form a loop"),
    ],
)
def test_equalities_that_are_no_mimics_are_refused(tie, words):
    tendon = '<tendon><fixed name="t"><joint joint="lift" coef="1"/></fixed></tendon>'
    assert_refused(f"{tendon}<equality><{tie}/></equality>", words)


@pytest.mark.parametrize("attribute", ["damping", "stiffness", "frictionloss"])
def test_tendons_that_act_are_refused(attribute):
    tendon = f'<fixed name="t" {attribute}="1"><joint joint="lift" coef="1"/></fixed>'
    assert_refused(f"<tendon>{tendon}</tendon>", "tendon 't' acts")


@pytest.mark.parametrize("attribute", ["density", "viscosity"])
def test_fluids_are_refused(attribute):
    assert_refused(f'<option {attribute}="0.1"/>', f"a fluid drags .*{attribute} 0.1")


def assert_refused(more, words):
    _, model = compiled_model(text := THEIRS.replace("</mujoco>", f"{more}</mujoco>"))
    with pytest.raises(FileError, match=words):
        from_mjcf(text)
    with pytest.raises(NotRepresentableError, match=words):
        from_mujoco(model)


def agrees_with_mujoco(text, limit=1e-10):
    """Torques of robot and compiled model, mimics tied, dry friction left out."""
    robot = from_mjcf(text)
    mujoco, model = compiled_model(text)
    return robot, torque_error(mujoco, model, robot) < limit


def torque_error(mujoco, model, robot):
    """Largest difference of the torques of a model and of what was made of it, relative."""
    K, x0 = np.zeros((model.nv, robot.n)), np.zeros(model.nv)
    for i, link in enumerate(robot.model.links):
        leader, factor, start = link.mimic or (link.joint_name, 1.0, 0.0)
        K[i, robot.joint_names.index(leader)], x0[i] = factor, start
    q, qd, qdd = states(robot)
    tau, _ = inverse(mujoco, model, K @ q + x0, K @ qd, K @ qdd)
    viscous = np.array([link.friction.viscous for link in robot.model.links])
    bare = robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd)
    return relative(bare + K.T @ (viscous * (K @ qd)), K.T @ tau)


@pytest.mark.parametrize(
    "change",
    [
        '<option><flag gravity="disable"/></option>',
        '<option gravity="1 2 3"/>',
        '<option><flag damper="disable"/></option>',
        '<compiler settotalmass="20"/>',
        '<compiler boundmass="1.5" boundinertia="0.15"/>',
        '<compiler balanceinertia="true"/>',
        '<equality><joint joint1="wrist" joint2="shoulder" polycoef="0.1 -2 0 0 0"/></equality>',
        '<equality><joint joint1="wrist" joint2="lift"/><joint joint1="wrist" joint2="shoulder" '
        'polycoef="0.2 3 0 0 0"/></equality>',
        '<equality><joint joint1="lift" joint2="wrist"/><joint joint1="wrist" joint2="shoulder" '
        'polycoef="0.2 3 0 0 0"/></equality>',
        '<equality><joint active="false" joint1="wrist" joint2="shoulder"/></equality>',
        '<equality><weld body1="bracket" body2="arm"/></equality>',
        '<tendon><fixed name="t" limited="true" range="0 1"><joint joint="lift" coef="1"/></fixed>'
        '</tendon><actuator><motor tendon="t"/></actuator>',
        '<default><default class="x"/></default><keyframe><key qpos="1 2 3 4"/></keyframe>',
    ],
)
def test_what_mujoco_makes_of_it_is_held(change):
    robot, agrees = agrees_with_mujoco(THEIRS.replace("</mujoco>", f"{change}</mujoco>"))
    assert agrees
    assert robot.n == 4 - change.count("joint2=") + change.count("active=")


def test_a_joint_at_a_constant_is_locked():
    ties = '<joint joint1="lift" polycoef="0.1 0 0 0 0"/><joint joint1="wrist" joint2="lift"/>'
    text = THEIRS.replace("</mujoco>", f"<equality>{ties}</equality></mujoco>")
    robot = from_mjcf(text)
    assert robot.joint_names == ("shoulder", "other_joint")
    mujoco, model = compiled_model(text)
    K = np.eye(4)[:, [0, 3]]
    q, qd, qdd = states(robot)
    tau, data = inverse(mujoco, model, K @ q + [0, 0.1, 0.1, 0], K @ qd, K @ qdd)
    bare = robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd)
    np.testing.assert_allclose(bare + np.array([3, 0.2]) * qd, tau[[0, 3]], rtol=1e-9)
    np.testing.assert_allclose(robot.fk(q, link="hand")[:3, 3], data.body("hand").xpos)


@pytest.mark.parametrize(
    "inside",
    [
        '<body><joint/><frame pos="1 0 0">%s</frame></body>',
        '<body><joint/><frame pos="1 0 0"><inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>'
        "</frame></body>",
        '<body><joint springdamper="1 1"/>%s</body>',
        '<body><joint axis="1 0 0"/><geom size="0.1"/><body pos="1 0 0">%s</body></body>',
        '<body name="table">%s<body><joint/>%s</body></body>',
        '<replicate count="3" offset="1 0 0"><body name="b"><joint name="j"/>%s</body></replicate>',
        '<body name="b"><joint name="j"/>%s</body><body name="target" mocap="true"/>',
    ],
)
def test_masses_wherever_they_stand(inside):
    _, agrees = agrees_with_mujoco(mjcf(inside.replace("%s", BALL), '<option gravity="3 4 5"/>'))
    assert agrees


def test_what_drives_a_joint_turns_with_it():
    arm = f'<body><joint name="j" armature="0.1"/>{BALL}</body>'
    motor = '<actuator><motor joint="j" gear="3" armature="0.2" damping="0.4"/></actuator>'
    try:
        robot, agrees = agrees_with_mujoco(mjcf(arm, motor))
    except FileError as error:
        assert "armature" in str(error)  # a MuJoCo whose actuators have none
        pytest.skip("actuators without inertia")
    assert agrees
    np.testing.assert_allclose(robot.model.links[0].drive.rotor_inertia, 0.1 + 9 * 0.2)
    np.testing.assert_allclose(robot.model.links[0].friction.viscous, 9 * 0.4)


MESH = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_files_of_the_models_own_folder(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm" / "parts").mkdir(parents=True)
    path, seen = tmp_path / "arm" / "arm.xml", '<geom type="mesh" mesh="tool" mass="0"/>'
    told = '<inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>'
    assets = '<compiler meshdir="parts"/><asset><mesh file="tool.obj"/><texture name="t" '
    assets += 'type="2d" file="none.png"/><material name="m" texture="t"/></asset>'
    link = (
        '<body><joint name="j" axis="1 0 0"/>{}<geom type="mesh" mesh="tool" material="m"/></body>'
    )
    path.write_text(mjcf(f"<body>{seen}</body>" + link.format(told), assets))
    assert from_mjcf(path).model.links[0].mass == 2.0  # no mesh is opened that weighs nothing
    path.write_text(mjcf(link.format(""), assets))
    with pytest.raises(FileError, match=r"mass comes from a mesh: the file 'parts/tool\.obj'"):
        from_mjcf(path)
    (tmp_path / "arm" / "parts" / "tool.obj").write_bytes(MESH)
    np.testing.assert_allclose(from_mjcf(path).model.links[0].mass, 1000 / 6)
    (tmp_path / "arm" / "parts" / "more.xml").write_text(
        f'<x><include file="more2.xml"/><body name="b"><joint/>{told}</body></x>'
    )
    (tmp_path / "arm" / "parts" / "more2.xml").write_text('<x><site name="s" pos="1 2 3"/></x>')
    path.write_text(mjcf('<include file="parts/more.xml"/>'))
    assert {"b", "s"} <= {
        *from_mjcf(path).link_names,
        *(x.name for x in from_mjcf(path).model.frames),
    }
    path.write_text(mjcf('<include file="parts/more.xml"/>' * 2))
    with pytest.raises(FileError, match="a second time"):
        from_mjcf(path)


@pytest.mark.parametrize(
    "inside",
    [
        '<include file="../other.xml"/>',
        '<include file="{tmp}/other.xml"/>',
        '<include file="link.xml"/>',
        '<body><joint/><geom type="mesh" mesh="m"/></body><asset><mesh file="../m.obj"/></asset>',
        '<asset><model name="m" file="other.xml"/></asset>',
        '<body><joint/><geom size="1"/></body><extra file="../other.xml"/>',
    ],
)
def test_other_files_stay_closed(inside, tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm").mkdir()
    other = tmp_path / "other.xml"
    other.write_text(f'<mujoco><body name="found"><joint/>{BALL}</body></mujoco>')
    (tmp_path / "m.obj").write_bytes(MESH)
    (tmp_path / "arm" / "link.xml").symlink_to(other)
    path = tmp_path / "arm" / "arm.xml"
    inside = inside.replace("{tmp}", str(tmp_path))
    worldbody, _, assets = inside.partition("<asset>")
    path.write_text(mjcf(worldbody, f"<asset>{assets}" if assets else ""))
    with pytest.raises(FileError, match=r"not in the model's folder|names the file"):
        from_mjcf(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><mujoco>&a;</mujoco>', "refused"),
        ("<mujoco>", "not valid XML"),
        ("<robot/>", "root element is <robot>"),
        ("<mujoco/>", "no moving joint"),
        (mjcf('<body pos="0 nan 0"/>'), "<body> has pos='0 nan 0', expected numbers"),
        (mjcf("<body/>", '<equality><connect body1="b" anchor=""/></equality>'), "has anchor=''"),
        ('<mujoco><compiler coordinate="global"/></mujoco>', "coordinate"),
        (mjcf('<body childclass="x"><joint/></body>'), "childclass"),
        (mjcf("<body>" * 600 + "</body>" * 600), "too deep"),
        (mjcf("<body>" * 30000 + "</body>" * 30000), "too deep"),
        (mjcf("<body/>" * 1001), "more than 1000"),
        (mjcf('<body><replicate count="1001"><site/></replicate></body>'), "more than 1000"),
        (mjcf('<replicate count="999">' * 9 + "<geom/>" + "</replicate>" * 9), "100000 elements"),
        (mjcf('<replicate count="-1"/>'), "whole number"),
    ],
)
def test_hostile_and_broken_text(text, words, tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=words):
        from_mjcf(text)
    assert not list(tmp_path.iterdir())  # MuJoCo's warnings write no log


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
    with pytest.warns(DynamisWarning, match="contacts"):
        sprung = from_mjcf(THEIRS.replace('name="lift"', 'name="lift" stiffness="3"'))
    (spring,) = sprung.model.springs
    assert (spring.kind, spring.joint, spring.stiffness) == ("torsion", "lift", 3.0)


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
    model.body_quat[1] = 0.0
    with pytest.raises(NotRepresentableError, match=r"quat \[0.0, 0.0, 0.0, 0.0\]"):
        from_mujoco(model)


GYM = ("half_cheetah", "hopper", "pusher", "reacher", "walker2d", "inverted_double_pendulum")


@pytest.mark.parametrize("name", GYM)
def test_the_arms_of_gymnasium_there_and_back(name):
    gymnasium = pytest.importorskip("gymnasium")
    path = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    mujoco, model = compiled_model(path.read_text())
    robot = from_mjcf(path)
    assert torque_error(mujoco, model, robot) < 1e-10
    assert_same_motion(robot, from_mujoco(compiled_model(path.read_text())[1]))
    _, again = compiled_model(to_mjcf(robot))  # bodies of several joints have links without mass
    assert torque_error(mujoco, again, robot) < 1e-10


def test_mimics_there_and_back():
    robot = coulomb(build("urdf", ["revolute", "prismatic", "revolute"], 7), symmetric=True)
    links = list(robot.model.links)
    links[2] = replace(links[2], mimic=("joint1", -1.5, 0.2))
    keys = {"there": (0.3, 0.4)}
    tied = dy.Robot(replace(robot.model, links=tuple(links), configurations=keys))
    again = from_mjcf(to_mjcf(tied))
    assert_same_motion(tied, again)
    assert dict(again.model.configurations) == keys


def test_flat_bodies_are_written_as_mujoco_takes_them():
    """Ixx + Iyy = Izz, turned: rounding must not break the triangle inequality."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        a, b = rng.uniform(0.01, 1, 2)
        I = R @ np.diag([a, b, a + b]) @ R.T
        link = dy.Link(a=1.0, mass=1.0, inertia=(0.5 * (I + I.T)).tolist())
        robot = dy.Robot.from_dh("flat", convention="standard", links=[link])
        assert_same_motion(robot, from_mujoco(compiled_model(to_mjcf(robot))[1], tip="tool"))


# springs


def test_names_of_springs_at_joints_come_back_from_mjcf():
    """MuJoCo's joint springs have no name: theirs must not be that of a tendon."""
    pytest.importorskip("mujoco")
    springs = (
        dy.Spring(to="link1", from_point=(0, 0.5, 0), stiffness=9.0, rest_length=0.2),
        dy.Spring(kind="torsion", joint="joint2", stiffness=3.0),
    )
    arm = dy.Robot(replace(dy.load("planar-2link").model, springs=springs))
    back = dy.interop.from_mjcf(dy.interop.to_mjcf(arm))
    q = np.array([0.3, 0.4])
    np.testing.assert_allclose(back.spring_torque(q), arm.spring_torque(q), atol=1e-12)
    assert {spring.name for spring in back.model.springs} == {"spring1", "spring2"}


@pytest.mark.parametrize("name", ["scara", "ur10e", "panda"])
def test_mujoco_has_the_same_springs(name):
    mujoco = pytest.importorskip("mujoco")
    robot = dy.load(name)
    links, joints = robot.model.link_names, robot.model.tree_joint_names
    ends = {"from_point": (0.3, 0.2, 0.5), "to_point": (0.1, 0.0, 0.05)}
    springs = (
        dy.Spring(name="a", to=links[2], **ends, stiffness=800.0, rest_length=0.3, damping=4.0),
        dy.Spring(name="b", from_=links[0], to=links[2], **ends, stiffness=500.0, preload=-20.0),
        dy.Spring(name="c", kind="torsion", joint=joints[1], stiffness=70.0, rest_angle=0.2),
    )
    rigid = [replace(x, friction=dy.Friction(), drive=None) for x in robot.model.links]
    arm = dy.Robot(replace(robot.model, links=tuple(rigid), springs=springs))
    text = dy.interop.to_mjcf(arm)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    order = [int(model.joint(x).dofadr[0]) for x in arm.joint_names]
    back = dy.interop.from_mjcf(text)
    for seed in range(5):
        q, qd = np.random.default_rng(seed + 1).uniform(-1.0, 1.0, (2, arm.n))
        data.qpos[order], data.qvel[order] = q, qd
        mujoco.mj_forward(model, data)
        rest = np.zeros(arm.n)
        wanted = arm.inverse_dynamics(q, qd, rest) - dy.Robot(
            replace(arm.model, springs=())
        ).inverse_dynamics(q, qd, rest)
        np.testing.assert_allclose(-data.qfrc_passive[order], wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(back.spring_torque(q), arm.spring_torque(q), atol=1e-9)
