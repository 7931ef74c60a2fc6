"""Pinocchio models, both ways."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..arguments import checked
from ..lazy import package
from ..model.formats.urdf_write import free_name
from ..model.friction import Friction
from ..model.quantity import resolve
from ..robot import Robot
from ..spatial.frames import Frame, compose
from .draft import HUGE, Draft, frame_of, limits, reflected
from .rigid_tree import (
    NotRepresentableError,
    RigidBody,
    TreeJoint,
    arrays,
    branch_by_branch,
    rigid_tree,
)
from .unsupported import plain, warn_left_out, warn_unsupported

HELD = (
    *("gravity", "joint limits", "velocity limits", "effort limits", "rotor inertia"),
    *("gears", "named frames", "configurations", "joint and link names"),
)
ASYMMETRIC = "asymmetric Coulomb friction (its mean is taken)"


@checked
def to_pinocchio(robot: Robot) -> Any:
    """The robot as a `pin.Model`.

    Joints keep their names and stand branch by branch (`model.names`; a chain keeps its order).
    Every link, named frame and the tool is a frame of the model. Friction is in `damping` and
    the dry friction limits, which rnea and aba leave out.
    """
    pin = package("pinocchio", "pin", "to_pinocchio", "peers")
    arm = plain(robot, "Pinocchio")
    tree = rigid_tree(arm, np.zeros(arm.n))
    model, index = pinocchio_model(tree, robot.gravity, robot.joint_names)
    model.name = robot.name
    order = [model.joints[j].idx_v for j in index]
    _limits(model, arm, order)
    _drives(model, arm, order)
    dry = hasattr(model, "lowerDryFrictionLimit")
    warn_unsupported(robot, "Pinocchio", (*HELD, ASYMMETRIC) if dry else HELD)
    _frames(pin, model, arm, index)
    for name, q in robot.configurations.items():
        model.referenceConfigurations[name] = _placed(q, order)
    return model


def pinocchio_model(
    tree: list[TreeJoint], gravity: np.ndarray, names: Sequence[str] | None = None
) -> tuple[Any, list[int]]:
    """A pin.Model of a tree in joint frames, and the Pinocchio index of each of its joints.

    Joints are added branch by branch: where a subtree is not numbered in one run, crba is wrong.
    """
    pin = package("pinocchio", "pin", "a Pinocchio model", "peers")
    model, index = pin.Model(), [0] * len(tree)
    kinds = {"revolute": pin.JointModelRZ, "prismatic": pin.JointModelPZ}
    for i in branch_by_branch(tree):
        joint = tree[i]
        parent = 0 if joint.parent < 0 else index[joint.parent]
        name = f"joint{i}" if names is None else names[i]
        index[i] = model.addJoint(parent, kinds[joint.kind](), pin.SE3(joint.R, joint.p), name)
        model.appendBodyToJoint(index[i], _inertia(pin, joint.body), pin.SE3.Identity())
    order = [model.joints[j].idx_v for j in index]
    model.armature = _placed([joint.armature for joint in tree], order)
    model.gravity = pin.Motion(gravity, np.zeros(3))
    return model, index


def _inertia(pin: Any, body: RigidBody) -> Any:
    """A pin.Inertia, also of a body that none could be, which its constructor refuses."""
    found = pin.Inertia.Zero()
    found.mass, found.lever, found.inertia = body.mass, body.com, body.inertia
    return found


def _placed(values: Iterable[float], order: list[int]) -> np.ndarray:
    """One number per joint of ours, where Pinocchio has it."""
    found = np.zeros(len(order))
    found[order] = list(values)
    return found


def _limits(model: Any, robot: Robot, order: list[int]) -> None:
    """Limits; where we have none Pinocchio's own stay."""
    links, values, rows = robot.model.links, robot.model.values, robot.limits
    none = float(np.finfo(float).max)
    finite = np.where(np.isfinite(rows), rows, np.copysign(none, rows))
    model.lowerPositionLimit = _placed(finite[:, 0], order)
    model.upperPositionLimit = _placed(finite[:, 1], order)
    for name, field in (("velocityLimit", "velocity_limit"), ("effortLimit", "effort_limit")):
        most = (resolve(getattr(x, field), values) for x in links)
        setattr(model, name, _placed([none if x is None else float(x) for x in most], order))


