"""Every distinct solution of a task: closed form where the geometry allows, else a search."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import flag, positive, whole
from . import reason
from .closed_form import ClosedForm, closed_form
from .geometry import arm_size, serial_arm
from .search import Problem, descend, found, quasi_random, search, start_bounds
from .solutions import JointSpace, Solutions, in_order, outside
from .target import Target, target, task_mask

if TYPE_CHECKING:
    from ..robot import Robot

MOST = 100_000  # starts of a search
POLISH = 30  # steps for a candidate of a closed form
FELT = 1e-10  # motion of the tool, in arm sizes or radians, below which a joint does not matter
PROBES = 16  # positions that tell what the arm can do in general


def solve(
    robot: "Robot",
    T: Any,
    task: Any = None,
    *,
    limits: bool = False,
    tolerance: float = 1e-9,
    starts: int = 256,
    seed: int = 0,
) -> Solutions:
    """Every distinct q with |error| < tolerance, metres and radians taken together.

    Revolute joints come in (-pi, pi]; with `limits` only what lies within them, angles turned into
    them by whole turns. `starts` and `seed` are those of the search, used where no closed form is.
    """
    _check(limits, tolerance, starts, seed)
    return _Solver(robot, target(T, task_mask(robot, task)), limits).run(tolerance, starts, seed)


class _Solver:
    """One inverse kinematics problem on its way to its solutions."""

    def __init__(self, robot: "Robot", goal: Target, limited: bool):
        self.problem = Problem(robot, goal, arm_size(robot))
        self.space = JointSpace(self.problem.revolute, self.problem.size)
        self.limits = robot.limits if limited else None
        bounds = start_bounds(robot.limits, self.space.revolute, self._slide())
        J = self.problem.jacobian(quasi_random(bounds, PROBES))
        self.idle = ~np.any(np.abs(J) > FELT, axis=(0, 1))
        self.rank = max(1, int(np.linalg.matrix_rank(J, tol=1e-8).max()))
        self.bounds = self._rest(bounds)
        self.spare = robot.n - int(self.idle.sum()) - self.rank
        self.missed = np.inf  # least residual of what stalled near a singularity

    def run(self, tolerance: float, starts: int, seed: int) -> Solutions:
        form = self._form()
        found, why, method = np.empty((0, self.problem.robot.n)), "", "numeric"
        if form is not None:
            found, method = self._polished(form, tolerance), f"closed form: {form.name}"
            why = "" if len(found) else form.why_not(self.problem.target)
        if not len(found) and not why:
            found = self._search(tolerance, starts, seed)
            method = "numeric" if len(found) else method
        kept, broken = self._within_limits(self.space.wrapped(found))
        kept = kept[in_order(kept)]
        residual = self.problem.residuals(kept) if len(kept) else np.zeros(0)
        why = why or broken or (self._about(kept) if len(kept) else self._closest(tolerance))
        return Solutions(kept, residual, why, method)

    def _form(self) -> ClosedForm | None:
        moving = int((~self.idle).sum())
        if self.spare or not self.idle[moving:].all():
            return None
        return closed_form(serial_arm(self.problem.robot), self.problem.target, moving)

    def _polished(self, form: ClosedForm, tolerance: float) -> np.ndarray:
        still = self.bounds[:, 0]
        candidates = [
            np.concatenate([x, still[len(x) :]]) for x in form.candidates(self.problem.target)
        ]
        if not candidates:
            return np.empty((0, self.problem.robot.n))
        q = descend(self.problem, np.array(candidates), POLISH)
        q, open_by, self.missed = found(self.problem, q, self.rank, tolerance)
        return q[self.space.merged(q, open_by)[0]]

    def _search(self, tolerance: float, starts: int, seed: int) -> np.ndarray:
        def run(bounds: np.ndarray, clip: bool) -> np.ndarray:
            spare = self.spare > 0
            effort = starts, seed, tolerance
            q, self.missed = search(
                self.problem, self.space, bounds, *effort, self.rank, spare, clip
            )
            return q

        if self.limits is not None and self.spare > 0:
            inside = run(self._rest(_within(self.bounds, self.limits)), True)
            if len(inside):
                return inside
        return run(self.bounds, False)

    def _within_limits(self, q: np.ndarray) -> tuple[np.ndarray, str]:
        if self.limits is None or not len(q):
            return q, ""
        q = self.space.into_limits(q, self.limits)
        kept = q[~outside(q, self.limits).any(axis=1)]
        return kept, "" if len(kept) else reason.limits_exclude(self.problem, q, self.limits)

    def _about(self, q: np.ndarray) -> str:
        if self.spare:
            return (
                f"{self.rank + self.spare} joints move the tool in {self.rank} ways: a continuum "
                f"of solutions, of which these are {len(q)}"
            )
        parts = [reason.singularity(self.problem, self.space, q, self.rank, ~self.idle)]
        if np.isfinite(self.missed):
            parts.append(
                f"solutions may be missing: near a singularity {self.missed:.1g} was left of the "
                "error, metres and radians together"
            )
        if self.idle.any():
            names = np.array(self.problem.robot.joint_names)[self.idle]
            parts.append(f"joints that do not matter to this task rest: {', '.join(names)}")
        return "; ".join(part for part in parts if part)

    def _closest(self, tolerance: float) -> str:
        return reason.closest_approach(self.problem, quasi_random(self.bounds, 64), tolerance)

    def _slide(self) -> float:
        """How far a prismatic joint without limits may have to go."""
        return self.problem.size + float(np.linalg.norm(self.problem.target.T[:3, 3]))

    def _rest(self, bounds: np.ndarray) -> np.ndarray:
        """Bounds that hold joints the tool does not feel at 0, or at the limit nearest to it."""
        low, high = self.problem.robot.limits.T
        still = np.clip(0.0, low, high)
        return np.where(self.idle[:, None], still[:, None], bounds)


def _within(bounds: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """The start bounds cut down to finite joint limits."""
    return np.where(np.isfinite(limits), limits, bounds)


def _check(limits: Any, tolerance: Any, starts: Any, seed: Any) -> None:
    flag(limits, "limits")
    positive(tolerance, "tolerance")
    whole(starts, "starts", most=MOST)
    whole(seed, "seed", 0)
