"""Motions from files of columns: points with times, or points to be passed in a given time."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, positive
from ..errors import FileError, OptionError, counted, did_you_mean
from .function import simplified
from .path import limit_of, shape_of
from .polynomial import Hermite, quintic, via
from .trajectory import Along, Trajectory, bounds

if TYPE_CHECKING:
    from ..logs.table import Block, Table
    from ..robot import Robot

TIMES = ("t", "time", "times", "timestamp", "stamp", "seconds")  # usual names of times
RATES = ("qd", "qdd")
OTHERS = (  # numbered columns that are no positions
    *("qd", "qdd", "tau", "temperature", "current", "motor", "motor_rate"),
)
EXPECTED = "expected a header such as t,q1,q2 or t [s],shoulder [deg],elbow [deg]"
GRID = 1001  # instants at which limits are looked at


@checked
def from_file(
    path: str | Path,
    robot: "Robot | None" = None,
    *,
    columns: Mapping[str, Any] | None = None,
    units: Mapping[str, Any] | None = None,
    duration: float | None = None,
    velocity: Any = None,
    acceleration: Any = None,
    tolerance: float | None = None,
) -> Trajectory:
    """The motion of a .csv file (or .npz, .mat, .parquet) with one row per point.

    Columns: times (t or time), and joints by the robot's names, as q1, q2, .., or all that are left
    without a robot; `columns` names others, as in `dy.read_log`. Units stand in the header
    ("elbow [deg]", "t [ms]"), in a line below it, or in `units` such as {"q": "deg"}; else they are
    seconds, radians and metres.

    With times the motion is the quintic spline through the points, at rest at both ends; where the
    file has velocities qd1, .. (and accelerations qdd1, ..) they are kept instead. Times count from
    the first. Without times the points are passed from rest to rest in `duration` seconds, or as
    fast as `velocity` and `acceleration` allow (per joint, or one for all; velocity is the robot's
    velocity_limit unless given).

    `tolerance` (rad or m) leaves out knots that the motion does not need: long recordings become
    tables that a controller in C can hold.
    """
    from ..logs.source import open_source
    from ..logs.table import by_quantity, declared, pick, scaled
    from ..logs.units import UNITS

    if not Path(path).exists():
        raise FileError(f"{path} does not exist, expected a file such as points.csv")
    table = open_source(path, None, None)
    _refuse_cut(table)
    asked = dict(by_quantity(columns, "columns", "dict(t='time', q='pos_*')", ("t", "q", *RATES)))
    given = by_quantity(units, "units", "{'q': 'deg'}", UNITS)
    if "t" not in asked:
        asked["t"] = _times(table)
    if "q" not in asked:
        asked["q"] = _joints(table, robot, asked["t"])
    blocks = pick(table, asked, ("t", "q", *RATES), needed=("q",))
    told = declared(blocks, table) | dict(given)
    arrays = {name: scaled(name, block, told) for name, block in blocks.items()}
    for name, block in blocks.items():
        _refuse_unknown(table, block, arrays[name])
    _refuse_other_joints(table, blocks, told, robot)
    if len(arrays["q"]) < 2:
        raise FileError(f"{table.where} has {len(arrays['q'])} row, expected two points or more")
    limits = {"duration": duration, "velocity": velocity, "acceleration": acceleration}
    if "t" in blocks:
        found: Trajectory = _timed(table, arrays, limits)
    else:
        found = _untimed(table, arrays["q"], limits, robot)
    return found if tolerance is None else simplified(found, tolerance)


def _refuse_cut(table: "Table") -> None:
    """A last line with too few cells is a point that is not there."""
    for finding in table.findings:
        if "cut short" in finding.what:
            raise FileError(
                f"{table.where}: {finding.what.removesuffix(' and was dropped')}, expected "
                f"{len(table.names)} cells as in the header",
                "mend or delete that line",
            )


def _times(table: "Table") -> str | None:
    """The column of times, if there is one under a usual name."""
    return next((name for name in table.names if name.lower() in TIMES), None)


def _joints(table: "Table", robot: "Robot | None", times: Any) -> Any:
    """The columns of the joints: those of the robot, q1.., or all but the times."""
    from ..logs.table import numbered, refuse_unit

    usual = numbered(table, "q")
    if robot is not None:
        names = list(robot.drive_names)
        here = [x for x in names if x in table.names]
        if len(here) == len(names):
            return names
        if here or not usual:
            missing = next(x for x in names if x not in here)
            _refuse_bare(table)
            for name in (missing, "q"):
                refuse_unit(table, name)
            close = did_you_mean(missing, [x for x in table.names if x not in here and x != times])
            hint = f"{close} " if close.startswith("did") else ""
            raise FileError(
                f"{table.where} has no column {missing!r} of robot {robot.name!r}, whose joints "
                f"are {', '.join(names)}; it has: {table.holds()}",
                f"{hint}name its columns so, or q1, q2, ..; columns=dict(q=[...]) says which "
                "columns they are, in that order",
            )
    if usual:
        return "q"
    _refuse_bare(table)
    rest = [x for x in table.names if x != times]
    for name in OTHERS:
        rest = [x for x in rest if x not in numbered(table, name)]
    if not rest:
        raise FileError(f"{table.where} has no columns of joints, {EXPECTED}")
    return rest if len(rest) > 1 else rest[0]


def _refuse_bare(table: "Table") -> None:
    """Refuse a file without a header."""
    if all(x.isdigit() for x in table.names):
        raise FileError(
            f"{table.where} begins with numbers, not with names: {len(table.names)} columns, "
            f"{EXPECTED}",
            "or columns=dict(t=0, q=[1, 2]), which counts them from 0",
        )


def _refuse_unknown(table: "Table", block: "Block", values: np.ndarray) -> None:
    """Refuse NaN, infinity and empty cells by line and column."""
    values = values.reshape(len(values), -1)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise FileError(
            f"{table.line(row)}, column {block.names[column]!r} is empty or holds "
            f"{values[row, column]}, expected a number"
        )


def _refuse_other_joints(
    table: "Table", blocks: Mapping[str, Any], told: Mapping[str, Any], robot: "Robot | None"
) -> None:
    """Refuse another number of joints, and angles of joints that slide."""
    from ..logs.units import ANGLE, LENGTH, plain_unit

    names = blocks["q"].names
    for quantity in [x for x in RATES if x in blocks]:
        if len(blocks[quantity].names) != len(names):
            raise FileError(
                f"{table.where} has {counted(len(names), 'column')} of q ({', '.join(names)}) and "
                f"{len(blocks[quantity].names)} of {quantity}, expected as many"
            )
    if robot is None:
        return
    joints = robot.drive_names
    if len(names) != len(joints):
        raise FileError(
            f"{table.where} has {counted(len(names), 'column')} of joints "
            f"({', '.join(names)}), robot "
            f"{robot.name!r} has {len(joints)}: {', '.join(joints)}",
            "it needs one for every joint, by its name or as q1, q2, ..; columns=dict(q=[...]) "
            "says which they are",
        )
    units = told.get("q", [1.0] * len(names))
    units = [units] * len(names) if isinstance(units, (str, float, int)) else list(units)
    for name, unit, k in zip(names, units, robot.driven, strict=False):
        kind = robot.joint_kinds[k]
        other, right = (ANGLE, LENGTH) if kind == "prismatic" else (LENGTH, ANGLE)
        if isinstance(unit, str) and plain_unit(unit) in map(plain_unit, other):
            raise FileError(
                f"{table.where}, column {name!r} is in {unit}, but joint {robot.joint_names[k]!r} "
                f"is {kind}, expected one of {', '.join(right)}"
            )


def _timed(table: "Table", arrays: Mapping[str, np.ndarray], limits: Mapping[str, Any]) -> Hermite:
    """Through the points at their times."""
    given = next((name for name, value in limits.items() if value is not None), None)
    if given is not None:
        raise OptionError(
            f"{given} was given, but {table.where} has times",
            "columns=dict(t=None) leaves them aside",
        )
    t = arrays["t"].ravel()
    late = np.flatnonzero(~(np.diff(t) > 0))
    if len(late):
        k = int(late[0])
        raise FileError(
            f"{table.line(k + 1)}: time {t[k + 1]:.9g} s does not come after {t[k]:.9g} s of the "
            "row before, expected rising times"
        )
    t = t - t[0]
    if "qd" not in arrays:
        return via(arrays["q"], t)
    rows = [arrays[name] for name in ("q", *RATES) if name in arrays]
    return Hermite(t.tolist(), np.stack(rows, axis=1))


def _untimed(
    table: "Table", points: np.ndarray, limits: Mapping[str, Any], robot: "Robot | None"
) -> Along:
    """Through the points by a cubic spline in their distance, from rest to rest."""
    same = np.flatnonzero(~np.diff(points, axis=0).any(axis=1))
    if len(same):
        raise FileError(
            f"{table.line(int(same[0]) + 1)} is the same point as the row before",
            "leave it out, or give the points times (a column t)",
        )
    shape = shape_of(points)
    if limits["duration"] is not None:
        if limits["velocity"] is not None or limits["acceleration"] is not None:
            raise OptionError("duration was given, and velocity or acceleration", "leave one out")
        return Along(shape, quintic(0.0, 1.0, positive(limits["duration"], "duration", "seconds")))
    n = points.shape[1]
    free = np.full(n, np.inf)
    own = free if robot is None else bounds(robot)[0][list(robot.driven), 1]
    most = {
        "velocity": limit_of(limits["velocity"], "velocity", n, own),
        "acceleration": limit_of(limits["acceleration"], "acceleration", n, free),
    }
    if not any(np.isfinite(x).any() for x in most.values()):
        raise OptionError(
            f"{table.where} has no times: its columns are {table.holds()}",
            "give duration= in seconds, or velocity= and acceleration=, or a column t",
        )
    unit = Along(shape, quintic(0.0, 1.0, 1.0))(np.linspace(0.0, 1.0, GRID))
    needed = 0.0  # seconds; velocities fall with 1 / T, accelerations with 1 / T^2
    for name, values, power in (("velocity", unit.qd, 1.0), ("acceleration", unit.qdd, 0.5)):
        needed = max(needed, float((np.abs(values).max(axis=0) / most[name]).max()) ** power)
    return Along(shape, quintic(0.0, 1.0, needed))
