"""The HTML report of an identification (`estimate.report`)."""

import html
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import templates
from ..files import checked_path
from ..identify.processing import Processing, band
from ..logs.log import Log
from . import identification_tables as tables
from .identification_tables import Rows, autocorrelation, few, fitted_rows, friction_curve, spectrum
from .page import Page, with_plotly

if TYPE_CHECKING:
    from ..identify.estimate import Estimate, Validation

# plotly charts of measured and predicted torque over time

POINTS = 2000  # rows of one chart
ALTOGETHER = 50_000  # rows of a page
DIGITS = 5

LEGEND = (
    '<p class="legend"><b style="color:#8a96a3">measured</b> '
    '<b style="color:#1f5fa8">predicted</b> <b style="color:#c9601a">residual</b></p>'
)


class Charts:
    """Charts of one page: their places, and their numbers once at its end."""

    def __init__(self, units: list[str], total: int):
        self.units = units
        self.most = int(np.clip(ALTOGETHER // max(1, total), 100, POINTS))
        self.numbers: list[dict[str, Any]] = []
        self.thinned = False

    def place(self, validation: "Validation", joint: int, origin: float) -> str:
        """Where a joint's chart goes; time counts from `origin`."""
        tau, model = validation.measured[:, joint], validation.predicted[:, joint]
        kept = few(validation.t, (tau, tau - model), self.most)
        self.thinned |= len(kept) < len(tau)
        self.numbers.append({
            "unit": self.units[joint],
            "t": [None if k is None else round(float(validation.t[k] - origin), 5) for k in kept],
            "measured": _short(tau, kept),
            "predicted": _short(model, kept),
        })  # fmt: skip
        return f'<div class="chart" data-chart="{len(self.numbers) - 1}"></div>'

    def html(self) -> str:
        """Plotly, the numbers and what draws them."""
        return with_plotly("charts", self.numbers, templates.text(__package__, "identification.js"))


def _short(values: np.ndarray, kept: list[int | None]) -> list[float | None]:
    return [None if k is None else float(f"{values[k]:.{DIGITS}g}") for k in kept]


# matplotlib figures, one joint each: friction, residuals, spectra

SIZE = (3.7, 2.5)
DOTS = 600
ACCENT, WARM, GREY, PALE = "#1f5fa8", "#c9601a", "#8a96a3", "#c9cfd6"
SURE = 2.576  # standard deviations on either side of 99 %
LOWEST = 1e-10  # of a spectrum's peak: what is drawn of it


def friction_figure(estimate: "Estimate", rows: list[Rows], joint: int, units: Any) -> Any:
    """Friction torque over velocity: the curve with its 99 % band, and the measured values."""
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
    """Histogram of a residual, and the normal density of the same standard deviation."""
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


TORQUE = {"revolute": "N m", "prismatic": "N"}
MOTION = {"revolute": "rad", "prismatic": "m"}


def write(estimate: "Estimate", path: str | Path, validations: "Iterable[Validation]" = ()) -> Path:
    """Write the page whole or not at all; `validations` are further motions, shown first."""
    target = checked_path(path, (".html", ".htm"), "report")
    page = identification(estimate, tuple(validations))
    page.save(target)
    return target


def identification(estimate: "Estimate", validations: "Sequence[Validation]" = ()) -> Page:
    """All sections in order."""
    import matplotlib as mpl

    robot = estimate.unknowns.robot
    kinds = robot.joint_kinds
    units = [TORQUE.get(kind, "N m") for kind in kinds]
    moves = [MOTION.get(kind, "rad") for kind in kinds]
    lead = (
        f"{len(estimate.names)} unknowns from {_logs(estimate)}: {estimate.friction} friction, "
        f"{estimate.estimator} estimator, {estimate.method} method."
    )
    page = Page(f"Identification of {robot.name}", lead)
    style = templates.text(__package__, "identification.css")
    page.parts.insert(0, f"<style>\n{style}</style>")
    for finding in estimate.robot.model.findings:
        said = html.escape(f"{finding.level}: {finding.where}: {finding.what}.")
        page.parts.append(f'<p class="bad">{said}</p><p>{html.escape(finding.remedy)}.</p>')
    _figures_first(page, estimate, validations, units)
    _findings(page, estimate)
    rows = fitted_rows(estimate)
    with mpl.rc_context({"svg.fonttype": "none"}):
        charts = _torques(page, estimate, validations, units)
        _residuals(page, estimate, rows, units)
        _friction(page, estimate, rows, moves, units)
        _parameters(page, estimate)
        _processing(page, estimate, rows, moves)
    sort = templates.text(__package__, "sort.js")
    page.parts += [charts.html(), f"<script>\n{sort}</script>"]
    return page


def _figures_first(
    page: Page, estimate: "Estimate", validations: "Sequence[Validation]", units: Sequence[str]
) -> None:
    """Held out, other motions, and only then the residual of the fit itself."""
    cutoff = float(estimate.processing[0].cutoff or 0.0)
    page.section(
        "Held out",
        f"{_held_out(estimate)} As logged means every row, nothing filtered. Low-passing both "
        f"torques at the cut-off of the fit, {cutoff:.3g} Hz, gives smaller errors: it removes the "
        "noise and what no rigid-body model explains.",
    )
    if estimate.held_out is not None:
        _accuracy(page, estimate.held_out, cutoff, units)
    for other in validations:
        page.section(
            f"Validation: {other.name or 'another log'}",
            f"A log given for validation, {len(other.t)} rows.",
        )
        _accuracy(page, other, cutoff, units)
    page.section(
        "Residual on the training log",
        "Errors on the rows that were fitted: smaller than on other motions, so no validation "
        "of the model.",
    )
    for fit in estimate.training:
        if len(estimate.training) > 1:
            page.parts.append(f"<h3>{html.escape(fit.name or 'log')}</h3>")
        _accuracy(page, fit, cutoff, units)


def _held_out(estimate: "Estimate") -> str:
    found = estimate.held_out
    if found is None:
        return "No data were held out, so these logs give no validation."
    rows, name = len(found.t), found.name or "the last log"
    if len(estimate.logs) > 1:
        said = f"Fitted on the other logs, compared on {name} ({rows} rows)."
    else:
        said = (
            f"Fitted on the first two thirds of {name}, compared on its last third ({rows} rows)."
        )
    if estimate.scores:
        said += " The friction model was also chosen without these rows."
    return said


def _findings(page: Page, estimate: "Estimate") -> None:
    page.section("Findings", "" if estimate.findings else "None.")
    if estimate.findings:
        rows = [
            ((f.level, "bad" if f.level == "error" else ""), f.where, f.what, f.remedy)
            for f in estimate.findings
        ]
        page.table(("level", "where", "what", "what to do"), rows)


def _torques(
    page: Page, estimate: "Estimate", validations: "Sequence[Validation]", units: Sequence[str]
) -> Charts:
    """A chart per joint of every comparison, validations first."""
    single = len(estimate.logs) == 1
    shown: list[tuple[str, Validation, float]] = []
    if estimate.held_out is not None:
        start = estimate.logs[0].t[0] if single else estimate.held_out.t[0]
        shown.append(("held out", estimate.held_out, float(start)))
    shown += [("validation", other, float(other.t[0])) for other in validations]
    logs = zip(estimate.training, estimate.logs, strict=True)
    shown += [("training", fit, float(log.t[0])) for fit, log in logs]
    charts = Charts(list(units), len(shown) * len(units))
    places = [
        (label, fit, [charts.place(fit, joint, origin) for joint in range(len(units))])
        for label, fit, origin in shown
    ]
    few = " Long series are decimated for plotting (peaks are kept); all figures use all rows."
    page.section(
        "Measured and predicted torque",
        "The residual is below each pair of curves. Drag to zoom, double-click to zoom out."
        + (few if charts.thinned else ""),
    )
    page.parts.append("<noscript><p>The charts need JavaScript.</p></noscript>")
    for label, fit, found in places:
        page.parts.append(f"<h3>{html.escape(fit.name or 'log')}, {label}</h3>{LEGEND}")
        for name, place in zip(fit.joint_names, found, strict=True):
            page.parts.append(f"<h4>{html.escape(name)}</h4>{place}")
    return charts


def _residuals(page: Page, estimate: "Estimate", rows: list[Rows], units: Sequence[str]) -> None:
    names = estimate.unknowns.robot.joint_names
    longest = max(rows, key=lambda r: len(r.residual))
    page.section(
        "Residuals of the fit",
        "The autocorrelation of white noise stays within the band (99 %). Where it does not, "
        "the residual contains unmodelled effects and the rows are not independent: the standard "
        "deviations below account for that. Fitted rows are filtered and decimated.",
    )
    page.table(*tables.whiteness(estimate, rows))
    page.parts.append("<h3>Autocorrelation, fitted rows</h3>")
    _grid(page, names, lambda i: whiteness_figure(longest, i))
    page.parts.append("<h3>Distribution, training log as logged</h3>")
    fit = max(estimate.training, key=lambda v: len(v.t))
    _grid(page, names, lambda i: histogram_figure(fit.residual[:, i], units[i]))


def _friction(
    page: Page, estimate: "Estimate", rows: list[Rows], moves: Sequence[str], units: Sequence[str]
) -> None:
    load = " Load-dependent friction is subtracted." if _has(estimate, "load") else ""
    page.section(
        "Friction",
        "Friction torque over velocity, with its 99 % band, and the measured torque minus the "
        "rigid-body torque (fitted rows, decimated; pale if slower than the dead zone)." + load,
    )
    if estimate.scores:
        page.table(
            ("friction model", "cross-validation error"),
            [(name, tables.percent(score)) for name, score in estimate.scores],
        )
    _grid(
        page,
        estimate.unknowns.robot.joint_names,
        lambda i: friction_figure(
            estimate, rows, i, (f"velocity, {moves[i]}/s", f"torque, {units[i]}")
        ),
    )


def _parameters(page: Page, estimate: "Estimate") -> None:
    free = (
        " The standard deviations are those of the fit without the constraint of physical "
        "consistency." if estimate.estimator == "feasible" else ""
    )  # fmt: skip
    page.section(
        "Parameters",
        "Base parameters with their groupings, then friction; SI units. A click on a "
        f"heading sorts.{free}",
    )
    page.parts.append('<div class="sortable">')
    page.table(*tables.parameters(estimate))
    page.parts.append("</div>")
    page.section(
        "Not identifiable", "Parameters that this arm or this motion does not identify, and why."
    )
    head, rows = tables.unknown(estimate)
    page.table(head, rows or [("none", "")])
    verdict = "is" if estimate.is_physical else "is NOT"
    friction = "friction is dissipative" if estimate.friction_physical else (
        "some friction coefficient or rotor inertia is negative"
    )  # fmt: skip
    page.section(
        "Physical consistency",
        f"The model {verdict} physically consistent: {sum(estimate.links_physical)} of "
        f"{len(estimate.links_physical)} links have a positive definite pseudo-inertia, "
        f"{friction}. Only the base parameters are identified; how they are distributed among the "
        "links is a choice.",
    )
    page.table(*tables.links(estimate))


def _processing(page: Page, estimate: "Estimate", rows: list[Rows], moves: Sequence[str]) -> None:
    page.section(
        "Excitation",
        f"Condition number of the scaled regressor: {estimate.condition_number:.4g}. Ranges over "
        "all training logs; velocities as fitted.",
    )
    page.table(*tables.excitation(estimate, rows, moves))
    page.section(
        "Processing",
        "A uniform grid, then one zero-phase filter (Butterworth of order "
        f"{estimate.processing[0].order}, forward and backward) for both sides of the equation, "
        f"then every k-th row: {sum(len(r.qd) for r in rows)} rows were fitted. The cut-off "
        f"{'was given' if estimate.asked.cutoff else 'is a multiple of the band of the motion'}.",
    )
    page.table(*tables.processing(estimate))
    for log, how in zip(estimate.logs, estimate.processing, strict=True):
        page.parts.append(f"<h3>Spectrum of {html.escape(log.name or 'log')}</h3>")
        page.figure(spectrum_figure(log, how))


def _grid(page: Page, names: Sequence[str], figure: Callable[[int], Any]) -> None:
    """A picture per joint under its name."""
    page.parts.append('<div class="grid">')
    for i, name in enumerate(names):
        page.parts.append(f"<figure><figcaption>{html.escape(name)}</figcaption>")
        page.figure(figure(i))
        page.parts.append("</figure>")
    page.parts.append("</div>")


def _accuracy(page: Page, fit: "Validation", cutoff: float, units: Sequence[str]) -> None:
    """Relative error of all joints, then the table; as logged and low-passed."""
    head, rows = tables.accuracy(fit, cutoff, units)
    page.parts.append(
        f'<p class="first">Relative error of all joints: <b>{rows[-1][2]}</b> as logged, '
        f'{rows[-1][-1]} low-passed at {cutoff:.3g} Hz.</p><div class="total">'
    )
    page.table(head, rows)
    page.parts.append("</div>")


def _has(estimate: "Estimate", kind: str) -> bool:
    return kind in estimate.unknowns.kinds


def _logs(estimate: "Estimate") -> str:
    rows = sum(len(log) for log in estimate.logs)
    names = ", ".join(log.name or "a log" for log in estimate.logs)
    return f"{names} ({rows} rows)"
