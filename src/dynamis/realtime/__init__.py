"""Real time: controllers that leave Python, and plants to try them on."""

from .law import Law

__all__ = ["Law"]
