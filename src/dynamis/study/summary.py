"""What is kept of the samples of a study: extremes, histograms, sums, worst cases, failures.

A block of samples has one summary; summaries are added in the order of their blocks, so that sums
have the same bits whoever computed the blocks. Histograms count whole numbers: a bin is the first
BITS binary digits of a number, so a quantile is known to half a bin, 0.05 % of itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compile.arrays import numbers
from ..errors import ShapeError, shown

BITS = 10
SHIFT = np.int64(52 - BITS)
WIDE = 2**16  # bins that are counted without sorting
COLUMN = 2**24  # bins from one column of a measure to the next
BIN_ERROR = 2.0 ** -(BITS + 1)  # of a number: half a bin
WORST = 100  # worst cases that are kept of every measure and of every joint
FACTORS, VALUES = 12, 22  # binary digits with which factors and values enter their products
FARTHEST = 8.5  # deviations: where a factor is cut off for its products
FEW = 256  # rows multiplied at a time: one thread does that
MOST_FAILED = 1000  # failures that are kept by number and reason; all are counted
LONGEST = 200  # letters of a reason


class Values(NamedTuple):
    """What a block of samples gave: values (count, k) by measure; why a sample failed, or ''."""

    values: Mapping[str, np.ndarray]
    reasons: Sequence[str]


class Summary:
    """A summary as arrays by name: `samples`, `failed`, and of every measure what `NAMES` lists."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    @property
    def samples(self) -> int:
        """How many."""
        return int(self.arrays["samples"])

    @property
    def failed(self) -> int:
        """How many gave nothing."""
        return int(self.arrays["failed"])

    def of(self, measure: str) -> dict[str, np.ndarray]:
        """The arrays of one measure."""
        start = f"{measure}/"
        return {k.removeprefix(start): v for k, v in self.arrays.items() if k.startswith(start)}


def summed(index: np.ndarray, factors: np.ndarray, found: Values) -> Summary:
    """The summary of a block of samples."""
    count, numbers = len(index), index
    bad = np.zeros(count, dtype=bool)
    if any(found.reasons):
        bad[:] = [bool(reason) for reason in found.reasons]
    for values in found.values.values():
        bad |= np.isnan(values).any(axis=1)
    kept = np.flatnonzero(bad)
    good: Any = slice(None) if not len(kept) else ~bad
    reasons = [found.reasons[k] or "a measure is not a number" for k in kept[:MOST_FAILED]]
    features = Features.of(factors[good])
    arrays = {
        "samples": np.int64(count),
        "failed": np.int64(len(kept)),
        "failed_at": numbers[kept[:MOST_FAILED]],
        "reasons": np.array([reason[:LONGEST] for reason in reasons], dtype=f"U{LONGEST}"),
    }
    for name, values in found.values.items():
        own = _one(index[good], features, values[good])
        arrays |= {f"{name}/{k}": v for k, v in own.items()}
    return Summary(arrays)


class Features(NamedTuple):
    """Factors and their squares less 1 as whole multiples of 2^-FACTORS, (count, f); their sums."""

    rows: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    products: np.ndarray  # of a factor and its square

    @staticmethod
    def of(factors: np.ndarray) -> "Features":
        """From factors of mean 0 and variance 1."""
        count, f = factors.shape
        every, sums = np.empty((count, 2 * f)), [np.zeros(2 * f), np.zeros(2 * f), np.zeros(f)]
        for first in range(0, count, FEW):  # as many as a processor's cache holds
            rows = every[first : first + FEW]
            near, squares = rows[:, :f], rows[:, f:]
            np.clip(factors[first : first + FEW], -FARTHEST, FARTHEST, out=near)
            np.multiply(near, near, out=squares)
            squares -= 1.0
            rows *= 2.0**FACTORS
            np.rint(rows, out=rows)
            for k, part in enumerate((rows, rows * rows, near * squares)):
                sums[k] += np.add.reduce(part, axis=0)
        return Features(every, *sums)

    def seen(self, finite: np.ndarray) -> dict[str, np.ndarray]:
        """Sums (f, k) over the samples in which each measure (k, count) is finite."""
        f = len(self.products)
        if finite.all():
            own = [np.tile(x[:, None], (1, len(finite))) for x in self[1:]]
        else:
            parts = self.rows, self.rows**2, self.rows[:, :f] * self.rows[:, f:]
            own = [_exact(x, finite.astype(float)) for x in parts]
        digits = 2.0**-FACTORS
        names = ("seen", "seen_squares", "seen_products")
        return dict(zip(names, (own[0] * digits, *(x * digits**2 for x in own[1:])), strict=True))


