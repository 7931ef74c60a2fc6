"""Inverse kinematics of many poses at once: closed forms as arrays, else a compiled search."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..lazy import once
from ..robot.user_function import compile_function
from ..spatial.vectors import inner, matrix_times
from .closed_form import ClosedForm, closed_form
from .geometry import JointSpace, outside, serial_arm
from .search import (
    EASIER,
    EXACT,
    FIRST,
    GOAL,
    HANDFUL,
    HARDER,
    HITS,
    LONGEST,
    ROUNDS,
    STALLED,
    STEPS,
    STRONGEST,
    WEAKEST,
    IkProblem,
    descend,
    quasi_random,
    settle,
    start_bounds,
    weakness,
)
from .target import Target

AT_ONCE = 2048  # poses
STARTS = 64  # of each pose in a round of the search
POLISH = 30  # steps for a candidate of a closed form
CERTAIN = 1e-7  # volume of the scaled Jacobian, its size being 1, that is far from singular


@dataclass(frozen=True, eq=False)
class PoseSolutions:
    """Solutions of many poses: the one asked for of each, and every one found.

    `q` is the first of the pose's `solutions`, in the order of its joint positions or, with `q0`,
    of the distance from there. Where nothing was found, or the pose is NaN, it is NaN.
    """

    q: np.ndarray  # (..., n)
    found: np.ndarray  # (...,) of bool
    residual: np.ndarray  # (...,)
    solutions: np.ndarray  # (..., k, n), NaN behind the last of each pose
    method: str  # "closed form: ..." or "numeric"

    @property
    def count(self) -> np.ndarray:
        """How many solutions each pose has, (...,)."""
        return np.isfinite(self.solutions).all(axis=-1).sum(axis=-1)

    @property
    def reason(self) -> str:
        """Empty if every pose has a solution."""
        missing = int(self.found.size - self.found.sum())
        if not missing:
            return ""
        return f"{missing} of {self.found.size} poses have no solution: one alone is told why"

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.q)

    def __repr__(self) -> str:
        poses = " x ".join(map(str, self.found.shape))
        words = [f"{poses} poses", f"{int(self.found.sum())} found", self.method]
        return f"PoseSolutions({', '.join(words)})"


@dataclass(frozen=True)
class SolvedRows:
    """Joint positions that solve a pose each: its number (k,) and q (k, n), pose by pose."""

    of: np.ndarray
    q: np.ndarray

    @property
    def places(self) -> np.ndarray:
        """Number of each row among those of its pose, (k,)."""
        counts = np.bincount(self.of)
        return np.arange(len(self.of)) - (np.cumsum(counts) - counts)[self.of]

    def packed(self, poses: int) -> np.ndarray:
        """The rows of every pose, NaN behind its last, (poses, most, n)."""
        most = int(np.bincount(self.of).max(initial=0))
        result = np.full((poses, most, self.q.shape[1]), np.nan)
        result[self.of, self.places] = self.q
        return result

    def chosen(self, rows: np.ndarray) -> "SolvedRows":
        """Some of them, in the order of `rows`."""
        return SolvedRows(self.of[rows], self.q[rows])

    def ordered(self, space: JointSpace, q0: np.ndarray | None) -> "SolvedRows":
        """Pose by pose, by distance from the pose's q0 (poses, n), then by joint positions."""
        keys: tuple[np.ndarray, ...] = tuple(np.round(self.q, 6).T[::-1])
        if q0 is not None:
            keys = (*keys, space.away(self.q, q0[self.of]))
        return self.chosen(np.lexsort((*keys, self.of)))

    @classmethod
    def of_finite(
        cls,
        run: Callable[[np.ndarray, np.ndarray | None], "SolvedRows"],
        T: np.ndarray,
        q0: np.ndarray | None,
        n: int,
        at_once: int,
    ) -> "SolvedRows":
        """What `run` finds for the poses T (N, 4, 4) that are finite, `at_once` each time."""
        finite = np.flatnonzero(np.isfinite(T).all(axis=(1, 2)))
        parts = [cls(np.empty(0, dtype=int), np.empty((0, n)))]
        for first in range(0, len(finite), at_once):
            at = finite[first : first + at_once]
            rows = run(T[at], None if q0 is None else q0[at])
            parts.append(cls(at[rows.of], rows.q))
        return cls(np.concatenate([p.of for p in parts]), np.concatenate([p.q for p in parts]))


