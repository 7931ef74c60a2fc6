"""The <dynamis> element of a URDF: the whole model as TOML, for what standard elements cannot hold.

Its text is that of a .toml file with one table more, [urdf]: which link is the tool, which links
are helpers, and digests of what the standard elements say, part by part. Where a digest is another
on reading, the elements were edited since: they count then, and a warning says so.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from ...errors import FileError, ModelError, warn
from ...spatial.frames import Frame, compose, from_xyz_rpy, inverse, point
from ...spatial.functions import MATH
from ...spatial.inertia import linear, transformed_back
from ..chain import Chain, chain
from ..drive import Drive
from ..features import HELD_BY_URDF, features, rubs
from ..force import Force
from ..link import Link
from ..model import FORCES, Model, NamedFrame
from ..pose import Pose, pose
from ..quantity import resolve
from ..schema import schema
from .files import parsed_toml, toml_lines, toml_text
from .tables import check_keys, located, model_from_table
from .urdf_elements import EXTENSION, Sketch
from .urdf_write import writable

SCHEMA = 2  # of the element; 1 is read by `urdf_attributes`
DIGITS = 9  # of numbers in a digest: the same number printed in another way is the same
NOISE = 1e-12  # of the largest of several numbers
PARTS = {  # of every link, and how an edit of it is called
    "body": "the inertia of {link!r}",
    "limits": "the limits of {joint!r}",
    "mimic": "the mimic of {joint!r}",
    "friction": "the friction of {joint!r}",
}
WHOLE = {
    "placements": "joint placements", "frames": "named frames or the base", "tool": "the tool",
}  # fmt: skip
UNREADABLE = (
    "whatever formatted the XML must keep the lines of this text; without the element the standard "
    "ones are read alone"
)
KEYS = {"tip": str, "helpers": list, **dict.fromkeys(WHOLE, str), **dict.fromkeys(PARTS, list)}
BEYOND = ("gravity", "rotors", "description", "findings", "values")  # what URDF never speaks of

Found = tuple[Link, Link | None, tuple[str, ...]]  # as URDF has it, as it was said, lost parts


@dataclass(frozen=True)
class Extension:
    """A model as it was written, and digests of the standard elements that were written with it.

    `lost` are parts that have no place any more, in words.
    """

    model: Model
    digests: Mapping[str, Any]
    lost: tuple[str, ...] = ()


# digests of a plain model: of standard elements alone


def digests(plain: Model, robot: Sketch) -> dict[str, Any]:
    """Those of placements, named frames and the tool, and lists of those of every link."""
    c = chain(plain)
    joints: list[Any] = [
        (x.name, x.joint_name, joint.kind, joint.parent, joint.placement)
        for x, joint in zip(plain.links, c.joints, strict=True)
    ]
    base = [x for x in robot.joints if x.helper and x.parent == plain.base_name]
    joints += [(x.child, from_xyz_rpy(x.xyz, x.rpy)) for x in base]
    frames: list[Any] = sorted((x.name, str(x.link), x.pose.frame({})) for x in plain.frames)
    frames += [] if base else [plain.base_name]
    found: dict[str, Any] = {
        "placements": _digest(joints),
        "frames": _digest(frames),
        "tool": _digest((plain.link_names[plain.tip], plain.tool_name, plain.tool.frame({}))),
        "body": [_digest(linear(x.body({}, MATH))) for x in plain.links],
    }
    for part in ("limits", "mimic"):
        found[part] = [_digest([getattr(x, name) for name in _group(part)]) for x in plain.links]
    rubbing = [(x.friction.viscous, x.friction.coulomb) for x in plain.links]
    return found | {"friction": [_digest(x) for x in rubbing]}


def _group(name: str) -> list[str]:
    """The fields of a link that are kept or given up together."""
    return [x for x, own in schema(Link).items() if own.group == name]


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()[:12]


def _canonical(value: Any) -> str:
    """Text that is the same for the same names and numbers."""
    if isinstance(value, float):
        return f"{value + 0.0:.{DIGITS}g}"
    if not isinstance(value, (tuple, list)):
        return repr(value)
    least = NOISE * max((abs(x) for x in value if isinstance(x, float)), default=0.0)
    items = (0.0 if isinstance(x, float) and abs(x) <= least else x for x in value)
    return f"({','.join(map(_canonical, items))})"


# writing


def extend(
    robot: Element, model: Model, said: Mapping[str, Any], tip: str, helpers: Sequence[str]
) -> None:
    """Add a model to a <robot>, with the digests of its elements; say what only the model holds."""
    table = {"tip": tip, "helpers": list(helpers), **said}
    text = f"\n{toml_text(model)}\n[urdf]\n{toml_lines(table)}"
    SubElement(robot, EXTENSION, schema=str(SCHEMA)).text = writable(text)
    words = [x.partition(" (")[0] for x in features(model, (*HELD_BY_URDF, "findings"))]
    if words := [*_words(model), *words]:
        warn(
            f"URDF cannot hold all of {model.name!r}: kept in a <dynamis> element, which other "
            f"tools ignore: {', '.join(words)}"
        )


def _words(model: Model) -> list[str]:
    """Features that URDF lacks and other libraries do not."""
    links, urdf = model.links, model.convention == "urdf"
    only_here = {
        "convention": not urdf,
        "joint offsets": urdf and any(x.offset != 0.0 for x in links),
        "linear parameters": any(x.linear is not None for x in links),
        "com_factor": any(x.com_factor is not None for x in links),
        "gear_matrix": model.gear_matrix is not None,
        "motor friction apart from the joint's": any(x.drive and rubs(x.drive) for x in links),
    }
    return [word for word, is_so in only_here.items() if is_so]


# reading


def is_toml(robot: Sketch) -> bool:
    """Whether the extension of a robot is the text that is written here."""
    element = robot.extension
    if element is None:
        return False
    schema, text = element.get("schema"), (element.text or "").strip()
    if schema == str(SCHEMA):
        return True
    if text:
        raise ModelError(
            f"<{EXTENSION}> has schema {schema!r} and text in it, expected schema {SCHEMA}: "
            "this version of dynamis reads schema 1 and 2"
        )
    return False


def _text(robot: Sketch, element: Element) -> str:
    """The text of an extension, which holds nothing else, and is the only one."""
    check_keys(dict(element.attrib), ("schema",), f"<{EXTENSION}>")
    if (child := next(iter(element), None)) is not None:
        raise ModelError(f"has <{child.tag}> in it, expected TOML text alone")
    other = next((x.name for x in robot.joints if x.extension is not None), None)
    if other is not None:
        raise ModelError(
            f"joint {other!r} has one too, expected that of the <robot> alone",
            f"what it says goes into the TOML text of the <robot>: schema {SCHEMA}",
        )
    return element.text or ""


def extension(robot: Sketch) -> tuple[Sketch, str, Extension]:
    """A robot with its helpers and the order of its links, the tool's URDF link, what was said."""
    assert robot.extension is not None
    with located(f"<{EXTENSION}>"):
        text = _text(robot, robot.extension)
        try:
            table = parsed_toml(text)
        except FileError as error:
            raise FileError(error.message, error.hint or UNREADABLE) from None
        if not table:
            raise ModelError("is empty, expected a model as TOML", UNREADABLE)
        urdf = check_keys(table.pop("urdf", None), KEYS, "urdf")
        model = model_from_table(table)
        for name, kind in KEYS.items():
            given: Any = urdf.get(name)
            if not isinstance(given, kind) or (name in PARTS and len(given) != len(model.links)):
                raise ModelError(f"urdf.{name} is missing or wrong", "save the robot once more")
    said = Extension(model, {name: urdf[name] for name in (*WHOLE, *PARTS)})
    return marked(robot, model, urdf["helpers"]), urdf["tip"], said


