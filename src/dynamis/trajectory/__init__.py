"""Motions in time: q, qd and qdd at any t, over arrays or any scalar, checked against limits."""

from .file import from_file
from .fourier import Fourier, Sine, fourier, sine
from .function import from_function
from .path import line, time_optimal
from .polynomial import Hermite, cubic, quintic, septic, trapezoid, via
from .trajectory import Along, Sampled, State, Trajectory

__all__ = [
    "Along", "Fourier", "Hermite", "Sampled", "Sine", "State", "Trajectory", "cubic", "fourier",
    "from_file", "from_function", "line", "quintic", "septic", "sine", "time_optimal", "trapezoid",
    "via",
]  # fmt: skip


def __dir__() -> list[str]:
    """What completion shows."""
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__"]
