"""Closed mechanisms to other libraries and back."""

import numpy as np
import pytest

from dynamis.bench.closed import loop_chain
from dynamis.errors import DynamisError, DynamisWarning
from dynamis.interop import from_mjcf, from_mujoco, to_mjcf, to_pinocchio, to_rtb, to_yourdfpy
from dynamis.interop.rigid_tree import NotRepresentableError

from ..closed_mechanisms import five_bar, four_bar, motions, random_loops, states_near

pytest.importorskip("mujoco")
quiet = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
R, P = "revolute", "prismatic"
MECHANISMS = {
    "five-bar, ball": lambda: five_bar("ball"),
    "five-bar, pin": five_bar,
    "two four-bars": lambda: loop_chain(2),
    "ball to the base": lambda: random_loops([R, P, R, R], range(-1, 3), [("ball", 3, -1)], 2),
    "weld": lambda: random_loops([R] * 8, range(-1, 7), [("weld", 7, -1)], 3),
    "weld of two branches": lambda: random_loops(
        [R] * 8, [-1, 0, 1, 2, -1, 4, 5, 6], [("weld", 3, 7)], 6
    ),
    "displaced base": lambda: random_loops(
        [R, P, R, R], range(-1, 3), [("ball", -1, 3)], 2, base={"xyz": (1, 2, 3), "rpy": (1, 0, 2)}
    ),
}


def same(a, b, tolerance=1e-10):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@quiet
@pytest.mark.parametrize("name", MECHANISMS)
def test_there_and_back_through_mjcf(name):
    robot = MECHANISMS[name]()
    back = from_mjcf(to_mjcf(robot))
    assert (back.active, back.dof, back.joint_names) == (robot.active, robot.dof, robot.joint_names)
    if name != "five-bar, pin":  # which comes back as two balls
        assert [(x.kind, x.name) for x in back.model.closures] == [
            (x.kind, x.name) for x in robot.model.closures
        ]
    assert len(back.model.frames) == len(from_mjcf(to_mjcf(robot.without_closures())).model.frames)
    home = "home" in robot.configurations
    q, qd, qdd, *_ = states_near(robot, 3, condition=300.0) if home else motions(robot, 3)
    assert np.abs(back.closure_error(q)).max() < 1e-12
    same(back.forward_dynamics(q, qd, 3.0 * q), robot.forward_dynamics(q, qd, 3.0 * q))
    if set(robot.active) == set(robot.independent):
        same(back.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))


BODY = '<inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>'
THEIRS = f"""
<mujoco model="theirs">
  <option gravity="0 -9.81 0"/>
  <worldbody>
    <body name="crank"><joint name="a" axis="0 0 1" ref="20"/>{BODY}
      <body name="coupler" pos="0.1 0 0"><joint name="b" axis="0 0 1"/>{BODY}</body>
    </body>
    <body name="rocker" pos="0.4 0 0" euler="0 0 90"><joint name="c" axis="0 0 1"/>{BODY}</body>
  </worldbody>
  <equality>EQUALITY</equality>
  <actuator>ACTUATOR</actuator>
</mujoco>
"""
CONNECT = '<connect name="tie" body1="coupler" body2="rocker" anchor="0.3 0.25 0"/>'
MOTOR = '<motor joint="a"/>'


def theirs(equality=CONNECT, actuator=MOTOR):
    return THEIRS.replace("EQUALITY", equality).replace("ACTUATOR", actuator)


@quiet
def test_a_connect_is_a_ball_closed_where_its_bodies_are_drawn():
    import mujoco

    robot = from_mjcf(theirs())
    (closure,) = robot.model.closures
    assert (closure.kind, closure.name, closure.between) == ("ball", "tie", ("coupler", "rocker"))
    assert (robot.dof, robot.active) == (1, [0])
    model = mujoco.MjModel.from_xml_string(theirs())
    drawn = model.qpos0.copy()
    assert np.abs(robot.closure_error(drawn)).max() < 1e-12
    assert robot.model.closures == from_mujoco(model).model.closures
    qdd = robot.forward_dynamics(drawn, np.zeros(3), np.zeros(3))
    model.body_invweight0[:] *= 1e-3  # see tests/dynamics/test_closed_peers.py
    model.eq_solimp[:] = (0.9999, 0.9999, 1.0, 0.5, 2.0)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    same(data.qacc, qdd, 1e-5)


