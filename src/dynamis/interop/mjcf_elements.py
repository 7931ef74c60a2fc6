"""What MJCF's elements say: units, defaults by class, poses. https://mujoco.readthedocs.io/XML"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

from ..errors import FileError, ModelError
from ..model.source import plain_message
from ..model.urdf_elements import numbers, parsed
from ..spatial.frames import Frame
from ..spatial.rotations import (
    IDENTITY,
    Matrix3,
    multiply,
    normalised,
    rotation_from_axis_angle,
    rotation_from_quaternion,
    rotation_x,
    rotation_y,
    rotation_z,
    transpose,
)
from ..spatial.vectors import ZERO, Vector, cross, dot, scale, subtract

TURNS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
ABOUT = {"x": rotation_x, "y": rotation_y, "z": rotation_z}


@dataclass(frozen=True)
class Units:
    """How a file writes angles, and the defaults of its classes: class -> element -> attributes."""

    degrees: bool = True
    sequence: str = "xyz"
    defaults: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)

    def angle(self, x: float) -> float:
        """Radians."""
        return math.radians(x) if self.degrees else x

    def filled(self, element: Element, inherited: str) -> Element:
        """The element with the defaults of its class, or of the class it inherits."""
        name = element.get("class", inherited)
        if name not in self.defaults:
            raise ModelError(f"<{element.tag}> has class {name!r}, which no <default> defines")
        whole = Element(element.tag, dict(self.defaults[name].get(str(element.tag), {})))
        if any(element.get(x) for x in TURNS):
            for turn in TURNS:
                whole.attrib.pop(turn, None)
        whole.attrib.update(element.attrib)
        return whole


def mjcf_root(data: bytes) -> Element:
    """The <mujoco> element; document types, entities and other files are refused."""
    try:
        root = parsed(data)
    except FileError as error:
        raise FileError(
            plain_message(error), "expected MJCF: <mujoco> with a <worldbody>"
        ) from None
    if root.tag != "mujoco":
        raise FileError(f"the root element is <{root.tag}>, expected <mujoco> (MJCF)")
    return root


def units_of(root: Element) -> Units:
    """What the <compiler> and <default> elements say."""
    told = {key: text for x in root.findall("compiler") for key, text in x.attrib.items()}
    if told.get("coordinate", "local") != "local":
        raise ModelError(f"coordinate is {told['coordinate']!r}, expected 'local'")
    sequence = told.get("eulerseq", "xyz")
    if len(sequence) != 3 or not set(sequence.lower()) <= set("xyz"):
        raise ModelError(f"eulerseq is {sequence!r}, expected three of x, y, z")
    defaults: dict[str, dict[str, dict[str, str]]] = {"main": {}}
    todo = [(x, x.get("class", "main"), {}) for x in root.findall("default")]
    main = {name for _, name, _ in todo}
    while todo:
        element, name, above = todo.pop(0)
        own = {tag: dict(rows) for tag, rows in {**above, **defaults.get(name, {})}.items()}
        for child in element:
            if child.tag != "default":
                own.setdefault(str(child.tag), {}).update(child.attrib)
        defaults[name] = own
        for child in element.findall("default"):
            if not child.get("class"):
                raise ModelError('a <default> inside another has no class="..."')
            todo.append((child, child.attrib["class"], own))
    for name in main - {"main"}:  # the outermost class may have a name of its own
        defaults["main"] = {**defaults["main"], **defaults[name]}
    return Units(told.get("angle", "degree") != "radian", sequence, defaults)


def place_of(element: Element, units: Units, where: str) -> Frame:
    """pos and one of quat, axisangle, euler, xyaxes, zaxis."""
    given = [x for x in TURNS if element.get(x) is not None]
    if len(given) > 1:
        raise ModelError(f"{where}: <{element.tag}> has both {given[0]} and {given[1]}")
    R = _turn(element, given[0], units, where) if given else IDENTITY
    return Frame(R, triple(element, "pos", ZERO, where))


def triple(element: Element, key: str, default: Vector, where: str) -> Vector:
    """Three numbers, or the default."""
    if element.get(key) is None:
        return default
    return numbers(element, key, 3, where)  # type: ignore[return-value]


def number(element: Element, key: str, default: float, where: str) -> float:
    """One number, or the default."""
    return default if element.get(key) is None else numbers(element, key, 1, where)[0]


def _turn(element: Element, key: str, units: Units, where: str) -> Matrix3:
    count = {"quat": 4, "axisangle": 4, "xyaxes": 6}.get(key, 3)
    v: Any = numbers(element, key, count, where)
    if key == "euler":
        R = IDENTITY
        for letter, angle in zip(units.sequence, v, strict=True):
            turn = ABOUT[letter.lower()](units.angle(angle))
            R = multiply(R, turn) if letter.islower() else multiply(turn, R)
        return R
    if not any(v[:3]) and (key != "quat" or not v[3]):
        raise ModelError(
            f"{where}: <{element.tag}> {key} is {element.get(key)!r}, has no direction"
        )
    if key == "quat":
        w, x, y, z = v
        return rotation_from_quaternion((x, y, z, w))
    if key == "axisangle":
        return rotation_from_axis_angle(normalised(v[:3]), units.angle(v[3]))
    if key == "zaxis":
        return _smallest(normalised(v))
    return _columns(v[:3], v[3:], where)


def _smallest(z: Vector) -> Matrix3:
    """The smallest rotation that takes z there; a half turn about x to -z."""
    axis = cross((0.0, 0.0, 1.0), z)
    size = math.sqrt(dot(axis, axis))
    if size < 1e-12:
        return rotation_from_axis_angle((1.0, 0.0, 0.0), 0.0 if z[2] > 0 else math.pi)
    return rotation_from_axis_angle(scale(1.0 / size, axis), math.atan2(size, z[2]))


def _columns(x: Vector, y: Vector, where: str) -> Matrix3:
    """x and y made orthonormal, and their cross product, as columns."""
    x = normalised(x)
    y = subtract(y, scale(dot(x, y), x))
    if dot(y, y) < 1e-20:
        raise ModelError(f"{where}: xyaxes are parallel, expected two directions")
    y = normalised(y)
    return transpose((x, y, cross(x, y)))
