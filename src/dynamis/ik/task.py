"""What of the tool's pose a task prescribes: a mask over x, y, z, rx, ry, rz in base axes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from ..robot import Robot

TASKS = {
    "pose": (True, True, True, True, True, True),
    "position": (True, True, True, False, False, False),
}


def task_mask(robot: "Robot", task: Any = None) -> np.ndarray:
    """Six booleans, one per row of the Jacobian, that select the rows of a task.

    `task` is "pose" (default from six joints on), "position" (default below) or a mask of six.
    """
    if task is None:
        task = "pose" if robot.n >= 6 else "position"
    if isinstance(task, str):
        if task not in TASKS:
            raise OptionError(f"task {task!r} does not exist", did_you_mean(task, TASKS))
        return np.array(TASKS[task])
    return _mask(task)


def _mask(task: Any) -> np.ndarray:
    expected = "expected 'pose', 'position' or six of 0 and 1 for x, y, z, rx, ry, rz"
    try:
        values = np.asarray(task)
    except ValueError:
        raise OptionError(f"task is {task!r}, {expected}") from None
    if values.shape != (6,) or values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise OptionError(f"task is {task!r}, {expected}")
    if not values.any():
        raise OptionError(f"task is {task!r}: it prescribes nothing", expected)
    return values.astype(bool)
