"""Simulation: an arm in time, with static friction (stiction), drives, sensors and controllers."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from ..control.sensors import Sensors
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

__getattr__ = later(
    __name__,
    {
        **dict.fromkeys(("Energy", "Event", "Measurement", "Run"), "run"),
        **dict.fromkeys(("Simulator", "simulate"), "simulator"),
        **{"INTEGRATORS": "tableau", "Tableau": "tableau", "Sensors": ".control.sensors"},
    },
)
