"""Singularities of both kinds: found where geometry says they are, and named."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ClosureError, OptionError

from ..closed_mechanisms import CLOSED

FEET, CRANK, COUPLER = 0.125, 0.23, 0.35


@pytest.mark.parametrize("name", CLOSED)
def test_home_is_regular(name):
    robot = dy.load(name)
    found = robot.singularity(robot.configurations["home"])
    assert found.kind == "regular" and found.reason == "" and found.worst < 100
    assert "regular" in repr(found)


def five_bar_stretched(angle=1.0):
    """The left leg stretched at an angle: the tip cannot go further that way."""
    robot = dy.load("five-bar")
    tip = np.array([-FEET, 0, 0]) + (CRANK + COUPLER) * np.array([np.cos(angle), np.sin(angle), 0])
    return robot, robot.ik(tip).q[0]


def five_bar_in_line():
    """Both couplers in one line: with the cranks held the tip moves across it."""
    a = np.arccos((COUPLER - FEET) / CRANK)
    return dy.load("five-bar"), np.array([np.pi - a, a - np.pi, a, np.pi - a])


def test_a_stretched_leg_is_serial():
    robot, q = five_bar_stretched()
    found = robot.singularity(q)
    assert found.kind == "serial" and found.serial > 1e6 and found.parallel < 10
    assert "the tool cannot move along (0.540, 0.841, 0.000)" in found.reason
    J = robot.drive_jacobian(q)[:2]
    lost = np.array([np.cos(1.0), np.sin(1.0)])
    assert np.abs(lost @ J).max() < 1e-6 < np.abs(J).max()


def test_couplers_in_line_are_parallel():
    robot, q = five_bar_in_line()
    found = robot.singularity(q)
    assert found.kind == "parallel" and found.parallel > 1e6 and found.serial < 100
    assert "the tool moves along (0.000, 1.000, 0.000) with the drives held" in found.reason
    assert "left_elbow, right_elbow" in found.reason
    assert robot.closure_status(q) == 1.0


def test_a_stretched_leg_of_the_delta_is_serial():
    robot = dy.load("delta")
    foot, corner = np.sqrt(3) / 6 * 0.567, np.sqrt(3) / 3 * 0.076
    reach, angle = 0.524 + 1.244, 1.75
    # leg 1 stretched in its own plane, at an angle below the horizontal; outwards is -y
    point = (0, -(foot - corner + reach * np.cos(angle)), -reach * np.sin(angle))
    found = robot.ik(point)
    q = found.q[0]
    assert q[0] == pytest.approx(angle, abs=1e-6)
    s = robot.singularity(q)
    assert s.kind == "serial" and s.serial > 1e5 and s.parallel < 1e3
    along = np.array([0, -np.cos(angle), -np.sin(angle)])
    assert np.abs(along @ robot.drive_jacobian(q)[:3]).max() < 1e-5


def test_forearms_in_a_plane_of_the_delta_are_parallel():
    """All knees at the platform's height: the forearms cannot hold it up."""
    foot, corner = np.sqrt(3) / 6 * 0.567, np.sqrt(3) / 3 * 0.076
    # knees at the distance of the forearm from the corners: foot + L cos(theta) - corner = l
    cosine = (1.244 + corner - foot) / 0.524
    assert cosine > 1.0  # this delta cannot: shorten its forearms
    robot = dy.load("delta")
    length = foot + 0.524 * np.cos(0.4) - corner
    model = robot.model
    closures = tuple(
        dy.Closure(kind="ball", name=x.name, between=x.between,
                   frames=({"xyz": (length, 0, 0)}, x.frames[1]))
        for x in model.closures
    )  # fmt: skip
    height = -0.524 * np.sin(0.4)
    q = np.array([0.4, np.pi - 0.4, 0.0] * 3 + [0, 0, height])
    short = dy.Robot.from_dh(
        "short", convention="urdf", links=model.links, closures=closures, tool_link="platform",
        configurations={"flat": q},
    )  # fmt: skip
    assert np.abs(short.closure_error(q)).max() < 1e-12
    found = short.singularity(q)
    assert found.kind == "parallel" and "the tool moves along (0.000, 0.000, 1.000)" in found.reason


def test_condition_numbers_are_those_of_both_jacobians():
    """Gosselin and Angeles: A v = B (rates of the drives); both by hand of the five-bar."""
    robot = dy.load("five-bar")
    q = robot.assemble([2.0, 1.2])[0]
    N = np.linalg.svd(robot.closure_jacobian(q)[[0, 1]])[2][2:].T
    J = robot.jacobian(q)[:2] / 0.35
    assert robot.singularity(q).parallel == pytest.approx(np.linalg.cond(N[[0, 2]]), rel=1e-9)
    assert robot.singularity(q).serial == pytest.approx(np.linalg.cond(J @ N), rel=1e-9)


def test_batches_are_single_ones():
    robot, q = five_bar_in_line()
    rows = np.array([robot.configurations["home"], q, five_bar_stretched()[1], np.full(4, np.nan)])
    found = robot.singularity(rows.reshape(2, 2, 4))
    assert found.kind[:, :].tolist() == [["regular", "parallel"], ["serial", "regular"]]
    assert np.isnan(found.serial[1, 1]) and "2 of 4" in repr(found)
    assert found.serial[1, 0] == pytest.approx(robot.singularity(rows[2]).serial, rel=1e-6)
    assert robot.singularity(rows[:0]).serial.shape == (0,)


def test_open_arms_and_wrong_input():
    arm = dy.load("planar-2link")
    found = arm.singularity([0.3, 0.0])
    assert found.kind == "serial" and found.parallel == 1.0
    assert f"({np.cos(0.3):.3f}, {np.sin(0.3):.3f}, 0.000)" in found.reason
    puma = dy.load("puma560")
    assert puma.singularity(puma.configurations["ready"] + 0.3).kind == "regular"
    robot = dy.load("five-bar")
    with pytest.raises(ClosureError, match="does not close: tip"):
        robot.singularity(robot.configurations["home"] + (0.1, 0, 0, 0))
    with pytest.raises(OptionError, match="condition"):
        robot.singularity(robot.configurations["home"], condition=-1)
