"""Processing of logs into samples: an even grid, zero-phase low-pass, velocities, accelerations.

Where no log with torques decides the cut-off (`identify`), the motion does: a multiple of the
frequency below which nearly all of the positions' power lies. Both sides of tau = Y(q, qd, qdd) x
pass the same filter before every k-th row is kept: a filter is linear, so the equation stays true.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import butter, sosfiltfilt

from ..arguments import checked, choice, is_word, number, strict, whole
from ..compile.arrays import NUMPY
from ..dynamics import coupling
from ..dynamics.elements import friction, memory
from ..errors import ClosureError, OptionError, ShapeError, counted
from ..ik.driven import assembly
from ..logs.checks import without_spikes
from ..logs.log import ARRAYS, Log, stretches
from ..robot.closing import refuse_undriven
from ..robot.deflections import Bristles, deflections
from .motion import (
    HIGHEST,
    MULTIPLE,
    PASSING,
    WIDER,
    is_even,
    late_velocities,
    low_passed_positions,
    lowpass,
    moved,
    noisy_velocities,
    of_the_motion,
    of_the_motions,
    rates,
)
from .unknowns import Unknowns, reference_temperatures

if TYPE_CHECKING:
    from ..model.chain import Resistance
    from ..robot import Robot

BRISTLES = ("static_ratio", "velocity", "stiffness", "damping")  # constants of law "lugre"
WIDEST = 0.05  # of a joint's top speed: the widest dead zone
EDGE = 1.0  # periods of the cut-off at either end that a fit does not count
GUARD = 0.2  # periods of the cut-off around rows at rest that do not count either
DENSE = 20.0  # rows per period of the cut-off that a fit looks at
ALIAS_ORDER = 8
KEPT = 4.0  # samples kept per period of the cut-off
MOST_ORDER = 50  # of a Butterworth filter
VELOCITIES = ("log", "difference")
SPIKES = ("interpolate", "keep")
ESTIMATED = "estimate"
LATEST = 0.5  # s
FEWEST = 30  # rows: fewer are not filtered
CUTS = 4  # how often a log is cut where it does not close
BLOCK = 2048  # rows of a regressor in memory at a time


@dataclass(frozen=True, eq=False)
class Samples:
    """t (N,), q, qd, qdd (N, n), tau and `weight` (N, rows) at one rate.

    Rows are joints: all of an arm's, the drives of a closed mechanism, which are `columns` of q.
    `weight` is 0 where a row does not count.
    `parallel` is the filter (second-order sections) for both sides, `every` the rows kept after it;
    `temperature` (N, n) is that of the joints, deg C.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    weight: np.ndarray
    parallel: np.ndarray | None = None
    settle: int = 0  # rows after which the filter has forgotten
    every: int = 1
    temperature: np.ndarray | None = None
    passed: float = 0.5  # cycles per row kept, above which the filter leaves nothing
    columns: Any = field(default_factory=lambda: slice(None))
    _deflection: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.t)

    def rows(self, first: int, last: int) -> "Samples":
        """Some of them, in order."""
        names = ["t", "q", "qd", "qdd", "tau", "weight"]
        names += [] if self.temperature is None else ["temperature"]
        return replace(self, **{name: getattr(self, name)[first:last] for name in names})

    def low_passed(self, values: np.ndarray, pad: int = 15) -> np.ndarray:
        """Values of rows that follow each other, filtered as both sides are; few as they are."""
        if self.parallel is None or len(values) <= FEWEST:
            return values
        return sosfiltfilt(self.parallel, values, axis=0, padlen=min(len(values) - 1, pad))

    def deflection(self, unknowns: Unknowns) -> tuple[np.ndarray, np.ndarray]:
        """Columns of `unknowns.history`, (N, k), and the rows that tell them, (N, rows) bool.

        Rows before an element slips depend on how it began. Of one that never slips all rows tell:
        how it began looks like an offset.
        """
        past = unknowns.history
        key = past.key
        if key not in self._deflection:
            self._deflection.clear()
            self._deflection[key] = past.along(self.q, self.qd)
        u, known = self._deflection[key]
        told = np.ones(self.weight.shape, dtype=bool)
        for joint, own in zip(past.joints, known.T, strict=True):
            row = unknowns.row_of(int(joint))
            if own.any():  # a passive joint's friction is in every row
                told[:, slice(None) if row is None else slice(row, row + 1)] &= own[:, None]
        return u, told

    def blocks(
        self, unknowns: Unknowns, filtered: bool = True
    ) -> "Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]":
        """(Y (b, rows, m), tau and weight (b, rows), index (b,)), block by block."""
        if self.temperature is None and len(unknowns.of_kind("thermal")):
            raise OptionError(
                f"friction {unknowns.friction.name!r} needs temperatures, the log has none",
                "read_log(..., columns=dict(temperature=...)), or log.with_temperature(robot)",
            )
        every = self.every if filtered else 1
        margin = self.settle if filtered and self.parallel is not None else 0
        step = max(BLOCK * every // max(1, every // 4), 4 * margin)
        step -= step % every
        deflection, told = self.deflection(unknowns)
        for first in range(0, len(self), step):
            last = min(first + step, len(self))
            low, high = max(0, first - margin), min(len(self), last + margin)
            cut = slice(low, high)
            warm = None if self.temperature is None else self.temperature[cut]
            Y = unknowns.regressor(self.q[cut], self.qd[cut], self.qdd[cut], warm, deflection[cut])
            tau = self.tau[cut] - unknowns.fixed_torque(self.q[cut], self.qd[cut])
            if filtered:
                Y, tau = map(self.low_passed, (Y, tau))
            keep = np.arange(first, last, every)
            yield Y[keep - low], tau[keep - low], self.weight[keep] * told[keep], keep


def torque_of(robot: "Robot", samples: Samples) -> np.ndarray:
    """Torque that a robot needs in the rows of a log, (N, rows)."""
    warm = samples.temperature
    if warm is not None:  # passive joints at their reference
        warm = np.tile(reference_temperatures(robot), (len(samples), 1))
        warm[:, samples.columns] = samples.temperature
    motion = samples.q, samples.qd, samples.qdd
    tau = robot.inverse_dynamics(*motion, temperature=warm)
    return tau[:, samples.columns] + memory_torque(robot, samples)


def memory_torque(robot: "Robot", samples: Samples) -> np.ndarray | float:
    """Torque of elements and bristles along rows, less that where all slip, (N, rows)."""
    chain = robot.chain
    found, bent = memory.elements(chain), memory.bristles(chain)
    if not (found or bent):
        return 0.0
    q, qd = coupling.positions(chain, [*samples.q.T]), coupling.rates(chain, [*samples.qd.T])
    tree = np.zeros((len(chain.joints), len(samples)))
    if found:
        along = np.stack([q[i] for i, _ in found], axis=1)
        stretched, _ = deflections(along, np.array([float(x.radius) for _, x in found]))
        for (i, x), u in zip(found, stretched.T, strict=True):
            tree[i] += float(x.weight) * (u - np.sign(qd[i]))
    if bent:
        joints = [i for i, _ in bent]
        motion = (np.stack([x[i] for i in joints], axis=1) for x in (q, qd))
        for (i, r), torque in zip(bent, _bristles(bent).along(*motion).T, strict=True):
            _, plus, minus = friction.SHAPES[r.law](qd[i], r.constants, NUMPY)
            tree[i] += torque - float(r.plus) * plus - float(r.minus) * minus
    more = np.stack(coupling.torques(chain, [*tree]), axis=1)
    return assembly(robot).lowered(samples.q, more[..., None])[..., 0]


def _bristles(joints: "Sequence[tuple[int, Resistance]]") -> Bristles:
    """The bristles of some joints of the tree."""
    rows = [
        (float(r.plus), -float(r.minus), *(float(r.constants[name]) for name in BRISTLES))
        for _, r in joints
    ]
    plus, minus, ratio, velocity, stiffness, damping = np.array(rows).T
    more = ratio - 1.0
    return Bristles(plus, more * plus, velocity, stiffness, damping, (minus, more * minus))


def checked_logs(log: Any, robot: "Robot", name: str = "log") -> list[Log]:
    """A Log or several, of the robot's joints; of a closed mechanism the columns of its drives."""
    refuse_undriven(robot)
    if robot.driven != robot.independent:
        robot.model.refuse_closures("identification with more drives than degrees of freedom")
    found = [log] if isinstance(log, Log) else list(log) if isinstance(log, (list, tuple)) else None
    if not found or not all(isinstance(x, Log) for x in found):
        raise OptionError(
            f"{name} is {type(log).__name__}, expected a Log or several", "use dy.read_log(...)"
        )
    names = robot.drive_names
    for k, one in enumerate(found):
        if one.n == robot.n != len(names):  # passive joints follow the drives
            found[k] = of_joints(one, list(robot.driven))
        elif one.n != len(names):
            raise ShapeError(
                f"{name} {one.name!r} has {counted(one.n, 'joint')}, robot {robot.name!r} has "
                f"{len(names)} {robot.model.driven_word}: {', '.join(names)}"
            )
    return found


def of_joints(log: Log, columns: list[int]) -> Log:
    """The log of some of its joints."""
    names = [x for x in ARRAYS if x != "t"]
    given = {name: getattr(log, name) for name in names}
    return replace(log, **{k: v[:, columns] for k, v in given.items() if v is not None})


@strict
@dataclass(frozen=True)
class Processing:
    """How a log becomes samples; None is chosen from the data and said in the result.

    cutoff: Hz of the zero-phase Butterworth filter; velocity: "log" (as recorded) or "difference"
    (of filtered positions); dead_zone: rows of a joint
    slower than this (rad/s or m/s, but at most a twentieth of its top speed) do not count; rate: Hz
    of the even grid; every: rows kept after filtering; order: of the filter, in each direction;
    torque_delay: seconds by which the logged torque follows the motion, or "estimate" (by
    `identify`, however long; None: a short one that is significant); velocity_delay: seconds by
    which logged velocities follow the positions (None: as the log shows); spikes: "interpolate"
    (from their neighbours, see the findings) or "keep".
    """

    cutoff: float | None = None
    velocity: str | None = None
    dead_zone: float | None = None
    rate: float | None = None
    every: int | None = None
    order: int = 4
    torque_delay: float | str | None = None
    velocity_delay: float | None = None
    spikes: str = "interpolate"

    def __post_init__(self) -> None:
        if self.velocity is not None:
            choice(self.velocity, "velocity", VELOCITIES)
        if self.dead_zone is not None:
            number(self.dead_zone, "dead_zone", "0 or more, or None", lambda x: 0.0 <= x < np.inf)
        for name, value in (("cutoff", self.cutoff), ("rate", self.rate)):
            if value is not None:
                above = "a number above 0 or None"
                number(value, name, above, lambda x: 1e-9 <= x < np.inf)
        if self.every is not None:
            whole(self.every, "every")
        whole(self.order, "order", most=MOST_ORDER)
        choice(self.spikes, "spikes", SPIKES)
        within = f"seconds from {-LATEST:g} to {LATEST:g}"
        if self.torque_delay is not None and not is_word(self.torque_delay, (ESTIMATED,)):
            words = f"{within}, or {ESTIMATED!r}"
            number(self.torque_delay, "torque_delay", words, lambda x: abs(x) <= LATEST)
        if self.velocity_delay is not None:
            number(self.velocity_delay, "velocity_delay", within, lambda x: abs(x) <= LATEST)

    @checked
    def resolved(self, log: Log) -> "Processing":
        """Every choice made for one log."""
        rate = self.rate or log.rate
        cutoff = self.cutoff or of_the_motion(log, rate)
        velocity = self.velocity or ("difference" if noisy_velocities(log, cutoff) else "log")
        if velocity == "log" and log.qd is None:
            raise OptionError("velocity='log', but the log has no velocities")
        every = int(self.every or max(1, int(rate / (KEPT * cutoff))))
        if self.torque_delay == ESTIMATED:
            raise OptionError(
                f"torque_delay is {ESTIMATED!r}, expected seconds", "only dy.identify estimates it"
            )
        chosen = {"cutoff": cutoff, "velocity": velocity, "rate": rate, "every": every}
        chosen["torque_delay"] = self.torque_delay or 0.0
        late = self.velocity_delay
        late = late_velocities([log]) if late is None and velocity == "log" else late
        chosen["velocity_delay"] = late or 0.0
        return replace(self, dead_zone=self.dead_zone or 0.0, **chosen)

    def __str__(self) -> str:
        cut = "automatic" if self.cutoff is None else f"{self.cutoff:.3g} Hz"
        return f"cut-off {cut}, velocities {self.velocity}, every {self.every}"


def carried_over(how: Processing, asked: Processing, logs: Sequence[Log], other: Log) -> Processing:
    """What suited some logs, for another one; a cut-off that was asked for stays.

    A faster motion takes it as many times higher as its own band suggests; one that noise chose,
    below what the band of the first motion suggests, only as far as the other motion needs to pass.
    A slower motion, with the same noise in its rows, loses nothing by the same cut-off.
    """
    if how.cutoff is None or asked.cutoff is not None:
        return how
    own, before = (of_the_motions(x, how.rate) for x in ([other], logs))
    raised = how.cutoff * max(1.0, own / before)
    if how.cutoff < before:
        raised = min(raised, max(how.cutoff, own * PASSING / MULTIPLE))
    highest = max(how.cutoff, HIGHEST * (how.rate or other.rate))
    return replace(how, cutoff=min(raised, highest))


def prepare(
    log: Log,
    processing: Processing,
    thin: bool = True,
    quasi_static: bool = False,
    robot: "Robot | None" = None,
) -> tuple[list[Samples], Processing]:
    """Samples of every piece of a log between long gaps, and the choices made.

    Of a closed mechanism, `robot`: the motion of all joints, in the assembly of `robot.home`; rows
    that do not close, or come near a singular configuration, are gaps.

    `thin`, for a fit: the motion is filtered less narrowly, rows between which it hardly changes,
    rows near rest and the edges are left out. Without it every row is kept, for prediction.
    `quasi_static` filters the motion as narrowly as both sides: for motions that hardly accelerate.
    """
    log = log if processing.spikes == "keep" else without_spikes(log)
    chosen = processing.resolved(log)
    shortest = max(16, int(3.0 * chosen.rate / chosen.cutoff))  # type: ignore[operator]
    pieces = [p for p in log.pieces() if len(p) >= shortest] or [log]
    found = [_samples(piece, chosen, thin, quasi_static) for piece in pieces]
    if robot is None:
        return found, chosen
    closed: list[Samples] = []
    left = list(zip(pieces, found, strict=True))
    for _ in range(CUTS):
        again = []
        for piece, samples in left:
            full = with_all_joints(robot, samples)
            if np.isfinite(full.q).all():
                closed.append(full)
            else:
                again += [p for p in _closing(piece, full, chosen) if len(p) >= shortest]
        left = [(piece, _samples(piece, chosen, thin, quasi_static)) for piece in again]
    if not closed:
        raise ClosureError(
            f"no part of log {log.name!r} is a motion that closes the loops of {robot.name!r}",
            "check the columns, their signs and zeros, and that robot.home is in its assembly",
        )
    return sorted(closed, key=lambda s: s.t[:1].tolist()), chosen


def as_logged(log: Log) -> Samples:
    """Every row of a log that has velocities and accelerations, nothing filtered."""
    assert log.qd is not None and log.qdd is not None
    motion = log.t, log.q, log.qd, log.qdd
    return Samples(*motion, log.tau, np.ones_like(log.tau), temperature=log.temperature)


def with_all_joints(robot: "Robot", samples: Samples) -> Samples:
    """Samples of the drives as those of all joints; NaN where they do not close."""
    motion = assembly(robot).motion(samples.q, samples.qd, samples.qdd)
    return replace(samples, q=motion.q, qd=motion.qd, qdd=motion.qdd, columns=list(robot.driven))


def _closing(log: Log, samples: Samples, chosen: Any) -> Iterator[Log]:
    """Stretches of a log away from samples that do not close."""
    bad = samples.t[~np.isfinite(samples.qdd).all(axis=1)]
    near = np.searchsorted(bad, log.t)
    before, after = (bad[np.clip(near - k, 0, len(bad) - 1)] for k in (1, 0))
    away = np.minimum(np.abs(log.t - before), np.abs(log.t - after))
    good = away > max(EDGE / chosen.cutoff, samples.t[1] - samples.t[0])
    for first, last in stretches(good):
        if last - first > 1:
            yield log._taken(slice(first, last))


def _samples(log: Log, chosen: Any, thin: bool, quasi_static: bool) -> Samples:
    even = log
    if not is_even(log) or abs(chosen.rate - log.rate) > 1e-6 * log.rate:
        even = log.uniform(chosen.rate)
    rate, cut = chosen.rate, chosen.cutoff
    if thin and not quasi_static:
        cut = max(cut, min(WIDER * cut, HIGHEST * rate))
    logged = even.qd if chosen.velocity == "log" else None
    q = low_passed_positions(even.q, cut, rate, chosen.order)
    if logged is not None:
        logged = lowpass(moved(logged, even.t, chosen.velocity_delay), cut, rate, chosen.order)
    qd, qdd = rates(q, rate, logged)
    tau, t, warm, step = even.tau, even.t, even.temperature, 1
    tau = moved(tau, t, chosen.torque_delay)
    if thin:
        step = max(1, min(chosen.every, int(rate / (DENSE * chosen.cutoff))))
    if step > 1:  # the torque's noise must not fold into the band that is fitted
        tau = lowpass(tau, 0.4 * rate / step, rate, ALIAS_ORDER)
        t, q, qd, qdd, tau = (a[::step] for a in (t, q, qd, qdd, tau))
        warm = None if warm is None else warm[::step]
        rate = rate / step
    sos: Any = None
    settle = 0
    if chosen.cutoff < 0.49 * rate:
        sos = butter(chosen.order, chosen.cutoff, fs=rate, output="sos")
        settle = int(3.0 * rate / chosen.cutoff) + 10
    slow = np.minimum(chosen.dead_zone, WIDEST * np.abs(qd).max(axis=0))
    weight = (np.abs(qd) >= slow).astype(float)
    if thin and chosen.dead_zone:  # the filter carries what rests into its neighbours
        reach = 2 * int(GUARD * rate / chosen.cutoff) + 1
        weight = minimum_filter1d(weight, reach, axis=0, mode="nearest")
    edge = min(int(EDGE * rate / chosen.cutoff), len(weight) // 10)
    if thin and edge:  # there the filters had to invent what came before and after
        weight[:edge] = weight[-edge:] = 0.0
    every = max(1, chosen.every // step)
    passed = min(chosen.cutoff * every / rate, 0.5)
    return Samples(t, q, qd, qdd, tau, weight, sos, settle, every, warm, passed)
