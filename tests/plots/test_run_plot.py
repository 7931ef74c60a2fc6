"""Curves of runs: the right data in the right panel with the right unit."""

from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.plots import plot_run

from .fakes import falling, waving


def titled(figure, title):
    return next(axes for axes in figure.axes if axes.get_title() == title)


def units(figure):
    return [axes.get_ylabel() for axes in figure.axes]


def rods(count):
    body = {"mass": 1.0, "com": (0, 0, 0), "inertia": (0.01, 0.01, 0.01)}
    kinds = ["prismatic" if i % 4 == 3 else "revolute" for i in range(count)]
    links = [dy.Link(joint=kind, a=0.2, alpha=0.0, **body) for kind in kinds]
    return dy.Robot.from_dh("rods", convention="standard", links=links)


def test_lines_are_the_arrays_of_the_run():
    run = waving("puma560")
    figure = plot_run(run)
    panels = np.array(figure.axes[:-1]).reshape(6, 4)
    for column, (name, wanted) in enumerate((("q", "q"), ("qd", "qd"), ("tau", None))):
        for joint in range(6):
            lines = panels[joint, column].lines
            assert np.array_equal(lines[0].get_xdata(), run.t)
            assert np.array_equal(lines[0].get_ydata(), getattr(run, name)[:, joint])
            assert len(lines) == (1 if wanted is None else 2)
            if wanted:
                assert np.array_equal(
                    lines[1].get_ydata(), getattr(run.reference, wanted)[:, joint]
                )
                assert lines[1].is_dashed()
                assert not lines[0].is_dashed()
    for joint in range(6):
        assert np.array_equal(panels[joint, 3].lines[0].get_ydata(), run.error[:, joint])


@pytest.mark.parametrize("name", ["planar-rr", "pendulum3", "puma560", "panda"])
def test_one_panel_per_joint_and_quantity_and_one_of_energy(name):
    run = waving(name)
    assert len(plot_run(run).axes) == 4 * run.robot.n + 1


def test_what_does_not_exist_is_left_out():
    run = falling("planar-rr", duration=0.1)
    figure = plot_run(run)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["position", "velocity", "torque", "energy"]
    assert not figure.legends
    run.energy = None
    assert len(plot_run(run).axes) == 6
    with pytest.raises(OptionError, match="nothing of error"):
        plot_run(run, what=("error",))


def test_units_follow_the_kind_of_joint():
    figure = plot_run(waving("rppr"), what=("q", "qd", "tau", "error"))
    turning, sliding = ["rad", "rad/s", "N m", "rad"], ["m", "m/s", "N", "m"]
    assert units(figure) == turning + 2 * sliding + turning
    assert titled(figure, "torque or force")


def test_many_joints_share_panels_but_units_do_not_mix():
    run = waving(rods(12))
    figure = plot_run(run)
    assert len(figure.axes) == 4 * 2 + 1
    assert units(figure)[:-1] == ["rad", "m", "rad/s", "m/s", "N m", "N", "rad", "m"]
    turning = [line for line in figure.axes[0].lines if not line.is_dashed()]
    sliding = [line for line in figure.axes[1].lines if not line.is_dashed()]
    assert [line.get_label() for line in sliding] == ["joint4", "joint8", "joint12"]
    assert len(turning) == 9
    named = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert set(run.robot.joint_names) < set(named)


def test_energy_panel_shows_its_three_parts():
    run = waving("scara")
    axes = titled(plot_run(run, what="energy"), "energy")
    assert axes.get_ylabel() == "J"
    for line in axes.lines:
        assert np.array_equal(line.get_ydata(), getattr(run.energy, line.get_label()))
    assert len(axes.lines) == 3


def test_small_ensembles_are_lines_and_large_ones_a_band():
    small, large = waving("scara", members=3), waving("scara", members=21)
    axes = plot_run(small, what="tau").axes[1]
    drawn = np.array([line.get_ydata() for line in axes.lines])
    assert np.array_equal(drawn, small.tau[:, :, 1])
    axes = plot_run(large, what="tau").axes[1]
    (middle,) = axes.lines
    np.testing.assert_allclose(middle.get_ydata(), np.median(large.tau[:, :, 1], axis=0))
    assert len(axes.collections) == 1


