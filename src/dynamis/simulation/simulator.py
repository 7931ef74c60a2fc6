"""`dy.Simulator`: an arm, its computer and its forces, compiled once and run as often as wanted."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import whole
from ..compile.arrays import as_batch
from ..compile.libraries import like
from ..errors import OptionError, ShapeError, shown
from ..lazy import once
from .assembly import Assembly
from .loop import (
    GROUP,
    MachineLoop,
    adaptive,
    advance,
    by_samples,
    by_stages,
    in_machine_code,
    loop_of,
)
from .record import Recorder
from .run import Run
from .settings import Settings, settings, spanned, started

if TYPE_CHECKING:
    from ..robot import Robot

MOST_STEPS = 10**6  # a plain int up to this skips the full argument check
NOT_STARTED = "no reset yet"
SEEN = ("q", "qd", "tau", "command")


class Simulator:
    """A simulation that is advanced as its caller asks; the options are those of `dy.simulate`.

    sim = dy.Simulator(robot, dt=1e-3)     # at q = qd = 0 until reset (on its trajectory, if any)
    sim.reset(q0); sim.step(tau, steps=10); sim.q
    run = sim.run(duration=1.0)

    Code is made when it is first needed, a controller of one's own traced once. q0, qd0,
    `parameters` and forces with leading axes make an ensemble: `q`, `qd` and `tau` have the same
    axes, and `step` takes torques of every arm.
    """

    def __init__(
        self,
        robot: "Robot",
        dt: float = 1e-3,
        controller: Any = None,
        integrator: str = "rk4",
        *,
        reference: Any = None,
        torque: Any = None,
        external: Any = None,
        wrench: Any = None,
        link_forces: Any = None,
        observer: Any = None,
        sensors: Any = None,
        sample_time: float | None = None,
        delay: float = 0.0,
        stops: bool = False,
        restitution: float = 0.0,
        drives: bool = True,
        parameters: Any = None,
        events: Any = (),
        tolerance: float = 1e-9,
        threads: int | None = None,
        progress: bool | None = None,
        device: Any = None,
        dtype: Any = None,
        fused: bool = False,
        project: bool = False,
    ):
        self._given = settings(
            robot, dt=dt, controller=controller, integrator=integrator, reference=reference,
            torque=torque, external=external, wrench=wrench, link_forces=link_forces,
            observer=observer, sensors=sensors, sample_time=sample_time, delay=delay, stops=stops,
            restitution=restitution, drives=drives, parameters=parameters, events=events,
            tolerance=tolerance, threads=threads, progress=progress, device=device, dtype=dtype,
            fused=fused, project=project,
        )  # fmt: skip
        self.robot, self.dt = robot, self._given.dt
        self.assembly = Assembly(self._given)
        self._s, self._x, self._steps = self._given, np.zeros((0, 0)), 0
        self._over = NOT_STARTED  # why it cannot go on; empty if it can
        self._loops: dict[bool, Any] = {}  # by whether there are many arms
        self._repeat: Any = None
        self._views: dict[str, np.ndarray] = {}  # parts of the state, (..., n)

    def reset(self, q0: Any = None, qd0: Any = None, where: Any = None) -> None:
        """Time zero, the arm (or every arm of an ensemble) at q0 with velocity qd0.

        Without q0 it is where a trajectory as reference begins, or at `robot.home`, at rest.
        `where` (...) starts only the arms anew for which it is true; the others and time go on.
        """
        self._reset(started(self._given, q0, qd0, self._given.parameters), where)

    def _reset(self, s: Settings, where: Any = None) -> None:
        """Time zero of settings that have been given a start."""
        if s.count:
            refuse_singular(self.robot, s.q0[0])
        x = self.assembly.start(s)
        if where is not None:
            self._ready()
            try:
                chosen: Any = np.asarray(where)
            except ValueError:  # ragged
                chosen = np.zeros(0)
            if chosen.dtype != bool or chosen.shape != self._s.shape or s.shape != chosen.shape:
                raise ShapeError(f"where is {shown(where)}, expected flags {self._s.shape}")
            chosen = chosen.reshape(-1)
            self._x[chosen] = x[chosen]
            return
        if x.shape == self._x.shape and s.shape == self._s.shape:
            self._x[...] = x  # in place: compiled code keeps this buffer's address
        else:
            self._x, self._repeat = x, None
            part, shape = self.assembly.slots.part, (*s.shape, s.n)
            self._views = {name: part(x, name).reshape(shape) for name in SEEN}
        self._s, self._steps, self._over = s, 0, ""

    @property
    def t(self) -> float:
        """Seconds since the reset."""
        return self._steps * self.dt

    @property
    def q(self) -> np.ndarray:
        """Positions, (..., n)."""
        return self._seen("q")

    @property
    def qd(self) -> np.ndarray:
        """Velocities, (..., n)."""
        return self._seen("qd")

    @property
    def tau(self) -> np.ndarray:
        """Torques that acted in the last step, (..., n)."""
        return self._seen("tau")

    def _seen(self, name: str) -> np.ndarray:
        if not self._views:
            self.reset()
        found = self._views[name].copy()
        return found if self._s.like is None else like(self._s.like, found)

    def _ready(self) -> None:
        if self._over == NOT_STARTED:
            self.reset()
        if self._over:
            raise OptionError(f"the simulator cannot go on: {self._over}", "call reset first")

    def step(self, tau: Any = None, steps: int = 1) -> None:
        """Let `steps` steps of dt pass; without a controller `tau` (..., n) is held from now on."""
        if self._over:
            self._ready()
        if type(steps) is not int or not 0 < steps <= MOST_STEPS:
            steps = whole(steps, "steps")
        if self._repeat is None:
            self._repeat = self._repeated()
        if tau is not None:
            self._hold(tau)
        self._repeat(steps)
        self._steps += steps

    def _hold(self, tau: Any) -> None:
        s = self._s
        if s.law is not None or s.function is not None:
            raise OptionError("tau was given, but the controller commands", "leave tau out")
        if type(tau) is not np.ndarray or tau.dtype != np.float64 or tau.shape[-1:] != (s.n,):
            tau = as_batch(tau, "tau", (s.n,), f"robot {s.robot.name!r}")
        if tau.shape[:-1] not in ((), s.shape):
            raise ShapeError(f"tau has shape {tau.shape}, expected {(*s.shape, s.n)}")
        if not np.isfinite(tau).all():
            raise OptionError(f"tau is {shown(tau)}, expected finite numbers")
        self._views["command"][...] = tau

    def _repeated(self) -> Any:
        """The fastest function(steps) that advances these settings."""
        s, m = self._s, self.assembly
        if s.function is not None or s.tableau.adaptive:
            what = "a function as controller" if s.function is not None else s.tableau.name
            raise OptionError(f"single steps with {what} are not possible", "use run(duration)")
        loop = self._loop
        small = s.count <= GROUP and isinstance(loop, MachineLoop)
        if small and not m.computes and not m.inputs.size:
            return loop.repeated(self._x, m.plant_constants(s, s.dt))
        return lambda steps: advance(s, m, loop, self._x, self._steps, steps, None, 1)

    @property
    def _loop(self) -> Any:
        many, m = self._s.count > 1, self.assembly
        if many not in self._loops:
            tasks = m.tasks if self._s.function is None else [m.plant_task]
            self._loops[many] = loop_of(tasks, self._s)
        return self._loops[many]

    def run(self, duration: float, save_every: int = 1) -> Run:
        """Let `duration` seconds pass from here on, and keep every few instants of them."""
        self._ready()
        s = spanned(self._s, duration, save_every, self._steps)
        way = in_machine_code
        if s.tableau.adaptive:
            way = adaptive
        elif s.function is not None:
            way = by_samples if s.sampled else by_stages
        if way is not in_machine_code and s.first:
            raise OptionError(
                f"the simulator is at t = {self.t:g} s, expected the start",
                "functions as controllers and steps of any length run from a reset on",
            )
        recorder = Recorder(s, self.assembly)
        if s.count:
            loop = self._loop if way in (in_machine_code, by_samples) else None
            way(s, self.assembly, loop, self._x, recorder)
        self._steps += s.steps
        run = recorder.run()
        if way in (adaptive, by_stages) and recorder.filled:
            self._x[:, : recorder.kept] = recorder.rows[:, recorder.filled - 1]
        if way is not in_machine_code or s.short or run.message:
            self._over = run.message or f"a run of {s.duration:g} s has ended"
        return run


def refuse_singular(robot: "Robot", q: np.ndarray) -> None:
    """Raise if M(q) or a loop is singular; the last q that passed is remembered."""
    fine = once(robot, "not singular", list)
    if not fine or fine[0] != q.tobytes():
        if robot.model.closures:
            robot.forward_dynamics(q, np.zeros(robot.n), np.zeros(robot.n))
        else:
            robot._refuse_singular(q)
        fine[:] = [q.tobytes()]
