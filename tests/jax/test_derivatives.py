"""Derivatives in JAX: against finite differences, against each other, of second order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import dynamis as dy
import dynamis.jax as dj
from tests.thorough import thorough_but

from .arguments import FUNCTIONS, arguments, close, equal, function, results

pytestmark = pytest.mark.usefixtures("compiled", "x64")


def inner(a, b) -> float:
    pairs = zip(results(a), results(b), strict=True)
    return float(sum(np.vdot(x, y) for x, y in pairs))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_agree_with_differences(name, rng):
    arm = dy.load("polar-rp")
    check_grads(function(name, arm), arguments(name, arm, rng, 2), 1, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", thorough_but(["forward_dynamics", "fk"], FUNCTIONS))
def test_every_argument_alone(name, rng):
    """Where others stay, only what changes is in the code; forward and reverse agree."""
    arm = dy.load("polar-rp")
    f, given = function(name, arm), arguments(name, arm, rng, 3)
    for k, argument in enumerate(FUNCTIONS[name]):
        if name == "step" and argument in ("qd", "tau"):
            continue  # as the others, at some seconds each

        def alone(x, k=k):
            return f(*given[:k], x, *given[k + 1 :])

        x_dot = rng.normal(size=given[k].shape)
        found, y_dot = jax.jvp(alone, (given[k],), (x_dot,))
        assert equal(found, f(*given))
        _, pull = jax.vjp(alone, given[k])
        y_bar = jax.tree.map(lambda y: rng.normal(size=y.shape), found)
        assert inner(pull(y_bar)[0], x_dot) == pytest.approx(inner(y_bar, y_dot), rel=1e-9)
        operations = [str(e.params) for e in jax.make_jaxpr(pull)(y_bar).eqns]
        assert [f"-> {argument}_bar" in text for text in operations] == [True]


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_a_wrench_on_the_tool(name, rng):
    """Values of the robot's method; slopes over q and the wrench, as its derivatives have them."""
    arm = dy.load("polar-rp")
    (q, qd, x), w = rng.uniform(0.2, 1.0, (3, 2, arm.n)), rng.normal(size=(2, 6))

    def call(q, w):
        return getattr(dj, name)(arm, q, qd, x, wrench=w)

    np.testing.assert_array_equal(call(q, w), getattr(arm, name)(q, qd, x, wrench=w))
    check_grads(call, (q, w), 1, rtol=1e-4, atol=1e-5)
    given = {"q": q, "qd": qd, "tau" if name == "forward_dynamics" else "qdd": x}
    found = dj.evaluate(arm, f"{name}_derivatives", {**given, "wrench": w})
    assert equal(found, getattr(arm, f"{name}_derivatives")(q, qd, x, wrench=w))
    slope = jax.vmap(jax.jacrev(lambda q, qd, x, w: getattr(dj, name)(arm, q, qd, x, wrench=w)))
    close(slope(q, qd, x, w), found[0])


def test_a_step_under_a_wrench(rng):
    """That of classical Runge-Kutta over the robot's accelerations, with slopes over the wrench."""
    arm, h = dy.load("polar-rp"), 0.01
    (q, qd, tau), w = rng.uniform(0.2, 1.0, (3, arm.n)), rng.normal(size=6)

    def rates(x):
        return np.append(x[arm.n :], arm.forward_dynamics(x[: arm.n], x[arm.n :], tau, wrench=w))

    x = np.append(q, qd)
    a = rates(x)
    b = rates(x + 0.5 * h * a)
    c = rates(x + 0.5 * h * b)
    after = x + h / 6.0 * (a + 2.0 * b + 2.0 * c + rates(x + h * c))
    close(np.concatenate(dj.step(arm, q, qd, tau, h, wrench=w)), after)
    check_grads(lambda w: dj.step(arm, q, qd, tau, h, wrench=w), (w,), 1, rtol=1e-4, atol=1e-5)


@pytest.mark.thorough
def test_second_derivatives(rng):
    arm = dy.load("polar-rp")
    for name, parameters in {"inverse_dynamics": True, "forward_dynamics": False}.items():
        given = arguments(name, arm, rng, parameters=parameters)
        check_grads(function(name, arm), given, 2, ("rev",), rtol=1e-3, atol=1e-4)
    energy = jax.hessian(lambda q: jnp.sum(dj.fk(arm, q) ** 2))
    q = rng.normal(size=arm.n)
    both = jax.jacrev(jax.jacfwd(lambda q: jnp.sum(dj.fk(arm, q) ** 2)))
    close(energy(q), both(q))
    close(energy(q), np.transpose(energy(q)))


def test_third_derivatives(rng):
    """The tool of a planar arm moves on circles: d3x/dq3 = -dx/dq."""
    arm = dy.load("planar-2link")
    q = rng.normal(size=2)

    def x(q1):
        return dj.fk(arm, jnp.stack([q1, q[1]]))[0, 3]

    close(jax.grad(jax.grad(jax.grad(x)))(q[0]), -jax.grad(x)(q[0]))


