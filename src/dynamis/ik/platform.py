"""Inverse kinematics of closed mechanisms: every working mode that puts the tool in place.

With the tool in place the links that carry it and the legs decouple: each is a serial arm with a
closed form, and the solutions of all multiply. Where that does not hold, a search over all joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dynamics.mobility import size
from ..lazy import once
from .assemble import LoopProblem, counted_limits, solutions
from .batch import POLISH, PoseSolutions, SolvedRows, merged, packed_solutions
from .closed_form import ClosedForm, closed_form
from .geometry import JointSpace
from .legs import MOST, Leg, arm_between, legs_beyond, moves, with_legs
from .search import EXACT, descend
from .target import Target

if TYPE_CHECKING:
    from ..robot import Robot

AT_ONCE = 512  # poses
CONTINUUM = 1e-9  # singular value, next to the largest, of a motion that keeps tool and loops


@dataclass(frozen=True)
class PlatformPlan:
    """The links that carry the tool, their closed form, and the legs that follow."""

    path: tuple[int, ...]
    form: ClosedForm
    legs: tuple[Leg, ...]

    @property
    def name(self) -> str:
        """Kinds of joints of the links that carry the tool and of the legs."""
        kinds = sorted({leg.arm.kinds for leg in self.legs})
        return f"{self.form.name}, legs {' and '.join(kinds)}"


def plan(robot: "Robot", target: Target) -> PlatformPlan | None:
    """How a task decouples; None if it does not."""
    chain = robot.chain
    path = chain.ancestors(chain.tip)[::-1]
    arm = arm_between(chain, path, chain.tool)
    if chain.coupling is not None or (target.is_position and not moves(arm)):
        return None
    form, legs = closed_form(arm, target, len(path)), legs_beyond(chain, path)
    return None if form is None or legs is None else PlatformPlan(tuple(path), form, tuple(legs))


class PlatformSolver:
    """Solves poses of one closed mechanism and one task."""

    def __init__(
        self,
        robot: "Robot",
        mask: np.ndarray,
        limits: Any,
        tolerance: float,
        starts: int | None,
        seed: int,
    ):
        self.robot, self.tolerance, self.starts, self.seed = robot, tolerance, starts, seed
        self.limits, self.counted = limits, counted_limits(robot, limits)
        self.mask, self.size = mask, size(robot.chain)
        self.space = JointSpace.of(robot, self.size)
        some = Target(np.eye(4), mask)
        self.plan = once(robot, ("plan", tuple(mask.tolist())), lambda: plan(robot, some))
        self.method = "numeric" if self.plan is None else f"closed form: {self.plan.name}"

    def problem(self, T: np.ndarray) -> LoopProblem:
        """All joints free, the tool at T."""
        return LoopProblem.of(self.robot, Target(T, self.mask))

    def run(self, T: np.ndarray, q0: np.ndarray | None) -> tuple[SolvedRows, str]:
        """Solutions of poses (N, 4, 4) in their order; of one pose also what there is to say."""
        why = ""
        if self.plan is None:
            parts = [solutions(self.problem(t), self.limits, self.starts, self.seed) for t in T]
            of = np.repeat(np.arange(len(T)), [len(q) for q in parts])
            rows = SolvedRows(of, np.concatenate(parts) if parts else np.empty((0, self.robot.n)))
        else:
            rows, why = self._closed(self.plan, T)
        rows = rows.ordered(self.space, q0)
        return rows, why or (self._about(rows, T) if len(T) == 1 else "")

    def _closed(self, plan: PlatformPlan, T: np.ndarray) -> tuple[SolvedRows, str]:
        chain, one = self.robot.chain, Target(T[0], self.mask) if len(T) == 1 else None
        of, x = plan.form.candidates(T)
        q = np.zeros((len(of), self.robot.n))
        q[:, plan.path] = x
        q = self.space.into_limits(self.space.wrapped(q), self.counted)
        path = list(plan.path)
        low, high = self.counted[path].T
        inside = ((q[:, path] >= low - EXACT) & (q[:, path] <= high + EXACT)).all(axis=1)
        if one is not None and not inside.any():
            return SolvedRows(of[:0], q[:0]), self._why_not(plan, one, q)
        carried = self._distinct(SolvedRows(of[inside], q[inside]), plan.path, len(T))
        rows, failed = with_legs(chain, plan.legs, carried, self.space, self.counted)
        if one is not None and failed is not None:
            name = self.robot.model.closures[failed.closure].name
            far = [failed.why_not(chain, q, str(name)) for q in carried.q]
            return rows, "; ".join(
                dict.fromkeys(filter(None, far))
            ) or f"the leg to {name!r} has no solution within the limits that count"
        problem = self.problem(T[rows.of])
        q = rows.q
        rough = np.flatnonzero(np.linalg.norm(problem.linearised(q)[0], axis=-1) > EXACT)
        if len(rough):
            q[rough] = descend(problem.at(rough), q[rough], POLISH)  # type: ignore[arg-type]
        good = np.flatnonzero(problem.residuals(q) < self.tolerance)
        return self._distinct(SolvedRows(rows.of[good], q[good]), range(self.robot.n), len(T)), ""

    def _distinct(self, rows: SolvedRows, joints: Sequence[int], poses: int) -> SolvedRows:
        """One of each group of rows of a pose that are equal in some joints."""
        own = list(joints)
        space = JointSpace(self.space.revolute[own], self.size)
        packed = SolvedRows(rows.of, rows.q[:, own]).packed(poses)
        found, _ = merged(packed, np.full(packed.shape[:2], space.reach(0.0)), space)
        q = np.zeros((len(found.of), self.robot.n))
        q[:, own] = found.q
        return SolvedRows(found.of, q)

    def _why_not(self, plan: PlatformPlan, target: Target, q: np.ndarray) -> str:
        if len(q):
            low, high = self.counted.T
            broken = ((q < low) | (q > high)).any(axis=0)
            names = [self.robot.joint_names[k] for k in plan.path if broken[k]]
            return f"joint limits exclude every solution found: {', '.join(names)}"
        return plan.form.why_not(target) or "the links that carry the tool do not reach the target"

    def _about(self, rows: SolvedRows, T: np.ndarray) -> str:
        if not len(rows.q):
            return "no start of the search converged within the limits that count, more may"
        s = np.linalg.svd(self.problem(T[0]).linearised(rows.q)[1], compute_uv=False)
        n = self.robot.n
        weak = s[:, n - 1] < CONTINUUM * s[:, 0] if s.shape[1] >= n else np.ones(len(s), dtype=bool)
        if weak.all() and self.plan is None:
            return f"the task leaves motions free: a continuum of solutions, of which {len(weak)}"
        if weak.any():
            return f"singular target ({int(weak.sum())} of {len(weak)} solutions): two meet there"
        if len(rows.q) == MOST:
            return f"{MOST} of more solutions: limits=True keeps those within the joint limits"
        return ""


def solve_platform(
    solver: PlatformSolver, many: np.ndarray, shape: tuple[int, ...], q0: np.ndarray | None
) -> PoseSolutions:
    """Solutions of poses (..., 4, 4) of a closed mechanism; those that are not finite have none."""
    n, T = solver.robot.n, many.reshape(-1, 4, 4)
    near = None if q0 is None else np.broadcast_to(q0, (*shape, n)).reshape(-1, n)
    rows = SolvedRows.of_finite(lambda *some: solver.run(*some)[0], T, near, n, AT_ONCE)
    return packed_solutions(
        rows, shape, n, lambda found, best: solver.problem(T[found]).residuals(best), solver.method
    )
