"""Dynamics of closed mechanisms: next to Pinocchio, MuJoCo and dense algebra, and random ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import dynamis as dy
from dynamis.agree import agreement
from dynamis.agree.closed import (
    ConstrainedMujoco,
    ConstrainedPinocchio,
    closure_bias,
    dense_forward_dynamics,
)
from dynamis.bench.closed import loop_chain
from dynamis.model.model import Payload
from tests.thorough import thorough_but

from ..closed_mechanisms import (
    KINDS,
    five_bar,
    four_bar,
    loops,
    motions,
    random_loops,
    states_near,
)
from ..random_robots import body, drive, friction

few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
R, P = "revolute", "prismatic"


def close(a, b, tolerance=1e-9):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.abs(b).max()))


# Pinocchio


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


@pytest.mark.parametrize("name", thorough_but([*REPRESENTED][:4], REPRESENTED))
def test_accelerations_are_those_of_pinocchio(name):
    pytest.importorskip("pinocchio")
    robot = REPRESENTED[name]()
    peer = ConstrainedPinocchio(robot)
    home = "home" in robot.configurations
    q, qd, qdd, *_ = states_near(robot, 10, condition=200.0) if home else motions(robot, 10)
    assert len(q) >= 5
    tau = np.random.default_rng(0).normal(scale=5, size=q.shape)
    ours = robot.forward_dynamics(q, qd, tau)
    theirs = accelerations(peer, q, qd, tau)
    assert np.abs(ours - theirs).max() <= 1e-9 * np.abs(theirs).max()
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(accelerations(peer, q, qd, tau) - qdd).max() <= 1e-9 * np.abs(qdd).max()


# laws, and dense algebra


def laws(robot, q, qd, qdd, v, a, **given):
    """What holds of every closed mechanism at states that close."""
    rows = list(robot.chain.mobility.rows)
    J = robot.closure_jacobian(q)
    close(robot.closure_error(q), 0.0, 1e-8)
    close(np.einsum("...ij,...j->...i", J, qd), 0.0)
    close(np.einsum("...ij,...j->...i", J, qdd) + closure_bias(robot, q, qd), 0.0, 1e-8)
    tau = np.random.default_rng(1).normal(scale=3, size=q.shape)
    expected = dense_forward_dynamics(robot, q, qd, tau, **given)
    close(robot.forward_dynamics(q, qd, tau, **given), expected)
    if set(robot.independent) <= set(robot.active):
        tau = robot.inverse_dynamics(q, qd, qdd, **given)
        assert not np.delete(tau, list(robot.active), axis=-1).any()
        close(robot.forward_dynamics(q, qd, tau, **given), qdd)
        f = robot.constraint_forces(q, qd, qdd, **given)
        assert not np.delete(f, rows, axis=-1).any()
        close(np.einsum("...i,...ij,...j->...", f, J, qd), 0.0)
        tree = robot.without_closures().inverse_dynamics(q, qd, qdd, **given)
        close(tau + np.einsum("...ij,...i->...j", J, f), tree)
    M = robot.mass_matrix(q)
    close(M, np.swapaxes(M, -1, -2), 1e-12)
    assert (np.linalg.eigvalsh(M) > 0).all()
    close(0.5 * np.einsum("...i,...ij,...j->...", v, M, v), robot.kinetic_energy(q, qd))


def skew(robot, q, qd):
    h = 1e-5
    ahead, back = (robot.project(q + t * qd) for t in (h, -h))
    Mdot = (robot.mass_matrix(ahead) - robot.mass_matrix(back)) / (2 * h)
    S = Mdot - 2 * robot.coriolis_matrix(q, qd)
    close(S + np.swapaxes(S, -1, -2), 0.0, 1e-6 * max(1.0, np.abs(Mdot).max()))


@pytest.mark.thorough
@few
@given(loops())
def test_laws_hold_for_random_loops(robot):
    q, qd, qdd, v, a = states_near(robot, 3)
    assume(len(q))
    laws(robot, q, qd, qdd, v, a)
    skew(robot, q, qd)


@pytest.mark.thorough
@settings(few, max_examples=4)
@given(loops(longest=4, most=4))
def test_derivatives_of_random_loops(robot):
    q, qd, qdd, v, a = states_near(robot, 2, condition=10.0, most=4.0)
    assume(len(q))
    assume(set(robot.independent) == set(robot.active))
    own, h = list(robot.independent), 1e-5

    def torque(moved, v, a):
        rates = robot.joint_rates(moved, v)
        return robot.inverse_dynamics(moved, rates, robot.joint_accelerations(moved, rates, a))

    steps = np.eye(robot.dof)
    pairs = (
        [[torque(robot.project(q + s * h * robot.joint_rates(q, x)), v, a) for s in (1, -1)]
         for x in steps],
        [[torque(q, v + s * h * x, a) for s in (1, -1)] for x in steps],
        [[torque(q, v, a + s * h * x) for s in (1, -1)] for x in steps],
    )  # fmt: skip
    found = robot.inverse_dynamics_derivatives(q, qd, qdd)
    for slope, rows in zip(found, pairs, strict=True):
        expected = np.stack([(p - m)[..., own] / (2 * h) for p, m in rows], axis=-1)
        close(slope, expected, 3e-6)
    tau = robot.inverse_dynamics(q, qd, qdd)
    dq, dqd, dtau = robot.forward_dynamics_derivatives(q, qd, tau)
    close(found[2] @ dq, -found[0], 1e-8)
    close(found[2] @ dqd, -found[1], 1e-8)
    close(found[2] @ dtau, np.broadcast_to(steps, dtau.shape), 1e-8)


# MuJoCo


IN_MUJOCO = ("five-bar, ball", "five-bar, pin", "three four-bars", "spatial ball", "spatial weld",
             "two spatial loops")  # fmt: skip


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
@pytest.mark.parametrize("name", IN_MUJOCO)
def test_accelerations_are_those_of_mujoco(name):
    pytest.importorskip("mujoco")
    robot = REPRESENTED[name]()
    peer = ConstrainedMujoco(robot)
    home = "home" in robot.configurations
    q, qd, *_ = states_near(robot, 6, condition=200.0) if home else motions(robot, 6)
    tau = np.random.default_rng(0).normal(scale=5, size=q.shape)
    for rates in (0.0 * qd, qd):
        ours, theirs = robot.forward_dynamics(q, rates, tau), accelerations(peer, q, rates, tau)
        assert np.abs(ours - theirs).max() <= 1e-9 * np.abs(ours).max()


# every kind of closure, and everything else that a robot may have beside them


@pytest.mark.parametrize("planar", [True, False], ids=["planar", "spatial"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_closure(kind, planar):
    n = 5 if planar else 8
    robot = random_loops([R] * n, [-1, 0, -1, *range(2, n - 1)], [(kind, 1, n - 1)], 11, planar)
    q, qd, *rest = states_near(robot, 4, condition=300.0)
    assert len(q) == 4
    laws(robot, q, qd, *rest)
    skew(robot, q, qd)


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
    q, qd, qdd, v, a = motions(robot, 4)
    laws(held, q, qd, qdd, v, a)
    close(held.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))
    tau = np.random.default_rng(0).normal(size=q.shape)
    close(held.forward_dynamics(q, qd, tau), robot.forward_dynamics(q, qd, tau))


def rubbed(rng, links):
    """Drives, some of negative gears, and friction of every law."""
    return [replace(x, drive=drive(rng), friction=friction(rng)) for x in links]


def tied(rng, links):
    """The second link mimics the first."""
    return [links[0], replace(links[1], mimic=("joint1", -0.7, 0.2)), *links[2:]]


def spinning(rng, links):
    """Motors with gears whose rotors spin as bodies."""
    motor = {"rotor_inertia": 2e-3, "rotor_axis": (0.3, 0.5, 0.8)}
    return [replace(x, drive=dy.Drive(gear=-20.0 + 9.0 * k, **motor)) for k, x in enumerate(links)]


BESIDE = {
    "payload": {"payload": Payload(**body(np.random.default_rng(3)))},
    "friction and negative gears": {"extra": rubbed},
    "mimic": {"extra": tied},
    "full rotors": {"extra": spinning, "rotors": "full"},
    "springs": {
        "springs": [
            dy.Spring(
                kind="linear", from_="link1", to="link4", to_point=(0.1, 0.2, 0.0), stiffness=300.0,
                rest_length=0.2, damping=4.0,
            ),
            dy.Spring(kind="torsion", joint="joint5", stiffness=20.0, rest_angle=0.3),
        ]
    },
    "base and tool": {"base": {"xyz": (0.3, -0.2, 0.7), "rpy": (0.4, 0.2, -1.0)},
                      "tool": {"xyz": (0.1, 0.2, 0.3)}, "tool_link": "link3"},
}  # fmt: skip


@pytest.mark.parametrize("word", BESIDE)
@pytest.mark.parametrize("kind", thorough_but(["slide"], ["ball", "slide"]))
def test_closures_beside(word, kind):
    n = 6 if kind == "ball" else 8
    closures = [(kind, 2, n - 1), ("rod", -1, 2)]
    robot = random_loops([R, R, P, *[R] * (n - 3)], [-1, 0, 1, -1, *range(3, n - 1)], closures, 21,
                         **BESIDE[word])  # fmt: skip
    q, qd, qdd, v, a = states_near(robot, 4, condition=300.0)
    assert len(q) >= 2
    rng = np.random.default_rng(0)
    forces = rng.normal(size=(len(q), len(robot.link_names), 6))
    for given_ in ({}, {"wrench": rng.normal(size=(len(q), 6))}, {"link_forces": forces}):
        laws(robot, q, qd, qdd, v, a, **given_)
    skew(robot, q, qd)


def test_load_friction_beside_closures():
    """Friction that grows with what a drive carries: forward of inverse dynamics all the same."""
    robot = five_bar()
    worn = dy.Friction(viscous=0.2, coulomb=0.5, load=0.1)
    links = [x if x.passive else replace(x, friction=worn) for x in robot.model.links]
    robot = dy.Robot(replace(robot.model, links=tuple(links)))
    q, qd, qdd, *_ = motions(robot, 5)
    close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd)


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
