"""The HTML report of an identification (`estimate.report`)."""

import html
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError
from ..files import PAGES, checked_path
from ..identify.deviations import autocorrelation
from ..identify.elastic.response import OUTPUTS, frequency_response
from ..identify.estimate import fitted_rows, headline
from ..identify.feasible import links_of
from ..identify.friction.hysteresis import dry_friction, presliding_said, reversals
from ..identify.search.choice import CHOICES
from ..identify.verdict.error_split import HEAD as SPLIT_HEAD
from ..identify.verdict.error_split import percent
from ..model.schema import UNITS
from .chart import ChartSeries
from .joint_charts import (
    DENSITY,
    FRICTION,
    LEFT,
    LOOP,
    RESPONSE,
    WHITENESS,
    Torques,
    friction_chart,
    histogram_chart,
    loop_chart,
    response_chart,
    spectrum_chart,
    turn_residual_chart,
    whiteness_chart,
)
from .page import Page

if TYPE_CHECKING:
    from ..identify.estimate import Estimate, Validation

MARKS = {"good": "good", "doubtful": "doubt", "not seen": "unseen", "not usable": "bad"}
ADDED = "the squares of the parts add up to that of the error."
LIGHT = 1e-6  # kg, below which a link has no centre of mass


def write(estimate: "Estimate", path: str | Path, validations: "Iterable[Validation]" = ()) -> Path:
    """Write the page whole or not at all; `validations` are further motions, shown first."""
    target = checked_path(path, PAGES, "report")
    return identification(estimate, tuple(validations)).save(target)


def identification(estimate: "Estimate", validations: "Sequence[Validation]" = ()) -> Page:
    """All sections in order."""
    sections = _Sections(estimate, validations)
    page = sections.page
    for finding in estimate.robot.model.findings:
        said = html.escape(f"{finding.level}: {finding.place}: {finding.what}.")
        page.parts.append(f'<p class="bad">{said}</p><p>{html.escape(finding.remedy)}.</p>')
    sections.verdict()
    sections.accuracies()
    sections.findings()
    sections.torques()
    sections.residuals()
    sections.friction()
    sections.memory()
    sections.drive_trains()
    sections.parameters()
    sections.consistency()
    sections.excitation()
    sections.processing()
    page.script("sort.js")
    return page


