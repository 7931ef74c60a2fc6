"""`dy.identify`: from logs of an arm to a model of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, is_word, number
from ..errors import OptionError, ShapeError
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
from .information import weighted
from .plan import Fit, Plan
from .processing import Processing
from .validation import Validation

if TYPE_CHECKING:
    from ..robot import Robot

METHODS = ("direct", "two-step")
LAST_THIRD = 2.0 / 3.0
HEAVIEST = 1e12  # rows of data that a prior may weigh: more drown the data in rounding


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
    arms that could be built; `prior` weighs, in rows of data, the distance to the described
    robot). `method` "two-step" takes friction and gravity from `slow` logs first, then the rest.
    `rotors`: whether rotor inertias are unknown (default: where the model has drives). `held_out`
    also fits the first two thirds of the time and reports the last. `processing`, `cutoff` (Hz)
    and `dead_zone` (rad/s) override what is chosen from the data. A log that cannot become a model
    is refused with its diagnosis, unless `force`.
    """
    logs = _logs(log, robot)
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
    steady = _logs(slow, robot, "slow") if slow is not None else None
    two_step = method == "two-step"
    plan = Plan(robot, friction, rotors, how, estimator, prior, two_step, steady, threads)
    findings = diagnose(robot, logs)
    fit = plan.fit(logs)
    wanted, x, full = fit.unknowns, fit.x, fit.found.full
    findings = [*findings, *saturation(robot, logs), *_doubts(fit, robot, estimator)]
    if not force:
        info = fit.found.info
        left = float(np.sqrt(info.residuals(x).sum() / max(float(info.torques.sum()), 1e-300)))
        refuse(findings, fit.found.solution.condition, left)
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


def _doubts(fit: Fit, robot: "Robot", estimator: str) -> list[Finding]:
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


def _logs(log: Any, robot: "Robot", name: str = "log") -> list[Log]:
    found = [log] if isinstance(log, Log) else list(log) if isinstance(log, (list, tuple)) else None
    if not found or not all(isinstance(x, Log) for x in found):
        raise OptionError(
            f"{name} is {type(log).__name__}, expected a Log or several", "use dy.read_log(...)"
        )
    for one in found:
        if one.n != robot.n:
            raise ShapeError(
                f"{name} {one.name!r} has {one.n} joints, robot {robot.name!r} has {robot.n}: "
                f"{', '.join(robot.joint_names)}"
            )
    return found
