"""Machine code against the interpreter: every operation, every batch size, both precisions."""

import math

import numpy as np
import pytest

from dynamis.compile import machine
from dynamis.compile.arrays import run
from dynamis.compile.builder import Builder
from dynamis.compile.interpreter import interpret
from dynamis.compile.ops import OPS
from dynamis.compile.program import Call, CalledProgram, Port, Source
from dynamis.compile.service import Code, Ports, object_of

from ..every_op import every_op

ULP2 = 2.0


def compiled_program(program, dtype="float64") -> Code:
    ports = Ports(
        tuple(p.name for p in program.inputs),
        tuple(p.shape for p in program.inputs),
        tuple(p.name for p in program.outputs),
        tuple(p.shape for p in program.outputs),
    )
    return Code(object_of(program, dtype), ports, dtype)


@pytest.fixture(scope="module")
def every():
    return {d: compiled_program(every_op(), d) for d in ("float64", "float32")}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 16, 17, 40])
def test_every_op(every, dtype, count):
    rng = np.random.default_rng(count)
    x = rng.uniform(-3, 3, size=(count, 3))
    x[:, 2] = np.abs(x[:, 2]) + 0.1
    got = run(every[dtype], [x], ["x"])
    (expected,) = interpret(every_op(), [x.astype(dtype)], np.longdouble)
    tolerance = 1e-14 if dtype == "float64" else 1e-5
    for k, name in enumerate(OPS):
        a, b = got[:, k], expected[:, k].astype(float)
        assert np.allclose(a, b, rtol=tolerance, atol=tolerance), name


def test_nan_propagates_like_the_definition(every):
    bad = np.array([[np.nan, 1, 2], [1, np.nan, 2], [1, 2, np.nan], [np.inf, 1, 2], [0, 0, 0]])
    x = np.concatenate([np.full((4, 3), 0.5), bad, np.full((4, 3), 0.5)])
    got = run(every["float64"], [x], ["x"])
    (expected,) = interpret(every_op(), [x])
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    finite = ~np.isnan(expected)
    assert np.allclose(got[finite], expected[finite], rtol=1e-14)
    clean = run(every["float64"], [x[:4]], ["x"])
    assert np.array_equal(got[:4], clean) and np.array_equal(got[-4:], clean)


def trig_program():
    b = Builder()
    x = b.input(0, 0)
    return b.program(
        "trig", [Port("x", (1,))], [Port("y", (2,))], [[b.op("sin", x), b.op("cos", x)]]
    )


@pytest.fixture(scope="module")
def trig():
    return {d: compiled_program(trig_program(), d) for d in ("float64", "float32")}


def angles():
    rng = np.random.default_rng(0)
    k = rng.integers(-63661, 63661, 4000)
    near = k * (math.pi / 2)
    return np.concatenate([
        rng.uniform(-1e5, 1e5, 20000),
        rng.uniform(-7, 7, 20000),
        near,
        np.nextafter(near, np.inf),
        [0.0, -0.0, 1e5, -1e5, 1e-300, 5e-324, 1e-9, math.pi, math.pi / 2, math.pi / 4],
    ])  # fmt: skip


def test_sine_and_cosine_to_two_ulp(trig):
    """Against extended precision, |x| up to 1e5, also next to multiples of pi/2."""
    x = angles()
    got = run(trig["float64"], [x[:, None]], ["x"])
    long = x.astype(np.longdouble)
    for k, function in enumerate((np.sin, np.cos)):
        exact = function(long)
        error = np.abs(got[:, k] - exact) / np.spacing(np.abs(exact.astype(float)))
        assert float(error.max()) <= ULP2


def test_sine_and_cosine_single_precision(trig):
    x = angles().astype(np.float32)
    x = x[np.abs(x) <= 1e5]
    got = run(trig["float32"], [x[:, None]], ["x"])
    for k, function in enumerate((np.sin, np.cos)):
        exact = function(x.astype(float))
        assert np.abs(got[:, k] - exact).max() < 2.5e-7


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_angles_are_right_and_leave_the_neighbours_alone(trig, dtype):
    x = np.linspace(-3, 3, 37)
    alone = run(trig[dtype], [x[:, None]], ["x"])
    for where in (0, 5, 8, 20, 36):
        y = x.copy()
        y[where] = 1.2345e15
        got = run(trig[dtype], [y[:, None]], ["x"])
        big = float(np.dtype(dtype).type(1.2345e15))
        assert np.allclose(got[where], [math.sin(big), math.cos(big)], rtol=1e-6)
        rest = np.arange(37) != where
        assert np.array_equal(got[rest], alone[rest])
    for strange in (np.inf, -np.inf, np.nan):
        y = x.copy()
        y[11] = strange
        got = run(trig[dtype], [y[:, None]], ["x"])
        assert np.isnan(got[11]).all() and np.isfinite(np.delete(got, 11, 0)).all()


