"""A model as plain tables (dicts of text, numbers and lists): what every file format shares.

A key is the name of the field it fills. Only what differs from the default is written, and a key
nobody knows is refused. Laws of one's own are written as the name of their class and its constants;
a reader is given the classes, and none is ever looked up or imported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...arguments import is_flag, one_of, real
from ...errors import DynamisError, FileError, ModelError, closest, did_you_mean, shown
from ..check.finding import LEVELS, Finding
from ..closure import Closure
from ..drive import Drive
from ..friction import LAWS, Friction
from ..law import settings
from ..link import Link
from ..model import Model, NamedFrame, Payload
from ..pose import Pose
from ..quantity import Expression
from ..spring import Spring

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
            raise FileError("is a directory, expected a file")
        if not path.is_file():
            raise FileError("is not a regular file")
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


@contextmanager
def located(where: str) -> Iterator[None]:
    """Any dynamis error raised inside becomes a FileError that starts with `where`."""
    try:
        yield
    except DynamisError as error:
        raise FileError(f"{where}: {error.message}", error.hint) from error


SCHEMA = 1
LINK_KEYS = tuple(f.name for f in fields(Link))
DRIVE_KEYS = tuple(f.name for f in fields(Drive))
FRICTION_KEYS = tuple(f.name for f in fields(Friction) if f.name != "constants")
LOAD_KEYS = ("law", "constants")
PAYLOAD_KEYS = tuple(f.name for f in fields(Payload))
MIMIC_DEFAULTS = {"multiplier": 1.0, "offset": 0.0}
MIMIC_KEYS = ("joint", *MIMIC_DEFAULTS)
FRAME_KEYS = ("name", "link", "xyz", "rpy")
FINDING_KEYS = ("level", "where", "what", "remedy")  # a model's own are about no log
CLOSURE_KEYS = tuple(f.name for f in fields(Closure))
SPRING_KEYS = tuple("from" if f.name == "from_" else f.name for f in fields(Spring))
ROWS = ("link", "frame", "spring", "closure", "load", "finding")  # tables in double brackets
LIMITS = ("closure_tolerance", "closure_condition")  # within which closures hold
MODEL_KEYS = (
    *("schema", "name", "convention", "description", "gravity", "base", "tool", "tool_link"),
    *("tool_name", "base_name", "payload", "gear_matrix", "rotors", "values", "configurations"),
    *(*LIMITS, "closure_nan", *ROWS),
)
REQUIRED = {
    "schema": f"schema = {SCHEMA}",
    "name": 'name = "...", the robot\'s name',
    "convention": 'convention = "standard", "modified" or "urdf": it is never guessed',
    "link": "at least one [[link]]",
}
TEXTS = {"joint", "name", "joint_name", "parent", "law", "rotor_link", "rotors", "description"} | {
    *("tool_link", "tool_name", "base_name", "link", "kind", "from", "to", *FINDING_KEYS)
}


Laws = Mapping[str, Callable[..., Any]]  # classes of laws of one's own, by the names in a file
NO_LAWS: Laws = {}

# a model to tables


def model_table(model: Model) -> dict[str, Any]:
    """Everything a file says about a model, in the order it is said."""
    table: dict[str, Any] = {"schema": SCHEMA, "name": model.name, "convention": model.convention}
    if model.description:
        table["description"] = model.description
    table["gravity"] = _written(model.gravity)
    for name in ("base", "tool"):
        if getattr(model, name) != Pose():
            table[name] = changed(getattr(model, name))
    table |= changed(model, ("tool_link", "tool_name", "base_name", "gear_matrix", "rotors"))
    table |= changed(model, (*LIMITS, "closure_nan"))
    if model.payload is not None:
        table["payload"] = changed(model.payload)
    if model.values:
        table["values"] = dict(model.values)
    if model.configurations:
        table["configurations"] = {k: list(q) for k, q in model.configurations.items()}
    table["link"] = [link_table(link, i) for i, link in enumerate(model.links)]
    if model.frames:
        table["frame"] = [frame_table(frame) for frame in model.frames]
    if model.springs:
        table["spring"] = [spring_table(spring, i) for i, spring in enumerate(model.springs)]
    if closures := [closure_table(x, i) for i, x in enumerate(model.closures)]:
        table["closure"] = closures
    if model.loads:
        table["load"] = [law_table(law.own) for law in model.loads]
    if model.findings:
        table["finding"] = [changed(finding) for finding in model.findings]
    return table


def link_table(link: Link, index: int | None = None) -> dict[str, Any]:
    """One link; names that position `index` gives by itself are left out."""
    automatic = {"name": "link", "joint_name": "joint"}
    table: dict[str, Any] = {"joint": link.joint}
    for name, prefix in automatic.items():
        value = getattr(link, name)
        if value is not None and (index is None or value != f"{prefix}{index + 1}"):
            table[name] = value
    apart = {"joint", *automatic, "mimic", "friction", "drive"}
    table |= changed(link, (key for key in LINK_KEYS if key not in apart))
    if link.mimic is not None:
        table["mimic"] = dict(zip(MIMIC_KEYS, _written(link.mimic), strict=True))
    if link.friction != Friction():
        table["friction"] = friction_table(link.friction)
    if link.drive is not None:
        table["drive"] = changed(link.drive)
        if link.drive.lead is not None:
            table["drive"].pop("gear", None)
    return {key: table[key] for key in LINK_KEYS if key in table}


def friction_table(friction: Friction) -> dict[str, Any]:
    """Coefficients, law, and the law's constants beside them."""
    table = changed(friction, FRICTION_KEYS)
    if friction.own is not None:
        return table | law_table(friction.own.own)
    for name, default in LAWS[friction.law].items():
        if friction.constants[name] != default:
            table[name] = _written(friction.constants[name])
    return table


