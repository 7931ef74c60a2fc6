"""A run as one grid of curves: actual, measured and desired."""

import textwrap
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from ..arguments import checked
from ..errors import OptionError
from ..logs.log import stretches
from .figure import INK, LINE, SOFT, Picture, check_run, check_save, plain, save
from .run_series import MOTOR_SIDE, QUANTITIES, RunSeries, asked, gaps, joint_indices, series_of

if TYPE_CHECKING:
    from ..simulation.run import Run as RunLike


# how a run is laid out: which joints and which quantity share a panel

SEPARATE = 8  # joints up to which each has a row of its own


@dataclass(frozen=True)
class RunPanel:
    """One pair of axes: a quantity of some joints that share a unit."""

    row: int
    column: int
    series: RunSeries
    joints: tuple[int, ...]
    kind: str
    alone: bool = False  # in its row, which it fills


@dataclass(frozen=True)
class PanelLayout:
    """Panels in a grid; with `separate` a row is a joint, else a row is a quantity."""

    panels: tuple[RunPanel, ...]
    rows: int
    columns: int
    separate: bool


def layout(series: Sequence[RunSeries], joints: Sequence[int], kinds: Sequence[str]) -> PanelLayout:
    """A row per joint for a few joints; for many, a row per quantity and a column per unit."""
    joints = [j for j in joints if any(s.has([j]) for s in series)]
    if len(joints) <= SEPARATE:
        panels = tuple(
            RunPanel(row, column, s, (joint,), kinds[joint])
            for row, joint in enumerate(joints)
            for column, s in enumerate(series)
            if s.has([joint])
        )
        return PanelLayout(panels, len(joints) if series else 0, len(series), True)
    present = [k for k in ("revolute", "prismatic") if any(kinds[j] == k for j in joints)]
    groups = [tuple(j for j in joints if kinds[j] == kind) for kind in present]
    panels = []
    for row, s in enumerate(series):
        own = [(k, joints) for k, joints in enumerate(groups) if s.has(joints)]
        panels += [RunPanel(row, k, s, joints, present[k], len(own) == 1) for k, joints in own]
    return PanelLayout(tuple(panels), len(series), len(present), False)


# curves over time on one pair of axes: single runs, ensembles, events, stuck joints

FEW = 8  # members of an ensemble up to which each is a line
FLAT = 1e-6  # relative height of a curve that is a constant
BAND = (5, 95)  # percent
EVENT_COLOURS = ("#c0392b", "#16a085", "#8e44ad", "#7f8c8d")
STUCK = "#f3d9a4"
MEASURED: dict[str, Any] = {"linewidth": 0.6, "alpha": 0.5}  # thin behind what was
MOTOR: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (1.2, 1.2)), "alpha": 0.85}
GAP = "#c9d3dd"  # within which teeth do not touch
TOUCH = "#b3261e"


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


def _curve(axes: Any, t: np.ndarray, values: np.ndarray, colour: Any, **look: Any) -> None:
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


def _desired(axes: Any, t: np.ndarray, values: np.ndarray, colour: Any) -> None:
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


def _shade(axes: Any, t: np.ndarray, held: np.ndarray) -> None:
    """Bands where a joint is stuck, (N,) of bools."""
    for first, after in stretches(held):
        last = t[min(after, len(t) - 1)]
        axes.axvspan(t[first], last, color=STUCK, alpha=0.5, linewidth=0, zorder=0)


def _backlash(axes: Any, run: "RunLike", joint: int) -> None:
    """The gap of a joint as a band, and bars along its edges while the teeth touch there."""
    gap, flank = gaps(run.robot).get(joint, 0.0), np.asarray(run.flank)[..., joint]
    if not gap:
        return
    axes.axhspan(-gap, gap, color=GAP, alpha=0.45, linewidth=0, zorder=0)
    if flank.ndim == 1:
        for side in (1.0, -1.0):
            bar = np.where(flank == side, side * gap, np.nan)
            axes.plot(run.t, bar, color=TOUCH, linewidth=2.2, solid_capstyle="butt", zorder=5)


def _widen(axes: Any) -> None:
    """Room around a curve that only rounding bends, so that its numbers stay short."""
    low, high = axes.get_ylim()
    middle = (low + high) / 2
    if high - low < FLAT * abs(middle):
        axes.set_ylim(middle - abs(middle) / 20, middle + abs(middle) / 20)


def _named_events(events: Iterable[Any]) -> dict[str, np.ndarray]:
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


def _mark(axes: Any, events: dict[str, np.ndarray]) -> None:
    """A thin line at every event."""
    for (_, times), colour in zip(events.items(), EVENT_COLOURS, strict=False):
        axes.vlines(
            times, 0, 1, colors=colour, linewidths=0.9, linestyles="dotted",
            transform=axes.get_xaxis_transform(), zorder=1,
        )  # fmt: skip


# the whole figure

