"""Scatter of the unknowns over blocks of the rows: what the noise of the torque does not show.

Errors of the model, ripple, slow drifts and friction of another shape are no noise with a spectrum:
they depend on where the motion is. The unknowns of every fit without one block b of the rows show
them (delete-one-block jackknife, Efron and Stein 1981):

    x_b - x = -(1 - A_b)^-1 P g_b
    A_b = P sum_j w_j^2 Y_bj^T Y_bj,   g_b = sum_j w_j^2 Y_bj^T r_bj
    S = (B - 1) / B sum_b d_b d_b^T,   d_b = x_b less the mean of all x_b

Blocks are stretches of time (slow noise, wear, events), whole logs, single joints (of a payload),
or ranges of a joint's velocity: without the fastest rows the law of friction is extrapolated, as
another motion does it, and repeats of a motion do not count as more. The covariance of the noise
grows to S where S is larger than chance would make it. What all blocks share stays hidden: what
friction with memory beside the law would change (`unmodelled`) counts as scatter over laws.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .information import NoiseGain
from .processing import Samples
from .unknowns import RIGID, Unknowns
from .unmodelled import Left, changes, elements_beside

TIMES = 12  # blocks of time
SPEEDS = 6  # ranges of the velocity of each joint
INFLUENCE = 0.95  # of a block that alone shows a direction: the others say nothing about it
MORE = 1.1  # times the deviation by noise: scatter that widens less does not decide
NOISE, TIME, VELOCITY, LOGS, JOINTS, LAWS = (
    *("noise of the torque", "blocks of time", "ranges of velocity", "logs", "joints"),
    "laws of friction",
)  # what decides an interval


class Blocks(NamedTuple):
    """Blocks of rows in directions with P = W W^T: influence A (B, k, k), score (B, k)."""

    root: np.ndarray  # W (m, k)
    influence: np.ndarray
    score: np.ndarray
    used: np.ndarray  # which blocks have rows, of all


class Scatter(NamedTuple):
    """Covariance of the unknowns over blocks (m, m), and what noise alone would make of it.

    `expected` is the mean of its eigenvalues next to those of white noise, `freedom` the degrees
    of freedom that they are found from.
    """

    covariance: np.ndarray
    expected: float
    freedom: float


class Rows(NamedTuple):
    """Weighted columns (b, n, m), weighted residual (b, n), and the blocks of every row.

    For every way of dividing the rows one array of numbers of blocks, (b, n), -1 for none.
    `elements` (b, n, k) are weighted columns beside the others, if any.
    """

    columns: np.ndarray
    residual: np.ndarray
    blocks: Sequence[np.ndarray]
    elements: np.ndarray | None = None


class Widened(NamedTuple):
    """A covariance (m, m), that of the noise alone, and what decides each unknown's interval."""

    covariance: np.ndarray
    noise: np.ndarray
    sources: tuple[str, ...]


def sums(
    rows: Iterator[Rows], counts: Sequence[int], gain: NoiseGain, left: Left | None = None
) -> list[Blocks]:
    """The sums of rows by block, for every way of dividing them into so many blocks.

    Those of elements by the blocks of the first way are added to `left`.
    """
    W = _root(gain.inverse)
    size, squares = W.shape[1], gain.weights**2
    found = [
        Blocks(W, np.zeros((n, size, size)), np.zeros((n, size)), np.ones(n, bool)) for n in counts
    ]
    for columns, residual, ways, elements in rows:
        for j, square in enumerate(squares):
            Z, r = columns[:, j] @ W, residual[:, j]
            if left is not None and elements is not None:
                left.add(j, elements[:, j], Z, r, ways[0][:, j])
            for (_, influence, score, _), block in zip(found, ways, strict=True):
                for b in np.unique(block[:, j]):
                    here = block[:, j] == b
                    if b >= 0:
                        influence[b] += square * (Z[here].T @ Z[here])
                        score[b] += square * (r[here] @ Z[here])
    return [_without_empty(x) for x in found]


def _without_empty(blocks: Blocks) -> Blocks:
    used = np.trace(blocks.influence, axis1=1, axis2=2) > 0.0
    return Blocks(blocks.root, blocks.influence[used], blocks.score[used], used)


