"""A robot as a MuJoCo model: bodies with one hinge or slide each, without contacts.

MuJoCo's compiler accepts only moving bodies with mass and a positive inertia that satisfies the
triangle inequality; what it refuses is reported in its own words. Its friction laws are not ours,
so robots are compared without friction.
"""

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..interop.mjcf import mjcf_element
from ..interop.rigid_tree import NotRepresentableError, TreeJoint, body_names, rigid_tree
from ..robot import Robot
from ..spatial.frames import matrix
from .coordinates import TreePeer

OFF = ("contact", "constraint", "limit", "equality", "frictionloss", "spring", "damper")


class MujocoPeer(TreePeer):
    """A robot in MuJoCo; q matters only if a centre of mass moves with it."""

    def __init__(self, robot: Robot, q: np.ndarray):
        mujoco: Any = import_module("mujoco")
        chain = robot.chain
        super().__init__(chain)
        self.mj = mujoco
        text = mjcf(rigid_tree(robot, q), chain.gravity)
        try:
            self.model = mujoco.MjModel.from_xml_string(text)
        except ValueError as error:
            raise NotRepresentableError(_refusal(error, robot)) from None
        self.data = mujoco.MjData(self.model)
        size = range(len(chain.joints))
        self.order = [int(self.model.joint(f"j{i}").dofadr[0]) for i in size]
        self.tip = int(self.model.body(f"b{chain.tip}").id)
        self.tool = np.array(matrix(chain.tool), dtype=float)

    def _set(self, x: np.ndarray, xd: np.ndarray | None = None) -> None:
        self.data.qpos[self.order] = x
        self.data.qvel[self.order] = 0.0 if xd is None else xd
        self.data.qacc[:] = 0.0
        self.data.qfrc_applied[:] = 0.0

    def tree_inverse(self, x: np.ndarray, xd: np.ndarray, xdd: np.ndarray) -> np.ndarray:
        """mj_inverse"""
        self._set(x, xd)
        self.data.qacc[self.order] = xdd
        self.mj.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse[self.order].copy()

    def tree_forward(self, x: np.ndarray, xd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """mj_forward"""
        self._set(x, xd)
        self.data.qfrc_applied[self.order] = tau
        self.mj.mj_forward(self.model, self.data)
        return self.data.qacc[self.order].copy()

    def tree_mass_matrix(self, x: np.ndarray) -> np.ndarray:
        """mj_fullM"""
        self._set(x)
        self.mj.mj_forward(self.model, self.data)
        M = full_mass_matrix(self.mj, self.model, self.data)
        return M[np.ix_(self.order, self.order)]

    def tree_gravity(self, x: np.ndarray) -> np.ndarray:
        """mj_inverse at rest"""
        still = np.zeros_like(x)
        return self.tree_inverse(x, still, still)

    def tree_coriolis(self, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
        """mj_inverse without acceleration, less gravity"""
        return self.tree_inverse(x, xd, np.zeros_like(x)) - self.tree_gravity(x)

    def tree_pose(self, x: np.ndarray) -> np.ndarray:
        """mj_kinematics"""
        self._set(x)
        self.mj.mj_kinematics(self.model, self.data)
        T = np.eye(4)
        T[:3, :3] = self.data.xmat[self.tip].reshape(3, 3)
        T[:3, 3] = self.data.xpos[self.tip]
        return T @ self.tool

    def tree_jacobian(self, x: np.ndarray) -> np.ndarray:
        """mj_jac"""
        point = self.tree_pose(x)[:3, 3]
        self.mj.mj_comPos(self.model, self.data)
        linear, angular = np.zeros((3, self.model.nv)), np.zeros((3, self.model.nv))
        self.mj.mj_jac(self.model, self.data, linear, angular, point, self.tip)
        return np.vstack([linear, angular])[:, self.order]


def full_mass_matrix(mj: Any, model: Any, data: Any) -> np.ndarray:
    """mj_fullM, whose arguments changed between versions of MuJoCo."""
    M = np.zeros((model.nv, model.nv))
    try:
        mj.mj_fullM(model, M, data.qM)
    except (AttributeError, TypeError):
        mj.mj_fullM(model, data, M)
    return M


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
