"""Friction under load, and viscous friction by direction: holding, motion, equations, bad input."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError
from tests.simulation.arms import slider


def rubbing(robot, law="coulomb", load=0.1, **friction):
    """The robot with such friction on every joint; joints that mimic have no load of their own."""
    links = [
        replace(
            x,
            friction=dy.Friction(law=law, load=0.0 if x.mimic else load, **friction),
            drive=x.drive and replace(x.drive, efficiency=1.0),
        )
        for x in robot.model.links
    ]
    return dy.Robot(replace(robot.model, links=tuple(links)))


def state(n, seed=0, count=4):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, count, n))


def lifted(friction):
    """A mass of 10 kg on a vertical rail: it transmits 98.1 N."""
    return slider(friction, mass=10.0, gravity=9.81)


def pushed(arm, force, t=0.2):
    return dy.simulate(arm, t, dt=1e-3, torque=[force])


WEIGHT = 98.1


@pytest.mark.parametrize("law", ["coulomb", "stribeck"])
def test_a_joint_holds_within_what_its_load_makes_of_friction(law):
    static = 1.5 if law == "stribeck" else 1.0
    arm = lifted(dy.Friction(coulomb=5.0, offset=2.0, load=0.1, law=law))
    up = WEIGHT * (1.0 + 0.1 * static) + 5.0 * static + 2.0
    down = WEIGHT * (1.0 - 0.1 * static) - 5.0 * static + 2.0
    for force, moves in ((up - 0.1, 0), (up + 0.1, 1), (down + 0.1, 0), (down - 0.1, -1)):
        qd = pushed(arm, force).qd[-1, 0]
        assert np.sign(qd) == moves, (force, qd)


def test_a_joint_with_a_load_alone_holds_too():
    arm = lifted(dy.Friction(load=0.1))
    assert pushed(arm, WEIGHT * 1.09).qd[-1, 0] == 0.0
    assert pushed(arm, WEIGHT * 1.11).qd[-1, 0] > 0.0


@pytest.mark.parametrize("force", [150.0, 40.0])
def test_a_sliding_hoist_moves_as_on_paper(force):
    arm = lifted(dy.Friction(coulomb=5.0, viscous=(3.0, 8.0), load=0.1))
    run = pushed(arm, force, 1.0)
    s = np.sign(force - WEIGHT)
    # m qdd + W = T, T (1 + 0.1 s) = force - 5 s - v qd: first order in qd
    b = (3.0 if s > 0 else 8.0) / (10.0 * (1.0 + 0.1 * s))
    end = ((force - 5.0 * s) / (1.0 + 0.1 * s) - WEIGHT) / 10.0 / b
    np.testing.assert_allclose(run.qd[:, 0], end * (1.0 - np.exp(-b * run.t)), atol=1e-9)


def test_a_hoist_thrown_up_turns_or_stays():
    """It comes to rest at once where its friction holds it, else it falls."""
    for load, rests in ((0.6, True), (0.1, False)):
        arm = lifted(dy.Friction(load=load))
        force = 70.0  # held while |98.1 - 70| < load 98.1
        run = dy.simulate(arm, 1.0, dt=1e-3, q0=[0.0], qd0=[1.0], torque=[force])
        deceleration = (WEIGHT - force / (1.0 + load)) / 10.0
        top = 0.5 / deceleration
        assert run.q.max() == pytest.approx(top, rel=1e-3)
        fall = (force / (1.0 - load) - WEIGHT) / 10.0
        late = 1.0 - 1.0 / deceleration
        wanted = 0.0 if rests else fall * late
        assert run.qd[-1, 0] == pytest.approx(wanted, abs=2e-3 * abs(fall))


def test_bad_loads_are_refused():
    for options, word in (
        ({"load": 1.0}, "locks itself"),
        ({"load": -0.1}, "expected 0 to below 1"),
        ({"load": 0.7, "law": "stribeck", "static_ratio": 1.5}, "static_ratio"),
        ({"load": 0.1, "law": "lugre"}, "lugre"),
        ({"load": None}, "None"),
        ({"viscous": (1.0, 2.0, 3.0)}, "expected 2"),
    ):
        with pytest.raises(DynamisError, match=word):
            dy.Friction(**options)
    with pytest.raises(DynamisError, match="mimics"):
        dy.Link(joint="revolute", mimic=("a", 1.0, 0.0), friction=dy.Friction(load=0.1))
    with pytest.raises(DynamisError, match="efficiency"):
        dy.Link(joint="revolute", drive=dy.Drive(efficiency=0.8), friction=dy.Friction(load=0.1))


def test_derivations_end_with_friction_under_load():
    q, qd, qdd = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 2))
    for law in ("coulomb", "smooth"):
        arm = rubbing(dy.load("planar-rr"), law, 0.1, viscous=(1.0, 2.0), coulomb=0.5)
        steps = arm.equations().derivation(q, qd, qdd)
        assert [s.title for s in steps][-2:] == ["Friction under load", "Check"]
        assert "T2" in arm.equations().derivation().text()
        tau = [steps[f"tau{i + 1}"].value for i in range(2)]
        np.testing.assert_allclose(tau, arm.inverse_dynamics(q, qd, qdd), rtol=1e-12)
    assert steps["T2"].expression.free_symbols.isdisjoint(arm.equations().qd[1:])
    sided = rubbing(dy.load("planar-rr"), viscous=(1.0, 2.0), load=0.0)
    assert any("viscous_minus1" in name for name in sided.base_parameters().names)


@pytest.mark.parametrize("law", ["smooth", "coulomb"])
def test_time_optimal_motions_keep_their_limits_under_load(law):
    arm = rubbing(dy.load("puma560"), law, 0.25, viscous=1.0, coulomb=1.0)
    ends = [np.zeros(6), np.array([0.8, -0.6, 0.5, 0.4, -0.3, 0.2])]
    limit = np.array([60.0, 90.0, 60.0, 12.0, 12.0, 12.0])
    path = dy.trajectory.time_optimal(arm, ends, torque=limit)
    t = np.linspace(0.0, path.duration, 400)
    share = np.abs(arm.inverse_dynamics(*path(t))) / limit
    assert share.max() < 1.02
    other = dy.trajectory.time_optimal(
        rubbing(arm, law, 0.0, viscous=1.0, coulomb=1.0), ends, torque=limit
    )
    blind = np.abs(arm.inverse_dynamics(*other(np.linspace(0.0, other.duration, 400)))) / limit
    assert blind.max() > 1.05 and path.duration > other.duration


def test_the_toolbox_takes_friction_under_load_away():
    arm = rubbing(dy.load("puma560"), "coulomb", 0.2, coulomb=1.0)
    q, qd, qdd = state(6)
    bare = dy.rtb.nofriction(arm, viscous=True)
    parts = bare.torque_terms(q, qd, qdd)
    assert not parts["friction"].any()
