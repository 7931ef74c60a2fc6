"""A torque limit, and an integral that does not wind up behind it."""

from typing import Any

from ..generic import Arm

NO_LIMIT = 1e300  # stands for "no limit" among the gains, which are numbers


def clipped(arm: Arm, wanted: Any, limit: Any) -> Any:
    """min(max(wanted, -limit), limit)"""
    return arm.max(-limit, arm.min(wanted, limit))


def held(arm: Arm, wanted: Any, given: Any, e: Any, before: Any, after: Any) -> Any:
    """The integral of e after a sample: as before it where e drives the torque into its limit.

    The torque falls with the integral, so it gets worse where (wanted - given) e < 0.
    """
    return arm.select((wanted - given) * e < 0.0, before, after)
