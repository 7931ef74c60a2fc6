"""The two-step method: friction and gravity from slow motions, then the rest.

Moving slowly, tau = Y_g(q) x_g + friction(qd) + little; what is found there is fixed while the
exciting motion shows the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import binary_dilation

from ..errors import OptionError
from ..logs.log import Log
from .diagnose import POOR, STILL
from .information import Information, completed, correlation_times, information, scaled, weighted
from .loads import with_loads
from .processing import Processing, prepare
from .samples import Samples
from .unknowns import RIGID, Unknowns

FRICTION = ("viscous", "root", "coulomb", "offset", "load")
SLOW = 0.5  # rad/s^2 or m/s^2: faster rows are no slow motion
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
    unknowns: Unknowns,
    logs: Sequence[Log] | None,
    processing: Processing,
    threads: int | None = None,
) -> SlowPart:
    """Friction and gravity unknowns from slow logs, NaN where they are not known.

    Weighted least squares on the rows that hardly accelerate; the little torque of inertias that
    gravity does not show is taken from the robot as described. What the slow motions cannot tell
    apart stays NaN.
    """
    if not logs:
        raise OptionError("method 'two-step' needs slow=, logs of slow motions", NEEDED)
    motions = [_slow(s) for log in logs for s in prepare(log, processing, quasi_static=True)[0]]
    _refuse_fast(logs, motions)
    sought = gravity_unknowns(unknowns) | np.isin(unknowns.kinds, FRICTION)
    others = np.where(sought, np.nan, unknowns.values)
    wanted, fixed = unknowns, others
    if "load" in unknowns.kinds:
        wanted, loaded = with_loads(unknowns, motions, others, threads)
        fixed = others if loaded is None else loaded
    info = information(motions, wanted, known=fixed, threads=threads)
    _refuse_silent(wanted, info)
    found = weighted(info)
    x = completed(found.x, fixed)
    told = sought & ~(np.isnan(fixed) & ~_told_apart(info, found.weights))
    known = np.where(told, x, np.nan)
    times = correlation_times(motions, wanted, x, threads)
    covariance = found.covariance * float(times.max()) * np.outer(told, told)
    return SlowPart(known, covariance, info.rows)


def total_covariance(
    covariance: np.ndarray, info: Information, weights: np.ndarray, slow: SlowPart
) -> np.ndarray:
    """The covariance of all unknowns when the first step's own uncertainty is counted, (m, m).

    C + T C_slow T^T,   T = [E; -(Y_r^T W Y_r)^-1 Y_r^T W Y_k],   k what was known, r the rest

    `covariance` is the second step's, `info` its motions' with nothing taken as known.
    """
    k = np.isfinite(slow.known)
    unit, lengths = scaled(info.stacked(weights)[:, :-1])
    T = np.eye(len(k))
    T[np.ix_(~k, k)] = -np.linalg.lstsq(unit[:, ~k], unit[:, k], rcond=1e-9)[0]
    T[np.ix_(~k, k)] *= lengths[k] / lengths[~k, None]
    return covariance + T[:, k] @ slow.covariance[np.ix_(k, k)] @ T[:, k].T


def gravity_unknowns(unknowns: Unknowns) -> np.ndarray:
    """Which bodies' unknowns gravity shows: their columns of Y(q, 0, 0) are not zero, (m,) bool."""
    n = unknowns.robot.n
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (POSES, n))
    rest = np.zeros_like(q)
    size = np.abs(unknowns.regressor(q, rest, rest)).max(axis=(0, 1))
    return np.logical_and(size > 1e-9, np.isin(unknowns.kinds, RIGID))


def _slow(samples: Samples) -> Samples:
    """Without the rows that accelerate, and the joints that only stick."""
    moves = np.ptp(samples.q, axis=0) > RESTING
    return replace(samples, weight=samples.weight * np.outer(_slow_rows(samples), moves))


def _slow_rows(samples: Samples) -> np.ndarray:
    """Rows that hardly accelerate, nor their neighbours that the filter mixes in, (N,) bool."""
    fast = (np.abs(samples.qdd) > SLOW).any(axis=1)
    reach = samples.settle // 3
    return np.logical_not(binary_dilation(fast, iterations=reach) if reach else fast)


def _refuse_fast(logs: Sequence[Log], motions: Sequence[Samples]) -> None:
    rows = sum(len(s) for s in motions)
    slow = sum(int(_slow_rows(s).sum()) for s in motions)
    if slow >= LEAST * rows:
        return
    worst = max(float(np.abs(s.qdd).max()) for s in motions)
    names = ", ".join(log.name or "log" for log in logs)
    raise OptionError(
        f"slow ({names}) is not slow: only {slow} of {rows} rows accelerate by less than "
        f"{SLOW:g} rad/s^2, the most is {worst:.3g}",
        NEEDED,
    )


def _refuse_silent(unknowns: Unknowns, info: Information) -> None:
    """A joint that no slow motion moves would keep its friction unknown."""
    joints = zip(unknowns.robot.joint_names, info.rows, strict=True)
    silent = [name for name, rows in joints if rows == 0]
    if silent and len(unknowns.of_kind(*FRICTION)):
        raise OptionError(f"slow: joints {', '.join(silent)} move in none of the logs", NEEDED)


def _told_apart(info: Information, weights: np.ndarray) -> np.ndarray:
    """Which unknowns have no part in directions that the motions hardly show, (m,) bool."""
    unit, _ = scaled(info.stacked(weights)[:, :-1])
    _, s, Vt = np.linalg.svd(unit)
    dim = s <= s[0] / POOR
    return np.all(np.abs(Vt[dim]) < 1e-3, axis=0)
