"""Impulses of contacts and of joints that hold: small problems with known answers."""

import math
from typing import Any

import numpy as np
import pytest

from dynamis.compile.arrays import NUMPY
from dynamis.compile.interpreter import interpret
from dynamis.simulation.contact.calls import (
    around_solver,
    read_problem,
    rows_of,
    size_of,
    written_problem,
)
from dynamis.simulation.contact.solver import Box, Cone, Problem, Solution, solved
from dynamis.spatial.functions import MATH

TOLERANCE = 1e-13
J = np.array([[-0.5, 0.2], [0.1, 0.45], [0.0, 0.0]])  # of one point of an arm of two joints


def problem(J, M, v, blocks):
    G = J @ np.linalg.solve(M, J.T)
    return Problem(G.tolist(), list(map(float, v)), blocks)


def test_a_point_that_sticks_stops():
    M = np.diag([2.0, 1.0])
    v = np.array([-1.0, 0.05, 0.0])
    found = solved(problem(J, M, v, [Cone(5.0, True)]), [0.0] * 3, MATH)
    np.testing.assert_allclose(found.u, 0.0, atol=TOLERANCE)
    assert found.residual < TOLERANCE and found.l[0] > 0.0


def test_two_points_by_hand():
    """The example of the guide: two points on one block, G = [[2, 1], [1, 2]], v = (-3, -1).

    Both pressing: l = (5/3, -1/3) pulls, so the second opens: l = (3/2, 0), u = (0, 1/2).
    """
    G = [[2.0, 1.0], [1.0, 2.0]]
    found = solved(Problem(G, [-3.0, -1.0], [Box(0.0, 1e300)] * 2), [0.0, 0.0], MATH)
    assert found.l == pytest.approx([1.5, 0.0], abs=1e-15)
    assert found.u == pytest.approx([0.0, 0.5], abs=1e-15)


def test_a_point_that_slides_rubs_against_its_velocity():
    """Point mass: l_n = -v_n, l_t = -mu l_n v_t / |v_t|."""
    v, mu = [-1.0, 3.0, 4.0], 0.4
    found = solved(Problem(np.eye(3).tolist(), v, [Cone(mu, True)]), [0.0] * 3, MATH)
    assert found.l == pytest.approx([1.0, -mu * 0.6, -mu * 0.8], abs=TOLERANCE)
    assert found.u == pytest.approx([0.0, 3.0 - mu * 0.6, 4.0 - mu * 0.8], abs=TOLERANCE)


def test_a_joint_holds_up_to_its_bounds():
    G = [[2.0]]
    held = solved(Problem(G, [1.0], [Box(-1.0, 1.0)]), [0.0], MATH)
    slid = solved(Problem(G, [3.0], [Box(-1.0, 1.0)]), [0.0], MATH)
    assert (held.l, held.u) == ([-0.5], [0.0])
    assert (slid.l, slid.u) == ([-1.0], [1.0])


def test_points_that_take_no_part_get_nothing():
    v = [-1.0, 0.3, 0.0, -2.0]
    blocks = [Cone(0.5, False), Box(0.0, 0.0)]
    found = solved(Problem(np.eye(4).tolist(), v, blocks), [0.1] * 4, MATH)
    assert found.l == [0.0] * 4 and found.u == v and found.residual == 0.0


def draws(points: int, friction: float, count: int = 200, seed: int = 1):
    """Random problems of an arm of six joints, as columns."""
    rng = np.random.default_rng(seed)
    G, v = [], []
    for _ in range(count):
        rows, root = rng.normal(size=(3 * points, 6)), rng.normal(size=(6, 6))
        M = root @ root.T / 6 + 0.3 * np.eye(6)
        G.append(rows @ np.linalg.solve(M, rows.T))
        v.append(rows @ rng.normal(size=6))
    columns = [list(r) for r in np.moveaxis(np.array(G), 0, -1)]
    return Problem(columns, list(np.array(v).T), [Cone(friction, True)] * points)


