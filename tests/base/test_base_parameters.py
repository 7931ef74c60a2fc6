"""Base parameters: how many, which, and that nothing of the torque is lost."""

import re
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.base.groupings import (
    BODY,
    TOLERANCE,
    groupings,
    indices,
    numeric_rank,
    random_regressor,
)
from dynamis.errors import DynamisWarning, ModelError, OptionError
from dynamis.model.friction import LAWS

from ..random_robots import build, chains, robots, sprung, states

AGREE = 1e-10
TEXT = 1e-10  # coefficients are written with twelve digits
few = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
any_robot = st.one_of(robots(), chains(longest=4, rotors=True))

# inertial, and all with friction and drives. 7 n - 6 for n revolute joints, the first along gravity
RANKS = {
    "puma560": (36, 58), "puma560-mdh": (36, 58), "panda": (43, 69), "ur10e": (36, 58),
    "kr16": (36, 58), "elbow6": (36, 58), "sixr": (36, 58), "stanford": (33, 55),
    "kr16-p4": (33, 55), "scara": (5, 15), "planar-rr": (6, 13), "planar-rp": (6, 13),
    "planar-2link": (6, 13), "polar-rp": (4, 11), "cartesian-xy": (2, 8), "pendulum3": (9, 20),
}  # fmt: skip


def close(a, b, tolerance=AGREE):
    scale = max(np.abs(b).max(initial=0.0), 1.0)
    assert np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance * scale


def loses_nothing(robot, base, inertial_only):
    """Y_base values = Y phi, and Y = Y_base B, at states of this test's own."""
    q, qd, qdd = states(robot, 7, seed=5)
    Y, own = robot.regressor(q, qd, qdd), base.regressor(q, qd, qdd)
    size = BODY * len(robot.model.links) if inertial_only else Y.shape[-1]
    close(own @ base.values, Y[..., :size] @ robot.parameters.values[:size])
    close((own @ base.matrix)[..., :size], Y[..., :size])
    assert not base.matrix[:, size:].any()
    assert own.shape == (7, robot.n, base.rank)


@pytest.mark.parametrize("inertial_only", [True, False])
@pytest.mark.parametrize("name", RANKS)
def test_catalogue(name, inertial_only):
    robot = dy.load(name)
    base = robot.base_parameters(inertial_only=inertial_only)
    assert base.rank == RANKS[name][0 if inertial_only else 1]
    assert base.rank == len(base.names) == len(base.values) == len(base.columns)
    assert base.groupings.method == "rules"
    assert base.evidence.smallest_kept > 1e3 * base.tolerance > 1e3 * base.evidence.largest_dropped
    loses_nothing(robot, base, inertial_only)


@few
@given(any_robot, st.booleans())
def test_random_robots(robot, inertial_only):
    base = robot.base_parameters(inertial_only=inertial_only)
    coupled = robot.model.rotors == "full"
    assert base.groupings.method == ("numeric" if coupled else "rules")
    loses_nothing(robot, base, inertial_only)
    q, qd, qdd = states(robot, 500, seed=9)
    size = BODY * len(robot.model.links) if inertial_only else base.matrix.shape[1]
    Y = robot.regressor(q, qd, qdd)[..., :size].reshape(-1, size)
    lengths = np.linalg.norm(Y, axis=0)
    scaled = Y / np.where(lengths > 1e-9 * lengths.max(), lengths, np.inf)
    assert base.rank == np.linalg.matrix_rank(scaled, tol=1e-9)


@few
@given(robots())
def test_rank_is_the_sum_over_joints(robot):
    Y, c = random_regressor(robot), robot.chain
    blocks = [numeric_rank(Y[:, i, indices(c, i)]).rank for i in range(c.links)]
    assert robot.base_parameters().rank == sum(blocks)


@few
@given(chains(longest=6))
def test_both_conventions_have_one_rank(robot):
    other = {"standard": "modified", "modified": "standard"}[robot.model.convention]
    for inertial_only in (True, False):
        base = robot.base_parameters(inertial_only=inertial_only)
        assert robot.to_dh(other).base_parameters(inertial_only=inertial_only).rank == base.rank


