"""`dynamis study`: many arms that differ, and how large errors and torques will be."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import UseAppendAction, arg

from ..errors import OptionError
from ..files import PAGES, checked_path
from ..robot import Robot, load
from ..simulation.options import STUDY_COMMAND
from .arguments import (
    NO_CONTROLLER,
    ControlOptions,
    Json,
    Numbers,
    Place,
    RobotName,
    RunXacro,
    Seconds,
    check_folders,
    check_pictures,
    listed,
    simulation_options,
    words,
)
from .printing import data, data_json, table, talk, wrote
from .simulate import motion, warn_of_limits

Simulation = simulation_options(STUDY_COMMAND)
SHARES = (0.5, 0.95, 0.999)
WORST = 10  # samples in the JSON
Names = Annotated[str | None, arg(metavar="NAME,..")]
Deviation = Annotated[float, arg(metavar="DEVIATION")]
Folder = Annotated[Path | None, arg(metavar="FOLDER")]
Logs = Annotated[tuple[Path, ...], UseAppendAction, arg(metavar="LOG", help_behavior_hint="")]


def run(
    robot: RobotName, *, samples: int = 1000, seed: int = 0, log: Logs = (),
    mass: Deviation = 0.0, com: Deviation = 0.0, inertia: Deviation = 0.0,
    friction: Deviation = 0.0, rotor: Deviation = 0.0,
    payload: Numbers = None, joint_offset: Deviation = 0.0, inconsistent: bool = False,
    measure: Names = None, band: float = 0.01,
    duration: Seconds = None, start: Place = None, goal: Place = None,
    reference: Path | None = None, control: ControlOptions = NO_CONTROLLER,
    simulation: Simulation,  # type: ignore[valid-type]
    processes: int | None = None, checkpoint: Folder = None, report: Path | None = None,
    plot: Path | None = None, worst: Path | None = None, save: Path | None = None,
    run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Monte Carlo simulation: how large errors and torques are if the arm differs from its model.

    A DEVIATION is a standard deviation: relative (0.05 is about 5 %) for masses, inertias, friction
    and rotor inertias, in metres for centres of mass, in radians or metres for encoder offsets.
    Every sampled body is physically consistent. With --log the model is identified first, and the
    samples are from the uncertainty of that estimate (columns, filters or estimators of your own:
    dy.study(..., vary=estimate) in Python). Start, goal and controller are those of dynamis
    simulate (computed-torque unless another is given). Exit code 1 if an arm failed.

    For example:

      dynamis study ur10e --goal 0.5,-0.4,0.6,0.2,0.3,0.1 --mass 0.05 --com 0.005 --payload 0,2
      dynamis study scara --goal 90deg 0.5 0.1 --friction 0.3 --samples 10000 --report study.html
      dynamis study panda --log run.csv --goal ready --measure rms_error,peak_tool_error
      dynamis study arm.toml --mass 0.1 --samples 1000000 --processes 8 --checkpoint folder

    Args:
        samples: Number of arms to simulate.
        seed: Random seed; sample i of a seed is the same on every machine.
        log: Log to identify the model from; may be given several times.
        mass: Masses of the links.
        com: Centres of mass of the links, metres in each coordinate.
        inertia: Second moments of the links about their centres of mass.
        friction: Viscous and Coulomb friction of the joints.
        rotor: Rotor inertias.
        payload: Least and largest mass at the tool in kg, such as 0,3; uniform between them.
        joint_offset: Offsets of the encoders, rad or m.
        inconsistent: Also vary links that are not physically consistent as described.
        measure: What to compute: rms_error, peak_error, final_error, settling_time, rms_tool_error,
            peak_tool_error, final_tool_error, peak_torque, rms_torque, peak_velocity, peak_power,
            energy, stop_hit (default: rms_error if there is a goal, peak_torque).
        band: Error in rad or m within which a joint counts as settled.
        duration: Length of a simulation (default: 2, or that of --reference).
        start: Initial position, at rest (default: all joints at zero; closed mechanisms: home).
            For a closed mechanism the positions of its drives are enough.
        goal: Final position; the reference is a quintic polynomial from start to goal.
        reference: Motion to follow, a .csv as in dynamis simulate.
        processes: Worker processes (default: threads of this one, all cores).
        checkpoint: Folder for results so far; after an interruption the same command continues
            from there.
        report: Write a report to this .html.
        plot: Draw the distribution of the first measure to this image.
        worst: Plot the motion of the worst arm, by the first measure, to this image.
        save: Write all results to this .npz.
    """
    from ..study.study import study

    check_folders(save)
    check_pictures(report, plot, worst)
    for path, suffixes, what in ((report, PAGES, "report"), (save, (".npz",), "study")):
        if path is not None:
            checked_path(path, suffixes, what)
    arm = load(robot, run_xacro=run_xacro)
    estimate = _identified(arm, log) if log else None
    model = arm if estimate is None else estimate.robot
    vary = _varied(
        model, estimate, inconsistent, mass=mass, com=com, inertia=inertia, friction=friction,
        rotor=rotor, payload=_load(payload), joint_offset=joint_offset,
    )  # fmt: skip
    options, duration, how = motion(model, duration, start, goal, reference, control)
    if hasattr(options.get("reference"), "beyond_limits"):
        warn_of_limits(options["reference"].beyond_limits(model))
    if "reference" not in options and "controller" in options:
        options["reference"] = options["q0"][list(model.driven)]
    with _workers(processes) as executor:
        found = study(
            model, duration, vary=vary, samples=samples, seed=seed, measure=words(measure),
            band=band, executor=executor, checkpoint=checkpoint, **vars(simulation), **options,
        )  # fmt: skip
    _write(found, report, plot, worst, save)
    if json:
        data_json(_facts(found) | {"report": report and str(report), "save": save and str(save)})
    else:
        _say(found, f"{model.name}, {duration:g} s: {how}")
        wrote(report, plot, worst, save)
    return int(bool(found.failed))


