"""The workspace of an arm: above a table, and clear of itself.

Both are margins in metres, non-negative where allowed, over any scalar.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import is_word, number, positive
from ..compile.arrays import NUMPY
from ..dynamics import coupling
from ..dynamics.kinematics import poses
from ..errors import ShapeError
from ..model.chain import Chain
from ..model.check.finding import Finding
from ..spatial.frames import Frame, point
from ..spatial.functions import Functions
from ..spatial.rotations import transpose
from ..spatial.vectors import ZERO, Vector, add, dot, scale, subtract
from ..trajectory.arguments import numbers

if TYPE_CHECKING:
    from ..robot import Robot

# An arm as capsules: a rod along each link, thickened; over any scalar.
#
# A link goes from its joint across to the axis of the next joint and along that axis to it. The
# distance of two rods is exact and has no branch, so that it can be traced.

SHORTEST = 1e-6  # m; a shorter rod is a point of its neighbours
TINY = 1e-12  # m^2, or its square: keeps divisions and roots of points and parallels finite


class Rod(NamedTuple):
    """One straight piece of a link, ends in its joint frame (link -1: the reference frame)."""

    link: int
    start: Vector
    end: Vector
    slide: bool = False  # a prismatic joint's rod: its start stays where the joint is mounted
    to: int | None = None  # the link that the end is on: rods that close a loop


def rods_of(chain: Chain) -> tuple[Rod, ...]:
    """The rods of an arm, base first; rods without length are left out.

    A closed mechanism also has those that lead to its closures. Links without a body, of which
    joints with several axes are made, have none, nor have slides without a drive, by which a
    platform's place is described.
    """
    found: list[Rod] = []
    size, driven = chain.links, chain.driven if chain.coupling is None else range(chain.links)
    for i in range(-1, size):
        if i >= 0 and chain.joints[i].kind == "prismatic" and i in driven:
            found.append(Rod(i, ZERO, ZERO, slide=True))
        begin = chain.base.p if i < 0 else ZERO
        for c in range(size):
            if chain.joints[c].parent == i:
                placement = chain.joints[c].placement
                found += _straight(i, (begin, _foot(begin, placement), placement.p))
        if i == chain.tip:
            found += _straight(i, (ZERO, chain.bodies[i].user.p, chain.tool.p))
    for closure in chain.closures:
        (a, A), (b, B) = closure.ends
        for i, frame in closure.ends:
            found += _straight(i, (chain.base.p if i < 0 else ZERO, frame.p))
        if closure.kind == "rod":
            found.append(Rod(a, A.p, B.p, to=b))
    if chain.closures:
        found = [rod for rod in found if rod.to is not None or _bodily(chain, rod.link)]
        found = list(dict.fromkeys(found))  # the tool may be where a closure is
    return tuple(found)


def _bodily(chain: Chain, i: int) -> bool:
    """Whether a link has a mass; the base counts."""
    return i < 0 or chain.bodies[i].inertia.m > 0.0


def _straight(link: int, corners: Sequence[Vector]) -> list[Rod]:
    return [Rod(link, a, b) for a, b in pairwise(corners) if hypot(*subtract(b, a)) > SHORTEST]


def _foot(begin: Vector, placement: Frame) -> Vector:
    """Of the perpendicular from a point to the axis of a joint."""
    axis = transpose(placement.R)[2]
    return add(placement.p, scale(dot(subtract(begin, placement.p), axis), axis))


def ends(chain: Chain, rods: Sequence[Rod], q: Any, fn: Functions) -> list[tuple[Vector, Vector]]:
    """Both ends of every rod in the reference frame at coordinates q."""
    x = coupling.positions(chain, q)
    where = poses(chain, x, fn)

    def at(link: int, p: Vector) -> Vector:
        return p if link < 0 else point(where[link], p)

    def placed(rod: Rod) -> tuple[Vector, Vector]:
        start = (0.0, 0.0, -x[rod.link]) if rod.slide else rod.start
        return at(rod.link, start), at(rod.link if rod.to is None else rod.to, rod.end)

    return [placed(rod) for rod in rods]


def segment_distance(a: Vector, b: Vector, c: Vector, d: Vector, fn: Functions) -> Any:
    """Least distance between the segments a b and c d, exact to sqrt(TINY) = 1e-6 m.

    The squared distance is a convex function of the places s, t in [0, 1] along both: it is least
    at its stationary point if that lies inside, else on an edge, where one place is an end.
    """
    u, v, w = subtract(b, a), subtract(d, c), subtract(a, c)
    uu, uv, vv, uw, vw = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    s = _unit((uv * vw - vv * uw) / fn.max(uu * vv - uv * uv, TINY * TINY), fn)
    t = _unit((uv * s + vw) / fn.max(vv, TINY), fn)
    least = _apart(w, s, u, t, v)
    for s0 in (0.0, 1.0):
        t = _unit((uv * s0 + vw) / fn.max(vv, TINY), fn)
        least = fn.min(least, _apart(w, s0, u, t, v))
    for t0 in (0.0, 1.0):
        s = _unit((uv * t0 - uw) / fn.max(uu, TINY), fn)
        least = fn.min(least, _apart(w, s, u, t0, v))
    return fn.sqrt(fn.max(least, TINY))


def _unit(x: Any, fn: Functions) -> Any:
    return fn.min(fn.max(x, 0.0), 1.0)


def _apart(w: Vector, s: Any, u: Vector, t: Any, v: Vector) -> Any:
    between = subtract(add(w, scale(s, u)), scale(t, v))
    return dot(between, between)


FLOOR = "floor"  # the horizontal plane at the base, where the description of an arm shows one
USUAL, CLEARANCE = "usual", 0.02  # m
RADIUS, SLENDER = 0.05, 0.04  # m; of an arm's length, where that is less
UPRIGHT = 1e-6  # of gravity: how much of it may lie across the base
SPARE_SPACE = 1e-3  # m kept free for what happens between two looks
LEAST = 3.0 * SPARE_SPACE  # m that a design keeps
NO_PAIRS = "no two links with a length are other than neighbours: nothing is kept apart"
FIXED = 1e-6  # m: a margin that varies less does not depend on the position
LOOKS = 400  # random positions that tell which pairs can meet
FAR = 0.05  # m; a pair never nearer than this to its limit is only verified


@dataclass(frozen=True)
class Plane:
    """A table: a point on it and its unit normal, up."""

    point: Vector
    normal: Vector

    def height(self, p: Vector) -> Any:
        """Distance of a point above the plane."""
        return dot(subtract(p, self.point), self.normal)


class Clearance(NamedTuple):
    """How near the arm comes to the table or to itself: metres between surfaces, what, when."""

    metres: float
    between: str
    t: float  # s

    def __str__(self) -> str:
        return f"nearest: {self.between}, {self.metres:.3g} m at t = {self.t:.3g} s"


@dataclass(frozen=True)
class ClearanceMargins:
    """Margins of an arm; `above` lists (rod, end), `apart` pairs of rods."""

    robot: "Robot"
    rods: tuple[Rod, ...]
    radius: float
    plane: Plane | None = None
    clearance: float | None = None
    above: tuple[tuple[int, int], ...] = ()
    apart: tuple[tuple[int, int], ...] = ()
    findings: tuple[Finding, ...] = ()
    near: tuple[int, ...] = ()  # margins that can come near zero

    def __len__(self) -> int:
        return len(self.above) + len(self.apart)

    def margins(self, q: Sequence[Any], fn: Functions) -> list[Any]:
        """Metres to spare: of every rod's end above the table, of every pair of capsules."""
        placed = ends(self.robot.chain, self.rods, q, fn)
        result = []
        if self.plane is not None:
            least = self.radius + (self.clearance or 0.0)
            result += [self.plane.height(placed[r][e]) - least for r, e in self.above]
        wanted = 2.0 * self.radius + (self.clearance or 0.0)
        for i, j in self.apart:
            result.append(segment_distance(*placed[i], *placed[j], fn) - wanted)
        return result

    def over(self, q: np.ndarray) -> np.ndarray:
        """The margins at positions q (..., n), (..., margins)."""
        scalars = [q[..., i] for i in range(q.shape[-1])]
        values = [np.broadcast_to(v, q.shape[:-1]) for v in self.margins(scalars, NUMPY)]
        return np.stack(values, axis=-1) if values else np.empty((*q.shape[:-1], 0))

    def worst(self, q: np.ndarray, t: np.ndarray) -> Clearance | None:
        """The nearest the arm comes to the table or to itself along positions q (T, n)."""
        if not len(self):
            return None
        gaps = self.over(q) + (self.clearance or 0.0)
        row, k = np.unravel_index(gaps.argmin(), gaps.shape)
        return Clearance(float(gaps[row, k]), self.label(int(k)), float(t[row]))

    def label(self, k: int) -> str:
        """What the k-th margin is about."""
        names = (*self.robot.model.link_names, self.robot.model.base_name)  # the base is link -1
        if k < len(self.above):
            return f"{names[self.rods[self.above[k][0]].link]!r} and the table"
        i, j = (names[self.rods[rod].link] for rod in self.apart[k - len(self.above)])
        return f"{i!r} and {j!r}"


