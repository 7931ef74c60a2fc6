"""Starts of closed mechanisms: the drives where they were drawn, the other joints where it closes.

The mechanism is led from the model's start, and what that leaves is closed by Newton's method in
code whose bits are those of every machine: q_d -= J_d^-1 e, then qd = Z qd_i.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.random_numbers import RowFunction
from ..dynamics import closed, projected
from ..dynamics.coordinates import Closed
from ..dynamics.drive_coordinates import LARGEST
from ..ik.follow import REASONS, follow_many
from ..lazy import once
from ..model.chain import Chain
from ..spatial.functions import Functions
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
    q, qd = _closed(robot, led, rates, threads)
    reasons = np.array([_worded(REASONS[k]) for k in why], dtype=object)
    reasons[(reasons == "") & ~np.isfinite(qd).all(axis=1)] = _worded(REASONS[-1])
    for k, stop in enumerate(stops):
        if stop is not None:
            beyond = (reasons == "") & ~((stop[0] <= q[:, k]) & (q[:, k] <= stop[1]))
            reasons[beyond] = f"does not start: {robot.joint_names[k]!r} is beyond its stop"
    q[reasons != ""] = qd[reasons != ""] = np.nan
    return replace(drawn, q0=q, qd0=qd, unplaced=reasons)


def _worded(reason: str) -> str:
    return reason and f"does not start: {reason}"


def _closed(
    robot: "Robot", q: np.ndarray, rates: np.ndarray, threads: Any
) -> tuple[np.ndarray, np.ndarray]:
    """q closed with the independent joints held, and qd; NaN where it does not close."""
    step, n = once(robot, "closing step", lambda: _step(robot.chain)), robot.n
    for _ in range(NEWTON):
        q = step(np.concatenate([q, rates], axis=1), threads)[:, :n]
    return q, step(np.concatenate([q, rates], axis=1), threads)[:, n:]


def _step(chain: Chain) -> RowFunction:
    """(q, qd_i) to q after one step of Newton's method, and qd before it."""
    mobility, n = closed.mobility(chain), chain.n

    def function(x: Any, fn: Functions) -> list[Any]:
        q, rates = list(x[:n]), list(x[n:])
        moved = Closed(chain, q, fn).closing_step(LARGEST)
        return [*moved, *projected.joint_rates(chain, q, rates, fn)]

    wide = n + len(mobility.independent)
    return RowFunction("closing step", function, wide, 2 * n, (repr(chain),))