def marked(robot: Sketch, model: Model, helpers: Sequence[str]) -> Sketch:
    """A robot whose joints say which links are helpers, and in which order the model has them."""
    order = {name: i for i, name in enumerate(model.link_names)}
    joints = (replace(x, helper=x.child in helpers, index=order.get(x.child)) for x in robot.joints)
    return replace(robot, joints=tuple(joints))


# a plain URDF model and what was said of it put together again, as far as they still agree


def warn_of_text(said: Extension, written: Mapping[str, Any], where: str) -> None:
    """Say that the text was edited where its model is not what the standard elements were.

    `written` are the digests of the elements that the model would be written with.
    """
    model, then = said.model, said.digests
    edited = [words for x, words in WHOLE.items() if written[x] != then[x]]
    for i, link in enumerate(model.links):
        edited += [_part(x, link) for x in PARTS if written[x][i] != then[x][i]]
    if edited:
        warn(
            f"{where}: <{EXTENSION}> was edited since dynamis wrote it and counts; other tools "
            f"read the URDF elements, which say something else, for: {', '.join(edited)}. Save the "
            "robot once more"
        )


def restored(
    plain: Model, now: Mapping[str, Any], said: Extension, where: str, own_tip: bool, locked: bool
) -> Model:
    """The model as it was written; parts whose standard elements were edited are theirs.

    `now` are the digests of the standard elements. A tip or locked joints asked for by the caller
    make their own frames, so the parts of the extension that speak of the others are left aside.
    """
    then, model = said.digests, said.model
    if locked:
        _check_lockable(model)
    elif not (own_tip or said.lost) and now == then:
        return replace(model, name=plain.name)
    edited = list(said.lost)
    known = {key: i for i, x in enumerate(model.links) for key in _names(x)}
    parts = [x for x in PARTS if not (locked and x == "body")]  # locked links are in others
    links, places = [], []
    for k, link in enumerate(plain.links):
        i = next((known[key] for key in _names(link) if key in known), None)
        if i is not None and link.joint != model.links[i].joint:
            i = None  # a drive and friction of another unit
        lost = () if i is None else tuple(x for x in parts if now[x][k] != then[x][i])
        links.append((link, None if i is None else model.links[i], lost))
        places.append(i)
        edited += [_part(x, link) for x in lost]
    if not locked and now["placements"] == then["placements"]:
        moved = [x for x in ("frames", "tool") if now[x] != then[x]]
        moved = [x for x in moved if not (own_tip and x == "tool")]
        edited += [WHOLE[x] for x in moved]
        moved += ["tool"] if own_tip else []
        model = _in_its_frames(plain, model, links, moved, edited)
    else:
        model = _in_urdf_frames(plain, model, links, places, edited, locked)
    if edited:
        warn(
            f"{where}: the URDF elements were edited since dynamis wrote them and count now, "
            f"not what <dynamis> says, for: {', '.join(dict.fromkeys(edited))}"
        )
    return model


