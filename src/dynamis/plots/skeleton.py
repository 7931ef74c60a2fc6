"""The points of an arm: the sticks of its links, its joints and its frames."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..arguments import checked
from ..model.quantity import resolve
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
    springs: np.ndarray  # (..., springs, 2, 3): the ends of those between two points
    kinds: tuple[str, ...]  # "revolute" or "prismatic", per link

    def __getitem__(self, index: Any) -> "Skeleton":
        """The arm at some of the positions."""
        arrays = [getattr(self, f.name)[index] for f in fields(self)[:-1]]
        return Skeleton(*arrays, kinds=self.kinds)

    @property
    def points(self) -> np.ndarray:
        """Everything that must be in a picture, (M, 3)."""
        parts = (self.segments, self.joints, self.springs)
        return np.concatenate([part.reshape(-1, 3) for part in parts])

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
        springs=_spring_ends(robot, frames),
        kinds=kinds,
    )


def _spring_ends(robot: Robot, frames: np.ndarray) -> np.ndarray:
    model, ends = robot.model, []
    for spring in model.springs:
        if spring.kind != "torsion":
            for link, place in ((spring.from_, spring.from_point), (spring.to, spring.to_point)):
                T = frames[..., model.link_index(link) + 1, :3, :]
                ends.append(T[..., :3] @ np.array(resolve(place, model.values)) + T[..., 3])
    if not ends:
        return np.zeros((*frames.shape[:-3], 0, 2, 3))
    return np.stack(ends, axis=-2).reshape(*frames.shape[:-3], -1, 2, 3)


# an arm as a few broken lines, the same for every way of drawing: gaps are NaN


@dataclass(frozen=True)
class Style:
    """How a stroke looks; widths in points."""

    colour: str
    width: float = 0.0
    marker: str = ""
    size: float = 0.0
    ends: str = "round"


STICK = "#46566a"
STYLES = {  # drawn in this order
    "base": Style("#9aa3ad", width=5.0),
    "springs": Style("#0f766e", width=1.6),
    "sticks": Style(STICK, width=4.0),
    "revolute axes": Style("#1c2530", width=9.0, ends="butt"),
    "prismatic axes": Style("#b8651b", width=12.0, ends="butt"),
    "prismatic joints": Style("#b8651b", marker="s", size=11.0),
    "revolute joints": Style("#1c2530", marker="o", size=8.0),
    "x axes": Style("#d62828", width=1.8),
    "y axes": Style("#2a9d3a", width=1.8),
    "z axes": Style("#2563eb", width=1.8),
}
GHOST = ("sticks",)
TRACE = Style("#8e44ad", width=1.6)
TRIAD, TOOL_TRIAD, BARREL, PEDESTAL, COIL = 0.09, 0.12, 0.025, 0.07, 0.02  # lengths per reach
COILS = 9


def strokes(arm: Skeleton, reach: float, frames: bool = True) -> dict[str, np.ndarray]:
    """Points of each stroke, (M, 3), of an arm at one position."""
    base = arm.frames[0]
    around = np.linspace(0.0, 2 * np.pi, 33)[:, None]
    circle = np.cos(around) * base[:3, 0] + np.sin(around) * base[:3, 1]
    found: dict[str, Any] = {
        "base": base[:3, 3] + PEDESTAL * reach * circle,
        "sticks": _broken(arm.segments),
        "springs": _coils(arm.springs, COIL * reach),
    }
    half = BARREL * reach * arm.axes
    ends = np.stack([arm.joints - half, arm.joints + half], axis=-2)
    for kind in ("revolute", "prismatic"):
        chosen = [k == kind for k in arm.kinds]
        found[f"{kind} axes"] = _broken(ends[chosen])
        found[f"{kind} joints"] = arm.joints[chosen]
    if frames:
        every = np.concatenate([arm.frames, arm.tool[None]])
        length = np.full((len(every), 1), TRIAD * reach)
        length[-1] = TOOL_TRIAD * reach
        for i, name in enumerate("xyz"):
            origin = every[:, :3, 3]
            tips = origin + length * every[:, :3, i]
            found[f"{name} axes"] = _broken(np.stack([origin, tips], axis=-2))
    return {name: found[name] for name in STYLES if name in found and len(found[name])}


def _coils(ends: np.ndarray, size: float) -> np.ndarray:
    """A line back and forth between the ends (K, 2, 3) of every spring, with gaps."""
    lines = []
    for first, last in ends:
        along = last - first
        across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        across = size * across / max(float(np.linalg.norm(across)), 1e-12)
        steps = np.linspace(0.2, 0.8, 2 * COILS)
        turns = np.outer(np.resize([1.0, -1.0], 2 * COILS), across)
        coils = first + np.outer(steps, along) + turns
        lines += [first[None], coils, last[None], np.full((1, 3), np.nan)]
    return np.concatenate(lines) if lines else np.zeros((0, 3))


def _broken(segments: np.ndarray) -> np.ndarray:
    """One line through all segments (K, 2, 3), with gaps."""
    gaps = np.full((len(segments), 1, 3), np.nan)
    return np.concatenate([segments, gaps], axis=1).reshape(-1, 3)
