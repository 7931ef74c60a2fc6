"""The chain as other libraries ask for it: rigid bodies by mass, centre of mass and inertia."""

from typing import Any, NamedTuple

import numpy as np

from ..dynamics import coupling
from ..dynamics.drives import rotor_matrix
from ..dynamics.kinematics import inertias
from ..errors import DynamisError
from ..model.chain import Chain
from ..robot import Robot
from ..spatial.frames import Frame, compose, inverse
from ..spatial.inertia import Inertia, symmetric_matrix, to_com, transformed_back

COUPLED = "not representable: its gear matrix couples motors to several joints"


class NotRepresentableError(DynamisError, ValueError):
    """A robot that another library's model cannot hold."""


class RigidBody(NamedTuple):
    """Mass, centre of mass, inertia about the centre of mass (3, 3)."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


class TreeJoint(NamedTuple):
    """A joint placed in its parent's frame, with the body it moves.

    Its axis passes through `anchor` of its own frame: z through the origin in joint frames.
    """

    kind: str
    parent: int  # -1 is the world
    R: np.ndarray
    p: np.ndarray
    body: RigidBody
    armature: float
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    anchor: tuple[float, float, float] = (0.0, 0.0, 0.0)


def rigid_tree(robot: Robot, q: np.ndarray) -> list[TreeJoint]:
    """Every joint of the tree in joint frames, a sliding centre of mass taken where it is at q."""
    return _tree(robot, q, [Frame()] * len(robot.chain.joints))


def user_tree(robot: Robot) -> list[TreeJoint]:
    """Every joint of the tree in the user's link frames."""
    return _tree(robot, np.zeros(robot.n), [body.user for body in robot.chain.bodies])


def _tree(robot: Robot, q: np.ndarray, own: list[Frame]) -> list[TreeJoint]:
    """The tree with each link in its `own` frame, given in its joint frame."""
    chain, names = robot.chain, body_names(robot)
    armature = _armature(chain)
    bodies = inertias(chain, list(coupling.positions(chain, q.tolist())))
    tree = []
    for i, joint in enumerate(chain.joints):
        above = Frame() if joint.parent < 0 else own[joint.parent]
        place = compose(compose(inverse(above), joint.placement), own[i])
        seen = inverse(own[i])
        body = rigid_body(transformed_back(own[i], bodies[i]), names[i])
        axis: Any = tuple(row[2] for row in seen.R)
        held = (body, armature[i], axis, seen.p)
        tree.append(TreeJoint(joint.kind, joint.parent, *arrays(place), *held))
    return tree


def arrays(place: Frame) -> tuple[np.ndarray, np.ndarray]:
    """A frame as arrays."""
    return np.array(place.R, dtype=float), np.array(place.p, dtype=float)


def branch_by_branch(tree: list[TreeJoint]) -> list[int]:
    """Numbers of the joints in depth-first order."""
    order, todo = [], [-1]
    while todo:
        at = todo.pop()
        order += [at] if at >= 0 else []
        todo += reversed([i for i, joint in enumerate(tree) if joint.parent == at])
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
            raise NotRepresentableError(f"not representable: {name} has a first moment but no mass")
        return RigidBody(0.0, np.zeros(3), np.array(symmetric_matrix(inertia.I), dtype=float))
    m, c, Ic = to_com(inertia)
    return RigidBody(m, np.array(c), np.array(symmetric_matrix(Ic)))


def _armature(chain: Chain) -> np.ndarray:
    """Reflected rotor inertia of each joint; motors that turn with several have no such number."""
    rotors = np.array(rotor_matrix(chain), dtype=float)
    if np.any(rotors - np.diag(np.diag(rotors))):
        raise NotRepresentableError(COUPLED)
    return np.diag(rotors).copy()


def slides(chain: Chain) -> bool:
    """Whether a centre of mass moves in its link, so that a peer holds for one q only."""
    return any(body.slide is not None for body in chain.bodies)
