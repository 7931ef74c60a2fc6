"""Capsules: exact distances, and motions that keep clear of a table and of themselves."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.excite.design import excite
from dynamis.excite.workspace import clearance_margins
from dynamis.robot.bodies.body import placed_bodies, rods_of
from dynamis.spatial.functions import MATH
from dynamis.spatial.geometry import capsule, nearest

STEPS = 101  # points along a segment in a search by brute force
ROBOTS = ("planar-rr", "scara", "polar-rp", "puma560", "puma560-mdh", "stanford", "panda", "ur10e")


def brute(a, b, c, d):
    """Least distance of many points on two segments."""
    s = np.linspace(0.0, 1.0, STEPS)[:, None]
    first, second = a + s * (b - a), c + s * (d - c)
    return np.linalg.norm(first[:, None] - second, axis=-1).min()


def ends(robot, q):
    """Both ends of every rod in the reference frame."""
    rods = rods_of(robot.chain)
    return [(x.a, x.b) for x in placed_bodies(robot.chain, rods, q.tolist(), MATH)]


@pytest.mark.parametrize("name", ROBOTS)
def test_rods_run_through_every_frame_up_to_the_tool(name):
    robot = dy.load(name)
    rng = np.random.default_rng(2)
    for q in rng.uniform(-1.0, 1.0, (5, robot.n)):
        placed = ends(robot, q)
        tool = robot.fk(q)[:3, 3]
        for p in [*robot.frames(q)[:, :3, 3], tool]:
            point = capsule(tuple(p), tuple(p), 0.0)
            gaps = [nearest(capsule(a, b, 0.0), point, MATH).distance for a, b in placed]
            assert min(gaps) < 2e-6


@pytest.mark.thorough
def test_folded_pendulum_keeps_clear_of_itself():
    """Bars one and three of 1 m touch where both elbows turn by 120 degrees."""
    robot = dy.load("pendulum3")
    wide = {"q_limits": (-2.8, 2.8), "starts": 2, "max_iterations": 40}
    clearance, radius = 0.5, 0.05
    free = excite(robot, **wide, clearance=None)
    found = excite(robot, **wide, clearance=clearance, capsule_radius=radius)
    nearest = [
        min(
            brute(np.array(first[0]), np.array(first[1]), np.array(third[0]), np.array(third[1]))
            for first, third in _bars(robot, design)
        )
        for design in (free, found)
    ]
    assert nearest[0] < 2.0 * radius + clearance  # it matters
    assert nearest[1] >= 2.0 * radius + clearance
    assert not any(f.level == "error" for f in found.findings)


def _bars(robot, design):
    for q in design.trajectory(np.linspace(0.0, design.period, 211)).q:
        placed = ends(robot, q)
        yield placed[0], placed[2]


@pytest.mark.parametrize("slope", [pytest.param(0.0, marks=pytest.mark.thorough), 0.3])
def test_arm_stays_above_a_table(slope):
    robot = dy.load("pendulum3")
    point, normal = np.array([0.0, -0.8, 0.0]), np.array([slope, 2.0, 0.0])
    free = excite(robot, starts=2, max_iterations=40)
    found = excite(robot, starts=2, max_iterations=40, table=(point, normal), capsule_radius=0.03)
    lowest = []
    for design in (free, found):
        q = design.trajectory(np.linspace(0.0, design.period, 3001)).q
        origins = robot.frames(q)[:, 1:, :3, 3]
        lowest.append(((origins - point) @ normal / np.linalg.norm(normal)).min())
    assert lowest[0] < 0.03  # it matters
    assert lowest[1] >= 0.03
    assert not any(f.level == "error" for f in found.findings)


def test_table_height_is_along_z():
    robot = dy.load("stanford")
    box = np.array([[-1.0, 1.0]] * robot.n)
    by_height = clearance_margins(robot, 0.1, None, 0.05, box)
    by_plane = clearance_margins(robot, ((5.0, 2.0, 0.1), (0.0, 0.0, 3.0)), None, 0.05, box)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (20, robot.n))
    assert np.allclose(by_height.over(q), by_plane.over(q), atol=1e-12)


def test_what_cannot_be_kept_is_said():
    robot = dy.load("puma560")
    box = robot.limits
    above = clearance_margins(robot, 0.0, None, 0.05, box)
    assert [f.level for f in above.findings] == ["warning"] * len(above.findings)
    assert above.findings
    assert "at every position" in above.findings[0].what
    (alone,) = clearance_margins(robot, None, 0.02, 0.05, box).findings
    assert "nothing is kept apart" in alone.what
    panda = dy.load("panda")
    short = clearance_margins(panda, None, 0.0, 0.06, panda.limits)
    said = [f.what for f in short.findings]
    assert any("'link4' and 'link7'" in x and "taken as neighbours" in x for x in said), said


def test_neighbours_are_not_kept_apart():
    robot = dy.load("pendulum3")
    space = clearance_margins(robot, None, 0.05, 0.05, np.array([[-2.8, 2.8]] * 3))
    links = [(a.link, b.link) for a, b in space.apart]
    assert links == [(0, 2)]


def standing(height=0.4):
    """Three links on a column; gravity pulls down the base's z."""
    links = [
        dy.Link(d=height, alpha=np.pi / 2, mass=4.0, com=(0, 0, 0.1), inertia=(0.02, 0.02, 0.02)),
        dy.Link(a=0.5, mass=3.0, com=(-0.2, 0, 0), inertia=(0.01, 0.05, 0.05)),
        dy.Link(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0.01, 0.03, 0.03)),
    ]
    return dy.Robot.from_dh(
        "column", convention="standard", gravity=(0, 0, -9.81), links=links,
    )  # fmt: skip


