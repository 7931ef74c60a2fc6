"""Least squares from triangular factors: ordinary, weighted, total."""

from dataclasses import dataclass, replace

import numpy as np

from .information import Information, condition, scaled

SHARE = 1e-3  # of an unknown in a direction without information
LOST = 1e-9  # singular values this small next to the largest carry no information


@dataclass(frozen=True, eq=False)
class Solution:
    """Unknowns with their covariance, and the standard deviation of the torque noise per joint."""

    x: np.ndarray
    covariance: np.ndarray
    sigma: np.ndarray  # (n,)
    weights: np.ndarray  # (n,)
    condition: float
    blind: np.ndarray | None = None  # unknowns that the motion does not show, or not apart


def ordinary(info: Information) -> Solution:
    """min sum |Y x - tau|^2, every joint alike."""
    return _solved(info, np.ones(len(info.rows)))


def weighted(info: Information, rounds: int = 3) -> Solution:
    """min sum |Y x - tau|^2 / sigma_j^2, sigma_j from the residuals themselves."""
    found = ordinary(info)
    for _ in range(rounds):
        found = _solved(info, 1.0 / np.maximum(found.sigma, 1e-9 * found.sigma.max() + 1e-300))
    return found


def total(info: Information) -> Solution:
    """Total least squares: the regressor may be wrong too, all scaled columns alike."""
    start = weighted(info)
    whole = info.stacked(start.weights)
    used = np.linalg.norm(whole, axis=0) > 0.0  # what is known beforehand has no columns
    R, lengths = scaled(whole[:, used])
    v = np.linalg.svd(R)[2][-1]
    if abs(v[-1]) < 1e-12:
        return start
    x = start.x.copy()
    x[used[:-1]] = -v[:-1] / v[-1] * lengths[-1] / lengths[:-1]
    sigma = _sigma(info, x)
    return replace(start, x=x, sigma=sigma)


def _solved(info: Information, weights: np.ndarray) -> Solution:
    R = info.stacked(weights)
    unit, lengths = scaled(R[:, :-1])
    U, s, Vt = np.linalg.svd(unit, full_matrices=False)
    kept = s > LOST * s[0] if len(s) else s > 0
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0)
    x = (Vt.T @ (inverse * (U.T @ R[:, -1]))) / lengths
    sigma = _sigma(info, x)
    # each joint's noise passes through x = (sum w^2 Y^T Y)^-1 sum w^2 Y^T tau
    P = (Vt.T * inverse**2) @ Vt / np.outer(lengths, lengths)
    noise = np.zeros_like(P)
    for F, w, sd in zip(info.factors, weights, sigma, strict=True):
        Y = F[:, :-1]
        noise += (w * w * sd) ** 2 * (Y.T @ Y)
    blind = np.abs(Vt[~kept]).max(axis=0, initial=0.0) > SHARE
    return Solution(x, P @ noise @ P, sigma, weights, condition(R[:, :-1]), blind)


def _sigma(info: Information, x: np.ndarray) -> np.ndarray:
    used = np.maximum(info.rows - len(x) / max(1, len(info.rows)), 1.0)
    return np.sqrt(info.residuals(x) / used)
