"""Where links, joints and closures are, by name or in the reference frame; which motors act."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import choice, is_word
from ..errors import OptionError, did_you_mean, shown
from ..model.chain import Chain
from ..model.model import Model
from ..model.quantity import Values
from ..spatial.frames import compose, inverse, matrix
from ..spatial.functions import MATH, Functions

if TYPE_CHECKING:
    from . import Robot
    from .calls import Calls

FRAMES = ("base", "tool")

PARALLEL = 1e-9  # sine of the angle between axes that are parallel


def joint_frames(robot: "Robot", frames: np.ndarray) -> np.ndarray:
    """Frames with z along every joint's axis, after its motion, (..., links, 4, 4)."""
    bodies = robot.chain.bodies[: robot.chain.links]
    return frames[..., 1:, :, :] @ np.array([matrix(inverse(b.user)) for b in bodies])


def closure_frames(robot: "Robot", frames: np.ndarray) -> np.ndarray:
    """Both frames of every closure, (..., closures, 2, 4, 4)."""
    model, found = robot.model, []
    for closure in model.closures:
        for name, place in zip(closure.between, closure.frames, strict=True):
            on_link = np.array(matrix(place.frame(model.values)))
            found.append(frames[..., model.link_index(name) + 1, :, :] @ on_link)
    if not found:
        return np.zeros((*frames.shape[:-3], 0, 2, 4, 4))
    return np.stack(found, axis=-3).reshape(*frames.shape[:-3], -1, 2, 4, 4)


def plane_of(axes: np.ndarray, kinds: tuple[str, ...]) -> np.ndarray | None:
    """The normal of the plane that a mechanism with revolute joints moves in; None: it has none.

    Angles between the axes of neighbouring joints do not change with q, so one position tells.
    """
    turning = axes[[kind == "revolute" for kind in kinds]]
    sliding = axes[[kind == "prismatic" for kind in kinds]]
    if not len(turning):
        return None
    normal = turning[0]
    parallel = np.linalg.norm(np.cross(turning, normal), axis=-1) < PARALLEL
    across = np.abs(sliding @ normal) < PARALLEL
    return normal if parallel.all() and across.all() else None


def seen_from(calls: "Calls", frame: str, link: str | None) -> dict[str, Any]:
    """Options of a Jacobian kernel; none for the default one."""
    choice(frame, "frame", FRAMES)
    if frame == "base" and link is None:
        return {}
    return {"frame": frame, "link": None, "offset": None} | place_of(calls, link)


def place_of(calls: "Calls", link: str | None) -> dict[str, Any]:
    """Tree index and offset of a named frame; nothing for the tool."""
    return {} if link is None else place_in(calls.model, calls.chain, link, calls.model.values)


def place_in(
    model: Model, c: Chain, link: str | None, values: Values, fn: Functions = MATH
) -> dict[str, Any]:
    """Tree index and offset of a named frame (None: the tool), over the chain's scalars."""
    if link is None:
        return {"link": c.tip, "offset": c.tool}
    links = {name: (i, c.bodies[i].user) for i, name in enumerate(model.link_names)}
    frames = {frame.name: frame for frame in reversed(model.frames)}  # the first of a name
    base = (-1, c.base)
    places: dict[Any, Any] = {model.tool_name: (c.tip, c.tool), **frames}
    places |= {model.base_name: base, **links}  # the later, the stronger
    if not is_word(link, places):
        named = (*model.link_names, *(f.name for f in model.frames))
        names = dict.fromkeys((*named, model.tool_name, model.base_name))
        raise OptionError(
            f"robot {model.name!r} has no link {shown(link)}", did_you_mean(link, names)
        )
    place = places[link]
    if isinstance(place, tuple):
        i, offset = place
    else:
        i, body = base if place.link is None else links[place.link]
        offset = compose(body, place.pose.frame(values, fn))
    return {"link": i, "offset": offset}


def refuse_motorless(model: Model, chain: Chain) -> None:
    """Refuse torques of motors where a joint has none of its own."""
    for link, motor in zip(model.links, chain.motors, strict=True):
        if motor.gear == 0.0:
            raise OptionError(
                f"joint {link.joint_name!r} has gear 0: its motor torque is not defined"
            )
        if link.mimic is not None:
            raise OptionError(
                f"joint {link.joint_name!r} mimics {link.mimic[0]!r}: which motor carries it "
                "is not defined",
                "lock it when loading",
            )


def refuse_coupled(model: Model, chain: Chain, method: str) -> None:
    """Refuse a method that cannot follow joints or rotors that move with others."""
    if chain.coupling is not None or any(motor.coupled for motor in chain.motors):
        raise OptionError(
            f"robot {model.name!r} couples its joints (mimic joints, a gear matrix or "
            f"full rotors), which method {method!r} cannot follow",
            "use method=None or a walker-orin method",
        )
