"""Drive gains (N m per A) from one motion run twice, without and with a load of known mass.

    delta i_j = (Y_L p_L + delta friction_j) / k_j,   p_L = (mass, nine unknowns)

What the arm itself needs cancels in the difference. Friction belongs to one joint alone, so it is
eliminated beforehand; given the gains, the load follows by least squares; the gains are searched.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares

from ..arguments import checked, positive, strict, whole
from ..base.groupings import lstsq, scaled
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError, counted
from ..logs.log import Log, interpolated
from ..model.check.finding import Finding
from .information import triangle
from .motion import HIGHEST, lowpass
from .payload import changed_friction, friction_columns, payload_columns, same_motion
from .processing import KEPT, Processing, Samples, checked_logs, prepare

if TYPE_CHECKING:
    from ..robot import Robot

CUTOFF = 2.0  # Hz: what the two runs have in common is slow
MOST_DRAWS = 100_000
BLOCKS = 10  # of time, drawn anew for the standard deviations
ROUNDS = 3  # of weighing joints by their own residual
VAGUE = 0.2  # relative standard deviation above which a gain is not worth its name
FEWEST = 40  # samples
FARTHEST = 4.0  # of log(gain) from where the search starts: a factor of 50


@strict
@dataclass(frozen=True, eq=False, repr=False)
class DriveGains:
    """Gains (n,) in N m/A (N/A of a slide) with their standard deviations, by block bootstrap.

    `load` are the ten parameters of the load in the tool frame; `residual` (n,) is the RMS of the
    current difference that is left, in A, `relative_residual` (n,) its share of the difference.
    """

    gains: np.ndarray
    standard_deviations: np.ndarray
    load: np.ndarray
    residual: np.ndarray
    relative_residual: np.ndarray
    shift: float  # s: q_loaded(t) = q_free(t - shift)
    joint_names: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def com(self) -> np.ndarray:
        """Centre of mass of the load in the tool frame, (3,)."""
        return self.load[1:4] / self.load[0]

    @checked
    def torques(self, log: Log) -> Log:
        """A log in amperes as a log in N m: tau = gain * current."""
        if log.n != len(self.gains):
            raise ShapeError(
                f"log {log.name!r} has {counted(log.n, 'joint')}, expected {len(self.gains)}"
            )
        return replace(log, tau=log.tau * self.gains)

    def __repr__(self) -> str:
        pairs = zip(self.gains, self.standard_deviations, strict=True)
        return f"DriveGains({', '.join(f'{g:.4g} +- {s:.2g}' for g, s in pairs)} N m/A)"


@checked
def identify_drive_gains(
    robot: "Robot",
    free: Log,
    loaded: Log,
    mass: float,
    *,
    com: Sequence[float] | None = None,
    gains: Any = None,
    friction: Any = "smooth",
    processing: Processing | None = None,
    cutoff: float = CUTOFF,
    draws: int = 24,
    seed: int = 0,
    threads: int | None = None,
) -> DriveGains:
    """Identify the gains from logs whose `tau` holds currents (A) of the same motion.

    `mass` (kg) is the load's, `com` its centre in the tool frame where that is known too; `gains`
    start the search. `friction` is what the load may change of it; `cutoff` (Hz) low-passes both
    sides; `draws` of blocks of time give the standard deviations.
    """
    robot.model.refuse_closures("identify_drive_gains", "a log in N m or N")
    checked_logs(free, robot, "free")
    checked_logs(loaded, robot, "loaded")
    mass = positive(mass, "mass", "the load's kilograms")
    known = np.full(10, np.nan)
    known[0] = mass
    if com is not None:
        expected = "three numbers, metres in the tool frame"
        known[1:4] = mass * _numbers(com, "com", 3, expected, np.isfinite)
    if gains is not None:
        expected = f"{counted(robot.n, 'number')} above 0, in N m/A"
        gains = _numbers(gains, "gains", robot.n, expected, lambda x: x > 0.0)
    whole(draws, "draws", 2, MOST_DRAWS)
    whole(seed, "seed", 0)
    Processing(cutoff=cutoff)  # refuses what is no frequency
    bare = robot._with_model(payload=None)
    model, shift = changed_friction(friction), same_motion(free, loaded)

    def columns(s: Samples) -> tuple[np.ndarray, np.ndarray]:
        return friction_columns(s.qd, model), payload_columns(bare, s, threads)

    parts = _differences(free, loaded, shift, columns, processing or Processing(), cutoff)
    blocks = [(_triangles(*part), len(part[2])) for part in parts]
    log_k, p, rms, share = _fit(blocks, known, gains)
    found, rng = np.exp(log_k), np.random.default_rng(seed)
    drawn = [
        np.exp(
            _fit([blocks[k] for k in rng.integers(0, len(blocks), len(blocks))], known, found)[0]
        )
        for _ in range(draws)
    ]
    names, deviations = tuple(robot.joint_names), np.std(drawn, axis=0, ddof=1)
    vague = _vague(names, found, deviations)
    return DriveGains(found, deviations, p, rms, share, shift, names, vague)


def _numbers(given: Any, name: str, n: int, expected: str, good: Any) -> np.ndarray:
    array = numbers(given, name, f"expected {expected}")
    if array.shape != (n,) or not good(array).all():
        raise ShapeError(f"{name} is {given!r}, expected {expected}")
    return array


def _differences(
    free: Log,
    loaded: Log,
    shift: float,
    columns: Callable[[Samples], tuple[np.ndarray, np.ndarray]],
    how: Processing,
    cutoff: float,
) -> list[tuple[np.ndarray, ...]]:
    """(F (N, n, f), Y_L (N, n, 10), delta i (N, n)) low-passed, in blocks of time."""
    found = []
    for samples in prepare(loaded, how)[0]:
        at, rate = samples.t - shift, 1.0 / float(samples.t[1] - samples.t[0])
        inside = np.flatnonzero((at >= free.t[0]) & (at <= free.t[-1]))
        if len(inside) < FEWEST:
            continue
        s = samples.rows(int(inside[0]), int(inside[-1]) + 1)
        there = interpolated(s.t - shift, free.t, free.tau)
        top = min(cutoff, HIGHEST * rate)
        every = max(1, int(rate / (KEPT * top)))
        found.append([lowpass(x, top, rate)[::every] for x in (*columns(s), s.tau - there)])
    total = sum(len(f[2]) for f in found)
    if total < FEWEST:
        raise OptionError(
            f"{total} samples are left after filtering at {cutoff:g} Hz, expected {FEWEST}",
            "record a longer motion",
        )
    parts = []
    for one in found:
        count = max(1, round(BLOCKS * len(one[2]) / total))
        parts += zip(*(np.array_split(x, count) for x in one), strict=True)
    return parts


def _triangles(F: np.ndarray, Y: np.ndarray, di: np.ndarray) -> np.ndarray:
    """R of [F Y_L di], one per joint with its own friction columns, (n, f + 11, f + 11)."""
    n, kinds = di.shape[1], F.shape[-1] // di.shape[1]
    own = [F[:, j, j * kinds : (j + 1) * kinds] for j in range(n)]
    return np.stack([triangle(np.column_stack([own[j], Y[:, j], di[:, j]])) for j in range(n)])


def _fit(
    blocks: Sequence[tuple[np.ndarray, int]], known: np.ndarray, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """log gains, load (10,), residual RMS (A) and its share of the difference, per joint."""
    stacked = np.concatenate([triangles for triangles, _ in blocks], axis=1)
    rows = sum(count for _, count in blocks)
    R = np.stack([triangle(one)[-11:, -11:] for one in stacked])  # friction is eliminated
    Y, di = R[..., :10], R[..., 10]
    size = np.maximum(np.linalg.norm(di, axis=1), 1e-300)
    open_, n = np.isnan(known), len(R)
    given = Y[..., ~open_] @ known[~open_]
    sigma = size.copy()

    def solved(log_k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scale = np.exp(-log_k)[:, None] / sigma[:, None]
        A = (Y[..., open_] * scale[..., None]).reshape(-1, int(open_.sum()))
        y = (di / sigma[:, None] - given * scale).ravel()
        unit, length = scaled(A)
        x = np.linalg.lstsq(unit, y, rcond=1e-7)[0]
        return y - unit @ x, x / length

    log_k = np.log(_start(Y, di, open_, given) if start is None else start)
    reach = (log_k - FARTHEST, log_k + FARTHEST)
    for _ in range(ROUNDS):
        found = least_squares(lambda k: solved(k)[0], log_k, bounds=reach, x_scale=0.1, max_nfev=60)
        log_k = found.x
        left = solved(log_k)[0].reshape(n, -1) * sigma[:, None]
        sigma = np.maximum(np.linalg.norm(left, axis=1), 1e-9 * size)
    load = known.copy()
    load[open_] = solved(log_k)[1]
    return log_k, load, sigma / np.sqrt(rows), sigma / size


def _start(Y: np.ndarray, di: np.ndarray, open_: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Gains by the equation in torque, k di = Y p, linear in both: biased, but near."""
    n, size = di.shape
    K = np.zeros((n, size, n))
    K[range(n), :, range(n)] = -di
    A = np.concatenate([Y[..., open_], K], axis=-1).reshape(n * size, -1)
    k = lstsq(A, -given.ravel(), 1e-7)[-n:]
    typical = float(np.median(k[k > 0.0])) if (k > 0.0).any() else 1.0
    return np.where(k > 0.1 * typical, k, typical)


def _vague(names: Sequence[str], gains: np.ndarray, deviations: np.ndarray) -> tuple[Finding, ...]:
    """What these gains cannot tell, and joints whose current hardly shows the load."""
    remedy = "choose a motion in which the load weighs on this joint, or a heavier load"
    load = "friction of gears that grows with the load looks like a smaller gain, by some percent"
    honest = Finding("note", "gains", load, "the standard deviations are statistical only")
    return honest, *(
        Finding("warning", name, f"its gain is only known as {g:.3g} +- {s:.2g} N m/A", remedy)
        for name, g, s in zip(names, gains, deviations, strict=True)
        if not s < VAGUE * g
    )
