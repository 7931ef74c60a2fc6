"""`dy.read_log`: a `Log` on the joint side in SI units from a file, a frame or arrays.

With R the gear matrix, motor positions R q, power R^T:

    q = R^-1 q_motor + offset,    tau = R^T tau_motor,    tau = gain i

The gears are taken as loss-free: what they eat is friction of the joint, identified with it.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, number, positive
from ..errors import DynamisError, OptionError, ShapeError, counted
from ..model.check.finding import Finding
from ..model.quantity import resolve
from ..progress import stage
from ..trajectory.arguments import numbers
from .checks import Stamps, corrupt_start, implausible, stamps, uneven, without_spikes
from .columns import guess_columns, guess_finding
from .log import OPTIONAL, Log, rows_of, within
from .scales import guess_units
from .source import open_source
from .table import (
    LARGEST,
    QUANTITIES,
    Block,
    Table,
    arrange,
    by_quantity,
    declared,
    pick,
    scaled,
    wanted_joints,
)
from .units import UNITS, factor, split_signs

if TYPE_CHECKING:
    from ..robot import Robot

SUCH = "dict(t='time', q='pos_*')"  # columns
DIFFERENTIATED = "it is then differentiated from q"
SINGULAR = 1e-9  # of a gear matrix: smallest next to largest singular value


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
    topic: str | Sequence[str] | None = None,
    name: str | None = None,
    max_bytes: float = LARGEST,
) -> Log:
    """A log from a path, a DataFrame or a mapping of arrays.

    Paths: .csv, .npz, .mat, .parquet; bags of ROS 2 (.mcap, .db3, their folder) and ROS 1 (.bag),
    without ROS; data sets of LeRobot (a file of theirs, or the folder if it has one).

    `columns` says which hold t, q, qd, qdd, tau, or current, motor_q, motor_qd, motor_qdd,
    motor_tau, or temperature (deg C), or motor and motor_rate, the other side of elastic joints in
    units of the joints (motor_q beside q is this too): a name, a pattern ("pos_*",
    "joint{}_position"), a list of names, None to leave one out; or places from 0, such as 0 or
    [1, 2, 3], where there is no header. Unless given: t, q1.., qd1.., qdd1.., tau1..,
    temperature1.., motor1.. (or theta1..), motor_rate1.., or 2-D arrays so named; where there are
    none, columns that are called like them (actual_q_0, Axis1 Trq).
    `units` by quantity, such as {"q": "deg", "t": "ms"}: one, or one per joint; those that a text
    file gives in its header ("q1 [deg]") or in a line below it are taken from there. {"tau": -1}
    turns signs around, [1, -1, 1] that of one joint. Where nothing says them, degrees, rpm, mm,
    mN m and parts of a second are guessed from the numbers.
    `sample_time` (s) where there are no stamps.
    `joints`: which, and in which order: names, or places from 0; with `robot`, its joints by name,
    or by the end of their names where those of the log have another prefix (fr3_, /robot1/).
    `rows` (first, last) of the source from 0, last not included; then `window` (start, stop) in
    seconds from the first stamp of those, both included.
    `drive_gains` (N m/A at the joint) turn current into tau; `gear_matrix` R (or its diagonal; the
    robot's unless given) turns what the motors know into q = R^-1 motor_q and tau = R^T motor_tau;
    `offset` (rad or m) is added to q and motor. These three are in the order of the log's joints.
    `topic` of a bag: one of joint states, found by itself if it is the only one, or a pair of that
    and the one of its efforts; or one of other messages, whose fields `columns` names by their
    paths, such as "motors.q".
    `max_bytes`: what a file may take in memory as it declares it, before it is read.

    Rows with NaN or inf, repeated stamps, and first rows before a jump of the clock or of a joint
    are dropped; `log.findings` lists that, every guess, and whatever else is dubious.
    """
    units = by_quantity(units, "units", "{'q': 'deg', 't': 'ms'}", UNITS)
    number(max_bytes, "max_bytes", "a number above 0", lambda x: x > 0.0)
    wanted = wanted_joints(joints, robot)
    with stage(f"reading {Path(source).name if isinstance(source, (str, Path)) else 'a log'}"):
        table = open_source(source, topic, wanted, max_bytes)
        asked = by_quantity(columns, "columns", SUCH, QUANTITIES)
        guess = guess_columns(table, asked, wanted, sample_time is None)
        blocks = pick(table, {**asked, **guess})
    cut = rows_of((None, None) if rows is None else rows, _count(blocks, table.where))
    _one_part(table, cut)
    blocks = {x: block._replace(values=block.values[cut]) for x, block in blocks.items()}
    first = cut.start or 0
    clock = _clock(blocks.pop("t", None), blocks, sample_time, first, units, table)
    blocks, findings = arrange(blocks, joints, robot, table.where)
    if window is not None:
        inside = within(clock.t, window)
        clock = Stamps(clock.t[inside], clock.rows[inside], clock.findings)
    signs, units = split_signs(units, _joint_count(blocks))
    units = declared(blocks, table) | units
    values = {x: scaled(x, b, units)[clock.rows] for x, b in blocks.items()}
    given = gear_matrix, robot, wanted
    where = table.where + (f", {guess['current']!r}," if "current" in guess else "")
    arrays = _joint_side(values, drive_gains, *given, where)
    arrays, kept, dropped = _finite(arrays, clock.rows + first, table.where)
    if name is None:
        name = Path(source).stem if isinstance(source, (str, Path)) else ""
    log = Log(clock.t[kept], name=name, stated=tuple(units), **arrays)  # type: ignore[arg-type]
    motors = [_of_joint(x, blocks) for x in blocks if x in MOTOR_SIDE]
    known = [*units, *motors, *(("tau",) if "current" in blocks else ())]
    log, guessed = guess_units(log, known, robot, wanted, table.where)
    log, corrupt = _without_corrupt_start(log, table.where)
    log = replace(log, **{x: getattr(log, x) * sign for x, sign in signs.items() if x in arrays})
    if offset is not None:
        added = _per_joint(offset, "offset", log.n)
        both = {name: getattr(log, name) for name in ("q", "motor")}
        log = replace(log, **{name: x + added for name, x in both.items() if x is not None})
    said = [guess_finding(guess, table.where)] if guess else []
    findings = [*table.findings, *said, *clock.findings, *findings, *dropped, *guessed, *corrupt]
    findings += [*uneven(log.t, table.where), *implausible(log, table.where)]
    return log.with_findings(sorted(findings))


def _joint_count(blocks: Mapping[str, Block]) -> int:
    return blocks["q" if "q" in blocks else "motor_q"].values.shape[1]


def _without_corrupt_start(log: Log, where: str) -> tuple[Log, list[Finding]]:
    """The log from behind the last jump among its first rows."""
    count = corrupt_start(without_spikes(log))
    if not count or len(log) - count < 2:
        return log, []
    what = f"the first rows are corrupt: {counted(count, 'row')} before a jump of q were dropped"
    return log.rows(count), [Finding("warning", where, what, "look at how the log was started")]


def _one_part(table: Table, cut: slice) -> None:
    """Refuse rows of several recordings that follow each other in one file."""
    found = [
        x
        for x in table.parts
        if x.last > (cut.start or 0) and (cut.stop is None or x.first < cut.stop)
    ]
    if len(found) > 1:
        listed = ", ".join(f"{x.name} (rows {x.first} to {x.last - 1})" for x in found[:10])
        more = ", .." if len(found) > 10 else ""
        raise OptionError(
            f"{table.where} holds {len(found)} motions: {listed}{more}, expected one",
            f"rows=({found[0].first}, {found[0].last}) reads {found[0].name}",
        )


def _count(blocks: dict[str, Block], where: str) -> int:
    """Rows, if all blocks have as many."""
    first = blocks["q" if "q" in blocks else "motor_q"].values
    count = len(first)
    for quantity, block in blocks.items():
        if len(block.values) != count:
            raise ShapeError(
                f"{where}: {quantity} has shape {block.values.shape}, q {first.shape}, expected as "
                "many rows",
                "one row per sample, one column per joint: transpose what is the other way",
            )
    if count < 2:
        raise ShapeError(f"{where} has {counted(count, 'row')}, expected at least 2")
    if first.shape[1] > count:
        raise ShapeError(
            f"{where}: q has shape {first.shape}: more joints than samples",
            "one row per sample, one column per joint: transpose it",
        )
    return count


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
        seconds = factor("t", units.get("t", table.units.get(block.names[0], "s")), 1)
        return stamps(block.values.reshape(-1), seconds, table.where, "t" in units)
    if sample_time is None:
        raise OptionError(
            f"{table.where} has no time stamps t; it has: {table.holds()}",
            f"columns=dict(t=...), or sample_time=... in seconds{_single_number(table)}",
        )
    positive(sample_time, "sample_time", "seconds")
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


def _joint_side(
    given: Mapping[str, np.ndarray],
    gains: Any,
    gears: Any,
    robot: "Robot | None",
    joints: Sequence[str] | None,
    where: str,
) -> dict[str, np.ndarray]:
    """q, qd, qdd and tau of the joints, motor and motor_rate in their units."""
    motors = [x for x in given if x in MOTOR_SIDE]
    if gears is not None and not motors:
        raise OptionError(
            "gear_matrix was given, but nothing on the motor side",
            "columns=dict(motor_q=..., motor_tau=...) says which columns are the motors'",
        )
    if gains is not None and "current" not in given:
        hint = "columns=dict(current=...) says which it is"
        raise OptionError("drive_gains was given, but no current", hint)
    done = {x: values for x, values in given.items() if x in ("q", "tau", *OPTIONAL)}
    if "current" in given:
        current = given["current"]
        if gains is None:
            raise OptionError(
                f"{where} gives currents, and a current is not a torque: drive_gains is missing",
                "drive_gains=[...] in N m/A at the joint (torque constant times gear ratio), from "
                "the maker, from a published model, or identified from the same motion without and "
                "with a known load",
            )
        done["tau"] = current * _per_joint(gains, "drive_gains", current.shape[1])
    if motors:
        if gears is None:
            gears = _gears_of(robot, given[motors[0]].shape[1], joints, where)
        R = _gear_matrix(gears, given[motors[0]].shape[1])
        for x in motors:
            with np.errstate(all="ignore"):  # rows with NaN go next
                turned = given[x] @ R if x == "motor_tau" else np.linalg.solve(R, given[x].T).T
            done[_of_joint(x, given)] = turned
    return done


def _finite(
    arrays: dict[str, np.ndarray], rows: np.ndarray, where: str
) -> tuple[dict[str, np.ndarray], np.ndarray, list[Finding]]:
    """Without the rows that hold NaN or inf; rates that are mostly so are left out instead."""
    found = []
    for name in OPTIONAL:
        if name not in arrays:
            continue
        count, total = int((~np.isfinite(arrays[name])).any(axis=1).sum()), len(arrays[name])
        if 2 * count > total:
            del arrays[name]
            if name == "motor":
                arrays.pop("motor_rate", None)
            what = f"{name} is NaN or inf in {count} of {total} rows and was left out"
            instead = DIFFERENTIATED if name in ("qd", "qdd") else "look at how it was measured"
            found.append(Finding("warning", where, what, instead))
    bad = {x: ~np.isfinite(values) for x, values in arrays.items()}
    bad_rows = np.any([x.any(axis=1) for x in bad.values()], axis=0)
    names = [f"{x}{i + 1}" for x, b in bad.items() for i in np.flatnonzero(b.any(axis=0))]
    count, total = int(bad_rows.sum()), len(bad_rows)
    if 2 * count > total or total - count < 2:
        raise OptionError(
            f"{where}: {count} of {total} rows hold NaN or inf, in {', '.join(names)}",
            "look at those columns; joints= leaves a joint out",
        )
    if count:
        what = (
            f"{count} of {total} rows with NaN or inf were dropped, the first row "
            f"{rows[bad_rows.argmax()]} (from 0); in {', '.join(names)}"
        )
        found.append(Finding("warning", where, what, "look at how those were measured"))
    return {x: values[~bad_rows] for x, values in arrays.items()}, ~bad_rows, found


# the motor side

MOTOR_SIDE = ("motor_q", "motor_qd", "motor_qdd", "motor_tau")  # what gears turn into joints'
BOTH = {"motor_q": ("q", "motor"), "motor_qd": ("qd", "motor_rate")}  # where links are measured too


def _of_joint(quantity: str, known: Container[str]) -> str:
    """A quantity of the motors in units of the joints."""
    link, motor = BOTH.get(quantity, ("", ""))
    return motor if link in known else quantity.removeprefix("motor_")


def _gear_matrix(given: Any, n: int) -> np.ndarray:
    """R (n, n) as given (n numbers are its diagonal); invertible."""
    R = numbers(given, "gear_matrix", "finite numbers")
    R = np.diag(R) if R.ndim == 1 else R
    if R.shape != (n, n):
        expected = f"({n}, {n}), or {n} ratios: one per motor"
        raise ShapeError(f"gear_matrix has shape {R.shape}, expected {expected}")
    sizes = np.linalg.svd(R, compute_uv=False)
    if not sizes[-1] > SINGULAR * sizes[0]:
        raise OptionError(
            "gear_matrix is singular: the motors do not determine the joints",
            "row i is what motor i turns per turn of each joint",
        )
    return R


def _per_joint(given: Any, name: str, n: int) -> np.ndarray:
    values = numbers(given, name, "finite numbers")
    if values.shape != (n,):
        raise ShapeError(f"{name} has shape {values.shape}, expected ({n},): one per joint")
    return values


def _gears_of(
    robot: "Robot | None", n: int, joints: Sequence[str] | None, where: str
) -> np.ndarray:
    """R of a robot, which is in the robot's own order of joints."""
    if robot is None:
        raise OptionError(
            f"{where} gives motor positions or torques, but gear_matrix is missing",
            "gear_matrix=[...] with one ratio per joint, or rows where motors turn several "
            "joints; or robot= with drives",
        )
    own = robot.drive_names
    if joints is not None and tuple(joints) != own:
        raise OptionError(
            f"joints are {', '.join(joints)}, the gear matrix of {robot.name!r} is for "
            f"{', '.join(own)}",
            "leave joints out, or give gear_matrix= in the order of joints",
        )
    model = robot.model
    links = [x for x, idle in zip(model.links, model.follows, strict=True) if not idle]
    if len(links) != n:
        raise OptionError(
            f"robot {robot.name!r} has {len(links)} motors, {where} gives {n}",
            "give gear_matrix= for the motors of the log",
        )
    if model.gear_matrix is not None:
        return np.array([[resolve(x, model.values) for x in row] for row in model.gear_matrix])
    missing = [str(x.joint_name) for x in links if x.drive is None]
    if missing:
        raise OptionError(
            f"robot {robot.name!r} has no drive at {', '.join(missing)}, so no gear ratio",
            "give gear_matrix=",
        )
    gears = [link.drive.gear for link in links if link.drive is not None]
    return np.array([float(resolve(x, model.values)) for x in gears])
