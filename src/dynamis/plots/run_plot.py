"""A run as one grid of curves: actual, measured and desired."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..arguments import checked, is_flag, is_list, is_word
from ..errors import OptionError, did_you_mean, shown
from ..robot import Robot
from . import lines
from .figure import INK, SOFT, Picture, check_save, plain, save
from .run_like import RunLike, check_run

# the quantities of a run that can be drawn, with their units

QUANTITIES = {  # title, unit of a revolute joint, unit of a prismatic joint
    "q": ("position", "rad", "m"),
    "qd": ("velocity", "rad/s", "m/s"),
    "tau": ("torque", "N m", "N"),
    "error": ("position error", "rad", "m"),
    "energy": ("energy", "J", "J"),
}
ENERGIES = ("kinetic", "potential", "total")


@dataclass(frozen=True)
class Series:
    """One quantity of all joints over time, and what was desired of it."""

    name: str
    values: np.ndarray  # (N, n), or (..., N, n) of an ensemble
    desired: np.ndarray | None = None  # the same
    measured: tuple[np.ndarray, np.ndarray] | None = None  # times (K,), what sensors gave (K, n)

    def title(self, kinds: set[str]) -> str:
        """What it is called for these kinds of joints."""
        if self.name == "tau" and "prismatic" in kinds:
            return "force" if len(kinds) == 1 else "torque or force"
        return QUANTITIES[self.name][0]

    def unit(self, kind: str) -> str:
        """Its unit for a kind of joint."""
        return QUANTITIES[self.name][1 if kind == "revolute" else 2]


def asked(what: Any) -> tuple[str, ...]:
    """The names of quantities that were asked for, checked."""
    names = (what,) if isinstance(what, str) else tuple(what)
    wrong = [name for name in names if not is_word(name, QUANTITIES)]
    if wrong:
        raise OptionError(
            f"what has {shown(wrong[0])}, expected some of {', '.join(QUANTITIES)}",
            did_you_mean(wrong[0], QUANTITIES),
        )
    if not names:
        raise OptionError(f"what is empty, expected some of {', '.join(QUANTITIES)}")
    return tuple(dict.fromkeys(names))


def series_of(run: RunLike, names: tuple[str, ...]) -> list[Series]:
    """What the run has of these quantities, energy left aside."""
    found = []
    for name in names:
        values = getattr(run, name, None)
        if name == "energy" or values is None:
            continue
        wanted = getattr(run.reference, name, None) if name in ("q", "qd") else None
        desired = None if wanted is None else np.asarray(wanted)
        found.append(Series(name, np.asarray(values), desired, _measured(run, name)))
    return found


def _measured(run: RunLike, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """What the sensors of a single run gave of a quantity, where that is not what it was."""
    log = getattr(run, "measured", None)
    if log is None or name not in ("q", "qd", "tau") or np.ndim(run.q) != 2:
        return None
    values, actual = np.asarray(getattr(log, name)), np.asarray(getattr(run, name))
    rows = np.searchsorted(run.t, log.t)
    return None if np.array_equal(values, actual[rows]) else (np.asarray(log.t), values)


def joint_indices(robot: Robot, joints: Any) -> list[int]:
    """Indices of joints given by name or number; None is all of them."""
    if joints is None:
        return list(range(robot.n))
    given = list(joints) if is_list(joints) else [joints]
    found = []
    for joint in given:
        if isinstance(joint, str):
            if joint not in robot.joint_names:
                raise OptionError(
                    f"joints has {joint!r}, which {robot.name!r} has not",
                    did_you_mean(joint, robot.joint_names),
                )
            found.append(robot.joint_names.index(joint))
        elif isinstance(joint, (int, np.integer)) and not is_flag(joint) and 0 <= joint < robot.n:
            found.append(int(joint))
        else:
            raise OptionError(
                f"joints has {shown(joint)}, expected names or numbers from 0 to {robot.n - 1}",
                "known: " + ", ".join(robot.joint_names),
            )
    if not found:
        raise OptionError("joints is empty, expected names or numbers, or None for all")
    return list(dict.fromkeys(found))


# how a run is laid out: which joints and which quantity share a panel

SEPARATE = 8  # joints up to which each has a row of its own


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a quantity of some joints that share a unit."""

    row: int
    column: int
    series: Series
    joints: tuple[int, ...]
    kind: str


