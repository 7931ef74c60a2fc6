"""`dy.simulate` and `dy.Simulator`: an arm, its control computer and its forces, in time.

Their signatures are those of `Options`, which says what each option is.
"""

import inspect
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from ..arguments import flag, strict, whole
from ..compile.arrays import as_batch
from ..compile.libraries import like
from ..compile.service import compiling
from ..control.controller import Controller, refuse_passive
from ..control.observer import Observer
from ..control.sensors import Sensors
from ..control.stability import NOTABLE
from ..digest import as_defined
from ..errors import OptionError, ShapeError, shown, warn
from ..lazy import once
from ..model.world import Obstacle
from ..robot import Robot
from ..robot.closing import drive_hint
from .adaptive import adaptive
from .assembly import Assembly
from .loop import GROUP, Loop, MachineLoop, Simulation, by_samples, fixed_steps, loop_of
from .options import OF_A_SIMULATOR, STARTS, Options
from .record import TOO_SHORT, RunRecorder
from .run import Run
from .settings import Settings, settings, spanned, started, with_reference
from .stages import by_stages
from .step_check import Loops, step_check

MOST_STEPS = 10**6  # a plain int up to this skips the full argument check
NOT_STARTED = "no reset yet"
SEEN = ("q", "qd", "tau", "command")


@strict
def simulate(
    robot: Robot,
    duration: float = 1.0,
    dt: float = 1e-3,
    q0: Any = None,
    qd0: Any = None,
    controller: Any = None,
    integrator: str = "rk4",
    *,
    motor0: Any = None,
    motor_rate0: Any = None,
    reference: Any = None,
    torque: Any = None,
    external: Any = None,
    wrench: Any = None,
    link_forces: Any = None,
    base_motion: Any = None,
    observer: Any = None,
    sensors: Any = None,
    sample_time: float | None = None,
    delay: float = 0.0,
    stops: bool = False,
    restitution: float = 0.0,
    world: Any = None,
    drives: bool = True,
    parameters: Any = None,
    save_every: int = 1,
    events: Any = (),
    tolerance: float = 1e-9,
    threads: int | None = None,
    progress: bool | None = None,
    device: Any = None,
    dtype: Any = None,
    fused: bool = False,
    project: bool = False,
    check_step: bool = True,
) -> Run:
    """Simulate an arm from (q0, qd0) for `duration` seconds in steps of `dt`.

        M(q) qdd + C(q, qd) qd + g(q) + friction + J^T wrench + sum J_i^T link_forces_i
            = tau + external

    `controller` is one of `dy.control`, run every `sample_time` (default: every step, or its own)
    with its torques held in between and acting `delay` seconds after they were computed (which
    needs steps of one length). Its step is the one that `dy.export_controller` writes, safe state
    included (`run.states["computer.status"]`); other options of the export go into a
    `dynamis.realtime.Law`, which is a controller too. Or it is any function(t, q, qd) -> tau, asked
    at every stage of the integrator unless a sample time or sensors are given. `reference` is a
    trajectory, a place, or a function of t. `torque`, `external`, `wrench` and `link_forces`
    (a row per link, as in `inverse_dynamics`) stay, are functions of t, or have one more axis: an
    entry per step. With further axes before that one, which then has one entry, they stay and
    differ from arm to arm of an ensemble: `torque` (N, 1, n), while (1, steps, n) is for all arms.

    `base_motion` is how the base moves: a `dy.trajectory.BaseMotion` of poses over time or of what
    an IMU recorded, or the nine numbers of `inverse_dynamics` in the same forms as forces; q, qd
    and energies are then as seen from the base.

    Without q0 the arm starts on its reference, if that is a trajectory: at its first point and with
    its velocity; otherwise at `robot.home` (q = 0), at rest. qd0 is zero where q0 is given alone.

    Coulomb friction holds joints exactly; `stops` makes the joint limits act (`restitution` 0 to
    1); `drives` lets motor limits, circuits and gear efficiencies act. q0, qd0, `parameters` and
    forces may have leading axes: an ensemble, which gives q, qd, tau, friction and stuck only.
    `events` are functions g(t, q, qd): their zeros are found between any two steps, whatever
    `save_every`, and one with a true attribute `terminal` ends the run.

    Elastic joints (`dy.Drive(stiffness=...)`): q is the link side, `run.motor` the motor side in
    units of the joint. Motors start at `motor0` with `motor_rate0`, or where their gears carry the
    arm at rest, and move with the joints. Where a mode is too fast for explicit steps of dt, "rk4"
    becomes "ros34pw2", which is implicit in the gears; `run.integrator` says which it was.

    Closed mechanisms: q0 must close the loops and qd0 keep them closed, or `project=True` puts both
    where they do; they stay closed at every step. A controller, a reference and measurements are
    of the drives (`robot.driven`), `torque` and the run itself of all joints.

    integrator: "rk4", "heun", "euler", "semi-implicit-euler", "ros34pw2" (elastic joints), or
    "dormand-prince", which chooses
    its own steps for `tolerance` and gives the states every dt. A run whose steps become too short
    for that ends there; `message` says so, and `diverged` stays False. A run of one arm that
    diverges or ends so gives a `DynamisWarning`.

    So does a controller whose gains make elastic joints oscillate ever more: which joint, at which
    frequency, and what to do (`run.closed_loop_mode`, which also names those that only ring). And
    so does a run whose fixed step is too coarse: how wrong which joint is, when, and which step
    would do, or, of a chaotic motion, until when the run is right (`run.step_error`). Of an
    ensemble one arm is looked at. `check_step=False` leaves that out, which saves at most 15 % of
    the time of a run whose step is right, and more where there is doubt: such runs are done again.

    `device="cuda"` runs all steps of all arms in one kernel of a GPU, with the same bits; functions
    as controllers, steps of their own length and events are refused there. The run's arrays are of
    the library (and on the GPU) of q0, qd0 or `parameters`. `dtype`: "float64" or "float32";
    `fused` adds products without rounding them first: faster, last digits differ.
    """
    flag(check_step, "check_step")
    run = _simulated(locals())  # every option by name, as the signature has them
    if run.q.ndim == 2 and (run.diverged is True or run.message.startswith(TOO_SHORT)):
        warn(f"the simulation ended early: {run.message}")
    elif check_step:
        warn_of_step(run)
        warn_of_gains(run)
    warn_of_contacts(run)
    return run


