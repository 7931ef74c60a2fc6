"""The table of estimators, from information to unknowns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import is_word
from ..errors import OptionError, did_you_mean
from .feasible import feasible
from .information import (
    Information,
    Solution,
    completed,
    information,
    ordinary,
    torque_noise,
    total,
    weighted,
)
from .instrumental import instrumental
from .samples import Samples
from .unknowns import Unknowns

HUBER = 1.345
ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Task:
    """What an estimator may look at."""

    motions: Sequence[Samples]
    unknowns: Unknowns
    info: Information
    prior: float | None = None
    reference: np.ndarray | None = None
    known: np.ndarray | None = None
    threads: int | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """Unknowns with their spread, full parameters where the estimator makes them itself."""

    solution: Solution
    info: Information
    full: np.ndarray | None = None
    status: str = ""


def _ordinary(task: Task) -> Found:
    return Found(ordinary(task.info), task.info)


def _weighted(task: Task) -> Found:
    return Found(weighted(task.info), task.info)


def _total(task: Task) -> Found:
    return Found(total(task.info), task.info)


def _robust(task: Task) -> Found:
    """Weighted, with rows far out counting less (Huber), until nothing changes."""
    info, found = task.info, weighted(task.info)
    for _ in range(ROUNDS):
        spread = _robust_deviation(task, found.x)

        def weigh(residual: np.ndarray, weight: np.ndarray, spread: Any = spread) -> np.ndarray:
            size = np.abs(residual) / spread
            return weight * np.sqrt(np.minimum(1.0, HUBER / np.maximum(size, 1e-12)))

        info = information(
            task.motions, task.unknowns, weigh, found.x, task.known, threads=task.threads
        )
        new = weighted(info)
        change = np.linalg.norm(new.x - found.x) / max(np.linalg.norm(found.x), 1e-300)
        found = new
        if change < 1e-4:
            break
    return Found(found, info)


def _robust_deviation(task: Task, x: np.ndarray) -> np.ndarray:
    """Robust standard deviation of every joint's residual."""
    parts = []
    full = completed(x, task.known)
    for samples in task.motions:
        for Y, tau, weight, _ in samples.blocks(task.unknowns, task.threads):
            parts.append(np.where(weight > 0.0, tau - Y @ full, np.nan))
    spread = 1.4826 * np.nanmedian(np.abs(np.concatenate(parts)), axis=0)
    return np.maximum(spread, 1e-12)


def _feasible(task: Task) -> Found:
    """Weighted least squares among physically consistent arms."""
    start = weighted(task.info)
    found = feasible(
        task.info, start.weights, task.unknowns, task.prior, task.reference, task.known
    )
    solution = replace(start, x=found.x, sigma=torque_noise(task.info, found.x))
    return Found(solution, task.info, found.full, found.status)


ESTIMATORS: Mapping[str, Callable[[Task], Found]] = {
    "ordinary": _ordinary,
    "weighted": _weighted,
    "robust": _robust,
    "total": _total,
    "instrumental": instrumental,
    "feasible": _feasible,
}


def estimator_named(name: Any) -> Callable[[Task], Found]:
    """A row of the table; unknown names are answered with those that exist."""
    if not is_word(name, ESTIMATORS):
        raise OptionError(f"estimator {name!r} does not exist", did_you_mean(name, ESTIMATORS))
    return ESTIMATORS[name]
