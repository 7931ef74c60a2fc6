"""Random states at which methods and peers are compared."""

from dataclasses import dataclass

import numpy as np

from ..robot import Robot

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
    kinds = [link.joint for link in robot.model.links if link.mimic is None]
    low, high = np.array([RANGES[kind] for kind in kinds]).T
    shape = (samples, robot.n)
    return States(
        q=rng.uniform(low, high, shape),
        qd=rng.standard_normal(shape),
        qdd=rng.standard_normal(shape),
        wrench=rng.standard_normal((samples, 6)),
    )
