"""Bodies of an arm for distances: a shape on a link, and rods where a description has no shapes.

A rod goes along a link from its joint across to the axis of the next joint and along that axis to
it. Every body is placed by the poses of the links, over any scalar.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

from ...dynamics import coupling
from ...dynamics.kinematics import poses
from ...model.chain import Chain
from ...spatial.frames import Frame, point
from ...spatial.functions import Functions
from ...spatial.geometry import Plane, Solid, capsule
from ...spatial.rotations import transpose
from ...spatial.vectors import ZERO, Vector, add, dot, scale, subtract

if TYPE_CHECKING:
    from .coal_shapes import CoalShape

SHORTEST = 1e-6  # m; a shorter rod is a point of its neighbours


class Body(NamedTuple):
    """A solid on a link in its joint frame; -1: still, in the reference frame.

    `on` names the link or named frame of the description that has it; a shape of coal is seen from
    the frame of its link.
    """

    name: str
    link: int
    solid: "Solid | Plane | CoalShape"
    on: str | None = None

    @property
    def is_exact(self) -> bool:
        """True if its distances are computed here, over any scalar."""
        return isinstance(self.solid, (Solid, Plane))

    @property
    def links(self) -> tuple[int, ...]:
        """Links that it is on."""
        return (self.link,)

    def placed(self, x: Sequence[Any], where: Sequence[Frame]) -> Any:
        """The solid in the reference frame at joint positions x with links at `where`."""
        if self.link < 0 or not isinstance(self.solid, Solid):
            return self.solid
        return self.solid.moved(where[self.link])


class Rod(NamedTuple):
    """One straight piece of a link, ends in its joint frame (link -1: the reference frame)."""

    link: int
    start: Vector
    end: Vector
    slide: bool = False  # a prismatic joint's rod: its start stays where the joint is mounted
    to: int | None = None  # the link that the end is on: rods that close a loop
    radius: float = 0.0
    on: str | None = None

    is_exact = True

    @property
    def name(self) -> str:
        """The name of its link."""
        return str(self.on)

    @property
    def links(self) -> tuple[int, ...]:
        """Links that it is on."""
        return (self.link,) if self.to is None else (self.link, self.to)

    @property
    def length(self) -> float:
        """Metres from end to end."""
        return hypot(*subtract(self.end, self.start))

    def ends(self, x: Sequence[Any], where: Sequence[Frame]) -> tuple[Vector, Vector]:
        """Both ends in the reference frame."""

        def at(link: int, p: Vector) -> Vector:
            return p if link < 0 else point(where[link], p)

        start = (0.0, 0.0, -x[self.link]) if self.slide else self.start
        return at(self.link, start), at(self.links[-1], self.end)

    def placed(self, x: Sequence[Any], where: Sequence[Frame]) -> Solid:
        """A capsule in the reference frame."""
        return capsule(*self.ends(x, where), self.radius)


class RodEnd(NamedTuple):
    """The ball at one end of a rod, 0 or 1: what of it comes near a plane."""

    rod: Rod
    end: int

    is_exact = True

    @property
    def name(self) -> str:
        """The name of its link."""
        return self.rod.name

    @property
    def on(self) -> str | None:
        """The name of its link."""
        return self.rod.on

    @property
    def link(self) -> int:
        """The link of its rod."""
        return self.rod.link

    @property
    def links(self) -> tuple[int, ...]:
        """Links that its rod is on."""
        return self.rod.links

    def placed(self, x: Sequence[Any], where: Sequence[Frame]) -> Solid:
        """A ball in the reference frame."""
        p = self.rod.ends(x, where)[self.end]
        return Solid(p, p, self.rod.radius)


AnyBody = Body | Rod | RodEnd


def placed_bodies(chain: Chain, bodies: Sequence[AnyBody], q: Any, fn: Functions) -> list[Any]:
    """Solids of bodies in the reference frame at coordinates q, each made once."""
    x = coupling.positions(chain, q)
    where, made = poses(chain, x, fn), {}
    for body in bodies:
        if id(body) not in made:
            made[id(body)] = body.placed(x, where)
    return [made[id(body)] for body in bodies]


# rods


def rods_of(chain: Chain, radius: float = 0.0, names: Sequence[str] = ()) -> tuple[Rod, ...]:
    """The rods of an arm, base first; rods without length are left out.

    `names` are those of the links, the base last. A closed mechanism also has those that lead to
    its closures. Links without a body, of which joints with several axes are made, have none, nor
    have slides without a drive, by which a platform's place is described.
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
        found = [rod for rod in found if rod.to is not None or is_bodily(chain, rod.link)]
        found = list(dict.fromkeys(found))  # the tool may be where a closure is
    on = [names[rod.link] for rod in found] if names else [None] * len(found)
    return tuple(rod._replace(radius=radius, on=x) for rod, x in zip(found, on, strict=True))


def is_bodily(chain: Chain, i: int) -> bool:
    """True if a link has a mass; the base counts."""
    return i < 0 or chain.bodies[i].inertia.m > 0.0


def _straight(link: int, corners: Sequence[Vector]) -> list[Rod]:
    return [Rod(link, a, b) for a, b in pairwise(corners) if hypot(*subtract(b, a)) > SHORTEST]


def _foot(begin: Vector, placement: Frame) -> Vector:
    """Of the perpendicular from a point to the axis of a joint."""
    axis = transpose(placement.R)[2]
    return add(placement.p, scale(dot(subtract(begin, placement.p), axis), axis))
