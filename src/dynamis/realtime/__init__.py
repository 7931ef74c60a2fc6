"""Real time: controllers that leave Python, and plants to try them on."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from ..control.board.program import BoardLaw
    from ..control.law import Law
    from .cost import controller_cost
    from .export import export_controller
    from .fmu.export import export_fmu
    from .loop.plant import run_plant

__all__ = ["BoardLaw", "Law", "controller_cost", "export_controller", "export_fmu", "run_plant"]

WHERE = {
    "BoardLaw": ".control.board.program", "Law": ".control.law", "controller_cost": "cost",
    "export_controller": "export", "export_fmu": "fmu.export", "run_plant": "loop.plant",
}  # fmt: skip
__getattr__ = later(__name__, WHERE)
