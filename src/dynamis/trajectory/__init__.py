"""Motions in time: q, qd and qdd at any t, over arrays or any scalar, checked against limits."""

from .fourier import Fourier, Sine, fourier, sine
from .path import line, time_optimal
from .polynomial import Hermite, cubic, quintic, septic, trapezoid, via
from .trajectory import Along, Sampled, State, Trajectory

__all__ = [
    "Along", "Fourier", "Hermite", "Sampled", "Sine", "State", "Trajectory", "cubic", "fourier",
    "line", "quintic", "septic", "sine", "time_optimal", "trapezoid", "via",
]  # fmt: skip
