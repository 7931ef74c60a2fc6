"""`dynamis drive-gains`: torque per current of every drive, from a motion with and without load."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from ..errors import OptionError
from ..model.check.finding import Finding
from ..robot import Robot
from .arguments import Json, Numbers, RobotName, RunXacro, Word, listed
from .logs import AS_RECORDED, KINDS, Options, Reading, Span, existing, pairs, say, span
from .printing import data, data_json, number, table, talk, wrote

WITHOUT, WITH = f"Log of the motion without the load: {KINDS}", "Log of the motion with the load."
Free = Annotated[Path, Positional, arg(metavar="FREE", help=WITHOUT)]
Loaded = Annotated[Path, Positional, arg(metavar="LOADED", help=WITH)]
TABLES = (".csv", ".npz")


def run(
    robot: RobotName, free: Free, loaded: Loaded, *,
    mass: Annotated[float, arg(metavar="KG", help_behavior_hint="")],
    com: Numbers = None, friction: Word = "smooth",
    cutoff: Annotated[float, arg(metavar="HZ")] = 2.0, reading: Options = AS_RECORDED,
    free_window: Span = None, loaded_window: Span = None, save: Path | None = None,
    run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Identify drive gains from currents of one motion, run without and with a load of known mass.

    Exit code 1 if the standard deviation of a gain is above 20 % of it. The last line is the option
    --gains for other commands.

    For example:

      dynamis drive-gains ur10e free.npz load.npz --mass 2.805 --columns current=i
      dynamis drive-gains arm.toml free.csv load.csv --mass 5 --com 0,0,0.05 --save gains.csv
      dynamis identify arm.toml run.csv --gains 13.7,12.1,10.1,10.4,10.3,10.4

    Args:
        mass: Mass of the load in kg.
        com: Centre of mass of the load in the tool frame in metres, if it is known too.
        friction: Part of the friction that the load may change: none, offset, viscous, symmetric,
            asymmetric or smooth.
        cutoff: Cut-off frequency of the low-pass filter.
        free_window: Time interval of FREE in seconds; either end may be omitted.
        loaded_window: Time interval of LOADED.
        save: Write gains and standard deviations to this .csv or .npz.
    """
    from ..files import checked_path, write_columns
    from ..identify.drive_gains import identify_drive_gains

    if save is not None:
        checked_path(save, TABLES, "gains")
    existing(free, loaded)
    arm = reading.robot(robot, run_xacro)
    bare = _currents(reading, free, arm, span(free_window, "free-window"))
    held = _currents(reading, loaded, arm, span(loaded_window, "loaded-window"))
    place = None if com is None else listed(com, "three numbers, metres", "com")
    found = identify_drive_gains(arm, bare, held, mass, com=place, friction=friction, cutoff=cutoff)
    pairs = {"gain": found.gains, "standard_deviation": found.standard_deviations}
    if save is not None:
        write_columns(save, pairs)
    vague = any(finding.level == "warning" for finding in found.findings)
    said = [*bare.findings, *held.findings]
    if json:
        data_json(_everything(found, said, not vague) | {"save": save})
    else:
        say(said)
        _say(found, arm.joint_kinds)
        wrote(save)
        talk(f"for other commands: --gains {','.join(f'{g:.6g}' for g in found.gains)}")
    say(found.findings)
    return int(vague)


def _currents(reading: Reading, path: Path, arm: Robot, window: Any) -> Any:
    """A log in amperes: of its currents, else of what stands where torques do."""
    columns = pairs(reading.columns, "columns") or {}
    for named in ({"current": "current", **columns}, columns) if "tau" not in columns else ():
        with suppress(OptionError):  # without a column of currents by that name, or by any
            return reading.log(path, arm, window, columns=named, drive_gains=[1.0] * arm.n)
    return reading.log(path, arm, window)


def _say(found: Any, kinds: Sequence[str]) -> None:
    columns = ("joint", "gain", "standard deviation", "RMS left", "of the difference")
    per = ["N/A" if kind == "prismatic" else "N m/A" for kind in kinds]
    rows = zip(
        found.joint_names, per, found.gains, found.standard_deviations, found.residual,
        found.relative_residual, strict=True,
    )  # fmt: skip
    cells = [
        (name, f"{number(g)} {unit}", f"{s:.2g}", f"{r:.3g} A", f"{100 * share:.1f} %")
        for name, unit, g, s, r, share in rows
    ]
    x, y, z = found.com
    title = (
        f"drive gains; centre of mass of the load ({x:.4g}, {y:.4g}, {z:.4g}) m in the tool frame"
    )
    data(table(title, columns, cells, right=columns[1:]))


def _everything(found: Any, said: Sequence[Finding], fine: bool) -> dict[str, Any]:
    own = ("gains", "standard_deviations", "load", "com", "residual", "relative_residual", "shift")
    facts = {"ok": fine, "joints": found.joint_names} | {x: getattr(found, x) for x in own}
    return facts | {"findings": (*said, *found.findings)}
