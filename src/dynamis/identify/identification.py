"""`dy.identify`: processing, friction model, estimator and method, carried out on logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..arguments import checked, choice, is_word, number, one_of
from ..errors import OptionError, shown
from ..logs.log import Log
from ..model.check.finding import Finding
from ..progress import stage
from .elastic.asked import left_rigid
from .elastic.elastic_estimate import ElasticEstimate
from .elastic.joints import elastic_joints
from .estimate import Estimate, Validation, handed_over, validation
from .feasible import SolverError
from .friction.models import SLOW, chosen_among, friction_named
from .plan import FIT, Plan
from .processing import ESTIMATED, Processing, carried_over, checked_logs, prepare
from .repeats import MOSTLY, repeated
from .unknowns import passive_joints, unknowns
from .verdict.diagnose import (
    constants_kept,
    diagnose,
    excerpt,
    laws_replaced,
    reading_findings,
    refuse,
    torque_delay,
    velocities_replaced,
)
from .verdict.findings import by_importance, said_once
from .verdict.verdict import verdict

if TYPE_CHECKING:
    from ..robot import Robot

METHODS = ("direct", "two-step")
ONLY = ("friction",)  # what may be sought alone, on a described arm
LAST_THIRD = 2.0 / 3.0
HEAVIEST = 1e12  # rows of data that a prior may weigh: more drown the data in rounding
TRIALS = 30  # of cut-offs, velocities, delays and radii


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
    deflection_sensor: bool = False,
    held_out: bool = True,
    force: bool = False,
    threads: int | None = None,
) -> Estimate:
    """Identify the parameters of a robot from a Log (or several).

    `friction`: "none", "viscous", "symmetric", "asymmetric", "stribeck", "smooth", "directional"
    (viscous friction by direction), "grotjahn", "loaded" (friction grows with the torque that the
    joint transmits), "loaded-grotjahn", "described" (the law that each joint has, one of your own
    too), "thermal" (viscous friction by temperature, which the log holds: see
    `Log.with_temperature`), "memory" (elements that stretch before they slip), "lugre" and "dahl"
    (bristles that bend: their stiffness, of "lugre" damping and Stribeck's law too), or "auto": the
    simplest, but for bristles, whose error on blocks of time left out in turn is within 5 % of the
    least. The log decides so too on cut-off, source of the velocities, a short delay of the torque
    and rotors, unless they are given: see `estimate.choices`.
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
    joints, with rotors and friction of their motors: see `estimate.elastic`. The links follow from
    what the gears transmit, and every error is that of the transmitted torque. With logs that hold
    both sides (`log.motor`), hardening, encoders that are sampled at different times and a torque
    that is logged early or late are found with it. Logs of one side are taken as those of the
    motors, and "auto" then means the joints described with a stiffness, or all: links are simulated
    along the motors, so excite the arm beyond the vibration of its links, 8 s or longer.
    `deflection_sensor`: what measures deflections low-passes them, as strain gauges with an
    amplifier do. Its corner and damping ratio are found with them: links are simulated along the
    measured motors from rest, where every log begins, from the stiffnesses as described.

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
    recorded = tuple(logs)
    gears = _gears(robot, logs, elastic, deflection_sensor)
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
    return replace(found, elastic=gears, recorded=recorded, findings=tuple(said))


def _gears(
    robot: "Robot", logs: Sequence[Log], elastic: Any, sensor: bool
) -> ElasticEstimate | None:
    """The elastic joints that were asked for."""
    if elastic is not None:
        return elastic_joints(robot, logs, elastic, sensor)
    if sensor:
        raise OptionError("deflection_sensor was given without elastic", 'elastic="auto"')
    return None


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
        *constants_kept(robot, sought),
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
    delay = torque_delay(sought, excerpt(motions, sought))[0]
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
