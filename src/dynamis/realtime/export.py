"""`dy.export_controller`, `dy.export_observer`: each with its model, as code in a folder."""

import dataclasses
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import templates
from ..arguments import checked, choice, formerly, positive, robot_second
from ..compile.arrays import checked_dtype
from ..control.board.program import BoardLaw
from ..control.damping import mobilities, shaking
from ..control.law import AUTO, LATCH, NO_LIMIT, Law
from ..control.observer import Observer, ObserverStep
from ..control.resonance import ClosedLoopMode, ElasticLoop, sampled_arm
from ..control.single_joint import SingleJoint
from ..control.stability import Growth, free_arm, gains_at, grows, growth
from ..control.task_space import Impedance
from ..dynamics.mobility import size
from ..errors import OptionError, counted, shown, warn
from ..export.c_folder import folder
from ..export.c_function import remarks
from ..export.export import TARGETS as WRITERS
from ..export.export import UNIT, model_hash, vectors_of
from ..files import write_folder
from ..spatial.functions import MATH
from ..trajectory.trajectory import Along, Trajectory
from . import board_text, c_text, ros2
from .c_text import GRID, RIGID, SPAN, TRIGS, plain, stem_of
from .loop import udp
from .regenerate import again, fields, ingredients, options_of, spelt

if TYPE_CHECKING:
    from ..robot import Robot

BUILDS = ("Makefile", "CMakeLists.txt")
FLAGS = "-std=c99 -O2 -ffp-contract=off -Wall -Wextra -Wconversion -Werror -pedantic"


def readme(law: "Law", dtype: str, trig: str, notes: Sequence[str]) -> str:
    """How to wire it to an arm."""
    first = [] if law.reference is None else law.reference(0.0).q
    return templates.filled(
        __package__,
        "README.md",
        **c_text.words(law, notes, dtype),
        **udp.words(law.n),
        JOINTS=c_text.joint_rows(law),
        SINGLE=dtype == "float32",
        OWN=trig == "own",
        TOLERANCE=f"{c_text.tolerance(law, dtype):g}",
        MILLISECONDS=f"{1e3 * law.sample_time:g}",
        RATE=f"{1.0 / law.sample_time:.12g}",
        CYCLES=max(1, round(10.0 / law.sample_time)),
        LATCHES_AT_ONCE=law.latch == 1,
        GRAVITY=law.safe == "gravity",
        CLOSED=law.finds_joints,
        RAMP=f"{law.ramp:g}",
        DAMPED=c_text.damped(law),
        LIMITED=law.limit is not None or law.own_limits is not None,
        LIMITS=", ".join(f"{x:g}" for x in law.own_limits or law.limits),
        JUMPS=", ".join(f"{x:g}" for x in law.jumps or ()),
        BEGINNING=",".join(f"{x:.9g}" for x in first),
        HOLD=c_text.HOLD,
        ORIGIN="\n".join(f"    {plain(line)}".rstrip() for line in notes),
    )


TARGETS = (*WRITERS, UNIT, ros2.TARGET)
# what is in dy.control and controls nothing
OTHERS = {
    Observer: (
        "an observer, which estimates external torques and commands none",
        "give it to dy.simulate as observer=, or write it with dy.export_observer",
    ),
    SingleJoint: (
        "a SingleJoint, which analyses one joint on paper",
        "use its gains in a controller of the arm: dy.control.JointPID(kp, ki, kd)",
    ),
}
CALLS = (
    "init(q, qd) gives the state, step(state, q, qd, reference or t) the torque, the "
    "next state and the status"
)
REMARKS = {"matlab": f"{CALLS}.", "casadi": f"{CALLS}; the reference is a column: q, qd, qdd."}
WORK = "no allocation, no globals, no recursion, no branch that depends on data;"
LARGEST_SINGLE = 3e38
MANY_KNOTS = 200  # of a reference inside: with six joints, 0.6 MB of C and a minute to compile