WARNING = "#b02a1c"  # title of a run that diverged or ended early
WIDEST = 80  # characters of a line of the title
ENERGIES = ("kinetic", "potential", "total")
COLOURS = ("#1f5fa8", "#d9822b", "#2e8b57", "#b3261e", "#7b52ab", "#8a5a44", "#c2489b", "#4b8ea6")
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 8, "labelcolor": INK}
ENERGY_COLOURS = ("#d9822b", "#1f5fa8", "#1c2530")


@checked
def plot_run(
    run: "RunLike",
    what: str | Sequence[str] | None = None,
    joints: Any = None,
    path: Any = None,
) -> Figure:
    """Quantities of a run over time, desired ones dashed; what the run has not is left out.

    `what` is some of "q", "qd", "tau", "error", "energy", by default all of them. Elastic joints
    have "deflection" too, with the gap of backlash as a band and bars where teeth touch, "motor",
    "motor_rate" and "transmitted"; q and qd show both sides, that of the motor dotted.
    What sensors measured is drawn thin behind what was, if it differs.

    Up to eight joints have a row each, more share a row per quantity. An ensemble is drawn as
    thin lines if it is small, else as its median and the band that holds 90 % of it. Of a closed
    mechanism the drives are drawn, other joints where `joints` names them.
    """
    check_save(path)
    check_run(run)
    names, chosen = asked(what, run.robot), joint_indices(run.robot, joints)
    series = series_of(run, names)
    energy = run.energy if "energy" in names else None
    if not series and energy is None:
        raise OptionError(
            f"the run has nothing of {', '.join(names)}",
            "error needs a reference; energy needs the run to record it; deflection, motor, "
            "motor_rate and transmitted need elastic joints: dy.Drive(stiffness=...)",
        )
    grid = layout(series, chosen, run.robot.joint_kinds)
    heights = [1.35 if grid.separate else 2.2] * grid.rows + [1.8] * (energy is not None)
    width = 2.2 + (2.9 if grid.separate else 9.0 / max(grid.columns, 1)) * max(grid.columns, 1)
    figure = Picture(figsize=(max(width, 7.5), sum(heights) + 1.1), layout="constrained")
    cells = figure.add_gridspec(len(heights), max(grid.columns, 1), height_ratios=heights)
    axes = [_panel(figure, cells, run, panel, grid) for panel in grid.panels]
    if energy is not None:
        axes.append(_energy(figure.add_subplot(cells[-1, :]), run.t, energy))
    _share_time(axes, grid, energy is not None)
    events = _named_events(run.events)
    for one in axes:
        _mark(one, events)
        _widen(one)
    figure.align_ylabels(axes[: len(grid.panels)])
    _legends(figure, run, grid, chosen, events)
    name = plain(run.robot.name)
    said = textwrap.fill(plain(run.message), WIDEST) if getattr(run, "message", "") else ""
    title = f"{name}: {said}" if said else name
    figure.suptitle(title, color=WARNING if said else INK, fontsize=12)
    if path is not None:
        save(figure, path)
    return figure


def _panel(figure: Figure, cells: Any, run: "RunLike", panel: RunPanel, grid: PanelLayout) -> Any:
    axes = figure.add_subplot(
        cells[panel.row, :] if panel.alone else cells[panel.row, panel.column]
    )
    style(axes)
    series, names = panel.series, [plain(x) for x in run.robot.joint_names]
    for joint in panel.joints:
        colour = _colour(joint, run.robot.n, grid.separate)
        _curve(axes, run.t, series.values[..., joint], colour, label=names[joint])
        if series.measured is not None:
            t, values = series.measured
            axes.plot(t, values[:, joint], color=colour, zorder=2, **MEASURED)
        if series.motor is not None:
            axes.plot(run.t, series.motor[:, joint], color=colour, zorder=3.5, **MOTOR)
        if series.name == "deflection" and grid.separate:
            _backlash(axes, run, joint)
        if series.desired is not None:
            dashed = INK if grid.separate else colour
            _desired(axes, run.t, series.desired[..., joint], dashed)
    if _sticks(run, grid):
        held = run.motor_stuck if series.name in MOTOR_SIDE.values() else run.stuck
        _shade(axes, run.t, np.asarray(held)[:, panel.joints[0]])
    axes.set_ylabel(series.unit(panel.kind), fontsize=8, color=SOFT)
    kinds = {p.kind for p in grid.panels if p.column == panel.column or not grid.separate}
    title = series.title(kinds if grid.separate else {panel.kind})
    if not grid.separate or panel is next(p for p in grid.panels if p.column == panel.column):
        axes.set_title(title, fontsize=10, color=INK, pad=12)
    if grid.separate and panel is next(p for p in grid.panels if p.row == panel.row):
        _name_row(axes, names[panel.joints[0]], COLOURS[panel.joints[0] % len(COLOURS)])
    return axes


