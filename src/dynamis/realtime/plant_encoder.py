"""The encoders of a simulated arm."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..control.controller import per_joint
from ..errors import OptionError

if TYPE_CHECKING:
    from ..robot import Robot


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
