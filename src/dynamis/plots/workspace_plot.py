"""A map of a workspace: where the tool can be in a plane, coloured by conditioning."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..arguments import checked
from ..errors import OptionError, shown
from ..ik.workspace import PLANES, Workspace, workspace
from ..model.world import World
from ..robot import Robot
from .figure import INK, SOFT, Picture, check_save, plain, save

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..robot.keywords import Task

CURVES = {"serial (type 1)": ("#d9822b", "--"), "parallel (type 2)": ("#b3261e", "-")}
CLEARLY = 3.0  # times the other condition number, from which a change of sign is of the serial kind
WIDEST = 62  # characters of a line of the title
STEEP = 5.0  # times the median, beyond which a curve is not sought: a change of sign at infinity


@checked
def plot_workspace(
    robot: Robot,
    path: str | Path | None = None,
    ax: Axes | None = None,
    *,
    plane: str | None = None,
    at: float | None = None,
    q0: "ArrayLike | None" = None,
    points: int = 81,
    extent: Sequence[Sequence[float]] | np.ndarray | None = None,
    task: "Task" = None,
    limits: bool = True,
    world: World = None,
) -> Figure:
    """A map of where the tool can be in a plane; colours from singular (0) to isotropic (1).

    The title says what is fixed: joints that have one value everywhere, the tool's orientation.
    Options are those of `dynamis.ik.workspace.workspace`: plane, at, q0, points, extent, task,
    limits, world. With `q0` curves of singular positions are drawn by kind.
    """
    check_save(path)
    if ax is not None and (not isinstance(ax, Axes) or ax.name == "3d"):
        raise OptionError(f"ax is {shown(ax)}, expected flat matplotlib axes or None")
    found = workspace(robot, plane, at, q0, points, extent, task, limits, world)
    figure: Any = Picture(figsize=(6.8, 5.8), layout="constrained") if ax is None else ax.figure
    axes = figure.add_subplot() if ax is None else ax
    _draw(figure, axes, found)
    across = "xyz"[PLANES[found.plane][2]]
    mode = "one working mode" if found.one_mode else "best of all solutions"
    where = f"plane {found.plane} at {across} = {found.at:.3g} m, {mode}"
    lines = [f"{plain(robot.name)}: {where}"]
    if found.fixed:
        lines += textwrap.wrap(plain(f"fixed: {', '.join(found.fixed)}"), WIDEST)
    axes.set_title("\n".join(lines), color=INK, fontsize=11)
    if path is not None:
        save(figure, path)
    return figure


def _draw(figure: Any, axes: Axes, found: Workspace) -> None:
    first, second = found.plane
    axes.set_xlabel(f"{first} (m)", color=SOFT)
    axes.set_ylabel(f"{second} (m)", color=SOFT)
    axes.set_aspect("equal")
    colours = axes.pcolormesh(
        found.x, found.y, found.conditioning, cmap="viridis", vmin=0.0, shading="nearest",
        rasterized=True,
    )  # fmt: skip
    bar = figure.colorbar(colours, ax=axes, shrink=0.85)
    bar.set_label("1 / condition number (0: singular)", color=SOFT)
    shown_kinds = _curves(axes, found) if found.one_mode else []
    if shown_kinds:
        looks: list[Any] = [CURVES[kind] for kind in shown_kinds]
        lines = [Line2D([], [], color=c, linestyle=s) for c, s in looks]
        axes.legend(
            lines, [f"singular: {kind}" for kind in shown_kinds], loc="upper center",
            bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, fontsize=9,
        )  # fmt: skip


def _curves(axes: Axes, found: Workspace) -> list[str]:
    """Draw where `sides` changes its sign through zero or through infinity; kinds that were."""
    size = np.nanmedian(np.abs(found.sides)) if np.isfinite(found.sides).any() else 0.0
    if not size > 0.0:
        return []
    drawn = []
    with np.errstate(divide="ignore", invalid="ignore"):
        values = size / found.sides, found.sides / size
        serial, parallel = found.serial, found.parallel
        worse = serial > CLEARLY * parallel, parallel > serial / CLEARLY
    for kind, value, own in zip(CURVES, values, worse, strict=True):
        near = np.ma.masked_where(~(own & (np.abs(value) < STEEP)), value)
        if near.count() and near.min() < 0.0 < near.max():
            colour, line = CURVES[kind]
            curve = axes.contour(found.x, found.y, near, [0.0], colors=colour, linestyles=line)
            drawn += [kind] if any(len(part) for part in curve.allsegs[0]) else []
    return drawn
