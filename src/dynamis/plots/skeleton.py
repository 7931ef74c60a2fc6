"""The points of an arm: the sticks of its links, its joints and its frames."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..arguments import checked, strict
from ..model.quantity import resolve
from ..robot import Robot
from ..robot.placing import closure_frames, joint_frames


@strict
@dataclass(frozen=True)
class Skeleton:
    """An arm at one position or many: everything is in the reference frame, metres."""

    segments: np.ndarray  # (..., 2 links + 1, 2, 3): two sticks per link, then the tool's
    joints: np.ndarray  # (..., links, 3): a point on each joint's axis
    axes: np.ndarray  # (..., links, 3): its direction
    frames: np.ndarray  # (..., links + 1, 4, 4): base and links
    tool: np.ndarray  # (..., 4, 4)
    springs: np.ndarray  # (..., springs, 2, 3): the ends of those between two points
    bars: np.ndarray  # (..., 2 closures, 2, 3): from a link's origin to its end of a closure
    kinds: tuple[str, ...]  # "revolute" or "prismatic", per link
    passive: tuple[bool, ...]  # no drive, per link
    closures: tuple[str, ...]  # kinds of closures
    triad: float  # length of the axes of its frames by its reach
    parts: tuple[str, ...]  # of segments, then bars: "link", "base" (of closed ones) or "virtual"

    def __getitem__(self, index: Any) -> "Skeleton":
        """The arm at some of the positions."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{k: x[index] for k, x in given.items() if isinstance(x, np.ndarray)})

    @property
    def points(self) -> np.ndarray:
        """Everything that must be in a picture, (M, 3)."""
        parts = (self.segments, self.joints, self.springs, self.bars)
        return np.concatenate([part.reshape(-1, 3) for part in parts])

    @property
    def sticks(self) -> np.ndarray:
        """Segments and bars of what moves, (..., K, 2, 3)."""
        return self._only("link")

    @property
    def ground(self) -> np.ndarray:
        """Segments and bars of the base of a closed mechanism, (..., K, 2, 3)."""
        return self._only("base")

    def _only(self, part: str) -> np.ndarray:
        here = [k for k, own in enumerate(self.parts) if own == part]
        return np.concatenate([self.segments, self.bars], -3)[..., here, :, :]

    def is_shown(self, link: int) -> bool:
        """Whether a joint is one of metal: others only give a platform its coordinates."""
        return self.parts[2 * link] != "virtual"

    @property
    def ends(self) -> np.ndarray:
        """Both points of every closure, (..., closures, 2, 3)."""
        return self.bars[..., 1, :].reshape(*self.bars.shape[:-3], -1, 2, 3)

    @property
    def reach(self) -> float:
        """The most that the sticks of one position add up to; 1 if they add up to nothing.

        Of a closed mechanism: how far across it is.
        """
        lengths = np.linalg.norm(self.segments[..., 1, :] - self.segments[..., 0, :], axis=-1)
        longest = float(np.max(lengths.sum(-1)))
        if self.closures:
            every = self.sticks.reshape(*self.sticks.shape[:-3], -1, 3)
            longest = float(np.max(np.linalg.norm(np.ptp(every, axis=-2), axis=-1)))
        return longest if longest > 1e-9 else 1.0


