"""Inverse kinematics: every solution is one, none is missing, and an empty answer says why."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.ik import solve as solve_module
from dynamis.ik.closed_form import (
    cosine_roots,
    joint_roots,
    point_candidates,
    wrist_angles,
    wrist_centre,
    wrist_target,
)
from dynamis.ik.geometry import JointSpace, SerialArm, motion, serial_arm
from dynamis.ik.search import IkProblem, quasi_random
from dynamis.ik.target import Target, _inverse_right_jacobian, target, task_mask
from tests.thorough import thorough_but

TOLERANCE = 1e-9  # what an accepted solution may leave, metres and radians together
NEAR = 2e-5  # twice the distance below which two solutions count as one
GENERIC = 1e-3  # smallest singular value from which a position counts as general

CLOSED = {
    "puma560": {8},
    "puma560-mdh": {8},
    "elbow6": {8},
    "kr16": {4, 8},
    "sixr": {8},
    "stanford": {8},
    "planar-rr": {2},
    "planar-rp": {2},
    "polar-rp": {2},
    "planar-2link": {2},
    "cartesian-xy": {1},
    "scara": {2},
}
SHOULDERS = ("skew", "meeting", "parallel 1-2", "parallel 2-3", "nearly meeting")
FRONTS = ("RRR", "RRP", "RPR", "PRR", "PPR", "PRP", "RPP", "PPP")

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def revolute(robot):
    return np.array([link.joint == "revolute" for link in robot.model.links])


def random_q(robot, seed):
    return np.random.default_rng(seed).uniform(-3.0, 3.0, robot.n)


def nearest(robot, solutions, q):
    """Distance of the solution nearest to q, angles modulo 2 pi."""
    d = solutions.q - q
    d = np.where(revolute(robot), (d + np.pi) % (2 * np.pi) - np.pi, d)
    return np.abs(d).max(axis=1).min(initial=np.inf)


def general(robot, q, task=None):
    J = robot.jacobian(q)[..., task_mask(robot, task), :]
    return np.linalg.svd(J, compute_uv=False)[..., min(robot.n, J.shape[-2]) - 1] > GENERIC


def assert_solutions(robot, T, solutions, task=None):
    """Each q reproduces the target, is told its own residual, is wrapped, distinct and in order."""
    goal = target(T, task_mask(robot, task))
    left = np.linalg.norm(goal.error(robot.fk(solutions.q)), axis=-1)
    assert (left < TOLERANCE).all()
    assert solutions.residual == pytest.approx(left, abs=1e-12)
    angles = solutions.q[:, revolute(robot)]
    assert ((angles > -np.pi) & (angles <= np.pi)).all()
    space = JointSpace(revolute(robot), 1.0)
    assert (space.merged(solutions.q)[1] == 1).all()
    rows = [tuple(np.round(q, 6)) for q in solutions]
    assert rows == sorted(rows)


# closed forms


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", CLOSED)
@settings(max_examples=12, deadline=None)
@given(seed=seeds)
def test_closed_form_finds_them_all(name, seed):
    robot = dy.load(name)
    q = random_q(robot, seed)
    assume(general(robot, q))
    T = robot.fk(q)
    solutions = robot.ik(T)
    assert_solutions(robot, T, solutions)
    assert nearest(robot, solutions, q) < NEAR
    assert solutions.method.startswith("closed form")
    assume(general(robot, solutions.q).all())
    assert len(solutions) in CLOSED[name]
    assert solutions.reason == ""


def random_spherical(rng, kinds, shoulder):
    """Six joints with a spherical wrist of any angles, on a tilted base, with a tool."""
    alpha, a, d = rng.uniform(-np.pi, np.pi, 3), rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)
    if shoulder == "meeting":
        a[0] = 0.0
    if shoulder == "nearly meeting":
        a[0] = 10 ** rng.uniform(-9, -2)
    if shoulder == "parallel 1-2":
        alpha[0] = 0.0
    if shoulder == "parallel 2-3":
        alpha[1] = 0.0
    links = [
        dy.Link(joint="revolute", a=a[i], alpha=alpha[i], d=d[i], offset=d[i])
        if kind == "R"
        else dy.Link(joint="prismatic", a=a[i], alpha=alpha[i], theta=d[i], offset=d[i])
        for i, kind in enumerate(kinds)
    ]
    first, second = rng.uniform(0.3, np.pi - 0.3, 2)
    links += [
        dy.Link(d=rng.uniform(0.2, 1), alpha=first),
        dy.Link(alpha=-second),
        dy.Link(d=rng.uniform(-0.3, 0.3)),
    ]
    base, tool = np.eye(4), np.eye(4)
    for T in (base, tool):
        T[:3, :3], T[:3, 3] = Rotation.random(rng=rng).as_matrix(), rng.uniform(-0.3, 0.3, 3)
    return dy.Robot.from_dh("arm", convention="standard", links=links, base=base, tool=tool)


@pytest.mark.parametrize(
    ("kinds", "shoulder"),
    [*(("RRR", shoulder) for shoulder in SHOULDERS), *((kinds, "skew") for kinds in FRONTS[1:])],
)
@settings(max_examples=8, deadline=None)
@given(seed=seeds)
def test_any_front_with_a_spherical_wrist(kinds, shoulder, seed):
    rng = np.random.default_rng(seed)
    robot = random_spherical(rng, kinds, shoulder)
    q = rng.uniform(-3.0, 3.0, 6)
    assume(general(robot, q))
    T = robot.fk(q)
    solutions = robot.ik(T)
    assert solutions.method == f"closed form: {kinds} and a spherical wrist"
    assert_solutions(robot, T, solutions)
    assert nearest(robot, solutions, q) < NEAR
    assert len(solutions) in (2, 4, 6, 8)


@pytest.mark.parametrize("kinds", [*FRONTS, "RR", "RP", "PR", "PP", "R", "P"])
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_any_few_joints_to_a_point(kinds, seed):
    rng = np.random.default_rng(seed)
    full = random_spherical(rng, (kinds + "PPP")[:3], "skew")
    links = full.model.links[: len(kinds)]
    robot = dy.Robot.from_dh("few", convention="standard", links=links, base=full.model.base)
    q = rng.uniform(-3.0, 3.0, robot.n)
    assume(general(robot, q))
    T = robot.fk(q)
    solutions = robot.ik(T[:3, 3])
    assert solutions.method == f"closed form: {kinds} to a point"
    assert_solutions(robot, T, solutions, "position")
    assert nearest(robot, solutions, q) < NEAR


@settings(max_examples=6, deadline=None)
@given(seed=seeds)
def test_closed_form_and_search_agree(seed):
    """The search, made to run where a closed form exists, finds the same set."""
    rng = np.random.default_rng(seed)
    robot = random_spherical(rng, "RRR", "skew")
    q = rng.uniform(-3.0, 3.0, 6)
    closed = robot.ik(robot.fk(q))
    assume(general(robot, closed.q).all())
    found = searched(robot, robot.fk(q))
    assert len(found) == len(closed)
    assert found.q == pytest.approx(closed.q, abs=NEAR)


def searched(robot, T, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve_module, "form_of", lambda *_: None)
        found = robot.ik(T, **options)
    assert found.method == "numeric"
    return found


def test_a_urdf_gets_the_closed_form_too(tmp_path):
    puma = dy.load("puma560")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        puma.save(tmp_path / "puma.urdf")
        robot = dy.load(tmp_path / "puma.urdf")
    q = np.array([0.3, 0.4, 0.5, 0.6, 0.8, 0.7])
    solutions = robot.ik(robot.fk(q))
    assert solutions.method.startswith("closed form")
    assert len(solutions) == 8
    assert nearest(robot, solutions, q) < NEAR


def test_joints_the_task_does_not_feel_rest():
    links = [dy.Link(a=0.4), dy.Link(a=0.3), dy.Link(joint="prismatic"), dy.Link(limits=(0.5, 2))]
    robot = dy.Robot.from_dh("scara4", convention="standard", links=links)
    solutions = robot.ik(robot.fk([0.3, 0.5, 0.1, 1.0]), limits=True)
    assert solutions.method == "closed form: RRP to a point"
    assert solutions.q == pytest.approx(
        np.array([[0.3, 0.5, 0.1, 0.5], [0.72708, -0.5, 0.1, 0.5]]), abs=1e-5
    )
    assert solutions.reason == "joints that do not matter to this task rest: joint4"


# search


@pytest.mark.thorough
@pytest.mark.usefixtures("compiled")
def test_search_finds_the_eight_of_a_ur10e():
    """Axes 2, 3, 4 parallel, no spherical wrist: up to 8, the same with four times the starts."""
    robot = dy.load("ur10e")
    counts = []
    for seed in range(8):
        q = random_q(robot, seed)
        T = robot.fk(q)
        solutions = robot.ik(T)
        assert solutions.method == "numeric"
        assert_solutions(robot, T, solutions)
        assert nearest(robot, solutions, q) < NEAR
        more = robot.ik(T, starts=1024, seed=1)
        assert more.q == pytest.approx(solutions.q, abs=NEAR)
        counts.append(len(solutions))
    assert set(counts) <= {2, 4, 6, 8}
    assert counts.count(8) >= 4


@pytest.mark.usefixtures("compiled")
def test_search_goes_on_until_every_solution_was_hit_often():
    robot = dy.load("ur10e")
    T = robot.fk([0.3, -1.4, 1.5, 0.6, 1.0, 0.7])
    assert robot.ik(T, starts=8).q == pytest.approx(robot.ik(T).q, abs=NEAR)


@pytest.mark.usefixtures("compiled")
def test_search_finds_those_of_the_stanford_arm():
    robot = dy.load("stanford")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q = rng.uniform(-2.5, 2.5, 6)
        q[2] = rng.uniform(0.4, 1.2)
        T = robot.fk(q)
        assert searched(robot, T).q == pytest.approx(robot.ik(T).q, abs=NEAR)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("limits", [False, True])
def test_a_redundant_arm_gives_a_handful_and_says_so(limits):
    robot = dy.load("panda")
    T = robot.fk([0.3, 0.4, -0.5, -1.6, 0.8, 1.7, 0.2])
    solutions = robot.ik(T, limits=limits)
    assert 4 <= len(solutions) <= 8
    assert_solutions(robot, T, solutions)
    assert "7 joints move the tool in 6 ways: a continuum" in solutions.reason
    if limits:
        low, high = robot.limits.T
        assert ((solutions.q >= low - TOLERANCE) & (solutions.q <= high + TOLERANCE)).all()


def test_a_mask_prescribes_what_it_selects():
    robot = dy.load("pendulum3")
    T = robot.fk([0.3, 0.4, 0.5])
    solutions = robot.ik(T, [1, 1, 0, 0, 0, 1])
    assert solutions.q == pytest.approx(np.array([[0.3, 0.4, 0.5], [0.7, -0.4, 0.9]]), abs=1e-9)
    planar = dy.load("planar-rr")
    assert len(planar.ik([0.5, 0.2, 9.0], (True, True, False, False, False, False))) == 2


@pytest.mark.usefixtures("compiled")
def test_the_same_question_has_the_same_answer():
    robot = dy.load("ur10e")
    T = robot.fk(random_q(robot, 5))
    assert (robot.ik(T).q == robot.ik(T).q).all()
    assert (robot.ik(T, seed=3).q == robot.ik(T, seed=3).q).all()


# what cannot be reached


@pytest.mark.parametrize(
    ("name", "point", "reason"),
    [
        ("planar-rr", (5, 0, 0), "the target is 5 m from the first axis, the arm reaches 1.8 m"),
        (
            "planar-rr",
            (0.1, 0, 0),
            "is 0.1 m from the first axis, the arm comes no closer than 0.2",
        ),
        ("planar-rr", (0.5, 0.1, 0.2), "the target is out of the arm's plane by 0.2 m"),
        ("planar-rp", (0.5, 0.1, 0.3), "the target is out of the arm's plane by 0.2 m"),
        ("cartesian-xy", (0.5, 0.1, -0.3), "the target is out of the arm's plane by 0.3 m"),
        ("scara", (3, 4, 0), "the target is 5 m from the first axis, the arm reaches 0.7 m"),
    ],
)
def test_unreachable_points_say_why(name, point, reason):
    solutions = dy.load(name).ik(point)
    assert len(solutions) == 0
    assert solutions.q.shape == (0, dy.load(name).n)
    assert solutions.residual.shape == (0,)
    assert reason in solutions.reason


@pytest.mark.parametrize(("name", "reach"), [("puma560", 0.877), ("elbow6", 0.95), ("kr16", 1.611)])
def test_a_wrist_centre_out_of_reach_is_measured(name, reach):
    robot = dy.load(name)
    T = robot.fk([0.3, 0.4, 0.5, 0.6, 0.8, 0.7])
    T[:3, 3] += (20.0, 0.0, 0.0)
    solutions = robot.ik(T)
    assert len(solutions) == 0
    assert "the wrist centre is" in solutions.reason
    assert f"m from the shoulder, the arm reaches {reach:g} m" in solutions.reason


def test_the_arm_reaches_what_it_says_and_no_more():
    """Just inside the reach there are solutions, just outside there are none."""
    robot = dy.load("elbow6")
    arm = serial_arm(robot)
    centre = wrist_centre(arm)
    T = robot.fk([0.3, 0.4, 0.5, 0.6, 0.8, 0.7])
    shoulder = arm.frames(np.zeros(6))[1, :3, 3]
    wrist = wrist_target(arm, centre, T)
    outward = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    for distance, count in ((0.95 - 1e-6, 8), (0.95 + 1e-6, 0)):
        there = T.copy()
        there[:3, 3] += shoulder + distance * outward - wrist
        assert len(robot.ik(there)) == count


@pytest.mark.usefixtures("compiled")
def test_far_for_the_search_and_turned_for_a_narrow_wrist():
    ur = dy.load("ur10e")
    T = ur.fk([0.3, -0.4, 0.5, 0.6, 1.0, 0.7])
    T[:3, 3] *= 4.0
    assert "closest approach leaves 3.3 m" in ur.ik(T).reason
    links = [dy.Link(d=0.5, alpha="pi/2"), dy.Link(a=0.5), dy.Link(alpha="pi/2")]
    links += [dy.Link(d=0.4, alpha=0.5), dy.Link(alpha=0.5), dy.Link()]
    narrow = dy.Robot.from_dh("narrow", convention="standard", links=links)
    T = narrow.fk([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    T[:3, :3] = T[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    assert "but not in this orientation" in narrow.ik(T).reason


# singular targets


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("name", "bent"), [("puma560", 6), ("elbow6", 4), ("kr16", 6)])
def test_a_straight_wrist_sets_the_free_angle_to_zero(name, bent):
    robot = dy.load(name)
    T = robot.fk([0.3, 0.4, 0.5, 0.6, 0.0, 0.7])
    solutions = robot.ik(T)
    assert_solutions(robot, T, solutions)
    straight = solutions.q[np.abs(solutions.q[:, 4]) < 1e-6]
    assert np.abs(straight[:, 3]).max() < 1e-6
    assert nearest(robot, solutions, np.array([0.3, 0.4, 0.5, 0.0, 0.0, 1.3])) < NEAR
    assert len(solutions) == bent + len(straight)
    assert "joints joint4, joint6 can move together" in solutions.reason
    assert "one of infinitely many" in solutions.reason


@pytest.mark.parametrize(("name", "count"), [("puma560", 4), ("elbow6", 4), ("kr16", 2)])
def test_a_stretched_elbow_has_half_the_solutions(name, count):
    robot = dy.load(name)
    arm = serial_arm(robot)
    forearm = np.linalg.inv(arm.frames(np.zeros(6))[2]) @ np.append(wrist_centre(arm), 1.0)
    upper = arm.placements[2, :3, :3].T @ arm.placements[2, :3, 3]
    straight = np.arctan2(upper[1], upper[0]) - np.arctan2(forearm[1], forearm[0])
    q = np.array([0.3, 0.4, straight, 0.6, 0.8, 0.7])
    solutions = robot.ik(robot.fk(q))
    assert_solutions(robot, robot.fk(q), solutions)
    assert len(solutions) == count
    assert nearest(robot, solutions, q) < NEAR
    assert "two solutions meet" in solutions.reason


def test_a_wrist_centre_on_axis_one_sets_q1_to_zero():
    robot = dy.load("elbow6")
    arm = serial_arm(robot)
    T = robot.fk([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    T[:2, 3] -= wrist_target(arm, wrist_centre(arm), T)[:2]
    solutions = robot.ik(T)
    assert_solutions(robot, T, solutions)
    assert len(solutions) == 4
    assert np.abs(solutions.q[:, 0]).max() < 1e-6
    assert "singular target (4 of 4 solutions): joints joint1" in solutions.reason


@pytest.mark.usefixtures("compiled")
@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi]), min_size=6, max_size=6))
def test_right_angles_are_solved_whatever_is_singular(q):
    for name in ("puma560", "elbow6", "kr16"):
        robot = dy.load(name)
        solutions = robot.ik(robot.fk(q))
        assert_solutions(robot, robot.fk(q), solutions)
        assert len(solutions) > 0


@pytest.mark.usefixtures("compiled")
def test_a_singular_target_of_the_search_keeps_the_isolated_solutions():
    robot = dy.load("ur10e")
    solutions = robot.ik(robot.fk([0.3, -0.4, 0.5, 0.6, 0.0, 0.7]))
    assert "one of infinitely many" in solutions.reason
    assert (np.abs(solutions.q[:, 4]) > 0.1).sum() == 4


WRISTS = {"puma560": 8, "elbow6": 8, "kr16": 8, "stanford": 8, "sixr": 8, "ur10e": 8}
POSE = 1e-13  # rounding of a pose and of what is computed from it; over q5 it is that of q4


def exact_to(bend):
    """How well a pose whose wrist is bent by so little tells the angles of its outer axes."""
    return POSE / bend + 1e-11


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("bend", thorough_but([1e-3, 1e-8], [1e-3, 3e-6, 3e-7, 1e-8]))
@pytest.mark.parametrize("name", WRISTS)
def test_a_nearly_straight_wrist_keeps_its_solutions(name, bend):
    robot = dy.load(name)
    q = np.random.default_rng(3).uniform(-1.0, 1.0, 6)
    q[4] = bend
    solutions = robot.ik(robot.fk(q))
    assert_solutions(robot, robot.fk(q), solutions)
    assert len(solutions) == WRISTS[name]
    assert nearest(robot, solutions, q) < exact_to(bend)
    if bend <= 3e-7:
        assert solutions.reason.startswith("nearly singular target")
        assert "solutions may be missing or inexact there" in solutions.reason


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("bend", thorough_but([1e-9], [1e-9, 1e-10, 1e-12]))
@pytest.mark.parametrize("name", WRISTS)
def test_a_wrist_straight_within_the_tolerance_says_so(name, bend):
    robot = dy.load(name)
    q = np.random.default_rng(3).uniform(-1.0, 1.0, 6)
    q[4] = bend
    solutions = robot.ik(robot.fk(q))
    assert_solutions(robot, robot.fk(q), solutions)
    assert nearest(robot, solutions, q) < exact_to(bend)
    assert "singular target" in solutions.reason


@pytest.mark.usefixtures("compiled")
@settings(max_examples=40, deadline=None)
@given(seed=seeds, decade=st.floats(-10.0, -1.0))
def test_any_spherical_wrist_however_straight_finds_its_own_q(seed, decade):
    rng = np.random.default_rng(seed)
    robot = dy.load(rng.choice(["puma560", "elbow6", "kr16", "stanford", "sixr"]))
    q = rng.uniform(-1.0, 1.0, 6)
    q[4] = 1.0
    assume(general(robot, q))
    q[4] = 10.0**decade
    solutions = robot.ik(robot.fk(q))
    assert nearest(robot, solutions, q) < 100.0 * exact_to(q[4])


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("beside", [1e-4, 1e-6, 1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize("name", ["elbow6", "kr16"])
def test_a_wrist_centre_beside_axis_one_keeps_its_solutions(name, beside):
    robot = dy.load(name)
    arm = serial_arm(robot)
    T = robot.fk([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    wrist = wrist_target(arm, wrist_centre(arm), T)
    T[:2, 3] += beside * np.array([0.6, 0.8]) - wrist[:2]
    solutions = robot.ik(T)
    assert_solutions(robot, T, solutions)
    assert len(solutions) == 8
    angles = solutions.q[:, 0]
    apart = np.abs(np.sin(angles[:, None] - angles))  # one direction and its opposite
    assert apart.max() < 1e-12 / beside + 1e-9


# limits


def test_limits_keep_what_is_within_them():
    robot = dy.load("puma560")
    low, high = robot.limits.T
    q = np.array([0.3, 3.5, -3.6, 0.6, 0.8, 0.7])  # joints 2 and 3 only within after a whole turn
    solutions = robot.ik(robot.fk(q), limits=True)
    everything = robot.ik(robot.fk(q))
    assert 0 < len(solutions) < len(everything) == 8
    assert ((solutions.q >= low) & (solutions.q <= high)).all()
    assert np.abs(solutions.q - q).max(axis=1).min() < NEAR
    assert robot.fk(solutions.q) == pytest.approx(np.tile(robot.fk(q), (len(solutions), 1, 1)))


def test_limits_that_exclude_everything_name_the_joints():
    links = [dy.Link(a=1.0, limits=(-0.1, 0.1)), dy.Link(a=0.5)]
    robot = dy.Robot.from_dh("stiff", convention="standard", links=links)
    solutions = robot.ik(robot.fk([2.0, 0.5]), limits=True)
    assert len(solutions) == 0
    assert "limits exclude every solution found: joint1 [-0.1, 0.1] (2 of 2)" in solutions.reason
    spare = dy.Robot.from_dh("spare", convention="standard", links=[links[0]] * 2 + [links[1]])
    solutions = spare.ik([-1.0, 0.5, 0.0], limits=True)
    assert len(solutions) == 0
    assert "limits exclude every solution found: joint1 [-0.1, 0.1]" in solutions.reason


# bad inputs


@pytest.mark.parametrize(
    ("T", "message"),
    [
        (np.full((4, 4), np.nan), "not finite"),
        (np.eye(3), r"shape \(3, 3\), expected one 4x4 pose"),
        ([1.0, 2.0, 3.0], r"shape \(3,\), expected one 4x4 pose"),
        (np.zeros((2, 4, 4)), r"T\[0\] has last row"),
        (np.zeros((2, 3)), r"shape \(2, 3\), expected one 4x4 pose"),
        (np.diag([2.0, 2.0, 2.0, 1.0]), "not rigid: its rotation is off orthogonal by 3"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), "mirrors"),
        (2.0 * np.eye(4), "last row"),
        ("here", "holds text"),
        ([[1.0], [2.0, 3.0]], "rectangular"),
        (None, "expected one 4x4 pose"),
    ],
)
def test_bad_targets_are_refused(T, message):
    with pytest.raises(ShapeError, match=message):
        dy.load("puma560").ik(T)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("positon", "did you mean 'position'"),
        ([1, 1, 1], "six of 0 and 1"),
        ([1, 1, 1, 2, 0, 0], "six of 0 and 1"),
        ([0] * 6, "prescribes nothing"),
        (3, "six of 0 and 1"),
        (["x"] * 6, "six of 0 and 1"),
    ],
)
def test_bad_tasks_are_refused(task, message):
    with pytest.raises(OptionError, match=message):
        dy.load("puma560").ik(np.eye(4), task)


@pytest.mark.parametrize(
    "option", [{"limits": "yes"}, {"tolerance": 0}, {"starts": 0}, {"seed": -1}, {"limit": True}]
)
def test_bad_options_are_refused(option):
    with pytest.raises(OptionError, match=next(iter(option))):
        dy.load("puma560").ik(np.eye(4), **option)


def test_tasks_have_defaults_by_the_number_of_joints():
    assert task_mask(dy.load("puma560")).tolist() == [True] * 6
    assert task_mask(dy.load("scara")).tolist() == [True] * 3 + [False] * 3
    assert task_mask(dy.load("scara"), (1, 0, 0, 0, 0, 1.0)).sum() == 2


def test_solutions_print_and_iterate():
    robot = dy.load("planar-rr")
    solutions = robot.ik([1.0, 0.5, 0.0])
    assert len(solutions) == len(list(solutions)) == 2
    text = repr(solutions)
    assert text.startswith("Solutions(2 solutions, closed form: RR to a point:")
    assert text.count("residual") == 2
    assert repr(robot.ik([9, 0, 0])).endswith("reaches 1.8 m)")


# the pieces


@settings(max_examples=50, deadline=None)
@given(seed=seeds)
def test_wrist_angles_solve_their_equation(seed):
    rng = np.random.default_rng(seed)
    A, B = (Rotation.random(rng=rng).as_matrix() for _ in range(2))
    x, y, z = rng.uniform(-3, 3, 3)

    def turned(x, y, z):
        turns = [motion("R", np.array(v))[:3, :3] for v in (x, y, z)]
        return turns[0] @ A @ turns[1] @ B @ turns[2]

    (found,) = wrist_angles(A, B, turned(x, y, z)[None])
    assert found.shape == (2, 3) and np.isfinite(found).all()
    for angles in found:
        assert turned(*angles) == pytest.approx(turned(x, y, z), abs=1e-6)


def test_roots_solve_their_equations():
    for x in cosine_roots(0.3, -0.7, 0.2):
        assert 0.3 * np.cos(x) - 0.7 * np.sin(x) == pytest.approx(0.2)
    assert np.isnan(cosine_roots(1.0, 0.0, 1.1)).all()
    np.testing.assert_array_equal(cosine_roots(0.0, 0.0, 0.0), [0.0, np.nan])
    one = np.ones(1)
    (found,) = joint_roots(lambda x: (np.cos(2 * x) + 0.3 * np.sin(x), 0.1), "R", one)
    assert np.isfinite(found).all()
    for x in found:
        assert np.cos(2 * x) + 0.3 * np.sin(x) == pytest.approx(0.1)
    (found,) = joint_roots(lambda x: (x**2, 4.0), "P", one)
    assert sorted(found[np.isfinite(found)]) == pytest.approx([-2.0, 2.0])
    (found,) = joint_roots(lambda x: (np.ones_like(x), 1.0), "R", one)
    np.testing.assert_array_equal(found, [0.0, np.nan, np.nan, np.nan])


def test_equations_of_any_degree_are_solved_together():
    """Rows whose leading coefficients vanish, beside others."""
    c = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])[:, :, None]
    found = joint_roots(lambda x: (c[:, 0] * x**2 + c[:, 1] * x, c[:, 2]), "P", np.ones(4))
    assert sorted(found[0][:2]) == pytest.approx([-1 - np.sqrt(1.5), -1 + np.sqrt(1.5)])
    assert found[1][0] == pytest.approx(0.5) and np.isnan(found[1:, 1:]).all()
    assert np.isnan(found[2]).all() and found[3][0] == 0.0
    found = joint_roots(lambda x: (c[:, 0] * np.cos(2 * x) + np.cos(x), 0.5), "R", np.ones(4))
    np.testing.assert_allclose(np.sort(found[1:, :2]), [[-np.pi / 3, np.pi / 3]] * 3, atol=1e-12)
    for x in found[0][np.isfinite(found[0])]:
        assert np.cos(2 * x) + np.cos(x) == pytest.approx(0.5)


def test_candidates_of_a_point_are_solutions_before_polishing():
    arm = serial_arm(dy.load("puma560"))
    front = SerialArm(arm.kinds[:3], arm.placements[:3], arm.placements[3])
    point = front.reach(np.array([0.3, 0.4, 0.5]))
    of, candidates = point_candidates(front, point[None])
    assert len(candidates) == 4 and not of.any()
    for q in candidates:
        assert front.reach(q) == pytest.approx(point, abs=1e-7)


def screwed(x=0.0, z=0.0, R=None, after=0.0):
    """Constant placement: a shift, a turn, a shift along the new z."""
    P = np.eye(4)
    P[:3, :3] = np.eye(3) if R is None else R
    P[:3, 3] = np.array([x, 0.0, z]) + after * P[:3, 2]
    return P


@pytest.mark.parametrize("kinds", FRONTS[:5])
@pytest.mark.parametrize("second", ["meets the first", "is square to the first"])
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_second_axes_that_make_an_equation_degenerate(kinds, second, seed):
    """Axes that meet away from both origins; axes at a right angle."""
    rng = np.random.default_rng(seed)
    R = Rotation.random(3, rng=rng).as_matrix()
    z, after, x = rng.uniform(0.2, 1.0, 3)
    P2 = screwed(0.0, z, R[0], after)
    if second == "is square to the first":
        P2 = screwed(x, z, Rotation.from_rotvec([np.pi / 2, 0, 0]).as_matrix(), after)
    P3, tool = screwed(x, z, R[1], after), screwed(after, x)
    arm = SerialArm(kinds, np.stack([screwed(R=R[2]), P2, P3]), tool)
    q = rng.uniform(-1.5, 1.5, 3)
    _, found = point_candidates(arm, arm.reach(q)[None])
    turns = np.array([kind == "R" for kind in kinds])
    assert JointSpace(turns, 1.0).distance(found, q).min() < 1e-5


@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_the_error_jacobian_is_the_derivative(name):
    robot = dy.load(name)
    goal = target(robot.fk(random_q(robot, 1)), np.array([1, 0, 1, 1, 0, 1], dtype=bool))
    problem = IkProblem(robot, goal, 1.0)
    q, h = random_q(robot, 2), 1e-6
    _, A = problem.linearised(q[None])
    steps = h * np.eye(6)
    ahead, behind = (goal.error(robot.fk(x)) for x in (q + steps, q - steps))
    slope = (ahead - behind).T / (2 * h)
    assert -slope == pytest.approx(A[0], abs=1e-6)


def test_the_error_vanishes_only_at_the_target():
    T = np.eye(4)
    T[:3, :3] = Rotation.from_rotvec([0.0, 0.0, 0.3]).as_matrix()
    T[:3, 3] = (0.1, 0.2, 0.3)
    goal = Target(T, np.ones(6, dtype=bool))
    assert goal.error(T) == pytest.approx(np.zeros(6), abs=1e-15)
    assert goal.error(np.eye(4)) == pytest.approx([0.1, 0.2, 0.3, 0.0, 0.0, 0.3])
    e = np.array([0.4, -0.2, 0.9])
    R, w, h = Rotation.from_rotvec(e), np.array([0.3, 0.5, -0.1]), 1e-6
    moved = ((R * Rotation.from_rotvec(h * w)).as_rotvec() - e) / h  # log(exp(e) exp(w))
    assert _inverse_right_jacobian(e) @ w == pytest.approx(moved, abs=1e-5)


def test_points_are_spread_over_their_box():
    bounds = np.array([[-1.0, 1.0], [2.0, 6.0], [0.0, 0.0]])
    points = quasi_random(bounds, 256)
    assert ((points >= bounds[:, 0]) & (points <= bounds[:, 1])).all()
    assert points.mean(axis=0) == pytest.approx([0.0, 4.0, 0.0], abs=0.02)
    assert (quasi_random(bounds, 10, skip=5) == quasi_random(bounds, 15)[5:]).all()


def test_joint_space_knows_turns_and_limits():
    space = JointSpace(np.array([True, True, False]), 2.0)
    assert space.wrapped(np.array([-np.pi, 3 * np.pi, 7.0])) == pytest.approx([np.pi, np.pi, 7.0])
    assert space.wrapped(np.full(3, 1e-13 - np.pi))[0] == np.pi
    assert space.distance(np.array([3.1, 0, 0]), np.array([-3.1, 0, 0])) == pytest.approx(0.0831853)
    assert space.distance(np.zeros(3), np.array([0, 0, 1.0])) == 0.5
    limits = np.array([[2.0, 5.0], [-np.inf, np.inf], [0.0, 1.0]])
    turned = space.into_limits(np.array([[-3.0, 1.0, 9.0], [0.0, 1.0, 0.5]]), limits)
    assert turned[0] == pytest.approx([2 * np.pi - 3.0, 1.0, 9.0])
    assert turned[1] == pytest.approx([0.0, 1.0, 0.5])