def warn_of_step(run: Run) -> None:
    """Say that the step of a run was too coarse, if it was."""
    if run.step_error is not None:
        found = run.step_error.finding(run.robot)
        warn(f"{found.where}: {found.what}; {found.remedy}")


def warn_of_contacts(run: Run) -> None:
    """Say that contacts were not solved to their bound, or have no one solution."""
    if run._points:
        for found in run.contacts.findings():
            warn(f"{found.what}; {found.remedy}")


def warn_of_gains(run: Run) -> None:
    """Say that the gains make elastic joints oscillate ever more, if that shows within the run."""
    mode = run.closed_loop_mode
    if mode is not None and len(run.t) and mode.growth(run.t[-1] - run.t[0]) > NOTABLE:
        warn(mode.text)


def simulated(*given: Any, **options: Any) -> Run:
    """`simulate` for callers that read `run.message` themselves: without a warning."""
    bound = SIGNATURE.bind(*given, **options)
    bound.apply_defaults()
    return _simulated(bound.arguments)


def _simulated(given: Mapping[str, Any]) -> Run:
    """The run of all arguments of `simulate`."""
    options = {x: given[x] for x, usual in USUAL.items() if given[x] is not usual}
    sim = prepared(given["robot"], options)
    sim._given = with_reference(sim._given, given["reference"])
    starts = {name: given[name] for name in STARTS}
    sim._reset(started(sim._given, **starts, parameters=sim._given.parameters))
    return sim._run(given["duration"], given["save_every"])


SIGNATURE = inspect.signature(simulate)
USUAL = {x: SIGNATURE.parameters[x].default for x in OF_A_SIMULATOR if x != "reference"}

# Simulators of the last calls: most calls differ in start, reference and duration only.
#
# The key holds the value of every option, and of a controller that of every field: nothing is taken
# from an object that may have changed since. What has no such value (a function, a law of the
# user's own, a long list of torques) is looked at anew every time.

RECENT = 8
LONGEST = 64  # numbers that are worth comparing
BLOCKS = (Controller, Observer, Sensors, Obstacle)
PLAIN = {bool, int, str, NoneType}
UNCHANGING = {*PLAIN, float, np.float64, Robot}
_recent: dict[Hashable, "Simulator"] = {}


