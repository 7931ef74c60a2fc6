"""From where an arm is looked at: planar arms face on, others in space."""

from dataclasses import dataclass

import numpy as np

from ..robot import Robot
from .skeleton import Skeleton

PARALLEL = 1e-9
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
    """The direction in which nothing can ever move; None if there is no such direction.

    Angles between neighbouring axes do not change with q, so one position tells.
    """
    turning = arm.axes[[kind == "revolute" for kind in arm.kinds]]
    sliding = arm.axes[[kind == "prismatic" for kind in arm.kinds]]
    if len(turning):
        normal = turning[0]
        parallel = np.linalg.norm(np.cross(turning, normal), axis=-1) < PARALLEL
        across = np.abs(sliding @ normal) < PARALLEL
        return normal if parallel.all() and across.all() else None
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
