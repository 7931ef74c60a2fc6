"""Real time: controllers that leave Python, and plants to try them on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cost import controller_cost
    from .export_controller import export_controller
    from .fmu import export_fmu
    from .law import Law
    from .plant import run_plant

__all__ = ["Law", "controller_cost", "export_controller", "export_fmu", "run_plant"]

_LATER = {
    "Law": "law",
    "controller_cost": "cost",
    "export_controller": "export_controller",
    "export_fmu": "fmu",
    "run_plant": "plant",
}


def __getattr__(name: str) -> Any:
    """Names that are imported when first used."""
    if name not in _LATER:
        raise AttributeError(f"module 'dynamis.realtime' has no attribute {name!r}")
    value = getattr(import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value