def law_table(law: Any) -> dict[str, Any]:
    """A law of one's own: its class by name, and what an instance is made with."""
    given = {name: x for name, x in settings(law).items() if x is not None}
    constants = {name: x if isinstance(x, (str, bool)) else _plain(x) for name, x in given.items()}
    return {"law": type(law).__name__, "constants": constants}


def _plain(x: Any) -> bool | int | float:
    if is_flag(x):
        return bool(x)
    return int(x) if isinstance(x, int) else real(x)


def spring_table(spring: Spring, index: int | None = None) -> dict[str, Any]:
    """A spring; a name that position `index` gives by itself is left out."""
    table = {"kind": spring.kind, **changed(spring)}
    if index is not None and spring.name == f"spring{index + 1}":
        del table["name"]
    return {"from" if key == "from_" else key: value for key, value in table.items()}


def closure_table(closure: Closure, index: int) -> dict[str, Any]:
    """A closure; a name that position `index` gives by itself is left out."""
    table = {"kind": closure.kind, **changed(closure, ("name", "length"))}
    if closure.name == f"closure{index + 1}":
        del table["name"]
    table["between"] = list(closure.between)
    table["frames"] = [changed(place) for place in closure.frames]
    return table


def frame_table(frame: NamedFrame) -> dict[str, Any]:
    """A named frame; one fixed to the base names no link."""
    table: dict[str, Any] = {"name": frame.name}
    if frame.link is not None:
        table["link"] = frame.link
    return table | changed(frame.pose)


