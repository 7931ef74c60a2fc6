"""Functions of PyTorch tensors: the bits of the robot's methods, and their exact derivatives."""

import contextlib
import gc
import inspect
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

import dynamis as dy
import dynamis.torch as dt
from dynamis.errors import DynamisError, KeywordError, OptionError, ShapeError
from dynamis.torch import operator
from tests import misuse
from tests.random_robots import build

STATE, TORQUE = ("q", "qd", "qdd"), ("q", "qd", "tau")
FUNCTIONS = {
    "inverse_dynamics": STATE,
    "forward_dynamics": TORQUE,
    "fk": ("q",),
    "jacobian": ("q",),
    "mass_matrix": ("q",),
    "gravity_torque": ("q",),
    "regressor": STATE,
    "step": (*TORQUE, "dt"),
}
PARAMETERS = [name for name in FUNCTIONS if name != "regressor"]
ROBOTS = ["scara", "planar-2link", "polar-rp"]
SMALL = "planar-2link"
RANDOM = [
    ("standard", ["revolute", "prismatic", "revolute"], 1, None),
    ("modified", ["prismatic", "revolute", "revolute", "revolute"], 2, None),
    ("urdf", ["revolute", "revolute", "prismatic", "revolute"], 3, [-1, 0, 0, 1]),
]


@pytest.fixture(params=[*ROBOTS, *RANDOM], ids=lambda x: x if isinstance(x, str) else x[0])
def robot(request):
    given = request.param
    return dy.load(given) if isinstance(given, str) else build(*given)


@pytest.fixture(params=ROBOTS)
def small(request):
    return dy.load(request.param)


def arguments(robot, name, device, shape=(4,), seed=0, dtype=torch.float64):
    """Arguments of a function away from rest, where friction has no derivative."""
    rng = np.random.default_rng(seed)
    given = []
    for argument in FUNCTIONS[name]:
        size = () if argument == "dt" else (*shape, robot.n)
        value = np.full(size, 1e-2) if argument == "dt" else rng.uniform(0.2, 1.0, size)
        given.append(torch.tensor(value, device=device, dtype=dtype))
    return given


def parameters(robot, device, shape=(), dtype=torch.float64):
    factors = np.random.default_rng(9).uniform(0.9, 1.1, (*shape, len(robot.parameters.values)))
    return torch.tensor(robot.parameters.values * factors, device=device, dtype=dtype)


def function(robot, name):
    return lambda *given: getattr(dt, name)(robot, *given)


def wanting(*given):
    return [x.clone().requires_grad_() for x in given]


def flat(results):
    return results if isinstance(results, tuple) else (results,)


def same(a, b):
    assert len(flat(a)) == len(flat(b))
    for x, y in zip(flat(a), flat(b), strict=True):
        assert torch.equal(torch.as_tensor(x).cpu(), torch.as_tensor(y).cpu())


def close(a, b, tolerance=1e-11):
    for found, expected in zip(flat(a), flat(b), strict=True):
        x, y = torch.as_tensor(found).cpu(), torch.as_tensor(expected).cpu()
        torch.testing.assert_close(x, y, rtol=tolerance, atol=tolerance * (1 + y.abs().max()))


def by_method(robot, name, given, **options):
    """The robot's own method, or the compiled kernel of a step, over NumPy arrays."""
    arrays = [x.cpu().numpy() for x in given]
    if name != "step":
        return getattr(robot, name)(*arrays, **options)
    from dynamis.compile.arrays import run
    from dynamis.compile.function import robot_function

    code = robot_function(robot, name).code(options.get("dtype", "float64"))
    return run(code, arrays, FUNCTIONS[name])


# values


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_the_bits_of_the_method(name, robot, device):
    for shape in ((), (1,), (37,), (2, 3, 5)):
        given = arguments(robot, name, device, shape)
        found = getattr(dt, name)(robot, *given)
        assert all(x.device == device and x.dtype == torch.float64 for x in flat(found))
        same(found, by_method(robot, name, given))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_of_the_puma_are_the_bits_of_the_method(name, device):
    robot = dy.load("puma560")
    given = arguments(robot, name, device, (1000,))
    same(getattr(dt, name)(robot, *given), by_method(robot, name, given))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision(name, robot, device):
    given = arguments(robot, name, device, (19,), dtype=torch.float32)
    found = getattr(dt, name)(robot, *given)
    assert all(x.dtype == torch.float32 for x in flat(found))
    same(found, by_method(robot, name, given, dtype="float32"))


