"""Whatever is given to the public API, it answers with a result or an error of its own."""

import math
import pickle
import pydoc
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import Controller, ControlLoop, JointPID
from dynamis.errors import DynamisError, KeywordError, OptionError, ShapeError
from dynamis.exercises import question
from dynamis.robot.arm import Arm
from dynamis.user_code import ELEMENTARY
from tests.misuse import VALUES, Table, misspelt, misused, robot
from tests.thorough import thorough_but

PARTS = 16  # of the table, so that workers can share it
pytestmark = pytest.mark.usefixtures("compiled")


@pytest.fixture(scope="module")
def table():
    yield Table()
    question._registered.clear()  # of exercises.register


def test_everything_public_is_in_the_table(table):
    """Whoever adds a name or a parameter gives it something valid in tests/misuse.py."""
    assert not table.missing
    assert {"Robot.inverse_dynamics", "transforms.pose", "simulate", "compile"} <= set(table.sites)
    assert {"Equations.evaluate", "Estimate.validate", "Run.save"} <= set(table.sites)
    assert len(VALUES) >= 60


@pytest.mark.parametrize("part", thorough_but(range(0, PARTS, 8), range(PARTS)))
def test_misuse_is_answered_by_an_error_of_ours(table, part):
    sites = list(table.sites.values())[part::PARTS]
    bad = [str(x) for site in sites for x in misused(site) if not x.good]
    assert not bad, "\n".join(bad)


def test_a_misspelt_keyword_is_answered_with_the_one_that_was_meant(table):
    """Of every public callable; a word that resembles none is answered with all there are."""
    bad, tried = [], 0
    for site in table.sites.values():
        if isinstance(site.call, type) and issubclass(site.call, BaseException):
            continue  # which code of ours makes
        for name, wrong, error in misspelt(site):
            tried += 1
            hint = error.hint if isinstance(error, KeywordError) else None
            good = hint == f"did you mean {name!r}?"
            if name == "unheard_of" or "has no symbol" in str(error):
                good = isinstance(error, KeywordError)
            if not good:
                bad.append(f"{site.name}({wrong}=): {type(error).__name__}: {error}")
    assert not bad, "\n".join(bad)
    assert tried > 1000


def test_a_misspelt_keyword_is_an_error_of_python_too():
    """As Python's own for a keyword that does not exist; it survives the way between processes."""
    with pytest.raises(TypeError, match="has no keyword 'wrnech'") as caught:
        ROBOT.inverse_dynamics([0, 0], [0, 0], [0, 0], wrnech=0)
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, KeywordError) and str(error) == str(caught.value)
    assert error.given == "wrnech" and {"wrench", "method", "out", "threads"} <= {*error.known}
    with pytest.raises(OptionError, match="hint: did you mean 'samples'"):
        dy.study(ROBOT, 0.1, sampels=3)
    with pytest.raises(OptionError, match=r"known: .*stiffness"):  # of words that are passed on
        dy.control.Impedance.from_bandwidth(ROBOT, 2.0, xyz=3)


def test_words_that_a_method_knows_are_those_that_can_be_given():
    """All given by position: none is left open, and `self` is no keyword."""
    with pytest.raises(KeywordError) as caught:
        dy.control.linearise(ROBOT, [0.1, 0.2]).discrete(0.1, unheard_of=1)
    assert caught.value.known == ("dt",)


def test_constants_of_a_friction_law_are_among_the_words_that_were_meant():
    with pytest.raises(OptionError, match="did you mean 'static_ratio'"):
        dy.Friction(law="stribeck", static_raito=2.0)


# numbers that are none

