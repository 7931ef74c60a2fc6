"""Equations and derivations of closed mechanisms: the textbook's, and every step by the kernels."""

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.cli import main
from dynamis.equations.derivation.steps import derivation
from dynamis.equations.loops import Names, System, blocks, conditions
from dynamis.errors import ClosureError, ModelError, OptionError, SymbolError
from dynamis.spatial.functions import MATH
from dynamis.studio.pages.equations import Question, answered

from ..closed_mechanisms import five_bar, four_bar, made, motions, random_loops, states_near
from ..robot.test_closed_answers import tooled

AGREE = 1e-10  # of the largest value
METHODS = ("lagrange-euler", "newton-euler", "gibbs-appell", "kane")
VALUES = {
    "L1": 0.3, "L2": 0.45, "L3": 0.28, "L4": 0.4, "d": 0.35, "m1": 1.2, "m2": 0.7, "m3": 0.9,
    "m4": 0.6, "a1": 0.14, "a2": 0.2, "a3": 0.15, "a4": 0.22, "I1": 0.012, "I2": 0.009,
    "I3": 0.011, "I4": 0.008,
}  # fmt: skip


def symbolic_five_bar(**more):
    """Cranks L1, L3 on bearings d apart, couplers L2, L4; centres of mass a on the bars."""

    def bar(k, parent=None, xyz=(0, 0, 0), **own):
        inertia = (0, 0, f"I{k}")
        return dy.Link(name=f"bar{k}", parent=parent, xyz=xyz, axis=(0, 0, 1), mass=f"m{k}",
                       com=(f"a{k}", 0, 0), inertia=inertia, **own)  # fmt: skip

    links = [bar(1), bar(2, "bar1", ("L1", 0, 0), passive=True), bar(3, xyz=("d", 0, 0))]
    links.append(bar(4, "bar3", ("L3", 0, 0), passive=True))
    frames = ({"xyz": ("L2", 0, 0)}, {"xyz": ("L4", 0, 0)})
    tip = dy.Closure(kind="pin", between=("bar2", "bar4"), frames=frames)
    return made("textbook", links, [tip], **{"values": VALUES, **more})


def close(found, expected, agree=AGREE):
    expected = np.asarray(expected, dtype=float)
    assert np.shape(found) == expected.shape
    assert np.abs(found - expected).max() <= agree * max(1.0, np.abs(expected).max())


def identical(a, b):
    return sp.simplify(sp.expand_trig(sp.expand(sp.sympify(a) - b))) == 0


# -- the five-bar of the textbooks ---------------------------------------------------------------


@pytest.fixture(scope="module")
def textbook():
    return symbolic_five_bar()


@pytest.fixture(scope="module")
def written(textbook):
    return textbook.equations(gravity="g0")


@pytest.fixture(scope="module")
def full():
    """A five-bar with friction, rotors, a tool and a spring, and its equations."""
    robot = tooled()
    return robot, robot.equations()


def test_the_symbol_of_gravity_stands_in_the_steps(written):
    shown = str(written.steps)
    assert "g0" in shown and "9.81" not in shown and "981" not in shown


def test_passive_rates_are_ratios_of_sines(written):
    """Absolute angles t: t2' = -(L1 sin(t1 - t4) t1' - L3 sin(t3 - t4) t3') / (L2 sin(t2 - t4))."""
    e = written
    q, (L1, L2, L3, L4) = e.q, sp.symbols("L1:5", real=True)
    t1, t2, t3, t4 = q[0], q[0] + q[1], q[2], q[2] + q[3]
    across = sp.sin(t2 - t4)
    expected = sp.Matrix([
        [1, 0],
        [-L1 * sp.sin(t1 - t4) / (L2 * across) - 1, L3 * sp.sin(t3 - t4) / (L2 * across)],
        [0, 1],
        [-L1 * sp.sin(t1 - t2) / (L4 * across), L3 * sp.sin(t3 - t2) / (L4 * across) - 1],
    ])  # fmt: skip
    assert all(identical(a, b) for a, b in zip(e.Z.flat(), expected.flat(), strict=True))
    assert sp.count_ops(e.Z[3, 0]) < 12  # as short as there


