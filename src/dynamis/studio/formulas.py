"""Equations as pieces of HTML: MathML that breaks between terms, to fit a narrow column."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import sympy as sp

from .. import templates
from ..equations import render_math as math
from ..equations.render_formula import mathml
from ..equations.render_html import fragment, page
from ..equations.render_layout import signed
from ..errors import DynamisError, OptionError
from ..robot import Robot

LONG = 50  # characters of LaTeX from which on a term may break inside
LONGEST = 400_000  # characters of a piece: more is a page to download
COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix",
           "gravity_torque", "fk", "jacobian")  # fmt: skip
MATRICES = (("M", "Mass matrix"), ("C", "Coriolis matrix"), ("g", "Gravity"))
NOTE = "Here c1 is cos(q1), and s12 is sin(q1 + q2)."
TWO = ("M", "C")  # quantities with two indices


def closed(equations: Any) -> str:
    """tau, M, C, g and friction in closed form, zeros left out."""
    if not equations.is_closed:
        raise OptionError(
            f"the equations of {equations.robot_name!r} are too long to write out",
            "choose one entry, or the counts",
        )
    parts = ["<h4>Torques</h4>"]
    parts += [row(_named("tau", i), math.terms(x)) for i, x in enumerate(equations.tau)]
    for name, title in (*MATRICES, ("friction", "Friction")):
        found = list(_entries(name, getattr(equations, name)))
        if found:
            parts += [f"<h4>{title}</h4>", *(row(left, math.terms(x)) for left, x in found)]
    parts.append("<h4>Energies</h4>")
    parts.append(row("T", math.terms(equations.kinetic_energy)))
    parts.append(row("U", math.terms(equations.potential_energy)))
    parts.append(f"<p>{NOTE}</p>")
    return _piece(parts)


def entry(equations: Any, name: str, i: int, j: int) -> str:
    """One entry in closed form."""
    indices = (i, j) if name in TWO else (i,)
    found = equations.term(name, *indices)
    return _piece([row(_named(name, *indices), math.terms(sp.sympify(found)))])


def derivation(equations: Any, as_page: bool) -> str:
    """The derivation step by step, as a piece or as a page of its own."""
    steps = equations.steps
    return page(steps) if as_page else _piece([fragment(steps)])


def counts(robot: Robot) -> str:
    """Operations of the compiled kernels, and the base parameters."""
    rows: list[Sequence[str]] = []
    for name in COUNTED:
        try:
            cost = robot.cost(name)
        except DynamisError as error:
            rows.append((name, "", "", "", str(error).splitlines()[0]))
            continue
        rows.append((name, *(str(x) for x in (cost.mul, cost.add, cost.div, cost.trig))))
    head = ("function", "mul", "add", "div", "trig")
    parts = ["<h4>Operations of one call</h4>", _table(head, rows)]
    try:
        base = robot.base_parameters()
    except DynamisError as error:
        parts.append(f"<p>{escape(str(error))}</p>")
        return _piece(parts)
    values = [f"{x:.5g}" for x in base.values]
    parts.append(f"<h4>{base.rank} base parameters of {len(robot.parameters.names)}</h4>")
    parts.append(_table(("grouping", "value"), list(zip(base.names, values, strict=True))))
    return _piece(parts)


def row(left: str, terms: Iterable[Any]) -> str:
    """One equation; every term is a formula of its own, so that lines can break between them."""
    found = [_broken(term) for term in terms]
    first = signed([pieces[0] for pieces in found])
    spaced = [first[0], *(f"{piece[0]} \\; {piece[1:]}" for piece in first[1:])]
    pieces = [p for one, head in zip(found, spaced, strict=True) for p in (head, *one[1:])]
    inside = " ".join(f"<math>{mathml(p)}</math>" for p in (f"{left} =", *pieces))
    return f'<div class="row">{inside}</div>'


def _broken(term: Any) -> list[str]:
    """A term in LaTeX; a long one that holds a sum in pieces, which open with their signs."""
    whole = math.latex(term)
    sums = [x for x in term.args if isinstance(x, sp.Add)] if isinstance(term, sp.Mul) else []
    if len(whole) <= LONG or len(sums) != 1:
        return [whole]
    factor = sp.Mul(*(x for x in term.args if x is not sums[0]))
    before = "-" if factor == -1 else math.latex(factor)
    inner = signed([math.latex(x) for x in math.terms(sums[0])])
    spaced = [f"{piece[0]} \\; {piece[1:]}" for piece in inner[1:]]
    return [f"{before} (", inner[0], *spaced[:-1], f"{spaced[-1]} )"]


def _entries(name: str, matrix: Any) -> Iterable[tuple[str, Any]]:
    for i in range(matrix.rows):
        for j in range(matrix.cols):
            if matrix[i, j] != 0:
                yield _named(name, *((i, j) if matrix.cols > 1 else (i,))), matrix[i, j]


def _named(name: str, *indices: int) -> str:
    gap = "" if all(k < 9 for k in indices) else ","
    below = gap.join(str(k + 1) for k in indices)
    if name == "friction":
        return rf"\tau_{{\mathrm{{f}},{below}}}"
    return rf"\tau_{{{below}}}" if name == "tau" else f"{name}_{{{below}}}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in line) for line in rows]
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _piece(parts: Sequence[str]) -> str:
    style = templates.text(__package__, "formulas.css")
    text = f'<style>\n{style}</style><div class="dy-eq">{"".join(parts)}</div>'
    if len(text) > LONGEST:
        raise OptionError(
            f"this is {len(text) // 1000} thousand characters, more than a column holds",
            "choose one entry, or download the derivation",
        )
    return text
