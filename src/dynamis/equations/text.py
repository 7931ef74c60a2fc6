"""Equations as text that Python can read: numbers as the decimals they came from."""

from collections.abc import Sequence
from typing import Any

import sympy as sp

DIGITS = 10  # of a number that is no short decimal
WIDEST_FRACTION = 12  # denominators up to here stay fractions where they are no decimals


def text(expr: Any) -> str:
    """One expression."""
    return sp.sstr(decimals(sp.sympify(expr)))


def line(name: Any, expr: Any) -> str:
    """name = expression"""
    return f"{name} = {text(expr)}"


def joined(parts: Sequence[Any]) -> str:
    """A sum of expressions in the order given."""
    result = ""
    for part in parts:
        if part == 0:
            continue
        shown = text(part)
        if shown.startswith("-"):
            result += f" - {shown[1:]}" if result else shown
        else:
            result += f" + {shown}" if result else shown
    return result or "0"


def matrix_lines(name: str, matrix: Any) -> list[str]:
    """Entries line by line, zeros left out."""
    gap = "" if max(matrix.shape) < 10 else "_"
    lines = []
    for i in range(matrix.rows):
        for j in range(matrix.cols):
            label = f"{name}{i + 1}" if matrix.cols == 1 else f"{name}{i + 1}{gap}{j + 1}"
            if matrix[i, j] != 0:
                lines.append(line(label, matrix[i, j]))
    return lines or [f"{name} = 0"]


def decimals(expr: Any) -> Any:
    """Rationals as decimals, for printing only: exponents and halves stay as they are."""
    if isinstance(expr, sp.Rational):
        return _decimal(expr)
    if isinstance(expr, sp.Pow):
        return sp.Pow(decimals(expr.base), expr.exp, evaluate=False)
    if not expr.args:
        return expr
    return expr.func(*(decimals(x) for x in expr.args))


def _decimal(x: sp.Rational) -> Any:
    odd = int(x.q)
    for prime in (2, 5):
        while odd % prime == 0:
            odd //= prime
    short = x.q == 2 and abs(x.p) < 10
    if x.q == 1 or short or (odd != 1 and x.q <= WIDEST_FRACTION):
        return x
    shown = sp.Symbol(f"{abs(float(x)):.{DIGITS}g}", positive=True)
    return -shown if x < 0 else shown
