"""A robot in a notebook cell: what it is called, its geometry and its bodies."""

from collections.abc import Sequence
from html import escape
from typing import Any

from ..model.closure import CLOSURE_COLUMNS, closure_row
from ..model.dh.table import dh_table
from ..model.link import Link
from ..model.model import Model
from ..model.quantity import Expression
from ..model.spring import spring_row

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


def geometry(model: Model) -> tuple[tuple[str, ...], ...]:
    """The cells of the DH table, or of where the joints of a URDF sit."""
    if model.convention != "urdf":
        return tuple(dh_table(model).cells())
    zero, z = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    rows = []
    for link in model.links:
        vectors = (link.xyz or zero, link.rpy or zero, link.axis or z)
        parent = link.parent or model.base_name
        rows.append((str(link.joint_name), link.joint, parent, *map(_numbers, vectors)))
    return (("joint", "type", "parent", "xyz", "rpy", "axis"), *rows)


def _numbers(values: Sequence[Any]) -> str:
    return " ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)
