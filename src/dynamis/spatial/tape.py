"""Straight-line tape of a scalar-generic function: what it computes, written down while it runs.

The function is called once, with values that only record. The tape then runs over floats, arrays
and symbols alike, and says which constants the results are linear in. Whatever the function reads
besides its arguments (its module, a closure, `self`) is settled at that one call: a tape does not
change, and two tapes with the same text compute the same.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from numbers import Real
from typing import Any

from .functions import MATH, Functions, zero
from .recorder import (
    BY_ZERO,
    COMPARISONS,
    NOT_A_NUMBER,
    OPERATIONS,
    Recorded,
    Recorder,
    refused_branch,
    uses,
)

LONGEST = 100_000  # steps
CALLED = ("sin", "cos", "sqrt", "exp", "tanh", "sign", "min", "max", "floor", "log", "atan2")

Step = tuple[Any, ...]  # ("input", group, key), ("number", x), or an operation and its operands
Given = Mapping[str, Any]  # group -> sequence or mapping of scalars


class Condition:
    """A comparison: only `fn.select` can use it."""

    __slots__ = ("less", "swapped")

    def __init__(self, less: Recorded, swapped: bool):
        self.less, self.swapped = less, swapped

    __bool__ = refused_branch


class LawRecorder(Recorder):
    """The steps of somebody else's function: operations as they are written, on numbers only."""

    def functions(self) -> Functions:
        """The elementary functions over values; over numbers alone they are numbers."""

        def named(name: str) -> Callable[..., Any]:
            plain = getattr(MATH, name)

            def call(*operands: Any) -> Any:
                if any(isinstance(x, Recorded) for x in operands):
                    return self.value(name, *operands)
                return plain(*map(_number, operands))

            return call

        return Functions(**{name: named(name) for name in CALLED}, select=self._select)

    def _select(self, condition: Any, a: Any, b: Any) -> Any:
        if isinstance(condition, Recorded):
            raise TypeError("fn.select got a number, expected a comparison such as x > 0.0")
        if not isinstance(condition, Condition):
            return a if condition else b
        a, b = (b, a) if condition.swapped else (a, b)
        return self.value("select", condition.less, a, b)

    def record(self, name: str, *operands: Any) -> Any:
        """A value; of a comparison, a condition on "lt"."""
        if not all(isinstance(x, (Recorded, Real)) for x in operands):
            return NotImplemented
        if name not in COMPARISONS:
            return self.value(name, *operands)
        a, b = operands if name in ("lt", "ge") else reversed(operands)
        return Condition(self.value("lt", a, b), swapped=name in ("le", "ge"))

    def input(self, group: str, key: Any) -> Recorded:
        """An argument of the function."""
        return Recorded(self, self.index(("input", group, key)))

    def value(self, name: str, *operands: Any) -> Recorded:
        """What an operation gives."""
        if name == "div" and zero(operands[1]):
            raise ZeroDivisionError(BY_ZERO)
        if any(x != x for x in operands if not isinstance(x, Recorded)):
            raise TypeError(NOT_A_NUMBER)
        return Recorded(self, self.index((name, *(self.place(x) for x in operands))))

    def place(self, x: Any) -> int:
        """Number of the step that gives x."""
        return x.index if isinstance(x, Recorded) else self.index(("number", _number(x)))

    def index(self, step: Step) -> int:
        """The number of a step, unless there are too many."""
        if len(self.steps) >= LONGEST:
            raise OverflowError(f"it takes more than {LONGEST} operations")
        return super().index(step)


def _number(x: Any) -> float:
    if isinstance(x, bool) or not isinstance(x, Real):
        raise TypeError(f"it computes with {type(x).__name__}, expected numbers")
    return float(x)


