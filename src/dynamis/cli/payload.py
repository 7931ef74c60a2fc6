"""`dynamis payload`: what a robot of known parameters carries, from a log of its motion."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import Positional, arg

from ..errors import FileError, OptionError
from ..robot import load
from .arguments import Json, Numbers, RobotName, listed
from .identify import SAVED, Pairs, Span, _pairs, _span
from .printing import data, data_json, in_terminal, number, table, talk, wrote

LogFile = Annotated[
    Path, Positional, arg(metavar="LOG", help="Log of the motion: .csv, .npz, .parquet or .mcap.")
]
SURE = 1.96  # standard deviations to either side: 95 of 100
UNITS = ("kg", "m", "m", "m", *["kg m^2"] * 6)


def run(
    robot: RobotName, log: LogFile, *, free: Path | None = None, friction: str | None = None,
    online: bool = False, memory: float | None = None, columns: Pairs = None, units: Pairs = None,
    sample_time: float | None = None, gains: Numbers = None, window: Span = None,
    free_window: Span = None, save: Path | None = None, json: Json = False,
) -> int:  # fmt: skip
    """Identify the payload of a robot: mass, centre of mass and inertia, with 95 % intervals.

    A payload the robot already has is taken off first. Exit code 1 if the mass cannot be told
    from zero.

    For example:

      dynamis payload arm.toml run.csv --save arm_with_load.toml
      dynamis payload arm.toml loaded.npz --free free.npz --friction offset
      dynamis payload ur10e run.csv --columns current=i --gains 14.9,13.3,11.1,10.6,11,11.5 --online

    Args:
        free: Log of the same motion without the payload: errors of the robot's model cancel.
        friction: What of the friction may have changed: offset, viscous, symmetric, asymmetric.
        online: Estimate sample by sample as dy.PayloadObserver does on a robot.
        memory: Seconds of motion that count with --online (default: all).
        columns: Columns of t, q, qd, tau, current, motor_q, .. in the log: a name, a pattern such
            as pos_*, or several names with commas. An empty value ignores a signal.
        units: Units other than SI, such as q=deg,t=ms.
        sample_time: Seconds, if the logs have no time stamps.
        gains: Drive gains (N m/A at the joint), one per joint, if the logs contain currents.
        window: Time interval of LOG in seconds; either end may be omitted.
        free_window: Time interval of the --free log.
        save: Write the robot with the payload to this .toml or .urdf.
    """
    from ..files import checked_path
    from ..identify.payload import changed_friction, identify_payload
    from ..identify.payload_observer import PayloadObserver
    from ..logs.read import read_log

    if save is not None:
        checked_path(save, SAVED, "robot")
    if online and (free is not None or friction is not None):
        raise OptionError("--online uses neither --free nor --friction", "leave them out")
    if memory is not None and not online:
        raise OptionError("--memory is for --online", "give --online too")
    changed_friction(friction)
    arm = load(robot)
    how = {
        "columns": _pairs(columns, "columns"),
        "units": _pairs(units, "units"),
        "sample_time": sample_time,
        "drive_gains": None if gains is None else listed(gains, "numbers", "gains"),
        "robot": arm,
    }
    existing(log, free)
    loaded = read_log(log, window=_span(window, "window"), **how)
    other = None
    if free is not None:
        other = read_log(free, window=_span(free_window, "free-window"), **how)
    if online:
        found = PayloadObserver(memory=memory).run(arm, loaded).estimate
    else:
        found = identify_payload(arm, loaded, free=other, friction=friction)
    fine = bool(found.mass > SURE * found.standard_deviations[0])
    if save is not None:
        found.robot.save(save)
    if json:
        data_json(_everything(found, fine) | {"save": save and str(save)})
    else:
        for finding in loaded.findings:
            talk(in_terminal(str(finding)))
        _say(found, arm)
        wrote(save)
    if not fine:
        talk("the mass cannot be told from zero: nothing is carried, or the motion shows little")
    return int(not fine)


def existing(*paths: Path | None) -> None:
    """Refuse files that are not there."""
    for path in paths:
        if path is not None and not path.exists():
            raise FileError(f"there is no file {str(path)!r}")


def _say(found: Any, arm: Any) -> None:
    rows = []
    for name, value, s, unit in zip(
        found.names, found.values, found.standard_deviations, UNITS, strict=True
    ):
        half = "not shown by the motion" if not np.isfinite(s) else f"+- {SURE * s:.2g}"
        rows.append((name, number(value), half, unit))
    columns = ("quantity", "value", "95 % interval", "unit")
    title = "payload, in the tool frame; inertia about the centre of mass"
    data(table(title, columns, rows, right=columns[1:2]))
    names = zip(arm.joint_names, found.residual, found.residual_without, strict=True)
    rows = [(name, number(a), number(b)) for name, a, b in names]
    columns = ("joint", "RMS left with the payload", "without it")
    data(table("torques, low-passed", columns, rows, right=columns[1:]))


def _everything(found: Any, fine: bool) -> dict[str, Any]:
    return {
        "ok": fine,
        "mass": found.mass,
        "com": found.com.tolist(),
        "inertia": found.inertia.tolist(),
        "values": dict(zip(found.names, found.values.tolist(), strict=True)),
        "standard_deviations": dict(
            zip(found.names, found.standard_deviations.tolist(), strict=True)
        ),
        "unseen": list(found.unseen),
        "is_physical": found.is_physical,
        "residual": found.residual.tolist(),
        "residual_without": found.residual_without.tolist(),
        "friction": found.friction.tolist(),
        "shift": found.shift,
    }
