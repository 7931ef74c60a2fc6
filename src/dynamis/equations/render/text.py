"""A derivation as plain text."""

import textwrap
from typing import Any

from ..derivation.steps import Item, Step
from . import math
from .formula import plain
from .latex import formulas, state_formula
from .layout import entries, is_scalar, is_wide, largest, layout, rows, signed, title

WIDTH = 100
WIDEST_MATRIX = 140


def text(derivation: Any) -> str:
    """The whole derivation."""
    heading = f"{title(derivation)}, step by step"
    parts = [heading, "=" * len(heading)]
    if derivation.state is not None:
        parts += [f"{n:3} = {list(v)}" for n, v in derivation.state._asdict().items()]
    for step in derivation.steps:
        parts += ["", *_step(step)]
    return "\n".join(parts) + "\n"


def _step(step: Step) -> list[str]:
    heading = f"{step.number}. {step.title}"
    lines = [heading, "-" * len(heading)]
    if step.text:
        lines += [*textwrap.wrap(step.text, WIDTH), ""]
    if step.table:
        lines += [*_table(step.table), ""]
    for formula in step.formulas:
        lines += [f"    {plain(formula)}"]
    if step.formulas:
        lines.append("")
    plan = layout(step)
    for item in plan.shown:
        lines += [*_item(item), ""]
    if plan.zeros:
        lines += _wrapped(" = ".join([*map(plain, plan.zeros), "0"]))
    if plan.twins:
        lines += _wrapped(", ".join(f"{plain(a)} = {plain(b)}" for a, b in plan.twins))
    return lines


def _item(item: Item) -> list[str]:
    name = plain(item.name)
    if item.expression is None:
        if item.value is None:
            return [f"{name}: {item.note}"]
        return _beside([f"{name} = "], _values(item.value))
    if is_wide(item.expression, WIDEST_MATRIX):
        return _long(item)
    block = _matrix([[math.text(x) for x in row] for row in rows(item.expression)], item.expression)
    lines = _beside([f"{name} = "], block)
    return lines if item.value is None else _beside(lines, [" = "], _values(item.value))


def _long(item: Item) -> list[str]:
    lines = []
    for entry in entries(item):
        total = " ".join(signed([math.text(t) for t in math.terms(entry.expression)]))
        if entry.value is not None:
            total += f" = {math.number(entry.value, largest(item.value))}"
        lines += _wrapped(f"{plain(entry.name)} = {total}")
    return lines


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent="      ", break_long_words=False)


def _values(value: Any) -> list[str]:
    most = largest(value)
    return _matrix([[math.number(x, most) for x in row] for row in rows(value)], value)


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


def _table(table: tuple[tuple[str, ...], ...]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


# a derivation as Markdown, formulas between dollar signs

SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]#|$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def markdown(derivation: Any) -> str:
    """The whole derivation."""
    parts = [f"# {escaped(title(derivation))}"]
    if derivation.state is not None:
        parts += ["", f"$$ {state_formula(derivation.state)} $$"]
    for step in derivation.steps:
        parts += ["", *_markdown_step(step)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that means itself."""
    return text.translate(SPECIAL)


def table_lines(table: Any) -> list[str]:
    """A table with its header."""
    lines = ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in table]
    return [lines[0], "|" + "---|" * len(table[0]), *lines[1:]]


def _markdown_step(step: Step) -> list[str]:
    lines = [f"## {step.number}. {escaped(step.title)}", ""]
    if step.text:
        lines += [escaped(step.text), ""]
    if step.table:
        lines += [*table_lines(step.table), ""]
    for formula in formulas(step):
        lines += [f"$$ {formula} $$", ""]
    return lines[:-1]
