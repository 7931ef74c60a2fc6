"""`dy.simulate`: an arm in motion, alone, under torques, or under a controller."""

from collections.abc import Hashable
from copy import copy
from types import NoneType
from typing import Any

import numpy as np

from ..compile.service import compiling
from ..control.controller import Controller, intact
from ..control.observer import Observer
from ..control.sensors import Sensors
from ..robot import Robot
from .run import Run
from .settings import with_reference
from .simulator import Simulator


def simulate(
    robot: Robot,
    duration: float = 1.0,
    dt: float = 1e-3,
    q0: Any = None,
    qd0: Any = None,
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
    save_every: int = 1,
    events: Any = (),
    tolerance: float = 1e-9,
    threads: int | None = None,
    progress: bool | None = None,
    device: Any = None,
    dtype: Any = None,
    fused: bool = False,
    project: bool = False,
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

    Without q0 the arm starts on its reference, if that is a trajectory: at its first point and with
    its velocity; otherwise at `robot.home` (q = 0), at rest. qd0 is zero where q0 is given alone.

    Coulomb friction holds joints exactly; `stops` makes the joint limits act (`restitution` 0 to
    1); `drives` lets motor limits, circuits and gear efficiencies act. q0, qd0, `parameters` and
    forces may have leading axes: an ensemble, which gives q, qd, tau, friction and stuck only.
    `events` are functions g(t, q, qd): their zeros are found between any two steps, whatever
    `save_every`, and one with a true attribute `terminal` ends the run.

    Closed mechanisms: q0 must close the loops and qd0 keep them closed, or `project=True` puts both
    where they do; they stay closed at every step. A controller, a reference and measurements are
    of the drives (`robot.driven`), `torque` and the run itself of all joints.

    integrator: "rk4", "heun", "euler", "semi-implicit-euler", or "dormand-prince", which chooses
    its own steps for `tolerance` and gives the states every dt. A run whose steps become too short
    for that ends there; `message` says so, and `diverged` stays False.

    `device="cuda"` runs all steps of all arms in one kernel of a GPU, with the same bits; functions
    as controllers, steps of their own length and events are refused there. The run's arrays are of
    the library (and on the GPU) of q0, qd0 or `parameters`. `dtype`: "float64" or "float32";
    `fused` adds products without rounding them first: faster, last digits differ.
    """
    sim = prepared(
        robot, dt=dt, controller=controller, integrator=integrator, torque=torque,
        external=external, wrench=wrench, link_forces=link_forces, observer=observer,
        sensors=sensors, sample_time=sample_time, delay=delay, stops=stops, restitution=restitution,
        drives=drives, parameters=parameters, events=events, tolerance=tolerance, threads=threads,
        progress=progress, device=device, dtype=dtype, fused=fused, project=project,
    )  # fmt: skip
    sim._given = with_reference(sim._given, reference)
    sim.reset(q0, qd0)
    return sim.run(duration, save_every)


# Simulators of the last calls: most calls differ in start, reference and duration only.
#
# The key holds the value of every option, and of a controller that of every field: nothing is taken
# from an object that may have changed since. What has no such value (a function, a law of the
# user's own, a long list of torques) is looked at anew every time.

RECENT = 8
LONGEST = 64  # numbers that are worth comparing
BLOCKS = (Controller, Observer, Sensors)
PLAIN = {bool, int, str, NoneType}
UNCHANGING = {*PLAIN, float, np.float64, Robot}
_recent: dict[Hashable, Simulator] = {}


def prepared(robot: Robot, **options: Any) -> Simulator:
    """A simulator without a reference, not yet reset; of options that come again, a copy."""
    try:
        key = compiling(), id(robot), *map(_value, options.values())
    except (TypeError, RecursionError):  # a list may hold itself
        return Simulator(robot, **options)
    made = _recent.pop(key, None)
    if made is None:
        made = Simulator(robot, **{name: _kept(x) for name, x in options.items()})
    _recent[key] = made  # as the last: a dictionary keeps its order
    for old in list(_recent)[:-RECENT]:
        _recent.pop(old, None)
    return copy(made)


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
    if isinstance(x, BLOCKS) and intact(x):
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
