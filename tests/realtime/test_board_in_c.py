"""Counts in, codes out, in C: the bits of the simulation, faults by name, the same work always."""

import ctypes
import re
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import dynamis as dy
from dynamis import control
from dynamis.control.board.program import BoardLaw
from dynamis.control.board.readings import FAULTS
from dynamis.control.sensors import Sensors
from dynamis.errors import OptionError
from dynamis.realtime import Law
from dynamis.realtime.board_samples import readings_of, replay
from dynamis.realtime.board_text import header, source
from dynamis.realtime.cost import COMPILERS, controller_cost
from dynamis.realtime.export import FLAGS
from tests.control.boards import MOTION, arm, board, law
from tests.thorough import thorough_but

from .test_cost import MACHINES, need, said_by_cortex_m

pytestmark = [pytest.mark.usefixtures("gcc"), pytest.mark.usefixtures("compiled")]
DT = 0.005
NAMES = [x.name for x in FAULTS]
LIBM = {"own": [], "libm": ["-lm"]}


@cache
def whole(**options):
    """A law behind a board; `options` of the law."""
    robot = arm()
    return BoardLaw(Law(law(robot), robot, DT, **options), board())


@cache
def driven(seconds):
    """Readings and references of a closed loop, and its codes, status, phase, fault, joint."""
    robot, made = arm(), board()
    run = dy.simulate(robot, seconds, 1e-3, q0=[0.5, -1.0], controller=law(robot),
                      reference=MOTION, sensors=Sensors(board=made, seed=1), sample_time=DT,
                      check_step=False)  # fmt: skip
    rows = slice(None, None, 5)
    readings, wanted = readings_of(run.states, run.reference, rows)
    names = ("board.codes", "computer.status", "board.phase", "board.fault", "board.joint")
    return readings, wanted, np.concatenate([run.states[x][rows] for x in names], axis=1)


class InC:
    """The exported program, compiled: rows of readings and references in, a row of numbers out."""

    def __init__(self, whole, folder, trig="own", outputs="codes", flags=("-O1",), cc="gcc"):
        n, self.n = whole.n, whole.n
        (folder / "bench_computedtorque.h").write_text(header(whole, ["a test"], outputs))
        code = folder / "bench_computedtorque.c"
        code.write_text(source(whole, ["a test"], trig, outputs))
        shared = folder / "program.so"
        command = [cc, *FLAGS.split(), *flags, "-fPIC", "-shared", str(code), "-o", str(shared)]
        subprocess.run([*command, *LIBM[trig]], check=True)
        self.loaded = ctypes.CDLL(str(shared))
        given = ctypes.c_uint32 if outputs == "codes" else ctypes.c_double

        class Output(ctypes.Structure):
            _fields_ = [("given", given * n), ("q", ctypes.c_double * n), ("phase", ctypes.c_int),
                        ("fault", ctypes.c_int), ("joint", ctypes.c_int)]  # fmt: skip

        self.output, self.state = Output(), (ctypes.c_double * whole.states)()

    def start(self):
        self.loaded.bench_computedtorque_init(self.state)

    def step(self, readings, wanted):
        read = np.asarray(readings).astype(np.uint64).astype(np.uint32)
        goal = np.ascontiguousarray(wanted, float)
        status = self.loaded.bench_computedtorque_step(
            self.state, read.ctypes.data_as(ctypes.c_void_p),
            goal.ctypes.data_as(ctypes.c_void_p), ctypes.byref(self.output),
        )  # fmt: skip
        o = self.output
        return [*o.given, status, o.phase, o.fault, o.joint]

    def through(self, readings, wanted):
        self.start()
        return np.array([self.step(*row) for row in zip(readings, wanted, strict=True)])


@pytest.fixture(scope="module")
def program(tmp_path_factory, compiled, object_code):
    return InC(whole(), tmp_path_factory.mktemp("c"))


def test_simulated_and_c_are_the_same_bits(program):
    """Codes, status, phases and faults of twelve seconds of closed loop from an unknown place."""
    readings, wanted, told = driven(12.0)
    found = program.through(readings, wanted)
    assert (found == told).all()
    assert set(told[:, 2]) == {0, 3} and set(told[:, 3]) == {0, 1, 2, 3}
    assert len(np.unique(told[:, 0])) > 200


@pytest.mark.thorough
def test_a_minute_of_closed_loop_is_the_same_bits(program):
    readings, wanted, told = driven(60.0)
    assert len(told) == 12_001
    assert (program.through(readings, wanted) == told).all()


def test_without_machine_code_too(monkeypatch):
    """The functions themselves, over numbers of Python: libm instead of our own sines."""
    readings, wanted, told = driven(12.0)
    monkeypatch.setenv("DYNAMIS_COMPILE", "off")
    codes, said = replay(whole(), readings[:300], wanted[:300])
    assert (said == told[:300, 2:]).all()
    assert np.abs(codes - told[:300, :2]).max() <= 1


