"""Elastic arms beside SciPy, which has the equations of links and motors written out."""

import math

import numpy as np
import pytest

import dynamis as dy

from .test_elastic import by_scipy, simulated, two_links, two_masses

NEAR = 1e-10

pytestmark = pytest.mark.usefixtures("compiled")


def puma(hardening: float) -> dy.Robot:
    """All six joints elastic, without friction."""
    robot = dy.load("puma560").with_friction(0.0, 0.0)
    for i, K in enumerate((1e4, 2e4, 1e4, 1e3, 1e3, 1e3)):
        own = {"stiffness": K, "damping": 1e-4 * K, "hardening": hardening * K}
        robot = robot.with_drive(i, viscous=0.0, coulomb=0.0, **own)
    return robot


def torques(size: int):
    """Torques of sizes that fit the arms, sines of a frequency each."""
    most = np.array([20.0, 15.0, 5.0, 0.3, 0.2, 0.1][:size])
    return lambda t: most * np.sin((7.0 + np.arange(size)) * t + 0.5)


ARMS = {  # robot, duration, the step of RK4, and the longest that is extrapolated
    "two masses": (two_masses(1e3, 0.02), 0.2, 1e-4, 5e-4),
    "two masses that harden": (two_masses(1e3, 0.02, hardening=1e6), 0.2, 1e-4, 5e-4),
    "2R": (two_links(2e3, 0.5), 0.2, 1e-4, 5e-4),
    "2R that hardens": (two_links(2e3, 0.5, hardening=2e7), 0.2, 5e-5, 2.5e-4),
    "puma560": (puma(0.0), 0.1, 2e-5, 1e-4),
    "puma560 that hardens": (puma(1e3), 0.1, 2e-5, 1e-4),
}


@pytest.fixture(scope="module", params=ARMS)
def arm(request):
    """A robot, its start, what SciPy says of the end, and steps."""
    robot, duration, short, longest = ARMS[request.param]
    q0 = np.array([0.1, 0.3, -1.2, 0.4, 0.5, 0.2][: robot.n])
    motor0 = q0 + 2e-3
    end = by_scipy(robot, duration, torques(robot.n), q0, motor0)
    return robot, duration, {"q0": q0, "motor0": motor0}, end, short, longest


def ends(robot, duration, start, dt, integrator):
    run = simulated(robot, duration, dt=dt, torque=torques(robot.n), integrator=integrator, **start)
    assert run.integrator == integrator
    return np.concatenate([run.q[-1], run.motor[-1]])


def test_short_explicit_steps(arm):
    robot, duration, start, exact, short, _ = arm
    np.testing.assert_allclose(ends(robot, duration, start, short, "rk4"), exact, atol=NEAR)


def test_implicit_steps_extrapolated(arm):
    """Third order: three steps take the errors of h^3 and h^4 away."""
    robot, duration, start, exact, _, longest = arm
    steps = [longest / 2**k for k in range(3)]
    a, b, c = (ends(robot, duration, start, dt, "ros34pw2") for dt in steps)
    once, again = (8.0 * b - a) / 7.0, (8.0 * c - b) / 7.0
    np.testing.assert_allclose((16.0 * again - once) / 15.0, exact, atol=NEAR)
    errors = [np.abs(x - exact).max() for x in (b, c)]
    assert math.log2(errors[0] / errors[1]) > 2.7
