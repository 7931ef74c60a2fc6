"""`dynamis simulate`: free or controlled motion of an arm."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.table import Table

from ..robot import Robot, load
from .arguments import Json, Place, RobotName, check_folders, check_pictures, place, units
from .printing import data, data_json, number, table, talk, wrote

BANDWIDTH = 10.0  # rad/s
Law = Literal["pid", "point-to-point", "computed-torque", "feed-forward"] | None


def run(
    robot: RobotName, *, duration: float = 2.0, dt: float = 1e-3,
    start: Place = None, goal: Place = None,
    controller: Law = None,
    bandwidth: float = BANDWIDTH, integrator: str = "rk4", stops: bool = False,
    plot: Path | None = None, animate: Path | None = None, save: Path | None = None,
    json: Json = False,
) -> int:  # fmt: skip
    """Simulate a robot: free motion, or motion to a goal under a controller.

    A PLACE is the name of a configuration, or numbers in radians and metres with commas or spaces;
    90deg is accepted. Exit code 1 if the simulation ends early.

    For example:

      dynamis simulate pendulum3 --duration 5 --animate pendulum.gif
      dynamis simulate puma560 --goal 0.5,-0.4,0.6,0.2,0.3,0.1 --plot move.png
      dynamis simulate scara --goal 90deg 0.5 0.1 --controller pid --save run.csv

    Args:
        duration: Seconds.
        dt: Time step in seconds.
        start: Initial position, at rest (default: all joints at zero; of closed mechanisms home).
            Numbers of the drives of a closed mechanism are enough.
        goal: Final position of a quintic trajectory.
        controller: Control law (default: computed-torque if there is a goal). Without a goal
            it keeps the initial position.
        bandwidth: Bandwidth of the controller, rad/s.
        integrator: rk4, heun, euler, semi-implicit-euler or dormand-prince.
        stops: Simulate end stops at the joint limits.
        plot: Plot q, qd, tau, error and energy to this image.
        animate: Write an animation to this .gif, .mp4 or .html.
        save: Write t, q, qd, tau to this .csv or .npz.
    """
    from ..simulation.simulate import simulate

    check_folders(save)
    check_pictures(plot, animate)
    arm = load(robot)
    options, how = motion(arm, duration, start, goal, controller, bandwidth)
    found = simulate(arm, duration, dt, integrator=integrator, stops=stops, **options)
    if plot is not None:
        found.plot(path=plot)
    if animate is not None:
        found.animate(animate)
    if save is not None:
        found.save(save)
    if json:
        data_json(_facts(found))
    else:
        talk(f"{arm.name}, {found.t[-1]:g} s: {how}")
        data(_table(found))
        wrote(plot, animate, save)
    if found.message:
        talk(f"the simulation ended early: {found.message}")
    return int(bool(found.message))


def motion(
    arm: Robot, duration: float, start: str | None, goal: str | None, controller: Law,
    bandwidth: float,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Start, reference and controller as options of `dy.simulate`, and the same in words."""
    from ..trajectory import quintic

    q0 = place(arm, start, "start")
    options: dict[str, Any] = {"q0": q0}
    how = "free motion, no controller"
    if goal is not None:
        end, controller = place(arm, goal, "goal"), controller or "computed-torque"
        drives = list(arm.driven)
        options["reference"] = quintic(q0[drives], end[drives], duration)
    if controller is not None:
        options["controller"] = made(arm, controller, bandwidth, q0)
        aim = "keeps the initial position"
        if goal is not None:
            aim = f"to {', '.join(map(number, end[list(arm.driven)]))}"
        how = f"{controller.replace('-', ' ')}, bandwidth {bandwidth:g} rad/s, {aim}"
    return options, how


def made(arm: Robot, name: str, bandwidth: float, q: np.ndarray) -> Any:
    """A controller of the wanted bandwidth."""
    from .. import control

    if name == "pid":
        return control.JointPID.from_bandwidth(
            arm, bandwidth, q=q, gravity=True, derivative="error"
        )
    if name == "feed-forward":
        return control.FeedForward.from_bandwidth(arm, bandwidth, q=q)
    law = control.PointToPoint if name == "point-to-point" else control.ComputedTorque
    return law.from_bandwidth(bandwidth)


def _facts(found: Any) -> dict[str, Any]:
    names, last = found.robot.joint_names, found.q[-1]
    return {
        "robot": found.robot.name,
        "end": float(found.t[-1]),
        "diverged": bool(found.diverged),
        "message": found.message,
        "q": {n: float(x) for n, x in zip(names, last, strict=True)},
        "largest_torque": [float(x) for x in np.abs(found.tau).max(axis=0)],
        "rms_error": None if found.error is None else [float(x) for x in found.metrics.rms],
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
