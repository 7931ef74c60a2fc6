"""A simulated run as a table of pandas or polars, with the columns of a log."""

from typing import Any

import numpy as np

from ..files import separate
from ..lazy import package


def table(run: Any, library: str) -> Any:
    """A DataFrame of "pandas" or "polars"; see `columns`."""
    return package(library, library, f"to_{library}", "dataframes").DataFrame(columns(run))


def columns(run: Any) -> dict[str, np.ndarray]:
    """t, q1.., qd1.., tau1.., friction1.., and with a reference error1..: one row per instant.

    Of an ensemble one member's rows follow the other's; `member` (or `member1`, `member2`, .. where
    it has several axes) says whose they are.
    """
    shape, size = run.q.shape[:-2], len(run.t)
    count = int(np.prod(shape))
    found: dict[str, np.ndarray] = {}
    names = ["member"] if len(shape) == 1 else [f"member{i + 1}" for i in range(len(shape))]
    for name, index in zip(names, np.indices(shape), strict=True):
        found[name] = np.repeat(index.reshape(-1), size)
    found["t"] = np.tile(run.t, count)
    parts = {"q": run.q, "qd": run.qd, "tau": run.tau, "friction": run.friction}
    if run.error is not None:
        parts["error"] = run.error
    rows = {name: values.reshape(count * size, -1) for name, values in parts.items()}
    return found | {name: column.copy() for name, column in separate(rows).items()}
