"""The straight way from one pose to another: p = p0 + s (p1 - p0), R = R0 exp(s log(R0^T R1))."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from ..cached import cached_property


@dataclass(frozen=True, eq=False)
class Straight:
    """A straight line of positions and the shortest turn between two poses, s from 0 to 1."""

    T0: np.ndarray
    T1: np.ndarray

    @cached_property
    def turn(self) -> np.ndarray:
        """log(R0^T R1), a rotation vector in the axes of the first pose."""
        return Rotation.from_matrix(self.T0[:3, :3].T @ self.T1[:3, :3]).as_rotvec()

    @property
    def rate(self) -> np.ndarray:
        """Linear and angular velocity per unit of s in base axes, (6,): constant."""
        return np.concatenate([self.T1[:3, 3] - self.T0[:3, 3], self.T0[:3, :3] @ self.turn])

    def pose(self, s: float) -> np.ndarray:
        """(4, 4)"""
        T = np.eye(4)
        T[:3, 3] = (1.0 - s) * self.T0[:3, 3] + s * self.T1[:3, 3]
        T[:3, :3] = self.T0[:3, :3] @ Rotation.from_rotvec(s * self.turn).as_matrix()
        return T
