"""Measured beside predicted torque over time, to zoom into: plotly, kept inside the page."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import templates
from .identification_rows import few
from .page import with_plotly

if TYPE_CHECKING:
    from ..identify.validation import Validation

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
