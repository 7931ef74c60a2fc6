"""`dynamis identify`: a model identified from logs, with its accuracy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from tyro.conf import Positional, UseAppendAction, arg

from ..errors import OptionError
from .arguments import (
    SAVED,
    Json,
    RobotName,
    RunXacro,
    Word,
    check_pictures,
    listed,
    passive_names,
    words,
)
from .logs import FOLDER, IN_SI, KINDS, Span, TorqueOptions, existing, say, span
from .printing import data, data_json, in_terminal, number, table, talk, wrote

LogFiles = Annotated[
    tuple[Path, ...],
    Positional,
    arg(
        metavar="LOG [LOG ...]",
        help=f"Logs to identify from: {KINDS} {FOLDER}",
        help_behavior_hint="",
    ),
]
OtherLogs = Annotated[tuple[Path, ...], UseAppendAction, arg(metavar="LOG", help_behavior_hint="")]


def run(
    robot: RobotName, logs: LogFiles, *, validate: OtherLogs = (),
    friction: Word = "auto", estimator: Word = "feasible", rotors: bool = False,
    no_rotors: bool = False,
    only: Literal["friction"] | None = None, elastic: str | None = None,
    deflection_sensor: bool = False,
    prior: Annotated[float | None, arg(metavar="ROWS")] = None, passive_friction: str = "described",
    cutoff: Annotated[float | None, arg(metavar="HZ")] = None,
    reading: TorqueOptions = IN_SI, window: Span = None, validate_window: Span = None,
    limit: Annotated[float | None, arg(metavar="PERCENT")] = None,
    torque_delay: Annotated[str | None, arg(metavar="SECONDS")] = None, force: bool = False,
    report: Path | None = None, save: Path | None = None,
    run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Identify a robot's parameters from logs of its motion.

    The last third of a log (or the last of several logs that is no repeat) is held out for
    validation. A verdict (good, doubtful, not seen, not usable) is given for every joint; it counts
    the errors of what was held out and of the --validate logs. A log that is not usable is refused.
    Exit code 1 if the identified model is not physically consistent, or if --limit is exceeded.

    For example:

      dynamis identify arm.toml run.csv --validate other.csv --report id.html
      dynamis identify panda run.npz --columns "t=times,q=positions,qd=velocities,tau=torques"
      dynamis identify panda rosbag2_folder --topic /joint_states
      dynamis identify two_arms.urdf folder_of_logs --joints "left_*" --lock torso=0.1
      dynamis identify ur10e run.csv --columns current=i --gains 14.9,13.3,11.1,10.6,11,11.5

    Args:
        validate: Log of another motion for validation; may be given several times.
        friction: Friction model: auto (the simplest of those that cross-validation finds as good
            as the best), none, viscous, symmetric, asymmetric, stribeck, smooth, directional,
            grotjahn, loaded, loaded-grotjahn, thermal (needs temperatures), described (the law that
            each joint has), memory (symmetric-memory, loaded-grotjahn-memory and the like too:
            elements that stretch before they slip), lugre or dahl (bristles).
        estimator: ordinary (least squares), weighted, robust, total, instrumental, feasible
            (physically consistent) or robust-feasible.
        rotors: Identify rotor inertias too (default: if the model has drives, or if that explains
            the torque better).
        no_rotors: Never identify rotor inertias.
        only: Identify friction alone; masses and inertias stay as described.
        elastic: Joints whose stiffness, damping and backlash are identified: auto, or names with
            commas. From logs with columns of both sides (q1.., motor1..: of those hardening too),
            or of the motors alone (q1..). Errors are then those of the torque that the gears
            transmit.
        deflection_sensor: What measures the deflections low-passes them: its corner and damping
            ratio are found too. Logs begin at rest, joints are described with a stiffness.
        prior: Weight of the described masses and inertias with --estimator feasible, in rows of
            data (default: 1).
        passive_friction: Passive joints of a closed mechanism that have friction: described (those
            with friction in the model), all, none, or names with commas.
        cutoff: Cut-off frequency of the low-pass filter (default: by cross-validation).
        window: Time interval of every LOG in seconds; either end may be omitted.
        validate_window: Time interval of the --validate logs.
        limit: Largest relative error of a --validate log (without one: of the held-out part) that
            gives exit code 0.
        torque_delay: Delay of the logged torque after the positions in seconds, or the word
            estimate, for long ones (default: as far as a short one is significant).
        force: Identify even from a log that is found not usable.
        report: Write a report to this .html.
        save: Write the identified robot to this .toml or .urdf.
    """
    from ..identify.identification import identify
    from ..identify.processing import Processing
    from ..report.identification import write

    _check_before(logs, report, save, friction, estimator, limit)
    existing(*logs, *validate)
    if validate_window is not None and not validate:
        raise OptionError("--validate-window is for --validate", "give --validate LOG too")
    arm = reading.robot(robot, run_xacro)
    ours, others = span(window, "window"), span(validate_window, "validate-window")
    training = reading.logs(logs, arm, ours)
    tests = reading.logs(validate, arm, others)
    found = identify(
        arm, training, friction=friction, estimator=estimator, rotors=_rotors(rotors, no_rotors),
        cutoff=cutoff, only=only, prior=prior, elastic=_elastic(elastic),
        deflection_sensor=deflection_sensor, passive_friction=passive_names(passive_friction, arm),
        processing=Processing(torque_delay=_delay(torque_delay)), force=force,
    )  # fmt: skip
    checks = [found.validate(log) for log in tests]
    if report is not None:
        write(found, report, checks)
    if save is not None:
        found.save(save)
    fair = checks or ([] if found.held_out is None else [found.held_out])
    worst = max((check.relative_error_overall for check in fair), default=float("nan"))
    fine = found.is_physical and (limit is None or 100.0 * worst <= limit)
    if json:
        data_json(_everything(found, checks, fine) | {"report": report, "save": save})
    else:
        _say(found, checks)
        wrote(report, save)
    say(found.robot.model.findings)  # last, below the tables
    if not found.is_physical:
        talk(_inconsistent(found))
    if limit is not None and not 100.0 * worst <= limit:
        talk(f"the error of {100 * worst:.2f} % is above the limit of {limit:g} %")
    return int(not fine)


