"""Design of exciting motions: Fourier series that say most about the parameters of a robot.

J. Swevers et al., Optimal robot excitation and identification, 1997, with rest at both ends. The
condition number alone is a poor criterion: the default is D-optimality with a small ridge.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, is_word, whole
from ..errors import OptionError, did_you_mean
from ..identify.frictions import friction_named
from ..identify.unknowns import unknowns
from ..model.check.finding import Finding
from ..progress import bar, visible
from ..trajectory.arguments import positive
from .excitation import Demand, Excitation, Gain
from .limits import resolved
from .problem import CRITERIA, Figures, Measure, measure
from .series import Series
from .verify import Check
from .workspace import workspace

if TYPE_CHECKING:
    from ..robot import Robot

RANDOM = 40  # random series: the starts are the best of them, the gain is over them
QUICK = 200  # times in a period at which random series are looked at
MOST_HARMONICS, MOST = 1_000, 100_000  # beyond, nobody waits for the design
SAMPLES = 8  # samples of the design per harmonic, at least 40 in all
ITERATIONS = 80


@checked
def excite(
    robot: "Robot",
    harmonics: int = 5,
    period: float = 10.0,
    *,
    criterion: str = "d-optimal",
    friction: Any = "asymmetric",
    periods: int = 1,
    samples: int | None = None,
    starts: int = 4,
    limits: bool = True,
    q_limits: Any = None,
    qd_limits: Any = None,
    qdd_limits: Any = None,
    torque_limits: Any = None,
    center: Any = None,
    table: Any = None,
    clearance: float | None = None,
    capsule_radius: float = 0.05,
    ridge: float = 1e-6,
    seed: int = 0,
    progress: bool | None = None,
    max_iterations: int = ITERATIONS,
) -> Excitation:
    """Design a periodic motion from which the robot's parameters can be told best.

    Every joint follows `harmonics` multiples of 1/period and is at rest at both ends. `criterion`
    is "d-optimal" or "condition"; `friction` as for identify. Limits are the model's own (position,
    velocity_limit, effort_limit) unless given: q_limits (n, 2), the others a number per joint, or
    one for all. `center` holds the middle of the motion (numbers, or a configuration's name).

    `table` is a height (or a point and a normal) no part of the arm may go below, `clearance` the
    metres between links that are not neighbours; links are capsules of `capsule_radius`.
    `samples` per period and `max_iterations` from each of `starts` random motions trade time for
    quality; the same `seed` gives the same motion.
    """
    period = positive(period, "period", "in seconds")
    ridge = positive(ridge, "ridge", "(1e-6, say)")
    whole(harmonics, "harmonics", 2, MOST_HARMONICS)
    whole(seed, "seed", 0)
    for name, value in (
        ("periods", periods),
        ("starts", starts),
        ("max_iterations", max_iterations),
    ):
        whole(value, name, 1, MOST)
    if not is_word(criterion, CRITERIA):
        raise OptionError(
            f"criterion is {criterion!r}, expected one of {', '.join(CRITERIA)}",
            did_you_mean(criterion, CRITERIA),
        )
    count = max(40, SAMPLES * harmonics) if samples is None else samples
    whole(count, "samples", 2 * harmonics + 1, MOST)
    bounds = resolved(robot, limits, center, q_limits, qd_limits, qdd_limits, torque_limits)
    asked = unknowns(robot, friction_named(friction))
    space = workspace(robot, table, clearance, capsule_radius, bounds.q)
    check = Check(robot, bounds, space, Series(harmonics, period, bounds))

    crowd = _crowd(check, np.random.default_rng(seed))
    state = [x.reshape(-1, robot.n) for x in check.series.states(crowd, _between(check))]
    scale = measure(asked, criterion, ridge, tuple(state))  # type: ignore[arg-type]
    random = [_figures(check, scale, X) for X in crowd]
    order = sorted(range(len(crowd)), key=lambda i: -random[i].value)[:starts]
    with bar(f"exciting {robot.name}", len(order) * max_iterations, progress) as done:
        shown = done if visible(progress) else None
        found, status = _designed(check, scale, crowd[order], (count, max_iterations), shown)
    notes = [*bounds.findings, *space.findings]
    start = random[order[0]], crowd[order[0]]
    best, X = max([start, *found], key=lambda pair: pair[0].value)
    if best is start[0]:
        what = f"the optimiser found nothing better than random ({', '.join(status)})"
        notes.append(Finding("warning", "design", what, "give it more starts or iterations"))
    return Excitation(
        robot=robot,
        trajectory=check.series.trajectory(X),
        criterion=criterion,
        value=best.value,
        condition_number=best.condition_number,
        log_det=best.log_det,
        unknowns=asked.names,
        gain=_gain(best, random, len(asked)),
        demand=_demand(check, X),
        usual_torque=1.0 / scale.rows,
        findings=tuple(sorted([*notes, *check.findings(X)])),
        periods=periods,
        status=tuple(status),
    )


def _crowd(check: Check, rng: np.random.Generator) -> np.ndarray:
    """Random series that keep every limit, each as large as it can be."""
    places = check.places(rng, RANDOM)
    if len(places):
        X = check.series.random(rng, places, check.times(QUICK))
        X, factor = check.repaired(X, QUICK)
        X = X[factor > 0.0]
        if len(X):
            return X
    raise OptionError(
        f"no motion of robot {check.robot.name!r} was found that keeps its limits",
        "look at torque_limits (can the arm hold its own weight?), table, clearance and center",
    )


def _designed(
    check: Check, scale: Measure, begin: np.ndarray, effort: tuple[int, int], shown: Any
) -> tuple[list[tuple[Figures, np.ndarray]], list[str]]:
    """What the optimiser makes of each start, shrunk to its limits; and how it ended."""
    from .problem import Problem

    samples, iterations = effort
    done = [0, 0]  # starts, iterations of the present one

    def watch() -> None:
        done[1] = min(done[1] + 1, iterations)
        shown(done[0] * iterations + done[1])

    problem = Problem(check, scale, samples, iterations, watch if shown else None)
    found, status = [], []
    for X in begin:
        better, word = problem.solve(X)
        status.append(word)
        done[:] = done[0] + 1, 0
        if np.isfinite(better).all():
            fitted, factor = check.repaired(better[None])
            if factor[0] > 0.0:
                found.append((_figures(check, scale, fitted[0]), fitted[0]))
    return found, status


def _figures(check: Check, scale: Measure, X: np.ndarray) -> Figures:
    return scale.figures(*check.series.states(X, _between(check)))


def _between(check: Check) -> np.ndarray:
    """Times in the middle of each step: at rest, rounding would decide the sign of a velocity."""
    return check.times(QUICK) + 0.5 * check.series.period / QUICK


def _gain(best: Figures, random: list[Figures], m: int) -> Gain:
    conditions = np.array([f.condition_number for f in random])
    volumes = np.array([f.log_det for f in random])
    more = np.exp((best.log_det - np.array([np.median(volumes), volumes.max()])) / m)
    return Gain(
        float(np.median(conditions) / best.condition_number),
        float(conditions.min() / best.condition_number),
        float(more[0]),
        float(more[1]),
    )


def _demand(check: Check, X: np.ndarray) -> Demand:
    q, qd, qdd = check.series.states(X, check.times())
    tau = check.robot.inverse_dynamics(q, qd, qdd)
    return Demand(q.min(axis=0), q.max(axis=0), *(np.abs(x).max(axis=0) for x in (qd, qdd, tau)))