def test_a_large_batch_is_shared_out(device):
    robot = dy.load("scara")
    given = arguments(robot, "inverse_dynamics", device, (100_000,))
    same(dt.inverse_dynamics(robot, *given), by_method(robot, "inverse_dynamics", given))


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_those_of_the_robot_that_has_them(name, small, device):
    robot = small
    given = arguments(robot, name, device)
    own = parameters(robot, device)
    other = robot.with_parameters(own.cpu().numpy())
    close(getattr(dt, name)(robot, *given, parameters=own), getattr(dt, name)(other, *given))
    each = parameters(robot, device, (4,))
    rows = [
        flat(getattr(dt, name)(robot, *[x if x.dim() == 0 else x[i] for x in given], each[i]))
        for i in range(4)
    ]
    found = getattr(dt, name)(robot, *given, parameters=each)
    same(found, tuple(torch.stack(x) for x in zip(*rows, strict=True)))


def test_leading_axes_broadcast(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device, (3, 1, 5))
    for given in (
        (q, qd[0], qdd[0, 0, 0]),
        (q[:, :, :1], qd[:1], qdd.expand(3, 7, 5, robot.n)),
        (q[0, 0, 0], qd[0, 0, 0], qdd),
    ):
        found = dt.inverse_dynamics(robot, *given)
        same(found, by_method(robot, "inverse_dynamics", given))


def test_an_empty_batch_has_empty_results_and_gradients(device):
    robot = dy.load(SMALL)
    for shape in ((0,), (3, 0, 2)):
        given = wanting(*arguments(robot, "inverse_dynamics", device, shape))
        own = parameters(robot, device).requires_grad_()
        found = dt.inverse_dynamics(robot, *given, parameters=own)
        assert found.shape == (*shape, robot.n)
        found.sum().backward()
        assert all(x.grad.shape == x.shape for x in given)
        assert torch.equal(own.grad, torch.zeros_like(own))


def test_tensors_are_read_where_they_lie(device):
    robot = dy.load("scara")
    n = robot.n
    wide = torch.rand(6, 5, 3 * n + 2, device=device, dtype=torch.float64)
    slices = [wide[..., 1 + i * n : 1 + (i + 1) * n] for i in range(3)]
    turned = [x.transpose(0, 1) for x in slices]
    spread = wide[..., : 2 * n : 2]
    backwards = slices[0].flip(0)
    for given in (slices, turned, (spread, backwards, slices[0][:1]), [x[0, 0] for x in slices]):
        found = dt.inverse_dynamics(robot, *given)
        same(found, by_method(robot, "inverse_dynamics", given))
    step = operator.samples(slices[0], (6, 5), (n,), n)
    assert step[0].data_ptr() == slices[0].data_ptr() and step[1] == 3 * n + 2
    repeated = operator.samples(slices[0][0, 0].expand(6, 5, n), (6, 5), (n,), n)
    assert repeated[0].numel() == n and repeated[1] == 0


def test_tensors_of_other_kinds_take_the_operator(device):
    robot = dy.load(SMALL)
    (q,) = arguments(robot, "fk", device)
    with torch.inference_mode():
        same(dt.fk(robot, q.clone()), dt.fk(robot, q))
    assert dt.fk(robot, q.to("meta")).device.type == "meta"
    graph = make_fx(lambda q: dt.fk(robot, q))(q)
    assert any(node.target is torch.ops.dynamis.values.default for node in graph.graph.nodes)
    same(graph(2 * q), dt.fk(robot, 2 * q))
    same(dt.fk(robot, torch.nn.Parameter(q)).detach(), dt.fk(robot, q))


