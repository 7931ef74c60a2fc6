"""What a log shows of its motion: its band, joints at rest, noise and delay of its velocities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, csd, sosfiltfilt, welch

from ..logs.log import Log

POWER = 0.9999  # share of the positions' power that lies within the motion's band
MULTIPLE = 12.0  # of that band: the cut-off
PASSING = 4.0  # of that band: a lower cut-off changes the motion, at its band by more than 2e-5
HIGHEST = 0.2  # of the sampling rate
WINDOW = 8.0  # seconds of the spectra
NOISIER = 1.5  # times the noise of differences: logged velocities are not used then
LENGTH = 256  # rows of the spectra that show the noise, at most
SEGMENTS = 4  # of a log, at least, that such a spectrum is a mean of
MEASURED = 0.45  # of the sampling rate: noise is looked for below
FAINT = 1e-3  # of a joint's velocities: less noise does not matter
AT_THE_END = 0.25  # periods of the cut-off that show the velocity at an end of a log
FEWEST = 30  # rows: fewer are not extended
SHORT = 50  # rows: fewer show no delay
STRETCHES = 40  # of a log, on each of which the delay of its velocities is estimated
MEDIAN = (
    1.86  # times the median distance from a median, over the root of their number: its deviation
)
SURELY = 6.0  # standard deviations of a delay
SMALL = 0.05  # of a step of the log: a delay that does not matter
WIDER = 2.5  # the motion of a fit is filtered this much wider than both sides of the equation
STILL = 1e-4  # rad or m: a joint whose position varies less does not move
TREMBLING = 0.02  # rad or m: so far may the noise of a position go


def resting(log: Log) -> np.ndarray:
    """Which joints do not move, or only by the noise of their positions, (n,) bool."""
    reach = np.ptp(log.q, axis=0)
    noise = (np.diff(log.q, axis=0) ** 2).mean(axis=0) > log.q.var(axis=0)  # rows hardly alike
    return (reach < STILL) | ((reach < TREMBLING) & noise)


def band(log: Log) -> float:
    """The frequency (Hz) below which nearly all of the power of every moving joint lies."""
    even = on_even_grid(log)
    q = even.q - even.q.mean(axis=0)
    moving = (even.q.std(axis=0) > STILL) & ~resting(even)
    if not moving.any():
        return 1.0 / max(log.duration, 1e-9)
    length = max(8, min(len(q), int(WINDOW * even.rate)))
    f, power = welch(q[:, moving], even.rate, nperseg=length, axis=0, detrend="linear")
    share = np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    bands = [f[np.argmax(s >= POWER)] for s in share.T]
    return float(max([*bands, f[min(1, len(f) - 1)]]))


def of_the_motion(log: Log, rate: float) -> float:
    """The cut-off (Hz) that suits a motion measured without noise."""
    return min(MULTIPLE * band(log), HIGHEST * rate)


def of_the_motions(logs: Sequence[Log], rate: float | None) -> float:
    """The highest cut-off (Hz) that suits one of some motions; `rate` None: each its own."""
    return max(of_the_motion(log, rate or log.rate) for log in logs)


def noisy_velocities(log: Log, cutoff: float) -> bool:
    """Whether differences of the positions have less noise below the cut-off than logged qd.

    Noise is what lies above the motion, and white; what qd shares with q there was computed from q.
    """
    if log.qd is None:
        return True
    even = on_even_grid(log)
    moving, rate = ~resting(even), even.rate
    if even.qd is None or not moving.any():
        return False
    q, qd = even.q[:, moving], even.qd[:, moving]
    pairs = ((q, q), (qd, qd), (q, qd))
    length = min(len(q) // SEGMENTS, LENGTH)
    if length < SEGMENTS:
        return False
    found = [csd(*pair, rate, nperseg=length, axis=0, detrend="linear") for pair in pairs]
    f, (own, other, both) = found[0][0], (np.abs(power) for _, power in found)
    above = (f > min(WIDER * cutoff, HIGHEST * rate)) & (f < MEASURED * rate)
    if not above.any():
        return False
    chance = 1.0 / (2 * len(q) // length - 1)  # coherence of so many segments of mere noise
    shared = np.minimum(both**2 / np.maximum(own * other, 1e-300), 1.0)
    shared = np.maximum(shared - chance, 0.0) / (1.0 - chance)
    noise = np.sqrt((other * (1.0 - shared))[above].mean(axis=0))
    matters = noise * np.sqrt(cutoff) > FAINT * qd.std(axis=0)
    worse = noise > NOISIER * 2.0 * np.pi * cutoff * np.sqrt(own[above].mean(axis=0))
    return bool(np.mean(matters & worse) > 0.5)


def late_velocities(logs: Sequence[Log]) -> float:
    """Seconds by which the logged velocities surely follow the rate of the positions; 0: none do.

    As those of a filter, or of differences with the position before.
    """
    if any(log.qd is None for log in logs):
        return 0.0
    found = np.concatenate([_delays(log) for log in logs])
    if len(found) < SEGMENTS:
        return 0.0
    late = float(np.median(found))
    deviation = MEDIAN * float(np.median(np.abs(found - late))) / len(found) ** 0.5
    step = max(log.step for log in logs)
    return late if abs(late) > max(SURELY * deviation, SMALL * step) else 0.0


def _delays(log: Log) -> np.ndarray:
    """The delay of the velocities on each of many stretches that move.

    qd = rate - delay d(rate)/dt by least squares; a recording that ends (or a filter that begins)
    within a motion spoils few of them.
    """
    if len(log) < SHORT or log.qd is None:
        return np.zeros(0)
    even = on_even_grid(log)
    assert even.qd is not None
    cutoff = min(of_the_motion(even, even.rate), 0.1 * even.rate)
    rate, qd = (lowpass(x, cutoff, even.rate) for x in (rates(even.q, even.rate)[0], even.qd))
    slope = np.gradient(rate, 1.0 / even.rate, axis=0)
    starts = np.linspace(0, len(even), min(STRETCHES, len(even) // 10), endpoint=False).astype(int)
    off = np.add.reduceat(((rate - qd) * slope).sum(axis=1), starts)
    size = np.add.reduceat((slope * slope).sum(axis=1), starts)
    moving = size > 0.1 * np.quantile(size, 0.8)
    return off[moving] / size[moving]


def moved(values: np.ndarray, t: np.ndarray, by: float) -> np.ndarray:
    """Values of rows `by` seconds later; lines between rows would smooth noise."""
    return CubicSpline(t, values)(np.clip(t + by, t[0], t[-1])) if by else values


def spectrum(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and power of the positions, (F, n), largest of each joint 1."""
    even = max(log.uniform().pieces(), key=len)
    length = min(len(even), int(WINDOW * even.rate))
    f, power = welch(even.q, even.rate, nperseg=length, axis=0, detrend="linear")
    return f[1:], power[1:] / np.maximum(power[1:].max(axis=0), 1e-300)


