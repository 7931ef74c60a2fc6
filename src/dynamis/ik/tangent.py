"""Motions of a mechanism at a configuration: joint rates that keep its loops closed."""

from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.mobility import known_assemblies, size
from ..lazy import once
from .geometry import pose_scale, turning

if TYPE_CHECKING:
    from ..robot import Robot


def joint_scale(robot: "Robot") -> np.ndarray:
    """The mechanism's size for slides, 1 for angles, (n,)."""
    return np.where(turning(robot), 1.0, size(robot.chain))


def motions(robot: "Robot", q: np.ndarray) -> np.ndarray:
    """Orthonormal columns N of scaled joint rates with J N = 0, as many as dof, (..., n, dof).

    Of an open arm: the identity. Slides are measured in sizes of the mechanism.
    """
    if robot.dof == robot.n:
        return np.broadcast_to(np.eye(robot.n), (*q.shape[:-1], robot.n, robot.n))
    _, _, Vt = np.linalg.svd(scaled_conditions(robot, q))
    return np.swapaxes(Vt[..., robot.n - robot.dof :, :], -1, -2)


def scaled_conditions(robot: "Robot", q: np.ndarray) -> np.ndarray:
    """The closures' Jacobian in scaled units, the rows that count, (..., rows, n)."""
    if robot.chain.mobility is None:
        return np.zeros((*q.shape[:-1], 0, robot.n))
    rows = list(robot.chain.mobility.rows)
    J = robot.closure_jacobian(q)[..., rows, :]
    angles = np.array(["about" in robot.closure_rows[r] for r in rows])
    return J * np.where(angles, 1.0, 1.0 / size(robot.chain))[:, None] * joint_scale(robot)


def led_motions(robot: "Robot", rates: np.ndarray) -> np.ndarray:
    """As `motions`, from joint rates (..., n, dof) that span them: where the drives decide all."""
    return np.linalg.qr(rates / joint_scale(robot)[:, None])[0]


def tool_motions(robot: "Robot", q: np.ndarray, N: np.ndarray | None = None) -> np.ndarray:
    """The tool's motion in scaled units for each of `motions`, (..., 6, dof)."""
    rows = pose_scale(size(robot.chain))
    N = motions(robot, q) if N is None else N
    return (robot.jacobian(q) * rows[:, None] * joint_scale(robot)) @ N


def generic_configurations(robot: "Robot") -> np.ndarray:
    """A few configurations that close, away from special ones, (k, n)."""

    def found() -> np.ndarray:
        if robot.model.closures:
            return np.array(known_assemblies(robot.chain, robot.model))
        return np.random.default_rng(0).uniform(-1.0, 1.0, (4, robot.n))

    return once(robot, "generic configurations", found)
