"""Equations as text and LaTeX; equations and robots in a notebook cell."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import sympy as sp

from ..model.closure import CLOSURE_COLUMNS, closure_row
from ..model.link import Link
from ..model.model import Model
from ..model.quantity import Expression
from ..model.spring import spring_row
from .derivation.setting import geometry
from .render.formula import mathml
from .render.math import latex as written
from .render.math import symbol_latex

# equations as text that Python can read: numbers as the decimals they came from

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


# equations in LaTeX

MATRICES = (("M", "M"), ("C", "C"), ("g", "g"), ("friction", r"\tau_{\mathrm{f}}"))


def lines(equations: Any) -> list[tuple[str, str]]:
    """(left side, right side) of every equation, in LaTeX; zeros left out."""
    if equations.model.closures:
        return _mechanism_lines(equations)
    if not equations.is_closed:
        return _recursion_lines(equations.recursion)
    rows = [(rf"\tau_{{{i + 1}}}", written(x)) for i, x in enumerate(equations.tau)]
    spring = (("spring", r"\tau_{\mathrm{s}}"),) if equations.chain.springs else ()
    load = (("load", r"\tau_{\mathrm{l}}"),) if equations.chain.loads else ()
    for name, letter in (*MATRICES, *spring, *load):
        matrix = getattr(equations, name)
        pairs = zip(subscripts(matrix.shape, ","), matrix.flat(), strict=True)
        rows += [(_with_index(letter, below), written(x)) for below, x in pairs if x != 0]
    rows.append(("T", written(equations.kinetic_energy)))
    rows.append(("U", written(equations.potential_energy)))
    return rows


def _recursion_lines(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, str]]:
    return [(symbol_latex(str(name)), _in_full(value)) for name, value in pairs]


def _mechanism_lines(equations: Any) -> list[tuple[str, str]]:
    """Torques of the tree, conditions, and what they give: matrices entry by entry."""
    tree = equations.tree
    rows = [] if tree.is_closed else _recursion_lines(tree.recursion.steps)
    for _, items in equations.written():
        for name, x in items:
            if not isinstance(x, sp.MatrixBase):
                rows.append((name, written(x)))
                continue
            places = [(i, j) for i in range(x.rows) for j in range(x.cols) if x[i, j] != 0]
            own = [(f"{name}_{{{i + 1},{j + 1}}}", written(x[i, j])) for i, j in places]
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
    rows = " \\\\\n".join(f"{left} &= {right}" for left, right in lines(equations))
    return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"


def html(equations: Any) -> str:
    """Name and equations as MathML."""
    parts = [f"<h3>{escape(equations.robot_name)}, {escape(equations.method)}</h3>"]
    for left, right in lines(equations):
        inside = mathml(f"{left} = {right}")
        parts.append(f'<div style="overflow-x:auto"><math display="block">{inside}</math></div>')
    return f'<div class="dynamis-equations">{"".join(parts)}</div>'


# how a robot shows itself in a notebook: what it is called, its geometry and its masses

CELL = "padding:0.2em 0.9em 0.2em 0;text-align:left;white-space:nowrap"


def robot_html(model: Model) -> str:
    """Name, joints, bodies and springs as a small piece of HTML."""
    parts = [f"<h3>{escape(model.name)}</h3>"]
    if model.description:
        parts.append(f"<p>{escape(model.description)}</p>")
    gravity = " ".join(_quantity(x) for x in model.gravity)
    facts = f"{model.size_text}, {model.convention} convention, gravity {gravity} m/s²"
    if model.payload is not None:
        facts += f", payload {_quantity(model.payload.mass)} kg"
    passive = [str(link.joint_name) for link in model.links if link.passive]
    if passive:
        facts += f"; passive: {', '.join(passive)}"
    parts += [f"<p>{escape(facts)}</p>", _table(geometry(model)), _table(_bodies(model))]
    if model.closures:
        rows = (closure_row(closure, _quantities) for closure in model.closures)
        parts.append(_table((CLOSURE_COLUMNS, *rows)))
    if model.springs:
        rows = (spring_row(spring, _quantity, model.base_name) for spring in model.springs)
        parts.append(_table((("spring", "acts", "by"), *rows)))
    return f'<div class="dynamis-robot">{"".join(parts)}</div>'


def _bodies(model: Model) -> tuple[tuple[str, ...], ...]:
    head = ("link", "mass (kg)", "centre of mass (m)", "Ixx Iyy Izz Ixy Iyz Ixz about it (kg m²)")
    return head, *((str(link.name), *_body(link)) for link in model.links)


def _body(link: Link) -> tuple[str, str, str]:
    if link.linear is not None:
        mass, *first = link.linear[:4]
        return _quantity(mass), "m c = " + _row(first), _row(link.linear[4:]) + " about the frame"
    if link.com_factor is not None:
        return _quantity(link.mass), f"{_quantity(link.com_factor)} p", _row(link.inertia)
    return _quantity(link.mass), _row(link.com or (0.0, 0.0, 0.0)), _row(link.inertia)


def _table(cells: tuple[tuple[str, ...], ...]) -> str:
    head, *rows = ([escape(cell) for cell in row] for row in cells)
    top = "".join(f'<th style="{CELL}">{cell}</th>' for cell in head)
    marked = [[f'<td style="{CELL}">{cell}</td>' for cell in row] for row in rows]
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in marked)
    return f'<div style="overflow-x:auto"><table><tr>{top}</tr>{lines}</table></div>'


def _quantities(value: Any) -> str:
    return _row(value) if isinstance(value, tuple) else _quantity(value)


def _row(values: Any) -> str:
    return " ".join(_quantity(x) for x in values)


def _quantity(value: Any) -> str:
    return value.text if isinstance(value, Expression) else f"{float(value) + 0.0:.6g}"
