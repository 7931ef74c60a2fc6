"""Robots in URDF files: read with fixed joints merged, written so that other tools agree."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import indent, tostring

from ...errors import DynamisWarning, ModelError
from ...spatial.frames import Frame, compose, inverse
from ...spatial.functions import MATH
from ...spatial.inertia import linear, plus, transformed, transformed_back
from ..chain import Chain, chain
from ..drive import Drive
from ..friction import Friction
from ..link import Link
from ..model import Model, NamedFrame
from ..pose import pose
from ..quantity import resolve
from .tables import frame_from_table, located, payload_from_table, read_bytes
from .urdf_elements import Sketch, parsed, sketch
from .urdf_extension import GROUPS, extend, joint_groups, number_joints, robot_table
from .urdf_tree import plain_model
from .urdf_write import SAME, as_written, same_frame, same_inertia, standard_robot

# a plain URDF model and its extension put together again, as far as they still agree

Groups = list[dict[str, dict[str, Any]]]
BODILESS: dict[str, Any] = dict.fromkeys(GROUPS["body"], None) | {"mass": 0.0}
IN_FRAMES = ("payload", "base", "base_name", "tool", "tool_name", "tool_link", "frames")
PLACELESS: dict[str, Any] = {x: getattr(Link(), x) for x in GROUPS["geometry"]}


def restored(plain: Model, robot: Sketch, where: str, own_tip: bool, locked: bool) -> Model:
    """The model as it was written; parts that the standard elements contradict are theirs.

    A tip or locked joints asked for by the caller make their own frames, so the parts of the
    extension that speak of the others are left aside.
    """
    said = robot_table(robot.extension)
    extensions = {joint.child: joint.extension for joint in robot.joints}
    groups = [joint_groups(extensions[name]) for name in plain.link_names]
    if not said and not any(groups):
        return plain
    if locked:
        _check_lockable(plain, said, groups)
        said.pop("configurations", None)
    edited: list[str] = []
    places = None if locked else _placed(plain, said, groups)
    if places is None:
        edited += [] if locked else [_what_places(said)]
        places = replace(plain, values=said.get("values", {}))
        said = {k: v for k, v in said.items() if k not in IN_FRAMES}
        groups = [{k: v for k, v in g.items() if k != "body"} for g in groups]
    model, moved_tool = _with_frames(places, plain, said, own_tip, edited)
    if own_tip or moved_tool:
        _give_up_payload(plain, said, groups)
    model = _with_bodies(model, plain, said, groups, edited)
    model = _with_rest(model, plain, said, groups, edited)
    if edited:
        warnings.warn(
            f"{where}: the URDF elements were edited since dynamis wrote them and count now, "
            f"not what <dynamis> says, for: {', '.join(dict.fromkeys(edited))}",
            DynamisWarning,
            stacklevel=4,
        )
    return model


def _give_up_payload(plain: Model, said: dict[str, Any], groups: Groups) -> None:
    """Without its tool a payload stays in the link that carries it, as the URDF has it."""
    if said.pop("payload", None) is not None:
        carrier = said.get("tool_link", plain.link_names[-1])
        groups[plain.link_names.index(carrier)].pop("body", None)


def _check_lockable(plain: Model, said: Mapping[str, Any], groups: Groups) -> None:
    for link, group in zip(plain.links, groups, strict=True):
        if link.joint == "prismatic" and group.get("body", {}).get("com_factor") is not None:
            raise ModelError(
                f"lock was given, but the centre of mass of {link.name!r} moves with q "
                "(com_factor), which a URDF with locked joints cannot say",
                "load it without lock, or give the link a constant com",
            )
    if "gear_matrix" in said:
        raise ModelError(
            "lock was given, but the robot has a gear_matrix: a locked joint may still be "
            "turned by a motor it shares",
            "load it without lock",
        )


def _what_places(said: Mapping[str, Any]) -> str:
    convention = said.get("convention", "urdf")
    return "joint placements" + ("" if convention == "urdf" else " (the DH table is dropped)")


def _placed(plain: Model, said: dict[str, Any], groups: Groups) -> Model | None:
    """The plain model with the extension's placements, or None where they are not the same."""
    convention = said.get("convention", "urdf")
    if convention != "urdf" and plain.is_tree:
        return None
    links = []
    for link, group in zip(plain.links, groups, strict=True):
        if convention != "urdf":
            if "geometry" not in group:
                return None
            links.append(replace(link, parent=None, **PLACELESS | group["geometry"]))
        elif "geometry" in group:
            links.append(replace(link, **PLACELESS | group["geometry"]))
        else:
            links.append(link)
    base = pose(said.get("base"), "base")
    values = said.get("values", {})
    model = replace(plain, convention=convention, links=tuple(links), base=base, values=values)
    a, b = chain(model), chain(plain)
    same = all(
        x.kind == y.kind and x.parent == y.parent and same_frame(x.placement, y.placement)
        for x, y in zip(a.joints, b.joints, strict=True)
    )
    return model if same else None


