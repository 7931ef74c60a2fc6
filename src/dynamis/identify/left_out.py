"""Errors on blocks of time left out in turn, of one way of processing, one law after the other.

Every way is measured on the same instants against the torque as logged. Rigid columns change slowly
with the motion: they are computed once, at those instants. Friction changes fast where a joint
turns round: its columns pass the filter at full rate, and they alone change from law to law.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.signal import butter

from ..lazy import cached_property
from ..logs.log import Log
from .information import completed, joint_weights
from .processing import Processing, Samples, prepare
from .unknowns import LARGEST_LOAD, LAW_CONSTANTS, RIGID, Unknowns

if TYPE_CHECKING:
    from ..robot import Robot

BLOCKS = 12  # of time, each left out once
ROWS = 3000  # instants that are compared, at least and at most twice as many, where a log has them
OUT = 0.9  # of a block that is left out: what it alone shows is learnt from the rest of it
ROUNDS = 3  # of weights of the joints
DENSE = 80.0  # rows per period of the cut-off before the filter: friction turns within fewer
RIDGE = 1e-11  # of a column's square: directions that the motion does not show stay small
ALIKE = 100.0  # rows whose errors count as one
FAINT = 1e-2  # of what a joint leaves: less differs by chance
HALF = 0.5  # of what is left: less is better whatever single blocks say
SURE = 4.0  # standard deviations over blocks, by which one model is worse than another
ENOUGH = 3.0  # rows per unknown that a search needs


@dataclass(frozen=True)
class Instants:
    """Which rows of logs are compared: every `step`-th of every log's even grid; ends of blocks."""

    steps: tuple[int, ...]
    ends: tuple[np.ndarray, ...]  # instants of every log at which its next block of time begins

    @classmethod
    def of(cls, logs: Sequence[Log], processing: Processing) -> "Instants":
        """Those of some logs."""
        rows = [x.duration * (processing.rate or x.rate) for x in logs]
        step = 2 ** int(np.log2(max(1.0, sum(rows) / ROWS)))
        share = sum(x.duration for x in logs) / BLOCKS
        counts = [max(1, round(x.duration / max(share, 1e-300))) for x in logs]
        ends = [
            np.linspace(x.t[0], x.t[-1], n + 1)[1:-1] for x, n in zip(logs, counts, strict=True)
        ]
        return cls((step,) * len(logs), tuple(ends))


