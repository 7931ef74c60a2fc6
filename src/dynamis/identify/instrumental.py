"""Instrumental variables: estimates that noise in the regressor does not bias.

    x = (sum_j w_j^2 Z_j^T Y_j)^-1 sum_j w_j^2 Z_j^T tau_j

Z is the regressor along a motion without the noise of the measured one: the same closed loop
simulated with the last estimate (A. Janot, P.-O. Vandanjon, M. Gautier, A generic instrumental
variable approach for industrial robot identification, 2014), or the measured motion much smoother.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DynamisError, OptionError
from ..logs.log import Log
from .information import (
    LOST,
    Solution,
    completed,
    condition,
    joint_weights,
    scaled,
    torque_noise,
    weighted,
)
from .processing import Processing, band, lowpass, prepare
from .samples import Samples
from .unknowns import OWN, Unknowns

if TYPE_CHECKING:
    from ..control.sensors import Sensors
    from .estimators import Found, Task

ROUNDS = 5
SMOOTH = 4.0  # of the motion's band: the cut-off of an instrument made of the motion itself
SETTLED = 1e-3  # of their standard deviations: unknowns that change less have converged
SLACK = 0.01  # of a step: stamps this even are even
Motion = Callable[[np.ndarray], Sequence[Samples]]  # from unknowns to instruments


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over the rows of every joint: Z^T [Y tau] (n, m, m + 1), Z^T Z (n, m, m)."""

    mixed: np.ndarray
    own: np.ndarray


def instrumental(task: "Task", motion: Motion | None = None) -> "Found":
    """The estimate with instruments along `motion`, without one along a smoother measured motion.

    `motion` gives, for unknowns, the samples of a motion on the same grid as the task's.
    """
    from .estimators import Found

    start = weighted(task.info)
    free = np.ones(len(start.x), bool) if task.known is None else np.isnan(task.known)
    rounds, make = ROUNDS, motion
    if make is None:
        smooth = [smoother(samples) for samples in task.motions]
        rounds, make = 1, lambda x: smooth
    found = start
    for _ in range(rounds):
        x = completed(found.x, task.known)
        sums = moments(task.motions, make(x), task.unknowns, task.known, task.threads)
        new = _solved(task, sums, found, free)
        spread = np.sqrt(np.maximum(np.diag(new.covariance), 1e-300))
        change = np.abs((new.x - found.x) / spread)[free].max(initial=0.0)
        found = new
        if change < SETTLED:
            break
    return Found(found, task.info)


def smoother(samples: Samples) -> Samples:
    """A motion without what is faster than a few times its own band."""
    rate = (len(samples) - 1) / float(samples.t[-1] - samples.t[0])
    cutoff = SMOOTH * band(Log(t=samples.t, q=samples.q, tau=samples.tau))
    q = lowpass(samples.q, cutoff, rate)
    qd = np.gradient(q, 1.0 / rate, axis=0, edge_order=2)
    qdd = np.gradient(qd, 1.0 / rate, axis=0, edge_order=2)
    return replace(samples, q=q, qd=qd, qdd=qdd)


def simulated(
    unknowns: Unknowns, logs: Sequence[Log], processing: Sequence[Processing], loop: "ClosedLoop"
) -> Motion:
    """Instruments along the simulated loop, made into samples exactly as the logs were."""

    def motion(x: np.ndarray) -> list[Samples]:
        found: list[Samples] = []
        for log, how in zip(logs, processing, strict=True):
            _, q, qd, tau = loop.run(unknowns, unknowns.full(x), log)
            same = Log(t=log.t, q=q, tau=tau, qd=None if log.qd is None else qd)
            found += prepare(same, how)[0]
        return found

    return motion


def moments(
    motions: Sequence[Samples],
    instruments: Sequence[Samples],
    unknowns: Unknowns,
    known: np.ndarray | None = None,
    threads: int | None = None,
) -> Moments:
    """Add up regressor and torque against the instruments, rows weighted as the motion's."""
    n, m = unknowns.robot.n, len(unknowns)
    mixed, own = np.zeros((n, m, m + 1)), np.zeros((n, m, m))
    fixed = np.zeros(m, bool) if known is None else ~np.isnan(known)
    for samples, clean in zip(motions, instruments, strict=True):
        pairs = zip(samples.blocks(unknowns, threads), clean.blocks(unknowns, threads), strict=True)
        for (Y, torque, weight, _), (own_Y, *_) in pairs:
            tau = torque if known is None else torque - Y[..., fixed] @ known[fixed]
            Z = own_Y * weight[..., None]
            Y[..., fixed], Z[..., fixed] = 0.0, 0.0
            joined = np.concatenate([Y, tau[..., None]], axis=-1) * weight[..., None]
            for j in range(n):
                left = np.ascontiguousarray(Z[:, j]).T
                mixed[j] += left @ joined[:, j]
                own[j] += left @ left.T
    return Moments(mixed, own)


