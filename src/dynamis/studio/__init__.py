"""The studio: the workbench in the browser, one state per tab, behind a door of its own."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .studio import Studio

__all__ = ["Studio"]


def __getattr__(name: str) -> Any:
    if name == "Studio":  # its parts are also used by processes that serve nothing
        from .studio import Studio

        return Studio
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