def test_a_negated_view_is_read_with_its_sign(device):
    robot = dy.load(SMALL)
    z = torch.rand(3, robot.n, dtype=torch.complex128, device=device)
    q = z.conj().imag
    assert q.is_neg()
    same(dt.fk(robot, q), dt.fk(robot, -z.imag))
    same(dt.evaluate(robot, "fk", {"q": q}), dt.fk(robot, -z.imag))


def test_kinds_of_numbers(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device)
    whole = torch.arange(robot.n, device=device)
    expected = dt.inverse_dynamics(robot, q, qd, whole.double())
    same(dt.inverse_dynamics(robot, q, qd, whole), expected)
    same(dt.inverse_dynamics(robot, q, qd, [0, 1, 2]), expected)
    same(dt.inverse_dynamics(robot, q, qd, np.arange(3)), expected)
    assert dt.inverse_dynamics(robot, whole, whole, whole).dtype == torch.get_default_dtype()
    assert dt.inverse_dynamics(robot, q.float(), qd, qdd.float()).dtype == torch.float64
    own = robot.parameters.values
    assert dt.gravity_torque(robot, q.float(), own).dtype == torch.float32
    close(dt.step(robot, q, qd, qdd, 0.01), dt.step(robot, q, qd, qdd, q.new_tensor(0.01)), 0)


def test_a_step_takes_its_own_length(device):
    robot = dy.load(SMALL)
    q, qd, tau, _ = arguments(robot, "step", device)
    lengths = torch.tensor([1e-3, 2e-3, 5e-3, 1e-2], device=device, dtype=torch.float64)
    found = dt.step(robot, q, qd, tau, lengths)
    for i, length in enumerate(lengths):
        same(tuple(x[i] for x in found), dt.step(robot, q[i], qd[i], tau[i], float(length)))


@dataclass(frozen=True)
class Cable:
    """A torque that no parameter multiplies."""

    def torque(self, q, qd, constants, fn):
        return [2.0 * x for x in q]


def test_a_matrix_too_large_for_one_kernel_is_computed_by_columns(device):
    robot = build("standard", ["revolute"] * 23, 5).with_load(Cable())
    q, qd, qdd = arguments(robot, "inverse_dynamics", device, (3,))
    assert dt._planned(robot, dt.kernel_named("regressor"), False)[4] == len(
        robot.parameters.values
    )
    found = dt.regressor(robot, q, qd, qdd)
    close(found, robot.regressor(*(x.cpu().numpy() for x in (q, qd, qdd))))
    same(dt.evaluate(robot, "regressor", {"q": q, "qd": qd, "qdd": qdd}), found)
    own = torch.as_tensor(robot.parameters.values.copy(), device=device)
    close(found @ own + 2.0 * q, dt.inverse_dynamics(robot, q, qd, qdd), 1e-10)


# derivatives


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_in_every_argument(name, small, device):
    robot = small
    given = wanting(*arguments(robot, name, device, (2,)))
    assert gradcheck(function(robot, name), given, check_forward_ad=True)


@pytest.mark.parametrize("shape", [(), (2,)], ids=["shared", "each"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_derivatives_in_the_parameters(name, shape, small, device):
    robot = small
    given = wanting(*arguments(robot, name, device, (2,)))
    own = parameters(robot, device, shape).requires_grad_()
    assert gradcheck(function(robot, name), (*given, own), check_forward_ad=True)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_derivatives_under_a_wrench_on_the_tool(name, device):
    robot = dy.load(SMALL)
    q, qd, x = arguments(robot, "inverse_dynamics", device, ())
    wrench = torch.rand(6, device=device, dtype=torch.float64)

    def call(q, w):
        return getattr(dt, name)(robot, q, qd, x, wrench=w)

    assert gradcheck(call, wanting(q, wrench), check_forward_ad=True)
    arrays = [v.cpu().numpy() for v in (q, qd, x, wrench)]
    expected = getattr(robot, f"{name}_derivatives")(*arrays)[0]
    close(torch.func.jacrev(call)(q, wrench), expected, 1e-10)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_derivatives_of_any_robot(name, robot, device):
    given = wanting(*arguments(robot, name, device, (2,)), parameters(robot, device))
    assert gradcheck(function(robot, name), given, check_forward_ad=True)


def test_derivatives_of_arguments_that_broadcast(device):
    robot = dy.load(SMALL)
    q, qd, qdd = wanting(*arguments(robot, "inverse_dynamics", device, (2, 3)))
    given = (q, qd[0].detach().requires_grad_(), qdd[:1, :1].detach().requires_grad_())
    assert gradcheck(function(robot, "inverse_dynamics"), given)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "step"])
