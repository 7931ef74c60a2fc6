"""What a simulation runs: the plant, the control computer, their tasks and their signals."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..compile.arrays import NUMPY
from ..compile.service import Key
from ..control.computer import ControlComputer
from ..control.sensors import POSITIONS, zero_errors
from ..dynamics.elastic import expanded
from ..dynamics.reduce import SPEED, reduced
from ..errors import OptionError
from ..lazy import cached_property, once
from ..model.chain import Chain, chain
from ..model.parameters import parameter_names
from ..spatial.functions import MATH
from .elastic.motor_start import motor_start
from .elastic.presliding import slipping_at_once, unresolved
from .elastic.vibration import short_contacts
from .plant import Plant
from .run import Acted
from .settings import Settings, force_shapes
from .tasks import Inputs, PlantStep, Slots, Task, computer_function, latch_function

ELSEWHERE = 0.2  # rad or m: what encoders may be off; another assembly is farther
SINGLE = 100.0  # closure tolerances: what counts as closed in single precision


class Assembly:
    """Plant, computer, state and tasks of a simulation; nothing depends on start and duration."""

    def __init__(self, s: Settings):
        self.s = s
        acting = tuple(x for x in ("wrench", "link_forces") if x in s.forces or x in s.per_arm)
        o = s.options
        made = ("plant", acting, s.stops, o.restitution, o.drives, s.tableau.order, o.dtype)
        stiff = s.robot.chain.elastic or any(x.memory for x in s.robot.chain.resistances)
        if s.contacts:  # frames of links have to turn with them
            acting += ("link_forces",)
            made += (s.contacts,)
        made += (s.tableau.gamma, s.tableau.adaptive or s.dt) if stiff else ()
        self.plant = once(s.robot, made, lambda: self._plant(reduced(s.robot.chain, SPEED, acting)))
        self.computer = ControlComputer(s.robot, s.law, o.observer, s.sensors)
        measured = {} if s.measures is None else s.measures.sizes
        sizes = self.plant.sizes(o.observer is not None)
        self.slots = Slots(sizes, self.computer.sizes, measured)
        numbers = {name: math.prod(shape) for name, shape in force_shapes(s.robot).items()}
        self.inputs = Inputs(*({x: numbers[x] for x in part} for part in (s.forces, s.per_arm)))

    def _plant(self, c: Chain) -> Plant:
        s, o = self.s, self.s.options
        c = expanded(replace(c, tolerance=SINGLE * c.tolerance) if o.dtype == "float32" else c)
        if not s.tableau.adaptive:
            c = slipping_at_once(c, unresolved(s.robot, s.dt))
        stops = (*s.stops, *([None] * (c.n - c.link_coordinates)))
        hard = () if s.tableau.adaptive else short_contacts(s.robot, s.dt)
        hard = hard or (False,) * len(s.robot.chain.with_backlash)
        if s.contacts:
            stops = (None,) * c.n
        return Plant(
            c, stops, o.restitution, o.drives, s.tableau.order, s.tableau.gamma, hard, s.contacts
        )

    @cached_property
    def key(self) -> Key:
        """What decides the code of the plant."""
        s = self.s
        sizes = self.inputs.sizes, self.inputs.per_arm
        key = self.plant.key, repr((*sizes, s.parameters is not None))
        if s.varied is not None:
            key += (repr((s.varied, self._fixed)),)
        return key if s.measures is None else (*key, s.measures.key, repr(s.robot.chain))

    @cached_property
    def _fixed(self) -> list[float]:
        """The parameter vector, of which `varied` entries are taken from elsewhere."""
        return [float(x) for x in self.s.robot.parameters.values]

    @cached_property
    def parametrised(self) -> Callable[[Any], Plant] | None:
        """The plant of a parameter vector, if the members have their own."""
        return None if self.s.parameters is None else self._parametrised

    @cached_property
    def plant_task(self) -> Task:
        """One step of the arm."""
        s = self.s
        step = PlantStep(
            self.plant, self.slots, s.tableau, self.inputs, self.parametrised, s.measures
        )
        wide = 1 + len(s.tableau.nodes) * self.inputs.size
        wide += 0 if s.measures is None else s.measures.signals
        numbers = 1 + self.inputs.constants
        if s.parameters is not None:
            numbers += len(parameter_names(s.robot.model) if s.varied is None else s.varied)
        key = s.tableau.key, *self.key
        return Task("plant", step.whole, self.slots, wide, numbers, key, in_parts=step.in_parts)

    def _parametrised(self, values: Any) -> Plant:
        """The arm of a parameter vector over any scalar."""
        given = list(values)
        if self.s.varied is not None:
            own = dict(zip(self.s.varied, given, strict=True))
            given = [own.get(k, x) for k, x in enumerate(self._fixed)]
        return self._plant(chain(self.s.robot.model, parameters=given))

    def holds(self, parameters: np.ndarray | None) -> np.ndarray:
        """Which coordinates can come to a hold in any member, (n,)."""
        plant = self.plant if parameters is None else self._parametrised(parameters.T)
        return np.array(plant.holds[: plant.chain.link_coordinates])

    @cached_property
    def motor_holds(self) -> np.ndarray:
        """Which motors of elastic joints can come to a hold."""
        return np.array(self.plant.holds[self.plant.chain.link_coordinates :])

    @cached_property
    def computer_task(self) -> Task:
        """One sample of the computer."""
        s, computer = self.s, self.computer
        immediate = s.delay == 0
        given = computer, self.slots, s.driven, self.motors, immediate, s.parts
        function = computer_function(*given)
        key = None if computer.key is None else (str(immediate), *computer.key)
        key = key and (*key, repr(self.motors)) if self.motors else key
        numbers = 1 + len(computer.constants)
        wide = 1 + (s.parts + 1) * len(s.driven)
        return Task("computer", function, self.slots, wide, numbers, key, s.period, 0)

    @cached_property
    def motors(self) -> list[int]:
        """Elastic joints that are measured on their motor side, in the order of the state."""
        on_motors = self.s.sensors.side == "motor"
        return [gear.joint for gear in self.plant.gears] if on_motors else []

    def seen(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates of all joints as sensors see them, from states (count, size)."""
        q, qd, motor, rate = (self.slots.part(x, k) for k in ("q", "qd", "motor", "motor_rate"))
        if not self.motors:
            return q, qd
        return self.with_motors(q, motor), self.with_motors(qd, rate)

    def with_motors(self, joints: Any, motors: Any) -> Any:
        """Values of all joints, (..., n), with those of the motors, (..., m), of elastic ones."""
        found = joints + 0.0
        found[..., [gear.joint for gear in self.plant.gears]] = motors
        return found

    @property
    def computes(self) -> bool:
        """Whether there is anything for the computer to do."""
        s = self.s
        return s.law is not None or s.options.observer is not None or s.sampled

    @cached_property
    def tasks(self) -> list[Task]:
        """In the order they run within a step; the arm is the last."""
        s, found = self.s, []
        if self.computes:
            found.append(self.computer_task)
            if s.delay:
                latch = latch_function(self.slots, s.driven)
                phase = s.delay % s.period
                found.insert(0, Task("latch", latch, self.slots, 1, 1, (), s.period, phase))
        return [*found, self.plant_task]

    def start(self, s: Settings) -> np.ndarray:
        """The state of every member before the first step, (count, size)."""
        start = s.start
        x, place = np.zeros((s.count, self.slots.size), s.options.dtype), self.slots.slices
        x[:, place["q"]] = start.q0
        x[:, place["qd"]] = start.qd0
        x[:, place["direction"]] = np.sign(start.qd0)
        if self.plant.gears:
            elastic = [gear.joint for gear in self.plant.gears]
            motor, rate = (rows[:, elastic] for rows in motor_start(s))
            x[:, place["motor"]], x[:, place["motor_rate"]] = motor, rate
            x[:, place["motor_direction"]] = np.sign(rate)
        x[:, place["loss"]] = 1.0
        if s.measures is not None:
            for name in s.measures.sizes:
                self.slots.part(x, name)[...] = s.measures.started(name)
        if not self.computes:
            return x
        q, qd = (rows[:, s.driven] for rows in self.seen(x))
        if s.count == 1:
            given, fn = (q[0].tolist(), qd[0].tolist()), MATH
        else:
            given, fn = (list(q.T), list(qd.T)), NUMPY
        constants: Any = self.computer.constants
        if start.encoder_offsets is not None:
            rows = self.computer_constants(s)[:, 1:]
            constants = rows[0].tolist() if s.count == 1 else list(rows.T)
        begun = self.computer.start(*given, s.sample_time, constants, fn)
        self._refuse_other_assemblies(s, begun)
        rows = [value for name in self.computer.sizes for value in begun[name]]
        if s.count == 1:
            x[0, self.slots.computer] = rows
        else:
            for column, value in zip(x[:, self.slots.computer].T, rows, strict=True):
                column[...] = value
        return x

    def _refuse_other_assemblies(self, s: Settings, begun: Mapping[str, Any]) -> None:
        """A control computer that takes the mechanism to be elsewhere would drive it astray."""
        law = s.law
        if law is None or not law.finds_joints or law.model.n != s.robot.n or not s.count:
            return
        found = np.stack([np.broadcast_to(x, s.count) for x in begun["computer.joints"]], axis=1)
        off = np.abs(found - s.start.q0).max(axis=1)
        if not (off < ELSEWHERE).all():
            at, joint = divmod(int(np.argmax(~(np.abs(found - s.start.q0) < ELSEWHERE))), s.robot.n)
            which = f" of arm {at}" if s.count > 1 else ""
            raise OptionError(
                f"the control computer takes joint {s.robot.joint_names[joint]!r}{which} to be at "
                f"{found[at, joint]:.4g}, which is at {s.start.q0[at, joint]:.4g}: from the "
                f"drives and the home configuration of {law.model.name!r} it finds another "
                "assembly, or none",
                "give the robot, or the controller's model, with_home(q) in the assembly it is in",
            )

    # signals

    def forces(self, t: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Forces known beforehand at times t, (K, size).

        `since` is when each one's step began: rows that are held stay those of the step.
        """
        rows = [force(t, since) for force in self.s.forces.values()]
        return np.concatenate(rows, axis=1) if rows else np.zeros((len(t), 0))

    def forces_at(self, t: float, since: float) -> np.ndarray:
        """Those of one instant, (size,)."""
        return self.forces(np.array([t]), np.array([since]))[0]

    def acted(self, s: Settings, t: np.ndarray, rows: np.ndarray) -> Acted:
        """What acted on one arm in states (N, size) at t, and its accelerations."""
        own = s.start.parameters
        plant = self.plant if own is None else self._parametrised(own[0].tolist())
        constants = np.ravel(self.plant_constants(s, s.dt)).tolist()
        acting = self.inputs.acting(self.forces(t, t).T, constants)
        with np.errstate(all="ignore"):
            found = plant.accelerations(self.slots.read(rows.T.astype(float)), acting, s.dt, NUMPY)
        forces, links = (
            {x: getattr(acting, x) for x in ("wrench", "base_motion")},
            acting.link_forces,
        )
        forces["link_forces"] = None if links is None else [x for row in links for x in row]
        shapes = force_shapes(s.robot)
        given = {k: _rows(x, t).reshape(-1, *shapes[k]) for k, x in forces.items() if x is not None}
        return Acted(_rows(found, t), given)

    def plant_signal(self, s: Settings, first: int, steps: int) -> np.ndarray:
        """Rows (t, forces at every node, what measures need) of the steps, (steps, 1 + ...)."""
        return self.plant_rows(s, s.dt * np.arange(first, first + steps), s.dt)

    def plant_rows(self, s: Settings, t: np.ndarray, h: float) -> np.ndarray:
        """Rows for steps of length h that begin at t."""
        parts = [t[:, None]]
        if self.inputs.size:
            parts += [self.forces(t + c * h, t) for c in s.tableau.nodes]
        if s.measures is not None and s.measures.signals:
            wanted = s.start.reference(t)[:, : len(s.driven)]  # type: ignore[misc]
            parts.append(s.measures.rows(wanted, t))
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def computer_signal(self, s: Settings, first: int, steps: int, arm: int) -> np.ndarray:
        """Rows (t, reference, noise) of the samples among the steps, as one arm has them."""
        number = -(-first // s.period)  # of the first of these samples
        k = np.arange(number * s.period, first + steps, s.period)
        return self.computer_rows(s, s.dt * k, number, arm)

    def computer_rows(self, s: Settings, t: np.ndarray, first: int, arm: int = 0) -> np.ndarray:
        """Rows for given times, the samples counted from `first` on."""
        n = len(s.driven)
        wanted = slice(1, 1 + s.parts * n)
        rows = np.zeros((len(t), wanted.stop + n))
        rows[:, 0] = t
        if s.start.reference is not None:
            rows[:, wanted] = s.start.reference(t)
        if s.sensors.noisy and len(t):
            rows[:, wanted.stop :] = s.sensors.noise(POSITIONS, first, len(t), arm, n)
        return rows

    def signals(self, s: Settings, first: int, steps: int, arm: int = 0) -> list[np.ndarray]:
        """One array of rows per task, as one arm has them."""
        makers = {
            "plant": lambda: self.plant_signal(s, first, steps),
            "computer": lambda: self.computer_signal(s, first, steps, arm),
            "latch": lambda: np.zeros((steps, 1)),
        }
        return [makers[task.name]() for task in self.tasks]

    def signals_of(
        self, s: Settings, first: int, steps: int, arms: Sequence[int] | None
    ) -> list[np.ndarray]:
        """One array of rows per task; the computer's is (arms, rows, numbers) with their noise."""
        found = self.signals(s, first, steps, 0 if arms is None else arms[0])
        if arms is not None and len(arms) > 1:
            every = [self.computer_signal(s, first, steps, arm) for arm in arms]
            found[self.tasks.index(self.computer_task)] = np.stack(every)
        return found

    def plant_constants(self, s: Settings, h: float) -> np.ndarray:
        """The time step; and the parameters and forces of every member that has its own."""
        own = [rows for rows in (s.start.parameters, s.start.arm_forces) if rows is not None]
        if not own:
            return np.array([h])
        return np.concatenate([np.full((s.count, 1), h), *own], axis=1, dtype=s.options.dtype)

    @cached_property
    def _computer_constants(self) -> np.ndarray:
        return np.array([self.s.sample_time, *self.computer.constants])

    def computer_constants(self, s: Settings) -> np.ndarray:
        """The sample time and the numbers of the computer; a row per arm where encoders differ."""
        if s.start.encoder_offsets is None:
            return self._computer_constants
        rows = np.tile(self._computer_constants, (s.count, 1))
        computers = rows[:, 1:]  # after the sample time; those of the sensors come first
        computers[:, zero_errors(len(s.driven))] += s.start.encoder_offsets
        return rows

    def constants(self, s: Settings, h: float | None = None) -> list[np.ndarray]:
        """Numbers of every task, its own time step first."""
        makers = {
            "plant": lambda: self.plant_constants(s, s.dt if h is None else h),
            "computer": lambda: self.computer_constants(s),
            "latch": lambda: np.zeros(1),
        }
        return [makers[task.name]() for task in self.tasks]


def _rows(columns: Sequence[Any], t: np.ndarray) -> np.ndarray:
    """Columns, each an array or a number, as rows (N, size)."""
    return np.stack([np.broadcast_to(x, len(t)) for x in columns], axis=-1)
