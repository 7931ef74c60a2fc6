"""Inverse kinematics, workspaces and motions that keep clear of the arm itself and of a world."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.ik.workspace import workspace

WALL = [dy.Plane(normal=(1, 0, 0), offset=-0.1, name="wall")]


@pytest.fixture(scope="module")
def arm():
    """The PUMA 560 with capsules along its long links."""
    bars = [("link2", (-0.4318, 0, 0)), ("link3", (0, 0.15, 0)), ("link6", (0, 0, 0.1))]
    shapes = tuple(
        dy.Geometry(kind="capsule", name=x, link=x, from_=(0, 0, 0), to=to, radius=0.05)
        for x, to in bars
    )
    post = dy.Geometry(kind="box", name="post", size=(0.2, 0.2, 0.6), xyz=(0, 0, -0.4))
    return dy.Robot(replace(dy.load("puma560").model, geometry=(post, *shapes)))


def test_solutions_that_collide_are_left_out(arm):
    T = arm.fk([0.4, -0.5, 0.3, 0.2, 0.4, 0.1])
    every, kept = arm.ik(T), arm.ik(T, world=WALL)
    clear = ~arm.collides(every.q, WALL)
    assert 0 < clear.sum() < len(every)
    assert np.array_equal(kept.q, every.q[clear])
    assert np.array_equal(kept.residual, every.residual[clear]) and kept.method == every.method
    itself = arm.ik(T, world=[])
    assert np.array_equal(itself.q, every.q[~arm.collides(every.q)])


def test_of_many_poses_the_first_that_is_clear(arm):
    rng = np.random.default_rng(4)
    q = rng.uniform(-1.2, 1.2, (2, 6, 6))
    T = arm.fk(q)
    T[0, 0] = np.nan
    every, kept = arm.ik(T), arm.ik(T, world=WALL)
    for k in np.ndindex(2, 6):
        rows = every.solutions[k]
        rows = rows[np.isfinite(rows).all(axis=-1)]
        rows = rows[~arm.collides(rows, WALL)] if len(rows) else rows
        assert kept.count[k] == len(rows) and kept.found[k] == bool(len(rows))
        if len(rows):
            assert np.array_equal(kept.q[k], rows[0])
            assert kept.residual[k] < 1e-9
        else:
            assert np.isnan(kept.q[k]).all() and np.isnan(kept.residual[k])
    assert 0 < kept.found.sum() < every.found.sum()


def test_why_there_is_no_solution(arm):
    T = arm.fk([0.4, -0.5, 0.3, 0.2, 0.4, 0.1])
    ball = dy.Sphere(radius=0.1, xyz=tuple(T[:3, 3]), name="ball")
    none = arm.ik(T, world=[ball])
    assert len(none) == 0 and "'link6' and 'ball' overlap by" in none.reason
    with pytest.raises(OptionError, match="has no geometry for collision"):
        dy.load("puma560").ik(T, world=[])


def test_a_workspace_without_what_collides(arm):
    options = {"plane": "xz", "at": 0.0, "task": "position", "points": 13}
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (50, 6))
    start = q[~arm.collides(q, WALL)][0]
    every, kept = workspace(arm, **options), workspace(arm, **options, world=WALL)
    assert kept.fixed == (*every.fixed, "no collisions")
    assert 0 < kept.reached.sum() < every.reached.sum()
    assert not arm.collides(kept.q[kept.reached], WALL).any()
    followed = workspace(arm, **{**options, "at": None}, q0=start, world=WALL)
    assert followed.reached.any()
    assert not arm.collides(followed.q[followed.reached], WALL).any()


def test_a_motion_that_collides_is_said(arm):
    start, end = np.zeros(6), np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    motion = dy.trajectory.quintic(start, end, 2.0)
    found = [f for f in motion.check(arm, 0.01, world=WALL) if f.where == "collision"]
    t = 0.01 * np.arange(201)
    pairs = arm.collision_pairs(WALL)
    apart = pairs.distances(motion(t).q)
    assert len(found) == (apart < 0.0).any(axis=0).sum() > 0
    k = int(np.flatnonzero((apart < 0.0).any(axis=0))[0])
    a, b = pairs.names[k]
    begins, worst = t[np.argmax(apart[:, k] < 0.0)], apart[:, k].min()
    assert found[0].what.startswith(f"{a!r} and {b!r} collide from t = {begins:.6g} s")
    assert f"at most {-worst:.3g} m" in found[0].what and found[0].level == "error"
    assert not [f for f in motion.check(arm, 0.01, world=[]) if f.where == "collision"]
    assert not [f for f in motion.check(arm, 0.01) if f.where == "collision"]
