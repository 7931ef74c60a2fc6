"""The pages of the studio."""

from collections.abc import Callable
from typing import Any


def panels() -> dict[str, Callable[..., Any]]:
    """The pages by title, in the order of their tabs.

    Imported here: a process that answers for the Equations page needs no other page.
    """
    from .equations import EquationsPanel
    from .export import ExportPanel
    from .identify import IdentifyPanel
    from .pose import PosePanel
    from .robot import RobotPanel
    from .simulate import SimulatePanel

    return {
        "Robot": RobotPanel,
        "Pose": PosePanel,
        "Simulate": SimulatePanel,
        "Equations": EquationsPanel,
        "Identify": IdentifyPanel,
        "Export": ExportPanel,
    }
