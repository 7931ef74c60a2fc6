"""<dynamis> elements in a URDF, for what the standard ones cannot hold.

The extension is the difference between a model and what the standard elements alone give back. Its
attributes are the keys of the TOML format; lists are separated by commas. On reading it is checked
against the standard elements: where these were edited since, they win, and a warning says so.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from ...errors import ModelError, did_you_mean
from ..drive import CIRCUIT, Drive
from ..friction import Friction
from ..model import Model
from ..pose import Pose
from .tables import (
    SCHEMA,
    TEXTS,
    check_keys,
    finding_from_table,
    frame_table,
    link_fields,
    link_table,
    payload_table,
    pose_table,
)
from .urdf_elements import EXTENSION
from .urdf_write import writable

# the fields of a link that are kept or given up together
GROUPS: Mapping[str, tuple[str, ...]] = {
    "geometry": ("d", "a", "alpha", "theta", "offset", "xyz", "rpy", "axis"),
    "body": ("mass", "com", "com_factor", "inertia", "linear"),
    "limits": ("limits", "velocity_limit", "effort_limit"),
    "mimic": ("mimic",),
    "friction": ("friction",),
    "drive": ("drive",),
}
NESTED = ("mimic", "friction", "drive")  # one field that is a table itself
TEXT_KEYS = TEXTS | {"convention", "tip"}
ROBOT_KEYS = (
    *("schema", "convention", "gravity", "rotors", "description"),
    *("base_name", "tool_name", "tool_link", "tip"),
)
CHILDREN = ("base", "tool", "payload", "gear_row", "value", "configuration", "frame", "finding")
JOINT_KEYS = ("index", "helper")


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
    dh = model.convention != "urdf" and group in ("geometry", "body")
    return loaded or dh


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
        SubElement(element, "base", attributes(pose_table(model.base)))
    held = ("tool", "tool_link", "tool_name")
    if model.convention != "urdf" or any(getattr(model, x) != getattr(plain, x) for x in held):
        element.set("tool_name", writable(model.tool_name))
        if model.tool_link is not None:
            element.set("tool_link", writable(model.tool_link))
        SubElement(element, "tool", attributes(pose_table(model.tool)))
    if model.payload is not None:
        SubElement(element, "payload", attributes(payload_table(model.payload)))
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
    for finding in model.findings:
        SubElement(element, "finding", attributes(asdict(finding)))
        words.append("findings")
    if len(element.attrib) > 1 or len(element):
        robot.append(element)
    return words


def _link_words(link: Any, element: Element) -> list[str]:
    """What of a link only the extension holds, in words."""
    friction, drive = link.friction, link.drive or Drive()
    symmetric = Friction(coulomb=friction.coulomb[0]).coulomb == friction.coulomb
    lost = {
        "joint offsets": element.find("geometry") is not None and link.offset != 0.0,
        "symbols": bool(link.symbols),
        "linear parameters": link.linear is not None,
        "com_factor": link.com_factor is not None,
        "asymmetric Coulomb friction": not symmetric,
        "friction offset": friction.offset != 0.0,
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
    }
    return [word for word, is_lost in lost.items() if is_lost]


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
        if child.tag not in CHILDREN:
            raise ModelError(
                f"<{EXTENSION}> has unknown element <{child.tag}>",
                did_you_mean(str(child.tag), CHILDREN),
            )
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
        elif child.tag == "finding":
            table.setdefault("findings", []).append(finding_from_table(rows))
        else:
            table[child.tag] = rows
    return table


def joint_groups(element: Element | None) -> dict[str, dict[str, Any]]:
    """What a joint's <dynamis> says, as keyword arguments of Link, group by group."""
    if element is None:
        return {}
    check_keys(dict(element.attrib), JOINT_KEYS, f"<{EXTENSION}>")
    groups = {}
    for child in element:
        if child.tag not in GROUPS:
            raise ModelError(
                f"<{EXTENSION}> has unknown element <{child.tag}>",
                did_you_mean(str(child.tag), GROUPS),
            )
        rows = decoded(child)
        if child.tag in NESTED:
            rows = {child.tag: rows} if rows or child.tag == "drive" else {}
        elif unknown := [key for key in rows if key not in GROUPS[child.tag]]:
            raise ModelError(
                f"<{child.tag}> has unknown attribute {unknown[0]!r}",
                did_you_mean(unknown[0], GROUPS[child.tag]),
            )
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
