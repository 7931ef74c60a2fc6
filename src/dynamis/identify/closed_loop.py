"""Estimates that compare a log with a motion without its noise: instruments, output error.

Instrumental variables, which noise in the regressor does not bias:

    x = (sum_j w_j^2 Z_j^T Y_j)^-1 sum_j w_j^2 Z_j^T tau_j

Z is the regressor along the same closed loop simulated with the last estimate (A. Janot, P.-O.
Vandanjon, M. Gautier, A generic instrumental variable approach for industrial robot identification,
2014), or along the measured motion, much smoother.

Output error, parameters with which the simulated closed loop reproduces a log:

    min |F (q - q_sim(x)) / sigma_q|^2 + |F (tau - tau_sim(x)) / sigma_tau|^2

Gauss-Newton with halved steps; the Jacobian comes from one ensemble of simulated arms, each with
one unknown changed. F is the zero-phase filter of the estimate; friction that sticks is simulated,
so nothing needs to be left out where joints turn round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, number, whole
from ..base.groupings import lstsq, scaled
from ..errors import DynamisError, OptionError
from ..logs.log import Log
from .deviations import correlation_time, smoother
from .estimate import Estimate, validation
from .feasible import feasible, links_of, physical
from .friction.dense_rows import rows_to_fit
from .information import (
    NEGLIGIBLE,
    Information,
    NoiseGain,
    Solution,
    completed,
    condition,
    has_share,
    inverse_of,
    joint_weights,
    moments,
    shown_directions,
    torque_noise,
    weighted,
)
from .motion import is_even, lowpass
from .processing import Processing, Samples
from .unknowns import BESIDE_ROBOT, Unknowns

if TYPE_CHECKING:
    from ..control.sensors import Sensors
    from .estimators import FitProblem

ROUNDS = 5
SETTLED = 1e-3  # of their standard deviations: unknowns that change less have converged
SLACK = 0.01  # of a step: a time step that divides the log's
Motion = Callable[[np.ndarray], Sequence[Samples]]  # from unknowns to instruments


def instrumental(problem: "FitProblem", motion: Motion | None = None) -> Solution:
    """The estimate with instruments along `motion`, without one along a smoother measured motion.

    `motion` gives, for unknowns, the samples of a motion on the same grid as the problem's.
    """
    found = weighted(problem.info)
    free = np.ones(len(found.x), bool) if problem.known is None else np.isnan(problem.known)
    smooth = [] if motion else [smoother(samples, problem.unknowns) for samples in problem.motions]
    for _ in range(ROUNDS if motion else 1):
        clean = motion(completed(found.x, problem.known)) if motion else smooth
        last, found = found, _solved(problem, clean, found, free)
        deviations = np.sqrt(np.maximum(np.diag(found.covariance), 1e-300))
        if np.abs((found.x - last.x) / deviations)[free].max(initial=0.0) < SETTLED:
            break
    return found


def simulated(
    unknowns: Unknowns, logs: Sequence[Log], processing: Sequence[Processing], loop: "ClosedLoop"
) -> Motion:
    """Instruments along the simulated loop, made into samples exactly as the logs were."""

    def motion(x: np.ndarray) -> list[Samples]:
        found: list[Samples] = []
        for log, how in zip(logs, processing, strict=True):
            q, qd, tau = loop.run(unknowns, unknowns.full(x), log)
            same = Log(t=log.t, q=q, tau=tau, qd=None if log.qd is None else qd)
            found += rows_to_fit(same, how, unknowns.friction, unknowns.robot)[0]
        return found

    return motion


def _solved(
    problem: "FitProblem", instruments: Sequence[Samples], last: Solution, free: np.ndarray
) -> Solution:
    w2, sums = last.weights**2, moments(problem, instruments)
    total = np.tensordot(w2, sums.mixed, 1)[free]
    A, b = total[:, :-1][:, free], total[:, -1]
    W = shown_directions(problem.info.stacked(last.weights)[:, :-1][:, free])
    within, weak = inverse_of(W.T @ A @ W)
    P = W @ within @ W.T
    x = np.zeros(len(free))
    x[free] = P @ b
    sigma = torque_noise(problem.info, x)
    # each joint's noise passes through x = A^-1 sum w^2 Z^T tau
    noise = np.tensordot((w2 * sigma) ** 2, sums.own, 1)[np.ix_(free, free)]
    covariance, inverse = np.zeros((2, len(x), len(x)))
    covariance[np.ix_(free, free)] = P @ noise @ P.T
    inverse[np.ix_(free, free)] = P
    weights = joint_weights(sigma)
    shown = condition(problem.info.stacked(weights)[:, :-1])
    gain = NoiseGain(x, inverse, last.weights, instruments)
    blind = None if last.blind is None else last.blind.copy()
    if blind is not None and weak.shape[1]:
        lengths = np.linalg.norm(problem.info.stacked(last.weights)[:, :-1][:, free], axis=0)
        hidden = lengths[:, None] * (W @ weak)
        blind[free] |= has_share(hidden.T / np.linalg.norm(hidden, axis=0)[:, None])
    return Solution(x, covariance, sigma, weights, shown, gain, blind)


class LoopError(DynamisError):
    """The simulated loop did not last as long as the log."""


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
            hint = "torque alone, played back, lets any arm drift away: use identify for such a log"
            raise OptionError(
                "controller is None, expected the controller that drove the arm", hint
            )
        if self.reference is None:
            what = "reference is None, expected what the controller was asked to follow"
            raise OptionError(what, "a trajectory, a place, or a function of t")

    def run(self, unknowns: Unknowns, full: np.ndarray, log: Log) -> list[np.ndarray]:
        """q, qd, tau (..., N, n) of full parameters (..., p) at the log's stamps; NaN: failed."""
        from ..simulation import simulate
        from ..simulation.signals import reference_signal

        if len(unknowns.of_kind(*BESIDE_ROBOT)):
            raise OptionError(
                f"friction {unknowns.friction.name!r} is not simulated with its root or load open",
                "identify with friction='smooth' or 'asymmetric'",
            )
        if not is_even(log):
            what = f"log {log.name!r} has uneven stamps, expected an even grid"
            raise OptionError(what, "use log.uniform()")
        robot, step = unknowns.robot, log.duration / (len(log) - 1)
        sample_time = self.sample_time or getattr(self.controller, "sample_time", None) or step
        dt = self.dt or sample_time / max(1, round(sample_time / 1e-3))
        ratio = round(step / dt)
        if ratio < 1 or abs(ratio * dt - step) > SLACK * dt:
            raise OptionError(
                f"dt is {dt:g} s, which does not divide the log's step of {step:g} s",
                f"{step / max(1, ratio):g} s does",
            )
        begin = reference_signal(self.reference, robot, log.q[0])(np.zeros(1))[0]
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
            parameters=np.atleast_2d(full),
            save_every=ratio,
            progress=False,
            check_step=False,
        )
        lead = np.shape(full)[:-1]
        parts = [x.reshape(*lead, *x.shape[1:]) for x in (found.q, found.qd, found.tau)]
        if lead == () and not np.isfinite(parts[0]).all():
            raise LoopError(
                f"the simulated loop of robot {robot.name!r} runs away: {found.message}",
                "check the controller, its sample time and its sensors, or start from a feasible "
                "estimate",
            )
        return parts


