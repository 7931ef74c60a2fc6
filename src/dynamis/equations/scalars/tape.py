"""A tape as a scalar: every operation of an algorithm once, to be written out with names."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import sympy as sp

from ...spatial.functions import Functions
from .exact import EXACT, exact, plain

Key = tuple  # ("leaf", expr) or (operation, places...)


def _unlifted(name: str) -> Callable[..., Any]:
    function = getattr(EXACT, name)
    return lambda *arguments: plain(function(*arguments))


WRITTEN: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "mul": operator.mul,
    "neg": operator.neg,
    "div": operator.truediv,
    "pow": operator.pow,
    "gt": operator.gt,
    "lt": operator.lt,
    **{name: _unlifted(name) for name in Functions._fields},
}


class Node:
    """One entry of a tape, under + - * / **."""

    __slots__ = ("place", "tape")

    def __init__(self, tape: "Tape", place: int):
        self.tape, self.place = tape, place

    def __add__(self, other: Any) -> "Node":
        return self.tape.record("add", self, other)

    def __radd__(self, other: Any) -> "Node":
        return self.tape.record("add", other, self)

    def __sub__(self, other: Any) -> "Node":
        return self + -self.tape.node(other)

    def __rsub__(self, other: Any) -> "Node":
        return self.tape.node(other) + -self

    def __mul__(self, other: Any) -> "Node":
        return self.tape.record("mul", self, other)

    def __rmul__(self, other: Any) -> "Node":
        return self.tape.record("mul", other, self)

    def __truediv__(self, other: Any) -> "Node":
        return self.tape.record("div", self, other)

    def __rtruediv__(self, other: Any) -> "Node":
        return self.tape.record("div", other, self)

    def __pow__(self, other: Any) -> "Node":
        return self.tape.record("pow", self, other)

    def __neg__(self) -> "Node":
        return self.tape.record("neg", self)

    def __gt__(self, other: Any) -> "Node":
        return self.tape.record("gt", self, other)

    def __lt__(self, other: Any) -> "Node":
        return self.tape.record("lt", self, other)


class Tape:
    """Operations in order; equal ones are recorded once, zeros and ones not at all."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.places: dict[Key, int] = {}

    def _place(self, key: Key) -> int:
        if key not in self.places:
            self.places[key] = len(self.keys)
            self.keys.append(key)
        return self.places[key]

    def node(self, x: Any) -> Node:
        """Any scalar as an entry of this tape."""
        if isinstance(x, Node):
            return x
        return Node(self, self._place(("leaf", sp.sympify(exact(x)))))

    def functions(self) -> Functions:
        """The elementary functions, recorded."""
        return Functions(**{name: partial(self.record, name) for name in Functions._fields})

    def record(self, operation: str, *operands: Any) -> Node:
        """The entry of an operation, after the simplest of simplifications."""
        nodes = [self.node(x) for x in operands]
        leaves = [self.keys[x.place] for x in nodes]
        if all(k[0] == "leaf" and k[1].is_number for k in leaves):
            return self.node(WRITTEN[operation](*(k[1] for k in leaves)))
        if operation in ("add", "mul"):
            a, b = sorted(nodes, key=lambda x: x.place)
            if operation == "add":
                return self._sum(a, b)
            return self._product(a, b)
        if operation == "neg" and self.keys[nodes[0].place][0] == "neg":
            return Node(self, self.keys[nodes[0].place][1])
        return Node(self, self._place((operation, *(x.place for x in nodes))))

    def _value(self, x: Node) -> Any:
        key = self.keys[x.place]
        return key[1] if key[0] == "leaf" else None

    def _sum(self, a: Node, b: Node) -> Node:
        if self._value(a) == 0:
            return b
        if self._value(b) == 0:
            return a
        if self.keys[a.place] == ("neg", b.place) or self.keys[b.place] == ("neg", a.place):
            return self.node(0)
        return Node(self, self._place(("add", a.place, b.place)))

    def _product(self, a: Node, b: Node) -> Node:
        for x, y in ((a, b), (b, a)):
            value = self._value(x)
            if value == 0:
                return x
            if value == 1:
                return y
            if value == -1:
                return -y
            if self.keys[x.place][0] == "neg":
                return -(Node(self, self.keys[x.place][1]) * y)
        return Node(self, self._place(("mul", a.place, b.place)))

    # -- written out --------------------------------------------------------------------------

    def needed(self, outputs: Iterable[Node]) -> tuple[list[int], dict[int, int]]:
        """Places the outputs depend on, in order, and how often each is used."""
        uses: dict[int, int] = {}
        stack = [x.place for x in outputs]
        for place in stack:
            uses[place] = uses.get(place, 0) + 1
            if uses[place] == 1 and self.keys[place][0] != "leaf":
                stack.extend(self.keys[place][1:])
        return sorted(uses), uses

    def size(self, output: Node) -> int:
        """Operations of an output written out without any name."""
        sizes: dict[int, int] = {}
        for place in self.needed([output])[0]:
            key = self.keys[place]
            own = 0 if key[0] == "leaf" else 1 + sum(sizes[k] for k in key[1:])
            sizes[place] = own
        return sizes[output.place]

    def written(
        self, outputs: Sequence[Node], names: Mapping[int, str], fresh: Callable[[], str | None]
    ) -> tuple[list[tuple[sp.Symbol, Any]], list[Any]]:
        """Definitions and outputs; an entry is named by `names`, or by `fresh` if used twice."""
        order, uses = self.needed(outputs)
        expressions: dict[int, Any] = {}
        steps: list[tuple[sp.Symbol, Any]] = []
        for place in order:
            key = self.keys[place]
            if key[0] == "leaf":
                expressions[place] = key[1]
                continue
            expr = WRITTEN[key[0]](*(expressions[k] for k in key[1:]))
            name = None if _short(expr) else names.get(place)
            if name is None and uses[place] > 1 and not _short(expr):
                name = fresh()
            if name is not None:
                symbol = sp.Symbol(name, real=True)
                steps.append((symbol, expr))
                expr = symbol
            expressions[place] = expr
        return steps, [expressions[x.place] for x in outputs]


def _short(expr: Any) -> bool:
    """A number, a symbol, or one times the other: no name makes it shorter."""
    _, rest = sp.sympify(expr).as_coeff_Mul()
    return rest.is_Atom
