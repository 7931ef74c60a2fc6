"""Where joints and closures are: their frames in the reference frame, from those of the links."""

from typing import TYPE_CHECKING

import numpy as np

from ..spatial.frames import inverse, matrix

if TYPE_CHECKING:
    from . import Robot

PARALLEL = 1e-9  # sine of the angle between axes that are parallel


def joint_frames(robot: "Robot", frames: np.ndarray) -> np.ndarray:
    """Frames with z along every joint's axis, after its motion, (..., links, 4, 4)."""
    bodies = robot.chain.bodies[: robot.chain.links]
    return frames[..., 1:, :, :] @ np.array([matrix(inverse(b.user)) for b in bodies])


def closure_frames(robot: "Robot", frames: np.ndarray) -> np.ndarray:
    """Both frames of every closure, (..., closures, 2, 4, 4)."""
    model, found = robot.model, []
    for closure in model.closures:
        for name, place in zip(closure.between, closure.frames, strict=True):
            on_link = np.array(matrix(place.frame(model.values)))
            found.append(frames[..., model.link_index(name) + 1, :, :] @ on_link)
    if not found:
        return np.zeros((*frames.shape[:-3], 0, 2, 4, 4))
    return np.stack(found, axis=-3).reshape(*frames.shape[:-3], -1, 2, 4, 4)


def plane_of(axes: np.ndarray, kinds: tuple[str, ...]) -> np.ndarray | None:
    """The normal of the plane that a mechanism with revolute joints moves in; None: it has none.

    Angles between the axes of neighbouring joints do not change with q, so one position tells.
    """
    turning = axes[[kind == "revolute" for kind in kinds]]
    sliding = axes[[kind == "prismatic" for kind in kinds]]
    if not len(turning):
        return None
    normal = turning[0]
    parallel = np.linalg.norm(np.cross(turning, normal), axis=-1) < PARALLEL
    across = np.abs(sliding @ normal) < PARALLEL
    return normal if parallel.all() and across.all() else None
