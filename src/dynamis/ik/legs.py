"""Legs of closed mechanisms: short arms that end in a closure whose other side is known.

With a leg's foot and the other side of its closure in place, the leg is a serial arm that has to
bring its end to a point, whatever the other legs do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model.chain import Chain, ChainClosure
from ..spatial.frames import Frame, matrix
from .batch import SolvedRows, merged
from .closed_form import arm_positions, out_of_reach, point_candidates, turned
from .geometry import JointSpace, SerialArm, motion, outside

MOST = 512  # solutions of one pose: legs multiply them
MEETS = 1e-7  # distance from the point, in sizes of leg and target, of a candidate that is no miss
POINTS = ("ball", "universal", "pin", "weld")  # closures whose origins coincide
CROSSING = 1e-9  # distance, in sizes of the leg, of axes that meet; sine of the angle between them


@dataclass(frozen=True)
class Leg:
    """Joints of the tree from a foot to a closure, and the frame its end has to meet."""

    closure: int
    joints: tuple[int, ...]  # from the foot on
    foot: int  # the link it stands on; -1: the base
    arm: SerialArm  # in the frame of the foot; its tool is the closure's frame
    goal: tuple[int, Frame]  # on the other side of the closure

    def target(self, chain: Chain, q: np.ndarray) -> np.ndarray:
        """Where the end has to be, in the frame of the foot, (k, 3)."""
        link, frame = self.goal
        T = link_poses(chain, link, q)
        p = turned(T[..., :3, :3], np.array(frame.p)) + T[..., :3, 3]
        F = link_poses(chain, self.foot, q)
        return turned(np.swapaxes(F[..., :3, :3], -1, -2), p - F[..., :3, 3])

    def why_not(self, chain: Chain, q: np.ndarray, name: str) -> str:
        """Why the end cannot be there, at one q (n,); empty when distances do not tell."""
        return out_of_reach(self.arm, self.target(chain, q[None])[0], f"leg to {name!r}: its end")


def link_poses(chain: Chain, link: int, q: np.ndarray) -> np.ndarray:
    """Joint frame of a link in the reference frame, (k, 4, 4); of the base: that frame itself."""
    T = np.zeros((len(q), 4, 4)) + np.eye(4)
    for i in reversed(chain.ancestors(link)):
        joint = chain.joints[i]
        T = T @ np.array(matrix(joint.placement)) @ motion(joint.kind[0].upper(), q[:, i])
    return T


def arm_between(chain: Chain, joints: Sequence[int], end: Frame) -> SerialArm:
    """Some joints of the tree, each the parent of the next, as an arm in the frame of the foot."""
    kinds = "".join(chain.joints[i].kind[0].upper() for i in joints)
    placements = np.array([matrix(chain.joints[i].placement) for i in joints])
    return SerialArm(kinds, placements, np.array(matrix(end)))


def legs_beyond(chain: Chain, placed: Sequence[int]) -> list[Leg] | None:
    """Legs that decide all other joints where the links `placed` are; None if they do not."""
    if chain.coupling is not None:
        return None
    known, legs = {-1, *placed}, []
    while len(known) <= len(chain.joints):
        leg = next((x for c in range(len(chain.closures)) if (x := _leg(chain, c, known))), None)
        if leg is None:
            return None
        legs.append(leg)
        known |= set(leg.joints)
    return legs


def _leg(chain: Chain, number: int, known: set[int]) -> Leg | None:
    """The leg that a closure ends, if all of it but the leg is known."""
    closure = chain.closures[number]
    for (own, end), goal in (closure.ends, closure.ends[::-1]):
        if own in known or goal[0] not in known or closure.kind not in POINTS:
            continue
        joints = [i for i in chain.ancestors(own) if i not in known][::-1]
        arm = arm_between(chain, joints, end)
        if len(joints) <= 3 and moves(arm):
            return Leg(number, tuple(joints), chain.joints[joints[0]].parent, arm, goal)
    return None


def moves(arm: SerialArm) -> bool:
    """Whether every joint of the arm moves its tool's origin in a way of its own."""
    J = arm.slopes(arm_positions(arm, 8)) / np.where(arm.turning, arm.size, 1.0)[:, None]
    return bool(np.linalg.matrix_rank(J, tol=1e-8).max() == len(arm.kinds))


def with_legs(
    chain: Chain,
    legs: Sequence[Leg],
    rows: SolvedRows,
    space: JointSpace,
    limits: np.ndarray,
) -> tuple[SolvedRows, Leg | None]:
    """Rows multiplied by the solutions of the legs; the first leg that left nothing, or None.

    `limits` (n, 2) are those that count. At most MOST rows of each pose stay.
    """
    for leg in legs:
        own = list(leg.joints)
        of, x = point_candidates(leg.arm, leg.target(chain, rows.q))
        goal = leg.target(chain, rows.q[of])
        size = leg.arm.size + np.linalg.norm(goal, axis=-1)
        met = np.linalg.norm(leg.arm.reach(x) - goal, axis=-1) < MEETS * size
        part = JointSpace(space.revolute[own], space.size)
        x = part.into_limits(part.wrapped(x), limits[own])
        met &= ~outside(x, limits[own]).any(axis=-1)
        found = SolvedRows(of[met], x[met])
        packed = found.packed(len(rows.q))
        found, _ = merged(packed, np.full(packed.shape[:2], part.reach(0.0)), part)
        if not len(found.of) and len(rows.of):
            return SolvedRows(rows.of[:0], rows.q[:0]), leg
        q = rows.q[found.of]
        q[:, own] = found.q
        rows = SolvedRows(rows.of[found.of], q)
        rows = rows.chosen(np.flatnonzero(rows.places < MOST))
    return rows, None


