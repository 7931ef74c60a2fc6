"""Joints that hold: the boxed problem against enumeration of every sign pattern."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.compile.arrays import NUMPY
from dynamis.simulation.inertia import ArmInertia, inertia_at, masked_solve
from dynamis.simulation.plant import ENDLESS
from dynamis.simulation.rows import Row, directions
from dynamis.spatial.functions import MATH

CLOSE = 1e-9  # of the scale of the forces


def positive_definite(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + rng.uniform(0.01, 1.0) * np.eye(n)


def mass_matrix(rng, n):
    robot = dy.load({1: "planar-2link", 2: "planar-2link", 3: "pendulum3", 4: "rppr"}[n])
    return robot.mass_matrix(rng.uniform(-2, 2, robot.n))[:n, :n]


@st.composite
def problems(draw):
    n = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    M = draw(st.sampled_from([positive_definite, mass_matrix]))(rng, n)
    r = rng.normal(scale=3, size=n)
    low, high = -rng.uniform(0.1, 3, n), rng.uniform(0.1, 3, n)
    if draw(st.booleans()):  # at a joint stop
        high = np.where(rng.random(n) < 0.5, ENDLESS, high)
    holds = rng.random(n) < 0.9
    guess = rng.choice([-1.0, 0.0, 1.0], n)
    return M, r, low, high, holds, guess


def accelerations(M, r, low, high, holds, d):
    """qdd and friction when joints slide in directions d."""
    edge = np.where(d > 0, high, np.where(d < 0, low, 0.0))
    push = r - np.where(holds, edge, 0.0)
    free = ~holds | (d != 0)
    qdd = np.zeros(len(r))
    qdd[free] = np.linalg.solve(M[np.ix_(free, free)], push[free])
    return qdd, r - M @ qdd


def wrong(M, r, low, high, holds, d):
    """How far directions d are from the conditions, per joint."""
    qdd, f = accelerations(M, r, low, high, holds, d)
    beyond = np.maximum(f - high, low - f)
    backwards = -d * qdd
    return np.where(holds, np.where(d == 0, beyond, backwards), -1.0)


def enumerated(M, r, low, high, holds):
    """The only pattern that obeys the conditions."""
    patterns = [[-1.0, 0.0, 1.0] if h else [0.0] for h in holds]
    found = [
        np.array(d)
        for d in itertools.product(*patterns)
        if (wrong(M, r, low, high, holds, np.array(d)) <= 0).all()
    ]
    assert len(found) == 1
    return found[0]


def solved(M, r, low, high, holds, guess):
    bounds = zip(low.tolist(), high.tolist(), (1.0 * holds).tolist(), strict=True)
    rows = [Row(i, *b) for i, b in enumerate(bounds)]
    return np.array(directions(ArmInertia(M.tolist()), r.tolist(), rows, guess.tolist(), MATH))


@settings(max_examples=300, deadline=None)
@given(problems())
def test_the_answer_is_the_only_solution_or_the_start_of_the_next_step(problem):
    """One call may end early; called again from its own answer it arrives, in a few steps."""
    *given_, guess = problem
    holds = given_[-1]
    right = enumerated(*given_)
    d = guess
    for _ in range(8):
        d = solved(*given_, d)
        if (d[holds] == right[holds]).all():
            break
    np.testing.assert_array_equal(d[holds], right[holds])
    np.testing.assert_array_equal(solved(*given_, right)[holds], right[holds])  # and stays


def test_one_call_nearly_always_suffices():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        n = int(rng.integers(1, 5))
        M, r = positive_definite(rng, n), rng.normal(scale=3, size=n)
        low, high = -rng.uniform(0.1, 3, n), rng.uniform(0.1, 3, n)
        holds, guess = np.ones(n, bool), np.zeros(n)
        right = enumerated(M, r, low, high, holds)
        hits += (solved(M, r, low, high, holds, guess) == right).all()
    assert hits > 0.97 * 300, hits


@settings(max_examples=100, deadline=None)
@given(problems())
def test_a_fixed_point_obeys_the_conditions(problem):
    *given_, guess = problem
    d = solved(*given_, guess)
    if (solved(*given_, d) == d).all():
        scale = np.abs(given_[1]).max() + np.abs(given_[0]).max()
        assert (wrong(*given_, d) <= CLOSE * scale).all()


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**31))
def test_masked_solve_is_the_solution_of_the_free_part(n, seed):
    rng = np.random.default_rng(seed)
    M, b, values = positive_definite(rng, n), rng.normal(size=n), rng.normal(size=n)
    kind = rng.choice(3, n)  # never held, held, free for now
    held = [None if k == 0 else bool(k == 1) for k in kind]
    x = np.array(masked_solve(M.tolist(), b.tolist(), held, values.tolist(), MATH))
    fixed = kind == 1
    assert (x[fixed] == values[fixed]).all()
    left = b - M @ x
    assert np.abs(left[~fixed]).max(initial=0.0) < 1e-8 * (1 + np.linalg.cond(M)) * 1e-2 + 1e-9


def test_an_ensemble_is_solved_member_by_member():
    rng = np.random.default_rng(3)
    Ms = [positive_definite(rng, 3) for _ in range(20)]
    r = rng.normal(scale=3, size=(20, 3))
    low, high, holds = -np.ones(3), np.ones(3), np.ones(3, bool)
    each = [solved(M, row, low, high, holds, np.zeros(3)) for M, row in zip(Ms, r, strict=True)]
    rows = [Row(i, -1.0, 1.0, np.ones(20)) for i in range(3)]
    M = np.moveaxis(np.array(Ms), 0, -1)
    together = directions(ArmInertia(M), list(r.T), rows, [np.zeros(20)] * 3, NUMPY)
    np.testing.assert_array_equal(np.transpose(together), each)


def test_nothing_held_is_an_ordinary_solve():
    M = positive_definite(np.random.default_rng(1), 3)
    x = masked_solve(M.tolist(), [1.0, 2.0, 3.0], [None] * 3, [0.0] * 3, MATH)
    np.testing.assert_allclose(M @ x, [1, 2, 3], rtol=1e-10)


# rows over several joints, against every pattern by the whole system of equations


def solved_at_once(M, r, J, bias, low, high, d, always):
    """Motion and forces of rows J that slide in directions d; closures `always` hold."""
    hold = np.concatenate([d == 0, np.ones(len(always), bool)])
    every = np.vstack([J, always]) if len(always) else J
    edge = np.where(d > 0, high, np.where(d < 0, low, 0.0))
    H, n = every[hold], len(r)
    system = np.block([[M, H.T], [H, np.zeros((len(H), len(H)))]])
    right = np.concatenate([r - J.T @ edge, -np.concatenate([bias, 0.0 * always[:, 0]])[hold]])
    x = np.linalg.lstsq(system, right, rcond=None)[0]
    f = edge.copy()
    f[d == 0] = x[n : n + int((d == 0).sum())]
    return J @ x[:n] + bias, f


def enumerated_rows(M, r, J, bias, low, high, always):
    """Every pattern that obeys the conditions."""
    found = []
    for pattern in itertools.product([-1.0, 0.0, 1.0], repeat=len(J)):
        d = np.array(pattern)
        motion, f = solved_at_once(M, r, J, bias, low, high, d, always)
        if (np.where(d == 0, np.maximum(f - high, low - f), -d * motion) <= 0).all():
            found.append(d)
    return found


def row_problem(rng, dense):
    """Rows of joints 1 and 3 of four, and some over all of them: r, J, bias, bounds, Rows."""
    r, J = rng.normal(scale=3, size=4), np.vstack([np.eye(4)[::2], rng.normal(size=(dense, 4))])
    bias = np.concatenate([np.zeros(2), rng.normal(size=dense)])
    low, high = -rng.uniform(0.1, 3, 2 + dense), rng.uniform(0.1, 3, 2 + dense)
    places = [0, 2, *J[2:].tolist()]
    rows = [Row(x, *b, 1.0, c) for x, *b, c in zip(places, low, high, bias, strict=True)]
    return r, J, bias, low, high, rows


def test_rows_over_several_joints_are_solved_too():
    rng, none = np.random.default_rng(5), np.zeros((0, 4))
    hits = 0
    for k in range(60):
        dense = 1 + k % 2
        M = positive_definite(rng, 4)
        r, J, bias, low, high, rows = row_problem(rng, dense)
        (right,) = enumerated_rows(M, r, J, bias, low, high, none)
        inertia = ArmInertia(M.tolist())
        cold = directions(inertia, r.tolist(), rows, [0.0] * len(rows), MATH)
        hits += (np.array(cold) == right).all()
        again = directions(inertia, r.tolist(), rows, right.tolist(), MATH)
        np.testing.assert_array_equal(again, right)  # the solution stays
    assert hits >= 0.9 * 60, hits


def test_rows_over_several_joints_of_a_closed_mechanism():
    robot, rng = dy.load("five-bar"), np.random.default_rng(2)
    chain, q = robot.chain, robot.home
    inertia = inertia_at(chain, q.tolist(), MATH, holds=[True] * robot.n)
    M, closures = np.array(inertia.M), np.array(inertia.mass.J)
    for _ in range(10):
        r, J = rng.normal(size=robot.n), rng.normal(size=(1, robot.n))
        row = Row(J[0].tolist(), -0.2, 0.2, 1.0, rng.normal())
        (right,) = enumerated_rows(
            M, r, J, np.array([row.bias]), np.array([-0.2]), np.array([0.2]), closures
        )
        np.testing.assert_array_equal(directions(inertia, r.tolist(), [row], [0.0], MATH), right)
