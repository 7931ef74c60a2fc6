"""Shares of variance are those of least squares, also where values are infinite."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.study.summary import FACTORS

ROUNDED = 2.0**-FACTORS  # factors enter with so many binary digits


@pytest.mark.parametrize("samples", [20, 3000])
def test_shares_are_those_of_a_line_and_of_a_parabola(samples):
    robot, kept = dy.load("planar-rr"), {}

    def values(draw):
        a, b = draw.factors.T
        found = np.stack([a + 0.5 * a**2 + 0.3 * b, np.where(a > 1.0, np.inf, a + a * b)], axis=1)
        kept.update(zip(draw.index.tolist(), zip(draw.factors, found, strict=True), strict=True))
        return {"y": found}

    vary = dy.Scatter(robot, joint_offset=1.0)
    share = dy.study(robot, evaluate=values, vary=vary, samples=samples).sensitivity("y")
    z, y = (np.array([kept[k][part] for k in range(samples)]) for part in (0, 1))
    for column in range(2):
        good = np.isfinite(y[:, column])
        wanted = y[good, column]
        for factor in range(2):
            powers = z[good, factor][:, None] ** np.arange(3)
            for upto, found in ((2, share.linear), (3, share.shares)):
                fit = powers[:, :upto]
                left = wanted - fit @ np.linalg.lstsq(fit, wanted, rcond=None)[0]
                r2 = 1.0 - left.var() / wanted.var()
                assert found[factor, column] == pytest.approx(r2, abs=ROUNDED)


def test_two_samples_and_equal_values_have_no_causes_beyond_one():
    robot = dy.load("planar-rr")
    vary = dy.Scatter(robot, joint_offset=1.0)
    for samples in (1, 2, 3):
        study = dy.study(robot, evaluate=lambda d: {"y": d.factors}, vary=vary, samples=samples)
        shares = study.sensitivity("y").shares
        assert np.isfinite(shares).all() and (shares >= 0.0).all() and (shares <= 1.0).all()
    study = dy.study(robot, evaluate=lambda d: {"y": np.ones(len(d))}, vary=vary, samples=50)
    np.testing.assert_array_equal(study.sensitivity("y").shares, 0.0)