def _sticks(run: "RunLike", grid: PanelLayout) -> bool:
    """Whether there are stuck joints to show: of a single run, one joint to a panel."""
    stuck = run.stuck
    return stuck is not None and grid.separate and np.ndim(stuck) == 2 and bool(np.any(stuck))


def _name_row(axes: Any, name: str, colour: str) -> None:
    """The joint's name, left of everything in its row."""
    parts = textwrap.wrap(name.replace("_", "_ "), 14)
    text = "\n".join(part.replace("_ ", "_") for part in parts)
    axes.annotate(
        text, xy=(0, 0.5), xytext=(-8, 0), xycoords=axes.yaxis.label, textcoords="offset points",
        ha="right", va="center", fontsize=9, color=colour, weight="bold",
    )  # fmt: skip


def _colour(joint: int, n: int, separate: bool = False) -> Any:
    """Of a joint in panels of its own, or one of many, from one end of a scale to the other."""
    if separate:
        return COLOURS[joint % len(COLOURS)]
    return colormaps["turbo"](0.06 + 0.88 * joint / max(n - 1, 1))


def _energy(axes: Any, t: np.ndarray, energy: Any) -> Any:
    style(axes)
    for name, colour in zip(ENERGIES, ENERGY_COLOURS, strict=True):
        _curve(axes, t, np.asarray(getattr(energy, name)), colour, label=name)
    axes.set_title("energy", fontsize=10, color=INK, pad=12)
    axes.set_ylabel(QUANTITIES["energy"][1], fontsize=8, color=SOFT)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), **LEGEND)
    return axes


def _share_time(axes: list[Any], grid: PanelLayout, energy: bool) -> None:
    """One time axis everywhere, with numbers only under the lowest of a kind."""
    for one in axes[1:]:
        one.sharex(axes[0])
    axes[0].margins(x=0.01)
    last = {panel.column: panel.row for panel in grid.panels}  # of every column
    for one, panel in zip(axes, grid.panels, strict=False):
        lowest = panel.row == last[panel.column]
        one.tick_params(labelbottom=lowest)
        if lowest and not energy:
            one.set_xlabel("time (s)", fontsize=8, color=SOFT)
    if energy:
        axes[-1].set_xlabel("time (s)", fontsize=8, color=SOFT)


def _legends(
    figure: Figure,
    run: "RunLike",
    grid: PanelLayout,
    joints: list[int],
    events: dict[str, np.ndarray],
) -> None:
    """What the looks of lines mean, below; and the joints of shared panels, at the right."""
    handles: list[Any] = []
    wanted = any(p.series.desired is not None for p in grid.panels)
    measured = any(p.series.measured is not None for p in grid.panels)
    motors = any(p.series.motor is not None for p in grid.panels)
    members = int(np.prod(np.shape(run.q)[:-2])) if np.ndim(run.q) > 2 else 0
    grey = {"color": SOFT, "linewidth": 1.4}
    if members > FEW:
        handles.append(Line2D([], [], label=f"median of {members} runs", **grey))
        handles.append(Patch(color=SOFT, alpha=0.22, label="5 % to 95 %"))
    elif members:
        handles.append(Line2D([], [], color=SOFT, lw=0.8, label=f"each of {members} runs"))
    elif wanted or measured or motors:
        handles.append(Line2D([], [], label="link side" if motors else "actual", **grey))
    if motors:
        handles.append(Line2D([], [], label="motor side", **MOTOR, color=SOFT))
    if measured:
        handles.append(Line2D([], [], label="measured", **MEASURED, color=SOFT))
    if wanted:
        ink = INK if grid.separate else SOFT
        handles.append(Line2D([], [], color=ink, lw=1.3, ls=(0, (4, 2)), label="desired"))
    if _sticks(run, grid):
        handles.append(Patch(color=STUCK, alpha=0.5, label="stuck"))
    backlash = gaps(run.robot)
    if grid.separate and any(
        p.series.name == "deflection" and p.joints[0] in backlash for p in grid.panels
    ):
        handles.append(Patch(color=GAP, alpha=0.45, label="gap"))
        if not members:
            handles.append(Line2D([], [], color=TOUCH, lw=2.2, label="teeth touch"))
    for name, colour in zip(events, EVENT_COLOURS, strict=False):
        handles.append(Line2D([], [], color=colour, lw=0.9, ls="dotted", label=name))
    if handles:
        ncols = min(len(handles), 6)
        figure.legend(handles=handles, loc="outside lower center", ncols=ncols, **LEGEND)
    if not grid.separate and grid.panels:
        robot, columns = run.robot, 1 + (len(joints) - 1) // 25
        looks = [(_colour(j, robot.n), plain(robot.joint_names[j])) for j in joints]
        names = [Line2D([], [], color=colour, lw=2, label=name) for colour, name in looks]
        figure.legend(handles=names, loc="outside right upper", ncols=columns, **LEGEND)
