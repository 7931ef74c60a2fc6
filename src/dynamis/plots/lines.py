"""Curves over time on one pair of axes: single runs, ensembles, events, stuck joints."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from .figure import LINE, SOFT, plain

FEW = 8  # members of an ensemble up to which each is a line
FLAT = 1e-6  # relative height of a curve that is a constant
BAND = (5, 95)  # percent
EVENT_COLOURS = ("#c0392b", "#16a085", "#8e44ad", "#7f8c8d")
STUCK = "#f3d9a4"
MEASURED: dict[str, Any] = {"linewidth": 0.6, "alpha": 0.5}


def style(axes: Any) -> None:
    """Quiet axes with numbers that fit."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.grid(color=LINE, linewidth=0.6)
    axes.tick_params(labelsize=8, colors=SOFT)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, min_n_ticks=3))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    formatter = ScalarFormatter(useOffset=False, useMathText=True)
    formatter.set_powerlimits((-3, 4))
    axes.yaxis.set_major_formatter(formatter)
    axes.yaxis.get_offset_text().set(size=7, color=SOFT)


def curve(axes: Any, t: np.ndarray, values: np.ndarray, colour: Any, **look: Any) -> None:
    """One quantity of one joint, (N,), or of an ensemble, (..., N)."""
    options = {"color": colour, "linewidth": 1.4, "zorder": 3} | look
    if values.ndim == 1:
        axes.plot(t, values, **options)
        return
    values = values.reshape(-1, len(t))
    if len(values) <= FEW:
        for k, member in enumerate(values):
            label = options.pop("label", None) if k == 0 else None
            axes.plot(t, member, **(options | {"linewidth": 0.8, "label": label}))
    else:
        low, middle, high = _percentiles(values, (BAND[0], 50, BAND[1]))
        axes.fill_between(t, low, high, color=colour, alpha=0.22, linewidth=0, zorder=2)
        axes.plot(t, middle, **options)


def measured(axes: Any, t: np.ndarray, values: np.ndarray, colour: Any) -> None:
    """What a sensor gave, (K,), thin behind what was."""
    axes.plot(t, values, color=colour, zorder=2, **MEASURED)


def desired(axes: Any, t: np.ndarray, values: np.ndarray, colour: Any) -> None:
    """What was asked for, dashed; of a large ensemble that was asked for much, the median."""
    members = np.unique(values.reshape(-1, len(t)), axis=0)
    if len(members) > FEW:
        members = _percentiles(members, (50,))
    for member in members:
        axes.plot(t, member, color=colour, linewidth=1.3, linestyle=(0, (4, 2)), zorder=4)


def _percentiles(values: np.ndarray, percent: tuple[float, ...]) -> np.ndarray:
    """Over the members that are still finite; NaN where none is."""
    finite = np.where(np.isfinite(values), values, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing left to take them of
        return np.nanpercentile(finite, percent, axis=0)


def shade(axes: Any, t: np.ndarray, held: np.ndarray) -> None:
    """Bands where a joint is stuck, (N,) of bools."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(int), [0]])))
    for first, after in zip(edges[::2], edges[1::2], strict=True):
        last = t[min(after, len(t) - 1)]
        axes.axvspan(t[first], last, color=STUCK, alpha=0.5, linewidth=0, zorder=0)


def widen(axes: Any) -> None:
    """Room around a curve that only rounding bends, so that its numbers stay short."""
    low, high = axes.get_ylim()
    middle = (low + high) / 2
    if high - low < FLAT * abs(middle):
        axes.set_ylim(middle - abs(middle) / 20, middle + abs(middle) / 20)


def named_events(events: Iterable[Any]) -> dict[str, np.ndarray]:
    """Times of events by name; names beyond the colours there are go together."""
    times: dict[str, list[float]] = {}
    for event in events or ():
        times.setdefault(plain(str(event.name)), []).append(float(event.t))
    names = list(times)
    if len(names) > len(EVENT_COLOURS):
        shown = names[: len(EVENT_COLOURS) - 1]
        rest = [t for name in names if name not in shown for t in times[name]]
        times = {name: times[name] for name in shown} | {"other events": rest}
    return {name: np.array(found) for name, found in times.items()}


def mark(axes: Any, events: dict[str, np.ndarray]) -> None:
    """A thin line at every event."""
    for (_, times), colour in zip(events.items(), EVENT_COLOURS, strict=False):
        axes.vlines(
            times, 0, 1, colors=colour, linewidths=0.9, linestyles="dotted",
            transform=axes.get_xaxis_transform(), zorder=1,
        )  # fmt: skip