def test_ticks_and_counters_overflow_alike(program):
    """All numbers shifted to their ends: the program starts anywhere, and goes on over them."""
    readings, wanted, told = driven(12.0)
    shifted = readings.copy()
    shifted[:, 0] = (shifted[:, 0] + 2.0**32 - 700) % 2.0**32
    shifted[:, 1:3] = (shifted[:, 1:3] + [65_000, 4000]) % [65_536, 4096]
    shifted[:, 3:5] = (shifted[:, 3:5] + [65_000, 4000]) % [65_536, 4096]
    assert (program.through(shifted, wanted) == told).all()


# faults: what is changed in the readings from sample 2000 on, what follows


def missed(rows, k):
    rows[k:, 0] += 1


def two_missed(rows, k):
    rows[k:, 0] += 2


def repeated(rows, k):
    rows[k, 0] = rows[k - 1, 0]


def stuck(rows, k):
    rows[k:] = rows[k - 1]


def glitch(rows, k):
    rows[k, 1] = (rows[k, 1] + 30_000) % 65_536


def jump(rows, k):
    rows[k:, 2] = (rows[k:, 2] + 1500) % 4096


def slip(rows, k):
    """Lost counts, few enough not to be a jump."""
    rows[k:, 1] = (rows[k:, 1] + 300) % 65_536
    rows[k:, 3] = (rows[k:, 3] + 300) % 65_536


def dead(rows, k):
    rows[k:, 8] = 0


def dead_at_once(rows, k):
    rows[:, 7] = 4095


def still(rows, k):
    """The wiper hangs where it is."""
    rows[k:, 7] = rows[k, 7]


def garbage(rows, k):
    rows[k:, 1:] = np.random.default_rng(1).integers(0, 2**32, rows[k:, 1:].shape)


def unsteady(rows, k):
    rows[:16:2, 7] += 26


def no_index(rows, k):
    rows[:, 6] = 0


def backwards(rows, k):
    rows[:, 2] = -rows[:, 2] % 4096


def wrong_index(rows, k):
    """Pulses half a turn off: of the other edge of a mark."""
    rows[:, 3] = (rows[:, 3] + 2000) % 65_536


CASES = {  # fault when it ends, joint, and whether it runs on
    missed: ("sample missed", -1, True),
    two_missed: ("sample missed", -1, False),
    repeated: ("sample repeated", 0, True),
    stuck: ("sample repeated", 0, False),
    glitch: ("counter jumps", 0, True),
    jump: ("counter jumps", 1, False),
    slip: ("index misplaced", 0, False),
    dead: ("potentiometer dead", 1, False),
    dead_at_once: ("potentiometer dead", 0, False),
    still: ("potentiometer disagrees", 0, False),
    garbage: (None, None, False),
    unsteady: ("potentiometer unsteady", 0, False),
    no_index: ("index missing", 1, False),
    wrong_index: ("index unsure", 0, False),
    backwards: ("counter backwards", 1, False),
}


@pytest.mark.parametrize("fault", CASES, ids=lambda f: f.__name__)
def test_faults_are_named_and_what_they_leave_is_safe(program, fault):
    name, joint, goes_on = CASES[fault]
    readings, wanted, _ = driven(12.0)
    rows, k = readings.copy(), 2000
    fault(rows, k)
    found = program.through(rows, wanted)
    codes, told = replay(whole(), rows, wanted)
    assert (found == np.concatenate([codes, told], axis=1)).all()
    status, faults = found[:, 2], found[:, 4]
    if goes_on:
        assert faults[k] == NAMES.index(name) and found[k, 5] == joint
        assert (faults[k + 2 :] == 0).all() and (status[k + 1 :] == 0).all()
        return
    assert status[-1] == 2
    if name is not None:
        assert (NAMES[int(faults[-1])], found[-1, 5]) == (name, joint)
    latched = int(np.argmax(status == 2))
    assert (status[latched:] == 2).all() and (faults[latched:] == faults[latched]).all()
    assert (found[latched:, :2] == 2048).all()  # 0 V
    assert latched < 1400 or latched >= k


@pytest.mark.parametrize("missed", [3, 4])
def test_samples_missed_until_a_counter_may_have_gone_round(tmp_path, missed):
    """500 counts a sample at most, 2048 of a counter of 12 bits: four samples are its limit."""
    one = whole(latch=50)
    readings, wanted, _ = driven(12.0)
    rows = readings.copy()
    rows[2000:, 0] += missed
    found = InC(one, tmp_path).through(rows, wanted)
    if missed == 3:
        assert (found[2001:, 2] == 0).all() and NAMES[int(found[2000, 4])] == "sample missed"
        return
    assert (found[2000:, 2] == 2).all() and (found[2000:, :2] == 2048).all()
    assert NAMES[int(found[-1, 4])] == "counter overflows" and found[-1, 5] == 1


