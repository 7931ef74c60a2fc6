"""`dy.identify`: processing, friction model, estimator and method, carried out on logs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, is_word, number
from ..errors import OptionError
from ..logs.log import Log
from ..model.check.finding import Finding
from .diagnose import (
    column_order,
    diagnose,
    far_from_buildable,
    not_exciting,
    refuse,
    saturation,
    torque_size,
)
from .estimate import Estimate, handed_over, validation
from .estimators import Found, Task, estimator_named
from .frictions import CHOSEN_AMONG, FRICTIONS, SLOW, SPEEDS, FrictionModel, friction_named
from .information import (
    Information,
    completed,
    correlation_times,
    information,
    triangle,
    weighted,
)
from .loads import with_loads
from .processing import Processing, checked_logs, prepare
from .samples import Samples
from .two_step import SlowPart, slow_estimate, total_covariance
from .unknowns import Unknowns, unknowns
from .validation import Validation

if TYPE_CHECKING:
    from ..robot import Robot

METHODS = ("direct", "two-step")
LAST_THIRD = 2.0 / 3.0
HEAVIEST = 1e12  # rows of data that a prior may weigh: more drown the data in rounding


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
        covariance = found.solution.covariance * found.solution.average(correlated)
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
            x = completed(found.solution.x, known)
            found = replace(found, solution=replace(found.solution, x=x))
        return wanted, known, found


@checked
def identify(
    robot: "Robot",
    log: Any,
    *,
    friction: Any = "smooth",
    estimator: str = "feasible",
    method: str = "direct",
    slow: Any = None,
    rotors: bool | None = None,
    processing: Processing | None = None,
    cutoff: float | None = None,
    dead_zone: float | None = None,
    prior: float | None = None,
    held_out: bool = True,
    force: bool = False,
    threads: int | None = None,
) -> Estimate:
    """Identify the parameters of a robot from a Log (or several).

    `friction`: "none", "viscous", "symmetric", "asymmetric", "stribeck", "smooth", "grotjahn",
    "loaded", "loaded-grotjahn", or "auto", which chooses by cross-validation on blocks of time.
    `estimator`: "ordinary", "weighted", "robust", "total", "instrumental", or "feasible" (only
    physically consistent arms; `prior` weighs, in rows of data, the distance to the described
    robot). `method` "two-step" takes friction and gravity from `slow` logs first, then the rest.
    `rotors`: whether rotor inertias are unknown (default: where the model has drives). `held_out`
    also fits the first two thirds of the time and reports the last. `processing`, `cutoff` (Hz)
    and `dead_zone` (rad/s) override what is chosen from the data. A log that cannot become a model
    is refused with its diagnosis, unless `force`.
    """
    logs = checked_logs(log, robot)
    if not is_word(method, METHODS):
        raise OptionError(f"method is {method!r}, expected 'direct' or 'two-step'")
    if prior is not None:
        most = f"rows of data, from 0 to {HEAVIEST:g}"
        number(prior, "prior", most, lambda x: 0.0 <= x <= HEAVIEST)
    if slow is not None and method != "two-step":
        raise OptionError("slow logs were given", 'they are for method="two-step"')
    how = processing or Processing()
    how = replace(how, cutoff=how.cutoff if cutoff is None else cutoff)
    how = replace(how, dead_zone=how.dead_zone if dead_zone is None else dead_zone)
    steady = checked_logs(slow, robot, "slow") if slow is not None else None
    two_step = method == "two-step"
    plan = Plan(robot, friction, rotors, how, estimator, prior, two_step, steady, threads)
    findings = diagnose(robot, logs)
    fit = plan.fit(logs)
    wanted, x, full = fit.unknowns, fit.x, fit.found.full
    findings = [*findings, *saturation(robot, logs), *_findings(fit, robot, estimator)]
    if not force:
        refuse(findings, fit.found.solution.condition, fit.found.info.misfit(x))
    pairs = zip(logs, fit.processing, strict=True)
    estimate = Estimate(
        unknowns=wanted,
        values=x,
        covariance=fit.covariance,
        full=wanted.full(x) if full is None else full,
        condition_number=fit.found.solution.condition,
        estimator=estimator,
        method=method,
        processing=tuple(fit.processing),
        training=tuple(validation(wanted, x, one, chosen) for one, chosen in pairs),
        correlation=fit.correlation,
        scores=tuple(fit.scores),
        findings=tuple(findings),
        logs=tuple(logs),
        asked=how,
    )
    estimate = replace(estimate, findings=(*handed_over(estimate), *findings))
    return replace(estimate, held_out=last_third(plan, logs)) if held_out else estimate


def _findings(fit: Fit, robot: "Robot", estimator: str) -> list[Finding]:
    info, solution = fit.found.info, fit.found.solution
    found = not_exciting(fit.unknowns, info, solution, fit.known)
    if estimator == "feasible":
        found += far_from_buildable(info, weighted(info).x, solution.x)
    found += torque_size(robot, fit.motions)
    return found + column_order(fit.unknowns, fit.motions, robot.joint_names)


def last_third(plan: Plan, logs: Sequence[Log]) -> Validation:
    """Fit on the first two thirds of the time, compare on the contiguous last third.

    Of several logs the last is held out.
    """
    if len(logs) > 1:
        fit = plan.fit(logs[:-1])
        return validation(fit.unknowns, fit.x, logs[-1], plan.how)
    early, late = logs[0].split(LAST_THIRD)
    fit = plan.fit([early])
    same = replace(plan.how, cutoff=fit.processing[0].cutoff)
    return validation(fit.unknowns, fit.x, logs[0], same).between(late.t[0], late.t[-1])


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
    wanted = unknowns(robot, model, rotors)
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
    return Information(np.stack([triangle(block) for block in stacked]), rows, "qr")
