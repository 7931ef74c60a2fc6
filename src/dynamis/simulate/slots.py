"""The state of a simulation as one vector: which entry holds what.

The entries up to `tau` are integrated; they are recorded before a step, the others after it, when
they hold what acted during the step.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np


class Slots:
    """Names in order, each with its size."""

    def __init__(self, sizes: Mapping[str, int], integrated: int):
        self.sizes = dict(sizes)
        self.slices: dict[str, slice] = {}
        start = 0
        for name, size in self.sizes.items():
            self.slices[name] = slice(start, start + size)
            start += size
        self.size = start
        self.integrated = sum(list(self.sizes.values())[:integrated])

    def read(self, x: Any) -> SimpleNamespace:
        """The vector as lists of scalars by name."""
        return SimpleNamespace(**{name: list(x[s]) for name, s in self.slices.items()})

    def write(self, values: SimpleNamespace) -> list[Any]:
        """The vector from lists by name."""
        rows = vars(values)
        return [x for name in self.sizes for x in rows[name]]

    def part(self, x: np.ndarray, name: str) -> np.ndarray:
        """A view of one name in an array (..., size)."""
        return x[..., self.slices[name]]
