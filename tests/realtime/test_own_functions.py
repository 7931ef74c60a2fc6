"""Our own elementary functions in C against NumPy: how far off, and at every special number."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from dynamis.compile.builder import Builder
from dynamis.compile.interpreter import interpret
from dynamis.compile.program import Port
from dynamis.control.law import PLAUSIBLE
from dynamis.export.c_branchless import CALLS, EXP_LAST, function, helpers
from dynamis.export.c_function import PRECISIONS
from dynamis.realtime.export import FLAGS

KINDS = ("float64", "float32")
ARITY = {"min": 2, "max": 2, "select": 3}
TRIG_ULP = 2.0  # of every angle that counts as plausible: polynomial, reduction, one rounding each
EXP = {"float64": 6e-16, "float32": 4e-7}  # relative: a dozen roundings that shrink as they go
TANH = {"float64": 6e-16, "float32": 4e-7}
CALL = """void call_{op}(const {T} *a, const {T} *b, const {T} *c, {T} *y, int n)
{{
    int i;
    for (i = 0; i < n; i++) y[i] = dy_{op}({arguments});
    (void)b;
    (void)c;
}}
"""


@pytest.fixture(scope="module", params=KINDS)
def own(request, tmp_path_factory):
    """A function op, arrays -> array that runs the C, and its number type."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    T = PRECISIONS[request.param].type
    body = "".join(
        CALL.format(op=op, T=T, arguments=", ".join(f"{x}[i]" for x in "abc"[: ARITY.get(op, 1)]))
        for op in CALLS
    )
    declared = "".join(line + ";\n" for line in body.splitlines() if line.startswith("void "))
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "own.c"
    path.write_text(f"#include <stdint.h>\n{helpers(request.param, body)}\n{declared}{body}")
    library = folder / "own.so"
    command = ["gcc", *FLAGS.split(), "-fPIC", "-shared", "-nostdlib", str(path), "-o"]
    subprocess.run([*command, str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    kind = np.dtype(request.param)

    def run(op, *arrays):
        rows = [np.ascontiguousarray(x, dtype=kind) for x in np.broadcast_arrays(*arrays)]
        rows += [rows[0]] * (3 - len(rows))
        y = np.empty_like(rows[0])
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*rows, y)]
        getattr(loaded, f"call_{op}")(*pointers, len(y))
        return y

    return run, kind


def exact(function, x):
    """In extended precision."""
    return function(x.astype(np.longdouble))


def spread(kind, low, high, count=200_000):
    rng = np.random.default_rng(3)
    x = np.exp(rng.uniform(np.log(low), np.log(high), count)) * rng.choice([-1, 1], count)
    quarter = np.round(x / (np.pi / 2)) * (np.pi / 2)  # the worst places: near multiples of pi/2
    return np.concatenate([x, quarter]).astype(kind)


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_sine_and_cosine_to_two_units(own, op):
    run, kind = own
    x = spread(kind, 1e-8, PLAUSIBLE)
    true = exact(getattr(np, op), x)
    unit = np.spacing(np.abs(true).astype(kind))
    y = run(op, x)
    assert np.max(np.abs(y - true) / unit) < TRIG_ULP
    assert np.max(np.abs(y)) <= 1.0 + np.finfo(kind).eps


def test_exp(own):
    run, kind = own
    last = EXP_LAST[kind.name]
    x = np.concatenate([np.linspace(-last, last, 200_001), spread(kind, 1e-12, 1.0)]).astype(kind)
    true = exact(np.exp, x)
    assert np.max(np.abs(run("exp", x) / true - 1)) < EXP[kind.name]
    beyond = np.array([1e3, 1e30, np.inf], dtype=kind)
    assert (run("exp", beyond) == run("exp", np.array([last]))).all()
    assert (run("exp", -beyond) == run("exp", np.array([-last]))).all()
    assert np.isnan(run("exp", np.array([np.nan]))).all()


def test_tanh(own):
    run, kind = own
    x = np.concatenate([spread(kind, 1e-30, 30.0), np.linspace(-2, 2, 100_001)]).astype(kind)
    x = x[x != 0]
    assert np.max(np.abs(run("tanh", x) / exact(np.tanh, x) - 1)) < TANH[kind.name]
    edges = np.array([np.inf, -np.inf, 1e30, -1e30, 0.0, -0.0, np.nan], dtype=kind)
    assert same(run("tanh", edges), np.tanh(edges), signs=False)


