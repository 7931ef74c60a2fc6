"""Closed forms: textbook identities symbolically, and every method against the numbers."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.dynamics import kinematics
from dynamis.dynamics.newton_euler import outward
from dynamis.equations import equations as module
from dynamis.equations.closed import parallel
from dynamis.equations.equations import METHODS
from dynamis.equations.scalars.polynomial import Alphabet
from dynamis.equations.scalars.scalars import coordinates, exactly, symbolic_chain
from dynamis.equations.scalars.simplify import tidy
from dynamis.errors import DynamisWarning, OptionError, ShapeError, SymbolError
from dynamis.model import catalogue
from dynamis.model.model import Model
from dynamis.spatial.rotations import rotate, rotate_back
from dynamis.spatial.vectors import add

from ..random_robots import build, states

AGREE = 1e-10  # of the largest torque: sums of a few hundred rounded terms
SMALL = [n for n in catalogue.names() if dy.load(n).n <= 3]
SIX = ["puma560", "elbow6", "stanford"]


def symbols(text):
    return sp.symbols(text, real=True)


def same(a, b):
    """Whether two expressions are identical, by expanding to polynomials in sines and cosines."""
    difference = sp.expand_trig(sp.expand(sp.sympify(a) - sp.sympify(b)))
    return len(Alphabet().of(difference)) == 0


def same_matrix(A, B):
    return all(same(a, b) for a, b in zip(sp.Matrix(A), sp.Matrix(B), strict=True))


def agree(robot, equations, count=5):
    q, qd, qdd = states(robot, count)
    expected = robot.inverse_dynamics(q, qd, qdd)
    tolerance = AGREE * max(1.0, np.abs(expected).max())
    assert np.abs(equations.evaluate(q, qd, qdd) - expected).max() < tolerance


# -- identities of the documents and textbooks ---------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_polar_arm_of_document_004(method):
    """D = diag(m1 L1^2 + m2 d2^2, m2), H = [2 d2 m2 th1' d2', -d2 m2 th1'^2], C = 0."""
    e = dy.load("polar-rp").equations(method)
    m1, m2, L1 = symbols("m1 m2 L1")
    d2, (w, v) = e.q[1], e.qd
    assert sp.Matrix([[m1 * L1**2 + m2 * d2**2, 0], [0, m2]]) == e.M
    assert (e.C * sp.Matrix(e.qd)).expand() == sp.Matrix([2 * d2 * m2 * w * v, -d2 * m2 * w**2])
    assert e.g == sp.zeros(2, 1)


def general_rr():
    return dy.Robot.from_dh(
        "general-rr",
        convention="standard",
        gravity=(0, "-G", 0),
        links=[
            dy.Link(
                a=f"L{i}",
                mass=f"m{i}",
                com=(f"x{i} - L{i}", f"y{i}", f"z{i}"),
                inertia=tuple(f"{name}{i}" for name in ("A", "B", "I", "D", "E", "F")),
            )
            for i in (1, 2)
        ],
    )


@pytest.mark.parametrize("method", METHODS)
def test_planar_rr_with_general_bodies(method):
    """The textbook arm with centres of mass (x, y, z) from the joints and any inertia."""
    e = general_rr().equations(method)
    L1, m1, m2, x1, y1, x2, y2, I1, I2, G = symbols("L1 m1 m2 x1 y1 x2 y2 I1 I2 G")
    q1, q2 = e.q
    w1, w2 = e.qd
    reach = x2 * sp.cos(q2) - y2 * sp.sin(q2)
    inner = I2 + m2 * (x2**2 + y2**2)
    m12 = inner + m2 * L1 * reach
    m11 = I1 + m1 * (x1**2 + y1**2) + inner + m2 * (L1**2 + 2 * L1 * reach)
    h = -m2 * L1 * (x2 * sp.sin(q2) + y2 * sp.cos(q2))
    g2 = m2 * G * (x2 * sp.cos(q1 + q2) - y2 * sp.sin(q1 + q2))
    g1 = G * (m1 * (x1 * sp.cos(q1) - y1 * sp.sin(q1)) + m2 * L1 * sp.cos(q1)) + g2
    assert same_matrix(e.M, [[m11, m12], [m12, inner]])
    assert same_matrix(e.C, [[h * w2, h * (w1 + w2)], [-h * w1, 0]])
    assert same_matrix(e.g, [g1, g2])


@pytest.mark.parametrize("method", METHODS)
def test_planar_rp_with_general_bodies(method):
    """Slide along z1 after alpha = -90 degrees, centres of mass anywhere."""
    robot = dy.Robot.from_dh(
        "general-rp",
        convention="standard",
        gravity=(0, "-G", 0),
        links=[
            dy.Link(alpha="-pi/2", mass="m1", com=("x1", "y1", "z1"), inertia=("A", "I1", "B")),
            dy.Link(joint="prismatic", mass="m2", com=("x2", "y2", "z2"), inertia=("C", "I2", "D")),
        ],
    )
    e = robot.equations(method)
    m1, m2, x1, z1, x2, z2, I1, I2, G = symbols("m1 m2 x1 z1 x2 z2 I1 I2 G")
    (q1, d), (w, v) = e.q, e.qd
    out = d + z2
    m11 = I1 + I2 + m1 * (x1**2 + z1**2) + m2 * (x2**2 + out**2)
    c, s = sp.cos(q1), sp.sin(q1)
    g1 = G * (m1 * (x1 * c - z1 * s) + m2 * (x2 * c - out * s))
    assert same_matrix(e.M, [[m11, m2 * x2], [m2 * x2, m2]])
    assert same_matrix(e.C, [[m2 * out * v, m2 * out * w], [-m2 * out * w, 0]])
    assert same_matrix(e.g, [g1, m2 * G * c])


def test_planar_rr_reads_like_the_textbook():
    e = dy.load("planar-rr").equations(gravity="g")
    I1, I2, L1, lc1, lc2, m1, m2, g = symbols("I1 I2 L1 lc1 lc2 m1 m2 g")
    q1, q2 = e.q
    w1, w2 = e.qd
    assert e.M[0, 0] == I1 + I2 + m1 * lc1**2 + m2 * (L1**2 + 2 * L1 * lc2 * sp.cos(q2) + lc2**2)
    assert e.g[1] == g * lc2 * m2 * sp.cos(q1 + q2)
    assert e.C[0, 1] == -L1 * lc2 * m2 * (w1 + w2) * sp.sin(q2)
    assert not (e.tau.atoms(sp.Float) | e.M.atoms(sp.Float))
    agree(dy.load("planar-rr"), e)


@pytest.mark.parametrize("gravity", [(0, -9.81, 0), (1.0, -9.81, 0.5)])
@pytest.mark.parametrize("method", METHODS)
def test_the_symbol_of_gravity_stands_in_the_steps(method, gravity):
    robot, symbol = dy.load("planar-2link").with_gravity(gravity), sp.Symbol("fall", real=True)
    e = robot.equations(method, gravity="fall")
    items = [item.expression for step in e.steps.steps for item in step.items]
    assert any(x.has(symbol) for x in items if isinstance(x, (sp.Basic, sp.MatrixBase)))
    for shown in (str(e.steps), e.steps.latex(), str(e), e.latex()):
        assert "fall" in shown
        assert "9.81" not in shown and "981" not in shown
    q = [0.3, -0.8]
    beside = e.derivation(q)
    torque = [beside[f"tau{k}"].value for k in (1, 2)]
    np.testing.assert_allclose(torque, robot.gravity_torque(q), rtol=1e-12)


def test_kr16_frames_of_document_001():
    """0A3 and 3A6 by the kinematics over SymPy."""
    model = dy.load("kr16").model
    chain = symbolic_chain(model)
    q = coordinates(6)[0]
    frames = [sp.Matrix(T) for T in exactly(kinematics.frames, chain, q)]
    (c1, c2, _, c4, c5, c6), (s1, s2, _, s4, s5, s6) = ([f(x) for x in q] for f in (sp.cos, sp.sin))
    c23, s23 = sp.cos(q[1] + q[2]), sp.sin(q[1] + q[2])
    d1, a1, a2, a3, d4, d6 = (
        sp.Rational(x) for x in ("0.675", "0.26", "0.68", "0.035", "0.67", "0.158")
    )
    reach = a3 * c23 + a2 * c2 + a1
    A03 = [
        [c1 * c23, -s1, -c1 * s23, c1 * reach],
        [s1 * c23, c1, -s1 * s23, s1 * reach],
        [s23, 0, c23, a3 * s23 + a2 * s2 + d1],
        [0, 0, 0, 1],
    ]
    A36 = [
        [c4 * c5 * c6 - s4 * s6, -c4 * c5 * s6 - s4 * c6, c4 * s5, c4 * s5 * d6],
        [s4 * c5 * c6 + c4 * s6, -s4 * c5 * s6 + c4 * c6, s4 * s5, s4 * s5 * d6],
        [-s5 * c6, s5 * s6, c5, c5 * d6 + d4],
        [0, 0, 0, 1],
    ]
    assert same_matrix(frames[3], A03)
    groups = parallel(chain)
    assert [tidy(x, groups) for x in frames[3][:, 0]] == [c1 * c23, s1 * c23, s23, 0]
    R, p = frames[3][:3, :3], frames[3][:3, 3]
    back = sp.Matrix(sp.BlockMatrix([[R.T, -R.T * p], [sp.zeros(1, 3), sp.eye(1)]]))
    assert same_matrix(back * frames[6], A36)


def test_sixr_of_document_002_corrected():
    """w3, w4, their derivatives, and the third entry of v6': -(w1^2 + w2^2) l4 + ..."""
    chain = symbolic_chain(dy.load("sixr").model)
    q, qd, qdd = coordinates(6)

    def motion(chain, q, qd, qdd, fn):
        links = outward(chain, q, qd, qdd, fn)[1]
        return [
            [rotate_back(body.user.R, v) for v in (x.w, x.wd, add(x.a, rotate(x.U, body.user.p)))]
            for x, body in zip(links, chain.bodies, strict=True)
        ]

    links = exactly(motion, chain, q, qd, qdd)
    (_, C2, C3, C4, *_), (_, S2, S3, S4, *_) = ([f(x) for x in q] for f in (sp.cos, sp.sin))
    w3, w4 = links[2][0], links[3][0]
    assert same(w3[2], C3 * S2 * qd[0] - S3 * qd[1])
    assert same(w4[2], S4 * (S3 * S2 * qd[0] + C3 * qd[1]) + C4 * (C2 * qd[0] + qd[2]))
    for w, wd, _ in links[:4]:
        for a, b in zip(w, wd, strict=True):
            rate = sum(sp.diff(a, x) * v for x, v in zip((*q, *qd), (*qd, *qdd), strict=True))
            assert same(b, rate)
    wx, wy, _ = links[5][0]
    before = links[4][2][2]  # joint 6 turns about z: the third entry is carried over
    assert same(links[5][2][2], -(wx**2 + wy**2) * symbols("l4") + before)


# -- laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", [*SMALL, "rppr"])
def test_small_robots_agree_with_the_numbers(name, method):
    robot = dy.load(name)
    e = robot.equations(method)
    assert e.is_closed
    assert not e.tau.atoms(sp.Float)
    agree(robot, e)
    q, qd, _ = states(robot, 3)
    for got, expected in (
        (e.evaluate(q, what="M"), robot.mass_matrix(q)),
        (e.evaluate(q, qd, what="C"), robot.coriolis_matrix(q, qd)),
        (e.evaluate(q, what="g"), robot.gravity_torque(q)),
    ):
        assert np.allclose(got, expected, rtol=0, atol=AGREE * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", ["planar-rr", "polar-rp", "puma560"])
def test_kinematics_agrees_with_the_numbers(name):
    robot = dy.load(name)
    e = robot.equations()
    q = 0.3 * np.arange(1, robot.n + 1)
    at = {**e.values, **dict(zip(e.q, q, strict=True))}
    for got, expected in ((e.fk, robot.fk(q)), (e.jacobian, robot.jacobian(q))):
        assert np.allclose(np.array(got.subs(at), dtype=float), expected, rtol=0, atol=AGREE)


def test_jacobian_reads_like_the_textbook():
    e = dy.load("planar-rr").equations()
    L1, L2 = (sp.Symbol(name, real=True) for name in ("L1", "L2"))
    q1, q2 = e.q
    assert list(e.jacobian.row(0)) == [
        -L1 * sp.sin(q1) - L2 * sp.sin(q1 + q2), -L2 * sp.sin(q1 + q2)
    ]  # fmt: skip


def test_jacobian_of_loops_says_where_it_is():
    with pytest.raises(OptionError, match=r"tree\.jacobian"):
        dy.load("five-bar").equations().jacobian  # noqa: B018


@pytest.mark.parametrize("name", ["planar-rr", "scara", "pendulum3"])
def test_mdot_minus_2c_is_skew(name):
    e = dy.load(name).equations()
    rates = zip(e.q, e.qd, strict=True)
    Mdot = sum((sp.diff(e.M, x) * v for x, v in rates), sp.zeros(e.n, e.n))
    S = Mdot - 2 * e.C
    assert same_matrix(S + S.T, sp.zeros(e.n, e.n))


@pytest.mark.parametrize("name", SMALL)
def test_christoffel_symbols(name):
    """c_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i), C_ij = sum c_ijk qd_k"""
    e = dy.load(name).equations()
    M, q, c = e.M, e.q, e.christoffel
    for i in range(e.n):
        for j in range(e.n):
            assert same(e.C[i, j], sum(c[i, j, k] * e.qd[k] for k in range(e.n)))
            for k in range(e.n):
                twice = sp.diff(M[i, j], q[k]) + sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i])
                assert same(2 * c[i, j, k], twice)


