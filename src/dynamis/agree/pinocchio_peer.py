"""A robot as a Pinocchio model.

Pinocchio's armature takes the reflected rotors and acts in rnea, crba and aba; its joint friction
and damping act in none of them, so robots are compared without friction.
"""

from importlib import import_module
from typing import Any

import numpy as np

from ..interop.pinocchio import pinocchio_model
from ..interop.rigid_tree import rigid_tree
from ..robot import Robot
from ..spatial.frames import matrix
from .coordinates import TreePeer


class PinocchioPeer(TreePeer):
    """A robot in Pinocchio; q matters only if a centre of mass moves with it."""

    def __init__(self, robot: Robot, q: np.ndarray):
        pin: Any = import_module("pinocchio")
        chain = robot.chain
        super().__init__(chain)
        self.pin = pin
        self.model, self.joints = pinocchio_model(rigid_tree(robot, q), robot.gravity)
        self.data = self.model.createData()
        self.order = [self.model.joints[j].idx_v for j in self.joints]
        self.tip = self.joints[chain.tip]
        tool = np.array(matrix(chain.tool), dtype=float)
        self.tool = pin.SE3(tool[:3, :3], tool[:3, 3])

    def _theirs(self, x: np.ndarray) -> np.ndarray:
        values = np.empty(len(self.order))
        values[self.order] = x
        return values

    def tree_inverse(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        """rnea"""
        state = (self._theirs(v) for v in (x, xd, xdd))
        return self.pin.rnea(self.model, self.data, *state)[self.order]

    def tree_forward(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """aba"""
        state = (self._theirs(v) for v in (x, xd, tau))
        return self.pin.aba(self.model, self.data, *state)[self.order]

    def tree_mass_matrix(self, x: np.ndarray) -> np.ndarray:
        """crba"""
        upper = np.triu(self.pin.crba(self.model, self.data, self._theirs(x)))
        M = upper + np.triu(upper, 1).T
        return M[np.ix_(self.order, self.order)]

    def tree_gravity(self, x: np.ndarray) -> np.ndarray:
        """computeGeneralizedGravity"""
        g = self.pin.computeGeneralizedGravity(self.model, self.data, self._theirs(x))
        return g[self.order]

    def tree_coriolis(self, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
        """computeCoriolisMatrix times xd"""
        v = self._theirs(xd)
        C = self.pin.computeCoriolisMatrix(self.model, self.data, self._theirs(x), v)
        return (C @ v)[self.order]

    def tree_pose(self, x: np.ndarray) -> np.ndarray:
        """forwardKinematics"""
        self.pin.forwardKinematics(self.model, self.data, self._theirs(x))
        return (self.data.oMi[self.tip] * self.tool).homogeneous

    def tree_jacobian(self, x: np.ndarray) -> np.ndarray:
        """computeJointJacobian, brought to the tool and to base axes"""
        local = self.pin.computeJointJacobian(self.model, self.data, self._theirs(x), self.tip)
        J = self.tool.inverse().action @ local.reshape(6, -1)  # one joint comes as a vector
        R = self.tree_pose(x)[:3, :3]
        return np.vstack([R @ J[:3], R @ J[3:]])[:, self.order]
