"""Rows of a log for a fit, at the log's own rate up to the filter where friction has memory.

Rows are thinned to a fraction of a period of the cut-off before the filter passes them. A joint
turns back, and an element of a small radius slips, within less: columns computed from thinned rows
miss when, and the filter, which passes the torque as it was, smears that over its period. Rows that
are kept after the filter are the same.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ...logs.log import Log
from ..processing import Processing, Samples, prepare
from .models import FrictionModel

if TYPE_CHECKING:
    from ...robot import Robot


def rows_to_fit(
    log: Log, processing: Processing, friction: FrictionModel, robot: "Robot"
) -> tuple[list[Samples], Processing]:
    """Samples of every piece of a log between long gaps, and the choices made: see `prepare`."""
    if not friction.has_memory:
        return prepare(log, processing, robot=robot)
    found, chosen = prepare(log, replace(processing, every=1), robot=robot)
    chosen = replace(chosen, every=processing.every).resolved(log)
    every = int(chosen.every or 1)
    passed = min(every * float(chosen.cutoff or 0.0) / float(chosen.rate or 1.0), 0.5)
    return [replace(samples, every=every, passed=passed) for samples in found], chosen
