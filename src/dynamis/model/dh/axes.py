"""Joint axes as lines in space, and how two of them lie to each other.

Craig, Introduction to Robotics, section 3.4; Siciliano et al., Robotics, section 2.8.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...arguments import is_list, one_of
from ...errors import DynamisError, ModelError, shown
from ...spatial.frames import Frame
from ...spatial.rotations import normalised, transpose
from ...spatial.vectors import Vector, add, cross, dot, negate, scale, subtract
from ..link import JOINTS
from ..quantity import quantities

# Sine below which two directions count as parallel. Feet of nearly parallel lines lie 1/sine sizes
# away and lose eps/sine; calling the lines parallel loses sine: both are 1e-8 here.
PARALLEL = 1e-8
# Sine below which two axes may be meant to be parallel: angles were typed as 1.5708 or 3.1416.
NEARLY = 3e-5
TOUCHING = 1e-12  # distance, relative to the size of things, below which lines meet


@dataclass(frozen=True)
class Axis:
    """The line of one joint: a point of it and its direction, kept at unit length.

    Of a prismatic joint only the direction matters.
    """

    kind: str
    point: Vector
    direction: Vector

    def __post_init__(self) -> None:
        what = f"axis kind {shown(self.kind)} does not exist"
        one_of(self.kind, JOINTS, f"{what}, expected 'revolute' or 'prismatic'")
        for name in ("point", "direction"):
            numbers = quantities(getattr(self, name), 3, f"axis {name}")
            if not all(isinstance(x, float) for x in numbers):
                raise ModelError(
                    f"axis {name} is {shown(getattr(self, name))}, expected three numbers"
                )
            object.__setattr__(self, name, numbers)
        if not any(self.direction):
            raise ModelError("axis direction is (0, 0, 0), expected a direction")
        object.__setattr__(self, "direction", normalised(self.direction))

    def through(self, point: Vector) -> "Axis":
        """The parallel axis through another point."""
        return replace(self, point=point)

    def foot(self, point: Vector) -> Vector:
        """The point of the axis nearest to `point`."""
        along = dot(subtract(point, self.point), self.direction)
        return add(self.point, scale(along, self.direction))


class CommonNormal(NamedTuple):
    """The shortest way from line a to line b.

    `x` is its direction (None if the lines coincide: any will do), `twist` the angle about x that
    turns a's direction into b's. On parallel lines it starts at a's own point.
    """

    case: str  # "skew", "intersecting", "parallel" or "coincident"
    foot_a: Vector
    foot_b: Vector
    x: Vector | None
    length: float
    twist: float

    def reversed(self) -> "CommonNormal":
        """The line seen along -x, for lines that meet: twist changes its sign."""
        assert self.x is not None
        return self._replace(x=negate(self.x), twist=-self.twist)


def axes_of(given: Sequence[Any]) -> list[Axis]:
    """Axes from rows (joint, point, direction); errors name the row."""
    found = []
    for i, row in enumerate(given):
        if isinstance(row, Axis):
            found.append(row)
            continue
        parts = list(row) if is_list(row) else []
        if len(parts) != 3:
            raise ModelError(f"axes[{i}] is {shown(row)}, expected (kind, point, direction)")
        try:
            found.append(Axis(*parts))
        except DynamisError as error:
            raise ModelError(f"axes[{i}]: {error.message}", error.hint) from None
    return found


def axis_of(kind: str, frame: Frame) -> Axis:
    """The axis along z of a frame."""
    return Axis(kind, frame.p, transpose(frame.R)[2])


def are_parallel(u: Vector, v: Vector) -> bool:
    """Whether two unit vectors point the same or opposite ways."""
    return sine_between(u, v) < PARALLEL


def sine_between(u: Vector, v: Vector) -> float:
    """The sine of the angle between two unit vectors."""
    return math.hypot(*cross(u, v))


def aligned(axis: Axis, other: Axis, within: float = NEARLY) -> Axis:
    """The axis turned about its point until it is parallel to another, if it nearly is."""
    u, v = axis.direction, other.direction
    if sine_between(u, v) >= within:
        return axis
    return replace(axis, direction=v if dot(u, v) > 0.0 else negate(v))


def perpendicular(u: Vector) -> Vector:
    """A unit vector across u: what is left of x without its part along u, or else of y."""
    for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        across = subtract(e, scale(dot(e, u), u))
        if math.hypot(*across) > 0.5:
            return normalised(across)
    raise ModelError(f"{u!r} is not a unit vector")


def common_normal(a: Axis, b: Axis, size: float | None = None) -> CommonNormal:
    """The common normal of two lines; distances below TOUCHING * size are zero.

    foot_b - foot_a = length x,   x = (u_a x u_b) / |u_a x u_b| up to sign
    """
    if size is None:
        size = max(abs(c) for c in (*a.point, *b.point))
    u, v = a.direction, b.direction
    if are_parallel(u, v):
        return _beside(a, b, size)
    between, n = subtract(b.point, a.point), cross(u, v)
    sine = math.hypot(*n)
    x, twist = scale(1.0 / sine, n), math.atan2(sine, dot(u, v))
    gap = dot(between, x)
    foot_a = add(a.point, scale(dot(cross(between, v), n) / sine**2, u))
    foot_b = add(b.point, scale(dot(cross(between, u), n) / sine**2, v))
    if abs(gap) <= TOUCHING * size:
        return CommonNormal("intersecting", foot_a, foot_a, x, 0.0, twist)
    if gap < 0.0:
        x, twist = negate(x), -twist
    return CommonNormal("skew", foot_a, foot_b, x, abs(gap), twist)


def _beside(a: Axis, b: Axis, size: float) -> CommonNormal:
    """The normal of two parallel lines that starts at a's point."""
    twist = 0.0 if dot(a.direction, b.direction) > 0.0 else math.pi
    between = subtract(b.point, a.point)
    across = subtract(between, scale(dot(between, a.direction), a.direction))
    length = math.hypot(*across)
    if length <= TOUCHING * size:
        return CommonNormal("coincident", a.point, a.point, None, 0.0, twist)
    x = normalised(across)
    return CommonNormal("parallel", a.point, add(a.point, across), x, length, twist)
