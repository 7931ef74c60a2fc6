"""A derivation as one HTML page: MathML and CSS inside, no script, nothing fetched."""

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import templates
from ...files import write
from ...tables import html_table
from . import math
from .formula import mathml
from .phrases import phrase
from .text import (
    Table,
    cells,
    digits,
    entries,
    is_scalar,
    is_wide,
    layout,
    state_formula,
    title,
    width,
)

if TYPE_CHECKING:
    from ..derivation.steps import Item, Step

WIDEST_MATRIX = 300  # characters: up to here it scrolls in its own box
WIDE, WIDER = 100, 180  # characters from which on it is printed smaller on paper
NOTE = (
    "Numbers are printed as they were typed, products of them to six digits. "
    "c1 is cos q1, s23 is sin(q2 + q3)."
)


def write_page(thing: Any, path: str | Path) -> None:
    """Write a page for a derivation, or for anything with .model, .method and .steps."""
    write(path, page(thing))


def page(thing: Any) -> str:
    """The whole page."""
    if hasattr(thing.steps, "steps"):  # equations: their steps are a derivation
        thing = thing.steps
    language = getattr(thing, "language", "en")
    return templates.document(title(thing), style(), body(thing), language)


def fragment(thing: Any) -> str:
    """Style and body for a notebook cell."""
    return f"<style>\n{style()}</style>{body(thing)}"


def style() -> str:
    """The style sheet of derivations."""
    return templates.text(__package__, "derivation.css")


def body(thing: Any) -> str:
    """Heading, state and steps."""
    model, state = thing.model, getattr(thing, "state", None)
    language = getattr(thing, "language", "en")
    parts = ['<article class="dynamis">', f"<header><h1>{escape(title(thing))}</h1>"]
    if model.description:
        parts.append(f"<p>{escape(model.description)}</p>")
    if model.values:
        given = ", ".join(f"{name} = {value:g}" for name, value in model.values.items())
        said = phrase(f"Values: {given}.", language)
        parts.append(f'<p class="note">{escape(said)}</p>')
    if state is not None:
        given = [_math(row) for row in state_formula(state).split(r" \quad ")]
        parts.append(f'<p class="sum">{" &#8195; ".join(given)}</p>')
    parts.append(f'<p class="note">{phrase(NOTE, language)}</p></header>')
    parts += [_step(step) for step in thing.steps]
    parts.append("</article>")
    return "\n".join(parts)


def _step(step: "Step") -> str:
    parts = [f"<section><h2><span>{step.number}</span>{escape(step.title)}</h2>"]
    if step.text:
        parts.append(f"<p>{escape(step.text)}</p>")
    if step.table:
        parts.append(table(step.table))
    if step.formulas:
        inside = "".join(
            f'<div class="box"><math displaystyle="true">{mathml(f)}</math></div>'
            for f in step.formulas
        )
        parts.append(f'<div class="formulas">{inside}</div>')
    plan = layout(step)
    if plan.shown:
        parts.append(f'<div class="items">{"".join(map(item_html, plan.shown))}</div>')
    if plan.zeros:
        names = " ".join(_math(f"{name} =") for name in plan.zeros)
        parts.append(f'<p class="sum">{names} {_math("0")}</p>')
    if plan.twins:
        pairs = ", ".join(_math(f"{a} = {b}") for a, b in plan.twins)
        parts.append(f'<p class="sum">{pairs}</p>')
    parts.append("</section>")
    return "\n".join(parts)


def table(cells: Table) -> str:
    """A table with its header, in a box of its own."""
    return f'<div class="box">{html_table(cells)}</div>'


def item_html(item: "Item") -> str:
    """One equation in a box of its own."""
    if item.expression is None:
        if item.value is None:
            return f'<div class="box">{_math(item.name)}: {escape(item.note)}</div>'
        return f'<div class="box">{_math(item.name + " =")} {_values(item.value)}</div>'
    if is_wide(item.expression, WIDEST_MATRIX):
        return _long(item)
    written = cells(item.expression, lambda x: mathml(math.latex(x)))
    inside = mathml(f"{item.name} =") + _matrix(written, item.expression)
    numbers = "" if item.value is None else f" {_values(item.value, '=')}"
    size = width(item.expression)
    shape = "box" if size < WIDE else "box wide" if size < WIDER else "box wider"
    return f'<div class="{shape}">{_around(inside)}{numbers}</div>'


def _long(item: "Item") -> str:
    """Entry by entry; every term is a formula of its own, so that lines can break between them."""
    lines = []
    for name, (first, *rest), number in entries(item, math.latex):
        spaced = [f"{term[0]} \\; {term[1:]}" for term in rest]  # the sign opens its formula
        inside = " ".join(_math(p) for p in (f"{name} =", first, *spaced))
        if number:
            inside += f' <span class="value">{_around(mathml("=") + mathml(number))}</span>'
        lines.append(f'<div class="long">{inside}</div>')
    return f'<div class="entries">{"".join(lines)}</div>'


def _values(value: Any, sign: str = "") -> str:
    written = [[mathml(x) for x in row] for row in digits(value)]
    inside = (mathml(sign) if sign else "") + _matrix(written, value)
    return f'<span class="value">{_around(inside)}</span>'


def _matrix(cells: list[list[str]], thing: Any) -> str:
    if is_scalar(thing):
        return cells[0][0]
    lines = ("".join(f"<mtd>{cell}</mtd>" for cell in row) for row in cells)
    inside = "".join(f"<mtr>{line}</mtr>" for line in lines)
    return f'<mtable class="matrix">{inside}</mtable>'


def _math(latex: str) -> str:
    return _around(mathml(latex))


def _around(inside: str) -> str:
    return f"<math>{inside}</math>"
