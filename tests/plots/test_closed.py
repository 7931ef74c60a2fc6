"""Pictures of closed mechanisms: bars end at closures, drives and passive joints are told apart."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.plots import run_plot, skeleton
from dynamis.plots.scene import view_of
from dynamis.plots.skeleton import STYLES, strokes
from dynamis.robot.placing import closure_frames, joint_frames
from tests.closed_mechanisms import five_bar, four_bar, made, motions

from .fakes import FakeRun

EXACT = 1e-9


def mobile_platform(kind="rod"):
    """A plate on three virtual coordinates, held by two rods (or other closures) of the base."""
    links = [
        dy.Link(name="x", joint="prismatic", axis=(1, 0, 0), passive=True),
        dy.Link(name="z", joint="prismatic", axis=(0, 0, 1), parent="x", passive=True),
        dy.Link(name="plate", axis=(0, 1, 0), parent="z", mass=1.0, inertia=(1, 1, 1)),
    ]
    closures = [
        dy.Closure(kind=kind, between=(None, "plate"), length=0.5,
                   frames=({"xyz": (s, 0, 0)}, {"xyz": (0.5 * s, 0, 0)}))
        for s in (-0.4, 0.4)
    ]  # fmt: skip
    return made("plate", links, closures, configurations={"home": (0.0, 0.4582575694955840, 0.0)})


def test_bars_go_from_links_to_their_closures():
    robot = five_bar()
    q = motions(robot, 3)[0]
    arm, frames = skeleton(robot, q), robot.frames(q)
    assert arm.bars.shape == (3, 2, 2, 3)
    for k, link in enumerate((2, 4)):  # a2 and b2
        np.testing.assert_allclose(arm.bars[:, k, 0], frames[:, link, :3, 3], atol=EXACT)
        tip = frames[:, link, :3, 3] + 0.4 * frames[:, link, :3, 0]
        np.testing.assert_allclose(arm.bars[:, k, 1], tip, atol=EXACT)
    np.testing.assert_allclose(arm.ends[:, 0, 0], arm.ends[:, 0, 1], atol=EXACT)
    lengths = np.linalg.norm(np.diff(arm.sticks, axis=-2)[..., 0, :], axis=-1)
    np.testing.assert_allclose(lengths.sum(-1), 0.3 + 0.3 + 0.4 + 0.4, atol=EXACT)
    np.testing.assert_allclose(  # the base is a part of its own
        np.linalg.norm(np.diff(arm.ground, axis=-2)[..., 0, :], axis=-1).sum(-1), 0.4, atol=EXACT
    )


def test_frames_of_closures_and_joints_are_those_of_the_conditions():
    robot = five_bar()
    q = motions(robot, 2)[0] + 0.05  # open
    A, B = np.moveaxis(closure_frames(robot, robot.frames(q))[:, 0], 1, 0)
    apart = np.einsum("kij,ki->kj", A[:, :3, :3], B[:, :3, 3] - A[:, :3, 3])
    np.testing.assert_allclose(robot.closure_error(q)[:, :3], apart, atol=EXACT)
    np.testing.assert_allclose(
        joint_frames(robot, robot.frames(q))[:, :, :3, 2],
        np.tile([0, 0, 1.0], (2, 4, 1)),
        atol=EXACT,
    )


def test_drives_passive_joints_and_closures_look_different():
    robot = five_bar()
    arm = skeleton(robot, motions(robot, 1)[0][0])
    drawn = strokes(arm, arm.reach)
    assert len(drawn["driven revolute joints"]) == len(drawn["passive revolute joints"]) == 2
    assert len(drawn["pin closures"]) == 2 and "revolute joints" not in drawn
    looks = [STYLES[f"{word} revolute joints"] for word in ("driven", "passive")]
    assert looks[0].face != looks[1].face and looks[0].size > looks[1].size
    assert set(drawn) <= set(STYLES)


def test_a_platform_hangs_on_its_rods_alone():
    robot = mobile_platform()
    arm = skeleton(robot, robot.configurations["home"])
    drawn = strokes(arm, arm.reach)
    assert arm.parts[:4] == ("virtual",) * 4
    assert not [name for name in drawn if "prismatic" in name]
    rods = drawn["rods"].reshape(2, 3, 3)[:, :2]
    np.testing.assert_allclose(np.linalg.norm(rods[:, 1] - rods[:, 0], axis=-1), 0.5, atol=EXACT)
    assert len(arm.ground) == 2  # to the feet of the rods


def test_a_planar_mechanism_is_seen_face_on():
    robot = four_bar()
    view = view_of(robot, skeleton(robot, robot.assemble([0.7])[0]))
    assert view.flat and abs(view.normal[2]) == pytest.approx(1.0)


def test_pictures_are_written(tmp_path):
    robot = four_bar()
    q = np.array([robot.assemble([x])[0] for x in (0.3, 0.8)])
    robot.plot(q, path=tmp_path / "four.png")
    robot.plot(q[0] + 0.1, path=tmp_path / "open.png")  # shows where it is open
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("four.png", "open.png"))


def test_strokes_keep_their_names_while_it_moves():
    robot = five_bar()
    arm = skeleton(robot, motions(robot, 5)[0])
    names = [list(strokes(arm[k], arm.reach)) for k in range(5)]
    assert names.count(names[0]) == 5


def test_a_run_is_drawn_by_its_drives():
    """Torques and errors of passive joints do not exist: no panel is empty."""
    robot = five_bar()
    start = robot.home[[0, 2]]
    run = dy.simulate(
        robot, 0.004, 0.002, reference=start, controller=dy.control.JointPID(kp=1.0, kd=0.1)
    )
    few = run.plot(what=("q", "tau", "error"))
    assert len(few.axes) == 6
    every = run.plot(what=("q", "tau", "error"), joints=robot.joint_names)
    assert len(every.axes) == 4 + 2 + 2
    for figure in (few, every):
        assert all(np.isfinite(x.get_ydata()).any() for ax in figure.axes for x in ax.lines[:1])


def test_a_quantity_without_slides_fills_its_row():
    robot = dy.load("delta")  # three passive slides
    t = np.linspace(0.0, 1.0, 5)
    q = robot.home + 0.1 * np.sin(t[:, None])
    run = FakeRun(robot, t, q, q, np.ones_like(q))
    figure = run_plot.plot_run(run, ("q", "tau"), joints=robot.joint_names)
    first, second, torque = figure.axes
    figure.draw_without_rendering()
    spans = [axes.get_position() for axes in (first, second, torque)]
    assert spans[2].x0 == pytest.approx(spans[0].x0, abs=0.02)
    assert spans[2].x1 == pytest.approx(spans[1].x1, abs=0.02)
    assert torque.get_title() == "torque"
