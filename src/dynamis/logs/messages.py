"""Binary messages of ROS as columns of numbers, by the definition of their type.

Messages of equal lengths, in all their texts and lists, have one layout: they are rows of one
array, and a field is a view of some of its columns. No code is made from a definition.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError, ShapeError
from ..lazy import package
from .recordings import Channel, Messages

PRIMITIVES = {
    **{f"{sign}int{8 * k}": f"{sign or 'i'}{k}" for sign in ("", "u") for k in (1, 2, 4, 8)},
    **{"float32": "f4", "float64": "f8", "bool": "?", "byte": "u1", "char": "u1", "octet": "u1"},
}
TIMES = {"time": ("uint32", "uint32"), "duration": ("int32", "int32")}  # of ROS 1
SEPARATOR = re.compile(r"={40,}\s*")
FIELD = re.compile(
    r"\s*(?P<type>[A-Za-z][A-Za-z0-9_]*(?:/[A-Za-z][A-Za-z0-9_]*){0,2})(?:<=[0-9]{1,9})?"
    r"(?:\[(?P<bound>(?:<=)?)(?P<size>[0-9]{0,9})\])?\s+(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"(?:(?P<constant>\s*=.*)|[\s#].*)?"
)
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*){1,2}")
LONGEST = 1 << 20  # characters of a definition
DEEPEST = 32  # types inside of types
MOST_FIELDS = 50_000  # texts, numbers and lists in one message
MOST_LAYOUTS = 1000  # of one topic


class Field(NamedTuple):
    """A field of a type; `size` None for one, -1 for a list, else how many."""

    name: str
    type: str
    size: int | None = None


def is_list(field: Field, kind: str | None = None) -> bool:
    """Whether a field is a list or an array, of numbers or of a type."""
    right = field.type == kind if kind else field.type in PRIMITIVES
    return right and field.size is not None


Types = Mapping[str, tuple[Field, ...]]


def _types_of(channel: Channel, where: str) -> tuple[str, Types]:
    """The type of a channel's messages, and the fields of all types that its definition gives."""
    root = _plain(channel.type)
    if not NAME.fullmatch(root):
        raise FileError(f"{where}: {channel.type[:80]!r} is no type of a message")
    if channel.format == "ros1msg" or (channel.format == "ros2msg" and channel.definition):
        return root, _parsed(root, channel.definition, where)
    if channel.encoding == "cdr" and channel.format in ("", "ros2msg", "ros2idl"):
        return root, {}
    raise FileError(f"{where}: the definition of {root} is {channel.format!r}, expected ros2msg")


def _plain(name: str) -> str:
    """sensor_msgs/JointState for sensor_msgs/msg/JointState, as ROS 1 spells it."""
    return name.replace("/msg/", "/", 1)


def _parsed(root: str, text: str, where: str) -> Types:
    """A definition, in which those of the types inside of it follow lines of equal signs."""
    if len(text) > LONGEST:
        raise FileError(f"{where}: the definition of {root} has {len(text)} characters")
    types: dict[str, tuple[Field, ...]] = {}
    name, fields = root, list[Field]()
    for line in [*text.splitlines(), "MSG: end/End"]:
        if line.startswith("MSG: "):
            types.setdefault(name, tuple(fields))
            name, fields = _plain(line[5:].strip()), []
        elif line.strip() and not line.lstrip().startswith(("#", "@")):
            if SEPARATOR.fullmatch(line):
                continue
            match = FIELD.fullmatch(line)
            if match is None or not NAME.fullmatch(name):
                raise FileError(f"{where}: the definition of {root} holds {line[:80]!r}")
            if not match["constant"]:
                fields.append(_field(match, name))
    return types


def _field(match: re.Match[str], owner: str) -> Field:
    kind = _plain(match["type"])
    if kind == "Header":
        kind = "std_msgs/Header"
    elif "/" not in kind and kind not in (*PRIMITIVES, *TIMES, *TEXTS):
        kind = f"{owner.rpartition('/')[0]}/{kind}"
    if match["size"] is None:
        return Field(match["name"], kind)
    listed = match["bound"] or not match["size"]
    return Field(match["name"], kind, -1 if listed else int(match["size"]))


TEXTS = ("string", "wstring", "wchar")


