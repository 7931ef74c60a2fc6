"""What a simulation runs: the plant, the control computer, their tasks and their signals."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..compile.arrays import NUMPY, numbers
from ..compile.service import Code
from ..dynamics.reduce import SPEED, reduced
from ..lazy import cached_property
from ..model.chain import Chain, chain
from .computer import Brain
from .plant import Plant
from .settings import Settings
from .stages import Pieces
from .tasks import Inputs, Slots, Task, brain_function, latch_function, plant_function


class Machinery:
    """Plant, computer, state and tasks of one simulation; `only` leaves the task of that name."""

    def __init__(self, s: Settings, only: str | None = None):
        self.s, self.only = s, only
        self.plant = self._plant(self._chain())
        self.brain = Brain(s.robot, s.controller, s.observer, s.sensors, s.delay == 0)
        sizes = self.plant.slots()
        integrated = list(sizes).index("tau")
        self.slots = Slots({**sizes, **self.brain.slots()}, integrated)
        self.inputs = Inputs(s.n, s.feed is not None, s.outside is not None, s.wrench is not None)

    def _chain(self) -> Chain:
        full = self.s.robot.chain
        return reduced(full, SPEED, held=self.s.wrench is not None)

    def _plant(self, c: Chain) -> Plant:
        return Plant(c, self.s.stops, self.s.restitution, self.s.drives)

    @cached_property
    def key(self) -> str:
        """What decides the code of the plant."""
        s, given = self.s, self.inputs.sizes
        options = (s.stops, s.restitution, s.drives, given, s.parameters is not None)
        return "\n".join((repr(self.plant.chain), repr(options)))

    @cached_property
    def plant_task(self) -> Task:
        """One step of the arm."""
        s = self.s
        known = None if s.parameters is None else self._parametrised
        function = plant_function(self.plant, self.slots, s.tableau, self.inputs, known)
        wide = 1 + len(s.tableau.nodes) * self.inputs.size
        numbers = 1 + (0 if s.parameters is None else s.parameters.shape[1])
        return Task("plant", function, self.slots, wide, numbers, f"{s.tableau}\n{self.key}")

    def _parametrised(self, values: Any) -> Plant:
        """The arm of a parameter vector over any scalar.

        Its friction is all on the joint's side of the gears, as in `robot.with_parameters`.
        """
        c = chain(self.s.robot.model, parameters=list(values))
        none = {"viscous": 0.0, "plus": 0.0, "minus": 0.0}
        motors = tuple(m if m.coupled else m._replace(**none) for m in c.motors)
        return self._plant(replace(c, motors=motors))

    @cached_property
    def holds(self) -> np.ndarray:
        """Which coordinates can come to a hold in any member, (n,)."""
        known = self.s.parameters
        return np.array((self.plant if known is None else self._parametrised(known.T)).holds)

    @cached_property
    def brain_task(self) -> Task:
        """One sample of the computer."""
        s = self.s
        function = brain_function(self.brain, self.slots, s.n)
        numbers = 1 + len(self.brain.constants)
        return Task(
            "brain", function, self.slots, 1 + 4 * s.n, numbers, self.brain.key, s.period, 0
        )

    @cached_property
    def brain_code(self) -> Code:
        """The same, compiled for all members."""
        return self.brain_task.code(self.s.count)

    @property
    def computes(self) -> bool:
        """Whether there is anything for the computer to do."""
        s = self.s
        return s.controller is not None or s.observer is not None or s.sampled

    @cached_property
    def tasks(self) -> list[Task]:
        """In the order they run within a step; the arm is the last."""
        s, found = self.s, []
        if self.computes:
            found.append(self.brain_task)
            if s.delay:
                latch = latch_function(self.slots)
                phase = s.delay % s.period
                found.insert(0, Task("latch", latch, self.slots, 1, 1, "", s.period, phase))
        found.append(self.plant_task)
        return [task for task in found if self.only in (None, task.name)]

    @cached_property
    def pieces(self) -> Pieces:
        """The step in pieces."""
        known = None if self.s.parameters is None else self._parametrised
        return Pieces(
            self.plant, self.slots, self.inputs, self.key, self.s.count, self.s.parameters, known
        )

    def start(self) -> np.ndarray:
        """The state of every member before the first step, (count, size)."""
        s, n = self.s, self.s.n
        x = np.zeros((s.count, self.slots.size))
        self.slots.part(x, "q")[...] = s.q0
        self.slots.part(x, "qd")[...] = s.qd0
        self.slots.part(x, "direction")[...] = np.sign(s.qd0)
        if "loss" in self.slots.slices:
            self.slots.part(x, "loss")[...] = 1.0
        q, qd = ([a[:, i] for i in range(n)] for a in (s.q0, s.qd0))
        begun = self.brain.start(q, qd, s.period * s.dt, self.brain.constants, NUMPY)
        for name, values in begun.items():
            for i, value in enumerate(values):
                self.slots.part(x, name)[:, i] = value
        return x

    # signals

    def forces(self, t: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Torques, outside forces and wrenches known beforehand at times t, (K, size).

        `since` is when each one's step began: rows that are held stay those of the step.
        """
        s = self.s
        rows = [f(t, since) for f in (s.feed, s.outside, s.wrench) if f is not None]
        return np.concatenate(rows, axis=1) if rows else np.zeros((len(t), 0))

    def plant_signal(self, first: int, steps: int) -> np.ndarray:
        """Rows (t, forces at every node) of the steps, (steps, 1 + ...)."""
        return self.plant_rows(self.s.dt * np.arange(first, first + steps), self.s.dt)

    def plant_rows(self, t: np.ndarray, h: float) -> np.ndarray:
        """The same for steps of length h that begin at t."""
        parts = [t[:, None]]
        if self.inputs.size:
            parts += [self.forces(t + c * h, t) for c in self.s.tableau.nodes]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def brain_signal(self, first: int, steps: int) -> np.ndarray:
        """Rows (t, reference, noise) of the samples among the steps."""
        s = self.s
        k = np.arange(-(-first // s.period) * s.period, first + steps, s.period)
        return self.brain_rows(s.dt * k, k // s.period)

    def brain_rows(self, t: np.ndarray, samples: np.ndarray) -> np.ndarray:
        """The same for given times and numbers of samples."""
        s = self.s
        wanted = np.zeros((len(t), 3 * s.n)) if s.reference is None else s.reference(t)
        noise = np.zeros((len(t), s.n))
        if s.sensors.noisy:
            noise = self._noise[samples] * numbers(s.sensors.position_noise, "position_noise", "")
        return np.ascontiguousarray(np.concatenate([t[:, None], wanted, noise], axis=1))

    @cached_property
    def _noise(self) -> np.ndarray:
        rng = np.random.default_rng([self.s.sensors.seed, 1])
        return rng.standard_normal((self.s.steps // self.s.period + 2, self.s.n))

    def signals(self, first: int, steps: int) -> list[np.ndarray]:
        """One array of rows per task."""
        makers = {"plant": self.plant_signal, "brain": self.brain_signal}
        return [
            makers[t.name](first, steps) if t.name in makers else np.zeros((steps, 1))
            for t in self.tasks
        ]

    def constants(self, h: float | None = None) -> list[np.ndarray]:
        """Numbers of every task, its own time step first."""
        s, found = self.s, []
        for task in self.tasks:
            if task.name == "plant":
                row = np.array([s.dt if h is None else h])
                if s.parameters is not None:
                    steps = np.broadcast_to(row, (s.count, 1))
                    row = np.ascontiguousarray(np.concatenate([steps, s.parameters], axis=1))
                found.append(row)
            elif task.name == "brain":
                found.append(np.array([s.period * s.dt, *self.brain.constants]))
            else:
                found.append(np.zeros(1))
        return found
