"""Dynamics of closed mechanisms next to Pinocchio and MuJoCo; the agreement table."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.agree import agreement
from dynamis.agree.closed import ConstrainedMujoco, ConstrainedPinocchio
from dynamis.bench.closed import loop_chain
from tests.thorough import thorough_but

from ..closed_mechanisms import P, R, five_bar, four_bar, motions, random_loops, states_near, tied
from ..random_robots import close

SERIAL = [-1, 0, 1, 2, 3, 4, 5, 6]
TWICE = [("ball", 2, 5), ("ball", -1, 8)]
REPRESENTED = {
    "five-bar, ball": lambda: five_bar("ball"),
    "five-bar, pin": five_bar,
    "four-bar": four_bar,
    "three four-bars": lambda: loop_chain(3),
    "spatial ball": lambda: random_loops([R] * 5, [-1, 0, 1, -1, 3], [("ball", 2, 4)], 1),
    "ball to the base": lambda: random_loops([R, P, R, R], SERIAL[:4], [("ball", 3, -1)], 2),
    "spatial weld": lambda: random_loops([R] * 8, SERIAL, [("weld", 7, -1)], 3),
    "spatial pin": lambda: random_loops([R] * 6, [-1, 0, 1, -1, 3, 4], [("pin", 2, 5)], 4),
    "two spatial loops": lambda: random_loops(
        [R, R, R, P, R, R, R, R, R], [-1, 0, 1, -1, 3, 4, 4, 6, 7], TWICE, 5
    ),
}


def accelerations(peer, *rows):
    return np.array([peer.forward_dynamics(*row) for row in zip(*rows, strict=True)])


IN_MUJOCO = ("five-bar, ball", "five-bar, pin", "three four-bars", "spatial ball", "spatial weld",
             "two spatial loops")  # fmt: skip
COMPARED = [*thorough_but([("pinocchio", x) for x in [*REPRESENTED][:4]],
                          [("pinocchio", x) for x in REPRESENTED]),
            *(("mujoco", x) for x in IN_MUJOCO)]  # fmt: skip


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
@pytest.mark.parametrize(("engine", "name"), COMPARED)
def test_accelerations_are_those_of_the_peer(engine, name):
    """Under any torques, at rest and in motion; under those of inverse dynamics the motion."""
    pytest.importorskip(engine)
    robot = REPRESENTED[name]()
    peer = {"pinocchio": ConstrainedPinocchio, "mujoco": ConstrainedMujoco}[engine](robot)
    home = "home" in robot.configurations
    q, qd, qdd, *_ = states_near(robot, 10, condition=200.0) if home else motions(robot, 10)
    assert len(q) >= 5
    tau = np.random.default_rng(0).normal(scale=5, size=q.shape)
    for rates in (0.0 * qd, qd):
        ours, theirs = robot.forward_dynamics(q, rates, tau), accelerations(peer, q, rates, tau)
        assert np.abs(ours - theirs).max() <= 1e-9 * np.abs(theirs).max()
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(accelerations(peer, q, qd, tau) - qdd).max() <= 1e-9 * np.abs(qdd).max()


def test_rows_that_repeat_others_carry_nothing():
    """Two bars held by a pin and by two balls as well."""
    robot = five_bar()
    pin = robot.model.closures[0]
    more = []
    for z in (0.3, -0.2):
        ends = tuple({"xyz": (0.4, 0, z)} for _ in "ab")
        more.append(dy.Closure(kind="ball", between=pin.between, frames=ends))
    held = dy.Robot(replace(robot.model, closures=(pin, *more)))
    assert len(held.closure_rows) == 11 and held.dof == 2
    q, qd, qdd, *_ = motions(robot, 4)
    f = held.constraint_forces(q, qd, qdd)
    assert not np.delete(f, list(held.chain.mobility.rows), axis=-1).any()
    close(held.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-9)
    tau = np.random.default_rng(0).normal(size=q.shape)
    close(held.forward_dynamics(q, qd, tau), robot.forward_dynamics(q, qd, tau), 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_no_condition(seed):
    """What holds a planar loop in its plane is about 1e-17 in turned frames, and counts nowhere."""
    closures = [("pin", 0, 4), ("ball", -1, 2)]
    robot = random_loops([R, R, P, R, P], [-1, -1, 1, 2, 3], closures, seed, planar=True)
    sizes = robot.chain.mobility.sizes
    assert robot.dof == 1 and min(sizes) > 1e-6 * max(sizes)


# the agreement table


def test_agreement_of_closed_mechanisms():
    table = agreement(loop_chain(2), samples=5)
    assert table.ok and len(table.rows) == 7, str(table)
    assert [r.source for r in table.rows if not r.compared] == [table.rows[-1].source]
    assert table.rows[-1].reason == "not representable: it has closures"
    rod = random_loops([R] * 7, [-1, 0, 1, -1, 3, 4, 5], [("rod", 2, 6)], 1)
    table = agreement(rod, samples=3, peers=["pinocchio", "mujoco"])
    assert table.ok and all("is a rod" in r.reason for r in table.rows[-2:])


def test_a_wrong_acceleration_is_seen(monkeypatch):
    robot = five_bar("ball")
    right = robot.forward_dynamics
    monkeypatch.setattr(robot, "forward_dynamics", lambda *x: right(*x) * (1 + 1e-8))
    table = agreement(robot, samples=2, peers=())
    assert {r.source for r in table.rows if not r.ok} == {"dense algebra", "projection"}


def test_ties_beside_closures_are_not_compared():
    robot = random_loops([R] * 7, [-1, 0, 1, -1, 3, 4, 5], [("ball", 2, 6)], 1, extra=tied)
    table = agreement(robot, samples=2, peers=["pinocchio", "mujoco"])
    assert table.ok and all("joints are tied" in r.reason for r in table.rows[-2:])