ROBOT = robot()
NUMBERS = {
    "inverse_dynamics": lambda x: ROBOT.inverse_dynamics(x, x, x),
    "forward_dynamics": lambda x: ROBOT.forward_dynamics([0, 0], [0, 0], x),
    "fk": ROBOT.fk,
    "plot": ROBOT.plot,
    "simulate torque": lambda x: dy.simulate(ROBOT, 0.1, 0.05, torque=x),
    "simulate torque of time": lambda x: dy.simulate(ROBOT, 0.1, 0.05, torque=lambda t: x),
    "simulate controller": lambda x: dy.simulate(ROBOT, 0.1, 0.05, controller=lambda t, q, qd: x),
    "simulate reference": lambda x: dy.simulate(
        ROBOT, 0.1, 0.05, controller=JointPID(1.0), reference=x
    ),
    "simulate q0": lambda x: dy.simulate(ROBOT, 0.1, 0.05, q0=x),
    "gains": lambda x: JointPID(x).gains(ROBOT),
    "loop": lambda x: ControlLoop(JointPID(1.0), ROBOT, 0.01).step(0.0, x, x),
    "quintic": lambda x: dy.trajectory.quintic([0, 0], x, 1.0),
    "log": lambda x: dy.Log(t=[0.0, 1.0], q=[x, x], tau=[x, x]),
    "linearise": lambda x: dy.control.linearise(ROBOT, x),
    "toolbox": lambda x: dy.rtb.itorque(ROBOT, [0, 0], x),
}
every_number = pytest.mark.parametrize("call", NUMBERS.values(), ids=NUMBERS)


@every_number
@pytest.mark.parametrize(
    "value",
    [
        np.array([0.1, 0.2]) + 0.1j,
        [0.1j, 0.2],
        np.array(["0.1", "0.2"]),
        ["0.1", "much"],
        np.array([True, False]),
        np.array([0.1, None]),
        np.array(["2020", "2021"], dtype="datetime64[Y]"),
    ],
    ids=lambda x: str(getattr(x, "dtype", x)),
)
def test_what_is_no_real_number_is_refused(call, value):
    with pytest.raises(DynamisError):
        call(value)


@every_number
@pytest.mark.parametrize("inside", [lambda x: x, list], ids=["array", "list"])
def test_what_is_masked_is_never_used(call, inside):
    """It is NaN in the result, or refused; the number behind the mask has no influence.

    A control loop answers with its safe torque, zero.
    """
    hidden = [np.ma.masked_array([0.1, x], mask=[False, True]) for x in (0.2, 1e3)]
    found = []
    for value in hidden:
        try:
            found.append(call(inside(value)))
        except DynamisError as error:
            found.append(str(error))
    if isinstance(found[0], np.ndarray):
        assert np.isnan(found[0]).any() or (call is NUMBERS["loop"] and not found[0].any())
        np.testing.assert_array_equal(found[0], found[1])
    else:
        assert isinstance(found[0], str) and found[0] == found[1]


def test_compiled_code_does_not_look_behind_a_mask(compiled):
    arm, q = dy.load("planar-2link"), np.array([0.3, 0.4])
    arm.inverse_dynamics(q, q, q)  # from now on plain vectors go straight to machine code
    masked = np.ma.masked_array(q, mask=[True, False])
    assert np.isnan(arm.inverse_dynamics(masked, q, q)).any()
    assert np.isnan(arm.inverse_dynamics(q, q, [np.ma.masked, 0.4])).any()
    none = np.ma.masked_array(q, mask=False)
    np.testing.assert_array_equal(arm.inverse_dynamics(none, q, q), arm.inverse_dynamics(q, q, q))
    with pytest.raises(ShapeError, match="not finite"):
        arm.ik(np.ma.masked_array([0.3, 0.4, 0.0], mask=[True, False, False]))
    with pytest.raises(ShapeError, match="out is a masked array"):
        arm.inverse_dynamics(q, q, q, out=np.ma.zeros(2))


# transforms


@pytest.mark.parametrize(
    "call",
    [
        lambda: dy.transforms.pose(0.5),
        lambda: dy.transforms.pose(2 * np.eye(3)),
        lambda: dy.transforms.pose(np.diag([1.0, 1.0, -1.0])),
        lambda: dy.transforms.pose(np.eye(3), 1.0),
        lambda: dy.transforms.pose(np.eye(3), (0, 0, np.nan)),
        lambda: dy.transforms.rotx("0.5"),
        lambda: dy.transforms.rotx([0.5]),
        lambda: dy.transforms.rotx(10**400),
        lambda: dy.transforms.from_quaternion((0, 0, 0, 0)),
        lambda: dy.transforms.from_quaternion((0, 0, 1)),
        lambda: dy.transforms.to_rpy(np.zeros((3, 3))),
        lambda: dy.transforms.from_euler((1, 2, 3), ["zyz"]),
        lambda: dy.transforms.dh(0, 0, 0, 0, np.array(["standard"])),
    ],
)
def test_transforms_refuse_what_is_no_motion(call):
    with pytest.raises(DynamisError, match="expected"):
        call()


