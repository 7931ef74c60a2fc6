"""Tables of texts as plain text, Markdown and HTML; the first row is the header."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from .errors import legible

MOST = 12  # rows that a shell shows

Rows = Iterable[Sequence[str]]


def text_table(rows: Rows, right: int = 0, rule: bool = True) -> str:
    """Columns side by side, the last `right` of them flush right; a `rule` below the header."""
    lines = [[legible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if rule:
        lines.insert(1, ["-" * width for width in widths])
    k = len(widths) - right
    padded = (
        [*map(str.ljust, row[:k], widths), *map(str.rjust, row[k:], widths[k:])] for row in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def markdown_table(rows: Rows, right: int = 0, cell: Callable[[Any], str] = str) -> str:
    """A Markdown table, the last `right` columns flush right; `cell` makes a cell plain text."""
    header, *body = ([cell(x) for x in row] for row in rows)
    rules = ["---"] * (len(header) - right) + ["---:"] * right
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rules, *body))


def html_table(rows: Rows, caption: Iterable[str] = (), style: str = "") -> str:
    """A <table>, every text escaped; `caption` are lines above it, `style` is that of its cells."""
    said = "<br>".join(escape(legible(line)) for line in caption)
    marked = f' style="{style}"' if style else ""
    tag, lines = "th", []
    for row in rows:
        cells = "".join(f"<{tag}{marked}>{escape(legible(cell))}</{tag}>" for cell in row)
        lines.append(f"<tr>{cells}</tr>")
        tag = "td"
    top = f"<caption>{said}</caption>" if said else ""
    return f"<table>{top}{''.join(lines)}</table>"


def rest(count: int, most: int = MOST) -> list[str]:
    """A line that says how many of `count` rows are left out, if any are."""
    return [f"... {count - most} more"] if count > most else []
