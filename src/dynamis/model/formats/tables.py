"""A model as plain tables (dicts of text, numbers and lists): what every file format shares.

A key is the name of the field it fills. Only what differs from the default is written, and a key
nobody knows is refused.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ...errors import DynamisError, FileError, ModelError, did_you_mean, shown
from ..check.finding import LEVELS, Finding
from ..drive import Drive
from ..friction import LAWS, Friction
from ..link import Link
from ..model import Model, NamedFrame, Payload
from ..pose import Pose
from ..quantity import Expression

# the bytes of a robot file, and errors that say which file and where in it

LARGEST = 10_000_000  # bytes; a robot is a few kilobytes, meshes are never read
MOST_ROWS = 1000  # links or frames of one robot


def read_bytes(path: Path) -> bytes:
    """The content of a regular file of sensible size."""
    with located(str(path)):
        try:
            status = path.stat()
        except FileNotFoundError:
            raise FileError("there is no such file", f"looked in {path.parent.resolve()}") from None
        except (OSError, ValueError) as error:
            raise FileError(f"cannot be opened: {error}") from None
        if path.is_dir():
            raise FileError("is a directory, expected a .toml or .urdf file")
        if not path.is_file():
            raise FileError("is not a regular file, expected a .toml or .urdf file")
        if status.st_size > LARGEST:
            raise FileError(
                f"has {status.st_size} bytes, expected at most {LARGEST}",
                "a robot description holds numbers only; meshes stay in files of their own",
            )
        try:
            return path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}") from None


def check_count(count: int, what: str, most: int = MOST_ROWS) -> None:
    """Refuse more links (or frames, or joints) than a robot has."""
    if count > most:
        raise FileError(f"has {count} {what}s, expected at most {most}")


def plain_message(error: DynamisError) -> str:
    """The message of an error without its hint."""
    return str(error).removesuffix(f"\nhint: {error.hint}")


@contextmanager
def located(where: str) -> Iterator[None]:
    """Any dynamis error raised inside becomes a FileError that starts with `where`."""
    try:
        yield
    except DynamisError as error:
        raise FileError(f"{where}: {plain_message(error)}", error.hint) from error


SCHEMA = 1
LINK_KEYS = tuple(f.name for f in fields(Link))
DRIVE_KEYS = tuple(f.name for f in fields(Drive))
FRICTION_KEYS = ("viscous", "coulomb", "offset", "law")
PAYLOAD_KEYS = tuple(f.name for f in fields(Payload))
MIMIC_KEYS = ("joint", "multiplier", "offset")
FRAME_KEYS = ("name", "link", "xyz", "rpy")
FINDING_KEYS = tuple(f.name for f in fields(Finding))
MODEL_KEYS = (
    *("schema", "name", "convention", "description", "gravity", "base", "tool", "tool_link"),
    *("tool_name", "base_name", "payload", "gear_matrix", "rotors", "values", "configurations"),
    *("link", "frame", "finding"),
)
REQUIRED = {
    "schema": f"schema = {SCHEMA}",
    "name": 'name = "...", the robot\'s name',
    "convention": 'convention = "standard", "modified" or "urdf": it is never guessed',
    "link": "at least one [[link]]",
}
TEXTS = {"joint", "name", "joint_name", "parent", "law", "rotor_link", "rotors", "description"} | {
    *("tool_link", "tool_name", "base_name", "link", *FINDING_KEYS),
}


# a model to tables


def model_table(model: Model) -> dict[str, Any]:
    """Everything a file says about a model, in the order it is said."""
    table: dict[str, Any] = {"schema": SCHEMA, "name": model.name, "convention": model.convention}
    if model.description:
        table["description"] = model.description
    table["gravity"] = _written(model.gravity)
    for name in ("base", "tool"):
        if getattr(model, name) != Pose():
            table[name] = pose_table(getattr(model, name))
    table |= changed(model, ("tool_link", "tool_name", "base_name", "gear_matrix", "rotors"))
    if model.payload is not None:
        table["payload"] = payload_table(model.payload)
    if model.values:
        table["values"] = dict(model.values)
    if model.configurations:
        table["configurations"] = {k: list(q) for k, q in model.configurations.items()}
    table["link"] = [link_table(link, i) for i, link in enumerate(model.links)]
    if model.frames:
        table["frame"] = [frame_table(frame) for frame in model.frames]
    if model.findings:
        table["finding"] = [asdict(finding) for finding in model.findings]
    return table


def link_table(link: Link, index: int | None = None) -> dict[str, Any]:
    """One link; names that position `index` gives by itself are left out."""
    automatic = {"name": "link", "joint_name": "joint"}
    table: dict[str, Any] = {"joint": link.joint}
    for name, prefix in automatic.items():
        value = getattr(link, name)
        if value is not None and (index is None or value != f"{prefix}{index + 1}"):
            table[name] = value
    apart = {"joint", *automatic, "mimic", "inertia", "friction", "drive"}
    table |= changed(link, (key for key in LINK_KEYS if key not in apart))
    if link.mimic is not None:
        table["mimic"] = dict(zip(MIMIC_KEYS, _written(link.mimic), strict=True))
    if link.inertia is not None and any(link.inertia):
        table["inertia"] = _short_inertia(link.inertia)
    if link.friction != Friction():
        table["friction"] = friction_table(link.friction)
    if link.drive is not None:
        table["drive"] = drive_table(link.drive)
    return {key: table[key] for key in LINK_KEYS if key in table}


def friction_table(friction: Friction) -> dict[str, Any]:
    """Coefficients, law, and the law's constants beside them."""
    table = changed(friction, ("viscous", "coulomb", "offset", "law"))
    if "coulomb" in table:
        table["coulomb"] = _short_coulomb(friction.coulomb)
    for name, default in LAWS[friction.law].items():
        if friction.constants[name] != default:
            table[name] = _written(friction.constants[name])
    return table


