"""Damping that the steps of a simulation add to vibrations of elastic joints.

A step multiplies an undamped mode of w rad/s by R(i w dt) (`Tableau.damping_ratio`), which is as
much as a damping ratio of its own would do: the more, the fewer steps a period has.
"""

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import DynamisError
from ...model.check.finding import Finding
from ..tableau import INTEGRATORS, Tableau, round_step
from .vibration import RESOLVED, vibration

if TYPE_CHECKING:
    from ...robot import Robot

DAMPED = 0.005  # damping ratio from which on a mode is called damped by the step
MOST = 3  # modes that are named
HALVINGS = 40


class NumericalDamping(NamedTuple):
    """Damping ratios that the steps of a run add to its modes at the start, rotors free.

    Modes above `limit` (Hz) get more than 0.5 %. `needed` is a step (s) in which explicit steps
    follow every mode of the robot anywhere in its workspace.
    """

    integrator: str
    dt: float
    limit: float
    frequencies: np.ndarray  # (k,), Hz, lowest first
    ratios: np.ndarray  # (k,)
    needed: float

    @property
    def text(self) -> str:
        """What the steps damp, in one line."""
        said = (
            f"{self.integrator} in steps of {self.dt:g} s damps modes above {self.limit:.2g} Hz as "
            f"a damping ratio above {100.0 * DAMPED:g} % would"
        )
        rows = [
            f"{f:.4g} Hz by {zeta:.2g} %"
            for f, zeta in zip(self.frequencies, 100.0 * self.ratios, strict=True)
            if zeta > 100.0 * DAMPED
        ]
        if not rows:
            return f"{said}; those of the arm at the start are all below"
        shown = rows if len(rows) <= MOST else [*rows[: MOST - 1], "..", rows[-1]]
        return f"{said}; those of the arm at the start: {', '.join(shown)}"

    @property
    def damps(self) -> bool:
        """Whether a mode at the start gets more than 0.5 %."""
        return bool((self.ratios > DAMPED).any())

    def finding(self, samples: float | None) -> Finding:
        """A note of it; `samples` is the sample time to be kept beside a shorter step."""
        keep = "" if samples is None else f", sample_time={samples:g}"
        remedy = f"use dt={self.needed:g}{keep} to follow the fastest; slower motions are right"
        if not self.needed:
            remedy = "give the links behind elastic gears mass: no step follows their vibration"
        return Finding("note", "step", self.text, remedy)


def numerical_damping(
    robot: "Robot", integrator: str, dt: float, q: np.ndarray
) -> NumericalDamping | None:
    """Damping of the modes at q (n,); None without elastic joints, and of steps that are chosen."""
    tableau = INTEGRATORS[integrator]
    if not robot.chain.elastic or tableau.adaptive:
        return None
    fastest = vibration(robot)
    try:
        modes = robot.resonances(q).free
    except DynamisError:  # closed mechanisms with more drives than freedom, links without mass
        modes = np.array([fastest.frequency / math.tau])
    modes = modes[np.isfinite(modes)]
    ratios = np.array([tableau.damping_ratio(math.tau * f * dt) if f else 0.0 for f in modes])
    rate = max(fastest.frequency, fastest.decay)
    needed = round_step(RESOLVED / rate) if math.isfinite(rate) else 0.0
    limit = _turn(tableau) / (math.tau * dt)
    return NumericalDamping(integrator, dt, limit, modes, ratios, needed)


@lru_cache
def _turn(tableau: Tableau) -> float:
    """w dt of a mode that steps damp by `DAMPED`."""
    low, high = 0.0, math.pi
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if tableau.damping_ratio(middle) < DAMPED else (low, middle)
    return high
