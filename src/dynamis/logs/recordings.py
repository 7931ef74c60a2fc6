"""Recordings of messages by topic: MCAP, ROS 2 bags of SQLite, ROS 1 bags, and folders of them.

Payloads of chosen topics are copied as they lie in the file, one chunk at a time; nothing in a
file is executed, and chunks are never unpacked beyond the size that they declare.
"""

import bz2
import re
import sqlite3
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..errors import FileError
from ..lazy import package
from .table import Allowance, reading


class Channel(NamedTuple):
    """What a file says about the messages of one publisher on a topic."""

    topic: str
    type: str = ""
    encoding: str = ""  # cdr, ros1, json, ..
    format: str = ""  # of the definition: ros2msg, ros1msg, ros2idl, jsonschema, ..
    definition: str = ""


class Messages(NamedTuple):
    """Messages in the order of recording: instants in ns, and where payloads end in `data`."""

    logged: np.ndarray
    ends: np.ndarray
    data: bytearray

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> np.ndarray:
        """Where the payloads begin."""
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)


class Collected:
    """The messages of one topic while a file is read; `most` of them, if not all."""

    def __init__(self, most: int | None):
        self.left = sys.maxsize if most is None else most
        self.logged: list[int] = []
        self.ends: list[int] = []
        self.data = bytearray()

    def add(self, logged: int, payload: Any) -> None:
        """One more message."""
        if self.left > 0:
            self.left -= 1
            self.data += payload
            self.logged.append(logged)
            self.ends.append(len(self.data))

    def messages(self) -> Messages:
        """Those collected, in the order of recording."""
        logged = np.array(self.logged, dtype=np.uint64)
        ends = np.array(self.ends, dtype=np.int64)
        found = Messages(logged, ends, self.data)
        order = np.argsort(logged, kind="stable")
        if (np.diff(order) == 1).all():
            return found
        view, starts = memoryview(self.data), found.starts
        data = bytearray().join(view[starts[k] : ends[k]] for k in order)
        return Messages(logged[order], np.cumsum((ends - starts)[order]), data)


class Recording:
    """Topics of one or several files, with the number of their messages."""

    def __init__(self, path: Path, allowance: Allowance):
        self.allowance = allowance
        self.files = [FILES[x.suffix.lower()](x, allowance) for x in _files(path)]
        self.channels: dict[str, set[Channel]] = {}
        self.counts: Counter[str] = Counter()
        for file in self.files:
            for key, channel in file.channels.items():
                self.channels.setdefault(channel.topic, set()).add(channel)
                self.counts[channel.topic] += file.counts[key]

    def messages(self, topics: Collection[str], most: int | None = None) -> dict[str, Messages]:
        """The messages of these topics, in the order of recording."""
        found = {topic: Collected(most) for topic in topics}
        for file in self.files:
            wanted = {k: found[x.topic] for k, x in file.channels.items() if x.topic in found}
            if wanted:
                file.read(wanted)
        return {topic: x.messages() for topic, x in found.items()}


def is_bag(folder: Path) -> bool:
    """Whether a folder is a bag of ROS 2."""
    return (folder / "metadata.yaml").is_file() or any(_parts(folder))


def _parts(folder: Path) -> list[Path]:
    return sorted(x for x in folder.iterdir() if x.suffix.lower() in (".mcap", ".db3"))


def _files(path: Path) -> list[Path]:
    """The file itself, or those of a folder: the ones that its metadata.yaml lists, if any."""
    if not path.is_dir():
        return [path]
    metadata, listed = path / "metadata.yaml", list[str]()
    if metadata.is_file():
        with metadata.open(encoding="utf-8", errors="replace") as file:
            listed = [Path(x).name for x in LISTED.findall(file.read(MOST_TEXT))]
    absent = next((x for x in listed if not (path / x).is_file()), None)
    if absent is not None:
        raise FileError(
            f"{path.name}: metadata.yaml lists {absent!r}, which is not in the folder",
            "copy all files of the recording; `ros2 bag reindex` forgets those that are gone",
        )
    packed = next((x for x in listed if x.endswith(".zstd")), None)
    if packed is not None:
        raise FileError(f"{path.name}: {packed} is compressed", f"zstd -d {packed}")
    return [path / x for x in dict.fromkeys(listed)] or _numbered(path)


