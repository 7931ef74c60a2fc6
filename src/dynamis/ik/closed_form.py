"""Which closed form fits an arm and a task, if any."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .geometry import Arm
from .point import point_candidates
from .reason import out_of_reach
from .spherical_wrist import arm_to_wrist, wrist_candidates, wrist_centre, wrist_target
from .target import Target


@dataclass(frozen=True)
class ClosedForm:
    """A method that lists candidates for q, to be polished, and can say why there is none."""

    name: str
    candidates: Callable[[Target], list[np.ndarray]]
    why_not: Callable[[Target], str]  # empty when the geometry does not tell


def closed_form(arm: Arm | None, target: Target, moving: int) -> ClosedForm | None:
    """The closed form for the first `moving` joints, the others being idle; None without one."""
    if arm is None:
        return None
    if target.is_position and moving <= 3:
        return _carried_point(arm.first(moving))
    centre = wrist_centre(arm) if target.is_pose and moving == len(arm.kinds) else None
    return None if centre is None else _spherical_wrist(arm, centre)


def _carried_point(arm: Arm) -> ClosedForm:
    """One to three joints that carry the tool to a point."""
    return ClosedForm(
        f"{arm.kinds} to a point",
        lambda target: point_candidates(arm, target.T[:3, 3]),
        lambda target: out_of_reach(arm, target.T[:3, 3], "target"),
    )


def _spherical_wrist(arm: Arm, centre: np.ndarray) -> ClosedForm:
    """Six joints, the last three meeting in one point."""
    front = arm_to_wrist(arm, centre)
    return ClosedForm(
        f"{arm.kinds[:3]} and a spherical wrist",
        lambda target: wrist_candidates(arm, centre, target.T),
        lambda target: out_of_reach(front, wrist_target(arm, centre, target.T), "wrist centre"),
    )
