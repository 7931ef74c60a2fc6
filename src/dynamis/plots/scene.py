"""Axes that an arm is drawn on, the arm as artists that move, and pictures taken of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import IdentityTransform
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from mpl_toolkits.mplot3d.proj3d import proj_transform

from ..errors import OptionError, shown
from ..robot import Robot
from ..robot.placing import PARALLEL, plane_of
from .figure import INK, LINE, SOFT, Picture
from .skeleton import STYLES, Skeleton, Style
from .solid import COLOURS, SIDES, Solid, SolidPart, Stand, solid, stand

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


def view_on(ax: Any, robot: Robot, arm: Skeleton) -> View:
    """The view for axes of the user's own, or for new ones where `ax` is None."""
    if ax is not None and not isinstance(ax, Axes):
        raise OptionError(f"ax is {shown(ax)}, expected matplotlib axes or None")
    view = view_of(robot, arm)
    if ax is not None and is_space(ax):
        view = View(np.eye(3), view.up)
    if ax is not None and not is_space(ax) and not view.flat:
        raise OptionError(
            f"ax is flat, but {robot.name!r} moves in space",
            "make it by figure.add_subplot(projection='3d')",
        )
    return view


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


# solid links: shaded triangles, those behind drawn first

LINKS = ("solid", "sticks")  # ways to draw an arm
SEEN = ("openings", "x axes", "y axes", "z axes")  # strokes that solid links are drawn with
SHADES = 8  # steps from a face turned away from the light to one towards it
DARK, BRIGHT = 0.5, 1.12  # of a colour, in the shade and in the light
SHADOW = "#e3e6ea"
IDENTITY = IdentityTransform()


@dataclass(frozen=True)
class Bodywork:
    """Solid parts of an arm, and what it stands on over all its poses."""

    shape: Solid
    ground: Stand

    @property
    def parts(self) -> tuple[SolidPart, ...]:
        """Parts of the arm, then of its pedestal."""
        return (*self.shape.parts, *self.ground.parts)

    def points(self, arm: Skeleton) -> np.ndarray:
        """What must be in a picture besides the skeleton, (M, 3)."""
        base = arm.frames.reshape(-1, *arm.frames.shape[-3:])[0, 0]
        corners = [p.vertices @ base[:3, :3].T + base[:3, 3] for p in self.ground.parts]
        return np.concatenate([arm.points, *corners])

    def bounds(self, view: View, arm: Skeleton, more: Any = ()) -> np.ndarray:
        """Bounds of a picture that end at the floor."""
        points = np.concatenate([self.points(arm), np.reshape(more, (-1, 3))])
        found = view.bounds(points, arm.reach)
        upward = view.seen(self.shape.up)
        if abs(upward).max() > 0.99:
            found[int(np.argmax(upward)), 0] = self.ground.floor
        return found

    def triangles(self, frames: np.ndarray) -> np.ndarray:
        """Corners at one pose, (F, 3, 3)."""
        T = self.shape.transforms(frames)
        T = np.concatenate([T, *(frames[None, part.body] for part in self.ground.parts)])
        return np.concatenate(
            [
                (p.vertices @ t[:3, :3].T + t[:3, 3])[p.faces]
                for p, t in zip(self.parts, T, strict=True)
            ]
        )

    @property
    def colours(self) -> np.ndarray:
        """Of every triangle, (F, 3)."""
        counts = [len(part.faces) for part in self.parts]
        return np.repeat([to_rgb(COLOURS[part.colour]) for part in self.parts], counts, axis=0)


def bodywork(robot: Robot, arm: Skeleton, sides: int = SIDES) -> Bodywork:
    """Solid parts of an arm that takes the poses of a skeleton."""
    shape = solid(robot, sides)
    return Bodywork(shape, stand(robot, shape, arm.frames, sides))


