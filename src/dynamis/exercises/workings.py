"""Worked solutions: the steps from the given numbers to the answers.

Every formula is derived by the package over SymPy, once for each question; the numbers of a student
are then put in. A step whose symbols are not all known is a general formula, without numbers.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy as sp
from sympy.parsing.sympy_parser import parse_expr
from sympy.printing.latex import LatexPrinter

from ..equations.render.formula import plain
from ..equations.render.math import scientific, symbol_latex, terms
from ..errors import OptionError, abbreviated
from .exercise import DIGITS, rounded
from .question import Step
from .questions.draw import SCALES, G, NumberDraw

WORD = re.compile(r"[A-Za-z_]\w*")
FUNCTIONS = (
    "sin",
    "cos",
    "tan",
    "sqrt",
    "exp",
    "log",
    "asin",
    "acos",
    "atan",
    "atan2",
    "pi",
    "abs",
)
BETWEEN = DIGITS + 1  # significant digits of intermediate results
NOTHING = 1e-12  # rounding
PLACE = re.compile("⟦(.*?)⟧")
FIRST = re.compile(r"(^|\\left\(|, )\((-[^()]*)\)(?!\^)")  # a negative number needs no brackets
TWO_LETTERS = re.compile("[A-Za-z][a-zEL]")  # Fx, kp, Jm
BELOW = re.compile(r"\b([A-Za-z])_([A-Za-z])\b")
NAMES = {
    "mc": r"\mathit{mc}", "PM": r"\mathit{PM}", **{f"alpha{k}": rf"\alpha_{{{k}}}" for k in "xyz"},
    "r2": "r^{2}", "qd": r"\dot{q}", "qdd": r"\ddot{q}",
    "qd_max": r"\dot{q}_{\mathrm{max}}", "qdd_max": r"\ddot{q}_{\mathrm{max}}",
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of a working: name = formula = numbers put in = value and unit.

    `name`, `formula` and `numbers` are LaTeX; a general formula has neither numbers nor a value.
    `text` says why, in the language of the exercise.
    """

    text: str
    name: str
    formula: str
    numbers: str
    value: float | None
    unit: str
    digits: int

    @property
    def sides(self) -> list[str]:
        """What stands right of each equals sign, in LaTeX."""
        sides = [self.formula, self.numbers]
        if self.value is not None:
            unit = rf" \; \text{{{self.unit}}}" if self.unit else ""
            sides.append(_number(self.value, self.digits) + unit)
        return [side for side in sides if side]

    def latex(self) -> str:
        """For math mode, one equals sign below the other."""
        rows = r" \\ ".join(f"&= {side}" for side in self.sides)
        return rf"\begin{{aligned}} {self.name} {rows} \end{{aligned}}"

    def __str__(self) -> str:
        """Plain text, one equals sign below the other."""
        name, first, *rest = map(_plain, (self.name, *self.sides))
        return "\n".join([f"{name} = {first}", *(f"{' ' * len(name)} = {x}" for x in rest)])


def worked(
    steps: Sequence[Step], draw: NumberDraw, said: Mapping[str, str], answers: Mapping[str, str]
) -> tuple[Line, ...]:
    """The lines of a question with a student's numbers.

    `said` has the texts of steps by name; `answers` what the steps that are answers are called.
    """
    values = {"g": G} | {k: x * SCALES.get(k, 1.0) for k, x in draw.numbers.items()}
    shown = {k: f"{x:g}" for k, x in values.items()}
    for angle in draw.angles:
        values[angle] = math.radians(values[angle])
        shown[angle] += r"^{\circ}"
    lines = []
    for step in map(_parsed, steps):
        digits = DIGITS if step.name in answers else BETWEEN
        symbols = _symbols(step.formula)
        formula = _filled(step.formula, r" \, ", {x: symbol_of(x) for x in symbols})
        value, put_in = None, ""
        if all(x in values for x in symbols):
            value = _function(step.formula)(*(values[x] for x in symbols))
            value = 0.0 if abs(value) < NOTHING else value
            if symbols and not step.formula.is_Symbol:
                texts = {x: _bracketed(shown[x]) for x in symbols}
                put_in = _filled(step.formula, r" \cdot ", texts)
            values[step.name], shown[step.name] = value, _number(value, BETWEEN)
        called = symbol_of(answers.get(step.name, step.name))
        line = Line(said.get(step.name, ""), called, formula, put_in, value, step.unit, digits)
        lines.append(line)
    return tuple(lines)


