"""A Pinocchio model as our robot."""

from typing import Any

import numpy as np

from ..arguments import checked
from ..lazy import package
from ..model.friction import Friction
from ..robot import Robot
from ..spatial.frames import Frame
from .lost import say
from .rigid_tree import NotRepresentableError
from .sketches import HUGE, Draft, frame_of, limits, reflected


@checked
def from_pinocchio(model: Any, tip: str | None = None) -> Robot:
    """The robot of a `pin.Model`: one-degree joints, rotors and friction, frames and limits.

    q stands as in Pinocchio (one angle for an unbounded joint, where Pinocchio has two numbers).
    `tip` names the frame that is the tool; default is the last operational frame, else the link
    that most joints lead to.
    """
    pin = package("pinocchio", "pin", "from_pinocchio", "peers")
    if not isinstance(model, pin.Model):
        raise NotRepresentableError(f"{type(model).__name__} was given, expected a pin.Model")
    draft = Draft(root="universe")
    names = ["universe"]
    lost: list[str] = []
    for j in range(1, model.njoints):
        names.append(_joint(pin, model, j, draft, names, lost))
    tools = _frames(pin, model, draft, names)
    say("Pinocchio", model.name, lost)
    found = draft.model(
        model.name or "robot",
        tip or (tools[-1] if tools else None),
        gravity=tuple(float(x) for x in model.gravity.linear),
        configurations=_configurations(model),
    )
    return Robot(found)


def _joint(pin: Any, model: Any, j: int, draft: Draft, names: list[str], lost: list[str]) -> str:
    """One joint with its body; returns the name of its link."""
    joint, name = model.joints[j], model.names[j]
    kind, axis = _motion(pin, model, joint, name)
    body = model.inertias[j]
    link = draft.link(_link_name(pin, model, j))
    draft.weigh(link, body.mass, body.lever, body.inertia)
    k, at = joint.idx_v, joint.idx_q
    place = model.jointPlacements[j]
    ends = (model.lowerPositionLimit[at], model.upperPositionLimit[at])
    bounds = limits(*ends) if joint.nq == 1 else {}
    if not bounds and joint.nq == 1 and min(map(abs, ends)) < HUGE:
        lost.append("joint limits to one side only")
    gear = float(model.rotorGearRatio[k])
    if model.rotorInertia[k] and not np.isclose(
        model.rotorInertia[k] * gear**2, model.armature[k], rtol=1e-9
    ):
        lost.append("rotorInertia that is not in armature")
    draft.joint(
        name,
        (names[model.parents[j]], link),
        frame_of(place.rotation, place.translation),
        kind,
        axis,
        index=k,
        limit=bounds,
        friction=_friction(model, k),
        drive=reflected(model.armature[k], gear),
        velocity_limit=_most(model.velocityLimit[k]),
        effort_limit=_most(model.effortLimit[k]),
    )
    return link


def _motion(pin: Any, model: Any, joint: Any, name: str) -> tuple[str, np.ndarray]:
    """Kind and axis of a joint with one degree of freedom."""
    refused = NotRepresentableError(
        f"not representable: joint {name!r} is a {joint.shortname()}, expected a revolute or "
        "prismatic joint with one degree of freedom",
        "an arm stands on a fixed base: pin.buildReducedModel locks joints",
    )
    if joint.nv != 1:
        raise refused
    data = joint.createData()
    joint.calc(data, pin.neutral(model))
    S = np.asarray(data.S, dtype=float).reshape(-1)
    if S.shape != (6,) or (S[:3].any() and S[3:].any()):
        raise refused
    return ("prismatic", S[:3]) if S[:3].any() else ("revolute", S[3:])


def _friction(model: Any, k: int) -> Friction:
    viscous = float(model.damping[k])
    if hasattr(model, "lowerDryFrictionLimit"):
        pair = model.upperDryFrictionLimit[k], model.lowerDryFrictionLimit[k]
    else:
        pair = model.friction[k], -model.friction[k]
    return Friction(viscous=viscous, coulomb=tuple(float(x) + 0.0 for x in pair))


def _most(value: float) -> float | None:
    return None if abs(value) > HUGE else float(value)


def _bodies(pin: Any, model: Any, j: int) -> list[Any]:
    return [f for f in model.frames if f.parentJoint == j and f.type == pin.FrameType.BODY]


def _link_name(pin: Any, model: Any, j: int) -> str:
    """The body that sits in the joint's own frame, or a name of the joint's."""
    for frame in _bodies(pin, model, j):
        if frame.placement == pin.SE3.Identity():
            return frame.name
    return f"{model.names[j]}_link"


def _frames(pin: Any, model: Any, draft: Draft, names: list[str]) -> list[str]:
    """Bodies and operational frames as fixed links; returns the operational ones."""
    tools = []
    kinds = (pin.FrameType.BODY, pin.FrameType.OP_FRAME)
    for frame in model.frames:
        own = names[frame.parentJoint]
        here = frame.placement
        is_link = frame.name == own and here == pin.SE3.Identity()
        if frame.type not in kinds or is_link or frame.name == "universe":
            continue
        place: Frame = frame_of(here.rotation, here.translation)
        link = draft.link(frame.name)
        draft.joint(f"{link}_fixed", (own, link), place)
        if frame.type == pin.FrameType.OP_FRAME and frame.parentJoint:
            tools.append(link)
    return tools


def _configurations(model: Any) -> dict[str, tuple[float, ...]]:
    """Reference configurations, where every joint is one number of q."""
    if model.nq != model.nv:
        return {}
    return {
        str(item.key() if hasattr(item, "key") else item[0]): tuple(
            float(x) for x in (item.data() if hasattr(item, "data") else item[1])
        )
        for item in model.referenceConfigurations
    }
