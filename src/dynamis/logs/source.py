"""Sources of logs as tables of named arrays. Nothing in a file is ever executed."""

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError, OptionError, ShapeError, counted
from ..lazy import package
from ..model.check.finding import Finding
from .episodes import data_file, is_data_set, with_episodes
from .matlab import read_matlab
from .recordings import is_bag
from .states import read_recording
from .table import LARGEST, MISSING, Allowance, Table, distinct, is_number, reading
from .units import KNOWN, WITH_UNIT, plain_unit

# columns of numbers in a text file: a header line, maybe one of units, then one line per sample

DELIMITERS = (";", "\t", "|", ",")  # the first that both the first lines have
COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")  # a number with a decimal comma
HEADER = "expected a header line such as t,q1,q2,tau1,tau2"


class Layout(NamedTuple):
    """Column names, the sign between them (None: blanks), and where the numbers begin.

    `header` is the line with the names, where there is one.
    """

    names: tuple[str, ...]
    delimiter: str | None
    start: int
    units: Mapping[str, str] = {}
    aliases: Mapping[str, str] = {}
    header: str | None = None


def read_text(path: Path, allowance: Allowance) -> Table:
    """A .csv, .tsv or .txt file; lines that begin with # are comments."""
    allowance.take("text", path.stat().st_size)
    text, findings = _text(path)
    lines = text.splitlines()
    layout = _layout(lines, path.name)
    rows, more, places = _rows(lines, layout, path.name)
    if not rows:
        raise FileError(f"{path.name} has a header but no rows", "was the recording started?")
    columns, found = _columns(rows, layout).__getitem__, (*findings, *more)
    table = Table(path.name, layout.names, columns, findings=found)
    return replace(table, units=layout.units, aliases=layout.aliases, lines=places)


def _text(path: Path) -> tuple[str, list[Finding]]:
    raw = path.read_bytes()
    if not raw.strip():
        raise FileError(f"{path.name} is empty", HEADER)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{path.name} is UTF-16 text", "save it as UTF-8")
    if b"\0" in raw:
        raise FileError(f"{path.name} holds zero bytes: it is not text", HEADER)
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        odd = any((x < 32 and x not in b"\t\n\r\f\v") or 127 <= x < 160 for x in raw)
        if odd:
            raise FileError(
                f"{path.name} is not text: byte {error.start} is no UTF-8",
                "is it a binary file with the wrong ending? Known: .csv, .npz, .parquet, .mcap, ..",
            ) from None
        what = f"is not UTF-8 (byte {error.start}) and was read as Latin-1"
        return raw.decode("latin-1"), [Finding("note", path.name, what, "save it as UTF-8")]


def _layout(lines: list[str], where: str) -> Layout:
    """From the first line with content; a comment above bare numbers may be the header."""
    said = ""
    for k, line in enumerate(lines):
        if line.lstrip().startswith("#"):
            said = line.lstrip().lstrip("#").strip() or said
        elif line.strip():
            below = next((x for x in lines[k + 1 :] if _says(x)), line)
            delimiter = _delimiter(line, below)
            names = _stripped(line, delimiter)
            if not all(_is_number(x) for x in names):
                return _headed(Layout(_named(names, where), delimiter, k + 1, header=line), below)
            header = _stripped(said, _delimiter(said, said))
            if len(header) == len(names) and not any(_is_number(x) for x in header):
                return _headed(Layout(_named(header, where), delimiter, k), "")
            return Layout(tuple(str(i) for i in range(len(names))), delimiter, k)
    raise FileError(f"{where} holds nothing but comments", HEADER)


