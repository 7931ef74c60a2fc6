"""`dynamis simulate`: free or controlled motion of an arm."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ..arguments import positive
from ..errors import OptionError, worded
from ..robot import Robot, load
from ..simulation.options import SIMULATE_COMMAND
from .arguments import (
    GAINS,
    NO_CONTROLLER,
    Control,
    ControlOptions,
    Json,
    Place,
    RobotName,
    RunXacro,
    Seconds,
    check_folders,
    check_pictures,
    gains_text,
    place,
    simulation_options,
    units,
    warn_of_findings,
)
from .printing import data, data_json, in_terminal, number, table, talk, wrote

Simulation = simulation_options(SIMULATE_COMMAND)
LASTS = 2.0  # s, unless something says how long
USUAL = "computed-torque"  # the controller of a motion


def run(
    robot: RobotName, *, duration: Seconds = None,
    start: Place = None, goal: Place = None, move: Seconds = None,
    reference: Path | None = None, control: ControlOptions = NO_CONTROLLER,
    simulation: Simulation,  # type: ignore[valid-type]
    plot: Path | None = None, animate: Path | None = None, save: Path | None = None,
    reactions: Path | None = None,
    run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Simulate a robot: free motion, or motion to a goal or along a file under a controller.

    A PLACE is the name of a configuration, or numbers in radians and metres with commas or spaces;
    90deg is accepted. With --goal or --reference the controller is computed-torque unless another
    is given; without them a controller keeps the initial position. Torques and velocities beyond
    the limits of the model are said, but act. Exit code 0 if the simulation reaches its end, 1 if
    it ends early (diverged, or the controller went into its safe state), 2 for wrong input.

    For example:

      dynamis simulate pendulum3 --duration 5 --animate pendulum.gif
      dynamis simulate puma560 --goal 0.5,-0.4,0.6,0.2,0.3,0.1 --plot move.png
      dynamis simulate scara --goal 90deg 0.5 0.1 --controller pid --bandwidth 20 --save run.csv
      dynamis simulate planar-rr --goal 1,-0.5 --controller pid --kp 900,400 --ki 200 --kd 60,30
      dynamis simulate arm.toml --reference points.csv --plot run.png

    Args:
        duration: Length of the simulation (default: 2, or that of --reference).
        start: Initial position, at rest (default: all joints at zero; closed mechanisms: home).
            For a closed mechanism the positions of its drives are enough.
        goal: Final position; the reference is a quintic polynomial from start to goal.
        move: Length of the motion to the goal, which is then held (default: --duration).
        reference: Motion to follow, from its first point on: a .csv with a column t and one per
            joint, by name or as q1, q2, ..; units in the header, as in "q1 [deg]". Without t the
            points are passed in --duration, or as fast as the velocity limits of the robot allow.
        plot: Plot q, qd, tau, error and energy (deflection too of elastic joints) to this image.
        animate: Write an animation to this .gif, .mp4 or .html.
        save: Write t, q, qd, tau to this .csv or .npz.
        reactions: Write the forces and moments in the joints, their largest and RMS, to this .html.
    """
    from ..simulation.simulator import simulated

    check_folders(save)
    check_pictures(plot, animate, reactions)
    arm = load(robot, run_xacro=run_xacro)
    options, duration, how = motion(arm, duration, start, goal, reference, control, move)
    warn_of_findings(arm, robot)
    found = simulated(arm, duration, **vars(simulation), **options)
    if plot is not None:
        found.plot(path=plot)
    if animate is not None:
        found.animate(animate)
    if save is not None:
        found.save(save)
    if reactions is not None:
        found.reactions.report(reactions)
    if json:
        data_json(_facts(found, options.get("controller")))
    else:
        talk(f"{arm.name}, {found.t[-1]:g} s: {how}")
        if control.controller == "pid" and not control.given:
            talk(f"gains: {gains_text(options['controller'])}")
        if damping := found.numerical_damping:
            talk(f"elastic joints: {damping.text}")
        data(_table(found))
        wrote(plot, animate, save, reactions)
    if error := found.step_error:
        coarse, remedy = error.finding(arm), error.remedy("--dt ", " --sample-time ")
        talk(f"warning: {coarse.where}: {coarse.what}; {remedy}")
    if (mode := found.closed_loop_mode) and not found.diverged:
        talk(f"warning: {mode.text}")
    warn_of_limits(found.beyond_limits)
    if stuck := _stuck(found):
        talk(
            f"warning: {worded(stuck)} stuck the whole time although the reference moves: the "
            "controller does not overcome the static friction there; raise its gains"
        )
    if not simulation.stops and any(x.startswith("position") for x in found.beyond_limits):
        talk("hint: --stops simulates end stops at the joint limits")
    if found.message:
        early = "" if found.t[-1] >= duration else "the simulation ended early: "
        talk(in_terminal(f"{early}{found.message}"))
    return int(bool(found.message))