@dataclass(frozen=True, eq=False)
class Stretch:
    """A stretch of a log: dense rows, and which of them are compared; `first` is its first row."""

    dense: Samples
    at: np.ndarray
    first: int


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of logs processed in one way, (k, n): motion, torque filtered, as logged, weight."""

    processing: Processing
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    logged: np.ndarray
    weight: np.ndarray
    temperature: np.ndarray | None
    cuts: np.ndarray  # where every block of time begins and ends, (blocks + 1,)
    stretches: tuple[Stretch, ...]

    @classmethod
    def of(
        cls, logs: Sequence[Log], processing: Processing, instants: Instants, robot: "Robot"
    ) -> "Rows":
        """Those of logs."""
        parts, stretches, block, first, begun = [], [], [], 0, 0
        whole = replace(processing, every=1)
        for log, step, ends in zip(logs, instants.steps, instants.ends, strict=True):
            found, chosen = prepare(log, whole, quasi_static=True, robot=robot)
            for samples in found:
                low = samples.low_passed(samples.tau)
                at = np.arange(step // 2, len(samples), step)
                warm = None if samples.temperature is None else samples.temperature[at]
                names = ("q", "qd", "qdd")
                motion = [getattr(samples, name)[at] for name in names]
                parts.append([*motion, low[at], samples.tau[at], samples.weight[at], warm])
                stretches.append(_thinned(samples, step, chosen, at, first))
                block.append(begun + np.searchsorted(ends, samples.t[at], side="right"))
                first += len(at)
            begun += len(ends) + 1
        columns = list(zip(*parts, strict=True))
        warm = None if any(x is None for x in columns[-1]) else np.concatenate(columns[-1])
        cuts = np.searchsorted(np.concatenate(block), np.arange(begun + 1))
        q, qd, qdd, tau, logged, weight = (np.concatenate(x) for x in columns[:-1])
        return cls(processing, q, qd, qdd, tau, logged, weight, warm, cuts, tuple(stretches))

    def __len__(self) -> int:
        return len(self.q)

    def regressor(self, unknowns: Unknowns) -> np.ndarray:
        """Columns of the unknowns, unfiltered, (k, n, m)."""
        u = [stretch.dense.deflection(unknowns)[0][stretch.at] for stretch in self.stretches]
        motion = self.q, self.qd, self.qdd
        return unknowns.regressor(*motion, self.temperature, np.concatenate(u))

    def friction(
        self, unknowns: Unknowns, load: Sequence[np.ndarray | None]
    ) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        """(unknown, joint, column filtered and as it is (k,)) of friction; its load (N, n)."""
        found: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
        for stretch, own in zip(self.stretches, load, strict=True):
            dense, at = stretch.dense, stretch.at
            rows = slice(stretch.first, stretch.first + len(at))
            deflection = dense.deflection(unknowns)[0]
            entries = [*unknowns.friction_columns(dense.qd, dense.temperature, own, deflection)]
            if not entries:
                continue
            low = dense.low_passed(np.stack([column for *_, column in entries], axis=1))
            for (k, joint, column), filtered in zip(entries, low.T, strict=True):
                empty = np.zeros(len(self)), np.zeros(len(self))
                both = found.setdefault((k, joint), empty)
                both[0][rows], both[1][rows] = filtered[at], column[at]
        return [(k, joint, *both) for (k, joint), both in found.items()]


def _thinned(samples: Samples, step: int, how: Processing, at: np.ndarray, first: int) -> Stretch:
    """A stretch with as many rows as its filter needs, those compared among them."""
    rate, cutoff = float(how.rate or 0.0), float(how.cutoff or 0.0)
    by = 1
    while step % (2 * by) == 0 and 2 * by * DENSE * cutoff <= rate:
        by *= 2
    if by == 1:
        return Stretch(samples, at, first)
    names = ("t", "q", "qd", "qdd", "tau", "weight", "temperature")
    rows = {name: getattr(samples, name) for name in names}
    start = int(at[0]) % by if len(at) else 0
    thin = {name: x[start::by] for name, x in rows.items() if x is not None}
    sos = butter(how.order, cutoff, fs=rate / by, output="sos")
    return Stretch(replace(samples, parallel=sos, **thin), (at - start) // by, first)


@dataclass(frozen=True, eq=False)
class Rigid:
    """Columns that no friction law changes, (k, n, r), and the sums of squares of every block.

    With the torque last: as fitted and as compared, (blocks, n, r + 1, r + 1) each.
    """

    parameters: tuple[tuple[str, ...], ...]  # whose columns they are
    columns: np.ndarray
    squares: tuple[np.ndarray, np.ndarray]

    def part(self, parameters: Sequence[tuple[str, ...]]) -> "Rigid | None":
        """With some of the columns; None: there are others."""
        if not set(parameters) <= set(self.parameters):
            return None
        some = np.array([self.parameters.index(x) for x in parameters], dtype=int)
        both = np.append(some, self.columns.shape[-1])
        squares = tuple(x[:, :, both[:, None], both] for x in self.squares)
        return Rigid(tuple(parameters), self.columns[..., some], squares)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Score:
    """Relative errors on blocks left out in turn, and the unknowns fitted to all of them.

    `error` is that of the torque as logged, `filtered` that of the rows that are fitted: the same
    for all laws, with less noise. Its square is the sum of `blocks` (B,).
    """

    error: float
    filtered: float
    x: np.ndarray
    unknowns: Unknowns
    blocks: np.ndarray
    left: np.ndarray  # squares of every block and joint, filtered (B, n)
    joint: float  # relative error of the torque as logged, mean over joints (geometric)

    def surely_worse(self, other: "Score") -> bool:
        """Whether it leaves more than another, by many standard deviations over the blocks."""
        return _surely_positive(self.blocks - other.blocks)

    def by_joint(self, other: "Score") -> np.ndarray:
        """Reduction of what another leaves, as logarithms: means over joints, (B,).

        Joints count alike, however small their torque.
        """
        little = FAINT * other.left.mean(axis=0) + 1e-300
        return 0.5 * np.log((other.left + little) / (self.left + little)).mean(axis=1)

    def surely_better_by_joint(self, other: "Score") -> bool:
        """True where joint by joint surely less is left than by another; or half of it in all.

        Blocks without a turn show nothing of what turns: unlike blocks are no reason to doubt.
        """
        halved = self.filtered < HALF * other.filtered
        return halved or _surely_positive(self.by_joint(other))


def _surely_positive(more: np.ndarray) -> bool:
    """True where a sum over blocks is many standard deviations above zero."""
    return float(more.sum()) > SURE * float(more.std(ddof=1)) * len(more) ** 0.5


class LeftOut:
    """The errors of friction models on rows processed in one way."""

    def __init__(self, rows: Rows, robot: "Robot"):
        self.rows = rows
        model = robot.model
        self.alone = not (model.closures or model.own_laws)  # friction has columns of its own
        self._rigid: list[Rigid] = []
        self._last: tuple[str, list[tuple[str, tuple[int, np.ndarray, np.ndarray]]]] = ("", [])

    @cached_property
    def _cuts(self) -> list[slice]:
        return [slice(a, b) for a, b in zip(self.rows.cuts[:-1], self.rows.cuts[1:], strict=True)]

    def score(
        self, unknowns: Unknowns, known: np.ndarray | None = None, start: Score | None = None
    ) -> Score | None:
        """The score of some unknowns; None: there are too few rows.

        `known` (m,) are fixed, NaN for the others; friction under load takes the rigid torque from
        `start`, or from a fit without it.
        """
        loads = unknowns.of_kind("load")
        if len(loads) and start is None:
            fixed = _open(unknowns, known)
            fixed[loads] = 0.0
            start = self._score(self._squares(unknowns), unknowns, fixed)
            if start is None:
                return None
        if len(loads) and start is not None:
            unknowns = _with_torque_of(unknowns, start)
        return self._score(self._squares(unknowns), unknowns, _open(unknowns, known))

    def elements(
        self, unknowns: Unknowns, start: Score, known: np.ndarray | None = None
    ) -> "Callable[[Sequence[float], Sequence[str]], Score | None]":
        """Scores of unknowns with memory, of elements of some radii and some kinds of friction.

        Columns are computed once; friction under load takes the rigid torque from `start`.
        """
        unknowns = _with_torque_of(unknowns, start)
        squares, elements = self._squares(unknowns), unknowns.elements

        def score(radii: Sequence[float], columns: Sequence[str]) -> Score | None:
            fixed = _open(unknowns, known)
            fixed[elements.unknowns[~np.isin(elements.radii, radii)]] = 0.0
            fixed[~np.isin(unknowns.kinds, [*columns, "memory", *RIGID, *LAW_CONSTANTS])] = 0.0
            return self._score(squares, unknowns, fixed)

        return score

    def _score(
        self, squares: tuple[np.ndarray, np.ndarray], unknowns: Unknowns, fixed: np.ndarray
    ) -> Score | None:
        """The score of sums of squares; what is `fixed` (m,) grows by what no joint can have."""
        rows = self.rows.weight.any(axis=1).sum()
        if rows * unknowns.rows < ENOUGH * np.isnan(fixed).sum() or len(self._cuts) < 2:
            return None
        fitted, compared = squares
        whole, counted = fitted.sum(axis=0), np.maximum((self.rows.weight > 0.0).sum(axis=0), 1)
        loads, memory = unknowns.of_kind("load"), unknowns.of_kind("memory")
        while True:
            weights, x = np.ones(unknowns.rows), np.zeros(len(unknowns))
            for _ in range(ROUNDS):
                x = _solved(whole, weights, fixed)
                weights = joint_weights(np.sqrt(_left(whole, x) / counted))
            absurd = [loads[(x[loads] < 0.0) | (x[loads] > LARGEST_LOAD)], memory[x[memory] < 0.0]]
            absurd = np.concatenate(absurd)
            if not len(absurd):
                break
            fixed[absurd] = 0.0
        ridge = _prior(whole, weights, x, counted.sum())
        each = [_solved(whole - OUT * one, weights, fixed, ridge) for one in fitted]
        left = [_left_out(parts, each) for parts in (compared, fitted)]
        error, filtered = map(_relative, left, (compared, fitted))
        roots = [float(np.sqrt(squares.sum())) for squares in (error, filtered)]
        own = left[0].sum(axis=0) / np.maximum(compared.sum(axis=0)[:, -1, -1], 1e-300)
        joint = float(np.exp(0.5 * np.log(np.maximum(own, 1e-12)).mean()))
        return Score(roots[0], roots[1], x, unknowns, filtered, left[1], joint)

    def delay(self, found: Score, rotors: Unknowns) -> tuple[float, float]:
        """Seconds by which the torque follows the motion, and their standard deviation.

        From the torque that the fit predicts and its rate of change, beside all columns of
        `rotors`: without rotors a large inertia would look like a delay. The deviation is that of
        the answers with one block left out.
        """
        rows, unknowns = self.rows, found.unknowns
        rate = np.zeros_like(rows.tau)
        for stretch, load in zip(rows.stretches, self._loads(unknowns), strict=True):
            dense, at = stretch.dense, stretch.at
            torque = unknowns.torque(found.x, dense.q, dense.qd, dense.qdd, RIGID)
            warm, deflection = dense.temperature, dense.deflection(unknowns)[0]
            for k, joint, column in unknowns.friction_columns(dense.qd, warm, load, deflection):
                torque[:, joint] += found.x[k] * column
            changes = np.gradient(torque, dense.t, axis=0)
            rate[stretch.first : stretch.first + len(at)] = dense.low_passed(changes)[at]
        Y, tau = self._columns(_with_torque_of(rotors, found))
        A = np.concatenate([Y, -rate[..., None], tau[..., None]], axis=-1)
        A *= rows.weight[..., None]
        squares = np.stack([_gram(A[cut], A[cut]) for cut in self._cuts])
        whole = squares.sum(axis=0)
        weights = np.ones(rows.tau.shape[1])
        counted = np.maximum((rows.weight > 0.0).sum(axis=0), 1)
        for _ in range(ROUNDS):
            weights = joint_weights(np.sqrt(_left(whole, _solved(whole, weights)) / counted))
        each = np.array([_solved(whole - OUT * one, weights)[-1] for one in squares]) / OUT
        count = len(each)
        deviation = float(np.sqrt((count - 1) / count * ((each - each.mean()) ** 2).sum()))
        return float(_solved(whole, weights)[-1]), deviation

    def _columns(self, unknowns: Unknowns) -> tuple[np.ndarray, np.ndarray]:
        """Y (k, n, m) and the filtered torque (k, n)."""
        rows = self.rows
        Y = rows.regressor(unknowns)
        if self.alone:
            rigid = unknowns.of_kind(*RIGID)
            Y[..., np.setdiff1d(np.arange(len(unknowns)), rigid)] = 0.0
            for k, joint, filtered, _ in rows.friction(unknowns, self._loads(unknowns)):
                Y[:, joint, k] = filtered
        return Y, rows.tau - unknowns.fixed_torque(rows.q, rows.qd)

    def _loads(self, unknowns: Unknowns) -> list[np.ndarray | None]:
        """The load of friction on the dense rows of every stretch."""
        dense = [stretch.dense for stretch in self.rows.stretches]
        if unknowns.rigid is None or not len(unknowns.of_kind("load")):
            return [None] * len(dense)
        own = unknowns.rigid
        torques = [unknowns.torque(own, s.q, s.qd, s.qdd, RIGID) for s in dense]
        return [
            unknowns.load_friction(s.q, s.qd, tau) for s, tau in zip(dense, torques, strict=True)
        ]

    def _squares(self, unknowns: Unknowns) -> tuple[np.ndarray, np.ndarray]:
        """Sums of squares of [Y tau] as fitted and as compared, (blocks, n, m + 1, m + 1)."""
        rows, m = self.rows, len(unknowns)
        if not self.alone:
            Y = rows.regressor(unknowns)
            fixed = unknowns.fixed_torque(rows.q, rows.qd)
            return _both(Y, rows.tau - fixed, rows.logged - fixed, rows.weight, self._cuts)
        rigid, places = self._rigid_of(unknowns), np.append(unknowns.of_kind(*RIGID), m)
        both = tuple(np.zeros((len(self._cuts), unknowns.rows, m + 1, m + 1)) for _ in range(2))
        for own, part in zip(both, rigid.squares, strict=True):
            own[:, :, places[:, None], places] = part
        entries = self._friction(unknowns)
        fixed = unknowns.fixed_torque(rows.q, rows.qd)
        tau = rows.tau - fixed, rows.logged - fixed
        for joint in range(unknowns.rows):
            own = [x for x in entries if x[1] == joint]
            if not own:
                continue
            here, w = np.array([x[0] for x in own]), rows.weight[:, joint, None]
            for which, into in enumerate(both):
                F = np.stack([x[2 + which] for x in own], axis=1)
                A = np.column_stack([rigid.columns[:, joint], tau[which][:, joint]])
                if which == 0:
                    F, A = F * w, A * w
                for block, cut in enumerate(self._cuts):
                    across = A[cut].T @ F[cut]
                    into[block, joint][np.ix_(places, here)] = across
                    into[block, joint][np.ix_(here, places)] = across.T
                    into[block, joint][np.ix_(here, here)] = F[cut].T @ F[cut]
        return both  # type: ignore[return-value]

    def _friction(self, unknowns: Unknowns) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        """Columns of friction as of `Rows.friction`; with and without rotors they are the same."""
        law, names = repr(unknowns.friction), list(unknowns.names)
        if law == self._last[0] and not len(unknowns.of_kind("load")):
            return [(names.index(name), *column) for name, column in self._last[1]]
        found = self.rows.friction(unknowns, self._loads(unknowns))
        self._last = law, [(names[k], (joint, fit, raw)) for k, joint, fit, raw in found]
        return found

    def _rigid_of(self, unknowns: Unknowns) -> Rigid:
        """Columns of bodies, rotors and springs: computed once."""
        rows, rigid = self.rows, unknowns.of_kind(*RIGID)
        parameters = [
            tuple(f"{unknowns.full_names[i]} {column[i]:g}" for i in np.flatnonzero(column))
            for column in unknowns.pick[:, rigid].T
        ]
        for known in self._rigid:
            if (part := known.part(parameters)) is not None:
                return part
        Y = rows.regressor(unknowns)[..., rigid]
        fixed = unknowns.fixed_torque(rows.q, rows.qd)
        squares = _both(Y, rows.tau - fixed, rows.logged - fixed, rows.weight, self._cuts)
        self._rigid.append(Rigid(tuple(parameters), Y, squares))
        return self._rigid[-1]


def _open(unknowns: Unknowns, known: np.ndarray | None) -> np.ndarray:
    """Values that are known beforehand, NaN for the others, (m,)."""
    return np.full(len(unknowns), np.nan) if known is None else known.copy()


def _with_torque_of(unknowns: Unknowns, start: Score) -> Unknowns:
    """Unknowns whose friction under load grows with the rigid torque of another score."""
    values = dict(zip(start.unknowns.names, start.x, strict=True))
    return replace(unknowns, rigid=np.array([values.get(name, 0.0) for name in unknowns.names]))


def _both(
    Y: np.ndarray, tau: np.ndarray, logged: np.ndarray, weight: np.ndarray, cuts: Sequence[slice]
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares of every block: as fitted, of rows that count; as compared, of all."""
    fitted = np.concatenate([Y, tau[..., None]], axis=-1) * weight[..., None]
    compared = np.concatenate([Y, logged[..., None]], axis=-1)
    return tuple(np.stack([_gram(x[cut], x[cut]) for cut in cuts]) for x in (fitted, compared))  # type: ignore[return-value]


