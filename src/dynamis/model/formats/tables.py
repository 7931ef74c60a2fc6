"""A model as plain tables (dicts of text, numbers and lists): what every file format shares.

Keys are those of the `schema` of each class. Only what differs from the default is written, and a
key nobody knows is refused. Laws of one's own are written as the name of their class and its
constants; a reader is given the classes, and none is ever looked up or imported.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from ...arguments import is_flag, one_of, real
from ...errors import DynamisError, FileError, ModelError, closest, did_you_mean, shown
from ..check.finding import LEVELS, Finding
from ..closure import Closure
from ..drive import Drive
from ..friction import LAWS, Friction
from ..geometry import Geometry
from ..law import UserLaw, settings
from ..link import Link
from ..memory import Memory
from ..model import FORCES, Model, NamedFrame, Payload
from ..pose import Pose
from ..quantity import Expression
from ..schema import changed_fields, keys, schema

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
LOAD_KEYS = ("law", "constants")
MIMIC_DEFAULTS = {"multiplier": 1.0, "offset": 0.0}
MIMIC_KEYS = ("joint", *MIMIC_DEFAULTS)
FRAME_KEYS = ("name", "link", "xyz", "rpy")
FINDING_KEYS = ("level", "where", "what", "remedy")  # a model's own are about no log
MODEL_KEYS = ("schema", *keys(Model))
LISTS = {  # fields of a model by the key of their rows: [[link]], [[frame]], ...
    str(schema(Model)[field.name].key): field.name
    for field in fields(Model)
    if get_args(get_args(field.type)[0])[1:] == (...,)
}
REQUIRED = {
    "schema": f"schema = {SCHEMA}",
    "name": 'name = "...", the robot\'s name',
    "convention": 'convention = "standard", "modified" or "urdf": it is never guessed',
    "link": "at least one [[link]]",
}
START = (
    "a file has schema, name, convention and a [[link]] for each joint; dynamis show planar-2link "
    "--save arm.toml writes one to start from"
)


def texts_of(kind: type) -> set[str]:
    """Keys of a class whose values are texts."""
    own = {x.name: schema(kind)[x.name].key for x in fields(kind)}
    texts = {own[x.name] for x in fields(kind) if get_args(x.type)[0] in (str, str | None)}
    return {str(key) for key in texts if key is not None}


TEXTS = {"law", "link", *FINDING_KEYS} | {
    key for kind in (Model, Link, Drive, Closure, *FORCES.values()) for key in texts_of(kind)
} - {"convention"}  # which answers itself


Laws = Mapping[str, Callable[..., Any]]  # classes of laws of one's own, by the names in a file
NO_LAWS: Laws = {}

# a model to tables


def model_table(model: Model) -> dict[str, Any]:
    """Everything a file says about a model, in the order it is said."""
    table: dict[str, Any] = {"schema": SCHEMA, "name": model.name, "convention": model.convention}
    table |= changed(model) | {"gravity": _written(model.gravity)}
    for kind, write in WRITERS.items():
        if rows := getattr(model, LISTS[kind]):
            table[kind] = [_unnamed(write(row), kind, i) for i, row in enumerate(rows, 1)]
    return {key: table[key] for key in MODEL_KEYS if key in table}


def _unnamed(table: dict[str, Any], kind: str, number: int) -> dict[str, Any]:
    """A row without the names that its number gives by itself."""
    usual = {} if kind == "frame" else {"name": f"{kind}{number}", "joint_name": f"joint{number}"}
    return {key: x for key, x in table.items() if key not in usual or x != usual[key]}


def link_table(link: Link) -> dict[str, Any]:
    """One link."""
    table: dict[str, Any] = {"joint": link.joint} | changed(link)
    if link.mimic is not None:
        table["mimic"] = dict(zip(MIMIC_KEYS, table["mimic"], strict=True))
    if link.friction != Friction():
        table["friction"] = friction_table(link.friction)
    if link.drive is not None and link.drive.lead is not None:
        table["drive"].pop("gear", None)
    return {key: table[key] for key in keys(Link) if key in table}


def friction_table(friction: Friction) -> dict[str, Any]:
    """Coefficients, law, and the law's constants beside them."""
    table = changed(friction)
    if friction.own is not None:
        return table | law_table(friction.own.own)
    for name, default in LAWS[friction.law].items():
        if friction.constants[name] != default:
            table[name] = _written(friction.constants[name])
    return table


