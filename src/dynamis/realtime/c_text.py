"""The C of a control law: header, source, self-test, and the POSIX loop that runs it.

The loop is a program that talks to a plant over UDP:

    listen    a few packets say when measurements come; the cycle is set just behind them
    cycle     sleep until its time; newest measurement that came; step; send the torque
    end       after --cycles, on a signal, or when the safe state has run its course; an arm with
              safe="gravity" is let down first: bad references make the law ramp down

A cycle either got a new measurement or it is silent. The first silent cycle (`--hold` of them) goes
on with the last measurement; from the second in a row the law is given NaN, so its torque is the
safe one until a measurement comes. The law's own `latch` says how many of those are final. Cycles
that the loop itself missed count as silent ones, and a measurement that is too old is none. A law
that makes velocities from positions must not see a position twice: in silent cycles it is given
one that moves on as far as the arm did in a cycle, whatever time lay between two packets.
A bad reference, which lets the arm down, is one whose time or whose positions are NaN.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import templates
from ..control.controller import NO_LIMIT, Reference, SmoothReference, drives_at_first
from ..dynamics.drive_coordinates import APPROACHES
from ..dynamics.mobility import size
from ..errors import DynamisError, OptionError
from ..export import c_branchless
from ..export.c_folder import c_header, namespace
from ..export.c_function import PRECISIONS, array, comment, identifier, intro, literal
from ..spatial.functions import MATH
from ..trajectory.fourier import sine
from .loop import udp

if TYPE_CHECKING:
    from ..control.law import Law
    from ..trajectory.trajectory import Trajectory

RIGID = len(Reference._fields)  # parts of a reference without jerk and snap
LONGEST_ROBOT = 16  # letters of its name
TRIGS = ("libm", "own")
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}  # of each joint's largest torque
# laws that invert the inertia or the Jacobian of the tool lose digits near singular poses
TOLERANCES = {
    "TaskSpace": {"float64": 1e-11, "float32": 1e-3},
    "Impedance": {"float64": 1e-11, "float32": 1e-2},
}
NOT_DAMPED = "not damped (`safe_damping` is 0): the arm swings meanwhile"
DAMPED = "damped where velocities are known (only the reference is bad) by "
BY_MASSES = '{:.4g}/s times the mass matrix times the velocity (`safe_damping` "auto")'
SMALLEST = 1e-2  # of the arm's largest torque: what counts as a joint's at least


def stem_of(law: "Law") -> str:
    """Name of everything in C: the robot's (shortened, if it is long) and the controller's."""
    kind, robot = type(law.controller).__name__, law.robot.name
    if len(robot) > LONGEST_ROBOT:
        robot = f"{robot[:LONGEST_ROBOT]}_{hashlib.sha256(robot.encode()).hexdigest()[:6]}"
    return identifier(f"{robot}_{kind}", "controller")


def words(law: "Law", notes: Sequence[str], dtype: str) -> dict[str, Any]:
    """What the templates of a law have in common."""
    stem = stem_of(law)
    return {
        **{"INTRO": intro(notes), "STEM": stem, "UP": stem.upper(), "T": PRECISIONS[dtype].type},
        **{"N": law.n, "N2": 2 * law.n, "NR": law.rows * law.n, "STATES": law.states},
        **{"SAMPLE_TIME": repr(law.sample_time), "LATCH": law.latch},
        "DIFFERENCE": law.velocity == "difference",
        "INSIDE": law.reference is not None,
        "SMOOTH": law.rows > RIGID,
        "N3": 3 * law.n,
        "N4": 4 * law.n,
    }


def refuse_jerk_from_outside(law: "Law", target: str) -> None:
    """Refuse a target whose references are position, velocity and acceleration."""
    if law.reference is None and law.rows > RIGID:
        raise OptionError(
            f"{type(law.controller).__name__} follows jerk and snap, which references of target "
            f"{target!r} have not",
            "put the trajectory inside: reference=dy.trajectory.nonic(...)",
        )


def header(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """Types and functions."""
    body = templates.filled(__package__, "controller.h", **words(law, notes, dtype))
    return c_header(stem_of(law), notes, body)


def cpp_header(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """A C++17 class over it: arrays in, arrays out, nothing allocated."""
    space = namespace(stem_of(law))
    return templates.filled(__package__, "controller.hpp", **words(law, notes, dtype), SPACE=space)


def source(law: "Law", notes: Sequence[str], dtype: str, trig: str) -> str:
    """The law itself."""
    stem = stem_of(law)

    def written(program: Any, name: str) -> str:
        return f"static {c_branchless.function(program, name, dtype, trig == 'own')}"

    start = start_text(law, f"{stem}_start", written, dtype)
    bodies = [start, written(law.program(), f"{stem}_sample")]
    short = law.reference is not None and dtype == "float32"
    return templates.filled(
        __package__,
        "controller.c",
        **words(law, notes, dtype),
        LIBM=trig == "libm",
        HELPERS=c_branchless.helpers(dtype, "\n".join(bodies)),
        START=bodies[0],
        SAMPLE=bodies[1],
        SHORT_TIME=short,
        **(_times(law) if short else {}),
        WANTED=wanted_text(law),
        KEPT="\n".join(f"    state->x[{i}] = next[{i}];" for i in range(law.states)),
    )


def wanted_text(law: "Law") -> str:
    """The reference of a sample, copied row after row."""
    names = SmoothReference._fields[: law.rows]
    rows = (f"reference->{row}[{i}]" for row in names for i in range(law.n))
    return "\n".join(f"    wanted[{k}] = {x};" for k, x in enumerate(rows))


def start_text(law: "Law", name: str, written: Callable[[Any, str], str], dtype: str) -> str:
    """The function of the start; a closed mechanism is led from home to where its drives are."""
    if not law.finds_joints:
        return written(law.start_program(), name)
    precision, home = PRECISIONS[dtype], law.model.home.tolist()
    return templates.filled(
        __package__,
        "closed_start.c",
        NAME=name,
        T=precision.type,
        APPROACH=written(law._approach_program(), f"{name}_approach"),
        NEAR=written(law._near_program(), f"{name}_near"),
        JOINTS=law.model.n,
        HOME=", ".join(literal(x, precision) for x in home),
        APPROACHES=APPROACHES,
    )


def _times(law: "Law") -> dict[str, Any]:
    """What takes the time of a long run to where single precision has its digits."""
    from ..control.law import LONGEST

    trajectory, precision = law.reference, PRECISIONS["float64"]
    assert trajectory is not None
    if trajectory.endless and trajectory.period is None:
        raise OptionError(
            "the reference goes on for ever without repeating, and time loses its digits in "
            "float32",
            "use dtype='float64', or frequencies that are multiples of one",
        )
    return {
        "ENDLESS": trajectory.endless,
        "PERIOD": literal(trajectory.period or 0.0, precision),
        "END_TIME": literal(trajectory.duration, precision),
        "LONGEST": repr(LONGEST),
    }


def recorded(law: "Law", q: np.ndarray, qd: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Torques of the law in Python over recorded samples, (K, n)."""
    return _replayed(law, q, qd, wanted, [0])[0]


