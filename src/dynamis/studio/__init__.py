"""The studio: a graphical user interface in the browser, one session per tab, behind a proxy."""

from typing import TYPE_CHECKING

from ..lazy import later

if TYPE_CHECKING:
    from .server.studio import Studio

__all__ = ["Studio"]

# its parts are also used by processes that serve nothing
__getattr__ = later(__name__, {"Studio": "server.studio"})
