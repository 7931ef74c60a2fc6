"""Kernels as differentiable functions: forward and reverse derivatives of any order."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.function import Function, kernel_function
from dynamis.compile.interpreter import interpret
from dynamis.compile.kernels import KERNELS

NAMES = (
    "inverse_dynamics", "forward_dynamics", "fk", "jacobian", "mass_matrix", "gravity_torque",
    "regressor", "step",
)  # fmt: skip


def sample(function: Function, robot, rng) -> list[np.ndarray]:
    given = []
    for port in function.inputs:
        if port.name == "parameters":
            given.append(np.asarray(robot.parameters.values) * rng.uniform(0.9, 1.1))
        elif port.name == "dt":
            given.append(np.array(1e-2))
        else:
            given.append(rng.uniform(0.2, 1.0, port.shape))
    return given


def flat(arrays) -> np.ndarray:
    return np.concatenate([np.ravel(a) for a in arrays])


def evaluated(function: Function, *given) -> list[np.ndarray]:
    return interpret(function.program(), given)


@pytest.mark.parametrize("robot", ["scara", "polar-rp", "planar-2link"])
@pytest.mark.parametrize("parameters", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_the_function(name, parameters, robot):
    rng = np.random.default_rng(5)
    arm = dy.load(robot)
    f = kernel_function(KERNELS[name], arm.model, parameters)
    x = sample(f, arm, rng)
    dx = [rng.normal(size=a.shape) * max(1e-3, np.abs(a).max()) for a in x]
    h = 1e-6
    ahead, behind = (
        evaluated(f, *[a + s * h * d for a, d in zip(x, dx, strict=True)]) for s in (1, -1)
    )
    slope = (flat(ahead) - flat(behind)) / (2 * h)
    along = evaluated(f.pushforward, *x, *dx)
    scale = 1.0 + np.abs(slope).max()
    np.testing.assert_allclose(flat(along), slope, atol=1e-6 * scale)
    y_bar = [rng.normal(size=a.shape) for a in along]
    x_bar = evaluated(f.pullback, *x, *y_bar)
    assert flat(x_bar) @ flat(dx) == pytest.approx(flat(y_bar) @ flat(along), rel=1e-9, abs=1e-9)


def test_the_second_derivative_is_symmetric():
    rng = np.random.default_rng(6)
    arm = dy.load("scara")
    twice = kernel_function(KERNELS["inverse_dynamics"], arm.model).pullback.pushforward
    q, qd, qdd, weight = rng.uniform(0.2, 1.0, (4, arm.n))
    none = np.zeros(arm.n)
    rows = [evaluated(twice, q, qd, qdd, weight, e, none, none, none)[0] for e in np.eye(arm.n)]
    assert np.abs(rows).max() > 0.1
    np.testing.assert_allclose(rows, np.transpose(rows), atol=1e-12)


def test_a_kernel_and_its_derivatives_run_as_machine_code(compiled):
    rng = np.random.default_rng(7)
    arm = dy.load("scara")
    f = kernel_function(KERNELS["inverse_dynamics"], arm.model)
    from dynamis.compile.arrays import run

    given = [rng.uniform(-1, 1, (5, p.shape[0])) for p in f.pullback.inputs]
    found = run(f.pullback.code("float64"), given, [p.name for p in f.pullback.inputs])
    for a, b in zip(found, evaluated(f.pullback, *given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_part_is_the_function_with_arguments_zero_and_fewer_operations():
    rng = np.random.default_rng(8)
    arm = dy.load("scara")
    whole = kernel_function(KERNELS["inverse_dynamics"], arm.model, True).pushforward
    part = whole.part((4, 5, 7), (0,))  # only qdd has a tangent
    assert [p.name for p in part.inputs] == ["q", "qd", "qdd", "parameters", "qdd_dot"]
    x = sample(part, arm, rng)
    none, zeros = np.zeros(arm.n), np.zeros(len(arm.parameters.values))
    full = [*x[:4], none, none, x[4], zeros]
    np.testing.assert_allclose(evaluated(part, *x), evaluated(whole, *full), atol=1e-12)
    assert part.program().length < whole.program().length / 2
    assert part.key != whole.key and whole.part((), (0,)) is whole
    back = kernel_function(KERNELS["step"], arm.model).pullback
    alone = back.part((4,), (0, 3))
    assert [p.name for p in alone.inputs] == ["q", "qd", "tau", "dt", "qd_next_bar"]
    x = sample(alone, arm, rng)
    expected = evaluated(back, *x[:4], none, x[4])
    for a, b in zip(evaluated(alone, *x), (expected[0], expected[3]), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
