"""The DH table of an arm, as data and as text."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import legible
from ...tables import html_table, text_table
from ..link import Link
from ..model import Model
from ..pose import Pose
from ..quantity import Expression, pi_text, quantity_text
from .convert import DRIFT, to_dh

TITLE = "DH table, {} convention"


class TableRow(NamedTuple):
    """One joint's row; `variable` is the text of its coordinate."""

    joint_name: str
    kind: str
    theta: Any
    d: Any
    a: Any
    alpha: Any
    offset: Any
    variable: str


@dataclass(frozen=True)
class DhTable:
    """The DH table of an arm, as data and as text."""

    convention: str
    rows: tuple[TableRow, ...]
    base: Pose
    tool: Pose

    def cells(self) -> list[tuple[str, ...]]:
        """Header and rows as text."""
        header = ("joint", "type", "theta", "d", "a", "alpha")
        return [header, *(_cells(row) for row in self.rows)]

    def notes(self) -> list[str]:
        """Base and tool, where they are not the identity."""
        found = []
        for name, T in (("base", self.base), ("tool", self.tool)):
            xyz, rpy = ", ".join(map(quantity_text, T.xyz)), ", ".join(map(_angle_text, T.rpy))
            found += [f"{name}: xyz ({xyz}), rpy ({rpy})"] if Pose() != T else []
        return found

    def __str__(self) -> str:
        title = TITLE.format(self.convention)
        return "\n".join([title, text_table(self.cells()), *self.notes()])

    def _repr_html_(self) -> str:
        return html_table(self.cells(), [TITLE.format(self.convention), *self.notes()])


def dh_table(model: Model, convention: str | None = None) -> DhTable:
    """The table of a model in a convention (None: its own, or modified for a URDF)."""
    if convention is None:
        convention = "modified" if model.convention == "urdf" else model.convention
    dh = to_dh(model, convention)
    rows = tuple(
        TableRow(
            str(x.joint_name), x.joint, x.theta, x.d, x.a, x.alpha, x.offset, variable_text(dh, x)
        )
        for x in dh.links
    )
    return DhTable(convention, rows, dh.base, dh.tool)


def variable_text(model: Model, link: Link) -> str:
    """q1, q2, ... or what a mimicking joint makes of its leader's."""
    leader, factor, start = link.mimic or (link.joint_name, 1.0, 0.0)
    q = f"q{model.joint_names.index(str(leader)) + 1}"
    if factor != 1.0:
        q = f"-{q}" if factor == -1.0 else f"{_atom(quantity_text(factor))}*{q}"
    return _plus(q, start, _angle_text if link.joint == "revolute" else quantity_text)


def _cells(row: TableRow) -> tuple[str, ...]:
    theta, d = _angle_text(row.theta), quantity_text(row.d)
    if row.kind == "revolute":
        theta = _plus(row.variable, row.offset, _angle_text)
    else:
        d = _plus(row.variable, row.offset, quantity_text)
    return legible(row.joint_name), row.kind, theta, d, quantity_text(row.a), _angle_text(row.alpha)


def _plus(variable: str, constant: Any, text: Any) -> str:
    """q1, q1 + pi/2, q1 - 0.3 or q1 + (symbols)."""
    if isinstance(constant, Expression):
        return f"{variable} + {_atom(constant.text)}"
    if text(constant) == "0":
        return variable
    return f"{variable} {'-' if constant < 0 else '+'} {text(abs(constant))}"


def _atom(text: str) -> str:
    plain = text.isidentifier() or text.replace(".", "", 1).isdigit()
    return text if plain else f"({text})"


def _angle_text(x: Any) -> str:
    """A multiple of pi/12 in terms of pi, any other angle in radians to four digits."""
    if not isinstance(x, (int, float)):
        return str(x)
    twelfths = twelfths_of_pi(x)
    return f"{x:.4g}" if twelfths is None else pi_text(twelfths)


def twelfths_of_pi(x: float) -> int | None:
    """k if an angle is k pi / 12, else None."""
    twelfths = round(12.0 * x / math.pi)
    return None if abs(x - twelfths * math.pi / 12.0) > DRIFT else twelfths
