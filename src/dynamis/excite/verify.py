"""Verification that a motion keeps its limits, on a much finer grid than the design uses."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..model.check.finding import Finding
from .limits import Bounds
from .series import Series, shrunk
from .workspace import Workspace

if TYPE_CHECKING:
    from ..robot import Robot

LOOKS = 1000  # times in a period
SPARE_TORQUE = 1e-3  # fraction kept free for what happens between two looks
SPARE_SPACE = 1e-3  # m, likewise
HALVINGS = 12
SMALLEST = 0.05  # a motion that must shrink below this is given up


@dataclass(frozen=True, eq=False)
class Check:
    """Limits of one robot's series."""

    robot: "Robot"
    bounds: Bounds
    space: Workspace
    series: Series

    def times(self, looks: int = LOOKS) -> np.ndarray:
        """Evenly over one period."""
        return np.linspace(0.0, self.series.period, looks, endpoint=False)

    def uses(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> dict[str, np.ndarray]:
        """Fraction of each limit used, by name, (..., T, n); 1 is at the limit."""
        b = self.bounds
        used = {
            "position": np.maximum(q - b.middle, b.middle - q) / b.half,
            "velocity": np.abs(qd) / b.qd,
            "acceleration": np.abs(qdd) / b.qdd,
        }
        if np.isfinite(b.tau).any():
            used["torque"] = np.abs(self.robot.inverse_dynamics(q, qd, qdd)) / b.tau
        return used

    def excess(self, X: np.ndarray, looks: int = LOOKS) -> np.ndarray:
        """Worst violation of each series, (...,); not above 0 where all limits hold.

        A trigonometric polynomial of degree H looked at T times exceeds what was seen by at most
        1 / cos(pi H / T) (Ehlich and Zeller 1964).
        """
        state = self.series.states(X, self.times(looks))
        between = np.cos(np.pi * self.series.harmonics / looks)
        spare = {"torque": 1.0 - SPARE_TORQUE}
        worst = [
            (use / spare.get(name, between)).max(axis=(-1, -2)) - 1.0
            for name, use in self.uses(*state).items()
        ]
        if len(self.space):
            worst.append(SPARE_SPACE - self.space.over(state[0]).min(axis=(-1, -2)))
        return np.maximum.reduce(worst)

    def repaired(self, X: np.ndarray, looks: int = LOOKS) -> tuple[np.ndarray, np.ndarray]:
        """Series shrunk as little as makes them keep their limits, (R, ..); the factors, (R,).

        The factor is 0 where even a small motion breaks one.
        """
        good = np.where(self.excess(X, looks) <= 0.0, 1.0, 0.0)
        bad = np.ones(len(X))
        for _ in range(HALVINGS):
            if (good == 1.0).all():
                break
            tried = np.where(good == 1.0, 1.0, (good + bad) / 2.0)
            fine = self.excess(shrunk(X, tried), looks) <= 0.0
            good, bad = np.where(fine, tried, good), np.where(fine, bad, tried)
        good = np.where(good < SMALLEST, 0.0, good)
        return shrunk(X, good), good

    def places(self, rng: np.random.Generator, count: int, tries: int = 20) -> np.ndarray:
        """Positions at rest that keep torque and space limits, at most `count`, (R, n)."""
        b = self.bounds
        if b.center is not None:
            q = np.repeat(b.center[None], count, axis=0)
            return q if self._rests(q)[0] else q[:0]
        found: list[np.ndarray] = []
        for _ in range(tries):
            q = b.middle + 0.7 * b.half * rng.uniform(-1.0, 1.0, (count, self.series.n))
            found.append(q[self._rests(q)])
            if sum(map(len, found)) >= count:
                break
        return np.concatenate(found)[:count]

    def _rests(self, q: np.ndarray) -> np.ndarray:
        zero = np.zeros_like(q)
        used = self.uses(q, zero, zero)
        held = np.all([(use < 0.98).all(axis=-1) for use in used.values()], axis=0)
        return held & (self.space.over(q) > 2.0 * SPARE_SPACE).all(axis=-1)

    def findings(self, X: np.ndarray) -> list[Finding]:
        """What one series breaks, joint by joint and margin by margin."""
        t = self.times()
        state = self.series.states(X, t)
        found = []
        for name, use in self.uses(*state).items():
            for i in np.flatnonzero(use.max(axis=0) > 1.0):
                k = int(use[:, i].argmax())
                what = f"{name} is {100.0 * use[k, i]:.4g} % of its limit at t = {t[k]:.4g} s"
                remedy = "give the motion more time, or wider limits"
                found.append(Finding("error", f"joint {self.robot.joint_names[i]!r}", what, remedy))
        margins = self.space.over(state[0])
        for k in np.flatnonzero(margins.min(axis=0, initial=0.0) < 0.0):
            what = f"{self.space.label(int(k))} overlap by {-margins[:, k].min():.4g} m"
            found.append(Finding("error", "workspace", what, "give another center"))
        return found
