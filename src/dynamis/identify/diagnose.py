"""Diagnosis of logs and fits: findings, and refusal of data that give no model."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DynamisError
from ..logs.checks import like_degrees
from ..logs.log import Log
from ..model.check.finding import Finding
from .information import Information, condition
from .processing import Samples, lowpass
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
        for check in (_length, _stillness, _torques, _units, _columns, _lag):
            found += check(robot, log, log.name or "log")
    _raise_errors(found, "this is no log to identify from")
    return found


def _raise_errors(findings: Sequence[Finding], message: str, more: str = "") -> None:
    worst = [f for f in findings if f.level == "error"]
    if worst:
        lines = "\n".join(f"  {f.where}: {f.what}" for f in worst)
        raise LogError(f"{message}:\n{lines}", worst[0].remedy + more, findings)


def _lag(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    """Logged velocities that come late, as those of a filter do."""
    late = velocity_lag(log)
    if late >= LATE:
        what = f"the logged velocities come {1e3 * late:.1f} ms after the positions"
        remedy = "try processing=dy.Processing(velocity='difference') and compare held-out errors"
        yield Finding("note", where, what, remedy)


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


def _length(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    if len(log) < SHORT:
        what = f"{len(log)} rows in {log.duration:.3g} s, expected at least {SHORT}"
        yield Finding("error", where, what, "record a longer motion")


def _stillness(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    still = [n for n, s in zip(robot.joint_names, np.ptp(log.q, axis=0), strict=True) if s < STILL]
    if len(still) == log.n:
        yield Finding("error", where, "no joint moves", "record a motion that excites the arm")
    elif still:
        what = f"joints {', '.join(still)} do not move"
        yield Finding("warning", where, what, "parameters felt only through them stay unknown")


def _torques(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    for name, tau in zip(robot.joint_names, log.tau.T, strict=True):
        if np.ptp(tau) == 0.0:
            level = "warning" if tau[0] == 0.0 else "error"
            what = f"the torque is always {tau[0]:g}"
            yield Finding(level, f"{where}, {name}", what, "check the column")


def _units(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    remedy = "give read_log units={'q': 'deg'} or the gear ratios; offset= takes off whole turns"
    for j, largest in like_degrees(log.q).items():
        if robot.joint_kinds[j] == "revolute":
            what = f"reaches {largest:.4g} rad: degrees, or motor angles?"
            yield Finding("error", f"{where}, {robot.joint_names[j]}", what, remedy)


def _columns(robot: "Robot", log: Log, where: str) -> Iterator[Finding]:
    """Logged velocities that are not the derivative of the logged positions."""
    if log.qd is None or len(log) < SHORT:
        return
    rate = np.gradient(log.q, log.t, axis=0)
    for j, name in enumerate(robot.joint_names):
        if np.ptp(log.q[:, j]) < STILL or not log.qd[:, j].any():
            continue
        a, b = rate[:, j], log.qd[:, j]
        factor = float((a * b).sum() / (b * b).sum())
        match = float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))
        if match < 0.5:
            what = f"velocity and position do not belong together (correlation {match:.2f})"
            yield Finding("error", f"{where}, {name}", what, "check the order of the columns")
        elif not 0.5 < factor < 2.0:
            what = f"velocity is {1 / factor:.3g} times the derivative of position"
            yield Finding("error", f"{where}, {name}", what, "check the units of q, qd and t")


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
    message = "this log would not give a model of this arm"
    _raise_errors(findings, message, "; force=True goes on")
    if misfit > HOPELESS:
        message = f"no model of this robot explains the torques: {100 * misfit:.0f} % is left over"
        hint = "check the robot, units, order and signs; force=True goes on"
        raise LogError(message, hint, findings)
    if condition_number > SINGULAR:
        message = f"this motion cannot tell the unknowns apart (condition {condition_number:.1e})"
        hint = "move every joint, longer and differently: dy.excite; force=True goes on"
        raise LogError(message, hint, findings)


def not_exciting(
    unknowns: Unknowns, info: Information, x: np.ndarray, known: np.ndarray | None = None
) -> Iterator[Finding]:
    """What the motion leaves open, by name; what was known beforehand is not asked for."""
    R = info.stacked(np.ones(len(info.rows)))[:, :-1]
    lengths = np.linalg.norm(R, axis=0)
    asked = np.ones(len(lengths), dtype=bool) if known is None else np.isnan(known)
    small = asked & (lengths < 1e-9 * lengths.max())
    silent = [unknowns.names[k] for k in np.flatnonzero(small)]
    if silent:
        what = f"{len(silent)} unknowns leave no trace: {', '.join(silent[:4])}"
        yield Finding("warning", "motion", what, "move the joints they belong to")
    value, misfit = condition(R), info.misfit(x)
    if value > POOR:
        what = f"the condition number is {value:.3g}: unknowns cannot be told apart"
        yield Finding("warning", "motion", what, "design a motion with dy.excite")
    if misfit > 0.5:
        what = f"the model explains only {100 * (1 - misfit):.0f} % of the torque"
        remedy = "check the robot, the order of the columns and the signs"
        yield Finding("warning", "model", what, remedy)


def without_directions(count: int) -> Iterator[Finding]:
    """Directions of the unknowns that total least squares had to do without."""
    if count:
        what = f"estimator 'total' left {count} directions of the unknowns out: their errors decide"
        remedy = "use estimator='weighted' or 'feasible', or a motion that excites more: dy.excite"
        yield Finding("warning", "estimator", what, remedy)


def far_from_consistent(
    info: Information, free: np.ndarray, bound: np.ndarray
) -> Iterator[Finding]:
    """Whether physically consistent arms explain the data much worse than any numbers would."""
    a, b = info.misfit(free), info.misfit(bound)
    if b >= 1.5 * a and b >= FINE:
        what = (
            f"physically consistent arms miss {100 * b:.1f} % of the torque, "
            f"any other numbers {100 * a:.1f} %"
        )
        remedy = "check signs, units and the robot; a strong prior does this too"
        yield Finding("warning", "model", what, remedy)


def saturation(robot: "Robot", logs: Sequence[Log]) -> Iterator[Finding]:
    """Torques that pile up at their extreme while the joint moves."""
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
                    yield Finding("error", where, what, "cut those rows off, or move slower")


def _some_rows(motions: Sequence[Samples]) -> list[np.ndarray]:
    """q, qd, qdd, tau of a few rows of the longest motion."""
    samples = max(motions, key=len)
    rows = np.linspace(0, len(samples) - 1, min(len(samples), FEW)).astype(int)
    return [x[rows] for x in (samples.q, samples.qd, samples.qdd, samples.tau)]


def torque_size(robot: "Robot", motions: Sequence[Samples]) -> Iterator[Finding]:
    """Torques that are far from what the robot as described needs, or of the opposite sign."""
    q, qd, qdd, tau = _some_rows(motions)
    try:
        needed = robot.inverse_dynamics(q, qd, qdd)
    except DynamisError:
        return  # a symbol without a value: nothing to compare with
    a, b = np.linalg.norm(needed), np.linalg.norm(tau)
    if a < 1e-6 or b == 0.0:
        return
    match = float((needed * tau).sum() / (a * b))
    if match < -0.5:
        what = "the torques have the opposite sign of what the robot as described needs"
        yield Finding("error", "torques", what, "change their sign")
    elif not 1.0 / OUT_OF_SCALE < b / a < OUT_OF_SCALE:
        what = f"the torques are {b / a:.3g} times what the robot as described needs"
        yield Finding("error", "torques", what, "check their unit, or the robot's masses")


def laws_replaced(robot: "Robot", unknowns: Unknowns) -> Iterator[Finding]:
    """Friction laws of one's own that gave way to a friction model."""
    own = [x.friction.own.name for x in robot.model.links if x.friction.own is not None]
    if own and unknowns.friction.law is not None:
        what = f"friction {unknowns.friction.name!r} replaces the friction law {own[0]!r}"
        remedy = "friction='described' identifies the constants of the law itself"
        yield Finding("warning", "friction", what, remedy)


def column_order(
    unknowns: Unknowns, motions: Sequence[Samples], joints: Sequence[str]
) -> Iterator[Finding]:
    """Whether columns changed places, or a torque its sign: another order fits far better."""
    q, qd, qdd, tau = _some_rows(motions)
    Y, tau = unknowns.regressor(q, qd, qdd), tau - unknowns.rest(q, qd)
    now = _misfit(Y, tau)
    if now < FINE:
        return
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
    if best <= 0.5 * now:
        what = f"with {said} the error falls from {100 * now:.0f} to {100 * best:.0f} %"
        yield Finding("error", "columns", what, "check their order and signs")


def _misfit(Y: np.ndarray, tau: np.ndarray) -> float:
    """Relative error of the best fit, every joint weighted alike."""
    sizes = np.maximum(np.sqrt((tau * tau).mean(axis=0)), 1e-12)
    Q = np.linalg.qr((Y / sizes[:, None]).reshape(-1, Y.shape[-1]))[0]
    b = (tau / sizes).ravel()
    return float(np.linalg.norm(b - Q @ (Q.T @ b)) / max(np.linalg.norm(b), 1e-300))
