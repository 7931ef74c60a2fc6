"""A way to identify: friction, processing, estimator, method; carried out on any logs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_word
from .choose import choose_friction
from .estimators import Found, Task, estimator_named
from .frictions import SLOW, friction_named
from .information import information
from .loads import with_loads
from .log import Log
from .processing import Processing, prepare
from .samples import Samples
from .spread import correlation_times
from .two_step import SlowPart, slow_estimate, total_covariance
from .unknowns import Unknowns, unknowns

if TYPE_CHECKING:
    from ..robot import Robot


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