def _inconsistent(found: Any) -> str:
    """Why the identified model is not physically consistent, and what to do."""
    names = found.unknowns.robot.link_names
    bad = [name for name, good in zip(names, found.links_physical, strict=True) if not good]
    why = "friction is not dissipative, or a rotor inertia is negative"
    if bad:
        why = f"no rigid body has the parameters of {', '.join(bad)}"
    hint = "\nhint: --estimator feasible enforces consistency"
    hint = "" if found.estimator.endswith("feasible") else hint
    return f"the identified model is not physically consistent: {why}{hint}"


def _check_before(
    logs: Sequence[Path], report: Path | None, save: Path | None, friction: str, estimator: str,
    limit: float | None,
) -> None:  # fmt: skip
    """Check the arguments before the computation."""
    from ..files import PAGES, checked_path
    from ..identify.estimators import estimator_named
    from ..identify.friction.models import friction_named

    if not logs:
        raise OptionError("there is no LOG", "dynamis identify ROBOT LOG [LOG ...]")
    if friction != "auto":
        friction_named(friction)
    estimator_named(estimator)
    if limit is not None and not limit > 0.0:
        raise OptionError(f"limit is {limit!r}, expected percent above 0")
    if report is not None:
        check_pictures(checked_path(report, PAGES, "report"))
    if save is not None:
        checked_path(save, SAVED, "robot")


def _rotors(wanted: bool, unwanted: bool) -> bool | None:
    """Whether rotor inertias are sought; None: the log decides."""
    if wanted and unwanted:
        raise OptionError("--rotors and --no-rotors were given", "leave one out")
    return wanted or (False if unwanted else None)


def _elastic(given: str | None) -> str | list[str] | None:
    """The word auto, or names of joints."""
    return given if given in (None, "auto") else words(given)


def _delay(given: str | None) -> float | str | None:
    """Seconds, or the word that stands for them; None: the log decides."""
    if given is None or given == "estimate":
        return given
    return listed(given, "seconds or estimate", "torque-delay")[0]


def _say(found: Any, checks: Sequence[Any]) -> None:
    """The verdict, held out and validations, then the training log, then what the model is."""
    from ..identify.estimate import headline
    from ..identify.friction.hysteresis import presliding_said
    from ..identify.search.choice import CHOICES

    say(x for x in found.findings if x not in found.robot.model.findings)
    cutoff = float(found.processing[0].cutoff)
    data(_judgement(found, checks, headline(found.held_out, checks)))
    if found.held_out is not None:
        data(_accuracy(found, found.held_out, f"held out, {found.held_out.kind}"))
    for check in checks:
        data(_accuracy(found, check, f"validation, {check.kind}"))
    for fit in found.training:
        data(_accuracy(found, fit, "training, the fitted rows"))
    built = sum(found.links_physical)
    style = "good" if found.is_physical else "error"
    unsure = [name for name in found.names if name in found.not_identifiable]
    rows = [
        ("unknowns", f"{len(found.names)}, {len(unsure)} of them not identifiable"),
        *([("not identifiable", _some(unsure))] if unsure else []),
        ("intervals", found.interval_source),
        ("friction", found.friction),
        ("estimator", found.estimator),
        ("condition number", number(found.condition_number)),
        ("cut-off", f"{cutoff:.4g} Hz"),
        ("physically consistent links", (f"{built} of {len(found.links_physical)}", style)),
        ("physically consistent", ("yes" if found.is_physical else "no", style)),
    ]
    data(table(found.unknowns.robot.name, ("figure", "value"), rows))
    if said := presliding_said(found):
        data(said)
    if found.elastic is not None:
        head = ("joint", *(x.replace("_", " ") for x in found.elastic.columns))
        data(table("Elastic joints, intervals of 95 %", head, found.elastic.table()))
        if found.elastic.deflections is not None:
            data(found.elastic.deflections.sensor_said)
    if found.choices:
        data(table("Chosen by the log", CHOICES, [x.cells() for x in found.choices]))


