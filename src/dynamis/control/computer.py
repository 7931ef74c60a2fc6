"""The task of the control computer: read the sensors, run the observer and the controller."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..compile.arm import Arm
from ..dynamics.reduce import reduced
from ..lazy import cached_property
from ..spatial.functions import MATH, Functions
from .controller import (
    Controller,
    Reference,
    Sample,
    begun,
    check_signatures,
    intact,
    stepped,
)
from .sensors import Sensors

if TYPE_CHECKING:
    from ..robot import Robot

Scalars = Sequence[Any]


def once(robot: "Robot", what: str, made: Callable[[], Any]) -> Any:
    """What a robot decides, made once: a Robot does not change."""
    found = vars(robot).setdefault("_made_once", {})
    if what not in found:
        found[what] = made()
    return found[what]


def arm_of(robot: "Robot", fn: Functions) -> Arm:
    """The arm of a robot over any scalar, lean where that changes no torque."""
    return Arm(robot.chain, fn, once(robot, "lean", lambda: reduced(robot.chain)))


def text_of(robot: "Robot") -> str:
    """Text that decides what a robot computes."""
    return once(robot, "text", lambda: repr(robot.chain))


@dataclass(frozen=True)
class ControlComputer:
    """A controller and an observer at one sample time, with the sensors they read.

    `immediate`: torques act at once; otherwise they wait in `computed` until the delay is over.
    """

    robot: "Robot"
    controller: Controller | None
    observer: Any
    sensors: Sensors
    immediate: bool

    def __post_init__(self) -> None:
        for block in (self.controller, self.observer):
            if block is not None:
                check_signatures(block)

    @cached_property
    def _values(self) -> dict[str, list[float]]:
        """Everything it computes with, by name."""
        values = {"sensors": self.sensors.constants(self.robot)}
        for part in ("controller", "observer"):
            block = getattr(self, part)
            if block is not None:
                values |= {f"{part}.{k}": list(v) for k, v in block.gains(self.robot).items()}
        return values

    @cached_property
    def constants(self) -> list[float]:
        """All constants as one vector."""
        return [x for row in self._values.values() for x in row]

    def _named(self, constants: Scalars) -> dict[str, list[Any]]:
        named, start = {}, 0
        for name, row in self._values.items():
            named[name] = list(constants[start : start + len(row)])
            start += len(row)
        return named

    def _arm(self, block: Any, fn: Functions) -> Arm:
        return arm_of(block.model or self.robot, fn)

    @property
    def key(self) -> str | None:
        """What decides the code; None if a user wrote a part of it."""
        blocks = [block for block in (self.controller, self.observer) if block is not None]
        if not all(intact(part) for part in (self.sensors, *blocks)):
            return None
        if any(block.key is None for block in blocks):
            return None
        sizes = {name: len(row) for name, row in self._values.items()}
        parts = [self.sensors.key, str(self.immediate), repr(sizes)]
        for block in blocks:
            parts += [block.key, text_of(block.model or self.robot)]
        return "\n".join(parts)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        rest = [0.0] * self.robot.n
        return {k: len(v) for k, v in self.start(rest, rest, 1.0, self.constants, MATH).items()}

    def slots(self) -> dict[str, int]:
        """State of the computer."""
        return dict(self._sizes)

    def start(
        self, q: Scalars, qd: Scalars, dt: Any, constants: Scalars, fn: Functions
    ) -> dict[str, list[Any]]:
        """State before the first sample."""
        named = self._named(constants)
        state = dict(self.sensors.start(q, qd, dt, named["sensors"], fn))
        state["computed"] = [0.0 * x for x in q]
        place = self.sensors.counted(q, named["sensors"], fn)
        for part in ("controller", "observer"):
            block = getattr(self, part)
            if block is not None:
                first = Sample(0.0, place, list(qd), _gains(named, part))
                own = begun(block, self._arm(block, fn), first)
                state |= {f"{part}.{name}": v for name, v in own.items()}
        if self.observer is not None:
            state |= {"observed": [0.0 * x for x in q], "impulse": [0.0 * x for x in q]}
        return state

    def step(
        self,
        x: SimpleNamespace,
        t: Any,
        reference: Reference,
        noise: Scalars,
        constants: Scalars,
        dt: Any,
        fn: Functions,
    ) -> SimpleNamespace:
        """One sample."""
        named, new = self._named(constants), dict(vars(x))
        new |= self.sensors.read(x, noise, named["sensors"], dt, fn)
        measured = t, new["measured_q"], new["measured_qd"]
        if self.observer is not None:
            acted = [a / dt for a in x.impulse]  # the mean torque since the last sample
            sample = Sample(
                *measured, _gains(named, "observer"), _state(x, "observer"), dt=dt, tau=acted
            )
            estimate, after = stepped(self.observer, self._arm(self.observer, fn), sample)
            new["impulse"] = [0.0 * a for a in x.impulse]
            new |= {
                "observed": list(estimate),
                **{f"observer.{k}": list(v) for k, v in after.items()},
            }
        if self.controller is not None:
            sample = Sample(
                *measured, _gains(named, "controller"), _state(x, "controller"), reference, dt
            )
            tau, after = stepped(self.controller, self._arm(self.controller, fn), sample)
            new |= {"computed": list(tau), **{f"controller.{k}": list(v) for k, v in after.items()}}
        if self.immediate:
            new["command"] = list(new["computed"])
        return SimpleNamespace(**new)


def _gains(named: Mapping[str, list[Any]], part: str) -> SimpleNamespace:
    start = f"{part}."
    return SimpleNamespace(
        **{k.removeprefix(start): v for k, v in named.items() if k.startswith(start)}
    )


def _state(x: SimpleNamespace, part: str) -> SimpleNamespace:
    return _gains(vars(x), part)
