"""Distances of cylinders, hulls and meshes, by coal (extra `mesh`).

J. Pan et al., FCL, 2012; L. Montaut et al., GJK++, 2022. A mesh is a surface of triangles: of two
that cross, the distance is minus the depth of two triangles, not the shortest way out; what lies
within a closed mesh overlaps it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...lazy import package
from ...model.formats.tables import located
from ...model.geometry import Geometry
from ...model.quantity import Values, numeric
from ...spatial.frames import Frame, compose, matrix
from ...spatial.geometry import Nearest, Plane, Solid
from ...spatial.rotations import normalised, rotation_z_to
from ...spatial.vectors import add, scale, subtract
from .mesh_inertia import hull_of
from .meshes import triangles_of

PURPOSE = "the distance of cylinders, hulls and meshes"
INSTEAD = "or describe these links by capsules or boxes: robot.with_simple_shapes()"
GJK, EPA = 1e-12, 1e-10  # tolerances
CROSSED = 1e-9  # m: surfaces that cross are at least so deep
HOLES = 1e-6  # sum of a closed surface's area vectors, next to its area
INSIDE = 0.5  # turns of a surface around a point: 1 within a closed one, 0 outside


@dataclass(frozen=True, eq=False)
class CoalShape:
    """A shape of coal and its place (4, 4) on its link; triangles there of a closed mesh."""

    shape: Any
    place: np.ndarray
    triangles: np.ndarray | None = None
    surface: bool = False

    def has_inside(self, p: np.ndarray) -> bool:
        """True if a point, in the frame of the link, lies within a closed mesh."""
        if self.triangles is None:
            return False
        corners = self.triangles - p
        low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
        if (low > 0.0).any() or (high < 0.0).any():
            return False
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        na, nb, nc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        across = np.einsum("ij,ij->i", a, np.cross(b, c))
        ab, bc, ca = (np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (b, c), (c, a)))
        along = na * nb * nc + ab * nc + bc * na + ca * nb
        return bool(abs(np.arctan2(across, along).sum() / (2.0 * np.pi)) > INSIDE)


def coal_of(shape: Geometry, values: Values, carrier: Frame) -> CoalShape:
    """A cylinder, hull or mesh of a model, on the link that carries its frame."""
    coal = _coal()
    own: Any = numeric(shape, values)
    place = np.array(matrix(compose(carrier, own.placement({}))))
    if own.kind == "cylinder":
        return CoalShape(coal.Cylinder(own.radius, own.length), place)
    triangles = triangles_of(own)
    if own.kind == "hull":
        with located(f"geometry {own.name!r}"):
            points, faces = _indexed(hull_of(triangles))
        return CoalShape(coal.Convex(_points(coal, points), _faces(coal, faces)), place)
    points, faces = _indexed(triangles)
    turned = triangles @ place[:3, :3].T + place[:3, 3]
    areas = np.cross(turned[:, 1] - turned[:, 0], turned[:, 2] - turned[:, 0])
    closed = np.linalg.norm(areas.sum(axis=0)) <= HOLES * np.linalg.norm(areas, axis=1).sum()
    return CoalShape(_surface(coal, points, faces), place, turned if closed else None, True)


def coal_twin(solid: Solid | Plane) -> CoalShape:
    """A solid of our own as a shape of coal, for pairs with one that is not."""
    coal = _coal()
    if isinstance(solid, Plane):
        offset = float(np.dot(solid.normal, solid.point))
        return CoalShape(coal.Halfspace(np.array(solid.normal, dtype=float), offset), np.eye(4))
    if solid.half is not None:
        size = [2.0 * float(x) for x in solid.half]
        return CoalShape(coal.Box(*size), np.array(matrix(solid.frame)))
    middle, axis = scale(0.5, add(solid.a, solid.b)), subtract(solid.b, solid.a)
    length = float(np.linalg.norm(np.array(axis, dtype=float)))
    if length == 0.0:
        return CoalShape(coal.Sphere(solid.radius), np.array(matrix(Frame(p=middle))))
    frame = Frame(rotation_z_to(normalised(axis)), middle)
    return CoalShape(coal.Capsule(solid.radius, length), np.array(matrix(frame)))


def coal_distances(
    pairs: Sequence[tuple[tuple[int, CoalShape], tuple[int, CoalShape]]], frames: np.ndarray
) -> np.ndarray:
    """Distances of pairs of (row of frames, shape) at frames (k, rows, 4, 4), (k, pairs)."""
    found = np.full((len(frames), len(pairs)), np.nan)
    for k in np.flatnonzero(np.isfinite(frames).all(axis=(1, 2, 3))):
        for m, pair in enumerate(pairs):
            found[k, m] = coal_nearest(*pair, frames[k]).distance
    return found


def coal_nearest(
    one: tuple[int, CoalShape], other: tuple[int, CoalShape], frames: np.ndarray
) -> Nearest:
    """Distance and nearest points of two shapes at frames (rows, 4, 4)."""
    coal = _coal()
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance, request.epa_tolerance = GJK, EPA
    given: list[Any] = []
    for row, own in (one, other):
        T = frames[row] @ own.place
        given += [own.shape, coal.Transform3s(T[:3, :3].copy(), T[:3, 3].copy())]
    apart = float(coal.distance(*given, request, result))
    a, b = result.getNearestPoint1(), result.getNearestPoint2()
    if apart <= 0.0 and (one[1].surface or other[1].surface):
        apart = min(apart, -CROSSED)
    elif apart > 0.0 and (_within(one, b, frames) or _within(other, a, frames)):
        apart = -apart
    return Nearest(apart, tuple(a), tuple(b))


def _within(one: tuple[int, CoalShape], p: np.ndarray, frames: np.ndarray) -> bool:
    """True if a point of the reference frame lies in a closed mesh."""
    row, shape = one
    if shape.triangles is None:
        return False
    T = frames[row]
    return shape.has_inside(T[:3, :3].T @ (p - T[:3, 3]))


def _indexed(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (m, 3), each once, and the numbers of those of every triangle, (k, 3)."""
    points, inverse = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    return points, inverse.reshape(-1, 3)


def _surface(coal: Any, points: np.ndarray, faces: np.ndarray) -> Any:
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(points))
    model.addSubModel(_points(coal, points), _faces(coal, faces))
    model.endModel()
    return model


def _points(coal: Any, points: np.ndarray) -> Any:
    found = coal.StdVec_Vec3s()
    for p in points:
        found.append(p)
    return found


def _faces(coal: Any, faces: np.ndarray) -> Any:
    found = coal.StdVec_Triangle()
    for a, b, c in faces.tolist():
        found.append(coal.Triangle(a, b, c))
    return found


def _coal() -> Any:
    return package("coal", "coal", PURPOSE, "mesh", INSTEAD)