def _says(line: str) -> bool:
    """Whether a line is neither empty nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _headed(layout: Layout, below: str) -> Layout:
    """The layout with the units of the names themselves, or of the line below them."""
    matches = [WITH_UNIT.fullmatch(name) for name in layout.names]
    units = {m[1]: m[2] for m in matches if m and m[1] and plain_unit(m[2]) in KNOWN}
    aliases = {f: m[1] for f, m in zip(layout.names, matches, strict=True) if m and m[1] in units}
    names = tuple(aliases.get(name, name) for name in layout.names)
    if len(set(names)) != len(names):  # "q (deg)" and "q (rad)" are two
        return layout
    start, cells = layout.start, [x.strip("[]() ") for x in _cells(below, layout.delimiter)]
    told = {name: x for name, x in zip(names, cells, strict=False) if x not in ("", "-", "1")}
    if len(cells) == len(names) and told and all(plain_unit(x) in KNOWN for x in told.values()):
        units, start = units | told, start + 1
    return layout._replace(names=names, units=units, aliases=aliases, start=start)


def _delimiter(line: str, below: str) -> str | None:
    """The sign between the columns of two lines; None stands for blanks."""
    for sign in DELIMITERS:
        if sign in line and sign in below and not any(_blanks(x) for x in line.split(sign)):
            return sign
    return None


def _blanks(cell: str) -> bool:
    """Whether a cell is several numbers with blanks between: then commas are decimal ones."""
    parts = cell.split()
    return len(parts) > 1 and all(_is_number(x) for x in parts)


def _stripped(line: str, delimiter: str | None) -> list[str]:
    return [x.strip() for x in _cells(line, delimiter)]


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a field beyond the reader's limit
        return line.split(delimiter)


def _named(names: list[str], where: str) -> tuple[str, ...]:
    return distinct((name or f"column {k + 1}" for k, name in enumerate(names)), where)


def _rows(
    lines: list[str], layout: Layout, where: str
) -> tuple[list[str], tuple[Finding, ...], list[int]]:
    """The lines of numbers, and where they stand; a last line cut short is dropped.

    Any other is an error. The header may come again: then those lines are left out.
    """
    numbered = [
        (k + 1, line)
        for k, line in enumerate(lines[layout.start :], layout.start)
        if _says(line) and line != layout.header
    ]
    numbered = _with_points(numbered, layout)
    kept, expected = [line for _, line in numbered], len(layout.names)
    places = [k for k, _ in numbered]
    for k, line in numbered:
        count = _count(line, layout.delimiter)
        if count < expected and k == numbered[-1][0] and len(numbered) > 2:
            what = f"the last line ({k}) is cut short and was dropped"
            found = Finding("note", where, what, "was the recording interrupted?")
            return kept[:-1], (found,), places[:-1]
        if count != expected:
            raise FileError(
                f"{where}, line {k} has {counted(count, 'cell')}, the header {expected}: "
                f"{line[:60]!r}",
                "mend or delete that line",
            )
    return kept, (), places


def _with_points(numbered: list[tuple[int, str]], layout: Layout) -> list[tuple[int, str]]:
    """The lines with decimal points, where every number of the first ones has a comma or none."""
    if layout.delimiter == ",":
        return numbered
    cells = [x for _, line in numbered[:20] for x in _stripped(line, layout.delimiter)]
    commas = any(COMMA.fullmatch(x) for x in cells) and not any("." in x for x in cells)
    return [(k, line.replace(",", ".")) for k, line in numbered] if commas else numbered


def _count(line: str, delimiter: str | None) -> int:
    if delimiter is not None and '"' not in line:
        return line.count(delimiter) + 1
    return len(_cells(line, delimiter))


def _columns(rows: list[str], layout: Layout) -> dict[str, np.ndarray]:
    """Every column; those with other than numbers stay text, and are refused when asked for."""

    def cells() -> list[tuple[str, ...]]:
        return list(zip(*(_cells(row, layout.delimiter) for row in rows), strict=True))

    try:
        arrays = _numbers("\n".join(rows), layout)
    except ValueError:  # a cell is empty or text
        arrays = [_column(column) for column in cells()]
    # whole numbers beyond float64, such as nanoseconds since 1970, are read again as integers
    large = [x.dtype.kind == "f" and bool((np.abs(x) >= 2.0**53).any()) for x in arrays]
    if any(large):
        for k, column in enumerate(cells()):
            with suppress(ValueError, OverflowError):
                if large[k]:
                    arrays[k] = np.array([int(cell) for cell in column], dtype=np.int64)
    return dict(zip(layout.names, arrays, strict=True))


def _numbers(text: str, layout: Layout) -> list[np.ndarray]:
    """Columns of a text of numbers alone: by pyarrow where it is installed, ten times as fast."""
    if layout.delimiter is None or not find_spec("pyarrow"):
        return [
            *np.loadtxt(io.StringIO(text), delimiter=layout.delimiter, comments=None, ndmin=2).T
        ]
    from pyarrow import csv as arrow  # loaded only for text: 0.06 s

    names = [str(k) for k in range(len(layout.names))]
    table = arrow.read_csv(
        io.BytesIO(text.encode()),
        read_options=arrow.ReadOptions(column_names=names),
        parse_options=arrow.ParseOptions(delimiter=layout.delimiter),
        convert_options=arrow.ConvertOptions(
            column_types=dict.fromkeys(names, "float64"), null_values=[]
        ),
    )
    return [column.to_numpy() for column in table.columns]


def _column(cells: tuple[str, ...]) -> np.ndarray:
    plain = [x.strip() for x in cells]
    try:
        return np.array([np.nan if x.lower() in MISSING else float(x) for x in plain])
    except ValueError:
        return np.array(plain)


def _is_number(text: str) -> bool:
    return is_number(text) or bool(COMMA.fullmatch(text.strip()))


def open_source(
    source: Any, topic: Any, wanted: Sequence[str] | None, max_bytes: float = LARGEST
) -> Table:
    """A path by its ending, a pandas or polars frame, a structured array or a mapping of arrays."""
    if isinstance(source, (str, Path)):
        return _open_path(Path(source), topic, wanted, max_bytes)
    if type(source).__module__.split(".")[0] in ("pandas", "polars"):
        return _open_frame(source)
    if isinstance(source, np.ndarray) and source.dtype.names:
        return Table("array", source.dtype.names, source.__getitem__)
    if isinstance(source, Mapping):
        arrays = {str(name): array for name, array in source.items()}
        return Table("mapping", tuple(arrays), arrays.__getitem__)
    raise OptionError(
        f"source is {type(source).__name__}, expected a path, a pandas or polars DataFrame, or a "
        "mapping of arrays",
        "dict(t=..., q=..., qd=..., tau=...)",
    )


def _open_path(path: Path, topic: Any, wanted: Sequence[str] | None, max_bytes: float) -> Table:
    with _opening(path):
        folder = path.is_dir()
        if folder and not is_bag(path) and is_data_set(path):
            path, folder = data_file(path), False
        suffix = path.suffix.lower()
        bag = is_bag(path) if folder else suffix in BAGS
        if folder and not bag:
            kinds = "a bag of ROS 2 (metadata.yaml) or a data set of LeRobot (meta/info.json)"
            raise FileError(f"{path} is a folder, expected the file of a log, {kinds}")
        if suffix not in (*READERS, *BAGS) and not bag:
            hint = HINTS.get(suffix, "convert it, or read it yourself and give a mapping of arrays")
            expected = f"expected one of {', '.join((*READERS, *BAGS))}"
            raise FileError(f"{path.name!r} ends in {path.suffix!r}, {expected}", hint)
        if not folder and not path.is_file():
            raise FileError(f"{path} does not exist, expected the file of a log")
        if topic is not None and not bag:
            what = f"topic is {topic!r}, but {path.name} has none"
            raise OptionError(what, f"recordings have topics: {', '.join(BAGS)}")
        allowance = Allowance(path.name, max_bytes)
        if bag:
            return read_recording(path, _topics(topic), wanted, allowance)
        return READERS[suffix](path, allowance)


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None


def _topics(given: Any) -> Any:
    """A topic, or one of joint states and one of their efforts."""
    asked = [given] if isinstance(given, str) or given is None else given
    texts = isinstance(asked, (list, tuple)) and all(isinstance(x, str) for x in asked)
    if given is None or (texts and len(asked) in (1, 2)):
        return given
    expected = "a name, or two: of joint states and of their efforts"
    raise OptionError(f"topic is {given!r}, expected {expected}")


def _open_npz(path: Path, allowance: Allowance) -> Table:
    """Arrays of an .npz, each read when asked for and never unpickled."""
    broken = "is it really what numpy.savez wrote?"

    def failed(name: str) -> Any:
        return reading(f"{path.name}: {name!r} cannot be read", broken)

    def read(name: str) -> np.ndarray:
        with failed(name), np.load(path, allow_pickle=False) as arrays:
            return arrays[name]

    def count(name: str) -> None:
        with failed(name):
            allowance.take(name, _declared(path, f"{name}.npy"))

    with reading(f"{path.name} is not an .npz archive", broken), zipfile.ZipFile(path) as archive:
        files = archive.namelist()
        packed = {x.compress_type for x in archive.infolist()}
    if not packed <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:  # others unpack whole, at once
        raise FileError(f"{path.name} is packed as NumPy never does", broken)
    names = tuple(dict.fromkeys(x.removesuffix(".npy") for x in files if x.endswith(".npy")))
    if not names:
        raise FileError(f"{path.name} holds no arrays", broken)
    distinct(names, path.name)
    return Table(path.name, names, read, count=count)


def _declared(path: Path, member: str) -> int:
    """Bytes of an array by its own header and by the archive's, whichever claims more."""
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        size = archive.getinfo(member).file_size
        header = HEADERS.get(np.lib.format.read_magic(file))
        if header is None:
            return size
        shape, _, dtype = header(file)
        return max(size, math.prod(shape) * dtype.itemsize)


