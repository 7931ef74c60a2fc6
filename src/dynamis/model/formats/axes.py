"""Joint axes as people write them: a line of text each, or [[axis]] in a TOML file.

    revolute   0 0 0     0 0 1        # joint, a point of its axis, its direction (at q = 0)
    prismatic  0.3 0 0.4   0 0 -1
    base  0 0 0.1                     # perhaps: x y z, then roll pitch yaw
    tool  0.5 0 0.4   pi 0 0
    name  my arm

Numbers may be arithmetic without blanks, such as pi/2 or 90deg.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...arguments import is_list, one_of, path_of
from ...errors import DynamisError, FileError, counted, did_you_mean, shown
from ...tables import text_table
from ..dh.axes import Axis
from ..link import JOINTS
from ..pose import Pose, pose
from ..quantity import Expression, quantity
from .files import decoded, parsed_toml
from .tables import check_count, located, read_bytes

SUFFIXES = (".axes", ".txt", ".toml")
SHORT = {"r": "revolute", "p": "prismatic", **{kind: kind for kind in JOINTS}}
POSES = ("base", "tool")
WORDS = (*JOINTS, *POSES, "name")
KEYS = ("schema", "name", "base", "tool", "axis")
AXIS_KEYS = ("joint", "point", "direction")
LINE = "expected such as 'revolute 0 0 0.4  0 0 1': joint, point, direction"
POSE_LINE = "expected x y z, or x y z roll pitch yaw"
COMMA = re.compile(r"[-+]?\d+,\d+")


class JointAxes(NamedTuple):
    """Axes of an arm in its reference frame, and perhaps its name, base and tool."""

    axes: tuple[Axis, ...]
    name: str = "arm"
    base: Pose | None = None
    tool: Pose | None = None


def is_typed(text: str) -> bool:
    """True if a text is lines of axes, not the name of a file or of a robot."""
    parts = [part.split() for _, part in _parts(text)]
    starts = any(words and words[0].lower() in (*SHORT, *POSES) for words in parts)
    return starts and (len(parts) > 1 or len(parts[0]) > 2)


def read_axes(path: str | Path) -> JointAxes:
    """The axes in a file: TOML if it ends in .toml, else lines of text."""
    path = path_of(path)
    data = read_bytes(path)
    with located(str(path)):
        text = decoded(data, "a text file")
        found = axes_from_table(parsed_toml(text)) if _is_toml(path) else axes_from_lines(text)
    return found if found.name != "arm" else found._replace(name=path.stem)


def _is_toml(path: Path) -> bool:
    return path.suffix.lower() == ".toml"


def holds_axes(path: Path) -> bool:
    """True if a file is one of axes rather than of a robot."""
    if not _is_toml(path):
        return path.suffix.lower() in SUFFIXES
    return re.search(rb"(?m)^\s*(\[\[\s*axis\s*\]\]|axis\s*=)", read_bytes(path)) is not None


def axes_from_lines(text: str) -> JointAxes:
    """The axes in lines of text; a semicolon ends a line too. Errors name the line."""
    axes, found = [], {}
    for number, part in _parts(text):
        words = part.split()
        if not words:
            continue
        try:
            word = words[0].lower()
            if word in SHORT:
                axes.append(_axis_of_words(SHORT[word], words[1:]))
                check_count(len(axes), "joint")
            else:
                _setting(words, found)
        except DynamisError as error:
            raise FileError(f"line {number}: {error.message}", error.hint) from None
    return _checked(axes, found)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Text between semicolons of every line, without its comment, and the line's number."""
    for number, line in enumerate(text.split("\n"), 1):
        for part in line.split("#")[0].split(";"):
            yield number, part


def _axis_of_words(kind: str, words: list[str]) -> Axis:
    if len(words) != 6:
        raise FileError(f"{counted(len(words), 'number')} after the joint, {LINE}", _comma(words))
    numbers = _numbers(words)
    return Axis(kind, numbers[:3], numbers[3:])  # type: ignore[arg-type]


def _setting(words: list[str], found: dict[str, Any]) -> None:
    """A line that is not an axis: base, tool or name."""
    word = words[0].lower()
    one_of(word, WORDS, f"{shown(words[0])} is not a joint: {LINE}", FileError)
    if word in found:
        raise FileError(f"{word} is given twice")
    if word == "name":
        found[word] = " ".join(words[1:])
    elif len(words) not in (4, 7):
        raise FileError(f"{counted(len(words) - 1, 'number')}, {POSE_LINE}", _comma(words[1:]))
    else:
        numbers = _numbers(words[1:])
        found[word] = Pose(numbers[:3], numbers[3:] or (0.0, 0.0, 0.0))  # type: ignore[arg-type]


def _numbers(words: list[str]) -> tuple[float, ...]:
    numbers = tuple(quantity(word, f"number {k}") for k, word in enumerate(words, 1))
    for k, number in enumerate(numbers):
        if isinstance(number, Expression):
            raise FileError(f"{shown(words[k])} is no number", _comma([words[k]]))
    return numbers  # type: ignore[return-value]


def _comma(words: list[str]) -> str | None:
    """Hint for numbers with decimal commas, or in brackets."""
    if any(COMMA.fullmatch(word) for word in words):
        return "blanks separate numbers, decimals have a point: 0.5"
    if any(set(word) & set("()[],") for word in words):
        return "blanks separate numbers; leave commas and brackets out"
    return None


def axes_from_table(table: Mapping[str, Any]) -> JointAxes:
    """The axes of a TOML table: [[axis]] with joint, point and direction."""
    _known(table, KEYS)
    rows = table.get("axis", [])
    if not is_list(rows):
        raise FileError(f"axis is {shown(rows)}, expected a [[axis]] for every joint")
    check_count(len(rows), "joint")
    axes = []
    for number, row in enumerate(rows, 1):
        with located(f"[[axis]] {number}"):
            axes.append(_axis_of_table(row))
    found = {key: pose(table[key], key) for key in POSES if key in table}
    for key, value in found.items():
        if any(isinstance(x, Expression) for x in (*value.xyz, *value.rpy)):
            raise FileError(f"{key} has symbols, expected numbers")
    if "name" in table:
        found["name"] = table["name"]
    return _checked(axes, found)


def _axis_of_table(row: Any) -> Axis:
    if not isinstance(row, Mapping):
        raise FileError(f"{shown(row)} was given, expected joint, point and direction")
    _known(row, AXIS_KEYS)
    missing = [key for key in AXIS_KEYS if key not in row]
    if missing:
        raise FileError(f"has no {missing[0]}, expected joint, point and direction")
    kind = row["joint"]
    kind = SHORT.get(kind.lower(), kind) if isinstance(kind, str) else kind
    return Axis(kind, row["point"], row["direction"])


def _known(table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    unknown = next((key for key in table if key not in keys), None)
    if unknown is not None:
        raise FileError(f"unknown key {shown(unknown)}", did_you_mean(unknown, keys))


def _checked(axes: list[Axis], found: Mapping[str, Any]) -> JointAxes:
    name = found.get("name", "arm")
    if not isinstance(name, str) or not name.strip():
        raise FileError(f"name is {shown(name)}, expected a text")
    if not axes:
        raise FileError(f"no axis is in it, {LINE}")
    return JointAxes(tuple(axes), name, found.get("base"), found.get("tool"))


def axes_text(axes: Sequence[Axis]) -> list[str]:
    """Axes as lines that `axes_from_lines` reads, with fifteen digits."""
    rows = [(x.kind, *(f"{c + 0.0:.15g}" for c in (*x.point, *x.direction))) for x in axes]
    return text_table(rows, rule=False).splitlines()
