"""How many rows count as one: residuals of neighbouring rows are alike."""

from collections.abc import Sequence

import numpy as np

from .samples import Samples
from .unknowns import Unknowns

LONGEST = 0.1  # of a motion: correlations over more rows than that are not estimated


def residuals(
    motions: Sequence[Samples], unknowns: Unknowns, x: np.ndarray, threads: int | None = None
) -> list[np.ndarray]:
    """Residuals of the rows that were fitted, one array (rows, n) per motion."""
    return [
        np.concatenate([tau - Y @ x for Y, tau, *_ in samples.blocks(unknowns, threads)])
        for samples in motions
    ]


def correlation_times(
    motions: Sequence[Samples], unknowns: Unknowns, x: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """1 + 2 sum of the residuals' autocorrelation until it first turns negative, (n,)."""
    found = [correlation_time(r) for r in residuals(motions, unknowns, x, threads) if len(r) > 20]
    return np.max(found, axis=0) if found else np.ones(unknowns.robot.n)


def correlation_time(r: np.ndarray) -> np.ndarray:
    """The same of one array of residuals (rows, n)."""
    r = r - r.mean(axis=0)
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


def lag_one(r: np.ndarray) -> np.ndarray:
    """Correlation of a row's residual with the next one's, (n,): 0 is white."""
    r = r - r.mean(axis=0)
    return (r[1:] * r[:-1]).sum(axis=0) / np.maximum((r * r).sum(axis=0), 1e-300)
