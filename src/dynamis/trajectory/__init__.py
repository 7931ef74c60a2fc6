"""Motions in time: q, qd and qdd at any t, over arrays or any scalar, checked against limits."""

from .fourier import Fourier, Sine, fourier, sine
from .line import line
from .polynomial import Hermite, cubic, quintic, septic
from .time_optimal import time_optimal
from .trajectory import Along, Sampled, State, Trajectory
from .trapezoid import trapezoid
from .via import via

__all__ = [
    "Along",
    "Fourier",
    "Hermite",
    "Sampled",
    "Sine",
    "State",
    "Trajectory",
    "cubic",
    "fourier",
    "line",
    "quintic",
    "septic",
    "sine",
    "time_optimal",
    "trapezoid",
    "via",
]