def test_second_derivatives(name, device):
    robot = dy.load(SMALL)
    given = wanting(*arguments(robot, name, device, (2,)), parameters(robot, device))
    assert gradgradcheck(function(robot, name), given, atol=1e-4)


def test_third_derivatives(device):
    robot = dy.load(SMALL)
    (q,) = arguments(robot, "gravity_torque", device, ())

    def twice(q):
        energy = dt.gravity_torque(robot, q).sum()
        (first,) = torch.autograd.grad(energy, q, create_graph=True)
        return torch.autograd.grad(first.sum(), q, create_graph=True)[0]

    assert gradcheck(twice, wanting(q))


def test_derivatives_of_the_torque_are_the_robots(device):
    robot = dy.load("puma560")
    given = arguments(robot, "inverse_dynamics", device, ())
    found = jacrev(function(robot, "inverse_dynamics"), (0, 1, 2))(*given)
    close(found, robot.inverse_dynamics_derivatives(*(x.cpu().numpy() for x in given)), 1e-10)


def test_only_what_needs_a_gradient_is_computed(device):
    robot = dy.load(SMALL)
    q, qd, qdd = arguments(robot, "inverse_dynamics", device)
    own = parameters(robot, device).requires_grad_()
    dt.inverse_dynamics(robot, q, qd, qdd, own).sum().backward()
    key = dt._planned(robot, dt.kernel_named("inverse_dynamics"), True)[0]
    (pullback,) = operator.known(key)._derived.values()
    assert [port.name for port in pullback.function.outputs] == ["parameters_bar"]
    assert q.grad is None
    regressor = dt.regressor(robot, q, qd, qdd)
    close(own.grad, regressor.sum((0, 1)))


def test_gradients_of_shared_parameters_have_the_same_bits_each_time(device):
    robot = dy.load("scara")
    given = arguments(robot, "inverse_dynamics", device, (20_000,))
    found = []
    for _ in range(3):
        own = parameters(robot, device).requires_grad_()
        dt.inverse_dynamics(robot, *given, parameters=own).square().sum().backward()
        found.append(own.grad)
    same(found[0], found[1])
    same(found[0], found[2])


def test_a_step_under_a_wrench(device):
    robot = dy.load(SMALL)
    given = arguments(robot, "step", device, (2,))
    wrench = torch.rand(2, 6, device=device, dtype=torch.float64)
    arrays = [x.cpu().numpy() for x in (*given, wrench)]
    same(dt.step(robot, *given, wrench=wrench), robot.kernel("step:wrench")(*arrays))
    assert gradcheck(
        lambda q, w: dt.step(robot, q, *given[1:], wrench=w), wanting(given[0], wrench)
    )


def test_one_of_two_results_is_enough(device):
    robot = dy.load(SMALL)
    given = wanting(*arguments(robot, "step", device, (2,)))
    assert gradcheck(lambda *x: dt.step(robot, *x)[1], given)


def test_a_graph_outlives_its_robot(device):
    robot = dy.load(SMALL)
    q, qd, qdd = wanting(*arguments(robot, "inverse_dynamics", device))
    torque = dt.inverse_dynamics(robot, q, qd, qdd).sum()
    keys = set(operator._table)
    del robot
    gc.collect()
    torque.backward()
    assert q.grad.abs().max() > 0
    del torque
    gc.collect()
    assert set(operator._table) < keys