def solve_poses(
    problem: IkProblem,
    shape: tuple[int, ...],
    limits: np.ndarray | None,
    q0: np.ndarray | None,
    tolerance: float,
    starts: int | None,
    seed: int,
) -> PoseSolutions:
    """Solutions of the poses of a problem, (N, 4, 4); those that are not finite have none."""
    solver = _BatchSolver(problem, limits, tolerance, starts or STARTS, seed)
    T, n = problem.target.T, problem.robot.n
    near = None if q0 is None else np.broadcast_to(q0, (*shape, n)).reshape(-1, n)
    return packed_solutions(
        SolvedRows.of_finite(solver.run, T, near, n, AT_ONCE),
        shape,
        n,
        lambda found, best: problem.at(found).residuals(best),
        solver.method,
    )


def packed_solutions(
    rows: SolvedRows,
    shape: tuple[int, ...],
    n: int,
    residuals: Callable[..., np.ndarray],
    method: str,
) -> PoseSolutions:
    """The result for poses of a shape; `residuals(found, q)` are those of the first solutions."""
    count = int(np.prod(shape))
    packed, found = rows.packed(count), np.bincount(rows.of, minlength=count) > 0
    best = packed[:, 0] if packed.shape[1] else np.full((count, n), np.nan)
    residual = np.full(count, np.nan)
    if found.any():
        residual[found] = residuals(found, best[found])
    return PoseSolutions(
        best.reshape(*shape, n),
        found.reshape(shape),
        residual.reshape(shape),
        packed.reshape(*shape, *packed.shape[1:]),
        method,
    )


def form_of(problem: IkProblem, idle: np.ndarray, spare: int) -> ClosedForm | None:
    """The closed form of a problem whose last joints may be idle, if there is one."""
    moving = int((~idle).sum())
    if spare or not idle[moving:].all():
        return None
    return closed_form(serial_arm(problem.robot), problem.target, moving)


