"""The workspace of an arm: above a table, and clear of itself and of a world.

Margins in metres, non-negative where allowed, over any scalar. Bodies are the shapes of the model,
each as a capsule, sphere or box, and rods of links without any.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import is_word, number, positive
from ..compile.arrays import NUMPY
from ..errors import ShapeError
from ..model.check.finding import Finding
from ..model.world import obstacles
from ..robot.bodies.body import AnyBody, Body, Rod, RodEnd, rods_of
from ..robot.bodies.joined import never_apart
from ..robot.bodies.simple import link_names, simple_shapes, usual_radius
from ..robot.distance import bodies_of, distances_of
from ..spatial import geometry
from ..spatial.functions import Functions
from ..trajectory.arguments import numbers

if TYPE_CHECKING:
    from ..robot import Robot

FLOOR = "floor"  # the horizontal plane at the base, where the description of an arm shows one
USUAL, CLEARANCE = "usual", 0.02  # m
TABLE = "the table"
UPRIGHT = 1e-6  # of gravity: how much of it may lie across the base
SPARE_SPACE = 1e-3  # m kept free for what happens between two looks
LEAST = 3.0 * SPARE_SPACE  # m that a design keeps
NO_PAIRS = "no two links with a length are other than neighbours: nothing is kept apart"
FIXED = 1e-6  # m: a margin that varies less does not depend on the position
LOOKS = 400  # random positions that tell which pairs can meet
FAR = 0.05  # m; a pair never nearer than this to its limit is only verified


class Clearance(NamedTuple):
    """How near the arm comes to anything: metres between surfaces, what, when."""

    metres: float
    between: str
    t: float  # s

    def __str__(self) -> str:
        return f"nearest: {self.between}, {self.metres:.3g} m at t = {self.t:.3g} s"


Pair = tuple[AnyBody, AnyBody]


@dataclass(frozen=True)
class ClearanceMargins:
    """Margins of an arm: `around` with the table and a world, `apart` of its own pairs."""

    robot: "Robot"
    clearance: float | None = None
    around: tuple[Pair, ...] = ()
    apart: tuple[Pair, ...] = ()
    findings: tuple[Finding, ...] = ()
    near: tuple[int, ...] = ()  # margins that can come near zero

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Bodies of every margin."""
        return (*self.around, *self.apart)

    def margins(self, q: Sequence[Any], fn: Functions) -> list[Any]:
        """Metres to spare of every pair."""
        wanted = self.clearance or 0.0
        found = distances_of(self.robot.chain, self.pairs, q, fn)
        return [x.distance - wanted for x in found]

    def over(self, q: np.ndarray) -> np.ndarray:
        """The margins at positions q (..., n), (..., margins)."""
        scalars = [q[..., i] for i in range(q.shape[-1])]
        values = [np.broadcast_to(v, q.shape[:-1]) for v in self.margins(scalars, NUMPY)]
        return np.stack(values, axis=-1) if values else np.empty((*q.shape[:-1], 0))

    def worst(self, q: np.ndarray, t: np.ndarray) -> Clearance | None:
        """The nearest the arm comes to anything along positions q (T, n)."""
        if not len(self):
            return None
        gaps = self.over(q) + (self.clearance or 0.0)
        row, k = np.unravel_index(gaps.argmin(), gaps.shape)
        return Clearance(float(gaps[row, k]), self.label(int(k)), float(t[row]))

    def label(self, k: int) -> str:
        """What the k-th margin is about."""
        first, second = (x.name if x.on is None else x.on for x in self.pairs[k])
        return f"{first!r} and {second if second == TABLE else repr(second)}"


def clearance_margins(
    robot: "Robot",
    table: Any,
    clearance: Any,
    radius: Any,
    box: np.ndarray,
    looks: np.ndarray | None = None,
    world: Any = None,
) -> ClearanceMargins:
    """The margins of a robot whose joints stay within `box` (n, 2).

    `looks` are configurations there, (k, n), where not every q is one: of a closed mechanism.
    What can never be satisfied (neighbours that overlap, a shoulder below the table) is left out
    and said as a finding. The table "floor" is left out, and said, where the arm has none.
    """
    radius = usual_radius(robot) if radius is None else radius
    radius = positive(radius, "capsule_radius", "metres")
    if clearance is not None:
        metres = "a number of metres, 0 or more"
        clearance = number(clearance, "clearance", metres, lambda x: 0.0 <= x < np.inf)
    seen = _looks(box) if looks is None else looks
    if is_word(table, (FLOOR,)):
        return _on_floor(robot, clearance, radius, box, seen, world)
    bodies, notes = _bodies(robot, radius)
    things = [] if table is None else [Body(TABLE, -1, _plane(table))]
    things += [Body(name, -1, x.solid) for name, x in obstacles(world).items()]
    moving = [body for body in bodies if max(body.links) >= 0]
    around = tuple((x, thing) for thing in things for body in moving for x in _parts(body, thing))
    reason = never_apart(robot, bodies)
    pairs = [(a, b) for k, b in enumerate(bodies) for a in bodies[:k]]
    apart = () if clearance is None else tuple(x for x in pairs if reason(*x) is None)
    every = ClearanceMargins(robot, clearance, around, apart, tuple(notes))
    if clearance is not None and not apart:
        note = Finding("note", "clearance", NO_PAIRS, "leave it out")
        every = replace(every, findings=(*notes, note))
    return _possible(every, seen) if len(every) else every


