"""Visual geometry of a URDF file: mesh files, boxes, cylinders, spheres."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ...errors import DynamisError
from ...model.formats.packages import mesh_file
from ...model.formats.tables import read_bytes
from ...model.formats.urdf_elements import numbers, parsed
from ...spatial.frames import from_xyz_rpy, matrix

LARGEST_FILE = 50_000_000  # bytes of one mesh
LARGEST_SIZE = 1000.0  # metres, of a shape
GREY = (176, 180, 186)
log = logging.getLogger("dynamis.studio")


@dataclass(frozen=True)
class Visual:
    """A body of one URDF link, `T` from the link's frame; `colour` None: the mesh has its own."""

    link: str
    T: np.ndarray
    mesh: Any  # trimesh.Trimesh
    colour: tuple[int, int, int] | None


class Visuals(tuple[Visual, ...]):
    """The bodies of a file that can be drawn; `skipped` says which cannot, and why."""

    skipped: tuple[str, ...]

    def __new__(cls, drawn: Iterable[Visual] = (), skipped: Iterable[str] = ()) -> "Visuals":
        """Both."""
        made = super().__new__(cls, drawn)
        made.skipped = tuple(skipped)
        return made


def read_visuals(path: Path) -> Visuals:
    """What can be drawn of a URDF file; of any other, or none, nothing."""
    if path.suffix.lower() != ".urdf" or not path.is_file():
        return Visuals()
    try:
        root = parsed(read_bytes(path))
    except DynamisError:
        return Visuals()
    materials = {m.get("name"): _rgb(m) for m in root.findall("material") if _rgb(m)}
    found, skipped = [], []
    for link in root.findall("link"):
        for element in link.findall("visual"):
            try:
                found.append(_visual(str(link.get("name")), element, path, materials))
            except Exception as error:  # readers of meshes raise whatever they like
                why = str(error).splitlines() or [type(error).__name__]
                skipped.append(f"{link.get('name')}: {why[0][:200]}")
    if skipped:
        count = f"{len(skipped)} of {len(skipped) + len(found)}"
        log.warning("%s visuals of %s cannot be drawn (%s)", count, path.name, "; ".join(skipped))
    return Visuals(found, skipped)


def _visual(link: str, element: Element, path: Path, materials: Any) -> Visual:
    origin, where = element.find("origin"), f"visual of {link!r}"
    xyz, rpy = (
        numbers(origin, key, 3, where) if origin is not None and origin.get(key) else (0.0,) * 3
        for key in ("xyz", "rpy")
    )
    T = np.array(matrix(from_xyz_rpy(xyz, rpy)))  # type: ignore[arg-type]
    mesh = _mesh(element.find("geometry"), path, where)
    material = element.find("material")
    colour = None
    if material is not None:
        colour = _rgb(material) or materials.get(material.get("name"))
    own = getattr(mesh.visual, "defined", False)
    return Visual(link, T, mesh, colour or (None if own else GREY))


def _mesh(geometry: Element | None, path: Path, where: str) -> Any:
    import trimesh

    shape = geometry[0] if geometry is not None and len(geometry) else None
    if shape is None:
        raise ValueError("there is no geometry")
    if shape.tag == "box":
        return trimesh.creation.box(_sizes(numbers(shape, "size", 3, where)))
    if shape.tag == "sphere":
        (radius,) = _sizes(numbers(shape, "radius", 1, where))
        return trimesh.creation.icosphere(subdivisions=3, radius=radius)
    if shape.tag == "cylinder":
        radius, length = _sizes(numbers(shape, k, 1, where)[0] for k in ("radius", "length"))
        return trimesh.creation.cylinder(radius, length, sections=32)
    if shape.tag != "mesh":
        raise ValueError(f"<{shape.tag}> is no shape")
    file = mesh_file(shape.get("filename") or "", path)
    if file is None:
        raise ValueError(f"{shape.get('filename')!r} is not there, or no mesh that can be read")
    if file.stat().st_size > LARGEST_FILE:
        raise ValueError(f"{file.name} has more than {LARGEST_FILE // 10**6} MB")
    mesh = trimesh.load(file, force="mesh")
    if shape.get("scale"):
        mesh.apply_scale(numbers(shape, "scale", 3, where))
    if not len(mesh.faces) or not np.isfinite(mesh.vertices).all():  # type: ignore[union-attr]
        raise ValueError(f"{file.name} has no faces")
    return mesh


def _sizes(given: Iterable[float]) -> list[float]:
    """Lengths that can be drawn."""
    found = list(given)
    if not all(0.0 < x < LARGEST_SIZE for x in found):
        raise ValueError(f"{found} are no sizes")
    return found


def _rgb(material: Element) -> tuple[int, int, int] | None:
    colour = material.find("color")
    words = (colour.get("rgba") or "").split() if colour is not None else []
    try:
        r, g, b = (round(255 * min(max(float(x), 0.0), 1.0)) for x in words[:3])
    except ValueError:
        return None
    return r, g, b
