"""How a run is laid out: which joints and which quantity share a panel."""

from collections.abc import Sequence
from dataclasses import dataclass

from .series import Series

SEPARATE = 8  # joints up to which each has a row of its own


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a quantity of some joints that share a unit."""

    row: int
    column: int
    series: Series
    joints: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Layout:
    """Panels in a grid; with `separate` a row is a joint, else a row is a quantity."""

    panels: tuple[Panel, ...]
    rows: int
    columns: int
    separate: bool


def layout(series: Sequence[Series], joints: Sequence[int], kinds: Sequence[str]) -> Layout:
    """A row per joint for a few joints; for many, a row per quantity and a column per unit."""
    if len(joints) <= SEPARATE:
        panels = tuple(
            Panel(row, column, s, (joint,), kinds[joint])
            for row, joint in enumerate(joints)
            for column, s in enumerate(series)
        )
        return Layout(panels, len(joints) if series else 0, len(series), True)
    present = [k for k in ("revolute", "prismatic") if any(kinds[j] == k for j in joints)]
    panels = tuple(
        Panel(row, column, s, tuple(j for j in joints if kinds[j] == kind), kind)
        for row, s in enumerate(series)
        for column, kind in enumerate(present)
    )
    return Layout(panels, len(series), len(present), False)