class Solids:
    """The solid parts of an arm on some axes; `move` puts them where they are at a pose."""

    def __init__(self, axes: Any, view: View, body: Bodywork):
        self.axes, self.view, self.body, self.space = axes, view, body, is_space(axes)
        self.colours, up = body.colours, body.shape.up
        make: Any = Poly3DCollection if self.space else PolyCollection
        some = np.zeros((1, 3, 3 if self.space else 2))
        if self.space:
            side = np.roll(up, 1)
            self.light = 0.35 * side + 0.45 * np.cross(side, up) + 0.82 * up
        else:
            self.light = 0.55 * view.up - 0.35 * view.rows[0] + 0.76 * view.normal
        self.shadow = make(some, facecolors=SHADOW, edgecolors=SHADOW, linewidths=0.4, zorder=1)
        self.faces = make(some, linewidths=0.35, zorder=5)
        self.artists: tuple[Any, ...] = (self.faces,)
        if self.space:
            self.artists = (self.shadow, self.faces)
        for artist in self.artists:
            axes.add_collection(artist, autolim=False)

    def move(self, frames: np.ndarray) -> None:
        """Show the pose with these frames of base and links."""
        corners, normal, colours = self._lit(frames)
        order: Any = slice(None)
        if not self.space:
            front = np.flatnonzero(normal @ self.view.normal > 0)
            order = front[np.argsort((corners[front] @ self.view.normal).mean(axis=-1))]
        shown = corners[order] if self.space else self.view.seen(corners[order])
        self.faces.set_verts(shown)
        self.faces.set_facecolor(colours[order])
        self.faces.set_edgecolor(colours[order])
        if self.space:
            self.shadow.set_verts(self._below(corners, normal))

    def paint(self, frames: np.ndarray, renderer: Any) -> None:
        """Draw a pose onto a picture that has the rest already: faster than artists that move."""
        corners, normal, colours = self._lit(frames)
        context = renderer.new_gc()
        if self.space:
            below, _ = self._pixels(self._below(corners, normal))
            codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(below))
            closed = np.concatenate([below, below[:, :1]], axis=1).reshape(-1, 2)
            context.set_linewidth(0.0)
            renderer.draw_path(context, Path(closed, codes), IDENTITY, to_rgba(SHADOW))
        pixels, depth = self._pixels(corners)
        a, b = pixels[:, 1] - pixels[:, 0], pixels[:, 2] - pixels[:, 0]
        front = np.flatnonzero(a[:, 0] * b[:, 1] > a[:, 1] * b[:, 0])
        order = front[np.argsort(depth[front])]
        shades = np.ones((len(order), 3, 4))
        shades[..., :3] = colours[order, None]
        renderer.draw_gouraud_triangles(context, pixels[order], shades, IDENTITY)
        context.restore()

    def _lit(self, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Corners of all triangles (F, 3, 3), their normals (F, 3), and colours in the light."""
        corners = self.body.triangles(frames)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-30)
        lit = np.clip(0.5 + 0.5 * normal @ self.light, 0.0, 1.0)
        shade = DARK + (BRIGHT - DARK) * np.round(lit * (SHADES - 1)) / (SHADES - 1)
        return corners, normal, np.clip(shade[:, None] * self.colours, 0.0, 1.0)

    def _below(self, corners: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """The shadow straight below, on the floor."""
        up = self.body.shape.up
        upper = corners[normal @ up > 0]
        return upper - (upper @ up - self.body.ground.floor)[..., None] * up

    def _pixels(self, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Triangles in the picture, (F, 3, 2), and how near to the eye they are, (F,)."""
        if self.space:
            x, y, z = corners.reshape(-1, 3).T
            x, y, z = proj_transform(x, y, z, self.axes.get_proj())
            seen, near = np.stack([x, y], axis=-1), -np.asarray(z).reshape(-1, 3)
        else:
            seen, near = self.view.seen(corners).reshape(-1, 2), corners @ self.view.normal
        return self.axes.transData.transform(seen).reshape(-1, 3, 2), near.mean(axis=-1)


# pictures of an arm that moves: the scenery is drawn once, the arm in every one

SIZE, DPI = (6.4, 4.8), 80  # inches, pixels per inch: 512 x 384
MOVING_SIDES = 10  # of a tube in moving pictures


class Stage:
    """A picture whose title and axes are drawn once; `take` draws what moves in front of them.

    What `artists` has is to be added before the first picture is taken.
    """

    def __init__(self, title: str, view: View, bounds: np.ndarray, body: Bodywork | None):
        self.figure = Picture(figsize=SIZE, dpi=DPI)
        axes = add_axes(self.figure, view)
        prepare(axes, view, bounds)
        self.figure.suptitle(title, color=INK)
        self.text = self.figure.text(0.98, 0.02, "", ha="right", color=SOFT, size=10)
        self.solids = Solids(axes, view, body) if body else None
        self.artists = Artists(axes, view)
        self._scenery: Any = None

    def take(self, frames: np.ndarray, strokes: dict[str, np.ndarray], text: str) -> np.ndarray:
        """A picture (height, width, 3) of bytes: links at frames, strokes where they are now."""
        canvas: Any = self.figure.canvas
        moving = [*self.artists.lines.values(), self.text]
        if self._scenery is None:
            for artist in (*moving, *(self.solids.artists if self.solids else ())):
                artist.set_animated(True)
            canvas.draw()
            self._scenery = canvas.copy_from_bbox(self.figure.bbox)
        canvas.restore_region(self._scenery)
        renderer = canvas.get_renderer()
        if self.solids:
            self.solids.paint(frames, renderer)
        self.artists.move(strokes)
        self.text.set_text(text)
        for artist in moving:
            artist.draw(renderer)
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()
