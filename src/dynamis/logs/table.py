"""Tables of named arrays, which every reader of log files returns, and a log's columns in them.

A file of a few megabytes may hold gigabytes: what it declares is counted before it is read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import duplicate, is_whole, is_word
from ..compile.arrays import unmasked
from ..errors import DynamisError, FileError, OptionError, ShapeError, counted, did_you_mean
from ..model.check.finding import Finding
from .names import by_suffix
from .units import KNOWN, UNITS, WITH_UNIT, factor, plain_unit

if TYPE_CHECKING:
    from ..robot import Robot

NUMERIC = "fiuMm"  # kinds of dtype: numbers, and moments and spans of time
LARGEST = 512 * 1024**2  # bytes of numbers in one log: an hour of seven joints at 800 Hz
MISSING = {"", "nan", "na", "n/a", "null", "none", "-nan", "-nan(ind)"}  # cells without a number
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
            whole, own, most = (f"{x / 1024**2:.4g} MiB" for x in (total, size, self.limit))
            raise FileError(
                f"{self.where} holds {whole} of numbers for this log ({name!r} alone {own}), "
                f"expected at most {most}",
                f"cut the file, or read_log(..., max_bytes={total}) if it is to be trusted",
            )


def distinct(names: Iterable[str], where: str) -> tuple[str, ...]:
    """Names of columns, not too many and each once."""
    found = tuple(names)
    if len(found) > MOST_COLUMNS:
        raise FileError(
            f"{where} has {len(found)} columns, expected at most {MOST_COLUMNS}",
            "write those of the log to a file of their own; is it transposed?",
        )
    twice = duplicate(found)
    if twice is not None:
        raise FileError(f"{where} has two columns {twice[:80]!r}, expected distinct names")
    return found


@contextmanager
def reading(what: str, hint: str | None = None) -> Iterator[None]:
    """Whatever a damaged file makes a reader raise, as an error that begins with `what`."""
    try:
        yield
    except DynamisError:
        raise
    except Exception as error:
        said = (str(error) or type(error).__name__)[:200]
        if "allow_pickle" in said or "Object arrays" in said:
            said = "holds pickled objects, which could run code"
            hint = "save plain arrays of numbers"
        raise FileError(f"{what}: {said}", hint) from None


class Part(NamedTuple):
    """Rows first, .., last - 1 of a source, which are a recording by themselves."""

    name: str
    first: int
    last: int


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
    units: Mapping[str, str] = field(default_factory=dict)  # as the source gives them, by name
    aliases: Mapping[str, str] = field(default_factory=dict)  # names with their units to names
    count: Callable[[str], None] = lambda name: None  # refuses what would take too much memory
    parts: tuple[Part, ...] = ()  # recordings one after the other, where there are several
    lines: Sequence[int] = ()  # where every row stands in a text file, counted from 1

    def array(self, name: str) -> np.ndarray:
        """One array, of numbers or times, with 0, 1 or 2 axes."""
        self.count(name)
        given = self.read(name)
        try:
            array = np.asarray(unmasked(given))
        except ValueError as error:  # ragged lists
            what = f"{self.where}: {name!r} is not a rectangular array ({error})"
            raise ShapeError(what) from None
        if array.dtype.kind == "U" and len(self.lines) == len(array):
            k = next((k for k, x in enumerate(array) if not is_number(x)), 0)
            raise ShapeError(f"{self.line(k)}: {name!r} holds {str(array[k])!r}, expected a number")
        if array.dtype.kind not in NUMERIC:
            raise ShapeError(
                f"{self.where}: {name!r} holds {array.dtype}, expected numbers",
                "objects, text, booleans and complex numbers are never read as measurements",
            )
        if array.ndim > 2:
            raise ShapeError(f"{self.where}: {name!r} has shape {array.shape}, expected (N, n)")
        return array

    def line(self, row: int) -> str:
        """Where a row stands, for a message."""
        known = row < len(self.lines)
        return f"{self.where}, line {self.lines[row]}" if known else f"{self.where}, row {row + 1}"

    def holds(self) -> str:
        """The names there are, for a message."""
        shown = ", ".join(repr(x)[1:-1] for x in self.names[:40])
        return f"{shown}, ... ({len(self.names)} in all)" if len(self.names) > 40 else shown


# the columns of a source: which hold which quantity, and of which joint

INSTEAD = {  # what may stand for a quantity
    "t": (),
    "q": ("motor_q",),
    "qd": ("motor_qd",),
    "qdd": ("motor_qdd",),
    "tau": ("motor_tau", "current"),
    "temperature": (),
    "motor": (),
    "motor_rate": (),
}
ALSO = {  # other usual names
    "motor": ("theta",),
    "motor_rate": ("theta_rate", "thetad"),
}
BESIDE = {"q": "motor_q", "qd": "motor_qd"}  # of links and of motors, which a log may both have
QUANTITIES = (*INSTEAD, *(x for others in INSTEAD.values() for x in others))
NEEDED = ("q", "tau")


class Block(NamedTuple):
    """The columns of one quantity, (N, k); `joints` where they carry joint names."""

    values: np.ndarray
    names: tuple[str, ...]
    joints: tuple[str, ...] | None = None


def is_number(text: Any) -> bool:
    """Whether a cell is a number, or says that there is none."""
    try:
        float(text)
    except ValueError:
        return str(text).strip().lower() in MISSING
    return True


def numbered(table: Table, name: str) -> list[str]:
    """The columns of a usual name: itself, or it with numbers; empty if there are none."""
    return [found for found, _ in _columns(table, name)]


def pick(
    table: Table,
    columns: Any,
    quantities: Iterable[str] = tuple(INSTEAD),
    needed: Sequence[str] = NEEDED,
) -> dict[str, Block]:
    """Every quantity the source holds: those asked for, and those under their usual names."""
    asked = by_quantity(columns, "columns", "dict(t='time', q='pos_*')", QUANTITIES)
    chosen = {x: find(table, x, spec) for x, spec in asked.items() if spec is not None}
    for quantity in quantities:
        either = (quantity, *INSTEAD[quantity])
        both = [x for x in either if x in chosen]
        if len(both) > 1 and both != [quantity, BESIDE.get(quantity)]:
            raise OptionError(f"columns gives {' and '.join(both)}, expected one of them")
        for name in () if any(x in asked for x in either) else either:
            usual = table.defaults.get(name, name), *ALSO.get(name, ())
            if found := next(filter(None, (_columns(table, x) for x in usual)), None):
                chosen[name] = found
                break
        if quantity in needed and not any(x in chosen for x in either):
            raise _missing(table, quantity, table.defaults.get(quantity, quantity))
    for name in [name for found in chosen.values() for name, _ in found]:
        table.count(name)  # all before the first is read
    return {x: _block(table, found) for x, found in chosen.items()}


def by_quantity(given: Any, name: str, such: str, known: Iterable[str]) -> Mapping[str, Any]:
    """A mapping whose keys are quantities of a log; nothing for None."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"{name} is {given!r}, expected such as {such}")
    wrong = next((x for x in given if not is_word(x, known)), None)
    if wrong is not None or None in given:
        what = f"{name} names {wrong!r}, which is no quantity of a log"
        raise OptionError(what, did_you_mean(wrong, known))
    return given


