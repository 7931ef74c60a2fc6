"""The extension as version 0.2 wrote it: <dynamis> elements in <robot> and <joint>, by attributes.

Attributes are the keys of the TOML format, lists are separated by commas; what the standard
elements say as well was left out.
"""

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from ...arguments import one_of
from ...errors import ModelError
from ..link import Link
from ..model import Model
from ..quantity import quantity, resolve
from ..schema import schema
from .tables import SCHEMA, TEXTS, check_keys, link_table, model_table
from .urdf_elements import EXTENSION, Sketch

NESTED = ("mimic", "friction", "drive")  # one field that is a table itself
GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(name for name, own in schema(Link).items() if own.group == group)
    for group in ("geometry", "body", "limits", "mimic", "passive")
} | {"friction": ("friction",), "drive": ("drive",)}
NUMBERS = ("closure_tolerance", "closure_condition")
ROBOT_KEYS = (
    *("schema", "convention", "gravity", "rotors", "description", "base_name", "tool_name"),
    *("tool_link", "tip", *NUMBERS, "closure_nan"),
)
ROWS = ("frame", "spring", "closure", "finding")
CHILDREN = ("base", "tool", "payload", "gear_row", "value", "configuration", *ROWS)
UNKNOWN = f"<{EXTENSION}> has unknown element <{{}}>"


def has_attributes(robot: Sketch) -> bool:
    """Whether a robot has such elements that say more than the order of joints."""
    joints = [x.extension for x in robot.joints if x.extension is not None]
    return robot.extension is not None or any(len(x) for x in joints)


def said_table(robot: Sketch, plain: Model) -> tuple[dict[str, Any], list[str]]:
    """The model as tables: what the elements say, the rest from the standard ones.

    And what does not fit its joints any more, in words.
    """
    own = _robot_table(robot.extension)
    dh = own.get("convention", "urdf") != "urdf"
    extensions = {joint.child: joint.extension for joint in robot.joints}
    rows = []
    for link in plain.links:
        groups, row = _groups(extensions[str(link.name)]), link_table(link)
        if dh and "geometry" not in groups:  # added since
            continue
        for group, given in groups.items():
            row = {k: x for k, x in row.items() if k not in GROUPS[group]} | given
        rows.append({k: x for k, x in row.items() if not (dh and k == "parent")})
    table = model_table(plain)
    for name in ("tool_link", "tool_name") if "tool" in own else ():
        table.pop(name, None)
    own.pop("tip", None)
    table |= own | {"link": rows}
    sizes = {"gear_matrix": len(rows), "configurations": sum("mimic" not in x for x in rows)}
    lost = []
    for name, size in sizes.items():
        given = table.get(name, [])
        lists = given.values() if isinstance(given, Mapping) else given
        if any(len(x) != size for x in lists):
            lost.append(name)
            del table[name]
    return table, lost


def _robot_table(element: Element | None) -> dict[str, Any]:
    """What the robot's own element says, rows gathered."""
    if element is None:
        return {}
    table: dict[str, Any] = check_keys(_decoded(element), ROBOT_KEYS, f"<{EXTENSION}>")
    if table.pop("schema", None) != str(SCHEMA):
        raise ModelError(
            f"<{EXTENSION}> has schema {element.get('schema')!r}, "
            "this version of dynamis reads schema 1 and 2"
        )
    for child in element:
        one_of(child.tag, CHILDREN, UNKNOWN.format(child.tag), ModelError)
        rows = _decoded(child)
        if child.tag == "gear_row":
            table.setdefault("gear_matrix", []).append(_pick(rows, "values", child))
        elif child.tag == "value":
            table.setdefault("values", {})[_pick(rows, "name", child)] = rows.get("value")
        elif child.tag == "configuration":
            name, q = _pick(rows, "name", child), _pick(rows, "q", child)
            table.setdefault("configurations", {})[name] = q
        elif child.tag in ROWS:
            ends = [_decoded(x) for x in child.findall("frame")]
            if child.tag == "closure":
                rows["between"] = [x.pop("link", None) for x in ends]
                rows["frames"] = ends
            table.setdefault(child.tag, []).append(rows)
        else:
            table[child.tag] = rows
    for name in table.keys() & set(NUMBERS):
        table[name] = resolve(quantity(table[name], name), {})
    if "closure_nan" in table:
        given = table["closure_nan"]
        table["closure_nan"] = {"true": True, "false": False}.get(given, given)
    return table


def _groups(element: Element | None) -> dict[str, dict[str, Any]]:
    """What the element of a joint says of its link, group by group."""
    groups: dict[str, dict[str, Any]] = {}
    if element is None:
        return groups
    check_keys(dict(element.attrib), ("index", "helper"), f"<{EXTENSION}>")
    for child in element:
        one_of(child.tag, GROUPS, UNKNOWN.format(child.tag), ModelError)
        rows = _decoded(child)
        if child.tag in NESTED:
            rows = {child.tag: rows} if rows or child.tag == "drive" else {}
        elif child.tag == "passive":
            rows |= {"passive": True}
        for key in rows:
            what = f"<{child.tag}> has unknown attribute {key!r}"
            one_of(key, GROUPS[child.tag], what, ModelError)
        groups[child.tag] = rows
    return groups


def _decoded(element: Element) -> dict[str, Any]:
    """Attributes as a table: text stays text, what has commas is a list."""
    return {
        key: text
        if key in TEXTS or key in ("convention", "tip") or "," not in text
        else [word.strip() for word in text.split(",")]
        for key, text in element.attrib.items()
    }


def _pick(rows: Mapping[str, Any], key: str, element: Element) -> Any:
    if key not in rows:
        raise ModelError(f'<{element.tag}> has no {key}="..."')
    value = rows[key]
    return [value] if key in ("values", "q") and isinstance(value, str) else value
