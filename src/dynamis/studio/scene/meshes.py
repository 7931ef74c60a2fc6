"""Shapes of a robot to draw: those for the eye, or else those for collision."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...lazy import once
from ...model.formats.packages import file_of
from ...model.geometry import Geometry, carrier
from ...model.quantity import numeric
from ...robot import Robot
from ...spatial.frames import compose, matrix
from ...spatial.rotations import normalised, rotation_z_to
from ...spatial.vectors import subtract

LARGEST_FILE = 50_000_000  # bytes of one mesh
LARGEST_SIZE = 1000.0  # metres, of a shape
KEPT_FILES = 64  # meshes as they were read: an edit of a robot reads none again
SECTIONS = 32
GREY = (176, 180, 186)
log = logging.getLogger("dynamis.studio")


@dataclass(frozen=True)
class Visual:
    """A shape to draw, `T` from the frame that carries it: 0 the base, 1, 2, ... the links.

    `on` names its link or named frame; `colour` None: the mesh has its own.
    """

    on: str
    row: int
    T: np.ndarray
    mesh: Any  # trimesh.Trimesh
    colour: tuple[int, int, int] | None


class Visuals(tuple[Visual, ...]):
    """The shapes of a robot that can be drawn; `skipped` says which cannot, and why."""

    skipped: tuple[str, ...]

    def __new__(cls, drawn: Iterable[Visual] = (), skipped: Iterable[str] = ()) -> "Visuals":
        """Both."""
        made = super().__new__(cls, drawn)
        made.skipped = tuple(skipped)
        return made


def visuals_of(robot: Robot) -> Visuals:
    """What can be drawn of a robot's shapes, made once."""
    return once(robot, "visuals", lambda: _visuals(robot))


def _visuals(robot: Robot) -> Visuals:
    model = robot.model
    shapes = [x for x in model.geometry if "visual" in x.use] or model.geometry
    found, skipped = [], []
    for shape in shapes:
        on = shape.link or model.base_name
        try:
            found.append(_visual(robot, shape, on))
        except Exception as error:  # readers of meshes raise whatever they like
            why = str(error).splitlines() or [type(error).__name__]
            skipped.append(f"{on}: {why[0][:200]}")
    if skipped:
        count = f"{len(skipped)} of {len(shapes)}"
        log.warning("%s visuals of %s cannot be drawn (%s)", count, robot.name, "; ".join(skipped))
    return Visuals(found, skipped)


def _visual(robot: Robot, shape: Geometry, on: str) -> Visual:
    values = robot.model.values
    i, place = carrier(robot.model, shape.link)
    own = numeric(shape, values)
    mesh = _mesh(own)
    T = np.array(matrix(compose(place, own.placement({}))))
    colour = None if shape.source is None else shape.source.colour
    coloured = getattr(mesh.visual, "defined", False)
    return Visual(on, i + 1, T, mesh, colour or (None if coloured else GREY))


def _mesh(shape: Any) -> Any:
    import trimesh

    make = trimesh.creation
    if shape.kind in ("mesh", "hull"):
        file = file_of(shape)
        if file is None:
            raise ValueError(f"{shape.file!r} is not there, or no mesh that can be read")
        status = file.stat()
        if status.st_size > LARGEST_FILE:
            raise ValueError(f"{file.name} has more than {LARGEST_FILE // 10**6} MB")
        mesh = _read(file, status.st_mtime_ns).copy()
        mesh.apply_scale(shape.scale)
        return mesh.convex_hull if shape.kind == "hull" else mesh
    if shape.kind == "box":
        return make.box(_sizes(shape.size))
    (radius,) = _sizes((shape.radius,))
    if shape.kind == "sphere":
        return make.icosphere(subdivisions=3, radius=radius)
    if shape.kind == "cylinder":
        return make.cylinder(radius, *_sizes((shape.length,)), sections=SECTIONS)
    axis = subtract(shape.to, shape.from_)
    length = float(np.linalg.norm(axis))
    T = np.eye(4)
    if length > 0.0:
        T[:3, :3] = rotation_z_to(normalised(axis))
    T[:3, 3] = 0.5 * np.add(shape.from_, shape.to)
    return make.capsule(height=length, radius=radius, count=[SECTIONS, SECTIONS], transform=T)


@lru_cache(KEPT_FILES)
def _read(file: Path, changed: int) -> Any:
    """A mesh as it is in its file, which was `changed` at a time."""
    import trimesh

    mesh: Any = trimesh.load(file, force="mesh")
    if not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
        raise ValueError(f"{file.name} has no faces")
    return mesh


def _sizes(given: Iterable[float]) -> list[float]:
    """Lengths that can be drawn."""
    found = list(given)
    if not all(0.0 < x < LARGEST_SIZE for x in found):
        raise ValueError(f"{found} are no sizes")
    return found
