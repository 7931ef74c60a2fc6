"""The control computer: reads the sensors, runs the observer and the control law."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, positive, strict
from ..compile.arrays import numbers, one_sample
from ..compile.service import Key
from ..errors import OptionError
from ..lazy import cached_property, once
from ..spatial.functions import MATH, Functions
from ..spatial.vectors import Scalars
from .board.hardware import Hardware
from .board.program import BoardLaw
from .board.wiring import channels
from .controller import Controller, Reference, Sample, Values, code_key, reference_of, text_of
from .law import Law
from .observer import Observer
from .sensors import Sensors

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class ControlComputer:
    """A law and an observer at one sample time, with the sensors they read.

    Its state is lists of scalars by name: `measured_q`, `measured_qd`, the torques `computed` and
    `observed`, then `computer.*`, `controller.*` and `observer.*`; with a board also `board.*`,
    what its devices show and give, and `start.*`.
    """

    robot: "Robot"
    law: Law | None
    observer: Observer | None
    sensors: Sensors

    @cached_property
    def _values(self) -> dict[str, Values]:
        """Everything it computes with: numbers of every part by name."""
        law = self.law if self.board_law is None else self.board_law.inner
        return {
            "sensors": {"": self.sensors.constants(self.robot)},
            "law": {} if law is None else law.gains,
            "observer": {} if self.observer is None else self.observer.gains(self.robot),
        }

    @cached_property
    def constants(self) -> list[float]:
        """All constants as one vector."""
        return [x for part in self._values.values() for row in part.values() for x in row]

    def _named(self, constants: Scalars) -> dict[str, dict[str, list[Any]]]:
        """The vector by part and name."""
        left = iter(constants)
        return {
            part: {name: [next(left) for _ in row] for name, row in rows.items()}
            for part, rows in self._values.items()
        }

    @cached_property
    def key(self) -> Key | None:
        """What decides the code; None if a user wrote a part of it."""
        parts = [code_key(self.sensors)]
        parts += [repr({k: len(v) for k, v in rows.items()}) for rows in self._values.values()]
        if self.board_law is not None:
            parts += (None,) if self.board_law.key is None else self.board_law.key
            parts.append(repr(self._hardware.channels))
        elif self.law is not None:
            parts += (None,) if self.law.key is None else self.law.key
        if self.observer is not None:
            parts += [code_key(self.observer), text_of(self.observer.watched(self.robot))]
        texts = tuple(x for x in parts if x is not None)
        return texts if len(texts) == len(parts) else None

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Names and sizes of the state."""
        rest = [0.0] * len(self.robot.driven)

        def found() -> dict[str, int]:
            state = self.start(rest, rest, 1.0, self.constants, MATH)
            return {name: len(row) for name, row in state.items()}

        return found() if self.key is None else once(self.robot, self.key, found)

    @cached_property
    def board_law(self) -> BoardLaw | None:
        """The law behind the board of the sensors, if they have one."""
        board, law = self.sensors.board, self.law
        if board is None:
            return None
        if law is None:
            raise OptionError(
                "sensors have a board, but nothing runs on the computer behind it",
                "give a controller of dy.control",
            )
        hertz = self.sensors.velocity_filter
        if hertz is not None:
            law = replace(law, velocity="difference", velocity_filter=hertz)
        return BoardLaw(law, board)

    @cached_property
    def _hardware(self) -> Hardware:
        """The devices that are there, on the arm that is there, whatever the law takes it for."""
        law, board = self.law, self.sensors.devices
        assert law is not None and board is not None
        return Hardware(board, channels(board, self.robot, law.sample_time, law.jumps))

    def start(
        self, q: Scalars, qd: Scalars, dt: Any, constants: Scalars, fn: Functions
    ) -> dict[str, list[Any]]:
        """State before the first sample."""
        numbers, still = self._named(constants), [0.0 * x for x in q]
        if self.board_law is not None:
            return self._board_start(q, qd, numbers, fn)
        state = dict(self.sensors.start(q, qd, dt, numbers["sensors"][""], fn))
        state["computed"] = still
        place = self.sensors.counted(q, numbers["sensors"][""], fn)
        if self.law is not None:
            state |= self.law.begun(place, list(qd), numbers["law"], fn)
            state["computer.status"] = still[:1]
        if self.observer is not None:
            sample = Sample(0.0, place, list(qd), SimpleNamespace(**numbers["observer"]))
            own = self.observer._begun(self.robot, sample, fn)
            state |= {f"observer.{name}": v for name, v in own.items()}
            state["observed"] = still
        return state

    def step(
        self,
        x: Mapping[str, list[Any]],
        q: Scalars,
        qd: Scalars,
        acted: Scalars,
        t: Any,
        reference: Any,
        noise: Scalars,
        constants: Scalars,
        dt: Any,
        fn: Functions,
    ) -> dict[str, list[Any]]:
        """The state after one sample of an arm at q, qd; `acted`: mean torque since the last."""
        numbers, new = self._named(constants), dict(x)
        if self.board_law is not None:
            return self._board_step(x, q, t, reference, noise, numbers, acted, dt, fn)
        new |= self.sensors.read(x, q, qd, noise, numbers["sensors"][""], dt, fn)
        q, qd = new["measured_q"], new["measured_qd"]
        new |= self._observed(x, q, qd, t, acted, numbers, dt, fn)
        if self.law is not None:
            state = {name: new[name] for name in self.law.slots}
            given = t, q, qd, reference, numbers["law"], dt
            new["computed"], after, status = self.law.stepped(state, *given, fn)
            new |= {**after, "computer.status": [status]}
        return new

    def _observed(
        self, x: Mapping[str, list[Any]], q: Scalars, qd: Scalars, t: Any, acted: Scalars,
        numbers: dict[str, dict[str, list[Any]]], dt: Any, fn: Functions,
    ) -> dict[str, list[Any]]:  # fmt: skip
        """What the observer, if there is one, makes of a sample."""
        if self.observer is None:
            return {}
        own = {k: v for k, v in x.items() if k.startswith("observer.")}
        before = SimpleNamespace(**{k.removeprefix("observer."): v for k, v in own.items()})
        sample = Sample(t, q, qd, SimpleNamespace(**numbers["observer"]), before, dt=dt, tau=acted)
        found, after = self.observer._stepped(self.robot, sample, fn)
        return {"observed": found, **{f"observer.{k}": v for k, v in after.items()}}

    # with a board

    def _board_start(
        self, q: Scalars, qd: Scalars, numbers: dict[str, dict[str, list[Any]]], fn: Functions
    ) -> dict[str, list[Any]]:
        assert self.board_law is not None
        still = [0.0 * a for a in q]
        q = self.sensors.counted(q, numbers["sensors"][""], fn)  # with their zero errors
        hardware = {f"board.{k}": v for k, v in self._hardware.initial_state(q, fn).items()}
        law = self.board_law.begun(numbers["law"], fn)
        told = {f"board.{name}": still for name in ("codes", "volts")}
        told |= {f"board.{name}": still[:1] for name in ("phase", "fault", "joint")}
        state = {"measured_q": list(q), "measured_qd": list(qd), "computed": still,
                 **hardware, **told, **law, "computer.status": still[:1]}  # fmt: skip
        if self.observer is not None:
            sample = Sample(0.0, list(q), list(qd), SimpleNamespace(**numbers["observer"]))
            own = self.observer._begun(self.robot, sample, fn)
            state |= {f"observer.{name}": v for name, v in own.items()} | {"observed": still}
        return state

    def _board_step(
        self, x: Mapping[str, list[Any]], q: Scalars, t: Any, reference: Reference, noise: Scalars,
        numbers: dict[str, dict[str, list[Any]]], acted: Scalars, dt: Any, fn: Functions,
    ) -> dict[str, list[Any]]:  # fmt: skip
        """The state after one sample: devices, the program, and what the amplifiers make of it."""
        law = self.board_law
        assert law is not None
        own = {k.removeprefix("board."): v for k, v in x.items() if k.startswith("board.")}
        q = self.sensors.counted(q, numbers["sensors"][""], fn)
        readings, after = self._hardware.read(own, q, noise, fn)
        state = {k: x[k] for k in law.slots}
        answer, new = law.stepped(state, t, readings, reference, numbers["law"], dt, fn)
        told = {"codes": answer.codes, "volts": answer.volts, "phase": [answer.phase],
                "fault": [answer.fault], "joint": [answer.joint]}  # fmt: skip
        found = {**x, **new, **{f"board.{k}": v for k, v in (after | told).items()}}
        found |= {"measured_q": answer.q, "measured_qd": answer.qd}
        found |= {"computed": self._hardware.torques(answer.codes)}
        found |= {"computer.status": [answer.status]}
        return found | self._observed(x, answer.q, answer.qd, t, acted, numbers, dt, fn)


