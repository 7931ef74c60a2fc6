"""Derivations step by step: the documents' own results, and agreement with the engine."""

import math

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.dynamics.gibbs_appell import in_user_frames, observation_matrix
from dynamis.dynamics.newton_euler import outward
from dynamis.equations.derivation import setting as settings
from dynamis.equations.derivation import steps as module
from dynamis.equations.derivation.steps import METHODS, derivation
from dynamis.errors import ModelError, OptionError, ShapeError
from dynamis.model.chain import chain
from dynamis.model.link import Link
from dynamis.spatial.functions import MATH
from dynamis.spatial.rotations import rotate, rotate_back
from dynamis.spatial.vectors import add

from ..random_robots import build

EXACT = 1e-11  # relative to the largest torque
ROBOTS = ("pendulum3", "rppr", "planar-rp", "cartesian-xy", "scara", "polar-rp", "stanford", "sixr")


def symbols(names):
    return [sp.Symbol(name, real=True) for name in names.split()]


def same(item, expected):
    """Whether an item equals an expression or matrix, as an identity."""
    difference = (
        sp.Matrix(item.expression) - sp.Matrix(expected)
        if isinstance(expected, (list, sp.MatrixBase))
        else item.expression - expected
    )
    simplified = sp.simplify(sp.expand_trig(difference))
    return simplified == (
        sp.zeros(*simplified.shape) if isinstance(simplified, sp.MatrixBase) else 0
    )


@pytest.fixture(scope="module")
def polar():
    return derivation(dy.load("polar-rp"), "lagrange-euler")


def polar_matrices():
    """Every intermediate matrix of the Lagrange-Euler notes, misprints corrected."""
    q1, q2, m1, m2, L1 = symbols("q1 q2 m1 m2 L1")
    C, S = sp.cos(q1), sp.sin(q1)
    zero, empty = [0, 0, 0, 0], sp.zeros(4)
    turned = {
        "0A1": [[C, 0, -S, 0], [S, 0, C, 0], [0, -1, 0, 0], [0, 0, 0, 1]],
        "1A2": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, q2], [0, 0, 0, 1]],
        "0A2": [[C, 0, -S, -q2 * S], [S, 0, C, q2 * C], [0, -1, 0, 0], [0, 0, 0, 1]],
        "U11": [[-S, 0, -C, 0], [C, 0, -S, 0], zero, zero],
        "U12": empty,
        "U21": [[-S, 0, -C, -q2 * C], [C, 0, -S, -q2 * S], zero, zero],
        "U22": [[0, 0, 0, -S], [0, 0, 0, C], zero, zero],
        "U111": [[-C, 0, S, 0], [-S, 0, -C, 0], zero, zero],
        "U112": empty,
        "U121": empty,
        "U122": empty,
        "U211": [[-C, 0, S, q2 * S], [-S, 0, -C, -q2 * C], zero, zero],
        "U212": [[0, 0, 0, -C], [0, 0, 0, -S], zero, zero],
        "U221": [[0, 0, 0, -C], [0, 0, 0, -S], zero, zero],
        "U222": empty,
        "J1": [zero, zero, [0, 0, m1 * L1**2, m1 * L1], [0, 0, m1 * L1, m1]],
        "J2": [zero, zero, zero, [0, 0, 0, m2]],
        "D": [[m1 * L1**2 + m2 * q2**2, 0], [0, m2]],
    }
    return turned


def polar_scalars():
    q2, m2 = symbols("q2 m2")
    qd1, qd2 = symbols("qd1 qd2")
    values = {f"h{i}{k}{m}": 0 for i in (1, 2) for k in (1, 2) for m in (1, 2)}
    values |= {"h112": q2 * m2, "h121": q2 * m2, "h211": -q2 * m2}
    return values | {"h1": 2 * q2 * m2 * qd1 * qd2, "h2": -q2 * m2 * qd1**2, "C1": 0, "C2": 0}


@pytest.mark.parametrize("name", polar_matrices())
def test_polar_arm_has_every_matrix_of_document_004(polar, name):
    assert same(polar[name], sp.Matrix(polar_matrices()[name]))


@pytest.mark.parametrize("name", polar_scalars())
def test_polar_arm_has_every_coefficient_of_document_004(polar, name):
    assert same(polar[name], polar_scalars()[name])


def test_ten_steps_of_document_004_and_a_check(polar):
    assert [step.number for step in polar] == list(range(1, 12))
    assert polar.steps[-1].title == "Check"
    assert polar.steps[0].table[1] == ("joint1", "revolute", "q1", "0", "0", "-pi/2")


def test_zero_and_symmetric_items_are_marked(polar):
    assert polar["U12"].is_zero
    assert not polar["U21"].is_zero
    assert polar["U_{221}"].same == "U_{212}"


