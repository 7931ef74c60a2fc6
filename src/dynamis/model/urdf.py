"""Robots in URDF files: read with fixed joints merged, written so that other tools agree."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import indent, tostring

from ..errors import DynamisWarning
from .model import Model
from .source import located, read_bytes
from .urdf_elements import Sketch, parsed, sketch
from .urdf_extension import extend, number_joints
from .urdf_restore import restored
from .urdf_tree import plain_model
from .urdf_write import standard_robot


def read_urdf(
    path: str | Path, tip: str | None = None, lock: Mapping[str, Any] | None = None
) -> Model:
    """The model in a URDF file.

    Links behind fixed joints are merged into the link that carries them and stay as named frames.
    `tip` names the link that is the tool. Without it the tool is the first link that the most
    moving joints lead to, moved on through the fixed links behind it while there is exactly one.
    `lock` fixes joints, by name, at values; joints that mimic a locked one are locked with it.
    """
    return model_from_urdf(read_bytes(Path(path)), str(path), tip, lock)


def model_from_urdf(
    data: bytes,
    where: str = "URDF",
    tip: str | None = None,
    lock: Mapping[str, Any] | None = None,
) -> Model:
    """The model described by URDF text; `where` starts every error message."""
    with located(where):
        robot = sketch(parsed(data))
        name = Path(where).stem
        written = plain_model(robot, name, _written_tip(robot), lock)
        if tip is None or tip == written.tool_name:
            return restored(written, robot, where, own_tip=False, locked=bool(lock))
        plain = plain_model(robot, name, tip, lock)
        return restored(plain, robot, where, own_tip=True, locked=bool(lock))


def _written_tip(robot: Sketch) -> str | None:
    """The tip the file was written with, if it says so and it is still there."""
    written = None if robot.extension is None else robot.extension.get("tip")
    return written if written in robot.links else None


def urdf_text(model: Model) -> str:
    """The model as URDF text; what only the <dynamis> elements hold is said in a warning."""
    element, tool = standard_robot(model)
    if plain_model(sketch(element), model.name).link_names != model.link_names:
        number_joints(element, model)
    robot = sketch(element)
    tip = None if plain_model(robot, model.name).tool_name == tool else tool
    words = extend(element, model, plain_model(robot, model.name, tool), tip)
    if words:
        warnings.warn(
            f"URDF cannot hold all of {model.name!r}: kept in <dynamis> elements, which other "
            f"tools ignore: {', '.join(words)}",
            DynamisWarning,
            stacklevel=2,
        )
    indent(element)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(element, encoding="unicode") + "\n"
