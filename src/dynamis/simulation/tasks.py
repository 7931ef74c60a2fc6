"""The tasks of a simulation: functions of the state, as machine code or over any scalar.

Every task takes (x, signal, constants): the state, what time brings (t first), and numbers that
stay (its time step first). It returns the new state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.arrays import NUMPY
from ..compile.service import Code, Key, Ports, compiled, traced
from ..control.computer import ControlComputer
from ..control.controller import Reference
from ..spatial.functions import MATH, Functions
from ..spatial.vectors import slices
from .measures import Measures
from .plant import INTEGRATED, Acting, Plant, PlantState
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
        self.slices = slices(self.sizes)
        self.size = sum(self.sizes.values())
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

    @property
    def code_key(self) -> Key | None:
        """What decides its code: `key` with the name and the layout of the state."""
        return None if self.key is None else (self.name, *self.key, repr(self.slots.sizes))

    def code(self, members: int = 1, dtype: str = "float64") -> Code:
        """Machine code for one or for many members."""
        shapes = ((self.slots.size,), (self.signals,), (self.constants,))
        ports = Ports(("x", "signal", "constants"), shapes, ("x",), shapes[:1])
        samples, what = None if members > 1 else 1, f"the simulation ({self.name})"
        return compiled(self.code_key, self.program, ports, dtype, samples, what=what)

    def evaluated(self, x: np.ndarray, signal: np.ndarray, constants: np.ndarray) -> np.ndarray:
        """Every member by the function itself; signal and constants: one row, or one for each."""
        if len(x) == 1:
            rows = (a.reshape(-1)[-a.shape[-1] :].tolist() for a in (x, signal, constants))
            return np.array([self.function(*rows, MATH)])
        with np.errstate(all="ignore"):
            found = self.function(list(x.T), list(signal.T), list(constants.T), NUMPY)
        return np.stack([np.broadcast_to(row, len(x)) for row in found], axis=-1)

    def program(self) -> "Program":
        """The function, traced."""
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


def plant_function(
    plant: Plant, slots: Slots, tableau: Tableau, inputs: Inputs,
    parameters: Callable[[Any], Plant] | None, measures: Measures | None = None,
) -> Function:  # fmt: skip
    """One step of the arm; `parameters` makes the plant from the constants after the time step.

    `measures` are renewed with the state before the step and what acts during it.
    """

    def function(x: Any, signal: Any, constants: Any, fn: Functions) -> list[Any]:
        arm = plant if parameters is None else parameters(inputs.parameters(constants))
        count = len(tableau.nodes)
        parts = [signal[1 + k * inputs.size : 1 + (k + 1) * inputs.size] for k in range(count)]
        nodes = [inputs.acting(part, constants) for part in parts]
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
