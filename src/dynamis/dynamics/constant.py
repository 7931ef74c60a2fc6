"""Scalars that are numbers known beforehand, next to those that a trace carries."""

from typing import Any


def zero(x: Any) -> bool:
    """Whether a scalar is the number 0, so that what it multiplies can be left out."""
    return isinstance(x, float) and x == 0.0
