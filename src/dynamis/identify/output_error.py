"""Output error: parameters with which the simulated closed loop reproduces a log.

    min |F (q - q_sim(x)) / sigma_q|^2 + |F (tau - tau_sim(x)) / sigma_tau|^2

Gauss-Newton with halved steps; the Jacobian comes from one ensemble of simulated arms, each with
one unknown changed. F is the zero-phase filter of the estimate; friction that sticks is simulated,
so nothing needs to be left out where joints turn round.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import checked, number, whole
from ..logs.log import Log
from .estimate import Estimate, validation
from .feasible import feasible, links_of, physical
from .information import LOST, Information, condition, correlation_time, scaled
from .instrumental import ClosedLoop
from .processing import Processing, lowpass
from .unknowns import Unknowns

SHARE = 0.1  # of a standard deviation: the least change of an unknown in the Jacobian
LEAST = 1e-6  # the same for unknowns that are zero without any spread
ROWS = 12.0  # per period of the cut-off that are compared
HALVINGS = 5
LAGS = 2.0  # correlation times over which rows have something in common
MEMORY = 2e8  # bytes of simulated states at a time
STATE = 4  # times q and tau: what a simulated arm keeps
ENOUGH = 1e-4  # of the misfit: less is no progress
FLOOR = 1e-9  # of a signal's size: no sensor is better


@checked
def output_error(
    estimate: Estimate,
    log: Log,
    controller: Any,
    reference: Any,
    *,
    iterations: int = 5,
    sample_time: float | None = None,
    dt: float | None = None,
    step: float = 1e-3,
    sensors: Any = None,
) -> Estimate:
    """Refine an estimate until the simulated closed loop reproduces a log.

    `log` begins where `controller` began to follow `reference` (its first stamp is the reference's
    t = 0). `sensors` are those of the loop as far as they shape it: Sensors(velocity="difference",
    velocity_filter=...), without counts and noise. `step` is the relative change of an unknown in
    the Jacobian. A physical estimate stays physical.
    """
    whole(iterations, "iterations")
    number(step, "step", "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
    loop = ClosedLoop(controller, reference, sample_time, dt, sensors)
    fit = _Fit(estimate.unknowns, log, loop, estimate.processing[0])
    kept = _kept(estimate)
    full = np.array(estimate.full)
    sizes = step * np.abs(estimate.values) + SHARE * estimate.standard_deviations
    sizes = np.where(sizes > 0.0, sizes, LEAST)
    r, J = fit.linearised(full, sizes)
    for _ in range(iterations):
        w = fit.weights(r)
        wanted = kept(full, *_normal(r, J, w))
        tried = full + np.multiply.outer(0.5 ** np.arange(HALVINGS), wanted - full)
        costs = [float(((w * x) ** 2).sum()) for x in fit.residuals(tried)]
        best = int(np.nanargmin([*costs, np.inf])) if np.isfinite(costs).any() else HALVINGS
        before = float(((w * r) ** 2).sum())
        if best == HALVINGS or costs[best] > (1.0 - ENOUGH) * before:
            break
        full = tried[best]
        r, J = fit.linearised(full, sizes)
    return _refined(estimate, full, *_covariance(r, J, fit.weights(r)))


@dataclass(frozen=True, eq=False)
class _Fit:
    """A log beside simulated arms: residuals (rows, 2 n) of q and tau, filtered and thinned."""

    unknowns: Unknowns
    log: Log
    loop: ClosedLoop
    how: Processing

    @property
    def cutoff(self) -> float:
        return float(self.how.cutoff or 0.1 * self.log.rate)

    @property
    def every(self) -> int:
        return max(1, int(self.log.rate / (ROWS * self.cutoff)))

    def residuals(self, full: np.ndarray) -> np.ndarray:
        """Measured minus simulated for full parameters (..., p): (..., rows, 2 n)."""
        measured = np.concatenate([self.log.q, self.log.tau], axis=-1)
        members = full.reshape(-1, full.shape[-1])
        few = max(1, int(MEMORY / (STATE * measured.nbytes)))
        parts = []
        for first in range(0, len(members), few):
            found = self.loop.run(self.unknowns, members[first : first + few], self.log)
            left = measured - np.concatenate([found.q, found.tau], axis=-1)
            parts += [lowpass(r, self.cutoff, self.log.rate, self.how.order) for r in left]
        rows = np.stack([r[:: self.every] for r in parts])
        return rows.reshape(*full.shape[:-1], *rows.shape[1:])

    def linearised(self, full: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residual (rows, 2 n), and its slope J (m, rows, 2 n) over the unknowns: one ensemble."""
        lift = np.linalg.pinv(self.unknowns.group)  # the least change of full that does it
        members = np.vstack([full, full + (lift * sizes).T])
        r = self.residuals(members)
        if not np.isfinite(r[0]).all():
            self.loop.run(self.unknowns, full, self.log)  # says what is wrong
        J = (r[1:] - r[0]) / sizes[:, None, None]
        return r[0], np.where(np.isfinite(J).all(axis=(1, 2), keepdims=True), J, 0.0)

    def weights(self, r: np.ndarray) -> np.ndarray:
        """One over the residuals' size, (2 n,)."""
        size = np.abs(np.concatenate([self.log.q, self.log.tau], axis=1)).max(axis=0)
        return 1.0 / np.maximum(np.sqrt((r * r).mean(axis=0)), FLOOR * size + 1e-300)


