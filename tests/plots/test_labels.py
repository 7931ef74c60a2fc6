"""Names of axes and joints in pictures of arms: the right ones, apart from each other, in sight."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.transforms import Bbox

import dynamis as dy
from dynamis.plots import plot_robot, skeleton
from dynamis.plots.labels import Labels, marks_of
from dynamis.plots.scene import view_of
from tests.closed_mechanisms import five_bar
from tests.thorough import thorough_but


def names(robot, q):
    arm = skeleton(robot, np.array(q, float))
    return {mark.text: mark for mark in marks_of(robot, arm, view_of(robot, arm), arm.reach)}


def placed(figure):
    """Boxes of all names of a picture."""
    figure.draw_without_rendering()
    (labels,) = [x for x in figure.axes[0].get_children() if isinstance(x, Labels)]
    renderer = figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for text, _ in labels.place(renderer)]


def test_axes_and_joints_that_coincide_share_a_name():
    robot = dy.load("puma560")
    found = names(robot, np.zeros(6))
    frames = robot.frames(np.zeros(6))
    assert {"$z_{0}$", "$x_{0},\\,x_{1}$", "joint1, joint2", "joint5, joint6"} <= {*found}
    mark = found["$z_{0}$"]
    np.testing.assert_allclose(mark.back, frames[0, :3, 3])
    np.testing.assert_allclose(np.cross(mark.point - mark.back, frames[0, :3, 2]), 0.0, atol=1e-12)
    every = "".join(found)
    assert all(f"{letter}_{{{k}}}" in every for letter in "xz" for k in range(7))


def test_axes_across_a_plane_are_circles():
    robot = dy.load("planar-rr")
    found = names(robot, [0.3, 0.4])
    assert {"$x_{0}$", "$y_{1}$", "$z_{2}\\,\\odot$", "joint1", "joint2", "tool"} <= {*found}


def test_of_closed_mechanisms_the_drives_are_named():
    robot = five_bar()
    assert {*names(robot, robot.home)} == {robot.joint_names[k] for k in robot.active}


@pytest.mark.parametrize("size", [(6.4, 5.6), (4.2, 3.7)])
@pytest.mark.parametrize(
    "name",
    thorough_but(["planar-rr", "puma560"], ["planar-rr", "puma560", "scara", "ur5e", "stanford"]),
)
def test_names_are_apart_and_in_the_picture(name, size):
    robot = dy.load(name)
    figure = robot.plot(np.zeros(robot.n))
    figure.set_size_inches(size)
    boxes = placed(figure)
    assert len(boxes) > 2 * robot.n
    for one, other in combinations(boxes, 2):
        assert Bbox.intersection(one, other) is None
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1


def test_names_are_left_out_on_request_and_never_formulas():
    links = [dy.Link(a=1.0, mass=1.0, com=(0, 0, 0), joint_name="$\\frac$")]
    robot = dy.Robot.from_dh("one", convention="standard", links=links)
    assert r"\$\frac\$" in names(robot, [0.1])
    assert len(placed(plot_robot(robot, [0.1]))) == len(names(robot, [0.1]))
    for options in ({"labels": False}, {"frames": False}):
        (axes,) = plot_robot(robot, [0.1], **options).axes
        assert not [x for x in axes.get_children() if isinstance(x, Labels)]
