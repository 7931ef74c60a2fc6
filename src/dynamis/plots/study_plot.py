"""A study as one figure: how a measure is distributed over the arms, joint by joint, and why."""

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ..arguments import checked
from ..errors import OptionError, shown
from ..study.summary import CHANCE, scaled
from .figure import INK, LINE, SOFT, Picture, check_save, plain, save
from .run_plot import COLOURS, style

if TYPE_CHECKING:
    from ..study.study import Study
    from ..study.summary import Distribution

MARKED = ((0.5, "50 %", "#2e8b57"), (0.95, "95 %", "#d9822b"), (0.999, "99.9 %", "#b3261e"))
PANELS = 12  # columns of a measure up to which each has a panel
LEADING = 14.0  # points from a line of text to the next
BARS = 60  # of a histogram at most
WIDE = 10.0  # last quantile over the median from which an axis is logarithmic
TAIL = 2.0  # times the span up to the last quantile: what is further out is named, not drawn
LEAST = 0.005  # share of the variance from which the fifth factor on is worth a bar
ACCENT, PALE = "#1f5fa8", "#a9c3e0"


@checked
def plot_study(study: "Study", measure: str, joint: Any = None, path: Any = None) -> Figure:
    """Distribution of a measure over the arms, with quantiles, and what causes it, by joint.

    A quantile with a ≥ has no upper bound: there are too few samples for it. A share of variance
    that chance alone could give is pale. Of a measure with more than twelve columns the quantiles
    are drawn over the columns.
    """
    check_save(path)
    if not all(hasattr(study, name) for name in ("robot", "columns", "quantiles")):
        raise OptionError(f"study is {shown(study)}, expected what dy.study returned")
    names = study.columns(measure)
    chosen = list(range(len(names)))
    if joint is not None:
        if not isinstance(joint, str) or joint not in names:
            raise OptionError(
                f"joint is {shown(joint)}, expected one of {', '.join(names)}"
                if len(names) > 1
                else f"joint is {shown(joint)}, but {measure} is one number of the arm"
            )
        chosen = [names.index(joint)]
    figure = _many(study, measure) if len(chosen) > PANELS else _panels(study, measure, chosen)
    figure.suptitle(plain(_title(study, measure)), color=INK, fontsize=12)
    if path is not None:
        save(figure, path)
    return figure


def _title(study: "Study", measure: str) -> str:
    arms = f"{study.samples} arms" if study.samples > 1 else "one arm"
    failed = study.failed.count
    bad = f", {failed} of them failed (taken as infinite)" if failed else ""
    title = f"{study.robot.name}, {arms}{bad}\n{study.described(measure)}"
    return "\n".join(part for row in title.split("\n") for part in textwrap.wrap(row, 100))


def _panels(study: "Study", measure: str, chosen: list[int]) -> Figure:
    """A row per column: distribution, its numbers, its causes."""
    causes = bool(study.factors) and study.samples > 1
    height = 1.35 if len(chosen) > 1 else 2.9
    width = [4.2, 1.35] + [3.2] * causes
    size = (sum(width) + 2.2, height * len(chosen) + 1.3)
    figure = Picture(figsize=size, layout="constrained")
    cells = figure.add_gridspec(len(chosen), len(width), width_ratios=width)
    for row, column in enumerate(chosen):
        axes, beside = (figure.add_subplot(cells[row, k]) for k in range(2))
        _distribution(axes, beside, study, measure, column)
        if causes:
            last = row == len(chosen) - 1
            _causes(figure.add_subplot(cells[row, 2]), study, measure, column, height, last)
    return figure


def _distribution(axes: Any, beside: Any, study: "Study", measure: str, column: int) -> None:
    found = study.distribution(measure, column)
    name, unit = study.columns(measure)[column], study.units(measure)[column]
    style(axes)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    colour = COLOURS[column % len(COLOURS)]
    if name:
        label = "\n".join(textwrap.wrap(plain(name).replace("_", "_ "), 14)).replace("_ ", "_")
        axes.set_ylabel(
            label, rotation=0, ha="right", va="center", fontsize=9, color=colour, weight="bold"
        )
    values = study.quantiles(measure, [share for share, _, _ in MARKED])[:, column]
    if not len(found.corners):
        axes.set_xticks([])
        said = "no sample has a finite value"
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", color=SOFT, fontsize=9)
        scale, unit = 1.0, ""
    else:
        scale, unit = scaled(max(abs(found.low), abs(found.high)), unit)
        _bars(axes, found, values, scale, study.samples, colour)
        axes.set_xlabel(unit, fontsize=8, color=SOFT, labelpad=1)
    _numbers(beside, study, measure, column, values, found, scale, unit)


