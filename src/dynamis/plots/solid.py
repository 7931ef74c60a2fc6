"""Solids of an arm's links: triangles in body frames, sized by the arm's own reach.

Links that no mesh file describes are tubes along the sticks of the skeleton, joints are cylinders
(revolute) or boxes (prismatic) around their axes. Animations, reports and the studio draw them.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..arguments import checked
from ..model.quantity import resolve
from ..robot import Robot
from .skeleton import Skeleton, skeleton

COLOURS = {  # classes of parts
    "base": "#aab3bc",
    "link": "#6c7a89",
    "joint": "#f08c2e",
    "slide": "#3e95cd",
    "passive": "#96a0aa",
    "tool": "#2ea05a",
    "ground": "#bcc4cc",
    "closure": "#be185d",
    "spring": "#0f766e",
}
THICK = 0.027  # radius of the first link, per reach
THINNER = 0.45  # of it, that the last link has less
CLOSED = 0.6  # of it, that links of closed mechanisms have: they are many
FLAT = 0.72  # width of a tube's far end, per width of its near end
SIDES = 16
TURNS, STEPS, WIRE = 9, 10, 5  # of a spring: turns, steps per turn, sides of its wire


@dataclass(frozen=True)
class SolidPart:
    """Triangles of one colour class, fixed on a body or stretched between two points of bodies."""

    name: str
    colour: str  # a key of COLOURS
    vertices: np.ndarray  # (V, 3): in the body's frame; stretched ones from z = 0 to z = 1
    faces: np.ndarray  # (F, 3) indices, counter-clockwise from outside
    body: int = 0  # row of robot.frames(q): 0 is the base, i + 1 link i
    ends: tuple[tuple[int, np.ndarray], tuple[int, np.ndarray]] | None = None  # body, point


@dataclass(frozen=True)
class Solid:
    """An arm as solid parts; `transforms` says where they are."""

    parts: tuple[SolidPart, ...]
    reach: float
    up: np.ndarray  # (3,)

    def transforms(self, frames: np.ndarray) -> np.ndarray:
        """From each part's vertices to the reference frame, (..., parts, 4, 4).

        `frames` is robot.frames(q). Of stretched parts the third column is not of unit length.
        """
        found = []
        for part in self.parts:
            if part.ends is None:
                found.append(frames[..., part.body, :, :])
            else:
                first, last = (
                    frames[..., body, :3, :3] @ point + frames[..., body, :3, 3]
                    for body, point in part.ends
                )
                found.append(_stretched(first, last))
        return np.stack(found, axis=-3)

    def corners(self, transforms: np.ndarray) -> np.ndarray:
        """Vertices of all parts in the reference frame, (..., V, 3)."""
        return np.concatenate(
            [
                part.vertices @ np.swapaxes(transforms[..., k, :3, :3], -1, -2)
                + transforms[..., k, None, :3, 3]
                for k, part in enumerate(self.parts)
            ],
            axis=-2,
        )


@checked
def solid(robot: Robot, sides: int = SIDES, thickness: float = 1.0) -> Solid:
    """The links, joints, closures, springs and tool of a robot as solid parts.

    Parts of one body and colour are one part; `thickness` is of the usual one. The pedestal is
    separate: see `stand`.
    """
    named = list(robot.configurations.values())
    if not robot.model.closures or not named:  # at zero closures may be open
        named.append(np.zeros(robot.n))
    arm = skeleton(robot, np.array(named))
    thick = THICK * thickness * (CLOSED if robot.model.closures else 1.0)
    builder = _Builder(robot, arm[0], thick * arm.reach, sides)
    builder.links()
    builder.joints()
    builder.tool()
    builder.closures()
    builder.springs()
    builder.flatten_foot(upright(robot.gravity))
    return Solid(_merged(builder.parts), arm.reach, upright(robot.gravity))


def upright(gravity: np.ndarray) -> np.ndarray:
    """The axis x, y or z that gravity is along; z without gravity, and where it is askew."""
    size = float(np.linalg.norm(gravity))
    along = np.abs(gravity) > 0.99 * size
    return np.eye(3)[int(np.argmax(along))] if size > 0 and along.any() else np.eye(3)[2]


class _Builder:
    """Parts of one robot, in body frames."""

    def __init__(self, robot: Robot, arm: Skeleton, radius: float, sides: int):
        self.robot, self.arm, self.sides = robot, arm, sides
        self.parents = robot.model.parents
        depth = np.zeros(len(self.parents) + 1)
        for k, parent in enumerate(self.parents):
            depth[k + 1] = depth[parent + 1] + 1
        self.radius = radius * (1.0 - THINNER * depth / max(depth.max(), 1.0))  # per body
        self.parts: list[SolidPart] = []

    def local(self, body: int, points: np.ndarray) -> np.ndarray:
        """Points of the reference frame in a body's."""
        T = self.arm.frames[body]
        return (points - T[:3, 3]) @ T[:3, :3]

    def put(self, name: str, colour: str, body: int, shape: Any) -> None:
        """A part whose shape is in the reference frame."""
        vertices, faces = shape
        self.parts.append(SolidPart(name, colour, self.local(body, vertices), faces, body))

    def tube(self, name: str, body: int, line: np.ndarray, radius: float, colour: str) -> None:
        """A tapered capsule along a line (2, 3), nothing where that has no length."""
        length = float(np.linalg.norm(line[1] - line[0]))
        if length > 1e-6 * self.radius[0]:
            shape = capsule(length, radius, FLAT * radius, self.sides)
            self.put(name, colour, body, placed(shape, line[0], line[1] - line[0]))

    def span(self, name: str, colour: str, shape: Any, ends: Any) -> None:
        """A part between two points (body, point in the reference frame)."""
        local = tuple((body, self.local(body, point)) for body, point in ends)
        self.parts.append(SolidPart(name, colour, *shape, ends=local))  # type: ignore[arg-type]

    def links(self) -> None:
        """Tubes along both sticks of each link, on the body that carries them."""
        standard = self.robot.model.convention == "standard"
        for k, name in enumerate(self.robot.link_names):
            part, parent, foot = self.arm.parts[2 * k], self.parents[k] + 1, self.arm.joints[k]
            if part == "virtual":
                continue
            along, across = self.arm.segments[2 * k : 2 * k + 2][:: 1 if standard else -1]
            r = self.radius[k + 1]
            if part == "base":  # of a closed mechanism: straight to its joints
                start, end = self.arm.segments[2 * k, 0], self.arm.segments[2 * k + 1, 1]
                self.tube(name, 0, np.stack([start, foot]), 0.6 * r, "ground")
                along = np.stack([foot, end])
            else:
                self.tube(name, k + 1 if standard else parent, across, r, "link")
            if self.slides(k):
                rod = cylinder(1.0, 0.72 * r, self.sides)
                self.span(name, "link", rod, ((parent, foot), (k + 1, along[1])))
            else:
                self.tube(name, k + 1, along, r, "link")

    def joints(self) -> None:
        """A cylinder around each revolute axis, a box along each prismatic one."""
        for k, name in enumerate(self.robot.link_names):
            if not self.arm.is_shown(k):
                continue
            passive = self.arm.passive[k]
            r = self.radius[k + 1] * (0.8 if passive else 1.0)
            parent, at, axis = self.parents[k] + 1, self.arm.joints[k], self.arm.axes[k]
            if self.slides(k):
                shape, colour = box(1.6 * r, 1.6 * r, 4.6 * r), "slide"
            else:
                shape, colour = barrel(1.65 * r, 4.0 * r, self.sides), "joint"
            shape = placed(shape, at - 0.5 * float(np.ptp(shape[0][:, 2])) * axis, axis)
            self.put(name, "passive" if passive else colour, parent, shape)

    def tool(self) -> None:
        """A tube to the tool's frame and a ball there."""
        body = self.robot.model.tip + 1
        r = self.radius[body]
        self.tube("tool", body, self.arm.segments[-1], 0.8 * r, "link")
        self.put("tool", "tool", body, ball(self.arm.tool[:3, 3], 1.15 * r, self.sides))

    def closures(self) -> None:
        """Bars to the ends of closures, balls there, rods between them."""
        model = self.robot.model
        bodies = [model.link_index(x) + 1 for c in model.closures for x in c.between]
        for k, body in enumerate(bodies):
            part, line = self.arm.parts[len(self.arm.segments) + k], self.arm.bars[k]
            r = self.radius[body]
            if part == "base":
                self.tube("base", 0, line, 0.6 * r, "ground")
            else:
                self.tube(model.link_names[body - 1], body, line, r, "link")
            self.put("closure", "closure", body, ball(line[1], 1.2 * r, self.sides))
        for k, kind in enumerate(self.arm.closures):
            if kind in ("rod", "slide"):
                ends = [(bodies[2 * k + i], self.arm.ends[k, i]) for i in (0, 1)]
                r = 0.6 * min(self.radius[body] for body, _ in ends)
                self.span("rod", "closure", cylinder(1.0, r, self.sides), ends)

    def springs(self) -> None:
        """A coil between the points of each spring that has two."""
        model = self.robot.model
        for spring in model.springs:
            if spring.kind != "torsion":
                both = ((spring.from_, spring.from_point), (spring.to, spring.to_point))
                ends = tuple(
                    (model.link_index(link) + 1, np.array(resolve(place, model.values), float))
                    for link, place in both
                )
                r = self.radius[-1]
                self.parts.append(SolidPart("spring", "spring", *coil(r, 0.18 * r), ends=ends))  # type: ignore[arg-type]

    def flatten_foot(self, up: np.ndarray) -> None:
        """End the round parts of a URDF's base where the base begins: it stands on the floor.

        The same holds for a link that turns about the vertical there.
        """
        model, base = self.robot.model, float(self.arm.frames[0, :3, 3] @ up)
        turning = [
            k + 1
            for k, parent in enumerate(self.parents)
            if parent < 0 and not self.slides(k) and abs(float(self.arm.axes[k] @ up)) > 0.99
        ]
        if model.convention != "urdf" or not turning:
            return
        for i, part in enumerate(self.parts):
            T = self.arm.frames[part.body]
            heights = (part.vertices @ T[:3, :3].T + T[:3, 3]) @ up
            near = base - DEEP * self.radius[0] < heights.min() < base
            if part.ends is None and part.body in (0, *turning) and near:
                higher = np.maximum(base - heights, 0.0)[:, None] * (up @ T[:3, :3])
                self.parts[i] = replace(part, vertices=part.vertices + higher)

    def slides(self, k: int) -> bool:
        """Whether a joint is prismatic."""
        return self.arm.kinds[k] == "prismatic"