@dataclass(frozen=True)
class Layout:
    """Panels in a grid; with `separate` a row is a joint, else a row is a quantity."""

    panels: tuple[Panel, ...]
    rows: int
    columns: int
    separate: bool


def layout(series: Sequence[Series], joints: Sequence[int], kinds: Sequence[str]) -> Layout:
    """A row per joint for a few joints; for many, a row per quantity and a column per unit."""
    if len(joints) <= SEPARATE:
        panels = tuple(
            Panel(row, column, s, (joint,), kinds[joint])
            for row, joint in enumerate(joints)
            for column, s in enumerate(series)
        )
        return Layout(panels, len(joints) if series else 0, len(series), True)
    present = [k for k in ("revolute", "prismatic") if any(kinds[j] == k for j in joints)]
    panels = tuple(
        Panel(row, column, s, tuple(j for j in joints if kinds[j] == kind), kind)
        for row, s in enumerate(series)
        for column, kind in enumerate(present)
    )
    return Layout(panels, len(series), len(present), False)


COLOURS = ("#1f5fa8", "#d9822b", "#2e8b57", "#b3261e", "#7b52ab", "#8a5a44", "#c2489b", "#4b8ea6")
ENERGY_COLOURS = ("#d9822b", "#1f5fa8", "#1c2530")


@checked
def plot_run(
    run: RunLike,
    what: str | Sequence[str] = tuple(QUANTITIES),
    joints: Any = None,
    path: Any = None,
) -> Figure:
    """Quantities of a run over time, desired ones dashed; what the run has not is left out.

    What sensors measured is drawn thin behind what was, if it differs.

    Up to eight joints have a row each, more share a row per quantity. An ensemble is drawn as
    thin lines if it is small, else as its median and the band that holds 90 % of it.
    """
    check_save(path)
    check_run(run)
    names, chosen = asked(what), joint_indices(run.robot, joints)
    series = series_of(run, names)
    energy = run.energy if "energy" in names else None
    if not series and energy is None:
        raise OptionError(
            f"the run has nothing of {', '.join(names)}",
            "error needs a reference; energy needs the run to record it",
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
    events = lines.named_events(run.events)
    for one in axes:
        lines.mark(one, events)
        lines.widen(one)
    figure.align_ylabels(axes[: len(grid.panels)])
    _legends(figure, run, grid, chosen, events)
    figure.suptitle(plain(run.robot.name), color=INK, fontsize=12)
    if path is not None:
        save(figure, path)
    return figure


def _panel(figure: Figure, cells: Any, run: RunLike, panel: Panel, grid: Layout) -> Any:
    axes = figure.add_subplot(cells[panel.row, panel.column])
    lines.style(axes)
    series, names = panel.series, [plain(x) for x in run.robot.joint_names]
    for joint in panel.joints:
        colour = COLOURS[joint % len(COLOURS)] if grid.separate else _spread(joint, run.robot.n)
        lines.curve(axes, run.t, series.values[..., joint], colour, label=names[joint])
        if series.measured is not None:
            t, values = series.measured
            lines.measured(axes, t, values[:, joint], colour)
        if series.desired is not None:
            dashed = INK if grid.separate else colour
            lines.desired(axes, run.t, series.desired[..., joint], dashed)
    if _sticks(run, grid):
        lines.shade(axes, run.t, np.asarray(run.stuck)[:, panel.joints[0]])
    axes.set_ylabel(series.unit(panel.kind), fontsize=8, color=SOFT)
    kinds = {p.kind for p in grid.panels if p.column == panel.column or not grid.separate}
    title = series.title(kinds if grid.separate else {panel.kind})
    if panel.row == 0 or not grid.separate:
        axes.set_title(title, fontsize=10, color=INK, pad=12)
    if grid.separate and panel.column == 0:
        _name_row(axes, names[panel.joints[0]], COLOURS[panel.joints[0] % len(COLOURS)])
    return axes


def _sticks(run: RunLike, grid: Layout) -> bool:
    """Whether there are stuck joints to show: of a single run, one joint to a panel."""
    stuck = run.stuck
    return stuck is not None and grid.separate and np.ndim(stuck) == 2 and bool(np.any(stuck))


def _name_row(axes: Any, name: str, colour: str) -> None:
    """The joint's name, left of everything in its row."""
    pieces = textwrap.wrap(name.replace("_", "_ "), 14)
    text = "\n".join(piece.replace("_ ", "_") for piece in pieces)
    axes.annotate(
        text, xy=(0, 0.5), xytext=(-8, 0), xycoords=axes.yaxis.label, textcoords="offset points",
        ha="right", va="center", fontsize=9, color=colour, weight="bold",
    )  # fmt: skip


def _spread(joint: int, n: int) -> Any:
    """Colours of many joints, from one end of a scale to the other."""
    from matplotlib import colormaps

    return colormaps["turbo"](0.06 + 0.88 * joint / max(n - 1, 1))


def _energy(axes: Any, t: np.ndarray, energy: Any) -> Any:
    lines.style(axes)
    for name, colour in zip(ENERGIES, ENERGY_COLOURS, strict=True):
        lines.curve(axes, t, np.asarray(getattr(energy, name)), colour, label=name)
    axes.set_title("energy", fontsize=10, color=INK, pad=12)
    axes.set_ylabel(QUANTITIES["energy"][1], fontsize=8, color=SOFT)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8, labelcolor=INK
    )
    return axes


