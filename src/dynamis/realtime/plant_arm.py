"""The arm behind a plant's port: the compiled simulation step by step, and its encoders."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.controller import per_joint
from ..errors import OptionError
from ..simulate.loop import MachineLoop
from ..simulate.machinery import Machinery
from ..simulate.settings import settings

if TYPE_CHECKING:
    from ..robot import Robot


class Stepper:
    """A compiled arm that is advanced one step at a time under a torque that is held."""

    def __init__(self, robot: "Robot", q0: Any, dt: float, stops: bool):
        import inspect

        from ..simulate.simulate import simulate

        known = {name: p.default for name, p in inspect.signature(simulate).parameters.items()}
        del known["robot"]
        given = {**known, "q0": q0, "dt": dt, "duration": dt, "stops": stops, "threads": 1}
        self.s = settings(robot, **given)
        if self.s.count != 1:
            raise OptionError(f"q0 is for {self.s.count} arms, expected one")
        m = self.m = Machinery(self.s, "plant")
        self._loop = MachineLoop(m.tasks, 1, 1)
        self._signals, self._constants = m.signals(0, 1), m.constants()
        self._saved = np.zeros((1, 1, m.slots.integrated))
        self.x = m.start()
        self.q, self.qd = (m.slots.part(self.x, name)[0] for name in ("q", "qd"))
        self._command = m.slots.part(self.x, "command")[0]

    def step(self, tau: Any) -> None:
        """One step of dt."""
        self._command[:] = tau
        early = self.m.slots.integrated
        self._loop.run(self.x, 0, 1, self._signals, self._constants, self._saved, early, 1)


class Encoder:
    """Positions in whole steps, velocities from their differences; exact without a step."""

    def __init__(self, robot: "Robot", step: Any, dt: float):
        self.step = None if step is None else np.array(per_joint(step, "encoder", robot))
        if self.step is not None and not (self.step > 0).all():
            raise OptionError(f"encoder is {step!r}, expected rad or m per count above 0")
        self.dt, self._last = dt, None

    def read(self, q: np.ndarray, qd: np.ndarray) -> tuple[list[float], list[float]]:
        """What is measured at (q, qd)."""
        if self.step is None:
            return q.tolist(), qd.tolist()
        count = np.round(q / self.step) * self.step
        last = count if self._last is None else self._last
        self._last = count
        return count.tolist(), ((count - last) / self.dt).tolist()
