"""Information of motions about the unknowns, block by block: the regressor is never stacked.

For every joint the Gram matrix of [Y tau] is kept, so that joints can be weighted afterwards. Where
the columns are nearly dependent, squaring would lose too many digits: then triangular factors are
kept instead, QR upon QR.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from ..base.groupings import scaled
from ..errors import OptionError
from .processing import Samples
from .unknowns import Unknowns

if TYPE_CHECKING:
    from .estimators import FitProblem

LEAST_NOISE = 1e-6  # of the noisiest joint's: smaller, squares of weights lose the others' digits
SQUARED_LIMIT = 1e6  # condition number of the scaled columns above which Gram matrices will not do
Weigh = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (residual, weight) -> weight


@dataclass(frozen=True, eq=False)
class Information:
    """Triangular factors of [Y tau], one per joint: R (n, m + 1, m + 1); rows (n,) counted.

    `known` (n,) is what the squared torques have beyond those of the factors: the torque of
    unknowns that were known beforehand, which is taken off there.
    """

    factors: np.ndarray
    rows: np.ndarray
    known: np.ndarray | float = 0.0

    def stacked(self, weights: np.ndarray) -> np.ndarray:
        """The factor of all joints together, each times its weight, (m + 1, m + 1)."""
        full = (weights[:, None, None] * self.factors).reshape(-1, self.factors.shape[-1])
        return triangle(full)

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """Sum of squared residuals of every joint, (n,)."""
        left = self.factors[:, :, :-1] @ x - self.factors[:, :, -1]
        return (left * left).sum(axis=1)

    def misfit(self, x: np.ndarray) -> float:
        """|Y x - tau| / |tau|, all joints together; tau is the whole torque."""
        return float(np.sqrt(self.residuals(x).sum() / max(float(self.torques.sum()), 1e-300)))

    @property
    def torques(self) -> np.ndarray:
        """Sum of squared torques of every joint, with what was known beforehand, (n,)."""
        return (self.factors[:, :, -1] ** 2).sum(axis=1) + self.known


def information(
    motions: Sequence[Samples],
    unknowns: Unknowns,
    weigh: Weigh | None = None,
    x: np.ndarray | None = None,
    known: np.ndarray | None = None,
    method: str | None = None,
) -> Information:
    """Add up what motions say; `weigh` re-weights rows by their residual at x.

    `known` are values of unknowns that are fixed beforehand, NaN for the others: their torque is
    taken off, and their columns are left zero. `method` is "gram" or "qr", else by the condition.
    """
    n, size = unknowns.rows, len(unknowns) + 1

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | float]]:
        """[Y tau] of every block, rows weighted, (b, n, m + 1); how many count; known torque."""
        for samples in motions:
            for Y, torque, weight, _ in samples.blocks(unknowns):
                tau, w = torque, weight
                if known is not None:  # their torque goes to the right-hand side
                    fixed = ~np.isnan(known)
                    tau = tau - Y[..., fixed] @ known[fixed]
                    Y[..., fixed] = 0.0  # not removed: columns keep the numbers of the unknowns
                if weigh is not None and x is not None:
                    w = weigh(tau - Y @ np.where(np.isnan(x), 0.0, x), w)
                joined = np.concatenate([Y, tau[..., None]], axis=-1)
                joined *= w[..., None]
                # errors are relative to the whole torque, so what was taken off is kept aside
                more = 0.0 if known is None else (w * w * (torque**2 - tau**2)).sum(axis=0)
                yield joined, (w > 0.0).sum(axis=0), more

    def added(squared: bool) -> Information:
        factors, rows = np.zeros((n, size, size)), np.zeros(n, dtype=int)
        beside = 0.0
        for joined, count, more in blocks():
            # joint by joint: their noise, and so their weights, are not known yet
            for j in range(n):
                block = np.ascontiguousarray(joined[:, j])
                if squared:
                    factors[j] += block.T @ block
                else:
                    factors[j] = triangle(np.concatenate([factors[j], block]))
            rows += count
            beside = beside + more
        factors = np.stack([_root(g) for g in factors]) if squared else factors
        return Information(factors, rows, beside)

    # Gram matrices are one product per block, several times faster than QR, but square the
    # condition number: where that costs too many digits, the motions are passed a second time
    if method == "qr":
        return added(squared=False)
    found = added(squared=True)
    good = method == "gram" or condition(found.stacked(np.ones(n))[:-1, :-1]) < SQUARED_LIMIT
    return found if good else added(squared=False)


def joined(parts: Sequence[Information]) -> Information:
    """Several motions as one."""
    stacked = np.concatenate([p.factors for p in parts], axis=1)
    rows = np.sum([p.rows for p in parts], axis=0)
    known = sum((p.known for p in parts), 0.0)
    return Information(np.stack([triangle(block) for block in stacked]), rows, known)


def triangle(rows: np.ndarray) -> np.ndarray:
    """R of a QR factorisation, square."""
    size = rows.shape[1]
    R: Any = qr(rows, mode="r", overwrite_a=True, check_finite=False)[0][:size]
    return R if len(R) == size else np.vstack([R, np.zeros((size - len(R), size))])


def _root(gram: np.ndarray) -> np.ndarray:
    """A factor F with F^T F = gram, which may be singular."""
    scale = np.sqrt(np.diag(gram))
    safe = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(gram / np.outer(safe, safe))
    return (np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T) * scale


def condition(R: np.ndarray) -> float:
    """Condition number of the scaled columns, zero columns left out."""
    unit, _ = scaled(R)
    used = unit[:, np.linalg.norm(R, axis=0) > 0.0]
    values = np.linalg.svd(used, compute_uv=False)
    return float("inf") if not len(values) or values[-1] == 0.0 else float(values[0] / values[-1])


# least squares from triangular factors: ordinary, weighted, total

WEAK = 0.05  # of the regressor's power in a direction: instruments with less do not show it
SHARE = 1e-3  # of an unknown in a direction without information
WORSE = 1.2  # times the error of weighted least squares: total least squares is off beyond
NEGLIGIBLE = 1e-9  # singular values this small next to the largest carry no information


@dataclass(frozen=True, eq=False)
class NoiseGain:
    """The way of the torque noise e to the unknowns: x - true = inverse sum_j w_j^2 Z_j^T e_j.

    Z is the regressor itself without `instruments`; `weigh` re-weights its rows. `x` are the
    unknowns that follow, before constraints change them.
    """

    x: np.ndarray
    inverse: np.ndarray  # (m, m)
    weights: np.ndarray  # (n,)
    instruments: Sequence[Samples] | None = None
    weigh: Weigh | None = None


@dataclass(frozen=True, eq=False)
class Solution:
    """Unknowns with their covariance, and the standard deviation of the torque noise per joint.

    The covariance is that of white noise; `noise_covariance` is that of noise of any colour.
    """

    x: np.ndarray
    covariance: np.ndarray
    sigma: np.ndarray  # (n,)
    weights: np.ndarray  # (n,)
    condition: float
    gain: NoiseGain
    blind: np.ndarray | None = None  # unknowns that the motion does not show, or not apart
    left_out: int = 0  # directions of the unknowns that total least squares had to do without

    def average(self, per_joint: np.ndarray) -> float:
        """A quantity of the joints (n,), each counted by its share of the weighted residual."""
        share = (self.weights * self.sigma) ** 2
        return float((share * per_joint).sum() / max(float(share.sum()), 1e-300))


def completed(x: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Unknowns with what was known beforehand (NaN: nothing) in its place."""
    return x if known is None else np.where(np.isnan(known), x, known)


