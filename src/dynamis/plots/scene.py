"""Axes that an arm is drawn on, and the arm as artists that move."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D

from ..robot import Robot
from ..robot.placing import PARALLEL, plane_of
from .figure import LINE, SOFT
from .skeleton import STYLES, Skeleton, Style

# from where an arm is looked at: planar arms face on, others in space

MARGIN = 0.13  # around the arm, per reach: room for the frame of the tool
THINNEST = 0.6  # least extent, per largest


@dataclass(frozen=True)
class View:
    """Screen axes as rows in the reference frame (two for a plane, three for space), and up."""

    rows: np.ndarray  # (2 or 3, 3)
    up: np.ndarray  # (3,)

    @property
    def flat(self) -> bool:
        """Whether this is a plane."""
        return len(self.rows) == 2

    @property
    def normal(self) -> np.ndarray:
        """Towards the eye; of a plane only."""
        return np.cross(self.rows[0], self.rows[1])

    @property
    def labels(self) -> list[str]:
        """Names of the screen axes."""
        return [f"{_axis_name(row)} (m)" for row in self.rows]

    def seen(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) in screen axes."""
        return points @ self.rows.T

    def bounds(self, points: np.ndarray, reach: float) -> np.ndarray:
        """Least and greatest of each screen axis, (2 or 3, 2), with a margin."""
        seen = self.seen(points.reshape(-1, 3))
        low, high = seen.min(0), seen.max(0)
        largest = max(float(np.max(high - low)), 0.5 * reach)
        least = largest * THINNEST
        middle, half = (low + high) / 2, np.maximum(high - low, least) / 2
        half = half + MARGIN * reach
        return np.stack([middle - half, middle + half], axis=1)


def view_of(robot: Robot, arm: Skeleton) -> View:
    """Along the common normal of a planar arm's motion with gravity down, else in space."""
    first = arm if arm.joints.ndim == 2 else arm[0]
    gravity = robot.gravity
    normal = _normal(first, gravity)
    if normal is None:
        heavy = np.linalg.norm(gravity) > 0
        up = np.eye(3)[int(np.argmax(np.abs(gravity))) if heavy else 2]
        return View(np.eye(3), up)
    up = -(gravity - (gravity @ normal) * normal)
    if np.linalg.norm(up) < PARALLEL:  # gravity across the plane, or none
        spare = np.eye(3)[1 if abs(normal[1]) < 0.7 else 2]
        up = spare - (spare @ normal) * normal
    up = up / np.linalg.norm(up)
    right = np.cross(up, normal)
    right = right * np.sign(right[int(np.argmax(np.abs(right)))])
    return View(np.stack([right, up]), up)


def _normal(arm: Skeleton, gravity: np.ndarray) -> np.ndarray | None:
    """The direction in which nothing can ever move; None if there is no such direction."""
    if "revolute" in arm.kinds:
        return plane_of(arm.axes, arm.kinds)
    sliding = arm.axes
    others = np.vstack([sliding[1:], gravity, np.eye(3)])
    candidates = np.cross(sliding[0], others)
    size = np.linalg.norm(candidates, axis=-1)
    best = int(np.argmax(size > 1e-6))
    normal = candidates[best] / size[best]
    return normal if (np.abs(sliding @ normal) < PARALLEL).all() else None


def _axis_name(row: np.ndarray) -> str:
    i = int(np.argmax(np.abs(row)))
    if abs(abs(row[i]) - 1.0) > 1e-6:
        return "in the plane"
    return ("-" if row[i] < 0 else "") + "xyz"[i]


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
            axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
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
            "markerfacecolor": style.face,
            "markeredgewidth": 2.0,
            "solid_capstyle": style.ends,
            "zorder": 10 + len(self.axes.lines),
        }
        columns = self.view.seen(points).T
        (self.lines[name],) = self.axes.plot(*columns, **(options | look), label=f"_{name}")

    def add_all(self, strokes: dict[str, np.ndarray], **look: Any) -> None:
        """A line for every stroke."""
        for name, points in strokes.items():
            self.add(name, points, STYLES[name], **look)

    def move(self, strokes: dict[str, np.ndarray]) -> None:
        """Put lines that exist where they are now."""
        for name, points in strokes.items():
            line = self.lines[name]
            move = line.set_data_3d if is_space(self.axes) else line.set_data
            move(*self.view.seen(points).T)
