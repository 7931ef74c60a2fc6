"""Pictures of an arm that moves while nobody knows yet where it will go."""

from typing import Any

import numpy as np

from ..robot import Robot
from .animation import DPI, SIZE
from .figure import INK, SOFT, Picture, plain
from .scene import Artists, add_axes, prepare, view_of
from .skeleton import Style, skeleton, strokes

TARGET = Style("#d9480f", marker="X", size=13.0, face="#ffc9a8")


class LivePicture:
    """A drawing whose scenery is made once and whose arm is put where it is, call by call.

    `around` (K, n) are configurations that must fit into it.
    """

    def __init__(self, robot: Robot, around: np.ndarray):
        self.robot = robot
        arm = skeleton(robot, around)
        self.view, self.reach = view_of(robot, arm), arm.reach
        self.figure = Picture(figsize=SIZE, dpi=DPI)
        axes = add_axes(self.figure, self.view)
        prepare(axes, self.view, self.view.bounds(arm.points, self.reach))
        self.figure.suptitle(plain(robot.name), color=INK)
        self.text = self.figure.text(0.98, 0.02, "", ha="right", color=SOFT, size=10)
        self.artists = Artists(axes, self.view)
        self.artists.add("target", arm.tool[0, None, :3, 3], TARGET)
        self.artists.add_all(strokes(arm[0], self.reach, frames=False))
        self.moving = [*self.artists.lines.values(), self.text]
        for artist in self.moving:
            artist.set_animated(True)
        canvas: Any = self.figure.canvas
        canvas.draw()
        self.scenery = canvas.copy_from_bbox(self.figure.bbox)

    def __call__(self, q: np.ndarray, target: np.ndarray, text: str = "") -> np.ndarray:
        """The picture, (height, width, 3) of bytes: the arm at q (n,), a mark at target (3,)."""
        canvas: Any = self.figure.canvas
        canvas.restore_region(self.scenery)
        self.artists.move(strokes(skeleton(self.robot, q), self.reach, frames=False))
        self.artists.move({"target": np.asarray(target)[None]})
        self.text.set_text(text)
        for artist in self.moving:
            artist.draw(canvas.get_renderer())
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()
