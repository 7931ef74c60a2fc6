"""The pages of the studio, in the order of their tabs."""

from collections.abc import Callable
from typing import Any

from .equations import EquationsPanel
from .export import ExportPanel
from .identify import IdentifyPanel
from .pose import PosePanel
from .robot import RobotPanel
from .simulate import SimulatePanel

PANELS: dict[str, Callable[..., Any]] = {
    "Robot": RobotPanel,
    "Pose": PosePanel,
    "Simulate": SimulatePanel,
    "Equations": EquationsPanel,
    "Identify": IdentifyPanel,
    "Export": ExportPanel,
}
