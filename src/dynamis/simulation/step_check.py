"""Whether the step of a run was short enough: parts of the run again, in half steps.

Three looks, each only where the one before leaves a doubt:

    resolved    runs of few steps: velocities lead to positions by the trapezoidal rule
    local       some steps again, each as a whole and as two halves: local errors, added up
    global      the run again in half steps (of a long run: parts of it); Richardson's estimate
                e = |q_h - q_h/2| 2^p / (2^p - 1) holds what the motion makes of local errors

Functions as controllers are not called again, for they may have a state of their own: of their
runs the sum of local errors is known, under the torques that acted.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..model.check.finding import Finding
from .assembly import Assembly
from .loop import NEVER, Given, Loop, Record, Simulation, in_parts
from .settings import SLACK, Settings, changed
from .stages import stages_of

if TYPE_CHECKING:
    from ..robot import Robot
    from .record import RunRecorder
    from .run import Run

SHARE = 0.01  # of the range of a joint's motion: an error to warn of
LEAST = 1e-3  # rad or m: the smallest error to warn of, however small the range
FEW = 50  # steps of a run that is looked at by the trapezoidal rule first
FEWEST, MOST, APART = 12, 64, 80  # steps taken again: how many, and one of how many
DOUBT = 1e-3  # of an error to warn of: what local errors may have grown from
SETTLING = 0.1  # s, within which a function as controller corrects an error of velocity
WHOLE = 4000  # steps of a run that is done again as a whole
PARTS, PART = 0.06, 1000  # of a longer run: the share that is done again, steps of each part
LOST = 0.1  # of the range: larger errors do not shrink with the order of the method
FINEST, LONGEST = 64, 20_000  # of the search for a step: parts of the run's own, steps in all
DIGITS = (5.0, 2.0, 1.0)  # of a step that is proposed


class StepError(NamedTuple):
    """The position error of a joint that a step was too coarse for, and a step that would do."""

    joint: int
    error: float  # rad or m, the largest
    t: float  # when it is reached
    at_least: bool  # it was estimated from less than the whole run
    dt: float  # of the run
    needed: float  # that would do
    sample_time: float | None  # to be given with it, so that the samples of the law stay

    def finding(self, robot: "Robot") -> Finding:
        """The error in words."""
        unit = "rad" if robot.joint_kinds[self.joint] == "revolute" else "m"
        about = "at least" if self.at_least else "about"
        what = (
            f"steps of {self.dt:g} s are too coarse, its position is wrong by {about} "
            f"{self.error:.2g} {unit} at t = {self.t:.4g} s"
        )
        samples = "" if self.sample_time is None else f", sample_time={self.sample_time:g}"
        remedy = f"use dt={self.needed:g}{samples}"
        return Finding("error", f"joint {robot.joint_names[self.joint]!r}", what, remedy)


class Loops(NamedTuple):
    """The loops of a simulation, made when they are asked for."""

    tasks: Callable[[], Loop]
    plant: Callable[[], Loop]  # the arm alone


class Span(NamedTuple):
    """Rows first .. last of a run, and the state (1, size) at the first."""

    first: int
    last: int
    x: np.ndarray


@dataclass
class StepCheck:
    """Rows of the states of one arm, kept of a run to look at its step.

    `rows` (3, K, kept) are those at the steps `first + every * at`, each with the row before and
    the row after it; `start` (1, size) is the state before the first step.
    """

    s: Settings
    assembly: Assembly
    loops: Loops
    every: int  # steps from one row of the run to the next
    member: int  # the arm of an ensemble, counted without its axes
    at: np.ndarray
    rows: np.ndarray
    start: np.ndarray

    def error(self, run: "Run") -> StepError | None:
        """The error of a run whose step was too coarse; None if it was not."""
        s, n, span = self.s, self.s.n, self.s.dt * self.every
        rows = int((run.t[-1] - run.t[0]) / span + SLACK) if len(run.t) else 0
        if rows < 1:
            return None
        q, qd = (x.reshape(-1, *x.shape[-2:])[self.member, : rows + 1] for x in (run.q, run.qd))
        if not np.isfinite(q[-1]).all():
            return None
        if rows * self.every < FEW and _resolved(q, qd, span):
            return None
        if self._unsteady():
            return None
        of_function = s.function is not None
        local = self._local(rows * self.every)
        total = local[:n] + min(s.duration, SETTLING if of_function else math.inf) * local[n:]
        if (total <= DOUBT * LEAST).all():
            return None
        moved = np.ptp(np.ascontiguousarray(q.T), axis=1)
        rounding = 4.0 * np.finfo(q.dtype).eps * rows * self.every * np.abs(q).max(axis=0)
        limit = np.maximum(SHARE * moved, np.maximum(LEAST, rounding))
        if of_function:
            known = s.dt, np.nan_to_num(total, nan=np.inf)
            return self._worded(np.fmin(total, moved), limit, run.t[rows], True, known)
        return None if (total <= DOUBT * limit).all() else self._global(run.t, q, limit)

    # local errors

    def _unsteady(self) -> bool:
        """Whether a force over time is another one when it is asked again: a random one, say."""
        t, forces = self.s.dt * self.at, self.assembly.forces
        return bool(self.s.forces) and not np.array_equal(forces(t, t), forces(t, t))

    def _local(self, steps: int) -> np.ndarray:
        """Local errors of positions and velocities, (2 n,), added up over the steps.

        The largest one counts once: a reversal or an impact is one step, not one of many.
        """
        s = self.s
        again = self._by_stages if s.function is not None and not s.sampled else self._by_plant
        known = again == self._by_plant and s.save_every == 1  # the row after is a step later
        whole = self.rows[2] if known else again(1)
        off = np.abs(whole[:, : 2 * s.n] - again(2)[:, : 2 * s.n])
        off = off / (1.0 - 0.5**s.tableau.order)
        largest = off.max(axis=0)
        return largest + (off.sum(axis=0) - largest) * (steps / len(off))

    @property
    def _acting(self) -> np.ndarray:
        """The states (K, size) at the rows, with the torques and directions that acted there."""
        m, now = self.assembly, self.rows[1]
        kept, size = now.shape[1], self.start.shape[1]
        if kept == size:
            return now.copy()
        x = np.repeat(self.start, len(now), axis=0)
        x[:, :kept] = now
        if m.computes:  # arms of an ensemble keep no commands
            m.slots.part(x, "command")[...] = m.slots.part(x, "tau")
        return x

    def _by_plant(self, parts: int) -> np.ndarray:
        """The states a step later, in so many parts, under the torques that acted."""
        s, m, x = self.s, self.assembly, self._acting
        h, t = s.dt / parts, s.dt * (s.first + s.save_every * self.at)
        rows = np.stack([m.plant_rows(s, t + k * h, h) for k in range(parts)], axis=1)
        given = Given([rows], [m.plant_constants(s, h).reshape(-1)])
        record = Record(np.zeros((len(x), 1, 0), x.dtype), 0, NEVER)
        self.loops.plant().run(x, 0, parts, given, record)
        return x

    def _by_stages(self, parts: int) -> np.ndarray:
        """The same where a function was asked at every stage: its torques vary linearly."""
        s, m, found, states = self.s, self.assembly, [], self._acting
        stages = stages_of(Simulation(s, m, states[:1]))
        h, apart = s.dt / parts, s.dt * s.save_every
        now, later = m.slots.part(self.rows[1:], "command")
        for k, x, u, v in zip(self.at, states, now, later, strict=True):
            begin = s.dt * s.save_every * float(k)

            def torque(
                t: float, q: Any, qd: Any, begin: float = begin, u: Any = u, v: Any = v
            ) -> np.ndarray:
                return (u + (t - begin) / apart * (v - u))[None]

            y = x[None]
            for part in range(parts):
                t = begin + part * h
                start, end, _ = stages.step(y, t, h, s.tableau, m.forces_at, torque)
                y = stages.finish(start, end, h)
            found.append(y[0])
        return np.array(found)

    # the run again

    def _global(self, t: np.ndarray, q: np.ndarray, limit: np.ndarray) -> StepError | None:
        """The error of the run next to half steps, and a step that would do, found by halving."""
        s, spans = self.s, self._spans(len(q) - 1)
        covered = sum(span.last - span.first for span in spans)
        own = [q[span.first : span.last + 1] for span in spans]
        share = covered / (len(q) - 1)

        def apart(a: Sequence[np.ndarray], b: Sequence[np.ndarray], ratio: float) -> np.ndarray:
            """The error of a, next to b whose steps are so many times as fine."""
            pairs = zip(a, b, strict=True)
            worst = sum(np.abs(x - y).max(axis=0) for x, y in pairs) / share
            return np.where(np.isfinite(worst), worst, np.inf) / (1.0 - ratio**-s.tableau.order)

        if s.forces:  # they may have changed since, or have a state of their own
            same = (np.array_equal(self._again(x, 1), y) for x, y in zip(spans, own, strict=True))
            if not all(same):
                return None
        parts, fine = 2, [self._again(span, 2) for span in spans]
        error = last = apart(own, fine, 2.0)
        if not (error > limit).any():
            return None
        while (last > limit * LOST / SHARE).any() and 2 * parts <= FINEST:
            if 2 * parts * covered * self.every > LONGEST:
                break
            coarse, parts = fine, 2 * parts
            fine = [self._again(span, parts) for span in spans]
            error, last = apart(own, fine, parts), apart(coarse, fine, 2.0)
        joint = int(np.argmax(error / limit))
        when = t[-1]
        if len(spans) == 1:
            when = t[np.nan_to_num(np.abs(own[0] - fine[0])[:, joint], nan=np.inf).argmax()]
        partly = covered < len(q) - 1
        return self._worded(error, limit, when, partly, (2.0 * s.dt / parts, last))

    def _spans(self, rows: int) -> list[Span]:
        """The whole run; of a long one parts that are spread over it, where states are known."""
        if rows * self.every <= WHOLE:
            return [Span(0, rows, self.start)]
        if self.every > 1 or self.rows.shape[2] < self.start.shape[1]:
            return [Span(0, WHOLE // self.every, self.start)]
        # what is integrated stands in the row itself, what acted until then in the row before
        x, early = self.rows[1].copy(), self.assembly.slots.integrated
        x[:, early:] = self.rows[0, :, early:]
        x[0] = self.start
        fit = np.flatnonzero(self.at + PART <= rows)
        count = max(WHOLE, int(PARTS * rows)) // PART
        chosen = fit[np.unique(np.linspace(0, len(fit) - 1, count).astype(int))]
        return [Span(int(self.at[k]), int(self.at[k]) + PART, x[k : k + 1]) for k in chosen]

    def _again(self, span: Span, parts: int) -> np.ndarray:
        """Positions of the rows of a span, (rows, n), each step in so many parts."""
        s, m, every, x = self.s, self.assembly, self.every, span.x.copy()
        finer = changed(s, dt=s.dt / parts, period=parts * s.period, delay=parts * s.delay)
        steps = (span.last - span.first) * every
        rows = np.zeros((1, steps, m.slots.integrated), x.dtype)
        first, loop = (s.first + span.first * every) * parts, in_parts(self.loops.tasks(), parts)
        Simulation(finer, m, x).advance(loop, first, steps * parts, rows, parts)
        return np.concatenate([rows[0, ::every, : s.n], x[:, : s.n]])

    # in words

    def _worded(
        self, error: np.ndarray, limit: np.ndarray, t: float, partly: bool,
        known: tuple[float, np.ndarray],
    ) -> StepError | None:  # fmt: skip
        """The worst joint, and a step for it from the error that is `known` of another step."""
        if not (error > limit).any():
            return None
        s, joint = self.s, int(np.argmax(error / limit))
        order = min(s.tableau.order, 2) if any(self.assembly.plant.holds) else s.tableau.order
        dt, errors = known
        excess = min(2.0 * float((errors / limit).max()), 1e300)
        most = min(dt * excess ** (-1.0 / order), 0.5 * s.dt)
        sampled = s.law is not None or s.sampled
        needed = _divisor(s.sample_time, most) if sampled else _round(most)
        keep = s.sample_time if sampled and s.period == 1 else None
        return StepError(joint, float(error[joint]), float(t), partly, s.dt, needed, keep)


def step_check(recorder: "RunRecorder", x0: np.ndarray, loops: Loops) -> StepCheck | None:
    """Rows of a run from x0 (arms, size) to look at its step; None where that is not done.

    Steps that an integrator chooses hold a tolerance, and a run that diverged has said so; nothing
    is run twice on a GPU, and ensembles under a function at every stage keep too little.
    """
    s, every = recorder.s, recorder.s.save_every
    if s.tableau.adaptive or s.device is not None or not s.count:
        return None
    if s.shape == () and recorder.diverged_at is not None:
        return None
    if s.count > 1 and s.function is not None and not s.sampled:
        return None
    # the row at the end of the last whole step; an event has put its own into the last
    last = min(recorder.filled - 1 - recorder.ended, s.steps // every)
    if last < 1:
        return None
    member = 0 if s.count == 1 else _fastest(recorder.rows, s.n, last)
    near = _rows_to_keep(last, every)
    kept = recorder.rows[member][near]
    one = s if s.count == 1 else _of_arm(s, member)
    start = x0[member : member + 1].copy()
    return StepCheck(one, recorder.m, loops, every * s.thin, member, near[1], kept, start)


@lru_cache(8)
def _rows_to_keep(last: int, every: int) -> np.ndarray:
    """Numbers of rows that are spread over those before `last`, (3, K): before, at, after."""
    count = min(last, max(FEWEST, min(MOST, last * every // APART)))
    at = np.arange(count) * (last - 1) // max(1, count - 1)
    return np.stack([np.maximum(at - 1, 0), at, at + 1])


def _of_arm(s: Settings, k: int) -> Settings:
    """The settings of one arm of an ensemble."""
    names = ("q0", "qd0", "parameters", "arm_forces", "encoder_offsets")
    own = {x: getattr(s, x)[k : k + 1] for x in names if getattr(s, x) is not None}
    return changed(s, arms=np.array(s.arm_numbers[k : k + 1]), **own)


def _fastest(rows: np.ndarray, n: int, last: int) -> int:
    """The arm that moves fastest at a few instants, of those that did not diverge."""
    some = rows[:, np.linspace(0, last, min(last + 1, 9)).astype(int), n : 2 * n]
    speed = np.abs(some).max(axis=(1, 2))
    return int(np.where(np.isfinite(speed), speed, -1.0).argmax())


def _resolved(q: np.ndarray, qd: np.ndarray, h: float) -> bool:
    """Whether velocities lead from row to row by the trapezoidal rule, to a tenth of `LEAST`."""
    off = np.abs(np.diff(q, axis=0) - 0.5 * h * (qd[1:] + qd[:-1]))
    return len(off) * float(off.max()) < 0.1 * LEAST


def _round(most: float) -> float:
    """The largest number of one digit, 1, 2 or 5, up to `most`."""
    power = 10.0 ** math.floor(math.log10(most))
    digit = next(x for x in DIGITS if x * power <= most * (1.0 + SLACK))
    return float(f"{digit * power:.1g}")


def _divisor(whole: float, most: float) -> float:
    """A step up to `most` of which `whole` is a number: a round one if there is."""
    for step in (_round(most), _round(0.5 * most)):
        if abs(whole / step - round(whole / step)) <= SLACK:
            return step
    return float(f"{whole / math.ceil(whole / most):.6g}")
