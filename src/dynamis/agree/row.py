"""A row of an agreement table: the difference of two results for one quantity."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..robot import Robot

# random states at which methods and peers are compared

RANGES = {"revolute": (-np.pi, np.pi), "prismatic": (0.1, 1.0)}


@dataclass(frozen=True)
class States:
    """Positions, velocities and accelerations (samples, n), and tool wrenches (samples, 6)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    wrench: np.ndarray


def random_states(robot: Robot, samples: int, seed: int) -> States:
    """q uniform over a turn or over 0.1 to 1 m; qd, qdd and wrench normal."""
    rng = np.random.default_rng(seed)
    kinds = robot.joint_kinds
    low, high = np.array([RANGES[kind] for kind in kinds]).T
    shape = (samples, robot.n)
    return States(
        q=rng.uniform(low, high, shape),
        qd=rng.standard_normal(shape),
        qdd=rng.standard_normal(shape),
        wrench=rng.standard_normal((samples, 6)),
    )


@dataclass(frozen=True)
class Row:
    """A method or peer, a quantity, the worst relative difference, or why there is none."""

    source: str
    quantity: str
    difference: float | None
    limit: float
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether the difference is within the limit, or there is nothing to compare."""
        return self.difference is None or self.difference <= self.limit

    @property
    def compared(self) -> bool:
        """Whether there is a number."""
        return self.difference is not None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for machines."""
        return {**asdict(self), "ok": self.ok}


def relative_difference(a: np.ndarray, b: np.ndarray, least: float = 0.0) -> float:
    """max |a - b| / max(max |b|, least) over all samples and entries; NaN is infinitely wrong.

    `least` keeps a quantity that may vanish altogether from being measured against rounding.
    """
    if np.shape(a) != np.shape(b):
        raise ShapeError(f"shapes {np.shape(a)} and {np.shape(b)} differ, expected the same")
    difference = float(np.max(np.abs(a - b), initial=0.0))
    if not np.isfinite(difference):
        return float("inf")
    scale = max(float(np.max(np.abs(b), initial=0.0)), least)
    return difference / scale if scale > 0 else difference


def first_line(error: Exception) -> str:
    """What an error says, without its hint."""
    return str(error).split("\n", maxsplit=1)[0]
