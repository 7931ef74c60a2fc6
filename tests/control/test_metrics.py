"""Figures of merit: against the closed forms of second-order systems, and by hand."""

import numpy as np
import pytest

from dynamis.control.metrics import step_metrics, tracking_metrics
from dynamis.errors import OptionError, ShapeError

T = np.linspace(0, 12, 120_001)
STEP = T[1]


def second_order(z, w=2.0, t=T):
    """Unit step response of w^2 / (s^2 + 2 z w s + w^2), z < 1."""
    wd = w * np.sqrt(1 - z**2)
    return 1 - np.exp(-z * w * t) * (np.cos(wd * t) + z * w / wd * np.sin(wd * t))


@pytest.mark.parametrize("z", [0.2, 0.4, 0.6, 0.7])
@pytest.mark.parametrize("height, start", [(1.0, 0.0), (-3.0, 0.5)])
def test_second_order_overshoot_and_peak(z, height, start):
    m = step_metrics(T + 5.0, start + height * second_order(z), final=start + height)
    assert m.overshoot == pytest.approx(np.exp(-np.pi * z / np.sqrt(1 - z**2)), abs=1e-7)
    assert m.peak_time == pytest.approx(np.pi / (2.0 * np.sqrt(1 - z**2)), abs=STEP)


@pytest.mark.parametrize("band", [0.02, 0.05])
def test_first_order_rise_and_settling(band):
    tau = 0.7
    m = step_metrics(T, 1 - np.exp(-T / tau), final=1.0, band=band)
    assert m.rise_time == pytest.approx(tau * np.log(9), abs=1e-7)
    assert m.settling_time == pytest.approx(-tau * np.log(band), abs=1e-7)
    assert m.overshoot == 0.0 and m.peak_time == np.inf
    assert m.steady_state_error == pytest.approx(-np.exp(-12 / tau))


@pytest.mark.parametrize("z", [0.2, 0.5])
def test_second_order_settling(z):
    """After it the response stays in the band, just before it it is outside; under the envelope."""
    w, band = 2.0, 0.02
    y = second_order(z, w)
    settling = step_metrics(T, y, final=1.0, band=band).settling_time
    assert np.all(np.abs(y[settling <= T] - 1) <= band)
    assert abs(second_order(z, w, settling - STEP) - 1) > band
    assert settling <= -np.log(band * np.sqrt(1 - z**2)) / (z * w)


def test_crossings_are_straight_between_samples():
    m = step_metrics([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 1.0])
    assert m.rise_time == pytest.approx(0.8)
    assert m.settling_time == pytest.approx(0.98)


def test_undershoot_and_noise_take_the_first_crossings():
    y = [0.0, -0.5, 0.5, 0.05, 1.0, 1.3, 0.9, 1.0, 1.0]
    m = step_metrics(range(9), y)
    assert m.rise_time == pytest.approx((3 + 0.85 / 0.95) - 1.6)
    assert m.overshoot == pytest.approx(0.3) and m.peak_time == 5.0
    assert m.settling_time == pytest.approx(6.8)


def test_what_does_not_happen_is_infinite():
    m = step_metrics(T, np.sin(3 * T), final=1.0, start=0.0)
    assert m.settling_time == np.inf and np.isfinite(m.rise_time)
    low = step_metrics(T, 0.5 * (1 - np.exp(-T)), final=1.0)
    assert low.rise_time == np.inf == low.settling_time == low.peak_time
    assert low.overshoot == 0.0
    assert low.steady_state_error == pytest.approx(-0.5, abs=1e-5)


def test_what_has_no_meaning_is_nan():
    flat = step_metrics(T, np.ones_like(T), final=1.0)
    assert np.isnan([flat.rise_time, flat.settling_time, flat.overshoot, flat.peak_time]).all()
    assert flat.steady_state_error == 0.0
    y = second_order(0.5)
    y[7] = np.nan
    hole = step_metrics(T, np.column_stack([y, second_order(0.5)]), final=1.0)
    for value in vars(hole).values():
        assert np.isnan(value[0]) and not np.isnan(value[1])


