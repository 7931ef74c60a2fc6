"""Robots in SDF files (http://sdformat.org/spec), read as a URDF is: fixed joints merged.

An SDF gives the pose of every link in its model and of every joint in its child link, or relative
to any other frame it names. Sensors and plugins are ignored; no file that an SDF names is opened.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from ...arguments import one_of
from ...errors import DynamisError, FileError, ModelError, counted, did_you_mean
from ...spatial.frames import Frame, compose, from_xyz_rpy, inverse
from ...spatial.inertia import turned_entries
from ...spatial.rotations import rotate, rotate_back, rotation_from_quaternion
from ...spatial.vectors import Vector
from ..check.finding import Finding
from ..geometry import USES, Geometry, Source
from ..model import Model, refuse_twice
from ..pose import pose
from ..spring import Spring
from .tables import MOST_ROWS, check_count, located
from .urdf import plain_model
from .urdf_elements import ENTRIES, NO_LIMIT, Sketch, UrdfJoint, UrdfLink, finite, parsed
from .urdf_write import free_name, same_frame

EXPECTED = "an SDF: <sdf> with a <model>"
KINDS = ("revolute", "continuous", "prismatic", "fixed")
REFUSED = ("ball", "universal", "screw", "gearbox", "revolute2")
MODEL, WORLD = "__model__", "world"
SHAPES = {  # elements of a <geometry>, by what they hold
    "box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"), "mesh": (),
}  # fmt: skip
UNLIMITED = 1e15  # SDF writes 1e16 where there is no limit
VERSION = re.compile(r"1\.\d{1,3}")
TRUE = ("true", "1")


def model_from_sdf(
    data: bytes,
    where: str = "SDF",
    tip: str | None = None,
    lock: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> Model:
    """The model described by SDF text: the only one in it that has joints.

    `tip` and `lock` as in `model_from_urdf`.

    Links sit at their joints: one whose joint has a pose of its own is moved there, and the frame
    the file gives it stays as `LINK_origin`. A model that no joint holds in the world stands on its
    root link. A link without <inertial> has 1 kg and 1 kg m^2, as the format says. Files of meshes
    are seen from `folder`, that of the file.
    """
    with located(where):
        root = parsed(data, EXPECTED, text=True)
        if root.tag != "sdf":
            raise FileError(f"the root element is <{root.tag}>, expected <sdf>")
        version = _version(root)
        element, world = _only_model(root)
        reader = _SdfReader(element, version)
        found = plain_model(reader.sketch(), Path(where).stem, tip, lock)
        gravity = None if world is None else world.find("gravity")
        more: dict[str, Any] = {"findings": tuple(reader.findings)}
        if gravity is not None:
            more["gravity"] = _numbers(gravity, 3, "the <world>")
        springs = [x for x in reader.springs if x.joint in found.tree_joint_names]
        shapes = tuple(reader.shapes(found, folder))
        return replace(found, springs=tuple(springs), geometry=shapes, **more)


def _version(root: Element) -> tuple[int, int]:
    text = root.get("version", "")
    if not VERSION.fullmatch(text):
        raise FileError(f"<sdf> has version {text!r}, expected one such as '1.7'")
    return 1, int(text[2:])


def _only_model(root: Element) -> tuple[Element, Element | None]:
    """The model with joints, and the world it is in."""
    worlds = [None, *root.findall("world")]
    every = [(m, w) for w in worlds for m in (root if w is None else w).findall("model")]
    jointed = [pair for pair in every if pair[0].find("joint") is not None]
    names = [str(m.get("name")) for m, _ in jointed]
    if len(jointed) == 1:
        return jointed[0]
    if names:
        raise ModelError(
            f"has {len(names)} models with joints {names[:8]}, expected one",
            "keep one of them in the file",
        )
    if next(root.iter("include"), None) is not None:
        raise ModelError(
            "has no model with joints of its own, only an <include>, which is not followed",
            "load the file of the included model",
        )
    raise ModelError(f"has {counted(len(every), 'model')}, none with a joint: expected an arm")


class _SdfReader:
    """Links, joints and frames of one <model>."""

    def __init__(self, model: Element, version: tuple[int, int]):
        self.name, self.version = model.get("name") or None, version
        self.findings: list[Finding] = []
        self.springs: list[Spring] = []
        self.at: Mapping[str, Frame] = {}  # where the model of links has them
        for tag in ("model", "include"):
            inner = model.find(tag)
            if inner is not None:
                raise ModelError(
                    f"the model has a <{tag}> {inner.get('name') or _child(inner, 'uri')!r} "
                    "inside, which is not supported",
                    "write its links and joints into one <model>",
                )
        self.links = _named(model, "link", 10 * MOST_ROWS)
        self.joints = _named(model, "joint", 10 * MOST_ROWS)
        self.frames = _named(model, "frame", 10 * MOST_ROWS)
        if not self.links:
            raise ModelError("the <model> has no <link>, expected at least two and a joint")
        for one, two in ((self.links, self.joints), (self.links, self.frames)):
            if same := set(one) & set(two):
                raise ModelError(f"a link and another frame are called {min(same)!r}")
        self.children = {n: self._end(x, "child", f"joint {n!r}") for n, x in self.joints.items()}
        self.known = {MODEL: Frame()}
        placed = model.find("pose")
        frame = Frame() if placed is None else self._pose(placed, "the <model>")[1]
        holder = model.get("placement_frame") or MODEL
        self.known[WORLD] = compose(self._place(holder), inverse(frame))
        if (_child(model, "static") or "").strip().lower() in TRUE:
            self._note(
                "warning",
                "model",
                "is static in its simulator, its joints move here",
                "remove <static>",
            )

    def _note(self, level: str, where: str, what: str, remedy: str) -> None:
        self.findings.append(Finding(level, where, what, remedy))

    def sketch(self) -> Sketch:
        """Links and joints as in a URDF, each link at its joint."""
        at: dict[str, Frame] = {WORLD: self.known[WORLD]}
        above = {}
        for name, child in self.children.items():
            body = self._carrier(child, f"joint {name!r}")
            above.setdefault(body, name)
        for link in self.links:
            joint = above.get(link)
            moves = joint is not None and self._kind(joint) != "fixed"
            at[link] = self._place(joint if moves else link)  # type: ignore[arg-type]
        self.at = at
        links = {name: self._body(name, element, at[name]) for name, element in self.links.items()}
        joints = [self._joint(name, element, at) for name, element in self.joints.items()]
        if any(joint.parent == WORLD for joint in joints):
            links = {WORLD: UrdfLink(WORLD), **links}
        else:
            what = "no joint holds the model in the world: it stands on its root link"
            self._note("note", "base", what, "add a fixed joint whose parent is world")
        for name, frame in self._others(at):
            body = self._carrier(frame, "a frame") if frame in self.frames else frame
            child = free_name(name, links)
            links[child] = UrdfLink(child)
            place = compose(inverse(at[body]), self._place(frame))
            joints.append(_made(free_name(f"{child}_fixed", self.joints), body, child, place))
        return Sketch(self.name, links, tuple(joints))

    def _others(self, at: Mapping[str, Frame]) -> Iterator[tuple[str, str]]:
        """Frames worth a name: the file's own, and links that were moved to their joints."""
        for name in self.frames:
            if self._carrier(name, f"frame {name!r}") in at:
                yield name, name
        for name in self.links:
            if not same_frame(at[name], self._place(name)):
                yield f"{name}_origin", name

    def _body(self, name: str, element: Element, at: Frame) -> UrdfLink:
        where = f"link {name!r}"
        if (_child(element, "gravity") or "").strip().lower() in ("false", "0"):
            what = "gravity is switched off for it in the file, and counts here"
            self._note("warning", where, what, "remove <gravity>, or compare without gravity")
        inertial = element.find("inertial")
        if inertial is None:
            what = "has no <inertial>: 1 kg and 1 kg m^2, SDF's default"
            self._note("note", where, what, "write its mass, centre of mass and inertia")
            inertial = Element("inertial")
        if inertial.get("auto", "").lower() in TRUE:
            raise ModelError(
                f"{where} takes its inertia from its collision shapes (auto), not supported",
                "write mass and inertia as `gz sdf --print FILE --expand-auto-inertials` does",
            )
        mass = _number(inertial.find("mass"), where, 1.0)
        if mass < 0:
            raise ModelError(f"{where} has mass {mass}, expected >= 0")
        tensor = inertial.find("inertia")
        plain = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
        given = [None if tensor is None else tensor.find(key) for key in ENTRIES]
        values = tuple(_number(x, where, y) for x, y in zip(given, plain, strict=True))
        own = inertial.find("pose")
        centre = Frame() if own is None else self._pose(own, where)[1]
        here = self._place(name)
        T = centre if here == at else compose(compose(inverse(at), here), centre)
        return UrdfLink(name, mass, T.p, turned_entries(values, T.R))

    def shapes(self, model: Model, folder: Path | None) -> Iterator[Geometry]:
        """Visuals and collisions of links that are in the model, where its links have them."""
        known = {*model.link_names, *(frame.name for frame in model.frames), model.base_name}
        for name, link in self.links.items():
            for element in link if name in known else ():
                if element.tag in USES and (shape := self._shape(name, element)) is not None:
                    source = None if shape.file is None else Source(folder)
                    on = None if name == model.base_name else name
                    yield replace(shape, link=on, source=source)

    def _shape(self, name: str, element: Element) -> Geometry | None:
        """One <visual> or <collision>; None if it is of a kind that a model does not have."""
        geometry, own = element.find("geometry"), element.find("pose")
        inner = geometry[0] if geometry is not None and len(geometry) else None
        if inner is None or inner.tag not in SHAPES:
            return None
        where = f"{element.tag} of link {name!r}"
        try:
            above, T = (None, Frame()) if own is None else self._pose(own, where)
            T = compose(compose(inverse(self.at[name]), self._place(above or name)), T)
            given: dict[str, Any] = {key: _sizes(inner, key) for key in SHAPES[inner.tag]}
            if inner.tag == "mesh":
                given |= {"file": _child(inner, "uri")}
                given |= {} if inner.find("scale") is None else {"scale": _sizes(inner, "scale")}
            if inner.tag == "capsule":
                half = 0.5 * given.pop("length")
                given |= {"from_": (0.0, 0.0, -half), "to": (0.0, 0.0, half)}
            place = pose(T, where)
            return Geometry(kind=inner.tag, use=element.tag, xyz=place.xyz, rpy=place.rpy, **given)
        except DynamisError:
            return None

    def _kind(self, name: str) -> str:
        kind = self.joints[name].get("type")
        where = f"joint {name!r}"
        if kind in REFUSED:
            raise ModelError(
                f"{where} is {kind}, which is not supported: expected {', '.join(KINDS)}"
            )
        one_of(kind, KINDS, f"{where} has type {kind!r}", ModelError)
        return str(kind)

    def _joint(self, name: str, element: Element, at: Mapping[str, Frame]) -> UrdfJoint:
        where, kind = f"joint {name!r}", self._kind(name)
        parent = self._carrier(self._end(element, "parent", where), where)
        child = self._carrier(self.children[name], where)
        if child == WORLD:
            raise ModelError(f"{where} has child 'world', expected the link that moves")
        place = compose(inverse(at[parent]), at[child])
        axis = element.find("axis")
        if kind == "fixed" or axis is None:
            if kind != "fixed":
                raise ModelError(f"{where} is {kind} and has no <axis>")
            return _made(name, parent, child, place)
        dynamics = axis.find("dynamics")
        found = {
            key: _number(None if dynamics is None else dynamics.find(key), where, 0.0)
            for key in ("damping", "friction", "spring_stiffness", "spring_reference")
        }
        if found["spring_stiffness"]:
            stiff, rest = found["spring_stiffness"], found["spring_reference"]
            self.springs.append(
                Spring(kind="torsion", joint=name, stiffness=stiff, rest_angle=rest)
            )
        made = _made(name, parent, child, place)
        return replace(
            made, kind=kind, axis=self._axis(axis, name), limit=_limits(axis.find("limit"), where),
            damping=found["damping"], friction=found["friction"], mimic=_mimic(axis, where),
        )  # fmt: skip

    def _axis(self, axis: Element, joint: str) -> Vector:
        """The direction in the joint's frame."""
        where = f"joint {joint!r}"
        given = axis.find("xyz")
        xyz: Any = (0.0, 0.0, 1.0) if given is None else _numbers(given, 3, where)
        if not any(xyz):
            raise ModelError(f"{where} has axis 0 0 0, expected a direction")
        flag = axis.find("use_parent_model_frame")
        frame = None if given is None else given.get("expressed_in")
        if self.version < (1, 5) and flag is None:  # as its own readers take old files
            frame = MODEL
        elif self.version < (1, 7) and flag is not None:
            frame = MODEL if _text(flag).lower() in TRUE else None
        if not frame:
            return xyz
        return rotate_back(self._place(joint).R, rotate(self._place(frame).R, xyz))

    # frames: all poses in the model's frame, every joint at 0

    def _place(self, name: str) -> Frame:
        """Where a link, joint or frame is in the model."""
        path: list[tuple[str, Frame]] = []
        at = name
        while at not in self.known:
            if any(at == seen for seen, _ in path):
                raise ModelError(f"the pose of {name!r} is relative to itself through {at!r}")
            above, own = self._own(at, name)
            path.append((at, own))
            at = above
        for below, own in reversed(path):
            self.known[below] = compose(self.known[at], own)
            at = below
        return self.known[name]

    def _own(self, name: str, asked: str) -> tuple[str, Frame]:
        """The frame that a pose is relative to, and the pose."""
        for kind in ("link", "joint", "frame"):
            element = getattr(self, f"{kind}s").get(name)
            if element is None:
                continue
            where, given = f"{kind} {name!r}", element.find("pose")
            above, own = (None, Frame()) if given is None else self._pose(given, where)
            default = {"joint": self.children.get(name), "frame": element.get("attached_to")}
            return above or default.get(kind) or MODEL, own
        hint = did_you_mean(name, [*self.links, *self.joints, *self.frames])
        raise ModelError(f"the pose of {asked!r} needs {name!r}, which does not exist", hint)

    def _carrier(self, name: str, where: str) -> str:
        """The link that a frame is attached to."""
        seen = {name}
        while name not in self.links and name != WORLD:
            if name in self.joints:
                name = self.children[name]
            elif name in self.frames:
                name = self.frames[name].get("attached_to") or MODEL
            elif name == MODEL:
                return next(iter(self.links))  # the canonical link
            else:
                hint = did_you_mean(name, self.links)
                raise ModelError(f"{where} names {name!r}, which does not exist", hint)
            if name in seen:
                raise ModelError(f"{where}: the frame {name!r} is attached to itself")
            seen.add(name)
        return name

    def _end(self, joint: Element, key: str, where: str) -> str:
        given = joint.find(key)
        text = "" if given is None else _text(given)
        if not text:
            raise ModelError(f"{where} has no <{key}>, expected the name of a link")
        return text

    def _pose(self, element: Element, where: str) -> tuple[str | None, Frame]:
        """What a <pose> is relative to, and the frame."""
        above = element.get("relative_to") or element.get("frame") or None
        quaternion = element.get("rotation_format") == "quat_xyzw"
        if not _text(element):
            return above, Frame()
        values = _numbers(element, 7 if quaternion else 6, where)
        xyz: Any = values[:3]
        if quaternion:
            size = math.hypot(*values[3:])
            if not 1e-3 < size < 1e3:
                raise ModelError(f"{where}: <pose> has a quaternion of length {size}, expected 1")
            unit: Any = tuple(x / size for x in values[3:])
            return above, Frame(rotation_from_quaternion(unit), xyz)
        factor = math.pi / 180 if element.get("degrees", "").lower() in TRUE else 1.0
        rpy: Any = tuple(factor * x for x in values[3:])
        return above, from_xyz_rpy(xyz, rpy)


