"""Size and volume of links by their geometry: STL and OBJ meshes and all plain shapes.

A mesh is data, read only where `file_of` finds its file.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..errors import DynamisError
from ..model.formats.packages import file_of
from ..model.geometry import USES, Geometry, carrier
from ..model.model import Model
from ..model.quantity import numeric
from ..spatial.frames import Frame, compose, matrix
from ..spatial.inertia import Inertia, from_entries, plus, transformed
from ..spatial.rotations import IDENTITY, normalised, rotation_z_to
from ..spatial.vectors import ZERO, subtract
from .bodies.mesh_inertia import hull_of, volume_of
from .bodies.meshes import READERS, read_triangles

WIDEST = 1e3  # m; a shape that is farther away is no part of a robot
CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@dataclass(frozen=True)
class Shape:
    """Points (k, 3) around a body, the body at 1 kg/m^3, and the volume of its box.

    There is no `body` where the surface is open.
    """

    points: np.ndarray
    body: Inertia | None
    box: float

    @property
    def volume(self) -> float | None:
        """m^3"""
        return None if self.body is None else self.body.m


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
    bodies = [x.body for x in rows if x.body is not None]
    whole = reduce(plus, bodies) if len(bodies) == len(rows) else None
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
    at = compose(T, geometry.placement({}))
    place = np.array(matrix(at))
    body = None if shape.body is None else transformed(at, shape.body)
    return Shape(shape.points @ place[:3, :3].T + place[:3, 3], body, shape.box)


def _solid(x: Geometry) -> Shape | None:
    if x.kind in ("mesh", "hull"):
        path = file_of(x)
        if path is None or path.suffix.lower() not in READERS:  # others need a package
            return None
        corners = read_triangles(path) * np.array(x.scale)
        corners = hull_of(corners) if x.kind == "hull" else corners
        points = corners.reshape(-1, 3)
        return Shape(points, volume_of(corners), float(np.prod(np.ptp(points, axis=0))))
    r = x.radius or 0.0
    if x.kind == "capsule":
        axis = subtract(x.to, x.from_)
        length = math.hypot(*axis)
        turn = rotation_z_to(normalised(axis)) if length else IDENTITY
        middle: Any = tuple(0.5 * (a + b) for a, b in zip(x.from_, x.to, strict=True))
        points = np.concatenate([CORNERS * 2.0 * r + end for end in np.array((x.from_, x.to))])
        body = transformed(Frame(turn, middle), _round(r, length, ends=True))
        return Shape(points, body, float(np.prod(np.ptp(points, axis=0))))
    if x.kind == "box":
        size = x.size
        volume = math.prod(size)
        a, b, c = (volume * s * s / 12.0 for s in size)
        body = Inertia(volume, ZERO, from_entries((b + c, a + c, a + b, 0.0, 0.0, 0.0)))
    else:
        length = x.length if x.kind == "cylinder" else 0.0
        size = (2.0 * r, 2.0 * r, length or 2.0 * r)
        body = _round(r, length, ends=x.kind == "sphere")
    return Shape(CORNERS * np.array(size), body, math.prod(size))


def _round(r: float, length: Any, ends: bool) -> Inertia:
    """A cylinder along z about its middle, with or without half balls at its ends."""
    m, ball = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r**3 if ends else 0.0
    along = m * r * r / 2.0 + ball * 0.4 * r * r
    across = m * (3.0 * r * r + length**2) / 12.0
    across += ball * (0.4 * r * r + 0.25 * length**2 + 0.375 * length * r)
    return Inertia(m + ball, ZERO, from_entries((across, across, along, 0.0, 0.0, 0.0)))