def test_members_that_diverged_do_not_hide_the_others():
    run = waving("scara", members=21)
    run.tau[0, 40:] = np.nan
    run.tau[1:4, 60:] = np.inf
    run.tau[:, 90:] = np.nan
    axes = plot_run(run, what="tau").axes[0]
    (middle,), (band,) = axes.lines, axes.collections
    assert np.isfinite(band.get_paths()[0].vertices).all()
    assert band.get_paths()[0].vertices[:, 0].max() == run.t[89]
    assert np.isfinite(middle.get_ydata()[:90]).all()
    assert np.isnan(middle.get_ydata()[90:]).all()


@pytest.mark.filterwarnings("ignore:the simulation ended early")
def test_a_run_that_diverged_says_so_in_title_and_repr():
    run = dy.simulate(dy.load("planar-2link"), 0.3, 0.01, torque=[1e7, -1e7])
    assert run.diverged and "diverged at t = " in repr(run)
    title = plot_run(run, what="q").get_suptitle()
    assert title == f"planar-2link: diverged at t = {run.diverged_at:g} s"
    assert plot_run(waving("scara"), what="q").get_suptitle() == "scara"


def test_ensembles_of_any_shape_are_flattened():
    run = waving("scara", members=20)
    run.q = run.q.reshape(4, 5, *run.q.shape[1:])
    figure = plot_run(run, what="q")
    assert figure.legends[0].get_texts()[0].get_text() == "median of 20 runs"
    middle = figure.axes[2].lines[0].get_ydata()
    np.testing.assert_allclose(middle, np.median(run.q[..., 2], axis=(0, 1)))


def test_joints_by_name_or_number():
    run = waving("ur10e")
    figure = plot_run(run, what="q", joints=["elbow_joint", 0])
    assert np.array_equal(figure.axes[0].lines[0].get_ydata(), run.q[:, 2])
    assert np.array_equal(figure.axes[1].lines[0].get_ydata(), run.q[:, 0])


def test_events_and_stuck_joints_are_marked_and_explained():
    run = waving("scara")
    run.events = [SimpleNamespace(t=0.2, name="stop"), SimpleNamespace(t=0.5, name="stop")]
    run.stuck = np.zeros((101, 3), bool)
    run.stuck[20:31, 1] = True
    figure = plot_run(run, what="q")
    assert [len(axes.patches) for axes in figure.axes] == [0, 1, 0]
    left, right = (
        figure.axes[1]
        .patches[0]
        .get_extents()
        .transformed(figure.axes[1].transData.inverted())
        .intervalx
    )
    assert (left, right) == pytest.approx((run.t[20], run.t[31]))
    (marks,) = figure.axes[0].collections
    assert [segment[0, 0] for segment in marks.get_segments()] == [0.2, 0.5]
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["actual", "desired", "stuck", "stop"]


def test_what_was_measured_is_told_from_what_was():
    run = waving("scara")
    run.measured = SimpleNamespace(
        t=run.t[::5], q=run.q[::5] + 1e-2, qd=run.qd[::5], tau=run.tau[::5]
    )
    figure = plot_run(run, what=("q", "qd"))
    actual, measured, desired = figure.axes[0].lines
    np.testing.assert_array_equal(actual.get_ydata(), run.q[:, 0])
    np.testing.assert_array_equal(measured.get_ydata(), run.measured.q[:, 0])
    np.testing.assert_array_equal(measured.get_xdata(), run.t[::5])
    np.testing.assert_array_equal(desired.get_ydata(), run.reference.q[:, 0])
    assert measured.get_zorder() < actual.get_zorder()
    assert len(figure.axes[1].lines) == 2  # exact velocities: nothing to tell apart
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["actual", "measured", "desired"]


@pytest.mark.thorough
def test_no_text_overlaps_and_none_is_cut():
    for name in ("planar-rr", "ur10e"):
        figure = plot_run(waving(name))
        figure.draw_without_rendering()
        renderer = figure.canvas.get_renderer()
        boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
        for i, one in enumerate(boxes):
            assert figure.bbox.x0 - 1 <= one.x0
            assert one.x1 <= figure.bbox.x1 + 1
            assert not any(one.overlaps(other) for other in boxes[i + 1 :])
        below = figure.legends[0].get_window_extent(renderer)
        assert not any(below.overlaps(box) for box in boxes)


