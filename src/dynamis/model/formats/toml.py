"""Robots in TOML files: the format whose keys are the keyword names of the Python constructors."""

import re
import tomllib
from pathlib import Path
from typing import Any

from ...errors import FileError
from ..model import Model
from .tables import located, model_from_table, model_table, read_bytes

BARE = re.compile(r"[A-Za-z0-9_-]+")
# One walk over the text, every character once: strings (one that never ends takes the rest, the
# parser refuses it), comments, and what looks like a key. Quantifiers are possessive: no way back.
STRINGS = (
    r'"{3}(?:[^"\\]++|\\.|"{1,2}+(?!"))*+(?:"{3,5}+|\Z)',
    r"'{3}(?:[^']++|'{1,2}+(?!'))*+(?:'{3,5}+|\Z)",
    r'"(?:[^"\\\n]++|\\.)*+(?:"|(?=\n)|\Z)',
    r"'[^'\n]*+(?:'|(?=\n)|\Z)",
)
PART = rf"(?:[A-Za-z0-9_-]++|{'|'.join(STRINGS)})"
DOT = r"[ \t]*+\.[ \t]*+"
WALK = re.compile(
    rf"[^A-Za-z0-9_\-\"'#]++|#[^\n]*+|(?P<word>[A-Za-z0-9_-]{{1001}})"
    rf"|(?P<key>{PART}(?:{DOT}{PART}){{16}})|{PART}(?:{DOT}{PART})*+",
    re.DOTALL,
)
REFUSED = {"word": "a word has more than 1000 characters", "key": "a key has more than 16 parts"}
LARGEST = 1_000_000  # characters; a robot is a few thousand
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def read_toml(path: str | Path) -> Model:
    """The model in a TOML file."""
    data = read_bytes(Path(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"{path}: line {line} is not UTF-8 text (byte {data[error.start]:#04x}), "
            "expected a TOML file"
        ) from None
    return model_from_toml(text, str(path))


def model_from_toml(text: str, where: str = "TOML") -> Model:
    """The model described by TOML text; `where` starts every error message."""
    with located(where):
        return model_from_table(_parsed(text))


def _parsed(text: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise FileError(f"has {len(text)} characters, expected at most {LARGEST}")
    bomb = next((found.lastgroup for found in WALK.finditer(text) if found.lastgroup), None)
    if bomb:  # the parser's memory grows with the square of a key, its time with that of a number
        raise FileError(f"is not valid TOML for a robot: {REFUSED[bomb]}")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise FileError("is not valid TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError names the line and column
        raise FileError(f"is not valid TOML: {error}") from None


def toml_text(model: Model) -> str:
    """The model as TOML text; reading it back gives an equal model."""
    table = model_table(model)
    sections = {k: table.pop(k, {}) for k in ("values", "configurations")}
    arrays = {k: table.pop(k, []) for k in ("link", "frame", "finding")}
    blocks = [_lines(table)]
    blocks += [f"[{name}]\n" + _lines(rows) for name, rows in sections.items() if rows]
    blocks += [f"[[{name}]]\n" + _lines(row) for name, rows in arrays.items() for row in rows]
    return "\n".join(blocks)


def _lines(table: dict[str, Any]) -> str:
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
    return repr(value)  # the shortest text that reads back as the same float


def _text(text: str) -> str:
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(c: str) -> str:
    if c in ESCAPES:
        return ESCAPES[c]
    if "\ud800" <= c <= "\udfff":
        raise FileError(f"{c!r} is half of a character: no text file can hold it")
    return f"\\u{ord(c):04X}" if ord(c) < 0x20 or ord(c) == 0x7F else c
