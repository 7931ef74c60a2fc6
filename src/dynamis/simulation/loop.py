"""Loops over the steps of a simulation, and the ways in which a run goes through time.

MachineLoop, PythonLoop     run tasks step after step (`device.DeviceLoop`: on a GPU)
fixed_steps                 the arm, and a control law of the package, in steps of one length
by_samples                  a Python function as controller, asked at its sample time
stages.by_stages            a Python function as controller, asked at every integrator stage
adaptive.adaptive           steps of any length, with error control
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from ..compile.arrays import run as run_code
from ..compile.libraries import like
from ..compile.service import compiling, digest, share, stored, thread_count
from ..control.controller import refuse_passive
from ..control.law import PLAUSIBLE
from ..errors import OptionError, ShapeError
from ..lazy import LOCK
from ..progress import stage
from ..user_code import location
from .assembly import Assembly
from .record import Again, RunRecorder
from .settings import Settings
from .signals import returned
from .tasks import Task

if TYPE_CHECKING:
    from .device import DeviceLoop

GROUP = 64  # members that stay in the processor's cache together
NEVER = 2**62  # steps between rows that are kept
CHUNK = 4096  # steps between looks at the clock, at the events and at the numbers
SLOW_CHUNK = 64  # the same in Python
Loop = Union["MachineLoop", "PythonLoop", "DeviceLoop"]


@cache
def _machine_loop(dtype: str) -> tuple[Callable[..., None], Any]:
    """The loop of `compile.llvm_loop` as a C function, and what keeps its memory."""
    from ..compile.elementary import REALS
    from ..compile.llvm_loop import NAME, loop_module

    with LOCK:
        from ..compile.machine import Loaded, object_code

        ir = loop_module(REALS[dtype].name)
        loaded = Loaded(stored(digest(NAME, dtype), lambda _: object_code(ir), "the simulation"))
    integer, pointer = ctypes.c_int64, ctypes.c_void_p
    kinds = [integer] * 4 + [pointer] * 9 + [integer] * 4 + [pointer, integer]
    return ctypes.CFUNCTYPE(None, *kinds)(loaded.address(NAME)), loaded


class Given(NamedTuple):
    """What the tasks of a loop are given, one of each per task."""

    signals: Sequence[np.ndarray]  # a row every time the task runs; (arms, rows, ..) if they differ
    constants: Sequence[np.ndarray]  # one row, or (arms, ..)

    def of(self, dtype: np.dtype) -> "Given":
        """As numbers of a type."""
        if dtype == np.float64:
            return self
        with np.errstate(over="ignore"):  # a limit that is none is infinite in float32
            return Given(*([np.ascontiguousarray(a, dtype) for a in part] for part in self))


class Record(NamedTuple):
    """Rows (members, rows, numbers) for the states of every few steps.

    The first `early` numbers are those before the last task, the others those after it.
    """

    rows: np.ndarray
    early: int
    every: int


class MachineLoop:
    """Tasks as machine code; the state of every member stays where it is."""

    def __init__(
        self,
        tasks: Sequence[Task],
        members: int,
        dtype: str = "float64",
        threads: int | None = None,
    ):
        self.threads, self.dtype = threads, np.dtype(dtype)
        self.codes = [task.code(members, dtype) for task in tasks]
        self._call, self._keep = _machine_loop(dtype)
        self._integers, self._pointers = ctypes.c_int64 * len(tasks), ctypes.c_void_p * len(tasks)
        self._functions = self._pointers(*(code.batch for code in self.codes))
        self.schedule(tasks)
        self._widths = self._integers(*(task.signals for task in tasks))
        pairs = zip(self.codes, self.tasks, strict=True)
        self.operations = sum(code.operations / task.period for code, task in pairs)  # of one step

    def schedule(self, tasks: Sequence[Task]) -> None:
        """Take the steps at which its tasks run from `tasks`, the same ones otherwise."""
        self.tasks = list(tasks)
        self._periods = self._integers(*(task.period for task in tasks))
        self._phases = self._integers(*(task.phase for task in tasks))

    def run(self, x: np.ndarray, first: int, steps: int, given: Given, record: Record) -> None:
        """Steps first .. first + steps - 1 of the members x (count, size)."""
        (signals, constants), (saved, early, every) = given.of(self.dtype), record
        count, size, item = len(x), x.shape[1], self.dtype.itemsize
        # numbers from one member's rows to the next one's; 0 where all have the same
        apart = [a.strides[0] // item if a.ndim == 3 else 0 for a in signals]
        strides = [c.shape[1] if c.ndim == 2 else 0 for c in constants]
        signals_at, constants_at = ([a.ctypes.data for a in part] for part in (signals, constants))
        state_at, saved_at = x.ctypes.data, saved.ctypes.data
        kept, member = saved.shape[2], saved.strides[0]
        integers, pointers = self._integers, self._pointers

        def span(a: int, b: int) -> None:
            """Members a .. b - 1; every pointer is that of member a."""
            rows = [at + item * a * gap for at, gap in zip(signals_at, apart, strict=True)]
            own = [at + item * a * gap for at, gap in zip(constants_at, strides, strict=True)]
            self._call(
                b - a, first, steps, len(rows), self._functions, self._periods, self._phases,
                state_at + item * a * size, pointers(*rows), self._widths, integers(*apart),
                pointers(*own), integers(*strides), size, early, kept, every,
                saved_at + a * member, member // item,
            )  # fmt: skip

        if count == 1:
            span(0, 1)
            return
        threads = min(thread_count(self.threads, int(self.operations * steps) + 1, count), count)
        group = max(1, min(GROUP, -(-count // threads)))
        share(span, pairwise([*range(0, count, group), count]), threads)

    def repeated(self, x: np.ndarray, constant: np.ndarray) -> Callable[[int], None]:
        """A function of a number of steps that advances x by a plant that nothing drives in time.

        Every pointer is taken once; nothing is recorded.
        """
        count, size, width = len(x), x.shape[1], constant.shape[-1] if constant.ndim == 2 else 0
        signal, constant = np.zeros(self.tasks[0].signals, self.dtype), constant.astype(self.dtype)
        pointer, integer = ctypes.c_void_p, ctypes.c_int64
        rows, still = (pointer * 1)(signal.ctypes.data), (integer * 1)(0)  # one row for all
        numbers, wide = (pointer * 1)(constant.ctypes.data), (integer * 1)(width)
        head = 1, self._functions, self._periods, self._phases, x.ctypes.data, rows, still
        tail = still, numbers, wide, size, 0, 0, NEVER, x.ctypes.data, 0
        call = self._call

        def go(steps: int, keep: Any = (x, constant, signal)) -> None:
            call(count, 1, steps, *head, *tail)

        return go


class PythonLoop:
    """Tasks without machine code: over floats for one member, over arrays for several."""

    def __init__(self, tasks: Sequence[Task]):
        self.schedule(tasks)

    def schedule(self, tasks: Sequence[Task]) -> None:
        """As MachineLoop.schedule."""
        self.tasks = list(tasks)

    def run(self, x: np.ndarray, first: int, steps: int, given: Given, record: Record) -> None:
        """As MachineLoop.run."""
        (signals, constants), (saved, early, every) = given, record
        done, row = [0] * len(self.tasks), 0
        last, kept = len(self.tasks) - 1, saved.shape[2]
        for k in range(first, first + steps):
            recording = k % every == 0
            for j, task in enumerate(self.tasks):
                if j == last and recording:
                    saved[:, row, :early] = x[:, :early]
                if k % task.period == task.phase:
                    x[...] = task.evaluated(x, signals[j][..., done[j], :], constants[j])
                    done[j] += 1
            if recording:
                saved[:, row, early:] = x[:, early:kept]
                row += 1


def loop_of(tasks: Sequence[Task], s: Settings) -> Loop:
    """On a GPU if one was asked for; machine code where there is any; else Python."""
    if s.device is not None:
        from .device import DeviceLoop

        return DeviceLoop(tasks, s)
    if not compiling():
        return PythonLoop(tasks)
    return MachineLoop(tasks, s.count, s.options.dtype, s.threads)


def in_parts(loop: Loop, parts: int) -> Loop:
    """A loop for steps that are a fraction as long; samples stay at their instants. Not on GPUs."""
    assert isinstance(loop, (MachineLoop, PythonLoop))
    *others, plant = loop.tasks
    later = [replace(x, period=parts * x.period, phase=parts * x.phase) for x in others]
    found = copy(loop)
    found.schedule([*later, plant])
    return found


@dataclass(frozen=True)
class Simulation:
    """A simulation in progress: its settings, what it runs, and the state of every arm.

    `x` (arms, size) is advanced in place; its entries are those of `assembly.slots`.
    """

    s: Settings
    assembly: Assembly
    x: np.ndarray

    def part(self, name: str) -> np.ndarray:
        """A view of one part of the state, (arms, numbers)."""
        return self.assembly.slots.part(self.x, name)

    def advance(
        self, loop: Loop, first: int, steps: int, rows: np.ndarray | None = None, every: int = 1,
        final: np.ndarray | None = None, constants: Sequence[np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        """Let the steps first .. first + steps - 1 pass; `rows` is given every few of the states.

        `final` is given the row of the instant after the last step, with what acts there, while x
        stays at that instant. `constants` are those of the tasks, if they have been made before.
        """
        s, m = self.s, self.assembly
        constants = m.constants(s) if constants is None else constants
        for arms in self._arms_at_a_time():
            signals = self._signals(arms, first, steps + (final is not None))
            numbers = [c[arms] if c.ndim == 2 else c for c in constants]
            loop.run(
                self.x[arms], first, steps, Given(signals, numbers), self._record(arms, rows, every)
            )
            if final is not None:
                end = first + steps
                past = [_runs(task, end) - _runs(task, first) for task in loop.tasks]
                rest = [a[..., k:, :] for a, k in zip(signals, past, strict=True)]
                record = self._record(arms, final, 1)
                loop.run(self.x[arms].copy(), end, 1, Given(rest, numbers), record)

    def advance_short(self, loop: Loop, first: int, h: float, row: np.ndarray) -> None:
        """Let one step of length h pass, shorter than dt; `row` is given its state."""
        s, m = self.s, self.assembly
        constants = m.constants(s, h)
        for arms in self._arms_at_a_time():
            signals = self._signals(arms, first, 1)
            signals[-1] = m.plant_rows(s, np.array([s.dt * first]), h)
            numbers = [c[arms] if c.ndim == 2 else c for c in constants]
            loop.run(self.x[arms], first, 1, Given(signals, numbers), self._record(arms, row, 1))

    @property
    def _noise_per_arm(self) -> bool:
        return self.s.sensors.noisy and self.assembly.computes

    def _arms_at_a_time(self) -> Iterator[slice]:
        """All of them; a few where each has signals of its own, which take memory."""
        count = max(len(self.x), 1)
        group = GROUP if self._noise_per_arm and self.s.device is None else count
        return (slice(start, start + group) for start in range(0, len(self.x), group))

    def _signals(self, arms: slice, first: int, steps: int) -> list[np.ndarray]:
        numbers = self.s.start.arm_numbers[arms] if self._noise_per_arm else None
        return self.assembly.signals_of(self.s, first, steps, numbers)

    def _record(self, arms: slice, rows: np.ndarray | None, every: int) -> Record:
        if rows is None:
            return Record(np.zeros((len(self.x[arms]), 1, 0)), 0, NEVER)
        return Record(rows[arms], self.assembly.slots.integrated, every)

    def sample(self, t: float, number: int) -> None:
        """Run the control computer at a time, as its sample of that number.

        For controllers that are Python functions, and between steps of any length.
        """
        s, m = self.s, self.assembly
        arms = s.start.arm_numbers if s.sensors.noisy else [0]
        rows = np.concatenate([m.computer_rows(s, np.array([t]), number, arm) for arm in arms])
        row = rows if len(rows) > 1 else rows[0]
        constants = m.computer_constants(s)
        if compiling():
            code = m.computer_task.code(s.count)
            x = run_code(code, [self.x, row, constants], ("x", "signal", "constants"))
        else:
            x = m.computer_task.evaluated(self.x, row, constants)
        self.x[...] = x
        if s.function is not None and s.sampled:
            tau = finite_torque(s, t, self.part("measured_q"), self.part("measured_qd"))
            self.part("computed")[...] = tau
            if s.delay == 0:
                self.part("command")[:, s.driven] = tau

    def latch(self, step: int) -> None:
        """Let what was computed begin to act, if its delay is over at a step."""
        s = self.s
        if s.delay and step % s.period == s.delay % s.period:
            self.part("command")[:, s.driven] = self.part("computed")

    def plant_alone(self, t: float, h: float, row: np.ndarray) -> None:
        """Let one step of the arm pass from t on, at no sample; `row` is given what acts at t."""
        s, m = self.s, self.assembly
        given = Given([m.plant_rows(s, np.array([t]), h)], [m.plant_constants(s, h)])
        record = Record(row, m.slots.integrated, 1)
        loop_of([m.plant_task], s).run(self.x, 0, 1, given, record)

    def copied(self) -> "Simulation":
        """It with a state of its own, to look at an instant and stay there."""
        return Simulation(self.s, self.assembly, self.x.copy())


def _runs(task: Task, step: int) -> int:
    """How often a task has run before a step."""
    return (step - 1 - task.phase) // task.period + 1


def _row(step: int, every: int) -> int:
    """The first row that is kept at a step or after it."""
    return -(-step // every)


# without functions of Python as controllers


def fixed_steps(sim: Simulation, loop: Loop, recorder: RunRecorder) -> None:
    """Every task by the loop itself, in steps of one length: machine code, a GPU, or Python."""
    s, span = sim.s, sim.s.span
    chunk = _steps_at_a_time(sim, loop)
    with stage(f"simulating {s.robot.name}", span.steps, s.options.progress) as progress:
        for done in range(0, span.steps, chunk):
            steps = min(chunk, span.steps - done)
            last = done + steps == span.steps and not span.short
            upto = len(recorder.t) if last else _row(done + steps, span.save_every)
            again = _every_step(sim, loop, done, steps)
            _advance_recorded(sim, loop, recorder, done, steps, last)
            progress(done + steps)
            if not recorder.accept(upto, again):
                return
    if span.short:
        _short_end(sim, loop, recorder)
        recorder.accept(len(recorder.t))


def _every_step(sim: Simulation, loop: Loop, done: int, steps: int) -> Again | None:
    """A function that takes the next steps of one arm again, for the state at every one of them;
    None where the rows hold these states, and on GPUs."""
    s = sim.s
    if s.span.save_every == 1 or s.start.shape != () or s.device is not None:
        return None
    start, first = sim.copied(), s.span.first + done

    def again() -> tuple[np.ndarray, np.ndarray]:
        states = np.zeros((1, steps + 1, start.x.shape[1]), s.options.dtype)
        start.advance(loop, first, steps, states[:, :-1], 1, states[:, -1:])
        return s.dt * (first + np.arange(steps + 1)), states[0]

    return again


def _steps_at_a_time(sim: Simulation, loop: Loop) -> int:
    """Steps between looks at what was recorded."""
    s = sim.s
    if not isinstance(loop, (MachineLoop, PythonLoop)):
        return loop.chunk(s, sim.assembly, s.span.steps)
    chunk = CHUNK if isinstance(loop, MachineLoop) else SLOW_CHUNK
    return max(1, chunk // max(1, s.count // 256))


def _advance_recorded(
    sim: Simulation, loop: Loop, recorder: RunRecorder, done: int, steps: int, last: bool
) -> None:
    """Steps of a run after those `done`, into its rows; `last`: and the instant after them."""
    s, span = sim.s, sim.s.span
    first, every = span.first + done, span.save_every
    rows = recorder.rows[:, _row(done, every) : _row(done + steps, every)]
    final = recorder.rows[:, -1:] if last else None
    if last and every == 1 and recorder.kept == sim.x.shape[1] and not s.start.resident:
        # One call for the steps and the instant after them, which is a step more. All numbers are
        # kept, so the rows hold the state at that instant: what is integrated stands in its own
        # row, from before that step, what acts in the row before.
        rows = recorder.rows[:, done:]
        sim.advance(loop, first, steps + 1, rows)
        early = sim.assembly.slots.integrated
        sim.x[:, :early], sim.x[:, early:] = rows[:, -1, :early], rows[:, -2, early:]
    elif span.first % every == 0:
        sim.advance(loop, first, steps, rows, every, final)
    else:  # rows count from where the run began, the loop from the start of the simulation
        states = np.zeros((s.count, steps, rows.shape[2]), s.options.dtype)
        sim.advance(loop, first, steps, states, 1, final)
        rows[...] = like(rows, states[:, -done % every :: every])


def _short_end(sim: Simulation, loop: Loop, recorder: RunRecorder) -> None:
    """The short step that is left after the whole ones, and the last instant."""
    s, span = sim.s, sim.s.span
    row = np.zeros((s.count, 1, recorder.kept), s.options.dtype)
    sim.advance_short(loop, span.first + span.steps, span.short, row)
    if span.steps % span.save_every == 0:
        recorder.rows[:, [span.steps // span.save_every]] = like(recorder.rows, row)
    sim.copied().plant_alone(span.end, span.short, recorder.rows[:, -1:])


# Python functions as controllers


def torque_of(s: Settings, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Torques of the user's function, (count, n); one arm is given vectors."""
    one, n = s.start.shape == (), len(s.driven)
    shape = (n,) if one else (*s.start.shape, n)
    given = s.function(t, q.reshape(shape).copy(), qd.reshape(shape).copy())  # type: ignore[misc]
    what = f"controller{location(s.function)}"
    tau = returned(given, f"{what} at t = {t:g} s")
    if tau.shape not in (shape, (n,)):
        hint = None if one else f"q and qd of an ensemble have shape {shape}: q[..., 0] is joint 1"
        raise ShapeError(
            f"{what} returned shape {tau.shape} at t = {t:g} s, expected {shape}: one torque per "
            "joint",
            hint,
        )
    refuse_passive(s.robot, tau, f"{what} at t = {t:g} s")
    return np.broadcast_to(tau, shape).reshape(q.shape)


