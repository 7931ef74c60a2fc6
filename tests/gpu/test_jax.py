"""dynamis.jax on a GPU: the bits of the processor, gradients, jit, vmap and scan."""

import numpy as np
import pytest

import dynamis as dy

jax = pytest.importorskip("jax", reason="JAX is not installed")
if jax.default_backend() != "gpu":
    pytest.skip("JAX sees no GPU", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402

import dynamis.jax as dj  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiled", "wide")
ROBOT = dy.load("scara")
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def wide():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def on_gpu(x) -> bool:
    return all(d.platform == "gpu" for d in x.devices())


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,), (100_000,)])
def test_values(shape):
    q, qd, qdd = RNG.uniform(-2, 2, (3, *shape, ROBOT.n))
    for found in (
        dj.inverse_dynamics(ROBOT, jnp.asarray(q), qd, qdd),
        jax.jit(lambda *x: dj.inverse_dynamics(ROBOT, *x))(q, qd, qdd),
        ROBOT.inverse_dynamics(jnp.asarray(q), jnp.asarray(qd), jnp.asarray(qdd)),
    ):
        assert on_gpu(found)
        np.testing.assert_array_equal(found, ROBOT.inverse_dynamics(q, qd, qdd))
    np.testing.assert_array_equal(dj.mass_matrix(ROBOT, jnp.asarray(q)), ROBOT.mass_matrix(q))


def test_float32():
    q = RNG.uniform(-2, 2, (9, ROBOT.n)).astype(np.float32)
    found = dj.gravity_torque(ROBOT, jnp.asarray(q))
    assert found.dtype == jnp.float32
    np.testing.assert_array_equal(found, ROBOT.gravity_torque(q, dtype="float32"))


def test_gradients():
    q, qd, tau = RNG.uniform(-1, 1, (3, 4, ROBOT.n))
    p = np.asarray(ROBOT.parameters.values)

    def loss(q, qd, tau, p):
        a, b = dj.step(ROBOT, q, qd, tau, 1e-2, p)
        return (a * a).sum() + (b * b).sum()

    found = jax.grad(loss, argnums=(0, 1, 2, 3))(*map(jnp.asarray, (q, qd, tau, p)))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.grad(loss, argnums=(0, 1, 2, 3))(*map(jnp.asarray, (q, qd, tau, p)))
    for a, b in zip(found, expected, strict=True):
        assert on_gpu(a)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_vmap_and_scan():
    q, qd = RNG.uniform(-1, 1, (2, 6, ROBOT.n))
    zero = jnp.zeros(ROBOT.n)

    def rollout(q, qd):
        def one(state, _):
            return dj.step(ROBOT, *state, zero, 1e-3), state[0]

        return jax.lax.scan(one, (q, qd), None, length=50)[1]

    found = jax.jit(jax.vmap(rollout))(jnp.asarray(q), jnp.asarray(qd))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.jit(jax.vmap(rollout))(jnp.asarray(q), jnp.asarray(qd))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
