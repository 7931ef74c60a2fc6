"""Outlines of bodies, and the nearest two of them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import dynamis as dy
from dynamis.errors import ShapeError
from dynamis.plots.distance_plot import outline, plot_nearest
from dynamis.spatial.frames import from_xyz_rpy
from dynamis.spatial.functions import MATH
from dynamis.spatial.geometry import box, capsule, nearest, sphere

WORLD = [dy.Plane(offset=-0.9, name="floor"), dy.Sphere(radius=0.1, xyz=(0.5, 0.5, 0.0))]


@pytest.fixture(scope="module")
def pairs():
    return dy.load("puma560").with_simple_shapes().collision_pairs(WORLD)


@pytest.mark.parametrize(
    "solid",
    [
        box(from_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), (0.3, 0.2, 0.5)),
        capsule((0.0, 0.1, 0.2), (0.5, 0.1, 0.7), 0.1),
        sphere((0.3, 0.2, 0.1), 0.2),
    ],
)
def test_outlines_lie_on_their_bodies(solid):
    points = outline(solid)
    points = points[np.isfinite(points).all(axis=1)]
    assert len(points) >= 24
    for p in points:
        found = nearest(solid, sphere(tuple(p.tolist()), 0.0), MATH).distance
        assert -0.11 < found < 1e-9  # half of a circle around an end lies within its capsule


def test_a_picture_of_the_nearest_two(pairs, tmp_path):
    q = [0.3, -0.8, 0.4, 0.0, 0.4, 0.0]
    near = pairs.nearest(q)
    figure = pairs.plot(q, tmp_path / "near.png")
    assert isinstance(figure, Figure) and (tmp_path / "near.png").stat().st_size > 10_000
    (axes,) = figure.axes
    (line,) = [x for x in axes.lines if x.get_label() == "_nearest"]
    found = np.array(line.get_data_3d()).T
    np.testing.assert_allclose(found, np.stack(near.points))
    text = figure.get_suptitle()
    assert all(name in text for name in near.names) and f"{near.distance:.3g} m apart" in text
    colours = {x.get_color() for x in axes.lines if x.get_label().startswith("_body")}
    assert len(colours) == 3 - (near.names[1] == "sphere2")  # its own, the world's, the nearest


def test_what_is_no_position_is_said(pairs):
    with pytest.raises(ShapeError, match="q has shape"):
        plot_nearest(pairs, [0.0, 1.0])