def _merged(parts: list[SolidPart]) -> tuple[SolidPart, ...]:
    """One part per body, name and colour of those that are not stretched."""
    groups: dict[Any, list[SolidPart]] = {}
    for k, part in enumerate(parts):
        key = k if part.ends else (part.body, part.colour)
        groups.setdefault(key, []).append(part)
    found = []
    for group in groups.values():
        first = group[0]
        vertices, faces = joined([(part.vertices, part.faces) for part in group])
        found.append(SolidPart(first.name, first.colour, vertices, faces, first.body, first.ends))
    return tuple(found)


def _stretched(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Transforms that put z = 0 at the first points and z = 1 at the last ones, (..., 4, 4)."""
    T = np.zeros((*first.shape[:-1], 4, 4))
    along = last - first
    T[..., :3, :3] = turned_to(along)
    T[..., :3, 2] = along
    T[..., :3, 3] = first
    T[..., 3, 3] = 1.0
    return T


def turned_to(directions: np.ndarray) -> np.ndarray:
    """Rotations (..., 3, 3) that take z to each direction; of no direction the unit one."""
    length = np.linalg.norm(directions, axis=-1, keepdims=True)
    z = np.where(length > 1e-12, directions / np.maximum(length, 1e-12), [0.0, 0.0, 1.0])
    a, b, c = z[..., 0], z[..., 1], z[..., 2]
    turned = c < -1.0 + 1e-9  # half a turn about x
    d = 1.0 / np.where(turned, 1.0, 1.0 + c)
    x = np.stack([1.0 - a * a * d, -a * b * d, -a], axis=-1)
    y = np.stack([-a * b * d, 1.0 - b * b * d, -b], axis=-1)
    x = np.where(turned[..., None], [1.0, 0.0, 0.0], x)
    y = np.where(turned[..., None], [0.0, -1.0, 0.0], y)
    return np.stack([x, y, z], axis=-1)


# the ground an arm stands on: nothing of the arm is below the floor

CLEAR = 0.08  # between the lowest point of the arm and the floor, per reach
DEEP = 2.1  # half of a joint's cylinder that is upright at the base, per radius of the first link
BEHIND = 5.0  # from a horizontal first axis to the column behind it, per radius of the first link


@dataclass(frozen=True)
class Stand:
    """The height of the floor along `up`, and the pedestal, a part of the base."""

    floor: float  # metres along up, in the reference frame
    parts: tuple[SolidPart, ...]


def floor_below(robot: Robot, shape: Solid, base: float, lowest: float) -> float:
    """Height of the floor of an arm whose base and lowest point are at these heights.

    A URDF describes its base: that stands on the floor as it is, unless the arm reaches lower.
    """
    lowest = min(base, lowest)
    stands = robot.model.convention == "urdf" and base - lowest < DEEP * THICK * shape.reach
    return lowest if stands else lowest - CLEAR * shape.reach


def stand(robot: Robot, shape: Solid, frames: np.ndarray, sides: int = SIDES) -> Stand:
    """The floor below every pose of `frames` (..., links + 1, 4, 4), and a pedestal on it.

    A URDF and mechanisms that stand on several joints have no pedestal. Where the first axis is
    level the column stands behind the arm.
    """
    frames = frames.reshape(-1, *frames.shape[-3:])
    heights = shape.corners(shape.transforms(frames)) @ shape.up
    base, r = frames[0, 0], THICK * shape.reach
    own = float(base[:3, 3] @ shape.up)
    floor = floor_below(robot, shape, own, float(heights.min()))
    if robot.model.convention == "urdf":
        return Stand(floor, ())
    arm = skeleton(robot, np.zeros(robot.n))
    first = robot.model.parents.index(-1)
    axis = arm.axes[first]
    beside = float(np.linalg.norm(arm.joints[first] - base[:3, 3])) > 0.05 * shape.reach
    if robot.model.closures and (beside or robot.model.parents.count(-1) > 1):
        return Stand(floor, ())
    top = base[:3, 3]
    pieces, wide = [], 1.0
    if arm.kinds[first] == "revolute" and abs(float(axis @ shape.up)) < 0.5:
        back = -axis * np.sign(axis[int(np.argmax(np.abs(axis)))])
        stub = placed(cylinder(BEHIND * r, 1.1 * r, sides), arm.joints[first], back)
        top = arm.joints[first] + BEHIND * r * back
        wide = 0.6
        pieces += [stub, ball(top, 1.1 * r, sides)]
    column = own - floor + float((top - base[:3, 3]) @ shape.up)
    foot = top - column * shape.up
    pieces += [
        placed(frustum(column, 2.0 * wide * r, 1.5 * wide * r, sides), foot, shape.up),
        placed(frustum(0.5 * r, 4.0 * r, 3.8 * r, sides), foot, shape.up),
    ]
    vertices, faces = joined(pieces)
    local = (vertices - base[:3, 3]) @ base[:3, :3]
    return Stand(floor, (SolidPart("pedestal", "base", local, faces, 0),))


# shapes: vertices (V, 3) and faces (F, 3); those with an axis are along z from z = 0

Shape = tuple[np.ndarray, np.ndarray]


def placed(shape: Shape, at: np.ndarray, towards: np.ndarray) -> Shape:
    """A shape with its origin at a point and its z axis towards a direction."""
    return shape[0] @ turned_to(np.asarray(towards, float)).T + at, shape[1]


def joined(shapes: list[Shape]) -> Shape:
    """Several shapes as one."""
    starts = np.cumsum([0, *(len(v) for v, _ in shapes)])
    faces = [f + start for (_, f), start in zip(shapes, starts, strict=False)]
    return np.concatenate([v for v, _ in shapes]), np.concatenate(faces)


def lathe(profile: list[tuple[float, float]], sides: int) -> Shape:
    """A profile of (radius, z), turned about z; vertices are shared, so it shades smoothly."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(sides)], axis=-1)
    vertices = np.concatenate([r * ring + [0.0, 0.0, z] for r, z in profile])
    here, there = np.arange(sides), np.roll(np.arange(sides), -1)
    faces = []
    for k, ((low, _), (high, _)) in enumerate(pairwise(profile)):
        a, b = k * sides, (k + 1) * sides
        if low > 0:
            faces.append(np.stack([a + here, a + there, b + there], -1))
        if high > 0:
            faces.append(np.stack([a + here, b + there, b + here], -1))
    return vertices, np.concatenate(faces)


def frustum(length: float, near: float, far: float, sides: int) -> Shape:
    """A cone cut off at both ends, with sharp edges."""
    profile = [(0.0, 0.0), (near, 0.0), (far, length), (0.0, length)]
    return joined([lathe(list(pair), sides) for pair in pairwise(profile)])


def cylinder(length: float, radius: float, sides: int) -> Shape:
    """A cylinder with sharp edges."""
    return frustum(length, radius, radius, sides)


def barrel(radius: float, length: float, sides: int) -> Shape:
    """A cylinder with bevelled edges, as housings of drives have."""
    cut = 0.18 * radius
    profile = [(0.0, 0.0), (radius - cut, 0.0), (radius, cut)]
    profile += [(r, length - z) for r, z in reversed(profile)]
    return joined([lathe(list(pair), sides) for pair in pairwise(profile)])


def capsule(length: float, near: float, far: float, sides: int) -> Shape:
    """A tapered tube with round ends beyond z = 0 and z = length."""
    steps = max(sides // 4, 2)
    angle = np.linspace(0.0, 0.5 * np.pi, steps + 1)
    low = [(near * np.sin(a), -near * np.cos(a)) for a in angle]
    high = [(far * np.cos(a), length + far * np.sin(a)) for a in angle]
    return lathe(_pointed([*low, *high]), sides)


def ball(centre: np.ndarray, radius: float, sides: int) -> Shape:
    """A ball."""
    angle = np.linspace(0.0, np.pi, max(sides // 2, 4) + 1)
    vertices, faces = lathe(
        _pointed([(radius * np.sin(a), -radius * np.cos(a)) for a in angle]), sides
    )
    return vertices + centre, faces


def _pointed(profile: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A profile whose ends are exactly on the axis."""
    return [(0.0, profile[0][1]), *profile[1:-1], (0.0, profile[-1][1])]


def box(wide: float, deep: float, long: float) -> Shape:
    """A box around the z axis with half widths `wide` and `deep`, from z = 0 to z = long."""
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], float)
    low, high = (np.column_stack([signs * [wide, deep], np.full(4, z)]) for z in (0.0, long))
    sides = [[low[k], low[k - 3], high[k - 3], high[k]] for k in range(4)]
    quads = np.array([low[::-1], high, *sides])
    faces = 4 * np.arange(6)[:, None, None] + [(0, 1, 2), (0, 2, 3)]
    return quads.reshape(-1, 3), faces.reshape(-1, 3)


def coil(radius: float, wire: float) -> Shape:
    """A helical wire from (0, 0, 0) to (0, 0, 1), its ends on the axis."""
    share = np.linspace(0.0, 1.0, TURNS * STEPS + 1)
    wide = radius * np.minimum(1.0, 12.0 * np.minimum(share, 1.0 - share))
    angle = 2.0 * np.pi * TURNS * share
    out = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
    centre = wide[:, None] * out + share[:, None] * [0.0, 0.0, 1.0]
    around = 2.0 * np.pi * np.arange(WIRE) / WIRE
    across = np.cos(around)[:, None] * out[:, None]
    across = across + np.sin(around)[:, None] * np.array([0.0, 0.0, 1.0])
    vertices = (centre[:, None] + wire * across).reshape(-1, 3)
    here, there = np.arange(WIRE), np.roll(np.arange(WIRE), -1)
    faces = []
    for k in range(len(share) - 1):
        a, b = k * WIRE, (k + 1) * WIRE
        faces.append(np.stack([a + here, b + here, b + there], -1))
        faces.append(np.stack([a + here, b + there, a + there], -1))
    return vertices, np.concatenate(faces)
