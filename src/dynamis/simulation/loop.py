"""Runs tasks step after step: in machine code, or in Python over arrays."""

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..compile.arrays import run as run_code
from ..compile.libraries import like
from ..compile.service import compiling, digest, share, stored, thread_count
from ..control.law import PLAUSIBLE
from ..errors import OptionError, ShapeError
from ..lazy import LOCK
from ..progress import bar
from ..user_code import location
from .adaptive import SHORTEST, LeftError, TooShortError, adaptive_steps
from .assembly import Assembly
from .record import Recorder
from .settings import Settings
from .signals import returned
from .stages import Torque
from .tasks import Task

GROUP = 64  # members that stay in the processor's cache together
NEVER = 2**62  # steps between rows that are kept


@cache
def _machine_loop(dtype: str) -> Any:
    from ..compile.elementary import REALS
    from ..compile.llvm_loop import NAME, loop_module

    with LOCK:
        from ..compile.machine import Loaded, object_code

        ir = loop_module(REALS[dtype].name)
        loaded = Loaded(stored(digest(NAME, dtype), lambda: object_code(ir), "the simulation"))
    integer, pointer = ctypes.c_int64, ctypes.c_void_p
    kinds = [integer] * 4 + [pointer] * 9 + [integer] * 4 + [pointer, integer]
    return ctypes.CFUNCTYPE(None, *kinds)(loaded.address(NAME)), loaded


