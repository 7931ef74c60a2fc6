"""Joint states of a recording as a table: which topic, which joints, efforts of another topic.

Messages are like ROS's sensor_msgs/JointState (name, position, velocity, effort), in binary or as
JSON, stamped by their header or else by the recorder. Of any other topic of binary messages the
fields are columns.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arguments import duplicate, one_of
from ..errors import DynamisError, FileError, OptionError, counted
from ..model.check.finding import Finding
from .log import LONG_GAP, interpolated
from .messages import Decoder, Group, column, is_list
from .names import by_suffix
from .recordings import Channel, Messages, Recording
from .table import Allowance, Table, distinct, reading

FIELDS = ("position", "velocity", "effort")
DEFAULTS = {"q": "position", "qd": "velocity", "tau": "effort"}
ALIKE = "one topic of messages like sensor_msgs/JointState: name, position, velocity, effort"
STAMPS = ("header.stamp", "stamp")
NAMES = ("name", "joint_names")
LATEST = 2**63  # ns: the year 2262
COMMANDS = re.compile(r"command|cmd|desired|target|reference|set_?point", re.IGNORECASE)


def read_recording(
    path: Path,
    topic: str | Sequence[str] | None,
    wanted: Sequence[str] | None,
    allowance: Allowance,
) -> Table:
    """A topic, with efforts of a second one; `wanted` joints choose among messages of several."""
    asked = () if topic is None else (topic,) if isinstance(topic, str) else tuple(topic)
    with reading(f"{path.name} cannot be read"):
        topics = Topics(Recording(path, allowance), path.name)
        first, second = _chosen(topics, asked, wanted)
        found = topics.recording.messages([x for x in (first, second) if x is not None])
        main = topics.signals(first, found[first])
        if isinstance(main, Columns):
            return _columns_table(main, second)
        table, rows = _states_table(main, wanted)
        if "effort" in table.names and second not in asked:
            second = None  # the first message had none, but later ones do
        if second is not None:
            table = _merged(table, main, rows, topics.signals(second, found[second]))
        used = [x for x in (first, second) if x is not None and x not in asked]
        return replace(table, findings=(*table.findings, *_commands(used, table)))


class Joints(NamedTuple):
    """Messages that carry the same joints: their places in the topic, and values (N, n)."""

    rows: np.ndarray
    names: tuple[str, ...]
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class States:
    """Joint states of a topic, in the order in which their joints appear; instants in ns."""

    where: str
    topic: str
    logged: np.ndarray
    stamped: np.ndarray | None
    sets: list[Joints]


@dataclass(frozen=True)
class Columns:
    """Fields of other messages, as columns."""

    where: str
    topic: str
    logged: np.ndarray
    stamped: np.ndarray | None
    groups: list[Group]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the fields that are numbers."""
        return tuple(self.groups[0].layout.numbers)

    def read(self, name: str) -> np.ndarray:
        """(N,), or (N, k) of a list."""
        return column(self.groups, name, f"{self.where}, {self.topic}")

    def lists(self, size: int) -> list[str]:
        """The fields that hold so many numbers."""
        first = self.groups[0]
        found = [x for x in self.names if x in first.layout.lists]
        return [x for x in found if first.numbers(x).shape[1] == size]


# which topics


