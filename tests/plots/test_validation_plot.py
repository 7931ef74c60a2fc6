"""Figures of validations: what is drawn, mean and peak of the error, parts that add up."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.motion import lowpass
from dynamis.plots import plot_validation

from .test_study_plot import refuse_overlaps

pytestmark = pytest.mark.usefixtures("compiled")
HOW = {"friction": "symmetric", "estimator": "weighted", "held_out": False}


def recorded(robot, seed):
    """Ten seconds of sines, with a little noise."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 10.0, 0.005)
    w = 2 * np.pi / 10.0 * np.arange(1, 6)[:, None, None]
    a, b = 0.25 * rng.normal(size=(2, 5, 1, robot.n))
    s, c = np.sin(w * t[:, None]), np.cos(w * t[:, None])
    q = (a / w * s - b / w * c).sum(axis=0)
    qd, qdd = (a * c + b * s).sum(axis=0), (w * (b * c - a * s)).sum(axis=0)
    tau = robot.inverse_dynamics(q, qd, qdd)
    noise = 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    return dy.Log(t=t, q=q, qd=qd, tau=tau + noise), qdd


def arm():
    body = {"mass": 3.0, "com": (-0.4, 0.05, 0.02), "inertia": (0.02, 0.1, 0.11)}
    rub = dy.Friction(viscous=0.4, coulomb=0.8)
    links = [
        dy.Link(a=0.8, alpha=1.2, **body, friction=rub),
        dy.Link(joint="prismatic", a=0.3, alpha=-0.7, **body, friction=rub),
    ]
    return dy.Robot.from_dh("two", convention="standard", links=links)


@pytest.fixture(scope="module")
def found(compiled):
    robot = arm()
    log, _ = recorded(robot, 0)
    estimate = dy.identify(robot, log, **HOW)
    other, qdd = recorded(robot, 1)
    return robot, estimate.validate(other), other, qdd


def test_parts_are_those_of_the_arm(found):
    robot, check, log, qdd = found
    rows = np.searchsorted(log.t, check.t)
    true = robot.torque_terms(log.q[rows], log.qd[rows], qdd[rows])
    assert {*check.parts} == {*true}
    np.testing.assert_allclose(sum(check.parts.values()), check.predicted, atol=1e-12)
    middle = slice(200, -200)
    whole = np.linalg.norm(check.measured[middle])
    for name, values in check.parts.items():
        assert np.linalg.norm((values - true[name])[middle]) < 0.03 * whole, name


def test_parts_follow_the_rows_and_the_filter(found):
    _, check, *_ = found
    part = check.between(2.0, 4.0)
    rows = (check.t >= 2.0) & (check.t <= 4.0)
    for name, values in part.parts.items():
        np.testing.assert_array_equal(values, check.parts[name][rows])
    low = check.filtered(2.0)
    np.testing.assert_allclose(sum(low.parts.values()), low.predicted, atol=1e-12)
    expected = lowpass(check.parts["gravity"], 2.0, 200.0)
    np.testing.assert_allclose(low.parts["gravity"], expected, atol=1e-9)


def lines(axes):
    return {x.get_label(): x.get_data() for x in axes.get_lines()}


def test_every_joint_is_drawn(found, tmp_path):
    _, check, *_ = found
    figure = check.plot(path=tmp_path / "check.png")
    assert (tmp_path / "check.png").stat().st_size > 10_000
    refuse_overlaps(figure)
    assert len(figure.axes) == 6
    torque, error, parts = figure.axes[3:]
    assert torque.get_ylabel() == "joint2 (N)" and figure.axes[0].get_ylabel() == "joint1 (N m)"
    np.testing.assert_array_equal(lines(torque)["measured"][1], check.measured[:, 1])
    np.testing.assert_array_equal(lines(torque)["computed"][1], check.predicted[:, 1])
    residual = check.residual[:, 1]
    assert lines(error)["mean error"][1][0] == residual.mean()
    (t,), (peak,) = lines(error)["peak error"]
    assert abs(peak) == np.abs(residual).max() and residual[np.searchsorted(check.t, t)] == peak
    (words,) = (x.get_text() for x in error.texts)
    assert words == f"mean {residual.mean():.3g}, peak {peak:.3g} at {t:.3g} s"
    drawn = lines(parts)
    assert {*drawn} == {"gravity", "Coriolis-centrifugal", "inertial", "friction"}
    np.testing.assert_array_equal(drawn["gravity"][1], check.parts["gravity"][:, 1])


def test_one_joint_below_another_and_gaps(found):
    _, check, *_ = found
    one = plot_validation(check, "joint2")
    refuse_overlaps(one)
    assert len(one.axes) == 3
    keep = (check.t < 3.0) | (check.t > 6.0)
    rows = {k: getattr(check, k)[keep] for k in ("t", "measured", "predicted", "speed")}
    t, values = lines(plot_validation(replace(check, **rows), "joint1").axes[0])["measured"]
    assert np.isnan(values).sum() == 1 and np.isnan(t).sum() == 1


def test_a_validation_without_its_motion(found):
    _, check, *_ = found
    bare = replace(check, source=None)
    with pytest.raises(OptionError, match="does not know its motion"):
        _ = bare.parts
    assert len(bare.plot().axes) == 4
    with pytest.raises(OptionError, match="expected 'joint1', 'joint2'"):
        check.plot("joint3")
