"""Load-dependent friction: its column holds the rigid torque, which is itself unknown."""

from collections.abc import Sequence

import numpy as np

from .information import completed, information, weighted
from .samples import Samples
from .unknowns import SPURIOUS, Unknowns

ROUNDS = 5


def with_loads(
    wanted: Unknowns,
    motions: Sequence[Samples],
    known: np.ndarray | None = None,
    threads: int | None = None,
) -> tuple[Unknowns, np.ndarray | None]:
    """The unknowns with the rigid torque that fits, and loads fixed at zero where they are absurd.

    Fitted without loads first, then with the rigid torque of the last fit; a gear that seems to
    help, or to eat more than a third, has none.
    """
    loads = wanted.of_kind("load")
    fixed = np.full(len(wanted), np.nan) if known is None else known.copy()
    fixed[loads] = 0.0

    def fit() -> np.ndarray:
        info = information(motions, wanted, known=fixed, threads=threads)
        return completed(weighted(info).x, fixed)

    x = fit()
    fixed[loads] = np.nan if known is None else known[loads]
    for _ in range(ROUNDS):
        wanted = wanted.loaded(x)
        x = fit()
        absurd = loads[(x[loads] < 0.0) | (x[loads] > SPURIOUS)]
        fixed[absurd] = 0.0
        x[absurd] = 0.0
    return wanted.loaded(x), None if np.isnan(fixed).all() else fixed
