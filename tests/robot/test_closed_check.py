"""robot.check() of closed mechanisms: mobility, drives, joints that stand still, what closes."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ModelError
from tests.closed_mechanisms import bar, five_bar, four_bar, made


def found(robot, where):
    """The finding about something; there is exactly one."""
    (finding,) = [f for f in robot.check() if f.where == where]
    return finding


def mentioned(robot):
    return {f.where for f in robot.check()}


def pin(a, b, first, second):
    ends = ({"xyz": (first, 0, 0)}, {"xyz": (second, 0, 0)})
    return dy.Closure(kind="pin", between=(a, b), frames=ends)


@pytest.mark.parametrize(
    ("robot", "counted", "follows"),
    [
        (five_bar(), "4 joints less 5 conditions = -1 in space, less 2 = 2 in its plane", True),
        (five_bar("ball"), "4 joints less 3 conditions = 1 in space, less 2 = 2", True),
        (four_bar(), "3 joints less 5 conditions = -2 in space, less 2 = 1 in its plane", True),
    ],
    ids=["pin", "ball", "four"],
)
def test_mobility_is_counted_both_ways(robot, counted, follows):
    finding = found(robot, "mobility")
    assert finding.level == "note"
    assert finding.what.startswith(f"{robot.dof} degree")
    assert counted in finding.what
    implied = set(robot.closure_rows) - {robot.closure_rows[r] for r in robot.chain.mobility.rows}
    assert all(name in finding.what for name in implied) and bool(implied) == follows


def spatial():
    """Two crossed arms of three joints and a ball: 6 - 3 = 3 degrees of freedom, all of them."""
    links = []
    for side, y in (("a", 0.0), ("b", 0.5)):
        links += [
            bar(f"{side}1", xyz=(0, y, 0), length=0.3),
            bar(f"{side}2", f"{side}1", (0.3, 0, 0), axis=(0, 1, 0), passive=side == "b"),
            bar(f"{side}3", f"{side}2", (0.4, 0, 0), axis=(1, 0, 0), passive=True),
        ]
    ends = ({"xyz": (0.1, 0.2, 0)}, {"xyz": (0.1, 0.2, 0.1)})
    return made("arms", links, [dy.Closure(between=("a3", "b3"), frames=ends)])


def test_a_spatial_mechanism_counts_as_it_moves():
    finding = found(spatial(), "mobility")
    assert "6 joints less 3 conditions = 3" in finding.what
    assert "plane" not in finding.what and "follow" not in finding.what


@pytest.mark.parametrize(
    ("kind", "rpy", "held"),
    [
        ("pin", (0, 0, 0), 2),
        ("pin", (0.5, 0, 0), 3),  # an oblique axis holds the angle too
        ("ball", (0.4, 0.3, 0.2), 2),
        ("weld", (0.4, 0.3, 0.2), 3),
        ("slide", (0, np.pi / 2, 0), 2),  # along x
        ("slide", (0, 0, 0), 3),  # along the normal: no motion left
        ("universal", (0, 0, 0), 3),  # both axes in the plane
        ("universal", (np.pi / 2, 0, 0), 2),  # y along the normal
    ],
)
def test_planar_conditions_by_kind(kind, rpy, held):
    """Next to the rank of what it holds of a body that moves freely in the plane."""
    from dynamis.robot.closed_check import planar_conditions
    from dynamis.robot.placing import closure_frames

    links = [
        dy.Link(name="x", joint="prismatic", axis=(1, 0, 0), mass=1.0),
        dy.Link(name="y", joint="prismatic", parent="x", axis=(0, 1, 0), mass=1.0),
        dy.Link(name="turn", parent="y", mass=1.0, inertia=(1, 1, 1)),
        dy.Link(name="more", parent="turn", mass=1.0, inertia=(1, 1, 1)),
    ]
    closure = dy.Closure(kind=kind, between=(None, "turn"), frames=({"rpy": rpy}, {"rpy": rpy}))
    robot = made("plane", links, [closure])
    q = np.zeros(4)
    frames = robot.frames(q)
    assert np.allclose(closure_frames(robot, frames)[0, 0], closure_frames(robot, frames)[0, 1])
    assert planar_conditions(robot, frames, np.array([0.0, 0.0, 1.0])) == held
    assert np.linalg.matrix_rank(robot.closure_jacobian(q), tol=1e-9) == held


def test_drives_next_to_degrees_of_freedom():
    assert "drives" not in mentioned(five_bar())
    links = list(five_bar().model.links)
    lazy = replace(links[2], passive=True)
    robot = dy.Robot(replace(five_bar().model, links=(links[0], links[1], lazy, links[3])))
    finding = found(robot, "drives")
    assert finding.level == "warning" and "1 drive for 2 degrees of freedom" in finding.what
    assert "moves freely" in finding.what
    finding = found(five_bar(passive=False), "drives")
    assert finding.level == "note" and "redundant actuation" in finding.what
    assert "4 drives for 2 degrees of freedom" in finding.what


def two_loops(passive):
    """Two four-bars next to each other, each with one degree of freedom."""
    links = []
    for side, y in (("a", 0.0), ("b", 1.0)):
        links += [
            bar(f"{side}1", xyz=(0, y, 0), length=0.1, passive=f"{side}1" in passive),
            bar(f"{side}2", f"{side}1", (0.1, 0, 0), 0.35, passive=f"{side}2" in passive),
            bar(f"{side}3", xyz=(0.4, y, 0), length=0.3, passive=f"{side}3" in passive),
        ]
    return made("two", links, [pin("a2", "a3", 0.35, 0.3), pin("b2", "b3", 0.35, 0.3)])


def test_drives_that_decide_nothing_are_named():
    """Both drives in one of the loops: they hold each other, and the other loop is free."""
    finding = found(two_loops({"a2", "b1", "b2", "b3"}), "drives")
    assert finding.level == "error"
    assert "2 drives for 2 degrees of freedom, but they do not decide" in finding.what
    assert "'joint3'" in finding.what or "'joint1'" in finding.what
    assert "drives" not in mentioned(two_loops({"a2", "a3", "b2", "b3"}))


def test_joints_that_cannot_move_are_named():
    """A triangle of three bars is rigid; a crank elsewhere moves."""
    links = [
        bar("a", length=0.4),
        bar("b", xyz=(0.5, 0, 0), length=0.3, passive=True),
        bar("c", xyz=(2, 0, 0)),
    ]
    robot = made("truss", links, [pin("a", "b", 0.4, 0.3)])
    findings = {f.where: f for f in robot.check()}
    assert robot.dof == 1
    assert findings["joint 'joint1'"].level == "warning"
    assert "cannot move" in findings["joint 'joint1'"].what
    assert findings["joint 'joint2'"].level == "note"
    assert "joint 'joint3'" not in findings


def test_passive_joints_need_closures():
    robot = dy.Robot(replace(four_bar().model, closures=()))
    finding = found(robot, "joints 'joint2' and 'joint3'")
    assert finding.level == "warning" and "no closures" in finding.what


def test_configurations_must_close():
    q = tuple(five_bar().assemble([1.0, 2.0])[0])
    rounded = tuple(round(x, 3) for x in q)
    robot = five_bar(configurations={"home": q, "typed": rounded})
    finding = found(robot, "configuration 'typed'")
    size = np.abs(robot.closure_error(rounded)).max()
    assert finding.level == "error"
    assert "does not close: closure1." in finding.what and f"{size:.3g} m or rad" in finding.what
    assert "robot.project" in finding.remedy
    assert "configuration 'home'" not in mentioned(robot)


def test_singular_configurations_are_named():
    """Both couplers in one line."""
    robot = five_bar()
    wide = [replace(x, xyz=(1.2, 0, 0)) if x.name == "b1" else x for x in robot.model.links]
    angle = np.arccos(2 / 3)
    q = (angle, -angle, np.pi - angle, angle)
    robot = dy.Robot(replace(robot.model, links=tuple(wide), configurations={"flat": q}))
    finding = found(robot, "configuration 'flat'")
    assert finding.level == "warning" and "singular" in finding.what


def test_limits_that_exclude_every_assembly():
    robot = four_bar()  # a crank-rocker
    crank, coupler, rocker = robot.model.links

    def limited(**limits):
        links = tuple(replace(x, limits=limits.get(x.name)) for x in (crank, coupler, rocker))
        return dy.Robot(replace(robot.model, links=links))

    finding = found(limited(rocker=(-0.1, 0.1)), "joint 'joint3'")
    assert finding.level == "error" and "no assembly" in finding.what
    fine = limited(rocker=tuple(robot.assemble([0.5])[0][2] + np.array([-0.01, 0.01])))
    assert not any("assembly" in f.what for f in fine.check() if f.level == "error")


def test_closures_that_conflict_are_named():
    robot = four_bar()
    both = (robot.model.closures[0], pin("crank", None, 0.1, 5.0))
    with pytest.raises(ModelError, match="each of them closes by itself"):
        dy.Robot(replace(robot.model, closures=(both[0], pin("coupler", "base", 0.35, 0.3))))
    with pytest.raises(ModelError, match="stays open") as raised:
        dy.Robot(replace(robot.model, closures=both))
    assert "conflict" not in str(raised.value)


def test_dynamics_is_checked_where_it_closes():
    """A coupler and rocker without any inertia, and a crank without one: nothing resists."""
    robot = four_bar()
    links = tuple(replace(x, mass=0.0, inertia=None) for x in robot.model.links)
    robot = dy.Robot(replace(robot.model, links=links))
    finding = found(robot, "joint 'joint1'")
    assert finding.level == "error" and "singular mass matrix everywhere" in finding.what
    flat = dy.Robot(replace(four_bar().model, gravity=(0.0, 0.0, -9.81)))
    assert "no joint feels" in found(flat, "gravity").what


def test_symbols_without_a_value_wait():
    links = list(four_bar().model.links)
    links[1] = replace(links[1], mass="m2")
    robot = dy.Robot(replace(four_bar().model, links=tuple(links)))
    assert "m2" in found(robot, "values").what
    assert found(robot.with_values(m2=1.0), "mobility").level == "note"
