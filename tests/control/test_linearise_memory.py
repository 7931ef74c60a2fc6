"""The linear model of friction with memory: next to simulations of small motions from rest."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.linearise import linearise
from dynamis.control.resonance import sampled_arm

from ..closed_mechanisms import four_bar

MEMORY = dy.Memory((1e-3, 1e-2), (3.0, 5.0))
BRISTLES = {"law": "lugre", "coulomb": 1.0, "stiffness": 2e3, "damping": 5.0}
SPRING = 3.0 / 1e-3 + 5.0 / 1e-2
PUSH = {"memory": 0.1, "bristles": 1e-4}  # N m: far above a millionth of the weights, below slip
WITHIN = (
    5e-3  # of the largest motion of a state: simulated elements keep a millionth of dry friction
)
pytestmark = pytest.mark.usefixtures("compiled")
KINDS = {"memory": {"memory": MEMORY}, "bristles": BRISTLES}


def arm(**friction):
    return dy.load("planar-2link").with_gravity((0, 0, 0)).with_friction(viscous=0.5, **friction)


def responses(robot, q0, push, duration=0.05, **options):
    """Motions from rest under constant torques, simulated and linear, of all states."""
    lin = linearise(robot, q0)
    run = dy.simulate(robot, duration, 1e-4, q0=q0, torque=push, check_step=False, **options)
    states = [run.q, *([run.motor] if robot.chain.elastic else []), run.qd]
    states += [run.motor_rate] if robot.chain.elastic else []
    step = lin.discrete(1e-4)
    x, found = np.zeros(len(step.A)), []
    for _ in run.t:
        found.append(x)
        x = step.A @ x + step.B @ push[list(robot.active)] + step.offset
    start = np.concatenate([x[0] for x in states])
    return np.concatenate(states, axis=1) - start, np.array(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drive", [None, dy.Drive(rotor_inertia=0.05, stiffness=2e3, damping=1.0)])
def test_small_motions_from_rest_are_those_of_springs(kind, drive):
    robot = arm(**KINDS[kind])
    if drive is not None:
        if kind == "bristles":  # the motor bends its own
            drive = replace(drive, coulomb=0.5)
        links = [replace(x, drive=drive) for x in robot.model.links]
        robot = dy.Robot(replace(robot.model, links=tuple(links)))
    simulated, linear = responses(robot, np.array([0.2, 0.4]), PUSH[kind] * np.array([1.0, -0.7]))
    size = np.abs(simulated).max(axis=0)
    assert (np.abs(simulated - linear).max(axis=0) < WITHIN * size).all()
    without = linearise(arm(), [0.2, 0.4])
    if drive is None:
        M = robot.mass_matrix([0.2, 0.4])
        more = linearise(robot, [0.2, 0.4]).A - without.A
        stiff, damped = (SPRING, 0.0) if kind == "memory" else (2e3, 5.0)
        np.testing.assert_allclose(-M @ more[2:, :2], stiff * np.eye(2), atol=1e-8 * stiff)
        np.testing.assert_allclose(-M @ more[2:, 2:], damped * np.eye(2), atol=1e-8 * stiff)


def test_a_mechanism_feels_the_springs_of_its_passive_joints():
    robot = four_bar().with_friction(viscous=0.5, memory=MEMORY)
    q0 = robot.home
    lin, without = (linearise(x, q0).A for x in (robot, four_bar().with_friction(viscous=0.5)))
    Z = robot.joint_rates(q0, np.eye(robot.dof))
    more = -robot.mass_matrix(q0) @ (lin - without)[robot.dof :, : robot.dof]
    np.testing.assert_allclose(more, SPRING * Z @ Z.T, rtol=1e-8)


def test_joints_that_move_slip():
    robot = arm(memory=MEMORY)
    slipping = arm(coulomb=8.0)
    for qd in ([0.3, -0.2], [0.3, 0.0]):
        both = [linearise(x, [0.2, 0.4], qd) for x in (robot, slipping)]
        held = both[0].A - both[1].A
        np.testing.assert_allclose(held[:, 0], 0.0, atol=1e-9)
        assert (np.abs(held[:, 1]).max() > 1.0) == (qd[1] == 0.0)


def test_followers_are_springs_of_their_leader():
    robot = dy.load("planar-2link").with_gravity((0, 0, 0))
    links = [replace(x, friction=dy.Friction()) for x in robot.model.links]
    links[1] = replace(links[1], mimic=("joint1", -2.0, 0.1), friction=dy.Friction(memory=MEMORY))
    tied = dy.Robot(replace(robot.model, links=tuple(links), configurations={}))
    A = linearise(tied, [0.2]).A
    np.testing.assert_allclose(A[1, 0] * tied.mass_matrix([0.2])[0, 0], -4.0 * SPRING, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_law_is_judged_by_springs_that_slip(kind):
    """Gains are judged as if all slid: far motions have no spring."""
    robot = arm(**KINDS[kind])
    found, plain = (sampled_arm(x, np.array([0.2, 0.4]), 1e-3)[0].A for x in (robot, arm()))
    np.testing.assert_allclose(found, plain, atol=1e-12)