def finite_torque(s: Settings, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Torques of the user's function; where the state is plausible they must be finite."""
    tau = torque_of(s, t, q, qd)
    bad = ~np.isfinite(tau)
    if bad.any():
        with np.errstate(invalid="ignore"):
            bad &= ((np.abs(q) < PLAUSIBLE) & (np.abs(qd) < PLAUSIBLE)).all(axis=-1, keepdims=True)
        if bad.any():
            raise OptionError(
                f"controller{location(s.function)} returned {tau[bad][0]} at t = {t:g} s, expected "
                "finite numbers"
            )
    return tau


def by_samples(sim: Simulation, loop: Loop, recorder: RunRecorder) -> None:
    """A Python function as controller at its sample time; the arm in machine code in between."""
    s, m, span = sim.s, sim.assembly, sim.s.span
    constants = [m.plant_constants(s, s.dt)]

    def arm(first: int, end: int) -> None:
        """Steps of the arm under the torques it has."""
        if end > first:
            rows = recorder.rows[:, _row(first, span.save_every) : _row(end, span.save_every)]
            given = Given([m.plant_signal(s, first, end - first)], constants)
            record = Record(rows, m.slots.integrated, span.save_every)
            loop.run(sim.x, first, end - first, given, record)

    with stage(f"simulating {s.robot.name}", span.steps, s.options.progress) as progress:
        for k in range(0, span.steps, s.period):
            sim.latch(k)
            sim.sample(k * s.dt, k // s.period)
            end = min(k + s.period, span.steps)
            acts = min(k + s.delay, end) if s.delay < s.period else end  # what was computed now
            arm(k, acts)
            if acts < end:
                sim.latch(acts)
                arm(acts, end)
            progress(end)
            if not recorder.accept(_row(end, span.save_every)):
                return
    _end_of_samples(sim, recorder)


def _end_of_samples(sim: Simulation, recorder: RunRecorder) -> None:
    """What happens after the whole steps: a sample, a short step, what acts at the end."""
    s, span = sim.s, sim.s.span
    row = np.zeros((s.count, 1, recorder.kept))
    sim.latch(span.steps)
    if span.steps % s.period == 0:
        sim.sample(span.steps * s.dt, span.steps // s.period)
    if span.short:
        sim.plant_alone(span.steps * s.dt, span.short, row)
        if span.steps % span.save_every == 0:
            recorder.rows[:, [span.steps // span.save_every]] = row
    end = span.duration if span.short else span.steps * s.dt
    sim.copied().plant_alone(end, span.short or s.dt, row)
    recorder.rows[:, -1:] = row
    recorder.accept(len(recorder.t))
