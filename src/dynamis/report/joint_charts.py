"""Charts of one joint in the report of an identification: torque, friction, residuals, modes."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..identify.deviations import NORMAL, autocorrelation
from ..identify.elastic.response import JointResponse
from ..identify.estimate import CONFIDENCE, Rows, friction_curve
from ..identify.friction.hysteresis import Reversals
from ..identify.motion import band, spectrum
from ..identify.processing import Processing
from ..logs.log import Log
from ..robot.resonances import Resonances
from .chart import ChartSeries, Panel, chart
from .page import few

if TYPE_CHECKING:
    from ..identify.estimate import Estimate, Validation

POINTS = 1200  # rows of one chart of torque
ALTOGETHER = 30_000  # rows of a page
DOTS = 600
LOWEST = 1e-10  # of a spectrum's peak: what is drawn of it
GREY, BLUE, ORANGE, GREEN, PALE, INK = 0, 1, 2, 3, 7, 6  # colours of the style sheet
TIME = "time, s"


class Torques:
    """Charts of measured and predicted torque, the residual below; long ones are decimated."""

    legend = (
        ChartSeries("measured", [], [], colour=GREY),
        ChartSeries("predicted", [], [], colour=BLUE),
        ChartSeries("residual", [], [], colour=ORANGE),
    )

    def __init__(self, units: list[str], total: int):
        self.units = units
        self.most = int(np.clip(ALTOGETHER // max(1, total), 100, POINTS))
        self.thinned = False

    def chart(self, validation: "Validation", joint: int, origin: float) -> str:
        """A joint's chart; time counts from `origin`."""
        tau, model = validation.measured[:, joint], validation.predicted[:, joint]
        rows = few(validation.t, (tau, tau - model), self.most)
        self.thinned |= len(rows) < len(tau)
        at, gap = [k or 0 for k in rows], np.array([k is None for k in rows])
        t, *values = (np.where(gap, np.nan, x[at]) for x in (validation.t, tau, model, tau - model))
        lines = [replace(s, x=t - origin, y=y) for s, y in zip(self.legend, values, strict=True)]
        unit = self.units[joint]
        return chart(
            validation.joint_names[joint], TIME,
            Panel(lines[:2], f"torque, {unit}", 10.0), Panel(lines[2:], f"residual, {unit}", 4.5),
        )  # fmt: skip


FRICTION = (
    ChartSeries("99 % band", [], [], "area", BLUE),
    ChartSeries("friction model", [], []),
    ChartSeries("measured minus rigid body", [], [], "dots", GREY),
    ChartSeries("the same, in the dead zone", [], [], "dots", PALE),
)


