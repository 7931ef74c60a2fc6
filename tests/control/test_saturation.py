"""Limits, wind-up and kicks."""

from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import ComputedTorque, FeedForward, JointPID, PointToPoint

from .blocks import gains_of, sample, stepped, torque

LIMITED = {
    "joint-pid": JointPID(400.0, 300.0, 60.0, limit=60.0),
    "computed-torque": ComputedTorque(40.0, 12.0, 40.0, limit=(900.0, 300.0)),
    "point-to-point": PointToPoint(40.0, 12.0, limit=(900.0, 300.0)),
    "feed-forward": FeedForward(400.0, 60.0, limit=(900.0, 300.0)),
}
INTEGRAL = {k: v for k, v in LIMITED.items() if hasattr(v, "ki")}


@pytest.mark.parametrize("law", LIMITED.values(), ids=LIMITED)
def test_torques_stay_within_the_limit(law):
    robot = dy.load("planar-2link")
    limit = np.array(gains_of(law, robot).limit)
    hit = 0
    for seed in range(20):
        tau = torque(law, robot, sample(robot, seed, near=0.6))
        assert (np.abs(tau) <= limit).all()
        hit += (np.abs(tau) == limit).sum()
    assert 0 < hit < 40


@pytest.mark.parametrize("law", INTEGRAL.values(), ids=INTEGRAL)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_integral_waits_at_the_limit(law, side):
    robot = dy.load("planar-2link")
    q, rest = np.array([-1.5, 0.1]), np.zeros(2)
    far = q, rest, q + side * 40.0, rest, rest  # e and the torque drive into the limit
    tau, after = stepped(law, robot, far, dt=0.01)
    assert np.abs(tau) == pytest.approx(gains_of(law, robot).limit)
    assert after["integral"] == [0.0, 0.0]
    # against the limit it goes on: here the integral before holds the torque there, and e takes
    # the integral back
    wound = {"integral": [-side * 1e3] * 2}
    back = q, rest, q - side * 0.01, rest, rest
    tau, after = stepped(law, robot, back, dt=0.01, state=wound)
    assert np.abs(tau) == pytest.approx(gains_of(law, robot).limit)
    np.testing.assert_allclose(np.array(after["integral"]), -side * 1e3 + side * 1e-4)
    # and within the limit it counts
    near = q, rest, q + side * 1e-4, rest, rest
    _, after = stepped(law, robot, near, dt=0.01)
    np.testing.assert_allclose(after["integral"], -side * 1e-6)


def test_wind_up_makes_no_overshoot():
    """One joint that needs longer than its limit allows: a joint turning in the plane."""
    link = dy.Link(joint="revolute", a=1.0, mass=1.0, com=(0, 0, 0), inertia=(0, 0, 0))
    robot = dy.Robot.from_dh("arm", convention="standard", gravity=(0, 0, -9.81), links=[link])

    def overshoot(limit, clip):
        law = ComputedTorque.from_bandwidth(robot, 3.0, integral=True, limit=limit)
        q, qd, state, h, top = 0.0, 0.0, None, 4e-3, 0.0
        for _ in range(2000):
            at = [np.array([x]) for x in (q, qd, 1.0, 0.0, 0.0)]
            tau, state = stepped(law, robot, at, dt=h, state=state)
            qd += h * float(np.clip(tau[0], -clip, clip))  # a unit inertia
            q += h * qd
            top = max(top, q)
        return top - 1.0, abs(q - 1.0)

    with_, without = overshoot(2.0, 2.0), overshoot(None, 2.0)
    assert with_[1] < 1e-3
    assert with_[0] < 0.6 * without[0]


def test_no_kick_when_the_reference_jumps():
    robot = dy.load("planar-2link")
    q, rest = np.array([0.2, 0.4]), np.zeros(2)
    jump = np.full(2, 1e4)  # velocity of a reference that jumps within a sample
    at, kicked = (q, rest, q + 0.1, rest, rest), (q, rest, q + 0.1, jump, rest)
    smooth = JointPID(50.0, 0.0, 10.0)
    np.testing.assert_array_equal(torque(smooth, robot, at), torque(smooth, robot, kicked))
    with_kick = JointPID(50.0, 0.0, 10.0, derivative="error")
    np.testing.assert_allclose(
        torque(with_kick, robot, kicked) - torque(with_kick, robot, at), 10.0 * jump
    )
    still = PointToPoint(50.0, 10.0)
    np.testing.assert_array_equal(torque(still, robot, at), torque(still, robot, kicked))


def test_nan_in_nan_out():
    robot = dy.load("planar-2link")
    q, qd, q_d, qd_d, qdd_d = sample(robot)
    q = q.copy()
    q[1] = np.nan
    for law in LIMITED.values():
        tau, after = stepped(law, robot, (q, qd, q_d, qd_d, qdd_d))
        assert np.isnan(tau[1])
        if after:
            assert np.isnan(SimpleNamespace(**after).integral[1])
