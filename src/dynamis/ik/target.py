"""The target of a task: a checked rigid pose, and the error of any tool pose against it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_flag, is_list, one_of, real
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError, shown
from ..lazy import once
from .tangent import generic_configurations, tool_motions

if TYPE_CHECKING:
    from ..robot import Robot

# what of the tool's pose a task prescribes: a mask over x, y, z, rx, ry, rz in base axes

TASKS = {
    "pose": (True, True, True, True, True, True),
    "position": (True, True, True, False, False, False),
}
STILL = 1e-9  # motion of the tool, next to the largest, that is rounding
WEAK = 1e-6  # motion of the tool per motion of the mechanism that does not count


def task_mask(robot: "Robot", task: Any = None) -> np.ndarray:
    """Six booleans, one per row of the Jacobian, that select the rows of a task.

    `task` is "pose" (default from six degrees of freedom on), "position" (default below) or a mask
    of six. The default of closed mechanisms is `natural_task`.
    """
    if task is None:
        task = "pose" if robot.dof >= 6 else "position"
        if robot.dof < min(6, robot.n):  # loops: an arm has as many as joints
            task = once(robot, "natural task", lambda: natural_task(robot))
    if isinstance(task, str):
        one_of(task, TASKS, f"task {task!r} does not exist")
        return np.array(TASKS[task])
    return _mask(task)


def natural_task(robot: "Robot") -> Any:
    """What a closed mechanism with less than six degrees of freedom does with its tool.

    Rows in which the tool moves at all, if they are as many; else the position, if it can be moved
    all ways in the first named configuration; else the rows that it moves best there.
    """
    J = tool_motions(robot, generic_configurations(robot))
    rows = np.abs(J).max(axis=(0, 2)) > STILL * np.abs(J).max()
    if rows.sum() == robot.dof:
        return rows.tolist()
    home = next(iter(robot.configurations.values()), generic_configurations(robot)[0])
    own = tool_motions(robot, np.asarray(home))
    ways = np.linalg.matrix_rank(J[:, :3], tol=WEAK).max()
    if np.linalg.matrix_rank(own[:3], tol=WEAK) == ways:
        return "position"
    from scipy.linalg import qr

    order: Any = qr(own.T, pivoting=True, mode="r")
    return [k in order[1][: robot.dof] for k in range(6)]


def _mask(task: Any) -> np.ndarray:
    expected = "expected 'pose', 'position' or six of 0 and 1 for x, y, z, rx, ry, rz"
    items = list(task) if is_list(task) else []
    values = [float(x) if is_flag(x) else real(x) for x in items]
    if len(values) != 6 or not set(values) <= {0.0, 1.0}:
        raise OptionError(f"task is {shown(task)}, {expected}")
    if not any(values):
        raise OptionError(f"task is {shown(task)}: it prescribes nothing", expected)
    return np.array(values, dtype=bool)


RIGID = 1e-6  # how far from a rotation a matrix may be and still be meant as one


@dataclass(frozen=True)
class Target:
    """Where the tool has to be, and which of x, y, z, rx, ry, rz count."""

    T: np.ndarray  # (4, 4), or one for every tool pose (k, 4, 4)
    mask: np.ndarray  # (6,) of bool

    @property
    def is_pose(self) -> bool:
        """Whether position and orientation are prescribed in full."""
        return bool(self.mask.all())

    @property
    def is_position(self) -> bool:
        """Whether the position is prescribed and nothing else."""
        return bool(self.mask[:3].all() and not self.mask[3:].any())

    def error(self, T: np.ndarray) -> np.ndarray:
        """e = (p* - p, log(R* R^T)) in base axes, the prescribed rows, (..., m)."""
        parts = [self.T[..., :3, 3] - T[..., :3, 3]]
        if self.mask[3:].any():
            parts.append(_turn(self.T[..., :3, :3], T[..., :3, :3]))
        rows = self.mask if len(parts) == 2 else self.mask[:3]
        return np.concatenate(parts, axis=-1)[..., rows]

    def error_jacobian(self, J: np.ndarray, T: np.ndarray) -> np.ndarray:
        """-de/dq from the tool's Jacobian at its pose T, (..., m, n).

        de_p = -J_v dq; de_r = -B(e_r) J_w dq, B the inverse of the right Jacobian of SO(3).
        """
        if self.mask[3:].any():
            B = _inverse_right_jacobian(_turn(self.T[..., :3, :3], T[..., :3, :3]))
            J = np.concatenate([J[..., :3, :], B @ J[..., 3:, :]], axis=-2)
        return J[..., self.mask, :]


def target(T: Any, mask: np.ndarray) -> Target:
    """A 4x4 pose, or a point (3,) where no orientation is prescribed, checked."""
    turning = bool(mask[3:].any())
    expected = _expected(turning)
    array = numbers(T, "T", expected)
    if array.shape != (4, 4) and (turning or array.shape != (3,)):
        raise ShapeError(f"T has shape {array.shape}, {expected}")
    if not np.isfinite(array).all():
        raise ShapeError("T holds numbers that are not finite", expected)
    return Target(rigid(as_poses(array)), mask)


def _expected(turning: bool) -> str:
    point = "" if turning else " or one point (3,)"
    return f"expected one 4x4 pose{point} of numbers, or an array of them"


def poses(T: Any, mask: np.ndarray) -> np.ndarray | None:
    """Checked poses (..., 4, 4) of a T with leading axes; None of one pose or of what is no pose.

    Without an orientation in the task they may be points (..., 3). Those not finite become NaN.
    """
    turning = bool(mask[3:].any())
    array = numbers(T, "T", _expected(turning))
    many = array.ndim > 2 and array.shape[-2:] == (4, 4)
    if not many and not (array.ndim > 1 and array.shape[-1] == 3 and not turning):
        return None
    return rigid(as_poses(array))


def as_poses(array: np.ndarray) -> np.ndarray:
    """Poses (..., 4, 4) as they are, points (..., 3) as poses without a turn."""
    if array.shape[-2:] == (4, 4):
        return array
    T = np.zeros((*array.shape[:-1], 4, 4)) + np.eye(4)
    T[..., :3, 3] = array
    return T


def rigid(T: np.ndarray) -> np.ndarray:
    """T with its rotations made exact; one that is none is refused, naming the sample.

    Samples that are not finite become NaN.
    """
    finite: Any = np.isfinite(T).all(axis=(-1, -2))
    T = np.where(finite[..., None, None], T, np.eye(4))

    def refused(bad: np.ndarray) -> tuple[str, tuple[int, ...]] | None:
        if not bad.any():
            return None
        at = tuple(int(k[0]) for k in np.nonzero(bad)) if bad.ndim else ()
        return (f"T[{', '.join(map(str, at))}]" if at else "T"), at

    R, last = T[..., :3, :3], T[..., 3, :]
    if found := refused(np.abs(last - (0, 0, 0, 1)).max(axis=-1) > RIGID):
        name, at = found
        raise ShapeError(f"{name} has last row {last[at].tolist()}, expected [0, 0, 0, 1]")
    off: Any = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-1, -2))
    if found := refused(off > RIGID):
        name, at = found
        raise ShapeError(
            f"{name} is not rigid: its rotation is off orthogonal by {off[at]:.2g}",
            "columns must be orthogonal and of unit length",
        )
    if found := refused(np.linalg.det(R) < 0):
        name, at = found
        raise ShapeError(f"{name} is not rigid: it mirrors (its rotation has determinant -1)")
    U, _, V = np.linalg.svd(R)
    exact = np.zeros(T.shape) + np.eye(4)
    exact[..., :3, :3], exact[..., :3, 3] = U @ V, T[..., :3, 3]
    exact[~finite] = np.nan
    return exact


def _turn(R_target: np.ndarray, R: np.ndarray) -> np.ndarray:
    """log(R* R^T): the rotation vector from the tool to the target, in base axes."""
    from scipy.spatial.transform import Rotation

    M = R_target @ np.swapaxes(R, -1, -2)
    return Rotation.from_matrix(M.reshape(-1, 3, 3)).as_rotvec().reshape(M.shape[:-1])


def _inverse_right_jacobian(e: np.ndarray) -> np.ndarray:
    """B(e) = 1 + S/2 + (1/t^2 - cot(t/2) / 2t) S^2, S = [e]x, t = |e|."""
    S = np.zeros((*e.shape, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -e[..., 2], e[..., 1], -e[..., 0]
    S -= np.swapaxes(S, -1, -2)
    t = np.linalg.norm(e, axis=-1)
    small = t < 1e-3
    safe = np.where(small, 1.0, t)
    factor = np.where(small, 1 / 12, 1 / safe**2 - 0.5 / (safe * np.tan(0.5 * safe)))
    return np.eye(3) + 0.5 * S + factor[..., None, None] * (S @ S)
