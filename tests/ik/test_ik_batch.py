"""Inverse kinematics of many poses at once: what the single calls give."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import DynamisWarning, ShapeError

from ..random_robots import build
from .test_ik import CLOSED, NEAR, TOLERANCE, random_spherical


def angles(robot, d):
    turning = np.array([kind == "revolute" for kind in robot.joint_kinds])
    return np.where(turning, (d + np.pi) % (2 * np.pi) - np.pi, d)


def random_q(robot, count, seed=0, reach=2.5):
    q = np.random.default_rng(seed).uniform(-reach, reach, (count, robot.n))
    sliding = np.array([kind == "prismatic" for kind in robot.joint_kinds])
    return np.where(sliding, 0.5 + 0.2 * q, q)


def assert_as_single(robot, T, many, count=None, **options):
    """Each of the first poses has the solutions of its own call, in the same order."""
    for i in range(count or len(T)):
        one = robot.ik(T[i], **options)
        assert many.count[i] == len(one) and many.found[i] == (len(one) > 0)
        np.testing.assert_allclose(many.solutions[i, : len(one)], one.q, atol=NEAR)
        assert np.isnan(many.solutions[i, len(one) :]).all()


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name):
    robot = dy.load(name)
    q = random_q(robot, 200)
    T = robot.fk(q)
    many = robot.ik(T)
    assert many.found.all() and many.method.startswith("closed form") and many.reason == ""
    assert (many.residual < TOLERANCE).all()
    near = np.abs(angles(robot, many.solutions - q[:, None])).max(axis=-1)
    assert (np.nanmin(near, axis=1) < NEAR).all()
    assert set(np.unique(many.count)) <= CLOSED[name] | {2, 4, 6}
    rows = np.isfinite(many.solutions).all(axis=-1)
    again = robot.fk(many.solutions[rows])
    wanted = np.broadcast_to(T[:, None], (*rows.shape, 4, 4))[rows]
    if robot.n < 6:  # a position
        again, wanted = again[:, :3, 3], wanted[:, :3, 3]
    np.testing.assert_allclose(again, wanted, atol=1e-9)
    assert_as_single(robot, T, many, 8)


def test_the_puma_has_eight():
    """Every pose off the singularities: Paul, Shimano, Mayer 1981."""
    robot = dy.load("puma560")
    many = robot.ik(robot.fk(random_q(robot, 500, 3)))
    assert (many.count == 8).all() and many.solutions.shape == (500, 8, 6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(("RRR", "RRP", "RPR", "PRR", "PPR", "PPP")))
def test_any_front_with_a_spherical_wrist(seed, kinds):
    rng = np.random.default_rng(seed)
    robot = random_spherical(rng, kinds, "skew")
    T = robot.fk(rng.uniform(-2.0, 2.0, (5, 6)))
    assert_as_single(robot, T, robot.ik(T))


@pytest.mark.parametrize("bend", [0.0, 1e-12, 1e-9, 1e-6, 1e-3])
def test_straight_wrists_among_others(bend):
    robot = dy.load("puma560")
    q = random_q(robot, 6, 5, 1.0)
    q[::2, 4] = bend
    T = robot.fk(q)
    many = robot.ik(T)
    assert many.found.all() and (many.residual < TOLERANCE).all()
    assert_as_single(robot, T, many)


def test_an_arm_without_a_closed_form():
    robot = dy.load("ur10e")
    q = random_q(robot, 60, 1)
    T = robot.fk(q)
    many = robot.ik(T)
    assert many.method == "numeric" and many.found.all()
    assert set(np.unique(many.count)) <= {2, 4, 6, 8}
    assert (np.nanmin(np.abs(angles(robot, many.solutions - q[:, None])).max(-1), 1) < NEAR).all()
    assert_as_single(robot, T, many, 5)


def test_a_redundant_arm_gives_a_handful():
    robot = dy.load("panda")
    low, high = robot.limits.T
    q = low + np.random.default_rng(0).uniform(0.2, 0.8, (20, 7)) * (high - low)
    many = robot.ik(robot.fk(q), limits=True, q0=q)
    assert many.found.all() and many.solutions.shape[1] <= 8
    np.testing.assert_allclose(many.q, q, atol=1e-9)  # q0 is a solution
    rows = many.solutions[np.isfinite(many.solutions).all(axis=-1)]
    assert ((rows >= low - 1e-9) & (rows <= high + 1e-9)).all()


@pytest.mark.parametrize("kind", ["mimic", "tree"])
def test_coupled_joints_and_trees(kind):
    robot = build("urdf", ["revolute", "revolute", "prismatic", "revolute"], 3, [-1, 0, 1, 0])
    if kind == "mimic":
        robot = build("standard", ["revolute"] * 5, 11)
        links = list(robot.model.links)
        links[3] = replace(links[3], mimic=("joint1", 0.5, 0.1))
        robot = dy.Robot(replace(robot.model, links=tuple(links)))
    T = robot.fk(random_q(robot, 3, 2, 1.0))
    many = robot.ik(T, [1, 1, 1, 0, 0, 0])
    assert many.method == "numeric" and many.found.all()
    np.testing.assert_allclose(robot.fk(many.q)[..., :3, 3], T[..., :3, 3], atol=1e-9)
    for pose in T:
        one = robot.ik(pose, [1, 1, 1, 0, 0, 0])
        assert len(one) and (one.residual < TOLERANCE).all()


def test_q0_chooses_the_nearest():
    robot = dy.load("puma560")
    q = random_q(robot, 50)
    T = robot.fk(q)
    many = robot.ik(T, q0=q)
    assert np.abs(angles(robot, many.q - q)).max() < NEAR
    one = robot.ik(T[3], q0=q[3])
    np.testing.assert_allclose(one.q, many.solutions[3], atol=NEAR)
    assert np.abs(angles(robot, one.q[0] - q[3])).max() < NEAR
    far = np.abs(angles(robot, one.q - q[3])).max(axis=1)
    assert (np.diff(far) > -1e-5).all()
    held = robot.ik(T, q0=q[0])  # one for all of them
    gap = np.abs(angles(robot, held.solutions - q[0])).max(axis=-1)
    assert (gap[:, :1] <= gap + 1e-5).all()


def test_limits():
    robot = dy.load("puma560")
    low, high = robot.limits.T
    T = robot.fk(random_q(robot, 40, 2, 3.0))
    many = robot.ik(T, limits=True)
    rows = many.solutions[np.isfinite(many.solutions).all(axis=-1)]
    assert ((rows >= low - 1e-8) & (rows <= high + 1e-8)).all()
    assert 0 < many.count.mean() < 8
    assert_as_single(robot, T, many, 8, limits=True)


@pytest.mark.parametrize("name", ["puma560", "ur10e", "planar-rr"])
def test_leading_axes_and_company(name):
    """The bits of a pose do not depend on the others."""
    robot = dy.load(name)
    T = robot.fk(random_q(robot, 6, 4)).reshape(2, 3, 4, 4)
    many = robot.ik(T)
    assert many.q.shape == (2, 3, robot.n) and many.found.shape == many.residual.shape == (2, 3)
    assert many.solutions.shape[:2] == (2, 3) and len(many) == 2
    alone = robot.ik(T[1, 2][None])
    assert np.array_equal(alone.q[0], many.q[1, 2])
    k = int(alone.count[0])
    assert np.array_equal(alone.solutions[0, :k], many.solutions[1, 2, :k])


@pytest.mark.parametrize("name", ["puma560", "ur10e", "planar-rr", "panda"])
@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_no_poses(name, shape):
    robot = dy.load(name)
    many = robot.ik(np.zeros((*shape, 4, 4)))
    assert many.q.shape == (*shape, robot.n) and many.found.shape == shape
    assert many.solutions.shape[-1] == robot.n and many.count.shape == shape and many.reason == ""


@pytest.mark.parametrize("name", ["puma560", "ur10e"])
def test_what_is_nan_or_out_of_reach_is_not_found(name):
    robot = dy.load(name)
    T = robot.fk(random_q(robot, 5, 6))
    T[1, 0, 0] = np.nan
    T[2, 1, 3] = np.inf
    T[3, :3, 3] = (30.0, 0.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = robot.ik(T)
    assert many.found.tolist() == [True, False, False, False, True]
    assert np.isnan(many.q[1:4]).all() and np.isnan(many.residual[1:4]).all()
    assert np.isnan(many.solutions[1:4]).all() and many.count[1:4].tolist() == [0, 0, 0]
    assert many.reason.startswith("3 of 5 poses have no solution")
    assert "5 poses, 2 found" in repr(many)


def test_points():
    robot = dy.load("planar-rr")
    points = robot.fk(random_q(robot, 7))[:, :3, 3]
    many = robot.ik(points)
    assert many.found.all() and many.solutions.shape == (7, 2, 2)
    np.testing.assert_allclose(robot.fk(many.q)[:, :3, 3], points, atol=1e-9)
    assert not robot.ik([[9.0, 0.0, 0.0], [0.5, 0.1, 0.2]]).found.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda T: T.__setitem__((1, 2, 0, 0), 3.0), r"T\[1, 2\] is not rigid"),
        (lambda T: T[0, 1, :3, :3].__imul__(-1.0), r"T\[0, 1\] is not rigid: it mirrors"),
        (lambda T: T.__setitem__((1, 0, 3, 1), 0.5), r"T\[1, 0\] has last row"),
    ],
)
def test_what_is_no_pose_is_refused_by_its_place(change, message):
    T = np.tile(np.eye(4), (2, 3, 1, 1))
    change(T)
    with pytest.raises(ShapeError, match=message):
        dy.load("puma560").ik(T)


@pytest.mark.parametrize(
    ("q0", "message"),
    [
        (np.zeros(5), r"q0 has shape \(5,\)"),
        (np.zeros((3, 6)), "q0"),
        ([np.nan] * 6, "q0 holds nan"),
    ],
)
def test_bad_starts_are_refused(q0, message):
    T = np.tile(np.eye(4), (2, 1, 1))
    with pytest.raises(ShapeError, match=message):
        dy.load("puma560").ik(T, q0=q0)
    with pytest.raises(ShapeError, match="q0"):
        dy.load("puma560").ik(np.eye(4), q0=np.zeros((2, 6)))


def test_a_urdf_arm(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)
        dy.load("stanford").save(tmp_path / "arm.urdf")
        robot = dy.load(tmp_path / "arm.urdf")
    T = robot.fk(random_q(robot, 10))
    assert (robot.ik(T).count == dy.load("stanford").ik(T).count).all()
