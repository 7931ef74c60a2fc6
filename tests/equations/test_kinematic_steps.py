"""Kinematics derived: every printed equation as numbers, and what is lost where J is singular."""

import re
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import dynamis as dy
from dynamis import transforms
from dynamis.equations.kinematics.derived import kinematic_derivation
from dynamis.equations.kinematics.forms import hand_inverse
from dynamis.equations.kinematics.place import geometry_of, with_letters
from dynamis.equations.render.formula import plain
from dynamis.equations.render.math import text
from dynamis.equations.scalars.scalars import coordinates
from dynamis.errors import OptionError
from dynamis.model.model import NamedFrame
from dynamis.model.pose import pose

from ..random_robots import build
from ..thorough import thorough_but
from .arms import agree, arm

EXACT = 1e-12
STEP = 1e-6
FORCES = {"f_x": 1.1, "f_y": -0.7, "f_z": 0.4, "n_x": 0.3, "n_y": -0.2, "n_z": 0.9}


# -- every printed step as numbers ---------------------------------------------------------------

TREE = ("tree", ("revolute", "prismatic", "revolute", "revolute"), (-1, 0, 0, 2))


def slow(q, qd, f):
    """d/dt f(q) along qd, by differences."""
    h = STEP * np.asarray(qd)
    return (f(np.asarray(q) + h) - f(np.asarray(q) - h)) / (2 * STEP)


def turning(R, Rd):
    """Angular velocity, in axes of the reference frame."""
    W = Rd @ R.T
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


class Expected:
    """What robot computes for every equation of a derivation."""

    def __init__(self, robot, steps, q, qd, **place):
        self.robot, self.steps, self.q, self.qd = robot, steps, np.array(q), np.array(qd)
        self.place = place
        self.frames = robot.frames(q)
        self.rates = slow(q, qd, robot.frames)
        self.parents = [p + 1 for p in robot.model.parents]

    def T(self, q):
        pose_ = self.robot.fk(q, link=self.place.get("link"))
        if (point := self.place.get("point")) is not None:
            pose_ = pose_ @ transforms.translation(*point)
        return pose_

    @property
    def J(self):
        """In base axes: linear rows by differences where a point is asked for."""
        J = self.robot.jacobian(self.q, link=self.place.get("link")).copy()
        if (point := self.place.get("point")) is not None:
            arm_ = self.T(self.q)[:3, :3] @ np.array(point)
            J[:3] += np.cross(J[3:].T, arm_).T
        return J

    @property
    def seen(self):
        if self.place.get("frame") != "tool":
            return self.J
        R = self.T(self.q)[:3, :3].T
        return np.vstack([R @ self.J[:3], R @ self.J[3:]])

    def of(self, name):
        """A number or an array, None for what is compared elsewhere."""
        if found := re.fullmatch(r"(\d+)A(\d+)", name):
            a, b = int(found[1]), int(found[2])
            return np.linalg.inv(self.frames[a] if a else np.eye(4)) @ self.frames[b]
        if found := re.fullmatch(r"(\d+)([wv])\1", name):
            k, F = int(found[1]), self.frames[int(found[1])]
            w = turning(F[:3, :3], self.rates[k, :3, :3])
            return (F[:3, :3].T @ (w if found[2] == "w" else self.rates[k, :3, 3]))[:, None]
        if name == "0T":
            return self.T(self.q)
        if name in ("0J", "(t)J"):
            return self.seen
        if found := re.fullmatch(r"J(\d+)", name):
            return self.seen[:, int(found[1]) - 1, None]
        if name == "p_e":
            return self.T(self.q)[:3, 3, None]
        if found := re.fullmatch(r"tau(\d+)", name):
            return float(self.seen[:, int(found[1]) - 1] @ list(FORCES.values()))
        return None


def compare(robot, q, qd, **place):
    """Every equation of the steps next to numbers; the names that were compared."""
    steps = robot.equations(what="kinematics").derivation(**place)
    expected = Expected(robot, steps, q, qd, **{k: x for k, x in place.items() if k != "euler"})
    values = steps.evaluate(q, qd, **FORCES)
    seen = set()
    for name, value in values.items():
        right = expected.of(name)
        if right is None:
            continue
        tolerance = 1e-7 if re.fullmatch(r"(\d+)[wv]\1", name) else EXACT * 10
        assert np.allclose(value, right, rtol=0, atol=tolerance), name
        seen.add(name)
    return steps, values, seen, expected


