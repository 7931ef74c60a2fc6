"""Diagnosis of logs and fits: findings, and refusal of data that give no model."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DynamisError
from ..logs.checks import like_degrees
from ..logs.log import Log
from ..model.check.finding import Finding
from .information import Information, condition
from .processing import lowpass
from .samples import Samples
from .unknowns import Unknowns

if TYPE_CHECKING:
    from ..robot import Robot

STILL = 1e-4  # rad or m: a joint whose position varies less does not move
SHORT = 50  # rows
STRETCHES = 40  # of a log, on each of which the lag of its velocities is estimated
LATE = 2e-3  # s: velocities that come later are worth a word
POOR = 1e4  # condition number beyond which a motion does not excite the unknowns


class LogError(DynamisError, ValueError):
    """A log that cannot become a model; `findings` says all that is wrong with it."""

    def __init__(self, message: str, hint: str | None = None, findings: Sequence[Finding] = ()):
        self.findings = tuple(findings)
        super().__init__(message, hint)


def diagnose(robot: "Robot", logs: Sequence[Log]) -> list[Finding]:
    """Everything dubious about logs; errors are raised, together."""
    found: list[Finding] = []
    for log in logs:
        found += [f for f in log.findings if f.level != "note"]
        found += _length(log) + _stillness(robot, log) + _torques(robot, log) + _units(robot, log)
        found += _columns(robot, log) + _lag(robot, log)
    worst = [f for f in found if f.level == "error"]
    if worst:
        lines = "\n".join(f"  {f.where}: {f.what}" for f in worst)
        raise LogError(f"this is no log to identify from:\n{lines}", worst[0].remedy, found)
    return found


def _lag(robot: "Robot", log: Log) -> list[Finding]:
    """Logged velocities that come late, as those of a filter do."""
    late = velocity_lag(log)
    if late < LATE:
        return []
    what = f"the logged velocities come {1e3 * late:.1f} ms after the positions"
    remedy = "try processing=dy.Processing(velocity='difference') and compare held-out errors"
    return [Finding("note", log.name or "log", what, remedy)]


def velocity_lag(log: Log) -> float:
    """Seconds by which the logged velocities follow the derivative of the positions; 0 without.

    qd = rate - lag d(rate)/dt by least squares on each of many stretches, of those that move the
    median: a recording that ends (or a filter that begins) within a motion spoils few of them.
    """
    if log.qd is None or len(log) < SHORT:
        return 0.0
    rate = np.gradient(log.q, log.t, axis=0)
    slope = np.gradient(lowpass(rate, 0.1 * log.rate, log.rate), log.t, axis=0)
    starts = np.linspace(0, len(log), min(STRETCHES, len(log) // 10), endpoint=False).astype(int)
    off = np.add.reduceat(((rate - log.qd) * slope).sum(axis=1), starts)
    size = np.add.reduceat((slope * slope).sum(axis=1), starts)
    moving = size > 0.1 * np.quantile(size, 0.8)
    return float(np.median(off[moving] / size[moving])) if moving.any() else 0.0


def _length(log: Log) -> list[Finding]:
    if len(log) >= SHORT:
        return []
    what = f"{len(log)} rows in {log.duration:.3g} s, expected at least {SHORT}"
    return [Finding("error", log.name or "log", what, "record a longer motion")]


def _stillness(robot: "Robot", log: Log) -> list[Finding]:
    still = [n for n, s in zip(robot.joint_names, np.ptp(log.q, axis=0), strict=True) if s < STILL]
    if not still:
        return []
    if len(still) == log.n:
        what = "no joint moves"
        return [Finding("error", log.name or "log", what, "record a motion that excites the arm")]
    what = f"joints {', '.join(still)} do not move"
    remedy = "parameters felt only through them stay unknown"
    return [Finding("warning", log.name or "log", what, remedy)]


def _torques(robot: "Robot", log: Log) -> list[Finding]:
    found = []
    for name, tau in zip(robot.joint_names, log.tau.T, strict=True):
        where, span = f"{log.name or 'log'}, {name}", np.ptp(tau)
        if span == 0.0:
            level = "warning" if tau[0] == 0.0 else "error"
            what = f"the torque is always {tau[0]:g}"
            found.append(Finding(level, where, what, "check the column"))
    return found


def _units(robot: "Robot", log: Log) -> list[Finding]:
    found = []
    kinds = robot.joint_kinds
    for j, largest in like_degrees(log.q).items():
        if kinds[j] == "revolute":
            where = f"{log.name or 'log'}, {robot.joint_names[j]}"
            what = f"reaches {largest:.4g} rad: degrees, or motor angles?"
            remedy = (
                "give read_log units={'q': 'deg'} or the gear ratios; offset= takes off whole turns"
            )
            found.append(Finding("error", where, what, remedy))
    return found


def _columns(robot: "Robot", log: Log) -> list[Finding]:
    """Logged velocities that are not the derivative of the logged positions."""
    if log.qd is None or len(log) < SHORT:
        return []
    found = []
    rate = np.gradient(log.q, log.t, axis=0)
    for j, name in enumerate(robot.joint_names):
        if np.ptp(log.q[:, j]) < STILL or not log.qd[:, j].any():
            continue
        a, b = rate[:, j], log.qd[:, j]
        factor = float((a * b).sum() / (b * b).sum())
        match = float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))
        if match < 0.5:
            what = f"velocity and position do not belong together (correlation {match:.2f})"
            remedy = "check the order of the columns"
        elif not 0.5 < factor < 2.0:
            what = f"velocity is {1 / factor:.3g} times the derivative of position"
            remedy = "check the units of q, qd and t"
        else:
            continue
        found.append(Finding("error", f"{log.name or 'log'}, {name}", what, remedy))
    return found


# what a fit says about its data: units, signs, order, saturation, motions that show little

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
    misfit = info.misfit(solution.x)
    if misfit > 0.5:
        what = f"the model explains only {100 * (1 - misfit):.0f} % of the torque"
        remedy = "check the robot, the order of the columns and the signs"
        found.append(Finding("warning", "model", what, remedy))
    return found


def far_from_buildable(info: Information, free: np.ndarray, bound: np.ndarray) -> list[Finding]:
    """Whether physically consistent arms explain the data much worse than any numbers would."""
    a, b = info.misfit(free), info.misfit(bound)
    if b < 1.5 * a or b < FINE:
        return []
    what = (
        f"physically consistent arms miss {100 * b:.1f} % of the torque, "
        f"any other numbers {100 * a:.1f} %"
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


def _some_rows(motions: Sequence[Samples]) -> list[np.ndarray]:
    """q, qd, qdd, tau of a few rows of the longest motion."""
    samples = max(motions, key=len)
    rows = np.linspace(0, len(samples) - 1, min(len(samples), FEW)).astype(int)
    return [x[rows] for x in (samples.q, samples.qd, samples.qdd, samples.tau)]


def torque_size(robot: "Robot", motions: Sequence[Samples]) -> list[Finding]:
    """Torques that are far from what the robot as described needs, or of the opposite sign."""
    q, qd, qdd, tau = _some_rows(motions)
    try:
        needed = robot.inverse_dynamics(q, qd, qdd)
    except DynamisError:
        return []  # a symbol without a value: nothing to compare with
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
    q, qd, qdd, tau = _some_rows(motions)
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
