"""The result of an identification: parameters with standard deviations, a robot, validations."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked, number, passed_on, strict
from ..errors import OptionError, shown, worded
from ..lazy import cached_property
from ..logs.checks import spikes
from ..logs.log import Log, interpolated
from ..model.check.finding import Finding
from ..tables import text_table
from .elastic.elastic_estimate import ElasticEstimate
from .feasible import links_of, physical
from .friction.dense_rows import rows_to_fit
from .friction.hysteresis import presliding
from .friction.models import BRISTLE_COLUMNS, SLOW, SPEED
from .motion import lowpass
from .processing import (
    WIDEST,
    Processing,
    Samples,
    as_logged,
    carried_over,
    checked_logs,
    prepare,
    torque_of,
    with_all_joints,
)
from .repeats import MOSTLY, repeated
from .scatter import NOISE, sentence
from .search.choice import Choice
from .torque_parts import FRICTION, ValidationSource
from .unknowns import BESIDE_ROBOT, NOT_NEGATIVE, RIGID, Unknowns
from .verdict.error_split import ErrorSplit, error_split, percent, together
from .verdict.verdict import Comparison, Verdict, compared, coulomb_torques, validated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..robot import Robot
    from .posterior import Posterior

CONFIDENCE = 0.99
HANDED_OVER = "robot handed over"
SAME = 1e-3  # of the torque: what two models may differ by and still be one
LEAST = 0.01  # periods of the slowest filter within a log


@strict
@dataclass(frozen=True, eq=False)
class Validation:
    """Torques (N, n) at the logged instants t (N,), as logged and as predicted.

    relative_error = |tau - predicted| / |tau|, norms over the samples; nrms is the RMS error over
    the range of the measured torque. `speed` is that of the joints; `counted` says which rows of
    which joint count (all, unless `moving` was asked for). `repeats` is the share of the moving
    time whose motion the training data contain too (NaN if nothing moves).
    """

    name: str
    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    speed: np.ndarray
    joint_names: tuple[str, ...]
    counted: np.ndarray | None = None
    filtered_at: float | None = None
    repeats: float = 0.0
    source: ValidationSource | None = field(default=None, repr=False)

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        """Parts of the predicted torque, (N, n) each: inertial, coriolis, gravity, friction.

        And spring and load of the arm; friction is what the others leave of `predicted`, so all
        of them add up to it. Of validations by `Estimate.validate`.
        """
        if self.source is None:
            raise OptionError(
                f"validation {self.name!r} does not know its motion",
                "estimate.validate(log) makes one that does",
            )
        found = self.source.parts(self.t, self.predicted)
        if self.filtered_at is None:
            return found
        rate = 1.0 / float(np.median(np.diff(self.t)))
        own = {k: lowpass(x, self.filtered_at, rate) for k, x in found.items() if k != FRICTION}
        return {**own, FRICTION: self.predicted - sum(own.values())}

    @checked
    def plot(self, joint: str | None = None, path: Any = None) -> "Figure":
        """Measured and computed torque, their difference with mean and peak, parts of the torque.

        One row for every joint, or the three figures of the `joint` named one below the other.
        """
        from ..plots.validation_plot import plot_validation

        return plot_validation(self, joint, path)

    @property
    def is_repeat(self) -> bool:
        """Whether it shows nothing new: mostly the training motion again, or at rest."""
        return not self.repeats <= MOSTLY

    @property
    def kind(self) -> str:
        """What its motion is, in words."""
        if np.isnan(self.repeats):
            return "at rest"
        return "a repeat of the training motion" if self.is_repeat else "a motion of another kind"

    @property
    def residual(self) -> np.ndarray:
        """tau - predicted, (N, n)."""
        return self.measured - self.predicted

    def _kept(self, values: np.ndarray) -> np.ndarray:
        return values if self.counted is None else np.where(self.counted, values, 0.0)

    @property
    def rms(self) -> np.ndarray:
        """Root mean square of the residual, (n,)."""
        rows = len(self.t) if self.counted is None else self.counted.sum(axis=0)
        return np.sqrt((self._kept(self.residual) ** 2).sum(axis=0) / np.maximum(rows, 1))

    @property
    def relative_error(self) -> np.ndarray:
        """Per joint, (n,)."""
        return self._relative(axis=0)

    @property
    def relative_error_overall(self) -> float:
        """All joints together."""
        return float(self._relative())

    def _relative(self, axis: int | None = None) -> np.ndarray:
        parts = (self._kept(x) for x in (self.residual, self.measured))
        return _ratio(*(np.linalg.norm(x, axis=axis) for x in parts))

    @property
    def nrms(self) -> np.ndarray:
        """RMS error over the range of the measured torque, (n,)."""
        return _ratio(self.rms, np.ptp(self.measured, axis=0))

    @checked
    def filtered(self, cutoff: float) -> "Validation":
        """The validation with both torques low-passed at `cutoff` Hz: flattering, so say it."""
        rate = 1.0 / float(np.median(np.diff(self.t)))
        span = float(self.t[-1] - self.t[0])
        slowest = f"Hz of at least {LEAST / span:.3g}: the log lasts {span:g} s"
        number(cutoff, "cutoff", slowest, lambda x: LEAST / span <= x < np.inf)
        low = [lowpass(x, cutoff, rate) for x in (self.measured, self.predicted)]
        return replace(self, measured=low[0], predicted=low[1], filtered_at=cutoff)

    @checked
    def moving(self, slowest: float = 0.05) -> "Validation":
        """Only the rows of a joint that is faster: at rest friction is whatever it has to be."""
        return replace(self, counted=np.abs(self.speed) > slowest)

    @checked
    def between(self, start: float, stop: float) -> "Validation":
        """The rows between two instants (s, as logged)."""
        keep = (self.t >= start) & (self.t <= stop)
        names = ("t", "measured", "predicted", "speed", "counted")
        rows = {name: getattr(self, name) for name in names}
        return replace(self, **{k: v[keep] for k, v in rows.items() if v is not None})

    def cells(self) -> list[tuple[str, str, str, str]]:
        """Rows of a table: joint, RMS, relative error, NRMS."""
        rows = zip(self.joint_names, self.rms, self.relative_error, self.nrms, strict=True)
        found = [(n, f"{a:.4g}", f"{100 * b:.2f} %", f"{100 * c:.2f} %") for n, a, b, c in rows]
        return [*found, ("all", "", f"{100 * self.relative_error_overall:.2f} %", "")]

    def __str__(self) -> str:
        head = ("joint", "RMS", "relative error", "NRMS")
        how = "as logged" if self.filtered_at is None else f"low-passed at {self.filtered_at:g} Hz"
        how += "" if self.counted is None else ", moving rows"
        title = f"{self.name or 'log'}: torque {how}, {len(self.t)} rows"
        title += f", {self.kind}" if self.is_repeat else ""
        return f"{title}\n{text_table([head, *self.cells()], right=4, rule=False)}"

    def __repr__(self) -> str:
        return f"Validation({self.name!r}, {100 * self.relative_error_overall:.2f} %)"


def _ratio(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(np.asarray(b) > 0.0, a / np.where(np.asarray(b) > 0, b, 1.0), np.nan)


@strict
@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Base parameters with standard deviations, and the robot they make.

    `values` are the unknowns in `names` (base parameters of bodies and drives, then friction);
    `standard_deviations` are those by noise of the torque, of any colour, or by the scatter of the
    unknowns over blocks of time, velocities, logs and laws of friction (with and without memory),
    where that is larger: `interval_sources` says for each which decides, `interval_source` for all.
    `training` is the fit on the very rows it was made from, `held_out` (if any) on rows it has not
    seen: `headline` says whether they are of another motion. `verdict` says how far to trust it,
    joint by joint.
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
    scores: Sequence[tuple[str, float]] = ()  # friction models by error on blocks left out
    choices: tuple[Choice, ...] = ()  # what the log decided, with what else was tried
    findings: tuple[Finding, ...] = ()
    verdict: Verdict = Verdict("doubtful", "not judged")
    logs: tuple[Log, ...] = field(default=(), repr=False)
    asked: Processing = Processing()  # what the user chose
    elsewhere: Processing = Processing()  # that and what the log decided: for other motions too
    noise_covariance: np.ndarray | None = None  # by noise alone
    interval_sources: tuple[str, ...] = ()  # what decides each interval
    elastic: ElasticEstimate | None = None  # of elastic joints: the rest is of the links
    recorded: tuple[Log, ...] = field(default=(), repr=False)  # with both sides of elastic joints

    @property
    def headline(self) -> str:
        """The error on a motion of another kind than the training motion, or that there is none."""
        return headline(self.held_out)

    @checked
    def split(self, check: Validation | None = None) -> ErrorSplit:
        """The error of a validation in its parts; without one that of the figure to quote.

        `ErrorSplit`: noise of the torque signal, what the model leaves, friction at rest.
        """
        if check is None:
            return self.comparison().split
        cutoff = float(self.processing[0].cutoff or np.inf)
        return error_split(check, cutoff, self._slow)

    @cached_property
    def _slow(self) -> np.ndarray:
        """The speed of every joint below which it rests, as in the fit, (n,)."""
        zone = self.processing[0].dead_zone or SLOW * SPEED
        top = np.max([np.abs(x.speed).max(axis=0) for x in self.training], axis=0)
        return np.where(top > 0.0, np.minimum(zone, WIDEST * top), zone)

    def comparison(self, validations: Sequence[Validation] = ()) -> Comparison:
        """What the figure to quote was found on: see `quoted`; the fitted rows if nothing else."""
        validations = checked_validations(validations)
        check = quoted(self.held_out, validations)
        if check is None:
            return self._fitted
        return Comparison(_where(check, self.held_out), self.split(check))

    @property
    def _fitted(self) -> Comparison:
        """The rows that were fitted, of all logs together."""
        return Comparison("the fitted rows", together([self.split(x) for x in self.training]))

    def judged(self, validations: Sequence[Validation] = ()) -> Verdict:
        """The verdict when further validations count too."""
        validations = checked_validations(validations)
        others = [x for x in (self.held_out, *validations) if x is not None]
        checks = [
            Comparison(_where(x, self.held_out), self.split(x), refitted=x is self.held_out)
            for x in others
        ]
        coulomb = coulomb_torques(self.unknowns, self.values)
        fresh = any(not x.is_repeat for x in others)
        found = validated(self.verdict) if fresh else self.verdict
        return compared(found, [self._fitted, *checks], self.comparison(validations), coulomb)

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns by name, base parameters as their groupings."""
        return self.unknowns.names

    @property
    def standard_deviations(self) -> np.ndarray:
        """One per unknown."""
        variances = np.diag(self.covariance)
        return np.sqrt(np.maximum(np.where(np.isnan(variances), np.inf, variances), 0.0))

    @property
    def interval_source(self) -> str:
        """What decides the intervals, in one sentence: noise of the torque or which scatter."""
        if self.noise_covariance is None:
            return sentence(self.interval_sources, 1.0)
        noise, all_ = np.diag(self.noise_covariance), np.diag(self.covariance)
        known = (noise > 0.0) & np.isfinite(all_) & (np.array(self.interval_sources) != NOISE)
        wider = np.sqrt(np.median(all_[known] / noise[known])) if known.any() else 1.0
        return sentence(self.interval_sources, float(wider))

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
        robot = self.unknowns.as_robot(self.full, self.values, found)
        return robot if self.elastic is None else self.elastic.with_gears(robot)

    @cached_property
    def links_physical(self) -> tuple[bool, ...]:
        """Which links are physically consistent: pseudo-inertia positive semidefinite."""
        links = len(self.unknowns.robot.model.links)
        return tuple(bool(x) for x in physical(links_of(self.full, links)))

    @cached_property
    def friction_physical(self) -> bool:
        """Whether no friction feeds power in, and no rotor has negative inertia."""
        signed = self.unknowns.of_kind(*NOT_NEGATIVE, "rotor")
        return bool((self.values[signed] >= -1e-9).all())

    @property
    def is_physical(self) -> bool:
        """Whether every link and every joint is physically consistent."""
        return all(self.links_physical) and self.friction_physical

    @property
    def friction(self) -> str:
        """The friction model, with its constants."""
        return str(self.unknowns.friction)

    @cached_property
    def presliding(self) -> np.ndarray:
        """Share of each joint's dry friction that builds up on the way after a turn, (n,).

        Weights of elements with memory over their sum with Coulomb friction; 0 without any.
        """
        return presliding(self)

    @property
    def relative_standard_deviations(self) -> np.ndarray:
        """Standard deviation over size, per unknown."""
        return self.standard_deviations / np.maximum(np.abs(self.values), 1e-300)

    @cached_property
    def posterior(self) -> "Posterior":
        """The distribution that `sample` draws from, made on first use (some seconds)."""
        from .posterior import posterior

        return posterior(self)

    def sample(self, count: int, seed: int = 0) -> np.ndarray:
        """Draws of `robot.parameters.values`, (count, p), every one physically consistent.

        The unknowns are normal about the estimate with its covariance, restricted to arms that can
        exist: every link's pseudo-inertia positive semidefinite, friction that feeds no power in,
        rotor inertias and springs at 0 or above. Where the estimate itself is none, the nearest
        consistent arm is the centre. What no data show has a weak prior about that centre: mass and
        second moments of a link vary by half of themselves, friction by the largest torque of its
        joint. What is no parameter of a robot (roots, friction under load, slopes by temperature)
        stays as estimated, bodies stay as described where `only="friction"` was sought.

        Sample i of a seed is the same in whatever number of samples.
        """
        what = "draw from elastic[name].interval, or identify without elastic= for the rigid arm"
        self._refuse_elastic("sample", what)
        return self.posterior.draw(0, count, seed)

    def _refuse_elastic(self, what: str, remedy: str) -> None:
        if self.elastic is not None and self.elastic.joints:
            raise OptionError(
                f"{what} is not made for elastic joints: {worded(x.name for x in self.elastic)}",
                remedy,
            )

    @property
    def not_identifiable(self) -> dict[str, str]:
        """Parameters that this arm or this motion does not show, and why."""
        nothing = "it has no effect on the torques of this arm"
        why = dict.fromkeys(self.unknowns.without_effect, nothing)
        same = "its torque is a sum of what other unknowns give: it stays as described"
        why |= dict.fromkeys(self.unknowns.described, same)
        for name, value, std in zip(self.names, self.values, self.standard_deviations, strict=True):
            if not np.isfinite(std):
                why[name] = "this motion does not show it, or not apart from others"
            elif std > abs(value):
                why[name] = f"the motion leaves {value:.3g} +- {std:.2g}: its sign is not known"
        return why

    @checked
    def predict(self, log: Log) -> np.ndarray:
        """Torque at the logged instants, (N, n)."""
        robot, how = self.unknowns.robot, self._how(log)
        (log,) = checked_logs(log, robot)
        model = fitted(self.unknowns, self.values)
        if self.elastic is None or not self.elastic.joints:
            return predicted(model, log, how, robot)[0]
        links, taken = self.elastic.of_links(log, robot.drive_names, ends=True)
        torque = predicted(model, links, how, robot)[0] + taken
        return interpolated(log.t, links.t, torque)

    @checked
    def validate(self, log: Log) -> Validation:
        """Measured beside predicted torque on a motion: .rms, .relative_error, .is_repeat, ..."""
        how = self._how(log)
        (log,) = checked_logs(log, self.unknowns.robot)
        if self.elastic is not None:
            log = self.elastic.of_links(log, self.unknowns.robot.drive_names)[0]
        found = validation(self.unknowns, self.values, log, how)
        source = ValidationSource(self, log, how)
        return replace(found, repeats=repeated(log, self.logs), source=source)

    def _how(self, log: Log) -> Processing:
        """As in training; of another motion what is still open is chosen anew."""
        for known, chosen in zip(self.logs, self.processing, strict=True):
            if log is known:
                return chosen
        how = carried_over(self.elsewhere, self.asked, self.logs, log)
        return replace(how, velocity=None if log.qd is None else how.velocity)

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the identified robot as .toml or .urdf; where it was written comes back."""
        self.robot.save(path)
        return Path(path)

    @checked
    def refine(self, log: Log, controller: Any, reference: Any, **options: Any) -> "Estimate":
        """Output error: the simulated closed loop is made to move as the log says."""
        from .closed_loop import output_error

        what = "validate on a log of another motion, or identify without elastic= and refine that"
        self._refuse_elastic("refine", what)
        passed_on(options, output_error, "estimate", "log", "controller", "reference")
        return output_error(self, log, controller, reference, **options)

    @checked
    def report(self, path: str | Path, validations: Sequence[Validation] = ()) -> Path:
        """One self-contained page: held-out figures first, then everything else."""
        from ..report.identification import write

        return write(self, Path(path), checked_validations(validations))

    @checked
    def plot_hysteresis(self, joint: str | None = None, path: Any = None) -> "Figure":
        """Loops of friction about reversals, and residuals over the way since the last one."""
        from ..plots.estimate_plot import plot_hysteresis

        return plot_hysteresis(self, joint, path)

    @checked
    def plot_response(self, path: Any = None) -> "Figure":
        """Frequency responses of elastic joints, measured and fitted, with modes and coherence."""
        from ..plots.estimate_plot import plot_response

        return plot_response(self, path)

    def table(self) -> list[tuple[str, str, str, str]]:
        """Rows: unknown, value, standard deviation, relative."""
        deviations = self.standard_deviations, self.relative_standard_deviations
        rows = zip(self.names, self.values, *deviations, strict=True)
        return [(n, f"{v:.5g}", f"{s:.2g}", f"{100 * r:.1f} %") for n, v, s, r in rows]

    def __repr__(self) -> str:
        fit = 100 * np.mean([v.relative_error_overall for v in self.training])
        out = "" if self.held_out is None else f", {self.headline}"
        return (
            f"Estimate({self.unknowns.robot.name!r}, {self.verdict.level}, {len(self.names)} "
            f"unknowns, {self.friction} friction, {fit:.2f} % as logged{out}, "
            f"{'' if self.is_physical else 'not '}physical)"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.verdict._repr_html_()}"


def quoted(
    held_out: Validation | None, validations: Sequence[Validation] = ()
) -> Validation | None:
    """The comparison whose error is the figure to quote; None where nothing was held out.

    The worst of the validations that are no repeats, else what was held out; where every one is a
    repeat the worst of the validations.
    """
    parts = [] if held_out is None else [held_out]
    fresh = [[x for x in some if not x.is_repeat] for some in (validations, parts)]
    for some in (*fresh, validations, parts):
        if some:
            return max(some, key=lambda x: x.relative_error_overall)
    return None


def checked_validations(given: Any) -> list[Validation]:
    """Validations as a list; anything else is refused by name."""
    if not isinstance(given, (list, tuple)):
        raise OptionError(f"validations is {shown(given)}, expected a list of Validations")
    for x in given:
        if not isinstance(x, Validation):
            raise OptionError(f"validations holds {shown(x)}, expected Validations")
    return list(given)


def headline(held_out: Validation | None, validations: Sequence[Validation] = ()) -> str:
    """The figure to quote in words: its error, on which motion."""
    check = quoted(held_out, validations)
    if check is None:
        return "no figure, nothing was held out"
    where = _where(check, held_out)
    error = f"{percent(check.relative_error_overall)} on {where}, {check.kind}"
    return f"no figure on a motion of another kind; {error}" if check.is_repeat else error


def _where(check: Validation, held_out: Validation | None) -> str:
    return "the part held out" if check is held_out else check.name or "another log"


Torque = Callable[[Samples], np.ndarray]  # (N, n), what a model predicts


def fitted(unknowns: Unknowns, x: np.ndarray) -> Torque:
    """The model that is fitted and validated: tau = Y x, and what no unknown multiplies."""

    def torque(samples: Samples) -> np.ndarray:
        linear = [Y @ x for Y, *_ in samples.blocks(unknowns, filtered=False)]
        return np.concatenate(linear) + unknowns.fixed_torque(samples.q, samples.qd)

    return torque


def predicted(
    model: Torque, log: Log, processing: Processing, robot: "Robot | None" = None
) -> tuple[np.ndarray, np.ndarray]:
    """Torque of a model and speed of the joints at the logged instants, (N, n) each.

    The motion is filtered, the torque is not, and comes as late as the logged one; NaN inside long
    gaps, and where the loops of `robot` do not close.
    """
    torque, speed, near = np.full(log.q.shape, np.nan), np.zeros(log.q.shape), log.step
    prepared, chosen = prepare(log, processing, thin=False, robot=robot)
    delay = float(chosen.torque_delay or 0.0)
    for samples in prepared:
        here = (log.t >= samples.t[0] - near) & (log.t <= samples.t[-1] + near)
        torque[here] = interpolated(log.t[here] - delay, samples.t, model(samples))
        speed[here] = interpolated(log.t[here], samples.t, samples.qd[:, samples.columns])
    return torque, speed


@checked
def torque_along(robot: "Robot", log: Log, processing: Processing | None = None) -> np.ndarray:
    """Torques of the drives along a logged motion, (N, n): inverse dynamics with memory.

    Friction with memory is carried along from row to row, relaxed at the first one and after each
    gap. The motion is that of the log where it has velocities and accelerations and no `processing`
    is given; else it is that of filtered positions, as `dy.identify` takes it. NaN in long gaps,
    and where the loops of a closed mechanism do not close.
    """
    (log,) = checked_logs(log, robot)
    if processing is not None or log.qd is None or log.qdd is None:
        how = processing or Processing()
        return predicted(partial(torque_of, robot), log, how, robot)[0]
    found = np.full(log.q.shape, np.nan)
    for piece in log.pieces():
        samples = with_all_joints(robot, as_logged(piece))
        rows = np.searchsorted(log.t, piece.t)
        found[rows] = torque_of(robot, samples)
    return found


def validation(unknowns: Unknowns, x: np.ndarray, log: Log, processing: Processing) -> Validation:
    """Measured beside predicted torque, every row of the log between its gaps and spikes."""
    return beside(fitted(unknowns, x), unknowns.robot, log, processing)


def beside(model: Torque, robot: "Robot", log: Log, processing: Processing) -> Validation:
    """Measured torque beside that of a model of a robot."""
    tau, speed = predicted(model, log, processing, robot)
    seen = np.isfinite(tau).all(axis=1)
    if processing.spikes != "keep":
        for mask in spikes(log).values():
            seen &= ~mask.any(axis=1)
    t, measured, tau, speed = (x[seen] for x in (log.t, log.tau, tau, speed))
    return Validation(log.name, t, measured, tau, speed, robot.drive_names)


def handed_over(estimate: Estimate) -> tuple[Finding, ...]:
    """Whether the robot predicts other torques than the model that was validated, with figures.

    It can where unknowns have no place among a robot's parameters.
    """
    if not len(estimate.unknowns.of_kind(*BESIDE_ROBOT)):
        return ()
    robot = estimate.robot
    pairs = zip(estimate.logs, estimate.processing, estimate.training, strict=True)
    model = partial(torque_of, robot)
    both = [(fit, beside(model, robot, log, how)) for log, how, fit in pairs]
    tau = np.concatenate([fit.measured for fit, _ in both])
    own, other = (np.concatenate([pair[k].predicted for pair in both]) for k in (0, 1))
    whole = max(float(np.linalg.norm(tau)), 1e-300)
    if np.linalg.norm(own - other) <= SAME * whole:
        return ()
    a, b = (100.0 * float(np.linalg.norm(tau - x)) / whole for x in (own, other))
    what = (
        f"this is not the model that was validated: its inverse_dynamics misses {b:.2f} % of the "
        f"torque of the training log, the validated model {a:.2f} %; part of the friction has no "
        "place in a robot"
    )
    remedy = (
        "estimate.predict(log) is the validated model; friction='smooth' or 'grotjahn' hands over "
        "what it validates"
    )
    return (Finding("warning", HANDED_OVER, what, remedy),)


# the rows that were fitted, and the friction they show


class Rows(NamedTuple):
    """Rows of one stretch as they were fitted, (N, n): filtered, every k-th."""

    qd: np.ndarray
    friction: np.ndarray  # torque less rigid torque, friction under load and of passive joints
    residual: np.ndarray
    counted: np.ndarray  # False where slower than the dead zone
    step: float  # s from row to row


BESIDES = (*RIGID, "load")
CURVE = (
    *("viscous", "viscous-", "root", "coulomb", "memory", "offset", "friction law"),
    *BRISTLE_COLUMNS,
)


def fitted_rows(estimate: Estimate) -> list[Rows]:
    """The rows of every stretch of every log."""
    wanted, x = estimate.unknowns, estimate.values
    passive = [k for k, j in enumerate(wanted.joints) if j >= 0 and wanted.row_of(j) is None]
    rest = np.union1d(wanted.of_kind(*BESIDES), np.array(passive, dtype=int))
    found = []
    for log, processing in zip(estimate.logs, estimate.processing, strict=True):
        for samples in rows_to_fit(log, processing, wanted.friction, wanted.robot)[0]:
            speed = samples.qd[:, samples.columns]
            parts = [
                (speed[k], tau - Y[..., rest] @ x[rest], tau - Y @ x, weight > 0.0)
                for Y, tau, weight, k in samples.blocks(wanted)
            ]
            step = samples.every * float(np.median(np.diff(samples.t)))
            qd, friction, residual, counted = map(np.concatenate, zip(*parts, strict=True))
            found.append(Rows(qd, friction, residual, counted, step))
    return found


def friction_curve(
    estimate: Estimate, joint: int, fastest: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities, friction torque and its standard deviation, of one joint moving alone.

    `joint` counts those that logs have.
    """
    wanted = estimate.unknowns
    joint = wanted.logged[joint]
    v = np.unique(np.concatenate([np.linspace(-r, r, 121) for r in (fastest, 0.05 * fastest)]))
    qd = np.zeros((len(v), wanted.robot.n))
    qd[:, joint] = v
    columns = wanted.of_kind(*CURVE)
    zero = np.zeros_like(qd)
    Z = wanted.tree_regressor(zero, qd, zero)[:, joint, columns]
    variance = np.einsum("ka,ab,kb->k", Z, estimate.covariance[np.ix_(columns, columns)], Z)
    return v, Z @ estimate.values[columns], np.sqrt(np.maximum(variance, 0.0))