def scatter(blocks: Blocks, extrapolated: bool = False) -> Scatter:
    """Scatter of fits without one block each; of fewer than two blocks there is none.

    Blocks are of unequal influence: noise alone scatters such fits by `expected` times its share.
    Where they are `extrapolated` to the block left out, that is meant to count.
    """
    W, A, g, _ = blocks
    count, size = g.shape
    if count < 2 or not size:
        return Scatter(np.zeros((len(W), len(W))), 1.0, 1.0)
    whole = max(float(np.linalg.eigvalsh(A.sum(axis=0))[-1]), 1e-300)
    left = np.eye(size) - INFLUENCE / whole * A
    share = (count - 1) / count
    moved = np.linalg.solve(left, g[..., None])[..., 0]
    x = (moved - moved.mean(axis=0)) @ W.T
    chance = np.trace(np.linalg.solve(left, A), axis1=1, axis2=2)
    freedom = float(chance.sum()) ** 2 / max(float((chance**2).sum()), 1e-300)
    expected = 1.0 if extrapolated else max(share * float(chance.sum()) / size, 1.0)
    return Scatter(share * (x.T @ x), expected, freedom)


def grown(noise: np.ndarray, found: Scatter) -> np.ndarray:
    """The covariance of the noise, grown to the scatter where that is larger than by chance.

    In directions in which the noise is 1 the scatter has eigenvalues s of mean l. Chance alone
    spreads them by (m + 1) / freedom l^2; in as far as it explains how they vary they are taken
    as l (Ledoit and Wolf 2004), and where they then exceed 1 they count.
    """
    scale = np.sqrt(np.maximum(np.diag(noise), 0.0))
    seen = np.isfinite(scale) & (scale > 0.0)
    unit = scale[seen]
    L = _root(noise[np.ix_(seen, seen)] / np.outer(unit, unit))
    if not L.size:
        return noise
    down = np.linalg.pinv(L)
    other = found.covariance[np.ix_(seen, seen)] / np.outer(unit, unit) / found.expected
    s, V = np.linalg.eigh(down @ other @ down.T)
    level, varies = float(s.mean()), float(s.var())
    chance = (len(s) + 1) / found.freedom * level**2
    share = min(1.0, chance / max(varies, 1e-300))
    more = np.maximum(share * level + (1.0 - share) * s - 1.0, 0.0)
    T = unit[:, None] * (L @ V)
    result = noise.copy()
    result[np.ix_(seen, seen)] += (T * more) @ T.T
    return result


def widened(
    noise: np.ndarray, groups: Sequence[tuple[np.ndarray, Mapping[str, Scatter]]]
) -> Widened:
    """The covariance of the noise, with groups of unknowns grown to their scatter.

    Every group is a mask (m,) and its scatter by what decides it. What is added is positive
    semidefinite: no direction becomes narrower.
    """
    result, sources = noise.copy(), np.full(len(noise), NOISE, dtype=object)
    for mask, ways in groups:
        inside, largest = np.ix_(mask, mask), np.diag(noise)[mask] * MORE**2
        for way, found in ways.items():
            before = np.diag(result)[mask].copy()
            result[inside] = grown(
                result[inside], found._replace(covariance=found.covariance[inside])
            )
            after = np.diag(result)[mask]
            sources[mask] = np.where((after > largest) & (after > before), way, sources[mask])
    return Widened(result, noise, tuple(map(str, sources)))


def by_kind(unknowns: Unknowns, found: Mapping[str, Scatter]) -> list:
    """Groups of unknowns: bodies and drives, and the friction of every joint.

    Velocity decides friction alone: the other columns are no functions of it.
    """
    joints = np.where(np.isin(unknowns.kinds, RIGID), -1, unknowns.joints)
    blocks = {way: one for way, one in found.items() if way != LAWS}
    without = {way: one for way, one in blocks.items() if way != VELOCITY}
    groups = [(joints == j, without if j < 0 else blocks) for j in np.unique(joints)]
    beside = {way: one for way, one in found.items() if way == LAWS}
    return [*groups, (np.ones(len(joints), bool), beside)]