HAND = f'<body name="hand" pos="0.3 0 0"><joint name="d" axis="0 0 1"/>{BODY}</body>'


@quiet
def test_a_weld_holds_its_anchor_and_turn():
    """At a pose that the bodies are not drawn at: our errors are those of MuJoCo's rows."""
    import mujoco

    pose = 'relpose="0.05 0.1 0 0.9659258262890683 0 0 0.25881904510252074"'
    tie = f'<weld body1="coupler" body2="hand" anchor="0.1 0.02 0" {pose}/>'
    text = theirs(tie).replace("</body>\n  </worldbody>", f"{HAND}</body>\n  </worldbody>")
    robot, model = from_mjcf(text), mujoco.MjModel.from_xml_string(text)
    (closure,) = robot.model.closures
    assert (closure.kind, closure.between, robot.dof) == ("weld", ("coupler", "hand"), 1)
    data = mujoco.MjData(model)
    for q in np.random.default_rng(0).uniform(-0.4, 0.4, (5, 4)):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        e = robot.closure_error(q)
        same(np.linalg.norm(data.efc_pos[:3]), np.linalg.norm(e[:3]))
        same(np.sin(2.0 * np.arcsin(np.linalg.norm(data.efc_pos[3:6]))), np.linalg.norm(e[3:]))
    held = from_mjcf(text.replace("<weld ", '<weld torquescale="0" '))
    assert (held.model.closures[0].kind, held.dof) == ("ball", 2)


@quiet
def test_bodies_are_tied_to_the_world():
    robot = from_mjcf(theirs('<connect body1="coupler" anchor="0.3 0.1 0"/>'))
    assert robot.model.closures[0].between == ("coupler", "world")


@quiet
def test_joints_without_actuators_are_passive_where_any_has_one():
    none = from_mjcf(theirs(actuator=""))
    assert none.active == [0, 1, 2]
    assert any("no actuators" in str(x) for x in none.model.findings)
    geared = from_mjcf(theirs().replace('name="b"', 'name="b" armature="0.1"'))
    assert geared.active == [0, 1]
    assert any("b: no actuator but armature" in str(x) for x in geared.model.findings)
    open_ = from_mjcf(theirs(equality=""))
    assert open_.active == [0, 1, 2] and not open_.model.findings


@quiet
def test_inactive_and_rigid_ties_close_nothing():
    assert not from_mjcf(
        theirs(CONNECT.replace("<connect", '<connect active="false"'))
    ).model.closures
    tie = '<weld body1="world" body2="rocker"/><joint joint1="c" polycoef="0 0 0 0 0"/>'
    assert not from_mjcf(theirs(tie)).model.closures


@pytest.mark.parametrize("kind", ["universal", "slide", "rod"])
def test_mujoco_refuses_other_kinds_by_name(kind):
    robot = random_loops([R] * 7, [-1, 0, 1, -1, 3, 4, 5], [(kind, 2, 6)], 1)
    with pytest.raises(NotRepresentableError, match=f"'closure1' is a {kind}"):
        to_mjcf(robot)


@pytest.mark.parametrize("export", [to_pinocchio, to_yourdfpy])
def test_trees_are_given_and_said_to_be_open(export):
    with pytest.warns(DynamisWarning, match=r"closures .*its loops open"):
        export(five_bar())


def test_the_toolbox_takes_no_tree():
    with pytest.raises(DynamisError):
        to_rtb(five_bar())
    chain = random_loops([R, P, R, R], range(-1, 3), [("ball", 3, -1)], 2)
    with pytest.warns(DynamisWarning, match=r"closures .*its loops open"):
        to_rtb(chain)


def test_four_bar_is_written_whole():
    with pytest.warns(DynamisWarning, match="MuJoCo refuses 'crank'"):
        text = to_mjcf(four_bar())
    assert text.count("<connect") == 2 and text.count("<motor") == 1
