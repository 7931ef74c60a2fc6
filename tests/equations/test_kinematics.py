"""Kinematics derived: printed formulas of textbooks, and how it is asked for."""

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.cli import main
from dynamis.equations.equations import Equations
from dynamis.equations.kinematics.derived import kinematic_derivation
from dynamis.equations.kinematics.equations import KinematicEquations
from dynamis.equations.kinematics.place import massless
from dynamis.errors import DynamisError, OptionError

from .arms import agree, arm
from .test_hand_inverse import check_solutions
from .test_phrases import left_in_english

EXACT = 1e-12
STEP = 1e-6
FORCES = {"f_x": 1.1, "f_y": -0.7, "f_z": 0.4, "n_x": 0.3, "n_y": -0.2, "n_z": 0.9}


VALUES = {"a2": 0.43, "a3": 0.39, "d2": 0.15, "d3": 0.13, "d4": 0.36, "d6": 0.2}


def symbolic_arm(rows, convention="standard"):
    """The same with letters that have values."""
    used = {x: VALUES[x] for row in rows for x in row if x in VALUES}
    return arm(rows, convention, values=used)


STANFORD = [(0, -1, 0), (0, 1, "d2"), (0, 0, "P"), (0, -1, 0), (0, 1, 0), (0, 0, "d6")]
ANTHROPOMORPHIC = [(0, 1, 0), ("a2", 0, 0), ("a3", 0, 0)]
SPHERICAL = [(0, 1, 0), ("a2", 0, 0), (0, 1, 0), (0, -1, "d4"), (0, 1, 0), (0, 0, "d6")]
PUMA = [(0, 0, 0), (0, -1, 0), ("a2", 0, "d3"), ("a3", -1, "d4"), (0, 1, 0), (0, -1, 0)]
TWO, THREE = [("a2", 0, 0)] * 2, [("a2", 0, 0)] * 3


# -- printed in the books ------------------------------------------------------------------------


def letters(n):
    """c and s by index, such as c[23]; and the symbols of VALUES."""
    q = sp.symbols(f"q1:{n + 1}", real=True)
    c = {i + 1: sp.cos(x) for i, x in enumerate(q)}
    s = {i + 1: sp.sin(x) for i, x in enumerate(q)}
    if n > 2:
        c[23], s[23] = sp.cos(q[1] + q[2]), sp.sin(q[1] + q[2])
    return c, s, q, {x: sp.Symbol(x, real=True) for x in VALUES}


def test_siciliano_anthropomorphic_arm():
    """Siciliano et al., Robotics (2009): pose (2.66), Jacobian (3.37), determinant (3.45)."""
    c, s, _, v = letters(3)
    a2, a3 = v["a2"], v["a3"]
    r, z = a2 * c[2] + a3 * c[23], a2 * s[2] + a3 * s[23]
    steps = symbolic_arm(ANTHROPOMORPHIC).equations(what="kinematics").steps
    agree(
        steps["0T"].expression,
        [
            [c[1] * c[23], -c[1] * s[23], s[1], c[1] * r],
            [s[1] * c[23], -s[1] * s[23], -c[1], s[1] * r],
            [s[23], c[23], 0, z],
            [0, 0, 0, 1],
        ],
    )
    agree(
        steps["0J"].expression[:3, :],
        [
            [-s[1] * r, -c[1] * z, -a3 * c[1] * s[23]],
            [c[1] * r, -s[1] * z, -a3 * s[1] * s[23]],
            [0, r, a3 * c[23]],
        ],
    )
    agree(sp.Abs(steps["det(Jbar)"].expression), sp.Abs(a2 * a3 * s[3] * r))
    # (2.94) and (2.96): c3 = (px^2 + py^2 + pz^2 - a2^2 - a3^2)/(2 a2 a3), s3 = +- sqrt(1 - c3^2)
    p = sp.symbols("p_x p_y p_z", real=True)
    radius, height = sp.Symbol("r", real=True), sp.Symbol("v", real=True)
    printed = (sum(x**2 for x in p) - a2**2 - a3**2) / (2 * a2 * a3)
    found = steps["C3"].expression.subs(height, p[2]).subs(radius, sp.sqrt(p[0] ** 2 + p[1] ** 2))
    agree(found, printed)


