"""Parallel robots of the catalogue next to calculations of their own: Gough-Stewart."""

import numpy as np
import pytest

import dynamis as dy

from ..closed_mechanisms import CLOSED

DOF = {"five-bar": 2, "palletizer": 4, "delta": 3, "gough-stewart": 6, "3-rps": 3}


@pytest.mark.parametrize("name", CLOSED)
def test_home_closes(name):
    robot = dy.load(name)
    q = robot.configurations["home"]
    assert np.abs(robot.closure_error(q)).max() < 1e-12
    assert robot.closure_status(q) == 0.0
    assert robot.dof == DOF[name] and robot.independent == robot.active
    assert ((robot.limits[:, 0] <= q) & (q <= robot.limits[:, 1])).all()


def test_parallelograms_keep_the_wrist_level():
    robot = dy.load("palletizer")
    home = robot.configurations["home"]
    for lower, crank in ((0.3, 0.5), (-0.4, 0.2), (0.8, 0.6)):
        q = home.copy()
        q[[0, 1, 4, 5]] = 0.7, lower, 0.4, crank
        q[[2, 3, 6, 7, 8, 9]] = crank - lower, -crank, lower - crank, -lower, lower, crank
        assert np.abs(robot.closure_error(q)).max() < 1e-12
        T = robot.fk(q)
        np.testing.assert_allclose(T[:3, 2], (0, 0, -1), atol=1e-12)
        # arms of 0.945 m and 1.025 m, in the vertical plane of axis 1
        r = 0.26 + 0.945 * np.sin(lower) + 1.025 * np.cos(crank) + 0.225
        z = 0.745 + 0.945 * np.cos(lower) - 1.025 * np.sin(crank) - 0.2515
        np.testing.assert_allclose(T[:3, 3], (r * np.cos(0.7), r * np.sin(0.7), z), atol=1e-12)


# Gough-Stewart platform of L.-W. Tsai, J. Mech. Design 122(1), 2000, leg by leg

BASE = np.array(
    [(-2.120, 1.374, 0), (-2.380, 1.224, 0), (-2.380, -1.224, 0), (-2.120, -1.374, 0),
     (0, -0.15, 0), (0, 0.15, 0)]
)  # fmt: skip
PLATFORM = np.array(
    [(0.170, 0.595, -0.4), (-0.6, 0.15, -0.4), (-0.6, -0.15, -0.4), (0.170, -0.595, -0.4),
     (0.430, -0.445, -0.4), (0.430, 0.445, -0.4)]
)  # fmt: skip
MASS, INERTIA, LEG_MASS, LEG_INERTIA, HALF = 1.5, 0.08, 0.1, 1 / 160, 0.5
GRAVITY = np.array([0, 0, -9.81])


def leg_forces(p, v, a):
    """Lengths and forces of the legs for a platform that only translates: Newton and Euler.

    Cylinder and piston of a leg turn with w about the base joint. Moments about that joint give
    the part of the ball joint's force across the leg, what is left of the platform's balance the
    parts along the legs, and the piston's balance along its leg the forces of the drives.
    """
    d = p + PLATFORM - BASE
    length = np.linalg.norm(d, axis=1)
    s = d / length[:, None]
    rate = s @ v
    w = np.cross(s, v) / length[:, None]
    bend = a - 2 * rate[:, None] * np.cross(w, s) - length[:, None] * np.cross(w, np.cross(w, s))
    wd = np.cross(s, bend) / length[:, None]
    stretch = s @ a + length * (w * w).sum(axis=1)
    across = np.empty((6, 3))
    along = np.empty(6)
    for i in range(6):

        def point(r, rd, rdd, i=i):  # acceleration of a point at distance r on the leg
            turning = np.cross(wd[i], s[i]) + np.cross(w[i], np.cross(w[i], s[i]))
            return rdd * s[i] + 2 * rd * np.cross(w[i], s[i]) + r * turning

        far = length[i] - HALF
        low = LEG_MASS * (point(HALF, 0.0, 0.0) - GRAVITY)
        high = LEG_MASS * (point(far, rate[i], stretch[i]) - GRAVITY)
        moment = np.cross(HALF * s[i], low) + np.cross(far * s[i], high) + 2 * LEG_INERTIA * wd[i]
        across[i] = np.cross(moment, s[i]) / length[i]  # what the platform exerts on the leg
        along[i] = s[i] @ high  # the piston's own share of the drive
    force = MASS * (a - GRAVITY) + across.sum(axis=0)
    moment = np.cross(PLATFORM, across).sum(axis=0)
    A = np.vstack([s.T, np.cross(PLATFORM, s).T])
    return length, np.linalg.solve(A, np.concatenate([force, moment])) + along


def motion(t, w=3.0):
    """Tsai's motion of the platform: position, velocity, acceleration."""
    direction = np.array([0.2, 0.2, 0.2])
    p = np.array([-1.5, 0, 1]) + direction * np.sin(w * t)
    return p, direction * w * np.cos(w * t), -direction * w**2 * np.sin(w * t)


def platform_state(robot, p, v, a):
    """q, qd, qdd of all joints with the platform at p, upright."""
    d = p + PLATFORM - BASE
    length = np.linalg.norm(d, axis=1)
    legs = np.stack([np.arctan2(-d[:, 1], d[:, 2]), np.arcsin(d[:, 0] / length), length], axis=1)
    q = np.concatenate([p, np.zeros(3), legs.ravel()])
    # all rates follow from those of the platform: J_legs qd_legs = -J_platform qd_platform
    J = robot.closure_jacobian(q)
    qd = np.concatenate([v, np.zeros(21)])
    qd[6:] = np.linalg.solve(J[:, 6:], -J[:, :3] @ v)
    qdd = robot.joint_accelerations(q, qd, np.zeros(6))  # and the same for accelerations
    bias = robot.closure_jacobian(q) @ qdd  # = -Jd qd
    qdd = np.concatenate([a, np.zeros(21)])
    qdd[6:] = np.linalg.solve(J[:, 6:], bias - J[:, :3] @ a)
    return q, qd, qdd


@pytest.mark.parametrize("t", [None, 0.0, np.pi / 6, np.pi / 4, 1.3])
def test_gough_stewart_legs(t):
    robot = dy.load("gough-stewart")
    p, v, a = motion(0.0 if t is None else t)
    v, a = (0 * v, 0 * a) if t is None else (v, a)
    length, force = leg_forces(p, v, a)
    q, qd, qdd = platform_state(robot, p, v, a)
    drives = list(robot.active)
    np.testing.assert_allclose(q[drives], length, rtol=1e-14)
    np.testing.assert_allclose(robot.fk(q)[:3, 3], p, atol=1e-14)
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau[drives], force, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-9)


OTHER = {  # of another Newton-Euler calculation, to its last digit
    None: (7.217933, 7.220054, 7.220054, 7.217933, 7.220165, 7.220165),
    0.0: (7.24926, 7.25386, 7.22690, 7.21833, 7.24984, 7.25381),
    np.pi / 6: (4.08457, 7.34427, 1.61040, 0.42712, 7.98071, 5.96841),
    np.pi / 4: (4.86110, 7.27877, 3.17309, 2.34945, 7.80301, 6.24029),
}


@pytest.mark.parametrize("t", OTHER)
def test_leg_forces_of_another_calculation(t):
    p, v, a = motion(0.0 if t is None else t)
    v, a = (0 * v, 0 * a) if t is None else (v, a)
    np.testing.assert_allclose(leg_forces(p, v, a)[1], OTHER[t], atol=6e-6)