def test_only_init_leaves_the_safe_state(program):
    readings, wanted, told = driven(12.0)
    rows = readings.copy()
    two_missed(rows, 500)
    program.through(rows[:600], wanted[:600])
    assert program.step(rows[600], wanted[600])[2] == 2
    assert (program.through(readings, wanted) == told).all()


def test_a_bad_reference_is_a_fault_of_the_law_once_it_is_looked_at(program):
    readings, wanted, _ = driven(12.0)
    goal = wanted.copy()
    goal[2000:, 0] = np.nan
    found = program.through(readings, goal)
    assert NAMES[int(found[2001, 4])] == "law" and found[2001, 2] == 2
    goal = wanted.copy()
    goal[:100] = np.nan  # the index is searched meanwhile
    assert (program.through(readings, goal)[:100, 2] == 3).all()


def test_the_safe_torque_of_gravity(tmp_path):
    """It holds the arm where it is, through the converter, and is ramped down."""
    one = whole(safe="gravity", safe_damping=0.0, ramp=0.5)
    program = InC(one, tmp_path)
    readings, wanted, _ = driven(12.0)
    rows = readings.copy()
    two_missed(rows, 2000)
    found = program.through(rows, wanted)
    torques = (found[:, :2] - 2048) * 20 / 4096 * [x.per_volt for x in one.channels]
    weight = arm().gravity_torque(MOTION(DT * np.arange(2000, 2020)).q)
    left = 1.0 - np.arange(2, 22) * DT / 0.5
    assert np.abs(torques[2000:2020] - left[:, None] * weight).max() < 0.2
    assert np.abs(weight).max() > 10.0
    assert (found[2110:, :2] == 2048).all()


def test_volts_are_those_of_the_codes(tmp_path, program):
    readings, wanted, told = driven(12.0)
    found = InC(whole(), tmp_path, outputs="volts").through(readings, wanted)
    assert (found[:, :2] == -10 + 20 / 4096 * told[:, :2]).all()
    assert (found[:, 2:] == told[:, 2:]).all()


def test_libm_differs_by_a_code_at_most(tmp_path):
    readings, wanted, told = driven(12.0)
    found = InC(whole(), tmp_path, "libm").through(readings, wanted)
    assert np.abs(found - told).max() <= 1


@pytest.mark.parametrize("cc", thorough_but(["gcc"], COMPILERS))
def test_every_sample_takes_the_same_instructions(cc):
    for tool in (cc, "objdump", "valgrind"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    cost = controller_cost(whole(safe="gravity"), compiler=cc)
    assert len(cost.instructions) > 100 and cost.constant
    assert cost.compiled[0].jumps == 0 and cost.compiled[0].linked == ()
    for row in cost.compiled[1:]:  # Cortex-M
        assert row.jumps == 0


@pytest.mark.parametrize("level", thorough_but(["-O2"], ["-O2", "-O3", "-Os", "-O0"]))
@pytest.mark.parametrize("cc", COMPILERS)
def test_optimisers_give_the_same_bits(tmp_path, cc, level):
    if not shutil.which(cc):
        pytest.skip(f"no {cc}")
    readings, wanted, told = driven(12.0)
    assert (InC(whole(), tmp_path, flags=(level,), cc=cc).through(readings, wanted) == told).all()


# the folder


def export(folder, **options):
    robot = arm()
    given = {"inputs": "counts", "outputs": "codes", "board": board(), "trig": "own"}
    return dy.export_controller(robot, law(robot), folder, **{**given, **options})


def built(folder, *words):
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [{}, {"outputs": "volts", "trig": "libm"},
                                     {"reference": MOTION, "safe": "gravity", "latch": 4}],
                         ids=["codes", "volts", "inside"])  # fmt: skip