class Topics:
    """The topics of a recording, how they are decoded, and what their first messages hold."""

    def __init__(self, recording: Recording, where: str):
        self.recording, self.where = recording, where
        self.channels: dict[str, Channel] = {}
        self.decoders: dict[str, Decoder] = {}
        self.refused: dict[str, str] = {}
        self.first: dict[str, States | Columns] = {}
        for name, channels in recording.channels.items():
            self.channels[name] = min(channels)
            # publishers write the blanks of one definition differently
            if len({(*x[1:4], " ".join(x.definition.split())) for x in channels}) > 1:
                self.refused[name] = f"{name} has messages of several types"
            elif self.channels[name].encoding in ("cdr", "ros1"):
                try:
                    self.decoders[name] = Decoder(self.channels[name], where)
                except FileError as error:
                    self.refused[name] = str(error)

    def readable(self, name: str) -> bool:
        """Whether messages of a topic can be decoded."""
        fine = name not in self.refused
        return fine and (name in self.decoders or self.channels[name].encoding == "json")

    def look(self, names: Sequence[str]) -> None:
        """Decode the first message of each of these topics."""
        new = [x for x in names if x in self.decoders and x not in self.first]
        new = [x for x in new if self.recording.counts[x]]  # else all of the file is searched
        found = self.recording.messages(new, most=1) if new else {}
        for name, messages in found.items():
            with suppress(DynamisError):
                self.first[name] = self.signals(name, messages)

    def signals(self, name: str, messages: Messages) -> States | Columns:
        """All messages of a topic, decoded."""
        if not len(messages):
            raise FileError(f"{self.where}: topic {name!r} has no messages", f"expected {ALIKE}")
        if name not in self.decoders:
            return _json(messages, self.where, name)
        groups = self.decoders[name].groups(messages)
        stamped = _stamped(groups, f"{self.where}, {name}")
        if _is_state(self.decoders[name]):
            sets = sorted(_sets(groups, f"{self.where}, {name}"), key=lambda x: x.rows[0])
            return States(self.where, name, messages.logged, stamped, sets)
        return Columns(self.where, name, messages.logged, stamped, groups)

    def joints(self, name: str) -> tuple[str, ...]:
        """Those that the first message of a topic names."""
        first = self.first.get(name)
        return first.sets[0].names if isinstance(first, States) else ()

    def has(self, name: str, field: str) -> bool:
        """Whether the first joint state of a topic holds a field; True where it is not decoded."""
        first = self.first.get(name)
        if not isinstance(first, States):
            return first is None
        return not np.isnan(first.sets[0].values[field]).all()

    def listed(self, names: Sequence[str]) -> str:
        """Topics with type, number of messages and joints, for a message."""
        self.look(names)
        said = []
        for name in names[:30]:
            what = f"{self.channels[name].type}, {counted(self.recording.counts[name], 'message')}"
            joints = ", ".join(self.joints(name)[:12])
            said.append(f"{name} ({what}{', joints ' if joints else ''}{joints})")
        return "; ".join(said)


def _chosen(
    topics: Topics, asked: Sequence[str], wanted: Sequence[str] | None
) -> tuple[str, str | None]:
    """The topic to read, and the one of its efforts if they are elsewhere."""
    states = [x for x, decoder in topics.decoders.items() if _is_state(decoder)]
    states = [x for x in states if topics.recording.counts[x]]
    if asked:
        for name in asked:
            one_of(name, topics.channels, f"{topics.where} has no topic {name!r}")
            if not topics.readable(name):
                raise _unreadable(topics, name)
        if len(asked) == 2:
            return asked[0], asked[1]
        return asked[0], _efforts(topics, asked[0], states)
    if not states:
        return _only_json(topics), None
    topics.look(states)
    placed = [x for x in states if topics.has(x, "position")] or states
    if len(placed) > 1 and wanted is not None:
        placed = [x for x in placed if {*wanted} <= {*topics.joints(x)}] or placed
    if len(placed) > 1:
        what = f"{topics.where} has several topics of joint states: {topics.listed(placed)}"
        raise OptionError(what, "give topic= with one of these names")
    return placed[0], _efforts(topics, placed[0], states)


def _only_json(topics: Topics) -> str:
    """The topic of JSON messages, where there are no binary joint states."""
    found = [x for x in topics.channels if topics.readable(x) and x not in topics.decoders]
    if not found:
        raise _unreadable(topics)
    if len(found) > 1:
        found = [x for x in found if "joint" in x.lower()] or found
    if len(found) > 1:
        what = f"{topics.where} has several JSON topics: {', '.join(found)}"
        raise OptionError(what, "give topic=")
    return found[0]


def _unreadable(topics: Topics, name: str | None = None) -> FileError:
    shown = ", ".join(
        f"{x} ({channel.encoding or 'unnamed'}){f' of {channel.type}' if channel.type else ''}"
        for x, channel in [*topics.channels.items()][:30]
    )
    refused = topics.refused.get(name or "", next(iter(topics.refused.values()), ""))
    if refused and (name is not None or not topics.decoders):
        shown += f" ({refused.partition(chr(10))[0]})"
    hint = "topic= and columns= read numbers of another topic; " if topics.decoders else ""
    return FileError(
        f"{topics.where} holds {shown or 'no topics'}, expected {ALIKE}",
        f"{hint}what is not decoded, such as protobuf: export the topic as JSON, CSV or Parquet, "
        "or give read_log a mapping of arrays",
    )


