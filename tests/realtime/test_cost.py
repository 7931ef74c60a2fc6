"""What a cycle costs: the same for every input with our own functions, no jump in it anywhere."""

import re
import shutil
import subprocess
from functools import cache

import pytest

import dynamis as dy
from dynamis.errors import FileError, OptionError
from dynamis.realtime import Law
from dynamis.realtime.c_text import TRIGS, header, sample_rows, self_test, source, stem_of
from dynamis.realtime.cost import (
    COMPILERS,
    FLAGS,
    TARGETS,
    Compiled,
    ControllerCost,
    _compiled,
    controller_cost,
    hostile_samples,
)
from tests.thorough import thorough_but

MACHINES = {"Cortex-M4": "mps2-an386", "Cortex-M7": "mps2-an500"}
START = """extern void _start(void);
void reset(void);
__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    (void *)0x20100000, (void *)reset};
void reset(void)
{
    *(volatile unsigned *)0xE000ED88u |= 0xFu << 20; /* the FPU on */
    __asm__ volatile("dsb\\n isb");
    _start();
    for (;;) { }
}
"""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")


@cache
def law_of(name):
    """Computed torque of an arm, with gravity as its safe state; traced once."""
    robot = dy.load(name)
    controller = dy.control.ComputedTorque.from_bandwidth(robot, 10.0, integral=True, limit=100.0)
    return Law(controller, robot, 0.005, safe="gravity", safe_damping=1.0)


@cache
def cost_of(name, dtype, cc):
    return controller_cost(law_of(name), dtype=dtype, compiler=cc)


@cache
def small(kind):
    """Laws whose conditions differ."""
    robot = dy.load("planar-2link")
    if kind == "integral":
        return law_of("planar-2link")
    inside = dy.trajectory.via([[0.0, 0.0], [0.5, 0.2], [0.1, 1.0]], [0.0, 0.5, 1.0])
    return {
        "trajectory": Law(dy.control.FeedForward(kp=9.0, kd=3.0), robot, 0.005, inside),
        "adaptive": Law(dy.control.SlotineLi.from_bandwidth(robot, 8.0, 0.1), robot, 0.005),
        "task": Law(dy.control.TaskSpace.from_bandwidth(robot, 8.0), robot, 0.005),
    }[kind]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("cc", "name"),
    thorough_but([("gcc", "pendulum3")], [("gcc", "pendulum3"), ("clang", "pendulum3")]),
)
def test_own_functions_take_the_same_instructions_for_every_input(cc, name, dtype):
    need(cc, "objdump", "valgrind")
    assert {"gcc", "clang"} == set(COMPILERS)
    cost = cost_of(name, dtype, cc)
    assert len(cost.instructions) == len(hostile_samples(30, dtype)) > 100
    assert cost.constant and cost.worst == min(cost.instructions) > 1000
    (row,) = (r for r in cost.compiled if r.target == "x86-64")
    assert row.jumps == 0 and row.linked == ()
    assert 100 < row.stack < 4096 and 5000 < row.code < 50_000


def test_options_of_this_machine_are_not_given_to_another(tmp_path):
    need("arm-none-eabi-gcc")
    law = small("trajectory")
    path = tmp_path / f"{stem_of(law)}.c"
    path.with_suffix(".h").write_text(header(law, [], "float64"))
    path.write_text(source(law, [], "float64", "own"))
    flags = FLAGS, (*FLAGS, "-mfma")
    without, beside = (_compiled(path, tmp_path, "Cortex-M7", "gcc", f) for f in flags)
    assert without == beside


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind, dtype", [("trajectory", "float32"), ("adaptive", "float64"), ("task", "float32")]
)
def test_other_laws_too(kind, dtype):
    need("gcc", "objdump", "valgrind")
    cost = controller_cost(small(kind), dtype=dtype)
    assert cost.constant and cost.compiled[0].jumps == 0 and cost.compiled[0].linked == ()


EVERY = [  # the larger laws in single precision only, or only in the thorough tests
    *((kind, dtype) for kind in ("integral", "trajectory") for dtype in ("float64", "float32")),
    ("task", "float32"),
    *(pytest.param(*x, marks=pytest.mark.thorough)
      for x in (("task", "float64"), ("adaptive", "float64"), ("adaptive", "float32"))),
]  # fmt: skip


@pytest.mark.parametrize("kind, dtype", EVERY)
@pytest.mark.parametrize("cc", thorough_but(["gcc"], COMPILERS))
def test_no_optimiser_makes_a_branch_of_a_mask(tmp_path, cc, kind, dtype):
    need(cc, "objdump")
    law = small(kind)
    levels = {"own": ("-O1", "-O2", "-O3", "-Os"), "libm": ("-O2",)}
    assert set(levels) == set(TRIGS)
    for trig in TRIGS:
        path = written(law, tmp_path, dtype, trig, tested=False).with_suffix(".c")
        for level in levels[trig]:
            row = _compiled(path, tmp_path, "x86-64", cc, [*FLAGS, level])
            assert row.jumps == 0, (trig, level)
            assert trig == "libm" or set(row.linked) <= {"memset"}  # of init, clang -Os


def test_jumps_of_a_helper_that_was_not_inlined_count(tmp_path):
    need("gcc", "objdump")
    path = written(small("task"), tmp_path, "float64", tested=False).with_suffix(".c")
    calm = _compiled(path, tmp_path, "x86-64", "gcc", FLAGS)
    text = re.sub(r"(static) inline( dy_angle dy_sincos\(.*\n\{)",
                  r"\1 __attribute__((noinline))\2\n    if (x > 9.0) x = x / (x * x + 1.0);",
                  path.read_text())  # fmt: skip
    path.write_text(text)
    assert calm.jumps == 0 < _compiled(path, tmp_path, "x86-64", "gcc", FLAGS).jumps


