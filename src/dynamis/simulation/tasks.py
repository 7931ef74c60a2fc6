"""The tasks of a simulation: functions of the state, as machine code or over any scalar.

Every task takes (x, signal, constants): the state, what time brings (t first), and numbers that
stay (its time step first). It returns the new state.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compile.arrays import NUMPY
from ..compile.program import AnyProgram, Call, CalledProgram, Port, Program, Source
from ..compile.service import Code, Key, Ports, compiled, traced
from ..control.computer import ControlComputer
from ..control.controller import reference_of
from ..dynamics.closed import mobility
from ..lazy import once
from ..spatial.functions import MATH, Functions
from ..spatial.vectors import slices
from .contact.calls import around_solver
from .contact.step import decided_kinds, struck_kinds
from .measures import Measures
from .plant import Plant
from .state import INTEGRATED, Acting, ImplicitSums, PlantState, end_of_stages, moved
from .tableau import Tableau


class Layout:
    """A state as one vector: which entry holds what, from the size of every part."""

    def __init__(self, sizes: Mapping[str, int]):
        self.sizes = dict(sizes)
        self.slices = slices(self.sizes)
        self.size = sum(self.sizes.values())

    def part(self, x: np.ndarray, name: str) -> np.ndarray:
        """A view of one name in an array (..., size)."""
        return x[..., self.slices[name]]


class Slots(Layout):
    """The state of a simulation as one vector.

    What is integrated stands first: it is recorded before a step, the rest after it, when it holds
    what acted during the step.
    """

    def __init__(
        self, plant: Mapping[str, int], computer: Mapping[str, int], measures: Mapping[str, int]
    ):
        super().__init__({**plant, **computer, **measures})
        self.integrated = sum(plant[name] for name in INTEGRATED)
        start = sum(plant.values())
        self.computer = slice(start, start + sum(computer.values()))  # all of its entries
        self._plant, self._parts = tuple(plant), (tuple(computer), tuple(measures))

    def read(self, x: Any) -> PlantState:
        """The vector as a state."""
        rows = {name: list(x[s]) for name, s in self.slices.items()}
        computer, measures = ({name: rows.pop(name) for name in part} for part in self._parts)
        return PlantState(**rows, computer=computer, measures=measures)

    def write(self, state: PlantState) -> list[Any]:
        """The vector of a state."""
        rows = [getattr(state, name) for name in self._plant]
        parts = zip((state.computer, state.measures), self._parts, strict=True)
        rows += [part[name] for part, names in parts for name in names]
        return [x for row in rows for x in row]


Function = Callable[..., list[Any]]  # (x, signal, constants, fn) -> x


@dataclass(frozen=True)
class Task:
    """One task: what it computes, how wide its arguments are, how often it runs.

    `key` decides the function; None if a user wrote a part of it, which is traced once.
    """

    name: str
    function: Function
    slots: Layout
    signals: int
    constants: int
    key: Key | None
    period: int = 1
    phase: int = 0
    in_parts: Callable[[int, int], CalledProgram | None] | None = None  # of signals, constants

    @property
    def code_key(self) -> Key | None:
        """What decides its code: `key` with the name and the layout of the state."""
        return None if self.key is None else (self.name, *self.key, repr(self.slots.sizes))

    def code(self, members: int = 1, dtype: str = "float64") -> Code:
        """Machine code for one or for many members."""
        shapes = ((self.slots.size,), (self.signals,), (self.constants,))
        ports = Ports(("x", "signal", "constants"), shapes, ("x",), shapes[:1])
        samples, what = None if members > 1 else 1, f"the simulation ({self.name})"
        made = self.program if self.key is not None else lambda: once(self, "traced", self.program)
        return compiled(self.code_key, made, ports, dtype, samples, what=what)

    def evaluated(self, x: np.ndarray, signal: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """Every member by the function itself; signal and constants: one row, or one for each."""
        if len(x) == 1:
            rows = (a.reshape(-1)[-a.shape[-1] :].tolist() for a in (x, signal, constants))
            return np.array([self.function(*rows, MATH)])
        with np.errstate(all="ignore"):
            found = self.function(list(x.T), list(signal.T), list(constants.T), NUMPY)
        return np.stack([np.broadcast_to(row, len(x)) for row in found], axis=-1)

    def program(self) -> AnyProgram:
        """The function, traced: in parts, if it is long."""
        if self.in_parts is not None:
            found = self.in_parts(self.signals, self.constants)
            if found is not None:
                return found
        x = {"x": (self.slots.size,)}
        given = {"signal": (self.signals,), "constants": (self.constants,)}
        return traced(self.name, self.function, x | given, x)


class Inputs:
    """Which forces known beforehand a plant is given, and where they are in its signal.

    `sizes` are the numbers of every force in its signal; those of `per_arm`, which stay, are the
    last of its constants instead.
    """

    def __init__(self, sizes: Mapping[str, int], per_arm: Mapping[str, int]):
        self.sizes, self.per_arm = sizes, per_arm
        self.size = sum(sizes.values())
        self.constants = sum(per_arm.values())

    def parameters(self, constants: Any) -> Any:
        """Numbers of the plant among its constants: behind the time step, before the forces."""
        return constants[1 : len(constants) - self.constants]

    def acting(self, values: Any, constants: Any) -> Acting:
        """The forces at one instant from their part of the signal, and from the constants."""
        own = constants[len(constants) - self.constants :]
        found = {**_parts(self.sizes, values), **_parts(self.per_arm, own)}
        if rows := found.get("link_forces"):
            found["link_forces"] = [rows[i : i + 6] for i in range(0, len(rows), 6)]
        return Acting(**found)


def _parts(sizes: Mapping[str, int], numbers: Any) -> dict[str, Any]:
    """Numbers that stand one after the other, by name."""
    return {name: list(numbers[place]) for name, place in slices(sizes).items()}


INLINE = 12_000  # operations of a step above which its parts are called: compiled once each
SHARED = 1.3  # implicit steps: the sum of their parts, next to the whole step, which shares more
OTHERS = 4  # rates that begin and finish are worth, about: most steps are seen to be short by one


@dataclass(frozen=True)
class PlantStep:
    """One step of the arm; `parameters` makes the plant from the constants after the time step.

    `measures` are renewed with the state before the step and what acts during it.
    """

    plant: Plant
    slots: Slots
    tableau: Tableau
    inputs: Inputs
    parameters: Callable[[Any], Plant] | None = None
    measures: Measures | None = None

    def whole(self, x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        """All of it; signal: t, forces at every node of the tableau, what measures need."""
        nodes = [self._acting(signal[place:], constants) for place in self._places]
        start = self.slots.read(x)
        end = self._arm(constants).advance(start, nodes, constants[0], self.tableau, fn)
        return self._written(start, end, signal, fn)

    def in_parts(self, signals: int, constants: int) -> CalledProgram | None:
        """begin, rate and finish called in turn; None if a step is short: it runs faster whole."""
        state, some = (self.slots.size,), (self.slots.integrated,)
        given = {"signal": (1 + self.inputs.size,), "constants": (constants,)}
        before = {"before": (2 * len(self.plant.gears),)} if self.tableau.G else {}
        shapes = {"y": some, "start": state, **before, **given}
        rate = traced("rate", self._rate, shapes, {"rate": some})
        most = INLINE * (SHARED if self.tableau.G else 1.0)
        touching = bool(self.plant.contacts)  # its solver is always called
        if (len(self.tableau.b) + OTHERS) * rate.length <= most and not touching:
            return None
        known = {"start": state}
        if self.plant.lossless:
            known["rate0"] = some
            if self.plant.chain.closures:
                known["sines"] = (len(mobility(self.plant.chain).rows),)
        calls = self._begin_calls({"x": state, **given}, known)
        calls += self._stages(rate, constants, "rate0" in known)
        ports = {"x": state, "signal": (signals,), "constants": (constants,)}
        vectors = {
            **ports,
            **known,
            **{f"rate{k}": some for k, w in enumerate(self.tableau.b) if w},
        }

        calls += self._finish_calls(vectors, {"x": state})
        found = CalledProgram("plant", _ports(ports), _ports({"x": state}), tuple(calls))
        return found if found.length > most or touching else None

    def _begin_calls(self, given: Mapping[str, Any], known: Mapping[str, Any]) -> list[Call]:
        """What a step begins with, the solver of contacts called in between."""

        def begin(*values: Any) -> list[Any]:
            x, signal, constants, fn = values
            return self._begin(x, signal, constants, fn)

        if not self.plant.contacts:
            program = traced("begin", begin, given, known)
            return [Call(program, _sources(*given), tuple(known))]
        return around_solver("begin", given, known, decided_kinds(self.plant), self._begin)

    def _finish_calls(self, vectors: Mapping[str, Any], state: Mapping[str, Any]) -> list[Call]:
        """What a step ends with."""

        def finish(*values: Any, **solve: Any) -> list[Any]:
            *given, fn = values
            return self._finish(dict(zip(vectors, given, strict=True)), fn, **solve)

        if not self.plant.contacts:
            program = traced("finish", finish, vectors, state)
            return [Call(program, _sources(*vectors), ("x",))]
        return around_solver("finish", vectors, state, struck_kinds(self.plant), finish)

    def _stages(self, rate: Program, constants: int, begun: bool) -> Iterator[Call]:
        """The rates of the stages; `begun`: but of the first, which is known."""
        start, h = _sources("start", "constants")
        for k, (row, c) in enumerate(zip(self.tableau.A, self.tableau.c, strict=True)):
            if k == 0 and begun:
                continue
            y, weights = start, {f"rate{j}": w for j, w in enumerate(row) if w or self.tableau.G}
            if weights:
                move, (y,) = self._move([*weights.values()], constants), _sources("y")
                yield Call(move, (start, *_sources(*weights), h), ("y",))
            before: list[Source] = []
            if self.tableau.G:
                add, (own,) = self._sums(k, constants), _sources("before")
                rates = _sources(*(f"rate{j}" for j in range(k)))
                yield Call(add, (start, *rates, h), ("before",))
                before.append(own)
            forces = Source("signal", self.tableau.nodes.index(c) * self.inputs.size)
            yield Call(rate, (y, start, *before, forces, h), (f"rate{k}",))

    def _begin(
        self, x: Any, signal: Any, constants: Any, fn: Functions, **solve: Any
    ) -> list[list[Any]]:
        """The state at the beginning; rates of the first stage and sines, where they are known."""
        acting = self._acting(signal[1:], constants)
        found = self._arm(constants).begin(self.slots.read(x), acting, constants[0], fn, **solve)
        rates = [] if found.rates is None else [self._integrated(found.rates)]
        sines = [] if found.sines is None else [found.sines]
        return [self.slots.write(found.state), *rates, *sines]

    def _rate(self, y: Any, start: Any, *rest: Any) -> list[Any]:
        """Rates of what is integrated, which is y, the rest as at the start.

        The rest of the arguments: sums of the rates before, of an implicit step; signal, constants.
        """
        *before, signal, constants, fn = rest
        state = self.slots.read([*y, *start[self.slots.integrated :]])
        acting = self._acting(signal[1:], constants)
        begun = [self.slots.read(start), *map(read_sums, before)] if before else []
        return self._integrated(self._arm(constants).rate(state, acting, constants[0], fn, *begun))

    def _sums(self, k: int, constants: int) -> Program:
        """What is known of stage k of an implicit step from the rates before it."""
        some, arm = (self.slots.integrated,), self.plant

        def function(start: Any, *rest: Any) -> list[Any]:
            *rates, numbers, _ = rest
            state, named = self.slots.read(start), [self._named(x) for x in rates]
            return written_sums(arm.implicit_sums(state, named, self.tableau, numbers[0]))

        rates = {f"rate{j}": some for j in range(k)}
        given = {"start": (self.slots.size,), **rates, "constants": (constants,)}
        return traced("sum", function, given, {"before": (2 * len(arm.gears),)})

    def _move(self, weights: Sequence[float], constants: int) -> Program:
        """What is integrated, moved by some rates."""
        others = [0.0] * (self.slots.size - self.slots.integrated)

        def function(y: Any, *rest: Any) -> list[Any]:
            *rates, numbers, _ = rest
            named = [self._named(k) for k in rates]
            state = moved(self.slots.read([*y, *others]), named, weights, numbers[0], self.tableau)
            return self.slots.write(state)[: self.slots.integrated]

        some = (self.slots.integrated,)
        rates = {f"rate{k}": some for k in range(len(weights))}
        return traced(
            "move", function, {"y": some, **rates, "constants": (constants,)}, {"y": some}
        )

    def _finish(self, given: Mapping[str, Any], fn: Functions, **solve: Any) -> list[Any]:
        """The state after the step from x, by the rates that count."""
        constants, start = given["constants"], self.slots.read(given["start"])
        h, weights = constants[0], {f"rate{k}": w for k, w in enumerate(self.tableau.b) if w}
        rates = [self._named(given[name]) for name in weights]
        end = moved(start, rates, [*weights.values()], h, self.tableau)
        end = end_of_stages(start, end, self.tableau, h)
        after = self._arm(constants).finish(start, end, h, fn, given.get("sines"), **solve)
        return self._written(self.slots.read(given["x"]), after, given["signal"], fn)

    @property
    def _places(self) -> list[int]:
        """Where the forces at the nodes of the tableau are in the signal."""
        return [1 + k * self.inputs.size for k in range(len(self.tableau.nodes))]

    def _acting(self, forces: Any, constants: Any) -> Acting:
        return self.inputs.acting(forces[: self.inputs.size], constants)

    def _arm(self, constants: Any) -> Plant:
        if self.parameters is None:
            return self.plant
        return self.parameters(self.inputs.parameters(constants))

    def _integrated(self, rates: Mapping[str, list[Any]]) -> list[Any]:
        return [x for name in INTEGRATED for x in rates[name]]

    def _named(self, rates: Any) -> dict[str, list[Any]]:
        return {name: list(rates[self.slots.slices[name]]) for name in INTEGRATED}

    def _written(self, start: PlantState, end: PlantState, signal: Any, fn: Functions) -> list[Any]:
        """The vector of the state after a step, its measures renewed."""
        if self.measures is not None:
            now = signal[0], start.q, start.qd, end.tau
            wanted = signal[1 + len(self.tableau.nodes) * self.inputs.size :]
            end = replace(end, measures=self.measures.renewed(start.measures, now, wanted, fn))
        return self.slots.write(end)


def written_sums(sums: ImplicitSums) -> list[Any]:
    """The sums of an implicit step as one vector."""
    return [*sums.positions, *(sums.velocities or ())]


def read_sums(x: Any) -> ImplicitSums:
    """The sums of an implicit step from a vector."""
    values = list(x)
    return ImplicitSums(values[: len(values) // 2], values[len(values) // 2 :])


def _sources(*vectors: str) -> tuple[Source, ...]:
    return tuple(map(Source, vectors))


def _ports(sizes: Mapping[str, tuple[int, ...]]) -> tuple[Port, ...]:
    return tuple(Port(*port) for port in sizes.items())


def seen(driven: Sequence[int], motors: Sequence[int], joints: Any, of_motors: Any) -> list[Any]:
    """Positions or rates of the drives, on the motor side of the elastic joints `motors`."""
    return [of_motors[motors.index(k)] if k in motors else joints[k] for k in driven]


def computer_function(
    computer: ControlComputer,
    slots: Slots,
    driven: Sequence[int],
    motors: Sequence[int],
    immediate: bool,
    parts: int = 3,
) -> Function:
    """One sample of the control computer; signal: t, `parts` of the reference, noise.

    The parts are q_d, qd_d and qdd_d, and where a law asks for them jerk and snap.

    It sees the joints that are `driven`, those among `motors` on their motor side. `immediate`:
    what it computes acts at once, not after a delay.
    """
    n = len(driven)

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        t, rest = signal[0], signal[1:]
        *rows, noise = (list(rest[k * n : (k + 1) * n]) for k in range(parts + 1))
        s, dt = slots.read(x), constants[0]
        q, qd = seen(driven, motors, s.q, s.motor), seen(driven, motors, s.qd, s.motor_rate)
        acted = [s.impulse[k] / dt for k in driven] if s.impulse else []
        given = q, qd, acted, t, reference_of(rows), noise
        after = computer.step(s.computer, *given, constants[1:], dt, fn)
        command = commanded(after["computed"], s.command, driven) if immediate else s.command
        still = [0.0 * a for a in s.impulse]
        return slots.write(replace(s, command=command, impulse=still, computer=after))

    return function


def commanded(computed: Sequence[Any], before: Sequence[Any], driven: Sequence[int]) -> list[Any]:
    """Torques of all joints, those computed at the driven ones."""
    found = list(before)
    for k, value in zip(driven, computed, strict=True):
        found[k] = value
    return found


def latch_function(slots: Slots, driven: Sequence[int]) -> Function:
    """What was computed begins to act."""

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        state = slots.read(x)
        command = commanded(state.computer["computed"], state.command, driven)
        return slots.write(replace(state, command=command))

    return function
