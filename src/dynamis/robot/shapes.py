"""Size and volume of links by the shapes of their URDF: STL meshes, boxes, cylinders, spheres.

A mesh is data: files of at most LARGEST bytes are read, and only where `mesh_file` finds them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from ..errors import DynamisError
from ..model.formats.packages import mesh_file
from ..model.formats.urdf_elements import numbers
from ..model.model import Model
from ..spatial.frames import Frame, compose, from_xyz_rpy, matrix

LARGEST = 50_000_000  # bytes of a mesh
LARGEST_TEXT = 5_000_000  # bytes of a mesh in words
VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
HEAD = 84  # bytes before the triangles
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
    kept = model.kept_elements
    if kept is None or kept.folder is None or model.convention != "urdf":
        return {}
    file, found = kept.folder / "robot.urdf", {}
    for link in model.link_names:
        parts = [(link, Frame())]
        parts += [(x.name, x.pose.frame(model.values)) for x in model.frames if x.link == link]
        for tag in ("collision", "visual"):
            rows = [(x, T) for name, T in parts for x in kept.links.get(name, ()) if x.tag == tag]
            shapes = [_shape(element, T, file) for element, T in rows]
            if shapes and None not in shapes:
                found[link] = _together(x for x in shapes if x is not None)
    return found


def _together(shapes: Iterable[Shape]) -> Shape:
    rows = list(shapes)
    volumes = [x.volume for x in rows if x.volume is not None]
    whole = sum(volumes) if len(volumes) == len(rows) else None
    return Shape(np.concatenate([x.points for x in rows]), whole, sum(x.box for x in rows))


def _shape(element: Element, T: Frame, file: Path) -> Shape | None:
    """One visual or collision element as its link sees it; None if it cannot be read."""
    origin, geometry = element.find("origin"), element.find("geometry")
    if geometry is None or not len(geometry):
        return None
    try:
        xyz, rpy = (
            numbers(origin, key, 3, element.tag) if origin is not None and origin.get(key) else None
            for key in ("xyz", "rpy")
        )
        with np.errstate(all="ignore"):  # a mesh may hold anything
            shape = _solid(geometry[0], file)
    except (DynamisError, OSError, ValueError):
        return None
    if shape is None or not (np.abs(shape.points) < WIDEST).all():  # of what is not a number either
        return None
    zero = (0.0, 0.0, 0.0)
    place = np.array(matrix(compose(T, from_xyz_rpy(xyz or zero, rpy or zero))))  # type: ignore[arg-type]
    return Shape(shape.points @ place[:3, :3].T + place[:3, 3], shape.volume, shape.box)


def _solid(element: Element, file: Path) -> Shape | None:
    if element.tag == "mesh":
        path = mesh_file(element.get("filename") or "", file)
        scale = numbers(element, "scale", 3, "mesh") if element.get("scale") else (1.0, 1.0, 1.0)
        corners = None if path is None else stl_triangles(path)
        return None if corners is None else _mesh(corners * np.array(scale))
    if element.tag == "box":
        size, part = np.array(numbers(element, "size", 3, "box")), 1.0
    elif element.tag == "sphere":
        size, part = np.full(3, 2.0 * numbers(element, "radius", 1, "sphere")[0]), np.pi / 6.0
    elif element.tag == "cylinder":
        r, length = (numbers(element, key, 1, "cylinder")[0] for key in ("radius", "length"))
        size, part = np.array([2.0 * r, 2.0 * r, length]), np.pi / 4.0
    else:
        return None
    box = float(np.prod(size))
    return Shape(CORNERS * size, part * box, box) if (size > 0.0).all() else None


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


def stl_triangles(path: Path) -> np.ndarray | None:
    """Corners (k, 3, 3) of a mesh in an STL file, binary or text; None if it is none."""
    size = path.stat().st_size
    if path.suffix.lower() != ".stl" or not HEAD <= size <= LARGEST:
        return None
    data = path.read_bytes()
    count = int.from_bytes(data[HEAD - 4 : HEAD], "little")
    if count and size == HEAD + count * TRIANGLE.itemsize:
        return np.frombuffer(data, TRIANGLE, count, HEAD)["corners"].astype(float)
    words = VERTEX.findall(data) if data[:5] == b"solid" and size <= LARGEST_TEXT else []
    return np.array(words, dtype=float).reshape(-1, 3, 3) if words and len(words) % 3 == 0 else None