def test_conditions_are_those_of_the_loop(written):
    """Both ways round the loop to the tip, in the axes of the left coupler."""
    e = written
    q, (L1, L2, L3, L4, d) = e.q, sp.symbols("L1 L2 L3 L4 d", real=True)
    turn = lambda t: sp.Matrix([sp.cos(t), sp.sin(t)])  # noqa: E731
    left = L1 * turn(q[0]) + L2 * turn(q[0] + q[1])
    right = sp.Matrix([d, 0]) + L3 * turn(q[2]) + L4 * turn(q[2] + q[3])
    axis = turn(q[0] + q[1])
    rows = ((axis.T * (right - left))[0], (sp.Matrix([[-axis[1], axis[0]]]) * (right - left))[0])
    assert all(identical(a, b) for a, b in zip(e.phi.flat(), rows, strict=True))


def test_torques_are_those_of_absolute_angles(textbook, written):
    """Lagrange's equations in the absolute angles of the bars, with multipliers in base axes."""
    t = sp.symbols("t1:5", real=True)
    td, tdd = sp.symbols("td1:5", real=True), sp.symbols("tdd1:5", real=True)
    v = {name: sp.Float(value) for name, value in VALUES.items()}
    turn = lambda k: sp.Matrix([sp.cos(t[k]), sp.sin(t[k])])  # noqa: E731
    places = [v["a1"] * turn(0), v["L1"] * turn(0) + v["a2"] * turn(1)]
    places += [v["a3"] * turn(2), v["L3"] * turn(2) + v["a4"] * turn(3)]
    rates = [p.jacobian(t) * sp.Matrix(td) for p in places]
    T = sum(v[f"m{k}"] * p.dot(p) + v[f"I{k}"] * td[k - 1] ** 2 for k, p in enumerate(rates, 1)) / 2
    U = sum(v[f"m{k}"] * sp.Float(9.81) * p[1] for k, p in enumerate(places, 1))
    along = lambda x: sum(  # noqa: E731
        x.diff(a) * b + x.diff(b) * c for a, b, c in zip(t, td, tdd, strict=True)
    )
    tree = sp.Matrix([along(T.diff(b)) - T.diff(a) + U.diff(a) for a, b in zip(t, td, strict=True)])
    gap = v["L3"] * turn(2) + v["L4"] * turn(3) - v["L1"] * turn(0) - v["L2"] * turn(1)
    Phi = gap.jacobian(t)
    q, qd, qdd, *_ = motions(textbook, 3, 1)
    absolute = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    function = sp.lambdify([*t, *td, *tdd], [tree, Phi])
    for state in zip(q, qd, qdd, strict=True):
        Q, J = (
            np.array(x, float) for x in function(*np.concatenate([absolute @ x for x in state]))
        )
        Q = Q.ravel()
        f = np.linalg.solve(J[:, [1, 3]].T, Q[[1, 3]])  # couplers are free of torque
        held = Q - J.T @ f
        close(written.evaluate(*state)[[0, 2]], held[[0, 2]])
        turned = np.array([np.cos(state[0][:2].sum()), np.sin(state[0][:2].sum())])
        close(written.evaluate(*state, what="f")[0], turned @ f)


# -- every step by the kernels -------------------------------------------------------------------


def by_kernels(robot, steps, state, rates):
    """Steps evaluated from their own expressions, next to numbers and kernels."""
    q, qd, qdd = state
    found = steps.evaluate(q, qd, qdd)
    assert all(step.items or step.table for step in steps)
    for name, item in steps.items.items():
        value = np.asarray(item.value, dtype=float)
        close(found[name], value.reshape(np.shape(found[name])))
    rows = list(robot.chain.mobility.rows)
    close(found["J"], robot.closure_jacobian(q)[rows])
    close(found["Z"] @ rates, robot.joint_rates(q, rates))
    gamma = robot.joint_accelerations(q, qd, np.zeros(robot.dof))
    followed = [found.get(f"gamma{k + 1}", 0.0) for k in range(robot.n)]
    close(followed, gamma)
    bias = [found[f"b{r + 1}"] for r in range(len(rows))]
    close(bias, -robot.closure_jacobian(q)[rows] @ gamma)
    Mbar = [[found[f"Mbar{i + 1}{j + 1}"] for j in range(robot.dof)] for i in range(robot.dof)]
    close(Mbar, robot.mass_matrix(q))
    Gamma = [found[f"Gamma{k + 1}"] for k in range(robot.n)]
    if not robot.rubs_under_load:
        close(Gamma, robot.without_closures().inverse_dynamics(q, qd, qdd))
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_step_of_a_five_bar_evaluates(method):
    robot = tooled()  # with friction, rotors and a spring
    q, qd, qdd, v, _ = (x[0] for x in motions(robot, 1, 2))
    steps = derivation(robot, method, (q, qd, qdd))
    found = by_kernels(robot, steps, (q, qd, qdd), v)
    close([found[f"tau{k + 1}"] for k in range(4)], robot.inverse_dynamics(q, qd, qdd))
    rows = list(robot.chain.mobility.rows)
    if method == "gibbs-appell":
        assert "f1" not in found
    else:
        forces = robot.constraint_forces(q, qd, qdd)[rows]
        close([found["f1"], found["f2"]], forces)
    assert steps.steps[-1].title == "Check"
    assert float(steps.steps[-1].text.rsplit(" ", 1)[1].rstrip(".")) < AGREE


