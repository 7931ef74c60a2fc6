"""Our robot as MJCF text: bodies with one hinge or slide each, nothing that touches."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ..arguments import checked
from ..dynamics import coupling
from ..model.formats.urdf_write import spaced, writable
from ..model.quantity import resolve
from ..robot import Robot
from ..spatial.frames import Frame, compose
from .lost import plain, say_lost
from .rigid_tree import RigidBody, TreeJoint, branch_by_branch, user_tree
from .sketches import free

KINDS = {"revolute": "hinge", "prismatic": "slide"}
TOOL = "dynamis.tool"  # the <custom> text that names the tool's site
LEAST = 1e-14  # kg and kg m^2 of what has none, above MuJoCo's mjMINVAL
ROUNDING = 1e-12
HELD = (
    *("gravity", "joint limits", "effort limits", "rotor inertia"),
    *("named frames", "configurations", "joint and link names"),
)


@checked
def to_mjcf(robot: Robot) -> str:
    """The robot as MJCF text; MuJoCo itself is not needed.

    Bodies are the user's link frames, sites the named frames and the tool, keyframes the
    configurations; every joint that moves by itself has a motor of its name. Coulomb friction is
    `frictionloss` and a mimic an `equality`, which MuJoCo treats as soft constraints. A link
    without mass or inertia gets 1e-14 kg or kg m^2, which MuJoCo needs.
    """
    arm = plain(robot, "MuJoCo", mimics=True)
    own = user_tree(arm)
    tree = [joint._replace(body=_filled(joint.body)) for joint in own]
    bodies = _unique(arm.link_names, ["world"])
    root, nodes = mjcf_element(tree, arm.chain.gravity, bodies, arm.model.tree_joint_names)
    root.set("model", writable(robot.name))
    _joints(nodes, arm)
    _sites(root, nodes, arm)
    actuators = SubElement(root, "actuator")
    for name in arm.joint_names:
        SubElement(actuators, "motor", name=name, joint=name)
    _mimics(root, arm)
    keys = SubElement(root, "keyframe")
    for name, q in arm.configurations.items():
        x = coupling.positions(arm.chain, q.tolist())
        SubElement(keys, "key", name=writable(name), qpos=spaced(_depth_first(tree, x)))
    say_lost(robot, "MJCF", HELD, _differs(arm, own, tree))
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
    body = {"pos": spaced(joint.body.com), "mass": repr(float(joint.body.mass))}
    SubElement(node, "inertial", {**body, **_principal(joint.body.inertia)})
    return node


def _principal(I: np.ndarray) -> dict[str, str]:
    """Principal moments and axes; a flat body's, where rounding alone breaks the triangle."""
    if not np.any(I - np.diag(np.diag(I))):
        return {"diaginertia": spaced(np.diag(I))}
    (low, middle, high), axes = np.linalg.eigh(I)
    if low + middle < high < (low + middle) * (1.0 + ROUNDING):
        high = low + middle
    return {"diaginertia": spaced((low, middle, high)), "xyaxes": spaced(axes[:, :2].T.ravel())}


def _filled(body: RigidBody) -> RigidBody:
    """The body with enough mass and inertia for MuJoCo; what is impossible stays so."""
    low, _, high = np.linalg.eigvalsh(body.inertia)
    lacking = LEAST - low if -ROUNDING * high <= low < LEAST else 0.0
    if body.mass >= LEAST and not lacking:
        return body
    return RigidBody(max(body.mass, LEAST), body.com, body.inertia + lacking * np.eye(3))


def _place(R: Any, p: Any) -> dict[str, str]:
    R = np.asarray(R, dtype=float)
    return {"pos": spaced(p), "xyaxes": spaced((*R[:, 0], *R[:, 1]))}


def _joints(nodes: list[Element], robot: Robot) -> None:
    """Friction and limits of every joint."""
    values = robot.model.values
    for node, link, resistance in zip(
        nodes, robot.model.links, robot.chain.resistances, strict=True
    ):
        joint = next(node.iter("joint"))
        joint.set("damping", repr(float(resistance.viscous)))
        joint.set("frictionloss", repr(float(0.5 * (resistance.plus - resistance.minus))))
        ends = [float(resolve(x, values)) for x in link.limits or ()]
        if ends and np.isfinite(ends).all():
            joint.set("range", spaced(ends))
        effort = resolve(link.effort_limit, values)
        if effort is not None:
            joint.set("actuatorfrcrange", spaced((-effort, effort)))


def _mimics(root: Element, robot: Robot) -> None:
    """Joints that mimic others, as equalities."""
    values = robot.model.values
    tied = [x for x in robot.model.links if x.mimic is not None]
    for link, (leader, *numbers) in ((x, x.mimic) for x in tied if x.mimic is not None):
        factor, start = (float(resolve(x, values)) for x in numbers)
        names = {"joint1": writable(str(link.joint_name)), "joint2": writable(leader)}
        ties = root.find("equality")
        ties = SubElement(root, "equality") if ties is None else ties
        SubElement(ties, "joint", names, polycoef=spaced((start, factor, 0.0, 0.0, 0.0)))


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


def _depth_first(tree: list[TreeJoint], q: Sequence[Any]) -> list[float]:
    """qpos as MuJoCo orders it: bodies depth first."""
    return [float(q[i]) for i in branch_by_branch(tree)]


def _differs(robot: Robot, own: list[TreeJoint], tree: list[TreeJoint]) -> Iterator[str]:
    """Bodies that MuJoCo's compiler would not take, or takes with what they lack, in words."""
    lacking = [
        name for name, a, b in zip(robot.link_names, own, tree, strict=True) if a.body is not b.body
    ]
    if lacking:
        yield f"that {', '.join(lacking)} lack mass or inertia ({LEAST} kg, kg m^2 is written)"
    for name, joint in zip(robot.link_names, tree, strict=True):
        low, middle, high = np.linalg.eigvalsh(joint.body.inertia)
        if low <= 0.0 or (low + middle) * (1.0 + ROUNDING) < high:
            yield f"MuJoCo refuses {name!r}: its inertia breaks the triangle inequality"