class Decoder:
    """Fields of one type of messages; types that a bag of ROS 2 does not define are ROS's own."""

    def __init__(self, channel: Channel, where: str):
        self.where, self.cdr = f"{where}, {channel.topic}", channel.encoding == "cdr"
        self.format = channel.format
        self.root, self.types = _types_of(channel, where)
        self.fields(self.root)

    def fields(self, name: str) -> tuple[Field, ...]:
        """Those of a type, whose definition must be known."""
        found = self.types.get(name)
        if found == () and self.cdr:  # as C has no empty structures
            return (Field("structure_needs_at_least_one_member", "uint8"),)
        if found is None and self.cdr:
            found = _standard().get(name)
        if found is None:
            what = "an IDL definition" if self.format == "ros2idl" else "no definition"
            raise FileError(
                f"{self.where}: the type {name} has {what} in the recording, expected ros2msg",
                "record as MCAP, which holds definitions; or export the topic as CSV or Parquet",
            )
        return found

    def groups(self, messages: Messages) -> list["Group"]:
        """All messages, by layout."""
        groups: list[Group] = []
        whole, starts = np.frombuffer(messages.data, dtype=np.uint8), messages.starts
        sizes = messages.ends - starts
        order = np.argsort(sizes, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):
            left, rows = places, _rows(whole, starts[places], int(sizes[places[0]]))
            while len(left):
                if len(groups) == MOST_LAYOUTS:
                    what = f"{self.where}: messages have more than {MOST_LAYOUTS} layouts"
                    raise FileError(what, "choose a topic of numbers with topic=")
                layout = Layout(memoryview(rows[0].tobytes()), self)
                alike = layout.holds(rows)
                if alike.all():
                    groups.append(Group(left, rows, layout))
                    break
                groups.append(Group(left[alike], rows[alike], layout))
                left, rows = left[~alike], rows[~alike]
        return groups


def _rows(whole: np.ndarray, starts: np.ndarray, size: int) -> np.ndarray:
    """Stretches of `size` bytes as rows: a view where they follow each other."""
    if not size or not len(starts):
        return np.empty((len(starts), size), dtype=np.uint8)
    if len(starts) == 1 or (np.diff(starts) == size).all():
        return whole[starts[0] : starts[0] + len(starts) * size].reshape(-1, size)
    return np.lib.stride_tricks.sliding_window_view(whole, size)[starts]


class Layout:
    """Where the fields of a message lie in it, by the lengths of its texts and lists."""

    def __init__(self, data: memoryview, decoder: Decoder):
        self.data, self.decoder, self.order = data, decoder, "<"
        self.numbers: dict[str, list[tuple[int, str, int]]] = {}  # place, type, how many
        self.lists: set[str] = set()  # those of several numbers per message
        self.texts: dict[str, list[tuple[int, int]]] = {}
        self.fixed: list[tuple[int, int]] = []  # what is the same in all such messages
        self.left, self.origin = MOST_FIELDS, 0
        if decoder.cdr:
            kind = bytes(data[:2])
            if len(data) < 4 or kind not in (b"\0\0", b"\0\1"):
                what = f"begins with {kind.hex()}, expected 0001 or 0000, plain CDR"
                hint = "was the recording compressed message by message? `ros2 bag convert` unpacks"
                raise FileError(f"{decoder.where}: a message {what}", hint)
            self.order, self.origin = "<" if kind == b"\0\1" else ">", 4
            self.fixed.append((0, 2))
        end = self._fields(decoder.root, "", self.origin, 0)
        if end > len(data) or len(data) - end > (3 if decoder.cdr else 0):
            what = f"a message has {len(data)} bytes, its definition {decoder.root} needs {end}"
            raise FileError(f"{decoder.where}: {what}", "is it of another version of that type?")
        self.data = memoryview(b"")

    def holds(self, rows: np.ndarray) -> np.ndarray:
        """Which messages have the lengths of the first one, and its order of bytes."""
        columns = _places(self.fixed)
        return (rows[:, columns] == rows[0, columns]).all(axis=1)

    def _fields(self, kind: str, prefix: str, at: int, depth: int) -> int:
        """Note the fields of a type that begins at a place; where it ends."""
        if depth > DEEPEST:
            raise FileError(f"{self.decoder.where}: {self.decoder.root} holds itself")
        for field in self.decoder.fields(kind):
            path, many = f"{prefix}{field.name}", field.size is not None
            count = 1 if field.size is None else field.size
            if count < 0:
                at, count = self._length(at)
            if many:
                self.lists.add(path)
            at = self._values(field.type, path, at, count, depth, prefix)
        return at

    def _values(self, kind: str, path: str, at: int, count: int, depth: int, prefix: str) -> int:
        code = PRIMITIVES.get(kind)
        if code is not None:
            size = np.dtype(code).itemsize
            at = self._aligned(at, size if count else 1)
            self._spend(at, count * size, 1)
            self.numbers.setdefault(path, []).append((at, self.order + code, count))
            if prefix and prefix[:-1] in self.lists:
                self.lists.add(path)
            return at + count * size
        self._spend(at, 0, count)
        for _ in range(count):
            if kind == "string":
                at = self._text(path, *self._length(at))
            elif kind in TIMES and not self.decoder.cdr:
                for name, half in zip(("sec", "nanosec"), TIMES[kind], strict=True):
                    at = self._values(half, f"{path}.{name}", at, 1, depth, f"{path}.")
            elif kind in (*TEXTS, *TIMES):
                raise FileError(f"{self.decoder.where}: {path} is {kind}, which is not decoded")
            else:
                if prefix and prefix[:-1] in self.lists:
                    self.lists.add(path)
                at = self._fields(kind, f"{path}.", at, depth + 1)
        return at

    def _text(self, path: str, at: int, size: int) -> int:
        self._spend(at, size, 0)
        ended = int(self.decoder.cdr and size > 0)  # CDR counts the zero at the end
        if ended:
            self.fixed.append((at + size - 1, 1))
            if self.data[at + size - 1]:
                raise FileError(f"{self.decoder.where}: the text of {path} in a message has no end")
        self.texts.setdefault(path, []).append((at, size - ended))
        return at + size

    def _aligned(self, at: int, size: int) -> int:
        return at + (self.origin - at) % size if self.decoder.cdr else at

    def _length(self, at: int) -> tuple[int, int]:
        at = self._aligned(at, 4)
        self._spend(at, 4, 1)
        self.fixed.append((at, 4))
        order = "little" if self.order == "<" else "big"
        return at + 4, int.from_bytes(self.data[at : at + 4], order)

    def _spend(self, at: int, size: int, fields: int) -> None:
        self.left -= fields
        if at + size > len(self.data):
            what = f"a message of {len(self.data)} bytes ends before its {self.decoder.root} does"
            raise FileError(f"{self.decoder.where}: {what}")
        if self.left < 0:
            raise FileError(f"{self.decoder.where}: a message has over {MOST_FIELDS} fields")


