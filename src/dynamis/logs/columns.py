"""Columns of a log guessed by their names: actual_q_0, Axis1 Trq, /states/elbow/effort.

A name counts by its words, in any spelling: MsrJntPos_1 is msr, jnt, pos, 1. What was commanded,
estimated, or is of the tool is never guessed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..errors import DynamisError, OptionError
from ..model.check.finding import Finding
from .names import by_suffix
from .table import INSTEAD, Table, find, numbered

WORDS: Mapping[str, tuple[str, ...]] = {
    "t": ("t", "time", "times", "timestamp", "timestamps", "stamp", "seconds", "sec"),
    "q": ("q", "pos", "position", "positions", "angle", "angles"),
    "qd": ("qd", "dq", "vel", "velocity", "velocities", "speed", "speeds"),
    "tau": (
        *("tau", "trq", "torque", "torques", "tq", "moment", "moments", "effort", "efforts"),
        "mom",
    ),
    "current": ("current", "currents", "curr", "amps", "i"),
}
MEASURED = {"actual", "act", "measured", "meas", "msr", "feedback", "fb", "ist", "present"}
OTHERS = {  # words of what is not measured, or is not of the joints
    *("target", "desired", "des", "d", "cmd", "command", "commanded", "ref", "reference", "goal"),
    *("setpoint", "set", "soll", "error", "err", "limit", "max", "min", "ext", "external", "hat"),
    *("tcp", "cart", "cartesian", "ee", "tool", "pose", "force", "std", "x", "y", "z"),
    *("rx", "ry", "rz", "roll", "pitch", "yaw"),
}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Candidate(NamedTuple):
    """Columns that may hold a quantity: how well they fit (less is better), how many."""

    rank: tuple[int, ...]
    count: int
    spec: Any


def guess_columns(
    table: Table, asked: Mapping[str, Any], wanted: Sequence[str] | None, timed: bool = True
) -> dict[str, Any]:
    """What `columns` might say of the quantities that were not asked for and have no usual name.

    `wanted` are the joints of the robot; `timed` says whether stamps are looked for.
    """
    if table.defaults or table.names == tuple(str(k) for k in range(len(table.names))):
        return {}

    def lacking(quantity: str) -> bool:
        either = (quantity, *INSTEAD[quantity])
        with suppress(OptionError):  # numbers with holes: said where they are read
            return not any(x in asked or numbered(table, x) for x in either)
        return False

    found: dict[str, Any] = {}
    size = len(wanted) if wanted else 0
    for quantity in ("q", "tau"):
        if lacking(quantity):
            for name in (quantity, *({"tau": ("current",)}.get(quantity, ()))):
                best = _best(table, name, size, wanted)
                if best is not None:
                    found[name] = best.spec
                    size = size or best.count
                    break
    if found and lacking("qd"):
        best = _best(table, "qd", size, wanted)
        if best is not None and not best.rank[0]:
            found["qd"] = best.spec
    if timed and lacking("t"):
        best = _best(table, "t", 1, None)
        if best is not None and not best.rank[0]:
            found["t"] = best.spec
    return dict(sorted(found.items(), key=lambda x: [*WORDS].index(x[0])))


def guess_finding(found: Mapping[str, Any], where: str) -> Finding:
    """The guess in words."""
    said = ", ".join(f"{name}={spec!r}" for name, spec in found.items())
    what = f"columns guessed by their names: {said}"
    if "current" in found:
        what += "; currents, not torques"
    return Finding("note", where, what, f"if that is wrong, columns=dict({said}) says others")


def _best(table: Table, quantity: str, size: int, wanted: Sequence[str] | None) -> Candidate | None:
    """The columns that fit best; several that fit as well are refused."""
    found = sorted(_candidates(table, quantity, size, wanted), key=lambda x: x.rank)
    if not found:
        return None
    best = [x for x in found if x.rank == found[0].rank]
    if len(best) > 1 and quantity in ("q", "tau", "current"):
        listed = " or ".join(repr(x.spec) for x in best[:4])
        raise OptionError(
            f"{table.where}: {quantity} may be {listed}",
            f"columns=dict({quantity}={best[0].spec!r}) takes the first",
        )
    return best[0]


def _candidates(
    table: Table, quantity: str, size: int, wanted: Sequence[str] | None
) -> Iterator[Candidate]:
    """Columns by each word of a quantity."""
    others = OTHERS | ({"motor"} if quantity != "current" else set())
    for place, word in enumerate(WORDS[quantity]):
        names = [x for x in table.names if word in _words(x) and not _words(x) & others]
        if not names:
            continue
        labelled = _labelled(table, quantity, word, names, wanted)
        if labelled is not None:
            yield Candidate((0, 0, place), len(names), labelled)
            continue
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(re.sub(r"\d+", "#", name), []).append(name)
        for group in alike.values():
            ordered = _counted(group)
            if ordered is None:
                continue
            count = len(ordered) if len(ordered) > 1 else _width(table, ordered[0])
            if count:
                measured = bool(_words(ordered[0]) & MEASURED)
                rank = (int(bool(size) and count != size), int(not measured), place)
                yield Candidate(rank, count, _spec(table, quantity, ordered))
        if not wanted and len(alike) > 1 and len(alike) == len(names):  # names, no numbers
            pattern = _pattern(word, names)
            if pattern is not None and _finds(table, quantity, pattern, names):
                rank = (int(bool(size) and len(names) != size), 1, place)
                yield Candidate(rank, len(names), pattern)


def _words(name: str) -> set[str]:
    return {x.lower() for x in WORD.findall(name)}


def _counted(names: Sequence[str]) -> list[str] | None:
    """Names that differ in one number which counts from 0 or 1, in its order; None otherwise."""
    if len(names) == 1:
        return [*names]
    runs = [[int(x) if len(x) < 5 else -1 for x in re.findall(r"\d+", name)] for name in names]
    if len({len(run) for run in runs}) != 1:
        return None
    varies = [k for k, column in enumerate(zip(*runs, strict=True)) if len({*column}) > 1]
    if len(varies) != 1:
        return None
    by_number = {run[varies[0]]: name for run, name in zip(runs, names, strict=True)}
    first = min(by_number)
    whole = first in (0, 1) and sorted(by_number) == [*range(first, first + len(names))]
    return [by_number[k] for k in sorted(by_number)] if whole else None


def _width(table: Table, name: str) -> int:
    """Columns of one array; none if it is no measurement."""
    with suppress(DynamisError):
        array = table.array(name)
        return array.shape[1] if array.ndim == 2 else array.ndim
    return 0


def _spec(table: Table, quantity: str, names: Sequence[str]) -> Any:
    """A pattern for columns that count, if it finds just these; else their names."""
    if len(names) == 1:
        return names[0]
    digits = [m.span() for m in re.finditer(r"\d+", names[0])]
    for a, b in digits:
        pattern = f"{names[0][:a]}*{names[0][b:]}"
        if _finds(table, quantity, pattern, names):
            return pattern
    return [*names]


def _labelled(
    table: Table, quantity: str, word: str, names: Sequence[str], wanted: Sequence[str] | None
) -> str | None:
    """The pattern whose open part are the joints of the robot, if there is one."""
    pattern = _pattern(word, names) if wanted else None
    if pattern is None or not wanted or not _finds(table, quantity, pattern, names):
        return None
    head, tail = pattern.split("*")
    labels = [x[len(head) :].removesuffix(tail) for x in names]
    fits = {*wanted} <= {*labels} or by_suffix(wanted, labels, table.where) is not None
    return pattern if fits else None


def _finds(table: Table, quantity: str, pattern: str, names: Sequence[str]) -> bool:
    """Whether a pattern stands for just these columns, in this order."""
    with suppress(DynamisError):
        return [x for x, _ in find(table, quantity, pattern)] == [*names]
    return False


def _pattern(word: str, names: Sequence[str]) -> str | None:
    """What the names have in common at their end or beginning, with the word in it."""
    for name in names[:1]:
        for match in WORD.finditer(name):
            if match[0].lower() == word:
                a, b = match.span()
                tail, head = name[max(0, a - 1) :], name[: b + 1]
                if a > 1 and all(x.endswith(tail) and len(x) > len(tail) for x in names):
                    return f"*{tail}"
                if b < len(name) and all(x.startswith(head) and len(x) > len(head) for x in names):
                    return f"{head}*"
    return None
