"""Numbers as people write them in a model: 1.5, "pi/2", "90 deg", or a symbol "m1".

Text is parsed by Python's own `ast` and only arithmetic is accepted: a model file is data and
never executes anything.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..arguments import is_list, real
from ..errors import ModelError, SymbolError, counted, shown
from ..spatial.functions import MATH, Functions
from .law import UserLaw

LONGEST = 200  # characters of an expression
CONSTANTS = {"pi": math.pi}
FUNCTIONS = ("sin", "cos", "sqrt")
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
GREEK_PI = re.compile(r"(?<!\w)π(?!\w)")
EXPECTED = "expected a number, or arithmetic such as 'pi/2', '90 deg' or 'm1*L1**2'"
# an operand (name, number or closing bracket), then perhaps the unit; a power of it is none
DEGREES = re.compile(
    r"(?P<operand>[^\W\d]\w*|\.?\d(?:[eE][+-]\d|[\w.])*?(?=deg\b|[^\w.]|$)|\))"
    r"(?P<unit>\s*(?:deg\b|°)(?!\s*\*\*))?"
)

Scalar = Any  # float, Expression, or whatever an algorithm computes with
Values = Mapping[str, Any]  # of symbols


@dataclass(frozen=True)
class Expression:
    """Arithmetic over symbols, kept as its text."""

    text: str

    def __post_init__(self) -> None:
        _tree(self.text)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names without a fixed meaning, in order of appearance."""
        tree = _tree(self.text)
        called = {n.func for n in ast.walk(tree) if isinstance(n, ast.Call)}
        names = [
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id not in CONSTANTS and node not in called
        ]
        return tuple(dict.fromkeys(names))

    def evaluate(self, values: Values, fn: Functions = MATH) -> Any:
        """The expression with `values` for its symbols, over any scalar."""
        return _evaluate(_tree(self.text), values, fn)

    def __str__(self) -> str:
        return self.text


def quantity(value: Any, where: str) -> float | Expression:
    """A finite float, or an Expression if the text has symbols; `where` names the field."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, str):
        expression = Expression(_plain(value, where))
        if expression.symbols:
            return expression
        value = _number(expression, where)
    number = real(value)
    if number != number and not isinstance(value, float):
        if isinstance(value, int) and not isinstance(value, bool):
            raise ModelError(f"{where} is too large, expected a finite number")
        raise ModelError(f"{where} is {shown(value)}, expected a number or text like 'pi/2'")
    if not math.isfinite(number):
        raise ModelError(f"{where} is {number}, expected a finite number")
    return number


def quantity_text(value: Any, between: str = " ") -> str:
    """A quantity for people to read, or several: a symbol's text, a number of six digits."""
    if isinstance(value, (tuple, list)):
        return between.join(map(quantity_text, value))
    return f"{value + 0.0:.6g}" if isinstance(value, (int, float)) else str(value)


def pi_text(twelfths: int) -> str:
    """k pi / 12 as one would type it: pi/2, -3*pi/4, 0."""
    part = Fraction(twelfths, 12)
    top = {0: "0", 1: "pi", -1: "-pi"}.get(part.numerator, f"{part.numerator}*pi")
    return top if part.denominator == 1 else f"{top}/{part.denominator}"


def quantities(values: Any, count: int, where: str) -> tuple[float | Expression, ...]:
    """Exactly `count` quantities from any sequence."""
    if not is_list(values):
        raise ModelError(f"{where} is {shown(values)}, expected {counted(count, 'number')}")
    items = list(values)
    if len(items) != count:
        what = f"{where} has {counted(len(items), 'entry')}, expected {count}"
        raise ModelError(what, _decimal_commas(items, count))
    return tuple(quantity(item, f"{where}[{i}]") for i, item in enumerate(items))


def settle(data: Any, **changes: Any) -> None:
    """Fill fields of frozen data while it is being made."""
    for name, value in changes.items():
        object.__setattr__(data, name, value)


def check_direction(axis: Any, where: str) -> None:
    """Refuse a direction that has symbols, or none."""
    if any(isinstance(x, Expression) for x in axis or ()):
        raise ModelError(f"{where} is {[str(x) for x in axis]}, expected numbers")
    if axis is not None and not any(axis):
        raise ModelError(f"{where} is (0, 0, 0), expected a direction")


def symbols_in(value: Any) -> tuple[str, ...]:
    """Symbols used anywhere in data, in order of appearance."""
    if isinstance(value, Expression):
        return value.symbols
    if is_dataclass(value):
        value = [getattr(value, f.name) for f in fields(value)]
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, (str, UserLaw)) or not isinstance(value, Iterable):
        return ()
    return tuple(dict.fromkeys(name for item in value for name in symbols_in(item)))