class _BatchSolver:
    """Solves poses of one robot and one task."""

    def __init__(
        self,
        problem: IkProblem,
        limits: np.ndarray | None,
        tolerance: float,
        starts: int,
        seed: int,
    ):
        self.problem, self.space, self.robot = problem, problem.space, problem.robot
        self.limits, self.tolerance, self.starts, self.seed = limits, tolerance, starts, seed
        self.idle, self.rank, self.spare = problem.abilities(
            start_bounds(self.robot.limits, self.space.revolute, problem.size)
        )
        self.form = form_of(problem, self.idle, self.spare)
        self.method = "numeric" if self.form is None else f"closed form: {self.form.name}"
        self.rest = np.clip(0.0, *self.robot.limits.T)  # of joints that do not move the tool

    def run(self, T: np.ndarray, q0: np.ndarray | None) -> SolvedRows:
        """Solutions of finite poses in their order."""
        if self.form is None:
            return self._ordered(self._search(T, q0), q0)
        rows = self._closed(self.form, T)
        left = np.flatnonzero((np.bincount(rows.of, minlength=len(T)) == 0) & ~self.form.beyond(T))
        if len(left):  # near a singularity, or not in this orientation
            more = self._search(T[left], None if q0 is None else q0[left])
            of = np.concatenate([rows.of, left[more.of]])
            rows = SolvedRows(of, np.concatenate([rows.q, more.q])).chosen(
                np.argsort(of, kind="stable")
            )
        return self._ordered(rows, q0)

    def _at(self, T: np.ndarray) -> IkProblem:
        return replace(self.problem, target=Target(T, self.problem.target.mask))

    def _closed(self, form: ClosedForm, T: np.ndarray) -> SolvedRows:
        of, moving = form.candidates(T)
        q = np.tile(self.rest, (len(of), 1))
        q[:, : moving.shape[1]] = moving
        problem = self._at(T[of])
        rough = np.flatnonzero(problem.scaled_error(q) > EXACT)
        q[rough] = descend(problem.at(rough), q[rough], POLISH)
        return self._distinct(SolvedRows(of, q), T)[0]

    def _distinct(self, rows: SolvedRows, T: np.ndarray) -> tuple[SolvedRows, np.ndarray]:
        """Rows that solve their pose, one of each group of equal ones; how many it stands for."""
        problem, q = self._at(T[rows.of]), rows.q.copy()
        stalled = np.flatnonzero(problem.scaled_error(q) > EXACT)
        q[stalled] = settle(problem.at(stalled), q[stalled], self.rank)
        left = problem.scaled_error(q)
        good = np.flatnonzero(problem.residuals(q) < self.tolerance)
        good = good[np.lexsort((left[good], rows.of[good]))]  # the best of each pose first
        kept = SolvedRows(rows.of[good], q[good])
        reach = self.space.reach(_open_by(problem.at(good), kept.q, left[good], self.rank))
        distances = kept.packed(len(T)), SolvedRows(kept.of, reach[:, None]).packed(len(T))[..., 0]
        return merged(*distances, self.space)

    def _search(self, T: np.ndarray, q0: np.ndarray | None) -> SolvedRows:
        """Starts all over the joint space, in rounds until every solution was hit often."""
        n, limits = self.robot.n, self.limits if self.spare > 0 else None
        slide = self.problem.size + np.linalg.norm(T[:, :3, 3], axis=-1)
        bounds = np.stack([start_bounds(self.robot.limits, self.space.revolute, s) for s in slide])
        box = np.full((n, 2), [-np.inf, np.inf])
        if limits is not None:
            bounds = box = np.where(np.isfinite(limits), limits, bounds)
        still = np.where(self.idle[:, None], self.rest[:, None], np.nan)
        bounds = np.where(np.isnan(still), bounds, still)
        found, hits = SolvedRows(np.empty(0, dtype=int), np.empty((0, n))), np.empty(0, dtype=int)
        active = np.arange(len(T))
        unit = np.tile([0.0, 1.0], (n, 1))
        for rounds in range(1, ROUNDS + 1):
            share = quasi_random(unit, self.starts, self.seed, skip=self.starts * (rounds - 1))
            low, high = bounds[active, None, :, 0], bounds[active, None, :, 1]
            q = low + share * (high - low)
            if q0 is not None and rounds == 1:
                q = np.concatenate([q0[active, None], q], axis=1)
            of = np.repeat(active, q.shape[1])
            within = box if box.ndim == 2 else box[of]
            q, left = descended(self.problem, q.reshape(-1, n), T[of], within)
            near = left < STALLED
            fresh, more = self._distinct(SolvedRows(of[near], q[near]), T)
            found, hits = self._joined(found, hits, fresh, more, len(T))
            counts = np.bincount(found.of, minlength=len(T))
            least = np.full(len(T), HITS)
            np.minimum.at(least, found.of, hits)
            enough = (counts > 0) & (counts <= self.problem.most) & (least >= HITS)
            if rounds > 1:
                enough |= (counts == 0) | (counts > self.problem.most)
            active = active[~enough[active]]
            if self.spare or not len(active):
                break
        return found

    def _joined(
        self, a: SolvedRows, hits: np.ndarray, b: SolvedRows, more: np.ndarray, poses: int
    ) -> tuple[SolvedRows, np.ndarray]:
        """Solutions of two rounds with how often each was hit."""
        of = np.concatenate([a.of, b.of])
        order = np.argsort(of, kind="stable")
        rows = SolvedRows(of[order], np.concatenate([a.q, b.q])[order])
        weights = np.concatenate([hits, more])[order]
        packed, most = (
            rows.packed(poses),
            SolvedRows(rows.of, weights[:, None]).packed(poses)[..., 0],
        )
        reach = np.full(most.shape, self.space.reach(0.0))
        return merged(packed, reach, self.space, np.nan_to_num(most))

    def _ordered(self, rows: SolvedRows, q0: np.ndarray | None) -> SolvedRows:
        """Rows within the limits, the one nearest q0 or the first by its joint positions first."""
        rows = replace(rows, q=self.space.wrapped(rows.q))
        if self.limits is not None:
            q = self.space.into_limits(rows.q, self.limits)
            inside = np.flatnonzero(~outside(q, self.limits).any(axis=1))
            rows = replace(rows, q=q).chosen(inside)
        rows = rows.ordered(self.space, q0)
        if not self.spare:
            return rows
        return rows.chosen(np.flatnonzero(rows.places < HANDFUL))  # a few of a continuum


