"""Charts as SVG inside a page: lines, bands, dots, bars and stems over one pair of axes.

Only the curves are SVG; ticks and names are text of the page, of one size at every width. The
numbers that a pointer or the arrow keys read are those of the drawing, to 1/2000 of an axis.
"""

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZE = 2000  # units of a drawing's sides
COLOURS = 8  # of the style sheet: .c0 grey, .c1 blue, .c2 orange, .c3 green, ...
MARGIN = 0.06  # above and below the values, per range
TICKS = {"x": 6, "y": 5}  # at most, about


@dataclass(frozen=True)
class ChartSeries:
    """Values over x; an "area" lies between y and low, "bars" stand between len(y) + 1 edges x."""

    name: str
    x: Any
    y: Any
    look: str = "line"  # "line", "dashed", "dots", "area", "bars", "stems"
    colour: int = 1
    low: Any = None


@dataclass(frozen=True)
class ChartAxis:
    """A range of numbers, and where on it they are from 0 to 1."""

    low: float
    high: float
    log: bool = False

    def at(self, values: Any) -> np.ndarray:
        """Places of values."""
        given = np.asarray(values, dtype=float)
        if not self.log:
            return (given - self.low) / (self.high - self.low)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(given / self.low) / math.log(self.high / self.low)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within the range."""
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**k for k in range(first, last + 1, max(1, -(-(last - first) // most)))]
        rough = (self.high - self.low) / most
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(k * size for k in (1, 2, 5, 10) if k * size >= 0.999 * rough)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


@dataclass(frozen=True)
class Panel:
    """Series over one vertical axis, named with its unit; `range` None: what the values need."""

    series: Sequence[ChartSeries]
    label: str
    height: float = 8.0  # of a line of text
    range: tuple[float, float] | None = None
    log: bool = False


def chart(title: str, across: str, *panels: Panel, log: bool = False) -> str:
    """Panels below each other over the axis `across`, named with its unit, e.g. "time, s"."""
    x = _axis([s.x for p in panels for s in p.series], log)
    parts = [f"<figcaption>{html.escape(title)}</figcaption>"] if title else []
    ups = [_up(panel) for panel in panels]
    for panel, y in zip(panels, ups, strict=True):
        parts.append(_panel(title, across, panel, x, y, panel is panels[-1]))
    wide = max(len(_text(v)) for y in ups for v in (*y.ticks(TICKS["y"]), 0.0))
    return f'<figure class="chart" style="--wide:{wide}ch">{"".join(parts)}</figure>'


def legend(series: Sequence[ChartSeries]) -> str:
    """The names of series, each with a sample of its colour."""
    kind = {"dots": "dot", "dashed": "dash", "area": "block", "bars": "block"}
    items = (
        f'<li><i class="{kind.get(s.look, "rule")} c{s.colour % COLOURS}"></i>'
        f"{html.escape(s.name)}</li>"
        for s in series
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def bars(names: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]], unit: str) -> str:
    """Horizontal bars, for every row one of each name; NaN leaves a bar out."""
    largest = max((v for _, values in rows for v in values if math.isfinite(v)), default=1.0)
    shown = []
    for label, values in rows:
        lines = [
            f'<span class="bar">{html.escape(names[k])} {v:.3g} {html.escape(unit)}'
            f'<i class="c{k + 1}" style="width:{100 * v / largest:.2f}%"></i></span>'
            for k, v in enumerate(values)
            if math.isfinite(v)
        ]
        shown.append(f"<dt>{html.escape(label)}</dt><dd>{''.join(lines)}</dd>")
    return f'<dl class="bars">{"".join(shown)}</dl>'


def _axis(values: Sequence[Any], log: bool = False, margin: float = 0.0) -> ChartAxis:
    """The range of all finite values."""
    every = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    every = every[np.isfinite(every) & (every > 0.0)] if log else every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    if log:
        return ChartAxis(low, high if high > low else 10.0 * low, True)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        pad = 0.1 * max(abs(low), abs(high)) or 1.0
        return ChartAxis(low - pad, high + pad)
    return ChartAxis(low - margin * (high - low), high + margin * (high - low))


def _up(panel: Panel) -> ChartAxis:
    """The vertical axis."""
    if panel.range is not None:
        return ChartAxis(*panel.range, panel.log)
    needed: list[Any] = [s.y for s in panel.series]
    needed += [s.low for s in panel.series if s.look == "area"]
    needed += [[0.0] for s in panel.series if s.look in ("bars", "stems")]
    return _axis(needed, panel.log, MARGIN)


def _panel(title: str, across: str, panel: Panel, x: ChartAxis, y: ChartAxis, last: bool) -> str:
    xs, ys = x.ticks(TICKS["x"]), y.ticks(TICKS["y"])
    rules = "".join(f"M0 {_unit(1 - y.at(v))}h{SIZE}" for v in ys)
    labels = [
        f'<span class="y" style="bottom:{100 * float(y.at(v)):.2f}%">{_text(v)}</span>' for v in ys
    ]
    if last:
        labels += [
            f'<span class="x" style="left:{100 * float(x.at(v)):.2f}%">{_text(v)}</span>'
            for v in xs
        ]
    curves = "".join(_curve(s, x, y) for s in panel.series)
    below = f'<span class="across">{html.escape(across)}</span>' if last else ""
    said = html.escape(_said(title, across, panel, x), quote=True)
    numbers = " ".join(f"{v:.9g}" for v in (x.low, x.high, y.low, y.high))
    return (
        f'<span class="unit">{html.escape(panel.label)}</span>'
        f'<div class="plot" tabindex="0" role="img" aria-label="{said}" data-range="{numbers}" '
        f'data-log="{int(x.log)}{int(y.log)}" data-across="{html.escape(across, quote=True)}" '
        f'data-up="{html.escape(panel.label, quote=True)}" '
        f'style="height:{panel.height:g}rem">'
        f'<svg viewBox="0 0 {SIZE} {SIZE}" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="grid-line" d="{rules}"/>{curves}</svg>{"".join(labels)}</div>{below}'
    )


def _said(title: str, across: str, panel: Panel, x: ChartAxis) -> str:
    """A panel in words, for who does not see it."""
    ranges = []
    for s in panel.series:
        y = np.asarray(s.y, dtype=float)
        y = y[np.isfinite(y)]
        if len(y):
            ranges.append(f"{s.name} from {y.min():.3g} to {y.max():.3g}")
    where = f"{across} from {x.low:.3g} to {x.high:.3g}"
    return f"{title}{': ' if title else ''}{panel.label} over {where}; {'; '.join(ranges)}"


def _curve(s: ChartSeries, x: ChartAxis, y: ChartAxis) -> str:
    across, up = SIZE * x.at(s.x), SIZE * (1.0 - y.at(s.y))
    ground = SIZE * (1.0 - float(y.at(0.0))) if s.look in ("bars", "stems") else 0.0
    if s.look == "bars":
        d = "".join(
            f"M{_n(a)} {_n(ground)}V{_n(v)}H{_n(b)}V{_n(ground)}z"
            for a, b, v in zip(across[:-1], across[1:], up, strict=True)
        )
    elif s.look == "stems":
        d = "".join(f"M{_n(a)} {_n(ground)}V{_n(v)}" for a, v in zip(across, up, strict=True))
    elif s.look == "dots":
        ends = np.isfinite(across) & np.isfinite(up)
        d = "".join(f"M{_n(a)} {_n(b)}h0" for a, b in zip(across[ends], up[ends], strict=True))
    elif s.look == "area":
        below = SIZE * (1.0 - y.at(s.low))
        d = _path(np.append(across, across[::-1]), np.append(up, below[::-1])) + "z"
    else:
        d = _path(across, up)
    name = html.escape(s.name, quote=True)
    return f'<path class="{s.look} c{s.colour % COLOURS}" data-name="{name}" d="{d}"/>'


def _path(across: np.ndarray, up: np.ndarray) -> str:
    """A line through the points in whole units and short text; what is not finite is a gap."""
    limit = 50.0 * SIZE  # what is far outside needs no digits
    parts, before = [], None
    for a, b in zip(across.tolist(), up.tolist(), strict=True):
        if not (math.isfinite(a) and math.isfinite(b)):
            before = None
            continue
        here = round(a), round(max(-limit, min(limit, b)))
        if before is None:
            parts.append(f"M{here[0]} {here[1]}l")
        elif here != before:
            dx, dy = here[0] - before[0], here[1] - before[1]
            parts.append(
                f"{'' if dx < 0 or parts[-1].endswith('l') else ' '}{dx}{'' if dy < 0 else ' '}{dy}"
            )
        before = here
    return "".join(_closed(parts))


def _closed(parts: list[str]) -> Iterator[str]:
    """Points alone, drawn as such: a path's "l" wants numbers."""
    for k, part in enumerate(parts):
        alone = part.endswith("l") and (k + 1 == len(parts) or parts[k + 1].startswith("M"))
        yield f"{part}0 0" if alone else part


def _n(value: float) -> str:
    return f"{value:.0f}"


def _unit(value: Any) -> str:
    return _n(SIZE * float(value))


def _text(value: float) -> str:
    """A tick's number."""
    shown = f"{value:.6g}" if abs(value) > 1e-12 else "0"
    shown = shown.replace("e-0", "e-").replace("e+0", "e")
    return "\u2212" + shown[1:] if value < 0.0 else shown
