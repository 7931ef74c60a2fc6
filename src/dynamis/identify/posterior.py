"""The distribution of an estimate over arms that can exist, and samples of it.

    p(theta) ~ N(x(theta); x_hat, C) N(theta; theta_0, K),   every body and every sign possible

x are the unknowns of the estimate with their covariance C, theta the full parameters, theta_0 the
estimate's own (the nearest consistent arm, where it is none). K is weak: it decides what the data
leave open. With theta = theta_0 + L u this is u ~ N(0, 1) in a convex set that holds u = 0.
Samples come from Markov chains of elliptical slices (Murray 2010) about a normal distribution that
is fitted to the bounded one (Nishihara 2014): exact whatever the fit.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import SEEDS, whole
from ..compile.arrays import numbers
from ..control.random_numbers import CHAINS, RowFunction, normal, uniform
from ..errors import ShapeError
from ..model.model import Model
from ..model.parameters import coulomb_pairs
from ..spatial.functions import Functions
from .bodies import bodies_like, body_deviations, ten_of
from .feasible import beside_bodies, links_of, pseudo_inertias, signs
from .unknowns import LEAST_VISCOUS, RIGID

if TYPE_CHECKING:
    from .estimate import Estimate

# the prior: what is known of an arm before any data
BODY = 0.5  # relative deviation of a link's mass and of every second moment of it
SLOW = 0.1  # of the fastest joint's speed: that of a joint that did not move
EXACT = 1e-8  # of the prior's deviation: what is known better stays as it is

NEAREST = 1e-3  # weight of the barrier that keeps the nearest consistent arm off the bounds

# the chains
BLOCK = 2048  # chains computed together
POOL = 4096  # states that samples begin at
FITTED = 1024  # chains that the normal distribution is fitted to
STEPS = 3  # of every sample from its state in the pool
TURNS = 40  # proposals of one step before a chain stays where it is
MIXED = 0.25  # correlation left by a round, in the slowest direction: three of them leave 2 %
ROUND, LONGEST = 8, 256  # steps of the first and of the longest round
FURTHEST = 2**56  # sample: beyond, the counters of random numbers would overflow
MADE = 1 << 32  # members of the stream from here on make the pool
FINE, FAR = 18, 16.0  # states in the pool are multiples of 2^-FINE and smaller than FAR
PIVOT = 1e-12  # of a diagonal element: the least that elimination may leave of it


def _turned(x: Any, fn: Functions) -> list[Any]:
    return [fn.cos(x[0]), fn.sin(x[0])]


def _logarithm(x: Any, fn: Functions) -> list[Any]:
    return [fn.log(x[0])]


TURNED = RowFunction("turned", _turned, 1, 2)
LOGARITHM = RowFunction("logarithm", _logarithm, 1, 1)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of full parameters (p,), sample by sample the same whoever computes them.

    A sample is a state of the pool and STEPS more steps of its chain. Samples i and i + size share
    a state: `correlation` is what remains between a state and its sample in the slowest direction,
    so that between the two samples it is about its square.
    """

    names: tuple[str, ...]  # of `factors`
    group: np.ndarray  # (m, p): unknowns that vary, of full parameters
    values: np.ndarray  # (m,): their mean
    deviations: np.ndarray  # (m,)
    bounds: "Bounds"
    middle: np.ndarray  # (p,): mean of the fitted normal distribution, in full parameters
    high: np.ndarray  # (p, d): its root, the leading digits
    low: np.ndarray  # (p, d): the others
    shift: np.ndarray  # (d,): its mean and
    width: np.ndarray  # (d,): deviations among the standard normal u
    pool: np.ndarray  # (size, d): states in units of 2^-FINE, int32
    correlation: float

    def draw(self, first: int, count: int, seed: int = 0) -> np.ndarray:
        """Samples first, first + 1, .. of a seed, (count, p)."""
        first, count = whole(first, "first", 0, FURTHEST), whole(count, "count", 0)
        seed = whole(seed, "seed", 0, SEEDS)
        if not count or not len(self.width):
            return np.repeat(self.middle[None], count, axis=0)
        found = np.empty((count, len(self.middle)))
        for begin in range(0, count, BLOCK):
            size = min(BLOCK, count - begin)
            rows = np.arange(first + begin, first + begin + size) % len(self.pool)
            w = np.ascontiguousarray(self.pool[rows].T) * 2.0**-FINE
            state = self._stepped(w, first + begin, range(STEPS), seed)
            found[begin : begin + size] = (self.middle[:, None] + state.offset).T
        return found

    def factors(self, draws: np.ndarray) -> np.ndarray:
        """The unknowns of draws (count, p), less their mean, over their deviation, (count, m)."""
        expected = f"expected draws (count, {len(self.middle)})"
        draws = numbers(draws, "draws", expected)
        if draws.ndim != 2 or draws.shape[1] != len(self.middle):
            raise ShapeError(f"draws has shape {draws.shape}, {expected}")
        found = np.empty((len(draws), len(self.names)))
        for k, row in enumerate(self.group):
            total = np.zeros(len(draws))
            for j in np.flatnonzero(row):
                total += row[j] * draws[:, j]
            found[:, k] = (total - self.values[k]) / self.deviations[k]
        return found

    def _stepped(self, w: np.ndarray, first: int, members: range, seed: int) -> "State":
        state = State(w, self._offset(w))
        for member in members:
            state = self._step(state, *_numbers(seed, first, len(w), w.shape[1], member))
        return state

    def _chained(self, w: np.ndarray, member: int, steps: int) -> np.ndarray:
        """States (d, count) after some steps, with the random numbers that make pools."""
        parts = [
            self._stepped(w[:, k : k + BLOCK], k, range(member, member + steps), 0).w
            for k in range(0, w.shape[1], BLOCK)
        ]
        return np.concatenate(parts, axis=1)

    def _offset(self, w: np.ndarray) -> np.ndarray:
        """Full parameters about the middle, (p, count), of states in units of 2^-FINE."""
        return self.high @ w + self.low @ w  # exact sums: see `_digits`

    def _step(self, state: "State", v: np.ndarray, u: np.ndarray) -> "State":
        """One elliptical slice: the state turned towards v as far as chance and the bounds allow.

        The slice is that of N(0, 1) over the fitted normal distribution, both of u.
        """
        w, offset = state
        new, other = State(w.copy(), offset.copy()), self._offset(v)
        terms = self._terms(w, v)
        level = (terms[0] + terms[2]) + LOGARITHM(u[:1].T)[:, 0]  # at angle 0
        angle = 2.0 * np.pi * u[1]
        low, high = angle - 2.0 * np.pi, angle
        left = np.arange(w.shape[1])
        for k in range(2, len(u)):
            cos, sin = np.ascontiguousarray(TURNED(angle[:, None]).T)
            a, b, c, e, f = terms
            here = cos * cos * a + sin * sin * b + cos * c + sin * e + cos * sin * f
            theta = offset * cos + other * sin
            good = (here >= level) & self.bounds.hold(self.middle[:, None] + theta)
            moved, on = left[good], ~good
            new.offset[:, moved] = theta[:, good]
            new.w[:, moved] = w[:, moved] * cos[good] + v[:, moved] * sin[good]
            left = left[on]
            if not len(left):
                break
            offset, other, terms = (np.compress(on, x, axis=1) for x in (offset, other, terms))
            back, level = angle[on] < 0.0, level[on]
            low, high = np.where(back, angle[on], low[on]), np.where(back, high[on], angle[on])
            angle = low + (high - low) * u[k, left]
        return new

    def _terms(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The logarithm of the ratio of densities at w cos + v sin, less a constant, (5, count).

        a cos^2 + b sin^2 + c cos + e sin + f cos sin
        """
        free = (1.0 - self.width * self.width)[:, None]
        slope = (-self.shift * self.width)[:, None]
        fw, fv = free * w, free * v
        sums = fw * w, fv * v, slope * w, slope * v, fw * v
        terms = np.stack([_added(x) for x in sums])
        terms[:2] *= 0.5
        return terms


def _added(x: np.ndarray) -> np.ndarray:
    """The sum of the rows, one after the other: NumPy adds a single column in another order."""
    return np.add.reduce(x, axis=0) if x.shape[1] > 1 else np.add.accumulate(x, axis=0)[-1]


class State(NamedTuple):
    """States of chains: (d, count) about the fitted normal distribution, and (p, count)."""

    w: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True, eq=False)
class Bounds:
    """What full parameters may be: links that are bodies, numbers at 0 or above."""

    links: int  # that vary: all, or none
    above: np.ndarray  # indices of parameters that are at least 0

    def hold(self, theta: np.ndarray) -> np.ndarray:
        """Which of the columns of theta (p, count) are possible: pseudo-inertias by elimination."""
        ten = theta[: 10 * self.links].reshape(self.links, 10, theta.shape[1])
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = ten.swapaxes(0, 1)
        with np.errstate(all="ignore"):
            half = 0.5 * (xx + yy + zz)
            sx, sy, sz = half - xx, half - yy, half - zz
            cx, cy, cz = hx / m, hy / m, hz / m
            a = sx - cx * hx
            b, c = -xy - cx * hy, -xz - cx * hz
            lb, lc = b / a, c / a
            e = (sy - cy * hy) - lb * b
            f = (-yz - cy * hz) - lb * c
            g = ((sz - cz * hz) - lc * c) - f / e * f
            good = (m > 0.0) & (a > PIVOT * sx) & (e > PIVOT * sy) & (g > PIVOT * sz)
        return np.logical_and(np.all(good, axis=0), np.all(theta[self.above] >= 0.0, axis=0))


def _numbers(seed: int, first: int, d: int, count: int, member: int) -> tuple[Any, Any]:
    """Of every sample the normal numbers (d, count) of a step and its uniform ones."""
    even = d + d % 2
    u = uniform(seed, CHAINS, first, count, even + 1 + TURNS, member)
    v = normal(np.ascontiguousarray(u[:, :even]))[:, :d]
    fine = np.rint(v * 2.0**FINE) * 2.0**-FINE
    return np.ascontiguousarray(fine.T), np.ascontiguousarray(u[:, even:].T)


def _digits(A: np.ndarray) -> dict[str, np.ndarray]:
    """A (p, d) as a sum of two matrices of so few digits that products with states are exact.

    States are whole multiples of 2^-FINE below FAR, rows of each matrix of a number so large that
    no sum of d products needs more than 53 bits: then no order of summation changes a bit.
    """
    bits = 53 - FINE - int(np.log2(FAR)) - int(np.ceil(np.log2(max(A.shape[1], 2))))
    parts = []
    for _ in range(2):
        size = np.abs(A).max(axis=1, keepdims=True)
        unit = 2.0 ** (np.ceil(np.log2(np.where(size > 0.0, size, 1.0))) - bits)
        parts.append(np.rint(A / unit) * unit)
        A = A - parts[-1]
    return {"high": parts[0], "low": parts[1]}


# from an estimate to its distribution


def posterior(estimate: "Estimate", pool: int = POOL) -> Posterior:
    """The distribution of an estimate, with a pool of so many samples of it."""
    bounds, prior, theta, root = unbounded(estimate)
    found = _pooled(bounds, theta, root, pool, *_inside(bounds, theta, root, prior, 1.0))
    G = estimate.unknowns.group
    x = G @ found.draw(0, pool).T
    size = np.linalg.norm(G @ prior.root, axis=1)
    varied = np.flatnonzero(x.std(axis=1) > 10.0 * EXACT * size)
    names = tuple(estimate.names[k] for k in varied)
    mean, deviation = x[varied].mean(axis=1), x[varied].std(axis=1)
    return replace(found, names=names, group=G[varied], values=mean, deviations=deviation)


class Unbounded(NamedTuple):
    """The normal distribution that the bounds cut: mean (p,), root (p, d) of its covariance."""

    bounds: Bounds
    prior: "Prior"
    mean: np.ndarray
    root: np.ndarray


def unbounded(estimate: "Estimate") -> Unbounded:
    """Data and prior about the estimate, or about the nearest arm that can exist."""
    unknowns = estimate.unknowns
    own = np.asarray(unknowns.robot.parameters.values, dtype=float)
    theta = _tied(unknowns.robot.model, np.array(estimate.full, dtype=float))
    bounds = _bounds(estimate)
    if not bounds.hold(theta[:, None])[0]:
        prior = _prior(estimate, bounds, theta, [own])
        mean, root = _normal(estimate, prior.root, prior.inside)
        theta = mean + root @ _inside(bounds, mean, root, prior, NEAREST)[0]
    prior = _prior(estimate, bounds, theta, [theta, own])
    return Unbounded(bounds, prior, theta, _normal(estimate, prior.root, theta)[1])


def _tied(model: Model, theta: np.ndarray) -> np.ndarray:
    """Coulomb friction is one number for both directions, to the last bit."""
    for plus, minus in coulomb_pairs(model):
        theta[minus] = -theta[plus]
    return theta


def _bounds(estimate: "Estimate") -> Bounds:
    """The rules for what varies: bodies that were taken as described do not."""
    unknowns = estimate.unknowns
    sought = np.isin(unknowns.kinds, RIGID) & (estimate.standard_deviations > 0.0)
    links = len(unknowns.robot.model.links) if sought.any() else 0
    above = [k for k in _beside(estimate, links) if signs(unknowns)[k] > 0]
    return Bounds(links, np.array(above, dtype=int))


def _beside(estimate: "Estimate", links: int) -> list[int]:
    """Parameters beside the bodies that vary; of Coulomb friction that of moving positive."""
    places = estimate.unknowns.places
    left_out = ("minus",) if links else ("minus", "inertia")
    return [k for k in beside_bodies(estimate.unknowns) if places[k].field not in left_out]


class Prior(NamedTuple):
    """What is known beforehand: a root of its covariance (p, f), and a point well inside."""

    root: np.ndarray
    inside: np.ndarray


def _prior(
    estimate: "Estimate", bounds: Bounds, theta: np.ndarray, bodies: list[np.ndarray]
) -> Prior:
    """The prior about theta: links vary by BODY of those in `bodies`, joints by all they needed."""
    robot = estimate.unknowns.robot
    links, pairs = len(robot.model.links), dict(coulomb_pairs(robot.model))
    columns, inside = [], theta.copy()
    if bounds.links:
        for i, P in enumerate(bodies_like([links_of(x, links) for x in bodies])):
            here = slice(10 * i, 10 * i + 10)
            inside[here] = ten_of(P)
            for deviation in body_deviations(P).T:
                column = np.zeros(len(theta))
                column[here] = BODY * deviation
                columns.append(column)
    sizes = _sizes(estimate, inside)
    for k in _beside(estimate, bounds.links):
        column = np.zeros(len(theta))
        column[k] = max(abs(theta[k]), sizes[k])
        if k in pairs:
            column[pairs[k]] = -column[k]
        columns.append(column)
        if k in bounds.above and theta[k] < 0.1 * column[k]:
            inside[k] = 0.1 * column[k]
    return Prior(np.array(columns).T.reshape(len(theta), -1), _tied(robot.model, inside))


def _sizes(estimate: "Estimate", theta: np.ndarray) -> dict[int, float]:
    """Deviations of the prior of the parameters beside the bodies, by index.

    Of friction the largest torque of the joint in the log (per speed), of a rotor the largest
    inertia about its joint, of springs and laws as much as described or ten times the estimate's.
    """
    unknowns, names = estimate.unknowns, estimate.unknowns.full_names
    torque = np.max([np.abs(v.measured).max(axis=0) for v in estimate.training], axis=0)
    speed = np.max([np.abs(v.speed).max(axis=0) for v in estimate.training], axis=0)
    torque = np.where(torque > 0.0, torque, torque.max())
    speed = np.maximum(speed, SLOW * speed.max())
    q = np.concatenate([log.q[:: max(1, len(log.q) // 100)] for log in estimate.logs])
    mass_matrix = unknowns.robot.kernel("mass_matrix", parameters="argument")
    q = unknowns.motion(q, 0.0 * q, 0.0 * q).q
    M = mass_matrix(q[np.isfinite(q).all(axis=1)], theta)
    inertia = np.einsum("...ii->...i", M).reshape(-1, unknowns.rows).max(axis=0)
    found = {}
    for k in beside_bodies(unknowns):
        place = unknowns.places[k]
        joint = names[k].rpartition(".")[0]
        if joint in unknowns.robot.joint_names and place.part in ("motors", "resistances"):
            j = unknowns.row_of(unknowns.robot.joint_names.index(joint))
            row = [j] if j is not None else range(unknowns.rows)  # a passive joint: any of them
            most = float(torque[row].max())
            kinds = {"inertia": float(inertia[row].max())}
            kinds["viscous"] = kinds["viscous_minus"] = most / float(speed[row].max())
            found[k] = kinds.get(place.field, most)
        else:
            own = abs(float(unknowns.robot.parameters.values[k]))
            of = estimate.standard_deviations[unknowns.group[:, k] != 0.0]
            found[k] = max(own, 10.0 * float(of[np.isfinite(of)].max(initial=0.0))) or 1.0
    return found


def _normal(
    estimate: "Estimate", K: np.ndarray, centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean (p,) and root (p, f) of the normal distribution that data and prior give together."""
    seen = np.isfinite(np.diag(estimate.covariance))
    G, x = _grouped(estimate), estimate.values
    off = np.where(np.any(G != 0.0, axis=1), x - G @ centre, 0.0)[seen]
    G, C = G[seen], estimate.covariance[np.ix_(seen, seen)]
    least = EXACT * np.linalg.norm(G @ K, axis=1)
    size = np.maximum(np.sqrt(np.maximum(np.diag(C), 0.0)), np.where(least > 0.0, least, 1.0))
    values, axes = np.linalg.eigh(C / np.outer(size, size))
    W = (axes / np.sqrt(np.maximum(values, EXACT * EXACT))).T / size
    U, s, Vt = np.linalg.svd(W @ G @ K)
    s = np.minimum(np.pad(s, (0, K.shape[1] - len(s))), 1.0 / EXACT)
    narrow = 1.0 / np.sqrt(1.0 + s * s)
    along = np.zeros(K.shape[1])
    shown = min(len(along), len(U))
    along[:shown] = (U.T @ (W @ off))[:shown]
    return centre + K @ (Vt.T @ (s * narrow * narrow * along)), K @ (Vt.T * narrow)


def _grouped(estimate: "Estimate") -> np.ndarray:
    """Unknowns of full parameters (m, p), those too that are no parameters of a robot.

    Roots and slopes of temperature are ratios of the viscous friction, which stay as estimated, as
    do coefficients of friction under load.
    """
    unknowns = estimate.unknowns
    G = unknowns.group.copy()
    place = {name: k for k, name in enumerate(unknowns.full_names)}
    for k in unknowns.of_kind("root", "thermal"):
        viscous = place[f"{unknowns.robot.joint_names[unknowns.joints[k]]}.viscous"]
        if estimate.full[viscous] > LEAST_VISCOUS:
            G[k, viscous] = estimate.values[k] / estimate.full[viscous]
    return G


def _inside(
    bounds: Bounds, mean: np.ndarray, root: np.ndarray, prior: Prior, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """u of min |u|^2 / 2 - weight (sum log det P + sum log theta) at mean + root u; the Hessian.

    Newton's steps from a point inside, with weights that fall to the one that is asked for.
    """
    B, d = pseudo_inertias(np.eye(10)), root.shape[1]
    rows = [root[10 * i : 10 * i + 10] for i in range(bounds.links)]

    def bodies(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = mean + root @ u
        ten = links_of(theta, bounds.links)
        return pseudo_inertias(ten), theta[bounds.above]

    def cost(u: np.ndarray) -> float:
        P, above = bodies(u)
        values = np.linalg.eigvalsh(P)
        if (values <= 0.0).any() or (above <= 0.0).any():
            return np.inf
        return 0.5 * float(u @ u) - w * float(np.log(values).sum() + np.log(above).sum())

    u = np.linalg.lstsq(root, prior.inside - mean, rcond=None)[0]
    H, w = np.eye(d), max(weight, float(u @ u))
    while True:
        for _ in range(100):
            P, above = bodies(u)
            g, H = u - w * (1.0 / above) @ root[bounds.above], np.eye(d)
            slopes = root[bounds.above] / above[:, None]
            H += w * slopes.T @ slopes
            for own, Pi in zip(rows, np.linalg.inv(P), strict=True):
                A = Pi @ B
                g -= w * np.einsum("kaa->k", A) @ own
                H += w * own.T @ np.einsum("kab,lba->kl", A, A) @ own
            step = -np.linalg.solve(H, g)
            falls, length, here = float(-g @ step), 1.0, cost(u)
            while cost(u + length * step) > here - 0.1 * length * falls and length > 1e-9:
                length *= 0.5
            u = u + length * step if length > 1e-9 else u
            if falls < 1e-3 * w or length <= 1e-9:
                break
        if w <= weight:
            return u, H
        w = max(0.1 * w, weight)


def _pooled(
    bounds: Bounds, theta: np.ndarray, root: np.ndarray, size: int, start: np.ndarray, H: np.ndarray
) -> Posterior:
    """Chains from one start, in rounds of twice the length until a round forgets its beginning."""
    mean, cov = start, np.linalg.inv(H)
    u, member, length = np.repeat(start[:, None], min(FITTED, size), axis=1), MADE, ROUND
    while len(start):
        fit, axes = _fitted(bounds, theta, root, mean, cov)
        w = (axes.T @ (u - mean[:, None])) / fit.width[:, None]
        after = fit._chained(w, member, length)
        member += length
        u = mean[:, None] + axes @ (fit.width[:, None] * after)
        mean, cov = u.mean(axis=1), np.cov(u).reshape(len(u), len(u))
        if _correlated(w, after) < MIXED or length >= LONGEST:
            break
        length *= 2
    fit, axes = _fitted(bounds, theta, root, mean, cov)
    w = (axes.T @ (u - mean[:, None])) / fit.width[:, None]
    w = fit._chained(w[:, np.arange(size) % w.shape[1]], member, length)
    pool = _rounded(fit, w)
    fit = replace(fit, pool=np.ascontiguousarray(pool.T).astype(np.int32))
    before = pool * 2.0**-FINE
    after = fit._chained(before, member + length, STEPS)
    return replace(fit, correlation=_correlated(before, after))


def _fitted(
    bounds: Bounds, theta: np.ndarray, root: np.ndarray, mean: np.ndarray, cov: np.ndarray
) -> tuple[Posterior, np.ndarray]:
    """Chains about a normal distribution of u, whose principal axes (d, d) come with them."""
    values, axes = np.linalg.eigh(cov)
    width = np.sqrt(np.maximum(values, 1e-12))
    nothing = np.zeros(0)
    found = Posterior(
        names=(), group=np.zeros((0, len(theta))), values=nothing, deviations=nothing,
        bounds=bounds, middle=theta + root @ mean, **_digits((root @ axes) * width),
        shift=axes.T @ mean, width=width, pool=np.zeros((1, len(width)), np.int32), correlation=0.0,
    )  # fmt: skip
    return found, axes


def _correlated(before: np.ndarray, after: np.ndarray) -> float:
    """The largest correlation of states (d, count) over directions; 1 where nothing varied."""
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (before, after))
    sizes = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return float(((a * b).sum(axis=1) / sizes).max(initial=0.0)) if sizes.all() else 1.0


def _rounded(fit: Posterior, w: np.ndarray) -> np.ndarray:
    """States in whole units of 2^-FINE, moved towards the middle as little as keeps them inside."""
    found = np.zeros_like(w)  # the middle
    left = np.arange(w.shape[1])
    for share in (0.0, *2.0 ** -np.arange(16.0, 0.0, -1.0)):
        units = np.rint((1.0 - share) * w[:, left] * 2.0**FINE)
        theta = fit.middle[:, None] + fit._offset(units * 2.0**-FINE)
        good = fit.bounds.hold(theta) & (np.abs(units) < FAR * 2.0**FINE).all(axis=0)
        found[:, left[good]] = units[:, good]
        left = left[~good]
    return found