def find(table: Table, quantity: str, spec: Any) -> list[tuple[str, str | None]]:
    """The columns a name, a pattern, a list of names or of places from 0 stands for."""
    spec = _by_place(table, quantity, spec)
    if isinstance(spec, str):
        found = _columns(table, spec)
        if found:
            return found
        raise _missing(table, quantity, spec)
    if not isinstance(spec, Sequence) or not spec or not all(isinstance(x, str) for x in spec):
        raise OptionError(
            f"columns[{quantity!r}] is {spec!r}, expected a name, a pattern such as 'pos_*' or "
            "'joint{}_position', a list of names, or places from 0"
        )
    absent = next((x for x in spec if x not in table.names), None)
    if absent is not None:
        raise _missing(table, quantity, absent)
    twice = duplicate(spec)
    if twice is not None:
        raise OptionError(f"columns[{quantity!r}] lists {twice!r} twice")
    return [(x, None) for x in spec]


def _by_place(table: Table, quantity: str, spec: Any) -> Any:
    """The names of columns given by their places, or with their units as in the header."""
    given = [*spec] if isinstance(spec, (list, tuple, range)) else [spec]
    for k, x in enumerate(given):
        if is_whole(x):
            if not 0 <= x < len(table.names):
                raise OptionError(
                    f"columns[{quantity!r}] is {spec!r}, expected places from 0 to "
                    f"{len(table.names) - 1}: {table.where} has {len(table.names)} columns"
                )
            given[k] = table.names[x]
        elif isinstance(x, str):
            given[k] = table.aliases.get(x, x)
    return given if isinstance(spec, (list, tuple, range)) else given[0]


