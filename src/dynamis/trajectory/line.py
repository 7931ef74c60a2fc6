"""A straight line of the tool, through inverse kinematics.

The tool's position moves straight and its orientation turns about one axis (slerp), both in
proportion to s, which goes from 0 to 1 by the timing. The joints follow a path q(s) that is
certified while it is made: see `follow`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from ..arguments import checked, is_word
from ..errors import OptionError, ShapeError, did_you_mean
from ..ik.geometry import arm_size
from ..ik.search import Problem, descend
from ..ik.solutions import TURN, JointSpace, outside
from ..ik.target import Target, target, task_mask
from ..lazy import cached_property
from .arguments import numbers, positive
from .polynomial import Hermite, cubic, quintic, septic
from .trajectory import Along
from .trapezoid import trapezoid

if TYPE_CHECKING:
    from ..robot import Robot

# the straight way from one pose to another: p = p0 + s (p1 - p0), R = R0 exp(s log(R0^T R1))


@dataclass(frozen=True, eq=False)
class Straight:
    """A straight line of positions and the shortest turn between two poses, s from 0 to 1."""

    T0: np.ndarray
    T1: np.ndarray

    @cached_property
    def turn(self) -> np.ndarray:
        """log(R0^T R1), a rotation vector in the axes of the first pose."""
        return Rotation.from_matrix(self.T0[:3, :3].T @ self.T1[:3, :3]).as_rotvec()

    @property
    def rate(self) -> np.ndarray:
        """Linear and angular velocity per unit of s in base axes, (6,): constant."""
        return np.concatenate([self.T1[:3, 3] - self.T0[:3, 3], self.T0[:3, :3] @ self.turn])

    def pose(self, s: float) -> np.ndarray:
        """(4, 4)"""
        T = np.eye(4)
        T[:3, 3] = (1.0 - s) * self.T0[:3, 3] + s * self.T1[:3, 3]
        T[:3, :3] = self.T0[:3, :3] @ Rotation.from_rotvec(s * self.turn).as_matrix()
        return T


# Joints that follow a straight line of the tool, without a jump.
#
# The velocity and acceleration of the path are those of the line, whose rate V is constant:
#
#     J q' = V,   J q'' = -J' q'
#
# Knots with q, q', q'' are set one after the other, each step as long as the quintic between two
# knots keeps the tool on the line: that is measured, so a path that is returned was checked.

FIRST, LONGEST, SHORTEST = 1 / 16, 1 / 8, 1e-5  # steps in s
LOOKS = (0.2, 0.35, 0.5, 0.65, 0.8)  # where between two knots the tool is measured
STEPS = 12  # of the correction of a knot
NEAR = 0.3  # radians (arm sizes) a correction may move a joint: further is another branch
NUDGE = 1e-5  # radians moved to difference the Jacobian
FLAT = 1e-12  # singular values below this fraction of the largest are none


class Broken(Exception):  # noqa: N818  the way is broken; `line` tells the user
    """The way from one start ends here."""

    def __init__(self, s: float, q: np.ndarray):
        self.s, self.q = s, q
        super().__init__(f"at s = {s}")


class Knot(NamedTuple):
    """Path parameter, and q with its two derivatives in s, (3, n)."""

    s: float
    state: np.ndarray


@dataclass(frozen=True, eq=False)
class Follower:
    """A robot, the way of its tool and what of it counts."""

    robot: "Robot"
    way: Straight
    mask: np.ndarray
    tolerance: float

    def problem(self, s: float) -> Problem:
        """The inverse kinematics of one point of the way."""
        return Problem(self.robot, Target(self.way.pose(s), self.mask), arm_size(self.robot))

    def corrected(self, s: float, q: np.ndarray) -> np.ndarray:
        """The joint positions near q that put the tool on the line."""
        return descend(self.problem(s), q[None], STEPS)[0]

    def path(self, q: np.ndarray) -> Hermite:
        """q(s) from the start q to the end of the line; raises Broken where it stops."""
        knots, step = [self._knot(0.0, q)], FIRST
        while knots[-1].s < 1.0:
            last = knots[-1]
            s = 1.0 if last.s + 1.001 * step >= 1.0 else last.s + step
            found = self._next(last, s)
            if found is not None:
                knots.append(found)
                step = min(1.5 * step, LONGEST)
            elif step < SHORTEST:
                raise Broken(last.s, last.state[0])
            else:
                step = 0.5 * step
        return Hermite([k.s for k in knots], [k.state for k in knots])

    def refusal(self, end: Broken) -> OptionError:
        """Why the line cannot be followed, in words."""
        ahead = min(1.0, end.s + 1e-3)
        T = self.way.pose(ahead)
        where = f"s = {end.s:.4f} (tool near {np.round(T[:3, 3], 4).tolist()})"
        found = self.robot.ik(T, task=self.mask)
        if not len(found):
            return OptionError(
                f"the line leaves the workspace at {where}: {found.reason}",
                "move the line nearer to the base, or ask less with task=",
            )
        problem = self.problem(ahead)
        space = JointSpace(problem.revolute, problem.size)
        jump = space.distance(found.q, end.q)
        nearest = found.q[int(np.argmin(jump))]
        gap = np.abs(nearest - end.q)
        gap = np.where(problem.revolute, np.abs((gap + np.pi) % (2 * np.pi) - np.pi), gap)
        joint = int(np.argmax(gap / problem.joint_scale))
        return OptionError(
            f"the line cannot be followed without a jump at {where}: joint "
            f"{self.robot.joint_names[joint]!r} would jump by {gap[joint]:.3g}; the arm is "
            "singular there",
            "start from another solution with q0=, move the line, or use joint motion there",
        )

    def _next(self, last: Knot, s: float) -> Knot | None:
        """The knot at s, if the quintic that leads to it keeps the tool on the line."""
        h = s - last.s
        q, q1, q2 = last.state
        guess = q + h * q1 + 0.5 * h * h * q2
        scale = self.problem(s).joint_scale
        if not (np.abs(guess - q) < NEAR * scale).all():
            return None
        new = self.corrected(s, guess)
        if not (np.abs(new - guess) < 0.5 * NEAR * scale).all():
            return None
        knot = self._knot(s, new)
        return knot if self._strays(last, knot) < self.tolerance else None

    def _knot(self, s: float, q: np.ndarray) -> Knot:
        J = self.robot.jacobian(q)[self.mask]
        inverse = np.linalg.pinv(J, rcond=FLAT)
        q1 = inverse @ self.way.rate[self.mask]
        size = NUDGE / max(float(np.abs(q1).max()), 1e-12)
        ahead, behind = self.robot.jacobian(np.array([q + size * q1, q - size * q1]))
        q2 = -inverse @ (((ahead - behind) / (2.0 * size))[self.mask] @ q1)
        return Knot(s, np.array([q, q1, q2]))

    def _strays(self, a: Knot, b: Knot) -> float:
        """Largest error of the tool between and at two knots."""
        h = b.s - a.s
        piece = Hermite((0.0, h), [a.state, b.state])
        errors = [self.problem(a.s + u * h).residuals(piece(u * h).q) for u in (*LOOKS, 1.0)]
        return float(np.max(np.nan_to_num(errors, nan=np.inf)))


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
