"""Forces on any link: J_i^T w_i, in every formulation, in Pinocchio and in MuJoCo."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.agree.peers import without_friction
from dynamis.compile.kernels import FORWARD_METHODS, INVERSE_METHODS
from dynamis.interop import to_mjcf, to_pinocchio

from ..random_robots import build, chains, robots, states, trees
from .test_laws import applies, close

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
quiet = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")


def mimicking(convention="standard"):
    robot = build(convention, ["revolute", "prismatic", "revolute", "revolute"], 7)
    links = list(robot.model.links)
    links[2] = replace(links[2], mimic=("joint1", -1.5, 0.2))
    return dy.Robot(replace(robot.model, links=tuple(links)))


def pushes(robot, count=None, seed=3):
    shape = (len(robot.link_names), 6) if count is None else (count, len(robot.link_names), 6)
    return np.random.default_rng(seed).normal(size=shape)


def jacobians(robot, q):
    """J of every link's frame in its own axes, (..., links, 6, n)."""
    return np.stack([robot.jacobian(q, frame="tool", link=x) for x in robot.link_names], axis=-3)


any_robot = st.one_of(
    robots(longest=5),
    chains(longest=4, rotors=True),
    st.sampled_from(("standard", "modified", "urdf")).map(mimicking),
)


@few
@given(any_robot)
def test_they_are_jacobians_transposed(robot):
    q, qd, qdd = states(robot)
    forces, wrench = pushes(robot), np.arange(1.0, 7.0)
    own = np.einsum("lij,li->j", jacobians(robot, q), forces)
    expected = robot.inverse_dynamics(q, qd, qdd) + own
    pushed = expected + robot.jacobian(q, frame="tool").T @ wrench
    condition = np.linalg.cond(robot.mass_matrix(q))
    for method in INVERSE_METHODS:
        given_ = {"method": method, "link_forces": forces}
        close(robot.inverse_dynamics(q, qd, qdd, **given_), expected, 1e-10)
        close(robot.inverse_dynamics(q, qd, qdd, wrench=wrench, **given_), pushed, 1e-10)
    for method in filter(lambda m: applies(robot, m), (None, *FORWARD_METHODS)):
        given_ = {"method": method, "wrench": wrench, "link_forces": forces}
        got = robot.forward_dynamics(q, qd, pushed, **given_)
        close(got, qdd, max(1e-10, 1e-13 * condition))


def test_the_last_link_without_a_tool_is_the_tool():
    robot = dy.load("stanford")
    robot = dy.Robot(replace(robot.model, tool=type(robot.model.tool)()))
    q, qd, qdd = states(robot, 4)
    forces, wrench = np.zeros((4, 6, 6)), np.random.default_rng(0).normal(size=(4, 6))
    forces[:, -1] = wrench
    close(
        robot.inverse_dynamics(q, qd, qdd, link_forces=forces),
        robot.inverse_dynamics(q, qd, qdd, wrench=wrench),
    )


def test_a_base_that_moves():
    robot = dy.load("ur10e")
    q, qd, qdd = states(robot, 3)
    forces, base = pushes(robot, 3), np.linspace(-1, 1, 9)
    own = np.einsum("klij,kli->kj", jacobians(robot, q), forces)
    for method in ("newton-euler", "newton-euler-base"):
        given_ = {"base_motion": base, "method": method}
        without = robot.inverse_dynamics(q, qd, qdd, **given_)
        close(robot.inverse_dynamics(q, qd, qdd, link_forces=forces, **given_) - without, own)


def test_batches_have_the_bits_of_single_calls(compiled):
    robot = dy.load("puma560")
    q, qd, qdd = states(robot, 9)
    forces = pushes(robot, 9)
    out = np.empty((9, 6))
    got = robot.inverse_dynamics(q, qd, qdd, link_forces=forces, out=out)
    rows = zip(q, qd, qdd, forces, strict=True)
    one = [robot.inverse_dynamics(*s, link_forces=w) for *s, w in rows]
    assert got is out and np.array_equal(got, one)
    held = robot.inverse_dynamics(q, qd, qdd, link_forces=forces[0])  # one for all samples
    assert np.array_equal(held[0], one[0]) and np.isfinite(held).all()
    single = robot.inverse_dynamics(q, qd, qdd, link_forces=forces, dtype="float32")
    assert single.dtype == np.float32 and np.allclose(single, got, rtol=1e-4, atol=1e-3)
    assert robot.inverse_dynamics(q[:0], qd[:0], qdd[:0], link_forces=forces[:0]).shape == (0, 6)


