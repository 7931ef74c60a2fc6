"""The observation matrix block by block: document 003 (12) to (23), against the regressor."""

from dataclasses import fields

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.dynamics.gibbs_appell import coordinate_matrix
from dynamis.errors import OptionError
from dynamis.model import catalogue
from dynamis.spatial.functions import MATH

from ..random_robots import build, sprung

AGREE = 1e-10
ARMS = {
    "standard": lambda: build("standard", ["revolute"] * 4, 1),
    "modified": lambda: build("modified", ["revolute"] * 4, 2),
    "standard, sliding": lambda: build("standard", ["revolute", "prismatic", "revolute"], 3),
    "modified, sliding": lambda: build("modified", ["prismatic", "revolute", "prismatic"], 4),
    "urdf tree": lambda: build("urdf", ["revolute", "prismatic", "revolute"], 5, [-1, 0, 0]),
    "springs": lambda: sprung(build("modified", ["revolute", "prismatic"], 6), 7),
}
BLOCKS = ("A", "eta", "B1", "delta", "B2", "a", "D", "AB", "W_l", "W_f", "W", "Phi_l", "Phi_f")


def states(robot, batch=(3,)):
    return np.random.default_rng(0).normal(size=(3, *batch, robot.n))


def times(A, x):
    return (A @ x[..., None])[..., 0]


def close(a, b):
    assert np.abs(np.asarray(a) - b).max(initial=0.0) <= AGREE * (1.0 + np.abs(b).max(initial=0.0))


