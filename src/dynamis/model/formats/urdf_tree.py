"""The model of a URDF's links and joints: one root, fixed joints merged, a tool chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...arguments import is_word
from ...errors import ModelError, did_you_mean, shown
from ...spatial.frames import Frame, compose, from_xyz_rpy
from ...spatial.functions import MATH
from ...spatial.inertia import Inertia, from_com, linear, plus, transformed
from ...spatial.rotations import IDENTITY, normalised, rotation_from_axis_angle
from ...spatial.vectors import ZERO, scale
from ..friction import Friction
from ..link import Link
from ..model import Model, NamedFrame
from ..pose import Pose, pose
from ..quantity import quantity
from .tables import check_count
from .urdf_elements import MOVING, NO_LIMIT, Sketch, UrdfJoint, UrdfLink


@dataclass
class Place:
    """Where a URDF link went: the moving link that carries it (None: the base), and where on it."""

    carrier: str | None
    pose: Pose
    depth: int  # moving joints from the root


@dataclass
class Walk:
    """What a walk from the root gathers."""

    places: dict[str, Place]
    links: list[Link] = field(default_factory=list)
    merged: dict[str, Inertia] = field(default_factory=dict)
    frames: list[NamedFrame] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)


def plain_model(
    robot: Sketch, name: str, tip: str | None = None, lock: Mapping[str, Any] | None = None
) -> Model:
    """The model that a URDF's standard elements describe.

    Without `tip` the tool is the first link that the most moving joints lead to, moved on through
    the fixed links behind it as long as there is exactly one.
    """
    check_count(sum(joint.kind in MOVING for joint in robot.joints), "moving joint")
    robot, held = _tied(robot, _locked(robot, lock or {}))
    children = _children(robot)
    root = _root(robot, children)
    walk = _walk(robot, root, children, held)
    if not walk.links:
        raise ModelError(
            f"has no moving joint: all {len(robot.joints)} are fixed or locked, "
            "expected a revolute, continuous or prismatic one"
        )
    links = _in_order([_with_merged(x, walk.merged) for x in walk.links], walk.order)
    tip = _default_tip(walk, children) if tip is None else _known_tip(tip, walk)
    place = walk.places[tip]
    return Model(
        name=robot.name or name,
        convention="urdf",
        links=tuple(links),
        base_name=root,
        frames=tuple(walk.frames),
        tool=place.pose,
        tool_link=None if place.carrier == links[-1].name else place.carrier,
        tool_name=tip,
    )


def _locked(robot: Sketch, lock: Mapping[str, Any]) -> dict[str, float]:
    """Joints that are asked to be locked, and at what value."""
    moving = [joint.name for joint in robot.joints if joint.kind in MOVING]
    held = {}
    for name, value in lock.items():
        if name not in moving:
            raise ModelError(
                f"lock names {name!r}, which is not a joint that moves",
                did_you_mean(name, moving),
            )
        number = quantity(value, f"lock[{name!r}]")
        if not isinstance(number, float):
            raise ModelError(f"lock[{name!r}] is {shown(value)}, expected a number")
        held[name] = number
    return held


def _tied(robot: Sketch, locked: Mapping[str, float]) -> tuple[Sketch, dict[str, float]]:
    """Joints that mimic tied to one that moves by itself, or held with the locked one they follow.

    A joint that mimics a joint that mimics: x = k (k' y + c') + c.
    """
    joints = {joint.name: joint for joint in robot.joints}
    held, tied = dict(locked), []
    for joint in robot.joints:
        if joint.mimic is None or joint.name in locked:
            tied.append(joint)
            continue
        leader, k, c = joint.mimic
        path = [joint.name]
        while leader not in locked and leader in joints and (above := joints[leader].mimic):
            if leader in path:
                raise ModelError(
                    f"joint {path[-1]!r} mimics {leader!r} and so in the end itself: none of them "
                    "moves by itself"
                )
            path.append(leader)
            leader, k, c = above[0], k * above[1], k * above[2] + c
        if leader in locked:
            held[joint.name] = k * locked[leader] + c
        elif leader not in joints or joints[leader].kind not in MOVING:
            why = "does not move by itself" if leader in joints else "does not exist"
            free = [x.name for x in robot.joints if x.kind in MOVING and x.mimic is None]
            raise ModelError(
                f"joint {path[-1]!r} mimics {leader!r}, which {why}", did_you_mean(leader, free)
            )
        tied.append(replace(joint, mimic=(leader, k, c)))
    return replace(robot, joints=tuple(tied)), held


def _children(robot: Sketch) -> dict[str, list[UrdfJoint]]:
    """Joints below each link, in the file's order; every link has at most one parent."""
    children: dict[str, list[UrdfJoint]] = {name: [] for name in robot.links}
    above: dict[str, UrdfJoint] = {}
    for joint in robot.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in children:
                raise ModelError(
                    f"joint {joint.name!r} has {role} link {link!r}, which does not exist",
                    did_you_mean(link, children),
                )
        if joint.child in above:
            raise ModelError(
                f"link {joint.child!r} has two parents, through the joints "
                f"{above[joint.child].name!r} and {joint.name!r}: expected a tree",
                "closed loops are not supported: cut the loop at one joint",
            )
        above[joint.child] = joint
        children[joint.parent].append(joint)
    return children