def resolve(value: Any, values: Values, fn: Functions = MATH) -> Any:
    """The scalars behind one quantity or several; a symbol without a value names itself."""
    if isinstance(value, tuple):
        return tuple(resolve(x, values, fn) for x in value)
    if not isinstance(value, Expression):
        return value
    missing = [name for name in value.symbols if name not in values]
    if missing:
        raise SymbolError(
            f"symbol {missing[0]!r} (in {value.text!r}) has no value",
            "give it one in [values], or with robot.with_values("
            f"{missing[0]}=...); robot.equations() keeps it symbolic",
        )
    try:
        result = value.evaluate(values, fn)
    except (ZeroDivisionError, OverflowError) as error:
        result, reason = math.nan, str(error)
    else:
        reason = f"is {result}"
    if isinstance(result, complex) or (isinstance(result, float) and not math.isfinite(result)):
        given = ", ".join(f"{name} = {values[name]}" for name in value.symbols)
        raise ModelError(f"{value.text!r} with {given}: {reason}, expected a finite number")
    return result


def numeric(value: Any, values: Values) -> Any:
    """Data with every symbol replaced by its value; what is out of range then refuses itself."""
    if isinstance(value, Expression):
        return resolve(value, values)
    if isinstance(value, UserLaw):  # a tuple too, without symbols
        return value
    if isinstance(value, tuple):
        return tuple(numeric(x, values) for x in value)
    if isinstance(value, Mapping):
        return {k: numeric(x, values) for k, x in value.items()}
    if not is_dataclass(value):
        return value
    changes = {f.name: numeric(getattr(value, f.name), values) for f in fields(value)}
    return replace(value, **changes)  # type: ignore[type-var]


def _plain(text: str, where: str) -> str:
    """The text with `π` as `pi`, and `deg` as `*pi/180`: it scales what is before it."""
    plain = text.strip()
    if len(plain) <= LONGEST:
        plain = GREEK_PI.sub("pi", plain)
        plain = DEGREES.sub(lambda m: m["operand"] + ("*pi/180" if m["unit"] else ""), plain)
    if len(plain) > LONGEST:
        raise ModelError(
            f"{where} is a text of {len(plain)} characters, expected at most {LONGEST}"
        )
    try:
        _tree(plain)
    except ModelError:
        message = f"{where}: cannot read {text.strip()!r}, {EXPECTED}"
        raise ModelError(message, _spelling(plain)) from None
    return plain


def _spelling(text: str) -> str | None:
    """What to write instead of a decimal comma or of ^ for a power."""
    if comma := re.fullmatch(r"([-+]?\d+),(\d+)", text):
        return f"a number has a decimal point, not a comma: {comma[1]}.{comma[2]}"
    return f"a power is **: {text.replace('^', '**')!r}" if "^" in text else None


def _decimal_commas(items: list[Any], count: int) -> str | None:
    """What to write where so many entries too many may be decimals: [-9,81, 0] for [-9.81, 0]."""
    found, k = [], 0
    while k < len(items) - 1:
        whole, part = items[k : k + 2]
        both = type(whole) is int and type(part) is int and part > 0
        found += [(whole, part)] if both else []
        k += 1 + both
    if not 0 < len(items) - count <= len(found):
        return None
    whole, part = found[0]
    return f"a comma separates entries, decimals have a point: {whole}.{part} for {whole},{part}"


def _number(expression: Expression, where: str) -> float:
    try:
        return expression.evaluate({})
    except (ZeroDivisionError, OverflowError, TypeError) as error:
        reason = "too large" if isinstance(error, OverflowError) else error
        raise ModelError(
            f"{where} is {expression.text!r}: {reason}, expected a finite number"
        ) from None


@lru_cache(maxsize=4096)
def _tree(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ModelError(f"cannot read {text!r}, {EXPECTED}") from None
    for node in ast.walk(tree):
        if not _allowed(node):
            raise ModelError(f"cannot read {text!r}, {EXPECTED}")
    return tree


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        name = node.func
        known = isinstance(name, ast.Name) and name.id in FUNCTIONS
        return known and len(node.args) == 1 and not node.keywords
    if isinstance(node, ast.Name):
        return node.id.isidentifier() and not node.id.startswith("_") and node.id != "deg"
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.USub, ast.UAdd, ast.Load, *OPERATORS))


def _evaluate(node: ast.expr, values: Values, fn: Functions) -> Any:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return CONSTANTS[name] if name in CONSTANTS else values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, values, fn)
        case ast.UnaryOp(operand=operand):
            return _evaluate(operand, values, fn)
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return getattr(fn, name)(_evaluate(argument, values, fn))
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _evaluate(left, values, fn), _evaluate(right, values, fn)
            return OPERATORS[type(op)](a, b)
    raise ModelError(f"cannot evaluate {ast.dump(node)}")
