"""What a simulation leaves: states over time, and why it ended."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked, passed_on
from ..compile.libraries import on_host, origin
from ..errors import DynamisWarning, OptionError
from ..files import write_columns
from ..lazy import cached_property
from ..trajectory.trajectory import State

if TYPE_CHECKING:
    from ..control.metrics import TrackingMetrics
    from ..robot import Robot


class Energy(NamedTuple):
    """Energies over time, (..., N)."""

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Kinetic and potential."""
        return self.kinetic + self.potential


class Event(NamedTuple):
    """Something that happened: when, which, and the state then."""

    t: float
    name: str
    q: np.ndarray
    qd: np.ndarray


class Measurement(NamedTuple):
    """What was logged at the control samples: t (K,), the others (..., K, n)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


@dataclass(frozen=True, repr=False)
class Run:
    """A simulated motion: t (N,), and q, qd, tau (..., N, n) with tau as it acted.

    `friction` holds the force of friction and joint stops, `stuck` which joints held. A run that
    diverged ends where it did (`diverged`, `message`); one whose steps became too short for its
    tolerance ends there too, and `message` alone says so. Members of an ensemble that could not be
    followed are NaN from `diverged_at` on. Of an ensemble `measured` and `observed` are None and
    `states` is empty.
    """

    robot: "Robot"
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    friction: np.ndarray
    stuck: np.ndarray
    dt: float
    integrator: str
    reference: State | None = None
    measured: Measurement | None = None
    observed: np.ndarray | None = None
    states: Mapping[str, np.ndarray] = field(default_factory=dict)
    events: Sequence[Event] = ()
    diverged: Any = False
    diverged_at: Any = None
    message: str = ""

    @property
    def error(self) -> np.ndarray | None:
        """e = q - q_d, (..., N, n), of closed mechanisms that of the drives; None without q_d."""
        if self.reference is None:
            return None
        q = self.q[..., list(self.robot.driven)] if self.robot.model.closures else self.q
        return q - self.reference.q

    @cached_property
    def energy(self) -> Energy:
        """Kinetic and potential energy over time."""
        return Energy(
            self.robot.kinetic_energy(self.q, self.qd), self.robot.potential_energy(self.q)
        )

    @property
    def metrics(self) -> "TrackingMetrics":
        """Tracking errors per joint: mean, RMS, largest; of an ensemble over all its members."""
        from ..control.metrics import tracking_metrics

        if self.error is None:
            raise OptionError("this run had no reference", "give simulate a reference=...")
        error = on_host(self.error.reshape(-1, self.error.shape[-1]))
        names = list(self.robot.drive_names)
        return tracking_metrics(error, names)

    def numpy(self) -> "Run":
        """It with NumPy arrays, where it has those of another library."""
        names = ("q", "qd", "tau", "friction", "stuck")
        if not origin(self.q):
            return self
        moved: dict[str, Any] = {name: np.asarray(on_host(getattr(self, name))) for name in names}
        if self.reference is not None:
            moved["reference"] = State(*(np.asarray(on_host(part)) for part in self.reference))
        return replace(self, **moved)

    def plot(self, what: Any = None, **options: Any) -> Any:
        """Figure of q, qd, tau, error and energy over time."""
        from ..plots import plot_run

        known = passed_on(options, plot_run, "run", "what")
        return plot_run(self.numpy(), **({} if what is None else {"what": what}), **known)

    @checked
    def animate(self, path: str | Path, **options: Any) -> Path:
        """The moving arm as .gif, .mp4 or .html."""
        from ..plots import animate

        return animate(self.numpy(), path, **passed_on(options, animate, "run", "path"))

    @checked
    def save(self, path: str | Path, measured: bool = False) -> Path:
        """Columns t, q1.., qd1.., tau1.. as .csv or .npz; `measured`: what the sensors gave.

        Of a run that diverged or ended early the latter is said in a DynamisWarning.
        """
        if self.q.ndim != 2:
            raise OptionError(
                f"run holds an ensemble {self.q.shape[:-2]}, expected one arm to save"
            )
        if measured and self.measured is None:
            raise OptionError("this run had no sensors to read", "give simulate a controller")
        if measured:
            warn_of_end(self, stacklevel=4)
        source: Any = self.measured if measured else self.numpy()
        return write_columns(path, {k: getattr(source, k) for k in ("t", "q", "qd", "tau")})

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of columns t, q1.., qd1.., tau1.., friction1.., error1...

        Of an ensemble the column `member` says whose rows they are. `dy.read_log` reads it back.
        """
        from .frames import table

        return table(self.numpy(), "pandas")

    def to_polars(self) -> Any:
        """The run as a polars.DataFrame."""
        from .frames import table

        return table(self.numpy(), "polars")

    def __repr__(self) -> str:
        members = "" if self.q.ndim == 2 else f" of {int(np.prod(self.q.shape[:-2]))} arms"
        end = f", {self.message}" if self.message else ""
        last = self.t[-1] if len(self.t) else 0.0
        return f"Run({self.robot.name!r}{members}, {last:g} s, {len(self.t)} instants{end})"


AS_ASKED = "ended by event"  # an end that the user described


def warn_of_end(run: Any, stacklevel: int = 3) -> None:
    """Say that what becomes a log is of a run that diverged or ended early, and which joint."""
    message = getattr(run, "message", "")
    if not message or message.startswith(AS_ASKED):
        return
    if run.diverged and len(run.qd):
        j = int(np.argmax(np.abs(run.qd[-1])))
        unit = "rad/s" if run.robot.joint_kinds[j] == "revolute" else "m/s"
        speed = f"{float(run.qd[-1, j]):.3g} {unit}"
        message += f"; joint {run.robot.joint_names[j]!r} moved fastest then, at {speed}"
    said = f"this log is of a run that did not go well: {message}"
    warnings.warn(DynamisWarning(said), stacklevel=stacklevel)
