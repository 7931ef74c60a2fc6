"""A model as standard URDF elements, so that any other reader sees the same arm.

A DH arm gets one URDF link per joint, at the canonical joint frame with axis 0 0 1; a URDF model
keeps its own frames. Links that exist only to carry the base, the tool or a payload are helpers.
"""

import math
import re
from collections.abc import Container, Iterable
from xml.etree.ElementTree import Element, SubElement

from ...arguments import duplicate
from ...errors import FileError
from ...spatial.frames import Frame, compose, inverse, point
from ...spatial.functions import MATH
from ...spatial.inertia import (
    Inertia,
    entries,
    from_com,
    from_entries,
    linear,
    to_com,
    transformed,
    turned_entries,
)
from ...spatial.vectors import ZERO, Vector
from ..chain import Chain, chain
from ..link import Link
from ..model import Model
from ..pose import Pose, pose
from ..quantity import resolve
from .urdf_elements import ENTRIES, NO_LIMIT

ROUNDING = 1e-15  # of a sum, next to its largest term
SAME = 1e-9  # relative: two inertias or placements closer than this are the same
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Body = tuple[float, Vector, tuple[float, ...]]  # mass, centre of mass, Ixx Iyy Izz Ixy Iyz Ixz
NOTHING: Body = (0.0, ZERO, (0.0,) * 6)


def standard_robot(model: Model) -> tuple[Element, str, list[str]]:
    """The <robot> element without extension, the URDF link that is the tool, and the helpers."""
    c = chain(model)
    names = _Names(model)
    robot = Element("robot", name=writable(model.name))
    _link(robot, names.root, NOTHING)
    if names.base is not None:
        _fixed(robot, names, (names.root, names.base), _numeric(model, model.base), helper=True)
    for i, link in enumerate(model.links):
        _link(robot, str(link.name), _link_body(model, i, c))
        parent = names.root if c.joints[i].parent < 0 else model.link_names[c.joints[i].parent]
        _joint(robot, model, i, c, parent)
    for frame in model.frames:
        place = _on_link(model, c, frame.link, frame.pose)
        _fixed(robot, names, (frame.link or names.root, frame.name), place)
    return robot, _tool(robot, model, c, names), names.helpers


class _Names:
    """URDF names: links and frames keep theirs, helpers take what is free."""

    def __init__(self, model: Model):
        self.joints = set(model.tree_joint_names)
        self.helpers: list[str] = []
        names = (*model.link_names, *(frame.name for frame in model.frames))
        if (twice := duplicate(names)) is not None:
            raise FileError(f"two links or frames are called {twice!r}, URDF needs one name each")
        self.links = set(names)
        moved = model.base != Pose()
        self.root = self.link("world" if moved else model.base_name)
        self.base = self.link(model.base_name) if moved else None

    def link(self, wanted: str) -> str:
        self.links.add(name := free_name(wanted, self.links))
        return name

    def joint(self, wanted: str) -> str:
        self.joints.add(name := free_name(wanted, self.joints))
        return name


def free_name(wanted: str, taken: Container[str]) -> str:
    """The name itself, or with a number where it is taken."""
    name, k = wanted, 1
    while name in taken:
        name, k = f"{wanted}_{k}", k + 1
    return name


def writable(text: str) -> str:
    """The text itself, if XML can hold it."""
    bad = UNWRITABLE.search(text)
    if bad:
        raise FileError(
            f"{text!r} contains {bad.group()!r}, which no XML file can hold",
            "rename it, or save the robot as .toml",
        )
    return text


def spaced(values: Iterable[float]) -> str:
    """Numbers as URDF writes them; each reads back as the same float."""
    return " ".join(repr(float(x)) for x in values)


def urdf_frame(model: Model, c: Chain, i: int) -> Frame:
    """The URDF link frame of link i seen from its canonical joint frame."""
    return c.bodies[i].user if model.convention == "urdf" else Frame()


def _on_link(model: Model, c: Chain, link: str | None, place: Pose) -> Pose:
    """A pose in the user's link (or base) frame, seen from the URDF link's."""
    if link is None and model.base != Pose():
        return pose(compose(c.base, place.frame(model.values)), "frame")
    if link is None or model.convention == "urdf":
        return _numeric(model, place)
    user = c.bodies[model.link_names.index(link)].user
    return pose(compose(user, place.frame(model.values)), "frame")


def _numeric(model: Model, place: Pose) -> Pose:
    return Pose(resolve(place.xyz, model.values), resolve(place.rpy, model.values))


def _connect(joint: Element, ends: tuple[str, str], place: Pose) -> None:
    SubElement(joint, "parent", link=ends[0])
    SubElement(joint, "child", link=ends[1])
    SubElement(joint, "origin", xyz=spaced(place.xyz), rpy=spaced(place.rpy))


def _fixed(
    robot: Element,
    names: _Names,
    ends: tuple[str, str],
    place: Pose,
    helper: bool = False,
    body: Body = NOTHING,
) -> None:
    """A link fixed to another."""
    _link(robot, ends[1], body)
    name = names.joint(f"{ends[1]}_fixed")
    joint = SubElement(robot, "joint", name=name, type="fixed")
    _connect(joint, ends, place)
    names.helpers += [ends[1]] if helper else []