def test_a_pose_holds_the_rotation_of_a_pose():
    T = dy.transforms.pose(dy.transforms.rotz(0.3), (1, 2, 3))
    np.testing.assert_array_equal(dy.transforms.pose(T, (1, 2, 3)), T)


def test_the_length_of_a_quaternion_does_not_matter():
    """Squares of very long and very short ones leave the floats."""
    xyzw = np.array([0.1, -0.2, 0.3, 0.9])
    R = dy.transforms.from_quaternion(xyzw)
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(dy.transforms.from_quaternion(scale * xyzw), R, atol=1e-14)


# controllers and functions of the user's own


@dataclass(frozen=True)
class Own(Controller):
    """A law whose step is given."""

    law: Any
    model: Any = None
    sample_time: float | None = None

    def gains(self, robot):
        return {"kp": [1.0] * robot.n}

    def start(self, arm, sample):
        return {"count": [0.0]}

    def step(self, arm, sample):
        return self.law(arm, sample, sample.state)

    @property
    def options(self):
        return (id(self.law),)


KEPT = {"count": [0.0]}
LAWS = {
    "branches": (lambda arm, m, s: ([1.0 if m.q[0] > 0 else 0.0] * 2, KEPT), "arm.select"),
    "math.tanh": (lambda arm, m, s: ([2.0 * math.tanh(x) for x in m.q], KEPT), "arm.tanh"),
    "float": (lambda arm, m, s: ([float(x) for x in m.q], KEPT), "arm.tanh"),
    "max": (lambda arm, m, s: ([max(x, 0.0) for x in m.q], KEPT), "arm.select"),
    "too short": (lambda arm, m, s: (m.q[:1], KEPT), "1 torque, expected 2"),
    "too long": (lambda arm, m, s: ([*m.q, 0.0], KEPT), "3 torques, expected 2"),
    "nothing": (lambda arm, m, s: None, r"expected \(torques, state\)"),
    "no state": (lambda arm, m, s: (m.q, None), "expected lists by name"),
    "another state": (lambda arm, m, s: (m.q, {"counts": [0.0]}), "as start gave"),
    "a longer state": (lambda arm, m, s: (m.q, {"count": [0.0, 0.0]}), "as start gave"),
    "a number": (lambda arm, m, s: (m.q, {"count": 0.0}), "expected a list of scalars"),
    "attribute": (lambda arm, m, s: (m.torque, KEPT), "no attribute 'torque'"),
}


@pytest.mark.parametrize(("law", "words"), LAWS.values(), ids=LAWS)
def test_a_controller_that_cannot_be_compiled_is_told_why(compiled, tmp_path, law, words):
    for use in (
        lambda: dy.simulate(ROBOT, 0.1, 0.05, controller=Own(law)),
        lambda: dy.export_controller(ROBOT, Own(law), tmp_path / "out"),
    ):
        with pytest.raises(DynamisError, match=words) as found:
            use()
        assert "Own.step" in str(found.value)
    assert not (tmp_path / "out").exists()


def test_a_controller_on_floats_may_branch_and_has_as_many_torques_as_joints():
    branching = ControlLoop(Own(LAWS["branches"][0]), ROBOT, 0.01)
    np.testing.assert_array_equal(branching.step(0.0, [0.1, 0.2], [0, 0]), [1.0, 1.0])
    with pytest.raises(ShapeError, match="1 torque, expected 2"):
        ControlLoop(Own(LAWS["too short"][0]), ROBOT, 0.01).step(0.0, [0.1, 0.2], [0, 0])


class Before(Own):
    """A law written for single arguments."""

    def step(self, arm, gains, state, measured, reference, dt):
        return [0.0] * arm.n, KEPT


@pytest.mark.parametrize(
    "use",
    [
        lambda law, path: dy.simulate(ROBOT, 0.1, 0.05, controller=law),
        lambda law, path: dy.export_controller(ROBOT, law, path),
        lambda law, path: ControlLoop(law, ROBOT, 0.01),
    ],
)
def test_a_law_of_single_arguments_is_shown_the_new_ones(use, tmp_path):
    with pytest.raises(OptionError, match=r"Before.step takes \(arm, gains") as found:
        use(Before(None), tmp_path / "out")
    assert "def step(self, arm, sample)" in str(found.value)


def _without_arm(q, qd):
    return q[0] * qd[0]


