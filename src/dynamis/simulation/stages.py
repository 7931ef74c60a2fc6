"""Steps in three parts that Python can go between: for torques that only Python can compute."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..compile.arrays import run
from ..compile.service import Key, compiling
from ..progress import stage
from ..spatial.functions import Functions
from .elastic.sides import SIDES
from .loop import Simulation, finite_torque
from .plant import Plant
from .record import RunRecorder
from .settings import Settings
from .state import INTEGRATED
from .state import moved as moved_state
from .tableau import Tableau, weights_at
from .tasks import Inputs, Slots, Task, read_sums, written_sums

Torque = Callable[[float, np.ndarray, np.ndarray], np.ndarray]
Forces = Callable[[float, float], np.ndarray]  # (t, beginning of the step) to one row


class Stages:
    """begin, rate and finish of a plant as functions of arrays (count, size)."""

    def __init__(
        self,
        plant: Plant,
        slots: Slots,
        inputs: Inputs,
        key: Key,
        members: int,
        parameters: np.ndarray | None = None,
        parametrised: Callable[[Any], Plant] | None = None,
        forces: np.ndarray | None = None,
        seen: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None,
    ):
        self.plant, self.slots, self.inputs = plant, slots, inputs
        self.seen = seen or (lambda x: (slots.part(x, "q"), slots.part(x, "qd")))
        self._own = [rows for rows in (parameters, forces) if rows is not None]  # of every member
        self._parametrised = parametrised
        widest = plant
        if parameters is not None and parametrised is not None:
            widest = parametrised(list(parameters.T))
        self.holds, self.rubs = np.array(widest.holds), np.array(widest.rubs)
        wide, numbers = 1 + inputs.size, 1 + sum(rows.shape[1] for rows in self._own)
        # an implicit step needs its start, and sums of the rates before
        sums = slots.integrated + 2 * len(plant.gears) if plant.gamma else 0
        self.tasks = {
            "begin": Task("begin", self._begin, slots, wide, numbers, key),
            "rate": Task("rate", self._rate, slots, wide + sums, numbers, key),
            "finish": Task("finish", self._finish, slots, max(1, slots.integrated), numbers, key),
        }
        self.codes = {k: t.code(members) for k, t in self.tasks.items()} if compiling() else {}

    def of_all(self, x: np.ndarray, name: str) -> np.ndarray:
        """A part of the state over all coordinates: of joints, then of motors."""
        parts = [self.slots.part(x, name), self.slots.part(x, SIDES[name])]
        return np.concatenate(parts, axis=-1)

    def _arm(self, constants: Any) -> Plant:
        if self._parametrised is None:
            return self.plant
        return self._parametrised(self.inputs.parameters(constants))

    def _begin(self, x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        acting = self.inputs.acting(signal[1:], constants)
        arm = self._arm(constants)
        return self.slots.write(arm.begin(self.slots.read(x), acting, constants[0], fn).state)

    def _rate(self, x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        state, start, sums = self.slots.read(x), None, None
        given, size = 1 + self.inputs.size, self.slots.integrated
        acting = self.inputs.acting(signal[1:given], constants)
        if self.plant.gamma:
            sums = read_sums(signal[given + size :])
            start = self.slots.read([*signal[given : given + size], *x[size:]])
        rates = self._arm(constants).rate(state, acting, constants[0], fn, start, sums)
        return self.slots.write(replace(state, **rates))

    def _finish(self, x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        start = self.slots.read(x)
        end = self.slots.read([*signal[: self.slots.integrated], *x[self.slots.integrated :]])
        return self.slots.write(self._arm(constants).finish(start, end, constants[0], fn))

    def call(self, name: str, x: np.ndarray, signal: np.ndarray, h: float) -> np.ndarray:
        """One part over every member; `signal` is one row, or one per member."""
        constants = np.array([h])
        if self._own:
            constants = np.concatenate([np.full((len(x), 1), h), *self._own], axis=1)
        if self.codes:
            return run(self.codes[name], [x, signal, constants], ("x", "signal", "constants"))
        return self.tasks[name].evaluated(x, signal, constants)

    def step(
        self,
        x: np.ndarray,
        t: float,
        h: float,
        tableau: Tableau,
        forces: Forces,
        torque: Torque | None,
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """(state at the start with what acts, state the stages led to, rates of the stages).

        `forces` gives the part of the signal known beforehand; `torque` is asked at every stage.
        """
        size = self.slots.integrated
        own = 0.0 if tableau.adaptive else h  # stiff bristles: error control sees them as they are

        def asked(y: np.ndarray, at: float) -> None:
            if torque is not None:
                command = torque(at, *self.seen(y))
                self.slots.part(y, "command")[...] = command

        x = x.copy()
        asked(x, t)
        start = self.call("begin", x, np.concatenate([[t], forces(t, t)]), own)

        def rate(y: np.ndarray, c: float, *before: Any) -> np.ndarray:
            at = t + c * h
            if c:
                asked(y, at)
            signal = np.concatenate([[at], forces(at, t)])
            if before:
                given = self.slots.read(start.T), [self._named(k) for k in before[0]]
                sums = written_sums(self.plant.implicit_sums(*given, tableau, h))
                signal = np.tile(signal, (len(y), 1))
                columns = [np.broadcast_to(v, len(y)) for v in sums]
                signal = np.concatenate([signal, start[:, :size], np.array(columns).T], axis=1)
            return self.call("rate", y, signal, own)[:, :size]

        def moved(start: np.ndarray, rates: Sequence, weights: Sequence[float]) -> np.ndarray:
            y = start.copy()
            if tableau.G:
                named = [self._named(k) for k in rates]
                state = moved_state(self.slots.read(start.T), named, weights, h, tableau)
                y[:, :size] = np.array(self.slots.write(state)[:size]).T
                return y
            for w, k in zip(weights, rates, strict=True):
                y[:, :size] += h * w * k
            return y

        end, rates = tableau.steps(start, rate, moved)
        if tableau.semi_implicit:
            for name, rate_name in (("q", "qd"), ("motor", "motor_rate")):
                last = self.slots.part(end, rate_name)
                self.slots.part(end, name)[...] = self.slots.part(start, name) + h * last
        return start, end, rates

    def _named(self, rates: np.ndarray) -> dict[str, list[Any]]:
        """Rates by name, a column each."""
        return {name: list(rates.T[self.slots.slices[name]]) for name in INTEGRATED}

    def finish(self, start: np.ndarray, end: np.ndarray, h: float) -> np.ndarray:
        """The state after the step: what stopped, reversed or hit a stop."""
        return self.call("finish", start, end[:, : max(1, self.slots.integrated)], h)


def between(
    start: np.ndarray, rates: Sequence[np.ndarray], tableau: Tableau, h: float, s: float
) -> np.ndarray:
    """The integrated part of the state at t + s h by dense output."""
    y = start[:, : rates[0].shape[1]].copy()
    for w, k in zip(weights_at(tableau, s), rates, strict=True):
        y += h * w * k
    return y


def stages_of(sim: Simulation) -> Stages:
    """Those of a simulation in progress."""
    s, m = sim.s, sim.assembly
    arm = m.plant, m.slots, m.inputs, m.key, s.count
    return Stages(*arm, s.start.parameters, m.parametrised, s.start.arm_forces, m.seen)


def of_all_joints(s: Settings, torque: Callable[..., np.ndarray]) -> Torque:
    """Torques of all joints from a function (s, t, q, qd) of those that are driven."""

    def found(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = np.zeros(q.shape)
        tau[:, s.driven] = torque(s, t, q[:, s.driven], qd[:, s.driven])
        return tau

    return found


def by_stages(sim: Simulation, recorder: RunRecorder) -> None:
    """A Python function asked at every stage of the integrator; an observer at its samples."""
    s, m, x = sim.s, sim.assembly, sim.x
    stages, torque = stages_of(sim), of_all_joints(s, finite_torque)
    ends = [*(s.dt * np.arange(1, s.span.steps + 1)), *([s.span.duration] if s.span.short else [])]
    t, row = 0.0, 0
    with stage(f"simulating {s.robot.name}", len(ends), s.options.progress) as progress:
        for k, end in enumerate(ends):
            if m.computes and k % s.period == 0:
                sim.sample(t, k // s.period)
            start, stop, _ = stages.step(x, t, end - t, s.tableau, m.forces_at, torque)
            if k % s.span.save_every == 0:
                recorder.put(row, start)
                recorder.filled, row = row, row + 1
                if not recorder.accept(row):
                    return
            x[...] = stages.finish(start, stop, end - t)
            t = float(end)
            progress(k + 1)
    if m.computes and s.span.steps % s.period == 0 and not s.span.short:
        sim.sample(t, s.span.steps // s.period)
    sim.part("command")[...] = torque(t, *m.seen(x))
    last = stages.call("begin", x, np.concatenate([[t], m.forces_at(t, t)]), s.dt)
    recorder.rows[:, -1] = last[:, : recorder.kept]
    recorder.accept(len(recorder.t))