@checked
def skeleton(robot: Robot, q: Any) -> Skeleton:
    """The sticks that join the origins of consecutive frames, parents to children, up to the tool.

    A link goes along its joint's axis and across to its own origin (standard Denavit-Hartenberg:
    d, then a), or across to the axis and then along it (modified Denavit-Hartenberg and URDF).
    """
    frames, tool = robot.frames(q), robot.fk(q)
    at_joint = joint_frames(robot, frames)
    on_axis, axes = at_joint[..., :3, 3], at_joint[..., :3, 2]
    parents = np.array(robot.model.parents) + 1
    origins = frames[..., :3, 3]
    start, end = origins[..., parents, :], origins[..., 1:, :]
    along = np.sum((start - on_axis) * axes, axis=-1, keepdims=True)
    foot = on_axis + along * axes  # of the perpendicular from the parent's origin to the axis
    standard = robot.model.convention == "standard"
    corner = on_axis if standard else foot
    if robot.model.closures:  # the base goes straight to its joints
        corner = np.where((parents == 0)[:, None], start, corner)
    sticks = np.stack([np.stack([start, corner], -2), np.stack([corner, end], -2)], -3)
    last = np.stack([frames[..., robot.model.tip + 1, :3, 3], tool[..., :3, 3]], -2)
    kinds = tuple(joint.kind for joint in robot.chain.joints[: robot.chain.links])
    bars, links = _bars(robot, frames)
    parts = [part for k in range(len(kinds)) for part in 2 * (_part(robot, k),)]
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
        bars=bars,
        kinds=kinds,
        passive=robot.model.follows,
        closures=tuple(closure.kind for closure in robot.model.closures),
        triad=triad_share(robot),
        parts=(*parts, "link", *("base" if link < 0 else "link" for link in links)),
    )


def _part(robot: Robot, k: int) -> str:
    """What the sticks up to a link are: of a link, of the base, or nothing that is there.

    A slide of no mass and without a drive is a coordinate of a platform that closures carry; so is
    such a slide behind one.
    """
    link, parent = robot.model.links[k], robot.model.parents[k]
    if not robot.model.closures:
        return "link"
    if link.passive and link.joint == "prismatic":
        massless = robot.chain.bodies[k].user_inertia.m == 0.0
        if massless or (parent >= 0 and _part(robot, parent) == "virtual"):
            return "virtual"
    return "base" if parent < 0 else "link"


