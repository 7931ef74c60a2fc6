"""The elements of a URDF, read strictly and still in the file's own frames.

https://wiki.ros.org/urdf/XML. Of an element that should be there once the first counts, as in other
readers. Elements of other tools (gazebo, visual, collision) are ignored and no file they name is
opened; of a <transmission> only the gear ratio is read, to say that it is not used.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.sax import ContentHandler, SAXParseException

from defusedxml import DefusedXmlException
from defusedxml.expatreader import create_parser

from ...arguments import one_of
from ...errors import FileError, ModelError, counted, warn
from ...spatial.inertia import turned_entries
from ...spatial.rotations import rotation_from_rpy
from ...spatial.vectors import ZERO, Vector
from ..model import refuse_twice
from .tables import MOST_ROWS, check_count

MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
REFUSED = ("floating", "planar")
TYPES = (*MOVING, "fixed")
NO_LIMIT = 1e9  # what is written where URDF wants a limit and the model has none
EXTENSION = "dynamis"
ENTRIES = ("ixx", "iyy", "izz", "ixy", "iyz", "ixz")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
# ROS: a variable of the shell, or else this
OPTIONAL = re.compile(r"\$\(optenv\s+\w+\s+([^()$]*)\)")
XACRO = (
    "this is a xacro file that was not expanded: run `xacro in.xacro > out.urdf` first, or call it "
    ".xacro and load it with run_xacro=True, which runs what the file says"
)
URDF = "a URDF: <robot> with links, joints"
MOST_ELEMENTS = 200_000  # of XML; a robot of a thousand links has some ten thousand
DEEPEST = 200  # elements within each other; MJCF nests the links of a chain


@dataclass(frozen=True)
class UrdfLink:
    """A link: mass, centre of mass and inertia (Ixx Iyy Izz Ixy Iyz Ixz) in the link's axes."""

    name: str
    mass: float = 0.0
    com: Vector | None = None
    inertia: tuple[float, ...] = (0.0,) * 6


@dataclass(frozen=True)
class UrdfJoint:
    """A joint between two named links."""

    name: str
    parent: str
    child: str
    kind: str = "fixed"
    xyz: Vector = ZERO
    rpy: Vector = ZERO
    axis: Vector = (0.0, 0.0, 1.0)
    limit: Mapping[str, float] = field(default_factory=dict)
    damping: float = 0.0
    friction: float = 0.0
    mimic: tuple[str, float, float] | None = None
    index: int | None = None  # of its link in the model
    helper: bool = False  # its link only carries the base, the tool or a payload
    extension: Element | None = None


@dataclass(frozen=True)
class Sketch:
    """Everything a URDF says that matters here."""

    name: str | None
    links: Mapping[str, UrdfLink]
    joints: tuple[UrdfJoint, ...]
    extension: Element | None = None
    reductions: Mapping[str, str] = field(default_factory=dict)  # of <transmission>, by joint


class _Elements(ContentHandler):
    """Elements by the names they are written with: prefixes need no declaration, xmlns no heed."""

    def __init__(self, text: bool) -> None:
        super().__init__()
        self.builder, self.count, self.depth, self.text = TreeBuilder(), 0, 0, text

    def startElement(self, name: str, attrs: Any) -> None:
        """An element begins."""
        self.count, self.depth = self.count + 1, self.depth + 1
        if self.depth > DEEPEST:
            raise FileError(
                f"is nested too deep, expected at most {DEEPEST} elements within each other"
            )
        if self.count > MOST_ELEMENTS:
            raise FileError(f"has more than {MOST_ELEMENTS} XML elements, expected a robot")
        self.builder.start(name, dict(attrs))

    def endElement(self, name: str) -> None:
        """An element ends."""
        self.depth -= 1
        self.builder.end(name)

    def characters(self, content: str) -> None:
        """Text between elements, where it matters."""
        if self.text:
            self.builder.data(content)


class _Root(ContentHandler):
    """The name of the first element, and no more."""

    def startElement(self, name: str, attrs: Any) -> None:
        """The first element begins."""
        raise _Found(name)


