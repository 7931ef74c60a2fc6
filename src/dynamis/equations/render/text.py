"""A derivation as plain text, Markdown and LaTeX (amsmath), and the layout all formats share."""

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp

from ... import markup
from ...tables import markdown_table, text_table
from . import math
from .formula import plain
from .phrases import phrase

if TYPE_CHECKING:
    from ..derivation.steps import Item, Step

WIDEST = 100  # characters of a column or a sum; a wider one is printed entry by entry
LAST_INDEX = re.compile(r"_\{([\d,]+)\}$")
ENTRIES_ABOVE = ("D", "H", "C", "{}^{0}J", r"{}^{\mathrm{t}}J")
Table = tuple[tuple[str, ...], ...]


class TextLayout(NamedTuple):
    """What is printed in full, and what a line sums up."""

    shown: "list[Item]"
    zeros: list[str]
    twins: list[tuple[str, str]]


def title(derivation: Any) -> str:
    """The heading of the whole page."""
    language = getattr(derivation, "language", "en")
    return f"{derivation.model.name}: {phrase(derivation.method.title(), language, 'titles')}"


def layout(step: "Step") -> TextLayout:
    """Items in full; those that vanish, and those equal to another by symmetry, by name."""
    shown, zeros, twins = [], [], []
    for item in step.items:
        if _says_nothing(item):
            continue
        if item.same is not None and not _zero(item):
            twins.append((item.name, item.same))
        elif _zero(item) and len(step.items) > 1:
            zeros.append(item.name)
        else:
            shown.append(item)
    return TextLayout(shown, zeros, twins)


def _says_nothing(item: "Item") -> bool:
    """m1 = m1; a matrix whose entries stand above it and would be printed again one by one."""
    if item.name in ENTRIES_ABOVE and item.expression is not None and is_wide(item.expression):
        return True
    if item.value is not None or not isinstance(item.expression, sp.Symbol):
        return False
    return plain(item.name) == math.text(item.expression)


def _zero(item: "Item") -> bool:
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


def cells(thing: Any, write: Callable[[Any], str]) -> list[list[str]]:
    """Every entry written."""
    return [[write(x) for x in row] for row in rows(thing)]


def digits(value: Any) -> list[list[str]]:
    """Numbers, rounding next to the largest as 0."""
    largest = max(abs(x) for row in rows(value) for x in row)
    return cells(value, lambda x: math.number(x, largest))


def document(derivation: Any, heading: list[str], write: "Callable[[Step], list[str]]") -> str:
    """Heading and steps, line by line."""
    lines = [*heading, *(line for step in derivation.steps for line in ("", *write(step)))]
    return "\n".join(lines) + "\n"


def is_wide(expression: Any, widest_matrix: int = WIDEST) -> bool:
    """Whether a matrix (or a sum) is better printed entry by entry (term by term)."""
    column = is_scalar(expression) or expression.shape[1] == 1
    return width(expression) > (WIDEST if column else widest_matrix)


def width(expression: Any) -> int:
    """Characters of a matrix as plain text."""
    columns = zip(*cells(expression, math.text), strict=True)
    return sum(max(map(len, column)) + 2 for column in columns)


def entries(item: "Item", write: Callable[[Any], str]) -> Iterator[tuple[str, list[str], str]]:
    """A wide item entry by entry: name, terms with the signs between them, number or nothing."""
    expression, value = rows(item.expression), item.value
    numbers = None if value is None else digits(value)
    vector = len(expression[0]) == 1 and len(expression) == 3
    for r, row in enumerate(expression):
        for c, x in enumerate(row):
            name = item.name
            if not is_scalar(item.expression):
                name = _entry_name(name, r, c, vector)
            number = "" if numbers is None or x.is_number else numbers[r][c]
            yield name, signed([write(t) for t in math.terms(x)]), number


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


# plain text

WIDTH = 100
WIDEST_MATRIX = 140


def text(derivation: Any) -> str:
    """The whole derivation."""
    name = phrase(f"{title(derivation)}, step by step", derivation.language)
    heading = [name, "=" * len(name)]
    if derivation.state is not None:
        heading += [f"{n:3} = {list(v)}" for n, v in derivation.state._asdict().items()]
    return document(derivation, heading, _step)


def _step(step: "Step") -> list[str]:
    heading = f"{step.number}. {step.title}"
    lines = [heading, "-" * len(heading)]
    if step.text:
        lines += [*textwrap.wrap(step.text, WIDTH), ""]
    if step.table:
        lines += [text_table(step.table), ""]
    if step.formulas:
        lines += [*(f"    {plain(formula)}" for formula in step.formulas), ""]
    plan = layout(step)
    for item in plan.shown:
        lines += [*item_lines(item), ""]
    if plan.zeros:
        lines += _wrapped(" = ".join([*map(plain, plan.zeros), "0"]))
    if plan.twins:
        lines += _wrapped(", ".join(f"{plain(a)} = {plain(b)}" for a, b in plan.twins))
    return lines


