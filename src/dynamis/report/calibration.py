"""The HTML report of a calibration (`calibration.report`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files import PAGES, checked_path
from .chart import ChartSeries, Panel, chart
from .page import Page

if TYPE_CHECKING:
    from ..calibration.accuracy import Accuracy
    from ..calibration.calibration import Calibration

MARKS = {"good": "good", "doubtful": "doubt", "not seen": "unseen", "not usable": "bad"}
LEVELS = {"error": "bad", "warning": "doubt"}
AXES = ("x", "y", "z")
BINS = 30


def write(
    calibration: "Calibration", path: str | Path, validations: "Sequence[Accuracy]" = ()
) -> Path:
    """Write the page whole or not at all; `validations` are further accuracies."""
    target = checked_path(path, PAGES, "report")
    return page(calibration, validations).save(target)


def page(calibration: "Calibration", validations: "Sequence[Accuracy]" = ()) -> Page:
    """All sections in order."""
    found = Page(
        f"Calibration of {calibration.robot.name}",
        f"{len(calibration.parameters)} parameters, {len(calibration.nominal.errors)} postures.",
    )
    _verdict(found, calibration)
    _accuracies(found, calibration, validations)
    _findings(found, calibration)
    _residuals(found, calibration, validations)
    _parameters(found, calibration)
    found.script("sort.js")
    return found


def _verdict(page: Page, calibration: "Calibration") -> None:
    own = calibration.verdict
    page.section("Verdict")
    row = ((own.level, MARKS[own.level]), own.reason, own.remedy)
    page.table(("verdict", "reason", "what to do"), [row])


def _accuracies(page: Page, calibration: "Calibration", validations: "Sequence[Accuracy]") -> None:
    page.section(
        "Before and after",
        "Distances of points from where they were measured, of points from the mean of their "
        "socket, from a plane. Held out: every place by an arm fitted to the others.",
    )
    sizes = (calibration.nominal, calibration.fit, calibration.held_out, *validations)
    head = ("accuracy", "rows", "mean, mm", "RMS, mm", "largest, mm")
    page.table(head, [x.cells() for x in sizes if x is not None])
    for one in sizes:
        if one is not None and len(one.distances):
            off = 1e3 * np.abs(one.distance_errors)
            page.text(
                f"{one.name}: distances of sockets are off by {off.mean():.3g} mm on the mean, "
                f"{off.max():.3g} mm at most."
            )


def _findings(page: Page, calibration: "Calibration") -> None:
    found = calibration.findings
    page.section("Findings", "" if found else "None.")
    if found:
        rows = [((f.level, LEVELS.get(f.level, "")), f.place, f.what, f.remedy) for f in found]
        page.table(("level", "where", "what", "what to do"), rows)


def _residuals(page: Page, calibration: "Calibration", validations: "Sequence[Accuracy]") -> None:
    after = validations[0] if validations else calibration.held_out or calibration.fit
    page.section(
        "Residuals",
        "Shares of the postures within a distance, and distances over the workspace (reference "
        "frame of the robot).",
    )
    both = [(calibration.nominal, 0), (after, 1)]
    series = [_shares(one, colour) for one, colour in both]
    page.chart(chart("", "distance, mm", Panel(series, "share of postures, %")), series)
    dots = [ChartSeries(one.name, [0.0], [0.0], "dots", colour) for one, colour in both]
    charts = []
    for k, axis in enumerate(AXES):
        own = [
            ChartSeries(one.name, one.points[:, k], 1e3 * one.errors, "dots", colour)
            for one, colour in both
        ]
        charts.append(chart("", f"{axis}, m", Panel(own, "distance, mm")))
    page.caption("Over the workspace")
    page.grid(charts, dots)


def _shares(one: "Accuracy", colour: int) -> ChartSeries:
    sizes = np.sort(1e3 * one.errors)
    shares = 100.0 * np.arange(1, len(sizes) + 1) / len(sizes)
    return ChartSeries(one.name, np.r_[0.0, sizes], np.r_[0.0, shares], "line", colour)


def _parameters(page: Page, calibration: "Calibration") -> None:
    page.section(
        "As built less nominal",
        "Errors of placements in the frames of the joints, before their motion: the zero of the "
        "joint, then shifts along and turns about x, y and z. The standard deviation is the larger "
        "of that by noise and that by the scatter over places. A click on a heading sorts.",
    )
    head = ("parameter", "value", "standard deviation", "unit")
    page.table(head, calibration.parameters.cells(), "parameters")
    page.section(
        "What stays nominal",
        "What these observations cannot tell apart from the others, and what does not pay on "
        "places held out.",
    )
    for name, words in (("unidentifiable", "not told"), ("unhelpful", "does not pay")):
        own = getattr(calibration, name)
        page.text(f"{words.capitalize()}: {', '.join(own) if own else 'nothing'}.")
