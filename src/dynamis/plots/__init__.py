"""Pictures of robots and of their motion; nothing here needs a display."""

from .animation import animate
from .robot_plot import plot_robot
from .run_plot import plot_run
from .skeleton import Skeleton, skeleton
from .study_plot import plot_study
from .workspace_plot import plot_workspace

__all__ = [
    "Skeleton",
    "animate",
    "plot_robot",
    "plot_run",
    "plot_study",
    "plot_workspace",
    "skeleton",
]
