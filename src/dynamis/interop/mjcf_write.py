"""Our robot as MJCF text: bodies with one hinge or slide each, nothing that touches."""

from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ..arguments import checked
from ..model.quantity import resolve
from ..model.urdf_write import spaced, writable
from ..robot import Robot
from ..spatial.frames import Frame, compose
from .lost import plain, say_lost
from .rigid_tree import TreeJoint, branch_by_branch, user_tree
from .sketches import free

KINDS = {"revolute": "hinge", "prismatic": "slide"}
TOOL = "dynamis.tool"  # the <custom> text that names the tool's site
LEAST = 1e-15  # MuJoCo's mjMINVAL
HELD = (
    *("gravity", "joint limits", "effort limits", "rotor inertia"),
    *("named frames", "configurations", "joint and link names"),
)


@checked
def to_mjcf(robot: Robot) -> str:
    """The robot as MJCF text; MuJoCo itself is not needed.

    Bodies are the user's link frames, sites the named frames and the tool, keyframes the
    configurations; every joint has a motor of its name. Coulomb friction is `frictionloss`, which
    MuJoCo treats as a soft constraint.
    """
    arm = plain(robot, "MuJoCo")
    tree = user_tree(arm)
    bodies = _unique(arm.link_names, ["world"])
    root, nodes = mjcf_element(tree, arm.chain.gravity, bodies, arm.joint_names)
    root.set("model", writable(robot.name))
    _joints(nodes, arm)
    _sites(root, nodes, arm)
    actuators = SubElement(root, "actuator")
    for name in arm.joint_names:
        SubElement(actuators, "motor", name=name, joint=name)
    keys = SubElement(root, "keyframe")
    for name, q in arm.configurations.items():
        SubElement(keys, "key", name=writable(name), qpos=spaced(_depth_first(tree, q)))
    say_lost(robot, "MJCF", HELD, _refused(arm, tree))
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def mjcf_element(
    tree: list[TreeJoint],
    gravity: Iterable[float],
    bodies: Sequence[str],
    joints: Sequence[str],
) -> tuple[Element, list[Element]]:
    """A <mujoco> element with the tree, and the <body> of each joint."""
    root = Element("mujoco")
    SubElement(root, "compiler", angle="radian", autolimits="true")
    SubElement(root, "option", gravity=spaced(gravity))
    world = SubElement(root, "worldbody")
    nodes: list[Element] = []
    for i, joint in enumerate(tree):
        parent = world if joint.parent < 0 else nodes[joint.parent]
        nodes.append(_body(parent, joint, bodies[i], joints[i]))
    return root, nodes


def _body(parent: Element, joint: TreeJoint, name: str, joint_name: str) -> Element:
    node = SubElement(parent, "body", {"name": writable(name), **_place(joint.R, joint.p)})
    SubElement(
        node,
        "joint",
        name=writable(joint_name),
        type=KINDS[joint.kind],
        pos=spaced(joint.anchor),
        axis=spaced(joint.axis),
        armature=repr(float(joint.armature)),
    )
    I = joint.body.inertia
    entries = spaced((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
    body = {"pos": spaced(joint.body.com), "mass": repr(float(joint.body.mass))}
    SubElement(node, "inertial", {**body, "fullinertia": entries})
    return node


def _place(R: Any, p: Any) -> dict[str, str]:
    R = np.asarray(R, dtype=float)
    return {"pos": spaced(p), "xyaxes": spaced((*R[:, 0], *R[:, 1]))}


def _joints(nodes: list[Element], robot: Robot) -> None:
    """Friction and limits of every joint."""
    values = robot.model.values
    rows = zip(nodes, robot.model.links, robot.chain.resistances, robot.limits, strict=True)
    for node, link, resistance, (low, high) in rows:
        joint = next(node.iter("joint"))
        joint.set("damping", repr(float(resistance.viscous)))
        joint.set("frictionloss", repr(float(0.5 * (resistance.plus - resistance.minus))))
        if np.isfinite((low, high)).all():
            joint.set("range", spaced((low, high)))
        effort = resolve(link.effort_limit, values)
        if effort is not None:
            joint.set("actuatorfrcrange", spaced((-effort, effort)))


def _sites(root: Element, nodes: list[Element], robot: Robot) -> None:
    """Named frames and the tool, whose name is kept in a <custom> text."""
    model, c = robot.model, robot.chain
    names: list[str] = []

    def add(name: str, at: int | None, place: Frame) -> None:
        parent = next(root.iter("worldbody")) if at is None else nodes[at]
        names.append(free(name, names))
        SubElement(parent, "site", {"name": writable(names[-1]), **_place(place.R, place.p)})

    for frame in model.frames:
        at = None if frame.link is None else model.link_names.index(frame.link)
        place = frame.pose.frame(model.values)
        add(frame.name, at, compose(c.base, place) if at is None else place)
    add(model.tool_name, model.tip, model.tool.frame(model.values))
    SubElement(SubElement(root, "custom"), "text", name=TOOL, data=names[-1])


def _unique(names: Iterable[str], taken: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        found.append(free(name, [*taken, *found]))
    return found


def _depth_first(tree: list[TreeJoint], q: np.ndarray) -> list[float]:
    """qpos as MuJoCo orders it: bodies depth first."""
    return [float(q[i]) for i in branch_by_branch(tree)]


def _refused(robot: Robot, tree: list[TreeJoint]) -> list[str]:
    """Bodies that MuJoCo's compiler will not take, in words."""
    words = []
    for name, joint in zip(robot.link_names, tree, strict=True):
        low, middle, high = np.linalg.eigvalsh(joint.body.inertia)
        if joint.body.mass < LEAST or low < LEAST:
            words.append(f"MuJoCo refuses {name!r}: a moving body needs mass and inertia")
        elif low + middle < high:
            words.append(f"MuJoCo refuses {name!r}: its inertia breaks the triangle inequality")
    return words