def _gram(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^T B of every joint, (n, a, b), of (k, n, a) and (k, n, b)."""
    return A.transpose(1, 2, 0) @ B.transpose(1, 0, 2)


def _left(squares: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Sums of squared residuals of every joint, (n,)."""
    signed = np.append(x, -1.0)
    return np.maximum(np.einsum("a,jab,b->j", signed, squares, signed), 0.0)


def _left_out(parts: np.ndarray, each: Sequence[np.ndarray]) -> np.ndarray:
    """Squares that the unknowns of every block leave of its torque, (B, n)."""
    return np.stack([_left(part, x) for part, x in zip(parts, each, strict=True)])


def _relative(left: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The squares that are left, next to all torque, (B,)."""
    return left.sum(axis=1) / max(float(parts[:, :, -1, -1].sum()), 1e-300)


def _prior(squares: np.ndarray, weights: np.ndarray, x: np.ndarray, rows: int) -> float:
    """The ridge of unknowns that no column makes larger than the whole torque.

    What constraints of an estimator do for directions that the motion hardly shows.
    """
    left = float((weights**2 * _left(squares, x)).sum())
    whole = float((weights**2 * squares[:, -1, -1]).sum())
    return max(RIDGE, left / max(whole, 1e-300) * ALIKE / max(rows, 1))


def _solved(
    squares: np.ndarray,
    weights: np.ndarray,
    known: np.ndarray | None = None,
    ridge: float = RIDGE,
) -> np.ndarray:
    """Weighted least squares from sums of squares (n, m + 1, m + 1); what is known stays."""
    total = np.einsum("j,jab->ab", weights**2, squares)
    G, g = total[:-1, :-1], total[:-1, -1]
    if known is not None:
        fixed = ~np.isnan(known)
        g = np.where(fixed, 0.0, g - G[:, fixed] @ known[fixed])
        G = np.where(fixed[:, None] | fixed, 0.0, G)
    size = np.sqrt(np.diag(G))
    size = np.where(size > 0.0, size, 1.0)
    unit = G / np.outer(size, size) + ridge * np.eye(len(G))
    try:
        x = cho_solve(cho_factor(unit), g / size) / size
    except LinAlgError:  # rounding: sums of squares of columns that nearly depend on others
        x = np.linalg.lstsq(unit, g / size, rcond=RIDGE)[0] / size
    return completed(x, known)
