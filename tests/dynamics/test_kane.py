"""Kane's equations: partial velocities, generalised forces, and the torques of every arm."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.dynamics.formulations.kane import kane_terms
from dynamis.errors import OptionError
from dynamis.model import catalogue
from dynamis.spatial.functions import MATH

from ..random_robots import build

AGREE = 1e-10
ARMS = {
    "standard": lambda: build("standard", ["revolute", "prismatic", "revolute", "revolute"], 1),
    "modified": lambda: build("modified", ["prismatic", "revolute", "revolute"], 2),
    "urdf tree": lambda: build("urdf", ["revolute", "prismatic", "revolute"], 3, [-1, 0, 0]),
}


def close(a, b):
    assert np.abs(np.asarray(a) - b).max() <= AGREE * (1.0 + np.abs(b).max())


@pytest.mark.parametrize("name", catalogue.names())
def test_every_arm_of_the_catalogue(name):
    robot = dy.load(name)
    robot = robot.without_closures() if robot.model.closures else robot
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 4, robot.n))
    tau = robot.inverse_dynamics(q, qd, qdd, method="newton-euler-base")
    close(robot.inverse_dynamics(q, qd, qdd, method="kane"), tau)


@pytest.mark.parametrize("make", ARMS.values(), ids=ARMS)
def test_partial_velocities_are_the_jacobian(make):
    robot = make()
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, robot.n))
    terms = kane_terms(robot.chain, q, qd, qdd, MATH)
    for i, link in enumerate(robot.link_names):
        J, Jd = robot.jacobian(q, link=link), robot.jacobian_dot(q, qd, link=link)
        for r in range(robot.n):
            none = (0.0, 0.0, 0.0)
            close([*terms.V[i].get(r, none), *terms.W[i].get(r, none)], J[:, r])
        close([*terms.v[i], *terms.w[i]], J @ qd)
        close([*terms.a[i], *terms.wd[i]], J @ qdd + Jd @ qd)
    close(terms.active, -robot.gravity_torque(q))
    links = robot.observation_matrix(q, qd, qdd)
    close(terms.tau, links.W_l @ links.Phi_l)
    close(-np.add(terms.active, terms.inertia), terms.tau)


def test_wrench_and_friction_as_of_the_other_formulations():
    robot = ARMS["modified"]()
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, robot.n))
    given = {"wrench": np.arange(6.0), "link_forces": np.ones((3, 6))}
    tau = robot.inverse_dynamics(q, qd, qdd, **given)
    close(robot.inverse_dynamics(q, qd, qdd, method="kane", **given), tau)
    with pytest.raises(OptionError, match="'kane' does not take base_motion"):
        robot.inverse_dynamics(q, qd, qdd, method="kane", base_motion=np.zeros(9))


def test_it_is_counted_like_the_others():
    robot = dy.load("puma560")
    counts = {x: robot.cost("inverse_dynamics", x).total for x in ("newton-euler", "kane")}
    assert (
        counts["newton-euler"]
        < counts["kane"]
        < robot.cost("inverse_dynamics", "lagrange-euler").total
    )
