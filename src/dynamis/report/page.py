"""A self-contained HTML page: sections of text, tables, drawings, and charts to explore."""

import html
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..files import write

STYLE = """
:root { --ink: #1c2530; --soft: #5b6672; --line: #dfe3e8; --accent: #1f5fa8; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto; padding: 1.5rem;
       max-width: 62rem; }
h1 { font-size: 1.8rem; margin: 0 0 .2rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; }
h3 { font-size: .95rem; margin: 1rem 0 .3rem; color: var(--soft); }
p { margin: .3rem 0 .8rem; color: var(--soft); max-width: 46rem; }
.wide { overflow-x: auto; margin-bottom: .6rem; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line);
         white-space: nowrap; font-variant-numeric: tabular-nums; }
td.long { white-space: normal; min-width: 16rem; }
th { color: var(--soft); font-weight: 600; } svg { max-width: 100%; height: auto; }
.formula { margin: .7rem 0; } .legend b { margin-right: 1rem; font-size: .9rem; }
.grid { display: grid; gap: .2rem .8rem;
        grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); }
.good { color: #23763b; } .bad { color: #b3261e; font-weight: 600; }
"""
CHARTS = r"""
const figures = JSON.parse(document.getElementById("figures").textContent);
const still = {displaylogo: false, responsive: true, scrollZoom: false};
function show(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const f = figures[+place.dataset.figure];
  Plotly.newPlot(place, {data: f.data, layout: f.layout, frames: f.frames || [], config: still});
}
const places = [...document.querySelectorAll(".plot")];
const seen = new IntersectionObserver((all) => all.forEach((one) => {
  if (one.isIntersecting) { show(one.target); seen.unobserve(one.target); }
}), {rootMargin: "600px"});
places.forEach((place) => seen.observe(place));
addEventListener("beforeprint", () => places.forEach(show));
"""
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
            self.parts.append(f"<p>{html.escape(text)}</p>")

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
        return with_plotly("figures", self.charts, CHARTS)

    def html(self) -> str:
        """The whole page."""
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{STYLE}</style></head><body>"
            + "\n".join(self.parts)
            + self._scripts()
            + "</body></html>\n"
        )

    def save(self, path: Path) -> None:
        """Write the page."""
        write(path, self.html())


def with_plotly(name: str, numbers: Any, script: str) -> str:
    """Plotly itself, numbers as JSON in the element `name`, and a script that draws them."""
    from plotly.offline import get_plotlyjs

    text = json.dumps(numbers, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f"<script>{get_plotlyjs()}</script>\n"
        f'<script type="application/json" id="{name}">{text}</script>\n'
        f"<script>{script}</script>"
    )


def _cell(cell: Any) -> str:
    text, style = cell if isinstance(cell, tuple) else (cell, "")
    text = str(text)
    classes = " ".join(c for c in (style, "long" if len(text) > LONG else "") if c)
    marked = f' class="{classes}"' if classes else ""
    return f"<td{marked}>{html.escape(text)}</td>"
