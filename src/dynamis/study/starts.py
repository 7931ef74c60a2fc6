"""Starts of closed mechanisms: the drives where they were drawn, the other joints where it closes.

The mechanism is led from the model's start, and what that leaves is closed by Newton's method in
code whose bits are those of every machine: q_d -= J_d^-1 e, then qd = Z qd_i.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ik.follow import REASONS, closing_step, follow_many
from .scatter import Draw

if TYPE_CHECKING:
    from ..robot import Robot

GRID = 2.0**-20  # rad or m: what another processor computes with other bits is rounded away
NEWTON = 4  # steps from there: the error is squared by each
Stops = Sequence[tuple[float, float] | None]


def placed(robot: "Robot", drawn: Draw, start: np.ndarray, stops: Stops, threads: Any) -> Draw:
    """A draw whose starts close; `unplaced` says why some do not start."""
    own, follow = list(robot.independent), [k for k in range(robot.n) if k not in robot.independent]
    places, rates = drawn.q0[:, own], drawn.qd0[:, own]
    led, why = follow_many(robot, np.tile(start, (len(drawn), 1)), places)
    led[:, follow] = GRID * np.rint(led[:, follow] / GRID)
    led[:, own] = places
    q, step = led, closing_step(robot)
    for _ in range(NEWTON):
        q = step(q, rates, threads=threads)[0]
    _, qd, _, status = step(q, rates, threads=threads)
    reasons = np.array([_worded(REASONS[k]) for k in why], dtype=object)
    reasons[(reasons == "") & ~(status == 0.0)] = _worded(REASONS[-1])
    for k, stop in enumerate(stops):
        if stop is not None:
            beyond = (reasons == "") & ~((stop[0] <= q[:, k]) & (q[:, k] <= stop[1]))
            reasons[beyond] = f"does not start: {robot.joint_names[k]!r} is beyond its stop"
    q[reasons != ""] = qd[reasons != ""] = np.nan
    return replace(drawn, q0=q, qd0=qd, unplaced=reasons)


def _worded(reason: str) -> str:
    return reason and f"does not start: {reason}"
