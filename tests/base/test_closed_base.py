"""Base parameters of closed mechanisms: nothing of the torque is lost, nothing is left to lose."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.base.groupings import numeric_rank, random_regressor
from dynamis.errors import ClosureError
from dynamis.ik.driven import DrivenAssembly, assembly, random_motion
from tests.thorough import thorough_but

from ..closed_mechanisms import five_bar, four_bar, motions, parallelogram
from ..robot.test_closed_answers import tooled

ROBOTS = {
    "five-bar": five_bar,
    "with friction, drives and a spring": tooled,
    "more drives than needed": lambda: five_bar(passive=False),
    "four-bar": four_bar,
}


def close(a, b, tolerance=1e-9):
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


@pytest.fixture(scope="module", params=thorough_but([*ROBOTS][:2], ROBOTS))
def case(request):
    robot = ROBOTS[request.param]()
    return robot, robot.base_parameters(), motions(robot, 30, seed=8)[:3]


def test_torques_follow_from_the_base_parameters(case):
    robot, base, state = case
    close(base.regressor(*state) @ base.values, robot.inverse_dynamics(*state))
    assert len(base.names) == base.rank < robot.without_closures().base_parameters().rank


def test_what_the_groupings_leave_alone_changes_no_torque(case):
    robot, base, state = case
    own, rng = robot.parameters.values, np.random.default_rng(3)
    passive = [robot.joint_names[k] for k in range(robot.n) if k not in robot.active]
    free = ~np.isin(robot.parameters.names, [f"{x}.rotor_inertia" for x in passive])
    *_, Vt = np.linalg.svd(base.matrix[:, free])
    for row in Vt[base.rank :]:
        change = np.zeros_like(own)
        change[free] = rng.uniform(0.01, 0.05) * row
        other = robot.with_parameters(own + change)
        close(other.inverse_dynamics(*state), robot.inverse_dynamics(*state), 1e-8)


def test_the_rank_is_that_of_any_states(case):
    """By singular values of `robot.regressor`, at states that were projected, not followed."""
    robot, base, state = case
    Y = robot.regressor(*state)[:, list(robot.active)]
    passive = [f"{x.joint_name}.rotor_inertia" for x in robot.model.links if x.passive]
    Y = Y[..., ~np.isin(robot.parameters.names, passive)]
    assert numeric_rank(Y.reshape(-1, Y.shape[-1]), 1e-8).rank == base.rank
    for seed in (2, 3):
        A = random_regressor(robot, seed=seed)
        assert numeric_rank(A.reshape(-1, A.shape[-1])).rank == base.rank


def test_groupings_have_names():
    """An Izz of 1 on b2 is a mass of 1 / 0.4^2 at its end, and that end is the end of a2.

    On a2, 0.4 m out, this mass has mcx 2.5 and Izz 1; on a1, 0.3 m long, mcx 1.875 and Izz 0.5625.
    """
    base = five_bar().base_parameters(inertial_only=True)
    assert base.rank == 11 and base.evidence.is_clear
    assert {"Izz[a2] + Izz[b2]", "mcx[a2] + 2.5*Izz[b2]"} <= set(base.names)
    assert "mcx[a1] + 0.3*m[a2] + 1.875*Izz[b2]" in base.names
    assert "Izz[a1] + 0.09*m[a2] + 0.5625*Izz[b2]" in base.names
    assert {"a2.Ixx", "b1.mcz"} <= set(base.unidentifiable)
    assert "ZZ[a2] + ZZ[b2]" in base.khalil


def test_friction_of_a_drive_leads_what_is_grouped_with_it():
    """In a parallelogram opposite joints turn alike."""
    names = parallelogram().base_parameters().names
    assert "viscous1 + viscous2 + viscous3" in names


def test_significance_is_that_of_the_drives():
    robot = tooled(springs=())
    found = robot.significance(percent=0.0, samples=50)
    assert found.error < 1e-7
    some = robot.significance(percent=2.0, samples=50)
    assert 0 < len(some.dropped) < some.base.rank and 0.0 < some.error < 100.0


# all joints from the drives


def test_joints_follow_the_drives_from_far_and_in_any_order():
    robot = five_bar()
    rng = np.random.default_rng(1)
    t = np.linspace(0.0, 6.0, 400)
    own = DrivenAssembly(robot)
    goal = own.start[[0, 2]] + 0.4 * np.sin(np.outer(t, (2.0, 3.1)) + np.array([0.5, 1.0]))
    q = own.positions(goal)
    assert np.abs(robot.closure_error(q)).max() < 1e-12
    np.testing.assert_array_equal(q[:, [0, 2]], goal)
    assert np.abs(np.diff(q, axis=0)).max() < 0.1  # one assembly
    mixed = rng.permutation(len(goal))
    np.testing.assert_allclose(DrivenAssembly(robot).positions(goal[mixed]), q[mixed], atol=1e-10)
    h = t[1] - t[0]
    rates = [0.4 * w * np.cos(t * w + p) for w, p in ((2.0, 0.5), (3.1, 1.0))]
    bends = [-0.4 * w * w * np.sin(t * w + p) for w, p in ((2.0, 0.5), (3.1, 1.0))]
    motion = own.motion(goal, np.transpose(rates), np.transpose(bends))
    slope = np.gradient(motion.q, h, axis=0)[2:-2]
    assert np.abs(slope - motion.qd[2:-2]).max() < 30 * h * h
    slope = np.gradient(motion.qd, h, axis=0)[2:-2]
    assert np.abs(slope - motion.qdd[2:-2]).max() < 300 * h * h


def test_what_cannot_close_is_left_out():
    robot = five_bar()
    own = assembly(robot)
    start = own.start[[0, 2]]
    far = np.array([np.pi, 0.0])  # the cranks point away from each other
    q = own.positions([start, far, start + 0.1])
    assert np.isnan(q[1]).all() and np.isfinite(q[[0, 2]]).all()
    found = own.motion([far], [[1.0, 1.0]], [[0.0, 0.0]])
    assert np.isnan(found.qd).all()


def test_random_states_keep_the_limits():
    robot = dy.load("3-rps")
    q, qd, qdd = random_motion(robot, 30, np.random.default_rng(0), 0.2, 0.5)
    low, high = robot.limits.T
    assert (q >= low).all() and (q <= high).all() and (robot.closure_status(q) == 0).all()
    assert np.abs(qd[:, list(robot.independent)]).max() <= 0.2
    assert np.isfinite(robot.inverse_dynamics(q, qd, qdd)).all()


@pytest.mark.parametrize("held", [0, 1])
def test_states_that_cannot_be_found_are_named(held):
    robot = five_bar()
    links = list(robot.model.links)
    links[held] = replace(links[held], limits=(robot.home[held],) * 2)  # a drive, a passive joint
    with pytest.raises(ClosureError, match="random configurations"):
        dy.Robot(replace(robot.model, links=tuple(links))).base_parameters()
