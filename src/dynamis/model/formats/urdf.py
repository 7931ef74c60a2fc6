"""Robots in URDF files: read with fixed joints merged, written so that other tools agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, indent, tostring

from ...arguments import one_of
from ...errors import ModelError, counted, did_you_mean, shown, warn, worded
from ...spatial.frames import Frame, compose, from_xyz_rpy
from ...spatial.functions import MATH
from ...spatial.inertia import Inertia, from_com, from_entries, linear, plus, transformed
from ...spatial.rotations import IDENTITY, normalised, rotation_from_axis_angle
from ...spatial.vectors import ZERO, scale
from ..check.finding import Finding
from ..friction import Friction
from ..link import Link
from ..model import Model, NamedFrame
from ..pose import Pose, pose
from ..quantity import quantity
from .tables import check_count, located, model_from_table
from .urdf_attributes import has_attributes, said_table
from .urdf_elements import MOVING, NO_LIMIT, Sketch, UrdfJoint, UrdfLink, parsed, sketch
from .urdf_extension import (
    Extension,
    digests,
    extend,
    extension,
    is_toml,
    marked,
    restored,
    warn_of_text,
)
from .urdf_geometry import put_geometry, urdf_geometry
from .urdf_kept import kept_elements, packages_lost, put_back
from .urdf_write import standard_robot


def model_from_urdf(
    data: bytes,
    where: str = "URDF",
    tip: str | None = None,
    lock: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> Model:
    """The model described by URDF text; `where` starts every error message.

    Links behind fixed joints are merged into the link that carries them and stay as named frames.
    `tip` names the link that is the tool, `lock` fixes joints, by name, at values; joints that
    mimic a locked one are locked with it. Elements that the model has no place for are kept, with
    the `folder` of their file.
    """
    with located(where):
        root = parsed(data, text=True)
        robot, tool, said = _extended(sketch(root), where)
        name = Path(where).stem
        model = written = plain_model(robot, name, tool, lock)
        own_tip = tip is not None and tip != written.tool_name
        plain = plain_model(robot, name, tip, lock) if own_tip else written
        if said is not None:
            model = restored(plain, digests(plain, robot), said, where, own_tip, bool(lock))
        else:
            model = plain
        model = replace(model, geometry=urdf_geometry(root, model, folder))
        return replace(model, kept_elements=kept_elements(root, model, folder))


def _extended(robot: Sketch, where: str) -> tuple[Sketch, str | None, Extension | None]:
    """A robot, the link that is its tool, and what its extension says, of whichever version."""
    said = None
    if is_toml(robot):
        robot, tool, said = extension(robot)
        warn_of_text(said, _written(said.model)[1], where)
        return robot, tool if tool in robot.links else None, said
    tool = None if robot.extension is None else robot.extension.get("tip")
    tool = tool if tool in robot.links else None
    if has_attributes(robot):
        table, lost = said_table(robot, plain_model(robot, Path(where).stem, tool))
        model = model_from_table(table)
        said = Extension(model, _written(model)[1], tuple(lost))
    return robot, tool, said


def urdf_text(model: Model, folder: Path | None = None) -> str:
    """The model as URDF text; what only the <dynamis> element holds is said in a warning.

    Elements that a URDF had beyond the model are put back. `folder` is where the text goes to.
    """
    shaped, model = model, replace(model, geometry=())  # shapes are elements of their own
    element, said, tool, helpers = _written(model)
    lost = put_back(element, model, folder)
    if plain_model(sketch(element), model.name) != model:
        extend(element, model, said, tool, helpers)
    if capsules := put_geometry(element, shaped, folder):
        warn(
            f"URDF has no capsules: {worded(capsules)} of {model.name!r} written as a cylinder and "
            "two spheres each"
        )
    if lost:
        warn(
            f"not all elements of the URDF of {model.name!r} have a place in this one: left out: "
            f"{', '.join(lost)}"
        )
    if names := packages_lost(shaped, folder):
        warn(
            f"meshes of {model.name!r} in the package {', '.join(names)} are not found from the "
            "new file: save it below the package, or put the package's folder into ROS_PACKAGE_PATH"
        )
    indent(element)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(element, encoding="unicode") + "\n"


def _written(model: Model) -> tuple[Element, dict[str, Any], str, list[str]]:
    """The <robot> of a model, digests of its elements; its tool and helpers."""
    element, tool, helpers = standard_robot(model)
    robot = marked(sketch(element), model, helpers)
    return element, digests(plain_model(robot, model.name, tool), robot), tool, helpers


# the model of links and joints: one root, fixed joints merged, a tool chosen


@dataclass
class LinkPlace:
    """Where a URDF link went: the moving link that carries it (None: the base), and where on it."""

    carrier: str | None
    pose: Pose
    depth: int  # moving joints from the root


def plain_model(
    robot: Sketch, name: str, tip: str | None = None, lock: Mapping[str, Any] | None = None
) -> Model:
    """The model that a URDF's standard elements describe.

    Without `tip` the tool is the first link that the most moving joints lead to, moved on through
    the fixed links behind it as long as there is exactly one.
    """
    check_count(sum(joint.kind in MOVING for joint in robot.joints), "moving joint")
    robot, held = _tied(robot, _locked(robot, lock or {}))
    tree = _Tree(robot, held)
    if not tree.links:
        count = len(robot.joints)
        why = f" ({counted(count, 'joint')}, fixed or locked)" if count else " (no joint at all)"
        raise ModelError(
            f"has no moving joint{why}, expected a revolute, continuous or prismatic one"
        )
    links = tree.in_order()
    tip = tree.default_tip() if tip is None else tree.known_tip(tip)
    place = tree.places[tip]
    return Model(
        name=robot.name or name,
        convention="urdf",
        links=tuple(links),
        base_name=tree.root,
        frames=tuple(tree.frames),
        tool=place.pose,
        tool_link=None if place.carrier == links[-1].name else place.carrier,
        tool_name=tip,
        findings=(*_bolted_root(robot, tree), *_gears_left_out(robot, links)),
    )


WORLD = ("world", "map", "odom", "ground")  # roots that say themselves that the robot stands
LIMB = 3  # moving joints of a leg or an arm, at least


def _bolted_root(robot: Sketch, tree: "_Tree") -> tuple[Finding, ...]:
    """A note on a root with mass and several limbs: a torso, which a tree of links holds still."""
    if tree.root in WORLD:
        return ()
    own = [robot.links[name] for name, place in tree.places.items() if place.carrier is None]
    limbs: dict[str, int] = {}
    first: dict[str, str] = {}
    for link in tree.links:  # parents before children
        name = str(link.name)
        first[name] = name if link.parent is None else first[link.parent]
        limbs[first[name]] = limbs.get(first[name], 0) + 1
    count = sum(joints >= LIMB for joints in limbs.values())
    mass = sum(link.mass for link in own)
    if count < 2 or mass <= 0.0:
        return ()
    heaviest = max(own, key=lambda link: link.mass)
    what = f"{heaviest.name!r} is bolted to the world here: {mass:g} kg with {count} limbs on it"
    remedy = (
        "right for a robot on a stand; of a humanoid or a walking machine, whose trunk moves, only "
        "the limbs are computed: dynamis has no floating base"
    )
    return (Finding("note", "base", what, remedy),)


def _gears_left_out(robot: Sketch, links: Sequence[Link]) -> tuple[Finding, ...]:
    """A note for every joint whose <transmission> has a gear ratio: rotor and gear are not read."""
    said = [(x.joint_name, robot.reductions.get(str(x.joint_name))) for x in links]
    return tuple(
        Finding(
            "note",
            f"joint {name!r}",
            f"has a <transmission> with mechanicalReduction {ratio}, which is not used",
            f"after robot.save('arm.toml') give its link drive = {{ gear = {ratio}, ... }}",
        )
        for name, ratio in said
        if ratio is not None
    )


def _locked(robot: Sketch, lock: Mapping[str, Any]) -> dict[str, float]:
    """Joints that are asked to be locked, and at what value."""
    moving = [joint.name for joint in robot.joints if joint.kind in MOVING]
    held = {}
    for name, value in lock.items():
        one_of(name, moving, f"lock names {name!r}, which is not a joint that moves", ModelError)
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
            what = f"joint {joint.name!r} has {role} link {link!r}, which does not exist"
            one_of(link, children, what, ModelError)
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
    apart = next((name for name in robot.links if name not in reached), None)
    if apart is not None:
        loop = []
        while apart not in {joint.child for joint in loop}:
            loop.append(above[apart])
            apart = above[apart].parent
        start = next(i for i, joint in enumerate(loop) if joint.child == apart)
        names = [joint.name for joint in reversed(loop[start:])]
        raise ModelError(f"the joints {names} form a loop, expected a tree with one root")
    return roots[0]


class _Tree:
    """Moving links, what is fixed to them, and where every URDF link went.

    Depth first in the file's order, parents before children.
    """

    def __init__(self, robot: Sketch, held: Mapping[str, float]):
        self.children = _children(robot)
        self.root = _root(robot, self.children)
        self.places = {self.root: LinkPlace(None, Pose(), 0)}
        self.links: list[Link] = []
        self.frames: list[NamedFrame] = []
        self.merged: dict[str, Inertia] = {}
        self.order: dict[str, int] = {}
        todo = list(reversed(self.children[self.root]))
        while todo:
            joint = todo.pop()
            todo += reversed(self.children[joint.child])
            self._add(joint, robot.links[joint.child], held.get(joint.name))

    def _add(self, joint: UrdfJoint, body: UrdfLink, value: float | None) -> None:
        above = self.places[joint.parent]
        here = _joined(above.pose, joint, value)
        if joint.kind in MOVING and value is None:
            self.links.append(_moving_link(joint, body, above.carrier, here))
            self.places[joint.child] = LinkPlace(joint.child, Pose(), above.depth + 1)
            if joint.index is not None:
                self.order[joint.child] = joint.index
            return
        self.places[joint.child] = LinkPlace(above.carrier, here, above.depth)
        if not joint.helper:
            self.frames.append(NamedFrame(name=joint.child, link=above.carrier, pose=here))
        if above.carrier is not None:
            own = from_com(body.mass, body.com or ZERO, from_entries(body.inertia))
            own = transformed(here.frame({}), own)
            if any(linear(own)):
                before = self.merged.get(above.carrier, Inertia())
                self.merged[above.carrier] = plus(before, own)

    def in_order(self) -> list[Link]:
        """Links, with what is fixed to them as ten linear parameters, in the right order.

        It is that of the extension where it numbers all and parents stay first.
        """
        links = []
        for link in self.links:
            if link.name in self.merged:
                total = plus(link.body({}, MATH), self.merged[link.name])
                body = {"mass": 0.0, "com": None, "inertia": None, "linear": linear(total)}
                link = replace(link, **body)  # noqa: PLW2901
            links.append(link)
        if len(self.order) != len(links):
            return links
        again = sorted(links, key=lambda link: self.order[str(link.name)])
        place = {link.name: i for i, link in enumerate(again)}
        fits = all(x.parent is None or place[x.parent] < place[x.name] for x in again)
        return again if fits else links

    def default_tip(self) -> str:
        """The first link that the most moving joints lead to, or what alone is fixed to it."""
        tip = max((str(link.name) for link in self.links), key=lambda x: self.places[x].depth)
        while len(self.children[tip]) == 1:
            tip = self.children[tip][0].child
        return tip

    def known_tip(self, tip: str) -> str:
        """The link that was asked for, if it moves."""
        one_of(tip, self.places, f"tip {shown(tip)} is not a link", ModelError)
        moving = [name for name, place in self.places.items() if place.carrier is not None]
        one_of(tip, moving, f"tip {tip!r} is fixed to the base and never moves", ModelError)
        return tip


def _joined(above: Pose, joint: UrdfJoint, value: float | None) -> Pose:
    """The joint's frame seen from the carrier; numbers stay the file's own where nothing moves."""
    if above == Pose() and value is None:
        return Pose(joint.xyz, joint.rpy)
    frame = compose(above.frame({}), from_xyz_rpy(joint.xyz, joint.rpy))
    if value is not None:
        axis = normalised(joint.axis)
        motion = Frame(IDENTITY, scale(value, axis))
        if MOVING[joint.kind] == "revolute":
            motion = Frame(rotation_from_axis_angle(axis, value))
        frame = compose(frame, motion)
    return pose(frame, joint.name)


def _moving_link(joint: UrdfJoint, body: UrdfLink, carrier: str | None, here: Pose) -> Link:
    limit = joint.limit
    ends = (limit.get("lower", 0.0), limit.get("upper", 0.0))
    most = ((f"{x}_limit", limit.get(x, NO_LIMIT)) for x in ("velocity", "effort"))
    bounds: dict[str, Any] = {name: x for name, x in most if x != NO_LIMIT}
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
        **bounds,
    )
