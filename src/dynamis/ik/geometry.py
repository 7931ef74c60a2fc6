"""The arm as inverse kinematics sees it: joints from base to tool as plain arrays, joint space.

The tool's pose is P_1 M_1(q_1) P_2 M_2(q_2) ... P_n M_n(q_n) tool, with constant placements P_i and
M_i a turn about (or a slide along) z.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..spatial.frames import matrix

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class SerialArm:
    """A serial arm: the kinds of its joints ("R" or "P" each), their placements, its tool."""

    kinds: str
    placements: np.ndarray  # (n, 4, 4)
    tool: np.ndarray  # (4, 4)

    @property
    def size(self) -> float:
        """The length of the arm's constant parts: a scale for tolerances, never zero."""
        return _length([*self.placements[1:, :3, 3], self.tool[:3, 3]])

    def first(self, count: int) -> "SerialArm":
        """The first joints alone, the others held at 0 as part of the tool."""
        tool = self.tool
        for P in self.placements[count:][::-1]:
            tool = P @ tool
        return SerialArm(self.kinds[:count], self.placements[:count], tool)

    def frames(self, q: np.ndarray) -> np.ndarray:
        """Every joint's frame after its motion, in the reference frame, (..., n, 4, 4)."""
        T = np.eye(4)
        result = []
        for kind, P, x in zip(self.kinds, self.placements, np.moveaxis(q, -1, 0), strict=True):
            T = T @ P @ motion(kind, x)
            result.append(T)
        return np.stack(result, axis=-3)

    def reach(self, q: np.ndarray) -> np.ndarray:
        """Position of the tool, (..., 3)."""
        return self.frames(q)[..., -1, :3, :] @ self.tool[:, 3]

    def slopes(self, q: np.ndarray) -> np.ndarray:
        """Velocity of the tool's origin per rate of each joint, (..., n, 3)."""
        frames = self.frames(q)
        z, o, p = frames[..., :3, 2], frames[..., :3, 3], frames[..., -1, :3, :] @ self.tool[:, 3]
        return np.where(self.turning[:, None], np.cross(z, p[..., None, :] - o), z)

    @property
    def turning(self) -> np.ndarray:
        """Which joints turn, (n,)."""
        return np.array([kind == "R" for kind in self.kinds])


def serial_arm(robot: "Robot") -> SerialArm | None:
    """The robot as a serial arm; None when joints are coupled or sit off the way to the tool."""
    chain = robot.chain
    path = chain.ancestors(chain.tip)[::-1]
    if chain.coupling is not None or len(path) != robot.n:
        return None
    kinds = "".join(chain.joints[i].kind[0].upper() for i in path)
    placements = np.array([matrix(chain.joints[i].placement) for i in path])
    return SerialArm(kinds, placements, np.array(matrix(chain.tool)))


def arm_size(robot: "Robot") -> float:
    """The length of the constant parts between the first joint and the tool, never zero."""
    chain = robot.chain
    path = chain.ancestors(chain.tip)[:-1]
    return _length([*(chain.joints[i].placement.p for i in path), chain.tool.p])


def _length(steps: list) -> float:
    return float(sum(np.linalg.norm(p) for p in steps)) or 1.0


def motion(kind: str, x: np.ndarray) -> np.ndarray:
    """M(x): a turn about z ("R") or a slide along it ("P"), (..., 4, 4)."""
    T = np.zeros((*np.shape(x), 4, 4)) + np.eye(4)
    if kind == "P":
        T[..., 2, 3] = x
        return T
    c, s = np.cos(x), np.sin(x)
    T[..., 0, 0], T[..., 0, 1], T[..., 1, 0], T[..., 1, 1] = c, -s, s, c
    return T


# which joint positions are the same, which lie within the limits, and in what order they come

TURN = 2 * np.pi
SAME = 1e-5  # radians, or arm sizes for prismatic joints
BLURRED = 0.1  # the most it may be where the tool hardly feels a motion
EDGE = 1e-9  # how far outside its limits a joint may be and still be at them
ROUNDING = 1e-12  # how close to -pi an angle is pi


def turning(robot: "Robot") -> np.ndarray:
    """Which coordinates are angles, (n,)."""
    return np.array([kind == "revolute" for kind in robot.joint_kinds])


