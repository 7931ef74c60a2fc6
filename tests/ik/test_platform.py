"""Closed mechanisms: every working mode for a pose of the tool, every assembly for the drives."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.ik.assemble import LoopProblem
from dynamis.ik.legs import as_rods, rods
from dynamis.ik.target import task_mask

from ..closed_mechanisms import five_bar, made, planar_3rpr

CLOSES = 1e-12


def all_close(robot, q, T=None, task="position"):
    assert np.abs(robot.closure_error(q)).max() < CLOSES
    if T is not None:
        e = robot.fk(q)[..., :3, 3] - np.asarray(T)[..., :3, 3]
        assert np.abs(e).max() < CLOSES
    return q


def distinct(q):
    gaps = np.abs(q[:, None] - q).max(axis=-1) + np.eye(len(q))
    return gaps.min() > 1e-4


# inverse kinematics


def test_working_modes_of_the_five_bar():
    """Two elbows on either side; cosine theorem for each leg by itself."""
    robot, point = dy.load("five-bar"), np.array([0.05, 0.4, 0.0])
    found = robot.ik(point)
    assert len(found) == 4 and found.method == "closed form: RR to a point, legs RR"
    assert distinct(found.q) and found.reason == "" and (found.residual < 1e-12).all()
    all_close(robot, found.q)
    expected = []
    for x in (-0.125, 0.125):
        d = point[:2] - (x, 0.0)
        r = np.hypot(*d)
        bend = np.arccos((0.23**2 + r**2 - 0.35**2) / (2 * 0.23 * r))
        expected.append(sorted(np.arctan2(d[1], d[0]) + s * bend for s in (-1, 1)))
    for k, angles in zip((0, 2), expected, strict=True):
        np.testing.assert_allclose(np.unique(found.q[:, k].round(9)), angles, atol=1e-8)


@pytest.mark.parametrize(
    ("point", "degrees"),
    [((0, 0, -0.9), (-20.5473,) * 3), ((0.3, 0.5, -1.1), (47.5041, -11.5685, 21.3784))],
)
def test_working_modes_of_the_delta(point, degrees):
    """R. L. Williams II prints -20.5 and (47.5, -11.6, 21.4) degrees."""
    robot = dy.load("delta")
    found = robot.ik(point)
    assert len(found) == 8 and found.method == "closed form: PPP to a point, legs RRR"
    all_close(robot, found.q)
    np.testing.assert_allclose(found.q[:, 9:], [point] * 8, atol=1e-12)
    (q,) = robot.ik(point, limits=True)
    np.testing.assert_allclose(np.degrees(q[list(robot.active)]), degrees, atol=1e-4)
    assert len(robot.ik(point, limits=False)) == 64  # every swing of a forearm turned over too


def test_the_gough_stewart_platform_has_one():
    robot = dy.load("gough-stewart")
    home = robot.configurations["home"]
    T = robot.fk(home)
    (q,) = robot.ik(T, limits=True)
    np.testing.assert_allclose(q, home, atol=1e-12)
    moved = home.copy()
    moved[:6] += (0.05, -0.04, 0.06, 0.1, -0.15, 0.2)
    target = robot.fk(moved)  # of the platform, whatever the legs
    found = robot.ik(target, limits=True)
    assert found.method == "closed form: PPP and a spherical wrist, legs RRP"
    (q,) = found
    all_close(robot, q, target)
    np.testing.assert_allclose(robot.fk(q), target, atol=1e-12)
    np.testing.assert_allclose(q[:6], moved[:6], atol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["palletizer", "3-rps"])
def test_searches_where_legs_do_not_decouple(name):
    robot = dy.load(name)
    home = robot.configurations["home"]
    q = robot.assemble(home[list(robot.active)] + 0.05 * np.arange(1, robot.dof + 1) / 2)[0]
    T = robot.fk(q)
    found = robot.ik(T, q0=q)
    assert found.method == "numeric" and len(found) >= 1
    np.testing.assert_allclose(found.q[0], q, atol=1e-9)
    assert (found.residual < 1e-9).all()


def test_the_default_task_goes_by_what_the_tool_can_do():
    def rows(robot):
        return "".join("xyzabc"[k] for k in np.flatnonzero(task_mask(robot)))

    expected = {"five-bar": "xyz", "delta": "xyz", "3-rps": "zab", "palletizer": "xyzc"}
    for name, words in (expected | {"gough-stewart": "xyzabc"}).items():
        assert rows(dy.load(name)) == words
    assert rows(planar_3rpr()) == "xyc"


@pytest.mark.thorough
def test_many_points_at_once():
    robot = dy.load("delta")
    rng = np.random.default_rng(1)
    points = rng.uniform((-0.3, -0.3, -1.2), (0.3, 0.3, -0.9), (2, 6, 3))
    points[1, 2] = np.nan
    points[0, 3] = 1.1, 1.1, -1.0
    many = robot.ik(points, limits=True)
    assert many.q.shape == (2, 6, 12) and many.found.sum() == 10
    assert not many.found[1, 2] and not many.found[0, 3]
    for at in ((0, 0), (1, 5)):
        np.testing.assert_array_equal(robot.ik(points[at], limits=True).q[0], many.q[at])
    np.testing.assert_allclose(many.q[many.found][:, 9:], points[many.found], atol=1e-12)
    near = robot.ik(points[0, :2], q0=many.q[0, :2])
    np.testing.assert_allclose(near.q, many.q[0, :2], atol=1e-9)
    arm = dy.load("palletizer")
    T = np.stack([arm.fk(arm.configurations["home"])] * 2)
    assert arm.ik(T).found.all()


def test_what_cannot_be_reached_is_said():
    robot = dy.load("five-bar")
    assert "0.7215 m from the first axis, the arm reaches 0.58 m" in robot.ik((0.05, 0.7, 0)).reason
    other = robot.ik((-0.5, 0.2, 0)).reason  # the left leg gets there
    assert "leg to 'tip': its end is 0.6562 m" in other and "the arm reaches 0.58 m" in other
    delta = dy.load("delta").ik((2.0, 0, -1))
    assert delta.reason == "joint limits exclude every solution found: platform_x"
    with pytest.raises(OptionError, match="limits"):
        robot.ik((0, 0.4, 0), limits="some")
    with pytest.raises(ShapeError):
        robot.ik((0, 0.4))


# assemblies


def test_assemblies_of_the_five_bar():
    robot = dy.load("five-bar")
    q = robot.assemble([2.0, 1.1])
    assert len(q) == 2 and distinct(all_close(robot, q))
    np.testing.assert_allclose(q[:, [0, 2]], [[2.0, 1.1]] * 2)
    assert len(five_bar().assemble([2.0, 1.1])) == 2


@pytest.mark.parametrize(
    ("degrees", "tool"),
    [((0, 0, 0), (0, 0, -1.06445166)), ((10, 20, 30), (0.10813541, -0.18034835, -1.24354125))],
)
def test_assemblies_of_the_delta(degrees, tool):
    """Three spheres about the knees meet in two points (R. L. Williams II)."""
    robot = dy.load("delta")
    q = robot.assemble(np.radians(degrees))
    assert len(q) == 2
    all_close(robot, q)
    np.testing.assert_allclose(q[q[:, 11] < 0][0, 9:], tool, atol=1e-8)


@pytest.mark.parametrize(("length", "count"), [(4.0, 2), (5.0, 4), (7.0, 6)])
def test_assemblies_of_three_planar_legs(length, count):
    """T. Sauer, Numerical Analysis, Reality Check 1."""
    robot = planar_3rpr()
    q = robot.assemble([5.0, length, 3.0])
    assert len(q) == count and distinct(all_close(robot, q))


BASE = [
    (0, 0, 0), (1.107915, 0, 0), (0.549094, 0.756063, 0), (0.735077, -0.223935, 0.525991),
    (0.514188, -0.526063, -0.368418), (0.590473, 0.094733, -0.205018),
]  # fmt: skip
PLATFORM = [
    (0, 0, 0), (0.542805, 0, 0), (0.956919, -0.528915, 0), (0.665885, -0.353482, 1.402538),
    (0.478359, 1.158742, 0.107672), (-0.137087, -0.235121, 0.353913),
]  # fmt: skip
LENGTHS = (1, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071)


def gough(base, platform, home, limits=((-2, 2), (-2, 2), (-2, 2))):
    """A platform on six legs that weigh nothing, at the pose `home` (x, y, z, roll, pitch, yaw)."""
    free = {"passive": True}
    links = []
    for k, axis in enumerate(np.eye(3)):
        parent = links[-1].name if links else None
        own = {"joint": "prismatic", "axis": axis, "limits": limits[k], **free}
        links.append(dy.Link(name=f"slide{k}", parent=parent, **own))
    bounds = (None, (-np.pi / 2, np.pi / 2), None)  # of the pitch: every orientation once
    for k, axis in enumerate(np.eye(3)):
        body = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)} if k == 2 else {}
        own = {"axis": axis, "limits": bounds[k], **free, **body}
        links.append(dy.Link(name=f"turn{k}", parent=links[-1].name, **own))
    swing = (-np.pi / 2, np.pi / 2)
    closures = []
    for i, (a, b) in enumerate(zip(base, platform, strict=True)):
        turning = {"limits": (-np.pi, np.pi), **free}
        links.append(dy.Link(name=f"hinge{i}", xyz=a, axis=(1, 0, 0), **turning))
        own = {"parent": f"hinge{i}", "axis": (0, 1, 0), "limits": swing, **free}
        links.append(dy.Link(name=f"cylinder{i}", **own))
        slide = {"joint": "prismatic", "axis": (0, 0, 1), "limits": (0.0, 5.0)}
        links.append(dy.Link(name=f"piston{i}", parent=f"cylinder{i}", **slide))
        ends = f"piston{i}", "turn2"
        closures.append(dy.Closure(between=ends, frames=(None, {"xyz": b})))
    robot = made("gough", links, closures, tool_link="turn2")
    q = np.concatenate([home, np.ones(18)])
    return made(
        "gough", links, closures, tool_link="turn2", configurations={"home": robot.project(q)}
    )


@pytest.fixture(scope="module")
def forty():
    return gough(BASE, PLATFORM, (0, 0, 0.9, 0, 0, 0), limits=((-1.0, 1.0),) * 3)


def test_forty_postures_of_a_gough_stewart_platform(forty):
    """P. Dietmaier, The Stewart-Gough platform of general geometry can have 40 real postures."""
    q = forty.assemble(LENGTHS, starts=1000)
    assert len(q) == 40 and distinct(all_close(forty, q))
    T = forty.fk(q)
    ends = np.array(PLATFORM) @ np.swapaxes(T[:, :3, :3], -1, -2) + T[:, None, :3, 3]
    lengths = np.linalg.norm(ends - BASE, axis=-1)
    np.testing.assert_allclose(lengths, [LENGTHS] * 40, atol=1e-12)


@pytest.mark.thorough
def test_legs_as_rods_close_where_the_mechanism_does(forty):
    q = forty.assemble(LENGTHS, starts=64)[0]
    free = [k for k in range(24) if k not in forty.active]
    legs = rods(forty.chain, free)
    assert [leg.joints for leg in legs] == [tuple(range(k, k + 3)) for k in range(6, 24, 3)]
    whole = LoopProblem(forty, 1.0, tuple(free), q)
    reduced = LoopProblem(forty, 1.0, tuple(range(6)), q, rods=as_rods(forty.chain, legs, q))
    assert reduced.residuals(q[None, :6])[0] < CLOSES
    x = q[None, :6] + 0.01
    assert reduced.residuals(x)[0] > 1e-3
    e, A = reduced.linearised(x)
    h = 1e-6
    for k, step in enumerate(np.eye(6) * h):
        slope = (reduced.linearised(x + step)[0] - reduced.linearised(x - step)[0]) / (2 * h)
        np.testing.assert_allclose(slope, -A[..., k], atol=1e-8)
    assert e.shape == (1, 6) and whole.residuals(q[None, free])[0] < CLOSES


def test_limits_of_passive_joints_count():
    robot = dy.load("delta")
    assert len(robot.assemble([0, 0, 0])) == 2
    assert len(robot.assemble([0, 0, 0], limits=True)) == 2
    assert len(robot.assemble([0, 0, 0], limits=False)) == 16  # forearms turned over
    home = robot.configurations["home"]
    np.testing.assert_allclose(robot.assemble([0, 0, 0], q0=home)[0], home, atol=1e-9)
    with pytest.raises(OptionError, match="limits"):
        robot.assemble([0, 0, 0], limits="none")


def test_manipulability_is_that_of_the_drives():
    robot = dy.load("delta")
    q = robot.configurations["home"]
    J = robot.drive_jacobian(q)[:3]
    np.testing.assert_allclose(robot.manipulability(q), abs(np.linalg.det(J)), rtol=1e-12)
    inertia = np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), J.T))
    np.testing.assert_allclose(robot.operational_inertia(q)[:3, :3], inertia, rtol=1e-9, atol=1e-12)
