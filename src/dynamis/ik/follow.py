"""Closed mechanisms moved by their drives or their tool: the other joints follow without a jump.

The drives go in small steps. Each starts where the rates of the joints lead from the last one and
is closed by a few Newton steps of the joints that follow; one that does not close, or throws them
far from where they were led, is halved. Many configurations are moved at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile.arrays import as_batch
from ..compile.kernels import KERNELS
from ..dynamics.mobility import size
from ..errors import SingularError
from ..lazy import once
from .assemble import CLOSED
from .geometry import pose_scale
from .tangent import generic_configurations, joint_scale, tool_motions
from .target import STILL, Target, task_mask

if TYPE_CHECKING:
    from ..robot import Robot

STEP = 0.05  # rad, or mechanism sizes, of a drive at once
SHORTEST = 1e-4
CORRECTION = 0.5  # per step: how far a joint may end from where its rate leads
NEWTON, ROUNDING = 8, 1e-14  # steps to close at most; what they may leave, m and rad
FASTEST = 100.0  # rate of a joint per rate of a drive: beyond, it is near a singular configuration
REASONS = (
    "",
    "the loops cannot be closed beyond",
    "near a singular configuration: the drives no longer decide the other joints",
)
REACHED, OPEN, SINGULAR = range(len(REASONS))


class Followed(NamedTuple):
    """Where a mechanism came to, and why no farther; "" where it reached its goal."""

    q: np.ndarray
    reason: str = ""


def follow(robot: "Robot", q: Any, q_active: Any) -> Followed:
    """From a closed q, with the independent joints moved straight to q_active (dof,).

    An open arm is where it is asked to be.
    """
    now = as_batch(q, "q", (robot.n,), f"robot {robot.name!r}")
    goal = as_batch(q_active, "q_active", (robot.dof,), f"the drives of {robot.name!r}")
    found, why = follow_many(robot, now[None], goal[None])
    return Followed(found[0], REASONS[why[0]])


def follow_many(
    robot: "Robot",
    q: np.ndarray,
    q_active: np.ndarray,
    step: float = STEP,
    shortest: float = SHORTEST,
) -> tuple[np.ndarray, np.ndarray]:
    """Each row of q (k, n), closed, with its drives moved straight to those of q_active (k, dof).

    Where each came to, (k, n), and the place in REASONS of what stopped it, (k,). Steps are
    between `shortest` and `step`, in radians or sizes of the mechanism.
    """
    loops = _Loops.of(robot)
    now = np.array(q, dtype=float)
    drives, scale = loops.independent, loops.scale
    if not loops.dependent:
        now[:, drives] = q_active
        return now, np.full(len(now), REACHED)
    Z = loops.rates(now)
    length, why = np.full(len(now), step), np.full(len(now), REACHED)
    rows = np.arange(len(now))
    while True:
        left = np.abs((q_active[rows] - now[rows][:, drives]) / scale[drives]).max(axis=-1)
        rows, left = rows[left > 0.0], left[left > 0.0]
        if not len(rows):
            return now, why
        tried = np.minimum(length[rows], left)
        away = q_active[rows] - now[rows][:, drives]
        part = away * (tried / left)[:, None]
        led = now[rows] + (part[:, None] @ Z[rows])[:, 0]
        last = tried == left
        led[np.ix_(last, drives)] = q_active[rows[last]]
        found, open_by, status = loops.closed(led)
        strays = np.abs((found - led) / scale).max(axis=-1)
        near = (strays <= CORRECTION * np.maximum(tried, SHORTEST)) & (status == 0.0)
        reason = np.where(open_by <= CLOSED, np.where(near, REACHED, SINGULAR), OPEN)
        sound = np.flatnonzero(reason == REACHED)
        new = loops.rates(found[sound])
        slow = loops.fastest(new) <= np.maximum(FASTEST, loops.fastest(Z[rows[sound]]))
        reason[sound[~slow]] = SINGULAR
        good, bad = sound[slow], reason != REACHED
        now[rows[good]], Z[rows[good]] = found[good], new[slow]
        length[rows[good]] = np.minimum(2.0 * length[rows[good]], step)
        length[rows[bad]] = 0.5 * tried[bad]
        ended = bad & (tried <= shortest)
        why[rows[ended]] = reason[ended]
        rows = rows[~ended]


def closing_step(robot: "Robot") -> Callable[..., Any]:
    """`drive_coordinates.closing_step` of a robot with closures over arrays q, qd_active."""
    row = KERNELS["closing_step"]
    return once(robot, "closing step", lambda: robot._calls.function(row, parameters=False))


@dataclass(frozen=True, eq=False)
class _Loops:
    """Conditions of a mechanism, as many as joints follow; of an arm none."""

    robot: "Robot"
    rows: list[int]
    independent: list[int]
    dependent: list[int]
    scale: np.ndarray  # (n,)

    @classmethod
    def of(cls, robot: "Robot") -> "_Loops":
        found, independent = robot.chain.mobility, robot.independent
        rows, dependent = ((), ()) if found is None else (found.rows, found.dependent)
        return cls(robot, list(rows), independent, list(dependent), joint_scale(robot))

    def rates(self, q: np.ndarray) -> np.ndarray:
        """Rates of all joints per rate of each independent one, Z^T, (k, dof, n)."""
        return closing_step(self.robot)(q[:, None], np.eye(len(self.independent)))[1]

    def fastest(self, Z: np.ndarray) -> np.ndarray:
        """The largest rate of a joint per rate of a drive, in scaled units, (k,)."""
        scaled = Z * self.scale[self.independent][:, None] / self.scale
        return np.abs(scaled).max(axis=(-1, -2))

    def closed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every row after Newton steps of the joints that follow; what stays open, status, (k,)."""
        if not self.dependent:
            return q, np.zeros(len(q)), np.zeros(len(q))
        step, still = closing_step(self.robot), np.zeros(len(self.independent))
        q, rows = q.copy(), np.arange(len(q))
        ahead, _, e, status = step(q, still)
        for _ in range(NEWTON):
            rows = rows[np.abs(e[rows][:, self.rows]).max(axis=-1) > ROUNDING]
            if not len(rows):
                break
            x = ahead[rows]
            new, _, left, at = step(x, still)
            size, before = (np.abs(v[:, self.rows]).max(axis=-1) for v in (left, e[rows]))
            better = size < np.where(before > CLOSED, np.inf, before)  # rounding ends it
            rows = rows[better]
            q[rows], ahead[rows], e[rows] = x[better], new[better], left[better]
            status[rows] = at[better]
        return q, np.linalg.norm(e, axis=-1), status


