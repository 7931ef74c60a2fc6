"""Our own functions in C: the bits of the compiled kernels, and NumPy's at every special number."""

import ctypes
import platform
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamis.compile import machine
from dynamis.compile.arrays import run
from dynamis.compile.builder import Builder
from dynamis.compile.elementary import REALS, traced
from dynamis.compile.interpreter import interpret
from dynamis.compile.program import Port
from dynamis.export.c_branchless import CALLS, function, helpers
from dynamis.export.c_function import PRECISIONS
from dynamis.realtime.export import FLAGS

from ..compile.test_elementary import program
from ..compile.test_llvm import compiled_program

KINDS = ("float64", "float32")
ARITY = {"min": 2, "max": 2, "pow": 2, "atan2": 2, "select": 3, "fma": 3}
ELEMENTARY = ("sin", "cos", "exp", "log", "tanh", "pow", "atan2", "sqrt")
WITHOUT_SQRT = "-U__SSE2__"  # as on a processor whose square root is not known
BUILDS = [(cc, option) for cc in ("gcc", "clang") for option in ("", "-mfma", WITHOUT_SQRT)]
QUICK = [("gcc", ""), ("gcc", "-mfma"), ("clang", WITHOUT_SQRT)]
CALL = """void call_{op}(const {T} *a, const {T} *b, const {T} *c, {T} *y, int n)
{{
    int i;
    for (i = 0; i < n; i++) y[i] = {right};
    (void)b;
    (void)c;
}}
"""
PARTS = {"sin": "dy_sincos(a[i]).sine", "cos": "dy_sincos(a[i]).cosine"}


def built(kind, folder, cc="gcc", *options):
    """A function op, arrays -> array that runs the C."""
    if not shutil.which(cc):
        pytest.skip(f"no {cc}")
    T = PRECISIONS[kind].type
    names = [*PARTS, *(op for op in CALLS if op != "sincos"), "fma"]
    given = {op: ", ".join(f"{x}[i]" for x in "abc"[: ARITY.get(op, 1)]) for op in names}
    body = "".join(
        CALL.format(op=op, T=T, right=PARTS.get(op, f"dy_{op}({given[op]})")) for op in names
    )
    declared = "".join(line + ";\n" for line in body.splitlines() if line.startswith("void "))
    path = folder / "own.c"
    path.write_text(f"#include <stdint.h>\n{helpers(kind, body)}\n{declared}{body}")
    library = folder / "own.so"
    command = [cc, *FLAGS.split(), *options, "-fPIC", "-shared", "-nostdlib", str(path), "-o"]
    subprocess.run([*command, str(library)], check=True)
    loaded = ctypes.CDLL(str(library))

    def run(op, *arrays):
        rows = [np.ascontiguousarray(x, dtype=kind) for x in np.broadcast_arrays(*arrays)]
        rows += [rows[0]] * (3 - len(rows))
        y = np.empty_like(rows[0])
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*rows, y)]
        getattr(loaded, f"call_{op}")(*pointers, len(y))
        return y

    return run


@pytest.fixture(scope="module", params=KINDS)
def own(request, tmp_path_factory):
    """The C, compiled with gcc, and its number type."""
    return built(request.param, tmp_path_factory.mktemp(request.param)), np.dtype(request.param)


@pytest.fixture(scope="module")
def kernels():
    """op, kind -> machine code of a program of that operation alone."""
    return {(op, k): compiled_program(program(op), k) for op in ELEMENTARY for k in KINDS}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(x, id=" ".join(x).strip(), marks=() if x in QUICK else pytest.mark.thorough)
        for x in BUILDS
    ],
)
def every_build(request, tmp_path_factory):
    """kind -> the C by one compiler, with instructions of the processor or without."""
    cc, option = request.param
    if option and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"{option} is an option of x86-64")
    if option == "-mfma" and "fma" not in machine.host().features:
        pytest.skip("no fused multiply-add here")
    options = [option] if option else []
    return {k: built(k, tmp_path_factory.mktemp(f"{cc}-{k}"), cc, *options) for k in KINDS}


