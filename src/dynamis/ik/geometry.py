"""The arm as inverse kinematics sees it: the joints from base to tool, as plain arrays.

The tool's pose is P_1 M_1(q_1) P_2 M_2(q_2) ... P_n M_n(q_n) tool, with constant placements P_i and
M_i a turn about (or a slide along) z.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..spatial.frames import matrix

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class Arm:
    """A serial arm: the kinds of its joints ("R" or "P" each), their placements, its tool."""

    kinds: str
    placements: np.ndarray  # (n, 4, 4)
    tool: np.ndarray  # (4, 4)

    @property
    def size(self) -> float:
        """The length of the arm's constant parts: a scale for tolerances, never zero."""
        return _length([*self.placements[1:, :3, 3], self.tool[:3, 3]])

    def first(self, count: int) -> "Arm":
        """The first joints alone, the others held at 0 as part of the tool."""
        tool = self.tool
        for P in self.placements[count:][::-1]:
            tool = P @ tool
        return Arm(self.kinds[:count], self.placements[:count], tool)

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


def serial_arm(robot: "Robot") -> Arm | None:
    """The robot as a serial arm; None when joints are coupled or sit off the way to the tool."""
    chain = robot.chain
    path = chain.ancestors(chain.tip)[::-1]
    if chain.coupling is not None or len(path) != robot.n:
        return None
    kinds = "".join(chain.joints[i].kind[0].upper() for i in path)
    placements = np.array([matrix(chain.joints[i].placement) for i in path])
    return Arm(kinds, placements, np.array(matrix(chain.tool)))


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
