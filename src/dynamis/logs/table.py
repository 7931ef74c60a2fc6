"""Tables of named arrays, which every reader of log files returns.

A file of a few megabytes may hold gigabytes: what it declares is counted before it is read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compile.arrays import unmasked
from ..errors import FileError, ShapeError
from ..model.check.finding import Finding

NUMERIC = "fiuMm"  # kinds of dtype: numbers, and moments and spans of time
LARGEST = 512 * 1024**2  # bytes of numbers in one log: an hour of seven joints at 800 Hz
MOST_COLUMNS = 4096  # of one file; an arm needs some dozens


class Allowance:
    """Bytes that a log may take in memory, and what its parts have taken."""

    def __init__(self, where: str, limit: float):
        self.where, self.limit = where, limit
        self.taken: dict[str, int] = {}

    def take(self, name: str, size: int) -> None:
        """Count a part before it is read; refused once all together exceed the limit."""
        self.taken[name] = size
        total = sum(self.taken.values())
        if total > self.limit:
            raise FileError(
                f"{self.where} holds {_megabytes(total)} of numbers for this log ({name!r} alone "
                f"{_megabytes(size)}), expected at most {_megabytes(self.limit)}",
                f"cut the file, or read_log(..., max_bytes={total}) if it is to be trusted",
            )


def _megabytes(size: float) -> str:
    return f"{size / 1024**2:.4g} MiB"


def distinct(names: Iterable[str], where: str) -> tuple[str, ...]:
    """Names of columns, not too many and each once."""
    found = tuple(names)
    if len(found) > MOST_COLUMNS:
        raise FileError(
            f"{where} has {len(found)} columns, expected at most {MOST_COLUMNS}",
            "write those of the log to a file of their own; is it transposed?",
        )
    seen: set[str] = set()
    for name in found:
        if name in seen:
            raise FileError(f"{where} has two columns {name[:80]!r}, expected distinct names")
        seen.add(name)
    return found


@dataclass(frozen=True)
class Table:
    """Arrays by name, read when asked for.

    `joints` names the columns of every 2-D array, `defaults` says which array holds which quantity
    where the source has a convention of its own.
    """

    where: str
    names: tuple[str, ...]
    read: Callable[[str], Any]
    joints: tuple[str, ...] | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    count: Callable[[str], None] = lambda name: None  # refuses what would take too much memory

    def array(self, name: str) -> np.ndarray:
        """One array, of numbers or times, with 0, 1 or 2 axes."""
        self.count(name)
        given = self.read(name)
        try:
            array = np.asarray(unmasked(given))
        except ValueError as error:  # ragged lists
            raise ShapeError(
                f"{self.where}: {name!r} is not a rectangular array ({error})"
            ) from None
        if array.dtype.kind not in NUMERIC:
            raise ShapeError(
                f"{self.where}: {name!r} holds {array.dtype}, expected numbers",
                "objects, text, booleans and complex numbers are never read as measurements",
            )
        if array.ndim > 2:
            raise ShapeError(f"{self.where}: {name!r} has shape {array.shape}, expected (N, n)")
        return array

    def holds(self) -> str:
        """The names there are, for a message."""
        shown = ", ".join(repr(x)[1:-1] for x in self.names[:40])
        return f"{shown}, ... ({len(self.names)} in all)" if len(self.names) > 40 else shown
