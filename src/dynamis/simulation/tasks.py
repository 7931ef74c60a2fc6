"""The tasks of a simulation: functions of the state, as machine code or over any scalar.

Every task takes (x, signal, constants): the state, what time brings (t first), and numbers that
stay (its time step first). It returns the new state.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.service import Code, Ports, compiled
from ..control.computer import ControlComputer
from ..control.controller import Reference
from ..lazy import LOCK
from ..spatial.functions import Functions
from .plant import Acting, Plant
from .tableau import Tableau

if TYPE_CHECKING:
    from ..compile.program import Program

# The state of a simulation as one vector: which entry holds what.
#
# The entries up to `tau` are integrated; they are recorded before a step, the others after it, when
# they hold what acted during the step.


class Slots:
    """Names in order, each with its size."""

    def __init__(self, sizes: Mapping[str, int], integrated: int):
        self.sizes = dict(sizes)
        self.slices: dict[str, slice] = {}
        start = 0
        for name, size in self.sizes.items():
            self.slices[name] = slice(start, start + size)
            start += size
        self.size = start
        self.integrated = sum(list(self.sizes.values())[:integrated])

    def read(self, x: Any) -> SimpleNamespace:
        """The vector as lists of scalars by name."""
        return SimpleNamespace(**{name: list(x[s]) for name, s in self.slices.items()})

    def write(self, values: SimpleNamespace) -> list[Any]:
        """The vector from lists by name."""
        rows = vars(values)
        return [x for name in self.sizes for x in rows[name]]

    def part(self, x: np.ndarray, name: str) -> np.ndarray:
        """A view of one name in an array (..., size)."""
        return x[..., self.slices[name]]


Function = Callable[..., list[Any]]  # (x, signal, constants, fn) -> x


@dataclass(frozen=True)
class Task:
    """One task: what it computes, how wide its arguments are, how often it runs.

    `key` is text that decides the function; None if a user wrote a part of it.
    """

    name: str
    function: Function
    slots: Slots
    signals: int
    constants: int
    key: str | None
    period: int = 1
    phase: int = 0

    def code(self, members: int = 1) -> Code:
        """Machine code for one or for many members."""
        shapes = ((self.slots.size,), (self.signals,), (self.constants,))
        ports = Ports(("x", "signal", "constants"), shapes, ("x",), shapes[:1])
        samples = None if members > 1 else 1
        if self.key is not None:
            text = f"{self.name}\n{self.key}\n{list(self.slots.sizes.items())!r}"
            return compiled(text, self.program, ports, "float64", samples)
        traced = self.program()
        return compiled(traced.text, lambda: traced, ports, "float64", samples)

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

    def __init__(self, n: int, feed: bool, outside: bool, wrench: bool):
        self.sizes = {"feed": n * feed, "outside": n * outside, "wrench": 6 * wrench}
        self.size = sum(self.sizes.values())

    def acting(self, values: Any) -> Acting:
        """The forces at one instant from their part of the signal."""
        found, start = {}, 0
        for name, size in self.sizes.items():
            found[name] = list(values[start : start + size]) if size else None
            start += size
        return Acting(**found)


def plant_function(
    plant: Plant, slots: Slots, tableau: Tableau, inputs: Inputs, parameters: Any
) -> Function:
    """One step of the arm; `parameters` makes the plant from the constants after the time step."""

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        arm = plant if parameters is None else parameters(constants[1:])
        count = len(tableau.nodes)
        parts = [signal[1 + k * inputs.size : 1 + (k + 1) * inputs.size] for k in range(count)]
        nodes = [inputs.acting(part) for part in parts]
        return slots.write(arm.advance(slots.read(x), nodes, constants[0], tableau, fn))

    return function


def computer_function(computer: ControlComputer, slots: Slots, n: int) -> Function:
    """One sample of the control computer; signal: t, q_d, qd_d, qdd_d, noise."""

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        t, rest = signal[0], signal[1:]
        rows = [list(rest[k * n : (k + 1) * n]) for k in range(4)]
        state = slots.read(x)
        new = computer.step(
            state, t, Reference(*rows[:3]), rows[3], constants[1:], constants[0], fn
        )
        return slots.write(new)

    return function


def latch_function(slots: Slots) -> Function:
    """What was computed begins to act."""

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        state = slots.read(x)
        return slots.write(SimpleNamespace(**{**vars(state), "command": list(state.computed)}))

    return function
