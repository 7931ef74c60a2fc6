"""SymPy expressions in the notation of the pages: c12 for cos(q1 + q2), qd for a rate.

Numbers are decimals; next to a parameter's symbol 1/3 and its like stay fractions.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter
from sympy.printing.str import StrPrinter

from .formula import GREEK

EXACT_DIGITS = 8  # a number typed with at most so many digits is printed as it was typed
ROUNDED_DIGITS = 6  # any other is rounded
PRINTED = 4096  # expressions whose text is kept: layout asks for it again and again
WIDEST_FRACTION = 24  # largest denominator of a number printed as a fraction
HALVES = 10  # numerators of halves, quarters and eighths that are printed so stay below
NOTHING = 1e-13  # of the largest entry: rounding
COORDINATE = re.compile(r"^q(d{0,2})(\d+)$")
INTERMEDIATE = re.compile(r"^([A-Za-z]+?)(d{0,2})([\d,]+)\.(\w+)$")  # w3.x, vd2.y, A56.12
ENTRY = re.compile(r"^([A-Za-z]+)(\d+)[,_](\d+)$")  # J2,3
ACCENT = ("", "dot", "ddot")
RATES = ("q", r"\dot{q}", r"\ddot{q}")
MOTOR = re.compile(r"^th(d{0,2})(\d+)$")  # a motor that moves by itself
MOTOR_RATES = (r"\theta", r"\dot{\theta}", r"\ddot{\theta}")
TRAILING = re.compile(r"^(.*?)(\d+)$")


def entries(matrix: Any) -> list[tuple[int, int, Any]]:
    """(row, column, entry) of a matrix, zeros left out."""
    places = ((i, j) for i in range(matrix.rows) for j in range(matrix.cols))
    return [(i, j, matrix[i, j]) for i, j in places if matrix[i, j] != 0]


def symbol_latex(name: str) -> str:
    """q1, qd1, w3.x, J2,3, m1, lc2, alpha_1 as LaTeX."""
    for pattern, rates in ((COORDINATE, RATES), (MOTOR, MOTOR_RATES)):
        if found := pattern.match(name):
            dots, index = found.groups()
            return rates[len(dots)] + f"_{{{index}}}"
    if found := INTERMEDIATE.match(name):
        letter, dots, index, component = found.groups()
        base = r"\omega" if letter == "w" else rf"\{letter}" if letter in GREEK else letter
        base = rf"\{ACCENT[len(dots)]}{{{base}}}" if dots else base
        if component.isdigit():
            return f"{base}_{{{index}}}^{{({component})}}"
        return f"{base}_{{{index}{component}}}"
    if found := ENTRY.match(name):
        return "{}_{{{},{}}}".format(*found.groups())
    stem, _, below = name.partition("_")
    if not below and (found := TRAILING.match(name)):
        stem, below = found.groups()
    stem = stem or name
    letter = rf"\{stem}" if stem in GREEK else rf"\mathit{{{stem}}}" if stem[1:] else stem
    if below and not below.isdigit():
        below = rf"\mathrm{{{below}}}".replace("_", r"\_")
    return f"{letter}_{{{below}}}" if below else letter


def angle_index(angle: Any) -> str | None:
    """12 for q1 + q2; None for any other angle."""
    found = [COORDINATE.match(str(x)) for x in sp.Add.make_args(angle)]
    if not all(m and not m[1] for m in found):
        return None
    indices = sorted(int(m[2]) for m in found if m)
    return ("," if indices[-1] > 9 else "").join(map(str, indices))


class _Latex(LatexPrinter):
    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        return symbol_latex(expr.name)

    def _print_Float(self, expr: sp.Float) -> str:
        return scientific(f"{float(expr):.{EXACT_DIGITS}g}")

    def _print_Mul(self, expr: sp.Mul) -> str:
        first, *rest = expr.args
        if not isinstance(first, sp.Rational) or first.is_Integer:
            return super()._print_Mul(expr)
        # the fraction in front: symbols above a stroke would be small, and lines could not break
        inside = self._print(rest[0] if len(rest) == 1 else sp.Mul(*rest, evaluate=False))
        if isinstance(rest[0], sp.Add) and len(rest) == 1:
            inside = rf"\left({inside}\right)"
        return rf"{self._print(first)} \, {inside}"

    def _print_sin(self, expr: Any, exp: Any = None) -> str:
        name, index = expr.func.__name__, angle_index(expr.args[0])
        power = "" if exp is None else f"^{{{exp}}}"
        if index is None:
            return rf"\{name}{power}\left({self._print(expr.args[0])}\right)"
        return f"{name[0]}_{{{index}}}{power}"

    _print_cos = _print_sin

    def _print_sign(self, expr: Any, exp: Any = None) -> str:
        return rf"\operatorname{{sign}}\left({self._print(expr.args[0])}\right)"

    def _print_atan2(self, expr: Any) -> str:
        inside = ", ".join(self._print(x) for x in expr.args)
        return rf"\operatorname{{atan2}}\left({inside}\right)"

    def _print_Max(self, expr: Any, exp: Any = None) -> str:
        inside = ", ".join(self._print(x) for x in expr.args)
        return rf"\max\left({inside}\right)"


class _Text(StrPrinter):
    def _print_Symbol(self, expr: sp.Symbol) -> str:
        name, _, entry = expr.name.partition(".")
        return f"{name}^({entry})" if entry.isdigit() else name + entry

    def _print_Float(self, expr: sp.Float) -> str:
        return f"{float(expr):.{EXACT_DIGITS}g}"

    def _print_sin(self, expr: Any) -> str:
        name, index = expr.func.__name__, angle_index(expr.args[0])
        return f"{name}({self._print(expr.args[0])})" if index is None else f"{name[0]}{index}"

    _print_cos = _print_sin

    def _print_Pow(self, expr: sp.Pow, rational: bool = False) -> str:
        return super()._print_Pow(expr, rational).replace("**", "^")


_LATEX = _Latex({"mul_symbol": r" \, ", "order": "none"})
_TEXT = _Text({"order": "none"})


@lru_cache(maxsize=PRINTED)
def latex(expression: sp.Expr) -> str:
    """An expression as LaTeX."""
    return _LATEX.doprint(arranged(decimal(expression)))


@lru_cache(maxsize=PRINTED)
def text(expression: sp.Expr) -> str:
    """An expression as plain text."""
    return _TEXT.doprint(arranged(decimal(expression))).replace("*", " ")


def decimal(expression: Any) -> Any:
    """The expression with every number as it is printed; exponents stay."""
    return _numbers(expression, has_parameters(expression))


def _numbers(expression: Any, symbolic: bool) -> Any:
    if isinstance(expression, sp.Rational) and not expression.is_Integer:
        found = fraction(expression, symbolic) if symbolic else None
        return sp.Float(_rounded(expression), 15) if found is None else found
    if not expression.args:
        return expression
    if isinstance(expression, sp.Pow):
        return sp.Pow(_numbers(expression.base, symbolic), expression.exp)
    parts = [_numbers(x, symbolic) for x in expression.args]
    same = all(a is b for a, b in zip(parts, expression.args, strict=True))
    return expression if same else expression.func(*parts)


def has_parameters(expression: Any) -> bool:
    """Whether symbols of the model are in it, not only coordinates and intermediate results."""
    own = (COORDINATE, INTERMEDIATE, ENTRY)
    return any(not any(x.match(s.name) for x in own) for s in expression.free_symbols)


def fraction(value: sp.Rational, symbolic: bool) -> Any:
    """1/2, 5/6, with symbols 3/4 too: a number better read as a fraction; None for any other."""
    found = Fraction(int(value.p), int(value.q)).limit_denominator(WIDEST_FRACTION)
    bottom = found.denominator
    if bottom == 1 or abs(value - found) > NOTHING * abs(value):
        return None
    short = bottom in ((2, 4, 8) if symbolic else (2,))
    ends = 10**WIDEST_FRACTION % bottom == 0  # as a decimal number
    if ends and not (short and abs(found.numerator) < HALVES):
        return None
    return sp.Rational(found.numerator, bottom)


def arranged(expression: sp.Expr) -> sp.Expr:
    """Factors in the order number, parameters, coordinates, rates, sines and cosines by joint."""
    if isinstance(expression, sp.Add):
        return sp.Add(*(arranged(x) for x in terms(expression)), evaluate=False)
    if isinstance(expression, sp.Mul):
        return sp.Mul(*map(arranged, sorted(expression.args, key=_place)), evaluate=False)
    return expression


def terms(expression: sp.Expr) -> list[sp.Expr]:
    """Terms of a sum: accelerations first, then velocities, then the rest."""

    def rank(term: Any) -> int:
        orders = [len(m[1]) for x in term.free_symbols if (m := COORDINATE.match(str(x)))]
        return -max(orders, default=0)

    found: Any = expression.as_ordered_terms()
    return sorted(found, key=rank)


def _place(factor: sp.Expr) -> tuple:
    base = factor.base if isinstance(factor, sp.Pow) else factor
    if base.is_number:
        return (0, 0, "")
    if isinstance(base, (sp.sin, sp.cos)):
        return (4, angle_index(base.args[0]) or "9", str(base))
    if not isinstance(base, sp.Symbol):
        return (5, 0, str(base))
    found = COORDINATE.match(base.name)
    return (2 + len(found[1]) / 4, int(found[2]), "") if found else (1, 0, base.name)


def _rounded(value: sp.Rational) -> str:
    exact = f"{float(value):.15g}"
    digits = exact.split("e", maxsplit=1)[0].replace(".", "").replace("-", "").lstrip("0")
    return exact if len(digits) <= EXACT_DIGITS else f"{float(value):.{ROUNDED_DIGITS}g}"


def scientific(digits: str) -> str:
    """1.5e-07 as LaTeX."""
    mantissa, _, power = digits.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def number(value: float, largest: float = 0.0) -> str:
    """A computed number to six digits; what is rounding next to `largest` is 0."""
    if abs(value) <= NOTHING * max(largest, 1.0):
        return "0"
    return f"{value:.{ROUNDED_DIGITS}g}"
