"""The arguments of a simulation, checked once."""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import LARGEST, a_robot, positive
from ..compile.arrays import as_batch, batch_shape, finite, unmasked
from ..compile.libraries import HOST, device_of, library_of, on_host, origin
from ..control.controller import Controller, finite_gains, per_joint, refuse_passive
from ..control.law import Law
from ..control.sensors import Sensors
from ..errors import OptionError, ShapeError, counted, shown
from ..ik.follow import follow
from ..lazy import cached_property
from ..model.parameters import parameter_names
from ..robot.closing import drive_hint, refuse_unclosed
from ..trajectory.base_motion import BaseMotion
from ..trajectory.polynomial import Hermite
from ..trajectory.trajectory import Trajectory
from .contact.points import Point
from .contact.setting import (
    contact_points,
    refuse_beside_contacts,
    refuse_within_obstacles,
    stops_as_points,
)
from .contact.step import TOUCHING
from .elastic.motor_start import given_motors
from .elastic.vibration import integrator_for
from .motors import check_circuits
from .options import OPTIONS, Options
from .signals import (
    RIGID,
    Force,
    Signal,
    force_of_all_arms,
    force_per_arm,
    reference_signal,
    rows_fit,
    signal,
)
from .tableau import Tableau, integrator_named

if TYPE_CHECKING:
    from ..robot import Robot
    from .measures import Measures

MOST = 1e15  # steps that can still be counted
ROUNDING = 1e-9  # of a step: two instants this close are one
SLACK = 1e-6  # of a step: how exactly a sample time is a number of them
DIVISORS = 100  # numbers of steps that are tried for one that is written in few digits


class Start(NamedTuple):
    """Where the arms start, one row for each; nothing that is compiled depends on it."""

    q0: np.ndarray  # (count, n)
    qd0: np.ndarray
    shape: tuple[int, ...] = ()  # leading axes of the ensemble
    parameters: np.ndarray | None = None  # (count, p)
    arm_forces: np.ndarray | None = None  # (count, numbers): forces that differ from arm to arm
    reference: Signal | None = None
    arms: np.ndarray | None = None  # numbers of the arms, which decide their noise; None: 0, 1, ..
    encoder_offsets: np.ndarray | None = None  # (count, drives), added to those of the sensors
    like: Any = None  # an array of another library the start was given in, if it was
    library: Any = None  # of that array, where it lies on the GPU that computes
    motor0: np.ndarray | None = None  # (count, n), where motors of elastic joints were given
    motor_rate0: np.ndarray | None = None

    @property
    def arm_numbers(self) -> list[int]:
        """Numbers of the arms."""
        return list(range(len(self.q0))) if self.arms is None else [int(x) for x in self.arms]

    @property
    def resident(self) -> bool:
        """Whether the rows of an ensemble stay on the GPU."""
        return self.library is not None and self.shape != ()


class TimeSpan(NamedTuple):
    """The steps of a run, and which of them are kept."""

    first: int = 0  # steps done before
    duration: float = 0.0
    steps: int = 0  # whole ones of the run
    short: float = 0.0  # what is left after them, if anything
    end: float = 0.0  # when the run is over
    save_every: int = 1  # steps from one row to the next; 1 with events
    thin: int = 1  # rows from one that is given to the next


NOWHERE = Start(np.zeros((0, 0)), np.zeros((0, 0)))
NO_TIME = TimeSpan()


@dataclass(frozen=True)
class Settings:
    """What is asked of a simulation, in the form it needs it; its start and its time, if known."""

    robot: "Robot"
    options: Options
    dt: float
    tableau: Tableau
    law: Law | None
    function: Callable[..., Any] | None
    sensors: Sensors
    wanted: Any  # the reference as it was given
    forces: Mapping[str, Force]  # known beforehand as functions of time, by name of the option
    stepwise: Mapping[str, tuple[int, ...]]  # shapes of those that are rows held for one step
    for_all_arms: frozenset[str]  # those of them that were given with an axis of one arm
    per_arm: Mapping[str, np.ndarray]  # forces that stay but differ from arm to arm, (..., size)
    sample_time: float
    period: int  # steps per control sample
    delay: int  # steps until what was computed acts
    sampled: bool
    stops: tuple[tuple[float, float] | None, ...]
    contacts: tuple[Point, ...]  # with a world, its joint stops among them
    parameters: np.ndarray | None  # as given
    threads: int | None
    device: int | None  # number of a GPU; None: this machine's processors
    measures: "Measures | None" = None  # accumulators kept up within the steps
    varied: tuple[int, ...] | None = None  # which parameters `parameters` holds; None: all
    start: Start = NOWHERE
    span: TimeSpan = NO_TIME

    @cached_property
    def n(self) -> int:
        """Joints."""
        return self.robot.n

    @cached_property
    def driven(self) -> list[int]:
        """Joints that the computer sees and drives."""
        return list(self.robot.driven)

    @property
    def parts(self) -> int:
        """Of a reference: q, qd and qdd, and of laws that ask for them jerk and snap."""
        return RIGID if self.law is None else self.law.rows

    @property
    def count(self) -> int:
        """Arms."""
        return len(self.start.q0)


