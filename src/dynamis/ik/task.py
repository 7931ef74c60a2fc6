"""What of the tool's pose a task prescribes: a mask over x, y, z, rx, ry, rz in base axes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_flag, is_list, real
from ..errors import OptionError, did_you_mean, shown

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
    items = list(task) if is_list(task) else []
    values = [float(x) if is_flag(x) else real(x) for x in items]
    if len(values) != 6 or not set(values) <= {0.0, 1.0}:
        raise OptionError(f"task is {shown(task)}, {expected}")
    if not any(values):
        raise OptionError(f"task is {shown(task)}: it prescribes nothing", expected)
    return np.array(values, dtype=bool)