# legs that turn about a point, with nothing free beyond it: rods of fixed length


def rods(chain: Chain, free: Sequence[int]) -> list[Leg]:
    """Legs whose free joints are two revolute ones that meet; they end in a ball."""
    found: list[Leg] = []
    taken: set[int] = set()
    for number, closure in enumerate(chain.closures):
        if chain.coupling is not None or closure.kind != "ball":
            continue
        for (own, end), goal in (closure.ends, closure.ends[::-1]):
            leg = _turning_leg(chain, number, own, end, goal, free)
            if leg is not None and not taken & {*leg.joints, *chain.ancestors(goal[0])}:
                found.append(leg)
                taken |= set(leg.joints)
                break
    return found


def _turning_leg(
    chain: Chain, number: int, own: int, end: Frame, goal: tuple[int, Frame], free: Sequence[int]
) -> Leg | None:
    joints: list[int] = []
    for i in chain.ancestors(own):
        joints.insert(0, i)
        if sum(k in free for k in joints) == 2:
            break
    two = joints[:2]
    if len(two) < 2 or sum(k in free for k in joints) != 2 or not all(k in free for k in two):
        return None
    if any(chain.joints[k].kind != "revolute" for k in two) or _carry(chain, joints, number):
        return None
    arm = arm_between(chain, joints, end)
    return (
        None if _centre(arm) is None else Leg(number, tuple(joints), _foot(chain, two), arm, goal)
    )


def _foot(chain: Chain, joints: Sequence[int]) -> int:
    return chain.joints[joints[0]].parent


def _carry(chain: Chain, joints: Sequence[int], number: int) -> bool:
    """Whether these links carry anything but their own closure: a link, the tool, another end."""
    children = {k for k, joint in enumerate(chain.joints) if joint.parent in joints}
    others = (x.ends for k, x in enumerate(chain.closures) if k != number)
    ends = {link for pair in others for link, _ in pair}
    tool = set(chain.ancestors(chain.tip)) & set(joints)
    return bool(children - set(joints) or ends & set(joints) or tool)


def _centre(arm: SerialArm) -> np.ndarray | None:
    """Where the first two axes meet, in the frame of the foot; None if they do not."""
    frames = arm.frames(np.zeros(len(arm.kinds)))[:2]
    (z1, z2), (o1, o2) = frames[:, :3, 2], frames[:, :3, 3]
    across = np.cross(z1, z2)
    if np.linalg.norm(across) < CROSSING or abs(across @ (o2 - o1)) > CROSSING * arm.size:
        return None
    along = np.linalg.lstsq(np.stack([z1, -z2], axis=1), o2 - o1, rcond=None)[0]
    return o1 + along[0] * z1


def as_rods(chain: Chain, legs: Sequence[Leg], q: np.ndarray) -> tuple[Chain, tuple[int, ...]]:
    """The chain with legs replaced by rods of their lengths at q (n,), and the joints it keeps."""
    gone = {i for leg in legs for i in leg.joints}
    kept = tuple(i for i in range(len(chain.joints)) if i not in gone)
    place = {-1: -1} | {old: new for new, old in enumerate(kept)}
    joints = [chain.joints[i] for i in kept]
    closures = list(chain.closures)
    for leg in legs:
        centre = _centre(leg.arm)
        assert centre is not None
        length = float(np.linalg.norm(leg.arm.reach(q[list(leg.joints)]) - centre))
        foot = leg.foot, Frame(p=tuple(centre.tolist()))
        closures[leg.closure] = ChainClosure("rod", (foot, leg.goal), length)
    moved = [
        x._replace(ends=tuple((place[link], frame) for link, frame in x.ends)) for x in closures
    ]
    own = tuple(x._replace(parent=place[x.parent]) for x in joints)
    return replace(chain, joints=own, closures=tuple(moved), shift=(0.0,) * len(own)), kept


def with_others_held(leg: Leg, q: np.ndarray) -> Leg:
    """The leg's first two joints alone, those beyond them held at q (n,)."""
    arm, tool = leg.arm, leg.arm.tool
    for k in reversed(range(2, len(leg.joints))):
        tool = arm.placements[k] @ motion(arm.kinds[k], q[leg.joints[k]]) @ tool
    return replace(
        leg, joints=leg.joints[:2], arm=SerialArm(arm.kinds[:2], arm.placements[:2], tool)
    )
