"""Checks of a trajectory against the limits of a robot."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.check.finding import Finding, Numbers
from .arguments import positive
from .trajectory import fitting

if TYPE_CHECKING:
    from ..robot import Robot
    from .trajectory import Trajectory

LOOKS = 1001  # times looked at unless dt says otherwise
ROUNDING = 1e-9  # how far past a limit is at it, relative to the limit or 1

UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "torque": ("N m", "N"),
}
REMEDIES = {
    "position": "keep the points of the motion further inside the limits",
    "velocity": "give the motion more time",
    "torque": "give the motion more time, or the joint a stronger drive",
}


def findings(trajectory: "Trajectory", robot: "Robot", dt: float | None = None) -> list[Finding]:
    """One finding per joint and quantity beyond its limit: where it is worst, and since when."""
    fitting(trajectory, robot)
    t = _times(trajectory, dt)
    state = trajectory(t)
    speed, effort = bounds(robot)
    found = list(_beyond(robot, t, state.q, robot.limits, "position"))
    found += _beyond(robot, t, state.qd, speed, "velocity")
    if np.isfinite(effort).any():
        tau = robot.inverse_dynamics(*state)
        found += _beyond(robot, t, tau, effort, "torque")
    return found


def bounds(robot: "Robot") -> tuple[np.ndarray, np.ndarray]:
    """velocity_limit and effort_limit as (n, 2), infinite where none is given."""
    x = Numbers(robot.model)
    moving = robot.model.moving_links
    speed, effort = (
        np.array([np.inf if (v := x.of(getattr(link, name))) is None else v for link in moving])
        for name in ("velocity_limit", "effort_limit")
    )
    return np.stack([-speed, speed], axis=-1), np.stack([-effort, effort], axis=-1)


def _times(trajectory: "Trajectory", dt: float | None) -> np.ndarray:
    if dt is None:
        even = np.linspace(0.0, trajectory.duration, LOOKS)
    else:
        even = trajectory.sample(positive(dt, "dt", "in seconds")).t
    return np.union1d(even, trajectory.knots)


def _beyond(
    robot: "Robot", t: np.ndarray, x: np.ndarray, limits: np.ndarray, quantity: str
) -> Iterator[Finding]:
    moving = robot.model.moving_links
    for i, (link, name) in enumerate(zip(moving, robot.joint_names, strict=True)):
        low, high = limits[i]
        excess = np.maximum(x[:, i] - high, low - x[:, i])
        bound = np.where(x[:, i] > high, high, low)
        over = ~(excess <= ROUNDING * np.maximum(1.0, np.abs(np.nan_to_num(bound, posinf=1.0))))
        if over.any():
            yield _finding(name, link.joint, quantity, t, x[:, i], (low, high), excess, over)


def _finding(
    name: str,
    joint: str,
    quantity: str,
    t: np.ndarray,
    x: np.ndarray,
    limits: Any,
    excess: np.ndarray,
    over: np.ndarray,
) -> Finding:
    worst = int(np.argmax(np.where(over, np.nan_to_num(excess, nan=np.inf), -np.inf)))
    first = int(np.argmax(over))
    unit = UNITS[quantity][joint == "prismatic"]
    low, high = limits
    what = (
        f"{quantity} is {x[worst]:.6g} {unit} at t = {t[worst]:.6g} s, outside "
        f"[{low:g}, {high:g}]; first outside at t = {t[first]:.6g} s"
    )
    return Finding("error", f"joint {name!r}", what, REMEDIES[quantity])