def agree(c, code, op, a, b):
    """Bits, NaN being NaN."""
    pair = [a, b][: ARITY.get(op, 1)]
    y, z = c(op, *pair), run(code, [np.stack(pair, axis=-1)], ["x"])[..., 0]
    word = {8: np.uint64, 4: np.uint32}[y.itemsize]
    fine = (y.view(word) == z.view(word)) | (np.isnan(y) & np.isnan(z))
    assert fine.all(), (op, a[~fine][:3], b[~fine][:3], y[~fine][:3], z[~fine][:3])


@pytest.mark.parametrize("op", ELEMENTARY)
def test_c_and_kernels_have_the_same_bits(every_build, kernels, op):
    """Any number at all, ordinary ones, and every pair of special ones."""
    rng, count = np.random.default_rng(6), 20_000
    for kind, word in (("float64", np.uint64), ("float32", np.uint32)):
        any_bits = [rng.integers(0, np.iinfo(word).max, count, word, True) for _ in range(2)]
        pairs = [[x.view(kind) for x in any_bits]]
        pairs += [rng.uniform(-s, s, (2, count)).astype(kind) for s in (1.0, 10.0, 200.0, 1e6)]
        pairs += [[x.ravel() for x in np.meshgrid(specials(kind), specials(kind))]]
        for a, b in pairs:
            agree(every_build[kind], kernels[op, kind], op, a, b)


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_c_and_kernels_have_the_same_bits_wherever_one_looks(every_build, kernels, data):
    kind = data.draw(st.sampled_from(KINDS))
    numbers = st.floats(width=32 if kind == "float32" else 64)
    a, b = (np.array(data.draw(st.lists(numbers, min_size=9, max_size=9)), kind) for _ in "ab")
    for op in ELEMENTARY:
        agree(every_build[kind], kernels[op, kind], op, a, b)


def rounded(exact, kind):
    """A fraction as the nearest number, even at a tie."""
    near = np.dtype(kind).type(float(exact))
    info = np.finfo(kind)
    around = [np.nextafter(near, -np.inf, dtype=kind), near, np.nextafter(near, np.inf, dtype=kind)]
    word = np.uint64 if info.bits == 64 else np.uint32
    return min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(word)) & 1))


def test_a_fused_multiply_add_in_arithmetic_is_rounded_once(own):
    """Of doubles only products that are small beside the sum are asked for; many end in a tie."""
    run, kind = own
    rng, count = np.random.default_rng(8), 20_000
    a, b, c = rng.normal(size=(3, count)).astype(kind)
    if kind == np.float64:
        c = np.copysign(np.abs(a * b) * 2.0 ** rng.uniform(3, 12, count), c)
        c[::9] = (a * b)[::9] * 2.0**53  # the product is half a unit of the last place
    else:
        c[::2] = -(a * b)[::2]  # what is left is below the last place
        c[1::4] *= np.finfo(kind).eps
        a[::5], b[::5] = 1 + np.finfo(kind).eps, 1 - np.finfo(kind).epsneg
    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    wanted = np.array([rounded(e, kind) for e in exact])
    assert (wanted != a * b + c).sum() > count / 500  # it does make a difference
    assert np.array_equal(run("fma", a, b, c), wanted)
    zeros = np.array([0.0, -0.0], dtype=kind)
    signs = run("fma", zeros[[1, 1, 0, 0]], np.ones(4), zeros[[1, 0, 1, 0]])
    assert np.array_equal(np.signbit(signs), [True, False, False, False])


def test_an_angle_in_double_takes_few_fused_multiply_adds():
    """Each is some 35 instructions where the processor has none; exact products need none."""
    text = helpers("float64", "dy_sincos(x)")
    assert text.count("= dy_fma(") == 4
    assert len([s for s in traced("sincos", REALS["float64"]).steps if s.op == "exact_fma"]) == 3


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
    assert "dy_floor" in text and "dy_truth" in text and "dy_sincos" not in text
    assert "dy_two_over_pi[" in helpers("float64", "dy_sincos(x)")
    assert "dy_two_over_pi[" not in helpers("float64", "y = dy_exp(x);")
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