def joint_weights(sigma: np.ndarray) -> np.ndarray:
    """1 / sigma, (n,); of a joint without noise not infinite."""
    return 1.0 / np.maximum(sigma, LEAST_NOISE * sigma.max() + 1e-300)


def ordinary(info: Information) -> Solution:
    """min sum |Y x - tau|^2, every joint alike."""
    return _solved(info, np.ones(len(info.rows)))


def weighted(info: Information, rounds: int = 3) -> Solution:
    """min sum |Y x - tau|^2 / sigma_j^2, sigma_j from the residuals themselves."""
    found = ordinary(info)
    for _ in range(rounds):
        found = _solved(info, joint_weights(found.sigma))
    return found


def total(info: Information) -> Solution:
    """Total least squares: the regressor may be wrong too, all scaled columns alike.

    Where the direction of the smallest singular value is one that the motion hardly shows, the
    answer is far off: as many of them as needed are left out (truncated total least squares,
    Fierro 1997), until the torques are explained about as well as by weighted least squares.
    """
    start = weighted(info)
    whole = info.stacked(start.weights)
    used = np.linalg.norm(whole, axis=0) > 0.0  # what is known beforehand has no columns
    R, lengths = scaled(whole[:, used])
    V = np.linalg.svd(R)[2].T
    near = WORSE * info.misfit(start.x) + NEGLIGIBLE
    for kept in range(len(V) - 1, 0, -1):
        last = V[-1, kept:]
        if last @ last < NEGLIGIBLE**2:
            continue
        x = start.x.copy()
        y = -(V[:-1, kept:] @ last) / (last @ last)
        x[used[:-1]] = y * lengths[-1] / lengths[:-1]
        if info.misfit(x) <= near:
            left_out = len(V) - 1 - kept
            return replace(start, x=x, sigma=torque_noise(info, x), left_out=left_out)
    raise OptionError(
        "estimator 'total' finds no answer: the errors of these regressors are larger than what "
        "the motion shows of the unknowns",
        "use estimator='weighted' or 'feasible', or a motion that excites more: dy.excite",
    )