def _with_frames(
    model: Model, plain: Model, said: dict[str, Any], own_tip: bool, edited: list[str]
) -> tuple[Model, bool]:
    """Named frames and tool in the model's own frames; and whether the tool was moved since."""
    new, old = chain(model), chain(plain)
    frames = [_carried(frame, model, new, old) for frame in plain.frames]
    if "frames" in said:
        given = [frame_from_table(row) for row in said["frames"]]
        if _same_frames(given, frames, model):
            frames = given
        else:
            edited.append("named frames")
    held = NamedFrame(name="", link=plain.link_names[plain.tip], pose=plain.tool)
    tool = _carried(held, model, new, old).pose
    changes: dict[str, Any] = {"tool": tool}
    moved = False
    if "tool" in said and not own_tip:
        given_tool = pose(said["tool"], "tool")
        here = said.get("tool_link", model.link_names[-1])
        moved = here != model.link_names[plain.tip] or not same_frame(
            given_tool.frame(model.values), tool.frame(model.values)
        )
        edited += ["the tool"] if moved else []
        if not moved:
            changes = {"tool": given_tool, "tool_link": said.get("tool_link")}
            changes["tool_name"] = said.get("tool_name", plain.tool_name)
    return replace(model, frames=tuple(frames), **changes), moved


def _carried(frame: NamedFrame, model: Model, new: Chain, old: Chain) -> NamedFrame:
    """A frame of the plain model seen from the model's own link frame."""
    if frame.link is None:
        above, below = Frame(), new.base
    else:
        i = model.link_names.index(frame.link)
        above, below = old.bodies[i].user, new.bodies[i].user
    if above == below:
        return frame
    place = compose(compose(inverse(below), above), frame.pose.frame({}))
    return replace(frame, pose=pose(place, frame.name))


def _same_frames(a: list[NamedFrame], b: list[NamedFrame], model: Model) -> bool:
    others = {frame.name: frame for frame in b}
    return {f.name for f in a} == set(others) and all(
        f.link == others[f.name].link
        and same_frame(f.pose.frame(model.values), others[f.name].pose.frame(model.values))
        for f in a
    )


def _with_bodies(
    model: Model,
    plain: Model,
    said: dict[str, Any],
    groups: Groups,
    edited: list[str],
) -> Model:
    """Bodies as the extension gives them; payload apart from its link again."""
    old, new = chain(plain), chain(model)
    payload = payload_from_table(said["payload"]) if "payload" in said else None
    links = []
    for i, (link, group) in enumerate(zip(model.links, groups, strict=True)):
        standard = old.bodies[i].inertia
        if "body" in group:
            given = replace(link, **BODILESS | group["body"])
            total = as_written(transformed(new.bodies[i].user, given.body(model.values, MATH)))
            if payload is not None and i == model.tip:
                total = plus(
                    total, transformed(new.tool, as_written(payload.body(model.values, MATH)))
                )
            if same_inertia(total, standard):
                links.append(given)
                continue
            edited.append(f"the inertia of {link.name!r}")
        payload = None if i == model.tip else payload
        if model.convention != "urdf":
            own = linear(transformed_back(new.bodies[i].user, standard))
            links.append(replace(link, **BODILESS | {"linear": own}))
        else:
            links.append(link)
    return replace(model, links=tuple(links), payload=payload)


def _with_rest(
    model: Model, plain: Model, said: dict[str, Any], groups: Groups, edited: list[str]
) -> Model:
    """Limits, mimics, friction and drives; then what URDF never speaks of."""
    values = model.values
    links = []
    for link, group in zip(model.links, groups, strict=True):
        changes = dict(group.get("drive", {}))
        for name, fields in (("limits", GROUPS["limits"]), ("mimic", GROUPS["mimic"])):
            if name in group:
                given = {x: group[name].get(x) for x in fields}
                if _same_numbers(replace(link, **given), link, fields, values):
                    changes |= given
                else:
                    edited.append(f"the {name} of {link.joint_name!r}")
        links.append(replace(link, **changes))
    names = ("gravity", "rotors", "description", "base_name", "gear_matrix", "configurations",
             "findings")  # fmt: skip
    if any(len(q) != plain.n for q in said.get("configurations", {}).values()):
        edited.append("configurations")
        said.pop("configurations")
    rest = {k: said[k] for k in names if k in said}
    model = replace(model, links=tuple(links), **rest)
    return _with_friction(model, plain, groups, edited)


def _with_friction(model: Model, plain: Model, groups: Groups, edited: list[str]) -> Model:
    given = [
        replace(link, friction=group["friction"].get("friction", Friction()))
        if "friction" in group
        else link
        for link, group in zip(model.links, groups, strict=True)
    ]
    resistances = chain(replace(model, links=tuple(given))).resistances
    links = []
    for link, old, resistance, group in zip(given, plain.links, resistances, groups, strict=True):
        c_plus, c_minus = old.friction.coulomb
        pairs = (
            (resistance.viscous, old.friction.viscous),
            (0.5 * (resistance.plus - resistance.minus), 0.5 * (c_plus - c_minus)),
        )
        if "friction" not in group or all(_close(x, y) for x, y in pairs):
            links.append(link)
            continue
        edited.append(f"the friction of {link.joint_name!r}")
        friction = replace(
            link.friction, viscous=old.friction.viscous, coulomb=old.friction.coulomb
        )
        drive = link.drive
        if isinstance(drive, Drive):  # its friction is part of the URDF's numbers
            drive = replace(drive, viscous=0.0, coulomb=0.0)
        links.append(replace(link, friction=friction, drive=drive))
    return replace(model, links=tuple(links))


def _same_numbers(a: Link, b: Link, fields: tuple[str, ...], values: Mapping[str, Any]) -> bool:
    return all(_alike(getattr(a, name), getattr(b, name), values) for name in fields)


def _alike(x: Any, y: Any, values: Mapping[str, Any]) -> bool:
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(_alike(a, b, values) for a, b in zip(x, y, strict=True))
    x, y = resolve(x, values), resolve(y, values)
    return _close(x, y) if isinstance(x, float) and isinstance(y, float) else x == y


def _close(x: float, y: float) -> bool:
    return abs(x - y) <= SAME * max(1.0, abs(x), abs(y))


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
