"""Simple shapes in place of meshes: a capsule, sphere or box around all of their points.

Every point of a mesh, hull or cylinder lies within its simple shape, so that a distance of the
simple shapes is never more than that of the true ones.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DynamisError
from ...model.check.finding import Finding
from ...model.geometry import SOLIDS, USES, Geometry, carrier
from ...model.model import Model
from ...model.pose import pose
from ...model.quantity import numeric
from ...spatial.frames import compose, from_matrix, inverse, matrix
from .body import is_bodily, rods_of
from .meshes import triangles_of

if TYPE_CHECKING:
    from .. import Robot

ROUNDS = 64  # of the search of a small ball around points
BETTER = 0.7  # a box is taken where it has less than this share of the capsule's volume
GRAIN = 1e-9  # m, and of a size: what rounding may leave outside
RADIUS, SLENDER = 0.05, 0.04  # m; of an arm's length, where that is less


def simple_shape(shape: Geometry) -> Geometry:
    """The capsule, sphere or box around a cylinder, mesh or hull of numbers; others stay.

    Of a capsule and a box the one with less volume, the capsule in doubt.
    """
    if shape.kind in SOLIDS:
        return shape
    plain = Geometry(kind="sphere", radius=1.0, name=shape.name, link=shape.link, use=shape.use)
    if shape.kind == "cylinder":
        r, half = float(shape.radius or 0.0), 0.5 * float(shape.length or 0.0)
        if 8.0 * half < BETTER * np.pi * (2.0 * half + 4.0 * r / 3.0):  # volumes by r^2
            return replace(
                plain, kind="box", radius=None, size=(2.0 * r, 2.0 * r, 2.0 * half),
                xyz=shape.xyz, rpy=shape.rpy,
            )  # fmt: skip
        ends: Any = {"from_": (0.0, 0.0, -half), "to": (0.0, 0.0, half)}
        return replace(plain, kind="capsule", radius=r, xyz=shape.xyz, rpy=shape.rpy, **ends)
    found = around_points(np.unique(triangles_of(shape).reshape(-1, 3), axis=0))
    place = pose(compose(shape.placement({}), found.placement({})), "geometry")
    return replace(
        found, name=shape.name, link=shape.link, use=shape.use, xyz=place.xyz, rpy=place.rpy
    )


def around_points(points: np.ndarray) -> Geometry:
    """A capsule, sphere or box around points (k, 3)."""
    frames = [np.eye(3), np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]]
    boxes = [_box(points, R) for R in frames if len(R) == 3]
    capsules = [_capsule(points, axis) for R in frames for axis in R]
    volume, box = min(boxes, key=lambda x: x[0])
    least, capsule = min(capsules, key=lambda x: x[0])
    return box if volume < BETTER * least else capsule


def _box(points: np.ndarray, axes: np.ndarray) -> tuple[float, Geometry]:
    """Volume and box along axes (rows of a rotation, or of its mirror image)."""
    R = axes * np.sign(np.linalg.det(axes))
    seen = points @ R.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    size = np.maximum(high - low, GRAIN) * (1.0 + GRAIN) + GRAIN
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R.T, R.T @ (0.5 * (low + high))
    place = pose(from_matrix(T.tolist()), "geometry")
    size = tuple(size.tolist())
    return float(np.prod(size)), Geometry(kind="box", size=size, xyz=place.xyz, rpy=place.rpy)


def _capsule(points: np.ndarray, axis: np.ndarray) -> tuple[float, Geometry]:
    """Volume and capsule along an axis: the ball around the points seen along it, then its ends.

    A point at t along the axis and d off it is within radius r of the segment [a, b] if
    a <= t + sqrt(r^2 - d^2) and b >= t - sqrt(r^2 - d^2).
    """
    axis = axis / np.linalg.norm(axis)
    across = points - np.outer(points @ axis, axis)
    centre, radius = _ball(across)
    t = points @ axis
    reach = np.sqrt(np.maximum(radius**2 - ((across - centre) ** 2).sum(axis=1), 0.0))
    a, b = (t + reach).min(), (t - reach).max()
    if a > b:
        a = b = 0.5 * (a + b)
    volume = np.pi * radius**2 * (b - a + 4.0 / 3.0 * radius)
    ends: Any = [tuple((centre + x * axis).tolist()) for x in (a, b)]
    if a == b:
        return float(volume), Geometry(kind="sphere", radius=radius, xyz=ends[0])
    return float(volume), Geometry(kind="capsule", radius=radius, from_=ends[0], to=ends[1])


def _ball(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre and radius of a small ball around points (Badoiu, Clarkson 2003)."""
    centre = points.mean(axis=0)
    best = centre, np.inf
    for k in range(1, ROUNDS + 1):
        away = points - centre
        far = (away * away).sum(axis=1)
        worst = int(far.argmax())
        if far[worst] < best[1]:
            best = centre, float(far[worst])
        centre = centre + away[worst] / (k + 1.0)
    return best[0], float(np.sqrt(best[1])) * (1.0 + GRAIN) + GRAIN


