"""`dynamis calibrate`: the geometry of an arm from what was measured at its tool."""

from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from ..arguments import SAVED, Json, RobotName, RunXacro
from ..logs import Pairs, existing, pairs, say
from ..printing import data, data_json, in_terminal, table, wrote

Source = Annotated[
    Path,
    Positional,
    arg(metavar="FILE_OR_FOLDER", help="Observations: .csv, .npz, .mat, .parquet, or a folder."),
]
Kind = Literal["points", "poses", "sockets", "plane"]
Metres = Annotated[float | None, arg(metavar="METRES")]
Pattern = Annotated[str | None, arg(metavar="PATTERN")]
STYLES = {"good": "good", "doubtful": "warning", "not seen": "note", "not usable": "error"}


def run(
    robot: RobotName, observations: Source, *, kind: Kind = "points", distance: Metres = None,
    places: Pattern = None, validate: Path | None = None, columns: Pairs = None,
    units: Pairs = None, stiffness: bool = False, harmonics: bool = False, gear: bool = False,
    temperature: bool = False, save: Path | None = None, report: Path | None = None,
    run_xacro: RunXacro = False,
    json: Json = False,
) -> int:  # fmt: skip
    """Calibrate a robot: joint zeros, lengths and angles as built, from points or sockets.

    What the observations cannot tell, and what does not pay on places held out, stays nominal. Exit
    code 1 if the verdict is "not seen" or "not usable".

    For example:

      dynamis calibrate ur10 tracker.csv --save as_built.toml
      dynamis calibrate panda folder_of_sockets --kind sockets --distance 0.05 --report out.html
      dynamis calibrate arm.toml points.npz --columns q=q,position=pos --units position=mm

    Args:
        kind: Kind of observations: points (positions of a target), poses (with a quaternion),
            sockets (a point held from many postures: one file or array a socket), plane.
        distance: Distance of the two sockets of a place.
        places: Pattern of the places that are read, such as "panda_1/*".
        validate: Other observations of the same kind, for validation.
        columns: Columns of q, position, orientation, std, temperature, place, socket: a name, a
            pattern such as joint_*, or several names with commas.
        units: Units of q and position other than SI, such as q=deg,position=mm.
        stiffness: Find the stiffness of the joints under gravity too.
        harmonics: Find the first harmonics of the encoders too.
        gear: Find errors of the gear ratios too.
        temperature: Find thermal growth too; needs a column of temperatures.
        save: Write the robot as built to this .toml or .urdf.
        report: Write a report to this .html.
    """
    from ...calibration.calibrate import calibrate
    from ...calibration.read import read_observations
    from ...files import PAGES, checked_path
    from ...robot import load

    if save is not None:
        checked_path(save, SAVED, "robot")
    if report is not None:
        checked_path(report, PAGES, "report")
    existing(observations, validate)
    arm = load(robot, run_xacro=run_xacro)
    how: dict[str, Any] = {
        "kind": kind, "robot": arm, "columns": pairs(columns, "columns"),
        "units": pairs(units, "units"), "distance": distance, "places": places,
    }  # fmt: skip
    seen = read_observations(observations, **how)
    others = None if validate is None else read_observations(validate, **how)
    found = calibrate(
        arm, seen, stiffness=stiffness, harmonics=harmonics, gear=gear,
        temperature=True if temperature else None,
    )  # fmt: skip
    check = None if others is None else found.validate(others)
    if save is not None:
        found.save(save)
    if report is not None:
        found.report(report, () if check is None else (check,))
    fine = found.verdict.level in ("good", "doubtful")
    if json:
        data_json(_everything(found, check, fine) | {"save": save, "report": report})
    else:
        say(found.findings)
        _say(found, check)
        wrote(report, save)
    return int(not fine)


def _say(found: Any, check: Any) -> None:
    verdict = found.verdict
    reason = in_terminal(verdict.reason)
    rows = [((verdict.level, STYLES[verdict.level]), reason, in_terminal(verdict.remedy))]
    data(table("Verdict", ("verdict", "reason", "what to do"), rows))
    sizes = [x for x in (found.nominal, found.fit, found.held_out, check) if x is not None]
    head = ("accuracy", "rows", "mean, mm", "RMS, mm", "largest, mm")
    data(table("Distances", head, [x.cells() for x in sizes], right=head[1:]))
    head = ("parameter", "value", "standard deviation", "unit")
    data(table("As built less nominal", head, found.parameters.cells(), right=head[1:3]))
    for name in ("unidentifiable", "unhelpful"):
        if own := getattr(found, name):
            data(f"{name}, nominal: {', '.join(own)}")


def _everything(found: Any, check: Any, fine: bool) -> dict[str, Any]:
    parameters = found.parameters
    names = ("names", "values", "deviations", "units")
    keys = ("name", "value", "deviation", "unit")
    own = zip(*(getattr(parameters, x) for x in names), strict=True)
    return {
        "ok": fine,
        "verdict": found.verdict,
        "error": found.error,
        **{x: _sizes(getattr(found, x)) for x in ("nominal", "fit", "held_out")},
        "validation": _sizes(check),
        "parameters": [dict(zip(keys, x, strict=True)) for x in own],
        "unidentifiable": found.unidentifiable,
        "unhelpful": found.unhelpful,
        "findings": found.findings,
    }


def _sizes(own: Any) -> dict[str, float] | None:
    return None if own is None else {x: getattr(own, x) for x in ("mean", "rms", "max")}
