"""Levenberg-Marquardt over a batch of joint positions at once.

Each sample solves (A^T A + lambda 1) y = A^T e for its step, with lengths measured in arm sizes so
that metres and radians weigh alike, and has its own lambda: smaller after a step that helped,
larger after one that did not. J. J. More, The Levenberg-Marquardt algorithm, 1978.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .target import Target

if TYPE_CHECKING:
    from ..robot import Robot

LONGEST = 1.0  # radians (or arm sizes) a joint moves in one step, at most
EASIER, HARDER = 0.1, 10.0  # what lambda is multiplied by
FIRST, LEAST, MOST = 1e-2, 1e-14, 1e8  # lambda at the start; its bounds
EXACT, STALLED = 1e-13, 1e-3  # scaled error that is rounding; one that a descent may stall at
LOST = 1e-5  # scaled error and weakness of a stalled row that may hide a solution
WEAK = 1e-3  # singular value, relative to the largest, of a motion that the tool hardly feels
ROUNDS, STRIDE = 40, 0.2  # of settling: steps along that motion, and the longest of them


@dataclass(frozen=True)
class Problem:
    """A robot and a target, with the scales that make lengths and angles comparable."""

    robot: "Robot"
    target: Target
    size: float

    @property
    def row_scale(self) -> np.ndarray:
        """One over the arm's size for position rows, 1 for rotation rows, (m,)."""
        return np.where(np.arange(6) < 3, 1.0 / self.size, 1.0)[self.target.mask]

    @property
    def joint_scale(self) -> np.ndarray:
        """The arm's size for prismatic joints, 1 for revolute ones, (n,)."""
        return np.where(self.revolute, 1.0, self.size)

    @property
    def revolute(self) -> np.ndarray:
        """Which joints turn, (n,)."""
        moving = [link for link in self.robot.model.links if link.mimic is None]
        return np.array([link.joint == "revolute" for link in moving])

    def errors(self, q: np.ndarray) -> np.ndarray:
        """The task's error at q, (..., m)."""
        return self.target.error(self.robot.fk(q))

    def residuals(self, q: np.ndarray) -> np.ndarray:
        """Norm of the task's error, metres and radians together, (...,)."""
        return np.linalg.norm(self.errors(q), axis=-1)

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
    problem: Problem,
    q: np.ndarray,
    steps: int,
    goal: float = 1e-15,
    bounds: np.ndarray | None = None,
) -> np.ndarray:
    """Every row of q moved to a nearby minimum of the task's error, within `bounds` if given."""
    q = np.array(q, dtype=float)
    e, A = problem.linearised(q)
    damping = np.full(len(q), FIRST)
    active = np.arange(len(q))
    for _ in range(steps):
        active = active[(_norm(e[active]) > goal) & (damping[active] < MOST)]
        if not len(active):
            break
        trial = q[active] + _step(A[active], e[active], damping[active]) * problem.joint_scale
        if bounds is not None:
            trial = np.clip(trial, bounds[:, 0], bounds[:, 1])
        e_trial, A_trial = problem.linearised(trial)
        better = _norm(e_trial) < _norm(e[active])
        moved = active[better]
        q[moved], e[moved], A[moved] = trial[better], e_trial[better], A_trial[better]
        damping[active] *= np.where(better, EASIER, HARDER)
        damping = np.maximum(damping, LEAST)
    return q


def settle(problem: Problem, q: np.ndarray, rank: int) -> np.ndarray:
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
    x, least = q[rows], left[rows]
    for _ in range(ROUNDS):
        x = across(problem, x + _newton(problem, x, rank, along=True), rank)
        now = _norm(problem.linearised(x)[0])
        better = now < least
        q[rows[better]], least[better] = x[better], now[better]
        if (least < EXACT).all():
            break
    return q


def across(problem: Problem, q: np.ndarray, rank: int) -> np.ndarray:
    """q after two Newton steps that leave the motion of the smallest singular value alone."""
    for _ in range(2):
        q = q + _newton(problem, q, rank, along=False)
    return q


def weakness(problem: Problem, q: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Norm of the scaled error, and smallest singular value relative to the largest, (...,)."""
    e, A = problem.linearised(q)
    s = np.linalg.svd(A, compute_uv=False)
    return _norm(e), s[..., rank - 1] / np.maximum(s[..., 0], 1e-300)


def _newton(problem: Problem, q: np.ndarray, rank: int, along: bool) -> np.ndarray:
    """Newton's step along the motion of the smallest singular value, or across it."""
    e, A = problem.linearised(q)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    y = (np.swapaxes(U, -1, -2) @ e[..., None])[..., 0] / np.maximum(s, 1e-300)
    chosen = np.arange(y.shape[-1])
    y = np.where((chosen == rank - 1) if along else (chosen < rank - 1), y, 0.0)
    y = np.clip(y, -STRIDE, STRIDE)
    return (y[..., None, :] @ Vt)[..., 0, :] * problem.joint_scale


class Found(NamedTuple):
    """Rows that solve the task, best first; how far from a solution each may be; what stalled."""

    q: np.ndarray  # (k, n)
    open_by: np.ndarray  # (k,) rad, or arm sizes
    missed: float  # least residual of a row that stalled near a singularity; inf without one

    def joined(self, other: "Found") -> "Found":
        """Both."""
        q, open_by = (np.concatenate(x) for x in zip(self[:2], other[:2], strict=True))
        return Found(q, open_by, min(self.missed, other.missed))


def found(problem: Problem, q: np.ndarray, rank: int, tolerance: float) -> Found:
    """What there is among rows of q after settling those that stalled."""
    q = settle(problem, q, rank)
    (left, s), residuals = weakness(problem, q, rank), problem.residuals(q)
    good = np.flatnonzero(residuals < tolerance)
    good = good[np.argsort(left[good], kind="stable")]
    missed = residuals[(residuals >= tolerance) & (left < LOST) & (s < LOST)]
    open_by = np.maximum(left, EXACT) / np.maximum(s, 1e-300)
    return Found(q[good], open_by[good], float(missed.min(initial=np.inf)))


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
