"""Obstacles around an arm: planes, boxes, spheres and capsules in the reference frame.

A world is a list of these. It is no part of a robot: it is given where something is checked in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ..arguments import is_list, strict
from ..errors import ModelError, shown
from ..spatial import geometry
from ..spatial.frames import from_xyz_rpy
from ..spatial.rotations import normalised
from ..spatial.vectors import ZERO, scale
from .quantity import check_direction, symbols_in
from .schema import About, settle_fields

NAME = Annotated[str | None, About("plane1, box2, ...")]
FRICTION = Annotated[float, About("Coulomb friction of its surface", "-", least=0.0)]
RESTITUTION = Annotated[float, About("speed after an impact, of that before it", "-", least=0.0)]
STIFFNESS = Annotated[float | None, About("of its surface; rigid", "N/m", above=0.0)]
DAMPING = Annotated[float, About("of a compliant surface, per stiffness", "s/m", least=0.0)]


class Obstacle:
    """Base of what a world has."""

    name: Any
    friction: Any
    restitution: Any
    stiffness: Any
    damping: Any

    def __post_init__(self) -> None:
        word = type(self).__name__
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise ModelError(f"{word}.name is {shown(self.name)}, expected a non-empty text")
        settle_fields(self, f"{word}.")
        if symbols := symbols_in(self):
            raise ModelError(f"{word} holds the symbol {symbols[0]!r}, expected numbers")
        if self.restitution > 1.0:
            raise ModelError(f"{word}.restitution is {self.restitution:g}, expected 0 to 1")
        if self.damping and self.stiffness is None:
            raise ModelError(f"{word}.damping is {self.damping:g}, but stiffness is not given")

    @property
    def solid(self) -> geometry.Solid | geometry.Plane:
        """The shape to compute with."""
        raise NotImplementedError


@strict
@dataclass(frozen=True, kw_only=True)
class Plane(Obstacle):
    """A floor or a wall: all points p with normal . p <= offset."""

    normal: Annotated[Any, About("away from the wall", "-", 3)] = (0.0, 0.0, 1.0)
    offset: Annotated[float, About("of the plane along its unit normal", "m")] = 0.0
    name: NAME = None
    friction: FRICTION = 0.5
    restitution: RESTITUTION = 0.0
    stiffness: STIFFNESS = None
    damping: DAMPING = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_direction(self.normal, "Plane.normal")

    @property
    def solid(self) -> geometry.Plane:
        """The half space."""
        normal = normalised(self.normal)
        return geometry.Plane(scale(self.offset, normal), normal)


@strict
@dataclass(frozen=True, kw_only=True)
class Sphere(Obstacle):
    """A ball."""

    radius: Annotated[float, About("of the ball", "m", above=0.0)]
    xyz: Annotated[Any, About("its centre", "m", 3)] = ZERO
    name: NAME = None
    friction: FRICTION = 0.5
    restitution: RESTITUTION = 0.0
    stiffness: STIFFNESS = None
    damping: DAMPING = 0.0

    @property
    def solid(self) -> geometry.Solid:
        """A point with a radius."""
        return geometry.sphere(self.xyz, self.radius)


@strict
@dataclass(frozen=True, kw_only=True)
class Capsule(Obstacle):
    """All points within a radius of a segment."""

    from_: Annotated[Any, About("one end", "m", 3, key="from", label="from")]
    to: Annotated[Any, About("the other end", "m", 3)]
    radius: Annotated[float, About("around the segment", "m", above=0.0)]
    name: NAME = None
    friction: FRICTION = 0.5
    restitution: RESTITUTION = 0.0
    stiffness: STIFFNESS = None
    damping: DAMPING = 0.0

    @property
    def solid(self) -> geometry.Solid:
        """A segment with a radius."""
        return geometry.capsule(self.from_, self.to, self.radius)


@strict
@dataclass(frozen=True, kw_only=True)
class Box(Obstacle):
    """A box, centred on its placement and along its axes."""

    size: Annotated[Any, About("along x, y, z", "m", 3, above=0.0)]
    xyz: Annotated[Any, About("its centre", "m", 3)] = ZERO
    rpy: Annotated[Any, About("roll, pitch, yaw", "rad", 3)] = ZERO
    name: NAME = None
    friction: FRICTION = 0.5
    restitution: RESTITUTION = 0.0
    stiffness: STIFFNESS = None
    damping: DAMPING = 0.0

    @property
    def solid(self) -> geometry.Solid:
        """The box in its frame."""
        return geometry.box(from_xyz_rpy(self.xyz, self.rpy), self.size)


World = Obstacle | Sequence[Obstacle] | None


def obstacles(world: Any) -> dict[str, Obstacle]:
    """Obstacles of a world by name; those without one are named by their number."""
    given: Sequence[Any] = () if world is None else world if is_list(world) else (world,)
    found: dict[str, Obstacle] = {}
    for number, one in enumerate(given, 1):
        if not isinstance(one, Obstacle):
            kinds = "dy.Plane, dy.Box, dy.Sphere or dy.Capsule"
            raise ModelError(f"world holds {shown(one)}, expected a list of {kinds}")
        name = one.name or f"{type(one).__name__.lower()}{number}"
        if name in found:
            raise ModelError(f"two obstacles of the world are called {name!r}")
        found[name] = one
    return found