def drive_table(drive: Drive) -> dict[str, Any]:
    """The drive's fields that are not the default."""
    table = changed(drive, DRIVE_KEYS)
    if "lead" in table:
        table.pop("gear", None)
    if "coulomb" in table:
        table["coulomb"] = _short_coulomb(drive.coulomb)
    return table


def payload_table(payload: Payload) -> dict[str, Any]:
    """Mass, then what is not zero."""
    table = {"mass": _written(payload.mass)}
    if any(payload.com):
        table["com"] = _written(payload.com)
    if any(payload.inertia):
        table["inertia"] = _short_inertia(payload.inertia)
    return table


def pose_table(pose: Pose) -> dict[str, Any]:
    """xyz and rpy, where they are not zero."""
    return changed(pose, ("xyz", "rpy"))


def frame_table(frame: NamedFrame) -> dict[str, Any]:
    """A named frame; one fixed to the base names no link."""
    table: dict[str, Any] = {"name": frame.name}
    if frame.link is not None:
        table["link"] = frame.link
    return table | pose_table(frame.pose)


def changed(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """The named fields that differ from their defaults, ready to write."""
    found = {}
    defaults = {f.name: f.default for f in fields(value)}
    for name in names:
        given = getattr(value, name)
        if given is not None and given != defaults[name]:
            found[name] = _written(given)
    return found


def _written(value: Any) -> Any:
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, (tuple, list)):
        return [_written(item) for item in value]
    return value


def _short_inertia(inertia: tuple) -> list[Any]:
    return _written(inertia if any(inertia[3:]) else inertia[:3])


def _short_coulomb(pair: tuple) -> Any:
    c, other = pair
    if isinstance(c, float) and isinstance(other, float) and other == -c:
        return c
    return _written(pair)


# tables to a model


def model_from_table(table: Mapping[str, Any]) -> Model:
    """The model a file's tables describe; every refusal names the place."""
    for key, expected in REQUIRED.items():
        if key not in table:
            raise FileError(f"{key!r} is missing, expected {expected}")
        if key == "schema":
            _check_schema(table["schema"])
    check_keys(table, MODEL_KEYS, "the file")
    readers = {
        "link": link_from_table,
        "frame": frame_from_table,
        "finding": finding_from_table,
    }
    given = {k: v for k, v in table.items() if k not in ("schema", "payload", *readers)}
    for key in ("values", "configurations"):
        if key in given:
            given[key] = _table(given[key], key)
    if "gear_matrix" in given and not isinstance(given["gear_matrix"], list):
        raise FileError(f"gear_matrix is {shown(given['gear_matrix'])}, expected rows of numbers")
    if "payload" in table:
        given["payload"] = payload_from_table(table["payload"])
    for kind, read in readers.items():
        rows = _rows(table, kind)
        check_count(len(rows), kind)
        given[f"{kind}s"] = [_numbered(read, row, kind, i) for i, row in enumerate(rows)]
    return Model(**given)


