"""What every controller is: one step of a discrete law over any scalar, its state in plain sight.

    torque, state = step(arm, gains, state, measured, reference, dt)

The same step runs on floats (a Python loop), is compiled together with the arm and the integrator
(`dy.simulate`), and is printed as C. It never branches on a value: it writes `arm.select`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..arguments import shown
from ..errors import OptionError, ShapeError
from ..evaluate import numbers
from ..generic import Arm

if TYPE_CHECKING:
    from ..robot import Robot

Scalars = Sequence[Any]
Values = Mapping[str, list[Any]]  # names to lists of scalars


class Measured(NamedTuple):
    """What the sensors say at one sample: time, positions, velocities."""

    t: Any
    q: Scalars
    qd: Scalars


class Reference(NamedTuple):
    """What is wanted at one sample."""

    q: Scalars
    qd: Scalars
    qdd: Scalars


class Controller(ABC):
    """A discrete control law of n joints; subclasses are frozen dataclasses.

    Control errors are e = q - q_d. `model` is the robot the law computes with (None: the robot it
    drives); `sample_time` is its own (None: every step of the simulation).
    """

    needs_reference: ClassVar[bool] = True
    model: "Robot | None"
    sample_time: float | None

    @abstractmethod
    def gains(self, robot: "Robot") -> Values:
        """The numbers the law computes with, by name, each a list; changing them compiles nothing.

        Scalars given by the user are repeated to n here, wrong lengths refused.
        """

    def start(self, arm: Arm, gains: SimpleNamespace, measured: Measured) -> Values:
        """The state before the first step, by name, each a list of scalars."""
        return {}

    @abstractmethod
    def step(
        self,
        arm: Arm,
        gains: SimpleNamespace,
        state: SimpleNamespace,
        measured: Measured,
        reference: Reference,
        dt: Any,
    ) -> tuple[Scalars, Values]:
        """Joint torques for this sample, and the state after it (the names `start` gave)."""

    @property
    def options(self) -> tuple[Any, ...]:
        """What besides the model decides the code: words and flags, not gains."""
        return ()

    @property
    def key(self) -> str:
        """Text that tells apart controllers whose code differs."""
        return f"{type(self).__module__}.{type(self).__qualname__}{self.options!r}"


def per_joint(
    value: Any, name: str, robot: "Robot", lowest: float | None = 0.0, size: int | None = None
) -> list[float]:
    """A gain for every joint from one number or n of them (or `size`, for a task)."""
    n = robot.n if size is None else size
    of = f", one per joint of robot {robot.name!r}" if size is None else ""
    expected = f"expected one number or {n}{of}"
    given = numbers(value, name, expected)
    if given.shape not in ((), (n,)):
        raise ShapeError(f"{name} is {shown(value)}, {expected}")
    found = np.broadcast_to(given, (n,)).tolist()
    for number in found:
        if number != number or (lowest is not None and number < lowest):
            least = "" if lowest is None else f" at least {lowest:g}"
            raise OptionError(f"{name} is {shown(value)}, expected numbers{least}")
    return found
