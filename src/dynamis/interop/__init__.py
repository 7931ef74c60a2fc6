"""Robots to and from other libraries; what one of them cannot hold is said in a DynamisWarning."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from .mjcf import from_mjcf, to_mjcf
    from .mujoco_model import from_mujoco
    from .pinocchio import from_pinocchio, to_pinocchio
    from .robotics_toolbox import from_rtb, to_rtb
    from .yourdfpy import from_yourdfpy, to_yourdfpy

__all__ = [
    "from_mjcf", "from_mujoco", "from_pinocchio", "from_rtb", "from_yourdfpy", "to_mjcf",
    "to_pinocchio", "to_rtb", "to_yourdfpy",
]  # fmt: skip

MODULES = {
    "mjcf": "mjcf", "mujoco": "mujoco_model", "pinocchio": "pinocchio", "rtb": "robotics_toolbox",
    "yourdfpy": "yourdfpy",
}  # fmt: skip
__getattr__ = later(__name__, {name: MODULES[name.partition("_")[2]] for name in __all__})
