"""Chapters of the demonstration: text, tables, formulas, charts, results as data; their page."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .. import templates
from ..equations.render.formula import mathml
from ..plots import viewer
from ..report.chart import ChartSeries, Panel, chart
from ..report.page import Page, few

POINTS = 400  # of a line: more than a screen shows
Rows = Sequence[Sequence[Any]]


class ChapterTable(NamedTuple):
    """Rows below a header; a cell is text, or text and "good" or "bad"."""

    title: str
    header: Sequence[str]
    rows: Rows


class Grid(NamedTuple):
    """Charts side by side below the legend they share."""

    title: str
    charts: list[str]
    series: Sequence[ChartSeries] = ()
    style: str = "grid"  # of the style sheet


class Headline(NamedTuple):
    """A figure of the first screen: what it is, the number with its unit, and what it means."""

    name: str
    value: str
    meaning: str


@dataclass
class Chapter:
    """Results of one step; `good` is False if a check failed."""

    title: str
    text: str
    result: str = ""  # in a few words
    formulas: list[str] = field(default_factory=list)  # LaTeX
    tables: list[ChapterTable] = field(default_factory=list)
    charts: list[Grid] = field(default_factory=list)
    # title, text, what
    folded: list[tuple[str, str, ChapterTable | Grid]] = field(default_factory=list)
    headline: Headline | None = None
    arm: str = ""  # the moving arm, as elements of a page
    facts: dict[str, Any] = field(default_factory=dict)
    good: bool = True
    seconds: float = 0.0

    def fold(self, title: str, what: ChapterTable | Grid, text: str = "") -> None:
        """Add what is shown on request."""
        self.folded.append((title, text, what))


def panels(
    title: str, t: np.ndarray, lines: Mapping[str, np.ndarray], names: Sequence[str], unit: str
) -> Grid:
    """Lines (N, n) over time, a chart for each of the n names."""
    first = int(len(lines) == 1)  # grey only beside others
    kinds = [ChartSeries(name, [], [], colour=k) for k, name in enumerate(lines, first)]
    charts = []
    for k, name in enumerate(names):
        columns = [values[:, k] for values in lines.values()]
        rows = [row for row in few(t, tuple(columns), POINTS) if row is not None]
        drawn = [
            ChartSeries(kind.name, t[rows], y[rows], colour=kind.colour)
            for kind, y in zip(kinds, columns, strict=True)
        ]
        charts.append(chart(name, "time, s", Panel(drawn, unit)))
    return Grid(title, charts, kinds)


def page(name: str, chapters: Sequence[Chapter]) -> Page:
    """The moving arm and the headline figures, then all chapters, as one self-contained page."""
    total = sum(c.seconds for c in chapters)
    made = Page(
        f"{name}, from DH table to controller",
        "A robot arm's equations, a model identified from its logged motion, and the controller "
        f"that moves it here, all computed in {total:.0f} s by the command dynamis demo.",
    )
    made.styles += [viewer.style(), templates.text(__package__, "demo.css")]
    made.scripts["viewer"] = viewer.script()
    made.parts = [_first_screen(made.parts, chapters)]
    for number, chapter in enumerate(chapters, 1):
        made.section(f"{number}. {chapter.title}", chapter.text)
        for formula in chapter.formulas:
            made.parts.append(
                '<div class="wide formula" tabindex="0" role="group" aria-label="formula">'
                f'<math display="block">{mathml(formula)}</math></div>'
            )
        for what in (*chapter.tables, *chapter.charts):
            _add(made, what, what.title)
        for title, text, what in chapter.folded:
            with made.fold(title):
                if text:
                    made.text(text)
                _add(made, what, "")
    return made


def _first_screen(heading: Sequence[str], chapters: Sequence[Chapter]) -> str:
    """Title, moving arm and headline figures."""
    figures = "".join(
        f"<div><dt>{html.escape(h.name)}</dt><dd><b>{html.escape(h.value)}</b> "
        f"<span>{html.escape(h.meaning)}</span></dd></div>"
        for h in (chapter.headline for chapter in chapters)
        if h is not None
    )
    arm = "".join(chapter.arm for chapter in chapters)
    return (
        f'<header class="first-screen"><div class="heading">{"".join(heading)}</div>'
        f'{arm}<dl class="figures">{figures}</dl></header>'
    )


def _add(made: Page, what: ChapterTable | Grid, title: str) -> None:
    if title:
        made.caption(title)
    if isinstance(what, ChapterTable):
        made.table(what.header, what.rows, what.title)
    else:
        made.grid(what.charts, what.series, what.style)