def test_jacobians_are_those_of_the_kernels(rng):
    arm = dy.load("scara")
    q, qd, qdd = rng.normal(size=(3, 3))

    def torque(q, qd, qdd):
        return dj.inverse_dynamics(arm, q, qd, qdd)

    expected = arm.inverse_dynamics_derivatives(q, qd, qdd)
    for jacobian in (jax.jacfwd, jax.jacrev):
        close(jax.jit(jacobian(torque, (0, 1, 2)))(q, qd, qdd), expected)
    many = rng.normal(size=(3, 4, 3))
    close(jax.vmap(jax.jacrev(torque))(*many), arm.inverse_dynamics_derivatives(*many)[0])
    close(jax.jacfwd(lambda p: dj.inverse_dynamics(arm, q, qd, qdd, p))(arm.parameters.values),
          arm.regressor(q, qd, qdd))  # fmt: skip


def test_the_gradient_in_shared_parameters_is_the_sum_of_those_of_the_samples(rng):
    arm = dy.load("scara")
    q, qd, qdd = rng.normal(size=(3, 8, 3))
    weight, values = rng.normal(size=(8, 3)), arm.parameters.values

    def loss(p):
        return jnp.sum(weight * dj.inverse_dynamics(arm, q, qd, qdd, p))

    shared, each = jax.grad(loss)(values), jax.grad(loss)(np.tile(values, (8, 1)))
    assert shared.shape == values.shape and each.shape == (8, values.size)
    close(shared, each.sum(axis=0))
    close(shared, np.einsum("kn,knp->p", weight, arm.regressor(q, qd, qdd)))


def test_gradients_through_a_rollout_with_and_without_checkpoints(rng):
    arm = dy.load("polar-rp")
    torques = rng.normal(size=(20, 2))
    start, values = jnp.array([[0.3, 0.5], [0.1, -0.2]]), arm.parameters.values

    def end(torques, values, one):
        def step(state, tau):
            return one(state, tau, values), None

        (q, qd), _ = jax.lax.scan(step, (start[0], start[1]), torques)
        return jnp.sum(q) + 0.1 * jnp.sum(qd)

    def plain(state, tau, values):
        return dj.step(arm, *state, tau, 1e-2, values)

    found = jax.jit(jax.grad(end, (0, 1)), static_argnums=2)
    slopes = found(torques, values, plain)
    close(found(torques, values, jax.checkpoint(plain)), slopes)
    change = rng.normal(size=torques.shape)
    ahead, behind = (end(torques + s * 1e-5 * change, values, plain) for s in (1, -1))
    assert (ahead - behind) / 2e-5 == pytest.approx(inner(slopes[0], change), rel=1e-6)
    change = values * rng.normal(size=values.shape)
    ahead, behind = (end(torques, values + s * 1e-5 * change, plain) for s in (1, -1))
    assert (ahead - behind) / 2e-5 == pytest.approx(inner(slopes[1], change), rel=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constants_of_a_program_have_a_precision(dtype, rng):
    """A time step, or a cotangent, that a program holds as a constant."""
    arm = dy.load("polar-rp")
    q = jnp.asarray(rng.normal(size=2), dtype)

    @jax.jit
    def end(q):
        def one(state, _):
            return dj.step(arm, *state, q, 1e-2), None

        return jax.lax.scan(one, (q, q), length=3)[0][0]

    def energy(q):
        return dj.evaluate(arm, "potential_energy", {"q": q})

    rtol = 1e-9 if dtype == "float64" else 1e-4
    close(jax.jacrev(end)(q), jax.jacfwd(end)(q), rtol)
    close(jax.jit(jax.grad(energy))(q), arm.gravity_torque(q), rtol)
    assert jax.jacrev(end)(q).dtype == dtype
    batch = jax.vmap(jax.jit(jax.grad(lambda q: energy(q) * 2.0)))(jnp.stack([q, q]))
    close(batch[1], 2.0 * arm.gravity_torque(q), rtol)


def test_no_samples_have_no_gradient():
    arm = dy.load("scara")
    none = np.zeros((0, 3))
    q_bar, values_bar = jax.grad(
        lambda q, p: dj.inverse_dynamics(arm, q, q, q, p).sum(), argnums=(0, 1)
    )(none, arm.parameters.values)
    assert q_bar.shape == (0, 3)
    assert not values_bar.any()


def test_linear_functions_of_derivatives(rng):
    """jax.linearize, jax.linear_transpose and vmap over cotangents use the same rules."""
    arm = dy.load("scara")
    q, t = rng.normal(size=(2, 3))
    _, along = jax.linearize(lambda q: dj.gravity_torque(arm, q), q)
    close(along(t), jax.jvp(lambda q: dj.gravity_torque(arm, q), (q,), (t,))[1])
    (back,) = jax.linear_transpose(along, q)(t)
    (expected,) = jax.vjp(lambda q: dj.gravity_torque(arm, q), q)[1](t)
    close(back, expected)
