"""Numbers, lengths and angles of a table as LaTeX, and the names of axes and frames."""

import re
from fractions import Fraction
from typing import Any

import sympy as sp

from ..equations.render import math as printed
from ..equations.scalars.scalars import EXACT, Exact, plain
from ..model.dh.procedure import tidy
from ..model.dh.table import twelfths_of_pi
from ..model.quantity import Expression
from ..spatial.vectors import Vector

PI, EXACT_PI = re.compile(r"\bpi\b"), "pi_exactly"


def number(x: float) -> str:
    """A number of six digits."""
    return printed.scientific(f"{x + 0.0:.6g}")


def vector(v: Vector, size: float = 1.0) -> str:
    """(0, 0.5, 1), without rounding errors."""
    return f"({', '.join(number(tidy(x, size)) for x in v)})"


def angle(x: Any) -> str:
    r"""An angle: \frac{\pi}{2}, 0.3, or its symbols."""
    if isinstance(x, Expression):
        return expression(x)
    twelfths = twelfths_of_pi(x)
    if twelfths is None:
        return number(x)
    part = Fraction(twelfths, 12)
    if part == 0:
        return "0"
    top = r"\pi" if abs(part.numerator) == 1 else rf"{abs(part.numerator)} \pi"
    sign = "-" if part < 0 else ""
    return (
        f"{sign}{top}" if part.denominator == 1 else rf"{sign}\frac{{{top}}}{{{part.denominator}}}"
    )


def length(x: Any) -> str:
    """A length: a number or its symbols."""
    return expression(x) if isinstance(x, Expression) else number(x)


def expression(x: Expression) -> str:
    """Arithmetic over symbols."""
    return printed.latex(symbolic(x))


def symbolic(x: Any) -> sp.Expr:
    """A quantity as SymPy's: multiples of pi exactly, numbers as they were typed."""
    if not isinstance(x, Expression):
        return sp.sympify(plain(Exact(x)))
    named = Expression(PI.sub(EXACT_PI, x.text))  # else pi would be a number
    values = {name: Exact(sp.Symbol(name, real=True)) for name in x.symbols}
    return sp.sympify(plain(named.evaluate(values | {EXACT_PI: Exact(sp.pi)}, EXACT)))


def exact_angle(x: Any) -> sp.Expr:
    """An angle as SymPy's."""
    twelfths = None if isinstance(x, Expression) else twelfths_of_pi(x)
    return symbolic(x) if twelfths is None else sp.pi * sp.Rational(twelfths, 12)


def plus(variable: str, constant: Any, text: str) -> str:
    """q_1, q_1 + 0.3 or q_1 - \\frac{\\pi}{2}; `text` is that of the constant."""
    if text == "0":
        return variable
    if text.startswith("-"):
        return f"{variable} - {text[1:]}" if not _is_sum(constant) else f"{variable} + ({text})"
    return f"{variable} + {text}"


def equation(name: str, value: str) -> str:
    """name = value, or the name alone where they are the same letter."""
    return name if name == value else f"{name} = {value}"


def _is_sum(x: Any) -> bool:
    return isinstance(x, Expression) and symbolic(x).is_Add is True


class Names:
    """Axes and frames that belong to the joints in a convention."""

    def __init__(self, convention: str):
        self.standard = convention == "standard"

    def z(self, joint: int) -> str:
        """The z along a joint, 1 to n."""
        return f"z_{{{self.carrier(joint)}}}"

    def carrier(self, joint: int) -> int:
        """The frame whose z lies along a joint."""
        return joint - 1 if self.standard else joint

    def bar_row(self, joint: int) -> int:
        """The bar whose length and twist are in the row of a joint."""
        return joint if self.standard else joint - 1
