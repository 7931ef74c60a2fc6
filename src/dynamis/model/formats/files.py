"""Robots from names and files, and back into files; those of the TOML format are read here.

XML is read by its root element: <robot> is a URDF, <sdf> an SDF, <mujoco> an MJCF.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ...arguments import flag, is_list, is_word, one_of, path_of
from ...errors import FileError, did_you_mean, shown, warn
from ...files import write
from .. import catalogue
from ..friction import LAWS
from ..geometry import Source
from ..model import Model
from ..pose import Pose
from .descriptions import PREFIX, description_file, expanded, xacro_arguments
from .tables import LISTS, NO_LAWS, Laws, located, model_from_table, model_table, read_bytes

SUFFIXES = ".toml, .urdf, .sdf, .xml"


def load_model(
    source: str | Path,
    tip: str | None = None,
    lock: Mapping[str, Any] | None = None,
    laws: Mapping[str, Any] | None = None,
    run_xacro: bool | Mapping[str, Any] = False,
    download: bool = False,
    joints: str | Sequence[str] | None = None,
) -> Model:
    """The model of a catalogue name, or of a .toml, .urdf, .sdf or MJCF file.

    `tip` names the link or frame that becomes the tool; `lock` fixes joints of an XML file at
    values, `joints` all but those named at 0; `laws` are the classes behind the names of laws in a
    .toml file. `run_xacro` and `download` as in `dy.load`.
    """
    if joints is not None:
        given: Any = {"laws": laws, "run_xacro": run_xacro, "download": download}
        others = others_than(joints, load_model(source, None, lock, **given).joint_names)
        return load_model(source, tip, {**dict.fromkeys(others, 0.0), **(lock or {})}, **given)
    arguments = xacro_arguments(run_xacro)
    download = flag(download, "download")
    if isinstance(source, str) and source.startswith(PREFIX):
        path, own = description_file(source.removeprefix(PREFIX), download)
        arguments = None if arguments is None else {**own, **arguments}
    elif download:
        raise FileError(
            f"download was given for {shown(source)}, which is not a name of robot_descriptions",
            f"dy.load('{PREFIX}ur10e_mj_description', download=True)",
        )
    else:
        path = _path(source)
    _check_laws(laws)
    if lock is not None and not isinstance(lock, Mapping):
        raise FileError(
            f"lock is {shown(lock)}, expected a value per joint name: {{'finger': 0.0}}"
        )
    suffix = path.suffix.lower()
    if laws and suffix != ".toml":
        raise FileError(f"{path}: laws was given, but only a .toml file names laws of one's own")
    if suffix == ".xacro":
        folder = path.absolute().parent
        return model_from_xml(expanded(path, arguments), str(path), tip, lock, folder=folder)
    if arguments is not None:
        raise FileError(f"{path}: run_xacro was given, but the file does not end in .xacro")
    if suffix not in READERS:
        where = "is a directory" if path.is_dir() else f"has suffix {path.suffix!r}"
        raise FileError(f"{path} {where}, expected a file that ends in {SUFFIXES}", _beside(path))
    if suffix == ".toml":
        return _read_toml(path, tip, lock, laws or NO_LAWS)
    return model_from_xml(read_bytes(path), str(path), tip, lock, path)


def others_than(joints: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """The joints that are not meant by names, or by patterns such as left_*."""
    asked: list[Any] = [*joints] if is_list(joints) else [joints]
    if not asked or not all(isinstance(x, str) for x in asked):
        raise FileError(f"joints is {shown(joints)}, expected names, or patterns such as 'left_*'")
    for pattern in asked:
        if not any(fnmatchcase(name, pattern) for name in names):
            what = f"joints names {shown(pattern)}, which is no joint that moves"
            raise FileError(f"{what}: {', '.join(names)}", did_you_mean(pattern, names))
    return [name for name in names if not any(fnmatchcase(name, x) for x in asked)]


def model_from_xml(
    data: bytes,
    where: str,
    tip: str | None = None,
    lock: Mapping[str, Any] | None = None,
    path: Path | None = None,
    folder: Path | None = None,
) -> Model:
    """The model that XML describes: URDF, SDF or MJCF, by the name of its root element.

    `path` is the data's own file: MJCF includes others from its folder. Meshes that a URDF names
    are relative to `folder`, by default that of the file.
    """
    from .urdf_elements import root_name  # a TOML file needs none of these

    root = root_name(data)
    if root == "mujoco":
        from ...interop.mjcf import from_mjcf

        with nullcontext() if path else located(where):
            return from_mjcf(path or data, tip, lock).model
    folder = path.absolute().parent if path else folder
    if root == "sdf":
        from .sdf import model_from_sdf

        return model_from_sdf(data, where, tip, lock, folder)
    from .urdf import model_from_urdf

    return model_from_urdf(data, where, tip, lock, folder)


def _check_laws(laws: Any) -> None:
    """Classes by name; a formula of the package keeps its name."""
    expected = "expected classes by the names in the file: {'Hose': Hose}"
    if laws is not None and not isinstance(laws, Mapping):
        raise FileError(f"laws is {shown(laws)}, {expected}")
    for name, kind in (laws or {}).items():
        if not isinstance(name, str) or not callable(kind):
            raise FileError(f"laws has {shown(name)}: {shown(kind)}, {expected}")
        if name in LAWS:
            raise FileError(f"laws has {name!r}, which is a friction law of the package already")


def _path(source: Any) -> Path:
    """Where the description is: a catalogue name first, then a path."""
    if isinstance(source, os.PathLike):
        return path_of(source, "source")
    if not isinstance(source, str) or not source or "\0" in source:
        raise FileError(
            f"{shown(source)} was given, expected a catalogue name or a path to {SUFFIXES}"
        )
    known = catalogue.names()
    if source in known:
        return catalogue.path(source)
    path = path_of(source, "source")
    looks_like_a_path = path.suffix.lower() in (*READERS, ".xacro") or len(path.parts) > 1
    if looks_like_a_path or os.path.lexists(source):
        return path
    raise FileError(
        f"{shown(source)} is neither a robot of the catalogue nor a file",
        _beside(path) or did_you_mean(source, known),
    )


def _beside(path: Path) -> str | None:
    """A hint at the file that has this name and a suffix."""
    found = next((x for x in READERS if Path(f"{path}{x}").is_file()), None)
    return found and f"did you mean '{path}{found}'?"


def _read_toml(path: Path, tip: str | None, lock: Mapping[str, Any] | None, laws: Laws) -> Model:
    if lock:
        raise FileError(
            f"{path}: lock was given, but only the joints of a URDF, SDF or MJCF can be locked",
            "save the robot as .urdf and load that with lock",
        )
    model = seen_from(read_toml(path, laws), path.absolute().parent)
    with located(str(path)):
        return model if tip is None else with_tip(model, tip)


def with_tip(model: Model, tip: str) -> Model:
    """The model with its tool at the frame of a link, or at a named frame."""
    if is_word(tip, (model.tool_name,)):
        return model
    frames = {name: (name, Pose()) for name in model.link_names}
    frames |= {f.name: (f.link, f.pose) for f in model.frames if f.link is not None}
    one_of(tip, frames, f"tip {shown(tip)} is not a link or a frame that moves", FileError)
    if model.payload is not None:
        raise FileError(
            f"tip {tip!r} would move the payload, which is held by {model.tool_name!r}",
            "take the payload out of the file first",
        )
    link, place = frames[tip]
    return replace(model, tool_link=link, tool=place, tool_name=tip)


def save_model(model: Model, path: str | Path, laws: bool = False) -> None:
    """Write a model to a .toml or .urdf file, whole or not at all.

    Laws of one's own are code, which no file holds: with `laws` a .toml file names them.
    """
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise FileError(f"{path!r} was given, expected the path of a file ending in {SAVED}")
    path = path_of(path)
    if path.suffix.lower() not in WRITERS:
        hint = "dynamis.interop.to_mjcf(robot) is MJCF text" if path.suffix == ".mjcf" else None
        raise FileError(
            f"{path} has suffix {path.suffix!r}, expected a file that ends in {SAVED}", hint
        )
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}, expected an existing one")
    if path.is_dir():
        raise FileError(f"{path} is a directory, expected the name of a file")
    if model.own_laws and not (laws and path.suffix.lower() == ".toml"):
        raise FileError(
            f"{path}: {', '.join(model.own_laws)}: Python code, which a robot file does not hold",
            "robot.save('robot.toml', laws=True) writes names and constants, and dy.load(path, "
            "laws={'Name': Class}) brings the laws back",
        )
    with located(str(path)):
        data = WRITERS[path.suffix.lower()](model, path.absolute().parent).encode("utf-8")
    write(path, data)


# TOML

BARE = re.compile(r"[A-Za-z0-9_-]+")
# One pass over the text, every character once: strings (one that never ends takes the rest, the
# parser refuses it), comments, and what looks like a key. Quantifiers are possessive: no way back.
STRINGS = (
    r'"{3}(?:[^"\\]++|\\.|"{1,2}+(?!"))*+(?:"{3,5}+|\Z)',
    r"'{3}(?:[^']++|'{1,2}+(?!'))*+(?:'{3,5}+|\Z)",
    r'"(?:[^"\\\n]++|\\.)*+(?:"|(?=\n)|\Z)',
    r"'[^'\n]*+(?:'|(?=\n)|\Z)",
)
PART = rf"(?:[A-Za-z0-9_-]++|{'|'.join(STRINGS)})"
DOT = r"[ \t]*+\.[ \t]*+"
TOKENS = re.compile(
    rf"[^A-Za-z0-9_\-\"'#]++|#[^\n]*+|(?P<word>[A-Za-z0-9_-]{{1001}})"
    rf"|(?P<key>{PART}(?:{DOT}{PART}){{16}})|{PART}(?:{DOT}{PART})*+",
    re.DOTALL,
)
REFUSED = {"word": "a word has more than 1000 characters", "key": "a key has more than 16 parts"}
LARGEST = 1_000_000  # characters; a robot is a few thousand
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def read_toml(path: str | Path, laws: Laws = NO_LAWS) -> Model:
    """The model in a TOML file."""
    return model_from_toml(read_bytes(Path(path)), str(path), laws)


def model_from_toml(given: str | bytes, where: str = "TOML", laws: Laws = NO_LAWS) -> Model:
    """The model described by TOML text; `where` starts every error message."""
    with located(where):
        text = given if isinstance(given, str) else decoded(given)
        return model_from_table(parsed_toml(text), laws)


def decoded(data: bytes, expected: str = "a TOML file") -> str:
    """The text of a file."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"line {line} is not UTF-8 text (byte {data[error.start]:#04x}), expected {expected}"
        ) from None


def parsed_toml(text: str) -> dict[str, Any]:
    """The table of TOML text from anywhere: what would keep the parser busy is refused first."""
    if len(text) > LARGEST:
        raise FileError(f"has {len(text)} characters, expected at most {LARGEST}")
    bomb = next((found.lastgroup for found in TOKENS.finditer(text) if found.lastgroup), None)
    if bomb:  # the parser's memory grows with the square of a key, its time with that of a number
        raise FileError(f"is not valid TOML for a robot: {REFUSED[bomb]}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise FileError("is not valid TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError names the line and column
        raise FileError(f"is not valid TOML: {error}", _decimal_comma(text, str(error))) from None


def _decimal_comma(text: str, error: str) -> str | None:
    """What to write if the line that the parser refused has a number such as 0,4."""
    place = re.search(r"at line (\d+)", error)
    line = text.splitlines()[int(place[1]) - 1 :][:1] if place else []
    found = re.search(r"=[ \t]*([-+]?\d+),(\d+)", line[0]) if line else None
    return found and f"a number has a decimal point, not a comma: {found[1]}.{found[2]}"


def toml_text(model: Model) -> str:
    """The model as TOML text; reading it back gives an equal model."""
    table = model_table(model)
    sections = {k: table.pop(k, {}) for k in ("values", "configurations")}
    arrays = {k: table.pop(k, []) for k in LISTS}
    blocks = [toml_lines(table)]
    blocks += [f"[{name}]\n" + toml_lines(rows) for name, rows in sections.items() if rows]
    blocks += [f"[[{name}]]\n" + toml_lines(row) for name, rows in arrays.items() for row in rows]
    return "\n".join(blocks)


def toml_lines(table: dict[str, Any]) -> str:
    """The keys of a table, one a line."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, dict):
        rows = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items())
        return f"{{ {rows} }}" if rows else "{}"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)  # the shortest text that reads back as the same float


def _text(text: str) -> str:
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(c: str) -> str:
    if c in ESCAPES:
        return ESCAPES[c]
    if "\ud800" <= c <= "\udfff":
        raise FileError(f"{c!r} is half of a character: no text file can hold it")
    return f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else c


def seen_from(model: Model, folder: Path) -> Model:
    """The model whose shapes name files relative to a folder."""
    shapes = tuple(
        x if x.file is None else replace(x, source=Source(folder)) for x in model.geometry
    )
    return replace(model, geometry=shapes) if shapes else model


def moved_meshes(model: Model, folder: Path) -> Model:
    """The model with the files of its shapes as a folder sees them."""
    from .urdf_kept import moved_name

    shapes = tuple(
        x
        if x.file is None or x.source is None or x.source.folder is None
        else replace(x, file=moved_name(x.file, x.source.folder, folder))
        for x in model.geometry
    )
    return replace(model, geometry=shapes)


def _toml_file(model: Model, folder: Path) -> str:
    if model.kept_elements is not None:
        from .urdf_kept import words_of

        if words := words_of(model.kept_elements):
            warn(
                f"TOML cannot hold all of {model.name!r}: left out: elements {', '.join(words)} of "
                "its URDF, which a .urdf file keeps"
            )
    return toml_text(moved_meshes(model, folder) if model.geometry else model)


def _urdf_file(model: Model, folder: Path) -> str:
    from .urdf import urdf_text

    return urdf_text(model, folder)


READERS = (".toml", ".urdf", ".sdf", ".xml", ".mjcf")
WRITERS = {".toml": _toml_file, ".urdf": _urdf_file, ".xml": _urdf_file}
SAVED = ", ".join(WRITERS)