def _bars(
    axes: Any, found: "Distribution", quantiles: np.ndarray, scale: float, samples: int, colour: str
) -> None:
    """The histogram and a line at every quantile."""
    low, high = found.low, found.high
    last = quantiles[np.isfinite(quantiles)].max(initial=low)
    logarithmic = low > 0.0 and last > WIDE * quantiles[0]
    if not logarithmic and high - low > TAIL * (last - low) > 0.0:
        high = low + TAIL * (last - low)
    count = 2 * int(np.clip(samples ** (1.0 / 3.0), 3, BARS // 2))
    if logarithmic:
        step = (high / low) ** (0.5 / count)
        edges = np.geomspace(low / step, high * step, count + 2)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        span = high - low
        if span <= 1e-9 * max(abs(low), abs(high)):  # all equal
            span = 0.2 * abs(high) or 1.0
            low, high = low - 0.5 * span, high + 0.5 * span
        step = 0.5 * span / count
        edges = np.linspace(low - step, high + step, count + 2)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    heights = found.heights(edges)
    top = float(heights.max()) or 1.0
    axes.stairs(heights, edges * scale, fill=True, color=colour, alpha=0.35, zorder=2)
    axes.stairs(heights, edges * scale, color=colour, linewidth=0.8, zorder=3)
    axes.set_xlim(edges[0] * scale, edges[-1] * scale)
    axes.set_ylim(0.0, 1.08 * top)
    for (_, _, ink), value in zip(MARKED, quantiles, strict=True):
        if np.isfinite(value):
            axes.axvline(value * scale, color=ink, linewidth=1.3, zorder=4)


def _numbers(
    beside: Any, study: "Study", measure: str, column: int, values: np.ndarray,
    found: "Distribution", scale: float, unit: str,
) -> None:  # fmt: skip
    """Quantiles in the colours of their lines (≥ where there are too few samples to bound one)."""
    beside.axis("off")
    rows: list[tuple[str, float | None, str]] = [
        (label, value, ink) for (_, label, ink), value in zip(MARKED, values, strict=True)
    ]
    upper = study.quantile_intervals(measure, [share for share, _, _ in MARKED])[:, 1, column]
    few = {label for (_, label, _), x in zip(MARKED, upper, strict=True) if not np.isfinite(x)}
    if len(found.corners):
        rows.append(("largest", study.extremes(measure)[1][column], INK))
    if study.samples == 1:
        rows = rows[-1:]
    if found.infinite:
        said = f"infinite: {found.infinite} arm{'s' * (found.infinite > 1)}"
        rows.append((said, None, SOFT))
    top = 0.5 * LEADING * (len(rows) - 1)
    look: dict[str, Any] = {
        "xycoords": "axes fraction", "textcoords": "offset points", "fontsize": 8, "va": "center",
    }  # fmt: skip
    for k, (label, value, ink) in enumerate(rows):
        at, bold = top - k * LEADING, "normal" if value is None else "bold"
        beside.annotate(label, (0.0, 0.5), (0, at), color=ink, weight=bold, **look)
        if value is not None:
            text = f"{value * scale:.3g} {unit}" if np.isfinite(value) else "infinite"
            text = f"≥ {text}" if label in few and np.isfinite(value) else text
            beside.annotate(text.strip(), (0.0, 0.5), (42, at), color=ink, **look)


def _causes(
    axes: Any, study: "Study", measure: str, column: int, height: float, last: bool
) -> None:
    """Horizontal bars of the largest shares of variance."""
    style(axes)
    found = study.sensitivity(measure)
    ranked = found.ranked(max(3, int((height - 0.35) / 0.22)), column)
    ranked = [x for k, x in enumerate(ranked) if x[1] > (LEAST if k > 3 else 0.0)]
    axes.set_xlim(0.0, 100.0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.tick_params(labelbottom=last)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    if last:
        axes.set_xlabel("share of the variance, %", fontsize=8, color=SOFT)
    if not ranked:
        axes.set_yticks([])
        said = "nothing that varies changes it"
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", color=SOFT, fontsize=8)
        return
    y = max(len(ranked), 3) - 1 - np.arange(len(ranked))
    shares = [100.0 * min(share, 1.0) for _, share in ranked]
    sure = [100.0 * CHANCE / study.samples < share for share in shares]
    axes.barh(y, shares, height=0.72, color=[ACCENT if s else PALE for s in sure], zorder=2)
    axes.set_yticks(y, [_short(plain(name)) for name, _ in ranked], fontsize=7.5, color=INK)
    axes.set_ylim(-0.7, max(len(ranked), 3) - 0.3)
    axes.tick_params(axis="y", length=0)
    for k, share in zip(y, shares, strict=True):
        inside = share > 82.0
        axes.text(
            share - 1.5 if inside else share + 1.5, k, f"{share:.0f}" if share >= 1 else "< 1",
            va="center", ha="right" if inside else "left", fontsize=7,
            color="white" if inside else SOFT, zorder=3,
        )  # fmt: skip


def _short(name: str, most: int = 30) -> str:
    """A long name with its middle left out: both its link and its kind are wanted."""
    return name if len(name) <= most else f"{name[: most // 2 - 2]}...{name[-most // 2 + 1 :]}"


def _many(study: "Study", measure: str) -> Figure:
    """Quantiles over the columns of a measure that has too many for a panel each."""
    found = study.quantiles(measure, [share for share, _, _ in MARKED])
    units = set(study.units(measure))
    finite = found[np.isfinite(found)]
    size = float(np.abs(finite).max(initial=0.0))
    scale, unit = scaled(size, units.pop()) if len(units) == 1 else (1.0, " or ".join(units))
    figure = Picture(figsize=(9.0, 4.2), layout="constrained")
    axes = figure.add_subplot()
    style(axes)
    x = np.arange(1, found.shape[1] + 1)
    few = len(x) <= 60
    for (_, label, ink), row in zip(MARKED, found, strict=True):
        shown_row = np.where(np.isfinite(row), row * scale, np.nan)
        axes.plot(x, shown_row, "o-" if few else "-", color=ink, lw=1.3, ms=3.5, label=label)
    infinite = int((~np.isfinite(found)).any(axis=0).sum())
    if infinite:
        said = f"{infinite} columns have an infinite quantile"
        axes.text(0.01, 0.97, said, transform=axes.transAxes, va="top", fontsize=8, color=SOFT)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
    axes.set_xlabel("column", fontsize=8, color=SOFT)
    axes.set_ylabel(unit, fontsize=8, color=SOFT)
    axes.axhline(0.0, color=LINE, linewidth=0.8, zorder=1)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8, labelcolor=INK)
    return figure