# a whole arm


def link_names(robot: "Robot") -> tuple[str, ...]:
    """Names of the links, the base last: it is link -1."""
    return (*(str(x) for x in robot.model.link_names), robot.model.base_name)


def usual_radius(robot: "Robot") -> float:
    """Radius of the rods of an arm: 0.05 m, or 4 % of the length of a small one."""
    lengths = (rod.length for rod in rods_of(robot.chain) if rod.to is None)
    length = sum(lengths) / (1 + len(robot.chain.closures))
    return min(RADIUS, SLENDER * length) or RADIUS


def simple_shapes(robot: "Robot") -> tuple[list[Geometry], list[int], list[Finding]]:
    """Simple shapes for collision, links (-1: the base) without any, and what was taken instead.

    Of a link without shapes for collision the visual ones count.
    """
    model, shapes, without, notes = robot.model, [], [], []
    rows = [(carrier(model, x.link)[0], numeric(x, model.values)) for x in model.geometry]
    around: dict[str, None] = {}
    for i in range(-1, len(model.links)):
        found: list[Geometry] = []
        for use in USES:
            own = [shape for at, shape in rows if at == i and use in shape.use]
            for shape in own if not found else ():
                try:
                    simple = replace(simple_shape(shape), use=("collision",))
                except DynamisError as error:
                    what = f"shape {shape.name!r} is left out: {error.message}"
                    remedy = "give the file, or a capsule or box in its place"
                    notes.append(Finding("warning", "geometry", what, remedy))
                    continue
                found.append(simple)
                if shape.kind not in SOLIDS:
                    around[shape.link or model.base_name] = None
        shapes += found
        without += [] if found or not is_bodily(robot.chain, i) else [i]
    if around:
        what = f"capsules and boxes around the shapes of {', '.join(map(repr, around))}"
        remedy = "give [[geometry]] rows of your own where these are too wide"
        notes.append(Finding("note", "geometry", what, remedy))
    return shapes, without, notes


def with_simple_shapes(robot: "Robot", radius: float | None) -> Model:
    """The model with simple shapes for collision, rods of links without any; others stay visual."""
    model = robot.model
    found, without, _ = simple_shapes(robot)
    kept = [replace(x, use=("visual",)) for x in model.geometry if "visual" in x.use]
    taken = {str(x.name) for x in kept}
    own: list[Geometry] = []
    for shape in [*found, *_rod_shapes(robot, without, radius)]:
        name = str(shape.name)
        while name in taken:
            name += "_simple"
        taken.add(name)
        own.append(replace(shape, name=name))
    return replace(model, geometry=(*kept, *own))


def _rod_shapes(robot: "Robot", links: Sequence[int], radius: float | None) -> list[Geometry]:
    """Rods of some links as capsules in the frames of these links."""
    model, found = robot.model, []
    names = link_names(robot)
    wide = usual_radius(robot) if radius is None else radius
    for k, rod in enumerate(rods_of(robot.chain, wide, names)):
        if rod.link in links and not rod.slide and rod.to is None:
            user = robot.chain.base if rod.link < 0 else robot.chain.bodies[rod.link].user
            T = np.array(matrix(inverse(user)))
            ends = [tuple((T[:3, :3] @ p + T[:3, 3]).tolist()) for p in (rod.start, rod.end)]
            link = None if rod.link < 0 else model.link_names[rod.link]
            own: dict[str, Any] = {"from_": ends[0], "to": ends[1], "radius": wide}
            name, use = f"rod{k + 1}", "collision"
            found.append(Geometry(kind="capsule", name=name, link=link, use=use, **own))
    return found
