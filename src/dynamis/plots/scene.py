"""Axes that an arm is drawn on, and the arm as artists that move."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from .figure import LINE, SOFT
from .strokes import STYLES, Style
from .view import View

ELEVATION, AZIMUTH = 20.0, -52.0


def add_axes(figure: Figure, view: View) -> Any:
    """New axes of a figure: plain ones for a plane, else in space."""
    if view.flat:
        return figure.add_axes((0.12, 0.10, 0.83, 0.82))
    return figure.add_axes((0.0, 0.04, 0.97, 0.93), projection="3d")


def is_space(axes: Any) -> bool:
    """Whether axes have three dimensions."""
    return isinstance(axes, Axes3D)


def prepare(axes: Any, view: View, bounds: np.ndarray) -> None:
    """Equal scales, limits, labels and quiet colours."""
    if is_space(axes):
        axes.set(xlim=bounds[0], ylim=bounds[1], zlim=bounds[2])
        axes.set_box_aspect(bounds[:, 1] - bounds[:, 0], zoom=0.95)
        vertical = "xyz"[int(np.argmax(np.abs(view.up)))]
        axes.view_init(elev=ELEVATION, azim=AZIMUTH, vertical_axis=vertical)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_pane_color((0.97, 0.975, 0.98, 1.0))
            axis._axinfo["grid"].update(color=LINE, linewidth=0.6)
            axis.set_major_locator(_locator())
        axes.set_zlabel(view.labels[2], color=SOFT)
    else:
        axes.set(xlim=bounds[0], ylim=bounds[1])
        axes.set_aspect("equal", adjustable="box")
        axes.grid(color=LINE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(view.labels[0], color=SOFT)
    axes.set_ylabel(view.labels[1], color=SOFT)
    axes.tick_params(labelsize=8, colors=SOFT)


def _locator() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])


class Artists:
    """Strokes as lines of some axes, by name."""

    def __init__(self, axes: Any, view: View):
        self.axes, self.view = axes, view
        self.lines: dict[str, Any] = {}

    def add(self, name: str, points: np.ndarray, style: Style, **look: Any) -> None:
        """A new line, above those before it."""
        options = {
            "color": style.colour,
            "linewidth": style.width,
            "linestyle": "-" if style.width else "none",
            "marker": style.marker or None,
            "markersize": style.size,
            "markerfacecolor": "white",
            "markeredgewidth": 2.0,
            "solid_capstyle": style.ends,
            "zorder": 10 + len(self.axes.lines),
        }
        columns = self._columns(points)
        (self.lines[name],) = self.axes.plot(*columns, **(options | look), label=f"_{name}")

    def add_all(self, strokes: dict[str, np.ndarray], **look: Any) -> None:
        """A line for every stroke."""
        for name, points in strokes.items():
            self.add(name, points, STYLES[name], **look)

    def move(self, strokes: dict[str, np.ndarray]) -> None:
        """Put lines that exist where they are now."""
        for name, points in strokes.items():
            line, columns = self.lines[name], self._columns(points)
            if is_space(self.axes):
                line.set_data_3d(*columns)
            else:
                line.set_data(*columns)

    def _columns(self, points: np.ndarray) -> np.ndarray:
        return self.view.seen(points).T
