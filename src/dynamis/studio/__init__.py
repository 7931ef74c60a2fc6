"""The studio: the workbench in the browser, one state per tab, behind a door of its own."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from .server.studio import Studio

__all__ = ["Studio"]

# its parts are also used by processes that serve nothing
__getattr__ = later(__name__, {"Studio": "server.studio"})
