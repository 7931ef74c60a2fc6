"""Our chain as the plain numbers other engines ask for: centres of mass instead of moments."""

from typing import NamedTuple

import numpy as np

from ..dynamics import coupling
from ..dynamics.drives import rotor_matrix
from ..dynamics.kinematics import inertias
from ..errors import DynamisError
from ..model.chain import Chain
from ..robot import Robot
from ..spatial.inertia import Inertia, symmetric_matrix, to_com


class NotComparableError(DynamisError):
    """A robot about which a peer cannot be asked."""


class RigidBody(NamedTuple):
    """Mass, centre of mass, inertia about the centre of mass (3, 3)."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


class TreeJoint(NamedTuple):
    """A joint about or along z, placed in its parent's joint frame, with the body it moves."""

    kind: str
    parent: int  # -1 is the world
    R: np.ndarray
    p: np.ndarray
    body: RigidBody
    armature: float


def rigid_tree(robot: Robot, q: np.ndarray) -> list[TreeJoint]:
    """Every joint of the tree, a sliding centre of mass taken where it is at q."""
    chain, names = robot.chain, body_names(robot)
    armature = _armature(chain)
    bodies = inertias(chain, list(coupling.positions(chain, q.tolist())))
    return [
        TreeJoint(
            kind=joint.kind,
            parent=joint.parent,
            R=np.array(joint.placement.R, dtype=float),
            p=np.array(joint.placement.p, dtype=float),
            body=rigid_body(bodies[i], names[i]),
            armature=armature[i],
        )
        for i, joint in enumerate(chain.joints)
    ]


def branch_by_branch(tree: list[TreeJoint], start: int = -1) -> list[int]:
    """Numbers of the joints in depth-first order."""
    order = []
    for i, joint in enumerate(tree):
        if joint.parent == start:
            order += [i, *branch_by_branch(tree, i)]
    return order


def body_names(robot: Robot) -> tuple[str, ...]:
    """What the bodies of the tree are called, spinning rotors after the links."""
    links = tuple(f"link {name!r}" for name in robot.link_names)
    rotors = (f"the rotor of joint {name!r}" for name in robot.model.tree_joint_names)
    return (*links, *rotors)


def rigid_body(inertia: Inertia, name: str) -> RigidBody:
    """A body by its centre of mass; without mass it has one only if its first moment is zero."""
    if inertia.m == 0.0:
        if any(inertia.h):
            raise NotComparableError(f"not representable: {name} has a first moment but no mass")
        return RigidBody(0.0, np.zeros(3), np.array(symmetric_matrix(inertia.I), dtype=float))
    m, c, Ic = to_com(inertia)
    return RigidBody(m, np.array(c), np.array(symmetric_matrix(Ic)))


def _armature(chain: Chain) -> np.ndarray:
    """Reflected rotor inertia of each joint; motors that turn with several have no such number."""
    rotors = np.array(rotor_matrix(chain), dtype=float)
    if np.any(rotors - np.diag(np.diag(rotors))):
        raise NotComparableError(
            "not representable: its gear matrix couples motors to several joints"
        )
    return np.diag(rotors).copy()


def slides(chain: Chain) -> bool:
    """Whether a centre of mass moves in its link, so that a peer holds for one q only."""
    return any(body.slide is not None for body in chain.bodies)
