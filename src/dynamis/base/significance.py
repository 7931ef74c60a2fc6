"""Significance of parameters (Armstrong et al. 1986): a table, and an approximate model.

A base parameter's share on a joint is the largest torque it ever causes there, next to the largest
torque of that joint, over random states of the workspace. Dropping what is small everywhere gives
an APPROXIMATE robot whose error is measured on other states, not assumed.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import number, whole
from ..lazy import cached_property
from .base_parameters import BaseParameters, base_parameters

if TYPE_CHECKING:
    from ..robot import Robot

MOST = 1_000_000  # random states
FASTEST = 1e9  # rad/s or rad/s^2: beyond, the squares of torques lose their digits
STILL = 1e-9  # a joint with less torque than this (of the largest) is not judged


@dataclass(frozen=True, eq=False)
class Significance:
    """Shares of every base parameter, and the robot without the small ones (approximate)."""

    base: BaseParameters
    percent: float
    shares: np.ndarray  # (rank,) in percent: the largest over the joints
    error: float  # percent: worst torque error of the approximate robot on other states
    approximate: "Robot"

    @property
    def dropped(self) -> tuple[str, ...]:
        """Base parameters that contribute less than `percent` to every joint."""
        pairs = zip(self.base.names, self.shares, strict=True)
        return tuple(name for name, share in pairs if share < self.percent)

    @cached_property
    def order(self) -> np.ndarray:
        """Base parameters by falling share."""
        return np.argsort(-self.shares)

    def __str__(self) -> str:
        lines = [
            f"share of the torque, %  base parameter (dropped below {self.percent:g} %)",
            *(f"{self.shares[k]:22.4f}  {self.base.names[k]}" for k in self.order),
            f"APPROXIMATE without {len(self.dropped)} of {self.base.rank}: torques are off by up "
            f"to {self.error:.2g} % of each joint's largest",
        ]
        return "\n".join(lines)


def significance(
    robot: "Robot",
    percent: float = 1.0,
    speed: float = 1.0,
    acceleration: float = 1.0,
    samples: int = 2000,
    seed: int = 0,
) -> Significance:
    """Shares over q within the limits (a full turn where there are none), |qd| and |qdd| up to the
    speed and acceleration given.
    """
    percent, speed, acceleration = (
        number(value, name, f"a number from 0 to {FASTEST:g}", lambda x: 0.0 <= x <= FASTEST)
        for name, value in (("percent", percent), ("speed", speed), ("acceleration", acceleration))
    )
    whole(samples, "samples", most=MOST)
    whole(seed, "seed", 0)
    base = base_parameters(robot)
    rng = np.random.default_rng(seed)
    Y = base.regressor(*_states(robot, rng, samples, speed, acceleration))
    shares = 100 * _relative(Y * base.values, Y @ base.values)
    kept = np.where(shares >= percent, base.values, 0.0)
    full = np.zeros(base.matrix.shape[1])
    full[list(base.columns)] = kept  # a base parameter alone stands for all that is grouped with it
    approximate = _renamed(robot.with_parameters(full))
    state = _states(robot, rng, samples, speed, acceleration)
    exact = robot.inverse_dynamics(*state)
    off = (approximate.inverse_dynamics(*state) - exact)[..., None]
    return Significance(base, percent, shares, float(100 * _relative(off, exact)[0]), approximate)


def _renamed(robot: "Robot") -> "Robot":
    """The name says what it is, wherever the robot is printed or saved."""
    return type(robot)(replace(robot.model, name=f"{robot.name} (approximate)"))


def _states(
    robot: "Robot", rng: np.random.Generator, samples: int, speed: float, acceleration: float
) -> list[np.ndarray]:
    low, high = robot.limits.T
    q = rng.uniform(np.maximum(low, -np.pi), np.minimum(high, np.pi), size=(samples, robot.n))
    qd, qdd = rng.uniform(-1, 1, size=(2, samples, robot.n))
    return [q, speed * qd, acceleration * qdd]


def _relative(parts: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Largest |part| of each column next to each joint's largest torque, the worst joint."""
    largest = np.abs(torque).max(axis=0)
    judged = largest > STILL * largest.max()
    return (np.abs(parts).max(axis=0)[judged] / largest[judged, None]).max(axis=0)