def _numbered(folder: Path) -> list[Path]:
    """Files of one recording by their numbers: run_0.mcap, run_1.mcap, .."""
    parts = _parts(folder)
    if not parts:
        raise FileError(f"{folder.name} holds no .mcap and no .db3", "expected the files of a bag")
    found = [NUMBERED.fullmatch(x.name) for x in parts]
    places = [int(x["place"]) for x in found if x]
    whole = sorted(places) == [*range(min(places, default=0), min(places, default=0) + len(parts))]
    if len(parts) > 1 and not (whole and len({x and (x["name"], x["end"]) for x in found}) == 1):
        listed = ", ".join(x.name for x in parts[:10])
        what = f"{folder.name} has no list of files in a metadata.yaml, and {listed} do not count"
        raise FileError(what, "read one of them, or `ros2 bag reindex` the folder")
    return [x for _, x in sorted(zip(places, parts, strict=True))] if len(parts) > 1 else parts


def _unpacked(kind: str, data: Any, size: int, allowance: Allowance) -> Any:
    """A chunk, which must unpack to the size that it declares."""
    if kind in ("", "none"):
        raw = data
    else:
        allowance.take("chunk", size)
        if kind not in UNPACKERS:
            raise ValueError(f"a chunk is packed as {kind[:40]!r}, expected zstd, lz4 or bz2")
        unpacker = UNPACKERS[kind]()
        raw = unpacker.decompress(bytes(data), size + 1)
    if len(raw) != size:
        raise ValueError(f"a chunk unpacks to another size than the {size} bytes it declares")
    return raw


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdDecompressor()
    return package("backports.zstd", "backports.zstd", "unpacking zstd", "logs").ZstdDecompressor()


def _lz4() -> Any:
    return package("lz4.frame", "lz4", "unpacking lz4", "logs").LZ4FrameDecompressor()


