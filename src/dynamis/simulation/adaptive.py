"""Adaptive step size: an embedded pair with error control, dense output and events.

A step ends where a joint with friction reverses or breaks away, or hits its stop, and where teeth
of a gear with backlash meet or part: beyond it the forces are others, and the error estimate would
shrink the steps without end, or not see them.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..control.law import PLAUSIBLE
from ..errors import OptionError
from ..progress import stage
from .assembly import Assembly
from .elastic.backlash import TOUCHING, with_backlash
from .loop import Simulation, finite_torque, torque_of
from .record import Instant, RunRecorder
from .settings import Settings
from .stages import Forces, Stages, Torque, between, of_all_joints, stages_of
from .tableau import Tableau

SAFETY = 0.9  # of the step that the error estimate asks for: the next is then seldom rejected
MIN_FACTOR, MAX_FACTOR = 0.2, 5.0  # from one step to the next: the estimate is local
SAME = 1e-14  # seconds, or relative: two instants this close are one
SHORTEST = 1e-12  # of the duration: below this the problem cannot be followed
LOOKS = 8  # instants of a step at which events are looked for
SEARCH = 60  # halvings to find one
REPEATS = 20  # events at one instant after which the next is ignored


class TooShortError(Exception):
    """The steps became too short: the time and the states then."""


class LeftError(Exception):
    """Every arm has diverged (a state exceeds PLAUSIBLE): the time and the states before."""


def adaptive(sim: Simulation, recorder: RunRecorder) -> None:
    """Steps of their own length, ended at every control sample and every event of friction."""
    s, m = sim.s, sim.assembly
    if s.delay:
        raise OptionError("delay needs steps of one length", 'use integrator="rk4"')
    asked_at_stages = s.function is not None and not s.sampled
    torque = of_all_joints(s, torque_of) if asked_at_stages else None
    breaks, at_break = _breaks(s, m)
    with stage(f"simulating {s.robot.name}", len(recorder.t), s.options.progress) as progress:

        def record(k: int, state: np.ndarray) -> None:
            recorder.rows[:, k] = state[:, : recorder.kept]
            progress(k + 1)
            if not recorder.ended and not recorder.accept(k + 1):
                raise StopIteration

        try:
            adaptive_steps(
                stages_of(sim), sim.x, recorder.t, s.tableau, s.options.tolerance, m.forces_at,
                torque, record, s.span.duration / 10.0, breaks, at_break,
            )  # fmt: skip
        except TooShortError as short:
            t, state = short.args
            if asked_at_stages:
                _refuse_infinite_torque(Simulation(s, m, state), t)
            recorder.give_up(recorder.filled, t, Instant(t, state[0]))
        except LeftError as left:
            t, before = left.args
            recorder.diverge(recorder.filled, t, Instant(t, before[0]))
        except StopIteration:
            return


def _breaks(s: Settings, m: Assembly) -> tuple[np.ndarray, Callable[[int, np.ndarray], np.ndarray]]:
    """Instants that no step may cross, and a function of their number that changes the state."""
    every = 1 if s.stepwise else s.period  # steps from one to the next
    breaks = np.zeros(0)
    if m.computes or s.stepwise:
        breaks = s.dt * np.arange(0, math.floor(s.span.duration / s.dt + 1e-9) + 1, every)

    def at_break(k: int, state: np.ndarray) -> np.ndarray:
        if not m.computes or k * every % s.period:
            return state
        sim = Simulation(s, m, state.copy())
        sim.sample(float(breaks[k]), k * every // s.period)
        return sim.x

    return breaks, at_break


def _refuse_infinite_torque(sim: Simulation, t: float) -> None:
    """Name torques that are no numbers as the reason why steps became too short at t."""
    s = sim.s
    torque = of_all_joints(s, finite_torque)
    beyond = t + 10.0 * SHORTEST * s.span.duration  # where the last attempts looked
    for instant in (t, beyond):
        torque(instant, *sim.assembly.seen(sim.x))


def adaptive_steps(
    stages: Stages,
    x: np.ndarray,
    times: np.ndarray,
    tableau: Tableau,
    tolerance: float,
    forces: Forces,
    torque: Torque | None,
    record: Callable[[int, np.ndarray], None],
    longest: float,
    breaks: np.ndarray,
    at_break: Callable[[int, np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Integrate over `times`; `record(k, x)` gets the state at times[k].

    No step crosses one of `breaks` (control samples); `at_break(k, x)` changes the state there.
    Members of an ensemble share the steps, so none is less accurate than alone. One that cannot be
    followed is NaN from then on; when none is left, TooShortError or LeftError tells when.
    """
    size, end = stages.slots.integrated, float(times[-1])
    first, failed = min(longest, _first_step(times, breaks)), np.zeros(len(x), dtype=bool)
    # time, step, next of `times`, next of `breaks`, events in a row that left no time between
    t, h, k, b, short = 0.0, first, 0, 0, 0
    if at_break is not None and len(breaks) and breaks[0] == 0.0:
        x, b = at_break(0, x), 1
    k = _recorded_at(stages, x, t, forces, torque, record, times, k)
    while k < len(times):
        goal = breaks[b] if b < len(breaks) else end
        h = min(h, longest)
        last = t + h >= goal - SAME * max(1.0, goal)
        step = goal - t if last else h
        start, stop, rates = stages.step(x, t, step, tableau, forces, torque)
        errors = _errors(start, stop, rates, tableau, step, tolerance, size)
        errors[failed] = 0.0
        error = float(np.max(errors))
        if not error <= 1.0:  # NaN too
            h = step * _step_factor(error, tableau.order)
            if h < SHORTEST * end:  # those with the error fail; the others begin with new steps
                failed |= ~(errors <= 1.0)
                if failed.all():
                    raise TooShortError(t, x)
                x, h = np.where(failed[:, None], np.nan, x), first
            continue

        # What happens within the step ends it: the state beyond is that of other forces. The step
        # is made again up to there. Events that come again and again at one instant are ignored
        # after REPEATS of them: time has to go on.
        share = _event(stages, start, rates, tableau, t, step, forces, torque)
        short = short + 1 if step * share <= SHORTEST * end else 0
        if share < 1.0 and short < REPEATS:
            step, last = max(step * share, SHORTEST * end), False
            start, stop, rates = stages.step(x, t, step, tableau, forces, torque)
        while k < len(times) and times[k] < t + step - SAME * max(1.0, t):
            inside = start.copy()
            inside[:, :size] = between(start, rates, tableau, step, (times[k] - t) / step)
            if stages.plant.chain.closures:  # dense output is no step: its loops are open
                inside = stages.finish(inside, inside, 0.0)
            record(k, _acting(stages, inside, float(times[k]), t, forces, torque))
            k += 1
        x = stages.finish(start, stop, step)
        t = goal if last else t + step
        if last and b < len(breaks):
            x = at_break(b, x) if at_break is not None else x
            b += 1
        k = _recorded_at(stages, x, t, forces, torque, record, times, k)
        if share == 1.0:  # else h stays: an event says nothing of the error
            h = (max(h, step) if last else step) * _step_factor(error, tableau.order)
        failed |= ~(np.abs(x[:, :size]) < PLAUSIBLE).all(axis=1)
        if failed.all():
            raise LeftError(t, np.where(np.isfinite(stop), stop, start))
        x[failed] = np.nan
    return x