def friction_chart(
    estimate: "Estimate", rows: list[Rows], joint: int, name: str, units: tuple[str, str]
) -> str:
    """Friction torque over velocity: the curve with its 99 % band, and the measured values."""
    qd, tau, counted = (
        np.concatenate([getattr(r, name)[:, joint] for r in rows])
        for name in ("qd", "friction", "counted")
    )
    v, middle, deviation = friction_curve(estimate, joint, float(np.abs(qd).max()) or 1.0)
    reach = NORMAL[CONFIDENCE] * deviation
    band, line, fast, slow = FRICTION
    dots = []
    for look, chosen in ((slow, ~counted), (fast, counted)):
        k = np.flatnonzero(chosen)
        k = k[:: max(1, -(-len(k) // DOTS))]
        dots.append(replace(look, x=qd[k], y=tau[k]))
    drawn = [*dots, replace(band, x=v, y=middle + reach, low=middle - reach),
             replace(line, x=v, y=middle)]  # fmt: skip
    return chart(name, units[0], Panel(drawn, units[1], 10.0))


DENSITY = (ChartSeries("residual", [], [], "bars", PALE), ChartSeries("normal density", [], []))


def histogram_chart(residual: np.ndarray, name: str, unit: str) -> str:
    """Histogram of a residual, and the normal density of the same standard deviation."""
    mean, size = float(residual.mean()), float(residual.std())
    heights, bell = DENSITY
    if size < 1e-12 * (1.0 + abs(mean)):
        drawn = [replace(bell, name="every row", x=[mean, mean], y=[0.0, 1.0])]
    else:
        low, high = np.percentile(residual, (0.1, 99.9))
        share, edges = np.histogram(residual, bins=50, range=(low, high), density=True)
        x = np.linspace(low, high, 121)
        y = np.exp(-0.5 * ((x - mean) / size) ** 2) / (size * np.sqrt(2.0 * np.pi))
        drawn = [replace(heights, x=edges, y=share), replace(bell, x=x, y=y)]
    return chart(name, f"residual, {unit}", Panel(drawn, f"density, 1/({unit})"))


WHITENESS = (
    ChartSeries("99 % of white noise", [], [], "area", BLUE),
    ChartSeries("autocorrelation", [], [], "stems", ORANGE),
)


def whiteness_chart(rows: Rows, joint: int, name: str) -> str:
    """Autocorrelation of the fitted rows' residual; white noise stays in the band."""
    rho = autocorrelation(rows.residual[:, joint])
    lag = rows.step * np.arange(len(rho))
    limit = NORMAL[CONFIDENCE] / np.sqrt(len(rows.residual))
    band, stems = WHITENESS
    ends = lag[[0, -1]]
    drawn = [replace(band, x=ends, y=[limit, limit], low=[-limit, -limit]),
             replace(stems, x=lag[1:], y=rho[1:])]  # fmt: skip
    lowest = float(rho[1:].min()) if len(rho) > 1 else 0.0
    return chart(
        name, "lag, s", Panel(drawn, "autocorrelation", range=(min(-0.3, lowest - 0.05), 1.0))
    )


def spectrum_chart(log: Log, processing: Processing) -> tuple[str, list[ChartSeries]]:
    """Power of every joint's position over frequency, the motion's band and the cut-off."""
    f, power = spectrum(log)
    k = np.unique(np.geomspace(1, len(f), min(len(f), 400)).astype(int)) - 1
    k = k[f[k] > 0.0]
    drawn = [
        ChartSeries(f"joint {i + 1}", f[k], np.maximum(column, LOWEST), colour=i % PALE)
        for i, column in enumerate(power[k].T)
    ]
    ends = [LOWEST, 3.0]
    motion, cutoff = band(log), float(processing.cutoff or 0.0)
    drawn.append(ChartSeries("band of the motion", [motion, motion], ends, "dashed", GREY))
    drawn.append(ChartSeries("cut-off", [cutoff, cutoff], ends, "dashed", ORANGE))
    panel = Panel(drawn, "power of q, of its peak", 14.0, (LOWEST, 3.0), log=True)
    return chart("", "frequency, Hz", panel, log=True), drawn


LOOP = (
    ChartSeries("measured", [], [], "dots", INK),
    ChartSeries("model with memory", [], []),
    ChartSeries("a static law, fitted to the same", [], [], "dashed", ORANGE),
)


def loop_chart(found: Reversals, units: tuple[str, str]) -> str:
    """Mean loop of dry friction about the turns of a joint."""
    at, friction = found.loop()
    scale, unit = shortened(found.reach, units[0])
    looks = reversed([*zip(LOOP, ("measured", "memory", "static"), strict=True)])
    drawn = [replace(look, x=scale * at, y=friction[name]) for look, name in looks]
    across = f"position from the turn, {unit}"
    return chart(found.name, across, Panel(drawn, f"dry friction, {units[1]}", 10.0))


LEFT = (
    ChartSeries("with the static law", [], [], "dashed", ORANGE),
    ChartSeries("with memory", [], []),
    ChartSeries("radii of the elements", [], [], "dashed", GREY),
)


def turn_residual_chart(found: Reversals, units: tuple[str, str]) -> str:
    """Mean residual along the motion over the way since the last turn."""
    way, *means = found.residuals()
    values = np.concatenate([*means, [0.0]])
    low, high = np.nanmin(values), np.nanmax(values)
    pad = 0.06 * max(high - low, 1e-12)
    drawn = [replace(look, x=way, y=y) for look, y in zip(LEFT, means, strict=False)]
    drawn += [replace(LEFT[2], x=[r, r], y=[low - pad, high + pad]) for r in found.radii]
    panel = Panel(drawn, f"mean residual, {units[1]}", 8.0, (low - pad, high + pad))
    return chart(found.name, f"way since the turn, {units[0]}", panel, log=True)


def shortened(reach: float, unit: str) -> tuple[float, str]:
    """A factor and its unit in which a small way is a round number: mrad, mm."""
    return (1e3, f"m{unit}") if reach < 0.5 else (1.0, unit)


RESPONSE = (
    ChartSeries("measured", [], [], "dots", INK),
    ChartSeries("fitted model", [], []),
    ChartSeries("modes, rotors free", [], [], "dashed", ORANGE),
    ChartSeries("modes, rotors locked", [], [], "dashed", GREEN),
    ChartSeries("coherence", [], [], "line", GREY),
)


def response_chart(found: JointResponse, modes: Resonances, output: str, unit: str) -> str:
    """Size of a response over frequency with the modes of the model; coherence below."""
    f, seen = found.f, found.seen(output)
    dots, line, free, locked, coherence = RESPONSE
    size = np.abs(found.model[output])
    measured = np.where(seen, np.abs(found.measured[output]), np.nan)
    every = np.concatenate([size, measured[seen]])
    low, high = 0.7 * float(every.min()), 1.4 * float(every.max())
    drawn = []
    for look, lines in ((free, modes.free), (locked, modes.locked)):
        inside = [x for x in lines if f[0] <= x <= f[-1]]
        drawn += [replace(look, x=[x, x], y=[low, high]) for x in inside]
    drawn += [replace(line, x=f, y=size), replace(dots, x=f, y=measured)]
    below = replace(coherence, x=f, y=found.coherence[output])
    return chart(
        f"{found.name}: {output}", "frequency, Hz",
        Panel(drawn, f"{output} per torque, {unit}", 11.0, (low, high), log=True),
        Panel([below], "coherence", 4.0, (0.0, 1.05)),
        log=True,
    )  # fmt: skip