def closed_by_drives(robot: "Robot", q: np.ndarray) -> np.ndarray:
    """Rows of q (k, n), nearly closed, closed by the joints that follow."""
    return _Loops.of(robot).closed(q)[0]


def fastest(robot: "Robot", q: np.ndarray) -> np.ndarray:
    """The largest rate of a joint per rate of a drive at each row of q, in scaled units, (k,)."""
    loops = _Loops.of(robot)
    return loops.fastest(loops.rates(q))


# Moved by the tool: as near to a pose as drives and loops allow, in steps of Levenberg and
# Marquardt over the joints that decide the others. These follow without a jump, so the mechanism
# stays in its working mode and assembly.

TOOL_STEPS = 24
LARGEST = 0.3  # rad, or mechanism sizes, of a joint in one step
LEAST = 1e-8  # damping, next to the largest squared singular value
ARRIVED = 1e-9  # m over the mechanism's size, and rad


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
    for _ in range(TOOL_STEPS):
        if np.abs(rows * left).max() < ARRIVED:
            break
        if A is None:
            try:
                Z = robot.joint_rates(q, np.eye(robot.dof)).T
            except SingularError:
                break
            A = target.error_jacobian(robot.jacobian(q), robot.fk(q)) @ Z
            A = rows[:, None] * A * scale
        move = _damped_step(A, rows * left, damping, q[own] <= low[own], q[own] >= high[own])
        move *= scale * min(1.0, LARGEST / max(np.abs(move).max(), 1e-12))
        found, _ = follow(robot, q, np.clip(q[own] + move, low[own], high[own]))
        rest = target.error(robot.fk(found))
        nearer = np.linalg.norm(rows * rest) < np.linalg.norm(rows * left)
        if nearer and (found >= low).all() and (found <= high).all():
            q, left, damping, A = found, rest, max(0.2 * damping, LEAST), None
        else:
            damping *= 8.0
    return Led(q, left)


def _damped_step(
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
