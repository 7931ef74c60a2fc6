"""<dynamis> elements in a URDF, for what the standard ones cannot hold.

The extension is the difference between a model and what the standard elements alone give back. Its
attributes are the keys of the TOML format; lists are separated by commas. On reading it is checked
against the standard elements: where these were edited since, they win, and a warning says so.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from ...arguments import one_of
from ...errors import ModelError, warn
from ...spatial.frames import Frame, compose, inverse
from ...spatial.functions import MATH
from ...spatial.inertia import linear, plus, transformed, transformed_back
from ..chain import Chain, chain
from ..closure import Closure
from ..drive import CIRCUIT, Drive
from ..friction import Friction
from ..link import Link
from ..model import Model, NamedFrame
from ..pose import Pose, pose
from ..quantity import quantity, resolve, symbols_in
from .tables import (
    LIMITS,
    SCHEMA,
    TEXTS,
    changed,
    check_keys,
    closure_from_table,
    closure_table,
    finding_from_table,
    frame_from_table,
    frame_table,
    link_fields,
    link_table,
    payload_from_table,
    spring_from_table,
    spring_table,
)
from .urdf_elements import EXTENSION, Sketch
from .urdf_write import as_written, same_frame, same_inertia, same_number, writable

# the fields of a link that are kept or given up together
GROUPS: Mapping[str, tuple[str, ...]] = {
    "geometry": ("d", "a", "alpha", "theta", "offset", "xyz", "rpy", "axis"),
    "body": ("mass", "com", "com_factor", "inertia", "linear"),
    "limits": ("limits", "velocity_limit", "effort_limit"),
    "mimic": ("mimic",),
    "friction": ("friction",),
    "drive": ("drive",),
    "passive": ("passive",),
}
END_KEYS = ("link", "xyz", "rpy")  # of a frame of a closure
NESTED = ("mimic", "friction", "drive")  # one field that is a table itself
TEXT_KEYS = TEXTS | {"convention", "tip"}
ROBOT_KEYS = (
    *("schema", "convention", "gravity", "rotors", "description"),
    *("base_name", "tool_name", "tool_link", "tip"),
    *(*LIMITS, "closure_nan"),
)
CHILDREN = (
    *("base", "tool", "payload", "gear_row", "value", "configuration"),
    *("frame", "spring", "closure", "finding"),
)
JOINT_KEYS = ("index", "helper")
UNKNOWN = f"<{EXTENSION}> has unknown element <{{}}>"


# writing


def extend(robot: Element, model: Model, plain: Model, tip: str | None) -> list[str]:
    """Add to a <robot> what its own elements lose; returns that in words."""
    words = _extend_robot(robot, model, plain, tip)
    joints = _joints(robot)
    for i, (link, other) in enumerate(zip(model.links, plain.links, strict=True)):
        joint = joints[str(link.joint_name)]
        element = joint.find(EXTENSION)
        if element is None:
            element = Element(EXTENSION)
        table = link_table(link)
        for group, names in GROUPS.items():
            if _differs(model, i, group) or any(
                getattr(link, x) != getattr(other, x) for x in names
            ):
                rows = {k: table[k] for k in names if k in table}
                if group in NESTED:
                    rows = rows.get(group, {})
                elif group == "passive":  # that it is there says all
                    rows = {}
                SubElement(element, group, attributes(rows))
        if len(element) and joint.find(EXTENSION) is None:
            joint.append(element)
        words += _link_words(link, element)
    return list(dict.fromkeys(words))


def number_joints(robot: Element, model: Model) -> None:
    """Say in which order the model has its links, where the tree alone gives another."""
    joints = _joints(robot)
    for i, name in enumerate(model.tree_joint_names):
        SubElement(joints[name], EXTENSION, index=str(i))


def _joints(robot: Element) -> dict[str, Element]:
    return {str(x.get("name")): x for x in robot.findall("joint")}


def _differs(model: Model, i: int, group: str) -> bool:
    """Groups that cannot be told from the standard elements even if they look the same."""
    loaded = group == "body" and model.payload is not None and i == model.tip
    return loaded or (model.convention != "urdf" and group in ("geometry", "body"))


def _extend_robot(robot: Element, model: Model, plain: Model, tip: str | None) -> list[str]:
    element = Element(EXTENSION, schema=str(SCHEMA))
    words = []
    for name in ("convention", "gravity", "rotors", "description", "base_name"):
        if getattr(model, name) != getattr(plain, name):
            element.set(name, _attribute(name, getattr(model, name)))
            words += [name] if name != "base_name" else []
    if tip is not None:
        element.set("tip", writable(tip))
    if model.base != Pose():
        SubElement(element, "base", attributes(changed(model.base)))
    held = ("tool", "tool_link", "tool_name")
    if model.convention != "urdf" or any(getattr(model, x) != getattr(plain, x) for x in held):
        element.set("tool_name", writable(model.tool_name))
        if model.tool_link is not None:
            element.set("tool_link", writable(model.tool_link))
        SubElement(element, "tool", attributes(changed(model.tool)))
    if model.payload is not None:
        SubElement(element, "payload", attributes(changed(model.payload)))
        words.append("payload apart from the link that carries it")
    for row in model.gear_matrix or ():
        SubElement(element, "gear_row", values=_attribute("values", row))
        words.append("gear_matrix")
    for name, value in model.values.items():
        SubElement(element, "value", name=writable(name), value=repr(value))
        words.append("symbols")
    for name, q in model.configurations.items():
        SubElement(element, "configuration", name=writable(name), q=_attribute("q", q))
        words.append("configurations")
    if model.frames != plain.frames:
        for frame in model.frames:
            SubElement(element, "frame", attributes(frame_table(frame)))
    for i, spring in enumerate(model.springs):
        SubElement(element, "spring", attributes(spring_table(spring, i)))
        words.append("springs")
    for i, closure in enumerate(model.closures):
        _add_closure(element, model, closure_table(closure, i))
        words.append("closures")
    for name in LIMITS:
        if getattr(model, name) != getattr(plain, name):
            element.set(name, repr(getattr(model, name)))
    if model.closure_nan:
        element.set("closure_nan", "true")
    for finding in model.findings:
        SubElement(element, "finding", attributes(changed(finding)))  # a remark: nobody lacks it
    if len(element.attrib) > 1 or len(element):
        robot.append(element)
    return words


def _add_closure(element: Element, model: Model, table: dict[str, Any]) -> None:
    """A <closure> with its two frames; one on the base names no link."""
    both = zip(table.pop("between"), table.pop("frames"), strict=True)
    closure = SubElement(element, "closure", attributes(table))
    for link, place in both:
        on = {} if model.link_index(link) < 0 else {"link": link}
        SubElement(closure, "frame", attributes(on | place))


def _closure(element: Element) -> Closure:
    """A closure from its element."""
    ends = [check_keys(decoded(x), END_KEYS, "<frame>") for x in element.findall("frame")]
    between = [x.pop("link", None) for x in ends]
    return closure_from_table(decoded(element) | {"between": between, "frames": ends})


def _link_words(link: Any, element: Element) -> list[str]:
    """What of a link only the extension holds, in words."""
    friction, drive = link.friction, link.drive or Drive()
    symmetric = Friction(coulomb=friction.coulomb[0]).coulomb == friction.coulomb
    only_here = {
        "joint offsets": element.find("geometry") is not None and link.offset != 0.0,
        "symbols": bool(symbols_in(link)),
        "linear parameters": link.linear is not None,
        "com_factor": link.com_factor is not None,
        "asymmetric Coulomb friction": not symmetric,
        "friction offset": friction.offset != 0.0,
        "viscous friction by direction": isinstance(friction.viscous, tuple),
        "friction under load": friction.load != 0.0,
        "friction by temperature": friction.temperature_slope != 0.0,
        "friction law": friction.law != Friction().law,
        "gears": drive.gear != 1.0 and drive.lead is None,
        "screw leads": drive.lead is not None,
        "rotor inertia": drive.rotor_inertia != 0.0,
        "motor friction apart from the joint's": drive.viscous != 0.0 or any(drive.coulomb),
        "gear efficiency": drive.efficiency != 1.0,
        "motor torque limits": drive.limits is not None,
        "motor circuits": any(getattr(drive, x) != getattr(Drive(), x) for x in CIRCUIT),
        "rotor placement": bool(drive.rotor_link or drive.rotor_axis or drive.rotor_position),
        "rotor unbalance": any(drive.unbalance),
        "which joints have no drive": link.passive,
    }
    return [word for word, is_so in only_here.items() if is_so]


def attributes(table: Mapping[str, Any]) -> dict[str, str]:
    """A table as XML attributes."""
    return {key: _attribute(key, value) for key, value in table.items()}


def _attribute(key: str, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_attribute(key, x) for x in value)
    return repr(value) if isinstance(value, float) else writable(str(value))


# reading


def robot_table(element: Element | None) -> dict[str, Any]:
    """What the robot's <dynamis> says, as tables; values, rows and frames gathered."""
    if element is None:
        return {}
    table: dict[str, Any] = check_keys(decoded(element), ROBOT_KEYS, f"<{EXTENSION}>")
    if table.pop("schema", None) != str(SCHEMA):
        raise ModelError(
            f"<{EXTENSION}> has schema {element.get('schema')!r}, "
            f"this version of dynamis reads schema {SCHEMA}"
        )
    for child in element:
        one_of(child.tag, CHILDREN, UNKNOWN.format(child.tag), ModelError)
        rows = decoded(child)
        if child.tag == "gear_row":
            table.setdefault("gear_matrix", []).append(_pick(rows, "values", child))
        elif child.tag == "value":
            table.setdefault("values", {})[_pick(rows, "name", child)] = rows.get("value")
        elif child.tag == "configuration":
            name, q = _pick(rows, "name", child), _pick(rows, "q", child)
            table.setdefault("configurations", {})[name] = q
        elif child.tag == "frame":
            table.setdefault("frames", []).append(rows)
        elif child.tag == "spring":
            table.setdefault("springs", []).append(spring_from_table(rows))
        elif child.tag == "closure":
            table.setdefault("closures", []).append(_closure(child))
        elif child.tag == "finding":
            table.setdefault("findings", []).append(finding_from_table(rows))
        else:
            table[child.tag] = rows
    for name in table.keys() & set(LIMITS):
        table[name] = resolve(quantity(table[name], name), {})
    if "closure_nan" in table:
        given = table["closure_nan"]
        table["closure_nan"] = {"true": True, "false": False}.get(given, given)
    return table