def law_table(law: Any) -> dict[str, Any]:
    """A law of one's own: its class by name, and what an instance is made with."""
    own = {name: x for name, x in settings(law).items() if x is not None}
    constants = {name: x if isinstance(x, (str, bool)) else _plain(x) for name, x in own.items()}
    return {"law": type(law).__name__, "constants": constants}


def _plain(x: Any) -> bool | int | float:
    if is_flag(x):
        return bool(x)
    return int(x) if isinstance(x, int) else real(x)


def frame_table(frame: NamedFrame) -> dict[str, Any]:
    """A named frame; one fixed to the base names no link."""
    link = {} if frame.link is None else {"link": frame.link}
    return {"name": frame.name} | link | changed(frame.pose)


def kind_table(row: Any) -> dict[str, Any]:
    """A force or a closure: its kind, and what is not as by default."""
    return ({"kind": row.kind} if "kind" in schema(type(row)) else {}) | changed(row)


WRITERS: Mapping[str, Callable[[Any], dict[str, Any]]] = {  # of the rows of a model
    "link": link_table,
    "frame": frame_table,
    **{name[:-1]: kind_table for name in (*FORCES, "closures")},
    "geometry": kind_table,
    "load": lambda law: law_table(law.own),
    "finding": lambda finding: {key: getattr(finding, key) for key in FINDING_KEYS},
}


def changed(value: Any) -> dict[str, Any]:
    """The fields that differ from their defaults, by their keys and ready to write."""
    found = {}
    for name in changed_fields(value):
        own, key = getattr(value, name), schema(type(value))[name].key
        rows = isinstance(value, Model) and key in LISTS
        if own is None or key is None or rows or isinstance(own, UserLaw):
            continue
        if name == "inertia" and not any(own):
            continue
        if name == "inertia" and not any(own[3:]):
            own = own[:3]
        if name == "coulomb" and isinstance(own[0], float) and own[1] == -own[0]:
            own = own[0]
        found[key] = _written(own)
    return found


