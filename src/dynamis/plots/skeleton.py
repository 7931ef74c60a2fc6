"""The points of an arm: the sticks of its links, its joints and its frames."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..arguments import checked
from ..robot import Robot
from ..spatial.frames import inverse, matrix


@dataclass(frozen=True)
class Skeleton:
    """An arm at one position or many: everything is in the reference frame, metres."""

    segments: np.ndarray  # (..., 2 links + 1, 2, 3): two sticks per link, then the tool's
    joints: np.ndarray  # (..., links, 3): a point on each joint's axis
    axes: np.ndarray  # (..., links, 3): its direction
    frames: np.ndarray  # (..., links + 1, 4, 4): base and links
    tool: np.ndarray  # (..., 4, 4)
    kinds: tuple[str, ...]  # "revolute" or "prismatic", per link

    def __getitem__(self, index: Any) -> "Skeleton":
        """The same arm at some of the positions."""
        arrays = [getattr(self, f.name)[index] for f in fields(self)[:-1]]
        return Skeleton(*arrays, kinds=self.kinds)

    @property
    def points(self) -> np.ndarray:
        """Everything that must be in a picture, (M, 3)."""
        return np.concatenate([self.segments.reshape(-1, 3), self.joints.reshape(-1, 3)])

    @property
    def reach(self) -> float:
        """The most that the sticks of one position add up to; 1 if they add up to nothing."""
        lengths = np.linalg.norm(self.segments[..., 1, :] - self.segments[..., 0, :], axis=-1)
        longest = float(np.max(lengths.sum(-1)))
        return longest if longest > 1e-9 else 1.0


@checked
def skeleton(robot: Robot, q: Any) -> Skeleton:
    """The sticks that join the origins of consecutive frames, parents to children, up to the tool.

    A link goes along its joint's axis and across to its own origin (standard Denavit-Hartenberg:
    d, then a), or across to the axis and then along it (modified Denavit-Hartenberg and URDF).
    """
    frames, tool = robot.frames(q), robot.fk(q)
    bodies = robot.chain.bodies[: robot.chain.links]
    at_joint = frames[..., 1:, :, :] @ np.array([matrix(inverse(b.user)) for b in bodies])
    on_axis, axes = at_joint[..., :3, 3], at_joint[..., :3, 2]
    parents = np.array(robot.model.parents) + 1
    origins = frames[..., :3, 3]
    start, end = origins[..., parents, :], origins[..., 1:, :]
    along = np.sum((start - on_axis) * axes, axis=-1, keepdims=True)
    foot = on_axis + along * axes  # of the perpendicular from the parent's origin to the axis
    standard = robot.model.convention == "standard"
    corner = on_axis if standard else foot
    sticks = np.stack([np.stack([start, corner], -2), np.stack([corner, end], -2)], -3)
    last = np.stack([frames[..., robot.model.tip + 1, :3, 3], tool[..., :3, 3]], -2)
    kinds = tuple(joint.kind for joint in robot.chain.joints[: len(bodies)])
    fixed = np.array([standard or kind == "prismatic" for kind in kinds])
    return Skeleton(
        segments=np.concatenate(
            [sticks.reshape(*sticks.shape[:-4], -1, 2, 3), last[..., None, :, :]], -3
        ),
        joints=np.where(fixed[:, None], foot, end),
        axes=axes,
        frames=frames,
        tool=tool,
        kinds=kinds,
    )
