"""Kinematic calibration: from what was measured at the tool to the arm as it was built."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from .accuracy import Accuracy
    from .calibration import CalibratedParameters, Calibration
    from .observations import Observations, Plane, Points, Poses, Sockets, Touch
    from .read import read_observations

__all__ = [
    "Accuracy", "CalibratedParameters", "Calibration", "Observations", "Plane", "Points", "Poses",
    "Sockets", "Touch", "read_observations",
]  # fmt: skip

__getattr__ = later(
    __name__,
    {
        "Accuracy": "accuracy",
        "read_observations": "read",
        **dict.fromkeys(("CalibratedParameters", "Calibration"), "calibration"),
        **dict.fromkeys(
            ("Observations", "Plane", "Points", "Poses", "Sockets", "Touch"), "observations"
        ),
    },
)
