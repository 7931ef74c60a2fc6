"""Simulation: an arm in time, with friction that holds, drives, sensors and controllers."""

from ..callable_package import callable_package
from .run import Energy, Event, Measurement, Run
from .sensors import Sensors
from .simulate import simulate
from .tableau import INTEGRATORS, Tableau

__all__ = [
    "INTEGRATORS",
    "Energy",
    "Event",
    "Measurement",
    "Run",
    "Sensors",
    "Tableau",
    "simulate",
]

callable_package(__name__, simulate)
