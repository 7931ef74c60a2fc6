"""Numerical rank and independent columns of a regressor stacked over random states.

M. Gautier, Numerical calculation of the base inertial parameters of robots, 1991: columns are
scaled to length one, so that the tolerance means the same for a mass and for an inertia.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..robot import Robot

SAMPLES = 200  # random states; every joint gives one row of each
TOLERANCE = 1e-9  # a singular value (or column) this small next to the largest is a rounding error
CLEAR = 1e3  # singular values should lie this far from the tolerance, on either side
SHORT = 6  # decimals of a number that was meant to be one


class Rank(NamedTuple):
    """A rank with its evidence: the singular values, relative to the largest, on both sides."""

    rank: int
    smallest_kept: float
    largest_dropped: float
    tolerance: float

    @property
    def is_clear(self) -> bool:
        """Whether nothing lies near the tolerance: a wide gap between kept and dropped."""
        kept = self.rank == 0 or self.smallest_kept > CLEAR * self.tolerance
        return kept and self.largest_dropped * CLEAR < self.tolerance

    def __str__(self) -> str:
        return (
            f"rank {self.rank}: singular values {self.smallest_kept:.1e} kept, "
            f"{self.largest_dropped:.1e} dropped, tolerance {self.tolerance:.1e}"
        )


def random_regressor(robot: "Robot", count: int = SAMPLES) -> np.ndarray:
    """Y at always the same random states, (count, n, p); every joint moves in each of them."""
    rng = np.random.default_rng(1)
    chain = robot.chain
    size = max((abs(x) for joint in chain.joints for x in joint.placement.p), default=0.0) or 1.0
    reach = [np.pi if kind == "revolute" else size for kind in robot.joint_kinds]
    q = rng.uniform(-1.0, 1.0, (count, robot.n)) * reach
    qd, qdd = rng.normal(size=(2, count, robot.n))
    state = {"q": q, "qd": qd, "qdd": qdd}
    return robot._calls.interpreted("regressor", state)


def scaled(A: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Columns of unit length, those that are zero up to rounding exactly zero; their lengths."""
    lengths = np.linalg.norm(A, axis=0)
    live = lengths > tolerance * lengths.max(initial=0.0)
    lengths = np.where(live, lengths, 1.0)
    return np.where(live, A / lengths, 0.0), lengths


def numeric_rank(A: np.ndarray, tolerance: float = TOLERANCE) -> Rank:
    """Number of independent columns of A: singular values above tolerance times the largest."""
    unit, _ = scaled(A, tolerance)
    s = np.linalg.svd(_triangle(unit), compute_uv=False)
    largest = s.max(initial=0.0)
    if largest == 0.0:
        return Rank(0, 0.0, 0.0, tolerance)
    s = s / largest
    rank = int((s > tolerance).sum())
    return Rank(rank, s[rank - 1], s[rank] if rank < s.size else 0.0, tolerance)


def null_space(A: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Rows x that span A x = 0."""
    unit, lengths = scaled(A, tolerance)
    _, s, Vt = np.linalg.svd(_triangle(unit))
    rank = int((s > tolerance * s.max(initial=0.0)).sum())
    return Vt[rank:] / lengths


def independent_columns(A: np.ndarray, order: Sequence[int], tolerance: float) -> list[int]:
    """Columns of A kept, in the given order, if no combination of those kept before equals them."""
    unit, _ = scaled(A, tolerance)
    R = _triangle(unit)
    Q = np.empty((R.shape[0], 0))
    kept = []
    for j in order:
        rest = R[:, j]
        for _ in range(2):  # the second pass removes what rounding left of the first
            rest = rest - Q @ (Q.T @ rest)
        length = np.linalg.norm(rest)
        if length > tolerance:
            Q = np.column_stack([Q, rest / length])
            kept.append(j)
    return sorted(kept)


def combinations(A: np.ndarray, kept: Sequence[int], tolerance: float) -> np.ndarray:
    """B with A = A[:, kept] B: every column as a combination of the kept ones."""
    unit, lengths = scaled(A, tolerance)
    B, *_ = np.linalg.lstsq(unit[:, kept], unit, rcond=None)
    B = np.where(np.abs(B) > tolerance, B, 0.0)
    B = B * lengths / lengths[list(kept)][:, None]
    B[:, kept] = np.eye(len(kept))
    return short(B, tolerance)


def short(x: np.ndarray, tolerance: float) -> np.ndarray:
    """Numbers that are a short decimal up to rounding become it."""
    rounded = np.round(x, SHORT)
    return np.where(
        np.abs(x - rounded) <= 1e-3 * tolerance * np.maximum(np.abs(x), 1.0), rounded, x
    )


def _triangle(A: np.ndarray) -> np.ndarray:
    """R of A = Q R: as small as A is wide, with the same lengths and angles between columns."""
    return np.asarray(np.linalg.qr(A, mode="r"))
