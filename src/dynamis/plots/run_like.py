"""The protocol of motions that can be drawn."""

from typing import Any, Protocol

import numpy as np

from ..errors import OptionError, shown
from ..robot import Robot


class RunLike(Protocol):
    """A simulated or measured motion: N samples of n joints, or an ensemble."""

    @property
    def robot(self) -> Robot:
        """The arm that moves."""
        ...

    @property
    def t(self) -> np.ndarray:
        """Time, (N,)."""
        ...

    @property
    def q(self) -> np.ndarray:
        """Position, (N, n) or (..., N, n); `qd` and `tau` alike."""
        ...

    @property
    def qd(self) -> np.ndarray:
        """Velocity."""
        ...

    @property
    def tau(self) -> np.ndarray:
        """Torque or force."""
        ...

    @property
    def reference(self) -> Any:
        """None, or the desired motion: .q .qd .qdd, each (..., N, n)."""
        ...

    @property
    def error(self) -> np.ndarray | None:
        """q - reference.q, or None."""
        ...

    @property
    def energy(self) -> Any:
        """None, or .kinetic .potential .total, each (..., N)."""
        ...

    @property
    def events(self) -> Any:
        """Things that happened: each with .t and .name."""
        ...

    @property
    def stuck(self) -> np.ndarray | None:
        """Where friction holds a joint, (N, n), or None."""
        ...


def check_run(run: Any) -> None:
    """Refuse what has not even times and positions of a robot."""
    if not all(hasattr(run, name) for name in ("robot", "t", "q")):
        raise OptionError(f"run is {shown(run)}, expected what dy.simulate returned")