@pytest.mark.parametrize("name", ["puma560", "puma560-mdh", "panda", "stanford"])
def test_numbers_alone_choose_the_same(name):
    robot = dy.load(name)
    base, Y = robot.base_parameters(), random_regressor(robot)
    tied = replace(robot.chain, coupling=np.eye(robot.n).tolist())
    stand_in = type("Tied", (), {"chain": tied, "model": robot.model})
    found = groupings(stand_in, Y, Y.shape[-1], TOLERANCE)  # type: ignore[arg-type]
    assert (found.method, found.columns) == ("numeric", base.columns)
    close(found.matrix, base.matrix, 1e-9)


def written(robot, names):
    """Texts evaluated with the robot's parameters and the values of its symbols."""
    signs = str.maketrans({"+": "_plus", "-": "_minus"})
    known = dict(robot.model.values)
    for name, value in zip(robot.parameters.names, robot.parameters.values, strict=True):
        owner, parameter = name.split(".")
        number = re.fullmatch("(?:link|joint)([0-9]+)", owner)
        known[parameter.translate(signs) + (number[1] if number else f"_{owner}_")] = value
    names = [re.sub(r"[\[\]]", "_", text) for text in names]
    return [eval(text, {"sin": np.sin, "cos": np.cos, "tan": np.tan}, known) for text in names]


@pytest.mark.parametrize("name", RANKS)
def test_texts_are_the_values(name):
    robot = dy.load(name)
    base = robot.base_parameters()
    close(written(robot, base.names), base.values, TEXT)


@few
@given(robots(longest=5))
def test_texts_of_random_robots_are_the_values(robot):
    base = robot.base_parameters()
    close(written(robot, base.names), base.values, TEXT)


def test_symbols_are_kept():
    base = dy.load("planar-rr").base_parameters(inertial_only=True)
    assert base.names == (
        "mcx1 + L1*m1 + L1*m2",
        "mcy1",
        "Izz1 - L1**2*m1 - L1**2*m2",
        "mcx2 + L2*m2",
        "mcy2",
        "Izz2 - L2**2*m2",
    )
    L1, m1, m2, lc1 = (sp.Symbol(x, real=True) for x in ("L1", "m1", "m2", "lc1"))
    assert base.expressions()[0] == lc1 * m1 + L1 * m2
    for expression, value in zip(base.expressions(), base.values, strict=True):
        values = {s: base.robot.model.values[str(s)] for s in expression.free_symbols}
        assert float(expression.subs(values)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_symbolic_angles(convention):
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.15, 0.01, 0.02, 0.03)}
    links = [dy.Link(**body), dy.Link(alpha="alpha", a="a", d="b", **body), dy.Link(**body)]
    values = {"alpha": 0.7, "a": 0.3, "b": 0.2}
    robot = dy.Robot.from_dh("bent", convention=convention, links=links, values=values)
    base = robot.base_parameters()
    assert {"a", "alpha"} <= set(re.findall(r"\w+", " ".join(base.names)))
    close(written(robot, base.names), base.values, TEXT)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_symbols_of_a_long_arm(convention):
    """Lengths stay symbols, angles become numbers: what would otherwise never return."""
    kinds = ["revolute", "prismatic", "revolute", "revolute", "revolute", "revolute"]
    values = {f"{x}{i}": 0.3 + 0.1 * i for x in ("angle", "a", "d") for i in range(6)}
    links = [
        dy.Link(joint=kind, alpha=f"angle{i}", a=f"a{i}", offset=f"d{i}", mass=1.0, com=(0, 0, 0.1))
        for i, kind in enumerate(kinds)
    ]
    robot = dy.Robot.from_dh("long", convention=convention, links=links, values=values)
    base = robot.base_parameters()
    words = set(re.findall(r"\w+", " ".join(base.names)))
    assert {"a3", "a4"} <= words
    assert not words & {"angle3", "sin", "cos"}
    close(written(robot, base.names), base.values, TEXT)


def test_customary_set_in_modified_dh():
    """W. Khalil's rules: YY, MZ and M of every link go to the one before."""
    base = dy.load("puma560-mdh").base_parameters(inertial_only=True)
    names = dict(zip(base.names, base.khalil, strict=True))
    assert names["Ixx6 - Iyy6"] == "XX6 - YY6"
    assert "ZZ5 + YY6" in base.khalil
    assert "MY5 - MZ6" in base.khalil
    assert "ZZ2 + 0.18645124*M3 + 0.18645124*M4 + 0.18645124*M5 + 0.18645124*M6" in base.khalil
    leads = {base.robot.parameters.names[j].split(".")[1] for j in base.columns}
    assert leads == {"mcx", "mcy", "Ixx", "Ixy", "Ixz", "Iyz", "Izz"}