class _Found(Exception):  # noqa: N818
    pass


def root_name(data: bytes) -> str | None:
    """The name of the root element; None where there is none to be read."""
    reader = create_parser(forbid_dtd=True)
    reader.setContentHandler(_Root())
    try:
        reader.feed(data)
    except _Found as found:
        return str(found)
    except (DefusedXmlException, SAXParseException, ValueError, LookupError):
        return None
    return None


def parsed(data: bytes, expected: str = URDF, text: bool = False) -> Element:
    """The root element; entities and external references are refused, never followed.

    `expected` says in errors what the file should be; `text` keeps what is between elements.
    """
    elements, reader = _Elements(text), create_parser(forbid_dtd=True)
    reader.setContentHandler(elements)
    try:
        reader.feed(data)  # in one piece: what spans several is read again and again
        reader.close()
    except FileError:
        raise
    except DefusedXmlException as error:
        raise FileError(
            f"has a document type or entities ({type(error).__name__}), which are refused",
            f"expected {expected}, which needs none: remove the <!DOCTYPE ...> part",
        ) from None
    except SAXParseException as error:
        at = f"line {error.getLineNumber()}, column {error.getColumnNumber()}"
        raise FileError(
            f"is not valid XML: {error.getMessage()}: {at}",
            f"expected {expected}",
        ) from None
    except (ValueError, LookupError) as error:  # encodings
        raise FileError(f"is not valid XML: {error}") from None
    return elements.builder.close()


def sketch(root: Element) -> Sketch:
    """Links and joints of a <robot> element."""
    if root.tag != "robot":
        raise FileError(
            f"the root element is <{root.tag}>, expected <robot> (a URDF)",
            "dy.load also reads <mujoco> (MJCF) and <sdf>",
        )
    for element in root.iter():
        prefix = element.tag.rpartition(":")[0]
        if prefix == "xacro" or root.get(f"xmlns:{prefix}", "").endswith("/xacro"):
            raise FileError(f"still has the xacro element <{element.tag}>", XACRO)
    check_count(len(root.findall("link")), "link", 10 * MOST_ROWS)
    if len(root.findall(EXTENSION)) > 1:
        raise ModelError(f"has several <{EXTENSION}> elements, expected one", "keep one of them")
    links = [_link(element) for element in root.findall("link")]
    joints = [_joint(element) for element in root.findall("joint")]
    refuse_twice("link", (link.name for link in links))
    refuse_twice("joint", (joint.name for joint in joints))
    if not links:
        raise ModelError("the <robot> has no <link>, expected at least two and a joint")
    return Sketch(
        root.get("name") or None,
        {x.name: x for x in links},
        tuple(joints),
        root.find(EXTENSION),
        _reductions(root),
    )


def _reductions(root: Element) -> dict[str, str]:
    """Gear ratios other than 1 in the <transmission> elements, which belong to ros_control."""
    found: dict[str, str] = {}
    for element in root.findall("transmission"):
        ratios = [(x.text or "").strip() for x in element.iter("mechanicalReduction")]
        other = [x for x in ratios if NUMBER.fullmatch(x) and float(x) != 1.0]
        names = [name for x in element.findall("joint") if (name := x.get("name"))]
        found |= dict.fromkeys(names, other[0]) if other else {}
    return found


def _link(element: Element) -> UrdfLink:
    name = _name(element, "link")
    inertial = element.find("inertial")
    if inertial is None:
        return UrdfLink(name)
    where = f"link {name!r}"
    mass = numbers(_required(inertial, "mass", where), "value", 1, where)[0]
    if mass < 0:
        raise ModelError(f"{where} has mass {mass}, expected >= 0")
    tensor = _required(inertial, "inertia", where)
    inertia = tuple(numbers(tensor, key, 1, where)[0] for key in ENTRIES)
    xyz, rpy = _origin(inertial, where)
    if any(rpy):
        inertia = turned_entries(inertia, rotation_from_rpy(rpy))
    return UrdfLink(name, mass, xyz, inertia)


