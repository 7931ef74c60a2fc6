"""Distances between spheres, capsules, boxes and planes, over any scalar and without a branch.

A solid is a core (a point, a segment or a box) with a radius around it: a sphere is a point, a
capsule a segment. Of two solids

    distance(A, B) = distance(core A, core B) - radius A - radius B

and where cores overlap, the first term is minus the shortest way that takes them apart, so that the
distance is negative where solids overlap. Two segments that cross are 0 apart.
"""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from .frames import Frame, compose, point
from .functions import Functions
from .rotations import rotate, rotate_back, transpose
from .vectors import ZERO, Vector, X, Y, Z, add, cross, dot, scale, subtract

TINY = 1e-12  # m^2, or its square: keeps divisions of points and parallels finite
NEAREST = 1e-24  # m^2: cores are apart by 1e-12 m or more, or overlap
FAR = 1e9  # m: along an axis that does not exist nothing is nearer
PARALLEL = 1e-8  # sine squared below which two edges have no common normal
Axis = tuple[Vector, Any, Any]  # axis, reach of a body along it, whether it exists (None: always)
SORT = (  # a network that sorts six numbers
    (0, 5), (1, 3), (2, 4), (1, 2), (3, 4), (0, 3), (2, 5), (0, 1), (2, 3), (4, 5), (1, 2), (3, 4),
)  # fmt: skip


class Solid(NamedTuple):
    """A core and the radius around it: a box if `half` is given, else the segment a b.

    A point is a segment whose ends are the same object. A box has its frame and half its size.
    """

    a: Vector = ZERO
    b: Vector = ZERO
    radius: Any = 0.0
    frame: Frame = Frame()
    half: Vector | None = None

    @property
    def is_point(self) -> bool:
        """Whether the core is a point."""
        return self.half is None and self.a is self.b

    def moved(self, T: Frame) -> "Solid":
        """The solid seen from the frame that T = (R, p) takes it to."""
        if self.half is not None:
            return self._replace(frame=compose(T, self.frame))
        a = point(T, self.a)
        return self._replace(a=a, b=a if self.is_point else point(T, self.b))


class Plane(NamedTuple):
    """The half space below a point along a unit normal."""

    point: Vector
    normal: Vector

    def height(self, p: Vector) -> Any:
        """Distance of a point above the plane."""
        return dot(subtract(p, self.point), self.normal)


class Nearest(NamedTuple):
    """The distance of two things, and the point of each that is nearest to the other.

    Where they overlap, the points lie that far apart along the shortest way out.
    """

    distance: Any
    a: Vector
    b: Vector

    def swapped(self) -> "Nearest":
        """With the second thing first."""
        return Nearest(self.distance, self.b, self.a)


class Touch(NamedTuple):
    """Distance of a solid to a thing, the point of the solid nearest to it, and the unit normal of
    the thing there, towards the solid; defined where they touch, too."""

    distance: Any
    point: Vector
    normal: Vector


def sphere(center: Vector, radius: Any) -> Solid:
    """A ball."""
    return Solid(center, center, radius)


def capsule(a: Vector, b: Vector, radius: Any) -> Solid:
    """All points within a radius of a segment."""
    return Solid(a, b, radius)


def box(frame: Frame, size: Vector) -> Solid:
    """A box centred on a frame, along its axes."""
    return Solid(frame=frame, half=scale(0.5, size))


def nearest(A: Solid | Plane, B: Solid | Plane, fn: Functions) -> Nearest:
    """Distance and nearest points of two solids, or of a solid and a plane."""
    if isinstance(A, Plane):
        if isinstance(B, Plane):
            raise ValueError("two planes have no distance")
        return nearest(B, A, fn).swapped()
    if isinstance(B, Plane):
        return _above(A, B, fn)
    found = _cores(A, B, fn)
    between = found.distance - A.radius - B.radius
    # from each core towards the other: the unit vector is undefined where cores cross
    way = scale(1.0 / found.distance, subtract(found.b, found.a))
    a, b = add(found.a, scale(A.radius, way)), subtract(found.b, scale(B.radius, way))
    return Nearest(between, a, b)


def touch(A: Solid, B: Solid | Plane, fn: Functions) -> Touch:
    """Where a solid touches a thing; not for two boxes, whose faces have no one point."""
    if isinstance(B, Plane):
        low = _above(A, B, fn)
        return Touch(low.distance, low.a, B.normal)
    if A.half is not None and B.half is not None:
        raise ValueError("two boxes touch at no one point")
    found = _cores(A, B, fn)
    normal = scale(1.0 / found.distance, subtract(found.a, found.b))
    a = subtract(found.a, scale(A.radius, normal))
    return Touch(found.distance - A.radius - B.radius, a, normal)


