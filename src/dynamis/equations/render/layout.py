"""Layout of a step, common to all formats."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import sympy as sp

from ..derivation.steps import Item, Step
from .formula import plain
from .math import text

WIDEST = 100  # characters of a column or a sum; a wider one is printed entry by entry
TITLES = {
    "lagrange-euler": "Lagrange-Euler",
    "newton-euler": "Newton-Euler",
    "gibbs-appell": "Gibbs-Appell",
}
LAST_INDEX = re.compile(r"_\{([\d,]+)\}$")


class Entry(NamedTuple):
    """One entry of a matrix that is too wide to print as one."""

    name: str
    expression: sp.Expr
    value: float | None


class Layout(NamedTuple):
    """What is printed in full, and what a line sums up."""

    shown: list[Item]
    zeros: list[str]
    twins: list[tuple[str, str]]


def title(derivation: Any) -> str:
    """The heading of the whole page."""
    return f"{derivation.model.name}: {TITLES.get(derivation.method, derivation.method)}"


def layout(step: Step) -> Layout:
    """Items in full; those that vanish, and those equal to another by symmetry, by name."""
    shown, zeros, twins = [], [], []
    for item in step.items:
        if _says_nothing(item) or _repeats(item):
            continue
        if item.same is not None and not _zero(item):
            twins.append((item.name, item.same))
        elif _zero(item) and len(step.items) > 1:
            zeros.append(item.name)
        else:
            shown.append(item)
    return Layout(shown, zeros, twins)


def _says_nothing(item: Item) -> bool:
    """m1 = m1"""
    if item.value is not None or not isinstance(item.expression, sp.Symbol):
        return False
    return plain(item.name) == text(item.expression)


def _repeats(item: Item) -> bool:
    """D, H or C whose entries stand above it and would only be printed again one by one."""
    return item.name in ("D", "H", "C") and item.expression is not None and is_wide(item.expression)


def _zero(item: Item) -> bool:
    if item.expression is not None:
        return item.is_zero
    return item.value is not None and not any(x for row in rows(item.value) for x in row)


def rows(thing: Any) -> list[list[Any]]:
    """Rows of a matrix, a column or a scalar."""
    if isinstance(thing, sp.MatrixBase):
        return thing.tolist()
    if isinstance(thing, (tuple, list)):
        return [list(x) if isinstance(x, (tuple, list)) else [x] for x in thing]
    return [[thing]]


def is_scalar(thing: Any) -> bool:
    """Whether there are no brackets to draw."""
    return not isinstance(thing, (sp.MatrixBase, tuple, list))


def largest(value: Any) -> float:
    """The largest absolute entry."""
    return max(abs(x) for row in rows(value) for x in row)


def is_wide(expression: Any, widest_matrix: int = WIDEST) -> bool:
    """Whether a matrix (or a sum) is better printed entry by entry (term by term)."""
    column = is_scalar(expression) or expression.shape[1] == 1
    return width(expression) > (WIDEST if column else widest_matrix)


def width(expression: Any) -> int:
    """Characters of a matrix as plain text."""
    cells = [[len(text(x)) for x in row] for row in rows(expression)]
    return sum(max(column) + 2 for column in zip(*cells, strict=True))


def entries(item: Item) -> Iterator[Entry]:
    """A wide item entry by entry."""
    expression, value = rows(item.expression), item.value
    numbers = None if value is None else rows(value)
    column = len(expression[0]) == 1
    for r, row in enumerate(expression):
        for c, x in enumerate(row):
            label = _entry_name(item.name, r, c, column and len(expression) == 3)
            name = item.name if is_scalar(item.expression) else label
            yield Entry(name, x, None if numbers is None or x.is_number else numbers[r][c])


def _entry_name(name: str, row: int, column: int, vector: bool) -> str:
    if vector and LAST_INDEX.search(name):
        return LAST_INDEX.sub(rf"_{{\g<1>{'xyz'[row]}}}", name)
    return f"{name}^{{({row + 1}{column + 1})}}"


def chunks(pieces: list[str], width: int) -> list[list[str]]:
    """Pieces in lines of about `width` characters."""
    lines: list[list[str]] = [[]]
    for piece in pieces:
        if lines[-1] and sum(map(len, lines[-1])) + len(piece) > width:
            lines.append([])
        lines[-1].append(piece)
    return lines


def signed(pieces: list[str]) -> list[str]:
    """Terms with the sign that stands between them."""
    first, *rest = pieces
    return [first, *(f"- {p[1:].lstrip()}" if p.startswith("-") else f"+ {p}" for p in rest)]
