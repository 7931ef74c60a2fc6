"""What is kept of the samples of a study: extremes, histograms, sums, worst cases, failures.

A block of samples has one summary; summaries are added in the order of their blocks, so that sums
have the same bits whoever computed the blocks. Histograms count whole numbers: a bin is the first
BITS binary digits of a number, so a quantile is known to half a bin, 0.05 % of itself.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..arguments import strict
from ..compile.arrays import numbers
from ..errors import ShapeError, shown

BITS = 10
SHIFT = np.int64(52 - BITS)
COLUMN = 2**24  # bins from one column of a measure to the next
BIN_ERROR = 2.0 ** -(BITS + 1)  # of a number: half a bin
WORST = 100  # worst cases that are kept of every measure and of every joint
FACTORS, VALUES = 12, 22  # binary digits with which factors and values enter their products
FARTHEST = 8.5  # deviations: where a factor is cut off for its products
LONG = 512  # rows multiplied at a time
SMALL = 2**17  # products of a multiplication of matrices that one thread does
MOST_FAILED = 1000  # failures that are kept by number and reason; all are counted
LONGEST = 200  # letters of a reason
CHANCE = 13.8  # over the number of samples: the share that a factor without effect has once in 1000
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


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
    """The summary of a block of samples, whose numbers increase; all measures at a time."""
    count, sizes = len(index), [v.shape[1] for v in found.values.values()]
    ends = np.cumsum([0, *sizes])
    spans = [slice(a, b) for a, b in pairwise(ends.tolist())]
    values = np.empty((ends[-1], count))
    for span, rows in zip(spans, found.values.values(), strict=True):
        values[span] = rows.T
    values += 0.0  # no -0
    bad = np.isnan(values).any(axis=0)
    if any(found.reasons):
        bad |= np.array([bool(reason) for reason in found.reasons])
    kept = np.flatnonzero(bad)
    reasons = [found.reasons[k] or "a measure is not a number" for k in kept[:MOST_FAILED]]
    arrays = {
        "samples": np.int64(count),
        "failed": np.int64(len(kept)),
        "failed_at": index[kept[:MOST_FAILED]],
        "reasons": np.array([reason[:LONGEST] for reason in reasons], dtype=f"U{LONGEST}"),
    }
    if len(kept):
        index, factors = index[~bad], factors[~bad]
        values = np.ascontiguousarray(values[:, ~bad])
    by_column = _sums(factors, values) | _extremes(values, index)
    tops = [values[span].max(axis=0, initial=-np.inf) for span in spans]
    ranks = np.concatenate([values, np.reshape(tops, (len(spans), -1))])
    ordered = np.sort(ranks, axis=1)
    worst = _worst(ranks, ordered)
    histograms = _histograms(ordered[: len(values)], spans)
    for k, (name, span) in enumerate(zip(found.values, spans, strict=True)):
        own = {what: x[..., span] for what, x in by_column.items()}
        at = np.concatenate([worst[len(values) + k][None], worst[span]])
        own |= {"worst_at": index[at], "worst": values[span][:, at].transpose(1, 2, 0)}
        arrays |= {f"{name}/{what}": x for what, x in (own | histograms[k]).items()}
    return Summary(arrays)


def _sums(factors: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
    """Of values (k, count): how many are finite, their sums, products with the factors."""
    finite = np.isfinite(values)
    every = bool(finite.all())
    used = values if every else np.where(finite, values, 0.0)
    with np.errstate(over="ignore"):
        squares = np.add.reduce(used * used, axis=1)
    _, power = np.frexp(np.abs(used).max(axis=1, initial=0.0))
    whole = np.rint(np.ldexp(used, (VALUES - power)[:, None]))
    seen = np.ones((1, len(factors))) if every else finite.astype(float)
    products, *sums = _products(factors, whole, seen)
    digits = 2.0**-FACTORS
    scales, names = (digits, digits**2, digits**2), ("seen", "seen_squares", "seen_products")
    return {
        "finite": finite.sum(axis=1),
        "total": np.add.reduce(used, axis=1),
        "squares": squares,
        "products": np.ldexp(products, power - VALUES - FACTORS),
        **{
            name: np.broadcast_to(x * scale, (len(x), len(values)))
            for name, x, scale in zip(names, sums, scales, strict=True)
        },
    }


def _products(factors: np.ndarray, numbers: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sums (2 f, k) over factors of mean 0 and variance 1 and their squares less 1.

    Times numbers (k, count), times `seen` (1 or 0) and, squared and with one another, times it.
    Factors and squares are whole multiples of 2^-FACTORS, numbers whole: no sum is rounded, so none
    depends on its order.
    """
    count, f = factors.shape
    few = max(16, min(LONG, SMALL // max(1, len(numbers) * f)))
    pair, work = np.empty((2, few, f)), np.empty((few, f))
    products, totals = np.zeros((2, len(numbers), f)), np.zeros((5, len(seen), f))
    for first in range(0, count, few):  # as many as a processor's cache holds
        part = slice(first, min(first + few, count))
        size = part.stop - first
        (near, square), some = pair[:, :size], work[:size]
        np.clip(factors[part], -FARTHEST, FARTHEST, out=some)
        np.multiply(some, 2.0**FACTORS, out=near)
        np.multiply(near, some, out=square)
        square -= 2.0**FACTORS
        np.rint(near, out=near)
        np.rint(square, out=square)
        own, there = numbers[:, part], seen[:, part]
        for k, x in enumerate((near, square)):
            products[k] += own @ x
            totals[k] += there @ x
        for k, (x, y) in enumerate(((near, near), (square, square), (near, square)), 2):
            totals[k] += there @ np.multiply(x, y, out=some)
    found = products, totals[:2], totals[2:4], totals[4:]
    return tuple(np.swapaxes(x, 1, 2).reshape(-1, x.shape[1]) for x in found)


def _extremes(values: np.ndarray, index: np.ndarray) -> dict[str, np.ndarray]:
    """Lowest and highest of values (k, count), and the sample; the first of equals."""
    columns, found = np.arange(len(values)), {}
    for name, best, none in (("lowest", np.argmin, np.inf), ("highest", np.argmax, -np.inf)):
        if len(index):
            at = best(values, axis=1)
            found |= {name: values[columns, at], f"{name}_at": index[at]}
        else:
            found |= {name: np.full(len(values), none), f"{name}_at": np.full(len(values), -1)}
    return found


def _worst(ranks: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Places (rows, WORST) of the largest of every row, of which `ordered` is the sorted one.

    Equals are in their own order.
    """
    rows, count = ranks.shape
    some = np.full((rows, 1), -np.inf) if count <= 4 * WORST else ordered[:, [count - WORST]]
    row, place = np.nonzero(ranks >= some)  # everything as bad as the last that is kept
    order = np.lexsort((-ranks[row, place], row))
    first = np.searchsorted(row, np.arange(rows))
    return place[order[first[:, None] + np.arange(min(WORST, count))]]


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


def _histograms(ordered: np.ndarray, spans: Sequence[slice]) -> list[dict[str, np.ndarray]]:
    """Of every measure: counts by column and bin, in order, from its sorted columns."""
    columns, count = ordered.shape
    bins, new = bins_of(ordered), np.ones(ordered.shape, dtype=bool)
    np.not_equal(bins[:, 1:], bins[:, :-1], out=new[:, 1:])
    at = np.flatnonzero(new)
    counts = np.diff(at, append=columns * count)
    found = bins.reshape(-1)[at] + (COLUMN * (at // max(count, 1)) + COLUMN // 2)
    cuts = [slice(*np.searchsorted(at, [span.start * count, span.stop * count])) for span in spans]
    return [
        {"bins": found[cut] - COLUMN * span.start, "counts": counts[cut]}
        for cut, span in zip(cuts, spans, strict=True)
    ]


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
    rows = [_first(i, r) for i, r in zip(at, ranks, strict=True)]
    found["worst_at"] = np.stack([i[k] for i, k in zip(at, rows, strict=True)])
    found["worst"] = np.stack([v[k] for v, k in zip(values, rows, strict=True)])
    every, counts = (np.concatenate([p[k] for p in parts]) for k in ("bins", "counts"))
    order = np.argsort(every, kind="stable")  # quick where sorted parts follow one another
    ordered = every[order]
    new = np.flatnonzero(np.diff(ordered, prepend=-1))  # no bin has a number below 0
    together = np.add.reduceat(counts[order], new) if len(new) else counts
    return {**found, "bins": ordered[new], "counts": together}


def _first(numbers: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Places of the WORST largest, of equals those with the lowest numbers."""
    some = np.arange(len(rank))
    if len(rank) > 2 * WORST:
        some = np.flatnonzero(rank >= np.partition(rank, len(rank) - WORST)[len(rank) - WORST])
    return some[np.lexsort((numbers[some], -rank[some]))[:WORST]]


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


@strict
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


def scaled(size: float, unit: str) -> tuple[float, str]:
    """A factor, and the unit with the prefix, in which a number of this size is short."""
    if not unit or not 0.0 < size < np.inf:
        return 1.0, unit
    for scale, prefix in PREFIXES:
        if size >= scale:
            return 1.0 / scale, prefix + unit
    return 1.0 / PREFIXES[-1][0], PREFIXES[-1][1] + unit
