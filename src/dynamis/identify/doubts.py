"""What a fit says about its data: units, signs, order, saturation, motions that show little."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DynamisError
from ..model.finding import Finding
from .diagnose import POOR, LogError
from .information import Information, condition
from .log import Log
from .samples import Samples
from .unknowns import Unknowns

if TYPE_CHECKING:
    from ..robot import Robot

SATURATED = 0.06  # share of rows at the extreme torque; a sine has 0.02 there
PILE = 1e-3  # of the torque's range: how near the extreme
SLOW = 0.05  # of a joint's top speed: rows at rest may well have one torque
OUT_OF_SCALE = 8.0  # times the torque of the robot as described
FINE = 0.05  # relative error below which the order of the columns is not doubted
FEW = 600  # rows looked at for that
HOPELESS = 0.6  # of the torque unexplained
SINGULAR = 1e9  # condition number


def refuse(findings: Sequence[Finding], condition_number: float, misfit: float) -> None:
    """Raise where numbers would only look like a model."""
    worst = [f for f in findings if f.level == "error"]
    if worst:
        lines = "\n".join(f"  {f.where}: {f.what}" for f in worst)
        hint = f"{worst[0].remedy}; force=True goes on"
        raise LogError(f"this log would not give a model of this arm:\n{lines}", hint, findings)
    if misfit > HOPELESS:
        message = f"no model of this robot explains the torques: {100 * misfit:.0f} % is left over"
        raise LogError(
            message, "check the robot, units, order and signs; force=True goes on", findings
        )
    if condition_number > SINGULAR:
        message = f"this motion cannot tell the unknowns apart (condition {condition_number:.1e})"
        hint = "move every joint, longer and differently: dy.excite; force=True goes on"
        raise LogError(message, hint, findings)


def not_exciting(
    unknowns: Unknowns, info: Information, solution: Any, known: np.ndarray | None = None
) -> list[Finding]:
    """What the motion leaves open, by name; what was known beforehand is not asked for."""
    R = info.stacked(np.ones(len(info.rows)))[:, :-1]
    lengths = np.linalg.norm(R, axis=0)
    asked = np.ones(len(lengths), dtype=bool) if known is None else np.isnan(known)
    small = asked & (lengths < 1e-9 * lengths.max())
    silent = [unknowns.names[k] for k in np.flatnonzero(small)]
    found = []
    if silent:
        what = f"{len(silent)} unknowns leave no trace: {', '.join(silent[:4])}"
        found.append(Finding("warning", "motion", what, "move the joints they belong to"))
    value = condition(R)
    if value > POOR:
        what = f"the condition number is {value:.3g}: unknowns cannot be told apart"
        found.append(Finding("warning", "motion", what, "design a motion with dy.excite"))
    misfit = np.sqrt(info.residuals(solution.x).sum() / max(info.torques.sum(), 1e-300))
    if misfit > 0.5:
        what = f"the model explains only {100 * (1 - misfit):.0f} % of the torque"
        remedy = "check the robot, the order of the columns and the signs"
        found.append(Finding("warning", "model", what, remedy))
    return found


def far_from_buildable(info: Information, free: np.ndarray, bound: np.ndarray) -> list[Finding]:
    """Whether arms that could be built explain the data much worse than any numbers would."""
    a, b = (float(np.sqrt(info.residuals(x).sum() / info.torques.sum())) for x in (free, bound))
    if b < 1.5 * a or b < FINE:
        return []
    what = (
        f"arms that could be built miss {100 * b:.1f} % of the torque, free numbers {100 * a:.1f} %"
    )
    remedy = "check signs, units and the robot; a strong prior does this too"
    return [Finding("warning", "model", what, remedy)]


def saturation(robot: "Robot", logs: Sequence[Log]) -> list[Finding]:
    """Torques that pile up at their extreme while the joint moves."""
    found = []
    for log in logs:
        speed = np.abs(np.gradient(log.q, log.t, axis=0))
        moving = speed > SLOW * speed.max(axis=0)
        for j, name in enumerate(robot.joint_names):
            tau = log.tau[moving[:, j], j]
            if len(np.unique(tau)) < 20:
                continue
            for extreme in (tau.max(), tau.min()):
                share = float((np.abs(tau - extreme) < PILE * np.ptp(tau)).mean())
                if share > SATURATED:
                    where, percent = f"{log.name or 'log'}, {name}", f"{100 * share:.0f} %"
                    what = f"{percent} of its moving rows have the torque {extreme:.4g}: saturated"
                    remedy = "cut those rows off, or move slower"
                    found.append(Finding("error", where, what, remedy))
    return found


def torque_size(robot: "Robot", motions: Sequence[Samples]) -> list[Finding]:
    """Torques that are far from what the robot as described needs, or of the opposite sign."""
    samples = max(motions, key=len)
    rows = np.linspace(0, len(samples) - 1, min(len(samples), FEW)).astype(int)
    try:
        needed = robot.inverse_dynamics(samples.q[rows], samples.qd[rows], samples.qdd[rows])
    except DynamisError:
        return []  # a symbol without a value: nothing to compare with
    tau = samples.tau[rows]
    a, b = np.linalg.norm(needed), np.linalg.norm(tau)
    if a < 1e-6 or b == 0.0:
        return []
    match = float((needed * tau).sum() / (a * b))
    if match < -0.5:
        what = "the torques have the opposite sign of what the robot as described needs"
        return [Finding("error", "torques", what, "change their sign")]
    if not 1.0 / OUT_OF_SCALE < b / a < OUT_OF_SCALE:
        what = f"the torques are {b / a:.3g} times what the robot as described needs"
        return [Finding("error", "torques", what, "check their unit, or the robot's masses")]
    return []


def column_order(
    unknowns: Unknowns, motions: Sequence[Samples], joints: Sequence[str]
) -> list[Finding]:
    """Whether columns changed places, or a torque its sign: another order fits far better."""
    samples = max(motions, key=len)
    rows = np.linspace(0, len(samples) - 1, min(len(samples), FEW)).astype(int)
    q, qd, qdd, tau = (x[rows] for x in (samples.q, samples.qd, samples.qdd, samples.tau))
    Y = unknowns.regressor(q, qd, qdd)
    now = _misfit(Y, tau)
    if now < FINE:
        return []
    n, tried = len(joints), []
    for i, j in combinations(range(n), 2):
        swapped = np.arange(n)
        swapped[[i, j]] = j, i
        pair = f"{joints[i]} and {joints[j]}"
        tried.append((_misfit(Y, tau[:, swapped]), f"the torques of {pair} swapped"))
        other = unknowns.regressor(q[:, swapped], qd[:, swapped], qdd[:, swapped])
        tried.append((_misfit(other, tau), f"the positions of {pair} swapped"))
    for i in range(n):
        flipped = tau * np.where(np.arange(n) == i, -1.0, 1.0)
        tried.append((_misfit(Y, flipped), f"the sign of the torque of {joints[i]} changed"))
    best, said = min(tried)
    if best > 0.5 * now:
        return []
    what = f"with {said} the error falls from {100 * now:.0f} to {100 * best:.0f} %"
    return [Finding("error", "columns", what, "check their order and signs")]


def _misfit(Y: np.ndarray, tau: np.ndarray) -> float:
    """Relative error of the best fit, every joint weighted alike."""
    sizes = np.maximum(np.sqrt((tau * tau).mean(axis=0)), 1e-12)
    Q = np.linalg.qr((Y / sizes[:, None]).reshape(-1, Y.shape[-1]))[0]
    b = (tau / sizes).ravel()
    return float(np.linalg.norm(b - Q @ (Q.T @ b)) / max(np.linalg.norm(b), 1e-300))