def pose_scale(size: float) -> np.ndarray:
    """One over a size for the rows of a position, 1 for those of a rotation, (6,)."""
    return np.where(np.arange(6) < 3, 1.0 / size, 1.0)


def whole_turns(robot: "Robot") -> np.ndarray:
    """Which coordinates bring the arm back after 2 pi: not those mimicked by half a turn, (n,)."""
    chain, same = robot.chain, np.ones(robot.n, dtype=bool)
    for joint, row in zip(chain.joints[: chain.links], chain.coupling or (), strict=False):
        factors = np.array(row, dtype=float)
        turns = factors == np.round(factors) if joint.kind == "revolute" else factors == 0.0
        same &= turns
    return same


@dataclass(frozen=True)
class JointSpace:
    """The space q lives in: angles modulo 2 pi, slides measured in arm sizes."""

    revolute: np.ndarray  # (n,) of bool; a revolute joint that does not come round is no such one
    size: float

    @classmethod
    def of(cls, robot: "Robot", size: float) -> "JointSpace":
        """That of all coordinates of a robot."""
        return cls(turning(robot) & whole_turns(robot), size)

    def differences(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Joint differences, (..., n)."""
        d = np.abs(a - b)
        turned = np.abs((d + np.pi) % TURN - np.pi)
        return np.where(self.revolute, turned, d / self.size)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Largest joint difference, (...,)."""
        return self.differences(a, b).max(axis=-1)

    def away(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Distance to sort by: what differs by rounding counts as equally far."""
        return np.round(self.distance(a, b), 6)

    def wrapped(self, q: np.ndarray) -> np.ndarray:
        """Angles in (-pi, pi]."""
        angle = np.pi - (np.pi - q) % TURN
        angle = np.where(angle <= ROUNDING - np.pi, np.pi, angle)
        return np.where(self.revolute, angle, q)

    def into_limits(self, q: np.ndarray, limits: np.ndarray) -> np.ndarray:
        """Each angle turned by whole turns into its limits, nearest to 0; as it is if it cannot."""
        low, high = limits[:, 0] - EDGE, limits[:, 1] + EDGE
        with np.errstate(invalid="ignore"):
            up = np.ceil((low - q) / TURN)
            down = np.floor((high - q) / TURN)
        turns = np.where(q < low, up, np.where(q > high, down, 0.0))
        shifted = q + TURN * np.where(self.revolute & np.isfinite(turns), turns, 0.0)
        return np.where(outside(shifted, limits), q, shifted)

    def merged(self, q: np.ndarray, open_by: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """The first of each group of equal rows, and how many rows each stands for.

        `open_by` says how far from a solution each row may be; beyond BLURRED it lies on a
        continuum, where other rows are other solutions.
        """
        kept: list[int] = []
        counts: list[int] = []
        reach = np.broadcast_to(self.reach(open_by), len(q))
        for i, row in enumerate(q):
            near = self.distance(q[kept], row) < reach[i] if kept else np.array([])
            if near.any():
                counts[int(np.argmax(near))] += 1
            else:
                kept.append(i)
                counts.append(1)
        return np.array(kept, dtype=int), np.array(counts, dtype=int)

    def reach(self, open_by: Any) -> np.ndarray:
        """How far from a row that may be `open_by` from a solution others are the same."""
        return np.where(np.less(open_by, BLURRED), np.maximum(open_by, SAME), SAME)

    def far_apart(self, q: np.ndarray, count: int) -> np.ndarray:
        """Indices of at most `count` rows far from each other, the first one included."""
        chosen = [0]
        gap = self.distance(q, q[0])
        while len(chosen) < min(count, len(q)):
            chosen.append(int(np.argmax(gap)))
            gap = np.minimum(gap, self.distance(q, q[chosen[-1]]))
        return np.array(chosen)


def outside(q: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Which joints are beyond their limits, (..., n)."""
    return (q < limits[:, 0] - EDGE) | (q > limits[:, 1] + EDGE)


def in_order(q: np.ndarray) -> np.ndarray:
    """Indices that sort rows joint by joint."""
    return np.lexsort(np.round(q, 6).T[::-1])