def test_gravity_decides():
    robot = dy.load("puma560")
    assert robot.with_gravity((1, 2, -9)).base_parameters(inertial_only=True).rank == 7 * 6 - 4
    assert "link1.mcx" in robot.base_parameters().unidentifiable


def test_first_rotor_joins_its_link():
    names = dy.load("puma560-mdh").base_parameters().names
    assert names[0].startswith("Izz1 + rotor_inertia1 + ")
    assert "rotor_inertia3" in names
    names = dy.load("cartesian-xy").base_parameters().names
    assert names[0] == "m1 + rotor_inertia1 + m2"
    assert "rotor_inertia2 + m2" in names  # it also weighs on joint 2, as an offset does:
    assert "coulomb_plus2 + 9.81*m2 + offset2" in names


@pytest.mark.parametrize("law", sorted(LAWS))
def test_offset_and_coulomb_friction(law):
    constants = {"grotjahn": {"ratio": 0.3}}.get(law, {})
    friction = dy.Friction(viscous=1.0, coulomb=(0.5, -0.4), law=law, constants=constants)
    links = [dy.Link(mass=1.0, com=(1, 0, 0), friction=friction)]
    names = dy.Robot.from_dh("one", convention="standard", links=links).base_parameters().names
    tied = law in ("coulomb", "grotjahn")  # moving, their two halves add up to a constant
    assert ("offset1" in names) is not tied
    assert ("coulomb_plus1 + offset1" in names) is tied
    assert ("coulomb_minus1 + offset1" in names) is tied


@pytest.mark.parametrize("name", ["puma560", "scara", "planar-rp"])
def test_unidentifiable_parameters_have_no_effect(name):
    robot = dy.load(name)
    base = robot.base_parameters()
    values = robot.parameters.values.copy()
    lost = [robot.parameters.index(x) for x in base.unidentifiable]
    values[lost] += 3.0
    q, qd, qdd = states(robot, 5)
    changed = robot.regressor(q, qd, qdd) @ values
    close(changed, robot.inverse_dynamics(q, qd, qdd))
    for j in set(range(len(values))) - set(lost):
        assert np.abs(robot.regressor(q, qd, qdd)[..., j]).max() > 1e-6


@few
@given(any_robot, st.booleans())
def test_back_to_full_parameters(robot, inertial_only):
    base = robot.base_parameters(inertial_only=inertial_only)
    close(base.full(base.values), robot.parameters.values)
    wanted = base.values + np.random.default_rng(0).normal(size=(3, base.rank))
    full = base.full(wanted)
    close(full @ base.matrix.T, wanted, 1e-9)
    change = full - robot.parameters.values
    null = np.eye(change.shape[-1]) - np.linalg.pinv(base.matrix) @ base.matrix
    close(change @ null, np.zeros_like(change), 1e-9)  # the smallest: nothing along the null space


def test_identified_values_make_a_robot():
    robot = dy.load("planar-2link")
    base = robot.base_parameters()
    other = robot.with_parameters(base.full(1.1 * base.values))
    q, qd, qdd = states(robot, 4)
    close(other.inverse_dynamics(q, qd, qdd), 1.1 * robot.inverse_dynamics(q, qd, qdd))


def coupled(kind):
    robot = dy.load("puma560")
    if kind == "rotors":
        return dy.Robot(replace(robot.model, rotors="full"))
    if kind == "gears":
        gears = np.diag([link.drive.gear for link in robot.model.links])
        gears[5, 4], gears[4, 3] = 10.0, -5.0
        return dy.Robot(replace(robot.model, gear_matrix=tuple(map(tuple, gears))))
    tree = build("urdf", ["revolute"] * 4, 3)
    links = list(tree.model.links)
    links[3] = replace(links[3], mimic=("joint3", -1.0, 0.2))
    return dy.Robot(replace(tree.model, links=tuple(links)))


@pytest.mark.parametrize("kind", ["rotors", "gears", "mimic"])
def test_coupled_joints_go_by_numbers(kind):
    robot = coupled(kind)
    base = robot.base_parameters()
    assert base.groupings.method == "numeric"
    loses_nothing(robot, base, inertial_only=False)
    close(written(robot, base.names), base.values, 1e-9)