def _part(name: str, link: Link) -> str:
    return PARTS[name].format(link=link.name, joint=link.joint_name)


def _check_lockable(model: Model) -> None:
    slide = next((x.name for x in model.links if x.slides), None)
    joined = "whose links a locked joint would join"
    why = {
        f"the centre of mass of {slide!r} moves with q (com_factor)": slide,
        f"the robot has springs, {joined}": model.forces,
        f"the robot has closures, {joined}": model.closures,
        "the robot has a gear_matrix, by which motors turn a locked joint": model.gear_matrix,
    }
    for words, is_so in why.items():
        if is_so:
            raise ModelError(f"lock was given, but {words}", "load it without lock")


def _in_its_frames(
    plain: Model, model: Model, links: Sequence[Found], moved: Collection[str], edited: list[str]
) -> Model:
    """Joints are where they were: bodies, frames and tool of URDF in the frames of the model."""
    new, old = chain(model), chain(plain)
    changes: dict[str, Any] = {"name": plain.name}
    if plain.n != model.n and model.configurations:  # joints began or ceased to mimic
        changes["configurations"] = {}
        edited.append("configurations (dropped)")
    if "frames" in moved:
        changes["frames"] = tuple(_carried(frame, model, new, old) for frame in plain.frames)
        changes |= {"base_name": plain.base_name} if model.base == Pose() else {}
    if "tool" in moved:  # without its tool a payload stays in the link that carries it
        held = NamedFrame(name="", link=plain.link_names[plain.tip], pose=plain.tool)
        changes |= {"tool": _carried(held, model, new, old).pose, "payload": None}
        changes |= {"tool_link": plain.tool_link, "tool_name": plain.tool_name}
    merged = []
    for i, (link, said, lost) in enumerate(links):
        assert said is not None
        own = _merged(said, link, said, lost)
        loaded = model.payload is not None and i == model.tip
        if "body" in lost or (loaded and "tool" in moved):
            body = {name: getattr(link, name) for name in _group("body")}
            if model.convention != "urdf":
                inertia = linear(transformed_back(new.bodies[i].user, old.bodies[i].inertia))
                body = dict.fromkeys(body, None) | {"mass": 0.0, "linear": inertia}
            own, changes = replace(own, **body), changes | ({"payload": None} if loaded else {})
        merged.append(own)
    return replace(model, links=tuple(merged), **changes)


