"""A picture of an arm at one position or several."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..arguments import checked, choice
from ..compile.arrays import numbers
from ..errors import ShapeError
from ..robot import Robot
from .figure import INK, Picture, check_save, plain, save
from .labels import Labels, marks_of
from .scene import (
    LINKS,
    SEEN,
    Artists,
    Bodywork,
    Solids,
    View,
    add_axes,
    bodywork,
    prepare,
    view_on,
)
from .skeleton import GHOST, STYLES, Skeleton, skeleton, strokes, triads


@checked
def plot_robot(
    robot: Robot,
    q: Any,
    frames: bool = True,
    path: Any = None,
    ax: Any = None,
    links: str = "solid",
    labels: bool = True,
) -> Figure:
    """The arm at q (n,) with its frames; of several q (K, n) the earlier ones are pale sticks.

    Axes x, y, z of frames are red, green, blue; `labels` names them (of frame 0, the base, x and z
    are x0 and z0) and the joints. Planar arms are seen face on. `links="sticks"`
    draws the lines that join the frames: round joints turn, square ones slide; of closed
    mechanisms drives are filled yellow, passive joints small and grey, closures crimson: open
    circle pin, dot ball, plus universal, square slide, x weld, line rod. `ax` draws on axes of
    your own.
    """
    choice(links, "links", LINKS)
    check_save(path)
    arm = skeleton(robot, positions(robot, q))
    view = view_on(ax, robot, arm)
    figure: Any = Picture(figsize=(6.4, 5.6)) if ax is None else ax.figure
    axes = add_axes(figure, view) if ax is None else ax
    body = bodywork(robot, arm) if links == "solid" else None
    prepare(axes, view, body.bounds(view, arm) if body else view.bounds(arm.points, arm.reach))
    if body:
        Solids(axes, view, body).move(arm.frames[-1])
    last = _draw(axes, view, arm, frames, SEEN if body else STYLES)
    if frames and labels:
        marks = marks_of(robot, last, view, arm.reach)
        Labels(axes, view, marks, triads(last, arm.reach), covered(last, body))
    if ax is None:
        figure.suptitle(plain(robot.name), color=INK)
    if path is not None:
        save(figure, path)
    return figure


def positions(robot: Robot, q: Any) -> np.ndarray:
    """Positions as (K, n), finite."""
    given = np.atleast_2d(numbers(q, "q", f"expected numbers of shape ({robot.n},)"))
    if given.ndim > 2 or given.shape[-1] != robot.n or not len(given):
        raise ShapeError(
            f"q has shape {given.shape}, expected ({robot.n},) or (K, {robot.n}) for the joints "
            f"of {robot.name!r}"
        )
    if not np.isfinite(given).all():
        row, joint = np.argwhere(~np.isfinite(given))[0]
        raise ShapeError(
            f"q of {robot.joint_names[joint]!r} is {given[row, joint]}, expected finite numbers"
        )
    return given


def covered(arm: Skeleton, body: Bodywork | None) -> np.ndarray:
    """Points all over the links at one position, (M, 3)."""
    share = np.linspace(0.0, 1.0, 30)[:, None, None]
    along = (arm.sticks[:, 0] * (1 - share) + arm.sticks[:, 1] * share).reshape(-1, 3)
    if body is None:
        return along
    triangles = body.triangles(arm.frames)
    return np.concatenate([along, triangles.reshape(-1, 3), triangles.mean(axis=1)])


def _draw(axes: Any, view: View, arm: Skeleton, frames: bool, kinds: Iterable[str]) -> Skeleton:
    """All positions; the last of them, which is not pale, is returned."""
    count, reach = len(arm.joints), arm.reach
    for k in range(count - 1):
        ghost = strokes(arm[k], reach, frames=False)
        artists = Artists(axes, view)
        strength = 0.15 + 0.35 * k / max(count - 1, 1)
        artists.add_all({name: ghost[name] for name in GHOST}, alpha=strength)
    last = strokes(arm[count - 1], reach, frames)
    Artists(axes, view).add_all({name: last[name] for name in kinds if name in last})
    return arm[count - 1]
