"""The regressor of elastic arms: torques of both sides, and the parameters that it is linear in."""

from dataclasses import dataclass

import numpy as np
import pytest

import dynamis as dy
from dynamis.dynamics.elastic import expanded
from dynamis.dynamics.equation import inverse_dynamics
from dynamis.errors import ModelError, OptionError
from dynamis.spatial.functions import MATH

from ..closed_mechanisms import five_bar
from .test_elastic_inverse import LAWS, sines, two_links

ROUNDING = 1e-12  # of torques in N m, relative
MORE = ("motor_viscous", "motor_coulomb+", "motor_coulomb-")
GEAR = ("stiffness", "damping", "hardening")


@dataclass(frozen=True)
class Bristles:
    """A friction law with a constant that gears have too."""

    stiffness: float = 2.0

    def torque(self, qd, direction, constants, fn):
        return constants["stiffness"] * fn.tanh(qd)


def motion(robot, seed=0):
    return np.random.default_rng(seed).normal(size=(6, robot.n))


@pytest.mark.parametrize("friction", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("backlash", [0.0, 0.3])
def test_both_sides_against_the_expanded_chain(friction, backlash):
    given = {"hardening": 4e3, "damping": 3.0, "backlash": backlash, "coulomb": (4e-4, -3e-4)}
    robot = two_links({**friction}, **given)
    for seed in range(5):
        q, qd, qdd, th, thd, thdd = motion(robot, seed)
        Y = robot.elastic_regressor(q, qd, qdd, th, thd, thdd)
        states = [np.concatenate(x).tolist() for x in ((q, th), (qd, thd), (qdd, thdd))]
        expected = inverse_dynamics(expanded(robot.chain), *states, MATH)
        values = robot.elastic_parameters.values
        np.testing.assert_allclose(Y @ values, expected, rtol=ROUNDING, atol=ROUNDING * 1e4)


def test_names_and_values():
    robot = two_links({"coulomb": 0.5}, hardening=4e3, damping=3.0, coulomb=(4e-4, -3e-4))
    found, rigid = robot.elastic_parameters, robot.parameters
    more = [f"joint{i}.{x}" for names in (MORE, GEAR) for i in (1, 2) for x in names]
    assert found.names == (*rigid.names, *more)
    assert found["joint1.stiffness"] == 2000.0
    assert (found["joint2.damping"], found["joint2.hardening"]) == (3.0, 4e3)
    assert found["joint1.viscous"] == pytest.approx(0.3)  # of the link alone
    assert found["joint1.motor_viscous"] == pytest.approx(50.0**2 * 1e-5)
    assert rigid["joint1.viscous"] == pytest.approx(0.3 + 50.0**2 * 1e-5)
    assert found["joint1.motor_coulomb-"] == pytest.approx(-50.0 * 3e-4)
    assert found["joint1.rotor_inertia"] == rigid["joint1.rotor_inertia"]
    assert "joint2" in repr(found)


def test_torques_of_a_motion_are_those_of_elastic_inverse_dynamics():
    """Links feel nothing but their gears: zero; motors give tau."""
    robot = two_links({"coulomb": 0.5}, hardening=4e5)
    t, h = np.linspace(0.1, 0.3, 5), 1e-5
    q, qd, qdd = sines(t)[:3]
    tau, th, thd = robot.elastic_inverse_dynamics(*sines(t))
    near = [robot.elastic_inverse_dynamics(*sines(t + k * h))[2] for k in (-1, 1)]
    Y = robot.elastic_regressor(q, qd, qdd, th, thd, (near[1] - near[0]) / (2 * h))
    assert Y.shape == (5, 4, len(robot.elastic_parameters))
    found = Y @ robot.elastic_parameters.values
    np.testing.assert_allclose(found, np.hstack([np.zeros((5, 2)), tau]), atol=1e-6)


def test_rigid_joints_keep_their_row_and_rigid_arms_their_regressor(compiled):
    puma = dy.load("puma560")
    state = motion(puma)
    Y = puma.elastic_regressor(*state)
    np.testing.assert_allclose(Y, puma.regressor(*state[:3]), atol=1e-12)
    assert puma.elastic_parameters.names == puma.parameters.names
    robot = puma.with_drive(4, stiffness=1e3)
    Y = robot.elastic_regressor(*state)
    assert Y.shape == (7, len(puma.parameters) + 6)
    rigid = [0, 1, 2, 3, 5]
    names = [k for k, x in enumerate(puma.parameters.names) if not x.startswith("joint5.")]
    expected = puma.regressor(*state[:3])[np.ix_(rigid, names)]
    np.testing.assert_allclose(Y[np.ix_(rigid, names)], expected, atol=1e-12)
    spring = robot.elastic_parameters.index("joint5.stiffness")
    d = state[3, 4] - state[0, 4]
    np.testing.assert_allclose(Y[:, spring], [0, 0, 0, 0, -d, 0, d], atol=1e-12)
    rotor = robot.elastic_parameters.index("joint5.rotor_inertia")
    np.testing.assert_allclose(Y[:, rotor], [0] * 6 + [state[5, 4]])


def test_stiffness_and_damping_are_found_by_least_squares():
    robot = two_links({"coulomb": 0.5}, hardening=4e3, damping=3.0)
    state = np.random.default_rng(1).normal(size=(6, 200, 2))
    Y, values = robot.elastic_regressor(*state), robot.elastic_parameters.values
    tau = (Y @ values)[:, 2:]
    index = robot.elastic_parameters.index
    names = [f"joint{i}.{x}" for i in (1, 2) for x in (*GEAR, *MORE, "rotor_inertia")]
    columns = [index(x) for x in names]
    found = np.linalg.lstsq(Y[:, 2:][..., columns].reshape(400, -1), tau.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found, values[columns], rtol=1e-9, atol=1e-9)


def test_what_has_none_is_refused():
    drive = dy.Drive(gear=30.0, rotor_inertia=1e-5, stiffness=3e3)
    closed = five_bar().with_drive(0, drive)
    with pytest.raises(OptionError, match="elastic_regressor"):
        closed.elastic_regressor(*np.zeros((6, 4)))
    robot = two_links({"law": Bristles()})
    with pytest.raises(ModelError, match=r"joint1\.stiffness"):
        robot.elastic_parameters  # noqa: B018
