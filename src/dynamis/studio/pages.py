"""The pages of the studio, in the order of their tabs."""

from collections.abc import Callable
from typing import Any

from .equations_panel import EquationsPanel
from .export_panel import ExportPanel
from .identify_panel import IdentifyPanel
from .pose_panel import PosePanel
from .robot_panel import RobotPanel
from .simulate_panel import SimulatePanel

PANELS: tuple[tuple[str, Any, Callable[..., Any]], ...] = (
    ("Robot", None, RobotPanel),
    ("Pose", None, PosePanel),
    ("Simulate", None, SimulatePanel),
    ("Equations", None, EquationsPanel),
    ("Identify", None, IdentifyPanel),
    ("Export", None, ExportPanel),
)
