"""Elementary functions: errors, special numbers, the same bits in every form, no libm."""

import re
import shutil
import subprocess
import sys

import mpmath
import numpy as np
import pytest

import dynamis as dy
from dynamis.compile import cache, machine
from dynamis.compile.arrays import run
from dynamis.compile.builder import Builder
from dynamis.compile.elementary import (
    FUNCTIONS,
    LARGEST,
    REALS,
    TWO_OVER_PI,
    traced,
    two_over_pi,
)
from dynamis.compile.llvm_module import EXACT, NAME, modules
from dynamis.compile.program import Port
from dynamis.compile.service import forget, object_of

from ..every_op import every_op
from .test_llvm import compiled_program

KINDS = ("float64", "float32")
ARITY = {"sin": 1, "cos": 1, "exp": 1, "log": 1, "tanh": 1, "pow": 2, "atan2": 2}
ALIKE = {"sin": 1.6, "cos": 1.6, "exp": 1.2, "log": 0.8, "tanh": 1.4, "pow": 0.9}
ULP = {  # those that the docstring of `elementary` states
    "float64": ALIKE | {"atan2": 1.6},
    "float32": ALIKE | {"atan2": 2.4},
}
TRUE = {"pow": mpmath.power} | {name: getattr(mpmath, name) for name in ARITY if name != "pow"}
HARDEST = {  # the angles that come closest to a multiple of pi/2
    "float64": 6381956970095103 * 2.0**797,
    "float32": 16367173 * 2.0**72,
}
NUMPY = {"pow": np.power, "atan2": np.arctan2}


def program(op):
    """One operation as a Program."""
    b = Builder()
    operands = [b.input(0, i) for i in range(ARITY.get(op, 1))]
    return b.program(
        op, [Port("x", (ARITY.get(op, 1),))], [Port("y", (1,))], [[b.op(op, *operands)]]
    )


@pytest.fixture(scope="module")
def compiled():
    """op, kind, arrays -> array, by machine code."""
    codes = {(op, kind): compiled_program(program(op), kind) for op in ARITY for kind in KINDS}

    def call(op, kind, *arrays, **options):
        x = np.stack(arrays[: ARITY[op]], axis=-1).astype(kind)
        return run(codes[op, kind], [x], ["x"], **options)[..., 0]

    return call


def arguments(op, kind, count=600):
    """Ordinary and extreme ones."""
    rng, info = np.random.default_rng(5), np.finfo(kind)

    def wide(low, high):
        return np.exp(rng.uniform(np.log(low), np.log(high), count)) * rng.choice([-1, 1], count)

    def uniform(high):
        return rng.uniform(-high, high, count)

    largest, least = float(info.max) * 0.999, float(info.smallest_subnormal)
    end = np.log(largest)
    if op in ("sin", "cos"):
        near = rng.integers(-63661, 63661, count) * (np.pi / 2)
        many = [uniform(10), near, wide(1e-9, LARGEST), wide(LARGEST, largest), [HARDEST[kind]]]
        return (np.concatenate(many),)
    if op == "exp":
        return (np.concatenate([uniform(1), uniform(end), -end - rng.uniform(0, 16, count)]),)
    if op == "log":
        return (np.abs(np.concatenate([wide(0.5, 2), wide(least, largest), 1 + wide(1e-6, 0.01)])),)
    if op == "tanh":
        return (np.concatenate([uniform(2), uniform(20), wide(least * 100, 1)]),)
    if op == "atan2":
        return tuple(np.concatenate([uniform(2), wide(1e-30, 1e30)]) for _ in range(2))
    base = np.abs(np.concatenate([wide(0.1, 10), wide(least, largest), 1 + wide(1e-5, 0.1)]))
    room = end / np.abs(np.log(base.astype(kind).astype(float)))
    return base, rng.uniform(-1, 1, len(base)) * np.minimum(room, largest)


def units(got, exact, kind):
    """Distance in units in the last place of the exact value."""
    info = np.finfo(kind)
    if exact == 0:
        return abs(float(got)) / float(info.smallest_subnormal)
    last = max(int(mpmath.floor(mpmath.log(abs(exact), 2))), info.minexp) - info.nmant
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(2) ** last)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ARITY)
def test_error_in_units_of_the_last_place(compiled, op, kind):
    given = [x.astype(kind) for x in arguments(op, kind)]
    got = compiled(op, kind, *given)
    with mpmath.workprec(1300 if op in ("sin", "cos") else 160):
        exact = [TRUE[op](*(mpmath.mpf(float(x)) for x in row)) for row in zip(*given, strict=True)]
        errors = [units(y, e, kind) for y, e in zip(got, exact, strict=True)]
    assert max(errors) < ULP[kind][op], given[0][int(np.argmax(errors))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ARITY)
def test_special_numbers_are_those_of_annex_f(compiled, op, kind):
    """Zeros with their signs, infinities, NaN, whole and half numbers, ends of the range."""
    info = np.finfo(kind)
    plain = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, LARGEST, 1e22, np.inf, np.nan, 2.0**24, 2.0**53]
    ends = [info.tiny, info.smallest_subnormal, info.max, 1 - info.epsneg, 1 + info.eps]
    special = np.array([*plain, *ends], dtype=kind)
    special = np.concatenate([special, -special])
    a, b = (x.ravel() for x in np.meshgrid(special, special))
    got = compiled(op, kind, a, b)
    with np.errstate(all="ignore"):
        wanted = NUMPY.get(op, getattr(np, op, None))(
            *(x.astype(np.longdouble) for x in (a, b)[: ARITY[op]])
        ).astype(kind)
        close = np.abs(got - wanted) <= 2 * np.spacing(np.abs(wanted))
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    assert np.array_equal(np.isinf(got), np.isinf(wanted))
    assert (close | ~np.isfinite(wanted)).all()
    told = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(got)[told], np.signbit(wanted)[told])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ARITY)