def _solved(info: Information, weights: np.ndarray) -> Solution:
    R = info.stacked(weights)
    unit, lengths = scaled(R[:, :-1])
    U, s, Vt = np.linalg.svd(unit, full_matrices=False)
    inverse, kept = truncated_inverse(s)
    x = (Vt.T @ (inverse * (U.T @ R[:, -1]))) / lengths
    sigma = torque_noise(info, x)
    # each joint's noise passes through x = (sum w^2 Y^T Y)^-1 sum w^2 Y^T tau
    P = (Vt.T * inverse**2) @ Vt / np.outer(lengths, lengths)
    noise = np.zeros_like(P)
    for F, w, sd in zip(info.factors, weights, sigma, strict=True):
        Y = F[:, :-1]
        noise += (w * w * sd) ** 2 * (Y.T @ Y)
    blind = has_share(Vt[~kept])
    gain = NoiseGain(x, P, weights)
    return Solution(x, P @ noise @ P, sigma, weights, condition(R[:, :-1]), gain, blind)


def has_share(directions: np.ndarray) -> np.ndarray:
    """Which unknowns have a share in directions (k, m) of the scaled ones, (m,) bool."""
    return np.abs(directions).max(axis=0, initial=0.0) > SHARE


def shown_directions(R: np.ndarray) -> np.ndarray:
    """W (m, k) with (R W)^T R W = 1: directions of the unknowns that columns R show."""
    unit, lengths = scaled(R)
    _, s, Vt = np.linalg.svd(unit, full_matrices=False)
    inverse, kept = truncated_inverse(s)
    return (Vt.T * inverse)[:, kept] / lengths[:, None]


def truncated_inverse(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 / s of singular values in descending order, and which carry information; 0 for others."""
    kept = s > NEGLIGIBLE * s[:1]
    return np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0), kept


def told_apart(
    info: Information, weights: np.ndarray, worst: float, share: float = SHARE
) -> np.ndarray:
    """Which unknowns have no share in directions of a condition beyond `worst`, (m,) bool."""
    unit, _ = scaled(info.stacked(weights)[:, :-1])
    _, s, Vt = np.linalg.svd(unit)
    return np.all(np.abs(Vt[s <= s[0] / worst]) < share, axis=0)


def torque_noise(info: Information, x: np.ndarray) -> np.ndarray:
    """Standard deviation of every joint's residual, (n,)."""
    used = np.maximum(info.rows - len(x) / max(1, len(info.rows)), 1.0)
    return np.sqrt(info.residuals(x) / used)


# sums against instruments, a motion without the noise of the measured one


class Moments(NamedTuple):
    """Sums over the rows of every joint: Z^T [Y tau] (n, m, m + 1), Z^T Z (n, m, m)."""

    mixed: np.ndarray
    own: np.ndarray


def moments(
    problem: "FitProblem", instruments: Sequence[Samples], gain: NoiseGain | None = None
) -> Moments:
    """Add up regressor and torque against the instruments, rows weighted as the motion's.

    Or as `gain` weighs them.
    """
    unknowns, known = problem.unknowns, problem.known
    n, m = unknowns.rows, len(unknowns)
    mixed, own = np.zeros((n, m, m + 1)), np.zeros((n, m, m))
    fixed = np.zeros(m, bool) if known is None else ~np.isnan(known)
    for samples, clean in zip(problem.motions, instruments, strict=True):
        pairs = zip(samples.blocks(unknowns), clean.blocks(unknowns), strict=True)
        for (Y, torque, counted, _), (own_Y, *_) in pairs:
            weight = counted
            tau = torque if known is None else torque - Y[..., fixed] @ known[fixed]
            if gain is not None and gain.weigh is not None:
                weight = gain.weigh(torque - Y @ completed(gain.x, known), counted)
            Z = own_Y * weight[..., None]
            Y[..., fixed], Z[..., fixed] = 0.0, 0.0
            joined = np.concatenate([Y, tau[..., None]], axis=-1) * weight[..., None]
            for j in range(n):
                left = np.ascontiguousarray(Z[:, j]).T
                mixed[j] += left @ joined[:, j]
                own[j] += left @ left.T
    return Moments(mixed, own)


def inverse_of(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of W^T Z^T Y W, which is 1 if Z is Y; directions that Z does not show, (k, l)."""
    U, s, Vt = np.linalg.svd(M)
    return (Vt.T * truncated_inverse(s)[0]) @ U.T, Vt[s < WEAK].T
