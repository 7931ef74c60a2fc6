"""A self-contained HTML page: text, tables, figures and interactive charts."""

import html
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import templates
from ..files import write
from ..lazy import package
from ..logs.log import LONG_GAP

LONG = 48  # characters above which a cell may wrap


class Page:
    """Sections in order; everything that is text is escaped."""

    def __init__(self, title: str, lead: str = ""):
        self.title = title
        self.charts: list[dict[str, Any]] = []
        self.parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{html.escape(lead)}</p>"]

    def section(self, title: str, text: str = "") -> None:
        """A heading and a sentence."""
        self.parts.append(f"<h2>{html.escape(title)}</h2>")
        if text:
            self.text(text)

    def text(self, text: str, style: str = "") -> None:
        """A paragraph; `style` is a class of the style sheet."""
        marked = f' class="{style}"' if style else ""
        self.parts.append(f"<p{marked}>{html.escape(text)}</p>")

    def caption(self, text: str) -> None:
        """A small heading over what follows."""
        self.parts.append(f"<h3>{html.escape(text)}</h3>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """A table; a cell may be (text, "good" or "bad")."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
        self.parts.append(f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>')

    def figure(self, figure: Any) -> None:
        """A matplotlib figure as inline SVG."""
        stream = io.StringIO()
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
        text = stream.getvalue()
        self.parts.append(text[text.index("<svg") :])

    def chart(self, figure: dict[str, Any], height: int = 360) -> None:
        """A plotly figure (data, layout, frames) that is drawn when it comes into view."""
        self.parts.append(self._place(figure, height))

    def grid(self, figures: Sequence[dict[str, Any]], legend: Sequence[tuple[str, str]]) -> None:
        """Small charts side by side, as many as fit, below one legend of (name, colour)."""
        names = (f'<b style="color:{colour}">{html.escape(name)}</b>' for name, colour in legend)
        self.parts.append(f'<p class="legend">{" ".join(names)}</p>')
        inside = "".join(self._place(figure, 210) for figure in figures)
        self.parts.append(f'<div class="grid">{inside}</div>')

    def _place(self, figure: dict[str, Any], height: int) -> str:
        self.charts.append(figure)
        number = len(self.charts) - 1
        return f'<div class="plot" data-figure="{number}" style="height:{height}px"></div>'

    def _scripts(self) -> str:
        if not self.charts:
            return ""
        return with_plotly("figures", self.charts, templates.text(__package__, "page.js"))

    def html(self) -> str:
        """The whole page."""
        return templates.filled(
            __package__,
            "page.html",
            TITLE=html.escape(self.title),
            STYLE=templates.text(__package__, "page.css"),
            BODY="\n".join(self.parts) + self._scripts(),
        )

    def save(self, path: Path) -> None:
        """Write the page."""
        write(path, self.html())


def with_plotly(name: str, numbers: Any, script: str) -> str:
    """Plotly itself, numbers as JSON in the element `name`, and a script that draws them."""
    offline = package("plotly.offline", "plotly", "a page with charts", "plots")
    text = json.dumps(numbers, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f"<script>{offline.get_plotlyjs()}</script>\n"
        f'<script type="application/json" id="{name}">{text}</script>\n'
        f"<script>\n{script}</script>"
    )


def _cell(cell: Any) -> str:
    text, style = cell if isinstance(cell, tuple) else (cell, "")
    text = str(text)
    classes = " ".join(c for c in (style, "long" if len(text) > LONG else "") if c)
    marked = f' class="{classes}"' if classes else ""
    return f"<td{marked}>{html.escape(text)}</td>"


def few(t: np.ndarray, series: tuple[np.ndarray, ...], most: int) -> list[int | None]:
    """At most about `most` rows that keep every peak of every series; None where a gap breaks."""
    kept = _peaks(series, most) if len(t) > most else np.arange(len(t))
    steps = np.diff(t)
    stretch = np.concatenate([[0], np.cumsum(steps > LONG_GAP * np.median(steps))])
    found: list[int | None] = []
    for k in kept.tolist():
        if found and stretch[k] != stretch[found[-1] or 0]:
            found.append(None)
        found.append(k)
    return found


def _peaks(series: tuple[np.ndarray, ...], most: int) -> np.ndarray:
    """Where each series is lowest and highest, bucket by bucket."""
    buckets = np.array_split(np.arange(len(series[0])), max(1, most // (2 * len(series))))
    found = {0, len(series[0]) - 1}
    for rows in buckets:
        for values in series:
            found |= {int(rows[values[rows].argmin()]), int(rows[values[rows].argmax()])}
    return np.array(sorted(found))
