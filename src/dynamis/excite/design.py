"""Design of exciting motions: Fourier series that say most about the parameters of a robot.

J. Swevers et al., Optimal robot excitation and identification, 1997, with rest at both ends. The
condition number alone is a poor criterion: the default is D-optimality with a small ridge.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..arguments import checked, choice, is_word, number, positive, whole
from ..compile.tracer import SX, nested
from ..dynamics import projected
from ..errors import OptionError
from ..identify.friction.models import friction_named
from ..identify.unknowns import unknowns
from ..ik.driven import deciding
from ..model.chain import Chain
from ..model.check.finding import Finding
from ..model.friction import LAWS
from ..model.world import World
from ..progress import stage, visible
from .band import SEEN, Band, checked_band, multisine, unreached_resonances
from .excitation import CRITERIA, Demand, Excitation, Figures, Gain, Measure, measure
from .limits import Bounds, resolved
from .loops import USUAL_CONDITION, Loops
from .numeric import Numeric
from .series import Check, Series
from .traced_loops import Follow, all_joints, at_samples, loop_limits, motion_symbols
from .workspace import (
    CLEARANCE,
    FLOOR,
    LEAST,
    LOOKS,
    NO_PAIRS,
    USUAL,
    clearance_margins,
    floor_left_out,
    links_left_out,
)

if TYPE_CHECKING:
    from ..robot import Robot

RANDOM = 40  # random series: the starts are the best of them, the gain is over them
QUICK = 200  # times in a period at which random series are looked at
MOST_HARMONICS, MOST = 1_000, 100_000  # beyond, nobody waits for the design
SHRINK, SHRINKS = 0.8, 20  # by which, and how often, a band is made smaller to keep limits
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
    passive_friction: Any = "described",
    periods: int = 1,
    samples: int | None = None,
    starts: int = 4,
    limits: bool = True,
    q_limits: Any = None,
    qd_limits: Any = None,
    qdd_limits: Any = None,
    torque_limits: Any = None,
    center: Any = None,
    table: Any = FLOOR,
    clearance: float | str | None = USUAL,
    capsule_radius: float | None = None,
    world: World = None,
    max_condition: float | str | None = USUAL,
    band: Any = None,
    band_share: float = 0.1,
    ridge: float = 1e-6,
    seed: int = 0,
    progress: bool | None = None,
    max_iterations: int = ITERATIONS,
) -> Excitation:
    """Design a periodic motion from which the robot's parameters can be told best.

    Every joint follows `harmonics` multiples of 1/period and is at rest at both ends. `criterion`
    is "d-optimal" or "condition"; `friction` and `passive_friction` as for identify. Limits are the
    model's own (position, velocity_limit, effort_limit) unless given: q_limits (n, 2), the others
    a number per joint, or one for all. `center` holds the middle of the motion (numbers, or a
    configuration's name).

    `table` is a height (or a point and a normal) no part of the arm may go below: "floor" is the
    height of the base. `clearance` are the metres to it, to a `world` and between bodies of
    the arm that no joint joins: "usual" is 0.02. Bodies are the shapes of the model for collision,
    with what is fixed to the base (a torso, a head, locked arms), each as the capsule, sphere or
    box around it; links without shapes are straight rods of `capsule_radius` (default: 0.05 m,
    less for small arms): give more where they are thicker. Findings say which. Where the defaults
    cannot be kept, a finding says so; None leaves a check out, but not the world. `worst_clearance`
    of the result is how near the arm comes to anything.

    The series of a closed mechanism move its drives (`independent`); the other joints follow from
    its home, or from `center` (all joints, or those of the drives), in the same assembly. Limits
    may be given for the drives alone; those of passive joints are kept too. `max_condition` bounds
    the condition numbers of both kinds of `robot.singularity`, and a fifth of that of the loops:
    "usual" is 20. `worst_conditioning` of the result is the largest.

    `band` (lowest, highest) in Hz adds tones of small amplitude there, of equal acceleration, each
    joint its own: for resonances, stiffness and frequency responses. "resonances" is the band
    around those of elastic joints. It gets `band_share` of every limit (position, velocity,
    acceleration, torque; where a joint has no limit of torque, of the largest it needs without
    band), and all limits hold for the motion with it.

    `samples` per period and `max_iterations` from each of `starts` random motions trade time for
    quality; the same `seed` gives the same motion.
    """
    deciding(robot, "excitation")
    period = positive(period, "period", "seconds")
    ridge = positive(ridge, "ridge", "a number")
    whole(harmonics, "harmonics", 2, MOST_HARMONICS)
    whole(seed, "seed", 0)
    counts = {"periods": periods, "starts": starts, "max_iterations": max_iterations}
    for name, value in counts.items():
        whole(value, name, 1, MOST)
    choice(criterion, "criterion", CRITERIA)
    count = max(40, SAMPLES * harmonics) if samples is None else samples
    whole(count, "samples", 2 * harmonics + 1, MOST)
    bounds = resolved(robot, limits, center, q_limits, qd_limits, qdd_limits, torque_limits)
    share = number(band_share, "band_share", "from 0 to below 1", lambda x: 0.0 < x < 1.0)
    looks = _looks(robot, bounds, _loops(robot, bounds, max_condition))
    tones = checked_band(band, robot, looks, harmonics / period)
    wave = None if tones is None else multisine(period, *tones, robot.dof)
    room = bounds if wave is None else bounds.within(share, robot)
    loops = _loops(robot, room, max_condition)
    asked = unknowns(robot, friction_named(friction), passive=passive_friction)
    series = Series(harmonics, period, room if loops is None else room.of(robot.independent))
    with stage(f"exciting {robot.name}: random motions", wanted=progress):
        check, crowd = _kept_apart(
            robot, series, loops, table, clearance, capsule_radius, seed, world
        )
        space = check.space
        states = check.states(crowd, _between(check))
        usual = tuple(x.reshape(-1, robot.n) for x in states)
        scale = measure(asked, criterion, ridge, usual)  # type: ignore[arg-type]
        random = [scale.figures(*(x[k] for x in states)) for k in range(len(crowd))]
    order = sorted(range(len(crowd)), key=lambda i: -random[i].value)[:starts]
    with stage(f"exciting {robot.name}", len(order) * max_iterations, progress) as done:
        shown = done if visible(progress) else None
        used = None if loops is None else _used(check, states)
        effort = count, max_iterations
        found, status = _designed(check, scale, crowd[order], effort, shown, used)
    notes = [*bounds.findings, *space.findings]
    start = random[order[0]], crowd[order[0]]
    best, X = max([start, *found], key=lambda pair: pair[0].value)
    if loops is not None and best is start[0]:  # it was looked at less often than designs are
        X = check.repaired(X[None])[0][0]
        best = _figures(check, scale, X)
        start = best, X
    random_is_best = best is start[0]
    if wave is not None:
        check, X, added = _with_band(check, X, wave, bounds, share)
        best, notes = _figures(check, scale, X), [*notes, *added]
    beyond = check.series.highest / period
    notes += unreached_resonances(robot, looks, None if tones is None else tones[0], beyond)
    if random_is_best:
        what = f"the optimiser found nothing better than random ({', '.join(status)})"
        notes.append(Finding("warning", "design", what, "give it more starts or iterations"))
    q, *_ = check.states(X, check.times())
    return Excitation(
        robot=robot,
        trajectory=check.trajectory(X),
        criterion=criterion,
        **best._asdict(),
        unknowns=asked.names,
        gain=_gain(best, random, len(asked)),
        demand=_demand(check, X),
        usual_torque=1.0 / scale.rows,
        findings=tuple(sorted([*notes, *check.findings(X)])),
        periods=periods,
        status=tuple(status),
        worst_clearance=space.worst(q, check.times()),
        worst_conditioning=None if loops is None else loops.worst(q, check.times()),
        loops=check.loops,
        band=check.series.band,
    )


def _looks(robot: "Robot", bounds: Bounds, loops: Loops | None) -> np.ndarray:
    """Configurations within limits at which an elastic robot has its resonances, (k, n)."""
    if not robot.chain.elastic:
        return np.zeros((0, robot.n))
    if loops is not None:
        return loops.seen(SEEN)
    own = np.random.default_rng(0).uniform(-0.7, 0.7, (SEEN, robot.n))
    return bounds.middle + bounds.half * np.concatenate([np.zeros((1, robot.n)), own])


def _with_band(
    check: Check, X: np.ndarray, wave: Band, bounds: Bounds, share: float
) -> tuple[Check, np.ndarray, list[Finding]]:
    """The checks of a series with a band that gets its share of all limits; findings.

    The series keeps the limits less that share; where the torque, clearance or a singularity asks
    for it the band is made smaller.
    """
    robot, decide = check.robot, list(check.robot.independent)
    q, qd, qdd = check.states(X, check.times())
    tau = np.abs(robot.inverse_dynamics(q, qd, qdd)).max(axis=0)
    inertia = np.diagonal(robot.mass_matrix(q), axis1=-2, axis2=-1).max(axis=0)
    own = bounds.of(decide)
    torque = np.where(np.isfinite(own.tau), own.tau, tau[decide])
    torque = np.where(torque > 0.0, torque, np.inf)
    with np.errstate(divide="ignore"):
        most = np.stack([own.half, own.qd, np.minimum(own.qdd, torque / inertia)])
    wave = wave.scaled(share * np.min(most / wave.peaks, axis=0))
    loops = None if check.loops is None else replace(check.loops, bounds=bounds)
    for k in range(SHRINKS):
        series, again = check.series.with_band(wave.scaled(SHRINK**k), own, X)
        whole = replace(check, series=series, loops=loops)
        if whole.excess(again[None])[0] <= 0.0:
            break
    size = SHRINK**k
    if size == 1.0:
        return whole, again, []
    what = f"the band has {100 * size:.3g} % of its share: more would break a limit"
    remedy = "wider limits, another center, or a smaller band_share"
    return whole, again, [Finding("note", "band", what, remedy)]


def _loops(robot: "Robot", bounds: Bounds, most: Any) -> Loops | None:
    """What a closed mechanism adds to the design; None of an open arm."""
    usual = is_word(most, (USUAL,))
    if not (usual or most is None):
        above = "a number above 1, 'usual' or None"
        most = number(most, "max_condition", above, lambda x: 1.0 < x < np.inf)
    if robot.model.closures:
        return Loops(robot, bounds, USUAL_CONDITION if usual else most)
    if not (usual or most is None):
        raise OptionError(
            f"max_condition is {most:g}: robot {robot.name!r} has no closures",
            "it bounds the condition numbers of closed mechanisms: leave it out",
        )
    return None


def _kept_apart(
    robot: "Robot",
    series: Series,
    loops: Loops | None,
    table: Any,
    clearance: Any,
    radius: Any,
    seed: int,
    world: Any,
) -> tuple[Check, np.ndarray]:
    """The checks of a robot and random series that keep them; defaults that none keeps give way."""
    usual = is_word(clearance, (USUAL,))
    clearance = CLEARANCE if usual else clearance
    tried = [(table, clearance), *([(table, None)] if usual else [])]
    if is_word(table, (FLOOR,)):
        tried += [(None, x) for _, x in tried]
    looks = None if loops is None else loops.seen(LOOKS)
    for k, (above, apart) in enumerate(tried, 1):
        space = clearance_margins(robot, above, apart, radius, series.bounds.q, looks, world)
        why = "no motion within the limits was found that keeps it"
        notes = [f for f in space.findings if not (usual and f.what == NO_PAIRS)]
        notes += [floor_left_out(why)] if above is not table else []
        notes += [links_left_out(why)] if apart is not clearance else []
        check = Check(robot, replace(space, findings=tuple(notes)), series, loops)
        try:
            return check, _crowd(check, np.random.default_rng(seed))
        except OptionError:
            if k == len(tried):
                raise
    raise AssertionError


def _crowd(check: Check, rng: np.random.Generator) -> np.ndarray:
    """Random series that keep every limit, each as large as it can be."""
    places = check.places(rng, RANDOM)
    if len(places):
        X = check.series.random(rng, places, check.times(QUICK))
        X, factor = check.repaired(X, QUICK if check.loops is None else QUICK // 2)
        X = X[factor > 0.0]
        if check.loops is not None and len(X):
            X = X[np.isfinite(check.states(X, _between(check))[0]).all(axis=(1, 2))]
        if len(X):
            return X
    raise OptionError(
        f"no motion of robot {check.robot.name!r} was found that keeps its limits",
        "look at torque_limits (can the arm hold its own weight?), table, clearance, center"
        + (" and max_condition" if check.loops else ""),
    )


def _used(check: Check, states: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    """The largest fraction of each limit that motions use, by name, (n,)."""
    return {k: x.max(axis=tuple(range(x.ndim - 1))) for k, x in check.uses(*states).items()}


def _designed(
    check: Check,
    scale: Measure,
    begin: np.ndarray,
    effort: tuple[int, int],
    shown: Any,
    used: dict[str, np.ndarray] | None,
) -> tuple[list[tuple[Figures, np.ndarray]], list[str]]:
    """What the optimiser makes of each start, shrunk to its limits; and how it ended."""
    samples, iterations = effort
    done = [0, 0]  # starts, iterations of the present one

    def watch() -> None:
        done[1] = min(done[1] + 1, iterations)
        shown(done[0] * iterations + done[1])

    problem = Problem(check, scale, samples, iterations, watch if shown else None, used)
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
    return scale.figures(*check.states(X, _between(check)))


def _between(check: Check) -> np.ndarray:
    """Times in the middle of each step: at rest, rounding would decide the sign of a velocity."""
    looks = QUICK if check.series.band is None else check.looks
    return check.times(looks) + 0.5 * check.series.period / looks


def _gain(best: Figures, random: list[Figures], m: int) -> Gain:
    conditions = np.array([f.condition_number for f in random])
    volumes = np.array([f.log_det for f in random])
    less = np.array([np.median(conditions), conditions.min()]) / best.condition_number
    more = np.exp((best.log_det - np.array([np.median(volumes), volumes.max()])) / m)
    return Gain(*less.tolist(), *more.tolist())


def _demand(check: Check, X: np.ndarray) -> Demand:
    q, qd, qdd = check.states(X, check.times())
    tau = check.robot.inverse_dynamics(q, qd, qdd)
    return Demand(q.min(axis=0), q.max(axis=0), *(np.abs(x).max(axis=0) for x in (qd, qdd, tau)))


# the design as a nonlinear program: CasADi expressions, exact gradients, IPOPT

INSIDE = 0.995  # fraction of each limit the design uses: little is left to shrink afterwards
REVERSAL = 0.05  # velocity, as a fraction of its limit, over which a smooth sign turns
LITTLE, HALF = 0.4, 0.5  # of torques and positions that usual motions use: less is not watched
CLOSER, SMALL = 2, 12  # looks at limits per sample of a closed mechanism of so many joints
GRID = 12  # looks at linear limits per harmonic
EXPRESSED = 100  # unknowns up to which the criterion is an expression of CasADi's
KINK = 0.05  # smooth maximum: its error at the kink is half of this

IPOPT = {
    **{"print_level": 0, "sb": "yes", "mu_strategy": "adaptive", "tol": 1e-4},
    **{"hessian_approximation": "limited-memory", "limited_memory_max_history": 30},
    **{"acceptable_tol": 1e-2, "acceptable_obj_change_tol": 1e-4, "acceptable_iter": 5},
}


class Problem:
    """Maximise the criterion over the series of one robot; built once, solved from many starts.

    Limits that usual motions `used` little of are left to the check afterwards.
    """

    def __init__(
        self,
        check: Check,
        measure: Measure,
        samples: int,
        iterations: int,
        watch: Callable[[], None] | None = None,
        used: dict[str, np.ndarray] | None = None,
    ):
        self.check, self.series, self.used = check, check.series, used or {}
        self.x = ca.MX.sym("x", self.series.rows, self.series.n)
        closer = CLOSER if check.loops is not None and check.robot.n <= SMALL else 1
        looks = closer * samples
        self.t = np.linspace(0.0, self.series.period, looks, endpoint=False)
        state = self._states(self.t)
        self.follow = None if check.loops is None else Follow(check.loops, looks)
        if self.follow is not None:
            state[0] = self.follow(state[0])
        some = state if closer == 1 else [x[:, ::closer] for x in state]
        self.objective = self._objective(measure, some, samples)
        self.limits = [*self._linear_limits(), *self._other_limits(state, looks)]
        x, g = ca.vec(self.x), ca.vertcat(*(ca.vec(limit) for limit, _, _ in self.limits))
        options: dict[str, Any] = {"print_time": False, "error_on_fail": False}
        options["show_eval_warnings"] = self.follow is None
        options["ipopt"] = {**IPOPT, "max_iter": iterations}
        if watch is not None:
            self._watcher = _Watcher(x.numel(), g.numel(), watch)  # CasADi keeps no reference
            options["iteration_callback"] = self._watcher
        self.values = ca.Function("values", [self.x], [g])
        problem = {"x": x, "f": self.objective, "g": g}
        self.solver = ca.nlpsol("design", "ipopt", problem, options)

    def solve(self, X: np.ndarray) -> tuple[np.ndarray, str]:
        """The best series near X, and IPOPT's word for how it ended."""
        if self.follow is not None and not self.follow.begin(self.check.states(X, self.t)[0]):
            return np.full_like(X, np.nan), "Not_Followed"
        free = np.full((self.series.rows, self.series.n), np.inf)
        if self.series.bounds.center is not None:
            free[0] = 0.0
        low, high = (np.concatenate([limit[k] for limit in self.limits]) for k in (1, 2))
        if self.follow is not None:  # what stays on the side that it starts on
            up, sided = np.asarray(self.values(X)).ravel() > 0.0, np.isnan(low)
            low = np.where(sided, np.where(up, 0.0, -np.inf), low)
            high = np.where(sided, np.where(up, np.inf, 0.0), high)
        with interruptible():
            found = self.solver(
                x0=X.flatten(order="F"),
                lbx=-free.flatten(order="F"),
                ubx=free.flatten(order="F"),
                lbg=low,
                ubg=high,
            )
        status = str(self.solver.stats()["return_status"])
        if status == "User_Requested_Stop":
            raise KeyboardInterrupt
        return np.asarray(found["x"]).reshape(X.shape, order="F"), status

    def _states(self, t: np.ndarray) -> list[Any]:
        """q, qd, qdd at times t as expressions, (n, T) each."""
        s = self.series
        moves = self.x[1:, :].T
        scale = ca.DM(s.size)
        place = ca.DM(s.middle) + self.x[0, :].T * ca.DM(s.bounds.half)
        q, qd, qdd = (
            ca.mtimes(moves, ca.DM(shape.T)) * ca.repmat(scale, 1, len(t)) for shape in s.shapes(t)
        )
        return [q + ca.repmat(place, 1, len(t)), qd, qdd]

    def _objective(self, measure: Measure, state: list[Any], K: int) -> Any:
        m = len(measure.unknowns)
        drives = measure.unknowns.robot.driven

        def one(*motion: Any, fn: Any) -> Any:  # Z = W Y D of one sample, (n, m)
            Y = projected.regressor(*motion, fn=fn)
            full = ca.vertcat(*(ca.horzcat(*(ca.SX(x) for x in Y[k])) for k in drives))
            picked = ca.mtimes(full, ca.sparsify(ca.DM(measure.unknowns.pick)))
            left, right = (ca.diag(ca.DM(x)) for x in (measure.rows, measure.columns))
            return ca.densify(ca.mtimes([left, picked, right]))

        traced = _smooth_function(measure.unknowns.robot.chain, self._speed, one)
        stacked = ca.vertcat(*ca.horzsplit(traced.map(K)(*state), m))
        A = ca.mtimes(stacked.T, stacked) / K + measure.ridge * ca.MX.eye(m)
        self._value = _criterion(measure.criterion, m)  # CasADi keeps no reference
        return -self._value(A)

    def _linear_limits(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Position, velocity, acceleration: sparse rows, a joint depends on its own numbers."""
        b = self.series.bounds
        looks = GRID * self.series.harmonics
        t = np.linspace(0.0, self.series.period, looks, endpoint=False)
        q, qd, qdd = self._states(t)
        w = 2.0 * np.pi * self.series.harmonics / self.series.period
        for x, middle, half in ((q, b.middle, b.half), (qd, 0.0, b.qd), (qdd, 0.0, b.qdd)):
            if self.follow is not None and x is qd and (half >= w * b.half).all():
                continue  # |qd| <= w |q - middle| for degree H (Bernstein)
            if np.isfinite(half).any():
                low, high = (np.tile(middle + s * INSIDE * half, looks) for s in (-1.0, 1.0))
                yield x, low, high

    @property
    def _speed(self) -> np.ndarray:
        """Velocities that friction is smoothed by: limits, the highest where there is none."""
        speed = self.check.bounds.qd
        return np.where(np.isfinite(speed), speed, speed[np.isfinite(speed)].max())

    def _other_limits(
        self, state: list[Any], K: int
    ) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Torques of the limited joints as fractions of their limits, clearance margins."""
        check, b, space, n = self.check, self.check.bounds, self.check.space, self.check.robot.n
        limited = np.flatnonzero(np.isfinite(b.tau) & (self.used.get("torque", 1.0) > LITTLE))
        mapped = at_samples if check.loops is not None else ca.Function.map

        def used(*motion: Any, fn: Any) -> Any:
            tau = projected.inverse_dynamics(*motion, fn=fn)
            return ca.vertcat(*(ca.SX(tau[i]) / float(b.tau[i]) for i in limited.tolist()))

        if len(limited):
            ones = np.full(len(limited) * K, INSIDE)
            torque = _smooth_function(check.robot.chain, self._speed, used)
            yield mapped(torque, K)(*state), -ones, ones
        if check.loops is not None:
            wide = np.flatnonzero(self.used.get("position", np.ones(n)) > HALF)
            yield from loop_limits(check.loops, state, K, INSIDE, wide.tolist())
        if space.near:
            q = ca.SX.sym("q", n)
            margins = space.margins(nested(q, (n,)), SX)
            near = ca.vertcat(*(margins[k] for k in space.near))
            values = mapped(ca.Function("margins", [q], [near]), K)(state[0])
            least = np.full(len(space.near) * K, LEAST)
            yield values, least, np.full(len(least), np.inf)


@contextmanager
def interruptible() -> Iterator[None]:
    """What Ctrl-C raises inside comes out, though CasADi takes it for a failed evaluation."""
    old, raised = signal.getsignal(signal.SIGINT), []

    def handler(signum: int, frame: Any) -> None:
        try:
            old(signum, frame)  # type: ignore[operator]
        except BaseException as error:
            raised.append(error)
            raise

    if not callable(old) or threading.current_thread() is not threading.main_thread():
        yield  # signals are ignored, or arrive in another thread
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
    if raised:
        raise raised[0]


def smooth(chain: Chain, speed: np.ndarray) -> Chain:
    """The arm with friction that has derivatives where a joint reverses."""
    tree = [REVERSAL * float(speed.min())] * chain.links
    if chain.coupling is None:
        tree = [REVERSAL * float(v) for v in speed]
    resistances = tuple(
        r._replace(law="smooth", constants={**LAWS["smooth"], "velocity": v})
        for r, v in zip(chain.resistances, tree, strict=True)
    )
    return replace(chain, resistances=resistances)


def _smooth_function(chain: Chain, speed: np.ndarray, value: Callable[..., Any]) -> ca.Function:
    """value(chain, q, qd, qdd, fn=) of one sample, where signs and maxima have derivatives."""
    columns = motion_symbols(chain)
    v = REVERSAL * float(speed.min())
    fn = SX._replace(
        sign=lambda x: ca.tanh(x / v),
        max=lambda a, b: 0.5 * (a + b + ca.sqrt((a - b) * (a - b) + KINK * KINK)),
    )
    smoothed = smooth(chain, speed)
    motion = all_joints(smoothed, *(nested(x, x.shape[:1]) for x in columns), fn=fn)
    found = value(smoothed, *motion, fn=fn)
    return ca.Function("traced", columns, [found if chain.mobility is None else ca.cse(found)])


def _criterion(name: str, m: int) -> ca.Function:
    """The criterion of A, through its Cholesky factor; of many unknowns by numbers."""
    if m > EXPRESSED:
        return _numeric_criterion(name, m)
    A = ca.SX.sym("A", m, m)
    log_det = 2.0 * ca.sum1(ca.log(ca.diag(ca.chol(A))))
    if name == "d-optimal":
        return ca.Function("criterion", [A], [log_det])
    inverse = ca.gradient(log_det, A)  # its diagonal is that of A^-1
    inflation = ca.sum1(ca.diag(A) * ca.diag(inverse))
    return ca.Function("criterion", [A], [-ca.log(inflation)])


def _numeric_criterion(name: str, m: int) -> ca.Function:
    """The criterion of a symmetric A as a function of numbers, with its gradient."""

    def inflation(A: np.ndarray, inverse: np.ndarray) -> float:
        return float((np.diag(A) * np.diag(inverse)).sum())

    def value(A: np.ndarray) -> float:
        if name == "d-optimal" or not np.isfinite(A).all():
            return float(np.linalg.slogdet(A)[1])
        return -float(np.log(inflation(A, np.linalg.inv(A))))

    def slope(A: np.ndarray, value: np.ndarray) -> np.ndarray:
        inverse = np.linalg.inv(A)
        if name == "d-optimal":
            return inverse
        own = (inverse * np.diag(A)) @ inverse - np.diag(np.diag(inverse))
        return own / inflation(A, inverse)

    one, row = ca.Sparsity.dense(1, 1), ca.Sparsity.dense(1, m * m)
    return Numeric("criterion", [(m, m)], one, value, slope, row)


class _Watcher(ca.Callback):
    """Tells that an iteration was made; its inputs are the outputs of an NLP solver."""

    def __init__(self, nx: int, ng: int, watch: Callable[[], None]):
        ca.Callback.__init__(self)
        self.nx, self.ng, self.watch = nx, ng, watch
        self.construct("watcher", {})

    def get_n_in(self) -> int:
        return ca.nlpsol_n_out()

    def get_sparsity_in(self, i: int) -> Any:
        name = ca.nlpsol_out(i)
        sizes = {"f": 1, "x": self.nx, "lam_x": self.nx, "g": self.ng, "lam_g": self.ng}
        return ca.Sparsity.dense(sizes.get(name, 0), 1 if name in sizes else 0)

    def eval(self, arg: Any) -> list[int]:
        self.watch()
        return [0]  # another number stops the solver
