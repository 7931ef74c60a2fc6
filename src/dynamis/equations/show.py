"""Equations in LaTeX, and in a notebook cell."""

from html import escape
from typing import Any

import sympy as sp

from .render_formula import mathml
from .render_math import latex as written
from .render_math import symbol_latex

MATRICES = (("M", "M"), ("C", "C"), ("g", "g"), ("friction", r"\tau_{\mathrm{f}}"))


def lines(equations: Any) -> list[tuple[str, str]]:
    """(left side, right side) of every equation, in LaTeX; zeros left out."""
    if not equations.is_closed:
        return [(symbol_latex(str(name)), _in_full(value)) for name, value in equations.recursion]
    gap = "" if equations.n < 10 else ","
    rows = [(rf"\tau_{{{i + 1}}}", written(x)) for i, x in enumerate(equations.tau)]
    for name, letter in MATRICES:
        matrix = getattr(equations, name)
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                below = f"{i + 1}" if matrix.cols == 1 else f"{i + 1}{gap}{j + 1}"
                if matrix[i, j] != 0:
                    rows.append((_with_index(letter, below), written(matrix[i, j])))
    rows.append(("T", written(equations.kinetic_energy)))
    rows.append(("U", written(equations.potential_energy)))
    return rows


def _in_full(value: Any) -> str:
    """A recursion defines c1 and s1: there cosine and sine are not abbreviated."""
    if isinstance(value, (sp.cos, sp.sin)):
        angle: Any = value.args[0]
        return rf"\{value.func.__name__} \left({written(angle)}\right)"
    return written(value)


def _with_index(letter: str, below: str) -> str:
    return f"{letter[:-1]},{below}}}" if letter.endswith("}") else f"{letter}_{{{below}}}"


def latex(equations: Any) -> str:
    """One aligned block."""
    rows = " \\\\\n".join(f"{left} &= {right}" for left, right in lines(equations))
    return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"


def html(equations: Any) -> str:
    """Name and equations as MathML."""
    parts = [f"<h3>{escape(equations.robot_name)}, {escape(equations.method)}</h3>"]
    for left, right in lines(equations):
        inside = mathml(f"{left} = {right}")
        parts.append(f'<div style="overflow-x:auto"><math display="block">{inside}</math></div>')
    return f'<div class="dynamis-equations">{"".join(parts)}</div>'
