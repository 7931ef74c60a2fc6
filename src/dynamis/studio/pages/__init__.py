"""The pages of the studio."""

from typing import TYPE_CHECKING

from ...lazy import later

if TYPE_CHECKING:
    from .panels import PANELS

__all__ = ["PANELS"]

# a process that answers for the Equations page needs no other page
__getattr__ = later(__name__, {"PANELS": "panels"})
