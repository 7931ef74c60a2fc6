"""Pictures of free bodies: arrows where and as long as the forces are, moments, the table."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.plots.free_body_plot import JOINT, LONGEST, ONWARD, WEIGHT

STRETCHED = [0.0, 0.0, 0.0]


def lines(axes, colour):
    return [x for x in axes.lines if x.get_color() == colour and len(x.get_xdata()) >= 2]


def test_forces_are_arrows_to_one_scale_at_their_points():
    """A bar at rest: 58.8 N upwards at its joint, 29.4 N downwards at its end and in its middle."""
    body = dy.load("pendulum3").free_body("link2", STRETCHED)
    axes = body.plot().axes[0]
    for source, colour, x, share in (
        ("joint2", JOINT, 1.0, 1.0), ("link3", ONWARD, 2.0, -0.5), ("weight", WEIGHT, 1.5, -0.5),
    ):  # fmt: skip
        arrow = lines(axes, colour)[0].get_xydata()
        np.testing.assert_allclose(arrow[0], [x, 0.0], atol=1e-12)
        np.testing.assert_allclose(arrow[1] - arrow[0], [0.0, LONGEST * share], atol=1e-12)
        assert body[source].force[1] == pytest.approx(58.8 * share)


def test_moments_in_a_plane_are_arcs_the_way_they_turn():
    """Counter-clockwise at the joint (+z, towards the eye), clockwise at the end."""
    body = dy.load("pendulum3").free_body("link2", STRETCHED)
    axes = body.plot().axes[0]
    for colour, centre, sign in ((JOINT, [1.0, 0.0], 1.0), (ONWARD, [2.0, 0.0], -1.0)):
        arc = next(x for x in lines(axes, colour) if len(x.get_xdata()) > 2).get_xydata() - centre
        angle = np.unwrap(np.arctan2(arc[:, 1], arc[:, 0]))
        assert sign * (angle[-1] - angle[0]) > np.pi
        np.testing.assert_allclose(np.hypot(*arc.T), np.hypot(*arc[0]), atol=1e-12)


def test_an_arm_in_space_has_moments_with_two_heads_and_a_table(tmp_path):
    body = dy.load("elbow6").with_payload(3.0).free_body(1, [0.3, -0.8, 0.9, 0.4, 0.5, 0.6])
    figure = body.plot(path=tmp_path / "body.png")
    assert isinstance(figure, Figure) and (tmp_path / "body.png").stat().st_size > 10_000
    axes = figure.axes[0]
    assert axes.name == "3d"
    own = [np.array(x.get_data_3d()).T for x in axes.lines if x.get_color() == JOINT]  # type: ignore
    force, moment = (x[1] - x[0] for x in (own[0], own[3]))  # each with two wings, or four
    assert len(own) == 2 + 2 + 4
    for arrow, value in ((force, body["joint2"].force), (moment, body["joint2"].moment)):
        np.testing.assert_allclose(np.cross(arrow, value), 0.0, atol=1e-9)
        assert arrow @ value > 0.0
    (table,) = figure.axes[1].tables
    cells = {key: cell.get_text().get_text() for key, cell in table.get_celld().items()}
    assert cells[1, 0] == "$f_{2}$" and cells[1, 1] == "joint2"
    force = body["joint2"].force
    assert float(cells[1, 4]) == pytest.approx(force[2], rel=1e-3)


def test_words_in_spanish():
    body = dy.load("pendulum3").free_body("link2", STRETCHED)
    figure = body.plot(language="es")
    (table,) = figure.axes[1].tables
    said = {cell.get_text().get_text() for cell in table.get_celld().values()}
    assert {"de", "módulo", "peso", "joint2"} <= said and "weight" not in said
    assert figure.get_suptitle() == "pendulum3: cuerpo libre de link2"
    with pytest.raises(OptionError, match="language"):
        body.plot(language="fr")


def test_axes_of_ones_own():
    figure = Figure()
    flat = figure.add_subplot(1, 2, 1)
    body = dy.load("pendulum3").free_body("link1", STRETCHED)
    assert body.plot(ax=flat) is figure and flat.lines
    space = figure.add_subplot(1, 2, 2, projection="3d")
    body.plot(ax=space)
    assert space.lines
    arm = dy.load("elbow6").free_body(0, np.zeros(6))
    with pytest.raises(OptionError, match="moves in space"):
        arm.plot(ax=flat)
    with pytest.raises(OptionError, match="expected matplotlib axes"):
        arm.plot(ax="left")
    with pytest.raises(OptionError, match="suffix"):
        arm.plot(path="picture.xyz")
