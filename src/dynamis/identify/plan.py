"""Everything an identification is asked for but the logs, carried out on logs: a fit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_word
from ..lazy import cached_property
from ..logs.log import Log
from ..model.check.finding import Finding
from ..model.spring import Spring
from ..progress import Stage
from .deviations import Bands, fitted_bands, noise_bias, noise_covariance
from .estimators import FitProblem, Found, absurd_loads, estimator_named, with_bounds
from .friction.bristles import bristle_findings, held_bristles, with_bristles
from .friction.dense_rows import rows_to_fit
from .friction.models import SLOW, friction_named
from .information import (
    Information,
    completed,
    information,
    weighted,
)
from .processing import Processing, Samples
from .scatter import Widened, by_kind, fitted_scatter, widened
from .search.choice import Decided
from .search.search import Search
from .two_step import SlowPart, slow_estimate, total_covariance
from .unknowns import RIGID, Unknowns, unknowns
from .verdict.described import as_described
from .verdict.diagnose import (
    POOR,
    Excerpt,
    LogError,
    driving_friction,
    excerpt,
    far_from_consistent,
    few_rows,
    gravity_difference,
    gravity_shares,
    late_torque,
    missing_rotors,
    not_exciting,
    not_told_apart,
    other_reading,
    refuse,
    saturation,
    torque_size,
    unexplained,
    without_directions,
    worse_with_other_signs,
)
from .verdict.findings import by_importance
from .verdict.trials import (
    best_tilt,
    confirmed_driving,
    offsets_of_springs,
    spring_asked,
)
from .verdict.verdict import (
    Leftover,
    better_with_rotors,
    leftover,
    noise_as_fitted,
    poor_joints,
)

if TYPE_CHECKING:
    from ..robot import Robot

OTHER_CUTOFFS = (0.5, 2.0)  # times the cut-off, that are tried
MOST = 0.2  # of the sampling rate: the highest of them
LIKE_BRISTLES = "memory"  # the model that stands for bristles while the log decides on the rest
TRIED_SPRING = "tried spring"
FIT = 20  # trials of a search that take about as long as a fit


@dataclass(frozen=True, eq=False)
class Fit:
    """What came of a plan on some logs; `problem` has every row alike, `found` as weighted."""

    problem: FitProblem
    found: Found
    processing: list[Processing]
    slow: SlowPart | None
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
        sought = unknowns(self.robot, model, self.rotors, self.threads, self.passive)
        prepared = [rows_to_fit(log, processing, sought.friction, self.robot) for log in logs]
        motions = [samples for found, _ in prepared for samples in found]
        slow = (
            slow_estimate(sought, self.slow, self._for_slow(processing)) if self.two_step else None
        )
        known = self._described(sought) if slow is None else slow.known
        sought, known = with_bounds(*with_bristles(sought, motions, known), motions)
        self.tell(f"fitted by {self.estimator}")
        problem, found = self._estimated(motions, sought, known)
        if sought.history.bent.points:
            found = self._with_bristles_kept(problem, found)
        known = problem.known
        self.shown(self.shown.done + FIT)
        solution = replace(found.solution, x=completed(found.solution.x, known))
        # as the robot that is handed over computes it
        sought = replace(sought, rigid=solution.x).linearised_at(solution.x)
        found, chosen = replace(found, solution=solution), [resolved for _, resolved in prepared]
        of = [k for k, (pieces, _) in enumerate(prepared) for _ in pieces]
        return Fit(replace(problem, unknowns=sought), found, chosen, slow, of)

    def _with_bristles_kept(self, problem: FitProblem, found: Found) -> Found:
        """The unknowns with the constants of bristles where the search left them.

        Columns are their slopes there, which other estimators would follow too far; covariances
        are those of all unknowns together.
        """
        held = held_bristles(problem.unknowns, problem.known)
        info = information(problem.motions, problem.unknowns, known=held)
        again = estimator_named(self.estimator)(replace(problem, info=info, known=held))
        x = completed(again.solution.x, held)
        solution = replace(found.solution, x=x, sigma=again.solution.sigma)
        return replace(found, solution=solution, full=again.full)

    def _estimated(
        self, motions: Sequence[Samples], sought: Unknowns, known: np.ndarray | None
    ) -> tuple[FitProblem, Found]:
        """What the estimator finds; friction under load that no gear has is zero, as `with_loads`.

        The estimator may find more than least squares did, where bodies are bound.
        """
        own = np.asarray(sought.robot.parameters.values, dtype=float)
        while True:
            info = information(motions, sought, known=known)
            problem = FitProblem(motions, sought, info, self.prior, own, known)
            found = estimator_named(self.estimator)(problem)
            absurd = absurd_loads(sought, completed(found.solution.x, known))
            absurd = absurd if known is None else absurd[np.isnan(known[absurd])]
            if not len(absurd):
                return problem, found
            known = np.full(len(sought), np.nan) if known is None else known.copy()
            known[absurd] = 0.0

    def _for_slow(self, processing: Processing) -> Processing:
        """Slow logs are filtered as their own motion says."""
        return replace(processing, cutoff=self.asked.cutoff)

    def decided(self, logs: Sequence[Log]) -> tuple["Plan", Decided]:
        """The plan with what these logs decide, of what the caller left open."""
        some_torque(logs)
        auto = is_word(self.friction, ("auto",))
        model = None if auto else friction_named(self.friction).described_by(self.robot)
        bent = model is not None and model.has_bristles and not model.bristles
        found = self._search(logs, LIKE_BRISTLES if bent else self.friction, self.rotors)
        if bent:  # once more with the bristles that show now: without, they look like a delay
            now = replace(self, estimator="weighted", prior=None, two_step=False, slow=None)
            now = replace(now, processing=found.processing, rotors=found.rotors)
            first = now.fit(logs).unknowns.friction
            found = replace(self._search(logs, first, found.rotors), friction=model)
        given = {"friction": found.friction, "rotors": found.rotors}
        return replace(self, processing=found.processing, **given), found

    def _search(self, logs: Sequence[Log], friction: Any, rotors: bool | None) -> Decided:
        """What these logs decide with a friction model, or "auto"."""
        search = Search(
            robot=self.robot,
            logs=logs,
            processing=self.processing,
            friction=friction,
            rotors=rotors,
            passive=self.passive,
            threads=self.threads,
            only=self.only is not None,
            tell=self._tried,
        )
        return search.run()

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
        seconds = sum(log.duration for log in logs)
        found = [*not_told_apart(sought, info, condition_number, seconds)]
        found += [*saturation(robot, logs), *torque_size(robot, rows, sought)]
        poor = [*poor_joints(residual, joints, friction=not auto)]
        if condition_number < POOR:  # else any number may stand for a friction or a mass
            gravity = gravity_difference(robot, sought, free, rows)
            found += self.causes(fit, free, rows, gravity, bool(poor), logs)
            found += self.rotors_tried(fit, rows, residual, logs)
            found += self.springs_tried(fit, free, rows, residual, logs)
        found += bristle_findings(sought, fit.covariance, fit.motions)
        with_memory = excerpt(fit.motions, sought)  # what turns back little by little looks late
        found += late_torque(sought, with_memory, max(log.step for log in logs))
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
        described = [] if wrong else [*as_described(sought, rows)]
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


def some_torque(logs: Sequence[Log]) -> None:
    """Refuse logs that give nothing to scale by, forced or not."""
    if not any(log.tau.any() for log in logs):
        seconds = sum(log.duration for log in logs)
        raise LogError(
            f"every torque is zero in all {seconds:.4g} s to fit",
            "check the columns of the torques, or cut off where there are none",
        )