class Group(NamedTuple):
    """Messages of one layout: their places in the topic, and their bytes (N, size)."""

    rows: np.ndarray
    bytes: np.ndarray
    layout: Layout

    def numbers(self, path: str) -> np.ndarray:
        """(N, k) of a field."""
        spans = [x for x in self.layout.numbers.get(path, ()) if x[2]]
        if not spans:
            return np.empty((len(self.rows), 0))
        parts = [_view(self.bytes, *span) for span in spans]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def texts(self, path: str) -> Iterable[tuple[np.ndarray, tuple[str, ...]]]:
        """(which messages of the group, the texts of a field in them)."""
        spans = self.layout.texts.get(path, [])
        if spans:  # mostly all messages have the same, with all that lies between: one comparison
            between = slice(spans[0][0], sum(spans[-1]))
            if (self.bytes[:, between] == self.bytes[0, between]).all():
                yield np.arange(len(self.rows)), _decoded(self.bytes[0], spans)
                return
        said, left = self.bytes[:, _places(spans)], np.arange(len(self.rows))
        for _ in range(MOST_LAYOUTS):
            alike = (said == said[0]).all(axis=1)
            yield left[alike], _decoded(self.bytes[left[0]], spans)
            if alike.all():
                return
            left, said = left[~alike], said[~alike]
        raise ShapeError(f"{path} changes more than {MOST_LAYOUTS} times")


def _decoded(row: np.ndarray, spans: list[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(row[at : at + size].tobytes().decode() for at, size in spans)


def _places(spans: list[tuple[int, int]]) -> np.ndarray:
    """All places of stretches that are given by their first and their length."""
    parts = [np.arange(at, at + size) for at, size in spans]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _view(rows: np.ndarray, at: int, code: str, count: int) -> np.ndarray:
    dtype = np.dtype(code)
    part = np.ascontiguousarray(rows[:, at : at + count * dtype.itemsize])
    return part.view(dtype)


def column(groups: list[Group], path: str, where: str) -> np.ndarray:
    """A field of all messages: (N,), or (N, k) of lists."""
    parts = [group.numbers(path) for group in groups]
    widths = {part.shape[1]: 0 for part in parts}
    for part in parts:
        widths[part.shape[1]] += len(part)
    if len(widths) != 1:
        said = ", ".join(f"{k} numbers in {n} messages" for k, n in sorted(widths.items()))
        raise ShapeError(f"{where}: {path!r} holds {said}, expected as many in all")
    count = sum(len(x.rows) for x in groups)
    out = np.empty((count, *parts[0].shape[1:]), dtype=parts[0].dtype.newbyteorder("="))
    for group, part in zip(groups, parts, strict=True):
        out[group.rows] = part
    return out if path in groups[0].layout.lists else out.reshape(-1)


def _standard() -> Types:
    """ROS 2's own types."""
    if not STANDARD:
        named: Any = package(
            "rosbags.typesys.stores.ros2_humble", "rosbags", "bags without definitions", "logs"
        ).FIELDDEFS
        STANDARD.update({_plain(x): tuple(_known(*f) for f in y[1]) for x, y in named.items()})
    return STANDARD


def _known(name: str, described: Any) -> Field:
    """A field as rosbags writes it: a base type (1), a name (2), an array (3) or a list (4)."""
    kind, what = described
    if kind in (1, 2):
        return Field(name, what[0] if kind == 1 else _plain(what))
    one = _known(name, what[0])
    return one._replace(size=-1 if kind == 4 else what[1])


STANDARD: dict[str, tuple[Field, ...]] = {}