def _joint(element: Element) -> UrdfJoint:
    name = _name(element, "joint")
    where = f"joint {name!r}"
    kind = element.get("type")
    if kind in REFUSED:
        raise ModelError(
            f"{where} is {kind}, which is not supported: expected {', '.join(TYPES)}",
            "an arm stands on a fixed base: make the joint fixed",
        )
    one_of(kind, TYPES, f"{where} has type {kind!r}", ModelError)
    xyz, rpy = _origin(element, where)
    axis: Vector = (1.0, 0.0, 0.0)  # URDF's default
    if kind != "fixed" and (given := element.find("axis")) is not None:
        axis = numbers(given, "xyz", 3, where)  # type: ignore[assignment]
        if not any(axis):
            raise ModelError(f"{where} has axis 0 0 0, expected a direction")
    limit = element.find("limit")
    dynamics = element.find("dynamics")
    extension = element.find(EXTENSION)
    marks = {} if extension is None else extension.attrib
    index = marks.get("index", "")
    return UrdfJoint(
        name=name,
        kind=str(kind),
        parent=_text(_required(element, "parent", where), "link", where),
        child=_text(_required(element, "child", where), "link", where),
        xyz=xyz,
        rpy=rpy,
        axis=axis,
        limit=_optional(limit, ("lower", "upper", "effort", "velocity"), where),
        damping=_optional(dynamics, ("damping",), where).get("damping", 0.0),
        friction=_optional(dynamics, ("friction",), where).get("friction", 0.0),
        mimic=_mimic(element.find("mimic"), where) if kind != "fixed" else None,
        index=int(index) if index.isdecimal() else None,
        helper="helper" in marks,
        extension=extension,
    )


def _mimic(element: Element | None, where: str) -> tuple[str, float, float] | None:
    if element is None:
        return None
    given = _optional(element, ("multiplier", "offset"), where)
    leader = _text(element, "joint", where)
    return leader, given.get("multiplier", 1.0), given.get("offset", 0.0)


def _name(element: Element, what: str) -> str:
    name = element.get("name")
    if not name:
        raise ModelError(f'a <{what}> has no name, expected <{what} name="...">')
    return name


def _required(element: Element, tag: str, where: str) -> Element:
    found = element.find(tag)
    if found is None:
        raise ModelError(f"{where}: <{element.tag}> has no <{tag}>")
    return found


def _text(element: Element, key: str, where: str) -> str:
    value = element.get(key)
    if not value:
        raise ModelError(f'{where}: <{element.tag}> has no {key}="..."')
    return value


def _origin(element: Element, where: str) -> tuple[Vector, Vector]:
    origin = element.find("origin")
    if origin is None:
        return ZERO, ZERO
    given = {k: numbers(origin, k, 3, where) for k in ("xyz", "rpy") if origin.get(k) is not None}
    return given.get("xyz", ZERO), given.get("rpy", ZERO)  # type: ignore[return-value]


def _optional(element: Element | None, keys: tuple[str, ...], where: str) -> dict[str, float]:
    if element is None:
        return {}
    return {k: numbers(element, k, 1, where)[0] for k in keys if element.get(k) is not None}


def numbers(element: Element, key: str, count: int, where: str) -> tuple[float, ...]:
    """Exactly `count` finite numbers of an attribute."""
    text = _text(element, key, where)
    what = f"{where}: <{element.tag}> {key} is {text!r}"
    if OPTIONAL.search(text):
        text = OPTIONAL.sub(r"\1", text)
        warn(f"{what}: {text!r} is taken, its default")
    words = text.split()
    expected = f"expected {count} finite number" + ("s" if count > 1 else "")
    hint = XACRO if "${" in text or "$(" in text else None
    if len(words) != count:
        raise ModelError(f"{what}, {counted(len(words), 'word')}, {expected}", hint)
    values = finite(words)
    if values is None:
        raise ModelError(f"{what}, {expected}", hint)
    return values


def finite(words: list[str]) -> tuple[float, ...] | None:
    """The numbers of a text; None if one is no number, or not finite."""
    values = tuple(float(word) for word in words if NUMBER.fullmatch(word))
    return values if len(values) == len(words) and all(map(math.isfinite, values)) else None
