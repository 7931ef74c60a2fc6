"""A compiled arm that is advanced under a torque that is held, as a caller asks for it."""

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from .assembly import Machinery
from .loop import MachineLoop
from .settings import settings

if TYPE_CHECKING:
    from ..robot import Robot


class Stepper:
    """An arm at (q, qd): `step(tau)` lets `steps` steps of dt pass in one call.

    `q` and `qd` are views of the state `x`; writing to them moves the arm.
    """

    def __init__(self, robot: "Robot", q0: Any, dt: float, stops: bool, steps: int = 1):
        from .simulate import simulate

        known = {name: p.default for name, p in inspect.signature(simulate).parameters.items()}
        del known["robot"]
        given = {**known, "q0": q0, "dt": dt, "duration": dt, "stops": stops, "threads": 1}
        self.s = settings(robot, **given)
        if self.s.count != 1:
            raise OptionError(f"q0 is for {self.s.count} arms, expected one")
        m = self.m = Machinery(self.s, "plant")
        self._loop, self._steps = MachineLoop(m.tasks, 1, 1), steps
        self._signals, self._constants = m.signals(0, steps), m.constants()
        self._saved = np.zeros((1, 1, m.slots.integrated))
        self.x = m.start()
        self.q, self.qd = (m.slots.part(self.x, name)[0] for name in ("q", "qd"))
        self._command = m.slots.part(self.x, "command")[0]

    def step(self, tau: Any) -> None:
        """Advance."""
        self._command[:] = tau
        early, k = self.m.slots.integrated, self._steps
        self._loop.run(self.x, 0, k, self._signals, self._constants, self._saved, early, k)
