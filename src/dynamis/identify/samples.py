"""Evenly spaced samples of a motion, ready to be compared with the model.

Both sides of tau = Y(q, qd, qdd) x pass the same zero-phase filter before every k-th row is kept:
a filter is linear, so the equation stays true, and what is thrown away is noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.signal import sosfiltfilt

from .unknowns import Unknowns

BLOCK = 2048  # rows of a regressor in memory at a time


@dataclass(frozen=True, eq=False)
class Samples:
    """t (N,), q, qd, qdd, tau (N, n) at one rate; `weight` (N, n) is 0 where a row does not count.

    `parallel` is the filter (second-order sections) for both sides, `every` the rows kept after it.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    weight: np.ndarray
    parallel: np.ndarray | None = None
    settle: int = 0  # rows after which the filter has forgotten
    every: int = 1

    @property
    def n(self) -> int:
        """Joints."""
        return self.q.shape[1]

    def __len__(self) -> int:
        return len(self.t)

    def rows(self, first: int, last: int) -> "Samples":
        """Some of them, in order."""
        cut = slice(first, last)
        names = ("t", "q", "qd", "qdd", "tau", "weight")
        return replace(self, **{name: getattr(self, name)[cut] for name in names})

    def blocks(
        self, unknowns: Unknowns, threads: int | None = None, filtered: bool = True
    ) -> "Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]":
        """(Y (b, n, m), tau (b, n), weight (b, n), index (b,)), block by block."""
        every = self.every if filtered else 1
        margin = self.settle if filtered and self.parallel is not None else 0
        step = max(BLOCK * every // max(1, every // 4), 4 * margin)
        step -= step % every
        for first in range(0, len(self), step):
            last = min(first + step, len(self))
            low, high = max(0, first - margin), min(len(self), last + margin)
            cut = slice(low, high)
            Y = unknowns.regressor(self.q[cut], self.qd[cut], self.qdd[cut], threads)
            tau = self.tau[cut]
            if margin and len(tau) > 30:
                Y, tau = (_filtered(self.parallel, a) for a in (Y, tau))
            keep = np.arange(first, last, every)
            yield Y[keep - low], tau[keep - low], self.weight[keep], keep


def _filtered(sos: Any, values: np.ndarray) -> np.ndarray:
    return sosfiltfilt(sos, values, axis=0, padlen=min(len(values) - 1, 15))
