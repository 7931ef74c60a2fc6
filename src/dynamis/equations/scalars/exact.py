"""Exact numbers: a SymPy scalar that meets floats as the decimals they were typed as.

Algorithms are full of float literals (0.0, 0.5, 2.0) and a model is full of floats: over `Exact`
both become rationals, so 17.4 * 0.006 is 0.1044 and nothing turns into a SymPy Float. A constant
angle that is no simple fraction of pi gets a rational cosine and sine with c^2 + s^2 = 1 exactly.
"""

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from ...model.drive import CIRCUIT
from ...model.model import Model
from ...model.quantity import Expression
from ...spatial.functions import SNAP, Functions

DENOMINATOR = 10**8  # of tan(angle / 2): cosine and sine are then right to about 1e-16
STEP = math.pi / 12
ROOTS = 12  # largest denominator of an exponent
KEPT = {  # fields of a model that hold no numbers, or numbers that no equation contains
    "name", "joint", "joint_name", "parent", "axis", "limits", "velocity_limit", "effort_limit",
    "rotor_axis", "rotor_link", "values", "configurations", "convention", "description", "law",
    "tool_link", "tool_name", "base_name", "rotors", "link", "findings", *CIRCUIT,
}  # fmt: skip


def exact(x: Any) -> Any:
    """A float as the decimal number it was typed as (15 digits); everything else unchanged."""
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return x
    return sp.Rational(f"{float(x):.15g}")


class Exact:
    """A SymPy expression under + - * / **, with floats taken as decimals."""

    __slots__ = ("expr",)

    def __init__(self, expr: Any):
        self.expr = sp.sympify(plain(expr))

    def __add__(self, other: Any) -> "Exact":
        return Exact(self.expr + plain(other))

    def __sub__(self, other: Any) -> "Exact":
        return Exact(self.expr - plain(other))

    def __rsub__(self, other: Any) -> "Exact":
        return Exact(plain(other) - self.expr)

    def __mul__(self, other: Any) -> "Exact":
        return Exact(self.expr * plain(other))

    def __truediv__(self, other: Any) -> "Exact":
        return Exact(self.expr / _divisor(plain(other)))

    def __rtruediv__(self, other: Any) -> "Exact":
        return Exact(plain(other) / _divisor(self.expr))

    def __pow__(self, other: Any) -> "Exact":
        if isinstance(other, float):  # 1/3 is meant, not 0.333333333333333
            other = sp.Rational(Fraction(other).limit_denominator(ROOTS))
        return Exact(self.expr ** plain(other))

    def __neg__(self) -> "Exact":
        return Exact(-self.expr)

    __radd__ = __add__
    __rmul__ = __mul__

    def __gt__(self, other: Any) -> Any:
        return self.expr > plain(other)

    def __lt__(self, other: Any) -> Any:
        return self.expr < plain(other)

    def __float__(self) -> float:
        return float(self.expr)


def plain(x: Any) -> Any:
    """The SymPy expression behind any scalar."""
    return x.expr if isinstance(x, Exact) else exact(x)


def _divisor(x: Any) -> Any:
    if sp.sympify(x).is_zero:
        raise ZeroDivisionError("division by zero")
    return x


def cosine_sine(angle: Any) -> tuple[Any, Any]:
    """(cos, sin): radicals for multiples of 30 and 45 degrees, rationals for other constants."""
    angle = sp.sympify(angle)
    if angle.free_symbols:
        return sp.cos(angle), sp.sin(angle)
    x = float(angle)
    k = round(x / STEP)
    if abs(x - k * STEP) < SNAP and (k % 2 == 0 or k % 3 == 0):
        return sp.cos(k * sp.pi / 12), sp.sin(k * sp.pi / 12)
    t = Fraction(math.tan(x / 2)).limit_denominator(DENOMINATOR)
    c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    return sp.Rational(c.numerator, c.denominator), sp.Rational(s.numerator, s.denominator)


def _lifted(function: Callable[..., Any]) -> Callable[..., Exact]:
    return lambda *arguments: Exact(function(*(plain(x) for x in arguments)))


EXACT = Functions(
    sin=_lifted(lambda x: cosine_sine(x)[1]),
    cos=_lifted(lambda x: cosine_sine(x)[0]),
    sqrt=_lifted(sp.sqrt),
    exp=_lifted(sp.exp),
    tanh=_lifted(sp.tanh),
    sign=_lifted(sp.sign),
    min=_lifted(sp.Min),
    max=_lifted(sp.Max),
    select=lambda condition, a, b: Exact(sp.Piecewise((plain(a), condition), (plain(b), sp.true))),
)


def mapped(thing: Any, function: Any) -> Any:
    """`function` applied to every scalar of nested tuples, lists, named tuples and dataclasses."""
    if isinstance(thing, tuple):
        items = [mapped(x, function) for x in thing]
        return type(thing)(*items) if hasattr(thing, "_fields") else tuple(items)
    if isinstance(thing, list):
        return [mapped(x, function) for x in thing]
    if isinstance(thing, Mapping):
        return {key: mapped(value, function) for key, value in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        changes = {f.name: mapped(getattr(thing, f.name), function) for f in fields(thing)}
        return replace(thing, **changes)
    return function(thing)


def numbers_as_symbols(model: Model) -> tuple[Model, dict[str, Exact]]:
    """The model with every number replaced by a symbol, and the exact values of those symbols."""
    names = _Names(model.symbols, screws=model.gear_matrix is None)
    return names.visit(replace(model, values={}, configurations={}), ""), names.values


class _Names:
    """One symbol per number; zero stays, and so does the gear ratio of no gear."""

    def __init__(self, taken: tuple[str, ...], screws: bool):
        self.screws = screws
        self.prefix = "number_"
        while any(name.startswith(self.prefix) for name in taken):
            self.prefix += "_"
        self.values: dict[str, Exact] = {}
        self.known: dict[Any, str] = {}

    def name(self, value: Any) -> str:
        if value not in self.known:
            self.known[value] = f"{self.prefix}{len(self.known)}"
            self.values[self.known[value]] = Exact(value)
        return self.known[value]

    def visit(self, value: Any, field: str) -> Any:
        if isinstance(value, float):
            kept = value == 0.0 or (field == "gear" and value == 1.0)
            return value if kept else Expression(self.name(value))
        if isinstance(value, Expression):
            tree = ast.parse(value.text, mode="eval")
            return Expression(ast.unparse(_Rename(self).visit(tree)))
        if isinstance(value, tuple):
            return tuple(self.visit(x, field) for x in value)
        if isinstance(value, Mapping):
            return {key: self.visit(x, field) for key, x in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            found = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in KEPT}
            if found.get("lead") is not None:
                if self.screws:  # with pi itself
                    found["gear"] = Expression(f"2*pi/({found['lead']})")
                found["lead"] = None
            return replace(value, **{k: self.visit(x, k) for k, x in found.items()})
        return value


class _Rename(ast.NodeTransformer):
    """Numbers and pi inside an expression."""

    def __init__(self, names: _Names):
        self.names = names

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        number = node.value if isinstance(node.value, int) else float(node.value)  # type: ignore
        return ast.Name(self.names.name(sp.Rational(str(number))), ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.name(sp.pi), ast.Load()) if node.id == "pi" else node