def motion(
    arm: Robot, duration: float | None, start: str | None, goal: str | None, path: Path | None,
    control: Control = NO_CONTROLLER, seconds: float | None = None,
) -> tuple[dict[str, Any], float, str]:  # fmt: skip
    """Start, reference and controller as options of `dy.simulate`; its duration; all in words.

    The move to a goal takes `seconds`, or the whole duration.
    """
    from ..trajectory import quintic

    if goal is not None and path is not None:
        raise OptionError("--goal and --reference were both given", "leave one out")
    if seconds is not None:
        if goal is None:
            raise OptionError("--move was given without --goal", "give the goal of the move")
        positive(seconds, "move", "seconds")
        duration = max(LASTS, seconds) if duration is None else duration
        if seconds > duration:
            raise OptionError(
                f"move is {seconds:g} s, expected at most the duration, {duration:g} s",
                "give a longer --duration",
            )
    move = None if path is None else _from_file(arm, path, duration)
    if start is None and move is not None:
        start = ",".join(repr(float(x)) for x in move(0.0).q)
    q0, drives = place(arm, start, "start"), list(arm.driven)
    aim = "keeps the initial position"
    if goal is not None:
        end = place(arm, goal, "goal")
        lasts = LASTS if duration is None else duration
        move = quintic(q0[drives], end[drives], lasts if seconds is None else seconds)
        aim = f"to {', '.join(map(number, end[drives]))}"
        aim += "" if seconds is None else f" in {seconds:g} s"
    elif path is not None:
        aim = f"along {path.name}"
    lasts = LASTS if move is None else move.duration
    options: dict[str, Any] = {"q0": q0}
    how = "free motion, no controller"
    usual = None if move is None else USUAL
    if move is not None:
        options["reference"] = move
    law = control.law(arm, q0, usual)
    if law is not None:
        options["controller"], how = law, f"{control.words(law, usual)}, {aim}"
        if control.sample_time is not None:
            options["sample_time"] = control.sample_time
    return options, lasts if duration is None else duration, how


def _from_file(arm: Robot, path: Path, duration: float | None) -> Any:
    """The motion of a file; `duration` is how long it takes where the file has no times."""
    from ..trajectory import from_file

    if duration is None:
        return from_file(path, arm)
    try:
        return from_file(path, arm, duration=duration)
    except OptionError:  # it has times: the duration is that of the run
        return from_file(path, arm)


def warn_of_limits(lines: Sequence[str]) -> None:
    """Say what passes a limit of the model: the exit code does not."""
    for line in lines:
        talk(f"warning: {line}")


def _stuck(found: Any) -> list[str]:
    """Drives that friction held in every sample while their reference moved."""
    if found.reference is None:
        return []
    moves = np.ptp(found.reference.q, axis=0) > 0.0
    held = found.stuck[:, list(found.robot.driven)].all(axis=0)
    return [x for x, both in zip(found.robot.drive_names, moves & held, strict=True) if both]


def _facts(found: Any, law: Any) -> dict[str, Any]:
    names, last = found.robot.joint_names, found.q[-1]
    gains = None if law is None else law.gains(found.robot)
    return {
        "robot": found.robot.name,
        "end": float(found.t[-1]),
        "diverged": bool(found.diverged),
        "message": found.message,
        "step_error": _coarse(found),
        "integrator": found.integrator,
        "numerical_damping": _damping(found),
        "gains": gains and {k: v for k, v in gains.items() if k in GAINS},
        "beyond_limits": found.beyond_limits,
        "q": {n: float(x) for n, x in zip(names, last, strict=True)},
        "largest_torque": [float(x) for x in np.abs(found.tau).max(axis=0)],
        "rms_error": None if found.error is None else [float(x) for x in found.metrics.rms],
    }


def _coarse(found: Any) -> dict[str, Any] | None:
    """The error of a step that was too coarse, with the joint by name."""
    if found.step_error is None:
        return None
    facts = found.step_error._asdict()
    return {**facts, "joint": found.robot.joint_names[facts["joint"]]}


def _damping(found: Any) -> dict[str, Any] | None:
    """Damping that the steps add to modes of elastic joints."""
    if found.numerical_damping is None:
        return None
    return {
        name: x.tolist() if isinstance(x, np.ndarray) else x
        for name, x in found.numerical_damping._asdict().items()
    }


def _table(found: Any) -> Table:
    """One line per joint."""
    position, effort = units(found.robot)
    columns = {
        f"end ({position})": map(number, found.q[-1]),
        f"largest torque ({effort})": map(number, np.abs(found.tau).max(axis=0)),
        "stuck (s)": (f"{x:.2f}" for x in found.stuck.mean(axis=0) * found.t[-1]),
    }
    if found.error is not None:
        rms = dict(zip(found.robot.driven, found.metrics.rms, strict=True))
        joints = range(found.robot.n)
        columns[f"RMS error ({position})"] = (number(rms[k]) if k in rms else "" for k in joints)
    rows = zip(found.robot.joint_names, *columns.values(), strict=True)
    return table("", ("joint", *columns), rows, right=list(columns))
