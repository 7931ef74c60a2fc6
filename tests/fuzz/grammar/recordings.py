"""Changes of Parquet and MCAP: written anew from changed columns and messages."""

import io
import json
import re
from random import Random

from .plain import DEPTHS, TEXT, WORDS, flip, text_change


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
    """Messages whose JSON is changed, under other topics, encodings and stamps."""
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, Writer

    try:
        found = [
            (c.topic, m.log_time, m.data)
            for _, c, m in make_reader(io.BytesIO(data)).iter_messages()
        ]
    except Exception:
        return flip(data, rng)
    for _ in range(rng.choice((1, 1, 3)) if found else 0):
        k = rng.randrange(len(found))
        topic, stamp, inner = found[k]
        change = rng.choice((*TEXT, *map(text_change, (jsonish, jsonish, jsonish))))
        found[k] = rng.choice((topic, topic, topic, "/other")), stamp, change(inner, rng)
        if rng.random() < 0.3:
            stamp = rng.choice((0, 1, 2**63 - 1, 2**63, 2**64 - 1, min(stamp + 10**9, 2**64 - 1)))
            found[k] = topic, stamp, found[k][2]
    found *= rng.choice((1, 1, 1, 5))
    out = io.BytesIO()
    writer = Writer(out, compression=rng.choice((CompressionType.NONE, CompressionType.ZSTD)))
    writer.start()
    code = rng.choice(("json", "json", "json", "json", "cdr", ""))
    channels = {}
    for topic, stamp, inner in found:
        if topic not in channels:
            channels[topic] = writer.register_channel(topic, code, 0)
        writer.add_message(channels[topic], stamp, inner, stamp)
    writer.finish()
    return out.getvalue()


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
