"""Figures of an estimate: friction about reversals, and frequency responses of elastic joints."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

from ..arguments import checked, choice
from ..errors import OptionError, shown
from ..identify.elastic.response import OUTPUTS, JointResponse, frequency_response
from ..identify.estimate import Estimate
from ..identify.friction.hysteresis import Reversals, reversals
from ..model.schema import UNITS
from ..robot.resonances import Resonances
from .figure import INK, SOFT, Picture, check_save, plain, save
from .run_plot import COLOURS, LEGEND, style

BLUE, ORANGE, GREEN = COLOURS[:3]
LOOKS: dict[str, dict[str, Any]] = {
    "static": {"color": ORANGE, "linestyle": "--", "linewidth": 1.4, "label": "static law"},
    "memory": {"color": BLUE, "linewidth": 1.6, "label": "identified model"},
    "measured": {"color": INK, "marker": ".", "linestyle": "", "label": "measured"},
}
MODES = (("free", ORANGE, "rotors free"), ("locked", GREEN, "rotors locked"))
HALF = (0.7, 1.4)  # of the smallest and the largest response: what an axis shows


@checked
def plot_hysteresis(estimate: Estimate, joint: str | None = None, path: Any = None) -> Figure:
    """Loops of dry friction about reversals, and residuals over the way since the last one.

    One row for every joint that turns back, or for the `joint` named: left the mean loop, measured,
    by the identified model and by a static law that was fitted to the same rows; right the mean
    residual along the motion with both.
    """
    check_save(path)
    names = estimate.unknowns.robot.drive_names
    if joint is not None:
        choice(joint, "joint", names)
    found = [x for x in reversals(estimate) if x.name == (joint or x.name)]
    seen = [x for x in found if x.turns]
    if not seen:
        which = joint if joint is not None else "any joint"
        raise OptionError(
            f"the logs of the estimate have no turn of {shown(which)} that is long enough",
            "record a motion in which joints turn back often",
        )
    robot = estimate.unknowns.robot
    kinds = dict(zip(names, (robot.joint_kinds[k] for k in robot.driven), strict=True))
    figure = Picture(figsize=(9.0, 1.0 + 2.5 * len(seen)), layout="constrained")
    panels = figure.subplots(len(seen), 2, squeeze=False)
    for (left, right), one in zip(panels, seen, strict=True):
        units = UNITS[kinds[one.name]]
        _loop(left, one, units["position"], units["torque"])
        _residual(right, one, units["position"], units["torque"])
    handles, labels = panels[0][0].get_legend_handles_labels()
    lines = dict(zip(labels, handles, strict=True))
    figure.legend(lines.values(), lines.keys(), loc="outside upper center", ncols=3, **LEGEND)
    if path is not None:
        save(figure, path)
    return figure


def _loop(axes: Any, found: Reversals, position: str, torque: str) -> None:
    at, friction = found.loop()
    style(axes)
    for name, look in LOOKS.items():
        axes.plot(1e3 * at, friction[name], **look)
    axes.set_title(plain(found.name), loc="left", fontsize=9, color=INK)
    axes.set_xlabel(f"position from the turn (m{position})", fontsize=8, color=SOFT)
    axes.set_ylabel(f"dry friction ({torque})", fontsize=8, color=SOFT)


def _residual(axes: Any, found: Reversals, position: str, torque: str) -> None:
    way, static, memory = found.residuals()
    style(axes)
    axes.set_xscale("log")
    decades(axes.xaxis)
    for name, values in (("static", static), ("memory", memory)):
        axes.plot(way, values, **LOOKS[name])
    for radius in found.radii:
        axes.axvline(radius, color=SOFT, linewidth=0.8, linestyle=":")
    axes.set_xlabel(f"way since the turn ({position}), dotted: radii", fontsize=8, color=SOFT)
    axes.set_ylabel(f"mean residual ({torque})", fontsize=8, color=SOFT)


@checked
def plot_response(estimate: Estimate, path: Any = None) -> Figure:
    """Frequency responses of elastic joints to the torque of their motors, with coherence.

    One row for every elastic joint: velocity of its motor, and deflection of its gear, measured and
    of the fitted model, with the modes of the model about the middle of the log.
    """
    check_save(path)
    found = frequency_response(estimate)
    robot = estimate.robot
    kinds = dict(zip(robot.joint_names, robot.joint_kinds, strict=True))
    count = len(found.joints)
    figure = Picture(figsize=(9.0, 0.8 + 3.2 * count), layout="constrained")
    panels = figure.subplots(2 * count, 2, squeeze=False, sharex=True, height_ratios=[3, 1] * count)
    for row, one in enumerate(found.joints):
        units = UNITS[kinds[one.name]]
        for column, (output, unit) in enumerate(
            zip(OUTPUTS, (units["velocity"], units["position"]), strict=True)
        ):
            upper, lower = panels[2 * row : 2 * row + 2, column]
            _response(upper, one, found.modes, output, f"{unit} per {units['torque']}")
            style(lower)
            lower.plot(one.f, one.coherence[output], color=SOFT, linewidth=1.0)
            lower.set_ylim(0.0, 1.05)
            lower.set_yticks([0.0, 0.5, 1.0])
            decades(lower.xaxis)
            lower.set_ylabel("coherence", fontsize=8, color=SOFT)
            lower.set_xlabel("frequency (Hz)" if row == count - 1 else "", fontsize=8, color=SOFT)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    lines = dict(zip(labels, handles, strict=True))
    figure.legend(lines.values(), lines.keys(), loc="outside upper center", ncols=4, **LEGEND)
    if path is not None:
        save(figure, path)
    return figure


def decades(axis: Any) -> None:
    """Ticks of a logarithmic axis: whole decades, and marks without numbers between."""
    axis.set_major_locator(LogLocator(numticks=6))
    axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=6))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(LogFormatterSciNotation())


def _response(axes: Any, found: JointResponse, modes: Resonances, output: str, unit: str) -> None:
    seen, size = found.seen(output), np.abs(found.model[output])
    measured = np.abs(found.measured[output])
    every = np.concatenate([size, measured[seen]])
    style(axes)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        decades(axis)
    axes.set_xlim(found.f[0], found.f[-1])
    axes.set_ylim(HALF[0] * every.min(), HALF[1] * every.max())
    for name, colour, label in MODES:
        for k, f in enumerate(getattr(modes, name)):
            axes.axvline(f, color=colour, linewidth=1.0, linestyle="--",
                         label=f"modes, {label}" if k == 0 else None)  # fmt: skip
    axes.plot(found.f, size, **LOOKS["memory"])
    axes.plot(found.f[seen], measured[seen], **LOOKS["measured"])
    axes.set_title(f"{plain(found.name)}: {output}", loc="left", fontsize=9, color=INK)
    axes.set_ylabel(unit, fontsize=8, color=SOFT)
