"""Tables and numbers as the pages show them."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ..model.quantity import Expression
from .session import plain


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> str:
    """A table; the last `right` columns are set flush right. Nothing in it is markup."""
    rules = [":--"] * (len(header) - right) + ["--:"] * right
    lines = [[plain(cell) for cell in header], rules, *([plain(c) for c in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def short(value: float) -> str:
    """A number of four digits; no -0."""
    return f"{value:.4g}" if abs(value) > 5e-13 else "0"


def typed(value: Any, angle: bool = False) -> str:
    """A quantity as one would type it: a symbol's text, pi/2, or the shortest exact number."""
    if isinstance(value, Expression):
        return value.text
    number = float(value) + 0.0
    if angle and number:
        twelfths = round(12.0 * number / math.pi)
        if twelfths and math.isclose(number, twelfths * math.pi / 12.0, rel_tol=1e-15):
            part = Fraction(twelfths, 12)
            top = {1: "pi", -1: "-pi"}.get(part.numerator, f"{part.numerator}*pi")
            return top if part.denominator == 1 else f"{top}/{part.denominator}"
    return repr(number).removesuffix(".0")