@pytest.mark.parametrize(("points", "share"), [(1, 0.99), (2, 0.94)])
def test_cold_problems_obey_the_laws(points, share):
    """Most random problems are solved from nothing, and what is called solved obeys every law."""
    given = draws(points, 0.5)
    with np.errstate(all="ignore"):
        found = solved(given, [0.0 * given.v[0]] * (3 * points), NUMPY)
    good = np.asarray(found.residual) < 1e-10
    assert good.mean() > share
    l, u = (np.array(x)[:, good].reshape(points, 3, -1) for x in (found.l, found.u))
    n, t = l[:, 0], l[:, 1:]
    assert n.min() >= 0.0 and u[:, 0].min() > -1e-9 and np.abs(n * u[:, 0]).max() < 1e-8
    assert (np.linalg.norm(t, axis=1) <= 0.5 * n + 1e-9).all()
    slip = np.linalg.norm(u[:, 1:], axis=1)
    power = (t * u[:, 1:]).sum(axis=1)
    np.testing.assert_allclose(power, -0.5 * n * slip, atol=1e-8)  # against it, at full size


def test_redundant_corners_of_a_block():
    """Twelve rows over six freedoms: forces are not unique, velocities are."""
    rows = []
    for x in (-0.1, 0.1):
        for y in (-0.1, 0.1):
            p = np.array([x, y, -0.05])
            cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
            rows += list(np.hstack([np.eye(3), -cross])[[2, 0, 1]])
    rows, M = np.array(rows), np.diag([1, 1, 1, 0.01, 0.01, 0.01])
    v = rows @ np.array([0.003, 0.0, -0.01, 0, 0, 0])
    stuck = solved(problem(rows, M, v, [Cone(0.5, True)] * 4), [0.0] * 12, MATH)
    np.testing.assert_allclose(stuck.u, 0.0, atol=1e-12)
    assert sum(stuck.l[::3]) == pytest.approx(0.01, abs=1e-12)
    slid = solved(problem(rows, M, v, [Cone(0.2, True)] * 4), [0.0] * 12, MATH)
    np.testing.assert_allclose(slid.u[1::3], 0.003 - 0.2 * 0.01, atol=1e-10)


def test_called_in_parts_it_gives_the_same():
    """The calls of `around_solver`, one after the other, next to the whole solver."""
    kinds = [None, 0.4, 0.7]
    rng = np.random.default_rng(4)
    root = rng.normal(size=(7, 9))
    m = rows_of(kinds)
    given = {"G": (m * m,), "v": (m,)}

    def function(G: Any, v: Any, fn: Any, solve: Any = solved) -> list[Any]:
        rows = [list(G[m * i : m * (i + 1)]) for i in range(m)]
        blocks = [Box(-0.3, 0.2), Cone(0.4, v[1] < 0.0), Cone(0.7, v[4] < 10.0)]
        found: Solution = solve(Problem(rows, list(v), blocks), [0.0] * m, fn)
        return [*found.l, *found.u, found.residual]

    calls = around_solver("whole", given, {"out": (2 * m + 1,)}, kinds, function)
    G, v = root @ root.T, rng.normal(size=m)
    vectors: dict[str, Any] = {"G": G.ravel(), "v": v}
    for part, sources, targets in calls:
        inputs = [
            vectors[name][start : start + port.size]
            for port, (name, start) in zip(part.inputs, sources, strict=True)
        ]
        vectors.update(zip(targets, interpret(part, inputs), strict=True))
    np.testing.assert_allclose(
        vectors["out"], function(G.ravel().tolist(), v.tolist(), MATH), rtol=0, atol=1e-12
    )


def test_a_problem_as_one_vector():
    kinds = [None, 0.4]
    G = np.cov(np.random.default_rng(2).normal(size=(4, 20)))
    given = Problem(G.tolist(), [1.0, 2.0, 3.0, 4.0], [Box(-1.0, 2.0), Cone(0.4, True)])
    vector = written_problem(given, MATH)
    again = read_problem(vector, kinds)
    assert len(vector) == size_of(kinds)
    np.testing.assert_array_equal(again.G, G)
    assert (again.v, again.blocks) == (given.v, given.blocks)
    assert math.isfinite(sum(vector))
