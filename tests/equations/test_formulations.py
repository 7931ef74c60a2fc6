"""What formulations print: matrices of Lagrange-Euler's traces, Kane's steps, gravity by letter."""

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.cli import main
from dynamis.equations.derivation.steps import METHODS, derivation
from dynamis.errors import OptionError
from tests.thorough import thorough_but

AGREE = 1e-10
SMALL = ("polar-rp", "planar-rr", "planar-rp", "pendulum3", "scara", "planar-2link")


def states(robot):
    return np.random.default_rng(5).normal(size=(3, robot.n))


def close(a, b):
    assert np.abs(np.asarray(a) - b).max() <= AGREE * (1.0 + np.abs(b).max())


@pytest.mark.parametrize("name", ["polar-rp", "rppr", "puma560"])
def test_matrices_of_the_traces_as_arrays(name):
    robot = dy.load(name)
    t = robot.lagrange_euler(*states(robot))
    n = robot.n
    assert t.D_traces.shape == (n, n, n, 4, 4) and t.h_traces.shape == (n, n, n, n, 4, 4)
    close(np.trace(t.D_traces, axis1=-2, axis2=-1).sum(axis=-1), t.D)
    close(np.trace(t.h_traces, axis1=-2, axis2=-1).sum(axis=-1), t.h)
    i, j, k, m = n - 1, 0, n - 1, n - 2
    close(t.D_traces[i, j, k], t.U[k, j] @ t.J[k] @ t.U[k, i].T)
    close(t.h_traces[i, j, m, k], t.UU[k, j, m] @ t.J[k] @ t.U[k, i].T)


@pytest.mark.parametrize("name", ["polar-rp", "pendulum3"])
def test_matrices_of_the_traces_as_printed(name):
    robot = dy.load(name)
    q, qd, qdd = states(robot)
    steps, t = derivation(robot), robot.lagrange_euler(q, qd, qdd)
    values, n = steps.evaluate(q, qd, qdd), robot.n
    for i in range(n):
        for j in range(n):
            last = range(max(i, j), n)
            own = [values[f"E{i + 1}{j + 1}{k + 1}"] for k in last]
            for k, E in zip(last, own, strict=True):
                close(E, t.D_traces[i, j, k])
            close(sum(map(np.trace, own)), t.D[i, j])
            for m in range(n):
                last = range(max(i, j, m), n)
                for k in last:
                    close(values[f"G{i + 1}{j + 1}{m + 1}{k + 1}"], t.h_traces[i, j, m, k])
    assert not any(name.startswith("E") for name in derivation(dy.load("rppr")).items)


def test_printed_matrices_of_document_004():
    """d_12 and h_211 of its polar arm, entry by entry."""
    steps = dy.load("polar-rp").equations().steps
    m2, q1, q2 = sp.symbols("m2 q1 q2", real=True)
    s, c, o = sp.sin(q1), sp.cos(q1), [0, 0, 0, 0]
    d12 = m2 * q2 * sp.Matrix([[s * c, s**2, 0, 0], [-(c**2), -s * c, 0, 0], o, o])
    h211 = m2 * q2 * sp.Matrix([[-(s**2), s * c, 0, 0], [s * c, -(c**2), 0, 0], o, o])
    assert sp.simplify(sp.Matrix(steps["E122"].expression) - d12).is_zero_matrix
    assert sp.simplify(sp.Matrix(steps["G2112"].expression) - h211).is_zero_matrix


@pytest.mark.parametrize("name", SMALL)
def test_steps_of_kane(name):
    robot = dy.load(name)
    q, qd, qdd = states(robot)
    values = derivation(robot, "kane").evaluate(q, qd, qdd)
    jacobians = [robot.jacobian(q, link=link) for link in robot.link_names]
    for i, J in enumerate(jacobians, 1):
        for r in range(1, i + 1):
            close(values[f"v{i}{r}"][:, 0], J[:3, r - 1])
            close(values[f"w{i}{r}"][:, 0], J[3:, r - 1])
        close(values[f"v{i}"][:, 0], J[:3] @ qd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    close([values[f"tau{k + 1}"] for k in range(robot.n)], tau)
    e = robot.equations("kane")
    close(e.evaluate(q, qd, qdd), tau)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", thorough_but(["planar-2link", "polar-rp"], SMALL))
def test_gravity_stays_a_letter_in_every_step(name, method):
    robot = dy.load(name)
    e = robot.equations(method, gravity="g")
    g, size = sp.Symbol("g", real=True), float(np.linalg.norm(robot.gravity))
    plain = robot.equations(method).steps
    q, qd, qdd = states(robot)
    seen = False
    for name_, item in e.steps.items.items():
        if item.expression is None:
            continue
        own = sp.sympify(item.expression)
        numbers = own.atoms(sp.Number) if hasattr(own, "atoms") else set()
        assert not any(abs(float(x)) == pytest.approx(size) for x in numbers), name_
        seen |= g in own.free_symbols
        without = plain.items[name_].expression
        assert g not in sp.sympify(without).free_symbols
    assert seen or not np.any(robot.gravity_torque(q))
    lettered, numbered = e.steps.evaluate(q, qd, qdd), plain.evaluate(q, qd, qdd)
    for key, value in numbered.items():
        close(lettered[key], value)
    heavier = e.steps.evaluate(q, qd, qdd, g=2.0 * size)
    double = robot.with_gravity(2.0 * robot.gravity).inverse_dynamics(q, qd, qdd)
    close([heavier[f"tau{k + 1}"] for k in range(robot.n)], double)


def test_the_command_keeps_gravity_as_a_letter(capsys):
    call = ["equations", "planar-2link", "--method", "kane", "--gravity", "g"]
    assert main(call) == 0
    text = capsys.readouterr().out
    steps = text.split("Generalised active forces")[1].split("Check")[0]
    assert "9.8" not in steps and " g " in steps
    assert main([*call[:-1], "q1"]) == 2
    assert "gravity cannot be called 'q1'" in capsys.readouterr().err


def test_methods_are_listed_where_one_is_unknown():
    with pytest.raises(OptionError, match="'gibbs-appell', 'kane'"):
        dy.load("polar-rp").equations("hamilton")
