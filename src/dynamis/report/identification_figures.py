"""Small pictures of an identification, one joint each: friction, residuals, spectra."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..identify.log import Log
from ..identify.processing import Processing, band
from .identification_rows import Rows, autocorrelation, friction_curve, spectrum

if TYPE_CHECKING:
    from ..identify.estimate import Estimate

SIZE = (3.7, 2.5)
DOTS = 600
ACCENT, WARM, GREY, PALE = "#1f5fa8", "#c9601a", "#8a96a3", "#c9cfd6"
SURE = 2.576  # standard deviations on either side of 99 %
LOWEST = 1e-10  # of a spectrum's peak: what is drawn of it


def friction_figure(estimate: "Estimate", rows: list[Rows], joint: int, units: Any) -> Any:
    """Friction torque over velocity: the curve with its 99 % band over what was measured."""
    figure, axes = _axes(*units)
    qd, tau, counted = (
        np.concatenate([getattr(r, name)[:, joint] for r in rows])
        for name in ("qd", "friction", "counted")
    )
    for chosen, colour in ((~counted, PALE), (counted, GREY)):
        k = np.flatnonzero(chosen)
        k = k[:: max(1, -(-len(k) // DOTS))]
        axes.plot(qd[k], tau[k], ".", color=colour, markersize=2.5, zorder=2)
    fastest = float(np.abs(qd).max()) or 1.0
    v, middle, spread = friction_curve(estimate, joint, fastest)
    reach = SURE * spread
    axes.fill_between(v, middle - reach, middle + reach, color=ACCENT, alpha=0.18, lw=0, zorder=3)
    axes.plot(v, middle, color=ACCENT, linewidth=1.6, zorder=4)
    return figure


def histogram_figure(residual: np.ndarray, unit: str) -> Any:
    """How often a residual is how large, beside the normal curve of the same spread."""
    figure, axes = _axes(f"residual, {unit}", "density")
    mean, spread = float(residual.mean()), float(residual.std())
    if spread < 1e-12 * (1.0 + abs(mean)):
        axes.axvline(mean, color=GREY)
        return figure
    low, high = np.percentile(residual, (0.1, 99.9))
    axes.hist(residual, bins=50, range=(low, high), density=True, color=PALE)
    x = np.linspace(low, high, 121)
    bell = np.exp(-0.5 * ((x - mean) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
    axes.plot(x, bell, color=ACCENT, linewidth=1.4)
    return figure


def whiteness_figure(rows: Rows, joint: int) -> Any:
    """Autocorrelation of the fitted rows' residual; white noise stays in the band."""
    figure, axes = _axes("lag, s", "autocorrelation")
    rho = autocorrelation(rows.residual[:, joint])
    lag = rows.step * np.arange(len(rho))
    limit = SURE / np.sqrt(len(rows.residual))
    axes.axhspan(-limit, limit, color=ACCENT, alpha=0.15, linewidth=0)
    axes.vlines(lag[1:], 0.0, rho[1:], colors=WARM, linewidth=1.4)
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    lowest = rho[1:].min() if len(rho) > 1 else 0.0
    axes.set_ylim(min(-0.3, float(lowest) - 0.05), 1.0)
    return figure


def spectrum_figure(log: Log, processing: Processing) -> Any:
    """Power of every joint's position over frequency, the motion's band and the cut-off."""
    from matplotlib.ticker import LogLocator

    figure, axes = _axes("frequency, Hz", "power of q, of its peak", (6.2, 2.8))
    f, power = spectrum(log)
    k = np.unique(np.geomspace(1, len(f), min(len(f), 400)).astype(int)) - 1
    shown = np.maximum(power[k], LOWEST)
    for i, column in enumerate(shown.T):
        axes.loglog(f[k], column, linewidth=1.0, color=f"C{i % 10}", label=f"joint {i + 1}")
    axes.axvline(band(log), color=GREY, linestyle="dashed", label="band of the motion")
    axes.axvline(processing.cutoff, color="black", linewidth=1.4, label="cut-off")
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.set_ylim(LOWEST, 3.0)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _axes(across: str, up: str, size: tuple[float, float] = SIZE) -> Any:
    from ..plots.figure import SOFT, Picture
    from ..plots.lines import style

    figure = Picture(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    style(axes)
    axes.set_xlabel(across, fontsize=8, color=SOFT)
    axes.set_ylabel(up, fontsize=8, color=SOFT)
    return figure, axes
