"""MJCF text as our robot: a tree of hinges and slides with inertials, read without MuJoCo.

No file that the text names is opened. What makes another machine of it is refused by name: free and
ball joints, equalities, tendons, masses taken from geoms; what only acts on it is said aloud.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ..arguments import checked
from ..errors import FileError, ModelError
from ..model.friction import Friction
from ..model.source import located, read_bytes
from ..model.urdf_elements import numbers
from ..robot import Robot
from ..spatial.frames import Frame, compose, translation
from ..spatial.vectors import ZERO, negate
from .lost import say
from .mjcf_elements import Units, mjcf_root, number, place_of, triple, units_of
from .mjcf_write import KINDS, TOOL
from .rigid_tree import NotRepresentableError
from .sketches import Draft, free, limits, reflected

OURS = {mujoco: kind for kind, mujoco in KINDS.items()}
REFUSED = {  # element -> what it makes of the arm
    "include": "names another file, and none is opened",
    "attach": "names another model",
    "replicate": "makes copies",
    "composite": "makes soft bodies",
    "flexcomp": "makes soft bodies",
    "freejoint": "lets the base move freely",
    "tendon": "ties joints by tendons",
    "equality": "ties joints or bodies",
    "deformable": "makes soft bodies",
    "plugin": "names code of its own",
}
ALOUD = {"actuator": "actuators", "contact": "contacts", "sensor": "sensors"}
HINT = "keep what moves as hinge and slide joints on a fixed base"
SAVE = 'set <compiler saveinertial="true"/> and save it from MuJoCo, or use from_mujoco(model)'


@checked
def from_mjcf(source: str | Path, tip: str | None = None) -> Robot:
    """The robot of MJCF text, or of a file if `source` is a path.

    `tip` names the body or site that is the tool; default is the site this package wrote as the
    tool, else the body that most joints lead to. Links sit at their joints: a body's frame moved
    to the joint's `pos`.
    """
    text, where = _source(source)
    with located(where):
        root = mjcf_root(text)
        _refuse(root)
        units = units_of(root)
        reader = _Reader(units, root)
        reader.walk()
        say("MJCF", root.get("model", "robot"), reader.lost)
        option = root.find("option")
        gravity = (0.0, 0.0, -9.81)
        if option is not None:
            gravity = triple(option, "gravity", gravity, "option")
        told = next((x for x in root.iter("text") if x.get("name") == TOOL), None)
        written = None if told is None else told.get("data")
        model = reader.draft.model(
            root.get("model") or "robot",
            tip or (written if written in reader.draft.links else None),
            gravity=gravity,
        )
        return Robot(_with_keys(model, root))


def _source(source: Any) -> tuple[bytes, str]:
    """Bytes and what to call them; text that begins as XML does is the description itself."""
    if isinstance(source, bytes):
        return source, "MJCF"
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return source.lstrip("\ufeff").encode("utf-8"), "MJCF"
    if not isinstance(source, (str, os.PathLike)) or not os.fspath(source):
        raise FileError(f"{source!r} was given, expected MJCF text or the path of a file")
    return read_bytes(Path(source)), str(source)


def _refuse(root: Element) -> None:
    for element in root.iter():
        if element.tag in REFUSED and (len(element) or element.attrib):
            named = f" {element.get('name')!r}" if element.get("name") else ""
            raise NotRepresentableError(
                f"not representable: <{element.tag}>{named} {REFUSED[str(element.tag)]}", HINT
            )
    told = {key: text for x in root.findall("compiler") for key, text in x.attrib.items()}
    if told.get("inertiafromgeom", "auto") == "true":
        raise NotRepresentableError('not representable: inertiafromgeom="true"', SAVE)


def _with_keys(model: Any, root: Element) -> Any:
    """Keyframes as configurations, where they hold one number per joint."""
    rows = {}
    for i, key in enumerate(x for x in root.iter("key") if x.get("qpos")):
        words = key.attrib["qpos"].split()
        if len(words) == model.n:
            rows[key.get("name") or f"key{i}"] = numbers(key, "qpos", model.n, "keyframe")
    return replace(model, configurations=rows)


class _Reader:
    """Walks the bodies, deepest last, without recursion."""

    def __init__(self, units: Units, root: Element):
        self.units, self.root = units, root
        self.draft, self.lost = Draft(root="world"), []
        self.lost += [word for tag, word in ALOUD.items() if root.find(tag) is not None]
        told = {key: text for x in root.findall("compiler") for key, text in x.attrib.items()}
        self.auto = told.get("autolimits", "true") == "true"
        self.geoms = told.get("inertiafromgeom", "auto") != "false"

    def walk(self) -> None:
        """Every body: (element, link that carries it, where on it, class)."""
        todo = [(x, "world", Frame(), "main") for x in reversed(self.root.findall("worldbody"))]
        while todo:
            element, link, place, name = todo.pop()
            name = element.get("childclass", name)
            if element.tag == "body":
                link, place = self._body(element, link, place, name)
            elif element.tag == "frame":
                place = compose(place, place_of(element, self.units, "frame"))
            self._sites(element, link, place, name)
            inner = [x for x in element if x.tag in ("body", "frame")]
            todo += [(x, link, place, name) for x in reversed(inner)]

    def _body(self, element: Element, link: str, place: Frame, name: str) -> tuple[str, Frame]:
        """The body's joints and inertial; returns its link and the body's frame on it."""
        body = element.get("name") or f"body{len(self.draft.links)}"
        where = f"body {body!r}"
        if element.get("mocap") == "true":
            raise NotRepresentableError(f"not representable: {where} is moved by motion capture")
        if number(element, "gravcomp", 0.0, where):
            self.lost.append("gravity compensation of bodies")
        place = compose(place, place_of(element, self.units, where))
        joints = [self.units.filled(x, name) for x in element.findall("joint")]
        for i, joint in enumerate(joints):
            inner = body if i == len(joints) - 1 else f"{body}_{i + 1}"
            link = self._joint(joint, link, inner, place, where)
            place = translation(*negate(triple(joint, "pos", ZERO, where)))
        if not joints:
            link, place = self._fix(body, link, place), Frame()
        inertial = element.find("inertial")
        if inertial is None:
            self._check_geoms(element, where, name)
        else:
            T = compose(place, place_of(inertial, self.units, where))
            self.draft.weigh(
                link, number(inertial, "mass", 0.0, where), ZERO, _tensor(inertial, where), T
            )
        return link, place

    def _fix(self, wanted: str, link: str, place: Frame) -> str:
        child = self.draft.link(wanted)
        self.draft.joint(f"{child}_fixed", (link, child), place)
        return child

    def _joint(self, joint: Element, link: str, child: str, place: Frame, body: str) -> str:
        name = joint.get("name") or free(f"{child}_joint", self.draft.changes)
        where, kind = f"joint {name!r}", joint.get("type", "hinge")
        if kind not in OURS:
            raise NotRepresentableError(
                f"not representable: {where} of {body} is {kind}, expected hinge or slide", HINT
            )
        angle = self.units.angle if kind == "hinge" else float
        axis = triple(joint, "axis", (0.0, 0.0, 1.0), where)
        if not any(axis):
            raise ModelError(f"{where} has axis 0 0 0, expected a direction")
        here = compose(place, translation(*triple(joint, "pos", ZERO, where)))
        if number(joint, "stiffness", 0.0, where):
            self.lost.append("joint springs")
        coulomb = number(joint, "frictionloss", 0.0, where)
        inner = self.draft.link(child)
        self.draft.joint(
            name,
            (link, inner),
            here,
            OURS[kind],
            axis,
            index=len(self.draft.joints),
            limit=limits(*(angle(x) for x in bounds)) if (bounds := self._range(joint)) else None,
            offset=-angle(number(joint, "ref", 0.0, where)),
            friction=Friction(viscous=number(joint, "damping", 0.0, where), coulomb=coulomb),
            drive=reflected(number(joint, "armature", 0.0, where)),
            effort_limit=self._effort(joint, where),
        )
        return inner

    def _range(self, joint: Element) -> tuple[float, ...] | None:
        told = joint.get("limited", "auto")
        active = joint.get("range") is not None and (
            self.auto if told == "auto" else told == "true"
        )
        return numbers(joint, "range", 2, "joint") if active else None

    def _effort(self, joint: Element, where: str) -> float | None:
        if joint.get("actuatorfrcrange") is None or joint.get("actuatorfrclimited") == "false":
            return None
        low, high = numbers(joint, "actuatorfrcrange", 2, where)
        if low != -high:
            self.lost.append("effort limits that differ by direction (the smaller one is taken)")
        return min(abs(low), abs(high))

    def _check_geoms(self, element: Element, where: str, name: str) -> None:
        """Without <inertial> MuJoCo takes the mass of the geoms."""
        for geom in element.findall("geom") if self.geoms else ():
            whole = self.units.filled(geom, name)
            if number(whole, "mass", 1.0, where) and number(whole, "density", 1.0, where):
                raise NotRepresentableError(
                    f"not representable: {where} has no <inertial>, and its mass would come from "
                    "its geoms",
                    SAVE,
                )

    def _sites(self, element: Element, link: str, place: Frame, name: str) -> None:
        for i, site in enumerate(element.findall("site")):
            whole = self.units.filled(site, name)
            wanted = site.get("name") or f"{link}_site{i}"
            here = compose(place, place_of(whole, self.units, f"site {wanted!r}"))
            self._fix(wanted, link, here)


def _tensor(inertial: Element, where: str) -> np.ndarray:
    """Inertia about the centre of mass, (3, 3), in the inertial's own axes."""
    if inertial.get("fullinertia") is not None:
        xx, yy, zz, xy, xz, yz = numbers(inertial, "fullinertia", 6, where)
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if inertial.get("diaginertia") is None:
        return np.zeros((3, 3))
    return np.diag(numbers(inertial, "diaginertia", 3, where))
