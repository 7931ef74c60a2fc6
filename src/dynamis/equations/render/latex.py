"""A derivation as the body of a LaTeX document (it needs amsmath)."""

from typing import Any

from ..derivation.steps import Item, Step
from . import math
from .layout import chunks, entries, is_scalar, is_wide, largest, layout, rows, signed, title

WIDTH = 160  # characters of LaTeX on one line of a long sum
SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def latex(derivation: Any) -> str:
    """The whole derivation."""
    parts = [rf"\section*{{{escaped(title(derivation))}}}"]
    if derivation.state is not None:
        parts.append(rf"\[ {state_formula(derivation.state)} \]")
    for step in derivation.steps:
        parts += ["", *_step(step)]
    return "\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that means itself."""
    return "".join(SPECIAL.get(c, c) for c in text)


def state_formula(state: Any) -> str:
    """q, qd and qdd as rows of numbers."""
    letters = ("q", r"\dot{q}", r"\ddot{q}")
    rows_of = [", ".join(f"{x:.6g}" for x in row) for row in state]
    return r" \quad ".join(f"{a} = ({b})" for a, b in zip(letters, rows_of, strict=True))


def _step(step: Step) -> list[str]:
    lines = [rf"\subsection*{{{step.number}. {escaped(step.title)}}}"]
    if step.text:
        lines += [escaped(step.text), ""]
    if step.table:
        lines += _table(step.table)
    return lines + [rf"\[ {formula} \]" for formula in formulas(step)]


def formulas(step: Step) -> list[str]:
    """Every formula of a step, in order."""
    plan = layout(step)
    result = [*step.formulas, *(equation(item) for item in plan.shown)]
    result += [" = ".join([*some, "0"]) for some in chunks(plan.zeros, WIDTH)]
    pairs = [f"{a} = {b}" for a, b in plan.twins]
    result += [r", \quad ".join(some) for some in chunks(pairs, WIDTH) if some]
    return [formula for formula in result if formula != "0"]


def equation(item: Item) -> str:
    """name = expression = value"""
    if item.expression is None:
        value = rf"\text{{{item.note}}}" if item.value is None else _values(item.value)
        return f"{item.name} = {value}"
    if is_wide(item.expression):
        return _long(item)
    cells = [[math.latex(x) for x in row] for row in rows(item.expression)]
    left = f"{item.name} = {_matrix(item.expression, cells)}"
    return left if item.value is None else f"{left} = {_values(item.value)}"


def _long(item: Item) -> str:
    lines = []
    for entry in entries(item):
        pieces = signed([math.latex(t) for t in math.terms(entry.expression)])
        if entry.value is not None:
            pieces.append(f"= {math.number(entry.value, largest(item.value))}")
        first, *rest = chunks(pieces, WIDTH)
        lines.append(f"{entry.name} &= {' '.join(first)}")
        lines += [rf"&\quad {' '.join(more)}" for more in rest]
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


def _values(value: Any) -> str:
    most = largest(value)
    return _matrix(value, [[_number(math.number(x, most)) for x in row] for row in rows(value)])


def _number(digits: str) -> str:
    mantissa, _, power = digits.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def _matrix(thing: Any, cells: list[list[str]]) -> str:
    if is_scalar(thing):
        return cells[0][0]
    inside = r" \\ ".join(" & ".join(row) for row in cells)
    return rf"\begin{{bmatrix}} {inside} \end{{bmatrix}}"


def _table(table: tuple[tuple[str, ...], ...]) -> list[str]:
    head, *body = ([escaped(cell) for cell in row] for row in table)
    lines = [" & ".join(head) + r" \\ \hline", *(" & ".join(row) + r" \\" for row in body)]
    columns = "l" * len(head)
    return [
        r"\begin{center}",
        rf"\begin{{tabular}}{{{columns}}}",
        *lines,
        r"\end{tabular}",
        r"\end{center}",
    ]
