"""Closed mechanisms in JAX: values bit for bit, NaN for samples that do not close, derivatives."""

import jax
import numpy as np
import pytest

import dynamis.jax as dj
from dynamis.errors import OptionError

from ..closed_mechanisms import five_bar, motions
from .arguments import close, equal

pytestmark = pytest.mark.usefixtures("compiled", "x64")


@pytest.fixture(scope="module")
def case(compiled):
    robot = five_bar()
    q, qd, qdd, v, a = motions(robot, 4)
    given = {"q": q, "qd": qd, "qdd": qdd, "qd_active": v, "qdd_active": a}
    return robot, given | {"tau": robot.inverse_dynamics(q, qd, qdd)}


KERNELS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "gravity_torque": ("q",),
    "coriolis_matrix": ("q", "qd"),
    "closure_error": ("q",),
    "closure_jacobian": ("q",),
    "closure_status": ("q",),
    "joint_rates": ("q", "qd_active"),
    "joint_accelerations": ("q", "qd", "qdd_active"),
    "drive_jacobian": ("q",),
    "constraint_forces": ("q", "qd", "qdd"),
    "joint_reactions": ("q", "qd", "qdd"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_values_are_those_of_the_methods_and_open_samples_are_nan(case, name):
    robot, given = case
    own = {x: given[x] for x in KERNELS[name]}
    expected = getattr(robot, name)(*own.values())
    assert equal(dj.evaluate(robot, name, own), expected)
    assert equal(jax.jit(lambda **x: dj.evaluate(robot, name, x))(**own), expected)
    opened = {**own, "q": given["q"] + 0.05 * (np.arange(4) == 1)[:, None]}
    found = np.asarray(dj.evaluate(robot, name, opened))
    rest = [0, 2, 3]
    assert np.array_equal(found[rest], expected[rest])
    if name == "closure_status":
        assert found.tolist() == [0.0, 2.0, 0.0, 0.0]
    elif name in ("closure_error", "closure_jacobian"):
        assert np.isfinite(found).all()
    else:
        assert np.isnan(found[1]).any()


def test_derivatives_by_torque_and_parameters(case):
    robot, given = case
    q, qd, qdd, tau = (given[x][0] for x in ("q", "qd", "qdd", "tau"))
    h, p = 1e-4, robot.parameters.values
    slope = jax.jacobian(lambda x: dj.forward_dynamics(robot, q, qd, x))(tau)
    ends = [[robot.forward_dynamics(q, qd, tau + s * h * x) for s in (1, -1)] for x in np.eye(4)]
    close(slope, np.stack([(a - b) / (2 * h) for a, b in ends], axis=-1), 1e-8)
    slope = jax.jacobian(lambda x: dj.inverse_dynamics(robot, q, qd, qdd, x))(p)
    close(slope @ p, tau)  # without friction the torque is linear and homogeneous
    assert np.isnan(jax.jacobian(lambda x: dj.mass_matrix(robot, x))(q + 0.1)).any()


def test_what_closed_mechanisms_have_not_is_said(case):
    robot, given = case
    state = (given["q"], given["qd"], given["tau"])
    with pytest.raises(OptionError, match="not available for mechanisms with closures"):
        dj.step(robot, *state)
    Y = dj.regressor(robot, given["q"], given["qd"], given["qdd"])
    close(Y @ robot.parameters.values, given["tau"])
