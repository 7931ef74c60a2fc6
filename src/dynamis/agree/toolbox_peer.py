"""Our robot as a Robotics Toolbox DHRobot, friction included where its law is the toolbox's.

A URDF chain is compared through its standard DH table.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ..dynamics.kinematics import inertias
from ..errors import DynamisError
from ..model.chain import Resistance
from ..model.link import Link
from ..model.quantity import resolve
from ..robot import Robot
from ..spatial.inertia import transformed_back
from .rigid_tree import NotComparableError, RigidBody, rigid_body
from .row import first_line

# DHRobot.rne in C leaves out the rotation of a first link that slides; rne_python has it right
FAULT = "peer's fault: its compiled rne is wrong where the first joint is prismatic"
STRAIGHT = 1e-9  # m/s^2


def toolbox_peer(robot: Robot, q: np.ndarray) -> "ToolboxPeer":
    """The robot in the toolbox; q matters only where a centre of mass slides with it."""
    if robot.model.is_tree:
        raise NotComparableError("not representable: it is a tree, and a DH table is a chain")
    if robot.chain.coupling is not None or any(m.coupled for m in robot.chain.motors):
        raise NotComparableError("not representable: its joints or motors are coupled")
    arm = _dh_arm(robot)
    if _faulty(arm):
        raise NotComparableError(FAULT)
    return ToolboxPeer(arm, q)


class ToolboxPeer:
    """rne, accel, inertia, gravload and coriolis of one robot."""

    def __init__(self, robot: Robot, q: np.ndarray):
        rtb: Any = import_module("roboticstoolbox")
        SE3: Any = import_module("spatialmath").SE3
        values = robot.model.values
        bodies = _user_bodies(robot, q)
        rows = [_link(rtb, robot, i, body) for i, body in enumerate(bodies)]
        base, tool = (SE3(_matrix(p.frame(values))) for p in (robot.model.base, robot.model.tool))
        self.peer = rtb.DHRobot(rows, name=robot.name, base=base, tool=tool)
        self.peer.gravity = -np.sign(self.peer.gravity[2]) * robot.gravity

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


def _dh_arm(robot: Robot) -> Robot:
    """The robot itself if it is a DH arm, else the one with the same torques."""
    if robot.model.convention != "urdf":
        return robot
    try:
        return robot.to_dh("standard")
    except DynamisError as error:
        raise NotComparableError(f"not representable: {first_line(error)}") from None


def _faulty(robot: Robot) -> bool:
    """Whether the first joint slides, and in standard DH also something pulls across it."""
    base = np.array(robot.chain.base.R, dtype=float)
    across = np.cross(robot.gravity, base[:, 2])
    harmless = robot.model.convention == "standard" and np.abs(across).max() < STRAIGHT
    return robot.model.links[0].joint == "prismatic" and not harmless


def has_toolbox_friction(robot: Robot) -> bool:
    """Whether viscous and Coulomb friction are all there is."""
    return all(r.law == "coulomb" and not r.offset for r in robot.chain.resistances)


def _user_bodies(robot: Robot, q: np.ndarray) -> list[RigidBody]:
    """Each link's body in its DH frame, where it is at q."""
    chain = robot.chain
    held = zip(chain.bodies, inertias(chain, q.tolist()), robot.link_names, strict=True)
    return [rigid_body(transformed_back(b.user, inertia), name) for b, inertia, name in held]


def _matrix(frame: tuple) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = frame
    return T


def _link(rtb: Any, robot: Robot, i: int, body: RigidBody) -> Any:
    """One row of the table with its body, rotor and friction on the motor's side."""
    model, link = robot.model, robot.model.links[i]
    kinds = {
        ("standard", "revolute"): rtb.RevoluteDH,
        ("standard", "prismatic"): rtb.PrismaticDH,
        ("modified", "revolute"): rtb.RevoluteMDH,
        ("modified", "prismatic"): rtb.PrismaticMDH,
    }
    motor, resistance = robot.chain.motors[i], robot.chain.resistances[i]
    gear = motor.gear or 1.0
    return kinds[model.convention, link.joint](
        **_geometry(link, model.values),
        m=body.mass,
        r=body.com,
        I=body.inertia,
        G=gear,
        Jm=motor.inertia / gear**2,
        **_friction(resistance, gear),
    )


def _geometry(link: Link, values: Mapping[str, Any]) -> dict[str, float]:
    constant = "d" if link.joint == "revolute" else "theta"
    names: tuple[str, ...] = (constant, "a", "alpha", "offset")
    return {name: float(resolve(getattr(link, name), values)) for name in names}


def _friction(resistance: Resistance, gear: float) -> dict[str, Any]:
    coulomb = [resistance.plus / abs(gear), resistance.minus / abs(gear)]
    return {"B": resistance.viscous / gear**2, "Tc": coulomb}
