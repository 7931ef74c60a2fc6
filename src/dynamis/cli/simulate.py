"""`dynamis simulate`: an arm falls, or a controller moves it."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from tyro.conf import arg

from ..errors import OptionError, did_you_mean
from ..robot import Robot, load
from .arguments import Json, RobotName
from .printing import data, data_json, number, table, talk

BANDWIDTH = 10.0  # rad/s
Place = Annotated[str | None, arg(metavar="PLACE")]


def run(
    robot: RobotName,
    *,
    duration: float = 2.0,
    dt: float = 1e-3,
    start: Place = None,
    goal: Place = None,
    controller: Literal["pid", "point-to-point", "computed-torque", "feed-forward"] | None = None,
    bandwidth: float = BANDWIDTH,
    integrator: str = "rk4",
    stops: bool = False,
    plot: Path | None = None,
    animate: Path | None = None,
    save: Path | None = None,
    json: Json = False,
) -> int:
    """Simulate a robot: let it fall, or move it to a goal under a controller.

    A PLACE is the name of a configuration or numbers with commas. Exit code 1 if it
    ends early.

    For example:

      dynamis simulate pendulum3 --duration 5 --animate pendulum.gif
      dynamis simulate puma560 --goal 0.5,-0.4,0.6,0.2,0.3,0.1 --plot move.png
      dynamis simulate scara --goal 1,0.5,0.1 --controller pid --save run.csv

    Args:
        duration: Seconds.
        dt: Time step in seconds.
        start: Where it starts, at rest (default: all joints at zero).
        goal: Where it should be at the end, on a quintic.
        controller: How it gets there (default: computed-torque if there is a goal).
        bandwidth: Of the controller, rad/s.
        integrator: rk4, heun, euler, semi-implicit-euler or dormand-prince.
        stops: Let the joint limits act.
        plot: Draw q, qd, tau, error and energy to this image.
        animate: Film the arm to this .gif, .mp4 or .html.
        save: Write t, q, qd, tau to this .csv or .npz.
    """
    from ..simulate.simulate import simulate
    from ..trajectory import quintic

    for path in (plot, animate, save):
        if path is not None and not path.absolute().parent.is_dir():
            raise OptionError(f"there is no folder {str(path.parent)!r} for {path.name!r}")
    arm = load(robot)
    q0 = place(arm, start, "start")
    options: dict[str, Any] = {}
    if goal is not None:
        options["reference"] = quintic(q0, place(arm, goal, "goal"), duration)
        options["controller"] = made(arm, controller or "computed-torque", bandwidth, q0)
    elif controller is not None:
        options["controller"] = made(arm, controller, bandwidth, q0)
    found = simulate(arm, duration, dt, q0, integrator=integrator, stops=stops, **options)
    if plot is not None:
        found.plot(path=plot)
    if animate is not None:
        found.animate(animate)
    if save is not None:
        found.save(save)
    _say(found, json)
    return int(bool(found.message))


def place(arm: Robot, given: str | None, name: str) -> np.ndarray:
    """Positions from the name of a configuration, or from numbers."""
    if given is None:
        return np.zeros(arm.n)
    if given in arm.configurations:
        return np.asarray(arm.configurations[given], dtype=float)
    try:
        numbers = np.array([float(x) for x in given.split(",")])
    except ValueError:
        raise OptionError(
            f"{name} is {given!r}, expected {arm.n} numbers with commas or a configuration",
            did_you_mean(given, list(arm.configurations)),
        ) from None
    if numbers.shape != (arm.n,):
        raise OptionError(
            f"{name} has {len(numbers)} numbers, robot {arm.name!r} has {arm.n} joints"
        )
    return numbers


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


def _say(found: Any, json: bool) -> None:
    error = found.error
    if json:
        names, last = found.robot.joint_names, found.q[-1]
        data_json({
            "robot": found.robot.name,
            "end": float(found.t[-1]),
            "diverged": bool(found.diverged),
            "message": found.message,
            "q": {n: float(x) for n, x in zip(names, last, strict=True)},
            "largest_torque": [float(x) for x in np.abs(found.tau).max(axis=0)],
            "rms_error": None if error is None else [float(x) for x in found.metrics.rms],
        })  # fmt: skip
        return
    talk(repr(found))
    columns = ["joint", "end", "largest torque", "held (s)"]
    rows = []
    for i, name in enumerate(found.robot.joint_names):
        held = float(found.stuck[:, i].mean() * found.t[-1])
        row = [
            name,
            number(found.q[-1, i]),
            number(float(np.abs(found.tau[:, i]).max())),
            f"{held:.2f}",
        ]
        rows.append(row if error is None else [*row, number(float(found.metrics.rms[i]))])
    if error is not None:
        columns.append("RMS error")
    data(table("", columns, rows, right=columns[1:]))