def fitted_scatter(
    motions: Sequence[Samples],
    logs: Sequence[int],
    unknowns: Unknowns,
    x: np.ndarray,
    gain: NoiseGain,
) -> dict[str, Scatter]:
    """The scatter over blocks of time, velocities, logs and laws of friction, at unknowns x.

    `logs` says of every motion which log it is of.
    """
    times, speeds = time_blocks(motions), speed_blocks(motions)
    rubs = bool(len(unknowns.of_kind("coulomb")))  # else friction is left out, not its shape
    directions = _root(gain.inverse).shape[1]
    left = Left.zeros(count_of(times), unknowns.rows, directions) if rubs else None

    def rows() -> Iterator[Rows]:
        others = [None] * len(motions) if gain.instruments is None else gain.instruments
        for every in zip(motions, others, times, speeds, logs, strict=True):
            samples, instrument, time, speed, log = every
            own = None if instrument is None else instrument.blocks(unknowns)
            beside = elements_beside(samples) if rubs else np.zeros((len(samples), 0))
            for Y, tau, weight, k in samples.blocks(unknowns):
                residual = tau - Y @ x
                w = weight if gain.weigh is None else gain.weigh(residual, weight)
                columns = (Y if own is None else next(own)[0]) * w[..., None]
                ways = [time[k], speed[k], np.full_like(speed[k], log)]
                elements = beside[k] * w[..., None] if rubs else None
                yield Rows(columns, residual * w, ways, elements)

    counts = [count_of(times), count_of(speeds), max(logs) + 1]
    found = sums(rows(), counts, gain, left)
    ways = zip((TIME, VELOCITY, LOGS), found, strict=True)
    result = {way: scatter(one, extrapolated=way == VELOCITY) for way, one in ways}
    if left is not None:
        W, influence, score, used = found[0]
        moved = W @ changes(Left(*(one[used] for one in left)), influence, score, gain).T
        result[LAWS] = Scatter(moved @ moved.T, 1.0, np.inf)
    return result


def time_blocks(motions: Sequence[Samples]) -> list[np.ndarray]:
    """The block of time of every row, (N, n); each motion has at least one of its own."""
    share, first, found = sum(map(len, motions)) / TIMES, 0, []
    for samples in motions:
        count = max(1, round(len(samples) / share))
        block = first + np.arange(len(samples)) * count // len(samples)
        found.append(_counted(np.broadcast_to(block[:, None], samples.weight.shape), samples))
        first += count
    return found


def speed_blocks(motions: Sequence[Samples]) -> list[np.ndarray]:
    """The range of velocity of every joint and row, (N, n), equal parts of the joint's range."""
    fastest = np.max(
        [np.where(s.weight > 0.0, np.abs(s.qd[:, s.columns]), 0.0).max(axis=0) for s in motions],
        axis=0,
    )
    found = []
    for samples in motions:
        share = samples.qd[:, samples.columns] / np.maximum(fastest, 1e-300)
        part = np.clip(0.5 * (share + 1.0) * SPEEDS, 0, SPEEDS - 1).astype(int)
        found.append(_counted(part + SPEEDS * np.arange(len(fastest)), samples))
    return found


def _counted(block: np.ndarray, samples: Samples) -> np.ndarray:
    """Blocks of the rows that count, -1 for others."""
    return np.where(samples.weight > 0.0, block, -1)


def count_of(blocks: Sequence[np.ndarray]) -> int:
    """How many blocks there are."""
    return int(max(x.max(initial=-1) for x in blocks)) + 1


def sentence(sources: Sequence[str], wider: float) -> str:
    """What decides the intervals, in words; `wider` are those by scatter, next to noise alone."""
    count = {s: sources.count(s) for s in dict.fromkeys(sources)}
    if set(count) <= {NOISE}:
        return "the noise of the torque decides every interval"
    ways = sorted((s for s in count if s != NOISE), key=lambda s: -count[s])
    parts = ", ".join(f"over {s} {count[s]}" for s in ways)
    return (
        f"of {len(sources)} intervals the noise of the torque decides {count.get(NOISE, 0)}, "
        f"scatter {parts}: these are {wider:.2g} times as wide as by noise alone"
    )


def _root(P: np.ndarray) -> np.ndarray:
    """W (m, k) with W W^T = P, directions in which P is zero left out."""
    if not P.size:
        return P
    scale = np.sqrt(np.maximum(np.diag(P), 0.0))
    unit = np.where(scale > 0.0, scale, 1.0)
    values, V = np.linalg.eigh(0.5 * (P + P.T) / np.outer(unit, unit))
    kept = values > 1e-12 * max(float(values[-1]), 0.0)
    return unit[:, None] * V[:, kept] * np.sqrt(values[kept])
