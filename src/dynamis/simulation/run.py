"""What a simulation leaves: states over time, and why it ended."""

import html
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked, strict
from ..compile.arrays import NUMPY
from ..compile.libraries import on_host, origin
from ..dynamics.elastic import coordinate
from ..dynamics.elements.gears import stored, transmitted
from ..errors import OptionError, warn
from ..files import separate, write_columns
from ..lazy import cached_property, package
from ..model.check.finding import Finding
from ..robot.joint_reactions import JointReactions
from ..tables import html_table
from ..trajectory.trajectory import CHECKED, Beyond, State, beyond, bounds, in_short
from .contact.history import Contacts, contacts_of
from .elastic.backlash import TOUCHING
from .elastic.numerical_damping import NumericalDamping, numerical_damping
from .elastic.presliding import slipping_finding
from .tableau import INTEGRATORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..control.metrics import TrackingMetrics
    from ..control.resonance import ClosedLoopMode, ElasticLoop
    from ..robot import Robot
    from .step_check import StepCheck, StepError


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
    """Signals logged at the control samples: t (K,), the others (..., K, n).

    Of elastic joints q and qd are of the side that the sensors are on (`run.measured_side`).
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray


class Acted(NamedTuple):
    """Accelerations of the joints (N, n), and options of `dynamis.Robot.joint_reactions`."""

    qdd: np.ndarray
    forces: Mapping[str, np.ndarray]  # by option: wrench, link_forces


ARRAYS = ("q", "qd", "tau", "friction", "stuck")


@strict
@dataclass(frozen=True, repr=False)
class Run:
    """A simulated motion: t (N,), and q, qd, tau (..., N, n) with tau as it acted.

    `friction` holds the force of friction and joint stops, `stuck` which joints held. A run that
    diverged ends where it did (`diverged`, `message`); one whose steps became too short for its
    tolerance ends there too, and `message` alone says so. Members of an ensemble that could not be
    followed are NaN from `diverged_at` on, an instant that is kept; that of one arm is its step. Of
    an ensemble `measured` and `observed` are None and `states` is empty.

    Of elastic joints q and qd are the link side, `motor` and `motor_rate` (..., N, n) the motors in
    units of the joint, `motor_friction` theirs and `motor_stuck` where they held; of rigid ones
    they equal q and qd. `integrator` is the one that was taken, "ros34pw2" where joints vibrate
    faster than explicit steps follow.
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
    measured_side: str = "motor"  # of elastic joints: where the sensors are, or "link"
    _contacts: Mapping[str, Any] = field(default_factory=dict)  # parts of the state, by name
    _points: tuple[Any, ...] = ()  # where the arm may touch its world
    _motors: Mapping[str, Any] = field(default_factory=dict)  # of elastic joints; others as q
    _step: "StepCheck | None" = field(default=None, compare=False)
    _loop: "ElasticLoop | None" = field(default=None, compare=False)  # of a law on an elastic arm
    _acted: "Callable[[], Acted] | None" = field(default=None, compare=False)  # of one arm

    @property
    def motor(self) -> np.ndarray:
        """Positions of the motors in units of their joints, (..., N, n)."""
        return self._motors.get("motor", self.q)

    @property
    def motor_rate(self) -> np.ndarray:
        """Velocities of the motors in units of their joints, (..., N, n)."""
        return self._motors.get("motor_rate", self.qd)

    @property
    def motor_friction(self) -> np.ndarray:
        """Friction of motors behind elastic gears, (..., N, n); that of others is in `friction`."""
        return self._motors.get("motor_friction", 0.0 * self.friction)

    @property
    def motor_stuck(self) -> np.ndarray:
        """Which motors held, (..., N, n)."""
        return self._motors.get("motor_stuck", self.stuck)

    @property
    def error(self) -> np.ndarray | None:
        """e = q - q_d, (..., N, n), of closed mechanisms that of the drives; None without q_d."""
        if self.reference is None:
            return None
        return self.q[..., self.robot.driven] - self.reference.q

    @cached_property
    def energy(self) -> Energy:
        """Kinetic and potential energy over time, of motors and gears of elastic joints too."""
        kinetic = self.robot.kinetic_energy(self.q, self.qd)
        potential = self.robot.potential_energy(self.q)
        chain = self.robot.chain
        for gear in chain.elastic:
            i, rotor = coordinate(chain, gear), 0.5 * chain.motors[gear.joint].inertia
            own, joint = self.motor_rate[..., i], self.qd[..., i]
            kinetic = kinetic + rotor * (own * own - joint * joint)
            potential = potential + stored(gear, self.motor[..., i] - self.q[..., i], NUMPY)
        return Energy(kinetic, potential)

    @cached_property
    def contacts(self) -> "Contacts":
        """Points where the arm may touch its world, over time: forces, slip, residuals."""
        if not self._points:
            raise OptionError("this run had no world to touch", "give simulate a world=[...]")
        rows, motion = self._contacts, (self.t, self.q, self.qd)
        return contacts_of(self.robot, self._points, rows, *motion, self.dt)

    @property
    def contact_force(self) -> np.ndarray:
        """Forces on the arm at every point of `contacts`, (..., N, points, 3)."""
        return self.contacts.force

    @property
    def deflection(self) -> np.ndarray:
        """Motor less joint position, (..., N, n): what elastic gears bend and play; 0 of others."""
        return self.motor - self.q

    @property
    def flank(self) -> np.ndarray:
        """Flank on which the teeth of gears with backlash touch, (..., N, n).

        1: the motor is ahead of its joint, -1: behind it, 0: within the gap. Joints without
        backlash are 0 throughout, whether rigid or elastic: they have no gap to cross.
        """
        found, chain, d = 0.0 * self.q, self.robot.chain, self.deflection
        for gear in chain.with_backlash:
            i, least = coordinate(chain, gear), float(gear.backlash) - TOUCHING
            found[..., i] += 1.0 * (d[..., i] >= least) - 1.0 * (d[..., i] <= -least)
        return found

    @property
    def transmitted(self) -> np.ndarray:
        """Torque through elastic gears, (..., N, n), `tau` of rigid joints."""
        found, chain = self.tau.copy(), self.robot.chain
        for gear in chain.elastic:
            i = coordinate(chain, gear)
            rate = self.motor_rate[..., i] - self.qd[..., i]
            found[..., i] = transmitted(gear, self.deflection[..., i], rate, NUMPY)
        return found

    @cached_property
    def _forces(self) -> Acted:
        """What acted beside the drives, and the accelerations."""
        if self._acted is None:
            raise OptionError(
                "accelerations of an ensemble are not kept",
                "simulate the arm that is asked for alone",
            )
        return self._acted()

    @property
    def qdd(self) -> np.ndarray:
        """Accelerations of the joints of one arm, (N, n): by the torques, friction and holds that
        act from each instant on; impacts, which last no time, have none."""
        return self._forces.qdd

    @cached_property
    def reactions(self) -> JointReactions:
        """Force and moment in every joint of one arm over time: `.values` (N, links, 6).

        `robot.joint_reactions` along the run, with the `wrench` and `link_forces` that acted. Print
        the largest and the RMS of every component, `.plot()`, `.report("reactions.html")`. Refused
        of a run with a world.
        """
        if self._points:
            raise OptionError(
                "run.reactions of an arm that touches a world is not computed: forces of contacts "
                "are not among them",
                "run.contacts has those; robot.joint_reactions(..., link_forces=) takes them",
            )
        qdd, forces = self._forces
        given: dict[str, Any] = {**forces}
        found = self.robot.joint_reactions(self.q, self.qd, qdd, **given)
        return JointReactions(self.robot, self.t, found)

    @property
    def metrics(self) -> "TrackingMetrics":
        """Tracking errors per joint: mean, RMS, largest; of an ensemble over all its members."""
        from ..control.metrics import tracking_metrics

        if self.error is None:
            raise OptionError("this run had no reference", "give simulate a reference=...")
        error = on_host(self.error.reshape(-1, self.error.shape[-1]))
        names = list(self.robot.drive_names)
        return replace(tracking_metrics(error, names), note=self.message)

    def check(self) -> list[Finding]:
        """A step that was too coarse; positions, velocities and torques beyond limits of the model.

        Of the step: how wrong the positions became and which step would do. Of limits: joint, time
        and value, those of the arm, then positions and velocities of its reference. Nothing of a
        simulation keeps velocity_limit and effort_limit; `stops` makes position limits act.
        Of contacts, steps not solved to 1e-8 m/s, and points that slide as Painleve's rod does.
        A note says which vibrations of elastic joints an implicit step damps, and which friction
        with memory the step takes as Coulomb friction; an error or a warning which vibration grows
        or rings under the gains of the controller.
        """
        arm, wanted = self._beyond
        whose = [(x, "") for x in arm] + [(x, "the reference's ") for x in wanted]
        coarse = [] if self.step_error is None else [self.step_error.finding(self.robot)]
        if self.closed_loop_mode is not None:
            coarse.append(self.closed_loop_mode.finding)
        beyond = [x.finding(self.robot, of) for x, of in whose]
        touching = self.contacts.findings() if self._points else []
        return coarse + touching + beyond + self._damped() + self._slipping_at_once()

    @cached_property
    def numerical_damping(self) -> NumericalDamping | None:
        """Damping that the steps add to vibrations of elastic joints; None of rigid arms.

        Modes are those of the robot at the start, of an ensemble at that of its first arm. None
        also of "dormand-prince", which holds a tolerance.
        """
        if not len(self.t) or not self.q.size:
            return None
        q = np.asarray(on_host(self.q[..., 0, :]), float).reshape(-1, self.robot.n)[0]
        return numerical_damping(self.robot, self.integrator, self.dt, q)

    @cached_property
    def closed_loop_mode(self) -> "ClosedLoopMode | None":
        """The vibration of elastic joints that grows or rings under the gains; else None.

        From the linear loop of arm and gains at the start, with its samples and its delay: the mode
        that grows fastest, else the least damped one below a damping ratio of 0.05. None also of
        functions as controllers and of ensembles.
        """
        try:
            return None if self._loop is None else self._loop.mode()
        except Exception:  # a law of the user's that cannot be asked again
            return None

    def _damped(self) -> list[Finding]:
        """A note on vibrations that an implicit step damps."""
        if not INTEGRATORS[self.integrator].gamma:
            return []
        found = self.numerical_damping
        if found is None or not found.damps:
            return []
        every_step = self.measured is not None and len(self.measured.t) >= len(self.t)
        return [found.finding(self.dt if every_step else None)]

    def _slipping_at_once(self) -> list[Finding]:
        """A note on friction with memory that is too stiff for the steps."""
        adaptive = INTEGRATORS[self.integrator].adaptive
        return [] if adaptive else slipping_finding(self.robot, self.dt)

    @cached_property
    def step_error(self) -> "StepError | None":
        """Error of positions from too coarse a step, and a step that would do; else None.

        The run is done again in half steps where a few of its steps, or what the motion makes of a
        small disturbance, leave a doubt; of more than 100 000 steps a part of it is. What counts is
        an error above 1 % of a joint's range of motion and 1e-3 (rad, m). Of an ensemble the arm
        with the largest local errors is looked at. Under a function as controller, which is not
        called again, the error is a lower bound. None also of runs that diverged, of integrators
        that choose their steps, on a GPU, and where functions of time give something else when
        asked again.
        """
        try:
            return None if self._step is None else self._step.error(self.numpy())
        except Exception:  # functions of the user's that cannot be asked again
            return None

    @cached_property
    def _beyond(self) -> tuple[list[Beyond], list[Beyond]]:
        """What passes the limits of the model: of the arm, of the reference."""
        run, robot, every = self.numpy(), self.robot, range(self.robot.n)
        speed, effort = bounds(robot)
        parts = ((run.q, robot.limits, "position"), (run.qd, speed, "velocity"))
        arm: list[Beyond] = []
        for values, limits, quantity in (*parts, (run.tau, effort, "torque")):
            rows, t = _outermost(values), np.asarray(run.t)
            t = np.tile(t, len(rows) // max(1, len(t)))
            some = np.isfinite(rows).all(axis=1)
            arm += beyond(t[some], rows[some], limits, quantity, every)
        wanted: list[Beyond] = []
        if run.reference is not None:
            q, qd, _ = map(np.asarray, run.reference)
            wanted += beyond(run.t, q, robot.limits, "position", robot.driven)
            if len(q) > 1:  # and what lies between two instants
                rate = np.diff(q, axis=0) / np.diff(run.t)[:, None]
                qd = np.where(np.abs(rate) > np.abs(qd[:-1]), rate, qd[:-1])
            wanted += beyond(run.t[: len(qd)], qd, speed, "velocity", robot.driven)
        return arm, wanted

    @property
    def beyond_limits(self) -> list[str]:
        """The worst of what `check` finds, a line for each quantity; of diverged runs nothing."""
        return self._in_short(*CHECKED)

    def _in_short(self, *quantities: str) -> list[str]:
        if not len(self.t) or np.all(self.diverged):
            return []
        whose = zip(self._beyond, ("", "reference "), strict=True)
        return [x for found, of in whose for x in in_short(self.robot, found, of, quantities)]

    def __getstate__(self) -> dict[str, Any]:
        """The state of a copy: checks of step and gains are done, what they need stays behind."""
        known = {"step_error": self.step_error, "closed_loop_mode": self.closed_loop_mode}
        if self._acted is not None:
            with suppress(Exception):  # functions of the user's that cannot be asked again
                known["_forces"] = self._forces
        return {**vars(self), **known, "_step": None, "_loop": None, "_acted": None}

    def numpy(self) -> "Run":
        """It with NumPy arrays, where it has those of another library."""
        if not origin(self.q):
            return self
        return self._moved(lambda values: np.asarray(on_host(values)))

    def _moved(self, to: Callable[[Any], Any]) -> "Run":
        """The run with its arrays as another library has them."""
        found: dict[str, Any] = {name: to(getattr(self, name)) for name in ARRAYS}
        found["_contacts"] = {name: to(values) for name, values in self._contacts.items()}
        found["_motors"] = {name: to(values) for name, values in self._motors.items()}
        if self.reference is not None:
            found["reference"] = State(*map(to, self.reference))
        return replace(self, **found)

    def plot(
        self,
        what: str | Sequence[str] | None = None,
        joints: "str | int | Sequence[str | int] | None" = None,
        path: str | Path | None = None,
    ) -> "Figure":
        """Figure of q, qd, tau, error and energy over time, or of some of them.

        Elastic joints: also "deflection", drawn by default, "motor", "motor_rate", "transmitted".
        """
        from ..plots import plot_run

        return plot_run(self.numpy(), what=what, joints=joints, path=path)

    @checked
    def animate(
        self,
        path: str | Path,
        fps: float = 30.0,
        speed: float = 1.0,
        frames: bool = True,
        trace: bool = True,
        links: str = "solid",
    ) -> Path:
        """The moving arm as .gif, .mp4 or .html: options are those of `dynamis.plots.animate`."""
        from ..plots import animate

        return animate(self.numpy(), path, fps, speed, frames, trace, links)

    @checked
    def save(self, path: str | Path, measured: bool = False) -> Path:
        """Columns t, q1.., qd1.., tau1.. as .csv or .npz; `measured`: what the sensors gave.

        Of arms with elastic joints also motor1.., motor_rate1.., but not of what was measured.
        Of a run that diverged or ended early the latter is said in a DynamisWarning.
        """
        if self.q.ndim != 2:
            raise OptionError(
                f"run holds an ensemble {self.q.shape[:-2]}, expected one arm to save"
            )
        if measured and self.measured is None:
            raise OptionError("this run had no sensors to read", "give simulate a controller")
        if measured:
            warn_of_end(self)
        source: Any = self.measured if measured else self.numpy()
        names = ("t", "q", "qd", "tau", *(() if measured else self._motor_names))
        return write_columns(path, {k: getattr(source, k) for k in names})

    @property
    def _motor_names(self) -> tuple[str, ...]:
        """Columns of the motors in tables, which only arms with elastic joints have."""
        return ("motor", "motor_rate") if self._motors else ()

    def to_pandas(self) -> Any:
        """A pandas.DataFrame of columns t, q1.., qd1.., tau1.., friction1.., error1...

        Of arms with elastic joints also motor1.., motor_rate1... Of an ensemble the column `member`
        says whose rows they are. `dy.read_log` reads it back.
        """
        return _table(self.numpy(), "pandas")

    def to_polars(self) -> Any:
        """The run as a polars.DataFrame."""
        return _table(self.numpy(), "polars")

    def __repr__(self) -> str:
        members = "" if self.q.ndim == 2 else f" of {int(np.prod(self.q.shape[:-2]))} arms"
        end = f", {self.message}" if self.message else ""
        last = self.t[-1] if len(self.t) else 0.0
        past = [] if origin(self.q) else self._in_short("torque", "velocity")  # not from a GPU
        end += "".join(f"; {x}" for x in past)
        return f"Run({self.robot.name!r}{members}, {last:g} s, {len(self.t)} instants{end})"

    def _repr_html_(self) -> str:
        said = f"<p>{html.escape(repr(self))}</p>"
        if self.q.ndim != 2 or origin(self.q) or not len(self.t):
            return said
        peaks = (np.abs(x).max(axis=0, initial=0.0) for x in (self.qd, self.tau))
        columns = (self.q[0], self.q[-1], *peaks)
        cells = ([f"{x:.4g}" for x in row] for row in np.transpose(columns).tolist())
        rows = [(name, *row) for name, row in zip(self.robot.joint_names, cells, strict=True)]
        return said + html_table(
            [("joint", "q at first", "at last", "max |qd|", "max |tau|"), *rows]
        )


def _table(run: Run, library: str) -> Any:
    """A DataFrame of "pandas" or "polars"; see `_columns`."""
    return package(library, library, f"to_{library}", "dataframes").DataFrame(_columns(run))


def _columns(run: Run) -> dict[str, np.ndarray]:
    """t, q1.., qd1.., tau1.., friction1.., and with a reference error1..: one row per instant.

    Of elastic arms motor1.. and motor_rate1.. follow. Of an ensemble one member's rows follow the
    other's; `member` (or `member1`, `member2`, .. where it has several axes) says whose they are.
    """
    shape, size = run.q.shape[:-2], len(run.t)
    count = int(np.prod(shape))
    found: dict[str, np.ndarray] = {}
    names = ["member"] if len(shape) == 1 else [f"member{i + 1}" for i in range(len(shape))]
    for name, index in zip(names, np.indices(shape), strict=True):
        found[name] = np.repeat(index.reshape(-1), size)
    found["t"] = np.tile(run.t, count)
    parts = {"q": run.q, "qd": run.qd, "tau": run.tau, "friction": run.friction}
    if run.error is not None:
        parts["error"] = run.error
    parts |= {name: getattr(run, name) for name in run._motor_names}
    rows = {name: values.reshape(count * size, -1) for name, values in parts.items()}
    return found | {name: column.copy() for name, column in separate(rows).items()}


def _outermost(values: np.ndarray) -> np.ndarray:
    """Rows (N, n) of one arm; of an ensemble its highest and lowest ones, (2 N, n)."""
    if values.ndim == 2:
        return values
    every = values.reshape(-1, *values.shape[-2:])
    if not len(every):
        return np.zeros((0, values.shape[-1]))
    return np.concatenate([np.fmax.reduce(every, axis=0), np.fmin.reduce(every, axis=0)])


AS_ASKED = "ended by event"  # an end that the user described


def warn_of_end(run: Any) -> None:
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
    warn(said)
