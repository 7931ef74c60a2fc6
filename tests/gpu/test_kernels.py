"""Kernels on a GPU: the bits of the processor, for every kernel, robot and kind of number."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.arrays import run
from dynamis.compile.function import Function, kernel_function
from dynamis.compile.gpu import lane
from dynamis.compile.kernels import KERNELS
from tests.random_robots import build

COUNT = 203  # not a multiple of any block
pytestmark = pytest.mark.usefixtures("compiled")
ROWS = {row.name: row for given in KERNELS.values() for row in given.rows()}
ARMS = {name: row for name, row in ROWS.items() if row.serves(closed=False)}
NAMES = [name for name, row in ARMS.items() if not row.internal or name == "step"]


def on_gpu(function: Function, arrays, dtype: str, fused: bool = False) -> list[np.ndarray]:
    """The results of contiguous arrays (COUNT, ...) by the driver alone."""
    outs = [np.full((COUNT, *p.shape), -77.0, dtype) for p in function.outputs]
    code, sizes = function.device_code(dtype, fused), [p.size for p in function.inputs]
    with lane(0) as own:
        given = [np.ascontiguousarray(a, dtype) for a in arrays]
        held = [own.send(f"in{k}", a, own.stream) for k, a in enumerate(given)]
        kept = [own.send(f"out{k}", o, own.stream) for k, o in enumerate(outs)]
        code.launch(0, own.stream, COUNT, held, sizes, kept)
        for address, out in zip(kept, outs, strict=True):
            own.fetch(address, out, own.stream)
        own.wait(own.stream)
    return outs


def samples(function: Function, robot, rng) -> list[np.ndarray]:
    """Everyday states; and angles beyond any polynomial, rest, tiny numbers, NaN, infinities."""
    given = []
    for port in function.inputs:
        x = rng.uniform(-2.0, 2.0, (COUNT, *port.shape))
        if port.name == "parameters":
            x = np.asarray(robot.parameters.values) * rng.uniform(0.5, 1.5, (COUNT, 1))
        elif port.name == "dt":
            x = np.full(COUNT, 1e-3)
        else:
            x[3], x[4] = 0.0, -0.0
            x[5] *= 1e-300
            if port.name == "q":
                x[6:40] *= 10.0 ** rng.uniform(4, 9, (34, 1))
                x[41] *= 1e30
            x[50].flat[0], x[51].flat[-1] = np.nan, np.inf
        given.append(x)
    return given


def same_bits(a: np.ndarray, b: np.ndarray) -> None:
    word = {8: np.int64, 4: np.int32}[a.itemsize]
    both = np.isnan(a) & np.isnan(b)
    different = (np.ascontiguousarray(a).view(word) != np.ascontiguousarray(b).view(word)) & ~both
    assert not different.any(), (
        f"{different.sum()} of {a.size} differ, first {np.argwhere(different)[0]}: "
        f"{a[different][0]!r} {b[different][0]!r}"
    )


def compared(robot, name: str, dtype: str, parameters: bool = False) -> None:
    function = kernel_function(ROWS[name], robot.model, parameters)
    given = samples(function, robot, np.random.default_rng(1))
    given = [np.ascontiguousarray(x, dtype) for x in given]
    names = [p.name for p in function.inputs]
    expected = run(function.code(dtype), given, names)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for a, b in zip(on_gpu(function, given, dtype), expected, strict=True):
        same_bits(a, np.asarray(b))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_has_the_bits_of_the_processor(name, dtype):
    compared(dy.load("puma560"), name, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("robot", ["ur10e", "stanford", "rppr", "panda", "planar-2link"])
def test_robots_have_the_bits_of_the_processor(robot, dtype):
    names = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "fk"]
    for name in names if robot == "rppr" else [*names, "regressor"]:  # its centre of mass moves
        compared(dy.load(robot), name, dtype)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_parameters_as_an_argument(name):
    compared(dy.load("puma560"), name, "float64", parameters=True)


@pytest.mark.parametrize("seed", range(100))
def test_random_robots(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    kinds = rng.choice(["revolute", "prismatic"], count, p=[0.7, 0.3])
    tree = seed % 3 == 2
    parents = [-1, *(int(rng.integers(0, k)) for k in range(1, count))] if tree else None
    convention = "urdf" if tree else ("standard", "modified")[seed % 2]
    robot = build(convention, list(kinds), seed, parents)
    for name in ("inverse_dynamics", "forward_dynamics"):
        compared(robot, name, "float64" if seed % 2 else "float32")


def test_derivatives_of_kernels():
    robot = dy.load("puma560")
    for name in ("inverse_dynamics", "forward_dynamics"):
        function = kernel_function(ROWS[name], robot.model).pullback
        given = samples(function, robot, np.random.default_rng(2))
        names = [p.name for p in function.inputs]
        expected = run(function.code("float64"), given, names)
        for a, b in zip(on_gpu(function, given, "float64"), expected, strict=True):
            same_bits(a, b)


def test_fused_arithmetic_differs_in_the_last_digits_only():
    function = kernel_function(KERNELS["inverse_dynamics"], dy.load("puma560").model)
    given = [np.random.default_rng(3).uniform(-2, 2, (COUNT, 6)) for _ in range(3)]
    expected = run(function.code("float64"), given, ["q", "qd", "qdd"])
    (found,) = on_gpu(function, given, "float64", fused=True)
    assert not np.array_equal(found, expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_float32_beside_float64():
    robot = dy.load("puma560")
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.uniform(-2, 2, (3, COUNT, 6)).astype(np.float32)
    function = kernel_function(KERNELS["inverse_dynamics"], robot.model)
    exact = robot.inverse_dynamics(q, qd, qdd)
    (found,) = on_gpu(function, [q, qd, qdd], "float32")
    assert np.abs(found - exact).max() < 1e-5 * np.abs(exact).max()
    tau = exact.astype(np.float32)
    function = kernel_function(KERNELS["forward_dynamics"], robot.model)
    (found,) = on_gpu(function, [q, qd, tau], "float32")
    exact = robot.forward_dynamics(q, qd, tau)
    condition = np.linalg.cond(robot.mass_matrix(q))
    error = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert (error < 20 * np.finfo(np.float32).eps * condition).all()


def test_thirty_two_joints():
    body = {"mass": 1.0, "com": (0.05, 0, 0), "inertia": (1e-2, 2e-2, 2e-2, 0, 0, 0)}
    links = [dy.Link(a=0.1, alpha=0.5, **body) for _ in range(32)]
    robot = dy.Robot.from_dh("long", convention="modified", links=links)
    compared(robot, "inverse_dynamics", "float64")
    compared(robot, "forward_dynamics", "float64")


def test_devices():
    found = dy.gpu.devices()
    assert found
    assert found[0].memory > 2**30
    assert "cuda:0" in repr(found[0])