def _columns(table: Table, spec: str) -> list[tuple[str, str | None]]:
    """(name, what the pattern's open part matched), numbers in rising order; empty if none."""
    if spec in table.names:
        return [(spec, None)]
    pattern = _pattern(spec)
    matches = ((name, re.fullmatch(pattern, name)) for name in table.names)
    found = [(name, match[1]) for name, match in matches if match]
    numbered = {name: int(x) for name, x in found if re.fullmatch(r"[0-9]{1,4}", x)}
    if not numbered:
        return [*found]
    if len(numbered) != len(found):
        other = next(name for name, _ in found if name not in numbered)
        raise OptionError(
            f"{spec!r} matches {next(iter(numbered))!r} and {other!r}: numbers and names",
            "list the columns by name",
        )
    ordered = sorted(numbered, key=lambda name: numbered[name])
    start = numbered[ordered[0]]
    if start > 1 or [numbered[x] for x in ordered] != [*range(start, start + len(ordered))]:
        refuse_unit(table, spec)
        raise OptionError(
            f"{table.where}: columns {', '.join(ordered)} do not count from 0 or 1 without holes",
            f"list the ones that {spec!r} should be",
        )
    return [(name, None) for name in ordered]


def refuse_unit(table: Table, spec: str) -> None:
    """Refuse a column that `spec` would match were it not for a unit that is not known."""
    for match in filter(None, map(WITH_UNIT.fullmatch, table.names)):
        odd = match[2].isalpha() and plain_unit(match[2]) not in KNOWN
        if odd and (match[1] == spec or re.fullmatch(_pattern(spec), match[1])):
            raise OptionError(
                f"{table.where}: unit {match[2]!r} of column {match[1]!r} is not known",
                f"known: {', '.join(UNITS.get(spec, UNITS['q']))}",
            )


def _pattern(spec: str) -> str:
    """The expression that columns of a name or a pattern match: its group is what is open."""
    if "*" in spec or "{}" in spec:
        if spec.count("*") + spec.count("{}") > 1:
            raise OptionError(f"{spec!r} has more than one open part, expected one * or {{}}")
        head, tail = re.split(r"\*|\{\}", spec)
        return re.escape(head) + "(.+)" + re.escape(tail)
    return re.escape(spec) + r"[ _./\[(-]?(\d{1,4})[\])]?"


def _block(table: Table, found: list[tuple[str, str | None]]) -> Block:
    arrays = [table.array(name) for name, _ in found]
    if len(arrays) == 1 and arrays[0].ndim == 2:
        k = arrays[0].shape[1]
        names = tuple(f"{found[0][0]}[{i}]" for i in range(k))
        named = table.joints if table.joints and len(table.joints) == k else None
        return Block(arrays[0], names, named)
    for (name, _), array in zip(found, arrays, strict=True):
        if array.ndim != 1 and array.shape != (len(array) if array.ndim else 0, 1):
            what = f"has shape {array.shape}, expected one column (N,)"
            raise ShapeError(f"{table.where}: {name!r} {what}")
        if len(array) != len(arrays[0]):
            what = f"has {len(array)} rows, {found[0][0]!r} {len(arrays[0])}"
            raise ShapeError(f"{table.where}: {name!r} {what}")
    joints = tuple(x for _, x in found if x is not None)
    values = np.stack([x.reshape(-1) for x in arrays], axis=1)
    return Block(values, tuple(x for x, _ in found), joints or None)


def _patterns(table: Table) -> list[str]:
    """Patterns that match columns of the table: their names with * in place of a number."""
    return sorted({re.sub(r"\d+", "*", x, count=1) for x in table.names if re.search(r"\d", x)})


def _missing(table: Table, quantity: str, spec: str) -> OptionError:
    several = "*" in spec or "{}" in spec
    usual = f"{spec!r}" if several else f"{spec!r} or {spec + '1'!r}, .."
    if table.names == tuple(str(k) for k in range(len(table.names))):
        return OptionError(
            f"{table.where} begins with numbers: {counted(len(table.names), 'column')} "
            "without a header",
            "columns=dict(t=0, q=[1, 2], tau=[3, 4]) counts them from 0 (--columns t=0,q=1,2,...)",
        )
    refuse_unit(table, spec)
    near = did_you_mean(spec, _patterns(table) if several else table.names)
    asked = spec not in table.defaults.values()  # else nobody has misspelt it
    near = f"{near} " if asked and near.startswith("did") else ""
    hint = f"{near}columns=dict({quantity}=...) says which: a name, a list or a pattern"
    if quantity == "tau":
        hint += "; motor currents are columns=dict(current=...)"
    what = f"{table.where} has no {usual} for {quantity}; it has: {table.holds()}"
    return OptionError(what, hint)


