"""`dy.read_log`: a `Log` on the joint side in SI units from a file, a frame or arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked
from ..errors import DynamisError, OptionError, ShapeError
from ..model.check.finding import Finding
from . import motor_side
from .checks import Stamps, implausible, stamps, uneven
from .columns import Block, arrange, pick, wanted_joints
from .log import Log, rows_of, window_of, within
from .motor_side import checked_units, factor
from .source import open_source
from .table import LARGEST, Table

if TYPE_CHECKING:
    from ..robot import Robot

RATES = ("qd", "qdd")  # what a log may lack


@checked
def read_log(
    source: Any,
    columns: Mapping[str, Any] | None = None,
    *,
    units: Mapping[str, Any] | None = None,
    sample_time: float | None = None,
    joints: Sequence[Any] | None = None,
    window: tuple[float | None, float | None] | None = None,
    rows: tuple[int | None, int | None] | None = None,
    drive_gains: Any = None,
    gear_matrix: Any = None,
    offset: Any = None,
    robot: "Robot | None" = None,
    topic: str | None = None,
    name: str | None = None,
    max_bytes: float = LARGEST,
) -> Log:
    """A log from a path (.csv, .npz, .parquet, .mcap), a DataFrame or a mapping of arrays.

    `columns` says which hold t, q, qd, qdd, tau, or current, motor_q, motor_qd, motor_qdd,
    motor_tau: a name, a pattern ("pos_*", "joint{}_position"), a list of names, None to leave one
    out. Unless given: t, q1.., qd1.., qdd1.., tau1.., or 2-D arrays of those names.
    `units` by quantity, such as {"q": "deg", "t": "ms"}: one, or one per joint.
    `sample_time` (s) where there are no stamps.
    `joints`: which, and in which order: names, or places from 0; with `robot`, its joints by name.
    `rows` (first, last) of the source from 0, last not included; then `window` (start, stop) in
    seconds from the first stamp of those, both included.
    `drive_gains` (N m/A at the joint) turn current into tau; `gear_matrix` R (or its diagonal; the
    robot's unless given) turns what the motors know into q = R^-1 motor_q and tau = R^T motor_tau;
    `offset` (rad or m) is added to q. These three are in the order of the log's joints.
    `max_bytes`: what a file may take in memory as it declares it, before it is read.

    Rows with NaN or inf and repeated stamps are dropped; `log.findings` lists that and whatever
    else is dubious.
    """
    units = checked_units(units)
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, (int, float)) or not max_bytes > 0:
        raise OptionError(f"max_bytes is {max_bytes!r}, expected a number above 0")
    table = open_source(source, topic, wanted_joints(joints, robot), max_bytes)
    first, last = rows_of((None, None) if rows is None else rows)
    blocks = {x: _cut(b, first, last) for x, b in _even(pick(table, columns), table).items()}
    clock = _clock(blocks.pop("t", None), blocks, sample_time, first or 0, units, table)
    blocks, findings = arrange(blocks, joints, robot, table.where)
    clock = _windowed(clock, window, table.where)
    scaled = {x: _scaled(x, b, units)[clock.rows] for x, b in blocks.items()}
    _refuse_reordered(scaled, gear_matrix, joints, robot)
    arrays = _joint_side(scaled, drive_gains, gear_matrix, robot, table.where)
    if offset is not None:
        q = arrays["q"]
        arrays["q"] = q + motor_side.per_joint(offset, "offset", q.shape[1])
    arrays, kept, dropped = _finite(arrays, clock.rows + (first or 0), table.where)
    q, tau, qd, qdd = (arrays.get(x) for x in ("q", "tau", "qd", "qdd"))
    assert q is not None and tau is not None  # pick() saw to that
    log = Log(t=clock.t[kept], q=q, tau=tau, qd=qd, qdd=qdd, name=_name(name, source))
    findings = [*table.findings, *clock.findings, *findings, *dropped]
    findings += [*uneven(log.t, table.where), *implausible(log, table.where, set(units))]
    return log.with_findings(sorted(findings))


def _even(blocks: dict[str, Block], table: Table) -> dict[str, Block]:
    """The blocks, if all have as many rows."""
    first = blocks["q" if "q" in blocks else "motor_q"]
    expected = len(first.values)
    for quantity, block in blocks.items():
        if len(block.values) != expected:
            raise ShapeError(
                f"{table.where}: {quantity} has shape {block.values.shape}, q "
                f"{first.values.shape}, expected as many rows",
                "one row per sample, one column per joint: transpose what is the other way",
            )
    if expected < 2:
        raise ShapeError(f"{table.where} has {expected} rows, expected at least 2")
    if first.values.shape[1] > expected:
        raise ShapeError(
            f"{table.where}: q has shape {first.values.shape}: more joints than samples",
            "one row per sample, one column per joint: transpose it",
        )
    return blocks


def _cut(block: Block, first: int | None, last: int | None) -> Block:
    kept = block.values[first:last]
    if len(kept) < 2:
        raise OptionError(
            f"rows ({first}, {last}) hold {len(kept)} samples, expected at least 2",
            f"counted from 0, the last one not included; there are {len(block.values)}",
        )
    return block._replace(values=kept)


def _clock(
    block: Block | None,
    blocks: Mapping[str, Block],
    sample_time: Any,
    first: int,
    units: Mapping[str, Any],
    table: Table,
) -> Stamps:
    """Stamps of the source, or even ones."""
    if block is not None and sample_time is not None:
        raise OptionError(
            f"{table.where} has time stamps in {block.names[0]!r}, and sample_time was given",
            "columns=dict(t=None) ignores the stamps",
        )
    if block is not None:
        if block.values.ndim == 2 and block.values.shape[1] != 1:
            raise ShapeError(f"{table.where}: t has shape {block.values.shape}, expected (N,)")
        unit = units.get("t", "s")
        return stamps(block.values.reshape(-1), factor("t", unit, 1), table.where, "t" in units)
    if sample_time is None:
        raise OptionError(f"{table.where} has no time stamps t; it has: {table.holds()}",
                          "columns=dict(t=...), or sample_time=... in seconds"
                          + _single_number(table))  # fmt: skip
    real = isinstance(sample_time, (int, float, np.integer, np.floating))
    if not real or isinstance(sample_time, bool) or not 0 < sample_time < np.inf:
        raise OptionError(f"sample_time is {sample_time!r}, expected seconds, more than 0")
    count = len(next(iter(blocks.values())).values)
    return Stamps((first + np.arange(count)) * float(sample_time), np.arange(count), [])


def _single_number(table: Table) -> str:
    """A number in the source that may be the sample time."""
    for name in table.names:
        try:
            array = table.array(name)
        except DynamisError:
            continue
        if array.ndim == 0:
            return f"; {name!r} is {array}: the sample time?"
    return ""


def _windowed(clock: Stamps, window: Any, where: str) -> Stamps:
    if window is None:
        return clock
    inside = within(clock.t, window_of(window), float(np.median(np.diff(clock.t))))
    if inside.sum() < 2:
        raise OptionError(
            f"window {window} holds {inside.sum()} samples of {where}, expected at least 2",
            f"seconds from the first stamp; there are {clock.t[-1] - clock.t[0]:.6g} s",
        )
    return Stamps(clock.t[inside], clock.rows[inside], clock.findings)


def _scaled(quantity: str, block: Block, units: Mapping[str, Any]) -> np.ndarray:
    """(N, n) in SI units."""
    if block.values.dtype.kind not in "fiu":
        raise ShapeError(f"{quantity} holds {block.values.dtype}, expected numbers")
    values = block.values.astype(np.float64)
    if quantity not in units:
        return values
    return values * factor(quantity, units[quantity], values.shape[1])


def _refuse_reordered(
    given: Mapping[str, Any], gears: Any, joints: Any, robot: "Robot | None"
) -> None:
    """The robot's gear matrix is in the robot's own order of joints."""
    if robot is None or gears is not None or not any(x.startswith("motor_") for x in given):
        return
    named = wanted_joints(joints, robot)
    if named is not None and named != tuple(robot.joint_names):
        raise OptionError(
            f"joints are {', '.join(named)}, the gear matrix of {robot.name!r} is for "
            f"{', '.join(robot.joint_names)}",
            "leave joints out, or give gear_matrix= in the order of joints",
        )


def _joint_side(
    given: Mapping[str, np.ndarray], gains: Any, gears: Any, robot: "Robot | None", where: str
) -> dict[str, np.ndarray]:
    """q, qd, qdd and tau of the joints."""
    motors = [x for x in given if x.startswith("motor_")]
    if gears is not None and not motors:
        raise OptionError(
            "gear_matrix was given, but nothing on the motor side",
            "columns=dict(motor_q=..., motor_tau=...) says which columns are the motors'",
        )
    if gains is not None and "current" not in given:
        raise OptionError(
            "drive_gains was given, but no current", "columns=dict(current=...) says which it is"
        )
    done = {x: values for x, values in given.items() if x in ("q", "qd", "qdd", "tau")}
    if "current" in given:
        done["tau"] = motor_side.from_current(given["current"], gains, where)
    if motors:
        R = motor_side.gear_matrix_of(gears, robot, given[motors[0]].shape[1], where)
        for x in motors:
            torque = x == "motor_tau"
            turned = motor_side.to_joint_torque if torque else motor_side.to_joint_motion
            with np.errstate(all="ignore"):  # rows with NaN go next
                done[x.removeprefix("motor_")] = turned(given[x], R)
    return done


def _finite(
    arrays: dict[str, np.ndarray], rows: np.ndarray, where: str
) -> tuple[dict[str, np.ndarray], np.ndarray, list[Finding]]:
    """Without the rows that hold NaN or inf; rates that are mostly so are left out instead."""
    found = []
    for name in [x for x in RATES if x in arrays]:
        count, total = int((~np.isfinite(arrays[name])).any(axis=1).sum()), len(arrays[name])
        if 2 * count > total:
            del arrays[name]
            what = f"{name} is NaN or inf in {count} of {total} rows and was left out"
            found.append(Finding("warning", where, what, "it is then differentiated from q"))
    bad = {x: ~np.isfinite(values) for x, values in arrays.items()}
    lost = np.any([x.any(axis=1) for x in bad.values()], axis=0)
    names = [f"{x}{i + 1}" for x, b in bad.items() for i in np.flatnonzero(b.any(axis=0))]
    count, total = int(lost.sum()), len(lost)
    if 2 * count > total or total - count < 2:
        raise OptionError(
            f"{where}: {count} of {total} rows hold NaN or inf, in {', '.join(names)}",
            "look at those columns; joints= leaves a joint out",
        )
    if count:
        what = (
            f"{count} of {total} rows with NaN or inf were dropped, the first row "
            f"{rows[np.flatnonzero(lost)[0]]} (from 0); in {', '.join(names)}"
        )
        found.append(Finding("warning", where, what, "look at how those were measured"))
    kept = ~lost
    return {x: values[kept] for x, values in arrays.items()}, kept, found


def _name(name: str | None, source: Any) -> str:
    if name is not None:
        return name
    return Path(source).stem if isinstance(source, (str, Path)) else ""