def test_siciliano_anthropomorphic_arm_with_spherical_wrist():
    """Siciliano et al. (2009), section 2.9.6: origin and approach vector of the hand; (2.69)."""
    c, s, _, v = letters(6)
    a2, d4, d6 = v["a2"], v["d4"], v["d6"]
    steps = symbolic_arm(SPHERICAL).equations(what="kinematics").steps
    reach, along = c[23] * c[4] * s[5] + s[23] * c[5], s[23] * c[4] * s[5] - c[23] * c[5]
    approach = [c[1] * reach + s[1] * s[4] * s[5], s[1] * reach - c[1] * s[4] * s[5], along]
    wrist = [
        c[1] * (a2 * c[2] + d4 * s[23]), s[1] * (a2 * c[2] + d4 * s[23]), a2 * s[2] - d4 * c[23],
    ]  # fmt: skip
    T = steps["0T"].expression
    agree(list(T[:3, 2]), approach)
    agree(list(T[:3, 3]), [w + d6 * x for w, x in zip(wrist, approach, strict=True)])
    three = sp.eye(4)
    for k in (3, 4, 5):
        three = three * sp.Matrix(steps[f"{k}A{k + 1}"].expression)
    agree(
        three[:3, :],
        [
            [c[4] * c[5] * c[6] - s[4] * s[6], -c[4] * c[5] * s[6] - s[4] * c[6], c[4] * s[5],
             c[4] * s[5] * d6],
            [s[4] * c[5] * c[6] + c[4] * s[6], -s[4] * c[5] * s[6] + c[4] * c[6], s[4] * s[5],
             s[4] * s[5] * d6],
            [-s[5] * c[6], s[5] * s[6], c[5], c[5] * d6 + d4],
        ],
    )  # fmt: skip


def test_spong_stanford_arm():
    """Spong, Hutchinson and Vidyasagar (2006), example 3.5 (Stanford manipulator): T of the hand;
    z and o of the Jacobian of example 4.7."""
    c, s, q, v = letters(6)
    d2, d3, d6 = v["d2"], q[2], v["d6"]
    T = [
        [c[1] * (c[2] * (c[4] * c[5] * c[6] - s[4] * s[6]) - s[2] * s[5] * c[6])
         - s[1] * (s[4] * c[5] * c[6] + c[4] * s[6]),
         c[1] * (-c[2] * (c[4] * c[5] * s[6] + s[4] * c[6]) + s[2] * s[5] * s[6])
         - s[1] * (-s[4] * c[5] * s[6] + c[4] * c[6]),
         c[1] * (c[2] * c[4] * s[5] + s[2] * c[5]) - s[1] * s[4] * s[5],
         c[1] * s[2] * d3 - s[1] * d2
         + d6 * (c[1] * c[2] * c[4] * s[5] + c[1] * c[5] * s[2] - s[1] * s[4] * s[5])],
        [s[1] * (c[2] * (c[4] * c[5] * c[6] - s[4] * s[6]) - s[2] * s[5] * c[6])
         + c[1] * (s[4] * c[5] * c[6] + c[4] * s[6]),
         s[1] * (-c[2] * (c[4] * c[5] * s[6] + s[4] * c[6]) + s[2] * s[5] * s[6])
         + c[1] * (-s[4] * c[5] * s[6] + c[4] * c[6]),
         s[1] * (c[2] * c[4] * s[5] + s[2] * c[5]) + c[1] * s[4] * s[5],
         s[1] * s[2] * d3 + c[1] * d2
         + d6 * (c[1] * s[4] * s[5] + c[2] * c[4] * s[1] * s[5] + c[5] * s[1] * s[2])],
        [-s[2] * (c[4] * c[5] * c[6] - s[4] * s[6]) - c[2] * s[5] * c[6],
         s[2] * (c[4] * c[5] * s[6] + s[4] * c[6]) + c[2] * s[5] * s[6],
         -s[2] * c[4] * s[5] + c[2] * c[5],
         c[2] * d3 + d6 * (c[2] * c[5] - c[4] * s[2] * s[5])],
    ]  # fmt: skip
    steps = symbolic_arm(STANFORD).equations(what="kinematics").steps
    agree(steps["0T"].expression[:3, :], T)
    agree(list(steps["z1"].expression), [-s[1], c[1], 0])
    agree(list(steps["z2"].expression), [c[1] * s[2], s[1] * s[2], c[2]])
    agree(list(steps["J3"].expression), [c[1] * s[2], s[1] * s[2], c[2], 0, 0, 0])
    agree(
        list(steps["p3"].expression),
        [c[1] * s[2] * d3 - s[1] * d2, s[1] * s[2] * d3 + c[1] * d2, c[2] * d3],
    )
    agree(sp.Abs(steps["det(Jbar)"].expression), sp.Abs(d3**2 * s[2] * s[5]))