def _bars(robot: Robot, frames: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """From the origin of a link to its end of a closure, for both of every closure; the links."""
    ends = closure_frames(robot, frames)[..., :3, 3]
    ends = ends.reshape(*ends.shape[:-3], -1, 3)
    links = [robot.model.link_index(x) for c in robot.model.closures for x in c.between]
    starts = frames[..., :3, 3][..., np.array(links, dtype=int) + 1, :]
    return np.stack([starts, ends], axis=-2), links


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
    face: str = "white"  # of the marker


STICK = "#46566a"
CLOSURE = "#be185d"
STYLES = {  # drawn in this order
    "base": Style("#9aa3ad", width=5.0),
    "ground": Style("#c5ccd3", width=2.5),
    "springs": Style("#0f766e", width=1.6),
    "sticks": Style(STICK, width=4.0),
    "revolute axes": Style("#1c2530", width=9.0, ends="butt"),
    "prismatic axes": Style("#b8651b", width=12.0, ends="butt"),
    "prismatic joints": Style("#b8651b", marker="s", size=11.0),
    "revolute joints": Style("#1c2530", marker="o", size=8.0),
    "passive prismatic joints": Style("#8793a0", marker="s", size=6.0),
    "passive revolute joints": Style("#8793a0", marker="o", size=6.0),
    "driven prismatic joints": Style("#b8651b", marker="s", size=8.0, face="#ffc166"),
    "driven revolute joints": Style("#1c2530", marker="o", size=9.0, face="#ffc166"),
    "rods": Style(CLOSURE, width=2.0),
    "openings": Style(CLOSURE, width=1.2),
    "rod closures": Style(CLOSURE, marker="o", size=4.0, face=CLOSURE),
    "pin closures": Style(CLOSURE, marker="o", size=7.0),
    "ball closures": Style(CLOSURE, marker="o", size=6.0, face=CLOSURE),
    "universal closures": Style(CLOSURE, marker="P", size=8.0),
    "slide closures": Style(CLOSURE, marker="s", size=8.0),
    "weld closures": Style(CLOSURE, marker="X", size=8.0),
    "x axes": Style("#d62828", width=1.8),
    "y axes": Style("#2a9d3a", width=1.8),
    "z axes": Style("#2563eb", width=1.8),
}
GHOST = ("sticks",)
TRACE = Style("#8e44ad", width=1.6)
TRIAD, TOOL_TRIAD, BARREL, PEDESTAL, COIL = 0.09, 0.12, 0.025, 0.07, 0.02  # lengths per reach
SMALL_TRIAD = 0.05  # of closed mechanisms, which have many
COILS = 9


def strokes(arm: Skeleton, reach: float, frames: bool = True) -> dict[str, np.ndarray]:
    """Points of each stroke, (M, 3), of an arm at one position."""
    base = arm.frames[0]
    around = np.linspace(0.0, 2 * np.pi, 33)[:, None]
    circle = np.cos(around) * base[:3, 0] + np.sin(around) * base[:3, 1]
    found: dict[str, Any] = {
        "base": base[:3, 3] + PEDESTAL * reach * circle,
        "ground": _broken(arm.ground),
        "sticks": _broken(arm.sticks),
        "springs": _coils(arm.springs, COIL * reach),
    }
    half = BARREL * reach * arm.axes
    ends = np.stack([arm.joints - half, arm.joints + half], axis=-2)
    for kind in ("revolute", "prismatic"):
        chosen = [own == kind and arm.is_shown(k) for k, own in enumerate(arm.kinds)]
        found[f"{kind} axes"] = _broken(ends[chosen])
        if not arm.closures:
            found[f"{kind} joints"] = arm.joints[chosen]
            continue
        for word, passive in (("passive", True), ("driven", False)):
            own = [a and b is passive for a, b in zip(chosen, arm.passive, strict=True)]
            found[f"{word} {kind} joints"] = arm.joints[own]
    found |= _closures(arm)
    if frames:
        axes = triads(arm, reach).reshape(3, -1, 2, 3)
        found |= {f"{name} axes": _broken(own) for name, own in zip("xyz", axes, strict=True)}
    return {name: found[name] for name in STYLES if name in found and len(found[name])}


def triad_share(robot: Robot) -> float:
    """How long the axes of frames are drawn, by the reach: short where many are near each other."""
    return SMALL_TRIAD if robot.model.closures else TRIAD


def triads(arm: Skeleton, reach: float) -> np.ndarray:
    """From origins to tips of all x axes, then y, then z, (3 K, 2, 3); the tool's are the last."""
    every = np.concatenate([_apart(arm, reach), arm.tool[None]])
    length = np.full((len(every), 1), arm.triad * reach)
    length[-1] = TOOL_TRIAD * reach
    origin = every[:, :3, 3]
    tips = [origin + length * every[:, :3, i] for i in range(3)]
    return np.concatenate([np.stack([origin, own], axis=-2) for own in tips])


def _apart(arm: Skeleton, reach: float) -> np.ndarray:
    """Frames of base and links; where those of a closed mechanism coincide, one of them."""
    if not arm.closures:
        return arm.frames
    links, base = arm.frames[1:], arm.frames[:1]
    later = np.concatenate([base, links[1:], arm.tool[None]])[:, :3, 3]
    kept = [
        frame
        for k, frame in enumerate(links)
        if arm.is_shown(k)
        and np.linalg.norm(np.delete(later, slice(1, k + 1), 0) - frame[:3, 3], axis=1).min()
        > 1e-6 * reach
    ]
    return np.array([*base, *kept])


def _closures(arm: Skeleton) -> dict[str, np.ndarray]:
    """Marks of the closures by kind, rods as lines, and lines where others are open."""
    found, kinds = {}, np.array(arm.closures, dtype=str)
    rods = kinds == "rod"
    found["rods"], found["openings"] = _broken(arm.ends[rods]), _broken(arm.ends[~rods])
    for kind in dict.fromkeys(kinds.tolist()):
        found[f"{kind} closures"] = arm.ends[kinds == kind].reshape(-1, 3)
    return found


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