def _solved(task: "Task", sums: Moments, last: Solution, free: np.ndarray) -> Solution:
    w2 = last.weights**2
    total = np.tensordot(w2, sums.mixed, 1)[free]
    A, b = total[:, :-1][:, free], total[:, -1]
    rows, row_size = scaled(A.T)
    unit, size = scaled(rows.T)
    U, s, Vt = np.linalg.svd(unit)
    inverse = np.where(s > LOST * s[0], 1.0 / np.maximum(s, 1e-300), 0.0)
    P = (Vt.T * inverse) @ U.T / np.outer(size, row_size)  # the inverse of A
    x = np.zeros(len(free))
    x[free] = P @ b
    sigma = torque_noise(task.info, x)
    # each joint's noise passes through x = A^-1 sum w^2 Z^T tau
    noise = np.tensordot((w2 * sigma) ** 2, sums.own, 1)[np.ix_(free, free)]
    covariance = np.zeros((len(x), len(x)))
    covariance[np.ix_(free, free)] = P @ noise @ P.T
    weights = joint_weights(sigma)
    shown = condition(task.info.stacked(weights)[:, :-1])
    return Solution(x, covariance, sigma, weights, shown)


class LoopError(DynamisError):
    """The simulated loop did not last as long as the log."""


class Simulated(NamedTuple):
    """t (N,), and q, qd, tau (..., N, n) at the stamps of a log."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


@dataclass(frozen=True)
class ClosedLoop:
    """A controller and its reference, as they ran when a log was recorded.

    The log begins where the loop was closed: its first stamp is t = 0 of the reference. A
    controller without a model of its own computes with the robot as it was described.
    `sensors` matter where they shape the loop (a velocity filter, say); noise has no place here.
    `sample_time` None: the controller's own, else the log's step. `dt` None: the step nearest to
    a millisecond that divides it.
    """

    controller: Any
    reference: Any
    sample_time: float | None = None
    dt: float | None = None
    sensors: "Sensors | None" = None

    def __post_init__(self) -> None:
        if self.controller is None:
            raise OptionError(
                "controller is None, expected the controller that drove the arm",
                "torque alone, played back, lets any arm drift away: use identify for such a log",
            )
        if self.reference is None:
            raise OptionError(
                "reference is None, expected what the controller was asked to follow",
                "a trajectory, a place, or a function of t",
            )

    def run(self, unknowns: Unknowns, full: np.ndarray, log: Log) -> Simulated:
        """The motion with full parameters (..., p) at the log's stamps; NaN where it fails."""
        from ..simulation import simulate
        from ..simulation.signals import reference_signal

        if len(unknowns.of_kind(*OWN)):
            raise OptionError(
                f"friction {unknowns.friction.name!r} is not simulated with its root or load open",
                "identify with friction='smooth' or 'asymmetric'",
            )
        robot, step = unknowns.robot, _even(log)
        sample_time = self.sample_time or getattr(self.controller, "sample_time", None) or step
        dt = self.dt or sample_time / max(1, round(sample_time / 1e-3))
        ratio = round(step / dt)
        if ratio < 1 or abs(ratio * dt - step) > SLACK * dt:
            raise OptionError(
                f"dt is {dt:g} s, which does not divide the log's step of {step:g} s",
                f"{step / max(1, ratio):g} s does",
            )
        members = np.atleast_2d(full)
        begin = reference_signal(self.reference, robot.n, log.q[0], robot.name)(np.zeros(1))[0]
        found = simulate(
            robot,
            (len(log) - 1) * ratio * dt,
            dt,
            q0=log.q[0],
            qd0=begin[robot.n : 2 * robot.n],
            controller=self.controller,
            reference=self.reference,
            sensors=self.sensors,
            sample_time=sample_time,
            parameters=members,
            save_every=ratio,
            progress=False,
        )
        lead = np.shape(full)[:-1]
        parts = [x.reshape(*lead, *x.shape[1:]) for x in (found.q, found.qd, found.tau)]
        if lead == () and not np.isfinite(parts[0]).all():
            raise LoopError(
                f"the simulated loop of robot {robot.name!r} runs away: {found.message}",
                "check the controller, its sample time and its sensors, or start from a feasible "
                "estimate",
            )
        return Simulated(log.t, *parts)


def _even(log: Log) -> float:
    steps = np.diff(log.t)
    if np.abs(steps - log.step).max() > SLACK * log.step:
        raise OptionError(
            f"log {log.name!r} has uneven stamps, expected an even grid", "use log.uniform()"
        )
    return (log.t[-1] - log.t[0]) / (len(log) - 1)