# torch.func


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_is_a_loop(name, device):
    robot = dy.load("scara")
    *given, last = arguments(robot, name, device, (5, 2))
    given, places = [*given, last], [0] * len(given) + [None if last.dim() == 0 else 0]
    f = function(robot, name)
    rows = [flat(f(*[x if p is None else x[i] for x, p in zip(given, places, strict=True)]))
            for i in range(5)]  # fmt: skip
    found = vmap(f, tuple(places))(*given)
    same(found, tuple(torch.stack(x) for x in zip(*rows, strict=True)))


def test_vmap_over_any_axis(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device, (5, 2))
    f = function(robot, "inverse_dynamics")
    found = vmap(f, (1, None, None), 1)(q, qd[:, 0], qdd[0, 0])
    same(found, f(q, qd[:, :1], qdd[0, 0]))
    nested = vmap(vmap(f, (0, 0, None)), (0, None, 0))(q, qd[0], qdd[:, 0])
    same(nested, f(q, qd[0], qdd[:, :1]))


def test_transforms_of_torch_func(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device, ())
    own = parameters(robot, device)
    f = function(robot, "inverse_dynamics")
    close(jacfwd(f, 0)(q, qd, qdd), jacrev(f, 0)(q, qd, qdd))
    regressor = dt.regressor(robot, q, qd, qdd)
    close(jacrev(f, 3)(q, qd, qdd, own), regressor)
    close(jvp(lambda p: f(q, qd, qdd, p), (own,), (own,))[1], regressor @ own)
    H = hessian(lambda q: f(q, qd, qdd).sum())(q)
    assert H.abs().max() > 0.1
    close(H, H.T)
    many = torch.stack([q, qd, qdd])
    each = vmap(grad(lambda p, q: f(q, qd, qdd, p).sum()), (None, 0))(own, many)
    close(each, torch.stack([dt.regressor(robot, x, qd, qdd).sum(0) for x in many]))


# torch.compile


@pytest.fixture
def graphs():
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch._dynamo.reset()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs(backend, device, graphs):
    if backend == "inductor" and not (find_spec("triton") if device.index == 0 else which("g++")):
        pytest.skip("inductor has no compiler here: Triton for a GPU, g++ for the processor")
    arm = dy.load("scara")
    given = arguments(arm, "forward_dynamics", device)
    own = parameters(arm, device)

    def loss(robot, q, qd, tau, own):
        q, qd = dt.step(robot, q, qd, tau, 0.01, own)
        return dt.inverse_dynamics(robot, q, qd, tau.sin()).square().sum()

    fast = torch.compile(loss, fullgraph=True, backend=backend)
    for robot in (arm, arm.with_payload(1.0), arm):
        expected, found = wanting(*given, own), wanting(*given, own)
        a, b = loss(robot, *expected), fast(robot, *found)
        a.backward()
        b.backward()
        close(b.detach(), a.detach())
        for x, y in zip(found, expected, strict=True):
            close(x.grad, y.grad)


def test_a_compiled_graph_outlives_an_equal_robot(device, graphs):
    fast = torch.compile(dt.fk, fullgraph=True, backend="aot_eager")
    q = arguments(dy.load("scara"), "fk", device)[0]
    for _ in range(2):
        robot = dy.load("scara")
        same(fast(robot, q), dt.fk(robot, q))
        del robot
        gc.collect()


def test_a_compiled_graph_of_any_batch(device, graphs):
    robot = dy.load("scara")
    f = function(robot, "inverse_dynamics")
    fast = torch.compile(f, fullgraph=True, dynamic=True, backend="aot_eager")
    for size in (3, 5, 8):
        given = arguments(robot, "inverse_dynamics", device, (size,))
        same(fast(*given), f(*given))
    same(torch.compile(vmap(f), fullgraph=True, backend="aot_eager")(*given), f(*given))


