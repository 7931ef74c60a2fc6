"""Inverse kinematics by hand next to that of robot.ik."""

import numpy as np
import pytest

import dynamis as dy
from dynamis import transforms
from dynamis.errors import DynamisError, OptionError

from ..thorough import thorough_but
from .arms import arm

# -- inverse kinematics by hand ------------------------------------------------------------------

HAND_QUICK = ("planar-rr", "scara", "puma560", "stanford")
BY_HAND = ("planar-rr", "pendulum3", "planar-rp", "scara", "polar-rp", "stanford", "puma560",
           "puma560-mdh", "elbow6", "kr16", "irb120", "kr6-r900", "tx60", "gp7",
           "lrmate200id", "irb140")  # fmt: skip
BASE = {"xyz": (0.1, 0.2, 0.3), "rpy": (0.4, -0.5, 0.6)}
TOOL = {"xyz": (0.05, -0.1, 0.2), "rpy": (0.3, 0.2, -0.4)}
MADE = {
    "two": (arm([(0.5, 0, 0.1), (0.4, 1, 0)], base=BASE, tool=TOOL), "position"),
    "three": (arm([(0.5, 0, 0.1), (0.4, 0, 0), (0.2, 0, 0)], base=BASE,
                  tool={"xyz": (0.1, 0.1, 0)}), "planar"),
    "scara4": (arm([(0.5, 0, 0.4), (0.4, 2, 0), (0, 0, "P"), (0, 0, 0.1)], base=BASE, tool=TOOL),
               "planar"),
    "anthropomorphic": (arm([(0.1, 1, 0.4), (0.5, 0, 0.1), (0.3, 0, -0.2)], base=BASE, tool=TOOL),
                        "position"),
    "polar": (arm([(0.1, -1, 0.4), (0.2, 1, 0.1), (0, 0, "P")], base=BASE, tool=TOOL), "position"),
    "six": (arm([(0.1, -1, 0.4), (0.5, 0, 0.1), (0.05, 1, 0), (0, -1, 0.4), (0, -1, 0),
                 (0.1, 1, 0.1)], base=BASE, tool=TOOL), "pose"),
    "two against": (arm([(0.5, 2, 0.1), (0.4, 1, 0)], base=BASE, tool=TOOL), "position"),
    "three against": (arm([(0.5, 2, 0.1), (0.4, 2, 0.3), (0.2, 0, 0)], base=BASE), "planar"),
    "scara against": (arm([(0.5, 2, 0.4), (0.4, 0, 0), (0, 2, "P"), (0, 0, 0.1)], tool=TOOL),
                      "planar"),
    "anthropomorphic against": (arm([(0.1, 1, 0.4), (0.5, 2, 0.1), (0.3, 1, -0.2)], tool=TOOL),
                                "position"),
    "six against": (arm([(0.1, -1, 0.4), (0.5, 2, 0.1), (0.05, -1, 0.2), (0, 1, 0.4), (0, -1, 0),
                         (0.1, 1, 0.1)], base=BASE, tool=TOOL), "pose"),
    "six modified": (arm([(0.1, 1, 0.2), (0.1, -1, 0.1), (0.5, 0, 0.1), (0.05, 1, 0.4), (0, 1, 0),
                          (0, 1, 0.1)], "modified", base=BASE, tool=TOOL), "pose"),
}  # fmt: skip


def check_solutions(robot, needs, draws=4):
    """Every branch reaches the pose, and they are those that robot.ik finds."""
    inverse = robot.equations(what="kinematics").inverse
    assert inverse is not None
    rng = np.random.default_rng(1)
    turning_ = np.array([kind == "revolute" for kind in robot.joint_kinds])
    for _ in range(draws):
        q = np.where(turning_, rng.uniform(-2.0, 2.0, robot.n), rng.uniform(0.2, 0.8, robot.n))
        T = robot.fk(q)
        found = inverse.solve(T)
        rows = (slice(3), 3) if needs == "position" else (slice(3), slice(4))
        for x in found:
            assert np.allclose(robot.fk(x)[rows], T[rows], rtol=0, atol=1e-8)
        near = [np.abs(np.where(turning_, np.exp(1j * (x - q)) - 1, x - q)).max() for x in found]
        assert min(near) < 1e-7
        task = {"position": "position", "pose": "pose"}.get(needs)
        if task is not None:
            others = robot.ik(T, task=task, limits=False).q
            assert len(others) == len(found)
            for x in others:
                gaps = np.where(turning_, np.exp(1j * (found - x)) - 1, found - x)
                assert np.abs(gaps).max(axis=-1).min() < 1e-6


@pytest.mark.parametrize("name", thorough_but(HAND_QUICK, BY_HAND))
def test_solutions_by_hand_are_those_of_ik(name):
    robot = dy.load(name)
    inverse = robot.equations(what="kinematics").inverse
    assert inverse is not None
    planar = name == "pendulum3"
    check_solutions(robot, "planar" if planar else inverse.needs)


@pytest.mark.parametrize("name", MADE)
def test_solutions_with_base_tool_and_offsets(name):
    check_solutions(*MADE[name])


def test_a_pose_out_of_reach_has_no_solution():
    robot = dy.load("puma560")
    inverse = robot.equations(what="kinematics").inverse
    assert inverse is not None
    assert inverse.solve(transforms.translation(5.0, 0, 0)).shape == (0, 6)


@pytest.mark.parametrize("name", ["ur5", "panda", "sixr", "cartesian-xy"])
def test_arms_without_a_form_say_so(name):
    equations = dy.load(name).equations(what="kinematics")
    assert equations.inverse is None
    if name != "panda":
        assert "No closed form by hand" in equations.steps.text()


def test_what_is_no_pose_and_values_of_letters():
    inverse = dy.load("planar-rr").equations(what="kinematics").inverse
    assert inverse is not None
    for T in ("x", None, np.eye(3), np.full((4, 4), np.nan), 2 * np.eye(4), np.zeros((2, 4, 4))):
        with pytest.raises(DynamisError, match="T "):
            inverse.solve(T)
    with pytest.raises(OptionError, match="has no symbol 'L9'"):
        inverse.solve(np.eye(4), L9=1.0)
    with pytest.raises(DynamisError, match="L1"):
        inverse.solve(np.eye(4), **{"L1": "long"})  # type: ignore[arg-type]
    at = transforms.translation(0.7, 0.0)
    assert np.allclose(
        np.sort(inverse.solve(at, L1=0.5, L2=0.5)[:, 0]), [-0.7954, 0.7954], atol=1e-4
    )


def test_a_stretched_arm_has_one_solution():
    """There the root under S3 is zero to rounding."""
    robot = dy.load("planar-rr")
    inverse = robot.equations(what="kinematics").inverse
    assert inverse is not None
    for angle in np.linspace(-3.0, 3.0, 7):
        found = inverse.solve(robot.fk([angle, 0.0]))
        assert len(found) >= 1
        assert np.allclose(found, [angle, 0.0], rtol=0, atol=1e-6)


def test_bars_without_length_have_no_form():
    assert arm([(0, 0, 0.1), (0.4, 0, 0)]).equations().kinematics.inverse is None
    assert arm([(0, 1, 0), (0, 0, 0), (0.4, 0, 0)]).equations().kinematics.inverse is None
