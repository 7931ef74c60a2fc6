"""Poor data get a diagnosis, not a model."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.diagnose import LogError

from .motions import arm, log_of, series

ROBOT = arm()
GOOD = log_of(ROBOT)


def changed(**arrays):
    given = {"t": GOOD.t, "q": GOOD.q, "qd": GOOD.qd, "tau": GOOD.tau}
    return dy.Log(**{**given, **arrays})


def test_a_good_log_has_no_findings():
    assert dy.identify(ROBOT, GOOD, friction="asymmetric", held_out=False).findings == ()


@pytest.mark.parametrize(
    "log, said",
    [
        (changed(q=np.full(GOOD.q.shape, 0.3), qd=np.zeros(GOOD.q.shape)), "no joint moves"),
        (GOOD.rows(0, 20), "20 rows in"),
        (changed(tau=np.full(GOOD.q.shape, 2.0)), "the torque is always 2"),
        (changed(q=np.degrees(GOOD.q), qd=np.degrees(GOOD.qd)), "degrees"),
        (changed(qd=np.degrees(GOOD.qd)), "times the derivative of position"),
        (changed(qd=GOOD.qd[:, ::-1]), "do not belong together"),
    ],
    ids=["still", "short", "constant torque", "degrees", "velocity units", "swapped velocities"],
)
def test_errors(log, said):
    with pytest.raises(LogError, match=said) as raised:
        dy.identify(ROBOT, log, friction="asymmetric")
    assert raised.value.findings and raised.value.hint


def findings(log):
    estimate = dy.identify(ROBOT, log, friction="asymmetric", estimator="weighted", held_out=False)
    return " | ".join(f.what for f in estimate.findings)


def test_swapped_torques_are_said():
    assert "swapped" in findings(changed(tau=GOOD.tau[:, ::-1]))


def test_a_wrong_sign_is_said():
    assert "the sign of joint" in findings(changed(tau=GOOD.tau * (1, -1)))


def test_torques_of_the_opposite_sign_are_said():
    """Least squares is content with negative masses; no arm that could be built is."""
    estimate = dy.identify(ROBOT, changed(tau=-GOOD.tau), friction="asymmetric", held_out=False)
    assert any("could be built" in f.what for f in estimate.findings)


def test_torques_of_another_arm_are_said():
    """A diagnosis instead of a model, unless one insists."""
    rng = np.random.default_rng(0)
    log = changed(tau=rng.normal(size=GOOD.q.shape))
    with pytest.raises(LogError, match="no model of this robot explains the torques") as raised:
        dy.identify(ROBOT, log, friction="asymmetric")
    assert any("explains only" in f.what for f in raised.value.findings)
    assert dy.identify(ROBOT, log, friction="asymmetric", force=True, held_out=False).findings


def test_torques_in_another_unit_are_said():
    assert "times what the robot as described needs" in findings(changed(tau=1000.0 * GOOD.tau))


def test_saturation_with_noise_is_said():
    noise = 1e-3 * np.random.default_rng(0).normal(size=GOOD.q.shape)
    assert "saturated" in findings(changed(tau=np.clip(GOOD.tau, -15.0, 15.0) + noise))


def test_saturated_torque_is_said():
    assert "saturated" in findings(changed(tau=np.clip(GOOD.tau, -15.0, 15.0)))


def test_a_joint_that_stands_still_is_said():
    t, q, qd, qdd = series(0)
    for x in (q, qd, qdd):
        x[:, 1] = 0.0
    log = dy.Log(
        t=t, q=q, qd=qd, tau=ROBOT.inverse_dynamics(q, qd, qdd) + 1e-3 * np.sin(t)[:, None]
    )
    assert "joint2 do not move" in findings(log)