def changed(value: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
    """The fields (or those named) that differ from their defaults, ready to write."""
    found = {}
    defaults = {f.name: f.default for f in fields(value)}
    for name in names or defaults:
        given = getattr(value, name)
        if given is None or given == defaults[name] or (name == "inertia" and not any(given)):
            continue
        if name == "inertia" and not any(given[3:]):
            given = given[:3]
        if name == "coulomb" and isinstance(given[0], float) and given[1] == -given[0]:
            given = given[0]
        found[name] = _written(given)
    return found


def _written(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_written(item) for item in value]
    return value.text if isinstance(value, Expression) else value


# tables to a model


def model_from_table(table: Mapping[str, Any], laws: Laws = NO_LAWS) -> Model:
    """The model a file's tables describe; every refusal names the place."""
    for key, expected in REQUIRED.items():
        if key not in table:
            raise FileError(f"{key!r} is missing, expected {expected}", _misspelt(key, table))
        if key == "schema" and (isinstance(schema := table[key], bool) or schema != SCHEMA):
            raise FileError(
                f"schema is {shown(schema)}, this version of dynamis reads schema {SCHEMA}",
                None if isinstance(schema, bool) else "a newer dynamis may read it",
            )
    check_keys(table, MODEL_KEYS, "the file")
    readers = {
        "link": lambda row: Link(**link_fields(row, laws)),
        "frame": frame_from_table,
        "spring": spring_from_table,
        "closure": closure_from_table,
        "load": lambda row: law_from_table(row, laws),
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
        rows = table.get(kind, [])
        if not isinstance(rows, list) or (kind == "link" and not rows):
            raise FileError(f"{kind} is {shown(rows)}, {_rows_expected(kind)}")
        check_count(len(rows), kind)
        given[f"{kind}s"] = built = []
        for i, row in enumerate(rows):
            name = row.get("name") if isinstance(row, Mapping) else None
            with located(f"{kind} {i + 1}" + (f" ({name!r})" if name else "")):
                built.append(read(row))
    return Model(**given)


def link_fields(table: Any, laws: Laws = NO_LAWS) -> dict[str, Any]:
    """Keyword arguments of Link from one link's table."""
    given = check_keys(table, LINK_KEYS, "the link")
    if "friction" in given:
        given["friction"] = friction_from_table(given["friction"], laws)
    if "drive" in given:
        given["drive"] = Drive(**check_keys(given["drive"], DRIVE_KEYS, "drive"))
    if "mimic" in given:
        rows = MIMIC_DEFAULTS | check_keys(given["mimic"], MIMIC_KEYS, "mimic")
        if not isinstance(rows.get("joint"), str):
            raise ModelError(
                f"mimic names joint {shown(rows.get('joint'))}, expected a joint's name"
            )
        given["mimic"] = tuple(rows[key] for key in MIMIC_KEYS)
    return given


def law_from_table(table: Any, laws: Laws) -> Any:
    """A load of one's own, made by the class that was given for its name."""
    rows = check_keys(table, LOAD_KEYS, "the load")
    if "law" not in rows:
        raise ModelError('the load has no law, expected law = "..." and its constants')
    return own_law("load", rows["law"], rows.get("constants", {}), laws)


def own_law(kind: str, name: str, constants: Any, laws: Laws) -> Any:
    """A law by its name in a file; files hold names and constants, never code."""
    if name not in laws:
        known = (*(LAWS if kind == "friction law" else ()), *laws)
        close = f"{did_you_mean(name, known)}; " if known else ""
        raise ModelError(
            f"{kind} {shown(name)} does not exist: the file names it, its code is not in the file",
            f"{close}if it is a class of yours: dy.load(path, laws={{{shown(name)}: {name}}})",
        )
    given = _table(constants, "constants")
    for key, value in given.items():
        if not isinstance(value, (str, bool, int, float)):
            raise ModelError(f"constants.{key} is {shown(value)}, expected a number, text or flag")
    try:
        return laws[name](**given)
    except DynamisError:
        raise
    except Exception as error:  # whatever somebody else's class says to its constants
        listed = ", ".join(given) or "no constants"
        raise ModelError(f"{kind} {name!r} cannot be made from {listed}: {error}") from error


def friction_from_table(table: Any, laws: Laws = NO_LAWS) -> Friction:
    """Friction, the law's constants taken from beside its coefficients."""
    rows = _table(table, "friction")
    law = rows.get("law", Friction.law)
    known = LAWS.get(law) if isinstance(law, str) else ()
    if known is None:
        given = check_keys(rows, (*FRICTION_KEYS, "constants"), "friction")
        own = own_law("friction law", law, given.pop("constants", {}), laws)
        return Friction(**given | {"law": own})
    return Friction(**check_keys(rows, (*FRICTION_KEYS, *known), "friction"))


def payload_from_table(table: Any) -> Payload:
    """A payload; only its mass must be there."""
    rows = check_keys(table, PAYLOAD_KEYS, "payload")
    if "mass" not in rows:
        raise ModelError("payload has no mass, expected payload = { mass = ..., com = [...] }")
    return Payload(**rows)


def spring_from_table(table: Any) -> Spring:
    """A spring."""
    return Spring(**check_keys(table, SPRING_KEYS, "the spring"))


def closure_from_table(table: Any) -> Closure:
    """A closure."""
    return Closure(**check_keys(table, CLOSURE_KEYS, "the closure"))


def finding_from_table(table: Any) -> Finding:
    """A finding that came with the model."""
    rows = check_keys(table, FINDING_KEYS, "the finding")
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
    rows = check_keys(table, FRAME_KEYS, "the frame")
    if not rows.get("name"):
        raise ModelError('the frame has no name, expected name = "..."')
    place = Pose(**{k: rows[k] for k in ("xyz", "rpy") if k in rows})
    return NamedFrame(name=rows["name"], link=rows.get("link"), pose=place)


def _misspelt(key: str, table: Mapping[str, Any]) -> str | None:
    """The unknown key of a table that may stand for a missing one, and what to write."""
    unknown = [name for name in table if name not in MODEL_KEYS]
    found = closest(key, unknown)
    instead = f"[[{key}]]" if key in ROWS else key
    return found and f"the file has {shown(found)}: write {instead}"


def _rows_expected(kind: str) -> str:
    return f"expected [[{kind}]] tables: write [[{kind}]], not [{kind}], above each"


def check_keys(given: Any, known: Iterable[str], what: str) -> dict[str, Any]:
    """The table itself, once it is one, every key is known and every text is a text."""
    known, table = tuple(known), _table(given, what)
    for key, value in table.items():
        one_of(key, known, f"{what} has unknown key {key!r}", ModelError)
        if key in TEXTS and key != "link" and not isinstance(value, str):
            raise ModelError(f"{key} is {shown(value)}, expected text")
        if key == "link" and not isinstance(value, (str, list)):
            raise ModelError(f"link is {shown(value)}, {_rows_expected('link')}")
    return table


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ModelError(f"{what} is {shown(value)}, expected a table {{ key = value, ... }}")
    return dict(value)