def changed(s: Settings, **fields: Any) -> Settings:
    """The settings with other values of some fields; `replace` takes ten times as long."""
    found = object.__new__(Settings)
    vars(found).update(vars(s), **fields)
    return found


def settings(robot: "Robot", options: Options) -> Settings:
    """The options of a simulation as those of a robot; what does not fit it is refused."""
    a_robot(robot)
    tableau = integrator_for(robot, integrator_named(options.integrator), options.dt)
    given = options.controller
    controller = given if isinstance(given, (Controller, Law)) else None
    function = None if isinstance(given, (Controller, Law)) else given
    sampling = _sampling(options, controller)
    law = _law(controller, robot, sampling["sample_time"])
    if options.observer is not None:
        finite_gains(options.observer, robot, "observer")
    if options.drives and not tableau.adaptive:
        check_circuits(robot, tableau, options.dt)
    if options.project:
        refuse_no_closures(robot)
    stops = stops_of(robot) if options.stops else (None,) * robot.n
    checked = Settings(
        robot=robot,
        options=options,
        dt=options.dt,
        tableau=tableau,
        law=law,
        function=function,
        sensors=_sensors(options, robot),
        wanted=None,
        **_forces(options, robot),
        **sampling,
        stops=stops,
        contacts=_contacts(robot, options, tableau, stops),
        parameters=options.parameters,
        threads=options.threads,
        device=_device(options, tableau, function is not None),
    )
    return with_reference(checked, options.reference)


def _contacts(
    robot: "Robot", options: Options, tableau: Tableau, stops: tuple[Any, ...]
) -> tuple[Point, ...]:
    """Points where the arm may touch the world, and its stops beside them; none without a world."""
    if options.world is None:
        return ()
    found = contact_points(robot, options.world)
    if not found:
        return ()
    refuse_beside_contacts(robot, options.drives, tableau.adaptive, options.dtype)
    return (*found, *stops_as_points(stops, options.restitution))


def force_shapes(robot: "Robot") -> dict[str, tuple[int, ...]]:
    """Shapes of the forces known beforehand at one instant, by name of the option."""
    n, links = robot.n, len(robot.link_names)
    return {"torque": (n,), "external": (n,), "wrench": (6,), "link_forces": (links, 6),
            "base_motion": (9,)}  # fmt: skip


def _forces(options: Options, robot: "Robot") -> dict[str, Any]:
    """Fields about forces: as functions of time, or of arms that each have their own."""
    forces: dict[str, Force] = {}
    stepwise: dict[str, tuple[int, ...]] = {}
    per_arm: dict[str, np.ndarray] = {}
    for_all_arms: set[str] = set()
    for name, shape in force_shapes(robot).items():
        value = on_host(getattr(options, name))
        if value is None:
            continue
        if isinstance(value, BaseMotion):
            forces[name] = partial(_moving, value, robot, options.dt)
            continue
        shared = force_of_all_arms(value, shape)
        if shared is not value:
            for_all_arms.add(name)
        rows = force_per_arm(shared, name, shape)
        if rows is not None:
            per_arm[name] = rows
            if name == "torque":
                refuse_passive(robot, rows, name)
            continue
        forces[name] = signal(shared, name, shape, options.dt, partial(drive_hint, robot))
        if name == "torque" and len(robot.active) < robot.n:
            forces[name] = _of_drives(robot, forces[name])
        if np.ndim(unmasked(shared)) == len(shape) + 1:
            stepwise[name] = np.shape(shared)
    return {
        "forces": forces,
        "stepwise": stepwise,
        "per_arm": per_arm,
        "for_all_arms": frozenset(for_all_arms),
    }


