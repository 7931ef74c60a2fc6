"""A way to identify: friction, processing, estimator, method; carried out on any logs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_word
from ..logs.log import Log
from .estimators import Found, Task, estimator_named
from .frictions import CHOSEN_AMONG, FRICTIONS, SLOW, SPEEDS, FrictionModel, friction_named
from .information import Information, correlation_times, information, weighted
from .loads import with_loads
from .processing import Processing, prepare
from .samples import Samples
from .two_step import SlowPart, slow_estimate, total_covariance
from .unknowns import Unknowns, unknowns

if TYPE_CHECKING:
    from ..robot import Robot

# which friction model an arm needs: the one that predicts blocks of time it has not seen best

BLOCKS = 6
BETTER = 0.05  # a model with more constants must be this much better


def choose_friction(
    robot: "Robot",
    logs: Sequence[Log],
    rotors: bool | None,
    how: Processing,
    threads: int | None = None,
) -> tuple[FrictionModel, list[tuple[str, float]]]:
    """The best model and every model's cross-validated relative error, best first."""
    zone = SLOW * min(SPEEDS) if how.dead_zone is None else how.dead_zone  # the same for all
    same = replace(how, dead_zone=zone)
    motions = [samples for log in logs for samples in prepare(log, same)[0]]
    scores: list[tuple[float, FrictionModel]] = []
    for name in CHOSEN_AMONG:
        tried = [
            (_score(robot, m, motions, rotors, threads), m) for m in FRICTIONS[name].variants()
        ]
        scores.append(min(tried, key=lambda pair: pair[0]))
    best = scores[0]
    for candidate in scores[1:]:
        if candidate[0] < (1.0 - BETTER) * best[0]:
            best = candidate
    ranked = sorted(scores, key=lambda pair: pair[0])
    return best[1], [(str(model), score) for score, model in ranked]


def _folds(motions: Sequence[Samples]) -> list[list[Samples]]:
    """Contiguous blocks; each is left out once."""
    rows = sum(len(m) for m in motions)
    share = rows / BLOCKS
    folds: list[list[Samples]] = []
    for samples in motions:
        count = max(1, round(len(samples) / share))
        edges = np.linspace(0, len(samples), count + 1).astype(int)
        folds += [[samples.rows(a, b)] for a, b in pairwise(edges)]
    return folds


def _score(
    robot: "Robot",
    model: FrictionModel,
    motions: Sequence[Samples],
    rotors: bool | None,
    threads: int | None,
) -> float:
    """Relative error on blocks left out in turn, of the rows that move, filtered."""
    wanted: Unknowns = unknowns(robot, model, rotors)
    if "load" in wanted.kinds:
        wanted, _ = with_loads(wanted, motions, None, threads)
    parts = [information(fold, wanted, method="gram", threads=threads) for fold in _folds(motions)]
    wrong = right = 0.0
    for left_out in range(len(parts)):
        rest = [p for k, p in enumerate(parts) if k != left_out] or parts
        x = weighted(joined(rest)).x
        wrong += float(parts[left_out].residuals(x).sum())
        right += float(parts[left_out].torques.sum())
    return float(np.sqrt(wrong / max(right, 1e-300)))


def joined(parts: Sequence[Information]) -> Information:
    """Several motions as one."""
    stacked = np.concatenate([p.factors for p in parts], axis=1)
    rows = np.sum([p.rows for p in parts], axis=0)
    size = stacked.shape[-1]
    factors = np.stack([np.linalg.qr(block, mode="r")[:size] for block in stacked])
    return Information(factors, rows, "qr")


@dataclass(frozen=True, eq=False)
class Fit:
    """What came of a plan on some logs."""

    unknowns: Unknowns
    found: Found
    motions: list[Samples]
    processing: list[Processing]
    scores: list[tuple[str, float]]
    known: np.ndarray | None
    covariance: np.ndarray
    correlation: np.ndarray

    @property
    def x(self) -> np.ndarray:
        """The unknowns."""
        return self.found.solution.x


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything but the logs."""

    robot: "Robot"
    friction: Any
    rotors: bool | None
    how: Processing
    estimator: str
    prior: float | None
    two_step: bool
    slow: Sequence[Log] | None
    threads: int | None

    def fit(self, logs: Sequence[Log]) -> Fit:
        """Carry it out: an automatic friction is chosen from these logs alone."""
        scores: list[tuple[str, float]] = []
        if is_word(self.friction, ("auto",)):
            model, scores = choose_friction(self.robot, logs, self.rotors, self.how, self.threads)
        else:
            model = friction_named(self.friction)
        how = self.how
        if how.dead_zone is None:
            how = replace(how, dead_zone=SLOW * model.speed if model.columns else 0.0)
        motions, chosen = [], []
        for log in logs:
            pieces, resolved = prepare(log, how)
            motions += pieces
            chosen.append(resolved)
        wanted = unknowns(self.robot, model, self.rotors)
        slow = None
        if self.two_step:
            slow = slow_estimate(wanted, self.slow, how, self.threads)
        wanted, known, found = self._found(wanted, motions, slow)
        correlated = correlation_times(motions, wanted, found.solution.x, self.threads)
        covariance = found.solution.covariance * _inflated(found, correlated)
        if slow is not None:
            whole = information(motions, wanted, threads=self.threads)
            weights = found.solution.weights
            covariance = total_covariance(covariance, whole, weights, slow)
        blind = found.solution.blind
        if blind is not None:
            hidden = blind if known is None else blind & np.isnan(known)
            covariance = covariance.copy()
            covariance[hidden, hidden] = np.inf
        return Fit(wanted, found, motions, chosen, scores, known, covariance, correlated)

    def _found(
        self, wanted: Unknowns, motions: Sequence[Samples], slow: SlowPart | None
    ) -> tuple[Unknowns, np.ndarray | None, Found]:
        """Run the estimator; loads need the rigid torque, so they are fitted until they agree."""
        estimate = estimator_named(self.estimator)
        known = None if slow is None else slow.known
        if "load" in wanted.kinds:
            wanted, known = with_loads(wanted, motions, known, self.threads)
        info = information(motions, wanted, known=known, threads=self.threads)
        own = np.asarray(wanted.robot.parameters.values, dtype=float)
        found = estimate(Task(motions, wanted, info, self.prior, own, known, self.threads))
        if known is not None:
            x = np.where(np.isnan(known), found.solution.x, known)
            found = replace(found, solution=replace(found.solution, x=x))
        return wanted, known, found


def _inflated(found: Found, correlated: np.ndarray) -> float:
    """How much less a row tells because its neighbours tell the same."""
    share = (found.solution.weights * found.solution.sigma) ** 2
    return float((share * correlated).sum() / max(float(share.sum()), 1e-300))
