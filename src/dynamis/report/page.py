"""A self-contained HTML page: text, tables, figures, charts, details that fold."""

import html
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .. import templates
from ..files import write
from ..logs.log import LONG_GAP
from .chart import ChartSeries, legend

LONG = 48  # characters above which a cell may wrap


class Page:
    """Sections in order; everything that is text is escaped."""

    def __init__(self, title: str, lead: str = ""):
        self.title = title
        self.scripts: dict[str, str] = {}  # by name: what the page runs at its end
        self.styles = [templates.text(__package__, "page.css")]
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

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]], name: str = "") -> None:
        """A table; a cell may be (text, "good" or "bad"), `name` is for who does not see it."""
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
        body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
        said = html.escape(name or " ".join(x for x in header if x) or "table", quote=True)
        self.parts.append(
            f'<div class="wide" tabindex="0" role="group" aria-label="{said}"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def figure(self, figure: Any, name: str = "figure") -> None:
        """A matplotlib figure as inline SVG on a white ground."""
        stream = io.StringIO()
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
        drawn = stream.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        said = html.escape(name, quote=True)
        self.parts.append(
            f'<div class="paper" tabindex="0" role="img" aria-label="{said}">{drawn}</div>'
        )

    def chart(self, chart: str, series: Sequence[ChartSeries] = ()) -> None:
        """One of chart.py's charts, below the legend of its series."""
        self.grid([chart], series, "single")

    def grid(
        self, charts: Sequence[str], series: Sequence[ChartSeries] = (), style: str = "grid"
    ) -> None:
        """Charts side by side, as many as fit, below one legend."""
        self.script("chart.js")
        if series:
            self.parts.append(legend(series))
        self.parts.append(f'<div class="{style}">{"".join(charts)}</div>')

    @contextmanager
    def fold(self, summary: str) -> Iterator[None]:
        """What is added within is shown on request."""
        self.parts.append(f"<details><summary>{html.escape(summary)}</summary>")
        yield
        self.parts.append("</details>")

    def script(self, name: str) -> None:
        """A template of this package that the page runs."""
        self.scripts[name] = templates.text(__package__, name)

    def html(self) -> str:
        """The whole page."""
        return templates.filled(
            __package__,
            "page.html",
            TITLE=html.escape(self.title),
            STYLE="".join(self.styles),
            BODY="\n".join(
                ["<main>", *self.parts, "</main>", *map(_script, self.scripts.values())]
            ),
        )

    def save(self, path: Path) -> Path:
        """Write the page."""
        return write(path, self.html())


def _script(text: str) -> str:
    """A script whose names are its own."""
    return f"<script>{{\n{text}}}</script>"


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