def test_derivatives_that_graphs_do_not_hold_are_refused(device, graphs):
    robot = dy.load("scara")
    (q,) = arguments(robot, "fk", device)
    f = function(robot, "fk")

    def dual(q):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(f(forward_ad.make_dual(q, q))).tangent

    def along(q):
        return jvp(f, (q,), (q,))[1]

    expected = along(q)
    for derivative in (dual, along):
        with pytest.raises(Exception, match="forward_mode_outside_graphs"):
            torch.compile(derivative, fullgraph=True, backend="aot_eager")(q)
        same(torch.compile(derivative, backend="aot_eager")(q), expected)
    slope = torch.compile(grad(lambda q: f(q).sum()), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="holds no forward-mode"):
        slope(q)
    with forward_ad.dual_level(), pytest.raises(OptionError, match=r"torch\.func"):
        key = dt._planned(robot, dt.kernel_named("fk"), False)[0]
        torch.ops.dynamis.evaluate([forward_ad.make_dual(q, q)], key)


def test_the_operator_keeps_the_rules_of_pytorch(device):
    robot = dy.load(SMALL)
    given = wanting(*arguments(robot, "inverse_dynamics", device))
    key = dt._planned(robot, dt.kernel_named("inverse_dynamics"), False)[0]
    torch.library.opcheck(torch.ops.dynamis.evaluate.default, (given, key))


def test_a_step_of_an_elastic_arm_is_refused():
    elastic = dy.load(SMALL).with_drive(1, rotor_inertia=1e-3, stiffness=1e3)
    with pytest.raises(OptionError, match="step: joint 'joint2' is elastic"):
        dt.step(elastic, *(torch.zeros(2, dtype=torch.float64) for _ in range(3)))


def test_misspelt_keywords_are_answered_and_good_ones_stay_in_graphs(device, graphs):
    robot = dy.load("scara")
    q, own = *arguments(robot, "fk", device), parameters(robot, device)
    with pytest.raises(KeywordError, match="did you mean 'parameters'"):
        dt.fk(robot, q, paramters=own)
    with pytest.raises(KeywordError, match="did you mean 'arrays'"):
        dt.evaluate(robot, "fk", arays={"q": q})
    f = torch.compile(lambda q: dt.fk(robot, q=q, parameters=own), fullgraph=True, backend="eager")
    same(f(q), dt.fk(robot, q, own))


# any kernel, without derivatives


def test_any_kernel(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device, (2, 3))
    arrays = [x.cpu().numpy() for x in (q, qd, qdd)]
    state = {"q": q, "qd": qd}
    same(dt.evaluate(robot, "coriolis_matrix", state), robot.coriolis_matrix(*arrays[:2]))
    found = dt.evaluate(robot, "inverse_dynamics_derivatives", {**state, "qdd": qdd})
    same(found, robot.inverse_dynamics_derivatives(*arrays))
    wrench = torch.rand(6, device=device, dtype=torch.float64)
    expected = robot.inverse_dynamics(*arrays, wrench=wrench.cpu().numpy())
    for name in ("inverse_dynamics", "inverse_dynamics:wrench"):
        same(dt.evaluate(robot, name, {**state, "qdd": qdd, "wrench": wrench}), expected)
    same(dt.inverse_dynamics(robot, q, qd, qdd, wrench=wrench), expected)
    given = {**state, "qdd": qdd, "wrench": wrench}
    found = dt.evaluate(robot, "inverse_dynamics_derivatives", given)
    wrench = wrench.cpu().numpy()
    same(found, robot.inverse_dynamics_derivatives(*arrays, wrench=wrench))
    own = parameters(robot, device)
    found = dt.evaluate(robot, "gravity_torque", {"q": q, "parameters": own})
    same(found, dt.gravity_torque(robot, q, own))


def test_results_in_the_callers_tensors(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device, (2, 3))
    given = {"q": q, "qd": qd, "qdd": qdd}
    expected = dt.inverse_dynamics(robot, q, qd, qdd)
    wide = torch.zeros(2, 3, 2 * robot.n, device=device, dtype=torch.float64)
    for out in (torch.empty_like(q), wide[..., ::2]):
        assert dt.evaluate(robot, "inverse_dynamics", given, out=out) is out
        same(out, expected)
    assert wide[..., 1::2].abs().max() == 0
    held = torch.rand_like(q)
    product = (held * q.clone().requires_grad_()).sum()
    dt.evaluate(robot, "inverse_dynamics", given, out=held)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    assert dt.evaluate(robot, "inverse_dynamics", given, out=qdd) is qdd
    same(qdd, expected)
    outs = [torch.empty(2, 3, robot.n, robot.n, device=device, dtype=torch.float64)] * 2
    for wrong in (None, q[0], q.float(), q.cpu().numpy(), [q], outs):
        if wrong is not None:
            with pytest.raises(ShapeError, match="out"):
                dt.evaluate(robot, "inverse_dynamics", given, out=wrong)


