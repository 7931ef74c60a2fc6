"""The designed motion: its information, what it demands of the joints, its files and plots.

    A = 1/N sum Z^T Z + ridge I,  Z = W Y D

with Y the columns of the unknowns, W one over the torque that is usual in each joint (noise is
taken to grow with it) and D one over the size that is usual in each column. "d-optimal" is
log det A: its exponent is one over the volume of the unknowns' confidence ellipsoid, squared.
"condition" is -log sum_j A_jj (A^-1)_jj: the condition number (Frobenius) of Z with columns of
unit length, which does not care how large the motion is.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked, positive, strict
from ..errors import OptionError
from ..files import write_columns
from ..identify.information import condition
from ..identify.unknowns import Unknowns
from ..model.check.finding import Finding
from ..trajectory.fourier import Fourier
from ..trajectory.trajectory import MOST, Sampled
from .band import Band
from .loops import Conditioning, Loops
from .workspace import Clearance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..robot import Robot

QUANTITIES = ("q", "qd", "qdd")
CRITERIA = ("d-optimal", "condition")
STEP = 0.01  # s, of samples
SAMPLES, FEWEST = 10, 4  # in a period of a band's highest tone: usual, and at least
LEAST = 0.01  # of the largest torque: no joint is weighted as if it were quieter


class Figures(NamedTuple):
    """What is said about one motion."""

    value: float  # of the criterion; more is better
    log_det: float
    condition_number: float


@dataclass(frozen=True, eq=False)
class Measure:
    """The criterion with its fixed scales: `rows` (n,) is W, `columns` (m,) is D.

    Rows are those of the joints that logs have: the drives of a closed mechanism.
    """

    unknowns: Unknowns
    criterion: str
    ridge: float
    rows: np.ndarray
    columns: np.ndarray

    def figures(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Figures:
        """Of one motion of all joints, with friction as it is."""
        Y = _logged(self.unknowns, q, qd, qdd)
        Z = (Y * self.rows[:, None] * self.columns).reshape(-1, len(self.unknowns))
        A = Z.T @ Z / len(q) + self.ridge * np.eye(Z.shape[1])
        log_det = float(np.linalg.slogdet(A)[1])
        inflation = float((np.diag(A) * np.diag(np.linalg.inv(A))).sum())
        value = log_det if self.criterion == "d-optimal" else -float(np.log(inflation))
        return Figures(value, log_det, condition(Z))


def measure(
    unknowns: Unknowns, criterion: str, ridge: float, state: tuple[Any, Any, Any]
) -> Measure:
    """Scales from usual motions, q, qd, qdd (N, n)."""
    tau = np.sqrt(np.mean(unknowns.robot.inverse_dynamics(*state) ** 2, axis=0))
    tau = tau[list(unknowns.robot.driven)]
    largest = tau.max(initial=0.0)
    rows = 1.0 / np.maximum(tau, LEAST * largest) if largest > 0.0 else np.ones(len(tau))
    Y = _logged(unknowns, *state) * rows[:, None]
    size = np.sqrt(np.mean(np.sum(Y**2, axis=1), axis=0))
    columns = 1.0 / np.where(size > 0.0, size, 1.0)
    return Measure(unknowns, criterion, ridge, rows, columns)


def _logged(unknowns: Unknowns, q: Any, qd: Any, qdd: Any) -> np.ndarray:
    """Columns of the unknowns in the rows of the drives, (N, k, m)."""
    Y, drives = unknowns.regressor(q, qd, qdd), list(unknowns.robot.driven)
    return Y if Y.shape[1] == len(drives) else Y[:, drives]


class Gain(NamedTuple):
    """How many times better than random series within the same limits, their median and best.

    `condition` is the ratio of condition numbers; `information` is exp((log det - log det of the
    random one) / unknowns): how many times longer the random motion must run for as much.
    """

    condition_median: float
    condition_best: float
    information_median: float
    information_best: float


class Demand(NamedTuple):
    """What the motion asks of every joint, (n,) each: range of q, largest |qd|, |qdd| and |tau|."""

    low: np.ndarray
    high: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


@strict
@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion: `trajectory` is one period; logs should hold `periods` of them.

    That of a closed mechanism moves its drives; its `demand` is of all joints.

    `condition_number` is that of the regressor of the unknowns with its columns at unit length and
    its rows in units of `usual_torque`, that of random motions; `log_det` is that of the
    information matrix in usual units (see `excitation_criterion`); `value` is the criterion's,
    more is better.
    """

    robot: "Robot"
    trajectory: Fourier
    criterion: str
    value: float
    condition_number: float
    log_det: float
    unknowns: tuple[str, ...]
    gain: Gain
    demand: Demand
    usual_torque: np.ndarray  # (n,); of the drives
    findings: tuple[Finding, ...]
    periods: int = 1
    status: tuple[str, ...] = ()  # how the optimiser ended, start by start
    worst_clearance: Clearance | None = None  # to the table and of links that are kept apart
    worst_conditioning: Conditioning | None = None  # of a closed mechanism
    loops: Loops | None = None  # a closed mechanism's, which its joints follow
    band: Band | None = None  # tones of small amplitude, part of the trajectory

    @property
    def period(self) -> float:
        """Seconds."""
        return self.trajectory.period

    @property
    def harmonics(self) -> int:
        """Multiples of 1/period that the motion has, without a band."""
        tones = 0 if self.band is None else len(self.band.harmonics)
        return len(self.trajectory.harmonics) - tones

    @property
    def duration(self) -> float:
        """Seconds, all periods."""
        return self.periods * self.period

    @property
    def step(self) -> float:
        """The usual time step of samples, s: 0.01, less where a band asks for it."""
        return usual_step(self.duration, self.band)

    @checked
    def sample(self, dt: float | None = None) -> Sampled:
        """t, q, qd, qdd every dt over all periods, both ends included; of the drives, if closed.

        `dt` is `step` unless given: 0.01 s, or with a band short enough for its highest tone.
        """
        steps = step_count(self.duration, self.step if dt is None else dt, self.band)
        t = np.linspace(0.0, self.duration, steps + 1)
        return Sampled(t, *self.trajectory(t))

    @checked
    def all_joints(self, dt: float | None = None) -> Sampled:
        """As `sample`, of every joint of a closed mechanism: those without a drive follow."""
        found = self.sample(dt)
        if self.loops is None:
            return found
        own = [list(self.robot.driven).index(k) for k in self.robot.independent]
        middle = np.array(self.trajectory.q0)[own]
        state = found.q[None, :, own], found.qd[None, :, own], found.qdd[None, :, own]
        return Sampled(found.t, *self.loops.led(middle[None], state, found.t)[:, 0])

    @checked
    def save(self, path: Any, dt: float | None = None) -> Path:
        """Write columns t, q1.., qd1.., qdd1.. to a .csv or .npz: whole or not at all.

        `dy.trajectory.from_file` reads them; `dt` is as in `sample`.
        """
        return write_columns(path, self.sample(dt)._asdict())

    @checked
    def plot(self, path: Any = None) -> "Figure":
        """q, qd and qdd of every joint over one period; of the drives of a closed mechanism."""
        from ..plots.figure import Picture, check_save, plain, save

        check_save(path)
        t = np.linspace(0.0, self.period, 501)
        figure = Picture(figsize=(8.0, 6.5), layout="constrained")
        axes = figure.subplots(len(QUANTITIES), 1, sharex=True)
        for axis, name, values in zip(axes, QUANTITIES, self.trajectory(t), strict=True):
            lines = axis.plot(t, values, linewidth=1.3)
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
            if name == "q":
                names = [plain(self.robot.joint_names[k]) for k in self.robot.driven]
                axis.legend(lines, names, fontsize=8, ncols=4, loc="upper right")
        axes[-1].set_xlabel("t (s)")
        figure.suptitle(f"{plain(self.robot.name)}: exciting motion", fontsize=12)
        if path is not None:
            save(figure, path)
        return figure

    def __repr__(self) -> str:
        g, d = self.gain, self.demand
        many = f"{self.periods} periods of " if self.periods > 1 else ""
        lines = [
            f"Excitation of {self.robot.name!r}: {many}{self.period:g} s, "
            f"{self.harmonics} harmonics, {len(self.unknowns)} unknowns",
            f"{self.criterion} {self.value:.6g}, condition number {self.condition_number:.4g}: "
            f"{g.condition_median:.3g} times better than random",
            f"information {g.information_median:.3g} times a random motion's "
            f"(the best of them: {g.information_best:.3g})",
            f"{'joint':12} {'from':>9} {'to':>9} {'|qd|':>9} {'|qdd|':>9} {'|tau|':>9}",
        ]
        for i, name in enumerate(self.robot.joint_names):
            numbers = " ".join(f"{column[i]:9.4g}" for column in d)
            lines.append(f"{name:12} {numbers}")
        worst = (self.worst_clearance, self.worst_conditioning, self.band)
        lines += [str(x) for x in worst if x is not None]
        return "\n".join([*lines, *(f"{f.level}: {f.where}: {f.what}" for f in self.findings)])


def usual_step(duration: float, band: Band | None) -> float:
    """A time step (s) that divides a duration, with ten samples in a period of a band's tones."""
    if band is None:
        return STEP
    longest = min(STEP, 1.0 / (SAMPLES * band.high))
    return duration / np.ceil(duration / longest - 1e-9)


def step_count(duration: float, dt: float, band: Band | None = None) -> int:
    """Steps dt in a duration, which must be a whole number of them, and short next to a band."""
    dt = positive(dt, "dt", "seconds")
    if band is not None and dt * band.high > 1.0 / FEWEST:
        raise OptionError(
            f"dt is {dt:g} s, but the band reaches to {band.high:g} Hz, expected at most "
            f"{1.0 / (FEWEST * band.high):.3g} s",
            f"{usual_step(duration, band):.9g} s does",
        )
    if duration / dt > MOST:
        raise OptionError(f"dt is {dt:g} s of {duration:g} s, expected at most {MOST} rows")
    steps = max(1, round(duration / dt))
    if abs(steps * dt - duration) > 1e-9 * duration:
        raise OptionError(
            f"dt is {dt:g} s, which does not divide {duration:g} s",
            f"{duration / steps:.9g} s does",
        )
    return steps
