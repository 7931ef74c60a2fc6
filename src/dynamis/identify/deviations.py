"""Covariance of an estimate from the residuals of its fit, and its bias by noise of the motion.

Torque noise may have any colour. The unknowns follow from the torque by
x = P sum_j w_j^2 Y_j^T tau_j, so that noise with the spectrum S_j(f) in the rows of joint j gives
them the covariance

    C = P (sum_j w_j^4 integral Y_j(f)^* S_j(f) Y_j(f) df) P^T

Noise of the positions or velocities reaches the torque through the accelerations: it grows with
frequency, and the residuals are mostly of frequencies at which the motion has nothing. What
matters are those of the motion. S is taken as constant within octaves, each from the residuals
there less what the unknowns could take of them. What is as slow as the motion they take nearly
whole: there slow noise is continued from above, as a power of frequency. White noise and slow
errors of the model are special cases (heteroskedasticity and autocorrelation consistent
covariances in the frequency domain: P. M. Robinson, Automatic frequency domain inference, 1991).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ..logs.log import Log
from .information import NoiseGain, inverse_of, moments, shown_directions
from .motion import band, lowpass, rates
from .processing import Samples
from .unknowns import Unknowns

if TYPE_CHECKING:
    from .estimators import FitProblem

EDGES = 0.5 ** np.arange(12.0, 0.0, -1.0)  # cycles per row: upper ends of the octaves
MEASURED = (0.0, 2.0, 4.0)  # powers of frequency: noise of torques, velocities and positions
SLOW = (-0.5, -1.0)  # those of slow noise, one of which may be there too
LIKELY = 4.0  # of twice a log likelihood: chance explains less
ENOUGH = 12.0  # degrees of freedom that a level is estimated from: octaves with fewer are joined
OWN = 96.0  # degrees of freedom of a motion whose levels are its own
TAPERED = 2.0 / 3.0  # of those that the taper of the residuals leaves
ROUNDS = 6  # of weighted least squares
# standard deviations on either side of an interval of a normal distribution, by its probability
NORMAL = {0.95: 1.96, 0.99: 2.576}
FEW = 4.0  # degrees of freedom: with fewer, Student's distribution has hardly a variance
SMOOTH = 4.0  # of the motion's band: the cut-off of an instrument made of the motion itself
LAGS = 40  # rows that the autocorrelation is shown over
LONGEST = 0.1  # of a motion: correlations over more rows than that are not estimated
SHORTEST = 20  # rows: no correlation is estimated of fewer


class WeightedRows(NamedTuple):
    """Rows that follow each other: columns (b, n, m), weighted, residual and weight (b, n).

    Rows that do not count have no columns, but a residual. Above `passed`, in cycles per row, a
    filter has left nothing.
    """

    columns: np.ndarray
    residual: np.ndarray
    weight: np.ndarray
    passed: float = 0.5


class Bands(NamedTuple):
    """Octaves of frequency, of every joint: Gram matrices of columns, squared residuals, rows."""

    grams: np.ndarray  # (octaves, n, m, m)
    power: np.ndarray  # (2, octaves, n): of the rows that count, of all rows
    rows: np.ndarray  # (octaves, n): degrees of freedom of the residuals, before any fit

    def levels(self, gain: NoiseGain) -> np.ndarray:
        """Variance of the noise per row in every octave, (octaves, n).

        Rows that do not count leave gaps, which carry noise from octave to octave; with them there
        is friction near rest. Either can only add to it: the smaller level counts.
        """
        fitted = gain.weights**2 * np.einsum("ab,kjba->kj", gain.inverse, self.grams)
        dof = np.maximum(self.rows - fitted, 0.0)
        both = [
            [_levels(*pair) for pair in zip(power.T, dof.T, strict=True)] for power in self.power
        ]
        return np.min(both, axis=0).T

    def plus(self, other: "Bands") -> "Bands":
        """Those of more motions, of which the noise is taken to be alike."""
        return Bands(*(a + b for a, b in zip(self, other, strict=True)))


def noise_covariance(parts: Sequence[Bands], gain: NoiseGain) -> np.ndarray:
    """That of the unknowns, (m, m), by the torque noise of motions."""
    weights = gain.weights**4
    noise = sum(np.tensordot(weights * part.levels(gain), part.grams, 2) for part in parts)
    return gain.inverse @ noise @ gain.inverse.T


def _levels(power: np.ndarray, dof: np.ndarray) -> np.ndarray:
    """Levels of one joint from its degrees of freedom, (octaves,) each.

    With few of them they are widened to the variance of Student's distribution.
    """
    shape, found = _shape(power, dof), np.zeros(len(dof))
    for k in range(len(dof)):
        part = slice(*_joined(dof, k))
        untapered = float(dof[part].sum())
        tapered = max(TAPERED * untapered, FEW)
        level = shape[k] * float((power[part] / shape[part]).sum()) / max(untapered, 1.0)
        found[k] = level * tapered / (tapered - 2.0)
    return found


def _shape(power: np.ndarray, dof: np.ndarray) -> np.ndarray:
    """The spectrum that comes nearest, (octaves,): above 0. It decides between joined octaves only.

    Noise of torques, velocities and positions, by frequency as 1, f^2 and f^4; with slow noise too
    where that is likely (Whittle's likelihood). What is as slow as the motion the unknowns take
    themselves: slow noise is seen above, and continued to below.
    """
    level, dof = power[:-1] / np.maximum(dof[:-1], 1.0), dof[:-1]
    found, least = _nearest(level, dof, MEASURED), np.inf
    for slope in (None, *SLOW):
        shape = found if slope is None else _nearest(level, dof, (slope, *MEASURED))
        cost = TAPERED * float((dof * (np.log(shape) + level / shape)).sum())
        cost += 0.0 if slope is None else LIKELY
        if cost < least:
            found, least = shape, cost
    return np.append(found, found[-1])  # above, the filter has left nothing


def _nearest(level: np.ndarray, dof: np.ndarray, slopes: Sequence[float]) -> np.ndarray:
    """The sum of powers of frequency nearest to levels, next to its own size."""
    basis = (EDGES[:-1] / EDGES[-2])[:, None] ** np.array(slopes)
    least = 1e-6 * float(level.max()) + 1e-300
    shape = np.full(len(basis), float(level.max()) + least)
    for _ in range(ROUNDS):
        columns = basis * (np.sqrt(dof) / shape)[:, None]
        size = np.linalg.norm(columns, axis=0) + 1e-300
        shape = basis / size @ nnls(columns / size, level * np.sqrt(dof) / shape)[0] + least
    return shape


def _joined(dof: np.ndarray, k: int) -> tuple[int, int]:
    """First and last + 1 of octave k and those above it, then below, until there are enough."""
    first, last = k, k + 1
    while last < len(dof) and dof[first:last].sum() < ENOUGH:
        last += 1
    while first > 0 and dof[first:last].sum() < ENOUGH:
        first -= 1
    return first, last


def bands(motions: Iterable[Iterable[WeightedRows]]) -> tuple[list[Bands], np.ndarray]:
    """The octaves of every motion, and the longest correlation time per joint, (n,).

    Motions with too few rows for levels of their own are one.
    """
    found: list[Bands] = []
    short: Bands | None = None
    times = []
    for motion in motions:
        grams: np.ndarray | float = 0.0
        parts, passed = [], 0.5
        for block in motion:
            grams = grams + _grams(block.columns)
            parts.append((block.residual, block.weight > 0.0))
            passed = block.passed
        residual, counted = (np.concatenate(part) for part in zip(*parts, strict=True))
        own = Bands(np.asarray(grams), *_power(residual, counted, passed))
        if own.rows.sum(axis=0).min() >= OWN:
            found.append(own)
        else:
            short = own if short is None else short.plus(own)
        times.append(np.ones(residual.shape[1]))
        if len(residual) > SHORTEST:
            left = np.where(counted, residual, 0.0)
            times += [correlation_time(left), correlation_time(left, counted)]
    return found if short is None else [*found, short], np.max(times, axis=0)


def _octaves(rows: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Size of the transform of so many rows; octave and share of every frequency of it."""
    size = 2 ** int(np.ceil(np.log2(2 * rows)))
    share = np.full(size // 2 + 1, 2.0 / size)  # both signs of the frequency
    share[0] = share[-1] = 1.0 / size
    f = np.maximum(np.fft.rfftfreq(size), 1.0 / max(rows, 2))  # nothing slower is told apart
    return size, np.searchsorted(EDGES, f), share


def _grams(columns: np.ndarray) -> np.ndarray:
    """Sums of columns^* columns over the frequencies of every octave, (octaves, n, m, m)."""
    size, octave, share = _octaves(len(columns))
    found = np.zeros((len(EDGES), *columns.shape[1:], columns.shape[-1]))
    for j in range(columns.shape[1]):
        values = np.fft.rfft(columns[:, j], size, axis=0) * np.sqrt(share)[:, None]
        for k in range(len(EDGES)):
            part = values[octave == k]
            found[k, j] = part.real.T @ part.real + part.imag.T @ part.imag
    return found


def _power(
    residual: np.ndarray, counted: np.ndarray, passed: float
) -> tuple[np.ndarray, np.ndarray]:
    """Squared residuals (2, octaves, n) and degrees of freedom (octaves, n) in every octave.

    Only of frequencies up to `passed`. A taper keeps the large residuals of high frequencies out of
    the octaves of the motion.
    """
    size, octave, share = _octaves(len(residual))
    inside = octave == np.arange(len(EDGES))[:, None]
    inside &= np.fft.rfftfreq(size) <= passed
    bell = np.sin(np.pi * (np.arange(len(residual)) + 0.5) / len(residual))[:, None]
    rows, found = counted.sum(axis=0), []
    for taper in (bell * counted, bell * np.ones_like(residual)):
        scale = np.sqrt(rows / np.maximum((taper * taper).sum(axis=0), 1e-300))
        squares = np.abs(np.fft.rfft(residual * taper * scale, size, axis=0)) ** 2
        found.append(inside @ (share[:, None] * squares))
    return np.array(found), (inside @ share)[:, None] * rows


def fitted_bands(
    motions: Sequence[Samples], unknowns: Unknowns, x: np.ndarray, gain: NoiseGain
) -> tuple[list[Bands], np.ndarray]:
    """The octaves of the rows that were fitted, and correlation times, at unknowns x."""

    def blocks(samples: Samples, instrument: Samples | None) -> Iterator[WeightedRows]:
        own = None if instrument is None else instrument.blocks(unknowns)
        for Y, tau, weight, _ in samples.blocks(unknowns):
            residual = tau - Y @ x
            ones = np.ones_like(weight)
            w = ones if gain.weigh is None else gain.weigh(residual, ones)
            columns = (Y if own is None else next(own)[0]) * (w * weight)[..., None]
            yield WeightedRows(columns, residual * w, weight, samples.passed)

    others = [None] * len(motions) if gain.instruments is None else gain.instruments
    return bands(blocks(*pair) for pair in zip(motions, others, strict=True))


# noise of the motion, which biases the unknowns


def noise_bias(problem: "FitProblem", gain: NoiseGain) -> np.ndarray:
    """What instruments would change of the unknowns, (m,): noise of the motion biases them so.

    The comparison of Durbin, Wu and Hausman: without noise in the regressor both estimates agree.
    """
    if gain.instruments is not None:
        return np.zeros(len(gain.x))
    smooth = [smoother(samples, problem.unknowns) for samples in problem.motions]
    free = np.ones(len(gain.x), bool) if problem.known is None else np.isnan(problem.known)
    total = np.tensordot(gain.weights**2, moments(problem, smooth, gain).mixed, 1)[free]
    W = shown_directions(problem.info.stacked(gain.weights)[:, :-1][:, free])
    bias = np.zeros(len(gain.x))
    left = total[:, -1] - total[:, :-1] @ gain.x
    bias[free] = W @ inverse_of(W.T @ total[:, :-1][:, free] @ W)[0] @ W.T @ left
    return bias


def smoother(samples: Samples, unknowns: Unknowns) -> Samples:
    """A motion without what is faster than a few times its own band.

    Where that of a closed mechanism does not close, the measured one stays.
    """
    rate = (len(samples) - 1) / float(samples.t[-1] - samples.t[0])
    own = samples.q[:, samples.columns]
    cutoff = SMOOTH * band(Log(t=samples.t, q=own, tau=samples.tau))
    q = lowpass(own, cutoff, rate)
    clean = unknowns.motion(q, *rates(q, rate))
    good = np.isfinite(clean.qdd)
    pairs = zip(clean, (samples.q, samples.qd, samples.qdd), strict=True)
    q, qd, qdd = (np.where(good, a, b) for a, b in pairs)
    return replace(samples, q=q, qd=qd, qdd=qdd)


# how many rows count as one: residuals of neighbouring rows are alike


def correlation_time(r: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """1 + 2 sum of the autocorrelation of residuals (rows, n) until it turns negative, (n,).

    Rows that do not count (rows, n), near rest say, are no part of it.
    """
    if counted is None:
        r = r - r.mean(axis=0)
    else:
        r = np.where(counted, r, 0.0)
        r = np.where(counted, r - r.sum(axis=0) / np.maximum(counted.sum(axis=0), 1), 0.0)
    size = 2 ** int(np.ceil(np.log2(2 * len(r))))
    spectrum = np.abs(np.fft.rfft(r, size, axis=0)) ** 2
    cov = np.fft.irfft(spectrum, axis=0)[: max(2, int(LONGEST * len(r)))]
    rho = cov / np.maximum(cov[0], 1e-300)
    times = []
    for column in rho.T:
        negative = np.flatnonzero(column < 0.0)
        end = int(negative[0]) if len(negative) else len(column)
        times.append(1.0 + 2.0 * column[1:end].sum())
    return np.array(times)


def autocorrelation(residual: np.ndarray) -> np.ndarray:
    """sum r_i r_(i+k) / sum r_i^2 for k = 0, 1, ..; r (N,) less its mean."""
    r = residual - residual.mean()
    lags = min(LAGS, len(r) // 4)
    size = float(r @ r) or 1.0
    return np.array([r[: len(r) - k] @ r[k:] / size for k in range(lags + 1)])
