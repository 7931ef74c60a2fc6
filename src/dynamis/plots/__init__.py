"""Pictures of robots and of their motion; nothing here needs a display."""

from ..lazy import package, public_dir

package("matplotlib", "matplotlib", "drawing", "plots")

from .animation import animate  # noqa: E402
from .contact_plot import plot_contacts  # noqa: E402
from .distance_plot import plot_nearest  # noqa: E402
from .estimate_plot import plot_hysteresis, plot_response  # noqa: E402
from .free_body_plot import plot_free_body  # noqa: E402
from .reaction_plot import plot_reactions  # noqa: E402
from .robot_plot import plot_robot  # noqa: E402
from .run_plot import plot_run  # noqa: E402
from .skeleton import Skeleton, skeleton  # noqa: E402
from .study_plot import plot_study  # noqa: E402
from .validation_plot import plot_validation  # noqa: E402
from .workspace_plot import plot_workspace  # noqa: E402

__all__ = [
    "Skeleton",
    "animate",
    "plot_contacts",
    "plot_free_body",
    "plot_hysteresis",
    "plot_nearest",
    "plot_reactions",
    "plot_response",
    "plot_robot",
    "plot_run",
    "plot_study",
    "plot_validation",
    "plot_workspace",
    "skeleton",
]
__dir__ = public_dir(__name__)
