"""The tasks of a simulation: functions of the state, as machine code or over any scalar.

Every task takes (x, signal, constants): the state, what time brings (t first), and numbers that
stay (its time step first). It returns the new state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.service import Code, Key, Ports, compiled
from ..control.computer import ControlComputer
from ..control.controller import Reference
from ..lazy import LOCK
from ..spatial.functions import Functions
from .measures import Measures
from .plant import INTEGRATED, Acting, Plant, State
from .tableau import Tableau

if TYPE_CHECKING:
    from ..compile.program import Program


class Slots:
    """The state of a simulation as one vector: which entry holds what.

    What is integrated stands first: it is recorded before a step, the rest after it, when it holds
    what acted during the step.
    """

    def __init__(
        self, plant: Mapping[str, int], computer: Mapping[str, int], measures: Mapping[str, int]
    ):
        self.sizes = {**plant, **computer, **measures}
        self.slices: dict[str, slice] = {}
        start = 0
        for name, size in self.sizes.items():
            self.slices[name] = slice(start, start + size)
            start += size
        self.size = start
        self.integrated = sum(plant[name] for name in INTEGRATED)
        self._plant, self._parts = tuple(plant), (tuple(computer), tuple(measures))

    def read(self, x: Any) -> State:
        """The vector as a state."""
        rows = {name: list(x[s]) for name, s in self.slices.items()}
        computer, measures = ({name: rows.pop(name) for name in part} for part in self._parts)
        return State(**rows, computer=computer, measures=measures)

    def write(self, state: State) -> list[Any]:
        """The vector of a state."""
        rows = [getattr(state, name) for name in self._plant]
        parts = zip((state.computer, state.measures), self._parts, strict=True)
        rows += [part[name] for part, names in parts for name in names]
        return [x for row in rows for x in row]

    def part(self, x: np.ndarray, name: str) -> np.ndarray:
        """A view of one name in an array (..., size)."""
        return x[..., self.slices[name]]


Function = Callable[..., list[Any]]  # (x, signal, constants, fn) -> x


@dataclass(frozen=True)
class Task:
    """One task: what it computes, how wide its arguments are, how often it runs.

    `key` decides the function; None if a user wrote a part of it.
    """

    name: str
    function: Function
    slots: Slots
    signals: int
    constants: int
    key: Key | None
    period: int = 1
    phase: int = 0

    def code(self, members: int = 1, dtype: str = "float64") -> Code:
        """Machine code for one or for many members."""
        shapes = ((self.slots.size,), (self.signals,), (self.constants,))
        ports = Ports(("x", "signal", "constants"), shapes, ("x",), shapes[:1])
        samples = None if members > 1 else 1
        if self.key is not None:
            key = self.name, *self.key, repr(self.slots.sizes)
            return compiled(key, self.program, ports, dtype, samples)
        traced = self.program()
        return compiled((traced.text,), lambda: traced, ports, dtype, samples)

    def program(self) -> "Program":
        """The function, traced."""
        with LOCK:
            from ..compile.optimise import share_reciprocals
            from ..compile.program import Port
            from ..compile.tracer import trace

            sizes = {"x": self.slots.size, "signal": self.signals, "constants": self.constants}
            ports = [Port(name, (size,)) for name, size in sizes.items()]
            return share_reciprocals(trace(self.name, self.function, ports, ports[:1]))


class Inputs:
    """Which forces known beforehand a plant is given, and where they are in its signal."""

    def __init__(self, n: int, feed: bool, outside: bool, wrench: bool, links: int):
        self.sizes = {"feed": n * feed, "outside": n * outside, "wrench": 6 * wrench}
        if links:
            self.sizes["link_forces"] = 6 * links
        self.size = sum(self.sizes.values())

    def acting(self, values: Any) -> Acting:
        """The forces at one instant from their part of the signal."""
        found, start = {}, 0
        for name, size in self.sizes.items():
            found[name] = list(values[start : start + size]) if size else None
            start += size
        if rows := found.get("link_forces"):
            found["link_forces"] = [rows[i : i + 6] for i in range(0, len(rows), 6)]
        return Acting(**found)


def plant_function(
    plant: Plant, slots: Slots, tableau: Tableau, inputs: Inputs, parameters: Any,
    measures: Measures | None = None,
) -> Function:  # fmt: skip
    """One step of the arm; `parameters` makes the plant from the constants after the time step.

    `measures` are renewed with the state before the step and what acts during it.
    """

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        arm = plant if parameters is None else parameters(constants[1:])
        count = len(tableau.nodes)
        parts = [signal[1 + k * inputs.size : 1 + (k + 1) * inputs.size] for k in range(count)]
        nodes = [inputs.acting(part) for part in parts]
        start = slots.read(x)
        end = arm.advance(start, nodes, constants[0], tableau, fn)
        if measures is not None:
            now = signal[0], start.q, start.qd, end.tau
            wanted = signal[1 + count * inputs.size :]
            end = replace(end, measures=measures.renewed(start.measures, now, wanted, fn))
        return slots.write(end)

    return function


def computer_function(
    computer: ControlComputer, slots: Slots, driven: Sequence[int], immediate: bool
) -> Function:
    """One sample of the control computer; signal: t, q_d, qd_d, qdd_d, noise.

    It sees the joints that are `driven`. `immediate`: what it computes acts at once, not after a
    delay.
    """
    n = len(driven)

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        t, rest = signal[0], signal[1:]
        rows = [list(rest[k * n : (k + 1) * n]) for k in range(4)]
        s, dt = slots.read(x), constants[0]
        q, qd = [s.q[k] for k in driven], [s.qd[k] for k in driven]
        acted = [s.impulse[k] / dt for k in driven] if s.impulse else []
        wanted = Reference(*rows[:3])
        after = computer.step(s.computer, q, qd, acted, t, wanted, rows[3], constants[1:], dt, fn)
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