def _share_time(axes: list[Any], grid: Layout, energy: bool) -> None:
    """One time axis everywhere, with numbers only under the lowest of a kind."""
    for one in axes[1:]:
        one.sharex(axes[0])
    axes[0].margins(x=0.01)
    for one, panel in zip(axes, grid.panels, strict=False):
        lowest = panel.row == grid.rows - 1
        one.tick_params(labelbottom=lowest)
        if lowest and not energy:
            one.set_xlabel("time (s)", fontsize=8, color=SOFT)
    if energy:
        axes[-1].set_xlabel("time (s)", fontsize=8, color=SOFT)


def _legends(
    figure: Figure, run: RunLike, grid: Layout, joints: list[int], events: dict[str, np.ndarray]
) -> None:
    """What the looks of lines mean, below; and the joints of shared panels, at the right."""
    handles: list[Any] = []
    wanted = any(p.series.desired is not None for p in grid.panels)
    measured = any(p.series.measured is not None for p in grid.panels)
    members = int(np.prod(np.shape(run.q)[:-2])) if np.ndim(run.q) > 2 else 0
    grey = {"color": SOFT, "linewidth": 1.4}
    if members > lines.FEW:
        handles.append(Line2D([], [], label=f"median of {members} runs", **grey))
        handles.append(Patch(color=SOFT, alpha=0.22, label="5 % to 95 %"))
    elif members:
        handles.append(Line2D([], [], color=SOFT, lw=0.8, label=f"each of {members} runs"))
    elif wanted or measured:
        handles.append(Line2D([], [], label="actual", **grey))
    if measured:
        handles.append(Line2D([], [], label="measured", **lines.MEASURED, color=SOFT))
    if wanted:
        ink = INK if grid.separate else SOFT
        handles.append(Line2D([], [], color=ink, lw=1.3, ls=(0, (4, 2)), label="desired"))
    if _sticks(run, grid):
        handles.append(Patch(color=lines.STUCK, alpha=0.5, label="stuck"))
    for name, colour in zip(events, lines.EVENT_COLOURS, strict=False):
        handles.append(Line2D([], [], color=colour, lw=0.9, ls="dotted", label=name))
    look = {"frameon": False, "fontsize": 8, "labelcolor": INK}
    if handles:
        figure.legend(
            handles=handles, loc="outside lower center", ncols=min(len(handles), 6), **look
        )
    if not grid.separate and grid.panels:
        names = [
            Line2D(
                [], [], color=_spread(j, run.robot.n), lw=2, label=plain(run.robot.joint_names[j])
            )
            for j in joints
        ]
        columns = 1 + (len(names) - 1) // 25
        figure.legend(handles=names, loc="outside right upper", ncols=columns, **look)
