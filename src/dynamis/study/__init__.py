"""Studies: what differences from arm to arm do to errors, torques and times."""

from ..lazy import callable_package, later

__getattr__ = later(
    __name__,
    {
        "Draw": "scatter",
        "Scatter": "scatter",
        "Sensitivity": "study",
        "Study": "study",
        "ray_executor": "workers",
    },
)

callable_package(__name__, "study", "study")
