"""Springs: parameters, files, equations, MuJoCo, bad input; their laws are in test_laws."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError
from tests.random_robots import sprung, with_links


def state(robot, seed):
    return np.random.default_rng(seed + 1).uniform(-1.0, 1.0, (3, robot.n))


def test_parameters_come_last_and_by_name():
    arm = sprung(dy.load("planar-2link"), 3)
    plain = dy.load("planar-2link").parameters.names
    assert arm.parameters.names[: len(plain)] == plain
    assert arm.parameters.names[len(plain) :] == (
        *("spring1.stiffness", "spring1.preload"),
        *("spring2.stiffness", "spring2.preload", "spring2.damping"),
        *("spring3.force", "spring3.damping", "spring4.force", "spring5.force"),
    )


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
    assert "[[spring]]" in (tmp_path / "arm.toml").read_text()
    with pytest.raises(DynamisError, match="two springs are called 'spring1'"):
        dy.Robot(replace(arm.model, springs=(given[1], given[1])))


def test_what_mujoco_cannot_hold_is_named():
    arm = sprung(dy.load("planar-2link"), 2)
    with pytest.warns(dy.errors.DynamisWarning, match="gas springs"):
        dy.interop.to_mjcf(arm)


def test_the_equations_of_a_sprung_arm_are_a_textbooks():
    arm = dy.load("planar-2link")
    spring = dy.Spring(from_point=(0.0, 0.3, 0.0), to="link1", to_point=(-0.2, 0.0, 0.0))
    spring = replace(spring, stiffness=800.0, rest_length=0.1)
    torsion = dy.Spring(kind="torsion", joint="joint2", stiffness=5.0, rest_angle=0.3)
    sprung = dy.Robot(replace(arm.model, springs=(spring, torsion)))
    equations = sprung.equations()
    assert "sqrt(-1.08*sin(q1) + 3.33)" in str(equations)
    assert str(equations.spring[1]) == "5*q2 - 3/2"
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


def test_urdf_says_what_only_dynamis_reads(tmp_path):
    rubs = dy.Friction(law="smooth", load=0.12, viscous=(5.0, 9.0))
    arm = with_links(sprung(dy.load("ur10e"), 5), lambda x, i: replace(x, friction=rubs))
    with pytest.warns(dy.errors.DynamisWarning, match="friction under load, .*springs"):
        arm.save(tmp_path / "arm.urdf")
    assert dy.load(tmp_path / "arm.urdf").model.springs == arm.model.springs
    with pytest.raises(DynamisError, match="the robot has springs"):
        dy.load(tmp_path / "arm.urdf", lock={arm.joint_names[0]: 0.1})