@pytest.mark.parametrize("name", SMALL)
def test_energies_give_the_torque(name):
    """tau = d/dt dT/dqd - dT/dq + dU/dq + friction"""
    e = dy.load(name).equations("gibbs-appell")
    T, U = e.kinetic_energy, e.potential_energy
    for i, (x, v) in enumerate(zip(e.q, e.qd, strict=True)):
        p = sp.diff(T, v)
        rate = sum(sp.diff(p, y) * r for y, r in zip((*e.q, *e.qd), (*e.qd, *e.qdd), strict=True))
        assert same(e.tau[i], rate - sp.diff(T, x) + sp.diff(U, x) + e.friction[i])


# -- numbers are exact ---------------------------------------------------------------------------


def test_products_of_typed_numbers_are_exact():
    body = symbolic_chain(dy.load("puma560").model).bodies[1]
    assert body.inertia.h[1] == sp.Rational("0.1044")  # 17.4 * 0.006


def test_numbers_inside_expressions_are_exact():
    robot = dy.Robot.from_dh(
        "thirds", convention="standard", links=[dy.Link(mass="m/3", com=("2*L/3", 0, 0))]
    )
    m, L = symbols("m L")
    assert robot.equations().M[0, 0] == 4 * L**2 * m / 27


@pytest.mark.parametrize("angle", [0.3, 1.5708, "30 deg", "alpha"])
def test_constant_angles_keep_rotations_exact(angle):
    robot = dy.Robot.from_dh(
        "skew",
        convention="modified",
        links=[dy.Link(), dy.Link(alpha=angle, mass=1.5, com=(0.1, 0.2, 0.3))],
        values={"alpha": 0.7},
    )
    R = sp.Matrix(symbolic_chain(robot.model).joints[1].placement.R)
    assert same_matrix(R.T * R, sp.eye(3))
    agree(robot, robot.equations("newton-euler"))


