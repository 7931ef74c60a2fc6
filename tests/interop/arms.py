"""Random robots for the conversions, and what must stay the same on the way."""

from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, settings

import dynamis as dy

from ..random_robots import states

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LIMIT = 1e-10


def coulomb(robot, symmetric=False):
    """With Coulomb's law alone, which every library has, and no offset."""

    def pair(c):
        return c[0] if symmetric else c

    links = []
    for x in robot.model.links:
        f, d = x.friction, x.drive
        friction = dy.Friction(viscous=f.viscous, coulomb=pair(f.coulomb))
        links.append(replace(x, friction=friction, drive=replace(d, coulomb=pair(d.coulomb))))
    return dy.Robot(replace(robot.model, links=tuple(links)))


def relative(a, b):
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-3)


def order(robot, names):
    """Where each of `names` stands in the robot's q."""
    return [robot.joint_names.index(name) for name in names]


def assert_same_motion(a, b, friction=True, limit=LIMIT):
    """Torques and tool poses of two robots whose joints have the same names."""
    assert set(a.joint_names) == set(b.joint_names)
    at = order(a, b.joint_names)
    q, qd, qdd = states(a, 3)
    ours = a.inverse_dynamics(q, qd, qdd) - (0 if friction else a.friction_torque(qd))
    theirs = b.inverse_dynamics(q[:, at], qd[:, at], qdd[:, at])
    theirs = theirs - (0 if friction else b.friction_torque(qd[:, at]))
    assert relative(theirs, ours[:, at]) < limit
    assert relative(b.fk(q[:, at]), a.fk(q)) < limit
    assert relative(b.mass_matrix(q[0, at]), a.mass_matrix(q[0])[np.ix_(at, at)]) < limit
