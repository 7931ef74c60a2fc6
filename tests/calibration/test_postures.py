"""Postures to measure: allowed, and better than random ones."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError

from .simulated import TARGET, K, built, points, postures

ROBOT = dy.load("puma560")


def test_postures_are_allowed():
    q = dy.calibration_postures(ROBOT, 20, target=TARGET, floor=-0.2, seed=3)
    assert q.shape == (20, 6)
    low, high = ROBOT.limits.T
    assert ((q > low) & (q < high)).all()
    T = ROBOT.fk(q)
    assert (T[:, :3, :3] @ TARGET + T[:, :3, 3])[:, 2].min() > -0.2
    assert len(np.unique(q, axis=0)) == 20
    np.testing.assert_array_equal(
        q, dy.calibration_postures(ROBOT, 20, target=TARGET, floor=-0.2, seed=3)
    )


def test_they_tell_more_than_random_ones():
    """Of the tool's position, on the mean over the workspace."""
    arm = built(ROBOT)
    chosen = dy.calibration_postures(ROBOT, 24, target=TARGET)
    at = postures(ROBOT, 40, 77)

    def uncertainty(q):
        found = dy.calibrate(ROBOT, points(arm, q, 5e-5, std=5e-5), select=False)
        noise = found._uncertainty.noise
        J = np.moveaxis(arm.model.motion(found._fit.values, postures_at(at)).V, 0, 2)
        P = J.shape[2]
        variance = np.einsum("nij,jk,nik->n", J, noise[:P, :P], J)
        return np.sqrt(variance).mean() / found._fit.weights[0][0].scatter

    random = [uncertainty(postures(ROBOT, 24, seed)) for seed in (1, 2, 3)]
    assert uncertainty(chosen) < 0.9 * np.mean(random)


def postures_at(q):
    from dynamis.calibration.error_model import Postures

    return Postures(q)


def test_postures_of_sockets_keep_the_point():
    found = dy.calibration_postures(ROBOT, 24, "sockets", target=TARGET, places=3)
    assert [x.shape for x in found.values()] == [(8, 6)] * 3
    centres = []
    for q in found.values():
        T = ROBOT.fk(q)
        p = T[:, :3, :3] @ TARGET + T[:, :3, 3]
        assert np.ptp(p, axis=0).max() < 1e-8
        centres.append(p.mean(axis=0))
    assert np.linalg.norm(centres[0] - centres[1]) > 0.2
    assert len(K.Sockets(found)) == 24


def test_what_is_not_allowed_is_said():
    with pytest.raises(OptionError, match="postures are allowed, expected 40"):
        dy.calibration_postures(ROBOT, floor=5.0)
    with pytest.raises(OptionError, match="held in few postures"):
        dy.calibration_postures(dy.load("scara"), kind="sockets")
    with pytest.raises(OptionError, match="kind"):
        dy.calibration_postures(ROBOT, kind="lines")
