"""`dynamis payload`: what a robot of known parameters carries, from a log of its motion."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import Positional, arg

from ..errors import OptionError
from ..model.check.finding import Finding
from .arguments import SAVED, Json, RobotName, RunXacro, Seconds
from .logs import IN_SI, KINDS, Span, TorqueOptions, existing, say, span
from .printing import data, data_json, number, table, talk, wrote

LogFile = Annotated[Path, Positional, arg(metavar="LOG", help=f"Log of the motion: {KINDS}")]
SURE = 1.96  # standard deviations to either side: 95 of 100
UNITS = ("kg", "m", "m", "m", *["kg m^2"] * 6)


def run(
    robot: RobotName, log: LogFile, *, free: Path | None = None, friction: str | None = None,
    online: bool = False, memory: Seconds = None, reading: TorqueOptions = IN_SI,
    window: Span = None, free_window: Span = None, save: Path | None = None,
    run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Identify the payload of a robot: mass, centre of mass and inertia, with 95 % intervals.

    A payload in the robot's description is removed first. Exit code 1 if the mass does not differ
    from zero significantly.

    For example:

      dynamis payload arm.toml run.csv --save arm_with_load.toml
      dynamis payload arm.toml loaded.npz --free free.npz --friction offset
      dynamis payload ur10e run.csv --columns current=i --gains 14.9,13.3,11.1,10.6,11,11.5 --online

    Args:
        free: Log of the same motion without the payload: errors of the robot's model cancel.
        friction: Part of the friction that may have changed: offset, viscous, symmetric or
            asymmetric (default: none of it).
        online: Estimate sample by sample as dy.PayloadObserver does on a robot.
        memory: Length of the past motion that --online uses (default: all of it).
        window: Time interval of LOG in seconds; either end may be omitted.
        free_window: Time interval of the --free log.
        save: Write the robot with the payload to this .toml or .urdf.
    """
    from ..files import checked_path
    from ..identify.payload import changed_friction, identify_payload
    from ..identify.payload_observer import PayloadObserver

    if save is not None:
        checked_path(save, SAVED, "robot")
    if online and (free is not None or friction is not None):
        raise OptionError("--online uses neither --free nor --friction", "leave them out")
    if memory is not None and not online:
        raise OptionError("--memory is for --online", "give --online too")
    if free_window is not None and free is None:
        raise OptionError("--free-window is for --free", "give --free LOG too")
    changed_friction(friction)
    existing(log, free)
    arm = reading.robot(robot, run_xacro)
    loaded = reading.log(log, arm, span(window, "window"))
    other = None if free is None else reading.log(free, arm, span(free_window, "free-window"))
    findings = [x for one in (loaded, other) if one is not None for x in one.findings]
    if online:
        found = PayloadObserver(memory=memory).run(arm, loaded).estimate
    else:
        found = identify_payload(arm, loaded, free=other, friction=friction)
    fine = bool(found.mass > SURE * found.standard_deviations[0])
    if save is not None:
        found.robot.save(save)
    if json:
        data_json(_everything(found, findings, fine) | {"save": save})
    else:
        say(findings)
        _say(found, arm)
        wrote(save)
    if not fine:
        talk("the mass cannot be told from zero: nothing is carried, or the motion shows little")
    return int(not fine)


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
    names = zip(arm.drive_names, found.residual, found.residual_without, strict=True)
    rows = [(name, number(a), number(b)) for name, a, b in names]
    columns = ("joint", "RMS left with the payload", "without it")
    data(table("torques, low-passed", columns, rows, right=columns[1:]))


def _everything(found: Any, findings: Sequence[Finding], fine: bool) -> dict[str, Any]:
    return {
        "ok": fine,
        "mass": found.mass,
        "com": found.com,
        "inertia": found.inertia,
        "values": dict(zip(found.names, found.values, strict=True)),
        "standard_deviations": dict(zip(found.names, found.standard_deviations, strict=True)),
        "unseen": found.unseen,
        "is_physical": found.is_physical,
        "residual": found.residual,
        "residual_without": found.residual_without,
        "friction": found.friction,
        "shift": found.shift,
        "findings": findings,
    }
