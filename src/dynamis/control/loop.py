"""A controller that runs sample by sample on plain numbers, for a loop of one's own."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked
from ..errors import OptionError
from ..evaluate import as_batch
from ..generic import arm_of
from ..spatial.functions import MATH
from .controller import Controller, Measured, Reference

if TYPE_CHECKING:
    from ..robot import Robot


class ControlLoop:
    """The controller, its model and its state; `step` is called once per sample time.

    loop = ControlLoop(controller, robot, sample_time=0.005)
    tau = loop.step(t, q, qd, q_d, qd_d, qdd_d)
    """

    @checked
    def __init__(self, controller: Controller, robot: "Robot", sample_time: float | None = None):
        if not isinstance(controller, Controller):
            raise OptionError(f"controller is {controller!r}, expected one of dy.control")
        time = sample_time or controller.sample_time
        if time is None or not time > 0:
            raise OptionError(f"sample_time is {time}, expected seconds above 0")
        self.controller, self.robot, self.sample_time = controller, robot, float(time)
        self.arm = arm_of((controller.model or robot).model, MATH)
        self.gains = SimpleNamespace(**controller.gains(robot))
        self.state: dict[str, list[Any]] | None = None

    def reset(self) -> None:
        """Forget the state: the next step starts anew."""
        self.state = None

    @checked
    def step(
        self, t: float, q: Any, qd: Any, q_d: Any = None, qd_d: Any = None, qdd_d: Any = None
    ) -> np.ndarray:
        """Joint torques, (n,); a reference that is not given is q as measured, at rest."""
        measured = Measured(float(t), self._vector(q, "q"), self._vector(qd, "qd"))
        rest = [0.0] * self.robot.n
        reference = Reference(
            measured.q if q_d is None else self._vector(q_d, "q_d"),
            rest if qd_d is None else self._vector(qd_d, "qd_d"),
            rest if qdd_d is None else self._vector(qdd_d, "qdd_d"),
        )
        if self.state is None:
            self.state = dict(self.controller.start(self.arm, self.gains, measured))
        tau, state = self.controller.step(
            self.arm,
            self.gains,
            SimpleNamespace(**self.state),
            measured,
            reference,
            self.sample_time,
        )
        self.state = dict(state)
        return np.array(tau, dtype=float)

    def _vector(self, value: Any, name: str) -> list[float]:
        return as_batch(value, name, (self.robot.n,), f"robot {self.robot.name!r}").tolist()
