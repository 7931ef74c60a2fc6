"""An arm as rows Rz(theta) Tz(d) Tx(a) Rx(alpha) between a base and an end, over SymPy.

Whatever the convention of its table; axes of neighbours that point opposite ways are turned round.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import sympy as sp

from ...errors import ModelError
from ...model.dh.convert import to_dh
from ...model.model import Model
from ...model.pose import Pose
from ...model.quantity import resolve
from ...spatial.frames import Frame, matrix
from ..scalars.scalars import EXACT, Exact, mapped, plain

QUARTER = math.pi / 2
NEARLY = 1e-9  # of a quarter turn, and of lengths in metres


class Row(NamedTuple):
    """One joint: Rz(theta) Tz(d) Tx(a) Rx(turn pi/2), the variable in theta or d."""

    kind: str
    offset: Any
    theta: Any  # of a prismatic joint
    d: Any
    a: Any
    turn: int | None  # quarter turns; None: another angle
    way: int = 1  # -1: the axis is that of the table, turned round

    def angle(self, q: Any) -> Any:
        """theta of a revolute joint at q."""
        return self.way * (q + self.offset)

    def turned_round(self) -> "Row":
        """Rx(pi) times this row, but for the half turn behind it."""
        return self._replace(d=-self.d, turn=_half_turn(self.turn), way=-self.way)


@dataclass(frozen=True)
class Rows:
    """Base, rows and end of an arm over SymPy."""

    model: Model
    base: Any
    rows: tuple[Row, ...]
    end: Any

    @property
    def kinds(self) -> str:
        """RRP and the like."""
        return "".join(row.kind[0].upper() for row in self.rows)

    def turns(self, *places: int) -> tuple[int | None, ...]:
        """Quarter turns between the axes of joints."""
        return tuple(self.rows[k].turn for k in places)


def arm_rows(model: Model) -> Rows | None:
    """The arm as rows; None where joints follow others or branch."""
    if any(link.mimic is not None for link in model.links) or model.is_tree:
        return None
    if model.tip != len(model.links) - 1:
        return None
    if model.convention == "urdf":
        try:
            model = to_dh(model, "standard")
        except ModelError:
            return None
    values = {x: Exact(sp.Symbol(x, real=True)) for x in model.symbols}

    def exact(x: Any) -> Any:
        return sp.sympify(plain(resolve(x, values, EXACT)))

    def angle(x: Any) -> Any:
        twelfths = round(12 * x / math.pi) if isinstance(x, (int, float)) else None
        if twelfths is None or abs(x - twelfths * math.pi / 12) > NEARLY:
            return exact(x)
        return sp.Rational(twelfths, 12) * sp.pi

    def pose_matrix(T: Pose) -> Any:
        frame: Frame = T.frame(values, EXACT)
        return sp.Matrix(mapped(matrix(frame), plain))

    modified = model.convention == "modified"
    base, end = pose_matrix(model.base), pose_matrix(model.tool)
    links = model.links
    after = [(x.a, x.alpha) for x in links]
    if modified:
        first, *others = after
        after = [*others, (0.0, 0.0)]
        base = base * shifted(exact(first[0]), first[1])
    else:
        last = after[-1]
        after[-1] = (0.0, 0.0)
        end = shifted(exact(last[0]), last[1]) * end
    rows = []
    for x, (a, alpha) in zip(links, after, strict=True):
        offset = angle(x.offset) if x.joint == "revolute" else exact(x.offset)
        rows.append(Row(x.joint, offset, angle(x.theta), exact(x.d), exact(a), quarter(alpha)))
    return Rows(model, base, *_parallel(rows, end))


def _half_turn(turn: int | None) -> int | None:
    return None if turn is None else (turn + 3) % 4 - 1


def _parallel(rows: list[Row], end: Any) -> tuple[tuple[Row, ...], Any]:
    """Neighbouring axes that point opposite ways turned the same way, up to the third joint."""
    for k in range(min(2, len(rows) - 1)):
        if rows[k].turn != 2 or "prismatic" in (rows[k].kind, rows[k + 1].kind):
            continue
        rows[k] = rows[k]._replace(turn=0)
        rows[k + 1] = rows[k + 1].turned_round()
        if k + 1 == len(rows) - 1:
            rows[k + 1] = rows[k + 1]._replace(turn=0)
            end = shifted(sp.Integer(0), math.pi) * end
    return tuple(rows), end


def quarter(alpha: Any) -> int | None:
    """Quarter turns of an angle, -1 to 2; None where it is another."""
    if not isinstance(alpha, (int, float)):
        return None
    k = round(alpha / QUARTER)
    return None if abs(alpha - k * QUARTER) > NEARLY else (k + 1) % 4 - 1


def shifted(a: Any, alpha: Any) -> Any:
    """Tx(a) Rx(alpha)"""
    k = quarter(alpha)
    if k is None:
        c, s = (plain(x) for x in (EXACT.cos(Exact(alpha)), EXACT.sin(Exact(alpha))))
    else:
        c, s = sp.Integer((1, 0, -1, 0)[k % 4]), sp.Integer((0, 1, 0, -1)[k % 4])
    return sp.Matrix([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def along_axis(row: Row, turn: Any = 0) -> Any:
    """Rz of the constant angle of a prismatic joint (given its cosine and sine) and Tz(d)."""
    c, s = (sp.cos(turn), sp.sin(turn)) if turn else (sp.Integer(1), sp.Integer(0))
    d = row.d if row.kind == "revolute" else sp.Integer(0)
    return sp.Matrix([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, d], [0, 0, 0, 1]])
