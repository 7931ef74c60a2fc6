"""What a derivation computes with: the chain, its links one by one, a state, and their scalars.

The same steps run over polynomials (what is printed) and over floats (the numbers beside it).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from ...dynamics import coupling
from ...model.chain import Chain, chain
from ...model.model import Model
from ...model.pose import Pose
from ...spatial.functions import MATH, Functions
from ...spatial.vectors import Vector
from ..scalars.polynomial import Alphabet
from ..scalars.scalars import converted, coordinates, symbolic_chain

BUDGET = 400_000  # products of terms: some seconds
NAMED_FROM = 4  # joints from which on long vectors get names


@dataclass(frozen=True)
class Setting:
    """A robot at one state over one kind of scalar; x, xd, xdd are those of the tree's joints."""

    model: Model
    fn: Functions
    chain: Chain
    links: tuple[Chain, ...]  # every link as a robot of its own, in the user's frame before it
    x: Sequence[Any]
    xd: Sequence[Any]
    xdd: Sequence[Any]
    named: Callable[[str, Sequence[Any]], Sequence[Any]]  # long entries replaced by their names

    def vector(self, name: str, v: Vector) -> Vector:
        """A vector to compute on with: itself, or the names name.x, name.y, name.z."""
        keys = [f"{name}.{axis}" for axis in "xyz"]
        return tuple(self.named(k, [c])[0] for k, c in zip(keys, v, strict=True))  # type: ignore

    def matrix(self, name: str, columns: Sequence[Vector]) -> list[Vector]:
        """Columns to compute on with, entries named name.11 and so on."""
        return [
            tuple(self.named(f"{name}.{r + 1}{c + 1}", [x])[0] for r, x in enumerate(column))
            for c, column in enumerate(columns)
        ]  # type: ignore[return-value]


def numeric(model: Model, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float]) -> Setting:
    """A setting over floats."""
    whole = chain(model)
    links = tuple(chain(one_link(model, i)) for i in range(len(model.links)))
    x, xd, xdd = _tree(whole, q, qd, qdd)
    return Setting(model, MATH, whole, links, x, xd, xdd, lambda name, values: values)


def symbolic(model: Model) -> tuple[Setting, Alphabet]:
    """A setting over polynomials, and their letters."""
    letters = Alphabet(BUDGET)

    def lift(value: Any) -> Any:
        return value if isinstance(value, bool) else letters.of(value)

    whole = converted(symbolic_chain(model), lift)
    links = tuple(
        converted(symbolic_chain(one_link(model, i)), lift) for i in range(len(model.links))
    )
    state = [[letters.of(s) for s in row] for row in coordinates(model.n)]
    x, xd, xdd = _tree(whole, *state)
    many = len(model.links) >= NAMED_FROM

    def named(name: str, values: Sequence[Any]) -> Sequence[Any]:
        short = [not many or len(letters.of(v)) <= 1 for v in values]
        own = letters.of(sp.Symbol(name, real=True))
        return [v if keep else own for v, keep in zip(values, short, strict=True)]

    return Setting(model, letters.functions(), whole, links, x, xd, xdd, named), letters


def one_link(model: Model, i: int) -> Model:
    """Link i alone, on a base where the user's frame of the link before is."""
    link = replace(model.links[i], parent=None, mimic=None)
    last = i == model.tip
    return replace(
        model,
        links=(link,),
        base=Pose(),
        tool=model.tool if last else Pose(),
        tool_link=None,
        gravity=(0.0, 0.0, 0.0),
        payload=model.payload if last else None,
        gear_matrix=None,
        rotors="reflected",
        frames=(),
        configurations={},
    )


def _tree(whole: Chain, q: Sequence[Any], qd: Sequence[Any], qdd: Sequence[Any]) -> tuple:
    rates = [coupling.rates(whole, v) for v in (qd, qdd)]
    return list(coupling.positions(whole, q)), *(list(v) for v in rates)