def _replayed(
    law: "Law", q: np.ndarray, qd: np.ndarray, wanted: np.ndarray, starts: Sequence[int]
) -> tuple[np.ndarray, list[int]]:
    """Torques (K, n) and status of the law in Python over samples; some of them start it anew."""
    torques, statuses, state = [], [], []
    rows = zip(q.tolist(), qd.tolist(), wanted.tolist(), strict=True)
    for k, (place, speed, row) in enumerate(rows):
        given = row[0]
        if law.reference is None:
            given = [row[i * law.n : (i + 1) * law.n] for i in range(law.rows)]
        if k in starts:
            state = law.start(place, speed, MATH)
        torque, state, status = law.step(state, place, speed, given, MATH)
        torques.append(torque)
        statuses.append(int(status))
    return np.array(torques), statuses


def self_test(law: "Law", notes: Sequence[str], dtype: str, rows: "SelfTestSamples") -> str:
    """A program that replays samples, then disturbed ones, and compares torques and status."""
    more, restart = _disturbed(law, rows)
    every = (np.concatenate(pair) for pair in zip(rows[:3], more, strict=True))
    q, qd, wanted = (x.astype(dtype).astype(float) for x in every)
    tau, statuses = _replayed(law, q, qd, wanted, [0, restart])
    most = np.abs(tau[: len(rows.q)]).max(0)  # a joint that hardly works is measured by the arm
    scales = np.maximum(most, SMALLEST * max(most.max(), 1e-3))
    tables = {"positions": q, "velocities": qd, "wanted": wanted, "torques": tau}
    return templates.filled(
        __package__,
        "controller_test.c",
        **words(law, notes, dtype),
        COUNT=len(q),
        HOW=plain(rows.how),
        LOOP=len(rows.q),
        RESTART=restart,
        **{k.upper(): f"{array(k, x, PRECISIONS[dtype])}\n" for k, x in tables.items()},
        STATUSES=", ".join(map(str, statuses)),
        SCALES=", ".join(literal(x, PRECISIONS["float64"]) for x in scales.tolist()),
        TOLERANCE=repr(tolerance(law, dtype)),
    )


def tolerance(law: "Law", dtype: str) -> float:
    """How far the self-test lets torques differ, of each joint's largest."""
    return TOLERANCES.get(type(law.controller).__name__, TOLERANCE)[dtype]


