"""Which parameters the observations tell apart, and which of those pay on places held out.

Columns are taken in the order of preference: a parameter whose column is, but for a small part, a
combination of those before it stays nominal. What is left is tried on places that were not fitted:
a parameter without which these are met as well stays nominal too.
"""

from typing import NamedTuple

import numpy as np

from .fit import Fit

INDEPENDENT = 1e-3  # of a column: the part that no column before it explains
FOLDS = 10  # of places, at most
GAIN = 2e-4  # of the mean square error on held-out places: what a parameter must be worth


class Held(NamedTuple):
    """Equations of the places of each fold, over what they share: A (F, U, U), b (F, U), c (F,)."""

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray


def independent(fit: Fit) -> np.ndarray:
    """Parameters that are no combination of places and of parameters before them, (P,) bool."""
    system = fit.system()
    A, P = system.A[0], fit.count
    order = np.r_[P : len(A), 0:P]  # what is fitted with the arm comes first
    size = np.sqrt(np.maximum(np.diag(A), 1e-300))
    G = (A / np.outer(size, size))[np.ix_(order, order)]
    seen = np.diag(A)[order] > 0.0
    kept = np.zeros(len(G), dtype=bool)
    for k in range(len(G)):
        pivot = G[k, k]
        if not seen[k] or pivot < INDEPENDENT**2:
            continue
        kept[k] = True
        column = G[k + 1 :, k] / pivot
        G[k + 1 :, k + 1 :] -= np.outer(column, G[k, k + 1 :])
    found = np.zeros(len(G), dtype=bool)
    found[order] = kept
    return found[:P]


def folds_of(count: int, seed: int = 0) -> np.ndarray | None:
    """Fold of every place; None if there is one place only."""
    if count < 2:
        return None
    folds = min(FOLDS, count)
    return np.random.default_rng(seed).permutation(count) % folds


def held(fit: Fit, fold: np.ndarray) -> Held:
    """Equations in absolute parameters; what belongs to one place alone is fitted there."""
    system, local = fit.system(fold), fit.local
    P, total = fit.count, fit.count + len(local)
    x0 = np.concatenate([fit.values, np.zeros(len(local))])
    shared = np.concatenate([np.arange(P), P + np.flatnonzero(local < 0)])
    found = Held(*(np.zeros((len(system.c), *[len(shared)] * k)) for k in (2, 1, 0)))
    own = P + np.flatnonzero(local >= 0)
    for f in range(len(system.c)):
        A = system.A[f]
        b = system.b[f] + A @ x0
        c = system.c[f] + 2.0 * system.b[f] @ x0 + x0 @ A @ x0
        inside = own[fold[local[own - P]] == f] if len(own) else own
        inside = inside[np.diag(A)[inside] > 0.0]
        if len(inside):
            rows = np.column_stack([A[inside], b[inside]])
            right = np.linalg.solve(A[np.ix_(inside, inside)], rows)
            found.A[f] = (A - A[:, inside] @ right[:, :total])[np.ix_(shared, shared)]
            found.b[f] = (b - A[:, inside] @ right[:, total])[shared]
            found.c[f] = c - b[inside] @ right[:, total]
        else:
            found.A[f], found.b[f], found.c[f] = A[np.ix_(shared, shared)], b[shared], c
    return found


def paying(fit: Fit, fold: np.ndarray) -> np.ndarray:
    """The kept parameters less those without which held-out places are met as well, (P,) bool."""
    system, kept = held(fit, fold), fit.kept.copy()
    cost = _held_out(system, fit, kept)
    best = cost
    while kept.any():
        without = _held_out_without(system, fit, kept)
        j = int(np.argmin(without))
        if not without[j] <= (1.0 + GAIN) * best:
            break
        kept[j] = False
        best = min(best, float(without[j]))
    return kept


def _parts(
    system: Held, fit: Fit, kept: np.ndarray
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Unknowns that are free, and of every fold the solution without it and its inverse."""
    free = np.flatnonzero(
        np.concatenate([kept, np.ones(system.b.shape[1] - fit.count, dtype=bool)])
    )
    A, b = system.A.sum(axis=0), system.b.sum(axis=0)
    prior = np.concatenate([fit.model.priors**-2.0, np.zeros(len(b) - fit.count)])
    size = 1.0 / np.sqrt(np.maximum(np.diag(A) + prior, 1e-300))[free]
    found = []
    for Af, bf in zip(system.A, system.b, strict=True):
        M = (A - Af + np.diag(prior))[np.ix_(free, free)] * np.outer(size, size)
        inverse = np.linalg.pinv(M, rcond=1e-12, hermitian=True) * np.outer(size, size)
        found.append((inverse @ (b - bf)[free], inverse))
    return free, found


def _held_out(system: Held, fit: Fit, kept: np.ndarray) -> float:
    """Sum of weighted squares on all folds, each by the fit to the others."""
    free, solved = _parts(system, fit, kept)
    return sum(_cost(system, f, free, z) for f, (z, _) in enumerate(solved))


def _cost(system: Held, f: int, free: np.ndarray, z: np.ndarray) -> float:
    A, b = system.A[f][np.ix_(free, free)], system.b[f][free]
    return float(system.c[f] - 2.0 * b @ z + z @ A @ z)


def _held_out_without(system: Held, fit: Fit, kept: np.ndarray) -> np.ndarray:
    """The same without each of the kept parameters, (P,); infinite for the others."""
    free, solved = _parts(system, fit, kept)
    count = int(kept.sum())
    costs = np.zeros(count)
    for f, (z, inverse) in enumerate(solved):
        A, b = system.A[f][np.ix_(free, free)], system.b[f][free]
        Z = z[:, None] - inverse[:, :count] * (z / np.diag(inverse))[:count]
        costs += system.c[f] - 2.0 * b @ Z + np.einsum("ik,ij,jk->k", Z, A, Z, optimize=True)
    found = np.full(fit.count, np.inf)
    found[kept] = costs
    return found