def _in_urdf_frames(
    plain: Model, model: Model, links: Sequence[Found], places: Sequence[int | None],
    edited: list[str], locked: bool,
) -> Model:  # fmt: skip
    """Joints are elsewhere: what the model alone holds, on the links that URDF has.

    `places` are the numbers that these have in the model.
    """
    own = [x if said is None else _merged(x, x, said, lost) for x, said, lost in links]
    changes = {name: getattr(model, name) for name in BEYOND}
    if not locked:
        dropped = " (the DH table is dropped)" if model.convention != "urdf" else ""
        edited.insert(0, f"joint placements{dropped}")
        gone = [repr(x.joint_name) for i, x in enumerate(model.links) if i not in places]
        edited += [f"all but these elements of {', '.join(gone)} (dropped)"] if gone else []
        edited += ["closures (they are dropped)"] if model.closures else []
        changes |= {name: tuple(_forces(plain, model, name, edited)) for name in FORCES}
        names = {*plain.link_names, plain.base_name}
        away = [x for x in own if _rotor_away(x, names, model)]
        edited += [f"rotor placement of {x.joint_name!r} (dropped)" for x in away]
        own = [_without_rotor(x) if x in away else x for x in own]
        fits = {
            "gear_matrix": plain.tree_joint_names == model.tree_joint_names,
            "configurations": plain.n == model.n and places == [*range(len(model.links))],
        }
        changes |= {name: getattr(model, name) for name, fit in fits.items() if fit}
        lost = [name for name, fit in fits.items() if not fit and getattr(model, name)]
        edited += [f"{name} (dropped)" for name in lost]
    return replace(plain, links=tuple(own), **changes)


def _merged(start: Link, plain: Link, said: Link, lost: Collection[str]) -> Link:
    """A link with drive, friction, limits and mimic as said, but for parts that are lost."""
    changes: dict[str, Any] = {"drive": said.drive, "friction": said.friction}
    for part in ("limits", "mimic"):
        own = plain if part in lost else said
        changes |= {name: getattr(own, name) for name in _group(part)}
    if "friction" in lost:  # URDF's numbers are of joint and motor together
        own = {"viscous": plain.friction.viscous, "coulomb": plain.friction.coulomb}
        changes["friction"] = replace(said.friction, **own)
        changes["drive"] = said.drive and replace(said.drive, viscous=0.0, coulomb=0.0)
    return replace(start, **changes)


def _rotor_away(link: Link, names: Collection[str], model: Model) -> bool:
    """Whether a rotor has a place that was said in a frame of the DH table, or on a link gone."""
    drive = link.drive
    if drive is None or (drive.rotor_link, drive.rotor_axis, drive.rotor_position) == (None,) * 3:
        return False
    return model.convention != "urdf" or drive.rotor_link not in {None, *names}


def _without_rotor(link: Link) -> Link:
    """The link, its drive with the rotor on the axis of the joint."""
    usual = Drive()
    own = {x: getattr(usual, x) for x, about in schema(Drive).items() if about.group == "rotor"}
    return replace(link, drive=link.drive and replace(link.drive, **own))


def _forces(plain: Model, model: Model, name: str, edited: list[str]) -> Iterator[Force]:
    """A list of forces with points in the frames of URDF links, where these still are."""
    c, urdf = chain(model), model.convention == "urdf"
    names = {None, *plain.link_names, *plain.tree_joint_names}
    for force in getattr(model, name):
        ends: dict[str, Any] = {}
        for end, place in force.ends.items():
            k = model.link_index(getattr(force, end))
            frame = c.base if k < 0 else Frame() if urdf else c.bodies[k].user
            at = point(frame, resolve(getattr(force, place), model.values))
            ends |= {end: None if k < 0 else model.link_names[k], place: at}
        if {*(getattr(force, x) for x in force.joints), *(ends[x] for x in force.ends)} <= names:
            yield replace(force, **ends)
        else:
            edited.append(f"{name[:-1]} {force.name!r} (it is dropped)")


def _names(link: Link) -> tuple[tuple[str, Any], ...]:
    """What a link is found by: the name of its joint, or its own."""
    return ("joint", link.joint_name), ("link", link.name)


def _carried(frame: NamedFrame, model: Model, new: Chain, old: Chain) -> NamedFrame:
    """A frame of the plain model seen from the model's own link frame."""
    above, below = Frame(), new.base
    if frame.link is not None:
        i = model.link_names.index(frame.link)
        above, below = old.bodies[i].user, new.bodies[i].user
    if above == below:
        return frame
    place = compose(compose(inverse(below), above), frame.pose.frame({}))
    return replace(frame, pose=pose(place, frame.name))
