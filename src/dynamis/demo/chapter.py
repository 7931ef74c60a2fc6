"""A chapter of the story: a sentence, tables, formulas, charts, and its figures for machines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .charts import Panels

Rows = Sequence[Sequence[Any]]


@dataclass
class Chapter:
    """What one step of the story found; `good` is False where something did not hold."""

    title: str
    text: str
    tables: list[tuple[str, Sequence[str], Rows]] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)  # LaTeX
    charts: list[Panels | tuple[dict[str, Any], int]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    good: bool = True
    seconds: float = 0.0
    details: frozenset[str] = frozenset()  # titles of tables for the page only

    def table(self, title: str, header: Sequence[str], rows: Rows, page_only: bool = False) -> None:
        """Add a table; a cell is text, or text and "good" or "bad"."""
        self.tables.append((title, header, rows))
        if page_only:
            self.details |= {title}

    def chart(self, figure: dict[str, Any], height: int) -> None:
        """Add a plotly figure."""
        self.charts.append((figure, height))

    def grid(self, panels: Panels) -> None:
        """Add small figures side by side."""
        self.charts.append(panels)
