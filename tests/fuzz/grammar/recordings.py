"""Changes of Parquet and of recordings: written anew from changed columns and messages."""

import io
import json
import re
import sqlite3
import struct
from random import Random

from .plain import BYTES, DEPTHS, TEXT, WORDS, flip, text_change


def table(data: bytes, rng: Random) -> bytes:
    """Columns of other types, with nulls, lists, other names and codecs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        given = pq.read_table(io.BytesIO(data), use_threads=False)
    except Exception:
        return flip(data, rng)
    names = list(given.column_names)
    columns = [x.to_pylist() for x in given.columns]
    for _ in range(rng.choice((1, 1, 2)) if columns else 0):
        k = rng.randrange(len(columns))
        columns[k] = _odd_column(columns[k], rng)
        if rng.random() < 0.2:
            names[k] = rng.choice((*WORDS, "q1", "t")).encode("utf-8", "replace").decode()
    try:
        arrays = [pa.array(x) for x in columns]
        new = pa.Table.from_arrays(arrays, names=names)
        out = io.BytesIO()
        codec = rng.choice(("none", "snappy", "gzip", "zstd", "brotli", "lz4"))
        pq.write_table(new, out, compression=codec, row_group_size=rng.choice((5, 100_000)))
    except Exception:  # a mixture that Arrow itself cannot hold
        return flip(data, rng)
    return out.getvalue()


def _odd_column(values: list, rng: Random) -> list:
    rows = range(len(values))
    return rng.choice(
        (
            lambda: [None if rng.random() < 0.2 else x for x in values],
            lambda: [rng.choice((1e308, -1e308, float("nan"), float("inf"), 5e-324)) for _ in rows],
            lambda: [[x] * rng.choice((1, 1, 1, 2)) for x in values],
            lambda: [[x, x] for x in values],
            lambda: [[[x]] for x in values],
            lambda: [None for _ in rows],
            lambda: [str(x) for x in values],
            lambda: [bool(x) for x in values],
            lambda: [2**63 - 1 - k for k in rows],
            lambda: [k * 10**7 for k in rows],
            lambda: [{"a": x} for x in values],
            lambda: [rng.choice(WORDS).encode("utf-8", "replace") for _ in rows],
            lambda: list(reversed(values)),
            lambda: [values[0] for _ in rows],
        )
    )()


def message(data: bytes, rng: Random) -> bytes:
    """Messages whose payload is changed, under other topics, encodings, stamps and definitions."""
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, Writer

    try:
        given = [*make_reader(io.BytesIO(data)).iter_messages()]
        found = [(c.topic, m.log_time, m.data) for _, c, m in given]
    except Exception:
        return flip(data, rng)
    code = given[0][1].message_encoding if given else "json"
    for _ in range(rng.choice((1, 1, 3)) if found else 0):
        k = rng.randrange(len(found))
        topic, stamp, inner = found[k]
        change = rng.choice((*TEXT, *map(text_change, (jsonish, jsonish, jsonish))))
        new = change(inner, rng) if code == "json" else binary(inner, rng)
        found[k] = rng.choice((topic, topic, topic, "/other")), stamp, new
        if rng.random() < 0.3:
            stamp = rng.choice((0, 1, 2**63 - 1, 2**63, 2**64 - 1, min(stamp + 10**9, 2**64 - 1)))
            found[k] = topic, stamp, found[k][2]
    found *= rng.choice((1, 1, 1, 5))
    out = io.BytesIO()
    kinds = CompressionType.NONE, CompressionType.ZSTD, CompressionType.LZ4
    writer = Writer(out, compression=rng.choice(kinds), enable_crcs=rng.random() < 0.5)
    writer.start()
    code = rng.choice((code, code, code, code, "cdr", "json", "ros1", ""))
    schemas = {c.topic: x for x, c, _ in given if x is not None}
    channels = {}
    for topic, stamp, inner in found:
        if topic not in channels:
            known = next(iter(schemas.values()), None)
            schema = schemas.get(topic, known)
            number = 0
            if schema is not None:
                text = definition(schema.data.decode("utf-8", "replace"), rng)
                number = writer.register_schema(schema.name, schema.encoding, text.encode())
            channels[topic] = writer.register_channel(topic, code, number)
        writer.add_message(channels[topic], stamp, inner, stamp)
    writer.finish()
    return out.getvalue()


def binary(data: bytes, rng: Random) -> bytes:
    """A payload with bytes changed, or one of its lengths."""
    if rng.random() < 0.5 or len(data) < 8:
        return rng.choice(BYTES)(data, rng)
    at = 4 * rng.randrange(len(data) // 4)
    size = rng.choice((0, 1, 2, 3, 7, 8, 255, 2**16, 2**31 - 1, 2**32 - 1))
    return data[:at] + size.to_bytes(4, "little") + data[at + 4 :]


def definition(text: str, rng: Random) -> str:
    """A definition of a message, mostly as it is."""
    if rng.random() < 0.6:
        return text
    lines = text.splitlines()
    odd = (
        *("float64[1000000000] x", "std_msgs/Header[] x", "string[<=3] y", "float32 position"),
        *("own/A a", "wstring w", "bool b", "time t", "uint8[3] c 1", "int8 K=3", "MSG: a/B"),
        *(f"float64 {rng.choice(WORDS)}", f"{rng.choice(WORDS)} x", "=" * 80, "float64[] effort"),
    )
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(odd))
    if rng.random() < 0.3:
        del lines[rng.randrange(len(lines))]
    return "\n".join(lines).encode("utf-8", "replace").decode()


def database(data: bytes, rng: Random) -> bytes:
    """Rows of a bag of SQLite changed: payloads, times, names, types, definitions, tables."""
    base = sqlite3.connect(":memory:")
    try:
        base.deserialize(data)
        rows = base.execute("SELECT id, data, timestamp FROM messages").fetchall()
        texts = base.execute("SELECT id, encoded_message_definition FROM message_definitions")
        texts = texts.fetchall()
        for _ in range(rng.choice((1, 1, 3))):
            _row_changed(base, rows, texts, rng)
        base.commit()
        return base.serialize()
    except Exception:  # not a database any more
        return flip(data, rng)
    finally:
        base.close()


def _row_changed(base: sqlite3.Connection, rows: list, texts: list, rng: Random) -> None:
    key, payload, stamp = rng.choice(rows)
    word = rng.choice(WORDS).encode("utf-8", "replace").decode()
    odd = rng.choice((0, -1, 2**63 - 1, stamp + 10**9, 0.5, "now", None))
    number, text = rng.choice(texts)
    program = rng.choice(
        (
            *(("UPDATE messages SET data = ? WHERE id = ?", (binary(payload, rng), key)),) * 6,
            ("UPDATE OR IGNORE messages SET timestamp = ? WHERE id = ?", (odd, key)),
            ("UPDATE OR IGNORE messages SET data = ? WHERE id = ?", (odd, key)),
            ("UPDATE messages SET topic_id = 1 + topic_id WHERE id = ?", (key,)),
            ("UPDATE topics SET name = ?", (word,)),
            ("UPDATE topics SET type = ?", (word,)),
            ("UPDATE topics SET serialization_format = ?", (rng.choice(("json", "ros1", word)),)),
            (
                "UPDATE message_definitions SET encoded_message_definition = ? WHERE id = ?",
                (definition(text, rng), number),
            ),
            (f"DROP TABLE {rng.choice(('messages', 'topics', 'message_definitions'))}", ()),
            ("ALTER TABLE messages RENAME TO other", ()),
        )
    )
    base.execute(*program)


def rosbag(data: bytes, rng: Random) -> bytes:
    """A record of a bag of ROS 1 changed, in its header, in its data, or inside of its chunk."""
    start = data.find(b"\n") + 1
    try:
        records = _records(data[start:])
        k = rng.randrange(len(records))
        head, body = records[k]
        if b"compression=none" in head and rng.random() < 0.8:
            inner = _records(body)
            j = rng.randrange(len(inner))
            fields, payload = inner[j]
            if b"message_definition=" in payload and rng.random() < 0.8:
                before, mark, text = payload.partition(b"message_definition=")
                text = definition(text.decode("utf-8", "replace"), rng).encode()
                payload = before[:-4] + struct.pack("<I", len(mark) + len(text)) + mark + text
            elif rng.random() < 0.8:
                payload = binary(payload, rng)
            else:
                fields = binary(fields, rng)
            inner[j] = fields, payload
            body = b"".join(map(_record, inner))
            place = head.index(b"size=") + 5
            head = head[:place] + struct.pack("<I", len(body)) + head[place + 4 :]
        elif rng.random() < 0.5:
            head = binary(head, rng)
        else:
            body = binary(body, rng)
        records[k] = head, body
        return data[:start] + b"".join(map(_record, records))
    except Exception:  # not a bag any more
        return flip(data, rng)


def _record(parts: tuple[bytes, bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(x)) + x for x in parts)


def _records(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(data):
        parts = []
        for _ in range(2):
            (size,) = struct.unpack_from("<I", data, at)
            parts.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        found.append((parts[0], parts[1]))
    return found


def jsonish(text: str, rng: Random) -> str:
    """A value of JSON becomes one of another kind."""
    found = list(re.finditer(r"\[[^\[\]]*\]|-?\d[\d.e-]*|\"[^\"]*\"", text))
    if not found:
        return text
    match = rng.choice(found)
    depth = rng.choice(DEPTHS)
    new = rng.choice(
        (
            *(
                "null",
                "true",
                "[]",
                "{}",
                '""',
                "NaN",
                "-Infinity",
                "1e999",
                "1" + "0" * 500,
                "[[]]",
            ),
            *(
                "[" * depth + "]" * depth,
                f"[{match[0]}, {match[0]}]",
                json.dumps(rng.choice(WORDS)),
            ),
            *('{"sec": 1e300}', '{"sec": 99999999999, "nanosec": -1}', '"\\ud800"', "[null, 1]"),
        )
    )
    return text[: match.start()] + new + text[match.end() :]