def _step_factor(error: float, order: int) -> float:
    """How much longer the next step may be: the local error grows with h^order."""
    if not np.isfinite(error):
        return MIN_FACTOR
    if error == 0.0:
        return MAX_FACTOR
    return min(MAX_FACTOR, max(MIN_FACTOR, SAFETY * error ** (-1.0 / order)))


def _first_step(times: np.ndarray, breaks: np.ndarray) -> float:
    steps = [times[-1] / 100.0, *(np.diff(breaks[:2]))]
    return float(min(steps))


def _recorded_at(
    stages: Stages, x: np.ndarray, t: float, forces: Forces, torque: Torque | None,
    record: Callable[[int, np.ndarray], None], times: np.ndarray, k: int,
) -> int:  # fmt: skip
    """Record the state at t itself, with the torques and friction that act from t on."""
    if k < len(times) and abs(times[k] - t) <= SAME * max(1.0, t):
        record(k, _acting(stages, x, t, t, forces, torque))
        return k + 1
    return k


def _acting(
    stages: Stages, x: np.ndarray, t: float, since: float, forces: Forces, torque: Torque | None
) -> np.ndarray:  # fmt: skip
    """The state with what acts at t, in a step that began at `since`."""
    y = x.copy()
    if torque is not None:
        stages.slots.part(y, "command")[...] = torque(t, *stages.seen(y))
    return stages.call("begin", y, np.concatenate([[t], forces(t, since)]), 0.0)


