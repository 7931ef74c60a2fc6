"""Whether the step of a run was short enough: parts of the run again, in half steps.

Four looks, each only where the one before leaves a doubt:

    resolved    runs of few steps: velocities lead to positions by the trapezoidal rule
    local       some steps again, each as a whole and as two halves: local errors, added up
    growth      long runs: what the motion makes of a small error, from a disturbed start
    global      the run again in half steps (of a very long run: parts of it); Richardson's estimate
                e = |q_h - q_h/2| 2^p / (2^p - 1) holds what the motion makes of local errors

Functions as controllers are not called again, for they may have a state of their own: of their
runs the sum of local errors is known, under the torques that acted.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile.service import compiling
from ..model.check.finding import Finding
from .assembly import Assembly
from .loop import CHUNK, NEVER, Given, Loop, Record, Simulation, in_parts
from .settings import SLACK, Settings, changed
from .stages import stages_of
from .tableau import round_step

if TYPE_CHECKING:
    from ..robot import Robot
    from .record import RunRecorder
    from .run import Run

SHARE = 0.01  # of the range of a joint's motion: an error to warn of
LEAST = 1e-3  # rad or m: the smallest error to warn of, however small the range
FEW = 50  # steps of a run that is looked at by the trapezoidal rule first
FEWEST, MOST, APART = 12, 64, 80  # steps taken again: how many, and one of how many
SUDDEN = 8  # steps taken again besides: those where the accelerations change most
DOUBT = 1e-3  # of an error to warn of: what local errors may have grown from
SETTLING = 0.1  # s, within which a function as controller corrects an error of velocity
LONG = 2000  # steps of a run in which the growth of a disturbance is looked at
TOGETHER, COARSE = (8, 40), 0.01  # steps taken as one there; their local error, rad or m
REPEATED, TIMES = 0.05, 2  # share of a part that is repeated there under a law; how many parts
DISTURBED = 1e4  # the disturbance, in roundings of a position
MARGIN, ENDLESS = 10.0, 1e20  # of its growth; a growth that ends where the arm cannot move farther
WHOLE = 100_000  # steps of a run that is done again as a whole
PARTS, PART = 0.06, 1000  # of a longer run: the share that is done again, steps of each part
LOST = 0.1  # of the range: larger errors do not shrink with the order of the method
FINEST, LONGEST = 1024, 200_000  # of the search for a step: parts of the run's own, steps in all


class StepError(NamedTuple):
    """The position error of a joint that a step was too coarse for, and a step that would do."""

    joint: int
    error: float  # rad or m, the largest
    t: float  # when it is reached
    at_least: bool  # it was estimated from less than the whole run
    dt: float  # of the run
    needed: float | None  # that would do; None where none was found
    sample_time: float | None  # to be given with it, so that the samples of the law stay
    right_until: float | None = None  # when all joints were right last; None where it is unknown
    tried: float | None = None  # the shortest step that was tried
    arm: tuple[int, ...] = ()  # of an ensemble

    def finding(self, robot: "Robot") -> Finding:
        """The error in words."""
        unit = "rad" if robot.joint_kinds[self.joint] == "revolute" else "m"
        about = "at least" if self.at_least else "about"
        what = (
            f"steps of {self.dt:g} s are too coarse, its position is wrong by {about} "
            f"{self.error:.2g} {unit} at t = {self.t:.4g} s"
        )
        if self.needed is None:
            what += f", and differs still in steps of {self.tried:g} s: no step is known to do"
        arm = f"arm {', '.join(map(str, self.arm))}, " if self.arm else ""
        where = f"{arm}joint {robot.joint_names[self.joint]!r}"
        return Finding("error", where, what, self.remedy("dt=", ", sample_time="))

    def remedy(self, step: str, samples: str) -> str:
        """What to do, the names of the options as they are written before their values."""
        if self.needed is not None:
            keep = "" if self.sample_time is None else f"{samples}{self.sample_time:g}"
            return f"use {step}{self.needed:g}{keep}"
        if self.right_until is None:
            return "simulate a shorter time"
        return f"rely on the run up to t = {self.right_until:.4g} s only"


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
    """Rows of the states of all arms, kept of a run to look at its step.

    `rows` (arms, 3, K, kept) are those at the steps `first + every * at`, each with the row before
    and the row after it, the last `sudden` of them chosen by accelerations; `start` (arms, size)
    is the state before the first step.
    """

    s: Settings
    assembly: Assembly
    loops: Loops
    every: int  # steps from one row of the run to the next
    at: np.ndarray
    sudden: int
    rows: np.ndarray
    start: np.ndarray

    def error(self, run: "Run") -> StepError | None:
        """The error of a run whose step was too coarse; None if it was not.

        Of an ensemble: that of the arm with the largest local errors.
        """
        s, span = self.s, self.s.dt * self.every
        rows = int((run.t[-1] - run.t[0]) / span + SLACK) if len(run.t) else 0
        if rows < 1:
            return None
        q, qd = (x.reshape(-1, *x.shape[-2:])[:, : rows + 1] for x in (run.q, run.qd))
        followed = np.isfinite(q[:, -1]).all(axis=1)
        if not followed.any() or (rows * self.every < FEW and _resolved(q, qd, span)):
            return None
        if self._unsteady():
            return None
        local = self._local(rows * self.every)
        member = int(np.where(followed, local.max(axis=1), -1.0).argmax())
        found = self.arm(member)._error(run.t, q[member], local[member])
        arm = (
            tuple(int(k) for k in np.unravel_index(member, s.start.shape)) if s.start.shape else ()
        )
        return found if found is None else found._replace(arm=arm)

    def arm(self, k: int) -> "StepCheck":
        """The check of one arm alone."""
        if self.s.count == 1:
            return self
        one = slice(k, k + 1)
        return replace(self, s=_of_arm(self.s, k), rows=self.rows[one], start=self.start[one])

    def _error(self, t: np.ndarray, q: np.ndarray, local: np.ndarray) -> StepError | None:
        """The error of one arm with positions q (rows, n) and `local` errors (2 n,)."""
        s, n, steps = self.s, self.s.n, (len(q) - 1) * self.every
        of_function = s.function is not None
        total = local[:n] + min(s.span.duration, SETTLING if of_function else math.inf) * local[n:]
        grows = steps >= LONG and not of_function
        if not grows and (total <= DOUBT * LEAST).all():
            return None
        columns = np.ascontiguousarray(q.T)
        high, low = columns.max(axis=1), columns.min(axis=1)
        moved, rounding = high - low, np.finfo(q.dtype).eps * np.maximum(high, -low)
        limit = np.maximum(SHARE * moved, np.maximum(LEAST, 4.0 * steps * rounding))
        if of_function:
            known = s.dt, np.nan_to_num(total, nan=np.inf), self._order
            return self._worded(np.fmin(total, moved), limit, (t[len(q) - 1], None), True, known)
        if not (total <= DOUBT * limit).all():
            return self._global(t, q, limit, self._spans(len(q) - 1))
        off = DISTURBED * max(float(rounding.max()), float(np.finfo(q.dtype).eps))
        lost = LOST * np.maximum(LEAST, moved)
        if grows and (MARGIN * self._growth(q, local, off, lost) * total > limit).any():
            first = Span(0, min(len(q) - 1, WHOLE // self.every), self.start)
            return self._global(t, q, limit, [first])
        return None

    @property
    def _order(self) -> int:
        """The power of the step with which errors shrink: less where friction holds joints."""
        order = self.s.tableau.order
        return min(order, 2) if any(self.assembly.plant.holds) else order

    # local errors

    def _unsteady(self) -> bool:
        """Whether a force over time is another one when it is asked again: a random one, say."""
        t, forces = self.s.dt * self.at, self.assembly.forces
        return bool(self.s.forces) and not np.array_equal(forces(t, t), forces(t, t))

    def _local(self, steps: int) -> np.ndarray:
        """Local errors of positions and velocities, (arms, 2 n), added up over the steps.

        The largest one counts once, as sudden ones do: a reversal or an impact is one step, not one
        of many.
        """
        s, spread = self.s, len(self.at) - self.sudden
        again = self._by_stages if s.function is not None and not s.sampled else self._by_plant
        known = again == self._by_plant and s.span.save_every == 1  # the row after is a step later
        whole = self.rows[:, 2] if known else again(1)
        with np.errstate(invalid="ignore"):  # arms that diverged
            off = np.abs(whole[..., : 2 * s.n] - again(2)[..., : 2 * s.n])
        off = off / (1.0 - 0.5**s.tableau.order)
        once = off[:, :spread].max(axis=1)
        often = (off[:, :spread].sum(axis=1) - once) * (steps / spread)
        return once + often + off[:, spread:].sum(axis=1)

    @property
    def _acting(self) -> np.ndarray:
        """The states (arms, K, size) at the rows, with the torques and directions that acted."""
        m, now = self.assembly, self.rows[:, 1]
        kept, size = now.shape[2], self.start.shape[1]
        if kept == size:
            return now.copy()
        x = np.repeat(self.start[:, None], now.shape[1], axis=1)
        x[..., :kept] = now
        if m.computes:  # arms of an ensemble keep no commands
            m.slots.part(x, "command")[...] = m.slots.part(x, "tau")
        return x

    def _by_plant(self, parts: int) -> np.ndarray:
        """The states a step later, in so many parts, under the torques that acted."""
        s, m, x = self.s, self.assembly, self._acting
        h, t = s.dt / parts, s.dt * (s.span.first + s.span.save_every * self.at)
        rows = np.stack([m.plant_rows(s, t + k * h, h) for k in range(parts)], axis=1)
        every = x.reshape(-1, x.shape[2])
        self._run_plant(every, np.tile(rows, (len(x), 1, 1)), h)
        return every.reshape(x.shape)

    def _run_plant(
        self, x: np.ndarray, rows: np.ndarray, h: float, kept: np.ndarray | None = None
    ) -> None:
        """Advance the arm alone from x (members, size) in steps of h, of which `rows` are given."""
        constants = self.assembly.plant_constants(self.s, h)
        if constants.ndim == 2:  # those of every arm, for all of its members
            constants = np.repeat(constants, len(x) // len(constants), axis=0)
        nothing = Record(np.zeros((len(x), 1, 0), x.dtype), 0, NEVER)
        record = nothing if kept is None else Record(kept, kept.shape[2], 1)
        self.loops.plant().run(x, 0, rows.shape[-2], Given([rows], [constants]), record)

    def _by_stages(self, parts: int) -> np.ndarray:
        """The same where a function was asked at every stage: its torques vary linearly."""
        s, m, found, states = self.s, self.assembly, [], self._acting[0]
        stages = stages_of(Simulation(s, m, states[:1]))
        h, apart = s.dt / parts, s.dt * s.span.save_every
        now, later = m.slots.part(self.rows[0, 1:], "command")
        for k, x, u, v in zip(self.at, states, now, later, strict=True):
            begin = s.dt * s.span.save_every * float(k)

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
        return np.array(found)[None]

    # the growth of a disturbance

    def _growth(self, q: np.ndarray, local: np.ndarray, off: float, lost: np.ndarray) -> float:
        """How many times `off`, by which a start is disturbed, the motion makes of it at the most.

        It is `ENDLESS` where the arm ends farther from the motion than a joint is called `lost`.
        """
        m, rows, start = self.assembly, len(q) - 1, off * np.cos(np.arange(self.s.n))

        def times(apart: np.ndarray) -> float:
            most = np.ascontiguousarray(apart.T).max(axis=1)
            return ENDLESS if (most > lost).any() else float(most.max()) / off

        if not m.computes and not self.s.robot.model.closures:
            apart = self._disturbed_whole(rows, local, start)
            if np.isfinite(apart).all():
                return times(apart)
        growth = 1.0  # coarse steps leave the samples of a law, and stiff friction diverges in them
        for span in self._spread(rows, TIMES, int(REPEATED * rows * self.every)):
            x, part = span.x.copy(), q[span.first : span.last + 1]
            x[:, : self.s.n] += start
            apart = np.abs(self._again(span._replace(x=x), 1) - part)[len(part) // 2 :]
            growth *= min(max(1.0, times(apart)) ** (rows / (len(part) - 1) / TIMES), ENDLESS)
        return growth

    def _disturbed_whole(self, rows: int, local: np.ndarray, off: np.ndarray) -> np.ndarray:
        """Distances of a disturbed arm from another one all along, both in steps a few times dt."""
        s, m, n, steps = self.s, self.assembly, self.s.n, rows * self.every
        least, most = TOGETHER
        fit = (COARSE * steps / max(float(local.max()), 1e-30)) ** (1.0 / (1 + s.tableau.order))
        together = int(min(most, max(least, fit)))
        h, x = together * s.dt, np.repeat(self.start, 2, axis=0)
        x[1, :n] += off
        signals = m.plant_rows(s, s.dt * s.span.first + h * np.arange(steps // together), h)
        kept = np.zeros((2, len(signals), n), x.dtype)
        self._run_plant(x, signals, h, kept)
        with np.errstate(invalid="ignore"):  # friction that is stiff for them diverges
            return np.abs(kept[1] - kept[0])

    # the run again

    def _global(
        self, t: np.ndarray, q: np.ndarray, limit: np.ndarray, spans: Sequence[Span]
    ) -> StepError | None:
        """The error of the run next to half steps, and a step that would do, found by halving."""
        s = self.s
        covered = sum(span.last - span.first for span in spans)
        own = [q[span.first : span.last + 1] for span in spans]
        first = len(spans) == 1  # one part of the run: its beginning
        share = 1.0 if first else covered / (len(q) - 1)

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
        before = np.full(s.n, np.inf)
        # until a step does and the error before shows the order, or there are too many steps
        while ((last > limit) | (before > limit * LOST / SHARE)).any() and 2 * parts <= FINEST:
            if 2 * parts * covered * self.every > (LONGEST if compiling() else LONGEST // 10):
                break
            coarse, parts = fine, 2 * parts
            fine = [self._again(span, parts) for span in spans]
            error, before, last = apart(own, fine, parts), last, apart(coarse, fine, 2.0)
        when, right = t[-1], None
        if first:
            off = np.nan_to_num(np.abs(own[0] - fine[0]), nan=np.inf)
            when = t[off[:, int(np.argmax(error / limit))].argmax()]
            right = float(t[max(0, int((off > limit).any(axis=1).argmax()) - 1)])
        partly, tried = covered < len(q) - 1, s.dt / parts
        known = (2.0 * tried, last, _observed_order(before / limit, last / limit, self._order))
        return self._worded(error, limit, (when, right), partly, known)

    def _spans(self, rows: int) -> list[Span]:
        """The whole run; of a long one parts that are spread over it."""
        if rows * self.every <= WHOLE:
            return [Span(0, rows, self.start)]
        return self._spread(rows, int(PARTS * rows * self.every) // PART, PART)

    def _spread(self, rows: int, count: int, steps: int) -> list[Span]:
        """Parts of a run, each of so many steps, where states are known; or one at its start."""
        if self.every > 1 or self.rows.shape[3] < self.start.shape[1]:
            return [Span(0, max(1, min(rows, count * steps // self.every)), self.start)]
        # what is integrated stands in the row itself, what acted until then in the row before
        x, early = self.rows[0, 1].copy(), self.assembly.slots.integrated
        x[:, early:] = self.rows[0, 0, :, early:]
        x[0] = self.start
        at = self.at[: len(self.at) - self.sudden]
        fit = np.flatnonzero(at + steps <= rows)
        chosen = fit[np.unique(np.linspace(0, len(fit) - 1, count).astype(int))]
        return [Span(int(at[k]), int(at[k]) + steps, x[k : k + 1]) for k in chosen]

    def _again(self, span: Span, parts: int) -> np.ndarray:
        """Positions of the rows of a span, (rows, n), each step in so many parts."""
        s, m, every, x = self.s, self.assembly, self.every, span.x.copy()
        finer = changed(s, dt=s.dt / parts, period=parts * s.period, delay=parts * s.delay)
        steps = (span.last - span.first) * every
        rows = np.zeros((1, steps, m.slots.integrated), x.dtype)
        first, loop = s.span.first + span.first * every, in_parts(self.loops.tasks(), parts)
        sim, chunk = Simulation(finer, m, x), max(1, CHUNK // parts)
        for done in range(0, steps, chunk):  # signals of all steps would take much memory
            some = rows[:, done : done + chunk]
            sim.advance(loop, (first + done) * parts, some.shape[1] * parts, some, parts)
        return np.concatenate([rows[0, ::every, : s.n], x[:, : s.n]])

    # in words

    def _worded(
        self, error: np.ndarray, limit: np.ndarray, when: tuple[float, float | None], partly: bool,
        known: tuple[float, np.ndarray, float],
    ) -> StepError | None:  # fmt: skip
        """The worst joint, and a step for it from the errors that are `known` of another step.

        `when` is the instant of the error, and until when no joint had one. The third of `known` is
        the power of the step with which errors shrink; 0: they do not.
        """
        if not (error > limit).any():
            return None
        s, joint = self.s, int(np.argmax(error / limit))
        (dt, errors, order), needed, keep, tried = known, None, None, None
        if order:
            excess = min(2.0 * float((errors / limit).max()), 1e300)
            most = min(dt * excess ** (-1.0 / order), 0.5 * s.dt)
            sampled = s.law is not None or s.sampled
            needed = _divisor(s.sample_time, most) if sampled else round_step(most)
            keep = s.sample_time if sampled and s.period == 1 else None
        else:
            tried = 0.5 * dt
        t, right = float(when[0]), when[1]
        return StepError(joint, float(error[joint]), t, partly, s.dt, needed, keep, right, tried)


def step_check(recorder: "RunRecorder", x0: np.ndarray, loops: Loops) -> StepCheck | None:
    """Rows of a run from x0 (arms, size) to look at its step; None where that is not done.

    Steps that an integrator chooses hold a tolerance, and a run that diverged has said so; nothing
    is run twice on a GPU, and ensembles under a function at every stage keep too little.
    """
    s, every = recorder.s, recorder.s.span.save_every
    if s.tableau.adaptive or s.device is not None or not s.count:
        return None
    if s.start.shape == () and recorder.diverged_at is not None:
        return None
    if s.count > 1 and s.function is not None and not s.sampled:
        return None
    # the row at the end of the last whole step; an event has put its own into the last
    last = min(recorder.filled - 1 - recorder.ended, s.span.steps // every)
    if last < 1:
        return None
    near, sudden = _rows_to_keep(last, every, MOST if s.count == 1 else FEWEST), 0
    if s.count == 1 and every == 1 and s.forces:
        extra = np.setdiff1d(_sudden(recorder.rows[0, : last + 1, s.n : 2 * s.n]), near[1])
        near, sudden = np.concatenate([near, _around(extra)], axis=1), len(extra)
    if s.count == 1 or every == 1:
        kept = recorder.rows[:, near]
    else:  # rows before and after are of other steps, which are not needed
        own = recorder.rows[:, None, near[1]]
        kept = np.broadcast_to(own, (s.count, *near.shape, own.shape[3]))
    return StepCheck(s, recorder.m, loops, every * s.span.thin, near[1], sudden, kept, x0)


@lru_cache(8)
def _rows_to_keep(last: int, every: int, most: int) -> np.ndarray:
    """Numbers of rows that are spread over those before `last`, (3, K): before, at, after."""
    least = FEWEST if most > FEWEST else 2
    count = min(last, max(least, min(most, last * every // APART)))
    return _around(np.arange(count) * (last - 1) // max(1, count - 1))


def _around(at: np.ndarray) -> np.ndarray:
    """Numbers of rows before, at and after some, (3, K)."""
    return np.stack([np.maximum(at - 1, 0), at, at + 1])


def _sudden(qd: np.ndarray) -> np.ndarray:
    """Steps between which the accelerations change most: short forces, impacts, turns."""
    change = np.abs(np.diff(np.ascontiguousarray(qd.T), 2)).max(axis=0)
    most = min(SUDDEN // 2, len(change))
    if not most:
        return np.zeros(0, int)
    top = np.argpartition(change, -most)[-most:]
    return np.union1d(top, top + 1)


def _of_arm(s: Settings, k: int) -> Settings:
    """The settings of one arm of an ensemble."""
    names = ("q0", "qd0", "parameters", "arm_forces", "encoder_offsets")
    all_arms = s.start
    rows = {x: getattr(all_arms, x) for x in names}
    own = {x: row[k : k + 1] for x, row in rows.items() if row is not None}
    arms = np.array(all_arms.arm_numbers[k : k + 1])
    return changed(s, start=all_arms._replace(arms=arms, **own))


def _resolved(q: np.ndarray, qd: np.ndarray, h: float) -> bool:
    """Whether velocities lead from row to row by the trapezoidal rule, to a tenth of `LEAST`."""
    off = np.abs(np.diff(q, axis=1) - 0.5 * h * (qd[:, 1:] + qd[:, :-1]))
    return off.shape[1] * float(off.max()) < 0.1 * LEAST


def _observed_order(before: np.ndarray, last: np.ndarray, order: int) -> float:
    """The power of the step with which errors (in limits) shrink as it is halved; 0: they do not.

    Of errors that are no longer small it cannot be seen, and is `order`.
    """
    lost = LOST / SHARE
    if before.max() > lost or last.max() > lost:
        return 0.0 if last.max() > lost else order
    found = math.log2(max(float(before.max()), 1e-30) / max(float(last.max()), 1e-30))
    if found > order - 1.0:
        return order  # those of long steps begin to shrink with it
    return max(found, 1.0) if found > 0.5 else 0.0


def _divisor(whole: float, most: float) -> float:
    """A step up to `most` of which `whole` is a number: a round one if there is."""
    for step in (round_step(most), round_step(0.5 * most)):
        if abs(whole / step - round(whole / step)) <= SLACK:
            return step
    return float(f"{whole / math.ceil(whole / most):.6g}")
