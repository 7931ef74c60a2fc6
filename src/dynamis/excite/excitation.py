"""The designed motion: its value, what it demands of the joints, its files and plots."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked
from ..errors import OptionError
from ..files import write_columns
from ..model.check.finding import Finding
from ..trajectory.arguments import positive
from ..trajectory.fourier import Fourier
from ..trajectory.trajectory import MOST, Sampled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..robot import Robot

SUFFIXES = (".csv", ".npz")
QUANTITIES = ("q", "qd", "qdd")


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


@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion: `trajectory` is one period; logs should hold `periods` of them.

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
    usual_torque: np.ndarray  # (n,)
    findings: tuple[Finding, ...]
    periods: int = 1
    status: tuple[str, ...] = ()  # how the optimiser ended, start by start

    @property
    def period(self) -> float:
        """Seconds."""
        return self.trajectory.period

    @property
    def duration(self) -> float:
        """Seconds, all periods."""
        return self.periods * self.period

    @checked
    def sample(self, dt: float = 0.01) -> Sampled:
        """t, q, qd, qdd every dt over all periods, both ends included."""
        steps = step_count(self.duration, dt)
        t = np.linspace(0.0, self.duration, steps + 1)
        return Sampled(t, *self.trajectory(t))

    @checked
    def save(self, path: Any, dt: float = 0.01) -> Path:
        """Write columns t, q1.., qd1.., qdd1.. to a .csv or .npz: whole or not at all."""
        return write_columns(path, self.sample(dt)._asdict())

    @checked
    def plot(self, path: Any = None) -> "Figure":
        """q, qd and qdd of every joint over one period."""
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
                names = [plain(x) for x in self.robot.joint_names]
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
            f"{self.trajectory.a.shape[1]} harmonics, {len(self.unknowns)} unknowns",
            f"{self.criterion} {self.value:.6g}, condition number {self.condition_number:.4g}: "
            f"{g.condition_median:.3g} times better than random",
            f"information {g.information_median:.3g} times a random motion's "
            f"(the best of them: {g.information_best:.3g})",
            f"{'joint':12} {'from':>9} {'to':>9} {'|qd|':>9} {'|qdd|':>9} {'|tau|':>9}",
        ]
        for i, name in enumerate(self.robot.joint_names):
            numbers = " ".join(f"{column[i]:9.4g}" for column in d)
            lines.append(f"{name:12} {numbers}")
        return "\n".join([*lines, *(f"{f.level}: {f.where}: {f.what}" for f in self.findings)])


def step_count(duration: float, dt: float) -> int:
    """Steps dt in a duration, which must be a whole number of them."""
    dt = positive(dt, "dt", "in seconds")
    if duration / dt > MOST:
        raise OptionError(f"dt is {dt:g} s of {duration:g} s, expected at most {MOST} rows")
    steps = max(1, round(duration / dt))
    if abs(steps * dt - duration) > 1e-9 * duration:
        raise OptionError(
            f"dt is {dt:g} s, which does not divide {duration:g} s",
            f"{duration / steps:.9g} s does",
        )
    return steps