def prepared(robot: Robot, options: dict[str, Any]) -> "Simulator":
    """A simulator without a reference, not yet reset; of options that come again, a copy.

    `options` are those that are not the usual ones.
    """
    try:
        key = compiling(), id(robot), *((name, _value(x)) for name, x in options.items())
    except (TypeError, RecursionError):  # a list may hold itself
        key = None
    if key is None:
        return Simulator(robot, **options)
    made = _recent.pop(key, None)
    if made is None:
        made = Simulator(robot, **{name: _kept(x) for name, x in options.items()})
    _recent[key] = made  # as the last: a dictionary keeps its order
    for old in list(_recent)[:-RECENT]:
        _recent.pop(old, None)
    found = object.__new__(Simulator)  # what copy() does, ten times as fast
    vars(found).update(vars(made))
    return found


def _value(x: Any) -> Hashable:
    """What is equal for equal values only; TypeError where nothing is."""
    kind = type(x)
    if kind in PLAIN:
        return kind, x  # True and 1 are equal
    if kind is float or kind is np.float64:
        return kind, x.hex()  # 0.0 and -0.0 are equal
    if (kind is tuple or kind is list) and len(x) <= LONGEST:
        return kind, *map(_value, x)
    if kind is np.ndarray and x.dtype.kind in "fiu" and x.size <= LONGEST:
        return x.dtype.str, x.shape, x.tobytes()
    if kind is Robot:
        return kind, id(x)  # the simulator keeps it: no other has this number
    if isinstance(x, BLOCKS) and as_defined(x):
        return kind, *((name, _value(field)) for name, field in vars(x).items())
    raise TypeError(f"{kind} may change")


def _kept(x: Any) -> Any:
    """A value that nobody else can change: a copy, where somebody could."""
    if type(x) in UNCHANGING:
        return x
    if isinstance(x, (tuple, list)):
        return type(x)(map(_kept, x))
    found = copy(x)
    if isinstance(x, BLOCKS):
        vars(found).update({name: _kept(field) for name, field in vars(x).items()})
    return found


