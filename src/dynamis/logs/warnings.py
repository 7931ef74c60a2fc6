"""What the numbers of a log give away: units, dead sensors, velocities of other joints."""

import numpy as np

from ..model.check.finding import Finding
from .log import Log

FAR = 4 * np.pi  # rad from zero; joints rarely turn that far, degrees do
STRETCH = 0.25  # s over which q and the integral of qd are compared: noise is small next to it
MOVED = 1e-3  # rad or m; a joint that moves less in that time says nothing about qd
RATIO = 1.5  # by how much the two may differ
ALIKE = 0.7  # least correlation between them


def noticed(log: Log, where: str, units: set[str]) -> list[Finding]:
    """Findings about q, qd and tau; a quantity whose unit was given is not questioned."""
    found = [] if {"q", "motor_q"} & units else _angles(log, where)
    found += _dead(log, where)
    if log.qd is not None:
        found += _velocities(log, log.qd, where)
    return found


def like_degrees(q: np.ndarray) -> dict[int, float]:
    """How far from zero the joints turn that turn further than radians do, by their place."""
    largest = np.abs(q).max(axis=0)
    return {int(j): float(largest[j]) for j in np.flatnonzero(largest > FAR)}


def _angles(log: Log, where: str) -> list[Finding]:
    found = like_degrees(log.q)
    if not found:
        return []
    j = min(found)
    what = f"q{j + 1} reaches {found[j]:.4g} rad: are these degrees?"
    return [Finding("warning", where, what, "units={'q': 'deg'}, or 'rad' to confirm")]


def _dead(log: Log, where: str) -> list[Finding]:
    still = np.flatnonzero(np.ptp(log.tau, axis=0) == 0)
    if not len(still):
        return []
    names = ", ".join(f"tau{i + 1}" for i in still)
    remedy = "a dead sensor says nothing about its joint: leave it out with joints="
    return [Finding("warning", where, f"{names} never changes", remedy)]


def _velocities(log: Log, qd: np.ndarray, where: str) -> list[Finding]:
    """Joints whose qd is not the rate of q, by size or by shape."""
    step = log.step
    m = max(1, round(STRETCH / step))
    if len(log) < 4 * m:
        return []
    steps = np.diff(log.t)
    way = np.cumsum((qd[1:] + qd[:-1]) / 2 * steps[:, None], axis=0)
    whole = log.t[m + 1 :] - log.t[1:-m] < 2 * m * step  # no gap inside
    moved, said = (log.q[m + 1 :] - log.q[1:-m])[whole], (way[m:] - way[:-m])[whole]
    found = []
    for i in range(log.n):
        size, other = np.sqrt(np.mean(moved[:, i] ** 2)), np.sqrt(np.mean(said[:, i] ** 2))
        if len(moved) < 4 or size < MOVED:
            continue
        ratio = other / size
        alike = np.mean(moved[:, i] * said[:, i]) / (size * other) if other else 0.0
        if 1 / RATIO < ratio < RATIO and alike > ALIKE:
            continue
        what = (
            f"qd{i + 1} is not the rate of q{i + 1}: {ratio:.3g} times its size, correlation "
            f"{alike:.2f}"
        )
        remedy = "check units and the order of the joints, or leave it: columns=dict(qd=None)"
        found.append(Finding("warning", where, what, remedy))
    return found
