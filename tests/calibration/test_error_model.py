"""The error model: its motion is that of the robot it makes, its columns are derivatives."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.calibration.as_built import as_built
from dynamis.calibration.error_model import ErrorModel, Postures
from dynamis.model.dh.convert import to_placements

from ..realtime.laws_in_c import kernel_in_c
from .simulated import FRAME, HOLDER, K, built, identifiable, motion, postures

ARMS = ("puma560", "panda", "ur10", "stanford", "scara", "kr16")  # both DH, URDF, prismatic
ALL = {"compliance": True, "harmonics": True, "gear": True, "expansion": True}
EXACT = 1e-12  # m and rad: rounding of a chain


def geometry(arm):
    """The arm with errors of its placements alone."""
    kinds = arm.model.of_kind("zero", "length", "angle")
    return arm._replace(values=np.where(kinds, arm.values, 0.0))


@pytest.mark.parametrize("name", ARMS)
def test_the_robot_as_built_moves_as_its_error_model(name):
    arm = geometry(built(dy.load(name), size=1.0, **ALL))
    q = postures(arm.robot, 8)
    T, found = as_built(arm.model, arm.values).fk(q), motion(arm, q)
    assert np.abs(T[:, :3, 3] - found.p).max() < EXACT
    assert np.abs(T[:, :3, :3] - found.R).max() < EXACT
    assert np.abs(T[:, :3, 3] - arm.robot.fk(q)[:, :3, 3]).max() > 1e-4


def test_offsets_of_joints_stay_in_the_robot_as_built():
    robot = dy.load("ur10").with_link("forearm_link", offset=0.3, axis=(0, 0.6, 0.8))
    arm = geometry(built(robot, size=1.0))
    q = postures(robot, 5)
    found = as_built(arm.model, arm.values)
    assert np.abs(found.fk(q)[:, :3, 3] - motion(arm, q).p).max() < EXACT
    assert found.model.links[2].offset == 0.3


@pytest.mark.parametrize("name", ARMS)
def test_columns_are_derivatives(name):
    arm = built(dy.load(name), size=1.0, **ALL)
    q = postures(arm.robot, 4)
    at = Postures(q, 10.0 * np.sin(q), np.array([-3.0, 1.0, 5.0, 20.0]))
    offset = np.array([0.1, 0.2, 0.3])
    found = arm.model.motion(arm.values, at)
    J, W = found.columns(offset), found.W
    for k, size in enumerate(arm.model.priors):
        step = np.zeros_like(arm.values)
        step[k] = 1e-3 * size
        ends = [arm.model.motion(arm.values + s * step, at, columns=False) for s in (1, -1)]
        moved = (ends[0].point(offset) - ends[1].point(offset)) / (2.0 * step[k])
        turned = (ends[0].R - ends[1].R) @ np.swapaxes(found.R, 1, 2) / (2.0 * step[k])
        name = arm.model.parameters[k].name
        np.testing.assert_allclose(J[k], moved, rtol=1e-6, atol=1e-6 / size * 1e-3, err_msg=name)
        w = np.stack([turned[:, 2, 1], turned[:, 0, 2], turned[:, 1, 0]], axis=1)
        np.testing.assert_allclose(W[k], w, rtol=1e-6, atol=1e-6 / size * 1e-3, err_msg=name)


@pytest.mark.parametrize("name", ARMS)
def test_dynamics_stay_where_geometry_does(name):
    robot = dy.load(name)
    placed = dy.Robot(to_placements(robot.model))
    q = postures(robot, 5)
    a, b = (x.inverse_dynamics(q, np.sin(q), np.cos(q)) for x in (robot, placed))
    np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10 * np.abs(a).max())
    np.testing.assert_allclose(placed.fk(q), robot.fk(q), atol=EXACT)
    assert placed.joint_names == robot.joint_names
    assert placed.limits.tolist() == robot.limits.tolist()


@pytest.mark.filterwarnings("ignore:URDF cannot hold all", "ignore:the axes of joints")
@pytest.mark.parametrize("name", ["puma560", "panda", "ur10"])
def test_files_c_and_tables_hold_the_arm_as_built(name, tmp_path):
    arm = geometry(built(dy.load(name), size=1.0))
    robot = as_built(arm.model, arm.values)
    q = postures(robot, 20)
    T = robot.fk(q)
    for suffix in ("toml", "urdf"):
        robot.save(tmp_path / f"arm.{suffix}")
        again = dy.load(tmp_path / f"arm.{suffix}")
        assert np.abs(again.fk(q) - T).max() < EXACT
        tau = [x.inverse_dynamics(q, q, q) for x in (robot, again)]
        np.testing.assert_allclose(*tau, rtol=1e-12, atol=1e-12 * np.abs(tau[0]).max())
    for convention in ("standard", "modified"):
        assert np.abs(robot.to_dh(convention).fk(q) - T).max() < EXACT
    in_c = kernel_in_c(robot, "fk", tmp_path)(16, q).reshape(-1, 4, 4)
    assert np.abs(in_c - T).max() < EXACT
    assert not [x for x in robot.check() if x.level == "error"]


@pytest.mark.parametrize("name", ARMS)
def test_four_unknowns_a_turn_two_a_slide_and_six_about(name):
    """Poses with base and tool free tell 4 R + 2 P + 6 apart: twelve are base and tool."""
    robot = dy.load(name)
    q = postures(robot, 120)
    kinds = list(robot.joint_kinds)
    expected = 4 * kinds.count("revolute") + 2 * kinds.count("prismatic") + 6
    T = FRAME @ robot.fk(q) @ HOLDER
    about = 11 if name == "scara" else 12  # shifts along its three parallel axes are one
    assert identifiable(robot, [K.Poses(q, T)]).sum() == expected - about
    known = K.Poses(q, T, frame=FRAME, target=HOLDER)
    assert identifiable(robot, [known]).sum() == expected


def test_joint_zeros_come_first():
    """Of two errors that move the tool alike the joint's zero is the one to know."""
    model = ErrorModel(dy.load("puma560"))
    kinds = [x.kind for x in model.parameters]
    assert kinds == ["zero"] * 6 + ["length"] * (18 + 3) + ["angle"] * (12 + 3)
    assert model.parameters[0].name == "joint1.zero"
