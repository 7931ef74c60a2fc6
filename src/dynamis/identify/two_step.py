"""The two-step method: friction and gravity from slow motions, then the rest.

Moving slowly, tau = Y_g(q) x_g + friction(qd) + little; what is found there is fixed while the
exciting motion shows the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import binary_dilation

from ..base.groupings import lstsq
from ..errors import OptionError
from ..ik.driven import random_motion
from ..logs.log import Log
from .deviations import fitted_bands, noise_covariance
from .estimators import with_loads
from .friction.models import BRISTLE_COLUMNS
from .information import (
    NEGLIGIBLE,
    Information,
    completed,
    information,
    told_apart,
    weighted,
)
from .motion import STILL
from .processing import Processing, Samples, prepare
from .unknowns import RIGID, Unknowns
from .verdict.diagnose import POOR

FRICTION = (
    *("viscous", "viscous-", "root", "coulomb", "memory", "offset", "friction law", "load"),
    *("thermal", *BRISTLE_COLUMNS),
)
GENTLE = 0.5  # rad/s^2 or m/s^2: rows that accelerate more are no slow motion
LEAST = 0.2  # share of the rows that must be slow
RESTING = 10.0 * STILL  # rad or m: a joint that moves less only sticks
POSES = 32  # random ones, to see which unknowns gravity shows
NEEDED = "record each joint moving at constant velocities, or the arm going slowly through poses"


@dataclass(frozen=True, eq=False)
class SlowPart:
    """What slow motions show: `known` (m,), NaN for the rest, and its `covariance` (m, m)."""

    known: np.ndarray
    covariance: np.ndarray
    rows: np.ndarray  # (n,) counted per joint


def slow_estimate(
    unknowns: Unknowns, logs: Sequence[Log] | None, processing: Processing
) -> SlowPart:
    """Friction and gravity unknowns from slow logs, NaN where they are not known.

    Weighted least squares on the rows that hardly accelerate; the little torque of inertias that
    gravity does not show is taken from the robot as described. What the slow motions cannot tell
    apart stays NaN.
    """
    if not logs:
        raise OptionError("method 'two-step' needs slow=, logs of slow motions", NEEDED)
    robot = unknowns.robot
    prepared = [s for x in logs for s in prepare(x, processing, True, True, robot)[0]]
    slow = [_slow_rows(s) for s in prepared]
    rows, count = sum(map(len, slow)), sum(int(x.sum()) for x in slow)
    if count < LEAST * rows:
        worst = max(float(np.abs(s.qdd).max()) for s in prepared)
        raise OptionError(
            f"slow ({', '.join(log.name or 'log' for log in logs)}) is not slow: only {count} of "
            f"{rows} rows accelerate by less than {GENTLE:g} rad/s^2, the most is {worst:.3g}",
            NEEDED,
        )
    motions = [  # without the rows that accelerate, and the joints that only stick
        replace(s, weight=s.weight * np.outer(x, np.ptp(s.q[:, s.columns], axis=0) > RESTING))
        for s, x in zip(prepared, slow, strict=True)
    ]
    sought = gravity_unknowns(unknowns) | np.isin(unknowns.kinds, FRICTION)
    others = np.where(sought, np.nan, unknowns.values)
    with_load, loaded = with_loads(unknowns, motions, others)
    fixed = others if loaded is None else loaded
    info = information(motions, with_load, known=fixed)
    silent = [robot.drive_names[j] for j in np.flatnonzero(info.rows == 0)]
    if silent and len(unknowns.of_kind(*FRICTION)):  # their friction would stay unknown
        raise OptionError(f"slow: joints {', '.join(silent)} move in none of the logs", NEEDED)
    found = weighted(info)
    x = completed(found.x, fixed)
    distinct = sought & ~(np.isnan(fixed) & ~told_apart(info, found.weights, POOR))
    known = np.where(distinct, x, np.nan)
    covariance = noise_covariance(fitted_bands(motions, with_load, x, found.gain)[0], found.gain)
    covariance *= np.outer(distinct, distinct)
    return SlowPart(known, covariance, info.rows)


def total_covariance(
    covariance: np.ndarray, info: Information, weights: np.ndarray, slow: SlowPart
) -> np.ndarray:
    """The covariance of all unknowns when the first step's own uncertainty is counted, (m, m).

    C + T C_slow T^T,   T = [E; -(Y_r^T W Y_r)^-1 Y_r^T W Y_k],   k what was known, r the rest

    `covariance` is the second step's, `info` its motions' with nothing taken as known.
    """
    k = np.isfinite(slow.known)
    R = info.stacked(weights)[:, :-1]
    T = np.eye(len(k))
    T[np.ix_(~k, k)] = -lstsq(R[:, ~k], R[:, k], NEGLIGIBLE)
    return covariance + T[:, k] @ slow.covariance[np.ix_(k, k)] @ T[:, k].T


def gravity_unknowns(unknowns: Unknowns) -> np.ndarray:
    """Which bodies' unknowns gravity shows: their columns of Y(q, 0, 0) are not zero, (m,) bool."""
    robot, rng = unknowns.robot, np.random.default_rng(0)
    q = random_motion(robot, POSES, rng).q
    rest = np.zeros_like(q)
    size = np.abs(unknowns.regressor(q, rest, rest)).max(axis=(0, 1))
    return np.logical_and(size > 1e-9, np.isin(unknowns.kinds, RIGID))


def _slow_rows(samples: Samples) -> np.ndarray:
    """Rows that hardly accelerate, nor their neighbours that the filter mixes in, (N,) bool."""
    fast = (np.abs(samples.qdd[:, samples.columns]) > GENTLE).any(axis=1)
    reach = samples.settle // 3
    return np.logical_not(binary_dilation(fast, iterations=reach) if reach else fast)
