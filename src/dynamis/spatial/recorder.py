"""Arithmetic by name, and recorders of it: a function run once over values that only write down.

A recorder keeps the steps of the function, equal ones once. What else it does with an operation
(simplify it, refuse it, give it a type) is its own.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "lt": operator.lt,
    "gt": operator.gt,
    "le": operator.le,
    "ge": operator.ge,
}
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "neg": operator.neg,
    **COMPARISONS,
}
# what a function does that cannot be recorded
BRANCH = "branches on a value that is known only when it runs"
NUMBER = "asks for the number behind a symbol"
EQUAL = "asks whether two values are equal"
NOT_A_NUMBER = "computes with NaN"
BY_ZERO = "divides by the number 0"


class Arithmetic(ABC):
    """The operators of a scalar, each by the name of its operation."""

    __slots__ = ()

    @abstractmethod
    def operation(self, name: str, *operands: Any) -> Any:
        """The scalar that an operation gives."""

    def __add__(self, other: Any) -> Any:
        return self.operation("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.operation("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.operation("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.operation("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.operation("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.operation("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.operation("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.operation("div", other, self)

    def __pow__(self, other: Any) -> Any:
        return self.operation("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.operation("pow", other, self)

    def __neg__(self) -> Any:
        return self.operation("neg", self)

    def __pos__(self) -> Any:
        return self

    def __lt__(self, other: Any) -> Any:
        return self.operation("lt", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.operation("gt", self, other)

    def __le__(self, other: Any) -> Any:
        return self.operation("le", self, other)

    def __ge__(self, other: Any) -> Any:
        return self.operation("ge", self, other)


def refused_branch(_: Any) -> bool:
    """The truth of what is known only when the steps are run."""
    raise TypeError(BRANCH)


class Recorded(Arithmetic):
    """A value while its function is recorded: the number of a step, not to be branched on."""

    __slots__ = ("index", "recorder")

    def __init__(self, recorder: "Recorder", index: int):
        self.recorder, self.index = recorder, index

    def operation(self, name: str, *operands: Any) -> Any:
        """What its recorder makes of an operation."""
        return self.recorder.record(name, *operands)

    def __abs__(self) -> Any:
        return self.operation("max", self, -self)

    def __eq__(self, other: object) -> bool:
        raise TypeError(EQUAL)

    __hash__ = object.__hash__
    __bool__ = refused_branch

    def __float__(self) -> float:
        raise TypeError(NUMBER)

    __int__ = __index__ = __float__  # type: ignore[assignment]


class Recorder(ABC):
    """Steps in the order they were made; equal ones are one."""

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self._indices: dict[Any, int] = {}

    @abstractmethod
    def record(self, name: str, *operands: Any) -> Any:
        """What an operation on recorded values and numbers gives."""

    def index(self, step: Any) -> int:
        """The number of a step, which is made if it is new."""
        found = self._indices.setdefault(step, len(self.steps))
        if found == len(self.steps):
            self.steps.append(step)
        return found


def uses(results: Iterable[int], operands: Callable[[int], Iterable[int]]) -> dict[int, int]:
    """How often each step that the results need is used, in the order of the steps."""
    count: dict[int, int] = {}
    pending = list(results)
    for k in pending:
        count[k] = count.get(k, 0) + 1
        if count[k] == 1:
            pending.extend(operands(k))
    return dict(sorted(count.items()))