def _bodies(robot: "Robot", radius: float) -> tuple[list[AnyBody], list[Finding]]:
    """Shapes of an arm, rods of links without any, base first; what was taken instead of shapes."""
    rods = rods_of(robot.chain, radius, link_names(robot))
    if not robot.model.geometry:
        return list(rods), []
    shapes, without, notes = simple_shapes(robot)
    found: list[AnyBody] = [*bodies_of(robot, shapes)]
    added = [rod for rod in rods if rod.link in without]
    if added:
        links = dict.fromkeys(str(rod.on) for rod in added)
        what = f"{', '.join(map(repr, links))} without shapes: rods of {radius:g} m"
        remedy = "give [[geometry]] rows where these are thicker"
        notes.append(Finding("note", "geometry", what, remedy))
    return sorted([*found, *added], key=lambda x: x.link), notes


def _parts(body: AnyBody, thing: Body) -> tuple[AnyBody, ...]:
    """What of a body comes nearest to an obstacle: of a rod above a plane one of its ends."""
    if isinstance(body, Rod) and isinstance(thing.solid, geometry.Plane):
        return RodEnd(body, 0), RodEnd(body, 1)
    return (body,)


def _on_floor(
    robot: "Robot",
    clearance: Any,
    radius: float,
    box: np.ndarray,
    looks: np.ndarray,
    world: Any,
) -> ClearanceMargins:
    """The arm on a floor at the height of its base, as far as its description shows one."""
    why = _no_floor(robot, radius, looks)
    found = clearance_margins(
        robot, None if why else robot.chain.base.p[2], clearance, radius, box, looks, world
    )
    own = [f for f in found.findings if f.where != "table"]  # what stands on the floor touches it
    return replace(found, findings=(*own, *([floor_left_out(why)] if why else [])))


def _no_floor(robot: "Robot", radius: float, looks: np.ndarray) -> str | None:
    """Why the height of the base is no floor of this arm, by its rods; None if it is one."""
    gravity = np.asarray(robot.gravity, dtype=float)
    size = float(np.linalg.norm(gravity))
    if size == 0.0 or gravity[2] > (UPRIGHT - 1.0) * size:
        return "gravity is not along -z of the base"
    base = Body(TABLE, -1, _plane(robot.chain.base.p[2]))
    moving = [rod for rod in rods_of(robot.chain) if rod.link >= 0]
    around = tuple((RodEnd(rod, e), base) for rod in moving for e in (0, 1))
    heights = ClearanceMargins(robot, around=around).over(looks)
    low, high = heights.min(axis=0), heights.max(axis=0)
    fixed = high - low < FIXED
    if high[fixed].max(initial=-np.inf) < radius:
        return "the description puts the shoulder no higher than the base"
    if (high[~fixed] < radius + LEAST).any():
        return "parts of the arm are below the base within all limits"
    return None


def _looks(box: np.ndarray) -> np.ndarray:
    """Random positions within a box, (LOOKS, n)."""
    rng = np.random.default_rng(0)
    return rng.uniform(box[:, 0], box[:, 1], (LOOKS, len(box)))


def floor_left_out(why: str) -> Finding:
    """The word that nothing keeps the arm off the floor."""
    what = f"no floor is kept: {why}"
    return Finding("warning", "floor", what, "give table= a height, or a point and a normal")


def links_left_out(why: str) -> Finding:
    """The word that nothing keeps the links off each other."""
    what = f"links are not kept apart: {why}"
    return Finding("warning", "clearance", what, "give clearance=, thinner capsules or a center")


def _possible(every: ClearanceMargins, looks: np.ndarray) -> ClearanceMargins:
    """Only the margins that a motion can keep: not those of bodies that always touch."""
    seen = every.over(looks)
    most, least = seen.max(axis=0), seen.min(axis=0)
    fixed = most - least < FIXED  # the arm's build, which no motion changes
    touching = np.where(fixed, most < 0.0, most < LEAST)
    kept, size = np.flatnonzero(~touching & ~fixed), len(every.around)
    return replace(
        every,
        around=tuple(every.around[k] for k in kept if k < size),
        apart=tuple(every.apart[k - size] for k in kept if k >= size),
        findings=(*every.findings, *_impossible(every, np.flatnonzero(touching).tolist())),
        near=tuple(place for place, k in enumerate(kept) if least[k] < FAR),
    )


def _impossible(space: ClearanceMargins, left_out: Sequence[int]) -> Iterator[Finding]:
    size = len(space.around)
    for text in dict.fromkeys(space.label(k) for k in left_out if k < size):
        what, on_table = f"parts of {text} overlap at every position: not kept apart", TABLE in text
        remedy = "lower the table, or thin the capsules" if on_table else "move it, or the arm"
        yield Finding("warning", "table" if on_table else "world", what, remedy)
    for text in dict.fromkeys(space.label(k) for k in left_out if k >= size):
        what = f"parts of {text} overlap at every position: taken as neighbours"
        yield Finding("note", "clearance", what, "thin the capsules if they should count")


def _plane(table: Any) -> geometry.Plane:
    expected = "a height in metres, or a pair (point, normal)"
    if isinstance(table, (tuple, list)) and len(table) == 2:
        point, normal = (numbers(x, "table", expected) for x in table)
        if point.shape != (3,) or normal.shape != (3,) or not normal.any():
            raise ShapeError(f"table is {table!r}, expected {expected}, three numbers each")
        unit = (normal / float(np.linalg.norm(normal))).tolist()
        return geometry.Plane(tuple(point.tolist()), tuple(unit))
    height = numbers(table, "table", expected)
    if height.ndim:
        raise ShapeError(f"table has shape {height.shape}, expected {expected}")
    return geometry.Plane((0.0, 0.0, float(height)), (0.0, 0.0, 1.0))