# what is refused


def test_what_is_wrong_is_refused_by_name(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device)
    f = function(robot, "inverse_dynamics")
    for given, words in [
        ((q[:, :2], qd, qdd), r"q has shape \(4, 2\), expected \(\.\.\., 3\)"),
        ((q, qd[0, 0], qdd), r"qd has shape \(\)"),
        ((q, qd, qdd[:3]), r"do not broadcast \(q: \(4,\), qd: \(4,\), qdd: \(3,\)\)"),
        ((q.half(), qd, qdd), "q holds torch.float16"),
        ((q, qd.bfloat16(), qdd), "qd holds torch.bfloat16"),
        ((q, qd, qdd + 0j), "qdd holds torch.complex128"),
        ((q > 0, qd, qdd), "q holds torch.bool"),
        ((q, qd, "fast"), "qdd is 'fast'"),
        ((q, None, qdd), "qd is None"),
        ((q.to_sparse(), qd, qdd), "q is torch.sparse_coo"),
        ((q, qd, qdd, q), r"parameters has shape \(4, 3\), expected \(\.\.\., 45\)"),
    ]:
        with pytest.raises(ShapeError, match=words):
            f(*given)
    with pytest.raises(OptionError, match="robot"):
        dt.fk("scara", q)
    with pytest.raises(OptionError, match="did you mean 'inverse_dynamics'"):
        dt.evaluate(robot, "inverse_dynamic", {"q": q})
    with pytest.raises(OptionError, match="expected q, qd, qdd"):
        dt.evaluate(robot, "inverse_dynamics", {"q": q})
    with pytest.raises(OptionError, match="does not record"):
        dt.evaluate(robot, "fk", {"q": q.clone().requires_grad_()})
    with pytest.raises(OptionError, match="no function of a robot in this process"):
        torch.ops.dynamis.evaluate([q], "fk-of-another-process")


@pytest.mark.parametrize("name", [*FUNCTIONS, "evaluate"])
def test_misuse_is_answered_by_an_error_of_ours(name, device):
    robot = dy.load(SMALL)
    q = torch.rand(robot.n, device=device, dtype=torch.float64)
    valid = {"robot": robot, "parameters": None, "dt": 1e-3, "kernel": "fk", "arrays": {"q": q}}
    valid["out"] = valid["wrench"] = None
    call = getattr(dt, name)
    names = list(inspect.signature(call).parameters)
    wrong = {**misuse.VALUES, "another robot's": lambda: torch.rand(5, device=device)}
    for parameter in names:
        for made in wrong.values():
            given = {k: valid.get(k, q) for k in names} | {parameter: made()}
            with contextlib.suppress(DynamisError):
                call(**given)


def test_tensors_on_two_devices_are_refused(device):
    robot = dy.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics", device)
    with pytest.raises(ShapeError, match=f"q is on {device}, qdd is on meta"):
        dt.inverse_dynamics(robot, q, qd, qdd.to("meta"))


def test_singular_mass_matrices_give_nan(device):
    robot = dy.load("sixr")
    given = arguments(robot, "forward_dynamics", device)
    assert dt.forward_dynamics(robot, *given).isnan().any()


def test_the_guide_prints_what_it_shows(compiled, tmp_path, monkeypatch):
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(str(docs))
    monkeypatch.chdir(tmp_path)
    import blocks

    try:
        pairs = blocks.outputs((docs / "guides" / "torch.md").read_text(), "torch.md")
    finally:
        torch.set_default_dtype(torch.float32)
    assert len(pairs) >= 5
    for block, said in pairs:
        assert blocks.same(block.text, said), f"{block.line}:\n{said}"
