"""Joint states in an MCAP recording whose messages are JSON.

A message is {"name": [...], "position": [...], "velocity": [...], "effort": [...]}, as ROS's
sensor_msgs/JointState, stamped by its header or else by the recorder.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError, OptionError, did_you_mean
from ..lazy import package
from ..model.check.finding import Finding
from .table import Allowance, Table, reading

FIELDS = ("position", "velocity", "effort")
DEFAULTS = {"q": "position", "qd": "velocity", "tau": "effort"}
ALIKE = "one topic of JSON messages like sensor_msgs/JointState: name, position, velocity, effort"


class State(NamedTuple):
    """One message: stamps in nanoseconds, None where the header has none."""

    logged: int
    stamped: int | None
    names: tuple[str, ...]
    values: dict[str, list[float]]


def read_mcap(
    path: Path, topic: str | None, wanted: Sequence[str] | None, allowance: Allowance
) -> Table:
    """The joint states of one topic; `wanted` joints choose among messages of several arms."""
    reader = package("mcap.reader", "mcap", "reading .mcap", "logs")
    mend = "`mcap recover` mends recordings that were cut short"
    with reading(f"{path.name} cannot be read as MCAP", mend), path.open("rb") as file:
        made = reader.make_reader(file, validate_crcs=True)
        states = _states(made, path.name, topic, allowance)
    return _table(_chosen(states, wanted, path.name), path.name)


def _states(reader: Any, where: str, topic: str | None, allowance: Allowance) -> list[State]:
    summary = reader.get_summary()
    if summary is not None:
        allowance.take("chunks", sum(x.uncompressed_size for x in summary.chunk_indexes))
    channels = [] if summary is None else list(summary.channels.values())
    if not channels:  # a recording without index: look at every message
        channels = [channel for _, channel, _ in reader.iter_messages()]
    found = _topic(channels, where, topic)
    states, size = [], 0
    for _, _, message in reader.iter_messages(topics=[found]):
        size += len(message.data)
        allowance.take("chunks", size)
        states.append(_state(message, f"{where}, {found} message {len(states)}"))
    if not states:
        raise FileError(f"{where}: topic {found!r} has no messages", f"expected {ALIKE}")
    return states


def _topic(channels: list[Any], where: str, topic: str | None) -> str:
    """The topic to read: the one asked for, or the only one that is JSON."""
    encodings = {x.topic: x.message_encoding for x in channels}
    listed = ", ".join(f"{name} ({code or 'unnamed'})" for name, code in encodings.items())
    readable = [name for name, code in encodings.items() if code == "json"]
    if topic is not None and topic not in encodings:
        raise OptionError(f"{where} has no topic {topic!r}", did_you_mean(topic, encodings))
    if not readable or (topic is not None and topic not in readable):
        raise FileError(
            f"{where} holds {listed or 'no topics'}, expected {ALIKE}",
            "CDR, protobuf and other binary messages are not decoded: export the topic as JSON, "
            "CSV or Parquet, or give read_log a mapping of arrays",
        )
    likely = readable if topic is None else [topic]
    if len(likely) > 1:
        likely = [name for name in likely if "joint" in name.lower()] or likely
    if len(likely) > 1:
        raise OptionError(f"{where} has several JSON topics: {', '.join(likely)}", "give topic=")
    return likely[0]


def _state(message: Any, where: str) -> State:
    try:
        said = json.loads(message.data)
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
    return State(message.log_time, _stamp(said.get("header")), tuple(map(str, names)), values)


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


def _chosen(states: list[State], wanted: Sequence[str] | None, where: str) -> list[State]:
    """The messages that carry the joints asked for, or all if they carry the same."""
    groups = Counter(frozenset(x.names) for x in states)
    if len(groups) == 1:
        return states
    if wanted is None:
        listed = "; ".join(f"{', '.join(sorted(g))} ({k} times)" for g, k in groups.items())
        what = f"{where}: messages carry different joints: {listed[:400]}"
        raise OptionError(what, "give joints= or robot=")
    found = [x for x in states if {*wanted} <= {*x.names}]
    if not found:
        known = sorted({name for x in states for name in x.names})
        what = f"{where}: no message carries all of {', '.join(wanted)}"
        raise OptionError(what, f"known: {', '.join(known)}")
    shared = [name for name in found[0].names if all(name in x.names for x in found)]
    return [_reordered(x, shared) for x in found]


def _reordered(state: State, names: Sequence[str]) -> State:
    place = [state.names.index(name) for name in names]
    values = {key: [x[k] for k in place] for key, x in state.values.items()}
    return state._replace(names=tuple(names), values=values)


def _table(states: list[State], where: str) -> Table:
    names = states[0].names
    states = [x if x.names == names else _reordered(x, names) for x in states]
    arrays = {key: np.array([x.values[key] for x in states]) for key in FIELDS}
    arrays = {key: x for key, x in arrays.items() if not np.isnan(x).all()}
    given = [x.stamped for x in states if x.stamped is not None]
    stamps = given if len(given) == len(states) else [x.logged for x in states]
    late = next((x for x in stamps if x >= 2**63), None)
    if late is not None:
        expected = "a time before the year 2262"
        raise FileError(f"{where}: a message is stamped {late} ns, expected {expected}")
    arrays["t"] = np.array(stamps, dtype="datetime64[ns]")
    what = "messages without header stamp: the times are those of the recorder"
    remedy = "stamp where it is measured, if the delay of the transport varies"
    findings = () if stamps is given else (Finding("note", where, what, remedy),)
    return Table(where, tuple(arrays), arrays.__getitem__, names, DEFAULTS, findings)
