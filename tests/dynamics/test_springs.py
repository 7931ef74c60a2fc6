"""Springs: laws of energy, agreement of the formulations, MuJoCo, bad input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import DynamisError
from tests.random_robots import robots

GAS = {"force": 300.0, "gas_length": 40.0, "exponent": 1.3, "rest_length": 0.7}


def sprung(robot, seed):
    """The robot with a spring of every kind between links at random."""
    rng = np.random.default_rng(seed)
    links = [robot.model.base_name, *robot.model.link_names]
    joint = str(rng.choice(robot.model.tree_joint_names))
    own = [dy.Spring(kind="torsion", joint=joint, stiffness=30.0, rest_angle=0.4, preload=-2.0)]
    laws = [
        {"stiffness": 400.0, "rest_length": 0.3, "preload": 20.0, "damping": 5.0},
        {"kind": "gas", "law": "pull", **GAS, "damping": 3.0},
        {"kind": "gas", "law": "push", **GAS, "exponent": 1.0},
        {"kind": "gas", "law": "table", "lengths": [0.2, 0.8, 2.0], "forces": [5.0, 60.0, -10.0]},
    ]
    for law in laws:
        a, b = rng.choice(len(links), 2, replace=False)
        points = {"from_point": rng.normal(size=3), "to_point": rng.normal(size=3)}
        own.append(dy.Spring(**{"from": links[a], "to": links[b]}, **points, **law))
    return dy.Robot(replace(robot.model, springs=tuple(own)))


def state(robot, seed):
    return np.random.default_rng(seed + 1).uniform(-1.0, 1.0, (3, robot.n))


@settings(max_examples=25)
@given(robots(), st.integers(0, 2**20))
def test_the_torque_is_the_slope_of_the_energy(robot, seed):
    arm = sprung(robot, seed)
    q = state(arm, seed)[0]
    h = 1e-5 * np.eye(arm.n)
    slope = [(arm.potential_energy(q + e) - arm.potential_energy(q - e)) / 2e-5 for e in h]
    wanted = arm.gravity_torque(q) + arm.spring_torque(q)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max() + 1e-6)
    np.testing.assert_array_equal(arm.gravity_torque(q), robot.gravity_torque(q))


def tension(spring, length):
    """The force of a spring by the formulas on paper, damping left out."""
    s = length - spring.rest_length
    if spring.kind == "linear":
        return spring.preload + spring.stiffness * s
    if spring.law == "table":
        return spring.force * np.interp(length, spring.lengths, spring.forces)
    V, sign = spring.gas_length, 1.0 if spring.law == "pull" else -1.0
    return sign * spring.force * (V / (V - sign * s)) ** spring.exponent


def place(robot, q, link, point):
    """A point of a link in the reference frame, and how it moves with the joints, (3,) (3, n)."""
    T, J = robot.fk(q, link=link), robot.jacobian(q, link=link)
    arm = T[:3, :3] @ point
    return T[:3, 3] + arm, J[:3] - np.cross(arm, J[3:], axisb=0, axisc=0)


@settings(max_examples=25)
@given(robots(), st.integers(0, 2**20))
def test_the_torque_is_that_of_two_forces(robot, seed):
    """J^T F at either end, F along the line between them: forces and Jacobians by NumPy."""
    arm = sprung(robot, seed)
    q, qd, qdd = state(arm, seed)
    wanted, damped = np.zeros(arm.n), np.zeros(arm.n)
    for spring in arm.model.springs:
        if spring.kind == "torsion":
            j = robot.joint_names.index(spring.joint)
            wanted[j] += spring.preload + spring.stiffness * (q[j] - spring.rest_angle)
            continue
        (a, Ja), (b, Jb) = (
            place(robot, q, link or robot.model.base_name, np.array(point))
            for link, point in ((spring.from_, spring.from_point), (spring.to, spring.to_point))
        )
        length = np.linalg.norm(b - a)
        slope = (b - a) / length @ (Jb - Ja)
        wanted += tension(spring, length) * slope
        damped += spring.damping * (slope @ qd) * slope
    scale = np.abs(wanted).max() + 1.0
    np.testing.assert_allclose(arm.spring_torque(q), wanted, rtol=0, atol=1e-9 * scale)
    added = arm.inverse_dynamics(q, qd, qdd) - robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(added, wanted + damped, rtol=0, atol=1e-9 * scale)


@settings(max_examples=25)
@given(robots(), st.integers(0, 2**20))
def test_the_equation_of_motion_holds_with_springs(robot, seed):
    check_equation(robot, seed)


@pytest.mark.parametrize(
    "name, code",
    [*((x, "off") for x in ("puma560", "scara", "stanford", "ur10e")), ("scara", "on"),
     *(pytest.param(x, "on", marks=pytest.mark.thorough)
       for x in ("puma560", "stanford", "ur10e"))],
)  # fmt: skip
def test_the_equation_of_motion_holds_with_springs_on_known_arms(name, code, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    for seed in range(1 if code == "on" else 4):  # every seed has every kind of spring
        check_equation(dy.load(name), seed)


def check_equation(robot, seed):
    arm = sprung(robot, seed)
    q, qd, qdd = state(arm, seed)
    tau, rest = arm.inverse_dynamics(q, qd, qdd), np.zeros(arm.n)
    scale = np.abs(tau).max() + 1.0
    added = tau - robot.inverse_dynamics(q, qd, qdd)
    still = arm.inverse_dynamics(q, rest, rest) - robot.inverse_dynamics(q, rest, rest)
    np.testing.assert_allclose(still, arm.spring_torque(q), atol=1e-11 * scale)
    assert (added - still) @ qd >= -1e-9 * scale  # damping takes power
    Y = arm.regressor(q, qd, qdd)
    np.testing.assert_allclose(Y @ arm.parameters.values, tau, atol=1e-9 * scale)
    again = arm.with_parameters(arm.parameters.values)
    np.testing.assert_allclose(again.inverse_dynamics(q, qd, qdd), tau, atol=1e-9 * scale)
    found = arm.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(arm.inverse_dynamics(q, qd, found), tau, atol=1e-7 * scale)


def test_parameters_come_last_and_by_name():
    arm = sprung(dy.load("planar-2link"), 3)
    plain = dy.load("planar-2link").parameters.names
    assert arm.parameters.names[: len(plain)] == plain
    assert arm.parameters.names[len(plain) :] == (
        *("spring1.stiffness", "spring1.preload"),
        *("spring2.stiffness", "spring2.preload", "spring2.damping"),
        *("spring3.force", "spring3.damping", "spring4.force", "spring5.force"),
    )


def test_a_robot_without_springs_computes_as_before():
    arm = dy.load("puma560")
    assert not arm.spring_torque(np.zeros(6)).any() and arm.chain.springs == ()


KERNELS = (
    *("inverse_dynamics", "inverse_dynamics:wrench", "forward_dynamics", "mass_matrix"),
    *("gravity_torque", "potential_energy", "motor_torque", "regressor", "fk"),
)


@pytest.mark.parametrize("name", ["planar-2link", "scara"])
def test_programs_without_springs_hold_no_trace_of_them(name):
    """The text of a robot that lost its springs, or has a list of none, is that of the robot."""
    robot = dy.load(name)
    springs = sprung(robot, 1).model.springs
    many = dy.Robot(replace(robot.model, springs=springs))
    lost = dy.Robot(replace(many.model, springs=()))
    none = dy.Robot(replace(robot.model, springs=[]))
    assert lost.chain == none.chain == robot.chain and lost == none == robot
    for kernel in KERNELS:
        text = robot.program(kernel).text
        assert lost.program(kernel).text == none.program(kernel).text == text
        assert " sqrt " not in text and "sqrt(" not in text
        has = kernel not in ("mass_matrix", "gravity_torque", "fk")
        assert (many.program(kernel).text != text) == has
    # the parts that a chain without springs never reaches
    silent = replace(robot.chain, springs=())
    assert repr(silent) == repr(robot.chain)


@pytest.mark.parametrize("name", ["planar-2link", "puma560"])
def test_energy_is_conserved_at_the_order_of_the_integrator(name, compiled):
    links = dy.load(name).model.links
    free = [replace(link, friction=dy.Friction(), drive=None) for link in links]
    model = replace(dy.load(name).model, links=tuple(free))
    spring = {"from_point": (0.3, 0.2, 0.5), "to_point": (0.1, 0.0, 0.05), "to": links[:3][-1].name}
    springs = (
        dy.Spring(**spring, stiffness=80.0, rest_length=0.4),
        dy.Spring(kind="gas", **spring, force=20.0, gas_length=9.0, exponent=1.2, rest_length=0.5),
        dy.Spring(kind="torsion", joint=links[0].joint_name, stiffness=9.0, rest_angle=0.5),
    )
    arm = dy.Robot(replace(model, springs=springs))
    drift = []
    for dt in (4e-3, 2e-3):
        total = dy.simulate(arm, 0.4, dt, q0=[0.3] * arm.n, drives=False).energy.total
        drift.append(np.abs(total - total[0]).max())
    assert drift[0] / drift[1] > 2.0**3.5 and drift[1] < 1e-3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stiffness": -1.0, "to": "link1"}, "stiffness is -1.0, expected >= 0"),
        ({"kind": "leaf", "to": "link1"}, "kind is 'leaf', expected 'linear'"),
        ({"to": "link9"}, "ends on 'link9', which is not a link"),
        ({"from": "link1", "to": "link1"}, "has both ends on 'link1'"),
        ({"stiffness": 1.0}, "has both ends on 'base'"),
        ({"kind": "torsion", "joint": "elbow"}, "joint 'elbow', which does not exist"),
        ({"kind": "torsion", "joint": "joint1", "to": "link1"}, "kind 'torsion' does not have"),
        ({"kind": "gas", "to": "link1"}, "gas_length is missing"),
        ({"kind": "gas", "to": "link1", "gas_length": 0.0}, "gas_length is 0.0, expected above 0"),
        (
            {"kind": "gas", "to": "link1", "gas_length": 1.0, "force": -2.0},
            "force is -2.0, expected",
        ),
        ({"kind": "gas", "to": "link1", "law": "table"}, "lengths is None"),
        (
            {"kind": "gas", "to": "link1", "law": "table", "lengths": [1, 1], "forces": [0, 1]},
            "expected rising lengths",
        ),
        ({"stifness": 2.0, "to": "link1"}, "no keyword 'stifness'"),
        ({"to": "link1", "to_point": (-2.0, 0, 0)}, "both its points in one place"),
        ({"to": "link1", "from_point": (1.0, 2.0)}, "from_point has 2 entries, expected 3"),
    ],
)
def test_bad_springs_are_refused_by_name(given, words):
    with pytest.raises(DynamisError, match=words.replace("(", r"\(")):
        dy.Robot(replace(dy.load("planar-2link").model, springs=(dy.Spring(**given),)))


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
    with pytest.raises(DynamisError, match="the springs act at"):
        arm.base_parameters()


@pytest.mark.parametrize("exponent", [1.0, 1.3])
@pytest.mark.parametrize(("law", "length"), [("pull", 0.6), ("push", 0.1)])
@pytest.mark.parametrize("code", ["on", "off"])
def test_a_cylinder_at_its_end_has_no_force(law, length, exponent, code, monkeypatch):
    """A gas column of no length presses with nothing that a formula could tell: NaN, no number."""
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    gas = dy.Spring(
        kind="gas", to="link1", law=law, force=9.0, gas_length=0.2, rest_length=0.35,
        exponent=exponent,
    )  # fmt: skip
    links = [dy.Link(joint="prismatic", mass=1.0)]
    arm = dy.Robot.from_dh("slide", convention="standard", links=links, springs=(gas,))
    sign, ratio = (1.0, 0.2 / 0.05) if law == "pull" else (-1.0, 0.2 / 0.05)
    near = 0.5 if law == "pull" else 0.2
    wanted = sign * 9.0 * ratio**exponent
    assert arm.spring_torque([near])[0] == pytest.approx(wanted, rel=1e-12)
    assert np.isnan(arm.spring_torque([length])).all() and np.isnan(arm.potential_energy([length]))


def test_springs_without_a_name_get_one_that_is_free(tmp_path):
    coil = dy.Spring(kind="torsion", joint="joint1", stiffness=2.0)
    given = (coil, replace(coil, name="spring1"), coil, replace(coil, name="spring4"), coil)
    arm = dy.Robot(replace(dy.load("planar-2link").model, springs=given))
    names = [spring.name for spring in arm.model.springs]
    assert names == ["spring2", "spring1", "spring3", "spring4", "spring5"]
    arm.save(tmp_path / "arm.toml")
    assert dy.load(tmp_path / "arm.toml") == arm
    with pytest.raises(DynamisError, match="two springs are called 'spring1'"):
        dy.Robot(replace(arm.model, springs=(given[1], given[1])))


@pytest.mark.filterwarnings("ignore:MJCF cannot hold", "ignore:not everything of")
def test_names_of_springs_at_joints_come_back_from_mjcf():
    """MuJoCo's joint springs have no name: theirs must not be that of a tendon."""
    pytest.importorskip("mujoco")
    springs = (
        dy.Spring(to="link1", from_point=(0, 0.5, 0), stiffness=9.0, rest_length=0.2),
        dy.Spring(kind="torsion", joint="joint2", stiffness=3.0),
    )
    arm = dy.Robot(replace(dy.load("planar-2link").model, springs=springs))
    back = dy.interop.from_mjcf(dy.interop.to_mjcf(arm))
    q = np.array([0.3, 0.4])
    np.testing.assert_allclose(back.spring_torque(q), arm.spring_torque(q), atol=1e-12)
    assert {spring.name for spring in back.model.springs} == {"spring1", "spring2"}