def _one(index: np.ndarray, features: Features, given: np.ndarray) -> dict[str, np.ndarray]:
    """One measure: values (count, k)."""
    values = np.ascontiguousarray(given.T) + 0.0  # no -0
    finite = np.isfinite(values)
    used = values if finite.all() else np.where(finite, values, 0.0)
    with np.errstate(over="ignore"):
        squares = np.add.reduce(used * used, axis=1)
    _, power = np.frexp(np.abs(used).max(axis=1, initial=0.0))
    whole = np.rint(np.ldexp(used, (VALUES - power)[:, None]))
    found = {
        "finite": finite.sum(axis=1),
        "total": np.add.reduce(used, axis=1),
        "squares": squares,
        "products": np.ldexp(_exact(features.rows, whole), power - VALUES - FACTORS),
        **features.seen(finite),
    }
    columns = np.arange(len(values))
    if len(index):
        low, high = values.argmin(axis=1), values.argmax(axis=1)
        found |= {"lowest": values[columns, low], "lowest_at": index[low]}
        found |= {"highest": values[columns, high], "highest_at": index[high]}
    else:
        none = np.full(len(columns), -1)
        found |= {"lowest": np.full(len(columns), np.inf), "lowest_at": none}
        found |= {"highest": np.full(len(columns), -np.inf), "highest_at": none}
    return found | _ranked(values, index) | _histogram(values)


