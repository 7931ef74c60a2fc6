"""Names in the picture of an arm: axes of its frames and its joints, each where there is room.

Places are found in pixels whenever the picture is drawn: they follow its size and its viewpoint.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import IdentityTransform
from mpl_toolkits.mplot3d.proj3d import proj_transform

from ..robot import Robot
from .figure import plain
from .scene import View, is_space
from .skeleton import STYLES, TOOL_TRIAD, TRIAD, Skeleton

TOGETHER = 0.01  # distance of points that share a name, per reach
ALIGNED = 0.999  # cosine of axes that share a name
JOINT, TOOL = "#7a3f08", "#1d6b3c"
LETTERS, WORDS = 10.0, 8.5  # points: sizes of names of axes and of joints
TOOL_NAME = r"\mathrm{tool}"  # as a subscript
WIDEST = 32  # characters of a line with the names of several joints


@dataclass(frozen=True)
class Label:
    """A name and the point it belongs to; it is best placed on the way from `back` through it."""

    text: str
    colour: str
    size: float
    point: np.ndarray  # (3,)
    back: np.ndarray | None = None  # (3,); None: anywhere around the point


def marks_of(robot: Robot, arm: Skeleton, view: View, reach: float) -> list[Label]:
    """Names of axes, tool and joints at one position; of closed mechanisms those of the drives."""
    if arm.closures:
        return [*_joints(robot, arm, reach)]
    found = [*_axes(arm, view, reach)]
    if not any(TOOL_NAME in mark.text for mark in found):
        found.append(Label("tool", TOOL, WORDS, arm.tool[:3, 3]))
    return [*found, *_joints(robot, arm, reach)]


def _axes(arm: Skeleton, view: View, reach: float) -> Iterable[Label]:
    """x and z of every frame, of a plane y too; those that coincide share a name."""
    every = np.concatenate([arm.frames, arm.tool[None]])
    subscripts = [*(str(k) for k in range(len(arm.frames))), TOOL_NAME]
    lengths = [TRIAD * reach] * len(arm.frames) + [TOOL_TRIAD * reach]
    for letter in "xyz" if view.flat else "xz":
        column = "xyz".index(letter)
        for group in _groups(every[:, :3, 3], every[:, :3, column], TOGETHER * reach):
            own = [subscripts[k] for k in group]
            if len(own) > 1:  # the tool has the axis of its link
                own = [name for name in own if name != subscripts[-1]]
            text = r",\,".join(f"{letter}_{{{name}}}" for name in own)
            T, length = every[group[0]], max(lengths[k] for k in group)
            origin, axis = T[:3, 3], T[:3, column]
            colour = STYLES[f"{letter} axes"].colour
            if view.flat and abs(float(axis @ view.normal)) > ALIGNED:  # seen along it
                sign = r"\odot" if axis @ view.normal > 0 else r"\otimes"
                yield Label(f"${text}\\,{sign}$", colour, LETTERS, origin)
            else:
                yield Label(f"${text}$", colour, LETTERS, origin + length * axis, origin)


def together(points: np.ndarray, near: float) -> list[list[int]]:
    """Numbers of points (K, M), those nearer than `near` to the first of a group in one list."""
    return _groups(points, np.ones((len(points), 1)), near)


def _groups(points: np.ndarray, axes: np.ndarray, near: float) -> list[list[int]]:
    """Numbers of frames, those together whose points and axes are the same."""
    found: list[list[int]] = []
    for k, (point, axis) in enumerate(zip(points, axes, strict=True)):
        for group in found:
            first = group[0]
            if np.linalg.norm(points[first] - point) < near and axes[first] @ axis > ALIGNED:
                group.append(k)
                break
        else:
            found.append([k])
    return found


def _joints(robot: Robot, arm: Skeleton, reach: float) -> Iterable[Label]:
    """Names of joints; joints at one point share a label."""
    shown = [k for k in range(len(arm.joints)) if arm.is_shown(k) and not arm.passive[k]]
    points = arm.joints[shown]
    texts = [plain(str(robot.model.tree_joint_names[k])) for k in shown]
    for group in together(points, TOGETHER * reach):
        lines: list[str] = []
        for k in group:
            if lines and len(lines[-1]) + len(texts[k]) < WIDEST:
                lines[-1] += f", {texts[k]}"
            else:
                lines.append(texts[k])
        yield Label("\n".join(lines), JOINT, WORDS, points[group[0]])


# where there is room: the cheapest of some places around the point, for one name after the other

ANGLES, SAMPLES = 16, 9  # places around a point; samples along a line that is not to be covered
NEAR, FAR = (3.0, 8.0, 15.0, 24.0), (9.0, 16.0, 26.0, 38.0, 52.0)  # points from the point
LEADER = 14.0  # points: names further away have a line to what they name
CELL = 4.0  # points: of a link it counts how many squares of this width are covered
# cost of a place: outside the picture, on another name, on an axis, on a link, per point of
# distance, per radian off the way that the axis goes
OUTSIDE, COVERED, CROSSED, HIDDEN, DISTANT, TURNED = 1e4, 1e3, 12.0, 2.0, 0.5, 3.0


class Labels(Artist):
    """Marks on some axes; lines (K, 2, 3) and points of links (M, 3) are kept free if possible."""

    def __init__(
        self, axes: Any, view: View, marks: list[Label], lines: np.ndarray, links: np.ndarray
    ):
        super().__init__()
        self.view, self.marks, self.links = view, marks, links
        share = np.linspace(0.0, 1.0, SAMPLES)[:, None]
        self.samples = (lines[:, None, 0] * (1 - share) + lines[:, None, 1] * share).reshape(-1, 3)
        self.set_zorder(1000)
        self.set_in_layout(False)
        axes.add_artist(self)
        self.texts = [_text(axes.figure, mark) for mark in marks]

    def draw(self, renderer: Any) -> None:
        """Place the names for the size and viewpoint of this drawing, and draw them."""
        if not self.get_visible():
            return
        placed = self.place(renderer)
        for _, leader in placed:  # below all names
            if leader is not None:
                _line(self.figure, leader).draw(renderer)
        for text, _ in placed:
            text.draw(renderer)
        self.stale = False

    def place(self, renderer: Any) -> list[tuple[Text, np.ndarray | None]]:
        """The texts at their places, and lines (2, 2) to what they name where those are far."""
        unit = renderer.points_to_pixels(1.0)
        cells = np.unique(np.round(self._pixels(self.links) / (CELL * unit)), axis=0)
        points = np.concatenate([self._pixels(self.samples), cells * CELL * unit])
        cost = np.repeat([CROSSED, HIDDEN], [len(self.samples), len(cells)])
        room = Room(points, cost, self.figure.bbox, unit)
        found = []
        for mark, text in zip(self.marks, self.texts, strict=True):
            box = text.get_window_extent(renderer)
            ends = [mark.point] if mark.back is None else [mark.point, mark.back]
            at, *back = self._pixels(np.array(ends))
            centre, far = room.take(at, at - back[0] if back else None, box.width, box.height)
            text.set_position((float(centre[0]), float(centre[1])))
            half = 0.5 * np.array([box.width, box.height])
            edge = np.clip(at, centre - half, centre + half)
            found.append((text, np.stack([at, edge]) if far else None))
        return found

    def _pixels(self, points: np.ndarray) -> np.ndarray:
        """Where points (K, 3) are in the picture, (K, 2)."""
        axes: Any = self.axes
        seen = self.view.seen(points)
        if is_space(axes):
            x, y, z = seen.T
            x, y, _ = proj_transform(x, y, z, axes.get_proj())
            seen = np.stack([x, y], axis=-1)
        return np.asarray(axes.transData.transform(seen))


class Room:
    """What is taken of a picture; all in pixels, `unit` of them to a point."""

    def __init__(self, points: np.ndarray, cost: np.ndarray, within: Any, unit: float):
        self.points, self.cost, self.within, self.unit = points, cost, within, unit
        self.boxes = np.zeros((0, 4))  # x0, y0, x1, y1

    def take(
        self, at: np.ndarray, along: np.ndarray | None, width: float, height: float
    ) -> tuple[np.ndarray, bool]:
        """The centre of the best free box of that size at a point, and whether it is far."""
        clear = np.array(FAR if along is None else NEAR)
        angle = np.arange(ANGLES) * 2 * np.pi / ANGLES
        turn = np.zeros(ANGLES)
        if along is None:  # to the right, where words are read
            turn = 0.3 * (1.0 - np.cos(angle))
        elif np.linalg.norm(along) > self.unit:
            turn = np.arctan2(along[1], along[0]) + angle
            angle, turn = turn, np.minimum(angle, 2 * np.pi - angle)
        u = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        half = 0.5 * np.array([width, height])
        support = (np.abs(u) * half).sum(axis=-1)
        centres = at + (clear[:, None] * self.unit + support)[..., None] * u  # (D, A, 2)
        cost = (DISTANT * clear[:, None] + TURNED * turn).ravel()
        boxes = np.concatenate([centres - half, centres + half], axis=-1).reshape(-1, 4)
        cost = cost + self._cost(boxes)
        best = int(np.argmin(cost))
        self.boxes = np.concatenate([self.boxes, boxes[best : best + 1]])
        return centres.reshape(-1, 2)[best], bool(clear[best // ANGLES] > LEADER)

    def _cost(self, boxes: np.ndarray) -> np.ndarray:
        """Of what boxes (K, 4) cover, (K,)."""
        margin = 1.5 * self.unit
        low, high = boxes[:, None, :2] - margin, boxes[:, None, 2:] + margin
        inside = ((self.points > low) & (self.points < high)).all(axis=-1)
        overlap = np.minimum(high, self.boxes[:, 2:]) - np.maximum(low, self.boxes[:, :2])
        taken = (np.maximum(overlap, 0.0) > 0.0).all(axis=-1).sum(axis=-1)
        own = self.within
        out = (boxes[:, 0] < own.x0) | (boxes[:, 1] < own.y0)
        out = out | (boxes[:, 2] > own.x1) | (boxes[:, 3] > own.y1)
        return inside @ self.cost + COVERED * taken + OUTSIDE * out


def _text(figure: Any, mark: Label) -> Text:
    halo = [withStroke(linewidth=2.5, foreground="white")]
    made = Text(
        0.0, 0.0, mark.text, color=mark.colour, fontsize=mark.size, ha="center", va="center",
        path_effects=halo,
    )  # fmt: skip
    made.set_figure(figure)
    made.set_transform(IdentityTransform())
    return made


def _line(figure: Any, ends: np.ndarray) -> Line2D:
    made = Line2D(*ends.T, color=JOINT, linewidth=0.6, alpha=0.7)
    made.set_figure(figure)
    made.set_transform(IdentityTransform())
    return made
