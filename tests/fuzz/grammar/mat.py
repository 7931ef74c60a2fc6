"""Changes of .mat: variables of version 5 to 7, changed inside and packed again."""

import struct
import zlib
from random import Random

from .plain import cut, flip, overwrite, repeat

HEAD = 128
MATRIX, PACKED = 14, 15
LARGEST = 50_000_000  # bytes of cells


def matrix(kind: int, shape: tuple[int, ...], name: bytes = b"", inside: bytes = b"") -> bytes:
    """An array of a class: flags, shape, name, and what it holds."""
    body = _element(6, struct.pack("<II", kind, 0)) + _element(5, struct.pack("<2I", *shape))
    return _element(MATRIX, body + _element(1, name) + inside)


def packed(body: bytes) -> bytes:
    """A variable as version 7 writes it."""
    data = zlib.compress(body)
    return struct.pack("<II", PACKED, len(data)) + data


def _element(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def cells(rng: Random) -> bytes:
    """Cells beside each other or inside of each other, many in few bytes."""
    count = rng.choice((3, 1000, 100_000, LARGEST // 8))
    if rng.random() < 0.5:
        return matrix(1, (count, 1), b"c", struct.pack("<II", MATRIX, 0) * count)
    deep = struct.pack("<II", MATRIX, 1 << 30) + matrix(1, (1, 1))[8:]
    return matrix(1, (1, 1), b"c", deep * min(count, LARGEST // len(deep)))


def variable(data: bytes, rng: Random) -> bytes:
    """A variable changed inside, doubled, taken out, or another beside it."""
    found, at = [], HEAD
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        found.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size + (0 if kind == PACKED else -size % 8)
    if not found or rng.random() < 0.1:
        found.insert(0, (MATRIX, cells(rng)[8:]))
    k = rng.randrange(len(found))
    kind, inner = found[k]
    if kind == PACKED:
        try:
            inner = zlib.decompressobj().decompress(inner, LARGEST)[8:]
        except zlib.error:
            return flip(data, rng)
    inner = rng.choice((flip, flip, overwrite, cut, repeat, lambda x, _: x))(inner, rng)
    new = _element(MATRIX, inner)
    changed = [packed(new) if rng.random() < 0.7 else new] * rng.choice((1, 1, 1, 0, 2))
    parts = [
        _element(*x) if x[0] == MATRIX else struct.pack("<II", x[0], len(x[1])) + x[1]
        for x in found
    ]
    return data[:HEAD] + b"".join([*parts[:k], *changed, *parts[k + 1 :]])
