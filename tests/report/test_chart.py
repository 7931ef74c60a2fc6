"""Charts: curves are where the numbers are, axes are named, nothing is lost or unescaped."""

import re

import numpy as np
import pytest

from dynamis.report.chart import SIZE, ChartAxis, ChartSeries, Panel, bars, chart, legend

X = np.linspace(2.0, 6.0, 41)


def points(text, name):
    """Points of the path of a series, in units of the drawing: what the page's script reads."""
    (d,) = re.findall(rf'data-name="{name}" d="([^"]*)"', text)
    runs = []
    for x, y, rest in re.findall(r"M(-?\d+) (-?\d+)l([^M]*)", d):
        steps = np.array(re.findall(r"-?\d+", rest), dtype=int).reshape(-1, 2)
        runs.append(np.cumsum(np.vstack([[int(x), int(y)], steps]), axis=0))
    return runs


def values(text, name):
    """The numbers that a path stands for."""
    low_x, high_x, low_y, high_y = map(float, re.search(r'data-range="([^"]*)"', text)[1].split())
    return [
        np.stack([
            low_x + (high_x - low_x) * run[:, 0] / SIZE,
            low_y + (high_y - low_y) * (1.0 - run[:, 1] / SIZE),
        ])
        for run in points(text, name)
    ]  # fmt: skip


def test_a_curve_is_where_its_numbers_are():
    y = 30.0 * np.sin(X) - 7.0
    (found,) = values(chart("one", "time, s", Panel([ChartSeries("tau", X, y)], "N m")), "tau")
    assert found[0] == pytest.approx(X, abs=4.0 / SIZE)
    assert found[1] == pytest.approx(y, abs=2.0 * np.ptp(y) / SIZE)


def test_a_gap_breaks_the_line_and_a_point_alone_is_one():
    y = np.sin(X)
    y[[10, 12]] = np.nan
    runs = points(chart("", "time, s", Panel([ChartSeries("y", X, y)], "m")), "y")
    assert [run[0, 0] for run in runs] == [0, 550, 650] and runs[-1][-1, 0] == SIZE
    assert (np.diff(runs[1], axis=0) == 0).all()


@pytest.mark.parametrize("low, high", [(-0.3, 0.71), (0.0, 7.0), (-2e-7, 3e-7), (1e4, 1.2e4)])
def test_ticks_are_round_and_within(low, high):
    found = np.array(ChartAxis(low, high).ticks(5))
    assert 2 <= len(found) <= 7
    assert found.min() >= low - 1e-9 * (high - low) and found.max() <= high + 1e-9 * (high - low)
    step = np.diff(found)[0]
    assert f"{step:.3e}"[0] in "125" and found / step == pytest.approx(np.round(found / step))


def test_decades_of_a_logarithmic_axis():
    axis = ChartAxis(1e-10, 3.0, log=True)
    assert axis.ticks(5)[0] == pytest.approx(1e-10)
    assert axis.at([1e-10, 3.0]) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("y", [[0.0, 0.0], [5.0, 5.0], [np.nan, np.nan], []])
def test_values_that_do_not_vary_or_are_none(y):
    x = [0.0, 1.0][: len(y)]
    text = chart("", "time, s", Panel([ChartSeries("y", x, y)], "m"))
    assert "nan" not in text and "inf" not in text


def test_axes_and_names_are_said_and_escaped():
    bad = '<script>"'
    series = [
        ChartSeries(bad, X, X, "stems"),
        ChartSeries("b", X, X, "area", low=-X),
        ChartSeries("c", X, X, "dots"),
    ]
    edges = ChartSeries("bars", X, X[1:], "bars")
    for text in (chart(bad, bad, Panel([*series, edges], bad)), legend(series),
                 bars([bad], [(bad, [1.0])], bad)):  # fmt: skip
        assert "<script" not in text and '>"' not in text
    text = chart("joint1", "time, s", Panel([ChartSeries("measured", X, 3 * X)], "N m"))
    assert 'aria-label="joint1: N m over time, s from 2 to 6; measured from 6 to 18"' in text


def test_bars_are_as_long_as_their_numbers():
    text = bars(["us", "them"], [("first", [1.0, 4.0]), ("second", [2.0, np.nan])], "us")
    assert re.findall(r"width:([\d.]+)%", text) == ["25.00", "100.00", "50.00"]