class Tape:
    """Steps, each an operation on the results of earlier ones, and the steps that are results."""

    __slots__ = ("results", "steps")

    def __init__(self, steps: Sequence[Step], results: Sequence[int]):
        needed = uses(results, lambda k: _operands(steps[k]))
        order = {k: i for i, k in enumerate(needed)}
        self.steps = tuple(_renumbered(steps[k], order) for k in order)
        self.results = tuple(order[k] for k in results)

    def __repr__(self) -> str:
        return f"Tape({self.steps!r}, {self.results!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tape) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __reduce__(self) -> tuple:
        return Tape, (self.steps, self.results)

    def takes(self, group: str) -> set[Any]:
        """Keys of the arguments of a group that a result depends on."""
        return {step[2] for step in self.steps if step[:2] == ("input", group)}

    def run(self, given: Given, fn: Functions) -> list[Any]:
        """The results over any scalar."""
        values: list[Any] = []
        for step in self.steps:
            if step[0] == "input":
                values.append(given[step[1]][step[2]])
            elif step[0] == "number":
                values.append(step[1])
            else:
                values.append(_called(step[0], fn)(*(values[k] for k in step[1:])))
        return [values[k] for k in self.results]

    def linear(self, group: str, names: Sequence[Any]) -> tuple[Any, ...]:
        """Those of the names that the results depend on, and are linear in together.

        Judged by the steps: what is multiplied by itself, divided by, compared or put into a
        function is not linear; of two that are multiplied by each other the first is.
        """
        together: set[tuple[Any, Any]] = set()  # pairs with a second derivative
        found: list[set[Any]] = []
        for name, *operands in self.steps:
            if name in ("input", "number"):
                found.append({operands[1]} if operands[0] == group else set())
                continue
            parts = [found[k] for k in operands]
            whole: set[Any] = set().union(*parts)
            if name == "mul":
                together |= set(product(*parts))
            elif name == "div":
                together |= set(product(parts[1], whole))
            elif name not in ("add", "sub", "neg", "select"):  # "lt" has seen to the condition
                together |= set(product(whole, whole))
            found.append(whole)
        chosen: list[Any] = []
        for key in names:
            if not any({(key, x), (x, key)} & together for x in (*chosen, key)):
                chosen.append(key)
        entering = self.takes(group)
        return tuple(key for key in chosen if key in entering)

    def parts(
        self, given: Given, group: str, names: Sequence[Any], fn: Functions
    ) -> tuple[list[Any], list[list[Any]]]:
        """(what is left without the constants, d results / d constant for each of the names).

        The results must be linear in these constants of the group.
        """
        rests: list[Any] = []
        slopes: list[dict[Any, Any]] = []
        for name, *operands in self.steps:
            slope: dict[Any, Any] = {}
            if name == "input" and operands[0] == group and operands[1] in names:
                rest, slope = 0.0, {operands[1]: 1.0}
            elif name == "input":
                rest = given[operands[0]][operands[1]]
            elif name == "number":
                rest = operands[0]
            else:
                own = [rests[k] for k in operands]
                rest = _short(name, own, fn)
                keys = dict.fromkeys(key for k in operands for key in slopes[k])
                for key in keys:
                    tangents = [slopes[k].get(key, 0.0) for k in operands]
                    slope[key] = _slope(name, own, tangents, fn)
            rests.append(rest)
            slopes.append(slope)
        left = [rests[k] for k in self.results]
        return left, [[slopes[k].get(key, 0.0) for k in self.results] for key in names]


def _operands(step: Step) -> tuple[Any, ...]:
    return () if step[0] in ("input", "number") else step[1:]


def _renumbered(step: Step, order: Mapping[int, int]) -> Step:
    return (step[0], *(order[k] for k in step[1:])) if _operands(step) else step


def _called(name: str, fn: Functions) -> Callable[..., Any]:
    return OPERATIONS[name] if name in OPERATIONS else getattr(fn, name)


def _short(name: str, own: list[Any], fn: Functions) -> Any:
    """An operation, with the zeros that constants left behind taken out."""
    none = [zero(x) for x in own]
    if (name == "mul" and any(none)) or (name == "div" and none[0]):
        return 0.0
    if name == "add" and any(none):
        return own[0] if none[1] else own[1]
    if name == "sub" and any(none):
        return own[0] if none[1] else -own[1]
    return _called(name, fn)(*own)


def _slope(name: str, own: list[Any], tangents: list[Any], fn: Functions) -> Any:
    """Slope of an operation that is linear in what moves its operands."""
    if name == "mul":
        k = 0 if zero(tangents[1]) else 1
        return _short(name, [tangents[k], own[1 - k]], fn)
    if name == "div":
        return _short(name, [tangents[0], own[1]], fn)
    if name == "select":
        return fn.select(own[0], *tangents[1:])
    return _short(name, tangents, fn)


def recorded(function: Callable[[LawRecorder], Sequence[Any]]) -> Tape:
    """The tape of a function that takes its arguments from a recorder and returns its results."""
    recorder = LawRecorder()
    results = [recorder.place(x) for x in function(recorder)]
    return Tape(recorder.steps, results)