def damped(law: "Law") -> str:
    """How the safe torque brakes the arm, in words."""
    if law.brake:
        return DAMPED + BY_MASSES.format(law.brake)
    if not any(law.damping):
        return NOT_DAMPED
    return f"{DAMPED}{', '.join(f'{x:g}' for x in law.damping)} N m s/rad or N s/m"


def joint_rows(law: "Law") -> str:
    """Rows of a table of Markdown: the index of every drive and its name."""
    shown = (re.sub(r"[^\w\-. ]", "?", name) for name in law.robot.drive_names)
    return "\n".join(f"| {i} | `{name}` |" for i, name in enumerate(shown))


def plain(line: str) -> str:
    """A line that may stand in any comment: nothing in it ends or continues one."""
    return comment(line.replace("\n", "?"))


# samples that a law is tested with: an arm that follows its reference, simulated

COUNT = 200
SPAN = 0.3  # rad or m: how far the reference goes where none is inside
FREQUENCY = 0.5  # Hz, of that reference
SMOOTH_FREQUENCY = 0.4  # Hz, where it has a snap: on the grid it is exact in single precision
HALVINGS = 6  # of that, at most, for mechanisms that cannot go so far
OFF = 0.01  # rad or m: how far from its reference the arm starts
STEP = 5e-3  # s, the longest step of the simulation
GRID = 2.0**-20  # samples are rounded to it: the same on every machine, exact in single precision
FAR = 1e3  # rad, m, per second: a loop that went there is not worth recording
LEAP = 100.0  # rad or m: of a reference that asks for more than the limits
MOST_BAD, FEW = 60, 3  # samples in a row: bad ones that may latch; those of anything else
SIMULATED = "a simulated closed loop"
SYNTHETIC = "a made-up motion: the closed loop could not be simulated"


class SelfTestSamples(NamedTuple):
    """Positions, velocities (K, n), references (K, rows n) or times (K, 1), and whence they are."""

    q: np.ndarray
    qd: np.ndarray
    wanted: np.ndarray
    how: str


def sample_rows(law: "Law", count: int = COUNT) -> SelfTestSamples:
    """Samples of the closed loop, rounded; of a made-up motion where there is no such loop."""
    found = closed_loop(law, count)
    q, qd, wanted, how = made_up(law, count) if found is None else found[0]
    q, qd, rounded = (GRID * np.round(x / GRID) for x in (q, qd, wanted))
    return SelfTestSamples(q, qd, rounded if law.reference is None else wanted, how)


def _disturbed(law: "Law", before: SelfTestSamples) -> tuple[list[np.ndarray], int]:
    """Samples that follow others, (q, qd, wanted), and which of them starts the law anew.

    The arm moves on as it did. A reference that leaps beyond the limits, a position that leaps, one
    that is missing, then missing references until the law latches; good samples that change nothing
    any more, and good ones after a new start.
    """
    last = law.latch if law.latch <= MOST_BAD else FEW
    kinds = ["reference leaps", "good"] if _may_leap(law) else []
    kinds += ["position leaps", "good"] if law.jumps is not None else []
    kinds += ["no position", "good", *["no reference"] * last, *["good"] * 2 * FEW]
    steps = np.arange(1.0, len(kinds) + 1)[:, None]
    q = before.q[-1] + steps * GRID * np.round(law.sample_time * before.qd[-1] / GRID)
    qd, wanted = (np.tile(x[-1], (len(kinds), 1)) for x in (before.qd, before.wanted))
    if law.reference is not None:
        wanted += law.sample_time * steps
    for k, kind in enumerate(kinds):
        if kind == "reference leaps":
            wanted[k, : law.n] += LEAP
        elif kind == "position leaps":
            q[k] += 2.0 * np.array(law.jumps)
        elif kind == "no position":
            q[k, 0] = np.nan
        elif kind == "no reference":
            wanted[k, 0] = np.nan
    return [q, qd, wanted], len(before.q) + len(kinds) - FEW


def _may_leap(law: "Law") -> bool:
    """Whether references come from outside and torques that follow a leap are clipped."""
    own = law.own_limits or law.limits
    return law.reference is None and not law.finds_joints and max(own) < NO_LIMIT


def closed_loop(law: "Law", count: int = COUNT) -> tuple[SelfTestSamples, np.ndarray] | None:
    """What the law would have seen in `dy.simulate`, and the torques there; None if it fails."""
    from ..simulation.simulator import simulated

    plan, dt = self_test_plan(law), law.sample_time
    first = plan(0.0)
    try:
        run = simulated(
            law.robot, count * dt, dt / ceil(dt / STEP), *_start(law, first), law,
            reference=plan if law.reference is None else None, progress=False,
        )  # fmt: skip
    except DynamisError:
        return None
    seen = run.measured
    if seen is None or run.message or len(seen.t) < count:
        return None
    q, qd, tau = (row[:count] for row in (seen.q, seen.qd, seen.tau))
    if not all((np.abs(x) < most).all() for x, most in ((q, FAR), (qd, FAR), (tau, FAR * FAR))):
        return None
    return SelfTestSamples(q, qd, wanted_rows(law, plan, count), SIMULATED), tau


