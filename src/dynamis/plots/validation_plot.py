"""Figures of a validation, as 4 to 9 of Rosillo et al. (2010): torque, its error, its parts."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..arguments import checked, choice
from ..identify.estimate import Validation
from ..model.schema import UNITS
from .figure import INK, SOFT, Picture, check_save, plain, save
from .run_plot import COLOURS, LEGEND, style

MEASURED: dict[str, Any] = {"color": INK, "linewidth": 0.9, "label": "measured"}
COMPUTED: dict[str, Any] = {"color": COLOURS[1], "linewidth": 1.1, "linestyle": (0, (4, 1.5))}
PART_COLOURS = {"gravity": COLOURS[0], "coriolis": COLOURS[3], "inertial": COLOURS[2]}
PART_COLOURS |= {"friction": COLOURS[4], "spring": COLOURS[5], "load": COLOURS[6]}
PART_NAMES = {"coriolis": "Coriolis-centrifugal"}
FAR = 5.0  # median steps: a longer gap is left open
HEADS = (
    "torque, measured and computed",
    "error: measured - computed",
    "parts of the computed torque",
)


@checked
def plot_validation(check: Validation, joint: str | None = None, path: Any = None) -> Figure:
    """Measured and computed torque, their difference with its mean and peak, and torque by parts.

    One row for every joint, or three pictures of the `joint` named. Parts (gravity,
    Coriolis-centrifugal, inertial, friction) are those of `check.parts`, left out of a validation
    that does not know them.
    """
    check_save(path)
    if joint is not None:
        choice(joint, "joint", check.joint_names)
    chosen = [k for k, name in enumerate(check.joint_names) if joint in (None, name)]
    parts = None if check.source is None else check.parts
    kinds = 2 if parts is None else 3
    if joint is None:
        figure = Picture(figsize=(4.6 * kinds, 1.1 + 2.0 * len(chosen)), layout="constrained")
        panels = figure.subplots(len(chosen), kinds, squeeze=False, sharex=True)
    else:
        figure = Picture(figsize=(8.0, 1.0 + 2.3 * kinds), layout="constrained")
        panels = figure.subplots(kinds, 1, squeeze=False, sharex=True).T
    for row, (axes, k) in enumerate(zip(panels, chosen, strict=True)):
        _joint(axes, check, parts, k, first=row == 0)
    for axes in panels[-1] if joint is None else panels[0][-1:]:
        axes.set_xlabel("t (s)", fontsize=8, color=SOFT)
    handles: dict[str, Any] = {}
    for axes in panels[0]:
        found, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside upper center",
        ncols=len(handles) if joint is None else 4,
        **LEGEND,
    )
    if path is not None:
        save(figure, path)
    return figure


def _joint(axes: Any, check: Validation, parts: Any, k: int, first: bool) -> None:
    """The pictures of one joint."""
    t, measured, computed = check.t, check.measured[:, k], check.predicted[:, k]
    unit = "" if check.source is None else f" ({_unit(check, k)})"
    for panel in axes:
        style(panel)
    torque, error, *rest = axes
    torque.plot(*broken(t, measured), **MEASURED)
    torque.plot(*broken(t, computed), **COMPUTED, label="computed")
    name = f"{plain(check.joint_names[k])}{unit}"
    alone = torque.get_subplotspec().get_gridspec().ncols == 1
    for panel in axes if alone else [torque]:
        panel.set_ylabel(name, fontsize=8, color=SOFT)
    _error(error, t, measured - computed)
    for panel in rest:
        for name, values in parts.items():
            colour = PART_COLOURS.get(name, COLOURS[7])
            label = PART_NAMES.get(name, name)
            panel.plot(*broken(t, values[:, k]), color=colour, linewidth=1.0, label=label)
    if first:
        for panel, head in zip(axes, HEADS, strict=False):
            panel.set_title(
                head, loc="left", fontsize=9, color=INK, pad=16 if panel is error else 6
            )


def _error(axes: Any, t: np.ndarray, error: np.ndarray) -> None:
    """The error with its mean and its peak, in numbers too."""
    mean, peak = float(error.mean()), int(np.abs(error).argmax())
    axes.plot(*broken(t, error), color=COLOURS[0], linewidth=0.8)
    axes.axhline(mean, color=INK, linewidth=1.2, linestyle="--", label="mean error", zorder=4)
    axes.plot(t[peak], error[peak], "o", color=COLOURS[3], markersize=4, label="peak error")
    text = f"mean {mean:.3g}, peak {error[peak]:.3g} at {t[peak]:.3g} s"
    axes.text(0.0, 1.01, text, transform=axes.transAxes, fontsize=8, color=SOFT, va="bottom")


def _unit(check: Validation, k: int) -> str:
    """Unit of a joint's torque."""
    assert check.source is not None
    robot = check.source.estimate.unknowns.robot
    return UNITS[robot.joint_kinds[robot.driven[k]]]["torque"]


def broken(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A curve that is interrupted in the gaps of its instants."""
    steps = np.diff(t)
    far = np.flatnonzero(steps > FAR * np.median(steps)) + 1 if len(steps) else []
    return np.insert(t, far, np.nan), np.insert(values, far, np.nan)
