"""Real time: controllers that leave Python, and plants to try them on."""

from typing import TYPE_CHECKING

from ..later import later

if TYPE_CHECKING:
    from .cost import controller_cost
    from .export_controller import export_controller
    from .fmu import export_fmu
    from .law import Law
    from .plant import run_plant

__all__ = ["Law", "controller_cost", "export_controller", "export_fmu", "run_plant"]

__getattr__ = later(
    __name__,
    {
        "Law": "law",
        "controller_cost": "cost",
        "export_controller": "export_controller",
        "export_fmu": "fmu",
        "run_plant": "plant",
    },
)
