"""Size and volume of links by their geometry: STL and OBJ meshes and all plain shapes.

A mesh is data, read only where `file_of` finds its file.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import DynamisError
from ..model.formats.packages import file_of
from ..model.geometry import USES, Geometry, carrier
from ..model.model import Model
from ..model.quantity import numeric
from ..spatial.frames import Frame, compose, matrix
from .bodies.meshes import READERS, read_triangles

WIDEST = 1e3  # m; a shape that is farther away is no part of a robot
HOLES = 1e-3  # sum of a closed surface's area vectors, next to its area: beyond, it is open
CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@dataclass(frozen=True)
class Shape:
    """Points (k, 3) around a body, its volume (None: its surface is open), and that of its box."""

    points: np.ndarray
    volume: float | None
    box: float


def link_shapes(model: Model) -> dict[str, Shape]:
    """Shapes of links with all that is fixed to them, if every one of them can be read.

    The visual ones, or else those of collision, in the link's frame.
    """
    found = {}
    rows = [(*carrier(model, x.link), numeric(x, model.values)) for x in model.geometry]
    for use in USES:
        for i, link in enumerate(model.link_names):
            own = [(T, shape) for at, T, shape in rows if at == i and use in shape.use]
            shapes = [_shape(shape, T) for T, shape in own]
            if shapes and None not in shapes:
                found[link] = _together(x for x in shapes if x is not None)
    return found


def _together(shapes: Iterable[Shape]) -> Shape:
    rows = list(shapes)
    volumes = [x.volume for x in rows if x.volume is not None]
    whole = sum(volumes) if len(volumes) == len(rows) else None
    return Shape(np.concatenate([x.points for x in rows]), whole, sum(x.box for x in rows))


def _shape(geometry: Geometry, T: Frame) -> Shape | None:
    """One geometry as its link sees it; None if its mesh cannot be read."""
    try:
        with np.errstate(all="ignore"):  # a mesh may hold anything
            shape = _solid(geometry)
    except (OSError, DynamisError):
        return None
    if shape is None or not (np.abs(shape.points) < WIDEST).all():  # of what is not a number either
        return None
    place = np.array(matrix(compose(T, geometry.placement({}))))
    return Shape(shape.points @ place[:3, :3].T + place[:3, 3], shape.volume, shape.box)


def _solid(x: Geometry) -> Shape | None:
    if x.kind in ("mesh", "hull"):
        path = file_of(x)
        if path is None or path.suffix.lower() not in READERS:  # others need a package
            return None
        return _mesh(read_triangles(path) * np.array(x.scale))
    r = x.radius or 0.0
    if x.kind == "capsule":
        ends = np.array((x.from_, x.to))
        points = np.concatenate([CORNERS * 2.0 * r + end for end in ends])
        volume = np.pi * r * r * (np.linalg.norm(ends[1] - ends[0]) + 4.0 / 3.0 * r)
        return Shape(points, float(volume), float(np.prod(np.ptp(points, axis=0))))
    size, part = {
        "box": (x.size, 1.0),
        "sphere": ((2.0 * r,) * 3, np.pi / 6.0),
        "cylinder": ((2.0 * r, 2.0 * r, x.length), np.pi / 4.0),
    }[x.kind]
    box = float(np.prod(size))
    return Shape(CORNERS * np.array(size), part * box, box)


def _mesh(corners: np.ndarray) -> Shape:
    """Triangles (k, 3, 3); the volume by the divergence theorem, V = sum a . (b x c) / 6."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    areas = np.cross(b - a, c - a)
    closed = np.linalg.norm(areas.sum(0)) <= HOLES * np.linalg.norm(areas, axis=1).sum()
    points = corners.reshape(-1, 3)
    middle = points.mean(0)
    volume = np.einsum("ij,ij->", a - middle, np.cross(b - middle, c - middle)) / 6.0
    box = float(np.prod(np.ptp(points, axis=0)))
    return Shape(points, abs(float(volume)) if closed else None, box)
