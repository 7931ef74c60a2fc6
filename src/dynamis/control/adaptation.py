"""Which parameters an adaptive law moves, how fast, from where, and within what bounds."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError, ShapeError, did_you_mean
from ..evaluate import numbers
from .controller import per_joint
from .saturation import NO_LIMIT

if TYPE_CHECKING:
    from ..robot import Robot

# what physics knows of a parameter's sign, by the last part of its name
SIGNS = {
    "m": 1,
    "rotor_inertia": 1,
    "viscous": 1,
    "coulomb+": 1,
    "coulomb-": -1,
    "motor_viscous": 1,
    "motor_coulomb+": 1,
    "motor_coulomb-": -1,
}


def adapted(names: Sequence[str], adapt: Any) -> list[bool]:
    """Which of the names `adapt` picks: None is all, else names or patterns ("*.viscous")."""
    if adapt is None:
        return [True] * len(names)
    patterns = [adapt] if isinstance(adapt, str) else list(adapt)
    for pattern in patterns:
        if not any(fnmatchcase(name, str(pattern)) for name in names):
            raise OptionError(
                f"adapt names {pattern!r}, expected parameters of the model or patterns of them",
                did_you_mean(pattern, names),
            )
    return [any(fnmatchcase(name, str(p)) for p in patterns) for name in names]


def adaptation_gains(robot: "Robot", adapt: Any, adaptation: Any, start_from: Any) -> dict:
    """Rate, start and bounds of every parameter; what is not adapted has rate 0 and no bound.

    A start on the wrong side of a sign moves the bound to itself: nothing jumps.
    """
    names = robot.parameters.names
    chosen = adapted(names, adapt)
    moving = per_joint(adaptation, "adaptation", robot, size=sum(chosen))
    given = iter(moving)
    start = _start(robot, start_from)
    gains: dict[str, list[float]] = {"rate": [], "initial": start, "lowest": [], "highest": []}
    for name, moves, value in zip(names, chosen, start, strict=True):
        sign = SIGNS.get(name.rsplit(".", 1)[-1], 0) if moves else 0
        gains["rate"].append(next(given) if moves else 0.0)
        gains["lowest"].append(min(0.0, value) if sign > 0 else -NO_LIMIT)
        gains["highest"].append(max(0.0, value) if sign < 0 else NO_LIMIT)
    return gains


def _start(robot: "Robot", start_from: Any) -> list[float]:
    own = robot.parameters.values
    given = (
        own
        if start_from is None
        else numbers(start_from, "start_from", "expected one number or one per parameter")
    )
    if given.shape not in ((), own.shape):
        raise ShapeError(
            f"start_from is {start_from!r}, expected one number or {len(own)}, one per parameter "
            f"of robot {robot.name!r}"
        )
    if not np.isfinite(given).all():
        raise OptionError(f"start_from is {start_from!r}, expected finite numbers")
    return np.broadcast_to(given, own.shape).tolist()