def test_joints_are_measured_one_by_one():
    columns = [second_order(0.3), 2 - 4 * second_order(0.6), 1 - np.exp(-T)]
    finals = [1.0, -2.0, 1.0]
    m = step_metrics(T, np.column_stack(columns), final=finals)
    for i, (y, final) in enumerate(zip(columns, finals, strict=True)):
        alone = step_metrics(T, y, final=final)
        assert [v[i] for v in vars(m).values()] == list(vars(alone).values())
        assert isinstance(alone.rise_time, float)


def test_final_is_the_last_sample_unless_given():
    m = step_metrics(T, 0.9 * second_order(0.5))
    assert m.steady_state_error == 0.0
    assert m.overshoot == pytest.approx(np.exp(-np.pi * 0.5 / np.sqrt(0.75)), abs=1e-4)


def test_wrong_records_are_named():
    for t, y in (
        ([0.0], [1.0]),
        ([0, 1], [1, 2, 3]),
        ([[0, 1]], [1, 2]),
        ([0, 1], np.ones((2, 0))),
    ):
        with pytest.raises(ShapeError, match="shape"):
            step_metrics(t, y)
    for t in ([0, 1, 1], [0, 2, 1], [0, np.nan, 1], [0, 1, np.inf]):
        with pytest.raises(OptionError, match="does not increase"):
            step_metrics(t, [0, 1, 2])
    for band in (0, 1, -0.1, "x", True, np.nan):
        with pytest.raises(OptionError, match="band"):
            step_metrics([0, 1], [0, 1], band=band)
    with pytest.raises(ShapeError, match="final has shape"):
        step_metrics([0, 1], [0, 1], final=[1, 2])
    with pytest.raises(ShapeError, match="y holds"):
        step_metrics([0, 1], ["a", "b"])
    with pytest.raises(ShapeError, match="rectangular"):
        step_metrics([0, 1], [[1, 2], [3]])


ERROR = np.array([[1.0, -2.0], [-3.0, 0.0], [5.0, -4.0], [1.0, 2.0]])


def test_tracking_by_hand():
    m = tracking_metrics(ERROR, ["shoulder", "elbow"])
    np.testing.assert_array_equal(m.mean, [1.0, -1.0])
    np.testing.assert_array_equal(m.mean_absolute, [2.5, 2.0])
    np.testing.assert_array_equal(m.rms, [3.0, np.sqrt(6.0)])
    np.testing.assert_array_equal(m.max, [5.0, 4.0])
    assert m.overall == {
        "mean": np.mean(ERROR),
        "mean_absolute": np.mean(np.abs(ERROR)),
        "rms": pytest.approx(np.sqrt(np.mean(ERROR**2))),
        "max": 5.0,
    }


def test_one_joint():
    m = tracking_metrics(ERROR[:, 0])
    assert m.joint_names == ("1",) and m.rms == [3.0]


def test_tables():
    m = tracking_metrics(ERROR, ["a|b", "<elbow>"])
    assert str(m) == m.table()
    assert m.table().splitlines() == [
        "joint    mean   RMS  max",
        "-------  ----  ----  ---",
        "a|b         1     3    5",
        "<elbow>    -1  2.45    4",
        "all         0  2.74    5",
    ]
    assert m.markdown().splitlines() == [
        "| joint | mean | RMS | max |",
        "| --- | ---: | ---: | ---: |",
        "| a\\|b | 1 | 3 | 5 |",
        "| <elbow> | -1 | 2.45 | 4 |",
        "| all | 0 | 2.74 | 5 |",
    ]
    text = m._repr_html_()
    assert "&lt;elbow&gt;" in text and text.count("<tr>") == 4


def test_nan_stays_with_its_joint():
    e = ERROR.copy()
    e[2, 0] = np.nan
    m = tracking_metrics(e)
    for value in (m.mean, m.mean_absolute, m.rms, m.max):
        assert np.isnan(value[0]) and np.isfinite(value[1])
    assert np.isnan(list(m.overall.values())).all()


def test_wrong_errors_are_named():
    for e in ([], np.ones((0, 3)), np.ones((3, 0)), 1.0, np.ones((2, 2, 2))):
        with pytest.raises(ShapeError, match="error has shape"):
            tracking_metrics(e)
    for names in (["a"], "ab", ["a", "b", "c"]):
        with pytest.raises(ShapeError, match="2 names"):
            tracking_metrics(ERROR, names)
    with pytest.raises(ShapeError, match="error holds"):
        tracking_metrics([True, False])
