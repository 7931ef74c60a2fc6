"""The result of `robot.ik`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Solutions:
    """Every distinct solution found, each with what it leaves of the task's error.

    `residual` is the norm of the task's error, metres and radians taken together. `reason` is
    empty when there is nothing to say; otherwise it says why there is no solution, that the target
    is singular (a closed form then sets the angle that is free to 0) or how nearly so (solutions
    may then be missing), or that these are a few of a continuum.
    """

    q: np.ndarray  # (k, n)
    residual: np.ndarray  # (k,)
    reason: str
    method: str  # "closed form: ..." or "numeric"

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.q)

    def __repr__(self) -> str:
        count = f"{len(self)} solution{'' if len(self) == 1 else 's'}"
        head = f"Solutions({count}, {self.method}" + (f"; {self.reason}" if self.reason else "")
        rows = [
            "  [" + " ".join(f"{x:z9.5f}" for x in q) + f"]  residual {r:.1e}"
            for q, r in zip(self.q, self.residual, strict=True)
        ]
        return "\n".join([head + (":" if rows else ")"), *rows]) + (")" if rows else "")


# which joint positions are the same, which lie within the limits, and in what order they come

TURN = 2 * np.pi
SAME = 1e-5  # radians, or arm sizes for prismatic joints
BLURRED = 0.1  # the most it may be where the tool hardly feels a motion
EDGE = 1e-9  # how far outside its limits a joint may be and still be at them

ROUNDING = 1e-12  # how close to -pi an angle is pi


@dataclass(frozen=True)
class JointSpace:
    """The space q lives in: angles modulo 2 pi, slides measured in arm sizes."""

    revolute: np.ndarray  # (n,) of bool
    size: float

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Largest joint difference, (...,)."""
        d = np.abs(a - b)
        turned = np.abs((d + np.pi) % TURN - np.pi)
        return np.where(self.revolute, turned, d / self.size).max(axis=-1)

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
        reach = np.where(np.less(open_by, BLURRED), np.maximum(open_by, SAME), SAME)
        reach = np.broadcast_to(reach, len(q))
        for i, row in enumerate(q):
            near = self.distance(q[kept], row) < reach[i] if kept else np.array([])
            if near.any():
                counts[int(np.argmax(near))] += 1
            else:
                kept.append(i)
                counts.append(1)
        return np.array(kept, dtype=int), np.array(counts, dtype=int)

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
