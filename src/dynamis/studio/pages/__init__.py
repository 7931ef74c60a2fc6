"""The pages of the studio, in the order of their tabs."""

from collections.abc import Callable
from typing import Any

from .equations import EquationsPanel
from .export import ExportPanel
from .identify import IdentifyPanel
from .pose import PosePanel
from .robot import RobotPanel
from .simulate import SimulatePanel

PANELS: tuple[tuple[str, Any, Callable[..., Any]], ...] = (
    ("Robot", None, RobotPanel),
    ("Pose", None, PosePanel),
    ("Simulate", None, SimulatePanel),
    ("Equations", None, EquationsPanel),
    ("Identify", None, IdentifyPanel),
    ("Export", None, ExportPanel),
)
