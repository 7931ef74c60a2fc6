"""The result of an identification: parameters with standard deviations, a robot, validations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, number, passed_on
from ..errors import OptionError, shown
from ..lazy import cached_property
from ..logs.log import Log
from ..model.check.finding import Finding
from .feasible import links_of, physical
from .processing import Processing, prepare
from .samples import Samples
from .unknowns import OWN, Unknowns
from .validation import Validation

if TYPE_CHECKING:
    from ..robot import Robot

CONFIDENCE = 0.99
HANDED_OVER = "robot handed over"
SAME = 1e-3  # of the torque: what two models may differ by and still be one


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Base parameters with standard deviations, and the robot they make.

    `values` are the unknowns in `names` (base parameters of bodies and drives, then friction);
    `standard_deviations` allow for residuals that are not white. `training` is the fit on the very
    rows it was made from, `held_out` (if any) on rows it has not seen.
    """

    unknowns: Unknowns
    values: np.ndarray
    covariance: np.ndarray
    full: np.ndarray
    condition_number: float
    estimator: str
    method: str
    processing: tuple[Processing, ...]
    training: tuple[Validation, ...]
    correlation: np.ndarray  # rows that count as one, per joint
    held_out: Validation | None = None
    scores: Sequence[tuple[str, float]] = ()  # friction models by held-out error
    findings: tuple[Finding, ...] = ()
    logs: tuple[Log, ...] = field(default=(), repr=False)
    asked: Processing = Processing()  # what the user chose: it holds for other motions too

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns by name, base parameters as their groupings."""
        return self.unknowns.names

    @property
    def standard_deviations(self) -> np.ndarray:
        """One per unknown."""
        variances = np.diag(self.covariance)
        return np.sqrt(np.maximum(np.where(np.isnan(variances), np.inf, variances), 0.0))

    @checked
    def intervals(self, confidence: float = CONFIDENCE) -> np.ndarray:
        """Lowest and highest of every unknown, (m, 2)."""
        from scipy.stats import norm

        between = "a number between 0 and 1"
        confidence = number(confidence, "confidence", between, lambda x: 0.0 < x < 1.0)
        reach = norm.ppf(0.5 + 0.5 * confidence) * self.standard_deviations
        return np.stack([self.values - reach, self.values + reach], axis=1)

    @cached_property
    def robot(self) -> "Robot":
        """The robot with the identified parameters, and what it lost of the validated model."""
        found = tuple(f for f in self.findings if f.where == HANDED_OVER)
        return self.unknowns.as_robot(self.full, self.values, found)

    @cached_property
    def links_physical(self) -> tuple[bool, ...]:
        """Which links are physically consistent: pseudo-inertia positive semidefinite."""
        links = len(self.unknowns.robot.model.links)
        return tuple(bool(x) for x in physical(links_of(self.full, links)))

    @cached_property
    def friction_physical(self) -> bool:
        """Whether no friction feeds power in, and no rotor has negative inertia."""
        kinds = np.array(self.unknowns.kinds)
        signed = np.isin(kinds, ("viscous", "coulomb", "rotor"))
        return bool((self.values[signed] >= -1e-9).all())

    @property
    def is_physical(self) -> bool:
        """Whether every link and every joint is physically consistent."""
        return all(self.links_physical) and self.friction_physical

    @property
    def friction(self) -> str:
        """The friction model, with its constants."""
        return str(self.unknowns.friction)

    @property
    def relative_standard_deviations(self) -> np.ndarray:
        """Standard deviation over size, per unknown."""
        return self.standard_deviations / np.maximum(np.abs(self.values), 1e-300)

    @property
    def not_identifiable(self) -> dict[str, str]:
        """Parameters that this arm or this motion does not show, and why."""
        why = dict.fromkeys(
            self.unknowns.without_effect, "it has no effect on the torques of this arm"
        )
        for name, value, spread in zip(
            self.names, self.values, self.standard_deviations, strict=True
        ):
            if not np.isfinite(spread):
                why[name] = "this motion does not show it, or not apart from others"
            elif spread > abs(value):
                why[name] = f"the motion leaves {value:.3g} +- {spread:.2g}: its sign is not known"
        return why

    @checked
    def predict(self, log: Log) -> np.ndarray:
        """Torque at the logged instants, (N, n)."""
        return predicted(fitted(self.unknowns, self.values), log, self._how(log))[0]

    @checked
    def validate(self, log: Log) -> Validation:
        """Measured beside predicted torque on a motion: .rms, .relative_error, ..."""
        return validation(self.unknowns, self.values, log, self._how(log))

    @property
    def cutoff_given(self) -> bool:
        """Whether the cut-off was the user's choice."""
        return self.asked.cutoff is not None

    def _how(self, log: Log) -> Processing:
        """As in training; of another motion what the user left open is chosen anew."""
        for known, chosen in zip(self.logs, self.processing, strict=True):
            if log is known:
                return chosen
        velocity = None if log.qd is None else self.asked.velocity
        return replace(self.asked, velocity=velocity)

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the identified robot as .toml or .urdf; where it was written comes back."""
        self.robot.save(path)
        return Path(path)

    @checked
    def refine(self, log: Log, controller: Any, reference: Any, **options: Any) -> "Estimate":
        """Output error: the simulated closed loop is made to move as the log says."""
        from .output_error import output_error

        taken = ("estimate", "log", "controller", "reference")
        known = passed_on(options, output_error, *taken)
        return output_error(self, log, controller, reference, **known)

    @checked
    def report(self, path: str | Path, validations: Sequence[Validation] = ()) -> Path:
        """One self-contained page: held-out figures first, then everything else."""
        from ..report.identification import write

        given = list(validations)
        wrong = [x for x in given if not isinstance(x, Validation)]
        if wrong:
            raise OptionError(f"validations holds {shown(wrong[0])}, expected Validations")
        return write(self, Path(path), given)

    def table(self) -> list[tuple[str, str, str, str]]:
        """Rows: unknown, value, standard deviation, relative."""
        rows = zip(self.names, self.values, self.standard_deviations, strict=True)
        return [
            (n, f"{v:.5g}", f"{s:.2g}", f"{100 * s / max(abs(v), 1e-300):.1f} %")
            for n, v, s in rows
        ]

    def __repr__(self) -> str:
        robot = self.unknowns.robot
        fit = 100 * np.mean([v.relative_error_overall for v in self.training])
        out = (
            ""
            if self.held_out is None
            else f", {100 * self.held_out.relative_error_overall:.2f} % held out"
        )
        body = "physical" if self.is_physical else "not physical"
        return (
            f"Estimate({robot.name!r}, {len(self.names)} unknowns, {self.friction} friction, "
            f"{fit:.2f} % as logged{out}, {body})"
        )


Torque = Callable[[Samples], np.ndarray]  # (N, n), what a model predicts


def fitted(unknowns: Unknowns, x: np.ndarray) -> Torque:
    """The model that is fitted and validated: tau = Y x."""

    def torque(samples: Samples) -> np.ndarray:
        return np.concatenate([Y @ x for Y, *_ in samples.blocks(unknowns, filtered=False)])

    return torque


def predicted(model: Torque, log: Log, processing: Processing) -> tuple[np.ndarray, np.ndarray]:
    """Torque of a model and speed of the joints at the logged instants, (N, n) each.

    The motion is filtered, the torque is not; NaN inside long gaps.
    """
    pieces, _ = prepare(log, processing, thin=False)
    torque, speed = np.full(log.q.shape, np.nan), np.zeros(log.q.shape)
    for samples in pieces:
        tau = model(samples)
        near = log.step
        here = (log.t >= samples.t[0] - near) & (log.t <= samples.t[-1] + near)
        for j in range(log.n):
            torque[here, j] = np.interp(log.t[here], samples.t, tau[:, j])
            speed[here, j] = np.interp(log.t[here], samples.t, samples.qd[:, j])
    return torque, speed


def validation(unknowns: Unknowns, x: np.ndarray, log: Log, processing: Processing) -> Validation:
    """Measured beside predicted torque, every row of the log between its long gaps."""
    return _beside(fitted(unknowns, x), unknowns.robot, log, processing)


def _beside(model: Torque, robot: "Robot", log: Log, processing: Processing) -> Validation:
    tau, speed = predicted(model, log, processing)
    seen = np.isfinite(tau).all(axis=1)
    names = tuple(robot.joint_names)
    measured = np.array(log.tau[seen])
    return Validation(log.name, log.t[seen], measured, tau[seen], speed[seen], names)


def handed_over(estimate: Estimate) -> tuple[Finding, ...]:
    """Whether the robot predicts other torques than the model that was validated, with figures.

    It can where unknowns have no place among a robot's parameters.
    """
    if not len(estimate.unknowns.of_kind(*OWN)):
        return ()
    robot = estimate.robot
    pairs = zip(estimate.logs, estimate.processing, estimate.training, strict=True)
    both = [
        (fit, _beside(lambda s: robot.inverse_dynamics(s.q, s.qd, s.qdd), robot, log, how))
        for log, how, fit in pairs
    ]
    tau = np.concatenate([fit.measured for fit, _ in both])
    own, other = (np.concatenate([pair[k].predicted for pair in both]) for k in (0, 1))
    whole = max(float(np.linalg.norm(tau)), 1e-300)
    if np.linalg.norm(own - other) <= SAME * whole:
        return ()
    left_out = "part of the friction has no place in a robot"
    if len(estimate.unknowns.of_kind("load")):
        left_out = (
            "friction that grows with the load is kept as drive efficiency, which inverse_dynamics "
            "leaves out"
        )
    a, b = (100.0 * float(np.linalg.norm(tau - x)) / whole for x in (own, other))
    what = (
        f"this is not the model that was validated: its inverse_dynamics misses {b:.2f} % of the "
        f"torque of the training log, the validated model {a:.2f} %; {left_out}"
    )
    remedy = (
        "estimate.predict(log) is the validated model; friction='smooth' or 'grotjahn' hands over "
        "what it validates"
    )
    return (Finding("warning", HANDED_OVER, what, remedy),)
