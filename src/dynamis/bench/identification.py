"""Identification: how long the numbers of a long log take."""

from collections.abc import Iterator

import numpy as np

from ..identify.frictions import FRICTIONS
from ..identify.information import information
from ..identify.samples import Samples
from ..identify.solve import ordinary
from ..identify.unknowns import unknowns
from ..robot import Robot
from .table import Figure
from .timing import together

ROWS = 100_000
SECONDS = 2.0


def identification(robot: Robot) -> Iterator[Figure]:
    """Regressor and ordinary solution of a long log; the regressor is never stacked."""
    wanted = unknowns(robot, FRICTIONS["asymmetric"])
    rng = np.random.default_rng(0)
    q, qd, qdd, tau = rng.normal(size=(4, ROWS, robot.n))
    samples = Samples(0.001 * np.arange(ROWS), q, qd, qdd, tau, np.ones_like(tau))
    (ours,) = together(lambda: ordinary(information([samples], wanted)), rounds=3)
    what = f"{len(wanted)} unknowns from {ROWS} rows, ordinary least squares"
    yield Figure("identification", what, robot.name, ours, target=SECONDS)