def is_even(log: Log) -> bool:
    """Whether every step is the median one, to a hundredth of it."""
    steps = np.diff(log.t)
    return bool(np.abs(steps - log.step).max() < 0.01 * log.step)


def on_even_grid(log: Log) -> Log:
    """The log itself where its steps are even, else interpolated."""
    return log if is_even(log) else log.uniform()


def lowpass(values: np.ndarray, cutoff: float, rate: float, order: int = 4) -> np.ndarray:
    """Zero-phase Butterworth along the first axis; nothing to do near half the rate."""
    if cutoff >= 0.49 * rate or len(values) < 4:
        return values
    pad = min(len(values) - 1, int(min(3.0 * rate / cutoff, len(values))) + 10)
    sos = butter(order, cutoff, fs=rate, output="sos")
    return sosfiltfilt(sos, values, axis=0, padlen=pad)


def low_passed_positions(q: np.ndarray, cutoff: float, rate: float, order: int) -> np.ndarray:
    """Positions after the same filter; at either end velocities and accelerations stay.

    Beyond an end the motion goes on as if mirrored there, with the velocity that it has: a joint
    that starts from rest would else seem to have come with the speed that it leaves with.
    """
    if cutoff >= 0.49 * rate or len(q) < FEWEST:
        return lowpass(q, cutoff, rate, order)
    pad = min(len(q) - 1, int(3.0 * rate / cutoff) + 10)
    near = min(max(4, int(AT_THE_END * rate / cutoff) + 1), len(q))
    rows = np.arange(near)

    def before(values: np.ndarray) -> np.ndarray:
        slope = np.polynomial.polynomial.polyfit(rows, values[:near], 2)[1]
        return (values[1 : pad + 1] - 2.0 * slope * np.arange(1, pad + 1)[:, None])[::-1]

    whole = np.concatenate([before(q), q, before(q[::-1])[::-1]])
    return lowpass(whole, cutoff, rate, order)[pad:-pad]


def rates(q: np.ndarray, rate: float, qd: np.ndarray | None = None) -> list[np.ndarray]:
    """qd and qdd of positions on an even grid, by differences as far as they are not given."""
    first: Any = np.gradient(q, 1.0 / rate, axis=0, edge_order=2) if qd is None else qd
    return [first, np.gradient(first, 1.0 / rate, axis=0, edge_order=2)]