# -- every kind of arm ---------------------------------------------------------------------------

ARMS = [
    ("standard", ["revolute", "prismatic"], 1, None, "reflected"),
    ("modified", ["revolute", "revolute", "prismatic"], 3, None, "reflected"),
    ("urdf", ["revolute", "revolute", "prismatic"], 4, [-1, 0, 0], "reflected"),
    ("urdf", ["revolute", "revolute"], 5, [-1, -1], "reflected"),
    ("modified", ["prismatic", "revolute"], 6, None, "full"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("arm", ARMS, ids=lambda a: f"{a[0]}-{a[2]}")
def test_random_arms_with_friction_drives_and_payload(arm, method):
    robot = build(*arm)
    agree(robot, robot.equations(method))


@pytest.mark.parametrize("method", METHODS)
def test_joints_that_mimic_others(method):
    """x2 = -x1 + 0.3, and a third joint at twice the first."""
    body = {"mass": 1.5, "com": (0.1, 0.2, 0.3), "inertia": (0.01, 0.02, 0.03)}
    links = [
        dy.Link(name="a", joint_name="one", axis=(0, 0, 1), **body),
        dy.Link(parent="a", axis=(0, 1, 0), xyz=(0.3, 0, 0), mimic=("one", -1, 0.3), **body),
        dy.Link(parent="a", axis=(0, 0, -1), xyz=(0, 0.2, 0), mimic=("one", 2, 0), **body),
    ]
    robot = dy.Robot(Model(name="mimic", convention="urdf", links=links))
    assert robot.n == 1
    agree(robot, robot.equations(method))


def test_coulomb_friction_is_a_sign_if_symmetric():
    def arm(coulomb):
        friction = dy.Friction(viscous=0.1, coulomb=coulomb)
        return dy.Robot.from_dh("one", convention="standard", links=[dy.Link(friction=friction)])

    v = symbols("qd1")
    assert arm(0.4).equations().friction[0] == v / 10 + sp.Rational(2, 5) * sp.sign(v)
    uneven = arm((0.4, -0.3))
    agree(uneven, uneven.equations())
    assert "sign(qd1)" in str(uneven.equations())


def test_centre_of_mass_that_slides_is_held_rigid():
    e = dy.load("rppr").equations()
    assert sp.diff(e.M[0, 0], e.q[2]) != 0
    assert not same(e.christoffel[0, 0, 2], sp.diff(e.M[0, 0], e.q[2]) / 2)


# -- arms of many joints -------------------------------------------------------------------------


def agree_with_numbers(robot, e):
    """The recursion of tau against inverse dynamics."""
    f = e.recursion.function([*e.q, *e.qd, *e.qdd, *e.symbols])
    for q, qd, qdd in zip(*states(robot, 3), strict=True):
        tau = f(*q, *qd, *qdd, *(e.values[s] for s in e.symbols))
        expected = robot.inverse_dynamics(q, qd, qdd)
        assert np.allclose(tau, expected, rtol=0, atol=AGREE * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "name", [*(pytest.param(x, marks=pytest.mark.thorough) for x in SIX[:2]), SIX[2]]
)
def test_recursion_of_six_joints(name, method):
    robot = dy.load(name)
    agree_with_numbers(robot, robot.equations(method))


@dataclass(frozen=True)
class Bumper:
    """A load with a comparison in it."""

    stiffness: float = 40.0

    def torque(self, q, qd, constants, fn):
        return [fn.select(q[0] > 0.1, constants["stiffness"] * (q[0] - 0.1), 0.0), 0.0]


@pytest.mark.parametrize("method", METHODS)
def test_recursion_of_forces_with_a_comparison(method):
    robot = dy.load("planar-2link").with_load(Bumper())
    rubs = dy.Friction(viscous=(1.0, 2.0), coulomb=0.5)
    links = tuple(replace(x, friction=rubs) for x in robot.model.links)
    robot = dy.Robot(replace(robot.model, links=links))
    agree_with_numbers(robot, robot.equations(method))


@pytest.mark.parametrize("method", METHODS)
def test_recursion_of_friction_under_load_with_rotor_bodies(method):
    robot = build("modified", ["prismatic", "revolute"], 6, None, "full")
    rubs = dy.Friction(viscous=1.0, coulomb=0.5, load=0.2)
    links = tuple(
        replace(x, friction=rubs, drive=replace(x.drive, efficiency=1.0)) for x in robot.model.links
    )
    robot = dy.Robot(replace(robot.model, links=links))
    assert len(robot.chain.joints) > robot.n
    agree_with_numbers(robot, robot.equations(method))


def test_recursion_reads_like_symoro():
    e = dy.load("puma560").equations("newton-euler")
    lines = str(e.recursion).splitlines()
    assert "w31 = c3*w21 + s3*w22" in lines
    assert "wd63 = qdd6 + wd52" in lines
    defined = set(map(str, (*e.q, *e.qd, *e.qdd)))
    for symbol, expression in e.recursion:
        assert {str(s) for s in expression.free_symbols} <= defined  # in order
        assert str(symbol) not in defined
        defined.add(str(symbol))


def test_recursion_gives_way_to_the_models_own_symbols():
    links = [dy.Link(a="c1", mass="t1", com=("w1", 0, 0)), dy.Link(mass=1, com=("s2", 0, 0))]
    values = {"c1": 0.5, "t1": 2.0, "w1": -0.2, "s2": 0.4}
    robot = dy.Robot.from_dh("names", convention="standard", links=links, values=values)
    e = robot.equations("newton-euler")
    names = [str(s) for s, _ in e.recursion.steps]
    assert len(set(names)) == len(names) and not set(names) & set(values)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SIX)
def test_closed_forms_of_six_joints(name):
    robot = dy.load(name)
    e = robot.equations("newton-euler")
    assert e.is_closed
    agree(robot, e, 2)


@pytest.mark.thorough
def test_terms_of_the_puma():
    robot = dy.load("puma560")
    e = robot.equations()
    q = np.array([0.1, -0.7, 1.1, 0.4, -0.5, 0.9])
    at = dict(zip(e.q, q, strict=True))
    assert float(e.term("M", 0, 0).subs(at)) == pytest.approx(robot.mass_matrix(q)[0, 0])
    g = e.term("g", 1)
    assert float(g.subs(at)) == pytest.approx(robot.gravity_torque(q)[1])
    assert g.has(sp.cos(e.q[1])) and g.has(sp.sin(e.q[1] + e.q[2]))


@pytest.fixture(scope="module")
def panda():
    return dy.load("panda"), dy.load("panda").equations("newton-euler")


@pytest.mark.thorough
def test_an_arm_too_long_for_closed_forms(panda):
    robot, e = panda
    assert not e.is_closed
    agree(robot, e, 2)
    q, qd, _ = states(robot)
    assert np.allclose(e.evaluate(q, what="M"), robot.mass_matrix(q), rtol=0, atol=1e-12)
    assert "w31 = " in str(e)
    assert r"c_{2} &= \cos \left(q_{2}\right)" in e.latex()
    at = {**dict(zip(e.q, q, strict=True)), **dict(zip(e.qd, qd, strict=True))}
    for name, indices, expected in (
        ("M", (2, 5), robot.mass_matrix(q)[2, 5]),
        ("g", (3,), robot.gravity_torque(q)[3]),
        ("C", (5, 4), robot.coriolis_matrix(q, qd)[5, 4]),
        ("christoffel", (4, 5, 6), robot.coriolis_matrix(q, np.eye(7)[6])[4, 5]),
        ("friction", (0,), robot.friction_torque(qd)[0]),
    ):
        assert float(e.term(name, *indices).subs(at)) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(OptionError, match=r"term\(.christoffel"):
        _ = e.christoffel


@pytest.mark.thorough
def test_a_term_too_long_to_simplify_says_so(panda, monkeypatch):
    robot, e = panda
    q = states(robot)[0]
    at = dict(zip(e.q, q, strict=True))
    expected = robot.mass_matrix(q)[3, 4]
    for limit in ("SIMPLIFIED", "TERM_BUDGET"):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 3)
            with pytest.warns(DynamisWarning, match="not simplified"):
                value = e.term("M", 3, 4)
            assert float(value.subs(at)) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(module, "TERM_BUDGET", 3)
    monkeypatch.setattr(module, "UNSIMPLIFIED", 3)
    with pytest.raises(OptionError, match="recursion"):
        e.term("M", 3, 4)