def _made(name: str, parent: str, child: str, place: Frame) -> UrdfJoint:
    """A fixed joint."""
    here: Any = pose(place, name)
    return UrdfJoint(name, parent, child, xyz=here.xyz, rpy=here.rpy)


def _named(model: Element, tag: str, most: int) -> dict[str, Element]:
    elements = model.findall(tag)
    check_count(len(elements), tag, most)
    names = [str(element.get("name") or "") for element in elements]
    bare = next((name for name in names if name in ("", MODEL, WORLD)), None)
    if bare is not None:
        raise ModelError(f"a <{tag}> is called {bare!r}, expected a name of its own")
    refuse_twice(tag, names)
    return dict(zip(names, elements, strict=True))


def _limits(element: Element | None, where: str) -> dict[str, float]:
    """Limits; what is infinite, or negative where only a size makes sense, is none."""
    if element is None:
        return {}
    found = {key: element.find(key) for key in ("lower", "upper", "effort", "velocity")}
    values = {key: _number(x, where, math.inf) for key, x in found.items()}
    lower = -math.inf if found["lower"] is None else values["lower"]
    ends = {"lower": lower, "upper": values["upper"]}
    limit = {k: x for k, x in values.items() if k not in ends and 0.0 <= x < UNLIMITED}
    if any(abs(x) < UNLIMITED for x in ends.values()):
        limit |= {k: min(max(x, -NO_LIMIT), NO_LIMIT) for k, x in ends.items()}
    return limit