def clearance_margins(
    robot: "Robot",
    table: Any,
    clearance: Any,
    radius: Any,
    box: np.ndarray,
    looks: np.ndarray | None = None,
) -> ClearanceMargins:
    """The margins of a robot whose joints stay within `box` (n, 2).

    `looks` are configurations there, (k, n), where not every q is one: of a closed mechanism.
    What can never be satisfied (neighbours that overlap, a shoulder below the table) is left out
    and said as a finding. The table "floor" is left out, and said, where the arm has none.
    """
    rods = rods_of(robot.chain)
    if radius is None:
        own = (hypot(*subtract(rod.end, rod.start)) for rod in rods if rod.to is None)
        length = sum(own) / (1 + len(robot.chain.closures))
        radius = min(RADIUS, SLENDER * length) or RADIUS
    radius = positive(radius, "capsule_radius", "metres")
    if clearance is not None:
        metres = "a number of metres, 0 or more"
        clearance = number(clearance, "clearance", metres, lambda x: 0.0 <= x < np.inf)
    seen = _looks(box) if looks is None else looks
    if is_word(table, (FLOOR,)):
        return _on_floor(robot, clearance, radius, box, seen)
    plane = None if table is None else _plane(table)
    moving = [] if plane is None else [r for r, rod in enumerate(rods) if rod.link >= 0]
    above = tuple((r, e) for r in moving for e in (0, 1))
    apart = () if clearance is None else _pairs(robot, rods)
    every = ClearanceMargins(robot, rods, radius, plane, clearance, above, apart)
    if clearance is not None and not apart:
        note = Finding("note", "clearance", NO_PAIRS, "leave it out")
        every = replace(every, findings=(note,))
    return _possible(every, seen) if len(every) else every