# output error

SHARE = 0.1  # of a standard deviation: the least change of an unknown in the Jacobian
LEAST = 1e-6  # the same for unknowns that are zero without any deviation
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
    estimate.unknowns.robot.model.refuse_closures("refine", "estimate.values as they are")
    whole(iterations, "iterations")
    number(step, "step", "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
    unknowns, full = estimate.unknowns, np.array(estimate.full)
    loop = ClosedLoop(controller, reference, sample_time, dt, sensors)
    fit = _Fit(unknowns, log, loop, estimate.processing[0])
    sizes = step * np.abs(estimate.values) + SHARE * estimate.standard_deviations
    sizes = np.where(sizes > 0.0, sizes, LEAST)
    r, J = fit.linearised(full, sizes)
    for _ in range(iterations):
        w = fit.weights(r)
        wanted = fit.stepped(full, *_normal(r, J, w), estimate.is_physical)
        tried = full + np.multiply.outer(0.5 ** np.arange(HALVINGS), wanted - full)
        costs = [float(((w * x) ** 2).sum()) for x in fit.residuals(tried)]
        best = int(np.nanargmin([*costs, np.inf])) if np.isfinite(costs).any() else HALVINGS
        before = float(((w * r) ** 2).sum())
        if best == HALVINGS or costs[best] > (1.0 - ENOUGH) * before:
            break
        full = tried[best]
        r, J = fit.linearised(full, sizes)
    x, (covariance, cond) = unknowns.group @ full, _covariance(r, J, fit.weights(r))
    pairs = zip(estimate.logs, estimate.processing, strict=True)
    return replace(
        estimate,
        values=x,
        covariance=covariance,
        noise_covariance=None,
        interval_sources=(),
        full=full,
        condition_number=cond,
        estimator="output-error",
        training=tuple(validation(unknowns, x, *pair) for pair in pairs),
        held_out=None,
    )


@dataclass(frozen=True, eq=False)
class _Fit:
    """A log beside simulated arms: residuals (rows, 2 n) of q and tau, filtered and thinned."""

    unknowns: Unknowns
    log: Log
    loop: ClosedLoop
    how: Processing

    def residuals(self, full: np.ndarray) -> np.ndarray:
        """Measured minus simulated for full parameters (..., p): (..., rows, 2 n)."""
        measured, rate = np.concatenate([self.log.q, self.log.tau], axis=-1), self.log.rate
        cutoff = float(self.how.cutoff or 0.1 * rate)
        every = max(1, int(rate / (ROWS * cutoff)))
        members = full.reshape(-1, full.shape[-1])
        few = max(1, int(MEMORY / (STATE * measured.nbytes)))
        parts = []
        for first in range(0, len(members), few):
            q, _, tau = self.loop.run(self.unknowns, members[first : first + few], self.log)
            left = measured - np.concatenate([q, tau], axis=-1)
            parts += [lowpass(r, cutoff, rate, self.how.order)[::every] for r in left]
        rows = np.stack(parts)
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

    def stepped(
        self, full: np.ndarray, R: np.ndarray, change: np.ndarray, left: float, within: bool
    ) -> np.ndarray:
        """Full parameters after a Gauss-Newton step: among physical ones if it began there."""
        unknowns, size = self.unknowns, len(change)
        free = full + np.linalg.pinv(unknowns.group) @ change
        signed = (unknowns.group @ free)[unknowns.of_kind("viscous", "coulomb", "memory", "rotor")]
        links = physical(links_of(free, len(unknowns.robot.model.links)))
        if not within or (links.all() and (signed >= 0.0).all()):
            return free
        factor = np.zeros((1, size + 1, size + 1))
        factor[0, :size, :size], factor[0, :size, -1] = R, R @ (unknowns.group @ full + change)
        factor[0, -1, -1] = left
        info = Information(factor, np.array([max(1, round(left * left))]))
        return feasible(info, np.ones(1), unknowns, reference=full)[1]


def _normal(r: np.ndarray, J: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """R (m, m), the change that R sends to the residual's shadow, and what is left of it."""
    both = np.vstack([-(J * w).reshape(len(J), -1), (r * w).ravel()])
    F: Any = np.linalg.qr(both.T, mode="r")
    R, b = F[:-1, :-1], F[:-1, -1]
    change = lstsq(R, b, NEGLIGIBLE)
    return R, change, float(np.linalg.norm(F[:, -1] - F[:, :-1] @ change))


def _covariance(r: np.ndarray, J: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Covariance P B P and the condition number, P = (sum J^T w^2 J)^-1.

    B adds up what neighbouring rows and q and tau of one row say in common (Newey, West 1987).
    """
    R, _, _ = _normal(r, J, w)
    unit, size = scaled(R)
    P = np.linalg.pinv(unit.T @ unit, rcond=NEGLIGIBLE) / np.outer(size, size)
    scores = np.einsum("mrc,rc->rm", J, w * w * r)
    rows = len(scores)
    lags = min(int(np.ceil(LAGS * correlation_time(r).max())), rows // 10)
    B = scores.T @ scores
    for k in range(1, lags + 1):
        near = scores[k:].T @ scores[:-k]
        B += (1.0 - k / (lags + 1.0)) * (near + near.T)
    return P @ B @ P * rows / max(1.0, rows - len(J)), condition(R)
