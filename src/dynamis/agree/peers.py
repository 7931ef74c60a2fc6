"""A robot in other engines: Pinocchio, MuJoCo and the Robotics Toolbox.

They are compared without friction, except where the toolbox has its law: Pinocchio's joint friction
and damping act in none of rnea, crba and aba (its armature takes the reflected rotors and does),
and MuJoCo's friction laws are not ours. MuJoCo's compiler accepts only moving bodies with mass and
a positive inertia that satisfies the triangle inequality; what it refuses is reported in its own
words. A URDF chain goes to the toolbox through its standard DH table.
"""

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ..interop.mjcf import mjcf_element
from ..interop.pinocchio import pinocchio_model
from ..interop.rigid_tree import NotRepresentableError, TreeJoint, body_names, rigid_tree
from ..interop.robotics_toolbox import FAULT, dh_arm, dh_robot, is_faulty
from ..model.friction import Friction
from ..model.model import with_friction
from ..robot import Robot
from ..spatial.frames import matrix

OFF = ("contact", "constraint", "limit", "equality", "frictionloss", "spring", "damper")


class Engine:
    """Methods of one robot in coordinates x = K q + x0 (mimic joints, spinning rotors).

    K is None where x = q. The q that an engine is made with matters only if a centre of mass moves
    with it.
    """

    def __init__(self, robot: Robot):
        tied = robot.chain.coupling is not None
        self.K = np.array(robot.chain.coupling, dtype=float) if tied else None
        self.x0 = np.array(robot.chain.shift, dtype=float)
        self.tool = np.array(matrix(robot.chain.tool), dtype=float)