def _on_floor(
    robot: "Robot", clearance: Any, radius: float, box: np.ndarray, looks: np.ndarray
) -> ClearanceMargins:
    """The arm on a floor at the height of its base, as far as its description shows one."""
    why = _no_floor(robot, radius, looks)
    found = clearance_margins(
        robot, None if why else robot.chain.base.p[2], clearance, radius, box, looks
    )
    own = [f for f in found.findings if f.where != "table"]  # what stands on the floor touches it
    return replace(found, findings=(*own, *([floor_left_out(why)] if why else [])))


def _no_floor(robot: "Robot", radius: float, looks: np.ndarray) -> str | None:
    """Why the height of the base is no floor of this arm; None if it is one."""
    gravity = np.asarray(robot.gravity, dtype=float)
    size = float(np.linalg.norm(gravity))
    if size == 0.0 or gravity[2] > (UPRIGHT - 1.0) * size:
        return "gravity is not along -z of the base"
    rods = rods_of(robot.chain)
    above = tuple((r, e) for r, rod in enumerate(rods) if rod.link >= 0 for e in (0, 1))
    base = _plane(robot.chain.base.p[2])
    heights = ClearanceMargins(robot, rods, 0.0, base, above=above).over(looks)
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
    kept, size = np.flatnonzero(~touching & ~fixed), len(every.above)
    return replace(
        every,
        above=tuple(every.above[k] for k in kept if k < size),
        apart=tuple(every.apart[k - size] for k in kept if k >= size),
        findings=(*every.findings, *_impossible(every, np.flatnonzero(touching).tolist())),
        near=tuple(place for place, k in enumerate(kept) if least[k] < FAR),
    )