def test_one_sample_a_lane_and_threads_have_the_same_bits(compiled, op, kind):
    given = [x.astype(kind)[::13] for x in arguments(op, kind)]
    whole = compiled(op, kind, *given)
    for i in range(0, len(whole), 5):
        assert compiled(op, kind, *(x[i] for x in given)).tobytes() == whole[i].tobytes()
    assert compiled(op, kind, *given, threads=3).tobytes() == whole.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_calls_that_share_a_vector_have_the_bits_of_single_ones(compiled, kind):
    """Nine tanh and the exp of their sums: one sample takes them together, a lane does not."""
    b = Builder()
    x = [b.input(0, i) for i in range(9)]
    slopes = [b.op("tanh", b.op("mul", v, b.constant(3.0))) for v in x]
    later = [b.op("exp", b.op("add", a, c)) for a, c in zip(slopes, x, strict=True)]
    results = [*slopes, *later, b.op("pow", later[0], later[1])]
    found = b.program("f", [Port("x", (9,))], [Port("y", (len(results),))], [results])
    code = compiled_program(found, kind)
    given = np.random.default_rng(1).normal(size=(64, 9)).astype(kind)
    whole = run(code, [given], ["x"])
    for row, expected in zip(given, whole, strict=True):
        assert run(code, [row], ["x"]).tobytes() == expected.tobytes()
    assert whole[:, 0].tobytes() == compiled("tanh", kind, given[:, 0] * 3).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_two_over_pi_reaches_every_exponent(kind):
    with mpmath.workprec(1400):
        assert int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 1280)) == TWO_OVER_PI
    words, real = two_over_pi(REALS[kind]), REALS[kind]
    joined = sum(w << real.bits // 2 * (len(words) - 1 - k) for k, w in enumerate(words))
    behind = (len(words) - 2) * real.bits // 2
    assert joined == TWO_OVER_PI >> 1280 - behind and behind <= 1280


def test_no_step_is_there_for_nothing():
    for name in ("sincos", "pow"):
        function = traced(name, REALS["float64"])
        used = {
            a for s in function.steps if s.op not in ("argument", "constant") for a in s.operands
        }
        assert used | set(function.results) == set(range(len(function.steps)))


def undefined(data, folder):
    """Symbols that stored code wants from outside; of two objects one has what the other calls."""
    if not shutil.which("nm"):
        pytest.skip("no nm")
    head = re.match(rb"\d+ (\d+)\n", data)  # the loop of simulations has none
    start, size = (head.end(), int(head[1])) if head else (0, len(data))
    objects = [part for part in (data[start : start + size], data[start + size :]) if part]
    wanted = set()
    for code in objects:
        (folder / "kernel.o").write_bytes(code)
        command = ["nm", "-u", str(folder / "kernel.o")]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        wanted |= {line.split()[-1] for line in listed.splitlines()}
    return wanted - {EXACT} if len(objects) > 1 else wanted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ARITY)
def test_object_code_of_an_operation_wants_nothing(tmp_path, op, kind):
    assert undefined(object_of(program(op), kind), tmp_path) == set()


def test_modules_declare_intrinsics_only():
    """For any program: LLVM itself makes instructions of these."""
    for kind in KINDS:
        fast, exact = modules(every_op(), kind, machine.width(kind))
        for ir in (fast.replace(f"declare void @{EXACT}", ""), exact):
            names = re.findall(r"^declare .* @(\S+?)\(", ir, re.MULTILINE)
            assert names and all(
                re.match(r"llvm\.(fma|sqrt|fabs|floor|vector\.reduce\.or)\.", name)
                for name in names
            )
            assert set(re.findall(r"call .*? @([a-z]\w*)", ir)) <= {
                f"{name}_{w}" for name in FUNCTIONS for w in (1, machine.width(kind))
            } | {f"{NAME}_{part}" for part in ("row", "exact", "block")} | {"fill_nan", "llvm"}


@pytest.mark.skipif(sys.platform != "linux", reason="object code is ELF on Linux")
def test_kernels_and_simulations_ask_no_library_for_a_number(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNAMIS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DYNAMIS_COMPILE", "on")
    forget()
    friction = [dy.Friction(law=law, coulomb=0.5, viscous=0.1) for law in ("smooth", "stribeck")]
    links = [
        dy.Link(joint="revolute", d=0, a=0.5, alpha=0, mass=1.0, com=(-0.2, 0, 0), friction=f)
        for f in friction
    ]
    arm = dy.Robot.from_dh("arm", convention="standard", gravity=(0, -9.81, 0), links=links)
    for robot in (arm, dy.load("scara"), dy.load("pendulum3")):
        q = np.full(robot.n, 0.3)
        for kernel in (robot.inverse_dynamics, robot.regressor, robot.inverse_dynamics_derivatives):
            kernel(q, q, q)
        robot.fk(q)
        robot.friction_torque(q)
        dy.simulate(robot, 0.01, q0=q)
    codes = [cache.read(entry.stem) for entry in cache.entries()]
    forget()
    assert len(codes) >= 15  # five kernels each, and the simulations
    for code in codes:
        assert undefined(code, tmp_path) <= {"memset"}  # zeros of a result: no arithmetic