def test_craig_puma():
    """Craig, Introduction to Robotics (2005): 0T6 of the PUMA 560 (3.14); theta 1 and 3 of (4.64)
    to (4.73)."""
    c, s, q, v = letters(6)
    a2, a3, d3, d4 = v["a2"], v["a3"], v["d3"], v["d4"]
    both = c[4] * c[5] * c[6] - s[4] * s[6]
    other = -c[4] * c[5] * s[6] - s[4] * c[6]
    far = a2 * c[2] + a3 * c[23] - d4 * s[23]
    T = [
        [c[1] * (c[23] * both - s[23] * s[5] * c[6]) + s[1] * (s[4] * c[5] * c[6] + c[4] * s[6]),
         c[1] * (c[23] * other + s[23] * s[5] * s[6]) + s[1] * (c[4] * c[6] - s[4] * c[5] * s[6]),
         -c[1] * (c[23] * c[4] * s[5] + s[23] * c[5]) - s[1] * s[4] * s[5],
         c[1] * far - d3 * s[1]],
        [s[1] * (c[23] * both - s[23] * s[5] * c[6]) - c[1] * (s[4] * c[5] * c[6] + c[4] * s[6]),
         s[1] * (c[23] * other + s[23] * s[5] * s[6]) - c[1] * (c[4] * c[6] - s[4] * c[5] * s[6]),
         -s[1] * (c[23] * c[4] * s[5] + s[23] * c[5]) + c[1] * s[4] * s[5],
         s[1] * far + d3 * c[1]],
        [-s[23] * both - c[23] * s[5] * c[6], -s[23] * other + c[23] * s[5] * s[6],
         s[23] * c[4] * s[5] - c[23] * c[5], -a3 * s[23] - a2 * s[2] - d4 * c[23]],
    ]  # fmt: skip
    robot = symbolic_arm(PUMA, "modified")
    equations = robot.equations(what="kinematics")
    agree(equations.steps["0T"].expression[:3, :], T)
    inverse, at = equations.inverse, np.array([0.4, -0.6, 0.8, 0.3, 0.9, -0.5])
    assert inverse is not None
    pose_ = robot.fk(at)
    px, py, pz = pose_[:3, 3]
    a, b, d, e = (VALUES[x] for x in ("a2", "a3", "d3", "d4"))
    root = np.sqrt(px**2 + py**2 - d**2)
    first = {np.arctan2(py, px) - np.arctan2(d, sign * root) for sign in (1, -1)}
    K = (px**2 + py**2 + pz**2 - a**2 - b**2 - d**2 - e**2) / (2 * a)
    third = {
        np.arctan2(b, e) - np.arctan2(K, sign * np.sqrt(b**2 + e**2 - K**2)) for sign in (1, -1)
    }
    q = inverse.solve(pose_)
    assert len(q) == 8
    for column, printed in ((q[:, 0], first), (q[:, 2], third)):
        turned = {np.round(np.exp(1j * x), 9) for x in column}
        assert turned == {np.round(np.exp(1j * x), 9) for x in printed}


def test_two_links_in_their_own_axes():
    """Craig (2005), example 5.3: 3J = [[l1 s2, 0], [l1 c2 + l2, l2]], det = l1 l2 s2."""
    robot = arm([("l1", 0, 0), ("l2", 0, 0)], values={"l1": 0.5, "l2": 0.4})
    c, s, _, _ = letters(2)
    l1, l2 = sp.symbols("l1 l2", real=True)
    J = robot.equations().jacobian(frame="tool")
    agree(J[:2, :], [[l1 * s[2], 0], [l1 * c[2] + l2, l2]])
    agree(robot.equations(what="kinematics").determinant(), l1 * l2 * s[2])


# -- how it is asked for -------------------------------------------------------------------------


def test_an_arm_without_masses_gets_it_by_default(capsys):
    bare = arm([(0.5, 0, 0), (0.4, 0, 0)])
    assert massless(bare.model) and not massless(dy.load("planar-rr").model)
    assert isinstance(bare.equations(), KinematicEquations)
    assert type(bare.equations(what="dynamics")) is Equations
    assert type(dy.load("planar-rr").equations()) is Equations
    assert not massless(arm([(0.5, 0, 0)]).with_payload(1.0).model)
    assert "det J = 0.2*sin(q2)" in str(bare.equations())
    assert r"{}^{0}T" in bare.equations().latex()