def test_second_document_angular_motion_in_its_corrected_form():
    """Document 002's 6R arm: w and wd of every link, entry by entry."""
    steps = derivation(dy.load("sixr"), "newton-euler")
    q, qd, qdd = (symbols(" ".join(f"{x}{k}" for k in range(1, 7))) for x in ("q", "qd", "qdd"))
    C, S = [sp.cos(x) for x in q], [sp.sin(x) for x in q]
    rows = [  # transposes of the six-joint coursework's rotation matrices: iR(i-1)
        [[C[0], S[0], 0], [0, 0, -1], [-S[0], C[0], 0]],
        [[C[1], S[1], 0], [0, 0, 1], [S[1], -C[1], 0]],
        [[S[2], -C[2], 0], [0, 0, 1], [-C[2], -S[2], 0]],
        [[C[3], S[3], 0], [0, 0, -1], [-S[3], C[3], 0]],
        [[C[4], S[4], 0], [0, 0, 1], [S[4], -C[4], 0]],
        [[C[5], S[5], 0], [-S[5], C[5], 0], [0, 0, 1]],
    ]
    w, wd, z = sp.zeros(3, 1), sp.zeros(3, 1), sp.Matrix([0, 0, 1])
    for k, R in enumerate(map(sp.Matrix, rows)):
        wd = R * (wd + z * qdd[k] + w.cross(z * qd[k]))
        w = R * (w + z * qd[k])
        for name, expected in ((f"{k + 1}w{k + 1}", w), (f"{k + 1}wd{k + 1}", wd)):
            assert sp.expand(sp.Matrix(steps[name].expression) - expected) == sp.zeros(3, 1)
    assert same(
        steps["2wd2"],
        [-S[1] * qdd[0] - C[1] * qd[0] * qd[1], qdd[1], C[1] * qdd[0] - S[1] * qd[0] * qd[1]],
    )


def test_second_document_forces_by_name():
    """v6', f and n keep the document's form, in named entries."""
    steps = derivation(dy.load("sixr"), "newton-euler")
    l4, m6 = symbols("l4 m6")
    x, y = symbols("w6.x w6.y")
    before = sp.Symbol("vd5.z", real=True)
    assert same(
        steps["6vd6"].__class__("", steps["6vd6"].expression[2]), before - l4 * (x**2 + y**2)
    )
    a = symbols("a6.x a6.y a6.z")
    v = symbols("vd6.x vd6.y vd6.z")
    assert same(steps["6F6"], [m6 * e for e in v]) or same(steps["6F6"], [m6 * e for e in a])
    assert steps["6n6"].expression[2] == 0
    assert steps["tau6"].expression == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ROBOTS)
def test_torques_of_the_steps_are_the_engines(name, method):
    robot = dy.load(name)
    rng = np.random.default_rng(3)
    state = rng.uniform(-1, 1, (3, robot.n))
    drafts = list(METHODS[method](settings.numeric(robot.model, *state.tolist())))
    found = [raw.value for raw in drafts[-1].items if raw.name.startswith(r"\tau")]
    expected = robot.inverse_dynamics(*state)
    assert np.allclose(found, expected, rtol=0, atol=EXACT * (1 + np.abs(expected).max()))