@pytest.mark.thorough
def test_every_step_of_a_3rps_evaluates():
    robot = dy.load("3-rps")
    q, qd, qdd, v, _ = (x[0] for x in motions(robot, 1, 2))
    steps = derivation(robot, "gibbs-appell", (q, qd, qdd))
    found = by_kernels(robot, steps, (q, qd, qdd), v)
    close([found[f"tau{k + 1}"] for k in range(9)], robot.inverse_dynamics(q, qd, qdd))
    assert not [name for name, item in steps.items.items() if item.expression is None]
    assert {"K1^(11)", "Delta1", "Qdd1", "J2,3", "Z6,1"} <= set(steps.items)


def test_conditions_of_any_configuration(full):
    robot, e = full
    q = np.random.default_rng(0).uniform(-1, 1, 4)
    rows = list(robot.chain.mobility.rows)
    close(e.evaluate(q, what="phi"), robot.closure_error(q)[rows])


def test_acceleration_energy_gives_the_torques_of_the_tree():
    robot = five_bar()
    q, qd, qdd, *_ = (x[0] for x in motions(robot, 1, 4))
    steps = derivation(robot, "gibbs-appell")
    symbols = sp.symbols("qdd1:5", real=True)
    names = dict(steps.names)
    S = sum(steps[f"S{k + 1}"].expression for k in range(4))
    for symbol in reversed(names):
        S = S.xreplace({symbol: names[symbol]})
    at = {f"{x}{k + 1}": row[k] for x, row in (("q", q), ("qd", qd)) for k in range(4)}
    at |= {f"qdd{k + 1}": qdd[k] for k in range(4)}
    slopes = [S.diff(s) for s in symbols]
    found = [float(x.subs({s: at[str(s)] for s in x.free_symbols})) for x in slopes]
    close(found, robot.without_closures().inverse_dynamics(q, qd, qdd))


DRIVES = {
    "too many": lambda: five_bar(passive=False),
    "one of the couplers": lambda: four_bar((True, False, True)),
    "under load": lambda: tooled(springs=(), links=tuple(_rubbing())),
}


def _rubbing():
    from dataclasses import replace

    for link in five_bar().model.links:
        yield replace(link, friction=dy.Friction(viscous=0.2, coulomb=0.3, load=0.1))


@pytest.mark.parametrize("name", DRIVES)
def test_other_drives(name):
    robot = DRIVES[name]()
    q, qd, qdd, *_ = (x[0] for x in motions(robot, 1, 2))
    steps = derivation(robot, "lagrange-euler", (q, qd, qdd))
    tau = robot.inverse_dynamics(q, qd, qdd)
    own = [steps.items[f"tau{k + 1}"].value for k in range(robot.n)]
    close(own, tau)
    found = steps.evaluate(q, qd, qdd)
    close([found[f"tau{k + 1}"] for k in range(robot.n)], tau)
    if robot.rubs_under_load:
        close(robot.equations().evaluate(q, qd, qdd), tau)
    rows = list(robot.chain.mobility.rows)
    close([found[f"f{r + 1}"] for r in range(2)], robot.constraint_forces(q, qd, qdd)[rows])


def test_joints_without_drives():
    robot = four_bar((True, True, True))
    q, qd, qdd, *_ = (x[0] for x in motions(robot, 1, 2))
    steps = derivation(robot, "gibbs-appell", (q, qd, qdd))
    assert "must be zero" in steps.steps[-3].text
    tree = robot.without_closures().inverse_dynamics(q, qd, qdd)
    k = robot.independent[0]
    close(steps.evaluate(q, qd, qdd)[f"Q{k + 1}"], robot.joint_rates(q, [1.0]) @ tree)
    with pytest.raises(OptionError, match="no drive for"):
        _ = robot.equations().tau