def same(a, b, signs=True):
    """Equal numbers, NaN where NaN, and (if asked) -0.0 where -0.0."""
    fine = (a == b) | (np.isnan(a) & np.isnan(b))
    return fine.all() and (not signs or (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all())


def specials(kind):
    info = np.finfo(kind)
    whole = 2.0 ** np.arange(info.nmant - 3, info.nmant + 3)
    near = np.concatenate([whole, whole + 0.5, whole - 0.5, whole - 0.25])
    plain = [0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 1e9, np.inf, np.nan, 0.49999999999999994]
    ends = [info.tiny, info.smallest_subnormal, info.max, info.eps, 1 - info.epsneg]
    x = np.concatenate([near, plain, ends]).astype(kind)
    return np.concatenate([x, -x])


@pytest.mark.parametrize("op", ["floor", "abs", "sign"])
def test_one_argument_as_numpy(own, op):
    run, kind = own
    rng = np.random.default_rng(1)
    x = np.concatenate([specials(kind), rng.normal(size=1000) * 100]).astype(kind)
    assert same(run(op, x), getattr(np, op)(x), signs=op != "sign")


@pytest.mark.parametrize("op", ["min", "max"])
def test_least_and_greatest_as_numpy(own, op):
    run, kind = own
    a, b = (x.ravel() for x in np.meshgrid(specials(kind), specials(kind)))
    assert same(run(op, a, b), getattr(np, f"{op}imum")(a, b), signs=False)


def test_select_takes_one_side_bit_by_bit(own):
    run, kind = own
    a, b = (x.ravel() for x in np.meshgrid(specials(kind), specials(kind)))
    for choice, taken in ((0.0, b), (-0.0, b), (1.0, a), (np.nan, a), (1e-40, a)):
        y = run("select", np.full(a.shape, choice), a, b)
        assert y.tobytes() == taken.tobytes() or choice == 1e-40 == float(kind.type(1e-40))


def test_only_what_is_called_is_printed():
    text = helpers("float64", "y = dy_floor(x);")
    assert "dy_floor" in text and "dy_truth" in text and "dy_sine" not in text
    assert helpers("float64", "y = x;") == ""


CONDITIONS = ("lt", "le", "eq", "ne", "and", "or", "mul", "min", "max", "not", "select", "sub")


def conditions(size=200):
    """A program of comparisons of comparisons, each used as a condition and as a number."""
    builder, rng = Builder(), np.random.default_rng(4)
    found = [builder.input(0, i) for i in range(4)]
    found += [builder.constant(x) for x in (0.0, 1.0, -0.5)]
    for _ in range(size):
        op = rng.choice(CONDITIONS)
        a, b, c = (int(x) for x in rng.choice(found, 3))
        found.append(builder.op(op, *{"not": (a,), "select": (a, b, c)}.get(op, (a, b))))
    truth = builder.op(
        "lt", found[4], builder.op("mul", *(builder.op("lt", found[4], x) for x in found[:2]))
    )
    return builder.program("f", [Port("x", (4,))], [Port("y", (size + 1,))], [[*found[7:], truth]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_conditions_mean_what_they_mean_in_numpy(tmp_path, cc, kind):
    if not shutil.which(cc):
        pytest.skip(f"no {cc}")
    program = conditions()
    body = function(program, "f", kind)
    assert " & " in body and " | " in body and "~m" in body and "dy_truth(m" in body
    text = f"#include <stdint.h>\n{helpers(kind, body)}\n{body.splitlines()[0]};\n{body}\n"
    (tmp_path / "f.c").write_text(text)
    command = [cc, *FLAGS.split(), "-Werror", "-fPIC", "-shared", "-nostdlib", "f.c", "-o", "f.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    loaded = ctypes.CDLL(str(tmp_path / "f.so"))
    special = np.array([0.0, -0.0, 1.0, -0.5, 2.0, np.nan, np.inf, -np.inf], dtype=kind)
    y = np.empty(program.outputs[0].size, dtype=kind)
    for x in np.random.default_rng(5).choice(special, (300, 4)):
        with np.errstate(invalid="ignore"):
            (wanted,) = interpret(program, [x], kind)
        loaded.f(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
        assert same(y, wanted, signs=False)