class _Sections:
    """The page of an estimate, section by section."""

    def __init__(self, estimate: "Estimate", validations: "Sequence[Validation]"):
        robot = estimate.unknowns.robot
        self.estimate, self.validations = estimate, validations
        self.names, self.rows = robot.drive_names, fitted_rows(estimate)
        kinds = [robot.joint_kinds[k] for k in estimate.unknowns.logged]
        self.units = [UNITS[kind]["torque"] for kind in kinds]
        self.moves = [UNITS[kind]["position"] for kind in kinds]
        self.cutoff = float(estimate.processing[0].cutoff or 0.0)
        logs = ", ".join(log.name or "a log" for log in estimate.logs)
        logs += f" ({sum(len(log) for log in estimate.logs)} rows)"
        self.page = Page(
            f"Identification of {robot.name}",
            f"{len(estimate.names)} unknowns from {logs}: {estimate.friction} friction, "
            f"{estimate.estimator} estimator, {estimate.method} method.",
        )

    def verdict(self) -> None:
        """How far to trust it, all and joint by joint."""
        page, checks = self.page, self.validations
        split = self.estimate.comparison(checks).split
        page.section("Verdict")
        page.text(f"Torque error: {headline(self.estimate.held_out, checks)}.", "first")
        page.text(f"It is made of {split.said}; {ADDED}")
        if said := presliding_said(self.estimate):
            page.text(said)
        cells = self.estimate.judged(checks).cells()
        rows = [(a, (b, MARKS[b]), c, d) for a, b, c, d in cells]
        page.table(("joint", "verdict", "reason", "what to do"), rows)

    def accuracies(self) -> None:
        """Held out, other motions, and only then the residual of the fit itself."""
        estimate, page = self.estimate, self.page
        page.section(
            "Held out",
            f"{self._held_out()} As logged means every row, nothing filtered; {ADDED} Noise is "
            f"what the torque has above the cut-off of the fit, {self.cutoff:.3g} Hz, while a "
            "joint moves, and as much below it as white noise has. At rest friction takes any "
            "value up to the break-away torque.",
        )
        if estimate.held_out is not None:
            self._accuracy(estimate.held_out)
        for other in self.validations:
            page.section(
                f"Validation: {other.name or 'another log'}",
                f"A log given for validation, {len(other.t)} rows: {other.kind}.",
            )
            self._accuracy(other)
        page.section(
            "Residual on the training log",
            "Errors on the rows that were fitted: smaller than on other motions, so no validation "
            "of the model.",
        )
        for fit in estimate.training:
            if len(estimate.training) > 1:
                page.caption(fit.name or "log")
            self._accuracy(fit)

    def _held_out(self) -> str:
        found = self.estimate.held_out
        if found is None:
            return "No data were held out, so these logs give no validation."
        rows, name = len(found.t), found.name or "the last log"
        said = (
            f"Fitted on the first two thirds of {name}, compared on its last third ({rows} rows)."
        )
        if len(self.estimate.logs) > 1:
            said = f"Fitted on the other logs, compared on {name} ({rows} rows)."
        also = " The friction model was also chosen without these rows."
        said += also if self.estimate.scores else ""
        if found.is_repeat:
            said += f" They are {found.kind}: validate on a motion of another kind."
        return said

    def _accuracy(self, fit: "Validation") -> None:
        """Relative error of all joints, then of each, in its parts."""
        split = self.estimate.split(fit)
        self.page.parts.append(
            f'<p class="first">Relative error of all joints: <b>{percent(split.error)}</b> as '
            'logged.</p><div class="total">'
        )
        sizes = [*(f"{x:.4g} {unit}" for x, unit in zip(fit.rms, self.units, strict=True)), ""]
        cells = zip(split.cells(), sizes, [*map(percent, fit.nrms), ""], strict=True)
        rows = [(name, rms, *shares, nrms) for (name, *shares), rms, nrms in cells]
        head = ("joint", "RMS", *SPLIT_HEAD[1:], "RMS next to the range of the torque")
        self.page.table(head, rows)
        self.page.parts.append("</div>")

    def findings(self) -> None:
        found = self.estimate.findings
        self.page.section("Findings", "" if found else "None.")
        if found:
            marks = {"error": "bad", "warning": "doubt"}
            rows = [((f.level, marks.get(f.level, "")), f.place, f.what, f.remedy) for f in found]
            self.page.table(("level", "where", "what", "what to do"), rows)

    def torques(self) -> None:
        """A chart per joint of every comparison, validations first."""
        estimate, page = self.estimate, self.page
        shown: list[tuple[str, Validation, float]] = []
        if estimate.held_out is not None:
            single = len(estimate.logs) == 1
            start = estimate.logs[0].t[0] if single else estimate.held_out.t[0]
            shown.append(("held out", estimate.held_out, float(start)))
        shown += [("validation", other, float(other.t[0])) for other in self.validations]
        logs = zip(estimate.training, estimate.logs, strict=True)
        shown += [("training", fit, float(log.t[0])) for fit, log in logs]
        torques = Torques(self.units, len(shown) * len(self.units))
        drawn = [
            [torques.chart(fit, joint, origin) for joint in range(len(self.units))]
            for _, fit, origin in shown
        ]
        thinned = (
            " Long series are decimated for plotting (peaks are kept); all figures use all rows."
        )
        page.section(
            "Measured and predicted torque",
            "The residual is below each pair of curves. Point at a chart to read its values; drag "
            "to zoom, double-click to zoom out." + (thinned if torques.thinned else ""),
        )
        for (label, fit, _), charts in zip(shown, drawn, strict=True):
            page.caption(f"{fit.name or 'log'}, {label}")
            page.grid(charts, Torques.legend, "pairs")

    def residuals(self) -> None:
        estimate, page = self.estimate, self.page
        longest = max(self.rows, key=lambda r: len(r.residual))
        page.section(
            "Residuals of the fit",
            "The autocorrelation of white noise stays within the band (99 %). Where it does not, "
            "the residual contains unmodelled effects and the rows are not independent: the "
            "standard deviations below account for that. Fitted rows are filtered and decimated.",
        )
        head = ("joint", "standard deviation", "mean", "correlation of neighbours",
                "rows per independent row")  # fmt: skip
        columns = zip(self.names, longest.residual.T, estimate.correlation, strict=True)
        page.table(head, [
            (name, f"{r.std():.5g}", f"{r.mean():.5g}", f"{autocorrelation(r)[1]:.2f}", f"{k:.1f}")
            for name, r, k in columns
        ])  # fmt: skip
        page.caption("Autocorrelation, fitted rows")
        self._grid(lambda i, name: whiteness_chart(longest, i, name), WHITENESS)
        page.caption("Distribution, training log as logged")
        fit = max(estimate.training, key=lambda v: len(v.t))
        self._grid(
            lambda i, name: histogram_chart(fit.residual[:, i], name, self.units[i]), DENSITY
        )

    def friction(self) -> None:
        estimate, moves, units = self.estimate, self.moves, self.units
        load = (
            " Load-dependent friction is subtracted." if "load" in estimate.unknowns.kinds else ""
        )
        self.page.section(
            "Friction",
            "Friction torque over velocity, with its 99 % band, and the measured torque minus the "
            "rigid-body torque (fitted rows, decimated; pale if slower than the dead zone)." + load,
        )
        if estimate.scores:
            scores = [(name, percent(score)) for name, score in estimate.scores]
            self.page.table(("friction model", "cross-validation error"), scores)
        axes = [(f"velocity, {v}/s", f"torque, {u}") for v, u in zip(moves, units, strict=True)]
        self._grid(lambda i, name: friction_chart(estimate, self.rows, i, name, axes[i]), FRICTION)

    def memory(self) -> None:
        """Loops about the turns of every joint, and residuals over the way since the last turn."""
        estimate, page = self.estimate, self.page
        if not len(estimate.unknowns.elements.radii):
            return
        found = reversals(estimate)
        page.section(
            "Friction about reversals",
            "Dry friction (Coulomb and memory): the torque less everything else of the model, the "
            "mean over all turns of the training logs, each as that of a joint that came moving "
            "positive (upper branch) and goes back (lower branch). Filtered as the fit was. The "
            "static law has no memory and was fitted to the same rows.",
        )
        memory, dry = dry_friction(estimate)
        columns = zip(found, self.units, estimate.presliding, memory, dry, strict=True)
        rows = []
        for one, unit, share, with_memory, both in columns:
            static, left = one.errors()
            torques = f"{with_memory:.3g} of {both:.3g} {unit}"
            sizes = [f"{x:.3g} {unit}" for x in (static, left)]
            rows.append((one.name, str(one.turns), torques, percent(float(share)), *sizes))
        head = ("joint", "turns", "presliding of dry friction", "share",
                "RMS behind turns, static law", "with memory")  # fmt: skip
        page.table(head, rows)
        axes = list(zip(self.moves, self.units, strict=True))
        seen = [(one, units) for one, units in zip(found, axes, strict=True) if one.turns]
        if not seen:
            page.text("No joint turns back on a way as long as that of its elements.")
            return
        page.caption("Loops")
        page.grid([loop_chart(*pair) for pair in seen], LOOP)
        page.caption("Mean residual along the motion over the way since the last turn")
        page.grid([turn_residual_chart(*pair) for pair in seen], LEFT)

    def drive_trains(self) -> None:
        """Elastic joints: constants, and frequency responses beside those of the model."""
        estimate, page = self.estimate, self.page
        elastic = estimate.elastic
        if elastic is None or not elastic.joints:
            return
        page.section(
            "Elastic joints",
            "Constants in units of the joints, with half widths of 95 % intervals. Responses to "
            "the torque of the own motor: measured by averaged spectra (Welch, H1, less what the "
            "torques of other joints do by the model) where the coherence is 0.7 and more, beside "
            "the fitted model about the middle of the log.",
        )
        head = ("joint", *(x.replace("_", " ") for x in elastic.columns))
        page.table(head, elastic.table())
        if elastic.deflections is not None:
            page.text(elastic.deflections.sensor_said.capitalize() + ".")
        if elastic.motor_side is not None:
            page.text("Logs of motors alone measure no deflections: theirs are those of the model.")
        try:
            found = frequency_response(estimate)
        except OptionError as error:
            page.text(f"No frequency responses: {error.message}.")
            return
        kinds = dict(zip(self.names, zip(self.moves, self.units, strict=True), strict=True))
        charts = []
        for joint in found.joints:
            move, torque = kinds[joint.name]
            units = (f"{move}/s per {torque}", f"{move} per {torque}")
            charts += [
                response_chart(joint, found.modes, output, unit)
                for output, unit in zip(OUTPUTS, units, strict=True)
            ]
        page.grid(charts, RESPONSE, "pairs")

    def parameters(self) -> None:
        estimate, page = self.estimate, self.page
        free = (
            " The standard deviations are those of the fit without the constraint of physical "
            "consistency." if estimate.estimator.endswith("feasible") else ""
        )  # fmt: skip
        page.section(
            "Parameters",
            "Base parameters with their groupings, then friction; SI units. A click on a "
            f"heading sorts. What makes the intervals: {estimate.interval_source}.{free}",
        )
        rows = []
        columns = estimate.table(), estimate.relative_standard_deviations, estimate.intervals()
        for (*first, share), relative, interval in zip(*columns, strict=True):
            said = (share if relative < 100 else "over 10000 %", "bad" if relative > 1.0 else "")
            rows.append((*first, *(f"{x:.4g}" for x in interval), said))
        page.parts.append('<div class="sortable">')
        page.table(("unknown", "value", "std. dev.", "99 % from", "to", "relative"), rows)
        page.parts.append("</div>")
        unidentified = "Parameters that this arm or this motion does not identify, and why."
        page.section("Not identifiable", unidentified)
        reasons: dict[str, list[str]] = {}
        for name, why in estimate.not_identifiable.items():
            reasons.setdefault(why, []).append(name)
        said = [(", ".join(names), why) for why, names in reasons.items()]
        page.table(("what", "why"), said or [("none", "")])

    def consistency(self) -> None:
        estimate = self.estimate
        good = estimate.links_physical
        friction = "friction is dissipative" if estimate.friction_physical else (
            "some friction coefficient or rotor inertia is negative"
        )  # fmt: skip
        self.page.section(
            "Physical consistency",
            f"The model {'is' if estimate.is_physical else 'is NOT'} physically consistent: "
            f"{sum(good)} of {len(good)} links have a positive definite pseudo-inertia, "
            f"{friction}. Only the base parameters are identified; how they are distributed among "
            "the links is a choice.",
        )
        ten = links_of(estimate.full, len(good))
        names = [name.removesuffix(".m") for name in estimate.unknowns.full_names[: ten.size : 10]]
        rows = []
        for name, p, fine in zip(names, ten, good, strict=True):
            centre = ", ".join(f"{x:.3g}" for x in p[1:4] / p[0]) if p[0] > LIGHT else ""
            inertia = ", ".join(f"{x:.3g}" for x in p[4:])
            said = ("yes", "good") if fine else ("no", "bad")
            rows.append((name, f"{p[0]:.4g}", centre, inertia, said))
        inertia = "Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin, kg m²"
        head = ("link", "mass, kg", "centre of mass, m", inertia, "physically consistent")
        self.page.table(head, rows)

    def excitation(self) -> None:
        logs = self.estimate.logs
        self.page.section(
            "Excitation",
            f"Condition number of the scaled regressor: {self.estimate.condition_number:.4g}. "
            "Ranges over all training logs; velocities as fitted.",
        )
        q, tau = (np.concatenate([getattr(log, x) for log in logs]) for x in ("q", "tau"))
        qd, counted = (
            np.concatenate([getattr(r, x) for r in self.rows]) for x in ("qd", "counted")
        )
        head = ("joint", "q from", "to", "qd from", "to", "torque from", "to",
                "faster than the dead zone")  # fmt: skip
        ends = [np.stack([x.min(axis=0), x.max(axis=0)]) for x in (q, qd, tau)]
        self.page.table(head, [
            (f"{name}, {self.moves[i]}", *(f"{x:.5g}" for x in np.concatenate(ends)[:, i]),
             percent(float(counted[:, i].mean())))
            for i, name in enumerate(self.names)
        ])  # fmt: skip

    def processing(self) -> None:
        estimate, page = self.estimate, self.page
        order = estimate.processing[0].order
        chosen = any(x.what == "cut-off" for x in estimate.choices)
        rule = "gives the least error" if chosen else "is a multiple of the band of the motion"
        cut = "was given" if estimate.asked.cutoff else rule
        page.section(
            "Processing",
            f"A uniform grid, then one zero-phase filter (Butterworth of order {order}, forward "
            "and backward) for both sides of the equation, then every k-th row: "
            f"{sum(len(r.qd) for r in self.rows)} rows were fitted. The cut-off {cut}.",
        )
        head = ("log", "rows", "seconds", "grid", "cut-off", "velocities",
                "dead zone, rad/s or m/s", "kept")  # fmt: skip
        source = {"log": "as logged", "difference": "differences of q"}
        pairs = list(zip(estimate.logs, estimate.processing, strict=True))
        page.table(head, [
            (log.name or "log", len(log), f"{log.duration:.4g}", f"{p.rate:.5g} Hz",
             f"{p.cutoff:.4g} Hz", source[str(p.velocity)], f"{p.dead_zone:.3g}",
             f"every {p.every}")
            for log, p in pairs
        ])  # fmt: skip
        if estimate.choices:
            page.caption("Chosen by the error on blocks of time left out in turn")
            page.table(CHOICES, [x.cells() for x in estimate.choices])
        for log, how in pairs:
            page.caption(f"Spectrum of {log.name or 'log'}")
            page.chart(*spectrum_chart(log, how))

    def _grid(self, drawn: Callable[[int, str], str], series: Sequence[ChartSeries]) -> None:
        self.page.grid([drawn(i, name) for i, name in enumerate(self.names)], series)
