"""The columns of a source: which hold which quantity, and of which joint."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import is_word
from ..errors import OptionError, ShapeError, did_you_mean
from ..model.check.finding import Finding
from .table import Table

if TYPE_CHECKING:
    from ..robot import Robot

INSTEAD = {  # what may stand for a quantity
    "t": (),
    "q": ("motor_q",),
    "qd": ("motor_qd",),
    "qdd": ("motor_qdd",),
    "tau": ("motor_tau", "current"),
}
QUANTITIES = (*INSTEAD, *(x for others in INSTEAD.values() for x in others))
NEEDED = ("q", "tau")


class Block(NamedTuple):
    """The columns of one quantity, (N, k); `joints` where they carry joint names."""

    values: np.ndarray
    names: tuple[str, ...]
    joints: tuple[str, ...] | None = None


def pick(table: Table, columns: Any) -> dict[str, Block]:
    """Every quantity the source holds: those asked for, and those under their usual names."""
    asked = checked_columns(columns)
    chosen = {x: find(table, x, spec) for x, spec in asked.items() if spec is not None}
    for quantity, others in INSTEAD.items():
        if any(x in asked for x in (quantity, *others)):
            continue
        for name in (quantity, *others):
            spec = table.defaults.get(name, name)
            if found := _columns(table, spec):
                chosen[name] = found
                break
    for quantity in NEEDED:
        if not any(x in chosen for x in (quantity, *INSTEAD[quantity])):
            raise _missing(table, quantity, table.defaults.get(quantity, quantity))
    for name in [name for found in chosen.values() for name, _ in found]:
        table.count(name)  # all before the first is read
    return {x: _block(table, found) for x, found in chosen.items()}


def checked_columns(columns: Any) -> Mapping[str, Any]:
    """Where to look, by quantity; None means: do not read it."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise OptionError(f"columns is {columns!r}, expected such as dict(t='time', q='pos_*')")
    for name in columns:
        if not is_word(name, QUANTITIES):
            raise OptionError(
                f"columns names {name!r}, which is no quantity of a log",
                did_you_mean(name, QUANTITIES),
            )
    given = {x for x, spec in columns.items() if spec is not None}
    for quantity, others in INSTEAD.items():
        both = [x for x in (quantity, *others) if x in given]
        if len(both) > 1:
            raise OptionError(f"columns gives {' and '.join(both)}, expected one of them")
    return columns


def find(table: Table, quantity: str, spec: Any) -> list[tuple[str, str | None]]:
    """The columns a name, a pattern or a list of names stands for."""
    if isinstance(spec, str):
        found = _columns(table, spec)
        if not found:
            raise _missing(table, quantity, spec)
        return found
    if not isinstance(spec, Sequence) or not spec or not all(isinstance(x, str) for x in spec):
        raise OptionError(
            f"columns[{quantity!r}] is {spec!r}, expected a name, a pattern such as 'pos_*' or "
            "'joint{}_position', or a list of names"
        )
    absent = next((x for x in spec if x not in table.names), None)
    if absent is not None:
        raise _missing(table, quantity, absent)
    twice = next((x for i, x in enumerate(spec) if x in spec[:i]), None)
    if twice is not None:
        raise OptionError(f"columns[{quantity!r}] lists {twice!r} twice")
    return [(x, None) for x in spec]


def _columns(table: Table, spec: str) -> list[tuple[str, str | None]]:
    """(name, what the pattern's open part matched), numbers in rising order; empty if none."""
    if spec in table.names:
        return [(spec, None)]
    if "*" in spec or "{}" in spec:
        if spec.count("*") + spec.count("{}") > 1:
            raise OptionError(f"{spec!r} has more than one open part, expected one * or {{}}")
        head, tail = re.split(r"\*|\{\}", spec)
        pattern = re.escape(head) + "(.+)" + re.escape(tail)
    else:
        pattern = re.escape(spec) + r"[ _./\[(-]?(\d{1,4})[\])]?"
    matches = ((name, re.fullmatch(pattern, name)) for name in table.names)
    found = [(name, match[1]) for name, match in matches if match]
    numbered = [x for x in found if re.fullmatch(r"[0-9]{1,4}", x[1])]
    if not numbered:
        return [*found]
    if len(numbered) != len(found):
        other = next(x[0] for x in found if x not in numbered)
        raise OptionError(
            f"{spec!r} matches {numbered[0][0]!r} and {other!r}: numbers and names",
            "list the columns by name",
        )
    return [*_in_order(numbered, spec, table.where)]


def _in_order(found: list[tuple[str, str]], spec: str, where: str) -> list[tuple[str, None]]:
    """Columns by their number, which must run from 0 or 1 without holes."""
    ordered = sorted(found, key=lambda x: int(x[1]))
    numbers = [int(x[1]) for x in ordered]
    start = numbers[0]
    if start > 1 or numbers != [*range(start, start + len(numbers))]:
        raise OptionError(
            f"{where}: columns {', '.join(x[0] for x in ordered)} do not count from 0 or 1 "
            "without holes",
            f"list the ones that {spec!r} should be",
        )
    return [(name, None) for name, _ in ordered]