def _mimic(axis: Element, where: str) -> tuple[str, float, float] | None:
    """position = multiplier (leader - reference) + offset."""
    element = axis.find("mimic")
    if element is None:
        return None
    leader = element.get("joint")
    if not leader:
        raise ModelError(f'{where}: <mimic> has no joint="..."')
    defaults = {"multiplier": 1.0, "offset": 0.0, "reference": 0.0}
    k, c, r = (_number(element.find(key), where, x) for key, x in defaults.items())
    return leader, k, c - k * r


def _sizes(shape: Element, key: str) -> Any:
    """A size of a shape: three numbers of a box, or of a mesh's scale."""
    count, given = 3 if key in ("size", "scale") else 1, shape.find(key)
    if given is None:
        raise ModelError(f"<{shape.tag}> has no <{key}>")
    values = _numbers(given, count, shape.tag)
    return values if count == 3 else values[0]


def _child(element: Element, tag: str) -> str | None:
    found = element.find(tag)
    return None if found is None else _text(found)


def _text(element: Element) -> str:
    return (element.text or "").strip()


def _number(element: Element | None, where: str, default: float) -> float:
    """The number of an element; infinite where the file says so."""
    if element is None:
        return default
    text = _text(element).lower()
    if text.lstrip("+-") in ("inf", "infinity"):
        return -math.inf if text.startswith("-") else math.inf
    return _numbers(element, 1, where)[0]


def _numbers(element: Element, count: int, where: str) -> tuple[float, ...]:
    """Exactly `count` finite numbers of an element."""
    values = finite(_text(element).split())
    if values is None or len(values) != count:
        given = f"{where}: <{element.tag}> is {_text(element)[:80]!r}"
        raise ModelError(f"{given}, expected {count} finite number{'s' * (count > 1)}")
    return values
