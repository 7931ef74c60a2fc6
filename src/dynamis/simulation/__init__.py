"""Simulation: an arm in time, with static friction (stiction), drives, sensors and controllers."""

from ..control.sensors import Sensors
from ..lazy import public_dir
from .run import Energy, Event, Measurement, Run
from .simulator import Simulator, simulate
from .tableau import INTEGRATORS, Tableau

__all__ = [
    "INTEGRATORS",
    "Energy",
    "Event",
    "Measurement",
    "Run",
    "Sensors",
    "Simulator",
    "Tableau",
    "simulate",
]
__dir__ = public_dir(__name__)
