"""Pictures of arms: the right points, the right scale, clear refusals."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import dynamis as dy
from dynamis.errors import FileError, OptionError, ShapeError
from dynamis.plots import plot_robot, scene, skeleton
from dynamis.plots.scene import bodywork
from tests.thorough import thorough_but


def line(axes, name):
    return next(found for found in axes.lines if found.get_label() == f"_{name}")


def test_sticks_of_the_picture_end_at_the_tool():
    robot = dy.load("puma560")
    q = robot.configurations["nominal"]
    (axes,) = plot_robot(robot, q, links="sticks").axes
    drawn = np.array(line(axes, "sticks").get_data_3d()).T
    np.testing.assert_allclose(drawn[-2], robot.fk(q)[:3, 3], atol=1e-12)


def test_planar_arm_is_drawn_on_flat_axes():
    robot = dy.load("pendulum3")
    q = np.array([0.1, 0.2, 0.3])
    (axes,) = robot.plot(q, links="sticks").axes
    assert axes.name == "rectilinear"
    assert axes.get_aspect() == 1.0
    drawn = line(axes, "sticks").get_xydata()
    np.testing.assert_allclose(drawn[-2], robot.fk(q)[:2, 3], atol=1e-12)


@pytest.mark.parametrize("name", ["puma560", "rppr", "ur10e", "scara"])
def test_scales_are_equal_and_everything_fits(name):
    robot = dy.load(name)
    (axes,) = plot_robot(robot, np.full(robot.n, 0.3), links="sticks").axes
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    assert np.ptp(axes._box_aspect / np.diff(limits).ravel()) < 1e-9
    for name_ in ("sticks", "x axes", "y axes", "z axes"):
        points = np.array(line(axes, name_).get_data_3d())
        assert (np.nanmin(points, axis=1) > limits[:, 0]).all()
        assert (np.nanmax(points, axis=1) < limits[:, 1]).all()


@pytest.mark.parametrize("size", [(6.4, 5.6), scene.SIZE])
@pytest.mark.parametrize(
    "name", thorough_but(["stanford"], ["puma560", "panda", "stanford", "scara", "ur10e"])
)
def test_no_label_is_cut(name, size):
    robot = dy.load(name)
    figure = plot_robot(robot, np.zeros(robot.n))
    figure.set_size_inches(size)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    for text in (figure._suptitle, axes.xaxis.label, axes.yaxis.label, axes.zaxis.label):
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1


def test_joints_are_marked_by_kind():
    robot = dy.load("rppr")
    (axes,) = plot_robot(robot, np.zeros(4), links="sticks").axes
    assert len(line(axes, "revolute joints").get_data_3d()[0]) == 2
    assert len(line(axes, "prismatic joints").get_data_3d()[0]) == 2
    assert line(axes, "prismatic joints").get_marker() == "s"


def test_several_positions_leave_ghosts():
    robot = dy.load("pendulum3")
    (axes,) = plot_robot(robot, np.zeros((4, 3)), frames=False, links="sticks").axes
    sticks = [found for found in axes.lines if found.get_label() == "_sticks"]
    assert [found.get_alpha() is None for found in sticks] == [False, False, False, True]
    assert not [found for found in axes.lines if found.get_label() == "_x axes"]


@pytest.mark.parametrize("name", ["ur10e", "pendulum3", "stanford"])
def test_solid_links_are_all_in_the_picture(name):
    robot = dy.load(name)
    q = np.full(robot.n, 0.3)
    (axes,) = robot.plot(q).axes
    body = bodywork(robot, skeleton(robot, q[None]))
    corners = body.triangles(robot.frames(q)).reshape(-1, 3)
    if name == "pendulum3":  # of the faces of a flat picture those towards the eye
        (faces,) = axes.collections
        drawn = np.concatenate([path.vertices for path in faces.get_paths()])
        limits = np.array([axes.get_xlim(), axes.get_ylim()])
        corners = corners[:, :2]
        np.testing.assert_allclose(drawn.min(axis=0), corners.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(drawn.max(axis=0), corners.max(axis=0), atol=1e-12)
    else:
        _, faces = axes.collections  # the first is the shadow
        limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
        assert limits[2, 0] == pytest.approx(body.ground.floor)
        assert 3 * len(faces.get_facecolor()) == len(corners)
    assert (corners > limits[:, 0] - 1e-9).all() and (corners < limits[:, 1]).all()
    assert len(np.unique(faces.get_facecolor(), axis=0)) > 8  # shaded


def test_solid_is_the_default_and_other_words_are_refused():
    (axes,) = dy.load("scara").plot(np.zeros(3)).axes
    assert axes.collections and not [x for x in axes.lines if x.get_label() == "_sticks"]
    with pytest.raises(OptionError, match=r"links is 'bones', expected .*sticks"):
        dy.load("scara").plot(np.zeros(3), links="bones")


def test_own_axes_are_used():
    robot, figure = dy.load("pendulum3"), Figure()
    space = figure.add_subplot(projection="3d")
    assert plot_robot(robot, np.zeros(3), ax=space) is figure
    assert space.lines
    with pytest.raises(OptionError, match="projection='3d'"):
        plot_robot(dy.load("puma560"), np.zeros(6), ax=Figure().add_subplot())


def test_a_notebook_shows_the_figure():
    figure = dy.load("scara").plot([0.1, 0.2, 0.1])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_saved_by_suffix(tmp_path):
    robot = dy.load("scara")
    robot.plot(np.zeros(3), path=tmp_path / "arm.png")
    robot.plot(np.zeros(3), path=tmp_path / "arm.svg")
    assert Image.open(tmp_path / "arm.png").size == (960, 840)
    assert "<svg" in (tmp_path / "arm.svg").read_text()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("q", [[0.0] * 5, [[[0.0] * 6]], np.zeros((0, 6)), "ready"])
def test_wrong_shapes_are_named(q):
    with pytest.raises(ShapeError, match=r"expected .*6"):
        plot_robot(dy.load("puma560"), q)


def test_positions_that_are_no_numbers_are_refused():
    with pytest.raises(ShapeError, match="'joint3' is nan"):
        plot_robot(dy.load("puma560"), [0, 0, np.nan, 0, 0, 0])


@pytest.mark.parametrize(
    ("name", "error"), [("arm.xyz", OptionError), ("arm", OptionError), ("no/arm.png", FileError)]
)
def test_bad_paths_leave_nothing(tmp_path, name, error):
    with pytest.raises(error):
        plot_robot(dy.load("scara"), np.zeros(3), path=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_backend_of_the_user_is_left_alone():
    before = mpl.rcParams._get("backend")
    plot_robot(dy.load("scara"), np.zeros(3))
    assert mpl.rcParams._get("backend") is before


def test_importing_dynamis_imports_no_plotting():
    code = (
        "import sys, dynamis; dynamis.load('scara'); "
        "print([m for m in ('matplotlib', 'plotly', 'PIL') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_plotting_does_not_import_pyplot():
    code = (
        "import sys, dynamis, dynamis.plots; dynamis.load('scara').plot([0, 0, 0]); "
        "print('matplotlib.pyplot' in sys.modules, 'plotly' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False False"