def link_from_table(table: Any) -> Link:
    """One link."""
    return Link(**link_fields(table))


def link_fields(table: Any) -> dict[str, Any]:
    """Keyword arguments of Link from one link's table."""
    given = check_keys(_table(table, "the link"), LINK_KEYS, "the link")
    if "friction" in given:
        given["friction"] = friction_from_table(given["friction"])
    if "drive" in given:
        rows = check_keys(_table(given["drive"], "drive"), DRIVE_KEYS, "drive")
        given["drive"] = Drive(**rows)
    if "mimic" in given:
        rows = check_keys(_table(given["mimic"], "mimic"), MIMIC_KEYS, "mimic")
        if not isinstance(rows.get("joint"), str):
            raise ModelError(
                f"mimic names joint {shown(rows.get('joint'))}, expected a joint's name"
            )
        given["mimic"] = (rows["joint"], rows.get("multiplier", 1.0), rows.get("offset", 0.0))
    return given


def friction_from_table(table: Any) -> Friction:
    """Friction, the law's constants taken from beside its coefficients."""
    rows = _table(table, "friction")
    law = rows.get("law", "coulomb")
    known = LAWS.get(law, {}) if isinstance(law, str) else {}
    if not isinstance(law, str) or law in LAWS:
        rows = check_keys(rows, (*FRICTION_KEYS, *known), "friction")
    constants = {k: v for k, v in rows.items() if k in known}
    rest = {k: v for k, v in rows.items() if k in FRICTION_KEYS}
    return Friction(**rest, constants=constants)


def payload_from_table(table: Any) -> Payload:
    """A payload; only its mass must be there."""
    rows = check_keys(_table(table, "payload"), PAYLOAD_KEYS, "payload")
    if "mass" not in rows:
        raise ModelError("payload has no mass, expected payload = { mass = ..., com = [...] }")
    return Payload(**rows)


def finding_from_table(table: Any) -> Finding:
    """A finding that came with the model."""
    rows = check_keys(_table(table, "the finding"), FINDING_KEYS, "the finding")
    for key in FINDING_KEYS:
        if not isinstance(rows.get(key), str):
            raise ModelError(f"the finding has {key} {rows.get(key)!r}, expected a text")
    if rows["level"] not in LEVELS:
        raise ModelError(
            f"the finding has level {rows['level']!r}, expected one of {', '.join(LEVELS)}"
        )
    return Finding(**rows)


def frame_from_table(table: Any) -> NamedFrame:
    """A named frame."""
    rows = check_keys(_table(table, "the frame"), FRAME_KEYS, "the frame")
    if not rows.get("name"):
        raise ModelError('the frame has no name, expected name = "..."')
    place = Pose(**{k: rows[k] for k in ("xyz", "rpy") if k in rows})
    return NamedFrame(name=rows["name"], link=rows.get("link"), pose=place)


def check_keys(table: Mapping[str, Any], known: Iterable[str], what: str) -> dict[str, Any]:
    """The table itself, once every key is known and every text is a text."""
    known = tuple(known)
    for key, value in table.items():
        if key not in known:
            raise ModelError(f"{what} has unknown key {key!r}", did_you_mean(key, known))
        if key in TEXTS and key != "link" and not isinstance(value, str):
            raise ModelError(f"{key} is {shown(value)}, expected text")
        if key == "link" and not isinstance(value, (str, list)):
            raise ModelError(f"link is {shown(value)}, expected [[link]] tables")
    return dict(table)


def _check_schema(schema: Any) -> None:
    if isinstance(schema, bool) or schema != SCHEMA:
        raise FileError(
            f"schema is {shown(schema)}, this version of dynamis reads schema {SCHEMA}",
            None if isinstance(schema, bool) else "a newer dynamis may read it",
        )


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ModelError(f"{what} is {shown(value)}, expected a table {{ key = value, ... }}")
    return dict(value)


def _rows(table: Mapping[str, Any], key: str) -> list[Any]:
    rows = table.get(key, [])
    if not isinstance(rows, list) or (key == "link" and not rows):
        raise FileError(f"{key} is {shown(rows)}, expected [[{key}]] tables")
    return rows


def _numbered(build: Any, row: Any, what: str, index: int) -> Any:
    """A row built, with its number and name in any complaint about it."""
    name = row.get("name") if isinstance(row, Mapping) else None
    with located(f"{what} {index + 1}" + (f" ({name!r})" if name else "")):
        return build(row)
