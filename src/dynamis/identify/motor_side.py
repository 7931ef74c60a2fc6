"""From what the motors and drives know to the joints.

With R the gear matrix, motor positions R q, power R^T:

    q = R^-1 q_motor + offset,    tau = R^T tau_motor,    tau = gain i

The gears are taken as loss-free: what they eat is friction of the joint, identified with it.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError, ShapeError, shown
from ..evaluate import numbers
from ..model.quantity import resolve

if TYPE_CHECKING:
    from ..robot import Robot

SINGULAR = 1e-9  # of a gear matrix: smallest next to largest singular value


def to_joint_motion(motor: np.ndarray, R: np.ndarray) -> np.ndarray:
    """R^-1 x for every sample, (N, n): positions, velocities or accelerations."""
    return np.linalg.solve(R, motor.T).T


def to_joint_torque(motor: np.ndarray, R: np.ndarray) -> np.ndarray:
    """R^T tau_motor for every sample, (N, n)."""
    return motor @ R


def from_current(current: np.ndarray, gains: Any, where: str) -> np.ndarray:
    """gain i for every sample, (N, n)."""
    if gains is None:
        raise OptionError(
            f"{where} gives currents, and a current is not a torque: drive_gains is missing",
            "drive_gains=[...] in N m/A at the joint (torque constant times gear ratio), from the "
            "maker, from a published model, or identified from the same motion without and with "
            "a known load",
        )
    return current * per_joint(gains, "drive_gains", current.shape[1])


def gear_matrix_of(given: Any, robot: "Robot | None", n: int, where: str) -> np.ndarray:
    """R (n, n) as given (n numbers are its diagonal), or as the robot has it; invertible."""
    if given is None:
        R = _of_robot(robot, n, where)
    else:
        R = _numbers(given, "gear_matrix")
        R = np.diag(R) if R.ndim == 1 else R
    if R.shape != (n, n):
        raise ShapeError(
            f"gear_matrix has shape {R.shape}, expected ({n}, {n}), or {n} ratios: one per motor"
        )
    sizes = np.linalg.svd(R, compute_uv=False)
    if not sizes[-1] > SINGULAR * sizes[0]:
        raise OptionError(
            "gear_matrix is singular: the motors do not determine the joints",
            "row i is what motor i turns per turn of each joint",
        )
    return R


def per_joint(given: Any, name: str, n: int) -> np.ndarray:
    """n finite numbers."""
    values = _numbers(given, name)
    if values.shape != (n,):
        raise ShapeError(f"{name} has shape {values.shape}, expected ({n},): one per joint")
    return values


def _numbers(given: Any, name: str) -> np.ndarray:
    array = numbers(given, name, "expected finite numbers")
    if not np.isfinite(array).all():
        raise ShapeError(f"{name} is {shown(given)}, expected finite numbers")
    return array


def _of_robot(robot: "Robot | None", n: int, where: str) -> np.ndarray:
    if robot is None:
        raise OptionError(
            f"{where} gives motor positions or torques, but gear_matrix is missing",
            "gear_matrix=[...] with one ratio per joint, or rows where motors turn several "
            "joints; or robot= with drives",
        )
    model = robot.model
    if len(model.links) != n:
        raise OptionError(
            f"robot {robot.name!r} has {len(model.links)} motors, {where} gives {n}",
            "give gear_matrix= for the motors of the log",
        )
    if model.gear_matrix is not None:
        return np.array([[resolve(x, model.values) for x in row] for row in model.gear_matrix])
    drives = [link.drive for link in model.links]
    missing = [str(x.joint_name) for x in model.links if x.drive is None]
    if missing:
        raise OptionError(
            f"robot {robot.name!r} has no drive at {', '.join(missing)}, so no gear ratio",
            "give gear_matrix=",
        )
    return np.diag([float(resolve(x.gear, model.values)) for x in drives if x is not None])