def test_files_keep_springs(tmp_path):
    arm = sprung(dy.load("planar-2link"), 5)
    arm.save(tmp_path / "arm.toml")
    assert dy.load(tmp_path / "arm.toml").model == arm.model
    assert "[[spring]]" in (tmp_path / "arm.toml").read_text()


@pytest.mark.filterwarnings("ignore:MJCF cannot hold", "ignore:not everything of")
@pytest.mark.parametrize("name", ["scara", "ur10e", "panda"])
def test_mujoco_has_the_same_springs(name):
    mujoco = pytest.importorskip("mujoco")
    robot = dy.load(name)
    links, joints = robot.model.link_names, robot.model.tree_joint_names
    ends = {"from_point": (0.3, 0.2, 0.5), "to_point": (0.1, 0.0, 0.05)}
    springs = (
        dy.Spring(name="a", to=links[2], **ends, stiffness=800.0, rest_length=0.3, damping=4.0),
        dy.Spring(name="b", from_=links[0], to=links[2], **ends, stiffness=500.0, preload=-20.0),
        dy.Spring(name="c", kind="torsion", joint=joints[1], stiffness=70.0, rest_angle=0.2),
    )
    rigid = [replace(x, friction=dy.Friction(), drive=None) for x in robot.model.links]
    arm = dy.Robot(replace(robot.model, links=tuple(rigid), springs=springs))
    text = dy.interop.to_mjcf(arm)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    order = [int(model.joint(x).dofadr[0]) for x in arm.joint_names]
    back = dy.interop.from_mjcf(text)
    for seed in range(5):
        q, qd = state(arm, seed)[:2]
        data.qpos[order], data.qvel[order] = q, qd
        mujoco.mj_forward(model, data)
        rest = np.zeros(arm.n)
        wanted = arm.inverse_dynamics(q, qd, rest) - dy.Robot(
            replace(arm.model, springs=())
        ).inverse_dynamics(q, qd, rest)
        np.testing.assert_allclose(-data.qfrc_passive[order], wanted, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(back.spring_torque(q), arm.spring_torque(q), atol=1e-9)


def test_what_mujoco_cannot_hold_is_named():
    arm = sprung(dy.load("planar-2link"), 2)
    with pytest.warns(dy.errors.DynamisWarning, match="gas springs"):
        dy.interop.to_mjcf(arm)


def test_exported_c_has_the_springs(tmp_path):
    arm = sprung(dy.load("planar-2link"), 7)
    written = arm.export(["inverse_dynamics", "spring_torque"], directory=tmp_path / "c")
    assert any(path.suffix == ".c" for path in written)


def test_the_equations_of_a_sprung_arm_are_a_textbooks():
    arm = dy.load("planar-2link")
    spring = dy.Spring(from_point=(0.0, 0.3, 0.0), to="link1", to_point=(-0.2, 0.0, 0.0))
    spring = replace(spring, stiffness=800.0, rest_length=0.1)
    torsion = dy.Spring(kind="torsion", joint="joint2", stiffness=5.0, rest_angle=0.3)
    sprung = dy.Robot(replace(arm.model, springs=(spring, torsion)))
    equations = sprung.equations()
    q, qd, qdd = state(sprung, 4)
    np.testing.assert_allclose(
        equations.evaluate(q, qd, qdd), sprung.inverse_dynamics(q, qd, qdd), rtol=1e-12
    )
    assert "sqrt(-1.08*sin(q1) + 3.33)" in str(equations)
    assert str(equations.spring[1]) == "5*q2 - 3/2"
    slope = [equations.potential_energy.diff(x) for x in equations.q]
    values = dict(zip(equations.q, q, strict=True))
    found = [float(x.subs(values)) for x in slope]
    np.testing.assert_allclose(found, sprung.gravity_torque(q) + sprung.spring_torque(q))
    assert r"\tau_{\mathrm{s},1}" in equations.latex() and "spring1 =" in str(equations)


@pytest.mark.parametrize("method", ["lagrange-euler", "newton-euler", "gibbs-appell"])
def test_derivations_of_sprung_arms_end_with_their_springs(method, tmp_path):
    """Step by step, and the torques are those of `inverse_dynamics`, damping included."""
    arm = dy.load("planar-rr")
    spring = dy.Spring(from_point=(0.0, 0.3, 0.0), to="link1", to_point=(-0.2, 0.0, 0.0))
    spring = replace(spring, stiffness=800.0, rest_length=0.1, damping=4.0)
    torsion = dy.Spring(kind="torsion", joint="joint2", stiffness=5.0, rest_angle=0.3)
    found = dy.Robot(replace(arm.model, springs=(spring, torsion)))
    q, qd, qdd = state(found, 6)
    steps = found.equations(method).derivation(q, qd, qdd)
    assert [s.title for s in steps][-3:] == ["Springs", "Equation of motion with springs", "Check"]
    tau = [steps[f"tau{i + 1}"].value for i in range(2)]
    np.testing.assert_allclose(tau, found.inverse_dynamics(q, qd, qdd), rtol=1e-12)
    length = np.linalg.norm(found.fk(q, link="link1") @ [-0.2, 0, 0, 1] - [0, 0.3, 0, 1])
    assert steps["l1"].value == pytest.approx(length)
    text = steps.text()
    assert "l1 = sqrt(" in text and "tau_(s,1) = F1 c1 (0.12 - 0.6 L1)/(2 l1)" in text
    assert "U_s = 400 (-0.1 + l1)^2 + 2.5 (-0.3 + q2)^2" in text and "F2 = 5 q2 - 1.5" in text
    assert r"\tau_{\mathrm{s},1}" in steps.latex() and "Springs" in steps.markdown()
    steps.html(tmp_path / "steps.html")
    plain = arm.equations(method).derivation(q, qd, qdd)
    assert len(plain) == len(steps) - 2
    assert [s.text for s in plain][:-1] == [s.text for s in steps][:-3]


@pytest.mark.parametrize("seed", range(3))
def test_derivations_with_every_kind_of_spring(seed):
    found = sprung(dy.load("planar-2link"), seed)
    q, qd, qdd = state(found, seed)
    steps = found.equations().derivation(q, qd, qdd)
    tau = [steps[f"tau{i + 1}"].value for i in range(2)]
    np.testing.assert_allclose(tau, found.inverse_dynamics(q, qd, qdd), rtol=1e-10)


def test_letters_of_springs_are_not_those_of_the_model():
    links = [dy.Link(a="l1", mass=1.0, com=(0, 0, 0)), dy.Link(a="F1", mass=1.0)]
    spring = dy.Spring(from_point=(0, 0.4, 0), to="link1", stiffness=50.0, rest_length=0.2)
    arm = dy.Robot.from_dh(
        "letters", convention="standard", links=links, springs=(spring,),
        values={"l1": 0.6, "F1": 0.3}, gravity=(0, -9.81, 0),
    )  # fmt: skip
    steps = arm.equations().derivation([0.2, 0.3], [0.1, 0.2], [0.3, 0.1])
    assert {"ls1", "Fs1"} <= set(steps.items)
    tau = [steps[f"tau{i + 1}"].value for i in range(2)]
    np.testing.assert_allclose(tau, arm.inverse_dynamics([0.2, 0.3], [0.1, 0.2], [0.3, 0.1]))


def test_urdf_files_keep_springs(tmp_path):
    arm = sprung(dy.load("puma560"), 5)
    with pytest.warns(dy.errors.DynamisWarning, match="springs"):
        arm.save(tmp_path / "arm.urdf")
    back = dy.load(tmp_path / "arm.urdf")
    assert back.model.springs == arm.model.springs
    q = state(arm, 1)[0]
    np.testing.assert_allclose(back.spring_torque(q), arm.spring_torque(q), rtol=1e-9, atol=1e-9)
    with pytest.raises(DynamisError, match="the robot has springs"):
        dy.load(tmp_path / "arm.urdf", lock={arm.joint_names[0]: 0.1})


def test_another_convention_keeps_the_springs_where_they_are():
    arm = sprung(dy.load("puma560"), 6)
    other = arm.to_dh("modified")
    q, qd, qdd = state(arm, 2)
    wanted = arm.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(other.inverse_dynamics(q, qd, qdd), wanted, rtol=1e-9, atol=1e-9)


def test_parts_of_the_torque_and_of_the_motors():
    arm = sprung(dy.load("planar-2link"), 8)
    q, qd, qdd = state(arm, 3)
    terms = arm.torque_terms(q, qd, qdd)
    assert list(terms) == ["inertial", "coriolis", "gravity", "friction", "spring"]
    tau = arm.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(sum(terms.values()), tau, rtol=1e-12)
    rest = arm.torque_terms(q, 0.0 * qd, qdd)["spring"]
    np.testing.assert_allclose(rest, arm.spring_torque(q), rtol=1e-9, atol=1e-9)
    bare = dy.Robot(replace(arm.model, springs=()))
    added = arm.motor_torque(q, qd, qdd) - bare.motor_torque(q, qd, qdd)
    np.testing.assert_allclose(added, tau - bare.inverse_dynamics(q, qd, qdd), rtol=1e-9)


def test_controllers_hold_a_sprung_arm(compiled):
    arm = sprung(dy.load("planar-2link"), 9)
    goal = [0.4, -0.3]
    for law in (
        dy.control.ComputedTorque(kp=100.0, kd=20.0),
        dy.control.JointPID(kp=4e3, kd=400.0, gravity=True),
        dy.control.FeedForward(kp=4e3, kd=400.0),
    ):
        run = dy.simulate(arm, 1.0, q0=goal, controller=law, reference=goal)
        assert np.abs(run.error).max() < 1e-6, law
    observer = dy.control.MomentumObserver(gain=50.0)
    run = dy.simulate(arm, 1.0, q0=[0.1, 0.2], observer=observer, controller=law, reference=goal)
    assert np.abs(run.observed).max() < 1e-2 * np.abs(run.tau).max()