def _open_by(problem: IkProblem, q: np.ndarray, left: np.ndarray, rank: int) -> np.ndarray:
    """How far from a solution each row may be, rad or arm sizes; 0 far from a singularity."""
    A = problem.jacobian(q)
    A = A if A.shape[-2] <= A.shape[-1] else np.swapaxes(A, -1, -2)
    square = A @ np.swapaxes(A, -1, -2)
    size = np.maximum(np.trace(square, axis1=-2, axis2=-1), 1e-300)
    volume = np.sqrt(np.maximum(np.linalg.det(square), 0.0) / size ** square.shape[-1])
    doubtful = np.flatnonzero(~(volume > CERTAIN) | (left > EXACT))
    result = np.zeros(len(q))
    if len(doubtful):
        e, s = weakness(problem.at(doubtful), q[doubtful], rank)
        result[doubtful] = np.maximum(e, EXACT) / np.maximum(s, 1e-300)
    return result


def merged(
    q: np.ndarray, reach: np.ndarray, space: JointSpace, weights: np.ndarray | None = None
) -> tuple[SolvedRows, np.ndarray]:
    """The first of each group of equal rows of a pose, and how many rows it stands for.

    As `JointSpace.merged`, for all poses at once: q (N, k, n), NaN where there is no row.
    """
    poses, most, n = q.shape
    kept, counts = np.full((poses, most, n), np.nan), np.zeros((poses, most), dtype=int)
    size = np.zeros(poses, dtype=int)
    for i in range(most):
        there = np.isfinite(q[:, i]).all(axis=-1)
        among = int(size.max(initial=0))
        with np.errstate(invalid="ignore"):
            near = space.distance(kept[:, :among], q[:, i, None]) < reach[:, i, None]
        known = near.any(axis=1) & there
        new = np.flatnonzero(there & ~known)
        place = np.where(known, np.argmax(near, axis=1) if among else 0, size)
        weight = np.ones(poses) if weights is None else weights[:, i]
        rows = np.flatnonzero(there)
        counts[rows, place[rows]] += weight[rows].astype(int)
        kept[new, size[new]] = q[new, i]
        size[new] += 1
    of, slot = np.nonzero(np.isfinite(kept).all(axis=-1))
    return SolvedRows(of, kept[of, slot]), counts[of, slot]


# Levenberg-Marquardt in machine code: one step of `search.descend` for every row

TINY = 1e-24