def item_lines(item: "Item") -> list[str]:
    """One equation as lines of plain text."""
    name, expression, value = plain(item.name), item.expression, item.value
    numbers = [] if value is None else _matrix(digits(value), value)
    if expression is None:
        return _beside([f"{name} = "], numbers) if numbers else [f"{name}: {item.note}"]
    if is_wide(expression, WIDEST_MATRIX):
        lines = []
        for label, terms, number in entries(item, math.text):
            total = " ".join(terms) + (f" = {number}" if number else "")
            lines += _wrapped(f"{plain(label)} = {total}")
        return lines
    lines = _beside([f"{name} = "], _matrix(cells(expression, math.text), expression))
    return _beside(lines, [" = "], numbers) if numbers else lines


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="      ", break_long_words=False)


def _matrix(cells: list[list[str]], thing: Any) -> list[str]:
    if is_scalar(thing):
        return [cells[0][0]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["[ " + "  ".join(map(str.rjust, row, widths)) + " ]" for row in cells]


def _beside(*blocks: list[str]) -> list[str]:
    """Blocks side by side, each in the middle of the height."""
    height = max(map(len, blocks))
    padded = []
    for block in blocks:
        width, above = max(map(len, block)), (height - len(block)) // 2
        full = [""] * above + block + [""] * (height - len(block) - above)
        padded.append([line.ljust(width) for line in full])
    return ["".join(parts).rstrip() for parts in zip(*padded, strict=True)]


# LaTeX

LATEX_WIDTH = 160  # characters of LaTeX on one line of a long sum


def latex(derivation: Any) -> str:
    """The whole derivation."""
    heading = [rf"\section*{{{markup.latex(title(derivation))}}}"]
    if derivation.state is not None:
        heading.append(rf"\[ {state_formula(derivation.state)} \]")
    return document(derivation, heading, _latex_step)


def state_formula(state: Any) -> str:
    """q, qd and qdd as rows of numbers."""
    letters = ("q", r"\dot{q}", r"\ddot{q}")
    rows_of = [", ".join(f"{x:.6g}" for x in row) for row in state]
    return r" \quad ".join(f"{a} = ({b})" for a, b in zip(letters, rows_of, strict=True))


def _latex_step(step: "Step") -> list[str]:
    lines = [rf"\subsection*{{{step.number}. {markup.latex(step.title)}}}"]
    if step.text:
        lines += [markup.latex(step.text), ""]
    if step.table:
        head, *body = (" & ".join(map(markup.latex, row)) for row in step.table)
        columns = "l" * len(step.table[0])
        lines += [r"\begin{center}", rf"\begin{{tabular}}{{{columns}}}", head + r" \\ \hline"]
        lines += [*(row + r" \\" for row in body), r"\end{tabular}", r"\end{center}"]
    return lines + [rf"\[ {formula} \]" for formula in formulas(step)]


def formulas(step: "Step") -> list[str]:
    """Every formula of a step, in order."""
    plan = layout(step)
    result = [*step.formulas, *(equation(item) for item in plan.shown)]
    result += [" = ".join([*some, "0"]) for some in chunks(plan.zeros, LATEX_WIDTH)]
    pairs = [f"{a} = {b}" for a, b in plan.twins]
    result += [r", \quad ".join(some) for some in chunks(pairs, LATEX_WIDTH) if some]
    return [formula for formula in result if formula != "0"]


def equation(item: "Item") -> str:
    """name = expression = value"""
    name, expression, value = item.name, item.expression, item.value
    scaled = [] if value is None else [list(map(math.scientific, row)) for row in digits(value)]
    numbers = _latex_matrix(value, scaled) if scaled else rf"\text{{{item.note}}}"
    if expression is None:
        return f"{name} = {numbers}"
    if is_wide(expression):
        return _latex_long(item)
    left = f"{name} = {_latex_matrix(expression, cells(expression, math.latex))}"
    return left if value is None else f"{left} = {numbers}"


def _latex_long(item: "Item") -> str:
    lines = []
    for name, terms, number in entries(item, math.latex):
        first, *rest = chunks([*terms, *([f"= {number}"] if number else [])], LATEX_WIDTH)
        lines.append(f"{name} &= {' '.join(first)}")
        lines += [rf"&\quad {' '.join(more)}" for more in rest]
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


def _latex_matrix(thing: Any, cells: list[list[str]]) -> str:
    if is_scalar(thing):
        return cells[0][0]
    inside = r" \\ ".join(" & ".join(row) for row in cells)
    return rf"\begin{{bmatrix}} {inside} \end{{bmatrix}}"


# Markdown, formulas between dollar signs


def markdown(derivation: Any) -> str:
    """The whole derivation."""
    heading = [f"# {markup.markdown(title(derivation))}"]
    if derivation.state is not None:
        heading += ["", f"$$ {state_formula(derivation.state)} $$"]
    return document(derivation, heading, _markdown_step)


def _markdown_step(step: "Step") -> list[str]:
    lines = [f"## {step.number}. {markup.markdown(step.title)}", ""]
    if step.text:
        lines += [markup.markdown(step.text), ""]
    if step.table:
        lines += [markdown_table(step.table, cell=markup.markdown), ""]
    for formula in formulas(step):
        lines += [f"$$ {formula} $$", ""]
    return lines[:-1]