def test_width_follows_the_processor():
    assert machine.width("float64") in (2, 4, 8)
    assert machine.width("float32") == 2 * machine.width("float64")


def test_results_do_not_depend_on_company(every):
    """Bit-identical whatever the place in the batch, the batch size or the number of threads."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0.1, 3, size=(101, 3))
    code = every["float64"]
    whole = run(code, [x], ["x"])
    for i in range(0, 101, 7):
        assert np.array_equal(run(code, [x[i]], ["x"]), whole[i])
    for size in (2, 8, 9, 33):
        assert np.array_equal(run(code, [x[5 : 5 + size]], ["x"]), whole[5 : 5 + size])
    for threads in (1, 2, 3, 8, 200):
        assert np.array_equal(run(code, [x], ["x"], threads=threads), whole)


# programs in parts


def called_program():
    """y = (c0 sin x1, x0 + x1), then twice y = (sin y0 + x0, 4 y1), then x = y; x2 is not read."""
    b = Builder()
    x0, x1, c0 = b.input(0, 0), b.input(0, 1), b.input(1, 1)
    first = b.program(
        "first",
        [Port("x", (2,)), Port("c", (2,))],
        [Port("y", (2,))],
        [[b.op("mul", c0, b.op("sin", x1)), b.op("add", x0, x1)]],
    )
    b = Builder()
    y0, y1, x0 = b.input(0, 0), b.input(0, 1), b.input(1, 0)
    again = b.program(
        "again",
        [Port("y", (2,)), Port("x", (1,))],
        [Port("y", (2,))],
        [[b.op("add", b.op("sin", y0), x0), b.op("mul", b.constant(4.0), y1)]],
    )
    b = Builder()
    y0, y1, x1 = b.input(0, 0), b.input(0, 1), b.input(1, 0)
    last = b.program(
        "last",
        [Port("y", (2,)), Port("x", (1,))],
        [Port("x", (3,))],
        [[b.op("sin", y1), y0, x1]],
    )
    x, c, y = Source("x"), Source("c", 1), Source("y")
    calls = (
        Call(first, (x, c), ("y",)),
        Call(again, (y, x), ("z",)),
        Call(again, (Source("z"), x), ("y",)),
        Call(last, (y, Source("x", 1)), ("x",)),
    )
    return CalledProgram("called", (Port("x", (3,)), Port("c", (3,))), (Port("x", (3,)),), calls)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 17, 40])
def test_parts_that_are_called(count, dtype):
    """In place; large angles and NaN leave their neighbours alone, wherever they come up."""
    program = called_program()
    assert [part.name for part in program.parts] == ["first", "again", "last"]
    assert program.length == 3 + 2 * 3 + 1 and program.cost.trig == 4
    code, rng = compiled_program(program, dtype), np.random.default_rng(count)
    x = rng.uniform(-1, 1, (count, 3)).astype(dtype)
    c = np.array([0.1, 0.2, 0.3], dtype)
    alone = run(code, [x[:1], c], ["x", "c"])
    if count > 4:
        x[2] = 0.5, 1e7, 0.0  # large at once
        x[3] = 2e6, 0.1, 0.0  # and in the last part only: sin 4 (x0 + x1) 4
        x[4, 2] = np.nan  # nobody reads it
    real = x.astype(np.longdouble)
    y = [np.longdouble(c[2]) * np.sin(real[:, 1]), (x[:, 0] + x[:, 1]).astype(np.longdouble)]
    for _ in range(2):
        y = [np.sin(y[0]) + real[:, 0], 4 * y[1]]
    expected = np.stack([np.sin(y[1]), y[0], real[:, 1]], axis=1)
    expected[np.isnan(x[:, 2])] = np.nan
    got = x.copy()
    code.run([got, c], [3, 0], [got], count, 1)
    tolerance = 1e-14 if dtype == "float64" else 2e-6
    np.testing.assert_allclose(got[:, 0], expected[:, 0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(got[:, 1:], expected[:, 1:], rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(got[:1], alone)


def test_calls_that_do_not_fit_are_refused():
    program = called_program()
    first, *rest = program.calls
    far = first._replace(sources=(Source("x", 2), Source("c")))
    for calls in ((far, *rest), tuple(rest), (first,)):
        with pytest.raises(ValueError, match=r"beyond vector|last call"):
            CalledProgram("bad", program.inputs, program.outputs, calls)