def down_corner(A: Solid, k: int, down: Vector, fn: Functions) -> Vector:
    """Corner k, 0 to 3, of that face of a box which looks most along a direction.

    The corner that is farthest along it is among them, and so are those of edges across it.
    """
    assert A.half is not None
    own = rotate_back(A.frame.R, down)
    signs = [fn.select(x < 0.0, -1.0, 1.0) for x in own]
    sizes = [_size(x, fn) for x in own]
    z = (sizes[2] >= sizes[0]) * (sizes[2] >= sizes[1])
    y = (sizes[1] >= sizes[0]) * (sizes[1] > sizes[2])
    one, other = 2.0 * (k % 2) - 1.0, 2.0 * (k // 2) - 1.0
    faces = [(signs[0], one, other), (one, signs[1], other), (one, other, signs[2])]
    found = _select(z, faces[2], _select(y, faces[1], faces[0], fn), fn)
    return point(A.frame, _signed(found, A.half))


def _above(A: Solid, plane: Plane, fn: Functions) -> Nearest:
    """The lowest point of a solid, and the point of the plane below it."""
    if A.half is None:
        low, height = A.a, plane.height(A.a)
        if not A.is_point:
            other = plane.height(A.b)
            low, height = _select(other < height, A.b, A.a, fn), fn.min(height, other)
    else:
        down = rotate_back(A.frame.R, plane.normal)
        corner = tuple(fn.select(n > 0.0, -h, h) for n, h in zip(down, A.half, strict=True))
        low = point(A.frame, corner)  # type: ignore[arg-type]
        height = plane.height(low)
    distance = height - A.radius
    return Nearest(
        distance,
        subtract(low, scale(A.radius, plane.normal)),
        subtract(low, scale(height, plane.normal)),
    )


def _cores(A: Solid, B: Solid, fn: Functions) -> Nearest:
    """Distance and nearest points of two cores."""
    if A.half is not None and B.half is not None:
        return _two_boxes(A, B, fn)
    if B.half is not None:
        inside = [rotate_back(B.frame.R, subtract(p, B.frame.p)) for p in (A.a, A.b)]
        if A.is_point:
            found = _point_and_box(inside[0], B.half, fn)
        else:
            found = _segment_and_box(inside[0], inside[1], B.half, fn)
        return Nearest(found.distance, point(B.frame, found.a), point(B.frame, found.b))
    if A.half is not None:
        return _cores(B, A, fn).swapped()
    return _two_segments(A, B, fn)


# segments


def _two_segments(A: Solid, B: Solid, fn: Functions) -> Nearest:
    """Exact; a point is a segment that needs fewer candidates.

    The squared distance is a convex function of the places s, t in [0, 1] along both: it is least
    at its stationary point if that lies inside, else on an edge, where one place is an end.
    """
    u, v, w = subtract(A.b, A.a), subtract(B.b, B.a), subtract(A.a, B.a)
    uu, uv, vv, uw, vw = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    places = []
    if not A.is_point and not B.is_point:
        s = clamp((uv * vw - vv * uw) / fn.max(uu * vv - uv * uv, TINY * TINY), fn)
        places.append((s, clamp((uv * s + vw) / fn.max(vv, TINY), fn)))
    for s in (0.0,) if A.is_point else (0.0, 1.0):
        places.append((s, 0.0 if B.is_point else clamp((uv * s + vw) / fn.max(vv, TINY), fn)))
    if not A.is_point:
        for t in (0.0,) if B.is_point else (0.0, 1.0):
            places.append((clamp((uv * t - uw) / fn.max(uu, TINY), fn), t))

    def squared(s: Any, t: Any) -> Any:
        between = subtract(add(w, scale(s, u)), scale(t, v))
        return dot(between, between)

    least, (s, t) = squared(*places[0]), places[0]
    for s0, t0 in places[1:]:
        other = squared(s0, t0)
        s, t = fn.select(other < least, s0, s), fn.select(other < least, t0, t)
        least = fn.min(least, other)
    a, b = add(A.a, scale(s, u)), add(B.a, scale(t, v))
    return Nearest(fn.sqrt(fn.max(least, NEAREST)), a, b)


def clamp(x: Any, fn: Functions, low: Any = 0.0, high: Any = 1.0) -> Any:
    """x, or the end of [low, high] that it is beyond."""
    return fn.min(fn.max(x, low), high)


# boxes, in the frame of one of them


def _point_and_box(p: Vector, half: Vector, fn: Functions) -> Nearest:
    """A point beside a box; inside, to the nearest face."""
    b = _clamped(p, half, fn)
    outside = subtract(p, b)
    apart = fn.sqrt(fn.max(dot(outside, outside), NEAREST))
    depths = [_size(x, fn) - h for x, h in zip(p, half, strict=True)]
    depth = _most(depths, fn)
    faces = [
        tuple(fn.select(x < 0.0, -h, h) if k == i else p[k] for k in range(3))
        for i, (x, h) in enumerate(zip(p, half, strict=True))
    ]
    b = _select(depth < 0.0, _at_most(depths, faces, fn), b, fn)
    return Nearest(fn.select(depth < 0.0, depth, apart), p, b)


def _segment_and_box(a: Vector, b: Vector, half: Vector, fn: Functions) -> Nearest:
    """A segment beside a box; where they overlap, the shortest way out along any axis."""
    found = _segment_beside_box(a, b, half, fn)
    d = subtract(b, a)
    middle = scale(0.5, add(a, b))
    rows: list[Axis] = [(e, 0.5 * _size(x, fn), None) for e, x in zip((X, Y, Z), d, strict=True)]
    for n in (cross(e, d) for e in (X, Y, Z)):
        rows.append((n, 0.0, dot(n, n) > PARALLEL * dot(d, d)))
    gaps, ways = _gaps(rows, middle, half, fn)
    depth, way = _most(gaps, fn), _at_most(gaps, ways, fn)
    deep = subtract(middle, _towards(way, scale(0.5, d), fn))
    over = Nearest(depth, deep, subtract(deep, scale(depth, way)))
    return _overlap_or_apart(over, found, fn)


def _segment_beside_box(a: Vector, b: Vector, half: Vector, fn: Functions) -> Nearest:
    """A segment outside a box: exact.

    Half the derivative of the squared distance along the segment, d . (x - clamped x), rises and
    is straight between the places where the segment passes a face: each stretch before its zero
    counts whole, the one that has it up to there.
    """
    d = subtract(b, a)
    steep = [fn.select(x < 0.0, fn.min(x, -TINY), fn.max(x, TINY)) for x in d]
    passed = [
        clamp((side * h - x) / rate, fn)
        for x, rate, h in zip(a, steep, half, strict=True)
        for side in (-1.0, 1.0)
    ]
    for i, j in SORT:
        passed[i], passed[j] = fn.min(passed[i], passed[j]), fn.max(passed[i], passed[j])
    places = [0.0, *passed, 1.0]
    slopes = []
    for t in places:
        x = add(a, scale(t, d))
        slopes.append(dot(d, subtract(x, _clamped(x, half, fn))))
    t = 0.0
    for k in range(len(places) - 1):
        rise = fn.max(slopes[k + 1] - slopes[k], TINY * TINY)
        t = t + (places[k + 1] - places[k]) * clamp(-slopes[k] / rise, fn)
    x = add(a, scale(t, d))
    beside = _clamped(x, half, fn)
    between = subtract(x, beside)
    return Nearest(fn.sqrt(fn.max(dot(between, between), NEAREST)), x, beside)


def _two_boxes(A: Solid, B: Solid, fn: Functions) -> Nearest:
    """Exact: nearest points lie on an edge of A, or at a corner of B; or the shortest way out.

    Boxes are apart where one of fifteen axes keeps them apart: normals of faces, and of two edges.
    """
    assert A.half is not None and B.half is not None
    found = None
    for a, b in _edges(A.half):
        ends = [rotate_back(B.frame.R, subtract(point(A.frame, p), B.frame.p)) for p in (a, b)]
        edge = _segment_beside_box(ends[0], ends[1], B.half, fn)
        found = _nearer(found, edge, fn)
    assert found is not None
    found = Nearest(found.distance, point(B.frame, found.a), point(B.frame, found.b))
    for corner in _corners(B.half):
        p = rotate_back(A.frame.R, subtract(point(B.frame, corner), A.frame.p))
        beside = _clamped(p, A.half, fn)
        between = subtract(p, beside)
        apart = fn.sqrt(fn.max(dot(between, between), NEAREST))
        found = _nearer(found, Nearest(apart, point(A.frame, beside), point(B.frame, corner)), fn)
    return _overlap_or_apart(_boxes_over(A, B, fn), found, fn)


def _boxes_over(A: Solid, B: Solid, fn: Functions) -> Nearest:
    """The axis along which two boxes overlap least, in the frame both are seen from."""
    assert A.half is not None and B.half is not None
    mine, other = transpose(A.frame.R), transpose(B.frame.R)
    edges = tuple(scale(h, axis) for h, axis in zip(B.half, other, strict=True))
    rows: list[Axis] = [(n, _reach(n, edges, fn), None) for n in (*mine, *other)]
    for n in (cross(e, f) for e, f in product(mine, other)):
        rows.append((n, _reach(n, edges, fn), dot(n, n) > PARALLEL))
    # seen from A: gaps of B's centre beyond the reach of both
    inside = [(rotate_back(A.frame.R, n), reach, there) for n, reach, there in rows]
    centre = rotate_back(A.frame.R, subtract(B.frame.p, A.frame.p))
    gaps, ways = _gaps(inside, centre, A.half, fn)
    depth = _most(gaps, fn)
    way = rotate(A.frame.R, _at_most(gaps, ways, fn))
    deep = B.frame.p
    for edge in edges:
        deep = subtract(deep, _towards(way, edge, fn))
    return Nearest(depth, subtract(deep, scale(depth, way)), deep)


def _gaps(
    rows: Sequence[Axis], centre: Vector, half: Vector, fn: Functions
) -> tuple[list[Any], list[Vector]]:
    """How far a body is from a box along axes, and the unit vectors that lead away from the box."""
    gaps, ways = [], []
    for n, reach, exists in rows:
        size = fn.sqrt(fn.max(dot(n, n), TINY * TINY))
        across = dot(n, centre)
        gap = (_size(across, fn) - reach - _reach(n, _diagonal(half), fn)) / size
        gaps.append(gap if exists is None else fn.select(exists, gap, -FAR))
        ways.append(scale(fn.select(across < 0.0, -1.0, 1.0) / size, n))
    return gaps, ways


def _diagonal(half: Vector) -> tuple[Vector, Vector, Vector]:
    x, y, z = half
    return (x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z)


def _reach(n: Vector, edges: Sequence[Vector], fn: Functions) -> Any:
    """Half the width of a box along n, by its half edges."""
    return sum(_size(dot(n, e), fn) for e in edges)


def _overlap_or_apart(over: Nearest, apart: Nearest, fn: Functions) -> Nearest:
    """The way out where bodies overlap."""
    inside = over.distance < 0.0
    return Nearest(
        fn.select(inside, over.distance, apart.distance),
        _select(inside, over.a, apart.a, fn),
        _select(inside, over.b, apart.b, fn),
    )


def _nearer(one: Nearest | None, other: Nearest, fn: Functions) -> Nearest:
    """Of two pairs of points the nearer one."""
    if one is None:
        return other
    nearer = other.distance < one.distance
    return Nearest(
        fn.min(one.distance, other.distance),
        _select(nearer, other.a, one.a, fn),
        _select(nearer, other.b, one.b, fn),
    )


def _edges(half: Vector) -> list[tuple[Vector, Vector]]:
    """The twelve edges of a box."""
    corners = _corners(half, signs=True)
    return [
        (_signed(a, half), _signed(b, half))
        for a, b in combinations(corners, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]


def _corners(half: Vector, signs: bool = False) -> list[Any]:
    """The eight corners of a box, or the signs of their coordinates."""
    found = list(product((-1.0, 1.0), repeat=3))
    return found if signs else [_signed(x, half) for x in found]


def _signed(signs: Any, half: Vector) -> Any:
    return tuple(s * h for s, h in zip(signs, half, strict=True))


def _clamped(p: Vector, half: Vector, fn: Functions) -> Vector:
    """The point of a box that is nearest to p."""
    return tuple(clamp(x, fn, -h, h) for x, h in zip(p, half, strict=True))  # type: ignore[return-value]


def _towards(way: Vector, edge: Vector, fn: Functions) -> Vector:
    """The edge, or its opposite, whichever goes along a direction; 0 across it."""
    return scale(fn.sign(dot(way, edge)), edge)


def _size(x: Any, fn: Functions) -> Any:
    return fn.max(x, -x)


def _most(values: Sequence[Any], fn: Functions) -> Any:
    """The largest of some numbers."""
    found = values[0]
    for x in values[1:]:
        found = fn.max(found, x)
    return found


def _at_most(values: Sequence[Any], vectors: Sequence[Any], fn: Functions) -> Vector:
    """The vector that belongs to the largest of some numbers, the first of them."""
    most, found = values[0], vectors[0]
    for x, v in zip(values[1:], vectors[1:], strict=True):
        found = _select(x > most, v, found, fn)
        most = fn.max(most, x)
    return found


def _select(condition: Any, a: Vector, b: Vector, fn: Functions) -> Vector:
    return tuple(fn.select(condition, x, y) for x, y in zip(a, b, strict=True))  # type: ignore[return-value]
