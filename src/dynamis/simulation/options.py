"""Options of a simulation: default, unit, help and check of each, in one place.

`dy.simulate`, `dy.Simulator` and `dy.study` have them in their signatures, which a test holds to
`Options`. Command line, environments, the plant and the studio make their own from the names below.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from ..arguments import flag, fraction, known_options, number, positive, whole
from ..compile.arrays import checked_dtype, checked_threads
from ..errors import OptionError, shown
from .tableau import INTEGRATORS, integrator_named

Check = Callable[[Any, str], Any]  # the value as it is used from the one given, and its name


def _seconds(value: Any, name: str) -> float:
    return positive(value, name, "seconds")


def _optional_seconds(value: Any, name: str) -> float | None:
    return None if value is None else _seconds(value, name)


def _seconds_from_zero(value: Any, name: str) -> float:
    return number(value, name, "seconds from 0 on", lambda x: 0.0 <= x < math.inf)


def _relative_error(value: Any, name: str) -> float:
    return positive(value, name, "relative error")


def _optional_flag(value: Any, name: str) -> bool | None:
    return None if value is None else flag(value, name)


def _integrator(value: Any, name: str) -> str:
    return integrator_named(value).name


def _threads(value: Any, name: str) -> int | None:
    checked_threads(value)
    return value


def _dtype(value: Any, name: str) -> str:
    return checked_dtype(value).name


def _controller(value: Any, name: str) -> Any:
    from ..control.controller import Controller
    from ..control.law import Law

    if value is None or isinstance(value, (Controller, Law)):
        return value
    if not callable(value) or isinstance(value, type):
        raise OptionError(
            f"{name} is {shown(value)}, expected one of dy.control or a function(t, q, qd)",
            "a torque that depends on time only goes into torque=...",
        )
    _takes_state(value, name)
    return value


def _observer(value: Any, name: str) -> Any:
    from ..control.observer import Observer

    if value is None or isinstance(value, Observer):
        return value
    raise OptionError(
        f"{name} is {shown(value)}, expected dy.control.MomentumObserver(...) or "
        "dy.PayloadObserver(...)"
    )


def _sensors(value: Any, name: str) -> Any:
    from ..control.sensors import Sensors

    if value is None or isinstance(value, Sensors):
        return value
    raise OptionError(f"{name} is {shown(value)}, expected dy.Sensors(...)")


def _events(value: Any, name: str) -> tuple[Callable[..., Any], ...]:
    found = (value,) if callable(value) or not np.iterable(value) else tuple(value)
    for function in found:
        if not callable(function):
            raise OptionError(f"{name} holds {shown(function)}, expected functions g(t, q, qd)")
        _takes_state(function, "event")
    return found


def _takes_state(function: Callable[..., Any], name: str) -> None:
    from .signals import accepts

    accepts(function, name, "t, q, qd")


def option(
    default: Any, help: str, unit: str = "", check: Check | None = None, label: str = ""
) -> Any:
    """A field of `Options`; what has no check needs the robot for it (`settings`).

    `label` is what a form calls it, where that is not its name.
    """
    known = {"help": help, "unit": unit, "check": check, "label": label}
    return field(default=default, metadata=known)


@dataclass(frozen=True)
class Options:
    """What may be asked of the simulation of a robot, each option checked by itself."""

    duration: float = option(1.0, "Length of the simulation.", "s", _seconds)
    dt: float = option(1e-3, "Time step of the simulation.", "s", _seconds)
    q0: Any = option(
        None, "Initial position (default: where a reference begins, or robot.home).", "rad, m"
    )
    qd0: Any = option(None, "Initial velocity (default: that of the start).", "rad/s, m/s")
    controller: Any = option(
        None, "One of dy.control, a Law, or a function(t, q, qd) of torques.", check=_controller
    )
    integrator: str = option(
        "rk4",
        f"{', '.join([*INTEGRATORS][:-1])} or {[*INTEGRATORS][-1]}.",
        check=_integrator,
    )
    _: KW_ONLY
    motor0: Any = option(
        None, "Initial motor position of elastic joints (default: at rest under load).", "rad, m"
    )
    motor_rate0: Any = option(None, "Initial motor velocity (default: qd0).", "rad/s, m/s")
    reference: Any = option(
        None, "Motion that is wanted: a trajectory, a position, or a function of t.", "rad, m"
    )
    torque: Any = option(None, "Torques of the joints, if nothing controls them.", "N m, N")
    external: Any = option(None, "Torques that act on the joints from outside.", "N m, N")
    wrench: Any = option(
        None, "Force and moment that the tool exerts on the world, in the tool frame.", "N, N m"
    )
    link_forces: Any = option(None, "Such a force and moment of every link.", "N, N m")
    base_motion: Any = option(None, "Motion of the base: a BaseMotion, or nine numbers.", "SI")
    observer: Any = option(None, "Observer of external torques or of the payload.", check=_observer)
    sensors: Any = option(None, "Sensors that measure (default: exact ones).", check=_sensors)
    sample_time: float | None = option(
        None,
        "Time between two steps of the controller (default: its own, or every step).",
        "s",
        _optional_seconds,
    )
    delay: float = option(
        0.0, "Time from the computation of a torque to its action.", "s", _seconds_from_zero
    )
    stops: bool = option(
        False, "Simulate end stops at the joint limits.", check=flag, label="Joint stops"
    )
    restitution: float = option(
        0.0, "Speed after an impact at a stop, of that before it, 0 to 1.", check=fraction
    )
    world: Any = option(None, "Planes, boxes, spheres and capsules that the arm may touch.")
    drives: bool = option(True, "Simulate limits, circuits and gear losses of motors.", check=flag)
    parameters: Any = option(None, "Dynamic parameters (default: those of the robot).", "SI")
    save_every: int = option(1, "Steps from one instant that is kept to the next.", check=whole)
    events: Any = option((), "Functions g(t, q, qd) whose zeros are found.", check=_events)
    tolerance: float = option(
        1e-9, "Relative error of integrators that choose their steps.", check=_relative_error
    )
    threads: int | None = option(None, "Threads of an ensemble (default: by size).", check=_threads)
    progress: bool | None = option(
        None, "Show a progress bar (default: after a second).", check=_optional_flag
    )
    device: Any = option(None, "cuda simulates on an NVIDIA GPU (default: this processor).")
    dtype: Any = option(None, "float64 or float32 (default: float64).", check=_dtype)
    fused: bool = option(False, "On a GPU, add products without rounding them first.", check=flag)
    project: bool = option(
        False, "Put the start of a closed mechanism where its loops close.", check=flag
    )
    check_step: bool = option(True, "Look whether the step is short enough.", check=flag)

    def __post_init__(self) -> None:
        for name, one in OPTIONS.items():
            object.__setattr__(self, name, one.checked(getattr(self, name)))


class Option(NamedTuple):
    """One option: a field of `Options`."""

    name: str
    kind: Any  # its annotation
    default: Any
    unit: str
    help: str
    check: Check | None
    label: str

    def checked(self, value: Any) -> Any:
        """The value as it is used, if that can be said without a robot."""
        return value if self.check is None else self.check(value, self.name)


OPTIONS: Mapping[str, Option] = {
    f.name: Option(f.name, f.type, f.default, **f.metadata) for f in fields(Options)
}
STARTS = ("q0", "qd0", "motor0", "motor_rate0")
OF_A_RUN = ("duration", *STARTS, "save_every", "check_step")  # those of `dy.simulate` alone
OF_A_SIMULATOR = tuple(name for name in OPTIONS if name not in OF_A_RUN)
NOT_OF_A_STUDY = ("events", "parameters", "progress", "world")
OF_A_STUDY = tuple(x for x in OF_A_SIMULATOR if x not in NOT_OF_A_STUDY)

# what front ends offer of them; a name here is all that it takes

SIMULATE_COMMAND = ("dt", "delay", "integrator", "stops")
STUDY_COMMAND = ("dt", "integrator", "stops", "device")
PLANT = ("stops",)
GYM = ("restitution", "drives")
STUDIO = ("stops",)  # besides those that have fields of their own


def offered(given: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """All options of these names, those that are not `given` with their defaults."""
    known_options(given, names)
    return {name: given.get(name, OPTIONS[name].default) for name in names}
