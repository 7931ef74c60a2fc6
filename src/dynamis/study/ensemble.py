"""Ensemble: arms of a study that differ in numbers only, compiled once and run in blocks.

streamed      measures are kept up within the steps; nothing of the motion is stored
launched      the same on a GPU, several blocks in one launch
stored        whole runs of some arms at a time: for functions of a run, and where Python
              takes part in the steps
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.arrays import numbers
from ..compile.service import map_shared
from ..control.sensors import Sensors
from ..errors import OptionError, ShapeError
from ..ik.driven import deciding, motion_along
from ..simulation.assembly import Assembly
from ..simulation.loop import CHUNK, Loop, MachineLoop, Simulation, fixed_steps, loop_of
from ..simulation.measures import LEFT, Measures, Span
from ..simulation.options import Options
from ..simulation.record import RunRecorder
from ..simulation.run import Run
from ..simulation.settings import Settings, settings, spanned, started
from ..simulation.signals import Signal, reference_signal
from ..simulation.simulator import Simulator
from ..simulation.step_check import Loops, StepError, step_check
from ..trajectory.trajectory import State, Trajectory
from ..user_code import location
from .scatter import Draw
from .summary import Values

if TYPE_CHECKING:
    from ..robot import Robot
    from .case import Case

ROWS = 2.5e8  # bytes of stored motion at a time
RECORDED = 4000  # instants of a run that are recorded to look at its step
TOGETHER = 256  # arms whose motion is stored at a time
DIVERGED = "diverged"


class Ensemble:
    """The arms of a case that have the same options, those drawn among alternatives included."""

    def __init__(self, case: "Case", options: Mapping[str, Any]):
        self.case, self._of_thread = case, threading.local()
        self.varied = case.variation.varied
        self.offsets, self.options = _with_encoder_offsets(case, options)
        s = settings(case.robot, Options(**self.options))
        _refuse_forces_per_arm(s)
        self.measures = Measures(case.robot, case.names, case.band) if case.names else None
        in_python = s.tableau.adaptive or s.function is not None  # takes part in the steps
        self.streams = case.simulated and not case.functions and not in_python
        if self.varied:
            s = replace(s, varied=self.varied, parameters=np.zeros(0))
        if s.wanted is not None:
            s = replace(s, start=s.start._replace(reference=self.reference(s)))
        self.ready = s.wanted is not None or not self._needs_reference(s)
        self.s: Settings = spanned(s, self._duration(s), 1)
        if self.measures is not None and self.measures.at_tool and case.robot.model.closures:
            path = case.robot.fk(self._motion(self.s)[0])[:, :3, 3]
            self.measures = replace(self.measures, path=path, dt=s.dt)
        if self.streams:
            self._streamed_measures = self.measures or Measures(case.robot, ())
            self.s = replace(self.s, measures=self._streamed_measures)
            self.assembly = Assembly(self.s)
            self._loops: dict[bool, Loop] = {}  # by whether there are many arms

    def _needs_reference(self, s: Settings) -> bool:
        """Whether measures or the control law ask where the arm should be."""
        tracked = self.measures is not None and self.measures.tracks
        return tracked or (s.law is not None and s.law.controller.needs_reference)

    def _duration(self, s: Settings) -> float:
        """As asked, or that of the reference."""
        if self.case.duration is not None:
            return self.case.duration
        if isinstance(s.wanted, Trajectory):
            return s.wanted.duration
        raise OptionError("duration is None, expected seconds", "or a trajectory as reference")

    def reference(self, s: Settings) -> Signal:
        """Rows of the reference of the drives over time."""
        return reference_signal(s.wanted, s.robot, self.case.start[0][s.driven], s.parts)

    def _motion(self, s: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd of all joints on the reference, (steps + 1, n) each."""
        motion = np.split(self.reference(s)(s.dt * np.arange(s.span.steps + 1)), 3, axis=1)
        own = deciding(s.robot, "the reference")
        return motion_along(s.robot, self.case.start[0], *(x[:, own] for x in motion))

    def started(self, draw: Draw, base: Settings, threads: int | None) -> Settings:
        """The settings with the starts and parameters of some samples."""
        parameters = draw.values if self.varied else None
        if self.ready and len(draw) > 1:  # what was drawn needs no check
            shape = (len(draw),)
            known = {"q0": draw.q0, "qd0": draw.qd0, "shape": shape, "parameters": parameters}
            start = base.start._replace(**known)
        else:
            start = started(base, draw.q0, draw.qd0, parameters).start
        offsets = draw.joint_offset if self.offsets else None
        start = start._replace(arms=draw.index, encoder_offsets=offsets)
        return replace(base, start=start, threads=threads)

    def values(self, draws: Sequence[Draw], threads: int | None) -> list[Values]:
        """Measures of every sample of some blocks; on a GPU all of them in one launch."""
        if not self.streams:
            return [self._stored(draw, threads) for draw in draws]
        if self.s.device is None:
            return [self._streamed(draw, threads) for draw in draws]
        return self._launched(self.s.device, draws, threads or 1)

    # measures within the steps

    def _loop(self, s: Settings) -> Loop:
        """The compiled loop of one arm, or of many."""
        many = s.count > 1
        if many not in self._loops:
            self._loops[many] = loop_of(self.assembly.tasks, s)
        return self._loops[many]

    def _streamed(self, draw: Draw, threads: int | None) -> Values:
        """Measures of a block on the processor."""
        s, m = self.started(draw, self.s, threads), self.assembly
        loop, sim, steps = self._loop(s), Simulation(s, m, m.start(s)), s.span.steps + 1
        if isinstance(loop, MachineLoop):
            loop.threads = threads
        for first in range(0, steps, CHUNK):
            sim.advance(loop, first, min(CHUNK, steps - first))
        return self._results(sim.x, s)

    def _launched(self, device: int, draws: Sequence[Draw], threads: int) -> list[Values]:
        """Measures of blocks on a GPU.

        Threads prepare the blocks, each in its part of arrays in memory that the GPU copies by
        itself (`lane`); then all arms run in one launch per chunk of steps.
        """
        from ..compile.gpu import lane

        m, blocks = self.assembly, [self.started(draw, self.s, 1) for draw in draws]
        s, dtype = _joined(blocks), self.s.options.dtype
        ends = np.cumsum([0, *map(len, draws)]).tolist()
        places = [slice(a, b) for a, b in pairwise(ends)]
        with lane(device) as memory:
            x = memory.array("x", (s.count, m.slots.size), dtype)
            constants = [
                memory.array(f"constants{j}", (s.count, c.shape[1]), dtype) if c.ndim == 2 else c
                for j, c in enumerate(m.constants(blocks[0]))
            ]

            def prepare(block: tuple[Settings, slice]) -> None:
                own, place = block
                x[place] = m.start(own)
                with np.errstate(over="ignore"):  # a limit that is none is infinite in float32
                    for target, given in zip(constants, m.constants(own), strict=True):
                        if target.ndim == 2:
                            target[place] = given

            map_shared(prepare, list(zip(blocks, places, strict=True)), threads)
            loop, steps, sim = self._loop(s), s.span.steps + 1, Simulation(s, m, x)
            chunk = loop.chunk(s, m, steps)  # type: ignore[union-attr]  # a DeviceLoop
            for first in range(0, steps, chunk):
                sim.advance(loop, first, min(chunk, steps - first), constants=constants)
            return map_shared(lambda place: self._results(x[place], s), places, threads)

    def _results(self, x: np.ndarray, s: Settings) -> Values:
        """Measures from the accumulators in the states x (count, size) at the end."""
        measures = self._streamed_measures
        part = self.assembly.slots.part  # copied: memory of a launch is used again
        found = {name: part(x, name).copy() for name in measures.sizes}
        left = np.asarray(found[f"measure.{LEFT}"], dtype=float)[:, 0]  # NaN: so far off, so soon
        values = measures.results(found, Span(s.span.steps + 1, s.dt, s.span.steps * s.dt))
        reasons = [""] * len(left)
        for k in np.flatnonzero(~(left < 0.0)):
            reasons[k] = DIVERGED if np.isnan(left[k]) else _diverged_at(left[k])
        return Values(values, reasons)

    # the step

    def step_error(self, draw: Draw, threads: int | None) -> StepError | None:
        """Error of the step in some samples, as `Run.step_error`; None too where it is unknown.

        Functions as controllers are not called for it.
        """
        s = self.s
        if s.function is not None or s.tableau.adaptive or s.device is not None:
            return None
        if not self.streams:
            return self._run(draw, threads).step_error
        s = self.started(draw, s, threads)
        s = replace(s, span=s.span._replace(save_every=max(1, s.span.steps // RECORDED)))
        m, loop = self.assembly, self._loop(s)
        x, recorder = m.start(s), RunRecorder(s, m)
        start = x.copy()
        fixed_steps(Simulation(s, m, x), loop, recorder)
        loops = Loops(lambda: loop, lambda: loop_of([m.plant_task], s))
        return recorder.run(step_check(recorder, start, loops)).step_error

    # measures of whole runs

    def _stored(self, draw: Draw, threads: int | None) -> Values:
        """Measures of runs that are stored, some arms at a time."""
        bytes_per_arm = 8.0 * self.s.span.steps * 8 * self.s.n
        arms = int(min(TOGETHER, max(1.0, ROWS // bytes_per_arm)))
        parts = [
            self._of_runs(draw.part(slice(k, k + arms)), threads) for k in range(0, len(draw), arms)
        ]
        values = {k: np.concatenate([p.values[k] for p in parts]) for k in self.case.columns}
        return Values(values, [reason for part in parts for reason in part.reasons])

    def _of_runs(self, draw: Draw, threads: int | None) -> Values:
        """Measures of the package and of the user from the runs of some samples."""
        case, run = self.case, self._run(draw, threads)
        reasons = [
            _diverged_at(t) if diverged else ""
            for diverged, t in zip(np.ravel(run.diverged), np.ravel(run.diverged_at), strict=True)
        ]
        values = {name: np.full((len(draw), k), np.nan) for name, k in case.columns.items()}
        if self.measures is not None:
            values |= self.measures.of_run(run)
        if not case.functions:
            return Values(values, reasons)
        for i, parameters in enumerate(draw.parameters):
            if not reasons[i]:
                arm = _member(run, i, self._robot(parameters))
                targets = {name: rows[i] for name, rows in values.items()}
                reasons[i] = _measure(case.functions, arm, targets)
        return Values(values, reasons)

    def _robot(self, parameters: np.ndarray) -> "Robot":
        return self.case.robot.with_parameters(parameters) if self.varied else self.case.robot

    def _run(self, draw: Draw, threads: int | None) -> Run:
        """The runs of some samples, (count, N, n)."""
        if not self.case.simulated:
            return self._prescribed(draw)
        sim = self.simulator
        sim._reset(self.started(draw, sim._given, threads))
        return sim._run(self.s.span.duration)

    @property
    def simulator(self) -> Simulator:
        """One per thread: a simulator is at one instant."""
        made: Simulator | None = getattr(self._of_thread, "simulator", None)
        if made is not None:
            return made
        made = self._of_thread.simulator = Simulator(self.case.robot, **self.options)
        if self.varied:
            made._given = replace(made._given, varied=self.varied, parameters=np.zeros(0))
            made.assembly = Assembly(made._given)
        start = made._given.start._replace(reference=self.s.start.reference)
        made._given = replace(made._given, start=start)
        return made

    def _prescribed(self, draw: Draw) -> Run:
        """The arms on the reference itself, with the torques that takes."""
        s, robot = self.s, self.case.robot
        q, qd, qdd = self._motion(s)
        inverse = robot.kernel("inverse_dynamics", parameters="argument")
        tau = inverse(q, qd, qdd, draw.parameters[:, None, :])
        nothing = np.zeros(tau.shape)
        return Run(
            robot=robot,
            t=s.dt * np.arange(s.span.steps + 1),
            q=np.broadcast_to(q, tau.shape),
            qd=np.broadcast_to(qd, tau.shape),
            tau=tau,
            friction=nothing,
            stuck=nothing.astype(bool),
            dt=s.dt,
            integrator="prescribed",
            reference=State(*(x[:, s.driven] for x in (q, qd, qdd))),
            diverged=np.zeros(len(draw), dtype=bool),
            diverged_at=np.full(len(draw), np.nan),
        )

    def replay(self, draw: Draw) -> Run:
        """One sample's whole run, with sensors and states."""
        robot = self._robot(draw.parameters[0])
        if not self.case.simulated:
            return _member(self._prescribed(draw), 0, robot)
        sim = self.simulator
        s = self.started(draw, sim._given, None)
        sim._reset(replace(s, start=s.start._replace(shape=())))
        return replace(sim._run(self.s.span.duration), robot=robot)


def _with_encoder_offsets(case: "Case", options: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether zero errors of encoders are drawn, and the options of a simulator that sees them."""
    given = {"progress": False, "events": (), "parameters": None, **options, "project": False}
    scatter = case.variation.scatter
    if scatter is None or not scatter._offset.any():
        return False, given
    sensors = Sensors() if given["sensors"] is None else given["sensors"]
    if isinstance(sensors, Sensors) and sensors.offset is None:
        given["sensors"] = replace(sensors, offset=0.0)  # code that adds an offset, if of zero
    return True, given


def _refuse_forces_per_arm(s: Settings) -> None:
    if s.per_arm:
        name, rows = next(iter(s.per_arm.items()))
        raise OptionError(
            f"{name} differs from arm to arm ({rows.shape[:-1]}), expected one for all arms of "
            "a study",
            "let dy.simulate run such an ensemble",
        )


def _joined(blocks: Sequence[Settings]) -> Settings:
    """Settings of all arms of some blocks."""
    names = ("q0", "qd0", "arms")
    rows = {name: np.concatenate([getattr(s.start, name) for s in blocks]) for name in names}
    return replace(blocks[0], start=blocks[0].start._replace(**rows))


def _diverged_at(t: float) -> str:
    return f"{DIVERGED} at t = {t:g} s"


def _member(run: Run, i: int, robot: "Robot") -> Run:
    """One arm of an ensemble."""
    arrays = {name: getattr(run, name)[i] for name in ("q", "qd", "tau", "friction", "stuck")}
    diverged = bool(run.diverged[i])
    when = float(run.diverged_at[i]) if diverged else None
    message = "" if when is None else _diverged_at(when)
    return replace(run, robot=robot, **arrays, diverged=diverged, diverged_at=when, message=message)


# measures of the user's own


def function_name(function: Any) -> str:
    """What a function of the user's is called in tables."""
    return str(getattr(function, "__name__", type(function).__name__))


def row_of(value: Any, function: Callable[..., Any]) -> np.ndarray:
    """What a measure of the user's returned: one number or a row of them."""
    name = f"{function_name(function)}{location(function)}"
    if value is None:
        raise ShapeError(
            f"{name} returned None, expected a number or a row of numbers",
            "end it with: return ...",
        )
    row = np.atleast_1d(numbers(value, name, "expected a number or a row of numbers"))
    if row.ndim != 1:
        raise ShapeError(f"measure {name!r} returned shape {row.shape}, expected numbers in a row")
    return row


def _measure(
    functions: Sequence[Callable[..., Any]], run: Run, targets: Mapping[str, np.ndarray]
) -> str:
    """Write the user's measures of one run into rows by name; why one gave none, or ""."""
    reason = ""
    for function in functions:
        name = function_name(function)
        try:
            row = targets[name]
            row[...] = row_of(function(run), function)
            if np.isnan(row).any():
                reason = f"{name}{location(function)} returned NaN"
        except Exception as error:
            reason = f"{name}: {type(error).__name__}: {error}"
    return reason