def check_axes(robot, values, expected):
    """z and p: lines that the joints move about or along, whatever the convention."""
    seen = set()
    J, point = expected.robot.jacobian(expected.q), expected.robot.fk(expected.q)[:3, 3]
    standard = robot.model.convention == "standard"
    for i, kind in enumerate(robot.joint_kinds):
        k = expected.parents[i] if standard else i + 1
        z, p = values.get(f"z{k}"), values.get(f"p{k}")
        if z is None:
            continue
        turns = kind == "revolute"
        w, v = (z[:, 0], np.cross(z[:, 0], point - p[:, 0])) if turns else (np.zeros(3), z[:, 0])
        assert np.allclose(J[:, i], [*v, *w], rtol=0, atol=EXACT * 10)
        seen |= {f"z{k}", f"p{k}"}
    return seen


def check_determinant(steps, values, expected):
    """Its size is that of the rows that count, and its factors are its factors."""
    if "det(Jbar)" not in values:
        return set()
    det, Jbar = values["det(Jbar)"], values["Jbar"]
    assert np.isclose(np.linalg.det(Jbar), det, rtol=0, atol=EXACT * 10)
    J = expected.J
    n = J.shape[1]
    rows = J if n == 6 else J[:3]
    volume = np.sqrt(np.linalg.det(rows.T @ rows)) if np.linalg.matrix_rank(rows) == n else None
    if volume is not None:
        assert np.isclose(abs(det), volume, rtol=0, atol=EXACT * 10)
    rng = np.random.default_rng(4)
    for factor in [s.items[0].expression for s in steps if s.title.startswith("Singularity")]:
        known = {sp.Symbol(k, real=True): v for k, v in steps.model.values.items()}
        joints = [x for x in coordinates(n)[0] if x in factor.free_symbols]
        q, k = rng.uniform(-2, 2, n), coordinates(n)[0].index(joints[-1])
        f = sp.lambdify([coordinates(n)[0]], factor.xreplace(known), "numpy")
        grid = np.linspace(-3.3, 3.2, 401)
        along = [f([*q[:k], x, *q[k + 1 :]]) for x in grid]
        signs = np.flatnonzero(np.diff(np.sign(along)))
        if not len(signs):
            continue
        root = brentq(lambda x: f([*q[:k], x, *q[k + 1 :]]), *grid[signs[0] : signs[0] + 2])  # noqa: B023
        at = steps.evaluate([*q[:k], root, *q[k + 1 :]])
        assert abs(at["det(Jbar)"]) < 1e-9
    return {"det(Jbar)", "Jbar", "delta"}


def check_inverse(robot, steps, values, expected):
    """Every equation of the inverse kinematics, in the branch in which all signs are +1."""
    inverse = steps and hand_inverse(with_letters(geometry_of(robot.model)))
    if inverse is None:
        return set()
    T = expected.T(expected.q)
    numbers = {plain(name): x for name, x in inverse.at_pose(T).items()}
    for name, x in numbers.items():
        assert np.isclose(values[name], x, rtol=0, atol=1e-9), name
    found = [values[f"q{k + 1}"] for k in range(robot.n)]
    rows = (slice(3), slice(4) if inverse.needs == "pose" else 3)
    assert np.allclose(robot.fk(found)[rows], T[rows], rtol=0, atol=1e-9)
    return {*numbers}


def check_reach(robot, steps, values):
    """Samples of the arm stay between r_min and r_max, and come near both."""
    names = {name for name in ("r_max", "r_min") if name in values}
    if not names or any(x == "prismatic" for x in robot.joint_kinds):
        return names
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (4000, robot.n))
    frames = robot.frames(q)
    planar = "sigma1" not in [s.name for s, _ in steps.inputs]
    second, wrist = {"standard": (1, 4), "modified": (2, 4), "urdf": (2, 5)}[robot.model.convention]
    end = frames[:, wrist, :3, 3] if robot.n == 6 else robot.fk(q)[:, :3, 3]
    start = frames[:, 0] if planar else frames[:, second]
    across = end - start[:, :3, 3]
    if planar:
        distance = np.linalg.norm(across[:, :2], axis=-1)
    else:
        axis = start[:, :3, :3] @ (robot.model.links[1].axis or (0, 0, 1))
        distance = np.linalg.norm(across - np.sum(across * axis, -1)[:, None] * axis, axis=-1)
    least, most = values["r_min"], values["r_max"]
    assert distance.min() >= least - 1e-9 and distance.max() <= most + 1e-9
    assert distance.max() > 0.97 * most and distance.min() < least + 0.1 * most
    return names


