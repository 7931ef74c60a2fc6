"""Shapes of a URDF: <visual> and <collision> as geometry of the model, and back.

What cannot be read (no shape, a size that is none) stays an element that is kept as it is. A shape
that did not change is written as its own element was: materials and textures stay with it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from ...errors import DynamisError
from ...spatial.frames import Frame, compose, inverse, point
from ...spatial.rotations import normalised, rotation_z_to
from ...spatial.vectors import subtract
from ..chain import chain
from ..geometry import USES, Geometry, Source, moved_shape
from ..model import Model
from ..pose import Pose, pose
from ..quantity import numeric
from .urdf_elements import numbers
from .urdf_kept import moved_files
from .urdf_write import spaced, urdf_frame

SIZES = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "mesh": ()}


def urdf_geometry(root: Element, model: Model, folder: Path | None) -> tuple[Geometry, ...]:
    """Shapes of a <robot> on links, frames and base of the model made of it.

    `folder` is that of the file.
    """
    known = {*model.link_names, *(frame.name for frame in model.frames), model.base_name}
    colours, found = _colours(root), []
    for link in root.findall("link"):
        name = str(link.get("name"))
        for element in link if name in known else ():
            if element.tag in USES and (shape := shape_of(element, folder, colours)) is not None:
                found.append(replace(shape, link=None if name == model.base_name else name))
    return tuple(found) if model.convention == "urdf" else _carried(model, found, back=True)


def _colours(root: Element) -> dict[str, tuple[int, int, int]]:
    """Materials of a <robot> that have a colour, by name."""
    found = {str(x.get("name")): _rgb(x) for x in root.findall("material")}
    return {name: colour for name, colour in found.items() if colour is not None}


def _rgb(material: Element) -> tuple[int, int, int] | None:
    colour = material.find("color")
    words = (colour.get("rgba") or "").split() if colour is not None else []
    try:
        r, g, b = (round(255 * min(max(float(x), 0.0), 1.0)) for x in words[:3])
    except ValueError:  # NaN too
        return None
    return r, g, b


def shape_of(
    element: Element, folder: Path | None, colours: Mapping[str, Any] | None = None
) -> Geometry | None:
    """One <visual> or <collision>, as its link sees it; None if it cannot be read.

    `colours` are those of materials that it may name.
    """
    origin, geometry = element.find("origin"), element.find("geometry")
    inner = geometry[0] if geometry is not None and len(geometry) else None
    if inner is None or inner.tag not in SIZES:
        return None
    given: dict[str, Any] = {"kind": inner.tag, "use": element.tag}
    try:
        for key in ("xyz", "rpy"):
            if origin is not None and origin.get(key):
                given[key] = numbers(origin, key, 3, element.tag)
        for key in SIZES[inner.tag]:
            found = numbers(inner, key, 3 if key == "size" else 1, inner.tag)
            given[key] = found if key == "size" else found[0]
        if inner.tag == "mesh":
            given["file"] = inner.get("filename")
            if inner.get("scale"):
                given["scale"] = numbers(inner, "scale", 3, "mesh")
        material = element.find("material")
        colour = None
        if material is not None:
            colour = _rgb(material) or (colours or {}).get(str(material.get("name")))
        return Geometry(**given, source=Source(folder, element, colour))
    except DynamisError:
        return None


def _carried(model: Model, shapes: Iterable[Geometry], back: bool = False) -> tuple[Geometry, ...]:
    """Shapes in the frames of a model's links in those of its URDF, or `back`."""
    c, found = chain(model, mobility=False), []
    for shape in shapes:
        if shape.link in model.link_names:
            i = model.link_names.index(str(shape.link))
            T = compose(inverse(urdf_frame(model, c, i)), c.bodies[i].user)
            shape = moved_shape(shape, inverse(T) if back else T)  # noqa: PLW2901
        found.append(shape)
    return tuple(found)


def put_geometry(robot: Element, model: Model, folder: Path | None) -> list[str]:
    """Add the shapes of a model to the links of a <robot>; returns what is written otherwise."""
    links = {str(x.get("name")): x for x in robot.findall("link")}
    root, shapes = robot[0], tuple(numeric(shape, model.values) for shape in model.geometry)
    shapes = shapes if model.convention == "urdf" else _carried(model, shapes)
    capsules = []
    for shape in shapes:
        link = links.get(shape.link or model.base_name, root)
        capsules += [str(shape.name)] if shape.kind == "capsule" else []
        for use in shape.use:
            link.extend(_elements(shape, use, folder))
    return capsules


def _elements(shape: Geometry, use: str, folder: Path | None) -> Iterator[Element]:
    """The elements of a shape: its own, changed where the shape was, or new ones."""
    source = shape.source or Source()
    if source.element is not None and source.element.tag == use:
        before, element = shape_of(source.element, source.folder), deepcopy(source.element)
        if before is None or replace(before, name=shape.name, link=shape.link) != shape:
            for tag in ("origin", "geometry"):
                for old in element.findall(tag):
                    element.remove(old)
            _describe(element, shape)
        yield moved_files(element, source.folder, folder)
        return
    for part in _plain_shapes(shape):
        element = Element(use, name=str(part.name))
        _describe(element, part)
        yield moved_files(element, source.folder, folder)


def _plain_shapes(shape: Geometry) -> Iterator[Geometry]:
    """What URDF has: of a capsule a cylinder and two spheres, which cover the same points."""
    if shape.kind != "capsule":
        yield shape
        return
    T = shape.placement({})
    a, b = (point(T, end) for end in (shape.from_, shape.to))
    middle, axis = tuple((x + y) / 2.0 for x, y in zip(a, b, strict=True)), subtract(b, a)
    length = math.hypot(*axis)
    own = {"link": shape.link, "use": shape.use, "radius": shape.radius}
    for end, name in ((a, "from"), (b, "to")):
        yield Geometry(kind="sphere", name=f"{shape.name}_{name}", xyz=end, **own)
    if length > 0.0:
        turn = pose(Frame(rotation_z_to(normalised(axis)), middle), "geometry")
        place = {"xyz": turn.xyz, "rpy": turn.rpy, "length": length}
        yield Geometry(kind="cylinder", name=shape.name, **place, **own)


def _describe(element: Element, shape: Geometry) -> None:
    """Add <origin> and <geometry>, first as other readers expect them."""
    place = Pose(shape.xyz, shape.rpy)
    origin = Element("origin", xyz=spaced(place.xyz), rpy=spaced(place.rpy))
    geometry = Element("geometry")
    kind = "mesh" if shape.kind == "hull" else shape.kind
    inner = SubElement(geometry, kind)
    for key in SIZES[kind]:
        value = getattr(shape, key)
        inner.set(key, spaced(value) if key == "size" else repr(float(value)))
    if kind == "mesh":
        inner.set("filename", str(shape.file))
        if shape.scale != (1.0, 1.0, 1.0):
            inner.set("scale", spaced(shape.scale))
    element.insert(0, origin)
    element.insert(1, geometry)
