"""Derivatives of the dynamics under a wrench on the tool: differences, Pinocchio, batches."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.agree.peers import PinocchioPeer, without_friction

from ..closed_mechanisms import five_bar, motions
from ..random_robots import build, chains, states, trees
from .test_laws import STEP, close

few = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WRENCH = np.array([10.0, -20.0, 30.0, 5.0, -6.0, 7.0])
NAMES = ("inverse_dynamics", "forward_dynamics")


def slopes(function, arguments, index):
    """Central differences over one argument, a column each."""
    columns = []
    for step in STEP * np.eye(len(arguments[index])):
        before, after = (
            function(*(x + s * step if k == index else x for k, x in enumerate(arguments)))
            for s in (-1.0, 1.0)
        )
        columns.append((after - before) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


@few
@given(st.one_of(chains(4), trees(4), chains(longest=3, rotors=True)))
def test_they_are_slopes(robot):
    q, qd, qdd = states(robot)
    pushed = robot.inverse_dynamics(q, qd, qdd, wrench=WRENCH)
    found = robot.inverse_dynamics_derivatives(q, qd, qdd, WRENCH)
    for k, slope in enumerate(found):
        wanted = slopes(lambda *x: robot.inverse_dynamics(*x, wrench=WRENCH), (q, qd, qdd), k)
        close(slope, wanted, 1e-5)
    condition = np.linalg.cond(robot.mass_matrix(q))
    dq, dqd, dtau = robot.forward_dynamics_derivatives(q, qd, pushed, wrench=WRENCH)
    expected = -found[0], -found[1], np.eye(robot.n)
    for a, b in zip((dq, dqd, dtau), expected, strict=True):
        close(found[2] @ a, b, 1e-9 + 1e-13 * condition)


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
@pytest.mark.parametrize("convention", ["modified", "urdf"])
def test_pinocchio(convention):
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


def test_batches_and_arrays_of_ones_own(compiled):
    robot = dy.load("planar-2link")
    q, qd, x = (v[:, None] for v in states(robot, 2))
    wrench = np.outer([1.0, -2.0, 0.0], WRENCH)
    for name in NAMES:
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


def test_long_arms_have_them_column_by_column():
    links = [dy.Link(a=0.1, alpha=0.3, mass=1.0, inertia=(0.01, 0.01, 0.01)) for _ in range(16)]
    robot = dy.Robot.from_dh("snake", convention="standard", links=links)
    q, qd, qdd = states(robot)
    tau = robot.inverse_dynamics(q, qd, qdd, wrench=WRENCH)
    found = robot.inverse_dynamics_derivatives(q, qd, qdd, wrench=WRENCH)
    wanted = slopes(lambda *x: robot.inverse_dynamics(*x, wrench=WRENCH), (q, qd, qdd), 0)
    close(found[0], wanted, 1e-6)
    dq, _, dtau = robot.forward_dynamics_derivatives(q, qd, tau, wrench=WRENCH)
    close(found[2] @ dq, -found[0], 1e-8)
    close(found[2] @ dtau, np.eye(16), 1e-8)


def test_closed_mechanisms():
    """Along the motions that keep the loops closed, over the independent joints."""
    robot = five_bar()
    q, qd, qdd, v, a = motions(robot, 2)
    own, steps = list(robot.independent), STEP * np.eye(robot.dof)

    def moved(x):
        return robot.project(q + robot.joint_rates(q, x))

    def torque(q):
        qd = robot.joint_rates(q, v)
        qdd = robot.joint_accelerations(q, qd, a)
        return robot.inverse_dynamics(q, qd, qdd, wrench=WRENCH)[..., own]

    tau = robot.inverse_dynamics(q, qd, qdd, wrench=WRENCH)
    found = robot.inverse_dynamics_derivatives(q, qd, qdd, wrench=WRENCH)
    wanted = [(torque(moved(x)) - torque(moved(-x))) / (2.0 * STEP) for x in steps]
    close(found[0], np.stack(wanted, axis=-1), 1e-6)
    dq, dqd, dtau = robot.forward_dynamics_derivatives(q, qd, tau, wrench=WRENCH)
    M = robot.mass_matrix(q)
    close(M @ dq, -found[0], 1e-9)
    close(M @ dqd, -found[1], 1e-9)
    close(M @ dtau, np.broadcast_to(np.eye(robot.dof), M.shape), 1e-9)