def _written(value: Any) -> Any:
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, Mapping):
        return {key: _written(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_written(item) for item in value]
    return changed(value) if is_dataclass(value) else value


# tables to a model


def model_from_table(table: Mapping[str, Any], laws: Laws = NO_LAWS) -> Model:
    """The model a file's tables describe; every refusal names the place."""
    for key, expected in REQUIRED.items():
        if key not in table:
            hint = _misspelt(key, table) or START
            raise FileError(f"{key!r} is missing, expected {expected}", hint)
        if key == "schema" and (isinstance(schema := table[key], bool) or schema != SCHEMA):
            raise FileError(
                f"schema is {shown(schema)}, this version of dynamis reads schema {SCHEMA}",
                None if isinstance(schema, bool) else "a newer dynamis may read it",
            )
    check_keys(table, MODEL_KEYS, "the file")
    readers = {
        "link": lambda row: Link(**link_fields(row, laws)),
        "frame": frame_from_table,
        **{name[:-1]: partial(row_from_keys, kind) for name, kind in FORCES.items()},
        "closure": partial(row_from_keys, Closure),
        "geometry": partial(row_from_keys, Geometry),
        "load": lambda row: law_from_table(row, laws),
        "finding": finding_from_table,
    }
    found = {k: v for k, v in table.items() if k not in ("schema", "payload", *readers)}
    for key in ("values", "configurations"):
        if key in found:
            found[key] = _table(found[key], key)
    if "gear_matrix" in found and not isinstance(found["gear_matrix"], list):
        raise FileError(f"gear_matrix is {shown(found['gear_matrix'])}, expected rows of numbers")
    if "payload" in table:
        found["payload"] = payload_from_table(table["payload"])
    for kind, read in readers.items():
        rows = table.get(kind, [])
        if not isinstance(rows, list) or (kind == "link" and not rows):
            raise FileError(f"{kind} is {shown(rows)}, {_rows_expected(kind)}")
        check_count(len(rows), kind)
        found[LISTS[kind]] = built = []
        for i, row in enumerate(rows):
            name = row.get("name") if isinstance(row, Mapping) else None
            with located(f"{kind} {i + 1}" + (f" ({name!r})" if name else "")):
                built.append(read(row))
    return Model(**found)


def row_from_keys(kind: type, row: Any) -> Any:
    """A force, a closure, a geometry or an obstacle."""
    found = check_keys(row, keys(kind), f"the {kind.__name__.lower()}", texts_of(kind))
    names = {own.key: name for name, own in schema(kind).items()}
    return kind(**{names[key]: value for key, value in found.items()})


def link_fields(table: Any, laws: Laws = NO_LAWS) -> dict[str, Any]:
    """Keyword arguments of Link from one link's table."""
    found = check_keys(table, keys(Link), "the link")
    if "friction" in found:
        found["friction"] = friction_from_table(found["friction"], laws)
    if "drive" in found:
        found["drive"] = Drive(**check_keys(found["drive"], keys(Drive), "drive"))
    if "mimic" in found:
        rows = MIMIC_DEFAULTS | check_keys(found["mimic"], MIMIC_KEYS, "mimic")
        if not isinstance(rows.get("joint"), str):
            raise ModelError(
                f"mimic names joint {shown(rows.get('joint'))}, expected a joint's name"
            )
        found["mimic"] = tuple(rows[key] for key in MIMIC_KEYS)
    return found


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
    own = _table(constants, "constants")
    for key, value in own.items():
        if not isinstance(value, (str, bool, int, float)):
            raise ModelError(f"constants.{key} is {shown(value)}, expected a number, text or flag")
    try:
        return laws[name](**own)
    except DynamisError:
        raise
    except Exception as error:  # whatever somebody else's class says to its constants
        listed = ", ".join(own) or "no constants"
        raise ModelError(f"{kind} {name!r} cannot be made from {listed}: {error}") from error


def friction_from_table(table: Any, laws: Laws = NO_LAWS) -> Friction:
    """Friction, the law's constants taken from beside its coefficients."""
    rows = dict(_table(table, "friction"))
    if "memory" in rows:
        memory = check_keys(rows["memory"], keys(Memory), "friction.memory")
        for key in keys(Memory):
            if key not in memory:
                raise ModelError(f"friction.memory has no {key}, expected radii and weights")
        rows["memory"] = Memory(**memory)
    law = rows.get("law", Friction.law)
    known = LAWS.get(law) if isinstance(law, str) else ()
    if known is None:
        found = check_keys(rows, (*keys(Friction), "constants"), "friction")
        own = own_law("friction law", law, found.pop("constants", {}), laws)
        return Friction(**found | {"law": own})
    return Friction(**check_keys(rows, (*keys(Friction), *known), "friction"))


def payload_from_table(table: Any) -> Payload:
    """A payload; only its mass must be there."""
    rows = check_keys(table, keys(Payload), "payload")
    if "mass" not in rows:
        raise ModelError("payload has no mass, expected payload = { mass = ..., com = [...] }")
    return Payload(**rows)


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
    instead = f"[[{key}]]" if key in LISTS else key
    return found and f"the file has {shown(found)}: write {instead}"


def _rows_expected(kind: str) -> str:
    return f"expected [[{kind}]] tables: write [[{kind}]], not [{kind}], above each"


def check_keys(
    given: Any, known: Iterable[str], what: str, texts: Collection[str] = TEXTS
) -> dict[str, Any]:
    """The table itself, once it is one, every key is known and every text is a text."""
    known, table = tuple(known), _table(given, what)
    for key, value in table.items():
        one_of(key, known, f"{what} has unknown key {key!r}", ModelError)
        if key in texts and key != "link" and not isinstance(value, str):
            raise ModelError(f"{key} is {shown(value)}, expected text")
        if key == "link" and not isinstance(value, (str, list)):
            raise ModelError(f"link is {shown(value)}, {_rows_expected('link')}")
    return table


def _table(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ModelError(f"{what} is {shown(value)}, expected a table {{ key = value, ... }}")
    return dict(value)
