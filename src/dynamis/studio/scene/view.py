"""The scene of a tab: ground, light, camera, and the arm, which follows the session."""

from typing import Any

import numpy as np

from ..server.session import Session
from .arm import Arm

WIDE, PANEL = 700, 400  # pixels: pages with the panel at the side, and how much of them it takes
SHEET = 0.6  # of a narrow page's height
FIELD = 0.9  # rad, from the top of the page to its bottom
FILLED = 0.62  # of what is left, by the arm


class View:
    """Draws a session's robot at its pose."""

    def __init__(self, session: Session):
        self.session = session
        client = session.client
        client.gui.configure_theme(
            control_width="large", show_logo=False, show_share_button=False,
            brand_color=(200, 104, 24),
        )  # fmt: skip
        self.arm = self._arm()
        self._look()
        session.view = self
        session.on_robot(self._replaced)
        session.on_pose(lambda: self.arm.move(session.q))

    def _arm(self) -> Arm:
        session = self.session
        return Arm(session.client.scene, session.robot, session.q, session.visuals)

    def _replaced(self) -> None:
        shown = self.arm.shown
        self.arm.remove()
        self.arm = self._arm()
        self.arm.show(shown)
        if not self.session.kept:
            self._look()

    def _look(self) -> None:
        """The whole arm, upright as its gravity says, with the ground below its base."""
        scene, camera, reach = self.session.client.scene, self.session.client.camera, self.arm.reach
        up, side, front = _axes(self.session.robot.gravity)
        plane = "".join("xyz"[int(np.argmax(np.abs(v)))] for v in (side, front))
        scene.add_grid(
            "/ground", width=4.0 * reach, height=4.0 * reach, plane=plane,
            cell_size=reach / 5, section_size=reach,
            position=tuple(self.session.robot.frames(self.session.q)[0, :3, 3]),
        )  # fmt: skip
        points = np.concatenate([self.arm.points, self.arm.body.corners])
        low, high = points.min(axis=0), points.max(axis=0)
        back = 0.62 * side - 0.68 * front + 0.42 * up
        back /= np.linalg.norm(back)
        right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
        camera.fov = FIELD
        aside, above, per_size = _free(camera)
        distance = per_size * max(float(np.linalg.norm(high - low)), 0.8 * reach)
        middle = 0.5 * (low + high) + distance * (aside * right - above * np.cross(back, right))
        camera.up_direction = up
        camera.position = middle + distance * back
        camera.look_at = middle


def _free(camera: Any) -> tuple[float, float, float]:
    """How far right of the arm and below it to look, per distance, and the distance per size.

    On a wide page the panel is at the right, on a narrow one at the bottom.
    """
    width, height = max(camera.image_width, 1), max(camera.image_height, 1)
    tall = 2.0 * np.tan(0.5 * FIELD)  # what is seen, per distance
    if width > WIDE:
        size = min(height, width - PANEL)
        return 0.5 * PANEL / height * tall, 0.0, height / (FILLED * size * tall)
    size = min((1.0 - SHEET) * height, width)
    return 0.0, 0.5 * SHEET * tall, height / (FILLED * size * tall)


def _axes(gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up (against gravity if that is along an axis, else z), right, and away from the viewer."""
    x, y, z = np.eye(3)
    size = np.linalg.norm(gravity)
    for up, side, front in ((y, x, -z), (x, -y, -z)):
        if size > 0 and gravity @ up < -0.99 * size:
            return up, side, front
    return z, x, y
