"""A control computer that runs sample by sample on plain numbers, for a loop of one's own."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, positive
from ..compile.arrays import numbers, one_sample
from ..spatial.functions import MATH
from .computer import ControlComputer
from .controller import Controller, Reference
from .law import Law
from .sensors import Sensors

if TYPE_CHECKING:
    from ..robot import Robot


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
        law = Law(controller, robot, self.sample_time)
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
        self, t: float, q: Any, qd: Any, q_d: Any = None, qd_d: Any = None, qdd_d: Any = None
    ) -> np.ndarray:
        """Joint torques, (n,); a reference that is not given is q as measured, at rest.

        Of a closed mechanism q, qd, the reference and the torques are those of its drives.
        """
        place, speed = self._vector(q, "q"), self._vector(qd, "qd")
        rest, dt = [0.0] * len(self.robot.driven), self.sample_time
        reference = Reference(
            place if q_d is None else self._vector(q_d, "q_d"),
            rest if qd_d is None else self._vector(qd_d, "qd_d"),
            rest if qdd_d is None else self._vector(qdd_d, "qdd_d"),
        )
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
