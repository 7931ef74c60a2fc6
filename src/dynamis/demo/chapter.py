"""Chapters of the demonstration: text, tables, formulas, charts, results as data; their page."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..equations.render.formula import mathml
from ..report.page import Page

# plotly figures: one panel per joint, lines over time, bars

POINTS = 400  # of a line: more than a screen shows
COLOURS = ("#8a96a3", "#1f5fa8", "#c9601a", "#2e8b57")
FONT = {"family": "system-ui, sans-serif", "color": "#1c2530", "size": 12}
AXIS = {"gridcolor": "#e6e9ed", "zerolinecolor": "#c3cad1", "automargin": True, "nticks": 5}


class Panels(NamedTuple):
    """One small figure per joint, and the legend they share: names and colours."""

    figures: list[dict[str, Any]]
    legend: list[tuple[str, str]]


def panels(
    t: np.ndarray, lines: Mapping[str, np.ndarray], titles: Sequence[str], unit: str
) -> Panels:
    """Lines (N, n) over time, a figure for each of the n titles."""
    kept = np.unique(np.linspace(0, len(t) - 1, min(POINTS, len(t))).round().astype(int))
    named = list(zip(lines.items(), COLOURS, strict=False))
    figures = []
    for k, title in enumerate(titles):
        layout = _layout() | {"showlegend": False}
        layout["title"] = {"text": html.escape(title), "x": 0.02, "y": 0.97, "font": {"size": 13}}
        layout["xaxis"] = AXIS | {"title": {"text": "time, s", "standoff": 3}}
        layout["yaxis"] = AXIS | {"title": {"text": unit, "standoff": 3}}
        data = [_line(n, t[kept], values[kept, k], colour) for (n, values), colour in named]
        figures.append({"data": data, "layout": layout})
    return Panels(figures, [(name, colour) for (name, _), colour in named])


def bars(labels: Sequence[str], values: Sequence[float], unit: str) -> dict[str, Any]:
    """Horizontal bars, the first on top, each with its number."""
    data = [{
        "type": "bar", "orientation": "h", "x": list(values)[::-1], "y": list(labels)[::-1],
        "marker": {"color": COLOURS[1]}, "hoverinfo": "skip", "textposition": "outside",
        "text": [f"{v:.3g}" for v in values][::-1], "cliponaxis": False,
    }]  # fmt: skip
    layout = _layout(right=60) | {"showlegend": False}
    layout["xaxis"] = AXIS | {"title": {"text": unit}, "rangemode": "tozero"}
    layout["yaxis"] = {"automargin": True}
    return {"data": data, "layout": layout}


def _layout(right: int = 10) -> dict[str, Any]:
    return {
        "margin": {"l": 10, "r": right, "t": 26, "b": 34}, "font": FONT, "hovermode": "x unified",
        "paper_bgcolor": "white", "plot_bgcolor": "white",
    }  # fmt: skip


def _line(name: str, x: np.ndarray, y: np.ndarray, colour: str) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "name": name,
        "x": [float(f"{v:.6g}") for v in x], "y": [float(f"{v:.5g}") for v in y],
        "line": {"color": colour, "width": 1.5},
    }  # fmt: skip


Rows = Sequence[Sequence[Any]]


@dataclass
class Chapter:
    """Results of one step; `good` is False if a check failed."""

    title: str
    text: str
    tables: list[tuple[str, Sequence[str], Rows]] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)  # LaTeX
    charts: list[Panels | tuple[dict[str, Any], int]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    good: bool = True
    seconds: float = 0.0

    def table(self, title: str, header: Sequence[str], rows: Rows) -> None:
        """Add a table; a cell is text, or text and "good" or "bad"."""
        self.tables.append((title, header, rows))

    def chart(self, figure: dict[str, Any], height: int) -> None:
        """Add a plotly figure."""
        self.charts.append((figure, height))

    def grid(self, panels: Panels) -> None:
        """Add small figures side by side."""
        self.charts.append(panels)


def page(name: str, chapters: Sequence[Chapter]) -> Page:
    """All chapters as one self-contained page."""
    total = sum(c.seconds for c in chapters)
    made = Page(
        f"{name}, from DH table to controller",
        f"Everything on this page was computed in {total:.0f} s by the command dynamis demo.",
    )
    for number, chapter in enumerate(chapters, 1):
        made.section(f"{number}. {chapter.title}", chapter.text)
        for formula in chapter.formulas:
            made.parts.append(
                f'<div class="wide formula"><math display="block">{mathml(formula)}</math></div>'
            )
        for title, header, rows in chapter.tables:
            made.caption(title)
            made.table(header, rows)
        for chart in chapter.charts:
            if isinstance(chart, Panels):
                made.grid(*chart)
            else:
                made.chart(*chart)
    return made