def _drives(model: Any, robot: Robot, order: list[int]) -> None:
    motors, resistances = robot.chain.motors, robot.chain.resistances
    gears = [m.gear or 1.0 for m in motors]
    rows = {
        "rotorGearRatio": gears,
        "rotorInertia": [m.inertia / g**2 for m, g in zip(motors, gears, strict=True)],
        "damping": [r.mean_viscous for r in resistances],
    }
    if hasattr(model, "lowerDryFrictionLimit"):
        rows["lowerDryFrictionLimit"] = [r.minus for r in resistances]
        rows["upperDryFrictionLimit"] = [r.plus for r in resistances]
    else:
        rows["friction"] = [r.mean_coulomb for r in resistances]
    for name, values in rows.items():
        setattr(model, name, _placed(values, order))


def _frames(pin: Any, model: Any, robot: Robot, index: list[int]) -> None:
    """Links in the user's frames, then named frames, then the tool."""
    m, c = robot.model, robot.chain
    kinds = pin.FrameType
    joints = {name: i for i, name in enumerate(robot.link_names)}
    taken: list[str] = []

    def add(name: str, i: int | None, place: Frame, kind: Any) -> None:
        taken.append(free_name(name, taken))
        joint = 0 if i is None else index[i]
        frame = pin.Frame(taken[-1], joint, 0, pin.SE3(*arrays(place)), kind)
        model.addFrame(frame, False)

    for name, i in joints.items():
        model.addJointFrame(index[i], 0)
        add(name, i, c.bodies[i].user, kinds.BODY)
    for frame in m.frames:
        at = None if frame.link is None else joints[frame.link]
        above = c.base if at is None else c.bodies[at].user
        add(frame.name, at, compose(above, frame.pose.frame(m.values)), kinds.BODY)
    add(m.tool_name, c.tip, c.tool, kinds.OP_FRAME)


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
    left_out: list[str] = []
    for j in range(1, model.njoints):
        names.append(_joint(pin, model, j, draft, names, left_out))
    tools = _add_frames(pin, model, draft, names)
    warn_left_out("Pinocchio", model.name, left_out)
    found = draft.model(
        model.name or "robot",
        tip or (tools[-1] if tools else None),
        gravity=tuple(float(x) for x in model.gravity.linear),
        configurations=_configurations(model),
    )
    return Robot(found)


def _joint(
    pin: Any, model: Any, j: int, draft: Draft, names: list[str], left_out: list[str]
) -> str:
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
        left_out.append("joint limits to one side only")
    gear, rotor = float(model.rotorGearRatio[k]), model.rotorInertia[k]
    if rotor and not np.isclose(rotor * gear**2, model.armature[k], rtol=1e-9):
        left_out.append("rotorInertia that is not in armature")
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
    if hasattr(model, "lowerDryFrictionLimit"):
        pair = model.upperDryFrictionLimit[k], model.lowerDryFrictionLimit[k]
    else:
        pair = model.friction[k], -model.friction[k]
    coulomb = tuple(float(x) + 0.0 for x in pair)
    return Friction(viscous=float(model.damping[k]), coulomb=coulomb)


def _most(value: float) -> float | None:
    return None if abs(value) > HUGE else float(value)


def _link_name(pin: Any, model: Any, j: int) -> str:
    """The body that sits in the joint's own frame, or a name of the joint's."""
    for frame in model.frames:
        body = frame.parentJoint == j and frame.type == pin.FrameType.BODY
        if body and frame.placement == pin.SE3.Identity():
            return frame.name
    return f"{model.names[j]}_link"


def _add_frames(pin: Any, model: Any, draft: Draft, names: list[str]) -> list[str]:
    """Bodies and operational frames as fixed links; returns the operational ones."""
    tools = []
    kinds = (pin.FrameType.BODY, pin.FrameType.OP_FRAME)
    for frame in model.frames:
        own = names[frame.parentJoint]
        here = frame.placement
        is_link = frame.name == own and here == pin.SE3.Identity()
        if frame.type not in kinds or is_link or frame.name == "universe":
            continue
        link = draft.link(frame.name)
        draft.joint(f"{link}_fixed", (own, link), frame_of(here.rotation, here.translation))
        if frame.type == pin.FrameType.OP_FRAME and frame.parentJoint:
            tools.append(link)
    return tools


def _configurations(model: Any) -> dict[str, tuple[float, ...]]:
    """Reference configurations, where every joint is one number of q."""
    if model.nq != model.nv:
        return {}
    pairs = [(x.key(), x.data()) if hasattr(x, "key") else x for x in model.referenceConfigurations]
    return {str(name): tuple(map(float, q)) for name, q in pairs}
