"""Where an arm may touch what stands around it, and how these points move.

A point has a distance d to its obstacle, a normal n of the obstacle and tangents t1, t2. With v the
velocity of the material of the arm there, d' = n . v, and u = (n . v, t1 . v, t2 . v) = J qd. A
joint stop is a point without tangents: J is its coordinate alone.

    sphere and anything    one point
    capsule and a plane    its ends
    box and a plane        the four corners of the face that looks down

Where both are capsules or boxes, faces and edges that lie along each other have no one nearest
point: such pairs have no points.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...dynamics import coupling
from ...dynamics.kinematics import poses
from ...model.chain import Chain
from ...spatial.frames import Frame
from ...spatial.functions import Functions, zero
from ...spatial.geometry import Plane, Solid, Touch, down_corner, sphere, touch
from ...spatial.jet import Jet, jet_functions
from ...spatial.rotations import transpose
from ...spatial.vectors import (
    ZERO,
    Scalars,
    Vector,
    X,
    Y,
    Z,
    cross,
    dot,
    inner,
    scale,
    subtract,
    unit,
)


class Material(NamedTuple):
    """Friction and restitution of a pair of surfaces."""

    friction: float
    restitution: float


class ContactPoint(NamedTuple):
    """One place where a shape of a link may touch an obstacle.

    `solid` is in the link's own frame; `corner` is that of a box on a plane, else None.
    """

    names: tuple[str, str]  # shape, obstacle
    link: int
    solid: Solid
    obstacle: Solid | Plane
    material: Material
    corner: int | None = None


class Stop(NamedTuple):
    """The limits of a coordinate as a point without friction."""

    coordinate: int
    low: float
    high: float
    material: Material


Point = ContactPoint | Stop


class Motion(NamedTuple):
    """A point at one configuration: its distance, where it is, its axes (n, t1, t2), its rows J.

    `bias` is J' qd of every row, if asked for. A stop has one row.
    """

    distance: Any
    place: Vector
    axes: tuple[Vector, Vector, Vector]
    rows: list[list[Any]]
    bias: list[Any]

    def along(self, f: Vector) -> list[Any]:
        """A vector by its parts along the rows."""
        return [dot(f, axis) for axis, _ in zip(self.axes, self.rows, strict=False)]

    def vector(self, parts: Scalars) -> Vector:
        """A vector from its parts along the rows."""
        found = ZERO
        for k, (x, axis) in enumerate(zip(parts, self.axes, strict=False)):
            own = scale(x, axis)
            found = own if k == 0 else tuple(a + b for a, b in zip(found, own, strict=True))
        return found


def points_of(
    names: tuple[str, str], link: int, solid: Solid, obstacle: Solid | Plane, material: Material
) -> list[ContactPoint]:
    """Every place where a shape may touch an obstacle."""
    one = ContactPoint(names, link, solid, obstacle, material)
    if isinstance(obstacle, Plane):
        if solid.half is not None:
            return [one._replace(corner=k) for k in range(4)]
        return [one] if solid.is_point else [one._replace(solid=x) for x in _ends(solid)]
    return [one]


def _ends(capsule: Solid) -> list[Solid]:
    return [sphere(capsule.a, capsule.radius), sphere(capsule.b, capsule.radius)]


def motions(
    points: Sequence[Point], chain: Chain, q: Scalars, fn: Functions, qd: Scalars | None = None
) -> list[Motion]:
    """Every point at q; with qd also the bias J' qd."""
    where = poses(chain, coupling.positions(chain, q), fn)
    found = [_motion(point, chain, q, where, fn) for point in points]
    if qd is None:
        return found
    biases = _biases(points, chain, q, qd, fn)
    return [x._replace(bias=b) for x, b in zip(found, biases, strict=True)]


def _biases(
    points: Sequence[Point], chain: Chain, q: Scalars, qd: Scalars, fn: Functions
) -> list[list[Any]]:
    """J' qd of every row of every point: the rate of J(q) qd at constant qd."""
    jets, moving = jet_functions(fn), [Jet(a, b, 0.0) for a, b in zip(q, qd, strict=True)]
    where = poses(chain, coupling.positions(chain, moving), jets)
    found = []
    for point in points:
        if isinstance(point, Stop):
            found.append([0.0])
            continue
        rows = _motion(point, chain, moving, where, jets).rows
        rates = [inner(row, qd) for row in rows]
        found.append([x.rate if isinstance(x, Jet) else 0.0 for x in rates])
    return found


def _motion(
    point: Point, chain: Chain, q: Scalars, where: Sequence[Frame], fn: Functions
) -> Motion:
    if isinstance(point, Stop):
        return _stop(point, q, fn)
    at = touched(point, chain, where, fn)
    axes = (at.normal, *tangents(at.normal, fn))
    columns = columns_of(chain, where, point.link, at.point)
    kept = axes[:1] if zero(point.material.friction) else axes
    rows = [
        list(coupling.torques(chain, [0.0 if c is ZERO else dot(axis, c) for c in columns]))
        for axis in kept
    ]
    return Motion(at.distance, at.point, axes, rows, [])


def touched(point: ContactPoint, chain: Chain, where: Sequence[Frame], fn: Functions) -> Touch:
    """Distance, point and normal."""
    solid = point.solid.moved(chain.bodies[point.link].user).moved(where[point.link])
    if point.corner is None:
        return touch(solid, point.obstacle, fn)
    plane = point.obstacle
    assert isinstance(plane, Plane)
    corner = down_corner(solid, point.corner, scale(-1.0, plane.normal), fn)
    return Touch(plane.height(corner), corner, plane.normal)


def columns_of(chain: Chain, where: Sequence[Frame], link: int, p: Vector) -> list[Vector]:
    """Velocity of a point of a link by every joint of the tree."""
    columns, moving = [], set(chain.ancestors(link))
    for i, joint in enumerate(chain.joints):
        z = transpose(where[i].R)[2]
        if i not in moving:
            columns.append(ZERO)
        elif joint.kind == "revolute":
            columns.append(cross(z, subtract(p, where[i].p)))
        else:
            columns.append(z)
    return columns


def _stop(stop: Stop, q: Scalars, fn: Functions) -> Motion:
    x = q[stop.coordinate]
    up, down = x - stop.low, stop.high - x
    side = fn.select(up < down, 1.0, -1.0)
    row = [side * e for e in unit(stop.coordinate, len(q))]
    return Motion(fn.min(up, down), ZERO, (X, Y, Z), [row], [])


def tangents(n: Vector, fn: Functions) -> tuple[Vector, Vector]:
    """Two axes across a unit vector; Duff et al., Building an orthonormal basis (2017)."""
    x, y, z = n
    if all(isinstance(a, (int, float)) for a in n) and abs(z) < 0.5:
        return _across_upright(n, fn)
    s = fn.select(z < 0.0, -1.0, 1.0)
    a = -1.0 / (s + z)
    b = x * y * a
    return (1.0 + s * x * x * a, s * b, -s * x), (b, s + y * y * a, -y)


def _across_upright(n: Vector, fn: Functions) -> tuple[Vector, Vector]:
    """Across the fixed normal of a wall: one axis level, one upwards."""
    level = cross(Z, n)
    size = fn.sqrt(dot(level, level))
    one = scale(1.0 / size, level)
    return one, cross(n, one)
