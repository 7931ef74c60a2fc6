"""SymPy as a scalar: exact numbers, the functions an algorithm needs, and a chain of symbols.

Algorithms are full of float literals (0.0, 0.5, 2.0) and a model is full of floats: over `Exact`
both become rationals, so 17.4 * 0.006 is 0.1044 and nothing turns into a SymPy Float. A constant
angle that is no simple fraction of pi gets a rational cosine and sine with c^2 + s^2 = 1 exactly.
"""

import ast
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from ...errors import SymbolError
from ...model.chain import Chain, Elasticity, chain
from ...model.drive import CIRCUIT, ELASTIC
from ...model.model import Model
from ...model.quantity import Expression
from ...spatial.functions import SNAP, Functions, zero
from ...spatial.recorder import COMPARISONS, OPERATIONS, Arithmetic
from ...spatial.tape import Tape

DENOMINATOR = 10**8  # of tan(angle / 2): cosine and sine are then right to about 1e-16
STEP = math.pi / 12
ROOTS = 12  # largest denominator of an exponent
UNITY = ("gear", "force", "exponent", "efficiency")  # where 1 means none of it
KEPT = {  # fields of a model that hold no numbers, or numbers that no equation contains
    "name", "joint", "joint_name", "parent", "axis", "limits", "velocity_limit", "effort_limit",
    "rotor_axis", "rotor_link", "values", "configurations", "convention", "description", "law",
    "tool_link", "tool_name", "base_name", "rotors", "link", "findings", *CIRCUIT,
    "kind", "from_", "to", "lengths", "forces", "loads", "between", "closure_tolerance",
    "closure_condition", "radii",
}  # fmt: skip


def exact(x: Any) -> Any:
    """A float as the decimal number it was typed as (15 digits); everything else unchanged."""
    if isinstance(x, bool) or not isinstance(x, (int, float)):
        return x
    return sp.Rational(f"{float(x):.15g}")


class Exact(Arithmetic):
    """A SymPy expression under + - * / **, with floats taken as decimals."""

    __slots__ = ("expr",)

    def __init__(self, expr: Any):
        self.expr = sp.sympify(plain(expr))

    def operation(self, name: str, *operands: Any) -> Any:
        """Exact over exact operands; a comparison is SymPy's own."""
        if name == "pow" and isinstance(operands[1], float):  # 1/3 is meant, not 0.333333333333333
            operands = operands[0], sp.Rational(Fraction(operands[1]).limit_denominator(ROOTS))
        values = [plain(x) for x in operands]
        if name == "div" and sp.sympify(values[1]).is_zero:
            raise ZeroDivisionError("division by zero")
        result = OPERATIONS[name](*values)
        return result if name in COMPARISONS else Exact(result)

    def __float__(self) -> float:
        return float(self.expr)


def plain(x: Any) -> Any:
    """The SymPy expression behind any scalar."""
    return x.expr if isinstance(x, Exact) else exact(x)


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


SYMPY = Functions(
    **{
        name: getattr(sp, name)
        for name in ("sin", "cos", "sqrt", "exp", "tanh", "sign", "floor", "log", "atan2")
    },
    min=sp.Min,
    max=sp.Max,
    select=lambda condition, a, b: sp.Piecewise((a, condition), (b, True)),
)


def _lifted(function: Callable[..., Any]) -> Callable[..., Exact]:
    return lambda *arguments: Exact(function(*(plain(x) for x in arguments)))


