"""Named arrays, wherever they come from: what every reader of log files hands on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..evaluate import unmasked
from ..model.finding import Finding

NUMERIC = "fiuMm"  # kinds of dtype: numbers, and moments and spans of time


@dataclass(frozen=True)
class Table:
    """Arrays by name, read when asked for.

    `joints` names the columns of every 2-D array, `defaults` says which array holds which quantity
    where the source has a convention of its own.
    """

    where: str
    names: tuple[str, ...]
    read: Callable[[str], Any]
    joints: tuple[str, ...] | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def array(self, name: str) -> np.ndarray:
        """One array, of numbers or times, with 0, 1 or 2 axes."""
        given = self.read(name)
        try:
            array = np.asarray(unmasked(given))
        except ValueError as error:  # ragged lists
            raise ShapeError(
                f"{self.where}: {name!r} is not a rectangular array ({error})"
            ) from None
        if array.dtype.kind not in NUMERIC:
            raise ShapeError(
                f"{self.where}: {name!r} holds {array.dtype}, expected numbers",
                "objects, text, booleans and complex numbers are never read as measurements",
            )
        if array.ndim > 2:
            raise ShapeError(f"{self.where}: {name!r} has shape {array.shape}, expected (N, n)")
        return array

    def holds(self) -> str:
        """The names there are, for a message."""
        shown = ", ".join(repr(x)[1:-1] for x in self.names[:40])
        return f"{shown}, ... ({len(self.names)} in all)" if len(self.names) > 40 else shown
