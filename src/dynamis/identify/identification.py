"""`dy.identify`: processing, friction model, estimator and method, carried out on logs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import binary_dilation

from ..arguments import checked, choice, is_word, number, one_of
from ..base.groupings import lstsq
from ..errors import OptionError, shown
from ..ik.driven import random_motion
from ..lazy import cached_property
from ..logs.log import Log
from ..model.check.finding import Finding
from ..model.spring import Spring
from ..progress import Stage, stage
from .deviations import Bands, fitted_bands, noise_bias, noise_covariance
from .diagnose import (
    POOR,
    Excerpt,
    LogError,
    diagnose,
    driving_friction,
    excerpt,
    far_from_consistent,
    few_rows,
    gravity_difference,
    gravity_shares,
    late_torque,
    laws_replaced,
    missing_rotors,
    not_exciting,
    not_told_apart,
    other_reading,
    reading_findings,
    refuse,
    saturation,
    torque_delay,
    torque_size,
    unexplained,
    velocities_replaced,
    without_directions,
    worse_with_other_signs,
)
from .elastic.joints import elastic_joints, left_rigid
from .estimate import Estimate, Validation, handed_over, validation
from .estimators import FitProblem, Found, estimator_named, with_bounds, with_loads
from .feasible import SolverError
from .findings import by_importance, said_once
from .frictions import SLOW, chosen_among, friction_named
from .information import (
    NEGLIGIBLE,
    Information,
    completed,
    information,
    told_apart,
    weighted,
)
from .processing import ESTIMATED, STILL, Processing, Samples, carried_over, checked_logs, prepare
from .repeats import MOSTLY, repeated
from .scatter import Widened, by_kind, fitted_scatter, widened
from .search import Decided, Search
from .trials import (
    as_described,
    best_tilt,
    confirmed_driving,
    offsets_of_springs,
    spring_asked,
)
from .unknowns import RIGID, Unknowns, passive_joints, unknowns
from .verdict import (
    Leftover,
    better_with_rotors,
    leftover,
    noise_as_fitted,
    poor_joints,
    verdict,
)

if TYPE_CHECKING:
    from ..robot import Robot

METHODS = ("direct", "two-step")
ONLY = ("friction",)  # what may be sought alone, on a described arm
LAST_THIRD = 2.0 / 3.0
OTHER_CUTOFFS = (0.5, 2.0)  # times the cut-off, that are tried
MOST = 0.2  # of the sampling rate: the highest of them
TRIED_SPRING = "tried spring"
HEAVIEST = 1e12  # rows of data that a prior may weigh: more drown the data in rounding


@dataclass(frozen=True, eq=False)
class Fit:
    """What came of a plan on some logs; `problem` has every row alike, `found` as weighted."""

    problem: FitProblem
    found: Found
    processing: list[Processing]
    slow: "SlowPart | None"
    logs: list[int]  # of every motion which log it is of

    @property
    def x(self) -> np.ndarray:
        """The unknowns."""
        return self.found.solution.x

    @property
    def unknowns(self) -> Unknowns:
        """What was sought."""
        return self.problem.unknowns

    @property
    def motions(self) -> Sequence[Samples]:
        """The rows."""
        return self.problem.motions

    @property
    def info(self) -> Information:
        """What every row says, all alike, whatever the estimator made of them."""
        return self.problem.info

    @property
    def known(self) -> np.ndarray | None:
        """What was not sought, (m,), NaN for what was."""
        return self.problem.known

    @cached_property
    def _octaves(self) -> tuple[list[Bands], np.ndarray]:
        gain = self.found.solution.gain
        return fitted_bands(self.motions, self.unknowns, self.x, gain)

    @property
    def correlation(self) -> np.ndarray:
        """Rows that count as one, (n,)."""
        return self._octaves[1]

    @cached_property
    def widened(self) -> Widened:
        """Covariance by noise of the torque and bias by noise of the motion, grown to the scatter.

        That of the unknowns over blocks of time, velocities and logs.
        """
        gain = self.found.solution.gain
        bias = noise_bias(self.problem, gain)
        noise = noise_covariance(self._octaves[0], gain) + np.outer(bias, bias)
        at = completed(gain.x, self.known)
        found = fitted_scatter(self.motions, self.logs, self.unknowns, at, gain)
        return widened(noise, by_kind(self.unknowns, found))

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the unknowns' errors, (m, m): of noise or scatter the larger."""
        return self._covariances[0]

    @property
    def noise_covariance(self) -> np.ndarray:
        """Covariance by noise alone, (m, m)."""
        return self._covariances[1]

    @cached_property
    def _covariances(self) -> list[np.ndarray]:
        """Both, with that of a first step; infinite for what the motion does not show."""
        solution, known = self.found.solution, self.known
        both = [self.widened.covariance, self.widened.noise]
        if self.slow is not None:
            whole = information(self.motions, self.unknowns)
            both = [total_covariance(C, whole, solution.weights, self.slow) for C in both]
        if solution.blind is not None:
            hidden = solution.blind if known is None else solution.blind & np.isnan(known)
            blind = np.diag(np.where(hidden, np.inf, 0.0))
            both = [np.where(blind > 0.0, np.inf, C) for C in both]
        return both


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything but the logs."""

    robot: "Robot"
    friction: Any
    rotors: bool | None
    processing: Processing
    asked: Processing  # what the caller chose of it
    estimator: str
    prior: float | Mapping[str, float] | None
    only: str | None
    two_step: bool
    slow: Sequence[Log] | None
    threads: int | None
    passive: Any = "described"
    shown: Stage = field(default_factory=partial(Stage, ""))

    def fit(self, logs: Sequence[Log]) -> Fit:
        """Carry it out."""
        some_torque(logs)
        model = friction_named(self.friction)
        processing = self.processing
        if processing.dead_zone is None:
            zone = SLOW * model.speed if model.columns else 0.0
            processing = replace(processing, dead_zone=zone)
        prepared = [prepare(log, processing, robot=self.robot) for log in logs]
        motions = [samples for found, _ in prepared for samples in found]
        sought = unknowns(self.robot, model, self.rotors, self.threads, self.passive)
        slow = (
            slow_estimate(sought, self.slow, self._for_slow(processing)) if self.two_step else None
        )
        known = self._described(sought) if slow is None else slow.known
        sought, known = with_bounds(sought, motions, known)
        info = information(motions, sought, known=known)
        own = np.asarray(sought.robot.parameters.values, dtype=float)
        problem = FitProblem(motions, sought, info, self.prior, own, known)
        self.tell(f"fitted by {self.estimator}")
        found = estimator_named(self.estimator)(problem)
        self.shown(self.shown.done + FIT)
        solution = replace(found.solution, x=completed(found.solution.x, known))
        sought = replace(sought, rigid=solution.x)  # as the robot that is handed over computes it
        found, chosen = replace(found, solution=solution), [resolved for _, resolved in prepared]
        of = [k for k, (pieces, _) in enumerate(prepared) for _ in pieces]
        return Fit(replace(problem, unknowns=sought), found, chosen, slow, of)

    def _for_slow(self, processing: Processing) -> Processing:
        """Slow logs are filtered as their own motion says."""
        return replace(processing, cutoff=self.asked.cutoff)

    def decided(self, logs: Sequence[Log]) -> tuple["Plan", Decided]:
        """The plan with what these logs decide, of what the caller left open."""
        some_torque(logs)
        search = Search(
            robot=self.robot,
            logs=logs,
            processing=self.processing,
            friction=self.friction,
            rotors=self.rotors,
            passive=self.passive,
            threads=self.threads,
            only=self.only is not None,
            tell=self._tried,
        )
        found = search.run()
        given = {"friction": found.friction, "rotors": found.rotors}
        return replace(self, processing=found.processing, **given), found

    def _tried(self, doing: str) -> None:
        """Say what is tried, and that something was."""
        self.tell(doing)
        self.shown(self.shown.done + 1)

    def tell(self, doing: str) -> None:
        """Say what is being done."""
        self.shown.tell(f"identifying {self.robot.name}: {doing}")

    def examine(
        self, fit: Fit, logs: Sequence[Log], known: Sequence[Finding], auto: bool, force: bool
    ) -> tuple[Leftover, list[Finding]]:
        """What a fit leaves, and all findings, known ones too; refused where one is an error."""
        residual = leftover(fit.info, fit.unknowns, fit.x, noise_as_fitted(logs, fit.processing))
        found = by_importance([*known, *self.findings(fit, residual, logs, auto)])
        if not force:
            refuse(found, self.robot, "this log would not give a model of this arm", residual)
        return residual, found

    def findings(
        self, fit: Fit, residual: Leftover, logs: Sequence[Log], auto: bool
    ) -> list[Finding]:
        """What is dubious about a fit: causes first, what they lead to last.

        `auto`: whether every friction model was tried. Of findings of one level the first is the
        verdict's.
        """
        robot, sought, x, info = self.robot, fit.unknowns, fit.x, fit.found.info
        feasible, joints = self.estimator.endswith("feasible"), robot.drive_names
        free = completed(weighted(info).x, fit.known) if feasible else x
        condition_number, rows = fit.found.solution.condition, excerpt(fit.motions)
        found = [*not_told_apart(condition_number, sum(log.duration for log in logs))]
        found += [*saturation(robot, logs), *torque_size(robot, rows, sought)]
        poor = [*poor_joints(residual, joints, friction=not auto)]
        if condition_number < POOR:  # else any number may stand for a friction or a mass
            gravity = gravity_difference(robot, sought, free, rows)
            found += self.causes(fit, free, rows, gravity, bool(poor), logs)
            found += self.rotors_tried(fit, rows, residual, logs)
            found += self.springs_tried(fit, free, rows, residual, logs)
        found += late_torque(sought, rows, max(log.step for log in logs))
        explained = {f.joints for f in found if f.where == "fit" and f.level != "note"}
        found += [*unexplained(fit.info.misfit(x)), *(f for f in poor if f.joints not in explained)]
        found += not_exciting(sought, info, x, fit.known)
        found += few_rows(info.rows, fit.correlation, len(x))
        found += without_directions(fit.found.solution.left_out)
        return [*found, *far_from_consistent(info, free, x)] if feasible else found

    def causes(
        self,
        fit: Fit,
        x: np.ndarray,
        rows: Excerpt,
        gravity: float,
        poor: bool,
        logs: Sequence[Log],
    ) -> list[Finding]:
        """Readings of the log that explain it far better, and torques of the wrong sign.

        A base is tilted, signs are changed and other cut-offs taken only where something is wrong.
        """
        robot, sought = self.robot, fit.unknowns
        readings = [*other_reading(robot, sought, rows, gravity)]
        # bounds keep friction from driving, and leave its torque over: then the fit without them
        bound = self.estimator.endswith("feasible")
        covariance = weighted(fit.found.info).covariance if bound else fit.noise_covariance
        driving = [*driving_friction(sought, x, covariance, rows)]
        wrong = any(f.level != "note" for f in readings)
        described = [] if wrong else [*as_described(robot, rows)]
        if wrong or driving or poor or described:
            tilt = best_tilt(sought, rows)
            readings = [*other_reading(robot, sought, rows, gravity, tilt)]
            if any(f.level == "error" for f in readings):
                return readings  # that is the cause: friction and the rest follow from it
            names = robot.drive_names
            others = self.driven_at_other_cutoffs(fit, logs) if driving else {}
            signs = worse_with_other_signs(sought, rows) if driving else []
            driving = [*confirmed_driving(driving, names, tilt, signs, others)]
        return [*readings, *driving, *(described if not driving else [])]

    def driven_at_other_cutoffs(self, fit: Fit, logs: Sequence[Log]) -> dict[float, list[Finding]]:
        """Joints that their friction would drive when the log is filtered otherwise, by Hz."""
        found = {}
        for factor in OTHER_CUTOFFS:
            cutoff = min(factor * float(fit.processing[0].cutoff or np.inf), MOST * logs[0].rate)
            how = replace(self.processing, cutoff=cutoff)
            tried = replace(
                self,
                processing=how,
                estimator="weighted",
                friction=fit.unknowns.friction,
                prior=None,
            ).fit(logs)
            rows, sure = excerpt(tried.motions), np.zeros_like(tried.covariance)
            found[cutoff] = [*driving_friction(tried.unknowns, tried.x, sure, rows)]
        return found

    def springs_tried(
        self, fit: Fit, x: np.ndarray, rows: Excerpt, residual: Leftover, logs: Sequence[Log]
    ) -> Iterator[Finding]:
        """Joints that carry, and whose constant torque is no friction: a fit with a spring."""
        if self.only is not None or self.two_step or self.robot.model.closures:
            return
        deviations = np.sqrt(np.maximum(np.diag(fit.noise_covariance), 0.0))
        carried = gravity_shares(fit.unknowns, x, rows)
        for row, offset, coulomb in offsets_of_springs(fit.unknowns, x, deviations, carried):
            name = self.robot.drive_names[row]
            spring = Spring(kind="torsion", name=TRIED_SPRING, joint=name, stiffness=1.0)
            tried = replace(
                self, robot=self.robot.with_spring(spring), estimator="weighted",
                friction=fit.unknowns.friction, prior=None,
            ).fit(logs)  # fmt: skip
            values = dict(zip(tried.unknowns.names, tried.x, strict=True))
            noise = noise_as_fitted(logs, tried.processing)
            then = leftover(tried.info, tried.unknowns, tried.x, noise).share[row]
            now, k = residual.share[row], values.get(f"{TRIED_SPRING}.stiffness")
            yield spring_asked(name, offset, coulomb, float(now), float(then), k)

    def rotors_tried(
        self, fit: Fit, rows: Excerpt, residual: Leftover, logs: Sequence[Log]
    ) -> Iterator[Finding]:
        """Joints that rotor inertias would explain, where nothing was said about rotors."""
        if self.rotors is not None or fit.unknowns.rotors or self.only is not None:
            return
        which = missing_rotors(fit.unknowns, rows)
        if which:
            tried = replace(
                self, rotors=True, estimator="weighted", friction=fit.unknowns.friction, prior=None
            ).fit(logs)
            noise = noise_as_fitted(logs, tried.processing)
            then = leftover(tried.info, tried.unknowns, tried.x, noise)
            yield from better_with_rotors(residual, then, which, self.robot.drive_names)

    def _described(self, sought: Unknowns) -> np.ndarray | None:
        """What is not sought, as the robot describes it: (m,), NaN for what is."""
        if self.only is None:
            return None
        return np.where(np.isin(sought.kinds, RIGID), sought.values, np.nan)


FIT = 20  # trials of a search that take about as long as a fit
TRIALS = 30  # of cut-offs, velocities, delays and radii


def some_torque(logs: Sequence[Log]) -> None:
    """Refuse logs that give nothing to scale by, forced or not."""
    if not any(log.tau.any() for log in logs):
        seconds = sum(log.duration for log in logs)
        raise LogError(
            f"every torque is zero in all {seconds:.4g} s to fit",
            "check the columns of the torques, or cut off where there are none",
        )


@checked
def identify(
    robot: "Robot",
    log: Any,
    *,
    friction: Any = "auto",
    estimator: str = "feasible",
    method: str = "direct",
    slow: Any = None,
    rotors: bool | None = None,
    passive_friction: Any = "described",
    processing: Processing | None = None,
    cutoff: float | None = None,
    dead_zone: float | None = None,
    prior: float | Mapping[str, float] | None = None,
    only: str | None = None,
    elastic: Any = None,
    held_out: bool = True,
    force: bool = False,
    threads: int | None = None,
) -> Estimate:
    """Identify the parameters of a robot from a Log (or several).

    `friction`: "none", "viscous", "symmetric", "asymmetric", "stribeck", "smooth", "directional"
    (viscous friction by direction), "grotjahn", "loaded" (friction grows with the torque that the
    joint transmits), "loaded-grotjahn", "described" (the law that each joint has, one of your own
    too), "thermal" (viscous friction by temperature, which the log holds: see
    `Log.with_temperature`), or "auto": the simplest of those whose error on blocks of time left out
    in turn is within 5 % of the least. The log decides so too on cut-off, source of the velocities,
    a short delay of the torque and rotors, unless they are given: see `estimate.choices`.
    `estimator`: "ordinary", "weighted", "robust", "total", "instrumental", "feasible" (only
    physically consistent arms; `prior` weighs, in rows of data, the distance to the described
    robot, for every link or by link name), or "robust-feasible" (rows far out count less).
    `only="friction"` keeps the bodies as described (`dy.identify_payload` seeks a load alone).
    `method` "two-step" takes friction and gravity from `slow` logs first, then the rest.
    `rotors`: whether rotor inertias are unknown (default: where the model has drives; where it has
    none, if they explain the torque better). `held_out`
    also fits the first two thirds of the time and reports the last (of several logs: all but one,
    and that one), and whether its motion is another one. `processing`, `cutoff` (Hz) and
    `dead_zone` (rad/s) override what is chosen from the data. `estimate.verdict` says how far to
    trust the result; a log that is not usable is refused with it (LogError), unless `force`.

    `elastic="auto"` (or a list of joints) identifies stiffness, damping and backlash of elastic
    joints, with rotors and friction of their motors, from logs that hold both sides (`log.motor`):
    see `estimate.elastic`. The links follow from what the gears transmit, and every error is that
    of the transmitted torque. Encoders that are sampled at different times and a torque that is
    logged early or late are found with it.

    Logs of a closed mechanism hold its drives; the passive joints follow, in the assembly of
    `robot.home`. `passive_friction` says which of them rub: those described with friction, "all",
    "none", or a list of names.
    """
    # options
    logs = checked_logs(log, robot)
    passive_joints(robot, passive_friction)
    choice(method, "method", METHODS)
    _check_prior(prior, robot)
    _check_only(only, friction, method)
    if slow is not None and method != "two-step":
        raise OptionError("slow logs were given", 'they are for method="two-step"')
    given = {"cutoff": cutoff, "dead_zone": dead_zone}
    given = {name: value for name, value in given.items() if value is not None}
    processing = replace(processing or Processing(), **given)
    _check_cutoff(processing, logs)
    slow_logs = None if slow is None else checked_logs(slow, robot, "slow")
    gears = None if elastic is None else elastic_joints(robot, logs, elastic)
    if gears is not None:
        robot, names = gears.links(robot), robot.drive_names
        logs = [gears.of_links(x, names)[0] for x in logs]
        if slow_logs is not None:
            slow_logs = [gears.of_links(x, names)[0] for x in slow_logs]
        rotors = rotors if _has_rotors(robot) or not gears.joints else False
    fits, what = 1 + held_out, f"identifying {robot.name}"
    models = []
    if is_word(friction, ("auto",)):
        heated = all(log.temperature is not None for log in logs)
        models = [x for m in chosen_among(robot, heated) for x in m.variants()]
    with stage(what, TRIALS + len(models) + fits * FIT, expected=1.0) as shown:
        plan = Plan(
            robot=robot,
            friction=friction,
            rotors=rotors,
            processing=processing,
            asked=processing,
            estimator=estimator,
            prior=prior,
            only=only,
            two_step=method == "two-step",
            slow=slow_logs,
            threads=threads,
            passive=passive_friction,
            shown=shown,
        )
        found = _identified(plan, logs, method, held_out, force)
    if gears is None:
        said = said_once(by_importance([*found.findings, *left_rigid(logs)]))
        return replace(found, findings=tuple(said))
    said = said_once(by_importance([*gears.findings, *found.findings]))
    return replace(found, elastic=gears, findings=tuple(said))


def _has_rotors(robot: "Robot") -> bool:
    """True where some drive has a rotor."""
    drives = [x.drive for x in robot.model.links if x.drive is not None]
    return any(x.rotor_inertia != 0.0 for x in drives)


def _identified(
    plan: Plan, logs: Sequence[Log], method: str, held_out: bool, force: bool
) -> Estimate:
    """The estimate of a plan on logs, with what is dubious about both."""
    robot = plan.robot

    # the logs by themselves
    findings = diagnose(robot, logs)
    if not force:
        refuse(findings, robot, "this is no log to identify from")
    if plan.processing.torque_delay == ESTIMATED:
        processing, delay_finding = _with_delay(plan, logs)
        plan = replace(plan, processing=processing)
        findings.append(delay_finding)

    # what they decide, without what is held out
    parts = Parts.of(logs) if held_out else None
    auto = is_word(plan.friction, ("auto",))
    plan, decided = plan.decided(logs if parts is None else parts.seen)
    findings += decided.findings

    # the fit, and what its residuals show
    try:
        fit = plan.fit(logs)
    except SolverError:  # no consistent arm: what any numbers show may say why
        free = replace(plan, estimator="weighted", prior=None)
        free.examine(free.fit(logs), logs, findings, auto, force)
        raise
    sought, x, full = fit.unknowns, fit.x, fit.found.full
    residual, findings = plan.examine(fit, logs, findings, auto, force)
    result = verdict(findings, robot.drive_names, residual)
    findings = [  # notes on what was replaced count for no verdict
        *findings,
        *reading_findings(logs, findings),
        *laws_replaced(robot, sought),
        *([] if decided.choices else velocities_replaced(logs, plan.asked, fit.processing)),
    ]

    # the estimate, compared with its own logs
    pairs = zip(logs, fit.processing, strict=True)
    estimate = Estimate(
        unknowns=sought,
        values=x,
        covariance=fit.covariance,
        noise_covariance=fit.noise_covariance,
        interval_sources=fit.widened.sources,
        full=sought.full(x) if full is None else full,
        condition_number=fit.found.solution.condition,
        estimator=plan.estimator,
        method=method,
        processing=tuple(fit.processing),
        training=tuple(validation(sought, x, one, chosen) for one, chosen in pairs),
        correlation=fit.correlation,
        scores=decided.scores,
        choices=decided.choices,
        findings=tuple(findings),
        verdict=result,
        logs=tuple(logs),
        asked=plan.asked,
        elsewhere=plan.processing,
    )
    findings = said_once(by_importance([*handed_over(estimate), *findings]))
    estimate = replace(estimate, findings=tuple(findings))

    # a second fit without the last part, compared with that part
    if parts is not None:
        estimate = replace(estimate, held_out=parts.held_out(plan))
    return replace(estimate, verdict=estimate.judged())


def _check_cutoff(processing: Processing, logs: Sequence[Log]) -> None:
    for log in logs:
        half = 0.5 * (processing.rate or log.rate)
        if processing.cutoff is not None and processing.cutoff > half:
            raise OptionError(
                f"cutoff is {processing.cutoff:g} Hz, expected at most {half:g} Hz, half the rate "
                f"of log {log.name!r}",
                "leave it out: it is chosen from the motion",
            )


def _check_only(only: str | None, friction: Any, method: str) -> None:
    if only is None:
        return
    choice(only, "only", ONLY)
    if is_word(friction, ("none",)):
        raise OptionError(f"only={only!r} was given with friction='none': nothing is sought")
    if method == "two-step":
        raise OptionError(f"only={only!r} was given with method='two-step'", "leave one out")


def _check_prior(prior: Any, robot: "Robot") -> None:
    most = f"rows of data, from 0 to {HEAVIEST:g}"

    def weighs(value: Any, where: str) -> None:
        number(value, where, most, lambda x: 0.0 <= x <= HEAVIEST)

    if isinstance(prior, Mapping):
        for name, value in prior.items():
            one_of(name, robot.link_names, f"prior: the robot has no link {shown(name)}")
            weighs(value, f"prior of {name}")
    elif prior is not None:
        weighs(prior, "prior")


def _with_delay(plan: Plan, logs: Sequence[Log]) -> tuple[Processing, Finding]:
    """The processing with the delay of the torque as these logs show it, and a word on it."""
    robot, processing = plan.robot, plan.processing
    model = friction_named("smooth" if is_word(plan.friction, ("auto",)) else plan.friction)
    zone = processing.dead_zone
    if zone is None and model.columns:
        zone = SLOW * model.speed
    plain = replace(processing, torque_delay=0.0, dead_zone=zone)
    motions = [samples for log in logs for samples in prepare(log, plain, robot=robot)[0]]
    sought = unknowns(robot, model, plan.rotors, None, plan.passive)
    delay = torque_delay(sought, excerpt(motions))[0]
    what = f"the torque was taken {1e3 * delay:.1f} ms after the positions, as estimated"
    return replace(processing, torque_delay=delay), Finding("note", "torques", what, "nothing")


@dataclass(frozen=True, eq=False)
class Parts:
    """Logs that are seen, and the one that is held out, from `start` on: how much it repeats them.

    Of one log that is the contiguous last third of the time; of several the last that does not
    repeat the motion of the others.
    """

    seen: Sequence[Log]
    unseen: Log
    start: float
    repeats: float

    @classmethod
    def of(cls, logs: Sequence[Log]) -> "Parts":
        """Those of some logs."""
        if len(logs) == 1:
            early, late = logs[0].split(LAST_THIRD)
            return cls([early], logs[0], float(late.t[0]), repeated(late, [early]))
        others = [[*logs[:k], *logs[k + 1 :]] for k in range(len(logs))]
        repeats = [repeated(log, rest) for log, rest in zip(logs, others, strict=True)]
        new = [k for k, share in enumerate(repeats) if share <= MOSTLY]
        k = new[-1] if new else len(logs) - 1
        return cls(others[k], logs[k], float(logs[k].t[0]), repeats[k])

    def held_out(self, plan: Plan) -> Validation:
        """A fit of what is seen, compared with the rest."""
        fit, how = plan.fit(self.seen), plan.processing
        if self.start > self.unseen.t[0]:  # as the part before it
            how = replace(how, cutoff=fit.processing[0].cutoff)
        else:
            how = carried_over(how, plan.asked, self.seen, self.unseen)
        found = validation(fit.unknowns, fit.x, self.unseen, how)
        if self.start > self.unseen.t[0]:
            found = found.between(self.start, float(self.unseen.t[-1]))
        return replace(found, repeats=self.repeats)


# the two-step method: friction and gravity from slow motions, then the rest
#
# Moving slowly, tau = Y_g(q) x_g + friction(qd) + little; what is found there is fixed while the
# exciting motion shows the rest.

FRICTION = (
    *("viscous", "viscous-", "root", "coulomb", "memory", "offset", "friction law", "load"),
    "thermal",
)
GENTLE = 0.5  # rad/s^2 or m/s^2: rows that accelerate more are no slow motion
LEAST = 0.2  # share of the rows that must be slow
RESTING = 10.0 * STILL  # rad or m: a joint that moves less only sticks
POSES = 32  # random ones, to see which unknowns gravity shows
NEEDED = "record each joint moving at constant velocities, or the arm going slowly through poses"


@dataclass(frozen=True, eq=False)
class SlowPart:
    """What slow motions show: `known` (m,), NaN for the rest, and its `covariance` (m, m)."""

    known: np.ndarray
    covariance: np.ndarray
    rows: np.ndarray  # (n,) counted per joint


def slow_estimate(
    unknowns: Unknowns, logs: Sequence[Log] | None, processing: Processing
) -> SlowPart:
    """Friction and gravity unknowns from slow logs, NaN where they are not known.

    Weighted least squares on the rows that hardly accelerate; the little torque of inertias that
    gravity does not show is taken from the robot as described. What the slow motions cannot tell
    apart stays NaN.
    """
    if not logs:
        raise OptionError("method 'two-step' needs slow=, logs of slow motions", NEEDED)
    robot = unknowns.robot
    prepared = [s for x in logs for s in prepare(x, processing, True, True, robot)[0]]
    slow = [_slow_rows(s) for s in prepared]
    rows, count = sum(map(len, slow)), sum(int(x.sum()) for x in slow)
    if count < LEAST * rows:
        worst = max(float(np.abs(s.qdd).max()) for s in prepared)
        raise OptionError(
            f"slow ({', '.join(log.name or 'log' for log in logs)}) is not slow: only {count} of "
            f"{rows} rows accelerate by less than {GENTLE:g} rad/s^2, the most is {worst:.3g}",
            NEEDED,
        )
    motions = [  # without the rows that accelerate, and the joints that only stick
        replace(s, weight=s.weight * np.outer(x, np.ptp(s.q[:, s.columns], axis=0) > RESTING))
        for s, x in zip(prepared, slow, strict=True)
    ]
    sought = gravity_unknowns(unknowns) | np.isin(unknowns.kinds, FRICTION)
    others = np.where(sought, np.nan, unknowns.values)
    with_load, loaded = with_loads(unknowns, motions, others)
    fixed = others if loaded is None else loaded
    info = information(motions, with_load, known=fixed)
    silent = [robot.drive_names[j] for j in np.flatnonzero(info.rows == 0)]
    if silent and len(unknowns.of_kind(*FRICTION)):  # their friction would stay unknown
        raise OptionError(f"slow: joints {', '.join(silent)} move in none of the logs", NEEDED)
    found = weighted(info)
    x = completed(found.x, fixed)
    distinct = sought & ~(np.isnan(fixed) & ~told_apart(info, found.weights, POOR))
    known = np.where(distinct, x, np.nan)
    covariance = noise_covariance(fitted_bands(motions, with_load, x, found.gain)[0], found.gain)
    covariance *= np.outer(distinct, distinct)
    return SlowPart(known, covariance, info.rows)


def total_covariance(
    covariance: np.ndarray, info: Information, weights: np.ndarray, slow: SlowPart
) -> np.ndarray:
    """The covariance of all unknowns when the first step's own uncertainty is counted, (m, m).

    C + T C_slow T^T,   T = [E; -(Y_r^T W Y_r)^-1 Y_r^T W Y_k],   k what was known, r the rest

    `covariance` is the second step's, `info` its motions' with nothing taken as known.
    """
    k = np.isfinite(slow.known)
    R = info.stacked(weights)[:, :-1]
    T = np.eye(len(k))
    T[np.ix_(~k, k)] = -lstsq(R[:, ~k], R[:, k], NEGLIGIBLE)
    return covariance + T[:, k] @ slow.covariance[np.ix_(k, k)] @ T[:, k].T


def gravity_unknowns(unknowns: Unknowns) -> np.ndarray:
    """Which bodies' unknowns gravity shows: their columns of Y(q, 0, 0) are not zero, (m,) bool."""
    robot, rng = unknowns.robot, np.random.default_rng(0)
    q = random_motion(robot, POSES, rng).q
    rest = np.zeros_like(q)
    size = np.abs(unknowns.regressor(q, rest, rest)).max(axis=(0, 1))
    return np.logical_and(size > 1e-9, np.isin(unknowns.kinds, RIGID))


def _slow_rows(samples: Samples) -> np.ndarray:
    """Rows that hardly accelerate, nor their neighbours that the filter mixes in, (N,) bool."""
    fast = (np.abs(samples.qdd[:, samples.columns]) > GENTLE).any(axis=1)
    reach = samples.settle // 3
    return np.logical_not(binary_dilation(fast, iterations=reach) if reach else fast)