def test_nan_stays_nan(compiled):
    robot = dy.load("puma560")
    q, qd, qdd = states(robot)
    forces = pushes(robot)
    forces[2] = np.nan  # joints 4 to 6 do not carry link 3
    tau = robot.inverse_dynamics(q, qd, qdd, link_forces=forces)
    assert np.isnan(tau[:3]).all() and np.isfinite(tau[3:]).all()


@quiet
@few
@given(st.one_of(chains(6), trees(6)))
def test_pinocchio(robot):
    """rnea and aba with fext, which acts on the body, in the joint's frame."""
    pin = pytest.importorskip("pinocchio")
    robot = without_friction(robot)
    model, (q, qd, qdd), forces = to_pinocchio(robot), states(robot), pushes(robot)
    data, at = model.createData(), [robot.joint_names.index(x) for x in list(model.names)[1:]]
    acting = pin.StdVec_Force()
    acting.extend([pin.Force.Zero()] * model.njoints)
    for name, w in zip(robot.link_names, forces, strict=True):
        frame = model.frames[model.getFrameId(name)]
        acting[frame.parentJoint] = -frame.placement.act(pin.Force(w[:3], w[3:]))
    theirs = pin.rnea(model, data, q[at], qd[at], qdd[at], acting)
    tau = robot.inverse_dynamics(q, qd, qdd, link_forces=forces)
    close(theirs, tau[at], 1e-9)
    condition = np.linalg.cond(robot.mass_matrix(q))
    close(pin.aba(model, data, q[at], qd[at], tau[at], acting), qdd[at], 1e-12 * condition + 1e-9)


@quiet
@few
@given(st.one_of(chains(5), trees(5)))
def test_mujoco(robot):
    """xfrc_applied, which acts on the body at its centre of mass, in world axes."""
    mujoco = pytest.importorskip("mujoco")
    mujoco.set_mju_user_warning(lambda text: None)  # which would write a log
    robot = without_friction(robot)
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    at = [robot.joint_names.index(model.joint(i).name) for i in range(model.njnt)]
    (q, qd, qdd), forces = states(robot), pushes(robot)
    tau = robot.inverse_dynamics(q, qd, qdd, link_forces=forces)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[at], qd[at], tau[at]
    mujoco.mj_kinematics(model, data)
    for name, T, w in zip(robot.link_names, robot.frames(q)[1:], forces, strict=True):
        body = data.body(name)
        f, n = T[:3, :3] @ w[:3], T[:3, :3] @ w[3:]
        body.xfrc_applied[:] = -np.r_[f, n + np.cross(T[:3, 3] - body.xipos, f)]
    mujoco.mj_forward(model, data)
    condition = np.linalg.cond(robot.mass_matrix(q))
    close(data.qacc, qdd[at], 1e-12 * condition + 1e-9)


@pytest.mark.parametrize("shape", [(6,), (36,), (5, 6), (6, 5), (2, 36), (6, 6, 1)])
def test_other_shapes_are_refused(compiled, shape):
    robot = dy.load("puma560")
    state = np.zeros((3, 6))
    for _ in range(2):  # before and after its code is there
        with pytest.raises(dy.errors.ShapeError, match=r"link_forces has shape .*\(\.\.\., 6, 6\)"):
            robot.inverse_dynamics(*state, link_forces=np.zeros(shape))
        robot.inverse_dynamics(*state, link_forces=np.zeros((6, 6)))


def test_simulation_is_pushed_by_them(compiled):
    """An arm pushed at its links moves as under the torques of these pushes."""
    robot = without_friction(dy.load("stanford"))
    forces = pushes(robot) * 5.0
    run = dy.simulate(robot, 0.3, 1e-3, q0=np.full(6, 0.4), link_forces=forces)

    def pushed(t, q, qd):
        return -np.einsum("lij,li->j", jacobians(robot, q), forces)

    same = dy.simulate(robot, 0.3, 1e-3, q0=np.full(6, 0.4), controller=pushed)
    assert np.abs(run.q - run.q[0]).max() > 0.01
    np.testing.assert_allclose(run.q, same.q, atol=1e-9)
    steps = dy.simulate(
        robot, 0.3, 1e-3, q0=np.full(6, 0.4), link_forces=np.broadcast_to(forces, (300, 6, 6))
    )
    timed = dy.simulate(robot, 0.3, 1e-3, q0=np.full(6, 0.4), link_forces=lambda t: forces)
    assert np.array_equal(steps.q, run.q) and np.array_equal(timed.q, run.q)