class Mcap:
    """An .mcap file; its topics from the summary at its end, or else from all of it."""

    def __init__(self, path: Path, allowance: Allowance):
        self.path, self.allowance = path, allowance
        self.channels: dict[int, Channel] = {}
        self.schemas: dict[int, tuple[str, str, str]] = {0: ("", "", "")}
        self.counts: Counter[int] = Counter()
        self.wanted: Mapping[int, Collected] = {}
        self.counting = False
        with self._opened() as file:
            if not self._summarised(file) or not self.channels:
                self.counting = True
                self._everything(file)
        self.counting = False

    def read(self, wanted: Mapping[int, Collected]) -> None:
        """Collect the messages of these channels."""
        self.wanted = wanted
        with self._opened() as file:
            self._everything(file)

    def _opened(self) -> Any:
        mend = "`mcap recover` mends recordings that were cut short"
        return _opened(self.path, "MCAP", mend)

    def _summarised(self, file: BinaryIO) -> bool:
        """Whether the summary at the end of the file counts the messages."""
        size = self.path.stat().st_size
        if size < 2 * len(MAGIC) + FOOTER.size or file.read(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as MCAP does")
        file.seek(size - len(MAGIC) - FOOTER.size)
        op, length, start, _, crc = FOOTER.unpack(file.read(FOOTER.size))
        if file.read() != MAGIC or (op, length) != (2, 20):
            raise ValueError("it does not end as MCAP does")
        self.end = size - len(MAGIC) - FOOTER.size
        if not start:
            return False
        if not len(MAGIC) <= start <= self.end:
            raise ValueError("its summary lies outside of the file")
        self.allowance.take("summary", self.end - start)
        file.seek(start)
        summary = file.read(self.end - start + FOOTER.size - 4)
        if crc and zlib.crc32(summary) != crc:
            raise ValueError("the checksum of its summary is wrong")
        return self._scan(memoryview(summary)[: self.end - start])

    def _everything(self, file: BinaryIO) -> None:
        at = len(MAGIC)
        while at < self.end and any(x.left for x in self.wanted.values()) | self.counting:
            file.seek(at)
            head = file.read(9)
            op, size = RECORD.unpack(head)
            if at + 9 + size > self.end:
                raise ValueError(f"a record at byte {at} is longer than the file")
            if op in (3, 4, 5, 6):
                self.allowance.take("record", size)
                body = file.read(size)
                self._scan(self._chunk(body) if op == 6 else head + body)
            at += 9 + size
            if op == 15:  # the end of the data
                break

    def _chunk(self, body: bytes) -> Any:
        _, _, size, crc, length = struct.unpack_from("<QQQII", body)
        kind = body[32 : 32 + length].decode()
        (held,) = struct.unpack_from("<Q", body, 32 + length)
        data = memoryview(body)[40 + length : 40 + length + held]
        raw = _unpacked(kind, data, size, self.allowance)
        if crc and zlib.crc32(raw) != crc:
            raise ValueError("the checksum of a chunk is wrong")
        return raw

    def _scan(self, data: Any) -> bool:
        """Take what a stretch of records holds; whether it counts the messages."""
        at, end, view, counted = 0, len(data), memoryview(data), False
        record, message, wanted = RECORD.unpack_from, MESSAGE.unpack_from, self.wanted
        while at < end:
            op, size = record(data, at)
            at += 9
            if at + size > end:
                raise ValueError("a record is longer than its chunk")
            if op == 5:
                key, _, logged, _ = message(data, at)
                if key in wanted:
                    wanted[key].add(logged, view[at + 22 : at + size])
                elif self.counting:
                    self.counts[key] += 1
            elif op in (3, 4):
                self._declared(op, bytes(view[at : at + size]))
            elif op == 11:
                pairs = bytes(view[at + 46 : at + size])
                self.counts.update(dict(struct.iter_unpack("<HQ", pairs)))
                counted = True
            at += size
        self.allowance.take("messages", sum(len(x.data) for x in wanted.values()))
        return counted

    def _declared(self, op: int, body: bytes) -> None:
        """A schema (3) or a channel (4)."""
        (key,) = struct.unpack_from("<H", body)
        if op == 3:
            name, code, text = _texts(body, 2, 3)
            self.schemas.setdefault(key, (name, code, text))
            return
        (schema,) = struct.unpack_from("<H", body, 2)
        topic, encoding = _texts(body, 4, 2)
        kind, form, text = self.schemas.get(schema, ("", "", ""))
        self.channels.setdefault(key, Channel(topic, kind, encoding, form, text))


def _texts(body: bytes, at: int, count: int) -> list[str]:
    found = []
    for _ in range(count):
        (size,) = struct.unpack_from("<I", body, at)
        if at + 4 + size > len(body):
            raise ValueError("a text is longer than its record")
        found.append(body[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return found


class Bag:
    """A .bag file of ROS 1, version 2.0."""

    def __init__(self, path: Path, allowance: Allowance):
        self.path, self.allowance = path, allowance
        self.channels: dict[int, Channel] = {}
        self.counts: Counter[int] = Counter()
        with self._opened() as file:
            for op, head, size in self._records(file):
                if op == 3 and not _whole(head, "index_pos"):
                    raise ValueError("it was not closed")
                if op == 7:
                    self.allowance.take("record", size)
                    self._connection(head, file.read(size))
                elif op == 6:
                    self.allowance.take("record", size)
                    for key, count in struct.iter_unpack("<II", file.read(size)):
                        self.counts[key] += count

    def read(self, wanted: Mapping[int, Collected]) -> None:
        """Collect the messages of these connections."""
        with self._opened() as file:
            for op, head, size in self._records(file):
                if not any(x.left for x in wanted.values()):
                    return
                if op == 5:
                    self.allowance.take("record", size)
                    kind, held = head["compression"].decode(), _whole(head, "size")
                    data = _unpacked(kind, file.read(size), held, self.allowance)
                    self._scan(data, wanted)
                    self.allowance.take("messages", sum(len(x.data) for x in wanted.values()))

    def _opened(self) -> Any:
        return _opened(self.path, "a bag of ROS 1", "`rosbag reindex` mends one that was cut short")

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, dict[str, bytes], int]]:
        """(kind, header, bytes that follow) of every record, the file placed behind the header."""
        at, end = len(ROSBAG), self.path.stat().st_size
        if file.read(at) != ROSBAG:
            raise ValueError("it does not begin as bags of version 2.0 do")
        while at < end:
            file.seek(at)
            (length,) = LENGTH.unpack(file.read(4))
            if at + 8 + length > end:
                raise ValueError(f"a record at byte {at} is longer than the file")
            head = _fields(file.read(length))
            (size,) = LENGTH.unpack(file.read(4))
            at += 8 + length + size
            if at > end:
                raise ValueError("a record is longer than the file")
            yield head["op"][0], head, size

    def _connection(self, head: dict[str, bytes], data: bytes) -> None:
        said = _fields(data)
        topic, kind, text = (x.decode() for x in (head["topic"], said["type"], said[DEFINITION]))
        channel = Channel(topic, kind, "ros1", "ros1msg", text)
        self.channels.setdefault(_whole(head, "conn"), channel)

    def _scan(self, data: Any, wanted: Mapping[int, Collected]) -> None:
        at, end, view, length = 0, len(data), memoryview(data), LENGTH.unpack_from
        known: dict[bytes, int] = {}  # connections by headers that end in their time
        while at < end:
            begin = at + 4 + length(data, at)[0]
            stop = begin + 4 + length(data, begin)[0]
            if stop > end:
                raise ValueError("a message is longer than its chunk")
            key, time = known.get(data[at + 4 : begin - 8]), begin - 8
            if key is None:
                head = _fields(data[at + 4 : begin])
                key = _whole(head, "conn") if head["op"] == b"\2" else -1
                if key >= 0 and len(head["time"]) != 8:
                    raise ValueError("a message has no time")
                if [*head][-1] == "time":
                    known[data[at + 4 : begin - 8]] = key
                elif key >= 0:
                    time = at + 4 + data[at + 4 : begin].index(b"time=") + 5
            if key in wanted:
                seconds, rest = STAMP.unpack_from(data, time)
                wanted[key].add(seconds * 10**9 + rest, view[begin + 4 : stop])
            at = stop


def _fields(head: bytes) -> dict[str, bytes]:
    """name=value, each with its length before it."""
    found, at = {}, 0
    while at < len(head):
        (size,) = LENGTH.unpack_from(head, at)
        name, equals, value = head[at + 4 : at + 4 + size].partition(b"=")
        if not equals or at + 4 + size > len(head):
            raise ValueError("a header is damaged")
        found[name.decode()] = value
        at += 4 + size
    return found


def _whole(head: Mapping[str, bytes], name: str) -> int:
    return int.from_bytes(head[name], "little")


class Db3:
    """A .db3 file of ROS 2: tables topics and messages of SQLite, opened to be read alone."""

    def __init__(self, path: Path, allowance: Allowance):
        self.path, self.allowance = path, allowance
        self.channels: dict[int, Channel] = {}
        if path.with_name(f"{path.name}-wal").exists():
            what = f"{path.name} was not closed: {path.name}-wal lies beside it"
            raise FileError(what, f"sqlite3 {path.name} 'PRAGMA wal_checkpoint(TRUNCATE)'")
        with self._opened() as base:
            self._check(base)
            texts = self._definitions(base)
            for key, topic, kind, code in base.execute(TOPICS):
                if not isinstance(key, int) or not all(isinstance(x, str) for x in (topic, kind)):
                    raise ValueError("its topics have no names")
                self.channels[key] = Channel(topic, kind, str(code), *texts.get(kind, ("", "")))
            self.counts = Counter(dict(base.execute(COUNTS)))

    def read(self, wanted: Mapping[int, Collected]) -> None:
        """Collect the messages of these topics."""
        with self._opened() as base:
            for key, found in wanted.items():
                self._read(base, key, found)

    def _read(self, base: sqlite3.Connection, key: int, found: Collected) -> None:
        rows = base.execute(PAYLOADS, (key, min(found.left, 2**62)))
        while part := rows.fetchmany(1000):
            for logged, payload in part:
                if not isinstance(payload, bytes) or not isinstance(logged, int):
                    raise ValueError("a message is no bytes with a time")
                found.add(logged, payload)
            self.allowance.take("messages", len(found.data))

    def _opened(self) -> Any:
        return _opened(self.path, "a bag of SQLite", "`ros2 bag reindex` mends some", self._connect)

    def _connect(self) -> Any:
        with self.path.open("rb") as file:
            head = file.read(100)
        if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
            raise ValueError("it does not begin as SQLite does")
        page = int.from_bytes(head[16:18], "big")
        if self.path.stat().st_size % (65536 if page == 1 else max(page, 512)):
            raise ValueError("it was cut short")
        where = self.path.resolve().as_uri().replace("?", "%3f")
        base = sqlite3.connect(f"{where}?mode=ro&immutable=1", uri=True)
        # rows come from the file's bytes alone: a table that is damaged so that it has no end stops
        left = [1000 + self.path.stat().st_size // 100]

        def spent() -> bool:
            left[0] -= 1
            return left[0] < 0

        base.set_progress_handler(spent, 1000)
        largest = int(min(max(self.allowance.limit, MOST_TEXT), 2**30))
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, largest)
        base.execute("PRAGMA trusted_schema = OFF")
        return closing(base)

    def _check(self, base: sqlite3.Connection) -> None:
        """Plain tables: views and computed columns could run for ever."""
        for name, columns in TABLES.items():
            found = base.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (name,))
            rows = found.fetchall()
            if not rows or rows[0][0] != "table" or VIRTUAL.match(str(rows[0][1])):
                raise ValueError(f"it has no table {name!r}")
            held = base.execute(f"PRAGMA table_xinfo({name})").fetchall()
            if not columns <= {x[1] for x in held if x[6] == 0} or any(x[6] for x in held):
                raise ValueError(f"its table {name!r} is not that of a bag")

    def _definitions(self, base: sqlite3.Connection) -> dict[str, tuple[str, str]]:
        """(format, text) by type; only newer bags have them."""
        found = base.execute("SELECT type FROM sqlite_master WHERE name = 'message_definitions'")
        if found.fetchall() != [("table",)]:
            return {}
        return {str(kind): (str(form), str(text)) for kind, form, text in base.execute(TEXTS)}


