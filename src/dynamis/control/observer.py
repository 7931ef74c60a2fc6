"""What every observer is: a block that watches an arm and commands nothing.

external torque, state = step(arm, sample)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from ..arguments import strict
from ..compile.service import Key, traced
from ..lazy import cached_property
from ..robot.arm import JOINTS
from ..spatial.functions import MATH, Functions
from ..spatial.vectors import slices
from .controller import (
    Block,
    Sample,
    Scalars,
    Values,
    begun,
    code_key,
    drives_at,
    drives_at_first,
    finite_gains,
    model_of,
    stepped,
    text_of,
)

if TYPE_CHECKING:
    from ..compile.program import Program
    from ..robot import Robot


@strict
class Observer(Block):
    """A block whose `step` gives the external torque of every joint.

    RESULTS names the parts of its state that are of interest to others.
    """

    RESULTS: ClassVar[tuple[str, ...]] = ()

    def watched(self, robot: "Robot") -> "Robot":
        """The robot it computes with."""
        return model_of(self, robot)

    def _begun(self, robot: "Robot", sample: Sample, fn: Functions) -> dict[str, list[Any]]:
        """Its state before the first sample; of closed mechanisms with all joints."""
        model = self.watched(robot)
        arm = drives_at_first(model, sample.q, fn)
        return {**begun(self, arm, sample), **arm.memory}

    def _stepped(
        self, robot: "Robot", sample: Sample, fn: Functions
    ) -> tuple[list[Any], dict[str, list[Any]]]:
        """External torque and the state after a sample."""
        model = self.watched(robot)
        state = dict(vars(sample.state))
        arm = drives_at(model, state.pop(JOINTS, ()), sample.q, fn)
        torque, after = stepped(self, arm, sample._replace(state=SimpleNamespace(**state)))
        return torque, {**after, **arm.memory}


@dataclass(frozen=True, eq=False)
class ObserverStep:
    """One sample of an observer of a robot over plain vectors: state, q, qd, tau, dt, numbers."""

    observer: Observer
    robot: "Robot"

    @cached_property
    def gains(self) -> Values:
        """The numbers it computes with, by name."""
        return finite_gains(self.observer, self.robot, "observer")

    @property
    def numbers(self) -> list[float]:
        """Its numbers as one vector."""
        return [x for row in self.gains.values() for x in row]

    @cached_property
    def slots(self) -> dict[str, slice]:
        """Where each part of the state lies."""
        rest = [0.0] * len(self.robot.driven)
        return _slices(self._begun(rest, rest, MATH))

    @property
    def states(self) -> int:
        """How many numbers the state has."""
        return max(part.stop for part in self.slots.values())

    @cached_property
    def key(self) -> Key | None:
        """What decides the code; None if a user wrote a part of it."""
        own = code_key(self.observer)
        if own is None:
            return None
        return own, text_of(self.observer.watched(self.robot)), repr(self.slots)

    def start(self, q: Scalars, qd: Scalars, fn: Functions) -> list[Any]:
        """The state before the first sample."""
        return [x for row in self._begun(q, qd, fn).values() for x in row]

    def _begun(self, q: Scalars, qd: Scalars, fn: Functions) -> dict[str, list[Any]]:
        first = Sample(0.0, list(q), list(qd), SimpleNamespace(**self.gains))
        return self.observer._begun(self.robot, first, fn)

    def step(
        self,
        state: Scalars,
        q: Scalars,
        qd: Scalars,
        tau: Scalars,
        dt: Any,
        numbers: Scalars,
        fn: Functions,
    ) -> tuple[list[Any], list[Any]]:
        """External torque and the state after a sample; `tau` is the mean since the one before."""
        before = SimpleNamespace(**{k: state[v] for k, v in self.slots.items()})
        known = SimpleNamespace(**{k: numbers[v] for k, v in _slices(self.gains).items()})
        sample = Sample(0.0, q, qd, known, before, dt=dt, tau=tau)
        torque, after = self.observer._stepped(self.robot, sample, fn)
        return torque, [x for name in self.slots for x in after[name]]

    def program(self, sample_time: float | None = None) -> "Program":
        """One sample as a straight line of operations.

        With a sample time it and the numbers are constants, and RESULTS come as results.
        """
        n, size = len(self.robot.driven), self.states
        given = {"state": (size,), "q": (n,), "qd": (n,), "tau": (n,)}
        if sample_time is None:
            given |= {"dt": (1,), "numbers": (len(self.numbers),)}
        named = [] if sample_time is None else list(self.observer.RESULTS)

        def function(state: Any, q: Any, qd: Any, tau: Any, *rest: Any) -> Any:
            *more, fn = rest
            dt, numbers = (more[0][0], more[1]) if more else (sample_time, self.numbers)
            torque, after = self.step(state, q, qd, tau, dt, numbers, fn)
            return [after, torque, *(after[self.slots[name]] for name in named)]

        results = {"next": (size,), "external": (n,)}
        results |= {name: (_length(self.slots[name]),) for name in named}
        return traced("step", function, given, results)

    def start_program(self) -> "Program":
        """The start as a straight line of operations."""
        joints = (len(self.robot.driven),)
        given = {"q": joints, "qd": joints}
        return traced("init", self.start, given, {"state": (self.states,)}, lean=False)


def _slices(parts: Mapping[str, Any]) -> dict[str, slice]:
    """Where each part lies in one vector."""
    return slices({name: len(row) for name, row in parts.items()})


def _length(part: slice) -> int:
    return part.stop - part.start