def _efforts(topics: Topics, main: str, states: Sequence[str]) -> str | None:
    """The topic that holds the efforts of joint states without any."""
    if main not in states:
        return None
    topics.look([main])
    if topics.has(main, "effort"):
        return None
    joints = topics.joints(main)
    named = [x for x in topics.decoders if any(word in x.lower() for word in ("effort", "torque"))]
    topics.look([*states, *named])
    found = [x for x in topics.first if x != main and _gives_effort(topics, x, joints)]
    if len(found) > 1:
        what = f"{topics.where}: efforts of {main} may be in {topics.listed(found)}"
        raise OptionError(what, f"give topic=({main!r}, {found[0]!r}), or another of these")
    return found[0] if found else None


def _gives_effort(topics: Topics, name: str, joints: Sequence[str]) -> bool:
    """Whether a topic holds efforts of these joints, and no positions."""
    first = topics.first[name]
    if isinstance(first, Columns):
        return len(first.lists(len(joints))) == 1
    bare = topics.has(name, "effort") and not topics.has(name, "position")
    return bare and {*joints} <= {*topics.joints(name)}


# messages


def _is_state(decoder: Decoder) -> bool:
    """Whether a type has the fields of sensor_msgs/JointState."""
    fields = {x.name: x for x in decoder.fields(decoder.root)}
    if not all(name in fields for name in ("name", *FIELDS)):
        return False
    return is_list(fields["name"], "string") and all(is_list(fields[x]) for x in FIELDS)


def _stamped(groups: list[Group], where: str) -> np.ndarray | None:
    """Instants of the headers, unless there is none in some."""
    first = groups[0].layout
    for path in STAMPS:
        if f"{path}.sec" in first.numbers and f"{path}.sec" not in first.lists:
            seconds, rest = (
                column(groups, f"{path}.{x}", where).astype(np.int64) for x in ("sec", "nanosec")
            )
            stamps = seconds * 10**9 + rest % 10**9
            return stamps if stamps.all() else None
    return None


def _sets(groups: list[Group], where: str) -> Iterator[Joints]:
    """Joint states by the joints that they carry."""
    for group in groups:
        values = {x: group.numbers(x) for x in FIELDS}
        for which, said in group.texts("name"):
            size = len(said) or max(x.shape[1] for x in values.values())
            message = f"{where} message {group.rows[which[0]]}"
            names = said or tuple(str(i + 1) for i in range(size))
            if len({*names}) != size or not size:
                raise FileError(f"{message}: 'name' names {_repeated(names)}")
            wrong = next((x for x, y in values.items() if y.shape[1] not in (0, size)), None)
            if wrong is not None:
                what = (
                    f"{counted(values[wrong].shape[1], 'number')}, 'name' {counted(size, 'joint')}"
                )
                raise FileError(f"{message}: {wrong!r} has {what}")
            empty = np.full((len(which), size), np.nan)
            whole = len(which) == len(group.rows)
            taken = {x: y if whole else y[which] for x, y in values.items()}
            taken = {x: y.astype(np.float64) if y.size else empty for x, y in taken.items()}
            yield Joints(group.rows[which], names, taken)


def _repeated(names: Sequence[str]) -> str:
    twice = duplicate(names)
    return "no joints" if twice is None else f"{twice!r} twice"


def _json(messages: Messages, where: str, topic: str) -> States:
    """Joint states of JSON."""
    view, stamps, alike = memoryview(messages.data), list[int | None](), dict[Any, list]()
    for k, (start, end) in enumerate(zip(messages.starts, messages.ends, strict=True)):
        stamp, names, values = _state(bytes(view[start:end]), f"{where}, {topic} message {k}")
        stamps.append(stamp)
        alike.setdefault(names, []).append((k, values))
    sets = []
    for names, found in alike.items():
        values = {x: np.array([one[x] for _, one in found], dtype=np.float64) for x in FIELDS}
        sets.append(Joints(np.array([k for k, _ in found]), names, values))
    stamped = None if None in stamps else np.array(stamps, dtype=np.int64)
    return States(where, topic, messages.logged, stamped, sets)