EXACT = Functions(**{name: _lifted(f) for name, f in SYMPY._asdict().items()})._replace(
    sin=_lifted(lambda x: cosine_sine(x)[1]), cos=_lifted(lambda x: cosine_sine(x)[0])
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
    names = _SymbolNames(model.symbols, screws=model.gear_matrix is None)
    bare = replace(model, values={}, configurations={}, geometry=())
    return names.named(bare, ""), names.values


class _SymbolNames(ast.NodeTransformer):
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

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        number = node.value if isinstance(node.value, int) else float(node.value)  # type: ignore
        return ast.Name(self.name(sp.Rational(str(number))), ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.name(sp.pi), ast.Load()) if node.id == "pi" else node

    def named(self, value: Any, field: str) -> Any:
        """A number, expression or field of the model, with symbols for its numbers."""
        if isinstance(value, float):
            kept = value == 0.0 or (field in UNITY and value == 1.0)
            return value if kept else Expression(self.name(value))
        if isinstance(value, Expression):
            return Expression(ast.unparse(self.visit(ast.parse(value.text, mode="eval"))))
        if isinstance(value, tuple):
            return tuple(self.named(x, field) for x in value)
        if isinstance(value, Mapping):
            return {key: self.named(x, field) for key, x in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            found = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in KEPT}
            if found.get("lead") is not None:
                if self.screws:  # with pi itself
                    found["gear"] = Expression(f"2*pi/({found['lead']})")
                found["lead"] = None
            return replace(value, **{k: self.named(x, k) for k, x in found.items()})
        return value


def model_symbols(model: Model) -> dict[str, sp.Symbol]:
    """A real SymPy symbol for every symbol of the model."""
    return {name: sp.Symbol(name, real=True) for name in model.symbols}


def symbolic_chain(model: Model) -> Chain:
    """The canonical chain over SymPy, the model's symbols kept.

    Every number of it is exact: the model's numbers go in as decimals, and stay so.
    """
    named, numbers = numbers_as_symbols(model)
    symbols = {name: Exact(value) for name, value in model_symbols(model).items()}
    values = {**numbers, **symbols}
    found = converted(chain(named, values, EXACT), plain)
    with suppress(SymbolError):  # what counts of the closures is known by numbers only
        found = replace(found, mobility=chain(model).mobility)
    return found


def converted(raw: Chain, function: Any) -> Chain:
    """A chain with `function` applied to its scalars; what counts or names stays what it is.

    So does the 0 of what is not there: a coordinate that does not move a joint, friction that no
    load changes.
    """
    kept = (str, bool, type(None), Tape)
    result = mapped(raw, lambda x: x if isinstance(x, kept) else function(x))
    joints = tuple(
        new._replace(parent=old.parent) for new, old in zip(result.joints, raw.joints, strict=True)
    )
    forces, closures = [], []
    for new, old in zip(result.forces, raw.forces, strict=True):
        forces.append(new._replace(joint=old.joint, ends=_ends(new, old)))
    for new, old in zip(result.closures, raw.closures, strict=True):
        closures.append(new._replace(ends=_ends(new, old)))
    resistances = tuple(
        new._replace(load=old.load) if zero(old.load) else new
        for new, old in zip(result.resistances, raw.resistances, strict=True)
    )
    elastic = tuple(
        old._replace(**{x: function(y) for x, y in _constants(old) if not zero(y)})
        for old in raw.elastic
    )
    coupling = raw.coupling and tuple(
        tuple(x if zero(x) else function(x) for x in row) for row in raw.coupling
    )
    return replace(
        result, joints=joints, tip=raw.tip, rotors=raw.rotors, forces=tuple(forces),
        resistances=resistances, coupling=coupling, closures=tuple(closures), driven=raw.driven,
        tolerance=raw.tolerance, condition=raw.condition, mobility=raw.mobility, elastic=elastic,
    )  # fmt: skip


def _constants(gear: Elasticity) -> list[tuple[str, Any]]:
    """Constants of an elastic gear by name."""
    return [(x, getattr(gear, x)) for x in ("stiffness", *ELASTIC)]


def _ends(new: Any, old: Any) -> tuple:
    """Ends of a spring or closure, on the links they were on."""
    return tuple((link, place) for (link, _), (_, place) in zip(old.ends, new.ends, strict=True))


def exactly(algorithm: Any, raw: Chain, *arguments: Any, **options: Any) -> Any:
    """A scalar-generic algorithm over SymPy, its own float literals taken as exact numbers."""
    lifted = [mapped(list(x), Exact) for x in arguments]
    return mapped(algorithm(converted(raw, Exact), *lifted, fn=EXACT, **options), plain)


def coordinates(n: int) -> tuple[list[sp.Symbol], list[sp.Symbol], list[sp.Symbol]]:
    """Symbols q1.., qd1.., qdd1..; real."""
    return tuple(  # type: ignore[return-value]
        [sp.Symbol(f"{name}{i + 1}", real=True) for i in range(n)] for name in ("q", "qd", "qdd")
    )
