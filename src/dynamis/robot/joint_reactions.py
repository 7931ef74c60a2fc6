"""Reactions of the joints over a motion: what bearings, gears and links are chosen by."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, strict
from ..model.link import Link
from ..model.quantity import resolve
from ..spatial.rotations import normalised
from ..spatial.vectors import Z
from ..tables import html_table, text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from . import Robot

COMPONENTS = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
UNITS = ("N", "N", "N", "N m", "N m", "N m")
HEADER = ("joint", "", *(f"{x} ({unit})" for x, unit in zip(COMPONENTS, UNITS, strict=True)))
BY_AXIS = ("joint", "", "axial (N)", "radial (N)", "tilting (N m)", "about axis (N m)")


@strict
@dataclass(frozen=True, repr=False)
class JointReactions:
    """Reactions of a robot's joints over a motion at t (N,): `values` (N, links, 6).

    Force then moment, as of `robot.joint_reactions`, in the frames of the joints. By the axis of
    the joint: force along it (axial) and across it (radial), moment across it (tilting) and about
    it.
    """

    robot: "Robot"
    t: np.ndarray
    values: np.ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy is not False or dtype is not None)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, those that mimic others too."""
        return self.robot.model.tree_joint_names

    @property
    def largest(self) -> np.ndarray:
        """Largest size of every component, (links, 6)."""
        return _largest(self.values)

    @property
    def rms(self) -> np.ndarray:
        """RMS over time of every component, (links, 6)."""
        return _rms(self.t, self.values)

    @property
    def by_axis(self) -> np.ndarray:
        """Axial and radial force, tilting moment, moment about the axis, (N, links, 4)."""
        z = np.array([_axis(link, self.robot) for link in self.robot.model.links])
        f, n = self.values[..., :3], self.values[..., 3:]
        along, about = (f * z).sum(axis=-1), (n * z).sum(axis=-1)
        across = (
            np.linalg.norm(v - s[..., None] * z, axis=-1) for v, s in ((f, along), (n, about))
        )
        radial, tilting = across
        return np.stack([along, radial, tilting, about], axis=-1)

    @property
    def largest_by_axis(self) -> np.ndarray:
        """Largest size of each of `by_axis`, (links, 4)."""
        return _largest(self.by_axis)

    @property
    def rms_by_axis(self) -> np.ndarray:
        """RMS over time of each of `by_axis`, (links, 4)."""
        return _rms(self.t, self.by_axis)

    @property
    def tables(self) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        """Rows of two tables with their headers: by components, and by the axes of the joints."""
        by_component = self._rows(HEADER, self.largest, self.rms)
        return by_component, self._rows(BY_AXIS, self.largest_by_axis, self.rms_by_axis)

    def _rows(self, header: Any, largest: np.ndarray, rms: np.ndarray) -> list[tuple[str, ...]]:
        found = [tuple(header)]
        for name, top, mean in zip(self.joint_names, largest, rms, strict=True):
            found.append((name, "largest", *map(_short, top)))
            found.append(("", "RMS", *map(_short, mean)))
        return found

    def __str__(self) -> str:
        return "\n\n".join(text_table(rows, right=len(rows[0]) - 2) for rows in self.tables)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(html_table(rows) for rows in self.tables)

    def plot(self, joints: Any = None, path: "str | Path | None" = None) -> "Figure":
        """Force and moment of every joint over time, or of the `joints` named."""
        from ..plots.reaction_plot import plot_reactions

        return plot_reactions(self, joints, path)

    @checked
    def report(self, path: str | Path) -> Path:
        """Write an HTML page: both tables and the figure."""
        from ..report.reactions import write

        return write(self, path)


def _axis(link: Link, robot: "Robot") -> Any:
    """Axis of a joint in its frame."""
    return normalised(resolve(link.axis, robot.model.values) if link.axis else Z)


def _largest(values: np.ndarray) -> np.ndarray:
    """Largest size over time."""
    return np.abs(values).max(axis=0, initial=0.0)


def _rms(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Root of the mean square over time, by trapezia: instants need not be equally spaced."""
    if len(t) < 2:
        return _largest(values)
    steps = np.diff(t)[:, None, None]
    mean = (steps * (values[1:] ** 2 + values[:-1] ** 2)).sum(axis=0) / (2.0 * (t[-1] - t[0]))
    return np.sqrt(mean)


def _short(value: float) -> str:
    """Four digits; what is only rounding is 0."""
    return f"{value:.4g}" if value > 1e-9 else "0"
