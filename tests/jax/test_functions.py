"""Values in JAX are those of the robot's methods, bit for bit, under every transformation."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dynamis as dy
import dynamis.jax as dj
from dynamis.compile import kernels
from dynamis.compile.kernels import KERNELS, input_shape
from dynamis.errors import DynamisError, OptionError, ShapeError
from dynamis.jax.functions import computed

from ..random_robots import robots, states
from ..simulation.own_states import Maxwell
from .arguments import FUNCTIONS, arguments, close, equal, function, results

pytestmark = pytest.mark.usefixtures("compiled")


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_the_kernels(name, rng):
    arm = dy.load("polar-rp")
    for leading in ((), (7,), (2, 3), (0,), (1, 1)):
        given = arguments(name, arm, rng, *leading, parameters=False)
        found = function(name, arm)(*given)
        assert equal(found, arm.kernel(name)(*given))
        assert isinstance(results(found)[0], jax.Array)
        given = arguments(name, arm, rng, *leading)
        if "parameters" in FUNCTIONS[name]:
            expected = arm.kernel(name, parameters="argument")(*given)
            assert equal(function(name, arm)(*given), expected)


@pytest.mark.usefixtures("x64")
def test_values_are_those_of_the_methods(rng):
    arm = dy.load("puma560")
    q, qd, qdd = arguments("inverse_dynamics", arm, rng, 33, parameters=False)
    assert equal(dj.inverse_dynamics(arm, q, qd, qdd), arm.inverse_dynamics(q, qd, qdd))
    assert equal(dj.forward_dynamics(arm, q, qd, qdd), arm.forward_dynamics(q, qd, qdd))


@pytest.mark.usefixtures("x64")
def test_leading_axes_broadcast_as_in_the_methods(rng):
    arm = dy.load("scara")
    q, qd, qdd = rng.normal(size=(4, 1, 3)), rng.normal(size=(1, 5, 3)), rng.normal(size=3)
    assert equal(dj.inverse_dynamics(arm, q, qd, qdd), arm.inverse_dynamics(q, qd, qdd))
    values = arm.parameters.values * rng.uniform(0.9, 1.1, (4, 1, 1))
    kernel = arm.kernel("inverse_dynamics", parameters="argument")
    assert equal(dj.inverse_dynamics(arm, q, qd, qdd, values), kernel(q, qd, qdd, values))
    one = dj.inverse_dynamics(arm, q[:1], qdd, qdd)
    assert equal(one, arm.inverse_dynamics(q[:1], qdd, qdd))


def test_the_precision_is_that_of_jax(rng, x64):
    arm = dy.load("scara")
    q = rng.normal(size=(9, 3))
    single = dj.gravity_torque(arm, jnp.asarray(q, jnp.float32))
    assert equal(single, arm.gravity_torque(q.astype(np.float32), dtype="float32"))
    mixed = dj.inverse_dynamics(arm, jnp.asarray(q, jnp.float32), q, q)
    assert mixed.dtype == jnp.float64
    whole = dj.fk(arm, jnp.array([1, 2, 3]))
    assert equal(whole, arm.fk([1, 2, 3]))
    assert equal(dj.fk(arm, [1, 2, 3]), arm.fk([1, 2, 3]))
    half = dj.fk(arm, jnp.ones(3, jnp.bfloat16))
    assert half.dtype == jnp.float32
    step = dj.step(arm, *jnp.ones((3, 3), jnp.float32))
    assert step[0].dtype == step[1].dtype == jnp.float32


def test_single_precision_where_double_is_not_enabled(rng):
    assert not jax.config.jax_enable_x64
    arm = dy.load("planar-2link")
    q = rng.normal(size=(5, 2))
    found = dj.inverse_dynamics(arm, q, q, q)
    assert found.dtype == jnp.float32
    close(found, arm.inverse_dynamics(q, q, q), 1e-5)
    slope = jax.grad(lambda q: dj.inverse_dynamics(arm, q, q, q).sum())(jnp.asarray(q))
    assert slope.dtype == jnp.float32 and slope.shape == q.shape
    assert dj.fk(arm, np.array([1, 2])).dtype == jnp.float32


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jit_and_vmap_change_no_bit(name, rng):
    arm = dy.load("polar-rp")
    f = function(name, arm)
    given = arguments(name, arm, rng, 6)
    eager = f(*given)
    assert equal(jax.jit(f)(*given), eager)
    assert equal(jax.vmap(f)(*given), eager)
    assert equal(jax.jit(jax.vmap(f))(*given), eager)
    loop = [results(f(*[x[k] for x in given])) for k in range(6)]
    assert equal(tuple(jnp.stack(r) for r in zip(*loop, strict=True)), tuple(results(eager)))


@pytest.mark.usefixtures("x64")
def test_vmap_over_some_arguments_and_axes(rng):
    arm = dy.load("scara")
    q, qd, values = rng.normal(size=(4, 3)), rng.normal(size=(3, 5)), arm.parameters.values
    qdd = rng.normal(size=(5, 4, 3))

    def f(q, qd, qdd, p):
        return dj.inverse_dynamics(arm, q, qd, qdd, p)

    inner = jax.vmap(f, in_axes=(0, None, 0, None))  # over q
    nested = jax.vmap(inner, in_axes=(None, 1, 0, None))  # over qd
    expected = f(q[None], qd.T[:, None], qdd, values)
    assert equal(nested(q, qd, qdd, values), expected)
    outer = jax.vmap(lambda p: f(q, q, q, p))(jnp.stack([values, 2 * values]))
    assert equal(outer, f(q, q, q, np.stack([values, 2 * values])[:, None]))
    last = jax.vmap(f, in_axes=(None, 1, None, None), out_axes=1)(q[0], qd, q[0], values)
    assert equal(last, f(q[0], qd.T, q[0], values).T)


def test_vmap_repeats_nothing_in_memory(rng):
    arm = dy.load("scara")
    values, q = jnp.asarray(arm.parameters.values), jnp.ones((4, 3))
    over = jax.vmap(lambda q, qd, p: dj.inverse_dynamics(arm, q, qd, q, p), in_axes=(0, None, None))
    names = [str(e.primitive) for e in jax.make_jaxpr(over)(q, q[0], values).eqns]
    assert names == ["dynamis"]


@pytest.mark.usefixtures("x64")
def test_a_rollout_by_scan_takes_the_steps_of_the_kernel(rng):
    arm = dy.load("polar-rp")
    torques = rng.normal(size=(50, 2))
    q, qd = np.array([0.3, 0.5]), np.array([0.1, -0.2])

    @jax.jit
    def rollout(q, qd, torques):
        def one(state, tau):
            after = dj.step(arm, *state, tau, 1e-3)
            return after, after[0]

        return jax.lax.scan(one, (q, qd), torques)

    (last, _), path = rollout(q, qd, torques)
    kernel, expected = arm.kernel("step"), []
    for tau in torques:
        q, qd = kernel(q, qd, tau, 1e-3)
        expected.append(q)
    assert equal(path, np.array(expected)) and equal(last, q)
    again = jax.lax.fori_loop(0, 3, lambda _, s: dj.step(arm, *s, torques[0]), (last, last))
    assert np.isfinite(again[0]).all()


ARMS = [k for k, row in KERNELS.items() if row.serves(closed=False)]
NAMED = [k for k in ARMS if k.count(":") < 2 and not k.endswith(":column")]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", NAMED)
def test_every_kernel_can_be_evaluated(name, rng):
    arm, row = dy.load("polar-rp"), KERNELS[name]
    given = {k: rng.uniform(0.2, 1.0, (3, *input_shape(k, arm.model))) for k in row.inputs}
    base = name.partition(":")[0]
    assert equal(dj.evaluate(arm, base, given), arm.kernel(name)(*given.values()))
    nothing = dict.fromkeys(("wrench", "link_forces"))
    if name == "inverse_dynamics":
        assert equal(dj.evaluate(arm, base, given | nothing), dj.evaluate(arm, base, given))


BY_COLUMNS = ("mass_matrix", "coriolis_matrix", "regressor", "inverse_dynamics_derivatives")


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", BY_COLUMNS)
def test_matrices_of_long_arms_come_by_columns(name, rng, monkeypatch):
    arm, row = dy.load("polar-rp"), KERNELS[name]
    given = {k: rng.uniform(0.2, 1.0, (2, 3, arm.n)) for k in row.inputs}
    whole = dj.evaluate(arm, name, given)
    monkeypatch.setattr(kernels, "LIMIT", 0)  # every arm is a long one
    assert row.by_columns(arm.model)
    close(jax.jit(lambda given: dj.evaluate(arm, name, given))(given), whole, 1e-12)
    assert equal(dj.evaluate(arm, name, given), getattr(arm, name)(*given.values()))


@dataclass(frozen=True)
class Hose:
    """A load with a torque that no parameter multiplies."""

    stiffness: float = 20.0

    def torque(self, q, qd, constants, fn):
        return [constants["stiffness"] * q[0], fn.sin(q[1])]


@pytest.mark.usefixtures("x64")
def test_columns_of_a_regressor_leave_out_what_no_parameter_multiplies(rng, monkeypatch):
    arm = dy.load("polar-rp").with_load(Hose())
    given = {k: rng.uniform(0.2, 1.0, (3, arm.n)) for k in ("q", "qd", "qdd")}
    whole = dj.evaluate(arm, "regressor", given)
    monkeypatch.setattr(kernels, "LIMIT", 0)
    close(dj.evaluate(arm, "regressor", given), whole, 1e-12)


@pytest.mark.usefixtures("x64")
def test_kernels_with_options_can_be_computed(rng):
    arm, q = dy.load("scara"), rng.normal(size=(4, 3))
    options = {"frame": "tool", "link": None, "offset": None}
    in_tool = replace(KERNELS["jacobian"], options=options)
    assert equal(computed(arm, in_tool, {"q": q}), arm.jacobian(q, frame="tool"))
    assert equal(computed(arm, KERNELS["jacobian"], {"q": q}), arm.jacobian(q))


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(robot=robots(longest=3))
@pytest.mark.usefixtures("x64")
def test_random_robots(robot):
    q, qd, qdd = states(robot, 3)
    values = robot.parameters.values

    def torque(q, qd, qdd, p):
        return dj.inverse_dynamics(robot, q, qd, qdd, p)

    kernel = robot.kernel("inverse_dynamics", parameters="argument")
    found, pull = jax.vjp(torque, q, qd, qdd, values)
    assert equal(found, kernel(q, qd, qdd, values))
    weight = np.cos(np.arange(found.size)).reshape(found.shape)
    *state_bar, values_bar = pull(weight)
    for a, b in zip(state_bar, robot.inverse_dynamics_derivatives(q, qd, qdd), strict=True):
        close(a, np.einsum("kn,knm->km", weight, b))
    if not robot.model.own_laws:
        regressor = robot.regressor(q, qd, qdd)
        close(values_bar, np.einsum("kn,knp->p", weight, regressor), 1e-8)


# one program for all calls


def test_nothing_is_compiled_twice(compilations, rng):
    arm = dy.load("scara")
    q = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    other = jnp.asarray(rng.normal(size=(5, 3)), jnp.float32)
    slope = jax.jit(jax.grad(lambda q: dj.gravity_torque(arm, q).sum()))
    for call in (lambda x: dj.gravity_torque(arm, x), slope):
        call(q)
        known = len(compilations)
        for _ in range(3):
            call(other)
        dj.gravity_torque(dy.load("scara"), q)
        assert len(compilations) == known
    dj.gravity_torque(arm, q[:2])
    assert len(compilations) > known


def test_programs_can_be_debugged_without_jit():
    arm, q = dy.load("scara"), jnp.ones(3)
    slope = jax.jit(jax.grad(lambda q: dj.gravity_torque(arm, q).sum()))
    with jax.disable_jit():
        assert equal(slope(q), jax.grad(lambda q: dj.gravity_torque(arm, q).sum())(q))
        found = dj.fk(arm, q)
    assert equal(found, dj.fk(arm, q))


def test_a_robot_can_be_a_static_argument(rng):
    f = jax.jit(dj.fk, static_argnums=0)
    close(f(dy.load("scara"), jnp.ones(3)), dy.load("scara").fk(np.ones(3)), 1e-6)


# what is wrong

Q = np.zeros((3, 3))
WRONG = {
    "shape": lambda arm: dj.fk(arm, np.zeros(4)),
    "scalar": lambda arm: dj.fk(arm, 1.0),
    "complex": lambda arm: dj.fk(arm, jnp.ones(3) * 1j),
    "flags": lambda arm: dj.fk(arm, jnp.ones(3) > 0),
    "text": lambda arm: dj.fk(arm, "q"),
    "ragged": lambda arm: dj.fk(arm, [[1.0], [1.0, 2.0]]),
    "leading axes": lambda arm: dj.inverse_dynamics(arm, Q, Q[:2], Q),
    "nothing": lambda arm: dj.inverse_dynamics(arm, Q, None, Q),
    "parameters": lambda arm: dj.fk(arm, Q, np.ones(3)),
    "under jit": lambda arm: jax.jit(lambda q: dj.fk(arm, q))(np.zeros(4)),
    "robot": lambda arm: dj.fk(Q, Q),
    "kernel": lambda arm: dj.evaluate(arm, "fkk", {"q": Q}),
    "argument": lambda arm: dj.evaluate(arm, "fk", {"q": Q, "wrench": Q}),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused(what):
    with pytest.raises(DynamisError) as found:
        WRONG[what](dy.load("scara"))
    assert isinstance(found.value, (ShapeError, OptionError))
    assert "expected" in str(found.value) or "did you mean" in str(found.value)


@pytest.mark.usefixtures("x64")
def test_a_step_of_an_arm_with_more_states_is_refused():
    rigid = dy.load("planar-2link").with_drive(1, rotor_inertia=1e-3)
    elastic = rigid.with_drive(1, stiffness=1e3)
    state = ([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
    close(np.concatenate(dj.step(rigid, *state))[:2], [0.1, 0.2], 1e-3)  # its code is known now
    for parameters in (None, elastic.parameters.values):
        with pytest.raises(OptionError, match="step: joint 'joint2' is elastic"):
            dj.step(elastic, *state, parameters=parameters)
    with pytest.raises(OptionError, match=r"step: Maxwell\.stretch is a state of a law"):
        dj.step(rigid.with_load(Maxwell()), *state)
    assert (dj.forward_dynamics(elastic, *state) == elastic.forward_dynamics(*state)).all()
