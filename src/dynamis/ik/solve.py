"""Every distinct solution of a task: closed form where the geometry allows, else a search."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import flag, positive, whole
from ..compile.arrays import as_batch, batch_shape, finite
from ..errors import ShapeError, counted
from ..robot.distance import collision_pairs
from ..tables import html_table, rest
from .batch import POLISH, PoseSolutions, form_of, solve_poses
from .closed_form import ClosedForm
from .collisions import clear_pose_solutions, clear_solutions
from .geometry import arm_size, in_order, outside
from .platform import PlatformSolver, solve_platform
from .search import (
    IkProblem,
    across,
    descend,
    found,
    quasi_random,
    search,
    settle,
    start_bounds,
    weakness,
)
from .target import Target, poses, target, task_mask

if TYPE_CHECKING:
    from ..robot import Robot

MOST = 100_000  # starts of a search
MOST_SHOWN = 16  # solutions: an arm with six joints has no more
STARTS = 256  # of a round, unasked
SINGULAR = 1e-6  # smallest singular value of the scaled Jacobian, relative to the largest
INVOLVED = 0.05  # share of a joint in a motion below which it is not named
STEP = 1e-3  # of a motion of the joints, rad or arm sizes, that shows whether the tool stays


@dataclass(frozen=True, eq=False)
class Solutions:
    """Every distinct solution found, each with what it leaves of the task's error.

    `residual` is the norm of the task's error, metres and radians taken together. `reason` is
    empty when there is nothing to say; otherwise it says why there is no solution, that the target
    is singular (a closed form then sets the angle that is free to 0) or how nearly so (solutions
    may then be missing), or that these are a few of a continuum.
    """

    q: np.ndarray  # (k, n)
    residual: np.ndarray  # (k,)
    reason: str
    method: str  # "closed form: ..." or "numeric"

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.q)

    def __repr__(self) -> str:
        count = f"{len(self)} solution{'' if len(self) == 1 else 's'}"
        head = f"Solutions({count}, {self.method}" + (f"; {self.reason}" if self.reason else "")
        rows = [
            "  [" + " ".join(f"{x:z9.5f}" for x in q) + f"]  residual {r:.1e}"
            for q, r in zip(self.q[:MOST_SHOWN], self.residual[:MOST_SHOWN], strict=True)
        ]
        rows += [f"  {line}" for line in rest(len(self), MOST_SHOWN)]
        return "\n".join([head + (":" if rows else ")"), *rows]) + (")" if rows else "")

    def _repr_html_(self) -> str:
        count = f"{len(self)} solution{'' if len(self) == 1 else 's'}, {self.method}"
        title = [count, *([self.reason] if self.reason else [])]
        head = ("", *(f"q{i + 1}" for i in range(self.q.shape[-1])), "residual")
        rows = [
            (str(k), *(f"{x:z.5f}" for x in q), f"{r:.1e}")
            for k, (q, r) in enumerate(zip(self.q, self.residual, strict=True))
        ]
        return html_table((head, *rows), title)


def solve(
    robot: "Robot",
    T: Any,
    task: Any = None,
    *,
    limits: bool | str | None = None,
    tolerance: float = 1e-9,
    starts: int | None = None,
    seed: int = 0,
    q0: Any = None,
    world: Any = None,
) -> Solutions | PoseSolutions:
    """Every distinct q with |error| < tolerance, metres and radians taken together.

    Revolute joints come in (-pi, pi]; with `limits` only what lies within them, angles turned into
    them by whole turns. With `q0` those nearest to it come first. `starts` and `seed` are those of
    the search, used where no closed form is; unasked it has more starts for one pose than for each
    of many. Of a closed mechanism the limits of its passive joints always count, unless `limits` is
    False. With a `world`, [] too, only what collides neither with it nor with the arm itself.
    """
    if world is not None:
        collision_pairs(robot, world)  # what has no shapes is said before anything is computed
    if not robot.model.closures:
        flag(limits := False if limits is None else limits, "limits")
    positive(tolerance, "tolerance")
    if starts is not None:
        whole(starts, "starts", most=MOST)
    whole(seed, "seed", 0)
    mask, size = task_mask(robot, task), arm_size(robot)
    many = poses(T, mask)
    shape = () if many is None else many.shape[:-2]
    near = None if q0 is None else _start(q0, robot, shape)
    if robot.model.closures:
        counted = "passive" if limits is None else limits
        solver = PlatformSolver(robot, mask, counted, tolerance, starts, seed)
        return _clear(robot, _platform(solver, T, many, shape, near), world, many, mask)
    if many is not None:
        problem = IkProblem(robot, Target(many.reshape(-1, 4, 4), mask), size)
        bounds = robot.limits if limits else None
        rows = solve_poses(problem, shape, bounds, near, tolerance, starts, seed)
        return _clear(robot, rows, world, many, mask)
    problem = IkProblem(robot, target(T, mask), size)
    one = _Solver(problem, bool(limits)).run(tolerance, starts or STARTS, seed, near)
    return _clear(robot, one, world, None, mask)


def _clear(
    robot: "Robot", found: Solutions | PoseSolutions, world: Any, many: Any, mask: np.ndarray
) -> Solutions | PoseSolutions:
    """Solutions that do not collide, where a world is given."""
    if world is None:
        return found
    if isinstance(found, Solutions):
        return clear_solutions(robot, found, world)
    return clear_pose_solutions(robot, found, world, Target(many, mask))


def _platform(
    solver: PlatformSolver, T: Any, many: np.ndarray | None, shape: tuple[int, ...], near: Any
) -> Solutions | PoseSolutions:
    """Solutions of one pose, or of many, of a closed mechanism."""
    if many is not None:
        return solve_platform(solver, many, shape, near)
    pose = target(T, solver.mask).T[None]
    rows, why = solver.run(pose, None if near is None else near[None])
    residual = solver.problem(pose[0]).residuals(rows.q) if len(rows.q) else np.zeros(0)
    return Solutions(rows.q, residual, why, solver.method)


def _start(q0: Any, robot: "Robot", shape: tuple[int, ...]) -> np.ndarray:
    """Finite joint positions, one for all poses or one each."""
    near = finite(as_batch(q0, "q0", (robot.n,), f"robot {robot.name!r}"), "q0")
    if near.ndim > 1 and batch_shape(("T", "q0"), (shape, near.shape[:-1])) != shape:
        raise ShapeError(f"q0 has shape {near.shape}, expected one for each of the poses {shape}")
    return near


class _Solver:
    """Solves one inverse kinematics problem."""

    def __init__(self, problem: IkProblem, limited: bool):
        self.problem, self.space, robot = problem, problem.space, problem.robot
        self.limits = robot.limits if limited else None
        # how far a prismatic joint without limits may have to go
        slide = problem.size + float(np.linalg.norm(problem.target.T[:3, 3]))
        bounds = start_bounds(robot.limits, self.space.revolute, slide)
        self.idle, self.rank, self.spare = problem.abilities(bounds)
        self.bounds = self._rest(bounds)
        self.missed = np.inf  # least residual of what stalled near a singularity

    def run(
        self, tolerance: float, starts: int, seed: int, q0: np.ndarray | None = None
    ) -> Solutions:
        form = form_of(self.problem, self.idle, self.spare)
        found, why, method = np.empty((0, self.problem.robot.n)), "", "numeric"
        if form is not None:
            found, method = self._polished(form, tolerance), f"closed form: {form.name}"
            why = "" if len(found) else form.why_not(self.problem.target)
        if not len(found) and not why:
            found = self._search(tolerance, starts, seed)
            method = "numeric" if len(found) else method
        kept, broken = self._within_limits(self.space.wrapped(found))
        kept = kept[in_order(kept)]
        if q0 is not None:
            kept = kept[np.argsort(self.space.away(kept, q0), kind="stable")]
        residual = self.problem.residuals(kept) if len(kept) else np.zeros(0)
        why = why or broken or (self._about(kept) if len(kept) else self._closest(tolerance))
        return Solutions(kept, residual, why, method)

    def _polished(self, form: ClosedForm, tolerance: float) -> np.ndarray:
        _, moving = form.candidates(self.problem.target.T[None])
        if not len(moving):
            return np.empty((0, self.problem.robot.n))
        q = np.tile(self.bounds[:, 0], (len(moving), 1))
        q[:, : moving.shape[1]] = moving
        q = descend(self.problem, q, POLISH)
        q, open_by, self.missed = found(self.problem, q, self.rank, tolerance)
        return q[self.space.merged(q, open_by)[0]]

    def _search(self, tolerance: float, starts: int, seed: int) -> np.ndarray:
        def run(bounds: np.ndarray, clip: bool) -> np.ndarray:
            effort = starts, seed, tolerance
            q, self.missed = search(self.problem, bounds, *effort, self.rank, self.spare > 0, clip)
            return q

        if self.limits is not None and self.spare > 0:
            within = np.where(np.isfinite(self.limits), self.limits, self.bounds)
            inside = run(self._rest(within), True)
            if len(inside):
                return inside
        return run(self.bounds, False)

    def _within_limits(self, q: np.ndarray) -> tuple[np.ndarray, str]:
        """Solutions within the limits; if there is none, which joints' limits they break."""
        if self.limits is None or not len(q):
            return q, ""
        q = self.space.into_limits(q, self.limits)
        broken = outside(q, self.limits)
        kept = q[~broken.any(axis=1)]
        if len(kept):
            return kept, ""
        parts = []
        for i in np.nonzero(broken.any(axis=0))[0]:
            (low, high), name = self.limits[i], self.problem.robot.joint_names[i]
            parts.append(f"{name} [{low:.4g}, {high:.4g}] ({int(broken[:, i].sum())} of {len(q)})")
        return kept, f"joint limits exclude every solution found: {', '.join(parts)}"

    def _rest(self, bounds: np.ndarray) -> np.ndarray:
        """Bounds with joints that do not move the tool fixed at 0, clipped to their limits."""
        low, high = self.problem.robot.limits.T
        still = np.clip(0.0, low, high)
        return np.where(self.idle[:, None], still[:, None], bounds)

    # -- reasons why there is no solution, and remarks on special ones ----------------------------

    def _about(self, q: np.ndarray) -> str:
        if self.spare:
            return (
                f"{self.rank + self.spare} joints move the tool in {self.rank} ways: a continuum "
                f"of solutions, of which these are {len(q)}"
            )
        parts = [self._singularity(q)]
        if np.isfinite(self.missed):
            parts.append(
                f"solutions may be missing: near a singularity {self.missed:.1g} was left of the "
                "error, metres and radians together"
            )
        if self.idle.any():
            names = np.array(self.problem.robot.joint_names)[self.idle]
            parts.append(f"joints that do not matter to this task rest: {', '.join(names)}")
        return "; ".join(part for part in parts if part)

    def _singularity(self, q: np.ndarray) -> str:
        """Which solutions are singular and which joints move without moving the tool."""
        felt, last = ~self.idle, self.rank - 1
        _, s, V = np.linalg.svd(self.problem.jacobian(q)[..., felt])
        bad = np.nonzero(s[:, last] < SINGULAR * s[:, 0])[0]
        if not len(bad):
            return ""
        motions = np.zeros((len(bad), len(felt)))
        motions[:, felt] = V[bad, last]
        names = np.array(self.problem.robot.joint_names)
        joints = ", ".join(names[np.any(np.abs(motions) > INVOLVED, axis=0)])
        count = f"singular target ({len(bad)} of {counted(len(q), 'solution')}): joints {joints}"
        together = "can move together without moving the tool"
        weak = s[bad, last]
        stay = self._stay(q[bad], motions, weak)
        if self._free(q[bad], motions):
            return f"{count} {together}, each given is one of infinitely many"
        if stay.any():
            return (
                f"nearly {count} can move together and move the tool by no more than "
                f"{weak[stay].max():.1g} per radian: solutions may be missing or inexact there"
            )
        return f"{count} {together}, two solutions meet there"

    def _free(self, q: np.ndarray, motions: np.ndarray) -> bool:
        """Whether a small step along a motion leads to solutions other than q itself."""
        moved = descend(self.problem, q + STEP * motions * self.problem.joint_scale, 30)
        moved = settle(self.problem, moved, self.rank)
        apart = self.space.distance(moved, q) > 0.3 * STEP * np.abs(motions).max(axis=-1)
        return bool((apart & (self.problem.residuals(moved) < 1e-9 * self.problem.size)).any())

    def _stay(self, q: np.ndarray, motions: np.ndarray, weak: np.ndarray) -> np.ndarray:
        """Whether a step along each motion moves the tool by no more than `weak` times the step."""
        moved = across(self.problem, q + STEP * motions * self.problem.joint_scale, self.rank)
        return weakness(self.problem, moved, self.rank)[0] < 10.0 * STEP * weak

    def _closest(self, tolerance: float) -> str:
        """The smallest error reached, first of the position alone."""
        problem, starts = self.problem, quasi_random(self.bounds, 64)
        mask = problem.target.mask

        def least(problem: IkProblem) -> float:
            return float(problem.residuals(descend(problem, starts, 60)).min())

        if mask[:3].any():
            position = Target(problem.target.T, mask & (np.arange(6) < 3))
            left = least(IkProblem(problem.robot, position, problem.size))
            if left > tolerance:
                return f"closest approach leaves {left:.3g} m"
        left = least(problem)
        if left < tolerance or not mask[3:].any():
            return "no start of the search converged, more starts may"
        if not mask[:3].any():
            return f"closest approach leaves {left:.3g} rad"
        return (
            "the position can be reached, but not in this orientation: closest approach leaves "
            f"{left:.3g} (metres and radians together)"
        )
