"""What the page of an identification draws: fitted rows, friction, spectra, few points."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..identify.log import LONG_GAP, Log
from ..identify.processing import WINDOW, prepare

if TYPE_CHECKING:
    from ..identify.estimate import Estimate

LAGS = 40
CURVE = ("viscous", "root", "coulomb", "offset")  # friction that velocity alone decides
BESIDES = ("body", "rotor", "load")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one stretch as they were fitted, (N, n): filtered, every k-th."""

    qd: np.ndarray
    friction: np.ndarray  # torque less rigid torque, and less friction that grows with the load
    residual: np.ndarray
    counted: np.ndarray  # False where slower than the dead zone
    step: float  # s from row to row


def fitted_rows(estimate: "Estimate") -> list[Rows]:
    """The rows of every stretch of every log."""
    wanted, x = estimate.unknowns, estimate.values
    rest = wanted.of_kind(*BESIDES)
    found = []
    for log, processing in zip(estimate.logs, estimate.processing, strict=True):
        for samples in prepare(log, processing)[0]:
            parts = [
                (samples.qd[k], tau - Y[..., rest] @ x[rest], tau - Y @ x, weight > 0.0)
                for Y, tau, weight, k in samples.blocks(wanted)
            ]
            step = samples.every * float(np.median(np.diff(samples.t)))
            qd, friction, residual, counted = map(np.concatenate, zip(*parts, strict=True))
            found.append(Rows(qd, friction, residual, counted, step))
    return found


def friction_curve(
    estimate: "Estimate", joint: int, fastest: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities, friction torque and its standard deviation, of one joint moving alone."""
    wanted = estimate.unknowns
    v = np.unique(np.concatenate([np.linspace(-r, r, 121) for r in (fastest, 0.05 * fastest)]))
    qd = np.zeros((len(v), wanted.robot.n))
    qd[:, joint] = v
    columns = wanted.of_kind(*CURVE)
    zero = np.zeros_like(qd)
    Z = wanted.regressor(zero, qd, zero)[:, joint, columns]
    spread = np.einsum("ka,ab,kb->k", Z, estimate.covariance[np.ix_(columns, columns)], Z)
    return v, Z @ estimate.values[columns], np.sqrt(np.maximum(spread, 0.0))


def autocorrelation(residual: np.ndarray, lags: int = LAGS) -> np.ndarray:
    """sum r_i r_(i+k) / sum r_i^2 for k = 0, 1, ..; r (N,) less its mean."""
    r = residual - residual.mean()
    lags = min(lags, len(r) // 4)
    size = float(r @ r) or 1.0
    return np.array([r[: len(r) - k] @ r[k:] / size for k in range(lags + 1)])


def spectrum(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and power of the positions, (F, n), largest of each joint 1."""
    from scipy.signal import welch

    even = max(log.uniform().pieces(), key=len)
    length = min(len(even), int(WINDOW * even.rate))
    f, power = welch(even.q, even.rate, nperseg=length, axis=0, detrend="linear")
    return f[1:], power[1:] / np.maximum(power[1:].max(axis=0), 1e-300)


def few(t: np.ndarray, series: tuple[np.ndarray, ...], most: int) -> list[int | None]:
    """At most about `most` rows that keep every peak of every series; None where a gap breaks."""
    kept = _peaks(series, most) if len(t) > most else np.arange(len(t))
    steps = np.diff(t)
    stretch = np.concatenate([[0], np.cumsum(steps > LONG_GAP * np.median(steps))])
    found: list[int | None] = []
    for k in kept.tolist():
        if found and stretch[k] != stretch[found[-1] or 0]:
            found.append(None)
        found.append(k)
    return found


def _peaks(series: tuple[np.ndarray, ...], most: int) -> np.ndarray:
    """Where each series is lowest and highest, bucket by bucket."""
    buckets = np.array_split(np.arange(len(series[0])), max(1, most // (2 * len(series))))
    found = {0, len(series[0]) - 1}
    for rows in buckets:
        for values in series:
            found |= {int(rows[values[rows].argmin()]), int(rows[values[rows].argmax()])}
    return np.array(sorted(found))
