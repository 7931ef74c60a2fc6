"""Joints that may be elastic, and columns that logs must have for it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import is_word, one_of
from ...errors import OptionError, shown
from ...logs.log import Log
from ...model.check.finding import Finding

if TYPE_CHECKING:
    from ...robot import Robot

AUTO = "auto"
STILL = 1e-7  # rad or m: a deflection that varies less is that of a rigid joint
DRIVE = "drive trains"


def checked_elastic(elastic: Any, robot: "Robot", logs: Sequence[Log]) -> tuple[str, ...]:
    """Names of the joints that may be elastic; errors where none can be found."""
    names = robot.drive_names
    if not is_word(elastic, (AUTO,)):
        if isinstance(elastic, (str, bytes)) or not isinstance(elastic, Sequence) or not elastic:
            raise OptionError(
                f"elastic is {shown(elastic)}, expected 'auto', a list of names of joints, or None"
            )
        for name in elastic:
            one_of(name, names, f"elastic: the robot has no joint {shown(name)}")
    robot.model.refuse_closures("identification of elastic joints")
    if robot.model.gear_matrix is not None:
        raise OptionError(
            f"robot {robot.name!r} has a gear_matrix: its motors turn several joints",
            "elastic joints are identified where every motor turns one joint",
        )
    one_sided = [log.name or "log" for log in logs if log.motor is None]
    if one_sided and len(one_sided) < len(logs):
        raise OptionError(
            f"some logs hold both sides of the gears, {one_sided[0]!r} holds one",
            "identify from logs of one kind: read_log(..., columns=dict(q=..., motor=...)) reads "
            "positions of links and of motors",
        )
    asked = names if is_word(elastic, (AUTO,)) else elastic
    return tuple(x for x in names if x in asked)


def check_both_sides(log: Log) -> None:
    """An error for a log that holds one side of the gears."""
    if log.motor is None:
        raise OptionError(
            f"log {log.name!r} has no motor side, expected both sides of elastic joints",
            "read_log(..., columns=dict(q=..., motor=...))",
        )


def left_rigid(logs: Sequence[Log]) -> Iterator[Finding]:
    """A note on logs of both sides that are taken as those of a rigid arm."""
    bent = [np.ptp(x.motor - x.q) for x in logs if x.motor is not None]
    if max(bent, default=0.0) > STILL:
        what = "the log holds both sides of elastic joints: q was taken as that of a rigid arm"
        yield Finding("note", DRIVE, what, 'elastic="auto" identifies stiffness and backlash')
