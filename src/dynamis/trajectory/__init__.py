"""Motions in time: q, qd and qdd at any t, over arrays or any scalar, checked against limits."""

from .along import Along
from .fourier import Fourier, fourier
from .hermite import Hermite
from .line import line
from .polynomial import cubic, quintic, septic
from .sine import Sine, sine
from .time_optimal import time_optimal
from .trajectory import Sampled, State, Trajectory
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
