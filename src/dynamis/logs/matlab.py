"""MATLAB files of version 5 to 7 as tables: arrays of numbers, those inside of structs as "log.q".

The format is that of "MAT-File Format" (MathWorks): elements, each a kind, a size and bytes. Only
single objects and cells and a few structs in an array, "log(2).q", are looked into; texts and all
else are stepped over by their size. A reader that makes an object of each cell takes minutes for a
packed file of some hundred kB, and nested cells overflow its stack.
"""

import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError
from .table import Allowance, Table, distinct, reading

MATLAB = "save it as -v7 in MATLAB, or write CSV"
HEADER = 128  # bytes; the last two give the order of bytes
MATRIX, COMPRESSED = 14, 15  # kinds of elements
CLASS = 0xFF  # of an array, the lowest byte of its flags
CELL, STRUCT, OBJECT = 1, 2, 3
HOLDERS = (CELL, STRUCT, OBJECT)  # classes that are looked into where they hold one thing
MOST_STRUCTS = 64  # of an array of structs that is looked into
HEAD = 40  # bytes of a packed element: its tag, flags and two dimensions
NO_NUMBERS = 0x0A00  # flags of complex numbers and of logical values
STORED = dict(enumerate(("i1", "u1", "i2", "u2", "i4", "u4", "f4"), 1))
STORED |= {9: "f8", 12: "i8", 13: "u8"}
NUMBERS = dict(enumerate(("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), 6))
MOST_FIELDS = 65536  # variables and fields of structs, of any class
PIECE = 1 << 14  # packed bytes at a time, which hold a thousand times as many at most
SHORT = "an element is longer than what holds it: was the file cut short?"
DAMAGED = "packed bytes are damaged: an element is not as long as it says, or its checksum differs"
DEEPEST = 32  # structs inside of structs
LONGEST = 256  # bytes of a name; MATLAB's own have 63


class Numbers(NamedTuple):
    """An array as the file holds it: often in fewer bytes than its class has."""

    dtype: str
    shape: tuple[int, ...]
    stored: str
    data: memoryview

    def array(self) -> np.ndarray:
        """The array, without axes of length 1."""
        found = np.frombuffer(self.data, self.stored).astype(self.dtype, copy=False)
        return found.reshape(self.shape, order="F").squeeze()

    @property
    def expanded(self) -> int:
        """Bytes that the array takes beside those of the file."""
        size = math.prod(self.shape) * np.dtype(self.dtype).itemsize
        return size if np.dtype(self.stored) != np.dtype(self.dtype) else 0


def read_matlab(path: Path, allowance: Allowance) -> Table:
    """A .mat file."""
    raw = path.read_bytes()
    if raw[:10] != b"MATLAB 5.0":
        what = "is HDF5 (version 7.3)" if b"MATLAB 7.3" in raw[:20] else "is no MATLAB 5 file"
        raise FileError(f"{path.name} {what}, expected version 5 to 7", MATLAB)
    order = "<" if raw[126:HEADER] == b"IM" else ">"
    with reading(f"{path.name} cannot be read", MATLAB):
        pairs = list(_variables(memoryview(raw)[HEADER:], order, allowance))
    if not pairs:
        raise FileError(f"{path.name} holds no arrays of numbers", MATLAB)
    arrays = dict(pairs)
    names, times = distinct(arrays, path.name), Counter(name for name, _ in pairs)

    def read(name: str) -> np.ndarray:
        if times[name] > 1:
            raise FileError(f"{path.name} has {times[name]} arrays {name!r}, expected one")
        with reading(f"{path.name}: {name!r} cannot be read", MATLAB):
            return arrays[name].array()

    def counted(name: str) -> None:
        allowance.take(name, arrays[name].expanded)

    return Table(path.name, names, read, count=counted)


def _variables(data: memoryview, order: str, allowance: Allowance) -> Iterator[tuple[str, Numbers]]:
    """Arrays of numbers by name."""
    taken, seen = 0, count(1)
    for kind, element in _elements(data, order):
        body, size = element, len(element)
        if kind == COMPRESSED:
            head = zlib.decompressobj().decompress(body, HEAD)
            size = struct.unpack_from(f"{order}4xI", head)[0] if _numeric(head[8:], order) else 0
        elif kind != MATRIX:
            raise ValueError(f"it has an element of kind {kind} where a variable is expected")
        taken += size
        allowance.take("arrays", taken)
        if kind == COMPRESSED:
            body = _unpacked(body, size + 8)[8:] if size else body[:0]
        yield from _flat("", body, order, seen)


def _unpacked(packed: memoryview, size: int) -> memoryview:
    """The `size` bytes of a packed element, with the checksum behind them."""
    unpacker, found, at = zlib.decompressobj(), bytearray(size), 0
    for k in range(0, len(packed), PIECE):
        part = unpacker.decompress(packed[k : k + PIECE])
        if at + len(part) > size:
            raise ValueError(DAMAGED)
        found[at : at + len(part)] = part
        at += len(part)
    if at < size or not unpacker.eof:
        raise ValueError(DAMAGED)
    return memoryview(found)


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """(kind, bytes) of elements that lie one after the other."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        begin = at + 8
        if kind >> 16:  # at most four bytes, in the tag itself
            kind, size, begin = kind & 0xFFFF, min(kind >> 16, 4), at + 4
        if begin + size > len(data):
            raise ValueError(SHORT)
        yield kind, data[begin : begin + size]
        at = begin + size if kind == COMPRESSED else begin + size + -(begin + size - at) % 8


def _flat(
    name: str, body: memoryview, order: str, seen: Iterator[int], depth: int = 0
) -> Iterator[tuple[str, Numbers]]:
    """A variable or a field: its numbers, or those of the fields of a struct behind a point.

    A cell around one thing has that thing's numbers.
    """
    if next(seen) > MOST_FIELDS:
        raise ValueError(f"it has more than {MOST_FIELDS} variables and fields")
    if not _numeric(body, order):
        return
    parts = _elements(body, order)
    kind = _integers(parts, order)[0] & CLASS
    shape = _integers(parts, order)
    name += _text(_next(parts)[1])
    if not name:  # MATLAB's own, behind the variables
        return
    if kind in NUMBERS:
        stored, data = _next(parts)
        yield name, Numbers(NUMBERS[kind], shape, order + STORED[stored], data)
        return
    if depth >= DEEPEST:
        raise ValueError(f"it has more than {DEEPEST} structs inside of each other")
    if kind == CELL:
        yield from _flat(name, _matrix(_next(parts)), order, seen, depth + 1)
        return
    if kind == OBJECT:
        _next(parts)  # the name of its class
    yield from _fields(name, math.prod(shape), parts, order, seen, depth + 1)


def _numeric(body: Any, order: str) -> bool:
    """Whether an array, of which the first bytes suffice, is of real numbers or looked into."""
    if len(body) < 12:  # an empty one has no flags
        return False
    flags = struct.unpack_from(f"{order}I", body, 8)[0]
    if flags & CLASS in HOLDERS:
        if len(body) < HEAD - 8:
            return False
        size, rows, columns = struct.unpack_from(f"{order}III", body, 20)
        most = MOST_STRUCTS if flags & CLASS == STRUCT else 1
        return size == 8 and 1 <= rows * columns <= most
    return flags & CLASS in NUMBERS and not flags & NO_NUMBERS


def _fields(
    name: str,
    structs: int,
    parts: Iterator[tuple[int, memoryview]],
    order: str,
    seen: Iterator[int],
    depth: int,
) -> Iterator[tuple[str, Numbers]]:
    """Numbers of the fields of one struct or several, of which class, shape and name were read."""
    (width,), (_, names) = _integers(parts, order), _next(parts)
    count = max(1, len(names) // width) if width else 1
    for k, part in enumerate(parts):
        which, field = divmod(k, count) if structs > 1 else (0, k)
        label = _text(names[field * width : (field + 1) * width])
        place = f"({which + 1})" if structs > 1 else ""
        yield from _flat(f"{name}{place}.{label}", _matrix(part), order, seen, depth)


def _matrix(part: tuple[int, memoryview]) -> memoryview:
    """The bytes of an element that must be an array."""
    kind, body = part
    if kind != MATRIX:
        raise ValueError(f"it has an element of kind {kind} where a field is expected")
    return body


def _next(parts: Iterator[tuple[int, memoryview]]) -> tuple[int, memoryview]:
    found = next(parts, None)
    if found is None:
        raise ValueError(SHORT)
    return found


def _integers(parts: Iterator[tuple[int, memoryview]], order: str) -> tuple[int, ...]:
    data = _next(parts)[1]
    return struct.unpack(f"{order}{len(data) // 4}I", data)


def _text(data: memoryview) -> str:
    """A name, up to the first zero."""
    if len(data) > LONGEST:
        raise ValueError(f"a name has {len(data)} bytes, expected at most {LONGEST}")
    return bytes(data).split(b"\0")[0].decode("latin-1")
