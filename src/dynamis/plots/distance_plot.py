"""Bodies of an arm and of a world as outlines, and the two that are nearest."""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..arguments import checked
from ..errors import OptionError, shown
from ..model.quantity import numeric
from ..robot.bodies.body import placed_bodies
from ..robot.bodies.simple import simple_shape
from ..robot.distance import CollisionPairs, bodies_of
from ..spatial.functions import MATH
from ..spatial.geometry import Plane, Solid
from .figure import INK, Picture, check_save, plain, save
from .robot_plot import positions
from .scene import Artists, add_axes, prepare, view_on
from .skeleton import Style, skeleton, strokes

TURN = np.linspace(0.0, 2.0 * np.pi, 25)
OWN, WORLD, NEAR = (Style(x, y) for x, y in (("#8a94a0", 0.8), ("#2f6fb0", 0.9), ("#b3261e", 2.0)))
GAP = np.full((1, 3), np.nan)


@checked
def plot_nearest(pairs: CollisionPairs, q: Any, path: Any = None, ax: Any = None) -> Figure:
    """Bodies at q (n,) as outlines, with a line between the nearest two and their distance.

    Of a cylinder, hull or mesh the simple shape around it is drawn; of planes only the nearest one.
    """
    if not isinstance(pairs, CollisionPairs):
        raise OptionError(
            f"pairs is {shown(pairs)}, expected those of a robot", "robot.collision_pairs(world)"
        )
    check_save(path)
    robot = pairs.robot
    at = positions(robot, q)[-1]
    near = pairs.nearest(at)
    arm = skeleton(robot, at[None])[0]
    view = view_on(ax, robot, arm)
    outlines = _outlines(pairs, at, near.names, near.points)
    figure: Any = Picture(figsize=(6.4, 5.6)) if ax is None else ax.figure
    axes = add_axes(figure, view) if ax is None else ax
    every = np.concatenate([arm.points.reshape(-1, 3), *(x for _, x in outlines)])
    prepare(axes, view, view.bounds(every[np.isfinite(every).all(axis=1)], arm.reach))
    artists = Artists(axes, view)
    artists.add_all({"sticks": strokes(arm, arm.reach, False)["sticks"]}, alpha=0.6)
    for k, (style, points) in enumerate(outlines):
        artists.add(f"body{k}", points, style)
    artists.add("nearest", np.stack(near.points), replace(NEAR, marker="o", size=4.0))
    a, b = near.names
    overlap = "overlap by" if near.distance < 0.0 else "are"
    apart = "" if near.distance < 0.0 else " apart"
    text = f"{plain(a)} and {plain(b)} {overlap} {abs(near.distance):.3g} m{apart}"
    figure.suptitle(f"{plain(robot.name)}: {text}", color=INK, fontsize=11)
    if path is not None:
        save(figure, path)
    return figure


def _outlines(
    pairs: CollisionPairs, q: np.ndarray, names: Any, points: Any
) -> list[tuple[Style, np.ndarray]]:
    """Outlines of all bodies in the reference frame; those of the nearest two are red."""
    robot, model = pairs.robot, pairs.robot.model
    solids = [numeric(x, model.values) for x in model.geometry if "collision" in x.use]
    shapes = [simple_shape(x) for x in solids]
    own: list[Any] = [*bodies_of(robot, shapes)]
    taken = {body.name for body in own}
    around = {b.name: b for _, b in pairs.pairs if b.name not in taken}
    bodies = [*own, *around.values()]
    found = []
    placed = placed_bodies(robot.chain, bodies, q.tolist(), MATH)
    for body, solid in zip(bodies, placed, strict=True):
        near = body.name in names
        style = replace(NEAR, width=1.2) if near else WORLD if body.name in around else OWN
        if isinstance(solid, Solid):
            found.append((style, outline(solid)))
        elif isinstance(solid, Plane) and near:
            found.append((style, _square(solid, points[names.index(body.name)], 0.2)))
    return found


def outline(solid: Solid) -> np.ndarray:
    """Edges of a box, circles and sides of a capsule, (M, 3) with NaN between strokes."""
    if solid.half is not None:
        corners = list(product((-1.0, 1.0), repeat=3))
        edges = [x for x in combinations(corners, 2) if np.not_equal(*x).sum() == 1]
        R, p = np.array(solid.frame.R), np.array(solid.frame.p)
        rows = [np.array(x) * np.array(solid.half) @ R.T + p for x in edges]
        return np.concatenate([y for x in rows for y in (x, GAP)])
    a, b, r = np.array(solid.a), np.array(solid.b), float(solid.radius)
    axes = _axes_across(b - a)
    rows = []
    for end in (a, b):
        for u, v in combinations(axes, 2):
            rows += [end + r * (np.outer(np.cos(TURN), u) + np.outer(np.sin(TURN), v)), GAP]
    for side in (axes[0], -axes[0], axes[1], -axes[1]):
        rows += [np.stack([a, b]) + r * side, GAP]
    return np.concatenate(rows)


def _square(plane: Plane, at: np.ndarray, half: float) -> np.ndarray:
    u, v, _ = _axes_across(np.array(plane.normal))
    corners = ((1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1))
    return np.stack([at + half * (x * u + y * v) for x, y in corners])


def _axes_across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three unit vectors at right angles, the last along an axis if it has a length."""
    size = float(np.linalg.norm(axis))
    z = axis / size if size > 0.0 else np.array([0.0, 0.0, 1.0])
    u = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    u = u / np.linalg.norm(u)
    return u, np.cross(z, u), z
