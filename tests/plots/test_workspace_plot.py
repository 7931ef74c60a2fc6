"""Maps of workspaces: where the tool can be by geometry, conditioning, singular curves, words."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import dynamis as dy
from dynamis.errors import OptionError, ShapeError
from dynamis.ik.workspace import workspace

FEET = np.array([-0.125, 0.125])


def distances(found):
    """Of the points of a map from both motors of the five-bar, (2, b, a)."""
    return np.hypot(found.x - FEET[:, None, None], found.y[:, None])


def test_the_five_bar_reaches_where_both_legs_do():
    """Rings between 0.35 - 0.23 m and 0.35 + 0.23 m about the motors."""
    robot = dy.load("five-bar")
    found = workspace(robot, points=24, limits=False, extent=((-0.5, 0.5), (-0.61, 0.6)))
    r = distances(found)
    assert (found.plane, found.at, found.one_mode) == ("xy", 0.0, False)
    np.testing.assert_array_equal(found.reached, ((r > 0.12) & (r < 0.58)).all(axis=0))
    q = found.q[found.reached]
    tools = robot.fk(q)[:, :2, 3]
    rows, columns = np.nonzero(found.reached)
    np.testing.assert_allclose(tools, np.stack([found.x[columns], found.y[rows]], 1), atol=1e-9)
    inside = found.conditioning[found.reached]
    assert (inside > 0).all() and (inside <= 1).all() and np.isnan(found.conditioning).any()


def test_a_working_mode_is_followed(compiled):
    """Elbows stay on the same sides; both kinds of singularities change the sign of `sides`."""
    robot = dy.load("five-bar")
    home = robot.configurations["home"]
    found = workspace(robot, q0=home, points=40, limits=False)
    assert found.one_mode and found.reached.sum() > 300
    q = found.q[found.reached]
    assert (np.sin(q[:, 1]) < 0).all() and (np.sin(q[:, 3]) > 0).all()
    sides = found.sides[found.reached]
    assert sides.min() < 0 < sides.max()
    # of the parallel kind: couplers in one line, sin of the angle between them
    couplers = np.sin(q[:, 0] + q[:, 1] - q[:, 2] - q[:, 3])
    np.testing.assert_array_equal(np.sign(sides) * np.sign(couplers), np.sign(sides * couplers)[0])


def test_limits_and_orientation_count():
    arm = dy.load("palletizer")  # by a search that follows from home
    home = arm.configurations["home"]
    found = workspace(arm, points=8, extent=((1.3, 1.8), (0.9, 1.5)))
    assert found.one_mode and found.plane == "xz" and found.reached.all()
    low, high = arm.limits.T
    q = found.q.reshape(-1, arm.n)
    assert ((q >= low - 1e-9) & (q <= high + 1e-9)).all()
    np.testing.assert_allclose(arm.fk(q)[:, :3, :3], [arm.fk(home)[:3, :3]] * len(q), atol=1e-8)


@pytest.mark.parametrize("name", ["delta", "planar-2link"])
def test_a_picture(name, tmp_path):
    robot = dy.load(name)
    figure = robot.plot_workspace(tmp_path / "map.png", points=16)
    assert isinstance(figure, Figure) and (tmp_path / "map.png").stat().st_size > 5000
    axes, bar = figure.axes
    assert axes.get_xlabel() == "x (m)" and axes.get_ylabel() in ("y (m)", "z (m)")
    assert name in axes.get_title() and "best of all solutions" in axes.get_title()
    assert "condition number" in bar.get_ylabel()


def test_curves_are_named(compiled):
    robot = dy.load("five-bar")
    figure = robot.plot_workspace(q0=robot.configurations["home"], points=40, limits=False)
    legend = figure.axes[0].get_legend()
    assert [x.get_text() for x in legend.get_texts()] == ["singular: parallel (type 2)"]
    assert "one working mode" in figure.axes[0].get_title()


def test_what_is_wrong_is_said():
    robot = dy.load("delta")
    with pytest.raises(OptionError, match=r"reaches no point of the plane xy at 5 m"):
        robot.plot_workspace(plane="xy", at=5.0)
    with pytest.raises(OptionError, match="plane"):
        robot.plot_workspace(plane="zz")
    with pytest.raises(OptionError, match="extent is"):
        robot.plot_workspace(extent=((1, 0), (0, 1)))
    with pytest.raises(ShapeError, match="q0"):
        robot.plot_workspace(q0=[0.0, 1.0])
    with pytest.raises(OptionError, match="ax is"):
        robot.plot_workspace(ax=3)


def test_the_title_says_what_is_fixed():
    """A joint that has one value at all points, the orientation of the tool, no limits."""
    arm = dy.load("scara")
    figure = arm.plot_workspace(plane="xy", points=8, limits=False)
    first, second = figure.axes[0].get_title().split("\n")
    found = workspace(arm, plane="xy", points=8, limits=False)
    z = found.q[found.reached][:, 2]
    assert np.ptp(z) < 1e-9 and second == f"fixed: joint3 = {z[0]:.3g} m, no joint limits"
    assert "plane xy at z" in first
    puma = workspace(dy.load("puma560"), points=6)
    assert puma.fixed[-1] == "orientation of the tool"
    mask = (1, 0, 1, 0, 1, 0)
    assert workspace(dy.load("planar-rr"), points=5, task=(1, 1, 0, 0, 0, 0)).fixed == ()
    assert workspace(dy.load("kr16"), points=4, task=mask).fixed[-1] == "turn of the tool about y"