# the computer by itself, sample by sample on plain numbers, for a loop of one's own


@strict
class ControlLoop:
    """The controller, its model and its state; `step` is called once per sample time.

    loop = ControlLoop(controller, robot, sample_time=0.005)
    tau = loop.step(t, q, qd, q_d, qd_d, qdd_d)

    The step is that of the exported controller: a sample that is not plausible (NaN, beyond 1e6)
    gives zero torque, two in a row until `reset`; `status` tells.
    """

    @checked
    def __init__(self, controller: Controller, robot: "Robot", sample_time: float | None = None):
        time = controller.sample_time if sample_time is None else sample_time
        self.sample_time = positive(time, "sample_time", "seconds")
        self.controller, self.robot = controller, robot
        self._law = law = Law(controller, robot, self.sample_time)
        self._computer = ControlComputer(robot, law, None, Sensors())
        self._numbers = self._computer.constants
        self._state: dict[str, list[float]] | None = None

    def reset(self) -> None:
        """Forget the state: the next step starts anew."""
        self._state = None

    @property
    def status(self) -> int:
        """Of the last sample: 0 running, 1 bad sample, 2 safe until `reset`."""
        return 0 if self._state is None else int(self._state["computer.status"][0])

    @checked
    def step(
        self, t: float, q: Any, qd: Any, q_d: Any = None, qd_d: Any = None, qdd_d: Any = None,
        jerk_d: Any = None, snap_d: Any = None,
    ) -> np.ndarray:  # fmt: skip
        """Joint torques, (n,); a reference that is not given is q as measured, at rest.

        Jerk and snap count where the controller asks for them (`derivatives` = 4).

        Of a closed mechanism q, qd, the reference and the torques are those of its drives.
        """
        place, speed = self._vector(q, "q"), self._vector(qd, "qd")
        rest, dt = [0.0] * len(self.robot.driven), self.sample_time
        rates = {"qd_d": qd_d, "qdd_d": qdd_d, "jerk_d": jerk_d, "snap_d": snap_d}
        rows = [place if q_d is None else self._vector(q_d, "q_d")]
        rows += [rest if x is None else self._vector(x, name) for name, x in rates.items()]
        reference = reference_of(rows[: self._law.rows])
        if self._state is None:
            self._state = self._computer.start(place, speed, dt, self._numbers, MATH)
        self._state = self._computer.step(
            self._state, place, speed, rest, float(t), reference, rest, self._numbers, dt, MATH
        )
        name = f"{type(self.controller).__name__}.step"
        return numbers(self._state["computed"], name, "expected torques")

    def _vector(self, value: Any, name: str) -> list[float]:
        size = (len(self.robot.driven),)
        return one_sample(value, name, size, f"robot {self.robot.name!r}").tolist()