EULER = ("zyz", "rpy", "xyz", "zxz", "yxz", "xyx")
QUICK = ("planar-rr", "polar-rp", "scara", "stanford", "puma560-mdh", "irb120")
STEPPED = (*QUICK, "pendulum3", "planar-rp", "rppr", "puma560", "kr16", "ur5", "sixr")


@pytest.mark.parametrize("name", thorough_but(QUICK, STEPPED))
def test_every_printed_step_holds(name):
    robot = dy.load(name)
    q = 0.35 + 0.23 * np.arange(robot.n)
    qd = 0.4 - 0.3 * np.arange(robot.n)
    steps, values, seen, expected = compare(robot, q, qd)
    seen |= check_axes(robot, values, expected)
    seen |= check_determinant(steps, values, expected)
    seen |= check_inverse(robot, steps, values, expected)
    if name != "pendulum3":  # frames at its ends are not in the plane of axis 1
        seen |= check_reach(robot, steps, values)
    end = f"{robot.n}T"
    assert np.allclose(expected.frames[-1] @ values[end], robot.fk(q), rtol=0, atol=EXACT)
    left = {*steps.items} - seen - {end} - ({"r_max", "r_min"} if name == "pendulum3" else set())
    assert not left


@pytest.mark.parametrize(
    "euler", thorough_but(("zyz", "rpy", "xyz", "zxz", "yxz", "xyx"), ("zyz", "rpy"))
)
@pytest.mark.parametrize("name", ["stanford"])
def test_jacobian_of_euler_angles(name, euler):
    robot = dy.load(name)
    sequence = "zyx" if euler == "rpy" else euler
    q, qd = 0.35 + 0.23 * np.arange(robot.n), 0.4 - 0.3 * np.arange(robot.n)
    _, values, _, expected = compare(robot, q, qd, euler=euler)
    angles = [values[x] for x in ("phi", "theta", "psi")]
    assert np.allclose(transforms.from_euler(angles, sequence), robot.fk(q)[:3, :3], atol=1e-10)
    rates = slow(q, qd, lambda x: transforms.to_euler(robot.fk(x), sequence))
    velocity = slow(q, qd, lambda x: robot.fk(x)[:3, 3])
    assert np.allclose(values["J_A"] @ qd, [*velocity, *rates], rtol=0, atol=1e-7)
    assert np.allclose(values["B"] @ rates, expected.J[3:] @ qd, rtol=0, atol=1e-7)
    assert np.isclose(np.linalg.det(values["B"]), values["det(B)"], atol=EXACT)


def test_angles_that_do_not_exist_are_named():
    steps = dy.load("planar-rr").equations(what="kinematics").derivation(euler="zyz")
    step = next(s for s in steps if s.title == "Jacobian of Euler angles")
    assert "determinant of B is zero" in step.text and "J_A" not in steps.items
    at = kinematic_derivation(dy.load("planar-rr").model, ((0.3, 0.4), (1, 1)), euler="zyz")
    assert at["0T"].value is not None and "J_A" not in at.items


@pytest.mark.parametrize("frame", thorough_but(["base"], ["base", "tool"]))
@pytest.mark.parametrize(
    "place", [{"link": "link2"}, {"point": (0.1, -0.2, 0.3)}, {"link": "link3", "point": (1, 0, 2)}]
)
def test_any_link_point_and_axes(place, frame):
    robot = build("urdf", TREE[1], 3, parents=TREE[2], load=False)
    q, qd = 0.35 + 0.23 * np.arange(robot.n), 0.4 - 0.3 * np.arange(robot.n)
    steps, _, seen, expected = compare(robot, q, qd, frame=frame, **place)
    assert {"0T", "p_e", "J1", "tau1", "2w2", "4v4"} <= seen
    J = robot.equations().jacobian(frame=frame, **place)
    at = dict(zip(robot.equations().q, q, strict=True))
    found = np.array(J.subs(at), float)
    assert np.allclose(found, expected.seen, rtol=0, atol=1e-9)
    assert "r_max" not in steps.items  # inverse kinematics and workspace are the tool's


@pytest.mark.parametrize("convention", thorough_but(["modified"], ["standard", "modified", "urdf"]))
def test_random_arms(convention):
    robot = build(convention, ("revolute", "prismatic", "revolute"), 11, load=False)
    q, qd = np.array([0.3, 0.5, -0.4]), np.array([0.2, -0.3, 0.5])
    steps, values, seen, expected = compare(robot, q, qd)
    assert {"0T", "0J", "J3", "3w3", "3v3", "tau2"} <= seen
    assert check_axes(robot, values, expected) and check_determinant(steps, values, expected)


