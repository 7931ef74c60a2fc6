"""The studio: a graphical user interface in the browser, one session per tab, behind a proxy."""

from typing import TYPE_CHECKING, Any

from ..lazy import later, package

if TYPE_CHECKING:
    from .server.studio import Studio

__all__ = ["Studio"]

_found = later(__name__, {"Studio": "server.studio"})


def __getattr__(name: str) -> Any:
    """Its parts are also used by processes that serve nothing: only the studio needs them all."""
    if name in __all__:
        for needed in ("viser", "sympy", "matplotlib"):
            package(needed, needed, "the studio", "studio")
    return _found(name)