def test_names_of_ones_own():
    robot = dy.load("planar-2link")
    links = [
        replace(x, name=n) for x, n in zip(robot.model.links, ("arm", "fore_arm"), strict=True)
    ]
    base = dy.Robot(replace(robot.model, links=tuple(links))).base_parameters()
    assert base.names[0] == "mcx[arm] + 2*m[arm] + 2*m[fore_arm]"
    assert base.khalil[0] == "MX[arm] + 2*M[arm] + 2*M[fore_arm]"
    assert (
        r"mc_{x,\mathrm{arm}} + 2\, m_{\mathrm{arm}} + 2\, m_{\mathrm{fore\_arm}}" in base.latex()
    )
    assert "viscous1" in base.names  # the joints kept their usual names


def test_latex_and_text():
    base = dy.load("planar-rr").base_parameters()
    lines = base.latex().splitlines()
    assert lines[1] == r"\beta_{1} &= mc_{x,1} + L_{1}\, m_{1} + L_{1}\, m_{2} \\"
    assert len(lines) == base.rank + 2
    assert "mcx1 + L1*m1 + L1*m2" in str(base)
    assert repr(base) == "BaseParameters('planar-rr', 13 of 30 parameters)"


@pytest.mark.parametrize("alpha", [1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10])
def test_nearly_special_geometry_is_said_aloud(alpha):
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.15)}
    links = [dy.Link(a=0.5, alpha=alpha, **body), dy.Link(a=0.5, **body)]
    robot = dy.Robot.from_dh("nearly", convention="standard", links=links)
    with pytest.warns(DynamisWarning, match="not clear cut"):
        robot.base_parameters(inertial_only=True)
    if alpha == 1e-10:  # parallel for all that matters
        assert robot.base_parameters(inertial_only=True, tolerance=1e-6).rank == 4


def test_refusals():
    with pytest.raises(ModelError, match="com_factor on a prismatic joint"):
        dy.load("rppr").base_parameters()
    robot = dy.load("planar-2link")
    with pytest.raises(OptionError, match="no keyword 'tolerence'\nhint: did you mean 'tolerance'"):
        robot.base_parameters(tolerence=1e-6)
    with pytest.raises(OptionError, match="tolerance is 0"):
        robot.base_parameters(tolerance=0)
    with pytest.raises(dy.errors.ShapeError, match="base_values"):
        robot.base_parameters().full([1.0, 2.0])


@pytest.mark.parametrize("name", ["planar-rr", "puma560", "scara"])
def test_base_parameters_with_springs(name):
    """Those of the arm, then those of the springs; a torsion preload is grouped with the offset."""
    robot = dy.load(name)
    arm, bare = sprung(robot, 2), robot.base_parameters()
    base, joint = arm.base_parameters(), arm.model.springs[0].joint
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 30, robot.n))
    tau = arm.inverse_dynamics(q, qd, qdd)
    fine = np.isfinite(tau).all(axis=1)
    got = base.regressor(q, qd, qdd) @ base.values
    np.testing.assert_allclose(got[fine], tau[fine], atol=1e-9)
    assert fine.any() and base.columns[: bare.rank] == bare.columns
    own = ["stiffness[spring1]", "stiffness[spring2]", "preload[spring2]", "damping[spring2]"]
    own += ["force[spring3]", "damping[spring3]", "force[spring4]", "force[spring5]"]
    assert list(base.names[bare.rank :]) == own and base.rank == base.evidence.rank
    grouped = [x for x in base.names if "preload[spring1]" in x]
    index = robot.model.tree_joint_names.index(str(joint)) + 1
    assert [x.split()[0] for x in grouped] == [f"coulomb_{x}{index}" for x in ("plus", "minus")]
    assert all(x.endswith(f"offset{index} + preload[spring1]") for x in grouped)
    inertial, plain = arm.base_parameters(inertial_only=True), robot.base_parameters(True)
    assert inertial.names == plain.names and not inertial.matrix[:, -len(own) :].any()
    assert "k_{" in base.latex() and len(base.expressions()) == base.rank
    full = base.full(base.values + 0.1)
    np.testing.assert_allclose(base.matrix @ full, base.values + 0.1, atol=1e-9)


def test_a_cylinder_without_gas_anywhere_has_no_base_parameters():
    gas = dy.Spring(kind="gas", to="link1", to_point=(0.1, 0.3, 0), force=9.0, gas_length=1e-3)
    gas = replace(gas, exponent=1.3)
    arm = dy.Robot(replace(dy.load("planar-2link").model, springs=(gas,)))
    with pytest.raises(dy.errors.DynamisError, match="the springs act at"):
        arm.base_parameters()