def _errors(
    start: np.ndarray,
    stop: np.ndarray,
    rates: Sequence[np.ndarray],
    tableau: Tableau,
    h: float,
    tolerance: float,
    size: int,
) -> np.ndarray:
    """Largest estimated error of every member, in units of what is tolerated."""
    wrong = np.zeros_like(rates[0])
    for b, c, k in zip(tableau.b, tableau.lower or (), rates, strict=True):
        wrong += h * (b - c) * k
    scale = tolerance * (1.0 + np.maximum(np.abs(start[:, :size]), np.abs(stop[:, :size])))
    with np.errstate(all="ignore"):
        worst = np.abs(wrong / scale)
    return np.max(worst, axis=1, initial=0.0)


def _event(
    stages: Stages, start: np.ndarray, rates: Sequence[np.ndarray], tableau: Tableau,
    t: float, h: float, forces: Forces, torque: Torque | None,
) -> float:  # fmt: skip
    """The share of the step after which something changes; 1 if nothing does.

    A joint turns back, meets a stop or lets go; the power through a gear turns round; teeth meet or
    part.
    """
    loss = stages.slots.part(start, "loss")
    if not (any(stages.holds) or loss.size or stages.plant.hard):
        return 1.0
    held = (stages.of_all(start, "direction") == 0.0) & stages.holds

    def happened(s: float) -> bool:
        full, y = start.copy(), between(start, rates, tableau, h, s)
        full[:, : y.shape[1]] = y
        if _crossed(stages, start, full).any():
            return True
        if not (held.any() or loss.size):
            return False
        then = _acting(stages, full, t + s * h, t, forces, torque)
        let_go = stages.of_all(then, "direction")[held].any()
        return bool(let_go or (stages.slots.part(then, "loss") != loss).any())

    looks = [k / LOOKS for k in range(1, LOOKS + 1)]
    high = next((s for s in looks if happened(s)), 0.0)
    if not high:
        return 1.0
    low = high - 1.0 / LOOKS
    for _ in range(SEARCH):
        middle = 0.5 * (low + high)
        if happened(middle):
            high = middle
        else:
            low = middle
    return high


def _crossed(stages: Stages, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    plant = stages.plant
    d, qd, q = (stages.of_all(a, n) for a, n in ((start, "direction"), (end, "qd"), (end, "q")))
    crossed = stages.rubs & (d * qd < 0.0)
    for i, stop in enumerate(plant.stops):
        if stop is not None:
            crossed[:, i] |= (q[:, i] > stop[1]) | (q[:, i] < stop[0])
    for gear, side in zip(with_backlash(plant.gears), _flanks(stages, start), strict=True):
        d, b = q[:, gear.motor] - q[:, gear.joint], gear.gear.backlash
        over = np.where(side == 0.0, np.abs(d) - b, b - side * d)  # of the edge between both
        crossed[:, gear.joint] |= over > 0.5 * TOUCHING
    return crossed


def _flanks(stages: Stages, x: np.ndarray) -> np.ndarray:
    """Flanks on which teeth are in a step, a row for every gear with backlash."""
    return stages.slots.part(x, "flank").T