@checked
@formerly(robot_second)
def export_controller(
    robot: "Robot",
    controller: Any,
    directory: str | Path,
    sample_time: float = 0.005,
    *,
    reference: Any = None,
    velocity: str = "measured",
    velocity_filter: float | None = None,
    limit: Any = None,
    safe: str = "zero",
    safe_damping: Any = AUTO,
    ramp: float = 1.0,
    latch: int = LATCH,
    jump: Any = None,
    dtype: Any = None,
    trig: str = "libm",
    target: str = "c",
    fmi: str = "3.0",
    inputs: str = "radians",
    outputs: str = "torque",
    board: Any = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write a controller as C99: one `init`, one `step(state, measurement, reference, torque)`.

    No allocation, no globals, no recursion, no loops or branches that depend on data. `trig` "own"
    brings sine and cosine along, so that nothing is linked and every cycle does the same work.
    `reference` puts a trajectory inside; `velocity` "difference" makes velocities from positions;
    `limit` clips torques; `safe` ("zero", or "gravity": ramped down in `ramp` seconds, with
    `safe_damping` meanwhile) is what comes out when a sample is not plausible, and from `latch`
    such samples in a row until `init`. `safe_damping` "auto" is k M(q) qd: every velocity falls at
    k = 20/s, or by half in a sample if that is slower; numbers are N m s/rad or N s/m, 0 lets the
    arm swing. A position farther than `jump` from the one before is not plausible either.
    `regenerate.py` beside the code writes the same files again. `target` may also be "matlab",
    "casadi" (functions init and step), "fmu" (a co-simulation unit of FMI `fmi`) or "ros2" (a
    package with a ros2_control plugin around the C). All files are written or none; those that
    dynamis did not write are replaced only with `overwrite`.

    With `inputs="counts"` it reads counters and A/D codes of a `board` (`dy.control.Board`, or its
    TOML file), finds where the arm is, and gives "volts" or "codes" of D/A converters as `outputs`;
    velocities are differences then. `dy.simulate(sensors=dy.Sensors(board=...))` runs the same.
    """
    kind = checked_dtype(dtype).name
    _refuse_options(target, trig, kind)
    behind = board_text.board_of(inputs, outputs, board, target, kind)
    _refuse_others(controller)
    velocity = velocity if behind is None else "difference"  # counts have none
    law = Law(
        controller, robot, sample_time, reference, velocity, velocity_filter, limit, safe,
        safe_damping, ramp, latch, jump,
    )  # fmt: skip
    _refuse_single(law, kind)
    if target == ros2.TARGET:
        c_text.refuse_jerk_from_outside(law, target)
    _warn_of_table(law.reference)
    _warn_of_motion(law)
    if not isinstance(directory, (str, PathLike)):
        raise OptionError(f"directory is {directory!r}, expected a path")
    folder = Path(directory)
    if target == UNIT:
        from .fmu.export import export_fmu

        path = folder / f"{stem_of(law)}.fmu"
        return [export_fmu(robot, path, fmi, overwrite=overwrite, law=law)]
    if behind is not None:
        return write_folder(folder, _board_files(BoardLaw(law, behind), trig, outputs), overwrite)
    return write_folder(folder, _files(law, kind, trig, target), overwrite)


def _board_files(law: BoardLaw, trig: str, outputs: str) -> dict[str, str]:
    """File name -> text, of a law behind a board."""
    own = law.law
    stem = stem_of(own)
    more = {"inputs": "counts", "outputs": outputs}
    notes = notes_of(own, "float64", trig, more=more, program=law.program())
    told = {**options_of(own), "trig": trig, **more}
    given = {"REMARKS": remarks(notes), "STEM": stem, "LIBM": trig != "own", "FLAGS": FLAGS}
    builds = {x: templates.filled(__package__, x, **given, LOOP=False) for x in BUILDS}
    beside = ingredients(own, stem, told, notes, board=True)
    return {**board_text.files(law, notes, trig, outputs, builds), **beside}


def _files(law: Law, dtype: str, trig: str, target: str) -> dict[str, str]:
    """File name -> text."""
    stem, notes = stem_of(law), notes_of(law, dtype, trig, target)
    told = {**options_of(law), "dtype": dtype, "trig": trig, "target": target}
    beside = ingredients(law, stem, told, notes)
    if target == ros2.TARGET:
        return {**ros2.package_files(law, dtype, trig, notes), **beside}
    if target != "c":
        programs = {"init": law.start_program(), "step": law.program()}
        return {**WRITERS[target](stem, programs, notes, dtype), **beside}
    given = {"REMARKS": remarks(notes), "STEM": stem, "LIBM": trig != "own", "FLAGS": FLAGS}
    given["LOOP"] = True
    return {
        f"{stem}.h": c_text.header(law, notes, dtype),
        f"{stem}.hpp": c_text.cpp_header(law, notes, dtype),
        f"{stem}.c": c_text.source(law, notes, dtype, trig),
        f"{stem}_test.c": c_text.self_test(law, notes, dtype, c_text.sample_rows(law)),
        f"{stem}_loop.c": c_text.loop_source(law, notes, dtype),
        **{name: templates.filled(__package__, name, **given) for name in BUILDS},
        "README.md": readme(law, dtype, trig, notes),
        **beside,
    }


def _refuse_options(target: Any, trig: Any, dtype: str) -> None:
    choice(target, "target", TARGETS)
    choice(trig, "trig", TRIGS)
    if target not in ("c", ros2.TARGET) and trig != "libm":
        raise OptionError(
            f"trig is {trig!r}, but target {target!r} has the elementary functions of its own "
            "world",
            "leave trig out",
        )
    if target == UNIT and dtype != "float64":
        raise OptionError(
            f"dtype is {dtype!r}, but the variables of an FMU are float64", "leave dtype out"
        )


def _refuse_others(controller: Any) -> None:
    for kind, (what, instead) in OTHERS.items():
        if kind in (*type(controller).__mro__, *getattr(controller, "__mro__", ())):
            raise OptionError(f"controller is {what}", instead)


def _refuse_single(law: Law, dtype: str) -> None:
    """A damping that follows the operational inertia loses its digits near singular poses."""
    for name, row in law.gains.items():
        if dtype == "float32" and any(LARGEST_SINGLE < abs(x) < NO_LIMIT for x in row):
            raise OptionError(f"{name} is {row!r}, which float32 cannot hold", "use float64")
    ratio = isinstance(law.controller, Impedance) and law.controller.damping_ratio is not None
    if ratio and dtype == "float32":
        raise OptionError(
            "Impedance with damping_ratio is not accurate in float32",
            "use dtype='float64', or give damping itself",
        )


def _warn_of_table(reference: Trajectory | None) -> None:
    """Say that a long table makes slow code: every knot costs operations at every sample."""
    while isinstance(reference, Along):
        _warn_of_table(reference.timing)
        reference = reference.path
    if reference is not None and len(reference.knots) > MANY_KNOTS:
        warn(
            f"the reference has {len(reference.knots)} knots, each of which costs operations "
            "at every sample; reference.simplified(1e-4) leaves out those it does not need"
        )


def _warn_of_motion(law: Law) -> None:
    """Say where the reference passes limits, and that the sampled law shakes the arm."""
    if law.reference is not None:
        for line in law.reference.beyond_limits(law.robot):
            warn(line)
    law.program()  # what is wrong with a law is said first
    if mode := _elastic_mode(law):
        warn(mode.text)
    elif shakes := shaking(law, law.robot.home):
        warn(
            f"{shakes}: the arm will shake; lower the velocity gain, shorten sample_time, or give "
            "the model the inertia of its rotors"
        )
    elif found := _growth(law):
        warn(f"{grows(law, found)}; lower the position gain or shorten sample_time")


def _elastic_mode(law: Law) -> ClosedLoopMode | None:
    """A resonance of elastic joints that the gains drive; the encoders are on the motors."""
    if not law.robot.chain.elastic:
        return None
    q = law.robot.home if law.reference is None else np.array(law.robot.home)
    if law.reference is not None:
        q[list(law.robot.driven)] = law.reference(0.0).q
    mode = ElasticLoop(law, law.robot, q).mode()
    return mode if mode is not None and mode.grows else None


def _growth(law: Law) -> Growth | None:
    """Growth of oscillations about where its reference begins, or the arm's home."""
    robot, h = law.robot, law.sample_time
    if robot.model.closures:
        mobility = mobilities(robot, robot.home[None])
        gains = gains_at(law, robot.home[list(robot.driven)])
        return growth(law, *gains, free_arm(mobility[0], h)) if len(mobility) else None
    if robot.n != law.n or law.velocity_filter is not None:
        return None
    q = robot.home if law.reference is None else np.asarray(law.reference(0.0).q, float)
    return growth(law, *gains_at(law, q), sampled_arm(robot, q, h).arm)


def notes_of(
    law: Law, dtype: str, trig: str, target: str = "c", more: Mapping[str, Any] | None = None,
    program: Any = None,
) -> list[str]:  # fmt: skip
    """What a reader of the generated code must know: where it comes from, how to make it again.

    `more` options and another `program` are those of a law behind a board.
    """
    from .. import __version__

    models = [model_hash(x.chain)[:16] for x in (law.controller.model or law.robot, law.robot)]
    program = program or law.program()
    told = {"reference": law.reference, **options_of(law)}
    told |= {"dtype": dtype, "trig": trig, "target": target, **(more or {})}
    kind = type(law.controller).__name__
    given = fields(law.controller) if dataclasses.is_dataclass(law.controller) else {}
    linked = "nothing linked." if trig == "own" else "elementary functions of <math.h>."
    lines = [
        f"{kind} of {law.robot.name}: generated by dynamis {__version__}.",
        f"Again: {again(law)}",
        f"Model {models[0]}, robot {models[1]}, program {program.hash[:16]}: {program.cost}.",
        f"Controller: {kind}({_spelt(given)})",
        f"Options: {_spelt(told)}",
        "",
        *vectors_of(law.robot.drive_names),
        *(f"{name} = {_row(row)}" for name, row in law.gains.items()),
        _remarks(law, target) or f"The controller itself: {WORK} {linked}",
    ]
    return [plain(line) for line in lines]


def _remarks(law: Law, target: str) -> str | None:
    """How the code of a target is called, where it is not C."""
    words = REMARKS.get(target)
    return (
        words.replace("qd, qdd.", "qd, qdd, jerk, snap.") if words and law.rows > RIGID else words
    )


def _row(row: list[float]) -> str:
    """Gains with six digits; what is not limited says so."""
    words = ["none" if abs(x) >= NO_LIMIT else repr(float(f"{x:.6g}")) for x in row]
    return "none" if set(words) == {"none"} else f"[{', '.join(words)}]"


def _spelt(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_word(value)}" for name, value in options.items())


def _word(value: Any) -> str:
    """An argument as it is written, in one line: every digit of arrays, robots by name."""
    if isinstance(value, Trajectory):
        return f"<{type(value).__name__} of {counted(value.n, 'joint')}, {value.duration:.17g} s>"
    if hasattr(value, "joint_names"):
        return f"<robot {value.name!r}>"
    return spelt(value) or repr(value)


# observers

WARM, APART, COUNT = 20, 5, 5  # samples before those of the self-test, between them, of them
SPEED = 3.0  # rad/s: frequency of the motion of the self-test


@checked
@formerly(robot_second)
def export_observer(
    robot: "Robot",
    observer: Any,
    directory: str | Path,
    sample_time: float = 0.005,
    *,
    overwrite: bool = False,
) -> list[Path]:
    """Write an observer as C99: `init(q, qd, state)` and `step(state, q, qd, tau, next, ...)`.

    `step` gives the next state, the external torque and, of a payload observer, its estimate and
    deviation. `tau` is the mean torque since the sample before. A step is one straight line: no
    loop, no allocation, no state of its own. A self-test lies beside it.
    """
    if not isinstance(observer, Observer):
        raise OptionError(
            f"observer is {shown(observer)}, expected dy.PayloadObserver(...) or "
            "dy.control.MomentumObserver(...)",
            "dy.export_controller writes controllers",
        )
    sample_time = positive(sample_time, "sample_time", "seconds")
    if observer.sample_time not in (None, sample_time):
        raise OptionError(
            f"sample_time is {sample_time!r}, the observer's own is {observer.sample_time!r}",
            "give both the same, or leave the observer's out",
        )
    whole = ObserverStep(observer, robot)
    programs = {"init": whole.start_program(), "step": whole.program(sample_time)}
    stem = f"{robot.name}_{type(observer).__name__}"
    samples = _observer_samples(whole, sample_time)
    files = folder(stem, programs, _observer_notes(whole, sample_time), "float64", samples)
    return write_folder(directory, files, overwrite)


def _observer_notes(whole: ObserverStep, sample_time: float) -> list[str]:
    """What a reader of the generated code must know."""
    from .. import __version__

    observer, robot = whole.observer, whole.robot
    kind, model = type(observer).__name__, observer.watched(robot)
    given = {name: value for name, value in fields(observer).items() if name != "model"}
    lines = [
        f"{kind} of {robot.name}: generated by dynamis {__version__}.",
        "Again: dy.export_observer(robot, observer, directory), with what is named below.",
        f"Model {model_hash(model.chain)[:16]} ({model.name}), sampled every {sample_time!r} s.",
        f"Observer: {kind}({', '.join(f'{k}={v!r}' for k, v in given.items())})",
        "",
        *vectors_of(robot.drive_names),
        "init once, then step every sample; its next is the state of the step after.",
        "tau: mean torque of the drives since the sample before. external: what else acts.",
        *(f"{name}: state[{s.start}] to state[{s.stop - 1}]." for name, s in whole.slots.items()),
        "No allocation, no static state, no loop, no library but <math.h>.",
    ]
    return [plain(line) for line in lines]


def _observer_samples(whole: ObserverStep, dt: float) -> dict[str, list[np.ndarray]]:
    """Arguments of init and step along a made-up motion, for the self-test."""
    robot = whole.robot
    n, middle = len(robot.driven), robot.home[list(robot.driven)]
    span = SPAN * min(1.0, size(robot.chain)) / 6.0 if robot.model.closures else SPAN
    t = dt * np.arange(WARM + APART * COUNT)[:, None]
    phase = SPEED * (1.0 + 0.2 * np.arange(n)) * t
    rows = (middle + span * np.sin(phase), span * SPEED * np.cos(phase), 10.0 * np.cos(2.0 * phase))
    q, qd, tau = (GRID * np.round(x / GRID) for x in rows)
    state, states = whole.start(q[0].tolist(), qd[0].tolist(), MATH), []
    for row in zip(q.tolist(), qd.tolist(), tau.tolist(), strict=True):
        states.append(state)
        state = whole.step(state, *row, dt, whole.numbers, MATH)[1]
    kept = slice(WARM, None, APART)
    return {
        "init": [q[kept], qd[kept]],
        "step": [np.array(states)[kept], q[kept], qd[kept], tau[kept]],
    }