def _state(data: bytes, where: str) -> tuple[int | None, tuple[str, ...], dict[str, list[float]]]:
    """Stamp, names and values of one message."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where} is not JSON ({error})", f"expected {ALIKE}") from None
    if not isinstance(said, dict) or not isinstance(said.get("position"), list):
        raise FileError(f"{where} has no list 'position'", f"expected {ALIKE}; or give topic=")
    size = len(said["position"])
    values = {}
    for name in FIELDS:
        given = said.get(name) or []
        if not isinstance(given, list) or len(given) not in (0, size):
            raise FileError(f"{where}: {name!r} is not a list of {size} numbers as 'position' is")
        values[name] = [_number(x, f"{where}: {name!r}") for x in given] or [np.nan] * size
    names = said.get("name") or [str(i + 1) for i in range(size)]
    if not isinstance(names, list) or len(names) != size or len({*map(str, names)}) != size:
        raise FileError(f"{where}: 'name' does not name the {size} joints of 'position'")
    return _stamp(said.get("header")), tuple(map(str, names)), values


def _number(value: Any, where: str) -> float:
    if value is None:
        return np.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FileError(f"{where} holds {str(value)[:40]!r}, expected numbers")
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _stamp(header: Any) -> int | None:
    """Nanoseconds of header.stamp, in ROS 1 or ROS 2 spelling; None if there is none, or zero."""
    stamp = header.get("stamp") if isinstance(header, dict) else None
    if not isinstance(stamp, dict):
        return None
    seconds = stamp.get("sec", stamp.get("secs"))
    rest = stamp.get("nanosec", stamp.get("nsec", stamp.get("nsecs", 0)))
    if not isinstance(seconds, int) or not isinstance(rest, int) or abs(seconds) >= 2**33:
        return None
    return seconds * 10**9 + rest % 10**9 or None


# tables


def _states_table(
    states: States, wanted: Sequence[str] | None, fields: Sequence[str] = FIELDS
) -> tuple[Table, np.ndarray]:
    """The messages that carry the joints asked for, or all if they carry the same; and which."""
    sets = states.sets
    groups: Counter[frozenset[str]] = Counter()
    for one in sets:
        groups[frozenset(one.names)] += len(one.rows)
    if len(groups) > 1:
        sets = _carrying(states, groups, wanted)
    names = tuple(x for x in sets[0].names if all(x in one.names for one in sets))
    rows = np.sort(np.concatenate([x.rows for x in sets]))
    arrays = {}
    for key in fields:
        arrays[key] = out = np.empty((len(rows), len(names)))
        for one in sets:
            place = [one.names.index(x) for x in names]
            out[np.searchsorted(rows, one.rows)] = one.values[key][:, place]
    arrays = {key: x for key, x in arrays.items() if not np.isnan(x).all()}
    arrays["t"], findings = _instants(states, rows)
    read = arrays.__getitem__
    return Table(states.where, tuple(arrays), read, names, DEFAULTS, findings), rows


def _carrying(
    states: States, groups: Mapping[frozenset[str], int], wanted: Sequence[str] | None
) -> list[Joints]:
    """The messages that carry all joints asked for, of those that carry different ones."""
    if wanted is None:
        listed = "; ".join(f"{', '.join(sorted(g))} ({k} times)" for g, k in groups.items())
        what = f"{states.where}: messages carry different joints: {listed[:400]}"
        raise OptionError(what, "give joints= or robot=")
    found = [x for x in states.sets if {*wanted} <= {*x.names}]
    found = found or [x for x in states.sets if by_suffix(wanted, x.names, states.where)]
    if not found:
        known = sorted({name for x in states.sets for name in x.names})
        what = f"{states.where}: no message carries all of {', '.join(wanted)}"
        raise OptionError(what, f"known: {', '.join(known)}")
    return found


def _instants(
    signals: States | Columns, rows: Any = slice(None)
) -> tuple[Any, tuple[Finding, ...]]:
    """Stamps of the headers, or of the recorder with a finding."""
    stamps = signals.logged[rows] if signals.stamped is None else signals.stamped[rows]
    late = stamps.max()
    if late >= LATEST:
        expected = "a time before the year 2262"
        raise FileError(f"{signals.where}: a message is stamped {late} ns, expected {expected}")
    what = "messages without header stamp: the times are those of the recorder"
    remedy = "stamp where it is measured, if the delay of the transport varies"
    finding = Finding("note", signals.where, what, remedy)
    found = () if signals.stamped is not None else (finding,)
    return stamps.astype(np.int64).astype("datetime64[ns]"), found


def _columns_table(signals: Columns, second: str | None) -> Table:
    """A topic of other messages: every field is a column, by its path."""
    if second is not None:
        what = f"topic names {signals.topic} and {second}, but {signals.topic} has no joint states"
        raise OptionError(f"{signals.where}: {what}", "efforts are added to joint states alone")
    instants, findings = _instants(signals)
    clock = "t" if "t" not in signals.names else "stamp of the message"
    names = (clock, *(x for x in signals.names if not x.startswith(tuple(f"{y}." for y in STAMPS))))

    def read(name: str) -> np.ndarray:
        return instants if name == clock else signals.read(name)

    found = distinct(names, signals.where)
    joints = _joint_names(signals)
    return Table(signals.where, found, read, joints, {"t": clock}, findings)


def _commands(topics: Sequence[str], table: Table) -> Iterator[Finding]:
    """Topics that nobody chose and that by their names were not measured."""
    for name in filter(COMMANDS.search, topics):
        what = f"{name} was taken, by its name a topic of commands: nobody measured these"
        remedy = "take a topic of measurements: topic=; naming this one in it says that it is meant"
        yield Finding("warning", table.where, what, remedy, table.joints or ())


def _joint_names(signals: Columns) -> tuple[str, ...] | None:
    """Names of joints, where all messages give the same."""
    for path in NAMES:
        said = {names for group in signals.groups for _, names in group.texts(path)}
        if len(said) == 1 and len({*(names := said.pop())}) == len(names) > 0:
            return names
    return None


def _merged(table: Table, main: States, rows: np.ndarray, other: States | Columns) -> Table:
    """Joint states with the efforts of another topic, interpolated between its stamps."""
    where, joints, order = main.where, table.joints or (), ""
    if isinstance(other, States):
        found, kept = _states_table(other, joints, ("effort",))
        absent = next((x for x in joints if x not in (found.joints or ())), None)
        if absent is not None or "effort" not in found.names:
            what = "has no effort" if absent is None else f"has no joint {absent!r}"
            raise OptionError(f"{where}: {other.topic} {what}, but is to give {main.topic}'s")
        effort = found.array("effort")[:, [(found.joints or ()).index(x) for x in joints]]
    else:
        lists, kept = other.lists(len(joints)), slice(None)
        if len(lists) != 1:
            held = "several lists" if lists else "no list"
            what = f"{other.topic} holds {held} of {len(joints)} numbers, one for each joint"
            raise OptionError(f"{where}: {what} of {main.topic}")
        effort = other.read(lists[0]).astype(np.float64)
        order = f" for {', '.join(joints)}"
    clock, at, t = "header stamps", main.stamped, other.stamped
    if at is None or t is None:
        clock, at, t = "times of the recorder", main.logged, other.logged
    at, t = at[rows].astype(np.int64), t[kept].astype(np.int64)
    effort, finding = _aligned(at, t, effort, f"{other.topic}{order}", clock, main)
    names = (*(x for x in table.names if x != "effort"), "effort")

    def read(name: str) -> np.ndarray:
        return effort if name == "effort" else table.read(name)

    return replace(table, names=names, read=read, findings=(*table.findings, finding))


def _aligned(
    at: np.ndarray, t: np.ndarray, x: np.ndarray, topic: str, clock: str, main: States
) -> tuple[np.ndarray, Finding]:
    """Rows of x, measured at t, at other instants (ns): NaN where there are none around."""
    t, first = np.unique(t, return_index=True)
    if len(t) < 2:
        raise OptionError(
            f"{main.where}: {topic} has {counted(len(t), 'stamp')}, expected at least 2"
        )
    steps = np.diff(t)
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    away = np.minimum(np.abs(at - t[k]), np.abs(at - t[k + 1]))
    inside = (at >= t[0]) & (at <= t[-1])
    inside &= (steps[k] <= LONG_GAP * np.median(steps)) | (away == 0)
    if 2 * inside.sum() < len(at):
        apart = abs(int(at[0]) - int(t[0])) * 1e-9
        raise OptionError(
            f"{main.where}: only {inside.sum()} of {len(at)} {clock} of {main.topic} lie among "
            f"those of {topic}; the first ones are {apart:.6g} s apart",
            "are the two stamped by the same clock? topic= chooses others",
        )
    effort = interpolated((at - t[0]) * 1e-9, (t - t[0]) * 1e-9, x[first])
    effort[~inside] = np.nan
    median, most = np.median(away[inside]) * 1e-6, away[inside].max() * 1e-6
    what = (
        f"effort is that of {topic}, interpolated to the {clock} of {main.topic}: the nearest are "
        f"{median:.4g} ms away in the median, {most:.4g} ms at most"
    )
    level = "note" if most * 1e6 <= np.median(steps) else "warning"
    return effort, Finding(level, main.where, what, "record position and effort in one message")