FUNCTIONS = {
    "no function": (3, "expected a function"),
    "a class": (dict, "expected a function"),
    "no arguments": (lambda: 0.0, "expected a function"),
    "only the arm": (lambda arm: 0.0, "expected a function"),
    "any arguments": (lambda *x: 0.0, "expected a function"),
    "a builtin": (max, "expected a function"),
    "branches": (lambda arm, q: q[0] if q[0] > 0 else q[1], "arm.select"),
    "math": (lambda arm, q: 2.0 * math.tanh(q[0]) + q[1], "functions of math"),
    "nothing": (lambda arm, q: None, "returned None"),
    "a text": (lambda arm, q: "q", "returned 'q'"),
    "no arm": (_without_arm, r"the first parameter is the arm: def _without_arm\(arm, q, qd\)"),
    "two results": (lambda arm, q: (arm.mass_matrix(q), q), r"shapes: \(2, 2\), \(2,\), expected"),
    "ragged": (lambda arm, q: [[q[0]], [q[0], q[1]]], "rows of one length"),
    "too far": (lambda arm, q: q[7], "index"),
    "fails": (lambda arm, q: 1 / 0, "division by zero"),
}


@pytest.mark.parametrize(("function", "words"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_that_cannot_be_compiled_is_told_why(function, words):
    with pytest.raises(OptionError, match=words):
        dy.compile(ROBOT, function)


@pytest.mark.parametrize("sizes", [{"q": -1}, {"q": 2.5}, {"q": 10**400}, {"x": 2}, {1: 2}])
def test_sizes_of_a_compiled_function(sizes):
    with pytest.raises(OptionError, match="sizes"):
        dy.compile(ROBOT, lambda arm, q: q[0], sizes)


# names


@pytest.mark.parametrize(
    "name", thorough_but([r"$\frac{$"], ["$", "$$", r"$\frac{$", "a_$x^$", "$a$"])
)
def test_a_dollar_in_a_name_starts_no_formula(tmp_path, name):
    pytest.importorskip("matplotlib")
    links = [dy.Link(a=1.0, mass=1.0, inertia=(0.1, 0.1, 0.1), joint_name=name)]
    arm = dy.Robot.from_dh(name, convention="standard", links=links)
    run = dy.simulate(arm, 0.1, 0.05, events=[lambda t, q, qd: t - 0.05])
    for figure in (arm.plot([0.1]), run.plot()):
        figure.savefig(tmp_path / "picture.png")
        drawn = [text.get_text() for text in figure.findobj(lambda x: hasattr(x, "get_text"))]
        assert name.replace("$", r"\$") in drawn


# gym


@pytest.mark.parametrize("action", [0.5, [0.5], [0.1, 0.2, 0.3], [[0.1, 0.2]], ["0", "1"], [1j, 0]])
def test_an_action_has_one_number_per_joint(action):
    pytest.importorskip("gymnasium")
    from dynamis.gym import ReachEnv

    env = ReachEnv(ROBOT, dt=0.02, substeps=1)
    env.reset(seed=0)
    with pytest.raises(DynamisError, match=r"action .* expected 2 numbers"):
        env.step(action)
    with pytest.raises(DynamisError, match=r"^q "):
        env.reset(options={"q": action})


def test_the_help_of_compile_says_what_to_write():
    text = pydoc.plain(pydoc.render_doc(dy.compile))
    assert "dy.compile(robot, function, sizes=None)" in text and "weight[0]" in text
    offered = text[text.index("The arm has") : text.index("which replaces `if`")]
    words = re.findall(r"\w+", re.sub(r"\(.*?\)", "", offered))
    plain = {"The", "arm", "has", "and", "of", "one", "sample", "the", "elementary", "functions"}
    assert all(hasattr(Arm, x) or x in ELEMENTARY for x in words if x not in plain)


def test_the_order_is_told_by_the_public_name():
    for law in (dy.control.JointPID, dy.control.ComputedTorque):
        order = rf"the order is {law.__name__}.from_bandwidth\(robot, bandwidth\)"
        with pytest.raises(OptionError, match=order):
            law.from_bandwidth(20.0, ROBOT)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"the order is dy.identify\(robot, log\)"):
        dy.identify("log", ROBOT)  # type: ignore[arg-type]


def test_the_links_listed_for_fk_are_all_there_are():
    with pytest.raises(OptionError, match="known: link1, link2, tool, base"):
        ROBOT.fk([0.0, 0.0], link="?")
