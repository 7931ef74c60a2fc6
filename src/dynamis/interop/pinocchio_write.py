"""Our robot as a Pinocchio model."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..arguments import checked
from ..lazy import package
from ..model.quantity import resolve
from ..robot import Robot
from ..spatial.frames import Frame, compose
from .lost import plain, say_lost
from .rigid_tree import RigidBody, TreeJoint, branch_by_branch, rigid_tree
from .sketches import arrays, each, free

HELD = (
    *("gravity", "joint limits", "velocity limits", "effort limits", "rotor inertia"),
    *("gear ratios", "named frames", "configurations", "joint and link names"),
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
    say_lost(robot, "Pinocchio", (*HELD, ASYMMETRIC) if dry else HELD)
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
    links, values = robot.model.links, robot.model.values
    rows = robot.limits
    none = float(np.finfo(float).max)
    finite = np.where(np.isfinite(rows), rows, np.copysign(none, rows))
    model.lowerPositionLimit = _placed(finite[:, 0], order)
    model.upperPositionLimit = _placed(finite[:, 1], order)
    for name, field in (("velocityLimit", "velocity_limit"), ("effortLimit", "effort_limit")):
        most = each(links, lambda x, f=field: resolve(getattr(x, f), values), none)
        setattr(model, name, _placed(most, order))


def _drives(model: Any, robot: Robot, order: list[int]) -> None:
    """Gears, rotors and friction on the joint's side."""
    motors, resistances = robot.chain.motors, robot.chain.resistances
    gears = [m.gear or 1.0 for m in motors]
    model.rotorGearRatio = _placed(gears, order)
    inertias = [m.inertia / g**2 for m, g in zip(motors, gears, strict=True)]
    model.rotorInertia = _placed(inertias, order)
    model.damping = _placed([r.viscous for r in resistances], order)
    if hasattr(model, "lowerDryFrictionLimit"):
        model.lowerDryFrictionLimit = _placed([r.minus for r in resistances], order)
        model.upperDryFrictionLimit = _placed([r.plus for r in resistances], order)
    else:
        model.friction = _placed([0.5 * (r.plus - r.minus) for r in resistances], order)


def _frames(pin: Any, model: Any, robot: Robot, index: list[int]) -> None:
    """Links in the user's frames, then named frames, then the tool."""
    m, c = robot.model, robot.chain
    kinds = pin.FrameType
    joints = {name: i for i, name in enumerate(robot.link_names)}
    taken: list[str] = []

    def add(name: str, i: int | None, place: Frame, kind: Any) -> None:
        taken.append(free(name, taken))
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
