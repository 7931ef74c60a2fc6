"""SymPy as a scalar: the functions an algorithm needs, exact numbers, and a chain of symbols."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from ...model.chain import Chain, chain
from ...model.model import Model
from ...spatial.functions import Functions
from .exact import EXACT, Exact, exact, mapped, numbers_as_symbols, plain

SYMPY = Functions(
    sin=sp.sin,
    cos=sp.cos,
    sqrt=sp.sqrt,
    exp=sp.exp,
    tanh=sp.tanh,
    sign=sp.sign,
    min=sp.Min,
    max=sp.Max,
    select=lambda condition, a, b: sp.Piecewise((a, condition), (b, True)),
    floor=sp.floor,
)


def model_symbols(model: Model) -> dict[str, sp.Symbol]:
    """A real SymPy symbol for every symbol of the model."""
    return {name: sp.Symbol(name, real=True) for name in model.symbols}


def symbolic_chain(model: Model, keep: bool = True) -> Chain:
    """The canonical chain over SymPy: the model's symbols kept (or replaced by their values).

    Every number of it is exact: the model's numbers go in as decimals, and stay so.
    """
    named, numbers = numbers_as_symbols(model)
    given: Mapping[str, Any] = model_symbols(model) if keep else model.values
    values = {**numbers, **{name: Exact(value) for name, value in given.items()}}
    return converted(chain(named, values, EXACT), plain)


def converted(raw: Chain, function: Any) -> Chain:
    """A chain with `function` applied to its scalars; what counts or names stays what it is."""
    kept = (str, bool, type(None))
    result = mapped(raw, lambda x: x if isinstance(x, kept) else function(x))
    joints = tuple(
        new._replace(parent=old.parent) for new, old in zip(result.joints, raw.joints, strict=True)
    )
    return replace(result, joints=joints, tip=raw.tip, rotors=raw.rotors)


def exactly(algorithm: Any, raw: Chain, *arguments: Any, **options: Any) -> Any:
    """A scalar-generic algorithm over SymPy, its own float literals taken as exact numbers."""
    lifted = [mapped(list(x), Exact) for x in arguments]
    return mapped(algorithm(converted(raw, Exact), *lifted, fn=EXACT, **options), plain)


def coordinates(n: int) -> tuple[list[sp.Symbol], list[sp.Symbol], list[sp.Symbol]]:
    """Symbols q1.., qd1.., qdd1..; real."""
    return tuple(  # type: ignore[return-value]
        [sp.Symbol(f"{name}{i + 1}", real=True) for i in range(n)] for name in ("q", "qd", "qdd")
    )


__all__ = [
    "EXACT", "SYMPY", "Exact", "converted", "coordinates", "exact", "exactly", "mapped",
    "model_symbols", "plain", "symbolic_chain",
]  # fmt: skip
