"""A controller that runs sample by sample on plain numbers, for a loop of one's own."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, positive
from ..compile.arm import arm_of
from ..compile.arrays import as_batch, numbers
from ..errors import ShapeError
from ..spatial.functions import MATH
from .controller import Controller, Reference, Sample, begun, check_signatures, stepped

if TYPE_CHECKING:
    from ..robot import Robot


class ControlLoop:
    """The controller, its model and its state; `step` is called once per sample time.

    loop = ControlLoop(controller, robot, sample_time=0.005)
    tau = loop.step(t, q, qd, q_d, qd_d, qdd_d)
    """

    @checked
    def __init__(self, controller: Controller, robot: "Robot", sample_time: float | None = None):
        time = controller.sample_time if sample_time is None else sample_time
        self.sample_time = positive(time, "sample_time", "seconds")
        check_signatures(controller)
        self.controller, self.robot = controller, robot
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
        place, rest = self._vector(q, "q"), [0.0] * self.robot.n
        reference = Reference(
            place if q_d is None else self._vector(q_d, "q_d"),
            rest if qd_d is None else self._vector(qd_d, "qd_d"),
            rest if qdd_d is None else self._vector(qdd_d, "qdd_d"),
        )
        sample = Sample(float(t), place, self._vector(qd, "qd"), self.gains)
        if self.state is None:
            self.state = begun(self.controller, self.arm, sample)
        state = SimpleNamespace(**self.state)
        sample = sample._replace(state=state, reference=reference, dt=self.sample_time)
        tau, self.state = stepped(self.controller, self.arm, sample)
        return numbers(tau, f"{type(self.controller).__name__}.step", "expected torques")

    def _vector(self, value: Any, name: str) -> list[float]:
        found = as_batch(value, name, (self.robot.n,), f"robot {self.robot.name!r}")
        if found.ndim != 1:
            raise ShapeError(f"{name} has shape {found.shape}, expected ({self.robot.n},)")
        return found.tolist()