def declared(blocks: Mapping[str, Block], table: Table) -> dict[str, Any]:
    """The units that the source itself gives to its columns, by quantity."""
    named = {x: [table.units.get(name, 1.0) for name in b.names] for x, b in blocks.items()}
    return {x: units for x, units in named.items() if any(isinstance(u, str) for u in units)}


def scaled(quantity: str, block: Block, units: Mapping[str, Any]) -> np.ndarray:
    """(N, n) in SI units."""
    if block.values.dtype.kind not in "fiu":
        raise ShapeError(f"{quantity} holds {block.values.dtype}, expected numbers")
    values = block.values.astype(np.float64)
    return values * factor(quantity, units.get(quantity, 1.0), values.shape[1])


def arrange(
    blocks: Mapping[str, Block], joints: Any, robot: "Robot | None", where: str
) -> tuple[dict[str, Block], list[Finding]]:
    """Every block with one order of joints: `joints`, else the robot's, else q's."""
    first = blocks["q"] if "q" in blocks else blocks["motor_q"]
    size, labels = first.values.shape[1], first.joints
    if not labels and robot is not None and size == robot.n:
        labels = tuple(robot.joint_names)
    elif not labels and robot is not None and size == len(robot.driven):
        labels = robot.drive_names
    asked = () if joints is not None else wanted_joints(None, robot) or ()
    guess = by_suffix(asked, labels or (), where)
    order = _order(labels, size, guess.names if guess else joints, robot, where)
    done = {}
    for quantity, block in blocks.items():
        place = order
        if block.joints and labels:
            if set(block.joints) != set(labels):
                wrong = sorted(set(labels) ^ set(block.joints))
                raise OptionError(f"{where}: q and {quantity} name different joints: {wrong}")
            place = [block.joints.index(labels[k]) for k in order]
        if block.values.shape[1] != size:
            raise ShapeError(
                f"{where}: {quantity} has {counted(block.values.shape[1], 'column')} "
                f"({', '.join(block.names[:12])}), q has {size}"
            )
        done[quantity] = Block(block.values[:, place], tuple(block.names[k] for k in place))
    left = [(labels or first.names)[k] for k in range(size) if k not in order]
    said = [Finding("note", where, guess.what(), "joints= names others")] if guess else []
    if not left or joints is not None:
        return done, said
    closed = robot is not None and set(left) <= set(robot.joint_names)
    why = "as they follow the drives" if closed else "as the robot has none such"
    what = f"joints left out, {why}: {', '.join(left)}"
    return done, [*said, Finding("note", where, what, "joints= chooses others")]


def wanted_joints(joints: Any, robot: "Robot | None") -> tuple[str, ...] | None:
    """The joint names asked for, if any."""
    if joints is not None:
        if isinstance(joints, (str, bytes)) or not isinstance(joints, Sequence) or not joints:
            raise OptionError(f"joints is {joints!r}, expected a list of names or of places")
        return tuple(joints) if all(isinstance(x, str) for x in joints) else None
    return None if robot is None else robot.drive_names


def _order(
    labels: tuple[str, ...] | None, k: int, joints: Any, robot: "Robot | None", where: str
) -> list[int]:
    names = wanted_joints(joints, robot)
    if joints is not None and names is None:
        wrong = [x for x in joints if not is_whole(x) or not 0 <= x < k]
        if wrong:
            expected = f"names, or places from 0 to {k - 1}"
            raise OptionError(f"joints holds {wrong[0]!r}, expected {expected}")
        order = [int(x) for x in joints]
    elif names is None:
        return [*range(k)]
    elif labels is None and joints is not None:
        raise OptionError(
            f"joints gives names, but the columns of {where} carry none",
            f"give places from 0 to {k - 1}, or list the columns",
        )
    elif labels is None:
        raise OptionError(
            f"{where} has {k} joints, robot {getattr(robot, 'name', '')!r} has {len(names)}",
            "joints= says which of them, by place from 0",
        )
    else:
        absent = next((x for x in names if x not in labels), None)
        if absent is not None:
            what = f"{where} has no joint {absent!r}; it has: {', '.join(labels)}"
            raise OptionError(what, did_you_mean(absent, labels))
        order = [labels.index(x) for x in names]
    if len(set(order)) != len(order):
        raise OptionError("joints names a joint twice")
    return order