SHAPES = {  # base, tool, payload, friction, drives and random angles in each
    "standard": build("standard", ["revolute", "prismatic", "revolute", "prismatic"], 1),
    "modified": build("modified", ["prismatic", "revolute", "prismatic", "revolute"], 2),
    "tree": build("urdf", ["revolute", "prismatic", "revolute", "revolute"], 3, [-1, 0, 0, 1]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_torques_of_random_arms_are_the_engines(shape, method):
    robot = SHAPES[shape]
    state = np.random.default_rng(7).uniform(-1, 1, (3, robot.n))
    drafts = list(METHODS[method](settings.numeric(robot.model, *state.tolist())))
    found = [raw.value for raw in drafts[-1].items if raw.name.startswith(r"\tau")]
    expected = robot.inverse_dynamics(*state)
    assert np.allclose(found, expected, rtol=0, atol=EXACT * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("method", METHODS)
def test_a_tree_with_odd_angles_is_derived_in_symbols(method):
    robot = build("urdf", ["revolute", "prismatic", "revolute"], 3, [-1, 0, 0])
    assert derivation(robot, method)["tau1"] is not None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["polar-rp", "planar-rr", "scara", "pendulum3"])
def test_printed_torques_evaluate_to_the_engines(name, method):
    """The expressions themselves, not only the numbers beside them."""
    robot = dy.load(name)
    state = np.random.default_rng(4).uniform(-1, 1, (3, robot.n))
    steps = derivation(robot, method)
    names = [f"{x}{k + 1}" for x in ("q", "qd", "qdd") for k in range(robot.n)]
    numbers = dict(zip(symbols(" ".join(names)), state.ravel(), strict=True))
    numbers |= {sp.Symbol(k, real=True): v for k, v in robot.model.values.items()}
    found = [float(steps[f"tau{k + 1}"].expression.subs(numbers)) for k in range(robot.n)]
    assert np.allclose(found, robot.inverse_dynamics(*state), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["rppr", "puma560", "puma560-mdh", "stanford"])
def test_newton_euler_vectors_are_the_engines_turned_into_the_users_frames(name):
    model = dy.load(name).model
    state = np.random.default_rng(5).uniform(-1, 1, (3, model.n)).tolist()
    steps = derivation(model, "newton-euler", state)
    c = chain(model)
    _, links = outward(c, *state, MATH)
    for k, (motion, body) in enumerate(zip(links, c.bodies, strict=True), start=1):
        R, p = body.user
        origin = add(motion.a, rotate(motion.U, p))
        for letter, v in (("w", motion.w), ("wd", motion.wd), ("vd", origin)):
            assert np.allclose(steps[f"{k}{letter}{k}"].value, rotate_back(R, v), atol=1e-12)


@pytest.mark.parametrize("name", ["rppr", "puma560", "scara"])
def test_observation_matrix_is_the_engines(name):
    model = dy.load(name).model
    state = np.random.default_rng(6).uniform(-1, 1, (3, model.n)).tolist()
    c = chain(model)
    expected = np.array(in_user_frames(c, observation_matrix(c, *state, MATH)), dtype=float)
    steps = derivation(model, "gibbs-appell", state)
    for k in range(model.n):
        for i in range(k, model.n):
            block = np.ravel(steps[f"W{k + 1}{i + 1}^T"].value)
            assert np.allclose(block, expected[k, 10 * i : 10 * i + 10], atol=1e-12)


def test_numbers_beside_the_symbols():
    steps = derivation(dy.load("polar-rp"), "lagrange-euler", ([0.3, 0.8], [0.5, 0.2], [1, 2]))
    assert steps["d11"].value == pytest.approx(4 * 0.25 + 2 * 0.64)
    assert steps["tau2"].value == pytest.approx(2 * 2 - 2 * 0.8 * 0.25)
    assert steps["0A1"].value[0][0] == math.cos(0.3)


def test_friction_and_rotors_are_in_the_torque():
    link = Link(
        a=1.0,
        mass=2.0,
        friction=dy.Friction(viscous=0.1, coulomb=(0.4, -0.4)),
        drive=dy.Drive(gear=10, rotor_inertia=0.01),
    )
    steps = derivation(dy.Robot.from_dh("one", convention="standard", links=[link]))
    qd, qdd = symbols("qd1 qdd1")
    rates = sp.Rational(1, 10) * qd + sp.Rational(2, 5) * sp.sign(qd)
    assert sp.expand(steps["tau1"].expression - (3 * qdd + rates)) == 0


def test_a_model_without_values_is_derived_and_has_no_check():
    link = Link(a="L", mass="m")
    robot = dy.Robot.from_dh("symbolic", convention="modified", links=[link])
    for method in METHODS:
        steps = derivation(robot, method)
        assert steps.steps[-1].title != "Check"


def test_what_is_too_long_is_outlined(monkeypatch):
    monkeypatch.setattr(settings, "BUDGET", 2000)
    steps = derivation(dy.load("puma560"), "lagrange-euler")
    assert len(steps) == 11
    assert module.TOO_LONG in steps.steps[5].text
    assert steps["0A1"].expression is not None
    rows = np.full((3, 6), 0.2)
    with_numbers = derivation(dy.load("puma560"), "lagrange-euler", rows)
    assert with_numbers["d11"].value == pytest.approx(
        dy.load("puma560").mass_matrix(rows[0])[0, 0] - rotor(0)
    )


def rotor(i):
    """What rotors add to the diagonal of the mass matrix."""
    drive = dy.load("puma560").model.links[i].drive
    return drive.gear**2 * drive.rotor_inertia


def test_mistakes_are_named():
    robot = dy.load("polar-rp")
    with pytest.raises(OptionError, match="newton-euler"):
        derivation(robot, "newton-eule")
    with pytest.raises(ShapeError, match="qd has 1 entry, expected 2: joint1, joint2"):
        derivation(robot, "newton-euler", ([0, 0], [0], [0, 0]))
    with pytest.raises(ShapeError, match=r"expected \(q, qd, qdd\)"):
        derivation(robot, "newton-euler", ([0, 0],))
    with pytest.raises(OptionError, match=r"did you mean 'U[12]1'"):
        derivation(robot)["U1"]
    massless = Link(linear=(0, 1, 0, 0, 0, 0, 0, 0, 0, 0))
    odd = dy.Robot.from_dh("odd", convention="standard", links=[massless])
    with pytest.raises(ModelError, match=r"link1.*first moment but no mass"):
        derivation(odd, "newton-euler")
