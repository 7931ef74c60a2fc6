"""A robot in the Robotics Toolbox, with friction if its law is the toolbox's.

A URDF chain is compared through its standard DH table.
"""

import numpy as np

from ..interop.rigid_tree import NotRepresentableError
from ..interop.robotics_toolbox import FAULT, dh_arm, dh_robot, is_faulty
from ..robot import Robot

__all__ = ["FAULT", "ToolboxPeer", "has_toolbox_friction", "toolbox_peer"]


def toolbox_peer(robot: Robot, q: np.ndarray) -> "ToolboxPeer":
    """The robot in the toolbox; q matters only where a centre of mass slides with it."""
    if robot.model.is_tree:
        raise NotRepresentableError("not representable: it is a tree, and a DH table is a chain")
    if robot.chain.coupling is not None or any(m.coupled for m in robot.chain.motors):
        raise NotRepresentableError("not representable: its joints or motors are coupled")
    arm = dh_arm(robot)
    if is_faulty(arm):
        raise NotRepresentableError(FAULT)
    return ToolboxPeer(arm, q)


class ToolboxPeer:
    """rne, accel, inertia, gravload and coriolis of one robot."""

    def __init__(self, robot: Robot, q: np.ndarray):
        self.peer = dh_robot(robot, q)

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """rne"""
        return self.peer.rne(q, qd, qdd)

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """accel, which fails on a single joint: there inertia and rne are used"""
        if len(q) == 1:
            return (tau - self.peer.rne(q, qd, np.zeros(1))) / self.mass_matrix(q)[0]
        return self.peer.accel(q, qd, tau)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """inertia"""
        return self.peer.inertia(q).reshape(len(q), len(q))

    def gravity_torque(self, q: np.ndarray) -> np.ndarray:
        """gravload"""
        return self.peer.gravload(q)

    def coriolis_torque(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """coriolis times qd"""
        return self.peer.coriolis(q, qd) @ qd

    def fk(self, q: np.ndarray) -> np.ndarray:
        """fkine"""
        return self.peer.fkine(q).A

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """jacob0"""
        return self.peer.jacob0(q)


def has_toolbox_friction(robot: Robot) -> bool:
    """Whether viscous and Coulomb friction are all there is."""
    return all(r.law == "coulomb" and not r.offset for r in robot.chain.resistances)