def made_up(law: "Law", count: int = COUNT) -> SelfTestSamples:
    """A motion near its reference."""
    plan = self_test_plan(law)
    state = plan(law.sample_time * np.arange(count))
    w = 6.0 * np.pi * FREQUENCY
    angle = w * law.sample_time * np.arange(count)[:, None] + np.arange(1, law.n + 1)
    q, qd = state.q + OFF * np.sin(angle), state.qd + OFF * w * np.cos(angle)
    return SelfTestSamples(q, qd, wanted_rows(law, plan, count), SYNTHETIC)


def self_test_plan(law: "Law") -> "Trajectory":
    """The motion of a self-test: the reference inside, or one that the robot can follow."""
    if law.reference is not None:
        return law.reference
    phases, robot = np.arange(1.0, law.n + 1.0), law.robot
    if not robot.model.closures:
        return sine(0.0, SPAN, FREQUENCY if law.rows == RIGID else SMOOTH_FREQUENCY, phases)
    middle, span = robot.home[list(robot.driven)], SPAN * min(1.0, size(robot.chain))
    for _ in range(HALVINGS):  # until the mechanism can go there
        plan = sine(middle, span, FREQUENCY, phases)
        moments = np.linspace(0.0, 1.0 / FREQUENCY, 9)
        if all(_configuration(law, q).good for q in plan(moments).q):
            break
        span *= 0.5
    return plan


def _start(law: "Law", first: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions and rates of all joints a little off where a plan begins."""
    if not law.robot.model.closures:
        return first.q + OFF, first.qd
    off = OFF * min(1.0, size(law.robot.chain))
    found = _configuration(law, first.q + off)
    return np.array(found.q), np.array(found.rates(first.qd.tolist()))


def _configuration(law: "Law", drives: np.ndarray) -> Any:
    """Where a closed mechanism is with its drives where they are."""
    return drives_at_first(law.robot, drives.tolist(), MATH).here


def wanted_rows(law: "Law", plan: "Trajectory", count: int) -> np.ndarray:
    """References (K, rows n) of samples of a plan, or times (K, 1) if it is inside the law."""
    t = law.sample_time * np.arange(count)
    if law.reference is not None:
        return t[:, None]
    return np.concatenate(plan.derivatives(t) if law.rows > RIGID else plan(t), axis=1)


# the POSIX loop

HOLD = 1  # cycles without a measurement that the last one may stand in for
LISTEN = 200  # packets
AFTER = 0.1  # s in the safe state before the program ends, where nothing is ramped down
START_TOLERANCE = 0.05  # rad or m that the arm may be away from where the trajectory begins
MOST_CYCLES = 10**15

INSIDE = "The reference is the trajectory inside, from its beginning at the first cycle."
STILL = "The reference is the place where the arm is at the first cycle: it holds still."
LET_DOWN = (
    "At the end (SIGINT, SIGTERM, --cycles) the arm is let down: gravity compensation {} "
    "damping, ramped down in {:.6g} s, then zero torque; a second signal ends at once."
)
DROPPED = "At the end (SIGINT, SIGTERM, --cycles) the torque is zero at once."


def loop_source(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """The program `<stem>_loop.c`."""
    plan = law.reference
    first = [] if plan is None else [float(x) for x in plan.at(0.0, MATH)[0]]
    names = (plain(name).replace('"', "'").replace("@", "?") for name in law.robot.drive_names)
    return templates.filled(
        __package__,
        "posix_loop.c",
        **words(law, notes, dtype),
        **udp.words(law.n),
        LISTEN=LISTEN,
        HOLD=HOLD,
        PERIOD=repr(float(law.sample_time)),
        TOLERANCE=repr(START_TOLERANCE),
        RAMPING=law.safe == "gravity",
        STEPS=ceil(min(law.ramp / law.sample_time, MOST_CYCLES)) + 1,
        AFTER=repr(AFTER),
        REFERENCE=STILL if plan is None else INSIDE,
        ENDING=LET_DOWN.format("with" if law.brake or any(law.damping) else "without", law.ramp)
        if law.safe == "gravity"
        else DROPPED,
        BEGINNING=", ".join(literal(x, PRECISIONS["float64"]) for x in first),
        START=",".join(f"{x:.6g}" for x in first or [0.0] * law.n),
        NAMES=", ".join(f'"{name}"' for name in names),
    )