def test_libm_depends_on_its_input():
    need("gcc", "objdump", "valgrind")
    cost = controller_cost(law_of("pendulum3"), trig="libm")
    assert cost.constant is False  # so the measurement does see differences
    assert cost.compiled[0].jumps == 0 and cost.compiled[0].linked


def test_a_jump_is_seen(tmp_path):
    need("gcc", "objdump", "valgrind")
    law = Law(dy.control.JointPID(kp=1.0), dy.load("planar-2link"), 0.005)
    path = written(law, tmp_path, "float64", tested=False)
    text = path.with_suffix(".c").read_text()
    branch = (
        "    if (measurement->q[0] > 0.5) { torque[0] /= measurement->qd[0]; torque[1] = 0.0; }\n"
    )
    path.with_suffix(".c").write_text(re.sub(r"(    return \(int\)status)", branch + r"\1", text))
    cost = controller_cost(tmp_path)
    assert cost.compiled[0].jumps > 0 and cost.constant is False


def test_the_table(tmp_path):
    need("gcc", "objdump")
    law = small("integral")
    written(law, tmp_path, "float32", tested=False)
    cost = controller_cost(tmp_path)
    lines = cost.markdown().splitlines()
    assert lines[0] == f"{stem_of(law)}: {law.program().cost}"
    assert [line.split(" | ")[0] for line in lines[4:]] == [f"| {r.target}" for r in cost.compiled]
    empty = ControllerCost("a", "", (), cost.compiled)
    assert empty.worst is None and empty.constant is None and "no valgrind" in empty.markdown()


def test_a_controller_with_its_robot():
    need("gcc", "objdump")
    controller, robot = dy.control.JointPID(kp=9.0, kd=2.0), dy.load("planar-rr")
    law = Law(controller, robot, 0.005)
    cost = controller_cost(controller, robot, 0.005)
    assert cost == controller_cost(law) and cost.name == stem_of(law)


def test_what_is_linked_is_said():
    words = {"sincos": "sincos (gcc merges sin and cos)", "tanh": "tanh"}
    row = Compiled("x", 0, 0, 0, ("__aeabi_dadd", "__aeabi_dmul", *words))
    assert row.links == ", ".join([*words.values(), "software floating point"])
    assert row._replace(linked=()).links == "nothing"


def test_bad_calls():
    law = small("integral")
    for given, options, message in (
        ((), {}, "nothing was given, expected a controller of dy.control with its robot"),
        ((law.controller,), {}, "ComputedTorque was given without the robot"),
        ((law.robot,), {}, ", expected a controller of dy.control with its robot, a Law"),
        ((law, law.robot), {}, "a Law has its own"),
        ((law,), {"trig": "libn"}, "trig is 'libn', expected 'libm', 'own'"),
        ((law,), {"dtype": "float16"}, "dtype"),
        ((law,), {"compiler": "tcc"}, "compiler is 'tcc', expected 'gcc', 'clang'"),
    ):
        with pytest.raises(OptionError, match=re.escape(message)):
            controller_cost(*given, **options)


def test_a_folder_without_a_controller(tmp_path):
    need("gcc", "objdump")
    with pytest.raises(FileError, match="holds 0 controllers"):
        controller_cost(tmp_path)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_cortex_m_compiles_without_jumps(dtype):
    need("gcc", "objdump", "arm-none-eabi-gcc")
    rows = {r.target: r for r in cost_of("pendulum3", dtype, "gcc").compiled}
    assert set(rows) == set(TARGETS)
    for name in MACHINES:
        assert rows[name].jumps == 0 and rows[name].stack > 100 and rows[name].code > 1000
    assert rows["Cortex-M7"].linked == ()
    soft = [f for f in rows["Cortex-M4"].linked if f.startswith("__aeabi_d")]
    assert bool(soft) == (dtype == "float64")  # an M4 has no double in hardware


@pytest.mark.parametrize("target, dtype", [("Cortex-M4", "float32"), ("Cortex-M7", "float64")])
def test_the_self_test_passes_on_a_cortex_m(tmp_path, target, dtype):
    need("arm-none-eabi-gcc", "qemu-system-arm")
    assert "passed" in said_by_cortex_m(target, written(law_of("pendulum3"), tmp_path, dtype))


def said_by_cortex_m(target, path):
    """Output of a self-test on an emulated machine; `path` is that of the files without suffix."""
    start = path.parent / "start.c"
    start.write_text(START)
    prefix, machine = TARGETS[target]
    sources = [f"{path}.c", f"{path}_test.c", str(start)]
    subprocess.run(
        [f"{prefix}gcc", *FLAGS, *machine, "--specs=rdimon.specs",
         "-Wl,--section-start=.vectors=0", *sources, "-o", f"{path}.elf"], check=True
    )  # fmt: skip
    done = subprocess.run(
        ["qemu-system-arm", "-M", MACHINES[target], "-nographic", "-monitor", "none", "-serial",
         "none", "-semihosting-config", "enable=on,target=native", "-kernel", f"{path}.elf"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@cache
def samples_of(law):
    return sample_rows(law)


def written(law, folder, dtype, trig="own", *, tested=True):
    """Header, source and self-test in a folder; the path without suffix."""
    stem, notes = stem_of(law), [f"{law.program().cost}."]
    (folder / f"{stem}.h").write_text(header(law, notes, dtype))
    (folder / f"{stem}.c").write_text(source(law, notes, dtype, trig))
    if tested:
        (folder / f"{stem}_test.c").write_text(self_test(law, notes, dtype, samples_of(law)))
    return folder / stem
