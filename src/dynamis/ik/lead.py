"""Closed mechanisms moved by their tool: as near to a pose as drives and loops allow, in steps.

Each step is one of Levenberg and Marquardt over the joints that decide the others; these follow
without a jump, so the mechanism stays in its working mode and assembly.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..dynamics.mobility import size
from ..errors import SingularError
from .follow import follow
from .geometry import pose_scale
from .tangent import generic_configurations, joint_scale, tool_motions
from .target import STILL, Target, task_mask

if TYPE_CHECKING:
    from ..robot import Robot

STEPS = 24
LARGEST = 0.3  # rad, or mechanism sizes, of a joint in one step
LEAST = 1e-8  # damping, next to the largest squared singular value
CLOSE = 1e-9  # m over the mechanism's size, and rad: it is there


class Led(NamedTuple):
    """Where a mechanism came to, and what is left of the way in the rows of its task."""

    q: np.ndarray
    left: np.ndarray


def lead(robot: "Robot", q: Any, T: Any, limits: bool = True) -> Led:
    """From a closed q towards the tool pose T, within the limits of joints if asked for."""
    target, own = Target(np.asarray(T, dtype=float), task_mask(robot)), list(robot.independent)
    rows = pose_scale(size(robot.chain))[target.mask]
    scale, q = joint_scale(robot)[own], np.array(q, dtype=float)
    low, high = robot.limits.T if limits else np.full((2, robot.n), [[-np.inf], [np.inf]])
    low, high = np.minimum(low, q), np.maximum(high, q)  # of a joint that is beyond: where it is
    left, damping, A = target.error(robot.fk(q)), LEAST, None
    for _ in range(STEPS):
        if np.abs(rows * left).max() < CLOSE:
            break
        if A is None:
            try:
                Z = robot.joint_rates(q, np.eye(robot.dof)).T
            except SingularError:
                break
            A = target.error_jacobian(robot.jacobian(q), robot.fk(q)) @ Z
            A = rows[:, None] * A * scale
        move = _step(A, rows * left, damping, q[own] <= low[own], q[own] >= high[own])
        move *= scale * min(1.0, LARGEST / max(np.abs(move).max(), 1e-12))
        found, _ = follow(robot, q, np.clip(q[own] + move, low[own], high[own]))
        rest = target.error(robot.fk(found))
        nearer = np.linalg.norm(rows * rest) < np.linalg.norm(rows * left)
        if nearer and (found >= low).all() and (found <= high).all():
            q, left, damping, A = found, rest, max(0.2 * damping, LEAST), None
        else:
            damping *= 8.0
    return Led(q, left)


def _step(
    A: np.ndarray, b: np.ndarray, damping: float, lowest: np.ndarray, highest: np.ndarray
) -> np.ndarray:
    """x of A x = b by damped least squares; joints at a limit do not go beyond it."""
    free = np.ones(A.shape[1], dtype=bool)
    while True:
        x, size = np.zeros(len(free)), damping * max(float(np.linalg.norm(A, 2)), 1e-12) ** 2
        own = A[:, free]
        x[free] = np.linalg.solve(own.T @ own + size * np.eye(int(free.sum())), own.T @ b)
        beyond = (lowest & (x < 0.0)) | (highest & (x > 0.0))
        if not beyond.any():
            return x
        free &= ~beyond


def handles(robot: "Robot", R: np.ndarray) -> tuple[tuple[bool, bool, bool], bool]:
    """Of a tool with the axes R: which of them it can move along, and whether turning it counts."""
    J = np.swapaxes(R, 0, 1) @ tool_motions(robot, generic_configurations(robot))[:, :3]
    x, y, z = (np.abs(J).max(axis=(0, 2)) > STILL * max(np.abs(J).max(), 1e-12)).tolist()
    return (x, y, z), bool(task_mask(robot)[3:].any())
