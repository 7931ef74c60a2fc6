"""Elastic joints in MJCF and MuJoCo: a rotor and a fixed tendon, both ways, and their motion."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisWarning, FileError
from dynamis.interop import from_mjcf, from_mujoco, to_mjcf
from dynamis.model.drive import ELASTIC
from tests.thorough import thorough_but

mujoco = pytest.importorskip("mujoco")
FIELDS = ("gear", "rotor_inertia", "viscous", "coulomb", "stiffness", *ELASTIC)
PUMA_STIFFNESS = (1e4, 2e4, 1e4, 1e3, 1e3, 1e3)

pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")


def two_links(**more) -> dy.Robot:
    """Turning and sliding, with everything that MJCF holds of an elastic gear; gears differ."""
    links = [
        dy.Link(
            a=0.5, mass=5.0, com=(-0.25, 0, 0), inertia=(0.1, 0.1, 0.1, 0, 0, 0), effort_limit=80.0,
            friction=dy.Friction(viscous=0.3, coulomb=0.7),
            drive=dy.Drive(gear=-97, rotor_inertia=5e-5, viscous=2e-4, coulomb=3e-3,
                           stiffness=2e3, damping=0.5, hardening=2e6),
        ),
        dy.Link(
            joint="prismatic", a=0.1, alpha="90 deg", mass=3.0, com=(-0.2, 0, 0),
            inertia=(0.04, 0.04, 0.04, 0, 0, 0),
            drive=dy.Drive(gear=630, rotor_inertia=2e-5, stiffness=5e4, **more),
        ),
    ]  # fmt: skip
    return dy.Robot.from_dh(
        "two", convention="standard", gravity=(1, -9, 2), links=links,
        configurations={"there": (0.3, 0.1)},
    )  # fmt: skip


def puma(hardening: float = 0.0) -> dy.Robot:
    """All six joints elastic, without friction, and with inertias that MuJoCo takes."""
    robot = dy.load("puma560").with_friction(0.0, 0.0)
    robot = robot.with_link(0, mass=1.0, inertia=(0.35, 0.35, 0.35, 0, 0, 0))
    robot = robot.with_link(2, inertia=(0.066, 0.086, 0.0225, 0, 0, 0))
    for i, K in enumerate(PUMA_STIFFNESS):
        own = {"stiffness": K, "damping": 1e-4 * K, "hardening": hardening}
        robot = robot.with_drive(i, viscous=0.0, coulomb=0.0, **own)
    return robot


def in_mujoco(robot, duration, q0, motor0, torque, dt=1e-4):
    """q and motor at the end by RK4 of MuJoCo, in units of the joints."""
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    data = mujoco.MjData(model)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, dt
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # limits are soft there
    n, gears = robot.n, np.array([x.drive.gear for x in robot.model.links])
    data.qpos[:n], data.qpos[n:], data.ctrl[:] = q0, gears * motor0, torque
    for _ in range(round(duration / dt)):
        mujoco.mj_step(model, data)
    return np.concatenate([data.qpos[:n], data.qpos[n:] / gears])


# both ways


@pytest.mark.parametrize("more", [{}, {"damping": 7.0, "backlash": 1e-3}])
def test_drives_there_and_back(more):
    robot = two_links(**more)
    again = from_mjcf(to_mjcf(robot))
    assert again.joint_names == robot.joint_names and again.link_names == robot.link_names
    for there, back in zip(robot.model.links, again.model.links, strict=True):
        for name in FIELDS:
            own, read = np.array(getattr(there.drive, name)), getattr(back.drive, name)
            np.testing.assert_allclose(read, own, rtol=1e-12, err_msg=name)
        assert there.friction.viscous == pytest.approx(back.friction.viscous, rel=1e-12)
    efforts = [x.effort_limit for x in again.model.links]
    assert efforts == [pytest.approx(80.0, rel=1e-12), None]
    assert dict(again.configurations.items()).keys() == {"there"}
    np.testing.assert_allclose(again.configurations["there"], [0.3, 0.1])
    assert [frame.name for frame in again.model.frames] == ["tool"]


def test_the_motion_there_and_back():
    robot = two_links()
    options = {"q0": [0.3, 0.1], "torque": [4.0, -20.0], "check_step": False}
    there = dy.simulate(robot, 0.2, **options)
    back = dy.simulate(from_mjcf(to_mjcf(robot)), 0.2, **options)
    np.testing.assert_allclose(back.q, there.q, atol=1e-12)
    np.testing.assert_allclose(back.motor, there.motor, atol=1e-12)


def test_rigid_joints_beside_elastic_ones_keep_their_armature():
    robot = two_links().with_drive(1, stiffness=None)
    with pytest.warns(DynamisWarning, match="left out: gears$"):
        text = to_mjcf(robot)
    elastic, rigid = (x.drive for x in from_mjcf(text).model.links)
    assert elastic.gear == pytest.approx(-97) and elastic.stiffness == 2e3
    assert (rigid.gear, rigid.stiffness) == (1.0, None)
    assert rigid.rotor_inertia == pytest.approx(630**2 * 2e-5)


def test_a_closed_mechanism_there_and_back():
    robot = dy.load("five-bar")
    for k in robot.driven:
        robot = robot.with_drive(k, gear=50.0, rotor_inertia=1e-4, stiffness=1e4, damping=1.0)
    again = from_mjcf(to_mjcf(robot))
    assert [again.joint_names[k] for k in again.driven] == [
        robot.joint_names[k] for k in robot.driven
    ]
    drives = [again.model.links[k].drive for k in again.driven]
    assert [(x.gear, x.rotor_inertia, x.stiffness, x.damping) for x in drives] == [
        (pytest.approx(50.0), 1e-4, 1e4, 1.0)
    ] * len(robot.driven)


def test_keyframes_hold_the_arm():
    """Motors stand where the gears carry the arm, so that only its brakes are missing."""
    robot = two_links(damping=7.0).with_friction(0.0, 0.0)
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.ctrl[:] = robot.gravity_torque([0.3, 0.1])
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qacc, 0.0, atol=1e-6)


def test_what_mujoco_does_otherwise_is_said():
    with pytest.warns(DynamisWarning, match="do not damp within their backlash"):
        text = to_mjcf(two_links(damping=7.0, backlash=1e-3))
    with pytest.warns(DynamisWarning, match="do not damp within their backlash"):
        from_mjcf(text)


def test_a_locked_joint_takes_its_rotor_along():
    robot = from_mjcf(to_mjcf(two_links()), lock={"joint1": 0.2})
    assert robot.joint_names == ("joint2",)
    assert robot.model.links[0].drive.stiffness == pytest.approx(5e4)
    assert len(robot.chain.elastic) == 1


# what others wrote

ROTOR = """<body name="rotor"><joint name="shaft" damping="0.01"/>
  <inertial pos="0 0 0.1" mass="0.3" diaginertia="2e-4 2e-4 1e-4"/></body>"""
THEIRS = """<mujoco><option gravity="0 -9.81 0"/><worldbody>
  <body name="arm"><joint name="shoulder"/>
    <inertial pos="0.2 0 0" mass="2" diaginertia="0.1 0.1 0.1"/>%s
    <body name="hand" pos="0.4 0 0"><joint name="wrist"/>
      <inertial pos="0.1 0 0" mass="1" diaginertia="0.02 0.02 0.02"/></body>
  </body>%s</worldbody>
  <tendon><fixed name="belt" stiffness="3" damping="0.2" springlength="-0.02 0.06">
    <joint joint="shoulder" coef="-20"/><joint joint="shaft" coef="0.4"/></fixed></tendon>
  </mujoco>"""
END = "</tendon>"
IN_WORLD, CARRIED = THEIRS % ("", ROTOR), THEIRS % (ROTOR, "")


def test_a_rotor_of_others_is_an_elastic_drive():
    robot = from_mjcf(IN_WORLD)
    assert robot.joint_names == ("shoulder", "wrist")
    drive = robot.model.links[0].drive
    assert drive.gear == pytest.approx(50.0) and drive.rotor_inertia == pytest.approx(1e-4)
    assert drive.stiffness == pytest.approx(3 * 400) and drive.damping == pytest.approx(0.2 * 400)
    assert drive.backlash == pytest.approx(0.04 / 20) and drive.viscous == pytest.approx(0.01)
    assert robot.model.links[1].drive is None


def test_a_light_rotor_that_a_link_carries_is_an_elastic_drive():
    """Its mass is that of the link."""
    light = CARRIED.replace("2e-4 2e-4 1e-4", "1e-13 1e-13 1e-13")
    light = light.replace('damping="0.01"', 'armature="1e-4"')
    light = light.replace('name="rotor"', 'name="rotor" pos="0.1 0 0"')
    robot = from_mjcf(light)
    assert robot.joint_names == ("shoulder", "wrist")
    assert robot.model.links[0].drive.rotor_inertia == pytest.approx(1e-4)
    q, carried = [0.3, 0.4], from_mjcf(IN_WORLD)
    more = robot.gravity_torque(q)[0] - carried.gravity_torque(q)[0]
    assert more == pytest.approx(0.3 * 9.81 * 0.1 * math.cos(0.3))


def changed(*edits):
    text = IN_WORLD
    for before, after in edits:
        text, count = re.subn(re.escape(before), after, text)
        assert count
    return text


@pytest.mark.parametrize(
    "text",
    [
        CARRIED,  # its inertia turns with the arm
        changed(('pos="0 0 0.1"', 'pos="0.01 0 0.1"')),  # gravity turns it
        changed(('<body name="rotor">', '<body name="rotor"><site name="mark"/>')),
        changed(('name="shaft"', 'name="shaft" stiffness="1"')),
        changed(('name="shoulder"/>', 'name="shoulder" armature="0.1"/>')),
        changed(('damping="0.2"', 'damping="0.2" frictionloss="1"')),
        changed(('stiffness="3"', 'stiffness="0"')),
        changed((END, f'{END}<equality><joint joint1="shaft" joint2="wrist"/></equality>')),
        changed((END, f'{END}<equality><joint joint1="shoulder" joint2="wrist"/></equality>')),
        changed((END, f'{END}<equality><weld body1="rotor" body2="hand"/></equality>')),
        changed(('coef="-20"/>', 'coef="-20"/><joint joint="wrist" coef="1"/>')),
    ],
)  # fmt: skip
def test_other_tendons_are_refused_as_before(text):
    with pytest.raises(FileError, match="tendon 'belt' acts"):
        from_mjcf(text)


# the same motion


def test_two_masses_in_mujoco():
    link = dy.Link(
        inertia=(0.5, 0.5, 0.5, 0, 0, 0), mass=1.0,
        drive=dy.Drive(gear=100, rotor_inertia=2e-5, stiffness=1e3, damping=0.2),
    )  # fmt: skip
    robot = dy.Robot.from_dh("two masses", convention="standard", gravity=(0, 0, 0), links=[link])
    theirs = in_mujoco(robot, 0.1, [0.1], np.array([0.11]), [2.0])
    run = dy.simulate(robot, 0.1, dt=1e-4, q0=[0.1], motor0=[0.11], torque=[2.0], check_step=False)
    assert run.integrator == "rk4"
    np.testing.assert_allclose([run.q[-1, 0], run.motor[-1, 0]], theirs, atol=1e-10)


GEARS = {"damping": 7.0, "hardening": 1e8}, {"backlash": 2e-3}


@pytest.mark.parametrize("more", thorough_but(GEARS[:1], GEARS))
def test_two_links_in_mujoco(more):
    """With backlash the steps differ where teeth meet, so that they are short."""
    robot = two_links(**more).with_friction(0.0, 0.0).with_drive(0, viscous=0.0, coulomb=0.0)
    q0, torque, dt = np.array([0.3, 0.1]), [4.0, -20.0], 1e-5 if "backlash" in more else 1e-4
    theirs = in_mujoco(robot, 0.1, q0, q0, torque, dt)
    run = dy.simulate(robot, 0.1, dt=dt, q0=q0, motor0=q0, torque=torque, check_step=False)
    assert run.integrator == "rk4"
    np.testing.assert_allclose(np.concatenate([run.q[-1], run.motor[-1]]), theirs, atol=1e-8)


@pytest.mark.thorough
@pytest.mark.parametrize("hardening", [0.0, 1e7])
def test_puma_in_mujoco(hardening):
    robot, torque = puma(hardening), np.array([10.0, -20.0, 5.0, 0.3, 0.2, 0.1])
    q0 = np.array([0.1, 0.3, -1.2, 0.4, 0.5, 0.2])
    theirs = in_mujoco(robot, 0.1, q0, q0, torque, 2e-5)
    run = dy.simulate(robot, 0.1, dt=2e-5, q0=q0, motor0=q0, torque=torque, check_step=False)
    assert run.integrator == "rk4"
    np.testing.assert_allclose(np.concatenate([run.q[-1], run.motor[-1]]), theirs, atol=1e-10)


@pytest.mark.thorough
def test_implicit_steps_of_the_puma_approach_mujoco():
    """Extrapolated over three steps of third order: errors of h^3 and h^4 are gone."""
    robot, torque = puma(), np.array([10.0, -20.0, 5.0, 0.3, 0.2, 0.1])
    q0 = np.array([0.1, 0.3, -1.2, 0.4, 0.5, 0.2])
    theirs = in_mujoco(robot, 0.05, q0, q0, torque, 2e-5)
    ends = []
    for dt in (2e-4, 1e-4, 5e-5):
        run = dy.simulate(
            robot, 0.05, dt=dt, q0=q0, motor0=q0, torque=torque, integrator="ros34pw2",
            check_step=False,
        )  # fmt: skip
        ends.append(np.concatenate([run.q[-1], run.motor[-1]]))
    once = [(8.0 * b - a) / 7.0 for a, b in pairwise(ends)]
    np.testing.assert_allclose((16.0 * once[1] - once[0]) / 15.0, theirs, atol=1e-8)
    assert math.log2(np.abs(ends[1] - theirs).max() / np.abs(ends[2] - theirs).max()) > 2.7


def test_compiled_models_are_read_alike():
    robot = two_links()
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    assert from_mujoco(model, tip="tool").model.links == from_mjcf(to_mjcf(robot)).model.links
