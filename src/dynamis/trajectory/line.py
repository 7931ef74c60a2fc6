"""A straight line of the tool, through inverse kinematics.

The tool's position moves straight and its orientation turns about one axis (slerp), both in
proportion to s, which goes from 0 to 1 by the timing. The joints follow a path q(s) that is
certified while it is made: see `follow`.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, is_word
from ..errors import OptionError, ShapeError, did_you_mean
from ..ik.distinct import TURN, JointSpace, outside
from ..ik.target import target
from ..ik.task import task_mask
from .along import Along
from .arguments import numbers, positive
from .follow import Broken, Follower
from .hermite import Hermite
from .polynomial import cubic, quintic, septic
from .straight import Straight
from .trapezoid import trapezoid

if TYPE_CHECKING:
    from ..robot import Robot

TIMINGS = {"cubic": cubic, "quintic": quintic, "septic": septic, "trapezoid": trapezoid}
TRIED = 8  # start solutions followed, at most, when none is asked for


@checked
def line(
    robot: "Robot",
    T0: Any,
    T1: Any,
    duration: float,
    q0: Any = None,
    timing: str = "quintic",
    task: Any = None,
    tolerance: float = 1e-9,
) -> Along:
    """The tool goes straight from pose T0 to pose T1 (4x4, or points (3,) for a position task).

    Of all solutions at T0 the one nearest to `q0` is followed; without q0, the one whose way keeps
    within the joint limits and turns the joints least. The tool strays from the line by less than
    `tolerance`, metres and radians together. A line that leaves the workspace, or that no solution
    follows without a jump, is refused with the place. `task` is that of `robot.ik`.
    """
    if not hasattr(robot, "model"):
        raise OptionError(f"robot is {robot!r}, expected a Robot", "use dy.load(...)")
    if not is_word(timing, TIMINGS):
        raise OptionError(f"timing {timing!r} does not exist", did_you_mean(timing, TIMINGS))
    duration = positive(duration, "duration", "in seconds")
    tolerance = positive(tolerance, "tolerance", "in metres and radians")
    mask = task_mask(robot, task)
    way = Straight(_end(T0, mask, "T0"), _end(T1, mask, "T1"))
    follower = Follower(robot, way, mask, tolerance)
    return Along(_path(follower, _starts(follower, q0)), TIMINGS[timing](0.0, 1.0, duration))


def _end(T: Any, mask: np.ndarray, name: str) -> np.ndarray:
    try:
        return target(T, mask).T
    except ShapeError as error:
        message = str(error).partition("\nhint: ")[0]
        raise ShapeError(f"{name}: {message}", error.hint) from None


def _starts(follower: Follower, q0: Any) -> np.ndarray:
    """Joint positions at the beginning of the line, best first."""
    robot, problem = follower.robot, follower.problem(0.0)
    if q0 is not None:
        q0 = numbers(q0, "q0", f"{robot.n} joint positions")
        if q0.shape != (robot.n,):
            raise ShapeError(f"q0 has shape {q0.shape}, expected ({robot.n},)")
        if problem.residuals(q0) < follower.tolerance:
            return follower.corrected(0.0, q0)[None]
    found = robot.ik(follower.way.pose(0.0), task=follower.mask)
    if not len(found):
        raise OptionError(f"no joint positions put the tool at T0: {found.reason}")
    space = JointSpace(problem.revolute, problem.size)
    if q0 is None:
        return space.into_limits(found.q, robot.limits)[:TRIED]
    nearest = found.q[int(np.argmin(space.distance(found.q, q0)))]
    turns = np.where(problem.revolute, np.round((q0 - nearest) / TURN), 0.0)
    return (nearest + TURN * turns)[None]


def _path(follower: Follower, starts: np.ndarray) -> Hermite:
    """The best of the ways that begin at the given starts."""
    paths, broken = [], []
    for q in starts:
        try:
            paths.append(follower.path(q))
        except Broken as end:
            broken.append(end)
    if paths:
        return min(paths, key=lambda path: _cost(path, follower))
    raise follower.refusal(max(broken, key=lambda end: end.s))


def _cost(path: Hermite, follower: Follower) -> tuple[int, float]:
    """Joints that leave their limits, then how far the joints move in all."""
    q = path(np.linspace(0.0, 1.0, 101)).q
    left = outside(q, follower.robot.limits).any(axis=0).sum()
    return int(left), float(np.abs(np.diff(q, axis=0)).sum())
