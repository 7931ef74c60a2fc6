"""Motions of all joints of a closed mechanism from those of its drives."""

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ClosureError, OptionError
from .follow import REACHED, REASONS, follow, follow_many

if TYPE_CHECKING:
    from ..robot import Robot

APART = 32  # rows from one that is followed from the last such one to the next


def deciding(robot: "Robot", what: str) -> list[int]:
    """Columns, among those of the drives, of the joints that decide all others."""
    idle = [robot.joint_names[k] for k in robot.independent if k not in robot.driven]
    if idle:
        raise OptionError(
            f"{what} of robot {robot.name!r}: its drives do not decide {', '.join(idle)}",
            "drive these joints (passive = false)",
        )
    return [robot.driven.index(k) for k in robot.independent]


def positions_along(robot: "Robot", start: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """All joints (K, n) where the independent ones are at rows (K, dof), led there from `start`.

    Every so many rows the mechanism is followed from the last such place, and from there to the
    rows up to the next: no joint jumps to another assembly.
    """
    anchors, q = [], np.asarray(start, dtype=float)
    for k in range(0, len(rows), APART):
        q, reason = follow(robot, q, rows[k])
        if reason:
            _refuse(robot, k, reason)
        anchors.append(q)
    begin = np.repeat(np.array(anchors).reshape(-1, robot.n), APART, axis=0)[: len(rows)]
    found, why = follow_many(robot, begin, rows)
    if (why != REACHED).any():
        k = int(np.argmax(why != REACHED))
        _refuse(robot, k, REASONS[why[k]])
    return found


def _refuse(robot: "Robot", row: int, reason: str) -> None:
    raise ClosureError(
        f"robot {robot.name!r} cannot follow its drives to row {row}: {reason}",
        "choose a motion that keeps away from there",
    )