def joint_groups(element: Element | None) -> dict[str, dict[str, Any]]:
    """What a joint's <dynamis> says, as keyword arguments of Link, group by group."""
    if element is None:
        return {}
    check_keys(dict(element.attrib), JOINT_KEYS, f"<{EXTENSION}>")
    groups = {}
    for child in element:
        one_of(child.tag, GROUPS, UNKNOWN.format(child.tag), ModelError)
        rows = decoded(child)
        if child.tag in NESTED:
            rows = {child.tag: rows} if rows or child.tag == "drive" else {}
        elif child.tag == "passive":
            rows |= {"passive": True}
        for key in rows:
            what = f"<{child.tag}> has unknown attribute {key!r}"
            one_of(key, GROUPS[child.tag], what, ModelError)
        groups[child.tag] = link_fields(rows)
    return groups


def decoded(element: Element) -> dict[str, Any]:
    """Attributes as a table: text stays text, what has commas is a list."""
    table: dict[str, Any] = {}
    for key, text in element.attrib.items():
        if key in TEXT_KEYS or "," not in text:
            table[key] = text
        else:
            table[key] = [word.strip() for word in text.split(",")]
    return table


def _pick(rows: Mapping[str, Any], key: str, element: Element) -> Any:
    if key not in rows:
        raise ModelError(f'<{element.tag}> has no {key}="..."')
    value = rows[key]
    return [value] if key in ("values", "q") and isinstance(value, str) else value