def test_a_joint_that_follows_another():
    links = [
        dy.Link(a=0.5, joint_name="one"),
        dy.Link(a=0.4, joint_name="two"),
        dy.Link(a=0.3, joint_name="three", mimic=("two", -0.5, 0.1)),
    ]
    robot = dy.Robot.from_dh("gripper", convention="standard", links=links)
    q, qd = np.array([0.3, 0.8]), np.array([0.2, -0.3])
    steps, _, seen, _ = compare(robot, q, qd, euler="zyx")
    assert {"0T", "0J", "J2", "3v3", "tau2"} <= seen
    assert "adds its column" in steps.text() and "No closed form by hand" in steps.text()


def test_a_frame_of_the_model_and_symbols_in_a_point():
    robot = dy.load("planar-rr")
    frame = NamedFrame(name="camera", link="link1", pose=pose({"xyz": (0.1, 0.2, 0)}, "camera"))
    model = replace(robot.model, frames=(frame,))
    e = dy.Robot(model).equations()
    at = {**e.values, e.q[0]: 0.3, e.q[1]: 0.4}
    found = np.array(e.jacobian(link="camera").subs(at), float)
    assert np.allclose(found, dy.Robot(model).jacobian([0.3, 0.4], link="camera"), atol=1e-12)
    L2 = sp.Symbol("L2", real=True)
    half = e.jacobian(point=("-L2/2", 0, 0))
    agree(half[0, 1], -L2 / 2 * sp.sin(sum(e.q)))


# -- what is lost --------------------------------------------------------------------------------

LOST = {
    "planar-rr": {
        "s2": "The origin of T cannot move along x of frame 1. Joints 1, 2 can then move together"
    },
    "polar-rp": {
        "q2": "q2 = 0. The origin of T cannot move along x of frame 1. Joint 1 can then move while"
    },
    "stanford": {
        "q3": "The origin of frame 6 cannot move along z of frame 1.",
        "s2": "The origin of frame 6 cannot move along z of frame 1.",
        "s5": "q5 = 0, pi. With the origin of frame 6 at rest, the tool cannot turn about x of "
        "frame 4. Joints 4, 6 can then move together while it stays.",
    },
    "elbow6": {
        "c3": "q3 = -pi/2, pi/2. The origin of frame 5 cannot move along x of frame 2.",
        "s5": "With the origin of frame 5 at rest, the tool cannot turn about x of frame 4.",
        "a2 c2 + d4 s23": "The origin of frame 5 cannot move along z of frame 1.",
    },
}


@pytest.mark.parametrize("name", LOST)
def test_sentences_on_what_is_lost(name):
    steps = dy.load(name).equations(what="kinematics").steps
    found = {s.items[0].expression: s.text for s in steps if s.title.startswith("Singularity")}
    texts = {text(x): said for x, said in found.items()}
    assert texts.keys() == LOST[name].keys()
    for factor, sentence in LOST[name].items():
        assert sentence in texts[factor]


def test_the_sentence_is_true():
    """Stanford arm, wrist singular: with the wrist's centre at rest no turn about x of frame 4."""
    robot = dy.load("stanford")
    q = np.array([0.4, 0.8, 0.5, 0.3, 0.0, -0.7])
    J, frames = robot.jacobian(q), robot.frames(q)
    centre = frames[6, :3, 3] - robot.fk(q)[:3, 3]
    v = J[:3] + np.cross(J[3:].T, centre).T
    assert np.allclose(v[:, 3:], 0, atol=1e-12)
    assert np.allclose(frames[4, :3, 0] @ J[3:, 3:], 0, atol=1e-12)
    q[4] = 0.5
    J, frames = robot.jacobian(q), robot.frames(q)
    assert np.abs(frames[4, :3, 0] @ J[3:, 3:]).max() > 0.1


def test_lengths_that_never_let_it_vanish():
    robot = arm([(1.0, 0, 0), (0.2, -1, 0), (0.1, 0, 0)])
    steps = robot.equations(what="kinematics").steps
    sentences = [s.text for s in steps if s.title.startswith("Singularity")]
    assert any("For these lengths it does not." in said for said in sentences)
    assert "vanishes nowhere" in dy.load("cartesian-xy").equations(what="kinematics").steps.text()


def test_joints_that_never_move_all_ways():
    robot = arm([(0, 0, 0.1), (0, 0, 0.2), (0, 1, 0.3), (0.4, 0, 0), (0.3, 0, 0), (0.1, 0, 0)])
    steps = robot.equations(what="kinematics").steps
    assert "It is zero everywhere" in steps.text()
    with pytest.raises(OptionError, match="not square for 7 joints"):
        dy.load("panda").equations(what="kinematics").determinant()
