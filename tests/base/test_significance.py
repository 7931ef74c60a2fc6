"""Significance: shares that add up, an approximate robot whose error is measured."""

import numpy as np
import pytest

import dynamis as dy


@pytest.fixture(scope="module")
def found():
    return dy.load("puma560-mdh").significance(percent=1.0, samples=400)


def test_shares_and_error(found):
    assert found.shares.shape == (found.base.rank,) and (found.shares >= 0).all()
    assert found.shares.max() > 20  # gravity of the upper arm dominates
    assert 0 < len(found.dropped) < found.base.rank
    assert 0 < found.error < len(found.dropped) * found.percent
    assert "APPROXIMATE" in str(found) and "approximate" in repr(found.approximate)


def test_the_approximate_robot_costs_less(found):
    exact = dy.load("puma560-mdh").cost("inverse_dynamics").total
    assert found.approximate.cost("inverse_dynamics").total < exact


def test_zero_percent_is_exact():
    robot = dy.load("stanford")
    same = robot.significance(percent=0.0, samples=200)
    assert same.dropped == () and same.error < 1e-9
    rng = np.random.default_rng(0)
    state = rng.normal(size=(3, 5, 6))
    a, b = (r.inverse_dynamics(*state) for r in (robot, same.approximate))
    assert np.allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"percent": -1}, "percent is -1"),
        ({"samples": 0}, "samples is 0"),
        ({"percent": "x"}, "percent is 'x'"),
        ({"speed": float("nan")}, "speed is nan"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(dy.errors.OptionError, match=message):
        dy.load("planar-rr").significance(**options)
