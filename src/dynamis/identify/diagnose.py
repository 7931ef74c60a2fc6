"""What is wrong with a log before it becomes a model: a diagnosis instead of a wrong number."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DynamisError
from ..model.finding import Finding
from .log import Log
from .noticed import like_degrees
from .processing import lowpass

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
    kinds = [link.joint for link in robot.model.links if link.mimic is None]
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