def _root(robot: Sketch, children: Mapping[str, list[UrdfJoint]]) -> str:
    above = {joint.child: joint for joint in robot.joints}
    roots = [name for name in robot.links if name not in above]
    if len(roots) > 1:
        raise ModelError(f"has {len(roots)} root links {roots}, expected one: join them by joints")
    reached = set(roots)
    todo = list(roots)
    while todo:
        below = [joint.child for joint in children[todo.pop()]]
        reached.update(below)
        todo += below
    lost = next((name for name in robot.links if name not in reached), None)
    if lost is not None:
        loop = []
        while lost not in {joint.child for joint in loop}:
            loop.append(above[lost])
            lost = above[lost].parent
        start = next(i for i, joint in enumerate(loop) if joint.child == lost)
        names = [joint.name for joint in reversed(loop[start:])]
        raise ModelError(f"the joints {names} form a loop, expected a tree with one root")
    return roots[0]


def _walk(
    robot: Sketch, root: str, children: Mapping[str, list[UrdfJoint]], held: Mapping[str, float]
) -> Walk:
    """Depth first in the file's order, parents before children."""
    walk = Walk({root: Place(None, Pose(), 0)})
    todo = list(reversed(children[root]))
    while todo:
        joint = todo.pop()
        todo += reversed(children[joint.child])
        above = walk.places[joint.parent]
        here = _joined(above.pose, joint, held.get(joint.name))
        index = None if joint.extension is None else joint.extension.get("index")
        if joint.kind in MOVING and joint.name not in held:
            body = robot.links[joint.child]
            walk.links.append(_moving_link(joint, body, above.carrier, here))
            walk.places[joint.child] = Place(joint.child, Pose(), above.depth + 1)
            if index is not None and index.isdecimal():
                walk.order[joint.child] = int(index)
            continue
        walk.places[joint.child] = Place(above.carrier, here, above.depth)
        if joint.extension is None or joint.extension.get("helper") is None:
            frame = NamedFrame(name=joint.child, link=above.carrier, pose=here)
            walk.frames.append(frame)
        if above.carrier is not None:
            own = transformed(here.frame({}), _inertia(robot.links[joint.child]))
            if any(linear(own)):
                sofar = walk.merged.get(above.carrier, Inertia())
                walk.merged[above.carrier] = plus(sofar, own)
    return walk


def _joined(above: Pose, joint: UrdfJoint, value: float | None) -> Pose:
    """The joint's frame seen from the carrier; numbers stay the file's own where nothing moves."""
    if above == Pose() and value is None:
        return Pose(joint.xyz, joint.rpy)
    frame = compose(above.frame({}), from_xyz_rpy(joint.xyz, joint.rpy))
    if value is not None:
        frame = compose(frame, _motion(joint, value))
    return pose(frame, joint.name)


def _motion(joint: UrdfJoint, value: float) -> Frame:
    axis = normalised(joint.axis)
    if MOVING[joint.kind] == "prismatic":
        return Frame(IDENTITY, scale(value, axis))
    return Frame(rotation_from_axis_angle(axis, value))


def _moving_link(joint: UrdfJoint, body: UrdfLink, carrier: str | None, here: Pose) -> Link:
    limit = joint.limit
    ends = (limit.get("lower", 0.0), limit.get("upper", 0.0))
    limited = joint.kind != "continuous" and ("lower" in limit or "upper" in limit)
    return Link(
        joint=MOVING[joint.kind],
        name=joint.child,
        joint_name=joint.name,
        parent=carrier,
        xyz=here.xyz,
        rpy=here.rpy,
        axis=joint.axis,
        mimic=joint.mimic,
        mass=body.mass,
        com=body.com,
        inertia=body.inertia,
        friction=Friction(viscous=joint.damping, coulomb=joint.friction),
        limits=ends if limited and ends != (-NO_LIMIT, NO_LIMIT) else None,
        velocity_limit=_bound(limit.get("velocity")),
        effort_limit=_bound(limit.get("effort")),
    )


def _bound(value: float | None) -> float | None:
    return None if value == NO_LIMIT else value


def _inertia(link: UrdfLink) -> Inertia:
    Ixx, Iyy, Izz, Ixy, Iyz, Ixz = link.inertia
    return from_com(link.mass, link.com or ZERO, (Ixx, Ixy, Iyy, Ixz, Iyz, Izz))


def _with_merged(link: Link, merged: Mapping[str, Inertia]) -> Link:
    """The link with what is fixed to it, as ten linear parameters; untouched if nothing is."""
    if str(link.name) not in merged:
        return link
    total = plus(link.body({}, MATH), merged[str(link.name)])
    return replace(link, mass=0.0, com=None, inertia=None, linear=linear(total))


def _in_order(links: list[Link], order: Mapping[str, int]) -> list[Link]:
    """Links as the extension numbers them, where it numbers all and parents stay first."""
    if len(order) != len(links):
        return links
    again = sorted(links, key=lambda link: order[str(link.name)])
    place = {link.name: i for i, link in enumerate(again)}
    fits = all(x.parent is None or place[x.parent] < place[x.name] for x in again)
    return again if fits else links


def _default_tip(walk: Walk, children: Mapping[str, list[UrdfJoint]]) -> str:
    deepest = max(walk.places[str(link.name)].depth for link in walk.links)
    tip = next(str(x.name) for x in walk.links if walk.places[str(x.name)].depth == deepest)
    while len(children[tip]) == 1:
        tip = children[tip][0].child
    return tip


def _known_tip(tip: str, walk: Walk) -> str:
    if not is_word(tip, walk.places):
        raise ModelError(f"tip {shown(tip)} is not a link", did_you_mean(tip, walk.places))
    if walk.places[tip].carrier is None:
        moving = [name for name, place in walk.places.items() if place.carrier is not None]
        raise ModelError(
            f"tip {tip!r} is fixed to the base and never moves", did_you_mean(tip, moving)
        )
    return tip
