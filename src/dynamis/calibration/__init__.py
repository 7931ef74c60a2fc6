"""Kinematic calibration: from what was measured at the tool to the arm as it was built."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from .accuracy import Accuracy
    from .calibration import CalibratedParameters, Calibration
    from .observations import Observations, Plane, Points, Poses, Sockets, Touch

__all__ = [
    "Accuracy", "CalibratedParameters", "Calibration", "Observations", "Plane", "Points", "Poses",
    "Sockets", "Touch",
]  # fmt: skip

__getattr__ = later(
    __name__,
    {
        "Accuracy": "accuracy",
        **dict.fromkeys(("CalibratedParameters", "Calibration"), "calibration"),
        **dict.fromkeys(
            ("Observations", "Plane", "Points", "Poses", "Sockets", "Touch"), "observations"
        ),
    },
)
