"""Numerical inverse kinematics: Levenberg-Marquardt from starts all over the joint space."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..progress import stage
from .geometry import JointSpace, pose_scale, turning
from .target import Target

if TYPE_CHECKING:
    from ..robot import Robot


def quasi_random(bounds: np.ndarray, count: int, seed: int = 0, skip: int = 0) -> np.ndarray:
    """Points `skip`, `skip + 1`, ... of an additive recurrence over the box, (count, d).

    x_k = frac(x_0 + k (1/g, 1/g^2, ... 1/g^d)), g the positive root of g^(d + 1) = g + 1; the
    seed chooses x_0. H. Niederreiter, Random Number Generation and Quasi-Monte Carlo Methods, 1992.
    """
    d = len(bounds)
    g = 2.0
    for _ in range(64):
        g = (1.0 + g) ** (1.0 / (d + 1))
    first = np.random.default_rng(seed).random(d)
    k = np.arange(skip, skip + count)[:, None]
    share = (first + k * g ** -np.arange(1.0, d + 1.0)) % 1.0
    return bounds[:, 0] + share * (bounds[:, 1] - bounds[:, 0])


# Levenberg-Marquardt over a batch of joint positions at once.
#
# Each sample solves (A^T A + lambda 1) y = A^T e for its step, with lengths measured in arm sizes
# so that metres and radians weigh alike, and has its own lambda: smaller after a step that helped,
# larger after one that did not. J. J. More, The Levenberg-Marquardt algorithm, 1978.

FELT = 1e-10  # motion of the tool, in arm sizes or radians, below which a joint does not matter
PROBES = 16  # positions that tell what the arm can do in general
LONGEST = 1.0  # radians (or arm sizes) a joint moves in one step, at most
EASIER, HARDER = 0.1, 10.0  # what lambda is multiplied by
FIRST, WEAKEST, STRONGEST = 1e-2, 1e-14, 1e8  # lambda at the start; its bounds
GOAL = 1e-15  # scaled error that ends a descent
EXACT, STALLED = 1e-13, 1e-3  # scaled error that is rounding; one that a descent may stall at
HIDING = 1e-5  # scaled error and weakness of a stalled row that may hide a solution
WEAK = 1e-3  # singular value, relative to the largest, of a motion that the tool hardly feels
SETTLING, STRIDE = 40, 0.2  # of settling: steps along that motion, and the longest of them


@dataclass(frozen=True)
class IkProblem:
    """A robot and a target, with the scales that make lengths and angles comparable."""

    robot: "Robot"
    target: Target
    size: float
    most = 16  # a general 6R arm has no more (E. J. F. Primrose, 1986): above it is a continuum

    def at(self, rows: np.ndarray) -> "IkProblem":
        """That of some rows of q; itself where all of them have one target."""
        if self.target.T.ndim == 2:
            return self
        return replace(self, target=Target(self.target.T[rows], self.target.mask))

    def abilities(self, bounds: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Joints that do not move the tool, (n,); ways in which the others do; joints to spare."""
        J = self.jacobian(quasi_random(bounds, PROBES))
        idle = ~np.any(np.abs(J) > FELT, axis=(0, 1))
        rank = max(1, int(np.linalg.matrix_rank(J, tol=1e-8).max()))
        return idle, rank, self.robot.n - int(idle.sum()) - rank

    @property
    def space(self) -> JointSpace:
        """How joint positions compare."""
        return JointSpace.of(self.robot, self.size)

    @property
    def row_scale(self) -> np.ndarray:
        """One over the arm's size for position rows, 1 for rotation rows, (m,)."""
        return pose_scale(self.size)[self.target.mask]

    @property
    def joint_scale(self) -> np.ndarray:
        """The arm's size for prismatic joints, 1 for revolute ones, (n,)."""
        return np.where(self.revolute, 1.0, self.size)

    @property
    def revolute(self) -> np.ndarray:
        """Which joints turn, (n,)."""
        return turning(self.robot)

    def residuals(self, q: np.ndarray) -> np.ndarray:
        """Norm of the task's error, metres and radians together, (...,)."""
        return _norm(self.target.error(self.robot.fk(q)))

    def scaled_error(self, q: np.ndarray) -> np.ndarray:
        """Norm of the error in scaled units, (...,)."""
        return _norm(self.target.error(self.robot.fk(q)) * self.row_scale)

    def linearised(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The error and its Jacobian A, e(q + s y) = e - A y, in scaled units."""
        T = self.robot.fk(q)
        A = self.target.error_jacobian(self.robot.jacobian(q), T)
        w = self.row_scale
        return self.target.error(T) * w, A * w[:, None] * self.joint_scale

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """The task's Jacobian with the same scales, (..., m, n)."""
        J = self.robot.jacobian(q)[..., self.target.mask, :]
        return J * self.row_scale[:, None] * self.joint_scale


def descend(
    problem: IkProblem, q: np.ndarray, steps: int, bounds: np.ndarray | None = None
) -> np.ndarray:
    """Every row of q moved to a nearby minimum of the task's error, within `bounds` if given."""
    q = np.array(q, dtype=float)
    e, A = problem.linearised(q)
    damping = np.full(len(q), FIRST)
    active = np.arange(len(q))
    for _ in range(steps):
        active = active[(_norm(e[active]) > GOAL) & (damping[active] < STRONGEST)]
        if not len(active):
            break
        trial = q[active] + _step(A[active], e[active], damping[active]) * problem.joint_scale
        if bounds is not None:
            trial = np.clip(trial, bounds[:, 0], bounds[:, 1])
        e_trial, A_trial = problem.at(active).linearised(trial)
        better = _norm(e_trial) < _norm(e[active])
        moved = active[better]
        q[moved], e[moved], A[moved] = trial[better], e_trial[better], A_trial[better]
        damping[active] *= np.where(better, EASIER, HARDER)
        damping = np.maximum(damping, WEAKEST)
    return q


def settle(problem: IkProblem, q: np.ndarray, rank: int) -> np.ndarray:
    """Rows of q that stalled near a singularity, moved on to a solution where there is one.

    Near a singularity |e| is small all along a curve, the motion that the tool hardly feels, and a
    descent must follow its bends in tiny steps. Here each Newton step along that motion, whatever
    error it makes, is followed by two across it. Rows that come out no better stay.
    """
    q = np.array(q, dtype=float)
    left, s = weakness(problem, q, rank)
    rows = np.flatnonzero((left > EXACT) & (left < STALLED) & (s < WEAK))
    if not len(rows):
        return q
    x, least, problem = q[rows], left[rows], problem.at(rows)
    for _ in range(SETTLING):
        x = across(problem, x + _newton(problem, x, rank, along=True), rank)
        now = _norm(problem.linearised(x)[0])
        better = now < least
        q[rows[better]], least[better] = x[better], now[better]
        if (least < EXACT).all():
            break
    return q


def across(problem: IkProblem, q: np.ndarray, rank: int) -> np.ndarray:
    """q after two Newton steps that leave the motion of the smallest singular value alone."""
    for _ in range(2):
        q = q + _newton(problem, q, rank, along=False)
    return q


def weakness(problem: IkProblem, q: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Norm of the scaled error, and smallest singular value relative to the largest, (...,)."""
    e, A = problem.linearised(q)
    s = np.linalg.svd(A, compute_uv=False)
    return _norm(e), s[..., rank - 1] / np.maximum(s[..., 0], 1e-300)


def _newton(problem: IkProblem, q: np.ndarray, rank: int, along: bool) -> np.ndarray:
    """Newton's step along the motion of the smallest singular value, or across it."""
    e, A = problem.linearised(q)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    y = (np.swapaxes(U, -1, -2) @ e[..., None])[..., 0] / np.maximum(s, 1e-300)
    chosen = np.arange(y.shape[-1])
    y = np.where((chosen == rank - 1) if along else (chosen < rank - 1), y, 0.0)
    y = np.clip(y, -STRIDE, STRIDE)
    return (y[..., None, :] @ Vt)[..., 0, :] * problem.joint_scale


class SearchResult(NamedTuple):
    """Rows that solve the task, best first; how far from a solution each may be; what stalled."""

    q: np.ndarray  # (k, n)
    open_by: np.ndarray  # (k,) rad, or arm sizes
    missed: float  # least residual of a row that stalled near a singularity; inf without one

    def joined(self, other: "SearchResult") -> "SearchResult":
        """Both."""
        q, open_by = (np.concatenate(x) for x in zip(self[:2], other[:2], strict=True))
        return SearchResult(q, open_by, min(self.missed, other.missed))


def found(problem: IkProblem, q: np.ndarray, rank: int, tolerance: float) -> SearchResult:
    """What there is among rows of q after settling those that stalled."""
    q = settle(problem, q, rank)
    (left, s), residuals = weakness(problem, q, rank), problem.residuals(q)
    good = np.flatnonzero(residuals < tolerance)
    good = good[np.argsort(left[good], kind="stable")]
    missed = residuals[(residuals >= tolerance) & (left < HIDING) & (s < HIDING)]
    open_by = np.maximum(left, EXACT) / np.maximum(s, 1e-300)
    return SearchResult(q[good], open_by[good], float(missed.min(initial=np.inf)))


def _step(A: np.ndarray, e: np.ndarray, damping: np.ndarray) -> np.ndarray:
    At = np.swapaxes(A, -1, -2)
    H = At @ A
    scale = np.trace(H, axis1=-2, axis2=-1) + 1e-30
    H = H + (damping * scale)[:, None, None] * np.eye(H.shape[-1])
    y = np.linalg.solve(H, At @ e[..., None])[..., 0]
    longest = np.abs(y).max(axis=-1, keepdims=True)
    return y * np.minimum(1.0, LONGEST / np.maximum(longest, LONGEST))


def _norm(e: np.ndarray) -> np.ndarray:
    return np.linalg.norm(e, axis=-1)


# Many-start search: every minimum of the task's error that one of the starts falls into.
#
# Starts come in rounds, spread evenly. The search ends when every solution has been
# hit several times: by Good and Turing's estimate the chance that the next start finds a new one is
# the share of starts that hit a solution no other hit.

STEPS = 60
ROUNDS = 8
HITS = 3  # times every solution is hit before the search ends
HANDFUL = 8  # representatives of a continuum


def search(
    problem: IkProblem,
    bounds: np.ndarray,
    starts: int,
    seed: int,
    tolerance: float,
    rank: int,
    continuum: bool = False,
    clip: bool = False,
) -> tuple[np.ndarray, float]:
    """Distinct q with a residual below the tolerance, (k, n); `bounds` is where to start.

    `rank` is the arm's in general. With `continuum` one round is enough and a handful far from each
    other comes back; `clip` keeps the search within the bounds. Also the least residual of starts
    that stalled near a singularity, where solutions may be missing.
    """
    space = problem.space
    all_found = SearchResult(np.empty((0, len(bounds))), np.empty(0), np.inf)
    first = hits = np.empty(0, dtype=int)
    with stage(f"searching for configurations of {problem.robot.name}", ROUNDS) as shown:
        for rounds in range(1, ROUNDS + 1):
            q = quasi_random(bounds, starts, seed, skip=starts * (rounds - 1))
            q = descend(problem, q, STEPS, bounds=bounds if clip else None)
            all_found = all_found.joined(found(problem, q, rank, tolerance))
            first, hits = space.merged(all_found.q, all_found.open_by)
            shown(rounds)
            if continuum or _enough(hits, rounds, problem.most):
                break
    q, missed = all_found.q[first], all_found.missed
    if not (continuum or len(first) > problem.most):
        return q, missed
    isolated, rest = q[hits > 1], q[hits == 1]  # hit twice, or one of a continuum
    if len(rest):
        few = rest[space.far_apart(rest, max(HANDFUL - len(isolated), 1))]
        isolated = np.concatenate([isolated, few])
    return isolated, missed


def start_bounds(limits: np.ndarray, revolute: np.ndarray, reach: float) -> np.ndarray:
    """Where to start: a whole turn; a slide's limits, or `reach` both ways if it has none."""
    low = np.where(np.isfinite(limits[:, 0]), limits[:, 0], -2.0 * reach)
    high = np.where(np.isfinite(limits[:, 1]), limits[:, 1], 2.0 * reach)
    low, high = np.where(revolute, -np.pi, low), np.where(revolute, np.pi, high)
    return np.stack([low, np.maximum(high, low)], axis=1)


def _enough(hits: np.ndarray, rounds: int, most: int) -> bool:
    """Whether all solutions were hit often, or two rounds found none or a continuum."""
    if 0 < len(hits) <= most:
        return bool(hits.min() >= HITS)
    return rounds == 2
