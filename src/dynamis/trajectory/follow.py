"""Joints that follow a straight line of the tool, without a jump.

The velocity and acceleration of the path are those of the line, whose rate V is constant:

    J q' = V,   J q'' = -J' q'

Knots with q, q', q'' are set one after the other, each step as long as the quintic between two
knots keeps the tool on the line: that is measured, so a path that is returned was checked.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import OptionError
from ..ik.descent import Problem, descend
from ..ik.distinct import JointSpace
from ..ik.geometry import arm_size
from ..ik.target import Target
from .hermite import Hermite
from .straight import Straight

if TYPE_CHECKING:
    from ..robot import Robot

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
