"""Forces on any link and on the tool, derivatives under them: Pinocchio, MuJoCo, batches."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.agree.peers import PinocchioPeer, without_friction
from dynamis.interop import to_mjcf, to_pinocchio

from ..random_robots import build, chains, close, states, trees
from .test_laws import WRENCH

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
quiet = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")


def pushes(robot, count=None, seed=3):
    shape = (len(robot.link_names), 6) if count is None else (count, len(robot.link_names), 6)
    return np.random.default_rng(seed).normal(size=shape)


def jacobians(robot, q):
    """J of every link's frame in its own axes, (..., links, 6, n)."""
    return np.stack([robot.jacobian(q, frame="tool", link=x) for x in robot.link_names], axis=-3)


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


@quiet
@pytest.mark.parametrize("convention", ["modified", "urdf"])
def test_derivatives_are_those_of_pinocchio(convention):
    """computeRNEADerivatives and computeABADerivatives with fext, which acts on the body."""
    pytest.importorskip("pinocchio")
    robot = without_friction(build(convention, ["revolute", "prismatic"] * 2, 5))
    q, qd, qdd = states(robot)
    peer = PinocchioPeer(robot, q)
    pin, order = peer.pin, np.ix_(peer.order, peer.order)
    acting = pin.StdVec_Force()
    acting.extend([pin.Force.Zero()] * peer.model.njoints)
    tool = pin.SE3(peer.tool[:3, :3], peer.tool[:3, 3])
    acting[peer.tip] = -tool.act(pin.Force(WRENCH[:3], WRENCH[3:]))
    dq, dqd, M = (x.copy() for x in peer._ask("computeRNEADerivatives", q, qd, qdd, more=(acting,)))
    M = np.triu(M) + np.triu(M, 1).T
    found = robot.inverse_dynamics_derivatives(q, qd, qdd, wrench=WRENCH)
    for ours, theirs in zip(found, (dq, dqd, M), strict=True):
        close(ours, theirs[order], 1e-10)
    tau = robot.inverse_dynamics(q, qd, qdd, wrench=WRENCH)
    theirs = [x.copy() for x in peer._ask("computeABADerivatives", q, qd, tau, more=(acting,))]
    for ours, x in zip(
        robot.forward_dynamics_derivatives(q, qd, tau, wrench=WRENCH), theirs, strict=True
    ):
        close(ours, x[order], 1e-9)


def test_derivatives_of_batches(compiled):
    robot = dy.load("planar-2link")
    q, qd, x = (v[:, None] for v in states(robot, 2))
    wrench = np.outer([1.0, -2.0, 0.0], WRENCH)
    for name in ("inverse_dynamics", "forward_dynamics"):
        call = getattr(robot, f"{name}_derivatives")
        found = call(q, qd, x, wrench)
        for i, j in np.ndindex(2, 3):
            alone = call(q[i, 0], qd[i, 0], x[i, 0], wrench=wrench[j])
            for a, b in zip(found, alone, strict=True):
                np.testing.assert_array_equal(a[i, j], b)
        for a, b in zip(found, call(q[:, 0], qd[:, 0], x[:, 0]), strict=True):
            close(a[:, 2], b, 1e-13)  # a wrench of zeros
        assert np.abs(found[0][:, 0] - found[0][:, 2]).max() > 0.1
        out = tuple(np.empty_like(a) for a in found)
        call(q, qd, x, wrench=wrench, out=out)
        for a, b in zip(found, out, strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(dy.errors.ShapeError, match=r"wrench has shape \(3,\), expected .*6"):
            call(q, qd, x, wrench=[0.0, 0.0, 1.0])