def test_a_rod_in_symbols():
    robot = random_loops(["revolute"] * 3, [-1, 0, -1], [("rod", 1, 2)], 12, planar=True)
    q, qd, _, v, _ = (x[0] for x in states_near(robot, 1, 3))
    e = robot.equations("newton-euler")
    rows = list(robot.chain.mobility.rows)
    close(e.evaluate(q, what="J"), robot.closure_jacobian(q)[rows], 1e-9)
    close(e.evaluate(q, what="Z") @ v, qd, 1e-9)
    rest = np.zeros(robot.dof)
    close(e.evaluate(q, qd, what="gamma"), robot.joint_accelerations(q, qd, rest), 1e-9)
    close(e.evaluate(q, what="phi"), robot.closure_error(q)[rows], 1e-9)


SPATIAL = {"ball": 5, "universal": 6, "pin": 7, "slide": 7, "weld": 8, "rod": 4}  # and joints


@pytest.mark.parametrize("kind", SPATIAL)
def test_conditions_of_spatial_loops(kind):
    """Shorter forms of J and Jd qd for closed loops, over floats."""
    n = SPATIAL[kind]
    parents, joints = [k - 1 if k != 3 else -1 for k in range(n)], ["revolute"] * n
    joints[1] = "prismatic"
    robot = random_loops(joints, parents, [(kind, 2, n - 1)], 5)
    q, qd, qdd, _, _ = states_near(robot, 3, 3)
    rows = list(robot.chain.mobility.rows)
    assert len(q)
    for state in zip(q, qd, qdd, strict=True):
        found = conditions(robot.chain, *(x.tolist() for x in state[:2]), MATH)
        close(found.J, robot.closure_jacobian(state[0])[rows])
        close(found.bias, -robot.closure_jacobian(state[0])[rows] @ state[2], 1e-9)
        close(found.phi, np.zeros(len(rows)), 1e-9)


# -- systems by formula --------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_systems_are_solved_both_ways(size):
    rng = np.random.default_rng(size)
    A = np.zeros((size + 2, size + 2))
    A[:size, :size] = rng.normal(size=(size, size))
    A[size:, :] = rng.normal(size=(2, size + 2))
    A = A[rng.permutation(size + 2)][:, rng.permutation(size + 2)]
    parts = blocks((A != 0).tolist())
    assert sorted(len(part.rows) for part in parts) == sorted([size, 2])
    system = System(A.tolist(), parts, Names())
    b = rng.normal(size=size + 2)
    close(system.solve(b.tolist(), str, "x"), np.linalg.solve(A, b), 1e-8)
    close(system.solve_transposed(b.tolist(), str, "y"), np.linalg.solve(A.T, b), 1e-8)


# -- numeric formulations ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["five", "too many", "3-rps"])
def test_tables_of_lagrange_euler_and_gibbs_appell(name):
    from dataclasses import replace

    robots = {"five": five_bar, "too many": lambda: five_bar(passive=False)}
    robot = robots.get(name, lambda: dy.load("3-rps"))()
    links = tuple(replace(x, friction=dy.Friction(), drive=None) for x in robot.model.links)
    robot = dy.Robot(replace(robot.model, links=links))
    q, qd, qdd, v, _ = (x[0] for x in motions(robot, 1, 5))
    tau = robot.inverse_dynamics(q, qd, qdd)
    lagrange, gibbs = (f(q, qd, qdd) for f in (robot.lagrange_euler, robot.gibbs_appell))
    close(lagrange.tau, tau)
    close(gibbs.tau, tau)
    rows = list(robot.chain.mobility.rows)
    close(lagrange.loops.f, robot.constraint_forces(q, qd, qdd)[rows])
    close(lagrange.D, robot.without_closures().mass_matrix(q))
    close(gibbs.M, robot.mass_matrix(q))
    close(gibbs.G, robot.gravity_torque(q))
    close(gibbs.C, robot.coriolis_matrix(q, qd) @ v)
    own = list(robot.independent)
    close(gibbs.W @ gibbs.phi, gibbs.M @ qdd[own] + gibbs.C + gibbs.G)
    with pytest.raises(ClosureError, match="does not close"):
        robot.lagrange_euler(q + 0.1, qd, qdd)


# -- equations -----------------------------------------------------------------------------------


