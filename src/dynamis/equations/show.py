"""Equations as text, in LaTeX and in a notebook cell."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import sympy as sp

from .render.formula import mathml
from .render.math import entries, fraction, has_parameters, symbol_latex
from .render.math import latex as written

# equations as text that Python can read: numbers as the decimals they came from

DIGITS = 10  # of a number that is no short decimal


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
        sign, rest = (" - ", shown[1:]) if shown.startswith("-") else (" + ", shown)
        result += sign + rest if result else shown
    return result or "0"


def subscripts(shape: tuple[int, int], gap: str) -> list[str]:
    """Of the entries of a matrix or a column, row by row; `gap` stands between long ones."""
    rows, columns = shape
    between = gap if max(shape) > 9 else ""
    if columns == 1:
        return [f"{i + 1}" for i in range(rows)]
    return [f"{i + 1}{between}{j + 1}" for i in range(rows) for j in range(columns)]


def matrix_lines(name: str, matrix: Any) -> list[str]:
    """Entries line by line, zeros left out."""
    pairs = zip(subscripts(matrix.shape, "_"), matrix.flat(), strict=True)
    return [line(f"{name}{below}", x) for below, x in pairs if x != 0] or [f"{name} = 0"]


def decimals(expr: Any) -> Any:
    """Rationals as decimals, for printing only: exponents and halves stay as they are."""
    return _decimals(expr, has_parameters(expr))


def _decimals(expr: Any, symbolic: bool) -> Any:
    if isinstance(expr, sp.Rational):
        return _decimal(expr, symbolic)
    if isinstance(expr, sp.Pow):
        return sp.Pow(_decimals(expr.base, symbolic), expr.exp, evaluate=False)
    if not expr.args:
        return expr
    return expr.func(*(_decimals(x, symbolic) for x in expr.args))


def _decimal(x: sp.Rational, symbolic: bool) -> Any:
    found = x if x.q == 1 else fraction(x, symbolic)
    if found is not None:
        return found
    shown = sp.Symbol(f"{abs(float(x)):.{DIGITS}g}", positive=True)
    return -shown if x < 0 else shown


# equations in LaTeX

MATRICES = (("M", "M"), ("C", "C"), ("g", "g"), ("friction", r"\tau_{\mathrm{f}}"))


def lines(equations: Any) -> list[tuple[str, str]]:
    """(left side, right side) of every equation of an arm, in LaTeX; zeros left out."""
    if not equations.is_closed:
        return _recursion_lines(equations.recursion) + _elastic_lines(equations)
    rows = [(rf"\tau_{{{i + 1}}}", written(x)) for i, x in enumerate(equations.tau)]
    spring = (("spring", r"\tau_{\mathrm{s}}"),) if equations.chain.springs else ()
    load = (("load", r"\tau_{\mathrm{l}}"),) if equations.chain.loads else ()
    for name, letter in (*MATRICES, *spring, *load):
        matrix = getattr(equations, name)
        pairs = zip(subscripts(matrix.shape, ","), matrix.flat(), strict=True)
        rows += [(_with_index(letter, below), written(x)) for below, x in pairs if x != 0]
    rows.append(("T", written(equations.kinetic_energy)))
    rows.append(("U", written(equations.potential_energy)))
    return rows + _elastic_lines(equations)


def _elastic_lines(equations: Any) -> list[tuple[str, str]]:
    """Gears, links and motors of elastic joints."""
    if not equations.chain.elastic:
        return []
    forms, links = equations._elastic, equations._links
    e = [symbol_latex(str(letter)) for letter in forms.letters]
    rows = [*zip(e, map(written, forms.gears), strict=True)]
    for i, x in enumerate(links.tau if links.is_closed else ()):
        own = e[forms.joints.index(i)] if i in forms.joints else rf"\tau_{{{i + 1}}}"
        rows.append((own, written(x)))
    pairs = zip(forms.joints, forms.motors, strict=True)
    return rows + [(rf"\tau_{{{j + 1}}}", written(x)) for j, x in pairs]


def _recursion_lines(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, str]]:
    return [(symbol_latex(str(name)), _in_full(value)) for name, value in pairs]


def mechanism_lines(equations: Any) -> list[tuple[str, str]]:
    """Torques of the tree, conditions, and what they give: matrices entry by entry."""
    tree = equations.tree
    rows = [] if tree.is_closed else _recursion_lines(tree.recursion.steps)
    for _, items in equations.written():
        for name, x in items:
            if not isinstance(x, sp.MatrixBase):
                rows.append((name, written(x)))
                continue
            own = [(f"{name}_{{{i + 1},{j + 1}}}", written(e)) for i, j, e in entries(x)]
            rows += [(left, right) for left, right in own if left != right]
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
    rows = " \\\\\n".join(f"{left} &= {right}" for left, right in equations._lines())
    return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"


def html(equations: Any) -> str:
    """Name and equations as MathML."""
    parts = [f"<h3>{escape(equations.robot_name)}, {escape(equations.method)}</h3>"]
    for left, right in equations._lines():
        inside = mathml(f"{left} = {right}")
        parts.append(f'<div style="overflow-x:auto"><math display="block">{inside}</math></div>')
    return f'<div class="dynamis-equations">{"".join(parts)}</div>'
