"""Robots to and from yourdfpy, both ways through URDF text."""

import inspect
import io
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import SubElement, tostring

from ..arguments import checked, known_options
from ..model.urdf import model_from_urdf
from ..model.urdf_elements import parsed, sketch
from ..model.urdf_tree import plain_model
from ..model.urdf_write import spaced, standard_robot
from ..packages import package
from ..robot import Robot
from ..spatial.rotations import normalised
from .lost import refuse_sliding, say_lost
from .rigid_tree import NotRepresentableError

HELD = ("joint limits", "velocity limits", "effort limits", "named frames", "joint and link names")


@checked
def to_yourdfpy(robot: Robot, **options: Any) -> Any:
    """The robot as a `yourdfpy.URDF`; `options` are those of `yourdfpy.URDF.load`.

    Nothing is read from disk. A DH arm's links sit at their joints, as in `robot.save("x.urdf")`.
    """
    yourdfpy = package("yourdfpy", "yourdfpy", "to_yourdfpy", "dev")
    refuse_sliding(robot.model)
    element, tool = standard_robot(robot.model)
    plain = plain_model(sketch(element), robot.name)
    ours = plain.tool_name == tool
    say_lost(robot, "URDF", HELD, [] if ours else [f"the tool (from_yourdfpy takes tip={tool!r})"])
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
    yourdfpy = package("yourdfpy", "yourdfpy", "from_yourdfpy", "dev")
    if not isinstance(urdf, yourdfpy.URDF):
        raise NotRepresentableError(f"{type(urdf).__name__} was given, expected a yourdfpy.URDF")
    root = parsed(urdf.write_xml_string())
    joints = {x.get("name"): x for x in root.findall("joint")}
    for joint in urdf.robot.joints:  # its writer leaves these out
        if joint.mimic is not None and joints[joint.name].find("mimic") is None:
            told = {"multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset}
            rows = {key: repr(float(x)) for key, x in told.items() if x is not None}
            SubElement(joints[joint.name], "mimic", rows, joint=joint.mimic.joint)
    return Robot(model_from_urdf(tostring(root), "yourdfpy", tip, lock))