class Given(NamedTuple):
    """What the tasks of a loop are given, one of each per task."""

    signals: Sequence[np.ndarray]  # a row every time the task runs; on a GPU also (arms, rows, ..)
    constants: Sequence[np.ndarray]

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

    def __init__(self, tasks: Sequence[Task], s: Settings):
        self.tasks, self.threads, self.dtype = list(tasks), s.threads, np.dtype(s.dtype)
        self.codes = [task.code(s.count, s.dtype) for task in tasks]
        self._call, self._keep = _machine_loop(s.dtype)
        self._functions = (ctypes.c_void_p * len(tasks))(*(c.batch for c in self.codes))
        self._periods = (ctypes.c_int64 * len(tasks))(*(t.period for t in tasks))
        self._phases = (ctypes.c_int64 * len(tasks))(*(t.phase for t in tasks))
        self._rows = (ctypes.c_int64 * len(tasks))(*(t.signals for t in tasks))
        pairs = zip(self.codes, self.tasks, strict=True)
        self.operations = sum(c.operations / t.period for c, t in pairs)  # of one step

    def run(self, x: np.ndarray, first: int, steps: int, given: Given, record: Record) -> None:
        """Steps first .. first + steps - 1 of the members x (count, size)."""
        (signals, constants), (saved, early, every) = given.of(self.dtype), record
        count, tasks, item = len(x), len(self.tasks), self.dtype.itemsize
        threads = min(thread_count(self.threads, int(self.operations * steps) + 1, count), count)
        per = max(1, min(GROUP, -(-count // threads)))
        size, kept, member = x.shape[1], saved.shape[2], saved.strides[0]
        given_rows = [s.ctypes.data for s in signals]
        apart = [s.strides[0] // item if s.ndim == 3 else 0 for s in signals]  # a row per member
        between = (ctypes.c_int64 * tasks)(*apart)
        wide = [c.shape[1] if c.ndim == 2 else 0 for c in constants]
        strides, numbers = (ctypes.c_int64 * tasks)(*wide), [c.ctypes.data for c in constants]
        states, target = x.ctypes.data, saved.ctypes.data

        def span(a: int, b: int) -> None:
            own = [at + item * a * w for at, w in zip(numbers, wide, strict=True)]
            rows = [at + item * a * w for at, w in zip(given_rows, apart, strict=True)]
            self._call(
                b - a, first, steps, tasks, self._functions, self._periods, self._phases,
                states + item * a * size, (ctypes.c_void_p * tasks)(*rows), self._rows, between,
                (ctypes.c_void_p * tasks)(*own), strides, size, early, kept, every,
                target + a * member, member // item,
            )  # fmt: skip

        share(span, pairwise([*range(0, count, per), count]), threads)

    def repeated(self, x: np.ndarray, constant: np.ndarray) -> Any:
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

    def __init__(self, tasks: Sequence[Task], s: Settings):
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


# ways through time: in machine code, by samples, by stages, by steps of any length
#
# Each takes the settings of a run, the assembly, a loop, the state x and a recorder.

CHUNK = 4096  # steps between looks at the clock, at the events and at the numbers
SLOW_CHUNK = 64


def loop_of(tasks: Sequence[Task], s: Settings) -> Any:
    """On a GPU if one was asked for; machine code where there is any; else Python."""
    if s.device is not None:
        from .device import DeviceLoop

        return DeviceLoop(tasks, s)
    return (MachineLoop if compiling() else PythonLoop)(tasks, s)


def advance(
    s: Settings, m: Assembly, loop: Any, x: np.ndarray, first: int, steps: int,
    saved: np.ndarray | None, every: int, h: float | None = None, final: np.ndarray | None = None,
    constants: Sequence[np.ndarray] | None = None,
) -> None:  # fmt: skip
    """Steps of all members at once; a few at a time where each has noise of its own.

    Without `saved` nothing is kept. `final` is given the row of the instant after the last step,
    with what acts there, while x stays at that instant. `constants` are those of the tasks.
    """
    early, constants = m.slots.integrated, m.constants(s, h) if constants is None else constants
    record = Record(np.zeros((len(x), 1, 0)), 0, NEVER)
    if saved is not None:
        record = Record(saved, early, every)
    own = s.sensors.noisy and m.computes  # noise of every arm
    few = GROUP if own and s.device is None else max(len(x), 1)
    for start in range(0, len(x), few):
        part, count = slice(start, start + few), steps + (final is not None)
        signals = m.signals_of(s, first, count, s.arm_numbers[part] if own else None)
        if h is not None:
            signals[-1] = m.plant_rows(s, np.array([s.dt * first]), h)
        numbers = [c[part] if c.ndim == 2 else c for c in constants]
        if steps:
            rows = record._replace(rows=record.rows[part])
            loop.run(x[part], first, steps, Given(signals, numbers), rows)
        if final is not None:
            end = first + steps
            past = [_runs(task, end) - _runs(task, first) for task in loop.tasks]
            rest = [rows[..., k:, :] for rows, k in zip(signals, past, strict=True)]
            loop.run(x[part].copy(), end, 1, Given(rest, numbers), Record(final[part], early, 1))


def _runs(task: Task, step: int) -> int:
    """How often a task has run before a step."""
    return (step - 1 - task.phase) // task.period + 1


def in_machine_code(s: Settings, m: Assembly, loop: Any, x: np.ndarray, recorder: Recorder) -> None:
    """Everything compiled, step after step."""
    if s.device is not None:
        chunk = loop.chunk(s, m, s.steps)
    else:
        chunk = CHUNK if isinstance(loop, MachineLoop) else SLOW_CHUNK
        chunk = max(1, chunk // max(1, s.count // 256))
    with bar(f"simulating {s.robot.name}", s.steps, s.progress) as progress:
        for done in range(0, s.steps, chunk):
            steps = min(chunk, s.steps - done)
            row, upto = -(-done // s.save_every), -(-(done + steps) // s.save_every)
            rows = recorder.rows[:, row:upto]
            final = None if s.short or done + steps < s.steps else recorder.rows[:, -1:]
            if s.first % s.save_every == 0:
                advance(s, m, loop, x, s.first + done, steps, rows, s.save_every, None, final)
            else:
                _unaligned(s, m, loop, x, done, steps, rows, final)
            progress(done + steps)
            if not recorder.fine(upto if final is None else len(recorder.t)):
                return
    if s.short:
        _short(s, m, loop, x, recorder)
        recorder.fine(len(recorder.t))


def _unaligned(
    s: Settings, m: Assembly, loop: Any, x: np.ndarray, done: int, steps: int, rows: np.ndarray,
    final: np.ndarray | None,
) -> None:  # fmt: skip
    """Rows every so many steps from where a run began; the loop counts from the start."""
    every = np.zeros((s.count, steps, rows.shape[2]), s.dtype)
    advance(s, m, loop, x, s.first + done, steps, every, 1, None, final)
    rows[...] = like(rows, every[:, -done % s.save_every :: s.save_every])


def _short(s: Settings, m: Assembly, loop: Any, x: np.ndarray, recorder: Recorder) -> None:
    """The short step that is left after the whole ones, and the last instant."""
    final = np.zeros((s.count, 1, recorder.kept), s.dtype)
    advance(s, m, loop, x, s.first + s.steps, 1, final, 1, s.short)
    if s.steps % s.save_every == 0:
        recorder.rows[:, [s.steps // s.save_every]] = like(recorder.rows, final)
    _plant_alone(s, m, x.copy(), s.end, s.short, recorder.rows[:, -1:])


def _plant_alone(
    s: Settings, m: Assembly, y: np.ndarray, t: float, h: float, final: np.ndarray
) -> None:
    """What acts at an instant that is no sample."""
    signal, numbers = m.plant_rows(s, np.array([t]), h), m.plant_constants(s, h)
    loop = loop_of([m.plant_task], s)
    loop.run(y, 0, 1, Given([signal], [numbers]), Record(final, m.slots.integrated, 1))


def _sampled(s: Settings, m: Assembly, x: np.ndarray, t: float, sample: int) -> np.ndarray:
    """The computer's sample when a Python function is the controller, or between free steps."""
    arms = s.arm_numbers if s.sensors.noisy else [0]
    rows = np.concatenate([m.computer_rows(s, np.array([t]), sample, arm) for arm in arms])
    row = rows if len(rows) > 1 else rows[0]
    constants = m.computer_constants(s)
    if compiling():
        code = m.computer_task.code(s.count)
        x = run_code(code, [x, row, constants], ("x", "signal", "constants"))
    else:
        x = m.computer_task.evaluated(x, row, constants)
    if s.function is not None and s.sampled:
        q, qd = (m.slots.part(x, name) for name in ("measured_q", "measured_qd"))
        tau = asked_firmly(s, t, q, qd)
        m.slots.part(x, "computed")[...] = tau
        if s.delay == 0:
            m.slots.part(x, "command")[:, s.driven] = tau
    return x


def asked(s: Settings, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Torques of the user's function, (count, n); one arm is given vectors."""
    one, n = s.shape == (), len(s.driven)
    shape = (n,) if one else (*s.shape, n)
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
    return np.broadcast_to(tau, shape).reshape(q.shape)


def asked_firmly(s: Settings, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Torques of the user's function; where the state is plausible they must be finite."""
    tau = asked(s, t, q, qd)
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


def _at_stages(s: Settings, ask: Callable[..., np.ndarray]) -> Torque:
    """The user's function of the joints it drives as torques of all joints."""

    def torque(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = np.zeros(q.shape)
        tau[:, s.driven] = ask(s, t, q[:, s.driven], qd[:, s.driven])
        return tau

    return torque


def _latched(s: Settings, m: Assembly, x: np.ndarray, k: int) -> np.ndarray:
    """What was computed begins to act, if the delay is over at step k."""
    if s.delay and k % s.period == s.delay % s.period:
        m.slots.part(x, "command")[:, s.driven] = m.slots.part(x, "computed")
    return x


def by_samples(s: Settings, m: Assembly, loop: Any, x: np.ndarray, recorder: Recorder) -> None:
    """A Python function as controller at its sample time; the arm in machine code in between."""
    constants, early = [m.plant_constants(s, s.dt)], m.slots.integrated
    final = np.zeros((s.count, 1, recorder.kept))

    def go(first: int, last: int) -> None:
        if last > first:
            row, upto = -(-first // s.save_every), -(-last // s.save_every)
            rows = recorder.rows[:, row:upto]
            given = Given([m.plant_signal(s, first, last - first)], constants)
            loop.run(x, first, last - first, given, Record(rows, early, s.save_every))

    with bar(f"simulating {s.robot.name}", s.steps, s.progress) as progress:
        for k in range(0, s.steps, s.period):
            x[...] = _sampled(s, m, _latched(s, m, x, k), k * s.dt, k // s.period)
            end = min(k + s.period, s.steps)
            middle = min(k + s.delay, end) if s.delay < s.period else end
            go(k, middle)
            if middle < end:
                _latched(s, m, x, middle)
                go(middle, end)
            progress(end)
            if not recorder.fine(-(-end // s.save_every)):
                return
    _latched(s, m, x, s.steps)
    if s.steps % s.period == 0:
        x[...] = _sampled(s, m, x, s.steps * s.dt, s.steps // s.period)
    if s.short:
        _plant_alone(s, m, x, s.steps * s.dt, s.short, final)
        if s.steps % s.save_every == 0:
            recorder.rows[:, [s.steps // s.save_every]] = final
    end = s.duration if s.short else s.steps * s.dt
    _plant_alone(s, m, x.copy(), end, s.short or s.dt, final)
    recorder.rows[:, -1:] = final
    recorder.fine(len(recorder.t))


def by_stages(s: Settings, m: Assembly, loop: Any, x: np.ndarray, recorder: Recorder) -> None:
    """A Python function asked at every stage of the integrator; an observer at its samples."""
    stages, torque = m.stages(s), _at_stages(s, asked_firmly)
    ends = [*(s.dt * np.arange(1, s.steps + 1)), *([s.duration] if s.short else [])]
    t, row = 0.0, 0
    with bar(f"simulating {s.robot.name}", len(ends), s.progress) as progress:
        for k, end in enumerate(ends):
            if m.computes and k % s.period == 0:
                x = _sampled(s, m, x, t, k // s.period)
            start, stop, _ = stages.step(x, t, end - t, s.tableau, m.forces_at, torque)
            if k % s.save_every == 0:
                recorder.put(row, start)
                recorder.filled, row = row, row + 1
                if not recorder.fine(row):
                    return
            x = stages.finish(start, stop, end - t)
            t = float(end)
            progress(k + 1)
    if m.computes and s.steps % s.period == 0 and not s.short:
        x = _sampled(s, m, x, t, s.steps // s.period)
    m.slots.part(x, "command")[...] = torque(t, m.slots.part(x, "q"), m.slots.part(x, "qd"))
    last = stages.call("begin", x, np.concatenate([[t], m.forces_at(t, t)]), s.dt)
    recorder.rows[:, -1] = last[:, : recorder.kept]
    recorder.fine(len(recorder.t))


def adaptive(s: Settings, m: Assembly, loop: Any, x: np.ndarray, recorder: Recorder) -> None:
    """Steps of their own length, ended at every control sample and every event of friction."""
    stages, torque = m.stages(s), _at_stages(s, asked)
    continuous = s.function is not None and not s.sampled
    every = 1 if s.stepwise else s.period  # steps between instants that none may cross
    breaks = np.zeros(0)
    if m.computes or s.stepwise:
        breaks = s.dt * np.arange(0, math.floor(s.duration / s.dt + 1e-9) + 1, every)

    def at_break(k: int, state: np.ndarray) -> np.ndarray:
        if not m.computes or k * every % s.period:
            return state
        return _sampled(s, m, state, float(breaks[k]), k * every // s.period)

    if s.delay:
        raise OptionError("delay needs steps of one length", 'use integrator="rk4"')
    with bar(f"simulating {s.robot.name}", len(recorder.t), s.progress) as progress:

        def record(k: int, state: np.ndarray) -> None:
            recorder.rows[:, k] = state[:, : recorder.kept]
            progress(k + 1)
            if not recorder.ended and not recorder.fine(k + 1):
                raise StopIteration

        try:
            adaptive_steps(
                stages, x, recorder.t, s.tableau, s.tolerance, m.forces_at,
                torque if continuous else None, record, s.duration / 10.0, breaks, at_break,
            )  # fmt: skip
        except TooShortError as short:
            if continuous:
                at, state = short.args
                beyond = at + 10.0 * SHORTEST * s.duration  # where the last attempts looked
                firmly = _at_stages(s, asked_firmly)
                for then in (at, beyond):
                    firmly(then, m.slots.part(state, "q"), m.slots.part(state, "qd"))
            recorder.give_up(recorder.filled, short.args[0])
        except LeftError as left:
            recorder.diverge(recorder.filled, left.args[0])
        except StopIteration:
            return
