"""SymPy as a scalar: the functions an algorithm needs, exact numbers, and a chain of symbols."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import sympy as sp

from ..model.chain import Chain, chain
from ..model.model import Model
from ..spatial.functions import Functions

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
)


def exact(x: Any) -> Any:
    """A float as the decimal number it was typed as (15 digits); everything else unchanged."""
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return x
    return sp.Rational(f"{float(x):.15g}")


def mapped(thing: Any, function: Any) -> Any:
    """`function` applied to every scalar of nested tuples, named tuples and dataclasses."""
    if isinstance(thing, tuple):
        items = [mapped(x, function) for x in thing]
        return type(thing)(*items) if hasattr(thing, "_fields") else tuple(items)
    if isinstance(thing, dict):
        return {key: mapped(value, function) for key, value in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        changes = {f.name: mapped(getattr(thing, f.name), function) for f in fields(thing)}
        return replace(thing, **changes)
    return function(thing)


def model_symbols(model: Model) -> dict[str, sp.Symbol]:
    """A real SymPy symbol for every symbol of the model."""
    return {name: sp.Symbol(name, real=True) for name in model.symbols}


def symbolic_chain(model: Model, keep: bool = True) -> Chain:
    """The canonical chain over SymPy: the model's symbols kept (or replaced by their values)."""
    values = model_symbols(model) if keep else {k: exact(v) for k, v in model.values.items()}
    raw = chain(model, values, SYMPY)
    structure = {f: getattr(raw, f) for f in ("tip", "rotors")}  # whole numbers stay what they are
    result = mapped(raw, exact)
    joints = tuple(
        new._replace(parent=old.parent) for new, old in zip(result.joints, raw.joints, strict=True)
    )
    motors = tuple(
        new._replace(coupled=old.coupled)
        for new, old in zip(result.motors, raw.motors, strict=True)
    )
    return replace(result, joints=joints, motors=motors, **structure)


def coordinates(n: int) -> tuple[list[sp.Symbol], list[sp.Symbol], list[sp.Symbol]]:
    """Symbols q1.., qd1.., qdd1..; real."""
    return tuple(  # type: ignore[return-value]
        [sp.Symbol(f"{name}{i + 1}", real=True) for i in range(n)] for name in ("q", "qd", "qdd")
    )
