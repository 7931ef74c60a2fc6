"""Small arms whose motion is known in closed form, and references to compare with."""

import numpy as np
from scipy.integrate import solve_ivp

import dynamis as dy

GRAVITY = 9.81


def slider(friction=None, drive=None, limits=None, mass=2.0, gravity=0.0):
    """One mass on a rail along z; gravity pulls it back with mass * gravity."""
    link = dy.Link(
        joint="prismatic",
        mass=mass,
        com=(0, 0, 0),
        inertia=(0, 0, 0),
        friction=friction or dy.Friction(),
        drive=drive,
        limits=limits,
    )
    return dy.Robot.from_dh("slider", convention="standard", links=[link], gravity=(0, 0, -gravity))


def spinner(friction=None, drive=None, inertia=0.5):
    """One flywheel about z, without gravity."""
    link = dy.Link(
        mass=1.0,
        com=(0, 0, 0),
        inertia=(inertia, inertia, inertia),
        friction=friction or dy.Friction(),
        drive=drive,
    )
    return dy.Robot.from_dh("spinner", convention="standard", links=[link], gravity=(0, 0, 0))


def bar(friction=None, drive=None, limits=None):
    """One bar of a pair: 1 m, 3 kg."""
    return dy.Link(
        a=1.0,
        mass=3.0,
        com=(-0.5, 0, 0),
        inertia=(0.01, 0.25, 0.25),
        friction=friction or dy.Friction(),
        drive=drive,
        limits=limits,
    )


def pair(*links, gravity=(0, -GRAVITY, 0)):
    """Two bars in a vertical plane."""
    links = links or (bar(), bar())
    return dy.Robot.from_dh("pair", convention="standard", links=links, gravity=gravity)


def exact(robot, t, q0, qd0, torque=lambda t, q, qd: 0.0):
    """(q, qd) at times t by DOP853 at 1e-13."""
    n = robot.n

    def rate(at, y):
        q, qd = y[:n], y[n:]
        tau = np.broadcast_to(torque(at, q, qd), (n,))
        return np.concatenate([qd, robot.forward_dynamics(q, qd, tau)])

    start = np.concatenate([q0, qd0])
    found = solve_ivp(
        rate, (0.0, t[-1]), start, "DOP853", t, rtol=1e-13, atol=1e-13, max_step=t[-1] / 20
    )
    return found.y[:n].T, found.y[n:].T


def order(errors):
    """Observed order from errors at steps h, h/2, h/4, ..."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


def transitions(stuck):
    """How often joints changed between holding and sliding, (n,)."""
    return np.sum(stuck[1:] != stuck[:-1], axis=0)
