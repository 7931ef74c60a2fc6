"""A robot in tables: its geometry and bodies as cells, and all of it in a notebook cell."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from ..model.closure import CLOSURE_COLUMNS, closure_texts
from ..model.dh.table import dh_table
from ..model.drive import Drive
from ..model.friction import CONSTANTS, Friction
from ..model.law import UserLaw
from ..model.link import Link
from ..model.memory import Memory
from ..model.model import Model
from ..model.quantity import Expression, quantity_text
from ..model.schema import About, is_default, schema
from ..model.spring import SPRING_COLUMNS, spring_row
from ..spatial.inertia import entries, from_linear, to_com
from ..spatial.vectors import ZERO, Z
from ..tables import html_table

ROUNDING = 1e-12  # of the largest of several numbers
Cells = tuple[tuple[str, ...], ...]
Column = tuple[About, list[Any]]  # a field of every link
CELL = "padding:0.2em 0.9em 0.2em 0;text-align:left;white-space:nowrap"


def robot_html(model: Model) -> str:
    """Name, joints, bodies, friction, drives, limits and springs as a small piece of HTML."""
    parts = [f"<h3>{escape(model.name)}</h3>"]
    if model.description:
        parts.append(f"<p>{escape(model.description)}</p>")
    gravity = quantity_text(model.gravity)
    facts = f"{model.size_text}, {model.convention} convention, gravity {gravity} m/s²"
    if model.payload is not None:
        facts += f", payload {quantity_text(model.payload.mass)} kg"
    passive = [str(link.joint_name) for link in model.links if link.passive]
    if passive:
        facts += f"; passive: {', '.join(passive)}"
    parts += [f"<p>{escape(facts)}</p>", _table(geometry(model)), _table(bodies(model))]
    parts += [_table(cells) for cells in joint_parts(model).values()]
    if rows := closure_texts(model):
        parts.append(_table((CLOSURE_COLUMNS, *rows)))
    if model.springs:
        rows = (spring_row(spring, model.base_name) for spring in model.springs)
        parts.append(_table((SPRING_COLUMNS, *rows)))
    return f'<div class="dynamis-robot">{"".join(parts)}</div>'


def _table(cells: tuple[tuple[str, ...], ...]) -> str:
    return f'<div style="overflow-x:auto">{html_table(cells, style=CELL)}</div>'


# cells of tables


def geometry(model: Model) -> tuple[tuple[str, ...], ...]:
    """The DH table, or where the joints of a URDF sit."""
    if model.convention != "urdf":
        return tuple(dh_table(model).cells())
    rows = []
    for link in model.links:
        vectors = (link.xyz or ZERO, link.rpy or ZERO, link.axis or Z)
        parent = link.parent or model.base_name
        rows.append((str(link.joint_name), link.joint, parent, *map(quantity_text, vectors)))
    return (("joint", "type", "parent", "xyz", "rpy", "axis"), *rows)


def joint_parts(model: Model) -> dict[str, Cells]:
    """Friction, drives and limits of the joints by title: every field that some joint gives."""
    limits = [name for name, own in schema(Link).items() if own.group in ("limits", "mimic")]
    frictions = [link.friction for link in model.links]
    constants = (
        (own, [x.constants.get(name) for x in frictions])
        for name, own in CONSTANTS.items()
        if any(name in x.constants for x in frictions)
    )
    parts: dict[str, list[Column]] = {
        "friction, on the joint's side": [*_columns(Friction, frictions), *constants],
        "drives, on the motor's side": [*_columns(Drive, [x.drive for x in model.links])],
        "limits": [*_columns(Link, model.links, limits)],
    }
    kinds = {link.joint for link in model.links}
    kind = kinds.pop() if len(kinds) == 1 else ""
    found: dict[str, Cells] = {}
    for title, columns in parts.items():
        heads = (own.label + _unit(own.unit_of(kind)) for own, _ in columns)
        rows = zip(model.tree_joint_names, *(map(_cell, x) for _, x in columns), strict=True)
        if columns:
            found[title] = (("joint", *heads), *rows)
    return found


def _columns(
    kind: type, parts: Sequence[Any], names: Sequence[str] | None = None
) -> Iterator[Column]:
    """Fields of parts of links (or those named), where one of them is not as by default."""
    for name, own in schema(kind).items():
        given = own.key is not None and (names is None or name in names)
        if given and not all(x is None or is_default(x, name) for x in parts):
            yield own, [None if x is None else getattr(x, name) for x in parts]


def _unit(unit: str) -> str:
    return f" ({unit})" if unit not in ("", "-") else ""


def _cell(value: Any) -> str:
    if isinstance(value, UserLaw):
        return value.name
    if isinstance(value, tuple) and isinstance(value[0], str):  # a mimic
        return f"{quantity_text(value[1])} {value[0]} + {quantity_text(value[2])}"
    if isinstance(value, Memory):
        return value.text
    return "" if value is None else quantity_text(value, " / ")


def bodies(model: Model) -> tuple[tuple[str, ...], ...]:
    """Mass, centre of mass and inertia of every link."""
    head = ("link", "mass (kg)", "centre of mass (m)", "Ixx Iyy Izz Ixy Iyz Ixz about it (kg m²)")
    return head, *((str(link.name), *map(quantity_text, _body(link))) for link in model.links)


def _body(link: Link) -> tuple[Any, Any, Any]:
    if link.linear is not None:
        return _linear_body(link.linear)
    if link.com_factor is not None:
        return link.mass, f"{quantity_text(link.com_factor)} p", link.inertia
    return link.mass, link.com or ZERO, link.inertia


def _linear_body(values: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Mass, centre of mass and inertia about it; without mass or numbers the ten as they are."""
    if any(isinstance(x, Expression) for x in values) or not values[0] > 0.0:
        return values[0], "", f"linear, about the origin: {quantity_text(values)}"
    body = from_linear(values)
    mass, com, inertia = to_com(body)
    # the difference of two inertias about the origin is known to the digits of those
    size = max(map(abs, body.I))
    return mass, _rounded(com, max(map(abs, com))), _rounded(entries(inertia), size)


def _rounded(values: Sequence[float], size: float) -> tuple[float, ...]:
    """Numbers of a size, with what is only rounding of it as zero."""
    return tuple(x if abs(x) > ROUNDING * size else 0.0 for x in values)