def descended(
    problem: IkProblem, q: np.ndarray, T: np.ndarray, box: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Every row of q moved to a nearby minimum of the error from its pose T, and what is left."""
    robot = problem.robot
    mask = tuple(bool(x) for x in problem.target.mask)
    step = once(robot, ("inverse kinematics", mask), lambda: _compiled_step(problem, mask))
    n, rows = robot.n, np.arange(len(q))
    box = np.clip(np.broadcast_to(box, (len(q), n, 2)), -1e300, 1e300)
    state = np.column_stack([q, np.full(len(q), np.inf), np.full(len(q), FIRST)])
    poses, low, high = (
        np.ascontiguousarray(x) for x in (T.reshape(-1, 16), *np.moveaxis(box, 2, 0))
    )
    now, given = state, (poses, low, high)
    for _ in range(STEPS):
        now = step(np.ascontiguousarray(now[:, :n]), given[0], now[:, n + 1 :].copy(), *given[1:])
        state[rows] = now
        going = (now[:, n] > GOAL) & (now[:, n + 1] < STRONGEST)
        if not going.any():
            break
        rows, now, given = rows[going], now[going], tuple(x[going] for x in given)
    return state[:, :n], state[:, n]


def _compiled_step(problem: IkProblem, mask: tuple[bool, ...]) -> Callable[..., np.ndarray]:
    """One step of all rows: q and damping in; q, the scaled error there and the next damping out.

    The rotation's error is 2 sin(angle / 2) along its axis, in terms of the quaternion (w, v) of
    the target over the tool 2 v, which has no other zeros than the rotation vector and changes by
    -(w + [v]x) J_w dq.
    """
    size, scales = problem.size, problem.joint_scale.tolist()
    lines = [k for k in range(6) if mask[k]]

    def difference(arm: Any, q: Any, T: Any) -> tuple[list[Any], Any]:
        P = arm.fk(q)
        e = [(T[4 * i + 3] - P[i][3]) / size for i in range(3)]
        M = [[sum(T[4 * i + k] * P[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
        w = arm.sqrt(arm.max(1.0 + M[0][0] + M[1][1] + M[2][2], TINY))  # 2 cos(angle / 2)
        skew = M[2][1] - M[1][2], M[0][2] - M[2][0], M[1][0] - M[0][1]
        return [*e, *(x / w for x in skew)], 0.5 * w

    def length(arm: Any, e: Any) -> Any:
        return arm.sqrt(sum(e[k] * e[k] for k in lines))

    def step(arm: Any, q: Any, T: Any, damping: Any, low: Any, high: Any) -> list[Any]:
        e, w = difference(arm, q, T)
        J = arm.jacobian(q)
        x, y, z = (0.5 * c for c in e[3:])
        turn = ((w, -z, y), (z, w, -x), (-y, x, w))
        A = [[c / size for c in row] for row in J[:3]]
        A += [
            [sum(t * J[3 + k][j] for k, t in enumerate(row)) for j in range(arm.n)] for row in turn
        ]
        A = [[c * s for c, s in zip(A[k], scales, strict=True)] for k in lines]
        columns = list(zip(*A, strict=True))
        H = [[inner(c, d) for d in columns] for c in columns]
        more = damping[0] * (sum(H[i][i] for i in range(arm.n)) + 1e-30)
        H = [[h + more if i == j else h for j, h in enumerate(row)] for i, row in enumerate(H)]
        own = [e[k] for k in lines]
        y = arm.solve(H, matrix_times(columns, own))
        longest = LONGEST
        for a in y:
            longest = arm.max(longest, arm.max(a, -a))
        short = LONGEST / longest
        trial = [a + short * s * b for a, s, b in zip(q, scales, y, strict=True)]
        trial = [arm.min(arm.max(a, b), c) for a, b, c in zip(trial, low, high, strict=True)]
        before, after = length(arm, e), length(arm, difference(arm, trial, T)[0])
        better = after < before
        new = [arm.select(better, a, b) for a, b in zip(trial, q, strict=True)]
        factor = arm.select(better, EASIER, HARDER)
        rest = arm.select(better, after, before), arm.max(damping[0] * factor, WEAKEST)
        return [*new, *rest]

    sizes = {"T": 16, "damping": 1}
    return compile_function(problem.robot, step, sizes)
