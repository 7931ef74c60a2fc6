"""Coordinates of a peer's tree: x = K q + x0 (mimic joints, spinning rotors)."""

from abc import ABC, abstractmethod

import numpy as np

from ..model.chain import Chain


class TreePeer(ABC):
    """A peer that computes on tree joints, asked in coordinates q."""

    def __init__(self, chain: Chain):
        tied = chain.coupling is not None
        self.K = np.array(chain.coupling, dtype=float) if tied else None
        self.x0 = np.array(chain.shift, dtype=float)

    @abstractmethod
    def tree_inverse(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        """Joint torques of the tree."""

    @abstractmethod
    def tree_forward(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Joint accelerations of the tree."""

    @abstractmethod
    def tree_mass_matrix(self, x: np.ndarray) -> np.ndarray:
        """Mass matrix of the tree."""

    @abstractmethod
    def tree_gravity(self, x: np.ndarray) -> np.ndarray:
        """Gravity torques of the tree."""

    @abstractmethod
    def tree_coriolis(self, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
        """Coriolis and centrifugal torques of the tree."""

    @abstractmethod
    def tree_pose(self, x: np.ndarray) -> np.ndarray:
        """Tool pose, (4, 4)."""

    @abstractmethod
    def tree_jacobian(self, x: np.ndarray) -> np.ndarray:
        """Tool Jacobian in base axes, linear rows first, (6, tree joints)."""

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """K^T tau_tree"""
        return self._back(self.tree_inverse(self._x(q), self._rate(qd), self._rate(qdd)))

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The peer's own forward dynamics; for tied joints M_q qdd = tau - bias is solved."""
        if self.K is None:
            return self.tree_forward(q, qd, tau)
        bias = self.inverse_dynamics(q, qd, np.zeros_like(q))
        return np.linalg.solve(self.mass_matrix(q), tau - bias)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """K^T M_tree K"""
        M = self.tree_mass_matrix(self._x(q))
        return M if self.K is None else self.K.T @ M @ self.K

    def gravity_torque(self, q: np.ndarray) -> np.ndarray:
        """K^T g_tree"""
        return self._back(self.tree_gravity(self._x(q)))

    def coriolis_torque(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """K^T C_tree xd"""
        return self._back(self.tree_coriolis(self._x(q), self._rate(qd)))

    def fk(self, q: np.ndarray) -> np.ndarray:
        """Tool pose, (4, 4)."""
        return self.tree_pose(self._x(q))

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """J_tree K"""
        J = self.tree_jacobian(self._x(q))
        return J if self.K is None else J @ self.K

    def _x(self, q: np.ndarray) -> np.ndarray:
        return q if self.K is None else self.K @ q + self.x0

    def _rate(self, qd: np.ndarray) -> np.ndarray:
        return qd if self.K is None else self.K @ qd

    def _back(self, tau: np.ndarray) -> np.ndarray:
        return tau if self.K is None else self.K.T @ tau
