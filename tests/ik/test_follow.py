"""Closed mechanisms follow their drives without a jump, and stop where they cannot go on."""

import numpy as np

import dynamis as dy
from dynamis.ik.follow import FASTEST, follow
from tests.closed_mechanisms import bar, five_bar, four_bar, made, motions

CLOSED = 1e-8


def test_it_stays_in_its_assembly(compiled):
    """A whole turn of the crank comes back to where it began, in either assembly."""
    robot = four_bar()
    for q in robot.assemble([0.4]):
        found = follow(robot, q, [0.4 + 2 * np.pi])
        assert found.reason == ""
        turned = (found.q - q) / (2 * np.pi)
        assert np.abs(turned - np.round(turned)).max() < CLOSED
        assert np.abs(robot.closure_error(found.q)).max() < CLOSED


def test_the_drives_are_where_they_should_be():
    robot = five_bar()
    q = motions(robot, 1)[0][0]
    goal = q[[0, 2]] + [0.3, -0.2]
    found = follow(robot, q, goal)
    assert found.reason == "" and np.array_equal(found.q[[0, 2]], goal)
    assert np.abs(robot.closure_error(found.q)).max() < CLOSED
    assert follow(robot, found.q, goal).q.tolist() == found.q.tolist()


def wide():
    """Cranks 1.2 m apart: the couplers can be pulled straight."""
    links = [
        bar("a1", length=0.3), bar("a2", "a1", (0.3, 0, 0), passive=True),
        bar("b1", xyz=(1.2, 0, 0), length=0.3), bar("b2", "b1", (0.3, 0, 0), passive=True),
    ]  # fmt: skip
    ends = ({"xyz": (0.4, 0, 0)}, {"xyz": (0.4, 0, 0)})
    return made("wide", links, [dy.Closure(kind="pin", between=("a2", "b2"), frames=ends)])


def test_it_stops_before_it_cannot_close():
    """Cranks apart by more than both couplers: it stops where these are nearly in line."""
    robot = wide()
    q = robot.assemble([0.5, np.pi - 0.5])[0]
    found = follow(robot, q, [np.pi, 0.0])
    assert "singular" in found.reason or "cannot be closed" in found.reason
    assert np.abs(robot.closure_error(found.q)).max() < CLOSED
    rates = robot.joint_rates(found.q, np.eye(2))
    assert np.abs(rates).max() <= FASTEST
    ends = robot.frames(found.q)[[2, 4], :3, 3]
    assert 0.79 < np.linalg.norm(ends[1] - ends[0]) < 0.8  # of 0.8 m
    back = follow(robot, found.q, q[[0, 2]])  # and comes back
    assert back.reason == "" and np.abs(back.q - q).max() < 1e-6
