"""`cached_property` without a lock, as Python has it since 3.12.

The lock of 3.11 belongs to the property of all objects: whoever forks while another thread computes
one leaves it locked in the child.
"""

import functools
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """As the name says."""

        def __init__(self, function: Any):
            super().__init__(function)
            self.lock = nullcontext()


__all__ = ["cached_property"]
