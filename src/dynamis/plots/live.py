"""Pictures of an arm that moves while nobody knows yet where it will go."""

import numpy as np

from ..robot import Robot
from .figure import plain
from .scene import MOVING_SIDES, SEEN, Stage, bodywork, view_of
from .skeleton import Style, skeleton, strokes

TARGET = Style("#d9480f", marker="X", size=13.0, face="#ffc9a8")


class LivePicture:
    """A drawing whose scenery is made once and whose arm is put where it is, call by call.

    `around` (K, n) are configurations that must fit into it.
    """

    def __init__(self, robot: Robot, around: np.ndarray):
        self.robot = robot
        arm = skeleton(robot, around)
        self.reach, view = arm.reach, view_of(robot, arm)
        body = bodywork(robot, arm, MOVING_SIDES)
        self.stage = Stage(plain(robot.name), view, body.bounds(view, arm), body)
        self.stage.artists.add("target", arm.tool[0, None, :3, 3], TARGET)
        self.stage.artists.add_all(self._strokes(around[0]))

    def __call__(self, q: np.ndarray, target: np.ndarray, text: str = "") -> np.ndarray:
        """The picture, (height, width, 3) of bytes: the arm at q (n,), a mark at target (3,)."""
        strokes = self._strokes(q) | {"target": np.asarray(target)[None]}
        return self.stage.take(self.robot.frames(q), strokes, text)

    def _strokes(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Lines that solid links are drawn with."""
        found = strokes(skeleton(self.robot, q), self.reach, frames=False)
        return {name: found[name] for name in SEEN if name in found}
