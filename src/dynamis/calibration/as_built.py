"""The calibrated arm as an ordinary Robot: its joints where they are, all else as it was.

A link's own frame, and with it mass, inertia, shapes and friction, stays with its joint.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..model.conventions import CONVENTIONS
from ..model.dh.convert import to_placements
from ..model.model import Model
from ..model.pose import pose
from ..robot.robot import Robot
from ..spatial.frames import Frame, compose, inverse
from ..spatial.functions import MATH
from ..spatial.rotations import rotation_z
from .error_model import TOOL, ErrorModel, error_frame

if TYPE_CHECKING:
    import numpy as np


def as_built(model: ErrorModel, values: "np.ndarray") -> Robot:
    """The robot with the placements of a calibration; corrections by posture are not in it."""
    old = to_placements(model.robot.model)
    own = CONVENTIONS["urdf"]
    errors = model.errors(values)
    links = list(old.links)
    for i in model.path:
        if not errors[i].any():
            continue
        link, parent = old.links[i], old.parents[i]
        before = old.base.frame({}) if parent < 0 else own.after(old.links[parent], {}, MATH)
        joint = _without_offset(old, i, model.placement(i, errors[i]))
        place = compose(compose(inverse(before), joint), own.after(link, {}, MATH))
        found = pose(place, f"placement of {link.joint_name}")
        links[i] = replace(link, xyz=found.xyz, rpy=found.rpy)
    tool = old.tool
    if errors[TOOL].any():
        tool = pose(compose(tool.frame({}), error_frame(errors[TOOL])), "tool")
    return Robot(replace(old, links=tuple(links), tool=tool))


def _without_offset(model: Model, i: int, placement: Frame) -> Frame:
    """The placement of a joint before its constant offset along or about z."""
    link = model.links[i]
    offset = float(link.offset)
    if link.joint == "revolute":
        return compose(placement, Frame(rotation_z(-offset)))
    return compose(placement, Frame(p=(0.0, 0.0, -offset)))
