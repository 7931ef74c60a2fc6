"""Robots to and from other libraries; what one of them cannot hold is said in a DynamisWarning."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from .mjcf_read import from_mjcf
    from .mjcf_write import to_mjcf
    from .mujoco_model import from_mujoco
    from .pinocchio_read import from_pinocchio
    from .pinocchio_write import to_pinocchio
    from .rtb_read import from_rtb
    from .rtb_write import to_rtb
    from .yourdfpy import from_yourdfpy, to_yourdfpy

__all__ = [
    "from_mjcf",
    "from_mujoco",
    "from_pinocchio",
    "from_rtb",
    "from_yourdfpy",
    "to_mjcf",
    "to_pinocchio",
    "to_rtb",
    "to_yourdfpy",
]

__getattr__ = later(
    __name__,
    {
        "from_mjcf": "mjcf_read",
        "from_mujoco": "mujoco_model",
        "from_pinocchio": "pinocchio_read",
        "from_rtb": "rtb_read",
        "from_yourdfpy": "yourdfpy",
        "to_mjcf": "mjcf_write",
        "to_pinocchio": "pinocchio_write",
        "to_rtb": "rtb_write",
        "to_yourdfpy": "yourdfpy",
    },
)
