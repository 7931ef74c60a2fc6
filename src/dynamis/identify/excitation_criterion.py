"""How much a motion says about the unknowns.

    A = 1/N sum Z^T Z + ridge I,  Z = W Y D

with Y the columns of the unknowns, W one over the torque that is usual in each joint (noise is
taken to grow with it) and D one over the size that is usual in each column. "d-optimal" is
log det A: its exponent is one over the volume of the unknowns' confidence ellipsoid, squared.
"condition" is -log sum_j A_jj (A^-1)_jj: the condition number (Frobenius) of Z with columns of
unit length, which does not care how large the motion is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .information import condition
from .unknowns import Unknowns

CRITERIA = ("d-optimal", "condition")
LEAST = 0.01  # of the largest torque: no joint is weighted as if it were quieter


@dataclass(frozen=True, eq=False)
class Figures:
    """What is said about one motion."""

    value: float  # of the criterion; more is better
    log_det: float
    condition_number: float


@dataclass(frozen=True, eq=False)
class Measure:
    """The criterion with its fixed scales: `rows` (n,) is W, `columns` (m,) is D."""

    unknowns: Unknowns
    criterion: str
    ridge: float
    rows: np.ndarray
    columns: np.ndarray

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Z stacked over the samples of one motion, (N n, m)."""
        Y = self.unknowns.regressor(q, qd, qdd)
        return (Y * self.rows[:, None] * self.columns).reshape(-1, len(self.unknowns))

    def figures(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Figures:
        """Of one motion, with friction as it is."""
        Z = self.regressor(q, qd, qdd)
        A = Z.T @ Z / len(q) + self.ridge * np.eye(Z.shape[1])
        log_det = float(np.linalg.slogdet(A)[1])
        inflation = float((np.diag(A) * np.diag(np.linalg.inv(A))).sum())
        value = log_det if self.criterion == "d-optimal" else -float(np.log(inflation))
        return Figures(value, log_det, condition(Z))


def measure(
    unknowns: Unknowns, criterion: str, ridge: float, state: tuple[Any, Any, Any]
) -> Measure:
    """Scales from usual motions, q, qd, qdd (N, n)."""
    tau = np.sqrt(np.mean(unknowns.robot.inverse_dynamics(*state) ** 2, axis=0))
    largest = tau.max(initial=0.0)
    rows = 1.0 / np.maximum(tau, LEAST * largest) if largest > 0.0 else np.ones(len(tau))
    Y = unknowns.regressor(*state) * rows[:, None]
    size = np.sqrt(np.mean(np.sum(Y**2, axis=1), axis=0))
    columns = 1.0 / np.where(size > 0.0, size, 1.0)
    return Measure(unknowns, criterion, ridge, rows, columns)