def test_equations_have_the_kernels_numbers(full):
    robot, e = full
    q, qd, qdd, *_ = motions(robot, 3, 2)
    rows = list(robot.chain.mobility.rows)
    expected = {
        "tau": robot.inverse_dynamics(q, qd, qdd), "M": robot.mass_matrix(q),
        "C": robot.coriolis_matrix(q, qd), "g": robot.gravity_torque(q),
        "f": robot.constraint_forces(q, qd, qdd)[:, rows], "J": robot.closure_jacobian(q)[:, rows],
        "gamma": robot.joint_accelerations(q, qd, np.zeros((3, 2))),
    }  # fmt: skip
    for name, value in expected.items():
        close(e.evaluate(q, qd, qdd, what=name), value)
    assert e.is_closed
    at = dict(zip((*e.q, *e.qd, *e.qdd), np.concatenate([q[0], qd[0], qdd[0]]), strict=True))
    close(np.array(e.tau.subs(at), dtype=float).ravel(), expected["tau"][0])
    close(float(e.term("M", 0, 1).subs(at)), expected["M"][0, 0, 1])


def test_symbols_take_other_values(written):
    e, longer = written, symbolic_five_bar(values={**VALUES, "L2": 0.5})
    q, qd, qdd, *_ = (x[0] for x in motions(longer, 1, 1))
    close(e.evaluate(q, qd, qdd, L2=0.5), longer.inverse_dynamics(q, qd, qdd))
    with pytest.raises(ClosureError, match="does not close"):
        e.evaluate(q, qd, qdd)
    light = longer.with_gravity((0, -1.62, 0))
    close(e.evaluate(q, qd, qdd, L2=0.5, g0=1.62), light.inverse_dynamics(q, qd, qdd))


def test_shown_as_text_latex_and_html(written):
    e = written
    text, latex, page = str(e), e.latex(), e._repr_html_()
    assert "Z4_1 = L1*sin(q2)/(L4*sin(q1 + q2 - q3 - q4))" in text
    assert "tau1 = Gamma1 + Gamma2*Z2_1 + Gamma4*Z4_1" in text  # reduced
    assert "f2 = -Gamma2/L2" in text  # with multipliers
    for part in (r"\phi_{1}", r"J_{1,3}", r"\bar{M}_{11}"):
        assert part in latex
    assert "<math" in page and e._repr_latex_().startswith("$$")
    assert repr(e) == ("Equations('textbook', 'lagrange-euler', 4 joints, 2 degrees of freedom)")
    assert e.recursion_of("Z").matrix.shape == (4, 2)


@pytest.mark.thorough
def test_long_mechanisms_in_named_intermediates():
    robot = dy.load("delta")
    e = robot.equations("newton-euler")
    q, qd, qdd, *_ = motions(robot, 2, 2)
    close(e.evaluate(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))
    close(e.evaluate(q, what="g"), robot.gravity_torque(q))
    recursion, known = e.recursion, {*map(str, (*e.q, *e.qd, *e.qdd))}
    assert not e.is_closed and len(recursion)
    for symbol, value in recursion:
        assert {str(s) for s in value.free_symbols} <= known  # in order
        known.add(str(symbol))
    with pytest.raises(OptionError, match="Coriolis matrix"):
        _ = e.C


def test_what_is_refused():
    robot = four_bar()
    q, e = robot.home, robot.equations()
    with pytest.raises(ClosureError, match="does not close"):
        e.derivation(q=q + 0.1)
    with pytest.raises(ClosureError, match="opens the loops"):
        e.derivation(q=q, qd=[1.0, 0.0, 0.0])
    with pytest.raises(OptionError, match=r"\.tree\.christoffel"):
        _ = e.christoffel
    with pytest.raises(OptionError, match="its shape is"):
        e.term("M", 0, 1)
    with pytest.raises((SymbolError, ModelError), match="has no value"):
        symbolic_five_bar(values={}).equations()
    steps = derivation(robot)
    with pytest.raises(OptionError, match="has no symbol 'm1'"):
        steps.evaluate(q, m1=1.0)


# -- command and studio --------------------------------------------------------------------------


def test_command_takes_rates_of_the_drives(capsys, tmp_path):
    page = tmp_path / "five.html"
    words = ["--q", "home", "--qd", "1", "-0.5", "--html", str(page)]
    assert main(["equations", "five-bar", *words]) == 0
    assert "Forces of the closures" in page.read_text()
    assert main(["equations", "five-bar", "--method", "gibbs-appell", "--qd", "1"]) == 2
    assert "qd has 1 number, expected 4" in capsys.readouterr().err


def test_studio_shows_the_equations():
    html = answered(Question.of(four_bar(), "equations"))
    assert "Jacobian of the conditions" in html and "Reduced form" in html
    page = answered(Question.of(four_bar(), "derivation", method="gibbs-appell", page=True))
    assert "Acceleration energy" in page
