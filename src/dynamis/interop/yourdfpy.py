"""Robots to and from yourdfpy, both ways through URDF text."""

import inspect
import io
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from ..arguments import checked, known_options
from ..lazy import package
from ..model.features import HELD_BY_URDF as HELD
from ..model.formats.urdf import model_from_urdf, plain_model
from ..model.formats.urdf_elements import sketch
from ..model.formats.urdf_write import spaced, standard_robot, writable
from ..model.pose import pose
from ..robot import Robot
from ..spatial.rotations import normalised
from .rigid_tree import NotRepresentableError
from .unsupported import refuse_sliding, shapes, warn_unsupported


@checked
def to_yourdfpy(robot: Robot, **options: Any) -> Any:
    """The robot as a `yourdfpy.URDF`; `options` are those of `yourdfpy.URDF.load`.

    Nothing is read from disk. A DH arm's links sit at their joints, as in `robot.save("x.urdf")`.
    """
    yourdfpy = package("yourdfpy", "yourdfpy", "to_yourdfpy", "peers")
    refuse_sliding(robot.model)
    element, tool, _ = standard_robot(robot.model)
    plain = plain_model(sketch(element), robot.name)
    ours = plain.tool_name == tool
    lost = [] if ours else [f"the tool (from_yourdfpy takes tip={tool!r})"]
    warn_unsupported(robot, "URDF", HELD, [*lost, *shapes(robot.model)])
    for axis in element.iter("axis"):  # yourdfpy moves by its length
        axis.set("xyz", spaced(normalised(tuple(map(float, axis.attrib["xyz"].split())))))  # type: ignore[arg-type]
    known = {*inspect.signature(yourdfpy.URDF).parameters, "fname_or_file"} - {"robot"}
    given = {"load_meshes": False, **known_options(options, sorted(known - {"fname_or_file"}))}
    return yourdfpy.URDF.load(io.BytesIO(tostring(element, encoding="utf-8")), **given)


@checked
def from_yourdfpy(
    urdf: Any, tip: str | None = None, lock: Mapping[str, Any] | None = None
) -> Robot:
    """The robot of a `yourdfpy.URDF`; `tip` and `lock` as in `dy.load`. No mesh is opened."""
    yourdfpy = package("yourdfpy", "yourdfpy", "from_yourdfpy", "peers")
    if not isinstance(urdf, yourdfpy.URDF):
        raise NotRepresentableError(f"{type(urdf).__name__} was given, expected a yourdfpy.URDF")
    return Robot(model_from_urdf(tostring(_element(urdf.robot)), "yourdfpy", tip, lock))


def _element(robot: Any) -> Element:
    """What moves, as a URDF element: its own writer leaves mimics out and needs what is drawn."""
    root = _child(None, "robot", name=robot.name)
    for link in robot.links:
        node, body = _child(root, "link", name=link.name), link.inertial
        if body is None:
            continue
        inertial = _placed(_child(node, "inertial"), body.origin)
        if body.mass is not None:
            _child(inertial, "mass", value=body.mass)
        if body.inertia is not None:
            I = np.asarray(body.inertia, dtype=float)
            six = {f"i{'xyz'[i]}{'xyz'[j]}": I[i, j] for i in range(3) for j in range(i, 3)}
            _child(inertial, "inertia", **six)
    for joint in robot.joints:
        node = _placed(_child(root, "joint", name=joint.name, type=joint.type), joint.origin)
        _child(node, "parent", link=joint.parent)
        _child(node, "child", link=joint.child)
        if joint.axis is not None:
            _child(node, "axis", xyz=" ".join(map(str, np.ravel(joint.axis))))
        for tag in ("limit", "dynamics", "mimic"):
            if getattr(joint, tag) is not None:
                _child(node, tag, **vars(getattr(joint, tag)))
    return root


def _child(parent: Element | None, tag: str, **told: Any) -> Element:
    texts = {key: writable(str(x)) for key, x in told.items() if x is not None}
    return Element(tag, texts) if parent is None else SubElement(parent, tag, texts)


def _placed(node: Element, origin: Any) -> Element:
    if origin is not None:
        here = pose(np.asarray(origin, dtype=float).tolist(), str(node.get("name", node.tag)))
        _child(node, "origin", xyz=spaced(here.xyz), rpy=spaced(here.rpy))
    return node
