"""What every controller is: one step of a discrete law over any scalar, its state in plain sight.

    torque, state = step(arm, gains, state, measured, reference, dt)

The same step runs on floats (a Python loop), is compiled together with the arm and the integrator
(`dy.simulate`), and is printed as C. It never branches on a value: it writes `arm.select`.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..errors import OptionError, ShapeError
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
        """What besides the model decides the code of a law of this package: words, not gains."""
        return ()

    @property
    def key(self) -> str:
        """Text that tells apart laws of this package whose code differs."""
        return f"{type(self).__module__}.{type(self).__qualname__}{self.options!r}"


def intact(block: Any) -> bool:
    """Whether all of a block's code is this package's own, as its files have it.

    Only then do its class and options decide what it computes. Subclasses, classes that were given
    other functions and objects that carry their own are not.
    """
    own = __name__.partition(".")[0] + "."
    for kind in type(block).__mro__:
        if kind in (object, ABC):
            continue
        module = sys.modules.get(kind.__module__)
        if module is None or not kind.__module__.startswith(own):
            return False
        if getattr(module, kind.__name__, None) is not kind:
            return False
        for name, value in vars(kind).items():
            if name.startswith("__") or not (callable(value) or hasattr(value, "__get__")):
                continue
            function = getattr(value, "fget", None) or getattr(value, "__func__", value)
            code = getattr(function, "__code__", None)
            if code is None or code.co_filename != module.__file__:
                return False
    return set(vars(block)) <= {field.name for field in fields(block)}


def per_joint(
    value: Any, name: str, robot: "Robot", lowest: float | None = 0.0, size: int | None = None
) -> list[float]:
    """A gain for every joint from one number or n of them (or `size`, for a task)."""
    n = robot.n if size is None else size
    given = np.asarray(value)
    if given.dtype.kind not in "fiu" or given.shape not in ((), (n,)):
        raise ShapeError(
            f"{name} is {value!r}, expected one number or {n}"
            + (f", one per joint of robot {robot.name!r}" if size is None else "")
        )
    numbers = np.broadcast_to(given.astype(float), (n,)).tolist()
    for number in numbers:
        if number != number or (lowest is not None and number < lowest):
            least = "" if lowest is None else f" at least {lowest:g}"
            raise OptionError(f"{name} is {value!r}, expected numbers{least}")
    return numbers
