"""Fewer operations, the same torques: regrouped inertias, slid frames, rotors that do not turn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.compile.interpreter import interpret
from dynamis.dynamics import equation
from dynamis.dynamics.reduce import OPERATIONS, reduced
from dynamis.spatial.functions import MATH

from ..closed_mechanisms import OPEN_ARMS
from ..random_robots import build, close, robots, states


def test_a_wrench_holds_the_last_link():
    """The frame of a rotor at the tip must turn if something acts on it."""
    robot = dy.load("puma560-mdh")
    q, qd, qdd = (v.tolist() for v in states(robot))
    wrench = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    expected = np.array(equation.inverse_dynamics(robot.chain, q, qd, qdd, MATH, wrench))
    held = reduced(robot.chain, acting=("wrench",))
    free = reduced(robot.chain)
    assert held.joints[5].turns and not free.joints[5].turns
    close(np.array(equation.inverse_dynamics(held, q, qd, qdd, MATH, wrench)), expected, 1e-12)
    wrong = np.array(equation.inverse_dynamics(free, q, qd, qdd, MATH, wrench))
    assert np.abs(wrong - expected).max() > 1e-3


@pytest.mark.parametrize("name", OPEN_ARMS)  # states of closed ones must close
def test_programs_of_the_catalogue(name):
    """What is compiled by default equals what the model says, and costs no more."""
    robot = dy.load(name)
    state = states(robot, 4)
    plain = robot.program("inverse_dynamics", optimise="nothing")
    (expected,) = interpret(plain, state)
    for way in ("speed", "operations"):
        program = robot.program("inverse_dynamics", optimise=way)
        close(interpret(program, state)[0], expected, 1e-12)
        assert program.cost.total <= plain.cost.total + 2


def without_motors(robot):
    p = robot.parameters
    rigid = [x if "link" in n else 0.0 for n, x in zip(p.names, p.values, strict=True)]
    return robot.with_parameters(rigid)


def test_puma_in_fewer_operations_than_the_approximation_of_1986():
    """Exact rigid model with the Armstrong-Khatib-Burdick values, trigonometry free: below 305."""
    rigid = without_motors(dy.load("puma560-mdh"))
    cost = rigid.cost("inverse_dynamics", optimise="operations")
    assert cost.mul + cost.add < 300
    assert cost.div == 0 and cost.other == 0
    plain = rigid.cost("inverse_dynamics", optimise="nothing")
    assert plain.total - cost.total == sum(cost.saved.values())
    assert all(saved >= 0 for saved in cost.saved.values())


def test_a_prismatic_link_gives_its_inertia_away():
    robot = build("modified", ["revolute", "prismatic"], 1)
    small = reduced(robot.chain)
    assert small.bodies[1].inertia.I == (0.0,) * 6
    assert small.bodies[1].inertia.m > 0


@pytest.mark.parametrize("rotors", ["reflected", "full"])
@pytest.mark.parametrize("twists", [(0.7, 0, 0), (0.7, 0, 0.5, 0), (0, 0, 0), (0.3, 0, 0, 0)])
def test_parallel_axes(rotors, twists):
    """Angles add up on parallel axes, also where rotors spin on them without turning a frame."""
    drive = dy.Drive(gear=-50, rotor_inertia=2e-4)
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.12, 0.11)}
    links = [dy.Link(a=0.3, d=0.1 * i, alpha=t, **body, drive=drive) for i, t in enumerate(twists)]
    robot = dy.Robot.from_dh("p", convention="standard", links=links, rotors=rotors)
    state = states(robot, 4)
    (expected,) = interpret(robot.program("inverse_dynamics", optimise="nothing"), state)
    program = robot.program("inverse_dynamics", optimise="operations")
    close(interpret(program, state)[0], expected, 1e-12)
    assert any(j.parallel for j in reduced(robot.chain, OPERATIONS).joints)


def scaled(robot, length: float, mass: float):
    """The same robot built of other metres and kilograms: m s^2 stands for every inertia."""

    def link(x):
        places = {k: getattr(x, k) * length for k in ("a", "d")}
        if x.joint == "prismatic":
            places["offset"] = x.offset * length
        xyz = None if x.xyz is None else tuple(length * c for c in x.xyz)
        return replace(
            x,
            **places,
            xyz=xyz,
            mass=x.mass * mass,
            com=tuple(length * c for c in x.com),
            inertia=tuple(mass * length**2 * c for c in x.inertia),
            friction=dy.Friction(),
            drive=None,
        )

    model = robot.model
    place = replace(model.base, xyz=tuple(length * c for c in model.base.xyz))
    links = tuple(map(link, model.links))
    return dy.Robot(replace(model, links=links, base=place, payload=None))


SCALES = st.floats(-9.0, 9.0).map(lambda x: 10.0**x)


@settings(max_examples=60, deadline=None)
@given(robots(longest=5), SCALES, SCALES)
def test_no_size_of_robot_loses_inertia(robot, length, mass):
    small = scaled(robot, length, mass)
    units = [length if x.joint == "prismatic" else 1.0 for x in small.model.links]
    q = (units * states(small, vectors=1)[0]).tolist()
    expected = np.array(equation.mass_matrix(small.chain, q, fn=MATH))
    size = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    for k in range(len(OPERATIONS) + 1):
        found = np.array(equation.mass_matrix(reduced(small.chain, OPERATIONS[:k]), q, fn=MATH))
        assert (np.abs(found - expected) <= 1e-10 * size).all()


@pytest.mark.parametrize("length", [1e-9, 3e-8, 1e-7, 1.0, 1e9])
def test_the_compiled_mass_matrix_of_a_tiny_arm(length, compiled):
    def arm(s):
        rod = {"mass": 1.0, "com": (-s / 2, 0, 0), "inertia": (0, s * s / 12, s * s / 12)}
        return dy.Robot.from_dh("rods", convention="standard", links=[dy.Link(a=s, **rod)] * 2)

    expected = length**2 * arm(1.0).mass_matrix([0.3, 0.4])
    assert arm(length).mass_matrix([0.3, 0.4]) == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_needle_keeps_its_own_moment(compiled):
    """A moment is judged by the terms it is the sum of, not by the largest of the link."""
    needle = dy.Link(alpha=0.0, mass=1.0, com=(0.0, 0.0, 0.5), inertia=(0.1, 0.1, 1e-18))
    arm = dy.Robot.from_dh("needle", convention="modified", links=[needle])
    assert arm.mass_matrix([0.3]) == pytest.approx(np.array([[1e-18]]), rel=1e-12, abs=0)
