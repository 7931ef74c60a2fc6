"""Solutions whose arm collides neither with itself nor with a world."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import counted
from ..robot.distance import collision_pairs
from .target import Target

if TYPE_CHECKING:
    from ..robot import Robot
    from .batch import PoseSolutions
    from .solve import Solutions


def clear(robot: "Robot", q: np.ndarray, world: Any) -> np.ndarray:
    """Whether the arm is clear at positions (..., n), (...,); not where these are not finite."""
    there = np.isfinite(q).all(axis=-1)
    found = np.zeros(there.shape, dtype=bool)
    found[there] = (collision_pairs(robot, world).distances(q[there]) >= 0.0).all(axis=-1)
    return found


def clear_solutions(robot: "Robot", found: "Solutions", world: Any) -> "Solutions":
    """Solutions of one pose without those that collide."""
    kept = clear(robot, found.q, world)
    if kept.all():
        return found
    reason = found.reason
    if not kept.any():
        near = collision_pairs(robot, world).nearest(found.q[0])
        count = counted(len(kept), "solution")
        names = " and ".join(map(repr, near.names))
        reason = f"{count} found, all collide; the first: {names} overlap by {-near.distance:.3g} m"
    return replace(found, q=found.q[kept], residual=found.residual[kept], reason=reason)


def clear_pose_solutions(
    robot: "Robot", found: "PoseSolutions", world: Any, target: Target
) -> "PoseSolutions":
    """Solutions of many poses without those that collide, the first that is left of each."""
    kept = clear(robot, found.solutions, world)
    if not kept.shape[-1]:
        return found
    order = np.argsort(~kept, axis=-1, kind="stable")
    solutions = np.take_along_axis(found.solutions, order[..., None], axis=-2)
    solutions[~np.take_along_axis(kept, order, axis=-1)] = np.nan
    first, any_left = solutions[..., 0, :], kept.any(axis=-1)
    residual = np.full(any_left.shape, np.nan)
    if any_left.any():
        left = Target(np.broadcast_to(target.T, (*any_left.shape, 4, 4))[any_left], target.mask)
        residual[any_left] = np.linalg.norm(left.error(robot.fk(first[any_left])), axis=-1)
    most = int(kept.sum(axis=-1).max(initial=0))
    return replace(
        found, q=first, found=any_left, residual=residual, solutions=solutions[..., :most, :]
    )