def _block(table: Table, found: list[tuple[str, str | None]]) -> Block:
    arrays = [table.array(name) for name, _ in found]
    if len(arrays) == 1 and arrays[0].ndim == 2:
        k = arrays[0].shape[1]
        names = tuple(f"{found[0][0]}[{i}]" for i in range(k))
        named = table.joints if table.joints and len(table.joints) == k else None
        return Block(arrays[0], names, named)
    for (name, _), array in zip(found, arrays, strict=True):
        flat = array.ndim == 1 or array.shape == (len(array) if array.ndim else 0, 1)
        if not flat:
            raise ShapeError(
                f"{table.where}: {name!r} has shape {array.shape}, expected one column (N,)"
            )
        if len(array) != len(arrays[0]):
            raise ShapeError(
                f"{table.where}: {name!r} has {len(array)} rows, {found[0][0]!r} {len(arrays[0])}"
            )
    joints = tuple(x for _, x in found if x is not None)
    values = np.stack([x.reshape(-1) for x in arrays], axis=1)
    return Block(values, tuple(x for x, _ in found), joints or None)


def _missing(table: Table, quantity: str, spec: str) -> OptionError:
    usual = f"{spec!r}" if "*" in spec or "{}" in spec else f"{spec!r} or {spec + '1'!r}, .."
    near = did_you_mean(spec, table.names)
    near = f"{near} " if near.startswith("did") else ""
    hint = f"{near}columns=dict({quantity}=...) says which: a name, a list or a pattern"
    if quantity == "tau":
        hint += "; motor currents are columns=dict(current=...)"
    return OptionError(
        f"{table.where} has no {usual} for {quantity}; it has: {table.holds()}", hint
    )


def arrange(
    blocks: Mapping[str, Block], joints: Any, robot: "Robot | None", where: str
) -> tuple[dict[str, Block], list[Finding]]:
    """Every block with one order of joints: `joints`, else the robot's, else q's."""
    first = blocks["q"] if "q" in blocks else blocks["motor_q"]
    labels = _labels(first, robot)
    order = _order(labels, first.values.shape[1], joints, robot, where)
    done = {}
    for quantity, block in blocks.items():
        if quantity == "t":
            continue
        place = order
        if block.joints and labels and set(block.joints) != set(labels):
            wrong = sorted(set(labels) ^ set(block.joints))
            raise OptionError(f"{where}: q and {quantity} name different joints: {wrong}")
        if block.joints and labels:
            place = [block.joints.index(labels[k]) for k in order]
        if block.values.shape[1] != first.values.shape[1]:
            raise ShapeError(
                f"{where}: {quantity} has {block.values.shape[1]} columns "
                f"({', '.join(block.names[:12])}), q has {first.values.shape[1]}"
            )
        names = tuple(block.names[k] for k in place)
        done[quantity] = Block(block.values[:, place], names)
    left = [(labels or first.names)[k] for k in range(first.values.shape[1]) if k not in order]
    if not left or joints is not None:
        return done, []
    what = f"joints left out, as the robot has none such: {', '.join(left)}"
    return done, [Finding("note", where, what, "joints= chooses others")]


def wanted_joints(joints: Any, robot: "Robot | None") -> tuple[str, ...] | None:
    """The joint names asked for, if any."""
    if joints is not None:
        if isinstance(joints, (str, bytes)) or not isinstance(joints, Sequence) or not joints:
            raise OptionError(f"joints is {joints!r}, expected a list of names or of places")
        named = all(isinstance(x, str) for x in joints)
        return tuple(joints) if named else None
    return None if robot is None else tuple(robot.joint_names)


def _labels(block: Block, robot: "Robot | None") -> tuple[str, ...] | None:
    """Joint names of the columns: their own, or the robot's where the numbers agree."""
    if block.joints:
        return block.joints
    if robot is not None and block.values.shape[1] == robot.n:
        return tuple(robot.joint_names)
    return None


def _order(
    labels: tuple[str, ...] | None, k: int, joints: Any, robot: "Robot | None", where: str
) -> list[int]:
    names = wanted_joints(joints, robot)
    if joints is not None and names is None:
        return _places(joints, k)
    if labels is None:
        if joints is not None:
            raise OptionError(
                f"joints gives names, but the columns of {where} carry none",
                f"give places from 0 to {k - 1}, or list the columns",
            )
        if robot is not None:
            raise OptionError(
                f"{where} has {k} joints, robot {robot.name!r} has {robot.n}",
                "joints= says which of them, by place from 0",
            )
    if labels is None or names is None:
        return [*range(k)]
    absent = next((x for x in names if x not in labels), None)
    if absent is not None:
        raise OptionError(
            f"{where} has no joint {absent!r}; it has: {', '.join(labels)}",
            did_you_mean(absent, labels),
        )
    return _distinct([labels.index(x) for x in names])


def _places(joints: Sequence[Any], k: int) -> list[int]:
    for x in joints:
        whole = isinstance(x, (int, np.integer)) and not isinstance(x, bool)
        if not whole or not 0 <= x < k:
            raise OptionError(f"joints holds {x!r}, expected names, or places from 0 to {k - 1}")
    return _distinct([int(x) for x in joints])


def _distinct(order: list[int]) -> list[int]:
    if len(set(order)) != len(order):
        raise OptionError("joints names a joint twice")
    return order