def test_the_floor_and_the_arm_itself_are_kept_by_default():
    robot, quick = standing(), {"starts": 1, "max_iterations": 15, "q_limits": (-2.8, 2.8)}
    lowest, nearest = [], []
    for options in ({}, {"table": None, "clearance": None}):
        found = excite(robot, **quick, **options)
        t = np.linspace(0.0, found.period, 3001)
        q = found.trajectory(t).q
        lowest.append(robot.frames(q)[..., 1:, 2, 3].min())
        nearest.append(found.worst_clearance)
    assert lowest[1] < -0.1 < 0.05 <= lowest[0]  # the radius of the capsules
    assert nearest[1] is None and nearest[0].metres >= 0.0
    if "table" in nearest[0].between:
        assert nearest[0].metres == pytest.approx(lowest[0] - 0.05, abs=2e-3)


def test_a_floor_that_no_description_shows_is_said_to_be_missing():
    for robot, why in (
        (dy.load("planar-2link"), "gravity is not along -z of the base"),
        (standing(0.0), "puts the shoulder no higher than the base"),
    ):
        found = excite(robot, starts=1, max_iterations=3)
        (said,) = [f for f in found.findings if f.where == "floor"]
        assert said.level == "warning" and why in said.what


def test_bodies_whose_distance_never_changes_are_not_kept_apart():
    """The wrist of a UR10e: forearm and second wrist link are 0.135 m apart at every position."""
    robot = dy.load("ur10e")
    box = np.array([[-3.0, 3.0]] * robot.n)
    for radius in (0.05, 0.057, 0.058, 0.066):
        space = clearance_margins(robot, None, 0.02, radius, box)
        pair = "'forearm_link' and 'wrist_2_link'"
        assert pair not in [space.label(k) for k in range(len(space))]
        touching = [f for f in space.findings if pair in f.what]
        assert len(touching) == int(2.0 * radius + 0.02 > 0.135)


def test_defaults_that_no_motion_keeps_give_way_and_say_so():
    """A shoulder that is above the floor only near a limit."""
    robot = standing(0.12)
    folded = {"q_limits": [(-3, 3), (-1.0, -0.05), (-0.1, 0.1)], "starts": 1, "max_iterations": 3}
    found = excite(robot, **folded)
    (said,) = [f for f in found.findings if f.where == "floor"]
    assert said.level == "warning" and "no motion within the limits" in said.what
    with pytest.raises(OptionError, match="no motion of robot 'column' was found"):
        excite(robot, **folded, table=0.0)


@pytest.mark.parametrize("height", [-0.8, 0.6])
def test_the_floor_is_at_the_height_of_the_base(height):
    """And what stands on it is kept the clearance above it."""
    low = standing()
    pose = np.eye(4)
    pose[2, 3] = height
    robot = dy.Robot(replace(low.model, base=pose))
    found = excite(robot, starts=1, max_iterations=3)
    q = found.trajectory(np.linspace(0.0, found.period, 2001)).q
    assert robot.frames(q)[..., 2:, 2, 3].min() >= height + 0.05 + 0.02
    assert not [f for f in found.findings if f.where == "floor"]
    assert found.worst_clearance.metres >= 0.02