def _pairs(robot: "Robot", rods: Sequence[Rod]) -> tuple[tuple[int, int], ...]:
    """Rods of links that are not neighbours."""
    parents, joined = robot.model.parents, _joined(robot)

    def near(a: int, b: int) -> bool:
        if a == b or (a >= 0 and parents[a] == b) or (b >= 0 and parents[b] == a):
            return True
        return frozenset((a, b)) in joined

    def touch(one: Rod, other: Rod) -> bool:
        first, second = ({x.link} if x.to is None else {x.link, x.to} for x in (one, other))
        return any(near(a, b) for a in first for b in second)

    ordered = combinations(range(len(rods)), 2)
    found = [(j, i) for j, i in ordered if not touch(rods[i], rods[j])]
    return tuple(sorted(found, key=lambda pair: pair[::-1]))


def _joined(robot: "Robot") -> set[frozenset[int]]:
    """Bodies of a closed mechanism that a joint or a closure joins, links without one between."""
    chain, parents = robot.chain, robot.model.parents
    if not chain.closures:
        return set()

    def body(i: int) -> int:
        while not _bodily(chain, i):
            i = parents[i]
        return i

    pairs = [(i, parents[i]) for i in range(chain.links)]
    pairs += [(c.ends[0][0], c.ends[1][0]) for c in chain.closures if c.kind != "rod"]
    return {frozenset((body(a), body(b))) for a, b in pairs}


def _impossible(space: ClearanceMargins, left_out: Sequence[int]) -> Iterator[Finding]:
    for text in dict.fromkeys(space.label(k) for k in left_out if k < len(space.above)):
        what = f"parts of {text} overlap at every position: not kept apart"
        yield Finding("warning", "table", what, "lower the table, or thin the capsules")
    for text in dict.fromkeys(space.label(k) for k in left_out if k >= len(space.above)):
        what = f"parts of {text} overlap at every position: taken as neighbours"
        yield Finding("note", "clearance", what, "thin the capsules if they should count")


def _plane(table: Any) -> Plane:
    expected = "a height in metres, or a pair (point, normal)"
    if isinstance(table, (tuple, list)) and len(table) == 2:
        point, normal = (numbers(x, "table", expected) for x in table)
        length = float(np.linalg.norm(normal))
        if point.shape != (3,) or normal.shape != (3,) or length == 0.0:
            raise ShapeError(f"table is {table!r}, expected {expected}, three numbers each")
        unit = (normal / length).tolist()
        return Plane(tuple(point.tolist()), tuple(unit))
    height = numbers(table, "table", expected)
    if height.ndim:
        raise ShapeError(f"table has shape {height.shape}, expected {expected}")
    return Plane((0.0, 0.0, float(height)), (0.0, 0.0, 1.0))
