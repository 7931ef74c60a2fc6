"""Least squares of all observations at once: robust, with priors, by Gauss-Newton.

    minimise  sum_k w_k |r_k|^2 / s_k^2 + sum_j (x_j / tolerance_j)^2

over the arm's parameters x and the places fitted with them. s_k is the scatter of a kind of
residual about the fit (its median), beside that of the instrument; w_k falls for residuals beyond
HUBER scatters and is zero for outliers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .error_model import ErrorModel
from .residuals import Block, Part, State

STEPS = 30
SETTLED = 1e-7  # relative change of the cost at which it stops
OUTLIER = 3.0  # times BOUND: what is further off is an outlier
BOUND = {1: 1.960, 2: 2.448, 3: 2.795}  # of |r| / s: 95 of 100 are within
MEDIAN = {1: 0.6745, 2: 1.1774, 3: 1.5382}  # of |r| / s of so many components
WITHIN = {1: 0.9130, 2: 0.9500, 3: 0.9635}  # mean of min(|r|, BOUND s)^2 over k s^2
HUBER = {1: 0.85, 2: 1.2, 3: 1.5}  # beyond, a residual counts by its size, not by its square
FLOOR = 1e-12  # m or rad


class Weights(NamedTuple):
    """Weights (N,) of one kind of residual, its scatter, and which are outliers."""

    w: np.ndarray
    scatter: float
    outliers: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True, eq=False)
class System:
    """Normal equations in the folds of places: A (F, U, U), b (F, U), c (F,) of U unknowns.

    The unknowns are the arm's parameters, then all places; `values` are where it is linear about.
    """

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters (P,) and places of every set at the minimum."""

    model: ErrorModel
    blocks: tuple[Block, ...]
    values: np.ndarray
    states: tuple[State, ...]
    parts: tuple[tuple[Part, ...], ...]
    weights: tuple[tuple[Weights, ...], ...]
    kept: np.ndarray  # (P,) bool: those that were free

    @property
    def count(self) -> int:
        """Number of parameters, free or not."""
        return len(self.values)

    @property
    def sizes(self) -> list[int]:
        """Unknowns of the places of every set."""
        return [b.size(s) for b, s in zip(self.blocks, self.states, strict=True)]

    @property
    def local(self) -> np.ndarray:
        """Place of measurement that each place's unknown belongs to alone, or -1."""
        found = [b.local(s) for b, s in zip(self.blocks, self.states, strict=True)]
        return np.concatenate(found) if found else np.zeros(0, dtype=int)

    def each(self) -> list[tuple[int, Part, Weights]]:
        """First unknown of a set, its residuals and their weights."""
        found, first = [], self.count
        for size, parts, weights in zip(self.sizes, self.parts, self.weights, strict=True):
            found += [(first, part, w) for part, w in zip(parts, weights, strict=True)]
            first += size
        return found

    def rows(self, part: Part, first: int) -> np.ndarray:
        """Columns of a part by all unknowns, (U, N, k)."""
        total = self.count + sum(self.sizes)
        found = np.zeros((total, *part.r.shape))
        found[: self.count] = part.J
        found[first : first + len(part.Jn)] = part.Jn
        return found

    def system(self, fold: np.ndarray | None = None) -> System:
        """Normal equations; `fold` numbers the fold of every place of measurement."""
        total = self.count + sum(self.sizes)
        folds = 1 if fold is None else int(fold.max()) + 1
        A, b, c = np.zeros((folds, total, total)), np.zeros((folds, total)), np.zeros(folds)
        for first, part, weights in self.each():
            root = np.sqrt(weights.w)[:, None]
            r = part.r * root
            own = slice(first, first + len(part.Jn))
            both = np.concatenate([part.J, part.Jn]) * root
            where = np.r_[0 : self.count, own]
            number = np.zeros(len(r), dtype=int) if fold is None else fold[part.place]
            for f in np.unique(number):
                rows = number == f
                J, e = both[:, rows].reshape(len(where), -1), r[rows].reshape(-1)
                A[f][np.ix_(where, where)] += J @ J.T
                b[f][where] -= J @ e
                c[f] += e @ e
        return System(A, b, c)

    @property
    def priors(self) -> np.ndarray:
        """Weights of the priors, (U,)."""
        return np.concatenate([self.model.priors**-2.0, self._expected[1]])

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the unknowns from their expected values, (U,)."""
        return np.concatenate([self.values, self._expected[0]])

    @property
    def _expected(self) -> np.ndarray:
        """Offsets and weights of the unknowns of all places, (2, M)."""
        found = [np.array(b.expected(s)) for b, s in zip(self.blocks, self.states, strict=True)]
        return np.concatenate(found, axis=1)

    @property
    def free(self) -> np.ndarray:
        """Unknowns that are fitted, (U,) bool."""
        return np.concatenate([self.kept, np.ones(sum(self.sizes), dtype=bool)])


def start(model: ErrorModel, blocks: Sequence[Block], values: np.ndarray | None = None) -> Fit:
    """The nominal arm with the places that fit it best."""
    x = np.zeros(len(model.parameters)) if values is None else values
    states = tuple(b.start(model, x) for b in blocks)
    found = Fit(model, tuple(blocks), x, states, (), (), np.zeros(len(x), dtype=bool))
    return fitted(_evaluated(found), found.kept, fixed=x)


def fitted(fit: Fit, kept: np.ndarray, steps: int = STEPS, fixed: np.ndarray | None = None) -> Fit:
    """The minimum over the `kept` parameters and all places; the others are zero, or `fixed`."""
    rest = np.zeros_like(fit.values) if fixed is None else fixed
    fit = _evaluated(replace(fit, kept=kept, values=np.where(kept, fit.values, rest)))
    damping = 0.0
    for _ in range(steps):
        fit = _weighted(fit)
        cost = _cost(fit)
        system, free = fit.system(), fit.free
        A = system.A[0] + np.diag(fit.priors)
        b = system.b[0] - fit.priors * fit.offsets
        while True:
            step = np.zeros(len(b))
            step[free] = _solved(A[np.ix_(free, free)], b[free], damping)
            new = _stepped(fit, step)
            if _cost(new) <= cost * (1.0 + 1e-12) or damping > 1e6:
                break
            damping = max(10.0 * damping, 1e-6)
        damping = 0.1 * damping if damping > 1e-6 else 0.0
        gain = cost - _cost(new)
        fit = new
        if gain <= SETTLED * cost:
            break
    return fit


def _solved(A: np.ndarray, b: np.ndarray, damping: float) -> np.ndarray:
    """A x = b, scaled; what is not decided stays where it is."""
    size = np.sqrt(np.maximum(np.diag(A), 1e-300))
    scaled = A / np.outer(size, size)
    scaled[np.diag_indices_from(scaled)] += damping + 1e-12
    try:
        return np.linalg.solve(scaled, b / size) / size
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(scaled, b / size, rcond=1e-10)[0] / size


def _stepped(fit: Fit, step: np.ndarray) -> Fit:
    states, k = [], fit.count
    for block, state, size in zip(fit.blocks, fit.states, fit.sizes, strict=True):
        states.append(block.moved(state, step[k : k + size]))
        k += size
    return _evaluated(replace(fit, values=fit.values + step[: fit.count], states=tuple(states)))


def _evaluated(fit: Fit) -> Fit:
    """Residuals and columns at the values."""
    parts = tuple(
        tuple(b.parts(fit.model, fit.values, s))
        for b, s in zip(fit.blocks, fit.states, strict=True)
    )
    if not fit.weights:
        fit = _weighted(replace(fit, parts=parts))
    return replace(fit, parts=parts)


def _cost(fit: Fit) -> float:
    found = sum(float((w.w * (part.r**2).sum(axis=1)).sum()) for _, part, w in fit.each())
    return found + float((fit.priors * fit.offsets**2).sum())


def _weighted(fit: Fit) -> Fit:
    """Weights of the residuals where they are now."""
    unknowns = int(fit.kept.sum()) + sum(fit.sizes)
    rows = sum(part.r.size for parts in fit.parts for part in parts)
    spare = rows / max(rows - unknowns, 0.2 * rows)
    weights = tuple(tuple(_weights(part, spare) for part in parts) for parts in fit.parts)
    return replace(fit, weights=weights)


def _weights(part: Part, spare: float) -> Weights:
    """Huber's weights over the variance of a residual: the instrument's and the scatter beyond."""
    size, k = np.linalg.norm(part.r, axis=1), part.r.shape[1]
    if part.fixed:
        none = np.zeros(len(size), dtype=bool)
        return Weights(part.std**-2.0, float(part.std.mean()), none, part.std**2)
    scatter = max(_scatter(size, k) * np.sqrt(spare), FLOOR)
    own = part.std**2
    excess = max(scatter**2 - float(np.median(own)), 0.0)
    variance = np.maximum(own + excess, FLOOR**2)
    d = size / np.sqrt(variance)
    w = np.minimum(1.0, HUBER[k] / np.maximum(d, 1e-300)) / variance
    outliers = d > OUTLIER * BOUND[k]
    return Weights(np.where(outliers, 0.0, w), scatter, outliers, variance)


def _scatter(size: np.ndarray, k: int) -> float:
    """Standard deviation of each of k components: the median's, then by all that is within."""
    s = float(np.median(size)) / MEDIAN[k]
    for _ in range(5):
        s = float(np.sqrt((np.minimum(size, BOUND[k] * s) ** 2).mean() / (k * WITHIN[k])))
    return s
