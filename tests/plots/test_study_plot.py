"""Figures of studies: the histogram of the values, their quantiles, nothing on top of another."""

from itertools import combinations

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.plots import plot_study
from dynamis.study.summary import scaled
from tests.thorough import thorough_but

ROBOTS = ("planar-rr", "scara", "puma560", "panda")


def study(values, name="puma560", **scatter):
    """A study whose values are a function of the factors (count, f)."""
    robot = dy.load(name)
    vary = dy.Scatter(robot, **(scatter or {"joint_offset": 0.01}))
    samples = scatter.pop("samples", 400)
    return dy.study(robot, evaluate=lambda draw: {"error": values(draw)}, vary=vary,
                    samples=samples)  # fmt: skip


def rod():
    """One joint."""
    link = dy.Link(a=1.0, mass=2.0, com=(-0.5, 0, 0), inertia=(0.1, 0.2, 0.2))
    return dy.Robot.from_dh("rod", convention="standard", links=[link], gravity=(0, -9.81, 0))


def texts(figure):
    """Boxes of everything that is written, by text."""
    figure.canvas.draw()
    found = []
    for axes in figure.axes:
        own = list(axes.texts)
        if axes.axison:
            own += [axes.xaxis.label, axes.yaxis.label]
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                shown = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
                own += [tick.label1 for tick in shown if tick.label1.get_visible()]
        found += [(t.get_text(), t.get_window_extent()) for t in own if t.get_text()]
    found += [(t.get_text(), t.get_window_extent()) for t in figure.texts]
    return found


def refuse_overlaps(figure):
    boxes = texts(figure)
    wide, high = figure.get_size_inches() * figure.dpi
    for text, box in boxes:
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= wide + 1 and box.y1 <= high + 1, text
    for (a, one), (b, other) in combinations(boxes, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        up = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert across < 1.0 or up < 1.0, f"{a!r} lies on {b!r}"


def test_bars_count_the_values():
    drawn = {}

    def values(draw):
        found = np.exp(0.3 * draw.factors)
        drawn.update(zip(draw.index.tolist(), found, strict=True))
        return found

    found = study(values)
    every = np.array([drawn[k] for k in range(400)])
    for column in range(6):
        curve = found.distribution("error", column)
        edges = np.linspace(0.2, 3.0, 12)
        counted, _ = np.histogram(every[:, column], edges)
        # a value within half a bin (0.05 %) of an edge may be counted on the other side
        near = (np.abs(every[:, [column]] / edges - 1.0) < 1e-3).sum(axis=0)
        assert (np.abs(curve.heights(edges) - counted) <= near[1:] + near[:-1] + 1e-9).all()
        ends = np.array([curve.low, curve.high])
        np.testing.assert_array_equal(ends, [every[:, column].min(), every[:, column].max()])


def test_lines_stand_at_the_quantiles():
    found = study(lambda draw: np.exp(0.1 * draw.factors))
    figure = plot_study(found, "error")
    quantiles = found.quantiles("error")
    for joint in range(6):
        lines = figure.axes[3 * joint].lines
        assert [line.get_xdata()[0] for line in lines] == quantiles[:, joint].tolist()


@pytest.mark.parametrize("name", thorough_but(["rod", "scara"], ["rod", *ROBOTS]))
def test_nothing_overlaps_for_any_number_of_joints_and_units(name):
    robot = rod() if name == "rod" else dy.load(name)
    move = dy.trajectory.quintic(np.zeros(robot.n), np.full(robot.n, 0.1), duration=0.05)
    vary = dy.Scatter(robot, payload=(0.0, 2.0), mass=0.1, consistent=False)
    found = dy.study(robot, reference=move, vary=vary, samples=100, simulate=False, dt=0.01)
    refuse_overlaps(plot_study(found, "peak_torque"))


SPECIAL = {
    "equal": lambda draw: np.full(draw.factors.shape, 3.0),
    "zero": lambda draw: np.zeros(draw.factors.shape),
    "nearly equal": lambda draw: 1e3 + 1e-6 * draw.factors,
    "infinite": lambda draw: np.full(draw.factors.shape, np.inf),
    "one infinite": lambda draw: np.where(draw.index[:, None] == 7, np.inf, draw.factors**2),
    "signed": lambda draw: draw.factors,
    "orders of magnitude": lambda draw: np.exp(6.0 * draw.factors),
    "tiny": lambda draw: 1e-12 * np.exp(draw.factors),
    "huge": lambda draw: 1e200 * np.exp(draw.factors),
    "two values": lambda draw: (draw.factors > 1.0).astype(float),
    "failed": lambda draw: np.where(draw.index[:, None] % 9 == 0, np.nan, np.exp(draw.factors)),
    "all failed": lambda draw: np.full(draw.factors.shape, np.nan),
    "one number": lambda draw: draw.factors[:, 0] ** 2,
}


QUICK = ("equal", "one infinite", "orders of magnitude", "failed", "all failed")


@pytest.mark.parametrize("case", thorough_but(QUICK, SPECIAL))
def test_special_values_are_drawn(case):
    figure = plot_study(study(SPECIAL[case], "planar-rr"), "error")
    refuse_overlaps(figure)
    written = " ".join(text for text, _ in texts(figure))
    said = {
        "one infinite": "infinite: 1 arm",
        "failed": "45 of them failed",
        "all failed": "no sample has a finite value",
        "equal": "nothing that varies changes it",
    }
    assert said.get(case, "50 %") in written


def test_one_sample_has_one_number():
    robot = dy.load("planar-rr")
    found = dy.study(robot, evaluate=lambda d: {"x": 1.0 + d.factors**2}, samples=1,
                     vary=dy.Scatter(robot, joint_offset=0.1))  # fmt: skip
    figure = plot_study(found, "x")
    refuse_overlaps(figure)
    assert "one arm" in figure.get_suptitle()
    assert next(t.get_text() for t in figure.axes[1].texts) == "largest"


def test_many_columns_are_drawn_as_curves():
    found = study(lambda draw: np.abs(draw.factors[:, [0]]) * np.arange(1.0, 41.0))
    figure = plot_study(found, "error")
    (axes,) = figure.axes
    np.testing.assert_array_equal(
        [line.get_ydata() for line in axes.lines[:3]], found.quantiles("error")
    )


def test_too_few_samples_for_a_quantile_show():
    written = [text for text, _ in texts(plot_study(study(lambda d: 5.0 + d.factors), "error"))]
    assert sum(text.startswith("≥") for text in written) == 6  # of 400: 99.9 % of every joint


def test_one_joint_alone_and_joints_that_do_not_exist(tmp_path):
    found = study(lambda draw: np.exp(draw.factors))
    path = tmp_path / "joint.png"
    figure = found.plot("error", joint="joint2", path=path)
    assert figure.axes[0].get_ylabel() == "joint2" and path.stat().st_size > 5000
    assert len(figure.axes) == 3
    with pytest.raises(OptionError, match="expected one of joint1, joint2"):
        found.plot("error", joint="joint9")
    with pytest.raises(OptionError, match="one number of the arm"):
        study(SPECIAL["one number"]).plot(joint="joint1")


def test_units_take_the_prefix_that_makes_numbers_short():
    assert scaled(0.02, "rad") == (1e3, "mrad") and scaled(5.0, "N m") == (1.0, "N m")
    assert scaled(2e-6, "m") == (1e6, "µm") and scaled(0.01, "") == (1.0, "")
    assert scaled(0.0, "m") == (1.0, "m") and scaled(np.inf, "m") == (1.0, "m")
