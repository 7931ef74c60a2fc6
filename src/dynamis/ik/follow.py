"""Closed mechanisms moved by their drives: the other joints follow, without a jump.

The drives go in small steps. Each starts where the rates of the joints lead from the last one and
is closed by a few damped steps of the joints that follow; one that does not close, or throws them
far from where they were led, is halved.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile.arrays import as_batch
from ..dynamics.mobility import size
from ..errors import SingularError
from .assemble import CLOSED, Loops, refuse_open_arms
from .search import descend

if TYPE_CHECKING:
    from ..robot import Robot

STEP = 0.05  # rad, or mechanism sizes, of a drive at once
SHORTEST = 1e-4
CORRECTION = 0.5  # per step: how far a joint may end from where its rate leads
POLISH = 12
FASTEST = 100.0  # rate of a joint per rate of a drive: beyond, it is near a singular configuration


class Followed(NamedTuple):
    """Where a mechanism came to, and why no farther; "" where it reached its goal."""

    q: np.ndarray
    reason: str = ""


def follow(robot: "Robot", q: Any, q_active: Any) -> Followed:
    """From a closed q, with the independent joints moved straight to q_active (dof,)."""
    refuse_open_arms(robot)
    now = np.array(as_batch(q, "q", (robot.n,), f"robot {robot.name!r}"), dtype=float)
    goal = as_batch(q_active, "q_active", (robot.dof,), f"the drives of {robot.name!r}")
    drives = list(robot.independent)
    unit = size(robot.chain)
    scale = np.array([1.0 if kind == "revolute" else unit for kind in robot.joint_kinds])
    length = STEP
    while (left := np.abs((goal - now[drives]) / scale[drives]).max()) > 0.0:
        part = (goal - now[drives]) * min(1.0, length / left)
        found, why = _step(robot, now, part, scale)
        if found is not None:
            now, length = found, min(2.0 * length, STEP)
        elif min(length, left) <= SHORTEST:
            return Followed(now, why)
        else:
            length = 0.5 * min(length, left)
    return Followed(now)


def _step(
    robot: "Robot", q: np.ndarray, part: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray | None, str]:
    """The configuration one step on; or None, and what is in the way."""
    drives = list(robot.independent)
    free = tuple(k for k in range(robot.n) if k not in drives)
    singular = "near a singular configuration: the drives no longer decide the other joints"
    try:
        led = q + robot.joint_rates(q, part)
    except SingularError:
        return None, singular
    held = np.zeros(robot.n)
    held[drives] = q[drives] + part
    problem = Loops(robot, size(robot.chain), free, held)
    x = led[None, list(free)]
    x = descend(problem, x, POLISH)  # type: ignore[arg-type]
    found = problem.full(x)[0]
    length = np.abs(part / scale[drives]).max()
    if problem.residuals(x)[0] > CLOSED:
        return None, "the loops cannot be closed beyond"
    away = np.abs((found - led) / scale).max()
    if away > CORRECTION * max(length, SHORTEST) or robot.closure_status(found) != 0.0:
        return None, singular
    speeds = [_fastest(robot, x, scale) for x in (q, found)]
    if speeds[1] > max(FASTEST, speeds[0]):
        return None, singular
    return found, ""


def _fastest(robot: "Robot", q: np.ndarray, scale: np.ndarray) -> float:
    """The largest rate of a joint per rate of a drive, in scaled units."""
    drives = list(robot.independent)
    rates = robot.joint_rates(q, np.diag(scale[drives])) / scale
    return float(np.abs(rates).max())