# a plain URDF model and its extension put together again, as far as they still agree

BODILESS: dict[str, Any] = dict.fromkeys(GROUPS["body"], None) | {"mass": 0.0}
IN_FRAMES = (
    *("payload", "base", "base_name", "tool", "tool_name", "tool_link", "frames", "springs"),
    "closures",
)
PLACELESS: dict[str, Any] = {x: getattr(Link(), x) for x in GROUPS["geometry"]}
BEYOND_URDF = (  # what URDF never speaks of
    *("gravity", "rotors", "description", "base_name", "gear_matrix", "configurations", "findings"),
    *("springs", "closures", *LIMITS, "closure_nan"),
)


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
    work = _Restoration(plain, said, groups)
    model = work.with_frames(work.placed(locked), own_tip)
    model = work.with_friction(work.with_rest(work.with_bodies(model)))
    if work.edited:
        warn(
            f"{where}: the URDF elements were edited since dynamis wrote them and count now, "
            f"not what <dynamis> says, for: {', '.join(dict.fromkeys(work.edited))}"
        )
    return model


class _Restoration:
    """What the standard elements give, what the extension says, and what was edited since."""

    def __init__(self, plain: Model, said: dict[str, Any], groups: list[dict[str, Any]]):
        self.plain, self.said, self.groups = plain, said, groups
        self.edited: list[str] = []

    def placed(self, locked: bool) -> Model:
        """The joints where the extension has them, or the standard elements if these differ."""
        if locked:
            self._check_lockable()
            self.said.pop("configurations", None)
        else:
            model = self._placements()
            if model is not None:
                return model
            dh = self.said.get("convention", "urdf") != "urdf"
            self.edited.append("joint placements" + (" (the DH table is dropped)" if dh else ""))
            lost = (x for x in ("springs", "closures") if x in self.said)
            self.edited += [f"{x} (they are dropped)" for x in lost]
        values = self.said.get("values", {})
        self.said = {k: v for k, v in self.said.items() if k not in IN_FRAMES}
        moved = ("body", "passive")  # without closures every joint is driven
        self.groups = [{k: v for k, v in g.items() if k not in moved} for g in self.groups]
        return replace(self.plain, values=values)

    def _check_lockable(self) -> None:
        for link, group in zip(self.plain.links, self.groups, strict=True):
            if link.joint == "prismatic" and group.get("body", {}).get("com_factor") is not None:
                raise ModelError(
                    f"lock was given, but the centre of mass of {link.name!r} moves with q "
                    "(com_factor), which a URDF with locked joints cannot say",
                    "load it without lock, or give the link a constant com",
                )
        for word in ("springs", "closures"):
            if word in self.said:
                raise ModelError(
                    f"lock was given, but the robot has {word}, whose links a locked joint would "
                    "join",
                    "load it without lock",
                )
        if "gear_matrix" in self.said:
            raise ModelError(
                "lock was given, but the robot has a gear_matrix: a locked joint may still be "
                "turned by a motor it shares",
                "load it without lock",
            )

    def _placements(self) -> Model | None:
        """The plain model with the extension's placements, or None where they are not the same."""
        plain, said = self.plain, self.said
        convention = said.get("convention", "urdf")
        dh = convention != "urdf"
        if dh and (plain.is_tree or not all("geometry" in group for group in self.groups)):
            return None
        links = []
        for link, group in zip(plain.links, self.groups, strict=True):
            changes = PLACELESS | group["geometry"] if "geometry" in group else {}
            links.append(replace(link, **changes | ({"parent": None} if dh else {})))
        around = {"base": pose(said.get("base"), "base"), "values": said.get("values", {})}
        model = replace(plain, convention=convention, links=tuple(links), **around)
        same = all(
            x.kind == y.kind and x.parent == y.parent and same_frame(x.placement, y.placement)
            for x, y in zip(chain(model).joints, chain(plain).joints, strict=True)
        )
        return model if same else None

    def with_frames(self, model: Model, own_tip: bool) -> Model:
        """Named frames and tool in the model's own frames."""
        plain, said = self.plain, self.said
        new, old = chain(model), chain(plain)
        frames = [_carried(frame, model, new, old) for frame in plain.frames]
        if "frames" in said:
            given = [frame_from_table(row) for row in said["frames"]]
            if _same_frames(given, frames, model):
                frames = given
            else:
                self.edited.append("named frames")
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
            if moved:
                self.edited.append("the tool")
            else:
                changes = {"tool": given_tool, "tool_link": said.get("tool_link")}
                changes["tool_name"] = said.get("tool_name", plain.tool_name)
        if (own_tip or moved) and said.pop("payload", None) is not None:
            # without its tool a payload stays in the link that carries it, as the URDF has it
            carrier = said.get("tool_link", plain.link_names[-1])
            self.groups[plain.link_names.index(carrier)].pop("body", None)
        return replace(model, frames=tuple(frames), **changes)

    def with_bodies(self, model: Model) -> Model:
        """Bodies as the extension gives them; payload apart from its link again."""
        old, new = chain(self.plain), chain(model)
        payload = payload_from_table(self.said["payload"]) if "payload" in self.said else None
        links = []
        for i, (link, group) in enumerate(zip(model.links, self.groups, strict=True)):
            standard, user = old.bodies[i].inertia, new.bodies[i].user
            if "body" in group:
                given = replace(link, **BODILESS | group["body"])
                total = as_written(transformed(user, given.body(model.values, MATH)))
                if payload is not None and i == model.tip:
                    load = as_written(payload.body(model.values, MATH))
                    total = plus(total, transformed(new.tool, load))
                if same_inertia(total, standard):
                    links.append(given)
                    continue
                self.edited.append(f"the inertia of {link.name!r}")
            payload = None if i == model.tip else payload
            if model.convention != "urdf":
                own = linear(transformed_back(user, standard))
                link = replace(link, **BODILESS | {"linear": own})  # noqa: PLW2901
            links.append(link)
        return replace(model, links=tuple(links), payload=payload)

    def with_rest(self, model: Model) -> Model:
        """Limits, mimics and drives; then what URDF never speaks of."""
        links = []
        for link, group in zip(model.links, self.groups, strict=True):
            changes = dict(group.get("drive", {}) | group.get("passive", {}))
            for name in ("limits", "mimic"):
                if name in group:
                    given = {x: group[name].get(x) for x in GROUPS[name]}
                    new = replace(link, **given)
                    if all(_alike(getattr(new, x), getattr(link, x), model.values) for x in given):
                        changes |= given
                    else:
                        self.edited.append(f"the {name} of {link.joint_name!r}")
            links.append(replace(link, **changes))
        if any(len(q) != self.plain.n for q in self.said.get("configurations", {}).values()):
            self.edited.append("configurations")
            self.said.pop("configurations")
        rest = {k: self.said[k] for k in BEYOND_URDF if k in self.said}
        return replace(model, links=tuple(links), **rest)

    def with_friction(self, model: Model) -> Model:
        """Friction as the extension gives it, where it makes the numbers of the URDF."""
        links = [
            replace(link, friction=group["friction"].get("friction", Friction()))
            if "friction" in group
            else link
            for link, group in zip(model.links, self.groups, strict=True)
        ]
        resistances = chain(replace(model, links=tuple(links))).resistances
        for i, (link, now) in enumerate(zip(links, resistances, strict=True)):
            old = self.plain.links[i].friction
            c_plus, c_minus = old.coulomb
            same = same_number(now.mean_viscous, old.viscous)
            same = same and same_number(now.mean_coulomb, 0.5 * (c_plus - c_minus))
            if "friction" not in self.groups[i] or same:
                continue
            self.edited.append(f"the friction of {link.joint_name!r}")
            friction = replace(link.friction, viscous=old.viscous, coulomb=old.coulomb)
            drive = link.drive
            if isinstance(drive, Drive):  # its friction is part of the URDF's numbers
                drive = replace(drive, viscous=0.0, coulomb=0.0)
            links[i] = replace(link, friction=friction, drive=drive)
        return replace(model, links=tuple(links))


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


def _alike(x: Any, y: Any, values: Mapping[str, Any]) -> bool:
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(_alike(a, b, values) for a, b in zip(x, y, strict=True))
    x, y = resolve(x, values), resolve(y, values)
    return same_number(x, y) if isinstance(x, float) and isinstance(y, float) else x == y