def test_a_constant_has_short_numbers():
    figure = plot_run(waving("scara"), what="error")
    figure.draw_without_rendering()
    texts = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    digits = [sum(letter.isdigit() for letter in text) for text in texts]
    assert 0 < max(digits) < 8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"what": ("q", "torque")}, "'torque'"),
        ({"what": ()}, "empty"),
        ({"joints": ["elbow"]}, "'elbow'"),
        ({"joints": [7]}, "0 to 2"),
        ({"joints": []}, "empty"),
        ({"path": "run.txt"}, r"\.png"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(OptionError, match=words):
        plot_run(waving("scara"), **options)


def test_saved_whole(tmp_path):
    plot_run(waving("scara"), path=tmp_path / "run.pdf")
    assert [p.name for p in tmp_path.iterdir()] == ["run.pdf"]
    assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF")


def swinging(**drive):
    """Two elastic joints, the second rigid where asked, that swing under gravity."""
    elastic = {"stiffness": 1e3, "damping": 1.0, "backlash": 2e-3}
    links = [
        dy.Link(
            a=a, mass=m, com=(-0.5 * a, 0, 0), inertia=(0, I, I, 0, 0, 0),
            drive=dy.Drive(gear=100, rotor_inertia=J, **given),
        )
        for a, m, I, J, given in ((0.5, 5.0, 0.1, 5e-5, elastic), (0.4, 3.0, 0.04, 2e-5, drive))
    ]  # fmt: skip
    robot = dy.Robot.from_dh("soft", convention="standard", gravity=(0, -9.81, 0), links=links)
    push = lambda t: [80.0 * np.sin(20.0 * t), 0.0]  # noqa: E731
    return dy.simulate(robot, 0.5, q0=[0.3, 0.4], torque=push, check_step=False)


def test_elastic_joints_show_both_sides_and_their_deflection():
    run = swinging(stiffness=1e3, damping=1.0)
    figure = plot_run(run)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["position", "velocity", "deflection", "torque", "energy"]
    assert units(figure)[:4] == ["rad", "rad/s", "rad", "N m"]
    link, motor = figure.axes[0].lines
    np.testing.assert_array_equal(link.get_ydata(), run.q[:, 0])
    np.testing.assert_array_equal(motor.get_ydata(), run.motor[:, 0])
    assert motor.get_color() == link.get_color() and motor.is_dashed()
    np.testing.assert_array_equal(figure.axes[1].lines[1].get_ydata(), run.motor_rate[:, 0])
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["link side", "motor side", "gap", "teeth touch"]


def test_the_gap_is_a_band_and_touching_teeth_are_bars_along_it():
    run = swinging(stiffness=1e3)
    first, second = plot_run(run, what="deflection").axes
    curve, ahead, behind = first.lines
    np.testing.assert_array_equal(curve.get_ydata(), run.deflection[:, 0])
    (band,) = first.patches
    assert (band.get_y(), band.get_height()) == (-2e-3, 4e-3)
    for bar, side in ((ahead, 1.0), (behind, -1.0)):
        drawn, touches = np.asarray(bar.get_ydata()), run.flank[:, 0] == side
        assert touches.any() and (drawn[touches] == side * 2e-3).all()
        assert np.isnan(drawn[~touches]).all()
    assert len(second.lines) == 1 and not second.patches  # no backlash


def test_rigid_joints_have_no_deflection_to_show():
    run = swinging()
    figure = plot_run(run, what=("deflection", "motor", "motor_rate", "transmitted"))
    assert units(figure) == ["rad", "rad", "rad/s", "N m"]
    np.testing.assert_array_equal(figure.axes[3].lines[0].get_ydata(), run.transmitted[:, 0])
    figure = plot_run(run, what=("deflection", "q"))
    assert [axes.get_title() for axes in figure.axes] == ["deflection", "position", ""]
    figure = plot_run(run, what=("q", "deflection"), joints=[1, 0])  # below a row without it
    assert [axes.get_title() for axes in figure.axes] == ["position", "", "deflection"]
    with pytest.raises(OptionError, match="nothing of deflection"):
        plot_run(waving("scara"), what="deflection")


def test_exact_encoders_of_motors_are_the_motor_side():
    robot = swinging(stiffness=1e3).robot
    law = dy.control.PointToPoint([300.0, 100.0], [20.0, 10.0])
    options = {"controller": law, "reference": [0.3, 0.4], "check_step": False}
    run = dy.simulate(robot, 0.05, q0=[0.3, 0.4], **options)
    named = [x.get_text() for x in plot_run(run, what="q").legends[0].get_texts()]
    assert named == ["link side", "motor side", "desired"]
    run = dy.simulate(robot, 0.05, q0=[0.3, 0.4], sensors=dy.Sensors(encoder=1e-4), **options)
    named = [x.get_text() for x in plot_run(run, what="q").legends[0].get_texts()]
    assert named == ["link side", "motor side", "measured", "desired"]
