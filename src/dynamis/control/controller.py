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

from .. import arguments
from ..errors import OptionError, ShapeError, shown
from ..evaluate import NUMPY, numbers
from ..generic import Arm, over_symbols
from ..spatial.functions import MATH

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


def _written_in(function: Any, file: str | None) -> bool:
    """Whether a function stands in a file, as it is or held to its annotations (`checked`)."""
    code = getattr(function, "__code__", None)
    while code is not None and code.co_filename == arguments.__file__:
        function = getattr(function, "__wrapped__", None)
        code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == file


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
            if not _written_in(function, module.__file__):
                return False
    return set(vars(block)) <= {field.name for field in fields(block)}


def begun(block: Any, arm: Arm, gains: SimpleNamespace, measured: Measured) -> dict[str, list]:
    """The state a block starts from, as lists by name."""
    name = f"{type(block).__name__}.start"
    found = _asked(block.start, name, arm, gains, measured)
    if not isinstance(found, Mapping):
        raise OptionError(f"{name} returned {shown(found)}, expected lists by name")
    return {str(k): _listed(v, f"{k!r} of {name}") for k, v in found.items()}


def stepped(
    block: Any, arm: Arm, gains: SimpleNamespace, state: SimpleNamespace, *rest: Any
) -> tuple[list[Any], dict[str, list[Any]]]:
    """One sample of a block: n torques and the state after it, under the names it had before."""
    name = f"{type(block).__name__}.step"
    found = _asked(block.step, name, arm, gains, state, *rest)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise OptionError(f"{name} returned {shown(found)}, expected (torques, state)")
    tau, after = _listed(found[0], f"the torques of {name}"), found[1]
    if len(tau) != arm.n:
        raise ShapeError(f"{name} returned {len(tau)} torques, expected {arm.n}: one per joint")
    if not isinstance(after, Mapping):
        raise OptionError(f"{name} returned the state {shown(after)}, expected lists by name")
    lists = {str(k): _listed(v, f"{k!r} of {name}") for k, v in after.items()}
    sizes = {k: len(v) for k, v in vars(state).items()}
    if {k: len(v) for k, v in lists.items()} != sizes:
        given = {k: len(v) for k, v in lists.items()}
        raise ShapeError(
            f"{name} returned a state of sizes {given}, expected {sizes} as start gave",
            "every name that start gives comes back from step, as long as it was",
        )
    return tau, lists


def _asked(method: Any, name: str, arm: Arm, *rest: Any) -> Any:
    if arm.fn is MATH or arm.fn is NUMPY:
        return method(arm, *rest)
    return over_symbols(method, name, arm, *rest)


def _listed(value: Any, what: str) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise OptionError(f"{what} is {shown(value)}, expected a list of scalars") from None


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