NAMED = 6  # unknowns that a line names
LONG = 30  # characters of the name of a sum of parameters


def _some(names: Sequence[str]) -> str:
    """The first few names; --report and --json have all."""
    more = len(names) - NAMED
    short = [name if len(name) <= LONG else f"{name[:LONG]}..." for name in names[:NAMED]]
    return ", ".join(short) + (f" and {more} more (--report, --json)" if more > 0 else "")


STYLES = {"good": "good", "doubtful": "warning", "not seen": "note", "not usable": "error"}


def _judgement(found: Any, checks: Sequence[Any], figure: str) -> Any:
    """The verdict on all and on every joint, below the figure to quote."""
    rows = [
        (
            name,
            (level, STYLES[level]),
            reason if level == "good" else in_terminal(f"{reason}; {remedy}"),
        )
        for name, level, reason, remedy in found.judged(checks).cells()
    ]
    return table(f"Torque error: {figure}", ("joint", "verdict", "reason"), rows)


def _accuracy(found: Any, check: Any, label: str) -> Any:
    """The error of every joint in its parts, as logged; their squares add."""
    split = found.split(check)
    sizes = [*(f"{x:.4g}" for x in check.rms), ""]
    rows = [(name, rms, *shares) for (name, *shares), rms in zip(split.cells(), sizes, strict=True)]
    columns = ("joint", "RMS", "error", "noise of the torque", "the model", "friction at rest")
    title = f"{check.name or 'log'}: {label}, {len(check.t)} rows"
    return table(title, columns, rows, right=columns[1:])


def _everything(found: Any, checks: Sequence[Any], fine: bool) -> dict[str, Any]:
    from ..identify.estimate import headline

    cutoff = float(found.processing[0].cutoff)
    spread, intervals = found.standard_deviations, found.intervals()
    unknowns = [
        {"name": name, "kind": found.unknowns.kinds[k], "value": found.values[k],
         "standard_deviation": spread[k], "interval_99": intervals[k]}
        for k, name in enumerate(found.names)
    ]  # fmt: skip
    return {
        "robot": found.unknowns.robot.name,
        "ok": fine,
        "verdict": found.judged(checks),
        "headline": headline(found.held_out, checks),
        "error": found.comparison(checks).split.as_dict(),
        "held_out": None if found.held_out is None else _figures(found, found.held_out, cutoff),
        "validations": [_figures(found, check, cutoff) for check in checks],
        "training": [_figures(found, fit, cutoff) for fit in found.training],
        "friction": found.friction,
        "friction_scores": dict(found.scores),
        "presliding": found.presliding,
        "choices": found.choices,
        "estimator": found.estimator,
        "method": found.method,
        "is_physical": found.is_physical,
        "links_physical": found.links_physical,
        "condition_number": found.condition_number,
        "unknowns": unknowns,
        "interval_source": found.interval_source,
        "parameters": dict(zip(found.unknowns.full_names, found.full, strict=True)),
        "not_identifiable": found.not_identifiable,
        "rows_that_count_as_one": found.correlation,
        "processing": found.processing,
        "elastic": None if found.elastic is None else [vars(x) for x in found.elastic],
        "deflection_sensor": _sensor(found),
        "findings": found.findings,
    }


def _sensor(found: Any) -> dict[str, Any] | None:
    """Corner (Hz) and damping ratio of a sensor of deflections, with half widths of 95 %."""
    if found.elastic is None or found.elastic.deflections is None:
        return None
    own = found.elastic.deflections
    names = ("corner", "damping_ratio")
    widths = dict(zip(names, own.half_widths["sensor"], strict=True))
    return dict(zip(names, own.sensor, strict=True)) | {"half_widths": widths}


def _figures(found: Any, check: Any, cutoff: float) -> dict[str, Any]:
    low = check.filtered(cutoff)
    names = ("rms", "relative_error", "relative_error_overall", "nrms")
    parts = {
        part: {name: getattr(one, name) for name in names}
        for part, one in (("as_logged", check), ("low_passed", low))
    }
    facts = {"log": check.name, "rows": len(check.t), "joints": check.joint_names}
    share = None if np.isnan(check.repeats) else check.repeats
    facts |= {"repeats": share, "is_repeat": check.is_repeat}
    return facts | {"split": found.split(check).as_dict(), "low_passed_at": cutoff} | parts