# -- asked and shown -----------------------------------------------------------------------------


def test_wrong_questions_are_answered():
    robot = dy.load("planar-rr")
    e = robot.equations()
    with pytest.raises(OptionError, match="did you mean 'lagrange-euler'"):
        robot.equations("lagrange-eular")
    with pytest.raises(OptionError, match="did you mean 'christoffel'"):
        e.term("cristoffel", 0, 0, 0)
    with pytest.raises(OptionError, match="expected 2 from 0 to 1"):
        e.term("M", 0, 2)
    with pytest.raises(OptionError, match="no recursion"):
        e.recursion_of("H")
    with pytest.raises(OptionError, match="the robot has that symbol"):
        robot.equations(gravity="m1")
    with pytest.raises(ShapeError, match="expected"):
        e.evaluate([0.0, 0.0, 0.0])
    with pytest.raises(ShapeError, match="broadcast"):
        e.evaluate(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(OptionError, match="has no symbol 'm3'"):
        e.evaluate([0.0, 0.0], m3=1.0)
    with pytest.raises(SymbolError, match="no value"):
        general_rr().equations().evaluate([0.0, 0.0])


def test_shown_as_text_latex_and_html():
    e = dy.load("planar-rr").equations("newton-euler")
    assert e.method == "newton-euler" and e.robot_name == "planar-rr"
    assert "M22 = I2 + lc2**2*m2" in str(e)
    assert "9.81*lc2*m2*cos(q1 + q2)" in str(e)
    assert r"M_{22} &= I_{2}" in e.latex()
    assert e._repr_latex_().startswith("$$")
    assert "<math" in e._repr_html_()
    assert e.term("g", 1) == e.g[1]
    assert repr(e) == "Equations('planar-rr', 'newton-euler', 2 joints)"