def _normal(r: np.ndarray, J: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """R (m, m), the change that R sends to the residual's shadow, and what is left of it."""
    both = np.vstack([-(J * w).reshape(len(J), -1), (r * w).ravel()])
    F: Any = np.linalg.qr(both.T, mode="r")
    R, b = F[:-1, :-1], F[:-1, -1]
    unit, size = scaled(R)
    change = np.linalg.lstsq(unit, b, rcond=LOST)[0] / size
    return R, change, float(np.linalg.norm(F[:, -1] - F[:, :-1] @ change))


def _kept(estimate: Estimate) -> Callable[..., np.ndarray]:
    """How a Gauss-Newton step becomes full parameters: among physical ones if it began there."""
    unknowns = estimate.unknowns
    lift = np.linalg.pinv(unknowns.group)
    if not estimate.is_physical:
        return lambda full, R, change, left: full + lift @ change

    def projected(full: np.ndarray, R: np.ndarray, change: np.ndarray, left: float) -> np.ndarray:
        free = full + lift @ change
        if _is_physical(unknowns, free):
            return free
        size = len(change)
        factor = np.zeros((1, size + 1, size + 1))
        factor[0, :size, :size], factor[0, :size, -1] = R, R @ (unknowns.group @ full + change)
        factor[0, -1, -1] = left
        info = Information(factor, np.array([max(1, round(left * left))]), "qr")
        return _signed(unknowns, feasible(info, np.ones(1), unknowns, reference=full).full)

    return projected


def _signed(unknowns: Unknowns, full: np.ndarray) -> np.ndarray:
    """Without the little by which a solver oversteps: no negative friction, no negative rotor."""
    result = full.copy()
    for k, name in enumerate(unknowns.full_names):
        if name.endswith(("rotor_inertia", "viscous", "coulomb+")):
            result[k] = max(result[k], 0.0)
        elif name.endswith("coulomb-"):
            result[k] = min(result[k], 0.0)
    return result


def _is_physical(unknowns: Unknowns, full: np.ndarray) -> bool:
    links = links_of(full, len(unknowns.robot.model.links))
    signed = unknowns.of_kind("viscous", "coulomb", "rotor")
    return bool(physical(links).all() and ((unknowns.group @ full)[signed] >= 0.0).all())


def _covariance(r: np.ndarray, J: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Covariance P B P and the condition number, P = (sum J^T w^2 J)^-1.

    B adds up what neighbouring rows and q and tau of one row say in common (Newey, West 1987).
    """
    R, _, _ = _normal(r, J, w)
    unit, size = scaled(R)
    P = np.linalg.pinv(unit.T @ unit, rcond=LOST) / np.outer(size, size)
    scores = np.einsum("mrc,rc->rm", J, w * w * r)
    rows = len(scores)
    lags = min(int(np.ceil(LAGS * correlation_time(r).max())), rows // 10)
    B = scores.T @ scores
    for k in range(1, lags + 1):
        near = scores[k:].T @ scores[:-k]
        B += (1.0 - k / (lags + 1.0)) * (near + near.T)
    return P @ B @ P * rows / max(1.0, rows - len(J)), condition(R)


def _refined(estimate: Estimate, full: np.ndarray, covariance: np.ndarray, cond: float) -> Estimate:
    x = estimate.unknowns.group @ full
    training = tuple(
        validation(estimate.unknowns, x, log, how)
        for log, how in zip(estimate.logs, estimate.processing, strict=True)
    )
    return replace(
        estimate,
        values=x,
        covariance=covariance,
        full=full,
        condition_number=cond,
        estimator="output-error",
        training=training,
        held_out=None,
    )