class PinocchioPeer(Engine):
    """A robot in Pinocchio."""

    def __init__(self, robot: Robot, q: np.ndarray):
        super().__init__(robot)
        self.pin: Any = import_module("pinocchio")
        self.model, joints = pinocchio_model(rigid_tree(robot, q), robot.gravity)
        self.data = self.model.createData()
        self.order = [self.model.joints[j].idx_v for j in joints]
        self.tip = joints[robot.chain.tip]

    def _ask(self, function: str, *rows: np.ndarray, more: tuple[Any, ...] = ()) -> Any:
        """What a function of Pinocchio says of our joints' numbers in its order."""
        theirs = np.empty((len(rows), len(self.order)))
        theirs[:, self.order] = rows
        return getattr(self.pin, function)(self.model, self.data, *theirs, *more)

    def inverse_dynamics(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        return self._ask("rnea", x, xd, xdd)[self.order]

    def forward_dynamics(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self._ask("aba", x, xd, tau)[self.order]

    def mass_matrix(self, x: np.ndarray) -> np.ndarray:
        upper = np.triu(self._ask("crba", x))
        M = upper + np.triu(upper, 1).T
        return M[np.ix_(self.order, self.order)]

    def gravity_torque(self, x: np.ndarray) -> np.ndarray:
        return self._ask("computeGeneralizedGravity", x)[self.order]

    def coriolis_torque(self, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
        C = self._ask("computeCoriolisMatrix", x, xd)
        return C[np.ix_(self.order, self.order)] @ xd

    def fk(self, x: np.ndarray) -> np.ndarray:
        self._ask("forwardKinematics", x)
        return self.data.oMi[self.tip].homogeneous @ self.tool

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """computeJointJacobian, brought to the tool and to base axes"""
        local = self._ask("computeJointJacobian", x, more=(self.tip,)).reshape(6, -1)
        T = self.pin.SE3(self.tool[:3, :3], self.tool[:3, 3])
        J = T.inverse().action @ local  # one joint comes as a vector
        R = self.fk(x)[:3, :3]
        return np.vstack([R @ J[:3], R @ J[3:]])[:, self.order]


class MujocoPeer(Engine):
    """A robot in MuJoCo: bodies with one hinge or slide each, without contacts."""

    def __init__(self, robot: Robot, q: np.ndarray):
        super().__init__(robot)
        self.mj: Any = import_module("mujoco")
        text = mjcf(rigid_tree(robot, q), robot.chain.gravity)
        try:
            self.model = self.mj.MjModel.from_xml_string(text)
        except ValueError as error:
            raise NotRepresentableError(_refusal(error, robot)) from None
        self.data = self.mj.MjData(self.model)
        size = range(len(robot.chain.joints))
        self.order = [int(self.model.joint(f"j{i}").dofadr[0]) for i in size]
        self.tip = int(self.model.body(f"b{robot.chain.tip}").id)

    def _ask(self, function: str, x: np.ndarray, xd: Any = 0.0, **given: Any) -> Any:
        """The data after a function of MuJoCo at this state."""
        self.data.qpos[self.order], self.data.qvel[self.order] = x, xd
        for name in ("qacc", "qfrc_applied"):
            getattr(self.data, name)[self.order] = given.get(name, 0.0)
        getattr(self.mj, function)(self.model, self.data)
        return self.data

    def inverse_dynamics(self, x: np.ndarray, xd: Any, xdd: Any) -> np.ndarray:
        return self._ask("mj_inverse", x, xd, qacc=xdd).qfrc_inverse[self.order].copy()

    def forward_dynamics(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self._ask("mj_forward", x, xd, qfrc_applied=tau).qacc[self.order].copy()

    def mass_matrix(self, x: np.ndarray) -> np.ndarray:
        data, M = self._ask("mj_forward", x), np.zeros((self.model.nv, self.model.nv))
        try:  # its arguments changed between versions of MuJoCo
            self.mj.mj_fullM(self.model, M, data.qM)
        except (AttributeError, TypeError):
            self.mj.mj_fullM(self.model, data, M)
        return M[np.ix_(self.order, self.order)]

    def gravity_torque(self, x: np.ndarray) -> np.ndarray:
        return self.inverse_dynamics(x, 0.0, 0.0)

    def coriolis_torque(self, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
        return self.inverse_dynamics(x, xd, 0.0) - self.gravity_torque(x)

    def fk(self, x: np.ndarray) -> np.ndarray:
        data, T = self._ask("mj_kinematics", x), np.eye(4)
        T[:3, :3], T[:3, 3] = data.xmat[self.tip].reshape(3, 3), data.xpos[self.tip]
        return T @ self.tool

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        point = self.fk(x)[:3, 3]
        self.mj.mj_comPos(self.model, self.data)
        J = np.zeros((2, 3, self.model.nv))
        self.mj.mj_jac(self.model, self.data, *J, point, self.tip)
        return J.reshape(6, -1)[:, self.order]


def mjcf(tree: list[TreeJoint], gravity: Iterable[float]) -> str:
    """The model as MJCF text; bodies and joints are named by their numbers in the tree."""
    names = [[f"{letter}{i}" for i in range(len(tree))] for letter in "bj"]
    root, _ = mjcf_element(tree, gravity, *names)
    ElementTree.SubElement(next(root.iter("option")), "flag", dict.fromkeys(OFF, "disable"))
    return ElementTree.tostring(root, encoding="unicode")


def _refusal(error: Exception, robot: Robot) -> str:
    """What MuJoCo's compiler says, with our name of the body it says it about."""
    said, _, where = str(error).partition("\nElement name ")
    number = re.match(r"'b(\d+)'", where)
    name = body_names(robot)[int(number[1])] if number else f"robot {robot.name!r}"
    quoted = re.search(r"error '(.*)' in", said)
    words = " ".join((quoted[1] if quoted else said.removeprefix("Error: ")).split())
    return f"not representable: MuJoCo refuses {name}: {words}"


def toolbox_peer(robot: Robot, q: np.ndarray) -> "ToolboxPeer":
    """The robot in the toolbox."""
    if robot.model.is_tree:
        raise NotRepresentableError("not representable: it is a tree, and a DH table is a chain")
    if robot.chain.coupling is not None or any(m.coupled for m in robot.chain.motors):
        raise NotRepresentableError("not representable: its joints or motors are coupled")
    moved = (*(m.inertia for m in robot.chain.motors), *(b.inertia.m for b in robot.chain.bodies))
    if not any(moved):
        raise NotRepresentableError("not representable: it has no mass, which the toolbox refuses")
    arm = dh_arm(robot)
    if is_faulty(arm):
        raise NotRepresentableError(FAULT)
    return ToolboxPeer(arm, q)


class ToolboxPeer(Engine):
    """A robot in the Robotics Toolbox."""

    def __init__(self, robot: Robot, q: np.ndarray):
        super().__init__(robot)
        self.peer = dh_robot(robot, q)

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return self.peer.rne(q, qd, qdd)

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """accel, which fails on a single joint: there inertia and rne are used"""
        if len(q) == 1:
            return (tau - self.peer.rne(q, qd, np.zeros(1))) / self.mass_matrix(q)[0]
        return self.peer.accel(q, qd, tau)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self.peer.inertia(q).reshape(len(q), len(q))

    def gravity_torque(self, q: np.ndarray) -> np.ndarray:
        return self.peer.gravload(q)

    def coriolis_torque(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.peer.coriolis(q, qd) @ qd

    def fk(self, q: np.ndarray) -> np.ndarray:
        return self.peer.fkine(q).A

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        return self.peer.jacob0(q)


def has_toolbox_friction(robot: Robot) -> bool:
    """Whether viscous and Coulomb friction are all there is."""
    plain = all(r.law == "coulomb" and not r.offset for r in robot.chain.resistances)
    return plain and not robot.model.own_laws


class Peer(NamedTuple):
    """Module of an engine, and the construction of its model."""

    module: str
    package: str
    build: Callable[[Robot, np.ndarray], Any]
    has_friction: Callable[[Robot], bool]


PEERS = {
    "pinocchio": Peer("pinocchio", "pin", PinocchioPeer, lambda robot: False),
    "mujoco": Peer("mujoco", "mujoco", MujocoPeer, lambda robot: False),
    "robotics-toolbox": Peer(
        "roboticstoolbox", "roboticstoolbox-python", toolbox_peer, has_toolbox_friction
    ),
}


def installed(name: str) -> bool:
    """Whether a peer can be imported here."""
    return find_spec(PEERS[name].module) is not None


def without_friction(robot: Robot) -> Robot:
    """The arm without friction."""
    return Robot(with_friction(robot.model, [Friction()] * len(robot.model.links)))
