"""Tables of a class as files that spreadsheets read and write."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import FileError

LARGEST_FILE = 1_000_000  # bytes of a table that is read
SEPARATORS = {"en": ",", "es": ";"}  # where a decimal comma is usual, cells end at semicolons
FORMULA = re.compile(r"[=+\-@\t\r]")  # how a cell begins that a spreadsheet computes


class Spreadsheet(NamedTuple):
    """Cells of a file, without those around them; rows may be longer than the header."""

    header: list[str]
    rows: list[list[str]]
    separator: str


def table_bytes(rows: Sequence[Sequence[Any]], language: str) -> bytes:
    """A table for spreadsheets of a language, in which no text is a formula."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n", delimiter=SEPARATORS[language]).writerows(
        [_cell(x) if isinstance(x, str) else x for x in row] for row in rows
    )
    return out.getvalue().encode("utf-8-sig")  # the mark tells Excel which encoding it is


def number_text(value: float, language: str) -> str:
    """Six digits, with the decimal comma of spreadsheets whose cells end at semicolons."""
    text = f"{value:.6g}"
    return text.replace(".", ",") if SEPARATORS[language] == ";" else text


def _cell(text: str) -> str:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return f"'{text}" if FORMULA.match(text) else text
    return text


def text_of(path: Path) -> str:
    """The text of a file of moderate size: UTF-8, UTF-16 with its mark, or Windows-1252."""
    try:
        if not path.is_file():
            raise FileError(f"{str(path)!r} is no file")
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    if len(data) > LARGEST_FILE:
        raise FileError(f"{str(path)!r} has more than {LARGEST_FILE} bytes")
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if marked else ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise FileError(f"{str(path)!r} is no text", "save it as UTF-8 text")


def read_table(path: Path) -> Spreadsheet:
    """A table whose cells a comma, a semicolon or a tab separates; empty rows are left out."""
    content = text_of(path)
    separator = max(",;\t", key=content.partition("\n")[0].count)
    try:
        found = list(csv.reader(io.StringIO(content, newline=""), delimiter=separator))
    except csv.Error as error:
        raise FileError(f"{str(path)!r} is no table: {error}") from None
    cells = [[cell.strip() for cell in row] for row in found]
    header, *rows = [row for row in cells if any(row)] or [[]]
    return Spreadsheet(header, rows, separator)