def test_the_self_test_of_a_folder_passes(tmp_path, options):
    files = export(tmp_path, **options)
    assert len(files) == (11 if "reference" in options else 10)
    done = built(tmp_path)
    assert "passed: 2" in done.stdout, done.stdout + done.stderr
    assert done.stderr == ""
    sanitized = built(tmp_path, "-B", "CFLAGS=-std=c99 -O1 -ffp-contract=off "
                      "-fsanitize=address,undefined -fno-sanitize-recover=all")  # fmt: skip
    assert "passed: 2" in sanitized.stdout, sanitized.stdout + sanitized.stderr


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", ["flatness", "states"])
def test_laws_of_elastic_arms_with_jerk_and_snap(tmp_path, kind, inside):
    """What is simulated is what the program of the folder answers to the same readings."""
    robot = arm(stiffness=2000.0, damping=2.0)
    make = {"flatness": control.FlatnessFeedForward.from_bandwidth(robot, 15.0),
            "states": control.StateFeedback.from_bandwidth(robot, 15.0, DT)}  # fmt: skip
    motion = dy.trajectory.sine([0.3, 0.5], [0.3, 0.2], [0.2, 0.3])
    law_ = Law(make[kind], robot, DT, motion if inside else None)
    run = dy.simulate(robot, 8.0, 1e-3, q0=[0.5, -1.0], controller=law_, check_step=False,
                      reference=None if inside else motion, sample_time=DT,
                      sensors=Sensors(board=board(), seed=1))  # fmt: skip
    rows = slice(None, None, 5)
    goal = (run.t[:, None],) if inside else motion.derivatives(run.t)
    readings, wanted = readings_of(run.states, goal, rows)
    codes, told = replay(BoardLaw(law_, board()), readings, wanted)
    assert (codes == run.states["board.codes"][rows]).all() and told[-1, 1] == 3
    given = {"reference": motion if inside else None, "inputs": "counts", "outputs": "codes"}
    dy.export_controller(robot, make[kind], tmp_path, DT, board=board(), trig="own", **given)
    done = built(tmp_path)
    assert "passed: 254 samples, codes within 0" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("target", thorough_but(["Cortex-M7"], MACHINES))
def test_the_self_test_passes_on_a_cortex_m(tmp_path, target):
    need("arm-none-eabi-gcc", "qemu-system-arm")
    export(tmp_path)
    said = said_by_cortex_m(target, tmp_path / "bench_computedtorque")
    assert "passed: 254 samples, codes within 0" in said


def test_the_self_test_can_fail(tmp_path):
    export(tmp_path)
    path = tmp_path / "bench_computedtorque_test.c"
    text = path.read_text()
    path.write_text(text.replace("{2047, ", "{2040, ", 1).replace("{2048, ", "{2040, ", 1))
    assert path.read_text() != text
    assert "FAILED: codes differ by up to" in built(tmp_path).stdout


def test_a_folder_writes_itself_again(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    export(first)
    subprocess.run([sys.executable, str(first / "regenerate.py"), str(second)], check=True)
    files = sorted(p.name for p in first.iterdir())
    assert len(files) == 10
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_a_board_may_be_a_file(tmp_path):
    board().save(tmp_path / "board.toml")
    export(tmp_path / "a", board=tmp_path / "board.toml")
    export(tmp_path / "b")
    name = "bench_computedtorque.c"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


USES_TABLES = """#include "bench_computedtorque_board.h"
static const double scale[2] = BENCH_COMPUTEDTORQUE_SCALE;
int main(void) { return scale[0] < 0.0; }
"""


def test_the_tables_are_the_numbers_of_the_channels(tmp_path):
    export(tmp_path)
    text = (tmp_path / "bench_computedtorque_board.h").read_text()
    words = {"ZERO": "zero", "SCALE": "scale", "MODULUS": "modulus", "TORQUE_PER_VOLT": "per_volt"}
    for name, field in words.items():
        (row,) = re.findall(rf"_{name} {{(.*)}}", text)
        numbers = [float(x.strip("() ")) for x in row.split(",")]
        assert numbers == [getattr(x, field) for x in whole().channels]
    main = tmp_path / "main.c"
    main.write_text(USES_TABLES)
    subprocess.run(["gcc", *FLAGS.split(), "-o", str(tmp_path / "m"), str(main)], check=True)
    subprocess.run([str(tmp_path / "m")], check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": "count"}, "inputs is 'count'"),
        ({"outputs": "volt"}, "outputs is 'volt'"),
        ({"outputs": "torque"}, "inputs is 'counts' and outputs 'torque'"),
        ({"inputs": "radians"}, "inputs is 'radians' and outputs 'codes'"),
        ({"inputs": "radians", "outputs": "torque"}, "positions come in and torques go out"),
        ({"board": None}, "board is None, expected dy.control.Board"),
        ({"board": 3}, "board is 3, expected dy.control.Board"),
        ({"board": "none.toml"}, "none.toml"),
        ({"dtype": "float32"}, "counts are read in C and in double precision"),
        ({"target": "matlab", "trig": "libm"}, "target is 'matlab' and dtype float64"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, message):
    with pytest.raises(dy.errors.DynamisError, match=re.escape(message)):
        export(tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


def test_robots_without_amplifiers_are_refused(tmp_path):
    robot = dy.load("planar-2link")
    with pytest.raises(OptionError, match="'joint1' has no torque_constant"):
        dy.export_controller(robot, law(robot), tmp_path / "none", inputs="counts",
                             outputs="codes", board=board())  # fmt: skip
