"""Columns of numbers in a text file: one header line, then one line per sample."""

import csv
import io
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import FileError
from ..model.finding import Finding
from .table import Allowance, Table, distinct

DELIMITERS = (",", ";", "\t", "|")
MISSING = {"", "nan", "na", "n/a", "null", "none", "-nan", "-nan(ind)"}
HEADER = "expected a header line such as t,q1,q2,tau1,tau2"


class Layout(NamedTuple):
    """Column names, the sign between them (None: blanks), and where the numbers begin."""

    names: tuple[str, ...]
    delimiter: str | None
    start: int


def read_text(path: Path, allowance: Allowance) -> Table:
    """A .csv, .tsv or .txt file; lines that begin with # are comments."""
    allowance.take("text", path.stat().st_size)
    lines = _text(path).splitlines()
    layout = _layout(lines, path.name)
    rows, findings = _rows(lines, layout, path.name)
    if not rows:
        raise FileError(f"{path.name} has a header but no rows", "was the recording started?")
    columns = _columns(rows, layout)
    return Table(path.name, layout.names, lambda name: columns[name], findings=findings)


def _text(path: Path) -> str:
    raw = path.read_bytes()
    if not raw.strip():
        raise FileError(f"{path.name} is empty", HEADER)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{path.name} is UTF-16 text", "save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path.name} is not text: byte {error.start} is no UTF-8",
            "is it a binary file with the wrong ending? Known: .csv, .npz, .parquet, .mcap",
        ) from None
    if "\0" in text:
        raise FileError(f"{path.name} holds zero bytes: it is not text", HEADER)
    return text


def _layout(lines: list[str], where: str) -> Layout:
    """From the first line with content; a comment above bare numbers may be the header."""
    said = ""
    for k, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            said = line.lstrip().lstrip("#").strip() or said
        elif line.strip():
            delimiter = _delimiter(line)
            names = [x.strip() for x in _cells(line, delimiter)]
            if not all(_is_number(x) for x in names):
                return Layout(_unique(names, where), delimiter, k + 1)
            header = [x.strip() for x in _cells(said, _delimiter(said))]
            if len(header) == len(names) and not any(_is_number(x) for x in header):
                return Layout(_unique(header, where), delimiter, k)
            raise FileError(
                f"{where} begins with numbers, {HEADER}",
                "add one; or read it yourself and give read_log a mapping of arrays",
            )
    raise FileError(f"{where} holds nothing but comments", HEADER)


def _delimiter(line: str) -> str | None:
    """The sign that occurs most; None stands for blanks."""
    best = max(DELIMITERS, key=line.count)
    return best if best in line else None


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a field beyond the reader's limit
        return line.split(delimiter)


def _unique(names: list[str], where: str) -> tuple[str, ...]:
    return distinct((name or f"column {k + 1}" for k, name in enumerate(names)), where)


def _rows(lines: list[str], layout: Layout, where: str) -> tuple[list[str], tuple[Finding, ...]]:
    """The lines of numbers; a last line cut short is dropped, any other is an error."""
    numbered = [
        (k + 1, line)
        for k, line in enumerate(lines[layout.start :], layout.start)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    expected = len(layout.names)
    for k, line in numbered:
        if _count(line, layout.delimiter) == expected:
            continue
        short = _count(line, layout.delimiter) < expected
        if short and k == numbered[-1][0] and len(numbered) > 2:
            what = f"the last line ({k}) is cut short and was dropped"
            found = Finding("note", where, what, "was the recording interrupted?")
            return [line for _, line in numbered[:-1]], (found,)
        raise FileError(
            f"{where}, line {k} has {_count(line, layout.delimiter)} cells, the header "
            f"{expected}: {line[:60]!r}",
            "mend or delete that line",
        )
    return [line for _, line in numbered], ()


def _count(line: str, delimiter: str | None) -> int:
    if delimiter is not None and '"' not in line:
        return line.count(delimiter) + 1
    return len(_cells(line, delimiter))


def _columns(rows: list[str], layout: Layout) -> dict[str, np.ndarray]:
    """Every column; those with other than numbers stay text, and are refused when asked for."""
    try:
        whole = np.loadtxt(
            io.StringIO("\n".join(rows)), delimiter=layout.delimiter, comments=None, ndmin=2
        )
    except ValueError:  # a cell is empty or text, or whole numbers exceed float64
        cells = zip(*(_cells(row, layout.delimiter) for row in rows), strict=True)
        found = {x: _column(c) for x, c in zip(layout.names, cells, strict=True)}
    else:
        found = dict(zip(layout.names, whole.T, strict=True))
    return found | _exact(found, rows, layout)


def _column(cells: tuple[str, ...]) -> np.ndarray:
    plain = [x.strip() for x in cells]
    try:
        return np.array([np.nan if x.lower() in MISSING else float(x) for x in plain])
    except ValueError:
        return np.array(plain)


def _exact(
    columns: dict[str, np.ndarray], rows: list[str], layout: Layout
) -> dict[str, np.ndarray]:
    """Whole numbers beyond float64, such as nanoseconds since 1970, read again as integers."""
    large = [
        (k, name)
        for k, (name, column) in enumerate(columns.items())
        if column.dtype.kind == "f" and (np.abs(column) >= 2.0**53).any()
    ]
    if not large:
        return {}
    cells = list(zip(*(_cells(row, layout.delimiter) for row in rows), strict=True))
    found = {}
    for k, name in large:
        with suppress(ValueError, OverflowError):
            found[name] = np.array([int(cell) for cell in cells[k]], dtype=np.int64)
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().lower() in MISSING
    return True