def _open_parquet(path: Path, allowance: Allowance) -> Table:
    parquet = package("pyarrow.parquet", "pyarrow", "reading .parquet", "logs")
    with reading(f"{path.name} cannot be read as Parquet"):
        file = parquet.ParquetFile(path)
        names = tuple(file.schema_arrow.names)
    distinct(names, path.name)

    def read(name: str) -> np.ndarray:
        with reading(f"{path.name}: {name!r} cannot be read"):
            column = file.read(columns=[name]).column(0).combine_chunks()
        return _arrow(column, f"{path.name}: {name!r}")

    def count(name: str) -> None:
        with reading(f"{path.name}: {name!r} cannot be read"):
            allowance.take(name, NUMBER * _values(file.metadata, name))

    return with_episodes(Table(path.name, names, read, count=count), path)


def _values(metadata: Any, name: str) -> int:
    """Numbers in a column: its rows, or of lists as many as all of them hold."""
    paths = [metadata.schema.column(k).path for k in range(metadata.num_columns)]
    places = [k for k, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    held = sum(group.column(k).num_values for group in groups for k in places)
    return max(held, metadata.num_rows)


def _arrow(column: Any, where: str) -> np.ndarray:
    """An Arrow column as an array; a column of equally long lists has two axes."""
    kind = str(column.type)
    if not kind.startswith(("list", "large_list", "fixed_size_list")):
        return column.to_numpy(zero_copy_only=False)
    if column.null_count:
        raise ShapeError(f"{where} has rows without a list, expected numbers in every row")
    flat, rows = column.flatten().to_numpy(zero_copy_only=False), len(column)
    compute = package("pyarrow.compute", "pyarrow", "reading .parquet", "logs")
    lengths = compute.list_value_length(column).unique()
    if len(lengths) != 1 or flat.ndim != 1:
        raise ShapeError(f"{where} holds lists of different lengths, expected one per joint")
    return flat.reshape(rows, -1)


def _open_frame(frame: Any) -> Table:
    """A pandas or polars DataFrame, known by its columns."""
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        hint = "call .collect() on a lazy frame, .to_frame() on a series"
        raise OptionError(f"source is a {type(frame).__name__}, expected a DataFrame", hint)
    given = {str(name): name for name in frame.columns}
    distinct((str(x) for x in frame.columns), "frame")

    def read(name: str) -> Any:
        series = frame[given[name]]
        whole = getattr(series.dtype, "kind", "") in ("i", "u", "f")
        if whole and hasattr(series, "isna") and series.isna().any():  # pandas' own missing values
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        if whole and hasattr(series.dtype, "numpy_dtype"):
            return series.to_numpy(dtype=series.dtype.numpy_dtype)
        return series.to_numpy()

    return Table("frame", tuple(given), read)


NUMBER = 8  # bytes
HEADERS: Mapping[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
READERS: Mapping[str, Callable[..., Table]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_text),
    ".npz": _open_npz,
    **dict.fromkeys((".parquet", ".pq"), _open_parquet),
    ".mat": read_matlab,
}
BAGS = (".mcap", ".db3", ".bag")
HINTS = {
    ".npy": "give read_log a mapping: dict(t=data[:, 0], q=data[:, 1:7], tau=data[:, 7:])",
    **dict.fromkeys((".pkl", ".pickle"), "pickles run code when read; save arrays as .npz"),
    **dict.fromkeys((".xlsx", ".xls"), "export the sheet as CSV, or pandas.read_excel(path)"),
    **dict.fromkeys((".gz", ".zip", ".xz", ".zst"), "unpack it first"),
}