def test_the_command_derives_kinematics(tmp_path, capsys):
    page, source = tmp_path / "a.html", tmp_path / "a.tex"
    words = ["equations", "stanford", "--what", "kinematics", "--language", "es"]
    assert main([*words, "--html", str(page), "--latex", str(source), "--euler", "zyz"]) == 0
    shown = page.read_text()
    assert "stanford: Cinemática" in shown and "Singularidad" in shown and "atan2" in shown
    assert r"\operatorname{atan2}" in source.read_text()
    bare = tmp_path / "bare.toml"
    arm([(0.5, 0, 0), (0.4, 0, 0)]).save(bare)
    assert main(["equations", str(bare), "--point", "0.1", "0", "0", "--q", "0.1", "0.2"]) == 0
    assert "Pose of a point of tool" in capsys.readouterr().out
    assert main(["equations", str(bare), "--what", "dynamics"]) == 0
    assert "Equation of motion" in capsys.readouterr().out
    for words, message in (
        (["stanford", "--link", "link2"], "--link is of the kinematics"),
        (["stanford", "--what", "kinematics", "--method", "newton-euler"], "is of the dynamics"),
        (["stanford", "--what", "kinematics", "--link", "hand"], "has no link 'hand'"),
        (["stanford", "--what", "kinematics", "--euler", "zzy"], "euler is 'zzy'"),
        (["stanford", "--what", "kinematics", "--point", "1,2"], "point"),
        (["five-bar", "--what", "kinematics"], "not available for mechanisms with closures"),
    ):
        assert main(["equations", *words]) == 2
        assert message in capsys.readouterr().err


def test_closed_mechanisms_are_refused_with_the_way_round():
    with pytest.raises(DynamisError, match=r"closures") as caught:
        dy.load("five-bar").equations(what="kinematics")
    assert "tree.kinematics" in str(caught.value.hint)
    tree = getattr(dy.load("five-bar").equations(), "tree")  # noqa: B009
    assert len(tree.kinematics.steps) > 5
    with pytest.raises(OptionError, match="expected 'dynamics', 'kinematics'"):
        dy.load("planar-rr").equations(what="statics")


def test_letters_that_the_steps_use_are_refused():
    robot = arm([("p_x", 0, 0), ("r", 0, 0)], values={"p_x": 1.0, "r": 0.5})
    with pytest.raises(OptionError, match="symbol 'p_x'"):
        robot.equations(what="kinematics").steps  # noqa: B018
    robot = arm([("b", 1, 0), ("r", 0, 0), ("u", 0, 0)], values={"b": 0.1, "r": 0.5, "u": 0.3})
    check_solutions(robot, "position", draws=2)  # letters of its own give way
    with pytest.raises(OptionError, match="has the symbol 'L9'"):
        dy.load("planar-rr").equations().jacobian(point=("L9", 0, 0))
    with pytest.raises(OptionError, match="has no robot"):
        dy.load("planar-rr").equations().jacobian.T()


def test_lengths_become_letters_unless_told_otherwise():
    robot = dy.load("puma560-mdh")
    equations = robot.equations(what="kinematics")
    assert {"a2", "d3", "d4"} <= {*equations.steps.model.values}
    assert equations.derivation(letters=False).model.values == {}
    table = equations.steps.steps[0].table
    assert table[3][3:5] == ("d3", "a2")


@pytest.mark.parametrize("name", ["stanford", "pendulum3", "scara", "puma560", "ur5", "panda"])
def test_nothing_is_left_in_english(name):
    state = (tuple(0.3 + 0.1 * np.arange(dy.load(name).n)), (0.1,) * dy.load(name).n)
    english = kinematic_derivation(dy.load(name).model, state, euler="zyz")
    spanish = english.translated("es")
    assert not list(left_in_english(spanish)) and list(left_in_english(english))
    assert spanish.text().count("\n") > 50 and "Cinemática" in spanish.latex()


BAD = [
    ("derivation", {"frame": "world"}), ("derivation", {"letters": 3}), ("jacobian", {"lnk": "a"}),
    ("derivation", {"q": [1]}), ("derivation", {"q": "x"}), ("derivation", {"q": [np.nan, 1]}),
    ("derivation", {"q": [1, 2], "qd": [1]}), ("derivation", {"euler": 3}),
    *((f, {"link": x}) for f in ("derivation", "jacobian", "determinant") for x in (5, "x", ["a"])),
    *((f, {"point": x}) for f in ("derivation", "jacobian", "determinant")
      for x in ("a", (1, 2), (np.nan, 0, 0), 3, ("1/0", 0, 0), (None, 0, 0))),
]  # fmt: skip


@pytest.mark.parametrize("name, options", BAD, ids=str)
def test_misuse_is_answered_by_an_error_of_ours(name, options):
    equations = dy.load("planar-rr").equations(what="kinematics")
    with pytest.raises(DynamisError):
        getattr(equations, name)(**options)
