"""Singular configurations of both kinds, by condition numbers of a mechanism's motions.

The motions of a mechanism at q are the joint rates N v that keep its loops closed. In a singularity
of the first kind (serial) some of them do not move the tool, which loses a direction; of the second
kind (parallel) some do not move the drives, which then do not hold the mechanism. C. Gosselin and
J. Angeles, Singularity analysis of closed-loop kinematic chains, 1990.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import positive
from ..compile.arrays import as_batch
from ..lazy import once
from ..robot.closing import refuse_unclosed
from .tangent import (
    generic_configurations,
    joint_scale,
    motions,
    scaled_conditions,
    tool_motions,
)
from .target import task_mask

if TYPE_CHECKING:
    from ..robot import Robot

NEAR = 1e3  # condition number from which a configuration counts as singular, unasked
TINY = 1e-300
SERIAL, PARALLEL, LOOPS = "serial", "parallel", "loops"
REGULAR = "regular"


@dataclass(frozen=True, eq=False)
class Singularity:
    """Condition numbers of configurations; infinite in a singular one, NaN where q is.

    `serial`: of the tool's motion (type 1); `parallel`: of the drives' (type 2), 1 of an open arm;
    `loops`: of the closures themselves, whose loss lets the mechanism gain a degree of freedom.
    Slides and the tool's position are measured in sizes of the mechanism.
    """

    serial: np.ndarray  # (...,)
    parallel: np.ndarray  # (...,)
    loops: np.ndarray  # (...,)
    condition: float  # from which one counts as singular
    reason: str  # of one configuration that is singular: what moves, or cannot

    @property
    def kind(self) -> np.ndarray:
        """ "regular", "serial", "parallel", "serial and parallel" or "loops", (...,)."""
        serial, parallel, loops = (
            x >= self.condition for x in (self.serial, self.parallel, self.loops)
        )
        words = np.where(serial & parallel, f"{SERIAL} and {PARALLEL}", REGULAR)
        words = np.where(serial & ~parallel, SERIAL, np.where(parallel & ~serial, PARALLEL, words))
        return np.where(loops, LOOPS, words)

    @property
    def worst(self) -> np.ndarray:
        """The largest of the three, (...,)."""
        return np.maximum(np.maximum(self.serial, self.parallel), self.loops)

    def __repr__(self) -> str:
        if self.serial.ndim:
            singular = int((self.kind != REGULAR).sum())
            return f"Singularity({singular} of {self.serial.size} configurations are singular)"
        numbers = f"serial {self.serial:.3g}, parallel {self.parallel:.3g}"
        return f"Singularity({self.kind}, {numbers}" + (f": {self.reason})" if self.reason else ")")


def singularity(robot: "Robot", q: Any, task: Any = None, condition: float = NEAR) -> Singularity:
    """Condition numbers of both kinds at configurations that close, (..., n)."""
    positive(condition, "condition")
    given = as_batch(q, "q", (robot.n,), f"robot {robot.name!r}")
    mask = task_mask(robot, task)
    known: Any = np.isfinite(given).all(axis=-1)
    x = np.where(known[..., None], given, generic_configurations(robot)[0])
    refuse_unclosed(robot, x)
    N = motions(robot, x)
    conditions = condition_numbers(robot, x, N, mask)
    serial, parallel, loops = (np.where(known, v, np.nan) for v in conditions)
    found = Singularity(serial, parallel, loops, float(condition), "")
    if given.ndim > 1 or found.kind == REGULAR:
        return found
    reason = _reason(robot, found, x, N, mask)
    return Singularity(serial, parallel, loops, float(condition), reason)


def condition_numbers(
    robot: "Robot", q: np.ndarray, N: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Serial, parallel and of the loops, (...,) each, from the motions N at q."""
    tool = tool_motions(robot, q, N)[..., mask, :]
    serial = _condition(tool, task_rank(robot, mask))
    parallel = _condition(N[..., drives(robot), :], robot.dof)
    return serial, parallel, _condition(scaled_conditions(robot, q), robot.n - robot.dof)


def drives(robot: "Robot") -> list[int]:
    """Coordinates that are driven; those that decide, where there are too few of them."""
    return list(robot.active if len(robot.active) >= robot.dof else robot.independent)


def task_rank(robot: "Robot", mask: np.ndarray) -> int:
    """Ways in which the tool moves in the rows of a task, in general."""

    def found() -> int:
        J = tool_motions(robot, generic_configurations(robot))[..., mask, :]
        return max(1, int(np.linalg.matrix_rank(J, tol=1e-8).max()))

    return once(robot, ("rank", tuple(mask.tolist())), found)


def _condition(A: np.ndarray, rank: int) -> np.ndarray:
    """Largest over smallest of the first `rank` singular values, (...,); 1 where there are none."""
    if rank == 0:
        return np.ones(A.shape[:-2])
    s = np.linalg.svd(A, compute_uv=False)
    least = s[..., rank - 1] if s.shape[-1] >= rank else np.zeros(s.shape[:-1])
    return np.where(least > TINY, s[..., 0] / np.maximum(least, TINY), np.inf)


def _reason(
    robot: "Robot", found: Singularity, q: np.ndarray, N: np.ndarray, mask: np.ndarray
) -> str:
    tool, rank = tool_motions(robot, q, N)[..., mask, :], task_rank(robot, mask)
    parts = []
    if found.serial >= found.condition:
        lost = np.zeros(6)
        lost[mask] = np.linalg.svd(tool)[0][:, rank - 1]
        parts.append(f"serial (type 1): the tool cannot move {_direction(lost)}")
    if found.parallel >= found.condition:
        v = np.linalg.svd(N[drives(robot)])[2][-1]
        rates = np.abs(N @ v * joint_scale(robot))
        names = [robot.joint_names[k] for k in np.flatnonzero(rates > 0.05 * rates.max())]
        moved = np.zeros(6)
        moved[mask] = tool @ v
        how = f"the tool moves {_direction(moved)}" if np.abs(moved).max() > 1e-9 else "it moves"
        parts.append(
            f"parallel (type 2): {how} with the drives held, and {', '.join(names)} with it"
        )
    if found.loops >= found.condition:
        parts.append("loops: the closures do not hold all that they hold elsewhere")
    return "; ".join(parts)


def _direction(motion: np.ndarray) -> str:
    """A motion of the tool in words: along a direction, or about one."""
    linear, angular = motion[:3], motion[3:]
    part, word = (linear, "along") if np.abs(linear).max() > 1e-6 else (angular, "about")
    unit = part / np.linalg.norm(part)
    unit = unit * (1.0 if unit[np.argmax(np.abs(unit))] > 0 else -1.0)
    return f"{word} ({', '.join(f'{x:.3f}' for x in unit + 0.0)})".replace("-0.000", "0.000")