def skew(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


@pytest.mark.parametrize("make", ARMS.values(), ids=ARMS)
def test_it_is_the_regressor_in_the_order_of_the_paper(make):
    robot = make()
    q, qd, qdd = states(robot)
    found = robot.observation_matrix(q, qd, qdd)
    close(times(found.W, found.Phi), robot.inverse_dynamics(q, qd, qdd))
    close(found.D @ found.AB, found.W_l)
    own = list(robot.parameters.names)
    order = [own.index(name) for name in found.names]
    assert sorted(order) == list(range(len(own)))
    close(found.W, robot.regressor(q, qd, qdd)[..., order])
    close(found.Phi, np.broadcast_to(robot.parameters.values[order], found.Phi.shape))
    last = robot.link_names[-1]
    assert found.names[:2] == (f"{last}.Ixx", f"{last}.Ixy")
    assert found.names[6 * robot.n : 6 * robot.n + 4] == tuple(
        f"{last}.{x}" for x in ("mcx", "mcy", "mcz", "m")
    )


@pytest.mark.parametrize("name", [x for x in catalogue.names() if x != "rppr"])
def test_every_arm_of_the_catalogue(name):
    robot = dy.load(name)
    robot = robot.without_closures() if robot.model.closures else robot
    if robot.chain.coupling is not None:
        with pytest.raises(OptionError, match="without coupled joints"):
            robot.observation_matrix(*np.zeros((3, robot.n)))
        return
    q, qd, qdd = states(robot, ())
    found = robot.observation_matrix(q, qd, qdd)
    close(found.W @ found.Phi, robot.inverse_dynamics(q, qd, qdd, method="kane"))


def test_parameters_that_move_with_q():
    """Of rppr, whose sliding links have their centres of mass at a share of q: Phi is that at q."""
    robot = dy.load("rppr")
    q, qd, qdd = states(robot)
    found = robot.observation_matrix(q, qd, qdd)
    close(times(found.W, found.Phi), robot.inverse_dynamics(q, qd, qdd))
    at = found.names.index("link3.mcz")
    close(found.Phi[..., at], 5.0 * -0.5 * q[..., 2])


@pytest.mark.parametrize("kinds", [["revolute"] * 4, ["revolute", "prismatic", "revolute"]])
def test_the_recursions_as_printed(kinds):
    """(15) to (23) block by block, from frames and their accelerations by differences in time."""
    robot = build("modified", kinds, 11)
    n, (q, qd, qdd) = robot.n, states(robot, ())
    found = robot.observation_matrix(q, qd, qdd)

    def block(name, i, j, width):
        return getattr(found, name)[3 * i : 3 * i + 3, width * j : width * (j + 1)]

    frames, h = robot.frames(q), 1e-4
    moved = [robot.frames(q + qd * t + qdd * t * t / 2) for t in (-h, h)]
    for i in range(n):
        link = n - i
        T = frames[link]
        R = T[:3, :3]
        second = (moved[1][link] - 2 * T + moved[0][link]) / h**2
        U = R.T @ second[:3, :3]  # eta: R'' = R ([wd] + [w][w])
        a = R.T @ (second[:3, 3] - robot.gravity)
        w = (R.T @ (moved[1][link] - moved[0][link])[:3, :3] / (2 * h))[[2, 0, 1], [1, 2, 0]]
        wd = ((U - U.T) / 2)[[2, 0, 1], [1, 2, 0]]
        assert np.allclose(block("eta", i, i, 3), U, atol=1e-5)
        assert np.allclose(block("B1", i, i, 3), -skew(a), atol=1e-5)
        assert not block("B2", i, i, 1).any() and np.allclose(
            block("a", i, i, 1)[:, 0], a, atol=1e-5
        )
        for k, inertia in enumerate(np.eye(6)):
            xx, xy, yy, xz, yz, zz = inertia
            I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            column = block("A", i, i, 6)[:, k]
            assert np.allclose(column, I @ wd + np.cross(w, I @ w), atol=1e-5)
    for j in range(n):
        for i in range(n):
            if i < j:
                assert not any(block(x, i, j, k).any() for x, k in (("A", 6), ("B1", 3), ("B2", 1)))
            if i <= j:
                continue
            here, before = frames[n - i], frames[n + 1 - i]
            R = here[:3, :3].T @ before[:3, :3]
            r = here[:3, :3].T @ (before[:3, 3] - here[:3, 3])
            turned = here[:3, :3].T @ frames[n - j][:3, :3]
            arm = here[:3, :3].T @ (frames[n - j][:3, 3] - here[:3, 3])
            close(block("A", i, j, 6), R @ block("A", i - 1, j, 6))
            close(block("eta", i, j, 3), R @ block("eta", i - 1, j, 3))
            lever = skew(r) @ block("eta", i, j, 3)
            close(block("B1", i, j, 3), R @ block("B1", i - 1, j, 3) + lever)
            close(block("B2", i, j, 1), skew(arm) @ turned @ block("a", j, j, 1))
            seen = here[:3, :3].T @ frames[n - 1 - j][:3, :3]  # from the frame before link n - j
            close(block("delta", i, j, 3), skew(arm) @ seen)
    for k in range(n):
        row = found.D[k]
        assert row[3 * (n - 1 - k) :][:3].tolist() == [0, 0, 1] and np.abs(row).sum() == 1


@pytest.mark.parametrize("make", ARMS.values(), ids=ARMS)
def test_gibbs_function_gives_the_torques(make):
    """d G / d qdd = W_l Phi_l, (3): G is quadratic in qdd, so a central difference is exact."""
    robot = make()
    q, qd, qdd = states(robot, ())
    found = robot.observation_matrix(q, qd, qdd)
    slopes = [
        (
            robot.observation_matrix(q, qd, qdd + e).G - robot.observation_matrix(q, qd, qdd - e).G
        ).sum()
        / 2
        for e in np.eye(robot.n)
    ]
    close(slopes, found.W_l @ found.Phi_l)


def test_gibbs_function_is_that_of_the_centre_of_mass():
    """(2), up to what no acceleration changes."""
    robot = build("modified", ["revolute"] * 3, 12, load=False)
    q, qd, qdd = states(robot, ())
    body = robot.model.links[-1]
    m, c = body.mass, np.array(body.com)
    xx, yy, zz, xy, yz, xz = body.inertia
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def printed(more):
        found = robot.observation_matrix(q, qd, qdd + more)
        block = slice(0, 3)  # of the last link
        U, a = found.eta[block, block], found.a[block, 0]
        wd = ((U - U.T) / 2)[[2, 0, 1], [1, 2, 0]]
        w = robot.jacobian(q, frame="tool", link=robot.link_names[-1])[3:] @ qd
        aG = a + U @ c
        own = m * aG @ aG / 2 + wd @ I @ wd / 2 + wd @ np.cross(w, I @ w)
        return own - found.G[0]

    rng = np.random.default_rng(3)
    rest = [printed(rng.normal(size=robot.n)) for _ in range(4)]
    assert np.ptp(rest) < 1e-9 * (1 + abs(rest[0]))


def test_the_tables_of_w_agree():
    """W of `gibbs_appell`, in joint frames: the same torques; compiled as interpreted."""
    for name in ("stanford", "puma560-mdh", "rppr"):
        robot = dy.load(name)
        q, qd, qdd = states(robot)
        found, printed = robot.gibbs_appell(q, qd, qdd), robot.observation_matrix(q, qd, qdd)
        close(times(found.W, found.phi), times(printed.W_l, printed.Phi_l))
        close(found.M, np.swapaxes(found.M, -1, -2))
        slow = [
            coordinate_matrix(robot.chain, a, b, c, MATH)
            for a, b, c in zip(q, qd, qdd, strict=True)
        ]
        close(found.W, slow)
        one = robot.gibbs_appell(q[1], qd[1], qdd[1])
        assert all((a == b[1]).all() for a, b in zip(one[:-1], found[:-1], strict=True))
        close(found.G, robot.gravity_torque(q))


def test_long_arms_are_not_compiled():
    robot = build("modified", ["revolute"] * 30, 2, load=False)
    q, qd, qdd = states(robot, ())
    found = robot.gibbs_appell(q, qd, qdd)
    torque = robot.inverse_dynamics(q, qd, qdd) - robot.inverse_dynamics(q, qd, 0 * qdd)
    rotors = robot.mass_matrix(q) - found.M
    close(found.M @ qdd + rotors @ qdd, torque)


@pytest.mark.parametrize("name", ["polar-rp", "pendulum3", "scara", "rppr"])
def test_symbols_are_the_numbers(name):
    robot = dy.load(name)
    printed = robot.equations("gibbs-appell").observation_matrix
    q, qd, qdd = states(robot, ())
    found = robot.observation_matrix(q, qd, qdd)
    values = {sp.Symbol(k, real=True): x for k, x in robot.model.values.items()}
    for letter, row in (("q", q), ("qd", qd), ("qdd", qdd)):
        values |= {sp.Symbol(f"{letter}{k}", real=True): x for k, x in enumerate(row, 1)}
    assert printed.names == found.names
    for one in fields(found)[:-1]:
        own = getattr(printed, one.name).xreplace(values).evalf(30)
        expected = getattr(found, one.name)
        close(np.array(own.tolist(), dtype=float).reshape(expected.shape), expected)


def test_printed_blocks_of_the_polar_arm():
    """Document 004's arm by document 003, gravity as a letter."""
    o = dy.load("polar-rp").equations("gibbs-appell", gravity="g").observation_matrix
    m1, m2, L1, g, q2 = sp.symbols("m1 m2 L1 g q2", real=True)
    qd1, qd2, qdd1, qdd2 = sp.symbols("qd1 qd2 qdd1 qdd2", real=True)
    tau = (o.W * o.Phi).applyfunc(sp.expand)
    arm = sp.expand((m1 * L1**2 + m2 * q2**2) * qdd1 + 2 * m2 * q2 * qd1 * qd2)
    assert tau == sp.Matrix([arm, sp.expand(m2 * qdd2 - m2 * q2 * qd1**2)])
    assert o.Phi[6:9, 0] == sp.Matrix([L1**2 * m1, 0, L1**2 * m1])
    assert sp.Matrix([[0, 0, 0, 0, -1, 0], [0, 0, 1, 0, 0, 0]]) == o.D
    assert o.B1[:3, :3] == sp.Matrix(
        [
            [0, q2 * -(qd1**2) + qdd2, g],
            [q2 * qd1**2 - qdd2, 0, -q2 * qdd1 - 2 * qd1 * qd2],
            [-g, q2 * qdd1 + 2 * qd1 * qd2, 0],
        ]
    )


def test_too_long_in_symbols_is_said():
    with pytest.raises(OptionError, match="too long to write out"):
        _ = dy.load("stanford").equations().observation_matrix
    with pytest.raises(OptionError, match="springs"):
        _ = ARMS["springs"]().equations().observation_matrix


def test_blocks_listed_are_all_there():
    found = dy.load("planar-rr").observation_matrix(*np.zeros((3, 2)))
    assert {*BLOCKS, "Phi", "G", "names"} == {x.name for x in fields(found)}