def _moving(
    motion: BaseMotion, robot: "Robot", dt: float, t: np.ndarray, since: np.ndarray
) -> np.ndarray:
    """Rows of a base that moves; what acts at the end of a run is that of one more step."""
    beyond = (t > motion.end) & (t <= motion.end + (1.0 + SLACK) * dt)
    return motion.rows(robot, np.where(beyond, motion.end, t))


def _of_drives(robot: "Robot", torque: Force) -> Force:
    """Torques over time that are refused where they act on passive joints."""

    def rows(t: np.ndarray, since: np.ndarray) -> np.ndarray:
        found = torque(t, since)
        refuse_passive(robot, found, "torque")
        return found

    return rows


def _refuse_beside_board(options: Options) -> None:
    """Refuse what a computer that counts cannot do: count in single precision, run Python."""
    if options.dtype == "float32":
        raise OptionError(
            "dtype is float32, but the sensors have a board: its counts need float64",
            "leave dtype out",
        )
    if options.controller is None or not isinstance(options.controller, (Controller, Law)):
        raise OptionError(
            "sensors have a board, but nothing runs on the computer behind it",
            "give a controller of dy.control",
        )


def _sensors(options: Options, robot: "Robot") -> Sensors:
    """The sensors; exact ones where none were given."""
    given = options.sensors
    sensors = Sensors() if given is None else given
    if sensors.board is not None:
        _refuse_beside_board(options)
    for noise in ("torque_noise", "position_noise"):
        finite(np.array(per_joint(getattr(sensors, noise), noise, robot)), noise, OptionError)
    return sensors


def _device(options: Options, tableau: Tableau, by_function: bool) -> int | None:
    """The number of the GPU that computes, None for processors; what it cannot run is refused."""
    device, dtype = options.device, options.dtype
    others = {
        "a function as controller": by_function,
        f"integrator {tableau.name!r}, which chooses its steps": tableau.adaptive,
        "events": bool(options.events),
    }
    reason = next((name for name, there in others.items() if there), "")
    if device is None or (isinstance(device, str) and device == "cpu"):
        if options.fused:
            raise OptionError("fused is true, expected it with device='cuda' only")
        if reason and dtype != "float64":
            raise OptionError(f"{reason} runs in float64 only, dtype is {dtype}")
        return None
    from ..compile.gpu import device_named

    index = device_named(device)
    if reason:
        raise OptionError(
            f"{reason} cannot run on a GPU", "leave device out, or use a controller of dy.control"
        )
    return index


def started(
    s: Settings, q0: Any, qd0: Any, parameters: Any, motor0: Any = None, motor_rate0: Any = None
) -> Settings:
    """The settings with a start: one arm, or an ensemble by the leading axes."""
    given = {"q0": q0, "qd0": qd0, "parameters": parameters}
    first = next((x for x in given.values() if origin(x)), None)
    library = None
    if first is not None:
        s, library = _at_home(s, given, first)
        given = {name: on_host(x) for name, x in given.items()}
    given["q0"], given["qd0"] = start_of(s.robot, s.wanted, given["q0"], given["qd0"])
    q, qd, values, forces, shape = _states(s.robot, given, s.varied, s.per_arm)
    q, qd = closed_start(s.robot, q, qd, s.options.project)
    if s.options.events and shape != ():
        raise OptionError(f"events of an ensemble {shape}", "simulate the arms one by one")
    wanted = s.wanted is not None or (s.law is not None and s.law.controller.needs_reference)
    wanted = wanted or (s.measures is not None and s.measures.tracks)
    if wanted and s.wanted is None and len(np.unique(q, axis=0)) > 1:
        raise OptionError("an ensemble needs a reference", "give reference=...")
    reference = s.start.reference  # made before for many starts, or now
    if wanted and len(q) and reference is None:
        reference = reference_signal(s.wanted, s.robot, q[0, s.driven], s.parts)
    _within(s, q)
    motors = {
        name: given_motors(s.robot, on_host(x), name, shape)
        for name, x in (("motor0", motor0), ("motor_rate0", motor_rate0))
    }
    start = Start(q, qd, shape, values, forces, reference, like=first, library=library, **motors)
    return changed(s, start=start)


def refuse_no_closures(robot: "Robot") -> None:
    """Refuse `project` for an arm that has nothing to close."""
    if not robot.model.closures:
        raise OptionError(f"robot {robot.name!r} has no closures: project does nothing")