def _exact(features: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Sums (f, k) of features (count, f) times numbers (k, count), all of them whole.

    No sum is rounded, so none depends on its order.
    """
    total = np.zeros((len(numbers), features.shape[1]))
    for k in range(0, len(features), FEW):
        total += numbers[:, k : k + FEW] @ features[k : k + FEW]
    return total.T


def _ranked(values: np.ndarray, index: np.ndarray) -> dict[str, np.ndarray]:
    """The worst by the largest of the joints (rank 0) and by each: numbers and values."""
    order = []
    for rank in (values.max(axis=0, initial=-np.inf), *values):
        some = np.arange(len(rank))
        if len(rank) > 4 * WORST:  # everything as bad as the last that is kept
            edge = np.partition(rank, len(rank) - WORST)[len(rank) - WORST]
            some = np.flatnonzero(rank >= edge)
        order.append(some[np.lexsort((index[some], -rank[some]))][:WORST])
    return {
        "worst_at": np.stack([index[k] for k in order]),
        "worst": np.stack([values[:, k].T for k in order]),
    }


def bins_of(values: np.ndarray) -> np.ndarray:
    """The bin of every number, in the order of the numbers."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    size = (bits & np.int64(2**63 - 1)) >> SHIFT
    return np.where(bits < 0, -size, size)


def middle_of(bins: np.ndarray) -> np.ndarray:
    """The middle of a bin; of the bin of infinity, infinity."""
    size = np.abs(bins)
    low, high = ((size + k) << SHIFT for k in (0, 1))
    edge = np.int64(0x7FF) << np.int64(52)
    ends = [np.minimum(x, edge).view(np.float64) for x in (low, high)]
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(np.isfinite(ends[1]), 0.5 * ends[0] + 0.5 * ends[1], ends[0])
    middle = np.where(size == 0, 0.0, middle)
    return np.where(bins < 0, -middle, middle)


def _histogram(values: np.ndarray) -> dict[str, np.ndarray]:
    """Counts by column and bin, in order."""
    bins, counts = [], []
    for c, own in enumerate(bins_of(values)):
        low = own.min(initial=np.iinfo(np.int64).max)
        if len(own) and own.max() - low < WIDE:
            every = np.bincount(own - low)
            found = np.flatnonzero(every)
            count, found = every[found], found + low
        else:
            found, count = np.unique(own, return_counts=True)
        bins.append(found + (COLUMN * c + COLUMN // 2))
        counts.append(count)
    return {
        "bins": np.concatenate(bins).astype(np.int64),
        "counts": np.concatenate(counts).astype(np.int64),
    }


def added(parts: Sequence[Summary]) -> Summary:
    """Summaries as one, in the order of their samples; sums are added one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    measures = [k.removesuffix("/total") for k in first.arrays if k.endswith("/total")]
    arrays = {k: _sum([part[k] for part in parts]) for k in ("samples", "failed")}
    for k in ("failed_at", "reasons"):
        arrays[k] = np.concatenate([part[k] for part in parts])[:MOST_FAILED]
    for measure in measures:
        joined = _joined([part.of(measure) for part in parts])
        arrays |= {f"{measure}/{k}": v for k, v in joined.items()}
    return Summary(arrays)


def _sum(terms: Sequence[np.ndarray]) -> np.ndarray:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _joined(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    sums = ("finite", "total", "squares", "products", "seen", "seen_squares", "seen_products")
    found = {k: _sum([part[k] for part in parts]) for k in sums}
    for name, best in (("lowest", np.argmin), ("highest", np.argmax)):
        which = best(np.stack([part[name] for part in parts]), axis=0)  # the first of equals
        for k in (name, f"{name}_at"):
            rows = np.stack([part[k] for part in parts])
            found[k] = np.take_along_axis(rows, which[None], axis=0)[0]
    at, values = (np.concatenate([p[k] for p in parts], axis=1) for k in ("worst_at", "worst"))
    own = [values[c + 1, :, c] for c in range(values.shape[2])]
    ranks = [values[0].max(axis=1, initial=-np.inf), *own]
    rows = [np.lexsort((i, -r))[:WORST] for i, r in zip(at, ranks, strict=True)]
    found["worst_at"] = np.stack([i[k] for i, k in zip(at, rows, strict=True)])
    found["worst"] = np.stack([v[k] for v, k in zip(values, rows, strict=True)])
    every = np.concatenate([part["bins"] for part in parts])
    bins, where = np.unique(every, return_inverse=True)
    counts = np.zeros(len(bins), dtype=np.int64)
    np.add.at(counts, where.reshape(-1), np.concatenate([part["counts"] for part in parts]))
    return {**found, "bins": bins, "counts": counts}


def quantiles(summary: Summary, measure: str, shares: np.ndarray) -> np.ndarray:
    """Values (len(shares), k) that a share of all samples does not exceed; failures are inf."""
    total = summary.samples
    ranks = np.clip(np.ceil(shares * total - 1e-9 * total).astype(np.int64), 1, max(total, 1))
    return at_ranks(summary, measure, ranks)


def at_ranks(summary: Summary, measure: str, ranks: np.ndarray) -> np.ndarray:
    """Values (len(ranks), k) by their place in order, from 1 on; inf beyond the last."""
    own = summary.of(measure)
    columns = len(own["total"])
    found = np.full((len(ranks), columns), np.inf)
    for c in range(columns):
        mine = own["bins"] // COLUMN == c
        upto = np.cumsum(own["counts"][mine])
        place = np.searchsorted(upto, ranks)
        there = (place < len(upto)) & (ranks >= 1)
        middles = middle_of(own["bins"][mine] % COLUMN - COLUMN // 2)
        clipped = np.clip(middles, own["lowest"][c], own["highest"][c])
        found[there, c] = clipped[place[there]]
        found[ranks < 1, c] = -np.inf
    return found


class Distribution(NamedTuple):
    """The finite values of a column as a distribution function: corners, counts up to them."""

    corners: np.ndarray
    upto: np.ndarray
    infinite: int  # values that are not finite

    @property
    def low(self) -> float:
        """Smallest value."""
        return float(self.corners[0])

    @property
    def high(self) -> float:
        """Largest finite value."""
        return float(self.corners[-1])

    def heights(self, edges: Any) -> np.ndarray:
        """How many values lie between neighbours among `edges`, which increase."""
        given = numbers(edges, "edges", "expected numbers that increase")
        if given.ndim != 1 or len(given) < 2 or not (np.diff(given) > 0.0).all():
            raise ShapeError(f"edges is {shown(edges)}, expected numbers that increase")
        if not len(self.corners):
            return np.zeros(len(given) - 1)
        return np.diff(np.interp(given, self.corners, self.upto, left=0.0))


def distribution(summary: Summary, measure: str, column: int) -> Distribution:
    """That of one column; within a bin of the histogram values are taken as spread evenly."""
    own = summary.of(measure)
    mine = own["bins"] // COLUMN == column
    middles, counts = middle_of(own["bins"][mine] % COLUMN - COLUMN // 2), own["counts"][mine]
    there = np.isfinite(middles)
    infinite, middles, counts = int(counts[~there].sum()), middles[there], counts[there]
    half = BIN_ERROR * np.abs(middles)
    ends = np.stack([middles - half, middles + half], axis=1)
    low, high = own["lowest"][column], own["highest"][column]
    ends = np.clip(ends, low if np.isfinite(low) else None, high if np.isfinite(high) else None)
    total = np.cumsum(counts)
    upto = np.stack([total - counts, total], axis=1)
    return Distribution(ends.ravel(), upto.ravel().astype(float), infinite)


def shares_of_variance(summary: Summary, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Of the variance of a measure, what each factor explains by a line and beyond it, (f, k).

    r1^2, and (r2 - r1 r12)^2 / (1 - r12^2) more by a parabola: correlations over the finite values
    with the factor (r1), with its square (r2) and between the two (r12).
    """
    own = summary.of(measure)
    count = np.maximum(own["finite"], 1)
    with np.errstate(all="ignore"):
        mean, square = own["total"] / count, own["squares"] / count
        variance = square - mean * mean
        first = own["seen"] / count
        width = own["seen_squares"] / count - first * first
        r = (own["products"] / count - first * mean) / np.sqrt(width * variance)
        r = np.where((variance > 1e-12 * square) & (width > 1e-12), r, 0.0)
        half = len(r) // 2
        joint = own["seen_products"] / count - first[:half] * first[half:]
        r12 = joint / np.sqrt(width[:half] * width[half:])
        alone = 1.0 - r12 * r12
        beyond = (r[half:] - r[:half] * r12) ** 2 / alone
    linear = np.minimum(r[:half] ** 2, 1.0)
    beyond = np.where(alone > 1e-6, beyond, 0.0)  # also where r12 is not a number
    return linear, np.clip(beyond, 0.0, 1.0 - linear)
