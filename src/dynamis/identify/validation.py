"""Validation: measured beside predicted torque, with relative errors."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import checked, number
from .processing import lowpass

LEAST = 0.01  # periods of the slowest filter within a log


@dataclass(frozen=True, eq=False)
class Validation:
    """Torques (N, n) at the logged instants t (N,), as logged and as predicted.

    relative_error = |tau - predicted| / |tau|, norms over the samples; nrms is the RMS error over
    the range of the measured torque. `speed` is that of the joints; `counted` says which rows of
    which joint count (all, unless `moving` was asked for).
    """

    name: str
    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    speed: np.ndarray
    joint_names: tuple[str, ...]
    counted: np.ndarray | None = None
    filtered_at: float | None = None

    @property
    def residual(self) -> np.ndarray:
        """tau - predicted, (N, n)."""
        return self.measured - self.predicted

    def _kept(self, values: np.ndarray) -> np.ndarray:
        return values if self.counted is None else np.where(self.counted, values, 0.0)

    @property
    def rms(self) -> np.ndarray:
        """Root mean square of the residual, (n,)."""
        rows = len(self.t) if self.counted is None else self.counted.sum(axis=0)
        return np.sqrt((self._kept(self.residual) ** 2).sum(axis=0) / np.maximum(rows, 1))

    @property
    def relative_error(self) -> np.ndarray:
        """Per joint, (n,)."""
        wrong, whole = self._kept(self.residual), self._kept(self.measured)
        return _ratio(np.linalg.norm(wrong, axis=0), np.linalg.norm(whole, axis=0))

    @property
    def relative_error_overall(self) -> float:
        """All joints together."""
        wrong, whole = self._kept(self.residual), self._kept(self.measured)
        return float(_ratio(np.linalg.norm(wrong), np.linalg.norm(whole)))

    @property
    def nrms(self) -> np.ndarray:
        """RMS error over the range of the measured torque, (n,)."""
        return _ratio(self.rms, np.ptp(self.measured, axis=0))

    @checked
    def filtered(self, cutoff: float) -> "Validation":
        """The validation with both torques low-passed at `cutoff` Hz: flattering, so say it."""
        rate = 1.0 / float(np.median(np.diff(self.t)))
        span = float(self.t[-1] - self.t[0])
        slowest = f"Hz of at least {LEAST / span:.3g}: the log lasts {span:g} s"
        number(cutoff, "cutoff", slowest, lambda x: LEAST / span <= x < np.inf)
        low = [lowpass(x, cutoff, rate) for x in (self.measured, self.predicted)]
        return replace(self, measured=low[0], predicted=low[1], filtered_at=cutoff)

    @checked
    def moving(self, slowest: float = 0.05) -> "Validation":
        """Only the rows of a joint that is faster: at rest friction is whatever it has to be."""
        return replace(self, counted=np.abs(self.speed) > slowest)

    @checked
    def between(self, start: float, stop: float) -> "Validation":
        """The rows between two instants (s, as logged)."""
        keep = (self.t >= start) & (self.t <= stop)
        names = ("t", "measured", "predicted", "speed", "counted")
        rows = {name: getattr(self, name) for name in names}
        return replace(self, **{k: None if v is None else v[keep] for k, v in rows.items()})

    def cells(self) -> list[tuple[str, str, str, str]]:
        """Rows of a table: joint, RMS, relative error, NRMS."""
        rows = zip(self.joint_names, self.rms, self.relative_error, self.nrms, strict=True)
        found = [(n, f"{a:.4g}", f"{100 * b:.2f} %", f"{100 * c:.2f} %") for n, a, b, c in rows]
        return [*found, ("all", "", f"{100 * self.relative_error_overall:.2f} %", "")]

    def __str__(self) -> str:
        head = ("joint", "RMS", "relative error", "NRMS")
        rows = [head, *self.cells()]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = ["  ".join(x.rjust(w) for x, w in zip(row, widths, strict=True)) for row in rows]
        how = "as logged" if self.filtered_at is None else f"low-passed at {self.filtered_at:g} Hz"
        how += "" if self.counted is None else ", moving rows"
        return "\n".join([f"{self.name or 'log'}: torque {how}, {len(self.t)} rows", *lines])

    def __repr__(self) -> str:
        return f"Validation({self.name!r}, {100 * self.relative_error_overall:.2f} %)"


def _ratio(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(
            np.asarray(b) > 0.0, np.asarray(a) / np.where(np.asarray(b) > 0, b, 1.0), np.nan
        )
