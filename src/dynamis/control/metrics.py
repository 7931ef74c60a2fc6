"""Figures of merit of a motion: of a step response, and of the error along a trajectory."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..arguments import checked, is_list, strict
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError, counted, shown
from ..tables import html_table, markdown_table, text_table

ROUNDING = 1e-12  # of the step: a peak this far above the final value is none


@strict
@dataclass(frozen=True, eq=False)
class StepMetrics:
    """What a step response did: one number each, or one per joint, (n,).

    Times count from the first sample. inf: it did not happen within the record. NaN: undefined,
    since the data hold NaN or the step has no height.
    """

    rise_time: Any  # first from 10 % to 90 % of the step
    settling_time: (
        float | np.ndarray
    )  # into the band about the final value, for good; inf: outside at the end
    overshoot: (
        float | np.ndarray
    )  # highest point beyond the final value, as a fraction of the step; 0: none
    peak_time: Any  # of that point; inf: there is none
    steady_state_error: Any  # last sample less the final value


@checked
def step_metrics(
    t: Any, y: Any, final: Any = None, start: Any = None, band: float = 0.02
) -> StepMetrics:
    """Rise time, settling time, overshoot, peak time and steady-state error of y (N,) or (N, n).

    `final` and `start` are one number, or n: None takes the last and the first sample (so with
    final=None the steady-state error is 0). `band` is a fraction of the step. A step may go down.
    """
    times, samples = _record(t, y)
    table = samples.reshape(len(times), -1)
    n = table.shape[1]
    ends = table[-1] if final is None else _levels(final, "final", n)
    starts = table[0] if start is None else _levels(start, "start", n)
    if isinstance(band, bool) or not isinstance(band, (int, float)) or not 0 < band < 1:
        raise OptionError(f"band is {band!r}, expected a fraction of the step, between 0 and 1")
    columns = zip(table.T, starts, ends, strict=True)
    rows = np.array([_one_step(times - times[0], *column, band) for column in columns])
    values = rows[0].tolist() if samples.ndim == 1 else rows.T
    return StepMetrics(*values)


def _one_step(
    t: np.ndarray, y: np.ndarray, start: float, final: float, band: float
) -> tuple[float, ...]:
    error, height = y[-1] - final, final - start
    if not np.isfinite(y).all() or not np.isfinite(height):
        return (np.nan,) * 5
    if height == 0.0:
        return np.nan, np.nan, np.nan, np.nan, error
    r = (y - start) / height  # from 0 to 1, whichever way the step goes
    rise = _first(t, r, 0.9) - _first(t, r, 0.1) if r.max() >= 0.9 else np.inf
    top = int(r.argmax())
    overshoot = r[top] - 1.0 if r[top] > 1.0 + ROUNDING else 0.0
    peak = t[top] if overshoot else np.inf
    return rise, _settling(t, r, band), overshoot, peak, error


def _first(t: np.ndarray, r: np.ndarray, level: float) -> float:
    """When r first reaches the level, which it does; straight between samples."""
    i = int(np.argmax(r >= level))
    return t[0] if i == 0 else _crossing(t, r, i - 1, level)


def _settling(t: np.ndarray, r: np.ndarray, band: float) -> float:
    """When r enters 1 -+ band for good; inf if it is outside at the end."""
    outside = np.flatnonzero(np.abs(r - 1.0) > band)
    if len(outside) == 0:
        return t[0]
    last = int(outside[-1])
    if last == len(r) - 1:
        return np.inf
    return _crossing(t, r, last, 1.0 + band if r[last] > 1.0 else 1.0 - band)


def _crossing(t: np.ndarray, r: np.ndarray, i: int, level: float) -> float:
    return t[i] + (t[i + 1] - t[i]) * (level - r[i]) / (r[i + 1] - r[i])


def _record(t: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    times, samples = _floats(t, "t"), _floats(y, "y")
    if times.ndim != 1 or len(times) < 2:
        raise ShapeError(f"t has shape {times.shape}, expected (N,) with at least 2 samples")
    if samples.ndim not in (1, 2) or len(samples) != len(times) or samples.size == 0:
        raise ShapeError(
            f"y has shape {samples.shape}, expected ({len(times)},) or ({len(times)}, n) like t"
        )
    if not np.all(np.diff(times) > 0) or not np.isfinite(times).all():
        raise OptionError("t does not increase from sample to sample, expected finite seconds")
    return times, samples


def _levels(value: Any, name: str, n: int) -> np.ndarray:
    levels = _floats(value, name)
    if levels.shape not in ((), (n,)):
        raise ShapeError(f"{name} has shape {levels.shape}, expected one number or {n}")
    return np.broadcast_to(levels, (n,))


def _floats(value: Any, name: str) -> np.ndarray:
    return numbers(value, name, "expected real numbers")


@strict
@dataclass(frozen=True, eq=False)
class TrackingMetrics:
    """The error of every joint along a motion, (n,) each, and of all of them together.

    mean = sum e / N (signed), mean_absolute = sum |e| / N, rms = sqrt(sum e^2 / N), max = max |e|.
    `note`: what to know about the motion, such as that it ended early; the last line of the table.
    """

    joint_names: tuple[str, ...]
    mean: np.ndarray
    mean_absolute: np.ndarray
    rms: np.ndarray
    max: np.ndarray
    note: str = ""

    @property
    def overall(self) -> dict[str, float]:
        """The four figures over all joints and samples, by name; mixes units if a joint slides."""
        return {
            "mean": float(self.mean.mean()),
            "mean_absolute": float(self.mean_absolute.mean()),
            "rms": float(np.sqrt(np.mean(self.rms**2))),
            "max": float(self.max.max()),
        }

    def cells(self) -> list[tuple[str, ...]]:
        """Header, one row per joint, and all joints together, as text."""
        total = self.overall
        numbers = [*zip(self.mean, self.rms, self.max, strict=True)]
        numbers.append((total["mean"], total["rms"], total["max"]))
        names = (*self.joint_names, "all")
        rows = zip(names, numbers, strict=True)
        return [
            ("joint", "mean", "RMS", "max"),
            *((name, *(f"{x:.3g}" for x in row)) for name, row in rows),
        ]

    def table(self) -> str:
        """Plain text, in columns."""
        return "\n".join(filter(None, (text_table(self.cells(), right=3), self.note)))

    def markdown(self) -> str:
        """A Markdown table."""
        table = markdown_table(self.cells(), 3, lambda x: x.replace("|", "\\|"))
        return "\n\n".join(filter(None, (table, self.note)))

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return html_table(self.cells()) + (f"<p>{escape(self.note)}</p>" if self.note else "")


@strict
def tracking_metrics(error: Any, joint_names: Sequence[str] | None = None) -> TrackingMetrics:
    """Metrics of e = q - q_d over the samples, (N,) or (N, n); a NaN makes its joint's NaN."""
    given = _floats(error, "error")
    if given.ndim not in (1, 2) or given.size == 0:
        raise ShapeError(
            f"error has shape {given.shape}, expected (N,) or (N, n) with at least one sample"
        )
    e = given.reshape(len(given), -1)
    n = e.shape[1]
    named = [f"{i + 1}" for i in range(n)] if joint_names is None else joint_names
    names = list(named) if is_list(named) else []
    if len(names) != n:
        raise ShapeError(
            f"joint_names is {shown(joint_names)}, expected {counted(n, 'name')}, one per column"
        )
    size = np.abs(e)
    return TrackingMetrics(
        tuple(map(str, names)),
        mean=e.mean(axis=0),
        mean_absolute=size.mean(axis=0),
        rms=np.sqrt(np.mean(e**2, axis=0)),
        max=size.max(axis=0),
    )