@contextmanager
def _opened(
    path: Path, what: str, hint: str, how: Callable[[], Any] | None = None
) -> Iterator[Any]:
    """A file open for reading, whose damages are errors that name it."""
    damaged = reading(f"{path.name} cannot be read as {what}", hint)
    with damaged, path.open("rb") if how is None else how() as file:
        yield file


MAGIC = b"\x89MCAP0\r\n"
FOOTER = struct.Struct("<BQQQI")
RECORD = struct.Struct("<BQ")
MESSAGE = struct.Struct("<HIQQ")
ROSBAG = b"#ROSBAG V2.0\n"
DEFINITION = "message_definition"
LENGTH = struct.Struct("<I")
STAMP = struct.Struct("<II")
UNPACKERS: Mapping[str, Callable[[], Any]] = {
    "zstd": _zstd,
    "lz4": _lz4,
    "bz2": bz2.BZ2Decompressor,
}
MOST_TEXT = 1 << 20  # characters of a metadata.yaml or of a definition
LISTED = re.compile(r"^\s*- *['\"]?([^'\"\n]+\.(?:db3|mcap)(?:\.zstd)?)['\"]?\s*$", re.MULTILINE)
NUMBERED = re.compile(r"(?P<name>.*)_(?P<place>[0-9]{1,9})(?P<end>\.\w+)")
TABLES = {
    "topics": {"id", "name", "type", "serialization_format"},
    "messages": {"topic_id", "timestamp", "data"},
}
VIRTUAL = re.compile(r"\s*create\s+virtual", re.IGNORECASE)
TOPICS = "SELECT id, name, type, serialization_format FROM topics"
COUNTS = "SELECT topic_id, count(*) FROM messages GROUP BY topic_id"
PAYLOADS = "SELECT timestamp, data FROM messages WHERE topic_id = ? LIMIT ?"
TEXTS = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
FILES: Mapping[str, Callable[[Path, Allowance], Any]] = {".mcap": Mcap, ".db3": Db3, ".bag": Bag}
