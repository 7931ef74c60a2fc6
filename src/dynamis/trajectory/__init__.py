"""Motions in time: q, qd and qdd at any t, over arrays or any scalar, checked against limits."""

from .base_motion import BaseMotion
from .file import from_file
from .fourier import Fourier, Sine, fourier, sine
from .function import from_function
from .path import line, time_optimal
from .polynomial import Hermite, cubic, nonic, quintic, septic, trapezoid, via
from .shaped import Shaped, zvd
from .trajectory import Along, Derivatives, Sampled, State, Trajectory

__all__ = [
    "Along", "BaseMotion", "Derivatives", "Fourier", "Hermite", "Sampled", "Shaped", "Sine",
    "State", "Trajectory", "cubic", "fourier", "from_file", "from_function", "line", "nonic",
    "quintic", "septic", "sine", "time_optimal", "trapezoid", "via", "zvd",
]  # fmt: skip


def __dir__() -> list[str]:
    """What completion shows."""
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]