def _identified(arm: Robot, logs: tuple[Path, ...]) -> Any:
    """The model that logs give, by the defaults of `dynamis identify`."""
    from ..identify.identification import identify
    from ..logs.read import read_log

    found = identify(arm, [read_log(path, robot=arm) for path in logs])
    talk(f"identified from {', '.join(path.name for path in logs)}: {found.verdict.level}")
    return found


def _varied(model: Robot, estimate: Any, inconsistent: bool, **deviations: Any) -> list[Any]:
    """An estimate, a Scatter, or both."""
    from ..study.scatter import Scatter

    given = {name: value for name, value in deviations.items() if value is not None and value != 0}
    vary = [] if estimate is None else [estimate]
    if given:
        vary.append(Scatter(model, **given, consistent=not inconsistent))
    if not vary or (estimate is None and not vary[0].names):
        raise OptionError("nothing varies", "such as --mass 0.05 --payload 0,2, or --log run.csv")
    return vary


def _load(given: str | None) -> tuple[float, float] | float | None:
    if given is None:
        return None
    ends = listed(given, "two masses in kg such as 0,3", "payload")
    if len(ends) not in (1, 2):
        raise OptionError(f"payload is {given!r}, expected LEAST,MOST in kg", "such as 0,3")
    return (ends[0], ends[1]) if len(ends) == 2 else ends[0]


@contextmanager
def _workers(count: int | None) -> Iterator[Any]:
    """A pool of processes, or None."""
    if count is None:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    if count < 1:
        raise OptionError(f"processes is {count}, expected 1 or more")
    with ProcessPoolExecutor(count, get_context("spawn")) as pool:  # threads do not survive a fork
        yield pool


def _write(
    found: Any, report: Path | None, plot: Path | None, worst: Path | None, save: Path | None
) -> None:
    if report is not None:
        found.report(report)
    if plot is not None:
        found.plot(path=plot)
    if worst is not None:
        all_failed = found.failed.count == found.samples
        first = found.failed if all_failed else found.worst(found.measures[0], 1)
        found.replay(int(first.samples[0])).plot(path=worst)
    if save is not None:
        found.save(save)


def _say(found: Any, how: str) -> None:
    """The answer in words, then a line per measure and joint."""
    from ..report.study import answer

    talk(how)
    for sentence in answer(found):
        data(sentence)
    columns = found.head
    data(table("", columns, found.table(), right=columns[1:-1]))


def _facts(found: Any) -> dict[str, Any]:
    from ..report.study import answer

    failed = found.failed
    return {
        "robot": found.robot.name,
        "samples": found.samples,
        "seed": found.case.seed,
        "answer": answer(found),
        "failed": {
            "count": failed.count,
            "samples": failed.samples.tolist(),
            "reasons": list(failed.reasons),
            "nominal": found.nominal,
        },
        "measures": {name: _figures(found, name) for name in found.measures},
        "seconds": found.seconds,
        "resumed": found.resumed,
    }


def _figures(found: Any, name: str) -> dict[str, Any]:
    quantiles, ends = found.quantiles(name, SHARES), found.quantile_intervals(name, SHARES)
    worst = found.worst(name, min(WORST, found.samples))
    causes = found.sensitivity(name)
    rows = zip(worst.samples.tolist(), worst.values.tolist(), strict=True)
    return {
        "columns": list(found.columns(name)),
        "units": list(found.units(name)),
        "mean": np.asarray(found.mean(name)).tolist(),
        "largest": np.asarray(found.extremes(name)[1]).tolist(),
        "quantiles": {str(s): q.tolist() for s, q in zip(SHARES, quantiles, strict=True)},
        "intervals_95": {str(s): x.tolist() for s, x in zip(SHARES, ends, strict=True)},
        "worst": [{"sample": sample, "values": values} for sample, values in rows],
        "shares_of_variance": dict(zip(causes.names, causes.shares.tolist(), strict=True)),
    }
