"""The table of estimators, from information to unknowns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import one_of
from .closed_loop import instrumental
from .feasible import feasible, friction_alone
from .information import (
    Information,
    NoiseGain,
    Solution,
    Weigh,
    completed,
    information,
    ordinary,
    torque_noise,
    total,
    weighted,
)
from .processing import Samples
from .unknowns import LARGEST_LOAD, RIGID, Unknowns

HUBER = 1.345
ROUNDS = 5
SETTLED = 1e-4  # of the largest load: it changes no more


@dataclass(frozen=True, eq=False)
class FitProblem:
    """What an estimator solves: motions, unknowns, what is known of them, and a prior."""

    motions: Sequence[Samples]
    unknowns: Unknowns
    info: Information
    prior: float | Mapping[str, float] | None = None
    reference: np.ndarray | None = None
    known: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """Unknowns with their covariance, full parameters where the estimator makes them itself."""

    solution: Solution
    info: Information
    full: np.ndarray | None = None


def _robust(problem: FitProblem) -> Found:
    """Weighted, with rows far out counting less (Huber), until nothing changes."""
    info, found = problem.info, weighted(problem.info)
    for _ in range(ROUNDS):
        deviation = _robust_deviation(problem, found.x)

        def weigh(residual: np.ndarray, weight: np.ndarray, size: Any = deviation) -> np.ndarray:
            far = np.abs(residual) / size
            return weight * np.sqrt(np.minimum(1.0, HUBER / np.maximum(far, 1e-12)))

        info = information(problem.motions, problem.unknowns, weigh, found.x, problem.known)
        last, found = found, weighted(info)
        found = replace(found, gain=_robust_gain(problem, found, weigh))
        change = np.linalg.norm(found.x - last.x) / max(np.linalg.norm(last.x), 1e-300)
        if change < 1e-4:
            break
    return Found(found, info)


def _robust_gain(problem: FitProblem, found: Solution, weigh: Weigh) -> NoiseGain:
    """That of an M-estimator: rows far out do not move with the unknowns.

    The weights' mean over the share of rows that count in full corrects the inverse (Huber 1981).
    """
    full = completed(found.x, problem.known)
    squares = whole = 0.0
    for samples in problem.motions:
        for Y, tau, weight, _ in samples.blocks(problem.unknowns):
            w = weigh(tau - Y @ full, weight)
            squares += float((w * w).sum())
            whole += float((w * w)[w >= weight].sum())
    return replace(
        found.gain, inverse=found.gain.inverse * squares / max(whole, 1e-300), weigh=weigh
    )


def _robust_deviation(problem: FitProblem, x: np.ndarray) -> np.ndarray:
    """Robust standard deviation of every joint's residual."""
    full = completed(x, problem.known)
    parts = [
        np.where(weight > 0.0, tau - Y @ full, np.nan)
        for samples in problem.motions
        for Y, tau, weight, _ in samples.blocks(problem.unknowns)
    ]
    return np.maximum(1.4826 * np.nanmedian(np.abs(np.concatenate(parts)), axis=0), 1e-12)


def _feasible(problem: FitProblem, free: Found | None = None) -> Found:
    """Weighted least squares among physically consistent arms; `free` is that among all."""
    free = Found(weighted(problem.info), problem.info) if free is None else free
    start, info = free.solution, free.info
    rigid = problem.unknowns.of_kind(*RIGID)
    if problem.known is not None and not np.isnan(problem.known[rigid]).any():
        x, full = friction_alone(info, start.weights, problem.unknowns), None
    else:
        given = problem.unknowns, problem.prior, problem.reference, problem.known
        x, full = feasible(info, start.weights, *given)
    return Found(replace(start, x=x, sigma=torque_noise(info, x)), info, full)


def _robust_feasible(problem: FitProblem) -> Found:
    """Physically consistent arms, with rows far out counting less."""
    return _feasible(problem, _robust(problem))


ESTIMATORS: Mapping[str, Callable[[FitProblem], Found]] = {
    "ordinary": lambda problem: Found(ordinary(problem.info), problem.info),
    "weighted": lambda problem: Found(weighted(problem.info), problem.info),
    "robust": _robust,
    "total": lambda problem: Found(total(problem.info), problem.info),
    "instrumental": lambda problem: Found(instrumental(problem), problem.info),
    "feasible": _feasible,
    "robust-feasible": _robust_feasible,
}


def estimator_named(name: Any) -> Callable[[FitProblem], Found]:
    """A row of the table; unknown names are answered with those that exist."""
    one_of(name, ESTIMATORS, f"estimator {name!r} does not exist")
    return ESTIMATORS[name]


def with_bounds(
    wanted: Unknowns, known: np.ndarray | None, motions: Sequence[Samples]
) -> tuple[Unknowns, np.ndarray | None]:
    """Unknowns and what of them is fixed: loads as `with_loads`, weights of memory not below zero.

    Of elements with memory those that least squares give a negative weight have none.
    """
    wanted, known = with_loads(wanted, motions, known)
    memory = wanted.of_kind("memory")
    fixed = np.full(len(wanted), np.nan) if known is None else known.copy()
    for _ in range(len(memory)):
        x = completed(weighted(information(motions, wanted, known=fixed)).x, fixed)
        below = memory[x[memory] < 0.0]
        if not len(below):
            break
        fixed[below] = 0.0
    return wanted, None if np.isnan(fixed).all() else fixed


def with_loads(
    wanted: Unknowns, motions: Sequence[Samples], known: np.ndarray | None = None
) -> tuple[Unknowns, np.ndarray | None]:
    """Unknowns with load-dependent friction, whose column holds the rigid torque, itself unknown.

    Fitted without loads first, then with the rigid torque of the last fit; a gear that seems to
    help, or to eat more than a third, has none: such loads are fixed at zero.
    """
    loads = wanted.of_kind("load")
    if not len(loads):
        return wanted, known
    fixed = np.full(len(wanted), np.nan) if known is None else known.copy()
    fixed[loads] = 0.0

    def fit() -> np.ndarray:
        return completed(weighted(information(motions, wanted, known=fixed)).x, fixed)

    x = fit()
    fixed[loads] = np.nan if known is None else known[loads]
    for _ in range(ROUNDS):
        wanted, before = replace(wanted, rigid=x), x[loads]
        x = fit()
        absurd = absurd_loads(wanted, x)
        fixed[absurd] = 0.0
        x[absurd] = 0.0
        if np.abs(x[loads] - before).max() < SETTLED * LARGEST_LOAD and not len(absurd):
            break
    return replace(wanted, rigid=x), None if np.isnan(fixed).all() else fixed


def absurd_loads(unknowns: Unknowns, x: np.ndarray) -> np.ndarray:
    """Indices of friction under load that no gear has: it helps, or eats more than a third."""
    loads = unknowns.of_kind("load")
    return loads[(x[loads] < 0.0) | (x[loads] > LARGEST_LOAD)]