def _tool(robot: Element, model: Model, c: Chain, names: _Names) -> str:
    """The tool's URDF link: one that is there already, or a helper (which carries the payload)."""
    carrier = model.link_names[model.tip]
    if model.payload is None:
        if model.tool_name == carrier and model.tool == Pose() and model.convention == "urdf":
            return carrier
        for frame in model.frames:
            if (frame.name, frame.link, frame.pose) == (model.tool_name, carrier, model.tool):
                return frame.name
    body = NOTHING
    if model.payload is not None:
        load = model.payload
        body = _writable_body(*resolve((load.mass, load.com, load.inertia), model.values))
    name = names.link(model.tool_name)
    place = _on_link(model, c, carrier, model.tool)
    _fixed(robot, names, (carrier, name), place, helper=True, body=body)
    return name


def _joint(robot: Element, model: Model, i: int, c: Chain, parent: str) -> None:
    link = model.links[i]
    name = writable(str(link.joint_name))
    joint = SubElement(robot, "joint", name=name, type=link.joint)
    _connect(joint, (parent, str(link.name)), _joint_origin(model, i, c))
    axis = link.axis if model.convention == "urdf" and link.axis is not None else (0.0, 0.0, 1.0)
    SubElement(joint, "axis", xyz=spaced(axis))
    _limit(joint, link, model)
    resistance = c.resistances[i]
    viscous, mean = resistance.mean_viscous, resistance.mean_coulomb
    if viscous or mean:
        SubElement(joint, "dynamics", damping=repr(float(viscous)), friction=repr(float(mean)))
    if link.mimic is not None:
        leader, *rest = link.mimic
        factor, offset = (repr(float(resolve(x, model.values))) for x in rest)
        SubElement(joint, "mimic", joint=str(leader), multiplier=factor, offset=offset)


def _joint_origin(model: Model, i: int, c: Chain) -> Pose:
    link, parent = model.links[i], c.joints[i].parent
    untouched = link.offset == 0.0 and (parent >= 0 or model.base == Pose())
    if model.convention == "urdf" and untouched:
        return _numeric(model, Pose(link.xyz or ZERO, link.rpy or ZERO))
    above = Frame() if parent < 0 else urdf_frame(model, c, parent)
    placement = compose(compose(inverse(above), c.joints[i].placement), urdf_frame(model, c, i))
    return pose(placement, "origin")


def _limit(joint: Element, link: Link, model: Model) -> None:
    """URDF wants all four numbers: what the model leaves open is NO_LIMIT."""
    lower, upper = link.limits or (-NO_LIMIT, NO_LIMIT)
    bounds = {"lower": lower, "upper": upper}
    for key, value in (("effort", link.effort_limit), ("velocity", link.velocity_limit)):
        bounds[key] = NO_LIMIT if value is None else value
    texts = {key: repr(float(resolve(x, model.values))) for key, x in bounds.items()}
    SubElement(joint, "limit", texts)


def _link(robot: Element, name: str, body: Body) -> None:
    link = SubElement(robot, "link", name=writable(name))
    m, com, tensor = body
    if not (m or any(tensor)):
        return
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=spaced(com), rpy="0 0 0")
    SubElement(inertial, "mass", value=repr(float(m)))
    texts = {k: repr(float(x)) for k, x in zip(ENTRIES, tensor, strict=True)}
    SubElement(inertial, "inertia", texts)


def _link_body(model: Model, i: int, c: Chain) -> Body:
    """Mass, centre of mass and inertia of link i in its URDF link frame, payload not included."""
    link, values = model.links[i], model.values
    user = Frame() if model.convention == "urdf" else c.bodies[i].user
    if link.linear is not None:
        return com_form(transformed(user, link.body(values, MATH)))
    com, tensor = link.centre(values), resolve(link.inertia, values)
    if user != Frame():
        com, tensor = point(user, com), turned_entries(tensor, user.R)
    return _writable_body(resolve(link.mass, values), com, tensor)


def _writable_body(m: float, com: Vector, tensor: tuple[float, ...]) -> Body:
    return (m, com, tensor) if m >= 0 else com_form(from_com(m, com, from_entries(tensor)))


def com_form(body: Inertia) -> Body:
    """What <inertial> can say of a body: all of it, or its moments if the mass forbids more."""
    if body.m > 0:
        m, com, I = to_com(body)
        if all(map(math.isfinite, (*com, *I))) and same_inertia(from_com(m, com, I), body):
            return m, com, entries(I)
    return 0.0, ZERO, entries(body.I)


def same_inertia(a: Inertia, b: Inertia) -> bool:
    """Whether two bodies agree up to rounding: mass, first and second moments each by its size."""
    least = ROUNDING * max(abs(x) for x in (*linear(a), *linear(b)))
    for x, y in (((a.m,), (b.m,)), (a.h, b.h), (a.I, b.I)):
        within = max(least, SAME * max(abs(c) for c in (*x, *y)))
        if any(abs(c - d) > within for c, d in zip(x, y, strict=True)):
            return False
    return True


def same_frame(a: Frame, b: Frame) -> bool:
    """Whether two placements agree up to rounding."""
    numbers = [(x, y) for r, s in zip(a.R, b.R, strict=True) for x, y in zip(r, s, strict=True)]
    numbers += list(zip(a.p, b.p, strict=True))
    return all(same_number(x, y) for x, y in numbers)


def same_number(x: float, y: float) -> bool:
    """Whether two numbers of order 1 or more agree up to rounding."""
    return abs(x - y) <= SAME * max(1.0, abs(x), abs(y))
