"""A log on an even grid, without inventing what was never measured."""

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from ..errors import OptionError
from ..model.finding import Finding
from .log import GAP, LONG_GAP, Log

MOST = 50_000_000  # samples; more is more likely a rate in the wrong unit
ROUNDING = 1e-9  # of a step, for the last instant


def uniform(log: Log, rate: float | None) -> Log:
    """The log at t[0] + k / rate, but not inside long gaps."""
    rate = log.rate if rate is None else rate
    count = log.duration * rate
    if not 1.0 <= count + ROUNDING <= MOST:
        raise OptionError(
            f"rate {rate:g} Hz puts {count:.3g} steps into {log.duration:.6g} s, "
            f"expected from 1 to {MOST:g}",
            f"rate is in Hz; the log's own is {log.rate:.4g}",
        )
    grid = log.t[0] + np.arange(int(count + ROUNDING) + 1) / rate
    grid = np.minimum(grid, log.t[-1])
    measured = _measured(log, grid)
    t = grid[measured]
    return Log(
        t=t,
        q=_hermite(log.t, log.q, log.qd, t),
        qd=None if log.qd is None else _hermite(log.t, log.qd, log.qdd, t),
        qdd=None if log.qdd is None else _hermite(log.t, log.qdd, None, t),
        tau=_hermite(log.t, log.tau, None, t),
        name=log.name,
        findings=(*log.findings, *_bridged(log, int((~measured).sum()))),
    )


def _measured(log: Log, grid: np.ndarray) -> np.ndarray:
    """Whether an instant is a sample, or lies between two that are near each other."""
    k = np.clip(np.searchsorted(log.t, grid, side="right") - 1, 0, len(log) - 2)
    left, right = log.t[k], log.t[k + 1]
    near = right - left <= LONG_GAP * log.step
    slack = ROUNDING * log.step
    return near | (grid - left <= slack) | (right - grid <= slack)


def _hermite(t: np.ndarray, x: np.ndarray, xd: np.ndarray | None, at: np.ndarray) -> np.ndarray:
    """x at other times: cubic where its derivative is known, else linear."""
    if xd is not None:
        return CubicHermiteSpline(t, x, xd)(at)
    return np.stack([np.interp(at, t, column) for column in x.T], axis=1)


def _bridged(log: Log, left_out: int) -> list[Finding]:
    steps = np.diff(log.t) / log.step
    short = int(((steps > GAP) & (steps <= LONG_GAP)).sum())
    long = int((steps > LONG_GAP).sum())
    found = []
    if short:
        what = f"even grid: {short} gaps of {GAP:g} to {LONG_GAP:g} steps were interpolated across"
        found.append(Finding("note", log.name or "log", what, "nothing, if the motion is smooth"))
    if long:
        what = f"even grid: {left_out} instants inside {long} gaps of over {LONG_GAP:g} steps "
        remedy = "filter and differentiate each of log.pieces() by itself"
        found.append(Finding("warning", log.name or "log", what + "were left out", remedy))
    return found
