"""How a robot shows itself in a notebook: what it is called, its geometry and its masses."""

from html import escape
from typing import Any

from ..model.link import Link
from ..model.model import Model
from ..model.quantity import Expression
from .steps_parts import geometry

CELL = "padding:0.2em 0.9em 0.2em 0;text-align:left;white-space:nowrap"


def robot_html(model: Model) -> str:
    """Name, joints and bodies as a small piece of HTML."""
    parts = [f"<h3>{escape(model.name)}</h3>"]
    if model.description:
        parts.append(f"<p>{escape(model.description)}</p>")
    gravity = " ".join(_quantity(x) for x in model.gravity)
    facts = f"{model.n} joints, {model.convention} convention, gravity {gravity} m/s²"
    if model.payload is not None:
        facts += f", payload {_quantity(model.payload.mass)} kg"
    parts += [f"<p>{escape(facts)}</p>", _table(geometry(model)), _table(_bodies(model))]
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


def _row(values: Any) -> str:
    return " ".join(_quantity(x) for x in values)


def _quantity(value: Any) -> str:
    return value.text if isinstance(value, Expression) else f"{float(value) + 0.0:.6g}"