@strict
class Simulator:
    """A simulation that is advanced as its caller asks; the options are those of `dy.simulate`.

    sim = dy.Simulator(robot, dt=1e-3)     # at q = qd = 0 until reset (on its trajectory, if any)
    sim.reset(q0); sim.step(tau, steps=10); sim.q
    run = sim.run(duration=1.0)

    Code is made when it is first needed; a law of one's own is traced after every reset. q0, qd0,
    `parameters` and forces with leading axes make an ensemble: `q`, `qd` and `tau` have the same
    axes, and `step` takes torques of every arm.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        controller: Any = None,
        integrator: str = "rk4",
        *,
        reference: Any = None,
        torque: Any = None,
        external: Any = None,
        wrench: Any = None,
        link_forces: Any = None,
        base_motion: Any = None,
        observer: Any = None,
        sensors: Any = None,
        sample_time: float | None = None,
        delay: float = 0.0,
        stops: bool = False,
        restitution: float = 0.0,
        world: Any = None,
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
        given = locals()  # every option by name, as the signature has them
        self._given = settings(robot, Options(**{name: given[name] for name in OF_A_SIMULATOR}))
        self.robot, self.dt = robot, self._given.dt
        self.assembly = Assembly(self._given)
        self._blocks = self._known_blocks()
        self._s, self._x, self._steps = self._given, np.zeros((0, 0)), 0
        self._halted = NOT_STARTED  # why it cannot go on; empty if it can
        self._loops: dict[bool, Loop] = {}  # by whether there are many arms
        self._plant_loops: dict[bool, Loop] = {}
        self._repeat: Callable[[int], None] | None = None
        self._views: dict[str, np.ndarray] = {}  # parts of the state, (..., n)

    def reset(
        self,
        q0: Any = None,
        qd0: Any = None,
        where: Any = None,
        *,
        motor0: Any = None,
        motor_rate0: Any = None,
    ) -> None:
        """Time zero, the arm (or every arm of an ensemble) at q0 with velocity qd0.

        Without q0 it is where a trajectory as reference begins, or at `robot.home`, at rest.
        Motors of elastic joints are where the gears carry the arm at rest, or at `motor0` with
        `motor_rate0`, in units of the joint. `where` (...) starts only the arms anew for which it
        is true; the others and time go on.
        """
        if where is None and (
            self.assembly.computer.key is None or self._blocks != self._known_blocks()
        ):
            self._renew()
        given = q0, qd0, self._given.parameters, motor0, motor_rate0
        self._reset(started(self._given, *given), where)

    def _known_blocks(self) -> Hashable:
        """Values of controller, observer and sensors as they are now; None if nothing tells."""
        law, o = self._given.law, self._given.options
        try:
            return tuple(map(_value, (law and law.controller, o.observer, o.sensors)))
        except (TypeError, RecursionError):
            return None

    def _renew(self) -> None:
        """Take a law as it is now: code, gains and state of one of the user's may differ.

        Of those of the package arrays of gains may.
        """
        law, self._blocks = self._given.law, self._known_blocks()
        self._given = replace(self._given, law=None if law is None else replace(law))
        self.assembly, self._repeat = Assembly(self._given), None
        self._loops, self._plant_loops = {}, {}

    def _reset(self, s: Settings, where: Any = None) -> None:
        """Time zero of settings that have been given a start."""
        if s.count:
            refuse_singular(self.robot, s.start.q0[0])
        x = self.assembly.start(s)
        if where is not None:
            self._ready()
            try:
                chosen: Any = np.asarray(where)
            except ValueError:  # ragged
                chosen = np.zeros(0)
            if (
                chosen.dtype != bool
                or chosen.shape != self._s.start.shape
                or s.start.shape != chosen.shape
            ):
                raise ShapeError(f"where is {shown(where)}, expected flags {self._s.start.shape}")
            chosen = chosen.reshape(-1)
            self._x[chosen] = x[chosen]
            return
        if x.shape == self._x.shape and s.start.shape == self._s.start.shape:
            self._x[...] = x  # in place: compiled code keeps this buffer's address
        else:
            self._x, self._repeat = x, None
            part, shape = self.assembly.slots.part, (*s.start.shape, s.n)
            self._views = {name: part(x, name).reshape(shape) for name in SEEN}
        self._s, self._steps, self._halted = s, 0, ""

    @property
    def t(self) -> float:
        """Seconds since the reset."""
        return self._steps * self.dt

    @property
    def q(self) -> np.ndarray:
        """Positions, (..., n)."""
        return self._copied("q")

    @property
    def qd(self) -> np.ndarray:
        """Velocities, (..., n)."""
        return self._copied("qd")

    @property
    def tau(self) -> np.ndarray:
        """Torques that acted in the last step, (..., n)."""
        return self._copied("tau")

    @property
    def motor(self) -> np.ndarray:
        """Positions of the motors in units of their joints, (..., n); of rigid joints q."""
        return self._copied("q", "motor")

    @property
    def motor_rate(self) -> np.ndarray:
        """Velocities of the motors in units of their joints, (..., n); of rigid joints qd."""
        return self._copied("qd", "motor_rate")

    def _copied(self, name: str, of_motors: str = "") -> np.ndarray:
        """A copy of one part of the state, as an array of the library the start was given in.

        `of_motors` is the part that elastic joints have instead.
        """
        if not self._views:
            self.reset()
        found = self._views[name].copy()
        if of_motors and self.assembly.plant.gears:
            motors = self.assembly.slots.part(self._x, of_motors)
            found = self.assembly.with_motors(found, motors.reshape(*found.shape[:-1], -1))
        return found if self._s.start.like is None else like(self._s.start.like, found)

    def _ready(self) -> None:
        """Reset it if that was never done; raise if it cannot go on."""
        if self._halted == NOT_STARTED:
            self.reset()
        if self._halted:
            raise OptionError(f"the simulator cannot go on: {self._halted}", "call reset first")

    def step(self, tau: Any = None, steps: int = 1) -> None:
        """Let `steps` steps of dt pass; without a controller `tau` (..., n) is held from now on."""
        if self._halted:
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
        """Let torques act from now on."""
        s = self._s
        if s.law is not None or s.function is not None:
            raise OptionError("tau was given, but the controller commands", "leave tau out")
        if type(tau) is not np.ndarray or tau.dtype != np.float64 or tau.shape[-1:] != (s.n,):
            hint = partial(drive_hint, s.robot)
            tau = as_batch(tau, "tau", (s.n,), f"robot {s.robot.name!r}", hint)
        if tau.shape[:-1] not in ((), s.start.shape):
            raise ShapeError(f"tau has shape {tau.shape}, expected {(*s.start.shape, s.n)}")
        if not np.isfinite(tau).all():
            raise OptionError(f"tau is {shown(tau)}, expected finite numbers")
        refuse_passive(s.robot, tau, "tau")
        self._views["command"][...] = tau

    def _repeated(self) -> Callable[[int], None]:
        """The fastest function(steps) that advances these settings."""
        s, m = self._s, self.assembly
        if s.function is not None or s.tableau.adaptive:
            what = "a function as controller" if s.function is not None else s.tableau.name
            raise OptionError(f"single steps with {what} are not possible", "use run(duration)")
        loop, sim = self._loop, Simulation(s, m, self._x)
        undriven = not m.computes and not m.inputs.size
        if undriven and s.count <= GROUP and isinstance(loop, MachineLoop):
            return loop.repeated(self._x, m.plant_constants(s, s.dt))
        return lambda steps: sim.advance(loop, self._steps, steps)

    @property
    def _loop(self) -> Loop:
        many, m = self._s.count > 1, self.assembly
        if many not in self._loops:
            tasks = m.tasks if self._s.function is None else [m.plant_task]
            self._loops[many] = loop_of(tasks, self._s)
        return self._loops[many]

    @property
    def _plant_loop(self) -> Loop:
        """The loop of the arm alone, for one arm or many."""
        m = self.assembly
        if len(m.tasks) == 1 or self._s.function is not None:
            return self._loop
        many = self._s.count > 1
        if many not in self._plant_loops:
            self._plant_loops[many] = loop_of([m.plant_task], self._s)
        return self._plant_loops[many]

    def run(self, duration: float, save_every: int = 1, check_step: bool = True) -> Run:
        """Simulate `duration` seconds from here on, and keep every few instants of them.

        A step that was too coarse for these seconds gives a `DynamisWarning`, as in `dy.simulate`;
        errors of earlier runs and of `step` are not counted. `check_step=False` leaves that out.
        """
        flag(check_step, "check_step")
        run = self._run(duration, save_every)
        if check_step:
            warn_of_step(run)
            warn_of_gains(run)
        warn_of_contacts(run)
        return run

    def _run(self, duration: float, save_every: int = 1) -> Run:
        """`run` without a warning."""
        self._ready()
        s = spanned(self._s, duration, save_every, self._steps)
        compiled = s.function is None and not s.tableau.adaptive
        if not compiled and s.span.first:
            raise OptionError(
                f"the simulator is at t = {self.t:g} s, expected the start",
                "functions as controllers and steps of any length run from a reset on",
            )
        recorder, start = RunRecorder(s, self.assembly), self._x.copy()
        if s.count:
            self._through(Simulation(s, self.assembly, self._x), recorder)
        self._steps += s.span.steps
        loops = Loops(lambda: self._loop, lambda: self._plant_loop)
        run = recorder.run(step_check(recorder, start, loops))
        if not compiled or s.span.short or run.message:
            self._halted = run.message or f"a run of {s.span.duration:g} s has ended"
        return run

    def _through(self, sim: Simulation, recorder: RunRecorder) -> None:
        """Let the time of a run pass, in the way that its controller and its integrator need."""
        s = sim.s
        if not s.tableau.adaptive and s.function is None:
            fixed_steps(sim, self._loop, recorder)
        elif not s.tableau.adaptive and s.sampled:
            by_samples(sim, self._loop, recorder)
        else:
            (adaptive if s.tableau.adaptive else by_stages)(sim, recorder)
            if recorder.filled:
                self._x[:, : recorder.kept] = recorder.rows[:, recorder.filled - 1]


def refuse_singular(robot: Robot, q: np.ndarray) -> None:
    """Raise if M(q) or a loop is singular; the last q that passed is remembered."""
    fine = once(robot, "not singular", list)
    if not fine or fine[0] != q.tobytes():
        robot._calls.refuse_immovable(q)
        fine[:] = [q.tobytes()]