def _plain(latex: str) -> str:
    text = plain(latex.replace(r"\omega", r"\text{omega}"))  # w is another symbol
    return BELOW.sub(r"\1\2", text)


def _number(value: float, digits: int) -> str:
    return scientific(rounded(value, digits))


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") or r"\cdot" in number else number


def symbol_of(name: str) -> str:
    """The name of a number in LaTeX: Fx with its x below."""
    if name in NAMES:
        return NAMES[name]
    return f"{name[0]}_{{{name[1]}}}" if TWO_LETTERS.fullmatch(name) else symbol_latex(name)


@cache
def _expression(text: str) -> sp.Expr:
    """A formula that is given as text, such as "m * g * cos(q)"."""
    known = {x: symbol for x in WORD.findall(text) if (symbol := sp.Symbol(x, real=True))}
    known = {x: made for x, made in known.items() if x not in FUNCTIONS}
    try:
        return parse_expr(text, local_dict=known, evaluate=False)
    except Exception as error:
        said = abbreviated(str(error), 100)
        raise OptionError(f"the formula {text!r} of a step could not be read: {said}") from None


def _parsed(step: Step) -> Step:
    formula = step.formula
    return step._replace(formula=_expression(formula) if isinstance(formula, str) else formula)


@cache
def _symbols(formula: sp.Expr) -> list[str]:
    return sorted(str(x) for x in formula.free_symbols)


@cache
def _function(formula: sp.Expr) -> Callable[..., float]:
    return sp.lambdify([sp.Symbol(x, real=True) for x in _symbols(formula)], formula, "math")


def _filled(formula: sp.Expr, times: str, texts: Mapping[str, str]) -> str:
    """A formula in LaTeX with a text for each symbol."""
    found = PLACE.sub(lambda place: texts[place[1]], _template(formula, times))
    return FIRST.sub(r"\1\2", found)


@cache
def _template(formula: sp.Expr, times: str) -> str:
    """A formula in LaTeX with places for its symbols."""
    return _Printer({"mul_symbol": times, "order": "none"}).doprint(_ordered(formula))


def _ordered(formula: Any) -> Any:
    """A formula whose sums begin with what is added, if anything is."""
    if isinstance(formula, sp.Add):
        found = [_ordered(x) for x in terms(formula)]
        if found[0].could_extract_minus_sign():
            found = sorted(found, key=lambda x: x.could_extract_minus_sign())
        return sp.Add(*found, evaluate=False)
    if isinstance(formula, (sp.Mul, sp.Pow)) and not formula.is_number:
        return formula.func(*map(_ordered, formula.args), evaluate=False)
    return formula


class _Printer(LatexPrinter):
    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        return f"⟦{expr.name}⟧"

    def _print_acos(self, expr: Any, exp: Any = None) -> str:
        return self._called("acos", expr)

    def _print_atan2(self, expr: Any, exp: Any = None) -> str:
        return self._called("atan2", expr)

    def _print_atan(self, expr: Any, exp: Any = None) -> str:
        return self._called("atan", expr)

    def _print_ExpBase(self, expr: Any, exp: Any = None) -> str:
        return self._called("exp", expr)

    def _called(self, name: str, expr: Any) -> str:
        inside = ", ".join(map(self._print, expr.args))
        return rf"\operatorname{{{name}}}\left({inside} \right)"