def closed_start(
    robot: "Robot", q: np.ndarray, qd: np.ndarray, project: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Starts that close the loops and keep them closed; projected if asked for, else refused."""
    if project:
        refuse_no_closures(robot)
        return robot.project(q, qd)
    if len(q):
        refuse_unclosed(robot._calls, q, qd)
    return q, qd


def _at_home(s: Settings, given: Mapping[str, Any], first: Any) -> tuple[Settings, Any]:
    """The library of arrays that lie on the GPU that computes; another GPU is refused."""
    arrays = {name: x for name, x in given.items() if origin(x)}
    library = None if origin(first) in HOST else library_of(arrays)
    if library is None or s.device is None:
        return s, None
    index = device_of(library, arrays)
    if index != s.device:
        raise OptionError(f"the start lies on cuda:{index}, but device is cuda:{s.device}")
    return s, library


def spanned(s: Settings, duration: Any, save_every: Any, first: int = 0) -> Settings:
    """The settings of one run, `first` steps after the start."""
    duration = OPTIONS["duration"].checked(duration)
    if s.dt > duration * (1 + ROUNDING):
        raise OptionError(f"dt is {s.dt:g} s, longer than the duration of {duration:g} s")
    if duration / s.dt > MOST:
        raise OptionError(
            f"duration is {duration:g} s, more steps of dt = {s.dt:g} s than can be counted"
        )
    for name, shape in s.stepwise.items():
        arms = () if name in s.for_all_arms else s.start.shape
        rows_fit(name, shape, first + round(duration / s.dt), bool(first), arms)
    every = OPTIONS["save_every"].checked(save_every)
    kept = (1, every) if s.options.events else (every, 1)
    steps = int(duration / s.dt + ROUNDING)
    rest = duration - steps * s.dt
    short = rest if rest > ROUNDING * s.dt else 0.0
    end = first * s.dt + duration if first else duration
    return changed(s, span=TimeSpan(first, duration, steps, short, end, *kept))


def first_point(robot: "Robot", wanted: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where an arm starts unasked: at the first point of its trajectory, else at rest at home.

    Of a closed mechanism the drives are there, and the others where they follow them from home.
    """
    if isinstance(wanted, Trajectory) and wanted.n == len(robot.driven):
        start = wanted._first if type(wanted) is Hermite else wanted(0.0)
        if not robot.model.closures:
            return start.q.copy(), start.qd.copy()
        own = [robot.driven.index(k) for k in robot.independent if k in robot.driven]
        if len(own) == robot.dof:
            q, reason = follow(robot, robot.home, start.q[own])
            if not reason:
                return q, robot.joint_rates(q, start.qd[own])
    return np.array(robot.home), np.zeros(robot.n)


def start_of(robot: "Robot", wanted: Any, q0: Any, qd0: Any) -> tuple[Any, Any]:
    """(q0, qd0), the usual ones where they are not given; a q0 given alone is at rest."""
    q, qd = first_point(robot, wanted) if q0 is None else (q0, np.zeros(robot.n))
    return q, qd if qd0 is None else qd0


def _states(
    robot: "Robot", given: dict, varied: tuple[int, ...] | None, forces: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, Any, Any, tuple[int, ...]]:  # fmt: skip
    """Initial states (parameters, forces) of every member, and the shape of the ensemble."""
    n, what = robot.n, f"robot {robot.name!r} with joints {', '.join(robot.joint_names)}"
    q0, qd0 = (
        as_batch(given[name], name, (n,), what, partial(drive_hint, robot))
        for name in ("q0", "qd0")
    )
    arrays, names = [q0, qd0], ["q0", "qd0"]
    if given["parameters"] is not None:
        size = len(parameter_names(robot.model) if varied is None else varied)
        arrays.append(as_batch(given["parameters"], "parameters", (size,), what))
        names.append("parameters")
    for array, name in zip(arrays, names, strict=True):
        finite(array, name, OptionError)
    varying = given["parameters"] is not None
    arrays, names = [*arrays, *forces.values()], [*names, *forces]
    shape = batch_shape(names, [a.shape[:-1] for a in arrays])
    full = [
        (a if a.shape[:-1] == shape else np.broadcast_to(a, (*shape, a.shape[-1])))
        .reshape(-1, a.shape[-1])
        .copy()
        for a in arrays
    ]
    q, qd, *rest = full
    values = rest.pop(0) if varying else None
    return q, qd, values, np.concatenate(rest, axis=1) if rest else None, shape


def _law(value: Controller | Law | None, robot: "Robot", sample_time: float) -> Law | None:
    """What the control computer runs: a controller is a law with the options of the export."""
    if isinstance(value, Controller):
        if value.sample_time not in (None, sample_time):  # simulated at another than its own
            value = copy.copy(value)
            object.__setattr__(value, "sample_time", None)
        return Law(value, robot, sample_time)
    if value is not None and value.n != len(robot.driven):
        has = len(robot.driven)
        raise ShapeError(
            f"the law drives {counted(value.n, 'joint')}, robot {robot.name!r} has {has}"
        )
    return value


def with_reference(s: Settings, value: Any) -> Settings:
    """The settings with a reference, or with the one inside their law."""
    inside = None if s.law is None else s.law.reference
    if inside is not None and value is not None:
        raise OptionError(
            f"reference is {shown(value)}, but the law has a trajectory inside", "leave one out"
        )
    wanted = value if inside is None else inside
    if wanted is not None:  # refused now rather than at the start
        reference_signal(wanted, s.robot, np.zeros(len(s.driven)), s.parts)
    return changed(s, wanted=wanted)


def _sampling(options: Options, controller: Controller | Law | None) -> dict[str, Any]:
    """Fields about samples: their time, its steps, steps of delay, whether they were asked for."""
    asked, dt, lag = options.sample_time, options.dt, options.delay
    if isinstance(controller, Law) and asked not in (None, controller.sample_time):
        raise OptionError(
            f"sample_time is {shown(asked)}, but the law runs every {controller.sample_time:g} s",
            "leave it out",
        )
    if asked is None and controller is not None:
        asked = controller.sample_time
    given = options.sensors is not None and not options.sensors.of_links_alone
    sampled = asked is not None or given or lag > 0.0
    if asked is None and options.observer is not None:
        asked = options.observer.sample_time
    asked = dt if asked is None else asked
    period = _multiple(asked, dt, "sample_time")
    delay = _multiple(lag, dt, "delay") if lag else 0
    if delay > period:
        raise OptionError(
            f"delay is {lag:g} s, expected at most one sample time ({period * dt:g} s)",
            f"sample_time={lag:g} or longer allows it",
        )
    return {"sample_time": float(asked), "period": period, "delay": delay, "sampled": sampled}


def _multiple(value: Any, dt: float, name: str) -> int:
    seconds = positive(value, name, "seconds")
    if seconds / dt > LARGEST:
        raise OptionError(
            f"{name} is {seconds:g} s, more steps of dt = {dt:g} s than can be counted"
        )
    steps = round(seconds / dt)
    if steps < 1 or abs(seconds - steps * dt) > SLACK * dt:
        raise OptionError(
            f"{name} is {seconds:g} s, expected a whole number of steps of dt = {dt:g} s",
            f"choose dt = {_dividing(seconds, dt)}",
        )
    return steps


def shorter_steps(s: Settings, most: float) -> str:
    """Options with steps up to `most`, as text; samples of a law and its delay stay."""
    if s.law is None and not s.sampled:
        return f"dt={most:.1g}"
    dt = _dividing(s.dt * math.gcd(s.period, s.delay), most)
    return f"dt={dt}, sample_time={s.sample_time:g}" if s.period == 1 else f"dt={dt}"


def _dividing(seconds: float, most: float) -> str:
    """A step up to `most`, as text, of which `seconds` are a whole number: one of few digits."""
    least = max(1, math.ceil(seconds / most))
    texts = {k: f"{seconds / k:g}" for k in range(least, min(2 * least, least + DIVISORS) + 1)}
    exact = [x for k, x in texts.items() if abs(seconds - k * float(x)) <= SLACK * float(x)]
    return min(exact, key=lambda x: len(x.strip("0.")), default=repr(seconds / least))


def stops_of(robot: "Robot") -> tuple[tuple[float, float] | None, ...]:
    """Limits of every coordinate; None where it has none."""
    rows = robot.limits.tolist()
    return tuple((a, b) if math.isfinite(a) or math.isfinite(b) else None for a, b in rows)


def _within(s: Settings, q0: np.ndarray) -> None:
    """Refuse a start beyond a stop or within an obstacle by name."""
    if s.contacts and len(q0):
        refuse_within_obstacles(s.robot, s.contacts, q0, TOUCHING)
    for i, stop in enumerate(s.stops):
        if stop is None:
            continue
        beyond = q0[~((stop[0] <= q0[:, i]) & (q0[:, i] <= stop[1])), i]
        if len(beyond):
            raise OptionError(
                f"joint {s.robot.joint_names[i]!r} starts at {beyond[0]:g}, expected within its "
                f"stops {stop[0]:g} and {stop[1]:g}",
                "start between them, or simulate without stops",
            )
