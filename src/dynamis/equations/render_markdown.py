"""A derivation as Markdown, formulas between dollar signs."""

from typing import Any

from .render_latex import formulas, state_formula
from .render_layout import title
from .steps import Step

SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]#|$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def markdown(derivation: Any) -> str:
    """The whole derivation."""
    parts = [f"# {escaped(title(derivation))}"]
    if derivation.state is not None:
        parts += ["", f"$$ {state_formula(derivation.state)} $$"]
    for step in derivation.steps:
        parts += ["", *_step(step)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that means itself."""
    return text.translate(SPECIAL)


def table_lines(table: Any) -> list[str]:
    """A table with its header."""
    lines = ["| " + " | ".join(escaped(cell) for cell in row) + " |" for row in table]
    return [lines[0], "|" + "---|" * len(table[0]), *lines[1:]]


def _step(step: Step) -> list[str]:
    lines = [f"## {step.number}. {escaped(step.title)}", ""]
    if step.text:
        lines += [escaped(step.text), ""]
    if step.table:
        lines += [*table_lines(step.table), ""]
    for formula in formulas(step):
        lines += [f"$$ {formula} $$", ""]
    return lines[:-1]
