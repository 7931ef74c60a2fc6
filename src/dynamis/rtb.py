"""The Robotics Toolbox's names for what our Robot does: see `dynamis.interop.rtb_names`."""

from .interop.rtb_names import *  # noqa: F403
from .interop.rtb_names import __all__  # noqa: F401
